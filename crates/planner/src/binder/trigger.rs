//! A table's triggers, bound for the statements that change it.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::{
    Expr, ExprKind, NEW_ROWS, OLD_ROWS, PlannedTrigger, TableTriggers, Variable, VirtualColumn, VirtualTable,
    builtin_trigger_function,
};
use schema::catalog::{ColumnDef, TableDef, TriggerDef, TriggerTiming};
use syntax::tree::{self, Name};
use types::{RecordShape, SqlType, Value};

use super::scope::{Place, Scope};
use super::{BindContext, Binder, Parameters};

/// The number of rows that a statement is assumed to change, for the plans that read them.
const TRANSITION_ROWS: f64 = 100.0;

/// The number of the system column `tableoid`.
const TABLEOID: i32 = -6;

/// Binds a new trigger's WHEN, over the full old row followed by the full new row.
///
/// # Errors
/// 42P17 for a row that the trigger does not have, and errors of binding.
pub fn trigger_condition(
    context: &mut BindContext<'_>,
    table: &Arc<TableDef>,
    expr: &tree::Expr,
    def: &TriggerDef,
) -> Result<Expr> {
    let mut parameters = Parameters::fixed(Vec::new());
    let mut binder = Binder::new(context, &mut parameters);
    binder.is_definition = true;
    let bound = binder.new_trigger_condition(table, expr, def)?;
    binder.hand_on_needed();
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
        let in_replica = self.context.settings.in_replica;
        let mut defs: Vec<&TriggerDef> = table.triggers.iter().filter(|def| def.is_enabled(in_replica)).collect();
        if defs.is_empty() {
            return Ok(None);
        }
        defs.sort_by(|one, other| one.name.cmp(&other.name));
        let mut list = Vec::with_capacity(defs.len());
        for def in defs {
            let function = self.context.catalog.function(def.function).cloned();
            let function = function.or_else(|| builtin_trigger_function(def.function));
            let function = function.ok_or_else(|| Error::internal(format!("trigger {} has no function", def.name)))?;
            let condition = match &def.condition {
                None => None,
                Some(text) => {
                    let expr = syntax::parser::parse_expression(text)?;
                    Some(self.with_foreign_text(|binder| binder.trigger_condition(table, &expr))?)
                }
            };
            let transition_tables = transition_tables(table, def);
            let update_columns = self.update_columns(table, def)?;
            let def = def.clone();
            list.push(Arc::new(PlannedTrigger { def, function, condition, update_columns, transition_tables }));
        }
        let shape = RecordShape::of_table(table);
        Ok(Some(Arc::new(TableTriggers { table: Arc::clone(table), shape, list })))
    }

    /// The columns whose assignment fires a trigger: those of UPDATE OF, and what generated ones among them are computed from.
    fn update_columns(&mut self, table: &Arc<TableDef>, def: &TriggerDef) -> Result<Vec<usize>> {
        let is_generated = |place: &usize| table.columns.get(*place).is_some_and(|column| column.generated.is_some());
        // Where a BEFORE trigger may change the row, all generated columns are computed anew.
        let may_change =
            |other: &TriggerDef| other.timing == TriggerTiming::Before && other.for_each_row && other.on_update;
        if def.update_columns.iter().any(is_generated) && table.triggers.iter().any(may_change) {
            return Ok(Vec::new());
        }
        let mut columns = def.update_columns.clone();
        for place in &def.update_columns {
            let Some(text) = table.columns.get(*place).and_then(|column| column.generated.as_deref()) else { continue };
            let expr = syntax::parser::parse_expression(text)?;
            let computed =
                self.with_foreign_text(|binder| binder.table_expr_tree(table, &expr, None, Place::Generated, None))?;
            columns.extend(super::table::expression_columns(&computed));
        }
        Ok(columns)
    }

    /// As [`Binder::trigger_condition`]; 42P17 where it reads what a BEFORE trigger's new row hasn't got yet.
    fn new_trigger_condition(&mut self, table: &Arc<TableDef>, expr: &tree::Expr, def: &TriggerDef) -> Result<Expr> {
        let mut bound = self.trigger_variables(table, expr)?;
        let is_before = def.timing == TriggerTiming::Before;
        if let (true, Some(variable)) = (is_before, system_column(&bound, |variable| variable.relation == 1)) {
            let message = "BEFORE trigger's WHEN condition cannot reference NEW system columns";
            return Err(self.unsupported(message, variable.location));
        }
        if let Some(variable) = system_column(&bound, |variable| variable.attribute != TABLEOID) {
            let message = "system columns other than tableoid in WHEN of a trigger are not supported";
            return Err(self.unsupported(message, variable.location));
        }
        let has_generated = table.columns.iter().any(|column| column.generated.is_some() && !column.dropped);
        if has_generated
            && is_before
            && let Some((location, column)) = early_column(&bound, table)
        {
            let message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
            let detail = match column {
                Some(name) => format!("Column \"{name}\" is a generated column."),
                None => "A whole-row reference is used and the table contains generated columns.".to_owned(),
            };
            return Err(self.error(sqlstate::INVALID_OBJECT_DEFINITION, message, location).detail(detail));
        }
        to_slots(&mut bound, table);
        Ok(bound)
    }

    fn trigger_condition(&mut self, table: &Arc<TableDef>, expr: &tree::Expr) -> Result<Expr> {
        let mut bound = self.trigger_variables(table, expr)?;
        to_slots(&mut bound, table);
        fill_in_tableoid(&mut bound, table);
        Ok(bound)
    }

    /// WHEN, over the old row as relation 0 and the new one as relation 1.
    fn trigger_variables(&mut self, table: &Arc<TableDef>, expr: &tree::Expr) -> Result<Expr> {
        let outer = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope::new(Place::TriggerWhen));
        for name in ["old", "new"] {
            let relation = self.add_table(Arc::clone(table), Name::new(name));
            self.show(relation, None, table.oid, true);
        }
        let bound = self.expr(expr).and_then(|bound| self.coerce_boolean(bound, "WHEN", expr.location));
        self.scopes = outer;
        bound
    }
}

/// Where a condition reads a generated column of the new row: its name, or none where it reads the row as a whole.
fn early_column<'t>(expr: &Expr, table: &'t TableDef) -> Option<(tree::Location, Option<&'t str>)> {
    let of_new = |expr: &Expr| match &expr.kind {
        ExprKind::Variable(variable) if variable.relation == 1 && variable.attribute >= 0 => Some(*variable),
        _ => None,
    };
    if let ExprKind::Row { fields, is_whole: true, .. } = &expr.kind {
        return fields.iter().find_map(of_new).map(|variable| (variable.location, None));
    }
    if let Some(variable) = of_new(expr) {
        let column = table.columns.get(variable.attribute as usize)?;
        return column.generated.is_some().then_some((variable.location, Some(column.name.as_str())));
    }
    let mut found = None;
    expr.for_each_child(&mut |child| found = found.or_else(|| early_column(child, table)));
    found
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

/// A system column of the two rows that fits.
fn system_column(expr: &Expr, fits: impl Fn(&Variable) -> bool + Copy) -> Option<Variable> {
    if let ExprKind::Variable(variable) = &expr.kind
        && variable.attribute < 0
        && fits(variable)
    {
        return Some(*variable);
    }
    let mut found = None;
    expr.for_each_child(&mut |child| found = found.or_else(|| system_column(child, fits)));
    found
}

/// Variables of the two rows become slots, the old row's first. System columns stay.
fn to_slots(expr: &mut Expr, table: &TableDef) {
    if let ExprKind::Variable(variable) = &expr.kind
        && variable.attribute >= 0
    {
        expr.kind = ExprKind::Column(variable.relation * table.columns.len() as u32 + variable.attribute as u32);
    }
    expr.for_each_child_mut(&mut |child| to_slots(child, table));
}

/// All rows of a table have the same `tableoid`.
fn fill_in_tableoid(expr: &mut Expr, table: &TableDef) {
    if let ExprKind::Variable(Variable { attribute: TABLEOID, .. }) = &expr.kind {
        expr.kind = ExprKind::Constant(Value::Oid(table.oid.0));
    }
    expr.for_each_child_mut(&mut |child| fill_in_tableoid(child, table));
}
