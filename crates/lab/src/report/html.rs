//! The report as a page that needs nothing but itself.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::charts::{self, Chart};
use super::facts;
use super::results::Results;
use super::table::Table;
use crate::experiment::Outcome;

/// The page.
pub fn page(results: &Results) -> String {
    let overview = charts::overview(results);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Nothing is fetched, whatever a text in here says.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:";
                // An icon of its own keeps browsers from asking for one.
                link rel="icon" href="data:,";
                title { "Cohort: the commit path's experiments" }
                style { (PreEscaped(include_str!("report.css"))) }
            }
            body {
                a.skip href="#overview" { "To the overview" }
                header {
                    h1 { "The commit path's experiments" }
                    p.lead {
                        "Five improvements of PostgreSQL's commit path, each switched back to “before” and on again in Cohort on this "
                        "machine, beside the figures that were published."
                    }
                    @if let Some(partial) = facts::partial(results) {
                        p.partial role="status" { (partial) }
                    }
                }
                main {
                    section #overview aria-labelledby="overview-title" {
                        h2 #overview-title { "Overview" }
                        (table(&Table::of_overview(results), "The experiments at a glance", true))
                        @if let Some(chart) = &overview { div.overview { (figure(chart)) } }
                        p.note { (facts::METHOD) }
                    }
                    @for outcome in &results.outcomes { (section(results, outcome)) }
                    section #run aria-labelledby="run-title" {
                        h2 #run-title { "The machine and the run" }
                        dl {
                            @for (name, fact) in facts::of_run(results) {
                                dt { (name) }
                                dd { @if name == "Command" { code { (fact) } } @else { (fact) } }
                            }
                        }
                    }
                }
                footer { p { "The same as Markdown: report.md. The figures for programs: results.json." } }
            }
        }
    };
    markup.into_string()
}

fn section(results: &Results, outcome: &Outcome) -> Markup {
    let name = &outcome.experiment;
    html! {
        section id=(name) aria-labelledby=(format!("{name}-title")) {
            h2 id=(format!("{name}-title")) { (name) }
            p { (outcome.about) }
            @if outcome.is_partial {
                p.partial role="status" { "This experiment was stopped before its end; what was done is kept." }
            }
            p.verdict { strong { "Here: " (outcome.verdict_short) "." } " " (outcome.verdict) }
            h3 { "Published" }
            p { (outcome.published) }
            (table(&Table::of_published(outcome), &format!("{name}: published figures"), false))
            h3 { "Before and after, here" }
            @for disk in facts::disks(results, outcome) { p.note { (disk) } }
            (table(&Table::of_comparisons(outcome), &format!("{name}: before and after"), false))
            div.charts { @for chart in charts::of_outcome(outcome) { (figure(&chart)) } }
            h3 { "All figures" }
            (table(&Table::of_figures(outcome), &format!("{name}: all figures"), false))
        }
    }
}

fn figure(chart: &Chart) -> Markup {
    html! {
        figure {
            figcaption { (chart.caption) }
            (PreEscaped(&chart.svg))
        }
    }
}

/// A table that scrolls within itself where the page is narrow; `links`: the first column leads to the sections.
fn table(table: &Table, caption: &str, links: bool) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead {
                    tr {
                        @for (name, is_number) in &table.columns { th scope="col" .number[*is_number] { (name) } }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (place, (text, (_, is_number))) in row.iter().zip(&table.columns).enumerate() {
                                @if place == 0 {
                                    th scope="row" {
                                        @if links { a href=(format!("#{text}")) { (text) } } @else { (text) }
                                    }
                                } @else {
                                    td .number[*is_number] { (text) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
