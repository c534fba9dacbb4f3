//! Choosing among several signatures that might take the given arguments.

use base::Oid;
use smallvec::SmallVec;

use super::polymorphic::is_consistent;
use crate::cast::{CastContext, can_cast};
use crate::context::CatalogLookup;
use crate::oids;
use crate::type_table::{Category, SqlType, base_type, type_shape};

/// The declared types of a candidate, one for each argument given.
pub(super) type Signature = SmallVec<[Oid; 4]>;

/// The outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// This one.
    One(usize),
    /// None can take the arguments.
    None,
    /// Several can, and none is better than all others.
    Many,
}

/// Chooses the signature that arguments of these types mean: those that can take them at all, then by
/// [`narrow`].
pub(super) fn choose(catalog: &dyn CatalogLookup, given: &[Oid], signatures: &[Signature]) -> Choice {
    let fitting: Vec<usize> =
        (0..signatures.len()).filter(|index| takes(catalog, given, &signatures[*index])).collect();
    match fitting.as_slice() {
        [] => Choice::None,
        [only] => Choice::One(*only),
        _ => narrow(catalog, given, signatures, fitting).map_or(Choice::Many, Choice::One),
    }
}

/// Whether implicit casts bring all arguments to the signature's types.
fn takes(catalog: &dyn CatalogLookup, given: &[Oid], signature: &[Oid]) -> bool {
    given.iter().zip(signature).all(|(source, target)| can_cast(catalog, *source, *target, CastContext::Implicit))
        && is_consistent(catalog, given, signature)
}

/// Category of a type and whether it is the preferred one there.
fn category_of(catalog: &dyn CatalogLookup, oid: Oid) -> (Category, bool) {
    type_shape(catalog, oid).map_or((Category::User, false), |shape| (shape.category, shape.preferred))
}

/// Keeps the candidates with the highest score.
fn keep_best(candidates: Vec<usize>, score: impl Fn(usize) -> usize) -> Vec<usize> {
    let best = candidates.iter().map(|index| score(*index)).max().unwrap_or(0);
    candidates.into_iter().filter(|index| score(*index) == best).collect()
}

/// The rules, in order: most exact matches; most exact or preferred types; then, for literals, the category that
/// the candidates agree on (strings win) and its preferred type; then the type that all other arguments have.
fn narrow(
    catalog: &dyn CatalogLookup,
    given: &[Oid],
    signatures: &[Signature],
    mut candidates: Vec<usize>,
) -> Option<usize> {
    let bases: SmallVec<[Oid; 4]> = given
        .iter()
        .map(|oid| if *oid == oids::UNKNOWN { *oid } else { base_type(catalog, SqlType::new(*oid)).oid })
        .collect();
    let is_unknown = |slot: usize| given[slot] == oids::UNKNOWN;
    let known = || (0..given.len()).filter(|slot| !is_unknown(*slot));
    let unknown = || (0..given.len()).filter(|slot| is_unknown(*slot));

    candidates = keep_best(candidates, |index| known().filter(|slot| signatures[index][*slot] == bases[*slot]).count());
    if let [only] = candidates.as_slice() {
        return Some(*only);
    }
    candidates = keep_best(candidates, |index| {
        known()
            .filter(|slot| {
                let declared = signatures[index][*slot];
                let (category, _) = category_of(catalog, bases[*slot]);
                declared == bases[*slot] || category_of(catalog, declared) == (category, true)
            })
            .count()
    });
    if let [only] = candidates.as_slice() {
        return Some(*only);
    }
    // without literals there is nothing more to go by
    unknown().next()?;

    // what category does each literal have?
    let mut slots = Vec::new();
    for slot in unknown() {
        match literal_category(catalog, slot, signatures, &candidates) {
            Some((category, has_preferred)) => slots.push((slot, category, has_preferred)),
            None => {
                slots.clear();
                break;
            }
        }
    }
    if !slots.is_empty() {
        let fitting: Vec<usize> = candidates
            .iter()
            .copied()
            .filter(|index| {
                slots.iter().all(|(slot, category, has_preferred)| {
                    let (own, preferred) = category_of(catalog, signatures[*index][*slot]);
                    own == *category && (preferred || !has_preferred)
                })
            })
            .collect();
        if !fitting.is_empty() {
            candidates = fitting;
        }
        if let [only] = candidates.as_slice() {
            return Some(*only);
        }
    }

    // if all other arguments have one type, the literals are taken for that type too
    let mut known_types = known().map(|slot| bases[slot]);
    let shared = known_types.next()?;
    if known_types.any(|oid| oid != shared) {
        return None;
    }
    let assumed: SmallVec<[Oid; 4]> = given.iter().map(|_| shared).collect();
    let mut fitting = candidates.iter().filter(|index| takes(catalog, &assumed, &signatures[**index]));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Some(*only),
        _ => None,
    }
}

/// The category of a literal's slot, and whether a candidate has its preferred type there. `None`: they disagree.
fn literal_category(
    catalog: &dyn CatalogLookup,
    slot: usize,
    signatures: &[Signature],
    candidates: &[usize],
) -> Option<(Category, bool)> {
    let mut found: Option<(Category, bool)> = None;
    let mut conflict = false;
    for index in candidates {
        let (category, preferred) = category_of(catalog, signatures[*index][slot]);
        match &mut found {
            None => found = Some((category, preferred)),
            Some((own, has_preferred)) if *own == category => *has_preferred |= preferred,
            Some(own) if category == Category::String => *own = (category, preferred),
            Some(_) => conflict = true,
        }
    }
    found.filter(|(category, _)| !conflict || *category == Category::String)
}
