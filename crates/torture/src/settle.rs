//! Transactions whose outcome is unknown become known: the ledger tells whether they were committed.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::model::{Model, PreparedState};
use crate::session::Session;
use crate::wire::{Trouble, Wire};

/// A session is back. Its transactions are settled once the server has noticed that its connection before is gone.
///
/// # Errors
/// When the connection is gone.
pub async fn after_reconnection(session: &mut Session, last: Option<(u64, i32)>) -> Result<(), Trouble> {
    if let Some((life, pid)) = last
        && life == session.life
    {
        // The watch looks at what the former one waits for.
        session.trace.set_pid(pid);
        let text = format!("the end of {pid}");
        session.begin(&text);
        let result = await_end(&session.wire, pid).await;
        session.finish(&text, "gone", result.as_ref().err());
        result?;
    }
    let torture = &session.torture;
    match settle(&session.wire, &torture.model, session.number).await {
        Err(Trouble::Refused { code, message }) => {
            // With a statement_timeout or by a cancel request: the session comes back once more.
            Err(Trouble::Lost(format!("{code} {message}")))
        }
        result => result,
    }
}

async fn await_end(wire: &Wire, pid: i32) -> Result<(), Trouble> {
    loop {
        match wire.ask(&format!("select count(*) from pg_stat_activity where pid = {pid}")).await {
            Ok(answer) if answer.number(0, 0) == Some(0) => return Ok(()),
            Ok(_) | Err(Trouble::Refused { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(trouble) => return Err(trouble),
        }
    }
}

/// Settles what is unknown of one session, all of whose former connections are gone.
///
/// # Errors
/// Errors of the statements. Transactions that were not settled stay unknown.
pub async fn settle(wire: &Wire, model: &Model, session: usize) -> Result<(), Trouble> {
    let unknown = model.session(session).unknown.clone();
    for draft in unknown {
        let is_there = is_in_ledger(wire, draft.session, draft.number).await?;
        model.session(session).unknown.retain(|one| one.number != draft.number);
        if is_there {
            model.committed(&draft, true);
            model.session(session).make_firm();
        } else {
            model.rolled_back(&draft);
        }
    }
    let unknown: Vec<_> = model
        .prepared()
        .iter()
        .filter(|(_, one)| one.state == PreparedState::Unknown && one.by == session)
        .map(|(gid, one)| (gid.clone(), one.draft.clone()))
        .collect();
    for (gid, draft) in unknown {
        if prepared_names(wire).await?.contains(&gid) {
            model.in_doubt(&draft, crate::model::Fate::Prepared);
            model.prepared().get_mut(&gid).expect("only its taker removes it").state = PreparedState::Ready;
            continue;
        }
        let is_there = is_in_ledger(wire, draft.session, draft.number).await?;
        model.prepared().remove(&gid);
        if is_there {
            model.committed(&draft, true);
        } else {
            model.rolled_back(&draft);
        }
    }
    Ok(())
}

async fn is_in_ledger(wire: &Wire, session: usize, number: i64) -> Result<bool, Trouble> {
    let text = format!("select count(*) from ledger where session = {session} and number = {number}");
    Ok(wire.ask(&text).await?.number(0, 0) == Some(1))
}

/// The names in pg_prepared_xacts.
///
/// # Errors
/// Errors of the statement.
pub async fn prepared_names(wire: &Wire) -> Result<BTreeSet<String>, Trouble> {
    let answer = wire.ask("select gid from pg_prepared_xacts").await?;
    Ok(answer.rows.into_iter().filter_map(|mut row| row.swap_remove(0)).collect())
}
