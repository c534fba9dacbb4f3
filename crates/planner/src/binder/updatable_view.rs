//! Changing rows through views: a view that shows rows of one table passes changes on to it.
//!
//! The view's select list and condition are bound over the table that is changed in its place, so that the view's columns
//! are names for expressions over that table's row; those that are a column of it can be assigned.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::bound::RelationKind;
use plan::privileges::{ColumnsUsed, Privileges};
use plan::{Expr, ExprKind};
use schema::catalog::{ColumnDef, RelationKind as TableKind, TableDef, TriggerTiming};
use schema::row::ColumnSet;
use syntax::tree::{self, Distinct, Name, QueryBody, Select, TableReference};

use super::scope::{NamedColumn, NamedItem, Place, Scope};
use super::table::FoundRelation;
use super::{BindContext, Binder, Parameters};

/// The table that a statement changes. If the statement names a view, this is the table below the view, or below several views.
pub(super) struct ChangeTarget {
    /// The table.
    pub(super) table: Arc<TableDef>,
    /// The views on the way to it; the one the statement names first.
    layers: Vec<Layer>,
    /// For each column of the view named: its name, and its place in the table or why it can't be assigned.
    columns: Vec<(Name, std::result::Result<usize, &'static str>)>,
    /// The WITH CHECK OPTIONs to keep: the view's name, and the condition over relation 0, the table's new row.
    pub(super) checks: Vec<(Name, Expr)>,
    /// The entry of the needed privileges for the table or view that the statement names.
    pub(super) access: usize,
}

/// One view on the way to the table.
struct Layer {
    view: Arc<TableDef>,
    select: Select,
    /// The table or view that the view reads from.
    from: TableReference,
    /// The columns of `from` that the view reads.
    reads: ColumnsUsed,
    /// For each column of the view, the place of the column of the changed table that it stands for; `None` if it stands for none.
    places: Vec<Option<usize>>,
}

/// Which INSTEAD OF triggers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ViewTriggers {
    All,
    /// Those of the views that the view reads.
    OfBase,
    None,
}

/// How a change is called in errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeVerb {
    Insert,
    Update,
    Delete,
}

const NO_SINGLE_TABLE: &str = "Views that do not select from a single table or view are not automatically updatable.";

impl ChangeTarget {
    /// A table by itself.
    pub(super) fn of_table(table: Arc<TableDef>) -> ChangeTarget {
        ChangeTarget { table, layers: Vec::new(), columns: Vec::new(), checks: Vec::new(), access: 0 }
    }

    /// The view that the statement names, if it names one.
    pub(super) fn view(&self) -> Option<&Arc<TableDef>> {
        self.layers.first().map(|layer| &layer.view)
    }

    /// 42601 for a column that a statement gives two values.
    pub(super) fn assigned_twice(&self, place: usize) -> Error {
        let message = format!("multiple assignments to same column \"{}\"", self.table.columns[place].name);
        Error::new(sqlstate::SYNTAX_ERROR, message)
    }

    /// The table as an INSERT fills it: the views' defaults come before its own, those of the outermost view first.
    pub(super) fn table_with_defaults(&self) -> Arc<TableDef> {
        let has_defaults = |layer: &Layer| layer.view.columns.iter().any(|column| column.default.is_some());
        if !self.layers.iter().any(has_defaults) {
            return Arc::clone(&self.table);
        }
        let mut table = (*self.table).clone();
        for layer in self.layers.iter().rev() {
            let live = layer.view.columns.iter().filter(|column| !column.dropped);
            for (column, place) in live.zip(&layer.places) {
                if let (Some(_), Some(place)) = (&column.default, place) {
                    table.columns[*place].default.clone_from(&column.default);
                }
            }
        }
        Arc::new(table)
    }

    /// The column of the view that the statement names, if it names a view: an updatable one, or one with triggers.
    pub(super) fn view_column(&self, name: &Name) -> Option<&ColumnDef> {
        let view = self.view().or_else(|| Some(&self.table).filter(|table| table.kind == TableKind::View))?;
        view.columns.iter().find(|column| !column.dropped && column.name == name.as_str())
    }

    /// The name of the table or view that the statement changes, as the statement knows it.
    pub(super) fn name(&self) -> &str {
        self.view().map_or(&self.table.name, |view| &view.name)
    }

    /// The place of a column in the table; `None` if what is named has no such column.
    ///
    /// # Errors
    /// 0A000 for a view's column that can't be assigned.
    pub(super) fn column_by_name(&self, name: &Name, is_update: bool) -> Result<Option<usize>> {
        if self.view().is_none() {
            return Ok(self.table.column_by_name(name));
        }
        let Some(number) = self.columns.iter().position(|(own, _)| own == name) else { return Ok(None) };
        self.columns[number].1.map(Some).map_err(|why| self.not_assignable(number, is_update, why))
    }

    /// The places of all columns, as an INSERT without a column list fills them.
    ///
    /// # Errors
    /// As [`ChangeTarget::column_by_name`], for those that are given values.
    pub(super) fn all_places(&self, given: usize) -> Result<Vec<usize>> {
        if self.view().is_none() {
            let live = self.table.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
            return Ok(live.map(|(place, _)| place).collect());
        }
        let mut places = Vec::with_capacity(self.columns.len());
        for (number, (_, place)) in self.columns.iter().enumerate() {
            match place {
                // Two columns of a view may be the same of the table.
                Ok(place) if places.contains(place) && number < given => return Err(self.assigned_twice(*place)),
                Ok(place) => places.push(*place),
                Err(why) if number < given => return Err(self.not_assignable(number, false, why)),
                Err(_) => break,
            }
        }
        Ok(places)
    }

    /// 0A000 for a column that can't be assigned; it tells of the view that computes it.
    fn not_assignable(&self, mut column: usize, is_update: bool, why: &str) -> Error {
        let mut layers = self.layers.iter().peekable();
        let mut found = None;
        while let Some(layer) = layers.next() {
            found = Some((layer, column));
            match layers.peek().and_then(|below| layer.named_below(column, &below.view)) {
                Some(below) => column = below,
                None => break,
            }
        }
        let view = found.map_or("", |(layer, _)| &layer.view.name);
        let name = found.and_then(|(layer, column)| live_names(&layer.view).nth(column)).unwrap_or_default();
        let what = if is_update { "update" } else { "insert into" };
        Error::unsupported(format!("cannot {what} column \"{name}\" of view \"{view}\"")).detail(why)
    }
}

impl Layer {
    /// The place of the column of the view below that a column is nothing but another name for.
    fn named_below(&self, column: usize, below: &TableDef) -> Option<usize> {
        let mut first = 0;
        for target in &self.select.targets {
            let count = match &target.expr.kind {
                tree::ExprKind::Star(_) => live_names(below).count(),
                _ => 1,
            };
            if column >= first + count {
                first += count;
                continue;
            }
            let renamed = self.from.alias.as_ref().map_or(&[][..], |alias| &alias.columns);
            return match &target.expr.kind {
                tree::ExprKind::Star(_) => Some(column - first),
                tree::ExprKind::Column(parts) => {
                    let names = live_names(below).enumerate();
                    let mut known =
                        names.map(|(place, name)| renamed.get(place).map_or(name, |renamed| renamed.as_str()));
                    known.position(|name| parts.last().is_some_and(|last| last.as_str() == name))
                }
                _ => None,
            };
        }
        None
    }
}

/// The names of a relation's columns that are not dropped.
fn live_names(relation: &TableDef) -> impl Iterator<Item = &str> {
    relation.columns.iter().filter(|column| !column.dropped).map(|column| column.name.as_str())
}

/// The place of the table's column that an expression is.
fn place_in_table(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Variable(variable) => usize::try_from(variable.attribute).ok(),
        _ => None,
    }
}

/// Whether a view has an INSTEAD OF trigger for this.
fn has_trigger(view: &TableDef, verb: ChangeVerb) -> bool {
    view.triggers.iter().any(|def| {
        def.timing == TriggerTiming::InsteadOf
            && match verb {
                ChangeVerb::Insert => def.on_insert,
                ChangeVerb::Update => def.on_update,
                ChangeVerb::Delete => def.on_delete,
            }
    })
}

/// 55000 for a view that passes no changes on.
fn not_updatable(view: &TableDef, verb: ChangeVerb, why: &str) -> Error {
    let (clause, gerund, event) = match verb {
        ChangeVerb::Insert => ("insert into", "inserting into", "INSERT"),
        ChangeVerb::Update => ("update", "updating", "UPDATE"),
        ChangeVerb::Delete => ("delete from", "deleting from", "DELETE"),
    };
    Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, format!("cannot {clause} view \"{}\"", view.name))
        .detail(why)
        .hint(format!(
            "To enable {gerund} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO INSTEAD rule."
        ))
}

/// The query of a view as it is stored.
fn query_of(view: &TableDef) -> Result<tree::Query> {
    syntax::parser::parse_stored_query(view.view_query.as_deref().unwrap_or_default()).map(|query| *query)
}

impl Binder<'_, '_> {
    /// The target of a change through `view`.
    ///
    /// # Errors
    /// 55000 if the view passes no changes on.
    pub(super) fn view_target(&mut self, view: &Arc<TableDef>, verb: ChangeVerb) -> Result<ChangeTarget> {
        self.view_target_by(view, verb, ViewTriggers::All)
    }

    /// The same, where only some triggers count.
    fn view_target_by(
        &mut self,
        view: &Arc<TableDef>,
        verb: ChangeVerb,
        triggers: ViewTriggers,
    ) -> Result<ChangeTarget> {
        let mut layers: Vec<Layer> = Vec::new();
        let mut next = Arc::clone(view);
        let table = loop {
            let counts = match triggers {
                ViewTriggers::All => true,
                ViewTriggers::OfBase => !layers.is_empty(),
                ViewTriggers::None => false,
            };
            if counts && has_trigger(&next, verb) {
                if layers.is_empty() {
                    return Ok(ChangeTarget::of_table(next));
                }
                break next;
            }
            if layers.iter().any(|layer| layer.view.oid == next.oid) {
                let message = format!("infinite recursion detected in rules for relation \"{}\"", view.name);
                return Err(Error::new(sqlstate::INVALID_OBJECT_DEFINITION, message));
            }
            let (layer, below) = match self.layer_of(&next)? {
                Ok(found) => found,
                Err(why) => return Err(not_updatable(&next, verb, why)),
            };
            layers.push(layer);
            if below.kind != TableKind::View {
                break below;
            }
            next = below;
        };
        let mut target = ChangeTarget { table, layers, columns: Vec::new(), checks: Vec::new(), access: 0 };
        self.resolve_layers(&mut target, verb)?;
        if verb != ChangeVerb::Delete && !target.columns.iter().any(|(_, place)| place.is_ok()) {
            let why = "Views that have no updatable columns are not automatically updatable.";
            return Err(not_updatable(view, verb, why));
        }
        Ok(target)
    }

    /// A view as a layer and what it reads from, or why it passes no changes on.
    fn layer_of(&mut self, view: &Arc<TableDef>) -> Result<std::result::Result<(Layer, Arc<TableDef>), &'static str>> {
        let query = query_of(view)?;
        let select = match query.body {
            QueryBody::Select(select) => *select,
            QueryBody::SetOperation { .. } => {
                return Ok(Err("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable."));
            }
            QueryBody::Values(_) => return Ok(Err(NO_SINGLE_TABLE)),
        };
        let clauses = [
            (select.distinct != Distinct::No, "Views containing DISTINCT are not automatically updatable."),
            (!select.group.is_empty(), "Views containing GROUP BY are not automatically updatable."),
            (select.having.is_some(), "Views containing HAVING are not automatically updatable."),
            (query.with.is_some(), "Views containing WITH are not automatically updatable."),
            (
                query.limit.is_some() || query.offset.is_some(),
                "Views containing LIMIT or OFFSET are not automatically updatable.",
            ),
        ];
        if let Some((_, why)) = clauses.into_iter().find(|(is_there, _)| *is_there) {
            return Ok(Err(why));
        }
        // Whether calls are aggregates, window functions or set-returning functions is known once they are bound.
        let text = view.view_query.clone().unwrap_or_default();
        let noted = self.access.clone();
        let bound = self.below_view(view, |binder| binder.view_query(&text, Some(view)));
        self.access = noted;
        let bound = bound?;
        if bound.is_grouped {
            return Ok(Err("Views that return aggregate functions are not automatically updatable."));
        }
        if !bound.windows.is_empty() {
            return Ok(Err("Views that return window functions are not automatically updatable."));
        }
        if bound.has_sets {
            return Ok(Err("Views that return set-returning functions are not automatically updatable."));
        }
        let [tree::FromItem::Table(from)] = select.from.as_slice() else { return Ok(Err(NO_SINGLE_TABLE)) };
        // The view has found it: USAGE of its schema is not asked for.
        match self.in_foreign_text(|binder| binder.required_relation(&from.name))? {
            FoundRelation::Table(below) if below.kind != TableKind::MaterializedView => {
                let from = from.clone();
                let (reads, places) = (ColumnsUsed::default(), Vec::new());
                Ok(Ok((Layer { view: Arc::clone(view), select, from, reads, places }, below)))
            }
            _ => Ok(Err(NO_SINGLE_TABLE)),
        }
    }

    /// Which columns can be assigned, and which conditions new rows must meet.
    fn resolve_layers(&mut self, target: &mut ChangeTarget, verb: ChangeVerb) -> Result<()> {
        let outer = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope::new(Place::Where));
        let relation = self.add_table(Arc::clone(&target.table), Name::new(&target.table.name));
        let result = self.resolve_over(target, relation, verb);
        self.scopes = outer;
        result
    }

    fn resolve_over(&mut self, target: &mut ChangeTarget, relation: u32, verb: ChangeVerb) -> Result<()> {
        let subqueries = self.subquery_count;
        let before = self.access.clone();
        let below = self.layer_access(target);
        self.scope().relations[relation as usize].access = below.last().copied();
        let (columns, conditions) = self.bind_layers(target, relation, &below)?;
        let noted = std::mem::replace(&mut self.access, before);
        for (layer, below) in target.layers.iter_mut().zip(&below) {
            layer.reads = noted[*below].columns.clone();
        }
        for column in columns {
            let place = match &column.expr.kind {
                ExprKind::Variable(variable) if variable.attribute >= 0 => Ok(variable.attribute as usize),
                ExprKind::Variable(_) => Err("View columns that refer to system columns are not updatable."),
                _ => Err("View columns that are not columns of their base relation are not updatable."),
            };
            target.columns.push((column.name, place));
        }
        if verb == ChangeVerb::Delete {
            return Ok(());
        }
        // A CASCADED option is kept for the views below, too.
        let mut is_cascaded = false;
        let mut checked = Vec::with_capacity(target.layers.len());
        for layer in &target.layers {
            let option = check_option(&layer.view);
            checked.push(is_cascaded || option.is_some());
            is_cascaded |= option == Some("cascaded");
        }
        for (number, condition) in conditions {
            if checked[number] {
                target.checks.push((Name::new(&target.layers[number].view.name), condition));
            }
        }
        if self.subquery_count > subqueries && !target.checks.is_empty() {
            // Their subqueries read with the rights of the views' owners.
            let others = noted.into_iter().enumerate().filter(|(number, _)| !below.contains(number));
            for (_, access) in others {
                access.add_to(&mut self.access);
            }
        }
        Ok(())
    }

    /// Binds the views' select lists and conditions over entry `relation` of the innermost scope, which is the table: the
    /// columns of the outermost view, and the conditions with the numbers of their views, innermost first.
    ///
    /// `below` has, for each view, the entry of the needed privileges for the table or view that the view reads from. The columns that
    /// the view reads are noted there. If `below` is empty, nothing is noted.
    fn bind_layers(
        &mut self,
        target: &mut ChangeTarget,
        relation: u32,
        below: &[usize],
    ) -> Result<(Vec<NamedColumn>, Vec<(usize, Expr)>)> {
        let mut columns = self.scope().columns_of(relation);
        let (mut table, mut schema) = (target.table.oid, target.table.schema);
        let mut conditions = Vec::new();
        let hidden = self.scopes.iter_mut().map(Scope::hide).collect::<Vec<_>>();
        let place = self.scope().place;
        let owner = self.view_owner;
        let foreign = std::mem::replace(&mut self.text_is_foreign, true);
        let around = self.stored_query_of.take();
        let variables = self.context.variables.take();
        let within = self.within.clone();
        let before = std::mem::replace(&mut self.is_in_layers, true);
        let names = self.take_stored_names();
        let last = target.layers.len() - 1;
        let mut work = || -> Result<()> {
            for (number, layer) in target.layers.iter_mut().enumerate().rev() {
                let alias = layer.from.alias.as_ref();
                if let Some(alias) = alias {
                    for (column, name) in columns.iter_mut().zip(&alias.columns) {
                        column.name = name.clone();
                    }
                }
                let item = NamedItem {
                    alias: alias.map_or_else(|| layer.from.name.name.clone(), |alias| alias.name.clone()),
                    schema: alias.is_none().then_some(schema),
                    table,
                    relation: (number == last).then_some(relation),
                    columns: std::mem::take(&mut columns),
                    later_columns: Vec::new(),
                    alias_visible: true,
                    columns_visible: true,
                    lateral_only: false,
                    lateral_ok: true,
                };
                self.view_owner = super::rights_below(&layer.view);
                self.within = place_of_layer(number, true);
                self.stored_query_of = Some(Arc::clone(&layer.view));
                self.scope().names.push(item);
                self.scope().place = Place::Select;
                let targets = self.targets(&layer.select.targets)?;
                if let Some(filter) = &layer.select.filter {
                    self.scope().place = Place::Where;
                    conditions.push((number, self.condition(filter, "WHERE")?));
                }
                self.scope().names.clear();
                let live = layer.view.columns.iter().filter(|column| !column.dropped);
                let access = number.checked_sub(1).and_then(|above| below.get(above));
                columns = targets
                    .into_iter()
                    .zip(live)
                    .zip(0..)
                    .map(|((target, column), place)| NamedColumn {
                        name: Name::new(&column.name),
                        expr: target.expr,
                        origin: None,
                        read: access.map(|access| (*access, place)),
                        in_star: true,
                    })
                    .collect();
                layer.places = columns.iter().map(|column| place_in_table(&column.expr)).collect();
                (table, schema) = (layer.view.oid, layer.view.schema);
            }
            Ok(())
        };
        let result = work();
        (self.context.lookup, self.context.search_path) = names;
        self.context.variables = variables;
        self.text_is_foreign = foreign;
        self.within = within;
        self.is_in_layers = before;
        self.stored_query_of = around;
        self.view_owner = owner;
        self.scope().place = place;
        for (scope, hidden) in self.scopes.iter_mut().zip(hidden) {
            scope.unhide(hidden);
        }
        result.map(|()| (columns, conditions))
    }

    /// For each view, the entry of the needed privileges of the view's owner on the table or view below it. The views have found what is below
    /// them: USAGE of its schemas is not asked for.
    fn layer_access(&mut self, target: &ChangeTarget) -> Vec<usize> {
        let (outer, within) = (self.view_owner, self.within.clone());
        let mut below = Vec::with_capacity(target.layers.len());
        for (number, layer) in target.layers.iter().enumerate() {
            self.view_owner = super::rights_below(&layer.view);
            self.within = place_of_layer(number, false);
            let object = target.layers.get(number + 1).map_or(target.table.oid, |layer| layer.view.oid);
            below.push(self.in_foreign_text(|binder| binder.needs(object, Privileges::NONE)));
        }
        (self.view_owner, self.within) = (outer, within);
        below
    }

    /// Notes the privileges that the statement needs on the table or view that it names.
    pub(super) fn needs_target(&mut self, target: &mut ChangeTarget, privileges: Privileges) {
        let named = target.view().map_or(target.table.oid, |view| view.oid);
        target.access = self.needs(named, privileges);
    }

    /// Notes the privileges that the views' owners need on the tables and views below. The needs of the statement on the view that it names
    /// must be complete. The owners read the columns that their views read, as soon as the statement reads anything.
    pub(super) fn needs_below(&mut self, target: &ChangeTarget) {
        let named = self.access.get(target.access).map(|named| (named.privileges, named.columns.clone()));
        let Some((privileges, mut used)) = named.filter(|_| target.view().is_some()) else { return };
        let below = self.layer_access(target);
        for (number, access) in below.into_iter().enumerate() {
            let next = target.layers.get(number + 1);
            let mut changed = ColumnsUsed::default();
            for privilege in [Privileges::INSERT, Privileges::UPDATE] {
                for place in used.places(privilege) {
                    let Some(in_table) = target.layers[number].places.get(place).copied().flatten() else { continue };
                    let place = match next {
                        Some(next) => next.places.iter().position(|place| *place == Some(in_table)),
                        None => Some(in_table),
                    };
                    place.into_iter().for_each(|place| changed.add(privilege, place as i32));
                }
            }
            changed.add_all(&target.layers[number].reads);
            let entry = &mut self.access[access];
            entry.privileges = entry.privileges | privileges;
            entry.columns.add_all(&changed);
            used = changed;
        }
    }

    /// The places of the table's columns that the statement gives values, as far as it is known by now.
    pub(super) fn given_columns(&self, target: &ChangeTarget) -> ColumnSet {
        let used = &self.access[target.access].columns;
        let named = [Privileges::INSERT, Privileges::UPDATE].into_iter().flat_map(|privilege| used.places(privilege));
        let in_table = |place: usize| match target.view() {
            Some(_) => target.columns.get(place).and_then(|(_, place)| place.ok()),
            None => Some(place),
        };
        named.filter_map(in_table).collect()
    }

    /// Notes that the statement gives a value to a column of the table or view that it names. For a view this is the column `name`, if it
    /// has one; for a table the column at `place`.
    pub(super) fn changes_column(&mut self, target: &ChangeTarget, privilege: Privileges, place: usize, name: &Name) {
        let in_view = target.columns.iter().position(|(own, _)| own == name);
        let place = if target.view().is_some() { in_view } else { Some(place) };
        place.into_iter().for_each(|place| self.uses_column(target.access, privilege, place as i32));
    }

    /// Notes that the statement gives values to the first columns of the table or view that it names.
    pub(super) fn fills_columns(&mut self, target: &ChangeTarget, places: &[usize]) {
        for (number, place) in places.iter().enumerate() {
            let place = if target.view().is_some() { number } else { *place };
            self.uses_column(target.access, Privileges::INSERT, place as i32);
        }
    }

    /// Makes the target's column names visible for entry `relation`, which is the target's table. Returns the conditions of the views.
    ///
    /// # Errors
    /// Errors of binding the views.
    pub(super) fn show_target(
        &mut self,
        target: &mut ChangeTarget,
        relation: u32,
        alias: Option<Name>,
    ) -> Result<Vec<Expr>> {
        let Some(view) = target.view().cloned() else {
            let schema = alias.is_none().then_some(target.table.schema);
            self.scope().relations[relation as usize].access = Some(target.access);
            self.show(relation, schema, target.table.oid, true);
            return Ok(Vec::new());
        };
        let (mut columns, conditions) = self.bind_layers(target, relation, &[])?;
        for (column, place) in columns.iter_mut().zip(0..) {
            column.read = Some((target.access, place));
        }
        let schema = alias.is_none().then_some(view.schema);
        self.scope().names.push(NamedItem {
            alias: alias.unwrap_or_else(|| Name::new(&view.name)),
            schema,
            table: view.oid,
            relation: None,
            columns,
            later_columns: Vec::new(),
            alias_visible: true,
            columns_visible: true,
            lateral_only: false,
            lateral_ok: true,
        });
        Ok(conditions.into_iter().map(|(_, condition)| condition).collect())
    }

    /// The row that ON CONFLICT could not insert, as `excluded`.
    pub(super) fn show_excluded(&mut self, target: &mut ChangeTarget) -> Result<u32> {
        let name = Name::new_static("excluded");
        let relation = self.add_table(Arc::clone(&target.table), name.clone());
        self.scope().relations[relation as usize].kind = RelationKind::Excluded;
        if target.view().is_none() {
            self.scope().relations[relation as usize].access = Some(target.access);
            self.show(relation, None, Oid::INVALID, true);
        } else {
            self.show_target(target, relation, Some(name))?;
        }
        Ok(relation)
    }
}

/// `local` or `cascaded`, if the view has a check option.
pub fn check_option(view: &TableDef) -> Option<&str> {
    view.options.iter().find_map(|option| option.strip_prefix("check_option="))
}

/// Why a view passes no changes on by itself; nothing if it does.
///
/// # Errors
/// Errors of binding its query.
pub fn why_not_updatable(context: &mut BindContext<'_>, view: &Arc<TableDef>) -> Result<Option<String>> {
    let mut parameters = Parameters::fixed(Vec::new());
    let mut binder = Binder::new(context, &mut parameters);
    match binder.view_target_by(view, ChangeVerb::Update, ViewTriggers::OfBase) {
        Ok(_) => Ok(None),
        Err(error) if error.sqlstate() == sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE => {
            Ok(Some(error.fields().detail.clone().unwrap_or_default()))
        }
        Err(error) => Err(error),
    }
}

/// Whether INSERT, UPDATE and DELETE of a view are possible, by triggers too if they are to count; and which of its columns
/// an UPDATE can assign.
///
/// # Errors
/// Errors of binding its query.
pub fn possible_changes(
    context: &mut BindContext<'_>,
    view: &Arc<TableDef>,
    by_trigger: bool,
) -> Result<([bool; 3], Vec<bool>)> {
    let triggers = if by_trigger { ViewTriggers::All } else { ViewTriggers::None };
    let mut parameters = Parameters::fixed(Vec::new());
    let mut binder = Binder::new(context, &mut parameters);
    let (mut possible, mut columns) = ([false; 3], Vec::new());
    for (number, verb) in [ChangeVerb::Insert, ChangeVerb::Update, ChangeVerb::Delete].into_iter().enumerate() {
        match binder.view_target_by(view, verb, triggers) {
            Ok(target) => {
                possible[number] = true;
                if verb == ChangeVerb::Update {
                    columns = match target.view() {
                        Some(_) => target.columns.iter().map(|(_, place)| place.is_ok()).collect(),
                        None => vec![true; view.columns.len()],
                    };
                }
            }
            Err(error) if error.sqlstate() == sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE => {}
            Err(error) => return Err(error),
        }
    }
    Ok((possible, columns))
}

/// See [`plan::privileges::Access::within`]. The views through which rows are changed are opened before all others: what is below each of them, and
/// then what the subqueries of its expressions name. Views among these are opened last.
fn place_of_layer(number: usize, is_of_subquery: bool) -> Vec<u32> {
    vec![0, 2 * number as u32 + u32::from(is_of_subquery)]
}
