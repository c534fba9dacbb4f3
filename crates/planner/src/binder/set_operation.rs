//! UNION, INTERSECT and EXCEPT.

use base::{Result, missing, sqlstate};
use plan::bound::{Column, OrderItem, Query, Relation, RelationKind, SetOperation, TargetEntry};
use plan::{Expr, OutputColumn};
use syntax::tree::{self, ExprKind as Tree, Literal, Name, QueryBody, SetOperator, SortBy};
use types::{SqlType, oids};

use super::scope::Place;
use super::{Binder, Part};

/// An operand: the operation and its columns.
struct Operand {
    operation: SetOperation,
    columns: Vec<(Name, SqlType)>,
    /// Where its first item stands, for errors.
    location: i32,
}

impl Binder<'_, '_> {
    pub(super) fn set_operation_query(&mut self, query: &tree::Query) -> Result<Query> {
        let mut operand = self.operand_of(&query.body)?;
        // Literals that no other operand has given a type are text.
        self.unify_with(&mut operand, None, "UNION")?;
        let mut targets = operand
            .columns
            .iter()
            .enumerate()
            .map(|(index, (name, sql_type))| TargetEntry {
                expr: Expr::column(index, *sql_type),
                column: OutputColumn {
                    name: name.clone(),
                    sql_type: *sql_type,
                    table: base::Oid::INVALID,
                    attribute: 0,
                },
                hidden: false,
            })
            .collect::<Vec<_>>();
        let order = self.set_operation_order(&query.order, &mut targets)?;
        let offset = query.offset.as_ref().map(|expr| self.row_count(expr, "OFFSET", Place::Offset)).transpose()?;
        let limit = query.limit.as_ref().map(|expr| self.row_count(expr, "LIMIT", Place::Limit)).transpose()?;
        if !query.locking.is_empty() {
            let message = format!("{} is not allowed with UNION/INTERSECT/EXCEPT", super::lock::clause(&query.locking));
            return Err(self.unsupported(message, -1));
        }
        Ok(Query {
            relations: std::mem::take(&mut self.scope().relations),
            targets,
            order,
            offset,
            limit,
            with_ties: query.with_ties,
            set_operation: Some(operand.operation),
            ..Query::default()
        })
    }

    fn operand_of(&mut self, body: &QueryBody) -> Result<Operand> {
        let QueryBody::SetOperation { operator, all, left, right } = body else { unreachable!("the caller looked") };
        let mut left = self.operand(left)?;
        let mut right = self.operand(right)?;
        let construct = match operator {
            SetOperator::Union => "UNION",
            SetOperator::Intersect => "INTERSECT",
            SetOperator::Except => "EXCEPT",
        };
        if left.columns.len() != right.columns.len() {
            let message = format!("each {construct} query must have the same number of columns");
            return Err(self.error(sqlstate::SYNTAX_ERROR, message, right.location));
        }
        self.unify(&mut left, &mut right, construct)?;
        if !(*all && *operator == SetOperator::Union) {
            for (_, sql_type) in &left.columns {
                let sql_type = *sql_type;
                self.require_equality(sql_type, right.location)?;
            }
        }
        let operation = SetOperation::Node {
            operator: *operator,
            all: *all,
            left: Box::new(left.operation),
            right: Box::new(right.operation),
        };
        Ok(Operand { operation, columns: left.columns, location: left.location })
    }

    fn operand(&mut self, query: &tree::Query) -> Result<Operand> {
        let plain = query.with.is_none()
            && query.order.is_empty()
            && query.limit.is_none()
            && query.offset.is_none()
            && query.locking.is_empty();
        if plain && matches!(query.body, QueryBody::SetOperation { .. }) {
            return self.nested(|binder| binder.operand_of(&query.body));
        }
        if let QueryBody::Select(select) = &query.body
            && let Some(into) = &select.into
        {
            let message = "INTO is only allowed on first SELECT of UNION/INTERSECT/EXCEPT";
            return Err(self.error(sqlstate::SYNTAX_ERROR, message, into.table.location));
        }
        let bound = self.in_part(Part::From, |binder| binder.query(query, false))?;
        let columns =
            bound.output().map(|target| (target.column.name.clone(), target.expr.sql_type)).collect::<Vec<_>>();
        let location = match &query.body {
            QueryBody::Select(select) => Self::target_location(&select.targets, 0),
            _ => -1,
        };
        let number = self.scope().relations.len() + 1;
        let relation = Relation {
            kind: RelationKind::Subquery(Box::new(bound)),
            alias: Name::from(format!("*SELECT* {number}")),
            columns: columns
                .iter()
                .map(|(name, sql_type)| Column { name: name.clone(), sql_type: *sql_type, dropped: false })
                .collect(),
            lateral: false,
            access: None,
        };
        let relation = self.add_relation(relation);
        Ok(Operand { operation: SetOperation::Leaf(relation), columns, location })
    }

    /// Brings two operands to common column types.
    fn unify(&mut self, left: &mut Operand, right: &mut Operand, construct: &str) -> Result<()> {
        let mut common = Vec::with_capacity(left.columns.len());
        for ((_, left_type), (_, right_type)) in left.columns.iter().zip(&right.columns) {
            let both_unknown = left_type.oid == oids::UNKNOWN && right_type.oid == oids::UNKNOWN;
            common.push(if both_unknown {
                SqlType::TEXT
            } else {
                self.common_type(construct, &[*left_type, *right_type], &[left.location, right.location])?
            });
        }
        self.unify_with(left, Some(&common), construct)?;
        self.unify_with(right, Some(&common), construct)
    }

    /// Brings an operand to these column types; without them, only settles what has none.
    fn unify_with(&mut self, operand: &mut Operand, wanted: Option<&[SqlType]>, construct: &str) -> Result<()> {
        let mut casts = Vec::with_capacity(operand.columns.len());
        let mut needed = false;
        for (index, (_, sql_type)) in operand.columns.iter_mut().enumerate() {
            let target = match wanted {
                Some(wanted) => wanted[index],
                None if sql_type.oid == oids::UNKNOWN => SqlType::TEXT,
                None => *sql_type,
            };
            if sql_type.oid == oids::UNKNOWN
                && let SetOperation::Leaf(relation) = &operand.operation
            {
                // A literal is given the type where it stands.
                let relation = *relation;
                self.settle_leaf(relation, index, target, construct, operand.location)?;
                *sql_type = SqlType::new(target.oid);
            }
            let column = Expr::column(index, *sql_type);
            let cast = self.coerce_to_common_type(column, target, construct, operand.location)?;
            needed = needed || !matches!(cast.kind, plan::ExprKind::Column(_));
            *sql_type = target;
            casts.push(cast);
        }
        if needed {
            let input = std::mem::replace(&mut operand.operation, SetOperation::Leaf(0));
            operand.operation = SetOperation::Cast { input: Box::new(input), exprs: casts };
        }
        Ok(())
    }

    /// Gives column `index` of a leaf, which has no type yet, this one.
    fn settle_leaf(
        &mut self,
        relation: u32,
        index: usize,
        target: SqlType,
        construct: &str,
        location: i32,
    ) -> Result<()> {
        let mut entry =
            std::mem::replace(&mut self.scope().relations[relation as usize].kind, RelationKind::Values(Vec::new()));
        if let RelationKind::Subquery(query) = &mut entry {
            self.settle_output(query, index, target, construct, location)?;
        }
        let scope = self.scope();
        scope.relations[relation as usize].columns[index].sql_type = target;
        scope.relations[relation as usize].kind = entry;
        Ok(())
    }

    /// Gives output column `index` of a query, which is `unknown`, a type.
    pub(super) fn settle_output(
        &mut self,
        query: &mut Query,
        index: usize,
        target: SqlType,
        construct: &str,
        location: i32,
    ) -> Result<()> {
        let Some(entry) = query.targets.iter_mut().filter(|entry| !entry.hidden).nth(index) else { return Ok(()) };
        // A bare VALUES hands its columns through: the values themselves take the type.
        if let plan::ExprKind::Variable(variable) = &entry.expr.kind
            && variable.level == 0
            && let RelationKind::Values(rows) = &mut query.relations[variable.relation as usize].kind
        {
            let attribute = variable.attribute as usize;
            for row in rows {
                let value = std::mem::replace(&mut row[attribute], Expr::null(SqlType::UNKNOWN));
                row[attribute] = self.coerce_to_common_type(value, target, construct, location)?;
            }
            query.relations[variable.relation as usize].columns[attribute].sql_type = target;
            entry.expr.sql_type = target;
        } else {
            let expr = std::mem::replace(&mut entry.expr, Expr::null(SqlType::UNKNOWN));
            entry.expr = self.coerce_to_common_type(expr, target, construct, location)?;
        }
        entry.column.sql_type = target;
        Ok(())
    }

    /// ORDER BY of a set operation: output columns only.
    fn set_operation_order(&mut self, order: &[SortBy], targets: &mut [TargetEntry]) -> Result<Vec<OrderItem>> {
        let mut items = Vec::with_capacity(order.len());
        for sort in order {
            let found = match &sort.expr.kind {
                Tree::Literal(Literal::Integer(number)) => {
                    let index = usize::try_from(*number).ok().and_then(|number| number.checked_sub(1));
                    match index.filter(|index| *index < targets.len()) {
                        Some(index) => index,
                        None => {
                            let message = format!("ORDER BY position {number} is not in select list");
                            let location = sort.expr.location;
                            return Err(self.error(sqlstate::INVALID_COLUMN_REFERENCE, message, location));
                        }
                    }
                }
                Tree::Column(parts) if parts.len() == 1 => {
                    let mut named = targets.iter().enumerate().filter(|(_, target)| target.column.name == parts[0]);
                    match (named.next(), named.next()) {
                        (Some((index, _)), None) => index,
                        (None, _) => {
                            return Err(self.at(missing::column(&parts[0]), sort.expr.location));
                        }
                        _ => {
                            let message = format!("ORDER BY \"{}\" is ambiguous", parts[0]);
                            return Err(self.error(sqlstate::AMBIGUOUS_COLUMN, message, sort.expr.location));
                        }
                    }
                }
                _ => {
                    let message = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
                    return Err(self
                        .unsupported(message, sort.expr.start())
                        .detail("Only result column names can be used, not expressions or functions.")
                        .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause."));
                }
            };
            self.require_ordering(targets[found].expr.sql_type, sort.expr.location)?;
            let descending = self.is_descending(sort)?;
            let nulls_first = sort.nulls_first.unwrap_or(descending);
            items.push(OrderItem { target: found as u32, descending, nulls_first });
        }
        Ok(items)
    }
}
