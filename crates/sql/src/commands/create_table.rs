//! CREATE TABLE.

use std::sync::Arc;

use base::limits::COLUMNS_MAX;
use base::lock_mode::LockMode;
use base::settings::Id;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::Expr;
use plan::privileges::Privileges;
use plan::user_types::composite_fields;
use schema::catalog::{
    ColumnDef, ColumnProperties, ConstraintDef, ConstraintKind as StoredKind, IndexDef, Persistence, SequenceDef,
    TableDef,
};
use syntax::tree::{
    Constraint, ConstraintKind, CreateTable, DefinitionElement, DefinitionValue, ForeignKey, KeyConstraint, Name,
    OnCommit, QualifiedName, TableElement,
};
use types::SqlType;

use super::column::{self, Counted, NewColumn, check_type};
use super::ddl::{Ddl, Found};
use super::dependencies::hold_named_in;
use super::options::{self, OptionsOf};
use super::stored_expression::{Place, for_each_of_table};
use super::{constraint, index};
use crate::state::UtilityOutput;
use crate::system_tables::is_not_null;
use planner::binder::has_whole_row;
use planner::names;

/// CREATE TABLE.
pub(super) fn create(ddl: &mut Ddl<'_>, create: &CreateTable) -> Result<UtilityOutput> {
    refuse_unsupported(create)?;
    let (schema, persistence) =
        ddl.creation_schema(&create.name, create.persistence).map_err(|error| match error.sqlstate() {
            sqlstate::INVALID_SCHEMA_NAME | sqlstate::INVALID_TABLE_DEFINITION => ddl.at(error, create.name.location),
            // A table of the catalog's schemas is refused later, in PostgreSQL.
            sqlstate::INSUFFICIENT_PRIVILEGE if error.fields().detail.is_none() => ddl.at(error, create.name.location),
            _ => error,
        })?;
    if create.on_commit != OnCommit::PreserveRows && persistence != Persistence::Temporary {
        return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, "ON COMMIT can only be used on temporary tables"));
    }
    if create.if_not_exists && already_there(ddl, schema, &create.name.name)? {
        return Ok(UtilityOutput::tag("CREATE TABLE"));
    }
    check_tablespace(ddl, create.tablespace.as_deref(), persistence)?;
    let mut table = TableDef::new(ddl.allocate_oid(), schema, create.name.name.as_str(), ddl.owner());
    table.persistence = persistence;
    set_options(&mut table, &create.options)?;
    let mut parts = Parts::read(ddl, &table, &create.elements)?;
    // LIKE may have waited for a table, while the role lost its rights, or the name came to mean another schema.
    table.schema = ddl.creation_schema(&create.name, create.persistence)?.0;
    let Made { table, sequences, indexes } = parts.make(ddl, table)?;
    let oid = table.oid;
    // PostgreSQL reports errors in this order: the table's name, sequences, checks, indexes.
    ddl.create(table)?;
    sequences.into_iter().try_for_each(|sequence| ddl.create(sequence))?;
    parts.make_checks(ddl, oid)?;
    indexes.into_iter().try_for_each(|index| ddl.create(index))?;
    parts.make_late_defaults(ddl, oid)?;
    for (constraint, key) in &parts.foreign_keys {
        constraint::add_foreign_key(ddl, oid, constraint, key, true)?;
    }
    if create.on_commit != OnCommit::PreserveRows {
        ddl.state.on_commit.borrow_mut().push((oid, create.on_commit));
    }
    Ok(UtilityOutput::tag("CREATE TABLE"))
}

fn refuse_unsupported(create: &CreateTable) -> Result<()> {
    let refused = |what: &str| Err(Error::unsupported(format!("{what} is not supported")));
    if create.partitioned {
        return refused("partitioning");
    }
    if !create.inherits.is_empty() {
        return refused("table inheritance");
    }
    if create.of_type.is_some() {
        return refused("CREATE TABLE OF");
    }
    if let Some(method) = &create.access_method
        && method != "heap"
    {
        return Err(missing::access_method(method));
    }
    Ok(())
}

/// There is one place for everything. Without a name it is `default_tablespace`, which temporary relations have nothing to do with.
pub(super) fn check_tablespace(ddl: &Ddl<'_>, name: Option<&str>, persistence: Persistence) -> Result<()> {
    let default = ddl.state.setting(Id::DefaultTablespace);
    let default = if persistence == Persistence::Temporary { "" } else { default.as_text() };
    match name.unwrap_or(default) {
        "" if name.is_none() => Ok(()),
        "pg_default" => Ok(()),
        "pg_global" => Err(Error::new(
            sqlstate::INVALID_PARAMETER_VALUE,
            "only shared relations can be placed in pg_global tablespace",
        )),
        name => Err(Error::new(sqlstate::UNDEFINED_OBJECT, format!("tablespace \"{name}\" does not exist"))),
    }
}

/// IF NOT EXISTS: whether there is a relation of this name, of which the client is told.
pub(super) fn already_there(ddl: &mut Ddl<'_>, schema: Oid, name: &str) -> Result<bool> {
    // This waits for another transaction that is creating a relation of the same name.
    ddl.engine().lock_name(schema, name, false)?;
    if !ddl.relation_exists(schema, name) {
        return Ok(false);
    }
    ddl.notice(sqlstate::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
    Ok(true)
}

/// Storage parameters of a new table.
pub(super) fn set_options(table: &mut TableDef, elements: &[DefinitionElement]) -> Result<()> {
    let mut read = options::read(elements, OptionsOf::Table)?;
    // It stays among the others, which are shown in their order.
    table.options = options::stored(&read);
    if let Some(fillfactor) = options::take_fillfactor(&mut read) {
        table.fillfactor = fillfactor;
    }
    Ok(())
}

/// A table's elements, by kind.
struct Parts {
    columns: Vec<NewColumn>,
    checks: Vec<Constraint>,
    keys: Vec<(Constraint, KeyConstraint, bool)>,
    foreign_keys: Vec<(Constraint, ForeignKey)>,
    /// The places of columns whose defaults may name the table's own sequences.
    late_defaults: Vec<usize>,
    /// Defaults and the like that LIKE copies, as they are stored: column, and text.
    copied_defaults: Vec<(Name, String)>,
    copied_generated: Vec<(Name, String)>,
    copied_checks: Vec<ConstraintDef>,
    copied_indexes: Vec<CopiedIndex>,
    comment_copies: Vec<(Name, String)>,
}

/// An index that LIKE copies; its places are those of the model.
struct CopiedIndex {
    model: Arc<TableDef>,
    index: Arc<IndexDef>,
    comment: Option<String>,
}

/// PostgreSQL's CREATE_TABLE_LIKE bits.
mod like {
    pub(super) const COMMENTS: u32 = 1 << 0;
    pub(super) const COMPRESSION: u32 = 1 << 1;
    pub(super) const CONSTRAINTS: u32 = 1 << 2;
    pub(super) const DEFAULTS: u32 = 1 << 3;
    pub(super) const GENERATED: u32 = 1 << 4;
    pub(super) const IDENTITY: u32 = 1 << 5;
    pub(super) const INDEXES: u32 = 1 << 6;
    pub(super) const STORAGE: u32 = 1 << 8;
}

impl Parts {
    fn read(ddl: &Ddl<'_>, table: &TableDef, elements: &[TableElement]) -> Result<Parts> {
        let mut parts = Parts {
            columns: Vec::new(),
            checks: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            late_defaults: Vec::new(),
            copied_defaults: Vec::new(),
            copied_generated: Vec::new(),
            copied_checks: Vec::new(),
            copied_indexes: Vec::new(),
            comment_copies: Vec::new(),
        };
        let told = ddl.state.warnings.count();
        for element in elements {
            match element {
                TableElement::Column(definition) => {
                    let mut column = column::read(ddl, &table.name, definition)?;
                    for constraint in std::mem::take(&mut column.constraints) {
                        parts.add_constraint(ddl, constraint)?;
                    }
                    parts.columns.push(column);
                }
                TableElement::Constraint(constraint) => parts.add_constraint(ddl, constraint.clone())?,
                TableElement::Like { table, options } => parts.add_like(ddl, table, *options)?,
            }
        }
        ddl.state.warnings.repeat(told);
        parts.check_columns()?;
        Ok(parts)
    }

    fn check_columns(&self) -> Result<()> {
        if self.columns.len() > COLUMNS_MAX {
            let message = format!("tables can have at most {COLUMNS_MAX} columns");
            return Err(Error::new(sqlstate::TOO_MANY_COLUMNS, message));
        }
        for (number, column) in self.columns.iter().enumerate() {
            if self.columns[..number].iter().any(|other| other.def.name == column.def.name) {
                let message = format!("column \"{}\" specified more than once", column.def.name);
                return Err(Error::new(sqlstate::DUPLICATE_COLUMN, message));
            }
        }
        Ok(())
    }

    fn add_constraint(&mut self, ddl: &Ddl<'_>, constraint: Constraint) -> Result<()> {
        match &constraint.kind {
            ConstraintKind::Check(_) => self.checks.push(constraint),
            ConstraintKind::PrimaryKey(key) => self.keys.push((constraint.clone(), key.clone(), true)),
            ConstraintKind::Unique(key) => self.keys.push((constraint.clone(), key.clone(), false)),
            ConstraintKind::ForeignKey(key) => self.foreign_keys.push((constraint.clone(), (**key).clone())),
            ConstraintKind::Exclusion => {
                let error = Error::unsupported("exclusion constraints are not supported");
                return Err(ddl.at(error, constraint.location));
            }
            _ => return Err(Error::internal("a constraint that no table can have")),
        }
        Ok(())
    }

    /// A column of which nothing but the name and the type is known.
    fn add_typed(&mut self, ddl: &Ddl<'_>, name: &str, sql_type: SqlType) -> Result<()> {
        check_type(ddl, name, sql_type.oid)?;
        let mut def = ColumnDef::new(name, sql_type.oid, types::physical_type(&ddl.view(), sql_type.oid));
        def.typmod = sql_type.typmod;
        self.columns.push(NewColumn {
            def,
            default: None,
            generated: None,
            counted: None,
            constraints: Vec::new(),
            properties: ColumnProperties::default(),
        });
        Ok(())
    }

    /// LIKE: columns with types and NOT NULL, and what else is asked for.
    fn add_like(&mut self, ddl: &Ddl<'_>, name: &QualifiedName, options: u32) -> Result<()> {
        let has = |bit: u32| options & bit != 0;
        let found = ddl.required_locked(name, LockMode::AccessShare).map_err(|error| ddl.at(error, name.location));
        let model = match found? {
            Found::Table(table) => {
                ddl.state.require(table.oid, Privileges::SELECT)?;
                let (table, texts) = hold_texts_of(ddl, table)?;
                refuse_whole_rows(ddl, &table, &texts, options)?;
                table
            }
            Found::Composite(def) => {
                ddl.require_type(def.oid)?;
                for (name, sql_type) in composite_fields(&def).unwrap_or_default() {
                    self.add_typed(ddl, &name, sql_type)?;
                }
                return Ok(());
            }
            Found::System(_) => {
                let model = ddl.view().system_table(name.schema.as_deref(), &name.name);
                if let Some(model) = &model {
                    for column in &model.columns {
                        self.add_typed(ddl, &column.name, column.sql_type)?;
                        if let Some(added) = self.columns.last_mut() {
                            added.def.not_null = is_not_null(model, &column.name);
                        }
                    }
                }
                return Ok(());
            }
            found => {
                let message = format!("relation \"{}\" is invalid in LIKE clause", found.name());
                let error = Error::new(sqlstate::WRONG_OBJECT_TYPE, message).detail(index::not_for(&found));
                return Err(ddl.at(error, name.location));
            }
        };
        for source in model.columns.iter().filter(|column| !column.dropped) {
            ddl.require_type(source.type_oid)?;
            let mut def = ColumnDef::new(source.name.as_str(), source.type_oid, source.physical);
            def.typmod = source.typmod;
            def.not_null = source.not_null;
            let name = Name::new(&source.name);
            if let Some(text) = &source.default
                && has(like::DEFAULTS)
            {
                self.copied_defaults.push((name.clone(), text.clone()));
            }
            if let Some(text) = &source.generated
                && has(like::GENERATED)
            {
                self.copied_generated.push((name.clone(), text.clone()));
            }
            if let Some(comment) = &source.comment
                && has(like::COMMENTS)
            {
                self.comment_copies.push((name, comment.clone()));
            }
            let counted = source.identity.filter(|_| has(like::IDENTITY)).map(|identity| Counted::Identity {
                always: identity.always,
                options: identity_options(ddl, identity.sequence),
            });
            let said = model.column_by_name(&source.name).map(|place| model.properties_of(place)).unwrap_or_default();
            let properties = ColumnProperties {
                collation: said.collation,
                storage: said.storage.filter(|_| has(like::STORAGE)),
                compression: said.compression.filter(|_| has(like::COMPRESSION)),
                ..ColumnProperties::default()
            };
            let constraints = Vec::new();
            self.columns.push(NewColumn { def, default: None, generated: None, counted, constraints, properties });
        }
        if has(like::CONSTRAINTS) {
            let checks =
                model.constraints.iter().filter(|constraint| matches!(constraint.kind, StoredKind::Check { .. }));
            for check in checks {
                let mut check = check.clone();
                // The new table has no rows that could violate it.
                check.validated = true;
                check.comment = check.comment.filter(|_| has(like::COMMENTS));
                self.copied_checks.push(check);
            }
        }
        if has(like::INDEXES) {
            for index in ddl.catalog().indexes_of(model.oid) {
                self.copied_indexes.push(CopiedIndex {
                    model: Arc::clone(&model),
                    index: Arc::clone(index),
                    comment: index.comment.clone().filter(|_| has(like::COMMENTS)),
                });
            }
        }
        Ok(())
    }

    /// Makes descriptors of everything but the foreign keys, which need the table to be there.
    fn make(&mut self, ddl: &mut Ddl<'_>, mut table: TableDef) -> Result<Made> {
        table.columns = self.columns.iter().map(|column| column.def.clone()).collect();
        for (place, column) in self.columns.iter().enumerate() {
            table.set_properties(ColumnProperties { place, ..column.properties.clone() });
        }
        for (place, column) in self.columns.iter().enumerate() {
            if column.generated.is_some() {
                column::mark_generated(&mut table.columns[place]);
            }
        }
        for (name, _) in &self.copied_generated {
            if let Some(place) = table.column_by_name(name) {
                column::mark_generated(&mut table.columns[place]);
            }
        }
        let mut sequences: Vec<SequenceDef> = Vec::new();
        // The table's own name is taken already.
        let mut taken = vec![table.name.clone()];
        for (place, column) in self.columns.iter().enumerate() {
            if let Some(counted) = &column.counted {
                let sequence = column::count(ddl, &mut table, place, counted, &taken, "CREATE TABLE")?;
                taken.push(sequence.name.clone());
                sequences.push(sequence);
            }
        }
        self.make_expressions(ddl, &mut table, &sequences)?;
        for check in &self.copied_checks {
            table.constraints.push(ConstraintDef { oid: ddl.allocate_oid(), ..check.clone() });
        }
        // Keys without a name get one that no check has.
        taken.extend(self.checks.iter().filter_map(|check| check.name.as_ref()).map(Name::to_string));
        let mut indexes = Vec::new();
        self.make_keys(ddl, &mut table, &mut taken, &mut indexes)?;
        let written = indexes.len();
        self.copy_indexes(ddl, &mut table, &mut taken, &mut indexes)?;
        for (place, index) in indexes.iter().enumerate().filter(|(_, index)| index.constraint_name.is_some()) {
            let statement = if place < written { "CREATE TABLE /" } else { "ALTER TABLE / ADD" };
            index::tell_implicit(ddl, statement, index, &table.name);
        }
        for (name, comment) in &self.comment_copies {
            if let Some(place) = table.column_by_name(name) {
                table.columns[place].comment = Some(comment.clone());
            }
        }
        Ok(Made { table, sequences, indexes })
    }

    /// Defaults that name the table's own sequences, which are there by now.
    fn make_late_defaults(&self, ddl: &Ddl<'_>, oid: Oid) -> Result<()> {
        if self.late_defaults.is_empty() {
            return Ok(());
        }
        let mut table = (*ddl.table(oid)?).clone();
        for place in &self.late_defaults {
            if let Some(expr) = &self.columns[*place].default {
                table.columns[*place].default = column::default_text(ddl, &table.columns[*place], expr)?;
            }
        }
        ddl.replace(table)
    }

    fn make_expressions(&mut self, ddl: &Ddl<'_>, table: &mut TableDef, sequences: &[SequenceDef]) -> Result<()> {
        for (place, column) in self.columns.iter().enumerate() {
            let Some(expr) = &column.default else { continue };
            match column::default_text(ddl, &table.columns[place], expr) {
                Err(error) if error.sqlstate() == sqlstate::UNDEFINED_TABLE && !sequences.is_empty() => {
                    self.late_defaults.push(place);
                }
                text => table.columns[place].default = text?,
            }
        }
        let shape = Arc::new(table.clone());
        for (place, column) in self.columns.iter().enumerate() {
            if let Some(expr) = &column.generated {
                table.columns[place].generated = Some(column::generated_text(ddl, &shape, place, expr)?);
            }
        }
        for (name, text) in &self.copied_defaults {
            if let Some(place) = table.column_by_name(name) {
                table.columns[place].default = Some(text.clone());
            }
        }
        for (name, text) in &self.copied_generated {
            if let Some(place) = table.column_by_name(name) {
                table.columns[place].generated = Some(text.clone());
            }
        }
        Ok(())
    }

    /// The checks, which may name the type of the table's rows: it is there by now.
    fn make_checks(&self, ddl: &Ddl<'_>, oid: Oid) -> Result<()> {
        if self.checks.is_empty() {
            return Ok(());
        }
        let mut table = (*ddl.table(oid)?).clone();
        let mut taken: Vec<String> = self.copied_checks.iter().map(|check| check.name.clone()).collect();
        for check in &self.checks {
            let ConstraintKind::Check(expr) = &check.kind else { continue };
            let shape = Arc::new(table.clone());
            let (mut made, _) = constraint::make_check(ddl, &shape, check, expr, &taken)?;
            made.validated = true;
            taken.push(made.name.clone());
            table.constraints.push(made);
        }
        ddl.replace(table)
    }

    fn make_keys(
        &self,
        ddl: &Ddl<'_>,
        table: &mut TableDef,
        taken: &mut Vec<String>,
        indexes: &mut Vec<IndexDef>,
    ) -> Result<()> {
        // The primary key's index is the first.
        let mut keys: Vec<(Constraint, &KeyConstraint, bool)> = Vec::new();
        let mut has_primary = false;
        for (constraint, key, is_primary) in &self.keys {
            if key.index.is_some() {
                let error = Error::unsupported("cannot use an existing index in CREATE TABLE");
                return Err(ddl.at(error, constraint.location));
            }
            if *is_primary {
                if has_primary {
                    let message = format!("multiple primary keys for table \"{}\" are not allowed", table.name);
                    let error = Error::new(sqlstate::INVALID_TABLE_DEFINITION, message);
                    return Err(ddl.at(error, constraint.location));
                }
                has_primary = true;
                keys.insert(0, (constraint.clone(), key, true));
            } else {
                keys.push((constraint.clone(), key, false));
            }
        }
        // UNIQUE on the columns of another key needs no index of its own, whatever storage parameters it asks for.
        let mut kept: Vec<(Constraint, &KeyConstraint, bool)> = Vec::new();
        for (constraint, key, is_primary) in keys {
            let same = kept.iter_mut().find(|(other, other_key, _)| {
                other_key.columns == key.columns
                    && other_key.including == key.including
                    && other_key.nulls_not_distinct == key.nulls_not_distinct
                    && other.deferrable == constraint.deferrable
                    && other.initially_deferred == constraint.initially_deferred
            });
            match same {
                Some((other, ..)) => other.name = other.name.take().or(constraint.name),
                None => kept.push((constraint, key, is_primary)),
            }
        }
        for (constraint, key, is_primary) in kept {
            if let Some(name) = &constraint.name {
                constraint::require_free_name(table, name)?;
            }
            let (index, made) = index::of_constraint(ddl, table, &constraint, key, is_primary, taken)?;
            taken.push(index.name.clone());
            table.constraints.push(made);
            indexes.push(index);
        }
        Ok(())
    }

    fn copy_indexes(
        &self,
        ddl: &Ddl<'_>,
        table: &mut TableDef,
        taken: &mut Vec<String>,
        indexes: &mut Vec<IndexDef>,
    ) -> Result<()> {
        let catalog = ddl.catalog();
        for copied in &self.copied_indexes {
            let (model, source) = (&copied.model, &copied.index);
            let moved = |place: usize| -> Result<usize> {
                table
                    .column_by_name(&model.columns[place].name)
                    .ok_or_else(|| Error::internal(format!("column \"{}\" was not copied", model.columns[place].name)))
            };
            let mut columns = names::stored_index_columns(model, &source.keys)?;
            columns.extend(source.included.iter().map(|place| model.columns[*place].name.clone()));
            let joined = names::joined(columns.iter().map(String::as_str));
            let is_constraint = source.constraint_name.is_some();
            let (second, label) = match (source.primary, is_constraint) {
                (true, _) => (None, "pkey"),
                (false, true) => (Some(joined.as_str()), "key"),
                (false, false) => (Some(joined.as_str()), "idx"),
            };
            let name = names::relation_name(&catalog, table.schema, &table.name, second, label, is_constraint, taken);
            let mut index = IndexDef {
                oid: ddl.allocate_oid(),
                schema: table.schema,
                name: name.clone(),
                table: table.oid,
                file: base::FileNumber(0),
                constraint_name: is_constraint.then(|| name.clone()),
                comment: copied.comment.clone(),
                estimated_rows: 0.0,
                estimated_pages: 0,
                usable_from: base::Lsn::ZERO,
                ..(**source).clone()
            };
            for key in &mut index.keys {
                key.column = key.column.map(&moved).transpose()?;
            }
            for place in index.included.iter_mut().chain(&mut index.expression_columns) {
                *place = moved(*place)?;
            }
            if is_constraint {
                let kind = if index.primary {
                    StoredKind::PrimaryKey { index: index.oid }
                } else {
                    StoredKind::Unique { index: index.oid }
                };
                if index.primary {
                    index::refuse_second_primary_key(table)?;
                }
                table.constraints.push(ConstraintDef {
                    oid: ddl.allocate_oid(),
                    name: name.clone(),
                    kind,
                    validated: true,
                    deferrable: index.deferrable,
                    initially_deferred: model.constraints.iter().any(|constraint| {
                        constraint.initially_deferred
                            && source.constraint_name.as_deref() == Some(constraint.name.as_str())
                    }),
                    comment: None,
                });
            }
            taken.push(name);
            indexes.push(index);
        }
        Ok(())
    }
}

/// Options that make another sequence like the one behind an identity column.
fn identity_options(ddl: &Ddl<'_>, sequence: Oid) -> Vec<DefinitionElement> {
    let catalog = ddl.catalog();
    let Some(def) = catalog.sequence(sequence) else { return Vec::new() };
    let option = |name: &str, value: DefinitionValue| DefinitionElement {
        namespace: None,
        name: Name::new(name),
        value: Some(value),
        location: -1,
    };
    vec![
        option("increment", DefinitionValue::Integer(def.increment)),
        option("minvalue", DefinitionValue::Integer(def.minimum)),
        option("maxvalue", DefinitionValue::Integer(def.maximum)),
        option("start", DefinitionValue::Integer(def.start)),
        option("cache", DefinitionValue::Integer(def.cache)),
        option("cycle", DefinitionValue::Boolean(def.cycle)),
    ]
}

/// Descriptors, ready to be stored.
struct Made {
    table: TableDef,
    sequences: Vec<SequenceDef>,
    indexes: Vec<IndexDef>,
}

/// A table of these columns, made without constraints: for CREATE TABLE AS.
pub(super) fn plain_table(
    ddl: &Ddl<'_>,
    name: &str,
    schema: Oid,
    persistence: Persistence,
    columns: &[(String, types::SqlType)],
) -> Result<TableDef> {
    let view = ddl.view();
    let mut table = TableDef::new(ddl.allocate_oid(), schema, name, ddl.owner());
    table.persistence = persistence;
    for (number, (name, sql_type)) in columns.iter().enumerate() {
        if columns[..number].iter().any(|(other, _)| other == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(sqlstate::DUPLICATE_COLUMN, message));
        }
        column::check_name_and_type(ddl, name, sql_type.oid)?;
        ddl.require_type(sql_type.oid)?;
        let mut column = ColumnDef::new(name.as_str(), sql_type.oid, types::physical_type(&view, sql_type.oid));
        column.typmod = sql_type.typmod;
        table.columns.push(column);
    }
    if table.columns.len() > COLUMNS_MAX {
        let message = format!("tables can have at most {COLUMNS_MAX} columns");
        return Err(Error::new(sqlstate::TOO_MANY_COLUMNS, message));
    }
    Ok(table)
}

/// The table as it is when what its texts name is held, and the texts: they are copied to another table.
fn hold_texts_of(ddl: &Ddl<'_>, mut table: Arc<TableDef>) -> Result<(Arc<TableDef>, Vec<(Place, Expr)>)> {
    loop {
        let mut texts = Vec::new();
        for_each_of_table(ddl, &table, &mut |place, expr| texts.push((place, expr)))?;
        texts.iter().try_for_each(|(_, expr)| hold_named_in(ddl, expr))?;
        let now = ddl.table(table.oid)?;
        if now == table {
            return Ok((now, texts));
        }
        table = now;
    }
}

/// 0A000 if a text that LIKE copies reads the model's whole row: the new table's rows have another type.
fn refuse_whole_rows(ddl: &Ddl<'_>, model: &TableDef, texts: &[(Place, Expr)], options: u32) -> Result<()> {
    let has = |bit: u32| options & bit != 0;
    for (place, _) in texts.iter().filter(|(_, expr)| has_whole_row(expr, model)) {
        let detail = match place {
            Place::Check { constraint, .. } if has(like::CONSTRAINTS) => {
                let found = model.constraints.iter().find(|known| known.oid == *constraint);
                let name = found.map_or("", |found| found.name.as_str());
                format!("Constraint \"{name}\" contains a whole-row reference to table \"{}\".", model.name)
            }
            Place::IndexKey { index, .. } | Place::IndexPredicate { index } if has(like::INDEXES) => {
                let catalog = ddl.catalog();
                let name = catalog.index(*index).map_or("", |found| found.name.as_str());
                format!("Index \"{name}\" contains a whole-row table reference.")
            }
            _ => continue,
        };
        return Err(Error::unsupported("cannot convert whole-row table reference").detail(detail));
    }
    Ok(())
}
