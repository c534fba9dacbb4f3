//! Words that the grammar takes for keywords and PostgreSQL 15 for names.
//!
//! The grammar is that of a later version. Because of its keywords it refuses columns and functions of these names, and reads syntax that
//! PostgreSQL 15 does not have (`json_value(...)`, `NOT ENFORCED`). So a text that it refuses, or reads in that way, is read once more with
//! such words marked: their first four bytes give way to one character of four bytes from a private area. To the grammar a marked word is
//! an ordinary name, and everything else stays where it was.
//!
//! # How the words come back
//! The text is read with two sets of marks. The two trees differ in the marks alone: where their bytes differ, there is a mark, and the
//! word's own bytes are put back. Looking for marks in one tree would not do, since numbers and constants may have the same bytes.

use base::{Error, Result};

use super::tokens::tokens;

/// The words. A keyword that is read only after one of these is not listed.
const WORDS: [&str; 15] = [
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
    "system_user",
];

/// Words that begin syntax which the tree does not show.
const HIDDEN: [&str; 2] = ["enforced", "objects"];

/// The first bytes of the words, by the last byte of their marks.
const PREFIXES: [&[u8; 4]; 5] = [b"enfo", b"json", b"merg", b"obje", b"syst"];

/// The first characters of the two sets of marks. Their encodings differ in the third byte.
const SETS: [u32; 2] = [0x0010_FF80, 0x0010_FF00];
const DIFFERING_BYTE: usize = 2;
const LAST_BYTE_FIRST: u8 = 0x80;

/// Whether the words may matter to `text`; strings and comments are not told apart here.
pub(super) fn has_words(text: &str) -> bool {
    words(text).any(|(start, end)| mark_of(&text.as_bytes()[start..end]).is_some())
}

/// Whether the text may have syntax of a later version that its tree does not show.
pub(super) fn may_have_hidden_syntax(text: &str) -> bool {
    words(text).any(|(start, end)| HIDDEN.iter().any(|hidden| text[start..end].eq_ignore_ascii_case(hidden)))
}

/// The bytes of the tree of `text` with its words as names. `parse` gives the tree of a text.
///
/// # Errors
/// Those of the grammar, about the text itself.
pub(super) fn read_as_names(text: &str, parse: impl Fn(&str) -> Result<Vec<u8>>) -> Result<Vec<u8>> {
    let [first, second] = SETS.map(|set| marked(text, set, tokens(text).into_iter()));
    let mut tree = parse(&first).map_err(|error| unmarked_error(error, &first, text))?;
    let other = parse(&second)?;
    if tree.len() != other.len() {
        return Err(Error::internal("the trees of one text have different lengths"));
    }
    let marks: Vec<usize> = (0..tree.len()).filter(|place| tree[*place] != other[*place]).collect();
    for place in marks {
        let start = place - DIFFERING_BYTE;
        let prefix = PREFIXES[usize::from(tree[start + 3] - LAST_BYTE_FIRST)];
        tree[start..start + 4].copy_from_slice(prefix);
    }
    Ok(tree)
}

/// Checks a text that may have a body in a string: words are marked there, too.
///
/// # Errors
/// Those of `check`, about the text itself.
pub(super) fn check_with_names(text: &str, check: impl Fn(&str) -> Result<()>) -> Result<()> {
    let marked = marked(text, SETS[0], words(text));
    check(&marked).map_err(|error| unmarked_error(error, &marked, text))
}

/// The text with a mark in each word at these places.
fn marked(text: &str, set: u32, places: impl Iterator<Item = (usize, usize)>) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, end) in places {
        if let Some(mark) = mark_of(&text.as_bytes()[start..end]) {
            marked.push_str(&text[copied..start]);
            marked.push(char::from_u32(set + mark).expect("a private character"));
            copied = start + 4;
        }
    }
    marked.push_str(&text[copied..]);
    marked
}

/// An error about a marked text, as one about the text itself.
fn unmarked_error(mut error: Error, marked: &str, text: &str) -> Error {
    let Some(position) = error.fields().position else { return error };
    let Some((offset, _)) = marked.char_indices().nth(position.saturating_sub(1) as usize) else { return error };
    let length = word_length(&marked.as_bytes()[offset..]);
    let (word, own) = (&marked[offset..offset + length], &text[offset..offset + length]);
    let message = if length > 0 { error.message().replace(word, own) } else { error.message().to_owned() };
    let fields = error.fields_mut();
    fields.message = message;
    // A mark is one character; it stands for four.
    fields.position = super::character_position(text, offset as i32);
    error
}

/// The words of a text, within quotes and comments, too.
fn words(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !is_in_word(bytes[at]) {
            at += 1;
        }
        let start = at;
        at += word_length(&bytes[start..]);
        (at > start).then_some((start, at))
    })
}

fn word_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| is_in_word(**byte)).count()
}

fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// The number of the mark for a word.
fn mark_of(word: &[u8]) -> Option<u32> {
    let prefix: [u8; 4] = word.first_chunk::<4>()?.map(|byte| byte.to_ascii_lowercase());
    let number = PREFIXES.iter().position(|known| **known == prefix)?;
    WORDS.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes())).then_some(number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{ParseOptions, parse};

    #[test]
    fn words_are_marked_as_tokens() {
        let text = "select JSON, 'json', \"json\", x.Json_Value -- json\n from jsonb, e'a\\''\n'b\\' JSON', enforced where à_json = 1";
        let marked = marked(text, SETS[0], tokens(text).into_iter());
        assert_eq!(marked.len(), text.len());
        assert_eq!(marked.to_lowercase().matches("json").count(), 6, "{marked}");
    }

    #[test]
    fn numbers_and_constants_are_no_marks() {
        // The number's bytes in the tree are those of a mark.
        let text = "select 269453300, e'\\U0010FF81', '\u{10FF81}', json_value(1) as system_user";
        let shown = format!("{:?}", parse(text, ParseOptions::default()).unwrap());
        assert!(
            shown.contains("269453300") && shown.contains("\"json_value\"") && shown.contains("\"system_user\""),
            "{shown}"
        );
        assert_eq!(shown.matches("json").count(), 1, "{shown}");
    }

    #[test]
    fn errors_are_those_of_the_text() {
        let error = parse("select é, json_value(1) from JSON JSON Json", ParseOptions::default()).unwrap_err();
        assert_eq!(error.message(), "syntax error at or near \"Json\"");
        assert_eq!(error.fields().position, Some(40));
    }
}
