//! Text forms of the machine's numbers.

use std::fmt::LowerExp;
use std::str::FromStr;

use base::{Error, Result, sqlstate};

use super::value::Value;

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// 22P02 `invalid input syntax for type T: "text"`.
#[cold]
pub fn invalid_syntax(type_name: &str, text: &str) -> Error {
    Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, format!("invalid input syntax for type {type_name}: \"{text}\""))
}

/// 22003 `value "text" is out of range for type T`.
#[cold]
pub fn out_of_range(type_name: &str, text: &str) -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("value \"{text}\" is out of range for type {type_name}"))
}

/// Reads a decimal integer within `[min, max]`, blanks around it allowed. 22P02, 22003.
pub fn parse_integer(text: &str, type_name: &str, min: i64, max: i64) -> Result<i64> {
    let bytes = text.as_bytes();
    if (1..=9).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit) {
        let value = bytes.iter().fold(0_u32, |value, byte| value * 10 + u32::from(byte - b'0'));
        if i64::from(value) <= max {
            return Ok(i64::from(value));
        }
    }
    let mut position = bytes.iter().take_while(|byte| is_space(**byte)).count();
    let negative = match bytes.get(position) {
        Some(b'-') => {
            position += 1;
            true
        }
        Some(b'+') => {
            position += 1;
            false
        }
        _ => false,
    };
    let first_digit = position;
    // accumulated below zero, where there is room for one more
    let mut value = 0_i64;
    // A number that is too large is reported before junk behind it, as in PostgreSQL. `oid` is read as a 64-bit number.
    let least = if max == -(min + 1) { min } else { i64::MIN };
    while let Some(byte) = bytes.get(position).filter(|byte| byte.is_ascii_digit()) {
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_sub(i64::from(byte - b'0')))
            .filter(|value| *value >= least)
            .ok_or_else(|| out_of_range(type_name, text))?;
        position += 1;
    }
    if position == first_digit || !bytes[position..].iter().all(|byte| is_space(*byte)) {
        return Err(invalid_syntax(type_name, text));
    }
    let value = if negative { Some(value) } else { value.checked_neg() };
    value.filter(|value| (min..=max).contains(value)).ok_or_else(|| out_of_range(type_name, text))
}

/// `smallint`
pub fn parse_int2(text: &str) -> Result<i16> {
    parse_integer(text, "smallint", i64::from(i16::MIN), i64::from(i16::MAX)).map(|value| value as i16)
}

/// `integer`
pub fn parse_int4(text: &str) -> Result<i32> {
    parse_integer(text, "integer", i64::from(i32::MIN), i64::from(i32::MAX)).map(|value| value as i32)
}

/// `bigint`
pub fn parse_int8(text: &str) -> Result<i64> {
    parse_integer(text, "bigint", i64::MIN, i64::MAX)
}

/// `oid`: unsigned; negative numbers wrap as PostgreSQL lets them.
pub fn parse_oid(text: &str) -> Result<u32> {
    parse_integer(text, "oid", i64::from(i32::MIN), i64::from(u32::MAX)).map(|value| value as u32)
}

/// Appends a decimal integer.
#[inline]
pub fn write_integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// The bytes at the front of `bytes` that make a decimal floating-point number.
fn float_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent_sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + exponent_sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + exponent_sign + exponent;
        }
    }
    end
}

/// A float type as text input sees it.
trait Float: std::str::FromStr + Copy + PartialEq {
    const TYPE_NAME: &'static str;
    const SPECIAL: [Self; 3];
    fn is_zero(self) -> bool;
    fn is_infinite(self) -> bool;
    /// The part of the text that the error for a number out of range shows: `float8` shows the number, `float4` the whole text.
    fn shown_when_out_of_range<'t>(text: &'t str, number: &'t str) -> &'t str;
}

impl Float for f64 {
    const TYPE_NAME: &'static str = "double precision";
    const SPECIAL: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    fn is_zero(self) -> bool {
        self == 0.0
    }
    fn is_infinite(self) -> bool {
        f64::is_infinite(self)
    }
    fn shown_when_out_of_range<'t>(_text: &'t str, number: &'t str) -> &'t str {
        number
    }
}

impl Float for f32 {
    const TYPE_NAME: &'static str = "real";
    const SPECIAL: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    fn is_zero(self) -> bool {
        self == 0.0
    }
    fn is_infinite(self) -> bool {
        f32::is_infinite(self)
    }
    fn shown_when_out_of_range<'t>(text: &'t str, _number: &'t str) -> &'t str {
        text
    }
}

/// The value of a number in hexadecimal digits, as C reads it: `0x1.8p3`.
fn hexadecimal(text: &str) -> Option<f64> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let rest = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"))?;
    let (digits, exponent) = match rest.split_once(['p', 'P']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // More digits than a mantissa has only say whether there is something behind it.
    let (mut mantissa, mut scale) = (0_u64, exponent);
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if mantissa >> 58 == 0 {
            mantissa = mantissa << 4 | digit;
        } else {
            mantissa |= u64::from(digit > 0);
            scale = scale.saturating_add(4);
        }
    }
    scale = scale.saturating_sub(4 * i32::try_from(fraction.len()).ok()?);
    let value = mantissa as f64 * 2_f64.powi(scale.clamp(-1000, 1000)) * 2_f64.powi(scale - scale.clamp(-1000, 1000));
    Some(if negative { -value } else { value })
}

fn parse_float<F: Float>(text: &str) -> Result<F> {
    let trimmed = text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    if trimmed.len() > 2
        && trimmed.contains(['x', 'X'])
        && let Some(value) = hexadecimal(trimmed.trim_end_matches(|c: char| c.is_ascii() && is_space(c as u8)))
    {
        // The shortest text of a double is read as that double.
        return parse_float(&value.to_string());
    }
    let length = float_length(trimmed.as_bytes());
    let (number, rest) = trimmed.split_at(length);
    let rest_is_blank = |rest: &str| rest.bytes().all(is_space);
    if length == 0 {
        let word = trimmed.trim_end_matches(|c: char| c.is_ascii() && is_space(c as u8));
        let [nan, infinity, negative_infinity] = F::SPECIAL;
        let (negative, bare) = match word.as_bytes().first() {
            Some(b'-') => (true, &word[1..]),
            Some(b'+') => (false, &word[1..]),
            _ => (false, word),
        };
        return if bare.eq_ignore_ascii_case("nan") {
            Ok(nan)
        } else if bare.eq_ignore_ascii_case("infinity") || bare.eq_ignore_ascii_case("inf") {
            Ok(if negative { negative_infinity } else { infinity })
        } else {
            Err(invalid_syntax(F::TYPE_NAME, text))
        };
    }
    let value: F = number.parse().map_err(|_| invalid_syntax(F::TYPE_NAME, text))?;
    let mantissa_is_zero = || {
        let mantissa = number.split(['e', 'E']).next().unwrap_or(number);
        !mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte))
    };
    if value.is_infinite() || (value.is_zero() && !mantissa_is_zero()) {
        return Err(Error::new(
            sqlstate::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("\"{}\" is out of range for type {}", F::shown_when_out_of_range(text, number), F::TYPE_NAME),
        ));
    }
    // PostgreSQL looks at the range first.
    if !rest_is_blank(rest) {
        return Err(invalid_syntax(F::TYPE_NAME, text));
    }
    Ok(value)
}

/// `double precision`
pub fn parse_float8(text: &str) -> Result<f64> {
    parse_float(text)
}

/// `real`
pub fn parse_float4(text: &str) -> Result<f32> {
    parse_float(text)
}

/// Appends a `double precision` as PostgreSQL shows it.
pub fn write_float8(value: f64, extra_float_digits: i32, out: &mut Vec<u8>) {
    if write_special(value, out) {
        return;
    }
    if extra_float_digits > 0 {
        if value.abs() >= LEAST_ON_BOUNDARY_FLOAT8
            && let Some(text) = beside_boundary(value)
        {
            return write_shortest(&text, 15, out);
        }
        write_shortest(ryu::Buffer::new().format_finite(value), 15, out);
    } else {
        write_general(value, (15 + extra_float_digits).max(1) as usize, out);
    }
}

/// Appends a `real` as PostgreSQL shows it.
pub fn write_float4(value: f32, extra_float_digits: i32, out: &mut Vec<u8>) {
    if write_special(f64::from(value), out) {
        return;
    }
    if extra_float_digits > 0 {
        if value.abs() >= LEAST_ON_BOUNDARY_FLOAT4
            && let Some(text) = beside_boundary(value)
        {
            return write_shortest(&text, 6, out);
        }
        write_shortest(ryu::Buffer::new().format_finite(value), 6, out);
    } else {
        write_general(f64::from(value), (6 + extra_float_digits).max(1) as usize, out);
    }
}

/// From these values on, half the distance between neighbours is an even number, which can be a multiple of 10. So a short decimal can lie
/// half-way between two floats; below, none does.
const LEAST_ON_BOUNDARY_FLOAT8: f64 = (1_u64 << 54) as f64;
const LEAST_ON_BOUNDARY_FLOAT4: f32 = (1_u32 << 25) as f32;

/// The shortest text of a value whose very shortest one lies exactly half-way to the next float: it would be read as this
/// value only by the rule for ties, and PostgreSQL does not choose it.
fn beside_boundary<F: Copy + PartialEq + FromStr + LowerExp>(value: F) -> Option<String> {
    let reads_as_value = |text: &str| text.parse::<F>().is_ok_and(|read| read == value);
    let is_boundary = |text: &str| {
        let (digits, exponent) = text.split_once('e')?;
        let dot = if digits.contains('.') { "" } else { "." };
        let above = reads_as_value(&format!("{digits}{dot}0000000000000000000001e{exponent}"));
        let (rest, last) = digits.split_at(digits.len() - 1);
        let last = last.parse::<u32>().ok().filter(|last| *last > 0)?;
        let below = reads_as_value(&format!("{rest}{}{dot}9999999999999999999999e{exponent}", last - 1));
        Some(!above || !below)
    };
    if !is_boundary(&format!("{value:e}"))? {
        return None;
    }
    (0..17)
        .map(|digits| format!("{value:.digits$e}"))
        .find(|text| reads_as_value(text) && is_boundary(text) == Some(false))
}

/// The text of a double in its shortest form.
pub fn float8_text(value: f64) -> String {
    let mut out = Vec::new();
    write_float8(value, 1, &mut out);
    String::from_utf8(out).expect("digits are ASCII")
}

fn write_special(value: f64, out: &mut Vec<u8>) -> bool {
    let text: &[u8] = if value.is_nan() {
        b"NaN"
    } else if value == f64::INFINITY {
        b"Infinity"
    } else if value == f64::NEG_INFINITY {
        b"-Infinity"
    } else {
        return false;
    };
    out.extend_from_slice(text);
    true
}

/// Appends digits that `ryu` chose in the layout of PostgreSQL: plain for exponents from -4 to below `limit`.
fn write_shortest(text: &str, limit: i32, out: &mut Vec<u8>) {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    if unsigned.len() < text.len() {
        out.push(b'-');
    }
    let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = [0_u8; 40];
    let mut count = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        digits[count] = byte;
        count += 1;
    }
    let leading_zeros = digits[..count].iter().take_while(|digit| **digit == b'0').count();
    let trailing_zeros = digits[leading_zeros..count].iter().rev().take_while(|digit| **digit == b'0').count();
    let significant = &digits[leading_zeros..count - trailing_zeros];
    if significant.is_empty() {
        out.push(b'0');
        return;
    }
    let exponent = exponent.parse::<i32>().unwrap_or(0) + whole.len() as i32 - 1 - leading_zeros as i32;
    write_layout(significant, exponent, limit, out);
}

/// Appends significant digits whose first has the decimal weight `exponent`, plain or with an exponent.
fn write_layout(digits: &[u8], exponent: i32, limit: i32, out: &mut Vec<u8>) {
    if exponent < -4 || exponent >= limit {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        write_integer(exponent.abs(), out);
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-exponent - 1) as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            out.extend_from_slice(digits);
            out.resize(out.len() + whole - digits.len(), b'0');
        } else {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}

/// Appends `value` as C's `%.<precision>g` does.
fn write_general(value: f64, precision: usize, out: &mut Vec<u8>) {
    let text = format!("{value:.*e}", precision - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let negative = mantissa.starts_with('-');
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let kept = digits.len() - digits.iter().rev().take_while(|digit| **digit == b'0').count();
    if negative {
        out.push(b'-');
    }
    if kept == 0 {
        out.push(b'0');
        return;
    }
    write_layout(&digits[..kept], exponent, precision as i32, out);
}

/// `bool`: any unambiguous prefix of true, false, yes, no; on, off, 1, 0; blanks around it.
pub fn parse_bool(text: &str) -> Result<bool> {
    let word = text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8));
    bool_word(word).ok_or_else(|| invalid_syntax("boolean", text))
}

/// The truth a word stands for, if any: what settings accept too.
pub fn bool_word(word: &str) -> Option<bool> {
    let is_prefix_of =
        |whole: &str| !word.is_empty() && whole.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if is_prefix_of("true") || is_prefix_of("yes") || word.eq_ignore_ascii_case("on") || word == "1" {
        Some(true)
    } else if is_prefix_of("false") || is_prefix_of("no") || (word.len() > 1 && is_prefix_of("off")) || word == "0" {
        Some(false)
    } else {
        None
    }
}

/// `uuid`
pub fn parse_uuid(text: &str) -> Result<Value> {
    let invalid = || invalid_syntax("uuid", text);
    let bytes = text.as_bytes();
    let inner = match (bytes.first(), bytes.last()) {
        (Some(b'{'), Some(b'}')) if bytes.len() > 1 => &bytes[1..bytes.len() - 1],
        (Some(b'{'), _) => return Err(invalid()),
        _ => bytes,
    };
    let mut uuid = [0_u8; 16];
    let mut position = 0;
    for (index, byte) in uuid.iter_mut().enumerate() {
        let pair = inner.get(position..position + 2).ok_or_else(invalid)?;
        let digit = |byte: u8| (byte as char).to_digit(16).ok_or_else(invalid);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        position += 2;
        // a hyphen may follow every four digits
        if index % 2 == 1 && index < 15 && inner.get(position) == Some(&b'-') {
            position += 1;
        }
    }
    if position == inner.len() { Ok(Value::Uuid(uuid)) } else { Err(invalid()) }
}

/// Appends a `uuid`.
pub fn write_uuid(uuid: &[u8; 16], out: &mut Vec<u8>) {
    for (index, byte) in uuid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        push_hex(*byte, out);
    }
}

/// Appends a byte as two hexadecimal digits.
pub fn push_hex(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

/// `pg_lsn`: two hexadecimal numbers with a slash between.
pub fn parse_pg_lsn(text: &str) -> Result<u64> {
    let part = |part: &str| {
        let valid = (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        valid.then(|| u64::from_str_radix(part, 16).ok()).flatten()
    };
    text.split_once('/')
        .and_then(|(high, low)| Some(part(high)? << 32 | part(low)?))
        .ok_or_else(|| invalid_syntax("pg_lsn", text))
}

/// `tid`: `(block,slot)`.
pub fn parse_tid(text: &str) -> Result<Value> {
    let inner = text.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner
        .and_then(|inner| inner.split_once(','))
        .and_then(|(block, slot)| Some(base::Tid::new(block.trim().parse().ok()?, slot.trim().parse().ok()?)))
        .map(Value::Tid)
        .ok_or_else(|| invalid_syntax("tid", text))
}

/// `xid`, `cid`, `xid8`: unsigned, octal and hexadecimal prefixes as C's `strtoul` has them, which takes any text.
pub fn parse_xid(text: &str) -> u64 {
    let unsigned = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0B');
    let (negative, unsigned) = match unsigned.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, unsigned.strip_prefix('+').unwrap_or(unsigned)),
    };
    let hex = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
    let (digits, radix) = match hex.filter(|hex| hex.starts_with(|c: char| c.is_ascii_hexdigit())) {
        Some(hex) => (hex, 16),
        None => (unsigned, if unsigned.starts_with('0') { 8 } else { 10 }),
    };
    // Text behind the digits, or in their place, is passed over.
    let mut value = 0_u64;
    for digit in digits.chars().map_while(|c| c.to_digit(radix)) {
        match value.checked_mul(u64::from(radix)).and_then(|value| value.checked_add(u64::from(digit))) {
            Some(next) => value = next,
            None => return u64::MAX,
        }
    }
    if negative { value.wrapping_neg() } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_postgresql_reads_them() {
        assert_eq!(parse_int4("  -42 ").unwrap(), -42);
        assert_eq!(parse_int8("-9223372036854775808").unwrap(), i64::MIN);
        assert_eq!(parse_int2("32768").unwrap_err().message(), "value \"32768\" is out of range for type smallint");
        assert_eq!(parse_int4("1x").unwrap_err().message(), "invalid input syntax for type integer: \"1x\"");
        assert_eq!(parse_int4("").unwrap_err().message(), "invalid input syntax for type integer: \"\"");
        assert_eq!(parse_oid("-1").unwrap(), u32::MAX);
    }

    #[test]
    fn floats_are_shown_as_postgresql_shows_them() {
        for (value, text) in [
            (0.1, "0.1"),
            (1e15, "1e+15"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0"),
            (1.5e300, "1.5e+300"),
            (100.0, "100"),
        ] {
            assert_eq!(float8_text(value), text);
        }
        let mut out = Vec::new();
        write_float4(1e6, 1, &mut out);
        assert_eq!(out, b"1e+06");
        out.clear();
        write_float8(0.1 + 0.2, 0, &mut out);
        assert_eq!(out, b"0.3");
    }

    #[test]
    fn floats_out_of_range_are_refused() {
        assert_eq!(parse_float8("1e400").unwrap_err().message(), "\"1e400\" is out of range for type double precision");
        assert!(parse_float8("1e-400").is_err());
        assert_eq!(parse_float8("0e-400").unwrap(), 0.0);
        assert_eq!(parse_float8(" -inf ").unwrap(), f64::NEG_INFINITY);
        assert!(parse_float8("1.5 x").is_err());
    }
}
