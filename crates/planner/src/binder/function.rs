//! Calls: functions, aggregates, casts written as calls, set-returning functions.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::{Call, Expr, ExprKind, FunctionTarget, SetCall, privileges};
use schema::catalog::{ArgumentMode, FunctionDef as StoredFunction};
use syntax::tree::{self, ExprKind as Tree, Location, Name, SortBy};
use types::{
    self, ArgumentSource, CallTypes, Callee, FunctionDef, Implementation, RecordShape, Resolved, SqlType, UserFunction,
    WrittenArgument, oids,
};

use super::Binder;
use super::scope::Place;

/// The most arguments a function takes.
const ARGUMENTS_MAX: usize = 100;

impl Binder<'_, '_> {
    /// A call in an expression.
    pub(super) fn function(&mut self, call: &tree::FunctionCall) -> Result<Expr> {
        let (arguments, names) = self.call_arguments(call)?;
        match self.resolve_callee(call, &arguments, &names, false) {
            Ok(resolved) => self.resolved_call(call, arguments, resolved),
            Err(error) if error.sqlstate() == sqlstate::UNDEFINED_FUNCTION => {
                self.field_as_function(call, arguments)?.ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    /// `field(row)`, which means `(row).field` where there is no function of this name.
    fn field_as_function(&mut self, call: &tree::FunctionCall, mut arguments: Vec<Expr>) -> Result<Option<Expr>> {
        let is_plain = call.name.schema.is_none()
            && call.order.is_empty()
            && call.filter.is_none()
            && call.over.is_none()
            && !call.distinct
            && !call.variadic
            && !matches!(call.arguments.as_slice(), [tree::Expr { kind: Tree::NamedArgument { .. }, .. }]);
        let Some(row) = arguments.pop().filter(|_| is_plain && arguments.is_empty()) else { return Ok(None) };
        let shape = self.row_shape(&row);
        let has_field = |shape: &RecordShape| shape.fields.iter().any(|(name, _)| name == call.name.name.as_str());
        if shape.is_some_and(|shape| has_field(&shape)) {
            return self.field(row, &call.name.name, call.location).map(Some);
        }
        Ok(None)
    }

    /// `value.name` as a call of the function `name` with that one argument. Gives the value back if there is none.
    pub(super) fn function_as_column(
        &mut self,
        value: Expr,
        name: &Name,
        location: Location,
    ) -> Result<std::result::Result<Expr, Expr>> {
        let call = tree::FunctionCall::of_value(name.clone(), location);
        let types = [value.sql_type];
        let wanted = self.wanted_call(&call, &types, &[], false);
        let Ok(resolved) = types::resolve_function(self.context.lookup, &wanted) else { return Ok(Err(value)) };
        // Window functions are no columns.
        if let Callee::Function(FunctionDef { implementation: Implementation::Window(_), .. }) = &resolved.callee {
            return Ok(Err(value));
        }
        if matches!(&resolved.callee, Callee::User(found) if found.procedure) {
            return Err(self.wrong_kind_error(&call, &types, true));
        }
        self.resolved_call(&call, vec![value], resolved).map(Ok)
    }

    fn resolved_call(&mut self, call: &tree::FunctionCall, arguments: Vec<Expr>, resolved: Resolved) -> Result<Expr> {
        let location = call.location;
        match &resolved.callee {
            Callee::Aggregate(aggregate) => self.aggregate(call, aggregate, arguments, &resolved),
            Callee::Function(FunctionDef { implementation: Implementation::Window(_), .. }) if call.over.is_none() => {
                let message = format!("window function {} requires an OVER clause", call.name.name);
                Err(self.error(sqlstate::WRONG_OBJECT_TYPE, message, location))
            }
            Callee::Function(def) if call.over.is_some() => {
                if !matches!(def.implementation, Implementation::Window(_)) {
                    let message = format!(
                        "OVER specified, but {} is not a window function nor an aggregate function",
                        call.name.name
                    );
                    return Err(self.error(sqlstate::WRONG_OBJECT_TYPE, message, location));
                }
                self.window_function(call, def, arguments, &resolved)
            }
            Callee::Cast(cast) => {
                self.refuse_aggregate_syntax(call)?;
                let target = cast.target;
                let argument = arguments.into_iter().next().ok_or_else(|| Error::internal("a cast of nothing"))?;
                self.cast_explicitly(argument, target, location)
            }
            _ => {
                self.refuse_aggregate_syntax(call)?;
                let (function, arguments) = self.arguments(call, arguments, &resolved)?;
                self.call_expr(call, function, arguments, resolved)
            }
        }
    }

    /// A call in FROM, where it may return a set.
    pub(super) fn from_function(&mut self, call: &tree::FunctionCall) -> Result<SetCall> {
        let location = call.location;
        let (arguments, resolved) = self.resolve_call(call, false)?;
        match &resolved.callee {
            Callee::Aggregate(_) => {
                let message = "aggregate functions are not allowed in functions in FROM";
                return Err(self.error(sqlstate::GROUPING_ERROR, message, location));
            }
            Callee::Function(FunctionDef { implementation: Implementation::Window(_), .. }) => {
                let message = "window functions are not allowed in functions in FROM";
                return Err(self.error(sqlstate::WINDOWING_ERROR, message, location));
            }
            _ => {}
        }
        self.refuse_aggregate_syntax(call)?;
        let (function, arguments) = self.arguments(call, arguments, &resolved)?;
        Ok(self.set_call(function, arguments, resolved, location))
    }

    /// The procedure that CALL names, with its input arguments.
    pub(super) fn procedure(&mut self, call: &tree::FunctionCall) -> Result<(Arc<StoredFunction>, Vec<Expr>)> {
        let (arguments, resolved) = self.resolve_call(call, true)?;
        match self.arguments(call, arguments, &resolved)? {
            (FunctionTarget::Stored(procedure), arguments) => Ok((procedure, arguments)),
            _ => Err(Error::internal("a procedure is a stored function")),
        }
    }

    fn resolve_call(&mut self, call: &tree::FunctionCall, procedure: bool) -> Result<(Vec<Expr>, Resolved)> {
        let (arguments, names) = self.call_arguments(call)?;
        let resolved = self.resolve_callee(call, &arguments, &names, procedure)?;
        Ok((arguments, resolved))
    }

    /// The arguments that are written in a call, and their names; no names if none has one.
    fn call_arguments<'c>(&mut self, call: &'c tree::FunctionCall) -> Result<(Vec<Expr>, Vec<Option<&'c str>>)> {
        let location = call.location;
        if call.arguments.len() > ARGUMENTS_MAX {
            let message = format!("cannot pass more than {ARGUMENTS_MAX} arguments to a function");
            return Err(self.error(sqlstate::TOO_MANY_ARGUMENTS, message, location));
        }
        let mut arguments = Vec::with_capacity(call.arguments.len());
        let mut names = Vec::new();
        for argument in &call.arguments {
            let (name, expr) = match &argument.kind {
                Tree::NamedArgument { name, value } => (Some(name.as_str()), value.as_ref()),
                _ => (None, argument),
            };
            if name.is_some() && names.is_empty() {
                names.resize(arguments.len(), None);
            }
            if name.is_some() || !names.is_empty() {
                if name.is_none() {
                    let message = "positional argument cannot follow named argument";
                    return Err(self.error(sqlstate::SYNTAX_ERROR, message, argument.location));
                }
                names.push(name);
            }
            arguments.push(match &expr.kind {
                // `f(t.*)` passes the row as one value.
                Tree::Star(parts) if !parts.is_empty() => self.row_in_full(parts, expr.location)?,
                _ => self.expr(expr)?,
            });
            // So drivers say that a call's result goes there.
            if name.is_none()
                && !call.within_group
                && arguments.last().is_some_and(|argument: &Expr| {
                    matches!(argument.kind, ExprKind::Parameter(_)) && argument.sql_type.oid == oids::VOID
                })
            {
                arguments.pop();
            }
        }
        Ok((arguments, names))
    }

    /// The function that a call means.
    ///
    /// # Errors
    /// 42883 if there is none, 42725 if several fit, 42809 for a function where a procedure is wanted and the other way round.
    fn resolve_callee(
        &mut self,
        call: &tree::FunctionCall,
        arguments: &[Expr],
        names: &[Option<&str>],
        procedure: bool,
    ) -> Result<Resolved> {
        let location = call.location;
        let mut types = arguments.iter().map(|argument| argument.sql_type).collect::<Vec<_>>();
        if call.within_group {
            for sort in &call.order {
                types.push(self.sort_type(sort)?);
            }
        }
        self.check_schema(call.name.schema.as_deref(), location)?;
        let wanted = self.wanted_call(call, &types, names, procedure);
        let mut resolved =
            types::resolve_function(self.context.lookup, &wanted).map_err(|error| match error.sqlstate() {
                // PostgreSQL gives no position when the types of polymorphic arguments do not agree.
                sqlstate::DATATYPE_MISMATCH => error,
                _ => self.at(error, location),
            })?;
        resolved.types.written = written_arguments(call, &resolved);
        let is_procedure = matches!(&resolved.callee, Callee::User(found) if found.procedure);
        if is_procedure != procedure {
            return Err(self.wrong_kind_error(call, &types, is_procedure));
        }
        if resolved.types.spread
            && let (Some(last), Some(written)) = (arguments.last(), call.arguments.last())
        {
            let base = types::base_type(self.context.lookup, last.sql_type);
            if types::element_type(self.context.lookup, base.oid).is_none() {
                let message = "VARIADIC argument must be an array";
                return Err(self.error(sqlstate::DATATYPE_MISMATCH, message, written.start()));
            }
        }
        Ok(resolved)
    }

    /// The call of a function as resolution needs it.
    fn wanted_call<'w>(
        &'w self,
        call: &'w tree::FunctionCall,
        arguments: &'w [SqlType],
        argument_names: &'w [Option<&'w str>],
        procedure: bool,
    ) -> types::Call<'w> {
        types::Call {
            schema: call.name.schema.as_deref(),
            name: &call.name.name,
            arguments,
            argument_names,
            variadic: call.variadic,
            procedure,
            only: self.view_scope().map(|scope| scope.functions.as_slice()),
        }
    }

    /// The type of an ordered-set aggregate's aggregated argument, which stands in its ORDER BY.
    fn sort_type(&mut self, sort: &SortBy) -> Result<SqlType> {
        // It is bound again when the call is put together: binding has no effects but counting subqueries, and uses of parameters.
        let uses = self.parameters.uses();
        let bound = self.expr(&sort.expr)?;
        self.parameters.set_uses(uses);
        Ok(bound.sql_type)
    }

    /// Refuses the syntax that only calls of aggregates may have.
    fn refuse_aggregate_syntax(&self, call: &tree::FunctionCall) -> Result<()> {
        let name = &call.name.name;
        let complaint = if call.star {
            Some(format!("{name}(*) specified, but {name} is not an aggregate function"))
        } else if call.distinct {
            Some(format!("DISTINCT specified, but {name} is not an aggregate function"))
        } else if call.within_group {
            Some(format!("WITHIN GROUP specified, but {name} is not an aggregate function"))
        } else if !call.order.is_empty() {
            Some(format!("ORDER BY specified, but {name} is not an aggregate function"))
        } else if call.filter.is_some() {
            Some(format!("FILTER specified, but {name} is not an aggregate function"))
        } else if call.over.is_some() {
            Some(format!("OVER specified, but {name} is not a window function nor an aggregate function"))
        } else {
            None
        };
        match complaint {
            Some(message) => Err(self.error(sqlstate::WRONG_OBJECT_TYPE, message, call.location)),
            None => Ok(()),
        }
    }

    /// The arguments as the function takes them.
    fn arguments(
        &mut self,
        call: &tree::FunctionCall,
        arguments: Vec<Expr>,
        resolved: &Resolved,
    ) -> Result<(FunctionTarget, Vec<Expr>)> {
        let function = match &resolved.callee {
            Callee::Function(def) => {
                if privileges::is_closed(def.oid) {
                    self.calls(def.oid);
                }
                FunctionTarget::Builtin(def)
            }
            Callee::User(found) => FunctionTarget::Stored(self.stored_function(found, call)?),
            Callee::Aggregate(_) | Callee::Cast(_) => return Err(Error::internal("not a function")),
        };
        let arguments = self.assemble(call, arguments, resolved, Some(&function))?;
        Ok((function, arguments))
    }

    fn stored_function(&mut self, found: &UserFunction, call: &tree::FunctionCall) -> Result<Arc<StoredFunction>> {
        self.note_resolved(|resolved| {
            resolved.functions.insert(call.name.location, found.oid);
        });
        self.context.meaning.note_function(found.oid);
        let function = self.context.catalog.function(found.oid).cloned();
        self.calls(found.oid);
        function.ok_or_else(|| Error::internal(format!("function {} is not in the catalog", found.oid)))
    }

    pub(super) fn assemble(
        &mut self,
        call: &tree::FunctionCall,
        arguments: Vec<Expr>,
        resolved: &Resolved,
        function: Option<&FunctionTarget>,
    ) -> Result<Vec<Expr>> {
        let mut given = arguments.into_iter().map(Some).collect::<Vec<_>>();
        let place = |index: usize| call.arguments.get(index).map_or(call.location, tree::Expr::start);
        let declared = match &resolved.callee {
            Callee::Function(def) => def.arguments,
            Callee::Aggregate(def) => def.arguments,
            Callee::User(_) | Callee::Cast(_) => &[],
        };
        // A parameter of type `any` does not tell the type of the argument. A literal stays without a type, so that a stored text shows it as
        // it was written.
        let keeps_literals = self.keeps_casts() && !call.distinct;
        let is_untyped = |expr: &Expr, position: usize| {
            (matches!(expr.kind, ExprKind::Parameter(_)) || keeps_literals && expr.as_constant().is_some())
                && expr.sql_type.oid == oids::UNKNOWN
                && declared.get(position).or(declared.last()) == Some(&oids::ANY)
        };
        let mut assembled = Vec::with_capacity(resolved.arguments.len());
        for (position, source) in resolved.arguments.iter().enumerate() {
            assembled.push(match source {
                ArgumentSource::Argument(index, _) if is_default(call, *index) => {
                    let wanted = resolved.types.arguments.get(position).copied();
                    self.default_argument(function, position, wanted, call.location)?
                }
                ArgumentSource::Argument(index, cast) => {
                    let argument = given.get_mut(*index).and_then(Option::take);
                    let argument = argument.ok_or_else(|| Error::internal("an argument is used twice"))?;
                    if is_untyped(&argument, position) {
                        argument
                    } else {
                        self.apply_cast(argument, cast, place(*index))?
                    }
                }
                ArgumentSource::Default(index) => {
                    let wanted = resolved.types.arguments.get(position).copied();
                    self.default_argument(function, *index, wanted, call.location)?
                }
                ArgumentSource::VariadicArray(first, casts, element) => {
                    let mut elements = Vec::with_capacity(casts.len());
                    for (offset, cast) in casts.iter().enumerate() {
                        let argument = given.get_mut(first + offset).and_then(Option::take);
                        let argument = argument.ok_or_else(|| Error::internal("an argument is used twice"))?;
                        elements.push(self.apply_cast(argument, cast, place(first + offset))?);
                    }
                    let array = types::array_type(self.context.lookup, *element)
                        .ok_or_else(|| Error::internal("VARIADIC without an array type"))?;
                    Expr::new(ExprKind::Array { elements, nested: false }, SqlType::new(array))
                }
            });
        }
        // `any` takes literals as text.
        for (index, argument) in assembled.iter_mut().enumerate() {
            if argument.sql_type.oid == oids::UNKNOWN && !is_untyped(argument, index) {
                let taken = std::mem::replace(argument, Expr::null(SqlType::UNKNOWN));
                *argument = self.settle(taken, place(index))?;
            }
        }
        Ok(assembled)
    }

    fn default_argument(
        &mut self,
        function: Option<&FunctionTarget>,
        index: usize,
        wanted: Option<SqlType>,
        location: Location,
    ) -> Result<Expr> {
        match function {
            Some(FunctionTarget::Builtin(def)) => {
                let first = def.arguments.len() - def.defaults.len();
                let sql_type = wanted.unwrap_or_else(|| SqlType::new(def.arguments[index]));
                let text = def.defaults[index - first];
                let value = types::input(self.context.eval, text, sql_type)?;
                Ok(Expr::constant(value, sql_type))
            }
            Some(FunctionTarget::Stored(stored)) => {
                let argument = input_arguments(stored).nth(index);
                let argument = argument.ok_or_else(|| Error::internal("no such argument"))?;
                let sql_type = wanted.unwrap_or_else(|| SqlType::new(argument.type_oid));
                let text = argument.default.as_deref().ok_or_else(|| Error::internal("no such default"))?;
                let expr = syntax::parser::parse_expression(text)?;
                // Where nothing else says what a polymorphic argument is, the default does.
                let target = Some(sql_type).filter(|own| !types::is_polymorphic(own.oid));
                self.with_foreign_text(|binder| binder.scalar_in_empty_scope(&expr, target, Place::ColumnDefault))
            }
            None => Err(self.error(sqlstate::INTERNAL_ERROR, "a default without a function", location)),
        }
    }

    /// Runs `inner` on an expression that is not part of the statement's text.
    pub(super) fn with_foreign_text<R>(&mut self, inner: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let before = std::mem::replace(&mut self.text_is_foreign, true);
        // It knows nothing of a function around the statement.
        let variables = self.context.variables.take();
        let around = self.stored_query_of.take();
        let names = self.take_stored_names();
        let result = inner(self);
        (self.context.lookup, self.context.search_path) = names;
        self.stored_query_of = around;
        self.context.variables = variables;
        self.text_is_foreign = before;
        result
    }

    /// An expression that sees no columns at all, coerced as in an assignment if there is a target.
    pub(super) fn scalar_in_empty_scope(
        &mut self,
        expr: &tree::Expr,
        target: Option<SqlType>,
        place: Place,
    ) -> Result<Expr> {
        let outer = std::mem::take(&mut self.scopes);
        self.scopes.push(super::scope::Scope::new(place));
        let result = self.scalar(expr, target);
        self.scopes = outer;
        result
    }

    /// 42809 for a procedure where a function is wanted, or the other way round. It names the types of what is written.
    fn wrong_kind_error(&self, call: &tree::FunctionCall, written: &[SqlType], is_procedure: bool) -> Error {
        let (is, hint) = match is_procedure {
            true => ("is a procedure", "To call a procedure, use CALL."),
            false => ("is not a procedure", "To call a function, use SELECT."),
        };
        let message = format!("{}({}) {is}", call.name, self.type_list(written));
        self.error(sqlstate::WRONG_OBJECT_TYPE, message, call.location).hint(hint)
    }

    fn call_expr(
        &mut self,
        call: &tree::FunctionCall,
        function: FunctionTarget,
        arguments: Vec<Expr>,
        resolved: Resolved,
    ) -> Result<Expr> {
        let location = call.location;
        let result = resolved.types.result;
        if resolved.returns_set {
            self.check_set_allowed(location)?;
            self.scope().has_sets = true;
            let call = self.set_call(function, arguments, resolved, location);
            return Ok(Expr::new(ExprKind::Set(Box::new(call)), result));
        }
        let in_words = call.sql_syntax;
        let call = Call { function, arguments, types: resolved.types, operator: None, in_words, location };
        Ok(Expr::new(ExprKind::Call(Box::new(call)), result))
    }

    /// A list of types as messages show it.
    pub(super) fn type_list(&self, types: &[SqlType]) -> String {
        types.iter().map(|sql_type| self.type_name(sql_type.oid)).collect::<Vec<_>>().join(", ")
    }

    fn check_set_allowed(&self, location: Location) -> Result<()> {
        let Some(scope) = self.scopes.last() else { return Ok(()) };
        if let Some(construct) = scope.set_refusal {
            return Err(self
                .unsupported(format!("set-returning functions are not allowed in {construct}"), location)
                .hint("You might be able to move the set-returning function into a LATERAL FROM item."));
        }
        if scope.in_aggregate {
            return Err(self
                .unsupported("aggregate function calls cannot contain set-returning function calls", location)
                .hint("You might be able to move the set-returning function into a LATERAL FROM item."));
        }
        if scope.place == Place::FromFunction {
            return Err(self.unsupported("set-returning functions must appear at top level of FROM", location));
        }
        if !scope.place.allows_sets() {
            let place = if scope.place == Place::WindowFrame { "window definitions" } else { scope.place.name() };
            let message = format!("set-returning functions are not allowed in {place}");
            return Err(self.unsupported(message, location));
        }
        Ok(())
    }

    fn set_call(
        &mut self,
        function: FunctionTarget,
        arguments: Vec<Expr>,
        resolved: Resolved,
        location: Location,
    ) -> SetCall {
        let result = resolved.types.result;
        let shape = self.call_shape(&function, &resolved.types);
        let composite = shape.is_some();
        let columns = match shape {
            Some(shape) => shape.fields.iter().map(|(_, sql_type)| *sql_type).collect(),
            None => vec![result],
        };
        SetCall {
            function,
            arguments,
            types: resolved.types,
            returns_set: resolved.returns_set,
            columns,
            composite,
            location,
        }
    }

    /// The columns of a function's result, if it is a row value.
    pub(super) fn call_shape(&self, function: &FunctionTarget, call: &CallTypes) -> Option<Arc<RecordShape>> {
        let given: Vec<Oid> = call.arguments.iter().map(|argument| argument.oid).collect();
        // A column's type may be that of an argument.
        let actual = |declared: &[Oid], column: Oid| {
            let declared = &declared[..declared.len().min(given.len())];
            let resolved = types::resolve_polymorphic(self.context.lookup, &given[..declared.len()], declared, column);
            SqlType::new(resolved.map_or(column, |(_, column)| column))
        };
        let fields: Vec<(String, SqlType)> = match function {
            FunctionTarget::Builtin(def)
                if def.columns.len() > 1 || (call.result.oid == oids::RECORD && !def.columns.is_empty()) =>
            {
                let columns = def.columns.iter();
                columns.map(|(name, column)| ((*name).to_owned(), actual(def.arguments, *column))).collect()
            }
            FunctionTarget::Stored(stored) if call.result.oid == oids::RECORD => {
                let is_output = |mode| matches!(mode, ArgumentMode::Out | ArgumentMode::InOut | ArgumentMode::Table);
                let is_input = |mode| !matches!(mode, ArgumentMode::Out | ArgumentMode::Table);
                let inputs = stored.arguments.iter().filter(|argument| is_input(argument.mode));
                let declared: Vec<Oid> = inputs.map(|argument| argument.type_oid).collect();
                let outputs = stored.arguments.iter().filter(|argument| is_output(argument.mode));
                outputs
                    .enumerate()
                    .map(|(index, argument)| {
                        let name = argument.name.clone().unwrap_or_else(|| format!("column{}", index + 1));
                        (name, actual(&declared, argument.type_oid))
                    })
                    .collect()
            }
            _ => return self.composite_shape(call.result.oid),
        };
        if fields.is_empty() {
            return None;
        }
        Some(Arc::new(RecordShape::without_type(fields)))
    }

    pub(super) fn missing_item(&self, parts: &[Name], location: Location) -> Error {
        let message = format!("missing FROM-clause entry for table \"{}\"", Self::dotted(parts));
        self.error(sqlstate::UNDEFINED_TABLE, message, location)
    }
}

/// The value of an argument as it is written in a call, and its name if that is written.
fn argument_parts(argument: &tree::Expr) -> (Option<&Name>, &tree::Expr) {
    match &argument.kind {
        Tree::NamedArgument { name, value } => (Some(name), value),
        _ => (None, argument),
    }
}

/// Whether a call of a stored expression leaves this argument to its default.
fn is_default(call: &tree::FunctionCall, index: usize) -> bool {
    call.arguments
        .get(index)
        .is_some_and(|argument| matches!(argument_parts(argument).1.kind, Tree::DefaultArgument(_)))
}

/// The arguments as they are written, if some are named or left to their defaults.
fn written_arguments(call: &tree::FunctionCall, resolved: &Resolved) -> Option<Arc<Vec<WrittenArgument>>> {
    let is_otherwise = |source: &ArgumentSource| matches!(source, ArgumentSource::Default(_));
    let is_named = |argument: &tree::Expr| argument_parts(argument).0.is_some();
    let is_plain = !resolved.arguments.iter().any(is_otherwise)
        && !call.arguments.iter().any(is_named)
        && !(0..call.arguments.len()).any(|index| is_default(call, index));
    if is_plain {
        return None;
    }
    let mut written = Vec::new();
    for (index, argument) in call.arguments.iter().enumerate() {
        let is_it = |source: &ArgumentSource| matches!(source, ArgumentSource::Argument(own, _) if *own == index);
        if let Some(place) = resolved.arguments.iter().position(is_it).filter(|_| !is_default(call, index)) {
            let name = argument_parts(argument).0.map(Name::to_string);
            written.push(WrittenArgument { place, name });
        }
    }
    Some(Arc::new(written))
}

/// The arguments that a call gives, in order.
pub(super) fn input_arguments(function: &StoredFunction) -> impl Iterator<Item = &schema::catalog::ArgumentDef> {
    function.arguments.iter().filter(|argument| !matches!(argument.mode, ArgumentMode::Out | ArgumentMode::Table))
}

/// The name of a function's only output argument.
pub(super) fn single_output(function: &StoredFunction) -> Option<Name> {
    let mut outputs = function
        .arguments
        .iter()
        .filter(|argument| matches!(argument.mode, ArgumentMode::Out | ArgumentMode::InOut | ArgumentMode::Table));
    match (outputs.next(), outputs.next()) {
        (Some(argument), None) => argument.name.as_deref().map(Name::new),
        _ => None,
    }
}
