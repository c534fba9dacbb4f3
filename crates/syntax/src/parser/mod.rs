//! From text to statements: PostgreSQL's own grammar, converted once into our [`tree`](crate::tree).
//!
//! # Nesting and the stack
//! The grammar itself keeps its stack on the heap, but serializing, reading and converting its tree recurse as deep
//! as the statement is nested, with frames of many kilobytes, and sessions run on coroutine stacks of two megabytes or
//! so. A text of up to [`INLINE_TEXT_BYTES`] is parsed on a large stack that each thread has for this. A longer one is
//! parsed by one of a few threads for this, for which the caller waits while other sessions go on; they are kept, since the
//! grammar's library keeps memory for every thread that ever used it. A tree nested deeper than [`DEPTH_MAX`] is refused
//! with 54001; what walks it later looks at the stack it has left. Texts that are stored (views, functions, checks) may be
//! nested as deep as any session can bear on its own stack, [`STORED_DEPTH_MAX`]; a session whose statements are nested
//! deeper than [`DEPTH_OF_COROUTINES`] runs on a further stack (`sync::on_further_stack`).

mod convert;
mod errors;
mod junk;
mod later_words;
mod normalize;
mod parts;
mod shim;
mod split;
mod thread;
mod tokens;

pub use errors::{if_readable, is_interruption, no_stack, too_deep};
pub use junk::first_junk;
pub use normalize::{Constant, normalize};
pub use parts::{Checked, Parts, check};
pub use tokens::{is_name, tokens};

use base::{Error, Result, sqlstate};
use pg_query::protobuf;
use prost::Message;

use crate::tree::{Expr, ParsedStatement, Query, Statement, TypeName};

/// How deep a statement of a client may be nested.
pub const DEPTH_MAX: u32 = 10_000;

/// How deep a text may be nested that is stored, and read again by others.
pub const STORED_DEPTH_MAX: u32 = 1000;

/// Statements nested deeper don't run on a coroutine's own stack.
pub const DEPTH_OF_COROUTINES: u32 = 100;

/// The longest text that is parsed by the caller's thread.
pub const INLINE_TEXT_BYTES: usize = 64 << 10;

/// The grammar's tree takes hundreds of times as much memory as the text. After a longer one that is given back to the system.
const KEPT_TEXT_BYTES: usize = INLINE_TEXT_BYTES;

/// Binder and planner stop with 54001 when less stack than this is left.
pub const STACK_RESERVE_BYTES: usize = 96 << 10;

/// The hint of 54001, with the default of the setting it names.
const STACK_DEPTH_HINT: &str = "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), \
                                after ensuring the platform's stack depth limit is adequate.";

/// The session's settings that change parsing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseOptions {
    /// `standard_conforming_strings`
    pub standard_conforming_strings: bool,
}

impl Default for ParseOptions {
    fn default() -> Self {
        ParseOptions { standard_conforming_strings: true }
    }
}

/// Parses a text of any number of statements, separated by semicolons.
///
/// Errors: 42601 with PostgreSQL's message and position, and the other errors of its grammar; 54001 if a statement is
/// nested deeper than [`STORED_DEPTH_MAX`].
pub fn parse(text: &str, options: ParseOptions) -> Result<Vec<ParsedStatement>> {
    run(text, shim::Mode::Statements, options, |result, text| convert::statements(result, text, STORED_DEPTH_MAX))
}

/// Parses what a client sent: [`parse`] for statements nested up to [`DEPTH_MAX`], which end on a further stack.
pub fn parse_of_client(text: &str, options: ParseOptions) -> Result<Vec<ParsedStatement>> {
    run(text, shim::Mode::Statements, options, statements_of_client)
}

fn statements_of_client(result: &protobuf::ParseResult, text: &str) -> Result<Vec<ParsedStatement>> {
    convert::statements(result, text, DEPTH_MAX)
}

/// Parses one statement as it stands in a PL/pgSQL function where an expression is expected: a select list and what
/// may follow it.
pub fn parse_plpgsql_expression(text: &str, options: ParseOptions) -> Result<Vec<ParsedStatement>> {
    let read = |result: &_, text: &_| convert::statements(result, text, STORED_DEPTH_MAX);
    run(text, shim::Mode::PlpgsqlExpression, options, read)
}

/// Has the grammar of PL/pgSQL look at a whole CREATE FUNCTION statement, for its errors.
pub fn check_plpgsql(text: &str) -> Result<()> {
    on_large_stack(text, |text| match shim::check_plpgsql(text) {
        Err(error) if is_syntax_error(&error) && later_words::has_words(text) => {
            later_words::check_with_names(text, shim::check_plpgsql)
        }
        checked => checked,
    })
}

/// Parses a type's name with its modifiers.
pub fn parse_type_name(text: &str) -> Result<TypeName> {
    run(text, shim::Mode::TypeName, ParseOptions::default(), |result, _| convert::type_name_only(result))
}

/// Parses one scalar expression that is stored: a default, a check, an index expression. An argument `CAST(DEFAULT AS type)` of a call
/// in it is the function's default.
pub fn parse_expression(text: &str) -> Result<Expr> {
    // The grammar has no mode for an expression alone that refuses a whole query, hence the checks.
    let read = |result: &_, text: &_| convert::stored_statements(result, text);
    let statements = run(text, shim::Mode::PlpgsqlExpression, ParseOptions::default(), read)?;
    convert::sole_expression(statements)
        .ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, format!("invalid expression: \"{text}\"")))
}

/// Parses the stored query of a view, in which default arguments have the same form.
pub fn parse_stored_query(text: &str) -> Result<Box<Query>> {
    let read = |result: &_, text: &_| convert::stored_statements(result, text);
    let mut statements = run(text, shim::Mode::Statements, ParseOptions::default(), read)?;
    match statements.pop().map(|parsed| parsed.statement) {
        Some(Statement::Select(query)) => Ok(query),
        _ => Err(Error::internal("a view's text is no query")),
    }
}

fn run<R: Send + 'static>(
    text: &str,
    mode: shim::Mode,
    options: ParseOptions,
    read: fn(&protobuf::ParseResult, &str) -> Result<R>,
) -> Result<R> {
    on_large_stack(text, move |text| run_here(text, mode, options, read))
}

/// Parses on this thread's large stack or, if `text` is long, on that of a parser's thread.
fn on_large_stack<R: Send + 'static>(text: &str, parse: impl FnOnce(&str) -> Result<R> + Send + 'static) -> Result<R> {
    if text.len() <= INLINE_TEXT_BYTES {
        return sync::on_large_stack(|| parse(text)).map_err(|_| no_stack())?;
    }
    apart(text, parse)
}

/// Parses on the large stack of a parser's thread.
fn apart<R: Send + 'static>(text: &str, parse: impl FnOnce(&str) -> Result<R> + Send + 'static) -> Result<R> {
    let text = text.to_owned();
    thread::run(text.len(), move || {
        let parsed = sync::on_large_stack(|| parse(&text));
        if text.len() > KEPT_TEXT_BYTES {
            shim::give_memory_back();
        }
        parsed.map_err(|_| no_stack())?
    })
}

fn run_here<R>(
    text: &str,
    mode: shim::Mode,
    options: ParseOptions,
    read: fn(&protobuf::ParseResult, &str) -> Result<R>,
) -> Result<R> {
    let junk = first_junk(text, options.standard_conforming_strings);
    let is_plain = options.standard_conforming_strings || !text.contains('\\');
    let parse = |text: &str| shim::parse(text, mode, options.standard_conforming_strings, |bytes| Ok(bytes.to_vec()));
    let read_as_names = || {
        let tree = later_words::read_as_names(text, parse)?;
        read(&decode(&tree)?, text)
    };
    let parsed = if is_plain && later_words::may_have_hidden_syntax(text) {
        read_as_names()
    } else {
        match shim::parse(text, mode, options.standard_conforming_strings, |bytes| read(&decode(bytes)?, text)) {
            Err(error) if is_syntax_error(&error) && is_plain && later_words::has_words(text) => read_as_names(),
            parsed => parsed,
        }
    };
    let Some(junk) = junk else { return parsed };
    // Of two errors, the one at the earlier place of the text is reported.
    match parsed {
        Err(error) if error.fields().position < junk.fields().position => Err(error),
        _ => Err(junk),
    }
}

fn decode(bytes: &[u8]) -> Result<protobuf::ParseResult> {
    protobuf::ParseResult::decode(bytes)
        .map_err(|error| Error::internal(format!("the parser's answer can't be read: {error}")))
}

fn is_syntax_error(error: &Error) -> bool {
    error.sqlstate() == sqlstate::SYNTAX_ERROR
}

/// The position that errors report, in characters from 1, for a byte offset in `text`.
pub fn character_position(text: &str, location: i32) -> Option<u32> {
    let offset = usize::try_from(location).ok()?;
    let before = text.as_bytes().get(..offset)?;
    // A byte that continues a character has the bits 10 on top.
    let characters = before.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
    u32::try_from(characters + 1).ok()
}
