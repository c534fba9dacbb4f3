//! The role that a session acts as.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use schema::catalog::RoleDef;

/// A role as a session acts as it.
#[derive(Debug, PartialEq, Eq)]
pub struct ActingRole {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// Whether it may do anything.
    pub is_superuser: bool,
    /// Whether it is still there.
    pub exists: bool,
}

impl ActingRole {
    /// As the catalog describes it.
    pub fn of(role: &Arc<RoleDef>) -> ActingRole {
        ActingRole { oid: role.oid, name: role.name.clone(), is_superuser: role.superuser, exists: true }
    }

    /// Its name: 42704 if it is gone.
    ///
    /// # Errors
    /// 42704
    pub fn required_name(&self) -> Result<&str> {
        if self.exists {
            return Ok(&self.name);
        }
        Err(Error::new(sqlstate::UNDEFINED_OBJECT, format!("invalid role OID: {}", self.oid)))
    }
}
