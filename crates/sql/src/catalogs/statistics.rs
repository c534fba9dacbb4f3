//! Counts since the server was started or the counts were last reset.

use base::Result;
use engine::WalStatistics;
use schema::catalog::{DATABASE_OID, DatabaseDef, PG_CATALOG_SCHEMA};
use types::{Numeric, Value};

use super::monitoring::time;
use super::rows::{NULL, Wanted, row, wanted_oid};
use super::{Equal, relations};
use crate::state::session_of;
use executor::Run;

/// `cohort_stat_ssi`: what serializable isolation has done, and whom it has sacrificed, by reason.
pub fn cohort_stat_ssi(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let statistics = session_of(run).instance.database().transactions().ssi().statistics();
    let aborts = engine::SERIALIZATION_FAILURES
        .iter()
        .zip(statistics.aborts)
        .map(|(name, count)| (format!("aborted_{name}"), count));
    let others = [
        ("watched_transactions", statistics.begun),
        ("safe_at_once", statistics.safe_at_once),
        ("became_safe", statistics.became_safe),
        ("became_unsafe", statistics.became_unsafe),
        ("conflicts", statistics.conflicts),
        ("promoted_to_page", statistics.promoted_to_page),
        ("promoted_to_relation", statistics.promoted_to_relation),
        ("summarised_transactions", statistics.summarised),
        ("active_transactions", statistics.active),
        ("finished_transactions", statistics.finished),
        ("retries_waiting", statistics.retries_waiting),
        ("predicate_locks", statistics.locks),
    ];
    let others = others.map(|(name, count)| (name.to_owned(), count));
    Ok(aborts.chain(others).map(|(name, count)| row![name, count as i64]).collect())
}

fn milliseconds(micros: u64) -> Value {
    Value::Float8(micros as f64 / 1000.0)
}

/// `pg_stat_wal`
pub fn pg_stat_wal(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let (wal, since) = session_of(run).instance.counted.wal(session_of(run).instance.database());
    Ok(vec![row![
        wal.records as i64,
        0i64,
        Value::Numeric(Numeric::from(i128::from(wal.bytes))),
        wal.buffers_full as i64,
        wal.writes as i64,
        wal.syncs as i64,
        milliseconds(wal.write_time_us),
        milliseconds(wal.sync_time_us.sum),
        time(since),
    ]])
}

/// `pg_stat_slru`: of the caches that PostgreSQL has, the commit log's is the only one there is.
pub fn pg_stat_slru(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let (xact, since) = session_of(run).instance.counted.commit_log(session_of(run).instance.database());
    Ok(vec![row![
        "Xact",
        xact.zeroed as i64,
        xact.hits as i64,
        xact.reads as i64,
        xact.writes as i64,
        0i64,
        xact.flushes as i64,
        xact.truncates as i64,
        time(since),
    ]])
}

/// `pg_stat_user_tables` and `pg_stat_all_tables`. For the catalogs nothing is counted. Counts that are not kept of other tables are
/// NULL.
pub fn pg_stat_user_tables(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_oid(equal, 0);
    if matches!(wanted, Wanted::Nothing(_)) {
        return Ok(Vec::new());
    }
    let database = session_of(run).instance.database();
    let mut rows = Vec::new();
    for table in relations::tables(run.catalog.catalog()) {
        if !table.kind.has_storage() || table.schema == PG_CATALOG_SCHEMA || !wanted.matches(&table.oid) {
            continue;
        }
        let activity = database.table_activity(run.catalog.catalog().unique(table.oid));
        let count = |of: fn(&engine::TableActivity) -> u64| activity.as_ref().map_or(0, |activity| of(activity)) as i64;
        let mut row = row![
            table.oid,
            run.catalog.schema_name(table.schema),
            table.name.as_str(),
            NULL,
            NULL,
            NULL,
            NULL,
            count(engine::TableActivity::inserted),
            count(engine::TableActivity::updated),
            count(engine::TableActivity::deleted),
            count(engine::TableActivity::updated_in_page),
            count(engine::TableActivity::live),
            count(engine::TableActivity::dead),
        ];
        row.resize(TABLE_COLUMNS, NULL);
        rows.push(row);
    }
    Ok(rows)
}

/// The columns of `pg_stat_user_tables`.
const TABLE_COLUMNS: usize = 23;

/// `pg_stat_user_indexes`, and `pg_stat_all_indexes`: the indexes there are; how they are used isn't counted.
pub fn pg_stat_user_indexes(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let (of_table, of_index) = (wanted_oid(equal, 0), wanted_oid(equal, 1));
    let catalog = run.catalog.catalog();
    let mut rows = Vec::new();
    for table in relations::tables(catalog) {
        if table.schema == PG_CATALOG_SCHEMA || !of_table.matches(&table.oid) {
            continue;
        }
        let schema = run.catalog.schema_name(table.schema);
        let indexes = catalog.indexes_of(table.oid).iter().filter(|index| of_index.matches(&index.oid));
        rows.extend(indexes.map(|index| {
            row![table.oid, index.oid, schema.as_str(), table.name.as_str(), index.name.as_str(), NULL, NULL, NULL]
        }));
    }
    Ok(rows)
}

/// `pg_stat_database`: since the counts of the log were last reset. Counts that are not kept are NULL. Transactions and pages are counted for
/// all databases together, and are shown in the row of `postgres`.
pub fn pg_stat_database(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_oid(equal, 0);
    let mut databases: Vec<_> = run.catalog.catalog().databases().filter(|def| wanted.matches(&def.oid)).collect();
    databases.sort_by_key(|def| def.oid);
    Ok(databases.into_iter().map(|def| activity_in(run, def)).collect())
}

/// The row of one database.
fn activity_in(run: &Run<'_, '_>, def: &DatabaseDef) -> Vec<Value> {
    let instance = &session_of(run).instance;
    let database = instance.database();
    let transactions = instance.counted.transactions(database);
    let (_, since) = instance.counted.wal(database);
    let buffer = database.statistics().buffer;
    let counted = |count: u64| if def.oid == DATABASE_OID { Value::Int8(count as i64) } else { NULL };
    let catalogs = database.catalogs();
    let catalog = catalogs.of(def.oid);
    let activities: Vec<_> =
        catalog.tables().filter_map(|table| database.table_activity(catalog.unique(table.oid))).collect();
    let sessions = instance.sessions().iter().filter(|info| info.database_oid == def.oid).count();
    let sum =
        |of: fn(&engine::TableActivity) -> u64| activities.iter().map(|activity| of(activity)).sum::<u64>() as i64;
    let mut row = row![
        def.oid,
        def.name.as_str(),
        sessions as i32,
        counted(transactions.committed),
        counted(transactions.rolled_back),
        counted(buffer.reads),
        counted(buffer.hits),
        NULL,
        NULL,
        sum(engine::TableActivity::inserted),
        sum(engine::TableActivity::updated),
        sum(engine::TableActivity::deleted),
    ];
    row.resize(27, NULL);
    row.push(time(since));
    row
}

/// `pg_stat_bgwriter`: checkpoints, the page cleaner, and pages that were written because their frames were wanted. Counts that
/// are not kept are NULL.
pub fn pg_stat_bgwriter(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let instance = &session_of(run).instance;
    let statistics = instance.database().statistics();
    let (checkpoints, buffer) = (statistics.checkpoints, statistics.buffer);
    Ok(vec![row![
        checkpoints.timed as i64,
        checkpoints.requested as i64,
        milliseconds(checkpoints.write_us),
        NULL,
        buffer.written_by_checkpoint as i64,
        buffer.written_by_cleaner as i64,
        NULL,
        buffer.written_by_eviction as i64,
        0i64,
        (buffer.reads + buffer.extensions) as i64,
        time(instance.started_at),
    ]])
}

/// `pg_stat_archiver`: the log is not archived.
pub fn pg_stat_archiver(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    Ok(vec![row![0i64, NULL, NULL, 0i64, NULL, NULL, time(session_of(run).instance.started_at)]])
}

/// `cohort_stat_commit`: how commits were gathered and made durable.
pub fn cohort_stat_commit(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let database = session_of(run).instance.database();
    let (wal, _) = session_of(run).instance.counted.wal(database);
    let transactions = session_of(run).instance.counted.transactions(database);
    let latency_us =
        |quantile: f64| transactions.commit_latency.quantile_us(quantile).map_or(0.0, |latency_us| latency_us as f64);
    let group = database.status().clog().group_statistics();
    let all: Vec<(&str, f64)> = vec![
        ("committed", transactions.committed as f64),
        ("rolled_back", transactions.rolled_back as f64),
        ("commit_latency_p50_us", latency_us(0.5)),
        ("commit_latency_p90_us", latency_us(0.9)),
        ("commit_latency_p99_us", latency_us(0.99)),
        ("commit_latency_max_us", latency_us(1.0)),
        ("flushes", wal.syncs as f64),
        ("cohorts", wal.cohort_members.count as f64),
        ("cohort_members", wal.cohort_members.sum as f64),
        ("cohort_size_mean", wal.cohort_members.mean()),
        ("cohort_size_max", wal.cohort_members.maximum as f64),
        ("led_by_committer", wal.led_by_committer as f64),
        ("led_by_flusher", wal.led_by_flusher as f64),
        ("already_durable", wal.already_durable as f64),
        ("delays_taken", wal.delays_taken as f64),
        ("delays_cut_short", wal.delays_cut_short as f64),
        ("delay_time_ms", wal.delay_time_us as f64 / 1000.0),
        ("committers_delayed", wal.committers_delayed as f64),
        ("turns_taken", wal.turns_taken as f64),
        ("sync_time_mean_us", wal.sync_time_us.mean()),
        ("sync_time_max_us", wal.sync_time_us.maximum as f64),
        ("sync_time_ms", wal.sync_time_us.sum as f64 / 1000.0),
        ("write_time_ms", wal.write_time_us as f64 / 1000.0),
        ("segments_created", wal.segments_created as f64),
        ("segments_recycled", wal.segments_recycled as f64),
        ("segments_unprepared", wal.segments_unprepared as f64),
        ("unretired", database.transactions().unretired() as f64),
        ("durable_lag_bytes", database.wal().reserved().0.saturating_sub(database.wal().durable().0) as f64),
        ("clog_groups", group.groups as f64),
        ("clog_group_members", group.members as f64),
    ];
    Ok(all.into_iter().map(|(name, value)| row![name, value]).collect())
}

/// `cohort_stat_latches`: the columns of PostgreSQL's LWLOCK_STATS, by kind of latch.
pub fn cohort_stat_latches(_: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let mut classes = sync::latch_classes();
    classes.sort_by_key(|class| class.name);
    let rows = classes.into_iter().map(|class| {
        let counters = class.counters();
        row![
            class.name,
            counters.shared as i64,
            counters.exclusive as i64,
            counters.blocked as i64,
            counters.spins as i64,
            counters.dequeued as i64,
        ]
    });
    Ok(rows.collect())
}

/// `cohort_stat_commit_histograms`: how large cohorts were and how long syncs took, in classes of doubling width, and how long
/// commits took until they were durable, in classes of an eighth of that. Classes that nothing fell in are left out.
pub fn cohort_stat_commit_histograms(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let instance = &session_of(run).instance;
    let (WalStatistics { cohort_members, sync_time_us, .. }, _) = instance.counted.wal(instance.database());
    let latency = instance.counted.transactions(instance.database()).commit_latency;
    let rows = |name: &'static str, classes: &mut dyn Iterator<Item = (u64, u64)>| -> Vec<Vec<Value>> {
        classes.filter(|(_, count)| *count > 0).map(|(upto, count)| row![name, upto as i64, count as i64]).collect()
    };
    let cohort_size = rows("cohort_size", &mut cohort_members.classes());
    let sync_time = rows("sync_time_us", &mut sync_time_us.classes());
    Ok([cohort_size, sync_time, rows("commit_latency_us", &mut latency.classes())].concat())
}
