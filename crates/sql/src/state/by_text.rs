//! A bounded cache whose keys are the texts of statements.

use std::borrow::Borrow;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// The limits of a cache. The value of a text takes memory in proportion to the text: a plan takes some fifty times as much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The maximum number of texts.
    pub(crate) texts: usize,
    /// The maximum length of one text. Longer texts are not kept, because few of them come twice.
    pub(crate) text_bytes: usize,
    /// The maximum length of all texts together.
    pub(crate) total_text_bytes: usize,
}

/// Values by their texts. When a limit is reached, all entries are removed: an entry that is in use soon comes back.
pub(crate) struct ByText<K, V> {
    kept: FxHashMap<K, V>,
    text_bytes: usize,
    limits: Limits,
}

impl<K: Eq + Hash, V> ByText<K, V> {
    /// Nothing yet.
    pub(crate) fn new(limits: Limits) -> ByText<K, V> {
        ByText { kept: FxHashMap::default(), text_bytes: 0, limits }
    }

    /// Returns the value that is kept under `key`, with the kept key.
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        self.kept.get_key_value(key)
    }

    /// Keeps `value` under a text of so many bytes, if it is short enough.
    pub(crate) fn put(&mut self, key: K, text_bytes: usize, value: V) {
        if text_bytes > self.limits.text_bytes {
            return;
        }
        if self.kept.len() >= self.limits.texts || self.text_bytes + text_bytes > self.limits.total_text_bytes {
            self.clear();
        }
        if self.kept.insert(key, value).is_none() {
            self.text_bytes += text_bytes;
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.text_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_passed() {
        let mut kept: ByText<String, usize> =
            ByText::new(Limits { texts: 100, text_bytes: 1000, total_text_bytes: 5000 });
        for number in 0..10_000 {
            let text = format!("{number:0width$}", width = 1 + number % 1200);
            kept.put(text.clone(), text.len(), number);
            assert_eq!(kept.get(&text).is_some(), text.len() <= 1000);
            assert!(kept.kept.len() <= 100 && kept.text_bytes <= 5000);
            assert_eq!(kept.text_bytes, kept.kept.keys().map(String::len).sum::<usize>());
        }
    }

    #[test]
    fn what_is_kept_anew_is_counted_once() {
        let mut kept = ByText::new(Limits { texts: 2, text_bytes: 10, total_text_bytes: 10 });
        for value in 0..100 {
            kept.put("text", 4, value);
        }
        assert_eq!(kept.get("text"), Some((&"text", &99)));
        assert_eq!(kept.text_bytes, 4);
    }
}
