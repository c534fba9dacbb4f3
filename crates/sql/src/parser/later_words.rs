//! Words that the grammar takes for keywords and PostgreSQL 15 for names.
//!
//! The grammar is that of a later version. With its keywords it reads syntax that PostgreSQL 15 does not have (`NOT ENFORCED`,
//! `json_value(...)`), and refuses columns and functions of these names. So such a word is marked before the grammar reads it: its first
//! four bytes give way to one character of four bytes that nobody uses. To the grammar the word is an ordinary name then, and everything
//! stays where it was. In the tree that comes back, and in messages, the marks are replaced by what they stand for.

use std::borrow::Cow;

use base::Error;

use super::tokens::tokens;

/// The words. Those that matter only within syntax that begins with one of these are left out.
const WORDS: [&str; 17] = [
    "enforced",
    "json",
    "json_array",
    "json_arrayagg",
    "json_exists",
    "json_object",
    "json_objectagg",
    "json_query",
    "json_scalar",
    "json_serialize",
    "json_table",
    "json_value",
    "merge_action",
    "objects",
    "period",
    "system_user",
    "virtual",
];

/// What marks stand for, by the last byte of their encoding.
const PREFIXES: [&[u8; 4]; 7] = [b"enfo", b"json", b"merg", b"obje", b"peri", b"syst", b"virt"];

/// The first bytes of the marks, U+10FF80 to U+10FF86.
const MARK: [u8; 3] = [0xF4, 0x8F, 0xBE];
const LAST_BYTE_FIRST: u8 = 0x80;

/// The text with marks, as long as it was. The text as it is if there is nothing to mark, or if it has such a character already.
pub(super) fn marked(text: &str) -> Cow<'_, str> {
    if !has_word(text.as_bytes()) || find_mark(text.as_bytes()).is_some() {
        return Cow::Borrowed(text);
    }
    let mut marked = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, end) in tokens(text) {
        if let Some(prefix) = prefix_of(&text.as_bytes()[start..end]) {
            marked.push_str(&text[copied..start]);
            marked.push(char::from_u32(0x0010_FF80 + prefix as u32).expect("a private character"));
            copied = start + 4;
        }
    }
    marked.push_str(&text[copied..]);
    Cow::Owned(marked)
}

/// What the grammar made of a marked text, with the words in place of the marks.
pub(super) fn unmarked(bytes: &[u8]) -> Vec<u8> {
    let mut unmarked = bytes.to_vec();
    let mut at = 0;
    while let Some(found) = find_mark(&unmarked[at..]) {
        at += found;
        let prefix = PREFIXES[usize::from(unmarked[at + 3] - LAST_BYTE_FIRST)];
        unmarked[at..at + 4].copy_from_slice(prefix);
        at += 4;
    }
    unmarked
}

/// An error about a marked text, as one about the text itself.
pub(super) fn unmarked_error(mut error: Error, marked: &str) -> Error {
    let message = String::from_utf8_lossy(&unmarked(error.message().as_bytes())).into_owned();
    let fields = error.fields_mut();
    fields.message = message;
    if let Some(position) = fields.position.as_mut() {
        // A mark is one character; what it stands for is four.
        let before = marked.chars().take((*position as usize).saturating_sub(1));
        let marks = before.filter(|character| find_mark(character.encode_utf8(&mut [0; 4]).as_bytes()).is_some());
        *position += 3 * marks.count() as u32;
    }
    error
}

/// Whether there may be such a word; strings and comments are not told apart here.
fn has_word(bytes: &[u8]) -> bool {
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| is_in_word(**byte)).count();
        if prefix_of(&bytes[at..at + length]).is_some() {
            return true;
        }
        at += length + 1;
    }
    false
}

fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// The number of the mark for a word.
fn prefix_of(word: &[u8]) -> Option<usize> {
    let prefix: [u8; 4] = word.first_chunk::<4>()?.map(|byte| byte.to_ascii_lowercase());
    let number = PREFIXES.iter().position(|known| **known == prefix)?;
    WORDS.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes())).then_some(number)
}

fn find_mark(bytes: &[u8]) -> Option<usize> {
    let is_mark = |window: &[u8]| {
        window[..3] == MARK && (LAST_BYTE_FIRST..LAST_BYTE_FIRST + PREFIXES.len() as u8).contains(&window[3])
    };
    bytes.windows(4).position(is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_and_come_back() {
        let text = "select JSON, 'json', \"period\", x.Json_Value -- virtual\n from jsonb, enforced where période = 1";
        let marked = marked(text);
        assert_eq!(marked.len(), text.len());
        assert_eq!(marked.matches("json").count(), 2, "{marked}");
        assert_eq!(unmarked(marked.as_bytes()), text.to_lowercase().as_bytes());
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in ["select jsonb '1', periods, json_valued", "", "json\u{10FF80}"] {
            assert!(matches!(marked(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn positions_are_those_of_the_text() {
        let text = "select json json from json json json";
        let error = crate::parser::parse(text, crate::parser::ParseOptions::default()).unwrap_err();
        assert_eq!(error.message(), "syntax error at or near \"json\"");
        assert_eq!(error.fields().position, Some(33));
    }
}
