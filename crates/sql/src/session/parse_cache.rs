//! Parse trees kept by text: clients that prepare a statement anew for each use, or send BEGIN and COMMIT again and again,
//! have each text parsed once.

use std::sync::Arc;

use base::Result;
use rustc_hash::FxHashMap;

use crate::parser::{self, ParseOptions};
use crate::tree::ParsedStatement;

/// Texts kept, at most.
const TEXTS_MAX: usize = 128;
/// Longer texts are not kept: few come twice, and they would fill memory.
const TEXT_BYTES_MAX: usize = 4096;

/// A text and its statements.
pub(super) type Parsed = (Arc<str>, Arc<[Arc<ParsedStatement>]>);

/// The texts that a session parsed lately.
#[derive(Default)]
pub(crate) struct ParseCache {
    trees: FxHashMap<Arc<str>, Arc<[Arc<ParsedStatement>]>>,
    /// What they were parsed with.
    options: ParseOptions,
}

impl ParseCache {
    /// The statements of `text`.
    ///
    /// # Errors
    /// Of the parser.
    pub(super) fn parse(&mut self, text: &str, options: ParseOptions) -> Result<Parsed> {
        if options != self.options || self.trees.len() >= TEXTS_MAX {
            self.trees.clear();
            self.options = options;
        }
        if let Some((text, statements)) = self.trees.get_key_value(text) {
            return Ok((Arc::clone(text), Arc::clone(statements)));
        }
        let parsed: Parsed = (Arc::from(text), parser::parse(text, options)?.into_iter().map(Arc::new).collect());
        if text.len() <= TEXT_BYTES_MAX {
            self.trees.insert(Arc::clone(&parsed.0), Arc::clone(&parsed.1));
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_parsed_anew_when_what_it_means_has_changed() {
        let mut cache = ParseCache::default();
        let first = cache.parse("select 1; select 2", ParseOptions::default()).unwrap();
        let second = cache.parse("select 1; select 2", ParseOptions::default()).unwrap();
        assert_eq!(first.1.len(), 2);
        assert!(Arc::ptr_eq(&first.1, &second.1));
        let third = cache.parse("select 1; select 2", ParseOptions { standard_conforming_strings: false }).unwrap();
        assert!(!Arc::ptr_eq(&first.1, &third.1));
        assert!(cache.parse("select from where", ParseOptions::default()).is_err());
    }

    #[test]
    fn no_number_of_texts_fills_memory() {
        let mut cache = ParseCache::default();
        for number in 0..1000 {
            cache.parse(&format!("select {number}"), ParseOptions::default()).unwrap();
        }
        assert!(cache.trees.len() <= TEXTS_MAX);
        cache.parse(&format!("select '{}'", "x".repeat(TEXT_BYTES_MAX)), ParseOptions::default()).unwrap();
        assert!(cache.trees.keys().all(|text| text.len() <= TEXT_BYTES_MAX));
    }
}
