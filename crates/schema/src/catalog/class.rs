//! Classes of objects, by the numbers of the catalogs that list them in PostgreSQL.

use base::Oid;

/// `pg_class`
pub const RELATION: Oid = Oid(1259);
/// `pg_constraint`
pub const CONSTRAINT: Oid = Oid(2606);
/// `pg_attrdef`
pub const DEFAULT: Oid = Oid(2604);
/// `pg_rewrite`
pub const RULE: Oid = Oid(2618);
/// `pg_language`
pub const LANGUAGE: Oid = Oid(2612);
/// `pg_default_acl`
pub const DEFAULT_ACL: Oid = Oid(826);
/// `pg_trigger`
pub const TRIGGER: Oid = Oid(2620);
/// `pg_namespace`
pub const SCHEMA: Oid = Oid(2615);
/// `pg_proc`
pub const FUNCTION: Oid = Oid(1255);
/// `pg_type`
pub const TYPE: Oid = Oid(1247);
/// `pg_authid`
pub const ROLE: Oid = Oid(1260);
/// `pg_database`
pub const DATABASE: Oid = Oid(1262);
/// `pg_attribute`
pub const COLUMN: Oid = Oid(1249);
/// `pg_db_role_setting`
pub const ROLE_SETTING: Oid = Oid(2964);
/// Lists of the privileges on objects. PostgreSQL keeps them in the objects' own rows.
pub const ACL: Oid = Oid(16);
/// Lists of the privileges on objects that all databases share.
pub const SHARED_ACL: Oid = Oid(17);

/// Whether all databases share the objects of this class.
pub fn is_shared(class: Oid) -> bool {
    matches!(class, ROLE | DATABASE | ROLE_SETTING | SHARED_ACL)
}
