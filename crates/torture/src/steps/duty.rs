//! Write skew: of two who are on duty one may leave, if nobody else leaves at the same time.

use rand::Rng;

use crate::session::Session;
use crate::wire::Trouble;

/// The table and its rows.
pub const SCHEMA: &str = "
    create table duty (pair int, side int, is_on bool not null, primary key (pair, side));
    insert into duty select g / 2, g % 2, true from generate_series(0, 7) g";

/// Queries that find nothing.
pub const CHECKS: &[(&str, &str)] =
    &[("pairs of which nobody is on duty", "select pair from duty group by pair having not bool_or(is_on)")];

/// One leaves, or comes back, in a serializable transaction.
///
/// # Errors
/// Errors of the statements, among them the expected one: 40001.
pub async fn change(session: &mut Session) -> Result<(), Trouble> {
    let (pair, side) = (session.random.random_range(0..4), session.random.random_range(0..2));
    session.say("begin isolation level serializable").await?;
    let result = decide(session, pair, side).await;
    let end = if result.is_ok() { "commit" } else { "rollback" };
    session.say(end).await?;
    result
}

async fn decide(session: &mut Session, pair: i32, side: i32) -> Result<(), Trouble> {
    let answer = session.say(&format!("select count(*) from duty where pair = {pair} and is_on")).await?;
    let on_duty = answer.number(0, 0);
    if on_duty == Some(0) {
        session.torture.fail(format!("nobody of pair {pair} is on duty"));
    }
    let is_on = on_duty != Some(2);
    session.say(&format!("update duty set is_on = {is_on} where pair = {pair} and side = {side}")).await.map(|_| ())
}
