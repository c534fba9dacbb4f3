//! One transaction: random steps, savepoints around them, and one of several ends.

use std::sync::Arc;
use std::time::Duration;

use rand::Rng;
use rand::seq::IndexedRandom;

use crate::model::{Draft, Fate, OWN_TABLES, Prepared, PreparedState};
use crate::options::Kind;
use crate::session::Session;
use crate::steps;
use crate::wire::Trouble;

/// Rows of `vault`, of which each prepared transaction holds one.
pub const VAULT_ROWS: i64 = 64;

/// The part of a transaction that its steps may know.
pub struct Transaction {
    /// Its effects so far.
    pub draft: Draft,
    /// Whether each statement sees what was committed before it.
    pub is_read_committed: bool,
    /// Whether it has notified somebody, and so can't be prepared.
    pub has_notified: bool,
    /// Own tables that a prepared transaction had changed when this one began: its snapshot may be older than the end of
    /// that one.
    pub doubtful: [bool; OWN_TABLES],
}

/// Runs one.
///
/// # Errors
/// The error of its end, or that the connection is gone.
pub async fn run(session: &mut Session) -> Result<(), Trouble> {
    let isolation = *["read committed", "read committed", "repeatable read", "serializable"]
        .choose(&mut session.random)
        .expect("there are some");
    let doubtful = session.torture.model.session(session.number).in_doubt.map(|doubt| doubt.is_some());
    session.say(&format!("begin isolation level {isolation}")).await?;
    let mut transaction = Transaction {
        draft: Draft {
            session: session.number,
            number: session.torture.model.session(session.number).take_number(),
            is_synchronous: session.is_synchronous,
            effects: Vec::new(),
        },
        is_read_committed: isolation == "read committed",
        has_notified: false,
        doubtful,
    };
    let result = work(session, &mut transaction).await;
    if let Err(trouble) = result {
        return give_up(session, &transaction.draft, trouble).await;
    }
    let is_prepared = session.torture.options.allows(Kind::TwoPhase) && !transaction.has_notified;
    match session.random.random_range(0..10) {
        0 => roll_back(session, &transaction.draft).await,
        1 if is_prepared => prepare(session, transaction.draft).await,
        _ => commit(session, transaction.draft).await,
    }
}

/// The steps, and the row in the ledger.
async fn work(session: &mut Session, transaction: &mut Transaction) -> Result<(), Trouble> {
    if session.torture.options.allows(Kind::Asynchronous) && session.random.random_ratio(1, 10) {
        session.say("set local synchronous_commit = off").await?;
        transaction.draft.is_synchronous = false;
    }
    for _ in 0..session.random.random_range(1..=5) {
        if session.random.random_ratio(1, 40) {
            // Idle in a transaction, with all its locks.
            tokio::time::sleep(Duration::from_millis(session.random.random_range(0..100))).await;
        }
        if session.torture.options.allows(Kind::Savepoints) && session.random.random_ratio(1, 3) {
            step_in_savepoint(session, transaction).await?;
        } else {
            steps::run_step(session, transaction).await?;
        }
    }
    let draft = &transaction.draft;
    let text = format!("insert into ledger values ({}, {}, {})", session.number, draft.number, draft.parts());
    session.say(&text).await.map(|_| ())
}

/// A step that can fail, or be taken back, without the transaction.
async fn step_in_savepoint(session: &mut Session, transaction: &mut Transaction) -> Result<(), Trouble> {
    session.say("savepoint s").await?;
    let (effects, holds) = (transaction.draft.effects.len(), session.holds.last().map_or(0, |hold| hold.serial));
    let result = steps::run_step(session, transaction).await;
    let is_taken_back = match result {
        Ok(()) => session.random.random_ratio(1, 4),
        Err(Trouble::Refused { .. }) => true,
        Err(trouble) => return Err(trouble),
    };
    if is_taken_back {
        transaction.draft.effects.truncate(effects);
        session.release_holds(|hold| hold.is_transactional && hold.serial > holds);
        session.say("rollback to s").await?;
    }
    if session.random.random_bool(0.5) {
        session.say("release s").await?;
    }
    Ok(())
}

/// Ends a transaction after an error.
async fn give_up(session: &mut Session, draft: &Draft, trouble: Trouble) -> Result<(), Trouble> {
    session.release_holds(|hold| hold.is_transactional);
    session.torture.model.rolled_back(draft);
    if matches!(trouble, Trouble::Lost(_)) {
        return Err(trouble);
    }
    session.say("rollback").await.map(|_| ())
}

async fn roll_back(session: &mut Session, draft: &Draft) -> Result<(), Trouble> {
    session.release_holds(|hold| hold.is_transactional);
    session.torture.model.rolled_back(draft);
    session.say("rollback").await.map(|_| ())
}

async fn commit(session: &mut Session, draft: Draft) -> Result<(), Trouble> {
    session.release_holds(|hold| hold.is_transactional);
    let result = session.say("commit").await;
    let model = &session.torture.model;
    match &result {
        Ok(_) => {
            session.torture.count_commit();
            model.committed(&draft, draft.is_synchronous);
            if draft.is_synchronous {
                model.session(session.number).make_firm();
            }
        }
        Err(Trouble::Refused { .. }) => model.rolled_back(&draft),
        Err(Trouble::Lost(_)) => {
            model.in_doubt(&draft, Fate::Unknown);
            model.session(session.number).unknown.push(draft);
        }
    }
    result.map(|_| ())
}

/// Leaves it to another session to finish it.
async fn prepare(session: &mut Session, draft: Draft) -> Result<(), Trouble> {
    let gid = format!("{}:{}", draft.session, draft.number);
    let vault = session.random.random_range(0..VAULT_ROWS);
    if let Err(trouble) = session.say(&format!("update vault set v = v + 1 where id = {vault}")).await {
        return give_up(session, &draft, trouble).await;
    }
    session.release_holds(|hold| hold.is_transactional);
    let torture = Arc::clone(&session.torture);
    let model = &torture.model;
    model.in_doubt(&draft, Fate::Unknown);
    let result = session.say(&format!("prepare transaction '{gid}'")).await;
    let state = match &result {
        Ok(_) => PreparedState::Ready,
        Err(Trouble::Refused { .. }) => {
            model.rolled_back(&draft);
            return result.map(|_| ());
        }
        Err(Trouble::Lost(_)) => PreparedState::Unknown,
    };
    if state == PreparedState::Ready {
        model.in_doubt(&draft, Fate::Prepared);
        model.session(session.number).make_firm();
    }
    model.prepared().insert(gid, Prepared { draft, vault, state, by: session.number });
    result.map(|_| ())
}

/// Finishes a transaction that any session has prepared.
///
/// # Errors
/// Errors of the statement.
pub async fn finish_prepared(session: &mut Session) -> Result<(), Trouble> {
    let torture = Arc::clone(&session.torture);
    let model = &torture.model;
    let taken = {
        let mut prepared = model.prepared();
        let ready: Vec<String> =
            prepared.iter().filter(|(_, one)| one.state == PreparedState::Ready).map(|(gid, _)| gid.clone()).collect();
        let Some(gid) = ready.choose(&mut session.random) else { return Ok(()) };
        let one = prepared.get_mut(gid).expect("it was there a moment ago");
        one.state = PreparedState::Taken;
        one.by = session.number;
        (gid.clone(), one.draft.clone())
    };
    let (gid, draft) = taken;
    let is_commit = session.random.random_bool(0.7);
    let verb = if is_commit { "commit" } else { "rollback" };
    let result = session.say(&format!("{verb} prepared '{gid}'")).await;
    let mut prepared = model.prepared();
    match &result {
        Ok(_) => {
            prepared.remove(&gid);
            drop(prepared);
            if is_commit {
                torture.count_commit();
                model.committed(&draft, true);
            } else {
                model.rolled_back(&draft);
            }
        }
        // Cancelled, or timed out: another attempt may come.
        Err(Trouble::Refused { .. }) => {
            prepared.get_mut(&gid).expect("only its taker removes it").state = PreparedState::Ready
        }
        Err(Trouble::Lost(_)) => {
            prepared.get_mut(&gid).expect("only its taker removes it").state = PreparedState::Unknown
        }
    }
    result.map(|_| ())
}
