//! `json` and `jsonb` values.
//!
//! `json` is text that was checked; `jsonb` is a tree whose objects have unique keys, shorter keys first.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use base::{Error, Result, sqlstate};

use super::apart::BYTES_OF_A_PART;
use super::functions::text::check_length;
use super::numeric::Numeric;
use super::text_io::PIECE_BYTES;
use super::value::SmolStr;

/// How deeply values may be nested.
pub const MAX_DEPTH: usize = 1000;

/// 54001: a value has more levels than [`MAX_DEPTH`].
pub fn too_deep() -> Error {
    Error::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
}

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` and `false`
    Bool(bool),
    /// A number, finite
    Number(Numeric),
    /// A string
    String(SmolStr),
    /// An array
    Array(Vec<Json>),
    /// An object: by length of key, then by key
    Object(Vec<(SmolStr, Json)>),
}

/// A `jsonb` value.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonbValue(pub Json);

impl JsonbValue {
    /// Bytes held outside the value.
    pub fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }

    /// Whether more arrays and objects lie within each other than a text may have.
    pub fn is_too_deep(&self) -> bool {
        self.0.is_deeper_than(MAX_DEPTH)
    }

    /// `jsonb`'s order. An empty array comes before everything, even null, when it is the whole value.
    pub fn compare(&self, other: &JsonbValue) -> Ordering {
        other.is_empty_array().cmp(&self.is_empty_array()).then_with(|| self.0.compare(&other.0))
    }

    /// Whether it is `[]`.
    pub fn is_empty_array(&self) -> bool {
        matches!(&self.0, Json::Array(values) if values.is_empty())
    }

    /// Feeds the value to a hasher.
    pub fn hash_value<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash_value(hasher);
    }
}

/// The order of object keys.
pub fn compare_keys(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.as_bytes().cmp(right.as_bytes()))
}

impl Json {
    /// The place of the value's kind in `jsonb`'s order.
    pub fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::String(_) => 1,
            Json::Number(_) => 2,
            Json::Bool(_) => 3,
            Json::Array(_) => 4,
            Json::Object(_) => 5,
        }
    }

    /// The kind as `jsonb_typeof` names it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::String(_) => "string",
            Json::Number(_) => "number",
            Json::Bool(_) => "boolean",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// The rest of `room`, a number of elements, members and scalars, when this value has taken its part. A long string counts as several.
    pub fn room_left(&self, room: usize) -> Option<usize> {
        let room = room.checked_sub(1)?;
        match self {
            Json::String(text) => room.checked_sub(text.len() / BYTES_OF_A_PART),
            Json::Number(number) => room.checked_sub(number.heap_bytes() / BYTES_OF_A_PART),
            Json::Array(values) => {
                // Those that are many needn't be looked at.
                room.checked_sub(values.len())?;
                values.iter().try_fold(room, |room, value| value.room_left(room))
            }
            Json::Object(pairs) => {
                room.checked_sub(pairs.len())?;
                pairs.iter().try_fold(room, |room, (key, value)| {
                    value.room_left(room.checked_sub(key.len() / BYTES_OF_A_PART)?)
                })
            }
            _ => Some(room),
        }
    }

    fn is_deeper_than(&self, levels: usize) -> bool {
        match self {
            Json::Array(values) => levels == 0 || values.iter().any(|value| value.is_deeper_than(levels - 1)),
            Json::Object(pairs) => levels == 0 || pairs.iter().any(|(_, value)| value.is_deeper_than(levels - 1)),
            _ => false,
        }
    }

    /// Bytes held outside the value, roughly.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Json::Number(number) => number.heap_bytes(),
            Json::String(text) => text.len(),
            Json::Array(values) => values.iter().map(|value| 32 + value.heap_bytes()).sum(),
            Json::Object(pairs) => pairs.iter().map(|(key, value)| 56 + key.len() + value.heap_bytes()).sum(),
            _ => 0,
        }
    }

    /// The member of an object.
    pub fn member(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(pairs) => {
                pairs.binary_search_by(|(own, _)| compare_keys(own, key)).ok().map(|index| &pairs[index].1)
            }
            _ => None,
        }
    }

    /// The element of an array; negative indexes count from the end.
    pub fn element(&self, index: i64) -> Option<&Json> {
        match self {
            Json::Array(values) => {
                let index = if index < 0 { index + values.len() as i64 } else { index };
                values.get(usize::try_from(index).ok()?)
            }
            Json::Object(_) => None,
            // A scalar counts as a list of one here.
            scalar => matches!(index, 0 | -1).then_some(scalar),
        }
    }

    /// An object of these members; of equal keys the last wins.
    pub fn object(mut pairs: Vec<(SmolStr, Json)>) -> Json {
        pairs.reverse();
        pairs.sort_by(|left, right| {
            sync::let_others_run();
            compare_keys(&left.0, &right.0)
        });
        pairs.dedup_by(|later, first| later.0 == first.0);
        Json::Object(pairs)
    }

    /// `jsonb`'s order.
    pub fn compare(&self, other: &Json) -> Ordering {
        self.rank().cmp(&other.rank()).then_with(|| match (self, other) {
            (Json::String(left), Json::String(right)) => left.as_bytes().cmp(right.as_bytes()),
            (Json::Number(left), Json::Number(right)) => left.compare(right),
            (Json::Bool(left), Json::Bool(right)) => left.cmp(right),
            (Json::Array(left), Json::Array(right)) => left.len().cmp(&right.len()).then_with(|| {
                left.iter()
                    .zip(right)
                    .map(|(l, r)| l.compare(r))
                    .find(|o| *o != Ordering::Equal)
                    .unwrap_or(Ordering::Equal)
            }),
            (Json::Object(left), Json::Object(right)) => left.len().cmp(&right.len()).then_with(|| {
                left.iter()
                    .zip(right)
                    .map(|(l, r)| l.0.as_bytes().cmp(r.0.as_bytes()).then_with(|| l.1.compare(&r.1)))
                    .find(|order| *order != Ordering::Equal)
                    .unwrap_or(Ordering::Equal)
            }),
            _ => Ordering::Equal,
        })
    }

    /// Feeds the value to a hasher.
    pub fn hash_value<H: Hasher>(&self, hasher: &mut H) {
        self.rank().hash(hasher);
        match self {
            Json::Null => {}
            Json::String(text) => text.as_str().hash(hasher),
            Json::Number(number) => number.hash_value(hasher),
            Json::Bool(value) => value.hash(hasher),
            Json::Array(values) => values.iter().for_each(|value| value.hash_value(hasher)),
            Json::Object(pairs) => pairs.iter().for_each(|(key, value)| {
                key.as_str().hash(hasher);
                value.hash_value(hasher);
            }),
        }
    }

    /// Reads JSON text. 22P02 with a DETAIL, 54001 when nested too deeply. Lets others run; no error is that of an interrupt.
    pub fn parse(text: &str) -> Result<Json> {
        Parser { text, bytes: text.as_bytes(), position: 0, depth: 0, purpose: Purpose::Value }.document()
    }

    /// Appends the value as `jsonb` shows it: a blank after each comma and colon.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(true) => out.extend_from_slice(b"true"),
            Json::Bool(false) => out.extend_from_slice(b"false"),
            Json::Number(number) => number.write(out),
            Json::String(text) => write_string(text, out),
            Json::Array(values) => {
                out.push(b'[');
                for (index, value) in values.iter().enumerate() {
                    sync::let_others_run();
                    if index > 0 {
                        out.extend_from_slice(b", ");
                    }
                    value.write(out);
                }
                out.push(b']');
            }
            Json::Object(pairs) => {
                out.push(b'{');
                for (index, (key, value)) in pairs.iter().enumerate() {
                    sync::let_others_run();
                    if index > 0 {
                        out.extend_from_slice(b", ");
                    }
                    write_string(key, out);
                    out.extend_from_slice(b": ");
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }

    /// Appends the value over several lines, as `jsonb_pretty` does.
    pub fn write_pretty(&self, indent: usize, out: &mut Vec<u8>) -> Result<()> {
        let line = |level: usize, out: &mut Vec<u8>| -> Result<()> {
            check_length(out.len() + level * 4)?;
            out.push(b'\n');
            out.resize(out.len() + level * 4, b' ');
            Ok(())
        };
        match self {
            Json::Array(values) => {
                out.push(b'[');
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    line(indent + 1, out)?;
                    value.write_pretty(indent + 1, out)?;
                }
                line(indent, out)?;
                out.push(b']');
            }
            Json::Object(pairs) => {
                out.push(b'{');
                for (index, (key, value)) in pairs.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    line(indent + 1, out)?;
                    write_string(key, out);
                    out.extend_from_slice(b": ");
                    value.write_pretty(indent + 1, out)?;
                }
                line(indent, out)?;
                out.push(b'}');
            }
            other => other.write(out),
        }
        Ok(())
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::new();
        self.write(&mut out);
        f.write_str(std::str::from_utf8(&out).expect("JSON text is UTF-8"))
    }
}

/// Appends a string in quotes, escaped as PostgreSQL escapes JSON. Others run while a long one is written.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    for (number, mut rest) in text.as_bytes().chunks(PIECE_BYTES).enumerate() {
        if number > 0 {
            sync::let_others_run();
        }
        while let Some(place) = rest.iter().position(is_special) {
            out.extend_from_slice(&rest[..place]);
            write_escape(rest[place], out);
            rest = &rest[place + 1..];
        }
        out.extend_from_slice(rest);
    }
    out.push(b'"');
}

/// Whether a byte of a string is written in another way.
fn is_special(byte: &u8) -> bool {
    matches!(byte, b'"' | b'\\' | ..0x20)
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0C => out.extend_from_slice(b"\\f"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        control => {
            out.extend_from_slice(b"\\u00");
            super::number_text::push_hex(control, out);
        }
    }
}

/// A parser of JSON text. Its errors have a DETAIL, which states the fault, and a CONTEXT, which shows the place.
struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
    depth: usize,
    purpose: Purpose,
}

/// Why JSON text is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// For the tree that it stands for
    Value,
    /// For its syntax: the value stays text, so escapes needn't stand for characters
    Syntax,
    /// For its escapes: each must stand for a character, while numbers stay text
    Escapes,
}

impl Parser<'_> {
    fn skip_spaces(&mut self) {
        while matches!(self.bytes.get(self.position), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    fn document(&mut self) -> Result<Json> {
        let value = self.value("Expected JSON value, but found")?;
        self.skip_spaces();
        if self.position < self.bytes.len() {
            let token = self.number_end()?.unwrap_or_else(|| self.token_end());
            return Err(self.unexpected("Expected end of input, but found", token));
        }
        Ok(value)
    }

    /// The end of the number at the current position, if one begins there. 22P02 for one that is none.
    fn number_end(&mut self) -> Result<Option<usize>> {
        let start = self.position;
        if !matches!(self.bytes.get(start), Some(b'-' | b'0'..=b'9')) {
            return Ok(None);
        }
        self.number()?;
        Ok(Some(std::mem::replace(&mut self.position, start)))
    }

    /// The end of the token at the current position.
    fn token_end(&self) -> usize {
        let rest = &self.bytes[self.position..];
        let word =
            rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80).count();
        if word > 0 {
            return self.position + word;
        }
        let mut end = self.position + 1;
        while end < self.text.len() && !self.text.is_char_boundary(end) {
            end += 1;
        }
        end.min(self.text.len())
    }

    #[cold]
    fn error(&self, detail: impl Into<String>, end: usize) -> Error {
        Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
            .detail(detail)
            .context(self.place(end))
    }

    /// The line up to an error, and its number.
    fn place(&self, end: usize) -> String {
        let shown = &self.text[..end.min(self.text.len())];
        let line = shown.matches('\n').count() + 1;
        let start = shown.rfind('\n').map_or(0, |newline| newline + 1);
        let line_start = shown[start..].char_indices().rev().nth(49).map_or(start, |(index, _)| start + index);
        let prefix = if line_start > start { "..." } else { "" };
        let suffix = if end < self.text.len() { "..." } else { "" };
        format!("JSON data, line {line}: {prefix}{}{suffix}", &shown[line_start..])
    }

    #[cold]
    fn unexpected(&self, expectation: &str, end: usize) -> Error {
        if self.position >= self.bytes.len() {
            return self.error("The input string ended unexpectedly.", end);
        }
        let token = &self.text[self.position..end];
        // No token begins with any other character.
        if !token.starts_with(|c: char| c.is_alphanumeric() || "-_\"{}[],:".contains(c)) {
            return self.error(format!("Token \"{token}\" is invalid."), end);
        }
        let is_word = token.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if is_word && !matches!(token, "true" | "false" | "null") {
            return self.invalid_token();
        }
        self.error(format!("{expectation} \"{token}\"."), end)
    }

    #[cold]
    fn invalid_token(&self) -> Error {
        let end = self.token_end();
        self.error(format!("Token \"{}\" is invalid.", &self.text[self.position..end]), end)
    }

    fn value(&mut self, expectation: &str) -> Result<Json> {
        self.skip_spaces();
        let Some(byte) = self.bytes.get(self.position) else {
            return Err(self.unexpected(expectation, self.position));
        };
        match byte {
            b'{' => self.nested(Self::object_members),
            b'[' => self.nested(Self::array_elements),
            b'"' => Ok(Json::String(SmolStr::from(self.string()?))),
            b'-' | b'0'..=b'9' => self.number(),
            b'}' | b']' | b',' | b':' => Err(self.unexpected(expectation, self.position + 1)),
            _ => {
                let end = self.token_end();
                let value = match &self.text[self.position..end] {
                    "true" => Json::Bool(true),
                    "false" => Json::Bool(false),
                    "null" => Json::Null,
                    _ => return Err(self.invalid_token()),
                };
                self.position = end;
                Ok(value)
            }
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Json>) -> Result<Json> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn array_elements(&mut self) -> Result<Json> {
        self.position += 1;
        let mut values = Vec::new();
        self.skip_spaces();
        if self.bytes.get(self.position) == Some(&b']') {
            self.position += 1;
            return Ok(Json::Array(values));
        }
        loop {
            let expectation = if values.is_empty() {
                "Expected array element or \"]\", but found"
            } else {
                "Expected JSON value, but found"
            };
            sync::let_others_run();
            values.push(self.value(expectation)?);
            self.skip_spaces();
            match self.bytes.get(self.position) {
                Some(b',') => self.position += 1,
                Some(b']') => {
                    self.position += 1;
                    return Ok(Json::Array(values));
                }
                _ => return Err(self.unexpected_after("Expected \",\" or \"]\", but found")),
            }
        }
    }

    fn unexpected_after(&mut self, expectation: &str) -> Error {
        let end = match self.number_end() {
            Err(error) => return error,
            Ok(Some(end)) => end,
            Ok(None) if self.position < self.bytes.len() => self.token_end(),
            Ok(None) => self.position,
        };
        self.unexpected(expectation, end)
    }

    fn object_members(&mut self) -> Result<Json> {
        self.position += 1;
        let mut pairs = Vec::new();
        self.skip_spaces();
        if self.bytes.get(self.position) == Some(&b'}') {
            self.position += 1;
            return Ok(Json::Object(pairs));
        }
        loop {
            sync::let_others_run();
            self.skip_spaces();
            if self.bytes.get(self.position) != Some(&b'"') {
                let expectation =
                    if pairs.is_empty() { "Expected string or \"}\", but found" } else { "Expected string, but found" };
                return Err(self.unexpected_after(expectation));
            }
            let key = SmolStr::from(self.string()?);
            self.skip_spaces();
            if self.bytes.get(self.position) != Some(&b':') {
                return Err(self.unexpected_after("Expected \":\", but found"));
            }
            self.position += 1;
            pairs.push((key, self.value("Expected JSON value, but found")?));
            self.skip_spaces();
            match self.bytes.get(self.position) {
                Some(b',') => self.position += 1,
                Some(b'}') => {
                    self.position += 1;
                    return Ok(Json::object(pairs));
                }
                _ => return Err(self.unexpected_after("Expected \",\" or \"}\", but found")),
            }
        }
    }

    fn number(&mut self) -> Result<Json> {
        let start = self.position;
        let digits = |parser: &mut Self| {
            let from = parser.position;
            while parser.bytes.get(parser.position).is_some_and(u8::is_ascii_digit) {
                parser.position += 1;
            }
            parser.position > from
        };
        if self.bytes[self.position] == b'-' {
            self.position += 1;
        }
        let first = self.bytes.get(self.position).copied();
        let mut valid = digits(self);
        if first == Some(b'0') && self.position - start > 1 + usize::from(self.bytes[start] == b'-') {
            valid = false;
        }
        if valid && self.bytes.get(self.position) == Some(&b'.') {
            self.position += 1;
            valid = digits(self);
        }
        if valid && matches!(self.bytes.get(self.position), Some(b'e' | b'E')) {
            self.position += 1;
            if matches!(self.bytes.get(self.position), Some(b'+' | b'-')) {
                self.position += 1;
            }
            valid = digits(self);
        }
        // letters right behind a number are part of the token
        let glued = self.bytes[self.position..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80)
            .count();
        self.position += glued;
        if !valid || glued > 0 {
            let end = self.position;
            self.position = start;
            return Err(self.error(format!("Token \"{}\" is invalid.", &self.text[start..end]), end));
        }
        match self.purpose {
            Purpose::Value => Ok(Json::Number(Numeric::parse(&self.text[start..self.position])?)),
            Purpose::Syntax | Purpose::Escapes => Ok(Json::Null),
        }
    }

    fn string(&mut self) -> Result<String> {
        let start = self.position;
        self.position += 1;
        let mut out = String::new();
        loop {
            let run = self.position;
            self.skip_plain();
            out.push_str(&self.text[run..self.position]);
            match self.bytes.get(self.position) {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.position += 1;
                    self.escape(start, &mut out)?;
                }
                Some(control) => {
                    let detail = format!("Character with value 0x{control:02x} must be escaped.");
                    return Err(self.error(detail, self.position));
                }
                None => {
                    let detail = format!("Token \"{}\" is invalid.", &self.text[start..]);
                    return Err(self.error(detail, self.text.len()));
                }
            }
        }
    }

    /// Goes to the next byte of a string that doesn't stand for itself, or to the end of the text.
    fn skip_plain(&mut self) {
        while self.position < self.bytes.len() {
            sync::let_others_run();
            let piece = &self.bytes[self.position..self.bytes.len().min(self.position + PIECE_BYTES)];
            match piece.iter().position(is_special) {
                Some(place) => {
                    self.position += place;
                    break;
                }
                None => self.position += piece.len(),
            }
        }
    }

    fn escape(&mut self, start: usize, out: &mut String) -> Result<()> {
        let Some(&letter) = self.bytes.get(self.position) else {
            return Err(self.error(format!("Token \"{}\" is invalid.", &self.text[start..]), self.text.len()));
        };
        self.position += 1;
        out.push(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.unicode_escape()?,
            _ => {
                let mut end = self.position;
                while !self.text.is_char_boundary(end) {
                    end += 1;
                }
                let shown = &self.text[self.position - 1..end];
                return Err(self.error(format!("Escape sequence \"\\{shown}\" is invalid."), end));
            }
        });
        Ok(())
    }

    fn four_digits(&mut self) -> Result<u32> {
        let digits = self.bytes.get(self.position..self.position + 4);
        match digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            Some(_) => {
                let code = u32::from_str_radix(&self.text[self.position..self.position + 4], 16).unwrap_or(0);
                self.position += 4;
                Ok(code)
            }
            None => {
                let rest = &self.bytes[self.position..];
                let valid = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
                let end = self.character_end(self.position + valid);
                Err(self.error("\"\\u\" must be followed by four hexadecimal digits.", end))
            }
        }
    }

    /// The end of the character that begins at `start`.
    fn character_end(&self, start: usize) -> usize {
        start + self.text[start..].chars().next().map_or(0, char::len_utf8)
    }

    fn unicode_escape(&mut self) -> Result<char> {
        const NO_LOW: &str = "Unicode low surrogate must follow a high surrogate.";
        let code = self.four_digits()?;
        if self.purpose == Purpose::Syntax {
            return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
        }
        match code {
            0 => Err(Error::new(sqlstate::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence")
                .detail("\\u0000 cannot be converted to text.")
                .context(self.place(self.position))),
            0xD800..0xDC00 => {
                let after_backslash = self.bytes.get(self.position) == Some(&b'\\');
                if !after_backslash || self.bytes.get(self.position + 1) != Some(&b'u') {
                    let end = self.character_end(self.position + usize::from(after_backslash));
                    return Err(self.error(NO_LOW, end));
                }
                self.position += 2;
                match self.four_digits()? {
                    low @ 0xDC00..0xE000 => {
                        let combined = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                        Ok(char::from_u32(combined).unwrap_or('\u{fffd}'))
                    }
                    0xD800..0xDC00 => {
                        Err(self.error("Unicode high surrogate must not follow a high surrogate.", self.position))
                    }
                    _ => Err(self.error(NO_LOW, self.position)),
                }
            }
            0xDC00..0xE000 => Err(self.error(NO_LOW, self.position)),
            _ => Ok(char::from_u32(code).unwrap_or('\u{fffd}')),
        }
    }
}

/// Checks that text is JSON, without keeping the value. 22P02 with a DETAIL.
pub fn check(text: &str) -> Result<()> {
    Parser { text, bytes: text.as_bytes(), position: 0, depth: 0, purpose: Purpose::Syntax }.document().map(|_| ())
}

/// Checks that each escape of JSON text stands for a character, as whatever takes the text apart needs it. 22P02, 22P05.
pub fn check_escapes(text: &str) -> Result<()> {
    // All other escapes were looked at when the value was made.
    if memchr::memmem::find(text.as_bytes(), b"\\u").is_none() {
        return Ok(());
    }
    Parser { text, bytes: text.as_bytes(), position: 0, depth: 0, purpose: Purpose::Escapes }.document().map(|_| ())
}
