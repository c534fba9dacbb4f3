//! Vacuum: what is dead goes, what somebody sees stays, and space is used again.

mod common;

use std::sync::Arc;

use base::Xid;
use cohort_engine::{Database, OpenOptions, Session, Table, VacuumOptions};
use common::*;
use schema::catalog::TableDef;
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};
use vfs::{SimulatedVfs, Vfs};

#[test]
fn a_row_updated_again_and_again_between_vacuums_keeps_one_index_entry() {
    let (database, _disk) = simulated(2);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &[PhysicalType::I32, PhysicalType::I64, PhysicalType::Bytes]);
    let filler = [7; 84];
    run(&mut session, |s| {
        for id in 0..300 {
            s.insert(&table, &[Datum::I32(id), Datum::I64(0), Datum::Bytes(&filler)], &PlainKeys)?;
        }
        Ok(())
    })
    .unwrap();
    session.set_synchronous_commit(false);
    for round in 0..40 {
        for _ in 0..200 {
            run(&mut session, |s| set_i64(s, &table, 1, &|old| old + 1)).unwrap();
        }
        if round % 3 == 0 {
            database.wal().flush(database.wal().inserted());
        }
        session.vacuum(&table, VacuumOptions::default()).unwrap();
    }
    let value = run(&mut session, |s| Ok(get(s, &table, 1, |row| row[1] == Datum::I64(8000)))).unwrap();
    assert_eq!(value, Some(true));
}

#[test]
fn a_hot_row_stays_in_its_page_though_no_flush_has_raised_the_removal_floor() {
    let (database, _disk) = simulated(3);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &[PhysicalType::I32, PhysicalType::I64]);
    run(&mut session, |s| s.insert(&table, &[Datum::I32(1), Datum::I64(0)], &PlainKeys)).unwrap();
    session.set_synchronous_commit(false);
    let syncs = database.wal().statistics().syncs;
    for _ in 0..500 {
        run(&mut session, |s| set_i64(s, &table, 1, &|old| old + 1)).unwrap();
    }
    assert_eq!(database.wal().statistics().syncs, syncs, "nobody has flushed, and so nobody else has raised the floor");
    let def = database.catalog().table(table.oid()).unwrap().clone();
    let blocks = def.files().map(|file| database.pool().block_count(file).unwrap()).max();
    assert_eq!(blocks, Some(1));
}

#[test]
fn once_every_row_is_frozen_the_commit_log_goes_and_no_row_with_it() {
    // 32 pages, with two bits for each transaction.
    const XIDS_PER_FILE: u64 = 32 * (8192 - 16) * 4;
    let disk = SimulatedVfs::new(4);
    let own = [("vacuum_freeze_min_age", "0")];
    let options = OpenOptions { first_xid: Xid(XIDS_PER_FILE - 60), ..options_on(&disk, &own) };
    let database = Database::open(options.clone()).unwrap();
    let files = |disk: &SimulatedVfs| disk.list_dir(&options.directory.join("clog")).unwrap().len();
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &[PhysicalType::I32, PhysicalType::I64]);
    for id in 0..100 {
        run(&mut session, |s| s.insert(&table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys)).unwrap();
        run(&mut session, |s| set_i64(s, &table, id / 2, &|old| old + 1)).unwrap();
        begin(&mut session);
        statement(&session, |s| s.insert(&table, &[Datum::I32(1000 + id), Datum::I64(0)], &PlainKeys)).unwrap();
        session.rollback().unwrap();
    }
    let early = Xid(XIDS_PER_FILE - 50);
    database.checkpoint().unwrap();
    assert_eq!(files(&disk), 2, "its transactions lie in two files");
    assert!(database.status().oldest_xid() < early);

    // A vacuum leaves the rows that it writes itself to the next vacuum, and it freezes only rows of durable
    // transactions.
    for _ in 0..3 {
        database.tidy();
        database.vacuum_where_needed().unwrap();
        database.wal().flush(database.wal().inserted());
    }
    database.checkpoint().unwrap();
    assert!(database.status().oldest_xid() > Xid(XIDS_PER_FILE), "{:?}", database.status().oldest_xid());
    assert_eq!(files(&disk), 1);
    assert!(database.status().clog().get(early).is_err(), "its bits are gone");
    let rows = |session: &mut Session| {
        let table = session.open_table(table.oid()).unwrap();
        run(session, |s| Ok(all(s, &table, |row| row[1] == Datum::I64(2)))).unwrap()
    };
    let expected: Vec<bool> = rows(&mut session);
    assert_eq!((expected.len(), expected.iter().filter(|two| **two).count()), (100, 50));
    drop((session, database));

    let disk = disk.crash();
    let database = Database::open(OpenOptions { vfs: Arc::new(disk.clone()), ..options.clone() }).unwrap();
    assert_eq!(files(&disk), 1);
    assert_eq!(rows(&mut database.session().unwrap()).len(), 100);
}

#[test]
fn what_vacuum_cuts_off_is_forgotten_whatever_the_fillfactor_was() {
    let (database, _disk) = simulated(5);
    let mut session = database.session().unwrap();
    let mut table = create_table(&mut session, "t", &[PhysicalType::I32, PhysicalType::Bytes]);
    let filler = [7; 2000];
    let fill = |session: &mut Session, table: &Table| {
        run(session, |s| {
            for id in 0..40 {
                s.insert(table, &[Datum::I32(id), Datum::Bytes(&filler)], &PlainKeys)?;
            }
            Ok(())
        })
        .unwrap();
    };
    let set_fillfactor = |session: &mut Session, table: &Table, fillfactor: u8| {
        run(session, |s| s.replace_object(TableDef { fillfactor, ..(*table.def).clone() })).unwrap();
        session.open_table(table.oid()).unwrap()
    };
    for fillfactor in [80, 50, 80] {
        fill(&mut session, &table);
        table = set_fillfactor(&mut session, &table, fillfactor);
        run(&mut session, |s| {
            let mut scan = s.scan(&table)?;
            let mut places = Vec::new();
            while let Some((tid, _)) = scan.next(s)? {
                places.push(tid);
            }
            places.into_iter().try_for_each(|tid| s.delete(&table, tid).map(drop))
        })
        .unwrap();
        database.wal().flush(database.wal().inserted());
        let summary = session.vacuum(&table, VacuumOptions::default()).unwrap();
        assert!(summary.truncated_pages > 0, "{summary:?}");
        table = set_fillfactor(&mut session, &table, 100);
    }
    fill(&mut session, &table);
    assert_eq!(run(&mut session, |s| Ok(all(s, &table, |_| ()))).unwrap().len(), 40);
}
