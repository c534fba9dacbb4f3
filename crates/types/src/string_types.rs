//! `varchar(n)`, `char(n)`, `"char"` and `bytea`.

use base::{Error, Result, sqlstate};

use super::context::ByteaOutput;
use super::number_text::push_hex;
use super::text_io::PIECE_BYTES;
use super::value::SmolStr;

/// The length in a `varchar` or `char` modifier.
pub fn typmod_length(typmod: i32) -> Option<usize> {
    usize::try_from(typmod.checked_sub(4)?).ok()
}

/// Where character number `length` starts, or the number of characters if there are fewer.
fn split_at_character(text: &str, length: usize) -> Result<usize, usize> {
    if text.len() < length {
        return Err(text.chars().count());
    }
    if text.is_ascii() {
        return if text.len() >= length { Ok(length) } else { Err(text.len()) };
    }
    let mut count = 0;
    for (index, _) in text.char_indices() {
        if count == length {
            return Ok(index);
        }
        count += 1;
    }
    if count == length { Ok(text.len()) } else { Err(count) }
}

#[cold]
fn too_long(type_name: &str, length: usize) -> Error {
    Error::new(sqlstate::STRING_DATA_RIGHT_TRUNCATION, format!("value too long for type {type_name}({length})"))
}

/// Fits text into `varchar(n)` as an assignment does: only blanks may be cut off. 22001.
pub fn assign_varchar(text: SmolStr, typmod: i32) -> Result<SmolStr> {
    fit(text, typmod, "character varying", true)
}

/// Fits text into `char(n)` as an assignment does: padded with blanks, only blanks may be cut off. 22001.
pub fn assign_char(text: SmolStr, typmod: i32) -> Result<SmolStr> {
    pad(fit(text, typmod, "character", true)?, typmod)
}

/// Fits text into `varchar(n)` as an explicit cast does: cut off without complaint.
pub fn cast_varchar(text: SmolStr, typmod: i32) -> Result<SmolStr> {
    fit(text, typmod, "character varying", false)
}

/// Fits text into `char(n)` as an explicit cast does.
pub fn cast_char(text: SmolStr, typmod: i32) -> Result<SmolStr> {
    pad(fit(text, typmod, "character", false)?, typmod)
}

fn fit(text: SmolStr, typmod: i32, type_name: &str, strict: bool) -> Result<SmolStr> {
    let Some(length) = typmod_length(typmod) else { return Ok(text) };
    if text.len() <= length {
        return Ok(text);
    }
    match split_at_character(&text, length) {
        Ok(end) if end < text.len() => {
            if strict && !text[end..].bytes().all(|byte| byte == b' ') {
                return Err(too_long(type_name, length));
            }
            Ok(SmolStr::new(&text[..end]))
        }
        _ => Ok(text),
    }
}

fn pad(text: SmolStr, typmod: i32) -> Result<SmolStr> {
    let Some(length) = typmod_length(typmod) else { return Ok(text) };
    match split_at_character(&text, length) {
        Ok(_) => Ok(text),
        Err(characters) => {
            if length > base::limits::VALUE_MAX_BYTES {
                return Err(super::functions::text::too_large());
            }
            let missing = length - characters;
            // Character by character, a gigabyte would keep other sessions waiting for seconds.
            let mut padded = " ".repeat(text.len() + missing);
            padded.replace_range(..text.len(), &text);
            Ok(SmolStr::from(padded))
        }
    }
}

/// Reads `bytea`: `\x` and hexadecimal digits, or the escape format. 22P02, 22023.
pub fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(hex) => parse_hex(hex),
        None => parse_escaped(text),
    }
}

/// Reads the escape format of `bytea`. 22P02.
pub fn parse_escaped(text: &str) -> Result<Vec<u8>> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while let Some(&byte) = bytes.get(position) {
        if byte != b'\\' {
            out.push(byte);
            position += 1;
        } else if bytes.get(position + 1) == Some(&b'\\') {
            out.push(b'\\');
            position += 2;
        } else {
            let digits = bytes.get(position + 1..position + 4).filter(|digits| {
                (b'0'..=b'3').contains(&digits[0]) && digits[1..].iter().all(|digit| (b'0'..=b'7').contains(digit))
            });
            let digits = digits.ok_or_else(|| {
                Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")
            })?;
            out.push(digits.iter().fold(0, |value, digit| value << 3 | (digit - b'0')));
            position += 4;
        }
    }
    Ok(out)
}

/// Reads hexadecimal digits in pairs, blanks between pairs allowed. 22023.
pub fn parse_hex(hex: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(hex.len() / 2);
    let mut characters = hex.chars();
    let digit = |character: char| {
        character.to_digit(16).map(|digit| digit as u8).ok_or_else(|| {
            Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid hexadecimal digit: \"{character}\""))
        })
    };
    while let Some(first) = characters.next() {
        if matches!(first, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(first)?;
        let second = characters.next().ok_or_else(|| {
            Error::new(sqlstate::INVALID_PARAMETER_VALUE, "invalid hexadecimal data: odd number of digits")
        })?;
        out.push(high << 4 | digit(second)?);
    }
    Ok(out)
}

/// Appends `bytea`. Values of up to [`PIECE_BYTES`] are written without a yield point.
pub fn write_bytea(bytes: &[u8], format: ByteaOutput, out: &mut Vec<u8>) -> Result<()> {
    match format {
        ByteaOutput::Hex => {
            out.reserve(2 + bytes.len() * 2);
            out.extend_from_slice(b"\\x");
            for (number, piece) in bytes.chunks(PIECE_BYTES).enumerate() {
                if number > 0 {
                    sync::yield_point()?;
                }
                piece.iter().for_each(|byte| push_hex(*byte, out));
            }
        }
        ByteaOutput::Escape => write_escaped(bytes, out)?,
    }
    Ok(())
}

/// Appends bytes in the escape format.
pub fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    for (place, byte) in bytes.iter().enumerate() {
        if place % PIECE_BYTES == 0 && place > 0 {
            sync::yield_point()?;
        }
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x20..=0x7E => out.push(*byte),
            other => write_octal(*other, out),
        }
    }
    Ok(())
}

fn write_octal(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]);
}

/// Reads `"char"`: the first byte, or an octal escape.
pub fn parse_char(text: &str) -> u8 {
    match text.as_bytes() {
        [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'),
        bytes => bytes.first().copied().unwrap_or(0),
    }
}

/// Appends `"char"`: nothing for zero, octal above ASCII.
pub fn write_char(byte: u8, out: &mut Vec<u8>) {
    match byte {
        0 => {}
        1..=0x7F => out.push(byte),
        _ => write_octal(byte, out),
    }
}
