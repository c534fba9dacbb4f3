//! Text form of `money`, with `lc_monetary` C: hundredths of a dollar.

use base::Result;

use super::number_text::{invalid_syntax, out_of_range};

/// Hundredths in a dollar.
pub const CENTS: i64 = 100;
/// Digits behind the point.
const DECIMALS: u32 = 2;

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0B
}

/// The rest of a text.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn first(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Passes the next byte if it is this one.
    fn passes(&mut self, wanted: u8) -> bool {
        let is_there = self.first() == Some(wanted);
        self.0 = &self.0[usize::from(is_there)..];
        is_there
    }

    fn skip_blanks(&mut self) {
        while self.first().is_some_and(is_space) {
            self.0 = &self.0[1..];
        }
    }

    fn digit(&self) -> Option<i64> {
        self.first().filter(u8::is_ascii_digit).map(|digit| i64::from(digit - b'0'))
    }
}

/// Reads an amount: `$1,234.56`, `-1`, `(5)`.
///
/// # Errors
/// 22P02; 22003 for one that is too large.
pub fn parse(text: &str) -> Result<i64> {
    let too_large = || out_of_range("money", text);
    let mut rest = Rest(text.as_bytes());
    rest.skip_blanks();
    rest.passes(b'$');
    rest.skip_blanks();
    let mut is_negative = rest.passes(b'-') || rest.passes(b'(');
    if !is_negative {
        rest.passes(b'+');
    }
    rest.skip_blanks();
    rest.passes(b'$');
    rest.skip_blanks();
    // Gathered below zero, where there is room for one more.
    let cents = below_zero(&mut rest).ok_or_else(too_large)?;
    while rest.digit().is_some() {
        rest.0 = &rest.0[1..];
    }
    while let Some(byte) = rest.first() {
        match byte {
            b'-' => is_negative = true,
            b')' | b'+' | b'$' => {}
            blank if is_space(blank) => {}
            _ => return Err(invalid_syntax("money", text)),
        }
        rest.0 = &rest.0[1..];
    }
    if is_negative { Ok(cents) } else { cents.checked_neg().ok_or_else(too_large) }
}

/// The digits before and behind the point, rounded to hundredths, as a number below zero. `None` if there are too many.
fn below_zero(rest: &mut Rest<'_>) -> Option<i64> {
    let (mut value, mut decimals, mut seen_point) = (0_i64, 0, false);
    while let Some(byte) = rest.first() {
        match rest.digit() {
            Some(digit) if decimals < DECIMALS => {
                value = value.checked_mul(10)?.checked_sub(digit)?;
                decimals += u32::from(seen_point);
            }
            None if byte == b'.' && !seen_point => seen_point = true,
            None if byte == b',' => {}
            _ => break,
        }
        rest.0 = &rest.0[1..];
    }
    if rest.digit().is_some_and(|digit| digit >= 5) {
        value = value.checked_sub(1)?;
    }
    value.checked_mul(10_i64.pow(DECIMALS - decimals))
}

/// Appends an amount: `-$1,234.56`.
pub fn write(cents: i64, out: &mut Vec<u8>) {
    if cents < 0 {
        out.push(b'-');
    }
    out.push(b'$');
    let amount = cents.unsigned_abs();
    let dollars = (amount / CENTS as u64).to_string();
    for (place, digit) in dollars.bytes().enumerate() {
        if place > 0 && (dollars.len() - place).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(digit);
    }
    let cents = (amount % CENTS as u64) as u8;
    out.extend_from_slice(&[b'.', b'0' + cents / 10, b'0' + cents % 10]);
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
/// From a thousand on; what is beyond has no words.
const GROUPS: [&str; 6] = ["", " thousand ", " million ", " billion ", " trillion ", " quadrillion "];

/// A number below a thousand in words.
fn group_in_words(number: u64) -> String {
    let (hundreds, rest) = ((number / 100) as usize, (number % 100) as usize);
    let below_hundred = match rest {
        0..20 => SMALL[rest].to_owned(),
        _ if rest % 10 == 0 => TENS[rest / 10].to_owned(),
        _ => format!("{} {}", TENS[rest / 10], SMALL[rest % 10]),
    };
    match (hundreds, rest) {
        (0, _) => below_hundred,
        (_, 0) => format!("{} hundred", SMALL[hundreds]),
        (_, 1..20) => format!("{} hundred and {below_hundred}", SMALL[hundreds]),
        _ => format!("{} hundred {below_hundred}", SMALL[hundreds]),
    }
}

/// An amount in words, as on a check.
pub fn in_words(cents: i64) -> String {
    let amount = cents.unsigned_abs();
    let (dollars, cents_left) = (amount / CENTS as u64, amount % CENTS as u64);
    let mut words = if cents < 0 { "minus ".to_owned() } else { String::new() };
    let sign_bytes = words.len();
    for (power, name) in GROUPS.iter().enumerate().rev() {
        let group = dollars / 1000_u64.pow(power as u32) % 1000;
        if group > 0 {
            words.push_str(&group_in_words(group));
            words.push_str(name);
        }
    }
    if words.len() == sign_bytes {
        words.push_str("zero");
    }
    words.push_str(if dollars == 1 { " dollar and " } else { " dollars and " });
    words.push_str(&group_in_words(cents_left));
    words.push_str(if cents_left == 1 { " cent" } else { " cents" });
    words[..1].to_uppercase() + &words[1..]
}
