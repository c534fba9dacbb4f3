//! Values and expressions of any type there is.

use crate::catalog::{Catalog, Column, Relation};
use crate::script::Script;

/// Types that are there from the beginning.
pub const SCALARS: &[&str] =
    &["integer", "text", "numeric", "bigint", "boolean", "date", "numeric(6,2)", "character varying(8)"];

/// Values within each other go no further.
const DEPTH: usize = 4;

impl Script {
    /// A type for a column.
    pub fn kind(&mut self, catalog: &Catalog) -> String {
        let rows: Vec<&str> = catalog.relations.iter().map(|relation| &*relation.name).collect();
        let mut kind = match self.below(10) {
            0..=2 if !rows.is_empty() => (*self.pick(&rows)).to_owned(),
            3 if !catalog.enums.is_empty() => self.pick(&catalog.enums.keys().collect::<Vec<_>>()).to_string(),
            4 if !catalog.domains.is_empty() => self.pick(&catalog.domains.keys().collect::<Vec<_>>()).to_string(),
            _ => (*self.pick(SCALARS)).to_owned(),
        };
        if self.chance(12) {
            kind.push_str("[]");
        }
        kind
    }

    /// An expression of this type without columns.
    pub fn value(&mut self, catalog: &Catalog, kind: &str) -> String {
        self.value_in(catalog, kind, 0, None)
    }

    /// An expression of this type that may use the columns of a relation, whose names begin with `prefix`.
    pub fn expression(&mut self, catalog: &Catalog, kind: &str, relation: &Relation, prefix: &str) -> String {
        self.value_in(catalog, kind, 0, Some((relation, prefix)))
    }

    fn value_in(&mut self, catalog: &Catalog, kind: &str, depth: usize, from: Option<(&Relation, &str)>) -> String {
        if let Some((relation, prefix)) = from
            && self.chance(60)
            && let Some(text) = self.column_of(catalog, kind, relation, prefix)
        {
            return text;
        }
        if depth >= DEPTH || self.chance(8) {
            return format!("null::{kind}");
        }
        if let Some(element) = kind.strip_suffix("[]") {
            // An empty array forgets the length of its elements when it is stored in a view.
            let least = usize::from(element.ends_with(')'));
            let elements: Vec<String> =
                (0..least + self.below(3 - least)).map(|_| self.value_in(catalog, element, depth + 1, from)).collect();
            self.has_empty_arrays |= elements.is_empty() && !SCALARS.contains(&element);
            return format!("array[{}]::{kind}", elements.join(", "));
        }
        if let Some(base) = catalog.domains.get(kind) {
            return format!("({})::{kind}", self.value_in(catalog, base, depth + 1, from));
        }
        if let Some(labels) = catalog.enums.get(kind) {
            return format!("'{}'::{kind}", self.pick(labels));
        }
        if let Some(attributes) = catalog.attributes(kind) {
            if self.makes_no_rows {
                return format!("null::{kind}");
            }
            let attributes = attributes.to_vec();
            let fields: Vec<String> =
                attributes.iter().map(|attribute| self.value_in(catalog, &attribute.kind, depth + 1, from)).collect();
            return format!("row({})::{kind}", fields.join(", "));
        }
        match kind {
            "integer" | "bigint" => self.below(4).to_string(),
            "text" | "character varying(8)" => format!("'{}'::text", ["q", "x y", "", "(1,2)", "7"][self.below(5)]),
            "numeric" | "numeric(6,2)" => ["1.50", "2", "0.333"][self.below(3)].to_owned(),
            "boolean" => ["true", "false"][self.below(2)].to_owned(),
            "date" => format!("'2020-01-0{}'::date", 1 + self.below(3)),
            _ => format!("null::{kind}"),
        }
    }

    /// A column of this type, a field or an element of one, or a call that makes such a value.
    fn column_of(&mut self, catalog: &Catalog, kind: &str, relation: &Relation, prefix: &str) -> Option<String> {
        let mut found = Vec::new();
        for column in &relation.columns {
            let name = format!("{prefix}{}", column.name);
            Script::parts(catalog, &name, &column.kind, kind, &mut found, 0);
        }
        if relation.name == kind && prefix.is_empty() && relation.kind != 'c' {
            found.push(relation.name.clone());
        }
        if kind == "text" {
            found.extend(relation.columns.iter().map(|column| format!("{prefix}{}::text", column.name)));
        }
        if found.is_empty() {
            return None;
        }
        let mut text = self.pick(&found).clone();
        if self.chance(15) {
            text = format!("coalesce({text}, {})", self.value(catalog, kind));
        }
        if self.chance(15) {
            let calls: Vec<String> = catalog
                .functions
                .iter()
                .filter(|function| function.argument == kind && function.result == kind)
                .map(|function| format!("{}({text})", function.name))
                .collect();
            if !calls.is_empty() {
                text = self.pick(&calls).clone();
            }
        }
        Some(text)
    }

    /// The parts of a value that are of the type `wanted`.
    fn parts(catalog: &Catalog, text: &str, kind: &str, wanted: &str, found: &mut Vec<String>, depth: usize) {
        if kind == wanted {
            found.push(text.to_owned());
        }
        if depth >= 3 {
            return;
        }
        if let Some(element) = kind.strip_suffix("[]") {
            return Script::parts(catalog, &format!("({text})[1]"), element, wanted, found, depth + 1);
        }
        if let Some(attributes) = catalog.attributes(catalog.base(kind)) {
            for attribute in attributes {
                let text = format!("({text}).{}", attribute.name);
                Script::parts(catalog, &text, &attribute.kind, wanted, found, depth + 1);
            }
        }
    }

    /// A condition on the columns of a relation.
    pub fn condition(&mut self, catalog: &Catalog, relation: &Relation, prefix: &str) -> String {
        if relation.columns.is_empty() || self.chance(5) {
            return "true".to_owned();
        }
        let mut column: Column = self.pick(&relation.columns).clone();
        column.name = format!("{prefix}{}", column.name);
        // A field rather than the row.
        while let Some(attributes) = catalog.attributes(catalog.base(&column.kind)).filter(|list| !list.is_empty()) {
            if self.chance(30) {
                break;
            }
            let attribute = self.pick(attributes).clone();
            column = Column { name: format!("({}).{}", column.name, attribute.name), ..attribute };
        }
        let Column { name, kind, .. } = column;
        match self.below(9) {
            0 => format!("{name} is null"),
            1 => format!("{name} is not null"),
            2 => format!("{name} is distinct from {}", self.value(catalog, &kind)),
            3 => format!("{name} in ({}, {})", self.value(catalog, &kind), self.value(catalog, &kind)),
            4 => format!("{name} = any (array[{}])", self.value(catalog, &kind)),
            5 => format!("{name} < {}", self.value(catalog, &kind)),
            6 => format!(
                "not ({name} = {} and {})",
                self.value(catalog, &kind),
                self.condition(catalog, relation, prefix)
            ),
            7 => format!("({name} = {} or {})", self.value(catalog, &kind), self.condition(catalog, relation, prefix)),
            _ => format!("{name} = {}", self.expression(catalog, &kind, relation, prefix)),
        }
    }
}
