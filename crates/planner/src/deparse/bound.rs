//! Expressions of a stored query as PostgreSQL shows them: with the casts, types and operators that binding has put in.
//!
//! A view's clauses are laid out as they stand in its text; each expression in them is written from what it was bound to. Both trees are
//! walked side by side. An expression that can't be written from its bound form, since the two don't fit together or since the form has
//! lost the words it was written with, is written as it stands in the text.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use base::Oid;
use plan::bound::{Query, RelationKind, WindowSpec};
use plan::{FrameExclusion, SubqueryBody, Variable, WindowFrame, WindowFrameBound, WindowFrameMode, bound};
use syntax::tree::{self, Expr, ExprKind, SubqueryKind};
use types::reg_types::quote_identifier;
use types::{SqlType, oids};

use super::expr::{Deparser, Names, Qualify, sort_suffix};
use super::naming::{Catalogs, ScopeNames};
use super::query::{INDENT, Writer};
use crate::binder;

/// The bound side of a query that is being written.
pub struct Bound<'q> {
    catalogs: Catalogs<'q>,
    /// The queries around the place that is being written, the innermost last.
    scopes: RefCell<Vec<Scope<'q>>>,
}

/// A query around the place that is being written.
struct Scope<'q> {
    /// Its bound form; nothing if that is not known.
    query: Option<&'q Query>,
    names: ScopeNames,
    subqueries: HashMap<u32, &'q Query>,
    /// The joins with aliases that are being written: within one, its alias is not known yet.
    open: Vec<*const tree::Join>,
}

impl<'q> Bound<'q> {
    /// Nothing is known of any query yet.
    pub fn new(catalogs: Catalogs<'q>) -> Bound<'q> {
        Bound { catalogs, scopes: RefCell::default() }
    }

    /// Whether the text is written to be stored.
    pub(super) fn is_stored(&self) -> bool {
        self.catalogs.qualify == Qualify::Always
    }

    fn deparser<'d>(&'d self, names: &'d dyn Names) -> Deparser<'d> {
        Deparser::new(self.catalogs.now, names, self.catalogs.qualify).indented()
    }

    pub(super) fn enter(&self, written: &tree::Query, query: Option<&'q Query>) {
        let mut scopes = self.scopes.borrow_mut();
        let read = match (self.catalogs.qualify, query) {
            (Qualify::Always, Some(query)) => Some(read_outside(query, &scopes)),
            _ => None,
        };
        let is_taken = |name: &str| match &read {
            Some(read) => read.iter().any(|alias| alias == name),
            None => scopes.iter().any(|scope| scope.names.has(name)),
        };
        let names = query.map(|query| ScopeNames::new(self.catalogs, written, query, &is_taken)).unwrap_or_default();
        let subqueries = query.map(subqueries_of).unwrap_or_default();
        scopes.push(Scope { query, names, subqueries, open: Vec::new() });
    }

    pub(super) fn leave(&self) {
        self.scopes.borrow_mut().pop();
    }

    /// The answer of `ask` to the names of the query that is being written.
    pub(super) fn names<T>(&self, ask: impl FnOnce(&ScopeNames) -> Option<T>) -> Option<T> {
        ask(&self.scopes.borrow().last()?.names)
    }

    /// Whether a common table expression around the place has this name, or one beside it.
    pub(super) fn is_cte(&self, name: &str) -> bool {
        let scopes = self.scopes.borrow();
        let mut ctes = scopes.iter().filter_map(|scope| scope.query).flat_map(|query| &query.ctes);
        ctes.any(|cte| cte.name.as_str() == name)
    }

    /// From here to [`Bound::close`], what a join with an alias consists of is written.
    pub(super) fn open(&self, join: &tree::Join) {
        if let Some(scope) = self.scopes.borrow_mut().last_mut().filter(|_| join.alias.is_some()) {
            scope.open.push(join);
        }
    }

    pub(super) fn close(&self, join: &tree::Join) {
        if let Some(scope) = self.scopes.borrow_mut().last_mut().filter(|_| join.alias.is_some()) {
            scope.open.pop();
        }
    }

    /// The answer of `ask` to the scope that a variable belongs to.
    fn scope_of<T>(&self, variable: &Variable, ask: impl FnOnce(&Scope<'q>) -> Option<T>) -> Option<T> {
        let scopes = self.scopes.borrow();
        let place = scopes.len().checked_sub(1 + variable.level as usize)?;
        ask(&scopes[place])
    }

    /// The name of a column with that of its table in front of it; and its type, if it is a column of an entry's own.
    pub(super) fn variable(&self, variable: &Variable) -> Option<(String, SqlType)> {
        self.scope_of(variable, |scope| {
            let entry = variable.relation as usize;
            if let Some((name, oid)) = system_column(variable.attribute) {
                // A join's alias hides the system columns below it.
                if scope.names.alias_around(entry, &scope.open).is_some() {
                    return None;
                }
                let alias = quote_identifier(&scope.names.entry(entry)?.alias);
                return Some((format!("{alias}.{name}"), SqlType::new(oid)));
            }
            let column = scope.query?.relations.get(entry)?.columns.get(variable.attribute as usize)?;
            let [alias, name] = scope.names.column(variable, &scope.open)?;
            Some((format!("{}.{}", quote_identifier(alias), quote_identifier(name)), column.sql_type))
        })
    }

    /// The name of a column that a join has computed of two, which stands in a select list as `*` or a part of it.
    pub(super) fn merged(&self, expr: &plan::Expr, name: &str) -> String {
        let mut alias = None;
        each_variable(expr, &mut |variable| {
            if alias.is_none() {
                let around = |scope: &Scope<'_>| {
                    scope.names.alias_around(variable.relation as usize, &scope.open).map(str::to_owned)
                };
                alias = self.scope_of(variable, around);
            }
        });
        let qualifier = alias.map_or_else(String::new, |alias| format!("{}.", quote_identifier(&alias)));
        format!("{qualifier}{}", quote_identifier(name))
    }

    /// The name of the item of FROM whose row, as a whole, the expression is.
    pub(super) fn whole_row(&self, row: &plan::Expr) -> Option<String> {
        // An outer join may have made up the row.
        let row = binder::row_of_nullable_side(row).unwrap_or(row);
        let plan::ExprKind::Row { fields, is_whole: true, .. } = &row.kind else { return None };
        let variable_of = |field: &plan::Expr| match &field.kind {
            plan::ExprKind::Variable(variable) => Some(*variable),
            _ => None,
        };
        let variables: Vec<Variable> = fields.iter().map(variable_of).collect::<Option<_>>()?;
        let first = variables.first()?;
        if variables.iter().any(|other| other.level != first.level) {
            return None;
        }
        self.scope_of(first, |scope| scope.names.row(&variables, &scope.open).map(str::to_owned))
    }

    /// The subquery of this number in an expression of the query that is being written.
    fn subquery(&self, id: u32) -> Option<&'q Query> {
        self.scopes.borrow().last()?.subqueries.get(&id).copied()
    }

    /// The query that is being written.
    pub(super) fn innermost(&self) -> Option<&'q Query> {
        self.scopes.borrow().last().and_then(|scope| scope.query)
    }
}

/// The names of the places that a bound expression reads, while the query around it is being written.
struct BoundNames<'w, 'q> {
    writer: &'w Writer<'q>,
    bound: &'q Bound<'q>,
    /// The subqueries of the expression as it was written, by where they stand.
    subqueries: HashMap<tree::Location, &'w tree::Subquery>,
    /// Those among them that have been met.
    met: RefCell<HashSet<tree::Location>>,
    has_failed: Cell<bool>,
}

impl<'w, 'q> BoundNames<'w, 'q> {
    fn new(writer: &'w Writer<'q>, bound: &'q Bound<'q>) -> BoundNames<'w, 'q> {
        let (subqueries, met) = (HashMap::new(), RefCell::default());
        BoundNames { writer, bound, subqueries, met, has_failed: Cell::new(false) }
    }

    fn fail(&self) -> String {
        self.has_failed.set(true);
        String::new()
    }
}

/// The names of the columns that a query reads of the queries around it.
fn read_outside(query: &Query, scopes: &[Scope<'_>]) -> Vec<String> {
    let mut read = Vec::new();
    query.for_each_expr(0, &mut |expr, depth| {
        bound::for_each_inner(expr, depth, &mut |inner, depth| {
            let plan::ExprKind::Variable(variable) = &inner.kind else { return };
            let scope = variable.level.checked_sub(depth + 1).and_then(|up| scopes.iter().rev().nth(up as usize));
            let Some(scope) = scope else { return };
            let (entry, names) = (variable.relation as usize, &scope.names);
            let alias = names.alias_around(entry, &scope.open).map(str::to_owned);
            read.extend(alias.or_else(|| names.entry(entry).map(|entry| entry.alias.clone())));
        });
    });
    read
}

/// The name and type of a system column.
fn system_column(attribute: i32) -> Option<(&'static str, Oid)> {
    binder::SYSTEM_COLUMNS.iter().find(|(_, number, _)| *number == attribute).map(|(name, _, oid)| (*name, *oid))
}

/// Visits the columns that an expression itself reads, subqueries aside.
fn each_variable(expr: &plan::Expr, visit: &mut dyn FnMut(&Variable)) {
    if let plan::ExprKind::Variable(variable) = &expr.kind {
        visit(variable);
    }
    expr.for_each_child(&mut |child| each_variable(child, visit));
}

impl Names for BoundNames<'_, '_> {
    fn column(&self, _slot: u32) -> (String, Option<SqlType>) {
        (self.fail(), None)
    }

    fn outer(&self, _index: u32, _deparser: &Deparser<'_>) -> String {
        self.fail()
    }

    fn variable(&self, variable: &Variable) -> (String, Option<SqlType>) {
        match self.bound.variable(variable) {
            Some((name, sql_type)) => (name, Some(sql_type)),
            None => (self.fail(), None),
        }
    }

    fn subquery(&self, subquery: &plan::Subquery, deparser: &Deparser<'_>) -> String {
        let SubqueryBody::Bound(_) = &subquery.body else { return self.fail() };
        let left = match &subquery.kind {
            plan::SubqueryKind::Quantified { left, comparisons, .. } => {
                let is_alone = left.len() == 1;
                let declared = |place: usize| match comparisons.get(place).map(|comparison| &comparison.kind) {
                    Some(plan::ExprKind::Call(call)) if comparisons.len() == left.len() => {
                        call.operator.map(|own| own.left)
                    }
                    _ => None,
                };
                let texts: Vec<String> = (left.iter().enumerate())
                    .map(|(place, expr)| deparser.tested_text(expr, declared(place).unwrap_or(Oid::INVALID), is_alone))
                    .collect();
                if is_alone { texts.concat() } else { format!("({})", texts.join(", ")) }
            }
            _ => String::new(),
        };
        let Some(written) = self.subqueries.get(&subquery.location) else { return self.fail() };
        self.met.borrow_mut().insert(subquery.location);
        // A row that is compared with the one row of a subquery.
        let is_quantified = matches!(subquery.kind, plan::SubqueryKind::Quantified { .. });
        if is_quantified && !matches!(written.kind, SubqueryKind::Quantified { .. }) {
            return self.fail();
        }
        let inner = self.writer.subquery_text(written, subquery);
        match &written.kind {
            SubqueryKind::Scalar => format!("({inner})"),
            SubqueryKind::Exists => format!("(EXISTS ({inner}))"),
            SubqueryKind::Array => format!("ARRAY({inner})"),
            SubqueryKind::Quantified { operator: None, .. } => format!("({left} IN ({inner}))"),
            SubqueryKind::Quantified { operator: Some(operator), all: false, .. } if operator.name == "=" => {
                format!("({left} IN ({inner}))")
            }
            SubqueryKind::Quantified { operator: Some(operator), all, .. } => {
                let operator = self.writer.piece_of(|writer| writer.operator(operator));
                format!("({left} {operator} {} ({inner}))", if *all { "ALL" } else { "ANY" })
            }
        }
    }

    fn whole_row(&self, row: &plan::Expr) -> Option<String> {
        let alias = self.bound.whole_row(row);
        match &row.kind {
            // A row of FROM that cannot be named from here.
            plan::ExprKind::Row { fields, is_whole: true, .. }
                if alias.is_none()
                    && row.sql_type.oid != oids::RECORD
                    && fields.iter().all(|field| matches!(field.kind, plan::ExprKind::Variable(_))) =>
            {
                Some(self.fail())
            }
            _ => alias.map(|alias| format!("{}.*", quote_identifier(&alias))),
        }
    }

    fn over(&self, window: u32, frame: &WindowFrame, deparser: &Deparser<'_>) -> String {
        let Some(query) = self.bound.innermost() else { return self.fail() };
        match query.windows.get(window as usize) {
            // A call may have a frame of its own over a named window.
            Some(spec @ WindowSpec { name: Some(name), .. }) if is_frame_of(spec, frame, deparser) => {
                quote_identifier(name)
            }
            Some(spec) => window_text(spec, frame, deparser),
            None => self.fail(),
        }
    }
}

/// A window's definition in parentheses.
fn window_text(spec: &WindowSpec, frame: &WindowFrame, deparser: &Deparser<'_>) -> String {
    let mut pieces = Vec::new();
    if !spec.partition.is_empty() {
        let list: Vec<String> = spec.partition.iter().map(|expr| sorted_text(expr, deparser)).collect();
        pieces.push(format!("PARTITION BY {}", list.join(", ")));
    }
    if !spec.order.is_empty() {
        let key = |key: &plan::SortKey| {
            format!("{}{}", sorted_text(&key.expr, deparser), sort_suffix(key.descending, key.nulls_first))
        };
        let list: Vec<String> = spec.order.iter().map(key).collect();
        pieces.push(format!("ORDER BY {}", list.join(", ")));
    }
    if spec.has_own_frame || frame_text(frame, deparser) != frame_text(&DEFAULT_FRAME, deparser) {
        pieces.push(frame_text(frame, deparser));
    }
    format!("({})", pieces.join(" "))
}

/// Whether a frame is the one that the named window has.
fn is_frame_of(spec: &WindowSpec, frame: &WindowFrame, deparser: &Deparser<'_>) -> bool {
    frame_text(spec.frame.as_ref().unwrap_or(&DEFAULT_FRAME), deparser) == frame_text(frame, deparser)
}

fn frame_text(frame: &WindowFrame, deparser: &Deparser<'_>) -> String {
    let mode = match frame.mode {
        WindowFrameMode::Range => "RANGE",
        WindowFrameMode::Rows => "ROWS",
        WindowFrameMode::Groups => "GROUPS",
    };
    let bound = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
        WindowFrameBound::Preceding(offset) => format!("{} PRECEDING", deparser.text(offset)),
        WindowFrameBound::CurrentRow => "CURRENT ROW".to_owned(),
        WindowFrameBound::Following(offset) => format!("{} FOLLOWING", deparser.text(offset)),
        WindowFrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
    };
    let exclusion = match frame.exclusion {
        FrameExclusion::NoOthers => "",
        FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
        FrameExclusion::Group => " EXCLUDE GROUP",
        FrameExclusion::Ties => " EXCLUDE TIES",
    };
    format!("{mode} BETWEEN {} AND {}{exclusion}", bound(&frame.start), bound(&frame.end))
}

/// An expression that is sorted or grouped by.
fn sorted_text(expr: &plan::Expr, deparser: &Deparser<'_>) -> String {
    // Without its type, a constant would be taken for the number of a column, or be refused.
    if let Some(value) = expr.as_constant() {
        return format!("{}::{}", deparser.literal(value, expr.sql_type), deparser.type_name(expr.sql_type));
    }
    let text = deparser.full_text(expr);
    if deparser.wraps_key(expr) { format!("({text})") } else { text }
}

/// How much of a cast at the top of an expression is shown, and what stands around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// With a cast that was not written.
    Full,
    /// Without that cast: the place where the text is read adds it.
    Plain,
    /// As a key of ORDER BY or GROUP BY.
    Sorted,
}

impl<'a> Writer<'a> {
    /// The bound form of the query that is being written, if it is known.
    pub(super) fn bound_query(&self) -> Option<&'a Query> {
        self.bound.and_then(Bound::innermost)
    }

    /// The text of an expression from its bound form; nothing if it has to be written as it stands in the text.
    pub(super) fn bound_text(&self, written: &Expr, expr: &plan::Expr, shown: Shown) -> Option<String> {
        let bound = self.bound?;
        bound.innermost()?;
        let mut subqueries = HashMap::new();
        if !collect(written, &mut subqueries) {
            return None;
        }
        let names = BoundNames { subqueries, ..BoundNames::new(self, bound) };
        let deparser = bound.deparser(&names).pretty(self.pretty).at_level(INDENT + self.indent);
        let text = match shown {
            Shown::Full => deparser.full_text(expr) + &deparser.type_of_row(expr),
            Shown::Plain => deparser.text(expr),
            Shown::Sorted => sorted_text(expr, &deparser),
        };
        let is_whole = !names.has_failed.get() && names.met.borrow().len() == names.subqueries.len();
        is_whole.then_some(text)
    }

    /// Writes an expression as it stands in the text, with the names that its bound form finds for its columns now.
    pub(super) fn as_written(&mut self, written: &Expr, bound: Option<&plan::Expr>) {
        let places = self.places_of(bound);
        let before = std::mem::replace(&mut self.places, places);
        self.bare(written);
        self.places = before;
    }

    /// The columns, rows and subqueries of expressions, by where they stand in the text.
    pub(super) fn places_of<'e>(&self, exprs: impl IntoIterator<Item = &'e plan::Expr>) -> Places<'a> {
        let (mut places, Some(bound)) = (Places::default(), self.bound) else { return Places::default() };
        let Some(query) = bound.innermost() else { return places };
        for expr in exprs {
            places.add(expr, bound, query);
        }
        places
    }

    /// The text of a call in FROM from its bound form.
    pub(super) fn bound_call(&self, written: &Expr, call: &plan::SetCall) -> Option<String> {
        let bound = self.bound?;
        let mut subqueries = HashMap::new();
        if !collect(written, &mut subqueries) || !subqueries.is_empty() {
            return None;
        }
        let names = BoundNames::new(self, bound);
        let deparser = bound.deparser(&names).pretty(self.pretty);
        let text = deparser.set_call(call);
        (!names.has_failed.get()).then_some(text)
    }

    /// A window of the WINDOW clause from its bound form.
    pub(super) fn bound_window(&self, name: &str) -> Option<String> {
        let bound = self.bound?;
        let query = bound.innermost()?;
        let spec = query.windows.iter().find(|spec| spec.name.as_ref().is_some_and(|own| own.as_str() == name))?;
        let names = BoundNames::new(self, bound);
        let deparser = bound.deparser(&names).pretty(self.pretty);
        let text = match &spec.frame {
            Some(frame) => window_text(spec, frame, &deparser),
            None if spec.has_own_frame => return None,
            None => window_text(spec, &DEFAULT_FRAME, &deparser),
        };
        (!names.has_failed.get()).then_some(text)
    }

    /// Rows of VALUES from their bound form.
    pub(super) fn bound_rows(&self, written: &[Vec<Expr>]) -> Option<String> {
        let query = self.bound_query()?;
        let rows = query.relations.iter().find_map(|relation| match &relation.kind {
            RelationKind::Values(rows) => Some(rows),
            _ => None,
        })?;
        if rows.len() != written.len() {
            return None;
        }
        self.rows_text(written, rows)
    }

    /// Rows of VALUES.
    pub(super) fn rows_text(&self, written: &[Vec<Expr>], rows: &[Vec<plan::Expr>]) -> Option<String> {
        let row = |(written, row): (&Vec<Expr>, &Vec<plan::Expr>)| {
            let value = |(written, value): (&Expr, &plan::Expr)| {
                self.bound_text(written, value, Shown::Plain)
                    .unwrap_or_else(|| self.piece_of(|writer| writer.as_written(written, Some(value))))
            };
            let values: Vec<String> = written.iter().zip(row).map(value).collect();
            (written.len() == row.len()).then(|| format!("({})", values.join(",")))
        };
        let rows: Option<Vec<String>> = written.iter().zip(rows).map(row).collect();
        rows.map(|rows| rows.join(", "))
    }

    /// A subquery of an expression, whose bound form is known.
    fn subquery_text(&self, written: &syntax::tree::Subquery, subquery: &plan::Subquery) -> String {
        // The bound query lives as long as the one around it, which the borrow through the expression can't tell.
        let query = self.bound.and_then(|bound| bound.subquery(subquery.id));
        let mut inner = self.another();
        inner.next = query;
        inner.are_names_visible = false;
        inner.inner_query(&written.query);
        inner.into_text()
    }

    /// The text that `write` writes, on its own.
    pub(super) fn piece_of(&self, write: impl FnOnce(&mut Writer<'a>)) -> String {
        let mut inner = self.another();
        write(&mut inner);
        inner.into_text()
    }
}

/// The names that columns and rows have now, for expressions that are written as they stand in the text.
#[derive(Default)]
pub(super) struct Places<'q> {
    /// The names of columns and rows; nothing where a place stands for several.
    pub names: HashMap<tree::Location, Option<String>>,
    /// The subqueries.
    pub subqueries: HashMap<tree::Location, &'q Query>,
}

impl<'q> Places<'q> {
    fn add(&mut self, expr: &plan::Expr, bound: &Bound<'q>, query: &'q Query) {
        let row = bound.whole_row(expr);
        let (location, name) = match (&expr.kind, row) {
            (_, Some(alias)) => {
                let mut location = None;
                each_variable(expr, &mut |variable| location = Some(variable.location));
                (location, Some(format!("{}.*", quote_identifier(&alias))))
            }
            (plan::ExprKind::Variable(variable), None) => {
                (Some(variable.location), bound.variable(variable).map(|(name, _)| name))
            }
            (kind, None) => {
                if let plan::ExprKind::Subquery(subquery) = kind {
                    self.subqueries.extend(bound.subquery(subquery.id).map(|found| (subquery.location, found)));
                }
                expr.for_each_child(&mut |child| self.add(child, bound, query));
                if let plan::ExprKind::Window(call) = kind
                    && let Some(window) = query.windows.get(call.window as usize)
                {
                    window.partition.iter().for_each(|key| self.add(key, bound, query));
                    window.order.iter().for_each(|key| self.add(&key.expr, bound, query));
                }
                return;
            }
        };
        if let Some(location) = location.filter(|location| *location >= 0) {
            let known = self.names.entry(location).or_insert_with(|| name.clone());
            if *known != name {
                *known = None;
            }
        }
    }
}

/// The frame of a window that none was written for.
const DEFAULT_FRAME: WindowFrame = WindowFrame {
    mode: WindowFrameMode::Range,
    start: WindowFrameBound::UnboundedPreceding,
    end: WindowFrameBound::CurrentRow,
    exclusion: FrameExclusion::NoOthers,
};

/// The subqueries in the expressions of a query itself, by their numbers.
fn subqueries_of(query: &Query) -> HashMap<u32, &Query> {
    fn find<'e>(expr: &'e plan::Expr, found: &mut HashMap<u32, &'e Query>) {
        if let plan::ExprKind::Subquery(subquery) = &expr.kind
            && let SubqueryBody::Bound(query) = &subquery.body
        {
            found.insert(subquery.id, query);
        }
        expr.for_each_child(&mut |child| find(child, found));
    }
    let mut found = HashMap::new();
    query.for_each_expr(0, &mut |expr, depth| {
        if depth == 0 {
            find(expr, &mut found);
        }
    });
    found
}

/// Collects the subqueries of an expression by their places. False if it has words that its bound form has lost.
fn collect<'e>(expr: &'e Expr, found: &mut HashMap<tree::Location, &'e tree::Subquery>) -> bool {
    let mut all = |list: Vec<&'e Expr>| list.into_iter().all(|expr| collect(expr, found));
    match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Column(_)
        | ExprKind::Session(_)
        | ExprKind::Default
        | ExprKind::DefaultArgument(_) => true,
        ExprKind::Star(parts) => !parts.is_empty(),
        ExprKind::Collate { .. }
        | ExprKind::MultiAssignment { .. }
        | ExprKind::CurrentOf(_)
        | ExprKind::Unsupported(_) => false,
        ExprKind::Cast { input, .. } | ExprKind::Not(input) | ExprKind::NamedArgument { value: input, .. } => {
            collect(input, found)
        }
        ExprKind::NullTest { input, .. } | ExprKind::BooleanTest { input, .. } => collect(input, found),
        ExprKind::Operator { left, right, operator } => {
            operator.schema.is_none() && all(left.as_deref().into_iter().chain([&**right]).collect())
        }
        ExprKind::Quantified { left, array, .. } => all(vec![&**left, &**array]),
        ExprKind::In { left, list, .. } => all(std::iter::once(&**left).chain(list).collect()),
        ExprKind::Between { input, low, high, symmetric, .. } => !symmetric && all(vec![&**input, &**low, &**high]),
        ExprKind::Distinct { left, right, .. } => all(vec![&**left, &**right]),
        ExprKind::NullIf(left, right) => all(vec![&**left, &**right]),
        ExprKind::And(list)
        | ExprKind::Or(list)
        | ExprKind::Coalesce(list)
        | ExprKind::Greatest(list)
        | ExprKind::Least(list)
        | ExprKind::Array(list) => all(list.iter().collect()),
        ExprKind::Row { fields, .. } => all(fields.iter().collect()),
        ExprKind::Case { operand, whens, otherwise } => {
            let arms = whens.iter().flat_map(|(condition, result)| [condition, result]);
            all(operand.as_deref().into_iter().chain(arms).chain(otherwise.as_deref()).collect())
        }
        ExprKind::Function(call) => {
            // The bound form does not tell where the word stood.
            !call.variadic && {
                let order = call.order.iter().map(|key| &key.expr);
                let window = call
                    .over
                    .iter()
                    .flat_map(|window| window.partition.iter().chain(window.order.iter().map(|key| &key.expr)));
                all(call.arguments.iter().chain(order).chain(&call.filter).chain(window).collect())
            }
        }
        ExprKind::Subquery(subquery) => {
            let left = match &subquery.kind {
                SubqueryKind::Quantified { left, .. } => collect(left, found),
                _ => true,
            };
            found.insert(expr.location, &**subquery);
            left
        }
        ExprKind::Indirection { input, .. } => collect(input, found),
    }
}
