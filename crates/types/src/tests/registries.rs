//! The tables of types, functions, operators and casts agree with each other.

use std::collections::HashSet;

use base::Oid;

use crate::cast::{CastMethod, casts};
use crate::function_def::Implementation;
use crate::*;

#[test]
fn every_number_names_one_function_or_aggregate() {
    let mut seen = HashSet::new();
    for oid in functions().map(|def| def.oid).chain(aggregates().map(|def| def.oid)) {
        assert!(seen.insert(oid), "{oid} is there twice");
    }
    let mut signatures = HashSet::new();
    for (name, arguments) in
        functions().map(|def| (def.name, def.arguments)).chain(aggregates().map(|def| (def.name, def.arguments)))
    {
        assert!(signatures.insert((name, arguments)), "{name}({arguments:?}) is there twice");
    }
}

#[test]
fn every_operator_has_its_function_and_its_counterparts() {
    let mut seen = HashSet::new();
    for def in operators() {
        assert!(seen.insert(def.oid), "operator {} is there twice", def.oid);
        let function = function(def.function).unwrap_or_else(|| panic!("no function for operator {def:?}"));
        let operands: Vec<Oid> = [def.left, def.right].into_iter().filter(|oid| *oid != Oid::INVALID).collect();
        assert_eq!(function.arguments, operands, "{def:?}");
        assert_eq!(function.result, def.result, "{def:?}");
        if let Some(commutator) = operator(def.commutator) {
            assert_eq!((commutator.left, commutator.right), (def.right, def.left), "{def:?}");
        }
        if let Some(negator) = operator(def.negator) {
            assert_eq!((negator.left, negator.right, negator.negator), (def.left, def.right, def.oid), "{def:?}");
        }
    }
}

#[test]
fn every_cast_has_its_function() {
    for cast in casts() {
        if let CastMethod::Function(oid) = cast.method {
            let function = function(oid).unwrap_or_else(|| panic!("no function for cast {cast:?}"));
            if cast.source != cast.target {
                assert!(Cast::explicit(&BuiltinCatalog, cast.source.into(), cast.target.into()).is_ok(), "{cast:?}");
            }
            assert!(matches!(function.implementation, Implementation::Plain(_)), "{cast:?}");
        }
    }
}

#[test]
fn every_type_that_functions_mention_is_known() {
    for def in functions() {
        for oid in def.arguments.iter().chain([&def.result]) {
            assert!(builtin_type(*oid).is_some(), "{def:?} mentions type {oid}");
        }
        assert!(def.defaults.len() <= def.arguments.len(), "{def:?}");
        assert!(def.argument_names.is_empty() || def.argument_names.len() == def.arguments.len(), "{def:?}");
    }
    for ty in builtin_types() {
        if ty.array != Oid::INVALID {
            assert_eq!(builtin_type(ty.array).map(|array| array.element), Some(ty.oid), "{}", ty.name);
        }
    }
}
