//! The catalog: descriptors of all objects, and immutable snapshots of them.
//!
//! [`definitions`], [`function`], [`role`] and [`trigger`] hold the descriptors. A [`Catalog`] is one version of all of them: an immutable value
//! behind an `Arc`, replaced as a whole when a transaction that changed objects commits. The engine keeps the descriptors as rows
//! of one heap and publishes new versions.

pub mod class;
mod definitions;
mod function;
mod role;
mod snapshot;
mod trigger;

pub use definitions::*;
pub use function::*;
pub use role::*;
pub use snapshot::{Catalog, Catalogs, Change, Entry, Relation};
pub use trigger::{ConstraintTrigger, TransitionTables, TriggerDef, TriggerEnabled, TriggerTiming};
