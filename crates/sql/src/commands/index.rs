//! CREATE INDEX, REINDEX, and the indexes of constraints.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, FileNumber, Oid, Result, missing, sqlstate};
use plan::Expr;
use plan::user_types::is_composite_type;
use schema::catalog::{ConstraintDef, ConstraintKind, IndexDef, IndexKey, KeyProperties, RelationKind, TableDef};
use syntax::parser::if_readable;
use syntax::tree::{CreateIndex, IndexElement, KeyConstraint, Name, QualifiedName, Reindex, ReindexTarget};
use types::{SqlType, StorageKind, TypeKind, Volatility};

use super::ddl::{Ddl, Found, system_refusal};
use super::dependencies::hold_named_in;
use super::options::{self, OptionsOf};
use super::{create_table, properties, validate};
use crate::state::{UtilityOutput, while_maintaining};
use executor::TableKeys;
use planner::binder::{DefinitionUse, expression_columns, has_whole_row};
use planner::deparse::TableNames;
use planner::{names, table_expressions};

/// The most columns an index may have.
const COLUMNS_MAX: usize = 32;

/// CREATE INDEX.
pub(super) fn create(ddl: &mut Ddl<'_>, create: &CreateIndex) -> Result<UtilityOutput> {
    let tag = || Ok(UtilityOutput::tag("CREATE INDEX"));
    if create.access_method != "btree" {
        let known = matches!(create.access_method.as_str(), "hash" | "gist" | "spgist" | "gin" | "brin");
        return Err(if known {
            Error::unsupported(format!("access method \"{}\" is not supported", create.access_method))
        } else {
            missing::access_method(&create.access_method)
        });
    }
    let table = match ddl.required_locked(&create.table, LockMode::Share)? {
        Found::Table(table) if table.kind != RelationKind::View => table,
        Found::Composite(def) => return Err(is_composite_type(&def.name)),
        Found::System(name) => return Err(system_refusal(&name)),
        found => {
            let message = format!("cannot create index on relation \"{}\"", found.name());
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message).detail(not_for(&found)));
        }
    };
    ddl.state.refuse_foreign_temporary(table.schema, "create indexes on")?;
    ddl.state.check_not_in_use(table.oid, "CREATE INDEX", &table.name)?;
    let mut elements = create.elements.clone();
    elements.extend(create.including.iter().cloned());
    let column_names = names::index_columns(&elements);
    let catalog = ddl.catalog();
    let name = match &create.name {
        Some(name) => name.to_string(),
        None => {
            let columns = names::joined(column_names.iter().map(String::as_str));
            names::relation_name(&catalog, table.schema, &table.name, Some(&columns), "idx", false, &[])
        }
    };
    if create.if_not_exists {
        ddl.engine().lock_name(table.schema, &name, false)?;
        if ddl.relation_exists(table.schema, &name) {
            ddl.notice(sqlstate::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
            return tag();
        }
    }
    create_table::check_tablespace(ddl, create.tablespace.as_deref(), table.persistence)?;
    if elements.len() > COLUMNS_MAX {
        let message = format!("cannot use more than {COLUMNS_MAX} columns in an index");
        return Err(Error::new(sqlstate::TOO_MANY_COLUMNS, message));
    }
    let mut index = IndexDef::new(ddl.allocate_oid(), &table, name, &[], create.unique);
    index.nulls_not_distinct = create.nulls_not_distinct;
    let mut read = Vec::new();
    for element in &create.elements {
        let (key, expr, mut properties) = key_of(ddl, &table, element)?;
        if let Some(expr) = expr {
            read.extend(expression_columns(&expr));
        }
        properties.place = index.keys.len();
        index.set_properties(properties);
        index.keys.push(key);
    }
    for element in &create.including {
        index.included.push(included_column(&table, element)?);
    }
    if let Some(filter) = &create.filter {
        let predicate = ddl.expression(Some(&table), filter, DefinitionUse::IndexPredicate)?;
        require_immutable(ddl, &predicate, DefinitionUse::IndexPredicate)?;
        index.predicate = Some(ddl.to_store(&predicate, &TableNames(&table))?);
        read.extend(expression_columns(&predicate));
    }
    read.sort_unstable();
    read.dedup();
    index.expression_columns = read;
    index.options = options::stored(&options::read(&create.options, OptionsOf::Index)?);
    let (table, index_oid) = (table.oid, index.oid);
    ddl.create(index)?;
    build(ddl, table, index_oid)?;
    tag()
}

/// `This operation is not supported for views.`
pub(super) fn not_for(found: &Found) -> String {
    let kind = match found {
        Found::Table(table) => match table.kind {
            RelationKind::Table => "tables",
            RelationKind::View => "views",
            RelationKind::MaterializedView => "materialized views",
        },
        Found::Index(_) => "indexes",
        Found::Sequence(_) => "sequences",
        Found::Composite(_) => "composite types",
        Found::System(_) => "system catalogs",
    };
    format!("This operation is not supported for {kind}.")
}

/// A key of an index, the expression if it is one, and what is said of it.
fn key_of(
    ddl: &Ddl<'_>,
    table: &Arc<TableDef>,
    element: &IndexElement,
) -> Result<(IndexKey, Option<Expr>, KeyProperties)> {
    let mut key = IndexKey {
        column: None,
        expression: None,
        descending: element.descending,
        // The greatest first puts nulls first as well, unless said otherwise.
        nulls_first: element.nulls_first.unwrap_or(element.descending),
    };
    let (sql_type, bound) = match (&element.column, &element.expr) {
        (Some(name), _) => {
            let place = key_column(table, name)?;
            key.column = Some(place);
            (SqlType::new(table.columns[place].type_oid), None)
        }
        (None, Some(expr)) => {
            let bound = ddl.expression(Some(table), expr, DefinitionUse::IndexKey)?;
            // An expression that is only a column, in parentheses or cast to the type that it has.
            if let plan::ExprKind::Column(slot) = &bound.kind
                && table.columns[*slot as usize].type_oid == bound.sql_type.oid
            {
                key.column = Some(*slot as usize);
                (bound.sql_type, None)
            } else {
                require_immutable(ddl, &bound, DefinitionUse::IndexKey)?;
                hold_named_in(ddl, &bound)?;
                // Read back on its own, it must keep its type.
                let text =
                    planner::deparse::Deparser::new(&ddl.view(), &TableNames(table), planner::deparse::Qualify::Always)
                        .indented()
                        .full_text(&bound);
                key.expression = Some(text);
                (bound.sql_type, Some(bound))
            }
        }
        (None, None) => return Err(Error::internal("an index element is neither column nor expression")),
    };
    if let (Some(_), Some(written)) = (&bound, &element.expr) {
        super::column::check_type(ddl, &planner::names::expression_name(written), sql_type.oid)?;
    }
    let properties = properties::of_key(ddl, table, element, key.column, bound.as_ref(), sql_type)?;
    require_order(ddl, sql_type)?;
    Ok((key, bound, properties))
}

fn key_column(table: &TableDef, name: &str) -> Result<usize> {
    if let Some(place) = table.column_by_name(name) {
        return Ok(place);
    }
    if is_system_column(name) {
        return Err(Error::unsupported("index creation on system columns is not supported"));
    }
    Err(missing::column(name))
}

/// Whether every table has a column of this name that is no part of its rows.
pub(super) fn is_system_column(name: &str) -> bool {
    matches!(name, "tableoid" | "cmax" | "xmax" | "cmin" | "xmin" | "ctid")
}

fn included_column(table: &TableDef, element: &IndexElement) -> Result<usize> {
    let Some(name) = &element.column else {
        return Err(Error::unsupported("expressions are not supported in included columns"));
    };
    let refused = |what: &str| {
        Err(Error::new(
            sqlstate::INVALID_OBJECT_DEFINITION,
            format!("including column does not support {what} options"),
        ))
    };
    let refused_here = |what: &str| {
        let message = format!("including column does not support {what}");
        Err(Error::new(sqlstate::INVALID_OBJECT_DEFINITION, message))
    };
    if element.collation.is_some() {
        return refused_here("a collation");
    }
    if element.operator_class.is_some() {
        return refused_here("an operator class");
    }
    if element.descending {
        return refused("ASC/DESC");
    }
    if element.nulls_first.is_some() {
        return refused("NULLS FIRST/LAST");
    }
    key_column(table, name)
}

/// 42704 if values of the type have no order.
fn require_order(ddl: &Ddl<'_>, sql_type: SqlType) -> Result<()> {
    fn has_order(view: &dyn types::CatalogLookup, oid: Oid) -> bool {
        let base = types::base_type(view, SqlType::new(oid)).oid;
        types::comparator(base).is_some()
            || match types::type_shape(view, base).map(|shape| shape.kind) {
                Some(TypeKind::Array(element)) => has_order(view, element),
                Some(TypeKind::Enum | TypeKind::Composite) => true,
                _ => false,
            }
    }
    let view = ddl.view();
    if has_order(&view, sql_type.oid) {
        return Ok(());
    }
    let name = types::format_type_name(&view, sql_type.oid);
    let message = format!("data type {name} has no default operator class for access method \"btree\"");
    Err(Error::new(sqlstate::UNDEFINED_OBJECT, message)
        .hint("You must specify an operator class for the index or define a default operator class for the data type."))
}

/// 42P17 for an expression of an index that calls functions that are not immutable.
pub(super) fn require_immutable(ddl: &Ddl<'_>, expr: &Expr, used_for: DefinitionUse<'_>) -> Result<()> {
    if ddl.planned_volatility(expr)? == Volatility::Immutable {
        return Ok(());
    }
    let what = if matches!(used_for, DefinitionUse::IndexPredicate) { "predicate" } else { "expression" };
    let message = format!("functions in index {what} must be marked IMMUTABLE");
    Err(Error::new(sqlstate::INVALID_OBJECT_DEFINITION, message))
}

/// Fills an index that was made for a table that has rows.
pub(super) fn build(ddl: &mut Ddl<'_>, table: Oid, index: Oid) -> Result<()> {
    let open = ddl.open(table)?;
    if open.block_count()? == 0 {
        return Ok(());
    }
    let position = open.index_position(index).ok_or_else(|| super::ddl::gone(index))?;
    let expressions = ddl.without_needs(|| ddl.bind(|context| table_expressions(context, &open.def)))?;
    note_needs(ddl, &open.def, index)?;
    let kinds = StorageKind::of_columns(&ddl.view(), &open.def);
    let state = ddl.state;
    state.changed_catalog.set(true);
    ddl.target = Some(table);
    let mut fill = || {
        ddl.with_latest(|ddl| {
            ddl.with_run(|run| {
                let engine = run.engine();
                let keys = TableKeys::new(&kinds, expressions.as_deref(), run);
                engine.build_index(&open, position, &keys)
            })
        })
    };
    if expressions.is_some() { state.restricted_to(open.def.owner, fill) } else { fill() }
}

/// Notes the privileges that an index's own expressions need: of all expressions of its table, only these are computed to fill it.
fn note_needs(ddl: &Ddl<'_>, table: &Arc<TableDef>, index: Oid) -> Result<()> {
    let catalog = ddl.catalog();
    let Some(index) = catalog.index(index) else { return Ok(()) };
    for text in index.keys.iter().filter_map(|key| key.expression.as_ref()) {
        ddl.stored_expression(table, text, DefinitionUse::IndexKey)?;
    }
    if let Some(text) = &index.predicate {
        ddl.stored_expression(table, text, DefinitionUse::IndexPredicate)?;
    }
    Ok(())
}

/// The index of a key constraint, and the constraint. The columns of a primary key become NOT NULL.
pub(super) fn of_constraint(
    ddl: &Ddl<'_>,
    table: &mut TableDef,
    constraint: &syntax::tree::Constraint,
    key: &KeyConstraint,
    is_primary: bool,
    taken: &[String],
) -> Result<(IndexDef, ConstraintDef)> {
    let kind = if is_primary { "primary key" } else { "unique" };
    let mut columns = Vec::with_capacity(key.columns.len());
    let place_of = |name: &Name| {
        table.column_by_name(name).ok_or_else(|| {
            let message = format!("column \"{name}\" named in key does not exist");
            ddl.at(Error::new(sqlstate::UNDEFINED_COLUMN, message), constraint.location)
        })
    };
    for name in &key.columns {
        let place = place_of(name)?;
        if columns.contains(&place) {
            let message = format!("column \"{name}\" appears twice in {kind} constraint");
            return Err(ddl.at(Error::new(sqlstate::DUPLICATE_COLUMN, message), constraint.location));
        }
        columns.push(place);
    }
    create_table::check_tablespace(ddl, key.tablespace.as_deref(), table.persistence)?;
    let included = key.including.iter().map(place_of).collect::<Result<Vec<_>>>()?;
    if columns.len() + included.len() > COLUMNS_MAX {
        let message = format!("cannot use more than {COLUMNS_MAX} columns in an index");
        return Err(Error::new(sqlstate::TOO_MANY_COLUMNS, message));
    }
    for place in &columns {
        require_order(ddl, SqlType::new(table.columns[*place].type_oid))?;
    }
    let catalog = ddl.catalog();
    let name = match &constraint.name {
        Some(name) => name.to_string(),
        None if is_primary => names::relation_name(&catalog, table.schema, &table.name, None, "pkey", true, taken),
        None => {
            let all = columns.iter().chain(&included).map(|place| table.columns[*place].name.as_str());
            let joined = names::joined(all);
            names::relation_name(&catalog, table.schema, &table.name, Some(&joined), "key", true, taken)
        }
    };
    let mut index = IndexDef::new(ddl.allocate_oid(), table, name.clone(), &columns, true);
    index.primary = is_primary;
    index.included = included;
    index.deferrable = constraint.deferrable;
    index.nulls_not_distinct = key.nulls_not_distinct;
    index.constraint_name = Some(name.clone());
    index.options = options::stored(&options::read(&key.options, OptionsOf::Index)?);
    if is_primary {
        for place in &columns {
            table.columns[*place].not_null = true;
        }
    }
    let kind = if is_primary {
        ConstraintKind::PrimaryKey { index: index.oid }
    } else {
        ConstraintKind::Unique { index: index.oid }
    };
    let constraint = ConstraintDef {
        oid: ddl.allocate_oid(),
        name,
        kind,
        validated: true,
        deferrable: constraint.deferrable,
        initially_deferred: constraint.initially_deferred,
        comment: None,
    };
    Ok((index, constraint))
}

/// Tells of a key constraint's index.
pub(super) fn tell_implicit(ddl: &mut Ddl<'_>, statement: &str, index: &IndexDef, table: &str) {
    ddl.tell_implicit(|| {
        let (kind, name) = (if index.primary { "PRIMARY KEY" } else { "UNIQUE" }, &index.name);
        format!("{statement} {kind} will create implicit index \"{name}\" for table \"{table}\"")
    });
}

/// ALTER TABLE ADD PRIMARY KEY or UNIQUE.
pub(super) fn add_constraint(
    ddl: &mut Ddl<'_>,
    table: Oid,
    constraint: &syntax::tree::Constraint,
    key: &KeyConstraint,
    is_primary: bool,
) -> Result<()> {
    let mut def = (*ddl.table(table)?).clone();
    if is_primary {
        refuse_second_primary_key(&def)?;
    }
    if let Some(index) = &key.index {
        return use_index(ddl, def, constraint, index, is_primary);
    }
    if let Some(name) = &constraint.name {
        super::constraint::require_free_name(&def, name)?;
    }
    let nullable: Vec<usize> = (0..def.columns.len()).filter(|place| !def.columns[*place].not_null).collect();
    let (index, made) = of_constraint(ddl, &mut def, constraint, key, is_primary, &[])?;
    tell_implicit(ddl, "ALTER TABLE / ADD", &index, &def.name);
    let now_not_null: Vec<usize> = nullable.into_iter().filter(|place| def.columns[*place].not_null).collect();
    def.constraints.push(made);
    let index_oid = index.oid;
    ddl.create(index)?;
    ddl.replace(def)?;
    // Equal rows are found before NULLs, as in PostgreSQL.
    build(ddl, table, index_oid)?;
    validate::not_null(ddl, table, &now_not_null)
}

/// 42P16 if the table has a primary key.
pub(super) fn refuse_second_primary_key(def: &TableDef) -> Result<()> {
    if def.constraints.iter().any(|constraint| matches!(constraint.kind, ConstraintKind::PrimaryKey { .. })) {
        let message = format!("multiple primary keys for table \"{}\" are not allowed", def.name);
        return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
    }
    Ok(())
}

/// ADD CONSTRAINT ... USING INDEX.
fn use_index(
    ddl: &mut Ddl<'_>,
    mut def: TableDef,
    constraint: &syntax::tree::Constraint,
    name: &Name,
    is_primary: bool,
) -> Result<()> {
    let catalog = ddl.catalog();
    let at = |ddl: &Ddl<'_>, error: Error| ddl.at(error, constraint.location);
    let prerequisite = |message: String| Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
    let Some(index) = catalog.index_by_name(def.schema, name) else {
        let error = Error::new(sqlstate::UNDEFINED_OBJECT, format!("index \"{name}\" does not exist"));
        return Err(at(ddl, error));
    };
    if index.table != def.oid {
        let message = format!("index \"{name}\" does not belong to table \"{}\"", def.name);
        return Err(at(ddl, prerequisite(message)));
    }
    if index.constraint_name.is_some() {
        return Err(at(ddl, prerequisite(format!("index \"{name}\" is already associated with a constraint"))));
    }
    let wrong = |message: String| {
        Error::new(sqlstate::WRONG_OBJECT_TYPE, message)
            .detail("Cannot create a primary key or unique constraint using such an index.")
    };
    if !index.unique {
        return Err(at(ddl, wrong(format!("\"{name}\" is not a unique index"))));
    }
    if index.keys.iter().any(|key| key.expression.is_some()) {
        return Err(at(ddl, wrong(format!("index \"{name}\" contains expressions"))));
    }
    if index.predicate.is_some() {
        return Err(at(ddl, wrong(format!("\"{name}\" is a partial index"))));
    }
    let mut index = (**index).clone();
    if let Some(new_name) = &constraint.name
        && new_name != name
    {
        let message =
            format!("ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{name}\" to \"{new_name}\"");
        ddl.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
        index.name = new_name.to_string();
    }
    index.primary = is_primary;
    index.deferrable = constraint.deferrable;
    index.constraint_name = Some(index.name.clone());
    let columns: Vec<usize> = index.keys.iter().filter_map(|key| key.column).collect();
    let now_not_null: Vec<usize> =
        columns.iter().copied().filter(|place| is_primary && !def.columns[*place].not_null).collect();
    for place in &now_not_null {
        def.columns[*place].not_null = true;
    }
    let kind = if is_primary {
        ConstraintKind::PrimaryKey { index: index.oid }
    } else {
        ConstraintKind::Unique { index: index.oid }
    };
    def.constraints.push(ConstraintDef {
        oid: ddl.allocate_oid(),
        name: index.name.clone(),
        kind,
        validated: true,
        deferrable: constraint.deferrable,
        initially_deferred: constraint.initially_deferred,
        comment: None,
    });
    let table = def.oid;
    ddl.replace(index)?;
    ddl.replace(def)?;
    validate::not_null(ddl, table, &now_not_null)
}

/// REINDEX.
pub(super) fn reindex(ddl: &mut Ddl<'_>, reindex: &Reindex) -> Result<UtilityOutput> {
    check_reindex(ddl, reindex)?;
    let indexes_of = |ddl: &Ddl<'_>, table: Oid| -> Vec<Oid> {
        ddl.catalog().indexes_of(table).iter().map(|index| index.oid).collect()
    };
    match &reindex.target {
        ReindexTarget::Index(name) => match ddl.required_locked(name, LockMode::AccessExclusive)? {
            Found::Index(index) => reindex_of(ddl, index.table, &[index.oid])?,
            found => {
                let message = format!("\"{}\" is not an index", found.name());
                return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
            }
        },
        ReindexTarget::Table(name) => {
            let table = reindex_table(ddl, name)?;
            let indexes = indexes_of(ddl, table.oid);
            if indexes.is_empty() {
                let message = format!("table \"{}\" has no indexes to reindex", table.name);
                ddl.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
            }
            reindex_of(ddl, table.oid, &indexes)?;
        }
        ReindexTarget::Schema(_) | ReindexTarget::System(_) | ReindexTarget::Database(_) => {
            let schema = match &reindex.target {
                ReindexTarget::Schema(name) => Some(ddl.view().schema_named(name)?),
                _ => None,
            };
            let catalog = ddl.catalog();
            let mut tables: Vec<Oid> = catalog
                .tables()
                .filter(|table| table.kind.has_storage() && schema.is_none_or(|schema| table.schema == schema))
                .map(|table| table.oid)
                .collect();
            tables.sort();
            for table in tables {
                let indexes = indexes_of(ddl, table);
                reindex_of(ddl, table, &indexes)?;
            }
        }
    }
    Ok(UtilityOutput::tag("REINDEX"))
}

/// Fills indexes of a table anew, in a read-only transaction as well.
fn reindex_of(ddl: &mut Ddl<'_>, table: Oid, indexes: &[Oid]) -> Result<()> {
    let state = ddl.state;
    while_maintaining(state, || rebuild(ddl, table, indexes))
}

/// 42601 for an option that REINDEX does not have; 0A000 for tablespaces, for another database, and for the system's own tables
/// CONCURRENTLY.
fn check_reindex(ddl: &Ddl<'_>, reindex: &Reindex) -> Result<()> {
    if let Some(option) = reindex.wrong_option() {
        let name = option.name.as_str();
        let error = match name {
            "verbose" | "concurrently" => {
                Error::new(sqlstate::SYNTAX_ERROR, format!("{name} requires a Boolean value"))
            }
            _ => {
                let error = Error::new(sqlstate::SYNTAX_ERROR, format!("unrecognized REINDEX option \"{name}\""));
                ddl.at(error, option.location)
            }
        };
        return Err(error);
    }
    if reindex.options.iter().any(|option| option.name.as_str() == "tablespace") {
        return Err(Error::unsupported("tablespaces are not supported"));
    }
    if let ReindexTarget::System(name) | ReindexTarget::Database(name) = &reindex.target {
        if reindex.is_concurrent() && matches!(reindex.target, ReindexTarget::System(_)) {
            return Err(Error::unsupported("cannot reindex system catalogs concurrently"));
        }
        if name.as_str() != ddl.state.database_name() {
            return Err(Error::unsupported("can only reindex the currently open database"));
        }
    }
    Ok(())
}

fn reindex_table(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<Arc<TableDef>> {
    match ddl.required_locked(name, LockMode::Share)? {
        Found::Table(table) if table.kind.has_storage() => {
            ddl.state.refuse_foreign_temporary(table.schema, "reindex")?;
            Ok(table)
        }
        found => Err(Error::new(
            sqlstate::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a table or materialized view", found.name()),
        )),
    }
}

/// Fills the indexes again whose expressions have the table's row as a whole in them: the row has got or lost a column.
pub(super) fn rebuild_over_whole_rows(ddl: &mut Ddl<'_>, table: Oid) -> Result<()> {
    let catalog = ddl.catalog();
    let def = ddl.table(table)?;
    let mut concerned = Vec::new();
    for index in catalog.indexes_of(table) {
        let texts = index.keys.iter().filter_map(|key| key.expression.as_deref()).chain(index.predicate.as_deref());
        let (mut has_row, mut read) = (false, Vec::new());
        for text in texts {
            let bound = ddl.without_needs(|| ddl.stored_expression(&def, text, DefinitionUse::IndexKey));
            if let Some(expr) = if_readable(bound)? {
                has_row |= has_whole_row(&expr, &def);
                read.extend(expression_columns(&expr));
            }
        }
        if has_row {
            read.sort_unstable();
            read.dedup();
            ddl.lock(index.oid, LockMode::AccessExclusive)?;
            ddl.replace(IndexDef { expression_columns: read, ..(**index).clone() })?;
            concerned.push(index.oid);
        }
    }
    if concerned.is_empty() { Ok(()) } else { rebuild(ddl, table, &concerned) }
}

/// Gives indexes new storage and fills them again.
pub(super) fn rebuild(ddl: &mut Ddl<'_>, table: Oid, indexes: &[Oid]) -> Result<()> {
    ddl.lock(table, LockMode::Share)?;
    if let Some(def) = ddl.catalog().table(table) {
        ddl.state.check_not_in_use(table, "REINDEX INDEX", &def.name)?;
    }
    for oid in indexes {
        ddl.lock(*oid, LockMode::AccessExclusive)?;
        let catalog = ddl.catalog();
        let index = catalog.index(*oid).ok_or_else(|| super::ddl::gone(*oid))?;
        ddl.replace(IndexDef { file: FileNumber(0), ..(**index).clone() })?;
        build(ddl, table, *oid)?;
    }
    Ok(())
}
