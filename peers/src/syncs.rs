//! Whether a commit that an engine calls durable was synced: the syncs of a lone client's commits, counted with strace. Since nobody shares a
//! sync with a lone client, each of its commits needs one of its own.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::cell::WORKERS;
use crate::engines;
use crate::peer::{Engine, Opening, Outcome, Transaction, Workload};

/// Calls that may make a file's data durable. `sync_file_range` does not: it is counted to be shown.
const CALLS: [&str; 6] = ["fsync", "fdatasync", "msync", "syncfs", "sync", "sync_file_range"];
/// Looking for files of these names shows in the trace where the commits begin and end.
const BEGIN: &str = "commits-begin-here";
const END: &str = "commits-end-here";
/// Commits that are traced.
const COMMITS: u64 = 100;

/// The syncs that were traced of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syncs {
    pub commits: u64,
    /// How often each call on a file of the database was made during the commits.
    pub calls: BTreeMap<String, u64>,
}

impl Syncs {
    /// Whether each commit could have been synced.
    pub fn suffice(&self) -> bool {
        let durable = self.calls.iter().filter(|(call, _)| *call != "sync_file_range");
        durable.map(|(_, count)| count).sum::<u64>() >= self.commits
    }

    pub fn in_words(&self) -> String {
        let calls: Vec<String> = self.calls.iter().map(|(call, count)| format!("{count} {call}")).collect();
        let calls = if calls.is_empty() { "no sync".into() } else { calls.join(", ") };
        let verdict = if self.suffice() { "durable" } else { "NOT DURABLE" };
        format!("{calls} for {} commits: {verdict}", self.commits)
    }
}

/// Counts an engine's syncs, running this program under strace.
///
/// # Errors
/// If strace isn't there or may not trace, or the engine fails.
pub fn count(engine: Engine, parent: &Path) -> Result<Syncs> {
    let folder =
        tempfile::tempdir_in(parent).with_context(|| format!("could not make a folder in \"{}\"", parent.display()))?;
    let (trace, data) = (folder.path().join("trace"), folder.path().canonicalize()?.join("data"));
    std::fs::create_dir(&data)?;
    let program = std::env::current_exe().context("this program's file")?;
    let output = Command::new("strace")
        .args(["-f", "-y", "-s", "200", "-e"])
        .arg(format!("trace={},openat", CALLS.join(",")))
        .arg("-o")
        .arg(&trace)
        .arg(program)
        .args(["commits", "--engine", engine.name(), "--commits", &COMMITS.to_string(), "--dir"])
        .arg(&data)
        .stdout(Stdio::null())
        .output()
        .context("could not run strace, which counts the syncs (--no-syncs goes without)")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} under strace failed: {}", engine.name(), said.trim());
    }
    let trace = std::fs::read_to_string(&trace).context("strace's output")?;
    Ok(Syncs { commits: COMMITS, calls: calls_in(&trace, &data.to_string_lossy())? })
}

/// The calls between the marks, of files in `data`.
fn calls_in(trace: &str, data: &str) -> Result<BTreeMap<String, u64>> {
    let (mut begun, mut ended) = (false, false);
    let mut calls = BTreeMap::new();
    for line in trace.lines() {
        begun |= line.contains(BEGIN);
        ended |= line.contains(END);
        if !begun || ended {
            continue;
        }
        // "1234  fdatasync(5</folder/data/file>) = 0", or unfinished, to be resumed on a line without a bracket.
        let Some((head, arguments)) = line.split_once('(') else { continue };
        let call = head.rsplit(' ').next().unwrap_or(head);
        if CALLS.contains(&call) && (arguments.contains(data) || ["msync", "sync"].contains(&call)) {
            *calls.entry(call.to_owned()).or_insert(0) += 1;
        }
    }
    ensure!(begun && ended, "the trace does not show where the commits begin and end");
    Ok(calls)
}

/// Commits as one client, between two marks. This is run under strace.
pub fn commit(engine: Engine, commits: u64, directory: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let opening = Opening { directory, workload: Workload::Insert, clients: 1, runtime: runtime.handle() };
    let database = engines::create(engine, opening, 0)?;
    let mut client = database.client()?;
    mark(directory, BEGIN);
    for key in 0..commits {
        ensure!(client.attempt(Transaction::Insert { key })? == Outcome::Committed, "a lone client had a conflict");
    }
    mark(directory, END);
    drop(client);
    database.close()
}

fn mark(directory: &Path, name: &str) {
    let absent: Result<File, _> = OpenOptions::new().read(true).open(directory.join(name));
    debug_assert!(absent.is_err());
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
1 fsync(3</d/data/early>) = 0
1 openat(AT_FDCWD</d>, \"/d/data/commits-begin-here\", O_RDONLY) = -1 ENOENT
2 fdatasync(3</d/data/log> <unfinished ...>
1 fsync(4</elsewhere/log>) = 0
2 <... fdatasync resumed>) = 0
1 sync_file_range(3</d/data/log>, 0, 0, 0) = 0
1 openat(AT_FDCWD</d>, \"/d/data/commits-end-here\", O_RDONLY) = -1 ENOENT
1 fsync(3</d/data/late>) = 0
";

    #[test]
    fn calls_between_the_marks_on_the_databases_files_count() {
        let calls = calls_in(TRACE, "/d/data").unwrap();
        assert_eq!(calls, BTreeMap::from([("fdatasync".into(), 1), ("sync_file_range".into(), 1)]));
        assert!(calls_in("", "/d/data").is_err());
    }

    #[test]
    fn a_commit_without_a_sync_is_not_durable() {
        let syncs = |call: &str, count| Syncs { commits: 10, calls: BTreeMap::from([(call.into(), count)]) };
        assert!(syncs("fdatasync", 10).suffice());
        assert!(!syncs("fdatasync", 9).suffice());
        assert!(!syncs("sync_file_range", 10).suffice());
    }
}
