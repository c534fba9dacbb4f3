//! A session's own tables: made, filled, changed, emptied and dropped, in transactions that may be taken back.

use rand::Rng;

use crate::model::{Effect, OWN_TABLES, OwnTable};
use crate::session::Session;
use crate::transaction::Transaction;
use crate::wire::{Answer, Trouble};

/// The name of one of a session's tables.
pub fn name(session: usize, place: usize) -> String {
    format!("own_{session}_{place}")
}

/// Changes one of the session's tables.
///
/// # Errors
/// Errors of the statements.
pub async fn change(session: &mut Session, transaction: &mut Transaction) -> Result<(), Trouble> {
    let place = session.random.random_range(0..OWN_TABLES);
    if transaction.doubtful[place] {
        return Ok(());
    }
    let known = session.torture.model.session(session.number).tables[place].clone();
    let before = transaction.draft.own_table(place).cloned().unwrap_or(known);
    let name = name(session.number, place);
    let after = match before {
        None => Some(create(session, &name).await?),
        Some(table) => change_table(session, &name, table).await?,
    };
    transaction.draft.effects.push(Effect::Table { place, after: after.clone() });
    if session.random.random_ratio(1, 3) {
        let text = format!("select count(*), coalesce(sum(value), 0)::bigint from {name}");
        match after {
            Some(table) => {
                let answer = session.say(&text).await?;
                if let Some(problem) = difference(&name, &table, &answer) {
                    session.torture.fail(problem);
                }
            }
            None => {
                let answer = session.say(&format!("select to_regclass('{name}') is null")).await?;
                if answer.text(0, 0) != Some("t") {
                    session.torture.fail(format!("{name} is there after its DROP"));
                }
            }
        }
    }
    Ok(())
}

/// How a table's count and sum differ from what they must be.
pub fn difference(name: &str, table: &OwnTable, answer: &Answer) -> Option<String> {
    let (rows, total) = (answer.number(0, 0)?, answer.number(0, 1)?);
    (rows != table.rows || total != table.total).then(|| {
        format!("{name} has {rows} rows that add up to {total}; {} rows and {} were expected", table.rows, table.total)
    })
}

async fn create(session: &mut Session, name: &str) -> Result<OwnTable, Trouble> {
    let rows = [0, 1, 10, 100, 1000][session.random.random_range(0..5)];
    let mut table = OwnTable::default();
    match session.random.random_range(0..3) {
        0 => {
            session.say(&format!("create table {name} (id bigint primary key, value bigint, note text)")).await?;
        }
        1 => {
            session
                .say(&format!("create table {name} (id bigint, value bigint check (value >= 0), note text)"))
                .await?;
        }
        _ => {
            let text = format!(
                "create table {name} as select g::bigint id, g::bigint as value, 'made' as note from generate_series(0, {rows} - 1) g"
            );
            session.say(&text).await?;
            (table.rows, table.next_id, table.total) = (rows, rows, sum_below(rows));
            return Ok(table);
        }
    }
    fill(session, name, &mut table, rows).await?;
    Ok(table)
}

/// Sum of the numbers below this one.
fn sum_below(limit: i64) -> i64 {
    limit * (limit - 1) / 2
}

async fn fill(session: &mut Session, name: &str, table: &mut OwnTable, rows: i64) -> Result<(), Trouble> {
    let (first, end) = (table.next_id, table.next_id + rows);
    let length = session.random.random_range(0..120);
    let text = format!(
        "insert into {name} (id, value, note) select g, g, repeat('n', {length}) from generate_series({first}, {end} - 1) g"
    );
    session.say(&text).await?;
    table.rows += rows;
    table.total += sum_below(end) - sum_below(first);
    table.next_id = end;
    Ok(())
}

async fn change_table(session: &mut Session, name: &str, mut table: OwnTable) -> Result<Option<OwnTable>, Trouble> {
    let modulus = session.random.random_range(1..6);
    match session.random.random_range(0..14) {
        0 | 1 => {
            session.say(&format!("drop table {name}")).await?;
            return Ok(None);
        }
        2 => {
            session.say(&format!("truncate {name}")).await?;
            (table.rows, table.total) = (0, 0);
        }
        3 => {
            // The tail goes, so that VACUUM may shorten the file.
            let text = format!("delete from {name} where id >= {} / 2 returning value", table.next_id);
            take_away(session, &mut table, &text).await?;
        }
        4 => {
            let text = format!("delete from {name} where id % {modulus} = 0 returning value");
            take_away(session, &mut table, &text).await?;
        }
        5 | 6 => {
            let answer = session.say(&format!("update {name} set value = value + 1 where id % {modulus} = 0")).await?;
            table.total += answer.count;
        }
        7 => {
            let column = format!("added_{}", table.next_id + table.added.len() as i64);
            if table.added.len() < 4 && !table.added.contains(&column) {
                session.say(&format!("alter table {name} add column {column} int default {modulus}")).await?;
                table.added.push(column);
            }
        }
        8 => {
            if let Some(column) = table.added.last().cloned() {
                session.say(&format!("alter table {name} drop column {column}")).await?;
                table.added.pop();
            }
        }
        9 => {
            let kind = ["bigint", "numeric"][session.random.random_range(0..2)];
            session.say(&format!("alter table {name} alter column value type {kind}")).await?;
        }
        10 => {
            let text = if table.is_indexed {
                format!("drop index {name}_value")
            } else {
                format!("create index {name}_value on {name} (value)")
            };
            session.say(&text).await?;
            table.is_indexed = !table.is_indexed;
        }
        11 => {
            session.say(&format!("reindex table {name}")).await?;
        }
        _ => {
            let rows = [1, 10, 100, 500][session.random.random_range(0..4)];
            fill(session, name, &mut table, rows).await?;
        }
    }
    Ok(Some(table))
}

async fn take_away(session: &mut Session, table: &mut OwnTable, text: &str) -> Result<(), Trouble> {
    let answer = session.say(text).await?;
    table.rows -= answer.rows.len() as i64;
    table.total -= (0..answer.rows.len()).filter_map(|row| answer.number(row, 0)).sum::<i64>();
    Ok(())
}
