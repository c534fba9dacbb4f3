//! A PL/pgSQL body, read into a [`Function`]'s variables, scopes and statements.
//!
//! PostgreSQL's own parser has approved of the text before; what it gives leaves out which block declares what, so the body is
//! read here once more. SQL within it is kept as text.

use std::cell::Cell;
use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::CatalogView;
use syntax::parser::{STACK_RESERVE_BYTES, is_name, tokens, too_deep};
use types::{SqlType, oids};

use super::tree::{Block, CursorQuery, Expression, Handler, Scope, Statement, StatementKind, Variable, VariableKind};
use super::types_of::Declared;
use planner::binder::VariableConflict;

/// The parser's state: the body that is read, and the variables and scopes found so far.
pub struct Parser<'a> {
    pub(super) body: &'a str,
    tokens: Vec<(usize, usize)>,
    /// A place in the body, and its line.
    counted: Cell<(usize, u32)>,
    pub(super) at: usize,
    pub(super) catalog: &'a CatalogView,
    /// All variables, those of outer blocks and parameters first.
    pub variables: Vec<Variable>,
    /// All scopes.
    pub scopes: Vec<Scope>,
    pub(super) scope: usize,
    /// `#variable_conflict`, if it is written.
    pub conflict: Option<VariableConflict>,
    /// Warnings about the declarations.
    pub warnings: Vec<base::Error>,
}

impl<'a> Parser<'a> {
    /// A parser of `body` whose outermost scope goes by the function's name.
    pub fn new(body: &'a str, name: &str, catalog: &'a CatalogView) -> Parser<'a> {
        let outermost = Scope { parent: None, label: Some(name.to_owned()), is_loop: false, names: Vec::new() };
        Parser {
            body,
            tokens: tokens(body),
            counted: Cell::new((0, 1)),
            at: 0,
            catalog,
            variables: Vec::new(),
            scopes: vec![outermost],
            scope: 0,
            conflict: None,
            warnings: Vec::new(),
        }
    }

    /// Adds a variable that is found by its name from here on.
    pub fn declare(&mut self, name: &str, kind: VariableKind) -> usize {
        let line = self.line();
        let place = self.add(Variable::new(name, kind, line));
        self.scopes[self.scope].names.push((name.to_owned(), place));
        place
    }

    /// Gives a variable another name.
    pub fn alias(&mut self, name: &str, place: usize) {
        self.scopes[self.scope].names.push((name.to_owned(), place));
    }

    pub(super) fn add(&mut self, variable: Variable) -> usize {
        self.variables.push(variable);
        self.variables.len() - 1
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// 42601 and its kin.
    pub fn function_body(&mut self) -> Result<Block> {
        while self.is("#") {
            if self.is_at(1, "variable_conflict") {
                self.conflict = Some(match self.word(self.at + 2).to_ascii_lowercase().as_str() {
                    "use_column" => VariableConflict::UseColumn,
                    "use_variable" => VariableConflict::UseVariable,
                    _ => VariableConflict::Error,
                });
            }
            self.at += 3;
        }
        let label = self.label()?;
        self.block(label).map(|(block, _)| block)
    }

    // Tokens.

    pub(super) fn word(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |(start, end)| &self.body[*start..*end])
    }

    /// Whether the token `ahead` of this one is this word.
    pub(super) fn is_at(&self, ahead: usize, word: &str) -> bool {
        self.word(self.at + ahead).eq_ignore_ascii_case(word)
    }

    pub(super) fn is(&self, word: &str) -> bool {
        self.is_at(0, word)
    }

    pub(super) fn is_over(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Passes this word, if it is next.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let found = self.is(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn unexpected(&self) -> Error {
        let message = match self.word(self.at) {
            "" => "syntax error at end of input".to_owned(),
            word => format!("syntax error at or near \"{word}\""),
        };
        Error::new(sqlstate::SYNTAX_ERROR, message)
    }

    /// The next token's line, from 1.
    pub(super) fn line(&self) -> u32 {
        let start = self.tokens.get(self.at).map_or(self.body.len(), |(start, _)| *start);
        // Lines are counted on from where they were counted to: bodies may be long, and each statement asks.
        let (from, before) = self.counted.get();
        let (from, before) = if start >= from { (from, before) } else { (0, 1) };
        let line = before + self.body[from..start].matches('\n').count() as u32;
        self.counted.set((start, line));
        line
    }

    /// Passes a name.
    pub(super) fn name(&mut self) -> Result<String> {
        let word = self.word(self.at);
        if !is_name(word) {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(folded(word))
    }

    /// Whether two tokens touch: `..`, `<<` and `:=` come as two.
    pub(super) fn is_pair(&self, index: usize, pair: &str) -> bool {
        let (Some(first), Some(second)) = (self.tokens.get(index), self.tokens.get(index + 1)) else { return false };
        first.1 == second.0 && &self.body[first.0..second.1] == pair
    }

    /// Whether a token begins in another line than the one before it ends in.
    pub(super) fn is_new_line(&self, index: usize) -> bool {
        let (Some(before), Some(own)) = (self.tokens.get(index - 1), self.tokens.get(index)) else { return false };
        self.body[before.1..own.0].contains('\n')
    }

    /// Where the first of `stops` stands outside of parentheses, from here on.
    pub(super) fn find(&self, stops: &[&str]) -> Option<usize> {
        let mut depth = 0usize;
        for index in self.at..self.tokens.len() {
            let word = self.word(index);
            if depth == 0 && stops.iter().any(|stop| word.eq_ignore_ascii_case(stop)) {
                return Some(index);
            }
            match word {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        None
    }

    /// The text from here to before token `end`, which is passed to.
    pub(super) fn text_up_to(&mut self, end: usize) -> Result<&'a str> {
        if end <= self.at {
            return Err(self.unexpected());
        }
        let text = &self.body[self.tokens[self.at].0..self.tokens[end - 1].1];
        self.at = end;
        Ok(text)
    }

    /// An expression that ends before one of `stops`.
    pub(super) fn expression(&mut self, stops: &[&str]) -> Result<Expression> {
        let end = self.find(stops).ok_or_else(|| self.unexpected())?;
        let text = self.text_up_to(end)?;
        Ok(Expression::new(text, false, self.scope))
    }

    /// A query that ends before one of `stops`.
    pub(super) fn query(&mut self, stops: &[&str]) -> Result<Expression> {
        let end = self.find(stops).ok_or_else(|| self.unexpected())?;
        let text = self.text_up_to(end)?;
        Ok(Expression::new(text, true, self.scope))
    }

    /// Expressions between commas, up to one of `stops`.
    pub(super) fn expressions(&mut self, stops: &[&str]) -> Result<Vec<Expression>> {
        let with_comma: Vec<&str> = stops.iter().copied().chain([","]).collect();
        let mut found = vec![self.expression(&with_comma)?];
        while self.take(",") {
            found.push(self.expression(&with_comma)?);
        }
        Ok(found)
    }

    /// `<<label>>`
    pub(super) fn label(&mut self) -> Result<Option<String>> {
        if !self.is_pair(self.at, "<<") {
            return Ok(None);
        }
        self.at += 2;
        let name = self.name()?;
        self.expect(">")?;
        self.expect(">")?;
        Ok(Some(name))
    }

    pub(super) fn enter(&mut self, label: Option<String>, is_loop: bool) {
        self.scopes.push(Scope { parent: Some(self.scope), label, is_loop, names: Vec::new() });
        self.scope = self.scopes.len() - 1;
    }

    pub(super) fn leave(&mut self) {
        self.scope = self.scopes[self.scope].parent.unwrap_or(0);
    }

    // Blocks.

    /// DECLARE ... BEGIN ... END, without the `;` behind it, and the line of BEGIN.
    pub(super) fn block(&mut self, label: Option<String>) -> Result<(Block, u32)> {
        self.enter(label.clone(), false);
        let mut variables = Vec::new();
        while self.take("declare") {
            while !self.is("begin") && !self.is("declare") && !self.is_over() {
                variables.extend(self.declaration()?);
            }
        }
        let line = self.line();
        self.expect("begin")?;
        let body = self.statements()?;
        let (mut handlers, mut state_places) = (Vec::new(), None);
        if self.take("exception") {
            self.enter(None, false);
            let text = || VariableKind::Scalar(SqlType::TEXT);
            state_places = Some((self.declare("sqlstate", text()), self.declare("sqlerrm", text())));
            while self.take("when") {
                let mut conditions = Vec::new();
                loop {
                    if self.take("sqlstate") {
                        conditions.push(unquoted(self.word(self.at)));
                        self.at += 1;
                    } else {
                        conditions.push(self.name()?);
                    }
                    if !self.take("or") {
                        break;
                    }
                }
                self.expect("then")?;
                handlers.push(Handler { conditions, body: self.statements()? });
            }
            self.leave();
        }
        self.expect("end")?;
        if !self.is(";") && !self.is_over() {
            self.name()?;
        }
        self.leave();
        Ok((Block { label, variables, body, handlers, state_places }, line))
    }

    /// One declaration; the variable it makes.
    fn declaration(&mut self) -> Result<Option<usize>> {
        let line = self.line();
        let name = self.name()?;
        if self.is("alias") && self.is_at(1, "for") {
            self.at += 2;
            let aliased = self.name()?;
            let place = super::tree::find_variable(&self.scopes, self.scope, &aliased);
            self.expect(";")?;
            let place = place.ok_or_else(|| self.unexpected())?;
            self.alias(&name, place);
            return Ok(None);
        }
        let is_constant = self.take("constant");
        let scroll_words = if self.is("no") { 2 } else { usize::from(self.is("scroll")) };
        if self.is_at(scroll_words, "cursor") {
            return self.cursor(&name, scroll_words).map(Some);
        }
        let end = self.find(&["collate", "not", "default", ":", "=", ";"]).ok_or_else(|| self.unexpected())?;
        let written = self.text_up_to(end)?;
        let kind = self.declared_type(written)?;
        if self.take("collate") {
            self.name()?;
            while self.take(".") {
                self.name()?;
            }
        }
        let not_null = self.take("not");
        if not_null {
            self.expect("null")?;
        }
        let has_default = self.take("default") || {
            let is_assigned = self.is_pair(self.at, ":=");
            self.at += usize::from(is_assigned);
            self.take("=")
        };
        let known = Some((self.scope, self.scopes[self.scope].names.len()));
        let default = if has_default { Some(Expression { known, ..self.expression(&[";"])? }) } else { None };
        self.expect(";")?;
        let mut variable = Variable::new(&name, kind, line);
        (variable.default, variable.not_null, variable.is_constant) = (default, not_null, is_constant);
        let place = self.add(variable);
        self.alias(&name, place);
        Ok(Some(place))
    }

    /// `[NO] SCROLL CURSOR (a int) FOR query;`
    fn cursor(&mut self, name: &str, scroll_words: usize) -> Result<usize> {
        let line = self.line();
        let scroll = match scroll_words {
            0 => None,
            1 => Some(true),
            _ => Some(false),
        };
        self.at += scroll_words + 1;
        let known = Some((self.scope, self.scopes[self.scope].names.len()));
        // The cursor's name may stand before those of its arguments.
        self.enter(Some(name.to_owned()), false);
        let (mut parameters, mut types) = (Vec::new(), Vec::new());
        if self.take("(") {
            loop {
                let parameter = self.name()?;
                let end = self.find(&[",", ")"]).ok_or_else(|| self.unexpected())?;
                let written = self.text_up_to(end)?;
                let kind = self.declared_type(written)?;
                types.push(parameter.clone());
                parameters.push(self.declare(&parameter, kind));
                if !self.take(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        if !self.take("for") {
            self.expect("is")?;
        }
        let query = Expression { is_cursor: true, known, ..self.query(&[";"])? };
        self.leave();
        self.expect(";")?;
        let mut variable = Variable::new(name, VariableKind::Scalar(SqlType::new(oids::REFCURSOR)), line);
        variable.cursor = Some(Arc::new(CursorQuery { parameters, names: types, query, scroll }));
        let place = self.add(variable);
        self.alias(name, place);
        Ok(place)
    }

    /// Statements up to a word that ends a list of them.
    pub(super) fn statements(&mut self) -> Result<Vec<Statement>> {
        let mut found = Vec::new();
        loop {
            if self.is_over() {
                return Err(self.unexpected());
            }
            let ends = ["end", "exception", "else", "elsif", "elseif", "when"];
            if ends.iter().any(|word| self.is(word)) {
                return Ok(found);
            }
            found.extend(self.statement()?);
        }
    }

    /// One statement with its `;`; none for NULL. Its line is that of its first word behind a label, and a block's that of BEGIN.
    fn statement(&mut self) -> Result<Option<Statement>> {
        if sync::remaining_stack_bytes() < STACK_RESERVE_BYTES {
            return Err(too_deep());
        }
        let label = self.label()?;
        let first = self.word(self.at).to_ascii_lowercase();
        let mut line = self.line();
        let kind = match first.as_str() {
            "declare" | "begin" => {
                let block;
                (block, line) = self.block(label)?;
                self.expect(";")?;
                StatementKind::Block(block)
            }
            "loop" | "while" | "for" | "foreach" => self.loop_statement(label)?,
            "null" if self.is_at(1, ";") => {
                self.at += 2;
                return Ok(None);
            }
            _ => self.plain_statement(&first)?,
        };
        Ok(Some(Statement { line, kind }))
    }
}

/// A name as the catalog has it: small letters, unless quoted.
pub fn folded(name: &str) -> String {
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => name.to_ascii_lowercase(),
    }
}

/// A string literal's value.
pub fn unquoted(text: &str) -> String {
    match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(inner) => inner.replace("''", "'"),
        None => match text.find('$').and_then(|_| text[1..].find('$')) {
            Some(tag) => text[tag + 2..text.len() - tag - 2].to_owned(),
            None => text.to_owned(),
        },
    }
}
