//! Modules of a crate use lower floors of the crate only.
//!
//! A crate declares its inner floors by a table in its README: `| floor | module | does |`. The paths in the tokens of its sources, tests
//! aside, tell which module uses which. A use that runs upwards, or along a floor, fails. A module that is imported as a whole counts as
//! `self`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

type Failure = Box<dyn std::error::Error>;

/// The names that one module uses of another.
type Edges = BTreeMap<(String, String), BTreeSet<String>>;

/// The problems of all crates that declare inner floors; nothing, if all is well.
pub fn check(root: &Path) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for folder in std::fs::read_dir(root.join("crates"))? {
        let folder = folder?.path();
        let Ok(readme) = std::fs::read_to_string(folder.join("README.md")) else { continue };
        let floors = read_table(&readme);
        if !floors.is_empty() {
            check_crate(&folder, &floors, &mut problems)?;
        }
    }
    Ok(problems)
}

fn check_crate(folder: &Path, floors: &BTreeMap<String, u32>, problems: &mut Vec<String>) -> Result<(), Failure> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut edges = Edges::new();
    read_folder(&folder.join("src"), &mut Vec::new(), &mut edges)?;
    let modules: BTreeSet<&String> = edges.keys().flat_map(|(from, to)| [from, to]).collect();
    for module in modules.into_iter().filter(|module| !floors.contains_key(*module)) {
        problems.push(format!("crate {name}: its README's table of floors lacks module {module}"));
    }
    for ((from, to), uses) in &edges {
        let (Some(floor), Some(used_floor)) = (floors.get(from), floors.get(to)) else { continue };
        if used_floor < floor {
            continue;
        }
        for used in uses {
            problems.push(format!(
                "crate {name}: module {from} (floor {floor}) uses {to}::{used} (floor {used_floor}), which is not below it"
            ));
        }
    }
    Ok(())
}

/// Rows of the form `| 3 | `binder` | duty |` below a head that begins with `| floor | module |`.
fn read_table(readme: &str) -> BTreeMap<String, u32> {
    let mut floors = BTreeMap::new();
    let rows = readme.lines().skip_while(|line| !line.starts_with("| floor | module |"));
    for line in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let Some(floor) = cells[0].parse().ok() else { continue };
        for module in cells[1].split('`').skip(1).step_by(2) {
            floors.insert(module.to_owned(), floor);
        }
    }
    floors
}

fn read_folder(folder: &Path, module: &mut Vec<String>, edges: &mut Edges) -> Result<(), Failure> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name == "tests" || (module.is_empty() && name == "lib") {
            continue;
        }
        if path.is_dir() {
            module.push(name);
            read_folder(&path, module, edges)?;
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let own_name = (name != "mod").then_some(name);
            module.extend(own_name.clone());
            let tokens: TokenStream =
                std::fs::read_to_string(&path)?.parse().map_err(|error| format!("{}: {error}", path.display()))?;
            note_uses(tokens, module, edges);
            if own_name.is_some() {
                module.pop();
            }
        }
    }
    Ok(())
}

/// Notes each path of these tokens that leads to another module of the crate. Items under `#[cfg(test)]` are passed over.
fn note_uses(tokens: TokenStream, module: &[String], edges: &mut Edges) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at += item_length(&tokens[at..]);
            continue;
        }
        match &tokens[at] {
            TokenTree::Group(group) => note_uses(group.stream(), module, edges),
            TokenTree::Ident(first) if first == "crate" || first == "super" => {
                let mut path = Vec::new();
                at = read_path(&tokens, at, &mut path, &mut |path| note(path, module, edges));
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = tokens else { return false };
    hash.as_char() == '#' && attribute.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// The number of tokens of an item that begins with an attribute.
fn item_length(tokens: &[TokenTree]) -> usize {
    let end = tokens.iter().position(|token| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    });
    end.map_or(tokens.len(), |end| end + 1)
}

/// Reads a path, or a tree of paths in braces, from `at` on, and gives each to `found`. The result is the place behind it.
fn read_path(tokens: &[TokenTree], mut at: usize, path: &mut Vec<String>, found: &mut dyn FnMut(&[String])) -> usize {
    let length = path.len();
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => path.push(name.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let branches: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
                for branch in branches.split(is_comma).filter(|branch| !branch.is_empty()) {
                    read_path(branch, 0, path, found);
                }
                path.truncate(length);
                return at + 1;
            }
            _ => break,
        }
        at += 1;
        if !is_separator(&tokens[at..]) {
            break;
        }
        at += 2;
    }
    found(path);
    path.truncate(length);
    at
}

fn is_separator(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(first), TokenTree::Punct(second), ..] if first.as_char() == ':' && second.as_char() == ':')
}

fn note(path: &[String], module: &[String], edges: &mut Edges) {
    let levels = path.iter().take_while(|name| *name == "super").count();
    let from_root = path[0] == "crate" || levels == module.len();
    let path = &path[levels.max(1)..];
    let Some((to, names)) = path.split_first().filter(|(to, _)| from_root && *to != &module[0]) else { return };
    let used = if names.is_empty() { "self".to_owned() } else { names.join("::") };
    edges.entry((module[0].clone(), to.clone())).or_default().insert(used);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges_of(source: &str) -> Vec<String> {
        let mut edges = Edges::new();
        note_uses(source.parse().unwrap(), &["plan".to_owned(), "expr".to_owned()], &mut edges);
        edges.iter().flat_map(|((_, to), names)| names.iter().map(move |name| format!("{to}: {name}"))).collect()
    }

    #[test]
    fn uses_are_found_in_trees_in_code_and_in_macros() {
        let source = "use crate::binder::{Query, from::{self, Scope}}; use crate::types;
            fn f(x: &super::super::tree::Node) { g!(crate::parser::parse(x)); super::here(crate::plan::own()); }";
        assert_eq!(
            edges_of(source),
            [
                "binder: Query",
                "binder: from::Scope",
                "binder: from::self",
                "parser: parse",
                "tree: Node",
                "types: self"
            ]
        );
    }

    #[test]
    fn uses_of_tests_do_not_count() {
        assert_eq!(
            edges_of("#[cfg(test)] mod tests { use crate::session::Session; } fn f() { crate::tree::g() }"),
            ["tree: g"]
        );
        assert_eq!(edges_of("#[cfg(test)] use crate::session::Session; use crate::tree::g;"), ["tree: g"]);
    }

    #[test]
    fn the_table_is_read() {
        let floors = read_table(
            "x\n\n| floor | module | does |\n| --- | --- | --- |\n| 2 | `tree`, `client` | x |\n\n| 3 | `no` | y |\n",
        );
        assert_eq!(floors, [("client".to_owned(), 2), ("tree".to_owned(), 2)].into());
    }
}
