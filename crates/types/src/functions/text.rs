//! Functions of text.

use std::cmp::Ordering;
use std::sync::Arc;

use base::{Error, Result, sqlstate};
use memchr::memmem::Finder;
use rustc_hash::{FxHashMap, FxHashSet};

use super::format::format;
use super::{FunctionDef, mismatch};
use crate::apart::{make_of, make_result};
use crate::compare::{compare_padded, without_padding};
use crate::context::EvalContext;
use crate::function_def::{CallTypes, ReadyRows, ValueStream};
use crate::oids::*;
use crate::type_table::base_type;
use crate::value::{SmolStr, Value};
use crate::{network, reg_types, string_types, text_io};

/// The largest text a function may make.
const MAX_BYTES: usize = base::limits::VALUE_MAX_BYTES;

/// Binds the string of one value.
macro_rules! take_text {
    ($value:expr, $name:ident) => {
        let Value::Text($name) = &$value else { return Err(mismatch(&$value)) };
    };
}

/// 54000
#[cold]
pub(crate) fn too_large() -> Error {
    Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

/// 54000 for a text that would be longer than a value may be: asked before it is made.
pub(crate) fn check_length(bytes: usize) -> Result<()> {
    if bytes > MAX_BYTES { Err(too_large()) } else { Ok(()) }
}

/// Parts with a separator between them. 54000
pub(super) fn joined<S>(parts: Vec<S>, separator: &SmolStr) -> Result<Value>
where
    S: AsRef<str> + Send + Sync + 'static,
{
    let bytes: usize = parts.iter().map(|part| part.as_ref().len()).sum();
    let bytes = bytes.saturating_add(separator.len().saturating_mul(parts.len().saturating_sub(1)));
    check_length(bytes)?;
    let separator = separator.clone();
    make_of(&Arc::new(parts), bytes, move |parts| {
        let mut out = String::with_capacity(bytes);
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                out.push_str(&separator);
            }
            out.push_str(part.as_ref());
        }
        Value::from(out)
    })
}

/// Each `from` in a text replaced. 54000
fn replace(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Text text, Text from, Text to);
    if from.is_empty() {
        return Ok(Value::Text(text.clone()));
    }
    let grown = to.len().saturating_sub(from.len());
    let mut bytes = text.len();
    if grown > 0 {
        bytes = bytes.saturating_add(text.matches(from.as_str()).count().saturating_mul(grown));
        check_length(bytes)?;
    }
    make_result(context, a, bytes, |_, a| {
        take!(a; Text text, Text from, Text to);
        Ok(Value::from(text.replace(from.as_str(), to)))
    })
}

/// How many characters text has.
pub(super) fn character_count(text: &str) -> i32 {
    if text.is_ascii() { text.len() as i32 } else { text.chars().count() as i32 }
}

/// Where character number `index` (from 0) begins, or the end.
fn offset_of(text: &str, index: usize) -> usize {
    if text.is_ascii() {
        return index.min(text.len());
    }
    text.char_indices().nth(index).map_or(text.len(), |(offset, _)| offset)
}

/// Maps letter by letter; letters whose other case is several letters stay as they are.
fn fold_case<I: Iterator<Item = char>>(text: &str, fold: fn(char) -> I) -> String {
    text.chars()
        .map(|character| {
            let mut folded = fold(character);
            match (folded.next(), folded.next()) {
                (Some(single), None) => single,
                _ => character,
            }
        })
        .collect()
}

fn fold_upper(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_uppercase() } else { fold_case(text, char::to_uppercase) }
}

fn fold_lower(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { fold_case(text, char::to_lowercase) }
}

fn capitalize(text: &str) -> String {
    let mut in_word = false;
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let mut buffer = [0; 4];
        let one = character.encode_utf8(&mut buffer);
        out.push_str(&if in_word { fold_lower(one) } else { fold_upper(one) });
        in_word = character.is_alphanumeric();
    }
    out
}

/// Characters from number `from` (1 is the first, which may lie before it), `count` of them. 22011.
fn substring(text: &str, from: i64, count: Option<i64>) -> Result<&str> {
    let end = match count {
        Some(count) if count < 0 => {
            return Err(Error::new(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
        }
        Some(count) => (from + count - 1).max(0),
        None => i64::MAX,
    };
    let start = (from - 1).max(0);
    if end <= start {
        return Ok("");
    }
    let start_offset = offset_of(text, usize::try_from(start).unwrap_or(usize::MAX));
    let rest = &text[start_offset..];
    Ok(match count {
        None => rest,
        Some(_) => &rest[..offset_of(rest, (end - start) as usize)],
    })
}

fn overlay(text: &str, new: &str, from: i64, count: i64) -> Result<Value> {
    if from <= 0 {
        return Err(Error::new(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    if i32::try_from(from + count).is_err() {
        return Err(super::integers::out_of_range::<i32>());
    }
    let before = substring(text, 1, Some(from - 1))?;
    let after = substring(text, from + count, None)?;
    Ok(Value::from([before, new, after].concat()))
}

fn left(text: &str, count: i32) -> &str {
    if count >= 0 {
        return &text[..offset_of(text, count as usize)];
    }
    let kept = i64::from(character_count(text)) + i64::from(count);
    &text[..offset_of(text, kept.max(0) as usize)]
}

fn right(text: &str, count: i32) -> &str {
    let skipped = match count {
        // Its negative is itself in 32 bits, and PostgreSQL skips nothing then.
        i32::MIN => 0,
        0.. => i64::from(character_count(text)) - i64::from(count),
        _ => -i64::from(count),
    };
    &text[offset_of(text, skipped.max(0) as usize)..]
}

/// A set of characters that isn't longer than this is searched for each character.
const SHORT_SET_BYTES: usize = 16;

/// Removes characters of a set from the ends.
fn trim<'a>(text: &'a str, set: &str, start: bool, end: bool) -> &'a str {
    // A long set is looked up, so that trimming is linear.
    let letters: Option<FxHashSet<char>> = (set.len() > SHORT_SET_BYTES).then(|| set.chars().collect());
    let in_set = |character: char| match &letters {
        Some(letters) => letters.contains(&character),
        None => set.contains(character),
    };
    let text = if start { text.trim_start_matches(in_set) } else { text };
    if end { text.trim_end_matches(in_set) } else { text }
}

fn pad(context: &mut dyn EvalContext, a: &[Value], on_left: bool) -> Result<Value> {
    let [Value::Text(text), Value::Int4(length), fill @ ..] = a else { return Err(mismatch(&a[0])) };
    let length = (*length).max(0) as usize;
    let fill = fill.first().map_or(Some(" "), Value::as_str).unwrap_or_default();
    let characters = character_count(text) as usize;
    if length <= characters || fill.is_empty() {
        return Ok(Value::text(&text[..offset_of(text, length)]));
    }
    let missing = length - characters;
    // four bytes a character at most
    if length.saturating_mul(4) > MAX_BYTES {
        return Err(too_large());
    }
    let filler_bytes = (missing / character_count(fill) as usize + 1).saturating_mul(fill.len());
    make_result(context, a, text.len() + filler_bytes, move |_, a| {
        let [Value::Text(text), _, fill @ ..] = a else { return Err(mismatch(&a[0])) };
        let fill = fill.first().map_or(Some(" "), Value::as_str).unwrap_or_default();
        let mut padded = String::with_capacity(text.len() + filler_bytes);
        if !on_left {
            padded.push_str(text);
        }
        padded.extend(fill.chars().cycle().take(missing));
        if on_left {
            padded.push_str(text);
        }
        Ok(Value::from(padded))
    })
}

fn repeat(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Text text, Int4 count);
    let count = (*count).max(0) as usize;
    let bytes = text.len().saturating_mul(count);
    check_length(bytes)?;
    make_result(context, a, bytes, move |_, a| {
        take!(a; Text text, Int4 _count);
        Ok(Value::from(text.repeat(count)))
    })
}

fn translate(text: &str, from: &str, to: &str) -> String {
    let mut to = to.chars();
    let mut replacements = FxHashMap::default();
    for character in from.chars() {
        let replacement = to.next();
        // Of a character that comes several times, the first place counts.
        replacements.entry(character).or_insert(replacement);
    }
    text.chars()
        .filter_map(|character| match replacements.get(&character) {
            Some(replacement) => *replacement,
            None => Some(character),
        })
        .collect()
}

/// The number of the character at which `part` first occurs, from 1; 0 if it doesn't.
fn position(text: &str, part: &str) -> i32 {
    text.find(part).map_or(0, |offset| character_count(&text[..offset]) + 1)
}

fn split_part(text: &str, by: &str, number: i32) -> Result<Value> {
    if number == 0 {
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "field position must not be zero"));
    }
    let part = if by.is_empty() {
        (number == 1 || number == -1).then_some(text)
    } else if number > 0 {
        text.split(by).nth(number as usize - 1)
    } else {
        // fields are counted from the left even when overlapping delimiters could be found from the right
        let fields: Vec<&str> = text.split(by).collect();
        fields.len().checked_sub(number.unsigned_abs() as usize).and_then(|index| fields.get(index).copied())
    };
    Ok(Value::text(part.unwrap_or("")))
}

fn chr(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Int4 code);
    let limit = |message: String| Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message);
    match *code {
        0 => Err(limit("null character not permitted".to_owned())),
        ..0 => Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "character number must be positive")),
        code => match char::from_u32(code as u32) {
            Some(character) => Ok(Value::from(character.to_string())),
            None if code > 0x10_FFFF => Err(limit(format!("requested character too large for encoding: {code}"))),
            None => Err(limit(format!("requested character not valid for encoding: {code}"))),
        },
    }
}

/// `left || right`, without a copy when one is empty.
pub(super) fn concatenate(left: &SmolStr, right: &SmolStr) -> SmolStr {
    if left.is_empty() {
        return right.clone();
    }
    if right.is_empty() {
        return left.clone();
    }
    let length = left.len() + right.len();
    let mut inline = [0_u8; 23];
    if let Some(buffer) = inline.get_mut(..length) {
        buffer[..left.len()].copy_from_slice(left.as_bytes());
        buffer[left.len()..].copy_from_slice(right.as_bytes());
        if let Ok(text) = std::str::from_utf8(buffer) {
            return SmolStr::new_inline(text);
        }
    }
    let mut text = String::with_capacity(length);
    text.push_str(left);
    text.push_str(right);
    SmolStr::from(text)
}

/// The text form of an argument, as its type has it.
pub(super) fn text_of(context: &dyn EvalContext, types: &CallTypes, a: &[Value], index: usize) -> Result<SmolStr> {
    let oid = types.arguments.get(index).map_or(TEXT, |ty| ty.oid);
    Ok(match &a[index] {
        Value::Text(text) if oid == BPCHAR => SmolStr::new(text),
        Value::Text(text) => text.clone(),
        value => SmolStr::from(text_io::output_string(value, oid, context.format(), context.catalog())?),
    })
}

/// A value of any type as its cast to text makes it: a boolean is spelt out, and an address always tells its mask.
fn cast_text_of(context: &dyn EvalContext, types: &CallTypes, a: &[Value], index: usize) -> Result<SmolStr> {
    match &a[index] {
        Value::Bool(value) => Ok(SmolStr::new(if *value { "true" } else { "false" })),
        Value::Text(text)
            if types.arguments.get(index).is_some_and(|ty| base_type(context.catalog(), *ty).oid == INET) =>
        {
            Ok(SmolStr::from(network::with_length(&network::from_text(text)?)))
        }
        _ => text_of(context, types, a, index),
    }
}

fn char_text(byte: u8) -> Value {
    let mut out = Vec::new();
    string_types::write_char(byte, &mut out);
    Value::from(String::from_utf8_lossy(&out).into_owned())
}

fn unpadded(text: &SmolStr) -> Value {
    let kept = without_padding(text);
    if kept.len() == text.len() { Value::Text(text.clone()) } else { Value::text(kept) }
}

/// The texts of the arguments from `first` on, but for NULLs.
fn texts_from(context: &dyn EvalContext, types: &CallTypes, a: &[Value], first: usize) -> Result<Vec<SmolStr>> {
    let mut texts = Vec::new();
    for index in first..a.len() {
        sync::yield_point()?;
        if !a[index].is_null() {
            texts.push(text_of(context, types, a, index)?);
        }
    }
    Ok(texts)
}

fn concat(context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    let parts = texts_from(context, types, a, 0)?;
    joined(parts, &SmolStr::default())
}

fn concat_with_separator(context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    let Value::Text(separator) = &a[0] else { return Ok(Value::Null) };
    let parts = texts_from(context, types, a, 1)?;
    joined(parts, separator)
}

/// Splits a qualified name. 22023.
fn parse_ident(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Text text, Bool strict);
    let invalid = |detail: Option<String>| {
        let error =
            Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("string is not a valid identifier: \"{text}\""));
        match detail {
            Some(detail) => error.detail(detail),
            None => error,
        }
    };
    let is_start = |character: char| character.is_ascii_alphabetic() || character == '_' || !character.is_ascii();
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let part;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut tail = quoted;
            loop {
                let end =
                    tail.find('"').ok_or_else(|| invalid(Some("String has unclosed double quotes.".to_owned())))?;
                name.push_str(&tail[..end]);
                tail = &tail[end + 1..];
                match tail.strip_prefix('"') {
                    Some(more) => {
                        name.push('"');
                        tail = more;
                    }
                    None => break,
                }
            }
            if name.is_empty() {
                return Err(invalid(Some("Quoted identifier must not be empty.".to_owned())));
            }
            part = name;
            rest = tail;
        } else if rest.starts_with(is_start) {
            let end = rest.find(|c: char| !(is_start(c) || c.is_ascii_digit() || c == '$')).unwrap_or(rest.len());
            part = rest[..end].to_lowercase();
            rest = &rest[end..];
        } else {
            return Err(match rest.chars().next() {
                Some('.') => invalid(Some("No valid identifier before \".\".".to_owned())),
                None if !parts.is_empty() => invalid(Some("No valid identifier after \".\".".to_owned())),
                _ => invalid(None),
            });
        }
        parts.push(Value::text(part));
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(more) => rest = more.trim_start(),
            None if rest.is_empty() || !*strict => break,
            None => return Err(invalid(None)),
        }
    }
    Ok(Value::array(TEXT, parts))
}

/// A name made unique by a number, cut so that both fit.
fn name_with_oid(name: &str, oid: u32) -> String {
    let suffix = format!("_{oid}");
    let mut end = name.len().min(base::limits::NAME_MAX_BYTES - suffix.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{suffix}", &name[..end])
}

/// The pieces of a text, one after the other.
struct Pieces {
    text: SmolStr,
    cut: Cut,
    /// A piece that reads so is NULL.
    null_text: Option<SmolStr>,
    /// Where the next piece begins; `None` behind the last one.
    next: Option<usize>,
}

/// Where a text is split.
enum Cut {
    Nowhere,
    /// At each delimiter.
    At(Finder<'static>),
    /// After each character.
    AfterCharacters,
}

impl Pieces {
    /// The pieces between delimiters; an empty delimiter doesn't split, NULL splits into characters. `None` for a text that is NULL.
    fn new(a: &[Value]) -> Option<Pieces> {
        let Value::Text(text) = &a[0] else { return None };
        let cut = match &a[1] {
            Value::Text(by) if by.is_empty() => Cut::Nowhere,
            Value::Text(by) => Cut::At(Finder::new(by.as_bytes()).into_owned()),
            _ => Cut::AfterCharacters,
        };
        let null_text = match a.get(2) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let next = (!text.is_empty()).then_some(0);
        Some(Pieces { text: text.clone(), cut, null_text, next })
    }
}

impl Iterator for Pieces {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let begin = self.next?;
        let rest = &self.text[begin..];
        let (length, skipped) = match &self.cut {
            Cut::Nowhere => (rest.len(), None),
            Cut::At(finder) => match finder.find(rest.as_bytes()) {
                Some(length) => (length, Some(finder.needle().len())),
                None => (rest.len(), None),
            },
            Cut::AfterCharacters => {
                let length = rest.chars().next().map_or(0, char::len_utf8);
                (length, (length < rest.len()).then_some(0))
            }
        };
        self.next = skipped.map(|skipped| begin + length + skipped);
        let piece = &rest[..length];
        Some(if self.null_text.as_deref() == Some(piece) { Value::Null } else { Value::text(piece) })
    }
}

impl ValueStream for Pieces {
    fn next(&mut self, _context: &mut dyn EvalContext) -> Result<Option<Value>> {
        Ok(Iterator::next(self))
    }
}

fn string_to_array(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let Some(pieces) = Pieces::new(a) else { return Ok(Value::Null) };
    let mut values = Vec::new();
    for piece in pieces {
        sync::yield_point()?;
        values.push(piece);
    }
    Ok(Value::array(TEXT, values))
}

fn string_to_table(_: &mut dyn EvalContext, _: &CallTypes, a: &[Value]) -> Result<Box<dyn ValueStream>> {
    Ok(match Pieces::new(a) {
        Some(pieces) => Box::new(pieces),
        None => ReadyRows::boxed(Vec::new()),
    })
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(1317, "length", &[TEXT], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(character_count(t))) }),
    FunctionDef::plain(1381, "char_length", &[TEXT], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(character_count(t))) }),
    FunctionDef::plain(1369, "character_length", &[TEXT], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(character_count(t))) }),
    FunctionDef::plain(1257, "textlen", &[TEXT], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(character_count(t))) }),
    FunctionDef::plain(1318, "length", &[BPCHAR], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(character_count(without_padding(t)))) }),
    FunctionDef::plain(1372, "char_length", &[BPCHAR], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(character_count(without_padding(t)))) }),
    FunctionDef::plain(1367, "character_length", &[BPCHAR], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(character_count(without_padding(t)))) }),
    FunctionDef::plain(1374, "octet_length", &[TEXT], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(t.len() as i32)) }),
    FunctionDef::plain(1375, "octet_length", &[BPCHAR], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(t.len() as i32)) }),
    FunctionDef::plain(1811, "bit_length", &[TEXT], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(t.len() as i32 * 8)) }),
    FunctionDef::plain(870, "lower", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::from(fold_lower(t))) }),
    FunctionDef::plain(871, "upper", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::from(fold_upper(t))) }),
    FunctionDef::plain(872, "initcap", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::from(capitalize(t))) }),
    FunctionDef::plain(883, "substr", &[TEXT, INT4], TEXT, |_, a| { take!(a; Text t, Int4 from); Ok(Value::text(substring(t, i64::from(*from), None)?)) }),
    FunctionDef::plain(877, "substr", &[TEXT, INT4, INT4], TEXT, |_, a| { take!(a; Text t, Int4 from, Int4 count); Ok(Value::text(substring(t, i64::from(*from), Some(i64::from(*count)))?)) }),
    FunctionDef::plain(937, "substring", &[TEXT, INT4], TEXT, |_, a| { take!(a; Text t, Int4 from); Ok(Value::text(substring(t, i64::from(*from), None)?)) }),
    FunctionDef::plain(936, "substring", &[TEXT, INT4, INT4], TEXT, |_, a| { take!(a; Text t, Int4 from, Int4 count); Ok(Value::text(substring(t, i64::from(*from), Some(i64::from(*count)))?)) }),
    FunctionDef::plain(1405, "overlay", &[TEXT, TEXT, INT4], TEXT, |_, a| { take!(a; Text t, Text new, Int4 from); overlay(t, new, i64::from(*from), i64::from(character_count(new))) }),
    FunctionDef::plain(1404, "overlay", &[TEXT, TEXT, INT4, INT4], TEXT, |_, a| { take!(a; Text t, Text new, Int4 from, Int4 count); overlay(t, new, i64::from(*from), i64::from(*count)) }),
    FunctionDef::plain(3060, "left", &[TEXT, INT4], TEXT, |_, a| { take!(a; Text t, Int4 n); Ok(Value::text(left(t, *n))) }),
    FunctionDef::plain(3061, "right", &[TEXT, INT4], TEXT, |_, a| { take!(a; Text t, Int4 n); Ok(Value::text(right(t, *n))) }),
    FunctionDef::plain(885, "btrim", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::text(trim(t, " ", true, true))) }),
    FunctionDef::plain(884, "btrim", &[TEXT, TEXT], TEXT, |_, a| { take!(a; Text t, Text set); Ok(Value::text(trim(t, set, true, true))) }),
    FunctionDef::plain(881, "ltrim", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::text(trim(t, " ", true, false))) }),
    FunctionDef::plain(875, "ltrim", &[TEXT, TEXT], TEXT, |_, a| { take!(a; Text t, Text set); Ok(Value::text(trim(t, set, true, false))) }),
    FunctionDef::plain(882, "rtrim", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::text(trim(t, " ", false, true))) }),
    FunctionDef::plain(876, "rtrim", &[TEXT, TEXT], TEXT, |_, a| { take!(a; Text t, Text set); Ok(Value::text(trim(t, set, false, true))) }),
    FunctionDef::plain(879, "lpad", &[TEXT, INT4], TEXT, |context, a| pad(context, a, true)),
    FunctionDef::plain(873, "lpad", &[TEXT, INT4, TEXT], TEXT, |context, a| pad(context, a, true)),
    FunctionDef::plain(880, "rpad", &[TEXT, INT4], TEXT, |context, a| pad(context, a, false)),
    FunctionDef::plain(874, "rpad", &[TEXT, INT4, TEXT], TEXT, |context, a| pad(context, a, false)),
    FunctionDef::plain(1622, "repeat", &[TEXT, INT4], TEXT, repeat),
    FunctionDef::plain(2087, "replace", &[TEXT, TEXT, TEXT], TEXT, replace),
    FunctionDef::plain(878, "translate", &[TEXT, TEXT, TEXT], TEXT, |_, a| { take!(a; Text t, Text from, Text to); Ok(Value::from(translate(t, from, to))) }),
    FunctionDef::plain(3062, "reverse", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::from(t.chars().rev().collect::<String>())) }),
    FunctionDef::plain(868, "strpos", &[TEXT, TEXT], INT4, |_, a| { take!(a; Text t, Text part); Ok(Value::Int4(position(t, part))) }),
    FunctionDef::plain(849, "position", &[TEXT, TEXT], INT4, |_, a| { take!(a; Text t, Text part); Ok(Value::Int4(position(t, part))) }),
    FunctionDef::plain(3696, "starts_with", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text start); Ok(Value::Bool(t.starts_with(start.as_str()))) }),
    FunctionDef::plain(2088, "split_part", &[TEXT, TEXT, INT4], TEXT, |_, a| { take!(a; Text t, Text by, Int4 n); split_part(t, by, *n) }),
    FunctionDef::plain(1620, "ascii", &[TEXT], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(t.chars().next().map_or(0, |c| c as i32))) }),
    FunctionDef::plain(1621, "chr", &[INT4], TEXT, chr),
    FunctionDef::plain(1258, "textcat", &[TEXT, TEXT], TEXT, |_, a| { take!(a; Text l, Text r); check_length(l.len() + r.len())?; Ok(Value::Text(concatenate(l, r))) }),
    FunctionDef::typed(2003, "textanycat", &[TEXT, ANYNONARRAY], TEXT, |context, types, a| { take_text!(a[0], left); let right = cast_text_of(context, types, a, 1)?; Ok(Value::Text(concatenate(left, &right))) }).stable(),
    FunctionDef::typed(2004, "anytextcat", &[ANYNONARRAY, TEXT], TEXT, |context, types, a| { take_text!(a[1], right); let left = cast_text_of(context, types, a, 0)?; Ok(Value::Text(concatenate(&left, right))) }).stable(),
    FunctionDef::plain(2971, "text", &[BOOL], TEXT, |_, a| Ok(Value::from(if a[0].is_true() { "true" } else { "false" }))),
    FunctionDef::plain(946, "text", &[CHAR], TEXT, |_, a| { take!(a; Char c); Ok(char_text(*c)) }),
    FunctionDef::plain(860, "bpchar", &[CHAR], BPCHAR, |_, a| { take!(a; Char c); Ok(char_text(*c)) }),
    FunctionDef::plain(944, "char", &[TEXT], CHAR, |_, a| { take!(a; Text t); Ok(Value::Char(string_types::parse_char(t))) }),
    FunctionDef::plain(78, "char", &[INT4], CHAR, |_, a| { take!(a; Int4 n); i8::try_from(*n).map(|n| Value::Char(n as u8)).map_err(|_| Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "\"char\" out of range")) }),
    FunctionDef::plain(77, "int4", &[CHAR], INT4, |_, a| { take!(a; Char c); Ok(Value::Int4(i32::from(*c as i8))) }),
    FunctionDef::plain(406, "text", &[NAME], TEXT, |_, a| Ok(a[0].clone())),
    FunctionDef::plain(408, "bpchar", &[NAME], BPCHAR, |_, a| Ok(a[0].clone())),
    FunctionDef::plain(1401, "varchar", &[NAME], VARCHAR, |_, a| Ok(a[0].clone())),
    FunctionDef::plain(401, "text", &[BPCHAR], TEXT, |_, a| { take!(a; Text t); Ok(unpadded(t)) }),
    FunctionDef::plain(409, "name", &[BPCHAR], NAME, |_, a| { take!(a; Text t); Ok(Value::text(reg_types::truncate_name(without_padding(t)))) }),
    FunctionDef::plain(407, "name", &[TEXT], NAME, |_, a| { take!(a; Text t); Ok(Value::text(reg_types::truncate_name(t))) }),
    FunctionDef::plain(1400, "name", &[VARCHAR], NAME, |_, a| { take!(a; Text t); Ok(Value::text(reg_types::truncate_name(t))) }),
    FunctionDef::plain(668, "bpchar", &[BPCHAR, INT4, BOOL], BPCHAR, |_, a| { take!(a; Text t, Int4 m, Bool explicit); Ok(Value::Text(if *explicit { string_types::cast_char(t.clone(), *m)? } else { string_types::assign_char(t.clone(), *m)? })) }),
    FunctionDef::plain(669, "varchar", &[VARCHAR, INT4, BOOL], VARCHAR, |_, a| { take!(a; Text t, Int4 m, Bool explicit); Ok(Value::Text(if *explicit { string_types::cast_varchar(t.clone(), *m)? } else { string_types::assign_varchar(t.clone(), *m)? })) }),
    FunctionDef::plain(458, "text_larger", &[TEXT, TEXT], TEXT, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(459, "text_smaller", &[TEXT, TEXT], TEXT, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(1063, "bpchar_larger", &[BPCHAR, BPCHAR], BPCHAR, |_, a| Ok(if compare_padded(&a[0], &a[1]) == Ordering::Less { a[1].clone() } else { a[0].clone() })),
    FunctionDef::plain(1064, "bpchar_smaller", &[BPCHAR, BPCHAR], BPCHAR, |_, a| Ok(if compare_padded(&a[0], &a[1]) == Ordering::Greater { a[1].clone() } else { a[0].clone() })),
    FunctionDef::plain(2160, "text_pattern_lt", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text l, Text r); Ok(Value::Bool(l.as_bytes().cmp(r.as_bytes()).is_lt())) }),
    FunctionDef::plain(2174, "bpchar_pattern_lt", &[BPCHAR, BPCHAR], BOOL, |_, a| Ok(Value::Bool(compare_padded(&a[0], &a[1]).is_lt()))),
    FunctionDef::plain(2161, "text_pattern_le", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text l, Text r); Ok(Value::Bool(l.as_bytes().cmp(r.as_bytes()).is_le())) }),
    FunctionDef::plain(2175, "bpchar_pattern_le", &[BPCHAR, BPCHAR], BOOL, |_, a| Ok(Value::Bool(compare_padded(&a[0], &a[1]).is_le()))),
    FunctionDef::plain(2164, "text_pattern_gt", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text l, Text r); Ok(Value::Bool(l.as_bytes().cmp(r.as_bytes()).is_gt())) }),
    FunctionDef::plain(2178, "bpchar_pattern_gt", &[BPCHAR, BPCHAR], BOOL, |_, a| Ok(Value::Bool(compare_padded(&a[0], &a[1]).is_gt()))),
    FunctionDef::plain(2163, "text_pattern_ge", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text l, Text r); Ok(Value::Bool(l.as_bytes().cmp(r.as_bytes()).is_ge())) }),
    FunctionDef::plain(2177, "bpchar_pattern_ge", &[BPCHAR, BPCHAR], BOOL, |_, a| Ok(Value::Bool(compare_padded(&a[0], &a[1]).is_ge()))),
    FunctionDef::plain(1282, "quote_ident", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::from(reg_types::quote_identifier(t))) }),
    FunctionDef::plain(1283, "quote_literal", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::from(reg_types::quote_literal(t))) }),
    FunctionDef::typed(1285, "quote_literal", &[ANYELEMENT], TEXT, |context, types, a| Ok(Value::from(reg_types::quote_literal(&cast_text_of(context, types, a, 0)?)))).stable(),
    FunctionDef::plain(1289, "quote_nullable", &[TEXT], TEXT, |_, a| Ok(Value::from(a[0].as_str().map_or_else(|| "NULL".to_owned(), reg_types::quote_literal)))).not_strict(),
    FunctionDef::typed(1290, "quote_nullable", &[ANYELEMENT], TEXT, |context, types, a| Ok(Value::from(if a[0].is_null() { "NULL".to_owned() } else { reg_types::quote_literal(&cast_text_of(context, types, a, 0)?) }))).stable().not_strict(),
    FunctionDef::typed(3058, "concat", &[ANY], TEXT, concat).stable().not_strict().variadic(),
    FunctionDef::typed(3059, "concat_ws", &[TEXT, ANY], TEXT, concat_with_separator).stable().not_strict().variadic(),
    FunctionDef::typed(3540, "format", &[TEXT], TEXT, |context, types, a| format(context, types, a)).stable().not_strict(),
    FunctionDef::typed(3539, "format", &[TEXT, ANY], TEXT, format).stable().not_strict().variadic(),
    FunctionDef::plain(1268, "parse_ident", &[TEXT, BOOL], TEXT_ARRAY, parse_ident).named(&["str", "strict"]).defaults(&["true"]),
    FunctionDef::plain(266, "nameconcatoid", &[NAME, OID], NAME, |_, a| { take!(a; Text name, Oid oid); Ok(Value::from(name_with_oid(name, *oid))) }),
    FunctionDef::plain(394, "string_to_array", &[TEXT, TEXT], TEXT_ARRAY, string_to_array).not_strict(),
    FunctionDef::plain(376, "string_to_array", &[TEXT, TEXT, TEXT], TEXT_ARRAY, string_to_array).not_strict(),
    FunctionDef::set(6160, "string_to_table", &[TEXT, TEXT], TEXT, string_to_table).not_strict(),
    FunctionDef::set(6161, "string_to_table", &[TEXT, TEXT, TEXT], TEXT, string_to_table).not_strict(),
];
