//! Nodes that change rows.

use plan::{Expr, OnConflict, ScanColumn, Target};

use super::{Explainer, Property, Shown, Slot, relation};

impl Explainer<'_> {
    pub(super) fn change(&self, operation: &str, target: &Target, alias: &str, shown: &mut Shown) {
        shown.kind.push(("Node Type", Property::Text("ModifyTable".to_owned())));
        shown.kind.push(("Operation", Property::Text(operation.to_owned())));
        shown.title = self.scan_title(operation, &target.table, alias);
        relation(shown, &target.table.name, alias);
        shown.rows = 0.0;
    }

    pub(super) fn on_conflict(&mut self, on_conflict: &OnConflict, target: &Target, shown: &mut Shown) {
        let resolution = if on_conflict.update.is_some() { "UPDATE" } else { "NOTHING" };
        shown.properties.push(("Conflict Resolution", Property::Text(resolution.to_owned())));
        let catalog = self.view.catalog();
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
    pub(super) fn returned(
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
