//! Functions on Unicode itself: escapes and normal forms.

use base::{Error, Result, sqlstate};
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd, is_nfkc, is_nfkd};

use super::{FunctionDef, mismatch};
use crate::oids::*;
use crate::value::Value;

fn invalid_escape() -> Error {
    Error::new(sqlstate::SYNTAX_ERROR, "invalid Unicode escape")
        .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
}

fn invalid_pair() -> Error {
    Error::new(sqlstate::SYNTAX_ERROR, "invalid Unicode surrogate pair")
}

/// A text with its escapes replaced. 42601
fn unistr(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut high: Option<u32> = None;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        if character != '\\' || after.starts_with('\\') {
            if high.is_some() {
                return Err(invalid_pair());
            }
            out.push(character);
            rest = if character == '\\' { &after[1..] } else { after };
            continue;
        }
        let (skipped, digits) = match after.chars().next() {
            Some('+') => (1, 6),
            Some('u') => (1, 4),
            Some('U') => (1, 8),
            _ => (0, 4),
        };
        let digits = after.get(skipped..skipped + digits).ok_or_else(invalid_escape)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(invalid_escape());
        }
        let code = u32::from_str_radix(digits, 16).map_err(|_| invalid_escape())?;
        rest = &after[skipped + digits.len()..];
        let code = match (high.take(), code) {
            (Some(high), 0xDC00..=0xDFFF) => 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00),
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(invalid_pair()),
            (None, 0xD800..=0xDBFF) => {
                high = Some(code);
                continue;
            }
            (None, code) => code,
        };
        let invalid = || {
            let message = format!("invalid Unicode code point: {code:04X}");
            Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
        };
        out.push(char::from_u32(code).filter(|character| *character != '\0').ok_or_else(invalid)?);
    }
    if high.is_some() { Err(invalid_pair()) } else { Ok(out) }
}

/// The normal forms.
#[derive(Clone, Copy)]
enum Form {
    Composed,
    Decomposed,
    CompatibilityComposed,
    CompatibilityDecomposed,
}

fn form(name: &str) -> Result<Form> {
    Ok(match name.to_ascii_uppercase().as_str() {
        "NFC" => Form::Composed,
        "NFD" => Form::Decomposed,
        "NFKC" => Form::CompatibilityComposed,
        "NFKD" => Form::CompatibilityDecomposed,
        _ => {
            let message = format!("invalid normalization form: {name}");
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
    })
}

fn normalize(text: &str, form: Form) -> String {
    match form {
        Form::Composed => text.nfc().collect(),
        Form::Decomposed => text.nfd().collect(),
        Form::CompatibilityComposed => text.nfkc().collect(),
        Form::CompatibilityDecomposed => text.nfkd().collect(),
    }
}

fn is_normalized(text: &str, form: Form) -> bool {
    match form {
        Form::Composed => is_nfc(text),
        Form::Decomposed => is_nfd(text),
        Form::CompatibilityComposed => is_nfkc(text),
        Form::CompatibilityDecomposed => is_nfkd(text),
    }
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(6198, "unistr", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::from(unistr(t)?)) }),
    FunctionDef::plain(4350, "normalize", &[TEXT, TEXT], TEXT, |_, a| { take!(a; Text t, Text f); Ok(Value::from(normalize(t, form(f)?))) }).defaults(&["NFC"]),
    FunctionDef::plain(4351, "is_normalized", &[TEXT, TEXT], BOOL, |_, a| { take!(a; Text t, Text f); Ok(Value::Bool(is_normalized(t, form(f)?))) }).defaults(&["NFC"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_characters_and_pairs_for_one() {
        assert_eq!(unistr(r"d\0061t\+000061 \U0001F600 \ud83d\ude00 a\\b").unwrap(), "data 😀 😀 a\\b");
        assert!(unistr(r"\d83d").is_err());
        assert!(unistr(r"\zz").is_err());
        assert!(unistr(r"\ude00").is_err());
    }
}
