//! Crates use lower floors only.
//!
//! The table is read from ARCHITECTURE.md, so that what people read is what is enforced; the graph comes from
//! `cargo metadata`. Edges on one floor, or upwards, must be named in the table's last column.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

type Failure = Box<dyn std::error::Error>;

struct Floor {
    number: u32,
    /// Crates on the same floor that this one may use.
    may_use: Vec<String>,
}

/// Returns the problems found; none if the crates keep to their floors.
pub fn check(root: &Path) -> Result<Vec<String>, Failure> {
    let table = read_table(&std::fs::read_to_string(root.join("ARCHITECTURE.md"))?);
    let graph = read_graph(root)?;
    let mut problems = Vec::new();
    if table.is_empty() {
        problems.push("ARCHITECTURE.md has no table of floors".to_owned());
    }
    for name in graph.keys().filter(|name| !table.contains_key(*name) && *name != "xtask") {
        problems.push(format!("crate {name} is not in ARCHITECTURE.md's table of floors"));
    }
    for (name, floor) in &table {
        let Some(uses) = graph.get(name) else {
            problems.push(format!("ARCHITECTURE.md names crate {name}, which is not in the workspace"));
            continue;
        };
        for used in uses {
            let Some(used_floor) = table.get(used) else { continue };
            if used_floor.number >= floor.number && !floor.may_use.contains(used) {
                problems.push(format!(
                    "crate {name} (floor {}) uses {used} (floor {}), which is not below it and not named in the table",
                    floor.number, used_floor.number
                ));
            }
        }
        for allowed in floor.may_use.iter().filter(|allowed| !uses.contains(allowed)) {
            problems.push(format!("ARCHITECTURE.md lets {name} use {allowed}, which it does not"));
        }
    }
    Ok(problems)
}

/// Rows of the form `| 3 | `clog` | duty | may also use |`.
fn read_table(text: &str) -> BTreeMap<String, Floor> {
    let mut floors = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [number, name, _, also] = cells[..] else { continue };
        let Ok(number) = number.parse() else { continue };
        let names = |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
        for name in names(name) {
            floors.insert(name, Floor { number, may_use: names(also) });
        }
    }
    floors
}

/// The workspace's crates and what each uses, tests aside, by the names of their folders.
fn read_graph(root: &Path) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let mut graph = BTreeMap::new();
    for package in metadata["packages"].as_array().ok_or("cargo metadata names no packages")? {
        let name = package["name"].as_str().ok_or("a package without a name")?;
        let dependencies = package["dependencies"].as_array().ok_or("a package without dependencies")?;
        let uses = dependencies
            .iter()
            .filter(|dependency| dependency["path"].is_string() && dependency["kind"].is_null())
            .filter_map(|dependency| dependency["name"].as_str().map(folder_name))
            .collect();
        graph.insert(folder_name(name), uses);
    }
    Ok(graph)
}

fn folder_name(package: &str) -> String {
    package.strip_prefix("cohort-").unwrap_or(package).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_with_its_extra_edges() {
        let table = read_table(
            "| floor | crate | duty | may also use |\n| --- | --- | --- | --- |\n| 3 | `ssi` | x | `clog` |\n| 0 | `base` | y | |\n",
        );
        assert_eq!(table["ssi"].number, 3);
        assert_eq!(table["ssi"].may_use, ["clog"]);
        assert!(table["base"].may_use.is_empty());
    }
}
