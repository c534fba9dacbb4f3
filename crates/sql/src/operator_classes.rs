//! The operator classes and families of btree indexes.

use base::Oid;
use types::{CatalogLookup, SqlType, base_type, builtin_type, oids};

/// An operator class of btree indexes.
pub struct OperatorClass {
    /// Its number.
    pub oid: u32,
    /// Its name.
    pub name: &'static str,
    /// Its family.
    pub family: u32,
    /// The type that it orders.
    pub type_oid: Oid,
    /// Whether it is what an index of the type has without being told.
    pub is_default: bool,
}

const fn class(oid: u32, name: &'static str, family: u32, type_oid: Oid) -> OperatorClass {
    OperatorClass { oid, name, family, type_oid, is_default: true }
}

/// A class that orders as the type's default one does, as text is ordered by its bytes.
const fn other_class(oid: u32, name: &'static str, family: u32, type_oid: Oid) -> OperatorClass {
    OperatorClass { oid, name, family, type_oid, is_default: false }
}

/// The operator classes that indexes have.
pub(crate) const OPERATOR_CLASSES: &[OperatorClass] = &[
    class(1978, "int4_ops", 1976, oids::INT4),
    class(1979, "int2_ops", 1976, oids::INT2),
    class(1981, "oid_ops", 1989, oids::OID),
    class(3122, "date_ops", 434, oids::DATE),
    class(3123, "float8_ops", 1970, oids::FLOAT8),
    class(3124, "int8_ops", 1976, oids::INT8),
    class(3125, "numeric_ops", 1988, oids::NUMERIC),
    class(3126, "text_ops", 1994, oids::TEXT),
    class(3127, "timestamptz_ops", 434, oids::TIMESTAMPTZ),
    class(3128, "timestamp_ops", 434, oids::TIMESTAMP),
    class(10000, "array_ops", 397, oids::ANYARRAY),
    class(10003, "bool_ops", 424, oids::BOOL),
    class(10004, "bpchar_ops", 426, oids::BPCHAR),
    class(10006, "bytea_ops", 428, oids::BYTEA),
    class(10007, "char_ops", 429, oids::CHAR),
    class(10015, "inet_ops", 1974, oids::INET),
    class(10012, "float4_ops", 1970, oids::FLOAT4),
    class(10022, "interval_ops", 1982, oids::INTERVAL),
    class(10028, "name_ops", 1994, oids::NAME),
    class(10032, "oidvector_ops", 1991, oids::OIDVECTOR),
    class(10034, "record_ops", 2994, oids::RECORD),
    class(10038, "time_ops", 1996, oids::TIME),
    class(10041, "timetz_ops", 2000, oids::TIMETZ),
    class(10050, "tid_ops", 2789, oids::TID),
    class(10024, "macaddr_ops", 1984, oids::MACADDR),
    class(10026, "macaddr8_ops", 3371, oids::MACADDR8),
    class(10047, "money_ops", 2099, oids::MONEY),
    class(10002, "bit_ops", 423, oids::BIT),
    class(10043, "varbit_ops", 2002, oids::VARBIT),
    class(10053, "xid8_ops", 5067, oids::XID8),
    class(10065, "uuid_ops", 2968, oids::UUID),
    class(10067, "pg_lsn_ops", 3253, oids::PG_LSN),
    class(10069, "enum_ops", 3522, oids::ANYENUM),
    class(10088, "jsonb_ops", 4033, oids::JSONB),
    other_class(4217, "text_pattern_ops", 2095, oids::TEXT),
    other_class(4218, "varchar_pattern_ops", 2095, oids::TEXT),
    other_class(4219, "bpchar_pattern_ops", 2097, oids::BPCHAR),
    other_class(10044, "varchar_ops", 1994, oids::TEXT),
    other_class(10009, "cidr_ops", 1974, oids::INET),
];

/// The families of the operator classes.
pub(crate) const OPERATOR_FAMILIES: &[(u32, &str)] = &[
    (397, "array_ops"),
    (424, "bool_ops"),
    (426, "bpchar_ops"),
    (428, "bytea_ops"),
    (429, "char_ops"),
    (434, "datetime_ops"),
    (1970, "float_ops"),
    (1974, "network_ops"),
    (1976, "integer_ops"),
    (1982, "interval_ops"),
    (1988, "numeric_ops"),
    (1989, "oid_ops"),
    (1991, "oidvector_ops"),
    (1994, "text_ops"),
    (2095, "text_pattern_ops"),
    (2097, "bpchar_pattern_ops"),
    (1996, "time_ops"),
    (2000, "timetz_ops"),
    (2789, "tid_ops"),
    (2968, "uuid_ops"),
    (2994, "record_ops"),
    (1984, "macaddr_ops"),
    (3371, "macaddr8_ops"),
    (2099, "money_ops"),
    (423, "bit_ops"),
    (2002, "varbit_ops"),
    (3253, "pg_lsn_ops"),
    (3522, "enum_ops"),
    (4033, "jsonb_ops"),
    (5067, "xid8_ops"),
];

/// The operator class by which an index sorts a type.
pub fn operator_class(catalog: &dyn CatalogLookup, oid: Oid) -> Oid {
    let base = base_type(catalog, SqlType::new(oid)).oid;
    let shape = types::type_shape(catalog, base);
    let sorted_as = match shape.map(|shape| shape.kind) {
        Some(types::TypeKind::Array(_)) => oids::ANYARRAY,
        Some(types::TypeKind::Enum) => oids::ANYENUM,
        Some(types::TypeKind::Composite) => oids::RECORD,
        _ => builtin_type(base).map_or(base, |def| def.ordered_as),
    };
    let is_it = |class: &&OperatorClass| class.is_default && class.type_oid == sorted_as;
    OPERATOR_CLASSES.iter().find(is_it).map_or(Oid::INVALID, |class| Oid(class.oid))
}

/// The operator class of this name.
pub fn operator_class_named(name: &str) -> Option<&'static OperatorClass> {
    OPERATOR_CLASSES.iter().find(|class| class.name == name)
}

/// The operator class with this number.
pub fn operator_class_by_oid(oid: Oid) -> Option<&'static OperatorClass> {
    OPERATOR_CLASSES.iter().find(|class| class.oid == oid.0)
}

#[cfg(test)]
mod tests {
    use types::{BuiltinCatalog, builtin_types, comparator};

    use super::*;

    #[test]
    fn every_type_with_an_order_has_an_operator_class() {
        // PostgreSQL has none for `refcursor`.
        let with_order = builtin_types().iter().filter(|def| !def.is_pseudo() && def.oid != oids::REFCURSOR);
        for def in with_order.filter(|def| comparator(def.oid).is_some()) {
            assert_ne!(operator_class(&BuiltinCatalog, def.oid), Oid::INVALID, "{}", def.name);
        }
        for class in OPERATOR_CLASSES {
            assert!(OPERATOR_FAMILIES.iter().any(|(oid, _)| *oid == class.family), "{}", class.name);
        }
    }
}
