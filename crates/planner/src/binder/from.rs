//! FROM: tables, subqueries, functions and joins.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::bound::{Column, FromItem, Join, Query, Relation, RelationKind};
use plan::privileges::Privileges;
use plan::user_types::is_composite_type;
use plan::{Expr, ExprKind, JoinKind, NEW_ROWS, OLD_ROWS, SetCall};
use schema::catalog::{Catalog, RelationKind as TableKind, TableDef, ViewScope};
use syntax::tree::{self, Alias, ColumnDefinitionItem, JoinType, Location, Name, TableReference};
use types::{CatalogLookup, SqlType, oids};

use super::scope::{CteState, NamedColumn, NamedItem, Place, Scope};
use super::table::FoundRelation;
use super::{Binder, Part};

/// An item and the names it brings.
type Named = (FromItem, Vec<NamedItem>);

/// A view in FROM, of the catalog's or of those that the server has.
struct NamedView<'v> {
    name: &'v str,
    schema: Oid,
    oid: Oid,
    /// Where it is noted what the statement does with it.
    access: Option<usize>,
    /// Its definition, if it is not built in.
    def: Option<&'v Arc<TableDef>>,
}

impl Binder<'_, '_> {
    /// Binds FROM of an UPDATE, or USING of a DELETE: the table that is changed is not to be read there.
    pub(super) fn from_beside(&mut self, changed: u32, items: &[tree::FromItem]) -> Result<()> {
        let scope = self.scope();
        scope.changed = Some(changed);
        for name in &mut scope.names {
            (name.lateral_only, name.lateral_ok) = (true, false);
        }
        let result = self.from(items);
        self.scope().changed = None;
        result
    }

    /// Binds FROM into the innermost scope.
    pub(super) fn from(&mut self, items: &[tree::FromItem]) -> Result<()> {
        for item in items {
            let (bound, mut names) = self.from_item(item)?;
            self.check_unique_aliases(&names)?;
            // Until FROM is complete, only LATERAL items may read what stands before them.
            for name in &mut names {
                name.lateral_only = true;
                name.lateral_ok = true;
            }
            let scope = self.scope();
            scope.from.push(bound);
            scope.names.append(&mut names);
        }
        for name in &mut self.scope().names {
            name.lateral_only = false;
            name.lateral_ok = true;
        }
        Ok(())
    }

    fn check_unique_aliases(&self, names: &[NamedItem]) -> Result<()> {
        let scope = self.scopes.last().expect("a query is being bound");
        for name in names.iter().filter(|name| name.alias_visible) {
            let twice = scope.names.iter().any(|other| {
                other.alias_visible
                    && other.alias == name.alias
                    // Two tables of one name in different schemas may stand side by side.
                    && !(other.schema.is_some() && name.schema.is_some() && other.table != name.table)
            });
            if twice {
                return Err(Error::new(
                    sqlstate::DUPLICATE_ALIAS,
                    format!("table name \"{}\" specified more than once", name.alias),
                ));
            }
        }
        Ok(())
    }

    fn from_item(&mut self, item: &tree::FromItem) -> Result<Named> {
        self.nested(|binder| match item {
            tree::FromItem::Table(table) => binder.from_table(table),
            tree::FromItem::Subquery { query, lateral, alias } => binder.from_subquery(query, *lateral, alias.as_ref()),
            tree::FromItem::Function { calls, ordinality, alias, columns, location, .. } => {
                binder.from_functions(calls, *ordinality, alias.as_ref(), columns, *location)
            }
            tree::FromItem::Join(join) => binder.from_join(join),
            tree::FromItem::Unsupported(what, location) => Err(binder.unsupported(*what, *location)),
        })
    }

    /// An entry just added, as an item with its names.
    fn named(&mut self, relation: u32, schema: Option<Oid>, table: Oid) -> Named {
        self.show(relation, schema, table, true);
        let item = self.scope().names.pop().expect("it was shown one line above");
        (FromItem::Relation(relation), vec![item])
    }

    fn from_table(&mut self, reference: &TableReference) -> Result<Named> {
        let name = &reference.name;
        if name.schema.is_none()
            && let Some(named) = self.from_cte(reference)?
        {
            return Ok(named);
        }
        let alias = reference.alias.as_ref();
        let transition = self.context.transition_tables.iter().find(|table| table.name == name.name);
        let found = match transition.filter(|_| name.schema.is_none() && !self.text_is_foreign) {
            Some(table) => FoundRelation::Virtual(Arc::clone(table)),
            None => self.required_relation(name)?,
        };
        match found {
            FoundRelation::Table(table) if table.kind == TableKind::View && !self.context.leaves_views_closed => {
                let text = table.view_query.clone().ok_or_else(|| Error::internal("a view without a query"))?;
                let names = table.columns.iter().filter(|column| !column.dropped).map(|column| Name::new(&column.name));
                let names = names.collect();
                let access = self.needs(table.oid, Privileges::SELECT);
                let view = NamedView {
                    name: &table.name,
                    schema: table.schema,
                    oid: table.oid,
                    access: Some(access),
                    def: Some(&table),
                };
                let named =
                    self.below_view(&table, |binder| binder.from_view(&text, names, alias, view, name.location));
                Ok(self.as_known(named?, table.oid))
            }
            FoundRelation::Table(table) => {
                let access = self.needs(table.oid, Privileges::SELECT);
                let relation = self.add_aliased_table(table.clone(), alias, name.location)?;
                self.scope().relations[relation as usize].access = Some(access);
                let schema = alias.is_none().then_some(table.schema);
                let named = self.named(relation, schema, table.oid);
                Ok(self.as_known(named, table.oid))
            }
            FoundRelation::Virtual(table) => {
                if let Some(text) = table.view_query {
                    let names = table.columns.iter().map(|column| column.name.clone()).collect();
                    let access = self.needs_system(table.oid);
                    let view = NamedView { name: &table.name, schema: table.schema, oid: table.oid, access, def: None };
                    let named = self.from_view(text, names, alias, view, name.location)?;
                    return Ok(self.as_known(named, table.oid));
                }
                let columns = table
                    .columns
                    .iter()
                    .map(|column| Column { name: column.name.clone(), sql_type: column.sql_type, dropped: false })
                    .collect::<Vec<_>>();
                let shown = alias.map_or_else(|| table.name.clone(), |alias| alias.name.clone());
                let (oid, schema) = (table.oid, table.schema);
                let is_transition = matches!(oid, OLD_ROWS | NEW_ROWS);
                let (oid, schema) = if is_transition { (Oid::INVALID, None) } else { (oid, Some(schema)) };
                let access = self.needs_system(table.oid);
                let kind = RelationKind::Virtual(table);
                let mut relation = Relation { kind, alias: shown, columns, lateral: false, access };
                self.rename_columns(&mut relation, alias)?;
                let relation = self.add_relation(relation);
                let named = self.named(relation, if alias.is_none() { schema } else { None }, oid);
                Ok(self.as_known(named, oid))
            }
            FoundRelation::Sequence(sequence) => {
                // A sequence reads as a one-row table.
                let access = self.needs(sequence.oid, Privileges::SELECT);
                let table = self.context.system.sequence_table(&sequence);
                let Some(table) = table else {
                    let message = format!("reading sequence \"{}\" as a table is not supported", sequence.name);
                    return Err(self.unsupported(message, name.location));
                };
                let columns = table
                    .columns
                    .iter()
                    .map(|column| Column { name: column.name.clone(), sql_type: column.sql_type, dropped: false })
                    .collect::<Vec<_>>();
                let shown = alias.map_or_else(|| name.name.clone(), |alias| alias.name.clone());
                let kind = RelationKind::Virtual(table);
                let mut relation = Relation { kind, alias: shown, columns, lateral: false, access: Some(access) };
                self.rename_columns(&mut relation, alias)?;
                let relation = self.add_relation(relation);
                Ok(self.named(relation, alias.is_none().then_some(sequence.schema), sequence.oid))
            }
            FoundRelation::Composite(composite) => Err(self.at(is_composite_type(&composite), name.location)),
            FoundRelation::Index(index) => {
                let message = format!("cannot open relation \"{index}\"");
                let error = self.error(sqlstate::WRONG_OBJECT_TYPE, message, name.location);
                Err(error.detail("This operation is not supported for indexes."))
            }
        }
    }

    /// The need to read a table or view of the server's own, if it is not for everybody.
    fn needs_system(&mut self, oid: Oid) -> Option<usize> {
        plan::privileges::is_closed(oid).then(|| self.needs(oid, Privileges::SELECT))
    }

    /// A table with its alias's names for the columns; its number in the range table.
    pub(super) fn add_aliased_table(
        &mut self,
        table: Arc<TableDef>,
        alias: Option<&Alias>,
        _location: Location,
    ) -> Result<u32> {
        let shown = alias.map_or_else(|| Name::new(&table.name), |alias| alias.name.clone());
        let relation = self.add_table(table, shown);
        if alias.is_some() {
            let mut entry = self.scope().relations.pop().expect("it was added one line above");
            self.rename_columns(&mut entry, alias)?;
            self.scope().relations.push(entry);
        }
        Ok(relation)
    }

    /// Gives an entry's columns the names that its alias lists.
    fn rename_columns(&self, relation: &mut Relation, alias: Option<&Alias>) -> Result<()> {
        let Some(alias) = alias else { return Ok(()) };
        let live = relation.columns.iter().filter(|column| !column.dropped).count();
        if alias.columns.len() > live {
            let message = format!(
                "table \"{}\" has {live} columns available but {} columns specified",
                alias.name,
                alias.columns.len()
            );
            return Err(Error::new(sqlstate::INVALID_COLUMN_REFERENCE, message));
        }
        let live = relation.columns.iter_mut().filter(|column| !column.dropped);
        for (column, name) in live.zip(&alias.columns) {
            column.name = name.clone();
        }
        Ok(())
    }

    fn from_view(
        &mut self,
        text: &str,
        names: Vec<Name>,
        alias: Option<&Alias>,
        view: NamedView<'_>,
        location: Location,
    ) -> Result<Named> {
        if self.views.contains(&view.oid) {
            return Err(self.error(
                sqlstate::INVALID_OBJECT_DEFINITION,
                format!("infinite recursion detected in rules for relation \"{}\"", view.name),
                location,
            ));
        }
        self.views.push(view.oid);
        let query = self.view_query(text, view.def);
        self.views.pop();
        let mut query = query?;
        if view.def.is_some_and(|def| super::has_option(def, "security_barrier")) {
            (query.is_barrier, query.is_kept_apart) = (true, true);
        }
        let columns = query
            .output()
            .zip(names)
            .map(|(target, name)| Column { name, sql_type: target.column.sql_type, dropped: false })
            .collect();
        let shown = alias.map_or_else(|| Name::new(view.name), |alias| alias.name.clone());
        let kind = RelationKind::Subquery(Box::new(query));
        let mut relation = Relation { kind, alias: shown, columns, lateral: false, access: view.access };
        self.rename_columns(&mut relation, alias)?;
        let relation = self.add_relation(relation);
        Ok(self.named(relation, alias.is_none().then_some(view.schema), view.oid))
    }

    /// A relation as the stored query that names it knows it: without the columns that came later.
    fn as_known(&self, (item, mut names): Named, relation: Oid) -> Named {
        if let Some(known) = self.view_scope().and_then(|scope| scope.columns_of(relation)) {
            for name in &mut names {
                name.forget_columns(|place| place >= known);
            }
        }
        (item, names)
    }

    /// The stored query of `view`, or of one that is built in, bound as a query of its own: it sees nothing of the
    /// statement around it.
    pub(super) fn view_query(&mut self, text: &str, view: Option<&Arc<TableDef>>) -> Result<Query> {
        let query = syntax::parser::parse_stored_query(text)?;
        // The scopes around stay, so that levels count through the view, but show no names.
        let hidden = self.scopes.iter_mut().map(Scope::hide).collect::<Vec<_>>();
        let bound = self.with_foreign_text(|binder| {
            binder.stored_query_of = view.cloned();
            binder.query(&query, true)
        });
        for (scope, hidden) in self.scopes.iter_mut().zip(hidden) {
            scope.unhide(hidden);
        }
        bound
    }

    fn from_cte(&mut self, reference: &TableReference) -> Result<Option<Named>> {
        let name = &reference.name;
        let mut found = None;
        for (level, scope) in self.scopes.iter_mut().rev().enumerate() {
            if let Some(cte) = scope.ctes.iter_mut().rev().find(|cte| cte.name == name.name) {
                cte.references += 1;
                found = Some((level, cte.clone()));
                break;
            }
        }
        let Some((level, cte)) = found else { return Ok(None) };
        let kind = match cte.state {
            CteState::Ready => RelationKind::Cte(cte.id),
            CteState::Recursive => RelationKind::WorkTable(cte.id),
            CteState::WithoutColumns => {
                let message = format!("WITH query \"{}\" does not have a RETURNING clause", cte.name);
                return Err(self.unsupported(message, name.location));
            }
            CteState::Forbidden(why) => {
                return Err(self.error(sqlstate::INVALID_RECURSION, why.replace("{}", &cte.name), name.location));
            }
        };
        let columns = cte
            .columns
            .iter()
            .map(|(name, sql_type)| Column { name: name.clone(), sql_type: *sql_type, dropped: false })
            .collect();
        let alias = reference.alias.as_ref();
        let shown = alias.map_or_else(|| cte.name.clone(), |alias| alias.name.clone());
        let mut relation = Relation { kind, alias: shown, columns, lateral: false, access: None };
        self.rename_columns(&mut relation, alias)?;
        let relation = self.add_relation(relation);
        let mut named = self.named(relation, None, Oid::INVALID);
        // As PostgreSQL: where the expression belongs to a query around this one, `*` leaves out what it didn't select.
        if level > 0 {
            let own = cte.columns.len() - cte.added;
            named
                .1
                .iter_mut()
                .flat_map(|item| item.columns.iter_mut().skip(own))
                .for_each(|column| column.in_star = false);
        }
        Ok(Some(named))
    }

    /// Where a subquery's opening parenthesis stands, which the tree does not tell: before its first expression.
    fn start_of_subquery(&self, query: &tree::Query) -> Location {
        let parentheses = match &query.body {
            tree::QueryBody::Select(_) => 1,
            tree::QueryBody::Values(_) => 2,
            tree::QueryBody::SetOperation { left, .. } => return self.start_of_subquery(left),
        };
        let mut before = usize::try_from(query.start()).unwrap_or(0);
        for _ in 0..parentheses {
            match self.context.text.get(..before).and_then(|text| text.rfind('(')) {
                Some(place) => before = place,
                None => return -1,
            }
        }
        before as Location
    }

    fn from_subquery(&mut self, query: &tree::Query, lateral: bool, alias: Option<&Alias>) -> Result<Named> {
        let Some(alias) = alias else {
            let message = if matches!(query.body, tree::QueryBody::Values(_)) {
                "VALUES in FROM must have an alias"
            } else {
                "subquery in FROM must have an alias"
            };
            let example = if matches!(query.body, tree::QueryBody::Values(_)) {
                "For example, FROM (VALUES ...) [AS] foo."
            } else {
                "For example, FROM (SELECT ...) [AS] foo."
            };
            let location = self.start_of_subquery(query);
            return Err(self.error(sqlstate::SYNTAX_ERROR, message, location).hint(example));
        };
        let scope = self.scope();
        let before = (scope.place, std::mem::replace(&mut scope.lateral_active, lateral));
        scope.place = Place::FromSubquery;
        let bound = self.in_part(Part::From, |binder| binder.query(query, true));
        (self.scope().place, self.scope().lateral_active) = before;
        let bound = bound?;
        let columns = bound
            .output()
            .map(|target| Column { name: target.column.name.clone(), sql_type: target.column.sql_type, dropped: false })
            .collect();
        let kind = RelationKind::Subquery(Box::new(bound));
        let mut relation = Relation { kind, alias: alias.name.clone(), columns, lateral, access: None };
        self.rename_columns(&mut relation, Some(alias))?;
        let relation = self.add_relation(relation);
        Ok(self.named(relation, None, Oid::INVALID))
    }

    fn from_functions(
        &mut self,
        calls: &[(tree::Expr, Vec<ColumnDefinitionItem>)],
        ordinality: bool,
        alias: Option<&Alias>,
        definitions: &[ColumnDefinitionItem],
        location: Location,
    ) -> Result<Named> {
        if let [(expr, own)] = calls
            && !matches!(expr.kind, tree::ExprKind::Function(_))
            && own.is_empty()
            && definitions.is_empty()
            && !ordinality
        {
            return self.from_expression(expr, alias);
        }
        // Functions read what stands before them, LATERAL or not.
        let scope = self.scope();
        let before = (scope.place, std::mem::replace(&mut scope.lateral_active, true));
        scope.place = Place::FromFunction;
        let bound = self.bind_functions(calls, alias, definitions, location);
        (self.scope().place, self.scope().lateral_active) = before;
        let (calls, mut columns, first_name) = bound?;
        let scope = self.view_scope();
        let (catalog, lookup) = (self.context.catalog, self.context.lookup);
        let later = scope.map_or_else(Vec::new, |scope| later_columns(catalog, lookup, scope, &calls));
        if ordinality {
            columns.push(Column { name: Name::new_static("ordinality"), sql_type: SqlType::INT8, dropped: false });
        }
        let shown = alias.map_or(first_name, |alias| alias.name.clone());
        let is_alone = calls.len() == 1 && !ordinality;
        let kind = RelationKind::Function { calls, ordinality };
        let mut relation = Relation { kind, alias: shown, columns, lateral: true, access: None };
        // The alias's names pass over columns that came later, as over dropped ones.
        later.iter().for_each(|place| relation.columns[*place].dropped = true);
        self.rename_columns(&mut relation, alias)?;
        later.iter().for_each(|place| relation.columns[*place].dropped = false);
        let relation = self.add_relation(relation);
        let (item, mut names) = self.named(relation, None, Oid::INVALID);
        for name in &mut names {
            name.forget_columns(|place| later.contains(&place));
            if !is_alone {
                // The row of several functions, or of one WITH ORDINALITY, is not a row of the function's type.
                name.later_columns.clear();
            }
        }
        Ok((item, names))
    }

    /// CURRENT_DATE and other expressions that are written like functions without being functions: a row of one column.
    fn from_expression(&mut self, expr: &tree::Expr, alias: Option<&Alias>) -> Result<Named> {
        let own_name = super::target::name_of(expr).unwrap_or_else(|| Name::new_static("?column?"));
        let name = alias.map_or(&own_name, |alias| &alias.name);
        let column = alias.and_then(|alias| alias.columns.first()).unwrap_or(name);
        let select = tree::Select {
            distinct: tree::Distinct::No,
            into: None,
            targets: vec![tree::Target { name: Some(column.clone()), expr: expr.clone() }],
            from: Vec::new(),
            filter: None,
            group: Vec::new(),
            group_distinct: false,
            having: None,
            windows: Vec::new(),
        };
        let query = tree::Query {
            with: None,
            body: tree::QueryBody::Select(Box::new(select)),
            order: Vec::new(),
            offset: None,
            limit: None,
            with_ties: false,
            locking: Vec::new(),
        };
        let columns = alias.map_or_else(Vec::new, |alias| alias.columns.clone());
        self.from_subquery(&query, true, Some(&Alias { name: name.clone(), columns }))
    }

    fn bind_functions(
        &mut self,
        written: &[(tree::Expr, Vec<ColumnDefinitionItem>)],
        alias: Option<&Alias>,
        definitions: &[ColumnDefinitionItem],
        location: Location,
    ) -> Result<(Vec<SetCall>, Vec<Column>, Name)> {
        let mut calls = Vec::with_capacity(written.len());
        let mut columns = Vec::new();
        let mut first_name = None;
        for (expr, own_definitions) in written {
            let definitions =
                if own_definitions.is_empty() && written.len() == 1 { definitions } else { own_definitions };
            let tree::ExprKind::Function(call) = &expr.kind else {
                let message = "only function calls are supported in FROM";
                return Err(self.unsupported(message, expr.location));
            };
            // unnest of several arrays stands for several functions.
            let parts = if call.name.name == "unnest" && call.arguments.len() > 1 && definitions.is_empty() {
                let split = call
                    .arguments
                    .iter()
                    .map(|argument| tree::FunctionCall { arguments: vec![argument.clone()], ..(**call).clone() });
                split.collect::<Vec<_>>()
            } else {
                vec![(**call).clone()]
            };
            let side_by_side = written.len() > 1 || parts.len() > 1;
            for part in parts {
                let name = part.name.name.clone();
                let mut bound = self.from_function(&part)?;
                let own = self.function_columns(&mut bound, &name, alias, definitions, side_by_side, location)?;
                columns.extend(own);
                calls.push(bound);
                first_name.get_or_insert(name);
            }
        }
        let first_name = first_name.ok_or_else(|| Error::internal("ROWS FROM nothing"))?;
        Ok((calls, columns, first_name))
    }

    /// The names and types of one function's columns.
    fn function_columns(
        &mut self,
        call: &mut SetCall,
        name: &Name,
        alias: Option<&Alias>,
        definitions: &[ColumnDefinitionItem],
        side_by_side: bool,
        location: Location,
    ) -> Result<Vec<Column>> {
        let result = call.types.result;
        if !definitions.is_empty() {
            if result.oid != oids::RECORD || call.composite {
                let message = if call.composite {
                    "a column definition list is redundant for a function with OUT parameters"
                } else {
                    "a column definition list is only allowed for functions returning \"record\""
                };
                return Err(self.error(sqlstate::SYNTAX_ERROR, message, definitions[0].location));
            }
            let mut columns = Vec::with_capacity(definitions.len());
            for definition in definitions {
                let sql_type = self.type_of(&definition.type_name)?;
                columns.push(Column { name: definition.name.clone(), sql_type, dropped: false });
            }
            call.columns = columns.iter().map(|column| column.sql_type).collect();
            call.composite = true;
            if let plan::FunctionTarget::Builtin(function) = &call.function
                && types::takes_definitions(function)
            {
                // The function needs the names and types; it gets them as a row of NULLs.
                let fields: Vec<_> = columns.iter().map(|column| (column.name.to_string(), column.sql_type)).collect();
                let nulls = vec![types::Value::Null; fields.len()];
                let shape = std::sync::Arc::new(types::RecordShape::without_type(fields));
                let row = types::RecordValue { shape, fields: nulls };
                let row = types::Value::Record(std::sync::Arc::new(row));
                call.arguments.push(plan::Expr::constant(row, SqlType::new(oids::RECORD)));
                call.types.arguments.push(SqlType::new(oids::RECORD));
            }
            return Ok(columns);
        }
        if let Some(shape) = self.call_shape(&call.function, &call.types) {
            let row_type = types::base_type(self.context.lookup, result).oid;
            self.note_resolved(|resolved| {
                resolved.row_types.insert(row_type);
            });
            return Ok(shape
                .fields
                .iter()
                .map(|(name, sql_type)| Column { name: Name::new(name), sql_type: *sql_type, dropped: false })
                .collect());
        }
        if result.oid == oids::RECORD {
            let message = "a column definition list is required for functions returning \"record\"";
            return Err(self.error(sqlstate::SYNTAX_ERROR, message, location));
        }
        // A single scalar column takes the alias's name.
        let own_name = match &call.function {
            plan::FunctionTarget::Builtin(def) if def.columns.len() == 1 => Name::new(def.columns[0].0),
            plan::FunctionTarget::Stored(stored) => super::function::single_output(stored).unwrap_or_else(|| {
                alias.filter(|_| !side_by_side).map_or_else(|| name.clone(), |alias| alias.name.clone())
            }),
            _ => alias.filter(|_| !side_by_side).map_or_else(|| name.clone(), |alias| alias.name.clone()),
        };
        Ok(vec![Column { name: own_name, sql_type: result, dropped: false }])
    }

    fn from_join(&mut self, join: &tree::Join) -> Result<Named> {
        let (left, mut left_names) = self.from_item(&join.left)?;
        // The right side may read the left one laterally, unless the join could make up left rows.
        let lateral_ok = matches!(join.kind, JoinType::Inner | JoinType::Left);
        let visible = self.scope().names.len();
        let lateral = left_names.iter().cloned().map(|name| NamedItem { lateral_only: true, lateral_ok, ..name });
        let lateral = lateral.collect::<Vec<_>>();
        self.scope().names.extend(lateral);
        let right = self.from_item(&join.right);
        self.scope().names.truncate(visible);
        let (right, mut right_names) = right?;
        for name in right_names.iter().filter(|name| name.alias_visible) {
            let twice = left_names.iter().any(|other| {
                other.alias_visible
                    && other.alias == name.alias
                    && !(other.schema.is_some() && name.schema.is_some() && other.table != name.table)
            });
            if twice {
                return Err(Error::new(
                    sqlstate::DUPLICATE_ALIAS,
                    format!("table name \"{}\" specified more than once", name.alias),
                ));
            }
        }
        let kind = match join.kind {
            JoinType::Inner => JoinKind::Inner,
            JoinType::Left => JoinKind::Left,
            JoinType::Right => JoinKind::Right,
            JoinType::Full => JoinKind::Full,
        };
        let using = if join.natural { common_columns(&left_names, &right_names) } else { join.using.clone() };
        let merges = join.natural || !join.using.is_empty();
        let mut conditions = Vec::new();
        let mut merged = Vec::new();
        for name in &using {
            let left_column = self.using_column(&left_names, name, "left")?;
            let right_column = self.using_column(&right_names, name, "right")?;
            self.reads(&left_column);
            self.reads(&right_column);
            let (condition, column) = self.merged_column(name, left_column, right_column, kind)?;
            conditions.push(condition);
            merged.push(column);
        }
        if let Some(condition) = &join.condition {
            conditions.push(self.join_condition(condition, &left_names, &right_names)?);
        }
        let condition = Expr::all(conditions);
        // Conditions of joins around this one, and lateral items after it, may read made-up rows.
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            self.scope().note_made_up(&left);
        }
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            self.scope().note_made_up(&right);
        }
        let item = FromItem::Join(Box::new(Join { kind, left, right, condition }));
        if !merges && join.alias.is_none() {
            left_names.append(&mut right_names);
            return Ok((item, left_names));
        }
        // The joined columns: merged ones first, then what is left of either side.
        let mut columns = merged.clone();
        for names in [&left_names, &right_names] {
            let rest = names.iter().filter(|name| name.columns_visible).flat_map(|name| &name.columns);
            columns.extend(rest.filter(|column| !using.contains(&column.name)).cloned());
        }
        left_names.append(&mut right_names);
        for name in &mut left_names {
            name.columns_visible = false;
            name.alias_visible = name.alias_visible && join.alias.is_none();
        }
        let item_of = |alias: Name, alias_visible: bool, columns: Vec<NamedColumn>, columns_visible: bool| NamedItem {
            alias,
            schema: None,
            table: Oid::INVALID,
            relation: None,
            columns,
            later_columns: Vec::new(),
            alias_visible,
            columns_visible,
            lateral_only: false,
            lateral_ok: true,
        };
        match &join.alias {
            Some(alias) => {
                if alias.columns.len() > columns.len() {
                    let message = format!(
                        "join expression \"{}\" has {} columns available but {} columns specified",
                        alias.name,
                        columns.len(),
                        alias.columns.len()
                    );
                    return Err(Error::new(sqlstate::INVALID_COLUMN_REFERENCE, message));
                }
                for (column, name) in columns.iter_mut().zip(&alias.columns) {
                    column.name = name.clone();
                }
                left_names.push(item_of(alias.name.clone(), true, columns, true));
            }
            None => left_names.push(item_of(Name::new_static("unnamed_join"), false, columns, true)),
        }
        if let Some(alias) = &join.using_alias {
            left_names.push(item_of(alias.clone(), true, merged, false));
        }
        Ok((item, left_names))
    }

    /// ON sees both sides and nothing else of this FROM.
    fn join_condition(&mut self, condition: &tree::Expr, left: &[NamedItem], right: &[NamedItem]) -> Result<Expr> {
        let visible =
            left.iter().chain(right).cloned().map(|name| NamedItem { lateral_only: false, lateral_ok: true, ..name });
        let visible = visible.collect();
        let scope = self.scope();
        let names = std::mem::replace(&mut scope.names, visible);
        let place = std::mem::replace(&mut scope.place, Place::JoinOn);
        let bound = self.condition(condition, "JOIN/ON");
        let scope = self.scope();
        scope.names = names;
        scope.place = place;
        bound
    }

    /// The column of one side that USING names.
    fn using_column(&self, names: &[NamedItem], name: &Name, side: &str) -> Result<NamedColumn> {
        let visible = names.iter().filter(|item| item.columns_visible);
        let mut found = visible.flat_map(|item| &item.columns).filter(|column| column.name == *name);
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(column.clone()),
            (None, _) => {
                let message = format!("column \"{name}\" specified in USING clause does not exist in {side} table");
                Err(Error::new(sqlstate::UNDEFINED_COLUMN, message))
            }
            (Some(_), Some(_)) => {
                let message = format!("common column name \"{name}\" appears more than once in {side} table");
                Err(Error::new(sqlstate::AMBIGUOUS_COLUMN, message))
            }
        }
    }

    /// The condition that two columns are equal, and the one column they make.
    fn merged_column(
        &mut self,
        name: &Name,
        left: NamedColumn,
        right: NamedColumn,
        kind: JoinKind,
    ) -> Result<(Expr, NamedColumn)> {
        let condition = self.operator_on(None, "=", Some(left.expr.clone()), right.expr.clone(), -1)?;
        let condition = self.coerce_boolean(condition, "JOIN/USING", -1)?;
        let types = [left.expr.sql_type, right.expr.sql_type];
        let common = self.common_type("JOIN/USING", &types, &[-1, -1])?;
        let origin = if kind == JoinKind::Right { right.origin } else { left.origin };
        let left = self.coerce_to_common_type(left.expr, common, "JOIN/USING", -1)?;
        let right = self.coerce_to_common_type(right.expr, common, "JOIN/USING", -1)?;
        let expr = match kind {
            JoinKind::Full => Expr::new(ExprKind::Coalesce(vec![left, right]), common),
            JoinKind::Right => right,
            _ => left,
        };
        // The reads of both sides' columns have been noted by the caller.
        Ok((condition, NamedColumn { name: name.clone(), expr, origin, read: None, in_star: true }))
    }
}

/// The columns that both sides of a NATURAL join have, in the left one's order.
fn common_columns(left: &[NamedItem], right: &[NamedItem]) -> Vec<Name> {
    let columns = |names: &[NamedItem]| {
        let visible = names.iter().filter(|item| item.columns_visible);
        visible.flat_map(|item| item.columns.iter().map(|column| column.name.clone())).collect::<Vec<_>>()
    };
    let right = columns(right);
    let mut common = Vec::new();
    for name in columns(left) {
        if right.contains(&name) && !common.contains(&name) {
            common.push(name);
        }
    }
    common
}

/// The places of columns that the row types of these functions got after the view of this scope was written.
pub fn later_columns(
    catalog: &Catalog,
    lookup: &dyn CatalogLookup,
    scope: &ViewScope,
    calls: &[SetCall],
) -> Vec<usize> {
    let mut later = Vec::new();
    let mut start = 0;
    for call in calls {
        let end = start + call.columns.len();
        let row_type = types::base_type(lookup, call.types.result).oid;
        if let Some(known) = scope.columns_of(row_type).filter(|_| call.composite) {
            let known = match catalog.table(row_type) {
                Some(table) => table.columns.iter().take(known).filter(|column| !column.dropped).count(),
                None => known,
            };
            later.extend(start + known..end);
        }
        start = end;
    }
    later
}
