//! LIKE, SIMILAR TO and regular expressions.

use std::ops::Range;
use std::sync::Arc;

use base::{Error, Result, sqlstate};

use super::text::check_length;
use super::{FunctionDef, mismatch};
use crate::apart::make_of;
use crate::function_def::{ReadyRows, ValueStream};
use crate::oids::*;
use crate::pattern::{like, like_any_case, like_escape, similar_to_regex};
use crate::posix::{Captures, Options, Regex, regex};
use crate::value::Value;

/// The first group's text if there are groups, else the whole match.
fn substring_matching(text: &str, pattern: &str) -> Result<Value> {
    let regex = regex(pattern, Options::default())?;
    Ok(match regex.captures(text)? {
        None => Value::Null,
        Some(captures) => captures.get(usize::from(captures.group_count() > 1)).into(),
    })
}

/// The part of a text that a SIMILAR pattern marks, or all of it.
fn substring_similar(text: &str, pattern: &str, escape: &str) -> Result<Value> {
    let pattern =
        similar_to_regex(pattern, escape).map_err(|error| error.context("SQL function \"substring\" statement 1"))?;
    substring_matching(text, &pattern)
}

/// The groups of a match as an array; the whole match if there are none.
fn groups(captures: &Captures<'_>) -> Value {
    let first = usize::from(captures.group_count() > 1);
    let values = (first..captures.group_count()).map(|index| captures.get(index).into()).collect();
    Value::array(TEXT, values)
}

fn first_match(text: &str, regex: &Regex) -> Result<Value> {
    Ok(regex.captures(text)?.map_or(Value::Null, |captures| groups(&captures)))
}

fn flags_at(a: &[Value], index: usize) -> &str {
    a.get(index).and_then(Value::as_str).unwrap_or("")
}

fn matches(a: &[Value]) -> Result<Box<dyn ValueStream>> {
    let [Value::Text(text), Value::Text(pattern), ..] = a else { return Err(mismatch(&a[0])) };
    let (options, global) = Options::parse(flags_at(a, 2))?;
    let regex = regex(pattern, options)?;
    let found = regex.matches(text, 0, if global { usize::MAX } else { 1 })?;
    let mut rows = Vec::with_capacity(found.len());
    for captures in &found {
        sync::yield_point()?;
        rows.push(groups(captures));
    }
    Ok(ReadyRows::boxed(rows))
}

fn parameter_error(name: &str, value: i32) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid value for parameter \"{name}\": {value}"))
}

/// An integer argument that must be at least `least`; `default` if it isn't given.
fn integer_at(a: &[Value], index: usize, name: &str, least: i32, default: i32) -> Result<i32> {
    match a.get(index) {
        None => Ok(default),
        Some(Value::Int4(value)) if *value >= least => Ok(*value),
        Some(Value::Int4(value)) => Err(parameter_error(name, *value)),
        Some(other) => Err(mismatch(other)),
    }
}

/// Where character number `start` (from 1) begins; past the end there is nothing to be found.
fn start_offset(text: &str, start: i32) -> Option<usize> {
    let index = start as usize - 1;
    text.char_indices().map(|(offset, _)| offset).chain([text.len()]).nth(index)
}

/// The place of a group (0: all) in match number `number` (from 1) from character `start` on.
fn nth_group(regex: &Regex, text: &str, start: i32, number: i32, group: i32) -> Result<Option<Range<usize>>> {
    let Some(offset) = start_offset(text, start) else { return Ok(None) };
    let found = regex.matches(text, offset, number as usize)?;
    Ok(found.get(number as usize - 1).and_then(|captures| captures.range(group as usize)))
}

fn count(a: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern), ..] = a else { return Err(mismatch(&a[0])) };
    let start = integer_at(a, 2, "start", 1, 1)?;
    let regex = regex(pattern, Options::parse_plain(flags_at(a, 3), "regexp_count()")?)?;
    let found = match start_offset(text, start) {
        Some(offset) => regex.matches(text, offset, usize::MAX)?.len(),
        None => 0,
    };
    Ok(Value::Int4(found as i32))
}

fn position_of_match(a: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern), ..] = a else { return Err(mismatch(&a[0])) };
    let start = integer_at(a, 2, "start", 1, 1)?;
    let number = integer_at(a, 3, "n", 1, 1)?;
    let end_option = integer_at(a, 4, "endoption", 0, 0)?;
    if end_option > 1 {
        return Err(parameter_error("endoption", end_option));
    }
    let group = integer_at(a, 6, "subexpr", 0, 0)?;
    let regex = regex(pattern, Options::parse_plain(flags_at(a, 5), "regexp_instr()")?)?;
    let part = nth_group(&regex, text, start, number, group)?;
    let position = part.map_or(0, |part| {
        let bytes = if end_option == 1 { part.end } else { part.start };
        text[..bytes].chars().count() as i32 + 1
    });
    Ok(Value::Int4(position))
}

fn matching_part(a: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern), ..] = a else { return Err(mismatch(&a[0])) };
    let start = integer_at(a, 2, "start", 1, 1)?;
    let number = integer_at(a, 3, "n", 1, 1)?;
    let group = integer_at(a, 5, "subexpr", 0, 0)?;
    let regex = regex(pattern, Options::parse_plain(flags_at(a, 4), "regexp_substr()")?)?;
    let part = nth_group(&regex, text, start, number, group)?;
    Ok(part.map_or(Value::Null, |part| Value::text(&text[part])))
}

/// Replaces match number `number` (0: all) from character `start` on.
fn replace(text: &str, regex: &Regex, replacement: &str, start: i32, number: i32) -> Result<Value> {
    let mut out = String::new();
    let mut done = 0;
    let Some(offset) = start_offset(text, start) else { return Ok(Value::text(text)) };
    let most = usize::try_from(number).ok().filter(|most| *most > 0);
    let found = regex.matches(text, offset, most.unwrap_or(usize::MAX))?;
    for captures in found.iter().skip(most.map_or(0, |most| most - 1)) {
        sync::yield_point()?;
        let whole = captures.whole();
        check_length(out.len() + (whole.start - done))?;
        out.push_str(&text[done..whole.start]);
        expand(replacement, captures, &mut out)?;
        done = whole.end;
    }
    out.push_str(&text[done..]);
    let bytes = out.len();
    check_length(bytes)?;
    make_of(&Arc::new(out), bytes, |out| Value::text(out))
}

/// Appends a replacement: `\1` to `\9` are groups, `\&` is the whole match. 54000
fn expand(replacement: &str, captures: &Captures<'_>, out: &mut String) -> Result<()> {
    let mut characters = replacement.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some(group @ ('&' | '1'..='9')) => {
                let group = group.to_digit(10).unwrap_or(0) as usize;
                let text = captures.get(group).unwrap_or("");
                sync::yield_point()?;
                check_length(out.len() + text.len())?;
                out.push_str(text);
            }
            Some('\\') | None => out.push('\\'),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    check_length(out.len())
}

fn replace_with_flags(_: &mut dyn crate::EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Text text, Text pattern, Text replacement, Text flags);
    if flags.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(Error::new(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("invalid regular expression option: \"{}\"", &flags[..1]),
        )
        .hint("If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly."));
    }
    let (options, global) = Options::parse(flags)?;
    replace(text, &*regex(pattern, options)?, replacement, 1, if global { 0 } else { 1 })
}

fn replace_from(a: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern), Value::Text(replacement), ..] = a else {
        return Err(mismatch(&a[0]));
    };
    let start = integer_at(a, 3, "start", 1, 1)?;
    let number = integer_at(a, 4, "n", 0, 1)?;
    let (options, global) = Options::parse(flags_at(a, 5))?;
    let number = if global && a.len() < 5 { 0 } else { number };
    replace(text, &*regex(pattern, options)?, replacement, start, number)
}

/// The pieces between matches; empty matches at an end or right after another match don't split.
fn split(a: &[Value], function: &str) -> Result<Vec<Value>> {
    let [Value::Text(text), Value::Text(pattern), ..] = a else { return Err(mismatch(&a[0])) };
    let regex = regex(pattern, Options::parse_plain(flags_at(a, 2), function)?)?;
    let mut pieces = Vec::new();
    let mut done = 0;
    for captures in regex.matches(text, 0, usize::MAX)? {
        sync::yield_point()?;
        let part = captures.whole();
        if part.is_empty() && (part.start == done || part.start >= text.len()) {
            continue;
        }
        pieces.push(Value::text(&text[done..part.start]));
        done = part.end;
    }
    pieces.push(Value::text(&text[done..]));
    Ok(pieces)
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(850, "textlike", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(like(t.as_bytes(), p.as_bytes(), true)?)) }),
    FunctionDef::plain(851, "textnlike", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!like(t.as_bytes(), p.as_bytes(), true)?)) }),
    FunctionDef::plain(1633, "texticlike", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(like_any_case(t, p)?)) }),
    FunctionDef::plain(1634, "texticnlike", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!like_any_case(t, p)?)) }),
    FunctionDef::plain(1254, "textregexeq", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(regex(p, Options::default())?.is_match(t)?)) }),
    FunctionDef::plain(1256, "textregexne", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!regex(p, Options::default())?.is_match(t)?)) }),
    FunctionDef::plain(1238, "texticregexeq", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(regex(p, Options::ANY_CASE)?.is_match(t)?)) }),
    FunctionDef::plain(1239, "texticregexne", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!regex(p, Options::ANY_CASE)?.is_match(t)?)) }),
    FunctionDef::plain(858, "namelike", &[NAME, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(like(t.as_bytes(), p.as_bytes(), true)?)) }),
    FunctionDef::plain(859, "namenlike", &[NAME, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!like(t.as_bytes(), p.as_bytes(), true)?)) }),
    FunctionDef::plain(1635, "nameiclike", &[NAME, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(like_any_case(t, p)?)) }),
    FunctionDef::plain(1636, "nameicnlike", &[NAME, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!like_any_case(t, p)?)) }),
    FunctionDef::plain(79, "nameregexeq", &[NAME, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(regex(p, Options::default())?.is_match(t)?)) }),
    FunctionDef::plain(1252, "nameregexne", &[NAME, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!regex(p, Options::default())?.is_match(t)?)) }),
    FunctionDef::plain(1240, "nameicregexeq", &[NAME, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(regex(p, Options::ANY_CASE)?.is_match(t)?)) }),
    FunctionDef::plain(1241, "nameicregexne", &[NAME, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!regex(p, Options::ANY_CASE)?.is_match(t)?)) }),
    FunctionDef::plain(1631, "bpcharlike", &[BPCHAR, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(like(t.as_bytes(), p.as_bytes(), true)?)) }),
    FunctionDef::plain(1632, "bpcharnlike", &[BPCHAR, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!like(t.as_bytes(), p.as_bytes(), true)?)) }),
    FunctionDef::plain(1660, "bpchariclike", &[BPCHAR, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(like_any_case(t, p)?)) }),
    FunctionDef::plain(1661, "bpcharicnlike", &[BPCHAR, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!like_any_case(t, p)?)) }),
    FunctionDef::plain(1658, "bpcharregexeq", &[BPCHAR, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(regex(p, Options::default())?.is_match(t)?)) }),
    FunctionDef::plain(1659, "bpcharregexne", &[BPCHAR, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!regex(p, Options::default())?.is_match(t)?)) }),
    FunctionDef::plain(1656, "bpcharicregexeq", &[BPCHAR, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(regex(p, Options::ANY_CASE)?.is_match(t)?)) }),
    FunctionDef::plain(1657, "bpcharicregexne", &[BPCHAR, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!regex(p, Options::ANY_CASE)?.is_match(t)?)) }),
    FunctionDef::plain(1569, "like", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(like(t.as_bytes(), p.as_bytes(), true)?)) }),
    FunctionDef::plain(1571, "like", &[NAME, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(like(t.as_bytes(), p.as_bytes(), true)?)) }),
    FunctionDef::plain(2007, "like", &[BYTEA, BYTEA], BOOL, |_, a| { take!(a; Bytea t, Bytea p); Ok(Value::Bool(like(t, p, false)?)) }),
    FunctionDef::plain(1570, "notlike", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!like(t.as_bytes(), p.as_bytes(), true)?)) }),
    FunctionDef::plain(1572, "notlike", &[NAME, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(!like(t.as_bytes(), p.as_bytes(), true)?)) }),
    FunctionDef::plain(2008, "notlike", &[BYTEA, BYTEA], BOOL, |_, a| { take!(a; Bytea t, Bytea p); Ok(Value::Bool(!like(t, p, false)?)) }),
    FunctionDef::plain(2005, "bytealike", &[BYTEA, BYTEA], BOOL, |_, a| { take!(a; Bytea t, Bytea p); Ok(Value::Bool(like(t, p, false)?)) }),
    FunctionDef::plain(2006, "byteanlike", &[BYTEA, BYTEA], BOOL, |_, a| { take!(a; Bytea t, Bytea p); Ok(Value::Bool(!like(t, p, false)?)) }),
    FunctionDef::plain(1637, "like_escape", &[TEXT, TEXT], TEXT, |_, a| { take!(a; Text p, Text e); Ok(Value::from(like_escape(p, e)?)) }),
    FunctionDef::plain(1986, "similar_to_escape", &[TEXT, TEXT], TEXT, |_, a| { take!(a; Text p, Text e); Ok(Value::from(similar_to_regex(p, e)?)) }),
    FunctionDef::plain(1987, "similar_to_escape", &[TEXT], TEXT, |_, a| { take!(a; Text p); Ok(Value::from(similar_to_regex(p, "\\")?)) }),
    FunctionDef::plain(1623, "similar_escape", &[TEXT, TEXT], TEXT, |_, a| { let Value::Text(p) = &a[0] else { return Ok(Value::Null) }; Ok(Value::from(similar_to_regex(p, a[1].as_str().unwrap_or("\\"))?)) }).not_strict(),
    FunctionDef::plain(2073, "substring", &[TEXT, TEXT], TEXT, |_, a| { take!(a; Text t, Text p); substring_matching(t, p) }),
    FunctionDef::plain(2074, "substring", &[TEXT, TEXT, TEXT], TEXT, |_, a| { take!(a; Text t, Text p, Text e); substring_similar(t, p, e) }),
    FunctionDef::plain(6263, "regexp_like", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p); Ok(Value::Bool(regex(p, Options::default())?.is_match(t)?)) }),
    FunctionDef::plain(6264, "regexp_like", &[TEXT, TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text p, Text f); Ok(Value::Bool(regex(p, Options::parse_plain(f, "regexp_like()")?)?.is_match(t)?)) }),
    FunctionDef::plain(3396, "regexp_match", &[TEXT, TEXT], TEXT_ARRAY, |_, a| { take!(a; Text t, Text p); first_match(t, &*regex(p, Options::default())?) }),
    FunctionDef::plain(3397, "regexp_match", &[TEXT, TEXT, TEXT], TEXT_ARRAY, |_, a| { take!(a; Text t, Text p, Text f); first_match(t, &*regex(p, Options::parse_match(f)?)?) }),
    FunctionDef::set(2763, "regexp_matches", &[TEXT, TEXT], TEXT_ARRAY, |_, _, a| matches(a)),
    FunctionDef::set(2764, "regexp_matches", &[TEXT, TEXT, TEXT], TEXT_ARRAY, |_, _, a| matches(a)),
    FunctionDef::plain(6254, "regexp_count", &[TEXT, TEXT], INT4, |_, a| count(a)),
    FunctionDef::plain(6255, "regexp_count", &[TEXT, TEXT, INT4], INT4, |_, a| count(a)),
    FunctionDef::plain(6256, "regexp_count", &[TEXT, TEXT, INT4, TEXT], INT4, |_, a| count(a)),
    FunctionDef::plain(6257, "regexp_instr", &[TEXT, TEXT], INT4, |_, a| position_of_match(a)),
    FunctionDef::plain(6258, "regexp_instr", &[TEXT, TEXT, INT4], INT4, |_, a| position_of_match(a)),
    FunctionDef::plain(6259, "regexp_instr", &[TEXT, TEXT, INT4, INT4], INT4, |_, a| position_of_match(a)),
    FunctionDef::plain(6260, "regexp_instr", &[TEXT, TEXT, INT4, INT4, INT4], INT4, |_, a| position_of_match(a)),
    FunctionDef::plain(6261, "regexp_instr", &[TEXT, TEXT, INT4, INT4, INT4, TEXT], INT4, |_, a| position_of_match(a)),
    FunctionDef::plain(6262, "regexp_instr", &[TEXT, TEXT, INT4, INT4, INT4, TEXT, INT4], INT4, |_, a| position_of_match(a)),
    FunctionDef::plain(6265, "regexp_substr", &[TEXT, TEXT], TEXT, |_, a| matching_part(a)),
    FunctionDef::plain(6266, "regexp_substr", &[TEXT, TEXT, INT4], TEXT, |_, a| matching_part(a)),
    FunctionDef::plain(6267, "regexp_substr", &[TEXT, TEXT, INT4, INT4], TEXT, |_, a| matching_part(a)),
    FunctionDef::plain(6268, "regexp_substr", &[TEXT, TEXT, INT4, INT4, TEXT], TEXT, |_, a| matching_part(a)),
    FunctionDef::plain(6269, "regexp_substr", &[TEXT, TEXT, INT4, INT4, TEXT, INT4], TEXT, |_, a| matching_part(a)),
    FunctionDef::plain(2284, "regexp_replace", &[TEXT, TEXT, TEXT], TEXT, |_, a| { take!(a; Text t, Text p, Text r); replace(t, &*regex(p, Options::default())?, r, 1, 1) }),
    FunctionDef::plain(2285, "regexp_replace", &[TEXT, TEXT, TEXT, TEXT], TEXT, replace_with_flags),
    FunctionDef::plain(6253, "regexp_replace", &[TEXT, TEXT, TEXT, INT4], TEXT, |_, a| replace_from(a)),
    FunctionDef::plain(6252, "regexp_replace", &[TEXT, TEXT, TEXT, INT4, INT4], TEXT, |_, a| replace_from(a)),
    FunctionDef::plain(6251, "regexp_replace", &[TEXT, TEXT, TEXT, INT4, INT4, TEXT], TEXT, |_, a| replace_from(a)),
    FunctionDef::plain(2767, "regexp_split_to_array", &[TEXT, TEXT], TEXT_ARRAY, |_, a| Ok(Value::array(TEXT, split(a, "regexp_split_to_array()")?))),
    FunctionDef::plain(2768, "regexp_split_to_array", &[TEXT, TEXT, TEXT], TEXT_ARRAY, |_, a| Ok(Value::array(TEXT, split(a, "regexp_split_to_array()")?))),
    FunctionDef::set(2765, "regexp_split_to_table", &[TEXT, TEXT], TEXT, |_, _, a| Ok(ReadyRows::boxed(split(a, "regexp_split_to_table()")?))),
    FunctionDef::set(2766, "regexp_split_to_table", &[TEXT, TEXT, TEXT], TEXT, |_, _, a| Ok(ReadyRows::boxed(split(a, "regexp_split_to_table()")?))),
];
