//! Tables by name, and the expressions of their definitions.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::bound::{Column, Relation, RelationKind};
use plan::user_types::{composite_named, is_composite_type};
use plan::{Expr, ExprKind, IndexExpressions, TableExpressions, VirtualTable};
use schema::catalog;
use schema::catalog::{ConstraintKind, INFORMATION_SCHEMA, PG_CATALOG_SCHEMA, TableDef};
use syntax::tree::{self, Location, Name, QualifiedName};
use types::SqlType;

use super::scope::{NamedItem, Place, Scope};
use super::updatable_view::{ChangeTarget, ChangeVerb};
use super::{BindContext, Binder, Parameters};

/// The relation that a table's name was found to stand for.
#[derive(Debug, Clone)]
pub(super) enum FoundRelation {
    /// A table or view.
    Table(Arc<TableDef>),
    /// A table computed by the server.
    Virtual(Arc<VirtualTable>),
    /// A sequence.
    Sequence(Arc<schema::catalog::SequenceDef>),
    /// An index.
    Index(Name),
    /// A composite type, which is a relation without rows.
    Composite(Name),
}

impl FoundRelation {
    /// The type of a column.
    pub(super) fn column_type(&self, column: &str) -> Option<SqlType> {
        match self {
            FoundRelation::Table(table) => {
                let column = &table.columns[table.column_by_name(column)?];
                Some(SqlType::with_typmod(column.type_oid, column.typmod))
            }
            FoundRelation::Virtual(table) => {
                table.columns.iter().find(|found| found.name == column).map(|found| found.sql_type)
            }
            _ => None,
        }
    }
}

impl Binder<'_, '_> {
    /// The schema called `name`, if there is one.
    pub(super) fn schema_named(&self, name: &str) -> Option<Oid> {
        match name {
            "pg_catalog" => Some(PG_CATALOG_SCHEMA),
            "information_schema" => Some(INFORMATION_SCHEMA),
            "pg_temp" => self.context.temporary_schema,
            _ => self.context.catalog.schema_by_name(name).map(|schema| schema.oid),
        }
    }

    /// 3F000 if a schema is named that doesn't exist, 42501 if the statement names one that the role may not look into.
    pub(super) fn check_schema(&self, schema: Option<&str>, location: Location) -> Result<()> {
        let Some(name) = schema else { return Ok(()) };
        match self.schema_named(name) {
            Some(oid) => self.require_usage(oid, name, location),
            None => Err(self.at(missing::schema(name), location)),
        }
    }

    /// 42501 if the statement itself names a schema that the role may not look into.
    fn require_usage(&self, schema: Oid, name: &str, location: Location) -> Result<()> {
        if self.is_of_stored_text() || self.context.lookup.may_look_into(schema) {
            return Ok(());
        }
        let message = format!("permission denied for schema {name}");
        Err(self.error(sqlstate::INSUFFICIENT_PRIVILEGE, message, location))
    }

    /// The relation that a table's name stands for; `None` if there is none.
    pub(super) fn relation_named(
        &mut self,
        schema: Option<&Name>,
        name: &Name,
        location: Location,
    ) -> Result<Option<FoundRelation>> {
        match schema {
            // As PostgreSQL: a table in a schema that doesn't exist is a table that doesn't exist.
            Some(schema) => match self.schema_named(schema) {
                Some(oid) => {
                    self.require_usage(oid, schema, location)?;
                    Ok(self.relation_in(oid, name))
                }
                None => Ok(None),
            },
            None => Ok(self.context.search_path.iter().find_map(|schema| self.relation_in(*schema, name))),
        }
    }

    fn relation_in(&self, schema: Oid, name: &str) -> Option<FoundRelation> {
        if (schema == PG_CATALOG_SCHEMA || schema == INFORMATION_SCHEMA)
            && let Some(table) = self.context.system.table_named(schema, name)
        {
            return Some(FoundRelation::Virtual(table));
        }
        Some(match self.context.catalog.relation_by_name(schema, name) {
            Some(catalog::Relation::Table(table)) => FoundRelation::Table(table.clone()),
            Some(catalog::Relation::Sequence(sequence)) => FoundRelation::Sequence(sequence.clone()),
            Some(catalog::Relation::Index(index)) => FoundRelation::Index(Name::new(&index.name)),
            None => FoundRelation::Composite(Name::new(&composite_named(self.context.catalog, schema, name)?.name)),
        })
    }

    /// The relation that a statement names: 42P01 if there is none.
    pub(super) fn required_relation(&mut self, name: &QualifiedName) -> Result<FoundRelation> {
        if let Some(catalog) = &name.catalog
            && catalog.as_str() != self.context.database
        {
            let message = format!("cross-database references are not implemented: \"{}\"", name_with_dots(name));
            return Err(self.unsupported(message, name.location));
        }
        match self.relation_named(name.schema.as_ref(), &name.name, name.location)? {
            Some(found) => {
                if let FoundRelation::Table(table) = &found {
                    self.note_named_relation(table.oid, LockMode::AccessShare);
                }
                Ok(found)
            }
            None => {
                let shown = match &name.schema {
                    Some(schema) => format!("{schema}.{}", name.name),
                    None => name.name.to_string(),
                };
                let error = self.at(missing::relation(shown), name.location);
                let later = self.scopes.iter().any(|scope| scope.later_ctes.contains(&name.name));
                if name.schema.is_none() && later {
                    return Err(error
                        .detail(format!(
                            "There is a WITH item named \"{}\", but it cannot be referenced from this part of the query.",
                            name.name
                        ))
                        .hint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references."));
                }
                Err(error)
            }
        }
    }

    /// Notes a relation that the statement itself names. It is to be locked once, in the strongest mode.
    fn note_named_relation(&mut self, relation: Oid, mode: LockMode) {
        if self.is_of_stored_text() {
            return;
        }
        match self.context.named_relations.iter_mut().find(|(known, _)| *known == relation) {
            Some((_, held)) => *held = (*held).max(mode),
            None => self.context.named_relations.push((relation, mode)),
        }
    }

    /// The target that INSERT, UPDATE or DELETE names.
    pub(super) fn change_target_named(&mut self, name: &QualifiedName, verb: ChangeVerb) -> Result<ChangeTarget> {
        let complaint = |binder: &Self, what: String| Err(binder.error(sqlstate::WRONG_OBJECT_TYPE, what, -1));
        if name.schema.is_none() && self.context.transition_tables.iter().any(|table| table.name == name.name) {
            let message = format!("relation \"{}\" cannot be the target of a modifying statement", name.name);
            return Err(Error::unsupported(message));
        }
        match self.required_relation(name)? {
            FoundRelation::Table(table) => match table.kind {
                catalog::RelationKind::Table => {
                    self.note_named_relation(table.oid, LockMode::RowExclusive);
                    Ok(ChangeTarget::of_table(table))
                }
                catalog::RelationKind::MaterializedView => {
                    complaint(self, format!("cannot change materialized view \"{}\"", table.name))
                }
                catalog::RelationKind::View => self.view_target(&table, verb),
            },
            FoundRelation::Virtual(table) => Err(Error::new(
                sqlstate::INSUFFICIENT_PRIVILEGE,
                format!("permission denied: \"{}\" is a system catalog", table.name),
            )),
            FoundRelation::Sequence(sequence) => {
                complaint(self, format!("cannot change sequence \"{}\"", sequence.name))
            }
            FoundRelation::Index(index) => {
                Err(self.error(sqlstate::WRONG_OBJECT_TYPE, format!("\"{index}\" is an index"), name.location))
            }
            FoundRelation::Composite(composite) => Err(self.at(is_composite_type(&composite), name.location)),
        }
    }

    /// Puts a table into the innermost scope's range table; its number there.
    pub(super) fn add_table(&mut self, table: Arc<TableDef>, alias: Name) -> u32 {
        let columns = table
            .columns
            .iter()
            .map(|column| Column {
                name: Name::new(&column.name),
                sql_type: SqlType::with_typmod(column.type_oid, column.typmod),
                dropped: column.dropped,
            })
            .collect();
        self.add_relation(Relation { kind: RelationKind::Table(table), alias, columns, lateral: false, access: None })
    }

    pub(super) fn add_relation(&mut self, relation: Relation) -> u32 {
        let scope = self.scope();
        scope.relations.push(relation);
        scope.relations.len() as u32 - 1
    }

    /// Makes an entry's names visible in the innermost scope.
    pub(super) fn show(&mut self, relation: u32, schema: Option<Oid>, table: Oid, columns_visible: bool) {
        let scope = self.scope();
        let item = NamedItem {
            alias: scope.relations[relation as usize].alias.clone(),
            schema,
            table,
            relation: Some(relation),
            columns: scope.columns_of(relation),
            later_columns: Vec::new(),
            alias_visible: true,
            columns_visible,
            lateral_only: false,
            lateral_ok: true,
        };
        scope.names.push(item);
    }

    /// The expressions of a table's definition; `None` when there are none.
    pub(super) fn expressions_of(&mut self, table: &Arc<TableDef>) -> Result<Option<Arc<TableExpressions>>> {
        let has_checks =
            table.constraints.iter().any(|constraint| matches!(constraint.kind, ConstraintKind::Check { .. }));
        let has_generated = table.columns.iter().any(|column| column.generated.is_some() && !column.dropped);
        let indexes = self.context.catalog.indexes_of(table.oid);
        let has_index_expressions = indexes
            .iter()
            .any(|index| index.predicate.is_some() || index.keys.iter().any(|key| key.expression.is_some()));
        if !has_checks && !has_generated && !has_index_expressions {
            return Ok(None);
        }
        let indexes = indexes.to_vec();
        self.with_foreign_text(|binder| {
            let mut expressions = TableExpressions::default();
            for constraint in &table.constraints {
                if let ConstraintKind::Check { expression, .. } = &constraint.kind {
                    let condition =
                        binder.table_expr(table, expression, Some(SqlType::BOOL), Place::CheckConstraint)?;
                    expressions.checks.push((Name::new(&constraint.name), condition));
                }
            }
            // Checked in the order of their names, so that the same one is always violated first.
            expressions.checks.sort_by(|(one, _), (other, _)| one.cmp(other));
            for (place, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
                if let Some(text) = &column.generated {
                    let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
                    let expr = binder.table_expr(table, text, Some(sql_type), Place::Generated)?;
                    expressions.generated.push((place as u32, expr));
                }
            }
            for index in &indexes {
                let mut keys = Vec::new();
                for (place, key) in index.keys.iter().enumerate() {
                    if let Some(text) = &key.expression {
                        keys.push((place as u32, binder.table_expr(table, text, None, Place::IndexExpression)?));
                    }
                }
                let predicate = match &index.predicate {
                    Some(text) => Some(binder.table_expr(table, text, Some(SqlType::BOOL), Place::IndexPredicate)?),
                    None => None,
                };
                let has_any = predicate.is_some() || !keys.is_empty();
                expressions.indexes.push(has_any.then_some(IndexExpressions { keys, predicate }));
            }
            Ok(Some(Arc::new(expressions)))
        })
    }

    /// An expression of a table's definition, over its full row.
    fn table_expr(&mut self, table: &Arc<TableDef>, text: &str, wanted: Option<SqlType>, place: Place) -> Result<Expr> {
        let expr = syntax::parser::parse_expression(text)?;
        self.table_expr_tree(table, &expr, wanted, place, None)
    }

    /// The same, of an expression that is parsed; reading columns is noted at `access`.
    pub(super) fn table_expr_tree(
        &mut self,
        table: &Arc<TableDef>,
        expr: &tree::Expr,
        wanted: Option<SqlType>,
        place: Place,
        access: Option<usize>,
    ) -> Result<Expr> {
        let outer = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope::new(place));
        let relation = self.add_table(table.clone(), Name::new(&table.name));
        self.scope().relations[relation as usize].access = access;
        self.show(relation, Some(table.schema), table.oid, true);
        let bound = match place {
            Place::CopyWhere => self.condition(expr, "WHERE"),
            _ => self.scalar(expr, wanted),
        };
        self.scopes = outer;
        let mut bound = bound?;
        to_row_slots(&mut bound);
        Ok(bound)
    }
}

/// Variables of the only entry become slots of its full row.
pub(super) fn to_row_slots(expr: &mut Expr) {
    if let plan::ExprKind::Variable(variable) = &expr.kind
        && variable.attribute >= 0
    {
        expr.kind = plan::ExprKind::Column(variable.attribute as u32);
    }
    expr.for_each_child_mut(&mut to_row_slots);
}

/// The expressions of a table's constraints, generated columns and indexes; `None` when it has none.
pub fn table_expressions(
    context: &mut BindContext<'_>,
    table: &Arc<TableDef>,
) -> Result<Option<Arc<TableExpressions>>> {
    let mut parameters = Parameters::fixed(Vec::new());
    let mut binder = Binder::new(context, &mut parameters);
    let bound = binder.expressions_of(table);
    binder.hand_on_needed();
    bound
}

/// Binds WHERE of COPY FROM over a table's full row.
///
/// # Errors
/// Errors of binding.
pub fn copy_filter(context: &mut BindContext<'_>, table: &Arc<TableDef>, filter: &tree::Expr) -> Result<Expr> {
    let mut parameters = Parameters::fixed(Vec::new());
    let mut binder = Binder::new(context, &mut parameters);
    let bound = binder.table_expr_tree(table, filter, Some(SqlType::BOOL), Place::CopyWhere, None);
    binder.hand_on_needed();
    bound
}

/// The columns (by place) that an expression over a table's full row reads.
pub fn expression_columns(expr: &Expr) -> Vec<usize> {
    columns_below(expr, &|_| false)
}

/// The columns (by place) that an expression over a table's full row names. The row as a whole names none of them.
pub fn named_columns(expr: &Expr, table: &TableDef) -> Vec<usize> {
    columns_below(expr, &|inner| is_whole_row(inner, table, 0))
}

/// Whether an expression over a table's full row has the row as a whole in it.
pub fn has_whole_row(expr: &Expr, table: &TableDef) -> bool {
    expr.any(&|inner| is_whole_row(inner, table, 0))
}

/// Whether an expression is the row of `table` as a whole, whose columns are the slots from `start` on.
pub fn is_whole_row(expr: &Expr, table: &TableDef, start: usize) -> bool {
    let ExprKind::Row { fields, shape, is_whole: true } = &expr.kind else { return false };
    if shape.type_oid != table.oid {
        return false;
    }
    let live = (0..table.columns.len()).filter(|place| !table.columns[*place].dropped);
    let slots = fields.iter().map(|field| match field.kind {
        ExprKind::Column(slot) => Some(slot as usize),
        _ => None,
    });
    live.map(|place| Some(start + place)).eq(slots)
}

fn columns_below(expr: &Expr, is_passed_over: &dyn Fn(&Expr) -> bool) -> Vec<usize> {
    fn collect(expr: &Expr, is_passed_over: &dyn Fn(&Expr) -> bool, columns: &mut Vec<usize>) {
        if is_passed_over(expr) {
            return;
        }
        if let ExprKind::Column(slot) = expr.kind {
            columns.push(slot as usize);
        }
        expr.for_each_child(&mut |child| collect(child, is_passed_over, columns));
    }
    let mut columns = Vec::new();
    collect(expr, is_passed_over, &mut columns);
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn name_with_dots(name: &QualifiedName) -> String {
    [name.catalog.as_deref(), name.schema.as_deref(), Some(name.name.as_str())]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(".")
}
