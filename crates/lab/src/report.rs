//! The outcomes of experiments, for people and for programs: `index.html`, `report.md` and `results.json`, and a table in the terminal.

mod charts;
mod facts;
mod html;
mod machine;
mod markdown;
mod results;
mod table;

use std::io::Write;
use std::path::Path;

use base::{Error, Result};

use crate::experiment::Outcome;

pub use html::page;
pub use machine::{Machine, MachineDisk};
pub use markdown::page as markdown_page;
pub use results::{FORMAT, Results, RunOptions};
pub use table::Table;

/// The files of a report, in its folder.
pub const FILES: [&str; 3] = ["index.html", "report.md", "results.json"];

/// Writes the report into `folder`, which is made if it is missing. Each file is whole whenever this is interrupted: the old one or the new.
///
/// # Errors
/// When the folder can't be written to.
pub fn write(folder: &Path, results: &Results) -> Result<()> {
    let io = |path: &Path, error: &std::io::Error| Error::io(format!("could not write \"{}\"", path.display()), error);
    std::fs::create_dir_all(folder).map_err(|error| io(folder, &error))?;
    let texts = [page(results), markdown_page(results), results.to_json()?];
    for (name, text) in FILES.into_iter().zip(texts) {
        let (path, new) = (folder.join(name), folder.join(format!(".{name}.new")));
        std::fs::File::create(&new)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| std::fs::rename(&new, &path))
            .map_err(|error| io(&path, &error))?;
    }
    Ok(())
}

/// Prints an outcome as tables.
pub fn print(outcome: &Outcome) {
    println!("\n{}: {}", outcome.experiment, outcome.about);
    println!("Published: {}\n", outcome.published);
    println!("{}\n", Table::of_figures(outcome).text());
    println!("{}\n", Table::of_comparisons(outcome).text());
    println!("{}", outcome.verdict);
    if outcome.is_partial {
        println!("(Stopped before its end; what was done is kept.)");
    }
}
