//! A session: transactions, rows, objects.
//!
//! One session is used by one thread at a time, which may change. Row operations take `&self`, so that scans can stay open
//! across them; what they change sits in cells. A wait inside a row operation may suspend the session's coroutine while
//! such a cell is borrowed: nobody else can reach it, and no row operation calls back into the session while it borrows.

mod check;
mod databases;
mod ddl;
mod dead_entries;
mod exports;
mod maintenance;
mod rows;
mod sequences;
mod serializable;
mod transaction;
mod twophase;

use std::cell::{Cell, RefCell};

use base::{Oid, Result, Tid};
use clog::{Snapshot, TxnCtx};
use lockmgr::{KeptTurn, LockMode, LockOptions, WaitPolicy};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;
use sync::{Interrupt, WaitReport};
use wal::DelayPolicy;
use xact::{SessionSlot, SnapshotHold};

pub use check::CheckSummary;
pub(crate) use maintenance::TEMPORARY_DIRECTORY;
pub use maintenance::{SampleSummary, VacuumOptions, VacuumSummary};
pub use rows::PossibleDuplicate;
pub use transaction::{PortalSnapshot, TransactionOptions};
pub use twophase::Finisher;

use crate::database::{Database, Shared, delay_policy};
use crate::table::Table;
use base::settings::words::SynchronousCommit;
use ddl::Ddl;
pub(crate) use exports::Exports;
use exports::OwnExports;
use schema::catalog::Catalog;
use schema::key::KeyBuffer;
use schema::row::RowBytes;
use sequences::SessionSequences;

/// One client's session. May move between threads, is used by one at a time.
///
/// ```
/// use cohort_engine::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, TableDef};
/// use cohort_engine::key::{KeyBuffer, PlainKeys};
/// use cohort_engine::row::{ColumnSet, Datum, PhysicalType, RowBytes};
/// use cohort_engine::{Database, OpenOptions, TransactionOptions};
///
/// # let directory = std::env::temp_dir().join(format!("cohort-doc-session-{}", std::process::id()));
/// # let _ = std::fs::remove_dir_all(&directory);
/// let database = Database::open(OpenOptions::new(&directory))?;
/// let mut session = database.session()?;
///
/// // Objects are made in transactions like rows.
/// session.begin(TransactionOptions::default())?;
/// let accounts = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "accounts", BOOTSTRAP_ROLE)
///     .column("id", PhysicalType::I32)
///     .column("balance", PhysicalType::I64);
/// let key = IndexDef::new(session.allocate_oid(), &accounts, "accounts_pkey", &[0], true);
/// session.create_object(accounts.clone())?;
/// session.create_object(key)?;
/// let table = session.open_table(accounts.oid)?;
/// session.begin_statement()?;
/// session.insert(&table, &[Datum::I32(1), Datum::I64(100)], &PlainKeys)?;
/// session.end_statement();
/// session.commit_and_wait()?; // durable, and visible to everybody
///
/// // A point update: find by key, write, commit.
/// let (mut key, mut row) = (KeyBuffer::new(), RowBytes::new());
/// key.push_i32(1);
/// session.begin(TransactionOptions::default())?;
/// session.begin_statement()?;
/// let tid = session.index_point(&table, 0, key.as_slice(), &mut row)?.expect("inserted above");
/// let Datum::I64(balance) = table.row(&row).get(1) else { unreachable!() };
/// let changed: ColumnSet = [1].into_iter().collect();
/// session.update(&table, tid, &[Datum::I32(1), Datum::I64(balance + 7)], &changed, &PlainKeys)?;
/// session.end_statement();
/// let gate = session.commit()?; // visible at once
/// session.ticket(gate).wait(); // durable
/// # drop((session, table));
/// # database.close()?;
/// # drop(database);
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), base::Error>(())
/// ```
pub struct Session {
    database: Database,
    /// The database that the session is in.
    database_oid: Oid,
    slot: RefCell<SessionSlot>,
    /// The running statements with their snapshots, innermost last; empty between statements.
    levels: RefCell<Vec<Level>>,
    /// The catalog used last, and the transaction's own changes.
    catalog: RefCell<Arc<Catalog>>,
    ddl: RefCell<Ddl>,
    tables: RefCell<FxHashMap<Oid, Arc<Table>>>,
    sequences: RefCell<SessionSequences>,
    /// Relation locks that the transaction is known to hold.
    locked: RefCell<SmallVec<[(Oid, LockMode); 4]>>,
    /// The turn that came with the last `Modify::Updated`. Its holder is let through first on the retry.
    turn: Cell<Option<TurnAtRow>>,
    /// Snapshots that the transaction has exported.
    exports: RefCell<OwnExports>,
    /// Numbers the values that this session moves out of rows.
    large_values: Cell<u32>,
    possible_duplicates: RefCell<Vec<PossibleDuplicate>>,
    /// Buffers that row operations take out and put back, so that they allocate nothing.
    scratch: Cell<Option<Box<Scratch>>>,
    synchronous_commit: Cell<bool>,
    delay: Cell<DelayPolicy>,
    lock_timeout: Cell<Option<std::time::Duration>>,
    deadlock_timeout: Cell<std::time::Duration>,
    interrupt: Arc<Interrupt>,
    wait_report: Arc<WaitReport>,
}

/// A turn set aside, and the version of the row at which the retry will be.
struct TurnAtRow {
    relation: Oid,
    tid: Tid,
    turn: KeptTurn,
}

/// A statement under way: what it sees, and the hold that keeps it while a statement inside it runs.
struct Level {
    snapshot: Snapshot,
    hold: Option<SnapshotHold>,
}

/// Buffers of one row operation.
#[derive(Default)]
struct Scratch {
    payload: Vec<u8>,
    old: RowBytes,
    key: KeyBuffer,
    old_key: KeyBuffer,
}

impl Session {
    pub(crate) fn new(database: Database, database_oid: Oid) -> Result<Session> {
        let interrupt = Arc::new(Interrupt::new());
        let slot = database.shared.transactions.register_session(interrupt.clone())?;
        let settings = database.settings();
        let deadlock_ms = crate::database::integer(settings, base::settings::Id::DeadlockTimeout).max(1) as u64;
        let synchronous_commit =
            settings.get(base::settings::Id::SynchronousCommit).word::<SynchronousCommit>() != SynchronousCommit::Off;
        let session = Session {
            slot: RefCell::new(slot),
            levels: RefCell::new(Vec::new()),
            catalog: RefCell::new(Arc::clone(database.catalogs().of(database_oid))),
            ddl: RefCell::new(Ddl::default()),
            tables: RefCell::new(FxHashMap::default()),
            sequences: RefCell::new(SessionSequences::default()),
            locked: RefCell::new(SmallVec::new()),
            turn: Cell::new(None),
            exports: RefCell::new(OwnExports::default()),
            large_values: Cell::new(0),
            possible_duplicates: RefCell::default(),
            scratch: Cell::new(None),
            synchronous_commit: Cell::new(synchronous_commit),
            delay: Cell::new(delay_policy(settings)),
            lock_timeout: Cell::new(None),
            deadlock_timeout: Cell::new(std::time::Duration::from_millis(deadlock_ms)),
            interrupt,
            wait_report: Arc::default(),
            database,
            database_oid,
        };
        session.apply_settings();
        // It answers from that catalog before it looks for a newer one.
        session.observe(session.catalog.borrow().csn());
        Ok(session)
    }

    /// The database that the session is in.
    pub fn database_oid(&self) -> Oid {
        self.database_oid
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        &self.database.shared
    }

    /// Lets others run if the session has kept its thread for long enough.
    ///
    /// # Errors
    /// A pending interrupt: 57014, 57P01 and their kin.
    #[inline]
    pub(crate) fn yield_point(&self) -> Result<()> {
        sync::let_others_run();
        self.interrupt.check()
    }

    /// Runs `f` with the statement's context.
    #[inline]
    pub(crate) fn with_ctx<R>(&self, f: impl FnOnce(&TxnCtx<'_>) -> R) -> R {
        let slot = self.slot.borrow();
        let mut ctx = slot.ctx();
        if let Some(level) = self.levels.borrow().last() {
            ctx.snapshot = level.snapshot;
            // A function of the statement may have written, which advances the command number. Later writes of the
            // statement still belong to the statement's own command.
            ctx.command = level.snapshot.command;
        }
        f(&ctx)
    }

    /// Runs `f` with a context that sees the latest commits, for the catalog.
    fn with_latest_ctx<R>(&self, f: impl FnOnce(&TxnCtx<'_>) -> R) -> R {
        let slot = self.slot.borrow();
        let ctx = slot.latest_ctx();
        f(&ctx)
    }

    fn lock_options(&self, wait: WaitPolicy) -> LockOptions<'_> {
        let mut options = LockOptions::new(&self.interrupt).policy(wait);
        options.lock_timeout = self.lock_timeout.get();
        options.deadlock_timeout = self.deadlock_timeout.get();
        options
    }

    fn take_scratch(&self) -> Box<Scratch> {
        self.scratch.take().unwrap_or_default()
    }

    fn put_scratch(&self, scratch: Box<Scratch>) {
        self.scratch.set(Some(scratch));
    }

    fn apply_settings(&self) {
        let mut slot = self.slot.borrow_mut();
        slot.set_timeouts(self.lock_timeout.get(), self.deadlock_timeout.get());
        slot.set_commit_options(self.synchronous_commit.get(), self.delay.get());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The slot aborts what is in progress; a turn set aside must not keep the row's queue asleep.
        self.give_up_turn();
        self.withdraw_exports();
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({:?})", self.owner())
    }
}
