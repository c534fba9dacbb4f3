//! Metrics over HTTP: what the statistics views show, in the text format that Prometheus reads.
//!
//! One thread serves `GET /metrics`. The figures are read when they are asked for, so that nobody pays for them but the one
//! who asks. Counters are those of the engine since it was opened, whatever sessions have set back for their views.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use base::Result;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Request, Response, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use sql::Instance;

use crate::figures::Figures;
use crate::http::{HttpServer, Purpose};

const TEXT_FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PURPOSE: Purpose = Purpose { setting: "metrics_listen", what: "metrics", example: "127.0.0.1:9187" };
/// Upper bounds of histograms, as powers of two: a cohort of 16,384 members, a sync or a commit of 8 seconds.
const MEMBERS_CLASSES: usize = 15;
const TIME_CLASSES: usize = 24;

/// Where the figures come from.
struct Source(Arc<Instance>);

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}

/// A thread that answers `GET /metrics`; it ends when this is dropped.
pub struct MetricsServer(HttpServer);

impl MetricsServer {
    /// Serves the figures of `instance` and its database on `address`, which is `host:port` (`metrics_listen`).
    ///
    /// # Errors
    /// 22023 for what is no address; 58030 when it can't be listened on.
    pub fn start(address: &str, instance: Arc<Instance>) -> Result<MetricsServer> {
        let mut registry = Registry::with_prefix("cohort");
        registry.register_collector(Box::new(Source(instance)));
        let answer = move |request: &Request<Incoming>| answer(request.uri().path(), &registry);
        HttpServer::start(&PURPOSE, address, Arc::new(answer), None).map(MetricsServer)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

fn answer(path: &str, registry: &Registry) -> Response<String> {
    let mut body = String::new();
    let mut response = Response::builder();
    if path == "/metrics" {
        response = response.header(CONTENT_TYPE, TEXT_FORMAT);
        text::encode(&mut body, registry).expect("a String takes any text");
    } else {
        response = response.status(StatusCode::NOT_FOUND);
        body.push_str("Metrics are at /metrics.\n");
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
        self.buckets(name, help, of.classes(), of.sum as f64 * unit, unit, classes)
    }

    /// The same of classes with their upper bounds, of which those between two powers of two are put together.
    fn buckets(
        &mut self,
        name: &str,
        help: &str,
        of: impl Iterator<Item = (u64, u64)>,
        sum: f64,
        unit: f64,
        classes: usize,
    ) -> Written {
        let mut buckets: Vec<(f64, u64)> = (0..classes).map(|class| (((1u64 << class) - 1) as f64 * unit, 0)).collect();
        buckets.push((f64::INFINITY, 0));
        let mut all = 0;
        for (upto, count) in of {
            let class = (u64::BITS - upto.leading_zeros()) as usize;
            buckets[class.min(classes)].1 += count;
            all += count;
        }
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        encoder.encode_histogram::<NoLabelSet>(sum, all, &buckets, None)
    }
}

impl Collector for Source {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Written {
        let mut families = Families(encoder);
        Figures::read(&self.0).encode(&mut families)
    }
}

impl Figures {
    fn encode(&self, families: &mut Families<'_>) -> Written {
        self.encode_sessions(families)?;
        self.encode_transactions(families)?;
        self.encode_log(families)?;
        self.encode_commit_log(families)?;
        self.encode_latches(families)?;
        self.encode_serializable(families)?;
        self.encode_pages(families)
    }

    fn encode_sessions(&self, families: &mut Families<'_>) -> Written {
        let counts = self.sessions.map(|(activity, count)| ([("state", activity.name())], count as f64));
        families.gauges("sessions", "Sessions by what they do", &counts)?;
        let waits: Vec<_> = self
            .waits
            .iter()
            .map(|(wait, count)| ([("type", wait.kind), ("event", wait.event)], *count as f64))
            .collect();
        families.gauges("session_waits", "Sessions by what they wait for", &waits)?;
        let help = "Time limits of statements and transactions that are running, at most two for each session";
        families.gauge("time_limits", help, self.time_limits as f64)?;
        let help = "Transactions in progress that have an identifier, without those that are prepared";
        families.gauge("running_transactions", help, self.running as f64)?;
        let help = "Commits whose status bits are not set yet";
        families.gauge("unretired_commits", help, self.unretired as f64)?;
        families.gauge("prepared_transactions", "Prepared transactions", self.prepared.len() as f64)?;
        let help = "Age of the oldest prepared transaction";
        families.gauge("oldest_prepared_transaction_age_seconds", help, self.oldest_prepared_us() as f64 / 1e6)
    }

    fn encode_transactions(&self, families: &mut Families<'_>) -> Written {
        let transactions = &self.statistics.transactions;
        let ends =
            [([("end", "committed")], transactions.committed), ([("end", "rolled back")], transactions.rolled_back)];
        families.counters("transactions", "Transactions by how they ended", &ends)?;
        let latency = &transactions.commit_latency;
        let help = "Time of each commit that was waited for, from its record to its being durable";
        let sum = latency.sum_us as f64 / 1e6;
        families.buckets("commit_latency_seconds", help, latency.classes(), sum, 1e-6, TIME_CLASSES)
    }

    fn encode_log(&self, families: &mut Families<'_>) -> Written {
        let log = &self.statistics.wal;
        families.counter("wal_records", "Records inserted into the log", log.records)?;
        families.counter("wal_bytes", "Bytes inserted into the log", log.bytes)?;
        families.counter("wal_buffers_full", "Waits for room in the log's buffers", log.buffers_full)?;
        families.counter("wal_writes", "Writes of the log", log.writes)?;
        families.counter("wal_syncs", "Syncs of the log", log.syncs)?;
        families.seconds_counter("wal_write_seconds", "Time spent in writes of the log", log.write_time_us)?;
        let lag = self.reserved.saturating_sub(self.durable);
        families.gauge("wal_undurable_bytes", "Bytes of the log that are not durable yet", lag as f64)?;
        let help = "Members of each cohort: who waited for the same flush";
        families.histogram("cohort_members", help, &log.cohort_members, 1.0, MEMBERS_CLASSES)?;
        let help = "Time of each sync of the log";
        families.histogram("wal_sync_seconds", help, &log.sync_time_us, 1e-6, TIME_CLASSES)?;
        let leaders = [([("by", "committer")], log.led_by_committer), ([("by", "flusher")], log.led_by_flusher)];
        families.counters("flushes_led", "Flushes by who led them", &leaders)?;
        families.counter("already_durable", "Requests that found their records durable", log.already_durable)?;
        families.counter("commit_delays", "Delays that leaders took", log.delays_taken)?;
        let help = "Delays that ended early since all others had joined";
        families.counter("commit_delays_cut_short", help, log.delays_cut_short)?;
        families.seconds_counter("commit_delay_seconds", "Time spent in delays", log.delay_time_us)
    }

    fn encode_commit_log(&self, families: &mut Families<'_>) -> Written {
        let (groups, members) = self.clog_groups;
        families.counter("clog_groups", "Groups that set their status bits together", groups)?;
        families.counter("clog_group_members", "Transactions in these groups", members)?;
        let cache = &self.commit_log;
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

    fn encode_serializable(&self, families: &mut Families<'_>) -> Written {
        let aborts: Vec<_> =
            self.serialization_failures.iter().map(|(reason, count)| ([("reason", *reason)], *count)).collect();
        families.counters("serialization_failures", "Transactions sacrificed, by reason", &aborts)?;
        let ssi = &self.serializable;
        families.counter("ssi_transactions", "Transactions whose reads were watched", ssi.begun)?;
        families.counter("ssi_conflicts", "Conflicts between reads and writes", ssi.conflicts)?;
        families.gauge("ssi_active_transactions", "Serializable transactions in progress", ssi.active as f64)?;
        families.gauge("ssi_predicate_locks", "Predicate locks", ssi.predicate_locks as f64)
    }

    fn encode_pages(&self, families: &mut Families<'_>) -> Written {
        let (checkpoints, buffer) = (&self.statistics.checkpoints, &self.statistics.buffer);
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

    /// The columns of `cohort_stat_latches`.
    fn encode_latches(&self, families: &mut Families<'_>) -> Written {
        let classes = &self.latches;
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
}
