//! Objects, columns, constraints, triggers and defaults are dropped, when it is known which.

use base::lock_mode::LockMode;
use base::{Oid, Result};
use schema::catalog::{ConstraintKind, Object, RelationKind, TableDef};

use super::{Doomed, Node};
use crate::commands::constraint::lock_referenced;
use crate::commands::ddl::Ddl;
use crate::commands::reshape::{Reshaping, Stored};
use crate::commands::restate::with_rows;

/// Drops objects, and parts of them, with the locks that this takes.
///
/// # Errors
/// 55006 for a table in use; those of waiting for locks.
pub(super) fn execute(ddl: &mut Ddl<'_>, doomed: &[Doomed]) -> Result<()> {
    let goes = |oid: Oid| doomed.iter().any(|doomed| doomed.node == Node::Object(oid));
    for Doomed { node, .. } in doomed {
        sync::yield_point()?;
        match *node {
            Node::Object(oid) => {
                let object = ddl.catalog().object(oid).cloned();
                match object {
                    Some(Object::Table(table)) => {
                        lock_unused(ddl, oid, "DROP TABLE")?;
                        lock_referenced(ddl, &table, |_| true)?;
                    }
                    Some(Object::Sequence(_)) => ddl.lock(oid, LockMode::AccessExclusive)?,
                    Some(Object::Index(index)) => {
                        ddl.lock(index.table, LockMode::AccessExclusive)?;
                        ddl.lock(oid, LockMode::AccessExclusive)?;
                        ddl.state.check_not_being_changed(index.table, &index.name)?;
                    }
                    Some(_) => {}
                    None => continue,
                }
                // Another transaction may have dropped it while the lock was waited for.
                if ddl.catalog().object(oid).is_some() {
                    ddl.drop(oid)?;
                }
            }
            Node::Column(table, _) | Node::Constraint(table, _) | Node::Trigger(table, _) | Node::Default(table, _)
                if goes(table) => {}
            // It goes with its table.
            Node::RowType(_) => {}
            Node::Trigger(table, trigger) => {
                lock_unused(ddl, table, "DROP TRIGGER")?;
                let mut def = (*ddl.table(table)?).clone();
                def.triggers.retain(|other| other.oid != trigger);
                def.constraint_triggers.retain(|other| other.trigger != trigger);
                ddl.replace(def)?;
            }
            Node::Column(owner, place) if ddl.catalog().table(owner).is_none() => {
                let places: Vec<usize> = doomed
                    .iter()
                    .filter_map(|doomed| match doomed.node {
                        Node::Column(of, place) if of == owner => Some(place),
                        _ => None,
                    })
                    .collect();
                // All at once, as those behind one that is gone move up.
                if places.first() == Some(&place) {
                    crate::commands::composite::drop_attributes(ddl, owner, &places)?;
                }
            }
            Node::Column(table, place) => {
                lock_unused(ddl, table, "ALTER TABLE")?;
                let def = ddl.table(table)?;
                drop_column(ddl, (*def).clone(), place)?;
            }
            Node::Constraint(domain, check) if ddl.catalog().table(domain).is_none() => {
                crate::commands::user_type::drop_check(ddl, domain, check)?;
            }
            Node::Constraint(table, constraint) => {
                let is_foreign_key =
                    ddl.table(table)?.constraints.iter().any(|other| {
                        other.oid == constraint && matches!(other.kind, ConstraintKind::ForeignKey { .. })
                    });
                // Deferred checks of a foreign key do not keep it: they are dropped with it.
                lock_unused(ddl, table, if is_foreign_key { "DROP TRIGGER" } else { "ALTER TABLE" })?;
                let mut def = (*ddl.table(table)?).clone();
                lock_referenced(ddl, &def, |other| other.oid == constraint)?;
                def.constraints.retain(|other| other.oid != constraint);
                ddl.replace(def)?;
            }
            Node::Default(table, place) if doomed.iter().any(|doomed| doomed.node == Node::Column(table, place)) => {}
            Node::Default(table, place) => {
                lock_unused(ddl, table, "ALTER TABLE")?;
                let mut def = (*ddl.table(table)?).clone();
                def.columns[place].default = None;
                ddl.replace(def)?;
            }
        }
    }
    Ok(())
}

/// Locks a table against everybody, this session's own open cursors among them. `what` is done to it.
fn lock_unused(ddl: &Ddl<'_>, table: Oid, what: &str) -> Result<()> {
    ddl.lock(table, LockMode::AccessExclusive)?;
    match ddl.catalog().table(table) {
        Some(def) if def.kind != RelationKind::View => ddl.state.check_not_in_use(table, what, &def.name),
        _ => Ok(()),
    }
}

/// Hides a column: its place stays, so that rows need not be written again.
fn drop_column(ddl: &mut Ddl<'_>, mut def: TableDef, place: usize) -> Result<()> {
    let stored = Stored::of(ddl, def.oid)?;
    let place_in_rows = def.columns[..place].iter().filter(|column| !column.dropped).count();
    let changes = [Reshaping::Dropped(place_in_rows)];
    let restatement = with_rows(ddl, &stored, &[&def.columns[place].name], &changes)?;
    crate::commands::grant::forget_column(ddl, def.oid, place)?;
    let column = &mut def.columns[place];
    column.name = format!("........pg.dropped.{}........", place + 1);
    column.dropped = true;
    column.not_null = false;
    column.default = None;
    column.identity = None;
    column.generated = None;
    column.comment = None;
    column.missing_default = None;
    ddl.replace(def)?;
    let oid = stored.type_oid();
    restatement.store(ddl)?;
    stored.reshape(ddl, &changes)?;
    crate::commands::index::rebuild_over_whole_rows(ddl, oid)
}
