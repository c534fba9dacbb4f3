//! The data that the storage engine and the floors of SQL share: rows, index keys, and descriptors of objects.

pub mod catalog;
pub mod key;
pub mod row;
