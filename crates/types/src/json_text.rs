//! Looking into JSON text without building a tree, so that parts come out as they were written.
//!
//! The text has been checked when it was read; here only the ends of values are looked for.

/// The kind of a piece of JSON text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonKind {
    /// `{...}`
    Object,
    /// `[...]`
    Array,
    /// `"..."`
    String,
    /// digits
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl JsonKind {
    /// Returns the kind of the text.
    pub fn of(text: &str) -> JsonKind {
        match text.trim_start().as_bytes().first() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') => JsonKind::Null,
            _ => JsonKind::Number,
        }
    }

    /// As `json_typeof` names it.
    pub fn name(self) -> &'static str {
        match self {
            JsonKind::Object => "object",
            JsonKind::Array => "array",
            JsonKind::String => "string",
            JsonKind::Number => "number",
            JsonKind::Bool => "boolean",
            JsonKind::Null => "null",
        }
    }
}

/// The offset behind the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut position = start + 1;
    while let Some(rest) = bytes.get(position..)
        && let Some(place) = memchr::memchr2(b'"', b'\\', rest)
    {
        if rest[place] == b'"' {
            return position + place + 1;
        }
        sync::let_others_run();
        position += place + 2;
    }
    bytes.len()
}

/// The offset behind the value that begins at `start`.
fn value_end(bytes: &[u8], start: usize) -> usize {
    match bytes.get(start) {
        Some(b'"') => string_end(bytes, start),
        Some(b'{' | b'[') => {
            let mut depth = 0_usize;
            let mut position = start;
            while position < bytes.len() {
                match bytes[position] {
                    b'"' => {
                        position = string_end(bytes, position);
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b',' => sync::let_others_run(),
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return position + 1;
                        }
                    }
                    _ => {}
                }
                position += 1;
            }
            bytes.len()
        }
        _ => {
            let length = bytes[start..]
                .iter()
                .take_while(|byte| !matches!(byte, b',' | b'}' | b']' | b':') && !byte.is_ascii_whitespace())
                .count();
            start + length
        }
    }
}

fn skip_spaces(bytes: &[u8], mut position: usize) -> usize {
    while bytes.get(position).is_some_and(u8::is_ascii_whitespace) {
        position += 1;
    }
    position
}

/// The string a JSON string literal stands for.
pub fn unescape(literal: &str) -> String {
    match super::json::Json::parse(literal) {
        Ok(super::json::Json::String(text)) => text.to_string(),
        _ => literal.to_owned(),
    }
}

/// Where the members of an object begin; `None` if it is none.
pub fn members_start(text: &str) -> Option<usize> {
    start_behind(text, b'{')
}

/// Where the elements of an array begin; `None` if it is none.
pub fn elements_start(text: &str) -> Option<usize> {
    start_behind(text, b'[')
}

fn start_behind(text: &str, bracket: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let position = skip_spaces(bytes, 0);
    (bytes.get(position) == Some(&bracket)).then(|| skip_spaces(bytes, position + 1))
}

/// Where the next member or element begins behind one that ends here.
fn behind_comma(bytes: &[u8], end: usize) -> usize {
    let position = skip_spaces(bytes, end);
    if bytes.get(position) == Some(&b',') { skip_spaces(bytes, position + 1) } else { position }
}

/// The member that begins at `position`, which goes to the next one; `None` behind the last one.
pub fn next_member<'a>(text: &'a str, position: &mut usize) -> Option<(String, &'a str)> {
    let bytes = text.as_bytes();
    if bytes.get(*position) != Some(&b'"') {
        return None;
    }
    let key_end = string_end(bytes, *position);
    let key = unescape(&text[*position..key_end]);
    // behind the colon
    let start = skip_spaces(bytes, skip_spaces(bytes, key_end) + 1);
    let end = value_end(bytes, start);
    *position = behind_comma(bytes, end);
    Some((key, &text[start..end]))
}

/// The element that begins at `position`, which goes to the next one; `None` behind the last one.
pub fn next_element<'a>(text: &'a str, position: &mut usize) -> Option<&'a str> {
    let bytes = text.as_bytes();
    let start = *position;
    if bytes.get(start).is_none_or(|byte| *byte == b']') {
        return None;
    }
    let end = value_end(bytes, start);
    *position = behind_comma(bytes, end);
    Some(&text[start..end])
}

/// The members of an object in the order they were written; `None` if it is none. Lets others run meanwhile.
pub fn members(text: &str) -> Option<Vec<(String, &str)>> {
    let mut position = members_start(text)?;
    let next = || {
        sync::let_others_run();
        next_member(text, &mut position)
    };
    Some(std::iter::from_fn(next).collect())
}

/// The elements of an array; `None` if it is none. Lets others run meanwhile.
pub fn elements(text: &str) -> Option<Vec<&str>> {
    let mut position = elements_start(text)?;
    let next = || {
        sync::let_others_run();
        next_element(text, &mut position)
    };
    Some(std::iter::from_fn(next).collect())
}

/// The member called `key`; of several the last.
pub fn member<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    members(text)?.into_iter().rev().find(|(own, _)| own == key).map(|(_, value)| value)
}

/// The element at an index; negative ones count from the end.
pub fn element(text: &str, index: i64) -> Option<&str> {
    let elements = elements(text)?;
    let index = if index < 0 { index + elements.len() as i64 } else { index };
    elements.get(usize::try_from(index).ok()?).copied()
}

/// A value as plain text: strings without quotes, `null` as `None`.
pub fn plain(value: &str) -> Option<String> {
    match JsonKind::of(value) {
        JsonKind::String => Some(unescape(value.trim())),
        JsonKind::Null => None,
        _ => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_out_as_they_were_written() {
        let text = r#" { "a" : [1,  {"b": "]}"}] , "c\u0041":"x\"y" ,"a":2} "#;
        let members = members(text).unwrap();
        assert_eq!(members[0], ("a".to_owned(), r#"[1,  {"b": "]}"}]"#));
        assert_eq!(members[1], ("cA".to_owned(), r#""x\"y""#));
        assert_eq!(member(text, "a"), Some("2"));
        assert_eq!(elements(members[0].1).unwrap(), ["1", r#"{"b": "]}"}"#]);
        assert_eq!(element("[1,2,3]", -1), Some("3"));
        assert_eq!(plain(members[1].1).unwrap(), "x\"y");
        assert_eq!(elements("[]").unwrap().len(), 0);
    }
}
