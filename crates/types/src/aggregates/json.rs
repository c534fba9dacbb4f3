//! Aggregates that make JSON.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};

use super::Accumulator;
use super::lists::check_length;
use crate::apart::make_of;
use crate::context::EvalContext;
use crate::function_def::CallTypes;
use crate::json::{Json, JsonbValue};
use crate::json_convert::{key_text, to_json, write_json};
use crate::oids;
use crate::value::{SmolStr, Value};

fn argument_type(types: &CallTypes, index: usize) -> Oid {
    types.arguments.get(index).map_or(oids::TEXT, |ty| ty.oid)
}

/// A document as it was gathered, with its end.
fn finished(text: &[u8], end: &str) -> Value {
    let mut text = String::from_utf8_lossy(text).into_owned();
    text.push_str(end);
    Value::from(text)
}

/// `json_agg` and `jsonb_agg`.
#[derive(Debug)]
pub(super) struct JsonList {
    element: Oid,
    binary: bool,
    text: Arc<Vec<u8>>,
    values: Arc<Vec<Json>>,
    bytes: usize,
}

impl JsonList {
    pub(super) fn new(types: &CallTypes, binary: bool) -> JsonList {
        JsonList { element: argument_type(types, 0), binary, text: Arc::default(), values: Arc::default(), bytes: 0 }
    }
}

impl Accumulator for JsonList {
    fn update(&mut self, context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        if self.binary {
            let value = to_json(&arguments[0], self.element, context)?;
            self.bytes += 32 + value.heap_bytes();
            Arc::make_mut(&mut self.values).push(value);
            return check_length(self.bytes);
        }
        let separator: &[u8] = match &arguments[0] {
            _ if self.text.is_empty() => b"[",
            Value::Record(_) | Value::Array(_) => b", \n ",
            _ => b", ",
        };
        let text = Arc::make_mut(&mut self.text);
        text.extend_from_slice(separator);
        write_json(&arguments[0], self.element, context, text)?;
        check_length(text.len())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        if self.binary {
            if self.values.is_empty() {
                return Ok(Value::Null);
            }
            return make_of(&self.values, self.bytes, |values| {
                Value::Jsonb(Arc::new(JsonbValue(Json::Array(values.clone()))))
            });
        }
        if self.text.is_empty() {
            return Ok(Value::Null);
        }
        make_of(&self.text, self.text.len(), |text| finished(text, "]"))
    }

    fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.bytes
    }
}

/// `json_object_agg` and `jsonb_object_agg`.
#[derive(Debug)]
pub(super) struct JsonMembers {
    types: [Oid; 2],
    binary: bool,
    text: Arc<Vec<u8>>,
    members: Arc<Vec<(SmolStr, Json)>>,
    bytes: usize,
}

impl JsonMembers {
    pub(super) fn new(types: &CallTypes, binary: bool) -> JsonMembers {
        let types = [argument_type(types, 0), argument_type(types, 1)];
        JsonMembers { types, binary, text: Arc::default(), members: Arc::default(), bytes: 0 }
    }
}

impl Accumulator for JsonMembers {
    fn update(&mut self, context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        let [key, value] = arguments else { return Ok(()) };
        if key.is_null() {
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "field name must not be null"));
        }
        if self.binary {
            let key = key_text(key, self.types[0], context)?;
            let value = to_json(value, self.types[1], context)?;
            self.bytes += 56 + key.len() + value.heap_bytes();
            Arc::make_mut(&mut self.members).push((key, value));
            return check_length(self.bytes);
        }
        let key = key_text(key, self.types[0], context)?;
        let text = Arc::make_mut(&mut self.text);
        text.extend_from_slice(if text.is_empty() { b"{ " } else { b", " });
        crate::json::write_string(&key, text);
        text.extend_from_slice(b" : ");
        write_json(value, self.types[1], context, text)?;
        check_length(text.len())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        if self.binary {
            if self.members.is_empty() {
                return Ok(Value::Null);
            }
            return make_of(&self.members, self.bytes, |members| {
                Value::Jsonb(Arc::new(JsonbValue(Json::object(members.clone()))))
            });
        }
        if self.text.is_empty() {
            return Ok(Value::Null);
        }
        make_of(&self.text, self.text.len(), |text| finished(text, " }"))
    }

    fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.bytes
    }
}
