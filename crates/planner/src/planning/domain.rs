//! The constraints of domains: bound once, and computed for each value.

use std::cell::RefCell;
use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::privileges::Access;
use plan::user_types::{TypeBody, by_oid};
use plan::{CatalogView, Expr, ExprKind, Meaning};
use rustc_hash::FxHashMap;
use schema::catalog::{CustomDef, Object};
use syntax::parser::{STACK_RESERVE_BYTES, too_deep};
use syntax::tree::Name;
use types::random::RandomState;
use types::{CatalogLookup, EvalContext, FormatSettings, PlainContext, SqlType, Value, format_type_name};

use super::{Inlining, fold};
use crate::binder::{BindContext, Parameters, PlannerSettings, VariableNames, domain_check};

/// `VALUE` in a domain's check.
struct ValueName(SqlType);

impl VariableNames for ValueName {
    fn variable(&self, parts: &[Name]) -> Option<(u32, SqlType)> {
        match parts {
            [name] if name.as_str() == "value" => Some((0, self.0)),
            _ => None,
        }
    }
}

/// A domain's check, ready to be computed.
pub struct BoundCheck {
    name: String,
    /// The condition, in which parameter 0 is the value that is checked.
    pub condition: Expr,
    /// The privileges that computing it needs.
    pub needed: Vec<Access>,
}

/// Computes a check of the value that is checked.
type Compute<'c> = dyn FnMut(&BoundCheck) -> Result<Value> + 'c;

/// Checks the constraints of a domain, and of the domains under it: NOT NULL first, then the checks of the innermost one, by their names.
///
/// # Errors
/// 23502, 23514, and what computing the checks raises.
pub fn check_domain(view: &CatalogView, domain: Oid, value: &Value, compute: &mut Compute<'_>) -> Result<()> {
    if value.is_null() && forbids_null(view, domain)? {
        let message = format!("domain {} does not allow null values", format_type_name(view, domain));
        return Err(about(view, domain, None, Error::new(sqlstate::NOT_NULL_VIOLATION, message)));
    }
    check_as(view, domain, domain, compute)
}

/// Whether the domain, or one of those under it, is NOT NULL.
fn forbids_null(view: &CatalogView, domain: Oid) -> Result<bool> {
    let mut next = domain;
    while let Some(bound) = bound_domain(view, next)? {
        if bound.not_null {
            return Ok(true);
        }
        next = bound.base.oid;
    }
    Ok(false)
}

/// As [`check_domain`] where no statement runs: checks are computed as the planner computes constants.
///
/// # Errors
/// 23502, 23514.
pub fn check_constant(view: &CatalogView, domain: Oid, value: &Value) -> Result<()> {
    check_literal(view, domain, value, &mut |_| {
        Err(Error::unsupported(
            "a domain's check that calls functions cannot be computed within another domain's check",
        ))
    })
}

/// The same; `compute` is for checks that the planner can't compute.
///
/// # Errors
/// As [`check_domain`].
pub fn check_literal(view: &CatalogView, domain: Oid, value: &Value, compute: &mut Compute<'_>) -> Result<()> {
    check_domain(view, domain, value, &mut |check| {
        if !check.needed.is_empty() {
            return compute(check);
        }
        let mut folded = check.condition.clone();
        replace_parameters(&mut folded, value);
        fold_check(view, &mut folded)?;
        match folded.kind {
            ExprKind::Constant(value) => Ok(value),
            _ => compute(check),
        }
    })
}

/// The stack needed to bind and evaluate one check. A check may need another check of the same domain.
const STACK_OF_CHECK_BYTES: usize = 2 * STACK_RESERVE_BYTES;

/// As [`check_domain`], of a domain under the one called `named`, which errors name.
fn check_as(view: &CatalogView, domain: Oid, named: Oid, compute: &mut Compute<'_>) -> Result<()> {
    if sync::remaining_stack_bytes() < STACK_OF_CHECK_BYTES {
        return Err(too_deep());
    }
    let Some(bound) = bound_domain(view, domain)? else { return Ok(()) };
    let BoundDomain { base, checks, .. } = &*bound;
    if base.oid >= Oid::FIRST_NORMAL {
        check_as(view, base.oid, named, compute)?;
    }
    for check in checks {
        if matches!(compute(check)?, Value::Bool(false)) {
            let name = format_type_name(view, named);
            let message = format!("value for domain {name} violates check constraint \"{}\"", check.name);
            return Err(about(view, named, Some(&check.name), Error::new(sqlstate::CHECK_VIOLATION, message)));
        }
    }
    Ok(())
}

/// An error that names the domain, and the constraint.
fn about(view: &CatalogView, domain: Oid, constraint: Option<&String>, mut error: Error) -> Error {
    if let Some(user_type) = by_oid(view, domain) {
        let fields = error.fields_mut();
        fields.schema = Some(user_type.schema.clone());
        fields.data_type = Some(user_type.name.clone());
        fields.constraint = constraint.cloned();
    }
    error
}

/// Binds a domain's check, in which parameter 0 stands for the value, and tells the privileges that computing it needs. Errors point into
/// `text`.
///
/// # Errors
/// Those of binding.
pub fn bind_check(
    view: &CatalogView,
    text: &str,
    tree: &syntax::tree::Expr,
    base: SqlType,
) -> Result<(Expr, Vec<Access>)> {
    let mut parameters = Parameters::fixed(vec![base]);
    with_value(view, text, base, |context| {
        let condition = domain_check(tree, context, &mut parameters)?;
        Ok((condition, std::mem::take(&mut context.needed)))
    })
}

/// The context in which checks of domains are computed: the catalog, and nothing of a session.
struct CheckContext<'v> {
    plain: PlainContext,
    view: &'v CatalogView,
}

impl EvalContext for CheckContext<'_> {
    fn format(&self) -> &FormatSettings {
        self.plain.format()
    }

    fn catalog(&self) -> &dyn CatalogLookup {
        self.view
    }

    fn transaction_timestamp(&self) -> i64 {
        self.plain.transaction_timestamp()
    }

    fn statement_timestamp(&self) -> i64 {
        self.plain.statement_timestamp()
    }

    fn random(&mut self) -> &mut RandomState {
        self.plain.random()
    }
}

/// Runs `work` with a context for the binder in which `VALUE` has a meaning.
fn with_value<T>(
    view: &CatalogView,
    text: &str,
    base: SqlType,
    work: impl FnOnce(&mut BindContext<'_>) -> Result<T>,
) -> Result<T> {
    let names = ValueName(base);
    let mut eval = CheckContext { plain: PlainContext::default(), view };
    work(&mut BindContext {
        transition_tables: &[],
        needed: Vec::new(),
        named_relations: Vec::new(),
        catalog: view.catalog(),
        system: view.system(),
        lookup: view,
        stored_lookup: view.for_stored_text(),
        body_lookup: view.for_bodies(),
        body_path: view.for_bodies().path(),
        eval: &mut eval,
        search_path: view.path(),
        temporary_schema: None,
        variables: Some(&names),
        database: "",
        text,
        text_is_stored: view.is_for_stored_text(),
        stored_query_of: None,
        meaning: Meaning::default(),
        earlier: None,
        resolved: None,
        leaves_views_closed: false,
        parameter_values: None,
        settings: PlannerSettings::default(),
    })
}

/// Refuses a check with a subquery.
///
/// # Errors
/// 0A000.
pub fn refuse_subqueries(check: &Expr) -> Result<()> {
    if check.any(&|expr| matches!(expr.kind, ExprKind::Subquery(_))) {
        return Err(Error::unsupported("cannot use subquery in check constraint"));
    }
    Ok(())
}

/// The constraints of a domain, ready to be computed.
struct BoundDomain {
    base: SqlType,
    not_null: bool,
    checks: Vec<BoundCheck>,
}

/// A domain as it was bound. Sessions share a thread, and a function in SQL that is part of a check looks names up in the session's path.
struct KnownDomain {
    def: Arc<CustomDef>,
    catalog_version: u64,
    body_path: Vec<Oid>,
    bound: std::rc::Rc<BoundDomain>,
}

impl KnownDomain {
    fn is_good_for(&self, view: &CatalogView, def: &Arc<CustomDef>) -> bool {
        self.is_current(view, def) && self.body_path == view.for_bodies().path()
    }

    fn is_current(&self, view: &CatalogView, def: &Arc<CustomDef>) -> bool {
        Arc::ptr_eq(&self.def, def) && self.catalog_version == view.catalog().version()
    }
}

/// Domains kept by a thread.
const DOMAINS_MAX: usize = 1024;
/// The number of search paths for which a thread keeps a domain.
const PATHS_MAX: usize = 8;

thread_local! {
    /// Domains by number, under each search path by itself.
    static DOMAINS: RefCell<FxHashMap<Oid, Vec<KnownDomain>>> = RefCell::default();
}

/// The domain's checks; nothing if the type is no domain.
fn bound_domain(view: &CatalogView, domain: Oid) -> Result<Option<std::rc::Rc<BoundDomain>>> {
    let Some(Object::Custom(custom)) = view.catalog().object(domain) else { return Ok(None) };
    let cached = DOMAINS.with_borrow(|domains| {
        let known = domains.get(&domain)?.iter().find(|known| known.is_good_for(view, custom));
        known.map(|known| std::rc::Rc::clone(&known.bound))
    });
    if cached.is_some() {
        return Ok(cached);
    }
    let TypeBody::Domain { base, not_null, mut checks, .. } = TypeBody::decode(&custom.body)? else { return Ok(None) };
    checks.sort_by(|one, other| one.name.cmp(&other.name));
    let checks = checks
        .into_iter()
        .map(|check| {
            let tree = syntax::parser::parse_expression(&check.expression)?;
            let (mut condition, mut needed) = bind_check(view.for_stored_text(), &check.expression, &tree, base)?;
            for access in fold_check(view, &mut condition)? {
                access.add_to(&mut needed);
            }
            Ok(BoundCheck { name: check.name, condition, needed })
        })
        .collect::<Result<_>>()?;
    let bound = std::rc::Rc::new(BoundDomain { base, not_null, checks });
    DOMAINS.with_borrow_mut(|domains| {
        if domains.len() >= DOMAINS_MAX {
            domains.clear();
        }
        let known = domains.entry(domain).or_default();
        known.retain(|known| known.is_current(view, custom));
        if known.len() >= PATHS_MAX {
            known.clear();
        }
        known.push(KnownDomain {
            def: Arc::clone(custom),
            catalog_version: view.catalog().version(),
            body_path: view.for_bodies().path().to_vec(),
            bound: std::rc::Rc::clone(&bound),
        });
    });
    Ok(Some(bound))
}

/// Computes what can be computed of a check before there is a value, and makes calls of functions in SQL part of it. Tells the privileges that
/// these functions need. Functions whose literals are read as a setting says are called, so that the setting of each session counts.
fn fold_check(view: &CatalogView, condition: &mut Expr) -> Result<Vec<Access>> {
    let mut inlining = Inlining::default();
    let mut folded = condition.clone();
    let result = with_value(view, "", condition.sql_type, |context| fold(&mut folded, context, &mut inlining));
    match result {
        // A literal may be readable under another setting.
        Err(error) if error.sqlstate().as_str().starts_with("22") => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(()) if inlining.depends_on_settings => Ok(Vec::new()),
        Ok(()) => {
            *condition = folded;
            Ok(inlining.access)
        }
    }
}

fn replace_parameters(expr: &mut Expr, value: &Value) {
    if matches!(expr.kind, ExprKind::Parameter(_)) {
        expr.kind = ExprKind::Constant(value.clone());
    }
    expr.for_each_child_mut(&mut |child| replace_parameters(child, value));
}
