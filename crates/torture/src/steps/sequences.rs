//! Sequences: no value is given twice. Others are changed and dropped while values are taken from them.

use rand::Rng;

use crate::session::Session;
use crate::wire::Trouble;

/// The sequences.
pub const SCHEMA: &str = "create sequence numbers; create sequence numbers_cached cache 5";

/// Asks for a value.
///
/// # Errors
/// Errors of the statement.
pub async fn next(session: &mut Session, is_synchronous: bool) -> Result<(), Trouble> {
    let name = ["numbers", "numbers_cached"][session.random.random_range(0..2)];
    let answer = session.say(&format!("select nextval('{name}')")).await?;
    let Some(value) = answer.number(0, 0) else { return Ok(()) };
    let noted = {
        let mut given = session.torture.model.given.lock().expect("nobody panics with it");
        given.entry(name).or_default().note(value, session.life, is_synchronous)
    };
    if let Err(problem) = noted {
        session.torture.fail(format!("{name}: {problem}"));
    }
    Ok(())
}

/// Uses, changes or drops one of the sequences that come and go. Another session may have dropped it, or may do so at this
/// moment. A transaction that is prepared keeps its lock on it.
///
/// # Errors
/// Errors of the statement.
pub async fn use_or_change(session: &mut Session) -> Result<(), Trouble> {
    let name = format!("fleeting_{}", session.random.random_range(1..=2));
    let number = session.random.random_range(1..1000);
    let text = match session.random.random_range(0..20) {
        0..3 => format!("create sequence if not exists {name} cache {}", number % 3 + 1),
        3 | 4 => format!("drop sequence if exists {name}"),
        5 => format!("alter sequence {name} restart with {number}"),
        6 => format!("alter sequence {name} increment by {}", number % 5 + 1),
        7 => format!("select setval('{name}', {number})"),
        8 => format!("select last_value from {name}"),
        9 => "select count(last_value) from pg_sequences".to_owned(),
        10 => format!("select nextval('{name}'), currval('{name}'), lastval()"),
        _ => format!("select nextval('{name}')"),
    };
    session.say(&text).await.map(|_| ())
}
