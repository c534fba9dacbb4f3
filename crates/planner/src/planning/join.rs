//! Join orders: left-deep ones, searched greedily from every start, by cost.

use base::{Error, Result};
use plan::bound::{Query, RelationKind, for_each_inner};
use plan::{Expr, ExprKind, JoinKind};
use types::functions::join_keys::join_key;
use types::{OperatorRole, SqlType, oids};

use super::access::{Offered, ScanPath, is_hashable};
use super::flatten::{Group, OuterJoin, RelationSet, Unit, relations_of};
use super::selectivity::{Relations, conjunction};
use super::{DISABLED_COST, Planner};
use crate::binder::call_unnamed;

/// Where there are fewer rows on a side, and hashing is allowed, nobody looks for a merge join.
pub(super) const MERGED_ROWS_MIN: f64 = 10_000.0;

/// A way to the rows of some entries.
#[derive(Debug)]
pub(super) enum Path {
    /// No entry at all: one row without columns.
    Nothing,
    /// One entry; the conditions are what its access does not make sure of.
    Scan {
        /// The access.
        scan: ScanPath,
        /// Tested on each row.
        conditions: Vec<Expr>,
    },
    /// A join.
    Join(Box<JoinPath>),
    /// Conditions on another path's rows.
    Filter {
        /// The path.
        input: Box<Path>,
        /// The conditions.
        conditions: Vec<Expr>,
    },
}

/// A join of two paths.
#[derive(Debug)]
pub(super) struct JoinPath {
    pub(super) kind: JoinKind,
    pub(super) left: Path,
    pub(super) right: Path,
    pub(super) method: Method,
    /// The further conditions of the join, besides those of `method`.
    pub(super) conditions: Vec<Expr>,
    pub(super) rows: f64,
    pub(super) cost: f64,
}

/// How two sides are joined.
#[derive(Debug)]
pub(super) enum Method {
    /// The right side is run for each left row; it may read it.
    Nested {
        /// It does not, so its rows can be kept.
        keep_right: bool,
    },
    /// By these equalities, left and right.
    Hash {
        /// Over the left side.
        left_keys: Vec<Expr>,
        /// Over the right side.
        right_keys: Vec<Expr>,
    },
    /// By these equalities, both sides in their order.
    Merge {
        /// Over the left side.
        left_keys: Vec<Expr>,
        /// Over the right side.
        right_keys: Vec<Expr>,
        /// The left side does not come in that order.
        sorts_left: bool,
        /// The right side does not.
        sorts_right: bool,
    },
}

impl Path {
    /// The expected rows.
    pub(super) fn rows(&self) -> f64 {
        match self {
            Path::Nothing => 1.0,
            Path::Scan { scan, .. } => scan.rows,
            Path::Join(join) => join.rows,
            Path::Filter { input, .. } => input.rows(),
        }
    }

    /// The expected cost.
    pub(super) fn cost(&self) -> f64 {
        match self {
            Path::Nothing => 0.01,
            Path::Scan { scan, .. } => scan.cost,
            Path::Join(join) => join.cost,
            Path::Filter { input, .. } => input.cost(),
        }
    }

    /// Calls `visit` for every expression in it.
    pub(super) fn for_each_expr<'p>(&'p self, visit: &mut dyn FnMut(&'p Expr)) {
        use super::access::{Access, KeyValue};
        match self {
            Path::Nothing => {}
            Path::Scan { scan, conditions } => {
                conditions.iter().for_each(&mut *visit);
                match &scan.access {
                    Access::Sequential => {}
                    Access::Point { key, .. } => key.iter().for_each(visit),
                    Access::Virtual { equal } => equal.iter().for_each(|(_, value)| visit(value)),
                    Access::Index(index) => {
                        for key in &index.equal {
                            if let KeyValue::Equal(value) | KeyValue::AnyOf(value) = key {
                                visit(value);
                            }
                        }
                        index.lower.iter().chain(&index.upper).for_each(|(bound, _)| visit(bound));
                    }
                }
            }
            Path::Join(join) => {
                join.left.for_each_expr(visit);
                join.right.for_each_expr(visit);
                join.conditions.iter().for_each(&mut *visit);
                if let Method::Hash { left_keys, right_keys } | Method::Merge { left_keys, right_keys, .. } =
                    &join.method
                {
                    left_keys.iter().chain(right_keys).for_each(visit);
                }
            }
            Path::Filter { input, conditions } => {
                input.for_each_expr(visit);
                conditions.iter().for_each(visit);
            }
        }
    }

    /// Whether rows may be made up, or come from elsewhere than single rows of the entries.
    pub(super) fn has_outer_join(&self) -> bool {
        match self {
            Path::Nothing | Path::Scan { .. } => false,
            Path::Filter { input, .. } => input.has_outer_join(),
            Path::Join(join) => {
                join.kind != JoinKind::Inner || join.left.has_outer_join() || join.right.has_outer_join()
            }
        }
    }
}

/// A unit of a group, with the facts about it that the search needs.
struct Candidate {
    unit: Option<Unit>,
    set: RelationSet,
    /// Entries whose columns it reads: they must come before it.
    requires: RelationSet,
    /// On its own.
    path: Option<Path>,
    rows: f64,
    cost: f64,
}

/// A condition, with the entries it reads.
struct Pending {
    expr: Option<Expr>,
    set: RelationSet,
}

/// How a unit is joined to the units that are joined already.
struct Step {
    rows: f64,
    cost: f64,
    method: StepMethod,
}

enum StepMethod {
    /// A nested loop over the unit's own path.
    Nested,
    /// A nested loop over an access that reads the left row.
    Lookup(ScanPath),
    /// By hash; `swapped` builds on the left side.
    Hash { swapped: bool },
    /// By merging; a side that an index gives in order has that access here, the others are sorted.
    Merge { left: Option<ScanPath>, right: Option<ScanPath> },
}

/// The entries that a join reads laterally: those that its own entries read, and conditions within it.
fn requirements_of_join(query: &Query, join: &OuterJoin) -> RelationSet {
    let own = join.left.relations() | join.right.relations();
    let conditions = join.conditions.iter().fold(0, |set, condition| set | relations_of(condition));
    (conditions | requirements_of_group(query, &join.left) | requirements_of_group(query, &join.right)) & !own
}

/// The entries outside of a group that it reads laterally.
pub(super) fn requirements_of_group(query: &Query, group: &Group) -> RelationSet {
    let conditions = group.conditions.iter().fold(0, |set, condition| set | relations_of(condition));
    let units = group.units.iter().fold(0, |set, unit| match unit {
        Unit::Relation(relation) => set | lateral_requirements(query, *relation),
        Unit::Outer(join) => set | requirements_of_join(query, join),
    });
    (conditions | units) & !group.relations()
}

/// The entries that a subquery or function in FROM reads laterally.
pub(super) fn lateral_requirements(query: &Query, relation: u32) -> RelationSet {
    let mut set = 0;
    let mut add = |expr: &Expr, depth: u32| {
        for_each_inner(expr, depth, &mut |inner, depth| {
            if let ExprKind::Variable(variable) = &inner.kind
                && variable.level == depth
            {
                set |= 1 << variable.relation.min(127);
            }
        });
    };
    match &query.relations[relation as usize].kind {
        RelationKind::Subquery(inner) => inner.for_each_expr(1, &mut add),
        RelationKind::Function { calls, .. } => {
            calls.iter().flat_map(|call| &call.arguments).for_each(|argument| add(argument, 0));
        }
        RelationKind::Values(rows) => rows.iter().flatten().for_each(|value| add(value, 0)),
        _ => {}
    }
    set
}

impl Planner<'_, '_> {
    /// The cheapest path found for a group's rows.
    pub(super) fn plan_group(&mut self, relations: &Relations<'_>, group: Group) -> Result<Path> {
        self.plan_group_after(relations, group, 0)
    }

    /// As [`Planner::plan_group`], where the entries in `outer` can be read.
    pub(super) fn plan_group_after(
        &mut self,
        relations: &Relations<'_>,
        group: Group,
        outer: RelationSet,
    ) -> Result<Path> {
        let Group { units, conditions } = group;
        let mut pending = conditions
            .into_iter()
            .map(|expr| Pending { set: relations_of(&expr), expr: Some(expr) })
            .collect::<Vec<_>>();
        let mut candidates = Vec::with_capacity(units.len());
        for unit in units {
            candidates.push(self.candidate(relations, unit, &mut pending, outer)?);
        }
        let path = match candidates.len() {
            0 => Path::Nothing,
            1 => candidates.remove(0).path.expect("a candidate has its own path"),
            _ => self.search(relations, candidates, &mut pending)?,
        };
        let rest = pending.into_iter().filter_map(|pending| pending.expr).collect::<Vec<_>>();
        Ok(if rest.is_empty() { path } else { Path::Filter { input: Box::new(path), conditions: rest } })
    }

    /// A unit with its own path; the conditions on it alone are taken from `pending`.
    fn candidate(
        &mut self,
        relations: &Relations<'_>,
        unit: Unit,
        pending: &mut [Pending],
        outer: RelationSet,
    ) -> Result<Candidate> {
        let set = unit.relations();
        match unit {
            Unit::Relation(relation) => {
                let requires = lateral_requirements(relations.query, relation) & !outer;
                let own = pending.iter_mut().filter(|pending| pending.set == set);
                let own = own.filter_map(|pending| pending.expr.take()).collect::<Vec<_>>();
                let path = self.scan(relations, relation, own)?;
                let (rows, cost) = (path.rows(), path.cost());
                let unit = Some(Unit::Relation(relation));
                Ok(Candidate { unit, set, requires, path: Some(path), rows, cost })
            }
            Unit::Outer(join) => {
                let requires = requirements_of_join(relations.query, &join);
                let path = self.plan_outer_join(relations, *join)?;
                let (rows, cost) = (path.rows(), path.cost());
                let own = pending.iter_mut().filter(|pending| pending.set != 0 && pending.set & !set == 0);
                let own = own.filter_map(|pending| pending.expr.take()).collect::<Vec<_>>();
                let share = conjunction(own.iter(), relations);
                let path = if own.is_empty() { path } else { Path::Filter { input: Box::new(path), conditions: own } };
                Ok(Candidate {
                    unit: None,
                    set,
                    requires: requires & !set & !outer,
                    path: Some(path),
                    rows: (rows * share).max(1.0),
                    cost,
                })
            }
        }
    }

    /// The cheapest access to an entry under conditions on it alone.
    fn scan(&mut self, relations: &Relations<'_>, relation: u32, conditions: Vec<Expr>) -> Result<Path> {
        let own: RelationSet = 1 << relation;
        let scan = {
            let offered = conditions.iter().map(|condition| Offered { condition, relations: own });
            self.cheapest_access(relations, relation, &offered.collect::<Vec<_>>(), 0)?
        };
        Ok(scan_path(scan, conditions))
    }

    /// Tries left-deep orders and builds the cheapest.
    fn search(
        &mut self,
        relations: &Relations<'_>,
        mut candidates: Vec<Candidate>,
        pending: &mut [Pending],
    ) -> Result<Path> {
        let mut best: Option<(f64, Vec<usize>)> = None;
        for start in 0..candidates.len() {
            if candidates[start].requires != 0 {
                continue;
            }
            let (cost, order) = self.greedy(relations, &candidates, pending, start)?;
            if order.len() == candidates.len() && best.as_ref().is_none_or(|(cheapest, _)| cost < *cheapest) {
                best = Some((cost, order));
            }
        }
        let Some((_, order)) = best else {
            return Err(Error::internal("no join order satisfies the query's lateral references"));
        };
        let first = order[0];
        let mut path = candidates[first].path.take().expect("each is taken once");
        let mut set = candidates[first].set;
        let (mut rows, mut cost) = (candidates[first].rows, candidates[first].cost);
        for next in order.into_iter().skip(1) {
            let step = self.step(relations, &candidates[next], Some(&path), pending, set, rows, cost)?;
            let all = set | candidates[next].set;
            path = self.build_step(path, &mut candidates[next], pending, set, &step)?;
            (set, rows, cost) = (all, step.rows, step.cost);
        }
        Ok(path)
    }

    /// From one start, always the step that leaves the least cost and rows.
    fn greedy(
        &mut self,
        relations: &Relations<'_>,
        candidates: &[Candidate],
        pending: &[Pending],
        start: usize,
    ) -> Result<(f64, Vec<usize>)> {
        let mut order = vec![start];
        let mut set = candidates[start].set;
        let (mut rows, mut cost) = (candidates[start].rows, candidates[start].cost);
        while order.len() < candidates.len() {
            let mut best: Option<(usize, Step, bool)> = None;
            for (index, candidate) in candidates.iter().enumerate() {
                if order.contains(&index) || candidate.requires & !set != 0 {
                    continue;
                }
                sync::yield_point()?;
                let left = candidates[start].path.as_ref().filter(|_| order.len() == 1);
                let step = self.step(relations, candidate, left, pending, set, rows, cost)?;
                let all = set | candidate.set;
                let connected = candidate.requires != 0
                    || pending.iter().any(|pending| {
                        pending.expr.is_some()
                            && pending.set & candidate.set != 0
                            && pending.set & set != 0
                            && pending.set & !all == 0
                    });
                let better = best.as_ref().is_none_or(|(_, cheapest, was_connected)| {
                    // Products come last.
                    (connected && !was_connected)
                        || (connected == *was_connected && step.cost + step.rows < cheapest.cost + cheapest.rows)
                });
                if better {
                    best = Some((index, step, connected));
                }
            }
            let Some((index, step, _)) = best else { break };
            order.push(index);
            set |= candidates[index].set;
            (rows, cost) = (step.rows, step.cost);
        }
        Ok((cost, order))
    }

    /// The cheapest way to join a unit to the units that are joined already. `left` is their path, if it is known.
    #[expect(clippy::too_many_arguments, reason = "what is there is told by its parts")]
    fn step(
        &mut self,
        relations: &Relations<'_>,
        candidate: &Candidate,
        left: Option<&Path>,
        pending: &[Pending],
        set: RelationSet,
        rows: f64,
        cost: f64,
    ) -> Result<Step> {
        let all = set | candidate.set;
        let joining = pending
            .iter()
            .filter(|pending| pending.expr.is_some() && pending.set & candidate.set != 0 && pending.set & !all == 0);
        let joining = joining.filter_map(|pending| pending.expr.as_ref().map(|expr| (expr, pending.set)));
        let joining = joining.collect::<Vec<_>>();
        let share = conjunction(joining.iter().map(|(expr, _)| *expr), relations);
        let joined = (rows * candidate.rows * share).max(1.0);
        let settings = self.context.settings;
        let lateral = candidate.requires != 0;
        // A kept inner side is computed once, and its rows are looked at for every outer row.
        let penalty = if settings.enable_nestloop { 0.0 } else { DISABLED_COST };
        let nested = if lateral {
            cost + rows * candidate.cost.max(0.01)
        } else {
            cost + candidate.cost + rows * candidate.rows * settings.costs.cpu_operator_cost * 2.0
        };
        let per_row = joined * settings.costs.cpu_tuple_cost;
        let mut best = Step { rows: joined, cost: nested + per_row + penalty, method: StepMethod::Nested };
        if let (Some(Unit::Relation(relation)), false) = (&candidate.unit, lateral)
            && let Some(Path::Scan { conditions, .. }) = &candidate.path
            && matches!(
                relations.query.relations[*relation as usize].kind,
                RelationKind::Table(_) | RelationKind::Virtual(_)
            )
        {
            let own = self.own_conditions(candidate, conditions);
            let offered = own.iter().map(|(condition, relations)| Offered { condition, relations: *relations });
            let joining = joining.iter().map(|(condition, relations)| Offered { condition, relations: *relations });
            let offered = offered.chain(joining).collect::<Vec<_>>();
            let lookup = self.cheapest_access(relations, *relation, &offered, set)?;
            if lookup.requires != 0 {
                let cost = cost + rows * lookup.cost + per_row + penalty;
                if cost < best.cost {
                    best = Step { rows: joined, cost, method: StepMethod::Lookup(lookup) };
                }
            }
        }
        if !lateral
            && settings.enable_hashjoin
            && joining.iter().any(|(expr, _)| hash_keys(expr, set, candidate.set).is_some())
        {
            let swapped = candidate.rows > rows;
            let (build, probe) = if swapped { (rows, candidate.rows) } else { (candidate.rows, rows) };
            let hash = cost
                + candidate.cost
                + build * (settings.costs.cpu_tuple_cost + settings.costs.cpu_operator_cost) * 1.5
                + probe * settings.costs.cpu_operator_cost * 2.0
                + per_row;
            if hash < best.cost {
                best = Step { rows: joined, cost: hash, method: StepMethod::Hash { swapped } };
            }
        }
        // Few rows are hashed sooner than an order for them is found.
        let is_worth_it = !settings.enable_hashjoin || rows.min(candidate.rows) >= MERGED_ROWS_MIN;
        if !lateral && settings.enable_mergejoin && is_worth_it {
            let keys = joining.iter().filter_map(|(expr, _)| merge_keys(expr, set, candidate.set)).collect::<Vec<_>>();
            let least = cost + candidate.cost + (rows + candidate.rows) * settings.costs.cpu_operator_cost + per_row;
            if !keys.is_empty() && least < best.cost {
                let (left_keys, right_keys): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
                let (left_cost, left) = self.in_order(relations, left, &left_keys, rows, cost)?;
                let own = candidate.path.as_ref();
                let (right_cost, right) = self.in_order(relations, own, &right_keys, candidate.rows, candidate.cost)?;
                let merge =
                    left_cost + right_cost + (rows + candidate.rows) * settings.costs.cpu_operator_cost + per_row;
                if merge < best.cost {
                    best = Step { rows: joined, cost: merge, method: StepMethod::Merge { left, right } };
                }
            }
        }
        Ok(best)
    }

    /// The cost of getting a path's rows in the order of these keys. Also the access that gives them in this order, if one costs less than
    /// sorting them.
    pub(super) fn in_order(
        &mut self,
        relations: &Relations<'_>,
        path: Option<&Path>,
        keys: &[Expr],
        rows: f64,
        cost: f64,
    ) -> Result<(f64, Option<ScanPath>)> {
        let settings = self.context.settings;
        let sort = rows * (rows + 2.0).log2() * 2.0 * settings.costs.cpu_operator_cost;
        let sorted = cost + if settings.enable_sort { sort } else { sort + DISABLED_COST };
        let Some(Path::Scan { scan, conditions }) = path else { return Ok((sorted, None)) };
        let relation = scan.relation;
        let mut wanted = Vec::with_capacity(keys.len());
        for key in keys {
            match &key.kind {
                ExprKind::Variable(variable) if variable.level == 0 && variable.attribute >= 0 => {
                    wanted.push((variable.attribute, false, false));
                }
                _ => return Ok((sorted, None)),
            }
        }
        if !matches!(relations.query.relations[relation as usize].kind, RelationKind::Table(_)) {
            return Ok((sorted, None));
        }
        let own: RelationSet = 1 << relation;
        let offered = conditions.iter().chain(&scan.made_sure).map(|condition| Offered { condition, relations: own });
        let ordered = self.ordered_access(relations, relation, &offered.collect::<Vec<_>>(), &wanted)?;
        Ok(match ordered {
            Some(ordered) if ordered.cost < sorted && ordered.requires == 0 => (ordered.cost, Some(ordered)),
            _ => (sorted, None),
        })
    }

    /// The conditions on a unit alone, those included that its own path's access makes sure of.
    fn own_conditions(&self, candidate: &Candidate, conditions: &[Expr]) -> Vec<(Expr, RelationSet)> {
        let mut own = conditions.iter().map(|condition| (condition.clone(), candidate.set)).collect::<Vec<_>>();
        if let Some(Path::Scan { scan, .. }) = &candidate.path {
            own.extend(scan.made_sure.iter().map(|condition| (condition.clone(), candidate.set)));
        }
        own
    }

    fn build_step(
        &mut self,
        left: Path,
        candidate: &mut Candidate,
        pending: &mut [Pending],
        set: RelationSet,
        step: &Step,
    ) -> Result<Path> {
        let all = set | candidate.set;
        let mut joining = Vec::new();
        for pending in pending.iter_mut() {
            if pending.set & candidate.set != 0
                && pending.set & !all == 0
                && let Some(expr) = pending.expr.take()
            {
                joining.push(expr);
            }
        }
        let right = candidate.path.take().expect("each is taken once");
        let (rows, cost) = (step.rows, step.cost);
        let join = match &step.method {
            StepMethod::Nested => {
                let method = Method::Nested { keep_right: candidate.requires == 0 };
                JoinPath { kind: JoinKind::Inner, left, right, method, conditions: joining, rows, cost }
            }
            StepMethod::Lookup(lookup) => {
                let Path::Scan { scan, conditions } = right else { return Err(Error::internal("a lookup of no scan")) };
                // Offered were the entry's own conditions, then the joining ones.
                let mut offered = conditions;
                offered.extend(scan.made_sure);
                offered.extend(joining);
                let mut used = lookup.used.iter().copied().collect::<std::collections::HashSet<_>>();
                let (mut made_sure, mut inside, mut outside) = (Vec::new(), Vec::new(), Vec::new());
                for (place, condition) in offered.into_iter().enumerate() {
                    if used.remove(&place) {
                        made_sure.push(condition);
                    } else if relations_of(&condition) & !candidate.set == 0 {
                        inside.push(condition);
                    } else {
                        outside.push(condition);
                    }
                }
                let scan = ScanPath { made_sure, ..lookup.clone() };
                let right = Path::Scan { scan, conditions: inside };
                let method = Method::Nested { keep_right: false };
                JoinPath { kind: JoinKind::Inner, left, right, method, conditions: outside, rows, cost }
            }
            StepMethod::Hash { swapped } => {
                let (mut left_keys, mut right_keys, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
                for condition in joining {
                    match hash_keys(&condition, set, candidate.set) {
                        Some((left, right)) => {
                            left_keys.push(left);
                            right_keys.push(right);
                        }
                        None => conditions.push(condition),
                    }
                }
                let kind = JoinKind::Inner;
                if *swapped {
                    let method = Method::Hash { left_keys: right_keys, right_keys: left_keys };
                    JoinPath { kind, left: right, right: left, method, conditions, rows, cost }
                } else {
                    JoinPath {
                        kind,
                        left,
                        right,
                        method: Method::Hash { left_keys, right_keys },
                        conditions,
                        rows,
                        cost,
                    }
                }
            }
            StepMethod::Merge { left: left_order, right: right_order } => {
                let (keys, conditions) = divided(joining, |condition| merge_keys(condition, set, candidate.set));
                let method = merge_method(keys, left_order.is_none(), right_order.is_none());
                let (left, right) = (with_access(left, left_order.clone()), with_access(right, right_order.clone()));
                JoinPath { kind: JoinKind::Inner, left, right, method, conditions, rows, cost }
            }
        };
        Ok(Path::Join(Box::new(join)))
    }
}

/// A scan with its conditions divided into those the access makes sure of and the others.
pub(super) fn scan_path(mut scan: ScanPath, conditions: Vec<Expr>) -> Path {
    let (mut rest, mut made_sure) = (Vec::new(), Vec::new());
    for (place, condition) in conditions.into_iter().enumerate() {
        if scan.used.contains(&place) { made_sure.push(condition) } else { rest.push(condition) }
    }
    scan.made_sure = made_sure;
    Path::Scan { scan, conditions: rest }
}

/// Conditions divided into the keys that `keys_of` finds in them, and the others.
pub(super) fn divided(
    conditions: Vec<Expr>,
    keys_of: impl Fn(&Expr) -> Option<(Expr, Expr)>,
) -> (Vec<(Expr, Expr)>, Vec<Expr>) {
    let (mut keys, mut rest) = (Vec::new(), Vec::new());
    for condition in conditions {
        match keys_of(&condition) {
            Some(found) => keys.push(found),
            None => rest.push(condition),
        }
    }
    (keys, rest)
}

pub(super) fn merge_method(keys: Vec<(Expr, Expr)>, sorts_left: bool, sorts_right: bool) -> Method {
    let (left_keys, right_keys) = keys.into_iter().unzip();
    Method::Merge { left_keys, right_keys, sorts_left, sorts_right }
}

/// A scan by another access to the same rows.
pub(super) fn with_access(path: Path, access: Option<ScanPath>) -> Path {
    match (path, access) {
        (Path::Scan { scan, mut conditions }, Some(access)) => {
            conditions.extend(scan.made_sure);
            scan_path(access, conditions)
        }
        (path, _) => path,
    }
}

/// The two sides of an equality that a merge join can be made of: one that compares values of one type.
pub(super) fn merge_keys(condition: &Expr, left: RelationSet, right: RelationSet) -> Option<(Expr, Expr)> {
    let ExprKind::Call(call) = &condition.kind else { return None };
    let operator = call.operator?;
    // `char(n)` ignores trailing blanks; other string types do not.
    let is_padded = |oid| oid == oids::BPCHAR;
    let has_order = |argument: &Expr| {
        let own = argument.sql_type.oid;
        is_padded(own) == is_padded(operator.left) && types::comparator(own).is_some()
    };
    if operator.left != operator.right || !call.arguments.iter().all(has_order) {
        return None;
    }
    hash_keys(condition, left, right)
}

/// The two sides of an equality that a hash join can be made of.
pub(super) fn hash_keys(condition: &Expr, left: RelationSet, right: RelationSet) -> Option<(Expr, Expr)> {
    let ExprKind::Call(call) = &condition.kind else { return None };
    let operator = call.operator.filter(|operator| operator.role == OperatorRole::Equal)?;
    let [a, b] = call.arguments.as_slice() else { return None };
    let integers = |oid| matches!(oid, oids::INT2 | oids::INT4 | oids::INT8);
    let alike = operator.left == operator.right || (integers(operator.left) && integers(operator.right));
    let key_function = join_key(operator.left, operator.right);
    // An operator on arrays or enums takes any of them.
    let is_polymorphic = types::is_pseudo_target(operator.left) && operator.left != oids::RECORD;
    let hashable = if is_polymorphic {
        a.sql_type.oid == b.sql_type.oid && is_hashable(a.sql_type.oid)
    } else {
        is_hashable(operator.left) && is_hashable(operator.right)
    };
    if key_function.is_none() && !(alike && hashable) {
        return None;
    }
    let (a_set, b_set) = (relations_of(a), relations_of(b));
    let within = |set: RelationSet, side: RelationSet| set != 0 && set & !side == 0;
    // A volatile condition is computed for each pair of rows, not for each row.
    if super::fold::has_subquery(condition) || super::fold::is_volatile(condition) {
        return None;
    }
    // A varchar among padded values is compared as one, which needs no cast.
    let key = |argument: &Expr| {
        if let Some((function, result)) = key_function {
            return call_unnamed(function, vec![argument.clone()], result);
        }
        let sql_type = if operator.left == oids::BPCHAR { SqlType::new(oids::BPCHAR) } else { argument.sql_type };
        Expr { sql_type, ..argument.clone() }
    };
    if within(a_set, left) && within(b_set, right) {
        Some((key(a), key(b)))
    } else if within(a_set, right) && within(b_set, left) {
        Some((key(b), key(a)))
    } else {
        None
    }
}
