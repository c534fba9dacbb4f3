//! Dependencies between objects, and dropping objects with all their dependents.
//!
//! Dependencies are not stored: they are found in the descriptors. Some dependents are dropped without a message
//! ([`Link::Automatic`]: an index of its table). The others need CASCADE.

mod describe;
mod expressions;
mod removal;
mod renaming;
mod views;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, sqlstate};
use schema::catalog::{Catalog, ConstraintKind, FunctionDef, IndexDef, Object, RelationKind, TableDef};

use super::ddl::Ddl;
use crate::state::DROP_LOCK;
pub(super) use describe::{describe, relation, signature};
use executor::client::Severity;
pub(super) use expressions::uses_of_expressions;
pub use expressions::{ExpressionUse, WantedUses};
use plan::{Expr, ExprKind, FunctionTarget, user_types};
use removal::execute;
pub(super) use renaming::{Renaming, hold_named, hold_named_in};
use syntax::parser::if_readable;
use types::{Value, oids};
pub use views::ViewUse;
pub(super) use views::{use_of_query, uses_of_views};

use super::stored_expression::for_each_naming;

/// A thing that may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// An object of the catalog.
    Object(Oid),
    /// A column of a table, by place.
    Column(Oid, usize),
    /// A constraint of a table.
    Constraint(Oid, Oid),
    /// A trigger of a table.
    Trigger(Oid, Oid),
    /// The default of a column.
    Default(Oid, usize),
    /// The type of a table's rows, which goes with the table.
    RowType(Oid),
}

impl Node {
    /// The table that this is a part of.
    fn table(self) -> Option<Oid> {
        match self {
            Node::Object(_) | Node::RowType(_) => None,
            Node::Column(table, _) | Node::Constraint(table, _) | Node::Trigger(table, _) | Node::Default(table, _) => {
                Some(table)
            }
        }
    }
}

/// How a dependent goes with what it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// Without a word.
    Automatic,
    /// Only with CASCADE.
    Cascade,
}

/// Finds the dependents of objects.
struct Dependencies<'d, 'a> {
    ddl: &'d Ddl<'a>,
    catalog: Arc<Catalog>,
    /// Uses of each view looked at so far; `None` for a view whose text can't be read any more.
    views: RefCell<HashMap<Oid, Option<Arc<ViewUse>>>>,
}

/// Whether a stored text may name what is called `name`: only such texts need be bound to find out.
pub(in crate::commands) fn mentioning(name: &str) -> impl Fn(&str) -> bool + use<> {
    // Quotation marks within a name are doubled in a text, and so are apostrophes and backslashes within constants.
    let name = (!name.contains(['"', '\'', '\\'])).then(|| name.to_owned());
    move |text| name.as_ref().is_none_or(|name| has_word(text, name))
}

/// Whether a text has `name` in it, and not as a part of a longer name.
fn has_word(text: &str, name: &str) -> bool {
    let is_of_word = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii() || matches!(byte, b'_' | b'$'))
    };
    let goes_on = |left: Option<&u8>, right: Option<&u8>| is_of_word(left) && is_of_word(right);
    let (text_bytes, name_bytes) = (text.as_bytes(), name.as_bytes());
    text.match_indices(name).any(|(start, _)| {
        let before = start.checked_sub(1).and_then(|place| text_bytes.get(place));
        let after = text_bytes.get(start + name.len());
        !goes_on(before, name_bytes.first()) && !goes_on(name_bytes.last(), after)
    })
}

/// Whether a text may cast to a type of this name.
fn casting_to(name: &str) -> impl Fn(&str) -> bool + use<> {
    let (mentioned, name) = (mentioning(name), name.to_owned());
    move |text| mentioned(text) && text.split("::").skip(1).any(|rest| first_name(rest).contains(name.as_str()))
}

/// The name that a text begins with, its schema and quotation marks included.
fn first_name(text: &str) -> &str {
    let mut is_quoted = false;
    let ends = |c: char| {
        is_quoted ^= c == '"';
        !is_quoted && !c.is_alphanumeric() && !matches!(c, '_' | '$' | '.' | '"')
    };
    text.split(ends).next().unwrap_or_default()
}

/// The name by which texts mention an object; that of its elements' type for an array type.
fn name_of(catalog: &Catalog, oid: Oid) -> String {
    let oid = user_types::element_of_array(oid).unwrap_or(oid);
    catalog.object(oid).map_or_else(String::new, |object| object.name().to_owned())
}

impl Dependencies<'_, '_> {
    fn name_of(&self, oid: Oid) -> String {
        name_of(&self.catalog, oid)
    }

    /// The uses of those views whose texts `mention` something.
    fn users(&self, mention: &dyn Fn(&str) -> bool) -> Result<Vec<Arc<ViewUse>>> {
        let mut users = Vec::new();
        for view in views::views(&self.catalog).filter(|view| view.view_query.as_deref().is_some_and(mention)) {
            let known = self.views.borrow().get(&view.oid).cloned();
            let user = match known {
                Some(user) => user,
                None => {
                    let user = views::use_of_view(self.ddl, view)?.map(Arc::new);
                    self.views.borrow_mut().insert(view.oid, user.clone());
                    user
                }
            };
            users.extend(user);
        }
        Ok(users)
    }

    /// Returns the direct dependents of `node`, the newest first.
    fn of(&mut self, node: Node) -> Result<Vec<(Node, Link)>> {
        sync::yield_point()?;
        let mut found = match node {
            Node::Object(oid) if user_types::element_of_array(oid).is_some() => self.of_type(oid)?,
            Node::Object(oid) => match self.catalog.object(oid).cloned() {
                Some(Object::Schema(_)) => self.of_schema(oid),
                Some(Object::Table(_)) => self.of_table(oid)?,
                Some(Object::Index(_)) => self.of_index(oid),
                Some(Object::Sequence(_)) => self.of_sequence(oid)?,
                Some(Object::Function(_)) => self.of_function(oid)?,
                Some(Object::Custom(_)) => self.of_type(oid)?,
                _ => Vec::new(),
            },
            Node::Column(table, place) => self.of_column(table, place)?,
            Node::Constraint(table, constraint) => self.of_constraint(table, constraint)?,
            Node::RowType(table) => self.of_type(table)?,
            Node::Default(..) | Node::Trigger(..) => Vec::new(),
        };
        let is_generated = |table: Oid, place: usize| {
            let column = self.catalog.table(table).and_then(|table| table.columns.get(place));
            column.is_some_and(|column| column.generated.is_some())
        };
        let newest = |node: &Node| match node {
            // An array type is as old as its elements' type.
            Node::Object(oid) => (user_types::element_of_array(*oid).unwrap_or(*oid).0, 0),
            Node::Constraint(_, oid) | Node::Trigger(_, oid) | Node::RowType(oid) => (oid.0, 0),
            // A generated column goes by its expression, which is one of the table's defaults.
            Node::Column(table, place) if is_generated(*table, *place) => (table.0, *place),
            Node::Column(table, _) => (table.0, 0),
            Node::Default(table, place) => (table.0, *place),
        };
        found.sort_by_key(|(node, _)| std::cmp::Reverse(newest(node)));
        Ok(found)
    }

    fn of_schema(&self, schema: Oid) -> Vec<(Node, Link)> {
        let belongs_to_another = |object: &Object| match object {
            Object::Index(_) => true,
            Object::Sequence(sequence) => sequence
                .owned_by
                .and_then(|(table, _)| self.catalog.table(table))
                .is_some_and(|table| table.schema == schema),
            _ => false,
        };
        self.catalog
            .objects()
            .filter(|object| object.schema() == schema && !belongs_to_another(object))
            .map(|object| (Node::Object(object.oid()), Link::Cascade))
            .collect()
    }

    fn of_table(&mut self, table: Oid) -> Result<Vec<(Node, Link)>> {
        let catalog = Arc::clone(&self.catalog);
        let mut found: Vec<(Node, Link)> = Vec::new();
        found.extend(catalog.indexes_of(table).iter().map(|index| (Node::Object(index.oid), Link::Automatic)));
        let owned = catalog.sequences().filter(|sequence| sequence.owned_by.is_some_and(|(owner, _)| owner == table));
        found.extend(owned.map(|sequence| (Node::Object(sequence.oid), Link::Automatic)));
        for other in catalog.tables_referencing(table).filter(|other| other.oid != table) {
            for constraint in &other.constraints {
                if matches!(&constraint.kind, ConstraintKind::ForeignKey { referenced_table, .. } if *referenced_table == table)
                {
                    found.push((Node::Constraint(other.oid, constraint.oid), Link::Cascade));
                }
            }
        }
        for other in catalog.tables().filter(|other| other.oid != table) {
            let from_here = other.triggers.iter().filter(|def| def.from_table == table);
            found.extend(from_here.map(|def| (Node::Trigger(other.oid, def.oid), Link::Automatic)));
        }
        let users = self.users(&mentioning(&self.name_of(table)))?;
        let users = users.iter().filter(|user| user.named.relations.contains(&table));
        found.extend(users.map(|user| (Node::Object(user.view), Link::Cascade)));
        found.push((Node::RowType(table), Link::Automatic));
        Ok(found)
    }

    /// Columns and functions of a type (or of a table's row type), and its array type.
    fn of_type(&mut self, type_oid: Oid) -> Result<Vec<(Node, Link)>> {
        let name = self.name_of(type_oid);
        let mut found = self.naming(&mentioning(&name), |named| named.types.contains(&type_oid))?;
        if user_types::element_of_array(type_oid).is_none() {
            found.push((Node::Object(user_types::array_of(type_oid)), Link::Automatic));
        }
        for table in self.catalog.tables().filter(|table| table.oid != type_oid) {
            if table.kind != RelationKind::Table {
                // Its query is what gives the column its type.
                if table.columns.iter().any(|column| !column.dropped && column.type_oid == type_oid) {
                    found.push((Node::Object(table.oid), Link::Cascade));
                }
                continue;
            }
            for (place, column) in table.columns.iter().enumerate() {
                if !column.dropped && column.type_oid == type_oid {
                    found.push((Node::Column(table.oid, place), Link::Cascade));
                }
            }
        }
        for made in super::user_type::made_of(&self.catalog, |oid| oid == type_oid) {
            let fields = self.catalog.object(made).and_then(composite_fields_of).unwrap_or_default();
            if fields.is_empty() {
                found.push((Node::Object(made), Link::Cascade));
                continue;
            }
            let places = fields.iter().enumerate().filter(|(_, (_, field))| field.oid == type_oid);
            found.extend(places.map(|(place, _)| (Node::Column(made, place), Link::Cascade)));
        }
        for function in self.catalog.functions() {
            if function.returns == type_oid || function.arguments.iter().any(|argument| argument.type_oid == type_oid) {
                found.push((Node::Object(function.oid), Link::Cascade));
            }
        }
        Ok(found)
    }

    fn of_index(&self, index: Oid) -> Vec<(Node, Link)> {
        let mut found = Vec::new();
        for table in self.catalog.tables() {
            for constraint in &table.constraints {
                if matches!(&constraint.kind, ConstraintKind::ForeignKey { referenced_index, .. } if *referenced_index == index)
                {
                    found.push((Node::Constraint(table.oid, constraint.oid), Link::Cascade));
                }
            }
        }
        found
    }

    fn of_sequence(&mut self, sequence: Oid) -> Result<Vec<(Node, Link)>> {
        let name = self.name_of(sequence);
        self.naming(&mentioning(&name), |named| named.relations.contains(&sequence))
    }

    /// The expressions and views that name something, among those whose texts mention it.
    fn naming(&self, mentions: &dyn Fn(&str) -> bool, names_it: impl Fn(&Named) -> bool) -> Result<Vec<(Node, Link)>> {
        let mut found: Vec<(Node, Link)> = Vec::new();
        for_each_naming(self.ddl, mentions, &mut |place, expr| {
            if names_it(&Named::in_whole(&expr)) {
                found.push((place.owner(), Link::Cascade));
            }
        })?;
        let users = self.users(mentions)?;
        let users = users.iter().filter(|user| names_it(&user.named));
        found.extend(users.map(|user| (Node::Object(user.view), Link::Cascade)));
        Ok(found)
    }

    fn of_function(&mut self, function: Oid) -> Result<Vec<(Node, Link)>> {
        let name = self.name_of(function);
        let mut found = self.naming(&mentioning(&name), |named| named.functions.contains(&function))?;
        for table in self.catalog.tables() {
            let called = table.triggers.iter().filter(|def| def.function == function);
            found.extend(called.map(|def| (Node::Trigger(table.oid, def.oid), Link::Cascade)));
        }
        Ok(found)
    }

    /// Expressions and views that read a field of rows of a type, or of a domain over it.
    fn of_field(&mut self, row_type: Oid, place: usize) -> Result<Vec<(Node, Link)>> {
        let view = self.ddl.view();
        let shape = types::composite_shape(&view, row_type);
        let field = shape.as_ref().and_then(|shape| shape.fields.get(place)).map(|(name, _)| name.as_str());
        let named = mentioning(field.unwrap_or_default());
        // The columns of functions in FROM may be called otherwise.
        let gives_rows = |function: &&Arc<FunctionDef>| {
            types::base_type(&view, types::SqlType::new(function.returns)).oid == row_type
        };
        let functions: Vec<_> =
            self.catalog.functions().filter(gives_rows).map(|function| mentioning(&function.name)).collect();
        // A star names them all.
        let mentions =
            |text: &str| named(text) || text.contains(".*") || functions.iter().any(|function| function(text));
        self.naming(&mentions, |named| {
            let mut fields = named.fields.iter().filter(|(_, field)| *field == place);
            fields.any(|(of, _)| types::base_type(&view, types::SqlType::new(*of)).oid == row_type)
        })
    }

    fn of_column(&mut self, table: Oid, place: usize) -> Result<Vec<(Node, Link)>> {
        let catalog = Arc::clone(&self.catalog);
        let Some(def) = catalog.table(table) else { return self.of_field(table, place) };
        let place_in_rows = def.columns[..place].iter().filter(|column| !column.dropped).count();
        let mut found = self.of_field(table, place_in_rows)?;
        for trigger in &def.triggers {
            let read = super::trigger::columns_read(self.ddl.state, def, trigger)?;
            if trigger.update_columns.contains(&place) || read.contains(&place) {
                found.push((Node::Trigger(table, trigger.oid), Link::Cascade));
            }
        }
        for constraint in &def.constraints {
            let concerns = match &constraint.kind {
                ConstraintKind::PrimaryKey { index } | ConstraintKind::Unique { index } => {
                    catalog.index(*index).is_some_and(|index| {
                        index.keys.iter().any(|key| key.column == Some(place)) || index.included.contains(&place)
                    })
                }
                ConstraintKind::Check { expression, .. } => stored_columns(self.ddl, def, expression)?.contains(&place),
                ConstraintKind::ForeignKey { columns, .. } => columns.contains(&place),
            };
            if concerns {
                found.push((Node::Constraint(table, constraint.oid), Link::Automatic));
            }
        }
        for index in catalog.indexes_of(table) {
            let concerns = index.keys.iter().any(|key| key.column == Some(place))
                || index.included.contains(&place)
                || index.expression_columns.contains(&place) && names_column(self.ddl, def, index, place)?;
            if concerns && index.constraint_name.is_none() {
                found.push((Node::Object(index.oid), Link::Automatic));
            }
        }
        let owned = catalog.sequences().filter(|sequence| sequence.owned_by == Some((table, place)));
        found.extend(owned.map(|sequence| (Node::Object(sequence.oid), Link::Automatic)));
        for other in catalog.tables_referencing(table) {
            for constraint in &other.constraints {
                if let ConstraintKind::ForeignKey { referenced_table, referenced_columns, columns, .. } =
                    &constraint.kind
                    && *referenced_table == table
                    && referenced_columns.contains(&place)
                    && !(other.oid == table && columns.contains(&place))
                {
                    found.push((Node::Constraint(other.oid, constraint.oid), Link::Cascade));
                }
            }
        }
        for (other, column) in def.columns.iter().enumerate().filter(|(other, _)| *other != place) {
            if let Some(text) = column.generated.as_ref().filter(|_| !column.dropped)
                && stored_columns(self.ddl, def, text)?.contains(&place)
            {
                found.push((Node::Column(table, other), Link::Cascade));
            }
        }
        let users = self.users(&mentioning(&def.name))?;
        let users = users.iter().filter(|user| user.columns.contains(&(table, place)));
        found.extend(users.map(|user| (Node::Object(user.view), Link::Cascade)));
        Ok(found)
    }

    fn of_constraint(&self, table: Oid, constraint: Oid) -> Result<Vec<(Node, Link)>> {
        let found = self.catalog.table(table).and_then(|table| {
            let def = table.constraints.iter().find(|other| other.oid == constraint)?;
            Some((&table.name, &def.kind))
        });
        let Some((name, ConstraintKind::PrimaryKey { index } | ConstraintKind::Unique { index })) = found else {
            return Ok(Vec::new());
        };
        let users = self.users(&mentioning(name))?;
        let users = users.iter().filter(|user| user.named.keys.contains(&constraint));
        let mut found: Vec<_> = users.map(|user| (Node::Object(user.view), Link::Cascade)).collect();
        found.push((Node::Object(*index), Link::Automatic));
        Ok(found)
    }
}

/// The columns that a stored expression reads; none if it can't be read any more.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub(super) fn stored_columns(ddl: &Ddl<'_>, table: &Arc<TableDef>, text: &str) -> Result<Vec<usize>> {
    let expr = if_readable(ddl.stored_expression(table, text, planner::binder::DefinitionUse::IndexKey))?;
    Ok(expr.map(|expr| planner::binder::named_columns(&expr, table)).unwrap_or_default())
}

/// Whether an expression of an index names a column of its table. The row as a whole names none.
fn names_column(ddl: &Ddl<'_>, table: &Arc<TableDef>, index: &IndexDef, place: usize) -> Result<bool> {
    for text in index.keys.iter().filter_map(|key| key.expression.as_deref()).chain(index.predicate.as_deref()) {
        if stored_columns(ddl, table, text)?.contains(&place) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The operands of an expression as it is written: what a function has as its arguments' defaults is the function's own.
fn for_each_written(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    let (arguments, written) = match &expr.kind {
        ExprKind::Call(call) => (&call.arguments, &call.types.written),
        ExprKind::Set(call) => (&call.arguments, &call.types.written),
        _ => return expr.for_each_child(visit),
    };
    match written {
        Some(written) => written.iter().filter_map(|argument| arguments.get(argument.place)).for_each(visit),
        None => arguments.iter().for_each(visit),
    }
}

/// Objects that expressions name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Functions that users made.
    pub functions: Vec<Oid>,
    /// Relations.
    pub relations: Vec<Oid>,
    /// Types that users made.
    pub types: Vec<Oid>,
    /// Fields of rows of such types, by place; or of tables' row types.
    pub fields: Vec<(Oid, usize)>,
    /// The keys by which GROUP BY determines columns.
    pub keys: Vec<Oid>,
    /// Schemas that are named by themselves.
    pub schemas: Vec<Oid>,
}

impl Named {
    /// Each function, relation and type.
    fn all(&self) -> impl Iterator<Item = Oid> {
        self.functions.iter().chain(&self.relations).chain(&self.types).copied()
    }

    /// The objects that a whole expression names.
    pub(in crate::commands) fn in_whole(expr: &Expr) -> Named {
        let mut named = Named::default();
        named.in_expression(expr);
        named
    }

    fn in_expression(&mut self, expr: &Expr) {
        self.by_itself(expr);
        for_each_written(expr, &mut |child| self.in_expression(child));
    }

    /// Adds the objects that an expression itself names, without those that its operands name.
    fn by_itself(&mut self, expr: &Expr) {
        let function = match &expr.kind {
            ExprKind::Call(call) => &call.function,
            ExprKind::Set(call) => &call.function,
            ExprKind::Constant(value) => return self.a_constant(value, expr.sql_type.oid),
            ExprKind::Cast(_) => return self.a_type(expr.sql_type.oid),
            // An empty array is written with a cast, because no element tells its type.
            ExprKind::Array { elements, .. } if elements.is_empty() => return self.a_type(expr.sql_type.oid),
            ExprKind::Row { shape, .. } => return self.a_type(shape.type_oid),
            ExprKind::Field(access) => {
                return self.fields.push((access.input.sql_type.oid, access.field as usize));
            }
            _ => return,
        };
        if let FunctionTarget::Stored(function) = function {
            self.functions.push(function.oid);
        }
    }

    /// Adds what a constant names: its type, and the objects that it or a value in it stands for.
    pub(super) fn a_constant(&mut self, value: &Value, type_oid: Oid) {
        self.a_type(type_oid);
        self.a_value(value, type_oid);
    }

    /// The objects that a value, or one in it, stands for.
    fn a_value(&mut self, value: &Value, type_oid: Oid) {
        match (value, type_oid) {
            (Value::Array(array), _) => array.values.iter().for_each(|value| self.a_value(value, array.element)),
            (Value::Record(record), _) => {
                let types = record.shape.fields.iter().map(|(_, sql_type)| sql_type.oid);
                record.fields.iter().zip(types).for_each(|(field, type_oid)| self.a_value(field, type_oid));
            }
            (Value::Oid(oid), oids::REGNAMESPACE) => self.schemas.push(Oid(*oid)),
            (Value::Oid(oid), oids::REGCLASS) => self.relations.push(Oid(*oid)),
            (Value::Oid(oid), oids::REGPROC | oids::REGPROCEDURE) => self.functions.push(Oid(*oid)),
            (Value::Oid(oid), oids::REGTYPE) => self.a_type(Oid(*oid)),
            _ => {}
        }
    }

    /// Each object once.
    fn sort(&mut self) {
        for list in [&mut self.functions, &mut self.relations, &mut self.types] {
            list.sort_unstable();
            list.dedup();
        }
        self.fields.sort_unstable();
        self.fields.dedup();
    }

    fn a_type(&mut self, oid: Oid) {
        if oid >= Oid::FIRST_NORMAL {
            self.types.push(oid);
        }
    }
}

/// An object or a part of one that is going to be dropped.
struct Doomed {
    node: Node,
    /// The node that it depends on; none for a node that the statement names.
    because_of: Option<Node>,
    is_silent: bool,
}

/// Drops `targets` and, with `cascade`, all their dependents. The caller has already refused a target that another object requires, such
/// as the index of a constraint.
///
/// # Errors
/// 2BP01 if something depends on them and `cascade` is not given.
pub(super) fn drop_all(ddl: &mut Ddl<'_>, targets: &[Node], cascade: bool) -> Result<()> {
    let doomed = collect_locked(ddl, targets)?;
    report(ddl, targets, &doomed, cascade)?;
    execute(ddl, &doomed)
}

/// The views, materialized ones among them, that read a column of a table, or a field of a composite type, in whichever way.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub(super) fn views_reading(ddl: &Ddl<'_>, owner: Oid, place: usize) -> Result<Vec<Oid>> {
    let catalog = ddl.catalog();
    let mut dependencies = Dependencies { ddl, catalog: Arc::clone(&catalog), views: RefCell::default() };
    let dependents = dependencies.of(Node::Column(owner, place))?;
    let view = |(node, _): (Node, Link)| match node {
        Node::Object(oid) => catalog.table(oid).filter(|table| table.kind != RelationKind::Table).map(|_| oid),
        _ => None,
    };
    Ok(dependents.into_iter().filter_map(view).collect())
}

/// Drops what depends on `target`, which the caller takes away by itself.
///
/// # Errors
/// As [`drop_all`].
pub(super) fn drop_dependents(ddl: &mut Ddl<'_>, target: Node, cascade: bool) -> Result<()> {
    let mut doomed = collect_locked(ddl, &[target])?;
    report(ddl, &[target], &doomed, cascade)?;
    doomed.retain(|doomed| doomed.node != target);
    execute(ddl, &doomed)
}

/// Everything that goes, locked against other transactions. After a wait for a lock it is collected again, as another
/// transaction may have dropped some of it or made more; so it is if the catalog has changed since the collecting began.
fn collect_locked(ddl: &Ddl<'_>, targets: &[Node]) -> Result<Vec<Doomed>> {
    let mut locked: Option<Vec<Doomed>> = None;
    loop {
        let version = ddl.catalog().version();
        let doomed = collect(ddl, targets)?;
        let is_locked = locked.is_some_and(|locked| {
            locked.len() == doomed.len() && locked.iter().zip(&doomed).all(|(then, now)| then.node == now.node)
        });
        if is_locked {
            return Ok(doomed);
        }
        lock_all(ddl, &doomed)?;
        if ddl.catalog().version() == version {
            return Ok(doomed);
        }
        locked = Some(doomed);
    }
}

/// Locks what goes, and the tables and types of which a part goes.
fn lock_all(ddl: &Ddl<'_>, doomed: &[Doomed]) -> Result<()> {
    for Doomed { node, .. } in doomed {
        let oid = match *node {
            Node::Object(oid) => oid,
            Node::RowType(_) => continue,
            Node::Column(owner, _) | Node::Constraint(owner, _) | Node::Trigger(owner, _) | Node::Default(owner, _) => {
                owner
            }
        };
        match ddl.catalog().object(oid) {
            Some(Object::Table(_) | Object::Sequence(_)) => ddl.lock(oid, LockMode::AccessExclusive)?,
            Some(Object::Index(index)) => {
                ddl.lock(index.table, LockMode::AccessExclusive)?;
                ddl.lock(oid, LockMode::AccessExclusive)?;
            }
            Some(_) => ddl.hold(oid, DROP_LOCK)?,
            None => {}
        }
    }
    Ok(())
}

/// Everything that goes, dependents before what they depend on.
fn collect(ddl: &Ddl<'_>, targets: &[Node]) -> Result<Vec<Doomed>> {
    fn visit(
        dependencies: &mut Dependencies<'_, '_>,
        targets: &[Node],
        node: Node,
        because_of: Option<Node>,
        is_silent: bool,
        path: &mut Vec<Node>,
        doomed: &mut Vec<Doomed>,
    ) -> Result<()> {
        if path.contains(&node) {
            return Ok(());
        }
        if let Some(known) = doomed.iter_mut().find(|known| known.node == node) {
            known.is_silent |= is_silent;
            return Ok(());
        }
        if because_of.is_some() && targets.contains(&node) {
            return Ok(());
        }
        // A part of a table that goes as a whole needs no mention.
        let whole = node.table().map(Node::Object);
        let column = match node {
            Node::Default(table, place) => Some(Node::Column(table, place)),
            _ => None,
        };
        if whole.into_iter().chain(column).any(|around| path.contains(&around) || targets.contains(&around)) {
            return Ok(());
        }
        path.push(node);
        for (dependent, link) in dependencies.of(node)? {
            visit(dependencies, targets, dependent, Some(node), link == Link::Automatic, path, doomed)?;
        }
        path.pop();
        doomed.push(Doomed { node, because_of, is_silent });
        Ok(())
    }
    let mut dependencies = Dependencies { ddl, catalog: ddl.catalog(), views: RefCell::default() };
    let mut doomed = Vec::new();
    for target in targets {
        visit(&mut dependencies, targets, *target, None, true, &mut Vec::new(), &mut doomed)?;
    }
    Ok(doomed)
}

/// How many dependents a message names.
const REPORTED_MAX: usize = 100;

fn report(ddl: &mut Ddl<'_>, targets: &[Node], doomed: &[Doomed], cascade: bool) -> Result<()> {
    // A part whose table or column is dropped too needs no mention, whichever of the two was found first.
    let goes_with_another = |node: Node| {
        let column = match node {
            Node::Default(table, place) => Some(Node::Column(table, place)),
            _ => None,
        };
        let around = node.table().map(Node::Object).into_iter().chain(column);
        around.into_iter().any(|whole| doomed.iter().any(|other| other.node == whole))
    };
    let is_loud =
        |doomed: &&Doomed| !doomed.is_silent && doomed.because_of.is_some() && !goes_with_another(doomed.node);
    let loud: Vec<&Doomed> = doomed.iter().rev().filter(is_loud).collect();
    if loud.is_empty() {
        return Ok(());
    }
    let view = ddl.view();
    let lines = |line: &dyn Fn(&Doomed) -> String| -> String {
        let mut lines: Vec<String> = loud.iter().take(REPORTED_MAX).map(|doomed| line(doomed)).collect();
        if loud.len() > REPORTED_MAX {
            lines.push(format!("and {} other objects (see server log for list)", loud.len() - REPORTED_MAX));
        }
        lines.join("\n")
    };
    if !cascade {
        let message = match targets {
            [target] => format!("cannot drop {} because other objects depend on it", describe(&view, *target)),
            _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
        };
        let detail = lines(&|doomed| {
            let because_of = doomed.because_of.map(|node| describe(&view, node)).unwrap_or_default();
            format!("{} depends on {because_of}", describe(&view, doomed.node))
        });
        return Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .detail(detail)
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    let notice = match loud.as_slice() {
        [only] => {
            let message = format!("drop cascades to {}", describe(&view, only.node));
            Error::new(sqlstate::SUCCESSFUL_COMPLETION, message)
        }
        _ => {
            let message = format!("drop cascades to {} other objects", loud.len());
            let detail = lines(&|doomed| format!("drop cascades to {}", describe(&view, doomed.node)));
            Error::new(sqlstate::SUCCESSFUL_COMPLETION, message).detail(detail)
        }
    };
    ddl.tell(Severity::Notice, &notice);
    Ok(())
}

fn composite_fields_of(object: &Object) -> Option<Vec<(String, types::SqlType)>> {
    match object {
        Object::Custom(def) => user_types::composite_fields(def),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn a_name_is_found_as_a_whole_word() {
        for text in ["a", "x.a", "\"a\"", "f(a)", "'a'::regclass", "ab + a", "-a-"] {
            assert!(has_word(text, "a"), "{text}");
        }
        for text in ["", "ab", "_a", "a1", "a$", "äa", "aä", "b"] {
            assert!(!has_word(text, "a"), "{text}");
        }
        assert!(has_word("\"x y\"", "y") && has_word("\"-y-\"", "-y") && has_word("\"é b\"", "é b"));
    }
}
