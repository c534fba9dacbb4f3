//! The experiments: what is run, under which configurations, and what was published.

use engine::{ClogUpdate, TwophaseState};

use super::{Beside, Configuration, CostWords, Experiment, Pair, Published, Question};
use crate::disk::Disk;
use crate::driver::{Switches, Workload};

const DEFAULT: Switches = Switches::DEFAULT;
const ASYNCHRONOUS: Switches = Switches { synchronous_commit: false, ..DEFAULT };
const fn two_phase(state: TwophaseState) -> Switches {
    Switches { two_phase: Some(state), ..DEFAULT }
}
const SERIALIZABLE: Switches = Switches { serializable: true, ..ASYNCHRONOUS };
/// A 7200 rpm disk.
const SLOW_DISK: Disk = Disk::Slowed { sync_us: 8300 };

/// All experiments that are there, in the order of the list.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "group-commit",
        about: "One leader flushes for all that wait, where each committer took the log lock in turn before 9.2.",
        published: "PostgreSQL 9.2 on a laptop with a 7200 rpm disk (about 8 ms a sync): throughput rises with clients \
                    \"towards 14,000\" durable writes a second; before, it stayed near the rate of syncs.",
        published_figures: &[Published {
            what: "durable writes, as the title puts it",
            conditions: "pgbench insert.sql and update.sql on a laptop with a 7200 rpm disk, about 8 ms a sync; curves over clients, no table",
            unit: "tps",
            before: None,
            after: Some(14_000.0),
            ratio: None,
            ratio_up_to: None,
            beside: None,
        }],
        configurations: &[
            Configuration {
                name: "group_commit=off",
                switches: Switches { group_commit: false, commit_delay_us: Some(0), ..DEFAULT },
            },
            Configuration { name: "group_commit=on", switches: DEFAULT },
        ],
        pairs: &[Pair { before: "group_commit=off", after: "group_commit=on" }],
        workloads: &[Workload::Insert, Workload::Update],
        clients: &[1, 8, 32, 128],
        quick_clients: &[1, 32],
        disks: &[Disk::Real, SLOW_DISK],
        quick_disks: &[Disk::Real, SLOW_DISK],
        headline_disk: SLOW_DISK,
        quick_workloads: 1,
        quick_configurations: 2,
        question: Question::Gain,
    },
    Experiment {
        name: "commit-delay",
        about: "Only the leader waits commit_delay, where every committer slept the full delay before 9.3.",
        published: "PostgreSQL 9.3, delay 10 us: 32 clients 18,232 -> 20,018 tps, 128 clients 10,658 -> 39,261 tps; and \
                    at half of a slow disk's sync time (4000 us) further gains.",
        published_figures: &[
            Published {
                what: "insert, 32 clients",
                conditions: "pgbench -M prepared, 4 threads, 60 s, commit_delay 10 us, commit_siblings 5; 8 cores of Xeon E5440, a 10,000 rpm SAS disk",
                unit: "tps",
                before: Some(18_232.0),
                after: Some(20_018.0),
                ratio: Some(20_018.0 / 18_232.0),
                ratio_up_to: None,
                beside: Some(Beside { pair: 0, workload: Workload::Insert, clients: (32, 32) }),
            },
            Published {
                what: "insert, 128 clients",
                conditions: "pgbench -M prepared, 4 threads, 60 s, commit_delay 10 us, commit_siblings 5; 8 cores of Xeon E5440, a 10,000 rpm SAS disk",
                unit: "tps",
                before: Some(10_658.0),
                after: Some(39_261.0),
                ratio: Some(39_261.0 / 10_658.0),
                ratio_up_to: None,
                beside: Some(Beside { pair: 0, workload: Workload::Insert, clients: (128, 128) }),
            },
        ],
        configurations: &[
            Configuration {
                name: "4000us, each waits",
                switches: Switches { commit_delay_us: Some(4000), delay_each: true, ..DEFAULT },
            },
            Configuration { name: "no delay", switches: Switches { commit_delay_us: Some(0), ..DEFAULT } },
            Configuration {
                name: "10us, each waits",
                switches: Switches { commit_delay_us: Some(10), delay_each: true, ..DEFAULT },
            },
            Configuration { name: "10us, leader waits", switches: Switches { commit_delay_us: Some(10), ..DEFAULT } },
            Configuration {
                name: "4000us, leader waits",
                switches: Switches { commit_delay_us: Some(4000), ..DEFAULT },
            },
            Configuration { name: "auto, leader waits", switches: DEFAULT },
        ],
        pairs: &[
            Pair { before: "10us, each waits", after: "10us, leader waits" },
            Pair { before: "4000us, each waits", after: "4000us, leader waits" },
            Pair { before: "no delay", after: "auto, leader waits" },
        ],
        workloads: &[Workload::Insert],
        clients: &[32, 128],
        quick_clients: &[32],
        disks: &[Disk::Real, SLOW_DISK],
        quick_disks: &[SLOW_DISK],
        headline_disk: Disk::Real,
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
        published_figures: &[
            Published {
                what: "read-write, scale 300, high client counts",
                conditions: "pgbench read-write, all in memory, 64 cores (128 threads)",
                unit: "tps",
                before: None,
                after: None,
                ratio: Some(1.15),
                ratio_up_to: None,
                beside: Some(Beside { pair: 0, workload: Workload::ReadWrite, clients: (65, usize::MAX) }),
            },
            Published {
                what: "read-write, various scales, high client counts",
                conditions: "pgbench read-write, all in memory, 64 cores (128 threads)",
                unit: "tps",
                before: None,
                after: None,
                ratio: Some(1.15),
                ratio_up_to: Some(1.41),
                beside: None,
            },
            Published {
                what: "read-write, 64 clients, some scales",
                conditions: "pgbench read-write, all in memory, 64 cores (128 threads)",
                unit: "tps",
                before: None,
                after: None,
                ratio: Some(1.05),
                ratio_up_to: None,
                beside: Some(Beside { pair: 0, workload: Workload::ReadWrite, clients: (64, 64) }),
            },
            Published {
                what: "exclusive acquisitions of the latch, scale 300, 128 clients",
                conditions: "pgbench read-write, all in memory, 64 cores (128 threads); one process of each run",
                unit: "times a process",
                before: Some(326_000.0),
                after: Some(176_000.0),
                ratio: Some(176_000.0 / 326_000.0),
                ratio_up_to: None,
                beside: None,
            },
            Published {
                what: "sleeps for the latch, scale 300, 128 clients",
                conditions: "pgbench read-write, all in memory, 64 cores (128 threads); one process of each run",
                unit: "times a process",
                before: Some(204_000.0),
                after: Some(115_000.0),
                ratio: Some(115_000.0 / 204_000.0),
                ratio_up_to: None,
                beside: None,
            },
        ],
        configurations: &[
            Configuration { name: "each", switches: Switches { clog_update: ClogUpdate::Each, ..DEFAULT } },
            Configuration { name: "group", switches: Switches { clog_update: ClogUpdate::Group, ..DEFAULT } },
            Configuration { name: "cohort", switches: DEFAULT },
        ],
        pairs: &[Pair { before: "each", after: "group" }, Pair { before: "each", after: "cohort" }],
        workloads: &[Workload::ReadWrite, Workload::Insert],
        clients: &[64, 128, 300],
        quick_clients: &[128],
        disks: &[Disk::Real],
        quick_disks: &[Disk::Real],
        headline_disk: Disk::Real,
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
        published_figures: &[
            Published {
                what: "serializable, 16 clients",
                conditions: "pgbench -M prepared, 16 threads, 60 s, sli_test with 10 million rows in memory, synchronous_commit = off",
                unit: "tps",
                before: Some(19_208.0),
                after: Some(20_941.0),
                ratio: Some(20_941.0 / 19_208.0),
                ratio_up_to: None,
                beside: None,
            },
            Published {
                what: "read committed, 16 clients",
                conditions: "pgbench -M prepared, 16 threads, 60 s, sli_test with 10 million rows in memory, synchronous_commit = off",
                unit: "tps",
                before: Some(25_234.0),
                after: Some(23_999.0),
                ratio: Some(23_999.0 / 25_234.0),
                ratio_up_to: None,
                beside: None,
            },
            Published {
                what: "what serializable keeps of read committed",
                conditions: "the two above",
                unit: "of read committed",
                before: Some(0.76),
                after: Some(0.87),
                ratio: Some(0.87 / 0.76),
                ratio_up_to: None,
                beside: Some(Beside { pair: 0, workload: Workload::ReadUpdate, clients: (1, usize::MAX) }),
            },
        ],
        configurations: &[
            Configuration { name: "read committed", switches: ASYNCHRONOUS },
            Configuration {
                name: "ser., per_tuple",
                switches: Switches { scan_locks_per_tuple: true, ..SERIALIZABLE },
            },
            Configuration { name: "ser., once", switches: SERIALIZABLE },
            Configuration { name: "ser., once, no retry", switches: Switches { retries: false, ..SERIALIZABLE } },
        ],
        pairs: &[Pair { before: "ser., per_tuple", after: "ser., once" }],
        workloads: &[Workload::ReadUpdate, Workload::CountUpdate],
        clients: &[16],
        quick_clients: &[16],
        disks: &[Disk::Real],
        quick_disks: &[Disk::Real],
        headline_disk: Disk::Real,
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
        published_figures: &[
            Published {
                what: "two-phase commit",
                conditions: "pgbench: two updates of accounts, PREPARE TRANSACTION, COMMIT PREPARED; two Xeons of 6 cores",
                unit: "tps",
                before: Some(22_000.0),
                after: Some(36_000.0),
                ratio: Some(36_000.0 / 22_000.0),
                ratio_up_to: None,
                beside: Some(Beside { pair: 0, workload: Workload::Transfer, clients: (1, usize::MAX) }),
            },
            Published {
                what: "what it keeps of a plain COMMIT (42,000 tps)",
                conditions: "pgbench: two updates of accounts, PREPARE TRANSACTION, COMMIT PREPARED; two Xeons of 6 cores",
                unit: "of a plain COMMIT",
                before: Some(0.52),
                after: Some(0.86),
                ratio: Some(0.86 / 0.52),
                ratio_up_to: None,
                beside: None,
            },
        ],
        configurations: &[
            Configuration { name: "COMMIT", switches: DEFAULT },
            Configuration { name: "two-phase, file", switches: two_phase(TwophaseState::File) },
            Configuration { name: "two-phase, memory", switches: two_phase(TwophaseState::Memory) },
            Configuration { name: "two-phase, wal", switches: two_phase(TwophaseState::Wal) },
        ],
        pairs: &[
            Pair { before: "two-phase, file", after: "two-phase, memory" },
            Pair { before: "two-phase, file", after: "two-phase, wal" },
        ],
        workloads: &[Workload::Transfer],
        clients: &[16, 64],
        quick_clients: &[64],
        disks: &[Disk::Real],
        quick_disks: &[Disk::Real],
        headline_disk: Disk::Real,
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
