//! Names of types as SQL writes them, and their modifiers.

use base::{Error, Oid, Result, missing, sqlstate};

use super::context::{CatalogLookup, RegKind, UserTypeKind};
use super::datetime::interval::range;
use super::oids;
use super::reg_types::{PARTS_MAX, fold_name, length_until, quote_identifier, too_many_dots, truncate_name};
use super::type_table::{SqlType, TypeDef, array_type, builtin_type, builtin_type_named, element_type};
use super::typmods::precision_warning;

/// The type's name as `format_type` prints it with its modifier: `character varying(3)`, `integer[]`.
pub fn format_type(catalog: &dyn CatalogLookup, ty: SqlType) -> String {
    format_with(catalog, ty, true)
}

/// The type's name without its modifier, as error messages print it.
pub fn format_type_name(catalog: &dyn CatalogLookup, oid: Oid) -> String {
    format_with(catalog, SqlType::new(oid), false)
}

fn format_with(catalog: &dyn CatalogLookup, ty: SqlType, typmod_given: bool) -> String {
    if ty.oid == Oid::INVALID {
        return "-".to_owned();
    }
    // A domain over an array has a name of its own.
    let is_domain = ty.oid >= Oid::FIRST_NORMAL
        && super::type_table::type_shape(catalog, ty.oid)
            .is_some_and(|shape| matches!(shape.kind, super::type_table::TypeKind::Domain(_)));
    let is_array = !is_domain && builtin_type(ty.oid).is_none_or(|def| def.is_array() || ty.oid == oids::RECORD_ARRAY);
    if is_array && let Some(element) = element_type(catalog, ty.oid) {
        let mut name = format_with(catalog, SqlType::with_typmod(element, ty.typmod), typmod_given);
        name.push_str("[]");
        return name;
    }
    match builtin_type(ty.oid) {
        // Without a length it is not the same as the word of the grammar, which means a length of 1.
        Some(def) if def.bare_name_means_one && typmod_given && ty.typmod < 0 => quote_identifier(def.name),
        Some(TypeDef { typmod: Some(typmod), .. }) => (typmod.format)(ty.typmod),
        Some(TypeDef { sql_name: Some(name), .. }) => (*name).to_owned(),
        Some(def) if catalog.type_is_visible(ty.oid) => quote_identifier(def.name),
        Some(def) => format!("pg_catalog.{}", quote_identifier(def.name)),
        None => match catalog.user_type(ty.oid) {
            Some(user) => {
                let name = quote_identifier(&user.name);
                if catalog.type_is_visible(ty.oid) {
                    name
                } else {
                    format!("{}.{name}", quote_identifier(&user.schema))
                }
            }
            None => "???".to_owned(),
        },
    }
}

/// Words of the grammar that begin the name of a type: they mean the built-in one whatever the search path.
const GRAMMAR_TYPES: [&str; 20] = [
    "bigint",
    "bit",
    "boolean",
    "char",
    "character",
    "dec",
    "decimal",
    "double",
    "float",
    "int",
    "integer",
    "interval",
    "national",
    "nchar",
    "numeric",
    "real",
    "smallint",
    "time",
    "timestamp",
    "varchar",
];

/// The type called `name` in `schema`, or on the search path with the built-in ones at the place of `pg_catalog`.
pub fn type_named(catalog: &dyn CatalogLookup, schema: Option<&str>, name: &str) -> Option<Oid> {
    let builtin = match schema {
        None | Some("pg_catalog") => builtin_type_named(name),
        Some(_) => None,
    };
    match (builtin, schema) {
        (Some(def), None) => Some(catalog.type_before_builtins(name).unwrap_or(def.oid)),
        (Some(def), Some(_)) => Some(def.oid),
        (None, _) => catalog.user_type_named(schema, name),
    }
}

/// The type called `name` (as the parser gives it: `int4`, `bpchar`, `varchar`, ...), in `schema` if written.
/// 42704 `type "x" does not exist`, 3F000 for a schema that does not, 42501 for one that the role may not look into; 0A000 for types that are
/// left out.
pub fn resolve_type_name(catalog: &dyn CatalogLookup, schema: Option<&str>, name: &str) -> Result<Oid> {
    if let Some(schema) = schema {
        catalog.require_usage(schema)?;
    }
    if let Some(oid) = type_named(catalog, schema, name) {
        return Ok(oid);
    }
    if super::absent::is_type(schema, name) {
        return Err(Error::unsupported(format!("type {name} is not supported")));
    }
    if let Some(schema) = schema {
        catalog.object_named(RegKind::Namespace, &[schema.to_owned()])?;
    }
    Err(no_such_type(schema, name))
}

#[cold]
fn no_such_type(schema: Option<&str>, name: &str) -> Error {
    let shown = match schema {
        Some(schema) => format!("{schema}.{name}"),
        None => name.to_owned(),
    };
    missing::data_type(shown)
}

/// Encodes the modifiers written after a type's name: `varchar(3)` is `[3]`, `numeric(5,2)` is `[5, 2]`;
/// for `interval` the parser's range mask comes first. 42601 or 22023 with PostgreSQL's texts.
pub fn encode_typmod(oid: Oid, modifiers: &[i32]) -> Result<i32> {
    if modifiers.is_empty() {
        return Ok(-1);
    }
    match builtin_type(oid) {
        Some(TypeDef { typmod: Some(typmod), .. }) => (typmod.encode)(modifiers),
        Some(def) if def.is_array() => encode_typmod(def.element, modifiers),
        def => {
            let name = def.map_or("???", |def| def.name);
            Err(Error::new(sqlstate::SYNTAX_ERROR, format!("type modifier is not allowed for type \"{name}\"")))
        }
    }
}

/// The same for a type as it is written.
pub fn precision_warning_of(catalog: &dyn CatalogLookup, text: &str) -> Option<Error> {
    let named = parse_type_name(catalog, text).ok()?.oid;
    let oid = super::element_type(catalog, named).unwrap_or(named);
    let precision = tokens(text).ok()??.windows(3).find_map(|three| match three {
        [Token::Symbol('('), Token::Number(precision), Token::Symbol(')')] => Some(*precision),
        _ => None,
    })?;
    match oid {
        oids::INTERVAL => precision_warning(oid, &[0, precision]),
        _ => precision_warning(oid, &[precision]),
    }
}

/// The text of a modifier, as the type's `typmodout` function gives it: `(10,2)`.
pub fn format_typmod(catalog: &dyn CatalogLookup, ty: SqlType) -> String {
    let bare = format_type_name(catalog, ty.oid);
    let full = format_type(catalog, ty);
    full.strip_prefix(&bare).unwrap_or("").to_owned()
}

#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    Quoted(String),
    Number(i32),
    Symbol(char),
}

/// More tokens than any type's name has. Those behind them are not looked at.
const TOKENS_MAX: usize = 1 << 14;
/// Stands behind that many.
const CUT: char = '\0';

/// `None` for what can't be part of a type's name.
fn tokens(text: &str) -> Result<Option<Vec<Token>>> {
    let mut tokens = Vec::new();
    let trimmed = |text: &str| length_until(text, |c| !c.is_ascii_whitespace() && c != '\x0b');
    // As in PostgreSQL's identifiers, every character beyond ASCII counts as a letter.
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let mut rest = &text[trimmed(text)?..];
    while let Some(first) = rest.chars().next() {
        let length;
        if tokens.len() == TOKENS_MAX {
            tokens.push(Token::Symbol(CUT));
            break;
        }
        if first == '"' {
            // A quote within the name is written twice.
            let mut end = 1;
            loop {
                sync::yield_point()?;
                let Some(place) = memchr::memchr(b'"', &rest.as_bytes()[end..]) else { return Ok(None) };
                end += place + 1;
                if rest.as_bytes().get(end) != Some(&b'"') {
                    break;
                }
                end += 1;
            }
            let name = rest[1..end - 1].replace("\"\"", "\"");
            tokens.push(Token::Quoted(truncate_name(&name).to_owned()));
            length = end;
        } else if is_letter(first) {
            length = length_until(rest, |c| !is_letter(c) && !c.is_ascii_digit() && c != '$')?;
            tokens.push(Token::Word(fold_name(&rest[..length])));
        } else if first.is_ascii_digit() || first == '-' {
            length = 1 + length_until(&rest[1..], |c| !c.is_ascii_digit())?;
            let Ok(number) = rest[..length].parse::<i32>() else { return Ok(None) };
            tokens.push(Token::Number(number));
        } else {
            tokens.push(Token::Symbol(first));
            length = first.len_utf8();
        }
        rest = &rest[length..];
        rest = &rest[trimmed(rest)?..];
    }
    Ok(Some(tokens))
}

/// Parses a whole type name, as `regtype` input and `to_regtype` do: `character varying(3)[]`.
/// 42601 for bad syntax, 42704 for an unknown type.
pub fn parse_type_name(catalog: &dyn CatalogLookup, text: &str) -> Result<SqlType> {
    let syntax = || Error::new(sqlstate::SYNTAX_ERROR, format!("invalid type name \"{text}\""));
    let tokens = tokens(text)?.ok_or_else(syntax)?;
    let mut parser = NameParser { tokens: &tokens, position: 0 };
    parser
        .type_name(catalog)
        .and_then(|ty| match parser.tokens.get(parser.position) {
            None => Some(ty),
            Some(_) => None,
        })
        .ok_or_else(syntax)?
}

struct NameParser<'a> {
    tokens: &'a [Token],
    position: usize,
}

impl NameParser<'_> {
    fn word_is(&mut self, word: &str) -> bool {
        let matches = matches!(self.tokens.get(self.position), Some(Token::Word(own)) if own == word);
        self.position += usize::from(matches);
        matches
    }

    fn symbol_is(&mut self, symbol: char) -> bool {
        let matches = self.tokens.get(self.position) == Some(&Token::Symbol(symbol));
        self.position += usize::from(matches);
        matches
    }

    fn name(&mut self) -> Option<String> {
        match self.tokens.get(self.position)? {
            Token::Word(name) | Token::Quoted(name) => {
                self.position += 1;
                Some(name.clone())
            }
            _ => None,
        }
    }

    /// `(a, b)`; `None` for bad syntax.
    fn modifiers(&mut self) -> Option<Vec<i32>> {
        let mut modifiers = Vec::new();
        if !self.symbol_is('(') {
            return Some(modifiers);
        }
        loop {
            match self.tokens.get(self.position)? {
                Token::Number(number) => modifiers.push(*number),
                _ => return None,
            }
            self.position += 1;
            if self.symbol_is(')') {
                return Some(modifiers);
            }
            if !self.symbol_is(',') {
                return None;
            }
        }
    }

    /// Outer `None`: bad syntax.
    fn type_name(&mut self, catalog: &dyn CatalogLookup) -> Option<Result<SqlType>> {
        // A set is no type.
        if self.word_is("setof") {
            return None;
        }
        let quoted = matches!(self.tokens.get(self.position), Some(Token::Quoted(_)));
        let first = self.name()?;
        let mut parts = vec![first];
        while self.symbol_is('.') {
            parts.push(self.name()?);
        }
        if parts.len() > 3 {
            // Parts that are a hundred say enough.
            if parts.len() > PARTS_MAX {
                parts.truncate(PARTS_MAX);
                parts.push("...".to_owned());
            }
            return Some(Err(too_many_dots("qualified", &parts)));
        }
        let mut name = parts.pop()?;
        let mut schema = parts.pop();
        let mut modifiers = None;
        if schema.is_none() && !quoted {
            if GRAMMAR_TYPES.contains(&name.as_str()) {
                schema = Some("pg_catalog".to_owned());
            }
            name = self.standard_name(name, &mut modifiers)?;
        }
        let mut modifiers = match modifiers {
            Some(modifiers) => modifiers,
            None => self.modifiers()?,
        };
        if name == "float" {
            name = match modifiers.first() {
                Some(1..=24) => "float4".to_owned(),
                _ => "float8".to_owned(),
            };
            modifiers.clear();
        }
        let mut is_array = false;
        while self.symbol_is('[') {
            if matches!(self.tokens.get(self.position), Some(Token::Number(_))) {
                self.position += 1;
            }
            if !self.symbol_is(']') {
                return None;
            }
            is_array = true;
        }
        is_array |= self.word_is("array");
        Some(resolve_parsed(catalog, schema.as_deref(), &name, &modifiers, is_array))
    }

    /// The names that the grammar knows, some of several words.
    fn standard_name(&mut self, name: String, modifiers: &mut Option<Vec<i32>>) -> Option<String> {
        let plain = match name.as_str() {
            "int" | "integer" => "int4",
            "smallint" => "int2",
            "bigint" => "int8",
            "real" => "float4",
            "decimal" | "dec" => "numeric",
            "boolean" => "bool",
            "double" => {
                if !self.word_is("precision") {
                    return None;
                }
                "float8"
            }
            "national" => {
                if !self.word_is("character") && !self.word_is("char") {
                    return None;
                }
                return self.string(modifiers, "varchar", "bpchar");
            }
            "character" | "char" | "nchar" => return self.string(modifiers, "varchar", "bpchar"),
            "bit" => return self.string(modifiers, "varbit", "bit"),
            "time" | "timestamp" => {
                let before = self.modifiers()?;
                let with_zone = self.word_is("with");
                if (with_zone || self.word_is("without")) && !(self.word_is("time") && self.word_is("zone")) {
                    return None;
                }
                *modifiers = Some(before);
                return Some(if with_zone { format!("{name}tz") } else { name });
            }
            "interval" => {
                *modifiers = Some(self.interval_modifiers()?);
                return Some(name);
            }
            _ => return Some(name),
        };
        Some(plain.to_owned())
    }

    /// A string of a length that is given, or is one; or of any length up to it.
    fn string(&mut self, modifiers: &mut Option<Vec<i32>>, varying_name: &str, fixed_name: &str) -> Option<String> {
        let varying = self.word_is("varying");
        let mut given = self.modifiers()?;
        if given.is_empty() && !varying {
            given.push(1);
        }
        *modifiers = Some(given);
        Some(if varying { varying_name } else { fixed_name }.to_owned())
    }

    fn interval_modifiers(&mut self) -> Option<Vec<i32>> {
        const WORDS: [(&str, i32); 6] = [
            ("year", range::YEAR),
            ("month", range::MONTH),
            ("day", range::DAY),
            ("hour", range::HOUR),
            ("minute", range::MINUTE),
            ("second", range::SECOND),
        ];
        let mut fields = None;
        if let Some(first) = WORDS.iter().position(|(word, _)| self.word_is(word)) {
            let last = if self.word_is("to") { WORDS.iter().position(|(word, _)| self.word_is(word))? } else { first };
            fields = Some(WORDS.get(first..=last)?.iter().fold(0, |mask, (_, bit)| mask | bit));
        }
        let precision = self.modifiers()?;
        Some(match (fields, precision.as_slice()) {
            (None, []) => Vec::new(),
            (fields, []) => vec![fields.unwrap_or(range::FULL)],
            (fields, [precision]) => vec![fields.unwrap_or(range::FULL), *precision],
            _ => return None,
        })
    }
}

fn resolve_parsed(
    catalog: &dyn CatalogLookup,
    schema: Option<&str>,
    name: &str,
    modifiers: &[i32],
    is_array: bool,
) -> Result<SqlType> {
    let oid = resolve_type_name(catalog, schema, name)?;
    let typmod = encode_typmod(oid, modifiers)?;
    if !is_array {
        return Ok(SqlType::with_typmod(oid, typmod));
    }
    match array_type(catalog, oid) {
        Some(array) => Ok(SqlType::with_typmod(array, typmod)),
        None => Err(no_such_type(schema, &format!("{name}[]"))),
    }
}

/// The labels of an enum type, if it is one.
pub fn enum_labels(catalog: &dyn CatalogLookup, oid: Oid) -> Option<Vec<super::context::EnumLabel>> {
    match &catalog.user_type(oid)?.kind {
        UserTypeKind::Enum(labels) => Some(labels.clone()),
        _ => None,
    }
}
