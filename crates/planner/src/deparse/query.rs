//! Queries as written, back to text, laid out as PostgreSQL lays out a view's definition.

use std::cell::RefCell;

use plan::bound;
use syntax::tree::{
    Alias, CommonTableExpression, CteStatement, Distinct, Expr, ExprKind, GroupItem, Indirection, Literal, Location,
    LockStrength, LockWait, Name, QualifiedName, Query, QueryBody, Select, SetOperator, SortBy, SortDirection,
    TableReference, Target, TypeName,
};
use types::reg_types::quote_identifier;

use super::bound::{Bound, Places, Shown};
use super::expr::sort_suffix;
use super::naming::Catalogs;
use crate::binder::{self, column_name};

/// The names of a query's objects in its text.
pub trait QueryNames {
    /// A table, without its alias; `is_hidden` says of a bare name that a common table expression has it. Common table expressions are
    /// not asked for.
    fn table(&self, reference: &TableReference, is_hidden: &dyn Fn(&str) -> bool) -> TableText;

    /// A function.
    fn function(&self, name: &QualifiedName) -> String {
        dotted(name)
    }

    /// A type, with modifiers.
    fn type_name(&self, name: &TypeName) -> String;

    /// The quoted literal at this place of the text as a value of its type, and the type, if they are known.
    fn literal(&self, _location: Location) -> Option<KnownLiteral> {
        None
    }

    /// The current name of the field of a row at this place of the text, if it is known.
    fn field(&self, _location: Location, _name: &Name) -> Option<Name> {
        None
    }

    /// Whether the `=` at this place of the text tests for NULL.
    fn is_null_test(&self, _location: Location) -> bool {
        false
    }

    /// How many columns the `*` at this place of the text stands for, if that is known.
    fn star_width(&self, _location: Location) -> Option<usize> {
        None
    }
}

/// How a table is named.
pub struct TableText {
    /// As FROM names it.
    pub text: String,
    /// The name in front of its columns' names, unless there is an alias.
    pub own: String,
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

/// The name of a type as it was written, without its modifiers.
pub fn written_type(name: &TypeName) -> String {
    let mut text = match &name.schema {
        Some(schema) => format!("{}.{}", quote_identifier(schema), quote_identifier(&name.name)),
        None => quote_identifier(&name.name),
    };
    (0..name.array_dimensions).for_each(|_| text.push_str("[]"));
    text
}

/// A dotted name, each part quoted if need be.
pub fn dotted(name: &QualifiedName) -> String {
    match &name.schema {
        Some(schema) => format!("{}.{}", quote_identifier(schema), quote_identifier(&name.name)),
        None => quote_identifier(&name.name),
    }
}

/// ` alias(column, ...)`
pub(crate) fn alias_text(alias: &Alias) -> String {
    let mut text = format!(" {}", quote_identifier(&alias.name));
    if !alias.columns.is_empty() {
        let columns: Vec<String> = alias.columns.iter().map(|column| quote_identifier(column)).collect();
        text.push_str(&format!("({})", columns.join(", ")));
    }
    text
}

/// Names the objects of a query, as far as its text alone tells them; what is written is of no use.
pub fn visit_names(query: &Query, names: &dyn QueryNames) {
    written(query, names, false, None);
}

/// The text of a query, to be stored: with all parentheses.
pub fn query_text(query: &Query, names: &dyn QueryNames, bound: &bound::Query, catalogs: Catalogs<'_>) -> String {
    written(query, names, false, Some((&Bound::new(catalogs), bound)))
}

/// The text of a query; with no more parentheses than a reader needs, if `pretty`. Where it is known what the query was bound to, as
/// PostgreSQL shows it.
pub fn written<'a>(
    query: &Query,
    names: &'a dyn QueryNames,
    pretty: bool,
    bound: Option<(&'a Bound<'a>, &'a bound::Query)>,
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
        places: Places::default(),
    };
    writer.query(query);
    writer.text
}

/// Whether an item of a select list stands for several columns.
fn is_star(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Star(_) => true,
        ExprKind::Indirection { steps, .. } => matches!(steps.last(), Some(Indirection::Star)),
        _ => false,
    }
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
    pub(super) ctes: RefCell<Vec<Name>>,
    /// The bound form of the query, if that is known.
    pub(super) bound: Option<&'a Bound<'a>>,
    /// The bound form of the query that is written next.
    pub(super) next: Option<&'a bound::Query>,
    /// The bound form of the item of FROM that is written next.
    pub(super) next_join: Option<&'a bound::FromItem>,
    /// Whether the columns of the query that is written next can be named by others.
    pub(super) are_names_visible: bool,
    /// How many entries of the range table have been written.
    leaf: usize,
    /// The two terms of a recursive query, which are bound one by one.
    parts: Option<(&'a bound::Query, &'a bound::Query)>,
    /// The names within the expression that is written as it stands in the text.
    pub(super) places: Places<'a>,
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
            places: Places::default(),
        }
    }

    /// The text that has been written.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// An expression, from what it was bound to if that is known.
    pub(super) fn shown(&mut self, written: &Expr, bound: Option<&plan::Expr>, shown: Shown) {
        let text = bound.and_then(|bound| self.text_of(written, bound, shown));
        match text {
            Some(text) => self.push(&text),
            None => self.as_written(written, bound),
        }
    }

    /// The text of an expression from what it was bound to, unless its words say more.
    fn text_of(&self, written: &Expr, bound: &plan::Expr, shown: Shown) -> Option<String> {
        let is_merged = match &bound.kind {
            // Function notation: a call whose argument is the row.
            plan::ExprKind::Call(call) => !call.arguments.iter().any(|argument| self.is_whole_row(Some(argument))),
            plan::ExprKind::Set(_) | plan::ExprKind::Variable(_) => false,
            _ => !self.is_whole_row(Some(bound)),
        };
        // The name of a column that a join has computed says more than how.
        match written.kind {
            ExprKind::Column(_) if is_merged => None,
            _ => self.bound_text(written, bound, shown),
        }
    }

    /// Whether an expression is known to be a table's row as a whole.
    fn is_whole_row(&self, expr: Option<&plan::Expr>) -> bool {
        let name = || self.bound?.whole_row(expr?);
        name().is_some()
    }

    /// The number of the entry of the range table that is written next, and the entry.
    pub(super) fn next_relation(&mut self) -> (usize, Option<&'a bound::Relation>) {
        let number = self.leaf;
        self.leaf += 1;
        (number, self.bound_query().and_then(|query| query.relations.get(number)))
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

    /// The text that `write` writes, without adding it to the text written so far.
    pub(super) fn piece(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.text);
        write(self);
        std::mem::replace(&mut self.text, before)
    }

    pub(super) fn query(&mut self, query: &Query) {
        let (next, leaf) = (self.next.take(), std::mem::take(&mut self.leaf));
        if let Some(bound) = self.bound {
            bound.enter(query, next);
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
            QueryBody::Select(select) => self.select(select, &query.order, are_names_visible),
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
                let is_alike = matches!(&left.body, QueryBody::SetOperation { operator: inner, all: inner_all, .. }
                    if inner == operator && inner_all == all);
                self.set_operand(left, parts.map(|(anchor, _)| anchor), is_alike);
                self.line(match operator {
                    SetOperator::Union => "\nUNION",
                    SetOperator::Intersect => "\nINTERSECT",
                    SetOperator::Except => "\nEXCEPT",
                });
                self.line(if *all { " ALL\n" } else { "\n" });
                self.are_names_visible = self.bound.is_none();
                self.set_operand(right, parts.map(|(_, recursive)| recursive), false);
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
                let bound = self.bound_query().and_then(|query| query.limit.as_ref());
                self.count(limit, bound);
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
                let called = |table: &QualifiedName| self.alias_of(table).unwrap_or_else(|| dotted(table));
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

    /// The name that a table of FROM has now; the text has the one from when it was bound.
    fn alias_of(&self, table: &QualifiedName) -> Option<String> {
        let place = self.bound_query()?.relations.iter().position(|relation| relation.alias == table.name)?;
        self.bound?.names(|names| Some(quote_identifier(&names.entry(place)?.alias)))
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
        // DISTINCT ON may sort by more than is written.
        let is_whole = |bound: &bound::Query| match bound.distinct {
            bound::Distinct::On(_) => bound.order.len() >= query.order.len(),
            _ => bound.order.len() == query.order.len(),
        };
        let Some(bound) = self.bound_query().filter(|bound| is_whole(bound)) else {
            return self.sort_list(&query.order);
        };
        let uses_operator = |item: &SortBy| matches!(item.direction, SortDirection::Using(_));
        for (number, (item, key)) in query.order.iter().zip(&bound.order).enumerate() {
            // The same key again sorts nothing.
            if !uses_operator(item) && bound.order[..number].iter().any(|earlier| earlier.target == key.target) {
                continue;
            }
            if number > 0 {
                self.push(", ");
            }
            match bound.targets.get(key.target as usize) {
                Some(_) if bound.set_operation.is_some() => self.push(&(key.target + 1).to_string()),
                Some(target) => {
                    let targets = match &query.body {
                        QueryBody::Select(select) => select.targets.as_slice(),
                        _ => &[],
                    };
                    let text = self.key_text(&item.expr, targets, key.target, target);
                    self.push(&text);
                }
                None => self.bare(&item.expr),
            }
            match &item.direction {
                SortDirection::Using(operator) => {
                    self.push(" USING ");
                    self.operator(operator);
                    self.nulls(item.nulls_first);
                }
                _ => self.push(sort_suffix(key.descending, key.nulls_first)),
            }
        }
    }

    /// An operand of a set operation: in parentheses where it is more than a select, or than the same operation before (`is_alike`).
    fn set_operand(&mut self, query: &Query, part: Option<&'a bound::Query>, is_alike: bool) {
        let is_leaf = !matches!(query.body, QueryBody::SetOperation { .. })
            || query.with.is_some()
            || !query.order.is_empty()
            || query.limit.is_some()
            || query.offset.is_some();
        if let Some(part) = part {
            self.next = Some(part);
        } else if is_leaf {
            self.next = self.next_relation().1.and_then(|leaf| match &leaf.kind {
                bound::RelationKind::Subquery(query) => Some(&**query),
                _ => None,
            });
        } else {
            // Its leaves are those of the query around it.
            if is_alike {
                return self.body(query);
            }
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
            match bound {
                Some(bound::Cte { written_terms: Some(terms), .. }) => self.parts = Some((&terms.0, &terms.1)),
                Some(bound::Cte { query, recursive: Some((recursive, _)), .. }) => {
                    self.parts = Some((query, recursive))
                }
                Some(bound::Cte { query, .. }) => self.next = Some(query),
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
                // The grammar takes nothing but literals there.
                self.push(" TO ");
                self.plain(&cycle.value);
                self.push(" DEFAULT ");
                self.plain(&cycle.default);
            }
            self.push(&format!(" USING {}", quote_identifier(&cycle.path)));
        }
    }

    fn select(&mut self, select: &Select, order: &[SortBy], are_names_visible: bool) {
        self.push(" SELECT ");
        match &select.distinct {
            Distinct::No => {}
            Distinct::All => self.push("DISTINCT "),
            Distinct::On(exprs) => {
                self.push("DISTINCT ON (");
                match self.bound_query().and_then(|query| self.distinct_text(select, order, exprs, query)) {
                    Some(text) => self.push(&text),
                    None => self.exprs(exprs),
                }
                self.push(") ");
            }
        }
        self.targets(&select.targets, are_names_visible);
        let bound = self.bound_query();
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
                None => {
                    let specs = bound.map_or(&[][..], |query| &query.windows).iter();
                    let exprs =
                        specs.flat_map(|spec| spec.partition.iter().chain(spec.order.iter().map(|key| &key.expr)));
                    let places = self.places_of(exprs);
                    let before = std::mem::replace(&mut self.places, places);
                    self.window(window);
                    self.places = before;
                }
            }
        }
    }

    /// The item of a select list that a target was bound from; none for a column that `*` stands for, or one that is sorted by alone.
    fn written_target<'t>(&self, targets: &'t [Target], number: usize) -> Option<&'t Target> {
        let mut before = 0;
        for target in targets {
            let width = self.names.star_width(target.expr.location).filter(|_| is_star(&target.expr));
            before += width.unwrap_or(1);
            if number < before {
                return if width.is_none() { Some(target) } else { None };
            }
        }
        None
    }

    /// A key of ORDER BY or DISTINCT ON: the number or the name of an output column stands for its expression.
    fn key_text(&self, item: &Expr, targets: &[Target], number: u32, entry: &bound::TargetEntry) -> String {
        let written = self.written_target(targets, number as usize).map_or(item, |target| &target.expr);
        let text = self.piece_of(|writer| writer.shown(written, Some(&entry.expr), Shown::Sorted));
        // A bare name would be taken for another column of the result.
        let is_other = |(place, other): (usize, &bound::TargetEntry)| {
            place != number as usize && quote_identifier(&other.column.name) == text
        };
        // In a text that is stored, an expression would be taken for the first column with it.
        let is_stored = self.bound.is_some_and(Bound::is_stored);
        let is_earlier = |(place, other): (usize, &bound::TargetEntry)| {
            is_stored && place < number as usize && binder::same(&other.expr, &entry.expr)
        };
        let output = || self.bound_query().into_iter().flat_map(bound::Query::output).enumerate();
        if !entry.hidden && (output().any(is_other) || output().any(is_earlier)) {
            (number + 1).to_string()
        } else {
            text
        }
    }

    /// DISTINCT ON's list from its bound form, in the order in which the rows are sorted.
    fn distinct_text(&self, select: &Select, order: &[SortBy], exprs: &[Expr], query: &bound::Query) -> Option<String> {
        let bound::Distinct::On(places) = &query.distinct else { return None };
        if places.len() != exprs.len() {
            return None;
        }
        let item = |(written, place): (&Expr, &u32)| {
            let target = query.targets.get(*place as usize)?;
            // A key that is not in the select list may have been bound from ORDER BY, where its subqueries and columns stand.
            let mut keys = query.order.iter().zip(order).filter(|(key, _)| target.hidden && key.target == *place);
            let key = keys.next().map(|(_, sort)| &sort.expr);
            let fits = |source: &&Expr| self.bound_text(source, &target.expr, Shown::Sorted).is_some();
            let source = Some(written).filter(fits).or(key).unwrap_or(written);
            let sorted_as = query.order.iter().position(|key| key.target == *place);
            Some((sorted_as.unwrap_or(usize::MAX), self.key_text(source, &select.targets, *place, target)))
        };
        let written = exprs.iter().zip(places).enumerate();
        let written = written.filter(|(number, (_, place))| !places[..*number].contains(place));
        let mut items = written.map(|(_, pair)| item(pair)).collect::<Option<Vec<_>>>()?;
        items.sort_by_key(|(sorted_as, _)| *sorted_as);
        Some(items.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", "))
    }

    /// GROUP BY's list from its bound form.
    fn group_text(&self, select: &Select, query: &bound::Query) -> Option<String> {
        let mut written: Vec<&Expr> = Vec::with_capacity(query.groups.len());
        for item in &select.group {
            match item {
                GroupItem::Expr(Expr { kind: ExprKind::Row { fields, explicit: false }, .. }) => written.extend(fields),
                GroupItem::Expr(expr) => written.push(expr),
                // It groups nothing.
                GroupItem::Empty(_) => {}
                _ => return None,
            }
        }
        if written.len() != query.groups.len() {
            return None;
        }
        if written.is_empty() {
            return Some("()".to_owned());
        }
        let item = |(expr, bound): (&Expr, &plan::Expr)| {
            let target = query.targets.iter().position(|target| crate::binder::same(&target.expr, bound));
            // An item of the select list is written from where it was bound.
            let listed = target.and_then(|target| {
                let written = self.written_target(&select.targets, target)?;
                Some((&written.expr, &query.targets[target].expr))
            });
            let (written, bound) = listed.unwrap_or((expr, bound));
            self.text_of(written, bound, Shown::Sorted).unwrap_or_else(|| {
                let text = self.piece_of(|writer| writer.as_written(written, Some(bound)));
                if matches!(written.kind, ExprKind::Column(_)) { text } else { format!("({text})") }
            })
        };
        // As in PostgreSQL, an expression that is listed twice is written once.
        let groups = written.into_iter().zip(&query.groups).enumerate();
        let groups = groups.filter(|(place, _)| !query.repeated_groups.contains(place));
        let items: Vec<String> = groups.map(|(_, pair)| item(pair)).collect();
        Some(items.join(", "))
    }

    /// The select list, with `*` written out where it is known what it stands for.
    fn targets(&mut self, targets: &[Target], are_names_visible: bool) {
        let mut entries = self.bound_query().map(|query| query.output());
        let mut number = 0;
        for target in targets {
            let width = self.names.star_width(target.expr.location);
            let width = width.filter(|_| is_star(&target.expr) && entries.is_some());
            for _ in 0..width.unwrap_or(1) {
                if number > 0 {
                    self.line(",\n    ");
                }
                number += 1;
                match entries.as_mut().and_then(Iterator::next) {
                    Some(entry) if width.is_some() => self.part_of_star(target, entry),
                    entry => self.target(target, entry, are_names_visible),
                }
            }
        }
    }

    /// One of the columns that `*` stands for.
    fn part_of_star(&mut self, star: &Target, entry: &bound::TargetEntry) {
        let name = &entry.column.name;
        let is_variable = matches!(entry.expr.kind, plan::ExprKind::Variable(_));
        let text = match star.expr.kind {
            ExprKind::Star(_) if !is_variable => self.bound.map(|bound| bound.merged(&entry.expr, name)),
            ExprKind::Star(_) => self.bound_text(&Expr::new(ExprKind::Default, -1), &entry.expr, Shown::Full),
            _ => self.bound_text(&star.expr, &entry.expr, Shown::Full),
        };
        let text = text.unwrap_or_default();
        self.push(&text);
        let name = quote_identifier(name);
        if text != name && !(is_variable && text.ends_with(&format!(".{name}"))) {
            self.push(&format!(" AS {name}"));
        }
    }

    fn target(&mut self, target: &Target, entry: Option<&bound::TargetEntry>, is_visible: bool) {
        let start = self.text.len();
        let bound = entry.map(|entry| &entry.expr);
        self.shown(&target.expr, bound, Shown::Full);
        let name = target.name.clone().unwrap_or_else(|| column_name(&target.expr));
        let written = &self.text[start..];
        let is_name = match (&target.expr.kind, bound) {
            (ExprKind::Column(_), None) => true,
            (ExprKind::Column(_), Some(bound)) => !self.is_whole_row(Some(bound)),
            (_, Some(bound)) => matches!(bound.kind, plan::ExprKind::Variable(_)),
            _ => false,
        };
        let quoted = quote_identifier(&name);
        let says_so_itself = match &target.expr.kind {
            ExprKind::Star(_) => true,
            _ if is_name => written == quoted || written.ends_with(&format!(".{quoted}")),
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
            self.nulls(item.nulls_first);
        }
    }

    /// Where an item of ORDER BY says that NULLs stand.
    fn nulls(&mut self, first: Option<bool>) {
        match first {
            None => {}
            Some(true) => self.push(" NULLS FIRST"),
            Some(false) => self.push(" NULLS LAST"),
        }
    }
}
