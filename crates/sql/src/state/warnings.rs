//! Warnings that arise where there is no client at hand, such as while a statement is bound.

use std::cell::RefCell;

use base::Error;

use super::session_state::SessionState;
use executor::client::{Client, Severity};

/// Those that the client has not been told yet.
#[derive(Debug, Default)]
pub struct Warnings(RefCell<Vec<Error>>);

impl Warnings {
    /// Adds one, unless the same was said of the same place: statements may be bound more than once.
    pub(crate) fn note(&self, warning: Error) {
        let mut noted = self.0.borrow_mut();
        let place = |error: &Error| error.fields().position;
        let is_same = |other: &Error| other.message() == warning.message() && place(other) == place(&warning);
        if !noted.iter().any(is_same) {
            noted.push(warning);
        }
    }

    /// Adds one, whatever was said before.
    pub(crate) fn add(&self, warning: Error) {
        self.0.borrow_mut().push(warning);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Says those from the place `from` on once more, without pointing anywhere: where PostgreSQL reads types twice.
    pub(crate) fn repeat(&self, from: usize) {
        let mut noted = self.0.borrow_mut();
        let mut again = noted[from..].to_vec();
        again.iter_mut().for_each(|warning| warning.fields_mut().position = None);
        noted.append(&mut again);
    }

    /// Drops the noted warnings without telling the client. Callers bind one statement more than once, and the client hears the warnings
    /// of one binding only.
    pub(crate) fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

impl SessionState {
    /// Tells the client what was noted.
    pub(crate) fn tell_warnings(&self, client: &mut dyn Client) {
        if self.warnings.0.borrow().is_empty() {
            return;
        }
        for warning in self.warnings.0.take() {
            self.notice(Severity::Warning, &warning.moved(self.characters_before.get()), client);
        }
    }
}
