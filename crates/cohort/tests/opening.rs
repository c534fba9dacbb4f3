//! `cohort serve` on folders it can't serve: a clear message, exit status 1, and nothing changed.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{Server, free_port};

/// Serves `folder/data` until it ends by itself, which it must.
fn serve(folder: &Path, settings: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["60", env!("CARGO_BIN_EXE_cohort"), "serve"]).arg(folder.join("data"));
    command.args(["--host", "127.0.0.1", "--port", &free_port().to_string(), "--socket-dir"]).arg(folder);
    for setting in settings {
        command.args(["-c", setting]);
    }
    command.stdin(Stdio::null()).output().unwrap()
}

/// The server's message when it refuses the folder.
fn refusal(folder: &Path, settings: &[&str]) -> String {
    let output = serve(folder, settings);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("cohort: ") && !said.contains("panicked"), "{said}");
    said
}

fn made(folder: &Path) {
    let server = Server::start(folder, &[]);
    server.connect().batch_execute("create table t (id int); insert into t values (1)").unwrap();
    server.stop();
}

/// Every file below `folder` with what is in it.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn a_folder_in_use_is_refused_and_its_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let said = refusal(folder.path(), &[]);
    assert!(said.contains("lock") || said.contains("in use"), "{said}");
    let one: i32 = server.connect().query_one("select 1", &[]).unwrap().get(0);
    assert_eq!(one, 1);
    server.stop();
}

#[test]
fn a_folder_of_a_newer_format_is_refused_with_both_versions_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    let path = folder.path().join("data/control");
    let mut bytes = std::fs::read(&path).unwrap();
    let slot_bytes = bytes.len() / 2;
    let version = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
    for slot in bytes.chunks_mut(slot_bytes) {
        slot[8..12].copy_from_slice(&(version + 1).to_le_bytes());
        let length = u32::from_le_bytes(slot[12..16].try_into().unwrap()) as usize;
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&slot[..16]), &slot[20..20 + length]);
        slot[16..20].copy_from_slice(&checksum.to_le_bytes());
    }
    std::fs::write(&path, &bytes).unwrap();
    let before = contents(&folder.path().join("data"));
    let said = refusal(folder.path(), &[]);
    assert!(said.contains("database files are incompatible with server"), "{said}");
    let (newer, known) = (format!("format version {}", version + 1), format!("up to {version}"));
    assert!(said.contains(&newer) && said.contains(&known), "{said}");
    assert!(contents(&folder.path().join("data")) == before, "something was changed");
}

#[test]
fn a_folder_that_is_half_there_is_refused_and_left_alone() {
    for missing in ["control", "wal", "base"] {
        let folder = tempfile::tempdir().unwrap();
        made(folder.path());
        let path = folder.path().join("data").join(missing);
        if path.is_dir() {
            std::fs::remove_dir_all(&path).unwrap()
        } else {
            std::fs::remove_file(&path).unwrap()
        }
        let before = contents(&folder.path().join("data"));
        let said = refusal(folder.path(), &[]);
        assert!(said.contains("data"), "{missing}: {said}");
        assert!(contents(&folder.path().join("data")) == before, "{missing}: something was changed");
    }
}

#[test]
fn a_folder_that_cannot_be_read_or_made_is_refused_by_name() {
    // A file in the folder's place.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), b"not a folder").unwrap();
    let said = refusal(folder.path(), &[]);
    assert!(said.contains("data"), "{said}");

    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    let control = folder.path().join("data/control");
    std::fs::set_permissions(&control, std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser reads everything.
    if std::fs::read(&control).is_err() {
        let said = refusal(folder.path(), &[]);
        assert!(said.contains("control") && said.contains("ermission denied"), "{said}");
    }
}

#[test]
fn a_setting_that_does_not_exist_or_fit_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let said = refusal(folder.path(), &["no_such_setting=1"]);
    assert!(said.contains("no_such_setting"), "{said}");
    let said = refusal(folder.path(), &["commit_delay=200000"]);
    assert!(said.contains("commit_delay"), "{said}");
    assert!(!folder.path().join("data/control").exists(), "nothing was made");
}

/// A limit on the size of files stands in for a full disk: the write that needs more room fails.
#[test]
fn a_disk_without_room_ends_in_a_clear_error_and_loses_nothing() {
    const ROWS: i64 = 1000;
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    let port = free_port();
    let log = std::fs::File::create(folder.path().join("full.log")).unwrap();
    // Segments of the log have 16 MiB; tables of more than 20 don't fit.
    let limited = "trap '' XFSZ; ulimit -f 40960; exec \"$@\"";
    let mut process = Command::new("sh")
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_cohort"), "serve"])
        .arg(folder.path().join("data"))
        .args(["--host", "127.0.0.1", "--port", &port.to_string(), "--socket-dir"])
        .arg(folder.path())
        .args(["-c", "shared_buffers=1MB"])
        .stdin(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    let url = format!("host={} port={port} user=postgres dbname=postgres", folder.path().display());
    let mut client = (0..500)
        .find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            postgres::Client::connect(&url, postgres::NoTls).ok()
        })
        .expect("the server comes up");
    client.batch_execute("create table filled (id bigint, text text)").unwrap();
    let fill = "insert into filled select g, repeat('x', 1000) from generate_series($1::bigint, $2::bigint) g";
    let mut acknowledged = 0;
    let mut failed = None;
    for batch in 0..60 {
        match client.execute(fill, &[&(batch * ROWS), &(batch * ROWS + ROWS - 1)]) {
            Ok(count) => acknowledged += count as i64,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    let failed = failed.expect("there was room for everything");
    let said = std::fs::read_to_string(folder.path().join("full.log")).unwrap();
    match failed.as_db_error() {
        // The statement failed and the server goes on: then it can still read, and is stopped.
        Some(error) => {
            assert!(error.message().contains("could not"), "{error}");
            let found: i64 = client.query_one("select count(*) from filled", &[]).unwrap().get(0);
            assert_eq!(found, acknowledged);
            process.kill().unwrap();
            process.wait().unwrap();
        }
        // The process ended rather than acknowledge what it could not keep.
        None => {
            let status = process.wait().unwrap();
            assert!(!status.success());
            assert!(said.contains("could not") && said.contains("File too large"), "{said}");
        }
    }
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    let found: i64 = client.query_one("select count(*) from filled", &[]).unwrap().get(0);
    assert!(found == acknowledged || found == acknowledged + ROWS, "{found} found, {acknowledged} acknowledged");
    client.execute(fill, &[&0i64, &(30 * ROWS)]).unwrap();
    server.stop();
}
