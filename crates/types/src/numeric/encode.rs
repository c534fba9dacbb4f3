//! `numeric` as bytes: compact for rows, ordered for keys, and PostgreSQL's binary format.

use base::{Error, Result, sqlstate};
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{ToPrimitive, Zero};

use super::{MAX_SCALE, Numeric, ten_to};

const TAG_NAN: u8 = 0xFF;
const TAG_INFINITY: u8 = 0xFE;
const TAG_NEGATIVE_INFINITY: u8 = 0xFD;
/// The scale follows as two bytes.
const TAG_LONG_SCALE: u8 = 0xF0;

impl Numeric {
    /// Appends the form kept in rows: the scale in one byte (or a tag and two bytes), then the unscaled
    /// value, little endian two's complement, as few bytes as hold it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let scale = match self {
            Numeric::NaN => return out.push(TAG_NAN),
            Numeric::Infinity => return out.push(TAG_INFINITY),
            Numeric::NegativeInfinity => return out.push(TAG_NEGATIVE_INFINITY),
            Numeric::Small { scale, .. } => *scale,
            Numeric::Big(big) => big.scale,
        };
        if scale < u16::from(TAG_LONG_SCALE) {
            out.push(scale as u8);
        } else {
            out.push(TAG_LONG_SCALE);
            out.extend_from_slice(&scale.to_le_bytes());
        }
        match self {
            Numeric::Small { unscaled, .. } => {
                // leading bytes that only repeat the sign are left out
                let spare = if *unscaled < 0 { (!*unscaled).leading_zeros() } else { unscaled.leading_zeros() };
                let bytes = if *unscaled == 0 { 0 } else { 8 - (spare as usize - 1) / 8 };
                out.extend_from_slice(&unscaled.to_le_bytes()[..bytes]);
            }
            Numeric::Big(big) => out.extend_from_slice(&big.unscaled.to_signed_bytes_le()),
            _ => {}
        }
    }

    /// Reads what [`Numeric::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Numeric> {
        let damaged = || Error::corrupted("invalid stored numeric");
        let (&tag, rest) = bytes.split_first().ok_or_else(damaged)?;
        let (scale, digits) = match tag {
            TAG_NAN => return Ok(Numeric::NaN),
            TAG_INFINITY => return Ok(Numeric::Infinity),
            TAG_NEGATIVE_INFINITY => return Ok(Numeric::NegativeInfinity),
            TAG_LONG_SCALE if rest.len() >= 2 => (u16::from_le_bytes([rest[0], rest[1]]), &rest[2..]),
            tag if tag < TAG_LONG_SCALE => (u16::from(tag), rest),
            _ => return Err(damaged()),
        };
        if digits.len() <= 8 {
            let negative = digits.last().is_some_and(|byte| byte & 0x80 != 0);
            let mut padded = if negative { [0xFF; 8] } else { [0; 8] };
            padded[..digits.len()].copy_from_slice(digits);
            return Ok(Numeric::Small { unscaled: i64::from_le_bytes(padded), scale });
        }
        Numeric::from_parts(BigInt::from_signed_bytes_le(digits), u32::from(scale))
    }

    /// Appends bytes whose `memcmp` order is the order of SQL; equal numbers give equal bytes.
    ///
    /// A class byte; then for finite non-zero numbers the decimal exponent and the digits in pairs, inverted
    /// for negative ones.
    pub fn encode_key(&self, out: &mut Vec<u8>) {
        let class = match self {
            Numeric::NegativeInfinity => 0,
            Numeric::Infinity => 4,
            Numeric::NaN => 5,
            finite if finite.is_zero() => 2,
            finite if finite.signum() < 0 => 1,
            _ => 3,
        };
        out.push(class);
        if class != 1 && class != 3 {
            return;
        }
        let start = out.len();
        let mut buffer = itoa::Buffer::new();
        let big_digits;
        let (digits, scale) = match self {
            Numeric::Small { unscaled, scale } => (buffer.format(unscaled.unsigned_abs()), *scale),
            Numeric::Big(big) => {
                big_digits = big.unscaled.magnitude().to_string();
                (big_digits.as_str(), big.scale)
            }
            _ => ("", 0),
        };
        let exponent = digits.len() as i32 - i32::from(scale);
        out.extend_from_slice(&((exponent as u32) ^ (1 << 31)).to_be_bytes());
        for pair in digits.trim_end_matches('0').as_bytes().chunks(2) {
            let tens = (pair[0] - b'0') * 10;
            let ones = pair.get(1).map_or(0, |byte| byte - b'0');
            out.push(tens + ones + 1);
        }
        // ends the digits: below every pair, so that a prefix sorts first
        out.push(0);
        if class == 1 {
            for byte in &mut out[start..] {
                *byte = !*byte;
            }
        }
    }

    /// Appends PostgreSQL's binary form: digits in base 10000.
    pub fn write_binary(&self, out: &mut Vec<u8>) {
        let (sign, scale): (u16, u16) = match self {
            Numeric::NaN => (0xC000, 0),
            Numeric::Infinity => (0xD000, 0),
            Numeric::NegativeInfinity => (0xF000, 0),
            finite => (if finite.signum() < 0 { 0x4000 } else { 0 }, finite.scale().unwrap_or(0) as u16),
        };
        let mut groups: Vec<u16> = Vec::new();
        let mut weight = 0_i64;
        if let Some((unscaled, scale)) = self.to_parts().filter(|(unscaled, _)| !unscaled.is_zero()) {
            let fraction_groups = scale.div_ceil(4);
            let padded = unscaled.magnitude() * ten_to(fraction_groups * 4 - scale).magnitude();
            let digits = padded.to_string();
            let first = match digits.len() % 4 {
                0 => 4,
                other => other,
            };
            let (head, tail) = digits.split_at(first);
            groups.push(head.parse().unwrap_or(0));
            groups.extend(
                tail.as_bytes()
                    .chunks(4)
                    .map(|chunk| chunk.iter().fold(0, |group, byte| group * 10 + u16::from(byte - b'0'))),
            );
            weight = groups.len() as i64 - 1 - i64::from(fraction_groups);
            while groups.last() == Some(&0) {
                groups.pop();
            }
        }
        for word in [groups.len() as u16, weight as i16 as u16, sign, scale] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        for group in groups {
            out.extend_from_slice(&group.to_be_bytes());
        }
    }

    /// Reads PostgreSQL's binary form. 22P03.
    pub fn read_binary(bytes: &[u8]) -> Result<Numeric> {
        let invalid = |what: &str| {
            Error::new(sqlstate::INVALID_BINARY_REPRESENTATION, format!("invalid {what} in external \"numeric\" value"))
        };
        let word =
            |index: usize| bytes.get(index * 2..index * 2 + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        let too_short = || Error::new(sqlstate::PROTOCOL_VIOLATION, "insufficient data left in message");
        let count = usize::from(word(0).ok_or_else(too_short)?);
        let weight = i64::from(word(1).ok_or_else(too_short)? as i16);
        let sign = word(2).ok_or_else(too_short)?;
        let scale = u32::from(word(3).ok_or_else(too_short)?);
        match sign {
            0xC000 => return Ok(Numeric::NaN),
            0xD000 => return Ok(Numeric::Infinity),
            0xF000 => return Ok(Numeric::NegativeInfinity),
            0 | 0x4000 => {}
            _ => return Err(invalid("sign")),
        }
        if scale > MAX_SCALE {
            return Err(invalid("scale"));
        }
        let mut magnitude = BigUint::zero();
        for index in 0..count {
            let group = word(4 + index).ok_or_else(too_short)?;
            if group >= 10_000 {
                return Err(invalid("digit"));
            }
            magnitude = magnitude * 10_000_u32 + group;
        }
        // digits beyond the announced scale are cut off
        let shift = i64::from(scale) + 4 * (weight + 1 - count as i64);
        let magnitude = if magnitude.is_zero() {
            magnitude
        } else if shift >= 0 {
            magnitude * ten_to(shift as u32).magnitude()
        } else {
            magnitude / ten_to(-shift as u32).magnitude()
        };
        let sign = if sign == 0x4000 { Sign::Minus } else { Sign::Plus };
        Numeric::from_parts(BigInt::from_biguint(sign, magnitude), scale)
    }

    /// The unscaled value and scale if both are small: the common case of arithmetic loops.
    pub fn as_small(&self) -> Option<(i64, u16)> {
        match self {
            Numeric::Small { unscaled, scale } => Some((*unscaled, *scale)),
            Numeric::Big(big) => big.unscaled.to_i64().map(|unscaled| (unscaled, big.scale)),
            _ => None,
        }
    }
}
