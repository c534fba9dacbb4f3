//! Expressions of a stored query as PostgreSQL shows them: with the casts, types and operators that binding has put in.
//!
//! A view's clauses are laid out as they stand in its text; each expression in them is written from what it was bound to. Both trees are
//! walked side by side. An expression that can't be written from its bound form, since the two don't fit together or since the form has
//! lost the words it was written with, is written as it stands in the text.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use super::expr::{Deparser, Names, Qualify, is_shown_as_call, sort_suffix};
use super::query::{INDENT, Writer};
use crate::binder::{self, Query, RelationKind, WindowSpec};
use crate::plan::{self, FrameExclusion, SubqueryBody, Variable, WindowFrame, WindowFrameBound, WindowFrameMode};
use crate::session::{CatalogView, quote_identifier};
use crate::tree::{Expr, ExprKind, FunctionCall, SubqueryKind};
use crate::types::{SqlType, oids};

/// The bound side of a query that is being written.
pub(super) struct Bound<'q> {
    view: &'q CatalogView,
    /// The queries around the place that is being written, the innermost last.
    scopes: RefCell<Vec<Scope<'q>>>,
}

/// A query around the place that is being written.
struct Scope<'q> {
    /// Its bound form; nothing if that is not known.
    query: Option<&'q Query>,
    /// The names of its range table's entries: none is like another one of this query or of those around it.
    aliases: Vec<String>,
}

impl<'q> Bound<'q> {
    pub(super) fn new(view: &'q CatalogView) -> Bound<'q> {
        Bound { view, scopes: RefCell::default() }
    }

    pub(super) fn enter(&self, query: Option<&'q Query>) {
        let mut scopes = self.scopes.borrow_mut();
        let mut aliases: Vec<String> = Vec::new();
        for relation in query.iter().flat_map(|query| &query.relations) {
            let is_taken =
                |name: &String| aliases.contains(name) || scopes.iter().any(|scope| scope.aliases.contains(name));
            let plain = relation.alias.to_string();
            let numbered = (1..).map(|number| format!("{plain}_{number}"));
            let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !is_taken(name));
            aliases.push(free.unwrap_or(plain));
        }
        // The operands of a set operation are not named.
        if query.is_some_and(|query| query.set_operation.is_some()) {
            aliases.clear();
        }
        scopes.push(Scope { query, aliases });
    }

    /// The name of an entry of the range table of the query that is being written.
    pub(super) fn alias(&self, relation: usize) -> Option<String> {
        self.scopes.borrow().last()?.aliases.get(relation).cloned()
    }

    pub(super) fn leave(&self) {
        self.scopes.borrow_mut().pop();
    }

    /// The name of the range-table entry whose row, as a whole, the expression is.
    pub(super) fn whole_row(&self, row: &plan::Expr) -> Option<String> {
        let (fields, shape) = match &row.kind {
            plan::ExprKind::Row { fields, shape } => (fields, shape),
            // A row that an outer join may have made up.
            plan::ExprKind::Case { operand: None, whens, otherwise: Some(otherwise) } => {
                let ([when], plan::ExprKind::Row { fields, shape }) = (whens.as_slice(), &otherwise.kind) else {
                    return None;
                };
                let plan::ExprKind::IsNull(mark) = &when.condition.kind else { return None };
                let says_so = match &mark.kind {
                    plan::ExprKind::Variable(variable) => variable.attribute < 0,
                    _ => binder::same(mark, otherwise),
                };
                if !says_so || when.result.as_constant().is_none_or(|value| !value.is_null()) {
                    return None;
                }
                (fields, shape)
            }
            _ => return None,
        };
        let variable_of = |field: &plan::Expr| match &field.kind {
            plan::ExprKind::Variable(variable) => Some(*variable),
            _ => None,
        };
        let variables: Vec<Variable> = fields.iter().map(variable_of).collect::<Option<_>>()?;
        let first = variables.first()?;
        let scopes = self.scopes.borrow();
        let scope = &scopes[scopes.len().checked_sub(1 + first.level as usize)?];
        let relation = scope.query?.relations.get(first.relation as usize)?;
        let columns = || relation.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
        let is_whole = variables.iter().all(|other| other.level == first.level && other.relation == first.relation)
            && columns().map(|(place, _)| place as i32).eq(variables.iter().map(|variable| variable.attribute))
            && columns().map(|(_, column)| column.name.as_str()).eq(shape.fields.iter().map(|(name, _)| name.as_str()));
        if is_whole { scope.aliases.get(first.relation as usize).cloned() } else { None }
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
    /// The subqueries of the expression as it was written, in their order.
    subqueries: RefCell<VecDeque<&'w crate::tree::Subquery>>,
    has_failed: Cell<bool>,
}

impl BoundNames<'_, '_> {
    fn fail(&self) -> String {
        self.has_failed.set(true);
        String::new()
    }
}

/// The names of the system columns, by their numbers from -1 down.
const SYSTEM_COLUMNS: [&str; 6] = ["ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"];

impl Names for BoundNames<'_, '_> {
    fn column(&self, _slot: u32) -> (String, Option<SqlType>) {
        (self.fail(), None)
    }

    fn outer(&self, _index: u32, _deparser: &Deparser<'_>) -> String {
        self.fail()
    }

    fn variable(&self, variable: &Variable) -> (String, Option<SqlType>) {
        let scopes = self.bound.scopes.borrow();
        let place = scopes.len().checked_sub(1 + variable.level as usize);
        let scope = place.map(|place| &scopes[place]);
        let entry = variable.relation as usize;
        let relation = scope.and_then(|scope| scope.query).and_then(|query| query.relations.get(entry));
        let alias = scope.and_then(|scope| scope.aliases.get(entry));
        let (Some(relation), Some(alias)) = (relation, alias) else { return (self.fail(), None) };
        let alias = quote_identifier(alias);
        if variable.attribute < 0 {
            let name = SYSTEM_COLUMNS.get((-variable.attribute - 1) as usize).copied().unwrap_or_default();
            return (format!("{alias}.{name}"), None);
        }
        match relation.columns.get(variable.attribute as usize) {
            Some(column) => (format!("{alias}.{}", quote_identifier(&column.name)), Some(column.sql_type)),
            None => (self.fail(), None),
        }
    }

    fn subquery(&self, subquery: &plan::Subquery, deparser: &Deparser<'_>) -> String {
        let SubqueryBody::Bound(_) = &subquery.body else { return self.fail() };
        let left = match &subquery.kind {
            plan::SubqueryKind::Quantified { left, .. } => {
                let left: Vec<String> = left.iter().map(|expr| deparser.full_text(expr)).collect();
                if left.len() == 1 { left.concat() } else { format!("({})", left.join(", ")) }
            }
            _ => String::new(),
        };
        let Some(written) = self.subqueries.borrow_mut().pop_front() else { return self.fail() };
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
            plan::ExprKind::Row { .. } if alias.is_none() && row.sql_type.oid != oids::RECORD => Some(self.fail()),
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
    let text = deparser.full_text(expr);
    if is_shown_as_call(expr) { format!("({text})") } else { text }
}

/// How much of a cast at the top of an expression is shown, and what stands around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// With a cast that was not written.
    Full,
    /// Without: whatever reads it adds the cast.
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
        let mut subqueries = Vec::new();
        if !collect(written, &mut subqueries) {
            return None;
        }
        let names = BoundNames {
            writer: self,
            bound,
            subqueries: RefCell::new(subqueries.into()),
            has_failed: Cell::new(false),
        };
        let deparser = Deparser::new(bound.view, &names, Qualify::WhereNeeded)
            .indented()
            .pretty(self.pretty)
            .at_level(INDENT + self.indent);
        let text = match shown {
            Shown::Full => deparser.full_text(expr) + &deparser.type_of_row(expr),
            Shown::Plain => deparser.text(expr),
            Shown::Sorted => sorted_text(expr, &deparser),
        };
        let is_whole = !names.has_failed.get() && names.subqueries.borrow().is_empty();
        is_whole.then_some(text)
    }

    /// The text of a call in FROM from its bound form.
    pub(super) fn bound_call(&self, written: &Expr, call: &plan::SetCall) -> Option<String> {
        let bound = self.bound?;
        let mut subqueries = Vec::new();
        if !collect(written, &mut subqueries) || !subqueries.is_empty() {
            return None;
        }
        let names = BoundNames { writer: self, bound, subqueries: RefCell::default(), has_failed: Cell::new(false) };
        let deparser = Deparser::new(bound.view, &names, Qualify::WhereNeeded).indented().pretty(self.pretty);
        let text = deparser.set_call(call);
        (!names.has_failed.get()).then_some(text)
    }

    /// A window of the WINDOW clause from its bound form.
    pub(super) fn bound_window(&self, name: &str) -> Option<String> {
        let bound = self.bound?;
        let query = bound.innermost()?;
        let spec = query.windows.iter().find(|spec| spec.name.as_ref().is_some_and(|own| own.as_str() == name))?;
        let names = BoundNames { writer: self, bound, subqueries: RefCell::default(), has_failed: Cell::new(false) };
        let deparser = Deparser::new(bound.view, &names, Qualify::WhereNeeded).indented().pretty(self.pretty);
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
            let values = written.iter().zip(row).map(|(written, value)| self.bound_text(written, value, Shown::Plain));
            let values: Option<Vec<String>> = values.collect();
            values.map(|values| format!("({})", values.join(",")))
        };
        let rows: Option<Vec<String>> = written.iter().zip(rows).map(row).collect();
        rows.map(|rows| rows.join(", "))
    }

    /// A subquery of an expression, whose bound form is known.
    fn subquery_text(&self, written: &crate::tree::Subquery, subquery: &plan::Subquery) -> String {
        // The bound query lives as long as the one around it, which the borrow through the expression can't tell.
        let query = self.bound_query().and_then(|outer| find_subquery(outer, subquery.id));
        let mut inner = self.another();
        inner.next = query;
        inner.are_names_visible = false;
        inner.inner_query(&written.query);
        inner.into_text()
    }

    /// The text that `write` writes, on its own.
    fn piece_of(&self, write: impl FnOnce(&mut Writer<'a>)) -> String {
        let mut inner = self.another();
        write(&mut inner);
        inner.into_text()
    }
}

/// The frame of a window that none was written for.
const DEFAULT_FRAME: WindowFrame = WindowFrame {
    mode: WindowFrameMode::Range,
    start: WindowFrameBound::UnboundedPreceding,
    end: WindowFrameBound::CurrentRow,
    exclusion: FrameExclusion::NoOthers,
};

/// The subquery of this number in the expressions of a query itself.
fn find_subquery(query: &Query, id: u32) -> Option<&Query> {
    fn find<'e>(expr: &'e plan::Expr, id: u32, found: &mut Option<&'e Query>) {
        if let plan::ExprKind::Subquery(subquery) = &expr.kind
            && let SubqueryBody::Bound(query) = &subquery.body
            && subquery.id == id
        {
            *found = Some(query);
        }
        expr.for_each_child(&mut |child| find(child, id, found));
    }
    let mut found = None;
    query.for_each_expr(0, &mut |expr, depth| {
        if depth == 0 && found.is_none() {
            find(expr, id, &mut found);
        }
    });
    found
}

/// Collects the subqueries of an expression in their order. False if it has words that its bound form has lost.
fn collect<'e>(expr: &'e Expr, found: &mut Vec<&'e crate::tree::Subquery>) -> bool {
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
            !has_lost_words(call) && {
                let order = call.order.iter().map(|key| &key.expr);
                all(call.arguments.iter().chain(order).chain(&call.filter).collect())
            }
        }
        ExprKind::Subquery(subquery) => {
            let left = match &subquery.kind {
                SubqueryKind::Quantified { left, .. } => collect(left, found),
                _ => true,
            };
            found.push(subquery);
            left
        }
        ExprKind::Indirection { input, .. } => collect(input, found),
    }
}

/// Whether a call is shown in words that its bound form does not keep.
fn has_lost_words(call: &FunctionCall) -> bool {
    call.within_group || call.variadic || call.sql_syntax && call.name.name.as_str() != "extract"
}
