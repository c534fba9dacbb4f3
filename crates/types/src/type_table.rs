//! The built-in types: what `pg_type` says of them, and how any type is classified.

use std::sync::LazyLock;

use base::Oid;

use super::context::CatalogLookup;
use super::oids;

/// A type with its modifier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct SqlType {
    /// The type.
    pub oid: Oid,
    /// Length, precision and the like in PostgreSQL's encoding; -1 for none.
    pub typmod: i32,
}

impl SqlType {
    /// `oid` without a modifier.
    pub const fn new(oid: Oid) -> SqlType {
        SqlType { oid, typmod: -1 }
    }

    /// `oid` with a modifier.
    pub const fn with_typmod(oid: Oid, typmod: i32) -> SqlType {
        SqlType { oid, typmod }
    }

    /// Whether values may be rows, as far as the number of the type tells. `IS NULL` asks each field of a row, and no index knows that.
    pub fn may_be_row(self) -> bool {
        let is_array = self.oid.0 & Oid::ARRAY_TYPE_BIT != 0;
        self.oid == oids::RECORD || self.oid >= Oid::FIRST_NORMAL && !is_array
    }

    /// A literal or parameter whose type is not known yet.
    pub const UNKNOWN: SqlType = SqlType::new(oids::UNKNOWN);
    /// `bool`
    pub const BOOL: SqlType = SqlType::new(oids::BOOL);
    /// `int4`
    pub const INT4: SqlType = SqlType::new(oids::INT4);
    /// `int8`
    pub const INT8: SqlType = SqlType::new(oids::INT8);
    /// `text`
    pub const TEXT: SqlType = SqlType::new(oids::TEXT);
    /// `numeric`
    pub const NUMERIC: SqlType = SqlType::new(oids::NUMERIC);
}

impl From<Oid> for SqlType {
    fn from(oid: Oid) -> SqlType {
        SqlType::new(oid)
    }
}

/// The groups within which PostgreSQL looks for a preferred type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Category {
    /// Arrays
    Array,
    /// Booleans
    Boolean,
    /// Composite types
    Composite,
    /// Dates and times
    DateTime,
    /// Enum types
    Enum,
    /// Network addresses
    Network,
    /// Numbers and object identifiers
    Number,
    /// Pseudo-types
    Pseudo,
    /// Range types
    Range,
    /// Strings
    String,
    /// Intervals
    Timespan,
    /// Types that have no other category
    User,
    /// `unknown`
    Unknown,
    /// Internal use
    Internal,
}

impl Category {
    /// The letter in `pg_type.typcategory`.
    pub fn letter(self) -> char {
        match self {
            Category::Array => 'A',
            Category::Boolean => 'B',
            Category::Composite => 'C',
            Category::DateTime => 'D',
            Category::Enum => 'E',
            Category::Network => 'I',
            Category::Number => 'N',
            Category::Pseudo => 'P',
            Category::Range => 'R',
            Category::String => 'S',
            Category::Timespan => 'T',
            Category::User => 'U',
            Category::Unknown => 'X',
            Category::Internal => 'Z',
        }
    }
}

/// `pg_type.typalign`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// One byte
    Char,
    /// Two bytes
    Short,
    /// Four bytes
    Int,
    /// Eight bytes
    Double,
}

impl Align {
    /// The letter in `pg_type.typalign`.
    pub fn letter(self) -> char {
        match self {
            Align::Char => 'c',
            Align::Short => 's',
            Align::Int => 'i',
            Align::Double => 'd',
        }
    }
}

/// A built-in type.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// Its number.
    pub oid: Oid,
    /// Its name in `pg_type`.
    pub name: String,
    /// Bytes of a value; -1 for variable length, -2 for C strings.
    pub length: i16,
    /// Its category.
    pub category: Category,
    /// Its alignment.
    pub align: Align,
    /// The type of arrays of it, or none.
    pub array: Oid,
    /// For arrays, the type of the elements; also what `int2vector`, `oidvector` and `name` subscript to.
    pub element: Oid,
    /// Name of the input function; [`TypeDef::function_name`] derives the others from it.
    pub input: &'static str,
}

impl TypeDef {
    /// Whether it is a true array type, as `_int4` is and `oidvector` is not.
    pub fn is_array(&self) -> bool {
        self.category == Category::Array && self.length == -1 && self.input == "array_in"
    }

    /// Whether it is a pseudo-type.
    pub fn is_pseudo(&self) -> bool {
        matches!(self.category, Category::Pseudo | Category::Unknown)
    }

    /// Whether it is its category's preferred type.
    pub fn is_preferred(&self) -> bool {
        use oids::*;
        matches!(self.oid, BOOL | TEXT | OID | FLOAT8 | TIMESTAMPTZ | INTERVAL | INET)
    }

    /// `pg_type.typbyval`
    pub fn by_value(&self) -> bool {
        matches!(self.length, 1 | 2 | 4 | 8)
    }

    /// `pg_type.typtype`
    pub fn type_letter(&self) -> char {
        if self.is_pseudo() { 'p' } else { 'b' }
    }

    /// `pg_type.typstorage`
    pub fn storage_letter(&self) -> char {
        match self.oid {
            oids::NUMERIC | oids::INET | oids::CIDR => 'm',
            oids::INT2VECTOR | oids::OIDVECTOR => 'p',
            _ if self.length == -1 => 'x',
            _ => 'p',
        }
    }

    /// `pg_type.typcollation`: 100 is the default collation, 950 is "C".
    pub fn collation(&self) -> Oid {
        match self.oid {
            oids::TEXT | oids::VARCHAR | oids::BPCHAR | oids::PG_NODE_TREE => Oid(100),
            oids::TEXT_ARRAY | oids::VARCHAR_ARRAY | oids::BPCHAR_ARRAY => Oid(100),
            oids::NAME | oids::NAME_ARRAY => Oid(950),
            _ => Oid::INVALID,
        }
    }

    /// The name of the type's function of this kind; `-` where it has none.
    pub fn function_name(&self, kind: TypeFunction) -> String {
        let stem = self.input.strip_suffix("in").expect("the table's input functions end in `in`");
        let no_binary = matches!(self.oid, oids::ACLITEM) || (self.is_pseudo() && self.has_no_binary_form());
        match kind {
            TypeFunction::Input => self.input.to_owned(),
            TypeFunction::Output => format!("{stem}out"),
            TypeFunction::Receive | TypeFunction::Send if no_binary => "-".to_owned(),
            TypeFunction::Receive => format!("{stem}recv"),
            TypeFunction::Send => format!("{stem}send"),
            TypeFunction::TypmodInput | TypeFunction::TypmodOutput => {
                let base = if self.is_array() { builtin_type(self.element) } else { Some(self) };
                let direction = if kind == TypeFunction::TypmodInput { "in" } else { "out" };
                match base {
                    Some(base) if base.takes_typmod() => format!("{}typmod{direction}", base.name),
                    _ => "-".to_owned(),
                }
            }
        }
    }

    fn has_no_binary_form(&self) -> bool {
        use oids::*;
        !matches!(self.oid, UNKNOWN | RECORD | CSTRING | ANYARRAY | VOID | ANYCOMPATIBLEARRAY)
    }

    /// Whether a modifier may follow its name.
    pub fn takes_typmod(&self) -> bool {
        use oids::*;
        matches!(self.oid, BPCHAR | VARCHAR | NUMERIC | TIME | TIMETZ | TIMESTAMP | TIMESTAMPTZ | INTERVAL)
    }
}

/// The support functions that `pg_type` names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeFunction {
    /// `typinput`
    Input,
    /// `typoutput`
    Output,
    /// `typreceive`
    Receive,
    /// `typsend`
    Send,
    /// `typmodin`
    TypmodInput,
    /// `typmodout`
    TypmodOutput,
}

struct Row(Oid, &'static str, i16, Category, Align, u32, &'static str);

const fn row(
    oid: Oid,
    name: &'static str,
    length: i16,
    category: Category,
    align: Align,
    array: u32,
    input: &'static str,
) -> Row {
    Row(oid, name, length, category, align, array, input)
}

/// oid, name, length, category, alignment, array type, input function; array types follow from these.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row(oids::BOOL, "bool", 1, Category::Boolean, Align::Char, 1000, "boolin"),
    row(oids::BYTEA, "bytea", -1, Category::User, Align::Int, 1001, "byteain"),
    row(oids::CHAR, "char", 1, Category::Internal, Align::Char, 1002, "charin"),
    row(oids::NAME, "name", 64, Category::String, Align::Char, 1003, "namein"),
    row(oids::INT8, "int8", 8, Category::Number, Align::Double, 1016, "int8in"),
    row(oids::INT2, "int2", 2, Category::Number, Align::Short, 1005, "int2in"),
    row(oids::INT2VECTOR, "int2vector", -1, Category::Array, Align::Int, 1006, "int2vectorin"),
    row(oids::INT4, "int4", 4, Category::Number, Align::Int, 1007, "int4in"),
    row(oids::REGPROC, "regproc", 4, Category::Number, Align::Int, 1008, "regprocin"),
    row(oids::TEXT, "text", -1, Category::String, Align::Int, 1009, "textin"),
    row(oids::OID, "oid", 4, Category::Number, Align::Int, 1028, "oidin"),
    row(oids::TID, "tid", 6, Category::User, Align::Short, 1010, "tidin"),
    row(oids::XID, "xid", 4, Category::User, Align::Int, 1011, "xidin"),
    row(oids::CID, "cid", 4, Category::User, Align::Int, 1012, "cidin"),
    row(oids::OIDVECTOR, "oidvector", -1, Category::Array, Align::Int, 1013, "oidvectorin"),
    row(oids::JSON, "json", -1, Category::User, Align::Int, 199, "json_in"),
    row(oids::PG_NODE_TREE, "pg_node_tree", -1, Category::Internal, Align::Int, 0, "pg_node_tree_in"),
    row(oids::TABLE_AM_HANDLER, "table_am_handler", 4, Category::Pseudo, Align::Int, 0, "table_am_handler_in"),
    row(oids::INDEX_AM_HANDLER, "index_am_handler", 4, Category::Pseudo, Align::Int, 0, "index_am_handler_in"),
    row(oids::CIDR, "cidr", -1, Category::Network, Align::Int, 651, "cidr_in"),
    row(oids::FLOAT4, "float4", 4, Category::Number, Align::Int, 1021, "float4in"),
    row(oids::FLOAT8, "float8", 8, Category::Number, Align::Double, 1022, "float8in"),
    row(oids::UNKNOWN, "unknown", -2, Category::Unknown, Align::Char, 0, "unknownin"),
    row(oids::INET, "inet", -1, Category::Network, Align::Int, 1041, "inet_in"),
    row(oids::ACLITEM, "aclitem", 12, Category::User, Align::Int, 1034, "aclitemin"),
    row(oids::BPCHAR, "bpchar", -1, Category::String, Align::Int, 1014, "bpcharin"),
    row(oids::VARCHAR, "varchar", -1, Category::String, Align::Int, 1015, "varcharin"),
    row(oids::DATE, "date", 4, Category::DateTime, Align::Int, 1182, "date_in"),
    row(oids::TIME, "time", 8, Category::DateTime, Align::Double, 1183, "time_in"),
    row(oids::TIMESTAMP, "timestamp", 8, Category::DateTime, Align::Double, 1115, "timestamp_in"),
    row(oids::TIMESTAMPTZ, "timestamptz", 8, Category::DateTime, Align::Double, 1185, "timestamptz_in"),
    row(oids::INTERVAL, "interval", 16, Category::Timespan, Align::Double, 1187, "interval_in"),
    row(oids::TIMETZ, "timetz", 12, Category::DateTime, Align::Double, 1270, "timetz_in"),
    row(oids::NUMERIC, "numeric", -1, Category::Number, Align::Int, 1231, "numeric_in"),
    row(oids::REFCURSOR, "refcursor", -1, Category::User, Align::Int, 2201, "textin"),
    row(oids::REGPROCEDURE, "regprocedure", 4, Category::Number, Align::Int, 2207, "regprocedurein"),
    row(oids::REGOPER, "regoper", 4, Category::Number, Align::Int, 2208, "regoperin"),
    row(oids::REGOPERATOR, "regoperator", 4, Category::Number, Align::Int, 2209, "regoperatorin"),
    row(oids::REGCLASS, "regclass", 4, Category::Number, Align::Int, 2210, "regclassin"),
    row(oids::REGTYPE, "regtype", 4, Category::Number, Align::Int, 2211, "regtypein"),
    row(oids::RECORD, "record", -1, Category::Pseudo, Align::Double, 2287, "record_in"),
    row(oids::CSTRING, "cstring", -2, Category::Pseudo, Align::Char, 1263, "cstring_in"),
    row(oids::ANY, "any", 4, Category::Pseudo, Align::Int, 0, "any_in"),
    row(oids::ANYARRAY, "anyarray", -1, Category::Pseudo, Align::Double, 0, "anyarray_in"),
    row(oids::VOID, "void", 4, Category::Pseudo, Align::Int, 0, "void_in"),
    row(oids::TRIGGER, "trigger", 4, Category::Pseudo, Align::Int, 0, "trigger_in"),
    row(oids::LANGUAGE_HANDLER, "language_handler", 4, Category::Pseudo, Align::Int, 0, "language_handler_in"),
    row(oids::INTERNAL, "internal", 8, Category::Pseudo, Align::Double, 0, "internal_in"),
    row(oids::ANYELEMENT, "anyelement", 4, Category::Pseudo, Align::Int, 0, "anyelement_in"),
    row(oids::ANYNONARRAY, "anynonarray", 4, Category::Pseudo, Align::Int, 0, "anynonarray_in"),
    row(oids::UUID, "uuid", 16, Category::User, Align::Char, 2951, "uuid_in"),
    row(oids::PG_LSN, "pg_lsn", 8, Category::User, Align::Double, 3221, "pg_lsn_in"),
    row(oids::ANYENUM, "anyenum", 4, Category::Pseudo, Align::Int, 0, "anyenum_in"),
    row(oids::REGCONFIG, "regconfig", 4, Category::Number, Align::Int, 3735, "regconfigin"),
    row(oids::REGDICTIONARY, "regdictionary", 4, Category::Number, Align::Int, 3770, "regdictionaryin"),
    row(oids::JSONB, "jsonb", -1, Category::User, Align::Int, 3807, "jsonb_in"),
    row(oids::EVENT_TRIGGER, "event_trigger", 4, Category::Pseudo, Align::Int, 0, "event_trigger_in"),
    row(oids::REGNAMESPACE, "regnamespace", 4, Category::Number, Align::Int, 4090, "regnamespacein"),
    row(oids::REGROLE, "regrole", 4, Category::Number, Align::Int, 4097, "regrolein"),
    row(oids::REGCOLLATION, "regcollation", 4, Category::Number, Align::Int, 4192, "regcollationin"),
    row(oids::XID8, "xid8", 8, Category::User, Align::Double, 271, "xid8in"),
    row(oids::ANYCOMPATIBLE, "anycompatible", 4, Category::Pseudo, Align::Int, 0, "anycompatible_in"),
    row(oids::ANYCOMPATIBLEARRAY, "anycompatiblearray", -1, Category::Pseudo, Align::Double, 0, "anycompatiblearray_in"),
    row(oids::ANYCOMPATIBLENONARRAY, "anycompatiblenonarray", 4, Category::Pseudo, Align::Int, 0, "anycompatiblenonarray_in"),
];

struct Table {
    types: Vec<TypeDef>,
    /// By oid: index into `types` plus one; every built-in oid is below this table's length.
    by_oid: Vec<u16>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut types = Vec::with_capacity(ROWS.len() * 2);
    for &Row(oid, name, length, category, align, array, input) in ROWS {
        let element = match oid {
            oids::INT2VECTOR => oids::INT2,
            oids::OIDVECTOR => oids::OID,
            oids::NAME => oids::CHAR,
            _ => Oid::INVALID,
        };
        types.push(TypeDef { oid, name: name.to_owned(), length, category, align, array: Oid(array), element, input });
        if array != 0 {
            let category = if oid == oids::RECORD { Category::Pseudo } else { Category::Array };
            types.push(TypeDef {
                oid: Oid(array),
                name: format!("_{name}"),
                length: -1,
                category,
                align: if align == Align::Double { Align::Double } else { Align::Int },
                array: Oid::INVALID,
                element: oid,
                input: "array_in",
            });
        }
    }
    types.sort_by_key(|ty| ty.oid);
    let mut by_oid = vec![0; types.last().map_or(0, |ty| ty.oid.0 as usize + 1)];
    for (index, ty) in types.iter().enumerate() {
        by_oid[ty.oid.0 as usize] = index as u16 + 1;
    }
    Table { types, by_oid }
});

/// All built-in types by oid.
pub fn builtin_types() -> &'static [TypeDef] {
    &TABLE.types
}

/// The built-in type `oid`.
pub fn builtin_type(oid: Oid) -> Option<&'static TypeDef> {
    let table = &*TABLE;
    match table.by_oid.get(oid.0 as usize) {
        Some(&index) if index > 0 => Some(&table.types[usize::from(index) - 1]),
        _ => None,
    }
}

/// The built-in type called `name` in `pg_type` (`int4`, not `integer`).
pub fn builtin_type_named(name: &str) -> Option<&'static TypeDef> {
    static BY_NAME: LazyLock<rustc_hash::FxHashMap<&'static str, &'static TypeDef>> =
        LazyLock::new(|| TABLE.types.iter().map(|ty| (ty.name.as_str(), ty)).collect());
    BY_NAME.get(name).copied()
}

/// The kind of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// A plain type
    Base,
    /// A true array of this element type
    Array(Oid),
    /// A domain over this type
    Domain(SqlType),
    /// An enum
    Enum,
    /// A row type
    Composite,
    /// A range over this type
    Range(Oid),
    /// A pseudo-type
    Pseudo,
}

/// The properties of a type that resolution needs, built in or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypeShape {
    /// Its kind.
    pub kind: TypeKind,
    /// Its category.
    pub category: Category,
    /// Whether it is its category's preferred type.
    pub preferred: bool,
    /// The type of arrays of it, or none.
    pub array: Oid,
}

/// Classifies a type; `None` if there is no such type.
pub fn type_shape(catalog: &dyn CatalogLookup, oid: Oid) -> Option<TypeShape> {
    if let Some(ty) = builtin_type(oid) {
        let kind = if ty.is_array() || ty.oid == oids::RECORD_ARRAY {
            TypeKind::Array(ty.element)
        } else if ty.oid == oids::RECORD {
            TypeKind::Composite
        } else if ty.is_pseudo() {
            TypeKind::Pseudo
        } else {
            TypeKind::Base
        };
        return Some(TypeShape { kind, category: ty.category, preferred: ty.is_preferred(), array: ty.array });
    }
    catalog.user_type(oid).map(|ty| ty.shape(catalog))
}

/// The element type if `oid` is an array type.
pub fn element_type(catalog: &dyn CatalogLookup, oid: Oid) -> Option<Oid> {
    match type_shape(catalog, oid)?.kind {
        TypeKind::Array(element) => Some(element),
        TypeKind::Domain(base) => element_type(catalog, base.oid),
        _ => None,
    }
}

/// The type of what subscripts and `ANY` find in a value: as [`element_type`], and also for `int2vector` and
/// `oidvector`, which are arrays in all but name.
pub fn subscripted_type(catalog: &dyn CatalogLookup, oid: Oid) -> Option<Oid> {
    match oid {
        oids::INT2VECTOR => Some(oids::INT2),
        oids::OIDVECTOR => Some(oids::OID),
        _ => element_type(catalog, oid),
    }
}

/// The type of arrays of `oid`, if it has one.
pub fn array_type(catalog: &dyn CatalogLookup, oid: Oid) -> Option<Oid> {
    type_shape(catalog, oid).map(|shape| shape.array).filter(|array| *array != Oid::INVALID)
}

/// The type below all domains, with the innermost domain's modifier where the type has none.
pub fn base_type(catalog: &dyn CatalogLookup, ty: SqlType) -> SqlType {
    let mut current = ty;
    while current.oid >= Oid::FIRST_NORMAL {
        match type_shape(catalog, current.oid) {
            Some(TypeShape { kind: TypeKind::Domain(base), .. }) => current = base,
            _ => break,
        }
    }
    current
}
