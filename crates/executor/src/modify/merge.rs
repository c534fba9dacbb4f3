//! MERGE.

use base::{Error, Result, Tid, sqlstate};
use bumpalo::Bump;
use plan::{Effort, Event, MergeAction, MergeWhen};
use schema::row::{ColumnSet, RowBytes};
use types::Value;

use super::delete::delete_row;
use super::insert::insert_row;
use super::update::{OldRow, RowUpdate};
use super::{Attempt, Obstacle, OpenTarget, assigned_columns, ctid};
use crate::evaluate::{evaluate, is_true};
use crate::recheck::{Recheck, Rechecked};
use crate::{BoxOperator, Firing, Operator, Run};

/// MERGE.
pub struct MergeRows<'p> {
    node: &'p plan::Merge,
    input: BoxOperator<'p>,
    open: Option<Opened<'p>>,
    /// The input row; the re-check puts a newer version's values into it.
    current: Vec<Value>,
    /// The version of the table's row.
    old: RowBytes,
    /// The row to insert.
    values: Vec<Value>,
    arena: Bump,
    recheck: Recheck<'p>,
    counts: Counts,
    is_over: bool,
}

/// The number of input rows, and of the changes made for them.
#[derive(Default)]
struct Counts {
    rows: u64,
    inserted: u64,
    updated: u64,
    deleted: u64,
}

/// The table, and what the clauses do with it.
struct Opened<'p> {
    target: OpenTarget<'p>,
    /// For each clause its update, if it is one.
    updates: Vec<Option<RowUpdate<'p>>>,
    /// The columns that the clauses assign.
    named: ColumnSet,
}

impl<'p> Opened<'p> {
    fn of(node: &'p plan::Merge, run: &Run<'_, 'p>) -> Result<Opened<'p>> {
        let target = OpenTarget::open(&node.target, run)?;
        let mut named = ColumnSet::new();
        for clause in &node.clauses {
            if let MergeAction::Update(assignments) = &clause.action {
                assigned_columns(assignments).iter().for_each(|column| named.insert(column));
            }
        }
        let updates = node.clauses.iter().map(|clause| {
            let MergeAction::Update(assignments) = &clause.action else { return None };
            Some(RowUpdate::new(assignments, named.clone(), false, &target))
        });
        let updates = updates.collect();
        Ok(Opened { target, updates, named })
    }
}

impl<'p> MergeRows<'p> {
    pub fn new(node: &'p plan::Merge, input: BoxOperator<'p>) -> Self {
        MergeRows {
            node,
            input,
            open: None,
            current: Vec::new(),
            old: RowBytes::new(),
            values: Vec::new(),
            arena: Bump::new(),
            recheck: Recheck::new(&node.recheck, &node.input),
            counts: Counts::default(),
            is_over: false,
        }
    }

    /// Whether a clause has an action of this kind.
    fn has(&self, event: Event) -> bool {
        self.node.clauses.iter().any(|clause| match clause.action {
            MergeAction::Insert(_) => event == Event::Insert,
            MergeAction::Update(_) => event == Event::Update,
            MergeAction::Delete => event == Event::Delete,
            MergeAction::Nothing => false,
        })
    }

    /// The statement's own triggers: those of all its actions, whether a row comes to them or not.
    fn fire_statement(&self, is_before: bool, run: &mut Run<'_, 'p>) -> Result<()> {
        let Some(triggers) = &self.node.target.triggers else { return Ok(()) };
        let open = self.open.as_ref().expect("opened before the first row");
        let captures = &open.target.captures;
        let mut events = [Event::Insert, Event::Update, Event::Delete];
        if !is_before {
            events.reverse();
        }
        for event in events.into_iter().filter(|event| self.has(*event)) {
            let named = (event == Event::Update).then_some(&open.named);
            if is_before {
                Firing(triggers).before_statement(event, named, captures, run)?;
            } else {
                Firing(triggers).after_statement(event, named, captures, run)?;
            }
        }
        Ok(())
    }

    /// The first of the clauses for matched rows, or for the others, whose condition the input row meets: its number.
    fn clause(&self, matched: bool, run: &mut Run<'_, 'p>) -> Result<Option<(usize, &'p MergeWhen)>> {
        for (number, clause) in self.node.clauses.iter().enumerate().filter(|(_, clause)| clause.matched == matched) {
            let is_met = match &clause.condition {
                Some(condition) => is_true(condition, &self.current, run)?,
                None => true,
            };
            if is_met {
                return Ok(Some((number, clause)));
            }
        }
        Ok(None)
    }

    /// Does for the input row, which has a row of the table, what the clauses say. Returns false if a newer version shows
    /// that the row of the table is gone or doesn't match any more: then the clauses for rows without a match count.
    ///
    /// When the row turns out to have a newer version, ON is tried on that version, and then the clauses from the first one on.
    fn change_matched(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let mut tid = ctid(&self.current, self.node.ctid)?;
        let mut is_newer = false;
        loop {
            let Some((number, clause)) = self.clause(true, run)? else { return Ok(true) };
            if matches!(clause.action, MergeAction::Nothing | MergeAction::Insert(_)) {
                return Ok(true);
            }
            let open = self.open.as_mut().expect("opened before the first row");
            if !is_newer
                && !run.locals.take_kept_row(self.node.scan, tid, &mut self.old)
                && !run.engine().fetch(&open.target.table, tid, &mut self.old)?
            {
                return Ok(true);
            }
            let Opened { target, updates, .. } = open;
            let update = updates[number].as_mut();
            let is_update = update.is_some();
            let attempt = match update {
                Some(update) => update.attempt(target, &mut tid, OldRow::stored(&self.old), &self.current, run)?,
                None => delete_row(target, &mut tid, &self.old, true, run)?,
            };
            let obstacle = match attempt {
                Attempt::Done { .. } => {
                    let count = if is_update { &mut self.counts.updated } else { &mut self.counts.deleted };
                    *count += 1;
                    run.locals.affected_rows += 1;
                    return Ok(true);
                }
                Attempt::LeftAlone => return Ok(true),
                Attempt::Failed(obstacle) => obstacle,
            };
            let Some(newest) = next_version(obstacle, run)? else { return Ok(false) };
            let (current, old) = (&mut self.current, &mut self.old);
            match self.recheck.try_again(self.node.scan, &target.table, newest, current, old, run)? {
                Rechecked::Qualifies(version) => tid = version,
                Rechecked::Fails => return Ok(false),
                Rechecked::SelfModified(command) => {
                    next_version(Obstacle::SelfModified { command, in_lock: false }, run)?;
                    return Ok(false);
                }
            }
            is_newer = true;
        }
    }

    /// Does for the input row, which has no row of the table, what the clauses say.
    fn change_not_matched(&mut self, run: &mut Run<'_, 'p>) -> Result<()> {
        let Some((_, clause)) = self.clause(false, run)? else { return Ok(()) };
        let MergeAction::Insert(row) = &clause.action else { return Ok(()) };
        self.values.clear();
        for expr in row {
            self.values.push(evaluate(expr, &self.current, run)?);
        }
        let open = &self.open.as_ref().expect("opened before the first row").target;
        if insert_row(open, &mut self.values, &mut self.arena, run)?.is_some() {
            run.locals.affected_rows += 1;
        }
        self.counts.inserted += 1;
        Ok(())
    }
}

/// Returns the version to look at next, or `None` if the row is not there any more.
///
/// # Errors
/// 21000 if the statement has changed the row already; else as [`Obstacle::next_version`].
fn next_version(obstacle: Obstacle, run: &Run<'_, '_>) -> Result<Option<Tid>> {
    let is_own = matches!(obstacle, Obstacle::SelfModified { .. });
    let newest = obstacle.next_version("updated or deleted", run)?;
    if is_own {
        let message = "MERGE command cannot affect row a second time";
        return Err(Error::new(sqlstate::CARDINALITY_VIOLATION, message)
            .hint("Ensure that not more than one source row matches any one target row."));
    }
    Ok(newest)
}

impl<'p> Operator<'p> for MergeRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.open.is_none() {
            self.open = Some(Opened::of(self.node, run)?);
            self.fire_statement(true, run)?;
        }
        while self.input.next(run)? {
            sync::yield_point()?;
            self.counts.rows += 1;
            self.current.clear();
            self.current.extend_from_slice(self.input.row());
            let is_matched = !self.current[self.node.ctid as usize].is_null();
            if !is_matched || !self.change_matched(run)? {
                self.change_not_matched(run)?;
            }
        }
        if !self.is_over {
            self.is_over = true;
            self.fire_statement(false, run)?;
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        &[]
    }

    fn rescan(&mut self) {
        self.input.rescan();
    }

    fn effort(&self) -> Option<Effort> {
        let Counts { rows, inserted, updated, deleted } = self.counts;
        let skipped = rows.saturating_sub(inserted + updated + deleted);
        Some(Effort::Merge { inserted, updated, deleted, skipped })
    }
}
