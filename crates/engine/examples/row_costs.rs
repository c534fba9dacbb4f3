//! The cost of a session's hot row operations without the disk: nanoseconds of processor time for each, on one thread,
//! with everything in memory.
//!
//! `cargo run --release -p cohort-engine --example row_costs [rows]`

use std::hint::black_box;

use cohort_engine::key::{KeyBuffer, PlainKeys};
use cohort_engine::{Database, Modify, OpenOptions, Session, Table, TransactionOptions};
use schema::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, TableDef};
use schema::row::{ColumnSet, Datum, PhysicalType, RowBytes};

fn main() -> base::Result<()> {
    let rows: i32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let directory = std::env::temp_dir().join(format!("cohort-row-costs-{}", std::process::id()));
    let database = Database::open(OpenOptions::new(&directory))?;
    let mut session = database.session()?;
    session.set_synchronous_commit(false);

    session.begin(TransactionOptions::default())?;
    let def = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "accounts", BOOTSTRAP_ROLE)
        .column("aid", PhysicalType::I32)
        .column("bid", PhysicalType::I32)
        .column("abalance", PhysicalType::I32)
        .column("filler", PhysicalType::Bytes);
    session.create_object(def.clone())?;
    session.create_object(IndexDef::new(session.allocate_oid(), &def, "accounts_pkey", &[0], true))?;
    let history = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "history", BOOTSTRAP_ROLE)
        .column("id", PhysicalType::I32)
        .column("text", PhysicalType::Bytes);
    session.create_object(history.clone())?;
    session.commit()?;
    let table = session.open_table(def.oid)?;
    let history = session.open_table(history.oid)?;

    let filler = [b' '; 84];
    session.begin(TransactionOptions::default())?;
    session.begin_statement()?;
    let started = cpu_time_ns();
    for id in 0..rows {
        session.insert(&table, &[Datum::I32(id), Datum::I32(1), Datum::I32(0), Datum::Bytes(&filler)], &PlainKeys)?;
    }
    report("insert with one index, one transaction", started, rows);
    session.end_statement();
    session.commit()?;
    database.checkpoint()?;

    let mut random = Random(1);
    let rounds = 400_000;
    let started = cpu_time_ns();
    for _ in 0..rounds {
        begin_statement(&mut session)?;
        session.end_statement();
        session.commit()?;
    }
    report("begin, statement, commit of nothing", started, rounds);

    let (mut key, mut row) = (KeyBuffer::new(), RowBytes::new());
    let mut total = 0i64;
    let started = cpu_time_ns();
    for _ in 0..rounds {
        begin_statement(&mut session)?;
        point(&session, &table, random.below(rows), &mut key, &mut row)?;
        if let Datum::I32(balance) = table.row(&row).get(2) {
            total += i64::from(balance);
        }
        session.end_statement();
        session.commit()?;
    }
    report("point select with its transaction", started, rounds);
    black_box(total);

    let started = cpu_time_ns();
    for _ in 0..rounds {
        begin_statement(&mut session)?;
        update(&session, &table, random.below(rows), &mut key, &mut row)?;
        session.end_statement();
        session.commit()?;
    }
    report("point update with its transaction, commit not waited for", started, rounds);

    let started = cpu_time_ns();
    for _ in 0..rounds {
        begin_statement(&mut session)?;
        update(&session, &table, 1, &mut key, &mut row)?;
        session.end_statement();
        session.commit()?;
    }
    report("the same, always the same row", started, rounds);

    let started = cpu_time_ns();
    for _ in 0..rounds {
        begin_statement(&mut session)?;
        session.insert(&history, &[Datum::I32(1), Datum::Bytes(b"test")], &PlainKeys)?;
        session.end_statement();
        session.commit()?;
    }
    report("insert without index, with its transaction", started, rounds);

    let started = cpu_time_ns();
    begin_statement(&mut session)?;
    let mut scan = session.scan(&table)?;
    let mut count = 0;
    while let Some((_, bytes)) = scan.next(&session)? {
        black_box(table.row(bytes).get(2));
        count += 1;
    }
    report("a row of a table scan", started, count);
    session.end_statement();
    session.commit()?;
    drop((session, table, history, scan));
    database.close()?;
    drop(database);
    let _ = std::fs::remove_dir_all(&directory);
    Ok(())
}

fn begin_statement(session: &mut Session) -> base::Result<()> {
    session.begin(TransactionOptions::default())?;
    session.begin_statement()
}

fn point(
    session: &Session,
    table: &Table,
    id: i32,
    key: &mut KeyBuffer,
    row: &mut RowBytes,
) -> base::Result<base::Tid> {
    key.clear();
    key.push_i32(id);
    Ok(session.index_point(table, 0, key.as_slice(), row)?.expect("every id is there"))
}

fn update(session: &Session, table: &Table, id: i32, key: &mut KeyBuffer, row: &mut RowBytes) -> base::Result<()> {
    let tid = point(session, table, id, key, row)?;
    let mut values = table.decode(row);
    let Datum::I32(balance) = values[2] else { unreachable!("the column is a number") };
    values[2] = Datum::I32(balance + 1);
    let changed: ColumnSet = [2].into_iter().collect();
    match session.update(table, tid, &values, &changed, &PlainKeys)? {
        Modify::Done { .. } => Ok(()),
        other => panic!("{other:?}"),
    }
}

fn report(what: &str, started: u64, count: i32) {
    println!("{:>8.0} ns  {what}", (cpu_time_ns() - started) as f64 / f64::from(count));
}

/// Time this thread has spent running: what others on the machine do is not counted. Linux only; elsewhere 0.
fn cpu_time_ns() -> u64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    statistics.split_ascii_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: i32) -> i32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % bound as u64) as i32
    }
}
