//! A page that shows the server at work: transactions, their latency, cohorts, syncs, waits, prepared transactions.
//!
//! It shows the same [`Figures`] as the metrics, read once a second on the dashboard's own thread; the charts show how the figures
//! change ([`history`]). They are read even if nobody looks at the page, so that a newly opened page shows the last minutes and not an
//! empty chart. A reading takes 0.2 milliseconds with a few sessions and two milliseconds with nine thousand, once a second, and only
//! on a server that was told to serve a dashboard. Charts are drawn on request, once for all requests within a second.
//!
//! The page sends a request each second. No connection stays open between two requests, so neither a slow reader nor one that is gone
//! holds resources here, and the page finds the server again after a restart.
//!
//! | path | what |
//! | --- | --- |
//! | `/` | the page, and `/dashboard.js`, `/dashboard.css`, `/icon.svg`, all in the program |
//! | `/data` | what it shows, as JSON; the charts in it are SVG |
//!
//! There is no password, so the dashboard should listen on a loopback address. The data must not leave the machine through a browser
//! either. Another site's page can't read the answers, because nothing here allows it (no CORS). If that site makes a host name of its
//! own point to this machine, requests under this name are refused ([`crate::http`]).

mod charts;
mod history;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base::Result;
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};
use sql::Instance;
use sync::Mutex;

use crate::figures::Figures;
use crate::http::{Chore, HttpServer, Purpose};
use history::{History, Interval};

const PURPOSE: Purpose = Purpose { setting: "dashboard_listen", what: "the dashboard", example: "127.0.0.1:8432" };
const EVERY: Duration = Duration::from_secs(1);
/// Prepared transactions that are named, the oldest first.
const PREPARED_SHOWN: usize = 20;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("dashboard.js");
const STYLE: &str = include_str!("dashboard.css");
const ICON: &str = include_str!("icon.svg");

/// Nothing from elsewhere, nothing in line, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A thread that serves the dashboard; it ends when this is dropped.
pub struct Dashboard(HttpServer);

impl Dashboard {
    /// Shows `instance` and its database on `address`, which is `host:port` (`dashboard_listen`).
    ///
    /// # Errors
    /// 22023 for what is no address; 58030 when it can't be listened on.
    pub fn start(address: &str, instance: Arc<Instance>) -> Result<Dashboard> {
        let shown = Arc::new(Shown { history: Mutex::new(History::default()), drawn: Mutex::default() });
        let chore = {
            let shown = Arc::clone(&shown);
            Chore { every: EVERY, run: Box::new(move || shown.history.lock().push(Figures::read(&instance))) }
        };
        let answer = move |request: &Request<Incoming>| {
            let ok = |kind, body: &str| respond(StatusCode::OK, kind, body.to_owned());
            match request.uri().path() {
                "/" => ok("text/html; charset=utf-8", PAGE),
                "/dashboard.js" => ok("text/javascript; charset=utf-8", SCRIPT),
                "/dashboard.css" => ok("text/css; charset=utf-8", STYLE),
                "/icon.svg" => ok("image/svg+xml", ICON),
                "/data" => ok("application/json", &shown.data()),
                _ => {
                    let where_then = "The dashboard is at /.\n".to_owned();
                    respond(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", where_then)
                }
            }
        };
        HttpServer::start(&PURPOSE, address, Arc::new(answer), Some(chore)).map(Dashboard)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

fn respond(status: StatusCode, kind: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Data for the page.
struct Shown {
    history: Mutex<History>,
    /// The number of samples that the last answer was made from, and that answer.
    drawn: Mutex<(u64, String)>,
}

impl Shown {
    /// The page's data. Made once per sample, however many ask.
    fn data(&self) -> String {
        let history = self.history.lock();
        let mut drawn = self.drawn.lock();
        if drawn.1.is_empty() || drawn.0 != history.samples_taken() {
            *drawn = (history.samples_taken(), data(&history).to_string());
        }
        drawn.1.clone()
    }
}

fn data(history: &History) -> Value {
    let charts: serde_json::Map<String, Value> =
        charts::draw(history).into_iter().map(|(name, svg)| (name.to_owned(), svg.into())).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "samples": history.samples_taken(),
        "now": history.newest().map(now),
        "lately": history.lately().as_ref().map(lately),
        "charts": charts,
    })
}

/// Returns the present state as JSON.
fn now(figures: &Figures) -> Value {
    let sessions: Vec<_> =
        figures.sessions.iter().map(|(activity, count)| json!({ "state": activity.name(), "count": count })).collect();
    let waits: Vec<_> = figures
        .waits
        .iter()
        .map(|(wait, count)| json!({ "type": wait.kind, "event": wait.event, "count": count }))
        .collect();
    let prepared: Vec<_> = figures
        .prepared
        .iter()
        .take(PREPARED_SHOWN)
        .map(|(prepared, age_us)| json!({ "gid": prepared.gid.as_str(), "age_us": age_us }))
        .collect();
    json!({
        "sessions": sessions,
        "waits": waits,
        "prepared": prepared,
        "prepared_count": figures.prepared.len(),
        "oldest_prepared_us": figures.oldest_prepared_us(),
        "running": figures.running,
        "unretired": figures.unretired,
        "inserted_lsn": figures.reserved,
        "durable_lsn": figures.durable,
        "undurable_bytes": figures.reserved.saturating_sub(figures.durable),
    })
}

/// Returns rates and latencies of the last seconds as JSON.
fn lately(interval: &Interval) -> Value {
    let named = |counts: &[(&'static str, u64)]| -> Vec<Value> {
        counts.iter().map(|(name, count)| json!({ "name": name, "a_second": interval.a_second(*count) })).collect()
    };
    let latency = |quantile| interval.latency.quantile_us(quantile);
    json!({
        "seconds": interval.seconds,
        "commits_a_second": interval.a_second(interval.committed),
        "rollbacks_a_second": interval.a_second(interval.rolled_back),
        "latency_us": { "p50": latency(0.5), "p90": latency(0.9), "p99": latency(0.99), "max": latency(1.0) },
        "flushes_a_second": interval.a_second(interval.cohort_members.count),
        "syncs_a_second": interval.a_second(interval.sync_time_us.count),
        "commits_per_sync": interval.commits_per_sync(),
        "cohort_size_mean": (interval.cohort_members.count > 0).then(|| interval.cohort_members.mean()),
        "sync_mean_us": (interval.sync_time_us.count > 0).then(|| interval.sync_time_us.mean()),
        "sync_longest_us": history::longest(&interval.sync_time_us),
        "log_bytes_a_second": interval.a_second(interval.log_bytes),
        "serialization_failures": named(&interval.serialization_failures),
        "latch_waits": named(&interval.latch_waits),
    })
}
