//! CREATE TRIGGER and what changes one.

use std::fmt::Write;
use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::privileges::Privileges;
use plan::user_types::is_composite_type;
use plan::{CatalogView, Expr, ExprKind, SUPPRESS_REDUNDANT_UPDATES, Variable, builtin_trigger_function};
use schema::catalog::{
    Catalog, ConstraintDef, ConstraintKind, FunctionKind, RelationKind, TableDef, TransitionTables, TriggerDef,
    TriggerEnabled, TriggerTiming,
};
use syntax::parser::if_readable;
use syntax::tree::{CreateTrigger, WhichTriggers};
use types::reg_types::quote_identifier;
use types::{SqlType, oids};

use super::ddl::{Ddl, Found, system_refusal};
use super::dependencies::relation;
use crate::commands::definitions::as_read_now;
use crate::state::planning::Environment;
use crate::state::{SessionState, UtilityOutput};
use planner::binder::{is_whole_row, trigger_condition};
use planner::deparse::{Deparser, Names, Qualify};

/// CREATE TRIGGER.
pub(super) fn create(ddl: &mut Ddl<'_>, create: &CreateTrigger) -> Result<UtilityOutput> {
    let table = match ddl.required_locked(&create.table, LockMode::ShareRowExclusive)? {
        Found::Table(table) => table,
        Found::System(name) => return Err(system_refusal(&name)),
        Found::Composite(def) => return Err(is_composite_type(&def.name)),
        other => {
            let message = format!("\"{}\" is not a table or view", other.name());
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
    };
    check_kind(&table, create)?;
    let (old_table, new_table) = transition_tables(&table, create)?;
    let mut update_columns = Vec::new();
    for name in &create.update_columns {
        let place = table.column_by_name(name).ok_or_else(|| missing::column_of_relation(name, &table.name))?;
        if update_columns.contains(&place) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(sqlstate::DUPLICATE_COLUMN, message));
        }
        update_columns.push(place);
    }
    let function = trigger_function(ddl, create)?;
    let from_table = match &create.from_table {
        None => Oid::INVALID,
        Some(name) => match ddl.required_locked(name, LockMode::AccessShare)? {
            Found::Table(table) => {
                ddl.state.require(table.oid, Privileges::TRIGGER)?;
                table.oid
            }
            other => {
                let message = format!("\"{}\" is not a table", other.name());
                return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
            }
        },
    };
    let mut def = TriggerDef {
        oid: ddl.allocate_oid(),
        name: create.name.to_string(),
        function,
        timing: create.timing,
        for_each_row: create.for_each_row,
        on_insert: create.on_insert,
        on_update: create.on_update,
        on_delete: create.on_delete,
        on_truncate: create.on_truncate,
        update_columns,
        condition: None,
        arguments: create.arguments.clone(),
        is_constraint: create.is_constraint,
        deferrable: create.deferrable,
        initially_deferred: create.initially_deferred,
        from_table,
        enabled: TriggerEnabled::Origin,
        comment: None,
    };
    if let Some(condition) = &create.condition {
        let bound = ddl.bind_named(|context| trigger_condition(context, &table, condition, &def))?;
        def.condition = Some(ddl.to_store(&bound, &BothRows(&table))?);
    }
    let mut changed = (*ddl.table(table.oid)?).clone();
    let is_there = changed.triggers.iter().any(|other| other.name == def.name);
    if def.is_constraint && !is_there {
        require_free_key(&changed, &def.name)?;
    }
    if create.replace
        && let Some(before) = changed.triggers.iter().find(|other| other.name == def.name)
    {
        let oid = before.oid;
        changed.transition_tables.retain(|tables| tables.trigger != oid);
        def.oid = oid;
    }
    if old_table.is_some() || new_table.is_some() {
        changed.transition_tables.push(TransitionTables { trigger: def.oid, old: old_table, new: new_table });
    }
    match changed.triggers.iter().position(|other| other.name == def.name) {
        Some(place) if create.replace && !changed.triggers[place].is_constraint => {
            def.oid = changed.triggers[place].oid;
            changed.triggers[place] = def;
        }
        Some(_) => {
            let message = format!("trigger \"{}\" for relation \"{}\" already exists", create.name, table.name);
            return Err(Error::new(sqlstate::DUPLICATE_OBJECT, message));
        }
        None => changed.triggers.push(def),
    }
    ddl.replace(changed)?;
    Ok(UtilityOutput::tag("CREATE TRIGGER"))
}

/// 23505 if the table has a constraint of this name, or a constraint trigger that is called so as a constraint.
fn require_free_key(table: &TableDef, name: &str) -> Result<()> {
    const KEY: &str = "pg_constraint_conrelid_contypid_conname_index";
    let is_named = |constraint: &ConstraintDef| constraint.name == name;
    if !table.constraints.iter().any(is_named) && table.constraint_trigger_named(name).is_none() {
        return Ok(());
    }
    let detail = format!("Key (conrelid, contypid, conname)=({}, 0, {name}) already exists.", table.oid);
    let message = format!("duplicate key value violates unique constraint \"{KEY}\"");
    let error = Error::new(sqlstate::UNIQUE_VIOLATION, message).detail(detail);
    Err(error.constraint("pg_catalog", "pg_constraint", KEY))
}

/// The names of the old and the new rows of a statement.
fn transition_tables(table: &TableDef, create: &CreateTrigger) -> Result<(Option<String>, Option<String>)> {
    let refusal = |message: &str| Err(Error::unsupported(message.to_owned()));
    let invalid = |message: &str| Err(Error::new(sqlstate::INVALID_OBJECT_DEFINITION, message.to_owned()));
    let events = [create.on_insert, create.on_update, create.on_delete].into_iter().filter(|is_set| *is_set).count();
    let (mut old, mut new) = (None, None);
    for transition in &create.transition_tables {
        if !transition.is_table {
            return refusal("ROW variable naming in the REFERENCING clause is not supported")
                .map_err(|error| error.hint("Use OLD TABLE or NEW TABLE for naming transition tables."));
        }
        if table.kind == RelationKind::View {
            let error = Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is a view", table.name));
            return Err(error.detail("Triggers on views cannot have transition tables."));
        }
        if create.timing != TriggerTiming::After {
            return invalid("transition table name can only be specified for an AFTER trigger");
        }
        if create.on_truncate {
            return refusal("TRUNCATE triggers with transition tables are not supported");
        }
        if events != 1 {
            return refusal("transition tables cannot be specified for triggers with more than one event");
        }
        if !create.update_columns.is_empty() {
            return refusal("transition tables cannot be specified for triggers with column lists");
        }
        let (name, other, is_possible, event) = match transition.is_new {
            true => (&mut new, &old, create.on_insert || create.on_update, "NEW TABLE"),
            false => (&mut old, &new, create.on_delete || create.on_update, "OLD TABLE"),
        };
        if !is_possible {
            let verb = if transition.is_new { "an INSERT" } else { "a DELETE" };
            return invalid(&format!("{event} can only be specified for {verb} or UPDATE trigger"));
        }
        if name.is_some() {
            return invalid(&format!("{event} cannot be specified multiple times"));
        }
        let given = transition.name.to_string();
        if other.as_ref() == Some(&given) {
            return invalid("OLD TABLE name and NEW TABLE name cannot be the same");
        }
        *name = Some(given);
    }
    Ok((old, new))
}

/// 42809 for a trigger that this kind of relation can't have.
fn check_kind(table: &TableDef, create: &CreateTrigger) -> Result<()> {
    let wrong = |what: &str, detail: &str| {
        let message = format!("\"{}\" is a {what}", table.name);
        Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message).detail(detail))
    };
    match table.kind {
        RelationKind::Table if create.timing == TriggerTiming::InsteadOf => {
            wrong("table", "Tables cannot have INSTEAD OF triggers.")
        }
        RelationKind::View if create.timing != TriggerTiming::InsteadOf && create.for_each_row => {
            wrong("view", "Views cannot have row-level BEFORE or AFTER triggers.")
        }
        RelationKind::View if create.on_truncate => wrong("view", "Views cannot have TRUNCATE triggers."),
        RelationKind::MaterializedView => {
            let message = format!("relation \"{}\" cannot have triggers", table.name);
            Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message)
                .detail("This operation is not supported for materialized views."))
        }
        _ => {
            let refusal = |message: &str| Err(Error::unsupported(message.to_owned()));
            if create.on_truncate && create.for_each_row {
                return refusal("TRUNCATE FOR EACH ROW triggers are not supported");
            }
            if create.timing == TriggerTiming::InsteadOf {
                if !create.for_each_row {
                    return refusal("INSTEAD OF triggers must be FOR EACH ROW");
                }
                if create.condition.is_some() {
                    return refusal("INSTEAD OF triggers cannot have WHEN conditions");
                }
                if !create.update_columns.is_empty() {
                    return refusal("INSTEAD OF triggers cannot have column lists");
                }
            }
            Ok(())
        }
    }
}

fn trigger_function(ddl: &Ddl<'_>, create: &CreateTrigger) -> Result<Oid> {
    let view = ddl.view();
    let is_builtin = create.function.schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
    let builtin = builtin_trigger_function(SUPPRESS_REDUNDANT_UPDATES);
    if let Some(function) = builtin.filter(|function| is_builtin && *create.function.name == *function.name) {
        return Ok(function.oid);
    }
    let schemas = match &create.function.schema {
        Some(schema) => vec![view.usable_schema(schema)?],
        None => view.function_path(),
    };
    let mut named = schemas.iter().flat_map(|schema| view.catalog().functions_named(*schema, &create.function.name));
    let found = named.find(|function| {
        function.kind == FunctionKind::Function && !function.arguments.iter().any(|argument| argument.mode.is_input())
    });
    let Some(function) = found else {
        ddl.engine().observe_horizon();
        let message = format!("function {}() does not exist", create.function);
        return Err(Error::new(sqlstate::UNDEFINED_FUNCTION, message));
    };
    ddl.state.require(function.oid, Privileges::EXECUTE)?;
    if function.returns != oids::TRIGGER {
        let message = format!("function {} must return type trigger", create.function);
        return Err(Error::new(sqlstate::INVALID_OBJECT_DEFINITION, message));
    }
    Ok(function.oid)
}

/// The table's trigger of this name: 42704 if there is none.
pub(super) fn place_of(table: &TableDef, name: &str) -> Result<usize> {
    table.triggers.iter().position(|def| def.name == name).ok_or_else(|| missing::trigger_for_table(name, &table.name))
}

/// ALTER TABLE ... ENABLE and DISABLE TRIGGER.
pub(super) fn enable(ddl: &Ddl<'_>, oid: Oid, which: &WhichTriggers, enabled: TriggerEnabled) -> Result<()> {
    let before = ddl.table(oid)?;
    let mut table = (*before).clone();
    match which {
        WhichTriggers::Named(name) => {
            let place = place_of(&table, name)?;
            table.triggers[place].enabled = enabled;
        }
        WhichTriggers::User | WhichTriggers::All => table.triggers.iter_mut().for_each(|def| def.enabled = enabled),
    }
    if *which == WhichTriggers::All {
        let kept = kept_by_triggers(&ddl.catalog(), &table);
        if let Some(constraint) = kept.first()
            && !ddl.state.is_superuser()
        {
            let message = format!("permission denied: \"RI_ConstraintTrigger_a_{constraint}\" is a system trigger");
            return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        table.unkept_constraints = if enabled == TriggerEnabled::Disabled { kept } else { Vec::new() };
    }
    if table == *before { Ok(()) } else { ddl.replace(table) }
}

/// The constraints that triggers on a table see to in PostgreSQL: foreign keys from it and to it, and its deferrable keys.
fn kept_by_triggers(catalog: &Catalog, table: &TableDef) -> Vec<Oid> {
    let of_table = table.constraints.iter().filter(|constraint| match constraint.kind {
        ConstraintKind::ForeignKey { .. } => true,
        ConstraintKind::PrimaryKey { .. } | ConstraintKind::Unique { .. } => constraint.deferrable,
        ConstraintKind::Check { .. } => false,
    });
    let refers_here = |constraint: &&ConstraintDef| matches!(constraint.kind, ConstraintKind::ForeignKey { referenced_table, .. } if referenced_table == table.oid);
    let others = catalog.tables_referencing(table.oid).filter(|other| other.oid != table.oid);
    let to_table = others.flat_map(|other| other.constraints.iter().filter(refers_here));
    let mut kept: Vec<Oid> = of_table.chain(to_table).map(|constraint| constraint.oid).collect();
    kept.sort_unstable();
    kept
}

/// ALTER TRIGGER ... RENAME.
pub(super) fn rename(ddl: &Ddl<'_>, table: &syntax::tree::QualifiedName, old: &str, new: &str) -> Result<()> {
    let Found::Table(table) = ddl.required_locked(table, LockMode::AccessExclusive)? else {
        let message = format!("\"{}\" is not a table or view", table.name);
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
    };
    let mut table = Arc::unwrap_or_clone(table);
    let place = place_of(&table, old)?;
    if old != new && table.triggers.iter().any(|def| def.name == new) {
        let message = format!("trigger \"{new}\" for relation \"{}\" already exists", table.name);
        return Err(Error::new(sqlstate::DUPLICATE_OBJECT, message));
    }
    table.triggers[place].name = new.to_owned();
    let trigger = &table.triggers[place];
    if trigger.is_constraint {
        // The constraint keeps its name.
        let constraint = table.as_constraint_mut(trigger.oid);
        constraint.name.get_or_insert_with(|| old.to_owned());
    }
    ddl.replace(table)
}

/// The columns of the old and the new row.
pub(super) struct BothRows<'a>(pub &'a TableDef);

impl Names for BothRows<'_> {
    fn column(&self, slot: u32) -> (String, Option<SqlType>) {
        let width = self.0.columns.len();
        let (row, place) =
            if (slot as usize) < width { ("old", slot as usize) } else { ("new", slot as usize - width) };
        match self.0.columns.get(place) {
            Some(column) => {
                let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
                (format!("{row}.{}", quote_identifier(&column.name)), Some(sql_type))
            }
            None => (format!("column{}", slot + 1), None),
        }
    }

    /// A system column: `tableoid` is the only one that a WHEN reads.
    fn variable(&self, variable: &Variable) -> (String, Option<SqlType>) {
        let row = if variable.relation == 0 { "old" } else { "new" };
        (format!("{row}.tableoid"), Some(SqlType::new(oids::OID)))
    }

    /// Columns that the table gets later belong to its row, too.
    fn whole_row(&self, row: &Expr) -> Option<String> {
        let rows = [("old", 0), ("new", self.0.columns.len())];
        let (name, _) = rows.into_iter().find(|(_, start)| is_whole_row(row, self.0, *start))?;
        Some(format!("{name}.*"))
    }
}

/// The columns that a stored WHEN reads, of either row.
pub(super) fn columns_read(state: &SessionState, table: &Arc<TableDef>, def: &TriggerDef) -> Result<Vec<usize>> {
    fn collect(expr: &Expr, rows: &BothRows<'_>, read: &mut Vec<usize>) {
        match &expr.kind {
            ExprKind::Column(slot) => read.push(*slot as usize % rows.0.columns.len()),
            // A row as a whole is of whatever columns there are.
            ExprKind::Row { .. } if rows.whole_row(expr).is_some() => return,
            _ => {}
        }
        expr.for_each_child(&mut |child| collect(child, rows, read));
    }
    let Some(bound) = bound_condition(state, table, def)? else { return Ok(Vec::new()) };
    let mut read = Vec::new();
    collect(&bound, &BothRows(table), &mut read);
    Ok(read)
}

/// A trigger's stored WHEN; nothing if it has none, or one that can't be bound any more.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub(super) fn bound_condition(state: &SessionState, table: &Arc<TableDef>, def: &TriggerDef) -> Result<Option<Expr>> {
    let Some(text) = def.condition.as_ref() else { return Ok(None) };
    let Some(expr) = if_readable(syntax::parser::parse_expression(text))? else { return Ok(None) };
    if_readable(
        Environment::new(state, state.catalog().for_stored_text())
            .with_context(text, |context| trigger_condition(context, table, &expr, def)),
    )
}

/// A trigger as SQL.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn definition(
    state: &SessionState,
    view: &CatalogView,
    table: &Arc<TableDef>,
    def: &TriggerDef,
    pretty: bool,
) -> Result<String> {
    let mut text = String::from("CREATE ");
    if def.is_constraint {
        text.push_str("CONSTRAINT ");
    }
    let timing = match def.timing {
        TriggerTiming::Before => "BEFORE",
        TriggerTiming::After => "AFTER",
        TriggerTiming::InsteadOf => "INSTEAD OF",
    };
    let mut events = Vec::new();
    if def.on_insert {
        events.push("INSERT".to_owned());
    }
    if def.on_delete {
        events.push("DELETE".to_owned());
    }
    if def.on_update {
        let names: Vec<String> =
            def.update_columns.iter().map(|place| quote_identifier(&table.columns[*place].name)).collect();
        events.push(if names.is_empty() { "UPDATE".to_owned() } else { format!("UPDATE OF {}", names.join(", ")) });
    }
    if def.on_truncate {
        events.push("TRUNCATE".to_owned());
    }
    let full_name = |table: &TableDef| {
        format!("{}.{}", quote_identifier(&view.schema_name(table.schema)), quote_identifier(&table.name))
    };
    let shown = if pretty { relation(view, table.schema, &table.name, table.oid) } else { full_name(table) };
    let _ = write!(text, "TRIGGER {} {timing} {} ON {shown} ", quote_identifier(&def.name), events.join(" OR "));
    if def.is_constraint {
        if let Some(from) = view.catalog().table(def.from_table) {
            let _ = write!(text, "FROM {} ", relation(view, from.schema, &from.name, from.oid));
        }
        let not = if def.deferrable { "" } else { "NOT " };
        let initially = if def.initially_deferred { "DEFERRED" } else { "IMMEDIATE" };
        let _ = write!(text, "{not}DEFERRABLE INITIALLY {initially} ");
    }
    if let Some(tables) = table.transition_tables_of(def.oid) {
        text.push_str("REFERENCING ");
        for (word, name) in [("OLD", &tables.old), ("NEW", &tables.new)] {
            if let Some(name) = name {
                let _ = write!(text, "{word} TABLE AS {} ", quote_identifier(name));
            }
        }
    }
    let _ = write!(text, "FOR EACH {} ", if def.for_each_row { "ROW" } else { "STATEMENT" });
    if let Some(bound) = bound_condition(state, table, def)? {
        let names = BothRows(table);
        let deparser = Deparser::new(view, &names, Qualify::WhereNeeded).with_row_types();
        let condition = if pretty { deparser.pretty(true).text(&bound) } else { deparser.text(&bound) };
        let _ = write!(text, "WHEN ({condition}) ");
    }
    let arguments: Vec<String> = def.arguments.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
    let builtin = || builtin_trigger_function(def.function).map(|function| function.name.clone()).unwrap_or_default();
    let function = view.catalog().function(def.function).map_or_else(builtin, |function| {
        let name = quote_identifier(&function.name);
        let is_found = view
            .function_path()
            .iter()
            .find_map(|schema| view.catalog().functions_named(*schema, &function.name).next().map(|found| found.oid));
        if is_found == Some(function.oid) {
            name
        } else {
            format!("{}.{name}", quote_identifier(&view.schema_name(function.schema)))
        }
    });
    let _ = write!(text, "EXECUTE FUNCTION {function}({})", arguments.join(", "));
    Ok(as_read_now(state, text))
}
