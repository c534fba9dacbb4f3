//! Tables, whichever way they are shown.

use comfy_table::{CellAlignment, TableStyle, presets};

use super::results::Results;
use crate::experiment::{Comparison, Effect, Outcome};
use crate::plot::number;

/// A table.
pub struct Table {
    /// The columns' headings, and whether numbers are below them.
    pub columns: Vec<(String, bool)>,
    /// The rows, each with a text for each column.
    pub rows: Vec<Vec<String>>,
}

/// The text of a cell without a value.
const NONE: &str = "–";

fn optional(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), show)
}

/// A ratio, to two digits.
pub(super) fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

fn ratio_range(from: Option<f64>, to: Option<f64>) -> String {
    match (from, to) {
        (Some(from), Some(to)) => format!("{from:.2} to {to:.2}"),
        (from, _) => optional(from, ratio),
    }
}

/// A disk's name, with what it is said when it is not what the machine has.
pub(super) fn disk(name: &str, is_emulated: bool) -> String {
    if is_emulated { format!("{name} (emulated)") } else { name.to_owned() }
}

/// Milliseconds of microseconds.
pub(super) fn milliseconds(micros: u64) -> String {
    number(micros as f64 / 1000.0)
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Higher => "faster",
        Effect::Lower => "slower",
        Effect::Same => "within the noise",
    }
}

impl Table {
    /// A table with these columns, those with numbers marked by a `#` before their heading.
    pub fn new<'c>(columns: impl IntoIterator<Item = &'c str>) -> Table {
        let column = |name: &str| match name.strip_prefix('#') {
            Some(name) => (name.to_owned(), true),
            None => (name.to_owned(), false),
        };
        Table { columns: columns.into_iter().map(column).collect(), rows: Vec::new() }
    }

    /// The experiments, each in a row.
    pub(super) fn of_overview(results: &Results) -> Table {
        let mut table =
            Table::new(["experiment", "#ratio published", "#ratio here (rounds)", "verdict", "measured here"]);
        for outcome in &results.outcomes {
            let headline = outcome.comparisons.iter().find(|comparison| comparison.is_headline);
            let published = match headline {
                Some(headline) if headline.published_ratio.is_some() => {
                    ratio_range(headline.published_ratio, headline.published_ratio_up_to)
                }
                _ if outcome.published_figures.iter().all(|figure| figure.ratio.is_none()) => "curves only".to_owned(),
                _ => "other conditions".to_owned(),
            };
            let partial = if outcome.is_partial { " (stopped before its end)" } else { "" };
            table.rows.push(vec![
                outcome.experiment.clone(),
                published,
                headline.map_or_else(|| NONE.to_owned(), here),
                format!("{}{partial}", outcome.verdict_short),
                headline.map_or_else(|| NONE.to_owned(), conditions),
            ]);
        }
        for name in results.missing() {
            let none = || NONE.to_owned();
            table.rows.push(vec![name.to_owned(), none(), none(), "not run".to_owned(), none()]);
        }
        table
    }

    /// The table of the published figures.
    pub(super) fn of_published(outcome: &Outcome) -> Table {
        let mut table = Table::new(["published", "#before", "#after", "#ratio", "unit", "conditions"]);
        for figure in &outcome.published_figures {
            table.rows.push(vec![
                figure.what.clone(),
                optional(figure.before, number),
                optional(figure.after, number),
                ratio_range(figure.ratio, figure.ratio_up_to),
                figure.unit.clone(),
                figure.conditions.clone(),
            ]);
        }
        table
    }

    /// Before and after.
    pub(super) fn of_comparisons(outcome: &Outcome) -> Table {
        let has_shares = outcome.comparisons.iter().any(|comparison| comparison.before_share.is_some());
        let mut columns = vec!["workload", "disk", "#clients", "before", "after", "#before tps", "#after tps"];
        if has_shares {
            columns.extend(["#before, share", "#after, share"]);
        }
        columns.extend(["#ratio here (rounds)", "#ratio published", "after is"]);
        let mut table = Table::new(columns);
        for comparison in &outcome.comparisons {
            let mut row = vec![
                comparison.workload.clone(),
                disk(&comparison.disk, comparison.disk_is_emulated),
                comparison.clients.to_string(),
                comparison.before.clone(),
                comparison.after.clone(),
                number(comparison.before_tps),
                number(comparison.after_tps),
            ];
            if has_shares {
                row.extend([comparison.before_share, comparison.after_share].map(|share| optional(share, ratio)));
            }
            row.extend([
                here(comparison),
                ratio_range(comparison.published_ratio, comparison.published_ratio_up_to),
                effect(comparison.effect).to_owned(),
            ]);
            table.rows.push(row);
        }
        table
    }

    /// Every figure.
    pub(super) fn of_figures(outcome: &Outcome) -> Table {
        let has = |is: fn(&crate::experiment::Figure) -> bool| outcome.figures.iter().any(is);
        let has_aborts = has(|figure| figure.aborted_percent > 0.0);
        let has_overdue = has(|figure| figure.overdue_percent > 0.0);
        let has_syncs = has(|figure| figure.commits_per_sync.is_some());
        let has_latch = has(|figure| figure.clog_latch.is_some());
        let mut columns = vec!["workload", "disk", "#clients", "configuration", "#tps", "#lowest to highest", "#ratio"];
        columns.extend(["#p50 ms", "#p90 ms", "#p99 ms", "#p99.9 ms", "#max ms"]);
        columns.extend(has_syncs.then_some("#commits a sync"));
        columns.extend(has_overdue.then_some("#overdue %"));
        columns.extend(has_aborts.then_some("#aborts %"));
        if has_latch {
            columns.extend(["#latch a tx", "#sleeps a 1,000 tx", "#group"]);
        }
        let mut table = Table::new(columns);
        for figure in &outcome.figures {
            let mut row = vec![
                figure.workload.clone(),
                disk(&figure.disk, figure.disk_is_emulated),
                figure.clients.to_string(),
                figure.configuration.clone(),
                number(figure.tps),
                format!("{} to {}", number(figure.tps_lowest), number(figure.tps_highest)),
                optional(figure.ratio, ratio),
            ];
            row.extend(figure.latency_us.named().map(|(_, micros)| milliseconds(micros)));
            row.extend(has_syncs.then(|| optional(figure.commits_per_sync, number)));
            row.extend(has_overdue.then(|| number(figure.overdue_percent)));
            row.extend(has_aborts.then(|| number(figure.aborted_percent)));
            if has_latch {
                let latch = figure.clog_latch;
                row.extend([
                    optional(latch.map(|latch| latch.exclusive), |count| format!("{count:.3}")),
                    optional(latch.map(|latch| 1000.0 * latch.blocked), number),
                    optional(latch.and_then(|latch| latch.group_size), ratio),
                ]);
            }
            table.rows.push(row);
        }
        table
    }

    fn drawn(&self, style: TableStyle, cell: impl Fn(&str) -> String) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(style).set_header(self.columns.iter().map(|(name, _)| cell(name)));
        for row in &self.rows {
            table.add_row(row.iter().map(|text| cell(text)));
        }
        for (column, (_, is_number)) in table.column_iter_mut().zip(&self.columns) {
            column.set_cell_alignment(if *is_number { CellAlignment::Right } else { CellAlignment::Left });
        }
        table.trim_fmt()
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        self.drawn(presets::NOTHING, str::to_owned)
    }

    /// In Markdown.
    pub fn markdown(&self) -> String {
        self.drawn(presets::ASCII_MARKDOWN, markdown_text)
    }
}

/// A text that means nothing else in Markdown, and stays on its line.
pub(super) fn markdown_text(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => escaped.push(' '),
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => escaped.extend(['\\', letter]),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// A comparison's ratio with the rounds' spread.
fn here(comparison: &Comparison) -> String {
    format!("{:.2} ({:.2} to {:.2})", comparison.ratio, comparison.ratio_lowest, comparison.ratio_highest)
}

/// Under which conditions a comparison was measured.
fn conditions(comparison: &Comparison) -> String {
    format!(
        "{}, {} clients, {} disk: {}, then {}",
        comparison.workload,
        comparison.clients,
        disk(&comparison.disk, comparison.disk_is_emulated),
        comparison.before,
        comparison.after
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_the_same_in_text_and_in_markdown() {
        let mut table = Table::new(["name", "#tps"]);
        table.rows.push(vec!["a|b <c>".to_owned(), "1,000".to_owned()]);
        assert_eq!(table.markdown(), "| name        |   tps |\n|-------------|-------|\n| a\\|b &lt;c> | 1,000 |");
        let text = table.text();
        assert!(text.contains("a|b <c>") && text.contains("1,000"), "{text}");
    }
}
