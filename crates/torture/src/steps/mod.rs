//! The steps of sessions, one file for each subject.

pub mod copy;
pub mod counters;
pub mod cursors;
pub mod documents;
pub mod duty;
pub mod family;
pub mod locks;
pub mod maintenance;
pub mod money;
pub mod objects;
pub mod sequences;
pub mod settings;
pub mod shared;
pub mod slots;
pub mod tables;
pub mod temporary;

use std::time::Duration;

use rand::Rng;

use crate::model::{COUNTERS, Effect};
use crate::options::Kind;
use crate::session::Session;
use crate::transaction::{self, Transaction};
use crate::wire::Trouble;

/// Statements that prepare the tables that all sessions use.
pub const SCHEMA: &[&str] = &[
    "create table ledger (session int, number bigint, parts int not null, primary key (session, number))",
    "create table witness_1 (session int, number bigint, part int, note text, primary key (session, number, part))",
    "create table witness_2 (session int, number bigint, part int, note text, primary key (part, number, session),
         foreign key (session, number) references ledger deferrable initially deferred)",
    "create table witness_3 (session int, number bigint, part int, note text)",
    "create index on witness_3 (number, session)",
    "create table vault (id int primary key, v int not null)",
    "insert into vault select g, 0 from generate_series(0, 63) g",
    "create table lockables (id int primary key, v int not null)",
    "insert into lockables select g, 0 from generate_series(1, 8) g",
    money::SCHEMA,
    money::FILL,
    family::SCHEMA,
    slots::SCHEMA,
    documents::SCHEMA,
    counters::SCHEMA,
    sequences::SCHEMA,
    duty::SCHEMA,
];

/// Queries that find nothing while nobody works, with what it means if they do.
pub const CHECKS: &[&[(&str, &str)]] = &[family::CHECKS, slots::CHECKS, documents::CHECKS, duty::CHECKS];

/// Steps within transactions, and how often each is taken.
const STEPS: &[(Kind, u32)] = &[
    (Kind::Money, 12),
    (Kind::Witness, 12),
    (Kind::Tables, 12),
    (Kind::Shared, 6),
    (Kind::Family, 8),
    (Kind::Slots, 6),
    (Kind::Documents, 4),
    (Kind::Counters, 6),
    (Kind::Notify, 3),
    (Kind::Sequences, 8),
    (Kind::RowLocks, 4),
    (Kind::Advisory, 3),
    (Kind::Copy, 5),
    (Kind::Cursors, 3),
    (Kind::Temporary, 4),
    (Kind::Objects, 5),
];

/// Kinds of work outside of transactions, and how often each is done.
const UNITS: &[(Kind, u32)] = &[
    (Kind::Checkpoint, 1),
    (Kind::Maintenance, 3),
    (Kind::TwoPhase, 6),
    (Kind::Counters, 3),
    (Kind::Sequences, 4),
    (Kind::Advisory, 2),
    (Kind::Cursors, 1),
    (Kind::Temporary, 1),
    (Kind::Duty, 4),
    (Kind::Shared, 3),
    (Kind::Settings, 1),
    (Kind::Terminate, 1),
];

/// How often a transaction is chosen, beside [`UNITS`].
const TRANSACTIONS: u32 = 70;

fn choose(session: &mut Session, among: &[(Kind, u32)], rest: u32) -> Option<Kind> {
    let allowed = || among.iter().filter(|(kind, _)| session.torture.options.allows(*kind));
    let total = allowed().map(|(_, weight)| weight).sum::<u32>() + rest;
    let allowed: Vec<(Kind, u32)> = allowed().copied().collect();
    let mut left = session.random.random_range(0..total.max(1));
    for (kind, weight) in allowed {
        if left < weight {
            return Some(kind);
        }
        left -= weight;
    }
    None
}

/// One thing, be it a transaction or something that is none.
///
/// # Errors
/// Errors of the server, or the loss of the connection.
pub async fn run_unit(session: &mut Session) -> Result<(), Trouble> {
    if session.is_finisher() {
        tokio::time::sleep(Duration::from_millis(30)).await;
        return transaction::finish_prepared(session).await;
    }
    match choose(session, UNITS, TRANSACTIONS) {
        None => transaction::run(session).await,
        Some(Kind::Checkpoint) => session.say("checkpoint").await.map(|_| ()),
        Some(Kind::Maintenance) => maintenance::maintain(session).await,
        Some(Kind::TwoPhase) => transaction::finish_prepared(session).await,
        Some(Kind::Counters) => {
            let place = session.random.random_range(0..COUNTERS);
            counters::look(session, place, true, session.is_synchronous).await
        }
        Some(Kind::Sequences) if session.random.random_bool(0.5) => sequences::use_or_change(session).await,
        Some(Kind::Sequences) => sequences::next(session, session.is_synchronous).await,
        Some(Kind::Advisory) if session.holds.is_empty() => locks::lock_advisory(session, false).await,
        Some(Kind::Advisory) => locks::unlock_advisory(session).await,
        Some(Kind::Cursors) => cursors::read_held(session).await,
        Some(Kind::Temporary) => temporary::change(session, false).await,
        Some(Kind::Duty) => duty::change(session).await,
        Some(Kind::Shared) if session.random.random_ratio(1, 4) => shared::vacuum(session).await,
        Some(Kind::Shared) => shared::change(session).await,
        Some(Kind::Settings) => settings::change(session).await,
        Some(Kind::Terminate) => settings::end_another(session).await,
        Some(kind) => unreachable!("{kind:?} is no unit"),
    }
}

/// One step of a transaction.
///
/// # Errors
/// Errors of the server, or the loss of the connection.
pub async fn run_step(session: &mut Session, transaction: &mut Transaction) -> Result<(), Trouble> {
    match choose(session, STEPS, 0) {
        Some(Kind::Money) => money::transfer(session, transaction).await,
        Some(Kind::Witness) => witness(session, transaction).await,
        Some(Kind::Tables) => tables::change(session, transaction).await,
        Some(Kind::RowLocks) => locks::lock_row(session).await,
        Some(Kind::Advisory) => locks::lock_advisory(session, true).await,
        Some(Kind::Shared) => shared::change(session).await,
        Some(Kind::Family) => family::change(session).await,
        Some(Kind::Slots) => slots::change(session).await,
        Some(Kind::Documents) => documents::change(session).await,
        Some(Kind::Counters) => counters::count(session, transaction).await,
        Some(Kind::Notify) => counters::notify(session, transaction).await,
        Some(Kind::Sequences) if session.random.random_bool(0.5) => sequences::use_or_change(session).await,
        Some(Kind::Sequences) => sequences::next(session, transaction.draft.is_synchronous).await,
        Some(Kind::Copy) => copy::copy(session, transaction).await,
        Some(Kind::Cursors) => cursors::read(session).await,
        Some(Kind::Temporary) => temporary::change(session, true).await,
        Some(Kind::Objects) => objects::change(session).await,
        Some(kind) => unreachable!("{kind:?} is no step"),
        None => session.say("select 1").await.map(|_| ()),
    }
}

/// A row in one of the witness tables.
async fn witness(session: &mut Session, transaction: &mut Transaction) -> Result<(), Trouble> {
    let (table, length) = (session.random.random_range(1..=3), session.random.random_range(0..200));
    let draft = &mut transaction.draft;
    let text = format!(
        "insert into witness_{table} values ({}, {}, {}, repeat('w', {length}))",
        session.number,
        draft.number,
        draft.effects.len()
    );
    session.say(&text).await?;
    draft.effects.push(Effect::Witness);
    Ok(())
}
