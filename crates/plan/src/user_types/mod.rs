//! Types that users make: enums, domains, composite types, and the row types of tables.
//!
//! A table's row type has the table's number. The others are custom objects of the class `pg_type` whose body is a
//! [`TypeBody`]. The array type of any of them has the same number with the highest bit set, and no object of its own.

mod descriptor;

use std::cell::RefCell;
use std::sync::Arc;

use base::{Oid, Result};
use descriptor::{array_names, without_underscores};
use rustc_hash::FxHashMap;
use schema::catalog::{Catalog, CustomDef, Object, TableDef, class};
use types::context::{EnumLabel, UserTypeKind};
use types::{RecordShape, UserType};

use super::CatalogView;
pub use descriptor::{
    DomainCheck, TypeBody, all, array_name_of, array_of, attribute_numbers, check_by_number, check_name,
    composite_fields, composite_named, composite_shape, element_of_array, field_collations, is_composite_type,
    plainly_named, relation_name_is_taken,
};

/// A type, with the facts about it that only the catalogs show.
pub struct Described {
    /// The part that resolution and input use.
    pub user_type: Arc<UserType>,
    /// Its schema.
    pub schema: Oid,
    /// Its owner.
    pub owner: Oid,
    /// The table whose rows it describes.
    pub relation: Oid,
    /// For a domain: NOT NULL.
    pub not_null: bool,
    /// For a domain: DEFAULT.
    pub default: Option<String>,
    /// For a domain: COLLATE, where it is not its base type's own one.
    pub collation: Option<Oid>,
}

/// The descriptor that a type was made from. The cache is good as long as it is the same.
#[derive(Clone)]
enum Source {
    Table(Arc<TableDef>),
    Custom(Arc<CustomDef>),
}

impl Source {
    fn is_same(&self, other: &Source) -> bool {
        match (self, other) {
            (Source::Table(a), Source::Table(b)) => Arc::ptr_eq(a, b),
            (Source::Custom(a), Source::Custom(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    fn schema(&self) -> Oid {
        match self {
            Source::Table(table) => table.schema,
            Source::Custom(custom) => custom.schema,
        }
    }
}

/// Types kept by a thread.
const CACHED_MAX: usize = 1024;

thread_local! {
    static CACHE: RefCell<FxHashMap<Oid, (Source, Arc<UserType>)>> = RefCell::default();
}

fn source(catalog: &Catalog, oid: Oid) -> Option<Source> {
    match catalog.object(oid)? {
        Object::Table(table) => Some(Source::Table(Arc::clone(table))),
        Object::Custom(custom) if custom.class == class::TYPE => Some(Source::Custom(Arc::clone(custom))),
        _ => None,
    }
}

fn describe(view: &CatalogView, oid: Oid, source: &Source) -> Option<UserType> {
    match source {
        Source::Table(table) => Some(UserType {
            oid,
            name: table.name.clone(),
            schema: view.schema_name(table.schema),
            array: array_of(oid),
            kind: UserTypeKind::Composite(RecordShape::of_table(table)),
        }),
        Source::Custom(custom) => {
            let kind = match TypeBody::decode(&custom.body).ok()? {
                TypeBody::Enum { labels, .. } => {
                    UserTypeKind::Enum(labels.into_iter().map(|(key, label)| EnumLabel { key, label }).collect())
                }
                TypeBody::Domain { base, .. } => UserTypeKind::Domain(base),
                TypeBody::Composite { .. } => UserTypeKind::Composite(Arc::new(descriptor::composite_shape(custom)?)),
            };
            let schema = view.schema_name(custom.schema);
            Some(UserType { oid, name: custom.name.clone(), schema, array: array_of(oid), kind })
        }
    }
}

/// The type with this number.
pub fn by_oid(view: &CatalogView, oid: Oid) -> Option<Arc<UserType>> {
    if let Some(element) = element_of_array(oid) {
        let element = by_oid(view, element)?;
        return Some(Arc::new(UserType {
            oid,
            name: array_name_of(view.catalog(), element.oid, &element.name),
            schema: element.schema.clone(),
            array: Oid::INVALID,
            kind: UserTypeKind::Array(element.oid),
        }));
    }
    let source = source(view.catalog(), oid)?;
    let is_in = |schema: &str| view.catalog().schema(source.schema()).is_none_or(|found| found.name == schema);
    let cached = CACHE.with_borrow(|cache| {
        let known = cache.get(&oid).filter(|(known, user_type)| known.is_same(&source) && is_in(&user_type.schema));
        known.map(|(_, user_type)| Arc::clone(user_type))
    });
    if cached.is_some() {
        return cached;
    }
    let user_type = Arc::new(describe(view, oid, &source)?);
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= CACHED_MAX {
            cache.clear();
        }
        cache.insert(oid, (source, Arc::clone(&user_type)));
    });
    Some(user_type)
}

/// The type called `name` in `schema`.
pub fn named(view: &CatalogView, schema: Oid, name: &str) -> Option<Oid> {
    let catalog = view.catalog();
    plainly_named(catalog, schema, name).or_else(|| {
        let (bare, count) = without_underscores(name);
        let arrays = if count > 0 { array_names(catalog, schema, bare) } else { Vec::new() };
        arrays.into_iter().find(|(_, underscores)| *underscores == count).map(|(element, _)| array_of(element))
    })
}

/// A type with its schema and owner.
pub fn described(view: &CatalogView, oid: Oid) -> Option<Described> {
    let user_type = by_oid(view, oid)?;
    match source(view.catalog(), oid)? {
        Source::Table(table) => Some(Described {
            user_type,
            schema: table.schema,
            owner: table.owner,
            relation: oid,
            not_null: false,
            default: None,
            collation: None,
        }),
        Source::Custom(custom) => {
            let (not_null, default, collation) = match TypeBody::decode(&custom.body).ok()? {
                TypeBody::Domain { not_null, default, collation, .. } => (not_null, default, collation),
                _ => (false, None, None),
            };
            let (schema, owner) = (custom.schema, custom.owner);
            Some(Described { user_type, schema, owner, relation: Oid::INVALID, not_null, default, collation })
        }
    }
}

/// The collation that a column of this type has without being told.
pub fn collation_of(view: &CatalogView, oid: Oid) -> Oid {
    let said = described(view, oid).and_then(|domain| domain.collation);
    said.unwrap_or_else(|| match by_oid(view, oid).map(|found| found.kind.clone()) {
        Some(UserTypeKind::Domain(base)) => collation_of(view, base.oid),
        Some(UserTypeKind::Array(element)) => collation_of(view, element),
        _ => types::collation::of_type(view, oid),
    })
}

/// The default that a column of this domain has if it has none of its own. A domain takes its base's default when it is created.
pub fn domain_default(view: &CatalogView, domain: Oid) -> Option<String> {
    let Some(Object::Custom(custom)) = view.catalog().object(domain) else { return None };
    match TypeBody::decode(&custom.body).ok()? {
        TypeBody::Domain { default, .. } => default,
        _ => None,
    }
}

/// Whether a domain takes every value of its base type, NULL too, and gives columns no default.
///
/// # Errors
/// Those of reading the descriptors.
pub fn restricts_nothing(view: &CatalogView, domain: Oid) -> Result<bool> {
    let mut next = domain;
    while let Some(Object::Custom(custom)) = view.catalog().object(next) {
        let TypeBody::Domain { base, not_null, default, checks, .. } = TypeBody::decode(&custom.body)? else { break };
        if not_null || default.is_some() || !checks.is_empty() {
            return Ok(false);
        }
        next = base.oid;
    }
    Ok(true)
}
