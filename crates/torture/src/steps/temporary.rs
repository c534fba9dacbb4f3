//! Temporary tables of one name in all sessions: each sees its own rows only.

use rand::Rng;

use crate::session::Session;
use crate::wire::Trouble;

/// Makes, fills, reads or drops the session's table. Outside of a transaction a table `on commit delete rows` is empty after each statement.
///
/// # Errors
/// Errors of the statements.
pub async fn change(session: &mut Session, is_in_transaction: bool) -> Result<(), Trouble> {
    let at_commit = ["", "on commit delete rows", "on commit drop"][session.random.random_range(0..3)];
    let me = session.number;
    session.say(&format!("create temporary table if not exists scratch (session int, value text) {at_commit}")).await?;
    match session.random.random_range(0..8) {
        0 => session.say("drop table scratch").await.map(|_| ()),
        1 => session.say("truncate scratch").await.map(|_| ()),
        2 => session.say("create index on scratch (session)").await.map(|_| ()),
        _ => {
            let rows = session.random.random_range(1..40);
            let text = format!("insert into scratch select {me}, repeat('t', g) from generate_series(1, {rows}) g");
            session.say(&text).await?;
            let text = "select session::text from scratch";
            let answer = session.say_extended(text).await?;
            let wanted = me.to_string();
            if let Some(row) = answer.rows.iter().find(|row| row[0].as_deref() != Some(&wanted)) {
                session.torture.fail(format!("the temporary table of session {me} has a row of another: {row:?}"));
            }
            if is_in_transaction && answer.rows.len() < rows {
                session.torture.fail(format!("{} rows are left of {rows} in a temporary table", answer.rows.len()));
            }
            Ok(())
        }
    }
}
