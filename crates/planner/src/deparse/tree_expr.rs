//! Writes expressions of the syntax tree as text. An expression that binds less tightly than a function call gets parentheses.

use syntax::tree::{
    Expr, ExprKind, FunctionCall, Indirection, Literal, Location, Name, OperatorName, SessionFunction, Subquery,
    SubqueryKind, TypeName, WindowDefinition,
};
use types::reg_types::quote_identifier;

use super::plain_literal;
use super::query::Writer;
use crate::binder::null_test;

impl Writer<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal_at(expr.location, literal),
            ExprKind::Parameter(number) => self.push(&format!("${number}")),
            ExprKind::Column(parts) => self.column(expr.location, parts),
            ExprKind::Star(parts) => {
                self.dotted(parts);
                self.push(if parts.is_empty() { "*" } else { ".*" });
            }
            ExprKind::Cast { input, type_name } => self.cast(input, type_name),
            ExprKind::Collate { input, collation } => {
                self.push("(");
                self.expr(input);
                self.push(" COLLATE ");
                self.qualified(collation);
                self.push(")");
            }
            ExprKind::Operator { operator, left: Some(left), right }
                if self.names.is_null_test(expr.location)
                    && let Some(tested) = null_test(operator, left, right) =>
            {
                self.push("(");
                self.expr(tested);
                self.push(" IS NULL)");
            }
            ExprKind::Operator { operator, left, right } => self.operation(operator, left.as_deref(), right),
            ExprKind::Quantified { operator, all, left, array } => self.quantified(left, operator, *all, array),
            ExprKind::In { left, list, negated } => self.in_list(left, *negated, list),
            ExprKind::Between { input, low, high, symmetric, negated } => {
                let word = match (negated, symmetric) {
                    (false, false) => "BETWEEN",
                    (false, true) => "BETWEEN SYMMETRIC",
                    (true, false) => "NOT BETWEEN",
                    (true, true) => "NOT BETWEEN SYMMETRIC",
                };
                self.between(input, word, low, high);
            }
            ExprKind::Distinct { left, right, negated } => {
                self.push("(");
                self.expr(left);
                self.push(if *negated { " IS NOT DISTINCT FROM " } else { " IS DISTINCT FROM " });
                self.expr(right);
                self.push(")");
            }
            ExprKind::NullIf(left, right) => {
                self.push("NULLIF(");
                self.expr(left);
                self.push(", ");
                self.expr(right);
                self.push(")");
            }
            ExprKind::And(list) => self.junction(list, " AND "),
            ExprKind::Or(list) => self.junction(list, " OR "),
            ExprKind::Not(input) => self.negation(input),
            ExprKind::NullTest { input, negated } => {
                self.test(input, if *negated { "IS NOT NULL" } else { "IS NULL" });
            }
            ExprKind::BooleanTest { input, value, negated } => {
                let not = if *negated { "NOT " } else { "" };
                self.test(input, &format!("IS {not}{}", truth(*value)));
            }
            ExprKind::Case { operand, whens, otherwise } => self.case(operand.as_deref(), whens, otherwise.as_deref()),
            ExprKind::Coalesce(list) => self.call("COALESCE", list),
            ExprKind::Greatest(list) => self.call("GREATEST", list),
            ExprKind::Least(list) => self.call("LEAST", list),
            ExprKind::Session(function) => self.push(&session_function(*function)),
            ExprKind::Function(call) => self.function_call(call),
            ExprKind::Subquery(subquery) => self.subquery(subquery, expr.location),
            ExprKind::Array(elements) => {
                self.push("ARRAY[");
                self.exprs(elements);
                self.push("]");
            }
            ExprKind::Row { fields, .. } => self.call("ROW", fields),
            ExprKind::Indirection { input, steps } => {
                self.indirected(input, steps);
                self.indirection(expr.location, steps);
            }
            ExprKind::Default => self.push("DEFAULT"),
            ExprKind::DefaultArgument(type_name) => self.default_argument(type_name),
            ExprKind::CurrentOf(cursor) => {
                self.push("CURRENT OF ");
                self.name(cursor);
            }
            ExprKind::NamedArgument { name, value } => {
                self.name(name);
                self.push(" => ");
                self.expr(value);
            }
            ExprKind::MultiAssignment { source, .. } => self.expr(source),
            ExprKind::Unsupported(what) => self.push(&format!("/* {what} */ NULL")),
        }
    }

    /// A literal as the binder has understood the one at this place.
    fn literal_at(&mut self, location: Location, literal: &Literal) {
        match self.names.literal(location) {
            Some(known) if known.needs_type => self.push(&format!("{}::{}", known.text, known.type_name)),
            Some(known) => self.push(&known.text),
            None => self.literal(literal),
        }
    }

    fn column(&mut self, location: Location, parts: &[Name]) {
        match self.places.names.get(&location) {
            Some(Some(name)) => {
                let name = name.clone();
                self.push(&name);
            }
            _ => self.dotted(parts),
        }
    }

    fn cast(&mut self, input: &Expr, type_name: &TypeName) {
        // A literal is a constant of that type.
        let is_constant = matches!(input.kind, ExprKind::Literal(Literal::String(_) | Literal::Null));
        let name = self.names.type_name(type_name);
        match self.names.literal(input.location) {
            Some(known) if is_constant => {
                self.push(&known.text);
                if !known.needs_type && known.type_name == name {
                    return;
                }
            }
            _ if is_constant || self.pretty || matches!(input.kind, ExprKind::Row { .. }) => self.expr(input),
            _ => self.in_parentheses(input),
        }
        self.push(&format!("::{name}"));
    }

    fn operation(&mut self, operator: &OperatorName, left: Option<&Expr>, right: &Expr) {
        self.push("(");
        if let Some(left) = left {
            self.operand(operator, left, true);
            self.push(" ");
        }
        self.operator(operator);
        self.push(" ");
        self.operand(operator, right, false);
        self.push(")");
    }

    fn quantified(&mut self, left: &Expr, operator: &OperatorName, all: bool, array: &Expr) {
        self.push("(");
        self.expr(left);
        self.push(" ");
        self.operator(operator);
        self.push(if all { " ALL (" } else { " ANY (" });
        self.expr(array);
        self.push("))");
    }

    fn in_list(&mut self, left: &Expr, negated: bool, list: &[Expr]) {
        self.push("(");
        self.expr(left);
        self.push(if negated { " NOT IN (" } else { " IN (" });
        self.exprs(list);
        self.push("))");
    }

    fn between(&mut self, input: &Expr, word: &str, low: &Expr, high: &Expr) {
        self.push("(");
        self.expr(input);
        self.push(&format!(" {word} "));
        self.expr(low);
        self.push(" AND ");
        self.expr(high);
        self.push(")");
    }

    fn negation(&mut self, input: &Expr) {
        self.push("(NOT ");
        match input.kind {
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) => self.expr(input),
            _ => self.bare(input),
        }
        self.push(")");
    }

    fn case(&mut self, operand: Option<&Expr>, whens: &[(Expr, Expr)], otherwise: Option<&Expr>) {
        self.line("\n        CASE");
        if let Some(operand) = operand {
            self.push(" ");
            self.expr(operand);
        }
        for (condition, result) in whens {
            self.line("\n            WHEN ");
            self.bare(condition);
            self.push(" THEN ");
            self.bare(result);
        }
        if let Some(otherwise) = otherwise {
            self.line("\n            ELSE ");
            self.bare(otherwise);
        }
        self.line("\n        END");
    }

    fn subquery(&mut self, subquery: &Subquery, location: Location) {
        match &subquery.kind {
            SubqueryKind::Scalar => {}
            SubqueryKind::Exists => self.push("EXISTS "),
            SubqueryKind::Array => self.push("ARRAY"),
            SubqueryKind::Quantified { left, operator, all } => {
                self.push("(");
                self.expr(left);
                match operator {
                    None => self.push(" IN "),
                    Some(operator) => {
                        self.push(" ");
                        self.operator(operator);
                        self.push(if *all { " ALL " } else { " ANY " });
                    }
                }
            }
        }
        self.push("(");
        self.next = self.places.subqueries.get(&location).copied();
        self.inner_query(&subquery.query);
        self.push(")");
        if matches!(subquery.kind, SubqueryKind::Quantified { .. }) {
            self.push(")");
        }
    }

    /// The input of subscripts and fields, in parentheses where the grammar wants these.
    fn indirected(&mut self, input: &Expr, steps: &[Indirection]) {
        let is_column = matches!(input.kind, ExprKind::Column(_) | ExprKind::Parameter(_));
        let only_subscripts = steps.iter().all(|step| matches!(step, Indirection::Index(_) | Indirection::Slice(..)));
        if is_column && only_subscripts {
            self.expr(input);
        } else {
            self.in_parentheses(input);
        }
    }

    fn default_argument(&mut self, type_name: &TypeName) {
        self.push("CAST(DEFAULT AS ");
        let name = self.names.type_name(type_name);
        self.push(&name);
        self.push(")");
    }

    /// An expression where nothing around it could be mistaken for a part of it.
    pub(super) fn bare(&mut self, expr: &Expr) {
        let has_parentheses = matches!(
            expr.kind,
            ExprKind::Operator { .. }
                | ExprKind::Collate { .. }
                | ExprKind::Quantified { .. }
                | ExprKind::In { .. }
                | ExprKind::Between { .. }
                | ExprKind::Distinct { .. }
                | ExprKind::And(_)
                | ExprKind::Or(_)
                | ExprKind::Not(_)
                | ExprKind::NullTest { .. }
                | ExprKind::BooleanTest { .. }
        );
        let text = self.piece(|writer| writer.expr(expr));
        match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
            Some(inner) if self.pretty && has_parentheses => self.push(inner),
            _ => self.push(&text),
        }
    }

    /// An operand of `operator`, without parentheses only where arithmetic has its well-known order.
    fn operand(&mut self, operator: &OperatorName, expr: &Expr, is_left: bool) {
        let rank = |operator: &OperatorName| match (&operator.schema, operator.name.as_str()) {
            (None, "+" | "-") => Some(1),
            (None, "*" | "/" | "%") => Some(2),
            _ => None,
        };
        match &expr.kind {
            ExprKind::Operator { operator: inner, left: Some(_), .. } => match (rank(operator), rank(inner)) {
                (Some(outer), Some(inner)) if inner > outer || inner == outer && is_left => self.bare(expr),
                _ => self.expr(expr),
            },
            _ => self.expr(expr),
        }
    }

    pub(super) fn exprs(&mut self, exprs: &[Expr]) {
        for (number, expr) in exprs.iter().enumerate() {
            if number > 0 {
                self.push(", ");
            }
            self.bare(expr);
        }
    }

    fn in_parentheses(&mut self, expr: &Expr) {
        self.push("(");
        self.expr(expr);
        self.push(")");
    }

    fn junction(&mut self, list: &[Expr], between: &str) {
        self.push("(");
        for (number, expr) in list.iter().enumerate() {
            if number > 0 {
                self.push(between);
            }
            // AND binds more tightly than OR; there is no need to say so.
            match expr.kind {
                ExprKind::Or(_) => self.expr(expr),
                _ => self.bare(expr),
            }
        }
        self.push(")");
    }

    fn test(&mut self, input: &Expr, test: &str) {
        self.push("(");
        self.expr(input);
        self.push(&format!(" {test})"));
    }

    fn call(&mut self, name: &str, arguments: &[Expr]) {
        self.push(&format!("{name}("));
        self.exprs(arguments);
        self.push(")");
    }

    fn indirection(&mut self, location: Location, steps: &[Indirection]) {
        for step in steps {
            match step {
                Indirection::Index(index) => {
                    self.push("[");
                    self.expr(index);
                    self.push("]");
                }
                Indirection::Slice(low, high) => {
                    self.push("[");
                    low.iter().for_each(|low| self.expr(low));
                    self.push(":");
                    high.iter().for_each(|high| self.expr(high));
                    self.push("]");
                }
                Indirection::Field(name) => {
                    self.push(".");
                    let known = self.names.field(location, name);
                    self.name(known.as_ref().unwrap_or(name));
                }
                Indirection::Star => self.push(".*"),
            }
        }
    }

    pub(super) fn operator(&mut self, operator: &OperatorName) {
        match &operator.schema {
            Some(schema) => {
                let schema = quote_identifier(schema);
                self.push(&format!("OPERATOR({schema}.{})", operator.name));
            }
            None => self.push(&operator.name),
        }
    }

    fn dotted(&mut self, parts: &[Name]) {
        for (number, part) in parts.iter().enumerate() {
            if number > 0 {
                self.push(".");
            }
            self.name(part);
        }
    }

    /// A literal without its type, or a cast of one.
    pub(super) fn plain(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Cast { input, type_name } => {
                self.plain(input);
                let name = self.names.type_name(type_name);
                self.push(&format!("::{name}"));
            }
            _ => self.expr(expr),
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.push("NULL"),
            Literal::Boolean(value) => self.push(if *value { "true" } else { "false" }),
            Literal::Integer(value) if *value < 0 => self.push(&format!("({value})")),
            Literal::Integer(value) => self.push(&value.to_string()),
            Literal::Number(text) => self.push(text),
            Literal::String(text) => self.push(&plain_literal(text)),
            Literal::BitString(text) => {
                let (base, digits) = text.split_at(text.len().min(1));
                self.push(&format!("{base}'{digits}'"));
            }
        }
    }

    /// Writes a call for which the grammar has words of its own, in these words. Returns false, and writes nothing, for other calls.
    fn with_words(&mut self, call: &FunctionCall) -> bool {
        let pieces: &[(&str, usize)] = match (call.name.name.as_str(), call.arguments.len()) {
            ("extract", 2) => {
                let ExprKind::Literal(Literal::String(field)) = &call.arguments[0].kind else { return false };
                self.push(&format!("EXTRACT({} FROM ", quote_identifier(field)));
                self.bare(&call.arguments[1]);
                self.push(")");
                return true;
            }
            ("timezone", 2) => &[("(", 1), (" AT TIME ZONE ", 0)],
            ("substring", 2) => &[("SUBSTRING(", 0), (" FROM ", 1)],
            ("substring", 3) => &[("SUBSTRING(", 0), (" FROM ", 1), (" FOR ", 2)],
            ("position", 2) => &[("POSITION((", 1), (") IN (", 0)],
            ("overlay", 3) => &[("OVERLAY(", 0), (" PLACING ", 1), (" FROM ", 2)],
            ("overlay", 4) => &[("OVERLAY(", 0), (" PLACING ", 1), (" FROM ", 2), (" FOR ", 3)],
            ("btrim", 1) => &[("TRIM(BOTH FROM ", 0)],
            ("btrim", 2) => &[("TRIM(BOTH ", 1), (" FROM ", 0)],
            ("ltrim", 1) => &[("TRIM(LEADING FROM ", 0)],
            ("ltrim", 2) => &[("TRIM(LEADING ", 1), (" FROM ", 0)],
            ("rtrim", 1) => &[("TRIM(TRAILING FROM ", 0)],
            ("rtrim", 2) => &[("TRIM(TRAILING ", 1), (" FROM ", 0)],
            ("overlaps", 4) => &[("((", 0), (", ", 1), (") OVERLAPS (", 2), (", ", 3)],
            ("pg_collation_for", 1) => &[("COLLATION FOR (", 0)],
            ("is_normalized", 1) => &[("(", 0)],
            ("normalize", 1) => &[("NORMALIZE(", 0)],
            _ => return false,
        };
        for (words, argument) in pieces {
            self.push(words);
            self.expr(&call.arguments[*argument]);
        }
        self.push(match call.name.name.as_str() {
            "position" | "overlaps" => "))",
            "is_normalized" => " IS NORMALIZED)",
            _ => ")",
        });
        true
    }

    pub(super) fn function_call(&mut self, call: &FunctionCall) {
        if call.sql_syntax && self.with_words(call) {
            return;
        }
        let name = self.names.function(&call.name);
        self.push(&name);
        self.push("(");
        if call.distinct {
            self.push("DISTINCT ");
        }
        if call.star {
            self.push("*");
        }
        for (number, argument) in call.arguments.iter().enumerate() {
            if number > 0 {
                self.push(", ");
            }
            if call.variadic && number + 1 == call.arguments.len() {
                self.push("VARIADIC ");
            }
            self.bare(argument);
        }
        if !call.order.is_empty() && !call.within_group {
            self.push(" ORDER BY ");
            self.sort_list(&call.order);
        }
        self.push(")");
        if call.within_group {
            self.push(" WITHIN GROUP (ORDER BY ");
            self.sort_list(&call.order);
            self.push(")");
        }
        if let Some(filter) = &call.filter {
            self.push(" FILTER (WHERE ");
            self.bare(filter);
            self.push(")");
        }
        if let Some(window) = &call.over {
            self.push(" OVER ");
            match &window.name {
                Some(name) => self.name(name),
                None => self.window(window),
            }
        }
    }

    /// A window's definition in parentheses.
    pub(super) fn window(&mut self, window: &WindowDefinition) {
        let mut pieces = Vec::new();
        if let Some(base) = &window.base {
            pieces.push(quote_identifier(base));
        }
        if !window.partition.is_empty() {
            pieces.push(format!("PARTITION BY {}", self.piece(|writer| writer.exprs(&window.partition))));
        }
        if !window.order.is_empty() {
            pieces.push(format!("ORDER BY {}", self.piece(|writer| writer.sort_list(&window.order))));
        }
        if window.frame_options & frame::NON_DEFAULT != 0 {
            pieces.push(self.frame(window));
        }
        self.push(&format!("({})", pieces.join(" ")));
    }

    fn frame(&mut self, window: &WindowDefinition) -> String {
        let has = |bit: i32| window.frame_options & bit != 0;
        let mode = if has(frame::ROWS) {
            "ROWS"
        } else if has(frame::GROUPS) {
            "GROUPS"
        } else {
            "RANGE"
        };
        let start = window.start_offset.as_ref().map(|offset| self.piece(|writer| writer.expr(offset)));
        let end = window.end_offset.as_ref().map(|offset| self.piece(|writer| writer.expr(offset)));
        let first = if has(frame::START_UNBOUNDED_PRECEDING) {
            "UNBOUNDED PRECEDING".to_owned()
        } else if has(frame::START_CURRENT_ROW) {
            "CURRENT ROW".to_owned()
        } else {
            let way = if has(frame::START_OFFSET_PRECEDING) { "PRECEDING" } else { "FOLLOWING" };
            format!("{} {way}", start.unwrap_or_default())
        };
        let last = if has(frame::END_UNBOUNDED_FOLLOWING) {
            "UNBOUNDED FOLLOWING".to_owned()
        } else if has(frame::END_CURRENT_ROW) {
            "CURRENT ROW".to_owned()
        } else {
            let way = if has(frame::END_OFFSET_PRECEDING) { "PRECEDING" } else { "FOLLOWING" };
            format!("{} {way}", end.unwrap_or_default())
        };
        let bounds = if has(frame::BETWEEN) { format!("BETWEEN {first} AND {last}") } else { first };
        let exclusion = if has(frame::EXCLUDE_CURRENT_ROW) {
            " EXCLUDE CURRENT ROW"
        } else if has(frame::EXCLUDE_GROUP) {
            " EXCLUDE GROUP"
        } else if has(frame::EXCLUDE_TIES) {
            " EXCLUDE TIES"
        } else {
            ""
        };
        format!("{mode} {bounds}{exclusion}")
    }
}

/// PostgreSQL's FRAMEOPTION bits.
mod frame {
    pub(super) const NON_DEFAULT: i32 = 0x1;
    pub(super) const ROWS: i32 = 0x4;
    pub(super) const GROUPS: i32 = 0x8;
    pub(super) const BETWEEN: i32 = 0x10;
    pub(super) const START_UNBOUNDED_PRECEDING: i32 = 0x20;
    pub(super) const END_UNBOUNDED_FOLLOWING: i32 = 0x100;
    pub(super) const START_CURRENT_ROW: i32 = 0x200;
    pub(super) const END_CURRENT_ROW: i32 = 0x400;
    pub(super) const START_OFFSET_PRECEDING: i32 = 0x800;
    pub(super) const END_OFFSET_PRECEDING: i32 = 0x1000;
    pub(super) const EXCLUDE_CURRENT_ROW: i32 = 0x8000;
    pub(super) const EXCLUDE_GROUP: i32 = 0x10000;
    pub(super) const EXCLUDE_TIES: i32 = 0x20000;
}

fn truth(value: Option<bool>) -> &'static str {
    match value {
        Some(true) => "TRUE",
        Some(false) => "FALSE",
        None => "UNKNOWN",
    }
}

fn session_function(function: SessionFunction) -> String {
    let with = |name: &str, precision: Option<i32>| match precision {
        Some(precision) => format!("{name}({precision})"),
        None => name.to_owned(),
    };
    match function {
        SessionFunction::CurrentDate => "CURRENT_DATE".to_owned(),
        SessionFunction::CurrentTime(precision) => with("CURRENT_TIME", precision),
        SessionFunction::CurrentTimestamp(precision) => with("CURRENT_TIMESTAMP", precision),
        SessionFunction::LocalTime(precision) => with("LOCALTIME", precision),
        SessionFunction::LocalTimestamp(precision) => with("LOCALTIMESTAMP", precision),
        SessionFunction::CurrentRole => "CURRENT_ROLE".to_owned(),
        SessionFunction::CurrentUser => "CURRENT_USER".to_owned(),
        SessionFunction::User => "USER".to_owned(),
        SessionFunction::SessionUser => "SESSION_USER".to_owned(),
        SessionFunction::CurrentCatalog => "CURRENT_CATALOG".to_owned(),
        SessionFunction::CurrentSchema => "CURRENT_SCHEMA".to_owned(),
    }
}
