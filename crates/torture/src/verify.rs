//! The checks while nobody works: all that was acknowledged is there, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::model::{COUNTERS, Fate, OWN_TABLES, PreparedState};
use crate::settle::{prepared_names, settle};
use crate::steps::{self, money, tables};
use crate::torture::Torture;
use crate::wire::{Trouble, Wire};

/// How the server's last life ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Before {
    /// By a signal that it can't catch.
    Crash,
    /// In order.
    Stop,
    /// It did not: the sessions only pause.
    Pause,
}

/// Rows of the ledger from which on it is emptied.
const LEDGER_LIMIT: usize = 20_000;

type Checked = Result<(), String>;

/// All checks. The sessions are parked.
///
/// # Errors
/// A description of the failed check.
pub async fn verify(torture: &Torture, before: Before) -> Checked {
    let words = |trouble: Trouble| format!("while nobody works: {trouble}");
    let wire = Wire::open(&torture.launch.address(), false, "").await.map_err(words)?;
    await_others_end(torture, &wire).await?;
    let there = ledger(&wire).await.map_err(words)?;
    for session in 0..torture.model.session_count() {
        let mut known = torture.model.session(session);
        match before {
            Before::Crash => known.recover_tables(|number| there.contains_key(&(session as i64, number))),
            Before::Stop | Before::Pause => known.make_firm(),
        }
    }
    for session in 0..torture.model.session_count() {
        settle(&wire, &torture.model, session).await.map_err(words)?;
    }
    fates(torture, &there)?;
    prepared(torture, &wire).await?;
    wholeness(&wire).await?;
    invariants(&wire).await?;
    growing(torture, &wire, before).await?;
    own_tables(torture, &wire).await?;
    indexes(&wire).await?;
    if there.len() > LEDGER_LIMIT {
        empty_ledger(torture, &wire).await.map_err(words)?;
    }
    Ok(())
}

/// Sessions end when their connections do, and leave no locks behind.
async fn await_others_end(torture: &Torture, wire: &Wire) -> Checked {
    let started = Instant::now();
    let others = "select 'session', pid::text, state, query from pg_stat_activity
                  where pid <> pg_backend_pid() and backend_type = 'client backend'
                  union all select 'lock', pid::text, mode, locktype from pg_locks where pid <> pg_backend_pid()";
    loop {
        let answer = wire.ask(others).await.map_err(|trouble| format!("{others}: {trouble}"))?;
        if answer.rows.is_empty() {
            return Ok(());
        }
        if started.elapsed() > Duration::from_secs(torture.options.patience) {
            return Err(format!("without any client, there are still: {:?}", answer.rows));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Transactions in the ledger, with the rows that each has put into witness tables.
async fn ledger(wire: &Wire) -> Result<BTreeMap<(i64, i64), i64>, Trouble> {
    let answer = wire.ask("select session, number, parts from ledger").await?;
    Ok((0..answer.rows.len())
        .filter_map(|row| Some(((answer.number(row, 0)?, answer.number(row, 1)?), answer.number(row, 2)?)))
        .collect())
}

/// The ledger against what the clients were told.
fn fates(torture: &Torture, there: &BTreeMap<(i64, i64), i64>) -> Checked {
    let mut explained = BTreeSet::new();
    for session in 0..torture.model.session_count() {
        let mut known = torture.model.session(session);
        let mut lost = None;
        for (number, fate) in &mut known.fates {
            let key = (session as i64, *number);
            let is_there = there.contains_key(&key);
            explained.insert(key);
            let number = *number;
            match (&fate, is_there) {
                (Fate::Firm, false) => return Err(format!("session {session}: {number} was acknowledged and is lost")),
                (Fate::Absent, true) => {
                    return Err(format!("session {session}: {number} came to nothing and is there"));
                }
                (Fate::Prepared, true) => return Err(format!("session {session}: {number} is prepared and visible")),
                (Fate::Unknown, _) => return Err(format!("session {session}: {number} was not settled")),
                (Fate::Asynchronous, true) if lost.is_some() => {
                    return Err(format!("session {session}: {number} is there, and {lost:?} before it is lost"));
                }
                (Fate::Asynchronous, true) => *fate = Fate::Firm,
                (Fate::Asynchronous, false) => {
                    lost = Some(number);
                    *fate = Fate::Absent;
                }
                (Fate::Firm, true) | (Fate::Absent | Fate::Prepared, false) => {}
            }
        }
    }
    match there.keys().find(|key| !explained.contains(key)) {
        Some(key) => Err(format!("{key:?} is in the ledger, and nobody has committed it")),
        None => Ok(()),
    }
}

/// Prepared transactions are those that were acknowledged, and hold their locks.
async fn prepared(torture: &Torture, wire: &Wire) -> Checked {
    let names = prepared_names(wire).await.map_err(|trouble| trouble.to_string())?;
    let known: BTreeMap<String, i64> = torture
        .model
        .prepared()
        .iter()
        .inspect(|(gid, one)| debug_assert_eq!(one.state, PreparedState::Ready, "{gid}"))
        .map(|(gid, one)| (gid.clone(), one.vault))
        .collect();
    if !names.iter().eq(known.keys()) {
        return Err(format!("prepared are {names:?}; acknowledged and not finished are {:?}", known.keys()));
    }
    for (gid, row) in known {
        let text = format!("select id from vault where id = {row} for update nowait");
        match wire.ask(&text).await {
            Err(Trouble::Refused { code, .. }) if code == "55P03" => {}
            other => return Err(format!("'{gid}' is prepared and does not hold row {row} of vault: {other:?}")),
        }
    }
    Ok(())
}

/// Each transaction is there as a whole or not at all.
async fn wholeness(wire: &Wire) -> Checked {
    let text = "select coalesce(l.session, w.session), coalesce(l.number, w.number), l.parts, w.parts
        from ledger l full join
            (select session, number, count(*) as parts from
                (select session, number from witness_1 union all select session, number from witness_2
                 union all select session, number from witness_3) as all_parts
             group by session, number) w
            on l.session = w.session and l.number = w.number
        where l.session is null or l.parts <> coalesce(w.parts, 0)";
    expect_none(wire, "transactions that are half there (session, number, parts wanted, parts found)", text).await
}

/// Sums and constraints, by scanning.
async fn invariants(wire: &Wire) -> Checked {
    let accounts =
        wire.ask("select sum(balance), count(*) from accounts").await.map_err(|trouble| trouble.to_string())?;
    if (accounts.number(0, 0), accounts.number(0, 1)) != (Some(money::TOTAL), Some(money::ACCOUNTS)) {
        return Err(format!("accounts add up to {:?}, not to {} in {}", accounts.rows, money::TOTAL, money::ACCOUNTS));
    }
    // The planner must not answer by the very index that may be wrong.
    wire.ask("set enable_indexscan = off; set enable_indexonlyscan = off; set enable_bitmapscan = off")
        .await
        .map_err(|trouble| trouble.to_string())?;
    for (what, text) in steps::CHECKS.iter().copied().flatten() {
        expect_none(wire, what, text).await?;
    }
    wire.ask("reset enable_indexscan; reset enable_indexonlyscan; reset enable_bitmapscan")
        .await
        .map_err(|trouble| trouble.to_string())?;
    Ok(())
}

/// Checks that no growing value is smaller than one that was seen before.
async fn growing(torture: &Torture, wire: &Wire, before: Before) -> Checked {
    let text = "select id, value from counters union all select -1, value from notice_count order by 1";
    let answer = wire.ask(text).await.map_err(|trouble| format!("{text}: {trouble}"))?;
    if answer.rows.len() != COUNTERS + 1 {
        return Err(format!("counters are {:?}", answer.rows));
    }
    for row in 0..answer.rows.len() {
        let (Some(id), Some(value)) = (answer.number(row, 0), answer.number(row, 1)) else { continue };
        let mut known = if id < 0 { torture.model.notices() } else { torture.model.counter(id as usize) };
        let least = if before == Before::Crash { known.firm } else { known.firm.max(known.acknowledged) };
        if value < least {
            return Err(format!("counter {id} is {value} after a {before:?}; clients have seen {least}"));
        }
        known.firm = value;
    }
    Ok(())
}

async fn expect_none(wire: &Wire, what: &str, text: &str) -> Checked {
    let answer = wire.ask(text).await.map_err(|trouble| format!("{text}: {trouble}"))?;
    if answer.rows.is_empty() { Ok(()) } else { Err(format!("{what}: {:?}", answer.rows)) }
}

/// Each session's own tables are as its acknowledged transactions left them.
async fn own_tables(torture: &Torture, wire: &Wire) -> Checked {
    for session in 0..torture.model.session_count() {
        for place in 0..OWN_TABLES {
            let (table, doubt) = {
                let known = torture.model.session(session);
                (known.tables[place].clone(), known.in_doubt[place])
            };
            if doubt.is_some() {
                continue;
            }
            let name = tables::name(session, place);
            let is_there = format!("select to_regclass('{name}') is not null");
            let is_there = wire.ask(&is_there).await.map_err(|trouble| trouble.to_string())?.text(0, 0) == Some("t");
            let Some(table) = table else {
                if is_there {
                    return Err(format!("{name} is there, and was not made or was dropped"));
                }
                continue;
            };
            if !is_there {
                return Err(format!("{name} is lost; it had {table:?}"));
            }
            let text = format!("select count(*), coalesce(sum(value), 0)::bigint from {name}");
            let answer = wire.ask(&text).await.map_err(|trouble| format!("{text}: {trouble}"))?;
            if let Some(problem) = tables::difference(&name, &table, &answer) {
                return Err(problem);
            }
        }
    }
    Ok(())
}

/// Every index finds every row of its table.
async fn indexes(wire: &Wire) -> Checked {
    let list = "select i.indrelid::regclass::text, i.indexrelid::regclass::text, a.attname
        from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast') and i.indpred is null and c.relkind = 'r'
            and not exists (select from pg_locks l where l.relation = c.oid and l.mode = 'AccessExclusiveLock')
        order by 1, 2";
    let list = wire.ask(list).await.map_err(|trouble| trouble.to_string())?;
    for row in &list.rows {
        let [Some(table), Some(index), Some(column)] = row.as_slice() else { continue };
        let by_heap = contents(wire, table, &format!("select t::text as r from {table} t")).await?;
        wire.ask("set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off")
            .await
            .map_err(|trouble| trouble.to_string())?;
        let by_index =
            contents(wire, table, &format!("select t::text as r from {table} t order by {column} offset 0")).await?;
        wire.ask("reset enable_seqscan; reset enable_bitmapscan; reset enable_sort")
            .await
            .map_err(|trouble| trouble.to_string())?;
        if by_heap != by_index {
            return Err(format!("{index} of {table}: the table has {by_heap:?}, through the index {by_index:?}"));
        }
    }
    Ok(())
}

/// The number of rows, and a sum over what they hold.
async fn contents(wire: &Wire, table: &str, rows: &str) -> Result<(i64, Option<i64>), String> {
    let text = format!("select count(*), sum(hashtext(r)::bigint)::bigint from ({rows}) as s");
    let answer = wire.ask(&text).await.map_err(|trouble| format!("{table}: {text}: {trouble}"))?;
    Ok((answer.number(0, 0).unwrap_or(-1), answer.number(0, 1)))
}

/// Forgets what was checked, so that checks stay short.
async fn empty_ledger(torture: &Torture, wire: &Wire) -> Result<(), Trouble> {
    let tables = "ledger, witness_1, witness_2, witness_3";
    if torture.model.prepared().is_empty() {
        wire.ask(&format!("truncate {tables}")).await?;
    } else {
        // A prepared transaction holds locks on them; its rows are not visible and stay.
        wire.ask(
            "begin; delete from witness_1; delete from witness_2; delete from witness_3; delete from ledger; commit",
        )
        .await?;
    }
    for session in 0..torture.model.session_count() {
        torture.model.session(session).fates.retain(|_, fate| *fate == Fate::Prepared);
    }
    Ok(())
}
