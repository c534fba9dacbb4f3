//! From trees to bound queries: names are looked up, types resolved, and PostgreSQL's errors raised where it raises
//! them, with its codes, texts, hints and positions.
//!
//! # How it works
//! A [`Binder`] keeps a stack of scopes, one per query around the expression at hand. A scope holds the query's range
//! table and what names mean in it; a column found `n` scopes out becomes a variable of level `n`. Literals stay
//! `unknown` until an operator, function, column or cast gives them a type; then they are read by that type's input
//! function. Parameters without a type take the first type that is asked of them, as in PostgreSQL.
//!
//! # Limits
//! The binder checks no privileges: it lists those that the statement needs. It moves no part of the query, and it folds nothing but
//! literals. Moving and folding are the planner's work.

mod aggregate;
mod aggregate_call;
mod assignment;
mod change;
mod coerce;
mod collation;
mod cte;
mod definition;
mod expr;
mod from;
mod function;
mod lock;
mod mentions;
mod merge;
mod operator;
mod parameters;
mod same_query;
mod scope;
mod search_cycle;
mod select;
mod set_operation;
mod settings_update;
mod subquery;
mod table;
mod target;
mod trigger;
mod types;
mod unresolved;
mod updatable_view;
mod volatility;
mod whole_row;
mod window;

pub use aggregate::same;
pub(crate) use aggregate::{is_one_aggregate, is_one_value, same_set_call};
pub(crate) use assignment::call_unnamed;
pub use base::settings::words::VariableConflict;
pub use definition::{
    DefinitionUse, column_default, definition_expression, definition_type, named_type, procedure_call,
};
pub use from::later_columns;
pub(crate) use operator::null_test;
pub use parameters::Parameters;
pub(crate) use scope::SYSTEM_COLUMNS;
pub use table::{copy_filter, expression_columns, has_whole_row, is_whole_row, named_columns, table_expressions};
pub use target::column_name;
pub use trigger::{table_triggers, trigger_condition};
pub use updatable_view::{check_option, possible_changes, why_not_updatable};
pub use volatility::is_volatile;
pub(crate) use volatility::{calls_volatile, is_volatile_query, is_volatile_set};
pub(crate) use whole_row::row_of_nullable_side;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ::types::{CatalogLookup, EvalContext, SqlType, Value};
use base::lock_mode::LockMode;
use base::{Error, Lsn, Oid, Result, sqlstate};
use plan::bound::Query;
use plan::privileges::{self, Access, ColumnsUsed, Privileges};
use plan::{Expr, Meaning, PlannerCosts, SystemCatalog};
use schema::catalog::{Catalog, PG_CATALOG_SCHEMA, TableDef, ViewScope};
use scope::Scope;
use syntax::parser::{STACK_RESERVE_BYTES, character_position, too_deep};
use syntax::tree::{self, Location, Name, Statement};

/// The parts of a query. Their views are opened in this order, as PostgreSQL's rewriter opens them.
#[derive(Clone, Copy)]
enum Part {
    /// A view or subquery in FROM, or a side of a UNION.
    From,
    /// A common table expression.
    With,
    /// A subquery of an expression.
    Expression,
}

/// The bits above these are for a [`Part`].
const PART_SHIFT: u32 = 30;
/// The bit of parts of the views through which rows are changed: their conditions stand behind the statement's own.
const PART_IS_LATE: u32 = 1 << 29;

/// Names that mean parameters: the variables of a PL/pgSQL function around the statement.
pub trait VariableNames {
    /// The parameter (from 0) and type that the dotted name stands for.
    fn variable(&self, parts: &[Name]) -> Option<(u32, SqlType)>;

    /// The parameter (from 0) and type that the dotted name stands for, if its type says which fields it has.
    fn row(&self, _parts: &[Name]) -> Option<(u32, SqlType)> {
        None
    }

    /// Whether the dotted name stands for something of which `.*` gives the fields.
    fn is_row(&self, parts: &[Name]) -> bool {
        self.row(parts).is_some()
    }

    /// The names of the fields of the record that the dotted name stands for, where its type doesn't tell.
    fn field_names(&self, _parts: &[Name]) -> Option<Vec<Name>> {
        None
    }

    /// How an ambiguity between a variable and a column is resolved.
    fn conflict(&self) -> VariableConflict {
        VariableConflict::Error
    }
}

/// The state of the session that binding and planning use.
pub struct BindContext<'a> {
    /// The catalog.
    pub catalog: &'a Catalog,
    /// The tables that the server computes.
    pub system: &'a dyn SystemCatalog,
    /// The catalog look-ups of types, of input functions, and of the resolution of functions and operators.
    pub lookup: &'a dyn CatalogLookup,
    /// The same for texts that are stored: their bare names are those of built-in objects.
    pub stored_lookup: &'a dyn CatalogLookup,
    /// The same for the bodies of functions: their bare names are looked up in the session's path.
    pub body_lookup: &'a dyn CatalogLookup,
    /// The session's path.
    pub body_path: &'a [Oid],
    /// Literals are read and constants folded with this.
    pub eval: &'a mut dyn EvalContext,
    /// The schemas that unqualified names are looked for in, in order, `pg_catalog` among them.
    pub search_path: &'a [Oid],
    /// The schema that `pg_temp` stands for, if the session has temporary objects.
    pub temporary_schema: Option<Oid>,
    /// The names of variables around the statement.
    pub variables: Option<&'a dyn VariableNames>,
    /// Tables that a trigger's function can read besides those of the catalog.
    pub transition_tables: &'a [Arc<plan::VirtualTable>],
    /// The name of the database, for names that have one written.
    pub database: &'a str,
    /// The text the statement was parsed from: error positions count in it.
    pub text: &'a str,
    /// The text comes from the catalog. Types may have got columns since it was stored.
    pub text_is_stored: bool,
    /// The view whose stored query the statement is: its names mean what they meant when it was made.
    pub stored_query_of: Option<Arc<TableDef>>,
    /// Takes down what the names in the text stand for.
    pub resolved: Option<&'a RefCell<Resolved>>,
    /// Views are bound as tables, as if nothing were known of their queries: enough to find out what the text uses itself.
    pub leaves_views_closed: bool,
    /// The meaning of the text is taken down here.
    pub meaning: Meaning,
    /// The meaning that the text had when it was planned before, if it still has it.
    pub earlier: Option<&'a Meaning>,
    /// The values of the statement's parameters, if the plan is made for these alone.
    pub parameter_values: Option<&'a [Value]>,
    /// Switches of the planner.
    pub settings: PlannerSettings,
    /// The privileges that evaluating needs of those expressions that were bound by themselves; those of statements are in [`Bound`].
    pub needed: Vec<Access>,
    /// The relations that the statement has named up to now, and how it locks them. Used if binding fails: others may be changing them.
    pub named_relations: Vec<(Oid, LockMode)>,
}

/// The meanings of a text's names and literals, by their places in the text.
#[derive(Debug, Default)]
pub struct Resolved {
    /// Of `*` in select lists: how many columns it stands for.
    pub stars: HashMap<Location, usize>,
    /// Of calls: the function that a user made.
    pub functions: HashMap<Location, Oid>,
    /// Of quoted literals: their types and what they are as such.
    pub literals: HashMap<Location, (SqlType, Value)>,
    /// Of fields of rows, by what they are taken from and what they are called: the row's type, and which field of it.
    pub fields: HashMap<(Location, Name), (Oid, usize)>,
    /// Of `=` operators: those that `transform_null_equals` made a test for NULL.
    pub null_tests: HashSet<Location>,
    /// The keys by which GROUP BY determines columns that it does not name.
    pub keys: Vec<Oid>,
    /// The types of the rows that functions in FROM return.
    pub row_types: HashSet<Oid>,
}

/// Settings that change plans.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "they are named as the settings")]
pub struct PlannerSettings {
    pub keeps_row_places: bool,
    /// A constant that can't be computed is left as it is.
    pub errors_wait: bool,
    /// Only indexes that may be used with this snapshot are.
    pub oldest_snapshot: Option<Lsn>,
    pub enable_seqscan: bool,
    pub enable_indexscan: bool,
    pub enable_hashjoin: bool,
    pub enable_mergejoin: bool,
    pub enable_nestloop: bool,
    pub enable_sort: bool,
    pub transform_null_equals: bool,
    /// How the bodies of functions in SQL are read.
    pub standard_conforming_strings: bool,
    /// `session_replication_role` is `replica`: other triggers are called.
    pub in_replica: bool,
    pub costs: PlannerCosts,
}

impl Default for PlannerSettings {
    fn default() -> Self {
        PlannerSettings {
            keeps_row_places: false,
            errors_wait: false,
            oldest_snapshot: None,
            enable_seqscan: true,
            enable_indexscan: true,
            enable_hashjoin: true,
            enable_mergejoin: true,
            enable_nestloop: true,
            enable_sort: true,
            transform_null_equals: false,
            standard_conforming_strings: true,
            in_replica: false,
            costs: PlannerCosts::default(),
        }
    }
}

/// A bound statement that has a plan.
#[derive(Debug)]
pub struct Bound {
    /// The query.
    pub query: Query,
    /// The number of common table expressions in it.
    pub cte_count: u32,
    /// The number of subqueries in its expressions.
    pub subquery_count: u32,
    /// Literals were read in a way that depends on more than the catalog: settings, the zone, the clock.
    pub depends_on_settings: bool,
    /// The privileges that running it requires.
    pub access: Vec<Access>,
}

/// Binds a statement that has a plan; `None` for a utility statement.
///
/// `parameters` holds the types given; those inferred are added.
pub fn bind(
    statement: &Statement,
    context: &mut BindContext<'_>,
    parameters: &mut Parameters,
) -> Result<Option<Bound>> {
    bind_after(statement, 0, context, parameters)
}

/// [`bind`], for what becomes part of a statement that has `cte_count` common table expressions already: it gets the
/// numbers after those.
pub(crate) fn bind_after(
    statement: &Statement,
    cte_count: u32,
    context: &mut BindContext<'_>,
    parameters: &mut Parameters,
) -> Result<Option<Bound>> {
    let mut binder = Binder::new(context, parameters);
    binder.cte_count = cte_count;
    let query = match statement {
        Statement::Select(query) => binder.top_query(query),
        Statement::Insert(insert) => binder.insert(insert),
        Statement::Update(update) => binder.update(update),
        Statement::Delete(delete) => binder.delete(delete),
        Statement::Merge(merge) => binder.merge(merge),
        Statement::Unsupported(what) => Err(Error::unsupported(format!("{what} is not supported"))),
        _ => return Ok(None),
    };
    let query = query.and_then(|query| match binder.parameters.check_all_known() {
        Ok(()) => Ok(query),
        Err((error, location)) => Err(binder.at(error, location)),
    });
    let bound = query.map(|query| Bound {
        query,
        cte_count: binder.cte_count,
        subquery_count: binder.subquery_count,
        depends_on_settings: binder.depends_on_settings,
        access: binder.access,
    });
    bound.map(Some)
}

/// Binds an expression that sees no columns: a parameter of EXECUTE, a default, an option. With a target type it is
/// coerced as in an assignment.
pub fn scalar(
    expr: &tree::Expr,
    target: Option<SqlType>,
    context: &mut BindContext<'_>,
    parameters: &mut Parameters,
) -> Result<Expr> {
    let mut binder = Binder::new(context, parameters);
    binder.scopes.push(Scope::new(scope::Place::ExecuteParameter));
    let bound = binder.scalar(expr, target);
    binder.hand_on_needed();
    bound
}

/// Binds the condition of a domain's CHECK.
///
/// # Errors
/// Errors of binding; 42804 if the condition is no boolean.
pub fn domain_check(expr: &tree::Expr, context: &mut BindContext<'_>, parameters: &mut Parameters) -> Result<Expr> {
    let mut binder = Binder::new(context, parameters);
    binder.is_definition = true;
    binder.text_is_foreign = binder.context.text_is_stored;
    binder.scopes.push(Scope::new(scope::Place::CheckConstraint));
    let condition = binder.condition(expr, "CHECK");
    binder.hand_on_needed();
    condition
}

/// Binds one statement.
pub(crate) struct Binder<'c, 'a> {
    context: &'c mut BindContext<'a>,
    parameters: &'c mut Parameters,
    /// The queries around the current place, outermost first.
    scopes: Vec<Scope>,
    cte_count: u32,
    subquery_count: u32,
    depends_on_settings: bool,
    /// The privileges that running the statement requires.
    access: Vec<Access>,
    /// The owner of the view that is being expanded.
    view_owner: Option<Oid>,
    /// The path of the parts of queries around what is being bound, the outermost first: each has its [`Part`] and its number.
    parts: Vec<u32>,
    /// How many parts there have been.
    part_count: u32,
    /// The expressions of views through which rows are changed are being bound.
    is_in_layers: bool,
    /// [`Binder::parts`] at the view whose query is being bound; empty in the statement's own text.
    within: Vec<u32>,
    /// The views that are being expanded, the outermost first.
    views: Vec<Oid>,
    /// The text being bound is not the statement's own text, but a view's query or a default: errors have no position.
    text_is_foreign: bool,
    /// The view whose stored query is being bound.
    stored_query_of: Option<Arc<TableDef>>,
    /// How many COLLATE clauses have been bound.
    collate_clauses: u32,
    /// Whether an expression of a definition is being bound, whose text is stored.
    is_definition: bool,
}

impl<'c, 'a> Binder<'c, 'a> {
    /// Looks names up from now on as stored texts do. Returns what the statement's own names are looked up in.
    fn take_stored_names(&mut self) -> (&'a dyn CatalogLookup, &'a [Oid]) {
        let lookup = std::mem::replace(&mut self.context.lookup, self.context.stored_lookup);
        (lookup, std::mem::replace(&mut self.context.search_path, &[PG_CATALOG_SCHEMA]))
    }

    fn new(context: &'c mut BindContext<'a>, parameters: &'c mut Parameters) -> Self {
        Binder {
            stored_query_of: context.stored_query_of.clone(),
            context,
            parameters,
            scopes: Vec::new(),
            cte_count: 0,
            subquery_count: 0,
            depends_on_settings: false,
            access: Vec::new(),
            view_owner: None,
            parts: Vec::new(),
            part_count: 0,
            is_in_layers: false,
            within: Vec::new(),
            views: Vec::new(),
            text_is_foreign: false,
            collate_clauses: 0,
            is_definition: false,
        }
    }

    /// The columns and functions that the query being bound could name when it was stored.
    fn view_scope(&self) -> Option<&ViewScope> {
        self.stored_query_of.as_ref()?.view_scope.as_ref()
    }

    /// The meaning that the text had before, if the text is the statement's own.
    fn earlier(&self) -> Option<&Meaning> {
        self.context.earlier.filter(|_| !self.text_is_foreign)
    }

    /// Whether the bound form is for a text that will be stored: it keeps what was written, where it could be made simpler.
    fn keeps_words(&self) -> bool {
        self.context.resolved.is_some()
    }

    /// Whether a cast that was written is kept even where values pass unchanged.
    fn keeps_casts(&self) -> bool {
        self.is_definition || self.keeps_words()
    }

    /// Takes down what something in the text stands for.
    fn note_resolved(&self, note: impl FnOnce(&mut Resolved)) {
        if let Some(resolved) = self.context.resolved.filter(|_| !self.text_is_foreign) {
            note(&mut resolved.borrow_mut());
        }
    }

    /// Runs `work`, which binds the relations below a view. They are read with the rights of the view's owner, or, for a view
    /// `WITH (security_invoker)`, with the rights of the role that runs the statement.
    fn below_view<R>(&mut self, view: &TableDef, work: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.view_owner, rights_below(view));
        let result = self.in_part(Part::From, |binder| {
            let within = std::mem::replace(&mut binder.within, binder.parts.clone());
            let result = work(binder);
            binder.within = within;
            result
        });
        self.view_owner = outer;
        result
    }

    /// Runs `work`, which binds a text that is not the statement's own.
    fn in_foreign_text<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let foreign = std::mem::replace(&mut self.text_is_foreign, true);
        let result = work(self);
        self.text_is_foreign = foreign;
        result
    }

    /// Runs `work`, which binds a part of a query that may have views of its own.
    fn in_part<R>(&mut self, part: Part, work: impl FnOnce(&mut Self) -> R) -> R {
        self.part_count += 1;
        let late = if self.is_in_layers { PART_IS_LATE } else { 0 };
        self.parts.push((part as u32) << PART_SHIFT | late | self.part_count);
        let result = work(self);
        self.parts.pop();
        result
    }

    /// Hands on the privileges that an expression needs that was bound by itself.
    fn hand_on_needed(&mut self) {
        for access in std::mem::take(&mut self.access) {
            access.add_to(&mut self.context.needed);
        }
    }

    /// Whether what is being bound comes from the catalog. Its names were looked up when it was stored.
    fn is_of_stored_text(&self) -> bool {
        self.text_is_foreign || self.context.text_is_stored
    }

    /// Notes what the statement does with a table, view, sequence or function; where it is noted.
    fn needs(&mut self, object: Oid, privileges: Privileges) -> usize {
        let columns = ColumnsUsed::default();
        // The acting role reads it, but a stored text has found it.
        let checked_as = self.view_owner.or_else(|| self.is_of_stored_text().then_some(privileges::BY_VIEW));
        Access { object, privileges, checked_as, columns, within: self.within.clone() }.add_to(&mut self.access)
    }

    /// Notes that the statement calls a function. The acting role needs EXECUTE, even where a view calls it.
    fn calls(&mut self, function: Oid) {
        let is_stored = self.view_owner.is_some() || self.is_of_stored_text();
        let checked_as = is_stored.then_some(privileges::BY_VIEW);
        let columns = ColumnsUsed::default();
        let within = self.within.clone();
        Access { object: function, privileges: Privileges::EXECUTE, checked_as, columns, within }
            .add_to(&mut self.access);
    }

    /// Notes that the statement uses a column of the object of entry `access`: by its place, or a system column's number.
    fn uses_column(&mut self, access: usize, privilege: Privileges, attribute: i32) {
        let access = &mut self.access[access];
        access.privileges = access.privileges | privilege;
        access.columns.add(privilege, attribute);
    }

    /// The innermost scope.
    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a query is being bound")
    }

    /// Runs `inner` one level deeper: 54001 if that is too deep.
    fn nested<R>(&mut self, inner: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if sync::remaining_stack_bytes() < STACK_RESERVE_BYTES { Err(too_deep()) } else { inner(self) }
    }

    /// `error` pointing at `location`, unless it points somewhere already.
    fn at(&self, error: Error, location: Location) -> Error {
        if self.text_is_foreign || error.fields().position.is_some() {
            return error;
        }
        match character_position(self.context.text, location) {
            Some(position) => error.at(position),
            None => error,
        }
    }

    /// An error of this code and text that points at `location`.
    fn error(&self, code: base::SqlState, message: impl Into<String>, location: Location) -> Error {
        self.at(Error::new(code, message), location)
    }

    /// 0A000 that points at `location`.
    fn unsupported(&self, message: impl Into<String>, location: Location) -> Error {
        self.error(sqlstate::FEATURE_NOT_SUPPORTED, message, location)
    }
}

/// The role with whose rights the relations below a view are read: its owner, or, with `security_invoker`, `None` for the role that runs
/// the statement.
pub fn rights_below(view: &TableDef) -> Option<Oid> {
    (!has_option(view, "security_invoker")).then_some(view.owner)
}

/// Whether an option of a view is on.
fn has_option(view: &TableDef, name: &str) -> bool {
    let value = view.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
    value.is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "on" | "yes" | "1" | "t" | "y"))
}
