//! CREATE VIEW, and keeping views' texts in step with what they name.
//!
//! A view is stored as the text of its query, every name completed with its schema and `*` written out, so that it
//! means the same under any search path and when its tables grow.

use base::limits::COLUMNS_MAX;
use base::{Error, Oid, Result, sqlstate};
use engine::catalog::{ColumnDef, PG_CATALOG_SCHEMA, Persistence, RelationKind, TableDef};

use super::ddl::{Ddl, Found};
use super::deparse::{Deparser, NoNames, Qualify, QueryNames, WrittenNames, query_text};
use super::dependencies::{direct_relations, uses_of_views};
use super::options::{self, OptionsOf};
use super::{column, temporary};
use crate::binder::{self, Parameters};
use crate::parser::{ParseOptions, parse};
use crate::plan::ExprKind as BoundKind;
use crate::plan::OutputColumn;
use crate::session::{UtilityOutput, quote_identifier};
use crate::tree::{
    self, Alias, CreateView, CteStatement, Expr, ExprKind, FromItem, Name, QualifiedName, Query, QueryBody, Statement,
    TableReference, Target, TypeName,
};
use crate::types::{self, CatalogLookup};

/// CREATE VIEW.
pub(super) fn create(ddl: &mut Ddl<'_>, create: &CreateView) -> Result<UtilityOutput> {
    let (mut schema, mut persistence) = ddl.creation_schema(&create.name, create.persistence)?;
    let (text, mut columns) = define(ddl, &create.query)?;
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
    if persistence != Persistence::Temporary && reads_temporary(ddl, &create.query) {
        let message = format!("view \"{}\" will be a temporary view", create.name.name);
        ddl.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
        (schema, persistence) = (temporary::schema(ddl)?, Persistence::Temporary);
    }
    let mut view = TableDef::new(ddl.allocate_oid(), schema, create.name.name.as_str(), ddl.owner());
    view.kind = RelationKind::View;
    view.persistence = persistence;
    view.columns = column_definitions(ddl, &columns)?;
    view.view_query = Some(text);
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
        ddl.engine().lock_name(schema, &view.name)?;
        if let Some(old) = ddl.catalog().relation_by_name(schema, &view.name).map(|found| found.oid()) {
            return replace(ddl, old, view);
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
    let view = std::sync::Arc::new(view.clone());
    ddl.bind(|context| binder::why_not_updatable(context, &view))
}

fn not_a_view(name: &str) -> Error {
    Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view"))
}

/// CREATE OR REPLACE VIEW of one that is there: columns may only be added.
fn replace(ddl: &Ddl<'_>, old: Oid, mut view: TableDef) -> Result<UtilityOutput> {
    let catalog = ddl.catalog();
    let Some(old) = catalog.table(old).filter(|old| old.kind == RelationKind::View) else {
        return Err(not_a_view(&view.name));
    };
    ddl.lock(old.oid, engine::LockMode::AccessExclusive)?;
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
    ddl.replace(view)?;
    Ok(UtilityOutput::tag("CREATE VIEW"))
}

/// The text under which a query is stored, and its columns.
pub(super) fn define(ddl: &Ddl<'_>, query: &Query) -> Result<(String, Vec<OutputColumn>)> {
    if let Some(with) = &query.with
        && with.ctes.iter().any(|cte| !matches!(*cte.statement, CteStatement::Query(_)))
    {
        return Err(Error::unsupported("views must not contain data-modifying statements in WITH"));
    }
    let statement = Statement::Select(Box::new(query.clone()));
    let bound = ddl.bind(|context| binder::bind(&statement, context, &mut Parameters::fixed(Vec::new())))?;
    let bound = bound.ok_or_else(|| Error::internal("a query was not bound"))?.query;
    let mut query = query.clone();
    write_stars_out(&mut query, &bound);
    Ok((query_text(&query, &StoredNames(ddl)), bound.output_columns()))
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
        let mut def = ColumnDef::new(column.name.as_str(), sql_type.oid, types::physical_type(&view, sql_type.oid));
        def.typmod = sql_type.typmod;
        made.push(def);
    }
    Ok(made)
}

fn reads_temporary(ddl: &Ddl<'_>, query: &Query) -> bool {
    let catalog = ddl.catalog();
    direct_relations(ddl, query)
        .into_iter()
        .filter_map(|oid| catalog.object(oid))
        .any(|object| temporary::is_temporary(&catalog, object.schema()))
}

/// Names completed with their schemas.
struct StoredNames<'d, 'a>(&'d Ddl<'a>);

impl StoredNames<'_, '_> {
    fn complete(&self, name: &QualifiedName) -> QualifiedName {
        let view = self.0.view();
        let schema = match self.0.find(name) {
            Ok(Some(found)) => match &found {
                Found::Table(table) => Some(view.schema_name(table.schema)),
                Found::Sequence(sequence) => Some(view.schema_name(sequence.schema)),
                Found::Index(index) => Some(view.schema_name(index.schema)),
                Found::Composite(def) => Some(view.schema_name(def.schema)),
                Found::System(_) if name.schema.is_none() => Some(view.schema_name(PG_CATALOG_SCHEMA)),
                Found::System(_) => None,
            },
            _ => None,
        };
        QualifiedName {
            catalog: None,
            schema: schema.map(Name::from).or_else(|| name.schema.clone()),
            name: name.name.clone(),
            location: -1,
        }
    }
}

impl QueryNames for StoredNames<'_, '_> {
    fn table(&self, reference: &TableReference) -> String {
        let reference = TableReference { name: self.complete(&reference.name), ..reference.clone() };
        WrittenNames.table(&reference)
    }

    fn function(&self, name: &QualifiedName) -> String {
        let is_built_in =
            || !types::functions_named(&name.name).is_empty() || !types::aggregates_named(&name.name).is_empty();
        if name.schema.is_some() || is_built_in() {
            return WrittenNames.function(name);
        }
        match self.0.view().user_functions(None, &name.name).first() {
            Some(function) => format!("{}.{}", quote_identifier(&function.schema), quote_identifier(&name.name)),
            None => WrittenNames.function(name),
        }
    }

    fn type_name(&self, name: &TypeName) -> String {
        match self.0.type_of(name) {
            Ok(sql_type) => Deparser::new(&self.0.view(), &NoNames, Qualify::Always).type_name(sql_type),
            Err(_) => WrittenNames.type_name(name),
        }
    }
}

/// Replaces `*` in the select list by the columns it stands for now.
fn write_stars_out(query: &mut Query, bound: &binder::Query) {
    match &mut query.body {
        QueryBody::Select(select) => {
            let is_star = |target: &Target| matches!(target.expr.kind, ExprKind::Star(_));
            let spreads = |target: &Target| match &target.expr.kind {
                ExprKind::Indirection { steps, .. } => matches!(steps.last(), Some(tree::Indirection::Star)),
                _ => false,
            };
            if !select.targets.iter().any(is_star)
                || select.targets.iter().any(spreads)
                || select.from.iter().any(has_join_alias)
            {
                return;
            }
            let columns_of = |alias: &Name| {
                let relation = bound.relations.iter().find(|relation| relation.alias == *alias);
                relation.map_or(0, |relation| relation.columns.iter().filter(|column| !column.dropped).count())
            };
            let count: usize = bound.output().count();
            let (mut bare, mut others) = (0, 0);
            for target in &select.targets {
                match &target.expr.kind {
                    ExprKind::Star(parts) if parts.is_empty() => bare += 1,
                    ExprKind::Star(parts) => others += parts.last().map_or(0, columns_of),
                    _ => others += 1,
                }
            }
            let bare_columns = count.saturating_sub(others).checked_div(bare).unwrap_or(0);
            let mut output = bound.output();
            let mut targets = Vec::with_capacity(count);
            for target in std::mem::take(&mut select.targets) {
                let columns = match &target.expr.kind {
                    ExprKind::Star(parts) => parts.last().map_or(bare_columns, columns_of),
                    _ => {
                        output.next();
                        targets.push(target);
                        continue;
                    }
                };
                targets.extend(output.by_ref().take(columns).map(|entry| column_target(entry, bound)));
            }
            select.targets = targets;
        }
        QueryBody::SetOperation { left, right, .. } => {
            let leaves = bound.relations.iter().filter_map(|relation| match &relation.kind {
                binder::RelationKind::Subquery(leaf) => Some(&**leaf),
                _ => None,
            });
            let mut leaves = leaves.collect::<Vec<_>>().into_iter();
            write_leaves_out(left, &mut leaves);
            write_leaves_out(right, &mut leaves);
        }
        QueryBody::Values(_) => {}
    }
}

/// The operands of a set operation, in the order in which they were bound.
fn write_leaves_out(query: &mut Query, leaves: &mut dyn Iterator<Item = &binder::Query>) {
    let is_leaf =
        !matches!(query.body, QueryBody::SetOperation { .. }) || query.with.is_some() || !query.order.is_empty();
    if is_leaf {
        if let Some(leaf) = leaves.next() {
            write_stars_out(query, leaf);
        }
    } else if let QueryBody::SetOperation { left, right, .. } = &mut query.body {
        write_leaves_out(left, leaves);
        write_leaves_out(right, leaves);
    }
}

fn has_join_alias(item: &FromItem) -> bool {
    match item {
        FromItem::Join(join) => join.alias.is_some() || has_join_alias(&join.left) || has_join_alias(&join.right),
        _ => false,
    }
}

fn column_target(entry: &binder::TargetEntry, bound: &binder::Query) -> Target {
    let name = entry.column.name.clone();
    let parts = match &entry.expr.kind {
        BoundKind::Variable(variable) if variable.level == 0 && variable.attribute >= 0 => {
            let relation = &bound.relations[variable.relation as usize];
            vec![relation.alias.clone(), relation.columns[variable.attribute as usize].name.clone()]
        }
        // A column that USING has merged.
        _ => vec![name.clone()],
    };
    let is_named = parts.last() == Some(&name);
    Target { name: (!is_named).then_some(name), expr: Expr::new(ExprKind::Column(parts), -1) }
}

/// How references to one relation are written from now on.
pub(super) type Restate<'r> = &'r dyn Fn(&TableReference) -> TableReference;

/// The texts of the views that read `relation`, with its references written as `restate` says; to be stored with
/// [`store_texts`] once what they name is there.
pub(super) fn restated_texts(ddl: &Ddl<'_>, relation: Oid, restate: Restate<'_>) -> Vec<(Oid, String)> {
    struct Names<'d, 'a, 'r> {
        stored: StoredNames<'d, 'a>,
        relation: Oid,
        restate: Restate<'r>,
    }
    impl QueryNames for Names<'_, '_, '_> {
        fn table(&self, reference: &TableReference) -> String {
            let found = self.stored.0.find(&reference.name).ok().flatten().and_then(|found| found.oid());
            if found == Some(self.relation) {
                return WrittenNames.table(&(self.restate)(reference));
            }
            self.stored.table(reference)
        }

        fn function(&self, name: &QualifiedName) -> String {
            self.stored.function(name)
        }

        fn type_name(&self, name: &TypeName) -> String {
            self.stored.type_name(name)
        }
    }
    let names = Names { stored: StoredNames(ddl), relation, restate };
    let catalog = ddl.catalog();
    uses_of_views(ddl)
        .into_iter()
        .filter(|user| user.relations.contains(&relation))
        .filter_map(|user| {
            let text = catalog.table(user.view)?.view_query.clone()?;
            let Statement::Select(query) = parse(&text, ParseOptions::default()).ok()?.pop()?.statement else {
                return None;
            };
            Some((user.view, query_text(&query, &names)))
        })
        .collect()
}

/// Gives views new texts.
pub(super) fn store_texts(ddl: &Ddl<'_>, texts: Vec<(Oid, String)>) -> Result<()> {
    for (view, text) in texts {
        let old = ddl.table(view)?;
        if old.view_query.as_deref() != Some(&text) {
            ddl.replace(TableDef { view_query: Some(text), ..(*old).clone() })?;
        }
    }
    Ok(())
}

/// A relation is going to be called otherwise: views go on calling it by its old name, as an alias.
pub(super) fn relation_renamed(ddl: &Ddl<'_>, relation: Oid, schema: &str, name: &str) -> Vec<(Oid, String)> {
    restated_texts(ddl, relation, &|reference| {
        let alias = reference.alias.clone().or_else(|| {
            let old = reference.name.name.clone();
            (old != name).then(|| Alias { name: old, columns: Vec::new() })
        });
        let name =
            QualifiedName { catalog: None, schema: Some(Name::from(schema)), name: Name::from(name), location: -1 };
        TableReference { name, alias, only: reference.only }
    })
}

/// A column of a relation is going to be called otherwise: views go on using its old name, by an alias.
pub(super) fn column_renamed(ddl: &Ddl<'_>, relation: &TableDef) -> Vec<(Oid, String)> {
    let old_names: Vec<Name> =
        relation.columns.iter().filter(|column| !column.dropped).map(|column| Name::new(&column.name)).collect();
    restated_texts(ddl, relation.oid, &|reference| {
        let mut alias =
            reference.alias.clone().unwrap_or_else(|| Alias { name: reference.name.name.clone(), columns: Vec::new() });
        let known = alias.columns.len();
        alias.columns.extend(old_names.iter().skip(known).cloned());
        TableReference { alias: Some(alias), ..reference.clone() }
    })
}

/// A column that no view uses is going to be dropped: aliases that list a table's columns do without it.
pub(super) fn column_dropped(ddl: &Ddl<'_>, table: &TableDef, place: usize) -> Result<()> {
    let number = table.columns[..place].iter().filter(|column| !column.dropped).count();
    let texts = restated_texts(ddl, table.oid, &|reference| {
        let mut reference = reference.clone();
        if let Some(alias) = reference.alias.as_mut().filter(|alias| alias.columns.len() > number) {
            alias.columns.remove(number);
        }
        reference
    });
    store_texts(ddl, texts)
}

/// Rewrites the schemas and names of functions in the texts of all views.
fn renamed_texts(ddl: &Ddl<'_>, rename: &dyn Fn(&QualifiedName, bool) -> QualifiedName) -> Vec<(Oid, String)> {
    struct Names<'d, 'a, 'r> {
        stored: StoredNames<'d, 'a>,
        /// The new name of a relation or, if true is given, of a function.
        rename: &'r dyn Fn(&QualifiedName, bool) -> QualifiedName,
    }
    impl QueryNames for Names<'_, '_, '_> {
        fn table(&self, reference: &TableReference) -> String {
            let name = (self.rename)(&self.stored.complete(&reference.name), false);
            WrittenNames.table(&TableReference { name, ..reference.clone() })
        }

        fn function(&self, name: &QualifiedName) -> String {
            WrittenNames.function(&(self.rename)(name, true))
        }

        fn type_name(&self, name: &TypeName) -> String {
            self.stored.type_name(name)
        }
    }
    let names = Names { stored: StoredNames(ddl), rename };
    let catalog = ddl.catalog();
    let views = catalog.tables().filter_map(|view| Some((view.oid, view.view_query.clone()?)));
    views
        .filter_map(|(view, text)| {
            let Statement::Select(query) = parse(&text, ParseOptions::default()).ok()?.pop()?.statement else {
                return None;
            };
            Some((view, query_text(&query, &names)))
        })
        .collect()
}

/// A schema is going to be called otherwise.
pub(super) fn schema_renamed(ddl: &Ddl<'_>, old: &Name, new: &Name) -> Vec<(Oid, String)> {
    renamed_texts(ddl, &|name, _| {
        let schema = name.schema.clone().map(|schema| if schema == *old { new.clone() } else { schema });
        QualifiedName { schema, ..name.clone() }
    })
}

/// A function is going to be called otherwise, or to be in another schema.
pub(super) fn function_renamed(
    ddl: &Ddl<'_>,
    function: &engine::catalog::FunctionDef,
    schema: &str,
    name: &Name,
) -> Vec<(Oid, String)> {
    let old_schema = ddl.view().schema_name(function.schema);
    let users: Vec<Oid> = uses_of_views(ddl)
        .into_iter()
        .filter(|user| user.functions.contains(&function.oid))
        .map(|user| user.view)
        .collect();
    let mut texts = renamed_texts(ddl, &|found, is_function| {
        let is_it = is_function
            && found.name == function.name.as_str()
            && found.schema.as_ref().is_none_or(|schema| schema.as_str() == old_schema);
        if !is_it {
            return found.clone();
        }
        QualifiedName { schema: Some(Name::from(schema)), name: name.clone(), ..found.clone() }
    });
    texts.retain(|(view, _)| users.contains(view));
    texts
}
