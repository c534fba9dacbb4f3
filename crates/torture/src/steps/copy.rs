//! COPY in both directions, given up or cut off in the middle.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use rand::Rng;

use super::money;
use crate::model::Effect;
use crate::options::Kind;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::wire::Trouble;

/// How a COPY into a table ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Done,
    Wrong,
    GivenUp,
    Cut,
}

/// Copies rows into a witness table, or accounts out of theirs.
///
/// # Errors
/// Errors of the server.
pub async fn copy(session: &mut Session, transaction: &mut Transaction) -> Result<(), Trouble> {
    if session.random.random_bool(0.5) { copy_in(session, transaction).await } else { copy_out(session).await }
}

async fn copy_in(session: &mut Session, transaction: &mut Transaction) -> Result<(), Trouble> {
    let (table, rows) = (session.random.random_range(1..=3), session.random.random_range(1..60));
    let end = match session.random.random_range(0..60) {
        0..3 => End::GivenUp,
        3..6 => End::Wrong,
        6 if session.torture.options.allows(Kind::Disconnect) => End::Cut,
        _ => End::Done,
    };
    let draft = &mut transaction.draft;
    let first = draft.effects.len();
    let lines = (first..first + rows).map(|part| format!("{}\t{}\t{part}\tcopied\n", session.number, draft.number));
    let text = format!("copy witness_{table} from stdin");
    session.begin(&text);
    let result = send(session, &text, lines, end).await;
    session.finish(&text, &format!("{rows} rows"), result.as_ref().err());
    result?;
    if end == End::Done {
        draft.effects.extend((0..rows).map(|_| Effect::Witness));
    }
    Ok(())
}

async fn send(session: &Session, text: &str, lines: impl Iterator<Item = String>, end: End) -> Result<(), Trouble> {
    let mut sink = Box::pin(session.wire.client.copy_in::<str, Bytes>(text).await?);
    for line in lines {
        sink.feed(Bytes::from(line)).await?;
        if end != End::Done {
            sink.flush().await?;
        }
    }
    match end {
        End::Done => sink.as_mut().finish().await.map(|_| ())?,
        End::Wrong => {
            sink.send(Bytes::from_static(b"no number\t1\t1\twrong\n")).await?;
            sink.as_mut().finish().await.map(|_| ())?;
        }
        // The driver says CopyFail when the sink is gone.
        End::GivenUp => {}
        End::Cut => {
            session.wire.cut();
            return Err(Trouble::Lost("cut by the client in the middle of a COPY".to_owned()));
        }
    }
    if end == End::GivenUp {
        drop(sink);
        // The error of the COPY is the driver's to swallow; the transaction's next statement tells of it.
        session.wire.ask("select 1").await?;
    }
    Ok(())
}

async fn copy_out(session: &mut Session) -> Result<(), Trouble> {
    let text = "copy accounts (balance) to stdout";
    session.begin(text);
    let result = receive(session, text).await;
    session.finish(text, "copied", result.as_ref().err());
    let balances = result?;
    let sum: i64 = balances.iter().sum();
    if (sum, balances.len() as i64) != (money::TOTAL, money::ACCOUNTS) {
        session.torture.fail(format!("{} accounts copied out add up to {sum}", balances.len()));
    }
    Ok(())
}

async fn receive(session: &Session, text: &str) -> Result<Vec<i64>, Trouble> {
    let mut stream = Box::pin(session.wire.client.copy_out(text).await?);
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk?);
    }
    Ok(String::from_utf8_lossy(&bytes).lines().filter_map(|line| line.parse().ok()).collect())
}
