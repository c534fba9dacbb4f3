//! Sequences: no value is given twice.

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
