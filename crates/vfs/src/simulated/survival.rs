//! The changes that live through a crash: one decision maker for names, lengths and sectors.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Which unsynced changes live through a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// The seed decides between all the following.
    Seeded,
    /// None.
    Nothing,
    /// All.
    Everything,
    /// Those before some moment, and perhaps a part of the one that was under way.
    Prefix,
    /// Any: each name, each length, each 512-byte sector for itself, as of any of its moments.
    AnySubset,
}

/// Decides, for one crash, what of each thing's unsynced history is on the disk. A history is a list of changes to that
/// thing (one sector, one name, one length), oldest first; the answer is how many of them are there.
pub(crate) struct Fate {
    survival: Survival,
    random: StdRng,
    /// Prefix: changes up to this one are there.
    cut: u64,
    /// AnySubset: how likely all of a history is there, and how likely nothing is; else it is any part.
    all: f64,
    none: f64,
}

impl Fate {
    /// For a crash when the changes `unsynced` (the first and the last of them, by number) are not durable.
    pub(crate) fn new(seed: u64, survival: Survival, unsynced: Option<(u64, u64)>) -> Fate {
        let mut random = StdRng::seed_from_u64(seed);
        let survival = match survival {
            Survival::Seeded => match random.random_range(0..8) {
                0 => Survival::Nothing,
                1 => Survival::Everything,
                2 | 3 => Survival::Prefix,
                _ => Survival::AnySubset,
            },
            given => given,
        };
        let cut = unsynced.map_or(0, |(first, last)| random.random_range(first - 1..=last));
        let all = random.random_range(0.0..1.0);
        let none = (1.0 - all) * random.random_range(0.0..1.0);
        Fate { survival, random, cut, all, none }
    }

    /// How many of the changes of one history are there; `history` gives each one's number. `at_least` of them are known to be.
    pub(crate) fn of_history(&mut self, history: impl Iterator<Item = u64> + Clone, at_least: usize) -> usize {
        let total = history.clone().count();
        let there = match self.survival {
            Survival::Nothing => 0,
            Survival::Everything => total,
            Survival::Prefix => {
                let cut = self.cut;
                let before = history.clone().take_while(|change| *change <= cut).count();
                let under_way = history.clone().nth(before) == Some(cut + 1);
                before + usize::from(under_way && self.random.random())
            }
            Survival::AnySubset | Survival::Seeded => {
                let chance: f64 = self.random.random();
                if chance < self.all {
                    total
                } else if chance < self.all + self.none {
                    0
                } else {
                    self.random.random_range(0..=total)
                }
            }
        };
        there.max(at_least)
    }

    /// Whether one change is there that has no history.
    pub(crate) fn of_change(&mut self, change: u64) -> bool {
        self.of_history(std::iter::once(change), 0) == 1
    }
}
