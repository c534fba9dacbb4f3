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
