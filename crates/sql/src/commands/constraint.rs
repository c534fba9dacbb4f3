//! CHECK and FOREIGN KEY constraints: made, validated, altered.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::privileges::Privileges;
use plan::user_types::is_composite_type;
use plan::{CatalogView, Expr};
use schema::catalog::{
    ConstraintDef, ConstraintKind, ForeignKeyAction, ForeignKeyMatch, IndexDef, Persistence, RelationKind, TableDef,
};
use syntax::tree::{self, Constraint, ForeignKey, Name};
use types::{SqlType, oids};

use super::ddl::{Ddl, Found, system_refusal, without_position};
use super::{temporary, validate};
use executor::check_existing_rows;
use planner::binder::{DefinitionUse, has_whole_row, named_columns};
use planner::deparse::TableNames;
use planner::names;

/// 42710 if the table has a constraint of this name, or a constraint trigger.
pub(super) fn require_free_name(table: &TableDef, name: &str) -> Result<()> {
    if table.constraint_trigger_named(name).is_some()
        || table.constraints.iter().any(|constraint| constraint.name == name)
    {
        let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
        return Err(Error::new(sqlstate::DUPLICATE_OBJECT, message));
    }
    Ok(())
}

/// A CHECK of a table, and its condition over the table's full row.
pub(super) fn make_check(
    ddl: &Ddl<'_>,
    table: &Arc<TableDef>,
    constraint: &Constraint,
    expr: &tree::Expr,
    taken: &[String],
) -> Result<(ConstraintDef, Expr)> {
    sync::yield_point()?;
    let condition = ddl.expression(Some(table), expr, DefinitionUse::Check)?;
    let name = match &constraint.name {
        Some(name) => {
            if taken.iter().any(|taken| taken == name.as_str()) {
                let message = format!("check constraint \"{name}\" already exists");
                return Err(Error::new(sqlstate::DUPLICATE_OBJECT, message));
            }
            require_free_name(table, name)?;
            name.to_string()
        }
        None => {
            // A constraint on one column is named after it.
            let column = match named_columns(&condition, table).as_slice() {
                [place] if !has_whole_row(&condition, table) => Some(table.columns[*place].name.clone()),
                _ => None,
            };
            names::constraint_name(&ddl.catalog(), table.schema, &table.name, column.as_deref(), "check", taken)
        }
    };
    let made = ConstraintDef {
        oid: ddl.allocate_oid(),
        name,
        kind: ConstraintKind::Check {
            expression: ddl.to_store(&condition, &TableNames(table))?,
            no_inherit: constraint.no_inherit,
        },
        validated: !constraint.not_valid,
        deferrable: false,
        initially_deferred: false,
        comment: None,
    };
    Ok((made, condition))
}

/// ALTER TABLE ADD CHECK.
pub(super) fn add_check(ddl: &mut Ddl<'_>, table: Oid, constraint: &Constraint, expr: &tree::Expr) -> Result<()> {
    let def = ddl.table(table)?;
    let (made, condition) = make_check(ddl, &def, constraint, expr, &[]).map_err(without_position)?;
    let (name, is_valid) = (made.name.clone(), made.validated);
    let mut changed = (*def).clone();
    changed.constraints.push(made);
    ddl.replace(changed)?;
    if is_valid {
        validate::check(ddl, table, &name, &condition)?;
    }
    Ok(())
}

/// Adds a foreign key to a table that is there, and checks its rows unless NOT VALID was said.
pub(super) fn add_foreign_key(
    ddl: &mut Ddl<'_>,
    table: Oid,
    constraint: &Constraint,
    key: &ForeignKey,
    is_new_table: bool,
) -> Result<()> {
    let own = ddl.table(table)?;
    let referenced = referenced_table(ddl, &own, key)?;
    // The lock may have been waited for.
    let own = ddl.table(own.oid)?;
    let columns = places(&own, &key.columns)?;
    let set_columns = places(&own, &key.on_delete_columns)?;
    if let Some(place) = set_columns.iter().find(|place| !columns.contains(place)) {
        let message = format!(
            "column \"{}\" referenced in ON DELETE SET action must be part of foreign key",
            own.columns[*place].name
        );
        return Err(Error::new(sqlstate::INVALID_COLUMN_REFERENCE, message));
    }
    let (referenced_columns, index) = if key.referenced.is_empty() {
        primary_key(ddl, &referenced)?
    } else {
        let places = places(&referenced, &key.referenced)?;
        if (1..places.len()).any(|number| places[..number].contains(&places[number])) {
            return Err(Error::new(
                sqlstate::INVALID_FOREIGN_KEY,
                "foreign key referenced-columns list must not contain duplicates",
            ));
        }
        let index = unique_index(ddl, &referenced, &places)?;
        (places, index)
    };
    ddl.state.require_columns(referenced.oid, Privileges::REFERENCES, &referenced_columns)?;
    if columns.len() != referenced_columns.len() {
        return Err(Error::new(
            sqlstate::INVALID_FOREIGN_KEY,
            "number of referencing and referenced columns for foreign key disagree",
        ));
    }
    let on_update = action(key.on_update);
    let on_delete = action(key.on_delete);
    refuse_generated(&own, &columns, on_update, on_delete)?;
    let matching = match key.match_type {
        'f' => ForeignKeyMatch::Full,
        'p' => return Err(Error::unsupported("MATCH PARTIAL not yet implemented")),
        _ => ForeignKeyMatch::Simple,
    };
    let name = match &constraint.name {
        Some(name) => {
            require_free_name(&own, name)?;
            name.to_string()
        }
        None => {
            let joined = names::joined(columns.iter().map(|place| own.columns[*place].name.as_str()));
            names::constraint_name(&ddl.catalog(), own.schema, &own.name, Some(&joined), "fkey", &[])
        }
    };
    require_comparable(ddl, &name, (&own, &columns), (&referenced, &referenced_columns))?;
    let made = ConstraintDef {
        oid: ddl.allocate_oid(),
        name,
        kind: ConstraintKind::ForeignKey {
            columns,
            referenced_table: referenced.oid,
            referenced_columns,
            referenced_index: index,
            on_update,
            on_delete,
            matching,
        },
        validated: !constraint.not_valid || is_new_table,
        deferrable: constraint.deferrable,
        initially_deferred: constraint.initially_deferred,
        comment: None,
    };
    let mut changed = (*own).clone();
    if !set_columns.is_empty() {
        changed.delete_set_columns.push((made.oid, set_columns));
    }
    changed.constraints.push(made.clone());
    ddl.replace(changed)?;
    if made.validated && !is_new_table {
        check_rows(ddl, table, &made)?;
    }
    Ok(())
}

fn check_rows(ddl: &mut Ddl<'_>, table: Oid, constraint: &ConstraintDef) -> Result<()> {
    if ddl.open(table)?.block_count()? == 0 {
        return Ok(());
    }
    let def = ddl.table(table)?;
    ddl.with_latest(|ddl| ddl.with_run(|run| check_existing_rows(constraint, &def, run)))
}

/// The table that a foreign key refers to, locked against changes of its keys.
fn referenced_table(ddl: &mut Ddl<'_>, own: &TableDef, key: &ForeignKey) -> Result<Arc<TableDef>> {
    let referenced = match ddl.required_locked(&key.table, LockMode::ShareRowExclusive)? {
        Found::Table(table) if table.kind == RelationKind::Table => table,
        Found::System(name) => return Err(system_refusal(&name)),
        Found::Composite(def) => return Err(is_composite_type(&def.name)),
        found => {
            let message = format!("referenced relation \"{}\" is not a table", found.name());
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
    };
    let refused = |message: &str| Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
    match own.persistence {
        Persistence::Permanent if referenced.persistence != Persistence::Permanent => {
            refused("constraints on permanent tables may reference only permanent tables")
        }
        Persistence::Unlogged if !temporary::may_outlive(own.persistence, referenced.persistence) => {
            refused("constraints on unlogged tables may reference only permanent or unlogged tables")
        }
        Persistence::Temporary if referenced.persistence != Persistence::Temporary => {
            refused("constraints on temporary tables may reference only temporary tables")
        }
        _ => Ok(referenced),
    }
}

fn places(table: &TableDef, names: &[Name]) -> Result<Vec<usize>> {
    names
        .iter()
        .map(|name| {
            table.column_by_name(name).ok_or_else(|| {
                let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
                Error::new(sqlstate::UNDEFINED_COLUMN, message)
            })
        })
        .collect()
}

fn primary_key(ddl: &Ddl<'_>, table: &TableDef) -> Result<(Vec<usize>, Oid)> {
    let catalog = ddl.catalog();
    let index = catalog.indexes_of(table.oid).iter().find(|index| index.primary);
    match index {
        Some(index) if index.deferrable => {
            let message = format!("cannot use a deferrable primary key for referenced table \"{}\"", table.name);
            Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
        }
        Some(index) => Ok((index.keys.iter().filter_map(|key| key.column).collect(), index.oid)),
        None => {
            let message = format!("there is no primary key for referenced table \"{}\"", table.name);
            Err(Error::new(sqlstate::UNDEFINED_OBJECT, message))
        }
    }
}

/// The unique index on exactly these columns, in whatever order.
fn unique_index(ddl: &Ddl<'_>, table: &TableDef, columns: &[usize]) -> Result<Oid> {
    let is_on_these = |index: &IndexDef| {
        index.unique
            && index.predicate.is_none()
            && index.keys.len() == columns.len()
            && index.keys.iter().all(|key| key.column.is_some_and(|column| columns.contains(&column)))
    };
    let catalog = ddl.catalog();
    let mut fitting = catalog.indexes_of(table.oid).iter().filter(|index| is_on_these(index)).peekable();
    let has_fitting = fitting.peek().is_some();
    fitting.find(|index| !index.deferrable).map(|index| index.oid).ok_or_else(|| {
        if has_fitting {
            let message = format!("cannot use a deferrable unique constraint for referenced table \"{}\"", table.name);
            return Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        }
        let message =
            format!("there is no unique constraint matching given keys for referenced table \"{}\"", table.name);
        Error::new(sqlstate::INVALID_FOREIGN_KEY, message)
    })
}

fn action(letter: char) -> ForeignKeyAction {
    match letter {
        'r' => ForeignKeyAction::Restrict,
        'c' => ForeignKeyAction::Cascade,
        'n' => ForeignKeyAction::SetNull,
        'd' => ForeignKeyAction::SetDefault,
        _ => ForeignKeyAction::NoAction,
    }
}

/// A generated column can't be set by an action.
fn refuse_generated(
    table: &TableDef,
    columns: &[usize],
    on_update: ForeignKeyAction,
    on_delete: ForeignKeyAction,
) -> Result<()> {
    if columns.iter().all(|place| table.columns[*place].generated.is_none()) {
        return Ok(());
    }
    let refused = |what: &str| {
        let message = format!("invalid {what} action for foreign key constraint containing generated column");
        Err(Error::new(sqlstate::SYNTAX_ERROR, message))
    };
    use ForeignKeyAction::{Cascade, SetDefault, SetNull};
    if matches!(on_update, SetNull | SetDefault | Cascade) {
        return refused("ON UPDATE");
    }
    if matches!(on_delete, SetNull | SetDefault) {
        return refused("ON DELETE");
    }
    Ok(())
}

/// Types of one family have equalities among each other that an index of one of them can be searched by.
const FAMILIES: [&[Oid]; 5] = [
    &[oids::INT2, oids::INT4, oids::INT8],
    &[oids::FLOAT4, oids::FLOAT8],
    &[oids::DATE, oids::TIMESTAMP, oids::TIMESTAMPTZ],
    &[oids::TEXT, oids::NAME],
    &[oids::INET, oids::CIDR],
];

/// Whether references of one type can be looked up in a key of another: by an equality of the key's family, or after an implicit cast.
fn can_look_up(view: &CatalogView, reference: SqlType, key: SqlType) -> bool {
    let [reference, key] = [reference, key].map(|sql_type| types::base_type(view, sql_type));
    let compared = if key.oid == oids::VARCHAR { SqlType::TEXT } else { SqlType::new(key.oid) };
    reference.oid == key.oid
        || FAMILIES.iter().any(|family| family.contains(&reference.oid) && family.contains(&compared.oid))
        || types::Cast::find(view, SqlType::new(reference.oid), compared, types::CastContext::Implicit).is_some()
}

/// 42804 if there is no equality between the columns of a pair by which references can be looked up.
pub(super) fn require_comparable(
    ddl: &Ddl<'_>,
    name: &str,
    own: (&TableDef, &[usize]),
    referenced: (&TableDef, &[usize]),
) -> Result<()> {
    let view = ddl.view();
    for (own_place, other_place) in own.1.iter().zip(referenced.1) {
        let (own_column, other_column) = (&own.0.columns[*own_place], &referenced.0.columns[*other_place]);
        let types = [own_column, other_column].map(|column| SqlType::new(column.type_oid));
        let is_comparable = types::resolve_operator(&view, None, "=", Some(types[1]), types[0]).is_ok();
        if is_comparable && can_look_up(&view, types[0], types[1]) {
            continue;
        }
        let [own_type, other_type] = types.map(|sql_type| types::format_type_name(&view, sql_type.oid));
        let message = format!("foreign key constraint \"{name}\" cannot be implemented");
        let detail = format!(
            "Key columns \"{}\" and \"{}\" are of incompatible types: {own_type} and {other_type}.",
            own_column.name, other_column.name
        );
        return Err(Error::new(sqlstate::DATATYPE_MISMATCH, message).detail(detail));
    }
    Ok(())
}

/// Checks the foreign keys that a column belongs to, on either side, after its type has changed. Where values stay as they are, rows are not
/// looked at: some may have been let in while triggers were disabled.
pub(super) fn check_foreign_keys_again(ddl: &mut Ddl<'_>, table: Oid, column: usize, keeps_bytes: bool) -> Result<()> {
    let catalog = ddl.catalog();
    let mut concerned: Vec<(Oid, ConstraintDef)> = Vec::new();
    let own = catalog.table(table).into_iter();
    for other in own.chain(catalog.tables_referencing(table).filter(|other| other.oid != table)) {
        for constraint in &other.constraints {
            if let ConstraintKind::ForeignKey { columns, referenced_table, referenced_columns, .. } = &constraint.kind
                && (other.oid == table && columns.contains(&column)
                    || *referenced_table == table && referenced_columns.contains(&column))
            {
                concerned.push((other.oid, constraint.clone()));
            }
        }
    }
    for (other, constraint) in concerned {
        let ConstraintKind::ForeignKey { columns, referenced_table, referenced_columns, .. } = &constraint.kind else {
            continue;
        };
        for concerned in [other, *referenced_table] {
            ddl.lock(concerned, LockMode::AccessExclusive)?;
            keep_again(ddl, concerned, constraint.oid)?;
        }
        let (own, referenced) = (ddl.table(other)?, ddl.table(*referenced_table)?);
        require_comparable(ddl, &constraint.name, (&own, columns), (&referenced, referenced_columns))?;
        if constraint.validated && !keeps_bytes {
            check_rows(ddl, other, &constraint)?;
        }
    }
    Ok(())
}

/// A constraint that is made anew is kept again, though DISABLE TRIGGER ALL was said before.
fn keep_again(ddl: &Ddl<'_>, table: Oid, constraint: Oid) -> Result<()> {
    let def = ddl.table(table)?;
    if !def.unkept_constraints.contains(&constraint) {
        return Ok(());
    }
    let mut def = Arc::unwrap_or_clone(def);
    def.unkept_constraints.retain(|unkept| *unkept != constraint);
    ddl.replace(def)
}

/// ALTER TABLE VALIDATE CONSTRAINT.
pub(super) fn validate_constraint(ddl: &mut Ddl<'_>, table: Oid, name: &str) -> Result<()> {
    let def = ddl.table(table)?;
    if def.constraint_trigger_named(name).is_some() {
        return Err(is_other_kind(&def, name, "foreign key or check"));
    }
    let place = find(&def, name)?;
    let constraint = &def.constraints[place];
    match &constraint.kind {
        ConstraintKind::Check { expression, .. } if !constraint.validated => {
            let condition = ddl.stored_expression(&def, expression, DefinitionUse::Check)?;
            validate::check(ddl, table, name, &condition)?;
        }
        ConstraintKind::ForeignKey { referenced_table, .. } if !constraint.validated => {
            ddl.lock(*referenced_table, LockMode::RowShare)?;
            check_rows(ddl, table, constraint)?;
        }
        ConstraintKind::Check { .. } | ConstraintKind::ForeignKey { .. } => return Ok(()),
        _ => return Err(is_other_kind(&def, name, "foreign key or check")),
    }
    let mut changed = (*def).clone();
    changed.constraints[place].validated = true;
    ddl.replace(changed)
}

/// ALTER TABLE ALTER CONSTRAINT: whether a foreign key may be deferred.
pub(super) fn alter(ddl: &Ddl<'_>, table: Oid, name: &str, deferrable: bool, initially_deferred: bool) -> Result<()> {
    let def = ddl.table(table)?;
    if def.constraint_trigger_named(name).is_some() {
        return Err(is_other_kind(&def, name, "foreign key"));
    }
    let place = find(&def, name)?;
    if !matches!(def.constraints[place].kind, ConstraintKind::ForeignKey { .. }) {
        return Err(is_other_kind(&def, name, "foreign key"));
    }
    let mut changed = (*def).clone();
    changed.constraints[place].deferrable = deferrable;
    changed.constraints[place].initially_deferred = initially_deferred;
    ddl.replace(changed)
}

fn is_other_kind(table: &TableDef, name: &str, wanted: &str) -> Error {
    let message = format!("constraint \"{name}\" of relation \"{}\" is not a {wanted} constraint", table.name);
    Error::new(sqlstate::WRONG_OBJECT_TYPE, message)
}

/// Locks the tables that the foreign keys to be dropped refer to: a change of a row in them queues checks of these keys.
pub(super) fn lock_referenced(
    ddl: &Ddl<'_>,
    table: &TableDef,
    is_dropped: impl Fn(&ConstraintDef) -> bool,
) -> Result<()> {
    for constraint in table.constraints.iter().filter(|constraint| is_dropped(constraint)) {
        if let ConstraintKind::ForeignKey { referenced_table, .. } = &constraint.kind {
            ddl.lock(*referenced_table, LockMode::AccessExclusive)?;
        }
    }
    Ok(())
}

/// The place of a table's constraint: 42704 if there is none of this name.
pub(super) fn find(table: &TableDef, name: &str) -> Result<usize> {
    table
        .constraints
        .iter()
        .position(|constraint| constraint.name == name)
        .ok_or_else(|| missing::constraint_of_relation(name, &table.name))
}
