//! Plans kept by text, so that a statement seen before is not parsed and planned again.
//!
//! A plan is good for one catalog version and one `search_path`. Sessions keep those they used lately; behind
//! them lies one cache for all. A transaction that has changed the catalog keeps its plans to itself.

use std::ops::Deref;
use std::sync::Arc;

use plan::{Command, Meaning, Statement};
use sync::Mutex;
use types::{CatalogLookup, SqlType, base_type};

use super::by_text::{ByText, Limits};
use super::session_state::SessionState;
use executor::client::{ResultColumn, RowDescription};

/// A value that ends on a further stack if it was made on one: it may be nested deeper than the stack bears of whoever happens to
/// hold it last.
pub struct EndsWhereMade<T> {
    value: Option<T>,
    is_deep: bool,
}

impl<T> EndsWhereMade<T> {
    /// `value`, which was just made on this stack.
    pub fn new(value: T) -> EndsWhereMade<T> {
        EndsWhereMade { value: Some(value), is_deep: sync::is_on_further_stack() }
    }
}

impl<T> Deref for EndsWhereMade<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.as_ref().expect("it is taken when it ends")
    }
}

impl<T> Drop for EndsWhereMade<T> {
    fn drop(&mut self) {
        if !self.is_deep {
            return;
        }
        let mut value = self.value.take();
        if sync::on_further_stack(|| drop(value.take())).is_err() {
            // Better kept for ever than ended without a stack.
            std::mem::forget(value);
        }
    }
}

/// A plan with what a client is told of its columns.
pub struct Planned {
    /// The plan.
    pub statement: EndsWhereMade<Statement>,
    /// Its columns.
    pub description: RowDescription,
    /// Whether it gives rows: those of a SELECT may have no columns.
    gives_rows: bool,
    /// The settings it was planned under that change what a text means.
    pub search_path: Arc<str>,
}

impl Planned {
    /// `statement`, planned under `search_path`. Clients are told of the types under domains. `gives_rows_without_columns`: it
    /// gives rows even if it has no columns and is no SELECT.
    pub fn new(
        statement: Statement,
        gives_rows_without_columns: bool,
        search_path: Arc<str>,
        catalog: &dyn CatalogLookup,
    ) -> Planned {
        let columns = statement.columns.iter().map(|column| ResultColumn {
            name: column.name.to_string(),
            sql_type: base_type(catalog, column.sql_type),
            table: column.table,
            attribute_number: column.attribute,
        });
        let description = RowDescription::new(columns.collect());
        let gives_rows =
            gives_rows_without_columns || statement.command == Command::Select || !description.columns.is_empty();
        Planned { statement: EndsWhereMade::new(statement), description, gives_rows, search_path }
    }

    /// Whether it gives rows.
    pub fn gives_rows(&self) -> bool {
        self.gives_rows
    }

    /// The meaning of its text, unless something has changed since for which the text is read anew.
    pub fn meaning_now(&self, state: &SessionState) -> Option<&Meaning> {
        let meaning = self.statement.meaning.as_deref()?;
        let holds = self.search_path == state.plan_path() && meaning.holds(state.catalog().catalog());
        holds.then_some(meaning)
    }

    /// Whether it may be used under this catalog and path.
    pub fn is_good(&self, catalog_version: u64, search_path: &Arc<str>) -> bool {
        self.statement.catalog_version == catalog_version
            && (Arc::ptr_eq(&self.search_path, search_path) || self.search_path == *search_path)
    }
}

/// The key of a cached plan: the text, and the types of its parameters.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The statement's text.
    pub text: Arc<str>,
    /// Types given for its parameters.
    pub types: Arc<[SqlType]>,
}

/// Plans by text.
pub(crate) type Plans = ByText<Key, Arc<Planned>>;

/// Texts with constants in them would fill memory.
const SHARED_LIMITS: Limits = Limits { texts: 4096, text_bytes: 16 << 10, total_text_bytes: 2 << 20 };
const SESSION_LIMITS: Limits = Limits { texts: 128, total_text_bytes: 128 << 10, ..SHARED_LIMITS };

/// The plans that a session keeps.
pub(crate) fn plans_of_session() -> Plans {
    ByText::new(SESSION_LIMITS)
}

/// Plans shared by all sessions.
pub struct PlanCache {
    /// A leaf; held for a look-up.
    plans: Mutex<Plans>,
}

impl Default for PlanCache {
    fn default() -> PlanCache {
        PlanCache { plans: Mutex::new(ByText::new(SHARED_LIMITS)) }
    }
}

impl PlanCache {
    /// A good plan for `key`.
    pub fn get(&self, key: &Key, catalog_version: u64, search_path: &Arc<str>) -> Option<Arc<Planned>> {
        let plans = self.plans.lock();
        plans
            .get(key)
            .map(|(_, planned)| planned)
            .filter(|planned| planned.is_good(catalog_version, search_path))
            .cloned()
    }

    /// Keeps a plan.
    pub fn put(&self, key: Key, planned: &Arc<Planned>) {
        let text_bytes = key.text.len();
        self.plans.lock().put(key, text_bytes, Arc::clone(planned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Chain(#[expect(dead_code, reason = "it is there to end")] Option<Box<Chain>>);

    #[test]
    fn what_was_made_on_a_further_stack_ends_on_one() {
        let made = sync::on_further_stack(|| {
            let mut chain = Chain(None);
            for _ in 0..200_000 {
                chain = Chain(Some(Box::new(chain)));
            }
            EndsWhereMade::new(chain)
        });
        // A stack that the chain's end would overflow.
        std::thread::Builder::new().stack_size(512 << 10).spawn(move || drop(made)).unwrap().join().unwrap();
    }
}
