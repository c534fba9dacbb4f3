//! Plans as EXPLAIN shows them: PostgreSQL's names for nodes and for what they do.
//!
//! Nodes that PostgreSQL has no name for are shown as part of others: a filter or projection as that of the node
//! below it, the right side of a hash join under a `Hash`.

mod changes;
mod indexes;
mod slots;

use std::cell::RefCell;

use plan::{
    CatalogView, Event, Expr, ExprKind, FunctionTarget, JoinKind, Measured, Node, Plan, ScanColumn, SetCall, SetItem,
    SetOperator, SortKey, Statement, SubqueryBody, SubqueryKind,
};
use rustc_hash::FxHashMap;
use schema::catalog::TableDef;
use slots::{Slot, SlotNames};
use types::reg_types::quote_identifier;
use types::{SqlType, Value, oids};

use crate::state::SessionState;
use crate::state::auto_explain::ExplainOptions;
use base::settings::words::PlanFormat;
use executor::Measurements;
use planner::deparse::{Deparser, Qualify, sort_suffix};

/// A node as it is shown.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The title in its line of the text form: `Seq Scan on t`.
    pub title: String,
    /// `Node Type` and what belongs to it in the JSON form.
    pub kind: Vec<(&'static str, Property)>,
    /// Its relationship to the node above: `Outer`, `Inner`, `InitPlan`, ...
    pub relationship: &'static str,
    /// `InitPlan 1 (returns $0)`, `CTE x`, ...
    pub name: Option<String>,
    pub startup: f64,
    pub total: f64,
    pub rows: f64,
    pub width: u64,
    pub measured: Option<Measured>,
    /// Lines below it.
    pub properties: Vec<(&'static str, Property)>,
    /// Plans that run before it, then its inputs, then its subplans.
    pub children: Vec<Shown>,
}

/// The value of a property.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Property {
    Text(String),
    List(Vec<String>),
    /// As it is written.
    Number(String),
}

/// Makes what is shown of a plan.
pub(super) struct Explainer<'e> {
    state: &'e SessionState,
    view: &'e CatalogView,
    statement: &'e Statement,
    options: ExplainOptions,
    /// The values of parameters.
    values: &'e [Value],
    measured: Option<&'e Measurements>,
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
    pub fn new(
        state: &'e SessionState,
        view: &'e CatalogView,
        statement: &'e Statement,
        options: ExplainOptions,
        values: &'e [Value],
        measured: Option<&'e Measurements>,
    ) -> Explainer<'e> {
        Explainer {
            state,
            view,
            statement,
            options,
            values,
            measured,
            outer: RefCell::default(),
            subqueries: RefCell::default(),
            plans_named: 0,
            ctes: FxHashMap::default(),
        }
    }

    /// Returns the output for a whole plan.
    pub fn explain(&mut self, plan: &Plan) -> Shown {
        self.node(plan).0
    }

    /// Returns the names of the slots. `aliases` tells whether columns have their table's alias in front. `None` puts aliases if the
    /// statement has more than one table.
    fn names<'s>(&'s self, slots: &'s [Slot], aliases: Option<bool>) -> SlotNames<'s> {
        let aliases = aliases.unwrap_or(self.statement.scan_count > 1);
        SlotNames { slots, outer: &self.outer, subqueries: &self.subqueries, parentheses: true, aliases }
    }

    fn deparser<'s>(&'s self, names: &'s SlotNames<'s>) -> Deparser<'s> {
        Deparser::new(self.view, names, Qualify::WhereNeeded)
            .with_defaults()
            .with_format(&self.state.format())
            .with_values(self.values)
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
            && (measured.removed_rows > 0 || self.options.format != PlanFormat::Text)
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
            let is_hashed = matches!(&subquery.kind, SubqueryKind::Quantified { hashable: true, .. });
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
            let _ = is_hashed;
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

    fn scan_title(&self, what: &str, table: &TableDef, alias: &str) -> String {
        let name = if self.options.verbose {
            let schema = quote_identifier(&self.view.schema_name(table.schema));
            format!("{schema}.{}", quote_identifier(&table.name))
        } else {
            quote_identifier(&table.name)
        };
        with_alias(&format!("{what} on {name}"), &table.name, alias)
    }

    /// The schema of a function in FROM.
    fn function_schema(&self, call: &SetCall) -> String {
        let schema = match &call.function {
            FunctionTarget::Builtin(_) => schema::catalog::PG_CATALOG_SCHEMA,
            FunctionTarget::Stored(function) => function.schema,
        };
        quote_identifier(&self.view.schema_name(schema))
    }

    /// The slots of a scan of a table.
    fn scan_slots(&self, table: &TableDef, alias: &str, columns: &[ScanColumn]) -> Vec<Slot> {
        columns
            .iter()
            .map(|column| {
                let (name, sql_type) = match column {
                    ScanColumn::Column(place) => {
                        let column = &table.columns[*place as usize];
                        (column.name.as_str(), SqlType::with_typmod(column.type_oid, column.typmod))
                    }
                    ScanColumn::Ctid => ("ctid", SqlType::new(oids::TID)),
                    ScanColumn::TableOid => ("tableoid", SqlType::new(oids::OID)),
                    ScanColumn::Xmin => ("xmin", SqlType::new(oids::XID)),
                    ScanColumn::Xmax => ("xmax", SqlType::new(oids::XID)),
                    ScanColumn::Cmin => ("cmin", SqlType::new(oids::CID)),
                    ScanColumn::Cmax => ("cmax", SqlType::new(oids::CID)),
                };
                self.slot(alias, name, sql_type)
            })
            .collect()
    }

    /// A column's slot.
    fn slot(&self, alias: &str, name: &str, sql_type: SqlType) -> Slot {
        Slot {
            alias: Some(quote_identifier(alias)),
            text: quote_identifier(name),
            sql_type: Some(sql_type),
            is_computed: false,
        }
    }

    fn written(&self, slots: &[Slot]) -> Vec<String> {
        let aliases = self.statement.scan_count > 1;
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
        if self.options.verbose && !slots.is_empty() && !shown.properties.iter().any(|(key, _)| *key == "Output") {
            shown.properties.insert(0, ("Output", Property::List(self.written(&slots))));
        }
        (shown, slots)
    }

    fn measured_of(&self, plan: &Plan) -> Option<Measured> {
        self.measured.map(|measured| measured.of(plan).unwrap_or_default())
    }

    /// Takes what is shown of the input in place of a node that has no line of its own.
    fn merge(&self, plan: &Plan, shown: &mut Shown, input: Shown) {
        let own = std::mem::take(shown);
        *shown = input;
        shown.total = own.total.max(shown.total);
        shown.rows = own.rows;
        shown.measured = self.measured_of(plan);
        // Its output is not what the node below gives.
        shown.properties.retain(|(key, _)| *key != "Output");
    }

    /// A node of a join's inner side that keeps the rows of `child`.
    fn around(&self, kind: &'static str, child: &Shown, slots: &[Slot]) -> Shown {
        let mut shown = Shown {
            startup: child.startup,
            total: child.total,
            rows: child.rows,
            width: child.width,
            measured: child.measured,
            relationship: "Inner",
            ..Shown::default()
        };
        name(&mut shown, kind);
        // Clients tell by it which columns an outer join may leave without a value.
        if self.options.verbose && !slots.is_empty() {
            shown.properties.push(("Output", Property::List(self.written(slots))));
        }
        shown
    }

    fn input(&mut self, plan: &Plan, relationship: &'static str, shown: &mut Shown) -> Vec<Slot> {
        let (mut child, slots) = self.node(plan);
        child.relationship = relationship;
        shown.children.push(child);
        slots
    }

    fn describe(&mut self, plan: &Plan, shown: &mut Shown) -> Vec<Slot> {
        match &plan.node {
            Node::Result { exprs, condition } => {
                name(shown, "Result");
                for expr in exprs {
                    self.subplans(shown, expr, &[]);
                }
                if let Some(condition) = condition {
                    self.condition(shown, "One-Time Filter", condition, &[], (true, None));
                }
                self.expr_slots(exprs, &[])
            }
            Node::Values { rows } => {
                name(shown, "Values Scan");
                shown.title = "Values Scan on \"*VALUES*\"".to_owned();
                shown.kind.push(("Alias", Property::Text("*VALUES*".to_owned())));
                let first: &[Expr] = rows.first().map_or(&[], Vec::as_slice);
                first
                    .iter()
                    .enumerate()
                    .map(|(number, expr)| self.slot("*VALUES*", &format!("column{}", number + 1), expr.sql_type))
                    .collect()
            }
            Node::SeqScan(scan) => {
                name(shown, "Seq Scan");
                shown.title = self.scan_title("Seq Scan", &scan.table, &scan.alias);
                relation(shown, &scan.table.name, &scan.alias);
                let slots = self.scan_slots(&scan.table, &scan.alias, &scan.columns);
                self.filter(shown, scan.filter.as_ref(), &slots);
                slots
            }
            Node::CurrentOf(scan) => {
                name(shown, "Tid Scan");
                shown.title = self.scan_title("Tid Scan", &scan.table, &scan.alias);
                relation(shown, &scan.table.name, &scan.alias);
                let cursor = quote_identifier(&scan.cursor.name);
                shown.properties.push(("TID Cond", Property::Text(format!("CURRENT OF {cursor}"))));
                self.scan_slots(&scan.table, &scan.alias, &scan.columns)
            }
            Node::IndexScan(scan) => self.index_scan(scan, shown),
            Node::IndexPoint(scan) => self.index_point(scan, shown),
            Node::FunctionScan(scan) => {
                name(shown, "Function Scan");
                let function = scan.calls.first().map_or("", |call| match &call.function {
                    FunctionTarget::Builtin(function) => function.name,
                    FunctionTarget::Stored(function) => function.name.as_str(),
                });
                shown.title = match scan.calls.as_slice() {
                    [call] => {
                        let name = if self.options.verbose {
                            format!("{}.{}", self.function_schema(call), quote_identifier(function))
                        } else {
                            quote_identifier(function)
                        };
                        with_alias(&format!("Function Scan on {name}"), function, &scan.alias)
                    }
                    _ => format!("Function Scan on {}", quote_identifier(&scan.alias)),
                };
                if let [call] = scan.calls.as_slice() {
                    shown.kind.push(("Function Name", Property::Text(function.to_owned())));
                    if self.options.verbose {
                        shown.kind.push(("Schema", Property::Text(self.function_schema(call))));
                    }
                }
                shown.kind.push(("Alias", Property::Text(scan.alias.to_string())));
                let types = scan.calls.iter().flat_map(|call| call.columns.iter().copied());
                let types = types.chain(scan.ordinality.then_some(SqlType::INT8));
                let slots: Vec<Slot> = scan
                    .column_names
                    .iter()
                    .zip(types)
                    .map(|(column, sql_type)| self.slot(&scan.alias, column, sql_type))
                    .collect();
                if self.options.verbose {
                    let names = self.names(&slots, None);
                    let deparser = self.deparser(&names);
                    let calls = scan.calls.iter().map(|call| deparser.set_call(call)).collect::<Vec<_>>();
                    shown.properties.push(("Output", Property::List(self.written(&slots))));
                    shown.properties.push(("Function Call", Property::Text(calls.join(", "))));
                }
                self.filter(shown, scan.filter.as_ref(), &slots);
                slots
            }
            Node::VirtualScan(scan) => {
                name(shown, "Seq Scan");
                let table = quote_identifier(&scan.table.name);
                shown.title = with_alias(&format!("Seq Scan on {table}"), &scan.table.name, &scan.alias);
                relation(shown, &scan.table.name, &scan.alias);
                let slots: Vec<Slot> = scan
                    .columns
                    .iter()
                    .map(|place| {
                        let column = &scan.table.columns[*place as usize];
                        self.slot(&scan.alias, &column.name, column.sql_type)
                    })
                    .collect();
                self.filter(shown, scan.filter.as_ref(), &slots);
                slots
            }
            Node::CteScan { cte, name: alias, filter, .. } => {
                name(shown, "CTE Scan");
                let cte_name = self.ctes.get(&cte.0).cloned().unwrap_or_else(|| alias.to_string());
                shown.title = with_alias(&format!("CTE Scan on {}", quote_identifier(&cte_name)), &cte_name, alias);
                shown.kind.push(("CTE Name", Property::Text(cte_name)));
                shown.kind.push(("Alias", Property::Text(alias.to_string())));
                let slots = self.unnamed_slots(alias, plan.width);
                self.filter(shown, filter.as_ref(), &slots);
                slots
            }
            Node::WorkTableScan { cte } => {
                name(shown, "WorkTable Scan");
                let cte_name = self.ctes.get(&cte.0).cloned().unwrap_or_default();
                shown.title = format!("WorkTable Scan on {}", quote_identifier(&cte_name));
                shown.kind.push(("CTE Name", Property::Text(cte_name.clone())));
                self.unnamed_slots(&cte_name, plan.width)
            }
            Node::Filter { input, condition } => {
                let (child, slots) = self.node(input);
                let is_group = matches!(input.node, Node::Aggregate(_));
                self.merge(plan, shown, child);
                self.condition(shown, "Filter", condition, &slots, (!is_group, None));
                slots
            }
            Node::OneTimeFilter { input, condition } => {
                name(shown, "Result");
                self.condition(shown, "One-Time Filter", condition, &[], (true, None));
                self.input(input, "Outer", shown)
            }
            Node::Project { input, exprs } => {
                let (child, slots) = self.node(input);
                self.merge(plan, shown, child);
                for expr in exprs {
                    self.subplans(shown, expr, &slots);
                }
                self.expr_slots(exprs, &slots)
            }
            Node::ProjectSet { input, items } => {
                name(shown, "ProjectSet");
                let mut slots = self.input(input, "Outer", shown);
                for item in items {
                    match item {
                        SetItem::Call(call) => {
                            let names = self.names(&slots, None);
                            let text = self.deparser(&names).set_call(call);
                            slots.push(Slot::computed(text, call.types.result));
                        }
                        SetItem::Value(value) => {
                            self.subplans(shown, value, &slots);
                            slots.extend(self.expr_slots(std::slice::from_ref(value), &slots));
                        }
                    }
                }
                slots
            }
            Node::NestedLoop(join) => {
                let title = join_title("Nested Loop", join.kind);
                name(shown, "Nested Loop");
                shown.title = title;
                shown.kind.push(("Join Type", Property::Text(join_name(join.kind).to_owned())));
                let left = self.input(&join.left, "Outer", shown);
                for (index, argument) in &join.arguments {
                    let text = self.full_text_with(argument, &self.names(&left, Some(true)));
                    self.outer.borrow_mut().insert(*index, text);
                }
                let (mut child, right) = self.node(&join.right);
                child.relationship = "Inner";
                if join.keep_right && !is_single_row(&join.right) {
                    let mut materialize = self.around("Materialize", &child, &right);
                    child.relationship = "Outer";
                    materialize.children.push(child);
                    child = materialize;
                }
                shown.children.push(child);
                self.joined(shown, left, right, join.kind, "Join Filter", join.condition.as_ref())
            }
            Node::HashJoin(join) => {
                name(shown, "Hash Join");
                shown.title = join_title("Hash", join.kind);
                shown.kind.push(("Join Type", Property::Text(join_name(join.kind).to_owned())));
                let left = self.input(&join.left, "Outer", shown);
                let (mut child, right) = self.node(&join.right);
                child.relationship = "Outer";
                let mut hash = Shown { startup: child.total, ..self.around("Hash", &child, &right) };
                if let (Some(join), Some(hash)) = (&mut shown.measured, &mut hash.measured) {
                    hash.effort = join.effort.take();
                }
                shown.startup = child.total;
                hash.children.push(child);
                shown.children.push(hash);
                let text = self.equalities(&join.left_keys, &join.right_keys, &left, &right);
                shown.properties.push(("Hash Cond", Property::Text(text)));
                self.joined(shown, left, right, join.kind, "Join Filter", join.condition.as_ref())
            }
            Node::MergeJoin(join) => {
                name(shown, "Merge Join");
                shown.title = join_title("Merge", join.kind);
                shown.kind.push(("Join Type", Property::Text(join_name(join.kind).to_owned())));
                let left = self.input(&join.left, "Outer", shown);
                let (mut child, right) = self.node(&join.right);
                child.relationship = "Inner";
                shown.startup = shown.children[0].startup + child.startup;
                shown.children.push(child);
                let text = self.equalities(&join.left_keys, &join.right_keys, &left, &right);
                shown.properties.push(("Merge Cond", Property::Text(text)));
                self.joined(shown, left, right, join.kind, "Join Filter", join.condition.as_ref())
            }
            Node::Sort { input, keys } => {
                name(shown, "Sort");
                let slots = self.input(input, "Outer", shown);
                shown.startup = plan.cost;
                shown.properties.push(("Sort Key", Property::List(self.sort_keys(keys, &slots))));
                slots
            }
            Node::Limit { input, .. } => {
                name(shown, "Limit");
                let slots = self.input(input, "Outer", shown);
                shown.startup = shown.children[0].startup;
                slots
            }
            Node::Aggregate(aggregate) => {
                let (title, strategy) = match (aggregate.groups.is_empty(), aggregate.sorted) {
                    (true, _) => ("Aggregate", "Plain"),
                    (false, true) => ("GroupAggregate", "Sorted"),
                    (false, false) => ("HashAggregate", "Hashed"),
                };
                let title = if aggregate.calls.is_empty() && aggregate.sorted && !aggregate.groups.is_empty() {
                    "Group"
                } else {
                    title
                };
                name(shown, "Aggregate");
                shown.title = title.to_owned();
                shown.kind.push(("Strategy", Property::Text(strategy.to_owned())));
                shown.kind.push(("Partial Mode", Property::Text("Simple".to_owned())));
                let input = self.input(&aggregate.input, "Outer", shown);
                if !aggregate.sorted {
                    shown.startup = plan.cost.min(shown.children[0].total.max(0.0));
                }
                let mut slots = self.expr_slots(&aggregate.groups, &input);
                if !slots.is_empty() {
                    let keys = self.written(&slots[..aggregate.key_count]);
                    shown.properties.push(("Group Key", Property::List(keys)));
                }
                for call in &aggregate.calls {
                    let names = self.names(&input, None);
                    let text = self.deparser(&names).aggregate(call);
                    slots.push(Slot::computed(text, call.types.result));
                }
                slots
            }
            Node::Window(window) => {
                name(shown, "WindowAgg");
                let mut slots = self.input(&window.input, "Outer", shown);
                let input = slots.clone();
                for call in &window.calls {
                    let names = self.names(&input, None);
                    let text = self.deparser(&names).window(call);
                    slots.push(Slot::computed(text, call.types.result));
                }
                slots
            }
            Node::Distinct { input, .. } => {
                name(shown, "Aggregate");
                shown.title = "HashAggregate".to_owned();
                shown.kind.push(("Strategy", Property::Text("Hashed".to_owned())));
                shown.kind.push(("Partial Mode", Property::Text("Simple".to_owned())));
                let slots = self.input(input, "Outer", shown);
                shown.startup = shown.children[0].total;
                let keys = self.written(&slots);
                shown.properties.push(("Group Key", Property::List(keys)));
                slots
            }
            Node::DistinctOn { input, .. } => {
                name(shown, "Unique");
                self.input(input, "Outer", shown)
            }
            Node::SetOperation { operation, all, left, right, .. } => {
                name(shown, "SetOp");
                let command = match (operation, all) {
                    (SetOperator::Intersect, false) => "Intersect",
                    (SetOperator::Intersect, true) => "Intersect All",
                    (SetOperator::Except, false) => "Except",
                    (SetOperator::Except, true) => "Except All",
                };
                shown.title = format!("HashSetOp {command}");
                shown.kind.push(("Strategy", Property::Text("Hashed".to_owned())));
                shown.kind.push(("Command", Property::Text(command.to_owned())));
                let slots = self.input(left, "Outer", shown);
                self.input(right, "Inner", shown);
                slots
            }
            Node::Append { inputs } => {
                name(shown, "Append");
                let mut slots = Vec::new();
                for (number, input) in inputs.iter().enumerate() {
                    let of_input = self.input(input, "Member", shown);
                    if number == 0 {
                        slots = of_input;
                    }
                }
                slots
            }
            Node::With { ctes, input } => {
                let mut before = Vec::new();
                for cte in ctes {
                    self.ctes.insert(cte.id.0, cte.name.to_string());
                    let mut child = self.node(&cte.plan).0;
                    child.name = Some(format!("CTE {}", cte.name));
                    child.relationship = "InitPlan";
                    before.push(child);
                }
                let (child, slots) = self.node(input);
                self.merge(plan, shown, child);
                before.append(&mut shown.children);
                shown.children = before;
                slots
            }
            Node::RecursiveUnion(union) => {
                name(shown, "Recursive Union");
                let slots = self.input(&union.anchor, "Outer", shown);
                self.input(&union.recursive, "Inner", shown);
                slots
            }
            Node::LockRows(lock) => {
                name(shown, "LockRows");
                self.input(&lock.input, "Outer", shown)
            }
            Node::Insert(insert) => {
                self.change("Insert", &insert.target, &insert.target.table.name, shown);
                self.input(&insert.input, "Outer", shown);
                if let Some(on_conflict) = &insert.on_conflict {
                    self.on_conflict(on_conflict, &insert.target, shown);
                }
                self.returned(insert.returning.as_deref(), Vec::new(), &insert.target, shown)
            }
            Node::Update(update) => {
                self.change("Update", &update.target, &update.target.table.name, shown);
                let slots = self.input(&update.input, "Outer", shown);
                self.returned(update.returning.as_deref(), slots, &update.target, shown)
            }
            Node::ViewChange(change) => {
                let word = match change.event {
                    Event::Insert => "Insert",
                    Event::Update => "Update",
                    Event::Delete | Event::Truncate => "Delete",
                };
                self.change(word, &change.target, &change.target.table.name, shown);
                let slots = self.input(&change.input, "Outer", shown);
                let slots = if change.event == Event::Insert { Vec::new() } else { slots };
                self.returned(change.returning.as_deref(), slots, &change.target, shown)
            }
            Node::Merge(merge) => {
                self.change("Merge", &merge.target, &merge.alias, shown);
                let slots = self.input(&merge.input, "Outer", shown);
                for clause in &merge.clauses {
                    clause.for_each_expr(&mut |expr| self.subplans(shown, expr, &slots));
                }
                Vec::new()
            }
            Node::Delete(delete) => {
                self.change("Delete", &delete.target, &delete.target.table.name, shown);
                let slots = self.input(&delete.input, "Outer", shown);
                self.returned(delete.returning.as_deref(), slots, &delete.target, shown)
            }
        }
    }

    fn filter(&mut self, shown: &mut Shown, filter: Option<&Expr>, slots: &[Slot]) {
        if let Some(filter) = filter {
            self.condition(shown, "Filter", filter, slots, (true, Some(self.options.verbose)));
        }
    }

    /// The slots of rows whose columns have no names here.
    fn unnamed_slots(&self, alias: &str, width: u32) -> Vec<Slot> {
        (1..=width)
            .map(|number| Slot {
                alias: Some(quote_identifier(alias)),
                text: format!("column{number}"),
                sql_type: None,
                is_computed: false,
            })
            .collect()
    }

    /// The equalities of a join's keys.
    fn equalities(&self, left_keys: &[Expr], right_keys: &[Expr], left: &[Slot], right: &[Slot]) -> String {
        let pairs = left_keys.iter().zip(right_keys);
        let pairs =
            pairs.map(|(one, other)| format!("({} = {})", self.full_text(one, left), self.full_text(other, right)));
        let pairs: Vec<String> = pairs.collect();
        if pairs.len() == 1 { pairs.concat() } else { format!("({})", pairs.join(" AND ")) }
    }

    fn joined(
        &mut self,
        shown: &mut Shown,
        left: Vec<Slot>,
        right: Vec<Slot>,
        kind: JoinKind,
        key: &'static str,
        condition: Option<&Expr>,
    ) -> Vec<Slot> {
        let left_count = left.len();
        let mut slots = left;
        slots.extend(right);
        if let Some(condition) = condition {
            self.condition(shown, key, condition, &slots, (true, None));
        }
        if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            slots.truncate(left_count);
        }
        slots
    }

    fn sort_keys(&self, keys: &[SortKey], slots: &[Slot]) -> Vec<String> {
        keys.iter()
            .map(|key| format!("{}{}", self.full_text(&key.expr, slots), sort_suffix(key.descending, key.nulls_first)))
            .collect()
    }
}

fn push_conditions(shown: &mut Shown, conditions: Vec<String>) {
    let text = match conditions.as_slice() {
        [] => return,
        [only] => only.clone(),
        _ => format!("({})", conditions.join(" AND ")),
    };
    shown.properties.push(("Index Cond", Property::Text(text)));
}

fn name(shown: &mut Shown, name: &'static str) {
    shown.title = name.to_owned();
    shown.kind.push(("Node Type", Property::Text(name.to_owned())));
}

fn relation(shown: &mut Shown, table: &str, alias: &str) {
    shown.kind.push(("Relation Name", Property::Text(table.to_owned())));
    shown.kind.push(("Alias", Property::Text(alias.to_owned())));
}

fn with_alias(title: &str, name: &str, alias: &str) -> String {
    if name == alias { title.to_owned() } else { format!("{title} {}", quote_identifier(alias)) }
}

fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Inner",
        JoinKind::Left => "Left",
        JoinKind::Right => "Right",
        JoinKind::Full => "Full",
        JoinKind::Semi => "Semi",
        JoinKind::Anti => "Anti",
    }
}

fn join_title(method: &str, kind: JoinKind) -> String {
    match (method, kind) {
        ("Nested Loop", JoinKind::Inner) => "Nested Loop".to_owned(),
        (method, JoinKind::Inner) => format!("{method} Join"),
        (method, kind) => format!("{method} {} Join", join_name(kind)),
    }
}

fn is_single_row(plan: &Plan) -> bool {
    matches!(plan.node, Node::Result { .. } | Node::IndexPoint(_))
}

/// How many bytes a value of a type takes, on average, as PostgreSQL reckons without statistics.
fn average_width(sql_type: SqlType) -> u64 {
    let length = types::builtin_type(sql_type.oid).map_or(-1, |definition| definition.length);
    if length > 0 {
        return length.unsigned_abs().into();
    }
    let most = match sql_type.oid {
        oids::VARCHAR | oids::BPCHAR if sql_type.typmod >= 4 => i64::from(sql_type.typmod - 4) * 4 + 4,
        oids::BIT | oids::VARBIT if sql_type.typmod > 0 => i64::from(sql_type.typmod + 7) / 8 + 8,
        _ => return 32,
    };
    match most.unsigned_abs() {
        most @ 0..=32 => most,
        most @ 33..=999 if sql_type.oid == oids::BPCHAR => most,
        most @ 33..=999 => 32 + (most - 32) / 2,
        _ => 32 + (1000 - 32) / 2,
    }
}
