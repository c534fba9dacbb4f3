//! The output of utility statements.

use executor::RowStore;
use types::Value;

/// The output of a utility statement.
#[derive(Default)]
pub struct UtilityOutput {
    /// Its tag.
    pub tag: String,
    /// Its rows, if its plan has columns.
    pub(crate) rows: Option<RowStore>,
}

impl UtilityOutput {
    /// A tag and a few rows.
    pub fn few(tag: impl Into<String>, rows: Vec<Vec<Value>>) -> UtilityOutput {
        UtilityOutput { tag: tag.into(), rows: Some(RowStore::of_few(rows)) }
    }

    /// Only a tag.
    pub fn tag(tag: impl Into<String>) -> UtilityOutput {
        UtilityOutput { tag: tag.into(), rows: None }
    }
}
