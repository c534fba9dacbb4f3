//! Expressions.

use std::sync::Arc;

use base::limits::TARGETS_MAX;
use base::{Error, Result, missing, sqlstate};
use plan::bound::{Query, Relation, RelationKind};
use plan::{CaseWhen, EarlierField, Expr, ExprKind, FieldAccess, SessionValue, Variable};
use syntax::tree::{self, ExprKind as Tree, Indirection, Literal, Location, Name, SessionFunction};
use types::{CastContext, RecordShape, SmolStr, SqlType, Value, oids};

use super::Binder;
use super::scope::JoinWithDots;

impl Binder<'_, '_> {
    /// Binds an expression; literals and parameters may stay `unknown`.
    pub(super) fn expr(&mut self, expr: &tree::Expr) -> Result<Expr> {
        let clauses = self.collate_clauses;
        let bound = self.nested(|binder| binder.expr_inner(expr))?;
        if self.collate_clauses != clauses {
            self.check_collations(expr)?;
        }
        Ok(bound)
    }

    /// Binds an expression that is used as it is: `unknown` becomes text.
    pub(super) fn settled_expr(&mut self, expr: &tree::Expr) -> Result<Expr> {
        let bound = self.expr(expr)?;
        self.settle(bound, expr.start())
    }

    /// An expression on its own, coerced to a type as in an assignment.
    pub(super) fn scalar(&mut self, expr: &tree::Expr, target: Option<SqlType>) -> Result<Expr> {
        let bound = self.expr(expr)?;
        let Some(target) = target else { return self.settle(bound, expr.start()) };
        self.coerce_or(bound, target, CastContext::Assignment, expr.start(), |binder, bound| {
            binder.cannot_cast(bound.sql_type.oid, target.oid, expr.start())
        })
    }

    /// Binds a condition.
    pub(super) fn condition(&mut self, expr: &tree::Expr, construct: &str) -> Result<Expr> {
        let bound = self.expr(expr)?;
        self.coerce_boolean(bound, construct, expr.start())
    }

    fn exprs(&mut self, exprs: &[tree::Expr]) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn expr_inner(&mut self, expr: &tree::Expr) -> Result<Expr> {
        let location = expr.location;
        match &expr.kind {
            Tree::Literal(literal) => self.literal(literal, location),
            Tree::Parameter(number) => {
                let sql_type =
                    self.parameters.reference(*number, location).map_err(|error| self.at(error, location))?;
                let sql_type = if sql_type.oid == oids::UNKNOWN { unknown_at(location) } else { sql_type };
                Ok(Expr::new(ExprKind::Parameter(number - 1), sql_type))
            }
            Tree::Column(parts) => self.column(parts, location),
            // Where no list is expected, it is the row as a whole.
            Tree::Star(parts) if !parts.is_empty() => self.row_in_full(parts, location),
            Tree::Star(_) => {
                Err(self.error(sqlstate::SYNTAX_ERROR, "row expansion via \"*\" is not supported here", location))
            }
            Tree::Cast { input, type_name } => self.cast(input, type_name, location),
            Tree::Collate { input, collation } => {
                let bound = self.expr(input)?;
                self.collate_clauses += 1;
                self.collate(bound, collation, location)
            }
            Tree::Operator { operator, left, right } => self.operator(operator, left.as_deref(), right, location),
            Tree::Quantified { operator, all, left, array } => {
                self.quantified_array(operator, *all, left, array, location)
            }
            Tree::In { left, list, negated } => self.in_list(left, list, *negated, location),
            Tree::Between { input, low, high, symmetric, negated } => {
                self.between(input, low, high, *symmetric, *negated, location)
            }
            Tree::Distinct { left, right, negated } => self.distinct_from(left, right, *negated, location),
            Tree::NullIf(left, right) => self.null_if(left, right, location),
            Tree::And(list) => self.connective(list, "AND", ExprKind::And),
            Tree::Or(list) => self.connective(list, "OR", ExprKind::Or),
            Tree::Not(input) => {
                let bound = self.condition(input, "NOT")?;
                Ok(Expr::new(ExprKind::Not(Box::new(bound)), SqlType::BOOL))
            }
            Tree::NullTest { input, negated } => {
                let bound = Box::new(self.expr(input)?);
                let kind = if *negated { ExprKind::IsNotNull(bound) } else { ExprKind::IsNull(bound) };
                Ok(Expr::new(kind, SqlType::BOOL))
            }
            Tree::BooleanTest { input, value, negated } => {
                let construct = match (value, negated) {
                    (Some(true), false) => "IS TRUE",
                    (Some(true), true) => "IS NOT TRUE",
                    (Some(false), false) => "IS FALSE",
                    (Some(false), true) => "IS NOT FALSE",
                    (None, false) => "IS UNKNOWN",
                    (None, true) => "IS NOT UNKNOWN",
                };
                let bound = Box::new(self.condition(input, construct)?);
                let kind = ExprKind::IsTruth { input: bound, value: *value, negated: *negated };
                Ok(Expr::new(kind, SqlType::BOOL))
            }
            Tree::Case { operand, whens, otherwise } => {
                self.case(operand.as_deref(), whens, otherwise.as_deref(), location)
            }
            Tree::Coalesce(list) => {
                self.with_set_refusal("COALESCE", |binder| binder.common_list(list, "COALESCE", ExprKind::Coalesce))
            }
            Tree::Greatest(list) => self.min_max(list, "GREATEST", ExprKind::Greatest, location),
            Tree::Least(list) => self.min_max(list, "LEAST", ExprKind::Least, location),
            Tree::Session(function) => Ok(self.session_value(*function, expr.location)),
            Tree::Function(call) => self.function(call),
            Tree::Subquery(subquery) => self.subquery(subquery, location),
            Tree::Array(elements) => self.array(elements, None, location),
            Tree::Row { fields, .. } => self.row(fields),
            Tree::Indirection { input, steps } => self.indirection(input, steps, location),
            Tree::DefaultArgument(type_name) => Ok(Expr::null(self.type_of(type_name)?)),
            Tree::Default => {
                Err(self.error(sqlstate::SYNTAX_ERROR, "DEFAULT is not allowed in this context", location))
            }
            Tree::CurrentOf(_) => Err(self.unsupported("WHERE CURRENT OF is not supported", location)),
            Tree::NamedArgument { value, .. } => self.expr(value),
            Tree::MultiAssignment { source, column, columns } => {
                self.multi_assignment(source, *column, *columns, location)
            }
            Tree::Unsupported(what) => Err(self.unsupported(*what, location)),
        }
    }

    fn literal(&mut self, literal: &Literal, location: Location) -> Result<Expr> {
        Ok(match literal {
            Literal::Null => Expr::null(unknown_at(location)),
            Literal::Boolean(value) => Expr::boolean(*value),
            Literal::Integer(value) => Expr::constant(Value::Int4(*value), SqlType::INT4),
            Literal::Number(text) => return self.number(text, location),
            Literal::String(text) => Expr::constant(Value::Text(SmolStr::new(text)), unknown_at(location)),
            Literal::BitString(text) => {
                let ty = SqlType::new(types::oids::BIT);
                let value = types::input(self.context.eval, text, ty).map_err(|error| self.at(error, location))?;
                Expr::constant(value, ty)
            }
        })
    }

    /// A number that is no 32-bit integer: int8 if it fits, numeric otherwise.
    fn number(&mut self, text: &str, location: Location) -> Result<Expr> {
        if let Some(value) = parse_int8(text) {
            return Ok(match i32::try_from(value) {
                Ok(value) => Expr::constant(Value::Int4(value), SqlType::INT4),
                Err(_) => Expr::constant(Value::Int8(value), SqlType::INT8),
            });
        }
        let value =
            types::input(self.context.eval, text, SqlType::NUMERIC).map_err(|error| self.at(error, location))?;
        Ok(Expr::constant(value, SqlType::NUMERIC))
    }

    fn cast(&mut self, input: &tree::Expr, type_name: &tree::TypeName, location: Location) -> Result<Expr> {
        let target = self.type_of(type_name)?;
        // ARRAY[...]::type[] gives its elements the type from the start. A domain's constraints are those of the whole array.
        let base = types::base_type(self.context.lookup, target);
        if let Tree::Array(elements) = &input.kind
            && let Some(element) = types::element_type(self.context.lookup, base.oid)
        {
            let array =
                self.array(elements, Some((base, SqlType::with_typmod(element, base.typmod))), input.location)?;
            return self.cast_explicitly(array, target, location);
        }
        let bound = self.expr(input)?;
        let location = if location < 0 { input.location } else { location };
        self.cast_explicitly(bound, target, location)
    }

    /// COLLATE: only collations that order as bytes do, which is how everything is ordered.
    pub(super) fn collate(&mut self, expr: Expr, collation: &tree::QualifiedName, location: Location) -> Result<Expr> {
        if let Some(schema) = &collation.schema {
            let schema = [schema.to_string()];
            let found = self.context.lookup.object_named(types::context::RegKind::Namespace, &schema);
            found.map_err(|error| self.at(error, location))?;
        }
        types::collation::required(collation.schema.as_deref(), &collation.name)
            .map_err(|error| self.at(error, location))?;
        let expr = self.settle(expr, location)?;
        let collatable = matches!(expr.sql_type.oid, oids::TEXT | oids::VARCHAR | oids::BPCHAR | oids::NAME)
            || types::element_type(self.context.lookup, expr.sql_type.oid).is_some()
            || types::base_type(self.context.lookup, expr.sql_type).oid != expr.sql_type.oid;
        if !collatable {
            let found = self.type_name(expr.sql_type.oid);
            let message = format!("collations are not supported by type {found}");
            return Err(self.error(sqlstate::DATATYPE_MISMATCH, message, location));
        }
        Ok(expr)
    }

    fn connective(
        &mut self,
        list: &[tree::Expr],
        construct: &str,
        make: impl FnOnce(Vec<Expr>) -> ExprKind,
    ) -> Result<Expr> {
        let bound = list.iter().map(|expr| self.condition(expr, construct)).collect::<Result<Vec<_>>>()?;
        Ok(Expr::new(make(bound), SqlType::BOOL))
    }

    fn common_list(
        &mut self,
        list: &[tree::Expr],
        construct: &str,
        make: impl FnOnce(Vec<Expr>) -> ExprKind,
    ) -> Result<Expr> {
        let bound = self.exprs(list)?;
        let locations = list.iter().map(tree::Expr::start).collect::<Vec<_>>();
        let (coerced, common) = self.coerce_to_common(bound, construct, &locations)?;
        Ok(Expr::new(make(coerced), common))
    }

    fn min_max(
        &mut self,
        list: &[tree::Expr],
        construct: &str,
        make: impl FnOnce(Vec<Expr>) -> ExprKind,
        location: Location,
    ) -> Result<Expr> {
        let expr = self.common_list(list, construct, make)?;
        self.require_order(expr.sql_type, location)?;
        Ok(expr)
    }

    /// 42883 if values of the type have no order.
    pub(super) fn require_order(&mut self, sql_type: SqlType, location: Location) -> Result<()> {
        let base = types::base_type(self.context.lookup, sql_type);
        if types::comparator(base.oid).is_some() || self.orders_by_parts(base.oid) {
            return Ok(());
        }
        let found = self.type_name(sql_type.oid);
        let message = format!("could not identify a comparison function for type {found}");
        Err(self.error(sqlstate::UNDEFINED_FUNCTION, message, location))
    }

    /// Enums, arrays and rows order by what they are made of.
    pub(super) fn orders_by_parts(&self, oid: base::Oid) -> bool {
        use types::TypeKind;
        match types::type_shape(self.context.lookup, oid).map(|shape| shape.kind) {
            Some(TypeKind::Enum) => true,
            Some(TypeKind::Composite) => true,
            Some(TypeKind::Array(element)) => types::comparator(element).is_some() || self.orders_by_parts(element),
            _ => oid == oids::RECORD || self.context.catalog.table(oid).is_some(),
        }
    }

    fn case(
        &mut self,
        operand: Option<&tree::Expr>,
        whens: &[(tree::Expr, tree::Expr)],
        otherwise: Option<&tree::Expr>,
        location: Location,
    ) -> Result<Expr> {
        let operand = match operand {
            Some(operand) => {
                let bound = self.expr(operand)?;
                // A literal operand is compared as text.
                Some((self.settle(bound, operand.start())?, operand.location))
            }
            None => None,
        };
        self.with_set_refusal("CASE", |binder| {
            let mut conditions = Vec::with_capacity(whens.len());
            let mut results = Vec::with_capacity(whens.len() + 1);
            let mut locations = Vec::with_capacity(whens.len() + 1);
            for (condition, result) in whens {
                conditions.push(match &operand {
                    Some((operand, _)) => {
                        let value = binder.expr(condition)?;
                        let operand = Expr::new(ExprKind::CaseOperand, operand.sql_type);
                        let equal = binder.operator_on(None, "=", Some(operand), value, condition.location)?;
                        binder.coerce_boolean(equal, "CASE/WHEN", condition.location)?
                    }
                    None => binder.condition(condition, "CASE/WHEN")?,
                });
                results.push(binder.expr(result)?);
                locations.push(result.start());
            }
            // The ELSE comes first when the common type is looked for.
            let (otherwise, otherwise_location) = match otherwise {
                Some(otherwise) => (binder.expr(otherwise)?, otherwise.start()),
                None => (Expr::null(SqlType::UNKNOWN), location),
            };
            let types = std::iter::once(otherwise.sql_type).chain(results.iter().map(|expr| expr.sql_type));
            let types = types.collect::<Vec<_>>();
            let mut all_locations = vec![otherwise_location];
            all_locations.extend(&locations);
            let common = binder.common_type("CASE", &types, &all_locations)?;
            let otherwise = binder.coerce_to_common_type(otherwise, common, "CASE/ELSE", otherwise_location)?;
            let mut arms = Vec::with_capacity(results.len());
            for ((condition, result), location) in conditions.into_iter().zip(results).zip(locations) {
                let result = binder.coerce_to_common_type(result, common, "CASE/WHEN", location)?;
                arms.push(CaseWhen { condition, result });
            }
            let kind = ExprKind::Case {
                operand: operand.map(|(operand, _)| Box::new(operand)),
                whens: arms,
                otherwise: Some(Box::new(otherwise)),
            };
            Ok(Expr::new(kind, common))
        })
    }

    /// Runs `inner` where set-returning functions are refused with the construct's name.
    fn with_set_refusal<R>(
        &mut self,
        construct: &'static str,
        inner: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let Some(scope) = self.scopes.last_mut() else { return inner(self) };
        let before = scope.set_refusal.replace(construct);
        let result = inner(self);
        self.scope().set_refusal = before;
        result
    }

    fn session_value(&mut self, function: SessionFunction, location: Location) -> Expr {
        let asked = match function {
            SessionFunction::CurrentTime(Some(digits)) => Some((oids::TIMETZ, digits)),
            SessionFunction::CurrentTimestamp(Some(digits)) => Some((oids::TIMESTAMPTZ, digits)),
            SessionFunction::LocalTime(Some(digits)) => Some((oids::TIME, digits)),
            SessionFunction::LocalTimestamp(Some(digits)) => Some((oids::TIMESTAMP, digits)),
            _ => None,
        };
        if let Some((oid, digits)) = asked {
            self.warn_of_precision(oid, &[digits], location);
        }
        let precision = |digits: Option<i32>| digits.map(|digits| digits.clamp(0, 6) as u8);
        let typed =
            |oid, digits: Option<i32>| SqlType::with_typmod(oid, digits.map_or(-1, |digits| digits.clamp(0, 6)));
        let (value, sql_type) = match function {
            SessionFunction::CurrentDate => (SessionValue::CurrentDate, SqlType::new(oids::DATE)),
            SessionFunction::CurrentTime(digits) => {
                (SessionValue::CurrentTime(precision(digits)), typed(oids::TIMETZ, digits))
            }
            SessionFunction::CurrentTimestamp(digits) => {
                (SessionValue::CurrentTimestamp(precision(digits)), typed(oids::TIMESTAMPTZ, digits))
            }
            SessionFunction::LocalTime(digits) => {
                (SessionValue::LocalTime(precision(digits)), typed(oids::TIME, digits))
            }
            SessionFunction::LocalTimestamp(digits) => {
                (SessionValue::LocalTimestamp(precision(digits)), typed(oids::TIMESTAMP, digits))
            }
            SessionFunction::CurrentRole | SessionFunction::CurrentUser | SessionFunction::User => {
                (SessionValue::CurrentUser, SqlType::new(oids::NAME))
            }
            SessionFunction::SessionUser => (SessionValue::SessionUser, SqlType::new(oids::NAME)),
            SessionFunction::CurrentCatalog => (SessionValue::CurrentCatalog, SqlType::new(oids::NAME)),
            SessionFunction::CurrentSchema => (SessionValue::CurrentSchema, SqlType::new(oids::NAME)),
        };
        Expr::new(ExprKind::Session(value), sql_type)
    }

    /// ARRAY[...]; `wanted` is the array type it is cast to, and its element type.
    fn array(
        &mut self,
        elements: &[tree::Expr],
        wanted: Option<(SqlType, SqlType)>,
        location: Location,
    ) -> Result<Expr> {
        let mut nested = false;
        let mut bound = Vec::with_capacity(elements.len());
        for element in elements {
            // An array in an array makes a dimension more, of the same type.
            if let Tree::Array(inner) = &element.kind {
                nested = true;
                bound.push(self.nested(|binder| binder.array(inner, wanted, element.location))?);
                continue;
            }
            let expr = self.expr(element)?;
            nested = nested || self.is_array(expr.sql_type);
            bound.push(expr);
        }
        let locations = elements.iter().map(tree::Expr::start).collect::<Vec<_>>();
        let (elements, element_type) = match wanted {
            Some((array, element)) => {
                let target = if nested { array } else { element };
                let coerced = bound
                    .into_iter()
                    .zip(&locations)
                    .map(|(expr, location)| self.cast_explicitly(expr, target, *location))
                    .collect::<Result<Vec<_>>>()?;
                (coerced, target)
            }
            None if bound.is_empty() => {
                return Err(self
                    .error(sqlstate::INDETERMINATE_DATATYPE, "cannot determine type of empty array", location)
                    .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
            }
            None => self.coerce_to_common(bound, "ARRAY", &locations)?,
        };
        let array_type = match (nested, wanted) {
            (_, Some((array, _))) => array,
            (true, None) => SqlType::new(element_type.oid),
            (false, None) => match types::array_type(self.context.lookup, element_type.oid) {
                Some(array) => SqlType::with_typmod(array, element_type.typmod),
                None => {
                    let element = self.type_name(element_type.oid);
                    let message = format!("could not find array type for data type {element}");
                    return Err(self.error(sqlstate::UNDEFINED_OBJECT, message, location));
                }
            },
        };
        Ok(Expr::new(ExprKind::Array { elements, nested }, array_type))
    }

    /// Whether values of a type are arrays; those of a domain over arrays are its own.
    fn is_array(&self, sql_type: SqlType) -> bool {
        types::element_type(self.context.lookup, sql_type.oid).is_some()
            && types::base_type(self.context.lookup, sql_type).oid == sql_type.oid
            && !matches!(sql_type.oid, oids::INT2VECTOR | oids::OIDVECTOR | oids::NAME)
    }

    /// ROW(...): `t.*` among the fields is spread.
    pub(super) fn row(&mut self, fields: &[tree::Expr]) -> Result<Expr> {
        let bound = self.spread_exprs(fields)?;
        if bound.len() > TARGETS_MAX {
            let message = format!("ROW expressions can have at most {TARGETS_MAX} entries");
            let location = fields.first().map_or(-1, tree::Expr::start);
            return Err(self.error(sqlstate::TOO_MANY_COLUMNS, message, location));
        }
        let types = bound.iter().map(|field| {
            // Literals in a row stay as they are until something compares or casts them; the shape says text.
            if field.sql_type.oid == oids::UNKNOWN { SqlType::TEXT } else { field.sql_type }
        });
        let shape = Arc::new(RecordShape::anonymous(types));
        Ok(Expr::new(ExprKind::Row { fields: bound, shape, is_whole: false }, SqlType::new(oids::RECORD)))
    }

    /// Expressions of which `t.*` stands for several.
    pub(super) fn spread_exprs(&mut self, exprs: &[tree::Expr]) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(exprs.len());
        for expr in exprs {
            match &expr.kind {
                Tree::Star(parts) => {
                    bound.extend(self.star(parts, expr.location)?.into_iter().map(|column| column.expr));
                }
                Tree::Indirection { input, steps } if matches!(steps.last(), Some(Indirection::Star)) => {
                    bound.extend(self.spread(input, steps, expr.location)?.into_iter().map(|(_, field)| field));
                }
                _ => bound.push(self.expr(expr)?),
            }
        }
        Ok(bound)
    }

    /// `(expression).*`: the fields with their names.
    pub(super) fn spread(
        &mut self,
        input: &tree::Expr,
        steps: &[Indirection],
        location: Location,
    ) -> Result<Vec<(Name, Expr)>> {
        let steps = &steps[..steps.len() - 1];
        let bound = if steps.is_empty() { self.expr(input)? } else { self.indirection(input, steps, location)? };
        self.fields_of(bound, location)
    }

    /// Whether a field that is taken from a written row keeps the row around it. It does if the row has a named type, because the stored
    /// expression depends on that type's field, and in stored queries. Elsewhere, and in plans, the field stands alone.
    fn keeps_row(&self, sql_type: SqlType) -> bool {
        sql_type.oid != oids::RECORD || self.keeps_words()
    }

    /// The fields of a row value, with their names.
    pub(super) fn fields_of(&mut self, row: Expr, location: Location) -> Result<Vec<(Name, Expr)>> {
        let row = match row.kind {
            ExprKind::Row { is_whole: false, .. } if self.keeps_row(row.sql_type) => row,
            ExprKind::Row { fields, shape, .. } => {
                return Ok(shape.fields.iter().map(|(name, _)| Name::new(name)).zip(fields).collect());
            }
            _ => row,
        };
        let Some(shape) = self.row_shape(&row) else {
            let found = self.type_name(row.sql_type.oid);
            let message = if row.sql_type.oid == oids::RECORD {
                "record type has not been registered".to_owned()
            } else {
                format!("type {found} is not composite")
            };
            return Err(self.error(sqlstate::WRONG_OBJECT_TYPE, message, location));
        };
        Ok(shape
            .fields
            .iter()
            .enumerate()
            .map(|(field, (name, sql_type))| {
                let name = Name::new(name);
                let attribute_number = shape.attribute_at(field);
                let access =
                    FieldAccess { input: row.clone(), field: field as u32, attribute_number, name: name.clone() };
                (name, Expr::new(ExprKind::Field(Box::new(access)), *sql_type))
            })
            .collect())
    }

    /// The fields of a row value; `None` if its expression does not tell them.
    pub(super) fn row_shape(&self, row: &Expr) -> Option<Arc<RecordShape>> {
        match &row.kind {
            ExprKind::Row { shape, .. } => Some(shape.clone()),
            ExprKind::Case { otherwise: Some(row), .. } => self.row_shape(row),
            ExprKind::Set(call) => self.call_shape(&call.function, &call.types),
            ExprKind::Call(call) => self.call_shape(&call.function, &call.types),
            ExprKind::Subquery(subquery) => {
                let plan::SubqueryBody::Bound(query) = &subquery.body else { return None };
                self.output_shape(query, 0)
            }
            ExprKind::Variable(variable) if row.sql_type.oid == oids::RECORD => {
                let scope = self.scopes.iter().rev().nth(variable.level as usize)?;
                self.column_shape(variable, &scope.relations)
            }
            _ => self.composite_shape(row.sql_type.oid),
        }
    }

    /// The fields of a row value in a query that has this range table. Columns of enclosing queries are not looked up.
    fn row_shape_within(&self, row: &Expr, relations: &[Relation]) -> Option<Arc<RecordShape>> {
        match &row.kind {
            ExprKind::Variable(variable) if row.sql_type.oid == oids::RECORD => {
                if variable.level == 0 {
                    self.column_shape(variable, relations)
                } else {
                    None
                }
            }
            _ => self.row_shape(row),
        }
    }

    /// The fields of the row values in a column of a subquery or a common table expression.
    fn column_shape(&self, variable: &Variable, relations: &[Relation]) -> Option<Arc<RecordShape>> {
        let column = usize::try_from(variable.attribute).ok()?;
        match &relations.get(variable.relation as usize)?.kind {
            RelationKind::Subquery(query) => self.output_shape(query, column),
            RelationKind::Cte(id) | RelationKind::WorkTable(id) => {
                let mut visible = self.scopes.iter().rev().flat_map(|scope| &scope.ctes);
                visible.find(|cte| cte.id == *id)?.shapes.get(column)?.clone()
            }
            _ => None,
        }
    }

    /// The fields of the row values in a query's column. All parts of a UNION have rows alike, so the first one tells.
    fn output_shape(&self, query: &Query, column: usize) -> Option<Arc<RecordShape>> {
        if query.set_operation.is_some()
            && let RelationKind::Subquery(first) = &query.relations.first()?.kind
        {
            return self.output_shape(first, column);
        }
        self.row_shape_within(&query.output().nth(column)?.expr, &query.relations)
    }

    /// The fields of those columns of a query that are rows without a type's name.
    pub(super) fn shapes_of(&self, query: &Query) -> Vec<Option<Arc<RecordShape>>> {
        let columns = query.output().enumerate();
        let shapes = columns.map(|(column, target)| match target.expr.sql_type.oid {
            oids::RECORD => self.output_shape(query, column),
            _ => None,
        });
        shapes.collect()
    }

    /// `a[1]`, `(expression).field`
    fn indirection(&mut self, input: &tree::Expr, steps: &[Indirection], location: Location) -> Result<Expr> {
        let mut bound = self.expr(input)?;
        // A literal of no type yet is what the function takes.
        if !matches!(steps.first(), Some(Indirection::Field(_))) {
            bound = self.settle(bound, input.start())?;
        }
        let mut index = 0;
        while index < steps.len() {
            match &steps[index] {
                Indirection::Index(_) | Indirection::Slice(..) => {
                    let end = steps[index..]
                        .iter()
                        .position(|step| !matches!(step, Indirection::Index(_) | Indirection::Slice(..)))
                        .map_or(steps.len(), |count| index + count);
                    bound = self.subscript(bound, &steps[index..end], location)?;
                    index = end;
                }
                Indirection::Field(name) => {
                    bound = self.field_or_call(bound, name, location)?;
                    index += 1;
                }
                Indirection::Star => {
                    return Err(self.error(
                        sqlstate::SYNTAX_ERROR,
                        "row expansion via \"*\" is not supported here",
                        location,
                    ));
                }
            }
        }
        Ok(bound)
    }

    /// `(value).name`: a field, or a function called with the value.
    fn field_or_call(&mut self, value: Expr, name: &Name, location: Location) -> Result<Expr> {
        let shape = self.row_shape(&value);
        if shape.is_some_and(|shape| shape.fields.iter().any(|(field, _)| field == name.as_str())) {
            return self.field(value, name, location);
        }
        match self.function_as_column(value, name, location)? {
            Ok(call) => Ok(call),
            Err(value) => match self.table_of_row(&value) {
                Some(alias) => Err(self.at(missing::column_of_item(&alias, name), location)),
                None => self.field(value, name, location),
            },
        }
    }

    /// The name of the item of FROM whose row `value` is, if it is one.
    fn table_of_row(&self, value: &Expr) -> Option<Name> {
        let (fields, shape) = match &value.kind {
            ExprKind::Row { fields, shape, is_whole: true } => (fields, shape),
            ExprKind::Case { otherwise: Some(row), .. } => return self.table_of_row(row),
            _ => return None,
        };
        let ExprKind::Variable(first) = fields.first()?.kind else { return None };
        let scope = self.scopes.iter().rev().nth(first.level as usize)?;
        let relation = scope.relations.get(first.relation as usize)?;
        let is_its = |field: &(String, SqlType)| relation.columns.iter().any(|column| column.name == field.0.as_str());
        shape.fields.iter().all(is_its).then(|| relation.alias.clone())
    }

    pub(super) fn field(&mut self, row: Expr, name: &Name, location: Location) -> Result<Expr> {
        let Some(shape) = self.row_shape(&row) else {
            let found = self.type_name(row.sql_type.oid);
            let message = if row.sql_type.oid == oids::RECORD {
                format!("could not identify column \"{name}\" in record data type")
            } else {
                format!("column notation .{name} applied to type {found}, which is not a composite type")
            };
            let code =
                if row.sql_type.oid == oids::RECORD { sqlstate::UNDEFINED_COLUMN } else { sqlstate::WRONG_OBJECT_TYPE };
            return Err(self.error(code, message, location));
        };
        let row_type = row.sql_type.oid;
        let position = match self.field_of_earlier(location, row_type, name, &shape) {
            Some(EarlierField::At(position)) => Some(position),
            // A plan goes on without it, as in PostgreSQL.
            Some(EarlierField::Gone(position, then)) => {
                let then = Arc::clone(then);
                self.context.meaning.note_field(location, row_type, name, position, &then);
                return Ok(Expr::null(then.fields[position].1));
            }
            None => shape.fields.iter().position(|(field, _)| field == name.as_str()),
        };
        let Some(position) = position else {
            let found = self.type_name(row.sql_type.oid);
            let message = if row.sql_type.oid == oids::RECORD {
                format!("could not identify column \"{name}\" in record data type")
            } else {
                format!("column \"{name}\" not found in data type {found}")
            };
            return Err(self.error(sqlstate::UNDEFINED_COLUMN, message, location));
        };
        self.note_field(location, row_type, name, position, &shape);
        let row = match row.kind {
            ExprKind::Row { is_whole: false, .. } if self.keeps_row(row.sql_type) => row,
            ExprKind::Row { mut fields, .. } => return Ok(fields.swap_remove(position)),
            _ => row,
        };
        // The fields of a row from FROM are called as its columns are there.
        if !matches!(row.kind, ExprKind::Case { .. }) {
            self.note_resolved(|resolved| {
                resolved.fields.insert((location, name.clone()), (row.sql_type.oid, position));
            });
        }
        let sql_type = shape.fields[position].1;
        let attribute_number = shape.attribute_at(position);
        let access = FieldAccess { input: row, field: position as u32, attribute_number, name: name.clone() };
        Ok(Expr::new(ExprKind::Field(Box::new(access)), sql_type))
    }

    /// The field that the name stood for when the text was planned before.
    pub(super) fn field_of_earlier(
        &self,
        location: Location,
        row_type: base::Oid,
        name: &Name,
        shape: &RecordShape,
    ) -> Option<EarlierField<'_>> {
        self.earlier().and_then(|earlier| earlier.field(location, row_type, name, shape))
    }

    /// Takes down which field a name stands for, for when the text is planned again.
    pub(super) fn note_field(
        &mut self,
        location: Location,
        row_type: base::Oid,
        name: &Name,
        place: usize,
        shape: &Arc<RecordShape>,
    ) {
        if !self.text_is_foreign {
            self.context.meaning.note_field(location, row_type, name, place, shape);
        }
    }

    pub(super) fn subscript(&mut self, array: Expr, steps: &[Indirection], location: Location) -> Result<Expr> {
        let base = types::base_type(self.context.lookup, array.sql_type);
        if base.oid == oids::JSONB {
            return self.json_subscript(array, steps, location);
        }
        if let (oids::NAME, [Indirection::Index(index)]) = (base.oid, steps)
            && let ExprKind::Constant(Value::Int4(place)) = self.array_index(index)?.kind
        {
            return self.character_of_name(array, place, location);
        }
        let Some(element) = types::subscripted_type(self.context.lookup, base.oid) else {
            let found = self.type_name(array.sql_type.oid);
            let message = format!("cannot subscript type {found} because it does not support subscripting");
            return Err(self.error(sqlstate::DATATYPE_MISMATCH, message, location));
        };
        if steps.len() > types::MAX_DIMENSIONS {
            return Err(types::too_many_dimensions(steps.len()));
        }
        let slice = steps.iter().any(|step| matches!(step, Indirection::Slice(..)));
        let mut subscripts = Vec::with_capacity(steps.len());
        for step in steps {
            subscripts.push(match step {
                // Next to a slice, a single index means from 1 to there.
                Indirection::Index(index) if slice => {
                    (Some(Expr::constant(Value::Int4(1), SqlType::INT4)), Some(self.array_index(index)?))
                }
                Indirection::Index(index) => (None, Some(self.array_index(index)?)),
                Indirection::Slice(low, high) => {
                    let low = low.as_ref().map(|low| self.array_index(low)).transpose()?;
                    let high = high.as_ref().map(|high| self.array_index(high)).transpose()?;
                    (low, high)
                }
                Indirection::Field(_) | Indirection::Star => unreachable!("the caller stops at these"),
            });
        }
        let sql_type = if slice { base } else { SqlType::with_typmod(element, base.typmod) };
        Ok(Expr::new(ExprKind::Subscript { input: Box::new(array), subscripts, slice }, sql_type))
    }

    /// `name[0]`: one of a name's characters, which count from 0.
    fn character_of_name(&mut self, name: Expr, place: i32, location: Location) -> Result<Expr> {
        let types = [SqlType::TEXT, SqlType::INT4, SqlType::INT4];
        let resolved = types::resolve_function(self.context.lookup, &types::Call::new("substr", &types))?;
        let types::Callee::Function(function) = resolved.callee else {
            return Err(Error::internal("substr is not a function"));
        };
        let wanted = |number: i32| Expr::constant(Value::Int4(number), SqlType::INT4);
        let text = self.try_coerce(name, SqlType::TEXT, CastContext::Implicit, location)?;
        let text = text.ok_or_else(|| Error::internal("a name is no text"))?;
        let call = plan::Call {
            function: plan::FunctionTarget::Builtin(function),
            arguments: vec![text, wanted(place.saturating_add(1)), wanted(1)],
            types: resolved.types,
            operator: None,
            in_words: false,
            location,
        };
        let character = Expr::new(ExprKind::Call(Box::new(call)), SqlType::TEXT);
        let found = self.try_coerce(character, SqlType::new(oids::CHAR), CastContext::Explicit, location)?;
        found.ok_or_else(|| Error::internal("a text is no \"char\""))
    }

    pub(super) fn array_index(&mut self, index: &tree::Expr) -> Result<Expr> {
        let bound = self.expr(index)?;
        self.coerce_or(bound, SqlType::INT4, CastContext::Assignment, index.start(), |binder, _| {
            binder.error(sqlstate::DATATYPE_MISMATCH, "array subscript must have type integer", index.start())
        })
    }

    /// A column of `(a, b) = (SELECT ...)` or `= ROW(...)`.
    fn multi_assignment(&mut self, source: &tree::Expr, column: u32, columns: u32, location: Location) -> Result<Expr> {
        let mismatch = |binder: &Self| {
            binder.error(sqlstate::SYNTAX_ERROR, "number of columns does not match number of values", location)
        };
        match &source.kind {
            Tree::Row { fields, .. } => {
                if fields.len() != columns as usize {
                    return Err(mismatch(self));
                }
                self.expr(&fields[column as usize - 1])
            }
            Tree::Subquery(subquery) if matches!(subquery.kind, tree::SubqueryKind::Scalar) => {
                self.subquery_column(subquery, column, columns, location)
            }
            _ => Err(self.error(
                sqlstate::FEATURE_NOT_SUPPORTED,
                "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
                location,
            )),
        }
    }

    /// How a dotted name would be written.
    pub(super) fn dotted(parts: &[Name]) -> String {
        parts.join_with_dots()
    }
}

/// The type of a literal or parameter that has none yet. Its modifier, which means nothing otherwise, remembers where
/// it stands: an error in reading the literal points there, wherever its type is found out.
fn unknown_at(location: Location) -> SqlType {
    SqlType::with_typmod(oids::UNKNOWN, location)
}

/// An integer of at most 64 bits, in any base the grammar takes.
fn parse_int8(text: &str) -> Option<i64> {
    let digits = text.replace('_', "");
    let lower = digits.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).ok();
    }
    if let Some(octal) = lower.strip_prefix("0o") {
        return i64::from_str_radix(octal, 8).ok();
    }
    if let Some(binary) = lower.strip_prefix("0b") {
        return i64::from_str_radix(binary, 2).ok();
    }
    digits.parse().ok()
}
