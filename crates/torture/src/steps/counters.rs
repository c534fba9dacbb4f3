//! Counters that only rise: once a value was seen, no crash takes it back.

use rand::Rng;

use crate::model::{COUNTERS, Effect};
use crate::session::Session;
use crate::transaction::Transaction;
use crate::wire::Trouble;

/// The tables and their rows.
pub const SCHEMA: &str = "
    create table counters (id int primary key, value bigint not null);
    insert into counters select g, 0 from generate_series(0, 3) g;
    create table notice_count (id int primary key, value bigint not null);
    insert into notice_count values (1, 0)";

/// Raises a counter, or looks at one.
///
/// # Errors
/// Errors of the statement.
pub async fn count(session: &mut Session, transaction: &mut Transaction) -> Result<(), Trouble> {
    let place = session.random.random_range(0..COUNTERS);
    let draft = &mut transaction.draft;
    let is_own = |effect: &Effect| matches!(effect, Effect::Counter { place: changed, .. } if *changed == place);
    if session.random.random_bool(0.5) {
        let text = format!("update counters set value = value + 1 where id = {place} returning value");
        if let Some(value) = session.say(&text).await?.number(0, 0) {
            draft.effects.push(Effect::Counter { place, value });
        }
    } else if !draft.effects.iter().any(is_own) {
        look(session, place, transaction.is_read_committed, draft.is_synchronous).await?;
    }
    Ok(())
}

/// Reads a counter. Its value must have been committed, and no acknowledged commit may be missing from it.
///
/// # Errors
/// Errors of the statement.
pub async fn look(session: &mut Session, place: usize, is_new: bool, is_synchronous: bool) -> Result<(), Trouble> {
    let acknowledged = session.torture.model.counter(place).acknowledged;
    let answer = session.say(&format!("select value from counters where id = {place}")).await?;
    let Some(value) = answer.number(0, 0) else {
        session.torture.fail(format!("counter {place} is gone"));
        return Ok(());
    };
    if is_new && value < acknowledged {
        session
            .torture
            .fail(format!("counter {place} is {value} for a new snapshot; {acknowledged} was acknowledged before"));
    }
    if is_synchronous {
        let mut counter = session.torture.model.counter(place);
        counter.firm = counter.firm.max(value);
    }
    Ok(())
}

/// Notifies listeners. The count's row makes the order of commits known.
///
/// # Errors
/// Errors of the statements.
pub async fn notify(session: &mut Session, transaction: &mut Transaction) -> Result<(), Trouble> {
    let text = "update notice_count set value = value + 1 where id = 1 returning value";
    let Some(value) = session.say(text).await?.number(0, 0) else { return Ok(()) };
    transaction.has_notified = true;
    session.say(&format!("notify news, '{value}'")).await?;
    transaction.draft.effects.push(Effect::Notified(value));
    Ok(())
}
