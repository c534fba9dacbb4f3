//! Groups, windows, and operations on sets of rows.

use plan::{Aggregate, Plan, RecursiveUnion, SetOperator, Window};

use super::slots::Slot;
use super::{Explainer, Property, Shown, set_node_type};

impl Explainer<'_> {
    pub(super) fn aggregate(&mut self, aggregate: &Aggregate, cost: f64, shown: &mut Shown) -> Vec<Slot> {
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
        set_node_type(shown, "Aggregate");
        shown.title = title.to_owned();
        shown.kind.push(("Strategy", Property::Text(strategy.to_owned())));
        shown.kind.push(("Partial Mode", Property::Text("Simple".to_owned())));
        let input = self.input(&aggregate.input, "Outer", shown);
        if !aggregate.sorted {
            shown.startup = cost.min(shown.children[0].total.max(0.0));
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

    pub(super) fn window(&mut self, window: &Window, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "WindowAgg");
        let mut slots = self.input(&window.input, "Outer", shown);
        let input = slots.clone();
        for call in &window.calls {
            let names = self.names(&input, None);
            let text = self.deparser(&names).window(call);
            slots.push(Slot::computed(text, call.types.result));
        }
        slots
    }

    pub(super) fn distinct(&mut self, input: &Plan, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Aggregate");
        shown.title = "HashAggregate".to_owned();
        shown.kind.push(("Strategy", Property::Text("Hashed".to_owned())));
        shown.kind.push(("Partial Mode", Property::Text("Simple".to_owned())));
        let slots = self.input(input, "Outer", shown);
        shown.startup = shown.children[0].total;
        let keys = self.written(&slots);
        shown.properties.push(("Group Key", Property::List(keys)));
        slots
    }

    pub(super) fn distinct_on(&mut self, input: &Plan, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Unique");
        self.input(input, "Outer", shown)
    }

    pub(super) fn set_operation(
        &mut self,
        operation: SetOperator,
        all: bool,
        left: &Plan,
        right: &Plan,
        shown: &mut Shown,
    ) -> Vec<Slot> {
        set_node_type(shown, "SetOp");
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

    pub(super) fn append(&mut self, inputs: &[Plan], shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Append");
        let mut slots = Vec::new();
        for (number, input) in inputs.iter().enumerate() {
            let of_input = self.input(input, "Member", shown);
            if number == 0 {
                slots = of_input;
            }
        }
        slots
    }

    pub(super) fn recursive_union(&mut self, union: &RecursiveUnion, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Recursive Union");
        let slots = self.input(&union.anchor, "Outer", shown);
        self.input(&union.recursive, "Inner", shown);
        slots
    }
}
