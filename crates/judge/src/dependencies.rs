//! The direct serialization graph: which committed transaction must come before which.

use std::collections::{HashMap, HashSet};
use std::fmt;

use petgraph::graph::{DiGraph, NodeIndex};

use crate::history::{History, Object, Operation, PredicateRead, Span, TransactionId, VersionId};
use crate::order::{Fate, Versions, committed};
use crate::verdict::{Anomaly, AnomalyKind};

/// Why one transaction must come before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DependencyKind {
    /// ww: the later one overwrote what the earlier one wrote.
    WriteWrite,
    /// wr: the later one read what the earlier one wrote.
    WriteRead,
    /// rw, also called an anti-dependency: the later one overwrote what the earlier one read.
    ReadWrite,
}

/// One transaction must come before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dependency {
    /// The one.
    pub from: TransactionId,
    /// The other.
    pub to: TransactionId,
    /// Why.
    pub kind: DependencyKind,
    /// The row it is about.
    pub object: Object,
    /// The row was not read, but its absence was noticed by a condition.
    pub by_predicate: bool,
}

impl fmt::Display for Dependency {
    /// As in `T1 -rw on 1/7->`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            DependencyKind::WriteWrite => "ww",
            DependencyKind::WriteRead => "wr",
            DependencyKind::ReadWrite => "rw",
        };
        let by = if self.by_predicate { " by condition" } else { "" };
        write!(f, "{} -{kind} on {}{by}->", self.from, self.object)
    }
}

/// Nodes are positions in the history.
pub(crate) type Graph = DiGraph<TransactionId, Dependency>;

/// Builds the graph; reads that are wrong by themselves become anomalies.
pub(crate) fn graph(history: &History, versions: &Versions, anomalies: &mut Vec<Anomaly>) -> Graph {
    let mut graph = Graph::new();
    for transaction in &history.transactions {
        graph.add_node(transaction.id);
    }
    let mut builder = Builder { history, versions, graph, known: HashSet::new() };
    for (object, order) in &versions.of {
        for pair in order.windows(2) {
            let [before, after] = [versions.by_id[&pair[0]], versions.by_id[&pair[1]]];
            // An insert after a delete makes another row of the same key. It overwrites nothing; but who deleted the
            // row had looked for the key, and would now find one.
            let is_reborn = before.class.is_none();
            let kind = if is_reborn { DependencyKind::ReadWrite } else { DependencyKind::WriteWrite };
            builder.add(before.writer, after.writer, kind, *object, is_reborn);
        }
    }
    for (number, transaction) in history.transactions.iter().enumerate() {
        if committed(transaction.end).is_some() {
            builder.add_reads(number, anomalies);
        }
    }
    builder.graph
}

/// The last write of a transaction to a row so far.
#[derive(Clone, Copy)]
struct Own {
    version: VersionId,
    class: Option<i64>,
    /// Some of its writes to the row are undone, so the version that it sees is unknown again.
    has_undone: bool,
    /// It inserted the row. Under a snapshot, a row of the same key that was deleted meanwhile may still be there for it.
    is_inserted: bool,
}

struct Builder<'h> {
    history: &'h History,
    versions: &'h Versions,
    graph: Graph,
    known: HashSet<(usize, usize, DependencyKind, bool)>,
}

impl Builder<'_> {
    fn add(&mut self, from: usize, to: usize, kind: DependencyKind, object: Object, by_predicate: bool) {
        if from == to || !self.known.insert((from, to, kind, by_predicate)) {
            return;
        }
        let id = |number: usize| self.history.transactions[number].id;
        let dependency = Dependency { from: id(from), to: id(to), kind, object, by_predicate };
        self.graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), dependency);
    }

    fn add_reads(&mut self, reader: usize, anomalies: &mut Vec<Anomaly>) {
        let history = self.history;
        let mut own: HashMap<Object, Own> = HashMap::new();
        for operation in &history.transactions[reader].operations {
            match operation {
                Operation::Write(write) => {
                    if let Some(replaced) = write.replaces {
                        self.versions.check_read(history, reader, write.object, replaced, anomalies);
                    }
                    let before = own.get(&write.object);
                    let now = Own {
                        version: write.version,
                        class: write.class,
                        has_undone: write.is_undone || before.is_some_and(|own| own.has_undone),
                        is_inserted: before.map_or(write.replaces.is_none(), |own| own.is_inserted),
                    };
                    own.insert(write.object, now);
                }
                Operation::Read(read) => self.add_read(reader, read.object, read.version, &own, anomalies),
                Operation::PredicateRead(read) => self.add_predicate_read(reader, read, &own, anomalies),
            }
        }
    }

    fn add_read(
        &mut self,
        reader: usize,
        object: Object,
        version: VersionId,
        own: &HashMap<Object, Own>,
        anomalies: &mut Vec<Anomaly>,
    ) {
        if let Some(own) = own.get(&object)
            && !own.has_undone
            && own.version != version
            && (!own.is_inserted || self.is_of(reader, version))
        {
            let what = format!("read {version} of {object} after it had written {}", own.version);
            anomalies.push(Anomaly::of(AnomalyKind::Internal, vec![self.history.transactions[reader].id], what));
            return;
        }
        if !self.versions.check_read(self.history, reader, object, version, anomalies) {
            return;
        }
        let found = self.versions.by_id[&version];
        let Some(place) = found.place else { return };
        if found.writer == reader {
            return;
        }
        self.add(found.writer, reader, DependencyKind::WriteRead, object, false);
        if let Some((_, next)) = self.versions.next_installed(object, place) {
            self.add(reader, next.writer, DependencyKind::ReadWrite, object, false);
        }
    }

    fn is_of(&self, writer: usize, version: VersionId) -> bool {
        self.versions.by_id.get(&version).is_some_and(|version| version.writer == writer)
    }

    fn add_predicate_read(
        &mut self,
        reader: usize,
        read: &PredicateRead,
        own: &HashMap<Object, Own>,
        anomalies: &mut Vec<Anomaly>,
    ) {
        let id = self.history.transactions[reader].id;
        let mut report = |what: String| anomalies.push(Anomaly::of(AnomalyKind::Internal, vec![id], what));
        let mut seen = HashSet::new();
        for item in &read.seen {
            if !seen.insert((item.object, self.is_of(reader, item.version))) {
                report(format!("met {} twice in one scan", item.object));
            }
            let class = self.versions.by_id.get(&item.version).and_then(|version| version.class);
            if !read.predicate.covers(item.object) || !read.predicate.holds_for(class) {
                report(format!("found {} of {}, which does not satisfy its condition", item.version, item.object));
            }
        }
        for (object, own) in own {
            let must_be_there =
                !own.has_undone && read.predicate.covers(*object) && read.predicate.holds_for(own.class);
            if must_be_there && !seen.contains(&(*object, true)) {
                report(format!("did not find {} of {object}, which it had written", own.version));
            }
        }
        for item in &read.seen {
            self.add_read(reader, item.object, item.version, own, anomalies);
        }
        let key = |key: i64| Object { table: read.predicate.table, key };
        let (low, high) = (*read.predicate.keys.start(), *read.predicate.keys.end());
        if low > high {
            return;
        }
        let versions = self.versions;
        for (object, order) in versions.of.range(key(low)..=key(high)) {
            if !seen.contains(&(*object, false)) && !own.contains_key(object) {
                self.add_absence(reader, read, *object, order);
            }
        }
    }

    /// A row that is in a scan's range was not found: the version that was looked at did not satisfy the condition, or
    /// there was none. Which one it was must be inferred, and where that is in doubt, only what every answer implies counts.
    fn add_absence(&mut self, reader: usize, read: &PredicateRead, object: Object, order: &[VersionId]) {
        let installed: Vec<_> =
            order.iter().map(|id| self.versions.by_id[id]).filter(|version| version.fate == Fate::Installed).collect();
        let holds = |place: usize| place > 0 && read.predicate.holds_for(installed[place - 1].class);
        let span = |place: usize| -> Option<Span> {
            let writer = installed.get(place.checked_sub(1)?)?.writer;
            committed(self.history.transactions[writer].end)
        };
        // Place 0 stands for the time before the row's first insert.
        let unsatisfying = || (0..=installed.len()).filter(|place| !holds(*place));
        let is_possible = |place: &usize| {
            let too_late = span(*place).is_some_and(|commit| commit.began > read.looked.ended);
            let too_early = span(place + 1).is_some_and(|commit| commit.ended < read.looked.began);
            !too_late && !too_early
        };
        let possible: Vec<usize> = unsatisfying().filter(is_possible).collect();
        let (Some(first), Some(last)) = (
            possible.first().copied().or_else(|| unsatisfying().next()),
            possible.last().copied().or_else(|| unsatisfying().next_back()),
        ) else {
            return;
        };
        // The write that took the row out of the condition, and the one that brings it in again.
        let taken_out = (1..=first).rev().find(|place| holds(place - 1));
        let brought_in = (last + 1..=installed.len()).find(|place| holds(*place));
        if let Some(place) = taken_out {
            self.add(installed[place - 1].writer, reader, DependencyKind::WriteRead, object, true);
        }
        if let Some(place) = brought_in {
            self.add(reader, installed[place - 1].writer, DependencyKind::ReadWrite, object, true);
        }
    }
}
