//! SQL as text and as trees: PostgreSQL's grammar, and statements as they were written.

// `from_*` speaks of SQL's FROM here, and trees are built once and live behind boxes.
#![allow(clippy::wrong_self_convention, clippy::large_enum_variant, clippy::arc_with_non_send_sync)]
#![allow(clippy::type_complexity)]

pub mod parser;
pub mod tree;
