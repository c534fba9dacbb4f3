//! The parts of the modules above this one that sessions call.

use base::{Error, Result};
use executor::Run;
use plan::{CatalogCallbacks, CatalogView, OutputColumn};
use schema::catalog::FunctionDef;
use syntax::tree::Statement;
use types::SqlType;

use super::plan_cache::Planned;
use super::session_state::SessionState;

/// The types of the parameters of `statement`, which stands in a text; `None` for a statement that can't have parameters. The last
/// argument has the types that are given.
pub type ParameterTypes = fn(&SessionState, &str, &Statement, &[SqlType]) -> Result<Option<Vec<SqlType>>>;

/// The shape of what a utility statement gives, if that depends on the session. The last argument has the types of its parameters.
pub type SessionColumns = fn(&SessionState, &str, &Statement, &[SqlType]) -> Result<Option<ResultShape>>;

/// See the module. [`Instance`](super::Instance) has one for all its sessions.
pub struct Callbacks {
    /// Those of the catalog's views.
    pub catalog: CatalogCallbacks,
    /// Infers types of parameters of utility statements.
    pub parameter_types: ParameterTypes,
    /// Finds the columns of utility statements.
    pub session_columns: SessionColumns,
    /// The languages of functions.
    pub languages: &'static [&'static dyn Language],
}

/// The error of DO in a language that has no blocks.
pub(crate) fn no_blocks(language: &str) -> Error {
    Error::unsupported(format!("language \"{language}\" does not support inline code execution"))
}

impl Callbacks {
    /// The language of this name, in lower case.
    pub fn language(&self, name: &str) -> Option<&'static dyn Language> {
        self.languages.iter().copied().find(|language| language.name() == name)
    }
}

/// A language in which functions are written. Calls of functions go through [`executor::Host`].
pub trait Language: Sync {
    /// Its name in `pg_language`.
    fn name(&self) -> &'static str;

    /// Checks the types of a function that is about to be made.
    ///
    /// # Errors
    /// 42P13 for types that functions of the language can't have.
    fn check_types(&self, function: &FunctionDef, view: &CatalogView) -> Result<()>;

    /// Checks the body of a function that is about to be made. Returns warnings.
    ///
    /// # Errors
    /// Errors of reading and binding the body.
    fn check_body(&self, state: &SessionState, view: &CatalogView, function: &FunctionDef) -> Result<Vec<Error>>;

    /// Runs the body of DO.
    ///
    /// # Errors
    /// 0A000 for a language without such bodies, and errors of the body.
    fn run_block(&self, run: &mut Run<'_, '_>, body: &str) -> Result<()>;
}

/// The shape of a statement's result.
pub struct ResultShape {
    /// Its columns.
    pub columns: Vec<OutputColumn>,
    /// It gives rows, though they may have no columns.
    pub gives_rows: bool,
}

impl ResultShape {
    /// That of a statement with a plan.
    pub fn of(planned: &Planned) -> ResultShape {
        ResultShape { columns: planned.statement.columns.clone(), gives_rows: planned.gives_rows() }
    }
}
