//! Descriptors of the types that users make, and how these types are found by name.
//!
//! A type is a custom object of the class `pg_type` whose body is a [`TypeBody`].

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use schema::catalog::{Catalog, CustomDef, Object, class};
use serde::{Deserialize, Serialize};
use types::{RecordShape, SqlType};

/// The contents of a type's descriptor.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TypeBody {
    /// CREATE TYPE ... AS ENUM
    Enum {
        /// The labels in order, with the keys by which values are stored.
        labels: Vec<(i64, String)>,
        /// `COMMENT ON`.
        comment: Option<String>,
    },
    /// CREATE DOMAIN
    Domain {
        /// The type under it.
        base: SqlType,
        /// NOT NULL
        not_null: bool,
        /// DEFAULT, as SQL.
        default: Option<String>,
        /// The checks.
        checks: Vec<DomainCheck>,
        /// `COMMENT ON`.
        comment: Option<String>,
        /// COLLATE, where it is not the type's own one.
        #[serde(default)]
        collation: Option<Oid>,
    },
    /// CREATE TYPE ... AS (...)
    Composite {
        /// Names and types of the fields.
        fields: Vec<(String, SqlType)>,
        /// `COMMENT ON`.
        comment: Option<String>,
        /// `COMMENT ON COLUMN` of the fields, as far as the last one that has one.
        #[serde(default)]
        field_comments: Vec<Option<String>>,
        /// COLLATE of the fields, where it is not their types' own one, as far as the last one that has one.
        #[serde(default)]
        field_collations: Vec<Option<Oid>>,
        /// The fields' attribute numbers. Not written until the type is altered: then they are 1, 2, ...
        #[serde(default)]
        attributes: Vec<u32>,
        /// The highest number ever given; 0 if `attributes` are not written.
        #[serde(default)]
        last_attribute: u32,
    },
}

/// A check of a domain.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DomainCheck {
    /// The constraint's number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// A condition on `VALUE`, as SQL.
    pub expression: String,
    /// Whether all values that are stored are known to meet it: not so after NOT VALID.
    #[serde(default = "is_valid")]
    pub validated: bool,
}

fn is_valid() -> bool {
    true
}

impl TypeBody {
    /// The bytes of a descriptor.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a type's body has no map with other keys than texts")
    }

    /// Reads a descriptor.
    ///
    /// # Errors
    /// XX001 if it was not written by [`TypeBody::encode`].
    pub fn decode(bytes: &[u8]) -> Result<TypeBody> {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::corrupted(format!("a type's descriptor is damaged: {error}")))
    }

    /// `COMMENT ON`.
    pub fn comment(&self) -> Option<&str> {
        match self {
            TypeBody::Enum { comment, .. } | TypeBody::Domain { comment, .. } | TypeBody::Composite { comment, .. } => {
                comment.as_deref()
            }
        }
    }
}

/// The number of the array type of a user type.
pub fn array_of(oid: Oid) -> Oid {
    Oid(oid.0 | Oid::ARRAY_TYPE_BIT)
}

/// The element type, if this is an array type of a user type.
pub fn element_of_array(oid: Oid) -> Option<Oid> {
    (oid.0 & Oid::ARRAY_TYPE_BIT != 0).then_some(Oid(oid.0 & !Oid::ARRAY_TYPE_BIT))
}

/// The type called `name` in `schema` that is no array. Names of arrays give way to it.
pub fn plainly_named(catalog: &Catalog, schema: Oid, name: &str) -> Option<Oid> {
    let custom = catalog.custom_by_name(class::TYPE, schema, name).map(|custom| custom.oid);
    custom.or_else(|| catalog.table_by_name(schema, name).map(|table| table.oid))
}

/// A name without the underscores before it, and how many these are.
pub(super) fn without_underscores(name: &str) -> (&str, usize) {
    let bare = name.trim_start_matches('_');
    (bare, name.len() - bare.len())
}

/// The types of `schema` whose names are `bare` with underscores before it, in the order in which they were made, and how many
/// underscores the array over each has: one more than the type has itself, or the next number that no other type has.
pub(super) fn array_names(catalog: &Catalog, schema: Oid, bare: &str) -> Vec<(Oid, usize)> {
    let name_of = |underscores: usize| format!("{}{bare}", "_".repeat(underscores));
    let most = base::limits::NAME_MAX_BYTES.saturating_sub(bare.len());
    let mut types: Vec<(Oid, usize)> =
        (0..=most).filter_map(|count| Some((plainly_named(catalog, schema, &name_of(count))?, count))).collect();
    types.sort_unstable();
    let mut taken: Vec<usize> = types.iter().map(|(_, count)| *count).collect();
    let mut arrays = Vec::with_capacity(types.len());
    for (oid, count) in types {
        let mut free = count + 1;
        while taken.contains(&free) {
            free += 1;
        }
        taken.push(free);
        arrays.push((oid, free));
    }
    arrays
}

/// The name of the array type over `element`, a type called `name`.
pub fn array_name_of(catalog: &Catalog, element: Oid, name: &str) -> String {
    let first = format!("_{name}");
    let Some(schema) = catalog.object(element).map(Object::schema) else { return first };
    let (bare, count) = without_underscores(name);
    if count == 0 && plainly_named(catalog, schema, &first).is_none() {
        return first;
    }
    match array_names(catalog, schema, bare).into_iter().find(|(oid, _)| *oid == element) {
        Some((_, underscores)) => format!("{}{bare}", "_".repeat(underscores)),
        None => first,
    }
}

/// The composite type called `name` in `schema`: as a relation it has the type's own name and number.
pub fn composite_named<'c>(catalog: &'c Catalog, schema: Oid, name: &str) -> Option<&'c Arc<CustomDef>> {
    catalog.custom_by_name(class::TYPE, schema, name).filter(|def| composite_fields(def).is_some())
}

/// The attribute numbers of so many fields, of which `written` are in the type's descriptor.
pub fn attribute_numbers(written: Vec<u32>, fields: usize) -> Vec<u32> {
    if written.is_empty() { (1..=fields as u32).collect() } else { written }
}

/// The shape of a composite type's rows; nothing if it is another type.
pub fn composite_shape(def: &CustomDef) -> Option<RecordShape> {
    match TypeBody::decode(&def.body) {
        Ok(TypeBody::Composite { fields, attributes, .. }) if def.class == class::TYPE => {
            let attributes = attribute_numbers(attributes, fields.len());
            Some(RecordShape { type_oid: def.oid, fields, attributes })
        }
        _ => None,
    }
}

/// The fields of a composite type; nothing if it is another type.
pub fn composite_fields(def: &CustomDef) -> Option<Vec<(String, SqlType)>> {
    composite_shape(def).map(|shape| shape.fields)
}

/// The collations of a composite type's fields, where they are not their types' own ones.
pub fn field_collations(def: &CustomDef) -> Vec<Option<Oid>> {
    match TypeBody::decode(&def.body) {
        Ok(TypeBody::Composite { field_collations, .. }) => field_collations,
        _ => Vec::new(),
    }
}

/// The name of a domain's check.
pub fn check_name(catalog: &Catalog, domain: Oid, check: Oid) -> Option<String> {
    let Some(Object::Custom(def)) = catalog.object(domain) else { return None };
    match TypeBody::decode(&def.body) {
        Ok(TypeBody::Domain { checks, .. }) => {
            checks.into_iter().find(|other| other.oid == check).map(|found| found.name)
        }
        _ => None,
    }
}

/// Whether a relation of `schema`, composite types among them, is called `name`.
pub fn relation_name_is_taken(catalog: &Catalog, schema: Oid, name: &str) -> bool {
    catalog.relation_by_name(schema, name).is_some() || composite_named(catalog, schema, name).is_some()
}

/// 42809 where rows are wanted of a composite type.
pub fn is_composite_type(name: &str) -> Error {
    Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is a composite type"))
}

/// The numbers of all user types but arrays, in order.
pub fn all(catalog: &Catalog) -> Vec<Oid> {
    let mut all: Vec<Oid> =
        catalog.tables().map(|table| table.oid).chain(catalog.customs(class::TYPE).map(|custom| custom.oid)).collect();
    all.sort();
    all
}

/// A domain's check by the constraint's number, and what the domain is over.
pub fn check_by_number(catalog: &Catalog, constraint: Oid) -> Option<(DomainCheck, SqlType)> {
    catalog.customs(class::TYPE).find_map(|custom| match TypeBody::decode(&custom.body) {
        Ok(TypeBody::Domain { base, checks, .. }) => {
            checks.into_iter().find(|check| check.oid == constraint).map(|check| (check, base))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::oids;

    #[test]
    fn a_descriptor_is_read_back_as_it_was_written() {
        let body = TypeBody::Domain {
            base: SqlType::with_typmod(oids::VARCHAR, 14),
            not_null: true,
            default: Some("'x'::text".to_owned()),
            checks: vec![DomainCheck {
                oid: Oid(7),
                name: "c".to_owned(),
                expression: "VALUE <> ''".to_owned(),
                validated: true,
            }],
            comment: None,
            collation: Some(Oid(950)),
        };
        assert_eq!(TypeBody::decode(&body.encode()).unwrap(), body);
        assert_eq!(TypeBody::decode(b"{").unwrap_err().sqlstate(), sqlstate::DATA_CORRUPTED);
    }

    #[test]
    fn an_array_types_number_leads_back_to_its_element() {
        assert_eq!(element_of_array(array_of(Oid(16_400))), Some(Oid(16_400)));
        assert_eq!(element_of_array(Oid(16_400)), None);
    }
}
