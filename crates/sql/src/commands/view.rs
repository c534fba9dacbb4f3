//! CREATE VIEW.
//!
//! A view is stored as the text of its query, every name completed with its schema and `*` written out, so that it
//! means the same under any search path and when its tables grow.

use std::sync::Arc;

use base::limits::COLUMNS_MAX;
use base::lock_mode::LockMode;
use base::{Error, Oid, Result, sqlstate};
use plan::OutputColumn;
use schema::catalog::{ColumnDef, Persistence, RelationKind, TableDef, ViewScope};
use syntax::tree::{CreateView, CteStatement, Query, Statement, TablePersistence};

use super::ddl::Ddl;
use super::dependencies::{hold_named, use_of_query};
use super::options::{self, OptionsOf};
use super::ownership::require_owner;
use super::reshape::{Reshaping, Stored};
use super::restate::with_rows;
use super::stored_query::{StoredQuery, check_text};
use super::{column, temporary};
use crate::state::UtilityOutput;
use crate::state::planning::Environment;
use planner::binder::{self, Parameters};

/// CREATE VIEW.
pub(super) fn create(ddl: &mut Ddl<'_>, create: &CreateView) -> Result<UtilityOutput> {
    let (mut schema, mut persistence) = ddl.creation_schema(&create.name, create.persistence)?;
    let Defined { text, mut columns, scope } = define(ddl, &create.name.name, &create.query)?;
    if create.columns.len() > columns.len() {
        return Err(Error::new(sqlstate::SYNTAX_ERROR, "CREATE VIEW specifies more column names than columns"));
    }
    for (column, name) in columns.iter_mut().zip(&create.columns) {
        column.name = name.clone();
    }
    if columns.len() > COLUMNS_MAX {
        let message = format!("tables can have at most {COLUMNS_MAX} columns");
        return Err(Error::new(sqlstate::TOO_MANY_COLUMNS, message));
    }
    if create.persistence != TablePersistence::Temporary && reads_temporary(ddl, &scope) {
        let message = format!("view \"{}\" will be a temporary view", create.name.name);
        ddl.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
        if persistence != Persistence::Temporary && create.name.schema.is_some() {
            let message = "cannot create temporary relation in non-temporary schema";
            return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        (schema, persistence) = (temporary::schema(ddl)?, Persistence::Temporary);
    }
    if persistence == Persistence::Unlogged {
        let message = "views cannot be unlogged because they do not have storage";
        return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
    }
    let mut view = TableDef::new(ddl.allocate_oid(), schema, create.name.name.as_str(), ddl.owner());
    view.kind = RelationKind::View;
    view.persistence = persistence;
    view.columns = column_definitions(ddl, &columns)?;
    view.view_query = Some(text);
    view.view_scope = Some(scope);
    view.options = options::stored(&options::read(&create.options, OptionsOf::View)?);
    if let Some(is_cascaded) = create.check_option {
        view.options.push(format!("check_option={}", if is_cascaded { "cascaded" } else { "local" }));
    }
    if binder::check_option(&view).is_some()
        && let Some(why) = not_updatable(ddl, &view)?
    {
        let message = "WITH CHECK OPTION is supported only on automatically updatable views";
        return Err(Error::unsupported(message).hint(why));
    }
    if create.replace {
        ddl.engine().lock_name(schema, &view.name, false)?;
        let find = || ddl.catalog().relation_by_name(schema, &view.name).map(|found| found.oid());
        let mut found = find();
        while let Some(old) = found {
            ddl.lock(old, LockMode::AccessExclusive)?;
            found = find();
            if found == Some(old) {
                return replace(ddl, old, view);
            }
        }
        if ddl.relation_exists(schema, &view.name) {
            return Err(not_a_view(&view.name));
        }
    }
    ddl.create(view)?;
    Ok(UtilityOutput::tag("CREATE VIEW"))
}

/// Why a view passes no changes on; nothing if it does.
pub(super) fn not_updatable(ddl: &Ddl<'_>, view: &TableDef) -> Result<Option<String>> {
    let view = Arc::new(view.clone());
    ddl.bind(|context| binder::why_not_updatable(context, &view))
}

fn not_a_view(name: &str) -> Error {
    Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view"))
}

/// CREATE OR REPLACE VIEW of one that is there, and locked: columns may only be added.
fn replace(ddl: &mut Ddl<'_>, old: Oid, mut view: TableDef) -> Result<UtilityOutput> {
    let catalog = ddl.catalog();
    let Some(old) = catalog.table(old).filter(|old| old.kind == RelationKind::View) else {
        return Err(not_a_view(&view.name));
    };
    // The view may have been created by another role while this statement waited for the name.
    require_owner(ddl, old.oid)?;
    let refused = |message: String| Error::new(sqlstate::INVALID_TABLE_DEFINITION, message);
    if view.columns.len() < old.columns.len() {
        return Err(refused("cannot drop columns from view".to_owned()));
    }
    let lookup = ddl.view();
    for (new, old) in view.columns.iter().zip(&old.columns) {
        if new.name != old.name {
            let message = format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name);
            return Err(
                refused(message).hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
            );
        }
        if (new.type_oid, new.typmod) != (old.type_oid, old.typmod) {
            let [was, is] = [old, new]
                .map(|column| types::format_type(&lookup, types::SqlType::with_typmod(column.type_oid, column.typmod)));
            let message = format!("cannot change data type of view column \"{}\" from {was} to {is}", old.name);
            return Err(refused(message));
        }
    }
    view.oid = old.oid;
    view.owner = old.owner;
    view.comment.clone_from(&old.comment);
    view.triggers.clone_from(&old.triggers);
    for (new, old) in view.columns.iter_mut().zip(&old.columns) {
        new.default.clone_from(&old.default);
        new.comment.clone_from(&old.comment);
    }
    let added = view.columns.iter().skip(old.columns.len());
    let changes: Vec<Reshaping> = added
        .map(|column| {
            Reshaping::Added(column.name.clone(), types::SqlType::with_typmod(column.type_oid, column.typmod))
        })
        .collect();
    // Tables and texts may hold rows of the view.
    let reshaped = if changes.is_empty() {
        None
    } else {
        let stored = Stored::of(ddl, old.oid)?;
        Some((with_rows(ddl, &stored, &[], &changes)?, stored))
    };
    ddl.replace(view)?;
    if let Some((restatement, stored)) = reshaped {
        restatement.store(ddl)?;
        stored.reshape(ddl, &changes)?;
    }
    Ok(UtilityOutput::tag("CREATE VIEW"))
}

/// A view's query, ready to be stored.
pub(super) struct Defined {
    /// The text.
    pub text: String,
    /// Its columns.
    pub columns: Vec<OutputColumn>,
    /// The relations, columns and functions among which its names are looked up.
    pub scope: ViewScope,
}

/// The query of a view called `name` as it is stored.
pub(super) fn define(ddl: &Ddl<'_>, name: &str, query: &Query) -> Result<Defined> {
    if let Some(with) = &query.with
        && with.ctes.iter().any(|cte| !matches!(*cte.statement, CteStatement::Query(_)))
    {
        return Err(Error::unsupported("views must not contain data-modifying statements in WITH"));
    }
    // Bound with the views that it reads open, for what all of them need; its text comes from a form in which they are closed.
    let statement = Statement::Select(Box::new(query.clone()));
    let mut held = None;
    let (bound, stored) = loop {
        let version = ddl.catalog().version();
        let bound = Environment::new(ddl.state, &ddl.view())
            .with_context(ddl.text, |context| binder::bind(&statement, context, &mut Parameters::fixed(Vec::new())))?;
        let bound = bound.ok_or_else(|| Error::internal("a query was not bound"))?;
        ddl.state.require_schemas(&bound.access)?;
        let stored = StoredQuery::of_definition(ddl, query)?;
        let named = use_of_query(Oid::INVALID, &stored).named;
        hold_named(ddl, &named)?;
        // Another transaction may have changed what the names mean while they were waited for.
        if ddl.catalog().version() == version || held.as_ref() == Some(&named) {
            break (bound, stored);
        }
        held = Some(named);
    };
    let text = stored.text(ddl).ok_or_else(|| Error::internal("a query was not bound"))?;
    let (columns, scope) = (bound.query.output_columns(), stored.scope(ddl));
    let mut probe = TableDef::new(Oid::INVALID, Oid::INVALID, name, ddl.owner());
    (probe.kind, probe.view_query, probe.view_scope) = (RelationKind::View, Some(text.clone()), Some(scope.clone()));
    let types: Vec<types::SqlType> = columns.iter().map(|column| column.sql_type).collect();
    check_text(ddl, &Arc::new(probe), &types)?;
    Ok(Defined { text, columns, scope })
}

fn column_definitions(ddl: &Ddl<'_>, columns: &[OutputColumn]) -> Result<Vec<ColumnDef>> {
    let view = ddl.view();
    let mut made: Vec<ColumnDef> = Vec::with_capacity(columns.len());
    for column in columns {
        if made.iter().any(|other| other.name == column.name.as_str()) {
            let message = format!("column \"{}\" specified more than once", column.name);
            return Err(Error::new(sqlstate::DUPLICATE_COLUMN, message));
        }
        let sql_type = column.sql_type;
        column::check_type(ddl, &column.name, sql_type.oid)?;
        ddl.require_type(sql_type.oid)?;
        let mut def = ColumnDef::new(column.name.as_str(), sql_type.oid, types::physical_type(&view, sql_type.oid));
        def.typmod = sql_type.typmod;
        made.push(def);
    }
    Ok(made)
}

/// Whether a query reads temporary tables or views.
pub(super) fn reads_temporary(ddl: &Ddl<'_>, scope: &ViewScope) -> bool {
    let catalog = ddl.catalog();
    let objects = scope.columns.iter().filter_map(|(oid, _)| catalog.object(*oid));
    objects.into_iter().any(|object| catalog.is_temporary(object.schema()))
}
