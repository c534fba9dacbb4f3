//! Functions of bytea, digests, and text encodings.

use base::{Error, Result, sqlstate};
use sha2::Digest;

use super::{FunctionDef, mismatch};
use crate::binary_io::utf8;
use crate::context::EvalContext;
use crate::number_text::push_hex;
use crate::oids::*;
use crate::string_types;
use crate::value::Value;

/// Bytes from number `from` (1 is the first), `count` of them. 22011.
fn slice(bytes: &[u8], from: i64, count: Option<i64>) -> Result<&[u8]> {
    let end = match count {
        Some(count) if count < 0 => {
            return Err(Error::new(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
        }
        Some(count) => (from + count - 1).clamp(0, bytes.len() as i64),
        None => bytes.len() as i64,
    };
    let start = (from - 1).clamp(0, bytes.len() as i64);
    Ok(if start < end { &bytes[start as usize..end as usize] } else { &[] })
}

fn overlay(bytes: &[u8], new: &[u8], from: i64, count: i64) -> Result<Value> {
    if from <= 0 {
        return Err(Error::new(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    if i32::try_from(from + count).is_err() {
        return Err(super::integers::out_of_range::<i32>());
    }
    let before = slice(bytes, 1, Some(from - 1))?;
    let after = slice(bytes, from + count, None)?;
    Ok(Value::bytea([before, new, after].concat()))
}

fn position(bytes: &[u8], part: &[u8]) -> i32 {
    memchr::memmem::find(bytes, part).map_or(0, |index| index as i32 + 1)
}

fn trim<'a>(bytes: &'a [u8], set: &[u8], start: bool, end: bool) -> &'a [u8] {
    let mut is_in_set = [false; 256];
    for byte in set {
        is_in_set[usize::from(*byte)] = true;
    }
    let is_kept = |byte: &u8| !is_in_set[usize::from(*byte)];
    let from = if start { bytes.iter().position(is_kept).unwrap_or(bytes.len()) } else { 0 };
    let kept = &bytes[from..];
    if end { &kept[..kept.iter().rposition(is_kept).map_or(0, |last| last + 1)] } else { kept }
}

fn check_index(index: i64, length: i64) -> Result<()> {
    if (0..length).contains(&index) {
        return Ok(());
    }
    Err(Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, format!("index {index} out of valid range, 0..{}", length - 1)))
}

fn set_bit(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Bytea bytes, Int8 index, Int4 bit);
    check_index(*index, bytes.len() as i64 * 8)?;
    let mut bytes = bytes.to_vec();
    let mask = 1 << (index % 8);
    match bit {
        0 => bytes[(index / 8) as usize] &= !mask,
        1 => bytes[(index / 8) as usize] |= mask,
        _ => return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1")),
    }
    Ok(Value::bytea(bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    for byte in bytes {
        push_hex(*byte, &mut out);
    }
    String::from_utf8(out).expect("hexadecimal digits are ASCII")
}

fn md5(bytes: &[u8]) -> String {
    hex(&md5::Md5::digest(bytes))
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 with a line break after every 76 characters.
fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + bytes.len() / 57 + 4);
    for (index, chunk) in bytes.chunks(3).enumerate() {
        if index > 0 && index % 19 == 0 {
            out.push('\n');
        }
        let word =
            chunk.iter().enumerate().fold(0_u32, |word, (place, byte)| word | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            if place <= chunk.len() {
                out.push(BASE64[(word >> (18 - 6 * place) & 63) as usize] as char);
            } else {
                out.push('=');
            }
        }
    }
    out
}

fn from_base64(text: &str) -> Result<Vec<u8>> {
    let invalid = |message: String| Error::new(sqlstate::INVALID_PARAMETER_VALUE, message);
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let mut word = 0_u32;
    let mut position = 0;
    let mut padding = 0;
    for character in text.chars() {
        let value = match character {
            ' ' | '\t' | '\n' | '\r' => continue,
            '=' => {
                if padding == 0 {
                    match position {
                        2 => padding = 1,
                        3 => padding = 2,
                        _ => return Err(invalid("unexpected \"=\" while decoding base64 sequence".to_owned())),
                    }
                }
                0
            }
            other => match BASE64.iter().position(|own| *own as char == other) {
                Some(value) => value as u32,
                None => {
                    return Err(invalid(format!("invalid symbol \"{other}\" found while decoding base64 sequence")));
                }
            },
        };
        word = word << 6 | value;
        position += 1;
        if position == 4 {
            out.push((word >> 16) as u8);
            if padding == 0 || padding > 1 {
                out.push((word >> 8) as u8);
            }
            if padding == 0 || padding > 2 {
                out.push(word as u8);
            }
            word = 0;
            position = 0;
        }
    }
    if position != 0 {
        return Err(invalid("invalid base64 end sequence".to_owned())
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted."));
    }
    Ok(out)
}

fn unknown_format(name: &str) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("unrecognized encoding: \"{name}\""))
}

fn encode(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Bytea bytes, Text format);
    Ok(Value::from(if format.eq_ignore_ascii_case("hex") {
        hex(bytes)
    } else if format.eq_ignore_ascii_case("base64") {
        to_base64(bytes)
    } else if format.eq_ignore_ascii_case("escape") {
        let mut out = Vec::new();
        for byte in bytes.iter() {
            match byte {
                b'\\' => out.extend_from_slice(b"\\\\"),
                0 | 0x80.. => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
                plain => out.push(*plain),
            }
        }
        String::from_utf8(out).expect("everything above ASCII was escaped")
    } else {
        return Err(unknown_format(format));
    }))
}

fn decode(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Text text, Text format);
    Ok(Value::bytea(if format.eq_ignore_ascii_case("hex") {
        string_types::parse_hex(text)?
    } else if format.eq_ignore_ascii_case("base64") {
        from_base64(text)?
    } else if format.eq_ignore_ascii_case("escape") {
        string_types::parse_escaped(text)?
    } else {
        return Err(unknown_format(format));
    }))
}

/// The encoding of this name. 22023 for one that there is not.
fn encoding(name: &str, role: &str) -> Result<Encoding> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" | "sqlascii" => Ok(Encoding::Utf8),
        "latin1" | "iso88591" => Ok(Encoding::Latin1),
        "win1252" | "windows1252" => {
            Err(Error::unsupported(format!("conversion between {name} and UTF8 is not supported")))
        }
        _ => Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid {role} encoding name \"{name}\""))),
    }
}

/// Encodings that text is converted from and to.
#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    /// One byte each for the first 256 characters of Unicode.
    Latin1,
}

fn decode_as(bytes: &[u8], encoding: Encoding) -> Result<Value> {
    match encoding {
        Encoding::Utf8 => Ok(Value::text(utf8(bytes)?)),
        Encoding::Latin1 if bytes.contains(&0) => {
            let message = "invalid byte sequence for encoding \"LATIN1\": 0x00";
            Err(Error::new(sqlstate::CHARACTER_NOT_IN_REPERTOIRE, message))
        }
        Encoding::Latin1 => Ok(Value::from(bytes.iter().map(|byte| char::from(*byte)).collect::<String>())),
    }
}

fn encode_as(text: &str, encoding: Encoding) -> Result<Value> {
    if matches!(encoding, Encoding::Utf8) {
        return Ok(Value::bytea(text.as_bytes()));
    }
    let byte = |character: char| {
        u8::try_from(u32::from(character)).map_err(|_| {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).bytes().map(|byte| format!("0x{byte:02x}"));
            let bytes = bytes.collect::<Vec<_>>().join(" ");
            let message = format!(
                "character with byte sequence {bytes} in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
            );
            Error::new(base::SqlState::new("22P05"), message)
        })
    };
    Ok(Value::bytea(text.chars().map(byte).collect::<Result<Vec<u8>>>()?))
}

/// A version 4 UUID.
fn random_uuid() -> Value {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Value::Uuid(bytes)
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(2010, "length", &[BYTEA], INT4, |_, a| { take!(a; Bytea b); Ok(Value::Int4(b.len() as i32)) }),
    FunctionDef::plain(720, "octet_length", &[BYTEA], INT4, |_, a| { take!(a; Bytea b); Ok(Value::Int4(b.len() as i32)) }),
    FunctionDef::plain(1713, "length", &[BYTEA, NAME], INT4, |_, a| { take!(a; Bytea b, Text encoding); let text = decode_as(b, self::encoding(encoding, "source")?)?; Ok(Value::Int4(super::text::character_count(text.as_str().unwrap_or("")))) }).stable(),
    FunctionDef::plain(1810, "bit_length", &[BYTEA], INT4, |_, a| { take!(a; Bytea b); Ok(Value::Int4(b.len() as i32 * 8)) }),
    FunctionDef::plain(2011, "byteacat", &[BYTEA, BYTEA], BYTEA, |_, a| { take!(a; Bytea l, Bytea r); Ok(Value::bytea([&l[..], &r[..]].concat())) }),
    FunctionDef::plain(2086, "substr", &[BYTEA, INT4], BYTEA, |_, a| { take!(a; Bytea b, Int4 from); Ok(Value::bytea(slice(b, i64::from(*from), None)?)) }),
    FunctionDef::plain(2085, "substr", &[BYTEA, INT4, INT4], BYTEA, |_, a| { take!(a; Bytea b, Int4 from, Int4 count); Ok(Value::bytea(slice(b, i64::from(*from), Some(i64::from(*count)))?)) }),
    FunctionDef::plain(2013, "substring", &[BYTEA, INT4], BYTEA, |_, a| { take!(a; Bytea b, Int4 from); Ok(Value::bytea(slice(b, i64::from(*from), None)?)) }),
    FunctionDef::plain(2012, "substring", &[BYTEA, INT4, INT4], BYTEA, |_, a| { take!(a; Bytea b, Int4 from, Int4 count); Ok(Value::bytea(slice(b, i64::from(*from), Some(i64::from(*count)))?)) }),
    FunctionDef::plain(752, "overlay", &[BYTEA, BYTEA, INT4], BYTEA, |_, a| { take!(a; Bytea b, Bytea new, Int4 from); overlay(b, new, i64::from(*from), new.len() as i64) }),
    FunctionDef::plain(749, "overlay", &[BYTEA, BYTEA, INT4, INT4], BYTEA, |_, a| { take!(a; Bytea b, Bytea new, Int4 from, Int4 count); overlay(b, new, i64::from(*from), i64::from(*count)) }),
    FunctionDef::plain(2014, "position", &[BYTEA, BYTEA], INT4, |_, a| { take!(a; Bytea b, Bytea part); Ok(Value::Int4(position(b, part))) }),
    FunctionDef::plain(2015, "btrim", &[BYTEA, BYTEA], BYTEA, |_, a| { take!(a; Bytea b, Bytea set); Ok(Value::bytea(trim(b, set, true, true))) }),
    FunctionDef::plain(6195, "ltrim", &[BYTEA, BYTEA], BYTEA, |_, a| { take!(a; Bytea b, Bytea set); Ok(Value::bytea(trim(b, set, true, false))) }),
    FunctionDef::plain(6196, "rtrim", &[BYTEA, BYTEA], BYTEA, |_, a| { take!(a; Bytea b, Bytea set); Ok(Value::bytea(trim(b, set, false, true))) }),
    FunctionDef::plain(721, "get_byte", &[BYTEA, INT4], INT4, |_, a| { take!(a; Bytea b, Int4 n); check_index(i64::from(*n), b.len() as i64)?; Ok(Value::Int4(i32::from(b[*n as usize]))) }),
    FunctionDef::plain(722, "set_byte", &[BYTEA, INT4, INT4], BYTEA, |_, a| { take!(a; Bytea b, Int4 n, Int4 new); check_index(i64::from(*n), b.len() as i64)?; let mut bytes = b.to_vec(); bytes[*n as usize] = *new as u8; Ok(Value::bytea(bytes)) }),
    FunctionDef::plain(723, "get_bit", &[BYTEA, INT8], INT4, |_, a| { take!(a; Bytea b, Int8 n); check_index(*n, b.len() as i64 * 8)?; Ok(Value::Int4(i32::from(b[(*n / 8) as usize] >> (n % 8) & 1))) }),
    FunctionDef::plain(724, "set_bit", &[BYTEA, INT8, INT4], BYTEA, set_bit),
    FunctionDef::plain(6163, "bit_count", &[BYTEA], INT8, |_, a| { take!(a; Bytea b); Ok(Value::Int8(b.iter().map(|byte| i64::from(byte.count_ones())).sum())) }),
    FunctionDef::plain(2311, "md5", &[TEXT], TEXT, |_, a| { take!(a; Text t); Ok(Value::from(md5(t.as_bytes()))) }),
    FunctionDef::plain(2321, "md5", &[BYTEA], TEXT, |_, a| { take!(a; Bytea b); Ok(Value::from(md5(b))) }),
    FunctionDef::plain(3419, "sha224", &[BYTEA], BYTEA, |_, a| { take!(a; Bytea b); Ok(Value::bytea(sha2::Sha224::digest(b).to_vec())) }),
    FunctionDef::plain(3420, "sha256", &[BYTEA], BYTEA, |_, a| { take!(a; Bytea b); Ok(Value::bytea(sha2::Sha256::digest(b).to_vec())) }),
    FunctionDef::plain(3421, "sha384", &[BYTEA], BYTEA, |_, a| { take!(a; Bytea b); Ok(Value::bytea(sha2::Sha384::digest(b).to_vec())) }),
    FunctionDef::plain(3422, "sha512", &[BYTEA], BYTEA, |_, a| { take!(a; Bytea b); Ok(Value::bytea(sha2::Sha512::digest(b).to_vec())) }),
    FunctionDef::plain(1946, "encode", &[BYTEA, TEXT], TEXT, encode),
    FunctionDef::plain(1947, "decode", &[TEXT, TEXT], BYTEA, decode),
    FunctionDef::plain(1714, "convert_from", &[BYTEA, NAME], TEXT, |_, a| { take!(a; Bytea b, Text encoding); decode_as(b, self::encoding(encoding, "source")?) }).stable(),
    FunctionDef::plain(1717, "convert_to", &[TEXT, NAME], BYTEA, |_, a| { take!(a; Text t, Text encoding); encode_as(t, self::encoding(encoding, "destination")?) }).stable(),
    FunctionDef::plain(1813, "convert", &[BYTEA, NAME, NAME], BYTEA, |_, a| { take!(a; Bytea b, Text from, Text to); let text = decode_as(b, encoding(from, "source")?)?; encode_as(text.as_str().unwrap_or(""), encoding(to, "destination")?) }).stable(),
    FunctionDef::plain(3432, "gen_random_uuid", &[], UUID, |_, _| Ok(random_uuid())).volatile(),
];
