//! What the server does: settings, sessions, locks, counters.

use std::time::Instant;

use base::settings::{self, Context, Id, Kind, Source, Unit, Value as Setting};
use base::{OwnerId, Result, Xid};
use engine::catalog::PG_CATALOG_SCHEMA;
use engine::{AdvisoryKey, LockTag, PredicatePlace};
use rustc_hash::FxHashMap;

use super::rows::{DATABASE_OID, NULL, Wanted, row, text_array, wanted_name, wanted_oid, xid};
use super::{Equal, relations};
use crate::executor::Run;
use crate::session::{Activity, SessionInfo};
use crate::types::{Numeric, Value, datetime, oids};

/// The word of `pg_settings.vartype`.
fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::Integer { .. } => "integer",
        Kind::Float { .. } => "real",
        Kind::Text => "string",
        Kind::Enum(_) => "enum",
    }
}

/// The word of `pg_settings.unit`.
fn unit_name(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::None | Unit::Microseconds => None,
        Unit::Bytes => Some("B"),
        Unit::Kilobytes => Some("kB"),
        Unit::Pages => Some("8kB"),
        Unit::Megabytes => Some("MB"),
        Unit::Milliseconds => Some("ms"),
        Unit::Seconds => Some("s"),
        Unit::Minutes => Some("min"),
    }
}

/// The value in the setting's own unit, without its name.
fn plain_text(id: Id, value: &Setting) -> String {
    match value {
        Setting::Integer(number) => number.to_string(),
        Setting::Float(number) => number.to_string(),
        other => settings::show(id, other),
    }
}

/// `pg_settings`
pub fn pg_settings(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_name(equal, 0);
    let own = run.state.settings.borrow();
    let server = own.server();
    let mut rows = Vec::new();
    for (definition, value) in own.all().filter(|(definition, _)| wanted.matches(&definition.name)) {
        let id = definition.id;
        let (unit, minimum, maximum, words) = match definition.kind {
            Kind::Integer { minimum, maximum, unit, .. } => {
                (unit_name(unit), Some(minimum.to_string()), Some(maximum.to_string()), NULL)
            }
            Kind::Float { minimum, maximum, unit } => {
                (unit_name(unit), Some(minimum.to_string()), Some(maximum.to_string()), NULL)
            }
            Kind::Enum(words) => (None, None, None, text_array(words)),
            Kind::Bool | Kind::Text => (None, None, None, NULL),
        };
        let server_source = server.source(id);
        let source = if own.is_own(id) { "session" } else { server_source.name() };
        let boot = settings::parse(id, definition.default)
            .map_or_else(|_| definition.default.to_owned(), |value| plain_text(id, &value));
        let shown = match id {
            Id::TransactionIsolation | Id::TransactionReadOnly | Id::TransactionDeferrable | Id::IsSuperuser => {
                crate::session::settings::show(run.state, definition.name)?
            }
            _ => plain_text(id, &value),
        };
        rows.push(row![
            definition.name,
            shown,
            unit,
            definition.category,
            definition.description,
            NULL,
            definition.context.name(),
            kind_name(&definition.kind),
            if definition.context == Context::Internal && server_source == Source::Default {
                "default"
            } else {
                source
            },
            minimum,
            maximum,
            words,
            boot,
            plain_text(id, &server.get(id)),
            NULL,
            NULL,
            false,
        ]);
    }
    Ok(rows)
}

fn time(micros: i64) -> Value {
    if micros == 0 { NULL } else { Value::TimestampTz(micros) }
}

/// What a session waits for, as `pg_stat_activity` says it: type and event.
fn wait_event(
    info: &SessionInfo,
    lock: Option<&LockTag>,
    for_safe_snapshot: bool,
) -> (Option<&'static str>, Option<&'static str>) {
    if for_safe_snapshot {
        return (Some("IPC"), Some("SafeSnapshot"));
    }
    match (lock, info.activity()) {
        (Some(tag), _) => (Some("Lock"), Some(tag.kind())),
        (None, Activity::Active) => (None, None),
        (None, _) => (Some("Client"), Some("ClientRead")),
    }
}

/// `pg_stat_activity`
pub fn pg_stat_activity(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = equal.iter().find(|(column, _)| *column == 2).and_then(|(_, value)| value.as_i64());
    let instance = &run.state.instance;
    let database = instance.database();
    let waits = database.locks().waits();
    let running: FxHashMap<OwnerId, base::Xid> =
        database.transactions().running().into_iter().map(|running| (running.owner, running.xid)).collect();
    let catalog = run.catalog.catalog();
    let is_superuser = run.state.is_superuser();
    let mut rows = Vec::new();
    for info in instance.sessions() {
        if wanted.is_some_and(|pid| pid != i64::from(info.pid)) {
            continue;
        }
        use std::sync::atomic::Ordering::Relaxed;
        let for_safe_snapshot = !database.transactions().ssi().safe_snapshot_blockers(info.owner()).is_empty();
        let (event_type, event) = wait_event(&info, waits.get(&info.owner()).map(|(tag, ..)| tag), for_safe_snapshot);
        let shown = is_superuser || info.user == run.state.current_user();
        let query = if shown { info.query().to_string() } else { "<insufficient privilege>".to_owned() };
        rows.push(row![
            DATABASE_OID,
            info.database.as_str(),
            info.pid,
            NULL,
            catalog.role_by_name(&info.user).map(|role| role.oid),
            info.user.as_str(),
            info.application_name().as_ref(),
            info.peer.map(|peer| peer.ip().to_string()),
            NULL,
            info.peer.map_or(-1, |peer| i32::from(peer.port())),
            time(info.started_at),
            time(info.transaction_start.load(Relaxed)),
            time(info.statement_start.load(Relaxed)),
            time(info.state_change.load(Relaxed)),
            event_type,
            event,
            info.activity().name(),
            running.get(&info.owner()).map(|top| xid(top.0)),
            NULL,
            NULL,
            query,
            "client backend",
        ]);
    }
    Ok(rows)
}

/// `pg_locks`
pub fn pg_locks(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let instance = &run.state.instance;
    let pids: FxHashMap<OwnerId, i32> = instance.sessions().iter().map(|info| (info.owner(), info.pid)).collect();
    let prepared = run.state.engine().prepared_transactions();
    let prepared: FxHashMap<OwnerId, Xid> = prepared.iter().map(|prepared| (prepared.owner, prepared.xid)).collect();
    // A prepared transaction has no session; PostgreSQL calls it by its xid.
    let virtual_transaction = |owner: OwnerId| match prepared.get(&owner) {
        Some(xid) => format!("-1/{xid}"),
        None => format!("{}/0", owner.0),
    };
    let (now, clock) = (Instant::now(), datetime::clock_micros());
    let mut rows = Vec::new();
    for view in instance.database().locks().snapshot() {
        let database = Value::oid(DATABASE_OID);
        // database, relation, page, tuple, transactionid, classid, objid, objsubid
        let place: [Value; 8] = match view.tag {
            LockTag::Relation(relation) => [database, relation.into(), NULL, NULL, NULL, NULL, NULL, NULL],
            LockTag::Page { relation, block } => {
                [database, relation.into(), (block as i32).into(), NULL, NULL, NULL, NULL, NULL]
            }
            LockTag::Row { relation, tid } => {
                let (block, slot) = (tid.block as i32, tid.slot as i16);
                [database, relation.into(), block.into(), slot.into(), NULL, NULL, NULL, NULL]
            }
            LockTag::Xid(top) => [NULL, NULL, NULL, NULL, xid(top.0), NULL, NULL, NULL],
            LockTag::Advisory(AdvisoryKey::One(key)) => {
                let (high, low) = (Value::Oid((key as u64 >> 32) as u32), Value::Oid(key as u32));
                [database, NULL, NULL, NULL, NULL, high, low, 1i16.into()]
            }
            LockTag::Advisory(AdvisoryKey::Two(high, low)) => {
                let (high, low) = (Value::Oid(high as u32), Value::Oid(low as u32));
                [database, NULL, NULL, NULL, NULL, high, low, 2i16.into()]
            }
            LockTag::Object { class, object } => {
                [database, NULL, NULL, NULL, NULL, class.into(), Value::Oid(object as u32), 0i16.into()]
            }
        };
        let [database, relation, page, tuple, transaction, class, object, part] = place;
        let since = view
            .waiting_since
            .map(|since| Value::TimestampTz(clock - now.saturating_duration_since(since).as_micros() as i64));
        rows.push(row![
            view.tag.kind(),
            database,
            relation,
            page,
            tuple,
            NULL,
            transaction,
            class,
            object,
            part,
            virtual_transaction(view.owner),
            pids.get(&view.owner).copied(),
            view.mode.name(),
            view.granted,
            view.fast_path && pids.contains_key(&view.owner),
            since,
        ]);
    }
    // Predicate locks: of heaps by relation, page or tuple; of indexes by their keys.
    let predicate_locks = instance.database().transactions().ssi().predicate_locks();
    if !predicate_locks.is_empty() {
        let catalog = run.catalog.catalog();
        let of_tables = catalog.tables().map(|table| (table.file, table.oid));
        let of_indexes = catalog.tables().flat_map(|table| catalog.indexes_of(table.oid));
        let relations: FxHashMap<_, _> = of_tables.chain(of_indexes.map(|index| (index.file, index.oid))).collect();
        for lock in predicate_locks {
            let Some(relation) = relations.get(&lock.file) else { continue };
            let (kind, page, tuple) = match lock.place {
                PredicatePlace::Relation => ("relation", NULL, NULL),
                PredicatePlace::Page(block) => ("page", (block as i32).into(), NULL),
                PredicatePlace::Tuple(tid) => ("tuple", (tid.block as i32).into(), (tid.slot as i16).into()),
                PredicatePlace::Keys => ("keys", NULL, NULL),
            };
            let pid = lock.owner.filter(|_| !lock.finished).and_then(|owner| pids.get(&owner).copied());
            rows.push(row![
                kind,
                DATABASE_OID,
                *relation,
                page,
                tuple,
                NULL,
                NULL,
                NULL,
                NULL,
                NULL,
                lock.owner.map(virtual_transaction),
                pid,
                "SIReadLock",
                true,
                false,
                NULL,
            ]);
        }
    }
    Ok(rows)
}

/// `cohort_stat_ssi`: what serializable isolation has done, and whom it has sacrificed, by reason.
pub fn cohort_stat_ssi(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let statistics = run.state.instance.database().transactions().ssi().statistics();
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
        ("predicate_locks", statistics.locks),
    ];
    let others = others.map(|(name, count)| (name.to_owned(), count));
    Ok(aborts.chain(others).map(|(name, count)| row![name, count as i64]).collect())
}

/// `pg_prepared_xacts`
pub fn pg_prepared_xacts(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let prepared = run.state.engine().prepared_transactions();
    let catalog = run.catalog.catalog();
    let rows = prepared.into_iter().map(|prepared| {
        row![
            xid(prepared.xid.0),
            prepared.gid.as_str(),
            Value::TimestampTz(prepared.at_micros),
            catalog.role(prepared.role).map(|role| role.name.as_str()),
            run.state.database_name(),
        ]
    });
    Ok(rows.collect())
}

/// `pg_prepared_statements`
pub fn pg_prepared_statements(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let prepared = run.state.prepared.borrow();
    let mut statements: Vec<_> = prepared.values().collect();
    statements.sort_by(|a, b| a.name.cmp(&b.name));
    let row = |statement: &std::sync::Arc<crate::session::Prepared>| {
        // Types that were not given are those that binding found.
        let planned = statement.tree.as_ref().and_then(|_| statement.plan(run.state).ok());
        let known = planned.as_ref().map_or(&*statement.types, |planned| &planned.statement.parameters);
        let types = known.iter().map(|sql_type| Value::oid(sql_type.oid)).collect();
        row![
            statement.name.as_str(),
            statement.text.as_ref(),
            time(statement.prepared_at),
            Value::array(oids::REGTYPE, types),
            statement.from_sql,
            0i64,
            0i64,
        ]
    };
    Ok(statements.into_iter().map(row).collect())
}

/// `pg_cursors`: a statement can't see the portals around it.
pub fn pg_cursors(_: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    Ok(Vec::new())
}

fn milliseconds(micros: u64) -> Value {
    Value::Float8(micros as f64 / 1000.0)
}

/// `pg_stat_wal`
pub fn pg_stat_wal(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let instance = &run.state.instance;
    let wal = instance.database().statistics().wal;
    Ok(vec![row![
        wal.records as i64,
        0i64,
        Value::Numeric(Numeric::from(i128::from(wal.bytes))),
        wal.buffers_full as i64,
        wal.writes as i64,
        wal.syncs as i64,
        milliseconds(wal.write_time_us),
        milliseconds(wal.sync_time_us.sum),
        time(instance.started_at),
    ]])
}

/// `pg_stat_slru`
pub fn pg_stat_slru(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let instance = &run.state.instance;
    let xact = instance.database().status().clog().statistics();
    Ok(vec![row![
        "Xact",
        xact.zeroed as i64,
        xact.hits as i64,
        xact.reads as i64,
        xact.writes as i64,
        0i64,
        xact.flushes as i64,
        xact.truncates as i64,
        time(instance.started_at),
    ]])
}

/// `pg_stat_user_tables`
pub fn pg_stat_user_tables(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_oid(equal, 0);
    if matches!(wanted, Wanted::Nothing(_)) {
        return Ok(Vec::new());
    }
    let database = run.state.instance.database();
    let mut rows = Vec::new();
    for table in relations::tables(run.catalog.catalog()) {
        if !table.kind.has_storage() || table.schema == PG_CATALOG_SCHEMA || !wanted.matches(&table.oid) {
            continue;
        }
        let activity = database.table_activity(table.oid);
        let count = |of: fn(&engine::TableActivity) -> u64| activity.as_ref().map_or(0, |activity| of(activity)) as i64;
        rows.push(row![
            table.oid,
            run.catalog.schema_name(table.schema),
            table.name.as_str(),
            count(engine::TableActivity::inserted),
            count(engine::TableActivity::updated),
            count(engine::TableActivity::deleted),
            count(engine::TableActivity::updated_in_page),
            count(engine::TableActivity::live),
            count(engine::TableActivity::dead),
        ]);
    }
    Ok(rows)
}

/// `cohort_stat_commit`: how commits were gathered and made durable.
pub fn cohort_stat_commit(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let database = run.state.instance.database();
    let wal = database.statistics().wal;
    let group = database.status().clog().group_statistics();
    let all: Vec<(&str, f64)> = vec![
        ("flushes", wal.syncs as f64),
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
