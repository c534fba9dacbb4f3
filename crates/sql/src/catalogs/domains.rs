//! The checks of domains, as rows of `pg_constraint`.

use base::Oid;
use plan::user_types::TypeBody;
use schema::catalog::{Catalog, class};
use types::Value;

use super::rows::{NULL, letter, row};

/// The rows of `pg_constraint` for the checks of domains.
pub fn constraints(catalog: &Catalog) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for custom in catalog.customs(class::TYPE) {
        let Ok(TypeBody::Domain { checks, .. }) = TypeBody::decode(&custom.body) else { continue };
        for check in checks {
            let none = Oid::INVALID;
            rows.push(row![
                check.oid,
                check.name.as_str(),
                custom.schema,
                letter('c'),
                false,
                false,
                check.validated,
                none,
                custom.oid,
                none,
                none,
                none,
                letter(' '),
                letter(' '),
                letter(' '),
                true,
                0i32,
                false,
                NULL,
                NULL,
                NULL,
                NULL,
                NULL,
                NULL,
                NULL,
                check.expression,
            ]);
        }
    }
    rows
}
