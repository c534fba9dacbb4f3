//! The built-in types: what `pg_type` says of them, and how any type is classified.

use std::sync::LazyLock;

use base::{Oid, Result};

use super::binary_io::Reader;
use super::compare::{Comparator, compare_values};
use super::context::{CatalogLookup, EvalContext};
use super::storage::StorageKind;
use super::typmods::Typmod;
use super::value::Value;
use super::{oids, type_rows};

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
    /// Strings of bits
    BitString,
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
            Category::BitString => 'V',
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

/// How values of a type are compared.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// Not at all
    None,
    /// Only for equality, by what they are stored as
    EqualityOnly,
    /// By this comparison
    By(Comparator),
}

/// Reads the text form of a value: its type's modifier is applied as in an assignment.
pub type TextInput = fn(&mut dyn EvalContext, &str, SqlType) -> Result<Value>;
/// Reads the binary form of a value: its type's modifier is applied as in an assignment.
pub type BinaryInput = fn(&mut dyn EvalContext, &mut Reader<'_>, SqlType) -> Result<Value>;

/// A built-in type. [`super::type_rows`] has them all.
#[derive(Clone, Copy, Debug)]
pub struct TypeDef {
    /// Its number.
    pub oid: Oid,
    /// Its name in `pg_type`.
    pub name: &'static str,
    /// Its name in SQL if that is another one.
    pub sql_name: Option<&'static str>,
    /// Whether its name in SQL means a length of 1 if no length follows, so that the type without a length needs its name in `pg_type`.
    pub bare_name_means_one: bool,
    /// Bytes of a value; -1 for variable length, -2 for C strings.
    pub length: i16,
    /// Its category.
    pub category: Category,
    /// Whether it is its category's preferred type.
    pub is_preferred: bool,
    /// `pg_type.typbyval`
    pub by_value: bool,
    /// Its alignment.
    pub align: Align,
    /// `pg_type.typstorage`
    pub storage_letter: char,
    /// `pg_type.typcollation`: 100 is the default collation, 950 is "C".
    pub collation: Oid,
    /// The type of arrays of it, or none.
    pub array: Oid,
    /// For arrays, the type of the elements; also what `int2vector`, `oidvector` and `name` subscript to.
    pub element: Oid,
    /// Name of the input function; [`TypeDef::function_name`] derives the others from it.
    pub input: &'static str,
    /// Reads a text; none for arrays, and for types without values.
    pub text_input: Option<TextInput>,
    /// Reads the binary form; none for arrays, and for types without one.
    pub binary_input: Option<BinaryInput>,
    /// The work of its modifier, if it takes one.
    pub typmod: Option<&'static Typmod>,
    /// How its values are stored.
    pub stored: StorageKind,
    /// How its values are compared.
    pub order: Order,
    /// The type whose operators and operator class order it: itself, or a type that it is taken for.
    pub ordered_as: Oid,
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

    /// `pg_type.typtype`
    pub fn type_letter(&self) -> char {
        if self.is_pseudo() { 'p' } else { 'b' }
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
                    Some(base) if base.typmod.is_some() => format!("{}typmod{direction}", base.name),
                    _ => "-".to_owned(),
                }
            }
        }
    }

    fn has_no_binary_form(&self) -> bool {
        use oids::*;
        !matches!(self.oid, UNKNOWN | RECORD | CSTRING | ANYARRAY | VOID | ANYCOMPATIBLEARRAY)
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

struct Table {
    types: Vec<TypeDef>,
    /// By oid: index into `types` plus one; every built-in oid is below this table's length.
    by_oid: Vec<u16>,
}

/// The type of arrays of `element`.
fn array_of(element: &TypeDef) -> TypeDef {
    let is_of_records = element.oid == oids::RECORD;
    TypeDef {
        oid: element.array,
        name: String::leak(format!("_{}", element.name)),
        sql_name: None,
        bare_name_means_one: false,
        length: -1,
        category: if is_of_records { Category::Pseudo } else { Category::Array },
        is_preferred: false,
        by_value: false,
        align: if element.align == Align::Double { Align::Double } else { Align::Int },
        storage_letter: 'x',
        collation: element.collation,
        array: Oid::INVALID,
        element: element.oid,
        input: "array_in",
        text_input: None,
        binary_input: None,
        typmod: None,
        stored: StorageKind::Array(element.oid),
        order: Order::By(compare_values),
        ordered_as: oids::ANYARRAY,
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut types = Vec::with_capacity(type_rows::ROWS.len() * 2);
    for row in type_rows::ROWS {
        types.push(*row);
        types.extend((row.array != Oid::INVALID).then(|| array_of(row)));
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
        LazyLock::new(|| TABLE.types.iter().map(|ty| (ty.name, ty)).collect());
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
        return Some(TypeShape { kind, category: ty.category, preferred: ty.is_preferred, array: ty.array });
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
