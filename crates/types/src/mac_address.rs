//! Text and binary forms of `macaddr` and `macaddr8`.

use base::{Error, Result, sqlstate};

use super::number_text::{invalid_syntax, push_hex};

/// The notations of `macaddr`: digits of each of the six octets at most (none given: as many as there are), and what stands between them.
const NOTATIONS: [(usize, [&str; 5]); 7] = [
    (usize::MAX, [":"; 5]),
    (usize::MAX, ["-"; 5]),
    (2, ["", "", ":", "", ""]),
    (2, ["", "", "-", "", ""]),
    (2, ["", ".", "", ".", ""]),
    (2, ["", "-", "", "-", ""]),
    (2, [""; 5]),
];

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0B
}

/// Reads a hexadecimal number as C's `scanf` does: blanks, a sign and `0x` may stand before it. Numbers that are too large lose their upper bits.
fn scan_number(bytes: &mut &[u8], width: usize) -> Option<i32> {
    let blanks = bytes.iter().take_while(|byte| is_space(**byte)).count();
    let text = &bytes[blanks..];
    let text = &text[..text.len().min(width)];
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let prefix = match text.get(sign..) {
        Some([b'0', b'x' | b'X', ..]) => 2,
        _ => 0,
    };
    let digits = text[sign + prefix..].iter().map_while(|byte| char::from(*byte).to_digit(16));
    let (mut count, mut number) = (0, 0_u64);
    for digit in digits {
        count += 1;
        number = number.checked_mul(16).map_or(u64::MAX, |shifted| shifted | u64::from(digit));
    }
    if count == 0 && prefix == 0 {
        return None;
    }
    *bytes = &bytes[blanks + sign + prefix + count..];
    Some(if text.first() == Some(&b'-') { (number as i32).wrapping_neg() } else { number as i32 })
}

/// The six numbers of a text in this notation.
fn scan(text: &str, width: usize, separators: [&str; 5]) -> Option<[i32; 6]> {
    let mut bytes = text.as_bytes();
    let mut octets = [0; 6];
    for (place, octet) in octets.iter_mut().enumerate() {
        if place > 0 {
            bytes = bytes.strip_prefix(separators[place - 1].as_bytes())?;
        }
        *octet = scan_number(&mut bytes, width)?;
    }
    bytes.iter().all(|byte| is_space(*byte)).then_some(octets)
}

/// Reads a `macaddr`.
///
/// # Errors
/// 22P02; 22003 for a number that is no octet.
pub fn parse(text: &str) -> Result<[u8; 6]> {
    let found = NOTATIONS.iter().find_map(|(width, separators)| scan(text, *width, *separators));
    let octets = found.ok_or_else(|| invalid_syntax("macaddr", text))?;
    let mut address = [0; 6];
    for (octet, number) in address.iter_mut().zip(octets) {
        *octet = u8::try_from(number).map_err(|_| {
            let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
            Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
        })?;
    }
    Ok(address)
}

/// Reads a `macaddr8`: pairs of digits, with one kind of separator wherever one stands. Six octets are widened.
///
/// # Errors
/// 22P02
pub fn parse_wide(text: &str) -> Result<[u8; 8]> {
    scan_wide(text).ok_or_else(|| invalid_syntax("macaddr8", text))
}

fn scan_wide(text: &str) -> Option<[u8; 8]> {
    let mut bytes = text.as_bytes();
    let skip_blanks = |bytes: &mut &[u8]| {
        let count = bytes.iter().take_while(|byte| is_space(**byte)).count();
        *bytes = &bytes[count..];
        count
    };
    skip_blanks(&mut bytes);
    let (mut octets, mut count, mut separator) = ([0_u8; 8], 0, None);
    // A single character at the end is not looked at.
    while let [high, low, rest @ ..] = bytes {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        *octets.get_mut(count)? = (digit(*high)? << 4 | digit(*low)?) as u8;
        count += 1;
        bytes = rest;
        if let [byte @ (b':' | b'-' | b'.'), rest @ ..] = bytes {
            if *separator.get_or_insert(*byte) != *byte {
                return None;
            }
            bytes = rest;
        }
        if matches!(count, 6 | 8) && skip_blanks(&mut bytes) > 0 && !bytes.is_empty() {
            return None;
        }
    }
    match (count, octets) {
        (6, [a, b, c, d, e, f, ..]) => Some(widened([a, b, c, d, e, f])),
        (8, octets) => Some(octets),
        _ => None,
    }
}

/// The address of eight octets that stands for one of six.
pub fn widened([a, b, c, d, e, f]: [u8; 6]) -> [u8; 8] {
    [a, b, c, 0xFF, 0xFE, d, e, f]
}

/// The address of six octets for which one of eight stands.
///
/// # Errors
/// 22003 if it stands for none.
pub fn narrowed(address: [u8; 8]) -> Result<[u8; 6]> {
    let [a, b, c, 0xFF, 0xFE, d, e, f] = address else {
        let message = "macaddr8 data out of range to convert to macaddr";
        return Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message).hint(
            "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example \
             xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.",
        ));
    };
    Ok([a, b, c, d, e, f])
}

/// Appends an address of any length.
pub fn write(octets: &[u8], out: &mut Vec<u8>) {
    for (place, octet) in octets.iter().enumerate() {
        if place > 0 {
            out.push(b':');
        }
        push_hex(*octet, out);
    }
}
