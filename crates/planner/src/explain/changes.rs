//! Nodes that change rows.

use plan::{Delete, Event, Expr, Insert, Merge, OnConflict, ScanColumn, Target, Update, ViewChange};

use super::slots::Slot;
use super::{Explainer, Property, Shown, set_relation};

impl Explainer<'_> {
    pub(super) fn insert(&mut self, insert: &Insert, shown: &mut Shown) -> Vec<Slot> {
        self.change("Insert", &insert.target, &insert.target.table.name, shown);
        self.input(&insert.input, "Outer", shown);
        if let Some(on_conflict) = &insert.on_conflict {
            self.on_conflict(on_conflict, &insert.target, shown);
        }
        self.returned(insert.returning.as_deref(), Vec::new(), &insert.target, shown)
    }

    pub(super) fn update(&mut self, update: &Update, shown: &mut Shown) -> Vec<Slot> {
        self.change("Update", &update.target, &update.target.table.name, shown);
        let slots = self.input(&update.input, "Outer", shown);
        self.returned(update.returning.as_deref(), slots, &update.target, shown)
    }

    pub(super) fn delete(&mut self, delete: &Delete, shown: &mut Shown) -> Vec<Slot> {
        self.change("Delete", &delete.target, &delete.target.table.name, shown);
        let slots = self.input(&delete.input, "Outer", shown);
        self.returned(delete.returning.as_deref(), slots, &delete.target, shown)
    }

    pub(super) fn merge(&mut self, merge: &Merge, shown: &mut Shown) -> Vec<Slot> {
        self.change("Merge", &merge.target, &merge.alias, shown);
        let slots = self.input(&merge.input, "Outer", shown);
        for clause in &merge.clauses {
            clause.for_each_expr(&mut |expr| self.subplans(shown, expr, &slots));
        }
        Vec::new()
    }

    pub(super) fn view_change(&mut self, change: &ViewChange, shown: &mut Shown) -> Vec<Slot> {
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

    fn change(&self, operation: &str, target: &Target, alias: &str, shown: &mut Shown) {
        shown.kind.push(("Node Type", Property::Text("ModifyTable".to_owned())));
        shown.kind.push(("Operation", Property::Text(operation.to_owned())));
        shown.title = self.scan_title(operation, &target.table, alias);
        set_relation(shown, &target.table.name, alias);
        shown.rows = 0.0;
    }

    fn on_conflict(&mut self, on_conflict: &OnConflict, target: &Target, shown: &mut Shown) {
        let resolution = if on_conflict.update.is_some() { "UPDATE" } else { "NOTHING" };
        shown.properties.push(("Conflict Resolution", Property::Text(resolution.to_owned())));
        let catalog = self.context.view.catalog();
        let indexes = catalog.indexes_of(target.table.oid);
        let arbiters: Vec<String> = on_conflict
            .arbiters
            .iter()
            .filter_map(|position| indexes.get(*position as usize))
            .map(|index| index.name.clone())
            .collect();
        if !arbiters.is_empty() {
            shown.properties.push(("Conflict Arbiter Indexes", Property::List(arbiters)));
        }
        if let Some(condition) = on_conflict.update.as_ref().and_then(|update| update.condition.as_ref()) {
            let columns: Vec<ScanColumn> = (0..target.table.columns.len() as u32).map(ScanColumn::Column).collect();
            let mut slots = self.scan_slots(&target.table, &target.table.name, &columns);
            slots.extend(self.scan_slots(&target.table, "excluded", &columns));
            slots.extend(self.scan_slots(&target.table, &target.table.name, &ScanColumn::SYSTEM));
            self.condition(shown, "Conflict Filter", condition, &slots, (true, Some(true)));
        }
    }

    /// The slots of RETURNING. It sees the slots of the input, then those of the row that was written.
    fn returned(
        &mut self,
        returning: Option<&[Expr]>,
        mut slots: Vec<Slot>,
        target: &Target,
        shown: &mut Shown,
    ) -> Vec<Slot> {
        let Some(returning) = returning else { return Vec::new() };
        shown.rows = shown.children.first().map_or(0.0, |child| child.rows);
        let columns = (0..target.table.columns.len() as u32).map(ScanColumn::Column);
        let written: Vec<ScanColumn> = columns.chain(ScanColumn::SYSTEM).collect();
        slots.extend(self.scan_slots(&target.table, &target.table.name, &written));
        for expr in returning {
            self.subplans(shown, expr, &slots);
        }
        self.expr_slots(returning, &slots)
    }
}
