//! The summary of finished transactions, for when there are too many to keep a record of each.
//!
//! Their locks become locks without a holder, coarser and coarser, with the latest commit among the merged transactions. Their
//! writes are kept as a compressed set of xids, together with the commits that some of them had a conflict to.

use std::collections::BTreeMap;

use base::{FileNumber, Lsn, Xid};
use roaring::RoaringTreemap;
use rustc_hash::FxHashMap;

use crate::target::{Place, Target};

/// Pages (or keys) of one relation that are remembered one by one; more become the relation.
const PLACES_PER_RELATION: usize = 64;

/// Pivots that are remembered one by one; more, and every one is taken for the worst.
const PIVOTS: usize = 100_000;

#[derive(Default)]
pub(crate) struct Summary {
    /// The latest commit merged; zero when there is nothing.
    last_commit: Lsn,
    xids: RoaringTreemap,
    /// For those with a conflict out to a transaction that committed before them: when that one did.
    first_out: BTreeMap<Xid, Lsn>,
    /// Below any that isn't in the map any more.
    worst_first_out: Option<Lsn>,
    places: FxHashMap<FileNumber, Remembered>,
}

#[derive(Default)]
struct Remembered {
    targets: Vec<Target>,
    whole: bool,
}

/// The changes to the lock table for one lock that is merged.
pub(crate) struct Merge {
    pub(crate) add: Target,
    pub(crate) remove: Vec<Target>,
}

impl Summary {
    pub(crate) fn is_empty(&self) -> bool {
        self.last_commit == Lsn::ZERO
    }

    pub(crate) fn last_commit(&self) -> Lsn {
        self.last_commit
    }

    /// Remembers a committed transaction.
    pub(crate) fn add_transaction(&mut self, xids: &[Xid], commit: Lsn, first_out: Option<Lsn>) {
        self.last_commit = self.last_commit.max(commit);
        for xid in xids {
            self.xids.insert(xid.0);
            if let Some(first_out) = first_out.filter(|first_out| *first_out < commit) {
                if self.first_out.len() >= PIVOTS
                    && let Some((_, forgotten)) = self.first_out.pop_first()
                {
                    let worst = self.worst_first_out.get_or_insert(forgotten);
                    *worst = (*worst).min(forgotten);
                }
                self.first_out.insert(*xid, first_out);
            }
        }
    }

    /// Whether `xid` was one of them; if so, the first commit that it had a conflict out to.
    pub(crate) fn writer(&self, xid: Xid) -> Option<Option<Lsn>> {
        self.xids.contains(xid.0).then(|| self.first_out.get(&xid).copied().or(self.worst_first_out))
    }

    /// Merges a lock of a transaction that is remembered from now on.
    pub(crate) fn merge(&mut self, target: Target, commit: Lsn) -> Merge {
        self.last_commit = self.last_commit.max(commit);
        let remembered = self.places.entry(target.file).or_default();
        let coarse = match target.place() {
            Place::Tuple(_) => target.page_of_tuple().unwrap_or(target),
            _ => target,
        };
        if remembered.whole {
            return Merge { add: Target::relation(target.file), remove: Vec::new() };
        }
        if coarse.place() == Place::Relation || remembered.targets.len() >= PLACES_PER_RELATION {
            remembered.whole = true;
            let relation = Target::relation(target.file);
            let remove = std::mem::replace(&mut remembered.targets, vec![relation]);
            return Merge { add: relation, remove };
        }
        if !remembered.targets.contains(&coarse) {
            remembered.targets.push(coarse);
        }
        Merge { add: coarse, remove: Vec::new() }
    }

    /// Forgets everything; the targets that were remembered.
    pub(crate) fn clear(&mut self) -> Vec<Target> {
        let places = std::mem::take(&mut self.places);
        *self = Summary::default();
        places.into_values().flat_map(|remembered| remembered.targets).collect()
    }
}

#[cfg(test)]
mod tests {
    use base::Tid;

    use super::*;

    #[test]
    fn locks_become_coarser_and_never_fewer() {
        let mut summary = Summary::default();
        let file = FileNumber(3);
        for block in 0..PLACES_PER_RELATION as u32 {
            let merge = summary.merge(Target::tuple(file, Tid::new(block, 1)), Lsn(10));
            assert_eq!(merge.add, Target::page(file, block));
        }
        let merge = summary.merge(Target::tuple(file, Tid::new(9999, 1)), Lsn(20));
        assert_eq!(merge.add, Target::relation(file), "whole, before the pages go");
        assert_eq!(merge.remove.len(), PLACES_PER_RELATION);
        assert_eq!(summary.merge(Target::page(file, 7), Lsn(30)).add, Target::relation(file));
        assert_eq!(summary.last_commit(), Lsn(30));
        assert_eq!(summary.clear(), [Target::relation(file)]);
        assert!(summary.is_empty());
    }

    #[test]
    fn a_pivot_that_is_forgotten_is_taken_for_the_worst() {
        let mut summary = Summary::default();
        for number in 0..PIVOTS as u64 + 5 {
            summary.add_transaction(&[Xid(1000 + number)], Lsn(5000 + number), Some(Lsn(100 + number)));
        }
        summary.add_transaction(&[Xid(7)], Lsn(9_000_000), Some(Lsn(9_000_000)));
        assert_eq!(summary.writer(Xid(1001)), Some(Some(Lsn(100))), "not its own, but no later");
        assert_eq!(summary.writer(Xid(1000 + PIVOTS as u64)), Some(Some(Lsn(100 + PIVOTS as u64))));
        assert_eq!(summary.writer(Xid(999)), None);
    }
}
