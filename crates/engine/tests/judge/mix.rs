//! The transactions that clients want to run: a few steps each, on few or many rows.

use std::ops::RangeInclusive;

use rand::Rng;
use rand::rngs::StdRng;

/// One step of a transaction.
#[derive(Clone, Debug)]
pub enum Step {
    /// Reads a row by its key.
    Read(i32),
    /// Reads the rows of a range of keys.
    Range(RangeInclusive<i32>),
    /// Reads the rows of some classes, by the index on classes.
    Classes(RangeInclusive<i32>),
    /// Reads the rows of some classes, by a scan of the table.
    Scan(RangeInclusive<i32>),
    /// Locks a row by its key and reads its newest version.
    Lock { key: i32, for_share: bool },
    /// Updates a row; some updates change the class.
    Update { key: i32, class: Option<i32> },
    /// Inserts a row if there is none of the key.
    Insert { key: i32, class: i32 },
    /// Deletes a row.
    Delete(i32),
    /// Opens a savepoint, takes the steps, and closes it or rolls back to it.
    Savepoint { steps: Vec<Step>, rolled_back: bool },
}

/// A transaction as its client wants it; the same when it is tried again.
#[derive(Clone, Debug)]
pub struct Wish {
    pub steps: Vec<Step>,
    pub read_only: bool,
    pub deferrable: bool,
    pub gives_up: bool,
}

/// A kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Reads and updates of a handful of rows.
    HotRows,
    /// Scans, with inserts and deletes among what they read.
    Phantoms,
    /// Everything, on more rows than a page holds.
    Spread,
}

pub const CLASSES: i32 = 4;

impl Mix {
    pub const ALL: [Mix; 3] = [Mix::HotRows, Mix::Phantoms, Mix::Spread];

    /// Keys are below this.
    pub fn keys(self) -> i32 {
        match self {
            Mix::HotRows => 6,
            Mix::Phantoms => 16,
            Mix::Spread => 120,
        }
    }

    /// The next wish.
    pub fn wish(self, random: &mut StdRng) -> Wish {
        let read_only = random.random_range(0..6) == 0;
        let steps = match self {
            Mix::HotRows => 2..=4,
            Mix::Phantoms => 2..=3,
            Mix::Spread => 3..=7,
        };
        let steps = (0..random.random_range(steps)).map(|_| self.step(random, read_only, true)).collect();
        Wish {
            steps,
            read_only,
            deferrable: read_only && random.random_range(0..4) == 0,
            gives_up: random.random_range(0..12) == 0,
        }
    }

    fn step(self, random: &mut StdRng, read_only: bool, may_nest: bool) -> Step {
        let key = random.random_range(0..self.keys());
        let class = random.random_range(0..CLASSES);
        let reads = match self {
            Mix::HotRows => [70, 85, 90, 100],
            Mix::Phantoms => [15, 50, 75, 100],
            Mix::Spread => [40, 75, 88, 100],
        };
        if read_only || random.random_range(0..100) < 55 {
            let width = random.random_range(0..=self.keys() / 4);
            return match random.random_range(0..100) {
                kind if kind < reads[0] => Step::Read(key),
                kind if kind < reads[1] => Step::Range(key..=key + width),
                kind if kind < reads[2] => Step::Classes(class..=class),
                _ => Step::Scan(class..=(class + 1)),
            };
        }
        match (self, random.random_range(0..100)) {
            (_, ..4) if may_nest => Step::Savepoint {
                steps: (0..random.random_range(1..3)).map(|_| self.step(random, false, false)).collect(),
                rolled_back: random.random_bool(0.6),
            },
            (_, 4..10) => Step::Lock { key, for_share: random.random_bool(0.3) },
            (Mix::HotRows, 10..88) | (Mix::Spread, 10..70) | (Mix::Phantoms, 10..30) => {
                Step::Update { key, class: random.random_bool(0.3).then_some(class) }
            }
            (_, number) if number % 2 == 0 => Step::Insert { key, class },
            _ => Step::Delete(key),
        }
    }
}
