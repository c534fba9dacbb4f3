//! The commit loop on the simulated disk: the power fails anywhere, and what was acknowledged is there.
#![cfg(not(shuttle))]

mod support;

use std::path::Path;

use base::{Lsn, Xid};
use clog::{ClogUpdate, TransactionStatus};
use cohort_xact::{BeginOptions, CommitOutcome, SessionSlot};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use support::{
    DIR, Database, begin_writing, bury, checkpoint, commit_one, crash_at, create, for_each_seed, recover_at_last,
    shared, small_log, until_fail_stop, write,
};
use sync::{Mutex, thread};
use vfs::{Fault, SimulatedOptions, SimulatedVfs, Survival};
use wal::DelayPolicy;

/// A transaction whose commit was begun.
#[derive(Clone, Debug)]
struct Known {
    xid: Xid,
    /// Unknown while the commit is under way: it may have a place in the log, or not.
    csn: Option<Lsn>,
    children: Vec<Xid>,
    acknowledged: bool,
}

/// The outcomes that the database must show.
#[derive(Default)]
struct Ledger {
    commits: Vec<Known>,
    aborted: Vec<Xid>,
}

impl Ledger {
    fn begin_commit(&mut self, xid: Xid, children: Vec<Xid>) -> usize {
        self.commits.push(Known { xid, csn: None, children, acknowledged: false });
        self.commits.len() - 1
    }

    /// Holds a recovered database against the ledger, and forgets what was lost.
    fn check(&mut self, database: &Database) {
        self.commits.sort_by_key(|known| known.csn.unwrap_or(Lsn::MAX));
        let next_xid = database.manager.next_xid();
        let is_committed = |xid: Xid| matches!(database.status(xid), TransactionStatus::Committed(_)) && xid < next_xid;
        let mut lost: Option<Known> = None;
        for known in &self.commits {
            let committed = is_committed(known.xid);
            for child in &known.children {
                assert_eq!(is_committed(*child), committed, "half of {known:?} is there");
            }
            if committed {
                if let Some(lost) = &lost {
                    // Two whose places are unknown may have any order.
                    assert!(lost.csn.is_none() && known.csn.is_none(), "{lost:?} was lost, {known:?} was not");
                }
            } else {
                assert!(!known.acknowledged, "acknowledged and lost: {known:?}");
                lost.get_or_insert_with(|| known.clone());
            }
        }
        for xid in &self.aborted {
            assert!(!is_committed(*xid), "{xid:?} was rolled back and is there");
        }
        // From now on a commit that is there must stay there. The xid of a lost transaction may be given out again.
        self.commits.retain(|known| is_committed(known.xid));
        for known in &mut self.commits {
            known.acknowledged = true;
            known.csn.get_or_insert(Lsn::ZERO);
        }
        self.aborted.retain(|xid| *xid < next_xid);
    }
}

/// One session of the simulated process.
struct Client {
    session: SessionSlot,
    /// The transaction in progress: its subtransactions that will commit, and those undone.
    open: Option<(Xid, Vec<Xid>)>,
    /// Committed, the reply not yet sent.
    unsent: Option<(usize, CommitOutcome)>,
}

impl Client {
    fn step(&mut self, random: &mut StdRng, database: &Database, ledger: &mut Ledger) {
        if let Some((index, outcome)) = self.unsent.take() {
            if random.random_bool(0.7) {
                database.reply(&outcome);
                ledger.commits[index].acknowledged = true;
            }
            return;
        }
        let Some((top, children)) = &mut self.open else {
            let payload = vec![7; random.random_range(1..300)];
            let xid = begin_writing(&mut self.session, &payload);
            self.open = Some((xid, Vec::new()));
            return;
        };
        match random.random_range(0..10) {
            0..2 => write(&self.session, *top, &[8; 100]),
            2..5 => {
                let savepoint = self.session.savepoint();
                let sub = self.session.assign_xid().expect("xids are left");
                write(&self.session, sub, &[9; 30]);
                if random.random_bool(0.3) {
                    ledger.aborted.push(sub);
                    self.session.rollback_to(savepoint).expect("it is open");
                } else {
                    children.push(sub);
                }
                if random.random_bool(0.5) {
                    self.session.release(savepoint).expect("it is open");
                }
            }
            5 => {
                ledger.aborted.push(*top);
                ledger.aborted.append(children);
                self.open = None;
                self.session.abort();
            }
            _ => {
                let index = ledger.begin_commit(*top, std::mem::take(children));
                self.open = None;
                if random.random_bool(0.1) {
                    self.session.require_durable_commit();
                }
                let outcome = self.session.commit();
                ledger.commits[index].csn = outcome.csn;
                self.unsent = Some((index, outcome));
            }
        }
    }
}

// invariants: rows 1, 12, 25 and 31, as far as transactions go
#[test]
fn after_crashes_anywhere_acknowledged_transactions_are_there_and_the_rest_is_a_prefix() {
    for_each_seed(50, |seed| {
        let mut random = StdRng::seed_from_u64(seed);
        let mut disk = SimulatedVfs::new(seed);
        let mut ledger = Ledger::default();
        let (mut database, mut control) = create(&disk);
        for life in 0..5 {
            let mode = [ClogUpdate::Cohort, ClogUpdate::Group, ClogUpdate::Each][random.random_range(0..3)];
            database.manager.tuning().set_clog_update(mode);
            database.manager.tuning().set_early_lock_release(random.random_bool(0.8));
            crash_at(&disk, random.random_range(1..100));
            let mut clients: Vec<Client> = (0..random.random_range(1..6))
                .map(|_| Client { session: database.session(), open: None, unsent: None })
                .collect();
            for _ in 0..random.random_range(1..400) {
                let went_on = until_fail_stop(|| {
                    if random.random_ratio(1, 40) {
                        control = checkpoint(&database);
                        return;
                    }
                    let client = random.random_range(0..clients.len());
                    clients[client].step(&mut random, &database, &mut ledger);
                });
                if went_on.is_none() {
                    break;
                }
            }
            // The process is gone: what its sessions still try finds no disk.
            let kill = random.random_bool(0.2) && !disk.is_crashed();
            let next = SimulatedOptions::new(seed * 31 + life);
            disk = if kill { disk.kill() } else { disk.crash_with(next) };
            clients.into_iter().for_each(bury);
            bury(database);
            (database, disk) = recover_at_last(disk, control, &mut random);
            ledger.check(&database);
            // The next redo may begin here.
            control = checkpoint(&database);
        }
    });
}

/// The same with sessions on threads, which lead each other's flushes.
// invariants: row 1
#[test]
fn acknowledgements_from_many_threads_survive_a_crash() {
    for_each_seed(25, |seed| {
        let mut random = StdRng::seed_from_u64(seed);
        let disk = SimulatedVfs::new(seed);
        let (database, control) = create(&disk);
        if random.random_bool(0.3) {
            database.wal().start_flusher_thread();
        }
        let ledger = Mutex::new(Ledger::default());
        crash_at(&disk, random.random_range(1..60));
        thread::scope(|scope| {
            for _ in 0..random.random_range(2..5) {
                let (database, ledger) = (&database, &ledger);
                scope.spawn(move || {
                    let mut session = database.session();
                    let _ = until_fail_stop(|| {
                        for _ in 0..2000 {
                            let top = begin_writing(&mut session, b"payload");
                            session.savepoint();
                            let sub = session.assign_xid().expect("xids are left");
                            let index = ledger.lock().begin_commit(top, vec![sub]);
                            let outcome = session.commit();
                            ledger.lock().commits[index].csn = outcome.csn;
                            database.reply(&outcome);
                            ledger.lock().commits[index].acknowledged = true;
                        }
                    });
                    bury(session);
                });
            }
        });
        bury(database);
        let disk = disk.crash();
        let recovered = Database::recover(&shared(&disk), Path::new(DIR), control, small_log(), 32);
        let mut ledger = ledger.into_inner();
        ledger.check(&recovered.expect("recovery works"));
    });
}

// invariants: row 31
#[test]
fn a_checkpoint_between_a_commit_and_its_status_bits_loses_nothing() {
    for mode in [ClogUpdate::Cohort, ClogUpdate::Group, ClogUpdate::Each] {
        let disk = SimulatedVfs::new(1);
        let (database, _) = create(&disk);
        database.manager.tuning().set_clog_update(mode);
        let mut session = database.session();
        let (xid, outcome) = commit_one(&mut session, b"row");
        assert!(outcome.csn.is_some());
        thread::scope(|scope| {
            // The session replies late: with `group` and `each` the checkpoint must wait for it.
            let reply = scope.spawn(|| {
                thread::sleep(std::time::Duration::from_millis(20));
                database.reply(&outcome);
            });
            let control = checkpoint(&database);
            assert!(control.redo >= outcome.csn.unwrap());
            reply.join().unwrap();
            let disk = disk.survivor(SimulatedOptions { survival: Survival::Nothing, ..SimulatedOptions::new(1) });
            let recovered = Database::recover(&shared(&disk), Path::new(DIR), control, small_log(), 8).unwrap();
            assert!(matches!(recovered.status(xid), TransactionStatus::Committed(_)), "{mode:?}");
            assert_eq!(recovered.recovered.commits, 0, "redo didn't see it");
        });
    }
}

// invariants: row 12
#[test]
fn a_synchronous_commit_takes_its_asynchronous_predecessors_along() {
    let disk = SimulatedVfs::new(1);
    let (database, control) = create(&disk);
    let (mut asynchronous, mut synchronous) = (database.session(), database.session());
    let before: Vec<Xid> = (0..10).map(|_| commit_one(&mut asynchronous, b"async").0).collect();
    let (last, outcome) = commit_one(&mut synchronous, b"sync");
    database.reply(&outcome);
    let (late, _) = commit_one(&mut asynchronous, b"late");
    let disk = disk.survivor(SimulatedOptions { survival: Survival::Nothing, ..SimulatedOptions::new(1) });
    let recovered = Database::recover(&shared(&disk), Path::new(DIR), control, small_log(), 8).unwrap();
    for xid in before.into_iter().chain([last]) {
        assert!(matches!(recovered.status(xid), TransactionStatus::Committed(_)));
    }
    assert!(late >= recovered.manager.next_xid() || recovered.status(late) == TransactionStatus::Aborted);
}

// invariants: row 11: what a reader saw and replied is never lost, though it wrote nothing.
#[test]
fn what_a_read_only_transaction_told_survives() {
    for_each_seed(50, |seed| {
        let disk = SimulatedVfs::new(seed);
        let (database, control) = create(&disk);
        let (mut writer, mut reader) = (database.session(), database.session());
        let mut told = Vec::new();
        crash_at(&disk, 2 + seed % 40);
        let _ = until_fail_stop(|| {
            loop {
                // Nobody waits for the writer's commits.
                let (xid, _) = commit_one(&mut writer, b"row");
                reader.begin(BeginOptions::default());
                reader.take_snapshot();
                assert!(reader.ctx().sees_commit_of(xid));
                let outcome = reader.commit();
                assert_eq!(outcome.csn, None);
                database.wal().wait_durable(outcome.gate, DelayPolicy::NONE);
                told.push(xid);
            }
        });
        bury(writer);
        bury(reader);
        bury(database);
        let recovered = Database::recover(&shared(&disk.crash()), Path::new(DIR), control, small_log(), 8).unwrap();
        for xid in told {
            assert!(matches!(recovered.status(xid), TransactionStatus::Committed(_)), "{xid:?} was told and lost");
        }
    });
}

// invariants: row 6
#[test]
fn a_failed_sync_acknowledges_nothing_and_is_not_tried_again() {
    let disk = SimulatedVfs::new(1);
    let (database, _) = create(&disk);
    let mut session = database.session();
    disk.add_fault(Fault::FailSync(disk.syncs() + 1));
    let (_, outcome) = commit_one(&mut session, b"row");
    assert!(until_fail_stop(|| database.reply(&outcome)).is_none(), "the process ends");
    assert!(database.wal().durable() < outcome.csn.unwrap());
    assert!(until_fail_stop(|| database.reply(&outcome)).is_none());
    assert!(disk.is_crashed());
    bury(session);
    bury(database);
}

#[test]
fn a_commit_with_very_many_subtransactions_is_whole_or_absent() {
    for_each_seed(12, |seed| {
        let disk = SimulatedVfs::new(seed);
        let (database, mut control) = create(&disk);
        let mut session = database.session();
        let mut ledger = Ledger::default();
        crash_at(&disk, 10 + seed * 4);
        let _ = until_fail_stop(|| {
            for _ in 0..3 {
                let top = begin_writing(&mut session, b"many");
                let mut children = Vec::new();
                for _ in 0..5000 {
                    let savepoint = session.savepoint();
                    children.push(session.assign_xid().expect("xids are left"));
                    session.release(savepoint).expect("it is open");
                }
                let index = ledger.begin_commit(top, children);
                let outcome = session.commit();
                ledger.commits[index].csn = outcome.csn;
                if seed % 2 == 0 {
                    control = checkpoint(&database);
                }
                database.reply(&outcome);
                ledger.commits[index].acknowledged = true;
            }
        });
        bury(session);
        bury(database);
        let recovered = Database::recover(&shared(&disk.crash()), Path::new(DIR), control, small_log(), 8).unwrap();
        ledger.check(&recovered);
    });
}
