//! B-tree indexes on memcmp-comparable keys.

mod api;

pub use api::*;
