//! Scans of indexes, and the conditions they make sure of.

use plan::{Expr, IndexPoint, IndexScan, KeyPart};
use schema::catalog::{IndexDef, TableDef};
use types::reg_types::quote_identifier;
use types::{SqlType, oids};

use super::slots::Slot;
use super::{Explainer, Property, Shown, set_node_type, set_relation};

impl Explainer<'_> {
    pub(super) fn index_scan(&mut self, scan: &IndexScan, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Index Scan");
        let direction = if scan.backward { " Backward" } else { "" };
        let what = format!("Index Scan{direction} using {}", quote_identifier(&scan.index.name));
        shown.title = self.scan_title(&what, &scan.table, &scan.alias);
        let direction = if scan.backward { "Backward" } else { "Forward" };
        shown.kind.push(("Scan Direction", Property::Text(direction.to_owned())));
        shown.kind.push(("Index Name", Property::Text(scan.index.name.clone())));
        set_relation(shown, &scan.table.name, &scan.alias);
        let slots = self.scan_slots(&scan.table, &scan.alias, &scan.columns);
        self.range_condition(scan, shown);
        self.filter(shown, scan.filter.as_ref(), &slots);
        slots
    }

    /// The text of the conditions that a range of an index makes sure of.
    fn range_condition(&mut self, scan: &IndexScan, shown: &mut Shown) {
        for part in &scan.range.equal {
            if let KeyPart::Equal(value) | KeyPart::AnyOf(value) = part {
                self.subplans(shown, value, &[]);
            }
        }
        for (value, _) in scan.range.lower.iter().chain(&scan.range.upper) {
            self.subplans(shown, value, &[]);
        }
        let mut conditions = Vec::new();
        for (number, part) in scan.range.equal.iter().enumerate() {
            conditions.push(match part {
                KeyPart::Equal(value) => self.key_condition(&scan.table, &scan.alias, &scan.index, number, "=", value),
                KeyPart::AnyOf(array) => {
                    let key = self.index_key(&scan.table, &scan.alias, &scan.index, number, None);
                    format!("({key} = ANY ({}))", self.full_text(array, &[]))
                }
                KeyPart::IsNull => {
                    let key = self.index_key(&scan.table, &scan.alias, &scan.index, number, None);
                    format!("({key} IS NULL)")
                }
            });
        }
        let next = scan.range.equal.len();
        for (bound, strict, inclusive) in [(&scan.range.lower, ">", ">="), (&scan.range.upper, "<", "<=")] {
            if let Some((value, is_inclusive)) = bound {
                let operator = if *is_inclusive { inclusive } else { strict };
                conditions.push(self.key_condition(&scan.table, &scan.alias, &scan.index, next, operator, value));
            }
        }
        if scan.range.skip_nulls && scan.range.lower.is_none() && scan.range.upper.is_none() {
            let key = self.index_key(&scan.table, &scan.alias, &scan.index, next, None);
            conditions.push(format!("({key} IS NOT NULL)"));
        }
        push_conditions(shown, conditions);
    }

    /// `(key = value)`
    fn key_condition(
        &self,
        table: &TableDef,
        alias: &str,
        index: &IndexDef,
        number: usize,
        operator: &str,
        value: &Expr,
    ) -> String {
        let key = self.index_key(table, alias, index, number, Some(value.sql_type));
        format!("({key} {operator} {})", self.full_text(value, &[]))
    }

    /// A key of an index as an expression over its table.
    fn index_key(
        &self,
        table: &TableDef,
        alias: &str,
        index: &IndexDef,
        number: usize,
        compared_as: Option<SqlType>,
    ) -> String {
        let Some(key) = index.keys.get(number) else { return String::new() };
        let Some(place) = key.column else { return key.expression.clone().unwrap_or_default() };
        let column = &table.columns[place];
        let slot = self.slot(alias, &column.name, SqlType::with_typmod(column.type_oid, column.typmod));
        let written = slot.written(self.context.options.verbose);
        // A string of limited length is compared as text.
        match compared_as {
            Some(sql_type) if sql_type.oid == oids::TEXT && column.type_oid == oids::VARCHAR => {
                format!("({written})::text")
            }
            _ => written,
        }
    }

    pub(super) fn index_point(&mut self, scan: &IndexPoint, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Index Scan");
        let what = format!("Index Scan using {}", quote_identifier(&scan.index.name));
        shown.title = self.scan_title(&what, &scan.table, &scan.alias);
        shown.kind.push(("Scan Direction", Property::Text("Forward".to_owned())));
        shown.kind.push(("Index Name", Property::Text(scan.index.name.clone())));
        set_relation(shown, &scan.table.name, &scan.alias);
        let slots = self.scan_slots(&scan.table, &scan.alias, &scan.columns);
        scan.key.iter().for_each(|value| self.subplans(shown, value, &[]));
        let conditions = scan
            .key
            .iter()
            .enumerate()
            .map(|(number, value)| self.key_condition(&scan.table, &scan.alias, &scan.index, number, "=", value))
            .collect();
        push_conditions(shown, conditions);
        self.filter(shown, scan.filter.as_ref(), &slots);
        slots
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
