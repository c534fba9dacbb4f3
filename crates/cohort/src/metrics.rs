//! Metrics over HTTP: what the statistics views show, in the text format that Prometheus reads.
//!
//! One thread serves `GET /metrics`. The figures are read when they are asked for, so that nobody pays for them but the one
//! who asks. Counters are those of the engine since it was opened, whatever sessions have set back for their views.

use std::fmt;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use base::{Error, Result, sqlstate};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use sql::session::{Activity, Instance};
use sql::types::datetime::clock_micros;
use tokio::sync::oneshot;

const TEXT_FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Who has not sent a request by then is let go.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Upper bounds of histograms, as powers of two: a cohort of 16,384 members, a sync of 8 seconds.
const MEMBERS_CLASSES: usize = 15;
const SYNC_TIME_CLASSES: usize = 24;

/// Where the figures come from.
struct Source(Arc<Instance>);

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}

/// A thread that answers `GET /metrics`; it ends when this is dropped.
pub struct MetricsServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl MetricsServer {
    /// Serves the figures of `instance` and its database on `address`, which is `host:port` (`metrics_listen`).
    ///
    /// # Errors
    /// 22023 for what is no address; 58030 when it can't be listened on.
    pub fn start(address: &str, instance: Arc<Instance>) -> Result<MetricsServer> {
        let listener = listen(address)?;
        let failed = |error: std::io::Error| Error::io(format!("could not serve metrics on \"{address}\""), &error);
        let local_address = listener.local_addr().map_err(failed)?;
        let mut registry = Registry::with_prefix("cohort");
        registry.register_collector(Box::new(Source(instance)));
        let registry = Arc::new(registry);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let listener = {
            let _runtime = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(failed)?
        };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    tokio::spawn(accept_all(listener, registry));
                    // That the sender is gone is the message.
                    let _ = stopped.await;
                });
            })
            .map_err(failed)?;
        Ok(MetricsServer { address: local_address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            eprintln!("cohort: the metrics thread panicked");
        }
    }
}

fn listen(address: &str) -> Result<TcpListener> {
    let invalid = || {
        Error::new(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"metrics_listen\": \"{address}\""),
        )
        .hint("It is a host and a port, as in \"127.0.0.1:9187\".")
    };
    let (host, port) = address.rsplit_once(':').ok_or_else(invalid)?;
    if host.is_empty() || port.parse::<u16>().is_err() {
        return Err(invalid());
    }
    let failed = |error: std::io::Error| {
        let what = format!("could not listen on \"{address}\" for metrics");
        Error::io(what, &error).hint("Set metrics_listen to an address of this machine that is free, or to nothing.")
    };
    let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(failed)?.collect();
    let listener = TcpListener::bind(&*addresses).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

async fn accept_all(listener: tokio::net::TcpListener, registry: Arc<Registry>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let registry = Arc::clone(&registry);
                tokio::spawn(async move {
                    let service = service_fn(|request| {
                        let answer = answer(&request, &registry);
                        async move { Ok::<_, std::convert::Infallible>(answer) }
                    });
                    // A client that goes away, or sends what is no request, is no concern of ours.
                    let _ = http1::Builder::new()
                        .timer(TokioTimer::new())
                        .header_read_timeout(REQUEST_TIMEOUT)
                        .keep_alive(false)
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
            // Out of descriptors, most likely: some may be free soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

fn answer(request: &Request<Incoming>, registry: &Registry) -> Response<String> {
    let mut body = String::new();
    let mut response = Response::builder();
    if request.uri().path() != "/metrics" {
        response = response.status(StatusCode::NOT_FOUND);
        body.push_str("Metrics are at /metrics.\n");
    } else if !matches!(*request.method(), Method::GET | Method::HEAD) {
        response = response.status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD");
    } else {
        response = response.header(CONTENT_TYPE, TEXT_FORMAT);
        text::encode(&mut body, registry).expect("a String takes any text");
    }
    response.body(body).expect("all headers are constants")
}

/// Writes one family of metrics after the other.
struct Families<'e>(DescriptorEncoder<'e>);

type Written = std::result::Result<(), fmt::Error>;

impl Families<'_> {
    fn counter(&mut self, name: &str, help: &str, value: u64) -> Written {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        encoder.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    fn seconds_counter(&mut self, name: &str, help: &str, microseconds: u64) -> Written {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        encoder.encode_counter::<NoLabelSet, _, f64>(&(microseconds as f64 / 1e6), None)
    }

    fn counters<L: EncodeLabelSet>(&mut self, name: &str, help: &str, values: &[(L, u64)]) -> Written {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        values.iter().try_for_each(|(labels, value)| {
            encoder.encode_family(labels)?.encode_counter::<NoLabelSet, _, f64>(value, None)
        })
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) -> Written {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn gauges<L: EncodeLabelSet>(&mut self, name: &str, help: &str, values: &[(L, f64)]) -> Written {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        values.iter().try_for_each(|(labels, value)| encoder.encode_family(labels)?.encode_gauge(value))
    }

    /// A histogram in units of `unit`, with as many bounds as `classes`.
    fn histogram(&mut self, name: &str, help: &str, of: &engine::Histogram, unit: f64, classes: usize) -> Written {
        let (within, beyond): (Vec<_>, Vec<_>) = of.classes().enumerate().partition(|(class, _)| *class < classes);
        let mut buckets: Vec<(f64, u64)> =
            within.into_iter().map(|(_, (upto, count))| (upto as f64 * unit, count)).collect();
        buckets.push((f64::INFINITY, beyond.into_iter().map(|(_, (_, count))| count).sum()));
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        encoder.encode_histogram::<NoLabelSet>(of.sum as f64 * unit, of.count, &buckets, None)
    }
}

impl Collector for Source {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Written {
        let mut families = Families(encoder);
        self.sessions(&mut families)?;
        self.commits(&mut families)?;
        self.commit_log(&mut families)?;
        latches(&mut families)?;
        self.serializable(&mut families)?;
        self.pages(&mut families)
    }
}

impl Source {
    fn sessions(&self, families: &mut Families<'_>) -> Written {
        let sessions = self.0.sessions();
        let states = [Activity::Active, Activity::Idle, Activity::IdleInTransaction, Activity::IdleInFailedTransaction];
        let counts = states.map(|state| {
            let count = sessions.iter().filter(|session| session.activity() == state).count();
            ([("state", state.name())], count as f64)
        });
        families.gauges("sessions", "Sessions by what they do", &counts)?;
        let transactions = self.0.database().transactions();
        let prepared = transactions.prepared_transactions();
        let running = transactions.running().len().saturating_sub(prepared.len()) as f64;
        let help = "Transactions in progress that have an identifier, without those that are prepared";
        families.gauge("running_transactions", help, running)?;
        let unretired = transactions.unretired() as f64;
        families.gauge("unretired_commits", "Commits whose status bits are not set yet", unretired)?;
        families.gauge("prepared_transactions", "Prepared transactions", prepared.len() as f64)?;
        let oldest = prepared.iter().map(|prepared| prepared.at_micros).min();
        let age_us = oldest.map_or(0, |oldest| (clock_micros() - oldest).max(0));
        let help = "Age of the oldest prepared transaction";
        families.gauge("oldest_prepared_transaction_age_seconds", help, age_us as f64 / 1e6)
    }

    fn commits(&self, families: &mut Families<'_>) -> Written {
        let database = self.0.database();
        let log = database.statistics().wal;
        families.counter("wal_records", "Records inserted into the log", log.records)?;
        families.counter("wal_bytes", "Bytes inserted into the log", log.bytes)?;
        families.counter("wal_buffers_full", "Waits for room in the log's buffers", log.buffers_full)?;
        families.counter("wal_writes", "Writes of the log", log.writes)?;
        families.counter("wal_syncs", "Syncs of the log", log.syncs)?;
        families.seconds_counter("wal_write_seconds", "Time spent in writes of the log", log.write_time_us)?;
        let lag = database.wal().reserved().0.saturating_sub(database.wal().durable().0);
        families.gauge("wal_undurable_bytes", "Bytes of the log that are not durable yet", lag as f64)?;
        let help = "Members of each cohort: who waited for the same flush";
        families.histogram("cohort_members", help, &log.cohort_members, 1.0, MEMBERS_CLASSES)?;
        let help = "Time of each sync of the log";
        families.histogram("wal_sync_seconds", help, &log.sync_time_us, 1e-6, SYNC_TIME_CLASSES)?;
        let leaders = [([("by", "committer")], log.led_by_committer), ([("by", "flusher")], log.led_by_flusher)];
        families.counters("flushes_led", "Flushes by who led them", &leaders)?;
        families.counter("already_durable", "Requests that found their records durable", log.already_durable)?;
        families.counter("commit_delays", "Delays that leaders took", log.delays_taken)?;
        let help = "Delays that ended early since all others had joined";
        families.counter("commit_delays_cut_short", help, log.delays_cut_short)?;
        families.seconds_counter("commit_delay_seconds", "Time spent in delays", log.delay_time_us)
    }

    fn commit_log(&self, families: &mut Families<'_>) -> Written {
        let clog = self.0.database().status().clog();
        let groups = clog.group_statistics();
        families.counter("clog_groups", "Groups that set their status bits together", groups.groups)?;
        families.counter("clog_group_members", "Transactions in these groups", groups.members)?;
        let cache = clog.statistics();
        let counters = [
            ("slru_hits", "Pages found in the cache", cache.hits),
            ("slru_reads", "Pages read", cache.reads),
            ("slru_writes", "Pages written", cache.writes),
            ("slru_zeroed", "Pages made as zeros", cache.zeroed),
            ("slru_flushes", "Flushes of all changed pages", cache.flushes),
            ("slru_truncates", "Truncations", cache.truncates),
        ];
        counters
            .into_iter()
            .try_for_each(|(name, help, value)| families.counters(name, help, &[([("cache", "Xact")], value)]))
    }

    fn serializable(&self, families: &mut Families<'_>) -> Written {
        let ssi = self.0.database().transactions().ssi().statistics();
        let aborts: Vec<_> = engine::SERIALIZATION_FAILURES
            .iter()
            .zip(ssi.aborts)
            .map(|(reason, count)| ([("reason", *reason)], count))
            .collect();
        families.counters("serialization_failures", "Transactions sacrificed, by reason", &aborts)?;
        families.counter("ssi_transactions", "Transactions whose reads were watched", ssi.begun)?;
        families.counter("ssi_conflicts", "Conflicts between reads and writes", ssi.conflicts)?;
        families.gauge("ssi_active_transactions", "Serializable transactions in progress", ssi.active as f64)?;
        families.gauge("ssi_predicate_locks", "Predicate locks", ssi.locks as f64)
    }

    fn pages(&self, families: &mut Families<'_>) -> Written {
        let statistics = self.0.database().statistics();
        let (checkpoints, buffer) = (statistics.checkpoints, statistics.buffer);
        let causes = [([("cause", "timed")], checkpoints.timed), ([("cause", "requested")], checkpoints.requested)];
        families.counters("checkpoints", "Checkpoints by cause", &causes)?;
        families.counter("checkpoint_pages", "Pages written by checkpoints", checkpoints.pages)?;
        families.seconds_counter("checkpoint_seconds", "Time spent in checkpoints", checkpoints.write_us)?;
        families.counter("buffer_hits", "Pages found in the page cache, at least", buffer.hits)?;
        families.counter("buffer_reads", "Pages read into the page cache", buffer.reads)?;
        families.counter("buffer_evictions", "Pages that gave their frame to another", buffer.evictions)?;
        let written = [
            ([("by", "eviction")], buffer.written_by_eviction),
            ([("by", "cleaner")], buffer.written_by_cleaner),
            ([("by", "checkpoint")], buffer.written_by_checkpoint),
        ];
        families.counters("buffer_writes", "Pages written from the page cache", &written)
    }
}

/// The columns of `cohort_stat_latches`.
fn latches(families: &mut Families<'_>) -> Written {
    let classes: Vec<_> = sync::latch_classes().into_iter().map(|class| (class.name, class.totals())).collect();
    let by_mode: Vec<_> = classes
        .iter()
        .flat_map(|(name, totals)| {
            [("shared", totals.shared), ("exclusive", totals.exclusive)]
                .map(|(mode, count)| ([("latch", *name), ("mode", mode)], count))
        })
        .collect();
    families.counters("latch_acquisitions", "Latches taken", &by_mode)?;
    let mut each = |name: &str, help: &str, of: fn(&sync::LatchCounters) -> u64| {
        let values: Vec<_> = classes.iter().map(|(name, totals)| ([("latch", *name)], of(totals))).collect();
        families.counters(name, help, &values)
    };
    each("latch_blocked", "Times a thread was put to sleep for a latch", |totals| totals.blocked)?;
    each("latch_spins", "Rounds spun for a latch", |totals| totals.spins)?;
    each("latch_dequeued", "Times a thread that was about to sleep found the latch free", |totals| totals.dequeued)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_refused_plainly() {
        for address in ["nonsense", ":9187", "127.0.0.1:", "127.0.0.1:port", "127.0.0.1:99999"] {
            let error = listen(address).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate::INVALID_PARAMETER_VALUE, "{address}");
            assert!(error.to_string().contains(address), "{error}");
        }
        let taken = listen("127.0.0.1:0").unwrap();
        let error = listen(&taken.local_addr().unwrap().to_string()).unwrap_err();
        assert!(error.to_string().contains("could not listen on"), "{error}");
    }
}
