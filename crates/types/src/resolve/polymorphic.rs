//! Actual types for `anyelement`, `anyarray`, `anycompatible` and their kin.

use base::{Error, Oid, Result, sqlstate};
use smallvec::SmallVec;

use super::common_oid;
use crate::cast::{CastContext, can_cast};
use crate::context::CatalogLookup;
use crate::oids;
use crate::type_name::format_type_name;
use crate::type_table::{TypeKind, array_type, base_type, type_shape};

/// The form of type that a polymorphic pseudo-type asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A value of the element type
    Element,
    /// An array of it
    Array,
}

/// Whether the type is one of the family where all must be alike.
fn strict_role(oid: Oid) -> Option<Role> {
    match oid {
        oids::ANYELEMENT | oids::ANYNONARRAY | oids::ANYENUM => Some(Role::Element),
        oids::ANYARRAY => Some(Role::Array),
        _ => None,
    }
}

/// Whether the type is one of the family that takes a common type.
fn compatible_role(oid: Oid) -> Option<Role> {
    match oid {
        oids::ANYCOMPATIBLE | oids::ANYCOMPATIBLENONARRAY => Some(Role::Element),
        oids::ANYCOMPATIBLEARRAY => Some(Role::Array),
        _ => None,
    }
}

/// Whether the type stands for an actual one.
pub fn is_polymorphic(oid: Oid) -> bool {
    strict_role(oid).is_some() || compatible_role(oid).is_some()
}

/// The element type of what counts as an array here: `int2vector` and `oidvector` do, and domains over arrays.
fn array_element(catalog: &dyn CatalogLookup, oid: Oid) -> Option<Oid> {
    let base = base_type(catalog, oid.into()).oid;
    match base {
        oids::INT2VECTOR => Some(oids::INT2),
        oids::OIDVECTOR => Some(oids::OID),
        _ => match type_shape(catalog, base)?.kind {
            TypeKind::Array(element) => Some(element),
            _ => None,
        },
    }
}

fn is_domain_over_array(catalog: &dyn CatalogLookup, oid: Oid) -> bool {
    let base = base_type(catalog, oid.into()).oid;
    base != oid && matches!(type_shape(catalog, base), Some(shape) if matches!(shape.kind, TypeKind::Array(_)))
}

/// The element type and, as far as it is known, the array type of each family.
#[derive(Default)]
struct Found {
    element: Option<Oid>,
    array: Option<Oid>,
    compatible: Option<Oid>,
}

enum Mismatch {
    NotAlike(&'static str, Oid, Oid),
    NotAnArray(Oid, Oid),
    NotCompatible(Oid, Oid),
    ArrayForNonArray(Oid),
    NotAnEnum(Oid),
}

fn analyze(catalog: &dyn CatalogLookup, given: &[Oid], declared: &[Oid]) -> Result<Found, Mismatch> {
    let mut found = Found::default();
    let mut compatible: SmallVec<[Oid; 4]> = SmallVec::new();
    let mut has_compatible = false;
    for (actual, declared) in given.iter().zip(declared) {
        if compatible_role(*declared).is_some() {
            has_compatible = true;
        }
        if *actual == oids::UNKNOWN {
            continue;
        }
        match strict_role(*declared) {
            Some(Role::Element) => match found.element {
                Some(element) if element != *actual => {
                    return Err(Mismatch::NotAlike("anyelement", element, *actual));
                }
                _ => found.element = Some(*actual),
            },
            Some(Role::Array) => {
                if array_element(catalog, *actual).is_none() {
                    return Err(Mismatch::NotAnArray(*declared, *actual));
                }
                let actual = base_type(catalog, (*actual).into()).oid;
                match found.array {
                    Some(array) if array != actual => return Err(Mismatch::NotAlike("anyarray", array, actual)),
                    _ => found.array = Some(actual),
                }
            }
            None => {}
        }
        match compatible_role(*declared) {
            Some(Role::Element) => compatible.push(*actual),
            Some(Role::Array) => match array_element(catalog, *actual) {
                Some(element) => compatible.push(element),
                None => return Err(Mismatch::NotAnArray(*declared, *actual)),
            },
            None => {}
        }
    }
    if let Some(array) = found.array {
        let element = array_element(catalog, array).unwrap_or(oids::UNKNOWN);
        match found.element {
            Some(own) if own != element => return Err(Mismatch::NotAlike("anyarray and anyelement", array, own)),
            _ => found.element = Some(element),
        }
    }
    if has_compatible {
        let common = common_oid(catalog, &compatible).map_err(|(l, r)| Mismatch::NotCompatible(l, r))?;
        for oid in &compatible {
            if !can_cast(catalog, *oid, common, CastContext::Implicit) {
                return Err(Mismatch::NotCompatible(*oid, common));
            }
        }
        found.compatible = Some(common);
    }
    if let Some(element) = found.element {
        if declared.contains(&oids::ANYNONARRAY) && array_element(catalog, element).is_some() {
            return Err(Mismatch::ArrayForNonArray(element));
        }
        let is_enum = || type_shape(catalog, element).is_some_and(|shape| shape.kind == TypeKind::Enum);
        if declared.contains(&oids::ANYENUM) && !is_enum() {
            return Err(Mismatch::NotAnEnum(element));
        }
    }
    if let Some(common) = found.compatible
        && declared.contains(&oids::ANYCOMPATIBLENONARRAY)
        && array_element(catalog, common).is_some()
    {
        return Err(Mismatch::ArrayForNonArray(common));
    }
    Ok(found)
}

/// Whether the arguments' types go together under the declaration's polymorphic types.
pub(super) fn is_consistent(catalog: &dyn CatalogLookup, given: &[Oid], declared: &[Oid]) -> bool {
    !declared.iter().any(|oid| is_polymorphic(*oid)) || analyze(catalog, given, declared).is_ok()
}

/// The actual types of arguments and result for a declaration: polymorphic ones replaced by what the arguments are.
///
/// Errors: 42804 `arguments declared "anyelement" are not all alike`, `could not determine polymorphic type because
/// input has type unknown`.
pub fn resolve_polymorphic(
    catalog: &dyn CatalogLookup,
    given: &[Oid],
    declared: &[Oid],
    result: Oid,
) -> Result<(SmallVec<[Oid; 4]>, Oid)> {
    if !declared.iter().any(|oid| is_polymorphic(*oid)) {
        return Ok((SmallVec::from_slice(declared), result));
    }
    let mut found = analyze(catalog, given, declared).map_err(|mismatch| mismatch.into_error(catalog))?;
    let needs_strict = declared.iter().any(|oid| strict_role(*oid).is_some());
    if needs_strict && found.element.is_none() {
        return Err(Error::new(
            sqlstate::DATATYPE_MISMATCH,
            "could not determine polymorphic type because input has type unknown",
        ));
    }
    let no_array = |element: Oid| {
        Error::new(
            sqlstate::UNDEFINED_OBJECT,
            format!("could not find array type for data type {}", format_type_name(catalog, element)),
        )
    };
    let needs_array =
        |roles: fn(Oid) -> Option<Role>| declared.iter().chain([&result]).any(|oid| roles(*oid) == Some(Role::Array));
    if needs_array(strict_role)
        && found.array.is_none()
        && let Some(element) = found.element
    {
        found.array = Some(array_type(catalog, element).ok_or_else(|| no_array(element))?);
    }
    let mut compatible_array = None;
    if needs_array(compatible_role)
        && let Some(common) = found.compatible
    {
        compatible_array = Some(array_type(catalog, common).ok_or_else(|| no_array(common))?);
    }
    let replace = |oid: Oid| match (strict_role(oid), compatible_role(oid)) {
        (Some(Role::Element), _) => found.element.unwrap_or(oid),
        (Some(Role::Array), _) => found.array.unwrap_or(oid),
        (_, Some(Role::Element)) => found.compatible.unwrap_or(oid),
        (_, Some(Role::Array)) => compatible_array.unwrap_or(oid),
        _ => oid,
    };
    // an argument that is a domain over an array is taken as the array, and another domain stays what it is
    let actual = declared
        .iter()
        .zip(given)
        .map(|(declared, given)| match strict_role(*declared) {
            Some(Role::Array) if is_domain_over_array(catalog, *given) => base_type(catalog, (*given).into()).oid,
            Some(_) if *given != oids::UNKNOWN => *given,
            _ => replace(*declared),
        })
        .collect();
    Ok((actual, replace(result)))
}

impl Mismatch {
    #[cold]
    fn into_error(self, catalog: &dyn CatalogLookup) -> Error {
        let name = |oid: Oid| format_type_name(catalog, oid);
        let error = |message: String| Error::new(sqlstate::DATATYPE_MISMATCH, message);
        match self {
            Mismatch::NotAlike("anyarray and anyelement", first, second) => {
                error("argument declared anyarray is not consistent with argument declared anyelement".to_owned())
                    .detail(format!("{} versus {}", name(first), name(second)))
            }
            Mismatch::NotAlike(declared, first, second) => error(format!(
                "arguments declared \"{declared}\" are not all alike"
            ))
            .detail(format!("{} versus {}", name(first), name(second))),
            Mismatch::NotAnArray(declared, actual) => {
                error(format!("argument declared {} is not an array but type {}", name(declared), name(actual)))
            }
            Mismatch::NotCompatible(first, second) => error(format!(
                "arguments of anycompatible family cannot be cast to a common type: {} and {}",
                name(first),
                name(second)
            )),
            Mismatch::ArrayForNonArray(actual) => {
                error(format!("type matched to anynonarray is an array type: {}", name(actual)))
            }
            Mismatch::NotAnEnum(actual) => {
                error(format!("type matched to anyenum is not an enum type: {}", name(actual)))
            }
        }
    }
}
