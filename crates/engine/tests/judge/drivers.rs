//! Drivers of the clients: a thread for each client, or coroutines on one thread in an order that the seed decides.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cohort_engine::{Database, Isolation, Session, Table};
use judge::{History, Transaction};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use schema::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, TableDef};
use schema::row::PhysicalType;
use sync::{Coroutine, ReadyQueue, StackPool, Step};
use vfs::SimulatedVfs;

use crate::client::World;
use crate::common::{begin, options_on};
use crate::mix::Mix;

const CLIENTS: u64 = 6;
const WISHES: usize = 40;
/// If nothing happens for so long, everybody waits for somebody.
const PATIENCE: Duration = Duration::from_secs(20);

/// How clients run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// A thread for each client.
    Threads,
    /// One thread that chooses whose turn it is.
    Schedule,
}

impl Driver {
    pub fn default_seeds(self) -> u64 {
        match self {
            Driver::Threads => 4,
            Driver::Schedule => 8,
        }
    }
}

/// One run: everything that says how it goes, real threads aside.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub driver: Driver,
    pub isolation: Isolation,
    pub mix: Mix,
    pub seed: u64,
    /// Serializable transactions watch what they read, and look away.
    pub is_blind: bool,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "COHORT_SEED={} ({:?}, {:?}, {:?})", self.seed, self.driver, self.isolation, self.mix)
    }
}

impl Run {
    /// Runs it, and returns what all clients saw.
    pub fn history(&self) -> History {
        let disk = SimulatedVfs::new(self.seed);
        let options = options_on(&disk, &[("deadlock_timeout", "2ms"), ("shared_buffers", "256")]);
        let database = Database::open(options).unwrap();
        database.transactions().ssi().set_blind(self.is_blind);
        let table = create_table(&mut database.session().unwrap());
        let world = Arc::new(World::new(database, *self, table));
        let mut transactions = world.fill();
        transactions.extend(match self.driver {
            Driver::Threads => on_threads(&world),
            Driver::Schedule => by_schedule(&world),
        });
        History { transactions }
    }
}

/// A table with a unique index on its key and one on the class.
fn create_table(session: &mut Session) -> Arc<Table> {
    begin(session);
    let def = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "judged", BOOTSTRAP_ROLE)
        .column("key", PhysicalType::I32)
        .column("version", PhysicalType::I64)
        .column("class", PhysicalType::I32)
        .column("filler", PhysicalType::Bytes);
    let key = IndexDef::new(session.allocate_oid(), &def, "judged_pkey", &[0], true);
    let class = IndexDef::new(session.allocate_oid(), &def, "judged_class", &[2], false);
    let oid = def.oid;
    session.create_object(def).unwrap();
    session.create_object(key).unwrap();
    session.create_object(class).unwrap();
    session.commit_and_wait().unwrap();
    session.open_table(oid).unwrap()
}

fn on_threads(world: &Arc<World>) -> Vec<Transaction> {
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || world.client(number, WISHES))).collect();
        let (mut last, mut quiet_since) = (world.moment(), Instant::now());
        while clients.iter().any(|client| !client.is_finished()) {
            std::thread::sleep(Duration::from_millis(2));
            let now = world.moment();
            if now > last + 1 {
                quiet_since = Instant::now();
            } else if quiet_since.elapsed() > PATIENCE {
                eprintln!("{}: everybody waits: {:#?}", world.run, world.database.locks().snapshot());
                world.cancel();
                break;
            }
            last = now;
        }
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    })
}

/// Each client that can go on is as likely as another to be next. Time passes only when no client can go on.
fn by_schedule(world: &Arc<World>) -> Vec<Transaction> {
    let mut random = StdRng::seed_from_u64(world.run.seed);
    let queue = Arc::new(ReadyQueue::new(|| {}));
    let stacks = StackPool::default();
    let mut clients: Vec<Coroutine<Vec<Transaction>>> = (0..CLIENTS)
        .map(|number| {
            let world = world.clone();
            Coroutine::new(&stacks, queue.clone(), number, move || world.client(number, WISHES))
        })
        .collect();
    let mut deadlines: Vec<Option<Instant>> = vec![None; clients.len()];
    let mut ready: Vec<u64> = (0..CLIENTS).collect();
    let mut transactions = Vec::new();
    let mut quiet_since = Instant::now();
    while clients.iter().any(|client| !client.is_finished()) {
        let mut woken = Vec::new();
        queue.drain(&mut woken);
        for token in woken {
            if !ready.contains(&token) {
                ready.push(token);
            }
        }
        if ready.is_empty() {
            let with_deadline =
                deadlines.iter().enumerate().filter_map(|(number, deadline)| Some(((*deadline)?, number)));
            let earliest = with_deadline.min();
            match earliest {
                Some((deadline, number)) if deadline <= Instant::now() => ready.push(number as u64),
                _ => {
                    // The thread that cuts files may wake a client.
                    let somebody_will = earliest.is_some() || quiet_since.elapsed() < PATIENCE;
                    assert!(somebody_will, "{}: all clients wait, and none has a deadline", world.run);
                    std::thread::sleep(Duration::from_micros(100));
                }
            }
            continue;
        }
        let next = ready.swap_remove(random.random_range(0..ready.len())) as usize;
        if clients[next].is_finished() {
            continue;
        }
        deadlines[next] = None;
        quiet_since = Instant::now();
        match clients[next].resume() {
            Step::Finished(done) => transactions.extend(done),
            Step::Suspended { deadline } => deadlines[next] = deadline,
            Step::Yielded => unreachable!("the thread has no time slices"),
        }
    }
    transactions
}
