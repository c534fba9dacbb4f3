//! `json` and `jsonb`.

/// A `jsonb` value.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonbValue {}

impl JsonbValue {
    /// Bytes held outside the value.
    pub fn heap_bytes(&self) -> usize {
        todo!()
    }
}
