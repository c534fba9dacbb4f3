//! Types that users make: enums, domains, composite types, and the row types of tables.
//!
//! A table's row type has the table's number. The others are custom objects of the class `pg_type` whose body is a
//! [`TypeBody`]. The array type of any of them has the same number with the highest bit set, and no object of its own.

use std::cell::RefCell;
use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use engine::catalog::{Catalog, CustomDef, Object, TableDef, class};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::rows::{NULL, letter, row};
use crate::binder::{BindContext, VariableNames, domain_check};
use crate::binder::{Parameters, PlannerSettings};
use crate::parser::{STACK_RESERVE_BYTES, too_deep};
use crate::plan::{Expr, ExprKind, Meaning};
use crate::privileges::Access;
use crate::session::CatalogView;
use crate::tree::Name;
use crate::types::context::{EnumLabel, UserTypeKind};
use crate::types::random::RandomState;
use crate::types::{
    CatalogLookup, EvalContext, FormatSettings, PlainContext, RecordShape, SqlType, UserType, Value, format_type_name,
};

/// What a type's descriptor holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TypeBody {
    /// CREATE TYPE ... AS ENUM
    Enum {
        /// The labels in order, with the keys by which values are stored.
        labels: Vec<(i64, String)>,
        /// `COMMENT ON`.
        comment: Option<String>,
    },
    /// CREATE DOMAIN
    Domain {
        /// The type under it.
        base: SqlType,
        /// NOT NULL
        not_null: bool,
        /// DEFAULT, as SQL.
        default: Option<String>,
        /// The checks.
        checks: Vec<DomainCheck>,
        /// `COMMENT ON`.
        comment: Option<String>,
        /// COLLATE, where it is not the type's own one.
        #[serde(default)]
        collation: Option<Oid>,
    },
    /// CREATE TYPE ... AS (...)
    Composite {
        /// Names and types of the fields.
        fields: Vec<(String, SqlType)>,
        /// `COMMENT ON`.
        comment: Option<String>,
        /// `COMMENT ON COLUMN` of the fields, as far as the last one that has one.
        #[serde(default)]
        field_comments: Vec<Option<String>>,
        /// COLLATE of the fields, where it is not their types' own one, as far as the last one that has one.
        #[serde(default)]
        field_collations: Vec<Option<Oid>>,
    },
}

/// A check of a domain.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DomainCheck {
    /// The constraint's number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// A condition on `VALUE`, as SQL.
    pub expression: String,
    /// Whether all values that are stored are known to meet it: not so after NOT VALID.
    #[serde(default = "is_valid")]
    pub validated: bool,
}

fn is_valid() -> bool {
    true
}

impl TypeBody {
    /// The bytes of a descriptor.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a type's body has no map with other keys than texts")
    }

    /// Reads a descriptor.
    ///
    /// # Errors
    /// XX001 if it was not written by [`TypeBody::encode`].
    pub fn decode(bytes: &[u8]) -> Result<TypeBody> {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::corrupted(format!("a type's descriptor is damaged: {error}")))
    }

    /// `COMMENT ON`.
    pub fn comment(&self) -> Option<&str> {
        match self {
            TypeBody::Enum { comment, .. } | TypeBody::Domain { comment, .. } | TypeBody::Composite { comment, .. } => {
                comment.as_deref()
            }
        }
    }
}

/// A type with what only the catalogs want to know of it.
pub struct Described {
    /// What resolution and input know.
    pub user_type: Arc<UserType>,
    /// Its schema.
    pub schema: Oid,
    /// Its owner.
    pub owner: Oid,
    /// The table whose rows it describes.
    pub relation: Oid,
    /// For a domain: NOT NULL.
    pub not_null: bool,
    /// For a domain: DEFAULT.
    pub default: Option<String>,
    /// For a domain: COLLATE, where it is not its base type's own one.
    pub collation: Option<Oid>,
}

/// The number of the array type of a user type.
pub fn array_of(oid: Oid) -> Oid {
    Oid(oid.0 | Oid::ARRAY_TYPE_BIT)
}

/// The element type, if this is an array type of a user type.
pub fn element_of_array(oid: Oid) -> Option<Oid> {
    (oid.0 & Oid::ARRAY_TYPE_BIT != 0).then_some(Oid(oid.0 & !Oid::ARRAY_TYPE_BIT))
}

/// What a type was made of; the cache is good as long as it is the same.
#[derive(Clone)]
enum Source {
    Table(Arc<TableDef>),
    Custom(Arc<CustomDef>),
}

impl Source {
    fn is_same(&self, other: &Source) -> bool {
        match (self, other) {
            (Source::Table(a), Source::Table(b)) => Arc::ptr_eq(a, b),
            (Source::Custom(a), Source::Custom(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    fn schema(&self) -> Oid {
        match self {
            Source::Table(table) => table.schema,
            Source::Custom(custom) => custom.schema,
        }
    }
}

/// Types kept by a thread.
const CACHED_MAX: usize = 1024;

thread_local! {
    static CACHE: RefCell<FxHashMap<Oid, (Source, Arc<UserType>)>> = RefCell::default();
}

fn source(catalog: &Catalog, oid: Oid) -> Option<Source> {
    match catalog.object(oid)? {
        Object::Table(table) => Some(Source::Table(Arc::clone(table))),
        Object::Custom(custom) if custom.class == class::TYPE => Some(Source::Custom(Arc::clone(custom))),
        _ => None,
    }
}

fn describe(view: &CatalogView, oid: Oid, source: &Source) -> Option<UserType> {
    match source {
        Source::Table(table) => {
            let live = table.columns.iter().filter(|column| !column.dropped);
            let fields = live.map(|column| (column.name.clone(), SqlType::with_typmod(column.type_oid, column.typmod)));
            let shape = RecordShape { type_oid: oid, fields: fields.collect() };
            Some(UserType {
                oid,
                name: table.name.clone(),
                schema: view.schema_name(table.schema),
                array: array_of(oid),
                kind: UserTypeKind::Composite(Arc::new(shape)),
            })
        }
        Source::Custom(custom) => {
            let kind = match TypeBody::decode(&custom.body).ok()? {
                TypeBody::Enum { labels, .. } => {
                    UserTypeKind::Enum(labels.into_iter().map(|(key, label)| EnumLabel { key, label }).collect())
                }
                TypeBody::Domain { base, .. } => UserTypeKind::Domain(base),
                TypeBody::Composite { fields, .. } => {
                    UserTypeKind::Composite(Arc::new(RecordShape { type_oid: oid, fields }))
                }
            };
            let schema = view.schema_name(custom.schema);
            Some(UserType { oid, name: custom.name.clone(), schema, array: array_of(oid), kind })
        }
    }
}

/// The type with this number.
pub fn by_oid(view: &CatalogView, oid: Oid) -> Option<Arc<UserType>> {
    if let Some(element) = element_of_array(oid) {
        let element = by_oid(view, element)?;
        return Some(Arc::new(UserType {
            oid,
            name: array_name_of(view.catalog(), element.oid, &element.name),
            schema: element.schema.clone(),
            array: Oid::INVALID,
            kind: UserTypeKind::Array(element.oid),
        }));
    }
    let source = source(view.catalog(), oid)?;
    let is_in = |schema: &str| view.catalog().schema(source.schema()).is_none_or(|found| found.name == schema);
    let cached = CACHE.with_borrow(|cache| {
        let known = cache.get(&oid).filter(|(known, user_type)| known.is_same(&source) && is_in(&user_type.schema));
        known.map(|(_, user_type)| Arc::clone(user_type))
    });
    if cached.is_some() {
        return cached;
    }
    let user_type = Arc::new(describe(view, oid, &source)?);
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= CACHED_MAX {
            cache.clear();
        }
        cache.insert(oid, (source, Arc::clone(&user_type)));
    });
    Some(user_type)
}

/// The type called `name` in `schema`.
pub fn named(view: &CatalogView, schema: Oid, name: &str) -> Option<Oid> {
    let catalog = view.catalog();
    plainly_named(catalog, schema, name).or_else(|| {
        let (bare, count) = without_underscores(name);
        let arrays = if count > 0 { array_names(catalog, schema, bare) } else { Vec::new() };
        arrays.into_iter().find(|(_, underscores)| *underscores == count).map(|(element, _)| array_of(element))
    })
}

/// The type called `name` in `schema` that is no array. Names of arrays give way to it.
pub fn plainly_named(catalog: &Catalog, schema: Oid, name: &str) -> Option<Oid> {
    let custom = catalog.custom_by_name(class::TYPE, schema, name).map(|custom| custom.oid);
    custom.or_else(|| catalog.table_by_name(schema, name).map(|table| table.oid))
}

/// A name without the underscores before it, and how many these are.
fn without_underscores(name: &str) -> (&str, usize) {
    let bare = name.trim_start_matches('_');
    (bare, name.len() - bare.len())
}

/// The types of `schema` whose names are `bare` with underscores before it, in the order in which they were made, and how many
/// underscores the array over each has: one more than the type has itself, or the next number that no other type has.
fn array_names(catalog: &Catalog, schema: Oid, bare: &str) -> Vec<(Oid, usize)> {
    let name_of = |underscores: usize| format!("{}{bare}", "_".repeat(underscores));
    let most = base::limits::NAME_MAX_BYTES.saturating_sub(bare.len());
    let mut types: Vec<(Oid, usize)> =
        (0..=most).filter_map(|count| Some((plainly_named(catalog, schema, &name_of(count))?, count))).collect();
    types.sort_unstable();
    let mut taken: Vec<usize> = types.iter().map(|(_, count)| *count).collect();
    let mut arrays = Vec::with_capacity(types.len());
    for (oid, count) in types {
        let mut free = count + 1;
        while taken.contains(&free) {
            free += 1;
        }
        taken.push(free);
        arrays.push((oid, free));
    }
    arrays
}

/// The name of the array type over `element`, a type called `name`.
pub fn array_name_of(catalog: &Catalog, element: Oid, name: &str) -> String {
    let first = format!("_{name}");
    let Some(schema) = source(catalog, element).map(|source| source.schema()) else { return first };
    let (bare, count) = without_underscores(name);
    if count == 0 && plainly_named(catalog, schema, &first).is_none() {
        return first;
    }
    match array_names(catalog, schema, bare).into_iter().find(|(oid, _)| *oid == element) {
        Some((_, underscores)) => format!("{}{bare}", "_".repeat(underscores)),
        None => first,
    }
}

/// The composite type called `name` in `schema`: as a relation it has the type's own name and number.
pub fn composite_named<'c>(catalog: &'c Catalog, schema: Oid, name: &str) -> Option<&'c Arc<CustomDef>> {
    catalog.custom_by_name(class::TYPE, schema, name).filter(|def| composite_fields(def).is_some())
}

/// The fields of a composite type; nothing if it is another type.
pub fn composite_fields(def: &CustomDef) -> Option<Vec<(String, SqlType)>> {
    match TypeBody::decode(&def.body) {
        Ok(TypeBody::Composite { fields, .. }) if def.class == class::TYPE => Some(fields),
        _ => None,
    }
}

/// The collations of a composite type's fields, where they are not their types' own ones.
pub fn field_collations(def: &CustomDef) -> Vec<Option<Oid>> {
    match TypeBody::decode(&def.body) {
        Ok(TypeBody::Composite { field_collations, .. }) => field_collations,
        _ => Vec::new(),
    }
}

/// The collation that a column of this type has without being told.
pub fn collation_of(view: &CatalogView, oid: Oid) -> Oid {
    let said = described(view, oid).and_then(|domain| domain.collation);
    said.unwrap_or_else(|| match by_oid(view, oid).map(|found| found.kind.clone()) {
        Some(UserTypeKind::Domain(base)) => collation_of(view, base.oid),
        Some(UserTypeKind::Array(element)) => collation_of(view, element),
        _ => crate::types::collation::of_type(view, oid),
    })
}

/// The name of a domain's check.
pub fn check_name(catalog: &Catalog, domain: Oid, check: Oid) -> Option<String> {
    let Some(Object::Custom(def)) = catalog.object(domain) else { return None };
    match TypeBody::decode(&def.body) {
        Ok(TypeBody::Domain { checks, .. }) => {
            checks.into_iter().find(|other| other.oid == check).map(|found| found.name)
        }
        _ => None,
    }
}

/// Whether a relation of `schema`, composite types among them, is called `name`.
pub fn relation_name_is_taken(catalog: &Catalog, schema: Oid, name: &str) -> bool {
    catalog.relation_by_name(schema, name).is_some() || composite_named(catalog, schema, name).is_some()
}

/// 42809 where rows are wanted of a composite type.
pub fn is_composite_type(name: &str) -> Error {
    Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is a composite type"))
}

/// The numbers of all user types but arrays, in order.
pub fn all(catalog: &Catalog) -> Vec<Oid> {
    let mut all: Vec<Oid> =
        catalog.tables().map(|table| table.oid).chain(catalog.customs(class::TYPE).map(|custom| custom.oid)).collect();
    all.sort();
    all
}

/// A type with its schema and owner.
pub fn described(view: &CatalogView, oid: Oid) -> Option<Described> {
    let user_type = by_oid(view, oid)?;
    match source(view.catalog(), oid)? {
        Source::Table(table) => Some(Described {
            user_type,
            schema: table.schema,
            owner: table.owner,
            relation: oid,
            not_null: false,
            default: None,
            collation: None,
        }),
        Source::Custom(custom) => {
            let (not_null, default, collation) = match TypeBody::decode(&custom.body).ok()? {
                TypeBody::Domain { not_null, default, collation, .. } => (not_null, default, collation),
                _ => (false, None, None),
            };
            let (schema, owner) = (custom.schema, custom.owner);
            Some(Described { user_type, schema, owner, relation: Oid::INVALID, not_null, default, collation })
        }
    }
}

/// The rows of `pg_constraint` for the checks of domains.
pub fn domain_constraints(catalog: &Catalog) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for custom in catalog.customs(class::TYPE) {
        let Ok(TypeBody::Domain { checks, .. }) = TypeBody::decode(&custom.body) else { continue };
        for check in checks {
            let none = Oid::INVALID;
            rows.push(row![
                check.oid,
                check.name.as_str(),
                custom.schema,
                letter('c'),
                false,
                false,
                check.validated,
                none,
                custom.oid,
                none,
                none,
                none,
                letter(' '),
                letter(' '),
                letter(' '),
                true,
                0i32,
                false,
                NULL,
                NULL,
                NULL,
                NULL,
                NULL,
                NULL,
                NULL,
                check.expression,
            ]);
        }
    }
    rows
}

/// A domain's check by the constraint's number, and what the domain is over.
pub fn check_by_number(catalog: &Catalog, constraint: Oid) -> Option<(DomainCheck, SqlType)> {
    catalog.customs(class::TYPE).find_map(|custom| match TypeBody::decode(&custom.body) {
        Ok(TypeBody::Domain { base, checks, .. }) => {
            checks.into_iter().find(|check| check.oid == constraint).map(|check| (check, base))
        }
        _ => None,
    })
}

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
/// Whatever binding raises.
pub fn bind_check(
    view: &CatalogView,
    text: &str,
    tree: &crate::tree::Expr,
    base: SqlType,
) -> Result<(Expr, Vec<Access>)> {
    let mut parameters = Parameters::fixed(vec![base]);
    with_value(view, text, base, |context| {
        let condition = domain_check(tree, context, &mut parameters)?;
        Ok((condition, std::mem::take(&mut context.needed)))
    })
}

/// What checks of domains are computed with: the catalog, and nothing of a session.
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
        catalog: view.catalog(),
        system: super::system(),
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

/// What is checked of a domain's values, ready to be computed.
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

/// Under so many search paths a domain is kept at once.
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
            let tree = crate::parser::parse_expression(&check.expression)?;
            let (mut condition, mut needed) = bind_check(view.for_stored_text(), &check.expression, &tree, base)?;
            for access in fold_check(view, &mut condition)? {
                access.add_to(&mut needed);
            }
            Ok(BoundCheck { name: check.name, condition, needed })
        })
        .collect::<Result<_>>()?;
    let bound = std::rc::Rc::new(BoundDomain { base, not_null, checks });
    DOMAINS.with_borrow_mut(|domains| {
        if domains.len() >= CACHED_MAX {
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
    let mut inlining = crate::planner::Inlining::default();
    let mut folded = condition.clone();
    let result =
        with_value(view, "", condition.sql_type, |context| crate::planner::fold(&mut folded, context, &mut inlining));
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

/// The default that a column of this domain has if it has none of its own. A domain takes its base's default when it is created.
pub fn domain_default(view: &CatalogView, domain: Oid) -> Option<String> {
    let Some(Object::Custom(custom)) = view.catalog().object(domain) else { return None };
    match TypeBody::decode(&custom.body).ok()? {
        TypeBody::Domain { default, .. } => default,
        _ => None,
    }
}

/// Whether a domain takes every value of its base type, NULL too, and gives columns no default.
///
/// # Errors
/// Those of reading the descriptors.
pub fn restricts_nothing(view: &CatalogView, domain: Oid) -> Result<bool> {
    let mut next = domain;
    while let Some(Object::Custom(custom)) = view.catalog().object(next) {
        let TypeBody::Domain { base, not_null, default, checks, .. } = TypeBody::decode(&custom.body)? else { break };
        if not_null || default.is_some() || !checks.is_empty() {
            return Ok(false);
        }
        next = base.oid;
    }
    Ok(true)
}

fn replace_parameters(expr: &mut Expr, value: &Value) {
    if matches!(expr.kind, ExprKind::Parameter(_)) {
        expr.kind = ExprKind::Constant(value.clone());
    }
    expr.for_each_child_mut(&mut |child| replace_parameters(child, value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::oids;

    #[test]
    fn a_descriptor_is_read_back_as_it_was_written() {
        let body = TypeBody::Domain {
            base: SqlType::with_typmod(oids::VARCHAR, 14),
            not_null: true,
            default: Some("'x'::text".to_owned()),
            checks: vec![DomainCheck {
                oid: Oid(7),
                name: "c".to_owned(),
                expression: "VALUE <> ''".to_owned(),
                validated: true,
            }],
            comment: None,
            collation: Some(Oid(950)),
        };
        assert_eq!(TypeBody::decode(&body.encode()).unwrap(), body);
        assert_eq!(TypeBody::decode(b"{").unwrap_err().sqlstate(), sqlstate::DATA_CORRUPTED);
    }

    #[test]
    fn an_array_types_number_leads_back_to_its_element() {
        assert_eq!(element_of_array(array_of(Oid(16_400))), Some(Oid(16_400)));
        assert_eq!(element_of_array(Oid(16_400)), None);
    }
}
