//! The file of results: a description of the run, and its outcomes.

use std::path::Path;

use base::{Error, Result, sqlstate};
use serde::{Deserialize, Serialize};

use super::machine::Machine;
use crate::driver::DriverKind;
use crate::experiment::{Experiment, Options, Outcome};
use crate::load::Load;

/// The format of [`Results`] in the file. Another number means another set of fields or other meanings; `RESULTS.md` describes this one.
pub const FORMAT: u32 = 2;

/// A run, as `results.json` holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of Cohort.
    pub version: String,
    /// When the run began, in UTC.
    pub started: String,
    /// The command line.
    pub command: String,
    /// The machine.
    pub machine: Machine,
    /// How the run was asked for.
    pub options: RunOptions,
    /// The experiments that were to run, in their order.
    pub planned: Vec<String>,
    /// Some of the planned experiments did not run, or not to their end.
    pub is_partial: bool,
    /// The outcome of each experiment.
    pub outcomes: Vec<Outcome>,
}

/// How a run was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    /// Fewer clients and shorter rounds.
    pub quick: bool,
    /// How the engine is reached.
    pub driver: DriverKind,
    /// Another server, without its password.
    pub against: Option<String>,
    /// The answer of `version()` on that server.
    pub server: Option<String>,
    /// Transactions a second that arrive, where the load is open; null: each client begins the next when the last has ended.
    pub rate_tps: Option<f64>,
    /// Client counts, if they are not the experiments' own.
    pub clients: Option<Vec<usize>>,
    /// The disk, if it is not the experiments' own.
    pub disk: Option<String>,
    /// Rounds of each configuration.
    pub rounds: usize,
    /// Seconds of each round.
    pub seconds: f64,
    /// Seed of the workload's randomness.
    pub seed: u64,
}

impl Results {
    /// A run that begins now.
    pub fn begin(options: &Options, planned: &[&Experiment]) -> Results {
        let arguments = std::env::args().map(|argument| without_password(&argument)).map(quoted);
        Results {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            command: arguments.collect::<Vec<_>>().join(" "),
            machine: Machine::here(options.against.is_none()),
            options: RunOptions {
                quick: options.quick,
                driver: options.driver,
                against: options.against.as_ref().map(|server| without_password(&server.url)),
                server: options.against.as_ref().map(|server| server.kind.version.clone()),
                rate_tps: match options.load {
                    Load::Closed => None,
                    Load::Open { rate_tps } => Some(rate_tps),
                },
                clients: options.clients.clone(),
                disk: options.disk.map(|disk| disk.name()),
                rounds: options.rounds,
                seconds: options.seconds,
                seed: options.seed,
            },
            planned: planned.iter().map(|experiment| experiment.name.to_owned()).collect(),
            is_partial: true,
            outcomes: Vec::new(),
        }
    }

    /// Adds what an experiment found.
    pub fn push(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
        self.is_partial =
            self.outcomes.len() < self.planned.len() || self.outcomes.iter().any(|outcome| outcome.is_partial);
    }

    /// The experiments that did not run.
    pub fn missing(&self) -> Vec<&str> {
        let has_run = |name: &&String| self.outcomes.iter().any(|outcome| outcome.experiment == **name);
        self.planned.iter().filter(|name| !has_run(name)).map(String::as_str).collect()
    }

    /// As the file holds it.
    pub(super) fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| Error::internal(format!("results can't be written: {error}")))
    }

    /// Reads a file of results.
    ///
    /// # Errors
    /// When there is no such file, when it is another kind of file, or when another version's format is in it.
    pub fn read(path: &Path) -> Result<Results> {
        let shown = path.display();
        let text = std::fs::read(path).map_err(|error| Error::io(format!("could not read \"{shown}\""), &error))?;
        let no_results = |why: &dyn std::fmt::Display| {
            Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("\"{shown}\" is no file of results"))
                .detail(why.to_string())
                .hint("`cohort lab run` writes results.json into its --out folder.")
        };
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| no_results(&error))?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(format) if format == u64::from(FORMAT) => {
                serde_json::from_value(value).map_err(|error| no_results(&error))
            }
            Some(format) => Err(Error::new(
                sqlstate::INVALID_PARAMETER_VALUE,
                format!("\"{shown}\" has results in format {format}, where format {FORMAT} is read"),
            )
            .hint("Repeat the run with this version of Cohort.")),
            None => Err(no_results(&"It has no number \"format\".")),
        }
    }
}

/// `url`, or a command's argument that may be one, with its password hidden: the report may be shown around.
fn without_password(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    let mut shown = match rest.split_once('@').filter(|_| !scheme.is_empty()) {
        Some((user, place)) => match user.split_once(':') {
            Some((user, _)) => format!("{scheme}{user}:***@{place}"),
            None => format!("{scheme}{rest}"),
        },
        None => format!("{scheme}{rest}"),
    };
    if let Some(start) = shown.find("password=").map(|start| start + "password=".len()) {
        let length = shown[start..].find([' ', '&']).unwrap_or(shown.len() - start);
        shown.replace_range(start..start + length, "***");
    }
    shown
}

/// An argument as it is typed in a shell.
fn quoted(argument: String) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./,:@".contains(letter);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_written_down() {
        for (url, shown) in [
            ("postgres://me:secret@host/db", "postgres://me:***@host/db"),
            ("postgres://me@host/db", "postgres://me@host/db"),
            ("host=h password=secret user=u", "host=h password=*** user=u"),
            ("--against=postgres://me:se:cret@host:5432/db?x=1", "--against=postgres://me:***@host:5432/db?x=1"),
            ("--quick", "--quick"),
        ] {
            assert_eq!(without_password(url), shown);
        }
        assert_eq!(quoted("a'b".to_owned()), "'a'\\''b'");
    }

    #[test]
    fn files_that_are_no_results_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        let error = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Results::read(&path).unwrap_err().message().to_owned()
        };
        assert!(Results::read(&path).unwrap_err().message().contains("could not read"));
        assert!(error("no json").ends_with("x.json\" is no file of results"));
        assert!(error("{}").ends_with("x.json\" is no file of results"));
        assert!(error("{\"format\": 2}").ends_with("x.json\" is no file of results"));
        assert!(error("{\"format\": 1}").ends_with("has results in format 1, where format 2 is read"));
    }
}
