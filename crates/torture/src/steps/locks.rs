//! Row locks and advisory locks: no two sessions hold what excludes each other.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use rand::Rng;

use crate::session::Session;
use crate::wire::Trouble;

/// Rows of `lockables`.
pub const LOCKABLES: i64 = 8;

/// Numbers of advisory locks.
const ADVISORY: i64 = 6;

/// The thing that is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A row of `lockables`.
    Row(i64),
    /// An advisory lock.
    Advisory(i64),
}

/// Strengths of row locks, from the weakest on, and what asks for them.
const STRENGTHS: [&str; 4] = ["key share", "share", "no key update", "update"];

/// Whether two strengths exclude each other.
fn conflict(one: usize, other: usize) -> bool {
    // Key share excludes update alone, share also no key update, and both updates exclude themselves and each other.
    one + other > 2
}

/// A lock that a session was given and has not begun to give back.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// The thing that is locked.
    pub key: Key,
    /// Tells one hold from others of the same session.
    pub serial: u64,
    /// Whether it ends with the transaction.
    pub is_transactional: bool,
}

#[derive(Debug)]
struct Holder {
    session: usize,
    strength: usize,
    serial: u64,
}

/// Two sessions were given locks that exclude each other. That is no error yet: either session, or its transaction, may have been ended
/// without its knowledge before the other one was given its lock. It is an error if in both a statement succeeds that begins later.
#[derive(Debug)]
struct Conflict {
    text: String,
    sides: [Side; 2],
}

#[derive(Debug)]
struct Side {
    serial: u64,
    is_armed: bool,
    has_survived: bool,
}

impl Side {
    fn new(serial: u64) -> Side {
        Side { serial, is_armed: false, has_survived: false }
    }

    fn is_of(&self, holds: &[Hold]) -> bool {
        holds.iter().any(|hold| hold.serial == self.serial)
    }
}

/// The holders of each lock.
#[derive(Default)]
pub struct Holders {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    held: HashMap<Key, Vec<Holder>>,
    conflicts: Vec<Conflict>,
    last_serial: u64,
}

impl Holders {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("nobody panics with the holders")
    }

    /// A session was given a lock.
    pub fn grant(&self, key: Key, session: usize, strength: usize, is_transactional: bool) -> Hold {
        let mut table = self.table();
        let table = &mut *table;
        table.last_serial += 1;
        let serial = table.last_serial;
        let holders = table.held.entry(key).or_default();
        for holder in holders.iter() {
            if holder.session != session && conflict(holder.strength, strength) {
                let text = format!(
                    "session {session} was given {key:?} for {}, which session {} holds for {}",
                    STRENGTHS[strength], holder.session, STRENGTHS[holder.strength]
                );
                table.conflicts.push(Conflict { text, sides: [Side::new(holder.serial), Side::new(serial)] });
            }
        }
        holders.push(Holder { session, strength, serial });
        Hold { key, serial, is_transactional }
    }

    /// Locks are about to be given back.
    pub fn release(&self, holds: &[Hold]) {
        let mut table = self.table();
        for hold in holds {
            if let Some(holders) = table.held.get_mut(&hold.key) {
                holders.retain(|holder| holder.serial != hold.serial);
            }
        }
        // A side that has survived held its lock when the other one was given its own.
        table.conflicts.retain(|conflict| !conflict.sides.iter().any(|side| side.is_of(holds) && !side.has_survived));
    }

    /// A session that holds these locks begins a statement.
    pub fn arm(&self, holds: &[Hold]) {
        self.each_side(holds, |side| side.is_armed = true);
    }

    /// The statement has succeeded: an error tells who was given a lock beside it.
    ///
    /// # Errors
    /// If two sessions held what excludes each other, and both have gone on.
    pub fn survived(&self, holds: &[Hold]) -> Result<(), String> {
        self.each_side(holds, |side| side.has_survived = side.is_armed);
        let table = self.table();
        let proven = table.conflicts.iter().find(|conflict| conflict.sides.iter().all(|side| side.has_survived));
        proven.map_or(Ok(()), |conflict| Err(conflict.text.clone()))
    }

    fn each_side(&self, holds: &[Hold], mut visit: impl FnMut(&mut Side)) {
        let mut table = self.table();
        for side in table.conflicts.iter_mut().flat_map(|conflict| &mut conflict.sides) {
            if side.is_of(holds) {
                visit(side);
            }
        }
    }
}

/// Locks a row within a transaction.
///
/// # Errors
/// Errors of the statement.
pub async fn lock_row(session: &mut Session) -> Result<(), Trouble> {
    let row = session.random.random_range(1..=LOCKABLES);
    let strength = session.random.random_range(0..STRENGTHS.len());
    let policy = ["", "", " nowait", " skip locked"][session.random.random_range(0..4)];
    let text = format!("select id from lockables where id = {row} for {}{policy}", STRENGTHS[strength]);
    let answer = session.say(&text).await?;
    if !answer.rows.is_empty() {
        let hold = session.torture.model.holders.grant(Key::Row(row), session.number, strength, true);
        session.holds.push(hold);
    }
    // Others go on with what the lock does not exclude.
    if strength >= 2 && session.random.random_ratio(1, 3) {
        session.say(&format!("update lockables set v = v + 1 where id = {row}")).await?;
    }
    Ok(())
}

/// Takes an advisory lock, of the transaction or of the session.
///
/// # Errors
/// Errors of the statement.
pub async fn lock_advisory(session: &mut Session, is_in_transaction: bool) -> Result<(), Trouble> {
    let number = session.random.random_range(1..=ADVISORY);
    let (is_shared, is_tried) = (session.random.random_bool(0.4), session.random.random_bool(0.5));
    let is_transactional = is_in_transaction && session.random.random_bool(0.7);
    let text = format!(
        "select pg_{}advisory_{}lock{}({number})",
        if is_tried { "try_" } else { "" },
        if is_transactional { "xact_" } else { "" },
        if is_shared { "_shared" } else { "" }
    );
    let answer = session.say(&text).await?;
    if answer.text(0, 0) == Some("f") {
        return Ok(());
    }
    // Share excludes exclusive only: as share and update among row locks.
    let strength = if is_shared { 1 } else { 3 };
    let hold = session.torture.model.holders.grant(Key::Advisory(number), session.number, strength, is_transactional);
    session.holds.push(hold);
    Ok(())
}

/// Gives back all advisory locks of the session.
///
/// # Errors
/// Errors of the statement.
pub async fn unlock_advisory(session: &mut Session) -> Result<(), Trouble> {
    session.release_holds(|hold| matches!(hold.key, Key::Advisory(_)) && !hold.is_transactional);
    session.say("select pg_advisory_unlock_all()").await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strengths_exclude_each_other_as_the_manual_says() {
        let table = [[false, false, false, true], [false, false, true, true], [false, true, true, true], [true; 4]];
        for (one, row) in table.iter().enumerate() {
            for (other, wanted) in row.iter().enumerate() {
                assert_eq!(conflict(one, other), *wanted, "{} and {}", STRENGTHS[one], STRENGTHS[other]);
            }
        }
    }

    #[test]
    fn a_lock_given_twice_is_an_error_once_both_holders_go_on() {
        let holders = Holders::default();
        let first = [holders.grant(Key::Row(1), 0, 3, true)];
        let second = [holders.grant(Key::Row(1), 1, 1, true)];
        assert!(holders.survived(&first).is_ok(), "its statement may have failed before");
        holders.arm(&first);
        assert!(holders.survived(&first).is_ok(), "the other one may have ended as soon as it had the lock");
        holders.release(&first);
        holders.arm(&second);
        assert!(holders.survived(&second).is_err());
    }

    #[test]
    fn a_lock_whose_holder_may_have_ended_is_given_again() {
        for ends in 0..2 {
            let holders = Holders::default();
            let holds = [[holders.grant(Key::Row(1), 0, 3, true)], [holders.grant(Key::Row(1), 1, 3, true)]];
            holders.arm(&holds[ends]);
            holders.release(&holds[ends]);
            holders.arm(&holds[1 - ends]);
            assert!(holders.survived(&holds[1 - ends]).is_ok());
        }
    }

    #[test]
    fn a_lock_given_after_its_release_is_none() {
        let holders = Holders::default();
        let first = [holders.grant(Key::Row(1), 0, 3, true)];
        holders.release(&first);
        let second = [holders.grant(Key::Row(1), 1, 3, true)];
        holders.arm(&second);
        assert!(holders.survived(&second).is_ok());
    }
}
