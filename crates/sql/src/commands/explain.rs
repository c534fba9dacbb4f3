use std::sync::Arc; use base::{Error,Result}; use crate::client::Client; use crate::session::{SqlSession,UtilityOutput}; use crate::tree; use crate::types::Value;
pub fn run(_: &mut SqlSession, _: &tree::Explain, _: &Arc<str>, _: &[Value], _: &mut dyn Client) -> Result<UtilityOutput> { Err(Error::unsupported("not yet")) }
