//! Histories in a line of text, after the notation of the literature.
//!
//! | step | means |
//! | --- | --- |
//! | `i1(x)` | T1 inserts row x; the version is called x1, T1's second one of x is x1.2 |
//! | `w1(x0)` | T1 replaces version x0 |
//! | `d1(x0)` | T1 deletes x, of which x0 was there |
//! | `u1(x0)` | as `w1(x0)`, and it is rolled back to a savepoint later |
//! | `r1(x0)` | T1 reads version x0 |
//! | `s1` | T1 takes its snapshot; without it, each scan takes one |
//! | `p1(a-f,x0,y0)` | T1 looks for all rows from a to f and finds x0 and y0 |
//! | `c1`, `a1` | T1 commits, aborts |
//!
//! A class follows a colon (`w1(x0:5)`; without one it is 0), a scan's classes a slash (`p1(a-f/5-9,x0)`).

use std::collections::BTreeMap;

use cohort_judge::{
    Clock, End, History, Object, Operation, Predicate, PredicateRead, Read, Span, Transaction, TransactionId,
    VersionId, Write,
};

fn object(name: &str) -> Object {
    Object { table: 1, key: i64::from(name.as_bytes()[0]) }
}

fn range(text: &str) -> std::ops::RangeInclusive<&str> {
    let (low, high) = text.split_once('-').expect("a range has two ends");
    low..=high
}

/// A version's identifier: its name's letters as a number.
fn version(name: &str) -> VersionId {
    VersionId(name.bytes().fold(0, |number, byte| number << 8 | u64::from(byte)))
}

pub fn history(text: &str) -> History {
    let clock = Clock::new();
    let mut transactions: BTreeMap<u64, Transaction> = BTreeMap::new();
    let mut snapshots: BTreeMap<u64, Span> = BTreeMap::new();
    let mut written: BTreeMap<(u64, Object), u32> = BTreeMap::new();
    for step in text.split_whitespace() {
        let (head, body) = step.split_once('(').unwrap_or((step, ""));
        let number: u64 = head[1..].parse().expect("a step names its transaction");
        let arguments: Vec<&str> = body.trim_end_matches(')').split(',').collect();
        let transaction = transactions.entry(number).or_insert_with(|| Transaction {
            id: TransactionId(number),
            operations: Vec::new(),
            end: End::Aborted,
        });
        let moment = Span { began: clock.now(), ended: clock.now() };
        match &head[..1] {
            "c" => transaction.end = End::Committed(moment),
            "a" => transaction.end = End::Aborted,
            "s" => drop(snapshots.insert(number, moment)),
            "r" => transaction.operations.push(Operation::read(object(arguments[0]), version(arguments[0]))),
            "p" => {
                let (keys, classes) = arguments[0].split_once('/').unwrap_or((arguments[0], "0-0"));
                let (keys, classes) = (range(keys), range(classes));
                let predicate = Predicate {
                    table: 1,
                    keys: object(keys.start()).key..=object(keys.end()).key,
                    classes: classes.start().parse().unwrap()..=classes.end().parse().unwrap(),
                };
                let seen = arguments[1..].iter().map(|name| Read { object: object(name), version: version(name) });
                let looked = snapshots.get(&number).copied().unwrap_or(moment);
                let read = PredicateRead { predicate, seen: seen.collect(), looked };
                transaction.operations.push(Operation::PredicateRead(read));
            }
            kind => {
                let (name, class) = arguments[0].split_once(':').unwrap_or((arguments[0], "0"));
                let object = object(name);
                let count = written.entry((number, object)).or_default();
                *count += 1;
                let new = if *count == 1 {
                    format!("{}{number}", &name[..1])
                } else {
                    format!("{}{number}.{count}", &name[..1])
                };
                transaction.operations.push(Operation::Write(Write {
                    object,
                    version: version(&new),
                    replaces: (kind != "i").then(|| version(name)),
                    class: (kind != "d").then(|| class.parse().unwrap()),
                    at: moment.began,
                    is_undone: kind == "u",
                }));
            }
        }
    }
    History { transactions: transactions.into_values().collect() }
}
