//! ALTER TABLE, and its forms for views, indexes, sequences and materialized views.
//!
//! Actions run in PostgreSQL's order, whatever order they are written in: what is dropped goes first, then types
//! change, columns come, and constraints last.

mod columns;
mod types;

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, missing, sqlstate};
use schema::catalog::{
    ConstraintKind as StoredConstraintKind, Object, Persistence, RelationKind, TableDef, TriggerEnabled,
};

pub(super) use types::read_by_view;

use super::ddl::{Ddl, Found, system_refusal};
use super::dependencies::{Node, drop_all, relation};
use super::index::not_for;
use super::options::{self, OptionsOf};
use super::{constraint, create_table, index, properties, rename};
use crate::state::UtilityOutput;
use syntax::tree::{AlterTable, AlterTableAction as Action, Constraint, ConstraintKind, Name, ObjectKind};

/// ALTER TABLE and its kin.
pub(super) fn alter(ddl: &mut Ddl<'_>, alter: &AlterTable) -> Result<UtilityOutput> {
    let tag = match alter.kind {
        ObjectKind::View => "ALTER VIEW",
        ObjectKind::Index => "ALTER INDEX",
        ObjectKind::Sequence => "ALTER SEQUENCE",
        ObjectKind::MaterializedView => "ALTER MATERIALIZED VIEW",
        ObjectKind::Table => "ALTER TABLE",
        ObjectKind::Type => {
            super::composite::alter(ddl, alter, &in_order(&alter.actions))?;
            return Ok(UtilityOutput::tag("ALTER TYPE"));
        }
        _ => return Err(Error::unsupported("this form of ALTER is not supported")),
    };
    let mode = alter.actions.iter().map(lock_mode).max_by_key(|mode| *mode as u32).unwrap_or(LockMode::AccessExclusive);
    let found = match ddl.find_locked(&alter.name, mode)? {
        Some(found) => found,
        None if alter.if_exists => {
            ddl.notice_skipped(&missing::relation(&alter.name));
            return Ok(UtilityOutput::tag(tag));
        }
        None => return Err(ddl.no_relation(&alter.name)),
    };
    check_kind(alter.kind, &found)?;
    if let Found::Composite(def) = &found {
        return Err(super::composite::is_altered_as_type(&def.name));
    }
    let Some(oid) = found.oid() else { return Err(system_refusal(found.name())) };
    if let Found::Table(table) = &found
        && table.kind != RelationKind::View
    {
        ddl.state.refuse_foreign_temporary(table.schema, "alter")?;
        ddl.state.check_not_in_use(oid, "ALTER TABLE", found.name())?;
        ddl.target = Some(oid);
    }
    for action in in_order(&alter.actions) {
        sync::yield_point()?;
        check_applies(action, &found)?;
        if let (Action::SetType { column, .. }, Found::Table(before)) = (action, &found) {
            refuse_second_type(ddl, before, column)?;
        }
        run(ddl, oid, action)?;
    }
    Ok(UtilityOutput::tag(tag))
}

/// 0A000 if the statement has given the column another type already.
fn refuse_second_type(ddl: &Ddl<'_>, before: &TableDef, column: &str) -> Result<()> {
    let now = ddl.table(before.oid)?;
    let is_changed = now.column_by_name(column).is_some_and(|place| {
        let (was, is) = (before.columns.get(place), &now.columns[place]);
        was.is_some_and(|was| (was.type_oid, was.typmod) != (is.type_oid, is.typmod))
    });
    if is_changed { Err(two_types(column)) } else { Ok(()) }
}

/// The error for a column, or an attribute, that one statement gives two types.
pub(super) fn two_types(column: &str) -> Error {
    Error::unsupported(format!("cannot alter type of column \"{column}\" twice"))
}

/// The actions in the order in which they run.
fn in_order(actions: &[Action]) -> Vec<&Action> {
    let mut ordered: Vec<&Action> = actions.iter().collect();
    ordered.sort_by_key(|action| pass(action));
    ordered
}

/// 42809 if the statement's key word does not fit what the name stands for. ALTER TABLE takes all.
fn check_kind(kind: ObjectKind, found: &Found) -> Result<()> {
    let is = |wanted: RelationKind| matches!(found, Found::Table(table) if table.kind == wanted);
    let (fits, what) = match kind {
        ObjectKind::View => (is(RelationKind::View), "a view"),
        ObjectKind::MaterializedView => (is(RelationKind::MaterializedView), "a materialized view"),
        ObjectKind::Index => (matches!(found, Found::Index(_)), "an index"),
        ObjectKind::Sequence => (matches!(found, Found::Sequence(_)), "a sequence"),
        _ => (true, ""),
    };
    if fits {
        return Ok(());
    }
    Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not {what}", found.name())))
}

/// 42809 if the action makes no sense for such a relation.
fn check_applies(action: &Action, found: &Found) -> Result<()> {
    let applies = match found {
        Found::System(name) => return Err(system_refusal(name)),
        Found::Composite(_) => false,
        Found::Table(table) => match table.kind {
            RelationKind::Table => true,
            RelationKind::View => matches!(
                action,
                Action::SetDefault { .. } | Action::ChangeOwner(_) | Action::SetOptions(_) | Action::ResetOptions(_)
            ),
            RelationKind::MaterializedView => matches!(
                action,
                Action::ChangeOwner(_)
                    | Action::SetOptions(_)
                    | Action::ResetOptions(_)
                    | Action::SetStatistics { .. }
                    | Action::SetStorage { .. }
                    | Action::SetCompression { .. }
                    | Action::ReplicaIdentity(_)
                    | Action::SetColumnOptions(_)
                    | Action::ClusterOn(_)
                    | Action::SetTablespace(_)
            ),
        },
        Found::Index(_) => matches!(
            action,
            Action::SetOptions(_) | Action::ResetOptions(_) | Action::SetTablespace(_) | Action::SetStatistics { .. }
        ),
        Found::Sequence(_) => matches!(action, Action::ChangeOwner(_) | Action::SetLogged(_)),
    };
    if applies {
        return Ok(());
    }
    let message = format!("ALTER action {} cannot be performed on relation \"{}\"", action_name(action), found.name());
    Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message).detail(not_for(found)))
}

fn action_name(action: &Action) -> &'static str {
    match action {
        Action::AddColumn { .. } => "ADD COLUMN",
        Action::DropColumn { .. } => "DROP COLUMN",
        Action::SetDefault { .. } => "ALTER COLUMN ... SET DEFAULT",
        Action::SetNotNull(_) => "ALTER COLUMN ... SET NOT NULL",
        Action::DropNotNull(_) => "ALTER COLUMN ... DROP NOT NULL",
        Action::DropExpression { .. } => "ALTER COLUMN ... DROP EXPRESSION",
        Action::SetType { .. } => "ALTER COLUMN ... SET DATA TYPE",
        Action::SetStatistics { .. } => "ALTER COLUMN ... SET STATISTICS",
        Action::SetStorage { .. } => "ALTER COLUMN ... SET STORAGE",
        Action::SetCompression { .. } => "ALTER COLUMN ... SET COMPRESSION",
        Action::SetColumnOptions(_) => "ALTER COLUMN ... SET",
        Action::AddIdentity { .. } => "ALTER COLUMN ... ADD IDENTITY",
        Action::SetIdentity { .. } => "ALTER COLUMN ... SET",
        Action::DropIdentity { .. } => "ALTER COLUMN ... DROP IDENTITY",
        Action::AddConstraint(_) => "ADD CONSTRAINT",
        Action::AlterConstraint { .. } => "ALTER CONSTRAINT",
        Action::ValidateConstraint(_) => "VALIDATE CONSTRAINT",
        Action::DropConstraint { .. } => "DROP CONSTRAINT",
        Action::ChangeOwner(_) => "OWNER TO",
        Action::SetOptions(_) => "SET",
        Action::ResetOptions(_) => "RESET",
        Action::SetLogged(true) => "SET LOGGED",
        Action::SetLogged(false) => "SET UNLOGGED",
        Action::ClusterOn(Some(_)) => "CLUSTER ON",
        Action::ClusterOn(None) => "SET WITHOUT CLUSTER",
        Action::SetTablespace(_) => "SET TABLESPACE",
        Action::EnableTriggers { enabled: TriggerEnabled::Disabled, .. } => "DISABLE TRIGGER",
        Action::EnableTriggers { .. } => "ENABLE TRIGGER",
        Action::ReplicaIdentity(_) => "REPLICA IDENTITY",
        Action::RowSecurity => "ROW SECURITY",
        Action::Unsupported(what) => what,
    }
}

/// How strong a lock an action needs.
fn lock_mode(action: &Action) -> LockMode {
    match action {
        // Statements go by these options of a view.
        Action::SetOptions(elements) | Action::ResetOptions(elements)
            if options::names(elements).iter().any(|name| options::is_of_views(name)) =>
        {
            LockMode::AccessExclusive
        }
        Action::AddConstraint(Constraint { kind: ConstraintKind::ForeignKey(_), .. })
        | Action::EnableTriggers { .. }
        | Action::AlterConstraint { .. } => LockMode::ShareRowExclusive,
        Action::ValidateConstraint(_)
        | Action::SetStatistics { .. }
        | Action::SetColumnOptions(_)
        | Action::ClusterOn(_)
        | Action::SetOptions(_)
        | Action::ResetOptions(_) => LockMode::ShareUpdateExclusive,
        _ => LockMode::AccessExclusive,
    }
}

/// When an action's turn comes.
fn pass(action: &Action) -> u8 {
    match action {
        Action::DropColumn { .. }
        | Action::DropConstraint { .. }
        | Action::DropNotNull(_)
        | Action::DropExpression { .. }
        | Action::DropIdentity { .. }
        | Action::SetDefault { default: None, .. } => 0,
        Action::SetType { .. } => 1,
        Action::AddColumn { .. } => 2,
        Action::SetNotNull(_)
        | Action::SetStatistics { .. }
        | Action::SetStorage { .. }
        | Action::SetIdentity { .. } => 3,
        Action::AddConstraint(Constraint {
            kind: ConstraintKind::PrimaryKey(_) | ConstraintKind::Unique(_), ..
        }) => 4,
        Action::AddConstraint(_) | Action::SetDefault { .. } | Action::AddIdentity { .. } => 5,
        _ => 6,
    }
}

fn run(ddl: &mut Ddl<'_>, oid: Oid, action: &Action) -> Result<()> {
    match action {
        Action::AddColumn { column, if_not_exists } => columns::add(ddl, oid, column, *if_not_exists),
        Action::DropColumn { name, cascade, if_exists } => columns::drop(ddl, oid, name, *cascade, *if_exists),
        Action::SetDefault { column, default } => columns::set_default(ddl, oid, column, default.as_ref()),
        Action::SetNotNull(column) => columns::set_not_null(ddl, oid, column),
        Action::DropNotNull(column) => columns::drop_not_null(ddl, oid, column),
        Action::DropExpression { column, if_exists } => columns::drop_expression(ddl, oid, column, *if_exists),
        Action::SetType { column, type_name, using, collation } => {
            types::change(ddl, oid, column, type_name, using.as_ref(), collation.as_ref())
        }
        Action::SetStatistics { column, number, target } => {
            properties::set_statistics(ddl, oid, column, *number, *target)
        }
        Action::SetStorage { column, method } => properties::set_storage(ddl, oid, column, method),
        Action::SetCompression { column, method } => properties::set_compression(ddl, oid, column, method),
        Action::SetColumnOptions(column) => {
            place_of(&*ddl.table(oid)?, column)?;
            Err(Error::unsupported("options of columns are not supported"))
        }
        Action::AddIdentity { column, always, options } => columns::add_identity(ddl, oid, column, *always, options),
        Action::SetIdentity { column, options } => columns::set_identity(ddl, oid, column, options),
        Action::DropIdentity { column, if_exists } => columns::drop_identity(ddl, oid, column, *if_exists),
        Action::AddConstraint(constraint) => add_constraint(ddl, oid, constraint),
        Action::AlterConstraint { name, deferrable, initially_deferred } => {
            constraint::alter(ddl, oid, name, *deferrable, *initially_deferred)
        }
        Action::ValidateConstraint(name) => constraint::validate_constraint(ddl, oid, name),
        Action::DropConstraint { name, cascade, if_exists } => drop_constraint(ddl, oid, name, *cascade, *if_exists),
        Action::ChangeOwner(role) => {
            let role = ddl.role(role)?;
            rename::refuse_linked_sequence(ddl, oid)?;
            rename::set_owner(ddl, oid, role)
        }
        Action::SetOptions(elements) => {
            let of = options_of(ddl, oid);
            let read = options::read(elements, of)?;
            let changes: Vec<(String, Option<String>)> =
                read.into_iter().map(|(name, value)| (name, Some(value))).collect();
            set_options(ddl, oid, &changes)
        }
        Action::ResetOptions(elements) => {
            let changes: Vec<(String, Option<String>)> =
                options::names(elements).into_iter().map(|name| (name, None)).collect();
            set_options(ddl, oid, &changes)
        }
        Action::SetLogged(is_logged) => set_logged(ddl, oid, *is_logged),
        Action::ClusterOn(name) => properties::cluster_on(ddl, oid, name.as_deref()),
        Action::SetTablespace(name) => create_table::check_tablespace(ddl, Some(name), Persistence::Permanent),
        Action::ReplicaIdentity(of) => properties::replica_identity(ddl, oid, of),
        Action::EnableTriggers { which, enabled } => super::trigger::enable(ddl, oid, which, *enabled),
        Action::RowSecurity => Err(Error::unsupported("row security is not supported")),
        Action::Unsupported(what) => Err(Error::unsupported(*what)),
    }
}

/// The place of a column: 42703 if there is none, 0A000 for a system column.
pub(super) fn place_of(table: &TableDef, column: &str) -> Result<usize> {
    if index::is_system_column(column) {
        return Err(Error::unsupported(format!("cannot alter system column \"{column}\"")));
    }
    table.column_by_name(column).ok_or_else(|| missing::column_of_relation(column, &table.name))
}

fn add_constraint(ddl: &mut Ddl<'_>, oid: Oid, constraint: &Constraint) -> Result<()> {
    match &constraint.kind {
        ConstraintKind::Check(expr) => constraint::add_check(ddl, oid, constraint, expr),
        ConstraintKind::PrimaryKey(key) => index::add_constraint(ddl, oid, constraint, key, true),
        ConstraintKind::Unique(key) => index::add_constraint(ddl, oid, constraint, key, false),
        ConstraintKind::ForeignKey(key) => constraint::add_foreign_key(ddl, oid, constraint, key, false),
        ConstraintKind::Exclusion => Err(Error::unsupported("exclusion constraints are not supported")),
        _ => Err(Error::unsupported("this kind of constraint is not supported")),
    }
}

fn drop_constraint(ddl: &mut Ddl<'_>, oid: Oid, name: &Name, cascade: bool, if_exists: bool) -> Result<()> {
    let def = ddl.table(oid)?;
    if let Some(trigger) = def.constraint_trigger_named(name).map(|trigger| &trigger.name) {
        let table = relation(&ddl.view(), def.schema, &def.name, oid);
        let message = format!(
            "cannot drop constraint {name} on table {table} because trigger {trigger} on table {table} requires it"
        );
        let error = Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message);
        return Err(error.hint(format!("You can drop trigger {trigger} on table {table} instead.")));
    }
    let Some(constraint) = def.constraints.iter().find(|constraint| constraint.name == name.as_str()) else {
        return ddl.skip(missing::constraint_of_relation(name, &def.name), if_exists);
    };
    if let StoredConstraintKind::ForeignKey { referenced_table, .. } = &constraint.kind {
        // The key's checks wait for events of that table, too.
        let referenced = ddl.table(*referenced_table)?;
        ddl.state.check_not_in_use(referenced.oid, "ALTER TABLE", &referenced.name)?;
    }
    drop_all(ddl, &[Node::Constraint(oid, constraint.oid)], cascade)
}

fn options_of(ddl: &Ddl<'_>, oid: Oid) -> OptionsOf {
    match ddl.catalog().object(oid) {
        Some(Object::Index(_)) => OptionsOf::Index,
        Some(Object::Table(table)) if table.kind == RelationKind::View => OptionsOf::View,
        _ => OptionsOf::Table,
    }
}

fn set_options(ddl: &Ddl<'_>, oid: Oid, changes: &[(String, Option<String>)]) -> Result<()> {
    match ddl.catalog().object(oid).cloned() {
        Some(Object::Index(index)) => {
            let mut index = Arc::unwrap_or_clone(index);
            for (name, value) in changes {
                options::change(&mut index.options, name, value.as_deref());
            }
            ddl.replace(index)
        }
        Some(Object::Table(table)) => {
            let mut table = Arc::unwrap_or_clone(table);
            for (name, value) in changes {
                if name == "fillfactor" && table.kind != RelationKind::View {
                    table.fillfactor = value.as_ref().and_then(|value| value.parse().ok()).unwrap_or(100);
                }
                options::change(&mut table.options, name, value.as_deref());
            }
            ddl.replace(table)
        }
        _ => Ok(()),
    }
}

/// 42P16 for a logged table that would refer to an unlogged one.
fn refuse_shorter_lived(ddl: &Ddl<'_>, table: &TableDef, is_logged: bool) -> Result<()> {
    let catalog = ddl.catalog();
    let refused = |message: String, constraint: &str| {
        let schema = ddl.view().schema_name(table.schema);
        let error = Error::new(sqlstate::INVALID_TABLE_DEFINITION, message);
        Err(error.constraint(&schema, &table.name, constraint))
    };
    let referring =
        if is_logged { vec![table] } else { catalog.tables_referencing(table.oid).map(|def| &**def).collect() };
    for referring in referring {
        for constraint in &referring.constraints {
            let StoredConstraintKind::ForeignKey { referenced_table, .. } = &constraint.kind else { continue };
            if *referenced_table == referring.oid || !is_logged && *referenced_table != table.oid {
                continue;
            }
            let Some(referenced) = catalog.table(*referenced_table) else { continue };
            let name = &table.name;
            if is_logged && referenced.persistence != Persistence::Permanent {
                let message = format!(
                    "could not change table \"{name}\" to logged because it references unlogged table \"{}\"",
                    referenced.name
                );
                return refused(message, &constraint.name);
            }
            if !is_logged && referring.persistence == Persistence::Permanent {
                let message = format!(
                    "could not change table \"{name}\" to unlogged because it references logged table \"{}\"",
                    referring.name
                );
                return refused(message, &constraint.name);
            }
        }
    }
    Ok(())
}

fn set_logged(ddl: &Ddl<'_>, oid: Oid, is_logged: bool) -> Result<()> {
    let Some(table) = ddl.catalog().table(oid).cloned() else { return Ok(()) };
    if table.persistence == Persistence::Temporary {
        let message = format!("cannot change logged status of table \"{}\" because it is temporary", table.name);
        return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
    }
    refuse_shorter_lived(ddl, &table, is_logged)?;
    let persistence = if is_logged { Persistence::Permanent } else { Persistence::Unlogged };
    ddl.replace(TableDef { persistence, ..(*table).clone() })
}
