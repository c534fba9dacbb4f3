//! The report: whole by itself, well formed, readable in a browser, and as its description says.

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use cohort_lab::compare::compare;
use cohort_lab::driver::DriverKind;
use cohort_lab::experiment::EXPERIMENTS;
use cohort_lab::load::Load;
use cohort_lab::report::{self, Results};
use common::{HOSTILE, results};
use scraper::{Html, Selector};

fn selected(page: &Html, selector: &str) -> Vec<String> {
    let selector = Selector::parse(selector).unwrap();
    page.select(&selector).map(|element| element.text().collect::<Vec<_>>().join(" ")).collect()
}

/// A run in whose texts nothing can be trusted.
fn hostile() -> Results {
    let mut results = results(1.5);
    for text in [&mut results.command, &mut results.version, &mut results.machine.processor] {
        *text = HOSTILE.to_owned();
    }
    results.options.against = Some(HOSTILE.to_owned());
    let outcome = &mut results.outcomes[0];
    for text in [&mut outcome.about, &mut outcome.published, &mut outcome.verdict, &mut outcome.verdict_short] {
        *text = HOSTILE.to_owned();
    }
    for figure in &mut outcome.figures {
        for text in [&mut figure.workload, &mut figure.disk, &mut figure.configuration] {
            *text = HOSTILE.to_owned();
        }
    }
    for comparison in &mut outcome.comparisons {
        comparison.workload = HOSTILE.to_owned();
    }
    results
}

#[test]
fn the_page_is_well_formed_and_has_a_section_for_every_experiment() {
    for results in [results(1.5), hostile()] {
        let text = report::page(&results);
        let page = Html::parse_document(&text);
        assert!(page.errors.is_empty(), "{:?}", page.errors);
        for experiment in EXPERIMENTS {
            let name = experiment.name;
            assert_eq!(selected(&page, &format!("section#{name} > h2")), [name]);
            // Throughput, latency, commits a sync of each workload and disk at least.
            let charts = selected(&page, &format!("section#{name} figure > svg[role=img] > title")).len();
            let places = if name == results.outcomes[0].experiment && results.version == HOSTILE {
                1
            } else {
                experiment.workloads.len() * experiment.disks.len()
            };
            assert!(charts >= 2 * places, "{name} has {charts} charts");
            assert_eq!(selected(&page, &format!("section#{name} table")).len(), 3, "{name}");
        }
        assert!(selected(&page, ".partial").is_empty());
    }
}

#[test]
fn the_page_needs_nothing_but_itself() {
    let text = report::page(&results(1.5));
    let page = Html::parse_document(&text);
    for (selector, attribute) in [("[src]", "src"), ("[href]", "href"), ("[srcset]", "srcset"), ("[data]", "data")] {
        for element in page.select(&Selector::parse(selector).unwrap()) {
            let target = element.value().attr(attribute).unwrap();
            assert!(target.starts_with('#') || target.starts_with("data:"), "{target}");
        }
    }
    assert!(selected(&page, "script, iframe, object, embed").is_empty());
    assert!(!text.contains("@import") && !text.contains("url("));
    // The one address in it names what SVG is.
    let addresses = text.replace("http://www.w3.org/2000/svg", "");
    assert!(!addresses.contains("http://") && !addresses.contains("https://"));
}

#[test]
fn hostile_texts_are_shown_as_they_are() {
    let text = report::page(&hostile());
    let page = Html::parse_document(&text);
    assert!(selected(&page, "script, img").is_empty());
    assert!(selected(&page, "dd").iter().any(|fact| fact == HOSTILE));
    let markdown = report::markdown_page(&hostile());
    assert!(!markdown.contains("<script") && !markdown.contains("<img"));
    // Every line of a table has as many cells as the one before it.
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = markdown.lines().collect();
    for two in lines.windows(2).filter(|two| two.iter().all(|line| line.starts_with('|'))) {
        assert_eq!(cells(two[0]), cells(two[1]), "{}\n{}", two[0], two[1]);
    }
}

#[test]
fn published_figures_stand_beside_those_here() {
    let results = results(1.5);
    let page = Html::parse_document(&report::page(&results));
    let rows = selected(&page, "section#two-phase tbody tr").join("\n");
    for text in ["22,000", "36,000", "1.64", "0.52", "0.86"] {
        assert!(rows.contains(text), "{text} is missing");
    }
    let overview = selected(&page, "#overview tbody tr");
    assert_eq!(overview.len(), EXPERIMENTS.len());
    assert!(overview[4].contains("1.64") && overview[4].contains("1.50") && overview[4].contains("shows"));
    let markdown = report::markdown_page(&results);
    for text in ["39,261", "3.68", "ext4", "an emulated disk", "cohort lab run all"] {
        assert!(markdown.contains(text), "{text} is missing");
    }
}

#[test]
fn a_run_that_was_stopped_says_so_and_what_is_missing() {
    let mut results = results(1.5);
    results.outcomes.truncate(2);
    let mut last = results.outcomes.pop().unwrap();
    last.is_partial = true;
    results.push(last);
    assert!(results.is_partial);
    let page = Html::parse_document(&report::page(&results));
    let notes = selected(&page, ".partial");
    assert!(notes[0].contains("clog-group, serializable, two-phase"), "{notes:?}");
    assert!(notes[1].contains("stopped before its end"));
    assert!(selected(&page, "#overview tbody tr")[4].contains("not run"));
    assert!(report::markdown_page(&results).contains("clog-group, serializable, two-phase"));
    // Nothing measured at all is a report as well.
    results.outcomes.clear();
    let page = Html::parse_document(&report::page(&results));
    assert!(page.errors.is_empty() && selected(&page, "#overview tbody tr").len() == EXPERIMENTS.len());
}

#[test]
fn what_is_written_is_read_again_and_compares_as_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let written = results(1.5);
    report::write(&folder.path().join("deep/report"), &written).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder.path().join("deep/report"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, report::FILES);
    let read = Results::read(&folder.path().join("deep/report/results.json")).unwrap();
    // A number may lose its last binary digit on the way; what people see is the same.
    assert_eq!(report::page(&read), report::page(&written));
    assert_eq!(read.outcomes.len(), EXPERIMENTS.len());
    assert!(!compare(&written, &read, 5.0).has_worse());
}

#[test]
fn a_slower_build_is_told_from_the_same_and_the_faster_one() {
    let first = results(1.5);
    let mut second = results(1.5);
    for figure in second.outcomes.iter_mut().flat_map(|outcome| &mut outcome.figures) {
        for round in &mut figure.rounds {
            round.tps *= 0.8;
        }
    }
    second.outcomes[0].figures.retain(|figure| figure.clients == 1);
    second.outcomes.pop();
    let worse = compare(&first, &second, 5.0);
    assert!(worse.has_worse() && !compare(&second, &first, 5.0).has_worse());
    assert!(!compare(&first, &second, 25.0).has_worse());
    assert!(worse.only_first.iter().any(|name| name.starts_with("two-phase: transfer, real disk, 64 clients")));
    assert!(worse.only_second.is_empty());
    let text = worse.table().text();
    assert!(text.contains("WORSE") && text.contains("0.80 (0.76 to 0.84)"), "{text}");
    assert!(worse.notes().last().unwrap().contains("0 better"));
}

#[derive(clap::Parser)]
struct Program {
    #[command(flatten)]
    lab: cohort_lab::command::LabArguments,
}

#[test]
fn compare_ends_with_1_if_something_got_worse_and_with_2_if_there_is_nothing_to_compare() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (fast, mut slow) = (results(1.5), results(1.5));
    for figure in slow.outcomes.iter_mut().flat_map(|outcome| &mut outcome.figures) {
        for round in &mut figure.rounds {
            round.latency_us_p50 *= 2;
        }
    }
    let mut empty = results(1.5);
    empty.outcomes.clear();
    for (name, results) in [("fast", &fast), ("slow", &slow), ("empty", &empty)] {
        report::write(&folder.path().join(name), results).unwrap();
    }
    std::fs::write(path("text"), "no results").unwrap();
    let status = |one: &str, two: &str| {
        let arguments = <Program as clap::Parser>::parse_from(["lab", "compare", &path(one), &path(two)]);
        cohort_lab::command::run(&arguments.lab).unwrap()
    };
    let code = |status: std::process::ExitCode| format!("{status:?}");
    for (one, two, expected) in [
        ("fast/results.json", "fast/results.json", 0),
        ("slow/results.json", "fast/results.json", 0),
        ("fast/results.json", "slow/results.json", 1),
        ("fast/results.json", "empty/results.json", 2),
        ("text", "fast/results.json", 2),
        ("fast/results.json", "nowhere", 2),
    ] {
        assert_eq!(code(status(one, two)), code(std::process::ExitCode::from(expected)), "{one} {two}");
    }
}

/// The paths of all fields, arrays as `[]`.
fn fields(value: &serde_json::Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                fields(value, &path, found);
                found.insert(path);
            }
        }
        serde_json::Value::Array(values) => {
            for value in values {
                fields(value, &format!("{path}[]"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_fields_of_a_results_file_are_those_that_are_described() {
    let description = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md")).unwrap();
    let described: BTreeSet<String> = description
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(field, _)| field.to_owned())
        .collect();
    let mut written = BTreeSet::new();
    fields(&serde_json::to_value(results(1.5)).unwrap(), "", &mut written);
    assert_eq!(written, described);
}

/// Chromium, by whichever name it is there. Where CI is set it must be.
fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let found = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "chromium is missing");
        eprintln!("SKIPPED: chromium is missing");
    }
    found
}

/// Loads a page in a window of this width; gives its document and what the browser had to say.
fn load(browser: &Path, page: &Path, width: u32) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},900"))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Runs in the page: which texts of charts reach out of their chart or touch each other, and by how much the page is too wide.
const MEASURE: &str = r#"<script>
const found = [];
for (const svg of document.querySelectorAll("figure svg")) {
  const view = svg.viewBox.baseVal;
  const boxes = [...svg.querySelectorAll("text")].map((text) => {
    const on_page = text.getBoundingClientRect(), of = svg.getBoundingClientRect(), scale = view.width / of.width;
    return { text: text.textContent.trim(), left: (on_page.left - of.left) * scale, right: (on_page.right - of.left) * scale,
      top: (on_page.top - of.top) * scale, bottom: (on_page.bottom - of.top) * scale };
  });
  boxes.forEach((one, place) => {
    if (one.left < -1 || one.top < -1 || one.right > view.width + 1 || one.bottom > view.height + 1)
      found.push("clipped: " + one.text);
    for (const two of boxes.slice(place + 1))
      if (one.left < two.right - 2 && two.left < one.right - 2 && one.top < two.bottom - 4 && two.top < one.bottom - 4)
        found.push("overlap: " + one.text + " / " + two.text);
  });
}
const body = document.body;
document.title = "too wide by " + (body.scrollWidth - body.clientWidth) + "; " + found.join("; ");
</script></body>"#;

#[test]
fn a_browser_shows_it_without_errors_wide_and_narrow_and_no_text_is_clipped_or_overlaps() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.html");
    // Whether errors would be seen at all.
    std::fs::write(&path, "<!DOCTYPE html><title>x</title><script>console.error('here it is')</script>").unwrap();
    let (_, said) = load(&browser, &path, 1200);
    assert!(said.contains("here it is"), "the browser does not say what is on its console: {said}");
    for (factor, results) in [1.5, 0.7, 8.0].map(|factor| (factor, results(factor))) {
        let text = report::page(&results);
        for width in [1200, 390] {
            std::fs::write(&path, &text).unwrap();
            let (document, said) = load(&browser, &path, width);
            assert!(document.contains("id=\"two-phase\""), "{said}");
            assert!(!said.contains("CONSOLE"), "{said}");
            let measured =
                text.replace("default-src 'none';", "script-src 'unsafe-inline';").replace("</body>", MEASURE);
            std::fs::write(&path, measured).unwrap();
            let (document, said) = load(&browser, &path, width);
            let title = document.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).unwrap().0;
            assert_eq!(title, "too wide by 0; ", "at {factor} and {width}: {said}");
        }
    }
}

#[test]
fn what_cannot_be_compared_is_said_so() {
    let experiment = |name: &str| EXPERIMENTS.iter().find(|experiment| experiment.name == name).unwrap();
    let outcome = |name: &str, load: Load, is: fn(&str) -> bool| {
        let mut figures = common::figures(experiment(name), 1.0);
        figures.retain(|figure| is(&figure.configuration));
        experiment(name).outcome(DriverKind::Wire, load, figures, false)
    };
    let alone = outcome("group-commit", Load::Closed, |name| name == "group_commit=on");
    assert!(alone.verdict.contains("\"group_commit=on\" alone"), "{}", alone.verdict);
    assert_eq!(alone.verdict_short, "nothing to compare");
    let none = outcome("clog-group", Load::Closed, |_| false);
    assert!(none.verdict.contains("neither switched nor counted"), "{}", none.verdict);
    // Under an open load throughput is given: the question is latency.
    let open = outcome("group-commit", Load::Open { rate_tps: 5000.0 }, |_| true);
    assert!(open.verdict.starts_with("Open load, 5,000 transactions a second"), "{}", open.verdict);
    assert_eq!(open.verdict_short, "latency is within the noise");
}
