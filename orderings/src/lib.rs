//! Orderings of memory that are weaker than sequential consistency, tried by `loom`.
//!
//! `shuttle`, under which the project's other models run, takes every atomic access as sequentially consistent. `loom`
//! shows each load every value that the C11 memory model allows. So an `Acquire` or a fence that is missing fails here,
//! though it never does on an x86.
//!
//! The sources under test are the project's own, included by path. Around them stand small replacements of what they use:
//! `loom`'s primitives under the names of crate `sync`, and counters and files that do nothing. Nothing of the workspace
//! depends on this package; `make models` and `make test` run it.
#![allow(unsafe_code)]

// The sources name these crates.
extern crate self as sync;
extern crate self as vfs;

mod facade;
mod stubs;

#[path = "../../crates/sync/src/combiner.rs"]
mod combiner;
#[path = "../../crates/clog/src/csn.rs"]
mod csn;
#[path = "../../crates/buffer/src/frame.rs"]
mod frame;
#[path = "../../crates/wal/src/hooks.rs"]
mod hooks;
#[path = "../../crates/sync/src/latch.rs"]
mod latch;
#[path = "../../crates/engine/src/database/operations.rs"]
mod operations;
#[path = "../../crates/sync/src/parking.rs"]
mod parking;
#[path = "../../crates/xact/src/slots.rs"]
mod slots;
#[path = "../../crates/xact/src/snapshots.rs"]
mod snapshots;

#[cfg(test)]
mod models;

pub use combiner::Combiner;
pub use facade::*;
pub use latch::{Latch, RawLatch};
pub use stubs::*;
