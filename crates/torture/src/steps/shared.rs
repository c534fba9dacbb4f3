//! Tables that all sessions use, change and drop beside each other.

use rand::Rng;

use crate::session::Session;
use crate::wire::Trouble;

/// Changes one of them. Another session may have dropped it, or may drop it at this moment.
///
/// # Errors
/// Errors of the statement.
pub async fn change(session: &mut Session) -> Result<(), Trouble> {
    let table = format!("shared_{}", session.random.random_range(1..=3));
    let number = session.random.random_range(1..200);
    let text = match session.random.random_range(0..23) {
        0..2 => format!("create table if not exists {table} (id bigserial primary key, value int, note text)"),
        2 => format!("drop table if exists {table}"),
        3 => format!("truncate {table} restart identity"),
        4 => format!("alter table {table} add column extra_{} int default {number}", number % 4),
        5 => format!("alter table {table} drop column if exists extra_{}", number % 4),
        6 => format!("create index if not exists {table}_value on {table} (value, note)"),
        7 => format!("drop index if exists {table}_value"),
        8 => format!("alter table {table} alter column value type {}", ["int", "bigint"][number % 2]),
        9 => format!("create unique index if not exists {table}_unique on {table} (note)"),
        10 => format!("drop index if exists {table}_unique"),
        11 => format!("delete from {table} where value < {number}"),
        12 => format!("update {table} set value = value + {number} where id % 7 = 1"),
        13 => format!("update {table} set note = note || 'u' where value = {number}"),
        14 => format!("lock table {table} in share mode"),
        15 => format!("reindex table {table}"),
        16 => format!("alter table {table} set (fillfactor = {})", 50 + number % 50),
        // Eight of these rows fill a page, so that many pages come and go.
        17..20 => format!(
            "insert into {table} (value, note) select g, repeat('w', 850 + g % 50) from generate_series(1, {number}) g"
        ),
        20 => format!("truncate {table}"),
        _ => format!(
            "insert into {table} (value, note) select g, g || 'note' || random() from generate_series(1, {number}) g"
        ),
    };
    session.say(&text).await.map(|_| ())
}

/// Vacuums one of them, outside of a transaction.
///
/// # Errors
/// Errors of the statement.
pub async fn vacuum(session: &mut Session) -> Result<(), Trouble> {
    let table = format!("shared_{}", session.random.random_range(1..=3));
    let word = ["", "(freeze) ", "(analyze) "][session.random.random_range(0..3)];
    session.say(&format!("vacuum {word}{table}")).await.map(|_| ())
}
