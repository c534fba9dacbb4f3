//! Scans of large tables that helpers read ahead.
//!
//! The table is divided into pieces. Helpers and the session that wants the rows take one piece at a time, judge and decode its
//! rows, and apply the scan's filter where that needs nothing of the session. The session is given the pieces in physical
//! order; when the next one isn't there yet, it reads one itself rather than wait. So the rows come in the same order as without helpers,
//! and nothing stands still where no helper is to be had.
//!
//! Only so many pieces are read ahead as [`PIECES_AHEAD`] says, and one whose rows have large values is left to the session to be
//! read row by row, so that what lies ready stays small.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use base::settings::Id;
use base::{Error, PageUse, Result};
use engine::{PageMeter, PageTuples, SharedScan, TableScan};
use plan::{CatalogView, Expr, ExprKind, FunctionTarget};
use sync::atomic::{AtomicBool, Ordering};
use sync::{Condvar, Mutex, Waiter, Waker, Woken};
use types::random::RandomState;
use types::{CatalogLookup, EvalContext, FormatSettings, Implementation, Value, Volatility};

use crate::Run;
use crate::evaluate::{Evaluator, is_true};
use crate::helpers::Shareable;
use crate::row_decoder::RowDecoder;
use crate::state::ExecutionState;

/// Blocks of a piece: some hundred microseconds of work.
const PIECE_BLOCKS: u32 = 32;
/// A piece whose rows take more is left to the session, to be read row by row.
const BATCH_BYTES_MAX: usize = 2 << 20;
/// Pieces that lie ready or are being read, per helper.
const PIECES_AHEAD: usize = 4;

/// The session's side of the scan.
pub(super) struct ReadAhead {
    work: Arc<Work>,
    batch: Batch,
    /// Rows of the batch that were given.
    given: usize,
}

/// The state of a scan that helpers share.
struct Work {
    scan: SharedScan,
    /// Reads the slots that the filter looks at, or all.
    early: RowDecoder,
    /// Reads the others, once the filter is passed.
    late: Option<RowDecoder>,
    filter: Option<Expr>,
    width: usize,
    parameters: Vec<Value>,
    format: Arc<FormatSettings>,
    catalog: CatalogView,
    transaction_timestamp: i64,
    statement_timestamp: i64,
    counts_pages: bool,
    helpers_max: usize,
    is_cancelled: AtomicBool,
    /// A leaf.
    state: Mutex<State>,
    /// A helper has left a piece.
    left: Condvar,
}

/// How far a scan is.
#[derive(Default)]
struct State {
    next_block: u32,
    /// The number of the first of `pieces`.
    first: usize,
    /// Pieces that the session has not been given, in order.
    pieces: VecDeque<Piece>,
    /// Helpers that were asked for and have not gone.
    helpers: usize,
    /// Helpers that are at a piece.
    reading: usize,
    /// The session, if it waits for the first piece.
    waiting: Option<Waker>,
    spare: Vec<Batch>,
}

enum Piece {
    Reading,
    Read(Result<Outcome>),
}

enum Outcome {
    Rows(Batch),
    /// To be read row by row.
    Alone(Range<u32>),
}

/// The session's next step.
pub(super) enum Next {
    /// Rows, which [`ReadAhead::advance`] gives.
    Rows,
    /// These blocks, by itself.
    Alone(Range<u32>),
    /// Nothing: that was all.
    End,
}

/// Rows of one piece, one behind the other.
#[derive(Default)]
struct Batch {
    values: Vec<Value>,
    rows: usize,
    /// Those that the filter took out.
    removed_rows: u64,
    /// The error at the row after them, if there was one.
    error: Option<Error>,
    used: PageUse,
}

/// Takes the larger part of a scan away from `scan`, to be read with helpers, if it is worth their while and there may be any.
pub(super) fn divide(scan: &mut TableScan, run: &Run<'_, '_>) -> Option<(SharedScan, usize)> {
    let (helpers_max, blocks_min) = {
        let settings = run.state.settings.borrow();
        let integer = |id| settings.get(id).as_integer().unwrap_or(0);
        let helpers_max = integer(Id::MaxParallelWorkersPerGather).min(integer(Id::MaxParallelWorkers));
        (helpers_max, integer(Id::MinParallelTableScanSize))
    };
    let helpers_max = run.state.helpers.useful().min(usize::try_from(helpers_max).unwrap_or(0));
    if helpers_max == 0 {
        return None;
    }
    let shared = scan.share(&run.engine(), PIECE_BLOCKS, u32::try_from(blocks_min).unwrap_or(u32::MAX))?;
    Some((shared, helpers_max))
}

/// Whether `expr` can be computed by a helper: from the row and the parameters alone.
pub(super) fn is_self_contained(expr: &Expr, parameters: &[Value]) -> bool {
    let is_plain = |function: &FunctionTarget| match function {
        FunctionTarget::Builtin(function) => {
            function.volatility == Volatility::Immutable
                && matches!(function.implementation, Implementation::Plain(_) | Implementation::Typed(_))
        }
        FunctionTarget::Stored(_) => false,
    };
    let is_plain = match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::Column(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull(_)
        | ExprKind::IsNotNull(_)
        | ExprKind::IsTruth { .. }
        | ExprKind::Case { .. }
        | ExprKind::CaseOperand
        | ExprKind::Coalesce(_)
        | ExprKind::Greatest(_)
        | ExprKind::Least(_) => true,
        ExprKind::Parameter(index) => (*index as usize) < parameters.len(),
        ExprKind::Call(call) => is_plain(&call.function),
        ExprKind::IsDistinct { equal, .. } => is_plain(&equal.function),
        ExprKind::NullIf(equal) => is_plain(&equal.function),
        ExprKind::Quantified(quantified) => is_plain(&FunctionTarget::Builtin(quantified.function)),
        _ => false,
    };
    let mut all = is_plain;
    expr.for_each_child(&mut |child| all = all && is_self_contained(child, parameters));
    all
}

impl ReadAhead {
    /// Of the rows of `scan`: those that pass `filter`, which is self-contained.
    pub(super) fn new(
        (scan, helpers_max): (SharedScan, usize),
        (early, late): (RowDecoder, Option<RowDecoder>),
        filter: Option<&Expr>,
        width: usize,
        run: &Run<'_, '_>,
    ) -> ReadAhead {
        let state = State { next_block: scan.blocks().start, ..State::default() };
        let work = Work {
            scan,
            early,
            late,
            filter: filter.cloned(),
            width,
            parameters: run.parameters.to_vec(),
            format: Arc::clone(&run.format),
            catalog: run.catalog.clone(),
            transaction_timestamp: run.transaction_timestamp,
            statement_timestamp: run.statement_timestamp,
            counts_pages: run.locals.measurements.as_ref().is_some_and(|measurements| measurements.has_pages()),
            helpers_max,
            is_cancelled: AtomicBool::new(false),
            state: Mutex::new(state),
            left: Condvar::new(),
        };
        ReadAhead { work: Arc::new(work), batch: Batch::default(), given: 0 }
    }

    /// Moves to the next row that lies ready; false if there is none.
    #[inline]
    pub(super) fn advance(&mut self) -> bool {
        let has_row = self.given < self.batch.rows;
        self.given += usize::from(has_row);
        has_row
    }

    /// How many rows of the piece that is given now the filter took out.
    pub(super) fn removed_rows(&self) -> u64 {
        self.batch.removed_rows
    }

    /// The row that [`ReadAhead::advance`] moved to.
    #[inline]
    pub(super) fn row(&self) -> &[Value] {
        let width = self.work.width;
        &self.batch.values[(self.given - 1) * width..self.given * width]
    }

    /// The step after the rows that were given.
    ///
    /// # Errors
    /// Errors of reading and of the filter; 57014 and its kin when the session is interrupted.
    pub(super) fn go_on(&mut self, run: &Run<'_, '_>) -> Result<Next> {
        let work = Arc::clone(&self.work);
        let mut spent = std::mem::take(&mut self.batch);
        if let Some(error) = spent.error.take() {
            return Err(error);
        }
        let mut state = work.state.lock();
        self.given = 0;
        if spent.values.capacity() > 0 {
            state.spare.push(spent);
        }
        loop {
            if matches!(state.pieces.front(), Some(Piece::Read(_))) {
                let Some(Piece::Read(outcome)) = state.pieces.pop_front() else { continue };
                state.first += 1;
                let more = work.can_claim(&state) && state.helpers < work.helpers_max;
                state.helpers += usize::from(more);
                drop(state);
                if more {
                    let helped: Weak<Work> = Arc::downgrade(&work);
                    if !run.state.helpers.ask(helped) {
                        work.state.lock().helpers -= 1;
                    }
                }
                return Ok(match outcome? {
                    Outcome::Alone(blocks) => Next::Alone(blocks),
                    Outcome::Rows(batch) => {
                        engine::count_use(|used| *used = used.plus(&batch.used));
                        self.batch = batch;
                        Next::Rows
                    }
                });
            }
            if let Some((number, blocks, batch)) = work.claim(&mut state) {
                drop(state);
                let outcome = work.read(blocks, batch, Some(run.state));
                state = work.state.lock();
                state.put(number, outcome);
                continue;
            }
            if state.pieces.is_empty() {
                return Ok(Next::End);
            }
            let waiter = Waiter::new();
            state.waiting = Some(waiter.waker());
            drop(state);
            let interrupt = run.state.interrupt();
            if waiter.wait(None, Some(interrupt)) == Woken::Interrupted {
                interrupt.check()?;
            }
            state = work.state.lock();
        }
    }
}

impl Drop for ReadAhead {
    /// After this the statement releases the scan's resources, so no helper may be reading then. A helper checks at every row
    /// whether the scan is still wanted.
    fn drop(&mut self) {
        self.work.is_cancelled.store(true, Ordering::Relaxed);
        let mut state = self.work.state.lock();
        while state.reading > 0 {
            self.work.left.wait(&mut state);
        }
    }
}

impl State {
    /// Enters what was read; who waits for it, if somebody does.
    fn put(&mut self, number: usize, outcome: Result<Outcome>) -> Option<Waker> {
        let place = number - self.first;
        self.pieces[place] = Piece::Read(outcome);
        if place == 0 { self.waiting.take() } else { None }
    }
}

impl Work {
    fn can_claim(&self, state: &State) -> bool {
        !self.is_cancelled.load(Ordering::Relaxed)
            && state.next_block < self.scan.blocks().end
            && state.pieces.len() < PIECES_AHEAD * self.helpers_max + 1
    }

    /// The next piece nobody reads yet, if it isn't too far ahead.
    fn claim(&self, state: &mut State) -> Option<(usize, Range<u32>, Batch)> {
        if !self.can_claim(state) {
            return None;
        }
        let start = state.next_block;
        let end = start.saturating_add(PIECE_BLOCKS).min(self.scan.blocks().end);
        state.next_block = end;
        state.pieces.push_back(Piece::Reading);
        Some((state.first + state.pieces.len() - 1, start..end, state.spare.pop().unwrap_or_default()))
    }

    /// The rows of some blocks that pass the filter. `session` is the reader, or `None` if a helper reads. A session that reads lets its
    /// thread's other sessions run.
    fn read(&self, blocks: Range<u32>, mut batch: Batch, session: Option<&ExecutionState>) -> Result<Outcome> {
        let Batch { values, rows, removed_rows, used, .. } = &mut batch;
        (*rows, *removed_rows, *used) = (0, 0, PageUse::default());
        let mut helper = Helper { work: self, session, case_operands: Vec::new(), random: None };
        let table = self.scan.table();
        let mut bytes_kept = 0;
        let read = self.scan.read(blocks.clone(), &mut PageTuples::new(), |tid, bytes| {
            if helper.is_unwanted() {
                return Ok(false);
            }
            if session.is_some() {
                sync::let_others_run();
            }
            let start = *rows * self.width;
            if values.len() < start + self.width {
                values.resize(start + self.width, Value::Null);
            }
            let row = &mut values[start..start + self.width];
            self.early.decode(table, bytes, tid, row)?;
            if let Some(filter) = &self.filter
                && !is_true(filter, row, &mut helper)?
            {
                *removed_rows += 1;
                return Ok(true);
            }
            if let Some(late) = &self.late {
                late.decode(table, bytes, tid, row)?;
            }
            *rows += 1;
            // Stored rows may be small and what they are decoded to large: defaults of younger columns, many NULLs.
            bytes_kept += size_of_val(row) + row.iter().map(Value::heap_bytes).sum::<usize>();
            Ok(bytes_kept <= BATCH_BYTES_MAX)
        });
        match read {
            Ok(true) => {}
            Ok(false) => return Ok(Outcome::Alone(blocks)),
            // The interrupt is taken where rows are read one by one.
            Err(_) if helper.is_unwanted() => return Ok(Outcome::Alone(blocks)),
            // Perhaps nobody asks for more than the rows before it.
            Err(error) => batch.error = Some(error),
        }
        Ok(Outcome::Rows(batch))
    }

    /// As [`Work::read`], for one that isn't the session.
    fn read_as_helper(&self, blocks: Range<u32>, batch: Batch) -> Result<Outcome> {
        let meter = self.counts_pages.then(PageMeter::start);
        let mut outcome = catch_unwind(AssertUnwindSafe(|| self.read(blocks, batch, None)))
            .unwrap_or_else(|_| Err(Error::internal("a helper's part of a scan failed")));
        if let (Some(meter), Ok(Outcome::Rows(batch))) = (meter, &mut outcome) {
            batch.used = meter.read();
        }
        outcome
    }
}

impl Shareable for Work {
    fn help(&self) {
        let mut state = self.state.lock();
        while let Some((number, blocks, batch)) = self.claim(&mut state) {
            state.reading += 1;
            drop(state);
            let outcome = self.read_as_helper(blocks, batch);
            state = self.state.lock();
            state.reading -= 1;
            let waiting = state.put(number, outcome);
            drop(state);
            self.left.notify_all();
            if let Some(waiting) = waiting {
                waiting.wake();
            }
            state = self.state.lock();
        }
        state.helpers -= 1;
    }
}

/// An evaluator of filters for any thread.
struct Helper<'a> {
    work: &'a Work,
    /// The session, if that is who reads.
    session: Option<&'a ExecutionState>,
    case_operands: Vec<Value>,
    random: Option<RandomState>,
}

impl Helper<'_> {
    /// Whether the scan was given up, or the session has something else to look at first.
    fn is_unwanted(&self) -> bool {
        self.session.is_some_and(|session| session.interrupt().pending())
            || self.work.is_cancelled.load(Ordering::Relaxed)
    }
}

impl EvalContext for Helper<'_> {
    fn format(&self) -> &FormatSettings {
        &self.work.format
    }

    fn catalog(&self) -> &dyn CatalogLookup {
        &self.work.catalog
    }

    fn transaction_timestamp(&self) -> i64 {
        self.work.transaction_timestamp
    }

    fn statement_timestamp(&self) -> i64 {
        self.work.statement_timestamp
    }

    fn random(&mut self) -> &mut RandomState {
        self.random.get_or_insert_with(RandomState::from_entropy)
    }
}

impl<'a, 'p: 'a> Evaluator<'a, 'p> for Helper<'a> {
    fn parameters(&self) -> &'a [Value] {
        &self.work.parameters
    }

    fn case_operands(&mut self) -> &mut Vec<Value> {
        &mut self.case_operands
    }

    fn run(&mut self) -> Result<&mut Run<'a, 'p>> {
        Err(Error::internal("an expression that needs the session reached a helper"))
    }
}
