//! Text input and output of `numeric`.

use std::io::Write;

use base::{Error, Result, sqlstate};
use num_bigint::BigInt;

use super::{MAX_INTEGER_DIGITS, MAX_SCALE, Numeric, overflow, ten_to};

#[cold]
fn invalid(text: &str) -> Error {
    Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, format!("invalid input syntax for type numeric: \"{text}\""))
}

impl Numeric {
    /// Reads a number as `numeric`'s input function does. 22P02, 22003.
    pub fn parse(text: &str) -> Result<Numeric> {
        let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        let (negative, signed, rest) = match trimmed.as_bytes().first() {
            Some(b'-') => (true, true, &trimmed[1..]),
            Some(b'+') => (false, true, &trimmed[1..]),
            _ => (false, false, trimmed),
        };
        let starts_number = rest.as_bytes().first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
        if !starts_number {
            return if !signed && rest.eq_ignore_ascii_case("nan") {
                Ok(Numeric::NaN)
            } else if rest.eq_ignore_ascii_case("infinity") || rest.eq_ignore_ascii_case("inf") {
                Ok(if negative { Numeric::NegativeInfinity } else { Numeric::Infinity })
            } else {
                Err(invalid(text))
            };
        }
        let bytes = rest.as_bytes();
        let whole = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut position = whole;
        let mut fraction = 0;
        if bytes.get(position) == Some(&b'.') {
            position += 1;
            fraction = bytes[position..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            position += fraction;
        }
        if whole + fraction == 0 {
            return Err(invalid(text));
        }
        let digits_end = position;
        let exponent = match bytes.get(position) {
            None => 0,
            Some(b'e' | b'E') => parse_exponent(&rest[position + 1..], text)?,
            Some(_) => return Err(invalid(text)),
        };

        if exponent == 0 && whole + fraction <= 18 {
            let mut unscaled = 0_i64;
            for byte in bytes[..digits_end].iter().filter(|byte| **byte != b'.') {
                unscaled = unscaled * 10 + i64::from(byte - b'0');
            }
            return Ok(Numeric::Small {
                unscaled: if negative { -unscaled } else { unscaled },
                scale: fraction as u16,
            });
        }
        let digits: String = rest[..digits_end].chars().filter(|c| *c != '.').collect();
        let significant = digits.trim_start_matches('0');
        let scale = (fraction as i64 - exponent).max(0);
        if !significant.is_empty() && significant.len() as i64 - fraction as i64 + exponent > MAX_INTEGER_DIGITS {
            return Err(overflow());
        }
        if scale > i64::from(MAX_SCALE) {
            return Err(overflow());
        }
        let mut unscaled: BigInt =
            if significant.is_empty() { BigInt::ZERO } else { significant.parse().map_err(|_| invalid(text))? };
        let shift = exponent - fraction as i64 + scale;
        if shift > 0 && !significant.is_empty() {
            unscaled *= ten_to(shift as u32);
        }
        Numeric::from_parts(if negative { -unscaled } else { unscaled }, scale as u32)
    }

    /// Appends the number as it is shown.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Numeric::Small { unscaled, scale } => {
                let mut buffer = itoa::Buffer::new();
                write_digits(*unscaled < 0, buffer.format(unscaled.unsigned_abs()), usize::from(*scale), out);
            }
            Numeric::Big(big) => {
                let digits = big.unscaled.magnitude().to_string();
                write_digits(big.unscaled.sign() == num_bigint::Sign::Minus, &digits, usize::from(big.scale), out);
            }
            Numeric::NaN => out.extend_from_slice(b"NaN"),
            Numeric::Infinity => out.extend_from_slice(b"Infinity"),
            Numeric::NegativeInfinity => out.extend_from_slice(b"-Infinity"),
        }
    }

    /// The number with an exponent and one digit before the point, as `to_char` shows it. If rounding carries beyond that
    /// digit there are two before the point, as PostgreSQL has it.
    pub fn to_scientific(&self, fraction_digits: usize) -> String {
        let Some((unscaled, scale)) = self.to_parts() else { return self.to_string() };
        let negative = unscaled.sign() == num_bigint::Sign::Minus;
        let mut digits = unscaled.magnitude().to_string();
        let exponent = if digits == "0" { 0 } else { digits.len() as i64 - 1 - i64::from(scale) };
        if digits.len() > fraction_digits + 1 {
            let drop = (digits.len() - fraction_digits - 1) as u32;
            let rounded = super::divide_by_power(&BigInt::from(unscaled.magnitude().clone()), drop, true);
            digits = rounded.to_string();
        }
        while digits.len() < fraction_digits + 1 {
            digits.push('0');
        }
        let mut out = Vec::new();
        if negative {
            out.push(b'-');
        }
        let (whole, fraction) = digits.split_at(digits.len() - fraction_digits);
        out.extend_from_slice(whole.as_bytes());
        if fraction_digits > 0 {
            out.push(b'.');
            out.extend_from_slice(fraction.as_bytes());
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "e{sign}{:02}", exponent.abs()).expect("a Vec takes everything");
        String::from_utf8(out).expect("digits are ASCII")
    }
}

impl std::fmt::Display for Numeric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::new();
        self.write(&mut out);
        f.write_str(std::str::from_utf8(&out).expect("digits are ASCII"))
    }
}

fn parse_exponent(exponent: &str, text: &str) -> Result<i64> {
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid(text));
    }
    match exponent.parse::<i64>() {
        Ok(value) if value.abs() < i64::from(i32::MAX / 2) => Ok(value),
        _ => Err(overflow()),
    }
}

fn write_digits(negative: bool, digits: &str, scale: usize, out: &mut Vec<u8>) {
    if negative {
        out.push(b'-');
    }
    if scale == 0 {
        out.extend_from_slice(digits.as_bytes());
        return;
    }
    if digits.len() <= scale {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + scale - digits.len(), b'0');
        out.extend_from_slice(digits.as_bytes());
    } else {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.extend_from_slice(whole.as_bytes());
        out.push(b'.');
        out.extend_from_slice(fraction.as_bytes());
    }
}
