//! Bound expressions to text, as PostgreSQL's `ruleutils.c` writes them.

use base::Oid;
use plan::{
    AggregateCall, Call, CaseWhen, CastExpr, CatalogView, Expr, ExprKind, FunctionTarget, Quantified, Quantifier,
    SessionValue, SetCall, Subquery, Variable, WindowCall, WindowFrame, user_types,
};
use schema::catalog::TableDef;
use types::reg_types::quote_identifier;
use types::text_io::is_reg_type;
use types::{CastContext, CatalogLookup, FormatSettings, SqlType, Value, oids};

use super::plain_literal;
use crate::binder::is_whole_row;

/// When names are written with their schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Qualify {
    /// Unless the schema is `pg_catalog`: for text that is stored.
    Always,
    /// Unless the bare name finds the same: for text that is shown.
    WhereNeeded,
}

/// The names of the places that an expression reads.
pub trait Names {
    /// A slot of the current row, as it is written, with its type.
    fn column(&self, slot: u32) -> (String, Option<SqlType>);

    /// A table's row as a whole, if that is what an expression is.
    fn whole_row(&self, _row: &Expr) -> Option<String> {
        None
    }

    /// A slot that holds a computed value is written as the expression that computed it.
    fn computed(&self, _slot: u32, _deparser: &Deparser<'_>) -> Option<String> {
        None
    }

    /// An outer value.
    fn outer(&self, index: u32, _deparser: &Deparser<'_>) -> String {
        format!("${index}")
    }

    /// A subquery.
    fn subquery(&self, subquery: &Subquery, _deparser: &Deparser<'_>) -> String {
        format!("(SubPlan {})", subquery.id + 1)
    }

    /// The window that a function is called over.
    fn over(&self, _window: u32, _frame: &WindowFrame, _deparser: &Deparser<'_>) -> String {
        "(?)".to_owned()
    }

    /// A column of a range table entry, in an expression that was bound but not planned.
    fn variable(&self, variable: &Variable) -> (String, Option<SqlType>) {
        self.column(variable.attribute.max(0) as u32)
    }
}

/// For expressions that read no row.
pub struct NoNames;

impl Names for NoNames {
    fn column(&self, slot: u32) -> (String, Option<SqlType>) {
        (format!("column{}", slot + 1), None)
    }
}

/// The columns of a table, for expressions over its full row.
pub struct TableNames<'a>(pub &'a TableDef);

impl Names for TableNames<'_> {
    fn column(&self, slot: u32) -> (String, Option<SqlType>) {
        match self.0.columns.get(slot as usize) {
            Some(column) => {
                (quote_identifier(&column.name), Some(SqlType::with_typmod(column.type_oid, column.typmod)))
            }
            None => NoNames.column(slot),
        }
    }

    /// Columns that the table gets later belong to its row, too.
    fn whole_row(&self, row: &Expr) -> Option<String> {
        is_whole_row(row, self.0, 0).then(|| format!("{}.*", quote_identifier(&self.0.name)))
    }
}

/// Writes bound expressions.
pub struct Deparser<'a> {
    pub(super) view: &'a CatalogView,
    pub(super) names: &'a dyn Names,
    pub(super) qualify: Qualify,
    /// CASE stands on lines of its own, as `pg_get_expr` writes it; otherwise all is one line, as in EXPLAIN.
    indent: bool,
    /// How far what is written is indented already.
    start_level: usize,
    /// Only the parentheses that precedence asks for.
    pretty: bool,
    /// Arguments that a call leaves to their defaults are shown as what they are.
    pub(super) shows_defaults: bool,
    /// Rows of named types are shown with these.
    pub(super) shows_row_types: bool,
    format: FormatSettings,
    /// The values of parameters, if they are to be shown.
    values: &'a [Value],
}

/// Deeper CASEs are not indented any further.
const INDENT_LIMIT: usize = 40;

impl<'a> Deparser<'a> {
    /// A deparser that calls places what `names` calls them.
    pub fn new(view: &'a CatalogView, names: &'a dyn Names, qualify: Qualify) -> Deparser<'a> {
        Deparser {
            view,
            names,
            qualify,
            indent: false,
            start_level: 0,
            pretty: false,
            shows_defaults: false,
            shows_row_types: qualify == Qualify::Always,
            format: FormatSettings::default(),
            values: &[],
        }
    }

    /// With CASE on lines of its own.
    #[must_use]
    pub fn indented(mut self) -> Deparser<'a> {
        self.indent = true;
        self
    }

    /// Within text that is indented so far.
    #[must_use]
    pub fn at_level(mut self, level: usize) -> Deparser<'a> {
        self.start_level = level;
        self
    }

    /// With no more parentheses than a reader needs, as `pg_get_expr` writes it when asked to be pretty.
    #[must_use]
    pub fn pretty(mut self, pretty: bool) -> Deparser<'a> {
        self.pretty = pretty;
        self
    }

    /// Whether parentheses stand around a key of ORDER BY or GROUP BY.
    pub fn wraps_key(&self, expr: &Expr) -> bool {
        let is_name = matches!(expr.kind, ExprKind::Variable(_) | ExprKind::Column(_));
        is_shown_as_call(expr) || self.pretty && !is_name && self.names.whole_row(expr).is_none()
    }

    /// With the arguments that calls leave to their defaults, as a plan has them.
    #[must_use]
    pub fn with_defaults(mut self) -> Deparser<'a> {
        self.shows_defaults = true;
        self
    }

    /// With the types of rows, which binding does not keep as casts: a definition is read again without them as another one. One at the
    /// top is left out, as other casts are.
    #[must_use]
    pub fn with_row_types(mut self) -> Deparser<'a> {
        self.shows_row_types = true;
        self
    }

    /// With values in the session's formats instead of the default ones.
    #[must_use]
    pub fn with_format(mut self, format: &FormatSettings) -> Deparser<'a> {
        self.format = format.clone();
        self
    }

    /// With values in the places of parameters.
    #[must_use]
    pub fn with_values(mut self, values: &'a [Value]) -> Deparser<'a> {
        self.values = values;
        self
    }

    /// The text of an expression. A cast at its top that was not written is left out: the place where the text is read adds it.
    pub fn text(&self, expr: &Expr) -> String {
        let mut out = Writer { deparser: self, text: String::new(), level: self.start_level };
        out.expr(expr, false);
        out.text
    }

    /// A constant without its type.
    pub fn literal(&self, value: &Value, sql_type: SqlType) -> String {
        let mut out = Writer { deparser: self, text: String::new(), level: self.start_level };
        out.constant(value, sql_type, false);
        out.text
    }

    /// The text of an expression that keeps its meaning wherever it is put: casts are shown.
    pub fn full_text(&self, expr: &Expr) -> String {
        let mut out = Writer { deparser: self, text: String::new(), level: self.start_level };
        out.expr(expr, true);
        out.text
    }

    /// The text of an expression to the left of IN and the like, whose operator takes a `declared` type; alone, or one of a row.
    pub fn tested_text(&self, expr: &Expr, declared: Oid, is_alone: bool) -> String {
        let mut out = Writer { deparser: self, text: String::new(), level: self.start_level };
        out.operand(expr, declared, if is_alone { Place::Test } else { Place::Argument });
        out.text
    }

    /// The text of an aggregate call.
    pub fn aggregate(&self, call: &AggregateCall) -> String {
        let mut out = Writer { deparser: self, text: String::new(), level: self.start_level };
        out.aggregate(call);
        out.text
    }

    /// The text of a window function call.
    pub fn window(&self, call: &WindowCall) -> String {
        let mut out = Writer { deparser: self, text: String::new(), level: self.start_level };
        out.window(call);
        out.text
    }

    /// The text of a call in FROM or a select list.
    pub fn set_call(&self, call: &SetCall) -> String {
        let mut out = Writer { deparser: self, text: String::new(), level: self.start_level };
        let arguments = match &call.function {
            // Binding has added what the function is to know of its column definitions.
            FunctionTarget::Builtin(def) if types::takes_definitions(def) => {
                &call.arguments[..def.arguments.len().min(call.arguments.len())]
            }
            _ => call.arguments.as_slice(),
        };
        out.named_call(&call.function, &call.types, arguments);
        out.text
    }

    /// `::type` behind a table's row in a list of values, where it would be read as all its columns without.
    pub fn type_of_row(&self, expr: &Expr) -> String {
        match self.names.whole_row(expr) {
            Some(_) => format!("::{}", self.type_name(expr.sql_type)),
            None => String::new(),
        }
    }

    /// The name of a type.
    pub fn type_name(&self, sql_type: SqlType) -> String {
        let plain = types::format_type(self.view, sql_type);
        if self.qualify == Qualify::WhereNeeded {
            return plain;
        }
        // A domain over arrays has a name of its own, whatever their elements are.
        let element = user_types::element_of_array(sql_type.oid).unwrap_or(sql_type.oid);
        match self.view.user_type(element) {
            Some(user_type) if self.view.type_is_visible(element) => {
                format!("{}.{plain}", quote_identifier(&user_type.schema))
            }
            _ => plain,
        }
    }

    /// The text of a value that is a `reg*` or may have one in it. Such a value names an object.
    fn naming_text(&self, value: &Value, oid: Oid) -> String {
        if self.qualify == Qualify::Always {
            return types::shown_string(value, oid, &self.format, &self.view.without_path());
        }
        types::shown_string(value, oid, &self.format, self.view)
    }
}

/// A text in the making.
pub(super) struct Writer<'w, 'a> {
    pub(super) deparser: &'w Deparser<'a>,
    text: String,
    level: usize,
}

impl Writer<'_, '_> {
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn list(&mut self, exprs: &[Expr]) {
        for (number, expr) in exprs.iter().enumerate() {
            if number > 0 {
                self.push(", ");
            }
            self.expr(expr, true);
        }
    }

    /// The parentheses that a node puts around itself.
    pub(super) fn open(&mut self) {
        if !self.deparser.pretty {
            self.push("(");
        }
    }

    pub(super) fn close(&mut self) {
        if !self.deparser.pretty {
            self.push(")");
        }
    }

    /// A part of another expression: in parentheses, where a pretty text would be read wrongly without.
    pub(super) fn part(&mut self, expr: &Expr, place: Place<'_>, show_implicit: bool) {
        let needed = self.deparser.pretty && !stands_alone(expr, place);
        if needed {
            self.push("(");
        }
        self.expr(expr, show_implicit);
        if needed {
            self.push(")");
        }
    }

    /// An operand or argument of a declared type. Types that are stored alike need no cast to be computed, but are shown with one.
    pub(super) fn operand(&mut self, expr: &Expr, declared: Oid, place: Place<'_>) {
        let shown_as = match declared {
            oids::TEXT => Some("::text"),
            oids::BPCHAR => Some("::bpchar"),
            _ => None,
        };
        if let Some(type_name) = shown_as.filter(|_| expr.sql_type.oid == oids::VARCHAR) {
            self.open();
            self.part(expr, Place::Cast, false);
            self.close();
            return self.push(type_name);
        }
        self.part(expr, place, true);
    }

    /// One of the two values that `equal` compares, where its operator is not written.
    fn compared(&mut self, equal: &Call, place: usize, shown_in: Place<'_>) {
        let declared = equal.operator.map_or(Oid::INVALID, |operator| [operator.left, operator.right][place]);
        self.operand(&equal.arguments[place], declared, shown_in);
    }

    /// Starts a key word on its own line, if lines are wanted.
    fn keyword(&mut self, word: &str, before: isize, after: isize) {
        if self.deparser.indent {
            self.level = self.level.saturating_add_signed(before);
            let kept = self.text.trim_end_matches(' ').len();
            self.text.truncate(kept);
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', self.level.min(INDENT_LIMIT)));
            self.push(word);
            self.level = self.level.saturating_add_signed(after);
        } else {
            self.push(word);
        }
    }

    /// `show_implicit`: a cast that was not written is shown all the same.
    pub(super) fn expr(&mut self, expr: &Expr, show_implicit: bool) {
        match &expr.kind {
            ExprKind::Constant(value) => self.constant(value, expr.sql_type, true),
            ExprKind::Parameter(index) => match self.deparser.values.get(*index as usize) {
                Some(value) => self.constant(value, expr.sql_type, true),
                None => self.push(&format!("${}", index + 1)),
            },
            ExprKind::Column(slot) => {
                if let Some(text) = self.deparser.names.computed(*slot, self.deparser) {
                    return self.push(&text);
                }
                let (name, sql_type) = self.deparser.names.column(*slot);
                self.place(&name, sql_type, expr.sql_type, show_implicit);
            }
            ExprKind::Variable(variable) => {
                let (name, sql_type) = self.deparser.names.variable(variable);
                self.place(&name, sql_type, expr.sql_type, show_implicit);
            }
            ExprKind::Outer(index) => {
                let text = self.deparser.names.outer(*index, self.deparser);
                self.push(&text);
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::And(list) => self.junction(list, " AND ", Place::And),
            ExprKind::Or(list) => self.junction(list, " OR ", Place::Or),
            ExprKind::Not(input) => {
                self.open();
                self.push("NOT ");
                self.part(input, Place::Not, false);
                self.close();
            }
            ExprKind::IsNull(input) => self.test(input, "IS NULL"),
            ExprKind::IsNotNull(input) => self.test(input, "IS NOT NULL"),
            ExprKind::IsTruth { input, value, negated } => self.test(input, truth_test(*value, *negated)),
            ExprKind::IsDistinct { equal, negated } => self.distinct(equal, *negated),
            ExprKind::Case { .. } if let Some(row) = self.deparser.names.whole_row(expr) => self.push(&row),
            ExprKind::Case { operand, whens, otherwise } => self.case(operand.as_deref(), whens, otherwise.as_deref()),
            ExprKind::CaseOperand => self.push("CASE_TEST_EXPR"),
            ExprKind::Coalesce(list) => self.named_list("COALESCE", list),
            ExprKind::Greatest(list) => self.named_list("GREATEST", list),
            ExprKind::Least(list) => self.named_list("LEAST", list),
            ExprKind::NullIf(equal) => {
                self.push("NULLIF(");
                self.compared(equal, 0, Place::Argument);
                self.push(", ");
                self.compared(equal, 1, Place::Argument);
                self.push(")");
            }
            ExprKind::Array { elements, .. } => self.array(elements, expr.sql_type),
            ExprKind::Subscript { input, subscripts, slice } => self.subscripted(input, subscripts, *slice),
            ExprKind::Quantified(quantified) => self.quantified(quantified),
            ExprKind::Subquery(subquery) => {
                let text = self.deparser.names.subquery(subquery, self.deparser);
                self.push(&text);
            }
            ExprKind::Row { fields, shape, .. } => match self.deparser.names.whole_row(expr) {
                Some(row) => self.push(&row),
                None => self.row(fields, shape, show_implicit),
            },
            ExprKind::Field(access) => self.field(access),
            ExprKind::Cast(cast) => self.cast(cast, expr.sql_type, show_implicit),
            ExprKind::Session(value) => self.push(&session_value(*value)),
            ExprKind::Aggregate(call) => self.aggregate(call),
            ExprKind::Window(call) => self.window(call),
            ExprKind::Set(call) => {
                self.named_call(&call.function, &call.types, &call.arguments);
            }
        }
    }

    /// A column; with a cast where it is taken for another type than its own.
    fn place(&mut self, name: &str, own: Option<SqlType>, wanted: SqlType, show_implicit: bool) {
        match own {
            Some(own) if own.oid != wanted.oid && show_implicit => {
                let type_name = self.deparser.type_name(wanted);
                let (open, close) = if self.deparser.pretty { ("", "") } else { ("(", ")") };
                self.push(&format!("{open}{name}{close}::{type_name}"));
            }
            _ => self.push(name),
        }
    }

    pub(super) fn in_parentheses(&mut self, expr: &Expr, needed: bool) {
        if needed {
            self.push("(");
        }
        self.expr(expr, true);
        if needed {
            self.push(")");
        }
    }

    fn test(&mut self, input: &Expr, test: &str) {
        self.open();
        self.part(input, Place::Test, true);
        self.push(&format!(" {test}"));
        self.close();
    }

    fn distinct(&mut self, equal: &Call, negated: bool) {
        if negated {
            self.open();
            self.push("NOT ");
        }
        self.open();
        self.compared(equal, 0, Place::Test);
        self.push(" IS DISTINCT FROM ");
        self.compared(equal, 1, Place::Test);
        self.close();
        if negated {
            self.close();
        }
    }

    fn junction(&mut self, list: &[Expr], between: &str, place: Place<'_>) {
        self.open();
        for (number, expr) in list.iter().enumerate() {
            if number > 0 {
                self.push(between);
            }
            self.part(expr, place, false);
        }
        self.close();
    }

    fn named_list(&mut self, name: &str, list: &[Expr]) {
        self.push(name);
        self.push("(");
        self.list(list);
        self.push(")");
    }

    /// A constant, with its type where it would not be read as that type without.
    fn constant(&mut self, value: &Value, sql_type: SqlType, with_type: bool) {
        let deparser = self.deparser;
        if value.is_null() {
            self.push("NULL");
            if with_type {
                let name = deparser.type_name(sql_type);
                self.push(&format!("::{name}"));
            }
            return;
        }
        let needs_type = match value {
            Value::Bool(value) => {
                self.push(if *value { "true" } else { "false" });
                false
            }
            Value::Int4(value) if *value >= 0 && sql_type.oid == oids::INT4 => {
                self.push(&value.to_string());
                false
            }
            Value::Numeric(_) if sql_type.oid == oids::NUMERIC => {
                let text = types::shown_string(value, sql_type.oid, &deparser.format, deparser.view);
                let reads_as_numeric = text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(['e', 'E', '.']);
                self.push(&if reads_as_numeric { text } else { plain_literal(&text) });
                !reads_as_numeric || sql_type.typmod >= 0
            }
            _ => {
                let may_name = matches!(value, Value::Array(_) | Value::Record(_)) || is_reg_type(sql_type.oid);
                let text = if may_name {
                    deparser.naming_text(value, sql_type.oid)
                } else {
                    types::shown_string(value, sql_type.oid, &deparser.format, deparser.view)
                };
                self.push(&plain_literal(&text));
                sql_type.oid != oids::UNKNOWN
            }
        };
        if needs_type && with_type {
            let name = deparser.type_name(sql_type);
            self.push(&format!("::{name}"));
        }
    }

    fn cast(&mut self, cast: &CastExpr, target: SqlType, show_implicit: bool) {
        let is_implicit = cast.cast.context != CastContext::Explicit;
        if is_implicit && !show_implicit {
            return self.expr(&cast.input, show_implicit);
        }
        match &cast.input.kind {
            // A constant that is only cut to a length needs its type once.
            ExprKind::Constant(value) if cast.input.sql_type == SqlType::new(target.oid) => {
                self.constant(value, cast.input.sql_type, false);
            }
            ExprKind::Row { fields, .. } if cast.input.sql_type == target => {
                match self.deparser.names.whole_row(&cast.input) {
                    Some(row) => self.push(&row),
                    None => self.bare_row(fields),
                }
            }
            _ => {
                self.open();
                self.part(&cast.input, Place::Cast, self.is_recast(&cast.input));
                // A cast right behind ARRAY[...] is one of its elements when the text is read again.
                if self.deparser.qualify == Qualify::Always && matches!(cast.input.kind, ExprKind::Array { .. }) {
                    let own = self.deparser.type_name(cast.input.sql_type);
                    self.push(&format!("::{own}"));
                }
                self.close();
            }
        }
        let name = self.deparser.type_name(target);
        self.push(&format!("::{name}"));
    }

    /// Whether a column stands for a value of another type, which was written: `tableoid::regclass`. A value of a domain
    /// stands for one of the base type, and one of varchar for text, without a cast.
    fn is_recast(&self, column: &Expr) -> bool {
        let names = self.deparser.names;
        let own = match &column.kind {
            ExprKind::Variable(variable) => names.variable(variable).1,
            ExprKind::Column(slot) => names.column(*slot).1,
            _ => None,
        };
        own.is_some_and(|own| {
            let wanted = column.sql_type.oid;
            own.oid != wanted
                && types::base_type(self.deparser.view, own).oid != wanted
                && (own.oid, wanted) != (oids::VARCHAR, oids::TEXT)
        })
    }

    fn quantified(&mut self, quantified: &Quantified) {
        self.open();
        self.operand(&quantified.left, quantified.operator.left, Place::Test);
        let quantifier = match quantified.quantifier {
            Quantifier::Any => "ANY",
            Quantifier::All | Quantifier::Only => "ALL",
        };
        self.push(&format!(" {} {quantifier} (", quantified.operator.name));
        self.part(&quantified.array, Place::Test, true);
        self.push(")");
        self.close();
    }

    fn case(&mut self, operand: Option<&Expr>, whens: &[CaseWhen], otherwise: Option<&Expr>) {
        self.keyword("CASE", 0, 4);
        if let Some(operand) = operand {
            self.push(" ");
            self.expr(operand, true);
        }
        for when in whens {
            if !self.deparser.indent {
                self.push(" ");
            }
            self.keyword("WHEN ", 0, 0);
            self.expr(compared_value(operand, &when.condition), false);
            self.push(" THEN ");
            self.expr(&when.result, true);
        }
        if !self.deparser.indent {
            self.push(" ");
        }
        self.keyword("ELSE ", 0, 0);
        match otherwise {
            Some(otherwise) => self.expr(otherwise, true),
            None => {
                // The value that a CASE without ELSE has is of the type of the others.
                let sql_type = whens.first().map_or(SqlType::TEXT, |when| when.result.sql_type);
                self.constant(&Value::Null, SqlType::new(sql_type.oid), true);
            }
        }
        if !self.deparser.indent {
            self.push(" ");
        }
        self.keyword("END", -4, 0);
    }
}

/// Whether an expression stands in parentheses where it is sorted or grouped by: calls of functions do.
pub(super) fn is_shown_as_call(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(call) => call.operator.is_none(),
        ExprKind::Aggregate(_) | ExprKind::Window(_) => true,
        ExprKind::Cast(cast) => cast.cast.is_call(),
        _ => false,
    }
}

/// Where an expression stands within another.
#[derive(Clone, Copy)]
pub(super) enum Place<'o> {
    And,
    Or,
    Not,
    /// Before `IS`, or on either side of a comparison that is no plain operator.
    Test,
    /// Before `::`.
    Cast,
    /// Among the arguments of a call.
    Argument,
    Operand {
        operator: &'o str,
        is_first: bool,
    },
}

/// How tightly an arithmetic operator binds: 1 for sums, 2 for products.
fn arithmetic_rank(operator: &str) -> Option<u8> {
    match operator {
        "+" | "-" => Some(1),
        "*" | "/" | "%" => Some(2),
        _ => None,
    }
}

/// Whether a pretty text needs no parentheses around `expr` in its place. As PostgreSQL decides it, which trusts readers
/// with the precedence of arithmetic and of AND and OR, and with nothing else.
fn stands_alone(expr: &Expr, place: Place<'_>) -> bool {
    if matches!(place, Place::Argument) {
        return true;
    }
    let is_logical = matches!(place, Place::And | Place::Or | Place::Not);
    match &expr.kind {
        ExprKind::Call(call) => match (call.operator, place) {
            (None, _) => true,
            (Some(own), Place::Operand { operator, is_first }) => {
                match (arithmetic_rank(own.name), arithmetic_rank(operator)) {
                    (Some(own), Some(outer)) => own > outer || own == outer && is_first,
                    _ => false,
                }
            }
            (Some(_), _) => is_logical,
        },
        ExprKind::IsNull(_)
        | ExprKind::IsNotNull(_)
        | ExprKind::IsTruth { .. }
        | ExprKind::IsDistinct { .. }
        | ExprKind::Subquery(_) => is_logical,
        ExprKind::Quantified(_) => false,
        ExprKind::And(_) | ExprKind::Not(_) => matches!(place, Place::And | Place::Or),
        ExprKind::Or(_) => matches!(place, Place::Or),
        // Among conditions, a cast that was not written is not shown.
        ExprKind::Cast(cast) if is_logical && cast.cast.context != CastContext::Explicit => {
            stands_alone(&cast.input, place)
        }
        _ => true,
    }
}

/// `DESC` and the like behind a sorted expression; nothing for the default order.
pub fn sort_suffix(descending: bool, nulls_first: bool) -> &'static str {
    match (descending, nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    }
}

/// Of a condition of a simple CASE, what the operand is compared with.
fn compared_value<'e>(operand: Option<&Expr>, condition: &'e Expr) -> &'e Expr {
    if operand.is_some()
        && let ExprKind::Call(call) = &condition.kind
        && let [left, right] = call.arguments.as_slice()
        && left.any(&|expr| matches!(expr.kind, ExprKind::CaseOperand))
    {
        return right;
    }
    condition
}

fn truth_test(value: Option<bool>, negated: bool) -> &'static str {
    match (value, negated) {
        (Some(true), false) => "IS TRUE",
        (Some(true), true) => "IS NOT TRUE",
        (Some(false), false) => "IS FALSE",
        (Some(false), true) => "IS NOT FALSE",
        (None, false) => "IS UNKNOWN",
        (None, true) => "IS NOT UNKNOWN",
    }
}

fn session_value(value: SessionValue) -> String {
    let with = |name: &str, precision: Option<u8>| match precision {
        Some(precision) => format!("{name}({precision})"),
        None => name.to_owned(),
    };
    match value {
        SessionValue::CurrentDate => "CURRENT_DATE".to_owned(),
        SessionValue::CurrentTime(precision) => with("CURRENT_TIME", precision),
        SessionValue::CurrentTimestamp(precision) => with("CURRENT_TIMESTAMP", precision),
        SessionValue::LocalTime(precision) => with("LOCALTIME", precision),
        SessionValue::LocalTimestamp(precision) => with("LOCALTIMESTAMP", precision),
        SessionValue::CurrentUser => "CURRENT_USER".to_owned(),
        SessionValue::SessionUser => "SESSION_USER".to_owned(),
        SessionValue::CurrentCatalog => "CURRENT_CATALOG".to_owned(),
        SessionValue::CurrentSchema => "CURRENT_SCHEMA".to_owned(),
    }
}
