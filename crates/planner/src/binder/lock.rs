//! FOR UPDATE and its kin.

use base::lock_mode::{RowLockMode, WaitPolicy};
use base::{Error, Result, sqlstate};
use plan::bound::{Distinct, Lock, Query, RelationKind};
use plan::privileges::Privileges;
use schema::catalog::RelationKind as TableKind;
use syntax::tree::{LockStrength, LockWait, Locking};

use super::Binder;

/// How messages name the strongest of these clauses.
pub(super) fn clause(locking: &[Locking]) -> &'static str {
    locking.iter().map(|locking| mode_of(locking.strength)).max().unwrap_or(RowLockMode::Update).clause()
}

fn mode_of(strength: LockStrength) -> RowLockMode {
    match strength {
        LockStrength::KeyShare => RowLockMode::KeyShare,
        LockStrength::Share => RowLockMode::Share,
        LockStrength::NoKeyUpdate => RowLockMode::NoKeyUpdate,
        LockStrength::Update => RowLockMode::Update,
    }
}

/// The query that has the FOR UPDATE clause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The query whose rows are locked.
    Here,
    /// A query around it, which has written it as a subquery.
    Around,
    /// A query that reads the view whose query this is.
    AroundView,
}

impl Binder<'_, '_> {
    /// Notes which rows a query locks: 0A000 where rows of the result are not rows of a table.
    pub(super) fn locks(&mut self, query: &mut Query, locking: &[Locking]) -> Result<()> {
        // Its clause is about its own rows, also where only relations below its FROM have rows to lock: a query around it that groups rows, or wants
        // few of them, does not change which rows are locked.
        query.is_kept_apart |= !locking.is_empty();
        self.locks_of(query, locking, Asked::Here)
    }

    fn locks_of(&mut self, query: &mut Query, locking: &[Locking], asked: Asked) -> Result<()> {
        for locking in locking {
            let name = clause(std::slice::from_ref(locking));
            // PostgreSQL marks the relations in the FROM of a view's query. A UNION has none there.
            if asked == Asked::AroundView && (query.set_operation.is_some() || query.relations.is_empty()) {
                continue;
            }
            self.check_lockable(query, name)?;
            if locking.tables.is_empty() {
                for relation in 0..query.relations.len() as u32 {
                    self.lock_relation(query, relation, locking, (false, asked), name)?;
                }
                continue;
            }
            for table in &locking.tables {
                if table.schema.is_some() || table.catalog.is_some() {
                    let message = format!("{name} must specify unqualified relation names");
                    return Err(self.error(sqlstate::SYNTAX_ERROR, message, table.location));
                }
                let found = query.relations.iter().position(|relation| relation.alias == table.name);
                let Some(relation) = found else {
                    let message = format!("relation \"{}\" in {name} clause not found in FROM clause", table.name);
                    return Err(self.error(sqlstate::UNDEFINED_TABLE, message, table.location));
                };
                self.lock_relation(query, relation as u32, locking, (true, asked), name)
                    .map_err(|error| self.at(error, table.location))?;
            }
        }
        Ok(())
    }

    fn check_lockable(&self, query: &Query, name: &str) -> Result<()> {
        let refused = if query.set_operation.is_some() {
            Some("UNION/INTERSECT/EXCEPT")
        } else if query.distinct != Distinct::No {
            Some("DISTINCT clause")
        } else if !query.groups.is_empty() {
            Some("GROUP BY clause")
        } else if query.having.is_some() {
            Some("HAVING clause")
        } else if query.is_grouped {
            Some("aggregate functions")
        } else if !query.windows.is_empty() {
            Some("window functions")
        } else if query.has_sets {
            Some("set-returning functions in the target list")
        } else {
            None
        };
        match refused {
            Some(what) => Err(Error::unsupported(format!("{name} is not allowed with {what}"))),
            None => Ok(()),
        }
    }

    fn lock_relation(
        &mut self,
        query: &mut Query,
        relation: u32,
        locking: &Locking,
        (named, asked): (bool, Asked),
        name: &str,
    ) -> Result<()> {
        let is_view = query.relations[relation as usize].access.is_some();
        if let Some(access) = query.relations[relation as usize].access {
            self.access[access].privileges = self.access[access].privileges | Privileges::UPDATE;
        }
        let mode = mode_of(locking.strength);
        match &mut query.relations[relation as usize].kind {
            RelationKind::Table(table) if table.kind == TableKind::MaterializedView => {
                let message = format!("cannot lock rows in materialized view \"{}\"", table.name);
                return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            RelationKind::Table(_) => {}
            RelationKind::Virtual(_) if !named => return Ok(()),
            // A lock on a subquery is a lock on the tables in it.
            RelationKind::Subquery(inner) => {
                let all = Locking { tables: Vec::new(), ..locking.clone() };
                let mut taken = std::mem::take(inner);
                let asked = if is_view || asked == Asked::AroundView { Asked::AroundView } else { Asked::Around };
                let result = self.locks_of(&mut taken, &[all], asked);
                query.locked_subqueries.push((relation, mode));
                if let RelationKind::Subquery(inner) = &mut query.relations[relation as usize].kind {
                    *inner = taken;
                }
                return result;
            }
            _ if !named => return Ok(()),
            kind => {
                let what = match kind {
                    RelationKind::Function { .. } => "a function",
                    RelationKind::Values(_) => "VALUES",
                    RelationKind::Cte(_) | RelationKind::WorkTable(_) => "a WITH query",
                    _ => "a system catalog",
                };
                return Err(Error::unsupported(format!("{name} cannot be applied to {what}")));
            }
        }
        let wait = match locking.wait {
            LockWait::Block => WaitPolicy::Block,
            LockWait::Skip => WaitPolicy::Skip,
            LockWait::Error => WaitPolicy::NoWait,
        };
        match query.locks.iter_mut().find(|lock| lock.relation == relation) {
            // Of several clauses the strongest lock counts, and the least patient wait.
            Some(lock) => {
                lock.mode = lock.mode.max(mode);
                lock.is_from_outside &= asked != Asked::Here;
                lock.wait = match (lock.wait, wait) {
                    (WaitPolicy::NoWait, _) | (_, WaitPolicy::NoWait) => WaitPolicy::NoWait,
                    (WaitPolicy::Skip, _) | (_, WaitPolicy::Skip) => WaitPolicy::Skip,
                    _ => WaitPolicy::Block,
                };
            }
            None => query.locks.push(Lock { relation, mode, wait, is_from_outside: asked != Asked::Here }),
        }
        Ok(())
    }
}
