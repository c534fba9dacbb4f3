//! The options of COPY.

use base::{Error, Result, sqlstate};
use syntax::tree::{DefinitionElement, DefinitionValue};

/// The three formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Tabs and backslashes.
    Text,
    /// Commas and quotes.
    Csv,
    /// The types' binary forms.
    Binary,
}

/// How a COPY reads or writes.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// The format.
    pub format: CopyFormat,
    /// The delimiter between fields.
    pub delimiter: u8,
    /// The text that stands for NULL.
    pub null: String,
    /// Whether the first line has the columns' names.
    pub header: Header,
    /// The quote around CSV fields.
    pub quote: u8,
    /// The escape before a quote within a CSV field.
    pub escape: u8,
    /// Columns always quoted; `None` in the list's place for all.
    pub force_quote: Option<Vec<String>>,
    /// Quote all columns.
    pub force_quote_all: bool,
    /// Columns whose values are never taken for NULL.
    pub force_not_null: Vec<String>,
    /// Columns whose quoted values may be NULL.
    pub force_null: Vec<String>,
    /// FREEZE
    pub freeze: bool,
}

/// The content of the first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Data.
    None,
    /// Names, skipped.
    Present,
    /// Names that must be the columns'.
    Match,
}

impl CopyOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// 42601, 22023 and 0A000 as PostgreSQL raises them.
    pub fn read(elements: &[DefinitionElement], is_from: bool) -> Result<CopyOptions> {
        let find = |name: &str| elements.iter().find(|element| element.name == name);
        for (index, element) in elements.iter().enumerate() {
            if elements[..index].iter().any(|earlier| earlier.name == element.name) {
                return Err(syntax("conflicting or redundant options"));
            }
        }
        let format = match find("format").and_then(DefinitionElement::text).as_deref() {
            None | Some("text") => CopyFormat::Text,
            Some("csv") => CopyFormat::Csv,
            Some("binary") => CopyFormat::Binary,
            Some(other) => return Err(invalid(format!("COPY format \"{other}\" not recognized"))),
        };
        let is_csv = format == CopyFormat::Csv;
        let mut options = CopyOptions {
            format,
            delimiter: if is_csv { b',' } else { b'\t' },
            null: if is_csv { String::new() } else { "\\N".to_owned() },
            header: Header::None,
            quote: b'"',
            escape: b'"',
            force_quote: None,
            force_quote_all: false,
            force_not_null: Vec::new(),
            force_null: Vec::new(),
            freeze: false,
        };
        let mut escape_given = false;
        for element in elements {
            match element.name.as_str() {
                "format" => {}
                "freeze" => {
                    options.freeze = element.boolean().ok_or_else(|| syntax("freeze requires a Boolean value"))?;
                }
                "delimiter" => options.delimiter = one_byte(element, "COPY delimiter")?,
                "null" => options.null = text_of(element)?,
                "header" => {
                    options.header = match element.text() {
                        Some(text) if text.eq_ignore_ascii_case("match") && is_from => Header::Match,
                        _ => match element.boolean() {
                            Some(true) => Header::Present,
                            Some(false) => Header::None,
                            None => return Err(syntax("header requires a Boolean value or \"match\"")),
                        },
                    }
                }
                "quote" => options.quote = one_byte(element, "COPY quote")?,
                "escape" => {
                    options.escape = one_byte(element, "COPY escape")?;
                    escape_given = true;
                }
                "force_quote" => match &element.value {
                    Some(DefinitionValue::Star) => options.force_quote_all = true,
                    _ => options.force_quote = Some(names_of(element)?),
                },
                "force_not_null" => options.force_not_null = names_of(element)?,
                "force_null" => options.force_null = names_of(element)?,
                "encoding" => {
                    let name: String = text_of(element)?.chars().filter(char::is_ascii_alphanumeric).collect();
                    if !matches!(name.to_ascii_uppercase().as_str(), "UTF8" | "UNICODE" | "SQLASCII") {
                        return Err(Error::unsupported("only UTF8 is supported as COPY encoding"));
                    }
                }
                other => return Err(syntax(format!("option \"{other}\" not recognized"))),
            }
        }
        if !escape_given {
            options.escape = options.quote;
        }
        options.check(elements, is_from)?;
        Ok(options)
    }

    fn check(&self, elements: &[DefinitionElement], is_from: bool) -> Result<()> {
        let is_given = |name: &str| elements.iter().any(|element| element.name == name);
        let is_csv = self.format == CopyFormat::Csv;
        if self.format == CopyFormat::Binary {
            for (name, what) in [("delimiter", "DELIMITER"), ("null", "NULL")] {
                if is_given(name) {
                    return Err(syntax(format!("cannot specify {what} in BINARY mode")));
                }
            }
            if self.header != Header::None {
                return Err(Error::unsupported("cannot specify HEADER in BINARY mode"));
            }
        }
        if !is_csv {
            let only_csv = [
                ("quote", "quote"),
                ("escape", "escape"),
                ("force_quote", "force quote"),
                ("force_not_null", "force not null"),
                ("force_null", "force null"),
            ];
            for (name, what) in only_csv {
                if is_given(name) {
                    return Err(Error::unsupported(format!("COPY {what} available only in CSV mode")));
                }
            }
        }
        if is_given("force_quote") && is_from {
            return Err(Error::unsupported("COPY force quote only available using COPY TO"));
        }
        for (name, what) in [("force_not_null", "force not null"), ("force_null", "force null")] {
            if is_given(name) && !is_from {
                return Err(Error::unsupported(format!("COPY {what} only available using COPY FROM")));
            }
        }
        if matches!(self.delimiter, b'\r' | b'\n') {
            return Err(invalid("COPY delimiter cannot be newline or carriage return"));
        }
        if self.null.contains(['\r', '\n']) {
            return Err(invalid("COPY null representation cannot use newline or carriage return"));
        }
        if !is_csv && b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&self.delimiter) {
            return Err(invalid(format!("COPY delimiter cannot be \"{}\"", char::from(self.delimiter))));
        }
        if is_csv && self.delimiter == self.quote {
            return Err(invalid("COPY delimiter and quote must be different"));
        }
        if self.format != CopyFormat::Binary && self.null.as_bytes().contains(&self.delimiter) {
            return Err(Error::unsupported("COPY delimiter must not appear in the NULL specification"));
        }
        if is_csv && self.null.as_bytes().contains(&self.quote) {
            return Err(Error::unsupported("CSV quote character must not appear in the NULL specification"));
        }
        Ok(())
    }
}

fn text_of(element: &DefinitionElement) -> Result<String> {
    element.text().ok_or_else(|| syntax(format!("{} requires a parameter", element.name)))
}

fn names_of(element: &DefinitionElement) -> Result<Vec<String>> {
    match &element.value {
        Some(DefinitionValue::Names(names)) => Ok(names.iter().map(ToString::to_string).collect()),
        Some(DefinitionValue::String(name)) => Ok(vec![name.clone()]),
        _ => Err(invalid(format!("argument to option \"{}\" must be a list of column names", element.name))),
    }
}

fn one_byte(element: &DefinitionElement, what: &str) -> Result<u8> {
    match text_of(element)?.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(Error::unsupported(format!("{what} must be a single one-byte character"))),
    }
}

fn syntax(message: impl Into<String>) -> Error {
    Error::new(sqlstate::SYNTAX_ERROR, message)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}
