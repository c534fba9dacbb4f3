//! WITH.

use base::{Result, sqlstate};
use plan::bound::{Cte, FromItem, Query, RelationKind};
use plan::{CteId, Expr, ExprKind, JoinKind, SubqueryBody};
use syntax::tree::{self, CommonTableExpression, CteStatement, Name, QueryBody, SetOperator, With};
use types::SqlType;

use super::mentions::{mentions, statement_mentions};
use super::scope::{CteState, VisibleCte};
use super::{Binder, Part};

impl Binder<'_, '_> {
    /// Binds WITH into the innermost scope, where its names become visible one after the other.
    pub(super) fn ctes(&mut self, with: Option<&With>) -> Result<Vec<Cte>> {
        let Some(with) = with else { return Ok(Vec::new()) };
        for (index, cte) in with.ctes.iter().enumerate() {
            if with.ctes[..index].iter().any(|other| other.name == cte.name) {
                let message = format!("WITH query name \"{}\" specified more than once", cte.name);
                return Err(self.error(sqlstate::DUPLICATE_ALIAS, message, cte.location));
            }
        }
        let order = if with.recursive { self.dependency_order(with)? } else { (0..with.ctes.len()).collect() };
        let mut bound = Vec::with_capacity(with.ctes.len());
        for index in order {
            let cte = &with.ctes[index];
            if !with.recursive {
                self.scope().later_ctes = with.ctes[index..].iter().map(|later| later.name.clone()).collect();
            }
            let id = CteId(self.cte_count);
            self.cte_count += 1;
            bound.push(self.in_part(Part::With, |binder| binder.cte(cte, id, with.recursive))?);
        }
        self.scope().later_ctes.clear();
        Ok(bound)
    }

    /// The places of a recursive WITH's queries, each behind those that it reads: as PostgreSQL sorts them.
    ///
    /// # Errors
    /// 0A000 where two read each other.
    fn dependency_order(&self, with: &With) -> Result<Vec<usize>> {
        let mut order: Vec<usize> = (0..with.ctes.len()).collect();
        if order.len() < 2 {
            return Ok(order);
        }
        let reads = |reader: usize, read: usize| {
            reader != read && statement_mentions(&with.ctes[reader].statement, &with.ctes[read].name)
        };
        let mut waits_for: Vec<Vec<usize>> =
            order.iter().map(|reader| order.iter().copied().filter(|read| reads(*reader, *read)).collect()).collect();
        for place in 0..order.len() {
            let next = (place..order.len()).find(|later| waits_for[order[*later]].is_empty());
            let Some(next) = next else {
                let location = with.ctes[order[place]].location;
                return Err(self.unsupported("mutual recursion between WITH items is not implemented", location));
            };
            order.swap(place, next);
            let done = order[place];
            waits_for.iter_mut().for_each(|waits_for| waits_for.retain(|read| *read != done));
        }
        Ok(order)
    }

    /// The numbers of readers, once the query is bound.
    pub(super) fn finish_ctes(&mut self, mut ctes: Vec<Cte>) -> Vec<Cte> {
        for cte in &mut ctes {
            let visible = self.scope().ctes.iter().find(|visible| visible.id == cte.id);
            cte.references = visible.map_or(0, |visible| visible.references);
        }
        ctes
    }

    fn cte(&mut self, cte: &CommonTableExpression, id: CteId, recursive: bool) -> Result<Cte> {
        let query = match cte.statement.as_ref() {
            CteStatement::Query(query) => {
                if recursive && let Some(found) = self.recursive_cte(cte, query, id)? {
                    return Ok(found);
                }
                self.query(query, true)?
            }
            CteStatement::Unsupported(what) => return Err(self.unsupported(*what, cte.location)),
            changing => {
                if self.scopes.len() > 1 {
                    let message = "WITH clause containing a data-modifying statement must be at the top level";
                    return Err(self.unsupported(message, cte.location));
                }
                match changing {
                    CteStatement::Insert(insert) => self.insert(insert)?,
                    CteStatement::Update(update) => self.update(update)?,
                    CteStatement::Delete(delete) => self.delete(delete)?,
                    CteStatement::Query(_) | CteStatement::Unsupported(_) => unreachable!("handled above"),
                }
            }
        };
        let columns = self.cte_columns(cte, &query)?;
        let returns_nothing = query.change.as_deref().is_some_and(|change| change.returning().is_none());
        let state = if returns_nothing { CteState::WithoutColumns } else { CteState::Ready };
        let name = cte.name.clone();
        self.refuse_search_and_cycle(cte)?;
        let shapes = self.shapes_of(&query);
        self.scope().ctes.push(VisibleCte { name: name.clone(), id, columns, shapes, added: 0, state, references: 0 });
        Ok(Cte { id, name, query, recursive: None, references: 0, materialized: cte.materialized, written_terms: None })
    }

    fn cte_columns(&self, cte: &CommonTableExpression, query: &Query) -> Result<Vec<(Name, SqlType)>> {
        let mut columns =
            query.output_columns().into_iter().map(|column| (column.name, column.sql_type)).collect::<Vec<_>>();
        if cte.columns.len() > columns.len() {
            let message = format!(
                "WITH query \"{}\" has {} columns available but {} columns specified",
                cte.name,
                columns.len(),
                cte.columns.len()
            );
            return Err(self.error(sqlstate::INVALID_COLUMN_REFERENCE, message, cte.location));
        }
        for (column, name) in columns.iter_mut().zip(&cte.columns) {
            column.0 = name.clone();
        }
        Ok(columns)
    }

    /// A common table expression that reads itself: a UNION whose second operand does so.
    fn recursive_cte(&mut self, cte: &CommonTableExpression, query: &tree::Query, id: CteId) -> Result<Option<Cte>> {
        if !mentions(query, &cte.name) {
            return Ok(None);
        }
        let QueryBody::SetOperation { operator: SetOperator::Union, all, left, right } = &query.body else {
            let message = format!(
                "recursive query \"{}\" does not have the form non-recursive-term UNION [ALL] recursive-term",
                cte.name
            );
            return Err(self.error(sqlstate::INVALID_RECURSION, message, cte.location));
        };
        for (present, what) in [
            (!query.order.is_empty(), "ORDER BY"),
            (query.offset.is_some(), "OFFSET"),
            (query.limit.is_some(), "LIMIT"),
            (!query.locking.is_empty(), "FOR UPDATE/SHARE"),
        ] {
            if present {
                let message = format!("{what} in a recursive query is not implemented");
                return Err(self.unsupported(message, cte.location));
            }
        }
        if query.with.is_some() {
            return Err(self.unsupported("WITH inside a recursive query is not supported", cte.location));
        }
        let name = cte.name.clone();
        let hidden =
            CteState::Forbidden("recursive reference to query \"{}\" must not appear within its non-recursive term");
        self.scope().ctes.push(VisibleCte {
            name: name.clone(),
            id,
            columns: Vec::new(),
            shapes: Vec::new(),
            added: 0,
            state: hidden,
            references: 0,
        });
        let place = self.scope().ctes.len() - 1;
        let added = self.added_columns(cte)?;
        let mut anchor = self.query(left, true)?;
        let columns = self.cte_columns(cte, &anchor)?;
        let shapes = self.shapes_of(&anchor);
        let visible = &mut self.scope().ctes[place];
        visible.columns = columns.iter().chain(&added.columns).cloned().collect();
        visible.shapes = shapes;
        visible.added = added.columns.len();
        visible.state = CteState::Recursive;
        let mut recursive = self.query(right, false)?;
        let mut references = 0;
        if let Some(problem) = misuse(&recursive, id, None, &mut references) {
            let message = match problem {
                Misuse::Aggregate => {
                    "aggregate functions are not allowed in a recursive query's recursive term".to_owned()
                }
                Misuse::Place(place) => format!("recursive reference to query \"{name}\" must not appear {place}"),
            };
            return Err(self.error(sqlstate::INVALID_RECURSION, message, cte.location));
        }
        if recursive.output().count() != columns.len() {
            let message = "each UNION query must have the same number of columns";
            return Err(self.error(sqlstate::SYNTAX_ERROR, message, cte.location));
        }
        let location = |index: usize| match &left.body {
            QueryBody::Select(select) => Self::target_location(&select.targets, index),
            _ => cte.location,
        };
        self.match_recursive_types(cte, &mut recursive, &columns, &location)?;
        if !*all {
            let location = match &right.body {
                QueryBody::Select(select) => Self::target_location(&select.targets, 0),
                _ => cte.location,
            };
            for (_, sql_type) in &columns {
                self.require_equality(*sql_type, location)?;
            }
        }
        let mut written_terms = None;
        if !added.columns.is_empty() {
            if self.keeps_words() {
                written_terms = Some(Box::new((anchor.clone(), recursive.clone())));
            }
            (anchor, recursive) =
                self.add_search_and_cycle(cte, (left, right), id, &columns, &added, (anchor, recursive))?;
        }
        let visible = &mut self.scope().ctes[place];
        visible.state = CteState::Ready;
        // Its own working table does not count.
        visible.references = 0;
        Ok(Some(Cte {
            id,
            name,
            query: anchor,
            recursive: Some((recursive, *all)),
            references: 0,
            materialized: cte.materialized,
            written_terms,
        }))
    }

    /// The recursive term must give the types that the other one gave.
    fn match_recursive_types(
        &mut self,
        cte: &CommonTableExpression,
        recursive: &mut Query,
        columns: &[(Name, SqlType)],
        location: &dyn Fn(usize) -> tree::Location,
    ) -> Result<()> {
        for (index, (_, wanted)) in columns.iter().enumerate() {
            let found = recursive.output().nth(index).expect("the numbers of columns are equal").expr.sql_type;
            let common = self.common_type("UNION", &[*wanted, found], &[cte.location, cte.location])?;
            // A length is common if both have it; a literal has none.
            let typmod = if found == *wanted { wanted.typmod } else { -1 };
            let common = SqlType { typmod, ..common };
            if common != *wanted {
                let shown = |sql_type| types::format_type(self.context.lookup, sql_type);
                let (anchor, overall) = (shown(*wanted), shown(common));
                let message = format!(
                    "recursive query \"{}\" column {} has type {anchor} in non-recursive term but type {overall} overall",
                    cte.name,
                    index + 1
                );
                let error = self.error(sqlstate::DATATYPE_MISMATCH, message, location(index));
                return Err(error.hint("Cast the output of the non-recursive term to the correct type."));
            }
            if found.oid != wanted.oid {
                self.settle_output(recursive, index, *wanted, "UNION", cte.location)?;
            }
        }
        Ok(())
    }
}

/// A forbidden use that a recursive term makes of its own rows.
enum Misuse {
    Aggregate,
    Place(&'static str),
}

/// Looks for a place where the recursive term `query` reads its own rows and may not. If no place in `query` may read them, `inside`
/// names the fault.
fn misuse(query: &Query, id: CteId, inside: Option<&'static str>, references: &mut u32) -> Option<Misuse> {
    let mut nullable = Vec::new();
    query.from.iter().for_each(|item| nullable_relations(item, false, &mut nullable));
    for (relation, entry) in query.relations.iter().enumerate() {
        match &entry.kind {
            RelationKind::WorkTable(found) if *found == id => {
                *references += 1;
                let place = if nullable.contains(&(relation as u32)) { Some("within an outer join") } else { inside };
                let place = place.or((*references > 1).then_some("more than once"));
                if let Some(place) = place {
                    return Some(Misuse::Place(place));
                }
                if query.is_grouped {
                    return Some(Misuse::Aggregate);
                }
            }
            RelationKind::Subquery(inner) => {
                if let Some(found) = misuse(inner, id, inside, references) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    let mut found = None;
    query.for_each_expr(0, &mut |expr, depth| {
        if depth == 0 && found.is_none() {
            found = misuse_in(expr, id, references);
        }
    });
    found
}

fn misuse_in(expr: &Expr, id: CteId, references: &mut u32) -> Option<Misuse> {
    if let ExprKind::Subquery(subquery) = &expr.kind
        && let SubqueryBody::Bound(inner) = &subquery.body
        && let Some(found) = misuse(inner, id, Some("within a subquery"), references)
    {
        return Some(found);
    }
    let mut found = None;
    expr.for_each_child(&mut |child| {
        if found.is_none() {
            found = misuse_in(child, id, references);
        }
    });
    found
}

/// The entries an outer join may make up rows for.
fn nullable_relations(item: &FromItem, is_nullable: bool, found: &mut Vec<u32>) {
    match item {
        FromItem::Relation(relation) if is_nullable => found.push(*relation),
        FromItem::Relation(_) => {}
        FromItem::Join(join) => {
            let left = matches!(join.kind, JoinKind::Right | JoinKind::Full);
            let right = matches!(join.kind, JoinKind::Left | JoinKind::Full);
            nullable_relations(&join.left, is_nullable || left, found);
            nullable_relations(&join.right, is_nullable || right, found);
        }
    }
}
