//! Computing at planning time what can't come out differently later.

use std::cell::Cell;
use std::sync::Arc;

use base::{Error, Result};

use super::inline::{Inlining, inlined_call};
use super::negate::{negated, truth_compared};
use crate::binder::BindContext;
pub(super) use crate::binder::is_volatile;
use plan::{Call, Expr, ExprKind, FunctionTarget};
use syntax::parser::{STACK_RESERVE_BYTES, is_interruption, too_deep};
use types::random::RandomState;
use types::{self, ArrayValue, CatalogLookup, EvalContext, FormatSettings, Implementation, SqlType, Value, Volatility};

/// Replaces calls of immutable functions on constants by their results, and simplifies AND, OR, NOT, CASE and COALESCE.
///
/// A failing computation is an error at once, except where a constant before it says that it is never reached. Functions in SQL are
/// inlined; the privileges that their bodies need are noted in `inlining`.
///
/// # Errors
/// Errors of inlining.
pub fn fold(expr: &mut Expr, context: &mut BindContext<'_>, inlining: &mut Inlining) -> Result<()> {
    fold_within(expr, context, inlining)
}

/// [`fold`], maybe within the body of a function: there, constants that can't be computed are errors.
pub(super) fn fold_within(expr: &mut Expr, context: &mut BindContext<'_>, inlining: &mut Inlining) -> Result<()> {
    if sync::remaining_stack_bytes() < STACK_RESERVE_BYTES {
        return Err(too_deep());
    }
    match &mut expr.kind {
        // In the order in which they are evaluated, as far as that may go.
        ExprKind::And(list) => fold_until(list, context, inlining, |item| is_boolean(item, false))?,
        ExprKind::Or(list) => fold_until(list, context, inlining, |item| is_boolean(item, true))?,
        ExprKind::Coalesce(list) => {
            fold_until(list, context, inlining, |item| item.as_constant().is_some_and(|value| !value.is_null()))?
        }
        ExprKind::Case { operand, whens, otherwise } => {
            if let Some(compared) = operand {
                fold_within(compared, context, inlining)?;
                if compared.as_constant().is_some() {
                    whens.iter_mut().for_each(|when| put_operand(&mut when.condition, compared));
                    *operand = None;
                }
            }
            let mut is_certain = false;
            for when in whens.iter_mut() {
                fold_within(&mut when.condition, context, inlining)?;
                if !matches!(when.condition.as_constant(), Some(Value::Bool(false) | Value::Null)) {
                    fold_within(&mut when.result, context, inlining)?;
                }
                is_certain = when.condition.is_true();
                if is_certain {
                    break;
                }
            }
            if let (Some(otherwise), false) = (otherwise, is_certain) {
                fold_within(otherwise, context, inlining)?;
            }
        }
        ExprKind::Parameter(index) => {
            if let Some(value) = context.parameter_values.and_then(|values| values.get(*index as usize)) {
                expr.kind = ExprKind::Constant(value.clone());
            }
            return Ok(());
        }
        _ => fold_children(expr, context, inlining)?,
    }
    if let Some(folded) = folded(expr, context, inlining)? {
        *expr = folded;
    }
    Ok(())
}

/// Puts a constant in the place of the operand of a simple CASE.
fn put_operand(expr: &mut Expr, operand: &Expr) {
    match &mut expr.kind {
        ExprKind::CaseOperand => *expr = operand.clone(),
        // Its conditions have an operand of their own.
        ExprKind::Case { operand: Some(inner), .. } => put_operand(inner, operand),
        _ => expr.for_each_child_mut(&mut |child| put_operand(child, operand)),
    }
}

fn fold_children(expr: &mut Expr, context: &mut BindContext<'_>, inlining: &mut Inlining) -> Result<()> {
    let mut result = Ok(());
    expr.for_each_child_mut(&mut |child| {
        if result.is_ok() {
            result = fold_within(child, context, inlining);
        }
    });
    result
}

/// Folds items up to one after which no other is evaluated.
fn fold_until(
    list: &mut [Expr],
    context: &mut BindContext<'_>,
    inlining: &mut Inlining,
    is_last: impl Fn(&Expr) -> bool,
) -> Result<()> {
    for item in list {
        fold_within(item, context, inlining)?;
        if is_last(item) {
            break;
        }
    }
    Ok(())
}

fn is_boolean(expr: &Expr, wanted: bool) -> bool {
    matches!(expr.as_constant(), Some(Value::Bool(value)) if *value == wanted)
}

/// The value of a constant. A failure is an error, unless errors wait until the statement runs.
fn computed<T>(result: Result<T>, context: &BindContext<'_>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_interruption(&error) || !context.settings.errors_wait => Err(error),
        Err(_) => Ok(None),
    }
}

fn folded(expr: &mut Expr, context: &mut BindContext<'_>, inlining: &mut Inlining) -> Result<Option<Expr>> {
    let sql_type = expr.sql_type;
    match &mut expr.kind {
        ExprKind::Call(call) => {
            if let FunctionTarget::Stored(function) = &call.function {
                // As in `fold_call`.
                if function.strict && call.arguments.iter().any(is_null) && sql_type.oid != types::oids::RECORD {
                    return Ok(Some(Expr::null(sql_type)));
                }
                return inlined_call(call, context, inlining);
            }
            take_declared_types(call);
            let value = fold_call(call, context, inlining)?;
            Ok(value.map(|value| Expr::constant(value, sql_type)).or_else(|| truth_compared(call)))
        }
        ExprKind::IsDistinct { equal, .. } => {
            take_declared_types(equal);
            Ok(None)
        }
        ExprKind::Quantified(quantified) => {
            if let (Some(declared), true) =
                (quantified.types.arguments.first(), quantified.left.as_constant().is_some())
            {
                quantified.left.sql_type = *declared;
            }
            Ok(None)
        }
        ExprKind::Cast(cast) => {
            let Some(input) = cast.input.as_constant() else { return Ok(None) };
            if !cast.cast.is_foldable() {
                return Ok(None);
            }
            let value = cast.cast.apply(context.eval, input.clone());
            let value = computed(value, context)?;
            if let Some(value) = &value {
                inlining.note_constant(value, std::slice::from_ref(input));
            }
            Ok(value.map(|value| Expr::constant(value, sql_type)))
        }
        ExprKind::Array { elements, nested: true } => {
            let values = elements.iter().map(|element| element.as_constant().cloned()).collect::<Option<Vec<_>>>();
            let (Some(values), Some(element)) = (values, types::element_type(context.lookup, sql_type.oid)) else {
                return Ok(None);
            };
            let value = computed(types::nested_array(element, &values), context)?;
            Ok(value.map(|value| Expr::constant(value, sql_type)))
        }
        _ => Ok(simplified(expr, context)),
    }
}

fn simplified(expr: &mut Expr, context: &mut BindContext<'_>) -> Option<Expr> {
    let sql_type = expr.sql_type;
    match &mut expr.kind {
        ExprKind::And(list) => Some(fold_connective(std::mem::take(list), false)),
        ExprKind::Or(list) => Some(fold_connective(std::mem::take(list), true)),
        ExprKind::Not(input) => match input.as_constant() {
            Some(Value::Bool(value)) => Some(Expr::boolean(!value)),
            Some(_) => Some(Expr::null(SqlType::BOOL)),
            None => Some(negated(std::mem::replace(input.as_mut(), Expr::null(SqlType::BOOL)))),
        },
        ExprKind::IsTruth { input, value, negated } => {
            let truth = match input.as_constant()? {
                Value::Bool(truth) => Some(*truth),
                _ => None,
            };
            Some(Expr::boolean((truth == *value) != *negated))
        }
        ExprKind::Field(access) => match &mut access.input.kind {
            ExprKind::Row { fields, .. } if (access.field as usize) < fields.len() => {
                Some(fields.swap_remove(access.field as usize))
            }
            _ => None,
        },
        ExprKind::IsNull(input) if is_row_of_values(input) => Some(tests_of_fields(input, ExprKind::IsNull)),
        ExprKind::IsNotNull(input) if is_row_of_values(input) => Some(tests_of_fields(input, ExprKind::IsNotNull)),
        ExprKind::IsNull(input) => match input.as_constant()? {
            Value::Record(_) => None,
            value => Some(Expr::boolean(value.is_null())),
        },
        ExprKind::IsNotNull(input) => match input.as_constant()? {
            Value::Record(_) => None,
            value => Some(Expr::boolean(!value.is_null())),
        },
        ExprKind::Array { elements, nested: false } => {
            let mut values = Vec::with_capacity(elements.len());
            for element in elements.iter() {
                values.push(element.as_constant()?.clone());
            }
            let element = types::element_type(context.lookup, sql_type.oid)?;
            let array = ArrayValue::one_dimensional(element, values);
            Some(Expr::constant(Value::Array(Arc::new(array)), sql_type))
        }
        ExprKind::Coalesce(list) => {
            list.retain(|item| !matches!(item.as_constant(), Some(Value::Null)));
            // Nothing after a constant that is not NULL is ever reached.
            if let Some(first) = list.iter().position(|item| item.as_constant().is_some()) {
                list.truncate(first + 1);
            }
            match list.len() {
                0 => Some(Expr::null(sql_type)),
                1 => list.pop().map(|only| Expr { sql_type, ..only }),
                _ => None,
            }
        }
        ExprKind::Case { whens, otherwise, .. } => {
            whens.retain(|when| !matches!(when.condition.as_constant(), Some(Value::Bool(false) | Value::Null)));
            if let Some(certain) = whens.iter().position(|when| when.condition.is_true()) {
                let certain = whens.drain(certain..).next().map(|when| Box::new(when.result));
                *otherwise = certain;
            }
            if whens.is_empty() {
                let only = otherwise.take().map_or_else(|| Expr::null(sql_type), |otherwise| *otherwise);
                return Some(Expr { sql_type, ..only });
            }
            None
        }
        _ => None,
    }
}

/// Whether an expression is a row whose fields can't be rows themselves.
fn is_row_of_values(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Row { fields, .. } if !fields.iter().any(|field| field.sql_type.may_be_row()))
}

/// `(a, b) IS NULL` is a test of each field.
fn tests_of_fields(row: &mut Expr, test: fn(Box<Expr>) -> ExprKind) -> Expr {
    let ExprKind::Row { fields, .. } = &mut row.kind else { return Expr::boolean(true) };
    let tests = std::mem::take(fields).into_iter().map(|field| {
        let is_null = field.as_constant().map(Value::is_null);
        let test = Expr::new(test(Box::new(field)), SqlType::BOOL);
        match is_null {
            Some(is_null) => Expr::boolean(matches!(test.kind, ExprKind::IsNull(_)) == is_null),
            None => test,
        }
    });
    fold_connective(tests.collect(), false)
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr.as_constant(), Some(Value::Null))
}

/// Gives a constant operand the operator's declared type where no cast is needed, so that equal conditions compare as equal.
fn take_declared_types(call: &mut Call) {
    if call.operator.is_none() {
        return;
    }
    for (argument, sql_type) in call.arguments.iter_mut().zip(&call.types.arguments) {
        if argument.sql_type.oid != sql_type.oid && argument.as_constant().is_some() {
            argument.sql_type = *sql_type;
        }
    }
}

fn fold_call(call: &Call, context: &mut BindContext<'_>, inlining: &mut Inlining) -> Result<Option<Value>> {
    let FunctionTarget::Builtin(function) = &call.function else { return Ok(None) };
    if function.returns_set {
        return Ok(None);
    }
    // A strict function of a NULL is NULL, whatever its other arguments: nothing is called.
    if function.strict && call.arguments.iter().any(is_null) && call.types.result.oid != types::oids::RECORD {
        return Ok(Some(Value::Null));
    }
    if function.volatility != Volatility::Immutable
        || !matches!(function.implementation, Implementation::Plain(_) | Implementation::Typed(_))
    {
        return Ok(None);
    }
    let mut values = Vec::with_capacity(call.arguments.len());
    for argument in &call.arguments {
        let Some(value) = argument.as_constant() else { return Ok(None) };
        values.push(value.clone());
    }
    let mut eval = WithoutSettings { inner: &mut *context.eval, has_asked: Cell::new(false) };
    let result = function.call(&mut eval, &call.types, &values);
    if eval.has_asked.get() {
        // An interrupt is reported only once, so it must not be dropped here.
        return match result {
            Err(error) if is_interruption(&error) => Err(error),
            _ => Ok(None),
        };
    }
    let value = computed(result, context)?;
    if let Some(value) = &value {
        inlining.note_constant(value, &values);
    }
    Ok(value)
}

/// The context of constants that notices questions for the session: an answer that settings or the clock have to do with must not
/// get into a plan, which others use, too.
struct WithoutSettings<'a> {
    inner: &'a mut dyn EvalContext,
    has_asked: Cell<bool>,
}

impl EvalContext for WithoutSettings<'_> {
    fn format(&self) -> &FormatSettings {
        self.has_asked.set(true);
        self.inner.format()
    }

    fn catalog(&self) -> &dyn CatalogLookup {
        self.inner.catalog()
    }

    fn transaction_timestamp(&self) -> i64 {
        self.has_asked.set(true);
        self.inner.transaction_timestamp()
    }

    fn statement_timestamp(&self) -> i64 {
        self.has_asked.set(true);
        self.inner.statement_timestamp()
    }

    fn random(&mut self) -> &mut RandomState {
        self.has_asked.set(true);
        self.inner.random()
    }

    fn check_domain(&mut self, domain: base::Oid, value: &Value) -> Result<()> {
        self.has_asked.set(true);
        self.inner.check_domain(domain, value)
    }

    fn is_new_label(&self, key: i64) -> bool {
        self.has_asked.set(true);
        self.inner.is_new_label(key)
    }

    fn warn(&mut self, warning: Error) {
        self.inner.warn(warning);
    }
}

/// AND (or OR, with `decisive` true) without what can't matter, nested ones merged. Of several NULLs one is kept, at the end.
fn fold_connective(list: Vec<Expr>, decisive: bool) -> Expr {
    let mut kept = Vec::with_capacity(list.len());
    for item in list {
        match item.kind {
            ExprKind::Constant(Value::Bool(value)) if value == decisive => return Expr::boolean(decisive),
            ExprKind::Constant(Value::Bool(_)) => {}
            ExprKind::And(inner) if !decisive => kept.extend(inner),
            ExprKind::Or(inner) if decisive => kept.extend(inner),
            _ => kept.push(item),
        }
    }
    if kept.iter().any(is_null) {
        kept.retain(|item| !is_null(item));
        kept.push(Expr::null(SqlType::BOOL));
    }
    match kept.len() {
        0 => Expr::boolean(!decisive),
        1 => kept.swap_remove(0),
        _ => Expr::new(if decisive { ExprKind::Or(kept) } else { ExprKind::And(kept) }, SqlType::BOOL),
    }
}

/// Whether `expr` holds a subquery.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    expr.any(&|inner| matches!(inner.kind, ExprKind::Subquery(_)))
}
