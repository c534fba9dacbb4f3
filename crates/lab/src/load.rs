//! When a client begins its transactions, and what it counts.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sync::atomic::{AtomicBool, Ordering};

/// How transactions arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Each client begins its next transaction when its last one has ended.
    Closed,
    /// Transactions arrive by chance, so many a second from all clients together, whether or not those before have ended. A
    /// client that is behind begins the next at once, and its latency counts from the moment at which it was due.
    Open {
        /// Transactions a second.
        rate_tps: f64,
    },
}

/// Latencies from a microsecond to a minute, to three digits.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("the bounds are in order")
}

/// One client's count, or that of all.
pub struct ClientCount {
    /// Transactions that committed.
    pub transactions: u64,
    /// Attempts that could not be serialized.
    pub aborts: u64,
    /// Transactions that were due and had not begun when the round was over; 0 under a closed load.
    pub overdue: u64,
    /// Latencies in microseconds of those that committed, failed attempts included.
    pub latency_us: Histogram<u64>,
}

impl ClientCount {
    /// Nothing yet.
    pub fn new() -> ClientCount {
        ClientCount { transactions: 0, aborts: 0, overdue: 0, latency_us: new_histogram() }
    }

    /// Adds another client's.
    pub fn add(&mut self, other: &ClientCount) {
        self.transactions += other.transactions;
        self.aborts += other.aborts;
        self.overdue += other.overdue;
        self.latency_us.add(&other.latency_us).expect("all histograms have the same bounds");
    }
}

impl Default for ClientCount {
    fn default() -> ClientCount {
        ClientCount::new()
    }
}

/// How an attempt at a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It committed.
    Committed,
    /// It was rolled back: 40001 or 40P01.
    Aborted,
}

/// Terms that all clients of a round share.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// How transactions arrive.
    pub load: Load,
    /// How many clients share the load.
    pub clients: usize,
    /// Whether a transaction that was rolled back is tried again.
    pub retries: bool,
    /// Set when the round is to end early.
    pub stop: &'a AtomicBool,
    /// The seed of the arrivals' randomness.
    pub seed: u64,
}

/// The next attempt of a client.
pub struct Next {
    /// The moment to wait for before it begins; none if it is due.
    pub wait_until: Option<Instant>,
    /// Whether it is the last transaction once more.
    pub is_retry: bool,
}

/// One client's round: says when each attempt begins, and counts.
pub struct ClientRound<'a> {
    terms: Terms<'a>,
    end: Instant,
    arrivals: Option<Arrivals>,
    /// When the transaction in progress began, or was due.
    begun: Instant,
    now: Instant,
    is_retry: bool,
    count: ClientCount,
}

/// Moments at which one client's transactions are due: a Poisson process.
struct Arrivals {
    mean_gap_s: f64,
    random: StdRng,
    due: Instant,
}

/// The longest time in seconds between two arrivals. No round is as long, so a transaction due after this time never begins.
const LONGEST_GAP_S: f64 = 1e6;

impl Arrivals {
    /// The moment at which the next is due.
    fn next(&mut self) -> Instant {
        let due = self.due;
        let share: f64 = self.random.random();
        // 1 - share is above 0, so its logarithm is finite.
        let gap_s = -self.mean_gap_s * (1.0 - share).ln();
        let gap = Duration::from_secs_f64(gap_s.min(LONGEST_GAP_S));
        std::mem::replace(&mut self.due, due + gap)
    }
}

impl<'a> ClientRound<'a> {
    /// The round of the client with this number, from now for `length`.
    pub fn new(terms: Terms<'a>, number: usize, length: Duration) -> ClientRound<'a> {
        let now = Instant::now();
        let arrivals = match terms.load {
            Load::Closed => None,
            Load::Open { rate_tps } => {
                let mean_gap_s = terms.clients as f64 / rate_tps;
                let random = StdRng::seed_from_u64(terms.seed.rotate_left(32) ^ number as u64);
                let mut arrivals = Arrivals { mean_gap_s, random, due: now };
                // The first is due after a gap, as all others.
                arrivals.next();
                Some(arrivals)
            }
        };
        ClientRound { terms, end: now + length, arrivals, begun: now, now, is_retry: false, count: ClientCount::new() }
    }

    /// The next attempt; none when the round is over.
    pub fn next_attempt(&mut self) -> Option<Next> {
        if self.now >= self.end || self.terms.stop.load(Ordering::Relaxed) {
            return None;
        }
        if self.is_retry {
            return Some(Next { wait_until: None, is_retry: true });
        }
        self.begun = match &mut self.arrivals {
            None => self.now,
            Some(arrivals) => arrivals.next(),
        };
        if self.begun >= self.end {
            return None;
        }
        Some(Next { wait_until: (self.begun > self.now).then_some(self.begun), is_retry: false })
    }

    /// Counts the attempt that was begun last.
    pub fn finished(&mut self, attempt: Attempt) {
        self.now = Instant::now();
        self.is_retry = attempt == Attempt::Aborted && self.terms.retries;
        match attempt {
            Attempt::Committed => {
                let latency = self.now.saturating_duration_since(self.begun);
                self.count.latency_us.saturating_record(latency.as_micros() as u64);
                self.count.transactions += 1;
            }
            Attempt::Aborted => self.count.aborts += 1,
        }
    }

    /// Returns the count of the round.
    pub fn into_count(mut self) -> ClientCount {
        let over = self.now.min(self.end);
        if let Some(arrivals) = &mut self.arrivals {
            while arrivals.next() < over {
                self.count.overdue += 1;
            }
        }
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(1000);

    fn terms(load: Load, stop: &AtomicBool) -> Terms<'_> {
        Terms { load, clients: 4, retries: true, stop, seed: 7 }
    }

    #[test]
    fn a_closed_load_begins_at_once_and_tries_again_what_was_rolled_back() {
        let stop = AtomicBool::new(false);
        let mut round = ClientRound::new(terms(Load::Closed, &stop), 0, LENGTH);
        for (attempt, is_retry) in [(Attempt::Aborted, false), (Attempt::Aborted, true), (Attempt::Committed, true)] {
            let next = round.next_attempt().unwrap();
            assert_eq!((next.wait_until, next.is_retry), (None, is_retry));
            round.finished(attempt);
        }
        assert!(!round.next_attempt().unwrap().is_retry);
        stop.store(true, Ordering::Relaxed);
        assert!(round.next_attempt().is_none());
        let count = round.into_count();
        assert_eq!((count.transactions, count.aborts, count.overdue), (1, 2, 0));
        assert_eq!(count.latency_us.len(), 1);
    }

    #[test]
    fn an_open_load_arrives_at_its_rate_whatever_the_clients_do() {
        let stop = AtomicBool::new(false);
        let mut round = ClientRound::new(terms(Load::Open { rate_tps: 400.0 }, &stop), 0, LENGTH);
        let start = round.now;
        let mut due = Vec::new();
        while let Some(next) = round.next_attempt() {
            // As if each transaction took no time at all.
            due.push(next.wait_until.unwrap_or(round.now));
        }
        // 100 a second from one of four clients: 100,000 in all, by chance some hundreds more or fewer.
        assert!((98_000..102_000).contains(&due.len()), "{}", due.len());
        assert!(due.is_sorted());
        let within_a_second = due.iter().filter(|due| **due < start + Duration::from_secs(1)).count();
        assert!((50..150).contains(&within_a_second), "{within_a_second}");
    }

    #[test]
    fn latency_counts_from_when_a_transaction_was_due_and_overdue_ones_are_counted() {
        let stop = AtomicBool::new(false);
        let mut round = ClientRound::new(terms(Load::Open { rate_tps: 4_000.0 }, &stop), 0, LENGTH);
        assert!(round.next_attempt().unwrap().wait_until.is_some(), "nothing is due at the very start");
        // A transaction that was due ten seconds ago, as after a long stall.
        round.begun = Instant::now().checked_sub(Duration::from_secs(10)).unwrap();
        round.finished(Attempt::Committed);
        // And a minute passes before the round is over.
        round.now += Duration::from_secs(60);
        assert!(round.next_attempt().unwrap().wait_until.is_none(), "a client that is behind does not wait");
        let count = round.into_count();
        assert!(count.latency_us.max() >= 9_990_000);
        // 1,000 a second were due in a minute.
        assert!((59_000..61_500).contains(&count.overdue), "{}", count.overdue);
    }
}
