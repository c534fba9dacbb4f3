//! A headless Chromium, driven by the DevTools protocol over a pair of pipes.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

/// The program, if it is here; where it is not, that is said.
pub fn program() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()));
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "chromium is missing");
        eprintln!("SKIPPED: chromium is missing");
    }
    found
}

/// A browser with one page.
pub struct Browser {
    process: Child,
    questions: File,
    answers: Receiver<Value>,
    next_id: u64,
    /// The identifier of the page's session, once there is one.
    session: Option<String>,
    /// Exceptions, console messages and log entries of the page.
    pub complaints: Vec<String>,
}

impl Browser {
    /// Starts a browser that keeps its files in `folder`.
    pub fn start(program: &str, folder: &Path) -> Browser {
        let (questions, answers) = (folder.join("questions"), folder.join("answers"));
        assert!(Command::new("mkfifo").args([&questions, &answers]).status().unwrap().success());
        // Chromium reads descriptor 3 and writes to descriptor 4.
        let line = "exec \"$0\" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                    --disable-background-networking --remote-debugging-pipe --user-data-dir=\"$3\" about:blank 3<\"$1\" 4>\"$2\"";
        let process = Command::new("sh")
            .args(["-c", line, program])
            .args([&questions, &answers, &folder.join("profile")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let questions = File::options().write(true).open(questions).unwrap();
        let answered = File::open(answers).unwrap();
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(answered);
            let mut message = Vec::new();
            while reader.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { return };
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let mut browser = Browser { process, questions, answers, next_id: 0, session: None, complaints: Vec::new() };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        browser
    }

    /// One call of the protocol.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        let mut question = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            question["sessionId"] = session.as_str().into();
        }
        self.questions.write_all(format!("{question}\0").as_bytes()).unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let answer = match self.answers.recv_timeout(rest) {
                Ok(answer) => answer,
                Err(RecvTimeoutError::Timeout) => panic!("no answer to {method}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the browser ended"),
            };
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(parameters["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") => self.complaints.push(parameters["args"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(parameters["entry"]["text"].to_string()),
            _ => {}
        }
    }

    /// Loads a page.
    pub fn open(&mut self, url: &str) {
        let loaded = self.call("Page.navigate", json!({ "url": url }));
        assert!(loaded.get("errorText").is_none(), "{loaded}");
    }

    /// Returns the value of an expression, evaluated in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let result = self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true in the page.
    pub fn wait_until(&mut self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.evaluate(expression) != Value::Bool(true) {
            if Instant::now() > deadline {
                let text = self.evaluate("document.body.innerText");
                panic!("it never came true: {expression}; {:?}; the page says {text}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
