//! CREATE, ALTER and the sequences behind serial and identity columns.

use base::lock_mode::LockMode;
use base::{Error, FileNumber, Oid, Result, missing, sqlstate};
use schema::catalog::{Persistence, RelationKind, SequenceDef, TableDef};
use syntax::tree::{
    AlterSequence, CreateSequence, DefinitionElement, DefinitionValue, Name, QualifiedName, TablePersistence,
};
use types::oids;

use super::ddl::{Ddl, Found};
use crate::state::UtilityOutput;
use planner::names;

/// The options of a sequence that its descriptor does not hold.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// RESTART, with its value.
    pub restart: Option<i64>,
    /// OWNED BY; `Some(None)` is NONE.
    owned_by: Option<Option<Vec<Name>>>,
    /// SEQUENCE NAME, of identity columns.
    pub name: Option<QualifiedName>,
}

/// CREATE SEQUENCE.
pub(super) fn create(ddl: &mut Ddl<'_>, create: &CreateSequence) -> Result<UtilityOutput> {
    let (schema, _) = ddl.creation_schema(&create.name, create.persistence)?;
    if create.if_not_exists {
        ddl.engine().lock_name(schema, &create.name.name, false)?;
        if ddl.relation_exists(schema, &create.name.name) {
            let message = format!("relation \"{}\" already exists, skipping", create.name.name);
            ddl.notice(sqlstate::DUPLICATE_TABLE, message);
            return Ok(UtilityOutput::tag("CREATE SEQUENCE"));
        }
    }
    let mut def = SequenceDef::new(ddl.allocate_oid(), schema, create.name.name.as_str(), ddl.owner());
    let said = apply(ddl, &mut def, &create.options, true)?;
    if let Some(owner) = said.owned_by {
        def.owned_by = owned_by(ddl, &def, owner)?;
    }
    ddl.create(def)?;
    Ok(UtilityOutput::tag("CREATE SEQUENCE"))
}

/// ALTER SEQUENCE.
pub(super) fn alter(ddl: &mut Ddl<'_>, alter: &AlterSequence) -> Result<UtilityOutput> {
    let def = match ddl.find_locked(&alter.name, LockMode::ShareRowExclusive)? {
        Some(Found::Sequence(def)) => def,
        Some(found) => {
            let message = format!("\"{}\" is not a sequence", found.name());
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        None if alter.if_exists => {
            ddl.notice_skipped(&missing::relation(&alter.name));
            return Ok(UtilityOutput::tag("ALTER SEQUENCE"));
        }
        None => return Err(ddl.no_relation(&alter.name)),
    };
    change(ddl, &def, &alter.options)?;
    Ok(UtilityOutput::tag("ALTER SEQUENCE"))
}

/// Changes a sequence by options.
pub(super) fn change(ddl: &mut Ddl<'_>, def: &SequenceDef, options: &[DefinitionElement]) -> Result<()> {
    let mut changed = def.clone();
    let said = apply(ddl, &mut changed, options, false)?;
    if let Some(owner) = said.owned_by {
        if let Some(table) = identity_of(ddl, def) {
            return Err(Error::unsupported("cannot change ownership of identity sequence")
                .detail(format!("Sequence \"{}\" is linked to table \"{}\".", def.name, table.name)));
        }
        changed.owned_by = owned_by(ddl, &changed, owner)?;
    }
    // A new position lies in new storage: it comes and goes with the transaction. So do the values that are taken by a new definition.
    match said.restart {
        Some(position) => {
            ddl.engine().sequence_state(def.oid, LockMode::ShareRowExclusive)?;
            restart(ddl, changed, position)
        }
        None => redefine(ddl, changed, options.iter().all(|option| option.name == "owned_by")),
    }
}

/// Gives a sequence another type, as the column has that counts by it. Bounds that were the old type's become the new one's.
pub(super) fn change_type(ddl: &Ddl<'_>, def: &SequenceDef, type_oid: Oid) -> Result<()> {
    let mut changed = def.clone();
    let mut reset = Reset { minimum: false, maximum: false };
    set_type(&mut changed, type_oid, &mut reset)?;
    apply_bounds(&mut changed, &[], reset)?;
    check_position(&changed, "START", changed.start)?;
    redefine(ddl, changed, false)
}

/// Puts a definition in place of the one before, where the sequence stands. `keeps_storage`: nothing that numbers are taken by has changed.
fn redefine(ddl: &Ddl<'_>, changed: SequenceDef, keeps_storage: bool) -> Result<()> {
    let oid = changed.oid;
    let (last, is_called) = ddl.engine().sequence_state(oid, LockMode::ShareRowExclusive)?;
    check_position(&changed, "RESTART", last)?;
    if keeps_storage {
        return ddl.replace(changed);
    }
    restart(ddl, changed, last)?;
    if is_called { ddl.engine().place_sequence(oid, last, true) } else { Ok(()) }
}

/// Gives a sequence a position that takes effect when the transaction commits.
pub(super) fn restart(ddl: &Ddl<'_>, def: SequenceDef, position: i64) -> Result<()> {
    let (oid, start) = (def.oid, def.start);
    ddl.replace(SequenceDef { file: FileNumber(0), start: position, ..def })?;
    if start == position {
        return Ok(());
    }
    let made = ddl.catalog().sequence(oid).cloned().ok_or_else(|| super::ddl::gone(oid))?;
    ddl.replace(SequenceDef { start, ..(*made).clone() })
}

/// The table whose identity column counts by this sequence.
pub(super) fn identity_of(ddl: &Ddl<'_>, def: &SequenceDef) -> Option<std::sync::Arc<TableDef>> {
    let (table, column) = def.owned_by?;
    let table = ddl.catalog().table(table).cloned()?;
    let is_identity = table.columns.get(column)?.identity.is_some_and(|identity| identity.sequence == def.oid);
    is_identity.then_some(table)
}

/// A sequence for a serial or identity column of a table that is being made: `t_a_seq`, in the table's schema.
pub(super) fn for_column(
    ddl: &mut Ddl<'_>,
    table: &TableDef,
    column: usize,
    type_oid: Oid,
    options: &[DefinitionElement],
    taken: &[String],
) -> Result<SequenceDef> {
    let catalog = ddl.catalog();
    let column_name = table.columns[column].name.clone();
    let name = names::relation_name(&catalog, table.schema, &table.name, Some(&column_name), "seq", false, taken);
    let mut def = SequenceDef::new(ddl.allocate_oid(), table.schema, name, table.owner);
    def.type_oid = type_oid;
    let said = apply(ddl, &mut def, options, true)?;
    if let Some(name) = said.name {
        let persistence = match table.persistence {
            Persistence::Temporary => TablePersistence::Temporary,
            _ => TablePersistence::Permanent,
        };
        let bare = QualifiedName { schema: name.schema.filter(|_| persistence != TablePersistence::Temporary), ..name };
        (def.schema, _) = ddl.creation_schema(&bare, persistence)?;
        def.name = bare.name.to_string();
    }
    def.owned_by = Some((table.oid, column));
    Ok(def)
}

/// The least and greatest value of an integer type.
fn bounds(type_oid: Oid) -> (i64, i64) {
    match type_oid {
        oids::INT2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        oids::INT4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Reads the options into a descriptor: a new one, or one that is changed.
pub(super) fn apply(ddl: &Ddl<'_>, def: &mut SequenceDef, options: &[DefinitionElement], is_new: bool) -> Result<Said> {
    refuse_repeated(ddl, options)?;
    let invalid = |message: String| Error::new(sqlstate::INVALID_PARAMETER_VALUE, message);
    let number = |name: &str| find(options, name).map(integer).transpose();
    let mut said = Said::default();

    let reset = apply_type(ddl, def, find(options, "as"), is_new)?;
    if let Some(increment) = number("increment")?.flatten() {
        if increment == 0 {
            return Err(invalid("INCREMENT must not be zero".to_owned()));
        }
        def.increment = increment;
    }
    if let Some(option) = find(options, "cycle") {
        def.cycle = option.boolean().unwrap_or(true);
    }
    apply_bounds(def, options, reset)?;
    match number("start")?.flatten() {
        Some(start) => def.start = start,
        None if is_new => def.start = if def.increment > 0 { def.minimum } else { def.maximum },
        None => {}
    }
    check_position(def, "START", def.start)?;
    if find(options, "restart").is_some() {
        let position = number("restart")?.flatten().unwrap_or(def.start);
        check_position(def, "RESTART", position)?;
        said.restart = Some(position);
    }
    if let Some(cache) = number("cache")?.flatten() {
        if cache <= 0 {
            return Err(invalid(format!("CACHE ({cache}) must be greater than zero")));
        }
        def.cache = cache;
    }
    said.owned_by = find(options, "owned_by").map(said_owner).transpose()?;
    if let Some(option) = find(options, "sequence_name")
        && let Some(DefinitionValue::Names(parts)) = &option.value
        && let Some((name, schema)) = parts.split_last()
    {
        said.name = Some(QualifiedName {
            catalog: None,
            schema: schema.last().cloned(),
            name: name.clone(),
            location: option.location,
        });
    }
    Ok(said)
}

fn refuse_repeated(ddl: &Ddl<'_>, options: &[DefinitionElement]) -> Result<()> {
    for (number, option) in options.iter().enumerate() {
        if options[..number].iter().any(|other| other.name == option.name) {
            let error = Error::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options");
            return Err(ddl.at(error, option.location));
        }
    }
    Ok(())
}

fn find<'o>(options: &'o [DefinitionElement], name: &str) -> Option<&'o DefinitionElement> {
    options.iter().find(|option| option.name == name)
}

/// Which bounds of a sequence become those of its type, unless they are given.
struct Reset {
    minimum: bool,
    maximum: bool,
}

/// AS type.
fn apply_type(ddl: &Ddl<'_>, def: &mut SequenceDef, option: Option<&DefinitionElement>, is_new: bool) -> Result<Reset> {
    let mut reset = Reset { minimum: is_new, maximum: is_new };
    if let Some(option) = option {
        let Some(DefinitionValue::Type(name)) = &option.value else {
            return Err(Error::new(sqlstate::SYNTAX_ERROR, "a sequence's type must be a type"));
        };
        let type_oid = ddl.type_of(name)?.oid;
        if is_new && def.type_oid != oids::INT8 && def.type_oid != type_oid {
            // The column has said the type already.
            return Err(Error::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options"));
        }
        set_type(def, type_oid, &mut reset)?;
    } else if is_new && !matches!(def.type_oid, oids::INT2 | oids::INT4 | oids::INT8) {
        return Err(wrong_type());
    }
    Ok(reset)
}

/// MINVALUE and MAXVALUE.
fn apply_bounds(def: &mut SequenceDef, options: &[DefinitionElement], reset: Reset) -> Result<()> {
    let invalid = |message: String| Error::new(sqlstate::INVALID_PARAMETER_VALUE, message);
    let number = |name: &str| find(options, name).map(integer).transpose();
    let (least, greatest) = bounds(def.type_oid);
    match number("maxvalue")? {
        Some(Some(maximum)) => def.maximum = maximum,
        given if given.is_some() || reset.maximum => def.maximum = if def.increment > 0 { greatest } else { -1 },
        _ => {}
    }
    match number("minvalue")? {
        Some(Some(minimum)) => def.minimum = minimum,
        given if given.is_some() || reset.minimum => def.minimum = if def.increment > 0 { 1 } else { least },
        _ => {}
    }
    let type_name = || types::format_type_name(&types::BuiltinCatalog, def.type_oid);
    if !(least..=greatest).contains(&def.maximum) {
        return Err(invalid(format!(
            "MAXVALUE ({}) is out of range for sequence data type {}",
            def.maximum,
            type_name()
        )));
    }
    if !(least..=greatest).contains(&def.minimum) {
        return Err(invalid(format!(
            "MINVALUE ({}) is out of range for sequence data type {}",
            def.minimum,
            type_name()
        )));
    }
    if def.minimum >= def.maximum {
        return Err(invalid(format!("MINVALUE ({}) must be less than MAXVALUE ({})", def.minimum, def.maximum)));
    }
    Ok(())
}

/// OWNED BY; `None` is NONE.
fn said_owner(option: &DefinitionElement) -> Result<Option<Vec<Name>>> {
    match &option.value {
        Some(DefinitionValue::Names(parts)) if parts.len() == 1 && parts[0] == "none" => Ok(None),
        Some(DefinitionValue::Names(parts)) if parts.len() > 1 => Ok(Some(parts.clone())),
        Some(DefinitionValue::String(word)) if word == "none" => Ok(None),
        _ => Err(Error::new(sqlstate::SYNTAX_ERROR, "invalid OWNED BY option")
            .hint("Specify OWNED BY table.column or OWNED BY NONE.")),
    }
}

fn wrong_type() -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, "sequence type must be smallint, integer, or bigint")
}

/// Puts the type in, and notes which bounds were those of the old one.
fn set_type(def: &mut SequenceDef, type_oid: Oid, reset: &mut Reset) -> Result<()> {
    if !matches!(type_oid, oids::INT2 | oids::INT4 | oids::INT8) {
        return Err(wrong_type());
    }
    let (least, greatest) = bounds(def.type_oid);
    reset.maximum |= def.maximum == greatest;
    reset.minimum |= def.minimum == least;
    def.type_oid = type_oid;
    Ok(())
}

/// The integer that an option gives; none for `NO MAXVALUE` and the like.
fn integer(option: &DefinitionElement) -> Result<Option<i64>> {
    match &option.value {
        None => Ok(None),
        Some(DefinitionValue::Integer(value)) => Ok(Some(*value)),
        Some(value) => {
            let text = value.text().unwrap_or_default();
            text.parse().map(Some).map_err(|_| {
                Error::new(
                    sqlstate::NUMERIC_VALUE_OUT_OF_RANGE,
                    format!("value \"{text}\" is out of range for type bigint"),
                )
            })
        }
    }
}

fn check_position(def: &SequenceDef, what: &str, position: i64) -> Result<()> {
    let invalid = |message: String| Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    if position < def.minimum {
        return invalid(format!("{what} value ({position}) cannot be less than MINVALUE ({})", def.minimum));
    }
    if position > def.maximum {
        return invalid(format!("{what} value ({position}) cannot be greater than MAXVALUE ({})", def.maximum));
    }
    Ok(())
}

/// The table and column of OWNED BY.
fn owned_by(ddl: &mut Ddl<'_>, def: &SequenceDef, owner: Option<Vec<Name>>) -> Result<Option<(Oid, usize)>> {
    let Some(mut parts) = owner else { return Ok(None) };
    let column = parts.pop().unwrap_or_default();
    let table = parts.pop().unwrap_or_default();
    let name = QualifiedName { catalog: None, schema: parts.pop(), name: table, location: -1 };
    let table = match ddl.required_locked(&name, LockMode::AccessShare)? {
        Found::Table(table) if table.kind == RelationKind::Table || table.kind == RelationKind::View => table,
        found => {
            let message = format!("sequence cannot be owned by relation \"{}\"", found.name());
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
    };
    if table.owner != def.owner {
        return Err(Error::new(
            sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "sequence must have same owner as table it is linked to",
        ));
    }
    if table.schema != def.schema {
        return Err(Error::new(
            sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "sequence must be in same schema as table it is linked to",
        ));
    }
    let Some(place) = table.column_by_name(&column) else {
        return Err(missing::column_of_relation(&column, &table.name));
    };
    Ok(Some((table.oid, place)))
}
