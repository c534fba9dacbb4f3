//! `regclass` and its kin: names of catalog objects as values.

use base::{Error, Oid, Result, missing, sqlstate};

use super::context::{CatalogLookup, RegKind, UserFunction};
use super::text_io::PIECE_BYTES;
use super::type_name::{format_type_name, parse_type_name};
use super::{aggregates, functions, oids, operators};

/// More parts than any name has. Of one that has more these are kept, for the error to show them.
pub(super) const PARTS_MAX: usize = 100;

/// Splits a possibly qualified, possibly quoted name; unquoted parts are folded to lower case. 42602.
fn split_name(text: &str) -> Result<Vec<String>> {
    let invalid = || Error::new(sqlstate::INVALID_NAME, "invalid name syntax");
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let part;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut end = 0;
            loop {
                sync::yield_point()?;
                let place = memchr::memchr(b'"', &quoted.as_bytes()[end..]).ok_or_else(invalid)?;
                push_part(&quoted[end..end + place], &mut name);
                end += place + 1;
                if quoted.as_bytes().get(end) != Some(&b'"') {
                    break;
                }
                push_part("\"", &mut name);
                end += 1;
            }
            rest = &quoted[end..];
            part = name;
        } else {
            let end = length_until(rest, |c| c == '.' || c.is_whitespace())?;
            if end == 0 {
                return Err(invalid());
            }
            part = fold_name(&rest[..end]);
            rest = &rest[end..];
        }
        if part.is_empty() {
            return Err(invalid());
        }
        parts.push(truncate_name(&part).to_owned());
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(parts);
        }
        if parts.len() == PARTS_MAX {
            parts.push("...".to_owned());
            return Ok(parts);
        }
        rest = rest.strip_prefix('.').ok_or_else(invalid)?.trim_start();
    }
}

/// Adds to a name what it has room for.
fn push_part(part: &str, name: &mut String) {
    if name.len() <= base::limits::NAME_MAX_BYTES {
        name.push_str(&part[..part.floor_char_boundary(2 * base::limits::NAME_MAX_BYTES)]);
    }
}

/// The bytes before the first character for which `ends` holds. Lets others run if they are many.
///
/// # Errors
/// The error of an interrupt.
pub(super) fn length_until(text: &str, ends: impl Fn(char) -> bool) -> Result<usize> {
    let mut length = 0;
    loop {
        let rest = &text[length..];
        let piece = &rest[..rest.floor_char_boundary(PIECE_BYTES)];
        if let Some(place) = piece.find(&ends) {
            return Ok(length + place);
        }
        length += piece.len();
        if length == text.len() {
            return Ok(length);
        }
        sync::yield_point()?;
    }
}

/// A name without quotes in lower case, cut to the bytes a name may have.
pub(super) fn fold_name(name: &str) -> String {
    // As the grammar does it where characters have several bytes: only ASCII is folded.
    let folded = name[..name.floor_char_boundary(4 * base::limits::NAME_MAX_BYTES)].to_ascii_lowercase();
    truncate_name(&folded).to_owned()
}

/// A name cut to the bytes a name may have.
pub fn truncate_name(name: &str) -> &str {
    let mut end = name.len().min(base::limits::NAME_MAX_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// `text` as a literal: in quotes, with an `E` in front if it holds a backslash.
pub fn quote_literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    if text.contains('\\') {
        literal.push('E');
    }
    literal.push('\'');
    let mut begin = 0;
    for place in memchr::memchr2_iter(b'\'', b'\\', text.as_bytes()) {
        literal.push_str(&text[begin..=place]);
        // The next piece starts at this character, so it is written twice.
        begin = place;
    }
    literal.push_str(&text[begin..]);
    literal.push('\'');
    literal
}

/// A name in quotes if it needs them: unless it is a plain lower-case word that is no key word.
pub fn quote_identifier(name: &str) -> String {
    let mut bytes = name.bytes();
    let plain = bytes.next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if plain && !super::keywords::is_keyword(name) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The number text stands for, if it is one; `-` is 0.
fn numeric_oid(text: &str) -> Option<Result<u32>> {
    if text == "-" {
        return Some(Ok(0));
    }
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| super::number_text::parse_oid(text))
}

/// 42601
pub(super) fn too_many_dots(what: &str, parts: &[String]) -> Error {
    Error::new(sqlstate::SYNTAX_ERROR, format!("improper {what} name (too many dotted names): {}", parts.join(".")))
}

/// A name of a schema's object: database, schema and name. 42601 for more parts.
fn qualified_name(text: &str) -> Result<Vec<String>> {
    let parts = split_name(text)?;
    if parts.len() > 3 { Err(too_many_dots("qualified", &parts)) } else { Ok(parts) }
}

/// Reads a value of one of the `reg*` types. 42P01, 42704, 42883, 3F000 when there is no such thing.
pub fn parse_reg(catalog: &dyn CatalogLookup, text: &str, oid: Oid) -> Result<u32> {
    // `-` is an operator's name, too.
    let is_minus = text == "-" && matches!(oid, oids::REGOPER | oids::REGOPERATOR);
    if let Some(number) = numeric_oid(text).filter(|_| !is_minus) {
        return number;
    }
    parse_reg_name(catalog, text, oid)
}

/// The same where a number is a name, too.
///
/// # Errors
/// As [`parse_reg`].
pub fn parse_reg_name(catalog: &dyn CatalogLookup, text: &str, oid: Oid) -> Result<u32> {
    let find = |kind: RegKind, parts: &[String]| catalog.object_named(kind, parts);
    let name_list = || split_name(text);
    match oid {
        oids::REGCLASS => {
            let parts = name_list()?;
            if parts.len() > 3 {
                return Err(too_many_dots("relation", &parts));
            }
            require_usage(catalog, &parts)?;
            let found = find(RegKind::Class, &parts)?;
            if found.is_none() {
                require_schema(catalog, &parts)?;
            }
            found.map(|oid| oid.0).ok_or_else(|| missing::relation(parts.join(".")))
        }
        oids::REGTYPE => Ok(parse_type_name(catalog, text)?.oid.0),
        oids::REGNAMESPACE | oids::REGROLE => {
            let parts = name_list()?;
            if parts.len() != 1 {
                return Err(Error::new(sqlstate::INVALID_NAME, "invalid name syntax"));
            }
            let name = &parts[0];
            let found = match oid {
                oids::REGROLE => find(RegKind::Role, &parts)?.ok_or_else(|| missing::role(name)),
                _ => find(RegKind::Namespace, &parts)?.ok_or_else(|| missing::schema(name)),
            };
            found.map(|oid| oid.0)
        }
        oids::REGCOLLATION => {
            let parts = qualified_name(text)?;
            let built_in = parts.last().and_then(|name| super::collation::named(name)).map(|found| found.oid);
            let found = built_in.or(find(RegKind::Collation, &parts)?);
            found.map(|oid| oid.0).ok_or_else(|| missing::collation(parts.join(".")))
        }
        oids::REGPROC => parse_regproc(catalog, text),
        oids::REGPROCEDURE => parse_regprocedure(catalog, text),
        oids::REGOPER => parse_regoper(text),
        oids::REGOPERATOR => parse_regoperator(catalog, text),
        _ => {
            let parts = qualified_name(text)?;
            find(RegKind::TextSearch, &parts)?.map(|oid| oid.0).ok_or_else(|| {
                let message = format!("text search configuration \"{}\" does not exist", parts.join("."));
                Error::new(sqlstate::UNDEFINED_OBJECT, message)
            })
        }
    }
}

/// The oids of all functions and aggregates that a qualified name means.
fn functions_called(catalog: &dyn CatalogLookup, parts: &[String]) -> Vec<(u32, Vec<Oid>)> {
    match parts {
        [name] => functions_found(catalog, None, name),
        [schema, name] => functions_found(catalog, Some(schema), name),
        _ => Vec::new(),
    }
}

fn functions_found(catalog: &dyn CatalogLookup, schema: Option<&str>, name: &str) -> Vec<(u32, Vec<Oid>)> {
    let users = catalog.user_functions(schema, name);
    let of_user = |function: UserFunction| (function.oid.0, function.arguments);
    let mut all: Vec<(u32, Vec<Oid>)> = users.before_builtins.into_iter().map(of_user).collect();
    if schema.map_or_else(|| catalog.finds_builtins(), |schema| schema == "pg_catalog") {
        all.extend(functions::functions_named(name).iter().map(|def| (def.oid.0, def.arguments.to_vec())));
        all.extend(aggregates::aggregates_named(name).iter().map(|def| (def.oid.0, def.arguments.to_vec())));
    }
    all.extend(users.after_builtins.into_iter().map(of_user));
    // Of several with the same arguments, the first on the path is meant.
    let mut found: Vec<(u32, Vec<Oid>)> = Vec::new();
    for (oid, arguments) in all {
        if !found.iter().any(|(_, others)| *others == arguments) {
            found.push((oid, arguments));
        }
    }
    found
}

/// The built-in functions and aggregates that this name finds, each with the types of its arguments.
pub fn builtin_functions_found(catalog: &dyn CatalogLookup, schema: Option<&str>, name: &str) -> Vec<(Oid, Vec<Oid>)> {
    let found = functions_found(catalog, schema, name).into_iter().map(|(oid, arguments)| (Oid(oid), arguments));
    found.filter(|(oid, _)| builtin_function(*oid).is_some()).collect()
}

fn no_function(text: &str) -> Error {
    Error::new(sqlstate::UNDEFINED_FUNCTION, format!("function \"{text}\" does not exist"))
}

fn parse_regproc(catalog: &dyn CatalogLookup, text: &str) -> Result<u32> {
    let parts = qualified_name(text)?;
    require_usage(catalog, &parts)?;
    match functions_called(catalog, &parts).as_slice() {
        [] => match catalog.object_named(RegKind::Proc, &parts)? {
            Some(oid) => Ok(oid.0),
            None => {
                require_schema(catalog, &parts)?;
                Err(no_function(text))
            }
        },
        [(oid, _)] => Ok(*oid),
        _ => Err(Error::new(sqlstate::AMBIGUOUS_FUNCTION, format!("more than one function named \"{text}\""))),
    }
}

/// 3F000 for a name in a schema that does not exist.
fn require_schema(catalog: &dyn CatalogLookup, parts: &[String]) -> Result<()> {
    if let [.., schema, _] = parts
        && catalog.object_named(RegKind::Namespace, std::slice::from_ref(schema))?.is_none()
    {
        return Err(missing::schema(schema));
    }
    Ok(())
}

/// 42501 for a name in a schema that the role may not look into.
fn require_usage(catalog: &dyn CatalogLookup, parts: &[String]) -> Result<()> {
    match parts {
        [.., schema, _] => catalog.require_usage(schema),
        _ => Ok(()),
    }
}

/// Splits `name(type, type)`; `none` stands for no type. 54023 for more types than a function has arguments.
fn name_and_types<'t>(catalog: &dyn CatalogLookup, text: &'t str) -> Result<(&'t str, Vec<Oid>)> {
    let syntax = |message: &str| Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message);
    let open = text.find('(').ok_or_else(|| syntax("expected a left parenthesis"))?;
    let inner = text[open + 1..].trim_end().strip_suffix(')');
    let inner = inner.ok_or_else(|| syntax("expected a right parenthesis"))?;
    let mut types = Vec::new();
    let mut rest = (!inner.trim().is_empty()).then_some(inner);
    while let Some(items) = rest {
        let (item, behind) = first_item(items)?;
        let none = item.trim().eq_ignore_ascii_case("none");
        let oid = if none { Oid::INVALID } else { parse_type_name(catalog, item)?.oid };
        if types.len() == base::limits::ARGUMENTS_MAX {
            return Err(Error::new(sqlstate::TOO_MANY_ARGUMENTS, "too many arguments"));
        }
        types.push(oid);
        rest = behind;
    }
    Ok((text[..open].trim(), types))
}

/// Divides a text at the first comma that isn't in parentheses: the part before it, and the part behind it.
fn first_item(items: &str) -> Result<(&str, Option<&str>)> {
    let mut depth = 0_i64;
    for (number, piece) in items.as_bytes().chunks(PIECE_BYTES).enumerate() {
        if number > 0 {
            sync::yield_point()?;
        }
        for (offset, byte) in piece.iter().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b',' if depth == 0 => {
                    let comma = number * PIECE_BYTES + offset;
                    return Ok((&items[..comma], Some(&items[comma + 1..])));
                }
                _ => {}
            }
        }
    }
    Ok((items, None))
}

fn parse_regprocedure(catalog: &dyn CatalogLookup, text: &str) -> Result<u32> {
    let (name, types) = name_and_types(catalog, text)?;
    let parts = qualified_name(name)?;
    require_usage(catalog, &parts)?;
    let found = functions_called(catalog, &parts).into_iter().find(|(_, arguments)| *arguments == types);
    if found.is_none() {
        require_schema(catalog, &parts)?;
    }
    found.map(|(oid, _)| oid).ok_or_else(|| no_function(text))
}

fn no_operator(text: &str) -> Error {
    Error::new(sqlstate::UNDEFINED_FUNCTION, format!("operator does not exist: {text}"))
}

fn parse_regoper(text: &str) -> Result<u32> {
    let name = text.strip_prefix("pg_catalog.").unwrap_or(text);
    match operators::operators_named(name) {
        [] => Err(no_operator(text)),
        [operator] => Ok(operator.oid.0),
        _ => Err(Error::new(sqlstate::AMBIGUOUS_FUNCTION, format!("more than one operator named {text}"))),
    }
}

fn parse_regoperator(catalog: &dyn CatalogLookup, text: &str) -> Result<u32> {
    let (name, types) = name_and_types(catalog, text)?;
    match types.as_slice() {
        [left, right] => operators::operator_exact(name.strip_prefix("pg_catalog.").unwrap_or(name), *left, *right)
            .map(|operator| operator.oid.0)
            .ok_or_else(|| no_operator(text)),
        [_] => Err(Error::new(sqlstate::UNDEFINED_PARAMETER, "missing argument")
            .hint("Use NONE to denote the missing argument of a unary operator.")),
        _ => Err(Error::new(sqlstate::TOO_MANY_ARGUMENTS, "too many arguments")
            .hint("Provide two argument types for operator.")),
    }
}

/// Appends a value of one of the `reg*` types: a name if it names something, else the number.
pub fn write_reg(value: u32, oid: Oid, catalog: &dyn CatalogLookup, out: &mut Vec<u8>) {
    if value == 0 {
        return out.push(if matches!(oid, oids::REGOPER | oids::REGOPERATOR) { b'0' } else { b'-' });
    }
    let object = Oid(value);
    let name = match oid {
        oids::REGCLASS => catalog.object_name(RegKind::Class, object),
        oids::REGTYPE => {
            let known = super::type_table::type_shape(catalog, object).is_some();
            known.then(|| format_type_name(catalog, object))
        }
        oids::REGNAMESPACE => {
            catalog.object_name(RegKind::Namespace, object).or_else(|| (value == 11).then(|| "pg_catalog".to_owned()))
        }
        oids::REGROLE => catalog.object_name(RegKind::Role, object),
        oids::REGCOLLATION => match super::collation::by_oid(object) {
            Some(collation) => Some(quote_identifier(collation.name)),
            None => catalog.object_name(RegKind::Collation, object),
        },
        oids::REGPROC => function_name(catalog, object),
        oids::REGPROCEDURE => function_signature(catalog, object),
        oids::REGOPER => operators::operator(object).map(|operator| {
            if operators::operators_named(operator.name).len() > 1 {
                format!("pg_catalog.{}", operator.name)
            } else {
                operator.name.to_owned()
            }
        }),
        oids::REGOPERATOR => operators::operator(object).map(|operator| {
            let side = |oid: Oid| {
                if oid == Oid::INVALID { "NONE".to_owned() } else { format_type_name(catalog, oid) }
            };
            format!("{}({},{})", operator.name, side(operator.left), side(operator.right))
        }),
        _ => catalog.object_name(RegKind::TextSearch, object),
    };
    match name {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => super::number_text::write_integer(value, out),
    }
}

fn builtin_function(oid: Oid) -> Option<(&'static str, &'static [Oid])> {
    functions::function(oid)
        .map(|def| (def.name, def.arguments))
        .or_else(|| aggregates::aggregate(oid).map(|def| (def.name, def.arguments)))
}

fn function_name(catalog: &dyn CatalogLookup, oid: Oid) -> Option<String> {
    let called = |name: &str| functions_found(catalog, None, name);
    if let Some(function) = catalog.user_function(oid) {
        let is_found = matches!(called(&function.name).as_slice(), [(only, _)] if *only == oid.0);
        return Some(qualified(&function, is_found));
    }
    let Some((name, _)) = builtin_function(oid) else { return catalog.object_name(RegKind::Proc, oid) };
    let quoted = quote_identifier(name);
    Some(if called(name).len() > 1 { format!("pg_catalog.{quoted}") } else { quoted })
}

/// The function or aggregate as `regprocedure` shows it; nothing if there is none.
pub fn function_signature(catalog: &dyn CatalogLookup, oid: Oid) -> Option<String> {
    if let Some(function) = catalog.user_function(oid) {
        return Some(user_function_signature(catalog, &function));
    }
    let Some((name, arguments)) = builtin_function(oid) else { return catalog.object_name(RegKind::Proc, oid) };
    let schema = if is_called(catalog, name, oid) { "" } else { "pg_catalog." };
    Some(format!("{schema}{}({})", quote_identifier(name), type_names(catalog, arguments)))
}

/// Whether the bare name of a function or an aggregate finds it, with the types of its arguments.
pub fn function_is_found(catalog: &dyn CatalogLookup, oid: Oid) -> bool {
    match catalog.user_function(oid) {
        Some(function) => is_called(catalog, &function.name, oid),
        None => builtin_function(oid).is_some_and(|(name, _)| is_called(catalog, name, oid)),
    }
}

fn is_called(catalog: &dyn CatalogLookup, name: &str, oid: Oid) -> bool {
    functions_found(catalog, None, name).iter().any(|(found, _)| *found == oid.0)
}

/// `name(integer,text)`, with its schema unless the bare name finds it.
pub fn user_function_signature(catalog: &dyn CatalogLookup, function: &UserFunction) -> String {
    let is_found = is_called(catalog, &function.name, function.oid);
    format!("{}({})", qualified(function, is_found), type_names(catalog, &function.arguments))
}

fn qualified(function: &UserFunction, is_found: bool) -> String {
    let name = quote_identifier(&function.name);
    if is_found { name } else { format!("{}.{name}", quote_identifier(&function.schema)) }
}

fn type_names(catalog: &dyn CatalogLookup, types: &[Oid]) -> String {
    let names: Vec<String> = types.iter().map(|oid| format_type_name(catalog, *oid)).collect();
    names.join(",")
}
