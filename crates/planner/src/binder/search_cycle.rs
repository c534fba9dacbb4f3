//! SEARCH and CYCLE: what they add to a recursive common table expression.
//!
//! Both terms become subqueries of queries that add the clauses' columns, and the recursive term reads those of the row it
//! starts from: `SELECT ..., sequence || ARRAY[ROW(...)] FROM (recursive term)`. With CYCLE no row goes on from one that
//! closes a cycle. Within the outer queries, columns are called by their numbers, which can't be ambiguous.

use base::{Error, Oid, Result, sqlstate};
use plan::bound::{Column, Distinct, FromItem, Query, Relation, RelationKind, TargetEntry};
use plan::{CteId, Expr, ExprKind, FieldAccess, OutputColumn, Variable};
use syntax::parser::parse_expression;
use syntax::tree::{self, CommonTableExpression, Location, Name, QueryBody};
use types::{SqlType, oids};

use super::Binder;
use super::scope::{Place, Scope};

/// The columns that SEARCH and CYCLE add to a common table expression.
pub(super) struct Added {
    /// The columns, in the order in which they stand behind the query's own.
    pub(super) columns: Vec<(Name, SqlType)>,
    /// The mark of a row that closes no cycle.
    unmarked: Option<Expr>,
}

/// The term of the recursion that is extended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    Anchor,
    Recursive,
}

impl Binder<'_, '_> {
    /// The columns that SEARCH and CYCLE add: none without them.
    ///
    /// # Errors
    /// 42804 if the two values of a cycle's mark have no type in common, 42883 if they can't be compared.
    pub(super) fn added_columns(&mut self, cte: &CommonTableExpression) -> Result<Added> {
        let (mut columns, mut unmarked) = (Vec::new(), None);
        if let Some(search) = &cte.search {
            let sequence = if search.breadth_first { oids::RECORD } else { oids::RECORD_ARRAY };
            columns.push((search.sequence.clone(), SqlType::new(sequence)));
        }
        if let Some(cycle) = &cte.cycle {
            let marks = vec![self.expr(&cycle.value)?, self.expr(&cycle.default)?];
            let locations = [cycle.value.start(), cycle.default.start()];
            let (mut marks, common) = self.coerce_to_common(marks, "CYCLE", &locations)?;
            unmarked = marks.pop();
            columns.push((cycle.mark.clone(), SqlType::new(common.oid)));
            columns.push((cycle.path.clone(), SqlType::new(oids::RECORD_ARRAY)));
        }
        Ok(Added { columns, unmarked })
    }

    /// 42601 for clauses on what is not recursive.
    pub(super) fn refuse_search_and_cycle(&self, cte: &CommonTableExpression) -> Result<()> {
        if cte.search.is_none() && cte.cycle.is_none() {
            return Ok(());
        }
        Err(self.error(sqlstate::SYNTAX_ERROR, "WITH query is not recursive", cte.location))
    }

    /// Adds the clauses' columns to both terms of the recursion. `own` are the columns without them.
    ///
    /// # Errors
    /// Columns that are not there or twice, and terms that are no plain SELECT.
    pub(super) fn add_search_and_cycle(
        &mut self,
        cte: &CommonTableExpression,
        (left, right): (&tree::Query, &tree::Query),
        id: CteId,
        own: &[(Name, SqlType)],
        added: &Added,
        (anchor, mut recursive): (Query, Query),
    ) -> Result<(Query, Query)> {
        if matches!(left.body, QueryBody::SetOperation { .. }) {
            let message = "with a SEARCH or CYCLE clause, the left side of the UNION must be a SELECT";
            return Err(Error::unsupported(message));
        }
        if matches!(right.body, QueryBody::SetOperation { .. }) {
            let message = "with a SEARCH or CYCLE clause, the right side of the UNION must be a SELECT";
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
        }
        self.check_columns(cte, own)?;
        for name in cte.cycle.iter().flat_map(|cycle| &cycle.columns) {
            let found = own.iter().find(|(column, _)| column == name);
            found.map_or(Ok(()), |(_, sql_type)| self.require_equality(*sql_type, -1))?;
        }
        let is_own = |relation: &Relation| matches!(relation.kind, RelationKind::WorkTable(found) if found == id);
        let Some(relation) = recursive.relations.iter().position(is_own) else {
            return Err(Error::unsupported(format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{}\" must be at the top level of its \
                 right-hand SELECT",
                cte.name
            )));
        };
        if recursive.is_grouped || recursive.distinct != Distinct::No || !recursive.windows.is_empty() {
            let message = "SEARCH and CYCLE are not supported where the recursive term has groups, windows or DISTINCT";
            return Err(self.unsupported(message, cte.location));
        }
        for (number, (name, sql_type)) in added.columns.iter().enumerate() {
            let attribute = (own.len() + number) as i32;
            let variable = Variable { level: 0, relation: relation as u32, attribute, location: -1 };
            let expr = Expr::new(ExprKind::Variable(variable), *sql_type);
            recursive.targets.push(target(name, expr));
        }
        let anchor = self.extended(cte, own, added, anchor, Term::Anchor)?;
        let recursive = self.extended(cte, own, added, recursive, Term::Recursive)?;
        Ok((anchor, recursive))
    }

    fn check_columns(&self, cte: &CommonTableExpression, own: &[(Name, SqlType)]) -> Result<()> {
        let is_there = |name: &Name| own.iter().any(|(column, _)| column == name);
        let refused = |message: String, location: Location| Err(self.error(sqlstate::SYNTAX_ERROR, message, location));
        let check = |names: &[Name], what: &str, location: Location| {
            for (number, name) in names.iter().enumerate() {
                if !is_there(name) {
                    return refused(format!("{what} column \"{name}\" not in WITH query column list"), location);
                }
                if names[..number].contains(name) {
                    let message = format!("{what} column \"{name}\" specified more than once");
                    return Err(self.error(sqlstate::DUPLICATE_COLUMN, message, location));
                }
            }
            Ok(())
        };
        let check_new = |name: &Name, what: &str, location: Location| match is_there(name) {
            true => refused(format!("{what} column name \"{name}\" already used in WITH query column list"), location),
            false => Ok(()),
        };
        if let Some(search) = &cte.search {
            check(&search.columns, "search", search.location)?;
            check_new(&search.sequence, "search sequence", search.location)?;
        }
        let Some(cycle) = &cte.cycle else { return Ok(()) };
        check(&cycle.columns, "cycle", cycle.location)?;
        check_new(&cycle.mark, "cycle mark", cycle.location)?;
        check_new(&cycle.path, "cycle path", cycle.location)?;
        let same = |first: &str, second: &str, location: Location| {
            refused(format!("{first} column name and {second} column name are the same"), location)
        };
        if cycle.mark == cycle.path {
            return same("cycle mark", "cycle path", cycle.location);
        }
        match &cte.search {
            Some(search) if search.sequence == cycle.mark => same("search sequence", "cycle mark", search.location),
            Some(search) if search.sequence == cycle.path => same("search sequence", "cycle path", search.location),
            _ => Ok(()),
        }
    }

    /// A query over a term of the recursion that adds the clauses' columns.
    fn extended(
        &mut self,
        cte: &CommonTableExpression,
        own: &[(Name, SqlType)],
        added: &Added,
        inner: Query,
        term: Term,
    ) -> Result<Query> {
        self.scopes.push(Scope::new(Place::Select));
        let result = self.extended_in_scope(cte, own, added, inner, term);
        self.scopes.pop();
        result
    }

    fn extended_in_scope(
        &mut self,
        cte: &CommonTableExpression,
        own: &[(Name, SqlType)],
        added: &Added,
        inner: Query,
        term: Term,
    ) -> Result<Query> {
        let columns: Vec<Column> = inner
            .output()
            .enumerate()
            .map(|(number, target)| Column {
                name: Name::new(number.to_string()),
                sql_type: target.expr.sql_type,
                dropped: false,
            })
            .collect();
        let kind = RelationKind::Subquery(Box::new(inner));
        let relation =
            self.add_relation(Relation { kind, alias: Name::new(""), columns, lateral: false, access: None });
        self.show(relation, None, Oid::INVALID, true);
        self.scope().from.push(FromItem::Relation(relation));
        let mut targets = Vec::with_capacity(own.len() + added.columns.len());
        for (number, (name, _)) in own.iter().enumerate() {
            let expr = self.scope().variable(relation, number, -1);
            targets.push(target(name, expr));
        }
        let row_of = |names: &[Name], first: Option<&str>| {
            let places = names.iter().filter_map(|name| own.iter().position(|(column, _)| column == name));
            let fields: Vec<String> =
                first.map(str::to_owned).into_iter().chain(places.map(|place| format!("\"{place}\""))).collect();
            format!("ROW({})", fields.join(", "))
        };
        let mut place = own.len();
        let mut filter = None;
        if let Some(search) = &cte.search {
            let expr = match (search.breadth_first, term) {
                (true, Term::Anchor) => self.written(&row_of(&search.columns, Some("0::bigint")))?,
                (true, Term::Recursive) => {
                    let mut row = self.written(&row_of(&search.columns, Some("0::bigint + 1")))?;
                    let before = self.scope().variable(relation, place, -1);
                    depth_after(&mut row, before)?;
                    row
                }
                (false, Term::Anchor) => self.written(&format!("ARRAY[{}]", row_of(&search.columns, None)))?,
                (false, Term::Recursive) => {
                    self.written(&format!("\"{place}\" || ARRAY[{}]", row_of(&search.columns, None)))?
                }
            };
            targets.push(target(&search.sequence, expr));
            place += 1;
        }
        if let Some(cycle) = &cte.cycle {
            let row = row_of(&cycle.columns, None);
            let (mark, path) = match term {
                Term::Anchor => {
                    let unmarked = added.unmarked.clone();
                    let unmarked = unmarked.ok_or_else(|| Error::internal("a cycle's mark has no default"))?;
                    (unmarked, self.written(&format!("ARRAY[{row}]"))?)
                }
                Term::Recursive => {
                    let closes = parse_expression(&format!("{row} = ANY (\"{}\")", place + 1))?;
                    let whens = vec![(closes, cycle.value.clone())];
                    let otherwise = Some(Box::new(cycle.default.clone()));
                    let kind = tree::ExprKind::Case { operand: None, whens, otherwise };
                    let mark = self.expr(&tree::Expr::new(kind, -1))?;
                    let before = tree::ExprKind::Column(vec![Name::new(place.to_string())]);
                    let differs = tree::ExprKind::Operator {
                        operator: tree::OperatorName { schema: None, name: Name::new("<>") },
                        left: Some(Box::new(tree::Expr::new(before, -1))),
                        right: Box::new(cycle.value.clone()),
                    };
                    let differs = self.condition(&tree::Expr::new(differs, -1), "WHERE").map_err(|_| {
                        let shown = self.type_name(mark.sql_type.oid);
                        let message = format!("could not identify an equality operator for type {shown}");
                        Error::new(sqlstate::UNDEFINED_FUNCTION, message)
                    })?;
                    filter = Some(differs);
                    (mark, self.written(&format!("\"{}\" || ARRAY[{row}]", place + 1))?)
                }
            };
            targets.push(target(&cycle.mark, mark));
            targets.push(target(&cycle.path, path));
        }
        let scope = self.scope();
        Ok(Query {
            relations: std::mem::take(&mut scope.relations),
            from: std::mem::take(&mut scope.from),
            filter,
            targets,
            ..Query::default()
        })
    }

    /// Binds an expression that no client wrote: errors point nowhere.
    fn written(&mut self, text: &str) -> Result<Expr> {
        let tree = parse_expression(text)?;
        self.expr(&tree).map_err(|mut error| {
            error.fields_mut().position = None;
            error
        })
    }
}

/// Makes the first field of `row`, a sum, go on from the depth that the row before it has.
fn depth_after(row: &mut Expr, before: Expr) -> Result<()> {
    if let ExprKind::Row { fields, .. } = &mut row.kind
        && let Some(Expr { kind: ExprKind::Call(sum), .. }) = fields.first_mut()
        && let Some(depth) = sum.arguments.first_mut()
    {
        let access = FieldAccess { input: before, field: 0, attribute_number: 0, name: Name::new("f1") };
        *depth = Expr::new(ExprKind::Field(Box::new(access)), SqlType::new(oids::INT8));
        return Ok(());
    }
    Err(Error::internal("the depth of a search is no sum"))
}

fn target(name: &Name, expr: Expr) -> TargetEntry {
    let column = OutputColumn { name: name.clone(), sql_type: expr.sql_type, table: Oid::INVALID, attribute: 0 };
    TargetEntry { expr, column, hidden: false }
}
