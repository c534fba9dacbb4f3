//! A table's triggers, bound for the statements that change it.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use engine::catalog::{ColumnDef, TableDef, TriggerDef};

use super::scope::{Place, Scope};
use super::{BindContext, Binder, Parameters};
use crate::executor::{NEW_ROWS, OLD_ROWS, PlannedTrigger, TableTriggers};
use crate::plan::{Expr, ExprKind, VirtualColumn, VirtualTable};
use crate::tree::{self, Name};
use crate::types::SqlType;

/// How many rows a statement is thought to change, for the plans of what reads them.
const TRANSITION_ROWS: f64 = 100.0;

/// Binds a new trigger's WHEN, over the full old row followed by the full new row.
///
/// # Errors
/// 42P17 for a row that the trigger does not have, and whatever binding raises.
pub fn trigger_condition(
    context: &mut BindContext<'_>,
    table: &Arc<TableDef>,
    expr: &tree::Expr,
    def: &TriggerDef,
) -> Result<Expr> {
    let mut parameters = Parameters::fixed(Vec::new());
    let mut binder = Binder::new(context, &mut parameters);
    let bound = binder.trigger_condition(table, expr)?;
    let width = table.columns.len() as u32;
    let reads = |from: u32, to: u32| {
        bound.any(&|inner| matches!(inner.kind, ExprKind::Column(slot) if slot >= from && slot < to))
    };
    let (reads_old, reads_new) = (reads(0, width), reads(width, 2 * width));
    let refusal = |message: &str| Err(Error::new(sqlstate::INVALID_OBJECT_DEFINITION, message.to_owned()));
    if !def.for_each_row && (reads_old || reads_new) {
        return refusal("statement trigger's WHEN condition cannot reference column values");
    }
    if reads_old && def.on_insert {
        return refusal("INSERT trigger's WHEN condition cannot reference OLD values");
    }
    if reads_new && def.on_delete {
        return refusal("DELETE trigger's WHEN condition cannot reference NEW values");
    }
    Ok(bound)
}

/// A table's enabled triggers; none if it has none.
///
/// # Errors
/// Those of binding their conditions.
pub fn table_triggers(context: &mut BindContext<'_>, table: &Arc<TableDef>) -> Result<Option<Arc<TableTriggers>>> {
    let mut parameters = Parameters::fixed(Vec::new());
    Binder::new(context, &mut parameters).triggers_of(table)
}

impl Binder<'_, '_> {
    /// The triggers of a table that statements fire; none if it has none.
    pub(super) fn triggers_of(&mut self, table: &Arc<TableDef>) -> Result<Option<Arc<TableTriggers>>> {
        let mut defs: Vec<&TriggerDef> = table.triggers.iter().filter(|def| def.is_enabled()).collect();
        if defs.is_empty() {
            return Ok(None);
        }
        defs.sort_by(|one, other| one.name.cmp(&other.name));
        let mut list = Vec::with_capacity(defs.len());
        for def in defs {
            let function = self.context.catalog.function(def.function).cloned();
            let function = function.ok_or_else(|| Error::internal(format!("trigger {} has no function", def.name)))?;
            let condition = match &def.condition {
                None => None,
                Some(text) => {
                    let expr = crate::parser::parse_expression(text)?;
                    Some(self.with_foreign_text(|binder| binder.trigger_condition(table, &expr))?)
                }
            };
            let transition_tables = transition_tables(table, def);
            list.push(Arc::new(PlannedTrigger { def: def.clone(), function, condition, transition_tables }));
        }
        let shape = crate::plpgsql::row_shape(table);
        Ok(Some(Arc::new(TableTriggers { table: Arc::clone(table), shape, list })))
    }

    fn trigger_condition(&mut self, table: &Arc<TableDef>, expr: &tree::Expr) -> Result<Expr> {
        let outer = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope::new(Place::TriggerWhen));
        for name in ["old", "new"] {
            let relation = self.add_table(Arc::clone(table), Name::new(name));
            self.show(relation, None, Oid::INVALID, true);
        }
        let bound = self.expr(expr).and_then(|bound| self.coerce_boolean(bound, "WHEN", expr.location));
        self.scopes = outer;
        let mut bound = bound?;
        to_slots(&mut bound, table.columns.len() as u32);
        Ok(bound)
    }
}

/// The rows of a statement as tables that a trigger's function can read.
fn transition_tables(table: &TableDef, def: &TriggerDef) -> Arc<[Arc<VirtualTable>]> {
    let columns = || {
        let live = table.columns.iter().filter(|column| !column.dropped);
        let column = |column: &ColumnDef| VirtualColumn {
            name: Name::new(&column.name),
            sql_type: SqlType::with_typmod(column.type_oid, column.typmod),
        };
        live.map(column).collect()
    };
    let Some(tables) = table.transition_tables_of(def.oid) else { return Arc::from([]) };
    let names = [(OLD_ROWS, &tables.old), (NEW_ROWS, &tables.new)];
    names
        .into_iter()
        .filter_map(|(oid, name)| {
            let table = VirtualTable {
                oid,
                schema: Oid::INVALID,
                name: Name::new(name.as_ref()?),
                columns: columns(),
                estimated_rows: TRANSITION_ROWS,
                view_query: None,
            };
            Some(Arc::new(table))
        })
        .collect()
}

/// Variables of the two rows become slots, the old row's first.
fn to_slots(expr: &mut Expr, width: u32) {
    if let ExprKind::Variable(variable) = &expr.kind
        && variable.attribute >= 0
    {
        expr.kind = ExprKind::Column(variable.relation * width + variable.attribute as u32);
    }
    expr.for_each_child_mut(&mut |child| to_slots(child, width));
}
