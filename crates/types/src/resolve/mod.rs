//! PostgreSQL's rules for choosing functions, operators and common types.
//!
//! [`candidates`] narrows down a list of signatures that could take the arguments; [`polymorphic`] gives `anyelement`
//! and its kin actual types; this module finds the candidates and puts together what the binder needs.

use base::{Error, Oid, Result, sqlstate};
use smallvec::{SmallVec, smallvec};

use super::aggregates::{self, AggregateDef};
use super::cast::{self, Cast, CastContext};
use super::context::{CatalogLookup, UserFunction, UserFunctions};
use super::function_def::{CallTypes, FunctionDef};
use super::operators::{self, OperatorDef};
use super::type_name::{format_type_name, type_named};
use super::type_table::{Category, SqlType, TypeKind, base_type, element_type, type_shape};
use super::{absent, functions, oids};

mod candidates;
mod polymorphic;

use candidates::{Choice, Signature, choose};
pub use polymorphic::{is_polymorphic, resolve_polymorphic};

/// A call as it is written.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The schema, if written.
    pub schema: Option<&'a str>,
    /// The function's name.
    pub name: &'a str,
    /// The types of the arguments as bound; [`SqlType::UNKNOWN`] for literals and parameters without one.
    pub arguments: &'a [SqlType],
    /// For named notation: per argument its name, `None` for positional ones. Empty if all are positional.
    pub argument_names: &'a [Option<&'a str>],
    /// Whether the last argument is marked VARIADIC.
    pub variadic: bool,
    /// Whether a procedure is looked for (CALL).
    pub procedure: bool,
    /// Of the functions that users made, only these are meant.
    pub only: Option<&'a [Oid]>,
}

impl<'a> Call<'a> {
    /// A call with positional arguments and no schema.
    pub fn new(name: &'a str, arguments: &'a [SqlType]) -> Call<'a> {
        Call { schema: None, name, arguments, argument_names: &[], variadic: false, procedure: false, only: None }
    }
}

/// The target that a call was resolved to.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A built-in function.
    Function(&'static FunctionDef),
    /// A built-in aggregate.
    Aggregate(&'static AggregateDef),
    /// A function or procedure that a user made.
    User(UserFunction),
    /// A cast written like a function: `int4(x)`, `text(x)`. One argument.
    Cast(Cast),
}

/// Where an argument of the function comes from.
#[derive(Clone, Debug)]
pub enum ArgumentSource {
    /// The call's argument at this place, cast unless it is what's wanted.
    Argument(usize, Cast),
    /// The function's default at this place among its input arguments.
    Default(usize),
    /// The call's arguments from here on, each cast to the element type, gathered into an array of this element type.
    VariadicArray(usize, Vec<Cast>, Oid),
}

/// A call, resolved.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The target of the call.
    pub callee: Callee,
    /// Where each of its arguments comes from. A call to `any` VARIADIC passes the rest one by one.
    pub arguments: Vec<ArgumentSource>,
    /// Actual types: polymorphic ones replaced.
    pub types: CallTypes,
    /// Whether it returns a set.
    pub returns_set: bool,
}

/// An operator expression, resolved.
#[derive(Clone, Debug)]
pub struct ResolvedOperator {
    /// The operator.
    pub operator: &'static OperatorDef,
    /// Its function.
    pub function: &'static FunctionDef,
    /// Casts for the operands: left (absent for prefix operators), right.
    pub casts: SmallVec<[Cast; 2]>,
    /// Actual types: polymorphic ones replaced.
    pub types: CallTypes,
}

/// A function or aggregate that may be called by a name.
enum Target {
    Function(&'static FunctionDef),
    Aggregate(&'static AggregateDef),
    User(UserFunction),
}

/// The declaration of what may be called.
struct Declaration<'a> {
    arguments: &'a [Oid],
    variadic: bool,
    result: Oid,
    returns_set: bool,
    defaults: usize,
    names: Vec<&'a str>,
}

impl Target {
    fn declaration(&self) -> Declaration<'_> {
        match self {
            Target::Function(def) => Declaration {
                arguments: def.arguments,
                variadic: def.variadic,
                result: def.result,
                returns_set: def.returns_set,
                defaults: def.defaults.len(),
                names: def.argument_names.to_vec(),
            },
            Target::Aggregate(def) => Declaration {
                arguments: def.arguments,
                variadic: def.variadic,
                result: def.result,
                returns_set: false,
                defaults: 0,
                names: Vec::new(),
            },
            Target::User(def) => Declaration {
                arguments: &def.arguments,
                variadic: def.variadic,
                result: def.result,
                returns_set: def.returns_set,
                defaults: def.defaults,
                names: def.argument_names.iter().map(String::as_str).collect(),
            },
        }
    }
}

/// How a declaration takes the arguments of a call.
struct Matched {
    /// The declared type for each argument of the call, in the call's order.
    signature: Signature,
    /// For each argument of the call, the place of the function's argument that it fills.
    places: SmallVec<[usize; 4]>,
    /// Whether the last arguments of the call make up the VARIADIC array.
    expanded: bool,
    /// Another function of the same schema takes the same arguments in the same way, by other defaults.
    is_ambiguous: bool,
}

/// Whether two functions are in one schema.
fn are_beside(left: &Target, right: &Target) -> bool {
    match (left, right) {
        (Target::User(left), Target::User(right)) => left.schema == right.schema,
        (Target::User(_), _) | (_, Target::User(_)) => false,
        _ => true,
    }
}

/// Whether and how a declaration can take so many arguments.
fn match_shape(catalog: &dyn CatalogLookup, declaration: &Declaration<'_>, call: &Call<'_>) -> Option<Matched> {
    let count = declaration.arguments.len();
    let given = call.arguments.len();
    if call.argument_names.iter().any(Option::is_some) {
        return match_names(declaration, call);
    }
    let last = declaration.arguments.last().copied();
    if declaration.variadic && !call.variadic && given >= count {
        let element = match last? {
            oids::ANY => oids::ANY,
            oids::ANYARRAY => oids::ANYELEMENT,
            oids::ANYCOMPATIBLEARRAY => oids::ANYCOMPATIBLE,
            array => element_type(catalog, array)?,
        };
        let mut signature: Signature = SmallVec::from_slice(&declaration.arguments[..count - 1]);
        signature.resize(given, element);
        return Some(Matched {
            signature,
            places: (0..given).map(|place| place.min(count - 1)).collect(),
            expanded: true,
            is_ambiguous: false,
        });
    }
    // VARIADIC before the last argument of any other function says nothing.
    if given > count || given + declaration.defaults < count {
        return None;
    }
    Some(Matched {
        signature: SmallVec::from_slice(&declaration.arguments[..given]),
        places: (0..given).collect(),
        expanded: false,
        is_ambiguous: false,
    })
}

fn match_names(declaration: &Declaration<'_>, call: &Call<'_>) -> Option<Matched> {
    let count = declaration.arguments.len();
    // The elements of an array that a call makes up have no name; an array that it gives stands behind all other arguments.
    if declaration.variadic && !(call.variadic && call.arguments.len() == count) {
        return None;
    }
    let mut filled = vec![false; count];
    let mut matched =
        Matched { signature: SmallVec::new(), places: SmallVec::new(), expanded: false, is_ambiguous: false };
    for index in 0..call.arguments.len() {
        let place = match call.argument_names.get(index).copied().flatten() {
            None => index,
            Some(name) => declaration.names.iter().position(|own| *own == name)?,
        };
        if place >= count || filled[place] {
            return None;
        }
        filled[place] = true;
        matched.signature.push(declaration.arguments[place]);
        matched.places.push(place);
    }
    let first_default = count - declaration.defaults.min(count);
    filled[..first_default].iter().all(|filled| *filled).then_some(matched)
}

/// Finds the function that a call means.
///
/// Errors: 42883 `function f(integer) does not exist`, 42725 `function f(unknown) is not unique`.
pub fn resolve_function(catalog: &dyn CatalogLookup, call: &Call<'_>) -> Result<Resolved> {
    let mut found: Vec<(Target, Matched)> = Vec::new();
    for target in targets_named(catalog, call) {
        if let Some(matched) = match_shape(catalog, &target.declaration(), call) {
            // the same arguments can be taken in two ways: without VARIADIC is better; nearer in the path is better
            let twin = found.iter().position(|(_, other)| other.signature == matched.signature);
            match twin {
                Some(index) if found[index].1.expanded && !matched.expanded => found[index] = (target, matched),
                Some(index) if found[index].1.expanded == matched.expanded => {
                    found[index].1.is_ambiguous |= are_beside(&found[index].0, &target);
                }
                Some(_) => {}
                None => found.push((target, matched)),
            }
        }
    }
    let given: Vec<Oid> = call.arguments.iter().map(|ty| ty.oid).collect();
    if let Some(index) = found.iter().position(|(_, matched)| matched.signature.as_slice() == given.as_slice()) {
        if found[index].1.is_ambiguous {
            return Err(function_not_unique(catalog, call));
        }
        return finish(catalog, call, found.swap_remove(index));
    }
    if let Some(resolved) = cast_call(catalog, call) {
        return Ok(resolved);
    }
    let signatures: Vec<Signature> = found.iter().map(|(_, matched)| matched.signature.clone()).collect();
    match choose(catalog, &given, &signatures) {
        Choice::One(index) if found[index].1.is_ambiguous => Err(function_not_unique(catalog, call)),
        Choice::One(index) => finish(catalog, call, found.swap_remove(index)),
        Choice::None => Err(no_function(catalog, call)),
        Choice::Many => Err(function_not_unique(catalog, call)),
    }
}

fn targets_named(catalog: &dyn CatalogLookup, call: &Call<'_>) -> Vec<Target> {
    let mut targets = Vec::new();
    let found = match call.schema {
        Some("pg_catalog") => UserFunctions::default(),
        schema => catalog.user_functions(schema, call.name),
    };
    let is_meant = |function: &UserFunction| call.only.is_none_or(|only| only.contains(&function.oid));
    targets.extend(found.before_builtins.into_iter().filter(is_meant).map(Target::User));
    if call.schema.is_none_or(|schema| schema == "pg_catalog") {
        targets.extend(functions::functions_named(call.name).iter().map(|def| Target::Function(def)));
        targets.extend(aggregates::aggregates_named(call.name).iter().map(|def| Target::Aggregate(def)));
    }
    if call.schema == Some("information_schema") && call.name.starts_with("_pg_") {
        targets.extend(functions::functions_named(call.name).iter().map(|def| Target::Function(def)));
    }
    targets.extend(found.after_builtins.into_iter().filter(is_meant).map(Target::User));
    targets
}

/// A call whose name is a type's and whose argument can be cast to it without a function.
fn cast_call(catalog: &dyn CatalogLookup, call: &Call<'_>) -> Option<Resolved> {
    let [argument] = call.arguments else { return None };
    if call.procedure || call.variadic || call.argument_names.iter().any(Option::is_some) {
        return None;
    }
    let target = type_named(catalog, call.schema, call.name)?;
    let shape = type_shape(catalog, target)?;
    if shape.kind == TypeKind::Composite {
        return None;
    }
    let source_shape = type_shape(catalog, argument.oid);
    if source_shape.is_some_and(|source| source.kind == TypeKind::Composite) && shape.category == Category::String {
        return None;
    }
    let target = SqlType::new(target);
    let cast = Cast::find(catalog, *argument, target, CastContext::Explicit)?;
    Some(Resolved {
        callee: Callee::Cast(cast.clone()),
        arguments: vec![ArgumentSource::Argument(0, cast)],
        types: CallTypes::new([*argument], target),
        returns_set: false,
    })
}

/// Replaces polymorphic types, and finds the casts.
fn finish(catalog: &dyn CatalogLookup, call: &Call<'_>, (target, matched): (Target, Matched)) -> Result<Resolved> {
    let declaration = target.declaration();
    let given: Vec<Oid> = call.arguments.iter().map(|ty| ty.oid).collect();
    let (actual, result) = resolve_polymorphic(catalog, &given, &matched.signature, declaration.result)?;
    let cast_to = |index: usize, oid: Oid| -> Result<Cast> {
        let source = call.arguments[index];
        // a declared type has no modifier: that of the argument stays if the type does
        let wanted = if source.oid == oid { source } else { SqlType::new(oid) };
        Cast::find(catalog, source, wanted, CastContext::Implicit)
            .ok_or_else(|| cast::cannot_cast(catalog, source, wanted))
    };
    let count = declaration.arguments.len();
    let is_any = declaration.variadic && declaration.arguments.last() == Some(&oids::ANY);
    let mut arguments = Vec::with_capacity(count);
    let mut types: SmallVec<[SqlType; 2]> = SmallVec::new();
    let actual_type =
        |index: usize, cast: &Cast| if actual[index] == oids::ANY { call.arguments[index] } else { cast.target };
    for place in 0..count {
        if matched.expanded && place == count - 1 {
            let casts = (place..given.len())
                .map(|index| cast_any(catalog, call, index, actual[index]))
                .collect::<Result<Vec<_>>>()?;
            if is_any {
                for (offset, cast) in casts.into_iter().enumerate() {
                    types.push(cast.target);
                    arguments.push(ArgumentSource::Argument(place + offset, cast));
                }
            } else {
                let element = actual.get(place).copied().unwrap_or(oids::TEXT);
                let array = super::type_table::array_type(catalog, element).unwrap_or(oids::TEXT_ARRAY);
                types.push(SqlType::new(array));
                arguments.push(ArgumentSource::VariadicArray(place, casts, element));
            }
            break;
        }
        match matched.places.iter().position(|own| *own == place) {
            Some(index) => {
                let cast = if actual[index] == oids::ANY {
                    cast_any(catalog, call, index, oids::ANY)?
                } else {
                    cast_to(index, actual[index])?
                };
                types.push(actual_type(index, &cast));
                arguments.push(ArgumentSource::Argument(index, cast));
            }
            None => {
                // The other arguments say what a polymorphic one is.
                let declared = declaration.arguments[place];
                let (_, own) = resolve_polymorphic(catalog, &given, &matched.signature, declared)?;
                types.push(SqlType::new(own));
                arguments.push(ArgumentSource::Default(place));
            }
        }
    }
    let returns_set = declaration.returns_set;
    let callee = match target {
        Target::Function(def) => Callee::Function(def),
        Target::Aggregate(def) => Callee::Aggregate(def),
        Target::User(def) => Callee::User(def),
    };
    let types =
        CallTypes { arguments: types, result: SqlType::new(result), spread: is_any && call.variadic, written: None };
    Ok(Resolved { callee, arguments, types, returns_set })
}

/// The cast for an argument declared `any`: a literal becomes text, everything else stays.
fn cast_any(catalog: &dyn CatalogLookup, call: &Call<'_>, index: usize, wanted: Oid) -> Result<Cast> {
    let source = call.arguments[index];
    let target = match wanted {
        oids::ANY if source.oid == oids::UNKNOWN => SqlType::TEXT,
        oids::ANY => source,
        oid if oid == source.oid => source,
        oid => SqlType::new(oid),
    };
    Cast::find(catalog, source, target, CastContext::Implicit).ok_or_else(|| cast::cannot_cast(catalog, source, target))
}

/// `f(integer, text)`, as errors name a call.
pub fn call_signature(catalog: &dyn CatalogLookup, call: &Call<'_>) -> String {
    let mut text = String::new();
    if let Some(schema) = call.schema {
        text.push_str(schema);
        text.push('.');
    }
    text.push_str(call.name);
    text.push('(');
    for (index, ty) in call.arguments.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        if let Some(name) = call.argument_names.get(index).copied().flatten() {
            text.push_str(name);
            text.push_str(" => ");
        }
        text.push_str(&format_type_name(catalog, ty.oid));
    }
    text.push(')');
    text
}

#[cold]
fn no_function(catalog: &dyn CatalogLookup, call: &Call<'_>) -> Error {
    let kind = if call.procedure { "procedure" } else { "function" };
    if !call.procedure
        && absent::is_function(call.schema, call.name)
        && catalog.user_functions(call.schema, call.name).is_empty()
    {
        return Error::unsupported(format!("{kind} {} is not supported", call_signature(catalog, call)));
    }
    let hint =
        format!("No {kind} matches the given name and argument types. You might need to add explicit type casts.");
    Error::new(sqlstate::UNDEFINED_FUNCTION, format!("{kind} {} does not exist", call_signature(catalog, call)))
        .hint(hint)
}

#[cold]
fn function_not_unique(catalog: &dyn CatalogLookup, call: &Call<'_>) -> Error {
    let kind = if call.procedure { "procedure" } else { "function" };
    let hint = format!("Could not choose a best candidate {kind}. You might need to add explicit type casts.");
    Error::new(sqlstate::AMBIGUOUS_FUNCTION, format!("{kind} {} is not unique", call_signature(catalog, call)))
        .hint(hint)
}

/// Finds the operator that an expression means; `left` is `None` for prefix operators.
///
/// Errors: 42883 `operator does not exist: text + integer`, 42725 `operator is not unique: ...`.
pub fn resolve_operator(
    catalog: &dyn CatalogLookup,
    schema: Option<&str>,
    name: &str,
    left: Option<SqlType>,
    right: SqlType,
) -> Result<ResolvedOperator> {
    let operators = match schema {
        None | Some("pg_catalog") => operators::operators_named(name),
        Some(_) => &[],
    };
    let given: SmallVec<[Oid; 2]> = left.iter().map(|ty| ty.oid).chain([right.oid]).collect();
    let operator = match exact_operator(catalog, name, operators, &given) {
        Some(operator) => operator,
        None => {
            let of_arity: Vec<&'static OperatorDef> =
                operators.iter().copied().filter(|def| (def.left == Oid::INVALID) == left.is_none()).collect();
            let signatures: Vec<Signature> = of_arity.iter().map(|def| operand_types(def)).collect();
            match choose(catalog, &given, &signatures) {
                Choice::One(index) => of_arity[index],
                Choice::None => return Err(no_operator(catalog, schema, name, left, right)),
                Choice::Many => return Err(operator_not_unique(catalog, schema, name, left, right)),
            }
        }
    };
    let declared = operand_types(operator);
    let (actual, result) = resolve_polymorphic(catalog, &given, &declared, operator.result)?;
    let mut casts = SmallVec::new();
    let mut types = SmallVec::new();
    for (source, oid) in left.iter().chain([&right]).zip(&actual) {
        let wanted = if source.oid == *oid { *source } else { SqlType::new(*oid) };
        let cast = Cast::find(catalog, *source, wanted, CastContext::Implicit)
            .ok_or_else(|| cast::cannot_cast(catalog, *source, wanted))?;
        types.push(cast.target);
        casts.push(cast);
    }
    let function = functions::function(operator.function)
        .ok_or_else(|| Error::unsupported(format!("operator {} is not supported", operator.name)))?;
    Ok(ResolvedOperator {
        operator,
        function,
        casts,
        types: CallTypes { arguments: types, result: SqlType::new(result), spread: false, written: None },
    })
}

fn operand_types(operator: &OperatorDef) -> Signature {
    if operator.left == Oid::INVALID { smallvec![operator.right] } else { smallvec![operator.left, operator.right] }
}

/// The operator for exactly these types; a literal counts as the other operand's type.
fn exact_operator(
    catalog: &dyn CatalogLookup,
    _name: &str,
    operators: &[&'static OperatorDef],
    given: &[Oid],
) -> Option<&'static OperatorDef> {
    let find = |left: Oid, right: Oid| operators.iter().copied().find(|def| def.left == left && def.right == right);
    match *given {
        [right] => find(Oid::INVALID, right),
        [left, right] => {
            let known = match (left == oids::UNKNOWN, right == oids::UNKNOWN) {
                (true, false) => Some(right),
                (false, true) => Some(left),
                _ => None,
            };
            let (left, right) = known.map_or((left, right), |known| (known, known));
            find(left, right).or_else(|| {
                let base = base_type(catalog, SqlType::new(known?)).oid;
                (base != known?).then(|| find(base, base)).flatten()
            })
        }
        _ => None,
    }
}

fn operator_signature(
    catalog: &dyn CatalogLookup,
    schema: Option<&str>,
    name: &str,
    left: Option<SqlType>,
    right: SqlType,
) -> String {
    let mut text = String::new();
    if let Some(left) = left {
        text.push_str(&format_type_name(catalog, left.oid));
        text.push(' ');
    }
    if let Some(schema) = schema {
        text.push_str(schema);
        text.push('.');
    }
    text.push_str(name);
    text.push(' ');
    text.push_str(&format_type_name(catalog, right.oid));
    text
}

#[cold]
fn no_operator(
    catalog: &dyn CatalogLookup,
    schema: Option<&str>,
    name: &str,
    left: Option<SqlType>,
    right: SqlType,
) -> Error {
    let hint = if left.is_some() {
        "No operator matches the given name and argument types. You might need to add explicit type casts."
    } else {
        "No operator matches the given name and argument type. You might need to add an explicit type cast."
    };
    let signature = operator_signature(catalog, schema, name, left, right);
    // No operator that is missing here takes numbers.
    let takes_number = left.iter().chain([&right]).any(|ty| {
        matches!(
            ty.oid,
            oids::INT2 | oids::INT4 | oids::INT8 | oids::FLOAT4 | oids::FLOAT8 | oids::NUMERIC | oids::BOOL
        )
    });
    if !takes_number && absent::is_operator(schema, name) {
        return Error::unsupported(format!("operator {signature} is not supported"));
    }
    Error::new(sqlstate::UNDEFINED_FUNCTION, format!("operator does not exist: {signature}")).hint(hint)
}

#[cold]
fn operator_not_unique(
    catalog: &dyn CatalogLookup,
    schema: Option<&str>,
    name: &str,
    left: Option<SqlType>,
    right: SqlType,
) -> Error {
    let signature = operator_signature(catalog, schema, name, left, right);
    Error::new(sqlstate::AMBIGUOUS_FUNCTION, format!("operator is not unique: {signature}"))
        .hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
}

/// The type that CASE, COALESCE, UNION, VALUES, ARRAY[], GREATEST and the like give to expressions of these types.
///
/// `construct` is how the error names it: 42804 `CASE types integer and text cannot be matched`.
/// Unknown literals alone give `text`. The modifier is kept if all agree on it.
pub fn common_type(catalog: &dyn CatalogLookup, construct: &str, types: &[SqlType]) -> Result<SqlType> {
    let oids: SmallVec<[Oid; 8]> = types.iter().map(|ty| ty.oid).collect();
    let common = common_oid(catalog, &oids).map_err(|(first, second)| {
        Error::new(
            sqlstate::DATATYPE_MISMATCH,
            format!(
                "{construct} types {} and {} cannot be matched",
                format_type_name(catalog, first),
                format_type_name(catalog, second)
            ),
        )
    })?;
    for ty in types {
        if !cast::can_cast(catalog, ty.oid, common, CastContext::Implicit) {
            return Err(Error::new(
                sqlstate::CANNOT_COERCE,
                format!(
                    "{construct} could not convert type {} to {}",
                    format_type_name(catalog, ty.oid),
                    format_type_name(catalog, common)
                ),
            ));
        }
    }
    let agreed = types.first().filter(|first| types.iter().all(|ty| ty == *first));
    Ok(SqlType::with_typmod(common, agreed.map_or(-1, |ty| if ty.oid == common { ty.typmod } else { -1 })))
}

/// The common type of several; the error names two that can't be matched.
fn common_oid(catalog: &dyn CatalogLookup, types: &[Oid]) -> Result<Oid, (Oid, Oid)> {
    let Some((&first, rest)) = types.split_first() else { return Ok(oids::TEXT) };
    if first != oids::UNKNOWN && rest.iter().all(|oid| *oid == first) {
        return Ok(first);
    }
    let base_of = |oid: Oid| base_type(catalog, SqlType::new(oid)).oid;
    let shape_of = |oid: Oid| type_shape(catalog, oid).map(|shape| (shape.category, shape.preferred));
    let mut chosen = base_of(first);
    for oid in rest {
        let next = base_of(*oid);
        if next == oids::UNKNOWN || next == chosen {
            continue;
        }
        if chosen == oids::UNKNOWN {
            chosen = next;
            continue;
        }
        let (category, preferred) = shape_of(chosen).unwrap_or((Category::User, false));
        let (next_category, _) = shape_of(next).unwrap_or((Category::User, false));
        if category != next_category {
            return Err((chosen, next));
        }
        let implicit = |source: Oid, target: Oid| cast::can_cast(catalog, source, target, CastContext::Implicit);
        if !preferred && implicit(chosen, next) && !implicit(next, chosen) {
            chosen = next;
        }
    }
    Ok(if chosen == oids::UNKNOWN { oids::TEXT } else { chosen })
}

impl Resolved {
    /// The number of the function that is called; none for a cast.
    pub fn oid(&self) -> Oid {
        match &self.callee {
            Callee::Function(def) => def.oid,
            Callee::Aggregate(def) => def.oid,
            Callee::User(def) => def.oid,
            Callee::Cast(_) => Oid::INVALID,
        }
    }
}
