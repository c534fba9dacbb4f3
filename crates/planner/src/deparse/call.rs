//! Calls, back to text: of functions by their names with the arguments as they were written, of aggregates, and over windows.

use base::Oid;
use plan::{AggregateCall, Call, Expr, ExprKind, FunctionTarget, WindowCall, WindowTarget};
use schema::catalog::ArgumentMode;
use types::reg_types::quote_identifier;
use types::{CallTypes, Callee, CatalogLookup, SqlType, Value, WrittenArgument, oids};

use super::expr::{Place, Qualify, Writer, sort_suffix};

/// An argument of a call as it is shown.
struct ShownArgument<'n> {
    /// Its place among the function's arguments.
    place: usize,
    /// With a name in front of it.
    name: Option<&'n str>,
    /// As the function's default.
    is_default: bool,
}

impl Writer<'_, '_> {
    /// A call as it was written: with an operator, in words, or by the function's name.
    pub(super) fn call(&mut self, call: &Call) {
        if let Some(operator) = call.operator {
            let place = |is_first: bool| Place::Operand { operator: operator.name, is_first };
            self.open();
            match call.arguments.as_slice() {
                [right] => {
                    self.push(operator.name);
                    self.push(" ");
                    self.operand(right, operator.right, place(false));
                }
                [left, right] => {
                    self.operand(left, operator.left, place(true));
                    self.push(&format!(" {} ", operator.name));
                    self.operand(right, operator.right, place(false));
                }
                _ => {}
            }
            return self.close();
        }
        // `extract(year from t)` is a call of a function whose first argument is the field's name.
        if let (FunctionTarget::Builtin(function), [field, source]) = (&call.function, call.arguments.as_slice())
            && function.name == "extract"
            && let ExprKind::Constant(Value::Text(field)) = &field.kind
        {
            self.push(&format!("EXTRACT({field} FROM "));
            self.expr(source, false);
            return self.push(")");
        }
        if call.in_words && self.call_in_words(call) {
            return;
        }
        self.named_call(&call.function, &call.types, &call.arguments);
    }

    /// The call of a function by its name.
    pub(super) fn named_call(&mut self, function: &FunctionTarget, types: &CallTypes, arguments: &[Expr]) {
        let (declared, takes_array): (&[Oid], bool) = match function {
            FunctionTarget::Builtin(def) => {
                let last = def.arguments.last();
                let is_full = def.arguments.len() == arguments.len();
                (def.arguments, types.spread || def.variadic && is_full && last != Some(&oids::ANY))
            }
            FunctionTarget::Stored(def) => {
                let last = def.arguments.iter().rfind(|argument| argument.mode.is_input());
                (&[], last.is_some_and(|argument| argument.mode == ArgumentMode::Variadic))
            }
        };
        let list = self.shown_arguments(function, types, arguments);
        let is_array_shown = takes_array && list.last().is_some_and(|shown| shown.place + 1 == arguments.len());
        self.function(function, &list, arguments, is_array_shown);
        self.push("(");
        for (number, ShownArgument { place, name, is_default }) in list.into_iter().enumerate() {
            let argument = &arguments[place];
            if number > 0 {
                self.push(", ");
            }
            // Without the word, the array would be taken for one of its elements.
            if takes_array && place + 1 == arguments.len() {
                self.push("VARIADIC ");
            }
            if let Some(name) = name {
                self.push(&format!("{} => ", quote_identifier(name)));
            }
            if is_default {
                let type_name = self.deparser.type_name(argument.sql_type);
                self.push(&format!("CAST(DEFAULT AS {type_name})"));
                continue;
            }
            self.operand(argument, declared.get(place).copied().unwrap_or(Oid::INVALID), Place::Argument);
        }
        self.push(")");
    }

    /// A call that the grammar has words of its own for, in these words. False if it has none: nothing is written then.
    pub(super) fn call_in_words(&mut self, call: &Call) -> bool {
        let FunctionTarget::Builtin(def) = &call.function else { return false };
        let shown = self.shown_arguments(&call.function, &call.types, &call.arguments);
        let given: Vec<&Expr> =
            shown.iter().filter(|shown| !shown.is_default).map(|shown| &call.arguments[shown.place]).collect();
        let form = match given.last().and_then(|last| last.as_constant()) {
            Some(Value::Text(form)) if matches!(def.name, "is_normalized" | "normalize") && given.len() == 2 => {
                form.to_string()
            }
            _ => String::new(),
        };
        let (if_form, is_normalized) = (format!(", {form})"), format!(" IS {form} NORMALIZED)"));
        // The words in front of each argument, with its place, and the words behind the last one.
        let (pieces, end): (&[(&str, usize)], &str) = match (def.name, given.len()) {
            ("timezone", 2) => (&[("(", 1), (" AT TIME ZONE ", 0)], ")"),
            ("overlaps", 4) => (&[("((", 0), (", ", 1), (") OVERLAPS (", 2), (", ", 3)], "))"),
            ("is_normalized", 1) => (&[("(", 0)], " IS NORMALIZED)"),
            ("is_normalized", 2) if !form.is_empty() => (&[("(", 0)], &is_normalized),
            ("normalize", 1) => (&[("NORMALIZE(", 0)], ")"),
            ("normalize", 2) if !form.is_empty() => (&[("NORMALIZE(", 0)], &if_form),
            ("pg_collation_for", 1) => (&[("COLLATION FOR (", 0)], ")"),
            ("substring", 2) if def.arguments == [oids::TEXT, oids::TEXT] => return false,
            ("substring", 3) if def.arguments[1] == oids::TEXT => {
                (&[("SUBSTRING(", 0), (" SIMILAR ", 1), (" ESCAPE ", 2)], ")")
            }
            ("substring", 2) => (&[("SUBSTRING(", 0), (" FROM ", 1)], ")"),
            ("substring", 3) => (&[("SUBSTRING(", 0), (" FROM ", 1), (" FOR ", 2)], ")"),
            ("position", 2) => (&[("POSITION((", 1), (") IN (", 0)], "))"),
            ("overlay", 3) => (&[("OVERLAY(", 0), (" PLACING ", 1), (" FROM ", 2)], ")"),
            ("overlay", 4) => (&[("OVERLAY(", 0), (" PLACING ", 1), (" FROM ", 2), (" FOR ", 3)], ")"),
            ("btrim", 1) => (&[("TRIM(BOTH FROM ", 0)], ")"),
            ("btrim", 2) => (&[("TRIM(BOTH ", 1), (" FROM ", 0)], ")"),
            ("ltrim", 1) => (&[("TRIM(LEADING FROM ", 0)], ")"),
            ("ltrim", 2) => (&[("TRIM(LEADING ", 1), (" FROM ", 0)], ")"),
            ("rtrim", 1) => (&[("TRIM(TRAILING FROM ", 0)], ")"),
            ("rtrim", 2) => (&[("TRIM(TRAILING ", 1), (" FROM ", 0)], ")"),
            _ => return false,
        };
        for (words, argument) in pieces {
            self.push(words);
            let place = if matches!(def.name, "timezone" | "is_normalized") { Place::Test } else { Place::Argument };
            self.part(given[*argument], place, false);
        }
        self.push(end);
        true
    }

    /// The arguments of a call that are shown, in their order.
    fn shown_arguments<'w>(
        &self,
        function: &'w FunctionTarget,
        types: &'w CallTypes,
        arguments: &[Expr],
    ) -> Vec<ShownArgument<'w>> {
        match &types.written {
            Some(written) if !self.deparser.shows_defaults => {
                self.written_arguments(function, written, arguments.len())
            }
            _ => (0..arguments.len()).map(|place| ShownArgument { place, name: None, is_default: false }).collect(),
        }
    }

    /// The arguments of a call as it is written. The stored text has the types of default arguments, so that functions made later do not
    /// change which one is called.
    fn written_arguments<'w>(
        &self,
        function: &'w FunctionTarget,
        written: &'w [WrittenArgument],
        count: usize,
    ) -> Vec<ShownArgument<'w>> {
        let place_of = |written: &'w WrittenArgument| ShownArgument {
            place: written.place,
            name: written.name.as_deref(),
            is_default: false,
        };
        let mut list: Vec<ShownArgument<'_>> = written.iter().map(place_of).collect();
        if self.deparser.qualify == Qualify::WhereNeeded {
            return list;
        }
        let is_written = |place: usize| written.iter().any(|written| written.place == place);
        let names: Vec<Option<&str>> = match function {
            FunctionTarget::Builtin(def) => def.argument_names.iter().copied().map(Some).collect(),
            FunctionTarget::Stored(def) => {
                let inputs = def.arguments.iter().filter(|argument| argument.mode.is_input());
                inputs.map(|argument| argument.name.as_deref().filter(|name| !name.is_empty())).collect()
            }
        };
        let name_of = |place: usize| names.get(place).copied().flatten();
        let rest = (0..count).filter(|place| !is_written(*place));
        let is_positional = list.iter().all(|shown| shown.name.is_none());
        if is_positional || rest.clone().any(|place| name_of(place).is_none()) {
            return (0..count)
                .map(|place| ShownArgument { place, name: None, is_default: !is_written(place) })
                .collect();
        }
        list.extend(rest.map(|place| ShownArgument { place, name: name_of(place), is_default: true }));
        list
    }

    fn function(
        &mut self,
        function: &FunctionTarget,
        shown: &[ShownArgument<'_>],
        arguments: &[Expr],
        is_variadic: bool,
    ) {
        let view = self.deparser.view;
        let types: Vec<SqlType> = shown.iter().map(|shown| arguments[shown.place].sql_type).collect();
        let names: Vec<Option<&str>> = shown.iter().map(|shown| shown.name).collect();
        let call = types::Call { argument_names: &names, variadic: is_variadic, ..types::Call::new("", &types) };
        match function {
            FunctionTarget::Builtin(function) => {
                self.builtin_name(function.oid, function.name, &call);
            }
            FunctionTarget::Stored(function) => {
                // It may have got another name since the expression was bound.
                let function = view.catalog().function(function.oid).unwrap_or(function);
                let is_visible = self.deparser.qualify == Qualify::WhereNeeded && {
                    let call = types::Call { name: &function.name, procedure: function.is_procedure(), ..call };
                    types::resolve_function(view, &call)
                        .is_ok_and(|found| matches!(found.callee, Callee::User(found) if found.oid == function.oid))
                };
                if !is_visible {
                    let schema = quote_identifier(&view.schema_name(function.schema));
                    self.push(&format!("{schema}."));
                }
                let name = quote_identifier(&function.name);
                self.push(&name);
            }
        }
    }

    /// The name of a built-in function or aggregate, with its schema if the call would find one of the user's without it.
    fn builtin_name(&mut self, oid: Oid, name: &str, call: &types::Call<'_>) {
        let view = self.deparser.view;
        let is_hidden = self.deparser.qualify == Qualify::WhereNeeded
            && !view.user_functions(None, name).is_empty()
            && !types::resolve_function(view, &types::Call { name, ..*call }).is_ok_and(|found| match found.callee {
                Callee::Function(found) => found.oid == oid,
                Callee::Aggregate(found) => found.oid == oid,
                _ => false,
            });
        let name = quote_identifier(name);
        self.push(&if is_hidden { format!("pg_catalog.{name}") } else { name });
    }

    pub(super) fn aggregate(&mut self, call: &AggregateCall) {
        let types: Vec<SqlType> = call.arguments.iter().map(|argument| argument.sql_type).collect();
        self.builtin_name(call.function.oid, call.function.name, &types::Call::new("", &types));
        self.push("(");
        if call.distinct {
            self.push("DISTINCT ");
        }
        if call.function.direct_arguments.is_some() {
            let direct = &call.arguments[..call.direct_count()];
            if !direct.is_empty() {
                self.aggregated(direct, call.function.arguments);
            }
            self.push(") WITHIN GROUP (ORDER BY ");
            self.aggregate_order(call);
        } else {
            self.aggregated(&call.arguments, call.function.arguments);
            if !call.order.is_empty() {
                self.push(" ORDER BY ");
                self.aggregate_order(call);
            }
        }
        self.push(")");
        self.filter(call.filter.as_ref());
    }

    fn aggregate_order(&mut self, call: &AggregateCall) {
        for (number, key) in call.order.iter().enumerate() {
            if number > 0 {
                self.push(", ");
            }
            // A key that is one of the arguments is shown as that is, with its cast.
            let argument = call.arguments.iter().position(|argument| crate::binder::same(argument, &key.expr));
            let declared = argument.and_then(|place| call.function.arguments.get(place));
            let is_wrapped = self.deparser.wraps_key(&key.expr);
            self.push(if is_wrapped { "(" } else { "" });
            self.operand(&key.expr, declared.copied().unwrap_or(Oid::INVALID), Place::Argument);
            self.push(if is_wrapped { ")" } else { "" });
            self.push(sort_suffix(key.descending, key.nulls_first));
        }
    }

    /// The arguments of an aggregate.
    fn aggregated(&mut self, arguments: &[Expr], declared: &[Oid]) {
        if arguments.is_empty() {
            self.push("*");
        }
        for (place, argument) in arguments.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            self.operand(argument, declared.get(place).copied().unwrap_or(Oid::INVALID), Place::Argument);
        }
    }

    fn filter(&mut self, filter: Option<&Expr>) {
        if let Some(filter) = filter {
            self.push(" FILTER (WHERE ");
            self.expr(filter, false);
            self.push(")");
        }
    }

    pub(super) fn window(&mut self, call: &WindowCall) {
        let argument_types: Vec<SqlType> = call.arguments.iter().map(|argument| argument.sql_type).collect();
        match &call.function {
            WindowTarget::Window(function) => {
                self.builtin_name(function.oid, function.name, &types::Call::new("", &argument_types));
                self.push("(");
                self.list(&call.arguments);
            }
            WindowTarget::Aggregate(function) => {
                self.builtin_name(function.oid, function.name, &types::Call::new("", &argument_types));
                self.push("(");
                self.aggregated(&call.arguments, function.arguments);
            }
        }
        self.push(")");
        self.filter(call.filter.as_ref());
        let over = self.deparser.names.over(call.window, &call.frame, self.deparser);
        self.push(&format!(" OVER {over}"));
    }
}
