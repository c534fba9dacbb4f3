//! Values by a template: `to_char`, `to_date`, `to_timestamp` and `to_number`.
//!
//! A template is cut into fields and other characters ([`template`]). Dates are written by [`date_output`] and read by
//! [`date_input`]; numbers are both by [`number`], over one model of a template that digits are poured into.
//!
//! Names of months and days are English; the thousands' separator, the decimal point and the currency are those of the
//! locale C.

pub mod date_input;
pub mod date_output;
mod fields;
pub mod number;
mod template;

/// `st`, `nd`, `rd` or `th`, as a number that ends in these digits has it.
fn ordinal_suffix(digits: &str, upper: bool) -> &'static str {
    let mut from_end = digits.bytes().rev();
    let (last, before) = (from_end.next(), from_end.next());
    match (last, before, upper) {
        (Some(b'1'), Some(b'2'..=b'9' | b'0') | None, false) => "st",
        (Some(b'1'), Some(b'2'..=b'9' | b'0') | None, true) => "ST",
        (Some(b'2'), Some(b'2'..=b'9' | b'0') | None, false) => "nd",
        (Some(b'2'), Some(b'2'..=b'9' | b'0') | None, true) => "ND",
        (Some(b'3'), Some(b'2'..=b'9' | b'0') | None, false) => "rd",
        (Some(b'3'), Some(b'2'..=b'9' | b'0') | None, true) => "RD",
        (_, _, false) => "th",
        (_, _, true) => "TH",
    }
}
