//! Functions in SQL become part of the statement that calls them, where the results are the same and the cost is less.
//!
//! PostgreSQL's rules, in its order. A call in an expression is replaced by the one expression that the body selects; a
//! call in FROM by the body's query. A plan needs the privileges on the objects that a body calls or reads, as on those that the statement
//! itself names. A plan is valid for one version of the catalog, and replacing a function changes that version.

use std::sync::Arc;

use base::{Error, Oid, Result};
use plan::bound::{Distinct, FromItem, Query, Relation, RelationKind, TargetEntry};
use plan::privileges::Access;
use plan::{Call, CastExpr, Expr, ExprKind, FunctionTarget, Meaning, SetCall, Variable, bound};
use schema::catalog::{FunctionDef, FunctionKind, Volatility};
use syntax::parser::{self, ParseOptions};
use syntax::tree::{Name, Statement};
use types::{Cast, CastContext, SqlType, Value, oids};

use super::fold::{fold_within, has_subquery, is_volatile};
use super::lower::raised_levels;
use super::{Planner, routine};
use crate::binder::{self, BindContext, Bound, Parameters};

/// An argument that is used more often than once may cost as much as this many calls of built-in functions.
const REPEATED_COST_MAX: u32 = 10;
/// The assumed cost of a call of a function in SQL or PL/pgSQL, in calls of built-in functions.
const STORED_CALL_COST: u32 = 100;

/// The limit of what is inlined into one statement, in nodes of expressions. Further calls stay calls. Functions that use each other or
/// their arguments twice would double the size at each level.
const NODES_MAX: usize = 20_000;
/// The deepest nesting of an expression that inlining makes; a call that would make it deeper stays a call. Code that walks an
/// expression takes stack for each level, and not all such code can check how much stack is left.
const DEPTH_MAX: usize = 300;
/// The least cost of reading a body, in nodes of expressions.
const BODY_NODES: usize = 10;

/// The limit of memory for the computed constants of a plan that is kept. The cache of plans counts their texts only, and a short text may
/// compute a large constant.
const CONSTANT_BYTES_MAX: usize = 64 << 10;

/// The state of inlining within one statement.
#[derive(Default)]
pub struct Inlining {
    /// Nodes of expressions that were made.
    nodes: usize,
    /// The functions whose bodies are being worked on, outermost first: none of them is inlined into itself.
    active: Vec<Oid>,
    /// The privileges that the bodies need.
    pub access: Vec<Access>,
    /// A call has become part of the statement.
    pub has_inlined: bool,
    /// The memory that computed constants take, beyond that of the constants they were computed from.
    constant_bytes: usize,
    /// Literals of a body were read in a way that depends on more than the catalog.
    pub depends_on_settings: bool,
}

impl Inlining {
    /// Notes that `value` takes the place of a call with these arguments.
    pub(super) fn note_constant(&mut self, value: &Value, arguments: &[Value]) {
        // Beyond the limit, so that small arguments don't bring a large value below it.
        let bytes = |value: &Value| value.bytes_up_to(4 * CONSTANT_BYTES_MAX);
        let before: usize = arguments.iter().map(bytes).sum();
        self.constant_bytes = (self.constant_bytes + bytes(value)).saturating_sub(before);
    }

    /// Whether computed constants take more memory than a plan that is kept may have for them.
    pub(super) fn has_large_constants(&self) -> bool {
        self.constant_bytes > CONSTANT_BYTES_MAX
    }

    /// Whether there may be more.
    fn has_room(&self) -> bool {
        self.nodes < NODES_MAX
    }
}

/// `error` as one that arose while this function was inlined; what points into its body does so.
fn in_body(mut error: Error, function: &FunctionDef) -> Error {
    let fields = error.fields_mut();
    if fields.position.is_some() && fields.internal_query.is_none() {
        fields.internal_position = fields.position.take();
        fields.internal_query = Some(function.body.clone());
    }
    error.context(format!("SQL function \"{}\" during inlining", function.name))
}

/// The only statement of a body, bound over the function's parameters; `None` for anything but one SELECT.
fn bound_body(
    function: &FunctionDef,
    first_cte: u32,
    context: &mut BindContext<'_>,
) -> Result<Option<(Bound, Statement)>> {
    let standard_conforming_strings = context.settings.standard_conforming_strings;
    let mut statements = parser::parse(&function.body, ParseOptions { standard_conforming_strings })?;
    let (Some(parsed), true) = (statements.pop(), statements.is_empty()) else { return Ok(None) };
    let statement = parsed.statement;
    if !matches!(statement, Statement::Select(_)) {
        return Ok(None);
    }
    let names = routine::ParameterNames(function);
    let mut inner = BindContext {
        transition_tables: &[],
        needed: Vec::new(),
        named_relations: Vec::new(),
        catalog: context.catalog,
        system: context.system,
        lookup: context.body_lookup,
        stored_lookup: context.stored_lookup,
        body_lookup: context.body_lookup,
        body_path: context.body_path,
        eval: &mut *context.eval,
        search_path: context.body_path,
        temporary_schema: context.temporary_schema,
        variables: Some(&names),
        database: context.database,
        text: &function.body,
        text_is_stored: false,
        stored_query_of: None,
        meaning: Meaning::default(),
        earlier: None,
        resolved: None,
        leaves_views_closed: false,
        parameter_values: None,
        settings: context.settings,
    };
    let mut parameters = Parameters::fixed(routine::input_types(function));
    let bound = binder::bind_after(&statement, first_cte, &mut inner, &mut parameters)?;
    // A backslash may mean something else when the statement runs again.
    let depends_on_settings = function.body.contains('\\');
    Ok(bound.map(|mut bound| {
        bound.depends_on_settings |= depends_on_settings;
        (bound, statement)
    }))
}

/// The columns of a bound body, and 42P13 if they can't become the function's result.
fn checked_columns(
    function: &FunctionDef,
    bound: &Bound,
    statement: &Statement,
    context: &BindContext<'_>,
) -> Result<Vec<(String, SqlType)>> {
    let columns = bound.query.output_columns();
    let columns: Vec<_> = columns.into_iter().map(|column| (column.name.to_string(), column.sql_type)).collect();
    routine::check_result(function, Some(statement), Some(&columns), context.lookup)?;
    Ok(columns)
}

/// `expr` as an assignment to `target` makes it.
fn assigned(expr: Expr, target: SqlType, context: &BindContext<'_>) -> Expr {
    match Cast::find(context.lookup, expr.sql_type, target, CastContext::Assignment) {
        Some(cast) if !cast.is_noop() => {
            let cast = CastExpr { input: expr, cast, location: -1 };
            Expr::new(ExprKind::Cast(Box::new(cast)), target)
        }
        _ => Expr { sql_type: target, ..expr },
    }
}

/// The expression that a call of a function in SQL becomes; `None` where it stays a call.
///
/// # Errors
/// Errors of binding the body, and of constants in it that can't be computed. The errors have the function in their context.
pub(super) fn inlined_call(
    call: &Call,
    context: &mut BindContext<'_>,
    inlining: &mut Inlining,
) -> Result<Option<Expr>> {
    let FunctionTarget::Stored(function) = &call.function else { return Ok(None) };
    if function.language != "sql"
        || function.kind != FunctionKind::Function
        || !inlining.has_room()
        || function.security_definer
        || function.returns_set
        || !function.settings.is_empty()
        || function.returns == oids::RECORD
        || inlining.active.contains(&function.oid)
        || call.arguments.iter().any(|argument| !can_move(argument))
    {
        return Ok(None);
    }
    let concrete = routine::concrete(function, &call.types, context.lookup);
    let definition = concrete.as_ref().unwrap_or(function);
    if routine::input_types(definition).len() != call.arguments.len() {
        return Ok(None);
    }
    // Of constants the value of an immutable function is computed, in its own name; what it is made of is not told.
    let is_constant = function.volatility == Volatility::Immutable
        && call.arguments.iter().all(|argument| argument.as_constant().is_some());
    inlined_expression(definition, call, context, inlining).map_err(|mut error| {
        if is_constant && error.fields().position.is_none() && error.fields().internal_query.is_none() {
            error.fields_mut().context = None;
            return error.context(format!("SQL function \"{}\" statement 1", function.name));
        }
        in_body(error, function)
    })
}

fn inlined_expression(
    function: &FunctionDef,
    call: &Call,
    context: &mut BindContext<'_>,
    inlining: &mut Inlining,
) -> Result<Option<Expr>> {
    inlining.nodes += BODY_NODES;
    let Some((bound, statement)) = bound_body(function, 0, context)? else { return Ok(None) };
    if !selects_one_expression(&bound.query) || bound.subquery_count > 0 {
        return Ok(None);
    }
    let columns = checked_columns(function, &bound, &statement, context)?;
    if function.returns == oids::VOID {
        return Ok(None);
    }
    let result = call.types.result;
    let is_composite =
        types::type_shape(context.lookup, result.oid).is_some_and(|shape| shape.kind == types::TypeKind::Composite);
    if is_composite && columns[0].1.oid != result.oid {
        return Ok(None);
    }
    let Bound { query, depends_on_settings, access, .. } = bound;
    let Some(target) = query.targets.into_iter().next() else { return Ok(None) };
    let mut expr = assigned(target.expr, SqlType::new(result.oid), context);
    let worst = super::volatility::volatility(&expr);
    let is_too_changeable = match function.volatility {
        Volatility::Immutable => worst != types::Volatility::Immutable,
        Volatility::Stable => worst == types::Volatility::Volatile,
        Volatility::Volatile => false,
    };
    if is_too_changeable || (function.strict && !is_strict(&expr)) {
        return Ok(None);
    }
    for (number, argument) in call.arguments.iter().enumerate() {
        match uses(&expr, number as u32) {
            1 => {}
            0 if function.strict => return Ok(None),
            0 => {}
            _ => {
                if has_subquery(argument) || is_volatile(argument) || call_cost(argument) > REPEATED_COST_MAX {
                    return Ok(None);
                }
            }
        }
    }
    let deepest_argument = call.arguments.iter().map(depth).max().unwrap_or(0);
    if depth(&expr) + deepest_argument > DEPTH_MAX {
        return Ok(None);
    }
    if !replace_parameters(&mut expr, 0, &call.arguments, inlining) {
        return Ok(None);
    }
    inlining.active.push(function.oid);
    let folded = fold_within(&mut expr, context, inlining);
    inlining.active.pop();
    folded?;
    inlining.depends_on_settings |= depends_on_settings;
    note(&mut inlining.access, access);
    inlining.has_inlined = true;
    Ok(Some(expr))
}

/// Adds what is not among the others yet. Relations of functions that are inlined are locked behind all others.
fn note(all: &mut Vec<Access>, more: Vec<Access>) {
    let number = all.len() as u32;
    for mut access in more {
        access.within.splice(0..0, [u32::MAX, number]);
        access.add_to(all);
    }
}

/// Whether a bound SELECT is nothing but one expression.
fn selects_one_expression(query: &Query) -> bool {
    query.relations.is_empty()
        && query.from.is_empty()
        && query.filter.is_none()
        && query.targets.len() == 1
        && query.groups.is_empty()
        && !query.is_grouped
        && query.having.is_none()
        && query.windows.is_empty()
        && query.distinct == Distinct::No
        && query.order.is_empty()
        && query.offset.is_none()
        && query.limit.is_none()
        && query.locks.is_empty()
        && query.set_operation.is_none()
        && query.ctes.is_empty()
        && query.change.is_none()
        && !query.has_sets
}

/// Whether an argument may be computed in another place: not where it means the operand of a CASE around it, nor where
/// computing it is going to fail, which must happen before the call.
fn can_move(argument: &Expr) -> bool {
    !argument.any(&|inner| match &inner.kind {
        ExprKind::CaseOperand => true,
        ExprKind::Call(call) => {
            let is_constant = call.arguments.iter().all(|argument| argument.as_constant().is_some());
            matches!(&call.function, FunctionTarget::Builtin(function)
                if is_constant && function.volatility == types::Volatility::Immutable && !call.arguments.is_empty())
        }
        _ => false,
    })
}

/// Whether a NULL anywhere in `expr` makes it NULL.
fn is_strict(expr: &Expr) -> bool {
    !expr.any(&|inner| match &inner.kind {
        ExprKind::Call(call) => match &call.function {
            FunctionTarget::Builtin(function) => !function.strict,
            FunctionTarget::Stored(function) => !function.strict,
        },
        ExprKind::Constant(_)
        | ExprKind::Parameter(_)
        | ExprKind::Column(_)
        | ExprKind::Outer(_)
        | ExprKind::Variable(_)
        | ExprKind::Not(_)
        | ExprKind::Subscript { .. }
        | ExprKind::Field(_)
        | ExprKind::Cast(_)
        | ExprKind::Session(_) => false,
        _ => true,
    })
}

/// How often parameter `number` is read.
fn uses(expr: &Expr, number: u32) -> usize {
    let own = usize::from(matches!(expr.kind, ExprKind::Parameter(found) if found == number));
    let mut below = 0;
    expr.for_each_child(&mut |child| below += uses(child, number));
    own + below
}

/// The cost of computing `expr`, in calls of built-in functions.
fn call_cost(expr: &Expr) -> u32 {
    let own = match &expr.kind {
        ExprKind::Call(call) | ExprKind::NullIf(call) | ExprKind::IsDistinct { equal: call, .. } => {
            if matches!(call.function, FunctionTarget::Stored(_)) { STORED_CALL_COST } else { 1 }
        }
        ExprKind::Cast(_) | ExprKind::Quantified(_) | ExprKind::Greatest(_) | ExprKind::Least(_) => 1,
        _ => 0,
    };
    let mut below = 0_u32;
    expr.for_each_child(&mut |child| below = below.saturating_add(call_cost(child)));
    below.saturating_add(own)
}

/// Puts the arguments, which belong to a query `depth` queries further out, where a body reads its parameters. Nothing
/// of a body points into the statement's text. False if that became too much, which leaves `expr` good for nothing.
fn replace_parameters(expr: &mut Expr, depth: u32, arguments: &[Expr], inlining: &mut Inlining) -> bool {
    bound::for_each_inner_mut(expr, depth, &mut |inner, depth| {
        inlining.nodes += 1;
        match &mut inner.kind {
            ExprKind::Parameter(number) => {
                let argument = arguments.get(*number as usize);
                if let Some(argument) = argument.filter(|_| inlining.has_room()) {
                    inlining.nodes += nodes(argument);
                    let mut argument = argument.clone();
                    raised_levels(&mut argument, depth);
                    *inner = argument;
                }
            }
            ExprKind::Call(call) => call.location = -1,
            ExprKind::Cast(cast) => cast.location = -1,
            _ => {}
        }
    });
    inlining.has_room()
}

/// Of how many nodes `expr` consists.
fn nodes(expr: &Expr) -> usize {
    let mut count = 1;
    expr.for_each_child(&mut |child| count += nodes(child));
    count
}

/// How many expressions lie within each other.
fn depth(expr: &Expr) -> usize {
    let mut deepest = 0;
    expr.for_each_child(&mut |child| deepest = deepest.max(depth(child)));
    deepest + 1
}

impl Planner<'_, '_> {
    /// Makes subqueries of calls in FROM of functions in SQL whose body is a query that can stand there.
    ///
    /// # Errors
    /// As [`inlined_call`].
    pub(super) fn inline_functions_in_from(&mut self, query: &mut Query) -> Result<()> {
        for number in 0..query.relations.len() {
            if let RelationKind::Subquery(inner) = &mut query.relations[number].kind {
                self.check_stack()?;
                self.inline_functions_in_from(inner)?;
                continue;
            }
            let RelationKind::Function { calls, ordinality: false } = &mut query.relations[number].kind else {
                continue;
            };
            let [call] = calls.as_mut_slice() else { continue };
            let FunctionTarget::Stored(function) = &call.function else { continue };
            let function = Arc::clone(function);
            for argument in &mut call.arguments {
                fold_within(argument, self.context, &mut self.inlining)?;
            }
            let call = call.clone();
            let relation = &query.relations[number];
            let Some(inner) = self.inlined_query(&function, &call, relation)? else { continue };
            let relation = &mut query.relations[number];
            relation.kind = RelationKind::Subquery(Box::new(inner));
            relation.lateral = true;
        }
        Ok(())
    }

    fn inlined_query(
        &mut self,
        function: &Arc<FunctionDef>,
        call: &SetCall,
        relation: &Relation,
    ) -> Result<Option<Query>> {
        if function.language != "sql"
            || function.kind != FunctionKind::Function
            || !self.inlining.has_room()
            || function.security_definer
            || !function.returns_set
            || function.returns == oids::VOID
            || function.strict
            || function.volatility == Volatility::Volatile
            || !function.settings.is_empty()
            || call.arguments.iter().any(|argument| {
                is_volatile(argument) || has_subquery(argument) || argument.any(&|inner| is_case_operand(inner))
            })
        {
            return Ok(None);
        }
        let concrete = routine::concrete(function, &call.types, self.context.lookup);
        let definition = concrete.as_ref().unwrap_or(function);
        if routine::input_types(definition).len() != call.arguments.len() {
            return Ok(None);
        }
        self.inlined_body(definition, call, relation).map_err(|error| in_body(error, function))
    }

    fn inlined_body(&mut self, function: &FunctionDef, call: &SetCall, relation: &Relation) -> Result<Option<Query>> {
        self.check_stack()?;
        self.inlining.nodes += BODY_NODES;
        let Some((bound, statement)) = bound_body(function, self.cte_count, self.context)? else { return Ok(None) };
        let mut query = bound.query;
        let changes_rows = query.ctes.iter().any(|cte| cte.query.change.is_some());
        if query.change.is_some() || changes_rows || query.locks_rows() {
            return Ok(None);
        }
        let columns: Vec<_> = query.output_columns();
        let columns: Vec<_> = columns.into_iter().map(|column| (column.name, column.sql_type)).collect();
        let shown: Vec<_> = columns.iter().map(|(name, sql_type)| (name.to_string(), *sql_type)).collect();
        let has_outputs = function.arguments.iter().any(|argument| argument.mode.is_output());
        let wanted: Vec<SqlType> = relation.columns.iter().map(|column| column.sql_type).collect();
        if function.returns == oids::RECORD && !has_outputs {
            // The types come from the statement's column definition list.
            routine::check_columns(function, &shown, &wanted, self.context.lookup)?;
        } else {
            routine::check_result(function, Some(&statement), Some(&shown), self.context.lookup)?;
        }
        if columns.len() != wanted.len() || relation.columns.iter().any(|column| column.dropped) {
            return Ok(None);
        }
        // One row value for several columns would have to be taken apart.
        if call.composite && columns.len() == 1 && columns[0].1.oid == function.returns {
            return Ok(None);
        }
        let differs = columns.iter().zip(&wanted).any(|((_, found), wanted)| found.oid != wanted.oid);
        if differs {
            query = self.with_columns_as(query, &columns, &wanted);
        }
        // The arguments belong to the query around the body.
        let mut is_whole = true;
        query.for_each_expr_mut(1, &mut |expr, depth| {
            is_whole &= replace_parameters(expr, depth, &call.arguments, &mut self.inlining);
        });
        if !is_whole {
            return Ok(None);
        }
        self.cte_count = self.cte_count.max(bound.cte_count);
        self.inlining.depends_on_settings |= bound.depends_on_settings;
        note(&mut self.inlining.access, bound.access);
        self.inlining.has_inlined = true;
        // A body that reads the function again ends when the stack does, as running it would.
        self.inline_functions_in_from(&mut query)?;
        Ok(Some(query))
    }

    /// The query's rows with their columns as these types.
    fn with_columns_as(&self, query: Query, columns: &[(Name, SqlType)], wanted: &[SqlType]) -> Query {
        let mut targets = Vec::with_capacity(columns.len());
        for (place, ((_, found), wanted)) in columns.iter().zip(wanted).enumerate() {
            let variable = Variable { level: 0, relation: 0, attribute: place as i32, location: -1 };
            let column = Expr::new(ExprKind::Variable(variable), *found);
            let expr = if found.oid == wanted.oid { column } else { assigned(column, *wanted, self.context) };
            let mut column = query.output_columns().swap_remove(place);
            column.sql_type = expr.sql_type;
            targets.push(TargetEntry { expr, column, hidden: false });
        }
        let columns = columns.iter().map(|(name, sql_type)| bound::Column {
            name: name.clone(),
            sql_type: *sql_type,
            dropped: false,
        });
        let relation = Relation {
            columns: columns.collect(),
            kind: RelationKind::Subquery(Box::new(query)),
            alias: Name::new_static("*SELECT*"),
            lateral: false,
            access: None,
        };
        Query { relations: vec![relation], from: vec![FromItem::Relation(0)], targets, ..Query::default() }
    }
}

fn is_case_operand(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::CaseOperand)
}
