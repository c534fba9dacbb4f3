//! Functions that the languages have made ready for a session: compiled, or parsed and planned.

use std::any::Any;
use std::cell::{OnceCell, RefCell};

/// A place for each language. The languages live above this module and know what they keep.
#[derive(Default)]
pub(crate) struct ReadyFunctions {
    places: [OnceCell<Box<dyn Any + Send>>; 2],
}

/// The kinds of functions that a session keeps.
pub(crate) trait Kept: Default + Send + 'static {
    /// Its place, which no other kind has.
    const PLACE: usize;
}

impl ReadyFunctions {
    /// Those of one language.
    pub(crate) fn of<K: Kept>(&self) -> &RefCell<K> {
        let kept = self.places[K::PLACE].get_or_init(|| Box::new(RefCell::new(K::default())));
        kept.downcast_ref().expect("each place has one kind")
    }
}
