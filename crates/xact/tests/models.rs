//! Commit order, snapshots and checkpoints under every order of steps that a random scheduler finds:
//! `RUSTFLAGS="--cfg shuttle" cargo test -p cohort-xact --release`.
//!
//! `COHORT_MODEL_ITERATIONS` says how many executions each model gets.
#![cfg(shuttle)]

mod support;

use std::path::Path;

use base::{FileNumber, Lsn, Oid, Xid, sqlstate};
use buffer::{BufferPool, BufferPoolOptions, DoubleWrite, DoubleWriteOptions, FileRemovals};
use clog::{ClogBits, ClogUpdate, TransactionStatus};
use cohort_xact::twophase::{ClaimedTransaction, Gid, PrepareOptions, TwophaseState};
use cohort_xact::{BeginOptions, SessionSlot, XactRecord};
use support::{DIR, Database, REPEATABLE_READ, begin_writing, checkpoint, commit_one, create, shared, small_log};
use sync::{Arc, Mutex, thread};
use vfs::{SimulatedOptions, SimulatedVfs, Survival, Vfs};
use wal::{DelayPolicy, RecordHead, RmgrId};

fn check(usual: usize, model: impl Fn() + Send + Sync + 'static) {
    let iterations =
        std::env::var("COHORT_MODEL_ITERATIONS").map_or(usual, |text| text.parse().expect("a number of executions"));
    let model = Arc::new(model);
    let again = model.clone();
    let mut config = shuttle::Config::new();
    config.max_steps = shuttle::MaxSteps::FailAfter(5_000_000);
    config.stack_size = 256 << 10;
    let random = shuttle::scheduler::RandomScheduler::new(iterations);
    shuttle::Runner::new(random, config.clone()).run(move || model());
    let priorities = shuttle::scheduler::PctScheduler::new(3, iterations);
    shuttle::Runner::new(priorities, config).run(move || again());
}

fn database() -> Arc<Database> {
    let vfs: Arc<dyn Vfs> = Arc::new(SimulatedVfs::new(1));
    Arc::new(Database::create(&vfs, Path::new(DIR), small_log(), 8))
}

fn join_all(threads: Vec<thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Two committers, one of them with a subtransaction, and a reader that looks at everything twice.
fn stable_snapshots(early_lock_release: bool) {
    let database = database();
    database.manager.tuning().set_early_lock_release(early_lock_release);
    let known: Arc<Mutex<Vec<Xid>>> = Arc::default();
    let mut threads: Vec<_> = (0..2)
        .map(|number| {
            let (database, known) = (database.clone(), known.clone());
            thread::spawn(move || {
                let mut session = database.session();
                for _ in 0..2 {
                    let top = begin_writing(&mut session, b"row");
                    known.lock().push(top);
                    if number == 0 {
                        session.savepoint();
                        let sub = session.assign_xid().unwrap();
                        known.lock().push(sub);
                    }
                    let csn = session.commit().csn.unwrap();
                    assert_eq!(database.status(top), TransactionStatus::Committed(csn));
                    assert!(database.manager.horizon() >= csn, "own commits are seen");
                }
            })
        })
        .collect();
    threads.push(thread::spawn({
        let (database, known) = (database.clone(), known.clone());
        move || {
            let mut session = database.session();
            let mut last = Lsn::ZERO;
            for _ in 0..2 {
                session.begin(REPEATABLE_READ);
                let snapshot = session.take_snapshot();
                assert!(snapshot >= last, "the horizon is monotone");
                last = snapshot;
                let all = known.lock().clone();
                let look = || all.iter().map(|xid| session.ctx().sees_commit_of(*xid)).collect::<Vec<bool>>();
                let seen = look();
                thread::yield_now();
                assert_eq!(look(), seen, "a snapshot is stable");
                for (xid, seen) in all.iter().zip(seen) {
                    match database.status(*xid) {
                        TransactionStatus::Committed(csn) => assert_eq!(csn <= snapshot, seen, "gap-free"),
                        _ => assert!(!seen),
                    }
                }
                let _ = session.commit();
            }
        }
    }));
    join_all(threads);
}

// invariants: row 15
#[test]
fn snapshots_are_stable_and_the_horizon_has_no_gaps() {
    check(400, || stable_snapshots(true));
}

// invariants: row 15
#[test]
fn so_they_are_when_commits_become_visible_at_the_disk() {
    check(300, || stable_snapshots(false));
}

// invariants: row 15
#[test]
fn so_they_are_when_the_setting_changes_meanwhile() {
    check(300, toggling_while_committing);
}

fn toggling_while_committing() {
    let database = database();
    database.manager.tuning().set_early_lock_release(false);
    let mut threads: Vec<_> = (0..3)
        .map(|_| {
            let database = database.clone();
            thread::spawn(move || {
                let mut session = database.session();
                let (xid, outcome) = commit_one(&mut session, b"row");
                let csn = outcome.csn.unwrap();
                assert_eq!(database.status(xid), TransactionStatus::Committed(csn));
                assert!(database.manager.horizon() >= csn);
            })
        })
        .collect();
    threads.push(thread::spawn({
        let database = database.clone();
        move || {
            database.manager.tuning().set_early_lock_release(true);
            let before = database.manager.horizon();
            assert!(database.manager.horizon() >= before);
        }
    }));
    join_all(threads);
    database.settle();
    assert_eq!(database.manager.unretired(), 0);
}

/// One thread commits, by itself or as COMMIT PREPARED; another looks at everything that a commit changes. If any of it
/// shows the commit, an answer made of it must wait for the commit's record.
fn telling_of_a_commit(early_lock_release: bool, is_prepared: bool) {
    let database = database();
    database.manager.tuning().set_early_lock_release(early_lock_release);
    let mut session = database.session();
    let version = database.manager.catalog_version();
    let xid = begin_writing(&mut session, b"row");
    session.raise_catalog_version();
    if is_prepared {
        let options = PrepareOptions { gid: Gid::new("x").unwrap(), role: Oid(10), database: Oid(5) };
        let _ = session.prepare(&options).unwrap();
    }
    let committer = thread::spawn({
        let database = database.clone();
        move || match is_prepared {
            true => session.commit_prepared(claim(&database, "x").unwrap()).csn.unwrap(),
            false => session.commit().csn.unwrap(),
        }
    });
    let teller = thread::spawn({
        let database = database.clone();
        move || {
            let manager = &database.manager;
            let looks: [&dyn Fn() -> bool; 4] = [
                &|| matches!(database.status(xid), TransactionStatus::Committed(_)),
                &|| manager.catalog_version() > version,
                &|| manager.running().iter().all(|running| running.xid != xid),
                &|| is_prepared && manager.prepared_transactions().is_empty(),
            ];
            let mut told = Vec::new();
            for look in looks.iter().cycle().take(12) {
                let shows_commit = look();
                let gate = manager.newest_commit();
                if shows_commit {
                    told.push(gate);
                }
            }
            told
        }
    });
    let csn = committer.join().unwrap();
    for gate in teller.join().unwrap() {
        assert!(gate >= csn, "told of the commit at {csn}, waiting for {gate} only");
    }
}

// invariants: row 11
#[test]
fn an_answer_that_shows_a_commit_waits_for_it() {
    for (early_lock_release, is_prepared) in [(true, false), (true, true), (false, false), (false, true)] {
        check(300, move || telling_of_a_commit(early_lock_release, is_prepared));
    }
}

// invariants: rows 13 and 31, as far as commits and aborts go
#[test]
fn a_checkpoint_finds_the_bits_of_all_that_ended_below_it() {
    for mode in [ClogUpdate::Cohort, ClogUpdate::Group, ClogUpdate::Each] {
        check(120, move || {
            let database = database();
            database.manager.tuning().set_clog_update(mode);
            let mut threads: Vec<_> = (0..2)
                .map(|number| {
                    let database = database.clone();
                    thread::spawn(move || {
                        let mut session = database.session();
                        let (_, outcome) = commit_one(&mut session, b"row");
                        if number == 0 {
                            database.wal().wait_durable(outcome.gate, DelayPolicy::NONE);
                            database.manager.complete(&outcome);
                        }
                        begin_writing(&mut session, b"row");
                        session.abort();
                    })
                })
                .collect();
            threads.push(thread::spawn({
                let database = database.clone();
                move || {
                    let redo = database.manager.take_redo_point(|redo| redo);
                    database.manager.checkpoint_barrier(redo);
                    check_bits(&database, redo);
                }
            }));
            join_all(threads);
            database.settle();
            assert_eq!(database.manager.unretired(), 0);
            check_bits(&database, database.wal().reserved());
        });
    }
}

/// Whose end lies below `upto` in the log has its bits.
fn check_bits(database: &Database, upto: Lsn) {
    let mut reader = database.wal().reader(Lsn(small_log().segment_size_bytes)).unwrap();
    while let Some(record) = reader.next().unwrap() {
        if record.head.rmgr != RmgrId::XACT || record.end > upto {
            continue;
        }
        let bits = match XactRecord::decode(&record).unwrap() {
            XactRecord::Commit(_) => ClogBits::Committed,
            _ => ClogBits::Aborted,
        };
        let xid = record.head.xid;
        assert_eq!(database.manager.status().clog().get(xid).unwrap(), bits, "{xid:?} ended at {}", record.end);
    }
}

// invariants: row 8
#[test]
fn every_committer_ends_and_every_commit_is_retired_without_further_traffic() {
    check(300, || {
        let database = database();
        let threads = (0..3)
            .map(|_| {
                let database = database.clone();
                thread::spawn(move || {
                    let mut session = database.session();
                    let (_, outcome) = commit_one(&mut session, b"row");
                    database.reply(&outcome);
                    assert!(database.wal().durable() >= outcome.csn.unwrap());
                })
            })
            .collect();
        join_all(threads);
        assert_eq!(database.manager.unretired(), 0);
        assert_eq!(database.manager.oldest_running_xid(), database.manager.next_xid());
    });
}

#[test]
fn the_oldest_running_xid_is_never_above_one_that_runs() {
    check(300, || {
        let database = database();
        let mut threads: Vec<_> = (0..2)
            .map(|_| {
                let database = database.clone();
                thread::spawn(move || {
                    let mut session = database.session();
                    session.begin(BeginOptions::default());
                    let xid = session.assign_xid().unwrap();
                    assert!(database.manager.oldest_running_xid() <= xid);
                    session.abort();
                })
            })
            .collect();
        threads.push(thread::spawn({
            let database = database.clone();
            move || {
                let oldest = database.manager.oldest_running_xid();
                for running in database.manager.running() {
                    assert!(oldest <= running.xid);
                }
            }
        }));
        join_all(threads);
    });
}

fn prepare(session: &mut SessionSlot, name: &str) -> Lsn {
    begin_writing(session, b"row");
    let options = PrepareOptions { gid: Gid::new(name).unwrap(), role: Oid(10), database: Oid(5) };
    session.prepare(&options).unwrap()
}

fn claim(database: &Database, name: &str) -> base::Result<ClaimedTransaction> {
    database.manager.claim_prepared(&Gid::new(name).unwrap(), |_| Ok(()))
}

/// Lets `body` race a checkpoint, and recovers from that checkpoint what was synced. `names` were prepared before.
fn race_a_checkpoint(state: TwophaseState, names: &[&str], body: fn(&Database, &mut SessionSlot)) -> Database {
    let disk = SimulatedVfs::new(1);
    let (database, _) = create(&disk);
    let database = Arc::new(database);
    database.manager.set_twophase_state(state);
    let mut session = database.session();
    for name in names {
        prepare(&mut session, name);
    }
    database.settle();
    let other = thread::spawn({
        let database = database.clone();
        move || {
            body(&database, &mut session);
            drop(session);
        }
    });
    let control = checkpoint(&database);
    other.join().unwrap();
    let next = disk.survivor(SimulatedOptions { survival: Survival::Nothing, ..SimulatedOptions::new(1) });
    Database::recover(&shared(&next), Path::new(DIR), control, small_log(), 8).unwrap()
}

fn names_of(database: &Database) -> Vec<String> {
    database.manager.prepared_transactions().iter().map(|prepared| prepared.gid.to_string()).collect()
}

// invariants: row 13
#[test]
fn a_checkpoint_keeps_what_is_prepared_meanwhile() {
    for state in [TwophaseState::Memory, TwophaseState::Wal, TwophaseState::File] {
        check(200, move || {
            let recovered = race_a_checkpoint(state, &[], |database, session| {
                let end = prepare(session, "stays");
                database.wal().wait_durable(end, DelayPolicy::NONE);
            });
            assert_eq!(names_of(&recovered), ["stays"]);
        });
    }
}

// invariants: row 13
#[test]
fn a_checkpoint_keeps_nothing_that_is_finished_meanwhile() {
    for state in [TwophaseState::Memory, TwophaseState::Wal, TwophaseState::File] {
        check(60, move || {
            let recovered = race_a_checkpoint(state, &["commits", "aborts", "stays"], |database, session| {
                let outcome = session.commit_prepared(claim(database, "commits").unwrap());
                database.reply(&outcome);
                session.rollback_prepared(claim(database, "aborts").unwrap());
            });
            assert_eq!(names_of(&recovered), ["stays"]);
        });
    }
}

// invariants: row 21
#[test]
fn of_two_finishers_one_decides() {
    check(300, || {
        let database = database();
        let mut session = database.session();
        prepare(&mut session, "x");
        drop(session);
        let decided: Arc<Mutex<Vec<bool>>> = Arc::default();
        let threads = [true, false]
            .into_iter()
            .map(|commits| {
                let (database, decided) = (database.clone(), decided.clone());
                thread::spawn(move || {
                    let mut session = database.session();
                    match claim(&database, "x") {
                        Err(error) => assert!(
                            [sqlstate::UNDEFINED_OBJECT, sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE]
                                .contains(&error.sqlstate())
                        ),
                        Ok(claimed) => {
                            let xid = claimed.view().xid;
                            if commits {
                                database.reply(&session.commit_prepared(claimed));
                            } else {
                                session.rollback_prepared(claimed);
                            }
                            assert_eq!(matches!(database.status(xid), TransactionStatus::Committed(_)), commits);
                            decided.lock().push(commits);
                        }
                    }
                })
            })
            .collect();
        join_all(threads);
        assert_eq!(decided.lock().len(), 1);
        assert!(database.manager.prepared_transactions().is_empty() && database.manager.running().is_empty());
    });
}

const DROPPED: FileNumber = FileNumber(7);
const KEPT: FileNumber = FileNumber(8);

/// A page cache on the database's log, whose files the database's commits remove.
fn pool_of(database: &Database, vfs: &Arc<dyn Vfs>) -> (Arc<BufferPool>, Arc<FileRemovals>) {
    let directory = Path::new("/pages");
    vfs.create_dir_all(directory).unwrap();
    let area = DoubleWrite::open(vfs.clone(), directory, DoubleWriteOptions::default()).unwrap();
    let log = database.wal().clone();
    let options = BufferPoolOptions { frames: 16, ..BufferPoolOptions::default() };
    let pool = Arc::new(BufferPool::new(vfs.clone(), &directory.join("base"), log, area, options).unwrap());
    let removals = Arc::new(FileRemovals::new(pool.clone(), |_| ()));
    assert!(database.removed.1.set(removals.clone()).is_ok());
    (pool, removals)
}

/// Changes a page, with a record that is not durable.
fn change_page(database: &Database, pool: &BufferPool, file: FileNumber) {
    let pinned = pool.pin(buffer::PageId::new(file, 0)).unwrap();
    let mut page = pinned.write();
    let head = RecordHead { rmgr: RmgrId::HEAP, info: 0, xid: Xid::INVALID };
    page.set_lsn(database.wal().insert(head, &[b"change"]).end);
}

/// The thread that learns that a drop is durable is the leader of a flush. A batch of pages, one of them the dropped
/// file's, may wait for the next flush.
///
/// invariants: row 33.
#[test]
fn drops_beside_write_back_and_a_checkpoint_let_every_commit_end() {
    for has_flusher in [true, false] {
        check(300, move || {
            let vfs: Arc<dyn Vfs> = Arc::new(SimulatedVfs::new(1));
            let database = Arc::new(Database::create(&vfs, Path::new(DIR), small_log(), 8));
            let (pool, removals) = pool_of(&database, &vfs);
            for file in [DROPPED, KEPT] {
                pool.create_file(file).unwrap();
                pool.pin_new(file).unwrap();
                change_page(&database, &pool, file);
            }
            if has_flusher {
                database.wal().start_flusher_thread();
            }
            let dropper = thread::spawn({
                let database = database.clone();
                move || {
                    let mut session = database.session();
                    begin_writing(&mut session, b"drop");
                    session.drop_file_at_commit(DROPPED);
                    let outcome = session.commit();
                    database.reply(&outcome);
                }
            });
            let writer = thread::spawn({
                let (database, pool) = (database.clone(), pool.clone());
                move || {
                    change_page(&database, &pool, KEPT);
                    pool.flush_all();
                }
            });
            let committer = thread::spawn({
                let database = database.clone();
                move || {
                    let mut session = database.session();
                    let (_, outcome) = commit_one(&mut session, b"row");
                    database.reply(&outcome);
                }
            });
            let remover = thread::spawn({
                let removals = removals.clone();
                move || (0..2).for_each(|_| removals.remove_all())
            });
            checkpoint(&database);
            pool.flush_dirty(database.wal().durable(), &mut |_| ());
            join_all(vec![dropper, writer, committer, remover]);
            database.wal().stop();
            checkpoint(&database);
            assert!(!pool.file_exists(DROPPED) && pool.file_exists(KEPT), "the barrier waits for the removal");
        });
    }
}

/// A close that finds a transaction in progress has refused nobody an xid.
#[test]
fn a_close_that_fails_has_disturbed_nobody() {
    check(2000, || {
        let database = database();
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let database = database.clone();
                thread::spawn(move || {
                    let mut session = database.session();
                    session.begin(BeginOptions::default());
                    let is_refused = session.assign_xid().is_err();
                    session.abort();
                    is_refused
                })
            })
            .collect();
        let is_closed = database.manager.close().is_ok();
        assert_eq!(database.manager.is_closed(), is_closed);
        for writer in writers {
            assert!(!writer.join().unwrap() || is_closed, "a writer was refused by a close that failed");
        }
    });
}
