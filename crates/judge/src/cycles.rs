//! Cycles of the dependency graph, by what they are made of.
//!
//! Each kind of cycle lives in the strongly connected components of a part of the graph, so that a clean history costs four
//! linear passes. Where a component is found, a short cycle through some of its edges is sought, breadth first.

use std::collections::{HashMap, VecDeque};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, EdgeIndex, NodeIndex};
use petgraph::visit::EdgeRef;

use crate::dependencies::{Dependency, DependencyKind, Graph};

/// Cycles are sought through this many edges of a component at most; the shortest one is reported.
const EDGES_TRIED: usize = 200;

/// One short cycle for each component of the edges that `is_used`, through an edge that is `wanted`.
pub(crate) fn cycles(
    graph: &Graph,
    is_used: impl Fn(&Dependency) -> bool,
    wanted: impl Fn(&Dependency) -> bool,
) -> Vec<Vec<Dependency>> {
    // The same nodes, and only the edges that count.
    let part = graph.filter_map(|_, id| Some(*id), |_, edge| is_used(edge).then_some(*edge));
    let component = components(&part);
    let mut tried: HashMap<usize, usize> = HashMap::new();
    let mut best: HashMap<usize, Vec<Dependency>> = HashMap::new();
    for edge in part.edge_references() {
        let (from, to) = (edge.source(), edge.target());
        let number = component[from.index()];
        if number != component[to.index()] || !wanted(edge.weight()) {
            continue;
        }
        let tried = tried.entry(number).or_default();
        *tried += 1;
        if *tried > EDGES_TRIED {
            continue;
        }
        let inside = |node: NodeIndex| component[node.index()] == number;
        if let Some(path) = shortest_path(&part, to, from, inside) {
            let cycle: Vec<_> = std::iter::once(*edge.weight()).chain(path.iter().map(|edge| part[*edge])).collect();
            let shortest = best.entry(number).or_insert_with(|| cycle.clone());
            if cycle.len() < shortest.len() {
                *shortest = cycle;
            }
        }
    }
    in_order(best)
}

/// Short cycles with rw edges of which no two are neighbours, one for each component.
///
/// Each transaction is there twice: as reached by an rw edge, after which none may follow, and as reached otherwise.
pub(crate) fn cycles_without_adjacent_rw(graph: &Graph) -> Vec<Vec<Dependency>> {
    let mut product: DiGraph<(), Dependency> = DiGraph::new();
    for _ in 0..graph.node_count() * 2 {
        product.add_node(());
    }
    let node = |node: NodeIndex, by_rw: bool| NodeIndex::new(node.index() * 2 + usize::from(by_rw));
    for edge in graph.edge_references() {
        let is_rw = edge.weight().kind == DependencyKind::ReadWrite;
        product.add_edge(node(edge.source(), false), node(edge.target(), is_rw), *edge.weight());
        if !is_rw {
            product.add_edge(node(edge.source(), true), node(edge.target(), false), *edge.weight());
        }
    }
    let component = components(&product);
    let mut tried: HashMap<usize, usize> = HashMap::new();
    let mut best: HashMap<usize, Vec<Dependency>> = HashMap::new();
    for edge in product.edge_references().filter(|edge| edge.weight().kind == DependencyKind::ReadWrite) {
        let number = component[edge.source().index()];
        if number != component[edge.target().index()] {
            continue;
        }
        let tried = tried.entry(number).or_default();
        *tried += 1;
        if *tried > EDGES_TRIED {
            continue;
        }
        let inside = |node: NodeIndex| component[node.index()] == number;
        if let Some(path) = shortest_path(&product, edge.target(), edge.source(), inside) {
            let cycle: Vec<_> = std::iter::once(*edge.weight()).chain(path.iter().map(|edge| product[*edge])).collect();
            let shortest = best.entry(number).or_insert_with(|| cycle.clone());
            // The fewest rw edges say most.
            let cost = |cycle: &[Dependency]| (rw_count(cycle), cycle.len());
            if cost(&cycle) < cost(shortest) {
                *shortest = cycle;
            }
        }
    }
    in_order(best)
}

/// How many of a cycle's edges are rw.
pub(crate) fn rw_count(cycle: &[Dependency]) -> usize {
    cycle.iter().filter(|edge| edge.kind == DependencyKind::ReadWrite).count()
}

/// For each node the number of its strongly connected component.
fn components<N, E>(graph: &DiGraph<N, E>) -> Vec<usize> {
    let mut component = vec![0; graph.node_count()];
    for (number, members) in tarjan_scc(graph).into_iter().enumerate() {
        for member in members {
            component[member.index()] = number;
        }
    }
    component
}

/// The edges of a shortest path between two nodes, none if they are the same.
fn shortest_path<N, E>(
    graph: &DiGraph<N, E>,
    from: NodeIndex,
    to: NodeIndex,
    inside: impl Fn(NodeIndex) -> bool,
) -> Option<Vec<EdgeIndex>> {
    let mut reached_by: HashMap<NodeIndex, EdgeIndex> = HashMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        if node == to {
            let mut path = Vec::new();
            let mut node = to;
            while node != from {
                let edge = reached_by[&node];
                path.push(edge);
                node = graph.edge_endpoints(edge)?.0;
            }
            path.reverse();
            return Some(path);
        }
        for edge in graph.edges(node) {
            let next = edge.target();
            if next != from && inside(next) && !reached_by.contains_key(&next) {
                reached_by.insert(next, edge.id());
                queue.push_back(next);
            }
        }
    }
    None
}

fn in_order(best: HashMap<usize, Vec<Dependency>>) -> Vec<Vec<Dependency>> {
    let mut cycles: Vec<_> = best.into_values().collect();
    cycles.sort_by_key(|cycle| (cycle.len(), cycle.iter().map(|edge| edge.from).collect::<Vec<_>>()));
    cycles
}
