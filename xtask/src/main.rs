//! Chores of the workspace: `cargo xtask floors`, `cargo xtask links`, `cargo xtask prose`.

mod floors;
mod inner_floors;
mod links;
mod prose;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace's folder");
    let command = std::env::args().nth(1);
    let problems = match command.as_deref() {
        Some("floors") => floors::check(root).and_then(|mut problems| {
            problems.extend(inner_floors::check(root)?);
            Ok(problems)
        }),
        Some("links") => links::check(root),
        Some("prose") => {
            std::env::args().nth(2).map_or_else(|| prose::check(root), |path| prose::check(Path::new(&path)))
        }
        _ => {
            eprintln!(
                "usage: cargo xtask floors    crates use only lower floors, as ARCHITECTURE.md says; modules, too, as their crate's README says"
            );
            eprintln!(
                "       cargo xtask links     every link, the names in links to code, every crate's README are there"
            );
            eprintln!(
                "       cargo xtask prose     sentences name their subject and are not too long; a path: only below it"
            );
            return ExitCode::FAILURE;
        }
    };
    match problems {
        Ok(problems) if problems.is_empty() => {
            println!("{}: nothing to complain of", command.unwrap_or_default());
            ExitCode::SUCCESS
        }
        Ok(problems) => {
            for problem in &problems {
                eprintln!("{problem}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
