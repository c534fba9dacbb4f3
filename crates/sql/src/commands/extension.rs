//! CREATE EXTENSION: there is one extension, PL/pgSQL, and it is there from the beginning.

use base::{Error, Result, sqlstate};

use super::ddl::Ddl;
use crate::state::UtilityOutput;

/// CREATE EXTENSION.
///
/// # Errors
/// 42710 for the one there is, 0A000 for any other.
pub fn create(ddl: &mut Ddl<'_>, name: &str, if_not_exists: bool) -> Result<UtilityOutput> {
    if name != "plpgsql" {
        return Err(Error::unsupported(format!("extension \"{name}\" is not available")));
    }
    let message = format!("extension \"{name}\" already exists");
    if !if_not_exists {
        return Err(Error::new(sqlstate::DUPLICATE_OBJECT, message));
    }
    ddl.notice(sqlstate::DUPLICATE_OBJECT, format!("{message}, skipping"));
    Ok(UtilityOutput::tag("CREATE EXTENSION"))
}
