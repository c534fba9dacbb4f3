//! Text input that needs neither settings nor catalog: the parameters and fields that come most often.

use types::{SqlType, Value, oids};

/// Reads `text` as a value of `sql_type` if that is as simple as it looks; `None` says nothing about the text.
pub fn input_plain(text: &str, sql_type: SqlType) -> Option<Value> {
    match sql_type.oid {
        oids::INT4 => plain_integer(text).and_then(|number| i32::try_from(number).ok()).map(Value::Int4),
        oids::INT8 => plain_integer(text).map(Value::Int8),
        oids::INT2 => plain_integer(text).and_then(|number| i16::try_from(number).ok()).map(Value::Int2),
        oids::TEXT => Some(Value::text(text)),
        oids::VARCHAR if sql_type.typmod < 0 => Some(Value::text(text)),
        _ => None,
    }
}

/// Digits after an optional minus sign, fewer than could overflow.
fn plain_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut number = 0i64;
    for byte in digits.bytes() {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(byte - b'0');
    }
    Some(if digits.len() == text.len() { number } else { -number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_read_and_everything_else_is_left() {
        assert_eq!(input_plain("-12", SqlType::INT4), Some(Value::Int4(-12)));
        assert_eq!(input_plain("2147483648", SqlType::INT4), None);
        assert_eq!(input_plain(" 1", SqlType::INT4), None);
        assert_eq!(input_plain("", SqlType::INT8), None);
        assert_eq!(input_plain("-", SqlType::INT8), None);
        assert_eq!(input_plain("x", SqlType::TEXT), Some(Value::text("x")));
    }
}
