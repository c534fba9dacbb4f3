//! From the grammar's protobuf tree to ours.

mod ddl;
mod expr;
mod later;
mod query;
mod statement;
mod utility;

use base::{Error, Result};
use pg_query::NodeEnum;
use pg_query::protobuf::{self as pb, Node};

use super::{STORED_DEPTH_MAX, errors};
use crate::tree::{Expr, Location, Name, ParsedStatement, QualifiedName, Query, QueryBody, Statement, TypeName};

/// All statements of a text, which may be nested up to `depth_max`.
pub(super) fn statements(result: &pb::ParseResult, text: &str, depth_max: u32) -> Result<Vec<ParsedStatement>> {
    convert(result, text, || Converter { depth_max, ..Converter::of(text) })
}

/// All statements of a text that was written to be stored: default arguments have a form there.
pub(super) fn stored_statements(result: &pb::ParseResult, text: &str) -> Result<Vec<ParsedStatement>> {
    convert(result, text, || Converter { has_default_arguments: true, ..Converter::of(text) })
}

fn convert<'t>(
    result: &pb::ParseResult,
    text: &'t str,
    converter: impl Fn() -> Converter<'t>,
) -> Result<Vec<ParsedStatement>> {
    let mut statements = Vec::with_capacity(result.stmts.len());
    for raw in &result.stmts {
        let Some(node) = node(&raw.stmt) else { continue };
        let start = (raw.stmt_location.max(0) as usize).min(text.len());
        let end = if raw.stmt_len > 0 { start + raw.stmt_len as usize } else { text.len() };
        let mut converter = converter();
        // With its semicolon.
        converter.statement = (start, (end + 1).min(text.len()));
        let statement = converter.statement(node)?;
        statements.push(ParsedStatement { statement, start, end: end.min(text.len()), depth: converter.deepest });
    }
    Ok(statements)
}

/// The type name that a text in that mode holds.
pub(super) fn type_name_only(result: &pb::ParseResult) -> Result<TypeName> {
    match result.stmts.first().and_then(|raw| node(&raw.stmt)) {
        Some(NodeEnum::TypeName(name)) => Converter::of("").type_name(name),
        _ => Err(unexpected("type name")),
    }
}

/// The expression, if the text was a select list of one expression and nothing else.
pub(super) fn sole_expression(mut statements: Vec<ParsedStatement>) -> Option<Expr> {
    let statement = statements.pop().filter(|_| statements.is_empty())?;
    let Statement::Select(query) = statement.statement else { return None };
    let Query { with: None, body: QueryBody::Select(select), order, offset: None, limit: None, locking, .. } = *query
    else {
        return None;
    };
    let mut select = *select;
    let alone = order.is_empty()
        && locking.is_empty()
        && select.from.is_empty()
        && select.filter.is_none()
        && select.group.is_empty()
        && select.having.is_none()
        && select.into.is_none();
    let target = select.targets.pop().filter(|target| alone && select.targets.is_empty() && target.name.is_none())?;
    Some(target.expr)
}

/// Converts one statement, counting how deep it is nested.
struct Converter<'t> {
    /// The text that locations point into.
    text: &'t str,
    /// Where the statement lies in it.
    statement: (usize, usize),
    depth: u32,
    deepest: u32,
    depth_max: u32,
    /// `CAST(DEFAULT AS type)` stands for the default of a function's argument.
    has_default_arguments: bool,
}

impl<'t> Converter<'t> {
    fn of(text: &'t str) -> Converter<'t> {
        Converter {
            text,
            statement: (0, text.len()),
            depth: 0,
            deepest: 0,
            depth_max: STORED_DEPTH_MAX,
            has_default_arguments: false,
        }
    }

    /// Runs `inner` one level deeper: 54001 if that is too deep.
    fn nested<R>(&mut self, inner: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.depth += 1;
        if self.depth > self.depth_max {
            return Err(errors::too_deep());
        }
        self.deepest = self.deepest.max(self.depth);
        let result = inner(self);
        self.depth -= 1;
        result
    }
}

/// The node in a box, if there is one.
fn node(boxed: &Option<Box<Node>>) -> Option<&NodeEnum> {
    boxed.as_ref().and_then(|node| node.node.as_ref())
}

/// The nodes of a list.
fn nodes(list: &[Node]) -> impl Iterator<Item = &NodeEnum> {
    list.iter().filter_map(|node| node.node.as_ref())
}

/// A node where the grammar always puts one.
fn required(boxed: &Option<Box<Node>>) -> Result<&NodeEnum> {
    node(boxed).ok_or_else(|| unexpected("nothing"))
}

/// The grammar gave something it never gives there.
fn unexpected(what: &str) -> Error {
    Error::internal(format!("unexpected parse tree node: {what}"))
}

/// The variant's name of a node, for messages.
fn kind_of(node: &NodeEnum) -> String {
    let text = format!("{node:?}");
    text.split(['(', ' ']).next().unwrap_or_default().to_owned()
}

/// A name that may be absent: the grammar's library gives an empty string then.
fn optional(name: &str) -> Option<Name> {
    if name.is_empty() { None } else { Some(Name::new(name)) }
}

fn string_of(node: &NodeEnum) -> Option<&str> {
    match node {
        NodeEnum::String(string) => Some(&string.sval),
        _ => None,
    }
}

/// A list of strings.
fn names(list: &[Node]) -> Vec<Name> {
    nodes(list).filter_map(string_of).map(Name::new).collect()
}

fn range_var(relation: &pb::RangeVar) -> QualifiedName {
    QualifiedName {
        catalog: optional(&relation.catalogname),
        schema: optional(&relation.schemaname),
        name: Name::new(&relation.relname),
        location: relation.location,
    }
}

fn required_range_var(relation: &Option<pb::RangeVar>) -> Result<QualifiedName> {
    relation.as_ref().map(range_var).ok_or_else(|| unexpected("no relation"))
}

/// A dotted name: 42601 if it has too many parts.
fn qualified(parts: Vec<Name>, location: Location) -> Result<QualifiedName> {
    let mut parts = parts.into_iter().rev();
    let name = parts.next().ok_or_else(|| unexpected("empty name"))?;
    let (schema, catalog) = (parts.next(), parts.next());
    if parts.next().is_some() {
        return Err(Error::new(
            base::sqlstate::SYNTAX_ERROR,
            format!("improper qualified name (too many dotted names): {name}"),
        ));
    }
    Ok(QualifiedName { catalog, schema, name, location })
}

fn qualified_list(list: &[Node]) -> Result<QualifiedName> {
    qualified(names(list), -1)
}
