//! The csn store.
