//! Accounts between which money moves: their sum never changes.

use rand::Rng;

use crate::session::Session;
use crate::transaction::Transaction;
use crate::wire::Trouble;

/// Accounts.
pub const ACCOUNTS: i64 = 50;

/// All the money.
pub const TOTAL: i64 = ACCOUNTS * 1000;

/// The table.
pub const SCHEMA: &str =
    "create table accounts (id int primary key, balance bigint not null, filler text default repeat('f', 80))";

/// Its rows.
pub const FILL: &str = "insert into accounts select g, 1000 from generate_series(1, 50) g";

/// Moves money between two accounts, in one statement or in two, or adds all of it up.
///
/// # Errors
/// Errors of the statements.
pub async fn transfer(session: &mut Session, transaction: &mut Transaction) -> Result<(), Trouble> {
    let (from, to) = (session.random.random_range(1..=ACCOUNTS), session.random.random_range(1..=ACCOUNTS));
    let amount = session.random.random_range(1..100);
    match session.random.random_range(0..5) {
        0 => look(session).await,
        1 => {
            let text = format!(
                "update accounts set balance = balance + case id when {from} then -{amount} else {amount} end
                 where id in ({from}, {to}) and {from} <> {to}"
            );
            if session.say(&text).await?.count == 1 {
                give_up(session).await?;
            }
            Ok(())
        }
        // Replacing rows makes index entries, too.
        2 if transaction.is_read_committed => {
            let text = format!("delete from accounts where id = {from} returning balance");
            let answer = session.say(&text).await?;
            if let Some(balance) = answer.number(0, 0) {
                session.say(&format!("insert into accounts values ({from}, {balance})")).await?;
            }
            Ok(())
        }
        _ => {
            // One order for all, mostly, or there would be little but deadlocks.
            let is_ordered = session.random.random_bool(0.9);
            let (first, second) = if is_ordered { (from.min(to), from.max(to)) } else { (from, to) };
            for (id, change) in [(first, -amount), (second, amount)] {
                let text = format!("update accounts set balance = balance + {change} where id = {id}");
                if session.say(&text).await?.count == 0 {
                    give_up(session).await?;
                }
            }
            Ok(())
        }
    }
}

/// Another transaction replaces one of the two accounts at this moment, so the money of the other must go back.
async fn give_up(session: &mut Session) -> Result<(), Trouble> {
    session.say("select 1 / 0").await.map(|_| ())
}

/// The sum, as one statement sees it.
async fn look(session: &mut Session) -> Result<(), Trouble> {
    let answer = session.say("select sum(balance), count(*) from accounts").await?;
    if (answer.number(0, 0), answer.number(0, 1)) != (Some(TOTAL), Some(ACCOUNTS)) {
        session.torture.fail(format!("accounts add up to {:?}, not to {TOTAL} in {ACCOUNTS}", answer.rows));
    }
    Ok(())
}
