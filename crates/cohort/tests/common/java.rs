//! The programs of `tests/java`, compiled by Maven where Java and Maven are present and Maven can get what they need.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long Maven may take to get what it needs.
const BUILD_LIMIT: Duration = Duration::from_secs(300);

/// Parts of Maven's messages when it can't download something.
const UNREACHABLE: [&str; 4] = ["Could not transfer", "could not be resolved", "Could not resolve", "Cannot access"];

/// Compiles the programs. Their classes and libraries as a class path; none if that can't be done here.
pub fn class_path() -> Option<String> {
    for program in ["java", "javac", "mvn"] {
        let output = Command::new(program).arg("-version").output();
        if !output.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: {program} is missing");
            return None;
        }
    }
    // Beside the folder of the tests' own binaries: outputs of earlier runs serve again.
    let outputs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("java");
    std::fs::create_dir_all(&outputs).unwrap();
    if let Err(first) = build(&outputs, true)
        && let Err(said) = build(&outputs, false)
    {
        let unreachable = said.is_empty() || UNREACHABLE.iter().any(|words| said.contains(words));
        assert!(unreachable, "Maven fails: {said}\noffline: {first}");
        eprintln!("SKIPPED: Maven can't get what the programs need: {said}");
        return None;
    }
    Some(format!("{0}/classes:{0}/libraries/*", outputs.display()))
}

/// Runs Maven. An error is what it said, nothing if it was given up.
fn build(outputs: &Path, offline: bool) -> Result<(), String> {
    let log = outputs.join("maven.log");
    let mut command = Command::new("mvn");
    command.args(["-B", "-q", "-f"]).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/pom.xml"));
    command.arg(format!("-Doutputs={}", outputs.display())).args(["compile", "dependency:copy-dependencies"]);
    if offline {
        command.arg("-o");
    }
    let file = File::create(&log).unwrap();
    let mut process = command.stdin(Stdio::null()).stderr(file.try_clone().unwrap()).stdout(file).spawn().unwrap();
    let started = Instant::now();
    loop {
        match process.try_wait().unwrap() {
            Some(status) if status.success() => return Ok(()),
            Some(_) => return Err(std::fs::read_to_string(&log).unwrap()),
            None if started.elapsed() > BUILD_LIMIT => {
                process.kill().unwrap();
                process.wait().unwrap();
                return Err(String::new());
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}
