//! Nodes that pass the rows of one input on: conditions, projections, orders, limits.

use plan::{Cte, Expr, LockRows, Node, Plan, SetItem, SortKey};

use super::slots::Slot;
use super::{Explainer, Property, Shown, set_node_type};
use crate::deparse::sort_suffix;

impl Explainer<'_> {
    pub(super) fn filtered(&mut self, plan: &Plan, input: &Plan, condition: &Expr, shown: &mut Shown) -> Vec<Slot> {
        let (child, slots) = self.node(input);
        let is_group = matches!(input.node, Node::Aggregate(_));
        self.absorb(plan, shown, child);
        self.condition(shown, "Filter", condition, &slots, (!is_group, None));
        slots
    }

    pub(super) fn one_time_filter(&mut self, input: &Plan, condition: &Expr, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Result");
        self.condition(shown, "One-Time Filter", condition, &[], (true, None));
        self.input(input, "Outer", shown)
    }

    pub(super) fn project(&mut self, plan: &Plan, input: &Plan, exprs: &[Expr], shown: &mut Shown) -> Vec<Slot> {
        let (child, slots) = self.node(input);
        self.absorb(plan, shown, child);
        for expr in exprs {
            self.subplans(shown, expr, &slots);
        }
        self.expr_slots(exprs, &slots)
    }

    pub(super) fn project_set(&mut self, input: &Plan, items: &[SetItem], shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "ProjectSet");
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

    pub(super) fn sort(&mut self, plan: &Plan, input: &Plan, keys: &[SortKey], shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Sort");
        let slots = self.input(input, "Outer", shown);
        shown.startup = plan.cost;
        shown.properties.push(("Sort Key", Property::List(self.sort_keys(keys, &slots))));
        slots
    }

    fn sort_keys(&self, keys: &[SortKey], slots: &[Slot]) -> Vec<String> {
        keys.iter()
            .map(|key| format!("{}{}", self.full_text(&key.expr, slots), sort_suffix(key.descending, key.nulls_first)))
            .collect()
    }

    pub(super) fn limit(&mut self, input: &Plan, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Limit");
        let slots = self.input(input, "Outer", shown);
        shown.startup = shown.children[0].startup;
        slots
    }

    pub(super) fn with(&mut self, plan: &Plan, ctes: &[Cte], input: &Plan, shown: &mut Shown) -> Vec<Slot> {
        let mut before = Vec::new();
        for cte in ctes {
            self.ctes.insert(cte.id.0, cte.name.to_string());
            let mut child = self.node(&cte.plan).0;
            child.name = Some(format!("CTE {}", cte.name));
            child.relationship = "InitPlan";
            before.push(child);
        }
        let (child, slots) = self.node(input);
        self.absorb(plan, shown, child);
        before.append(&mut shown.children);
        shown.children = before;
        slots
    }

    pub(super) fn lock_rows(&mut self, lock: &LockRows, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "LockRows");
        self.input(&lock.input, "Outer", shown)
    }

    /// Takes what is shown of the input in place of a node that has no line of its own.
    fn absorb(&self, plan: &Plan, shown: &mut Shown, input: Shown) {
        let own = std::mem::take(shown);
        *shown = input;
        shown.total = own.total.max(shown.total);
        shown.rows = own.rows;
        shown.measured = self.measured_of(plan);
        // Its output is not what the node below gives.
        shown.properties.retain(|(key, _)| *key != "Output");
    }
}
