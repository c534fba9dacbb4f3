use base::{Error, Oid, Result}; use crate::executor::Run; use crate::types::Value;
pub fn call(_: &mut Run<'_, '_>, f: Oid, _: &[Value]) -> Result<Value> { Err(Error::unsupported(format!("function {f}"))) }
pub fn call_set(_: &mut Run<'_, '_>, f: Oid, _: &[Value]) -> Result<Vec<Value>> { Err(Error::unsupported(format!("function {f}"))) }
pub fn index_definition(_: &mut Run<'_, '_>, _: Oid, _: bool) -> Result<Value> { Ok(Value::Null) }
pub fn view_definition(_: &mut Run<'_, '_>, _: Oid) -> Result<Value> { Ok(Value::Null) }
