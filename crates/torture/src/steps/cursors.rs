//! Cursors: however slowly they are read, they give what there was when they were opened.

use std::time::Duration;

use rand::Rng;

use super::money;
use crate::session::Session;
use crate::wire::Trouble;

/// Reads accounts through a cursor of the transaction.
///
/// # Errors
/// Errors of the statements.
pub async fn read(session: &mut Session) -> Result<(), Trouble> {
    session.say("declare reading cursor for select balance from accounts").await?;
    let mut balances = Vec::new();
    while fetch(session, &mut balances).await? {}
    check(session, &balances);
    session.say("close reading").await.map(|_| ())
}

/// Reads accounts through a cursor that outlives its transaction.
///
/// # Errors
/// Errors of the statements.
pub async fn read_held(session: &mut Session) -> Result<(), Trouble> {
    session.say("close all").await?;
    session.say("begin").await?;
    let opened = session.say("declare reading cursor with hold for select balance from accounts").await;
    let mut balances = Vec::new();
    let result = match opened {
        Ok(_) => fetch(session, &mut balances).await,
        Err(trouble) => Err(trouble),
    };
    if let Err(trouble) = result {
        session.say("rollback").await?;
        return Err(trouble);
    }
    session.say("commit").await?;
    while fetch(session, &mut balances).await? {}
    check(session, &balances);
    session.say("close reading").await.map(|_| ())
}

/// Some rows; whether there may be more.
async fn fetch(session: &mut Session, balances: &mut Vec<i64>) -> Result<bool, Trouble> {
    let rows = session.random.random_range(1..30);
    let answer = session.say(&format!("fetch {rows} from reading")).await?;
    balances.extend((0..answer.rows.len()).filter_map(|row| answer.number(row, 0)));
    if session.random.random_ratio(1, 10) {
        tokio::time::sleep(Duration::from_millis(session.random.random_range(0..50))).await;
    }
    Ok(answer.rows.len() as i64 == rows)
}

fn check(session: &Session, balances: &[i64]) {
    let sum: i64 = balances.iter().sum();
    if (sum, balances.len() as i64) != (money::TOTAL, money::ACCOUNTS) {
        session.torture.fail(format!("{} accounts read through a cursor add up to {sum}", balances.len()));
    }
}
