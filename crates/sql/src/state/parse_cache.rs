//! Parse trees kept by text: clients that prepare a statement anew for each use, or send BEGIN and COMMIT again and again,
//! have each text parsed once.

use std::sync::Arc;

use base::Result;
use syntax::parser::{self, ParseOptions};
use syntax::tree::ParsedStatement;

use super::by_text::{ByText, Limits};

const LIMITS: Limits = Limits { texts: 128, text_bytes: 4 << 10, total_text_bytes: 128 << 10 };

/// A text and its statements.
pub(crate) type Parsed = (Arc<str>, Arc<[Arc<ParsedStatement>]>);

/// The texts that a session parsed lately.
pub(crate) struct ParseCache {
    trees: ByText<Arc<str>, Arc<[Arc<ParsedStatement>]>>,
    /// The options that the texts were parsed with.
    options: ParseOptions,
}

impl Default for ParseCache {
    fn default() -> ParseCache {
        ParseCache { trees: ByText::new(LIMITS), options: ParseOptions::default() }
    }
}

impl ParseCache {
    /// The statements of `text`.
    ///
    /// # Errors
    /// Of the parser.
    pub(crate) fn parse(&mut self, text: &str, options: ParseOptions) -> Result<Parsed> {
        if options != self.options {
            self.trees.clear();
            self.options = options;
        }
        if let Some((text, statements)) = self.trees.get(text) {
            return Ok((Arc::clone(text), Arc::clone(statements)));
        }
        let parsed: Parsed =
            (Arc::from(text), parser::parse_of_client(text, options)?.into_iter().map(Arc::new).collect());
        self.trees.put(Arc::clone(&parsed.0), text.len(), Arc::clone(&parsed.1));
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
}
