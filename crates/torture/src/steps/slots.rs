//! Unique keys of all kinds: plain, deferrable, partial, over expressions; and checks.

use rand::Rng;

use crate::session::Session;
use crate::wire::Trouble;

const SLOTS: i64 = 40;

/// The table and its rows.
pub const SCHEMA: &str = "
    create table slots (id int primary key, position int not null unique deferrable initially deferred check (position >= 0),
        label text unique, kind int);
    create unique index slots_special on slots (kind) where kind < 3;
    create unique index slots_upper on slots (upper(label));
    insert into slots select g, g, 'l' || g, g + 10 from generate_series(1, 40) g";

/// Queries that find nothing.
pub const CHECKS: &[(&str, &str)] = &[
    ("slots of one key", "select id from slots group by id having count(*) > 1"),
    ("slots of one position", "select position from slots group by position having count(*) > 1"),
    ("slots of one label", "select label from slots group by label having count(*) > 1"),
    ("slots of one special kind", "select kind from slots where kind < 3 group by kind having count(*) > 1"),
    ("slots in impossible positions", "select * from slots where position < 0"),
];

/// Changes some rows, often so that a constraint refuses it.
///
/// # Errors
/// Errors of the statements.
pub async fn change(session: &mut Session) -> Result<(), Trouble> {
    let (one, other) = (session.random.random_range(1..=SLOTS), session.random.random_range(1..=SLOTS));
    let text = match session.random.random_range(0..9) {
        0 => format!("update slots set label = 'l{other}' where id = {one}"),
        1 => format!("update slots set kind = {} where id = {one}", other % 6),
        2 => format!("update slots set position = position + 1 where id between {one} and {other}"),
        3 => format!("update slots set position = {} where id = {one}", other - 2),
        4 => format!("delete from slots where id = {one}"),
        5 => format!("insert into slots values ({one}, {one}, 'L{other}', 9)"),
        6 => format!(
            "insert into slots values ({one}, {other}, 'l{one}', 9) on conflict (id) do update set kind = slots.kind + 1"
        ),
        7 => format!("insert into slots values ({one}, {other}, 'l{other}', 9) on conflict (label) do nothing"),
        _ => return swap(session, one, other).await,
    };
    session.say(&text).await.map(|_| ())
}

/// Two rows change places, which is right only at the transaction's end.
async fn swap(session: &mut Session, one: i64, other: i64) -> Result<(), Trouble> {
    let text = format!("select id, position from slots where id in ({one}, {other}) order by id for update");
    let answer = session.say(&text).await?;
    let (Some(first), Some(second)) = (answer.number(0, 1), answer.number(1, 1)) else { return Ok(()) };
    for (id, position) in [(one.min(other), second), (one.max(other), first)] {
        session.say(&format!("update slots set position = {position} where id = {id}")).await?;
    }
    if session.random.random_bool(0.3) {
        session.say("set constraints all immediate").await?;
    }
    Ok(())
}
