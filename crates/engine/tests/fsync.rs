//! `fsync` turned on and off while the database is open: from the moment it is on, everything is durable that counts as such,
//! in the log, the pages and the commit log, also what was written before without it.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Oid;
use base::settings::Source;
use cohort_engine::{Database, Session, Table, VacuumOptions};
use common::{create_table, options_on, run, set_i64};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};
use vfs::{SimulatedOptions, SimulatedVfs};

const TYPES: [PhysicalType; 3] = [PhysicalType::I32, PhysicalType::I64, PhysicalType::Bytes];
const IDS: i32 = 40;

/// One database, and what its rows are.
struct World {
    database: Database,
    session: Session,
    table: Arc<Table>,
    rows: BTreeMap<i32, i64>,
    fsync: bool,
}

fn open(disk: &SimulatedVfs, fsync: bool) -> Database {
    Database::open(options_on(disk, &[("fsync", if fsync { "on" } else { "off" }), ("shared_buffers", "16")])).unwrap()
}

fn rows_of(session: &mut Session, table: &Arc<Table>) -> BTreeMap<i32, i64> {
    let read = |row: &[Datum]| match (&row[0], &row[1]) {
        (Datum::I32(id), Datum::I64(value)) => (*id, *value),
        other => panic!("{other:?}"),
    };
    run(session, |session| Ok(common::all(session, table, read))).unwrap().into_iter().collect()
}

impl World {
    fn new(disk: &SimulatedVfs, fsync: bool) -> World {
        let database = open(disk, fsync);
        let mut session = database.session().unwrap();
        let table = create_table(&mut session, "t", &TYPES);
        World { database, session, table, rows: BTreeMap::new(), fsync }
    }

    /// Opens what is on `disk` and compares.
    fn again(disk: &SimulatedVfs, oid: Oid, rows: BTreeMap<i32, i64>, fsync: bool) -> World {
        let database = open(disk, fsync);
        let mut session = database.session().unwrap();
        let table = session.open_table(oid).unwrap();
        assert_eq!(rows_of(&mut session, &table), rows);
        World { database, session, table, rows, fsync }
    }

    fn turn(&mut self, on: bool) {
        let text = if on { "on" } else { "off" };
        self.database.settings().set_at_start("fsync", text, Source::CommandLine).unwrap();
        self.database.reload();
        self.fsync = on;
    }

    fn step(&mut self, random: &mut StdRng) {
        let id = random.random_range(0..IDS);
        let table = self.table.clone();
        match random.random_range(0..20) {
            0..=1 => self.database.checkpoint().unwrap(),
            2 => self.database.tidy(),
            3 => drop(self.session.vacuum(&table, VacuumOptions::default()).unwrap()),
            4..=6 => self.turn(random.random()),
            _ if self.rows.contains_key(&id) => {
                run(&mut self.session, |session| set_i64(session, &table, id, &|value| value + 1)).unwrap();
                *self.rows.get_mut(&id).unwrap() += 1;
            }
            _ => {
                let bytes = vec![id as u8; random.random_range(0..1500)];
                let row = [Datum::I32(id), Datum::I64(0), Datum::Bytes(&bytes)];
                run(&mut self.session, |session| session.insert(&table, &row, &PlainKeys)).unwrap();
                self.rows.insert(id, 0);
            }
        }
    }
}

/// Runs until a random moment; then the power goes, or the process is killed first, or the database is closed first.
fn lives_and_dies(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut disk = SimulatedVfs::new(seed);
    let mut world = World::new(&disk, random.random());
    for _ in 0..4 {
        for _ in 0..random.random_range(1..60) {
            world.step(&mut random);
        }
        let oid = world.table.oid();
        let World { database, session, table, rows, fsync } = world;
        drop((session, table));
        disk = match random.random_range(0..4) {
            0 => {
                database.close().unwrap();
                drop(database);
                disk.crash_with(SimulatedOptions::new(random.random()))
            }
            // The writes of a killed process are in the operating system's cache. The next process finds them there.
            1 => {
                drop(database);
                disk.kill()
            }
            _ if fsync => {
                drop(database);
                disk.crash_with(SimulatedOptions::new(random.random()))
            }
            _ => {
                drop(database);
                disk.kill()
            }
        };
        world = World::again(&disk, oid, rows, random.random());
    }
}

// invariants: row 35
#[test]
fn what_was_written_without_fsync_is_durable_once_it_is_on() {
    let seeds = std::env::var("COHORT_SEEDS").map_or(60, |text| text.parse().expect("a number of seeds"));
    for seed in 0..seeds {
        println!("seed {seed}");
        lives_and_dies(seed);
    }
}
