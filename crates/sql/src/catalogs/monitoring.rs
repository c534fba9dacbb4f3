//! The server's activity: settings, sessions, locks.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use base::settings::{self, Context, Id, Kind, Source, Unit, Value as Setting};
use base::{Oid, OwnerId, Result, Xid};
use engine::{AdvisoryKey, LockTag, PredicatePlace};
use rustc_hash::FxHashMap;
use schema::catalog::{Catalogs, DATABASE_OID, READ_ALL_STATS_ROLE, class};
use types::{Value, datetime, oids};

use super::Equal;
use super::rows::{NULL, row, text_array, wanted_name, xid};
use crate::state::SessionInfo;
use crate::state::session_of;
use executor::Run;

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
        if !crate::state::settings::may_see(session_of(run), id) {
            continue;
        }
        let (unit, minimum, maximum, words) = match definition.kind {
            Kind::Integer { minimum, maximum, unit, .. } => {
                (unit_name(unit), Some(minimum.to_string()), Some(maximum.to_string()), NULL)
            }
            Kind::Float { minimum, maximum, unit } => {
                (unit_name(unit), Some(settings::short_float(minimum)), Some(settings::short_float(maximum)), NULL)
            }
            Kind::Enum(words) => (None, None, None, text_array(words)),
            Kind::Bool | Kind::Text => (None, None, None, NULL),
        };
        let server_source = server.source(id);
        let source = if own.is_own(id) { "session" } else { server_source.name() };
        let boot = settings::parse(id, definition.default)
            .map_or_else(|_| definition.default.to_owned(), |value| plain_text(id, &value));
        let shown = match id {
            Id::TransactionIsolation
            | Id::TransactionReadOnly
            | Id::TransactionDeferrable
            | Id::IsSuperuser
            | Id::TcpKeepalivesIdle
            | Id::TcpKeepalivesInterval
            | Id::TcpKeepalivesCount
            | Id::TcpUserTimeout
            | Id::UnixSocketPermissions
            | Id::DataDirectoryMode => crate::state::settings::show(session_of(run), definition.name)?,
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

pub(super) fn time(micros: i64) -> Value {
    if micros == 0 { NULL } else { Value::TimestampTz(micros) }
}

/// Whether the acting role may see what a session does: its own, those of roles whose rights it has, and all for
/// `pg_read_all_stats`.
pub(super) fn shows_session(run: &Run<'_, '_>, info: &SessionInfo) -> bool {
    run.state.has_rights_of(info.role) || run.state.has_rights_of(READ_ALL_STATS_ROLE)
}

/// `pg_stat_activity`
pub fn pg_stat_activity(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = equal.iter().find(|(column, _)| *column == 2).and_then(|(_, value)| value.as_i64());
    let instance = &session_of(run).instance;
    let database = instance.database();
    let waits = instance.waits();
    let running: FxHashMap<OwnerId, base::Xid> =
        database.transactions().running().into_iter().map(|running| (running.owner, running.xid)).collect();
    let catalog = run.catalog.catalog();
    let mut rows = Vec::new();
    for info in instance.sessions() {
        if wanted.is_some_and(|pid| pid != i64::from(info.pid)) {
            continue;
        }
        let wait = waits.of(&info);
        let shown = shows_session(run, &info);
        let query = if shown { info.query().to_string() } else { "<insufficient privilege>".to_owned() };
        let only = |value: Value| if shown { value } else { NULL };
        rows.push(row![
            info.database_oid,
            info.database.as_str(),
            info.pid,
            NULL,
            info.role,
            catalog.role(info.role).map(|role| role.name.clone()),
            info.application_name().as_ref(),
            only(info.peer.map(|peer| peer.ip().to_string()).into()),
            NULL,
            only(info.peer.map_or(-1, |peer| i32::from(peer.port())).into()),
            only(time(info.started_at)),
            only(time(info.transaction_start.load(Relaxed))),
            only(time(info.statement_start.load(Relaxed))),
            only(time(info.state_change.load(Relaxed))),
            only(wait.map(|wait| wait.kind).into()),
            only(wait.map(|wait| wait.event).into()),
            only(info.activity().name().into()),
            running.get(&info.owner()).map(|top| xid(top.0)),
            NULL,
            NULL,
            query,
            only("client backend".into()),
        ]);
    }
    Ok(rows)
}

/// The columns of `pg_locks` that name the target: database, relation, page, tuple, transactionid, classid, objid, objsubid.
fn place_of_lock(catalogs: &Catalogs, tag: &LockTag) -> [Value; 8] {
    // A relation may be locked by another number than its own.
    let relation = |unique: Oid| {
        let (database, oid) = catalogs.relation(unique).unwrap_or((DATABASE_OID, unique));
        (Value::oid(database), Value::oid(oid))
    };
    let advisory = |database: Oid, key: AdvisoryKey| {
        let (high, low, form) = match key {
            AdvisoryKey::One(key) => ((key as u64 >> 32) as u32, key as u32, 1i16),
            AdvisoryKey::Two(high, low) => (high as u32, low as u32, 2i16),
        };
        [Value::oid(database), NULL, NULL, NULL, NULL, Value::Oid(high), Value::Oid(low), form.into()]
    };
    match *tag {
        LockTag::Relation(unique) => {
            let (database, relation) = relation(unique);
            [database, relation, NULL, NULL, NULL, NULL, NULL, NULL]
        }
        LockTag::Page { relation: unique, block } => {
            let (database, relation) = relation(unique);
            [database, relation, (block as i32).into(), NULL, NULL, NULL, NULL, NULL]
        }
        LockTag::Row { relation: unique, tid } => {
            let (database, relation) = relation(unique);
            let (block, slot) = (tid.block as i32, tid.slot as i16);
            [database, relation, block.into(), slot.into(), NULL, NULL, NULL, NULL]
        }
        LockTag::Xid(top) => [NULL, NULL, NULL, NULL, xid(top.0), NULL, NULL, NULL],
        LockTag::Advisory(key) => advisory(DATABASE_OID, key),
        LockTag::AdvisoryIn { database, key } => advisory(database, key),
        LockTag::Object { class, object } => {
            // See `engine::Session::lock_object`. Objects that all databases share have no database here.
            let database = match (class, (object >> 32) as u32) {
                (class, _) if class::is_shared(class) => Oid::INVALID,
                // The hash of a name.
                (Oid(1), _) | (_, 0) => DATABASE_OID,
                (_, database) => Oid(database),
            };
            [Value::oid(database), NULL, NULL, NULL, NULL, class.into(), Value::Oid(object as u32), 0i16.into()]
        }
    }
}

/// `pg_locks`
pub fn pg_locks(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let instance = &session_of(run).instance;
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
    let catalogs = instance.database().catalogs();
    for view in instance.database().locks().snapshot() {
        let [database, relation, page, tuple, transaction, class, object, part] = place_of_lock(&catalogs, &view.tag);
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
    rows.extend(own_locks(run, &pids, &virtual_transaction));
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
                run.state.database_oid(),
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

/// Locks that are held without an entry in the lock table: that of each transaction in progress on its own virtual number, and the
/// asking session's on the view that shows all this.
fn own_locks(
    run: &Run<'_, '_>,
    pids: &FxHashMap<OwnerId, i32>,
    virtual_transaction: &dyn Fn(OwnerId) -> String,
) -> Vec<Vec<Value>> {
    let held = |kind: &str, database: Value, relation: Value, number: Value, owner: OwnerId, mode: &str| {
        let pid = pids.get(&owner).copied();
        let holder = virtual_transaction(owner);
        row![kind, database, relation, NULL, NULL, number, NULL, NULL, NULL, NULL, holder, pid, mode, true, true, NULL]
    };
    let own = session_of(run).info.owner();
    let mut rows = vec![held(
        "relation",
        Value::oid(run.state.database_oid()),
        Value::oid(PG_LOCKS),
        NULL,
        own,
        "AccessShareLock",
    )];
    for info in session_of(run).instance.sessions().iter() {
        let owner = info.owner();
        if owner == own || info.transaction_start.load(Relaxed) != 0 {
            rows.push(held("virtualxid", NULL, NULL, virtual_transaction(owner).into(), owner, "ExclusiveLock"));
        }
    }
    rows
}

/// The number of `pg_locks`.
const PG_LOCKS: Oid = Oid(3043);

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
            catalog.database_def(prepared.database).map(|def| def.name.as_str()),
        ]
    });
    Ok(rows.collect())
}

/// `pg_prepared_statements`
pub fn pg_prepared_statements(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let mut statements: Vec<_> = session_of(run).prepared.borrow().values().cloned().collect();
    statements.sort_by(|a, b| a.name.cmp(&b.name));
    let row = |statement: std::sync::Arc<crate::state::Prepared>| {
        // Types that were not given are those that binding found.
        let planned = match &statement.tree {
            Some(_) => syntax::parser::if_readable(statement.plan(session_of(run)))?,
            None => None,
        };
        let kept = statement.parameter_types();
        let known = planned.as_ref().map_or(&*kept, |planned| &planned.statement.parameters);
        let types = known.iter().map(|sql_type| Value::oid(sql_type.oid)).collect();
        Ok(row![
            statement.name.as_str(),
            statement.text.as_ref(),
            time(statement.prepared_at),
            Value::array(oids::REGTYPE, types),
            statement.from_sql,
            statement.plan_counts().0 as i64,
            statement.plan_counts().1 as i64,
        ])
    };
    statements.into_iter().map(row).collect()
}

/// `pg_cursors`: those of DECLARE, of functions and of the protocol.
pub fn pg_cursors(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let cursors = session_of(run).cursors.borrow();
    let row = |(name, cursor): (&String, &crate::state::OpenCursor)| {
        row![
            name.as_str(),
            &*cursor.statement,
            cursor.is_holdable,
            cursor.is_binary,
            cursor.is_scrollable,
            time(cursor.opened_at),
        ]
    };
    let portals = session_of(run).portals.portals();
    let portal_row = |portal: &crate::state::ListedPortal| {
        row![portal.name.as_str(), &*portal.statement, false, false, false, time(portal.bound_at)]
    };
    Ok(cursors.iter().map(row).chain(portals.iter().map(|(_, portal)| portal_row(portal))).collect())
}
