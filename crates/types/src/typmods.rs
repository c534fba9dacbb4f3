//! Modifiers of types: lengths, precisions, fields of intervals.
//!
//! A type that takes a modifier has a [`Typmod`] in its row of the type table: how the numbers behind its name become one, how the name is
//! written with it, and how a value is fitted to it.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};

use super::datetime::interval::{self, FULL_PRECISION, range, typmod_precision, typmod_range};
use super::datetime::{round_time, round_timestamp};
use super::string_types::{self, typmod_length};
use super::value::Value;
use super::{numeric, oids};

/// The work of a type's modifier.
#[derive(Clone, Copy, Debug)]
pub struct Typmod {
    /// Makes a modifier of the numbers written behind the type's name, of which there is one at least. 22023
    pub encode: fn(&[i32]) -> Result<i32>,
    /// The type's name with a modifier; -1 is none.
    pub format: fn(i32) -> String,
    /// Fits a value to a modifier, in an explicit cast (`true`) or else in an assignment. 22001, 22003, 22008, 22026
    pub fit: fn(Value, i32, bool) -> Result<Value>,
}

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// The one number that is the length of a string.
fn length(modifiers: &[i32], type_name: &str, max: i32) -> Result<i32> {
    match modifiers {
        [length] if *length < 1 => Err(invalid(format!("length for type {type_name} must be at least 1"))),
        [length] if *length > max => Err(invalid(format!("length for type {type_name} cannot exceed {max}"))),
        [length] => Ok(*length),
        _ => Err(invalid("invalid type modifier")),
    }
}

fn with_length(name: &str, length: Option<usize>) -> String {
    length.map_or_else(|| name.to_owned(), |length| format!("{name}({length})"))
}

/// The most characters that may be asked for.
const LENGTH_MAX: i32 = 10 * 1024 * 1024;

/// `varchar(n)`
pub static VARCHAR: Typmod = Typmod {
    encode: |modifiers| Ok(length(modifiers, "varchar", LENGTH_MAX)? + 4),
    format: |typmod| with_length("character varying", typmod_length(typmod)),
    fit: |value, typmod, explicit| match value {
        Value::Text(text) if explicit => Ok(Value::Text(string_types::cast_varchar(text, typmod)?)),
        Value::Text(text) => Ok(Value::Text(string_types::assign_varchar(text, typmod)?)),
        other => Ok(other),
    },
};

/// `char(n)`
pub static BPCHAR: Typmod = Typmod {
    encode: |modifiers| Ok(length(modifiers, "char", LENGTH_MAX)? + 4),
    format: |typmod| with_length("character", typmod_length(typmod)),
    fit: |value, typmod, explicit| match value {
        Value::Text(text) if explicit => Ok(Value::Text(string_types::cast_char(text, typmod)?)),
        Value::Text(text) => Ok(Value::Text(string_types::assign_char(text, typmod)?)),
        other => Ok(other),
    },
};

/// The most bits that may be asked for: as many as fit a row.
const BITS_MAX: i32 = LENGTH_MAX * 8;

/// The number itself is the modifier; none is below 1.
fn bit_length(typmod: i32) -> Option<usize> {
    usize::try_from(typmod).ok().filter(|length| *length > 0)
}

/// `bit(n)`
pub static BIT: Typmod = Typmod {
    encode: |modifiers| length(modifiers, "bit", BITS_MAX),
    format: |typmod| with_length("bit", bit_length(typmod)),
    fit: |value, typmod, explicit| match value {
        Value::Bits(bits) if bit_length(typmod) == Some(bits.length()) => Ok(Value::Bits(bits)),
        Value::Bits(bits) => Ok(Value::Bits(Arc::new(bits.fit_fixed(typmod, explicit)?))),
        other => Ok(other),
    },
};

/// `bit varying(n)`
pub static VARBIT: Typmod = Typmod {
    encode: |modifiers| length(modifiers, "varbit", BITS_MAX),
    format: |typmod| with_length("bit varying", bit_length(typmod)),
    fit: |value, typmod, explicit| match value {
        Value::Bits(bits) if bit_length(typmod).is_none_or(|length| length >= bits.length()) => Ok(Value::Bits(bits)),
        Value::Bits(bits) => Ok(Value::Bits(Arc::new(bits.fit_varying(typmod, explicit)?))),
        other => Ok(other),
    },
};

/// `numeric(precision, scale)`
pub static NUMERIC: Typmod = Typmod {
    encode: encode_numeric,
    format: |typmod| match numeric::decode_typmod(typmod) {
        Some((precision, scale)) => format!("numeric({precision},{scale})"),
        None => "numeric".to_owned(),
    },
    fit: |value, typmod, _| match value {
        Value::Numeric(number) => Ok(Value::Numeric(number.apply_typmod(typmod)?)),
        other => Ok(other),
    },
};

fn encode_numeric(modifiers: &[i32]) -> Result<i32> {
    let (precision, scale) = match modifiers {
        [precision] => (*precision, 0),
        [precision, scale] => (*precision, *scale),
        _ => return Err(invalid("invalid NUMERIC type modifier")),
    };
    if !(1..=1000).contains(&precision) {
        return Err(invalid(format!("NUMERIC precision {precision} must be between 1 and 1000")));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(invalid(format!("NUMERIC scale {scale} must be between -1000 and 1000")));
    }
    Ok(numeric::encode_typmod(precision, scale))
}

/// The most digits of a second that are kept.
const PRECISION_MAX: i32 = 6;

/// The one number that tells the digits of a second.
fn precision(modifiers: &[i32], name: &str, suffix: &str) -> Result<i32> {
    match modifiers {
        [precision] if *precision < 0 => {
            Err(invalid(format!("{name}({precision}){suffix} precision must not be negative")))
        }
        [precision] => Ok((*precision).min(PRECISION_MAX)),
        _ => Err(invalid("invalid type modifier")),
    }
}

fn with_precision(name: &str, typmod: i32, suffix: &str) -> String {
    if typmod >= 0 { format!("{name}({typmod}) {suffix}") } else { format!("{name} {suffix}") }
}

/// `time(precision)`
pub static TIME: Typmod = Typmod {
    encode: |modifiers| precision(modifiers, "TIME", ""),
    format: |typmod| with_precision("time", typmod, "without time zone"),
    fit: |value, typmod, _| match value {
        Value::Time(time) => Ok(Value::Time(round_time(time, typmod))),
        other => Ok(other),
    },
};

/// `time(precision) with time zone`
pub static TIMETZ: Typmod = Typmod {
    encode: |modifiers| precision(modifiers, "TIME", " WITH TIME ZONE"),
    format: |typmod| with_precision("time", typmod, "with time zone"),
    fit: |value, typmod, _| match value {
        Value::TimeTz(mut time) => {
            time.micros = round_time(time.micros, typmod);
            Ok(Value::TimeTz(time))
        }
        other => Ok(other),
    },
};

/// `timestamp(precision)`
pub static TIMESTAMP: Typmod = Typmod {
    encode: |modifiers| precision(modifiers, "TIMESTAMP", ""),
    format: |typmod| with_precision("timestamp", typmod, "without time zone"),
    fit: |value, typmod, _| match value {
        Value::Timestamp(timestamp) => Ok(Value::Timestamp(round_timestamp(timestamp, typmod)?)),
        other => Ok(other),
    },
};

/// `timestamp(precision) with time zone`
pub static TIMESTAMPTZ: Typmod = Typmod {
    encode: |modifiers| precision(modifiers, "TIMESTAMP", " WITH TIME ZONE"),
    format: |typmod| with_precision("timestamp", typmod, "with time zone"),
    fit: |value, typmod, _| match value {
        Value::TimestampTz(timestamp) => Ok(Value::TimestampTz(round_timestamp(timestamp, typmod)?)),
        other => Ok(other),
    },
};

/// `interval fields(precision)`
pub static INTERVAL: Typmod = Typmod {
    encode: encode_interval,
    format: format_interval,
    fit: |value, typmod, _| match value {
        Value::Interval(interval) => Ok(Value::Interval(interval::apply_typmod(interval, typmod)?)),
        other => Ok(other),
    },
};

/// The field ranges that may follow `interval`.
const INTERVAL_RANGES: &[(i32, &str)] = &[
    (range::YEAR, "year"),
    (range::MONTH, "month"),
    (range::DAY, "day"),
    (range::HOUR, "hour"),
    (range::MINUTE, "minute"),
    (range::SECOND, "second"),
    (range::YEAR | range::MONTH, "year to month"),
    (range::DAY | range::HOUR, "day to hour"),
    (range::DAY | range::HOUR | range::MINUTE, "day to minute"),
    (range::DAY | range::HOUR | range::MINUTE | range::SECOND, "day to second"),
    (range::HOUR | range::MINUTE, "hour to minute"),
    (range::HOUR | range::MINUTE | range::SECOND, "hour to second"),
    (range::MINUTE | range::SECOND, "minute to second"),
];

/// The parser's mask of fields comes first.
fn encode_interval(modifiers: &[i32]) -> Result<i32> {
    let (fields, precision) = match modifiers {
        [fields] => (*fields, FULL_PRECISION),
        [fields, precision] => (*fields, *precision),
        _ => return Err(invalid("invalid INTERVAL type modifier")),
    };
    if fields != range::FULL && !INTERVAL_RANGES.iter().any(|(range, _)| *range == fields) {
        return Err(invalid("invalid INTERVAL type modifier"));
    }
    if precision < 0 {
        return Err(invalid(format!("INTERVAL({precision}) precision must not be negative")));
    }
    let precision = if precision == FULL_PRECISION { precision } else { precision.min(PRECISION_MAX) };
    Ok(if fields == range::FULL && precision == FULL_PRECISION { -1 } else { fields << 16 | precision })
}

fn format_interval(typmod: i32) -> String {
    let mut name = "interval".to_owned();
    let fields = typmod_range(typmod);
    if let Some((_, words)) = INTERVAL_RANGES.iter().find(|(range, _)| *range == fields) {
        name.push(' ');
        name.push_str(words);
    }
    if let Some(precision) = typmod_precision(typmod) {
        name.push_str(&format!("({precision})"));
    }
    name
}

/// The warning for a type modifier that asks for more digits of a second than are kept; `None` if it asks for no more.
pub fn precision_warning(oid: Oid, modifiers: &[i32]) -> Option<Error> {
    let (name, suffix) = match oid {
        oids::TIME => ("TIME", ""),
        oids::TIMETZ => ("TIME", " WITH TIME ZONE"),
        oids::TIMESTAMP => ("TIMESTAMP", ""),
        oids::TIMESTAMPTZ => ("TIMESTAMP", " WITH TIME ZONE"),
        oids::INTERVAL => ("INTERVAL", ""),
        _ => return None,
    };
    let precision = match modifiers {
        [_, precision] if oid == oids::INTERVAL && *precision != FULL_PRECISION => *precision,
        [precision] if oid != oids::INTERVAL => *precision,
        _ => return None,
    };
    let message = || format!("{name}({precision}){suffix} precision reduced to maximum allowed, {PRECISION_MAX}");
    (precision > PRECISION_MAX).then(|| invalid(message()))
}
