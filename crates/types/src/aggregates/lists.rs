//! Aggregates that keep their arguments: strings, arrays; and bits.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use smallvec::SmallVec;

use super::Accumulator;
use crate::apart::make_of;
use crate::array_text::{MAX_DIMENSIONS, too_many_dimensions};
use crate::context::EvalContext;
use crate::function_def::CallTypes;
use crate::oids;
use crate::value::{ArrayValue, Dimension, Value};

/// `string_agg` of text.
#[derive(Debug, Default)]
pub(super) struct StringList(Option<Arc<String>>);

impl Accumulator for StringList {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        let Value::Text(text) = &arguments[0] else { return Ok(()) };
        match &mut self.0 {
            None => self.0 = Some(Arc::new(text.to_string())),
            Some(list) => {
                let list = Arc::make_mut(list);
                if let Value::Text(delimiter) = &arguments[1] {
                    list.push_str(delimiter);
                }
                check_length(list.len() + text.len())?;
                list.push_str(text);
            }
        }
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        let Some(list) = &self.0 else { return Ok(Value::Null) };
        make_of(list, list.len(), |list| Value::text(list))
    }

    fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |list| list.capacity()) + 32
    }
}

/// 54000 for a value that would be too large to be one.
pub(super) fn check_length(bytes: usize) -> Result<()> {
    if bytes > base::limits::VALUE_MAX_BYTES {
        return Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "out of memory")
            .detail("Cannot enlarge string buffer: the result would be larger than a value may be."));
    }
    Ok(())
}

/// `string_agg` of bytea.
#[derive(Debug, Default)]
pub(super) struct ByteList(Option<Arc<Vec<u8>>>);

impl Accumulator for ByteList {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        let Value::Bytea(bytes) = &arguments[0] else { return Ok(()) };
        match &mut self.0 {
            None => self.0 = Some(Arc::new(bytes.to_vec())),
            Some(list) => {
                let list = Arc::make_mut(list);
                if let Value::Bytea(delimiter) = &arguments[1] {
                    list.extend_from_slice(delimiter);
                }
                check_length(list.len() + bytes.len())?;
                list.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        let Some(list) = &self.0 else { return Ok(Value::Null) };
        make_of(list, list.len(), |list| Value::bytea(list.as_slice()))
    }

    fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |list| list.capacity()) + 32
    }
}

/// `array_agg` of elements.
#[derive(Debug)]
pub(super) struct ArrayList {
    element: Oid,
    values: Arc<Vec<Value>>,
    bytes: usize,
}

impl ArrayList {
    pub(super) fn new(types: &CallTypes) -> ArrayList {
        let element = types.arguments.first().map_or(oids::TEXT, |ty| ty.oid);
        ArrayList { element, values: Arc::default(), bytes: 0 }
    }
}

impl Accumulator for ArrayList {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        self.bytes += 24 + arguments[0].heap_bytes();
        check_length(self.bytes)?;
        Arc::make_mut(&mut self.values).push(arguments[0].clone());
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        if self.values.is_empty() {
            return Ok(Value::Null);
        }
        let (element, bytes) = (self.element, self.values.len() * size_of::<Value>());
        make_of(&self.values, bytes, move |values| Value::array(element, values.clone()))
    }

    fn heap_bytes(&self) -> usize {
        self.bytes + 64
    }
}

/// `array_agg` of arrays: one dimension more.
#[derive(Debug)]
pub(super) struct ArrayStack {
    element: Oid,
    dimensions: SmallVec<[Dimension; 1]>,
    values: Arc<Vec<Value>>,
    bytes: usize,
    count: u32,
}

impl ArrayStack {
    pub(super) fn new(_types: &CallTypes) -> ArrayStack {
        ArrayStack { element: oids::TEXT, dimensions: SmallVec::new(), values: Arc::default(), bytes: 0, count: 0 }
    }
}

impl Accumulator for ArrayStack {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        let Value::Array(array) = &arguments[0] else {
            return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays"));
        };
        let subscript_error = |message: &str| Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message);
        if array.dimensions.is_empty() {
            return Err(subscript_error("cannot accumulate empty arrays"));
        }
        if self.count == 0 {
            if array.dimensions.len() == MAX_DIMENSIONS {
                return Err(too_many_dimensions(MAX_DIMENSIONS + 1));
            }
            self.element = array.element;
            self.dimensions = array.dimensions.clone();
        } else if self.dimensions != array.dimensions {
            return Err(subscript_error("cannot accumulate arrays of different dimensionality"));
        }
        self.bytes += array.values.iter().map(|value| 24 + value.heap_bytes()).sum::<usize>();
        check_length(self.bytes)?;
        Arc::make_mut(&mut self.values).extend(array.values.iter().cloned());
        self.count += 1;
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        let mut dimensions: SmallVec<[Dimension; 1]> = SmallVec::new();
        dimensions.push(Dimension { length: self.count, lower_bound: 1 });
        dimensions.extend(self.dimensions.iter().copied());
        let (element, bytes) = (self.element, self.values.len() * size_of::<Value>());
        make_of(&self.values, bytes, move |values| {
            Value::Array(Arc::new(ArrayValue { element, dimensions, values: values.clone() }))
        })
    }

    fn heap_bytes(&self) -> usize {
        self.bytes
    }
}

/// How bits are joined.
#[derive(Clone, Copy, Debug)]
pub(super) enum BitOperation {
    And,
    Or,
    Xor,
}

/// `bit_and`, `bit_or`, `bit_xor`.
#[derive(Debug)]
pub(super) struct Bits {
    state: Value,
    operation: BitOperation,
}

impl Bits {
    pub(super) fn new(operation: BitOperation) -> Bits {
        Bits { state: Value::Null, operation }
    }
}

impl Accumulator for Bits {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        if let (Value::Bits(old), Value::Bits(new)) = (&self.state, &arguments[0]) {
            let combined = match self.operation {
                BitOperation::And => old.combined(new, "AND", |left, right| left & right),
                BitOperation::Or => old.combined(new, "OR", |left, right| left | right),
                BitOperation::Xor => old.combined(new, "XOR", |left, right| left ^ right),
            };
            self.state = Value::Bits(Arc::new(combined?));
            return Ok(());
        }
        let (Some(old), Some(new)) = (self.state.as_i64(), arguments[0].as_i64()) else {
            if self.state.is_null() {
                self.state = arguments[0].clone();
            }
            return Ok(());
        };
        let joined = match self.operation {
            BitOperation::And => old & new,
            BitOperation::Or => old | new,
            BitOperation::Xor => old ^ new,
        };
        self.state = match self.state {
            Value::Int2(_) => Value::Int2(joined as i16),
            Value::Int4(_) => Value::Int4(joined as i32),
            _ => Value::Int8(joined),
        };
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        Ok(self.state.clone())
    }
}
