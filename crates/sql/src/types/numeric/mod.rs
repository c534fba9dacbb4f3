//! `numeric`.

/// A decimal number.
#[derive(Clone, Debug, PartialEq)]
pub struct Numeric {}

impl Numeric {
    /// Bytes held outside the value.
    pub fn heap_bytes(&self) -> usize {
        todo!()
    }
}
