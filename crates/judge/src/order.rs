//! The order of each row's versions, and what is wrong with single reads.
//!
//! A committed write names the version that it replaced, so the versions of a row from its insert to its delete form a
//! chain. A key that is inserted again has several; a unique key can be there only once, so the chains lie one after
//! the other, in the order of their inserts' moments.
//!
//! ```text
//!            committed                T3 undone, or aborted
//!  (unborn) --> v1 --> v2 --> v3 (deleted)        v4 --> v5
//!                       `--> v9: belongs to nothing; whoever reads it is wrong
//! ```

use std::collections::{BTreeMap, HashMap};

use crate::history::{End, History, Object, Operation, Span, TransactionId, VersionId, Write};
use crate::verdict::{Anomaly, AnomalyKind};

/// The fate of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its transaction committed, and wrote the row for the last time.
    Installed,
    /// Its transaction committed, but wrote the row again.
    Intermediate,
    /// Its transaction, or the part that wrote it, was rolled back.
    Aborted,
}

/// A version, and by whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    /// Position of its writer in the history.
    pub(crate) writer: usize,
    pub(crate) class: Option<i64>,
    pub(crate) fate: Fate,
    /// Its place in its row's order, if it has one.
    pub(crate) place: Option<usize>,
}

/// All versions, and the order of each row's committed ones.
pub(crate) struct Versions {
    pub(crate) by_id: HashMap<VersionId, Version>,
    /// Intermediate versions are among them.
    pub(crate) of: BTreeMap<Object, Vec<VersionId>>,
}

/// When a transaction committed, if it did.
pub(crate) fn committed(end: End) -> Option<Span> {
    match end {
        End::Committed(span) => Some(span),
        End::Aborted => None,
    }
}

impl Versions {
    /// Reads the order of versions from a history. Writes that contradict the order are reported as anomalies.
    pub(crate) fn read(history: &History, anomalies: &mut Vec<Anomaly>) -> Versions {
        let mut by_id = HashMap::new();
        let mut lasting: BTreeMap<Object, Vec<Write>> = BTreeMap::new();
        for (writer, transaction) in history.transactions.iter().enumerate() {
            let is_committed = committed(transaction.end).is_some();
            let mut last_of = HashMap::new();
            for operation in &transaction.operations {
                let Operation::Write(write) = operation else { continue };
                let is_lasting = is_committed && !write.is_undone;
                let fate = if is_lasting { Fate::Installed } else { Fate::Aborted };
                let version = Version { writer, class: write.class, fate, place: None };
                assert!(by_id.insert(write.version, version).is_none(), "{} was written twice", write.version);
                if is_lasting {
                    if let Some(earlier) = last_of.insert(write.object, write.version)
                        && let Some(earlier) = by_id.get_mut(&earlier)
                    {
                        earlier.fate = Fate::Intermediate;
                    }
                    lasting.entry(write.object).or_default().push(*write);
                }
            }
        }
        let mut versions = Versions { by_id, of: BTreeMap::new() };
        for (object, writes) in lasting {
            let order = versions.chain(object, writes, history, anomalies);
            for (place, id) in order.iter().enumerate() {
                if let Some(version) = versions.by_id.get_mut(id) {
                    version.place = Some(place);
                }
            }
            versions.of.insert(object, order);
        }
        versions
    }

    /// The order of one row's committed versions.
    fn chain(
        &self,
        object: Object,
        mut writes: Vec<Write>,
        history: &History,
        anomalies: &mut Vec<Anomaly>,
    ) -> Vec<VersionId> {
        writes.sort_by_key(|write| write.at);
        let id_of = |version: VersionId| history.transactions[self.by_id[&version].writer].id;
        let mut follower: HashMap<VersionId, Write> = HashMap::new();
        let mut starts = Vec::new();
        for write in &writes {
            match write.replaces {
                // A version that is not in the order is somebody else's report: see `dependencies`.
                Some(replaced) if self.by_id.get(&replaced).is_some_and(|old| old.fate != Fate::Aborted) => {
                    if let Some(other) = follower.get(&replaced) {
                        anomalies.push(Anomaly::of(
                            AnomalyKind::Fork,
                            vec![id_of(other.version), id_of(write.version)],
                            format!("both replaced {replaced} of {object}"),
                        ));
                        starts.push(*write);
                    } else {
                        follower.insert(replaced, *write);
                    }
                }
                _ => starts.push(*write),
            }
        }
        let mut order = Vec::with_capacity(writes.len());
        // The last version so far, and whether the row is there.
        let mut last: Option<Write> = None;
        for start in starts {
            if let Some(last) = last
                && start.replaces.is_none()
                && last.class.is_some()
            {
                anomalies.push(Anomaly::of(
                    AnomalyKind::Fork,
                    vec![id_of(last.version), id_of(start.version)],
                    format!("{object} was inserted while it was there"),
                ));
            }
            let mut next = Some(start);
            while let Some(write) = next {
                order.push(write.version);
                last = Some(write);
                next = follower.remove(&write.version);
            }
        }
        for (replaced, write) in follower {
            anomalies.push(Anomaly::of(
                AnomalyKind::Fork,
                vec![id_of(write.version)],
                format!("replaced {replaced} of {object}, which follows it"),
            ));
        }
        order
    }

    /// The next version after `place` of `object` that was installed.
    pub(crate) fn next_installed(&self, object: Object, place: usize) -> Option<(VersionId, Version)> {
        self.of.get(&object)?.iter().skip(place + 1).find_map(|id| {
            let version = self.by_id[id];
            (version.fate == Fate::Installed).then_some((*id, version))
        })
    }

    /// Reports that `reader` used a version that nobody should: true if the version is in the row's order after all.
    pub(crate) fn check_read(
        &self,
        history: &History,
        reader: usize,
        object: Object,
        version: VersionId,
        anomalies: &mut Vec<Anomaly>,
    ) -> bool {
        let reader_id = history.transactions[reader].id;
        let mut report = |kind, writer: Option<TransactionId>, what: String| {
            let members = writer.into_iter().chain([reader_id]).collect();
            anomalies.push(Anomaly::of(kind, members, what));
        };
        let Some(found) = self.by_id.get(&version) else {
            report(AnomalyKind::Internal, None, format!("met {version} of {object}, which nobody wrote"));
            return false;
        };
        if found.writer == reader {
            return found.place.is_some();
        }
        let writer_id = history.transactions[found.writer].id;
        match found.fate {
            Fate::Installed => true,
            Fate::Intermediate => {
                report(AnomalyKind::G1b, Some(writer_id), format!("the one wrote {object} again after {version}"));
                found.place.is_some()
            }
            Fate::Aborted => {
                report(AnomalyKind::G1a, Some(writer_id), format!("{version} of {object} was rolled back"));
                false
            }
        }
    }
}
