//! The lines and fields of COPY's text and CSV formats, and the frame of its binary one.

use base::{Error, Result, sqlstate};
use types::binary_io;

use super::options::{CopyFormat, CopyOptions};

/// The first bytes of binary data.
pub const BINARY_SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// One field of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its text, escapes undone.
    pub text: String,
    /// It is NULL.
    pub is_null: bool,
}

/// Appends one row in text or CSV.
pub fn write_row(fields: &[Option<&str>], quoted: &[bool], options: &CopyOptions, out: &mut Vec<u8>) {
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            out.push(options.delimiter);
        }
        match field {
            None => out.extend_from_slice(options.null.as_bytes()),
            Some(text) if options.format == CopyFormat::Csv => {
                let force = quoted.get(number).copied().unwrap_or(false);
                write_csv(text, force, fields.len() == 1, options, out);
            }
            Some(text) => write_text(text, options.delimiter, out),
        }
    }
    out.push(b'\n');
}

fn write_text(text: &str, delimiter: u8, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        let escaped = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            b'\\' => b'\\',
            other if other == delimiter => other,
            other => {
                out.push(other);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', escaped]);
    }
}

fn write_csv(text: &str, force: bool, is_only: bool, options: &CopyOptions, out: &mut Vec<u8>) {
    let needs_quotes = force
        || text == options.null
        || (is_only && text == "\\.")
        || text.bytes().any(|byte| byte == options.delimiter || byte == options.quote || matches!(byte, b'\n' | b'\r'));
    if !needs_quotes {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(options.quote);
    for byte in text.bytes() {
        if byte == options.quote || byte == options.escape {
            out.push(options.escape);
        }
        out.push(byte);
    }
    out.push(options.quote);
}

/// How lines end. The first end that is found decides for all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Newline,
    Return,
    ReturnNewline,
}

/// Gathers data as it comes and finds whole lines in it.
#[derive(Default)]
pub struct LineReader {
    bytes: Vec<u8>,
    consumed: usize,
    /// How far a line was looked at, and whether that was within quotes of CSV.
    looked: usize,
    in_quotes: bool,
    line_end: Option<LineEnd>,
    is_at_end: bool,
    /// Ends of lines within quoted fields of the line that is looked at.
    quoted_ends: u64,
    /// Lines found so far, with those that quoted fields of CSV have.
    pub line_number: u64,
}

/// The byte that is looked at, as a part of a line.
enum Part {
    /// The line goes on after so many bytes.
    Data(usize),
    /// So many bytes end the line.
    End(usize),
    /// The mark for the end of data.
    EndOfData,
    /// It depends on bytes that have not come yet.
    Unknown,
}

impl LineReader {
    /// Adds data.
    pub fn extend(&mut self, data: &[u8]) {
        if self.consumed > 0 && self.consumed >= self.bytes.len() / 2 {
            self.bytes.drain(..self.consumed);
            self.looked -= self.consumed;
            self.consumed = 0;
        }
        self.bytes.extend_from_slice(data);
    }

    /// The next whole line without its end; with `is_last_data`, what is left is a line too. `None`: more is needed,
    /// or there is no more.
    ///
    /// # Errors
    /// 22P04 for lines that end in different ways.
    pub fn next_line(&mut self, is_last_data: bool, options: &CopyOptions) -> Result<Option<&[u8]>> {
        if self.is_at_end {
            return Ok(None);
        }
        // All other bytes are data.
        let is_special =
            |byte: &u8| matches!(byte, b'\n' | b'\r' | b'\\') || *byte == options.quote || *byte == options.escape;
        while let Some(plain) = self.bytes[self.looked.min(self.bytes.len())..].iter().position(is_special) {
            self.looked += plain;
            let part = self.part(is_last_data, options).inspect_err(|_| self.count_quoted_ends())?;
            match part {
                Part::Data(bytes) => self.looked += bytes,
                Part::Unknown => return Ok(None),
                Part::End(bytes) => {
                    let line = self.consumed..self.looked;
                    self.looked += bytes;
                    self.consumed = self.looked;
                    self.count_quoted_ends();
                    self.line_number += 1;
                    return Ok(Some(&self.bytes[line]));
                }
                Part::EndOfData => {
                    self.is_at_end = true;
                    return Ok(self.last_line(self.looked));
                }
            }
        }
        self.looked = self.bytes.len();
        if !is_last_data {
            return Ok(None);
        }
        Ok(self.last_line(self.bytes.len()))
    }

    /// The line that the end of data ends, unless it is empty.
    fn last_line(&mut self, end: usize) -> Option<&[u8]> {
        let start = std::mem::replace(&mut self.consumed, self.bytes.len());
        self.looked = self.bytes.len();
        if start == end {
            return None;
        }
        self.count_quoted_ends();
        self.line_number += 1;
        Some(&self.bytes[start..end])
    }

    fn count_quoted_ends(&mut self) {
        self.line_number += std::mem::take(&mut self.quoted_ends);
    }

    fn part(&mut self, is_last_data: bool, options: &CopyOptions) -> Result<Part> {
        let is_csv = options.format == CopyFormat::Csv;
        let byte = self.bytes[self.looked];
        let next = self.bytes.get(self.looked + 1).copied();
        if next.is_none() && !is_last_data && (matches!(byte, b'\\' | b'\r') || byte == options.escape) {
            return Ok(Part::Unknown);
        }
        if is_csv && self.in_quotes && byte == options.escape && options.escape != options.quote {
            return Ok(Part::Data(1 + usize::from(next.is_some())));
        }
        if is_csv && byte == options.quote {
            self.in_quotes = !self.in_quotes;
            return Ok(Part::Data(1));
        }
        if self.in_quotes {
            let counted = if self.line_end == Some(LineEnd::Newline) { b'\n' } else { b'\r' };
            self.quoted_ends += u64::from(byte == counted);
            return Ok(Part::Data(1));
        }
        match byte {
            b'\r' if self.line_end.is_none_or(|end| end == LineEnd::ReturnNewline) && next == Some(b'\n') => {
                self.line_end = Some(LineEnd::ReturnNewline);
                Ok(Part::End(2))
            }
            b'\r' if self.line_end.is_some_and(|end| end != LineEnd::Return) => {
                Err(unexpected_end("carriage return", "\\r", is_csv))
            }
            b'\r' => {
                self.line_end = Some(LineEnd::Return);
                Ok(Part::End(1))
            }
            b'\n' if self.line_end.is_some_and(|end| end != LineEnd::Newline) => {
                Err(unexpected_end("newline", "\\n", is_csv))
            }
            b'\n' => {
                self.line_end = Some(LineEnd::Newline);
                Ok(Part::End(1))
            }
            b'\\' if next == Some(b'.') && (!is_csv || self.looked == self.consumed) => {
                self.mark_of_end(is_last_data, is_csv)
            }
            // A byte after a backslash is a part of the field, even if it could end the line.
            b'\\' if !is_csv => Ok(Part::Data(2)),
            _ => Ok(Part::Data(1)),
        }
    }

    /// The meaning of `\.`. In CSV it is data unless it stands alone on its line.
    fn mark_of_end(&self, is_last_data: bool, is_csv: bool) -> Result<Part> {
        let rest = &self.bytes[self.looked + 2..];
        let wanted = match self.line_end {
            Some(LineEnd::ReturnNewline) => 2,
            _ => 1,
        };
        if rest.len() < wanted && !is_last_data && !(wanted == 2 && rest.first().is_some_and(|byte| *byte != b'\r')) {
            return Ok(Part::Unknown);
        }
        let refused = |message: &str| match is_csv {
            true => Ok(Part::Data(1)),
            false => Err(Error::new(sqlstate::BAD_COPY_FILE_FORMAT, message)),
        };
        const OTHER_STYLE: &str = "end-of-copy marker does not match previous newline style";
        const CORRUPT: &str = "end-of-copy marker corrupt";
        let last = match (self.line_end, rest.first()) {
            (Some(LineEnd::ReturnNewline), Some(b'\n')) => return refused(OTHER_STYLE),
            (Some(LineEnd::ReturnNewline), Some(b'\r')) => rest.get(1),
            (Some(LineEnd::ReturnNewline), _) => return refused(CORRUPT),
            (_, first) => first,
        };
        match (self.line_end, last) {
            (Some(LineEnd::Newline | LineEnd::ReturnNewline), Some(b'\r')) | (Some(LineEnd::Return), Some(b'\n')) => {
                Err(Error::new(sqlstate::BAD_COPY_FILE_FORMAT, OTHER_STYLE))
            }
            (_, Some(b'\r' | b'\n')) => Ok(Part::EndOfData),
            _ => refused(CORRUPT),
        }
    }
}

/// The error for an end of a line in data whose lines end in another way.
fn unexpected_end(name: &str, escape: &str, is_csv: bool) -> Error {
    let (what, hint) = match is_csv {
        true => ("unquoted", format!("Use quoted CSV field to represent {name}.")),
        false => ("literal", format!("Use \"{escape}\" to represent {name}.")),
    };
    Error::new(sqlstate::BAD_COPY_FILE_FORMAT, format!("{what} {name} found in data")).hint(hint)
}

/// Takes a line apart.
///
/// # Errors
/// 22021 when it is not UTF-8, 22P04 when it ends within quotes of CSV.
pub fn read_fields(line: &[u8], options: &CopyOptions, fields: &mut Vec<Field>) -> Result<()> {
    fields.clear();
    match options.format {
        CopyFormat::Csv => read_csv(line, options, fields),
        _ => read_text(line, options, fields),
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => return Ok(text),
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    binary_io::utf8(&bytes).map(str::to_owned)
}

fn read_text(mut line: &[u8], options: &CopyOptions, fields: &mut Vec<Field>) -> Result<()> {
    let mut at = 0;
    loop {
        let start = at;
        let mut text = Vec::new();
        let mut is_over = true;
        while at < line.len() {
            let byte = line[at];
            at += 1;
            if byte == options.delimiter {
                is_over = false;
                break;
            }
            if byte != b'\\' {
                text.push(byte);
                continue;
            }
            let Some(&escaped) = line.get(at) else {
                // A backslash that ends the data means nothing, and is no part of the text that may be NULL.
                line = &line[..at - 1];
                at -= 1;
                break;
            };
            at += 1;
            match escaped {
                b'b' => text.push(8),
                b'f' => text.push(12),
                b'n' => text.push(b'\n'),
                b'r' => text.push(b'\r'),
                b't' => text.push(b'\t'),
                b'v' => text.push(11),
                b'0'..=b'7' => text.push(read_number(line, &mut at, escaped - b'0', 8, 2)),
                b'x' if line.get(at).is_some_and(u8::is_ascii_hexdigit) => {
                    text.push(read_number(line, &mut at, 0, 16, 2));
                }
                other => text.push(other),
            }
        }
        let raw = &line[start..if is_over { at } else { at - 1 }];
        let is_null = raw == options.null.as_bytes();
        fields.push(Field { text: utf8(text)?, is_null });
        if is_over {
            return Ok(());
        }
    }
}

/// Up to `more` further digits of a byte given by its number.
fn read_number(line: &[u8], at: &mut usize, first: u8, base: u32, more: usize) -> u8 {
    let mut number = u32::from(first);
    for _ in 0..more {
        let Some(digit) = line.get(*at).and_then(|byte| char::from(*byte).to_digit(base)) else { break };
        number = number * base + digit;
        *at += 1;
    }
    number as u8
}

fn read_csv(line: &[u8], options: &CopyOptions, fields: &mut Vec<Field>) -> Result<()> {
    let mut at = 0;
    loop {
        let (mut text, mut was_quoted, mut is_over) = (Vec::new(), false, true);
        while at < line.len() {
            let byte = line[at];
            at += 1;
            if byte == options.delimiter {
                is_over = false;
                break;
            }
            if byte != options.quote {
                text.push(byte);
                continue;
            }
            was_quoted = true;
            let mut is_closed = false;
            while at < line.len() {
                let byte = line[at];
                at += 1;
                let next = line.get(at).copied();
                if byte == options.escape && next.is_some_and(|next| next == options.quote || next == options.escape) {
                    text.extend(next);
                    at += 1;
                } else if byte == options.quote {
                    is_closed = true;
                    break;
                } else {
                    text.push(byte);
                }
            }
            if !is_closed {
                return Err(Error::new(sqlstate::BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field"));
            }
        }
        let is_null = !was_quoted && text == options.null.as_bytes();
        fields.push(Field { text: utf8(text)?, is_null });
        if is_over {
            return Ok(());
        }
    }
}

/// Reads any bytes, in these pieces, as lines of COPY's text (`kind` 0 or 1) or CSV: what a fuzzer calls. Gives the rows up to
/// an error, if there is one, and whether there was.
pub fn fuzz_copy(kind: u8, pieces: &[&[u8]]) -> (Vec<Vec<Field>>, bool) {
    let is_csv = kind & 2 != 0;
    let options = CopyOptions {
        format: if is_csv { CopyFormat::Csv } else { CopyFormat::Text },
        delimiter: if is_csv { b',' } else { b'\t' },
        null: if is_csv { String::new() } else { "\\N".to_owned() },
        header: super::options::Header::None,
        quote: b'"',
        escape: if kind & 1 != 0 { b'\\' } else { b'"' },
        force_quote: None,
        force_quote_all: false,
        force_not_null: Vec::new(),
        force_null: Vec::new(),
        freeze: false,
    };
    let mut reader = LineReader::default();
    let (mut rows, mut fields) = (Vec::new(), Vec::new());
    for (number, piece) in pieces.iter().enumerate() {
        reader.extend(piece);
        loop {
            match reader.next_line(number + 1 == pieces.len(), &options) {
                Ok(None) => break,
                Ok(Some(line)) => match read_fields(line, &options, &mut fields) {
                    Ok(()) => rows.push(fields.clone()),
                    Err(_) => return (rows, true),
                },
                Err(_) => return (rows, true),
            }
        }
    }
    (rows, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syntax::tree::{DefinitionElement, DefinitionValue};

    fn options(format: &str) -> CopyOptions {
        let element = DefinitionElement {
            namespace: None,
            name: "format".into(),
            value: Some(DefinitionValue::String(format.to_owned())),
            location: -1,
        };
        CopyOptions::read(&[element], true).unwrap()
    }

    fn lines(data: &[&[u8]], options: &CopyOptions) -> Vec<Vec<Option<String>>> {
        let mut reader = LineReader::default();
        let mut all = Vec::new();
        let mut fields = Vec::new();
        for (number, piece) in data.iter().enumerate() {
            reader.extend(piece);
            let is_last = number + 1 == data.len();
            while let Some(line) = reader.next_line(is_last, options).unwrap() {
                read_fields(line, options, &mut fields).unwrap();
                all.push(fields.iter().map(|field| (!field.is_null).then(|| field.text.clone())).collect());
            }
        }
        all
    }

    fn row(fields: &[Option<&str>]) -> Vec<Option<String>> {
        fields.iter().map(|field| field.map(str::to_owned)).collect()
    }

    #[test]
    fn text_lines_may_come_in_any_pieces_and_end_with_a_backslash_dot() {
        let expected = [row(&[Some("1"), Some("a\tb\\")]), row(&[Some("2"), None])];
        for end in ["\n", "\r", "\r\n"] {
            let data = ["1\ta\\tb\\\\", "2\t\\N", "\\.", "ignored", ""].join(end).into_bytes();
            for cut in 0..data.len() {
                assert_eq!(lines(&[&data[..cut], &data[cut..]], &options("text")), expected, "{end:?}, cut at {cut}");
            }
        }
    }

    #[test]
    fn csv_fields_may_hold_delimiters_quotes_and_line_ends() {
        let data = b"1,\"a,\"\"b\"\"\nc\",\n2,,\"\"\n";
        let expected = [row(&[Some("1"), Some("a,\"b\"\nc"), None]), row(&[Some("2"), None, Some("")])];
        for cut in 0..data.len() {
            assert_eq!(lines(&[&data[..cut], &data[cut..]], &options("csv")), expected, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let values =
            [Some("plain"), None, Some(""), Some("tab\tnewline\nback\\slash,\"quoted\""), Some("\\N"), Some("\\.")];
        for format in ["text", "csv"] {
            let options = options(format);
            let mut out = Vec::new();
            write_row(&values, &[], &options, &mut out);
            assert_eq!(lines(&[&out], &options), [row(&values)], "{format}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_however_they_are_written() {
        for (format, line) in
            [("text", &b"a\\000b"[..]), ("text", b"a\0b"), ("text", b"\\xff"), ("csv", b"a\0b"), ("csv", b"\xC3(")]
        {
            let error = read_fields(line, &options(format), &mut Vec::new()).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate::CHARACTER_NOT_IN_REPERTOIRE, "{line:?}");
        }
    }
}
