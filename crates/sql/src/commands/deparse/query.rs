//! Queries as written, back to text, laid out as PostgreSQL lays out a view's definition.

use std::cell::RefCell;

use super::bound::{Bound, Shown};
use super::expr::sort_suffix;
use crate::binder::{self, column_name};
use crate::plan;
use crate::session::quote_identifier;
use crate::tree::{
    Alias, CommonTableExpression, CteStatement, Distinct, Expr, ExprKind, FromItem, GroupItem, Join, JoinType, Literal,
    Location, LockStrength, LockWait, Name, QualifiedName, Query, QueryBody, Select, SetOperator, SortBy,
    SortDirection, TableReference, Target, TypeName,
};

/// What the objects that a query names are called in its text.
pub trait QueryNames {
    /// A table, with its alias. Common table expressions are not asked for.
    fn table(&self, reference: &TableReference) -> String {
        let mut text = if reference.only { "ONLY ".to_owned() } else { String::new() };
        text.push_str(&dotted(&reference.name));
        if let Some(alias) = &reference.alias {
            text.push_str(&alias_text(alias));
        }
        text
    }

    /// A subquery, a function in FROM, a join or a common table expression is called so.
    fn alias(&self, _name: &Name) {}

    /// A function.
    fn function(&self, name: &QualifiedName) -> String {
        dotted(name)
    }

    /// A type, with modifiers.
    fn type_name(&self, name: &TypeName) -> String;

    /// What the column named at this place of the text is a column of, and its name, if that is known.
    fn column(&self, _location: Location) -> Option<&[Name; 2]> {
        None
    }

    /// The new name of a relation that the query reads under its own name, if it has one.
    fn relation(&self, _name: &Name) -> Option<&Name> {
        None
    }

    /// The same, of the relation whose row as a whole is named at this place of the text.
    fn row(&self, _location: Location, _name: &Name) -> Option<&Name> {
        None
    }

    /// What the column named at this place of the text is called from now on, if that is another name.
    fn renamed(&self, _location: Location) -> Option<&Name> {
        None
    }

    /// A join is about to be written.
    fn join(&self, _join: &Join) {}

    /// The quoted literal at this place of the text as a value of its type, and the type, if they are known.
    fn literal(&self, _location: Location) -> Option<KnownLiteral> {
        None
    }

    /// What the field of a row at this place is called now, if that is known.
    fn field(&self, _location: Location, _name: &Name) -> Option<Name> {
        None
    }

    /// Whether the `=` at this place of the text tests for NULL.
    fn is_null_test(&self, _location: Location) -> bool {
        false
    }

    /// The columns that a NATURAL join compares, if that is known.
    fn natural(&self, _location: Location) -> Option<&[Name]> {
        None
    }
}

/// A literal of a known type.
pub struct KnownLiteral {
    /// As SQL, without its type.
    pub text: String,
    /// Its type.
    pub type_name: String,
    /// It would not be read as that type without the type's name.
    pub needs_type: bool,
}

/// Names as they were written; types without their modifiers.
pub struct WrittenNames;

impl QueryNames for WrittenNames {
    fn type_name(&self, name: &TypeName) -> String {
        let mut text = match &name.schema {
            Some(schema) => format!("{}.{}", quote_identifier(schema), quote_identifier(&name.name)),
            None => quote_identifier(&name.name),
        };
        (0..name.array_dimensions).for_each(|_| text.push_str("[]"));
        text
    }
}

/// A dotted name, each part quoted if need be.
pub(in crate::commands) fn dotted(name: &QualifiedName) -> String {
    match &name.schema {
        Some(schema) => format!("{}.{}", quote_identifier(schema), quote_identifier(&name.name)),
        None => quote_identifier(&name.name),
    }
}

/// ` alias(column, ...)`
pub(in crate::commands) fn alias_text(alias: &Alias) -> String {
    let mut text = format!(" {}", quote_identifier(&alias.name));
    if !alias.columns.is_empty() {
        let columns: Vec<String> = alias.columns.iter().map(|column| quote_identifier(column)).collect();
        text.push_str(&format!("({})", columns.join(", ")));
    }
    text
}

/// The text of a query, to be stored: with all parentheses.
pub fn query_text(query: &Query, names: &dyn QueryNames) -> String {
    written(query, names, false, None)
}

/// The text of a query; with no more parentheses than a reader needs, if `pretty`. Where it is known what the query was bound to, as
/// PostgreSQL shows it.
pub(super) fn written<'a>(
    query: &Query,
    names: &'a dyn QueryNames,
    pretty: bool,
    bound: Option<(&'a Bound<'a>, &'a binder::Query)>,
) -> String {
    let mut writer = Writer {
        names,
        pretty,
        text: String::new(),
        indent: 0,
        ctes: RefCell::default(),
        bound: bound.map(|(bound, _)| bound),
        next: bound.map(|(_, query)| query),
        next_join: None,
        are_names_visible: true,
        leaf: 0,
        parts: None,
    };
    writer.query(query);
    writer.text
}

/// The expression of an item of ORDER BY: the number or the name of an output column stands for its expression.
fn unnamed(item: &Expr, query: &Query, target: u32) -> Expr {
    match &query.body {
        QueryBody::Select(select) => select.targets.get(target as usize).map_or(item, |target| &target.expr).clone(),
        _ => item.clone(),
    }
}

/// ` alias(column, ...)` of functions in FROM, which are always shown with one.
fn relation_alias(relation: &binder::Relation, renamed: Option<&str>) -> String {
    let columns = relation.columns.iter().filter(|column| !column.dropped).map(|column| column.name.clone());
    let name = renamed.map_or_else(|| relation.alias.clone(), Name::new);
    alias_text(&Alias { name, columns: columns.collect() })
}

/// How much further an inner query is indented.
pub(super) const INDENT: usize = 8;

pub(super) struct Writer<'a> {
    pub(super) names: &'a dyn QueryNames,
    /// Parentheses only where a reader needs them.
    pub(super) pretty: bool,
    text: String,
    /// How far the query is indented.
    pub(super) indent: usize,
    /// Common table expressions in scope: their names hide tables.
    ctes: RefCell<Vec<Name>>,
    /// The bound form of the query, if that is known.
    pub(super) bound: Option<&'a Bound<'a>>,
    /// The bound form of the query that is written next.
    pub(super) next: Option<&'a binder::Query>,
    /// The bound form of the item of FROM that is written next.
    next_join: Option<&'a binder::FromItem>,
    /// Whether the columns of the query that is written next can be named by others.
    pub(super) are_names_visible: bool,
    /// How many entries of the range table have been written.
    leaf: usize,
    /// The two terms of a recursive query, which are bound one by one.
    parts: Option<(&'a binder::Query, &'a binder::Query)>,
}

impl<'a> Writer<'a> {
    /// Another writer at the same place.
    pub(super) fn another(&self) -> Writer<'a> {
        Writer {
            names: self.names,
            pretty: self.pretty,
            text: String::new(),
            indent: self.indent,
            ctes: RefCell::new(self.ctes.borrow().clone()),
            bound: self.bound,
            next: None,
            next_join: None,
            are_names_visible: true,
            leaf: 0,
            parts: None,
        }
    }

    /// The text that has been written.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// An expression, from what it was bound to if that is known.
    fn shown(&mut self, written: &Expr, bound: Option<&plan::Expr>, shown: Shown) {
        // A column's name says all, that of a merged one more than its value.
        let is_variable = bound.is_some_and(|bound| matches!(bound.kind, plan::ExprKind::Variable(_)));
        let is_name = match written.kind {
            ExprKind::Column(_) => !is_variable && !self.is_whole_row(bound),
            ExprKind::Star(_) => !self.is_whole_row(bound),
            _ => false,
        };
        let text = bound.filter(|_| !is_name).and_then(|bound| self.bound_text(written, bound, shown));
        match text {
            Some(text) if text.starts_with('\n') => {
                self.end_line();
                self.text.push_str(&text[1..]);
            }
            Some(text) => self.text.push_str(&text),
            None => self.bare(written),
        }
    }

    /// Whether an expression is known to be a table's row as a whole.
    fn is_whole_row(&self, expr: Option<&plan::Expr>) -> bool {
        let name = || self.bound?.whole_row(expr?);
        name().is_some()
    }

    /// The name of the entry of the range table that is written next.
    fn next_alias(&self) -> Option<String> {
        self.bound.and_then(|bound| bound.alias(self.leaf))
    }

    /// The entry of the range table that is written next.
    fn next_relation(&mut self) -> Option<&'a binder::Relation> {
        let relation = self.bound_query().and_then(|query| query.relations.get(self.leaf));
        self.leaf += 1;
        relation
    }
    pub(super) fn push(&mut self, text: &str) {
        match text.strip_prefix('\n') {
            Some(rest) => {
                self.end_line();
                self.text.push_str(rest);
            }
            None => self.text.push_str(text),
        }
    }

    /// Begins a new line, unless nothing is on this one.
    fn end_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Text with line ends, after which the query's indentation comes.
    pub(super) fn line(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.end_line();
                self.text.extend(std::iter::repeat_n(' ', self.indent));
            }
            self.text.push_str(line);
        }
    }

    /// A query within another one.
    pub(super) fn inner_query(&mut self, query: &Query) {
        self.indent += INDENT;
        self.query(query);
        self.indent -= INDENT;
    }

    pub(super) fn name(&mut self, name: &str) {
        self.text.push_str(&quote_identifier(name));
    }

    pub(super) fn qualified(&mut self, name: &QualifiedName) {
        self.text.push_str(&dotted(name));
    }

    /// What `write` writes, apart from the rest.
    pub(super) fn piece(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.text);
        write(self);
        std::mem::replace(&mut self.text, before)
    }

    pub(super) fn query(&mut self, query: &Query) {
        let (next, leaf) = (self.next.take(), std::mem::take(&mut self.leaf));
        if let Some(bound) = self.bound {
            bound.enter(next);
        }
        self.body(query);
        if let Some(bound) = self.bound {
            bound.leave();
        }
        self.leaf = leaf;
    }

    fn body(&mut self, query: &Query) {
        let outer = self.ctes.borrow().len();
        let parts = self.parts.take();
        let are_names_visible = std::mem::replace(&mut self.are_names_visible, true);
        if let Some(with) = &query.with {
            self.push(if with.recursive { " WITH RECURSIVE " } else { " WITH " });
            if with.recursive {
                self.ctes.borrow_mut().extend(with.ctes.iter().map(|cte| cte.name.clone()));
            }
            for (number, cte) in with.ctes.iter().enumerate() {
                if number > 0 {
                    self.push(", ");
                }
                self.common_table_expression(cte);
                if !with.recursive {
                    self.ctes.borrow_mut().push(cte.name.clone());
                }
            }
            self.line("\n");
        }
        match &query.body {
            QueryBody::Select(select) => self.select(select, are_names_visible),
            QueryBody::Values(rows) => {
                self.push(" VALUES ");
                let shown = self.bound_rows(rows);
                if let Some(text) = &shown {
                    self.push(text);
                }
                let rows: &[Vec<Expr>] = if shown.is_some() { &[] } else { rows };
                for (number, row) in rows.iter().enumerate() {
                    if number > 0 {
                        self.push(", ");
                    }
                    self.push("(");
                    self.exprs(row);
                    self.push(")");
                }
            }
            QueryBody::SetOperation { operator, all, left, right } => {
                self.are_names_visible = are_names_visible;
                self.set_operand(left, parts.map(|(anchor, _)| anchor));
                self.line(match operator {
                    SetOperator::Union => "\nUNION",
                    SetOperator::Intersect => "\nINTERSECT",
                    SetOperator::Except => "\nEXCEPT",
                });
                self.line(if *all { " ALL\n" } else { "\n" });
                self.are_names_visible = self.bound.is_none();
                self.set_operand(right, parts.map(|(_, recursive)| recursive));
                self.are_names_visible = true;
            }
        }
        if !query.order.is_empty() {
            self.line("\n  ORDER BY ");
            self.order(query);
        }
        if let Some(offset) = &query.offset {
            self.line("\n OFFSET ");
            let bound = self.bound_query().and_then(|query| query.offset.as_ref());
            self.count(offset, bound);
        }
        if let Some(limit) = &query.limit {
            if query.with_ties {
                self.line("\n FETCH FIRST (");
                self.expr(limit);
                self.push(") ROWS WITH TIES");
            } else {
                self.line("\n LIMIT ");
                let bound = self.bound_query().and_then(|query| query.limit.as_ref());
                self.count(limit, bound);
            }
        }
        for lock in &query.locking {
            self.line(match lock.strength {
                LockStrength::KeyShare => "\n FOR KEY SHARE",
                LockStrength::Share => "\n FOR SHARE",
                LockStrength::NoKeyUpdate => "\n FOR NO KEY UPDATE",
                LockStrength::Update => "\n FOR UPDATE",
            });
            if !lock.tables.is_empty() {
                let called = |table: &QualifiedName| match self.names.relation(&table.name) {
                    Some(name) => quote_identifier(name),
                    None => dotted(table),
                };
                let tables: Vec<String> = lock.tables.iter().map(called).collect();
                self.push(&format!(" OF {}", tables.join(", ")));
            }
            self.push(match lock.wait {
                LockWait::Block => "",
                LockWait::Skip => " SKIP LOCKED",
                LockWait::Error => " NOWAIT",
            });
        }
        self.ctes.borrow_mut().truncate(outer);
    }

    /// A number of rows.
    fn count(&mut self, written: &Expr, bound: Option<&plan::Expr>) {
        match &written.kind {
            ExprKind::Literal(_) => self.expr(written),
            _ => self.shown(written, bound, Shown::Plain),
        }
    }

    /// ORDER BY's list. Of a set operation, columns are named by their numbers.
    fn order(&mut self, query: &Query) {
        let bound = self.bound_query().filter(|bound| {
            let is_plain = |item: &SortBy| !matches!(item.direction, SortDirection::Using(_));
            bound.order.len() == query.order.len() && query.order.iter().all(is_plain)
        });
        let Some(bound) = bound else { return self.sort_list(&query.order) };
        for (number, (item, key)) in query.order.iter().zip(&bound.order).enumerate() {
            if number > 0 {
                self.push(", ");
            }
            match bound.targets.get(key.target as usize) {
                Some(_) if bound.set_operation.is_some() => self.push(&(key.target + 1).to_string()),
                Some(target) => {
                    let text = self.bound_text(&unnamed(&item.expr, query, key.target), &target.expr, Shown::Sorted);
                    match text {
                        Some(text) => self.push(&text),
                        None => self.bare(&item.expr),
                    }
                }
                None => self.bare(&item.expr),
            }
            self.push(sort_suffix(key.descending, key.nulls_first));
        }
    }

    /// An operand of a set operation: in parentheses where it is more than a select.
    fn set_operand(&mut self, query: &Query, part: Option<&'a binder::Query>) {
        let is_leaf = !matches!(query.body, QueryBody::SetOperation { .. })
            || query.with.is_some()
            || !query.order.is_empty()
            || query.limit.is_some()
            || query.offset.is_some();
        if let Some(part) = part {
            self.next = Some(part);
        } else if is_leaf {
            self.next = self.next_relation().and_then(|leaf| match &leaf.kind {
                binder::RelationKind::Subquery(query) => Some(&**query),
                _ => None,
            });
        } else {
            // Its leaves are those of the query around it.
            self.push("(");
            self.body(query);
            return self.push(")");
        }
        let is_plain = query.with.is_none()
            && query.order.is_empty()
            && query.limit.is_none()
            && query.offset.is_none()
            && query.locking.is_empty()
            && !matches!(query.body, QueryBody::SetOperation { .. });
        if is_plain {
            return self.query(query);
        }
        self.push("(");
        self.query(query);
        self.push(")");
    }

    fn common_table_expression(&mut self, cte: &CommonTableExpression) {
        self.names.alias(&cte.name);
        self.name(&cte.name);
        if !cte.columns.is_empty() {
            let columns: Vec<String> = cte.columns.iter().map(|column| quote_identifier(column)).collect();
            self.push(&format!("({})", columns.join(", ")));
        }
        self.push(match cte.materialized {
            None => " AS (",
            Some(true) => " AS MATERIALIZED (",
            Some(false) => " AS NOT MATERIALIZED (",
        });
        if let CteStatement::Query(query) = &*cte.statement {
            let bound = self.bound_query().and_then(|outer| outer.ctes.iter().find(|other| other.name == cte.name));
            // SEARCH and CYCLE are bound as another query.
            let bound = bound.filter(|_| cte.search.is_none() && cte.cycle.is_none());
            match bound {
                Some(binder::Cte { query, recursive: Some((recursive, _)), .. }) => {
                    self.parts = Some((query, recursive))
                }
                Some(binder::Cte { query, .. }) => self.next = Some(query),
                None => {}
            }
            self.indent += INDENT;
            self.line("\n");
            self.query(query);
            self.line("\n");
            self.indent -= INDENT;
        }
        self.push(")");
        let list = |names: &[Name]| names.iter().map(|name| quote_identifier(name)).collect::<Vec<_>>().join(", ");
        if let Some(search) = &cte.search {
            let order = if search.breadth_first { "BREADTH" } else { "DEPTH" };
            let (columns, sequence) = (list(&search.columns), quote_identifier(&search.sequence));
            self.push(&format!(" SEARCH {order} FIRST BY {columns} SET {sequence}"));
        }
        if let Some(cycle) = &cte.cycle {
            self.push(&format!(" CYCLE {} SET {}", list(&cycle.columns), quote_identifier(&cycle.mark)));
            let is =
                |expr: &Expr, truth: bool| matches!(expr.kind, ExprKind::Literal(Literal::Boolean(is)) if is == truth);
            if !(is(&cycle.value, true) && is(&cycle.default, false)) {
                self.push(" TO ");
                self.expr(&cycle.value);
                self.push(" DEFAULT ");
                self.expr(&cycle.default);
            }
            self.push(&format!(" USING {}", quote_identifier(&cycle.path)));
        }
    }

    fn select(&mut self, select: &Select, are_names_visible: bool) {
        self.push(" SELECT ");
        match &select.distinct {
            Distinct::No => {}
            Distinct::All => self.push("DISTINCT "),
            Distinct::On(exprs) => {
                self.push("DISTINCT ON (");
                match self.bound_query().and_then(|query| self.distinct_text(select, exprs, query)) {
                    Some(text) => self.push(&text),
                    None => self.exprs(exprs),
                }
                self.push(") ");
            }
        }
        let bound = self.bound_query();
        for (number, target) in select.targets.iter().enumerate() {
            if number > 0 {
                self.line(",\n    ");
            }
            let entry = bound.and_then(|query| query.output().nth(number));
            self.target(target, entry.map(|entry| &entry.expr), are_names_visible);
        }
        for (number, item) in select.from.iter().enumerate() {
            self.line(if number > 0 { ",\n    " } else { "\n   FROM " });
            self.next_join = bound.and_then(|query| query.from.get(number));
            self.from_item(item);
        }
        if let Some(filter) = &select.filter {
            self.line("\n  WHERE ");
            self.shown(filter, bound.and_then(|query| query.filter.as_ref()), Shown::Plain);
        }
        if !select.group.is_empty() {
            self.line(if select.group_distinct { "\n  GROUP BY DISTINCT " } else { "\n  GROUP BY " });
            match bound.and_then(|query| self.group_text(select, query)) {
                Some(text) => self.push(&text),
                None => self.group_items(&select.group),
            }
        }
        if let Some(having) = &select.having {
            self.line("\n HAVING ");
            self.shown(having, bound.and_then(|query| query.having.as_ref()), Shown::Plain);
        }
        for (number, window) in select.windows.iter().enumerate() {
            self.line(if number > 0 { ", " } else { "\n  WINDOW " });
            self.name(window.name.as_deref().unwrap_or_default());
            self.push(" AS ");
            match self.bound_window(window.name.as_deref().unwrap_or_default()).filter(|_| window.base.is_none()) {
                Some(text) => self.push(&text),
                None => self.window(window),
            }
        }
    }

    /// DISTINCT ON's list from its bound form.
    fn distinct_text(&self, select: &Select, exprs: &[Expr], query: &binder::Query) -> Option<String> {
        let binder::Distinct::On(places) = &query.distinct else { return None };
        if places.len() != exprs.len() {
            return None;
        }
        let item = |(written, place): (&Expr, &u32)| {
            let target = query.targets.get(*place as usize)?;
            let written = select.targets.get(*place as usize).map_or(written, |target| &target.expr);
            match written.kind {
                ExprKind::Column(_) if !self.is_whole_row(Some(&target.expr)) => {
                    Some(self.another().piece(|writer| writer.bare(written)))
                }
                _ => self.bound_text(written, &target.expr, Shown::Sorted),
            }
        };
        let items: Option<Vec<String>> = exprs.iter().zip(places).map(item).collect();
        items.map(|items| items.join(", "))
    }

    /// GROUP BY's list from its bound form.
    fn group_text(&self, select: &Select, query: &binder::Query) -> Option<String> {
        if select.group.len() != query.groups.len() {
            return None;
        }
        let item = |(item, bound): (&GroupItem, &plan::Expr)| match item {
            GroupItem::Expr(expr) => {
                let target = query.targets.iter().position(|target| crate::binder::same(&target.expr, bound));
                let written = match target.and_then(|target| select.targets.get(target)) {
                    Some(target) => &target.expr,
                    None => expr,
                };
                match written.kind {
                    ExprKind::Column(_) if !self.is_whole_row(Some(bound)) => {
                        Some(self.another().piece(|writer| writer.bare(written)))
                    }
                    _ => {
                        let bare = || format!("({})", self.another().piece(|writer| writer.bare(written)));
                        Some(self.bound_text(written, bound, Shown::Sorted).unwrap_or_else(bare))
                    }
                }
            }
            _ => None,
        };
        let items: Option<Vec<String>> = select.group.iter().zip(&query.groups).map(item).collect();
        items.map(|items| items.join(", "))
    }

    fn target(&mut self, target: &Target, bound: Option<&plan::Expr>, is_visible: bool) {
        let start = self.text.len();
        self.shown(&target.expr, bound, Shown::Full);
        let name = target.name.clone().unwrap_or_else(|| column_name(&target.expr));
        let says_so_itself = match &target.expr.kind {
            _ if self.is_whole_row(bound) => false,
            ExprKind::Column(parts) => self.names.renamed(target.expr.location).or(parts.last()) == Some(&name),
            ExprKind::Star(_) => true,
            _ if bound.is_some_and(|bound| matches!(bound.kind, plan::ExprKind::Variable(_))) => {
                self.text[start..].ends_with(&format!(".{}", quote_identifier(&name)))
            }
            _ => name == "?column?" && (!is_visible || self.bound.is_none() && target.name.is_none()),
        };
        if !says_so_itself {
            self.push(" AS ");
            self.name(&name);
        }
    }

    fn group_items(&mut self, items: &[GroupItem]) {
        for (number, item) in items.iter().enumerate() {
            if number > 0 {
                self.push(", ");
            }
            let (name, inner) = match item {
                GroupItem::Expr(expr) => {
                    self.bare(expr);
                    continue;
                }
                GroupItem::Empty(_) => {
                    self.push("()");
                    continue;
                }
                GroupItem::Rollup(inner, _) => ("ROLLUP(", inner),
                GroupItem::Cube(inner, _) => ("CUBE(", inner),
                GroupItem::Sets(inner, _) => ("GROUPING SETS (", inner),
            };
            self.push(name);
            self.group_items(inner);
            self.push(")");
        }
    }

    fn from_item(&mut self, item: &FromItem) {
        match item {
            FromItem::Table(reference) => {
                let renamed = self.next_alias();
                let renamed = renamed.filter(|name| {
                    reference.alias.as_ref().map_or(&reference.name.name, |alias| &alias.name).as_str() != name
                });
                let renamed = renamed.map(|name| TableReference {
                    alias: Some(Alias {
                        name: Name::new(&name),
                        columns: reference.alias.as_ref().map(|alias| alias.columns.clone()).unwrap_or_default(),
                    }),
                    ..reference.clone()
                });
                let reference = renamed.as_ref().unwrap_or(reference);
                self.next_relation();
                let is_cte = reference.name.schema.is_none() && self.ctes.borrow().contains(&reference.name.name);
                if is_cte {
                    self.qualified(&reference.name);
                    if let Some(alias) = &reference.alias {
                        self.push(&alias_text(alias));
                    }
                } else {
                    let text = self.names.table(reference);
                    self.push(&text);
                }
            }
            FromItem::Subquery { query, lateral, alias } => {
                if let Some(alias) = alias {
                    self.names.alias(&alias.name);
                }
                self.push(if *lateral { "LATERAL (" } else { "(" });
                let renamed = self.next_alias();
                let relation = self.next_relation().map(|relation| &relation.kind);
                let values = match (&query.body, relation) {
                    (QueryBody::Values(written), Some(binder::RelationKind::Values(rows))) => {
                        self.rows_text(written, rows)
                    }
                    _ => None,
                };
                if let Some(binder::RelationKind::Subquery(query)) = relation {
                    self.next = Some(query);
                }
                match values {
                    Some(rows) => self.push(&format!(" VALUES {rows}")),
                    None => self.inner_query(query),
                }
                self.push(")");
                if let Some(alias) = alias {
                    let name = renamed.map_or_else(|| alias.name.clone(), |name| Name::new(&name));
                    self.push(&alias_text(&Alias { name, columns: alias.columns.clone() }));
                }
            }
            FromItem::Function { calls, lateral, ordinality, rows_from, alias, columns, .. } => {
                match (alias, calls.first().map(|(call, _)| &call.kind)) {
                    (Some(alias), _) => self.names.alias(&alias.name),
                    (None, Some(ExprKind::Function(call))) => self.names.alias(&call.name.name),
                    (None, _) => {}
                }
                if *lateral {
                    self.push("LATERAL ");
                }
                if *rows_from {
                    self.push("ROWS FROM(");
                }
                let renamed = self.next_alias();
                let relation = self.next_relation();
                let bound: &[plan::SetCall] = match relation.map(|relation| &relation.kind) {
                    Some(binder::RelationKind::Function { calls: bound, .. }) if bound.len() == calls.len() => bound,
                    _ => &[],
                };
                for (number, (call, own_columns)) in calls.iter().enumerate() {
                    if number > 0 {
                        self.push(", ");
                    }
                    match bound.get(number).and_then(|bound| self.bound_call(call, bound)) {
                        Some(text) => self.push(&text),
                        None => self.expr(call),
                    }
                    if !own_columns.is_empty() {
                        self.push(" AS ");
                        self.column_definitions(own_columns);
                    }
                }
                if *rows_from {
                    self.push(")");
                }
                if *ordinality {
                    self.push(" WITH ORDINALITY");
                }
                match alias {
                    _ if columns.is_empty() && relation.is_some() => {
                        let text = relation.map(|relation| relation_alias(relation, renamed.as_deref()));
                        self.push(&text.unwrap_or_default());
                    }
                    Some(alias) if columns.is_empty() => self.push(&alias_text(alias)),
                    Some(alias) => {
                        self.push(" AS ");
                        self.name(&alias.name);
                        self.column_definitions(columns);
                    }
                    None if !columns.is_empty() => {
                        self.push(" AS ");
                        self.column_definitions(columns);
                    }
                    None => {}
                }
            }
            FromItem::Join(join) => self.join(join),
            FromItem::Unsupported(what, _) => self.push(&format!("/* {what} */")),
        }
    }

    fn column_definitions(&mut self, columns: &[crate::tree::ColumnDefinitionItem]) {
        let columns: Vec<String> = columns
            .iter()
            .map(|column| format!("{} {}", quote_identifier(&column.name), self.names.type_name(&column.type_name)))
            .collect();
        self.push(&format!("({})", columns.join(", ")));
    }

    fn join(&mut self, join: &Join) {
        self.names.join(join);
        let aliases = join.alias.as_ref().map(|alias| &alias.name).into_iter().chain(&join.using_alias);
        aliases.for_each(|alias| self.names.alias(alias));
        let bound = match self.next_join.take() {
            Some(binder::FromItem::Join(bound)) => Some(&**bound),
            _ => None,
        };
        let in_parentheses = !self.pretty || join.alias.is_some();
        if in_parentheses {
            self.push(if join.alias.is_some() && !self.pretty { "((" } else { "(" });
        }
        self.next_join = bound.map(|bound| &bound.left);
        self.from_item(&join.left);
        self.next_join = bound.map(|bound| &bound.right);
        self.line("\n     ");
        let names = self.names;
        let compared = if join.natural { names.natural(join.right.start()) } else { None };
        let (natural, using) = (join.natural && compared.is_none(), compared.unwrap_or(&join.using));
        if natural {
            self.push("NATURAL ");
        }
        let compares_nothing = !natural && using.is_empty() && join.condition.is_none();
        let is_cross = join.kind == JoinType::Inner && compares_nothing;
        self.push(match join.kind {
            JoinType::Inner if is_cross => "CROSS JOIN ",
            JoinType::Inner => "JOIN ",
            JoinType::Left => "LEFT JOIN ",
            JoinType::Right => "RIGHT JOIN ",
            JoinType::Full => "FULL JOIN ",
        });
        let right_is_join = matches!(&join.right, FromItem::Join(right) if right.alias.is_none());
        if self.pretty && right_is_join {
            self.push("(");
            self.from_item(&join.right);
            self.push(")");
        } else {
            self.from_item(&join.right);
        }
        if compares_nothing && !is_cross {
            self.push(" ON true");
        }
        if !using.is_empty() {
            let using: Vec<String> = using.iter().map(|name| quote_identifier(name)).collect();
            self.push(&format!(" USING ({})", using.join(", ")));
            if let Some(alias) = &join.using_alias {
                self.push(" AS ");
                self.name(alias);
            }
        }
        if let Some(condition) = &join.condition {
            self.push(if self.pretty { " ON " } else { " ON (" });
            self.shown(condition, bound.and_then(|bound| bound.condition.as_ref()), Shown::Plain);
            if !self.pretty {
                self.push(")");
            }
        }
        if in_parentheses {
            self.push(")");
        }
        if let Some(alias) = &join.alias {
            if !self.pretty {
                self.push(")");
            }
            self.push(&alias_text(alias));
        }
    }

    pub(super) fn sort_list(&mut self, list: &[SortBy]) {
        for (number, item) in list.iter().enumerate() {
            if number > 0 {
                self.push(", ");
            }
            self.bare(&item.expr);
            match &item.direction {
                SortDirection::Ascending => {}
                SortDirection::Descending => self.push(" DESC"),
                SortDirection::Using(operator) => {
                    self.push(" USING ");
                    self.operator(operator);
                }
            }
            match item.nulls_first {
                None => {}
                Some(true) => self.push(" NULLS FIRST"),
                Some(false) => self.push(" NULLS LAST"),
            }
        }
    }
}
