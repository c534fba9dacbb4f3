//! DROP.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, SqlState, missing, sqlstate};
use schema::catalog::{
    ConstraintKind, FunctionDef, FunctionKind, INFORMATION_SCHEMA, IndexDef, PG_CATALOG_SCHEMA, RelationKind,
};
use syntax::tree::{Drop, ObjectKind, ObjectName};

use super::ddl::{Ddl, Found, system_refusal};
use super::dependencies::{Node, drop_all, signature};
use super::rename::kind_words;
use super::sequence;
use crate::state::{DROP_LOCK, UtilityOutput};

/// DROP.
pub(super) fn drop(ddl: &mut Ddl<'_>, drop: &Drop) -> Result<UtilityOutput> {
    let mut targets: Vec<Node> = Vec::new();
    for object in &drop.objects {
        sync::yield_point()?;
        if drop.kind == ObjectKind::Trigger {
            targets.extend(trigger(ddl, drop, object)?);
            continue;
        }
        let found = match drop.kind {
            ObjectKind::Table
            | ObjectKind::View
            | ObjectKind::Index
            | ObjectKind::Sequence
            | ObjectKind::MaterializedView => relation(ddl, drop, object)?,
            ObjectKind::Schema => schema(ddl, drop, object)?,
            ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => function(ddl, drop, object)?,
            ObjectKind::Type | ObjectKind::Domain => {
                let found = super::user_type::to_drop(ddl, drop, object)?;
                if found.is_none() {
                    nothing_of_the_kind(ddl, drop, object)?;
                }
                found
            }
            _ => {
                nothing_of_the_kind(ddl, drop, object)?;
                None
            }
        };
        if let Some(oid) = found
            && !targets.contains(&Node::Object(oid))
        {
            targets.push(Node::Object(oid));
        }
    }
    drop_all(ddl, &targets, drop.cascade)?;
    let words = match drop.kind {
        ObjectKind::Trigger => "TRIGGER",
        ObjectKind::Rule => "RULE",
        ObjectKind::Extension => "EXTENSION",
        ObjectKind::Policy => "POLICY",
        ObjectKind::Aggregate => "AGGREGATE",
        ObjectKind::Operator => "OPERATOR",
        ObjectKind::Cast => "CAST",
        ObjectKind::Collation => "COLLATION",
        ObjectKind::Language => "LANGUAGE",
        kind => kind_words(kind),
    };
    Ok(UtilityOutput::tag(format!("DROP {words}")))
}

/// Returns the name of a kind of relations in messages, and its code for "does not exist".
fn kind_name(kind: ObjectKind) -> (&'static str, SqlState) {
    match kind {
        ObjectKind::View => ("view", sqlstate::UNDEFINED_TABLE),
        ObjectKind::Index => ("index", sqlstate::UNDEFINED_OBJECT),
        ObjectKind::Sequence => ("sequence", sqlstate::UNDEFINED_TABLE),
        ObjectKind::MaterializedView => ("materialized view", sqlstate::UNDEFINED_TABLE),
        ObjectKind::Type => ("type", sqlstate::UNDEFINED_OBJECT),
        _ => ("table", sqlstate::UNDEFINED_TABLE),
    }
}

fn relation(ddl: &mut Ddl<'_>, drop: &Drop, object: &ObjectName) -> Result<Option<Oid>> {
    let (what, code) = kind_name(drop.kind);
    if let Some(schema) = &object.name.schema
        && schema != "pg_temp"
        && let Err(error) = ddl.view().usable_schema(schema)
    {
        if error.sqlstate() == sqlstate::INSUFFICIENT_PRIVILEGE {
            return Err(error);
        }
        return skip(ddl, drop, missing::schema(schema));
    }
    // An index's table is locked before the index.
    if let Some(Found::Index(index)) = ddl.find(&object.name)? {
        ddl.lock(index.table, LockMode::AccessExclusive)?;
    }
    let Some(found) = ddl.find_locked(&object.name, LockMode::AccessExclusive)? else {
        let message = format!("{what} \"{}\" does not exist", object.name.name);
        return skip(ddl, drop, Error::new(code, message));
    };
    let kind_found = match &found {
        Found::Table(table) => match table.kind {
            RelationKind::Table => ObjectKind::Table,
            RelationKind::View => ObjectKind::View,
            RelationKind::MaterializedView => ObjectKind::MaterializedView,
        },
        Found::Index(_) => ObjectKind::Index,
        Found::Sequence(_) => ObjectKind::Sequence,
        Found::Composite(_) => ObjectKind::Type,
        Found::System(name) => return Err(system_refusal(name)),
    };
    if kind_found != drop.kind {
        let article = |kind: ObjectKind| {
            let name = kind_name(kind).0;
            if kind == ObjectKind::Index { format!("an {name}") } else { format!("a {name}") }
        };
        let message = format!("\"{}\" is not {}", object.name.name, article(drop.kind));
        let words = kind_words(kind_found);
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message)
            .hint(format!("Use DROP {words} to remove {}.", article(kind_found))));
    }
    match &found {
        Found::Index(index) => refuse_constraints_index(ddl, index)?,
        Found::Sequence(def) => {
            if let (Some(table), Some((_, place))) = (sequence::identity_of(ddl, def), def.owned_by) {
                let view = ddl.view();
                let column = super::dependencies::describe(&view, Node::Column(table.oid, place));
                let message = format!(
                    "cannot drop {} because {column} requires it",
                    super::dependencies::describe(&view, Node::Object(def.oid))
                );
                return Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .hint(format!("You can drop {column} instead.")));
            }
        }
        _ => {}
    }
    Ok(found.oid())
}

/// 2BP01 for the index of a constraint, which goes with the constraint.
fn refuse_constraints_index(ddl: &Ddl<'_>, index: &IndexDef) -> Result<()> {
    let table = ddl.table(index.table)?;
    let constraint = table.constraints.iter().find(|constraint| {
        matches!(&constraint.kind, ConstraintKind::PrimaryKey { index: of } | ConstraintKind::Unique { index: of } if *of == index.oid)
    });
    let Some(constraint) = constraint else { return Ok(()) };
    let view = ddl.view();
    let constraint = super::dependencies::describe(&view, Node::Constraint(table.oid, constraint.oid));
    let index = super::dependencies::describe(&view, Node::Object(index.oid));
    let message = format!("cannot drop {index} because {constraint} requires it");
    Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .hint(format!("You can drop {constraint} instead.")))
}

fn trigger(ddl: &mut Ddl<'_>, drop: &Drop, object: &ObjectName) -> Result<Option<Node>> {
    let name = object.part.as_deref().unwrap_or_default();
    let Some(Found::Table(table)) = ddl.find_locked(&object.name, LockMode::AccessExclusive)? else {
        nothing_of_the_kind(ddl, drop, object)?;
        return Ok(None);
    };
    match table.triggers.iter().find(|def| def.name == name) {
        Some(def) => Ok(Some(Node::Trigger(table.oid, def.oid))),
        None => nothing_of_the_kind(ddl, drop, object).map(|()| None),
    }
}

/// Handles an object that does not exist: an error, or with IF EXISTS only a notice to the client.
fn skip(ddl: &mut Ddl<'_>, drop: &Drop, missing: Error) -> Result<Option<Oid>> {
    ddl.skip(missing, drop.if_exists).map(|()| None)
}

fn schema(ddl: &mut Ddl<'_>, drop: &Drop, object: &ObjectName) -> Result<Option<Oid>> {
    let name = &object.name.name;
    let find = || Ok(ddl.view().schema_named(name).ok());
    let Some(oid) = ddl.find_held(DROP_LOCK, find, |found| *found)? else {
        return skip(ddl, drop, missing::schema(name));
    };
    if oid == PG_CATALOG_SCHEMA || oid == INFORMATION_SCHEMA {
        let message = format!("cannot drop schema {name} because it is required by the database system");
        return Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
    }
    Ok(Some(oid))
}

/// The schema that a statement changes, its description locked until the transaction ends.
pub(super) fn hold_schema(ddl: &Ddl<'_>, name: &str, mode: LockMode) -> Result<Oid> {
    ddl.find_held(mode, || ddl.view().schema_named(name), |oid| Some(*oid))
}

fn function(ddl: &mut Ddl<'_>, drop: &Drop, object: &ObjectName) -> Result<Option<Oid>> {
    if let Some(schema) = &object.name.schema
        && let Err(error) = ddl.view().usable_schema(schema)
    {
        if error.sqlstate() == sqlstate::INSUFFICIENT_PRIVILEGE {
            return Err(error);
        }
        return skip(ddl, drop, missing::schema(schema));
    }
    if let Some(builtin) = builtin_function(ddl, object) {
        let message = format!("cannot drop function {builtin} because it is required by the database system");
        return Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
    }
    match hold_function(ddl, object, DROP_LOCK) {
        Ok(function) => Ok(Some(function.oid)),
        // An argument's type or its schema does not exist.
        Err(error)
            if drop.if_exists
                && matches!(error.sqlstate(), sqlstate::UNDEFINED_OBJECT | sqlstate::INVALID_SCHEMA_NAME) =>
        {
            ddl.notice_skipped(&error);
            Ok(None)
        }
        Err(error) if drop.if_exists && error.sqlstate() == sqlstate::UNDEFINED_FUNCTION => {
            let words = kind_words(drop.kind).to_ascii_lowercase();
            let arguments = object.arguments.iter().flatten().map(written_type).collect::<Vec<_>>();
            let message = format!("{words} {}({}) does not exist, skipping", object.name, arguments.join(","));
            ddl.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A type's name as the grammar gives it.
fn written_type(name: &syntax::tree::TypeName) -> String {
    let schema = name.schema.as_ref().map_or_else(String::new, |schema| format!("{schema}."));
    format!("{schema}{}{}", name.name, "[]".repeat(name.array_dimensions as usize))
}

/// As [`find_function`], its description locked until the transaction ends.
pub(super) fn hold_function(ddl: &Ddl<'_>, object: &ObjectName, mode: LockMode) -> Result<Arc<FunctionDef>> {
    ddl.find_held(mode, || find_function(ddl, object), |function| Some(function.oid))
}

/// The signature of the built-in function that a statement names, if it names one.
fn builtin_function(ddl: &Ddl<'_>, object: &ObjectName) -> Option<String> {
    let found = builtin_functions(ddl, object);
    let (oid, _) = match &object.arguments {
        Some(arguments) => {
            // A missing type is reported later, by the search among the user's functions.
            let wanted = arguments.iter().map(|name| Ok(ddl.type_of(name)?.oid)).collect::<Result<Vec<Oid>>>().ok()?;
            found.into_iter().find(|(_, arguments)| *arguments == wanted)?
        }
        None => {
            let [only] = <[_; 1]>::try_from(found).ok()?;
            if !functions_of_kind(ddl, object).is_ok_and(|users| users.is_empty()) {
                return None;
            }
            only
        }
    };
    types::reg_types::function_signature(&ddl.view(), oid)
}

/// The built-in functions of this name that no user's one hides, with the types of their arguments.
fn builtin_functions(ddl: &Ddl<'_>, object: &ObjectName) -> Vec<(Oid, Vec<Oid>)> {
    let (kind, name) = (object.kind, &object.name);
    if kind == ObjectKind::Procedure {
        return Vec::new();
    }
    let found = types::reg_types::builtin_functions_found(&ddl.view(), name.schema.as_deref(), &name.name);
    let is_of_kind = |oid: Oid| kind != ObjectKind::Function || types::function(oid).is_some();
    found.into_iter().filter(|(oid, _)| is_of_kind(*oid)).collect()
}

/// The users' functions of this name and kind that are found by it. One with the same arguments in an earlier schema hides another.
fn functions_of_kind(ddl: &Ddl<'_>, object: &ObjectName) -> Result<Vec<Arc<FunctionDef>>> {
    let builtins = builtin_functions(ddl, object);
    let mut found: Vec<Arc<FunctionDef>> = Vec::new();
    for function in functions_named(ddl, object)? {
        let inputs = input_types(&function);
        let is_hidden = found.iter().any(|earlier| input_types(earlier) == inputs)
            || builtins.iter().any(|(_, arguments)| *arguments == inputs);
        if !is_hidden {
            found.push(function);
        }
    }
    found.retain(|function| is_of_kind(function, object.kind));
    Ok(found)
}

/// The users' functions of this name, in the order of the search path.
fn functions_named(ddl: &Ddl<'_>, object: &ObjectName) -> Result<Vec<Arc<FunctionDef>>> {
    let view = ddl.view();
    let schemas = match &object.name.schema {
        Some(schema) => vec![view.usable_schema(schema)?],
        None => view.function_path(),
    };
    let catalog = view.catalog();
    Ok(schemas.iter().flat_map(|schema| catalog.functions_named(*schema, &object.name.name)).cloned().collect())
}

fn is_of_kind(function: &FunctionDef, kind: ObjectKind) -> bool {
    match kind {
        ObjectKind::Function => function.kind == FunctionKind::Function,
        ObjectKind::Procedure => function.kind == FunctionKind::Procedure,
        _ => true,
    }
}

/// The types of the arguments that a call gives.
pub(super) fn input_types(function: &FunctionDef) -> Vec<Oid> {
    let inputs = function.arguments.iter().filter(|argument| argument.mode.is_input());
    inputs.map(|argument| argument.type_oid).collect()
}

/// The function or procedure that a statement names: 42883 if there is none, 42725 if there are several.
pub(super) fn find_function(ddl: &Ddl<'_>, object: &ObjectName) -> Result<Arc<FunctionDef>> {
    let view = ddl.view();
    let named = functions_named(ddl, object)?;
    if let Some(builtin) = builtin_function(ddl, object) {
        return Err(Error::unsupported(format!("function {builtin} is built in and cannot be changed")));
    }
    let words = kind_words(object.kind).to_ascii_lowercase();
    let Some(arguments) = &object.arguments else {
        let of_kind = functions_of_kind(ddl, object)?;
        return match (of_kind.as_slice(), builtin_functions(ddl, object).len()) {
            ([function], 0) => Ok(Arc::clone(function)),
            ([_, ..], _) | ([], 2..) => {
                let message = format!("{words} name \"{}\" is not unique", object.name);
                Err(Error::new(sqlstate::AMBIGUOUS_FUNCTION, message)
                    .hint(format!("Specify the argument list to select the {words} unambiguously.")))
            }
            ([], _) => {
                ddl.engine().observe_horizon();
                let message = format!("could not find a {words} named \"{}\"", object.name);
                Err(Error::new(sqlstate::UNDEFINED_FUNCTION, message))
            }
        };
    };
    let wanted = arguments.iter().map(|name| Ok(ddl.type_of(name)?.oid)).collect::<Result<Vec<Oid>>>()?;
    let all =
        |function: &FunctionDef| -> Vec<Oid> { function.arguments.iter().map(|argument| argument.type_oid).collect() };
    // A procedure may be named with its output arguments as well.
    let found = named
        .iter()
        .find(|function| input_types(function) == wanted)
        .or_else(|| named.iter().find(|function| function.kind == FunctionKind::Procedure && all(function) == wanted));
    match found {
        Some(function) if is_of_kind(function, object.kind) => Ok(Arc::clone(function)),
        Some(function) => {
            let message = format!("{} is not a {words}", signature(&view, function));
            Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message))
        }
        None => {
            ddl.engine().observe_horizon();
            let types: Vec<String> = wanted.iter().map(|oid| types::format_type_name(&view, *oid)).collect();
            let message = format!("{words} {}({}) does not exist", object.name, types.join(", "));
            Err(Error::new(sqlstate::UNDEFINED_FUNCTION, message))
        }
    }
}

/// Kinds of objects of which there are none.
fn nothing_of_the_kind(ddl: &mut Ddl<'_>, drop: &Drop, object: &ObjectName) -> Result<()> {
    let name = &object.name;
    let part = object.part.as_deref().unwrap_or_default();
    let undefined = |message| Error::new(sqlstate::UNDEFINED_OBJECT, message);
    let error = match drop.kind {
        ObjectKind::Type | ObjectKind::Domain => missing::data_type(name),
        ObjectKind::Extension => undefined(format!("extension \"{name}\" does not exist")),
        ObjectKind::Language => missing::language(name),
        ObjectKind::Collation => missing::collation(name),
        ObjectKind::Trigger | ObjectKind::Rule | ObjectKind::Policy => {
            let words = match drop.kind {
                ObjectKind::Trigger => "trigger",
                ObjectKind::Rule => "rule",
                _ => "policy",
            };
            if ddl.find(name)?.is_none() {
                return skip(ddl, drop, missing::relation(name)).map(std::mem::drop);
            }
            let is_error = drop.kind == ObjectKind::Trigger && !drop.if_exists;
            let of = if is_error { "table" } else { "relation" };
            undefined(format!("{words} \"{part}\" for {of} \"{name}\" does not exist"))
        }
        ObjectKind::ForeignTable => undefined(format!("foreign table \"{name}\" does not exist")),
        _ => return Err(Error::unsupported("this form of DROP is not supported")),
    };
    skip(ddl, drop, error).map(std::mem::drop)
}
