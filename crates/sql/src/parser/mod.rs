//! From text to statements: PostgreSQL's own grammar, converted once into our [`tree`](crate::tree).
//!
//! # Nesting and the stack
//! The grammar itself keeps its stack on the heap, but serializing, reading and converting its tree recurse as deep
//! as the statement is nested, and sessions run on coroutine stacks of a megabyte or so. A text of up to
//! [`INLINE_TEXT_BYTES`] can't be nested deeper than such a stack bears, and is parsed where it is. A longer one is
//! parsed by a thread with a large stack, for which the caller waits; the thread is kept, since the grammar's library
//! keeps memory for every thread that ever used it. A tree nested deeper than [`DEPTH_MAX`] is refused with 54001;
//! what walks it later looks at the stack it has left.

mod convert;
mod errors;
mod junk;
mod normalize;
mod shim;
mod thread;

pub(crate) use errors::too_deep;
pub(crate) use junk::first_junk;
pub use normalize::{Constant, normalize};
pub(crate) use shim::parse_plpgsql;

use base::{Error, Result, sqlstate};
use pg_query::protobuf;
use prost::Message;

use crate::tree::{Expr, ParsedStatement, TypeName};

/// How deep a statement may be nested.
pub const DEPTH_MAX: u32 = 1000;

/// The longest text that is parsed on the caller's stack, and how much of that there must be.
const INLINE_TEXT_BYTES: usize = 1024;
const INLINE_STACK_BYTES: usize = 512 << 10;

/// Binder and planner stop with 54001 when less stack than this is left.
pub(crate) const STACK_RESERVE_BYTES: usize = 96 << 10;

/// The hint of 54001, with the default of the setting it names.
const STACK_DEPTH_HINT: &str = "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), \
                                after ensuring the platform's stack depth limit is adequate.";

/// What the session's settings change about parsing.
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
/// nested too deep.
pub fn parse(text: &str, options: ParseOptions) -> Result<Vec<ParsedStatement>> {
    run(text, shim::Mode::Statements, options, convert::statements)
}

/// Parses one statement as it stands in a PL/pgSQL function where an expression is expected: a select list and what
/// may follow it.
pub fn parse_plpgsql_expression(text: &str) -> Result<Vec<ParsedStatement>> {
    run(text, shim::Mode::PlpgsqlExpression, ParseOptions::default(), convert::statements)
}

/// Parses a type's name with its modifiers.
pub fn parse_type_name(text: &str) -> Result<TypeName> {
    run(text, shim::Mode::TypeName, ParseOptions::default(), |result, _| convert::type_name_only(result))
}

/// Parses one scalar expression: a default, a check, an index expression.
pub fn parse_expression(text: &str) -> Result<Expr> {
    // The grammar has no mode for an expression alone that refuses a whole query, hence the checks.
    let statements = parse_plpgsql_expression(text)?;
    convert::sole_expression(statements)
        .ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, format!("invalid expression: \"{text}\"")))
}

/// Parses on this stack or, if `text` is long, on the large one.
fn run<R: Send + 'static>(
    text: &str,
    mode: shim::Mode,
    options: ParseOptions,
    read: fn(&protobuf::ParseResult, &str) -> Result<R>,
) -> Result<R> {
    if text.len() <= INLINE_TEXT_BYTES && sync::remaining_stack_bytes() >= INLINE_STACK_BYTES {
        run_here(text, mode, options, read)
    } else {
        let text = text.to_owned();
        thread::run(move || run_here(&text, mode, options, read))
    }
}

fn run_here<R>(
    text: &str,
    mode: shim::Mode,
    options: ParseOptions,
    read: fn(&protobuf::ParseResult, &str) -> Result<R>,
) -> Result<R> {
    let junk = first_junk(text, options.standard_conforming_strings);
    let parsed = shim::parse(text, mode, options.standard_conforming_strings, |bytes| {
        let result = protobuf::ParseResult::decode(bytes)
            .map_err(|error| Error::internal(format!("the parser's answer can't be read: {error}")))?;
        read(&result, text)
    });
    let Some(junk) = junk else { return parsed };
    // What comes first in the text is what is told.
    match parsed {
        Err(error) if error.fields().position < junk.fields().position => Err(error),
        _ => Err(junk),
    }
}

/// The position that errors report, in characters from 1, for a byte offset in `text`.
pub fn character_position(text: &str, location: i32) -> Option<u32> {
    let offset = usize::try_from(location).ok()?;
    let before = text.as_bytes().get(..offset)?;
    // A byte that continues a character has the bits 10 on top.
    let characters = before.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
    u32::try_from(characters + 1).ok()
}
