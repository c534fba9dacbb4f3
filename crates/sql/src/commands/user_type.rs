//! CREATE TYPE, CREATE DOMAIN, and the statements that change either.

use std::collections::HashSet;
use std::sync::Arc;

use base::limits::COLUMNS_MAX;
use base::lock_mode::LockMode;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::user_types::{self, DomainCheck, TypeBody};
use plan::{CatalogView, Expr, ExprKind};
use schema::catalog::{CustomDef, Object, RelationKind, class};
use syntax::tree::{
    AlterDomain, AlterDomainAction, AlterEnum, ColumnDefinition, Constraint, ConstraintKind, CreateDomain, Drop,
    ObjectKind, ObjectName, QualifiedName,
};
use types::{CatalogLookup, Category, SqlType, Value, builtin_type_named};

use super::ddl::{Ddl, name_is_taken, without_position};
use super::dependencies::{Renaming, WantedUses, uses_of_expressions};
use super::properties;
use super::reshape::storing_column;
use super::restate::naming;
use crate::state::{CHANGE_LOCK, DROP_LOCK, UtilityOutput};
use executor::evaluate;
use planner::binder::DefinitionUse;
use planner::deparse::{Names, NoNames};
use planner::domain;
use planner::names::type_constraint_name;

/// Between the positions of two labels of a new enum: so many times a half can be found for one between them.
const LABEL_DISTANCE: i64 = 1 << 16;
/// A new label between two takes this part of the room between them.
const LABEL_SHARE: i64 = 256;
/// How long a label may be, in bytes.
const LABEL_BYTES_MAX: usize = 63;

/// `VALUE`, as which the checks of a domain name what they check.
pub(super) struct ValueOf(pub SqlType);

impl Names for ValueOf {
    fn column(&self, _slot: u32) -> (String, Option<SqlType>) {
        ("VALUE".to_owned(), Some(self.0))
    }
}

/// CREATE TYPE ... AS ENUM
pub(super) fn create_enum(ddl: &mut Ddl<'_>, name: &QualifiedName, labels: &[String]) -> Result<UtilityOutput> {
    let schema = free_name(ddl, name)?;
    let oid = ddl.allocate_oid();
    let mut made: Vec<(i64, String)> = Vec::with_capacity(labels.len());
    let mut seen = HashSet::with_capacity(labels.len());
    for (place, label) in labels.iter().enumerate() {
        sync::yield_point()?;
        check_label(label)?;
        if !seen.insert(label) {
            return Err(Error::new(
                sqlstate::UNIQUE_VIOLATION,
                "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"",
            )
            .detail(format!("Key (enumtypid, enumlabel)=({oid}, {label}) already exists.")));
        }
        made.push((label_key((place as i64 + 1) * LABEL_DISTANCE, ddl.allocate_oid()), label.clone()));
    }
    make(ddl, oid, schema, name, &TypeBody::Enum { labels: made, comment: None })?;
    Ok(UtilityOutput::tag("CREATE TYPE"))
}

/// A label's key: its position decides about the order, its own number tells it apart.
fn label_key(position: i64, label: Oid) -> i64 {
    position << 32 | i64::from(label.0)
}

fn check_label(label: &str) -> Result<()> {
    if label.len() > LABEL_BYTES_MAX {
        return Err(Error::new(sqlstate::INVALID_NAME, format!("invalid enum label \"{label}\""))
            .detail(format!("Labels must be {LABEL_BYTES_MAX} bytes or less.")));
    }
    Ok(())
}

/// CREATE TYPE ... AS (...)
pub(super) fn create_composite(
    ddl: &mut Ddl<'_>,
    name: &QualifiedName,
    columns: &[ColumnDefinition],
) -> Result<UtilityOutput> {
    let schema = free_name(ddl, name)?;
    if ddl.relation_exists(schema, &name.name) {
        return Err(name_is_taken(&name.name));
    }
    if columns.len() > COLUMNS_MAX {
        let message = format!("tables can have at most {COLUMNS_MAX} columns");
        return Err(Error::new(sqlstate::TOO_MANY_COLUMNS, message));
    }
    let mut fields: Vec<(String, SqlType)> = Vec::with_capacity(columns.len());
    let mut field_collations = Vec::new();
    for column in columns {
        if fields.iter().any(|(other, _)| other == column.name.as_str()) {
            let message = format!("column \"{}\" specified more than once", column.name);
            return Err(Error::new(sqlstate::DUPLICATE_COLUMN, message));
        }
        let type_name =
            column.type_name.as_ref().ok_or_else(|| Error::internal("a composite type's column has no type"))?;
        let sql_type = ddl.usable_type(type_name)?;
        if types::type_shape(&ddl.view(), sql_type.oid).is_some_and(|shape| shape.category == Category::Pseudo) {
            let shown = types::format_type_name(&ddl.view(), sql_type.oid);
            let message = format!("column \"{}\" has pseudo-type {shown}", column.name);
            return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        fields.push((column.name.to_string(), sql_type));
        field_collations.push(match &column.collation {
            Some(name) => properties::collation_for(ddl, name, sql_type).map_err(without_position)?,
            None => None,
        });
    }
    let body = TypeBody::Composite {
        fields,
        comment: None,
        field_comments: Vec::new(),
        field_collations,
        attributes: Vec::new(),
        last_attribute: 0,
    };
    make(ddl, ddl.allocate_oid(), schema, name, &body)?;
    Ok(UtilityOutput::tag("CREATE TYPE"))
}

/// CREATE DOMAIN
pub(super) fn create_domain(ddl: &mut Ddl<'_>, create: &CreateDomain) -> Result<UtilityOutput> {
    let schema = free_name(ddl, &create.name)?;
    let base = ddl.usable_type(&create.type_name)?;
    if types::type_shape(&ddl.view(), base.oid).is_some_and(|shape| shape.category == Category::Pseudo) {
        let shown = types::format_type_name(&ddl.view(), base.oid);
        let message = format!("\"{shown}\" is not a valid base type for a domain");
        return Err(Error::new(sqlstate::DATATYPE_MISMATCH, message));
    }
    let collation = match &create.collation {
        Some(name) => properties::collation_for(ddl, name, base).map_err(without_position)?,
        None => None,
    };
    let (mut nullable, mut default, mut has_default, mut conditions) = (None, None, false, Vec::new());
    for constraint in &create.constraints {
        let error = |message: &str| Err(Error::new(sqlstate::SYNTAX_ERROR, message));
        match &constraint.kind {
            ConstraintKind::Null | ConstraintKind::NotNull => {
                let allows = matches!(constraint.kind, ConstraintKind::Null);
                if nullable.is_some_and(|said| said != allows) {
                    return error("conflicting NULL/NOT NULL constraints");
                }
                nullable = Some(allows);
            }
            ConstraintKind::Default(expr) => {
                if has_default {
                    return error("multiple default expressions");
                }
                has_default = true;
                default = default_text(ddl, &create.name.name, base, expr)?;
            }
            ConstraintKind::Check(expr) => conditions.push((constraint, expr)),
            ConstraintKind::Attribute(_) => {
                return Err(Error::unsupported("specifying constraint deferrability not supported for domains"));
            }
            other => return Err(not_for_domains(other)),
        }
    }
    if !has_default && let Some(text) = user_types::domain_default(&ddl.view(), base.oid) {
        let used_for = DefinitionUse::Default { column: &create.name.name, sql_type: base };
        default = Some(ddl.to_store(&ddl.stored_default(&text, used_for)?, &NoNames)?);
    }
    let not_null = nullable == Some(false);
    let oid = ddl.allocate_oid();
    let body = TypeBody::Domain { base, not_null, default, checks: Vec::new(), comment: None, collation };
    make(ddl, oid, schema, &create.name, &body)?;
    if !conditions.is_empty() {
        add_checks(ddl, oid, base, &conditions)?;
    }
    Ok(UtilityOutput::tag("CREATE DOMAIN"))
}

/// Adds the checks of a domain that has just been made: they may name the domain itself.
fn add_checks(ddl: &Ddl<'_>, oid: Oid, base: SqlType, conditions: &[(&Constraint, &syntax::tree::Expr)]) -> Result<()> {
    let catalog = ddl.catalog();
    let Some(Object::Custom(def)) = catalog.object(oid) else {
        return Err(Error::internal("a domain that has just been made is not there"));
    };
    let mut body = body_of(def)?;
    if let TypeBody::Domain { checks, .. } = &mut body {
        for (constraint, expr) in conditions {
            checks.push(make_check(ddl, &def.name, def.schema, base, constraint, expr, checks)?);
        }
    }
    store(ddl, def, &body)
}

/// The error for a constraint that only tables have.
fn not_for_domains(kind: &ConstraintKind) -> Error {
    let what = match kind {
        ConstraintKind::PrimaryKey(_) => "primary key",
        ConstraintKind::Unique(_) => "unique",
        ConstraintKind::Exclusion => "exclusion",
        ConstraintKind::ForeignKey(_) => "foreign key",
        _ => return Error::unsupported("this kind of constraint is not supported for domains"),
    };
    Error::new(sqlstate::SYNTAX_ERROR, format!("{what} constraints not possible for domains"))
}

/// A domain's default as it is stored: NULL by itself is none.
fn default_text(ddl: &Ddl<'_>, name: &str, base: SqlType, expr: &syntax::tree::Expr) -> Result<Option<String>> {
    let bound = ddl
        .expression(None, expr, DefinitionUse::Default { column: name, sql_type: base })
        .map_err(without_position)?;
    let is_null = matches!(&bound.kind, ExprKind::Constant(value) if value.is_null());
    (!is_null).then(|| ddl.to_store(&bound, &NoNames)).transpose()
}

fn make_check(
    ddl: &Ddl<'_>,
    domain: &str,
    schema: Oid,
    base: SqlType,
    constraint: &Constraint,
    expr: &syntax::tree::Expr,
    before: &[DomainCheck],
) -> Result<DomainCheck> {
    let (mut condition, needed) = domain::bind_check(&ddl.view(), ddl.text, expr, base).map_err(without_position)?;
    ddl.state.require_schemas(&needed)?;
    domain::refuse_subqueries(&condition)?;
    value_as_column(&mut condition);
    let name = match &constraint.name {
        Some(name) if before.iter().any(|check| check.name == name.as_str()) => {
            let message = format!("constraint \"{name}\" for domain \"{domain}\" already exists");
            return Err(Error::new(sqlstate::DUPLICATE_OBJECT, message));
        }
        Some(name) => name.to_string(),
        None => {
            let taken: Vec<String> = before.iter().map(|check| check.name.clone()).collect();
            type_constraint_name(&ddl.catalog(), schema, domain, &taken)
        }
    };
    let expression = ddl.to_store(&condition, &ValueOf(base))?;
    Ok(DomainCheck { oid: ddl.allocate_oid(), name, expression, validated: !constraint.not_valid })
}

/// A stored check, bound to be written down again.
pub(super) fn bound_check(view: &CatalogView, text: &str, base: SqlType) -> Result<Expr> {
    let tree = syntax::parser::parse_expression(text)?;
    let (mut condition, _) = domain::bind_check(view.for_stored_text(), text, &tree, base)?;
    value_as_column(&mut condition);
    Ok(condition)
}

/// A stored check, bound to be computed for the values that tables hold. The role needs the right to call its functions.
fn check_to_validate(ddl: &Ddl<'_>, text: &str, base: SqlType) -> Result<Asked> {
    let view = ddl.view();
    let tree = syntax::parser::parse_expression(text)?;
    let (mut condition, needed) = domain::bind_check(view.for_stored_text(), text, &tree, base)?;
    value_as_column(&mut condition);
    ddl.state.require_all(&needed)?;
    Ok(Asked::Check(condition))
}

/// The value is a parameter for the one who computes the check, and a column for the one who writes it down.
fn value_as_column(expr: &mut Expr) {
    if matches!(expr.kind, ExprKind::Parameter(_)) {
        expr.kind = ExprKind::Column(0);
    }
    expr.for_each_child_mut(&mut value_as_column);
}

/// The schema for a new type: 42710 if it has a type of this name.
fn free_name(ddl: &mut Ddl<'_>, name: &QualifiedName) -> Result<Oid> {
    let schema = ddl.object_schema(name)?;
    ddl.engine().lock_name(schema, &name.name, false)?;
    if user_types::plainly_named(&ddl.catalog(), schema, &name.name).is_some() {
        let message = format!("type \"{}\" already exists", name.name);
        return Err(Error::new(sqlstate::DUPLICATE_OBJECT, message));
    }
    Ok(schema)
}

fn make(ddl: &Ddl<'_>, oid: Oid, schema: Oid, name: &QualifiedName, body: &TypeBody) -> Result<()> {
    let (owner, body) = (ddl.owner(), body.encode());
    ddl.create(CustomDef { oid, class: class::TYPE, schema, name: name.name.to_string(), owner, body })
}

/// The user-defined type that `name` means. `None` for a built-in type and for a table's row type.
pub(super) fn find(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<Option<Arc<CustomDef>>> {
    ddl.check_database(name)?;
    let view = ddl.view();
    if let Some(schema) = &name.schema {
        view.require_usage(schema)?;
    }
    let found = types::type_named(&view, name.schema.as_deref(), &name.name);
    Ok(found.and_then(|oid| match ddl.catalog().object(oid) {
        Some(Object::Custom(def)) if def.class == class::TYPE => Some(Arc::clone(def)),
        _ => None,
    }))
}

/// Whether a built-in type has this name, which an earlier schema of the search path may still hide.
fn is_builtin(name: &QualifiedName) -> bool {
    name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog") && builtin_type_named(&name.name).is_some()
}

/// As [`find`], its description locked until the transaction ends.
fn hold(ddl: &Ddl<'_>, name: &QualifiedName, mode: LockMode) -> Result<Option<Arc<CustomDef>>> {
    ddl.find_held(mode, || find(ddl, name), |found| found.as_ref().map(|def| def.oid))
}

/// The type that a statement changes, its description locked until the transaction ends: 42704 if there is none, 42809 if it is
/// a table's.
pub(super) fn required(ddl: &Ddl<'_>, name: &QualifiedName, mode: LockMode) -> Result<Arc<CustomDef>> {
    if let Some(found) = hold(ddl, name, mode)? {
        return Ok(found);
    }
    if let Some(schema) = &name.schema {
        ddl.view().schema_named(schema)?;
    }
    if is_builtin(name) {
        return Err(Error::unsupported(format!("type \"{name}\" is built in and cannot be changed")));
    }
    ddl.engine().observe_horizon();
    Err(missing::data_type(name))
}

fn body_of(def: &CustomDef) -> Result<TypeBody> {
    TypeBody::decode(&def.body)
}

fn store(ddl: &Ddl<'_>, def: &CustomDef, body: &TypeBody) -> Result<()> {
    ddl.replace(CustomDef { body: body.encode(), ..def.clone() })
}

/// Returns the type that DROP TYPE or DROP DOMAIN names; none if it does not exist.
pub(super) fn to_drop(ddl: &Ddl<'_>, drop: &Drop, object: &ObjectName) -> Result<Option<Oid>> {
    let Some(found) = hold(ddl, &object.name, DROP_LOCK)? else {
        if let Some(builtin) = builtin_type_named(&object.name.name).filter(|_| is_builtin(&object.name)) {
            if drop.kind == ObjectKind::Domain {
                let message = format!("\"{}\" is not a domain", object.name);
                return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            let name = types::format_type_name(&ddl.view(), builtin.oid);
            let message = format!("cannot drop type {name} because it is required by the database system");
            return Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
        }
        if let Some(super::ddl::Found::Table(table)) = ddl.find(&object.name)? {
            let view = ddl.view();
            let table = super::dependencies::describe(&view, super::dependencies::Node::Object(table.oid));
            let message = format!("cannot drop type {} because {table} requires it", object.name);
            return Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .hint(format!("You can drop {table} instead.")));
        }
        return Ok(None);
    };
    if drop.kind == ObjectKind::Domain {
        require_domain(&found, &object.name)?;
    }
    Ok(Some(found.oid))
}

fn require_domain(def: &CustomDef, name: &QualifiedName) -> Result<TypeBody> {
    match body_of(def)? {
        body @ TypeBody::Domain { .. } => Ok(body),
        _ => Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a domain"))),
    }
}

/// ALTER TYPE ... ADD VALUE, RENAME VALUE
pub(super) fn alter_enum(ddl: &mut Ddl<'_>, alter: &AlterEnum) -> Result<UtilityOutput> {
    let def = required(ddl, &alter.name, if alter.old_label.is_some() { DROP_LOCK } else { CHANGE_LOCK })?;
    let TypeBody::Enum { mut labels, comment } = body_of(&def)? else {
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("{} is not an enum", alter.name)));
    };
    check_label(&alter.new_label)?;
    let is_there = labels.iter().any(|(_, label)| *label == alter.new_label);
    let place_of = |wanted: &str| {
        labels.iter().position(|(_, label)| label == wanted).ok_or_else(|| {
            let message = format!("\"{wanted}\" is not an existing enum label");
            Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
        })
    };
    let exists = format!("enum label \"{}\" already exists", alter.new_label);
    if let Some(old) = &alter.old_label {
        let place = place_of(old)?;
        if is_there {
            return Err(Error::new(sqlstate::DUPLICATE_OBJECT, exists));
        }
        let naming = naming(ddl, &Renaming::of_value(ddl, def.oid))?;
        labels[place].1.clone_from(&alter.new_label);
        store(ddl, &def, &TypeBody::Enum { labels, comment })?;
        naming.store(ddl)?;
        return Ok(UtilityOutput::tag("ALTER TYPE"));
    } else if is_there {
        if !alter.if_not_exists {
            return Err(Error::new(sqlstate::DUPLICATE_OBJECT, exists));
        }
        ddl.notice(sqlstate::DUPLICATE_OBJECT, format!("{exists}, skipping"));
        return Ok(UtilityOutput::tag("ALTER TYPE"));
    } else {
        let place = match &alter.neighbor {
            Some(neighbor) => place_of(neighbor)? + usize::from(alter.after),
            None => labels.len(),
        };
        let position_at = |place: usize| labels.get(place).map(|(key, _)| key >> 32);
        let before = place.checked_sub(1).and_then(position_at).unwrap_or(0);
        let position = match position_at(place) {
            // More labels are likely to follow on the same side, so the room there is kept.
            Some(after) if after - before > 1 => {
                let step = ((after - before) / LABEL_SHARE).max(1);
                if alter.after { after - step } else { before + step }
            }
            Some(_) => {
                let message = format!("too many labels were added to type {} at this place", alter.name);
                return Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
            }
            None => before + LABEL_DISTANCE,
        };
        let key = label_key(position, ddl.allocate_oid());
        ddl.state.new_labels.borrow_mut().push(key);
        labels.insert(place, (key, alter.new_label.clone()));
    }
    store(ddl, &def, &TypeBody::Enum { labels, comment })?;
    Ok(UtilityOutput::tag("ALTER TYPE"))
}

/// ALTER DOMAIN
pub(super) fn alter_domain(ddl: &mut Ddl<'_>, alter: &AlterDomain) -> Result<UtilityOutput> {
    let def = required(ddl, &alter.name, CHANGE_LOCK)?;
    let TypeBody::Domain { base, mut not_null, mut default, mut checks, comment, collation } =
        require_domain(&def, &alter.name)?
    else {
        return Err(Error::internal("a domain is none"));
    };
    let done = UtilityOutput::tag("ALTER DOMAIN");
    let mut asked = None;
    match &alter.action {
        AlterDomainAction::SetDefault(expr) => {
            default = match expr {
                Some(expr) => default_text(ddl, &def.name, base, expr)?,
                None => None,
            };
        }
        AlterDomainAction::SetNotNull => {
            asked = (!not_null).then_some(Asked::NotNull);
            not_null = true;
        }
        AlterDomainAction::DropNotNull => not_null = false,
        AlterDomainAction::AddConstraint(constraint) => match &constraint.kind {
            ConstraintKind::Check(expr) => {
                let check = make_check(ddl, &def.name, def.schema, base, constraint, expr, &checks)?;
                if !constraint.not_valid {
                    asked = Some(check_to_validate(ddl, &check.expression, base)?);
                }
                checks.push(check);
            }
            ConstraintKind::NotNull => {
                asked = (!not_null).then_some(Asked::NotNull);
                not_null = true;
            }
            other => return Err(not_for_domains(other)),
        },
        AlterDomainAction::DropConstraint { name, if_exists, .. } => {
            let before = checks.len();
            checks.retain(|check| check.name != name.as_str());
            if checks.len() == before {
                ddl.skip(missing::constraint_of_domain(name, &def.name), *if_exists)?;
                return Ok(done);
            }
        }
        AlterDomainAction::ValidateConstraint(name) => {
            let Some(check) = checks.iter_mut().find(|check| check.name == name.as_str()) else {
                return Err(missing::constraint_of_domain(name, &def.name));
            };
            check.validated = true;
            asked = Some(check_to_validate(ddl, &check.expression, base)?);
        }
    }
    store(ddl, &def, &TypeBody::Domain { base, not_null, default, checks, comment, collation })?;
    if let Some(asked) = asked {
        validate(ddl, &def, &asked)?;
    }
    Ok(done)
}

/// Takes a check away from a domain.
pub(super) fn drop_check(ddl: &Ddl<'_>, domain: Oid, check: Oid) -> Result<()> {
    ddl.hold(domain, CHANGE_LOCK)?;
    let catalog = ddl.catalog();
    let Some(def) = catalog.customs(class::TYPE).find(|def| def.oid == domain) else { return Ok(()) };
    let mut body = body_of(def)?;
    if let TypeBody::Domain { checks, .. } = &mut body {
        checks.retain(|other| other.oid != check);
    }
    store(ddl, def, &body)
}

/// The checks that a domain newly makes of values.
enum Asked {
    NotNull,
    /// The condition, over the value as column 0.
    Check(Expr),
}

/// Looks at the rows of all columns of a domain whose constraints have just changed. 23502, 23514; 0A000 where values of it are parts of
/// other values that are stored.
fn validate(ddl: &mut Ddl<'_>, domain: &CustomDef, asked: &Asked) -> Result<()> {
    let mut columns = Vec::new();
    columns_of_domain(ddl, domain.oid, &mut Vec::new(), &mut columns)?;
    for (table, place) in columns {
        ddl.lock(table, LockMode::Share)?;
        let open = ddl.open(table)?;
        let Some(column) = open.def.columns.get(place).filter(|column| !column.dropped) else { continue };
        let condition = match asked {
            Asked::NotNull => None,
            Asked::Check(condition) => {
                let mut condition = condition.clone();
                move_column(&mut condition, place as u32);
                Some(condition)
            }
        };
        let schema = ddl.view().schema_name(open.def.schema);
        let refused = |code: base::SqlState, what: &str| {
            let message = format!("column \"{}\" of table \"{}\" contains {what}", column.name, open.def.name);
            let mut error = Error::new(code, message);
            let fields = error.fields_mut();
            fields.schema = Some(schema.clone());
            fields.table = Some(open.def.name.clone());
            fields.column = Some(column.name.clone());
            error
        };
        super::validate::for_each_row(ddl, &open, &mut |run, _, values| match &condition {
            None if values[place].is_null() => Err(refused(sqlstate::NOT_NULL_VIOLATION, "null values")),
            None => Ok(()),
            Some(condition) => match evaluate(condition, values, run)? {
                Value::Bool(false) => Err(refused(sqlstate::CHECK_VIOLATION, "values that violate the new constraint")),
                _ => Ok(()),
            },
        })?;
    }
    Ok(())
}

/// A check reads the value from this column of the row.
fn move_column(expr: &mut Expr, place: u32) {
    if let ExprKind::Column(slot) = &mut expr.kind {
        *slot = place;
    }
    expr.for_each_child_mut(&mut |child| move_column(child, place));
}

/// The direct users of a type: types, and tables with their columns. Its array comes first, then the oldest. As in PostgreSQL, a domain
/// whose default names the type is taken for one that is made of it.
pub(super) fn users_of_type(ddl: &Ddl<'_>, used: Oid) -> Result<Vec<(Oid, Option<usize>)>> {
    let catalog = ddl.catalog();
    let element = user_types::element_of_array(used);
    let mut users: Vec<(Oid, Option<usize>)> =
        made_of(&catalog, |oid| oid == used).into_iter().map(|made| (made, None)).collect();
    let in_defaults = WantedUses { class: Some(class::TYPE), object: None, used: Some(element.unwrap_or(used)) };
    let naming = uses_of_expressions(ddl, in_defaults)?.into_iter().filter(|found| found.named.types.contains(&used));
    users.extend(naming.map(|found| (found.object, None)));
    for table in catalog.tables() {
        let of_type = |column: &schema::catalog::ColumnDef| !column.dropped && column.type_oid == used;
        let columns = table.columns.iter().enumerate().filter(|(_, column)| of_type(column));
        users.extend(columns.map(|(place, _)| (table.oid, Some(place))));
    }
    users.sort_unstable();
    users.dedup();
    if element.is_none() {
        users.insert(0, (user_types::array_of(used), None));
    }
    Ok(users)
}

/// The columns of a domain, and of domains over it, in tables. `around` are the domains that have led here.
///
/// # Errors
/// 0A000 as [`refuse_stored_parts`]; 54001 for a domain that leads to itself.
fn columns_of_domain(ddl: &Ddl<'_>, domain: Oid, around: &mut Vec<Oid>, found: &mut Vec<(Oid, usize)>) -> Result<()> {
    sync::yield_point()?;
    if around.contains(&domain) {
        return Err(syntax::parser::too_deep());
    }
    around.push(domain);
    let catalog = ddl.catalog();
    for (user, place) in users_of_type(ddl, domain)? {
        let Some(place) = place else {
            let made = catalog.customs(class::TYPE).find(|custom| custom.oid == user);
            match made.map(|custom| body_of(custom)).transpose()? {
                Some(TypeBody::Domain { .. }) => columns_of_domain(ddl, user, around, found)?,
                _ => refuse_stored_parts(ddl, user, domain)?,
            }
            continue;
        };
        refuse_stored_parts(ddl, user, domain)?;
        let is_stored = catalog.table(user).is_some_and(|table| table.kind != RelationKind::View);
        if is_stored && !found.contains(&(user, place)) {
            found.push((user, place));
        }
    }
    around.pop();
    Ok(())
}

/// 0A000 if a column holds values of a type that has values of `domain` within.
fn refuse_stored_parts(ddl: &Ddl<'_>, container: Oid, domain: Oid) -> Result<()> {
    let Some(column) = storing_column(ddl, container)? else { return Ok(()) };
    let shown = types::format_type_name(&ddl.view(), domain);
    Err(Error::unsupported(format!("cannot alter type \"{shown}\" because column \"{column}\" uses it")))
}

/// COMMENT ON TYPE, COMMENT ON DOMAIN
pub(super) fn set_comment(ddl: &Ddl<'_>, object: &ObjectName, text: Option<String>) -> Result<()> {
    let def = required(ddl, &object.name, CHANGE_LOCK)?;
    if object.kind == ObjectKind::Domain {
        require_domain(&def, &object.name)?;
    }
    let mut body = body_of(&def)?;
    match &mut body {
        TypeBody::Enum { comment, .. } | TypeBody::Domain { comment, .. } | TypeBody::Composite { comment, .. } => {
            *comment = text;
        }
    }
    store(ddl, &def, &body)
}

/// ALTER TYPE ... RENAME TO, ALTER DOMAIN ... RENAME TO
pub(super) fn rename(ddl: &Ddl<'_>, object: &ObjectName, new: &str) -> Result<()> {
    let def = required(ddl, &object.name, DROP_LOCK)?;
    if object.kind == ObjectKind::Domain {
        require_domain(&def, &object.name)?;
    }
    if user_types::composite_fields(&def).is_some() && ddl.relation_exists(def.schema, new) {
        return Err(name_is_taken(new));
    }
    if user_types::plainly_named(&ddl.catalog(), def.schema, new).is_some() {
        return Err(Error::new(sqlstate::DUPLICATE_OBJECT, format!("type \"{new}\" already exists")));
    }
    let naming = naming(ddl, &Renaming::of_object(ddl, def.oid))?;
    ddl.replace(CustomDef { name: new.to_owned(), ..(*def).clone() })?;
    naming.store(ddl)
}

/// ALTER TYPE ... SET SCHEMA; `schema` is called `schema_name`. 42710, 42P07
pub(super) fn move_to(ddl: &Ddl<'_>, def: &CustomDef, schema: Oid, schema_name: &str) -> Result<()> {
    let name = &def.name;
    if schema != def.schema {
        if user_types::plainly_named(&ddl.catalog(), schema, name).is_some() {
            let message = format!("type \"{name}\" already exists in schema \"{schema_name}\"");
            return Err(Error::new(sqlstate::DUPLICATE_OBJECT, message));
        }
        if user_types::composite_fields(def).is_some() && ddl.relation_exists(schema, name) {
            let message = format!("relation \"{name}\" already exists in schema \"{schema_name}\"");
            return Err(Error::new(sqlstate::DUPLICATE_TABLE, message));
        }
    }
    let naming = naming(ddl, &Renaming::of_object(ddl, def.oid))?;
    ddl.replace(CustomDef { schema, ..def.clone() })?;
    naming.store(ddl)
}

/// ALTER DOMAIN ... RENAME CONSTRAINT
pub(super) fn rename_constraint(ddl: &Ddl<'_>, object: &ObjectName, new: &str) -> Result<()> {
    let def = required(ddl, &object.name, CHANGE_LOCK)?;
    let mut body = require_domain(&def, &object.name)?;
    let old = object.part.as_deref().unwrap_or_default();
    let TypeBody::Domain { checks, .. } = &mut body else { return Ok(()) };
    if checks.iter().any(|check| check.name == new) && checks.iter().any(|check| check.name == old) {
        let message = format!("constraint \"{new}\" for domain {} already exists", object.name);
        return Err(Error::new(sqlstate::DUPLICATE_OBJECT, message));
    }
    match checks.iter_mut().find(|check| check.name == old) {
        Some(check) => new.clone_into(&mut check.name),
        None => {
            let message = format!("constraint \"{old}\" for domain {} does not exist", object.name);
            return Err(Error::new(sqlstate::UNDEFINED_OBJECT, message));
        }
    }
    store(ddl, &def, &body)
}

/// The types that are made of `type_oid`: domains over it, composite types with a field of it.
pub(super) fn made_of(objects: &schema::catalog::Catalog, is_of_type: impl Fn(Oid) -> bool) -> Vec<Oid> {
    objects
        .customs(class::TYPE)
        .filter(|custom| match TypeBody::decode(&custom.body) {
            Ok(TypeBody::Domain { base, .. }) => is_of_type(base.oid),
            Ok(TypeBody::Composite { fields, .. }) => fields.iter().any(|(_, field)| is_of_type(field.oid)),
            _ => false,
        })
        .map(|custom| custom.oid)
        .collect()
}
