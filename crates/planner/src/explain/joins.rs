//! Joins.

use plan::{Expr, HashJoin, JoinKind, MergeJoin, NestedLoop, Node, Plan};

use super::slots::Slot;
use super::{Explainer, Property, Shown, set_node_type};

impl Explainer<'_> {
    pub(super) fn nested_loop(&mut self, join: &NestedLoop, shown: &mut Shown) -> Vec<Slot> {
        let title = join_title("Nested Loop", join.kind);
        set_node_type(shown, "Nested Loop");
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
        self.joined(shown, left, right, join.kind, join.condition.as_ref())
    }

    pub(super) fn hash_join(&mut self, join: &HashJoin, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Hash Join");
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
        self.joined(shown, left, right, join.kind, join.condition.as_ref())
    }

    pub(super) fn merge_join(&mut self, join: &MergeJoin, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Merge Join");
        shown.title = join_title("Merge", join.kind);
        shown.kind.push(("Join Type", Property::Text(join_name(join.kind).to_owned())));
        let left = self.input(&join.left, "Outer", shown);
        let (mut child, right) = self.node(&join.right);
        child.relationship = "Inner";
        shown.startup = shown.children[0].startup + child.startup;
        shown.children.push(child);
        let text = self.equalities(&join.left_keys, &join.right_keys, &left, &right);
        shown.properties.push(("Merge Cond", Property::Text(text)));
        self.joined(shown, left, right, join.kind, join.condition.as_ref())
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
        set_node_type(&mut shown, kind);
        // Clients tell by it which columns an outer join may leave without a value.
        if self.context.options.verbose && !slots.is_empty() {
            shown.properties.push(("Output", Property::List(self.written(slots))));
        }
        shown
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
        condition: Option<&Expr>,
    ) -> Vec<Slot> {
        let left_count = left.len();
        let mut slots = left;
        slots.extend(right);
        if let Some(condition) = condition {
            self.condition(shown, "Join Filter", condition, &slots, (true, None));
        }
        if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            slots.truncate(left_count);
        }
        slots
    }
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
