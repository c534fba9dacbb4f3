//! Two-phase commit on the simulated disk: prepared transactions survive anything, and end as they were told to.
#![cfg(not(shuttle))]

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Oid, OwnerId, Xid, sqlstate};
use clog::TransactionStatus;
use cohort_xact::twophase::{Gid, PrepareOptions, TwophaseState};
use cohort_xact::{BeginOptions, CommitOutcome, Isolation, SessionSlot, TransactionState};
use lockmgr::{AdvisoryKey, Granted, LockMode, LockOptions, LockTag, WaitPolicy};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use support::{
    DIR, Database, PREPARED_MAX, begin_writing, bury, checkpoint, crash_at, create, for_each_seed, recover_at_last,
    shared, small_log, until_fail_stop, write,
};
use sync::{Arc, Interrupt};
use vfs::{Fault, HookedCall, SimulatedOptions, SimulatedVfs, Survival, Vfs};
use wal::DelayPolicy;

fn gid(name: &str) -> Gid {
    Gid::new(name).expect("it is short")
}

fn prepare(session: &mut SessionSlot, name: &str) -> base::Result<base::Lsn> {
    session.prepare(&PrepareOptions { gid: gid(name), role: Oid(10), database: Oid(5) })
}

fn durable(database: &Database, lsn: base::Lsn) {
    database.wal().wait_durable(lsn, DelayPolicy::NONE);
}

fn commit_prepared(database: &Database, session: &mut SessionSlot, name: &str) -> base::Result<CommitOutcome> {
    let claimed = database.manager.claim_prepared(&gid(name), |_| Ok(()))?;
    Ok(session.commit_prepared(claimed))
}

fn rollback_prepared(database: &Database, session: &mut SessionSlot, name: &str) -> base::Result<base::Lsn> {
    let claimed = database.manager.claim_prepared(&gid(name), |_| Ok(()))?;
    Ok(session.rollback_prepared(claimed))
}

fn lock(database: &Database, owner: OwnerId, key: i64) -> base::Result<Granted> {
    let interrupt = Interrupt::new();
    let options = LockOptions::new(&interrupt).policy(WaitPolicy::Skip);
    let tag = LockTag::Advisory(AdvisoryKey::One(key));
    database.manager.locks().lock(owner, tag, LockMode::Exclusive, &options)
}

/// A client's knowledge of one prepared transaction.
#[derive(Debug)]
struct Known {
    name: String,
    xid: Xid,
    children: Vec<Xid>,
    /// The advisory lock it holds.
    key: i64,
    prepared: bool,
    /// Whether its commit or rollback was asked for, and acknowledged.
    finish: Option<(bool, bool)>,
}

impl Known {
    /// Holds it against a recovered database. True: it is still prepared.
    fn check(&self, database: &Database) -> bool {
        let is_prepared = database.manager.prepared_transactions().iter().any(|found| {
            found.xid == self.xid
                && found.gid.as_str() == self.name
                && (found.role, found.database) == (Oid(10), Oid(5))
        });
        // One that was given out again after a crash is another transaction.
        let status = |xid| match database.status(xid) {
            _ if xid >= database.manager.next_xid() => TransactionStatus::Aborted,
            TransactionStatus::Committed(_) => TransactionStatus::Committed(base::Lsn::ZERO),
            status => status,
        };
        let found = status(self.xid);
        for child in &self.children {
            assert_eq!(status(*child), found, "half of {self:?} is {found:?}");
        }
        let mut observer = database.session();
        observer.begin(BeginOptions::default());
        let is_free = lock(database, observer.owner(), self.key).unwrap() == Granted::Acquired;
        assert_eq!(is_free, !is_prepared, "lock of {self:?}");
        observer.abort();
        match found {
            TransactionStatus::InProgress => {
                assert!(is_prepared, "neither prepared nor finished: {self:?}");
                assert!(!matches!(self.finish, Some((_, true))), "a finish was lost: {self:?}");
            }
            TransactionStatus::Committed(_) => {
                assert!(!is_prepared && matches!(self.finish, Some((true, _))), "committed: {self:?}");
            }
            TransactionStatus::Aborted => {
                assert!(!is_prepared, "{self:?}");
                assert!(!self.prepared || matches!(self.finish, Some((false, _))), "lost: {self:?}");
            }
        }
        is_prepared
    }
}

#[derive(Default)]
struct Ledger {
    known: Vec<Known>,
    names: u32,
}

fn step(database: &Database, sessions: &mut [SessionSlot], random: &mut StdRng, ledger: &mut Ledger) {
    let session = random.random_range(0..sessions.len());
    let session = &mut sessions[session];
    let open: Vec<usize> = (0..ledger.known.len()).filter(|index| ledger.known[*index].finish.is_none()).collect();
    if open.len() == PREPARED_MAX as usize || (!open.is_empty() && random.random_bool(0.5)) {
        let index = open[random.random_range(0..open.len())];
        let (commit, reply) = (random.random_bool(0.6), random.random_bool(0.8));
        ledger.known[index].finish = Some((commit, false));
        let name = ledger.known[index].name.clone();
        if commit {
            let Ok(outcome) = commit_prepared(database, session, &name) else { return };
            if reply {
                database.reply(&outcome);
            }
        } else if rollback_prepared(database, session, &name).is_err() {
            return;
        }
        ledger.known[index].finish = Some((commit, reply || !commit));
        return;
    }
    let xid = begin_writing(session, &[7; 40]);
    let mut children = Vec::new();
    for _ in 0..random.random_range(0..3) {
        session.savepoint();
        let child = session.assign_xid().expect("xids are left");
        write(session, child, &[9; 30]);
        children.push(child);
    }
    if random.random_bool(0.2) {
        // A plain one in between.
        let outcome = session.commit();
        database.reply(&outcome);
        return;
    }
    ledger.names += 1;
    let (name, key) = (format!("number {}", ledger.names), i64::from(ledger.names));
    assert_eq!(lock(database, session.owner(), key).unwrap(), Granted::Acquired);
    // One that is lost leaves its xid to others.
    ledger.known.retain(|known| known.xid != xid && !known.children.contains(&xid));
    ledger.known.push(Known { name: name.clone(), xid, children, key, prepared: false, finish: None });
    // Under `file` a disk that is gone is noticed before there is a record.
    let Ok(end) = prepare(session, &name) else { return };
    if random.random_bool(0.8) {
        durable(database, end);
        ledger.known.last_mut().expect("pushed above").prepared = true;
    }
}

// invariants: rows 1, 2, 13, 21 and 25, as far as prepared transactions go
#[test]
fn prepared_transactions_survive_crashes_anywhere_and_end_as_told() {
    for_each_seed(60, |seed| {
        let mut random = StdRng::seed_from_u64(seed);
        let mut disk = SimulatedVfs::new(seed);
        let mut ledger = Ledger::default();
        let (mut database, mut control) = create(&disk);
        for life in 0..5 {
            let state = [TwophaseState::Memory, TwophaseState::Wal, TwophaseState::File][random.random_range(0..3)];
            database.manager.set_twophase_state(state);
            database.manager.tuning().set_early_lock_release(random.random_bool(0.8));
            crash_at(&disk, random.random_range(1..150));
            let mut sessions: Vec<SessionSlot> = (0..3).map(|_| database.session()).collect();
            for _ in 0..random.random_range(1..200) {
                let went_on = until_fail_stop(|| {
                    if random.random_ratio(1, 15) {
                        control = checkpoint(&database);
                    } else {
                        step(&database, &mut sessions, &mut random, &mut ledger);
                    }
                });
                if went_on.is_none() || disk.is_crashed() {
                    break;
                }
                assert!(sessions.iter().all(|session| session.state() == TransactionState::Idle), "a step failed");
            }
            let kill = random.random_bool(0.2) && !disk.is_crashed();
            disk = if kill { disk.kill() } else { disk.crash_with(SimulatedOptions::new(seed * 31 + life)) };
            sessions.into_iter().for_each(bury);
            bury(database);
            (database, disk) = recover_at_last(disk, control, &mut random);
            ledger.known.retain(|known| known.check(&database));
            for known in &mut ledger.known {
                (known.prepared, known.finish) = (true, None);
            }
            assert_eq!(database.manager.prepared_transactions().len(), ledger.known.len(), "others are prepared");
            control = checkpoint(&database);
        }
    });
}

// invariants: row 21
#[test]
fn every_order_of_three_ends_as_told_though_a_crash_follows_each_prepare() {
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let crash = |database: Database, disk: &SimulatedVfs, control| {
        let next = disk.survivor(SimulatedOptions { survival: Survival::Nothing, ..SimulatedOptions::new(1) });
        bury(database);
        let database = Database::recover(&shared(&next), Path::new(DIR), control, small_log(), 8).unwrap();
        (database, next)
    };
    for (case, order) in ORDERS.iter().enumerate() {
        for saved in [false, true] {
            let mut disk = SimulatedVfs::new(1);
            let (mut database, mut control) = create(&disk);
            let mut xids = Vec::new();
            for name in ["a", "b", "c"] {
                let mut session = database.session();
                xids.push(begin_writing(&mut session, b"row"));
                let end = prepare(&mut session, name).unwrap();
                durable(&database, end);
                bury(session);
                if saved {
                    control = checkpoint(&database);
                }
                (database, disk) = crash(database, &disk, control);
            }
            for (position, &which) in order.iter().enumerate() {
                let commits = (case + position).is_multiple_of(2);
                let name = ["a", "b", "c"][which];
                let mut session = database.session();
                if commits {
                    let outcome = commit_prepared(&database, &mut session, name).unwrap();
                    database.reply(&outcome);
                } else {
                    rollback_prepared(&database, &mut session, name).unwrap();
                }
                let again = rollback_prepared(&database, &mut session, name).unwrap_err();
                assert_eq!(again.sqlstate(), sqlstate::UNDEFINED_OBJECT);
                bury(session);
                (database, disk) = crash(database, &disk, control);
                let left = database.manager.prepared_transactions();
                assert_eq!(left.len(), 2 - position);
                assert_eq!(matches!(database.status(xids[which]), TransactionStatus::Committed(_)), commits);
            }
        }
    }
}

#[test]
fn a_name_is_one_transactions_until_it_is_finished() {
    let database = Database::new();
    let (mut one, mut other) = (database.session(), database.session());
    begin_writing(&mut one, b"row");
    let before = one.owner();
    prepare(&mut one, "x").unwrap();
    assert_ne!(one.owner(), before, "the transaction keeps its number");
    begin_writing(&mut other, b"row");
    assert_eq!(prepare(&mut other, "x").unwrap_err().sqlstate(), sqlstate::DUPLICATE_OBJECT);
    other.abort();
    let claimed = database.manager.claim_prepared(&gid("x"), |_| Ok(())).unwrap();
    let busy = database.manager.claim_prepared(&gid("x"), |_| Ok(())).err().unwrap();
    assert_eq!(busy.message(), "prepared transaction with identifier \"x\" is busy");
    drop(claimed);
    let outcome = commit_prepared(&database, &mut other, "x").unwrap();
    database.reply(&outcome);
    begin_writing(&mut other, b"row");
    prepare(&mut other, "x").unwrap();
    rollback_prepared(&database, &mut one, "x").unwrap();
    assert!(database.manager.prepared_transactions().is_empty());
}

#[test]
fn there_are_at_most_as_many_as_allowed_and_sessions_find_room_besides() {
    let database = Database::with_options(wal::WalOptions { fsync: false, ..small_log() }, 2);
    let (mut one, mut other) = (database.session(), database.session());
    for number in 0..PREPARED_MAX {
        begin_writing(&mut one, b"row");
        prepare(&mut one, &number.to_string()).unwrap();
    }
    begin_writing(&mut other, b"row");
    let full = prepare(&mut other, "more").unwrap_err();
    assert_eq!(full.sqlstate(), sqlstate::OUT_OF_MEMORY);
    assert!(database.manager.register_session(sync::Arc::new(Interrupt::new())).is_err(), "two sessions are allowed");
    other.abort();
    for number in 0..PREPARED_MAX {
        rollback_prepared(&database, &mut other, &number.to_string()).unwrap();
    }
    drop((one, other));
    database.session();
}

/// Session-level locks stay with the session.
#[test]
fn session_locks_stay_with_the_session() {
    let database = Database::new();
    let (mut one, other) = (database.session(), database.session());
    let interrupt = Interrupt::new();
    let tag = |key| LockTag::Advisory(AdvisoryKey::One(key));
    let for_session = LockOptions::new(&interrupt).policy(WaitPolicy::Skip).for_session();
    database.manager.locks().lock(one.owner(), tag(1), LockMode::Exclusive, &for_session).unwrap();
    begin_writing(&mut one, b"row");
    lock(&database, one.owner(), 2).unwrap();
    prepare(&mut one, "x").unwrap();
    assert_eq!(lock(&database, other.owner(), 1).unwrap(), Granted::Skipped);
    assert!(database.manager.locks().unlock(one.owner(), tag(1), LockMode::Exclusive));
    assert_eq!(lock(&database, other.owner(), 1).unwrap(), Granted::Acquired);
    assert_eq!(lock(&database, other.owner(), 2).unwrap(), Granted::Skipped);
    // Both at once could not part.
    database.manager.locks().lock(one.owner(), tag(3), LockMode::Exclusive, &for_session).unwrap();
    begin_writing(&mut one, b"row");
    lock(&database, one.owner(), 3).unwrap();
    assert_eq!(prepare(&mut one, "y").unwrap_err().sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED);
    one.abort();
    rollback_prepared(&database, &mut one, "x").unwrap();
    assert_eq!(lock(&database, other.owner(), 2).unwrap(), Granted::Acquired);
    database.manager.locks().unlock_all(other.owner(), lockmgr::Scope::Session);
}

#[test]
fn a_damaged_saved_state_stops_the_start() {
    let disk = SimulatedVfs::new(1);
    let (database, _) = create(&disk);
    let mut session = database.session();
    let xid = begin_writing(&mut session, b"row");
    let end = prepare(&mut session, "x").unwrap();
    durable(&database, end);
    let control = checkpoint(&database);
    let vfs = shared(&disk);
    let path = Path::new(DIR).join("twophase").join(format!("{:016X}", xid.0));
    let file = vfs.open(&path, vfs::OpenMode::ReadWrite).unwrap();
    file.write_all_at(&[0xEE], 40).unwrap();
    file.sync_all().unwrap();
    let next = disk.crash();
    bury((session, database));
    let error = Database::recover(&shared(&next), Path::new(DIR), control, small_log(), 8).err().unwrap();
    assert_eq!(error.sqlstate(), sqlstate::DATA_CORRUPTED);
    assert!(error.message().contains("prepared transaction"), "{error}");
}

/// Even a transaction that has only read.
#[test]
fn a_read_only_transaction_can_be_prepared() {
    let database = Database::new();
    let mut session = database.session();
    session.begin(BeginOptions { isolation: Isolation::Serializable, read_only: true, deferrable: false });
    session.take_snapshot();
    prepare(&mut session, "reader").unwrap();
    let outcome = commit_prepared(&database, &mut session, "reader").unwrap();
    database.reply(&outcome);
    assert!(outcome.csn.is_some());
}

/// If a write or sync fails while a checkpoint saves a prepared transaction, the checkpoint saves it anyway or the process
/// ends. Nothing is lost in either case.
// invariants: row 7
#[test]
fn a_disk_that_fails_while_a_prepared_transaction_is_saved_loses_nothing() {
    let mut ended = 0;
    for fault in 0..5 {
        for call in 0..40 {
            let disk = SimulatedVfs::new(1);
            let (database, control) = create(&disk);
            let mut session = database.session();
            let xid = begin_writing(&mut session, b"row");
            let end = prepare(&mut session, "x").unwrap();
            durable(&database, end);
            let (write, sync) = (disk.writes() + call, disk.syncs() + call);
            disk.add_fault(match fault {
                0 => Fault::NoSpaceFromWrite(write),
                1 => Fault::FailWrite(write),
                2 => Fault::ShortWrite(write),
                3 => Fault::InterruptedWrite(write),
                _ => Fault::FailSync(sync),
            });
            let checkpointed = until_fail_stop(|| checkpoint(&database));
            ended += u32::from(checkpointed.is_none());
            disk.clear_faults();
            let next = disk.survivor(SimulatedOptions { survival: Survival::Nothing, ..SimulatedOptions::new(1) });
            bury((session, database));
            let from = checkpointed.unwrap_or(control);
            let recovered = Database::recover(&shared(&next), Path::new(DIR), from, small_log(), 8).unwrap();
            assert_eq!(recovered.status(xid), TransactionStatus::InProgress, "fault {fault} at call {call}");
            assert_eq!(recovered.manager.prepared_transactions().len(), 1);
        }
    }
    assert!(ended > 0, "no fault came while it was saved");
}

/// Under `file` a full disk is noticed before there is a record: an error, and a transaction to be rolled back.
// invariants: row 7
#[test]
fn a_state_file_that_cannot_be_written_is_an_error() {
    let disk = SimulatedVfs::new(1);
    let (database, _) = create(&disk);
    database.manager.set_twophase_state(TwophaseState::File);
    let mut session = database.session();
    let xid = begin_writing(&mut session, b"row");
    disk.add_fault(Fault::NoSpaceFromWrite(disk.writes() + 1));
    let error = prepare(&mut session, "x").unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::DISK_FULL, "{error}");
    disk.clear_faults();
    session.abort();
    assert_eq!(database.status(xid), TransactionStatus::Aborted);
    assert!(database.manager.prepared_transactions().is_empty());
    begin_writing(&mut session, b"row");
    prepare(&mut session, "x").unwrap();
    let outcome = commit_prepared(&database, &mut session, "x").unwrap();
    database.reply(&outcome);
}

// invariants: row 13
#[test]
fn a_prepared_transaction_is_finished_though_a_checkpoint_lets_its_record_go_meanwhile() {
    let disk = SimulatedVfs::new(1);
    let database = Arc::new(create(&disk).0);
    database.manager.set_twophase_state(TwophaseState::Wal);
    let mut session = database.session();
    let xid = begin_writing(&mut session, b"row");
    let end = prepare(&mut session, "x").unwrap();
    durable(&database, end);
    // Between the look at where the state is and the reading of it.
    let is_over = AtomicBool::new(false);
    disk.set_hook({
        let (disk, database) = (disk.clone(), database.clone());
        move |call| match call {
            HookedCall::Open(path) if path.starts_with("/data/wal") && !is_over.swap(true, Ordering::SeqCst) => {
                checkpoint(&database);
                disk.remove_file(path).unwrap();
            }
            _ => {}
        }
    });
    let outcome = commit_prepared(&database, &mut session, "x").unwrap();
    database.reply(&outcome);
    assert!(matches!(database.status(xid), TransactionStatus::Committed(_)));
}
