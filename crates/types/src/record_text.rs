//! Text input and output of rows.

use std::sync::Arc;

use base::{Error, Result, sqlstate};

use super::context::{CatalogLookup, EvalContext, FormatSettings};
use super::text_io;
use super::value::{RecordShape, RecordValue};

#[cold]
fn malformed(text: &str, detail: &str) -> Error {
    Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, format!("malformed record literal: \"{text}\"")).detail(detail)
}

/// Reads `(a,b,...)` as a row of this shape. 22P02.
pub fn parse_record(context: &mut dyn EvalContext, text: &str, shape: &Arc<RecordShape>) -> Result<RecordValue> {
    let start = text.trim_start();
    let mut rest = start.strip_prefix('(').ok_or_else(|| malformed(text, "Missing left parenthesis."))?;
    let mut fields = Vec::with_capacity(shape.fields.len());
    for (index, (_, ty)) in shape.fields.iter().enumerate() {
        sync::yield_point()?;
        if index > 0 {
            rest = match rest.strip_prefix(',') {
                Some(rest) => rest,
                None => return Err(malformed(text, "Too few columns.")),
            };
        }
        let (item, after) = field(text, rest)?;
        rest = after;
        fields.push(match item {
            None => text_io::null_input(context, *ty)?,
            Some(item) => text_io::input_part(context, item, *ty)?,
        });
    }
    rest = match rest.strip_prefix(')') {
        Some(rest) => rest,
        None => return Err(malformed(text, "Too many columns.")),
    };
    if !rest.trim_start().is_empty() {
        return Err(malformed(text, "Junk after right parenthesis."));
    }
    Ok(RecordValue { shape: shape.clone(), fields })
}

/// One field up to its comma or parenthesis; `None`: nothing at all, which is NULL.
fn field<'a>(text: &str, rest: &'a str) -> Result<(Option<String>, &'a str)> {
    if rest.starts_with([',', ')']) {
        return Ok((None, rest));
    }
    let mut item = String::new();
    let mut quoted = false;
    let mut characters = rest.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        sync::yield_point()?;
        match character {
            ',' | ')' if !quoted => return Ok((Some(item), &rest[index..])),
            '\\' => match characters.next() {
                Some((_, escaped)) => item.push(escaped),
                None => break,
            },
            '"' if quoted && characters.peek().is_some_and(|(_, next)| *next == '"') => {
                characters.next();
                item.push('"');
            }
            '"' => quoted = !quoted,
            other => item.push(other),
        }
    }
    Err(malformed(text, "Unexpected end of input."))
}

/// Appends a row as text. 54000 if it becomes too long.
pub fn write_record(
    record: &RecordValue,
    format: &FormatSettings,
    catalog: &dyn CatalogLookup,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.push(b'(');
    let mut item = Vec::new();
    for (index, value) in record.fields.iter().enumerate() {
        sync::yield_point()?;
        if index > 0 {
            out.push(b',');
        }
        if value.is_null() {
            continue;
        }
        item.clear();
        let oid = record.shape.fields.get(index).map_or(super::oids::TEXT, |(_, ty)| ty.oid);
        text_io::output(value, oid, format, catalog, &mut item)?;
        let is_special =
            |byte: u8| matches!(byte, b'"' | b'\\' | b'(' | b')' | b',' | 0x0b) || byte.is_ascii_whitespace();
        if !item.is_empty() && !text_io::has_any(&item, is_special)? {
            text_io::append(&item, out)?;
            continue;
        }
        text_io::write_quoted(&item, |byte| byte, out)?;
    }
    out.push(b')');
    Ok(())
}
