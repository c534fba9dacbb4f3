//! VACUUM, ANALYZE, REINDEX and indexes on tables that all sessions use.

use rand::Rng;
use rand::seq::IndexedRandom;

use crate::session::Session;
use crate::wire::Trouble;

/// Tables that all sessions use and nobody drops.
pub const TABLES: &[&str] = &["accounts", "ledger", "witness_1", "witness_2", "witness_3", "vault", "lockables"];

/// One piece of maintenance, outside of a transaction.
///
/// # Errors
/// Errors of the statement.
pub async fn maintain(session: &mut Session) -> Result<(), Trouble> {
    let table = TABLES.choose(&mut session.random).expect("there are some");
    let place = session.random.random_range(1..=3);
    let text = match session.random.random_range(0..12) {
        0..4 => format!("vacuum {table}"),
        4 => format!("vacuum analyze {table}"),
        5 => format!("vacuum freeze {table}"),
        6 => format!("analyze {table}"),
        7 => format!("reindex table {table}"),
        8 => format!("create index if not exists accounts_extra_{place} on accounts (balance, id)"),
        9 => format!("drop index if exists accounts_extra_{place}"),
        10 => "vacuum".to_owned(),
        _ => format!("create index concurrently if not exists accounts_extra_{place} on accounts (balance)"),
    };
    session.say(&text).await.map(|_| ())
}
