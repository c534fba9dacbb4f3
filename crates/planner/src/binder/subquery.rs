//! Subqueries in expressions.

use base::{Result, sqlstate};
use plan::bound::Query;
use plan::{Expr, ExprKind, Quantifier, Subquery, SubqueryBody, SubqueryKind};
use syntax::tree::{self, Location};
use types::SqlType;

use super::Binder;
use super::operator::{call_of, is_hashable_equality};

impl Binder<'_, '_> {
    /// A subquery as an operand.
    pub(super) fn subquery(&mut self, subquery: &tree::Subquery, location: Location) -> Result<Expr> {
        if let Some(scope) = self.scopes.last()
            && let Some(refusal) = scope.place.refuses_subqueries()
        {
            return Err(self.unsupported(refusal, location));
        }
        match &subquery.kind {
            tree::SubqueryKind::Exists => {
                let query = self.inner_query(&subquery.query)?;
                Ok(self.subquery_expr(SubqueryKind::Exists, query, SqlType::BOOL, location))
            }
            tree::SubqueryKind::Scalar => {
                let query = self.inner_query(&subquery.query)?;
                let sql_type = self.only_column(&query, location)?;
                Ok(self.subquery_expr(SubqueryKind::Scalar, query, sql_type, location))
            }
            tree::SubqueryKind::Array => {
                let query = self.inner_query(&subquery.query)?;
                let element = self.only_column(&query, location)?;
                // An array of arrays is an array of the same type with a dimension more.
                let is_array = types::element_type(self.context.lookup, element.oid).is_some();
                let array =
                    if is_array { Some(element.oid) } else { types::array_type(self.context.lookup, element.oid) };
                let Some(array) = array else {
                    let element = self.type_name(element.oid);
                    let message = format!("could not find array type for data type {element}");
                    return Err(self.error(sqlstate::UNDEFINED_OBJECT, message, location));
                };
                Ok(self.subquery_expr(
                    SubqueryKind::Array { of_arrays: is_array },
                    query,
                    SqlType::new(array),
                    location,
                ))
            }
            tree::SubqueryKind::Quantified { left, operator, all } => {
                let (schema, name) = match operator {
                    Some(operator) => (operator.schema.as_deref(), operator.name.as_str()),
                    None => (None, "="),
                };
                // Its errors come before those of the left side.
                let query = self.inner_query(&subquery.query)?;
                let left = match &left.kind {
                    tree::ExprKind::Row { fields, .. } => self.spread_exprs(fields)?,
                    _ => match self.expr(left)? {
                        // A row that is cast to its type is still compared field by field.
                        Expr { kind: ExprKind::Row { fields, is_whole: false, .. }, .. } => fields,
                        left => vec![left],
                    },
                };
                let quantifier = if *all { Quantifier::All } else { Quantifier::Any };
                self.quantified_subquery(schema, name, quantifier, left, query, (location, location))
            }
        }
    }

    /// Column `column` (from 1) of a subquery that must have `columns`.
    pub(super) fn subquery_column(
        &mut self,
        subquery: &tree::Subquery,
        column: u32,
        columns: u32,
        location: Location,
    ) -> Result<Expr> {
        let mut query = self.inner_query(&subquery.query)?;
        if query.output().count() != columns as usize {
            let message = "number of columns does not match number of values";
            return Err(self.error(sqlstate::SYNTAX_ERROR, message, location));
        }
        let mut number = 0;
        let mut sql_type = SqlType::UNKNOWN;
        for target in &mut query.targets {
            if target.hidden {
                continue;
            }
            number += 1;
            if number == column {
                sql_type = target.expr.sql_type;
            } else {
                target.hidden = true;
            }
        }
        Ok(self.subquery_expr(SubqueryKind::Scalar, query, sql_type, location))
    }

    fn subquery_expr(&mut self, kind: SubqueryKind, query: Query, sql_type: SqlType, location: Location) -> Expr {
        let id = self.subquery_count;
        self.subquery_count += 1;
        let body = SubqueryBody::Bound(Box::new(query));
        let subquery = Subquery { kind, body, id, arguments: Vec::new(), correlated: false, location };
        Expr::new(ExprKind::Subquery(Box::new(subquery)), sql_type)
    }

    fn only_column(&self, query: &Query, location: Location) -> Result<SqlType> {
        let mut output = query.output();
        match (output.next(), output.next()) {
            (Some(target), None) => Ok(target.expr.sql_type),
            _ => Err(self.error(sqlstate::SYNTAX_ERROR, "subquery must return only one column", location)),
        }
    }

    /// `(a, b) operator (SELECT ...)`: the subquery gives one row at most. The operator and the subquery stand at these places.
    pub(super) fn row_against_subquery(
        &mut self,
        operator: &tree::OperatorName,
        fields: &[tree::Expr],
        subquery: &tree::Subquery,
        (location, place): (Location, Location),
    ) -> Result<Expr> {
        let query = self.inner_query(&subquery.query)?;
        let left = self.spread_exprs(fields)?;
        let (schema, name) = (operator.schema.as_deref(), &operator.name);
        self.quantified_subquery(schema, name, Quantifier::Only, left, query, (location, place))
    }

    fn quantified_subquery(
        &mut self,
        schema: Option<&str>,
        name: &str,
        quantifier: Quantifier,
        left: Vec<Expr>,
        query: Query,
        (location, place): (Location, Location),
    ) -> Result<Expr> {
        let types = query.output().map(|target| target.expr.sql_type).collect::<Vec<_>>();
        if types.len() != left.len() {
            let message =
                if types.len() > left.len() { "subquery has too many columns" } else { "subquery has too few columns" };
            return Err(self.error(sqlstate::SYNTAX_ERROR, message, location));
        }
        let count = left.len();
        let ordering = count > 1 && !matches!(name, "=" | "<>");
        let mut hashable = name == "=";
        let mut coerced = Vec::with_capacity(count);
        let mut comparisons = Vec::with_capacity(count);
        for (index, (operand, right)) in left.into_iter().zip(types).enumerate() {
            if ordering {
                // The row operator is put together from both rows' slots below.
                coerced.push(self.settle(operand, location)?);
                continue;
            }
            let (left_cast, right_cast, resolved) = self.comparison(schema, name, operand.sql_type, right, location)?;
            let operand = self.apply_cast(operand, &left_cast, location)?;
            let slot = Expr::column(count + index, right);
            let column = self.apply_cast(slot, &right_cast, location)?;
            hashable = hashable
                && is_hashable_equality(resolved.operator)
                && matches!(column.kind, ExprKind::Column(_))
                && operand.sql_type.oid == column.sql_type.oid
                // The hash table knows nothing of padding.
                && operand.sql_type.oid != types::oids::BPCHAR;
            let slot = Expr::column(index, operand.sql_type);
            comparisons.push(call_of(&resolved, vec![slot, column], location));
            coerced.push(operand);
        }
        if ordering {
            let slots = coerced.iter().enumerate();
            let left_row = slots.map(|(index, operand)| Expr::column(index, operand.sql_type)).collect::<Vec<_>>();
            let targets = query.output().enumerate();
            let right_row = targets.map(|(index, target)| Expr::column(count + index, target.expr.sql_type));
            let left_row = anonymous_row(left_row);
            let right_row = anonymous_row(right_row.collect());
            comparisons.push(self.operator_on(schema, name, Some(left_row), right_row, location)?);
        }
        let boolean = comparisons.iter().all(|comparison| comparison.sql_type.oid == types::oids::BOOL);
        if !boolean {
            let message = "operator used with ANY or ALL must return boolean";
            return Err(self.error(sqlstate::DATATYPE_MISMATCH, message, location));
        }
        let kind =
            SubqueryKind::Quantified { quantifier, left: coerced, comparisons, any_column: name == "<>", hashable };
        Ok(self.subquery_expr(kind, query, SqlType::BOOL, place))
    }
}

fn anonymous_row(fields: Vec<Expr>) -> Expr {
    let shape = types::RecordShape::anonymous(fields.iter().map(|field| field.sql_type));
    let kind = ExprKind::Row { fields, shape: std::sync::Arc::new(shape), is_whole: false };
    Expr::new(kind, SqlType::new(types::oids::RECORD))
}
