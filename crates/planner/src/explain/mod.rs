//! Plans as EXPLAIN shows them: PostgreSQL's names for nodes and for what they do.
//!
//! [`explain`] makes a tree of what is shown, and [`text`] and [`document`] write it. Nothing here knows a session: [`ExplainContext`] has all
//! that is needed besides the plan, and so tests of plans print by it, too.
//!
//! Nodes that PostgreSQL has no name for are shown as part of others: a filter or projection as that of the node
//! below it, the right side of a hash join under a `Hash`.

mod changes;
mod groups;
mod indexes;
mod joins;
mod render;
mod rows;
mod scans;
mod slots;

use std::cell::RefCell;

use base::settings::words::PlanFormat;
use plan::{CatalogView, Expr, ExprKind, Measured, Node, Plan, Statement, SubqueryBody, SubqueryKind};
use rustc_hash::FxHashMap;
use types::{FormatSettings, Value};

use crate::deparse::{Deparser, Qualify};
pub use render::{Summary, document, text};
use slots::{Slot, SlotNames, average_width};

/// The options of EXPLAIN.
#[derive(Debug, Clone, Copy)]
pub struct ExplainOptions {
    /// The statement is run and its nodes are measured.
    pub analyze: bool,
    /// Lists of output columns, and names with their schema.
    pub verbose: bool,
    /// Costs, rows and widths that the planner expects.
    pub costs: bool,
    /// Times of measured nodes.
    pub timing: bool,
    /// Times of planning and execution.
    pub summary: bool,
    /// Counts of pages.
    pub buffers: bool,
    /// The form of the answer.
    pub format: PlanFormat,
}

impl ExplainOptions {
    /// The defaults of options that are not given.
    pub const UNASKED: ExplainOptions = ExplainOptions {
        analyze: false,
        verbose: false,
        costs: true,
        timing: true,
        summary: false,
        buffers: false,
        format: PlanFormat::Text,
    };
}

/// All that is needed to show a plan, besides the plan.
#[derive(Clone, Copy)]
pub struct ExplainContext<'e> {
    /// The names of objects.
    pub view: &'e CatalogView,
    /// The statement that the plan belongs to.
    pub statement: &'e Statement,
    /// The form of values.
    pub format: &'e FormatSettings,
    /// The parts that are shown, and their form.
    pub options: ExplainOptions,
    /// The values of parameters; a parameter without one is shown as `$n`.
    pub values: &'e [Value],
    /// The measurements of a node; `None` if the plan has not been run.
    pub measured: Option<&'e dyn Fn(&Plan) -> Measured>,
}

/// Makes what is shown of a plan.
pub fn explain(plan: &Plan, context: ExplainContext<'_>) -> Shown {
    let mut explainer = Explainer {
        context,
        outer: RefCell::default(),
        subqueries: RefCell::default(),
        plans_named: 0,
        ctes: FxHashMap::default(),
    };
    explainer.node(plan).0
}

/// A node as it is shown, with the nodes below it.
#[derive(Debug, Default)]
pub struct Shown {
    /// The title in its line of the text form: `Seq Scan on t`.
    title: String,
    /// `Node Type` and what belongs to it in the JSON form.
    kind: Vec<(&'static str, Property)>,
    /// Its relationship to the node above: `Outer`, `Inner`, `InitPlan`, ...
    relationship: &'static str,
    /// `InitPlan 1 (returns $0)`, `CTE x`, ...
    name: Option<String>,
    startup: f64,
    total: f64,
    rows: f64,
    width: u64,
    measured: Option<Measured>,
    /// Lines below it.
    properties: Vec<(&'static str, Property)>,
    /// Plans that run before it, then its inputs, then its subplans.
    children: Vec<Shown>,
}

/// The value of a property.
#[derive(Debug, Clone, PartialEq)]
enum Property {
    Text(String),
    List(Vec<String>),
    /// As it is written.
    Number(String),
}

/// Makes what is shown of a plan.
struct Explainer<'e> {
    context: ExplainContext<'e>,
    /// The texts of the expressions that outer values stand for.
    outer: RefCell<FxHashMap<u32, String>>,
    /// The names of subqueries in the expressions that use them.
    subqueries: RefCell<FxHashMap<u32, String>>,
    /// Numbers of init plans and subplans given out.
    plans_named: u32,
    /// Names of common table expressions by number.
    ctes: FxHashMap<u32, String>,
}

impl<'e> Explainer<'e> {
    /// Returns the names of the slots. `aliases` tells whether columns have their table's alias in front. `None` puts aliases if the
    /// statement has more than one table.
    fn names<'s>(&'s self, slots: &'s [Slot], aliases: Option<bool>) -> SlotNames<'s> {
        let aliases = aliases.unwrap_or(self.context.statement.scan_count > 1);
        SlotNames { slots, outer: &self.outer, subqueries: &self.subqueries, parentheses: true, aliases }
    }

    fn deparser<'s>(&'s self, names: &'s SlotNames<'s>) -> Deparser<'s> {
        Deparser::new(self.context.view, names, Qualify::WhereNeeded)
            .with_defaults()
            .with_format(self.context.format)
            .with_values(self.context.values)
    }

    fn expr_text(&self, expr: &Expr, names: &SlotNames<'_>) -> String {
        self.deparser(names).text(expr)
    }

    fn full_text(&self, expr: &Expr, slots: &[Slot]) -> String {
        self.full_text_with(expr, &self.names(slots, None))
    }

    fn full_text_with(&self, expr: &Expr, names: &SlotNames<'_>) -> String {
        self.deparser(names).full_text(expr)
    }

    /// The text of an expression, and the plans of the subqueries in it.
    fn condition(
        &mut self,
        shown: &mut Shown,
        key: &'static str,
        expr: &Expr,
        slots: &[Slot],
        (parentheses, aliases): (bool, Option<bool>),
    ) {
        self.subplans(shown, expr, slots);
        let names = SlotNames { parentheses, ..self.names(slots, aliases) };
        let text = self.expr_text(expr, &names);
        // A condition that is no operator expression stands in parentheses as well.
        let text = if text.starts_with('(') && text.ends_with(')') { text } else { format!("({text})") };
        let text = match &expr.kind {
            ExprKind::Column(_) | ExprKind::Constant(_) | ExprKind::Call(_) | ExprKind::Subquery(_)
                if !text.contains(' ') =>
            {
                text.trim_start_matches('(').strip_suffix(')').map_or(text.clone(), str::to_owned)
            }
            _ => text,
        };
        shown.properties.push((key, Property::Text(text)));
        let removed = match key {
            "Filter" => "Rows Removed by Filter",
            "Join Filter" => "Rows Removed by Join Filter",
            _ => return,
        };
        if let Some(measured) = shown.measured
            && (measured.removed_rows > 0 || self.context.options.format != PlanFormat::Text)
        {
            let rows = measured.removed_rows as f64 / measured.loops.max(1) as f64;
            shown.properties.push((removed, Property::Number(format!("{rows:.0}"))));
        }
    }

    /// Shows the plans of the subqueries of an expression below the node that has it.
    fn subplans(&mut self, shown: &mut Shown, expr: &Expr, slots: &[Slot]) {
        if let ExprKind::Subquery(subquery) = &expr.kind
            && let SubqueryBody::Planned(plan) = &subquery.body
            && !self.subqueries.borrow().contains_key(&subquery.id)
        {
            self.plans_named += 1;
            let number = self.plans_named;
            let is_init = !subquery.correlated && !matches!(subquery.kind, SubqueryKind::Quantified { .. });
            for (index, argument) in &subquery.arguments {
                let text = self.full_text_with(argument, &self.names(slots, Some(true)));
                self.outer.borrow_mut().insert(*index, text);
            }
            let (usage, title, relationship) = if is_init {
                (format!("${}", number - 1), format!("InitPlan {number} (returns ${})", number - 1), "InitPlan")
            } else {
                (format!("SubPlan {number}"), format!("SubPlan {number}"), "SubPlan")
            };
            self.subqueries.borrow_mut().insert(subquery.id, usage);
            let mut child = self.node(plan).0;
            child.name = Some(title);
            child.relationship = relationship;
            shown.children.push(child);
        }
        let mut inner: Vec<&Expr> = Vec::new();
        expr.for_each_child(&mut |child| inner.push(child));
        inner.into_iter().for_each(|child| self.subplans(shown, child, slots));
    }

    fn written(&self, slots: &[Slot]) -> Vec<String> {
        let aliases = self.context.statement.scan_count > 1;
        slots.iter().map(|slot| slot.written(aliases)).collect()
    }

    fn expr_slots(&self, exprs: &[Expr], input: &[Slot]) -> Vec<Slot> {
        exprs
            .iter()
            .map(|expr| match &expr.kind {
                ExprKind::Column(slot) if (*slot as usize) < input.len() => {
                    Slot { sql_type: Some(expr.sql_type), ..input[*slot as usize].clone() }
                }
                _ => Slot::computed(self.full_text(expr, input), expr.sql_type),
            })
            .collect()
    }

    fn width(&self, slots: &[Slot]) -> u64 {
        slots.iter().filter_map(|slot| slot.sql_type).map(average_width).sum()
    }

    /// A node and its slots.
    fn node(&mut self, plan: &Plan) -> (Shown, Vec<Slot>) {
        let mut shown =
            Shown { total: plan.cost, rows: plan.rows, measured: self.measured_of(plan), ..Shown::default() };
        let slots = self.describe(plan, &mut shown);
        shown.width = self.width(&slots);
        if self.context.options.verbose
            && !slots.is_empty()
            && !shown.properties.iter().any(|(key, _)| *key == "Output")
        {
            shown.properties.insert(0, ("Output", Property::List(self.written(&slots))));
        }
        (shown, slots)
    }

    fn measured_of(&self, plan: &Plan) -> Option<Measured> {
        self.context.measured.map(|measured| measured(plan))
    }

    fn input(&mut self, plan: &Plan, relationship: &'static str, shown: &mut Shown) -> Vec<Slot> {
        let (mut child, slots) = self.node(plan);
        child.relationship = relationship;
        shown.children.push(child);
        slots
    }

    fn describe(&mut self, plan: &Plan, shown: &mut Shown) -> Vec<Slot> {
        match &plan.node {
            Node::Result { exprs, condition } => self.result(exprs, condition.as_ref(), shown),
            Node::Values { rows } => self.values(rows, shown),
            Node::SeqScan(scan) => self.seq_scan(scan, shown),
            Node::CurrentOf(scan) => self.current_of(scan, shown),
            Node::IndexScan(scan) => self.index_scan(scan, shown),
            Node::IndexPoint(scan) => self.index_point(scan, shown),
            Node::FunctionScan(scan) => self.function_scan(scan, shown),
            Node::VirtualScan(scan) => self.virtual_scan(scan, shown),
            Node::CteScan { cte, name, filter, .. } => self.cte_scan(*cte, name, filter.as_ref(), plan.width, shown),
            Node::WorkTableScan { cte } => self.work_table_scan(*cte, plan.width, shown),
            Node::Filter { input, condition } => self.filtered(plan, input, condition, shown),
            Node::OneTimeFilter { input, condition } => self.one_time_filter(input, condition, shown),
            Node::Project { input, exprs } => self.project(plan, input, exprs, shown),
            Node::KeptRows { input, .. } => self.describe(input, shown),
            Node::ProjectSet { input, items } => self.project_set(input, items, shown),
            Node::NestedLoop(join) => self.nested_loop(join, shown),
            Node::HashJoin(join) => self.hash_join(join, shown),
            Node::MergeJoin(join) => self.merge_join(join, shown),
            Node::Sort { input, keys } => self.sort(plan, input, keys, shown),
            Node::Limit { input, .. } => self.limit(input, shown),
            Node::Aggregate(aggregate) => self.aggregate(aggregate, plan.cost, shown),
            Node::Window(window) => self.window(window, shown),
            Node::Distinct { input, .. } => self.distinct(input, shown),
            Node::DistinctOn { input, .. } => self.distinct_on(input, shown),
            Node::SetOperation { operation, all, left, right, .. } => {
                self.set_operation(*operation, *all, left, right, shown)
            }
            Node::Append { inputs } => self.append(inputs, shown),
            Node::With { ctes, input } => self.with(plan, ctes, input, shown),
            Node::RecursiveUnion(union) => self.recursive_union(union, shown),
            Node::LockRows(lock) => self.lock_rows(lock, shown),
            Node::Insert(insert) => self.insert(insert, shown),
            Node::Update(update) => self.update(update, shown),
            Node::ViewChange(change) => self.view_change(change, shown),
            Node::Merge(merge) => self.merge(merge, shown),
            Node::Delete(delete) => self.delete(delete, shown),
        }
    }
}

fn set_node_type(shown: &mut Shown, name: &'static str) {
    shown.title = name.to_owned();
    shown.kind.push(("Node Type", Property::Text(name.to_owned())));
}

fn set_relation(shown: &mut Shown, table: &str, alias: &str) {
    shown.kind.push(("Relation Name", Property::Text(table.to_owned())));
    shown.kind.push(("Alias", Property::Text(alias.to_owned())));
}
