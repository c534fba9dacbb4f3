//! Values too large for their row, each with its digest beside it.

use rand::Rng;

use crate::session::Session;
use crate::wire::Trouble;

const DOCUMENTS: i64 = 30;

/// The table.
pub const SCHEMA: &str = "create table documents (id int primary key, body text not null, digest text not null)";

/// Queries that find nothing.
pub const CHECKS: &[(&str, &str)] =
    &[("documents of another digest", "select id, length(body), digest from documents where md5(body) <> digest")];

/// Writes or reads a document.
///
/// # Errors
/// Errors of the statements.
pub async fn change(session: &mut Session) -> Result<(), Trouble> {
    let id = session.random.random_range(1..=DOCUMENTS);
    match session.random.random_range(0..6) {
        0 => session.say(&format!("delete from documents where id = {id}")).await.map(|_| ()),
        1 => {
            let text = "update documents set body = body || id, digest = md5(body || id)";
            session.say(&format!("{text} where id = {id} and length(body) < 200000")).await.map(|_| ())
        }
        2 => {
            let answer = session.say(&format!("select md5(body) = digest from documents where id = {id}")).await?;
            if answer.text(0, 0) == Some("f") {
                session.torture.fail(format!("document {id} does not have its digest"));
            }
            Ok(())
        }
        3 => {
            // One that is compressed.
            let length = session.random.random_range(0..100_000);
            let text = "on conflict (id) do update set body = excluded.body, digest = excluded.digest";
            let made = format!("select {id}, repeat('abc', {length})");
            let text = format!("insert into documents select id, b, md5(b) from ({made}) as m (id, b) {text}");
            session.say(&text).await.map(|_| ())
        }
        _ => {
            let length = session.random.random_range(0..20_000);
            let body: String = (0..length).map(|_| session.random.random_range('a'..='z')).collect();
            let text = "on conflict (id) do update set body = excluded.body, digest = excluded.digest";
            session
                .say(&format!("insert into documents values ({id}, '{body}', md5('{body}')) {text}"))
                .await
                .map(|_| ())
        }
    }
}
