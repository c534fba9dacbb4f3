//! INSERT, UPDATE and DELETE.

use std::sync::Arc;

use base::{Error, Oid, Result, missing, sqlstate};
use plan::bound::{Change, Column, ConflictTarget, FromItem, OnConflict, Query, Relation, RelationKind, TargetEntry};
use plan::privileges::Privileges;
use plan::{Assignment, CursorName, Expr, ExprKind, Target};
use schema::catalog::{ColumnDef, IndexDef, RelationKind as TableKind, TableDef};
use schema::row::ColumnSet;
use syntax::tree::{self, ExprKind as Tree, InsertColumn, Location, Name, QueryBody};
use types::functions::session::NEXT_VALUE_OF_IDENTITY;
use types::{SqlType, TypeKind, oids};

use super::Binder;
use super::assignment::{self, Source};
use super::scope::{Place, Scope};
use super::updatable_view::{ChangeTarget, ChangeVerb};

impl Binder<'_, '_> {
    pub(super) fn insert(&mut self, insert: &tree::Insert) -> Result<Query> {
        self.scopes.push(Scope::new(Place::InsertTarget));
        let result = self.insert_in_scope(insert);
        self.scopes.pop();
        result
    }

    fn insert_in_scope(&mut self, insert: &tree::Insert) -> Result<Query> {
        let ctes = self.ctes(insert.with.as_ref())?;
        let mut target = self.change_target_named(&insert.table.name, ChangeVerb::Insert)?;
        let updates = insert.on_conflict.as_ref().is_some_and(|clause| clause.update.is_some());
        let on_conflict = if updates { Privileges::UPDATE } else { Privileges::NONE };
        self.needs_target(&mut target, Privileges::INSERT | on_conflict);
        let table = target.table_with_defaults();
        let expressions = self.expressions_of(&target.table)?;
        let places = self.insert_columns(insert, &target)?;
        let mut query = match &insert.source {
            None => self.insert_values(insert, &table, &[], &[])?,
            Some(source) => match &source.body {
                QueryBody::Values(rows) if is_bare(source) => self.insert_values(insert, &table, &places, rows)?,
                _ => self.insert_select(insert, &table, &places, source)?,
            },
        };
        let on_conflict = match &insert.on_conflict {
            Some(clause) => Some(self.on_conflict(insert, &mut target, clause)?),
            None => None,
        };
        let returning = if insert.returning.is_empty() {
            None
        } else {
            let alias = insert.table.alias.as_ref();
            let outer = self.replace_scope(Place::Returning);
            let relation = self.add_aliased_table(target.table.clone(), alias, insert.table.name.location)?;
            let shown = self.show_target(&mut target, relation, alias.map(|alias| alias.name.clone()));
            let targets = shown.and_then(|_| self.returning(&insert.returning));
            self.restore_scope(outer);
            Some(targets?)
        };
        self.needs_below(&target);
        let given = self.given_columns(&target);
        query.ctes = self.finish_ctes(ctes);
        let triggers = self.triggers_of(&target.table)?;
        let target = Target {
            table: target.table,
            expressions,
            triggers,
            view_checks: target.checks,
            given,
            returns_version: false,
        };
        query.change = Some(Box::new(Change::Insert { target, on_conflict, returning }));
        Ok(query)
    }

    /// A fresh innermost scope; common table expressions stay visible.
    fn replace_scope(&mut self, place: Place) -> Scope {
        let mut fresh = Scope::new(place);
        let scope = self.scope();
        fresh.ctes = scope.ctes.clone();
        std::mem::replace(scope, fresh)
    }

    /// The scope as it was before [`Binder::replace_scope`], but for the readers counted since.
    fn restore_scope(&mut self, outer: Scope) {
        let scope = self.scope();
        let inner = std::mem::replace(scope, outer);
        for (cte, counted) in scope.ctes.iter_mut().zip(inner.ctes) {
            cte.references = counted.references;
        }
    }

    pub(super) fn returning(&mut self, returning: &[tree::Target]) -> Result<Vec<TargetEntry>> {
        self.scope().place = Place::Returning;
        let mut targets = self.targets(returning)?;
        if targets.is_empty() && !returning.is_empty() {
            // `*` of a table without columns.
            let location = returning.first().map_or(-1, |target| target.expr.start());
            return Err(self.error(sqlstate::SYNTAX_ERROR, "RETURNING must have at least one column", location));
        }
        self.settle_targets(&mut targets, returning)?;
        Ok(targets)
    }

    /// The places of the columns that values are given for, in the order they are given.
    pub(super) fn insert_columns(&mut self, insert: &tree::Insert, target: &ChangeTarget) -> Result<Vec<usize>> {
        if insert.columns.is_empty() {
            let given = match insert.source.as_ref().map(|source| &source.body) {
                None => 0,
                Some(QueryBody::Values(rows)) => rows.first().map_or(0, Vec::len),
                Some(QueryBody::Select(select)) => select.targets.len(),
                Some(_) => usize::MAX,
            };
            let places = target.all_places(given)?;
            self.fills_columns(target, &places[..given.min(places.len())]);
            return Ok(places);
        }
        let mut places = Vec::with_capacity(insert.columns.len());
        let mut whole = Vec::new();
        for column in &insert.columns {
            let place = self.assigned_column(target, column, false)?;
            self.changes_column(target, Privileges::INSERT, place, &column.name);
            // Parts of a column may be given one by one.
            if whole.contains(&place) || places.contains(&place) && column.indirection.is_empty() {
                let message = format!("column \"{}\" specified more than once", column.name);
                return Err(self.error(sqlstate::DUPLICATE_COLUMN, message, column.location));
            }
            if column.indirection.is_empty() {
                whole.push(place);
            }
            places.push(place);
        }
        Ok(places)
    }

    fn assigned_column(&mut self, target: &ChangeTarget, column: &InsertColumn, is_update: bool) -> Result<usize> {
        let Some(place) = target.column_by_name(&column.name, is_update)? else {
            if is_update && super::scope::SYSTEM_COLUMNS.iter().any(|(name, ..)| *name == column.name.as_str()) {
                let message = format!("cannot assign to system column \"{}\"", column.name);
                return Err(self.unsupported(message, column.location));
            }
            return Err(self.at(missing::column_of_relation(&column.name, target.name()), column.location));
        };
        Ok(place)
    }

    /// The default of a column; NULL if it has none.
    pub(super) fn column_default(&mut self, column: &ColumnDef) -> Result<Expr> {
        let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
        if let Some(identity) = &column.identity {
            let sequence = Expr::constant(types::Value::oid(identity.sequence), SqlType::new(oids::REGCLASS));
            let next = assignment::call_unnamed(&NEXT_VALUE_OF_IDENTITY, vec![sequence], SqlType::INT8);
            return self.coerce_for_column(next, sql_type, &column.name, -1);
        }
        let of_domain =
            if sql_type.oid >= Oid::FIRST_NORMAL { self.context.lookup.domain_default(sql_type.oid) } else { None };
        let Some(text) = column.default.as_ref().or(of_domain.as_ref()) else {
            let base = types::base_type(self.context.lookup, sql_type);
            // A domain may refuse NULL.
            return match base.oid == sql_type.oid {
                true => Ok(Expr::null(sql_type)),
                false => self.coerce_for_column(Expr::null(base), sql_type, &column.name, -1),
            };
        };
        let expr = syntax::parser::parse_expression(text)?;
        let kind = types::type_shape(self.context.lookup, sql_type.oid).map(|shape| shape.kind);
        self.with_foreign_text(|binder| match kind {
            // A domain's default is a value of the type below it.
            Some(TypeKind::Domain(base)) if column.default.is_none() => {
                let value = binder.scalar_in_empty_scope(&expr, Some(base), Place::ColumnDefault)?;
                binder.coerce_for_column(value, sql_type, &column.name, -1)
            }
            _ => binder.scalar_in_empty_scope(&expr, Some(sql_type), Place::ColumnDefault),
        })
    }

    /// The full row whose columns are defaults but for those given.
    pub(super) fn full_row(
        &mut self,
        table: &TableDef,
        mut given: Vec<(usize, Expr)>,
        overriding: Option<bool>,
    ) -> Result<Vec<Expr>> {
        let mut row = Vec::with_capacity(table.columns.len());
        for (place, column) in table.columns.iter().enumerate() {
            row.push(self.given_or_default(column, place, &mut given, overriding)?);
        }
        Ok(row)
    }

    /// The value that is given for the column at `place`, or the column's default. NULL stands for a value that is computed later.
    fn given_or_default(
        &mut self,
        column: &ColumnDef,
        place: usize,
        given: &mut Vec<(usize, Expr)>,
        overriding: Option<bool>,
    ) -> Result<Expr> {
        if column.dropped || column.generated.is_some() {
            return Ok(Expr::null(SqlType::with_typmod(column.type_oid, column.typmod)));
        }
        match given.iter().position(|(given, _)| *given == place) {
            Some(position) if !is_ignored(column, overriding) => Ok(given.swap_remove(position).1),
            _ => self.column_default(column),
        }
    }

    /// 428C9 if a column takes no value from outside.
    fn check_insertable(&self, column: &ColumnDef, overriding: Option<bool>, location: Location) -> Result<()> {
        let message = || format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
        if column.generated.is_some() {
            let error = self.error(sqlstate::GENERATED_ALWAYS, message(), location);
            return Err(Self::unplaced(error).detail(format!("Column \"{}\" is a generated column.", column.name)));
        }
        if column.identity.is_some_and(|identity| identity.always) && overriding.is_none() {
            let error = self.error(sqlstate::GENERATED_ALWAYS, message(), location);
            return Err(Self::unplaced(error)
                .detail(format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name))
                .hint("Use OVERRIDING SYSTEM VALUE to override."));
        }
        Ok(())
    }

    /// PostgreSQL raises some errors only when it rewrites the query, without a position.
    fn unplaced(mut error: Error) -> Error {
        error.fields_mut().position = None;
        error
    }

    fn insert_values(
        &mut self,
        insert: &tree::Insert,
        table: &Arc<TableDef>,
        places: &[usize],
        rows: &[Vec<tree::Expr>],
    ) -> Result<Query> {
        self.scope().place = if rows.len() == 1 { Place::InsertedRow } else { Place::Values };
        let mut bound = Vec::with_capacity(rows.len().max(1));
        let written = match rows.iter().flatten().any(is_spread) {
            true => Some(rows.iter().map(|row| self.written_out(row)).collect::<Result<Vec<_>>>()?),
            false => None,
        };
        let rows = written.as_deref().unwrap_or(rows);
        let first_width = rows.first().map_or(0, Vec::len);
        for row in rows {
            if row.len() != first_width {
                let location = row.first().map_or(-1, tree::Expr::start);
                return Err(self.error(sqlstate::SYNTAX_ERROR, "VALUES lists must all be the same length", location));
            }
            bound.push(self.given_values(insert, table, places, row)?);
        }
        let mut query = Query::default();
        let given = if bound.len() > 1 {
            // Several rows are a relation. The other columns get their defaults above it.
            let mut listed: Vec<usize> = Vec::with_capacity(first_width);
            for place in &places[..first_width] {
                // A column of which parts are given is listed several times.
                if !listed.contains(place) {
                    listed.push(*place);
                }
            }
            let relation = self.given_rows(table, &listed, bound, insert.overriding)?;
            query.from.push(FromItem::Relation(relation));
            let scope = self.scope();
            listed.into_iter().enumerate().map(|(index, place)| (place, scope.variable(relation, index, -1))).collect()
        } else {
            bound.pop().unwrap_or_default()
        };
        let row = self.full_row(table, given, insert.overriding)?;
        query.relations = std::mem::take(&mut self.scope().relations);
        query.targets = self.row_targets(table, row);
        query.has_sets = self.scope().has_sets;
        Ok(query)
    }

    fn row_targets(&self, table: &TableDef, exprs: Vec<Expr>) -> Vec<TargetEntry> {
        exprs.into_iter().zip(&table.columns).map(|(expr, column)| self.target(expr, Name::new(&column.name))).collect()
    }

    /// The relation of several rows of VALUES, which give values for the columns at `places`.
    fn given_rows(
        &mut self,
        table: &TableDef,
        places: &[usize],
        rows: Vec<Vec<(usize, Expr)>>,
        overriding: Option<bool>,
    ) -> Result<u32> {
        let mut full = Vec::with_capacity(rows.len());
        for mut given in rows {
            let value = |place: &usize| {
                let column = &table.columns[*place];
                // The default is computed above the rows.
                if is_ignored(column, overriding) {
                    return Ok(Expr::null(SqlType::with_typmod(column.type_oid, column.typmod)));
                }
                self.given_or_default(column, *place, &mut given, overriding)
            };
            full.push(places.iter().map(value).collect::<Result<Vec<_>>>()?);
        }
        let column = |(index, place): (usize, &usize)| Column {
            name: Name::new(format!("column{}", index + 1)),
            sql_type: SqlType::with_typmod(table.columns[*place].type_oid, table.columns[*place].typmod),
            dropped: false,
        };
        let columns = places.iter().enumerate().map(column).collect();
        let kind = RelationKind::Values(full);
        let alias = Name::new_static("*VALUES*");
        Ok(self.add_relation(Relation { kind, alias, columns, lateral: false, access: None }))
    }

    /// The values of a row of VALUES, each with the place of its column. DEFAULT is left out.
    pub(super) fn given_values(
        &mut self,
        insert: &tree::Insert,
        table: &Arc<TableDef>,
        places: &[usize],
        row: &[tree::Expr],
    ) -> Result<Vec<(usize, Expr)>> {
        self.check_counts(insert, places.len(), row.len(), |index| row[index].start())?;
        let values = self.values_of(row.iter())?;
        let mut given = Vec::with_capacity(row.len());
        for (index, ((expr, value), place)) in row.iter().zip(values).zip(places).enumerate() {
            let column = &table.columns[*place];
            if let Some(part) = insert.columns.get(index).filter(|column| !column.indirection.is_empty()) {
                self.check_insertable(column, insert.overriding, expr.location)?;
                self.give_part(&mut given, *place, column, part, Source { value, location: expr.start() })?;
                continue;
            }
            let Some(bound) = value else { continue };
            self.check_insertable(column, insert.overriding, expr.location)?;
            let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
            given.push((*place, self.coerce_for_column(bound, sql_type, &column.name, expr.start())?));
        }
        Ok(given)
    }

    /// The values of a statement's assignments, none for DEFAULT. All are bound before the first of them gets the type of its column: a
    /// parameter of no type yet that stands for several columns must have one type for all.
    fn values_of<'e>(&mut self, written: impl Iterator<Item = &'e tree::Expr>) -> Result<Vec<Option<Expr>>> {
        written
            .map(|expr| if matches!(expr.kind, Tree::Default) { Ok(None) } else { self.expr(expr).map(Some) })
            .collect()
    }

    /// A row of VALUES with `x.*` written out as `x.a, x.b`.
    pub(super) fn written_out(&mut self, row: &[tree::Expr]) -> Result<Vec<tree::Expr>> {
        let mut written = Vec::with_capacity(row.len());
        for expr in row {
            match &expr.kind {
                Tree::Star(parts) if !parts.is_empty() => {
                    for column in self.star(parts, expr.location)? {
                        let dotted = parts.iter().cloned().chain([column.name]).collect();
                        written.push(tree::Expr { kind: Tree::Column(dotted), ..expr.clone() });
                    }
                }
                Tree::Indirection { input, steps } if is_spread(expr) => {
                    for (name, _) in self.spread(input, steps, expr.location)? {
                        let mut steps = steps.clone();
                        steps.pop();
                        steps.push(tree::Indirection::Field(name));
                        written.push(tree::Expr {
                            kind: Tree::Indirection { input: input.clone(), steps },
                            ..expr.clone()
                        });
                    }
                }
                _ => written.push(expr.clone()),
            }
        }
        Ok(written)
    }

    /// A part of a column of a new row, added to those that were given before.
    fn give_part(
        &mut self,
        given: &mut Vec<(usize, Expr)>,
        place: usize,
        column: &ColumnDef,
        part: &InsertColumn,
        source: Source,
    ) -> Result<()> {
        let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
        let before = given.iter().position(|(other, _)| *other == place).map(|index| given.swap_remove(index).1);
        let current = before.unwrap_or_else(|| Expr::null(sql_type));
        given.push((place, self.assign_to_part(current, part, sql_type, source)?));
        Ok(())
    }

    fn check_counts(
        &self,
        insert: &tree::Insert,
        columns: usize,
        values: usize,
        location: impl Fn(usize) -> Location,
    ) -> Result<()> {
        if values > columns {
            let message = "INSERT has more expressions than target columns";
            return Err(self.error(sqlstate::SYNTAX_ERROR, message, location(columns)));
        }
        // Without a column list, the columns that are left over get their defaults.
        if values < columns && !insert.columns.is_empty() {
            let message = "INSERT has more target columns than expressions";
            return Err(self.error(sqlstate::SYNTAX_ERROR, message, insert.columns[values].location));
        }
        Ok(())
    }

    fn insert_select(
        &mut self,
        insert: &tree::Insert,
        table: &Arc<TableDef>,
        places: &[usize],
        source: &tree::Query,
    ) -> Result<Query> {
        let mut inner = self.query(source, false)?;
        let types = inner.output().map(|target| target.expr.sql_type).collect::<Vec<_>>();
        let written = match &source.body {
            QueryBody::Select(select) => select.targets.as_slice(),
            _ => &[],
        };
        let location = |index: usize| Self::target_location(written, index);
        self.check_counts(insert, places.len(), types.len(), location)?;
        let mut columns = Vec::with_capacity(types.len());
        for (index, (sql_type, place)) in types.into_iter().zip(places).enumerate() {
            let column = &table.columns[*place];
            self.check_insertable(column, insert.overriding, location(index))?;
            let mut sql_type = sql_type;
            if sql_type.oid == oids::UNKNOWN {
                // A literal or parameter takes the column's type where it stands.
                let is_part = insert.columns.get(index).is_some_and(|column| !column.indirection.is_empty());
                sql_type = match column.type_oid {
                    _ if is_part => SqlType::TEXT,
                    // How an interval is read depends on the column.
                    oids::INTERVAL => SqlType::with_typmod(oids::INTERVAL, column.typmod),
                    type_oid => SqlType::new(type_oid),
                };
                self.settle_output(&mut inner, index, sql_type, "INSERT", location(index))?;
            }
            let name = inner.output().nth(index).map(|target| target.column.name.clone()).unwrap_or_default();
            columns.push(Column { name, sql_type, dropped: false });
        }
        let alias = Name::new_static("*SELECT*");
        let kind = RelationKind::Subquery(Box::new(inner));
        let relation = self.add_relation(Relation { kind, alias, columns, lateral: false, access: None });
        let mut given = Vec::with_capacity(places.len());
        let count = self.scope().relations[relation as usize].columns.len();
        for (index, place) in places.iter().enumerate().take(count) {
            let column = &table.columns[*place];
            let variable = self.scope().variable(relation, index, location(index));
            if let Some(part) = insert.columns.get(index).filter(|column| !column.indirection.is_empty()) {
                self.give_part(
                    &mut given,
                    *place,
                    column,
                    part,
                    Source { value: Some(variable), location: location(index) },
                )?;
                continue;
            }
            let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
            given.push((*place, self.coerce_for_column(variable, sql_type, &column.name, location(index))?));
        }
        let row = self.full_row(table, given, insert.overriding)?;
        Ok(Query {
            from: vec![FromItem::Relation(relation)],
            relations: std::mem::take(&mut self.scope().relations),
            targets: self.row_targets(table, row),
            ..Query::default()
        })
    }

    fn on_conflict(
        &mut self,
        insert: &tree::Insert,
        target: &mut ChangeTarget,
        clause: &tree::OnConflict,
    ) -> Result<OnConflict> {
        if clause.update.is_some() && clause.target.is_none() {
            let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            let error = self.error(sqlstate::SYNTAX_ERROR, message, clause.location);
            return Err(error.hint("For example, ON CONFLICT (column_name)."));
        }
        let conflict_target = match &clause.target {
            None => ConflictTarget::AllIndexes,
            Some(written) => self.conflict_target(target, written)?,
        };
        let update = match &clause.update {
            None => None,
            Some(update) => {
                let alias = insert.table.alias.as_ref();
                let outer = self.replace_scope(Place::UpdateSource);
                let existing = self.add_aliased_table(target.table.clone(), alias, insert.table.name.location)?;
                let bound = self.conflict_update(target, update, existing, alias.map(|alias| alias.name.clone()));
                self.restore_scope(outer);
                Some(bound?)
            }
        };
        Ok(OnConflict { target: conflict_target, update })
    }

    fn conflict_update(
        &mut self,
        target: &mut ChangeTarget,
        update: &tree::ConflictUpdate,
        existing: u32,
        alias: Option<Name>,
    ) -> Result<(Vec<Assignment>, Option<Expr>)> {
        self.show_target(target, existing, alias)?;
        // Both tables' columns can be named, the existing row's without its table too.
        self.show_excluded(target)?;
        let assignments = self.assignments(target, existing, &update.assignments)?;
        self.scope().place = Place::Where;
        let filter = update.filter.as_ref().map(|filter| self.condition(filter, "WHERE")).transpose()?;
        Ok((assignments, filter))
    }

    fn conflict_target(&mut self, changed: &mut ChangeTarget, target: &tree::ConflictTarget) -> Result<ConflictTarget> {
        match target {
            tree::ConflictTarget::Constraint(name, _) => self.conflict_constraint(changed, name),
            tree::ConflictTarget::Index { elements, filter, location } => {
                let mut columns = Vec::new();
                let mut expressions = Vec::new();
                for element in elements {
                    match (&element.column, &element.expr) {
                        (Some(name), _) => {
                            let parts = std::slice::from_ref(name);
                            let column = match self.variables_come_first() {
                                true if self.variable_named(parts, *location, false)?.is_some() => None,
                                _ => changed.column_by_name(name, false)?,
                            };
                            let Some(place) = column else {
                                let Some(variable) = self.variable_named(parts, *location, false)? else {
                                    return Err(self.at(missing::column(name), *location));
                                };
                                expressions.push(variable);
                                continue;
                            };
                            self.refuse_variable(parts, *location, false)?;
                            columns.push(place);
                            self.changes_column(changed, Privileges::SELECT, place, name);
                        }
                        (None, Some(expr)) => {
                            expressions.push(self.over_row(changed, expr, None, Place::IndexExpression)?);
                        }
                        (None, None) => {}
                    }
                }
                let filter = match filter {
                    Some(filter) => Some(self.over_row(changed, filter, Some(SqlType::BOOL), Place::IndexPredicate)?),
                    None => None,
                };
                Ok(ConflictTarget::Keys { columns, expressions, filter })
            }
        }
    }

    fn conflict_constraint(&mut self, changed: &ChangeTarget, name: &Name) -> Result<ConflictTarget> {
        let indexes = self.context.catalog.indexes_of(changed.table.oid).to_vec();
        let is_named =
            |index: &Arc<IndexDef>| changed.view().is_none() && index.constraint_name.as_deref() == Some(name.as_str());
        let Some(position) = indexes.iter().position(is_named) else {
            return Err(missing::constraint_for_table(name, changed.name()));
        };
        let columns = indexes[position].keys.iter().filter_map(|key| key.column);
        columns.for_each(|column| self.uses_column(changed.access, Privileges::SELECT, column as i32));
        Ok(ConflictTarget::Constraint(position as u32))
    }

    /// An expression of the statement over a table's full row.
    fn over_row(
        &mut self,
        changed: &mut ChangeTarget,
        expr: &tree::Expr,
        wanted: Option<SqlType>,
        place: Place,
    ) -> Result<Expr> {
        if changed.view().is_none() {
            return self.table_expr_tree(&changed.table, expr, wanted, place, Some(changed.access));
        }
        // It names the view's columns.
        let outer = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope::new(place));
        let relation = self.add_table(Arc::clone(&changed.table), Name::new(&changed.table.name));
        let shown = self.show_target(changed, relation, None);
        let bound = shown.and_then(|_| self.scalar(expr, wanted));
        self.scopes = outer;
        let mut bound = bound?;
        super::table::to_row_slots(&mut bound);
        Ok(bound)
    }

    pub(super) fn assignments(
        &mut self,
        target: &ChangeTarget,
        relation: u32,
        written: &[tree::Assignment],
    ) -> Result<Vec<Assignment>> {
        let table = &target.table;
        let mut assignments: Vec<Assignment> = Vec::with_capacity(written.len());
        let mut parts: Vec<usize> = Vec::new();
        let spread = self.spread_rows(written)?;
        let written = spread.as_deref().unwrap_or(written);
        self.scope().place = Place::UpdateSource;
        let values = self.values_of(written.iter().map(|assignment| element_of_row(&assignment.value)))?;
        for (assignment, value) in written.iter().zip(values) {
            let place = self.assigned_column(target, &assignment.column, true)?;
            self.changes_column(target, Privileges::UPDATE, place, &assignment.column.name);
            let column = &table.columns[place];
            let is_part = !assignment.column.indirection.is_empty();
            let before = assignments.iter().position(|other| other.column as usize == place);
            // Parts of a column may be assigned one by one.
            if before.is_some() && !(is_part && parts.contains(&place)) {
                return Err(target.assigned_twice(place));
            }
            let written = element_of_row(&assignment.value);
            let is_default = value.is_none();
            // A view's own default takes the place of the table's, and NULL where it has none.
            let of_view = if is_default { target.view_column(&assignment.column.name) } else { None };
            let only_default = column.generated.is_some() || column.identity.is_some_and(|identity| identity.always);
            if only_default && (!is_default || of_view.is_some()) {
                let message = format!("column \"{}\" can only be updated to DEFAULT", column.name);
                let what = if column.generated.is_some() {
                    format!("Column \"{}\" is a generated column.", column.name)
                } else {
                    format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name)
                };
                return Err(Error::new(sqlstate::GENERATED_ALWAYS, message).detail(what));
            }
            if column.generated.is_some() {
                // It is computed with the row; that it is named counts for triggers.
                let value = Expr::null(SqlType::with_typmod(column.type_oid, column.typmod));
                assignments.push(Assignment { column: place as u32, value });
                continue;
            }
            let value = if is_part {
                let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
                let current = match before {
                    Some(before) => assignments.swap_remove(before).value,
                    None => self.scope().variable(relation, place, assignment.column.location),
                };
                parts.push(place);
                self.assign_to_part(current, &assignment.column, sql_type, Source { value, location: written.start() })?
            } else if let Some(of_view) = of_view {
                let shown = ColumnDef { default: of_view.default.clone(), identity: None, ..column.clone() };
                self.column_default(&shown)?
            } else if let Some(bound) = value {
                let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
                let location = if written.start() >= 0 { written.start() } else { assignment.column.location };
                self.coerce_for_column(bound, sql_type, &column.name, location)?
            } else {
                self.column_default(column)?
            };
            assignments.push(Assignment { column: place as u32, value });
        }
        // Values are computed in the order of the table, whatever the order of SET.
        assignments.sort_by_key(|assignment| assignment.column);
        Ok(assignments)
    }

    /// The assignments with `(a, b) = ROW(t.*)` written out; `None` if there is none such.
    fn spread_rows(&mut self, written: &[tree::Assignment]) -> Result<Option<Vec<tree::Assignment>>> {
        let row_of = |assignment: &tree::Assignment| match &assignment.value.kind {
            Tree::MultiAssignment { source, .. } => match &source.kind {
                Tree::Row { fields, .. } if fields.iter().any(is_spread) => Some(fields.clone()),
                _ => None,
            },
            _ => None,
        };
        if !written.iter().any(|assignment| row_of(assignment).is_some()) {
            return Ok(None);
        }
        let mut all = written.to_vec();
        for assignment in &mut all {
            let Some(fields) = row_of(assignment) else { continue };
            let fields = self.written_out(&fields)?;
            if let Tree::MultiAssignment { source, .. } = &mut assignment.value.kind
                && let Tree::Row { fields: spread, .. } = &mut Arc::make_mut(source).kind
            {
                *spread = fields;
            }
        }
        Ok(Some(all))
    }

    pub(super) fn update(&mut self, update: &tree::Update) -> Result<Query> {
        if let Some(query) = self.settings_update(update)? {
            return Ok(query);
        }
        self.scopes.push(Scope::new(Place::UpdateSource));
        let result = self.update_in_scope(update);
        self.scopes.pop();
        result
    }

    fn update_in_scope(&mut self, update: &tree::Update) -> Result<Query> {
        let ctes = self.ctes(update.with.as_ref())?;
        let mut changed = self.change_target_named(&update.table.name, ChangeVerb::Update)?;
        self.needs_target(&mut changed, Privileges::UPDATE);
        let table = changed.table.clone();
        let (expressions, triggers) = (self.expressions_of(&table)?, self.triggers_of(&table)?);
        let (relation, conditions) = self.change_target(&mut changed, &update.table)?;
        self.from_beside(relation, &update.from)?;
        let current_of = self.current_of(&changed, update.filter.as_ref())?;
        let filter = self.optional_filter(update.filter.as_ref().filter(|_| current_of.is_none()))?;
        let filter = both(conditions, filter);
        // Errors in RETURNING come first in PostgreSQL, and types of parameters are inferred there first.
        let returning = if update.returning.is_empty() { None } else { Some(self.returning(&update.returning)?) };
        let assignments = self.assignments(&changed, relation, &update.assignments)?;
        self.needs_below(&changed);
        let given = self.given_columns(&changed);
        let target =
            Target { table, expressions, triggers, view_checks: changed.checks, given, returns_version: false };
        let mut query = self.changing_query(filter);
        query.current_of = current_of;
        query.ctes = self.finish_ctes(ctes);
        query.change = Some(Box::new(Change::Update { target, relation, assignments, returning }));
        Ok(query)
    }

    pub(super) fn delete(&mut self, delete: &tree::Delete) -> Result<Query> {
        self.scopes.push(Scope::new(Place::Where));
        let result = self.delete_in_scope(delete);
        self.scopes.pop();
        result
    }

    fn delete_in_scope(&mut self, delete: &tree::Delete) -> Result<Query> {
        let ctes = self.ctes(delete.with.as_ref())?;
        let mut changed = self.change_target_named(&delete.table.name, ChangeVerb::Delete)?;
        self.needs_target(&mut changed, Privileges::DELETE);
        let table = changed.table.clone();
        let (expressions, triggers) = (self.expressions_of(&table)?, self.triggers_of(&table)?);
        let (relation, conditions) = self.change_target(&mut changed, &delete.table)?;
        let target = Target {
            table,
            expressions,
            triggers,
            view_checks: Vec::new(),
            given: ColumnSet::new(),
            returns_version: false,
        };
        self.from_beside(relation, &delete.using)?;
        let current_of = self.current_of(&changed, delete.filter.as_ref())?;
        let filter = self.optional_filter(delete.filter.as_ref().filter(|_| current_of.is_none()))?;
        let filter = both(conditions, filter);
        let returning = if delete.returning.is_empty() { None } else { Some(self.returning(&delete.returning)?) };
        self.needs_below(&changed);
        let mut query = self.changing_query(filter);
        query.current_of = current_of;
        query.ctes = self.finish_ctes(ctes);
        query.change = Some(Box::new(Change::Delete { target, relation, returning }));
        Ok(query)
    }

    /// Puts the changed table first into FROM; what views want of its rows.
    fn change_target(
        &mut self,
        target: &mut ChangeTarget,
        reference: &tree::TableReference,
    ) -> Result<(u32, Vec<Expr>)> {
        let alias = reference.alias.as_ref();
        let relation = self.add_aliased_table(target.table.clone(), alias, reference.name.location)?;
        if target.table.kind == TableKind::View {
            // Its triggers are told of its rows as it shows them.
            let text = target.table.view_query.clone().unwrap_or_default();
            let query = self.below_view(&target.table, |binder| binder.view_query(&text, Some(&target.table)));
            let query = Query { is_kept_apart: true, ..query? };
            self.scope().relations[relation as usize].kind = RelationKind::Subquery(Box::new(query));
        }
        let conditions = self.show_target(target, relation, alias.map(|alias| alias.name.clone()))?;
        self.scope().from.push(FromItem::Relation(relation));
        Ok((relation, conditions))
    }

    /// WHERE CURRENT OF, if that is what a filter is.
    ///
    /// # Errors
    /// 0A000 for a view.
    fn current_of(&mut self, target: &ChangeTarget, filter: Option<&tree::Expr>) -> Result<Option<CursorName>> {
        let Some(Tree::CurrentOf(name)) = filter.map(|filter| &filter.kind) else { return Ok(None) };
        if target.view().is_some() || target.table.kind == TableKind::View {
            return Err(Error::unsupported("WHERE CURRENT OF on a view is not implemented"));
        }
        let variable = self.context.variables.and_then(|variables| variables.variable(std::slice::from_ref(name)));
        let parameter = variable.filter(|(_, sql_type)| sql_type.oid == oids::REFCURSOR).map(|(number, _)| number);
        Ok(Some(CursorName { name: name.clone(), parameter }))
    }

    fn optional_filter(&mut self, filter: Option<&tree::Expr>) -> Result<Option<Expr>> {
        self.scope().place = Place::Where;
        filter.map(|filter| self.condition(filter, "WHERE")).transpose()
    }

    pub(super) fn changing_query(&mut self, filter: Option<Expr>) -> Query {
        let scope = self.scope();
        Query {
            relations: std::mem::take(&mut scope.relations),
            from: std::mem::take(&mut scope.from),
            filter,
            ..Query::default()
        }
    }
}

/// The views' conditions and the statement's own.
fn both(mut conditions: Vec<Expr>, filter: Option<Expr>) -> Option<Expr> {
    conditions.extend(filter);
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(Expr::new(ExprKind::And(conditions), SqlType::BOOL)),
    }
}

/// Whether OVERRIDING USER VALUE has the default stand for what is given.
fn is_ignored(column: &ColumnDef, overriding: Option<bool>) -> bool {
    overriding == Some(false) && column.identity.is_some()
}

/// Whether an expression stands for several: `x.*`.
fn is_spread(expr: &tree::Expr) -> bool {
    match &expr.kind {
        Tree::Star(parts) => !parts.is_empty(),
        Tree::Indirection { steps, .. } => matches!(steps.last(), Some(tree::Indirection::Star)),
        _ => false,
    }
}

/// The value that `(a, b) = ROW(...)` gives to one column, if the row is written out; it may be DEFAULT. Other values are returned as
/// they are.
fn element_of_row(value: &tree::Expr) -> &tree::Expr {
    if let Tree::MultiAssignment { source, column, columns } = &value.kind
        && let Tree::Row { fields, .. } = &source.kind
        && fields.len() == *columns as usize
        && let Some(field) = (*column as usize).checked_sub(1).and_then(|place| fields.get(place))
    {
        return field;
    }
    value
}

/// Whether a query is VALUES and nothing else.
fn is_bare(query: &tree::Query) -> bool {
    query.with.is_none()
        && query.order.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.locking.is_empty()
}
