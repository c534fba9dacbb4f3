//! The row API in one session: what is written is there, in the right order, and what is undone is not.

mod common;

use cohort_engine::{Database, Direction, KeyRange};
use common::*;
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};

#[test]
fn rows_are_found_by_key_and_by_scan_and_after_reopening() {
    let (database, disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &[PhysicalType::I32, PhysicalType::I64, PhysicalType::Bytes]);
    begin(&mut session);
    statement(&session, |s| {
        for id in 0..500 {
            s.insert(&table, &[Datum::I32(id), Datum::I64(i64::from(id) * 10), Datum::Bytes(b"text")], &PlainKeys)?;
        }
        Ok(())
    })
    .unwrap();
    statement(&session, |s| {
        assert_eq!(get(s, &table, 77, |row| row[1] == Datum::I64(770)), Some(true));
        assert_eq!(get(s, &table, 500, |_| ()), None);
        Ok(())
    })
    .unwrap();
    session.commit_and_wait().unwrap();
    drop(session);
    database.close().unwrap();
    drop(database);

    let database = Database::open(options_on(&disk, &[])).unwrap();
    let mut session = database.session().unwrap();
    let table = session.open_table(table.oid()).unwrap();
    run(&mut session, |s| {
        assert_eq!(all(s, &table, |row| row[0] == Datum::Null).len(), 500);
        let mut scan = s.index_scan(&table, 0, KeyRange::all(), Direction::Backward)?;
        let mut expected = (0..500).rev();
        while let Some((_, bytes)) = scan.next(s)? {
            assert_eq!(table.row(bytes).get(0), Datum::I32(expected.next().unwrap()));
        }
        assert_eq!(expected.next(), None);
        Ok(())
    })
    .unwrap();
}

// invariants: row 41
#[test]
fn an_index_scan_over_rows_that_nobody_sees_can_be_interrupted() {
    let (database, _disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &[PhysicalType::I32]);
    begin(&mut session);
    session.begin_statement().unwrap();
    for id in 0..100 {
        session.insert(&table, &[Datum::I32(id)], &PlainKeys).unwrap();
    }
    session.rollback().unwrap();
    let scanned = run(&mut session, |s| {
        let mut scan = s.index_scan(&table, 0, KeyRange::all(), Direction::Forward)?;
        // The interrupt of the code around, not the session's own, which is looked at before the first entry.
        let interrupt = sync::Interrupt::new();
        interrupt.raise(sync::InterruptKind::Cancel);
        Ok(sync::with_interrupt(&interrupt, || scan.next(s).map(|row| row.is_some())))
    });
    assert_eq!(scanned.unwrap().unwrap_err().sqlstate(), base::sqlstate::QUERY_CANCELED);
}
