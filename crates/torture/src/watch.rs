//! Progress, memory and descriptors while the sessions work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;

use crate::server::Usage;
use crate::torture::Torture;
use crate::wire::{Answer, Trouble, Wire};

/// Looks on until the task is aborted. A failure of the run ends it, too.
pub async fn watch(torture: Arc<Torture>) {
    let patience = Duration::from_secs(torture.options.patience);
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let stalled: Vec<String> = stalled(&torture, patience);
        if stalled.is_empty() {
            continue;
        }
        // A session that waits for a lock may wait. All others are looked at twice, as they may go on at this moment.
        let mut reason = None;
        for _ in 0..2 {
            reason = match tokio::time::timeout(patience, unexplained(&torture, patience)).await {
                Ok(Ok(unexplained)) => unexplained,
                // Nobody can be asked then. The conductor sees to it that a stop takes no longer than it may.
                Ok(Err(Trouble::Lost(why))) if why.contains("the database system is shutting down") => None,
                Ok(Err(trouble)) => Some(format!("and pg_stat_activity says: {trouble}")),
                Err(_) => Some("and a new connection gets no answer either".to_owned()),
            };
            if reason.is_none() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        if let Some(reason) = reason {
            torture.fail(format!("no answer for {} s: {reason}\n  {}", patience.as_secs(), stalled.join("\n  ")));
            return;
        }
    }
}

/// Sessions that wait for longer than this.
fn stalled(torture: &Torture, patience: Duration) -> Vec<String> {
    let waiting = torture.traces.iter().filter(|trace| trace.waiting() > patience);
    let described = waiting.filter_map(|trace| {
        let statement = trace.in_flight()?;
        let seconds = statement.since.elapsed().as_secs_f64();
        Some(format!("{} (pid {}) for {seconds:.1} s: {}", trace.name, trace.pid(), statement.text))
    });
    described.collect()
}

/// Whether some session waits in vain: not for a lock, or in a circle, or for somebody who is not one of ours.
async fn unexplained(torture: &Torture, patience: Duration) -> Result<Option<String>, Trouble> {
    let wire = Wire::open(&torture.launch.address(), false, "").await?;
    let blockers = blockers(&wire.ask("select pid, pg_blocking_pids(pid)::text from pg_stat_activity").await?);
    let waiting: BTreeMap<i32, Duration> =
        torture.traces.iter().map(|trace| (trace.pid(), trace.waiting())).filter(|(pid, _)| *pid != 0).collect();
    for (&pid, _) in waiting.iter().filter(|(_, waited)| **waited > patience) {
        if let Some(reason) = wait_in_vain(pid, &blockers, &waiting, patience) {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

/// Process numbers, and by whom each is blocked.
fn blockers(answer: &Answer) -> BTreeMap<i32, Vec<i32>> {
    let rows = (0..answer.rows.len()).filter_map(|row| {
        let list = answer.text(row, 1)?.trim_matches(['{', '}']);
        Some((answer.number(row, 0)? as i32, list.split(',').filter_map(|pid| pid.parse().ok()).collect()))
    });
    rows.collect()
}

/// Follows those who block to their ends: each must be a prepared transaction, or a session that goes on.
fn wait_in_vain(
    pid: i32,
    blockers: &BTreeMap<i32, Vec<i32>>,
    waiting: &BTreeMap<i32, Duration>,
    patience: Duration,
) -> Option<String> {
    let (mut seen, mut left, mut is_any_free) = (BTreeSet::new(), vec![pid], false);
    while let Some(one) = left.pop() {
        if !seen.insert(one) {
            continue;
        }
        match (one, blockers.get(&one).map(Vec::as_slice), waiting.get(&one)) {
            // Somebody always finishes what is prepared.
            (0, _, _) => is_any_free = true,
            (_, Some([]) | None, Some(waited)) if *waited > patience => {
                return Some(format!("{one} does not wait for a lock"));
            }
            // It has ended, or it is one that the model does not know: a connection that was cut, for instance.
            (_, None, _) => is_any_free = true,
            (_, Some([]), _) => is_any_free = true,
            (_, Some(further), _) => left.extend(further),
        }
    }
    (!is_any_free).then(|| format!("{pid} waits in a circle: {seen:?}"))
}

/// Whether the server uses more than it may.
pub fn excess(usage: Usage, torture: &Torture) -> Option<String> {
    if usage.memory_mb > torture.options.memory_mb {
        return Some(format!("the server uses {} MB", usage.memory_mb));
    }
    if usage.descriptors > torture.options.descriptors {
        return Some(format!("the server has {} descriptors open", usage.descriptors));
    }
    None
}

/// Writes down all that may explain a failure.
pub async fn save(torture: &Torture, server: Option<u32>, reason: &str) {
    let folder = torture.launch.folder.join("failure");
    let write = |name: &str, text: &str| {
        if let Err(error) = std::fs::write(folder.join(name), text) {
            eprintln!("torture: can't write {name}: {error}");
        }
    };
    if let Err(error) = std::fs::create_dir_all(&folder) {
        eprintln!("torture: can't make {}: {error}", folder.display());
        return;
    }
    write("reason.txt", &format!("seed {}\n{reason}\n{:#?}\n", torture.seed, torture.options));
    let statements: String = torture.traces.iter().map(|trace| trace.text()).collect();
    write("statements.txt", &statements);
    let Some(pid) = server else { return };
    for (name, text) in [("activity.txt", "select * from pg_stat_activity"), ("locks.txt", "select * from pg_locks")] {
        let asking = async { Wire::open(&torture.launch.address(), false, "").await?.ask(text).await };
        match tokio::time::timeout(Duration::from_secs(5), asking).await {
            Ok(Ok(answer)) => write(name, &answer.rows.iter().map(|row| format!("{row:?}\n")).collect::<String>()),
            Ok(Err(trouble)) => write(name, &trouble.to_string()),
            Err(_) => write(name, "no answer"),
        }
    }
    if let Some(text) = backtraces(pid).await {
        write("backtraces.txt", &text);
    }
}

/// The backtraces of the server's threads, if there is a gdb.
async fn backtraces(pid: u32) -> Option<String> {
    if !Path::new("/usr/bin/gdb").exists() {
        return None;
    }
    let mut command = Command::new("/usr/bin/gdb");
    command.args(["-p", &pid.to_string(), "-batch", "-ex", "set pagination off", "-ex", "thread apply all bt 40"]);
    command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(60), command.output()).await.ok()?.ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
