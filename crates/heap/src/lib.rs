//! The heap: rows as tuple versions in slotted pages.

mod api;

pub use api::*;
