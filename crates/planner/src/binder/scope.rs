//! The meaning of names in a query, and the lookup of columns.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::bound::{FromItem, Relation, WindowSpec, for_each_inner_mut};
use plan::privileges::Privileges;
use plan::{CteId, Expr, ExprKind, Variable, bound};
use schema::catalog::RelationKind as TableKind;
use syntax::tree::{Location, Name};
use types::{RecordShape, SqlType, Value, oids};

use super::whole_row::made_up;
use super::{Binder, VariableConflict};

/// Which part of a statement an expression belongs to: some allow less than others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Select,
    Where,
    JoinOn,
    FromFunction,
    FromSubquery,
    GroupBy,
    Having,
    OrderBy,
    DistinctOn,
    Limit,
    Offset,
    Values,
    /// The one row of an INSERT's VALUES, which may become several.
    InsertedRow,
    InsertTarget,
    UpdateSource,
    Returning,
    Filter,
    WindowPartition,
    WindowOrder,
    WindowFrame,
    ExecuteParameter,
    ColumnDefault,
    CheckConstraint,
    IndexExpression,
    IndexPredicate,
    Generated,
    CopyWhere,
    Call,
    AlterType,
    TriggerWhen,
    MergeWhen,
}

impl Place {
    /// How errors name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Place::Select => "SELECT",
            Place::Where => "WHERE",
            Place::JoinOn => "JOIN conditions",
            Place::FromFunction => "functions in FROM",
            Place::FromSubquery => "FROM",
            Place::GroupBy => "GROUP BY",
            Place::Having => "HAVING",
            Place::OrderBy => "ORDER BY",
            Place::DistinctOn => "DISTINCT ON",
            Place::Limit => "LIMIT",
            Place::Offset => "OFFSET",
            Place::Values | Place::InsertedRow => "VALUES",
            Place::InsertTarget => "INSERT",
            Place::UpdateSource => "UPDATE",
            Place::Returning => "RETURNING",
            Place::Filter => "FILTER",
            Place::WindowPartition => "window PARTITION BY",
            Place::WindowOrder => "window ORDER BY",
            Place::WindowFrame => "window frame",
            Place::ExecuteParameter => "EXECUTE parameters",
            Place::ColumnDefault => "DEFAULT expressions",
            Place::CheckConstraint => "check constraints",
            Place::IndexExpression => "index expressions",
            Place::IndexPredicate => "index predicates",
            Place::Generated => "column generation expressions",
            Place::TriggerWhen => "trigger WHEN conditions",
            Place::MergeWhen => "MERGE WHEN conditions",
            Place::CopyWhere => "COPY FROM WHERE conditions",
            Place::Call => "CALL arguments",
            Place::AlterType => "transform expressions",
        }
    }

    /// Aggregates may stand here.
    pub(super) fn allows_aggregates(self) -> bool {
        matches!(
            self,
            Place::Select
                | Place::Having
                | Place::OrderBy
                | Place::DistinctOn
                | Place::WindowPartition
                | Place::WindowOrder
        )
    }

    /// Window functions may stand here.
    pub(super) fn allows_windows(self) -> bool {
        matches!(self, Place::Select | Place::OrderBy | Place::DistinctOn)
    }

    /// Set-returning functions may stand here.
    pub(super) fn allows_sets(self) -> bool {
        matches!(
            self,
            Place::Select
                | Place::OrderBy
                | Place::GroupBy
                | Place::DistinctOn
                | Place::InsertTarget
                | Place::InsertedRow
                | Place::FromFunction
        )
    }

    /// Why subqueries may not stand here, if so.
    pub(super) fn refuses_subqueries(self) -> Option<&'static str> {
        match self {
            Place::CheckConstraint => Some("cannot use subquery in check constraint"),
            Place::ColumnDefault => Some("cannot use subquery in DEFAULT expression"),
            Place::IndexExpression => Some("cannot use subquery in index expression"),
            Place::IndexPredicate => Some("cannot use subquery in index predicate"),
            Place::Generated => Some("cannot use subquery in column generation expression"),
            Place::ExecuteParameter => Some("cannot use subquery in EXECUTE parameter"),
            Place::CopyWhere => Some("cannot use subquery in COPY FROM WHERE condition"),
            Place::Call => Some("cannot use subquery in CALL argument"),
            Place::AlterType => Some("cannot use subquery in transform expression"),
            Place::TriggerWhen => Some("cannot use subquery in trigger WHEN condition"),
            _ => None,
        }
    }
}

/// One query's names.
#[derive(Debug)]
pub(super) struct Scope {
    /// Which part of it is being bound.
    pub(super) place: Place,
    /// Its range table.
    pub(super) relations: Vec<Relation>,
    /// Its FROM.
    pub(super) from: Vec<FromItem>,
    /// The entries for which a join may make up rows, as far as joins have been bound: those of a tree that is not complete are not in `from`.
    pub(super) made_up: Vec<u32>,
    /// The items that names are looked up in.
    pub(super) names: Vec<NamedItem>,
    /// Common table expressions visible here and further in.
    pub(super) ctes: Vec<VisibleCte>,
    /// Names of common table expressions that come later in the WITH being bound.
    pub(super) later_ctes: Vec<Name>,
    /// The query has an aggregate of its own level.
    pub(super) has_aggregates: bool,
    /// The query has a window function.
    pub(super) has_windows: bool,
    /// The query's select list has a set-returning call.
    pub(super) has_sets: bool,
    /// The windows defined so far.
    pub(super) windows: Vec<WindowSpec>,
    /// Within an aggregate's arguments.
    pub(super) in_aggregate: bool,
    /// Within CASE or COALESCE, where sets are refused.
    pub(super) set_refusal: Option<&'static str>,
    /// The item of FROM that is being bound may read items that stand before it.
    pub(super) lateral_active: bool,
    /// The entry of the table that is changed, while items beside it are bound.
    pub(super) changed: Option<u32>,
}

/// A common table expression that may be named.
#[derive(Debug, Clone)]
pub(super) struct VisibleCte {
    pub(super) name: Name,
    pub(super) id: CteId,
    pub(super) columns: Vec<(Name, SqlType)>,
    /// The fields of columns that are rows without a type's name.
    pub(super) shapes: Vec<Option<Arc<RecordShape>>>,
    /// How many of them, the last ones, SEARCH and CYCLE have added.
    pub(super) added: usize,
    /// Why it may not be read here, if so.
    pub(super) state: CteState,
    /// How many places read it.
    pub(super) references: u32,
}

/// Where a common table expression may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CteState {
    /// Anywhere.
    Ready,
    /// Within its own recursive term: the working table.
    Recursive,
    /// It is not there yet.
    Forbidden(&'static str),
    /// It changes rows and has no RETURNING.
    WithoutColumns,
}

/// A name in FROM and its columns.
#[derive(Debug, Clone)]
pub(super) struct NamedItem {
    /// The alias.
    pub(super) alias: Name,
    /// The table it names, if it has no alias: then `schema.table.column` works too.
    pub(super) schema: Option<Oid>,
    /// The table, or [`Oid::INVALID`].
    pub(super) table: Oid,
    /// Its entry in the range table; joins have none.
    pub(super) relation: Option<u32>,
    /// Its columns.
    pub(super) columns: Vec<NamedColumn>,
    /// Columns that the stored query doesn't know: only the row as a whole has them.
    pub(super) later_columns: Vec<NamedColumn>,
    /// `alias.column` works.
    pub(super) alias_visible: bool,
    /// `column` works, and `*` includes it.
    pub(super) columns_visible: bool,
    /// It may only be read by LATERAL items.
    pub(super) lateral_only: bool,
    /// A LATERAL item may read it (not on the wrong side of an outer join).
    pub(super) lateral_ok: bool,
}

impl NamedItem {
    /// Moves the columns for which `later` is true to those that only the row as a whole has. `later` is given places in the relation.
    pub(super) fn forget_columns(&mut self, later: impl Fn(usize) -> bool) {
        let is_later = |column: &NamedColumn| {
            column.origin.is_some_and(|(_, attribute)| attribute >= 0 && later(attribute as usize))
        };
        let (later, known) = std::mem::take(&mut self.columns).into_iter().partition(is_later);
        (self.later_columns, self.columns) = (later, known);
    }
}

/// A column of a [`NamedItem`].
#[derive(Debug, Clone)]
pub(super) struct NamedColumn {
    pub(super) name: Name,
    /// A variable of level 0; for merged columns of a FULL join a COALESCE of two.
    pub(super) expr: Expr,
    /// The column's own place in its table, for what a client is told.
    pub(super) origin: Option<(u32, i32)>,
    /// How a read of the column is noted: the index of an entry in the binder's list of needed privileges, and the column's place in
    /// the table or view of that entry.
    pub(super) read: Option<(usize, i32)>,
    /// `*` includes it.
    pub(super) in_star: bool,
}

/// The attribute number of `xmin`.
const XMIN: i32 = -2;
/// The attribute number of `tableoid`.
pub(super) const TABLE_OID: i32 = -6;

/// The system columns of tables: name, attribute number, type.
pub(crate) const SYSTEM_COLUMNS: &[(&str, i32, Oid)] = &[
    ("ctid", -1, oids::TID),
    ("xmin", XMIN, oids::XID),
    ("cmin", -3, oids::CID),
    ("xmax", -4, oids::XID),
    ("cmax", -5, oids::CID),
    ("tableoid", TABLE_OID, oids::OID),
];

/// A system column of `table`. A table that the server computes has no rows on disk, but it has a number, which is its `tableoid`. Its
/// `xmin` comes from the catalog's version, because clients that look for changes of the catalog look at `xmin`. Its other columns of
/// types `xid` and `cid` are 0.
fn system_column(scope: &Scope, table: Oid, variable: Variable, oid: Oid, catalog_version: u64) -> Expr {
    let is_computed = matches!(scope.relations[variable.relation as usize].kind, bound::RelationKind::Virtual(_));
    let value = match (variable.attribute, oid) {
        (_, oids::OID) if is_computed => Value::Oid(table.0),
        (XMIN, _) if is_computed => Value::Xid(catalog_version & 0xFFFF_FFFF),
        (_, oids::XID | oids::CID) if is_computed => Value::Xid(0),
        _ => return Expr::new(ExprKind::Variable(variable), SqlType::new(oid)),
    };
    Expr::constant(value, SqlType::new(oid))
}

pub(super) fn has_system_columns(relation: &Relation) -> bool {
    match &relation.kind {
        bound::RelationKind::Table(table) => table.kind != TableKind::View,
        bound::RelationKind::Virtual(_) => true,
        _ => false,
    }
}

impl Scope {
    pub(super) fn new(place: Place) -> Scope {
        Scope {
            place,
            relations: Vec::new(),
            from: Vec::new(),
            made_up: Vec::new(),
            names: Vec::new(),
            ctes: Vec::new(),
            later_ctes: Vec::new(),
            has_aggregates: false,
            has_windows: false,
            has_sets: false,
            windows: Vec::new(),
            in_aggregate: false,
            set_refusal: None,
            lateral_active: false,
            changed: None,
        }
    }

    /// Takes all names away, for a view's query that must not see them.
    pub(super) fn hide(&mut self) -> (Vec<NamedItem>, Vec<VisibleCte>) {
        (std::mem::take(&mut self.names), std::mem::take(&mut self.ctes))
    }

    /// Brings back what [`Scope::hide`] took away.
    pub(super) fn unhide(&mut self, hidden: (Vec<NamedItem>, Vec<VisibleCte>)) {
        (self.names, self.ctes) = hidden;
    }

    /// The items that names are looked up in.
    pub(super) fn readable(&self) -> impl Iterator<Item = &NamedItem> {
        self.names.iter().filter(|item| self.lateral_active || !item.lateral_only)
    }

    /// The entry of an item that has system columns: a table of any kind, but no view.
    fn with_system_columns(&self, item: &NamedItem) -> Option<u32> {
        let relation = item.relation.filter(|_| item.table != Oid::INVALID)?;
        has_system_columns(&self.relations[relation as usize]).then_some(relation)
    }

    /// Whether an entry stands within a join: the names of its columns then belong to the join, which has no system columns.
    pub(super) fn is_joined(&self, relation: u32) -> bool {
        self.from.iter().any(|item| matches!(item, FromItem::Join(_)) && made_up(item, relation, true))
    }

    /// The variable for a column of an entry.
    pub(super) fn variable(&self, relation: u32, attribute: usize, location: Location) -> Expr {
        let sql_type = self.relations[relation as usize].columns[attribute].sql_type;
        let variable = Variable { level: 0, relation, attribute: attribute as i32, location };
        Expr::new(ExprKind::Variable(variable), sql_type)
    }

    /// The names of an entry's columns, each a variable.
    pub(super) fn columns_of(&self, relation: u32) -> Vec<NamedColumn> {
        let Relation { columns, access, .. } = &self.relations[relation as usize];
        let live = columns.iter().enumerate().filter(|(_, column)| !column.dropped);
        live.map(|(attribute, column)| NamedColumn {
            name: column.name.clone(),
            expr: self.variable(relation, attribute, -1),
            origin: Some((relation, attribute as i32)),
            read: access.map(|access| (access, attribute as i32)),
            in_star: true,
        })
        .collect()
    }
}

/// `expr` as seen from `levels` queries further in.
pub(super) fn raised(mut expr: Expr, levels: u32, location: Location) -> Expr {
    for_each_inner_mut(&mut expr, 0, &mut |inner, depth| match &mut inner.kind {
        ExprKind::Variable(variable) if variable.level >= depth => {
            variable.level += levels;
            variable.location = location;
        }
        _ => {}
    });
    expr
}

/// The result of looking a column's name up.
pub(super) struct FoundColumn {
    pub(super) expr: Expr,
}

impl Binder<'_, '_> {
    /// The expression that `a`, `t.a` or `s.t.a` stands for.
    pub(super) fn column(&mut self, parts: &[Name], location: Location) -> Result<Expr> {
        self.named_value(parts, location, false)
    }

    /// The row that `t.*` or `s.t.*` stands for where one value is expected. A column called `t` is not meant.
    pub(super) fn row_in_full(&mut self, parts: &[Name], location: Location) -> Result<Expr> {
        self.named_value(parts, location, true)
    }

    /// The meaning of a name: something of the query, or a variable. `is_starred`: `.*` stands behind the name.
    fn named_value(&mut self, parts: &[Name], location: Location, is_starred: bool) -> Result<Expr> {
        if self.variables_come_first()
            && let Some(variable) = self.variable_named(parts, location, is_starred)?
        {
            return Ok(variable);
        }
        match self.named_in_query(parts, location, is_starred)? {
            Some(found) => {
                self.refuse_variable(parts, location, is_starred)?;
                Ok(found)
            }
            None => match self.variable_named(parts, location, is_starred)? {
                Some(variable) => Ok(variable),
                None if is_starred => Err(self.no_such_item(parts, location)),
                None => Err(self.no_such_column(parts, location)),
            },
        }
    }

    /// Whether a name that may mean a variable means it.
    pub(super) fn variables_come_first(&self) -> bool {
        self.context.variables.is_some_and(|variables| variables.conflict() == VariableConflict::UseVariable)
    }

    /// 42702 if a name that has a meaning in the query also means a variable, and nothing says which of both counts.
    pub(super) fn refuse_variable(&mut self, parts: &[Name], location: Location, is_starred: bool) -> Result<()> {
        let Some(variables) = self.context.variables else { return Ok(()) };
        if variables.conflict() != VariableConflict::Error
            || self.variable_named(parts, location, is_starred)?.is_none()
        {
            return Ok(());
        }
        let star = if is_starred { ".*" } else { "" };
        let message = format!("column reference \"{}{star}\" is ambiguous", parts.join_with_dots());
        Err(self
            .error(sqlstate::AMBIGUOUS_COLUMN, message, location)
            .detail("It could refer to either a PL/pgSQL variable or a table column."))
    }

    /// The variable, or the field of one, that a name means outside of the query; `x.*` means a variable of a row type only.
    pub(super) fn variable_named(
        &mut self,
        parts: &[Name],
        location: Location,
        is_starred: bool,
    ) -> Result<Option<Expr>> {
        let Some(variables) = self.context.variables else { return Ok(None) };
        let Some((index, sql_type)) = variables.variable(parts) else {
            return if is_starred { Ok(None) } else { self.field_of_variable(parts, location) };
        };
        if is_starred && !variables.is_row(parts) {
            return Ok(None);
        }
        Ok(Some(Expr::new(ExprKind::Parameter(index), sql_type)))
    }

    /// The column, the row of a table, or the call of a function with such a row, that a name means in the query.
    fn named_in_query(&mut self, parts: &[Name], location: Location, is_starred: bool) -> Result<Option<Expr>> {
        let too_many = |binder: &Self| {
            let dotted = parts.join_with_dots();
            let message = format!("improper qualified name (too many dotted names): {dotted}");
            Err(binder.error(sqlstate::SYNTAX_ERROR, message, location))
        };
        if is_starred {
            return match parts {
                [table] => self.whole_row(None, table, location),
                [schema, table] => self.whole_row(Some(schema), table, location),
                [catalog, schema, table] => {
                    self.refuse_other_database(catalog, parts, location)?;
                    self.whole_row(Some(schema), table, location)
                }
                _ => too_many(self),
            };
        }
        let (schema, table, name) = match parts {
            [name] => {
                let column = self.bare_column(name, location)?;
                return match column {
                    Some(column) => Ok(Some(column.expr)),
                    None => self.whole_row(None, name, location),
                };
            }
            [table, name] => (None, table, name),
            [schema, table, name] => (Some(schema), table, name),
            [catalog, schema, table, name] => {
                self.refuse_other_database(catalog, parts, location)?;
                (Some(schema), table, name)
            }
            _ => return too_many(self),
        };
        if let Some(column) = self.qualified_column(schema, table, name, location)? {
            return Ok(Some(column.expr));
        }
        // `t.f` may be `f(t)`.
        match self.whole_row(schema, table, location)? {
            Some(row) => Ok(self.function_as_column(row, name, location)?.ok()),
            None => Ok(None),
        }
    }

    fn refuse_other_database(&self, catalog: &Name, parts: &[Name], location: Location) -> Result<()> {
        if catalog.as_str() == self.context.database {
            return Ok(());
        }
        let message = format!("cross-database references are not implemented: {}", parts.join_with_dots());
        Err(self.unsupported(message, location))
    }

    /// A column without a table's name, in the innermost query that has one.
    fn bare_column(&mut self, name: &Name, location: Location) -> Result<Option<FoundColumn>> {
        for level in 0..self.scopes.len() {
            let scope = &self.scopes[self.scopes.len() - 1 - level];
            let mut found: Option<&NamedColumn> = None;
            for item in scope.readable().filter(|item| item.columns_visible) {
                for column in item.columns.iter().filter(|column| column.name == *name) {
                    if found.is_some() {
                        let message = format!("column reference \"{name}\" is ambiguous");
                        return Err(self.error(sqlstate::AMBIGUOUS_COLUMN, message, location));
                    }
                    self.check_lateral(item, location)?;
                    found = Some(column);
                }
            }
            if let Some(column) = found {
                let column = column.clone();
                self.reads(&column);
                return Ok(Some(FoundColumn { expr: raised(column.expr, level as u32, location) }));
            }
            // A system column is found if a single table has it.
            if let Some((_, attribute, oid)) = SYSTEM_COLUMNS.iter().find(|(system, ..)| *system == name.as_str()) {
                let visible = scope.readable().filter(|item| item.columns_visible);
                let tables = visible.filter_map(|item| Some((scope.with_system_columns(item)?, item.table)));
                let mut tables = tables.filter(|(relation, _)| !scope.is_joined(*relation));
                let (first, is_ambiguous) = (tables.next(), tables.next().is_some());
                drop(tables);
                if is_ambiguous {
                    let message = format!("column reference \"{name}\" is ambiguous");
                    return Err(self.error(sqlstate::AMBIGUOUS_COLUMN, message, location));
                }
                if let Some((relation, table)) = first {
                    self.refuse_system_column(name, *attribute, location)?;
                    let variable = Variable { level: level as u32, relation, attribute: *attribute, location };
                    let expr = system_column(scope, table, variable, *oid, self.context.catalog.version());
                    let access = scope.relations[relation as usize].access;
                    self.reads_system_column(access, *attribute);
                    return Ok(Some(FoundColumn { expr }));
                }
            }
        }
        Ok(None)
    }

    /// The meaning of `p.f` where `p` is a parameter of a row type: its field `f`, or else `f(p)`.
    fn field_of_variable(&mut self, parts: &[Name], location: Location) -> Result<Option<Expr>> {
        let Some((field, record)) = parts.split_last().filter(|(_, record)| !record.is_empty()) else {
            return Ok(None);
        };
        let Some((index, sql_type)) = self.context.variables.and_then(|variables| variables.row(record)) else {
            return Ok(None);
        };
        let row = Expr::new(ExprKind::Parameter(index), sql_type);
        let Some(shape) = self.row_shape(&row) else { return Ok(None) };
        if shape.fields.iter().any(|(name, _)| name == field.as_str()) {
            return self.field(row, field, location).map(Some);
        }
        Ok(self.function_as_column(row, field, location)?.ok())
    }

    /// 42P10 for a system column other than `tableoid` in a condition of MERGE.
    fn refuse_system_column(&self, name: &Name, attribute: i32, location: Location) -> Result<()> {
        let is_condition = self.scopes.last().is_some_and(|scope| scope.place == Place::MergeWhen);
        if !is_condition || attribute == TABLE_OID {
            return Ok(());
        }
        let message = format!("cannot use system column \"{name}\" in MERGE WHEN condition");
        Err(self.error(sqlstate::INVALID_COLUMN_REFERENCE, message, location))
    }

    fn check_lateral(&self, item: &NamedItem, location: Location) -> Result<()> {
        if !item.lateral_only || item.lateral_ok {
            return Ok(());
        }
        let message = format!("invalid reference to FROM-clause entry for table \"{}\"", item.alias);
        let error = self.error(sqlstate::INVALID_COLUMN_REFERENCE, message, location);
        let is_changed = self.scopes.iter().any(|scope| scope.changed.is_some() && scope.changed == item.relation);
        Err(if is_changed {
            error.hint(format!(
                "There is an entry for table \"{}\", but it cannot be referenced from this part of the query.",
                item.alias
            ))
        } else {
            error.detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
        })
    }

    /// The item that a table's name stands for, with the number of queries to go out.
    pub(super) fn item(
        &mut self,
        schema: Option<&Name>,
        table: &Name,
        location: Location,
    ) -> Result<Option<(u32, NamedItem)>> {
        let schema_oid = match schema {
            Some(schema) => match self.schema_named(schema) {
                Some(oid) => Some(oid),
                None => return Ok(None),
            },
            None => None,
        };
        for level in 0..self.scopes.len() {
            let scope = &self.scopes[self.scopes.len() - 1 - level];
            let mut found: Option<&NamedItem> = None;
            for item in scope.readable().filter(|item| item.alias_visible && item.alias == *table) {
                if schema_oid.is_some() && item.schema != schema_oid {
                    continue;
                }
                if found.is_some() {
                    let message = format!("table reference \"{table}\" is ambiguous");
                    return Err(self.error(sqlstate::AMBIGUOUS_ALIAS, message, location));
                }
                self.check_lateral(item, location)?;
                found = Some(item);
            }
            if let Some(item) = found {
                return Ok(Some((level as u32, item.clone())));
            }
        }
        Ok(None)
    }

    fn qualified_column(
        &mut self,
        schema: Option<&Name>,
        table: &Name,
        name: &Name,
        location: Location,
    ) -> Result<Option<FoundColumn>> {
        let Some((level, item)) = self.item(schema, table, location)? else { return Ok(None) };
        let mut columns = item.columns.iter().filter(|column| column.name == *name);
        if let Some(column) = columns.next() {
            if columns.next().is_some() {
                let message = format!("column reference \"{name}\" is ambiguous");
                return Err(self.error(sqlstate::AMBIGUOUS_COLUMN, message, location));
            }
            self.reads(column);
            return Ok(Some(FoundColumn { expr: raised(column.expr.clone(), level, location) }));
        }
        let scope = &self.scopes[self.scopes.len() - 1 - level as usize];
        if let Some(relation) = scope.with_system_columns(&item)
            && let Some((_, attribute, oid)) = SYSTEM_COLUMNS.iter().find(|(system, ..)| *system == name.as_str())
        {
            self.refuse_system_column(name, *attribute, location)?;
            let variable = Variable { level, relation, attribute: *attribute, location };
            let expr = system_column(scope, item.table, variable, *oid, self.context.catalog.version());
            let access = scope.relations[relation as usize].access;
            self.reads_system_column(access, *attribute);
            return Ok(Some(FoundColumn { expr }));
        }
        Ok(None)
    }

    /// The whole row of a table, if the name is one.
    pub(super) fn whole_row(
        &mut self,
        schema: Option<&Name>,
        table: &Name,
        location: Location,
    ) -> Result<Option<Expr>> {
        let Some((level, item)) = self.item(schema, table, location)? else { return Ok(None) };
        Ok(Some(self.row_of(&item, level, location)))
    }

    /// Notes that the statement reads a column.
    pub(super) fn reads(&mut self, column: &NamedColumn) {
        if let Some((access, attribute)) = column.read {
            self.uses_column(access, Privileges::SELECT, attribute);
        }
    }

    fn reads_system_column(&mut self, access: Option<usize>, attribute: i32) {
        if let Some(access) = access {
            self.uses_column(access, Privileges::SELECT, attribute);
        }
    }

    /// The columns that `*` or `t.*` stands for.
    pub(super) fn star(&mut self, parts: &[Name], location: Location) -> Result<Vec<NamedColumn>> {
        let (level, columns) = match parts {
            [] => {
                let scope = self.scope();
                if scope.names.iter().all(|item| !item.columns_visible) {
                    return Err(self.error(
                        sqlstate::SYNTAX_ERROR,
                        "SELECT * with no tables specified is not valid",
                        location,
                    ));
                }
                let visible = scope.names.iter().filter(|item| item.columns_visible && !item.lateral_only);
                (0, visible.flat_map(|item| item.columns.clone()).collect::<Vec<_>>())
            }
            [table] => self.item_columns(None, table, parts, location)?,
            [schema, table] => self.item_columns(Some(schema), table, parts, location)?,
            [_, schema, table] => self.item_columns(Some(schema), table, parts, location)?,
            _ => {
                let dotted = parts.join_with_dots();
                let message = format!("improper qualified name (too many dotted names): {dotted}.*");
                return Err(self.error(sqlstate::SYNTAX_ERROR, message, location));
            }
        };
        columns.iter().for_each(|column| self.reads(column));
        let raise = |column: NamedColumn| NamedColumn { expr: raised(column.expr, level, location), ..column };
        Ok(columns.into_iter().filter(|column| column.in_star).map(raise).collect())
    }

    fn item_columns(
        &mut self,
        schema: Option<&Name>,
        table: &Name,
        parts: &[Name],
        location: Location,
    ) -> Result<(u32, Vec<NamedColumn>)> {
        if self.variables_come_first()
            && let Some(columns) = self.fields_of_variable(parts, location)?
        {
            return Ok((0, columns));
        }
        match self.item(schema, table, location)? {
            Some((level, item)) => {
                self.refuse_variable(parts, location, true)?;
                let columns = if level == 0 {
                    item.columns
                } else {
                    item.columns.into_iter().map(|column| NamedColumn { origin: None, ..column }).collect()
                };
                Ok((level, columns))
            }
            None => match self.fields_of_variable(parts, location)? {
                Some(columns) => Ok((0, columns)),
                None => Err(self.no_such_item(parts, location)),
            },
        }
    }

    /// The fields of a variable of a row type, as `x.*` gives them.
    fn fields_of_variable(&mut self, parts: &[Name], location: Location) -> Result<Option<Vec<NamedColumn>>> {
        let Some(variables) = self.context.variables else { return Ok(None) };
        let column = |(name, expr)| NamedColumn { name, expr, origin: None, read: None, in_star: true };
        if let Some(names) = variables.field_names(parts) {
            let field = |name: Name| {
                let dotted: Vec<Name> = parts.iter().cloned().chain([name.clone()]).collect();
                let (index, sql_type) = variables.variable(&dotted)?;
                Some(column((name, Expr::new(ExprKind::Parameter(index), sql_type))))
            };
            return Ok(names.into_iter().map(field).collect());
        }
        let Some((index, sql_type)) = variables.variable(parts) else { return Ok(None) };
        let row = Expr::new(ExprKind::Parameter(index), sql_type);
        if self.row_shape(&row).is_none() {
            if variables.row(parts).is_none() {
                return Ok(None);
            }
            let message = format!("type {} is not composite", self.type_name(sql_type.oid));
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        Ok(Some(self.fields_of(row, location)?.into_iter().map(column).collect()))
    }
}

/// `a.b.c`
pub(super) trait JoinWithDots {
    fn join_with_dots(&self) -> String;
}

impl JoinWithDots for [Name] {
    fn join_with_dots(&self) -> String {
        self.iter().map(Name::as_str).collect::<Vec<_>>().join(".")
    }
}
