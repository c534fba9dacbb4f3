//! The simple protocol: the statements of one query string, one after the other.

use std::sync::Arc;

use base::Result;
use syntax::parser::{self, Checked, INLINE_TEXT_BYTES, Parts};
use syntax::tree::ParsedStatement;

use super::SqlSession;
use crate::state::parse_cache::Parsed;
use executor::client::Client;

/// A query string that runs.
struct QueryString {
    /// How many statements it has.
    count: usize,
    /// How many of them have begun.
    begun: usize,
}

/// A text as it is parsed.
pub(super) enum ParsedText {
    /// All its statements.
    Whole(Parsed),
    /// The parts of a long text of several statements.
    Parts(Parts),
}

impl SqlSession {
    pub(super) fn run_query_string(&mut self, text: &str, client: &mut dyn Client) -> Result<()> {
        self.begin_work(text);
        self.timer = self.statement_timer();
        let mut string = QueryString { count: 0, begun: 0 };
        let result = self.run_string(text, &mut string, client);
        if result.is_ok() {
            self.log_end_of_string(text);
        }
        // While the time limit holds: its end forgets that the time has run out.
        let result = result.map_err(|error| self.state.interrupt().reported_instead_of(error));
        self.timer = None;
        result
    }

    fn run_string(&mut self, text: &str, string: &mut QueryString, client: &mut dyn Client) -> Result<()> {
        self.unnamed_statement = None;
        if self.run_known(text, client)? {
            return Ok(());
        }
        self.state.warnings.forget();
        let (text, statements) = match self.parse_text(text)? {
            ParsedText::Whole(parsed) => parsed,
            ParsedText::Parts(parts) => return self.run_parts(text, &parts, string, client),
        };
        self.log_query_string(&text, &statements);
        if statements.is_empty() {
            // The end of a query string is the end of what a pipeline has begun before it.
            self.end_pipeline(client)?;
            client.empty_query();
        }
        string.count = statements.len();
        self.is_one_of_several = string.count > 1;
        self.on_enough_stack(statements, |session, statements| {
            session.run_statements(&text, &statements, string, client)
        })
    }

    /// Parses a text, for its errors at least.
    ///
    /// # Errors
    /// Of the parser, and 57014 and its kin when the session is interrupted meanwhile.
    pub(super) fn parse_text(&self, text: &str) -> Result<ParsedText> {
        let options = self.state.parse_options();
        if text.len() <= INLINE_TEXT_BYTES {
            return self.state.trees.borrow_mut().parse(text, options).map(ParsedText::Whole);
        }
        Ok(match parser::check(text, options)? {
            Checked::Whole(statements) => {
                ParsedText::Whole((Arc::from(text), statements.into_iter().map(Arc::new).collect()))
            }
            Checked::Parts(parts) => ParsedText::Parts(parts),
        })
    }

    /// Runs a long text part by part; the trees of one part are there at a time.
    fn run_parts(
        &mut self,
        text: &str,
        parts: &Parts,
        string: &mut QueryString,
        client: &mut dyn Client,
    ) -> Result<()> {
        self.log_parts(text, parts)?;
        string.count = parts.statement_count;
        self.is_one_of_several = true;
        let mut run_all = |session: &mut SqlSession| {
            for part in parts.iter() {
                let (text, statements) = parts.parse(part, text)?;
                let text = Arc::from(text);
                session.state.characters_before.set(part.characters_before);
                let statements = statements.into_iter().map(Arc::new).collect();
                let result = session.on_enough_stack(statements, |session, statements| {
                    session.run_statements(&text, &statements, string, client)
                });
                result.map_err(|error| error.moved(part.characters_before))?;
            }
            session.state.characters_before.set(0);
            Ok(())
        };
        // A part may leave something behind that is nested deep, and it may end in another part.
        if parts.depth <= parser::DEPTH_OF_COROUTINES {
            return run_all(self);
        }
        self.state.nests_deep.set(true);
        sync::on_further_stack(|| run_all(self)).map_err(|_| parser::no_stack())?
    }

    /// Runs the statements of a query string, or of a part of one.
    fn run_statements(
        &mut self,
        text: &Arc<str>,
        statements: &[Arc<ParsedStatement>],
        string: &mut QueryString,
        client: &mut dyn Client,
    ) -> Result<()> {
        for statement in statements {
            if string.begun > 0 {
                // Each statement has the whole time.
                self.timer = None;
                self.timer = self.statement_timer();
                self.relieve(client)?;
                sync::yield_point()?;
            }
            self.state.note_activity(crate::commands::facts(&statement.statement).tag);
            self.check_not_failed(Some(&statement.statement))?;
            string.begun += 1;
            let is_last = string.begun == string.count;
            self.run_statement(text, statement, string.count > 1, is_last, client)?;
        }
        Ok(())
    }
}
