//! Left, full, semi and anti joins: their sides keep their places, and only the method is chosen.

use base::{Error, Result};
use plan::bound::RelationKind;
use plan::{Expr, JoinKind};

use super::access::{Offered, ScanPath};
use super::flatten::{OuterJoin, RelationSet, Unit, relations_of};
use super::join::{
    JoinPath, MERGED_ROWS_MIN, Method, Path, divided, hash_keys, merge_keys, merge_method, requirements_of_group,
    with_access,
};
use super::selectivity::{Relations, conjunction};
use super::{DISABLED_COST, Planner};

/// A join whose sides are planned, but whose method is not chosen.
struct Sides {
    kind: JoinKind,
    left: Path,
    right: Path,
    left_set: RelationSet,
    right_set: RelationSet,
    /// The entries of the left side that the right one reads.
    lateral: RelationSet,
    conditions: Vec<Expr>,
    /// Rows of the join.
    rows: f64,
    /// The cost of giving them.
    per_row: f64,
}

impl Sides {
    fn hash_keys(&self, condition: &Expr) -> Option<(Expr, Expr)> {
        hash_keys(condition, self.left_set, self.right_set)
    }

    fn merge_keys(&self, condition: &Expr) -> Option<(Expr, Expr)> {
        merge_keys(condition, self.left_set, self.right_set)
    }

    fn joined(self, method: Method, conditions: Vec<Expr>, cost: f64) -> Path {
        let Sides { kind, left, right, rows, .. } = self;
        Path::Join(Box::new(JoinPath { kind, left, right, method, conditions, rows, cost }))
    }
}

/// The right side as each left row looks it up.
struct LookUp {
    right: Path,
    /// The conditions that the look-up leaves to the join.
    conditions: Vec<Expr>,
    /// The cost of the join.
    cost: f64,
}

/// The sides in the order of a merge join's keys.
struct Ordered {
    /// The accesses that give the sides in this order, where these cost less than sorting.
    left: Option<ScanPath>,
    right: Option<ScanPath>,
    /// The cost of the join.
    cost: f64,
}

impl Planner<'_, '_> {
    /// A left or full join: its sides in their own orders, then the cheapest method.
    pub(super) fn plan_outer_join(&mut self, relations: &Relations<'_>, join: OuterJoin) -> Result<Path> {
        let sole = match join.right.units.as_slice() {
            [Unit::Relation(relation)] => Some(*relation),
            _ => None,
        };
        let own = join.right.conditions.clone();
        let mut sides = self.outer_sides(relations, join)?;
        let kind = sides.kind;
        let hashable =
            sides.lateral == 0 && sides.conditions.iter().any(|condition| sides.hash_keys(condition).is_some());
        // A hash join without keys can try constants.
        let needs_keys = sides.conditions.iter().any(|condition| condition.as_constant().is_none());
        if kind == JoinKind::Full && !hashable && needs_keys {
            return Err(Error::unsupported(
                "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions",
            ));
        }
        let hash_cost = self.hash_cost(&sides);
        if let (Some(relation), JoinKind::Left | JoinKind::Semi | JoinKind::Anti, 0) = (sole, kind, sides.lateral) {
            let limit = if hashable { hash_cost } else { f64::INFINITY };
            if let Some(found) = self.look_up_right(relations, &sides, relation, own, limit)? {
                sides.right = found.right;
                return Ok(sides.joined(Method::Nested { keep_right: false }, found.conditions, found.cost));
            }
        }
        let nested_cost = self.nested_cost(&sides);
        let cheapest = if kind == JoinKind::Full {
            hash_cost
        } else if hashable {
            hash_cost.min(nested_cost)
        } else {
            nested_cost
        };
        if let Some(ordered) = self.sides_in_order(relations, &sides)?
            && ordered.cost < cheapest
        {
            let conditions = std::mem::take(&mut sides.conditions);
            let (keys, conditions) = divided(conditions, |condition| sides.merge_keys(condition));
            let method = merge_method(keys, ordered.left.is_none(), ordered.right.is_none());
            sides.left = with_access(sides.left, ordered.left);
            sides.right = with_access(sides.right, ordered.right);
            return Ok(sides.joined(method, conditions, ordered.cost));
        }
        let conditions = std::mem::take(&mut sides.conditions);
        if hashable && (hash_cost < nested_cost || kind == JoinKind::Full) {
            let (keys, rest) = divided(conditions, |condition| sides.hash_keys(condition));
            let (left_keys, right_keys) = keys.into_iter().unzip();
            return Ok(sides.joined(Method::Hash { left_keys, right_keys }, rest, hash_cost));
        }
        if kind == JoinKind::Full {
            // Without a condition every row has a partner, unless a side is empty: a hash join without keys tells.
            let method = Method::Hash { left_keys: Vec::new(), right_keys: Vec::new() };
            return Ok(sides.joined(method, conditions, hash_cost));
        }
        let method = Method::Nested { keep_right: sides.lateral == 0 };
        Ok(sides.joined(method, conditions, nested_cost))
    }

    /// The sides, and how many rows they have together.
    fn outer_sides(&mut self, relations: &Relations<'_>, join: OuterJoin) -> Result<Sides> {
        let OuterJoin { kind, left, right, conditions } = join;
        let (left_set, right_set) = (left.relations(), right.relations());
        // A plan that reads entries beside the join runs once for each row of theirs.
        let left = self.plan_group_after(relations, left, !left_set)?;
        let lateral = requirements_of_group(relations.query, &right) & left_set;
        let right = self.plan_group_after(relations, right, !right_set)?;
        let share = conjunction(conditions.iter(), relations);
        let partners = right.rows() * share;
        let rows = match kind {
            JoinKind::Semi => (left.rows() * partners.min(1.0)).max(1.0),
            JoinKind::Anti => (left.rows() * (1.0 - partners).clamp(0.05, 1.0)).max(1.0),
            _ => (left.rows() * partners).max(left.rows()),
        };
        let per_row = rows * self.context.settings.costs.cpu_tuple_cost;
        Ok(Sides { kind, left, right, left_set, right_set, lateral, conditions, rows, per_row })
    }

    fn hash_cost(&self, sides: &Sides) -> f64 {
        let Sides { left, right, per_row, .. } = sides;
        let settings = self.context.settings;
        let hash_cost =
            left.cost() + right.cost() + (left.rows() + right.rows() * 1.5) * settings.costs.cpu_tuple_cost + per_row;
        if settings.enable_hashjoin { hash_cost } else { hash_cost + DISABLED_COST }
    }

    fn nested_cost(&self, sides: &Sides) -> f64 {
        let Sides { left, right, per_row, .. } = sides;
        let settings = self.context.settings;
        let penalty = if settings.enable_nestloop { 0.0 } else { DISABLED_COST };
        penalty
            + if sides.lateral == 0 {
                left.cost()
                    + right.cost()
                    + left.rows() * right.rows() * settings.costs.cpu_operator_cost * 2.0
                    + per_row
            } else {
                left.cost() + left.rows() * right.cost() + per_row
            }
    }

    /// The right side, which is one entry, looked up by the left row; if that reads the left row, and the join costs less than
    /// `limit`. `own` are the entry's own conditions.
    fn look_up_right(
        &mut self,
        relations: &Relations<'_>,
        sides: &Sides,
        relation: u32,
        own: Vec<Expr>,
        limit: f64,
    ) -> Result<Option<LookUp>> {
        let kind = &relations.query.relations[relation as usize].kind;
        if !matches!(kind, RelationKind::Table(_) | RelationKind::Virtual(_)) {
            return Ok(None);
        }
        let all = own.into_iter().map(|condition| (condition, sides.right_set));
        let all = all.chain(sides.conditions.iter().map(|condition| (condition.clone(), relations_of(condition))));
        let all = all.collect::<Vec<_>>();
        let offered = all.iter().map(|(condition, relations)| Offered { condition, relations: *relations });
        let lookup = self.cheapest_access(relations, relation, &offered.collect::<Vec<_>>(), sides.left_set)?;
        let cost = sides.left.cost() + sides.left.rows() * lookup.cost + sides.per_row;
        if lookup.requires == 0 || cost >= limit {
            return Ok(None);
        }
        let (mut made_sure, mut inside, mut outside) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (condition, set)) in all.into_iter().enumerate() {
            if lookup.used.contains(&place) {
                made_sure.push(condition);
            } else if set != 0 && set & !sides.right_set == 0 {
                inside.push(condition);
            } else {
                outside.push(condition);
            }
        }
        let scan = ScanPath { made_sure, ..lookup };
        Ok(Some(LookUp { right: Path::Scan { scan, conditions: inside }, conditions: outside, cost }))
    }

    /// The sides in the order of the keys of a merge join, where there are such keys and rows enough.
    fn sides_in_order(&mut self, relations: &Relations<'_>, sides: &Sides) -> Result<Option<Ordered>> {
        let Sides { left, right, .. } = sides;
        let settings = self.context.settings;
        let is_worth_it = !settings.enable_hashjoin || left.rows().min(right.rows()) >= MERGED_ROWS_MIN;
        if sides.lateral != 0 || !settings.enable_mergejoin || !is_worth_it {
            return Ok(None);
        }
        let keys = sides.conditions.iter().filter_map(|condition| sides.merge_keys(condition));
        let (left_keys, right_keys): (Vec<_>, Vec<_>) = keys.unzip();
        if left_keys.is_empty() {
            return Ok(None);
        }
        let (left_cost, left_order) = self.in_order(relations, Some(left), &left_keys, left.rows(), left.cost())?;
        let (right_cost, right_order) =
            self.in_order(relations, Some(right), &right_keys, right.rows(), right.cost())?;
        let both = (left.rows() + right.rows()) * settings.costs.cpu_operator_cost;
        let cost = left_cost + right_cost + both + sides.per_row;
        Ok(Some(Ordered { left: left_order, right: right_order, cost }))
    }
}
