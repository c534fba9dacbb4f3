//! `WITH (...)` of relations.

use base::{Error, Result, sqlstate};
use syntax::tree::{DefinitionElement, DefinitionValue};

/// The kinds of relations that differ in their options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionsOf {
    Table,
    Index,
    View,
}

/// Options that tables take and that change nothing here.
const IGNORED_OF_TABLES: &[&str] = &[
    "autovacuum_enabled",
    "parallel_workers",
    "toast_tuple_target",
    "user_catalog_table",
    "vacuum_index_cleanup",
    "vacuum_truncate",
];

/// The name, namespace included, and the text of each option, checked.
///
/// # Errors
/// 22023 for an option or a value that there is not; 42601 if one is given twice.
pub(super) fn read(elements: &[DefinitionElement], of: OptionsOf) -> Result<Vec<(String, String)>> {
    let mut options: Vec<(String, String)> = Vec::with_capacity(elements.len());
    for element in elements {
        let name = name_of(element);
        if element.namespace.as_deref().is_some_and(|namespace| namespace != "toast") {
            let namespace = element.namespace.as_deref().unwrap_or_default();
            let message = format!("unrecognized parameter namespace \"{namespace}\"");
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        let value = match &element.value {
            None => "true".to_owned(),
            Some(DefinitionValue::Type(name)) => name.name.to_string(),
            Some(_) => element.text().unwrap_or_default(),
        };
        if of == OptionsOf::Table && name == "oids" {
            if element.boolean().unwrap_or(true) {
                return Err(Error::unsupported("tables declared WITH OIDS are not supported"));
            }
            continue;
        }
        if options.iter().any(|(other, _)| *other == name) {
            let message = format!("parameter \"{name}\" specified more than once");
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        check(&name, &value, of)?;
        options.push((name, value));
    }
    Ok(options)
}

fn name_of(element: &DefinitionElement) -> String {
    match &element.namespace {
        Some(namespace) => format!("{namespace}.{}", element.name),
        None => element.name.to_string(),
    }
}

/// Whether only views have this option.
pub(super) fn is_of_views(name: &str) -> bool {
    matches!(name, "check_option" | "security_barrier" | "security_invoker")
}

/// The names in `RESET (...)`.
pub(super) fn names(elements: &[DefinitionElement]) -> Vec<String> {
    elements.iter().map(name_of).collect()
}

fn check(name: &str, value: &str, of: OptionsOf) -> Result<()> {
    match (of, name) {
        (OptionsOf::Table, "fillfactor") => integer(name, value, 10, 100),
        (OptionsOf::Index, "fillfactor") => integer(name, value, 10, 100),
        (OptionsOf::Index, "deduplicate_items") => boolean(name, value),
        (OptionsOf::Table, "autovacuum_enabled" | "user_catalog_table" | "vacuum_truncate") => boolean(name, value),
        (OptionsOf::Table, "parallel_workers") => integer(name, value, 0, 1024),
        (OptionsOf::Table, "toast_tuple_target") => integer(name, value, 128, 8160),
        (OptionsOf::Table, name)
            if IGNORED_OF_TABLES.contains(&name) || name.starts_with("autovacuum_") || name.starts_with("toast.") =>
        {
            Ok(())
        }
        (OptionsOf::View, "check_option") => match value {
            "local" | "cascaded" => Ok(()),
            _ => Err(Error::new(
                sqlstate::INVALID_PARAMETER_VALUE,
                format!("invalid value for enum option \"check_option\": {value}"),
            )
            .detail("Valid values are \"local\" and \"cascaded\".")),
        },
        (OptionsOf::View, "security_barrier" | "security_invoker") => boolean(name, value),
        _ => Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("unrecognized parameter \"{name}\""))),
    }
}

fn integer(name: &str, value: &str, least: i64, greatest: i64) -> Result<()> {
    let invalid = |message: String| Error::new(sqlstate::INVALID_PARAMETER_VALUE, message);
    let number: i64 =
        value.parse().map_err(|_| invalid(format!("invalid value for integer option \"{name}\": {value}")))?;
    if (least..=greatest).contains(&number) {
        return Ok(());
    }
    Err(invalid(format!("value {value} out of bounds for option \"{name}\""))
        .detail(format!("Valid values are between \"{least}\" and \"{greatest}\".")))
}

fn boolean(name: &str, value: &str) -> Result<()> {
    let lower = value.to_ascii_lowercase();
    if matches!(lower.as_str(), "true" | "false" | "on" | "off" | "yes" | "no" | "1" | "0" | "t" | "f" | "y" | "n") {
        return Ok(());
    }
    let message = format!("invalid value for boolean option \"{name}\": {value}");
    Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message))
}

/// The fillfactor among a table's options, which is kept apart from the others.
pub(super) fn take_fillfactor(options: &mut Vec<(String, String)>) -> Option<u8> {
    let place = options.iter().position(|(name, _)| name == "fillfactor")?;
    options.remove(place).1.parse().ok()
}

/// Options as they are stored.
pub(super) fn stored(options: &[(String, String)]) -> Vec<String> {
    options.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// Stored options with some of them changed or, without a value, taken away.
pub(super) fn change(stored: &mut Vec<String>, name: &str, value: Option<&str>) {
    let prefix = format!("{name}=");
    let place = stored.iter().position(|option| option.starts_with(&prefix));
    match (place, value) {
        // Options that are set anew come last.
        (Some(place), Some(value)) => {
            stored.remove(place);
            stored.push(format!("{prefix}{value}"));
        }
        (Some(place), None) => drop(stored.remove(place)),
        (None, Some(value)) => stored.push(format!("{prefix}{value}")),
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syntax::tree::Name;

    fn option(name: &str, value: Option<DefinitionValue>) -> DefinitionElement {
        DefinitionElement { namespace: None, name: Name::new(name), value, location: -1 }
    }

    #[test]
    fn fillfactor_is_an_integer_within_its_bounds() {
        let read_one = |value| read(&[option("fillfactor", Some(value))], OptionsOf::Table);
        assert_eq!(read_one(DefinitionValue::Integer(70)).unwrap(), [("fillfactor".to_owned(), "70".to_owned())]);
        let error = read_one(DefinitionValue::Integer(5)).unwrap_err();
        assert_eq!(error.message(), "value 5 out of bounds for option \"fillfactor\"");
        let error = read_one(DefinitionValue::String("x".to_owned())).unwrap_err();
        assert_eq!(error.message(), "invalid value for integer option \"fillfactor\": x");
    }

    #[test]
    fn unknown_and_repeated_options_are_refused() {
        let error = read(&[option("speed", None)], OptionsOf::Table).unwrap_err();
        assert_eq!(error.message(), "unrecognized parameter \"speed\"");
        let twice = [option("autovacuum_enabled", None), option("autovacuum_enabled", None)];
        let error = read(&twice, OptionsOf::Table).unwrap_err();
        assert_eq!(error.message(), "parameter \"autovacuum_enabled\" specified more than once");
    }

    #[test]
    fn stored_options_change_in_place() {
        let mut options = vec!["a=1".to_owned(), "b=2".to_owned()];
        change(&mut options, "b", Some("3"));
        change(&mut options, "a", None);
        change(&mut options, "c", Some("4"));
        assert_eq!(options, ["b=3", "c=4"]);
    }
}
