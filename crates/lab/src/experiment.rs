//! The experiments: what is run, under which configurations, and what was published.

use std::time::Duration;

use base::Result;
use engine::{ClogUpdate, TwophaseState};
use serde::Serialize;
use sync::Arc;
use sync::atomic::{AtomicBool, Ordering};

use crate::disk::Disk;
use crate::driver::{Driver, DriverKind, EngineCounts, LatchCounts, Measurement, Round, Switches, Workload};
use crate::load::Load;
use crate::wire::ServerKind;

/// One experiment.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is about, in a sentence.
    pub about: &'static str,
    /// What was published, in a sentence.
    pub published: &'static str,
    /// What is compared, "before" first.
    pub configurations: &'static [Configuration],
    /// What is run.
    pub workloads: &'static [Workload],
    /// Client counts at full length.
    pub clients: &'static [usize],
    /// Client counts in a quick run.
    pub quick_clients: &'static [usize],
    /// Disks at full length.
    pub disks: &'static [Disk],
    /// Disks in a quick run.
    pub quick_disks: &'static [Disk],
    /// How many of the workloads, and of the configurations, a quick run takes; the first ones.
    pub quick_workloads: usize,
    /// See [`Experiment::quick_workloads`].
    pub quick_configurations: usize,
    /// What its verdict weighs.
    pub question: Question,
}

/// What an experiment asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// How much faster the last configuration is than the first.
    Gain,
    /// How much of the first configuration's throughput the second ("before") and the third ("after") keep.
    Cost(CostWords),
    /// How much less the commit log's latch is taken and waited for under the second and third configuration than under the
    /// first, and what that gains.
    Latch,
}

/// How the answer to [`Question::Cost`] is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostWords {
    /// What costs something.
    what: &'static str,
    /// In comparison to what.
    of: &'static str,
    /// How it was done before.
    before: &'static str,
    /// How it is done since.
    after: &'static str,
}

/// One side of a comparison.
pub struct Configuration {
    /// What reports call it.
    pub name: &'static str,
    /// Its switches.
    pub switches: Switches,
}

const DEFAULT: Switches = Switches::DEFAULT;
const ASYNCHRONOUS: Switches = Switches { synchronous_commit: false, ..DEFAULT };
const fn two_phase(state: TwophaseState) -> Switches {
    Switches { two_phase: Some(state), ..DEFAULT }
}
const SERIALIZABLE: Switches = Switches { serializable: true, ..ASYNCHRONOUS };
/// Rows of `sli_test`, and in a quick run.
const SLI_ROWS: i32 = 10_000_000;
const QUICK_SLI_ROWS: i32 = 100_000;
/// A 7200 rpm disk.
const SLOW_DISK: Disk = Disk::Slowed { sync_us: 8300 };

/// All experiments that are there, in the order of the list.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "group-commit",
        about: "One leader flushes for all that wait, where each committer took the log lock in turn before 9.2.",
        published: "PostgreSQL 9.2 on a laptop with a 7200 rpm disk (about 8 ms a sync): throughput rises with clients \
                    \"towards 14,000\" durable writes a second; before, it stayed near the rate of syncs.",
        configurations: &[
            Configuration { name: "group_commit=off", switches: Switches { group_commit: false, ..DEFAULT } },
            Configuration { name: "group_commit=on", switches: DEFAULT },
        ],
        workloads: &[Workload::Insert, Workload::Update],
        clients: &[1, 8, 32, 128],
        quick_clients: &[1, 32],
        disks: &[Disk::Real, SLOW_DISK],
        quick_disks: &[Disk::Real, SLOW_DISK],
        quick_workloads: 1,
        quick_configurations: 2,
        question: Question::Gain,
    },
    Experiment {
        name: "commit-delay",
        about: "Only the leader waits commit_delay, where every committer slept the full delay before 9.3.",
        published: "PostgreSQL 9.3, delay 10 us: 32 clients 18,232 -> 20,018 tps, 128 clients 10,658 -> 39,261 tps; and \
                    at half of a slow disk's sync time (4000 us) further gains.",
        configurations: &[
            Configuration {
                name: "4000us, each waits",
                switches: Switches { commit_delay_us: Some(4000), delay_each: true, ..DEFAULT },
            },
            Configuration { name: "no delay", switches: DEFAULT },
            Configuration {
                name: "10us, each waits",
                switches: Switches { commit_delay_us: Some(10), delay_each: true, ..DEFAULT },
            },
            Configuration { name: "10us, leader waits", switches: Switches { commit_delay_us: Some(10), ..DEFAULT } },
            Configuration {
                name: "4000us, leader waits",
                switches: Switches { commit_delay_us: Some(4000), ..DEFAULT },
            },
            Configuration { name: "auto, leader waits", switches: Switches { commit_delay_us: None, ..DEFAULT } },
        ],
        workloads: &[Workload::Insert],
        clients: &[32, 128],
        quick_clients: &[32],
        disks: &[Disk::Real, SLOW_DISK],
        quick_disks: &[SLOW_DISK],
        quick_workloads: 1,
        quick_configurations: 6,
        question: Question::Gain,
    },
    Experiment {
        name: "clog-group",
        about: "Status bits of transactions are set by each for itself, by groups that meet at the commit log's latch \
                (PostgreSQL 11's way), or by a flush's leader for its whole cohort. read-write is pgbench's own script on 300 \
                branches and 100,000 accounts, all in memory; insert a single row.",
        published: "PostgreSQL's patch for groups, pgbench read-write in memory, 64 cores, 64 to 300 clients: +15 % at scale \
                    300, +15 to +41 % at high client counts, about +5 % at 64; a process took the latch 326,000 -> 176,000 \
                    times and slept for it 204,000 -> 115,000 times.",
        configurations: &[
            Configuration { name: "each", switches: Switches { clog_update: ClogUpdate::Each, ..DEFAULT } },
            Configuration { name: "group", switches: Switches { clog_update: ClogUpdate::Group, ..DEFAULT } },
            Configuration { name: "cohort", switches: DEFAULT },
        ],
        workloads: &[Workload::ReadWrite, Workload::Insert],
        clients: &[64, 128, 300],
        quick_clients: &[128],
        disks: &[Disk::Real],
        quick_disks: &[Disk::Real],
        quick_workloads: 1,
        quick_configurations: 3,
        question: Question::Latch,
    },
    Experiment {
        name: "serializable",
        about: "What serializable transactions cost: a scan that is noted as a whole notes each row as well before 9.2, and \
                not since. sli_test reads one random row and updates another, synchronous_commit is off; count counts 10,000 \
                rows or updates one of them.",
        published: "PostgreSQL 9.2, sli_test with 10 million rows, 16 clients, serializable against read committed: \
                    19,208 of 25,234 tps = 0.76 before, 20,941 of 23,999 tps = 0.87 after.",
        configurations: &[
            Configuration { name: "read committed", switches: ASYNCHRONOUS },
            Configuration {
                name: "ser., per_tuple",
                switches: Switches { scan_locks_per_tuple: true, ..SERIALIZABLE },
            },
            Configuration { name: "ser., once", switches: SERIALIZABLE },
            Configuration { name: "ser., once, no retry", switches: Switches { retries: false, ..SERIALIZABLE } },
        ],
        workloads: &[Workload::ReadUpdate, Workload::CountUpdate],
        clients: &[16],
        quick_clients: &[16],
        disks: &[Disk::Real],
        quick_disks: &[Disk::Real],
        quick_workloads: 2,
        quick_configurations: 3,
        question: Question::Cost(CostWords {
            what: "serializable",
            of: "read committed",
            before: "with a lock tried for each tuple of a scan",
            after: "with one for the scan",
        }),
    },
    Experiment {
        name: "two-phase",
        about: "What two-phase commit costs: the state of a prepared transaction is written to a file of its own before \
                9.6, and lives in the log until a checkpoint since; here in memory besides, or read from the log again. transfer \
                updates two of 100,000 accounts; each phase is durable before what follows.",
        published: "PostgreSQL 9.6's patch: 22,000 tps with state files, 36,000 tps without, against 42,000 tps of the same \
                    with a plain COMMIT: 0.52 before, 0.86 after.",
        configurations: &[
            Configuration { name: "COMMIT", switches: DEFAULT },
            Configuration { name: "two-phase, file", switches: two_phase(TwophaseState::File) },
            Configuration { name: "two-phase, memory", switches: two_phase(TwophaseState::Memory) },
            Configuration { name: "two-phase, wal", switches: two_phase(TwophaseState::Wal) },
        ],
        workloads: &[Workload::Transfer],
        clients: &[16, 64],
        quick_clients: &[64],
        disks: &[Disk::Real],
        quick_disks: &[Disk::Real],
        quick_workloads: 1,
        quick_configurations: 4,
        question: Question::Cost(CostWords {
            what: "two-phase commit",
            of: "a plain COMMIT",
            before: "with a state file",
            after: "with its state in memory and in the log",
        }),
    },
];

/// How an experiment is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the engine is reached.
    pub driver: DriverKind,
    /// Another server, for the wire driver.
    pub against: Option<Against>,
    /// How transactions arrive.
    pub load: Load,
    /// Fewer clients and shorter rounds.
    pub quick: bool,
    /// Client counts in place of the experiment's own.
    pub clients: Option<Vec<usize>>,
    /// A disk in place of the experiment's own.
    pub disk: Option<Disk>,
    /// Rounds of each configuration.
    pub rounds: usize,
    /// Seconds of each round.
    pub seconds: f64,
    /// For the workload's randomness.
    pub seed: u64,
}

/// A server that is not started for the run.
#[derive(Clone, Debug)]
pub struct Against {
    /// Where it is.
    pub url: String,
    /// What it is.
    pub kind: ServerKind,
}

impl Against {
    /// The server at `url`.
    ///
    /// # Errors
    /// 08006 when it can't be reached.
    pub fn new(url: &str) -> Result<Against> {
        Ok(Against { url: url.to_owned(), kind: ServerKind::of(url)? })
    }
}

/// One line of a result: a configuration under a number of clients.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The workload.
    pub workload: &'static str,
    /// The disk.
    pub disk: String,
    /// How many clients.
    pub clients: usize,
    /// The configuration.
    pub configuration: String,
    /// Transactions a second: the median of the rounds.
    pub tps: f64,
    /// The lowest round.
    pub tps_lowest: f64,
    /// The highest round.
    pub tps_highest: f64,
    /// Latency in microseconds: median and 99 % over all rounds.
    pub latency_us_median: u64,
    /// See [`Figure::latency_us_median`].
    pub latency_us_99: u64,
    /// Transactions for each hundred that were due under an open load and had not begun when the round was over.
    pub overdue_percent: f64,
    /// Attempts for each hundred that were rolled back since they could not be serialized.
    pub aborted_percent: f64,
    /// Commits for each sync of the log, where it is known.
    pub commits_per_sync: Option<f64>,
    /// Over the configuration named first, at as many clients.
    pub ratio: Option<f64>,
    /// Of the commit log's latch, where that is the question and it is known.
    pub clog_latch: Option<ClogLatch>,
}

/// How the commit log's latch was taken.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ClogLatch {
    /// Acquisitions in exclusive mode, for each transaction.
    pub exclusive: f64,
    /// Times a thread was put to sleep for it, for each transaction.
    pub blocked: f64,
    /// Transactions for each group that met at it; none if there was no group.
    pub group_size: Option<f64>,
}

impl ClogLatch {
    fn new(counts: LatchCounts, transactions: u64) -> ClogLatch {
        let each = |count: u64| count as f64 / transactions.max(1) as f64;
        ClogLatch {
            exclusive: each(counts.exclusive),
            blocked: each(counts.blocked),
            group_size: (counts.groups > 0).then(|| counts.group_members as f64 / counts.groups as f64),
        }
    }
}

/// What an experiment found.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Its name.
    pub experiment: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// What was published.
    pub published: &'static str,
    /// How the engine was reached.
    pub driver: DriverKind,
    /// The figures.
    pub figures: Vec<Figure>,
    /// In a sentence, whether the published effect shows.
    pub verdict: String,
    /// It was stopped before its end.
    pub is_partial: bool,
}

/// Makes the driver for a disk, with so many rows in `sli_test`.
fn make_driver(options: &Options, disk: Disk, sli_rows: i32) -> Result<Box<dyn Driver>> {
    Ok(match (options.driver, &options.against) {
        (_, Some(server)) => Box::new(crate::wire::WireDriver::against(&server.url, options.seed, sli_rows)?),
        (DriverKind::Embedded, None) => Box::new(crate::embedded::EmbeddedDriver::new(disk, options.seed, sli_rows)?),
        (DriverKind::Wire, None) => Box::new(crate::wire::WireDriver::own(disk, options.seed, sli_rows)?),
    })
}

impl Experiment {
    /// Client counts to run with.
    fn clients(&self, options: &Options) -> Vec<usize> {
        let own = if options.quick { self.quick_clients } else { self.clients };
        options.clients.clone().unwrap_or_else(|| own.to_vec())
    }

    fn disks(&self, options: &Options) -> Vec<Disk> {
        match (options.disk, &options.against) {
            (Some(disk), _) => vec![disk],
            // Another server's disk is what it is.
            (None, Some(_)) => vec![Disk::Real],
            (None, None) => if options.quick { self.quick_disks } else { self.disks }.to_vec(),
        }
    }

    fn workloads(&self, options: &Options) -> &'static [Workload] {
        if options.quick { &self.workloads[..self.quick_workloads] } else { self.workloads }
    }

    fn configurations(&self, options: &Options) -> Vec<&'static Configuration> {
        let count = if options.quick { self.quick_configurations } else { self.configurations.len() };
        // How a server that is no Cohort gathers commits, scans, sets status bits, or keeps what is prepared can't be switched.
        let is_ours_alone = |switches: &Switches| {
            !switches.group_commit
                || switches.delay_each
                || switches.commit_delay_us.is_none()
                || switches.scan_locks_per_tuple
                || switches.clog_update != Switches::DEFAULT.clog_update
                || switches.two_phase.is_some_and(|state| state != TwophaseState::Memory)
        };
        let has_switches = options.against.as_ref().is_none_or(|server| server.kind.has_switches);
        let is_possible = |of: &&Configuration| has_switches || !is_ours_alone(&of.switches);
        self.configurations[..count].iter().filter(is_possible).collect()
    }

    /// Rows of `sli_test`; none where it is not used.
    fn sli_rows(&self, options: &Options) -> i32 {
        match (self.workloads.contains(&Workload::ReadUpdate), options.quick) {
            (false, _) => 0,
            (true, false) => SLI_ROWS,
            (true, true) => QUICK_SLI_ROWS,
        }
    }

    /// How many rounds a run takes.
    pub fn round_count(&self, options: &Options) -> usize {
        self.clients(options).len()
            * self.disks(options).len()
            * self.workloads(options).len()
            * self.configurations(options).len()
            * options.rounds
    }

    /// Runs it. `progress` hears before each round what comes, and after each what was measured.
    ///
    /// # Errors
    /// What a driver raises.
    pub fn run(&self, options: &Options, stop: &Arc<AtomicBool>, progress: &mut dyn FnMut(&str)) -> Result<Outcome> {
        let mut figures = Vec::new();
        for disk in self.disks(options) {
            let sli_rows = self.sli_rows(options);
            let mut driver = make_driver(options, disk, sli_rows)?;
            for &workload in self.workloads(options) {
                for clients in self.clients(options) {
                    let configurations = self.configurations(options);
                    let mut rounds: Vec<Vec<Measurement>> = configurations.iter().map(|_| Vec::new()).collect();
                    for round in 0..options.rounds {
                        for turn in 0..configurations.len() {
                            // Another one is the first in each round: none is always the one that finds the tables smallest.
                            let place = (round + turn) % configurations.len();
                            let configuration = configurations[place];
                            if stop.load(Ordering::Relaxed) {
                                break;
                            }
                            progress(&format!(
                                "{}: {} with {clients} clients, {}, {} disk",
                                self.name,
                                workload.name(),
                                configuration.name,
                                disk.name()
                            ));
                            rounds[place].push(driver.run(&Round {
                                workload,
                                clients,
                                load: options.load,
                                length: Duration::from_secs_f64(options.seconds),
                                switches: configuration.switches,
                                stop,
                            })?);
                        }
                    }
                    figures.extend(self.figures(&configurations, workload, disk, clients, &rounds));
                }
            }
        }
        let mut verdict = match self.question {
            Question::Gain => self.verdict(&figures),
            Question::Cost(words) => self.cost(&figures, words),
            Question::Latch => self.latch(&figures),
        };
        let sli_rows = self.sli_rows(options);
        if sli_rows != 0 && sli_rows != SLI_ROWS {
            verdict.push_str(&format!(" (sli_test had {sli_rows} rows in this quick run.)"));
        }
        let is_partial = stop.load(Ordering::Relaxed);
        Ok(Outcome {
            experiment: self.name,
            about: self.about,
            published: self.published,
            driver: options.driver,
            figures,
            verdict,
            is_partial,
        })
    }

    /// The figures of all configurations at one client count.
    fn figures(
        &self,
        configurations: &[&Configuration],
        workload: Workload,
        disk: Disk,
        clients: usize,
        rounds: &[Vec<Measurement>],
    ) -> Vec<Figure> {
        let mut figures: Vec<Figure> = Vec::new();
        for (configuration, measured) in configurations.iter().zip(rounds) {
            let mut tps: Vec<f64> = measured.iter().map(Measurement::tps).collect();
            tps.sort_by(f64::total_cmp);
            let Some(median) = tps.get(tps.len() / 2).copied() else { continue };
            let mut latency = crate::load::new_histogram();
            for measurement in measured {
                latency.add(&measurement.latency_us).expect("all histograms have the same bounds");
            }
            let counts: Option<EngineCounts> =
                measured.iter().map(|measurement| measurement.engine).reduce(|one, two| Some(one? + two?)).flatten();
            let transactions: u64 = measured.iter().map(|measurement| measurement.transactions).sum();
            let aborts: u64 = measured.iter().map(|measurement| measurement.aborts).sum();
            let overdue: u64 = measured.iter().map(|measurement| measurement.overdue).sum();
            let first = figures.first().map(|first: &Figure| first.tps);
            figures.push(Figure {
                workload: workload.name(),
                disk: disk.name(),
                clients,
                configuration: configuration.name.to_owned(),
                tps: median,
                tps_lowest: tps[0],
                tps_highest: tps[tps.len() - 1],
                latency_us_median: latency.value_at_quantile(0.5),
                latency_us_99: latency.value_at_quantile(0.99),
                overdue_percent: 100.0 * overdue as f64 / (transactions + overdue).max(1) as f64,
                aborted_percent: 100.0 * aborts as f64 / (transactions + aborts).max(1) as f64,
                commits_per_sync: counts
                    .filter(|counts| counts.syncs > 0)
                    .map(|counts| transactions as f64 / counts.syncs as f64),
                ratio: first.map(|first| median / first),
                clog_latch: counts
                    .filter(|_| self.question == Question::Latch)
                    .and_then(|counts| counts.latch)
                    .map(|latch| ClogLatch::new(latch, transactions)),
            });
        }
        figures
    }

    /// How much of the first configuration's throughput the second and the third keep, at the highest client count of each
    /// workload.
    fn cost(&self, figures: &[Figure], words: CostWords) -> String {
        let CostWords { what, of, before: before_words, after: after_words } = words;
        let figure = |workload: &str, position: usize| {
            let name = self.configurations.get(position)?.name;
            let candidates =
                figures.iter().filter(|figure| figure.workload == workload && figure.configuration == name);
            candidates.max_by_key(|figure| figure.clients)
        };
        let sentences = self.workloads.iter().filter_map(|workload| {
            let name = workload.name();
            let since = figure(name, 2)?;
            let (after, clients) = (since.ratio?, since.clients);
            let Some((old, before)) = figure(name, 1).and_then(|figure| Some((figure, figure.ratio?))) else {
                return Some(format!("{name} with {clients} clients: {what} reaches {after:.2} of {of}."));
            };
            // Every round of the one above every round of the other.
            let apart = since.tps_lowest > old.tps_highest;
            let shows = if apart { "the effect shows here" } else { "the effect is within the noise here" };
            Some(format!(
                "{name} with {clients} clients: {what} reaches {before:.2} of {of} {before_words}, {after:.2} {after_words}; {shows}."
            ))
        });
        let text = sentences.collect::<Vec<_>>().join(" ");
        if text.is_empty() { "Nothing was measured to the end.".to_owned() } else { text }
    }

    /// What groups and cohorts save at the commit log's latch, and gain, at the highest client count of each workload.
    fn latch(&self, figures: &[Figure]) -> String {
        let sentences = self.workloads.iter().filter_map(|workload| {
            let of_workload = figures.iter().filter(|figure| figure.workload == workload.name());
            let clients = of_workload.clone().map(|figure| figure.clients).max()?;
            let of = |position: usize| {
                let name = self.configurations.get(position)?.name;
                of_workload.clone().find(|figure| figure.clients == clients && figure.configuration == name)
            };
            let (each, group, cohort) = (of(0)?, of(1)?, of(2)?);
            let latch = [each.clog_latch?, group.clog_latch?, cohort.clog_latch?];
            let [exclusive, blocked] =
                [latch.map(|latch| latch.exclusive), latch.map(|latch| 1000.0 * latch.blocked)];
            let fewer = |counts: [f64; 3], place: usize| counts[place] <= 0.75 * counts[0];
            let shows = |place: usize, figure: &Figure| {
                let at_latch = fewer(exclusive, place) || fewer(blocked, place);
                // Every round of the one above every round of the other.
                let in_throughput = if figure.tps_lowest > each.tps_highest {
                    "higher"
                } else if figure.tps_highest < each.tps_lowest {
                    "lower"
                } else {
                    "the same within the noise"
                };
                let latch = if at_latch { "the effect shows at the latch" } else { "the effect does not show at the latch" };
                format!("{latch}, and throughput is {in_throughput}")
            };
            let ratio = |figure: &Figure| figure.ratio.unwrap_or_default();
            Some(format!(
                "{} with {clients} clients: for each transaction the latch is taken {:.2} times by each for itself, {:.2} in \
                 groups, {:.2} by cohorts; {:.1}, {:.1} and {:.1} of a thousand sleep for it. Groups reach {:.2} of the \
                 throughput: {}. Cohorts reach {:.2}: {}.",
                workload.name(),
                exclusive[0],
                exclusive[1],
                exclusive[2],
                blocked[0],
                blocked[1],
                blocked[2],
                ratio(group),
                shows(1, group),
                ratio(cohort),
                shows(2, cohort),
            ))
        });
        if figures.iter().any(|figure| figure.clog_latch.is_none()) {
            return "How another server sets status bits can be neither switched nor counted from here.".to_owned();
        }
        let mut text = sentences.collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return "Nothing was measured to the end.".to_owned();
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        text.push_str(&format!(
            " The published machine had 64 cores; with {cores} here, at most {cores} threads are at the latch at a time."
        ));
        text
    }

    /// Whether the published effect shows: the best ratio of the last configuration over the first.
    fn verdict(&self, figures: &[Figure]) -> String {
        let (Some(before), Some(after)) = (self.configurations.first(), self.configurations.last()) else {
            return String::new();
        };
        let best = figures
            .iter()
            .filter(|figure| figure.configuration == after.name)
            .filter_map(|figure| figure.ratio.map(|ratio| (ratio, figure)))
            .max_by(|(left, _), (right, _)| left.total_cmp(right));
        match best {
            None => "Nothing was measured to the end.".to_owned(),
            Some((ratio, figure)) if ratio >= 1.1 => format!(
                "The effect shows here: \"{}\" reaches {ratio:.2} times \"{}\" at {} clients on the {} disk.",
                after.name, before.name, figure.clients, figure.disk
            ),
            Some((ratio, figure)) => format!(
                "The effect does not show here: at best {ratio:.2} times \"{}\" (at {} clients, {} disk); with so few \
                 cores or so fast a sync there is little to gain.",
                before.name, figure.clients, figure.disk
            ),
        }
    }
}
