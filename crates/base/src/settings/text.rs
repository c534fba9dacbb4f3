//! From text to value and back, with PostgreSQL's units, spellings and errors.

use std::sync::Arc;

use super::{Id, Kind, Unit, Value};
use crate::access::AccessRules;
use crate::error::{Error, Result};
use crate::report::Destinations;
use crate::sqlstate;

/// Reads `text` as a value of setting `id`.
///
/// # Errors
/// 22023 when it is not one, or lies outside the setting's range; 0A000 for one that is not obeyed.
pub fn parse(id: Id, text: &str) -> Result<Value> {
    let value = parse_any(id, text)?;
    super::fixed::check(id, &value)?;
    Ok(value)
}

/// As [`parse`], also for values that are not obeyed.
pub(super) fn parse_any(id: Id, text: &str) -> Result<Value> {
    let definition = id.definition();
    let name = definition.name;
    match definition.kind {
        Kind::Bool => parse_bool(text)
            .map(Value::Bool)
            .ok_or_else(|| invalid(format!("parameter \"{name}\" requires a Boolean value"))),
        Kind::Enum(words) => match words.iter().position(|word| word.eq_ignore_ascii_case(text)) {
            Some(index) => Ok(Value::Word(index)),
            // PostgreSQL's Boolean spellings are understood where the words are `on` and `off`.
            None => match parse_bool(text)
                .and_then(|on| words.iter().position(|word| *word == if on { "on" } else { "off" }))
            {
                Some(index) => Ok(Value::Word(index)),
                None => Err(not_a_value(name, text).hint(format!("Available values: {}.", words.join(", ")))),
            },
        },
        Kind::Text => {
            if id == Id::HbaRules {
                AccessRules::parse(text)?;
            }
            if id == Id::LogDestination {
                Destinations::parse(text)?;
            }
            if id == Id::ApplicationName {
                return Ok(Value::Text(Arc::from(printable(text))));
            }
            Ok(Value::Text(Arc::from(text)))
        }
        Kind::Integer { minimum, maximum, unit, words } => {
            if let Some(index) = words.iter().position(|word| word.eq_ignore_ascii_case(text.trim())) {
                return Ok(Value::Word(index));
            }
            let number = match octal(text) {
                Some((number, suffix)) => in_own_unit(name, text, number, suffix, unit)?,
                None => parse_number(name, text, unit)?,
            }
            .round_ties_even();
            let has_32_bits = maximum <= i64::from(i32::MAX);
            if has_32_bits && !(number >= f64::from(i32::MIN) && number <= f64::from(i32::MAX)) {
                return Err(not_a_value(name, text).hint("Value exceeds integer range."));
            }
            if !(number >= minimum as f64 && number <= maximum as f64) {
                let unit = unit_suffix(unit);
                let space = if unit.is_empty() { "" } else { " " };
                return Err(invalid(format!(
                    "{number}{space}{unit} is outside the valid range for parameter \"{name}\" ({minimum} .. {maximum})"
                )));
            }
            Ok(Value::Integer(number as i64))
        }
        Kind::Float { minimum, maximum, unit } => {
            let number = parse_number(name, text, unit)?;
            if !(number >= minimum && number <= maximum) {
                let unit = unit_suffix(unit);
                let space = if unit.is_empty() { "" } else { " " };
                return Err(invalid(format!(
                    "{}{space}{unit} is outside the valid range for parameter \"{name}\" ({} .. {})",
                    short_float(number),
                    short_float(minimum),
                    short_float(maximum)
                )));
            }
            Ok(Value::Float(number))
        }
    }
}

/// Prints `value` as `SHOW` does: numbers in the largest unit that divides them.
pub fn show(id: Id, value: &Value) -> String {
    match (id.definition().kind, value) {
        (_, Value::Bool(on)) => if *on { "on" } else { "off" }.to_owned(),
        (_, Value::Text(text)) => text.to_string(),
        (Kind::Enum(words) | Kind::Integer { words, .. }, Value::Word(index)) => words[*index].to_owned(),
        (Kind::Integer { unit, .. }, Value::Integer(number)) => show_integer(*number, unit),
        (Kind::Float { unit, .. }, Value::Float(number)) => format!("{number}{}", unit_suffix(unit)),
        (kind, value) => unreachable!("{value:?} in a setting of {kind:?}"),
    }
}

/// A number in six digits, as PostgreSQL prints bounds.
pub fn short_float(number: f64) -> String {
    if number.abs() < 1e6 {
        return number.to_string();
    }
    let text = format!("{number:.5e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e+{exponent:0>2}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Reads one of PostgreSQL's spellings of true and false: any unambiguous prefix.
fn parse_bool(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let is_prefix_of = |word: &str, at_least: usize| text.len() >= at_least && word.starts_with(text.as_str());
    if is_prefix_of("true", 1) || is_prefix_of("yes", 1) || text == "on" || text == "1" {
        Some(true)
    } else if is_prefix_of("false", 1) || is_prefix_of("no", 1) || is_prefix_of("off", 2) || text == "0" {
        Some(false)
    } else {
        None
    }
}

/// Units a number may be followed by, each as a factor of the smallest: bytes, or microseconds.
const MEMORY_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1024.0),
    ("MB", 1024.0 * 1024.0),
    ("GB", 1024.0 * 1024.0 * 1024.0),
    ("TB", 1024.0 * 1024.0 * 1024.0 * 1024.0),
];
const TIME_UNITS: &[(&str, f64)] = &[("us", 1.0), ("ms", 1e3), ("s", 1e6), ("min", 6e7), ("h", 3.6e9), ("d", 8.64e10)];

fn units_of(unit: Unit) -> Option<(&'static [(&'static str, f64)], f64)> {
    Some(match unit {
        Unit::None => return None,
        Unit::Bytes => (MEMORY_UNITS, 1.0),
        Unit::Kilobytes => (MEMORY_UNITS, 1024.0),
        Unit::Pages => (MEMORY_UNITS, 8192.0),
        Unit::Megabytes => (MEMORY_UNITS, 1024.0 * 1024.0),
        Unit::Microseconds => (TIME_UNITS, 1.0),
        Unit::Milliseconds => (TIME_UNITS, 1e3),
        Unit::Seconds => (TIME_UNITS, 1e6),
        Unit::Minutes => (TIME_UNITS, 6e7),
    })
}

fn unit_suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::None => "",
        Unit::Bytes => "B",
        Unit::Kilobytes => "kB",
        Unit::Pages => "8kB",
        Unit::Megabytes => "MB",
        Unit::Microseconds => "us",
        Unit::Milliseconds => "ms",
        Unit::Seconds => "s",
        Unit::Minutes => "min",
    }
}

/// The value of a whole number that begins with 0 and another digit, which is octal, and what follows it.
fn octal(text: &str) -> Option<(f64, &str)> {
    let digits =
        text.trim().strip_prefix('0').filter(|digits| digits.starts_with(|digit: char| digit.is_ascii_digit()))?;
    let end = digits.find(|digit| !('0'..='7').contains(&digit)).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    let number = if digits.is_empty() { 0 } else { i64::from_str_radix(digits, 8).ok()? };
    (!suffix.starts_with(['.', 'e', 'E'])).then(|| (number as f64, suffix.trim()))
}

/// Reads a number with an optional unit and gives it in units of `unit`.
fn parse_number(name: &str, text: &str, unit: Unit) -> Result<f64> {
    let trimmed = text.trim();
    if let Some(digits) = trimmed.strip_prefix("0x").or_else(|| trimmed.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).map(|n| n as f64).map_err(|_| not_a_value(name, text));
    }
    let number_end = trimmed
        .char_indices()
        .find(|&(at, c)| {
            let exponent = matches!(c, 'e' | 'E')
                && trimmed[at + 1..].starts_with(|next: char| next.is_ascii_digit() || next == '-' || next == '+');
            let sign = matches!(c, '+' | '-') && (at == 0 || matches!(trimmed.as_bytes()[at - 1], b'e' | b'E'));
            !(c.is_ascii_digit() || c == '.' || exponent || sign)
        })
        .map_or(trimmed.len(), |(at, _)| at);
    let number: f64 = trimmed[..number_end].parse().map_err(|_| not_a_value(name, text))?;
    in_own_unit(name, text, number, trimmed[number_end..].trim(), unit)
}

/// The number with its unit, if it has one, in units of `unit`.
fn in_own_unit(name: &str, text: &str, number: f64, suffix: &str, unit: Unit) -> Result<f64> {
    if suffix.is_empty() {
        return Ok(number);
    }
    let Some((units, own_factor)) = units_of(unit) else { return Err(not_a_value(name, text)) };
    match units.iter().find(|(word, _)| *word == suffix) {
        Some((_, factor)) => Ok(number * factor / own_factor),
        None => {
            let quoted: Vec<String> = units.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let (last, others) = quoted.split_last().expect("both lists of units are longer than one");
            Err(not_a_value(name, text)
                .hint(format!("Valid units for this parameter are {}, and {last}.", others.join(", "))))
        }
    }
}

fn show_integer(number: i64, unit: Unit) -> String {
    let Some((units, own_factor)) = units_of(unit) else { return number.to_string() };
    if number <= 0 {
        return number.to_string();
    }
    let in_smallest = number as i128 * own_factor as i128;
    let (word, factor) = units
        .iter()
        .rev()
        .find(|(_, factor)| in_smallest % (*factor as i128) == 0)
        .expect("the smallest unit divides everything");
    format!("{}{word}", in_smallest / *factor as i128)
}

/// The text with a question mark for each byte that is no printable ASCII character, as PostgreSQL keeps `application_name`.
fn printable(text: &str) -> String {
    text.bytes().map(|byte| if (b' '..=b'~').contains(&byte) { char::from(byte) } else { '?' }).collect()
}

fn invalid(message: String) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn not_a_value(name: &str, text: &str) -> Error {
    invalid(format!("invalid value for parameter \"{name}\": \"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::super::lookup;
    use super::*;

    fn round(name: &str, text: &str) -> Result<String> {
        let id = lookup(name).unwrap();
        parse(id, text).map(|value| show(id, &value))
    }

    #[test]
    fn numbers_take_units_and_are_shown_in_the_largest_that_divides() {
        assert_eq!(round("work_mem", "4096").unwrap(), "4MB");
        assert_eq!(round("work_mem", "1.5GB").unwrap(), "1536MB");
        assert_eq!(round("shared_buffers", "16384").unwrap(), "128MB");
        assert_eq!(round("checkpoint_timeout", "30min").unwrap(), "30min");
        assert_eq!(round("statement_timeout", "0").unwrap(), "0");
        assert_eq!(round("deadlock_timeout", "1s").unwrap(), "1s");
        assert_eq!(round("commit_delay", "4000").unwrap(), "4000");
        assert_eq!(round("commit_delay", "auto").unwrap(), "auto");
    }

    #[test]
    fn whole_numbers_have_three_bases_and_32_bits() {
        assert_eq!(round("unix_socket_permissions", "0750").unwrap(), "488");
        assert_eq!(round("unix_socket_permissions", "0x1ff").unwrap(), "511");
        assert_eq!(round("commit_siblings", "2.5").unwrap(), "2");
        let refused = round("work_mem", "99999999999").unwrap_err();
        assert_eq!(refused.message(), "invalid value for parameter \"work_mem\": \"99999999999\"");
        assert!(round("work_mem", "10TB").is_err());
    }

    #[test]
    fn bad_values_are_refused_as_postgresql_words_it() {
        let refused = |name, text| round(name, text).unwrap_err();
        assert_eq!(refused("fsync", "perhaps").message(), "parameter \"fsync\" requires a Boolean value");
        assert_eq!(
            refused("work_mem", "1").message(),
            "1 kB is outside the valid range for parameter \"work_mem\" (64 .. 2147483647)"
        );
        assert_eq!(
            refused("work_mem", "1parsec").fields().hint.as_deref(),
            Some("Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".")
        );
        assert_eq!(
            refused("commit_delay", "-1").message(),
            "-1 is outside the valid range for parameter \"commit_delay\" (0 .. 100000)"
        );
        let word = refused("wal_sync_method", "hope");
        assert_eq!(word.message(), "invalid value for parameter \"wal_sync_method\": \"hope\"");
        assert!(word.fields().hint.as_deref().unwrap().starts_with("Available values: fdatasync, "));
    }

    #[test]
    fn every_default_is_a_value_of_its_setting() {
        for definition in super::super::all() {
            let value = parse(definition.id, definition.default).unwrap();
            assert_eq!(parse(definition.id, &show(definition.id, &value)).unwrap(), value, "{}", definition.name);
        }
    }
}
