//! Ways to the rows of one entry of the range table.

use std::sync::Arc;

use base::Result;
use plan::bound::{Query, RelationKind};
use plan::{CastExpr, Expr, ExprKind, KeyPart, TableExpressions, Variable};
use schema::catalog::{IndexDef, TableDef};
use types::{Cast, CastContext, OperatorRole, SqlType, Value, oids};

use super::flatten::{RelationSet, relations_of};
use super::fold::{has_subquery, is_volatile};
use super::implication::implies;
use super::selectivity::{Relations, conjunction, selectivity};
use super::{DISABLED_COST, Planner};
use crate::binder;

/// A table of up to half a megabyte is taken to be in memory.
const SMALL_TABLE_PAGES: f64 = 64.0;

/// A way to the rows of an entry.
#[derive(Debug, Clone)]
pub(super) struct ScanPath {
    pub(super) relation: u32,
    pub(super) access: Access,
    /// Which of the conditions offered the access makes sure of, by place in that list.
    pub(super) used: Vec<usize>,
    /// Those conditions themselves, once the access has been chosen.
    pub(super) made_sure: Vec<Expr>,
    /// Rows for each run.
    pub(super) rows: f64,
    /// Cost of each run.
    pub(super) cost: f64,
    /// The other entries whose columns the access reads.
    pub(super) requires: RelationSet,
}

/// How rows are found.
#[derive(Debug, Clone)]
pub(super) enum Access {
    /// All of them.
    Sequential,
    /// A range of an index.
    Index(IndexAccess),
    /// The row with a key of a unique index.
    Point {
        /// The index.
        index: Arc<IndexDef>,
        /// Its place among the table's indexes.
        position: u32,
        /// The key.
        key: Vec<Expr>,
    },
    /// A system table, with hints for its producer.
    Virtual {
        /// Column and value.
        equal: Vec<(u32, Expr)>,
    },
}

/// A range of an index.
#[derive(Debug, Clone)]
pub(super) struct IndexAccess {
    pub(super) index: Arc<IndexDef>,
    pub(super) position: u32,
    pub(super) equal: Vec<KeyValue>,
    pub(super) lower: Option<(Expr, bool)>,
    pub(super) upper: Option<(Expr, bool)>,
    pub(super) skip_nulls: bool,
    pub(super) backward: bool,
}

/// As [`KeyPart`], over bound expressions.
#[derive(Debug, Clone)]
pub(super) enum KeyValue {
    Equal(Expr),
    AnyOf(Expr),
    IsNull,
}

impl KeyValue {
    fn into_equal(self) -> Option<Expr> {
        match self {
            KeyValue::Equal(value) => Some(value),
            _ => None,
        }
    }

    /// The plan's form, its expression mapped.
    pub(super) fn into_part(self, mut map: impl FnMut(Expr) -> Result<Expr>) -> Result<KeyPart> {
        Ok(match self {
            KeyValue::Equal(expr) => KeyPart::Equal(map(expr)?),
            KeyValue::AnyOf(expr) => KeyPart::AnyOf(map(expr)?),
            KeyValue::IsNull => KeyPart::IsNull,
        })
    }
}

/// A condition that an index on its operand could make sure of.
struct Indexable<'e> {
    /// Its place among the conditions.
    place: usize,
    /// The compared expression.
    operand: &'e Expr,
    /// The comparison.
    comparison: Comparison,
    /// The value that the operand is compared with; absent for IS NULL.
    value: Option<&'e Expr>,
    /// The other entries that the value reads.
    requires: RelationSet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Less,
    LessEqual,
    Equal,
    AnyOf,
    GreaterEqual,
    Greater,
    IsNull,
    IsNotNull,
}

/// An order that is wanted of an entry's rows: column, descending, NULLs first.
pub(super) type WantedOrder = [(i32, bool, bool)];

/// A condition, and the entries that it reads.
pub(super) struct Offered<'e> {
    pub(super) condition: &'e Expr,
    pub(super) relations: RelationSet,
}

/// An index of a table, and the conditions that it could make sure of.
struct IndexCandidate<'c> {
    relation: u32,
    index: &'c Arc<IndexDef>,
    /// Its place among the table's indexes.
    position: u32,
    /// The expressions of its keys.
    operands: &'c [Expr],
    indexables: &'c [Indexable<'c>],
    offered: &'c [Offered<'c>],
}

/// The conditions that an index makes sure of.
struct Matched {
    /// The values of its first keys.
    equal: Vec<KeyValue>,
    /// As [`ScanPath::used`].
    used: Vec<usize>,
    /// As [`ScanPath::requires`].
    requires: RelationSet,
    /// The share of the rows that they leave.
    share: f64,
}

/// The range of one key; each bound says whether it is part of the range.
struct Bounds {
    lower: Option<(Expr, bool)>,
    upper: Option<(Expr, bool)>,
    skip_nulls: bool,
}

impl IndexCandidate<'_> {
    /// The share of the rows found that the other conditions leave, as far as they can be tested there.
    fn rest(&self, relations: &Relations<'_>, matched: &Matched) -> f64 {
        let known: RelationSet = 1 << self.relation | matched.requires;
        let left = self
            .offered
            .iter()
            .enumerate()
            .filter(|(place, offered)| !matched.used.contains(place) && offered.relations & !known == 0);
        conjunction(left.map(|(_, offered)| offered.condition), relations)
    }
}

/// How many rows a range of an index has, and the cost of reading their pages.
fn range_cost(
    relations: &Relations<'_>,
    candidate: &IndexCandidate<'_>,
    share: f64,
    (random_page_cost, seq_page_cost): (f64, f64),
) -> (f64, f64) {
    let size = &relations.sizes[candidate.relation as usize];
    let found = (size.rows * share).max(1.0);
    let pages = size.pages.max(1.0);
    let scattered = found.min(pages) * random_page_cost;
    let in_order = random_page_cost + (pages * share.min(1.0) - 1.0).max(0.0) * seq_page_cost;
    // As PostgreSQL weighs it: rows that lie in the index's order are on few pages, side by side.
    let operands = candidate.operands;
    let correlation = operands.first().and_then(|operand| relations.correlation(operand)).unwrap_or(0.0);
    let correlation = if operands.len() > 1 { correlation * 0.75 } else { correlation };
    (found, scattered + correlation * correlation * (in_order.min(scattered) - scattered))
}

impl Planner<'_, '_> {
    /// The cheapest way to the rows of an entry. Of the conditions offered, those that read other entries are used only
    /// if these are in `available`.
    pub(super) fn cheapest_access(
        &mut self,
        relations: &Relations<'_>,
        relation: u32,
        offered: &[Offered<'_>],
        available: RelationSet,
    ) -> Result<ScanPath> {
        let own: RelationSet = 1 << relation;
        let size = &relations.sizes[relation as usize];
        let filters = offered.iter().filter(|offered| offered.relations & !(own | available) == 0);
        let rows = size.rows * conjunction(filters.clone().map(|offered| offered.condition), relations);
        let settings = self.context.settings;
        let sequential = ScanPath {
            relation,
            access: Access::Sequential,
            used: Vec::new(),
            made_sure: Vec::new(),
            rows: rows.max(1.0),
            cost: size.pages * settings.costs.seq_page_cost
                + size.rows
                    * (settings.costs.cpu_tuple_cost + settings.costs.cpu_operator_cost * filters.count() as f64),
            requires: 0,
        };
        match &relations.query.relations[relation as usize].kind {
            RelationKind::Table(table) => {
                let table = table.clone();
                let mut best = sequential;
                if !settings.enable_seqscan {
                    best.cost += DISABLED_COST;
                }
                for path in self.index_paths(relations, relation, &table, offered, available)? {
                    let is_point = matches!(path.access, Access::Point { .. });
                    let best_is_point = matches!(best.access, Access::Point { .. });
                    // A point is best whatever the estimates say.
                    if (is_point && !best_is_point) || (is_point == best_is_point && path.cost < best.cost) {
                        best = path;
                    }
                }
                Ok(best)
            }
            RelationKind::Virtual(_) => {
                let mut path = sequential;
                let mut equal = Vec::new();
                for indexable in indexables(relation, offered, available) {
                    if let (ExprKind::Variable(variable), Comparison::Equal, Some(value)) =
                        (&indexable.operand.kind, indexable.comparison, indexable.value)
                        && let Ok(column) = u32::try_from(variable.attribute)
                    {
                        path.requires |= indexable.requires;
                        equal.push((column, value.clone()));
                    }
                }
                if !equal.is_empty() {
                    path.cost = (path.cost * 0.1).max(1.0);
                }
                path.access = Access::Virtual { equal };
                Ok(path)
            }
            _ => Ok(sequential),
        }
    }

    /// The ways through each index of a table that the conditions offered can use.
    fn index_paths(
        &mut self,
        relations: &Relations<'_>,
        relation: u32,
        table: &Arc<TableDef>,
        offered: &[Offered<'_>],
        available: RelationSet,
    ) -> Result<Vec<ScanPath>> {
        let indexes = self.context.catalog.indexes_of(table.oid);
        if indexes.is_empty() {
            return Ok(Vec::new());
        }
        let indexables = indexables(relation, offered, available);
        if indexables.is_empty() {
            return Ok(Vec::new());
        }
        let expressions = self.index_expressions(table, indexes, relation)?;
        let mut paths = Vec::new();
        for (position, index) in indexes.iter().enumerate() {
            if !is_usable(expressions.as_deref(), position, offered) || !self.leads_to_all(index) {
                continue;
            }
            let operands = key_operands(index, table, relation, expressions.as_deref(), position);
            let candidate = IndexCandidate {
                relation,
                index,
                position: position as u32,
                operands: &operands,
                indexables: &indexables,
                offered,
            };
            if let Some(mut path) = self.index_path(relations, &candidate) {
                if !is_asked_again(relations.query, index) {
                    use_predicate(&mut path, expressions.as_deref(), position, offered);
                }
                paths.push(path);
            }
        }
        Ok(paths)
    }

    /// Whether an index leads to all that the snapshots in use may see; notes what plans with it ask for, or do without.
    fn leads_to_all(&mut self, index: &IndexDef) -> bool {
        let leads = self.context.settings.oldest_snapshot.is_none_or(|oldest| index.usable_from <= oldest);
        if leads {
            self.usable_from = self.usable_from.max(index.usable_from);
        } else {
            self.is_makeshift = true;
        }
        leads
    }

    /// The expressions of a table's indexes over the entry's variables.
    fn index_expressions(
        &mut self,
        table: &Arc<TableDef>,
        indexes: &[Arc<IndexDef>],
        relation: u32,
    ) -> Result<Option<Arc<TableExpressions>>> {
        let any = indexes
            .iter()
            .any(|index| index.predicate.is_some() || index.keys.iter().any(|key| key.expression.is_some()));
        if !any {
            return Ok(None);
        }
        let Some(expressions) = super::table_expressions(self.context, table)? else { return Ok(None) };
        let indexes = expressions.indexes.iter().map(|index| {
            index.as_ref().map(|index| plan::IndexExpressions {
                keys: index.keys.iter().map(|(place, key)| (*place, over_entry(key.clone(), relation))).collect(),
                predicate: index.predicate.clone().map(|predicate| over_entry(predicate, relation)),
            })
        });
        Ok(Some(Arc::new(TableExpressions { indexes: indexes.collect(), ..TableExpressions::default() })))
    }

    /// The way through an index, if the conditions say anything of its first keys.
    fn index_path(&self, relations: &Relations<'_>, candidate: &IndexCandidate<'_>) -> Option<ScanPath> {
        let IndexCandidate { relation, index, position, .. } = *candidate;
        let mut matched = self.equal_keys(relations, candidate);
        let settings = self.context.settings;
        // All of a small table is in memory: no page of it is dearer than another. And an index is worth more than its cost there,
        // since a serializable transaction locks the range it looks through, not the table.
        let random_page_cost = if relations.sizes[relation as usize].pages <= SMALL_TABLE_PAGES {
            settings.costs.seq_page_cost
        } else {
            settings.costs.random_page_cost
        };
        // Going down the tree, whose upper pages are in memory.
        let descent = 0.5 * random_page_cost;
        if index.unique && !index.deferrable && matched.equal.len() == index.keys.len() {
            let is_point = matched.equal.iter().all(|key| matches!(key, KeyValue::Equal(_)));
            if is_point {
                let rows = candidate.rest(relations, &matched).max(0.01);
                let cost = descent + settings.costs.cpu_tuple_cost;
                let key = matched.equal.into_iter().filter_map(KeyValue::into_equal).collect();
                let access = Access::Point { index: index.clone(), position, key };
                let used = if is_asked_again(relations.query, index) { Vec::new() } else { matched.used };
                let requires = matched.requires;
                return Some(ScanPath { relation, access, used, made_sure: Vec::new(), rows, cost, requires });
            }
        }
        let bounds = self.bounds(relations, candidate, &mut matched);
        if matched.equal.is_empty() && bounds.lower.is_none() && bounds.upper.is_none() && !bounds.skip_nulls {
            return None;
        }
        let (found, reading) =
            range_cost(relations, candidate, matched.share, (random_page_cost, settings.costs.seq_page_cost));
        let cost = descent + reading + found * (settings.costs.cpu_index_tuple_cost + settings.costs.cpu_tuple_cost);
        let cost = if settings.enable_indexscan { cost } else { cost + DISABLED_COST };
        let rows = (found * candidate.rest(relations, &matched)).max(0.1);
        let Matched { equal, used, requires, .. } = matched;
        let used = if is_asked_again(relations.query, index) { Vec::new() } else { used };
        let Bounds { lower, upper, skip_nulls } = bounds;
        let index = index.clone();
        let access = Access::Index(IndexAccess { index, position, equal, lower, upper, skip_nulls, backward: false });
        Some(ScanPath { relation, access, used, made_sure: Vec::new(), rows, cost, requires })
    }

    /// The first keys of an index that conditions give a value, or several.
    fn equal_keys(&self, relations: &Relations<'_>, candidate: &IndexCandidate<'_>) -> Matched {
        let mut matched = Matched { equal: Vec::new(), used: Vec::new(), requires: 0, share: 1.0 };
        let mut has_any = false;
        for operand in candidate.operands {
            let fits = |indexable: &&Indexable<'_>| binder::same(indexable.operand, operand);
            let mut here = candidate.indexables.iter().filter(fits);
            let Some(found) = here.find(|indexable| match indexable.comparison {
                Comparison::Equal | Comparison::IsNull => true,
                Comparison::AnyOf => !has_any,
                _ => false,
            }) else {
                break;
            };
            matched.share *= selectivity(candidate.offered[found.place].condition, relations);
            matched.used.push(found.place);
            matched.requires |= found.requires;
            matched.equal.push(match (found.comparison, found.value) {
                (Comparison::AnyOf, Some(value)) => {
                    has_any = true;
                    KeyValue::AnyOf(value.clone())
                }
                (Comparison::Equal, Some(value)) => KeyValue::Equal(self.as_key(operand, value)),
                _ => KeyValue::IsNull,
            });
        }
        matched
    }

    /// The bounds of the key behind those that have values.
    fn bounds(&self, relations: &Relations<'_>, candidate: &IndexCandidate<'_>, matched: &mut Matched) -> Bounds {
        let mut bounds = Bounds { lower: None, upper: None, skip_nulls: false };
        let Some(operand) = candidate.operands.get(matched.equal.len()) else { return bounds };
        let mut bounding: Vec<usize> = Vec::new();
        for indexable in candidate.indexables.iter().filter(|indexable| binder::same(indexable.operand, operand)) {
            let (bound, inclusive) = match indexable.comparison {
                Comparison::Greater => (&mut bounds.lower, false),
                Comparison::GreaterEqual => (&mut bounds.lower, true),
                Comparison::Less => (&mut bounds.upper, false),
                Comparison::LessEqual => (&mut bounds.upper, true),
                Comparison::IsNotNull => {
                    bounds.skip_nulls = true;
                    matched.used.push(indexable.place);
                    continue;
                }
                _ => continue,
            };
            // A second bound on the same side stays a condition.
            if bound.is_none()
                && let Some(value) = indexable.value
            {
                *bound = Some((self.as_key(operand, value), inclusive));
                if !bounding.contains(&indexable.place) {
                    bounding.push(indexable.place);
                }
                matched.used.push(indexable.place);
                matched.requires |= indexable.requires;
                bounds.skip_nulls = true;
            }
        }
        matched.share *= conjunction(bounding.iter().map(|place| candidate.offered[*place].condition), relations);
        bounds
    }

    /// A value as the keys of an index are stored. The value compared with a column is brought to the column's width for the look-up; the
    /// width of an expression is known here alone.
    fn as_key(&self, operand: &Expr, value: &Expr) -> Expr {
        let is_column = matches!(operand.kind, ExprKind::Variable(_));
        let target = SqlType::new(operand.sql_type.oid);
        if is_column || width_of_integer(operand.sql_type.oid) <= width_of_integer(value.sql_type.oid) {
            return value.clone();
        }
        match Cast::find(self.context.lookup, value.sql_type, target, CastContext::Implicit) {
            Some(cast) => {
                let cast = CastExpr { input: value.clone(), cast, location: -1 };
                Expr::new(ExprKind::Cast(Box::new(cast)), target)
            }
            None => value.clone(),
        }
    }

    /// A way to the rows of a table in a wanted order, through an index that has it.
    pub(super) fn ordered_access(
        &mut self,
        relations: &Relations<'_>,
        relation: u32,
        offered: &[Offered<'_>],
        wanted: &WantedOrder,
    ) -> Result<Option<ScanPath>> {
        let RelationKind::Table(table) = &relations.query.relations[relation as usize].kind else { return Ok(None) };
        let table = table.clone();
        let indexes = self.context.catalog.indexes_of(table.oid);
        let expressions = self.index_expressions(&table, indexes, relation)?;
        let indexables = indexables(relation, offered, 0);
        let settings = self.context.settings;
        let mut best: Option<ScanPath> = None;
        for (position, index) in indexes.iter().enumerate() {
            if !is_usable(expressions.as_deref(), position, offered) || !self.leads_to_all(index) {
                continue;
            }
            let operands = key_operands(index, &table, relation, expressions.as_deref(), position);
            let position = position as u32;
            let candidate =
                IndexCandidate { relation, index, position, operands: &operands, indexables: &indexables, offered };
            let path = self.index_path(relations, &candidate);
            let fixed = match &path {
                Some(ScanPath { access: Access::Index(access), .. }) => {
                    if access.equal.iter().any(|key| matches!(key, KeyValue::AnyOf(_))) {
                        continue;
                    }
                    access.equal.len()
                }
                Some(ScanPath { access: Access::Point { .. }, .. }) => return Ok(path),
                _ => 0,
            };
            let Some(backward) = delivers(index, &table, fixed, &operands, wanted) else { continue };
            let size = &relations.sizes[relation as usize];
            let mut path = path.unwrap_or_else(|| {
                let rows = size.rows * conjunction(offered.iter().map(|offered| offered.condition), relations);
                ScanPath {
                    relation,
                    access: Access::Index(IndexAccess {
                        index: index.clone(),
                        position,
                        equal: Vec::new(),
                        lower: None,
                        upper: None,
                        skip_nulls: false,
                        backward: false,
                    }),
                    used: Vec::new(),
                    made_sure: Vec::new(),
                    rows: rows.max(1.0),
                    cost: size.pages.min(size.rows) * settings.costs.random_page_cost
                        + size.rows * (settings.costs.cpu_index_tuple_cost + settings.costs.cpu_tuple_cost),
                    requires: 0,
                }
            });
            if let Access::Index(access) = &mut path.access {
                access.backward = backward;
            }
            if best.as_ref().is_none_or(|best| path.cost < best.cost) {
                best = Some(path);
            }
        }
        Ok(best)
    }
}

/// Whether an index, its first `fixed` keys being constant, delivers the wanted order: and if so, whether backward.
fn delivers(index: &IndexDef, table: &TableDef, fixed: usize, operands: &[Expr], wanted: &WantedOrder) -> Option<bool> {
    let constant = operands[..fixed].iter().filter_map(attribute_of).collect::<Vec<_>>();
    let mut keys = index.keys.iter().zip(operands).skip(fixed);
    let mut backward: Option<bool> = None;
    for (attribute, descending, nulls_first) in wanted {
        if constant.contains(attribute) {
            continue;
        }
        let (key, operand) = keys.next()?;
        if attribute_of(operand) != Some(*attribute) {
            return None;
        }
        let reversed = key.descending != *descending;
        let column = &table.columns[usize::try_from(*attribute).ok()?];
        let nulls_match = (key.nulls_first != *nulls_first) == reversed || column.not_null;
        if !nulls_match || backward.is_some_and(|backward| backward != reversed) {
            return None;
        }
        backward = Some(reversed);
    }
    Some(backward.unwrap_or(false))
}

fn attribute_of(operand: &Expr) -> Option<i32> {
    match &operand.kind {
        ExprKind::Variable(variable) => Some(variable.attribute),
        _ => None,
    }
}

/// Whether every row that the conditions let through is in the index: always so unless it is partial.
fn is_usable(expressions: Option<&TableExpressions>, position: usize, offered: &[Offered<'_>]) -> bool {
    let predicate = expressions
        .and_then(|expressions| expressions.indexes.get(position))
        .and_then(Option::as_ref)
        .and_then(|index| index.predicate.as_ref());
    match predicate {
        None => true,
        Some(predicate) => {
            let parts = match &predicate.kind {
                ExprKind::And(parts) => parts.as_slice(),
                _ => std::slice::from_ref(predicate),
            };
            parts.iter().all(|part| offered.iter().any(|offered| implies(offered.condition, part)))
        }
    }
}

/// Whether rows that an index gives are tested by all conditions, also by those that the index makes sure of. In a re-check a newer version of
/// a row takes the place of an index scan. Keys of expressions and the index's own condition are not computed for it.
fn is_asked_again(query: &Query, index: &IndexDef) -> bool {
    let rechecks = query.relations.len() > 1 && (query.change.is_some() || !query.locks.is_empty());
    rechecks && (index.predicate.is_some() || index.keys.iter().any(|key| key.column.is_none()))
}

/// Conditions that a partial index's own condition makes sure of need not be tested again.
fn use_predicate(
    path: &mut ScanPath,
    expressions: Option<&TableExpressions>,
    position: usize,
    offered: &[Offered<'_>],
) {
    let own = expressions.and_then(|expressions| expressions.indexes.get(position)).and_then(Option::as_ref);
    let Some(predicate) = own.and_then(|own| own.predicate.as_ref()) else { return };
    let parts = match &predicate.kind {
        ExprKind::And(parts) => parts.as_slice(),
        _ => std::slice::from_ref(predicate),
    };
    for (place, offered) in offered.iter().enumerate() {
        if !path.used.contains(&place) && parts.iter().any(|part| implies(part, offered.condition)) {
            path.used.push(place);
        }
    }
}

/// The keys of an index, as expressions over the entry.
fn key_operands(
    index: &IndexDef,
    table: &TableDef,
    relation: u32,
    expressions: Option<&TableExpressions>,
    position: usize,
) -> Vec<Expr> {
    let own = expressions.and_then(|expressions| expressions.indexes.get(position)).and_then(Option::as_ref);
    let keys = index.keys.iter().enumerate().map(|(place, key)| match key.column {
        Some(column) => {
            let def = &table.columns[column];
            let variable = Variable { level: 0, relation, attribute: column as i32, location: -1 };
            Expr::new(ExprKind::Variable(variable), SqlType::with_typmod(def.type_oid, def.typmod))
        }
        None => own
            .and_then(|own| own.keys.iter().find(|(key, _)| *key as usize == place))
            .map_or_else(|| Expr::null(SqlType::UNKNOWN), |(_, key)| key.clone()),
    });
    keys.collect()
}

/// An expression over a table's full row, over the variables of an entry.
fn over_entry(mut expr: Expr, relation: u32) -> Expr {
    fn replace(expr: &mut Expr, relation: u32) {
        if let ExprKind::Column(slot) = expr.kind {
            let variable = Variable { level: 0, relation, attribute: slot as i32, location: -1 };
            expr.kind = ExprKind::Variable(variable);
        }
        expr.for_each_child_mut(&mut |child| replace(child, relation));
    }
    replace(&mut expr, relation);
    expr
}

/// The conditions that an index on the entry could make sure of.
fn indexables<'e>(relation: u32, offered: &[Offered<'e>], available: RelationSet) -> Vec<Indexable<'e>> {
    let own: RelationSet = 1 << relation;
    let mut found = Vec::new();
    for (place, offered) in offered.iter().enumerate() {
        if offered.relations & own == 0 || offered.relations & !(own | available) != 0 {
            continue;
        }
        match &offered.condition.kind {
            ExprKind::Call(call) => {
                let (Some(operator), [left, right]) = (call.operator, call.arguments.as_slice()) else { continue };
                for (operand, value, flipped) in [(left, right, false), (right, left, true)] {
                    let Some(comparison) = comparison(operator.role, flipped) else { continue };
                    if let Some(indexable) = indexable(place, own, operand, comparison, value) {
                        found.push(indexable);
                    }
                }
            }
            ExprKind::Quantified(quantified)
                if quantified.quantifier == plan::Quantifier::Any
                    && quantified.operator.role == OperatorRole::Equal =>
            {
                let (operand, value) = (&quantified.left, &quantified.array);
                if relations_of(operand) == own && is_fixed(value, own) && !has_subquery(operand) {
                    let element = quantified.types.arguments.get(1).map_or(operand.sql_type.oid, |element| element.oid);
                    if keys_alike(operand.sql_type.oid, element) && has_width(operand, element, true) {
                        let requires = relations_of(value);
                        let comparison = Comparison::AnyOf;
                        found.push(Indexable { place, operand, comparison, value: Some(value), requires });
                    }
                }
            }
            ExprKind::IsNull(operand) if relations_of(operand) == own && !operand.sql_type.may_be_row() => {
                found.push(Indexable { place, operand, comparison: Comparison::IsNull, value: None, requires: 0 });
            }
            ExprKind::IsNotNull(operand) if relations_of(operand) == own && !operand.sql_type.may_be_row() => {
                found.push(Indexable { place, operand, comparison: Comparison::IsNotNull, value: None, requires: 0 });
            }
            _ => {}
        }
    }
    found
}

fn indexable<'e>(
    place: usize,
    own: RelationSet,
    operand: &'e Expr,
    comparison: Comparison,
    value: &'e Expr,
) -> Option<Indexable<'e>> {
    if relations_of(operand) != own || !is_fixed(value, own) || has_subquery(operand) {
        return None;
    }
    // `x = NULL` is never true; as a bound it would have to be known to be empty.
    if matches!(value.as_constant(), Some(Value::Null))
        || !keys_alike(operand.sql_type.oid, value.sql_type.oid)
        || !has_width(operand, value.sql_type.oid, false)
    {
        return None;
    }
    Some(Indexable { place, operand, comparison, value: Some(value), requires: relations_of(value) })
}

/// Whether a value stays the same while the entry is scanned.
fn is_fixed(value: &Expr, own: RelationSet) -> bool {
    relations_of(value) & own == 0 && !is_volatile(value)
}

fn comparison(role: OperatorRole, flipped: bool) -> Option<Comparison> {
    Some(match (role, flipped) {
        (OperatorRole::Equal, _) => Comparison::Equal,
        (OperatorRole::Less, false) | (OperatorRole::Greater, true) => Comparison::Less,
        (OperatorRole::LessEqual, false) | (OperatorRole::GreaterEqual, true) => Comparison::LessEqual,
        (OperatorRole::GreaterEqual, false) | (OperatorRole::LessEqual, true) => Comparison::GreaterEqual,
        (OperatorRole::Greater, false) | (OperatorRole::Less, true) => Comparison::Greater,
        _ => return None,
    })
}

/// The bytes of an integer type; 0 for other types.
fn width_of_integer(oid: base::Oid) -> u8 {
    match oid {
        oids::INT2 => 2,
        oids::INT4 => 4,
        oids::INT8 => 8,
        _ => 0,
    }
}

/// Whether a value of type `value` can be brought to the width of an operand: a column's keys take any, those of an expression none that
/// is wider. `exactly`: it must have that width.
fn has_width(operand: &Expr, value: base::Oid, exactly: bool) -> bool {
    let (own, given) = (width_of_integer(operand.sql_type.oid), width_of_integer(value));
    matches!(operand.kind, ExprKind::Variable(_)) || own == given || (!exactly && own > given)
}

/// Whether a value of type `value` can be looked up among keys of type `key`: both have the same key encoding, or are
/// integers.
fn keys_alike(key: base::Oid, value: base::Oid) -> bool {
    let class = |oid: base::Oid| match oid {
        oids::INT2 | oids::INT4 | oids::INT8 => oids::INT8,
        oids::TEXT | oids::VARCHAR | oids::NAME => oids::TEXT,
        oids::OID
        | oids::REGCLASS
        | oids::REGTYPE
        | oids::REGPROC
        | oids::REGPROCEDURE
        | oids::REGNAMESPACE
        | oids::REGROLE => oids::OID,
        other => other,
    };
    class(key) == class(value)
}

/// Whether values of the type can be hashed, so that a hash join can be made of an equality.
pub(super) fn is_hashable(oid: base::Oid) -> bool {
    types::is_hashable(oid)
}
