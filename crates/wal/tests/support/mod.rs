//! A log on a simulated disk, and a model of what must be in it.
#![allow(dead_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Once};

use base::{Lsn, Result, Xid};
use cohort_wal::{DelayPolicy, Epoch, RecordHead, RmgrId, SyncMethod, Wal, WalControl, WalOptions};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vfs::{FailStop, SimulatedVfs, Vfs};

pub const DIR: &str = "/wal";
pub const SEGMENT_BYTES: u64 = 4096;
pub const HEAD: RecordHead = RecordHead { rmgr: RmgrId::HEAP, info: 9, xid: Xid(3) };

/// Small segments and buffers, so that a short run goes round both.
pub fn small_options() -> WalOptions {
    WalOptions { segment_size_bytes: SEGMENT_BYTES, buffers_bytes: 4096, ..WalOptions::default() }
}

/// How many seeds a random test tries: `COHORT_SEEDS`, or `usual`. `COHORT_SEED` picks one.
pub fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("COHORT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("COHORT_SEEDS").unwrap_or(usual),
    }
}

/// Runs `test` for each seed; says which one failed.
pub fn for_each_seed(usual: u64, test: impl Fn(u64)) {
    for seed in seeds(usual) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            eprintln!("failed with COHORT_SEED={seed}");
            resume_unwind(panic);
        }
    }
}

/// Runs a part of a simulated process; `None` if it ended by fail-stop, or with an error from a disk that had crashed.
pub fn until_crash<R>(disk: &SimulatedVfs, part: impl FnOnce() -> Result<R>) -> Option<R> {
    silence_fail_stops();
    match catch_unwind(AssertUnwindSafe(part)) {
        Ok(Ok(result)) => Some(result),
        Ok(Err(error)) => {
            assert!(disk.is_crashed(), "an error from a disk that works: {error}");
            None
        }
        Err(panic) => match panic.downcast::<FailStop>() {
            Ok(_) => None,
            Err(other) => resume_unwind(other),
        },
    }
}

/// A simulated fail-stop is no news.
pub fn silence_fail_stops() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<FailStop>() {
                usual(info);
            }
        }));
    });
}

/// A record that was inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub start: Lsn,
    pub end: Lsn,
    pub payload: Vec<u8>,
}

/// The records that the log must hold, and the content of the control file.
pub struct Model {
    pub random: StdRng,
    /// Every record inserted that may still be there, in order.
    pub records: Vec<Known>,
    /// Everything up to here was acknowledged.
    pub acknowledged: Lsn,
    pub control: WalControl,
    pub options: WalOptions,
    counter: u64,
}

impl Model {
    pub fn new(seed: u64) -> Model {
        let mut random = StdRng::seed_from_u64(seed);
        let sync_method = match random.random_range(0..4) {
            0 => SyncMethod::OpenDatasync,
            1 => SyncMethod::Fsync,
            _ => SyncMethod::Fdatasync,
        };
        let (group_commit, direct_io) = (random.random_bool(0.8), random.random_bool(0.5));
        let options = WalOptions { sync_method, group_commit, direct_io, ..small_options() };
        let begin = Lsn(SEGMENT_BYTES);
        Model {
            random,
            records: Vec::new(),
            acknowledged: begin,
            control: WalControl {
                redo: begin,
                epoch: Epoch::FIRST,
                durable_floor: begin,
                page_lsn_met: Arc::default(),
            },
            options,
            counter: 0,
        }
    }

    pub fn create(&mut self, disk: &SimulatedVfs) -> Result<Wal> {
        Wal::create(Arc::new(disk.clone()), Path::new(DIR), self.options.clone())
    }

    /// Recovers, and holds what is found against what must be there.
    pub fn recover(&mut self, disk: &SimulatedVfs) -> Result<Wal> {
        let mut found = Vec::new();
        let disk: Arc<dyn Vfs> = Arc::new(disk.clone());
        let wal = Wal::recover(disk, Path::new(DIR), self.control.clone(), self.options.clone(), |record| {
            assert_eq!(record.head, HEAD);
            found.push(Known { start: record.start, end: record.end, payload: record.payload.to_vec() });
            Ok(())
        })?;
        self.records.retain(|record| record.start >= self.control.redo);
        assert!(found.len() <= self.records.len(), "found {} of {} records", found.len(), self.records.len());
        assert_eq!(found, self.records[..found.len()], "what is recovered is a prefix of what was inserted");
        if let Some(lost) = self.records.get(found.len()) {
            assert!(lost.end > self.acknowledged, "acknowledged up to {}, lost {lost:?}", self.acknowledged);
        }
        self.records.truncate(found.len());
        Ok(wal)
    }

    pub fn insert(&mut self, wal: &Wal, payload_bytes: usize) -> Lsn {
        self.counter += 1;
        let mut payload = self.counter.to_le_bytes().to_vec();
        payload.resize(payload_bytes.max(8), self.counter as u8);
        let (first, second) = payload.split_at(payload.len() / 2);
        // The model knows a record from the moment it has its place: its bytes may reach the disk before insert returns.
        let records = &mut self.records;
        let size_bytes = (24 + payload.len() as u64).next_multiple_of(8);
        let (inserted, ()) = wal.insert_then(HEAD, &[first, second], |end| {
            records.push(Known { start: Lsn(end.0 - size_bytes), end, payload: payload.clone() });
        });
        assert_eq!(inserted.start, self.records.last().expect("just pushed").start);
        inserted.end
    }

    pub fn acknowledge(&mut self, wal: &Wal, upto: Lsn) {
        wal.wait_durable(upto, DelayPolicy::NONE);
        assert!(wal.durable() >= upto);
        self.acknowledged = self.acknowledged.max(upto);
    }

    /// Goes on at random until the disk has crashed.
    pub fn run(&mut self, wal: &Wal) -> Result<()> {
        loop {
            self.step(wal)?;
        }
    }

    /// One random thing that a process does with its log.
    pub fn step(&mut self, wal: &Wal) -> Result<()> {
        match self.random.random_range(0..100) {
            0..50 => {
                let payload_bytes = match self.random.random_range(0..20) {
                    0 => self.random.random_range(0..6000),
                    1..4 => self.random.random_range(0..700),
                    _ => self.random.random_range(0..120),
                };
                let end = self.insert(wal, payload_bytes);
                if self.random.random_bool(0.4) {
                    self.acknowledge(wal, end);
                }
            }
            50..75 => {
                let end = self.insert(wal, 40);
                self.acknowledge(wal, end);
            }
            75..85 if !self.records.is_empty() => {
                let index = self.random.random_range(0..self.records.len());
                let end = self.records[index].end;
                self.acknowledge(wal, end);
            }
            85..90 => {
                // An inserter that writes and does not sync.
                wal.ensure_room(4000);
            }
            90..93 => {
                let redo = wal.at_insertion_point(|end| end);
                wal.flush(redo);
                self.acknowledged = self.acknowledged.max(redo);
                self.control.redo = redo;
                self.control.epoch = wal.epoch();
                self.control.durable_floor = wal.durable();
                wal.recycle_before(redo)?;
            }
            _ => {
                wal.request_flush(wal.reserved(), DelayPolicy::NONE);
                self.acknowledged = self.acknowledged.max(wal.durable());
            }
        }
        assert!(wal.durable() <= wal.written() && wal.written() <= wal.inserted());
        Ok(())
    }
}

/// Raises the proof that redo handlers give.
pub fn meet_page_lsn(control: &WalControl, lsn: Lsn) {
    control.page_lsn_met.fetch_max(lsn.0, Ordering::SeqCst);
}
