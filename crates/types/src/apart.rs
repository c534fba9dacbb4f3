//! Calls with large arguments or results: computed by another thread, so that sessions of the same worker don't wait for them.
//!
//! A function that looks at a text of megabytes takes milliseconds or more, mostly in a library that can't stop on the way. Functions
//! that take more than a time linear in their arguments let others run themselves instead. The arguments are shared, not copied. The
//! call may find out while it runs that it needs the session after all (for a type of the user's, for a setting). Then it runs again
//! where the session is.

use std::cell::Cell;
use std::sync::Arc;

use base::{Oid, Result};
use sync::Work;

use super::context::{CatalogLookup, EvalContext, FormatSettings, RegKind, UserFunction, UserFunctions, UserType};
use super::random::RandomState;
use super::type_table::builtin_type;
use super::value::Value;

/// Texts and byte strings longer than this are large.
pub const LARGE_BYTES: usize = 64 << 10;
/// The same for arrays and documents.
const LARGE_ELEMENTS: usize = 16 << 10;
/// So many bytes of a text or a number in an array or a document take as long as another element.
pub const BYTES_OF_A_PART: usize = 64;
/// Numbers longer than this are large: what is done with them takes the square of their length.
const LARGE_NUMBER_BYTES: usize = 2048;
/// A function that looks at each letter a few times handles so many bytes within a time slice.
const LONG_BYTES: usize = 512 << 10;

/// A result longer than this takes longer to make than handing the call over.
pub(super) const LARGE_RESULT_BYTES: usize = 1 << 20;

/// Functions that look at a small part of a large argument.
const QUICK: [&str; 17] = [
    "array_length",
    "array_lower",
    "array_ndims",
    "array_dims",
    "array_upper",
    "cardinality",
    "get_byte",
    "jsonb_array_element",
    "jsonb_array_element_text",
    "jsonb_array_length",
    "jsonb_exists",
    "jsonb_extract_path",
    "jsonb_extract_path_text",
    "jsonb_object_field",
    "jsonb_object_field_text",
    "jsonb_typeof",
    "octet_length",
];

/// Whether a call with this argument may be better made by another thread.
#[inline]
pub fn is_large(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.len() > LARGE_BYTES,
        Value::Bytea(bytes) => bytes.len() > LARGE_BYTES,
        Value::Bits(bits) => bits.bytes().len() > LARGE_BYTES,
        Value::Numeric(number) => number.heap_bytes() > LARGE_NUMBER_BYTES,
        Value::Jsonb(_) | Value::Record(_) => room_left(value, LARGE_ELEMENTS).is_none(),
        Value::Array(array) => is_large_array(&array.values),
        _ => false,
    }
}

fn is_large_array(values: &[Value]) -> bool {
    let has_parts = |value: &Value| {
        use Value::{Array, Bits, Bytea, Jsonb, Null, Numeric, Record, Text};
        matches!(value, Null | Text(_) | Bytea(_) | Bits(_) | Numeric(_) | Jsonb(_) | Array(_) | Record(_))
    };
    values.len() > LARGE_ELEMENTS
        || values.first().is_some_and(has_parts) && values.iter().try_fold(LARGE_ELEMENTS, within).is_none()
}

fn within(room: usize, value: &Value) -> Option<usize> {
    room_left(value, room)
}

/// The rest of `room`, a number of elements, when this value has taken its part. All texts of an array may be the same one: that takes
/// little memory, but each is looked at.
fn room_left(value: &Value, room: usize) -> Option<usize> {
    let room = room.checked_sub(1)?;
    match value {
        Value::Text(text) => room.checked_sub(text.len() / BYTES_OF_A_PART),
        Value::Bytea(bytes) => room.checked_sub(bytes.len() / BYTES_OF_A_PART),
        Value::Bits(bits) => room.checked_sub(bits.bytes().len() / BYTES_OF_A_PART),
        Value::Numeric(number) => room.checked_sub(number.heap_bytes() / BYTES_OF_A_PART),
        Value::Jsonb(json) => json.0.room_left(room),
        Value::Array(array) => array.values.iter().try_fold(room, within),
        Value::Record(record) => record.fields.iter().try_fold(room, within),
        _ => Some(room),
    }
}

/// Functions whose loops let others run at each step. A client can make them take as long as it likes, so they must not keep threads
/// that others wait for.
fn lets_others_run(function: &str, arguments: &[Value]) -> bool {
    match function {
        "substring" => matches!(arguments.get(1), Some(Value::Text(_))),
        "jsonb_contains" | "jsonb_contained" | "jsonb_exists_any" | "jsonb_exists_all" => true,
        "arraycontains" | "arraycontained" | "arrayoverlap" | "array_position" | "array_positions" => true,
        _ => function.contains("regex") || function.ends_with("like"),
    }
}

/// Whether a call of this function with these arguments, of which one is large, takes longer than handing it over.
pub fn takes_long(function: &str, arguments: &[Value]) -> bool {
    let is_short = |value: &Value| match value {
        Value::Text(text) => text.len() <= LONG_BYTES,
        Value::Bytea(bytes) => bytes.len() <= LONG_BYTES,
        value => !is_large(value),
    };
    !QUICK.contains(&function) && !lets_others_run(function, arguments) && !arguments.iter().all(is_short)
}

/// Calls `work` on another thread. `None` if it needs the session: then the caller has to do it itself.
///
/// # Errors
/// Those of `work`, and 57014 and its kin when the session is interrupted meanwhile.
pub fn call_apart<R: Send + 'static>(
    context: &dyn EvalContext,
    arguments: &[Value],
    work: impl FnOnce(&mut dyn EvalContext, &[Value]) -> Result<R> + Send + 'static,
) -> Option<Result<R>> {
    if !sync::in_coroutine() {
        return None;
    }
    let arguments = arguments.to_vec();
    let mut apart = Apart {
        format: context.format().clone(),
        transaction_timestamp: context.transaction_timestamp(),
        statement_timestamp: context.statement_timestamp(),
        random: None,
        session: Absent::default(),
    };
    let done = sync::on_other_thread(Work::Long, move || {
        let result = work(&mut apart, &arguments);
        (!apart.session.is_needed.get()).then_some(result)
    });
    match done {
        Ok(result) => result,
        Err(interrupted) => Some(Err(interrupted)),
    }
}

/// Makes a result of up to so many bytes from arguments that may be small: on another thread if the result is large.
///
/// # Errors
/// Those of `work`, and 57014 and its kin when the session is interrupted meanwhile.
pub(super) fn make_result(
    context: &mut dyn EvalContext,
    arguments: &[Value],
    bytes: usize,
    work: impl Fn(&mut dyn EvalContext, &[Value]) -> Result<Value> + Copy + Send + 'static,
) -> Result<Value> {
    if bytes > LARGE_RESULT_BYTES
        && let Some(result) = call_apart(context, arguments, work)
    {
        return result;
    }
    work(context, arguments)
}

/// Makes a value of up to so many bytes of what is shared: on another thread if it is large.
///
/// # Errors
/// 57014 and its kin when the session is interrupted meanwhile.
pub(super) fn make_of<T: Send + Sync + 'static>(
    kept: &Arc<T>,
    bytes: usize,
    make: impl FnOnce(&T) -> Value + Send + 'static,
) -> Result<Value> {
    if bytes <= LARGE_RESULT_BYTES {
        return Ok(make(kept));
    }
    let kept = Arc::clone(kept);
    sync::on_other_thread(Work::Long, move || make(&kept))
}

/// The part of its session that a call on another thread can use.
struct Apart {
    format: FormatSettings,
    transaction_timestamp: i64,
    statement_timestamp: i64,
    random: Option<RandomState>,
    session: Absent,
}

impl EvalContext for Apart {
    fn format(&self) -> &FormatSettings {
        &self.format
    }

    fn catalog(&self) -> &dyn CatalogLookup {
        &self.session
    }

    fn transaction_timestamp(&self) -> i64 {
        self.transaction_timestamp
    }

    fn statement_timestamp(&self) -> i64 {
        self.statement_timestamp
    }

    fn random(&mut self) -> &mut RandomState {
        self.session.is_needed.set(true);
        self.random.get_or_insert_with(RandomState::from_entropy)
    }

    fn is_new_label(&self, _key: i64) -> bool {
        self.session.is_needed.set(true);
        false
    }
}

/// Stands for the session's catalog. It notes that it was asked for more than what is built in.
#[derive(Default)]
struct Absent {
    is_needed: Cell<bool>,
}

impl Absent {
    fn asked<T: Default>(&self) -> T {
        self.is_needed.set(true);
        T::default()
    }
}

impl CatalogLookup for Absent {
    fn may_look_into(&self, _schema: Oid) -> bool {
        self.asked()
    }

    fn user_type(&self, oid: Oid) -> Option<Arc<UserType>> {
        // No user's type has the number of one that is built in.
        if builtin_type(oid).is_some() { None } else { self.asked() }
    }

    fn user_type_named(&self, _schema: Option<&str>, _name: &str) -> Option<Oid> {
        self.asked()
    }

    fn type_before_builtins(&self, _name: &str) -> Option<Oid> {
        self.asked()
    }

    fn type_is_visible(&self, _oid: Oid) -> bool {
        self.asked()
    }

    fn user_function(&self, _oid: Oid) -> Option<UserFunction> {
        self.asked()
    }

    fn user_functions(&self, _schema: Option<&str>, _name: &str) -> UserFunctions {
        self.asked()
    }

    fn finds_builtins(&self) -> bool {
        self.asked()
    }

    fn object_name(&self, _kind: RegKind, _oid: Oid) -> Option<String> {
        self.asked()
    }

    fn object_named(&self, _kind: RegKind, _name: &[String]) -> Result<Option<Oid>> {
        Ok(self.asked())
    }

    fn check_domain(&self, _domain: Oid, _value: &Value) -> Result<()> {
        self.is_needed.set(true);
        Ok(())
    }

    fn domain_default(&self, _domain: Oid) -> Option<String> {
        self.asked()
    }
}
