//! The names of the slots of rows.

use std::cell::RefCell;

use plan::{Quantifier, Subquery, SubqueryKind};
use rustc_hash::FxHashMap;
use types::{SqlType, oids};

use crate::deparse::{Deparser, Names};

/// A slot of a node's rows.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// The table's alias, of a column.
    pub(super) alias: Option<String>,
    pub(super) text: String,
    pub(super) sql_type: Option<SqlType>,
    /// Its text is the expression that computed it, not the name of a column.
    pub(super) is_computed: bool,
}

impl Slot {
    /// As it is written, with the alias in front if there is one and that is wanted.
    pub(super) fn written(&self, with_alias: bool) -> String {
        match &self.alias {
            Some(alias) if with_alias => format!("{alias}.{}", self.text),
            _ => self.text.clone(),
        }
    }

    pub(super) fn computed(text: String, sql_type: SqlType) -> Slot {
        Slot { alias: None, text, sql_type: Some(sql_type), is_computed: true }
    }
}

/// The names of the slots below an expression.
pub(super) struct SlotNames<'e> {
    pub(super) slots: &'e [Slot],
    pub(super) outer: &'e RefCell<FxHashMap<u32, String>>,
    pub(super) subqueries: &'e RefCell<FxHashMap<u32, String>>,
    /// Computed slots go in parentheses.
    pub(super) parentheses: bool,
    /// Columns have their table's alias in front.
    pub(super) aliases: bool,
}

impl Names for SlotNames<'_> {
    fn column(&self, slot: u32) -> (String, Option<SqlType>) {
        match self.slots.get(slot as usize) {
            Some(slot) => (slot.written(self.aliases), slot.sql_type),
            None => (format!("column{}", slot + 1), None),
        }
    }

    fn computed(&self, slot: u32, _deparser: &Deparser<'_>) -> Option<String> {
        let slot = self.slots.get(slot as usize).filter(|slot| slot.is_computed)?;
        let has_parentheses = slot.text.starts_with('(') && slot.text.ends_with(')');
        Some(if self.parentheses && !has_parentheses { format!("({})", slot.text) } else { slot.text.clone() })
    }

    fn outer(&self, index: u32, _deparser: &Deparser<'_>) -> String {
        self.outer.borrow().get(&index).cloned().unwrap_or_else(|| format!("${index}"))
    }

    fn subquery(&self, subquery: &Subquery, _deparser: &Deparser<'_>) -> String {
        let shown = self.subqueries.borrow().get(&subquery.id).cloned();
        let name = shown.unwrap_or_else(|| format!("SubPlan {}", subquery.id + 1));
        let SubqueryKind::Quantified { quantifier, hashable, .. } = &subquery.kind else {
            return if name.starts_with('$') { name } else { format!("({name})") };
        };
        if *hashable && !subquery.correlated && *quantifier == Quantifier::Any {
            return format!("(hashed {})", name.trim_start_matches('$'));
        }
        format!("({name})")
    }
}

/// How many bytes a value of a type takes, on average, as PostgreSQL reckons without statistics.
pub(super) fn average_width(sql_type: SqlType) -> u64 {
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
