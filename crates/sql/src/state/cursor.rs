//! Cursors, and the rows that FETCH gives.
//!
//! A cursor runs under the snapshot of its DECLARE or OPEN. It keeps the rows it has given if it was declared SCROLL; one that
//! did not say goes back by beginning again under the same snapshot. A holdable one gathers all its rows when its
//! transaction commits. A query of PL/pgSQL that changes rows is run to its end when its first row is wanted.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use engine::PortalSnapshot;
use plan::{Expr, Node, Plan, StatementKind};
use syntax::tree::{Fetch, FetchDirection};
use types::Value;

use super::plan_cache::Planned;
use super::read_only::{refuse_changes, refuse_locks};
use super::running::{Running, cannot_run, query_plan};
use super::session_state::SessionState;
use executor::client::Client;
use executor::{
    CursorPlace, Due, RowStore, Run, StoreReader, evaluate, run_pending_checks, sort_memory_bytes, work_memory_bytes,
};
use planner::binder::is_volatile;

/// FETCH ALL. PL/pgSQL writes it as this count.
const ALL: i64 = i32::MAX as i64;

/// A cursor.
pub struct Cursor {
    planned: Arc<Planned>,
    parameters: Vec<Value>,
    /// None once all rows are kept beyond the transaction.
    source: Option<Source>,
    /// Rows given so far, from number `first` on, if they are kept: in a file if they are many.
    rows: RowStore,
    reader: StoreReader,
    first: u64,
    keeps_rows: bool,
    /// The rows that are kept are those below the plan's projection, which is volatile: it is computed whenever a row is passed or
    /// given.
    keeps_input: bool,
    /// Rows whose projection was computed on the way forward.
    computed: u64,
    /// Rows taken from the plan.
    taken: u64,
    /// The plan has no more.
    is_over: bool,
    /// The row it stands on, from 1; 0 before the first, one more than there are after the last.
    position: u64,
    current: Option<Vec<Value>>,
    scroll: Option<bool>,
    /// WITH HOLD, or kept by a loop beyond the end of its transaction.
    pub hold: bool,
    /// A FETCH raised an error, after which nobody knows where it stands.
    pub has_failed: bool,
}

/// The rows that a FETCH gives.
#[derive(Default)]
pub struct Given {
    /// The rows, flushed; in a file if they are many.
    pub(crate) rows: RowStore,
    /// How many.
    pub count: u64,
    /// The number of columns. Values behind them tell the row's place.
    width: usize,
    /// The last row, with what is behind its columns.
    last: Option<Vec<Value>>,
    /// A MOVE wants no rows.
    counts_only: bool,
}

impl Given {
    fn push(&mut self, row: &[Value], state: &SessionState) -> Result<()> {
        self.count += 1;
        sync::yield_point()?;
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(row);
        if self.counts_only {
            return Ok(());
        }
        self.rows.push_for(&state.database, &row[..self.width.min(row.len())], work_memory_bytes(state))
    }
}

/// Where a cursor's rows come from while its transaction lasts.
struct Source {
    running: Running,
    snapshot: PortalSnapshot,
}

impl Source {
    /// A plan about to run, and a snapshot for it.
    fn begin(state: &SessionState, planned: &Arc<Planned>) -> Result<Source> {
        let running = Running::start(planned)?;
        state.engine().push_snapshot()?;
        let snapshot = state.engine().keep_snapshot();
        state.engine().pop_snapshot();
        Ok(Source { running, snapshot })
    }

    /// The same with the snapshot of the statement in progress.
    fn begin_within(state: &SessionState, planned: &Arc<Planned>) -> Result<Source> {
        let running = Running::start(planned)?;
        Ok(Source { running, snapshot: state.engine().keep_snapshot() })
    }
}

impl Cursor {
    /// Whether all its rows have been gathered.
    pub fn is_held(&self) -> bool {
        self.source.is_none() && !self.has_failed
    }

    /// Ends it: what is left is the snapshot it read with, to be given up now that nothing reads with it any more.
    pub fn end(&mut self) -> Option<PortalSnapshot> {
        let Source { running, snapshot } = self.source.take()?;
        drop(running);
        Some(snapshot)
    }

    /// Its plan.
    pub fn planned(&self) -> &Arc<Planned> {
        &self.planned
    }

    /// A cursor of a query whose locks are taken, to be read forward.
    ///
    /// # Errors
    /// Those of taking a snapshot.
    pub(crate) fn begin(state: &SessionState, planned: &Arc<Planned>, parameters: Vec<Value>) -> Result<Cursor> {
        let Source { running, snapshot } = Source::begin(state, planned)?;
        Ok(Cursor::of_portal(Arc::clone(planned), parameters, running, snapshot, 0))
    }

    /// A cursor of a function, of a query whose locks are taken. `sees_changes`: it takes a new
    /// snapshot, and so sees what the transaction has done until now. A volatile function needs that.
    ///
    /// # Errors
    /// Those of taking a snapshot.
    pub(crate) fn of_function(
        state: &SessionState,
        planned: &Arc<Planned>,
        parameters: Vec<Value>,
        scroll: Option<bool>,
        sees_changes: bool,
    ) -> Result<Cursor> {
        refuse_locks(state, planned)?;
        let source = if sees_changes { Source::begin(state, planned)? } else { Source::begin_within(state, planned)? };
        let is_scrollable = scroll.unwrap_or_else(|| goes_backwards(planned));
        Cursor::of_source(source, planned, parameters, scroll == Some(true), is_scrollable)
    }

    /// A cursor that DECLARE opens, of a query whose locks are taken. `keeps_rows`: it was declared SCROLL.
    ///
    /// # Errors
    /// Those of taking a snapshot.
    pub(crate) fn declared(
        state: &SessionState,
        planned: &Arc<Planned>,
        parameters: Vec<Value>,
        keeps_rows: bool,
        is_scrollable: bool,
    ) -> Result<Cursor> {
        Cursor::of_source(Source::begin(state, planned)?, planned, parameters, keeps_rows, is_scrollable)
    }

    /// A cursor before its first row.
    fn of_source(
        mut source: Source,
        planned: &Arc<Planned>,
        parameters: Vec<Value>,
        keeps_rows: bool,
        is_scrollable: bool,
    ) -> Result<Cursor> {
        let keeps_input = keeps_rows && volatile_projection(planned).is_some();
        if keeps_input {
            source.running = Running::start_below_projection(planned)?;
        }
        Ok(Cursor {
            parameters,
            source: Some(source),
            taken: 0,
            is_over: false,
            keeps_rows: keeps_rows || !planned.statement.is_read_only,
            keeps_input,
            ..Cursor::of_rows(Arc::clone(planned), RowStore::default(), Some(is_scrollable))
        })
    }

    /// Whether its rows are those of a query that changes nothing.
    pub(crate) fn is_of_plain_query(&self) -> bool {
        self.planned.statement.is_read_only && query_plan(&self.planned).is_ok()
    }

    /// Whether it goes backwards.
    pub(crate) fn is_scrollable(&self) -> bool {
        self.scroll != Some(false)
    }

    /// A cursor that goes on with a plan that has given so many rows, to be read forward.
    pub(crate) fn of_portal(
        planned: Arc<Planned>,
        parameters: Vec<Value>,
        running: Running,
        snapshot: PortalSnapshot,
        given: u64,
    ) -> Cursor {
        Cursor {
            parameters,
            source: Some(Source { running, snapshot }),
            taken: given,
            is_over: false,
            position: given,
            keeps_rows: false,
            ..Cursor::of_rows(planned, RowStore::default(), Some(false))
        }
    }

    /// A cursor over rows that have been gathered.
    pub(crate) fn of_rows(planned: Arc<Planned>, rows: RowStore, scroll: Option<bool>) -> Cursor {
        Cursor {
            planned,
            parameters: Vec::new(),
            source: None,
            taken: rows.len() as u64,
            rows,
            reader: StoreReader::default(),
            first: 1,
            keeps_rows: true,
            keeps_input: false,
            computed: 0,
            is_over: true,
            position: 0,
            current: None,
            scroll,
            hold: false,
            has_failed: false,
        }
    }

    /// Takes rows from the plan until row `number` has come, or there are no more; gives those after `from`.
    fn take_up_to(
        &mut self,
        state: &SessionState,
        number: u64,
        from: u64,
        given: &mut Given,
        client: &mut dyn Client,
    ) -> Result<()> {
        if self.taken >= number || self.is_over {
            return Ok(());
        }
        let Some(source) = &mut self.source else { return Ok(()) };
        let changes_rows = !self.planned.statement.is_read_only;
        refuse_changes(state, &self.planned.statement)?;
        // It may be fetched from in the middle of another statement.
        state.engine().push_snapshot()?;
        if changes_rows {
            // All is done at once, and sees what was done until now.
            state.engine().push_snapshot().inspect_err(|_| state.engine().pop_snapshot())?;
        } else {
            state.engine().enter_snapshot(&source.snapshot);
        }
        let first_check = state.next_check.get();
        let (taken, is_over, keeps_rows, rows) = (&mut self.taken, &mut self.is_over, self.keeps_rows, &mut self.rows);
        let (parameters, keeps_input, computed) = (&self.parameters, self.keeps_input, self.computed);
        let result = source.running.with_dependent_mut(|planned, execution| -> Result<()> {
            let projection = volatile_projection(planned).filter(|_| keeps_input);
            let mut run = Run::new(state, client, parameters, &mut execution.locals);
            let limit_bytes = sort_memory_bytes(&run);
            while *taken < number || changes_rows {
                if !execution.root.next(&mut run)? {
                    *is_over = true;
                    break;
                }
                *taken += 1;
                let row = execution.root.row();
                if keeps_rows {
                    rows.push(row, limit_bytes, &run)?;
                }
                let is_given = *taken > from && *taken <= number;
                match projection {
                    Some(exprs) if is_given || *taken > computed => {
                        let row = projected(exprs, row, &mut run)?;
                        if is_given {
                            given.push(&row, state)?;
                        }
                    }
                    None if is_given => given.push(row, state)?,
                    _ => {}
                }
            }
            rows.flush()
        });
        let result = result.and_then(|()| run_pending_checks(state, Due::Statement(first_check), client));
        state.engine().pop_snapshot();
        state.engine().pop_snapshot();
        result
    }

    /// Takes rows that nobody is given.
    fn skip_to(&mut self, state: &SessionState, number: u64, client: &mut dyn Client) -> Result<()> {
        self.take_up_to(state, number, u64::MAX, &mut Given::default(), client)
    }

    /// Begins again, to keep the rows this time. `keeps_input`: those below a volatile projection, which isn't computed again for rows
    /// that have come already.
    fn begin_again(&mut self, keeps_input: bool) -> Result<()> {
        if let Some(source) = &mut self.source {
            self.keeps_input = keeps_input && volatile_projection(&self.planned).is_some();
            source.running = match self.keeps_input {
                true => Running::start_below_projection(&self.planned)?,
                false => Running::start(&self.planned)?,
            };
            self.computed = self.taken;
            (self.rows, self.reader) = (RowStore::default(), StoreReader::default());
            self.first = 1;
            (self.taken, self.is_over) = (0, false);
            self.keeps_rows = true;
        }
        Ok(())
    }

    /// 55000 if the cursor is declared NO SCROLL.
    fn refuse_forward_only(&self) -> Result<()> {
        if self.scroll == Some(false) {
            return Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
                .hint("Declare it with SCROLL option to enable backward scan."));
        }
        Ok(())
    }

    fn require_backward(&mut self) -> Result<()> {
        self.refuse_forward_only()?;
        if !self.keeps_rows { self.begin_again(true) } else { Ok(()) }
    }

    /// Row `number`, which has come already and is kept.
    fn kept(&mut self, number: u64) -> Result<Option<&[Value]>> {
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let Some(place) = place.filter(|place| *place < self.rows.len()) else { return Ok(None) };
        self.reader.read(&self.rows, place).map(Some)
    }

    /// Gives row `number`, which has come already; whether it is kept.
    fn give_kept(
        &mut self,
        state: &SessionState,
        number: u64,
        given: &mut Given,
        client: &mut dyn Client,
    ) -> Result<bool> {
        let keeps_input = self.keeps_input;
        let Some(row) = self.kept(number)? else { return Ok(false) };
        if !keeps_input {
            given.push(row, state)?;
            return Ok(true);
        }
        let row = row.to_vec();
        let Some(source) = &mut self.source else { return Ok(false) };
        state.engine().push_snapshot()?;
        state.engine().enter_snapshot(&source.snapshot);
        let first_check = state.next_check.get();
        let parameters = &self.parameters;
        let row = source.running.with_dependent_mut(|planned, execution| {
            let mut run = Run::new(state, client, parameters, &mut execution.locals);
            projected(volatile_projection(planned).unwrap_or_default(), &row, &mut run)
        });
        let checked = row.and_then(|row| {
            run_pending_checks(state, Due::Statement(first_check), client)?;
            Ok(row)
        });
        state.engine().pop_snapshot();
        state.engine().pop_snapshot();
        given.push(&checked?, state)?;
        Ok(true)
    }

    /// Moves forward by up to `count` rows, which are given.
    fn forward(&mut self, state: &SessionState, count: u64, given: &mut Given, client: &mut dyn Client) -> Result<()> {
        let wanted = self.position.saturating_add(count);
        // Rows that came already, after a move back.
        let mut number = self.position + 1;
        while number <= wanted.min(self.taken) {
            self.give_kept(state, number, given, client)?;
            number += 1;
        }
        let from = self.taken.max(self.position);
        self.take_up_to(state, wanted, from, given, client)?;
        if wanted > self.taken && self.is_over {
            self.position = self.taken + 1;
            self.current = None;
        } else {
            self.position = wanted.min(self.taken);
            self.current = given.last.take();
        }
        Ok(())
    }

    /// Moves back by up to `count` rows, which are given, the nearest first.
    fn backward(&mut self, state: &SessionState, count: u64, given: &mut Given, client: &mut dyn Client) -> Result<()> {
        self.require_backward()?;
        self.skip_to(state, self.position, client)?;
        let mut left = count;
        while self.position > 0 && left > 0 {
            self.position -= 1;
            if self.position == 0 {
                break;
            }
            left -= u64::from(self.give_kept(state, self.position, given, client)?);
        }
        if left > 0 {
            self.position = 0;
        }
        self.current = if self.position == 0 { None } else { given.last.take() };
        Ok(())
    }

    /// Moves to row `number`, which is given if there is one.
    fn absolute(
        &mut self,
        state: &SessionState,
        number: u64,
        given: &mut Given,
        client: &mut dyn Client,
    ) -> Result<()> {
        if number > self.position {
            // Nobody gets the rows on the way.
            if !self.keeps_input {
                self.skip_to(state, number - 1, client)?;
                self.position = self.position.max(self.taken.min(number - 1));
            }
            let mut passed = Given { counts_only: true, ..Given::default() };
            self.forward(state, number - self.position, &mut passed, client)?;
        } else if number < self.position {
            self.require_backward()?;
            self.skip_to(state, number, client)?;
            if !self.keeps_input {
                self.current = self.kept(number)?.map(<[Value]>::to_vec);
            } else {
                // PostgreSQL goes there from the start or from where it stands, and passes all rows on the way.
                let is_from_start = number.saturating_sub(1) <= self.position / 2;
                let mut passed = Given { counts_only: true, ..Given::default() };
                let on_the_way = if is_from_start { 1..number } else { number - 1..self.position };
                for passing in on_the_way {
                    self.give_kept(state, passing, &mut passed, client)?;
                }
                passed.last = None;
                if number > 0 {
                    self.give_kept(state, number, &mut passed, client)?;
                }
                self.current = passed.last;
            }
            self.position = number;
        }
        if self.position == number { self.give_current(given, state) } else { Ok(()) }
    }

    fn give_current(&self, given: &mut Given, state: &SessionState) -> Result<()> {
        self.current.as_ref().map_or(Ok(()), |row| given.push(row, state))
    }

    /// Returns the rows that a FETCH gives. The rows that a MOVE passes are only counted.
    ///
    /// # Errors
    /// 55000 for moving back in a cursor that can't, and for any use after an error; errors of the query.
    pub fn fetch(&mut self, state: &SessionState, fetch: &Fetch, client: &mut dyn Client) -> Result<Given> {
        if self.has_failed {
            return Err(cannot_run(fetch.cursor.as_str()));
        }
        let width = self.planned.statement.columns.len();
        let mut given = Given { width, counts_only: fetch.is_move, ..Given::default() };
        let moved = self.move_and_give(state, fetch, &mut given, client);
        self.has_failed = moved.is_err();
        if !self.planned.statement.row_places.tables.is_empty() {
            let tid = |value: &Value| if let Value::Tid(tid) = value { Some(*tid) } else { None };
            let place = match (&self.current, &self.source) {
                (_, None) if self.hold => CursorPlace::Held,
                (Some(row), _) => CursorPlace::OnRow(row.iter().skip(width).map(tid).collect()),
                (None, _) => CursorPlace::Outside,
            };
            state.place_cursor(&fetch.cursor, place);
        }
        if let Err(error) = moved {
            if let Some(snapshot) = self.end() {
                state.engine().release_snapshot(snapshot);
            }
            return Err(error);
        }
        given.rows.flush()?;
        Ok(given)
    }

    fn move_and_give(
        &mut self,
        state: &SessionState,
        fetch: &Fetch,
        given: &mut Given,
        client: &mut dyn Client,
    ) -> Result<()> {
        // A change is made even if no row of it is wanted.
        if !self.planned.statement.is_read_only {
            self.skip_to(state, u64::MAX, client)?;
        }
        if self.scroll == Some(false) {
            if self.goes_back(fetch) {
                self.refuse_forward_only()?;
            }
            // It stands at the start already.
            if fetch.is_move && fetch.direction == FetchDirection::Backward && fetch.count >= ALL {
                return Ok(());
            }
        }
        self.give(state, fetch, given, client)
    }

    /// Whether PostgreSQL would scan backwards or rewind for this FETCH. `give` checks negative ABSOLUTE counts itself, once the end is
    /// known.
    fn goes_back(&self, fetch: &Fetch) -> bool {
        let is_at_end = self.is_over && self.position > self.taken;
        let is_on_row = self.position > 0 && !is_at_end;
        let begins_again = self.position > 0;
        let place = if is_at_end { self.taken } else { self.position };
        match (fetch.direction, fetch.count) {
            (FetchDirection::Forward | FetchDirection::Relative, 0) => is_on_row && !fetch.is_move,
            (FetchDirection::Backward, 0) => !fetch.is_move,
            (FetchDirection::Absolute, 0) => begins_again,
            (FetchDirection::Absolute, count) if count > 0 && count.unsigned_abs() - 1 <= place / 2 => begins_again,
            (FetchDirection::Absolute, count) => count > 0 && count.unsigned_abs() <= self.position,
            (FetchDirection::Backward, count) if fetch.is_move && count >= ALL => begins_again,
            (FetchDirection::Forward | FetchDirection::Relative, count) => count < 0,
            (FetchDirection::Backward, count) => count > 0,
        }
    }

    fn give(&mut self, state: &SessionState, fetch: &Fetch, given: &mut Given, client: &mut dyn Client) -> Result<()> {
        match (fetch.direction, fetch.count) {
            (FetchDirection::Forward | FetchDirection::Backward, 0) | (FetchDirection::Relative, 0) => {
                self.give_current(given, state)
            }
            (FetchDirection::Forward, count) if count > 0 => self.forward(state, count.unsigned_abs(), given, client),
            (FetchDirection::Forward, count) => self.backward(state, count.unsigned_abs(), given, client),
            (FetchDirection::Backward, count) if count > 0 => self.backward(state, count.unsigned_abs(), given, client),
            (FetchDirection::Backward, count) => self.forward(state, count.unsigned_abs(), given, client),
            (FetchDirection::Absolute, count) if count >= 0 => {
                self.absolute(state, count.unsigned_abs(), given, client)
            }
            (FetchDirection::Absolute, count) => {
                // Counted from the end.
                self.skip_to(state, u64::MAX, client)?;
                (self.position, self.current) = (self.taken + 1, None);
                self.refuse_forward_only()?;
                let number = (self.taken + 1).saturating_sub(count.unsigned_abs());
                self.absolute(state, number, given, client)
            }
            (FetchDirection::Relative, count) if count > 0 => {
                let number = self.position.saturating_add(count.unsigned_abs());
                self.absolute(state, number, given, client)
            }
            (FetchDirection::Relative, count) => {
                let number = self.position.saturating_sub(count.unsigned_abs());
                self.absolute(state, number, given, client)
            }
        }
    }

    /// Gathers its rows at once.
    ///
    /// # Errors
    /// Those of the query.
    pub(crate) fn gather(&mut self, state: &SessionState, client: &mut dyn Client) -> Result<()> {
        if self.keeps_input {
            self.begin_again(false)?;
        }
        self.keeps_rows = true;
        let gathered = self.skip_to(state, u64::MAX, client);
        if let Some(snapshot) = self.end() {
            state.engine().release_snapshot(snapshot);
        }
        gathered
    }

    /// Gathers its rows, since its transaction ends.
    pub fn hold_rows(&mut self, state: &SessionState, client: &mut dyn Client) -> Result<()> {
        if self.source.is_none() {
            return Ok(());
        }
        if self.keeps_input {
            self.begin_again(false)?;
        } else if !self.keeps_rows {
            if self.scroll == Some(false) {
                self.first = self.taken + 1;
                self.keeps_rows = true;
            } else {
                self.begin_again(false)?;
            }
        }
        self.skip_to(state, u64::MAX, client)?;
        self.source = None;
        Ok(())
    }
}

/// The projection at the top of a plan, if it calls something volatile: a row has other values when the cursor comes back to it.
fn volatile_projection(planned: &Planned) -> Option<&[Expr]> {
    let Node::Project { exprs, .. } = &query_plan(planned).ok()?.node else { return None };
    (goes_backwards(planned) && exprs.iter().any(is_volatile)).then_some(exprs.as_slice())
}

fn projected<'p>(exprs: &'p [Expr], row: &[Value], run: &mut Run<'_, 'p>) -> Result<Vec<Value>> {
    exprs.iter().map(|expr| evaluate(expr, row, run)).collect()
}

/// Whether PostgreSQL can run the plan backwards. A cursor declared with neither SCROLL nor NO SCROLL is then scrollable.
pub(crate) fn goes_backwards(planned: &Planned) -> bool {
    fn goes(plan: &Plan) -> bool {
        match &plan.node {
            Node::SeqScan(_)
            | Node::IndexScan(_)
            | Node::IndexPoint(_)
            | Node::VirtualScan(_)
            | Node::FunctionScan(_)
            | Node::CteScan { .. }
            | Node::Values { .. }
            | Node::Sort { .. } => true,
            Node::Filter { input, .. }
            | Node::OneTimeFilter { input, .. }
            | Node::Project { input, .. }
            | Node::Limit { input, .. } => goes(input),
            Node::Append { inputs } => inputs.iter().all(goes),
            _ => false,
        }
    }
    matches!(&planned.statement.kind, StatementKind::Query(plan) if goes(plan))
}
