//! `format()`: arguments by a template.

use std::iter::Peekable;
use std::str::Chars;

use base::{Error, Result, sqlstate};

use super::text::{character_count, check_length, text_of, too_large};
use crate::apart::{LARGE_RESULT_BYTES, call_apart};
use crate::context::EvalContext;
use crate::function_def::CallTypes;
use crate::reg_types;
use crate::value::Value;

/// `format('%s %I %L %1$-10s', ...)`. 22023, 54000.
pub(super) fn format(context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    // The first try is in vain where no other thread would be asked.
    let limit_bytes = if sync::in_coroutine() { LARGE_RESULT_BYTES } else { usize::MAX };
    if let Some(value) = format_up_to(limit_bytes, context, types, a)? {
        return Ok(value);
    }
    let own_types = types.clone();
    let made = call_apart(context, a, move |context, a| format_up_to(usize::MAX, context, &own_types, a));
    let made = made.unwrap_or_else(|| format_up_to(usize::MAX, context, types, a))?;
    made.ok_or_else(too_large)
}

/// The same; `None` if the result would be longer than so many bytes.
fn format_up_to(
    limit_bytes: usize,
    context: &mut dyn EvalContext,
    types: &CallTypes,
    a: &[Value],
) -> Result<Option<Value>> {
    let Value::Text(template) = &a[0] else { return Ok(Some(Value::Null)) };
    let mut out = String::new();
    let mut formatting =
        Formatting { context, types, arguments: a, characters: template.chars().peekable(), next_argument: 1 };
    while let Some(character) = formatting.characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        if formatting.characters.peek().is_none() {
            return Err(unterminated_specifier());
        }
        if formatting.takes('%') {
            out.push('%');
            continue;
        }
        let Specifier { argument, kind, width, left_justify } = formatting.specifier()?;
        let text = formatting.argument(argument, kind)?;
        let missing = width.unsigned_abs().saturating_sub(character_count(&text) as u64) as usize;
        let bytes = out.len() + text.len() + missing;
        check_length(bytes)?;
        if bytes > limit_bytes {
            return Ok(None);
        }
        if left_justify || width < 0 {
            out.push_str(&text);
            out.extend(std::iter::repeat_n(' ', missing));
        } else {
            out.extend(std::iter::repeat_n(' ', missing));
            out.push_str(&text);
        }
    }
    Ok(Some(Value::from(out)))
}

/// `%[position$][flags][width]type` in a template of `format`.
struct Specifier {
    /// The argument's place.
    argument: usize,
    /// `s`, `I` or `L`.
    kind: char,
    /// The least number of characters; a negative width justifies to the left.
    width: i64,
    left_justify: bool,
}

/// The reading of a template of `format`, and its arguments.
struct Formatting<'f> {
    context: &'f mut dyn EvalContext,
    types: &'f CallTypes,
    /// The template and what it formats.
    arguments: &'f [Value],
    /// The rest of the template.
    characters: Peekable<Chars<'f>>,
    next_argument: usize,
}

fn invalid_format(message: &str) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn unterminated_specifier() -> Error {
    invalid_format("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
}

fn unrecognized_specifier(kind: char) -> Error {
    invalid_format(&format!("unrecognized format() type specifier \"{kind}\"")).hint("For a single \"%\" use \"%%\".")
}

fn argument_zero() -> Error {
    invalid_format("format specifies argument 0, but arguments are numbered from 1")
}

impl Formatting<'_> {
    fn takes(&mut self, character: char) -> bool {
        self.characters.next_if_eq(&character).is_some()
    }

    fn number(&mut self) -> Result<Option<i32>> {
        let mut number = None;
        while let Some(digit) = self.characters.peek().and_then(|character| character.to_digit(10)) {
            let value = number.unwrap_or(0_i32).checked_mul(10).and_then(|value| value.checked_add(digit as i32));
            number =
                Some(value.ok_or_else(|| Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range"))?);
            self.characters.next();
        }
        Ok(number)
    }

    /// Reads the specifier behind a `%`.
    fn specifier(&mut self) -> Result<Specifier> {
        let mut position = None;
        let mut width = 0_i64;
        let mut left_justify = false;
        let number = self.number()?;
        if self.takes('$') {
            match number {
                Some(0) => return Err(argument_zero()),
                Some(number) => position = Some(number as usize),
                None => return Err(unrecognized_specifier('$')),
            }
        } else if let Some(number) = number {
            width = i64::from(number);
        }
        if number.is_none() || position.is_some() {
            while self.takes('-') {
                left_justify = true;
            }
            if self.takes('*') {
                width = self.width_argument()?;
            } else if let Some(number) = self.number()? {
                width = i64::from(number);
            }
        }
        let kind = self.characters.next().ok_or_else(unterminated_specifier)?;
        if !matches!(kind, 's' | 'I' | 'L') {
            return Err(unrecognized_specifier(kind));
        }
        let argument = position.unwrap_or(self.next_argument);
        self.next_argument = argument + 1;
        Ok(Specifier { argument, kind, width, left_justify })
    }

    /// The width that an argument gives: `*` or `*n$`.
    fn width_argument(&mut self) -> Result<i64> {
        let mut place = self.next_argument;
        if let Some(position) = self.number()? {
            if !self.takes('$') {
                return Err(invalid_format("width argument position must be ended by \"$\""));
            }
            if position == 0 {
                return Err(argument_zero());
            }
            place = position as usize;
        }
        // The next argument is the one behind the width's, wherever that is.
        self.next_argument = place + 1;
        let value = self.value(place)?;
        if value.is_null() {
            return Ok(0);
        }
        if let Some(width) = value.as_i64() {
            return Ok(width);
        }
        let text = text_of(self.context, self.types, self.arguments, place)?;
        Ok(i64::from(crate::number_text::parse_int4(&text)?))
    }

    fn value(&self, place: usize) -> Result<&Value> {
        self.arguments.get(place).ok_or_else(|| invalid_format("too few arguments for format()"))
    }

    /// An argument as text: as it is, as an identifier or as a literal.
    fn argument(&mut self, place: usize, kind: char) -> Result<String> {
        if self.value(place)?.is_null() {
            return match kind {
                's' => Ok(String::new()),
                'L' => Ok("NULL".to_owned()),
                _ => Err(Error::new(
                    sqlstate::NULL_VALUE_NOT_ALLOWED,
                    "null values cannot be formatted as an SQL identifier",
                )),
            };
        }
        let text = text_of(self.context, self.types, self.arguments, place)?;
        Ok(match kind {
            's' => text.to_string(),
            'I' => reg_types::quote_identifier(&text),
            _ => reg_types::quote_literal(&text),
        })
    }
}
