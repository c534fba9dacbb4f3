//! Unmodified pgbench: initialisation with all its steps, the built-in scripts in every mode, and sums that agree.

mod common;

use common::{Server, has_client};

fn pgbench(server: &Server, arguments: &[&str]) -> String {
    let output = server.client("pgbench", arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "pgbench {arguments:?}: {text}\n{}", server.log());
    assert!(!text.contains("ERROR"), "pgbench {arguments:?}: {text}");
    text
}

#[test]
fn every_step_and_mode_runs_and_the_balances_add_up() {
    if !has_client("pgbench") || !has_client("psql") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    pgbench(&server, &["-i", "-q", "-s", "2", "-I", "dtgvpf"]);
    assert_eq!(server.psql("select count(*) from pgbench_accounts"), "200000");
    for script in ["tpcb-like", "simple-update", "select-only"] {
        for mode in ["simple", "extended", "prepared"] {
            let text = pgbench(&server, &["-n", "-c", "8", "-j", "2", "-T", "1", "-M", mode, "-b", script]);
            assert!(text.contains("number of failed transactions: 0"), "{script} {mode}: {text}");
        }
    }
    let sums =
        server.psql("select (select sum(delta) from pgbench_history), (select sum(abalance) from pgbench_accounts)");
    let (history, accounts) = sums.split_once('|').unwrap();
    assert_eq!(history, accounts, "the history adds up to the accounts' balances");
    // Only tpcb-like touches branches and tellers, each of them alike.
    let sums =
        server.psql("select (select sum(tbalance) from pgbench_tellers), (select sum(bbalance) from pgbench_branches)");
    let (tellers, branches) = sums.split_once('|').unwrap();
    assert_eq!(tellers, branches);
    server.stop();
}

#[test]
fn a_hot_row_keeps_its_count_and_its_table_stays_small() {
    if !has_client("pgbench") || !has_client("psql") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    server.psql("create table hot (id int primary key, n bigint)");
    server.psql("insert into hot values (1, 0)");
    let script = folder.path().join("hot.sql");
    std::fs::write(&script, "update hot set n = n + 1 where id = 1;\n").unwrap();
    let arguments = ["-n", "-c", "16", "-j", "2", "-t", "300", "-M", "prepared", "-f", script.to_str().unwrap()];
    pgbench(&server, &arguments);
    assert_eq!(server.psql("select n from hot"), "4800");
    server.stop();
}
