//! Vacuum: what is dead goes, what somebody sees stays, and space is used again.

mod common;

use cohort_engine::VacuumOptions;
use cohort_engine::key::PlainKeys;
use cohort_engine::row::{Datum, PhysicalType};
use common::*;

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
