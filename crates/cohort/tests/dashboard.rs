//! The dashboard, over HTTP and in a browser.

mod common;

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::browser::{self, Browser};
use common::http::{request, request_as, try_request};
use common::{Server, free_port};
use serde_json::Value;

fn data(port: u16) -> Value {
    let (head, body) = request(port, "GET /data");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    serde_json::from_str(&body).unwrap()
}

/// Asks until the answer is as it should be.
fn wait_for(port: u16, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let data = data(port);
        if is_so(&data) {
            return data;
        }
        assert!(Instant::now() < deadline, "{what} never came: {data}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Clients at work until dropped.
struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn start(server: &Server, clients: usize) -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        server.connect().batch_execute("create table if not exists load (id int)").unwrap();
        let work = |mut client: postgres::Client, stop: Arc<AtomicBool>| {
            move || {
                while !stop.load(Ordering::Relaxed) {
                    // The server may be stopped meanwhile.
                    let inserted = client.batch_execute("insert into load values (1)");
                    if inserted.is_err()
                        || client.batch_execute("begin; insert into load values (2); rollback").is_err()
                    {
                        return;
                    }
                }
            }
        };
        let threads = (0..clients).map(|_| std::thread::spawn(work(server.connect(), Arc::clone(&stop)))).collect();
        Load { stop, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic of a client is its test's to find.
            let _ = thread.join();
        }
    }
}

/// A name that would be markup if it were taken for it.
const GID: &str = "<img src=x onerror=window.broken=1>";

fn prepare(server: &Server) {
    let mut client = server.connect();
    client.batch_execute("create table p (id int)").unwrap();
    client.batch_execute(&format!("begin; insert into p values (1); prepare transaction '{GID}'")).unwrap();
}

#[test]
fn the_figures_are_those_of_a_server_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let server = Server::start_with(folder.path(), free_port(), &[], &["--dashboard", &address]);
    server.wait_for_log(&format!("the dashboard is at http://{address}/"));
    prepare(&server);
    let load = Load::start(&server, 4);
    let mut waiting = server.connect();
    let mut holder = server.connect();
    holder.batch_execute("create table held (id int)").unwrap();
    holder.batch_execute("begin; lock table held").unwrap();
    let blocked = std::thread::spawn(move || waiting.batch_execute("select count(*) from held").is_ok());
    let shown = wait_for(port, "a lock wait under load", |data| {
        let waits = data["now"]["waits"].as_array();
        data["lately"]["commits_a_second"].as_f64().is_some_and(|rate| rate > 0.0)
            && waits.is_some_and(|waits| waits.iter().any(|wait| wait["type"] == "Lock" && wait["event"] == "relation"))
    });
    holder.batch_execute("rollback").unwrap();
    assert!(blocked.join().unwrap());
    let (now, lately) = (&shown["now"], &shown["lately"]);
    assert!(lately["rollbacks_a_second"].as_f64().unwrap() > 0.0);
    let latency: Vec<u64> =
        ["p50", "p90", "p99", "max"].iter().map(|name| lately["latency_us"][name].as_u64().unwrap()).collect();
    assert!(latency[0] > 0 && latency.is_sorted(), "{latency:?}");
    for figure in ["flushes_a_second", "syncs_a_second", "commits_per_sync", "cohort_size_mean", "sync_mean_us"] {
        assert!(lately[figure].as_f64().unwrap() > 0.0, "{figure}: {lately}");
    }
    assert_eq!((&now["prepared_count"], &now["prepared"][0]["gid"]), (&1.into(), &GID.into()));
    assert!(now["oldest_prepared_us"].as_u64().unwrap() > 0);
    assert!(now["durable_lsn"].as_u64().unwrap() <= now["inserted_lsn"].as_u64().unwrap());
    let sessions: u64 = now["sessions"].as_array().unwrap().iter().map(|entry| entry["count"].as_u64().unwrap()).sum();
    assert!(sessions >= 6, "{now}");
    let charts = shown["charts"].as_object().unwrap();
    assert_eq!(charts.len(), 12);
    assert!(charts.values().all(|svg| svg.as_str().unwrap().starts_with("<svg")));
    drop((load, holder));
    server.stop();
}

#[test]
fn only_looks_are_answered_and_only_by_a_name_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let server = Server::start(folder.path(), &[&format!("dashboard_listen=127.0.0.1:{port}")]);
    for (path, kind) in [
        ("/", "text/html"),
        ("/dashboard.js", "text/javascript"),
        ("/dashboard.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
        ("/data", "application/json"),
    ] {
        let (head, body) = request(port, &format!("GET {path}"));
        let head = head.to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 ok") && !body.is_empty(), "{path}: {head}");
        for header in [
            &*format!("content-type: {kind}"),
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "content-security-policy: default-src 'none'; script-src 'self';",
        ] {
            assert!(head.contains(header), "{path} lacks {header}: {head}");
        }
        assert!(!head.contains("access-control-allow-origin"), "{head}");
        assert!(!body.contains("http://") || path == "/icon.svg" || path == "/data", "{path} names another place");
    }
    for (line, status) in [("GET /other", "404"), ("POST /data", "405"), ("DELETE /", "405"), ("HEAD /data", "200")] {
        let (head, body) = request(port, line);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{line}: {head}");
        assert_eq!(status == "405", head.to_ascii_lowercase().contains("allow: get, head"), "{head}");
        assert_eq!(body.is_empty(), line.starts_with("HEAD"), "{line}: {body}");
    }
    // A name that somebody lets point to this machine is not ours.
    for (host, status) in [("evil.example", "421"), ("127.0.0.1:1", "200"), ("[::1]", "200"), ("", "421")] {
        let (head, body) = request_as(port, "GET /data", host);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {head}");
        assert!(status == "200" || !body.contains("now"), "{body}");
    }
    server.stop();
}

#[test]
fn those_who_only_hold_connections_do_not_hold_the_server_up() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let server = Server::start(folder.path(), &[&format!("dashboard_listen=127.0.0.1:{port}")]);
    let idle: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let mut client = server.connect();
    client.batch_execute("create table t (id int); insert into t values (1)").unwrap();
    drop(idle);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !try_request(port, "GET /data", "localhost").is_ok_and(|(head, _)| head.starts_with("HTTP/1.1 200")) {
        assert!(Instant::now() < deadline, "it does not answer any more");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(client);
    server.stop();
}

#[test]
fn a_browser_shows_it_and_says_when_the_server_is_gone_and_back() {
    let Some(program) = browser::program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (port, dashboard) = (free_port(), free_port());
    let start = || Server::start_at(folder.path(), port, &[&format!("dashboard_listen=127.0.0.1:{dashboard}")]);
    let server = start();
    prepare(&server);
    let load = Load::start(&server, 4);
    wait_for(dashboard, "load", |data| data["lately"]["commits_a_second"].as_f64().is_some_and(|rate| rate > 0.0));

    let mut browser = Browser::start(program, folder.path());
    browser.open(&format!("http://127.0.0.1:{dashboard}/"));
    let commits = "[...document.querySelectorAll('#tiles dt')].find(name => name.textContent === 'Commits')\
                   ?.nextSibling.textContent";
    browser.wait_until(&format!("parseFloat(({commits}) ?? '0') > 0"));
    browser.wait_until("document.querySelectorAll('#charts figure svg').length === 12");
    let drawn = "document.querySelector('#chart-transactions svg').querySelectorAll('polyline, path').length > 2";
    assert_eq!(browser.evaluate(drawn), Value::Bool(true));
    // The colours are the page's.
    let colours =
        "getComputedStyle(document.querySelector('#chart-transactions polyline[stroke*=\"series-1\"]')).stroke";
    let light = browser.evaluate(colours);
    let features = serde_json::json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.call("Emulation.setEmulatedMedia", features);
    assert_ne!(light, browser.evaluate(colours), "dark is not light");
    let text = browser.evaluate("document.getElementById('tables').innerText");
    assert!(text.as_str().unwrap().contains(GID), "{text}");
    assert_eq!(browser.evaluate("window.broken === undefined"), Value::Bool(true));
    // A phone's width: nothing sticks out.
    let phone = serde_json::json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true });
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    assert_eq!(browser.evaluate("document.documentElement.scrollWidth <= 390"), Value::Bool(true));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);

    drop(load);
    server.stop();
    browser.wait_until("document.getElementById('state').textContent.startsWith('No connection since ')");
    // That the requests failed is what the browser may complain of meanwhile.
    let server = start();
    browser.wait_until("document.getElementById('state').textContent.startsWith('Live')");
    let failed = browser.complaints.iter().all(|complaint| complaint.contains("Failed to load resource"));
    assert!(failed, "{:?}", browser.complaints);
    drop(browser);
    server.stop();
}
