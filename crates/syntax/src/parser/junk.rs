//! Letters directly behind a number or a parameter.
//!
//! The grammar is that of a later version, which reads `0x10`, `0o17`, `0b1` and `1_000` as numbers and lets `$1abc` pass for
//! two tokens. PostgreSQL 15 refuses all of them, as it does `123abc`.

use base::{Error, sqlstate};

use super::tokens::tokens;

/// The first number or parameter of `text` that has junk behind it, as PostgreSQL's error with its position.
pub fn first_junk(text: &str, standard_conforming_strings: bool) -> Option<Error> {
    let strings_are_plain = standard_conforming_strings || !text.contains('\\');
    if !is_suspicious(text.as_bytes()) || !strings_are_plain {
        return None;
    }
    let bytes = text.as_bytes();
    let mut read_up_to = 0;
    for (start, _) in tokens(text) {
        if start < read_up_to {
            continue;
        }
        let (what, end) = match (bytes[start], bytes.get(start + 1)) {
            (b'0'..=b'9', _) => ("numeric literal", start + number_length(&bytes[start..])),
            // `1..2` has two numbers in it.
            (b'.', Some(b'.')) => {
                read_up_to = start + 2;
                continue;
            }
            (b'.', Some(b'0'..=b'9')) => ("numeric literal", start + number_length(&bytes[start..])),
            (b'$', Some(b'0'..=b'9')) => ("parameter", start + 1 + digits_length(&bytes[start + 1..])),
            _ => continue,
        };
        read_up_to = end;
        if bytes.get(end).is_some_and(|byte| begins_word(*byte)) {
            let rest = bytes[end..].iter().take_while(|byte| is_in_word(**byte)).count();
            let message = format!("trailing junk after {what} at or near \"{}\"", &text[start..end + rest]);
            let position = super::character_position(text, i32::try_from(start).ok()?)?;
            return Some(Error::new(sqlstate::SYNTAX_ERROR, message).at(position));
        }
    }
    None
}

/// Whether there is a word that begins like a number or parameter and goes on as none: all that the grammar accepts and
/// shouldn't, and more, since strings and comments are not told apart.
fn is_suspicious(bytes: &[u8]) -> bool {
    let mut place = 0;
    while place < bytes.len() {
        if !is_in_word(bytes[place]) {
            place += 1;
            continue;
        }
        let length = bytes[place..].iter().take_while(|byte| is_in_word(**byte)).count();
        let word = &bytes[place..place + length];
        let is_junk = match word {
            [b'0'..=b'9', rest @ ..] => {
                rest.iter().any(|byte| matches!(byte | 0x20, b'x' | b'o' | b'b') || *byte == b'_')
            }
            [b'$', b'0'..=b'9', rest @ ..] => rest.iter().any(|byte| begins_word(*byte)),
            _ => false,
        };
        if is_junk {
            return true;
        }
        place += length;
    }
    false
}

/// The length of the number at the beginning: `1`, `1.5`, `.5`, `1e5`, but of `1..2` only the first digit.
fn number_length(bytes: &[u8]) -> usize {
    let mut length = digits_length(bytes);
    if bytes.get(length) == Some(&b'.') && bytes.get(length + 1) != Some(&b'.') {
        length += 1 + digits_length(&bytes[length + 1..]);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let digits = digits_length(&bytes[(length + 1 + sign).min(bytes.len())..]);
        if digits > 0 {
            length += 1 + sign + digits;
        }
    }
    length
}

fn digits_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_in_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit() || byte == b'$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<String> {
        first_junk(text, true).map(|error| error.message().to_owned())
    }

    #[test]
    fn numbers_of_later_versions_are_junk() {
        for (text, near) in [
            ("select 0x10", "0x10"),
            ("for i in 1..3_0", "3_0"),
            ("select 1, 0o17", "0o17"),
            ("select -0B1", "0B1"),
            ("select 1_000.5", "1_000"),
            ("select 1.5_0", "1.5_0"),
            ("select .5_0", ".5_0"),
            ("select 1e5_0 + 1", "1e5_0"),
            ("select '0x1' || 0x2é", "0x2é"),
            // A line ends with a carriage return, too.
            ("select 1 -- one\r + 1_0", "1_0"),
        ] {
            let wanted = format!("trailing junk after numeric literal at or near \"{near}\"");
            assert_eq!(message(text), Some(wanted), "{text}");
        }
        assert_eq!(message("select $1abc"), Some("trailing junk after parameter at or near \"$1abc\"".to_owned()));
    }

    #[test]
    fn what_looks_like_junk_elsewhere_is_none() {
        for text in [
            "select a0x10",
            "select '0x10'",
            "select \"1_0\"",
            "/* 0x10 */ select 1",
            "select $$1_0$$, $x$ 0b1 $x$",
            "-- 1_0\nselect 1",
            "select e'\\'0x1'",
            "select date'\\', '0x1'",
        ] {
            assert_eq!(message(text), None, "{text}");
        }
    }

    #[test]
    fn its_position_counts_characters() {
        assert_eq!(first_junk("select 'é', 0x1", true).and_then(|error| error.fields().position), Some(13));
    }
}
