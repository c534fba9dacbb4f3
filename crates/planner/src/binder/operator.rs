//! Operators, and the constructs made of them: IN, BETWEEN, IS DISTINCT FROM, NULLIF, row comparisons.

use base::{Result, sqlstate};
use plan::{Call, Expr, ExprKind, FunctionTarget, Quantified, Quantifier};
use syntax::tree::{self, ExprKind as Tree, Location, OperatorName};
use types::{Cast, CastContext, OperatorDef, ResolvedOperator, SqlType, oids};

use super::Binder;

impl Binder<'_, '_> {
    /// An operator as written.
    pub(super) fn operator(
        &mut self,
        operator: &OperatorName,
        left: Option<&tree::Expr>,
        right: &tree::Expr,
        location: Location,
    ) -> Result<Expr> {
        if let (Some(Tree::Row { fields, .. }), Tree::Subquery(subquery)) = (left.map(|left| &left.kind), &right.kind)
            && matches!(subquery.kind, tree::SubqueryKind::Scalar)
        {
            return self.row_against_subquery(operator, fields, subquery, (location, right.location));
        }
        if let Some(left) = left
            && let Some(tested) = null_test(operator, left, right)
            && self.context.settings.transform_null_equals
            && !self.text_is_foreign
            && self.stored_query_of.is_none()
        {
            self.note_resolved(|resolved| {
                resolved.null_tests.insert(location);
            });
            return Ok(Expr::new(ExprKind::IsNull(Box::new(self.expr(tested)?)), SqlType::BOOL));
        }
        let left = left.map(|left| self.expr(left)).transpose()?;
        let right = self.expr(right)?;
        self.operator_on(operator.schema.as_deref(), &operator.name, left, right, location)
    }

    /// An operator on bound operands.
    pub(super) fn operator_on(
        &mut self,
        schema: Option<&str>,
        name: &str,
        left: Option<Expr>,
        right: Expr,
        location: Location,
    ) -> Result<Expr> {
        // Only rows that were written without a cast compare field by field. Rows of FROM and of named types are values.
        if let Some(Expr { kind: ExprKind::Row { fields: left_fields, is_whole: false, .. }, sql_type: left_type }) =
            &left
            && let ExprKind::Row { fields: right_fields, is_whole: false, .. } = &right.kind
            && left_type.oid == oids::RECORD
            && right.sql_type.oid == oids::RECORD
        {
            let (left_fields, right_fields) = (left_fields.clone(), right_fields.clone());
            return match is_comparison(name) {
                true => self.row_comparison(name, left_fields, right_fields, location),
                false => self.refuse_row_operator(schema, name, left_fields, right_fields, location),
            };
        }
        let call = self.operator_call(schema, name, left, right, location)?;
        let result = call.types.result;
        Ok(Expr::new(ExprKind::Call(Box::new(call)), result))
    }

    /// The call of the function behind an operator.
    pub(super) fn operator_call(
        &mut self,
        schema: Option<&str>,
        name: &str,
        left: Option<Expr>,
        right: Expr,
        location: Location,
    ) -> Result<Call> {
        let resolved = self.resolve(schema, name, left.as_ref().map(|left| left.sql_type), right.sql_type, location)?;
        let operands = left.into_iter().chain(std::iter::once(right));
        let arguments = operands
            .zip(&resolved.casts)
            .map(|(operand, cast)| self.apply_cast(operand, cast, location))
            .collect::<Result<Vec<_>>>()?;
        Ok(Call {
            function: FunctionTarget::Builtin(resolved.function),
            arguments,
            types: resolved.types,
            operator: Some(resolved.operator),
            in_words: false,
            location,
        })
    }

    fn resolve(
        &mut self,
        schema: Option<&str>,
        name: &str,
        left: Option<SqlType>,
        right: SqlType,
        location: Location,
    ) -> Result<ResolvedOperator> {
        self.check_schema(schema, location)?;
        types::resolve_operator(self.context.lookup, schema, name, left, right)
            .map_err(|error| self.at(error, location))
    }

    /// An operator on rows that is none of the six comparisons: what the same operator on their columns makes of that.
    fn refuse_row_operator(
        &mut self,
        schema: Option<&str>,
        name: &str,
        left: Vec<Expr>,
        right: Vec<Expr>,
        location: Location,
    ) -> Result<Expr> {
        if left.len() != right.len() {
            return Err(self.error(sqlstate::SYNTAX_ERROR, "unequal number of entries in row expressions", location));
        }
        if left.is_empty() {
            return Err(self.unsupported("cannot compare rows of zero length", location));
        }
        let mut columns = Vec::with_capacity(left.len());
        for (left, right) in left.into_iter().zip(right) {
            let column = self.operator_on(schema, name, Some(left), right, location)?;
            self.require_boolean_row_operator(&column, name, location)?;
            columns.push(column);
        }
        if columns.len() == 1 {
            return Ok(columns.swap_remove(0));
        }
        let message = format!("could not determine interpretation of row comparison operator {name}");
        Err(self
            .unsupported(message, location)
            .hint("Row comparison operators must be associated with btree operator families."))
    }

    /// `(a, b) < (c, d)`: column by column, the first difference decides.
    fn row_comparison(&mut self, name: &str, left: Vec<Expr>, right: Vec<Expr>, location: Location) -> Result<Expr> {
        if left.len() != right.len() {
            return Err(self.error(sqlstate::SYNTAX_ERROR, "unequal number of entries in row expressions", location));
        }
        if left.is_empty() {
            return Err(self.unsupported("cannot compare rows of zero length", location));
        }
        let pairs = left.into_iter().zip(right).collect::<Vec<_>>();
        if matches!(name, "=" | "<>") {
            let columns = pairs
                .into_iter()
                .map(|(left, right)| {
                    let equal = self.operator_on(None, name, Some(left), right, location)?;
                    self.require_boolean_row_operator(&equal, name, location)?;
                    Ok(equal)
                })
                .collect::<Result<Vec<_>>>()?;
            return Ok(combine(columns, name == "<>"));
        }
        self.lexicographic(name, &pairs, location)
    }

    fn lexicographic(&mut self, name: &str, pairs: &[(Expr, Expr)], location: Location) -> Result<Expr> {
        let ((left, right), rest) = pairs.split_first().expect("rows of zero length were refused");
        if rest.is_empty() {
            return self.operator_on(None, name, Some(left.clone()), right.clone(), location);
        }
        let strict = &name[..1];
        let decided = self.operator_on(None, strict, Some(left.clone()), right.clone(), location)?;
        let equal = self.operator_on(None, "=", Some(left.clone()), right.clone(), location)?;
        let later = self.lexicographic(name, rest, location)?;
        let later = Expr::new(ExprKind::And(vec![equal, later]), SqlType::BOOL);
        Ok(Expr::new(ExprKind::Or(vec![decided, later]), SqlType::BOOL))
    }

    fn require_boolean_row_operator(&self, result: &Expr, name: &str, location: Location) -> Result<()> {
        if result.sql_type.oid == oids::BOOL {
            return Ok(());
        }
        let found = self.type_name(result.sql_type.oid);
        let message = format!("row comparison operator {name} must yield type boolean, not type {found}");
        Err(self.error(sqlstate::DATATYPE_MISMATCH, message, location))
    }

    /// `IN (list)`: one search through an array of all that is no column, and comparisons with the rest.
    pub(super) fn in_list(
        &mut self,
        left: &tree::Expr,
        list: &[tree::Expr],
        negated: bool,
        location: Location,
    ) -> Result<Expr> {
        let name = if negated { "<>" } else { "=" };
        let bound_left = self.expr(left)?;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            let bound = self.expr(item)?;
            let start = item.start();
            let has_column =
                bound.any(&|expr| matches!(&expr.kind, ExprKind::Variable(variable) if variable.level == 0));
            let is_plain = !has_column && !bound.any(&|expr| matches!(expr.kind, ExprKind::Subquery(_)));
            items.push((bound, start, is_plain));
        }
        let mut tests = Vec::new();
        let plain = || items.iter().filter(|(.., is_plain)| *is_plain);
        if plain().count() > 1 {
            let types = std::iter::once(bound_left.sql_type).chain(plain().map(|(item, ..)| item.sql_type));
            let common = types::common_type(self.context.lookup, "IN", &types.collect::<Vec<_>>()).ok();
            // Rows without a named type may have fields of several types, so they are compared field by field.
            let common = common.filter(|common| common.oid != oids::RECORD);
            let array = common.and_then(|common| Some((common, types::array_type(self.context.lookup, common.oid)?)));
            if let Some((common, array)) = array {
                let common = SqlType::new(common.oid);
                let elements = items
                    .extract_if(.., |(.., is_plain)| *is_plain)
                    .map(|(item, location, _)| self.coerce_to_common_type(item, common, "IN", location))
                    .collect::<Result<Vec<_>>>()?;
                let array = Expr::new(ExprKind::Array { elements, nested: false }, SqlType::new(array));
                tests.push(self.quantified_on(name, negated, bound_left.clone(), array, location)?);
            }
        }
        for (item, item_location, _) in items {
            let test = match (&bound_left.kind, &item.kind) {
                (
                    ExprKind::Row { fields: left, is_whole: false, .. },
                    ExprKind::Row { fields: right, is_whole: false, .. },
                ) => {
                    let (left, right) = (left.clone(), right.clone());
                    self.row_comparison(name, left, right, location)?
                }
                _ => self.operator_on(None, name, Some(bound_left.clone()), item, location)?,
            };
            tests.push(self.coerce_boolean(test, "IN", item_location)?);
        }
        Ok(combine(tests, !negated))
    }

    /// `left operator ANY|ALL (array)`
    pub(super) fn quantified_array(
        &mut self,
        operator: &OperatorName,
        all: bool,
        left: &tree::Expr,
        array: &tree::Expr,
        location: Location,
    ) -> Result<Expr> {
        let left = self.expr(left)?;
        let array = self.expr(array)?;
        self.quantified_on(&operator.name, all, left, array, location)
    }

    fn quantified_on(&mut self, name: &str, all: bool, left: Expr, array: Expr, location: Location) -> Result<Expr> {
        let element = if array.sql_type.oid == oids::UNKNOWN {
            SqlType::UNKNOWN
        } else {
            match types::subscripted_type(
                self.context.lookup,
                types::base_type(self.context.lookup, array.sql_type).oid,
            ) {
                Some(element) => SqlType::new(element),
                None => {
                    let message = "op ANY/ALL (array) requires array on right side";
                    return Err(self.error(sqlstate::WRONG_OBJECT_TYPE, message, location));
                }
            }
        };
        let resolved = self.resolve(None, name, Some(left.sql_type), element, location)?;
        if resolved.types.result.oid != oids::BOOL {
            let message = "op ANY/ALL (array) requires operator to yield boolean";
            return Err(self.error(sqlstate::WRONG_OBJECT_TYPE, message, location));
        }
        let left = self.apply_cast(left, &resolved.casts[0], location)?;
        let wanted = resolved.types.arguments.get(1).map_or(element, |wanted| *wanted);
        // An array of rows is not converted: rows of any types compare. Nor is an array of a domain over an array type: arrays of arrays have
        // no type.
        let is_of_rows = wanted.oid == oids::RECORD && element.oid != oids::UNKNOWN;
        let is_of_arrays = || types::base_type(self.context.lookup, element).oid == wanted.oid;
        let array = match types::array_type(self.context.lookup, wanted.oid) {
            Some(_) if is_of_rows => array,
            Some(array_type) => {
                let from = array.sql_type.oid;
                self.try_coerce(array, SqlType::new(array_type), CastContext::Implicit, location)?
                    .ok_or_else(|| self.cannot_cast(from, array_type, location))?
            }
            None if is_of_arrays() => array,
            None => {
                let wanted = self.type_name(wanted.oid);
                let message = format!("could not find array type for data type {wanted}");
                return Err(self.error(sqlstate::UNDEFINED_OBJECT, message, location));
            }
        };
        let quantified = Quantified {
            quantifier: if all { Quantifier::All } else { Quantifier::Any },
            function: resolved.function,
            types: resolved.types,
            operator: resolved.operator,
            left,
            array,
        };
        Ok(Expr::new(ExprKind::Quantified(Box::new(quantified)), SqlType::BOOL))
    }

    pub(super) fn between(
        &mut self,
        input: &tree::Expr,
        low: &tree::Expr,
        high: &tree::Expr,
        symmetric: bool,
        negated: bool,
        location: Location,
    ) -> Result<Expr> {
        let range = |binder: &mut Self, low: &tree::Expr, high: &tree::Expr| -> Result<Expr> {
            let (above, below) = if negated { ("<", ">") } else { (">=", "<=") };
            let mut compare = |name: &str, bound: &tree::Expr| {
                let left = binder.expr(input)?;
                let right = binder.expr(bound)?;
                let test = binder.operator_on(None, name, Some(left), right, location)?;
                binder.coerce_boolean(test, "AND", location)
            };
            let tests = vec![compare(above, low)?, compare(below, high)?];
            Ok(combine(tests, negated))
        };
        let one_way = range(self, low, high)?;
        if !symmetric {
            return Ok(one_way);
        }
        let other_way = range(self, high, low)?;
        Ok(combine(vec![one_way, other_way], !negated))
    }

    pub(super) fn distinct_from(
        &mut self,
        left: &tree::Expr,
        right: &tree::Expr,
        negated: bool,
        location: Location,
    ) -> Result<Expr> {
        let is_null = |expr: &tree::Expr| matches!(expr.kind, Tree::Literal(tree::Literal::Null));
        // Against a bare NULL it is a test for NULL, whatever the type.
        for (null, other) in [(left, right), (right, left)] {
            if is_null(null) {
                let other = self.expr(other)?;
                if self.is_row_value(other.sql_type) {
                    // IS NULL would ask for the fields of a row.
                    let null = Expr::null(other.sql_type);
                    return self.distinct_on(other, null, negated, location);
                }
                let other = Box::new(other);
                let kind = if negated { ExprKind::IsNull(other) } else { ExprKind::IsNotNull(other) };
                return Ok(Expr::new(kind, SqlType::BOOL));
            }
        }
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        self.distinct_on(left, right, negated, location)
    }

    /// Whether values of a type are rows.
    fn is_row_value(&self, sql_type: SqlType) -> bool {
        sql_type.oid == oids::RECORD || self.composite_shape(sql_type.oid).is_some()
    }

    fn distinct_on(&mut self, left: Expr, right: Expr, negated: bool, location: Location) -> Result<Expr> {
        // Whole rows of FROM compare as values. Written rows, cast or not, compare field by field.
        if let ExprKind::Row { fields: left, is_whole: false, .. } = &left.kind
            && let ExprKind::Row { fields: right, is_whole: false, .. } = &right.kind
        {
            if left.len() != right.len() {
                let message = "unequal number of entries in row expressions";
                return Err(self.error(sqlstate::SYNTAX_ERROR, message, location));
            }
            let tests = left
                .iter()
                .zip(right)
                .map(|(left, right)| self.distinct_on(left.clone(), right.clone(), negated, location))
                .collect::<Result<Vec<_>>>()?;
            return Ok(combine(tests, !negated));
        }
        let equal = self.operator_call(None, "=", Some(left), right, location)?;
        if equal.types.result.oid != oids::BOOL {
            let message = "IS DISTINCT FROM requires = operator to yield boolean";
            return Err(self.error(sqlstate::DATATYPE_MISMATCH, message, location));
        }
        Ok(Expr::new(ExprKind::IsDistinct { equal: Box::new(equal), negated }, SqlType::BOOL))
    }

    pub(super) fn null_if(&mut self, left: &tree::Expr, right: &tree::Expr, location: Location) -> Result<Expr> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let named_row = self.composite_shape(left.sql_type.oid).is_some().then(|| left.clone());
        let mut equal = self.operator_call(None, "=", Some(left), right, location)?;
        if equal.types.result.oid != oids::BOOL {
            let message = "NULLIF requires = operator to yield boolean";
            return Err(self.error(sqlstate::DATATYPE_MISMATCH, message, location));
        }
        // Rows are compared as records, and stay what they are.
        if let Some(row) = named_row {
            equal.arguments[0] = row;
        }
        let as_compared = equal.types.arguments.first().filter(|first| first.oid != oids::RECORD);
        let sql_type = as_compared.map_or(equal.arguments[0].sql_type, |first| *first);
        Ok(Expr::new(ExprKind::NullIf(Box::new(equal)), sql_type))
    }

    /// How a comparison of a left operand with a column of a subquery works: the casts for both sides, and the call
    /// to be made of them.
    pub(super) fn comparison(
        &mut self,
        schema: Option<&str>,
        name: &str,
        left: SqlType,
        right: SqlType,
        location: Location,
    ) -> Result<(Cast, Cast, ResolvedOperator)> {
        let resolved = self.resolve(schema, name, Some(left), right, location)?;
        Ok((resolved.casts[0].clone(), resolved.casts[1].clone(), resolved))
    }
}

/// Of `x = NULL` or `NULL = x`, as it was written: the operand that `transform_null_equals` has tested for NULL.
pub(crate) fn null_test<'t>(
    operator: &OperatorName,
    left: &'t tree::Expr,
    right: &'t tree::Expr,
) -> Option<&'t tree::Expr> {
    let is_null = |expr: &tree::Expr| matches!(expr.kind, Tree::Literal(tree::Literal::Null));
    if operator.schema.is_some() || operator.name != "=" {
        return None;
    }
    match (is_null(left), is_null(right)) {
        (true, _) => Some(right),
        (false, true) => Some(left),
        (false, false) => None,
    }
}

/// Whether an operator compares rows.
fn is_comparison(name: &str) -> bool {
    matches!(name, "=" | "<>" | "<" | "<=" | ">" | ">=")
}

/// Tests joined by OR (`any`) or AND.
pub(super) fn combine(mut tests: Vec<Expr>, any: bool) -> Expr {
    if tests.len() == 1 {
        return tests.swap_remove(0);
    }
    Expr::new(if any { ExprKind::Or(tests) } else { ExprKind::And(tests) }, SqlType::BOOL)
}

/// The call of a resolved operator on operands that have its types.
pub(super) fn call_of(resolved: &ResolvedOperator, arguments: Vec<Expr>, location: Location) -> Expr {
    let call = Call {
        function: FunctionTarget::Builtin(resolved.function),
        arguments,
        types: resolved.types.clone(),
        operator: Some(resolved.operator),
        in_words: false,
        location,
    };
    Expr::new(ExprKind::Call(Box::new(call)), resolved.types.result)
}

/// Whether an operator is an equality that hashing can decide.
pub(super) fn is_hashable_equality(operator: &OperatorDef) -> bool {
    operator.role == types::OperatorRole::Equal
        && types::is_hashable(operator.left)
        && types::is_hashable(operator.right)
}
