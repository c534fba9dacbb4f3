//! Select lists, and finding the items that ORDER BY, GROUP BY and DISTINCT ON mean.

use base::limits::TARGETS_MAX;
use base::{Error, Oid, Result, sqlstate};
use plan::bound::{RelationKind, TargetEntry};
use plan::{Expr, ExprKind, OutputColumn, SortKey};
use syntax::tree::{
    self, ExprKind as Tree, Indirection, Literal, Name, SessionFunction, SortBy, SortDirection, SubqueryKind, Target,
};
use types::SqlType;

use super::Binder;
use super::aggregate::same;
use super::scope::{NamedColumn, Place};

impl Binder<'_, '_> {
    /// A select or RETURNING list.
    pub(super) fn targets(&mut self, targets: &[Target]) -> Result<Vec<TargetEntry>> {
        let mut bound = Vec::with_capacity(targets.len());
        for target in targets {
            let before = bound.len();
            match &target.expr.kind {
                Tree::Star(parts) => {
                    for column in self.star(parts, target.expr.location)? {
                        bound.push(self.column_target(column));
                    }
                }
                Tree::Indirection { input, steps } if matches!(steps.last(), Some(Indirection::Star)) => {
                    for (name, field) in self.spread(input, steps, target.expr.location)? {
                        bound.push(self.target(field, name));
                    }
                }
                _ => {
                    let expr = self.expr(&target.expr)?;
                    let name = target.name.clone().unwrap_or_else(|| column_name(&target.expr));
                    bound.push(self.target(expr, name));
                    check_count(bound.len())?;
                    continue;
                }
            }
            let width = bound.len() - before;
            self.note_resolved(|resolved| {
                // SEARCH and CYCLE bind a term once more, with columns of their own.
                resolved.stars.entry(target.expr.location).or_insert(width);
            });
            check_count(bound.len())?;
        }
        Ok(bound)
    }

    fn column_target(&self, column: NamedColumn) -> TargetEntry {
        let name = column.name.clone();
        self.target(column.expr, name)
    }

    /// A target, with what a client is told of it.
    pub(super) fn target(&self, expr: Expr, name: Name) -> TargetEntry {
        let (table, attribute) = self.origin(&expr);
        let column = OutputColumn { name, sql_type: expr.sql_type, table, attribute };
        TargetEntry { expr, column, hidden: false }
    }

    /// The table column that an expression is unchanged.
    fn origin(&self, expr: &Expr) -> (Oid, i16) {
        let ExprKind::Variable(variable) = &expr.kind else { return (Oid::INVALID, 0) };
        let Some(scope) = self.scopes.len().checked_sub(1 + variable.level as usize).map(|index| &self.scopes[index])
        else {
            return (Oid::INVALID, 0);
        };
        let Some(relation) = scope.relations.get(variable.relation as usize) else { return (Oid::INVALID, 0) };
        match (&relation.kind, usize::try_from(variable.attribute)) {
            (RelationKind::Table(table), Ok(place)) => (table.oid, place as i16 + 1),
            (RelationKind::Table(table), Err(_)) => (table.oid, variable.attribute as i16),
            (RelationKind::Virtual(table), Ok(place)) => (table.oid, place as i16 + 1),
            // Through a subquery or view, the subquery's own column tells.
            (RelationKind::Subquery(query), Ok(place)) => match query.output().nth(place) {
                Some(target) => (target.column.table, target.column.attribute),
                None => (Oid::INVALID, 0),
            },
            _ => (Oid::INVALID, 0),
        }
    }

    /// Literals and parameters without a type become text.
    pub(super) fn settle_targets(&mut self, targets: &mut [TargetEntry], written: &[Target]) -> Result<()> {
        for (index, target) in targets.iter_mut().enumerate() {
            self.settle_target(target, written.get(index).map_or(-1, |target| target.expr.start()))?;
        }
        Ok(())
    }

    /// The target that an item of ORDER BY, GROUP BY or DISTINCT ON means, by number, name or expression; a new
    /// hidden one if need be.
    pub(super) fn find_target(
        &mut self,
        expr: &tree::Expr,
        targets: &mut Vec<TargetEntry>,
        place: Place,
    ) -> Result<usize> {
        sync::yield_point()?;
        match &expr.kind {
            Tree::Column(parts) => {
                if let [name] = parts.as_slice()
                    && let Some(found) = self.target_named(name, expr, targets, place)?
                {
                    return Ok(found);
                }
            }
            Tree::Literal(Literal::Integer(number)) => {
                let visible = targets.iter().enumerate().filter(|(_, target)| !target.hidden);
                let found = usize::try_from(*number).ok().and_then(|number| number.checked_sub(1));
                return match found.and_then(|index| visible.map(|(index, _)| index).nth(index)) {
                    Some(index) => Ok(index),
                    None => {
                        let message = format!("{} position {number} is not in select list", place.name());
                        Err(self.error(sqlstate::INVALID_COLUMN_REFERENCE, message, expr.location))
                    }
                };
            }
            Tree::Literal(_) => {
                let message = format!("non-integer constant in {}", place.name());
                return Err(self.error(sqlstate::SYNTAX_ERROR, message, expr.location));
            }
            _ => {}
        }
        let before = std::mem::replace(&mut self.scope().place, place);
        let bound = self.expr(expr);
        self.scope().place = before;
        let bound = bound?;
        if let Some(found) = targets.iter().position(|target| is_same_target(&target.expr, &bound)) {
            return Ok(found);
        }
        let bound = self.settle(bound, expr.start())?;
        let mut target = self.target(bound, Name::new_static("?column?"));
        target.hidden = true;
        targets.push(target);
        check_count(targets.len())?;
        Ok(targets.len() - 1)
    }

    /// The target called `name`; in GROUP BY a column of the input comes first.
    fn target_named(
        &mut self,
        name: &Name,
        expr: &tree::Expr,
        targets: &[TargetEntry],
        place: Place,
    ) -> Result<Option<usize>> {
        if place == Place::GroupBy && self.is_own_column(name) {
            return Ok(None);
        }
        let mut found: Option<usize> = None;
        for (index, target) in targets.iter().enumerate() {
            if target.hidden || target.column.name != *name {
                continue;
            }
            match found {
                None => found = Some(index),
                Some(first) if is_same_target(&targets[first].expr, &target.expr) => {}
                Some(_) => {
                    let message = format!("{} \"{name}\" is ambiguous", place.name());
                    return Err(self.error(sqlstate::AMBIGUOUS_COLUMN, message, expr.location));
                }
            }
        }
        Ok(found)
    }

    fn is_own_column(&self, name: &Name) -> bool {
        let Some(scope) = self.scopes.last() else { return false };
        let visible = scope.names.iter().filter(|item| item.columns_visible);
        visible.flat_map(|item| &item.columns).any(|column| column.name == *name)
    }

    /// A key of an order.
    pub(super) fn sort_key(&mut self, expr: Expr, sort: &SortBy) -> Result<SortKey> {
        let location = if sort.location >= 0 { sort.location } else { sort.expr.location };
        self.require_ordering(expr.sql_type, location)?;
        let descending = self.is_descending(sort)?;
        Ok(SortKey { expr, descending, nulls_first: sort.nulls_first.unwrap_or(descending) })
    }

    /// DESC, or USING with the type's greater-than operator.
    pub(super) fn is_descending(&self, sort: &SortBy) -> Result<bool> {
        match &sort.direction {
            SortDirection::Ascending => Ok(false),
            SortDirection::Descending => Ok(true),
            SortDirection::Using(operator) => match operator.name.as_str() {
                "<" => Ok(false),
                ">" => Ok(true),
                name => {
                    let message = format!("operator {name} is not a valid ordering operator");
                    let error = self.error(sqlstate::WRONG_OBJECT_TYPE, message, sort.location);
                    Err(error.hint("Ordering operators must be \"<\" or \">\" members of btree operator families."))
                }
            },
        }
    }

    /// 42883 if values of the type have no order.
    pub(super) fn require_ordering(&mut self, sql_type: SqlType, location: i32) -> Result<()> {
        let base = types::base_type(self.context.lookup, sql_type);
        if types::comparator(base.oid).is_some() || self.orders_by_parts(base.oid) {
            return Ok(());
        }
        let found = self.type_name(sql_type.oid);
        let message = format!("could not identify an ordering operator for type {found}");
        let error = self.error(sqlstate::UNDEFINED_FUNCTION, message, location);
        Err(error.hint("Use an explicit ordering operator or modify the query."))
    }
}

/// 54011 if a target list is too long, those included that only ORDER BY, GROUP BY or DISTINCT ON need.
pub(super) fn check_count(targets: usize) -> Result<()> {
    if targets <= TARGETS_MAX {
        return Ok(());
    }
    let message = format!("target lists can have at most {TARGETS_MAX} entries");
    Err(Error::new(sqlstate::TOO_MANY_COLUMNS, message))
}

/// The name that PostgreSQL gives to a column without an alias.
pub fn column_name(expr: &tree::Expr) -> Name {
    named(expr).map_or(Name::new_static("?column?"), |(name, _)| name)
}

/// A name for an expression, and whether it is a good one (a cast's type is used only if there is none better).
/// The name that an expression gives its column.
pub(super) fn name_of(expr: &tree::Expr) -> Option<Name> {
    named(expr).map(|(name, _)| name)
}

/// The same, and whether it is more than a guess.
fn named(expr: &tree::Expr) -> Option<(Name, bool)> {
    let good = |name: &'static str| Some((Name::new_static(name), true));
    match &expr.kind {
        Tree::Column(parts) | Tree::Star(parts) => parts.last().map(|name| (name.clone(), true)),
        Tree::Indirection { input, steps } => {
            let field = steps.iter().rev().find_map(|step| match step {
                Indirection::Field(name) => Some((name.clone(), true)),
                _ => None,
            });
            field.or_else(|| named(input))
        }
        Tree::Function(call) => Some((call.name.name.clone(), true)),
        Tree::Cast { input, type_name } => match named(input) {
            Some((name, true)) => Some((name, true)),
            _ => Some((type_name.name.clone(), false)),
        },
        Tree::Collate { input, .. } => named(input),
        Tree::NullIf(..) => good("nullif"),
        Tree::Case { otherwise, .. } => match otherwise.as_deref().and_then(named) {
            Some((name, true)) => Some((name, true)),
            _ => Some((Name::new_static("case"), false)),
        },
        Tree::Coalesce(_) => good("coalesce"),
        Tree::Greatest(_) => good("greatest"),
        Tree::Least(_) => good("least"),
        Tree::Row { .. } => good("row"),
        Tree::Array(_) => good("array"),
        Tree::Subquery(subquery) => match &subquery.kind {
            SubqueryKind::Exists => good("exists"),
            SubqueryKind::Array => good("array"),
            SubqueryKind::Scalar => first_name(&subquery.query),
            SubqueryKind::Quantified { .. } => None,
        },
        Tree::Session(function) => good(match function {
            SessionFunction::CurrentDate => "current_date",
            SessionFunction::CurrentTime(_) => "current_time",
            SessionFunction::CurrentTimestamp(_) => "current_timestamp",
            SessionFunction::LocalTime(_) => "localtime",
            SessionFunction::LocalTimestamp(_) => "localtimestamp",
            SessionFunction::CurrentRole => "current_role",
            SessionFunction::CurrentUser => "current_user",
            SessionFunction::User => "user",
            SessionFunction::SessionUser => "session_user",
            SessionFunction::CurrentCatalog => "current_catalog",
            SessionFunction::CurrentSchema => "current_schema",
        }),
        _ => None,
    }
}

/// The name of a subquery's only column.
fn first_name(query: &tree::Query) -> Option<(Name, bool)> {
    match &query.body {
        tree::QueryBody::Select(select) => {
            let target = select.targets.first()?;
            match &target.name {
                Some(name) => Some((name.clone(), true)),
                None => Some((column_name(&target.expr), true)),
            }
        }
        tree::QueryBody::SetOperation { left, .. } => first_name(left),
        tree::QueryBody::Values(_) => Some((Name::new_static("column1"), true)),
    }
}

/// Whether two expressions are one target. The same value as another type is another one.
fn is_same_target(left: &Expr, right: &Expr) -> bool {
    left.sql_type.oid == right.sql_type.oid && same(left, right)
}
