//! Large values, tables larger than the cache, and identifiers beyond 32 bits.

mod common;

use base::{Xid, sqlstate};
use cohort_engine::{Database, Modify, OpenOptions, VacuumOptions};
use common::*;
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use schema::key::PlainKeys;
use schema::row::{ColumnSet, Datum, PhysicalType, RowBytes};
use vfs::SimulatedVfs;

const TYPES: [PhysicalType; 3] = [PhysicalType::I32, PhysicalType::I64, PhysicalType::Bytes];

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    StdRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

#[test]
fn large_values_are_read_back_whatever_their_size() {
    let (database, disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let sizes = [0, 239, 240, 1990, 2000, 2001, 3959, 3960, 3961, 7920, 8000, 9000, 100_000, 3_000_000];
    let values: Vec<Vec<u8>> = sizes.iter().flat_map(|size| [vec![b'z'; *size], noise(*size as u64, *size)]).collect();
    run(&mut session, |s| {
        for (id, value) in values.iter().enumerate() {
            s.insert(&table, &[Datum::I32(id as i32), Datum::I64(0), Datum::Bytes(value)], &PlainKeys)?;
        }
        Ok(())
    })
    .unwrap();
    drop((session, database));
    let database = Database::open(options_on(&disk.crash(), &[])).unwrap();
    let mut session = database.session().unwrap();
    let table = session.open_table(table.oid()).unwrap();
    run(&mut session, |s| {
        for (id, value) in values.iter().enumerate() {
            assert_eq!(
                get(s, &table, id as i32, |row| row[2] == Datum::Bytes(value)),
                Some(true),
                "{} bytes",
                value.len()
            );
        }
        let scanned = all(s, &table, |row| match row {
            [Datum::I32(id), _, Datum::Bytes(bytes)] => *bytes == values[*id as usize],
            _ => false,
        });
        assert!(scanned.len() == values.len() && scanned.into_iter().all(|equal| equal));
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_update_hands_large_values_on_and_a_vacuum_frees_those_replaced() {
    let (database, _disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let (first, second) = (noise(1, 50_000), noise(2, 50_000));
    run(&mut session, |s| s.insert(&table, &[Datum::I32(1), Datum::I64(0), Datum::Bytes(&first)], &PlainKeys)).unwrap();
    let blocks = || database.pool().block_count(table.def.overflow_file).unwrap();
    let after_insert = blocks();
    // Only the number changes: no new chunks.
    for _ in 0..50 {
        run(&mut session, |s| set_i64(s, &table, 1, &|old| old + 1)).unwrap();
    }
    assert_eq!(blocks(), after_insert);
    // An old snapshot goes on seeing the value that is replaced.
    let mut reader = database.session().unwrap();
    reader
        .begin(cohort_engine::TransactionOptions {
            isolation: cohort_engine::Isolation::RepeatableRead,
            ..Default::default()
        })
        .unwrap();
    reader.begin_statement().unwrap();
    let replace = |s: &cohort_engine::Session, value: &[u8]| {
        let mut row = RowBytes::new();
        let tid = s.index_point(&table, 0, key_i32(1).as_slice(), &mut row)?.unwrap();
        let changed: ColumnSet = [2].into_iter().collect();
        let done =
            s.update(&table, tid, &[Datum::I32(1), Datum::I64(50), Datum::Bytes(value)], &changed, &PlainKeys)?;
        assert!(matches!(done, Modify::Done { .. }));
        Ok(())
    };
    run(&mut session, |s| replace(s, &second)).unwrap();
    session.vacuum(&table, VacuumOptions { keep_tail: true, ..Default::default() }).unwrap();
    assert_eq!(get(&reader, &table, 1, |row| row[2] == Datum::Bytes(&first)), Some(true));
    reader.end_statement();
    reader.commit().unwrap();
    // With nobody looking, replacing again and again takes no more room.
    let mut most = 0;
    for round in 0..20 {
        let value = if round % 2 == 0 { &first } else { &second };
        run(&mut session, |s| replace(s, value)).unwrap();
        session.vacuum(&table, VacuumOptions { keep_tail: true, ..Default::default() }).unwrap();
        most = most.max(blocks());
    }
    assert!(most <= 4 * after_insert, "{most} blocks, {after_insert} after the first insert");
    // Rows that are pruned by the way leave their large values behind: they call the background vacuum.
    for round in 0..180 {
        run(&mut session, |s| replace(s, if round % 2 == 0 { &first } else { &second })).unwrap();
        if round % 60 == 59 {
            database.wal().flush(database.wal().inserted());
            assert_eq!(database.vacuum_where_needed().unwrap(), 1, "round {round}");
        }
        most = most.max(blocks());
    }
    assert!(most <= 130 * after_insert, "{most} blocks, {after_insert} after the first insert");
    run(&mut session, |s| s.check_table(&table, &PlainKeys)).unwrap();
}

#[test]
fn a_rolled_back_update_leaves_the_large_value() {
    let (database, _disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let value = noise(3, 20_000);
    run(&mut session, |s| s.insert(&table, &[Datum::I32(1), Datum::I64(0), Datum::Bytes(&value)], &PlainKeys)).unwrap();
    begin(&mut session);
    statement(&session, |s| {
        let mut row = RowBytes::new();
        let tid = s.index_point(&table, 0, key_i32(1).as_slice(), &mut row)?.unwrap();
        s.delete(&table, tid)
    })
    .unwrap();
    session.rollback().unwrap();
    session.vacuum(&table, VacuumOptions::default()).unwrap();
    assert_eq!(run(&mut session, |s| Ok(get(s, &table, 1, |row| row[2] == Datum::Bytes(&value)))).unwrap(), Some(true));
}

#[test]
fn tables_larger_than_the_cache_work() {
    let disk = SimulatedVfs::new(1);
    let database = Database::open(options_on(&disk, &[("shared_buffers", "32")])).unwrap();
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let filler = [1; 200];
    for batch in 0..20 {
        run(&mut session, |s| {
            for id in batch * 500..(batch + 1) * 500 {
                s.insert(&table, &[Datum::I32(id), Datum::I64(0), Datum::Bytes(&filler)], &PlainKeys)?;
            }
            Ok(())
        })
        .unwrap();
    }
    assert!(table.block_count().unwrap() > 8 * database.pool().frames() as u32);
    for id in (0..10_000).step_by(97) {
        run(&mut session, |s| set_i64(s, &table, id, &|old| old + i64::from(id))).unwrap();
    }
    let sum = run(&mut session, |s| {
        Ok(all(s, &table, |row| if let Datum::I64(v) = row[1] { v } else { 0 }).into_iter().sum::<i64>())
    });
    assert_eq!(sum.unwrap(), (0..10_000).step_by(97).sum::<i64>());
    run(&mut session, |s| s.check_table(&table, &PlainKeys)).unwrap();
    drop((session, database));
    let database = Database::open(options_on(&disk.crash(), &[("shared_buffers", "32")])).unwrap();
    let mut session = database.session().unwrap();
    let table = session.open_table(table.oid()).unwrap();
    let summary = run(&mut session, |s| s.check_table(&table, &PlainKeys)).unwrap();
    assert_eq!(summary.rows, 10_000);
}

// invariants: row 24
#[test]
fn transaction_identifiers_pass_two_to_the_32nd_without_notice() {
    for first_xid in [(1 << 32) - 50, (1u64 << 31) - 50, (1 << 61) - 50] {
        let disk = SimulatedVfs::new(1);
        let options = OpenOptions { first_xid: Xid(first_xid), ..options_on(&disk, &[]) };
        let database = Database::open(options.clone()).unwrap();
        let mut session = database.session().unwrap();
        let table = create_table(&mut session, "t", &TYPES);
        for id in 0..100 {
            run(&mut session, |s| s.insert(&table, &[Datum::I32(id), Datum::I64(0), Datum::Null], &PlainKeys)).unwrap();
            run(&mut session, |s| set_i64(s, &table, id / 2, &|old| old + 1)).unwrap();
            if id % 10 == 0 {
                database.checkpoint().unwrap();
                session.vacuum(&table, VacuumOptions::default()).unwrap();
            }
        }
        assert!(database.transactions().next_xid() > Xid(first_xid + 200));
        drop((session, database));
        let database = Database::open(OpenOptions { vfs: std::sync::Arc::new(disk.crash()), ..options }).unwrap();
        assert!(database.transactions().next_xid() > Xid(first_xid + 200));
        let mut session = database.session().unwrap();
        let table = session.open_table(table.oid()).unwrap();
        let rows = run(&mut session, |s| Ok(all(s, &table, |row| row[1] == Datum::I64(2)))).unwrap();
        assert_eq!((rows.len(), rows.into_iter().filter(|two| *two).count()), (100, 50));
    }
}

#[test]
fn large_values_of_rows_that_were_not_written_after_all_are_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[]);
    let mut holder = database.session().unwrap();
    let table = create_table(&mut holder, "t", &TYPES);
    run(&mut holder, |s| s.insert(&table, &[Datum::I32(1), Datum::I64(0), Datum::Bytes(b"")], &PlainKeys)).unwrap();
    begin(&mut holder);
    statement(&holder, |s| set_i64(s, &table, 1, &|old| old + 1)).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut session = database.session().unwrap();
            run(&mut session, |s| {
                let (large, changed): (_, ColumnSet) = (noise(5, 9000), [1, 2].into_iter().collect());
                let mut row = RowBytes::new();
                let mut tid = s.index_point(&table, 0, key_i32(1).as_slice(), &mut row)?.unwrap();
                let mut attempts = 1;
                let new = [Datum::I32(1), Datum::I64(7), Datum::Bytes(&large)];
                while let Modify::Updated { newest, .. } = s.update(&table, tid, &new, &changed, &PlainKeys)? {
                    tid = s.newest_version(&table, newest, &mut row)?.unwrap();
                    attempts += 1;
                }
                Ok(attempts)
            })
        });
        while database.locks().waiting_count() == 0 {
            std::thread::yield_now();
        }
        holder.commit_and_wait().unwrap();
        assert_eq!(waiter.join().unwrap().unwrap(), 2, "the first attempt met the holder's version");
    });
    let read = run(&mut holder, |s| Ok(get(s, &table, 1, |row| row[2] == Datum::Bytes(&noise(5, 9000))))).unwrap();
    assert_eq!(read, Some(true));
}

// invariants: row 24
#[test]
fn where_no_identifiers_are_left_the_start_or_the_writer_is_told_so() {
    for first_xid in [Xid::LIMIT.0 - 40, (1 << 63) - (1 << 20), u64::MAX - 1] {
        let disk = SimulatedVfs::new(1);
        let options = OpenOptions { first_xid: Xid(first_xid), ..options_on(&disk, &[]) };
        let database = match Database::open(options) {
            Ok(database) => database,
            Err(error) => {
                assert!(first_xid >= Xid::LIMIT.0);
                assert_eq!(error.sqlstate(), sqlstate::PROGRAM_LIMIT_EXCEEDED, "{error}");
                continue;
            }
        };
        let mut session = database.session().unwrap();
        let table = create_table(&mut session, "t", &TYPES);
        let mut written = 0;
        let refused = (0..100).find_map(|id| {
            let insert =
                run(&mut session, |s| s.insert(&table, &[Datum::I32(id), Datum::I64(0), Datum::Null], &PlainKeys));
            written += usize::from(insert.is_ok());
            insert.err()
        });
        assert_eq!(refused.unwrap().sqlstate(), sqlstate::PROGRAM_LIMIT_EXCEEDED);
        // Reads still work, and the rows written before are there.
        assert!(written > 0);
        assert_eq!(run(&mut session, |s| Ok(all(s, &table, |_| ()))).unwrap().len(), written);
    }
}
