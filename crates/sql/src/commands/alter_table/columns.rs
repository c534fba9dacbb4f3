//! ALTER TABLE ... ADD, DROP and ALTER COLUMN, types left out.

use std::sync::Arc;

use base::limits::COLUMNS_MAX;
use base::lock_mode::LockMode;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::Expr;
use plan::user_types::restricts_nothing;
use schema::catalog::{ColumnDef, ConstraintKind, RelationKind, TableDef};
use schema::row::encode_row;
use syntax::tree::{self, ColumnDefinition, DefinitionElement, Name};
use types::{SqlType, StorageKind, Value, Volatility, oids};

use super::super::column::{self, Counted};
use super::super::ddl::{Ddl, without_position};
use super::super::dependencies::{Node, drop_all};
use super::super::index::rebuild_over_whole_rows;
use super::super::reshape::{Reshaping, Stored, refuse_stored_rows};
use super::super::restate::with_rows;
use super::super::rewrite::rewrite;
use super::super::{index, properties, sequence, validate};
use super::{add_constraint, place_of};
use executor::evaluate;
use planner::binder::DefinitionUse;
use planner::volatility;

/// ADD COLUMN.
pub(super) fn add(ddl: &mut Ddl<'_>, oid: Oid, definition: &ColumnDefinition, if_not_exists: bool) -> Result<()> {
    let old = ddl.table(oid)?;
    if old.column_by_name(&definition.name).is_some() {
        let message = format!("column \"{}\" of relation \"{}\" already exists", definition.name, old.name);
        if if_not_exists {
            ddl.notice(sqlstate::DUPLICATE_COLUMN, format!("{message}, skipping"));
            return Ok(());
        }
        return Err(Error::new(sqlstate::DUPLICATE_COLUMN, message));
    }
    if old.columns.len() >= COLUMNS_MAX {
        return Err(Error::new(sqlstate::TOO_MANY_COLUMNS, format!("tables can have at most {COLUMNS_MAX} columns")));
    }
    let told = ddl.state.warnings.count();
    let mut column = column::read(ddl, &old.name, definition)?;
    ddl.state.warnings.repeat(told);
    let constraints = std::mem::take(&mut column.constraints);
    let mut new = (*old).clone();
    let place = new.columns.len();
    new.columns.push(column.def);
    new.set_properties(schema::catalog::ColumnProperties { place, ..column.properties });
    let mut sequence = None;
    if let Some(counted) = &column.counted {
        sequence = Some(column::count(ddl, &mut new, place, counted, &[], "ALTER TABLE")?);
    }
    let mut filling = None;
    if let Some(expr) = &column.default {
        let value = column::bind_default(ddl, &new.columns[place], expr).map_err(without_position)?;
        new.columns[place].default = column::default_text(ddl, &new.columns[place], expr)?;
        // DEFAULT NULL is not stored. Existing rows need no filling then.
        filling = new.columns[place].default.is_some().then_some(value);
    }
    if let Some(expr) = &column.generated {
        column::mark_generated(&mut new.columns[place]);
        let shape = Arc::new(new.clone());
        let text = column::generated_text(ddl, &shape, place, expr)?;
        filling = Some(bind_generated(ddl, &shape, place, &text)?);
        new.columns[place].generated = Some(text);
    }
    if let Some(sequence) = sequence {
        let counts = sequence.oid;
        ddl.create(sequence)?;
        filling = Some(next_value(ddl, &new, place, counts)?);
    }
    let of_domain = filling_of_domain(ddl, &new.columns[place])?;
    let is_of_domain = of_domain.is_some();
    filling = filling.or(of_domain);
    let stored = Stored::of(ddl, oid)?;
    if filling.is_some() {
        refuse_stored_rows(ddl, &old)?;
    }
    let column = &new.columns[place];
    let added = Reshaping::Added(column.name.clone(), SqlType::with_typmod(column.type_oid, column.typmod));
    let changes = [added];
    let restatement = with_rows(ddl, &stored, &[], &changes)?;
    fill(ddl, &old, new, place, filling.map(|expr| Filling { expr, is_of_domain }))?;
    restatement.store(ddl)?;
    stored.reshape(ddl, &changes)?;
    rebuild_over_whole_rows(ddl, oid)?;
    // A key must exist before a REFERENCES constraint that points to it is added.
    let mut constraints = constraints;
    constraints.sort_by_key(|constraint| match &constraint.kind {
        tree::ConstraintKind::PrimaryKey(_) | tree::ConstraintKind::Unique(_) => 0,
        tree::ConstraintKind::Check(_) => 1,
        _ => 2,
    });
    constraints.iter().try_for_each(|constraint| add_constraint(ddl, oid, constraint))
}

fn bind_generated(ddl: &Ddl<'_>, table: &Arc<TableDef>, place: usize, text: &str) -> Result<Expr> {
    let column = &table.columns[place];
    let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
    ddl.stored_expression(table, text, DefinitionUse::Generated { column: &column.name, sql_type })
}

/// The sequence's next value, as the column's type.
fn next_value(ddl: &Ddl<'_>, table: &TableDef, place: usize, sequence: Oid) -> Result<Expr> {
    let column = &table.columns[place];
    let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
    let text = format!("nextval({}::regclass)", sequence.0);
    let table = Arc::new(table.clone());
    ddl.stored_expression(&table, &text, DefinitionUse::Default { column: &column.name, sql_type })
}

/// The value that fills a column without a default of its own if its type is a domain: the domain's default, or NULL where the domain
/// takes it. None if the domain restricts nothing.
fn filling_of_domain(ddl: &Ddl<'_>, column: &ColumnDef) -> Result<Option<Expr>> {
    let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
    let view = ddl.view();
    if types::base_type(&view, sql_type).oid == sql_type.oid || restricts_nothing(&view, sql_type.oid)? {
        return Ok(None);
    }
    ddl.bind(|context| planner::column_default(context, column)).map(Some)
}

/// The value of a new column in existing rows.
struct Filling {
    expr: Expr,
    /// Whether it is computed for rows only. Other constants are computed even if there are no rows.
    is_of_domain: bool,
}

/// Makes the table have its new column, with `filling` in the rows that are there.
fn fill(
    ddl: &mut Ddl<'_>,
    old: &Arc<TableDef>,
    mut new: TableDef,
    place: usize,
    filling: Option<Filling>,
) -> Result<()> {
    let oid = new.oid;
    let is_not_null = new.columns[place].not_null;
    let open = ddl.open(oid)?;
    let is_empty = match &filling {
        Some(Filling { is_of_domain: true, .. }) => !validate::has_rows(ddl, &open)?,
        _ => open.block_count()? == 0,
    };
    if is_empty {
        let filling = filling.filter(|filling| !filling.is_of_domain && new.columns[place].generated.is_none());
        if let Some(Filling { expr, .. }) = filling
            && volatility(&expr) != Volatility::Volatile
        {
            ddl.with_latest(|ddl| ddl.with_run(|run| evaluate(&expr, &[], run)))?;
        }
        return ddl.replace(new);
    }
    let Some(Filling { expr: filling, .. }) = filling else {
        ddl.replace(new)?;
        return if is_not_null { validate::not_null(ddl, oid, &[place]) } else { Ok(()) };
    };
    let schema = ddl.view().schema_name(new.schema);
    let shape = Arc::new(new.clone());
    let is_generated = new.columns[place].generated.is_some();
    if !is_generated && volatility(&filling) != Volatility::Volatile {
        // One value for all: rows stay as they are and are read with it.
        let value = ddl.with_latest(|ddl| ddl.with_run(|run| evaluate(&filling, &[], run)))?;
        if value.is_null() && is_not_null {
            ddl.replace(new)?;
            return validate::not_null(ddl, oid, &[place]);
        }
        new.columns[place].missing_default = missing_default(ddl, &new, place, &value)?;
        return ddl.replace(new);
    }
    debug_assert_eq!(old.oid, oid);
    rewrite(ddl, &open, new, &mut |run, values| {
        let mut row = values.to_vec();
        row.resize(place, Value::Null);
        row.push(Value::Null);
        row[place] = evaluate(&filling, &row, run)?;
        if is_not_null && row[place].is_null() {
            return Err(validate::contains_nulls(&shape, &schema, place));
        }
        Ok(row)
    })
}

/// Returns the value that rows older than the column have in it, in the form that the engine stores.
fn missing_default(ddl: &Ddl<'_>, table: &TableDef, place: usize, value: &Value) -> Result<Option<Vec<u8>>> {
    if value.is_null() {
        return Ok(None);
    }
    let column = &table.columns[place];
    let kind = StorageKind::of(&ddl.view(), column.type_oid);
    let arena = bumpalo::Bump::new();
    let mut bytes = Vec::new();
    encode_row(&[column.physical], &[kind.write(value, &arena)], &mut bytes)?;
    Ok(Some(bytes))
}

/// DROP COLUMN.
pub(super) fn drop(ddl: &mut Ddl<'_>, oid: Oid, name: &Name, cascade: bool, if_exists: bool) -> Result<()> {
    let def = ddl.table(oid)?;
    if index::is_system_column(name) {
        return Err(Error::unsupported(format!("cannot drop system column \"{name}\"")));
    }
    let Some(place) = def.column_by_name(name) else {
        return ddl.skip(missing::column_of_relation(name, &def.name), if_exists);
    };
    drop_all(ddl, &[Node::Column(oid, place)], cascade)
}

/// SET DEFAULT and DROP DEFAULT.
pub(super) fn set_default(ddl: &mut Ddl<'_>, oid: Oid, name: &Name, default: Option<&tree::Expr>) -> Result<()> {
    let def = ddl.table(oid)?;
    let place = place_of(&def, name)?;
    let column = &def.columns[place];
    let refused = |what: &str| {
        let message = format!("column \"{name}\" of relation \"{}\" is {what}", def.name);
        Error::new(sqlstate::SYNTAX_ERROR, message)
    };
    if column.identity.is_some() {
        let error = refused("an identity column");
        return Err(match default {
            None => error.hint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."),
            Some(_) => error,
        });
    }
    if column.generated.is_some() {
        let error = refused("a generated column");
        return Err(match default {
            None => error.hint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead."),
            Some(_) => error,
        });
    }
    let text = match default {
        Some(expr) => column::default_text(ddl, column, expr).map_err(without_position)?,
        None => None,
    };
    let mut new = (*def).clone();
    new.columns[place].default = text;
    ddl.replace(new)
}

/// SET NOT NULL.
pub(super) fn set_not_null(ddl: &mut Ddl<'_>, oid: Oid, name: &Name) -> Result<()> {
    let def = ddl.table(oid)?;
    let place = place_of(&def, name)?;
    if def.columns[place].not_null {
        return Ok(());
    }
    let mut new = (*def).clone();
    new.columns[place].not_null = true;
    ddl.replace(new)?;
    validate::not_null(ddl, oid, &[place])
}

/// DROP NOT NULL.
pub(super) fn drop_not_null(ddl: &mut Ddl<'_>, oid: Oid, name: &Name) -> Result<()> {
    let def = ddl.table(oid)?;
    let place = place_of(&def, name)?;
    if !def.columns[place].not_null {
        return Ok(());
    }
    if def.columns[place].identity.is_some() {
        let message = format!("column \"{name}\" of relation \"{}\" is an identity column", def.name);
        return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
    }
    let catalog = ddl.catalog();
    let in_primary_key = def.constraints.iter().any(|constraint| match &constraint.kind {
        ConstraintKind::PrimaryKey { index } => {
            catalog.index(*index).is_some_and(|index| index.keys.iter().any(|key| key.column == Some(place)))
        }
        _ => false,
    });
    if in_primary_key {
        let message = format!("column \"{name}\" is in a primary key");
        return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
    }
    properties::refuse_in_identity(ddl, &def, place)?;
    let mut new = (*def).clone();
    new.columns[place].not_null = false;
    ddl.replace(new)
}

/// DROP EXPRESSION: the column keeps its values and becomes an ordinary one.
pub(super) fn drop_expression(ddl: &mut Ddl<'_>, oid: Oid, name: &Name, if_exists: bool) -> Result<()> {
    let def = ddl.table(oid)?;
    let place = place_of(&def, name)?;
    if def.columns[place].generated.is_none() {
        let message = format!("column \"{name}\" of relation \"{}\" is not a stored generated column", def.name);
        return ddl.skip(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message), if_exists);
    }
    let mut new = (*def).clone();
    new.columns[place].generated = None;
    ddl.replace(new)
}

/// ADD GENERATED ... AS IDENTITY.
pub(super) fn add_identity(
    ddl: &mut Ddl<'_>,
    oid: Oid,
    name: &Name,
    always: bool,
    options: &[DefinitionElement],
) -> Result<()> {
    let def = ddl.table(oid)?;
    let place = place_of(&def, name)?;
    let column = &def.columns[place];
    let refused = |what: &str| {
        let message = format!("column \"{name}\" of relation \"{}\" {what}", def.name);
        Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
    };
    if !matches!(column.type_oid, oids::INT2 | oids::INT4 | oids::INT8) {
        return Err(column::identity_type());
    }
    if !column.not_null {
        return Err(refused("must be declared NOT NULL before identity can be added"));
    }
    if column.identity.is_some() {
        return Err(refused("is already an identity column"));
    }
    if column.default.is_some() {
        return Err(refused("already has a default value"));
    }
    let mut new = (*def).clone();
    let counted = Counted::Identity { always, options: options.to_vec() };
    let sequence = column::count(ddl, &mut new, place, &counted, &[], "ALTER TABLE")?;
    ddl.create(sequence)?;
    ddl.replace(new)
}

/// SET GENERATED, and options of the sequence behind an identity column.
pub(super) fn set_identity(ddl: &mut Ddl<'_>, oid: Oid, name: &Name, options: &[DefinitionElement]) -> Result<()> {
    let def = ddl.table(oid)?;
    let place = place_of(&def, name)?;
    let Some(identity) = def.columns[place].identity else { return Err(not_identity(&def, name)) };
    let (generated, others): (Vec<DefinitionElement>, Vec<DefinitionElement>) =
        options.iter().cloned().partition(|option| option.name == "generated");
    if let Some(option) = generated.first() {
        // The grammar gives the letter of the kind, as a number or a word.
        let always = match &option.value {
            Some(tree::DefinitionValue::Integer(letter)) => *letter == i64::from(b'a'),
            Some(value) => value.text().is_some_and(|text| text == "a" || text == "always"),
            None => false,
        };
        let mut new = (*def).clone();
        new.columns[place].identity = Some(schema::catalog::Identity { always, ..identity });
        ddl.replace(new)?;
    }
    if others.is_empty() {
        return Ok(());
    }
    let catalog = ddl.catalog();
    let counts = catalog.sequence(identity.sequence).ok_or_else(|| super::super::ddl::gone(identity.sequence))?;
    sequence::change(ddl, counts, &others)
}

fn not_identity(table: &TableDef, name: &str) -> Error {
    let message = format!("column \"{name}\" of relation \"{}\" is not an identity column", table.name);
    Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// DROP IDENTITY.
pub(super) fn drop_identity(ddl: &mut Ddl<'_>, oid: Oid, name: &Name, if_exists: bool) -> Result<()> {
    let def = ddl.table(oid)?;
    debug_assert_eq!(def.kind, RelationKind::Table);
    let place = place_of(&def, name)?;
    let Some(identity) = def.columns[place].identity else {
        return ddl.skip(not_identity(&def, name), if_exists);
    };
    ddl.lock(identity.sequence, LockMode::AccessExclusive)?;
    let mut new = (*def).clone();
    new.columns[place].identity = None;
    ddl.replace(new)?;
    ddl.drop(identity.sequence)
}
