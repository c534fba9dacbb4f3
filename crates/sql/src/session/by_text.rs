//! What is kept under statements' texts, in bounds.

use std::borrow::Borrow;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// How much is kept. What belongs to a text takes memory in proportion to it: some fifty times as much for a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// So many texts.
    pub(crate) texts: usize,
    /// Longer texts are not kept: few come twice.
    pub(crate) text_bytes: usize,
    /// All texts together.
    pub(crate) total_text_bytes: usize,
}

/// What is kept under texts. When a limit is reached, everything goes: what is used comes back.
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

    /// What is kept under `key`, and the key as it is kept.
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
