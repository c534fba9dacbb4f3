//! RAISE, and what GET DIAGNOSTICS tells of errors.

use std::borrow::Cow;

use base::{Error, Result, SqlState, sqlstate};
use types::{SqlType, Value};

use super::conditions::condition_states;
use super::embedded::parameter_values;
use super::expression::evaluate;
use super::frame::Frame;
use super::interpret::PLACED;
use super::tree::Raise;
use executor::client::Severity;
use executor::{CallPlace, Run, outer_context, place_line};

/// RAISE.
///
/// # Errors
/// The error that RAISE raises; 0Z002 for a RAISE without parameters outside of a handler.
pub fn run_raise(raise: &Raise, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<()> {
    if raise.condition.is_none() && raise.message.is_none() && raise.options.is_empty() {
        return Err(match &frame.handled {
            Some(error) => error.clone(),
            None => Error::new(
                SqlState::new("0Z002"),
                "RAISE without parameters cannot be used outside an exception handler",
            ),
        });
    }
    let mut state = raise.condition.as_deref().map(state_named).transpose()?;
    let mut message = match &raise.message {
        Some(format) => {
            let values = parameter_values(&raise.parameters, frame, run)?;
            let mut texts = Vec::with_capacity(values.len());
            for (value, sql_type) in &values {
                texts.push(match value {
                    Value::Null => Cow::Borrowed("<NULL>"),
                    Value::Text(text) => Cow::Borrowed(text.as_str()),
                    value => Cow::Owned(types::output_string(value, sql_type.oid, &run.format, &run.catalog)?),
                });
            }
            Some(fill_in(format, &texts)?)
        }
        None => None,
    };
    let mut error = Error::new(sqlstate::RAISE_EXCEPTION, "");
    for (option, expression) in &raise.options {
        let (value, sql_type) = evaluate(expression, frame, run)?;
        if value.is_null() {
            return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "RAISE statement option cannot be null"));
        }
        let text = types::output_string(&value, sql_type.oid, &run.format, &run.catalog)?;
        let names = ["ERRCODE", "MESSAGE", "DETAIL", "HINT", "COLUMN", "CONSTRAINT", "DATATYPE", "TABLE", "SCHEMA"];
        let is_given = match option {
            0 => state.is_some(),
            1 => message.is_some(),
            _ => raise.options.iter().filter(|(other, _)| other == option).count() > 1,
        };
        if is_given {
            let name = names.get(*option as usize).copied().unwrap_or_default();
            let message = format!("RAISE option already specified: {name}");
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
        }
        let fields = error.fields_mut();
        match option {
            0 => state = Some(state_named(&text)?),
            1 => message = Some(text),
            2 => fields.detail = Some(text),
            3 => fields.hint = Some(text),
            4 => fields.column = Some(text),
            5 => fields.constraint = Some(text),
            6 => fields.data_type = Some(text),
            7 => fields.table = Some(text),
            _ => fields.schema = Some(text),
        }
    }
    let severity = match raise.level {
        level if level >= 21 => None,
        19 | 20 => Some(Severity::Warning),
        18 => Some(Severity::Notice),
        17 => Some(Severity::Info),
        15 | 16 => Some(Severity::Log),
        _ => Some(Severity::Debug),
    };
    let default = match severity {
        None => sqlstate::RAISE_EXCEPTION,
        Some(Severity::Warning) => sqlstate::WARNING,
        Some(_) => sqlstate::SUCCESSFUL_COMPLETION,
    };
    let fields = error.fields_mut();
    fields.sqlstate = state.unwrap_or(default);
    fields.message = message
        .unwrap_or_else(|| raise.condition.clone().unwrap_or_else(|| state.unwrap_or(default).as_str().to_owned()));
    match severity {
        None => Err(error),
        Some(severity) => {
            let mut context = place_line(&frame.function.signature, frame.line, frame.activity);
            context.push_str(&outer_context(&run.state.calls.borrow()));
            let error = error.context(context);
            run.notice(severity, &error);
            run.relieve()
        }
    }
}

/// The SQLSTATE that a name or five characters stand for.
fn state_named(name: &str) -> Result<SqlState> {
    let is_code = name.len() == 5 && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    if is_code {
        return Ok(SqlState::new(name));
    }
    condition_states(name)
        .next()
        .ok_or_else(|| Error::new(sqlstate::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{name}\"")))
}

/// Puts texts in the places of `%`; `%%` stands for itself.
fn fill_in(format: &str, texts: &[Cow<'_, str>]) -> Result<String> {
    let mut out = String::new();
    let mut texts = texts.iter();
    let mut characters = format.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
        } else if characters.next_if_eq(&'%').is_some() {
            out.push('%');
        } else {
            let text = texts.next();
            let too_few = || Error::new(sqlstate::SYNTAX_ERROR, "too few parameters specified for RAISE");
            append(text.ok_or_else(too_few)?, &mut out)?;
        }
    }
    if texts.next().is_some() {
        return Err(Error::new(sqlstate::SYNTAX_ERROR, "too many parameters specified for RAISE"));
    }
    Ok(out)
}

/// Bytes copied between two yield points.
const COPIED_BYTES: usize = 1 << 20;

/// Appends a text that may be very long. Lets others run meanwhile.
fn append(mut text: &str, out: &mut String) -> Result<()> {
    out.reserve(text.len());
    while !text.is_empty() {
        sync::yield_point()?;
        let (piece, rest) = text.split_at(text.floor_char_boundary(COPIED_BYTES));
        out.push_str(piece);
        text = rest;
    }
    Ok(())
}

/// An item of GET DIAGNOSTICS.
///
/// # Errors
/// 0Z002 for the stacked ones outside of a handler.
pub fn diagnostic(stacked: bool, item: &str, frame: &Frame<'_>, calls: &[CallPlace]) -> Result<(Value, SqlType)> {
    let text = |text: Option<&str>| Ok((Value::text(text.unwrap_or_default()), SqlType::TEXT));
    if !stacked {
        return match item {
            "ROW_COUNT" => Ok((Value::Int8(frame.row_count.get() as i64), SqlType::INT8)),
            "PG_CONTEXT" => {
                let mut context = place_line(&frame.function.signature, frame.line, frame.activity);
                context.push_str(&outer_context(calls));
                text(Some(&context))
            }
            other => Err(Error::unsupported(format!("GET DIAGNOSTICS item {other} is not supported"))),
        };
    }
    let Some(error) = &frame.handled else {
        return Err(Error::new(
            SqlState::new("0Z002"),
            "GET STACKED DIAGNOSTICS cannot be used outside an exception handler",
        ));
    };
    let fields = error.fields();
    match item {
        "RETURNED_SQLSTATE" => text(Some(fields.sqlstate.as_str())),
        "MESSAGE_TEXT" => text(Some(&fields.message)),
        "PG_EXCEPTION_DETAIL" => text(fields.detail.as_deref()),
        "PG_EXCEPTION_HINT" => text(fields.hint.as_deref()),
        "PG_EXCEPTION_CONTEXT" => text(fields.context.as_deref().map(|context| context.trim_end_matches(PLACED))),
        "COLUMN_NAME" => text(fields.column.as_deref()),
        "CONSTRAINT_NAME" => text(fields.constraint.as_deref()),
        "PG_DATATYPE_NAME" => text(fields.data_type.as_deref()),
        "TABLE_NAME" => text(fields.table.as_deref()),
        "SCHEMA_NAME" => text(fields.schema.as_deref()),
        other => Err(Error::unsupported(format!("GET STACKED DIAGNOSTICS item {other} is not supported"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_take_their_parameters() {
        assert_eq!(fill_in("a % b %% c", &["1".into()]).unwrap(), "a 1 b % c");
        assert!(fill_in("%", &[]).is_err());
        assert!(fill_in("", &["1".into()]).is_err());
    }

    #[test]
    fn a_long_parameter_comes_whole() {
        let long = "é".repeat(COPIED_BYTES) + "x";
        assert_eq!(fill_in("<%>", &[long.as_str().into()]).unwrap(), format!("<{long}>"));
    }
}
