//! `bit(n)` and `bit varying(n)`: strings of bits.

use std::cmp::Ordering;

use base::limits::VALUE_MAX_BYTES;
use base::{Error, Result, sqlstate};

use super::text_io::PIECE_BYTES;

/// The most bits that a string may have.
pub const LENGTH_MAX: usize = i32::MAX as usize - 7;

/// A string of bits. The first bit is the highest of the first byte; bits behind the last one are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BitString {
    length: usize,
    bytes: Vec<u8>,
}

#[cold]
fn too_long() -> Error {
    let message = format!("bit string length exceeds the maximum allowed ({LENGTH_MAX})");
    Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
}

#[cold]
fn wrong_length(length: usize, typmod: i32) -> Error {
    let message = format!("bit string length {length} does not match type bit({typmod})");
    Error::new(sqlstate::STRING_DATA_LENGTH_MISMATCH, message)
}

#[cold]
fn longer_than(typmod: i32) -> Error {
    let message = format!("bit string too long for type bit varying({typmod})");
    Error::new(sqlstate::STRING_DATA_RIGHT_TRUNCATION, message)
}

#[cold]
fn substring_error() -> Error {
    Error::new(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed")
}

/// The length that a modifier asks for, if it is one.
fn wanted(typmod: i32) -> Option<usize> {
    usize::try_from(typmod).ok().filter(|length| (1..=LENGTH_MAX).contains(length))
}

/// 22026 unless bits of this length are a `bit(n)`.
fn check_fixed(length: usize, typmod: i32) -> Result<()> {
    if wanted(typmod).is_some_and(|wanted| wanted != length) { Err(wrong_length(length, typmod)) } else { Ok(()) }
}

/// 22001 unless bits of this length are a `bit varying(n)`.
fn check_varying(length: usize, typmod: i32) -> Result<()> {
    if wanted(typmod).is_some_and(|wanted| wanted < length) { Err(longer_than(typmod)) } else { Ok(()) }
}

impl BitString {
    /// The first `length` bits of `bytes`, with zeros behind them if there are fewer.
    pub fn new(length: usize, mut bytes: Vec<u8>) -> BitString {
        bytes.resize(length.div_ceil(8), 0);
        if let Some(last) = bytes.last_mut()
            && !length.is_multiple_of(8)
        {
            *last &= 0xFF << (8 - length % 8);
        }
        BitString { length, bytes }
    }

    /// Bits as they were sent or stored. `None` unless there are as many bytes as that takes.
    pub fn from_bytes(length: usize, bytes: &[u8]) -> Option<BitString> {
        (length <= LENGTH_MAX && bytes.len() == length.div_ceil(8)).then(|| BitString::new(length, bytes.to_vec()))
    }

    /// How many bits there are.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The bits, eight a byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads binary digits, behind a `b` or not, or hexadecimal ones behind an `x`, as a `bit(n)`.
    ///
    /// # Errors
    /// 22P02; 22026 for another length; 54000
    pub fn parse_fixed(text: &str, typmod: i32) -> Result<BitString> {
        BitString::parse(text, |length| check_fixed(length, typmod))
    }

    /// The same as a `bit varying(n)`.
    ///
    /// # Errors
    /// 22P02; 22001 for one that is too long; 54000
    pub fn parse_varying(text: &str, typmod: i32) -> Result<BitString> {
        BitString::parse(text, |length| check_varying(length, typmod))
    }

    fn parse(text: &str, check: impl Fn(usize) -> Result<()>) -> Result<BitString> {
        let (digits, bits_each) = match text.as_bytes().first() {
            Some(b'b' | b'B') => (&text[1..], 1),
            Some(b'x' | b'X') => (&text[1..], 4),
            _ => (text, 1),
        };
        let length = digits.len() * bits_each;
        if length > LENGTH_MAX {
            return Err(too_long());
        }
        check(length)?;
        let mut bytes = vec![0_u8; length.div_ceil(8)];
        for (place, byte) in digits.bytes().enumerate() {
            if place % PIECE_BYTES == 0 {
                sync::yield_point()?;
            }
            let first_bit = place * bits_each;
            match char::from(byte).to_digit(1 << bits_each) {
                Some(digit) => bytes[first_bit / 8] |= (digit as u8) << (8 - bits_each - first_bit % 8),
                None => {
                    let shown = digits[place..].chars().next().unwrap_or_default();
                    let kind = if bits_each == 1 { "binary" } else { "hexadecimal" };
                    let message = format!("\"{shown}\" is not a valid {kind} digit");
                    return Err(Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message));
                }
            }
        }
        Ok(BitString { length, bytes })
    }

    /// Appends the bits as digits.
    ///
    /// # Errors
    /// 54000 if the text becomes too long; the error of an interrupt.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        if out.len() + self.length > VALUE_MAX_BYTES {
            return Err(Error::buffer_too_long(out.len(), self.length));
        }
        out.reserve(self.length);
        for place in 0..self.length {
            if place % PIECE_BYTES == 0 && place > 0 {
                sync::yield_point()?;
            }
            out.push(b'0' + self.bit(place));
        }
        Ok(())
    }

    /// Reads the binary form, whose length is known, as a `bit(n)`.
    ///
    /// # Errors
    /// 22P03; 22026 for another length
    pub fn received_fixed(length: i32, typmod: i32) -> Result<usize> {
        let length = received_length(length)?;
        check_fixed(length, typmod).map(|()| length)
    }

    /// The same as a `bit varying(n)`.
    ///
    /// # Errors
    /// 22P03; 22001 for one that is too long
    pub fn received_varying(length: i32, typmod: i32) -> Result<usize> {
        let length = received_length(length)?;
        check_varying(length, typmod).map(|()| length)
    }

    /// Fits bits into `bit(n)`: an explicit cast cuts off or fills with zeros.
    ///
    /// # Errors
    /// 22026
    pub fn fit_fixed(&self, typmod: i32, explicit: bool) -> Result<BitString> {
        match wanted(typmod) {
            Some(length) if explicit => Ok(BitString::new(length, self.bytes.clone())),
            _ => check_fixed(self.length, typmod).map(|()| self.clone()),
        }
    }

    /// Fits bits into `bit varying(n)`: an explicit cast cuts off.
    ///
    /// # Errors
    /// 22001
    pub fn fit_varying(&self, typmod: i32, explicit: bool) -> Result<BitString> {
        match wanted(typmod) {
            Some(length) if explicit => Ok(BitString::new(length.min(self.length), self.bytes.clone())),
            _ => check_varying(self.length, typmod).map(|()| self.clone()),
        }
    }

    /// The last `length` bits of a number, with its sign before them.
    pub fn from_integer(number: i64, length: usize) -> BitString {
        let sign = if number < 0 { 0xFF } else { 0 };
        let mut bytes = vec![sign; length.div_ceil(8).saturating_sub(8)];
        bytes.extend_from_slice(&number.to_be_bytes());
        // The bytes hold more bits than are wanted: the first ones go.
        let whole = BitString { length: bytes.len() * 8, bytes };
        whole.part(whole.length - length, whole.length)
    }

    /// The bits as a number of `size_bits` bits; `None` if there are more.
    pub fn to_integer(&self, size_bits: usize) -> Option<u64> {
        if self.length > size_bits {
            return None;
        }
        let number = self.bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        Some(number >> (self.bytes.len() * 8 - self.length))
    }

    /// The order of the type: by the bytes, then by the length.
    pub fn compare(&self, other: &BitString) -> Ordering {
        let common = self.bytes.len().min(other.bytes.len());
        self.bytes[..common].cmp(&other.bytes[..common]).then(self.length.cmp(&other.length))
    }

    fn bit(&self, place: usize) -> u8 {
        self.bytes[place / 8] >> (7 - place % 8) & 1
    }

    /// The bits from one place to before another.
    fn part(&self, from: usize, to: usize) -> BitString {
        let length = to - from;
        let (skipped, shift) = (from / 8, from % 8);
        let taken = &self.bytes[skipped..self.bytes.len().min(to.div_ceil(8))];
        if shift == 0 {
            return BitString::new(length, taken.to_vec());
        }
        let next = taken.iter().skip(1).copied().chain([0]);
        let bytes = taken.iter().zip(next).map(|(byte, next)| byte << shift | next >> (8 - shift)).collect();
        BitString::new(length, bytes)
    }

    /// Both, one behind the other.
    ///
    /// # Errors
    /// 54000
    pub fn concatenate(&self, other: &BitString) -> Result<BitString> {
        let length = self.length + other.length;
        if length > LENGTH_MAX {
            return Err(too_long());
        }
        let mut bytes = Vec::with_capacity(length.div_ceil(8) + 1);
        bytes.extend_from_slice(&self.bytes);
        match self.length % 8 {
            0 => bytes.extend_from_slice(&other.bytes),
            shift => {
                for byte in &other.bytes {
                    *bytes.last_mut().expect("bits before make a byte at least") |= byte >> shift;
                    bytes.push(byte << (8 - shift));
                }
            }
        }
        Ok(BitString::new(length, bytes))
    }

    /// The bits from a place on, counted from 1, so many or all.
    ///
    /// # Errors
    /// 22011 for fewer than none.
    pub fn substring(&self, from: i32, count: Option<i32>) -> Result<BitString> {
        let end = match count {
            Some(count) if count < 0 => return Err(substring_error()),
            Some(count) => (i64::from(from) + i64::from(count)).min(self.length as i64 + 1),
            None => self.length as i64 + 1,
        };
        let start = i64::from(from.max(1));
        if start >= end { Ok(BitString::default()) } else { Ok(self.part(start as usize - 1, end as usize - 1)) }
    }

    /// With other bits in the place of so many from a place on, counted from 1.
    ///
    /// # Errors
    /// 22011, 22003, 54000
    pub fn overlay(&self, other: &BitString, from: i32, count: i32) -> Result<BitString> {
        if from <= 0 {
            return Err(substring_error());
        }
        let behind = from
            .checked_add(count)
            .ok_or_else(|| Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"))?;
        let before = self.substring(1, Some(from - 1))?;
        before.concatenate(other)?.concatenate(&self.substring(behind, None)?)
    }

    /// Where `wanted` begins first, counted from 1; 0 if nowhere.
    ///
    /// # Errors
    /// The error of an interrupt.
    pub fn position(&self, wanted: &BitString) -> Result<i32> {
        if self.length == 0 || wanted.length > self.length {
            return Ok(0);
        }
        let mut looked_at = 0;
        for from in 0..=self.length - wanted.length {
            let common = (0..wanted.length).step_by(8).take_while(|place| {
                looked_at += 1;
                self.byte_from(from + place, wanted.length - place) == wanted.bytes[place / 8]
            });
            let is_here = common.count() * 8 >= wanted.length;
            if is_here {
                return Ok(from as i32 + 1);
            }
            looked_at += 1;
            if looked_at > PIECE_BYTES {
                sync::yield_point()?;
                looked_at = 0;
            }
        }
        Ok(0)
    }

    /// Eight bits from a place on, or fewer with zeros behind them.
    fn byte_from(&self, from: usize, count: usize) -> u8 {
        let byte = |place: usize| u16::from(self.bytes.get(place).copied().unwrap_or(0));
        let both = byte(from / 8) << 8 | byte(from / 8 + 1);
        let bits = (both >> (8 - from % 8)) as u8;
        if count >= 8 { bits } else { bits & 0xFF << (8 - count) }
    }

    /// The bits moved to the right, or to the left for fewer than none; the length stays.
    pub fn shifted(&self, places: i64) -> BitString {
        let distance = places.unsigned_abs().min(self.length as u64) as usize;
        if places < 0 {
            return BitString::new(self.length, self.part(distance, self.length).bytes);
        }
        let zeros = BitString::new(distance, Vec::new());
        let kept = self.part(0, self.length - distance);
        zeros.concatenate(&kept).unwrap_or_default()
    }

    /// Each bit the other way round.
    pub fn inverted(&self) -> BitString {
        BitString::new(self.length, self.bytes.iter().map(|byte| !byte).collect())
    }

    /// The bits of two strings of the same length combined.
    ///
    /// # Errors
    /// 22026 for lengths that differ: `name` is the operation's.
    pub fn combined(&self, other: &BitString, name: &str, combine: fn(u8, u8) -> u8) -> Result<BitString> {
        if self.length != other.length {
            let message = format!("cannot {name} bit strings of different sizes");
            return Err(Error::new(sqlstate::STRING_DATA_LENGTH_MISMATCH, message));
        }
        let bytes = self.bytes.iter().zip(&other.bytes).map(|(left, right)| combine(*left, *right)).collect();
        Ok(BitString { length: self.length, bytes })
    }

    /// How many bits are set.
    pub fn ones(&self) -> i64 {
        self.bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()
    }

    /// The place as an index of a bit, from 0. 2202E
    fn index(&self, place: i32) -> Result<usize> {
        usize::try_from(place).ok().filter(|index| *index < self.length).ok_or_else(|| {
            let last = self.length as i64 - 1;
            let message = format!("bit index {place} out of valid range (0..{last})");
            Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message)
        })
    }

    /// The bit at a place, from 0.
    ///
    /// # Errors
    /// 2202E
    pub fn get(&self, place: i32) -> Result<i32> {
        Ok(i32::from(self.bit(self.index(place)?)))
    }

    /// The same with the bit at a place changed.
    ///
    /// # Errors
    /// 2202E; 22023 for what is no bit.
    pub fn with(&self, place: i32, bit: i32) -> Result<BitString> {
        let index = self.index(place)?;
        let mask = 0x80 >> (index % 8);
        let mut changed = self.clone();
        match bit {
            0 => changed.bytes[index / 8] &= !mask,
            1 => changed.bytes[index / 8] |= mask,
            _ => return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1")),
        }
        Ok(changed)
    }
}

fn received_length(length: i32) -> Result<usize> {
    usize::try_from(length)
        .ok()
        .filter(|length| *length <= LENGTH_MAX)
        .ok_or_else(|| Error::new(sqlstate::INVALID_BINARY_REPRESENTATION, "invalid length in external bit string"))
}
