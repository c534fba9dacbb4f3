use std::sync::Arc; use base::{Error,Result}; use crate::client::Client; use crate::session::{Planned,SqlSession,UtilityOutput}; use crate::tree;
fn no<T>() -> Result<T> { Err(Error::unsupported("not yet")) }
pub fn prepare(_: &mut SqlSession, _: &tree::Prepare, _: &Arc<str>) -> Result<UtilityOutput> { no() }
pub fn execute(_: &mut SqlSession, _: &tree::Execute, _: &Arc<Planned>, _: &mut dyn Client) -> Result<UtilityOutput> { no() }
pub(super) fn plan_of_execute(_: &crate::session::SessionState, _: &tree::Execute, _: &mut dyn Client) -> Result<(Arc<Planned>, Vec<crate::types::Value>)> { no() }
pub fn deallocate(_: &mut SqlSession, _: Option<&str>) -> Result<UtilityOutput> { no() }
pub fn declare(_: &mut SqlSession, _: &tree::DeclareCursor, _: &Arc<str>, _: &mut dyn Client) -> Result<UtilityOutput> { no() }
pub fn fetch(_: &mut SqlSession, _: &tree::Fetch, _: &mut dyn Client) -> Result<UtilityOutput> { no() }
pub fn close(_: &mut SqlSession, _: Option<&str>) -> Result<UtilityOutput> { no() }
