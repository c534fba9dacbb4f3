//! Casts: which exist, and doing them.
//!
//! [`Cast::find`] follows PostgreSQL: an entry of `pg_cast` if the context allows it, else element by element for
//! arrays, else through text (to a string type in an assignment, from one in an explicit cast). A cast to a type with a
//! modifier ends with a length coercion.

use std::sync::{Arc, LazyLock};

use base::{Error, Oid, Result, sqlstate};
use rustc_hash::FxHashMap;

use super::apart::{call_apart, is_large};
use super::context::{CatalogLookup, EvalContext, UserTypeKind};
use super::function_def::{FunctionDef, Implementation, Volatility};
use super::text_io::{self, is_reg_type};
use super::type_name::format_type_name;
use super::type_table::{Category, SqlType, TypeDef, TypeKind, base_type, builtin_type, type_shape};
use super::value::{ArrayValue, RecordShape, RecordValue, Value};
use super::{functions, oids, type_functions};

mod table;

/// In which place a cast is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CastContext {
    /// Operators and function arguments.
    Implicit,
    /// Storing into a column or variable.
    Assignment,
    /// `CAST` and `::`
    Explicit,
}

/// How an entry of `pg_cast` converts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastMethod {
    /// Through a function.
    Function(Oid),
    /// Not at all: the same bits are a value of the other type.
    Binary,
    /// Through text.
    InOut,
}

/// An entry of `pg_cast`.
#[derive(Clone, Copy, Debug)]
pub struct CastDef {
    /// From.
    pub source: Oid,
    /// To.
    pub target: Oid,
    /// How.
    pub method: CastMethod,
    /// The weakest context in which it is applied by itself.
    pub context: CastContext,
}

static BY_TYPES: LazyLock<FxHashMap<(Oid, Oid), &'static CastDef>> =
    LazyLock::new(|| table::CASTS.iter().map(|cast| ((cast.source, cast.target), cast)).collect());

/// All entries of `pg_cast`.
pub fn casts() -> impl Iterator<Item = &'static CastDef> {
    table::CASTS.iter()
}

/// One step of a conversion.
#[derive(Clone, Debug)]
enum Step {
    /// A function of one argument, whose result becomes a value of this type, which is no domain.
    Function(&'static FunctionDef, Oid),
    /// Another kind of value with the same bits, of this type, which is no domain: `int4` and `oid`.
    Reinterpret(Oid),
    /// Through the target's input function; the value is a string.
    Input(SqlType),
    /// To a string, as this type, which is no domain, is written.
    Output(Oid),
    /// Element by element.
    Elements(Arc<Cast>),
    /// Field by field, into a row of this shape.
    Fields(Arc<RecordShape>, Vec<Cast>),
    /// An anonymous row, field by field, into a row of this shape. Its field types are known only when the value exists.
    Record(Arc<RecordShape>),
    /// Fits the value to the target's modifier.
    Length,
    /// Checks the constraints of this domain.
    Domain(Oid),
}

/// A conversion from one type to another, ready to be applied: kept in plans.
#[derive(Clone, Debug)]
pub struct Cast {
    /// From.
    pub source: SqlType,
    /// To.
    pub target: SqlType,
    /// Where it was asked for.
    pub context: CastContext,
    steps: Vec<Step>,
}

impl Cast {
    /// Whether a function makes the conversion, rather than the types' own input and output.
    pub fn is_call(&self) -> bool {
        matches!(self.steps.as_slice(), [.., Step::Function(..) | Step::Length])
    }

    /// Whether a function makes the conversion that is told the target's modifier.
    fn takes_modifier(&self) -> bool {
        matches!(self.steps.as_slice(), [Step::Function(def, _), ..] if def.arguments.len() > 1)
    }

    /// The conversion that leaves values as they are.
    pub fn identity(ty: SqlType) -> Cast {
        Cast { source: ty, target: ty, context: CastContext::Implicit, steps: Vec::new() }
    }

    /// A written cast between modifiers of one type that changes no value.
    pub fn relabeling(source: SqlType, target: SqlType) -> Cast {
        Cast { source, target, context: CastContext::Explicit, steps: Vec::new() }
    }

    /// The conversion from `source` to `target`, including the target's modifier; `None` if there is none in this context.
    /// From `unknown`, any target is reached through its input function.
    pub fn find(catalog: &dyn CatalogLookup, source: SqlType, target: SqlType, context: CastContext) -> Option<Cast> {
        if source == target {
            return Some(Cast { context, ..Cast::identity(target) });
        }
        let target_base = base_type(catalog, target);
        let mut steps = type_steps(catalog, source.oid, target.oid, context)?;
        let reads_unknown = matches!(steps.last(), Some(Step::Input(_))) && source.oid == oids::UNKNOWN;
        // an interval's input needs the modifier itself
        let needs_length = target_base.typmod >= 0
            && !(reads_unknown && target_base.oid == oids::INTERVAL)
            && (source.typmod != target_base.typmod || base_type(catalog, source).oid != target_base.oid);
        if reads_unknown
            && target_base.oid == oids::INTERVAL
            && let Some(Step::Input(ty)) = steps.last_mut()
        {
            ty.typmod = target_base.typmod;
        }
        if target_base.typmod >= 0
            && let [Step::Elements(elements)] = steps.as_mut_slice()
            && elements.takes_modifier()
        {
            let element = SqlType::with_typmod(elements.target.oid, target_base.typmod);
            *elements = Arc::new(Cast::find(catalog, elements.source, element, context)?);
        }
        if needs_length {
            steps.push(Step::Length);
        }
        if target.oid != target_base.oid && source.oid != target.oid {
            steps.push(Step::Domain(target.oid));
        }
        Some(Cast { source, target: target_with(target, target_base), context, steps })
    }

    /// As [`Cast::find`] for an explicit cast; 42846 `cannot cast type A to B` if there is none.
    pub fn explicit(catalog: &dyn CatalogLookup, source: SqlType, target: SqlType) -> Result<Cast> {
        Cast::find(catalog, source, target, CastContext::Explicit).ok_or_else(|| cannot_cast(catalog, source, target))
    }

    /// Whether values pass unchanged.
    pub fn is_noop(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether it ends with a look at a domain's constraints.
    pub fn checks_domain(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Domain(_)))
    }

    /// Whether PostgreSQL calls the conversion immutable, so that indexes may use it.
    pub fn is_immutable(&self) -> bool {
        self.steps.iter().all(|step| match step {
            Step::Function(def, _) => def.volatility == Volatility::Immutable,
            Step::Input(ty) => has_immutable_input(ty.oid),
            Step::Output(oid) => has_immutable_output(*oid),
            Step::Elements(cast) => cast.is_immutable(),
            Step::Fields(_, casts) => casts.iter().all(Cast::is_immutable),
            Step::Record(_) => false,
            Step::Reinterpret(_) | Step::Length | Step::Domain(_) => true,
        })
    }

    /// Whether a constant may be converted when a statement is planned: the result is the same under all settings.
    /// PostgreSQL calls the texts of floats and of `bytea` immutable, but settings change them, and plans are shared by sessions.
    pub fn is_foldable(&self) -> bool {
        self.is_immutable()
            && self.steps.iter().all(|step| match step {
                Step::Output(oid) => !matches!(*oid, oids::FLOAT4 | oids::FLOAT8 | oids::BYTEA),
                Step::Elements(cast) => cast.is_foldable(),
                Step::Fields(_, casts) => casts.iter().all(Cast::is_foldable),
                // The domain's conditions may change, or call what changes.
                Step::Domain(_) => false,
                _ => true,
            })
    }

    /// Converts a value; NULL stays NULL (domains may refuse it).
    pub fn apply(&self, context: &mut dyn EvalContext, value: Value) -> Result<Value> {
        sync::yield_point()?;
        if is_large(&value)
            && let Some(result) = self.apply_apart(context, &value)
        {
            return result;
        }
        self.apply_here(context, value)
    }

    /// Converts a large value on another thread; `None` if that needs the session.
    #[cold]
    fn apply_apart(&self, context: &dyn EvalContext, value: &Value) -> Option<Result<Value>> {
        let cast = self.clone();
        call_apart(context, std::slice::from_ref(value), move |context, values| {
            cast.apply_here(context, values[0].clone())
        })
    }

    fn apply_here(&self, context: &mut dyn EvalContext, value: Value) -> Result<Value> {
        let mut value = value;
        for step in &self.steps {
            if value.is_null() && !matches!(step, Step::Domain(_)) {
                continue;
            }
            value = self.apply_step(step, context, value)?;
        }
        Ok(value)
    }

    fn apply_step(&self, step: &Step, context: &mut dyn EvalContext, value: Value) -> Result<Value> {
        Ok(match step {
            Step::Function(def, target) => match def.implementation {
                // The conversion of numbers into bits asks how many are wanted.
                Implementation::Plain(function) if def.arguments.len() > 1 => {
                    let typmod = base_type(context.catalog(), self.target).typmod;
                    function(context, &[value, Value::Int4(typmod)])?
                }
                // A function that gives an int4 serves for what has the same bits, too.
                Implementation::Plain(function) => {
                    reinterpret(function(context, std::slice::from_ref(&value))?, *target)
                }
                _ => return Err(Error::internal(format!("{def:?} can't be a cast"))),
            },
            Step::Reinterpret(target) => reinterpret(value, *target),
            Step::Input(ty) => match &value {
                Value::Text(text) => text_io::input(context, text, *ty)?,
                other => other.clone(),
            },
            Step::Output(_) => {
                let mut text = Vec::new();
                text_io::output(&value, self.source.oid, context.format(), context.catalog(), &mut text)?;
                text_io::text_of_output(text)?
            }
            Step::Elements(cast) => match &value {
                Value::Array(array) => Value::Array(Arc::new(cast_elements(cast, context, array)?)),
                other => other.clone(),
            },
            Step::Fields(shape, casts) => match &value {
                Value::Record(record) => {
                    let fields = record
                        .fields
                        .iter()
                        .zip(casts)
                        .map(|(field, cast)| cast.apply(context, field.clone()))
                        .collect::<Result<_>>()?;
                    Value::Record(Arc::new(RecordValue { shape: shape.clone(), fields }))
                }
                other => other.clone(),
            },
            Step::Record(shape) => match &value {
                Value::Record(record) => {
                    // A NULL may be one of any type, and a text may have been a literal.
                    let catalog = context.catalog();
                    let wanted = shape.fields.iter().map(|(_, wanted)| *wanted);
                    let given = record.shape.fields.iter().zip(&record.fields).zip(wanted);
                    let source = |(((_, ty), field), wanted): ((&(String, SqlType), &Value), SqlType)| {
                        let may_be_literal =
                            || *ty == SqlType::TEXT && Cast::find(catalog, *ty, wanted, self.context).is_none();
                        if field.is_null() || may_be_literal() { SqlType::UNKNOWN } else { *ty }
                    };
                    let mut types: Vec<SqlType> = given.map(source).collect();
                    types.extend(record.shape.fields.iter().skip(types.len()).map(|(_, ty)| *ty));
                    let target = SqlType::new(shape.type_oid);
                    let Some(cast) = Cast::row(context.catalog(), &types, target, self.context) else {
                        return Err(cannot_cast(context.catalog(), self.source, target));
                    };
                    cast.apply(context, value)?
                }
                other => other.clone(),
            },
            Step::Length => {
                let ty = base_type(context.catalog(), self.target);
                let ty =
                    SqlType::with_typmod(ty.oid, if self.target.typmod >= 0 { self.target.typmod } else { ty.typmod });
                coerce_length(value, ty, self.context == CastContext::Explicit)?
            }
            Step::Domain(domain) => {
                context.check_domain(*domain, &value)?;
                value
            }
        })
    }
}

/// The target as the result is labelled: a domain keeps its name.
fn target_with(target: SqlType, base: SqlType) -> SqlType {
    if target.oid == base.oid { base } else { target }
}

/// 42846 `cannot cast type A to B`.
#[cold]
pub fn cannot_cast(catalog: &dyn CatalogLookup, source: SqlType, target: SqlType) -> Error {
    Error::new(
        sqlstate::CANNOT_COERCE,
        format!(
            "cannot cast type {} to {}",
            format_type_name(catalog, source.oid),
            format_type_name(catalog, target.oid)
        ),
    )
}

/// Fits a value to the modifier of its type. `explicit`: cut off without complaint. 22001, 22003, 22008.
pub fn coerce_length(value: Value, ty: SqlType, explicit: bool) -> Result<Value> {
    if let Value::Array(array) = value {
        let element = SqlType::with_typmod(array.element, ty.typmod);
        let values = array
            .values
            .iter()
            .map(|value| coerce_length(value.clone(), element, explicit))
            .collect::<Result<Vec<_>>>()?;
        let dimensions = array.dimensions.clone();
        return Ok(Value::Array(Arc::new(ArrayValue { element: array.element, dimensions, values })));
    }
    match builtin_type(ty.oid) {
        Some(TypeDef { typmod: Some(typmod), .. }) => (typmod.fit)(value, ty.typmod, explicit),
        _ => Ok(value),
    }
}

fn cast_elements(cast: &Cast, context: &mut dyn EvalContext, array: &ArrayValue) -> Result<ArrayValue> {
    let values = array.values.iter().map(|value| cast.apply(context, value.clone())).collect::<Result<_>>()?;
    Ok(ArrayValue { element: cast.target.oid, dimensions: array.dimensions.clone(), values })
}

/// The same bits as a value of a binary-compatible type.
fn reinterpret(value: Value, target: Oid) -> Value {
    match value {
        Value::Int4(number) if target == oids::OID || is_reg_type(target) => Value::Oid(number as u32),
        Value::Int2(number) if target == oids::OID || is_reg_type(target) => Value::Oid(i32::from(number) as u32),
        Value::Oid(number) if target == oids::INT4 => Value::Int4(number as i32),
        other => other,
    }
}

/// Whether PostgreSQL calls a type's output immutable.
pub fn has_immutable_output(oid: Oid) -> bool {
    has_immutable_input(oid) || matches!(oid, oids::TIME | oids::TIMETZ)
}

/// Whether PostgreSQL calls a type's input immutable.
fn has_immutable_input(oid: Oid) -> bool {
    builtin_type(oid).is_some_and(|def| !type_functions::is_stable(def.input))
}

fn is_string(category: Option<Category>) -> bool {
    category == Some(Category::String)
}

/// The steps from one type to another, modifiers aside. `None`: there is no way in this context.
fn type_steps(
    catalog: &dyn CatalogLookup,
    source_oid: Oid,
    target_oid: Oid,
    context: CastContext,
) -> Option<Vec<Step>> {
    let source = base_type(catalog, SqlType::new(source_oid)).oid;
    let target = base_type(catalog, SqlType::new(target_oid)).oid;
    if source == target || is_pseudo_target(target) {
        return Some(Vec::new());
    }
    if source == oids::UNKNOWN {
        return Some(vec![Step::Input(SqlType::new(target))]);
    }
    if let Some(entry) = BY_TYPES.get(&(source, target)) {
        if entry.context > context {
            return None;
        }
        return Some(match entry.method {
            CastMethod::Function(oid) => vec![Step::Function(functions::function(oid)?, target)],
            CastMethod::Binary if source == oids::INT4 || target == oids::INT4 => {
                vec![Step::Reinterpret(target)]
            }
            CastMethod::Binary => Vec::new(),
            CastMethod::InOut => vec![Step::Output(source), Step::Input(SqlType::new(target))],
        });
    }
    let source_shape = type_shape(catalog, source)?;
    let target_shape = type_shape(catalog, target)?;
    match (source_shape.kind, target_shape.kind) {
        // Elements of arrays of anonymous rows do not get a type by a cast.
        (TypeKind::Array(oids::RECORD), TypeKind::Array(_)) => {}
        (TypeKind::Array(from), TypeKind::Array(to)) => {
            if let Some(cast) = Cast::find(catalog, SqlType::new(from), SqlType::new(to), context) {
                // even where elements stay as they are, the array must say what they are
                return Some(vec![Step::Elements(Arc::new(cast))]);
            }
        }
        (TypeKind::Composite, TypeKind::Composite) if target == oids::RECORD => return Some(Vec::new()),
        (TypeKind::Composite, TypeKind::Composite) if source == oids::RECORD => {
            let UserTypeKind::Composite(shape) = &catalog.user_type(target)?.kind else { return None };
            return Some(vec![Step::Record(Arc::clone(shape))]);
        }
        _ => {}
    }
    // int2vector and oidvector are arrays with a notation of their own
    match (source, target_shape.kind) {
        (oids::INT2VECTOR, TypeKind::Array(_)) => return type_steps(catalog, oids::INT2_ARRAY, target, context),
        (oids::OIDVECTOR, TypeKind::Array(_)) => return type_steps(catalog, oids::OID_ARRAY, target, context),
        _ => {}
    }
    if context >= CastContext::Assignment && is_string(Some(target_shape.category)) {
        let mut steps = vec![Step::Output(source)];
        if matches!(target, oids::NAME | oids::CHAR) {
            steps.push(Step::Input(SqlType::new(target)));
        }
        return Some(steps);
    }
    if context == CastContext::Explicit && is_string(Some(source_shape.category)) {
        return Some(vec![Step::Input(SqlType::new(target))]);
    }
    None
}

/// Targets that take any value as it is; whether it fits is a matter of polymorphic resolution.
pub fn is_pseudo_target(oid: Oid) -> bool {
    use oids::*;
    matches!(
        oid,
        ANY | ANYELEMENT
            | ANYARRAY
            | ANYNONARRAY
            | ANYENUM
            | ANYCOMPATIBLE
            | ANYCOMPATIBLEARRAY
            | ANYCOMPATIBLENONARRAY
    )
}

/// Whether values of `source` are among those that such a target stands for.
pub fn fits_pseudo_target(catalog: &dyn CatalogLookup, source: Oid, target: Oid) -> bool {
    let kind = type_shape(catalog, base_type(catalog, SqlType::new(source)).oid).map(|shape| shape.kind);
    let is_array = matches!(kind, Some(TypeKind::Array(_)));
    match target {
        oids::ANYARRAY | oids::ANYCOMPATIBLEARRAY => is_array,
        oids::ANYNONARRAY | oids::ANYCOMPATIBLENONARRAY => !is_array,
        oids::ANYENUM => kind == Some(TypeKind::Enum),
        _ => true,
    }
}

impl Cast {
    /// The conversion of a row constructor to a composite type, field by field. `None` if the number of fields or a
    /// field's type doesn't fit.
    pub fn row(catalog: &dyn CatalogLookup, fields: &[SqlType], target: SqlType, context: CastContext) -> Option<Cast> {
        let user = catalog.user_type(base_type(catalog, target).oid)?;
        let UserTypeKind::Composite(shape) = &user.kind else { return None };
        if shape.fields.len() != fields.len() {
            return None;
        }
        let casts = fields
            .iter()
            .zip(&shape.fields)
            .map(|(source, (_, target))| Cast::find(catalog, *source, *target, context))
            .collect::<Option<Vec<_>>>()?;
        let steps = vec![Step::Fields(shape.clone(), casts)];
        Some(Cast { source: SqlType::new(oids::RECORD), target, context, steps })
    }
}

/// Whether values of `source` may be used as `target` in this context, whatever the way.
pub fn can_cast(catalog: &dyn CatalogLookup, source: Oid, target: Oid, context: CastContext) -> bool {
    type_steps(catalog, source, target, context).is_some()
}

/// Whether values of `source` are values of `target` as they are, as far as PostgreSQL is concerned.
pub fn is_binary_coercible(catalog: &dyn CatalogLookup, source: Oid, target: Oid) -> bool {
    let source = base_type(catalog, SqlType::new(source)).oid;
    if source == target || target == oids::ANY || target == oids::ANYELEMENT {
        return true;
    }
    let kind = || type_shape(catalog, source).map(|shape| shape.kind);
    match target {
        oids::ANYARRAY => matches!(kind(), Some(TypeKind::Array(_))),
        oids::ANYENUM => kind() == Some(TypeKind::Enum),
        oids::RECORD => kind() == Some(TypeKind::Composite),
        _ => BY_TYPES
            .get(&(source, target))
            .is_some_and(|entry| entry.method == CastMethod::Binary && entry.context == CastContext::Implicit),
    }
}
