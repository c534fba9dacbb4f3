//! Anomalies of a history, and the isolation levels that forbid them.

use std::fmt;

use crate::cycles::{cycles, cycles_without_adjacent_rw, rw_count};
use crate::dependencies::{Dependency, DependencyKind, graph};
use crate::history::{History, TransactionId};
use crate::order::{Versions, committed};

/// The kinds of anomalies. The names are those of Adya's thesis, where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnomalyKind {
    /// Two writes replaced the same version, or a key was there twice: the versions have no order.
    Fork,
    /// A transaction did not see what it had itself written, or saw what nobody wrote.
    Internal,
    /// Dirty writes: a cycle of ww.
    G0,
    /// An aborted read: what was used was rolled back.
    G1a,
    /// An intermediate read: what was used was overwritten by its own transaction.
    G1b,
    /// Circular information flow: a cycle of ww and wr.
    G1c,
    /// A cycle with exactly one rw: read skew, lost update.
    GSingle,
    /// A cycle with several rw, no two of them neighbours: impossible under snapshots, too.
    GNonadjacent,
    /// A cycle with several rw, all of rows that were read: write skew.
    G2Item,
    /// A cycle with several rw, conditions among them: write skew with phantoms.
    G2,
}

/// An isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Adya's PL-2: only what is committed is seen.
    ReadCommitted,
    /// Snapshot isolation, which PostgreSQL calls repeatable read.
    SnapshotIsolation,
    /// Adya's PL-3: as if one transaction had run after the other.
    Serializable,
}

impl AnomalyKind {
    /// The weakest level that forbids it.
    pub fn forbidden_from(self) -> Level {
        use AnomalyKind::*;
        match self {
            Fork | Internal | G0 | G1a | G1b | G1c => Level::ReadCommitted,
            GSingle | GNonadjacent => Level::SnapshotIsolation,
            G2Item | G2 => Level::Serializable,
        }
    }

    fn name(self) -> &'static str {
        match self {
            AnomalyKind::Fork => "fork",
            AnomalyKind::Internal => "internal",
            AnomalyKind::G0 => "G0",
            AnomalyKind::G1a => "G1a",
            AnomalyKind::G1b => "G1b",
            AnomalyKind::G1c => "G1c",
            AnomalyKind::GSingle => "G-single",
            AnomalyKind::GNonadjacent => "G-nonadjacent",
            AnomalyKind::G2Item => "G2-item",
            AnomalyKind::G2 => "G2",
        }
    }
}

/// Something wrong with a history.
#[derive(Clone, Debug)]
pub struct Anomaly {
    /// The kind of anomaly.
    pub kind: AnomalyKind,
    /// The transactions that take part. Those of a cycle are in the cycle's order; otherwise a writer comes before a reader.
    pub transactions: Vec<TransactionId>,
    /// The cycle's dependencies; empty for an anomaly that is no cycle.
    pub cycle: Vec<Dependency>,
    /// A description in words of an anomaly that is no cycle.
    pub description: String,
}

impl Anomaly {
    pub(crate) fn of(kind: AnomalyKind, transactions: Vec<TransactionId>, description: String) -> Anomaly {
        Anomaly { kind, transactions, cycle: Vec::new(), description }
    }

    fn of_cycle(kind: AnomalyKind, mut cycle: Vec<Dependency>) -> Anomaly {
        let first = (0..cycle.len()).min_by_key(|position| cycle[*position].from).unwrap_or(0);
        cycle.rotate_left(first);
        let transactions = cycle.iter().map(|edge| edge.from).collect();
        Anomaly { kind, transactions, cycle, description: String::new() }
    }

    /// Whether a transaction overwrote an update that it had not seen, of a row that it had read.
    pub fn is_lost_update(&self) -> bool {
        let [one, other] = &self.cycle[..] else { return false };
        let kinds = [one.kind.min(other.kind), one.kind.max(other.kind)];
        self.kind == AnomalyKind::GSingle
            && kinds == [DependencyKind::WriteWrite, DependencyKind::ReadWrite]
            && one.object == other.object
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}:", self.kind.name(), if self.is_lost_update() { " (lost update)" } else { "" })?;
        if self.cycle.is_empty() {
            let names: Vec<String> = self.transactions.iter().map(TransactionId::to_string).collect();
            return write!(f, " {}: {}", names.join(", "), self.description);
        }
        for edge in &self.cycle {
            write!(f, " {edge}")?;
        }
        self.cycle.first().map_or(Ok(()), |first| write!(f, " {}", first.from))
    }
}

/// The judgement of a history.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The anomalies: all that are no cycles, and for each strongly connected component of transactions a short cycle of each kind.
    pub anomalies: Vec<Anomaly>,
    /// Transactions that committed.
    pub committed: usize,
    /// Dependencies between them.
    pub dependencies: usize,
}

impl Verdict {
    /// The anomalies of the history that a level forbids.
    pub fn violations(&self, level: Level) -> impl Iterator<Item = &Anomaly> {
        self.anomalies.iter().filter(move |anomaly| anomaly.kind.forbidden_from() <= level)
    }

    /// The anomalies of one kind.
    pub fn of_kind(&self, kind: AnomalyKind) -> impl Iterator<Item = &Anomaly> {
        self.anomalies.iter().filter(move |anomaly| anomaly.kind == kind)
    }
}

/// Judges a history.
///
/// # Panics
/// If a version was written twice: then the history was recorded wrongly.
pub fn examine(history: &History) -> Verdict {
    let mut anomalies = Vec::new();
    let versions = Versions::read(history, &mut anomalies);
    let graph = graph(history, &versions, &mut anomalies);
    let is_ww = |edge: &Dependency| edge.kind == DependencyKind::WriteWrite;
    let is_rw = |edge: &Dependency| edge.kind == DependencyKind::ReadWrite;
    let is_wr = |edge: &Dependency| edge.kind == DependencyKind::WriteRead;
    let mut enter = |kind, cycle| anomalies.push(Anomaly::of_cycle(kind, cycle));
    for cycle in cycles(&graph, is_ww, is_ww) {
        enter(AnomalyKind::G0, cycle);
    }
    for cycle in cycles(&graph, |edge| !is_rw(edge), is_wr) {
        enter(AnomalyKind::G1c, cycle);
    }
    for cycle in cycles_without_adjacent_rw(&graph) {
        let kind = if rw_count(&cycle) == 1 { AnomalyKind::GSingle } else { AnomalyKind::GNonadjacent };
        enter(kind, cycle);
    }
    let of_rows = |edge: &Dependency| !(is_rw(edge) && edge.by_predicate);
    for cycle in cycles(&graph, of_rows, is_rw).into_iter().filter(|cycle| has_adjacent_rw(cycle)) {
        enter(AnomalyKind::G2Item, cycle);
    }
    let of_predicates = |edge: &Dependency| is_rw(edge) && edge.by_predicate;
    for cycle in cycles(&graph, |_| true, of_predicates).into_iter().filter(|cycle| has_adjacent_rw(cycle)) {
        enter(AnomalyKind::G2, cycle);
    }
    let committed = history.transactions.iter().filter(|transaction| committed(transaction.end).is_some()).count();
    Verdict { anomalies, committed, dependencies: graph.edge_count() }
}

/// Whether two rw edges follow each other somewhere: what tells write skew from the anomalies above it.
fn has_adjacent_rw(cycle: &[Dependency]) -> bool {
    let is_rw = |position: usize| cycle[position % cycle.len()].kind == DependencyKind::ReadWrite;
    cycle.len() > 1 && (0..cycle.len()).any(|position| is_rw(position) && is_rw(position + 1))
}
