//! Equality, order and hash of every type, as its default operator class has them.

use std::cmp::Ordering;
use std::hash::Hasher;

use base::Oid;

use super::value::Value;

/// Compares two values of type `oid`; neither is NULL.
pub type Comparator = fn(&Value, &Value) -> Ordering;

/// The comparison for a type: total, and consistent with its key encoding. Pass the base type of a domain.
/// `None`: the type has no order (`json`).
pub fn comparator(_oid: Oid) -> Option<Comparator> {
    todo!()
}

/// Whether values of the type can be compared for equality and hashed.
pub fn is_hashable(_oid: Oid) -> bool {
    todo!()
}

/// Feeds `value` (not NULL) of type `oid` to `hasher`: equal values feed the same. Integers of all widths feed
/// alike, so that joins across widths meet.
pub fn hash_value<H: Hasher>(_value: &Value, _oid: Oid, _hasher: &mut H) {
    todo!()
}
