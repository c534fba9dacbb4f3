//! The statements of a PL/pgSQL body.

use base::{Error, Result, sqlstate};
use syntax::parser::is_name;
use types::{SqlType, oids};

use super::parse::{Parser, folded, unquoted};
use super::tree::{
    ArrayLoop, Assignment, Expression, Fetched, IntegerLoop, Raise, RowSource, Statement, StatementKind, Step,
    Subscript, Variable, VariableKind, find_label, find_labelled, find_variable,
};

/// How assignments and INTO name what they fill.
pub trait Targets {
    /// A variable or a record's field.
    fn target(&mut self) -> Result<usize>;
    /// One or more of them; several are a row.
    fn targets(&mut self) -> Result<usize>;
}

impl Targets for Parser<'_> {
    fn target(&mut self) -> Result<usize> {
        let line = self.line();
        let first_word = self.word(self.at).to_owned();
        let mut parts = vec![self.name()?];
        while self.is(".") && is_name(self.word(self.at + 1)) {
            self.at += 1;
            parts.push(self.name()?);
        }
        let unknown = |name: &str| Error::new(sqlstate::SYNTAX_ERROR, format!("\"{name}\" is not a known variable"));
        // A block's label may stand in front.
        let (mut place, mut used) = (find_variable(&self.scopes, self.scope, &parts[0]), 1);
        if place.is_none() && parts.len() > 1 {
            place = find_labelled(&self.scopes, self.scope, &parts[0], &parts[1]);
            used = 2;
        }
        let mut place = place.ok_or_else(|| unknown(&first_word))?;
        for field in parts.drain(used..) {
            let name = format!("{}.{field}", self.variables[place].name);
            place = self.add(Variable::new(&name, VariableKind::Field { record: place, field }, line));
        }
        if self.variables[place].is_constant {
            let message = format!("variable \"{}\" is declared CONSTANT", self.variables[place].name);
            return Err(Error::new(sqlstate::ERROR_IN_ASSIGNMENT, message));
        }
        Ok(place)
    }

    fn targets(&mut self) -> Result<usize> {
        let line = self.line();
        let first = self.target()?;
        if matches!(self.variables[first].kind, VariableKind::Record(_)) {
            return Ok(first);
        }
        let mut places = vec![first];
        while self.take(",") {
            places.push(self.target()?);
        }
        Ok(self.add(Variable::new("", VariableKind::Row(places), line)))
    }
}

impl Parser<'_> {
    /// Whether an assignment is next; if so, where its `:=` or `=` stands.
    fn assignment_sign(&self) -> Option<usize> {
        let mut index = self.at;
        if !is_name(self.word(index)) {
            return None;
        }
        index += 1;
        let mut depth = 0usize;
        loop {
            match self.word(index) {
                "" | ";" => return None,
                "[" => depth += 1,
                "]" => depth = depth.checked_sub(1)?,
                "." if depth == 0 => {}
                _ if self.is_pair(index, ":=") && depth == 0 => return Some(index),
                "=" if depth == 0 => return Some(index),
                word if depth == 0 && !(is_name(word) && self.word(index - 1) == ".") => return None,
                _ => {}
            }
            index += 1;
        }
    }

    pub(super) fn plain_statement(&mut self, first: &str) -> Result<StatementKind> {
        let name = folded(self.word(self.at));
        let is_known = find_variable(&self.scopes, self.scope, &name).is_some()
            || self.is_at(1, ".") && find_label(&self.scopes, self.scope, &name).is_some();
        let sign = self.assignment_sign();
        if let Some(sign) = sign
            && (is_known || self.is_pair(sign, ":="))
        {
            return self.assignment();
        }
        match first {
            "if" => return self.if_statement(),
            "case" => return self.case_statement(),
            _ => {}
        }
        let kind = match first {
            "exit" | "continue" => {
                self.at += 1;
                let label = if self.is("when") || self.is(";") { None } else { Some(self.name()?) };
                if let Some(label) = &label {
                    self.check_label(label, first)?;
                }
                let condition = if self.take("when") { Some(self.expression(&[";"])?) } else { None };
                StatementKind::Exit { is_exit: first == "exit", label, condition }
            }
            "return" => self.return_statement()?,
            "raise" => self.raise_statement()?,
            "assert" => {
                self.at += 1;
                let condition = self.expression(&[",", ";"])?;
                let message = if self.take(",") { Some(self.expression(&[";"])?) } else { None };
                StatementKind::Assert { condition, message }
            }
            "perform" => {
                self.at += 1;
                let rest = self.query(&[";"])?;
                StatementKind::Perform(Expression::new(&format!("SELECT {}", rest.text), true, self.scope))
            }
            "execute" => self.execute_statement()?,
            "get" => self.diagnostics_statement()?,
            "open" => self.open_statement()?,
            "fetch" | "move" => self.fetch_statement(first == "move")?,
            "close" => {
                self.at += 1;
                StatementKind::Close(self.target()?)
            }
            "commit" | "rollback" if self.is_at(1, ";") || self.is_at(1, "and") => {
                self.at += 1;
                let mut chain = false;
                if self.take("and") {
                    chain = !self.take("no");
                    self.expect("chain")?;
                }
                StatementKind::EndTransaction { commit: first == "commit", chain }
            }
            "call" => StatementKind::Call(self.query(&[";"])?),
            _ => self.sql_statement()?,
        };
        self.expect(";")?;
        Ok(kind)
    }

    fn check_label(&self, label: &str, what: &str) -> Result<()> {
        let Some(scope) = find_label(&self.scopes, self.scope, label) else {
            let message =
                format!("there is no label \"{label}\" attached to any block or loop enclosing this statement");
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
        };
        if what == "continue" && !self.scopes[scope].is_loop {
            let message = format!("block label \"{label}\" cannot be used in CONTINUE");
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
        }
        Ok(())
    }

    fn assignment(&mut self) -> Result<StatementKind> {
        let start = self.at;
        let target = self.target()?;
        let (subscripts, mut steps) = (self.subscripts()?, Vec::new());
        loop {
            if self.take(".") {
                steps.push(Step::Field(self.name()?));
            } else if self.is("[") {
                steps.push(Step::Part(self.subscripts()?));
            } else {
                break;
            }
        }
        if self.is_pair(self.at, ":=") {
            self.at += 1;
        }
        self.expect("=")?;
        let mut value = self.expression(&[";"])?;
        let end = self.at;
        self.at = start;
        value.assignment = Some(self.text_up_to(end)?.into());
        self.expect(";")?;
        Ok(StatementKind::Assign(Assignment { target, subscripts, steps, value }))
    }

    /// The subscripts that are next, one for each dimension.
    fn subscripts(&mut self) -> Result<Vec<Subscript>> {
        let mut subscripts = Vec::new();
        while self.take("[") {
            let first = if self.is(":") { None } else { Some(self.expression(&["]", ":"])?) };
            subscripts.push(if self.take(":") {
                let last = if self.is("]") { None } else { Some(self.expression(&["]"])?) };
                Subscript::Slice(first, last)
            } else {
                Subscript::Index(first.ok_or_else(|| self.unexpected())?)
            });
            self.expect("]")?;
        }
        Ok(subscripts)
    }

    fn if_statement(&mut self) -> Result<StatementKind> {
        self.at += 1;
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            let condition = self.expression(&["then"])?;
            self.expect("then")?;
            branches.push((condition, self.statements()?));
            if self.take("elsif") || self.take("elseif") {
                continue;
            }
            if self.take("else") {
                otherwise = self.statements()?;
            }
            break;
        }
        for word in ["end", "if", ";"] {
            self.expect(word)?;
        }
        Ok(StatementKind::If { branches, otherwise })
    }

    fn case_statement(&mut self) -> Result<StatementKind> {
        let line = self.line();
        self.at += 1;
        let mut operand = None;
        if !self.is("when") {
            let expression = self.expression(&["when"])?;
            // Its name can't be written, so nothing else finds it.
            let name = format!("__case__variable_{}__", self.variables.len());
            let mut variable = Variable::new(&name, VariableKind::Scalar(SqlType::INT4), line);
            variable.takes_type = true;
            let place = self.add(variable);
            self.alias(&name, place);
            operand = Some((expression, place, name));
        }
        let mut branches = Vec::new();
        while self.take("when") {
            let condition = self.expression(&["then"])?;
            self.expect("then")?;
            let condition = match &operand {
                None => condition,
                Some((_, _, name)) => {
                    Expression::new(&format!("\"{name}\" IN ({})", condition.text), false, self.scope)
                }
            };
            branches.push((condition, self.statements()?));
        }
        let otherwise = if self.take("else") { Some(self.statements()?) } else { None };
        for word in ["end", "case", ";"] {
            self.expect(word)?;
        }
        let operand = operand.map(|(expression, place, _)| (expression, place));
        Ok(StatementKind::Case { operand, branches, otherwise })
    }

    fn loop_body(&mut self) -> Result<Vec<Statement>> {
        self.expect("loop")?;
        let body = self.statements()?;
        self.expect("end")?;
        self.expect("loop")?;
        if !self.is(";") {
            self.name()?;
        }
        self.expect(";")?;
        self.leave();
        Ok(body)
    }

    pub(super) fn loop_statement(&mut self, label: Option<String>) -> Result<StatementKind> {
        if self.is("loop") {
            self.enter(label.clone(), true);
            return Ok(StatementKind::Loop { label, body: self.loop_body()? });
        }
        if self.take("while") {
            self.enter(label.clone(), true);
            let condition = self.expression(&["loop"])?;
            return Ok(StatementKind::While { label, condition, body: self.loop_body()? });
        }
        if self.take("foreach") {
            let variable = self.targets_of_loop()?;
            let mut slice = 0;
            if self.take("slice") {
                let end = self.find(&["in"]).ok_or_else(|| self.unexpected())?;
                slice = self.text_up_to(end)?.parse().map_err(|_| self.unexpected())?;
            }
            self.expect("in")?;
            self.expect("array")?;
            self.enter(label.clone(), true);
            let array = self.expression(&["loop"])?;
            let body = self.loop_body()?;
            return Ok(StatementKind::ForEach(ArrayLoop { label, variable, slice, array, body }));
        }
        self.at += 1;
        self.for_statement(label)
    }

    /// A loop's variable, one alone being itself.
    fn targets_of_loop(&mut self) -> Result<usize> {
        let target = self.targets()?;
        match &self.variables[target].kind {
            VariableKind::Row(places) if places.len() == 1 => Ok(places[0]),
            _ => Ok(target),
        }
    }

    fn for_statement(&mut self, label: Option<String>) -> Result<StatementKind> {
        let line = self.line();
        let variable_at = self.at;
        self.at = self.find(&["in"]).ok_or_else(|| self.unexpected())? + 1;
        let source_at = self.at;
        let loop_at = self.find(&["loop"]).ok_or_else(|| self.unexpected())?;
        if self.take("execute") {
            self.at = variable_at;
            let target = self.targets()?;
            self.at = source_at + 1;
            self.enter(label.clone(), true);
            let source = self.dynamic(&["loop"])?;
            return Ok(StatementKind::ForQuery { label, target, source, body: self.loop_body()? });
        }
        if let Some((cursor, words)) = self.cursor_of_loop() {
            if self.variables[cursor].cursor.is_none() {
                return Err(Error::new(sqlstate::SYNTAX_ERROR, "cursor FOR loop must use a bound cursor variable"));
            }
            self.at += words;
            let arguments = if self.take("(") { self.arguments()? } else { Vec::new() };
            self.enter(label.clone(), true);
            let name = folded(self.word(variable_at));
            let variable = self.add(Variable::new(&name, VariableKind::Record(None), line));
            self.alias(&name, variable);
            return Ok(StatementKind::ForCursor { label, variable, cursor, arguments, body: self.loop_body()? });
        }
        let reverse = self.take("reverse");
        let mut depth = 0usize;
        let mut range_at = None;
        for index in self.at..loop_at {
            match self.word(index) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                _ if depth == 0 && self.is_pair(index, "..") => {
                    range_at = Some(index);
                    break;
                }
                _ => {}
            }
        }
        let Some(range_at) = range_at else {
            self.at = variable_at;
            let target = self.targets()?;
            self.at = source_at;
            self.enter(label.clone(), true);
            let source = RowSource::Query(self.query(&["loop"])?);
            return Ok(StatementKind::ForQuery { label, target, source, body: self.loop_body()? });
        };
        let lower = self.text_up_to(range_at)?;
        let lower = Expression::new(lower, false, self.scope);
        self.at += 2;
        let upper = self.expression(&["loop", "by"])?;
        let step = if self.take("by") { Some(self.expression(&["loop"])?) } else { None };
        self.enter(label.clone(), true);
        let name = folded(self.word(variable_at));
        let variable = self.add(Variable::new(&name, VariableKind::Scalar(SqlType::INT4), line));
        self.alias(&name, variable);
        let body = self.loop_body()?;
        Ok(StatementKind::ForInteger(IntegerLoop { label, variable, lower, upper, step, reverse, body }))
    }

    /// The cursor variable that a FOR loop is about, and how many words name it; a block's label may stand in front.
    fn cursor_of_loop(&self) -> Option<(usize, usize)> {
        let name = |ahead: usize| folded(self.word(self.at + ahead));
        let (found, words) = if self.is_at(1, ".") {
            (find_labelled(&self.scopes, self.scope, &name(0), &name(2)), 3)
        } else {
            (find_variable(&self.scopes, self.scope, &name(0)), 1)
        };
        let is_cursor = |place: &usize| matches!(&self.variables[*place].kind, VariableKind::Scalar(sql_type) if sql_type.oid == oids::REFCURSOR);
        let found = found.filter(is_cursor)?;
        (self.is_at(words, "loop") || self.is_at(words, "(")).then_some((found, words))
    }

    /// A cursor's arguments and the `)` behind them, each with the parameter it names.
    fn arguments(&mut self) -> Result<Vec<(Option<String>, Expression)>> {
        let mut found = Vec::new();
        loop {
            let mut named = None;
            if is_name(self.word(self.at)) && (self.is_pair(self.at + 1, ":=") || self.is_pair(self.at + 1, "=>")) {
                named = Some(self.name()?);
                self.at += 2;
            }
            found.push((named, self.expression(&[",", ")"])?));
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(found)
    }

    /// A text made at run time, with USING.
    fn dynamic(&mut self, stops: &[&str]) -> Result<RowSource> {
        let with_using: Vec<&str> = stops.iter().copied().chain(["using"]).collect();
        let text = self.expression(&with_using)?;
        let parameters = if self.take("using") { self.expressions(stops)? } else { Vec::new() };
        Ok(RowSource::Dynamic { text, parameters })
    }

    fn return_statement(&mut self) -> Result<StatementKind> {
        self.at += 1;
        let value_of = |parser: &mut Self| {
            if parser.is(";") { Ok(None) } else { parser.expression(&[";"]).map(Some) }
        };
        if self.take("next") {
            return Ok(StatementKind::ReturnNext { value: value_of(self)? });
        }
        if self.take("query") {
            if self.take("execute") {
                return self.dynamic(&[";"]).map(StatementKind::ReturnQuery);
            }
            return Ok(StatementKind::ReturnQuery(RowSource::Query(self.query(&[";"])?)));
        }
        Ok(StatementKind::Return { value: value_of(self)? })
    }

    /// Where the string constant that is next ends, if there is one; it may go on in another line.
    fn string_end(&self) -> Option<usize> {
        let is_quoted = |index: usize| self.word(index).starts_with('\'');
        let mut end = match self.word(self.at) {
            word if word.starts_with('$') && word.ends_with('$') => return Some(self.at + 1),
            _ if is_quoted(self.at) => self.at + 1,
            "e" | "E" if is_quoted(self.at + 1) => self.at + 2,
            _ => return None,
        };
        while is_quoted(end) && self.is_new_line(end) {
            end += 1;
        }
        Some(end)
    }

    fn raise_statement(&mut self) -> Result<StatementKind> {
        self.at += 1;
        let mut raise =
            Raise { level: 21, condition: None, message: None, parameters: Vec::new(), options: Vec::new() };
        if self.is(";") {
            return Ok(StatementKind::Raise(raise));
        }
        let levels = [("exception", 21), ("warning", 19), ("notice", 18), ("info", 17), ("log", 15), ("debug", 14)];
        if let Some((_, level)) = levels.iter().find(|(word, _)| self.is(word)) {
            raise.level = *level;
            self.at += 1;
        }
        if let Some(end) = self.string_end() {
            let text = self.text_up_to(end)?;
            let parsed = syntax::parser::parse_expression(text)?;
            raise.message = match parsed.kind {
                syntax::tree::ExprKind::Literal(syntax::tree::Literal::String(value)) => Some(value.to_string()),
                _ => return Err(self.unexpected()),
            };
        } else if self.take("sqlstate") {
            raise.condition = Some(unquoted(self.word(self.at)));
            self.at += 1;
        } else if !self.is("using") && !self.is(";") {
            raise.condition = Some(self.name()?);
        }
        if self.take(",") {
            raise.parameters = self.expressions(&[";", "using"])?;
        }
        if self.take("using") {
            let options =
                ["errcode", "message", "detail", "hint", "column", "constraint", "datatype", "table", "schema"];
            loop {
                let option = options.iter().position(|option| self.is(option)).ok_or_else(|| self.unexpected())?;
                self.at += 1;
                if self.is_pair(self.at, ":=") {
                    self.at += 1;
                }
                self.expect("=")?;
                raise.options.push((option as i64, self.expression(&[",", ";"])?));
                if !self.take(",") {
                    break;
                }
            }
        }
        Ok(StatementKind::Raise(raise))
    }

    fn execute_statement(&mut self) -> Result<StatementKind> {
        self.at += 1;
        let stops = ["into", "using", ";"];
        let text = self.expression(&stops)?;
        let (mut into, mut strict, mut parameters) = (None, false, Vec::new());
        loop {
            if self.take("into") {
                strict = self.take("strict");
                into = Some(self.targets()?);
            } else if self.take("using") {
                parameters = self.expressions(&stops)?;
            } else {
                break;
            }
        }
        Ok(StatementKind::Execute { text, parameters, into, strict })
    }

    fn diagnostics_statement(&mut self) -> Result<StatementKind> {
        self.at += 1;
        let stacked = self.take("stacked");
        if !stacked {
            self.take("current");
        }
        self.expect("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let target = self.target()?;
            if self.is_pair(self.at, ":=") {
                self.at += 1;
            }
            self.expect("=")?;
            items.push((self.name()?.to_ascii_uppercase(), target));
            if !self.take(",") {
                break;
            }
        }
        Ok(StatementKind::Diagnostics { stacked, items })
    }

    fn open_statement(&mut self) -> Result<StatementKind> {
        self.at += 1;
        let cursor = self.target()?;
        let mut scroll = None;
        if self.take("no") {
            scroll = Some(false);
            self.expect("scroll")?;
        } else if self.take("scroll") {
            scroll = Some(true);
        }
        if self.take("for") {
            let source = if self.take("execute") {
                self.dynamic(&[";"])?
            } else {
                RowSource::Query(Expression { is_cursor: true, ..self.query(&[";"])? })
            };
            return Ok(StatementKind::Open { cursor, scroll, source: Some(source), arguments: Vec::new() });
        }
        let arguments = if self.take("(") { self.arguments()? } else { Vec::new() };
        Ok(StatementKind::Open { cursor, scroll, source: None, arguments })
    }

    fn fetch_statement(&mut self, is_move: bool) -> Result<StatementKind> {
        self.at += 1;
        let mut fetched = Fetched::Forward(None);
        let single = |word: &str| {
            Some(match word {
                "next" => Fetched::Forward(None),
                "prior" => Fetched::Backward(None),
                "first" => Fetched::First,
                "last" => Fetched::Last,
                _ => return None,
            })
        };
        let word = self.word(self.at).to_ascii_lowercase();
        let has_from = self.find(&["from", "in"]).is_some_and(|place| place < self.find(&[";"]).unwrap_or(place));
        let is_direction = has_from || !(self.is_at(1, "into") || self.is_at(1, ";") || self.is_at(1, "."));
        if is_direction {
            let ends = ["from", "in"];
            if let Some(found) = single(&word) {
                self.at += 1;
                fetched = found;
            } else if word == "absolute" || word == "relative" {
                self.at += 1;
                let count = self.count(has_from)?;
                fetched = if word == "absolute" { Fetched::Absolute(count) } else { Fetched::Relative(count) };
            } else if word == "forward" || word == "backward" {
                self.at += 1;
                let count = if ends.iter().any(|end| self.is(end)) || !has_from && self.is_at(1, ";") {
                    None
                } else if self.take("all") {
                    Some(Expression::new("2147483647", false, self.scope))
                } else {
                    Some(self.count(has_from)?)
                };
                fetched = if word == "forward" { Fetched::Forward(count) } else { Fetched::Backward(count) };
            } else if word == "all" {
                self.at += 1;
                fetched = Fetched::Forward(Some(Expression::new("2147483647", false, self.scope)));
            } else if has_from && !ends.iter().any(|end| self.is(end)) {
                fetched = Fetched::Forward(Some(self.count(true)?));
            }
            if !self.take("from") {
                self.take("in");
            }
        }
        let cursor = self.target()?;
        let into = if is_move {
            None
        } else {
            self.expect("into")?;
            Some(self.targets()?)
        };
        Ok(StatementKind::Fetch { cursor, fetched, into })
    }

    /// A count of rows: up to FROM, or all but the cursor's name.
    fn count(&mut self, has_from: bool) -> Result<Expression> {
        if has_from {
            return self.expression(&["from", "in"]);
        }
        let end = self.find(&["into", ";"]).ok_or_else(|| self.unexpected())? - 1;
        let text = self.text_up_to(end)?;
        Ok(Expression::new(text, false, self.scope))
    }

    /// An SQL statement, INTO taken out of it.
    fn sql_statement(&mut self) -> Result<StatementKind> {
        let start = self.at;
        if !is_name(self.word(start)) && self.word(start) != "(" {
            return Err(self.unexpected());
        }
        // BEGIN ATOMIC bodies have semicolons inside.
        let end = self.find(&[";"]).ok_or_else(|| self.unexpected())?;
        let (mut into, mut strict, mut cut) = (None, false, None);
        for index in start + 1..end {
            if !self.word(index).eq_ignore_ascii_case("into") {
                continue;
            }
            let before = self.word(index - 1);
            if before.eq_ignore_ascii_case("insert") || before.eq_ignore_ascii_case("merge") || before == "." {
                continue;
            }
            if into.is_some() {
                return Err(Error::new(sqlstate::SYNTAX_ERROR, "INTO specified more than once"));
            }
            self.at = index + 1;
            strict = self.take("strict");
            into = Some(self.targets()?);
            cut = Some((index, self.at));
        }
        self.at = start;
        let text = match cut {
            None => self.text_up_to(end)?.to_owned(),
            Some((from, to)) => {
                let before = self.text_up_to(from)?;
                let rest = if to < end {
                    self.at = to;
                    self.text_up_to(end)?
                } else {
                    ""
                };
                self.at = end;
                // The text behind INTO keeps its position.
                let gap = match rest {
                    "" => 0,
                    _ => rest.as_ptr() as usize - (before.as_ptr() as usize + before.len()),
                };
                format!("{before}{}{rest}", " ".repeat(gap))
            }
        };
        Ok(StatementKind::Sql { statement: Expression::new(&text, true, self.scope), into, strict })
    }
}
