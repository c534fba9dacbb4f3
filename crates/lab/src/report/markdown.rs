//! The report as Markdown, for pasting.

use std::fmt::Write;

use super::facts;
use super::results::Results;
use super::table::{Table, markdown_text};

/// The report.
pub fn page(results: &Results) -> String {
    let mut text = String::new();
    write_page(results, &mut text).expect("a string can be written to");
    text
}

fn write_page(results: &Results, text: &mut String) -> std::fmt::Result {
    writeln!(text, "# The commit path's experiments\n")?;
    if let Some(partial) = facts::partial(results) {
        writeln!(text, "**{}**\n", markdown_text(&partial))?;
    }
    writeln!(text, "{}\n\n{}\n", Table::of_overview(results).markdown(), facts::METHOD)?;
    for outcome in &results.outcomes {
        let paragraph = |words: &str| format!("{}\n\n", markdown_text(words));
        writeln!(text, "## {}\n", markdown_text(&outcome.experiment))?;
        text.push_str(&paragraph(&outcome.about));
        if outcome.is_partial {
            writeln!(text, "**This experiment was stopped before its end; what was done is kept.**\n")?;
        }
        writeln!(
            text,
            "**Verdict: {}.** {}\n",
            markdown_text(&outcome.verdict_short),
            markdown_text(&outcome.verdict)
        )?;
        writeln!(
            text,
            "### Published\n\n{}{}\n",
            paragraph(&outcome.published),
            Table::of_published(outcome).markdown()
        )?;
        writeln!(text, "### Before and after, here\n")?;
        for disk in facts::disks(results, outcome) {
            writeln!(text, "- {}", markdown_text(&disk))?;
        }
        writeln!(text, "\n{}\n", Table::of_comparisons(outcome).markdown())?;
        writeln!(text, "### All figures\n\n{}\n", Table::of_figures(outcome).markdown())?;
    }
    writeln!(text, "## The machine and the run\n")?;
    for (name, fact) in facts::of_run(results) {
        writeln!(text, "- {name}: {}", markdown_text(&fact))?;
    }
    Ok(())
}
