//! Text input and output of arrays.

use std::num::IntErrorKind;

use base::{Error, Result, sqlstate};
use smallvec::SmallVec;

use super::context::{CatalogLookup, EvalContext, FormatSettings};
use super::type_table::SqlType;
use super::value::{ArrayValue, Dimension, Value};
use super::{array_structure, oids, text_io};

/// The most dimensions an array may have.
pub const MAX_DIMENSIONS: usize = 6;
/// The most elements an array may have.
pub const MAX_ELEMENTS: usize = (1 << 27) - 1;

#[cold]
pub(super) fn malformed(text: &str, detail: impl Into<String>) -> Error {
    Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, format!("malformed array literal: \"{text}\"")).detail(detail)
}

/// 54000 `number of array dimensions (7) exceeds the maximum allowed (6)`.
#[cold]
pub fn too_many_dimensions(count: usize) -> Error {
    Error::new(
        sqlstate::PROGRAM_LIMIT_EXCEEDED,
        format!("number of array dimensions ({count}) exceeds the maximum allowed ({MAX_DIMENSIONS})"),
    )
}

fn skip_spaces(text: &str, position: &mut usize) {
    while text.as_bytes().get(*position).is_some_and(|byte| byte.is_ascii_whitespace() || *byte == 0x0b) {
        *position += 1;
    }
}

const NOT_AS_SPECIFIED: &str = "Specified array dimensions do not match array contents.";

/// Reads `{...}` with elements of type `element`. 22P02.
pub fn parse_array(context: &mut dyn EvalContext, text: &str, element: SqlType) -> Result<ArrayValue> {
    let (bounds, position) = parse_all_bounds(text)?;
    parse_contents(context, text, element, bounds.clone(), position).map_err(|error| {
        // A fault of the structure takes precedence over a fault of an element.
        match array_structure::dimensions(text, position) {
            Err(structure) => structure,
            Ok(found) => {
                let same = bounds.iter().map(|bound| bound.length).eq(found.iter().copied());
                match check_bounds(&bounds) {
                    _ if !bounds.is_empty() && !same => malformed(text, NOT_AS_SPECIFIED),
                    Err(bounds) => bounds,
                    Ok(()) => error,
                }
            }
        }
    })
}

/// The dimensions written before the braces, and where the first brace is.
fn parse_all_bounds(text: &str) -> Result<(SmallVec<[Dimension; 1]>, usize)> {
    let mut position = 0;
    let mut bounds: SmallVec<[Dimension; 1]> = SmallVec::new();
    loop {
        skip_spaces(text, &mut position);
        if text.as_bytes().get(position) != Some(&b'[') {
            break;
        }
        if bounds.len() == MAX_DIMENSIONS {
            return Err(too_many_dimensions(bounds.len() + 1));
        }
        bounds.push(parse_bounds(text, &mut position)?);
    }
    if !bounds.is_empty() {
        if text.as_bytes().get(position) != Some(&b'=') {
            return Err(malformed(text, "Missing \"=\" after array dimensions."));
        }
        position += 1;
        skip_spaces(text, &mut position);
        if text.as_bytes().get(position) != Some(&b'{') {
            return Err(malformed(text, "Array contents must start with \"{\"."));
        }
    } else if text.as_bytes().get(position) != Some(&b'{') {
        return Err(malformed(text, "Array value must start with \"{\" or dimension information."));
    }
    Ok((bounds, position))
}

fn parse_contents(
    context: &mut dyn EvalContext,
    text: &str,
    element: SqlType,
    bounds: SmallVec<[Dimension; 1]>,
    position: usize,
) -> Result<ArrayValue> {
    let mut parser = Parser { text, position, lengths: SmallVec::new(), values: Vec::new(), element };
    if parser.is_empty_braces() {
        if !bounds.is_empty() {
            return Err(malformed(text, NOT_AS_SPECIFIED));
        }
    } else {
        parser.nested(context, 0)?;
    }
    skip_spaces(text, &mut parser.position);
    if parser.position < text.len() {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    let dimensions: SmallVec<[Dimension; 1]> =
        parser.lengths.iter().map(|length| Dimension { length: length.unwrap_or(0), lower_bound: 1 }).collect();
    if bounds.is_empty() {
        return Ok(ArrayValue { element: element.oid, dimensions, values: parser.values });
    }
    let same = bounds.len() == dimensions.len() && bounds.iter().zip(&dimensions).all(|(b, d)| b.length == d.length);
    if !same {
        return Err(malformed(text, NOT_AS_SPECIFIED));
    }
    check_bounds(&bounds)?;
    Ok(ArrayValue { element: element.oid, dimensions: bounds, values: parser.values })
}

/// 54000 for a dimension whose end no subscript can name.
pub fn check_bounds(bounds: &[Dimension]) -> Result<()> {
    let is_too_large =
        |bound: &&Dimension| i64::from(bound.lower_bound) + i64::from(bound.length) > i64::from(i32::MAX);
    match bounds.iter().find(is_too_large) {
        None => Ok(()),
        Some(bound) => Err(Error::new(
            sqlstate::PROGRAM_LIMIT_EXCEEDED,
            format!("array lower bound is too large: {}", bound.lower_bound),
        )),
    }
}

/// `[lower:upper]` or `[upper]`.
fn parse_bounds(text: &str, position: &mut usize) -> Result<Dimension> {
    let rest = &text[*position + 1..];
    let number = |text: &str| {
        let length = text
            .bytes()
            .enumerate()
            .take_while(|(index, byte)| byte.is_ascii_digit() || (*index == 0 && matches!(byte, b'-' | b'+')))
            .count();
        // As PostgreSQL, which takes the low bits of a number that is too large.
        let value = match text[..length].parse::<i64>() {
            Ok(value) => Some(value as i32),
            Err(error) => match error.kind() {
                IntErrorKind::PosOverflow => Some(i64::MAX as i32),
                IntErrorKind::NegOverflow => Some(i64::MIN as i32),
                // A sign alone counts as nothing.
                _ => (length > 0).then_some(0),
            },
        };
        (length, value)
    };
    let (length, first) = number(rest);
    let Some(first) = first else {
        return Err(malformed(text, "\"[\" must introduce explicitly-specified array dimensions."));
    };
    let mut consumed = 1 + length;
    let (lower, upper) = if rest.as_bytes().get(length) == Some(&b':') {
        let (upper_length, upper) = number(&rest[length + 1..]);
        let upper = upper.ok_or_else(|| malformed(text, "Missing array dimension value."))?;
        consumed += 1 + upper_length;
        (first, upper)
    } else {
        (1, first)
    };
    if text.as_bytes().get(*position + consumed) != Some(&b']') {
        return Err(malformed(text, "Missing \"]\" after array dimensions."));
    }
    *position += consumed + 1;
    if upper < lower {
        return Err(Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "upper bound cannot be less than lower bound"));
    }
    let length = i64::from(upper) - i64::from(lower) + 1;
    // A length beyond `u32` is more than any array can have, so it differs from the number of elements in any case.
    Ok(Dimension { length: u32::try_from(length).unwrap_or(u32::MAX), lower_bound: lower })
}

/// 54000 `array size exceeds the maximum allowed (134217727)`.
#[cold]
pub fn array_too_large() -> Error {
    Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, format!("array size exceeds the maximum allowed ({MAX_ELEMENTS})"))
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
    /// Lengths of the dimensions, as far as a sub-array of each has been seen to its end.
    lengths: SmallVec<[Option<u32>; 2]>,
    values: Vec<Value>,
    element: SqlType,
}

impl Parser<'_> {
    fn is_empty_braces(&mut self) -> bool {
        let mut position = self.position + 1;
        skip_spaces(self.text, &mut position);
        let empty = self.text.as_bytes().get(position) == Some(&b'}');
        if empty {
            self.position = position + 1;
        }
        empty
    }

    fn unexpected(&self, byte: u8) -> Error {
        malformed(self.text, format!("Unexpected \"{}\" character.", byte as char))
    }

    /// Reads from an opening brace to its closing one.
    fn nested(&mut self, context: &mut dyn EvalContext, depth: usize) -> Result<()> {
        if depth == MAX_DIMENSIONS {
            // count how deep it goes for the message
            let deeper = self.text[self.position..].bytes().take_while(|byte| *byte == b'{').count();
            return Err(too_many_dimensions(depth + deeper.min(1)));
        }
        if self.lengths.len() == depth {
            if !self.values.is_empty() {
                return Err(self.unexpected(b'{'));
            }
            self.lengths.push(None);
        }
        self.position += 1;
        let mut count = 0_u32;
        loop {
            skip_spaces(self.text, &mut self.position);
            match self.text.as_bytes().get(self.position) {
                None => return Err(malformed(self.text, "Unexpected end of input.")),
                Some(b'{') => {
                    let is_leaf_level = self.lengths.len() == depth + 1 && (count > 0 || !self.values.is_empty());
                    if is_leaf_level {
                        return Err(self.unexpected(b'{'));
                    }
                    self.nested(context, depth + 1)?;
                }
                Some(byte @ (b'}' | b',')) => return Err(self.unexpected(*byte)),
                Some(_) => {
                    if self.lengths.len() > depth + 1 {
                        return Err(malformed(self.text, "Unexpected array element."));
                    }
                    let value = self.element(context)?;
                    if self.values.len() == MAX_ELEMENTS {
                        return Err(array_too_large());
                    }
                    self.values.push(value);
                }
            }
            count += 1;
            skip_spaces(self.text, &mut self.position);
            match self.text.as_bytes().get(self.position) {
                Some(b',') => self.position += 1,
                Some(b'}') => {
                    self.position += 1;
                    break;
                }
                None => return Err(malformed(self.text, "Unexpected end of input.")),
                Some(b'{') => return Err(self.unexpected(b'{')),
                Some(_) => return Err(malformed(self.text, "Unexpected array element.")),
            }
        }
        match self.lengths[depth] {
            None => self.lengths[depth] = Some(count),
            Some(length) if length == count => {}
            Some(_) => {
                return Err(malformed(
                    self.text,
                    "Multidimensional arrays must have sub-arrays with matching dimensions.",
                ));
            }
        }
        Ok(())
    }

    fn element(&mut self, context: &mut dyn EvalContext) -> Result<Value> {
        let bytes = self.text.as_bytes();
        if bytes[self.position] == b'"' {
            let mut item = String::new();
            self.position += 1;
            loop {
                let run = self.position;
                while bytes.get(self.position).is_some_and(|byte| *byte != b'"' && *byte != b'\\') {
                    self.position += 1;
                }
                item.push_str(&self.text[run..self.position]);
                match bytes.get(self.position) {
                    Some(b'"') => {
                        self.position += 1;
                        return text_io::input_part(context, item, self.element);
                    }
                    Some(_) => self.push_escaped(&mut item)?,
                    None => return Err(malformed(self.text, "Unexpected end of input.")),
                }
            }
        }
        let start = self.position;
        let mut item = String::new();
        // blanks at the end don't count, unless they were escaped
        let mut kept = 0;
        loop {
            match bytes.get(self.position) {
                None => return Err(malformed(self.text, "Unexpected end of input.")),
                Some(b',' | b'}') => break,
                Some(b'{') => return Err(self.unexpected(b'{')),
                Some(b'"') => return Err(malformed(self.text, "Unexpected array element.")),
                Some(b'\\') => {
                    self.push_escaped(&mut item)?;
                    kept = item.len();
                }
                Some(byte) => {
                    let is_space = byte.is_ascii_whitespace() || *byte == 0x0b;
                    let character = self.text[self.position..].chars().next().expect("not at the end");
                    item.push(character);
                    self.position += character.len_utf8();
                    if !is_space {
                        kept = item.len();
                    }
                }
            }
        }
        item.truncate(kept);
        let was_escaped = self.text[start..self.position].contains('\\');
        if !was_escaped && item.eq_ignore_ascii_case("null") && context.format().array_nulls {
            return text_io::null_input(context, self.element);
        }
        text_io::input_part(context, item, self.element)
    }

    fn push_escaped(&mut self, item: &mut String) -> Result<()> {
        let character = self.text[self.position + 1..]
            .chars()
            .next()
            .ok_or_else(|| malformed(self.text, "Unexpected end of input."))?;
        item.push(character);
        self.position += 1 + character.len_utf8();
        Ok(())
    }
}

/// Appends an array as text. 54000 if it becomes too long.
pub fn write_array(
    array: &ArrayValue,
    format: &FormatSettings,
    catalog: &dyn CatalogLookup,
    out: &mut Vec<u8>,
) -> Result<()> {
    if array.dimensions.is_empty() {
        out.extend_from_slice(b"{}");
        return Ok(());
    }
    if array.dimensions.iter().any(|dimension| dimension.lower_bound != 1) {
        for dimension in &array.dimensions {
            let upper = i64::from(dimension.lower_bound) + i64::from(dimension.length) - 1;
            out.extend_from_slice(format!("[{}:{upper}]", dimension.lower_bound).as_bytes());
        }
        out.push(b'=');
    }
    let mut values = array.values.iter();
    let mut item = Vec::new();
    write_level(array, 0, &mut values, &mut item, format, catalog, out)
}

fn write_level(
    array: &ArrayValue,
    depth: usize,
    values: &mut std::slice::Iter<'_, Value>,
    item: &mut Vec<u8>,
    format: &FormatSettings,
    catalog: &dyn CatalogLookup,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.push(b'{');
    for index in 0..array.dimensions[depth].length {
        if index > 0 {
            out.push(b',');
        }
        if depth + 1 < array.dimensions.len() {
            write_level(array, depth + 1, values, item, format, catalog, out)?;
            continue;
        }
        match values.next() {
            None | Some(Value::Null) => out.extend_from_slice(b"NULL"),
            Some(value) => {
                sync::yield_point()?;
                item.clear();
                text_io::output(value, array.element, format, catalog, item)?;
                write_item(item, out)?;
            }
        }
    }
    out.push(b'}');
    Ok(())
}

fn write_item(item: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let is_special = |byte: u8| matches!(byte, b'"' | b'\\' | b'{' | b'}' | b',' | 0x0b) || byte.is_ascii_whitespace();
    let needs_quotes = item.is_empty() || item.eq_ignore_ascii_case(b"null") || text_io::has_any(item, is_special)?;
    if !needs_quotes {
        return text_io::append(item, out);
    }
    text_io::write_quoted(item, |_| b'\\', out)
}

/// Reads `int2vector` and `oidvector`: numbers with blanks between; subscripts start at 0.
pub fn parse_vector(context: &mut dyn EvalContext, text: &str, oid: base::Oid) -> Result<ArrayValue> {
    let element = if oid == oids::INT2VECTOR { oids::INT2 } else { oids::OID };
    let values = text
        .split_ascii_whitespace()
        .map(|item| text_io::input(context, item, SqlType::new(element)))
        .collect::<Result<Vec<_>>>()?;
    Ok(ArrayValue::with_lower_bound(element, values, 0))
}

/// Appends `int2vector` or `oidvector`.
pub fn write_vector(
    array: &ArrayValue,
    format: &FormatSettings,
    catalog: &dyn CatalogLookup,
    out: &mut Vec<u8>,
) -> Result<()> {
    for (index, value) in array.values.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        text_io::output(value, array.element, format, catalog, out)?;
    }
    Ok(())
}
