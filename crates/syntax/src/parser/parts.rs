//! Long texts, parsed in parts: the trees of all statements of a text at once take hundreds of times its size.
//!
//! PostgreSQL parses a whole text before it runs the first statement, so that a syntax error in the last one keeps all from
//! running. So a long text is first checked: each part is parsed and its tree dropped. When its turn to run comes, a part is parsed again.
//!
//! # Why the parts give what the whole gives
//! A part ends behind a semicolon and has all statements before it. The grammar reads tokens from left to right and needs one token
//! ahead. If the part parses, the grammar has seen the end of its last statement, and would go on with the next token in the same state
//! if the text went on. If it fails at one of its tokens, the whole text fails at the same token. If it fails at its end, or within
//! a string or a comment that has no end, it was cut too early: then the part is made longer and parsed again. So the places where
//! the [`Scanner`] cuts need not be exact, with one exception: it must know line comments.

use base::{Error, Result};

use super::split::Scanner;
use super::{ParseOptions, parse_of_client};
use crate::tree::ParsedStatement;

/// A part has at least so many bytes, if the text has. The trees of statements that are very short take some megabytes then.
const PART_BYTES: usize = 16 << 10;

/// A text that has been checked.
#[derive(Debug)]
pub enum Checked {
    /// It has one part, or not more than one statement: these are its statements.
    Whole(Vec<ParsedStatement>),
    /// Several statements in several parts.
    Parts(Parts),
}

/// The parts of a text without errors.
#[derive(Debug)]
pub struct Parts {
    parts: Vec<Part>,
    options: ParseOptions,
    /// How many statements there are in all.
    pub statement_count: usize,
    /// How deep the deepest of them is nested.
    pub depth: u32,
}

/// A part of a text.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    start: usize,
    end: usize,
    /// Characters of the text that stand before it.
    pub characters_before: u32,
}

impl Parts {
    /// The parts, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter()
    }

    /// The text of a part of `text`, and its statements; places are those in the part.
    ///
    /// # Errors
    /// 57014 and its kin when the session is interrupted meanwhile, and 53200.
    pub fn parse<'t>(&self, part: &Part, text: &'t str) -> Result<(&'t str, Vec<ParsedStatement>)> {
        let text = &text[part.start..part.end];
        let options = self.options;
        let statements = super::apart(text, move |text| parse_here(text, options))?;
        Ok((text, statements))
    }
}

/// Parses the whole of a long text, for its errors, and returns the statements if they are few.
///
/// # Errors
/// Those of [`parse_of_client`], with the position in the whole text; 57014 and its kin.
pub fn check(text: &str, options: ParseOptions) -> Result<Checked> {
    check_parts_of(PART_BYTES, text, options)
}

fn check_parts_of(part_bytes: usize, text: &str, options: ParseOptions) -> Result<Checked> {
    let mut scanner = Scanner::new(text, options.standard_conforming_strings);
    let mut parts = Parts { parts: Vec::new(), options, statement_count: 0, depth: 0 };
    let (mut start, mut characters_before) = (0, 0);
    while start < text.len() {
        let mut wanted_bytes = part_bytes;
        let (end, statements) = loop {
            let end = end_of_part(&mut scanner, text, start + wanted_bytes)?;
            if start == 0 && end == text.len() {
                return parse_of_client(text, options).map(Checked::Whole);
            }
            match summarize(&text[start..end], options) {
                Ok(statements) => break (end, statements),
                // Twice as long: so all attempts together read no more than twice the text.
                Err(error) if end < text.len() && is_incomplete(&error) => wanted_bytes = 2 * (end - start),
                Err(error) => return Err(error.moved(characters_before)),
            }
        };
        parts.parts.push(Part { start, end, characters_before });
        parts.statement_count += statements.count;
        parts.depth = parts.depth.max(statements.depth);
        characters_before += characters(&text[start..end]);
        start = end;
    }
    if parts.statement_count > 1 {
        return Ok(Checked::Parts(parts));
    }
    parse_of_client(text, options).map(Checked::Whole)
}

/// Where a part ends that has at least the text before `least`.
fn end_of_part(scanner: &mut Scanner<'_>, text: &str, least: usize) -> Result<usize> {
    loop {
        let end = scanner.next_end()?;
        if end >= least {
            // Spaces alone are no part.
            let has_more = text[end..].bytes().any(|byte| !byte.is_ascii_whitespace());
            return Ok(if has_more { end } else { text.len() });
        }
        if end == text.len() {
            return Ok(end);
        }
    }
}

/// How many statements a part has, and how deep the deepest is nested.
struct Summary {
    count: usize,
    depth: u32,
}

fn summarize(text: &str, options: ParseOptions) -> Result<Summary> {
    super::apart(text, move |text| {
        let statements = parse_here(text, options)?;
        let depth = statements.iter().map(|statement| statement.depth).max().unwrap_or(0);
        Ok(Summary { count: statements.len(), depth })
    })
}

fn parse_here(text: &str, options: ParseOptions) -> Result<Vec<ParsedStatement>> {
    super::run_here(text, super::shim::Mode::Statements, options, super::statements_of_client)
}

/// Whether the text was too short, rather than wrong.
fn is_incomplete(error: &Error) -> bool {
    error.message().ends_with(" at end of input") || error.message().starts_with("unterminated ")
}

fn characters(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces for random texts. Semicolons stand within them; those between them are added.
    const PIECES: [&str; 40] = [
        "select 1",
        "select 'é;''--', 2 as ä",
        "select E'\\';' || 'x', n'a;b', b'01', x'f'",
        "select 'a;'\n  'b;' -- c';\n '''d;'",
        "select E'a'\n '\\';'",
        "select U&'\\0041;' as \"a;\"\"b\"",
        "select 'a\\''",
        "select '\\'; '",
        "select $$a;b$$, $x$ $$; $y$ ; $x$, $1, a$b$c from t",
        "select 1 /* ; /* ; */ ' */ + 2",
        "select 1 -- it's; \"\n",
        "select 2 --;\r + 3",
        "select 4 +--;\n 5, 6 @/* ; */- 7",
        "insert into t values (1, ';'), (2, 'y')",
        "create function f() returns int begin atomic select 1; select 2; end",
        "create function f() returns int begin atomic select case when true then 1 end; select 2; end",
        "create function f() returns int begin/**/atomic select 1 as end; select 2 end; end",
        "create or replace procedure p() BEGIN -- ;\n ATOMIC; ; insert into t values (1); END",
        "create function f() returns int begin atomic end",
        "create function f() returns int language sql return (select 1)",
        "create rule r as on insert to t do also (select 1; select 2)",
        "do $do$ begin perform 1; end; $do$",
        "begin",
        "begin transaction isolation level serializable",
        "commit",
        "end",
        "explain select 1",
        "declare c cursor for select 'x;' from t where a > 1.5e3",
        "prepare p as select $1 + 1",
        "update t set a = b.c.d, e = array[1, 2] where f is not null",
        // Errors.
        "select from where",
        "selec 1",
        "select (1",
        "select 1)",
        "select 'a",
        "select \"b; ",
        "select $a$ ;",
        "select /* ;",
        "create function f() returns int begin atomic select 1",
        "select 1_0, 0x1f",
    ];
    const SEPARATORS: [&str; 8] = [";", ";\n", " ; ", ";;", ";--;\n", ";/*;*/ ", " ", "\n"];

    /// Statements with the places of the whole text, and an error's message and position.
    type Outcome = Result<Vec<String>, String>;

    /// A statement's tree; its places are moved by so many bytes.
    fn shown(statement: &ParsedStatement, before: usize) -> String {
        let text = format!("{:?}", statement.statement);
        let mut pieces = text.split("location: ");
        let mut moved = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
            let place = piece[..digits].parse::<usize>().map_or(String::new(), |place| (place + before).to_string());
            moved = format!("{moved}location: {place}{}", &piece[digits..]);
        }
        format!("{}..{} {} {moved}", statement.start + before, statement.end + before, statement.depth)
    }

    fn said(error: &Error) -> String {
        format!("{} {} at {:?}", error.sqlstate().as_str(), error.message(), error.fields().position)
    }

    fn at_once(text: &str, options: ParseOptions) -> Outcome {
        let statements = parse_of_client(text, options).map_err(|error| said(&error))?;
        Ok(statements.iter().map(|statement| shown(statement, 0)).collect())
    }

    fn in_parts(part_bytes: usize, text: &str, options: ParseOptions) -> Outcome {
        match check_parts_of(part_bytes, text, options).map_err(|error| said(&error))? {
            Checked::Whole(statements) => Ok(statements.iter().map(|statement| shown(statement, 0)).collect()),
            Checked::Parts(parts) => {
                let mut all = Vec::new();
                let mut depth = 0;
                for part in parts.iter() {
                    assert_eq!(part.characters_before, characters(&text[..part.start]));
                    let (part_text, statements) = parts.parse(part, text).map_err(|error| said(&error))?;
                    assert_eq!(part_text, &text[part.start..part.end]);
                    depth = statements.iter().fold(depth, |depth, statement| depth.max(statement.depth));
                    all.extend(statements.iter().map(|statement| shown(statement, part.start)));
                }
                assert_eq!((all.len(), depth), (parts.statement_count, parts.depth));
                Ok(all)
            }
        }
    }

    fn agree(part_bytes: usize, text: &str, standard_conforming_strings: bool) {
        // Behind an escape string that goes on in another line, numbers with junk behind them are let pass; in another part they
        // are refused.
        if text.contains('\\') && text.contains("0x1f") {
            return;
        }
        let options = ParseOptions { standard_conforming_strings };
        let (whole, parts) = (at_once(text, options), in_parts(part_bytes, text, options));
        assert_eq!(parts, whole, "in parts of {part_bytes} bytes: {text:?}");
    }

    #[test]
    fn each_piece_is_the_same_in_parts() {
        for piece in PIECES {
            for after in ["", ";", "; select 1", ";;\n select 2;", "; select from", "; -- é;'\n selec"] {
                for standard_conforming_strings in [true, false] {
                    agree(1, &format!("select 'ü' ; {piece}{after}"), standard_conforming_strings);
                    agree(1, &format!("{piece}{after}"), standard_conforming_strings);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]
        #[test]
        fn random_texts_are_the_same_in_parts(
            pieces in prop::collection::vec((0..PIECES.len(), 0..SEPARATORS.len(), any::<u8>()), 1..12),
            part_bytes in 1..120usize,
            standard_conforming_strings: bool,
        ) {
            let mut text = String::new();
            for (piece, separator, chance) in pieces {
                // Errors, and statements without a semicolon, in some texts only.
                let piece = if chance % 8 == 0 { PIECES[piece] } else { PIECES[piece % 30] };
                let separator = if chance % 16 < 14 { SEPARATORS[separator % 6] } else { SEPARATORS[separator] };
                text.push_str(piece);
                text.push_str(separator);
            }
            agree(part_bytes, &text, standard_conforming_strings);
        }
    }

    #[test]
    fn a_text_of_many_statements_has_small_parts() {
        let text = "select 1, ';';\n".repeat(10_000);
        let Checked::Parts(parts) = check(&text, ParseOptions::default()).unwrap() else { panic!("one part") };
        assert_eq!(parts.statement_count, 10_000);
        let longest = parts.iter().map(|part| part.end - part.start).max();
        assert!(longest.is_some_and(|bytes| bytes < 2 * PART_BYTES), "{longest:?}");
    }

    #[test]
    fn a_body_that_goes_on_and_on_is_tried_a_few_times_only() {
        let body = "select 1 as end; ".repeat(20_000);
        let text = format!("create function f() returns int begin atomic {body} end; select 1");
        let count = match check(&text, ParseOptions::default()).unwrap() {
            Checked::Whole(statements) => statements.len(),
            Checked::Parts(parts) => parts.statement_count,
        };
        assert_eq!(count, 2);
    }
}
