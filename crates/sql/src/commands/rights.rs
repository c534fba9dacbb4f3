//! The rights that a definition asks for: CREATE in schemas, USAGE of types.

use base::{Error, Oid, Result, sqlstate};
use plan::privileges::{Kind, Privileges, Subject};
use plan::user_types;

use super::ddl::Ddl;

impl Ddl<'_> {
    /// As [`Ddl::require_create_as`]; a superuser may give the role what it could not make itself.
    pub fn require_create_by_superuser_or(&self, schema: Oid, role: Oid) -> Result<()> {
        if self.state.is_superuser() { Ok(()) } else { self.require_create_as(schema, role) }
    }

    /// 42501 if nothing may be made in the schema.
    pub fn require_create(&self, schema: Oid) -> Result<()> {
        self.require_create_as(schema, self.owner())
    }

    /// 42501 if `role` may make nothing in the schema. A role that may make temporary tables may make anything in the session's own
    /// temporary schema.
    pub fn require_create_as(&self, schema: Oid, role: Oid) -> Result<()> {
        let catalog = self.catalog();
        match Subject::find(&catalog, schema) {
            Some(subject) if self.is_own_temporary(schema) => {
                let database = Subject::find(&catalog, catalog.database());
                let is_allowed = database
                    .is_none_or(|database| database.privileges_of(&catalog, role).contains(Privileges::TEMPORARY));
                if is_allowed { Ok(()) } else { Err(subject.denied()) }
            }
            Some(subject) => subject.require(&catalog, role, Privileges::CREATE),
            None => Ok(()),
        }
    }

    /// 42501 without USAGE of a type, or of the type of an array's elements.
    pub fn require_type(&self, oid: Oid) -> Result<()> {
        let oid = user_types::element_of_array(oid).unwrap_or(oid);
        let catalog = self.catalog();
        match Subject::find(&catalog, oid).filter(|subject| subject.kind == Kind::Type) {
            Some(subject) if !subject.privileges_of(&catalog, self.owner()).contains(Privileges::USAGE) => {
                let shown = types::format_type_name(&self.view(), oid);
                let message = format!("permission denied for type {shown}");
                Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
            }
            _ => Ok(()),
        }
    }
}
