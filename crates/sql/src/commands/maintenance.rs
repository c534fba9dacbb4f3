//! VACUUM, ANALYZE, CHECKPOINT, TRUNCATE and LOCK.

use std::sync::Arc;

use base::lock_mode::{LockMode, WaitPolicy};
use base::{Error, Oid, Result, sqlstate};
use engine::{Granted, Table, VacuumOptions, VacuumSummary};
use plan::privileges::{Privileges, Subject};
use schema::catalog::{CHECKPOINT_ROLE, Relation, RelationKind, SequenceDef, TableDef};
use syntax::tree::{DefinitionValue, LockTable, Name, QualifiedName, Truncate, Vacuum};

use super::ddl::{Ddl, system_refusal};
use super::stored_query::StoredQuery;
use super::top_level::TopLevel;
use crate::state::{SessionState, UtilityOutput, while_maintaining};
use crate::system_tables::{is_shared, is_view};
use executor::client::{Client, Severity};
use executor::{Captures, Firing, Run};

/// The wishes of the options of VACUUM and ANALYZE.
#[derive(Default)]
struct ReadOptions {
    options: VacuumOptions,
    analyze: bool,
    verbose: bool,
}

/// Reads the options. FULL, FREEZE, PARALLEL, DISABLE_PAGE_SKIPPING, INDEX_CLEANUP and PROCESS_TOAST are only checked: a vacuum freezes rows and
/// looks at all pages and indexes in any case.
fn read_options(vacuum: &Vacuum) -> Result<ReadOptions> {
    let syntax = |message: String| Error::new(sqlstate::SYNTAX_ERROR, message);
    let mut read = ReadOptions { analyze: !vacuum.is_vacuum, ..ReadOptions::default() };
    let (mut full, mut disables_skipping, mut toast, mut workers) = (false, false, true, 0);
    for element in &vacuum.options {
        let name = element.name.as_str();
        let boolean = || element.boolean().ok_or_else(|| syntax(format!("{name} requires a Boolean value")));
        match name {
            "verbose" => read.verbose = boolean()?,
            "skip_locked" => read.options.skip_locked = boolean()?,
            other if !vacuum.is_vacuum => return Err(syntax(format!("unrecognized ANALYZE option \"{other}\""))),
            "analyze" => read.analyze = boolean()?,
            "truncate" => read.options.keep_tail = !boolean()?,
            "full" => full = boolean()?,
            "disable_page_skipping" => disables_skipping = boolean()?,
            "process_toast" => toast = boolean()?,
            "freeze" => drop(boolean()?),
            "index_cleanup" if element.text().is_some_and(|text| text.eq_ignore_ascii_case("auto")) => {}
            "index_cleanup" => drop(boolean()?),
            "parallel" => {
                let missing = || syntax("parallel option requires a value between 0 and 1024".to_owned());
                workers = match element.value.as_ref().ok_or_else(missing)? {
                    DefinitionValue::Integer(workers) => *workers,
                    _ => return Err(syntax("parallel requires an integer value".to_owned())),
                };
                if !(0..=1024).contains(&workers) {
                    return Err(syntax("parallel workers for vacuum must be between 0 and 1024".to_owned()));
                }
            }
            other => return Err(syntax(format!("unrecognized VACUUM option \"{other}\""))),
        }
    }
    if full && workers > 0 {
        return Err(Error::unsupported("VACUUM FULL cannot be performed in parallel"));
    }
    if full && disables_skipping {
        return Err(Error::unsupported("VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL"));
    }
    if full && !toast {
        return Err(Error::unsupported("PROCESS_TOAST required with VACUUM FULL"));
    }
    Ok(read)
}

/// VACUUM and ANALYZE.
pub fn vacuum(session: &mut dyn TopLevel, vacuum: &Vacuum, client: &mut dyn Client) -> Result<UtilityOutput> {
    let ReadOptions { options, analyze, verbose } = read_options(vacuum)?;
    if !analyze && vacuum.tables.iter().any(|(_, columns)| !columns.is_empty()) {
        return Err(Error::unsupported("ANALYZE option must be specified when a column list is provided"));
    }
    let what = if vacuum.is_vacuum { "vacuum" } else { "analyze" };
    let is_named = !vacuum.tables.is_empty();
    let tables = wanted_tables(session.state(), vacuum, what, client)?;
    let is_apart = tables.len() > 1 && !session.is_in_block();
    for table in tables {
        // Locks of several tables at once would be in the way of others. Each table is vacuumed in transactions of its own.
        if vacuum.is_vacuum {
            let mut vacuumed = Ok(VacuumSummary::default());
            session.between_transactions(client, &mut |state| vacuumed = vacuum_table(state, &table, options))?;
            let summary = match vacuumed {
                Err(error) if options.skip_locked && error.sqlstate() == sqlstate::LOCK_NOT_AVAILABLE => {
                    tell_skipped(session.state(), "vacuum", &table, &error, client);
                    continue;
                }
                Err(error) if is_gone(session.state(), &table, &error) => {
                    if is_named {
                        tell_skipped(session.state(), "vacuum", &table, &error, client);
                    }
                    continue;
                }
                other => other?,
            };
            if verbose {
                tell(session, &table, summary, client);
            }
        } else if is_apart {
            session.between_transactions(client, &mut |_| {})?;
        }
        if analyze {
            analyze_table(session.state(), &table, options.skip_locked, is_named, client)?;
        }
    }
    Ok(UtilityOutput::tag(if vacuum.is_vacuum { "VACUUM" } else { "ANALYZE" }))
}

fn vacuum_table(state: &SessionState, table: &TableDef, options: VacuumOptions) -> Result<VacuumSummary> {
    let open = state.engine().open_table(table.oid)?;
    state.engine_mut().vacuum(&open, options)
}

/// ANALYZE within a function.
pub fn analyze(state: &SessionState, analyze: &Vacuum, client: &mut dyn Client) -> Result<UtilityOutput> {
    let is_skip =
        |element: &syntax::tree::DefinitionElement| element.name == "skip_locked" && element.boolean().unwrap_or(true);
    let skip_locked = analyze.options.iter().any(is_skip);
    for table in wanted_tables(state, analyze, "analyze", client)? {
        analyze_table(state, &table, skip_locked, !analyze.tables.is_empty(), client)?;
    }
    Ok(UtilityOutput::tag("ANALYZE"))
}

fn analyze_table(
    state: &SessionState,
    table: &TableDef,
    skip_locked: bool,
    is_named: bool,
    client: &mut dyn Client,
) -> Result<()> {
    if skip_locked {
        let granted = state.engine().lock_relation(table.oid, LockMode::ShareUpdateExclusive, WaitPolicy::Skip)?;
        if granted == Granted::Skipped {
            let busy = Error::new(sqlstate::LOCK_NOT_AVAILABLE, String::new());
            tell_skipped(state, "analyze", table, &busy, client);
            return Ok(());
        }
    }
    match while_maintaining(state, || crate::statistics::analyze(state, table.oid)) {
        Err(error) if is_gone(state, table, &error) => {
            if is_named {
                tell_skipped(state, "analyze", table, &error, client);
            }
            Ok(())
        }
        done => done,
    }
}

/// Whether the error is that somebody has dropped the table meanwhile.
fn is_gone(state: &SessionState, table: &TableDef, error: &Error) -> bool {
    error.sqlstate() == sqlstate::UNDEFINED_TABLE && state.engine_catalog().table(table.oid).is_none()
}

/// The tables that VACUUM or ANALYZE names, or all; those that the role may do it with.
fn wanted_tables(
    state: &SessionState,
    vacuum: &Vacuum,
    what: &str,
    client: &mut dyn Client,
) -> Result<Vec<Arc<TableDef>>> {
    let mut tables = Vec::with_capacity(vacuum.tables.len());
    for (name, columns) in &vacuum.tables {
        tables.extend(with_rows(state, name, columns, what, client)?);
    }
    if vacuum.tables.is_empty() {
        for table in state.engine_catalog().tables().filter(|table| table.kind.has_storage()) {
            match refusal(state, table) {
                Some(why) => tell_refused(state, &table.name, why, what, client),
                None => tables.push(Arc::clone(table)),
            }
        }
    }
    Ok(tables)
}

/// Tells that a table is passed over, for this error.
fn tell_skipped(state: &SessionState, what: &str, table: &TableDef, error: &Error, client: &mut dyn Client) {
    let why = match error.sqlstate() {
        sqlstate::LOCK_NOT_AVAILABLE => "lock not available",
        _ => "relation no longer exists",
    };
    let message = format!("skipping {what} of \"{}\" --- {why}", table.name);
    state.notice(Severity::Warning, &Error::new(error.sqlstate(), message), client);
}

fn tell(session: &dyn TopLevel, table: &TableDef, summary: VacuumSummary, client: &mut dyn Client) {
    let message = format!("finished vacuuming \"{}\"", table.name);
    let detail = format!(
        "pages: {} remain, {} truncated; tuples: {} removed, {} remain, {} are dead but not yet removable",
        summary.pages, summary.truncated_pages, summary.removed, summary.live, summary.recently_dead
    );
    let info = Error::new(sqlstate::SUCCESSFUL_COMPLETION, message).detail(detail);
    super::notice(session, Severity::Info, &info, client);
}

/// The table or materialized view called `name`, if there is something to do to it: the server's own catalogs are computed.
/// Of another relation, and of one that somebody else owns, the client is told. 42P01, 42701, 42703
fn with_rows(
    state: &SessionState,
    name: &QualifiedName,
    columns: &[Name],
    what: &str,
    client: &mut dyn Client,
) -> Result<Option<Arc<TableDef>>> {
    let (refusal, names, table): (_, Vec<String>, _) =
        match state.catalog().relation_or_type(name.schema.as_deref(), &name.name) {
            Some(Ok(Relation::Table(_))) => {
                let table = super::find_table(state, name)?;
                let refusal = refusal(state, &table).or_else(|| (!table.kind.has_storage()).then_some(NO_TABLE));
                let live = table.columns.iter().filter(|column| !column.dropped);
                (refusal, live.map(|column| column.name.clone()).collect(), Some(table))
            }
            Some(_) => (Some(NO_TABLE), Vec::new(), None),
            None => match state.catalog().system_table(name.schema.as_deref(), &name.name) {
                Some(system) => {
                    let refusal = match state.is_superuser() {
                        false if is_shared(&system) => Some("only superuser can {} it"),
                        false => Some("only superuser or database owner can {} it"),
                        true => is_view(&system).then_some(NO_TABLE),
                    };
                    (refusal, system.columns.iter().map(|column| column.name.to_string()).collect(), None)
                }
                None => (None, Vec::new(), Some(super::find_table(state, name)?)),
            },
        };
    if let Some(why) = refusal {
        tell_refused(state, &name.name, why, what, client);
        return Ok(None);
    }
    for (number, column) in columns.iter().enumerate() {
        let of = format!("column \"{column}\" of relation \"{}\"", name.name);
        if !names.iter().any(|name| name == column.as_str()) {
            return Err(Error::new(sqlstate::UNDEFINED_COLUMN, format!("{of} does not exist")));
        }
        if columns[..number].contains(column) {
            return Err(Error::new(sqlstate::DUPLICATE_COLUMN, format!("{of} appears more than once")));
        }
    }
    Ok(table)
}

const NO_TABLE: &str = "cannot {} non-tables or special system tables";

/// Why the role may not vacuum or analyze a table.
fn refusal(state: &SessionState, table: &TableDef) -> Option<&'static str> {
    if state.is_superuser() {
        return None;
    }
    let (catalog, role) = (state.engine_catalog(), state.acting_role().oid);
    let owns = |oid| Subject::find(&catalog, oid).is_none_or(|subject| subject.is_owned_by(&catalog, role));
    (!owns(table.oid) && !owns(catalog.database())).then_some("only table or database owner can {} it")
}

/// Tells that a relation is passed over; `{}` in `why` stands for what was to be done.
fn tell_refused(state: &SessionState, name: &str, why: &str, what: &str, client: &mut dyn Client) {
    let message = format!("skipping \"{name}\" --- {}", why.replace("{}", what));
    state.notice(Severity::Warning, &Error::new(sqlstate::WARNING, message), client);
}

/// 42809 for a relation that is no table and no view.
fn refuse_lock(state: &SessionState, name: &QualifiedName) -> Result<()> {
    let kind = match state.catalog().relation_or_type(name.schema.as_deref(), &name.name) {
        Some(Ok(Relation::Index(_))) => "indexes",
        Some(Ok(Relation::Sequence(_))) => "sequences",
        Some(Ok(Relation::Table(table))) if table.kind == RelationKind::MaterializedView => "materialized views",
        Some(Err(_)) => "composite types",
        _ => return Ok(()),
    };
    Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("cannot lock relation \"{}\"", name.name))
        .detail(format!("This operation is not supported for {kind}.")))
}

/// CHECKPOINT.
pub fn checkpoint(state: &SessionState) -> Result<UtilityOutput> {
    if !state.has_rights_of(CHECKPOINT_ROLE) {
        return Err(Error::new(
            sqlstate::INSUFFICIENT_PRIVILEGE,
            "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT",
        ));
    }
    state.engine().checkpoint()?;
    Ok(UtilityOutput::tag("CHECKPOINT"))
}

/// TRUNCATE.
pub fn truncate(state: &SessionState, truncate: &Truncate, client: &mut dyn Client) -> Result<UtilityOutput> {
    let (tables, oids) = truncated_tables(state, truncate, client)?;
    if truncate.restart_identity {
        let text: Arc<str> = Arc::from("");
        let ddl = Ddl::new(state, &text, client);
        for sequence in tables.iter().flat_map(|table| sequences_of(&ddl, table)) {
            super::ownership::require_owner(&ddl, sequence)?;
        }
    }
    let mut fired = Vec::new();
    for table in &tables {
        let view = state.catalog();
        let text: Arc<str> = Arc::from("");
        let triggers = crate::state::planning::Environment::new(state, &view)
            .with_context(&text, |context| planner::binder::table_triggers(context, table))?;
        fired.extend(triggers);
    }
    let mut locals = executor::Locals::for_expression();
    if !fired.is_empty() {
        state.engine().push_snapshot()?;
        let mut run = Run::new(state, client, &[], &mut locals);
        let result = fired.iter().try_for_each(|triggers| {
            Firing(triggers).before_statement(plan::Event::Truncate, None, &Captures::default(), &mut run)
        });
        drop(run);
        state.engine().pop_snapshot();
        result?;
    }
    for oid in oids {
        let open: Arc<Table> = state.engine().open_table(oid)?;
        state.engine().truncate(&open)?;
        state.changed_catalog.set(true);
        if truncate.restart_identity {
            restart_sequences(&Ddl::new(state, &Arc::from(""), client), &open.def)?;
        }
    }
    if !fired.is_empty() {
        let first_check = state.next_check.get();
        state.engine().push_snapshot()?;
        let mut run = Run::new(state, client, &[], &mut locals);
        let result = fired.iter().try_for_each(|triggers| {
            let captures = Captures::default();
            Firing(triggers).after_statement(plan::Event::Truncate, None, &captures, &mut run)
        });
        drop(run);
        let due = executor::Due::Statement(first_check);
        let result = result.and_then(|()| executor::run_pending_checks(state, due, client));
        state.engine().pop_snapshot();
        result?;
    }
    Ok(UtilityOutput::tag("TRUNCATE TABLE"))
}

/// Finds and locks the tables that TRUNCATE empties, in the order in which it names them. Also returns their oids. Names are looked up
/// again until nothing has changed during the wait for the locks.
fn truncated_tables(
    state: &SessionState,
    truncate: &Truncate,
    client: &mut dyn Client,
) -> Result<(Vec<Arc<TableDef>>, Vec<Oid>)> {
    let mut locked: Vec<Oid> = Vec::new();
    loop {
        let mut notices = Vec::new();
        let found = find_truncated(state, truncate, &mut notices);
        let oids: Vec<Oid> = found.iter().flatten().map(|table| table.oid).collect();
        if found.is_err() || oids == locked {
            // Notices come before an error: they name the tables that CASCADE has found.
            notices.iter().for_each(|notice| state.notice(Severity::Notice, notice, client));
            let tables = found?;
            return Ok((tables, oids));
        }
        for oid in &oids {
            state.engine().lock_relation(*oid, LockMode::AccessExclusive, WaitPolicy::Block)?;
        }
        locked = oids;
    }
}

fn find_truncated(state: &SessionState, truncate: &Truncate, notices: &mut Vec<Error>) -> Result<Vec<Arc<TableDef>>> {
    let mut tables: Vec<Arc<TableDef>> = Vec::with_capacity(truncate.tables.len());
    for name in &truncate.tables {
        let table = super::find_table(state, name).map_err(|error| {
            match state.catalog().system_table(name.schema.as_deref(), &name.name) {
                Some(system) if error.sqlstate() == sqlstate::UNDEFINED_TABLE => system_refusal(&system.name),
                _ => error,
            }
        })?;
        if tables.iter().all(|known| known.oid != table.oid) {
            tables.push(table);
        }
    }
    for table in &tables {
        if table.kind != RelationKind::Table {
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not a table", table.name)));
        }
        check_truncate(state, table)?;
    }
    let mut at = 0;
    while at < tables.len() {
        let table = Arc::clone(&tables[at]);
        at += 1;
        let catalog = state.engine_catalog();
        let mut referring: Vec<&Arc<TableDef>> = catalog.tables_referencing(table.oid).collect();
        // The oldest is told of first.
        referring.sort_by_key(|table| table.oid);
        for referring in referring {
            if tables.iter().any(|known| known.oid == referring.oid) {
                continue;
            }
            if truncate.cascade {
                let notice = Error::new(
                    sqlstate::SUCCESSFUL_COMPLETION,
                    format!("truncate cascades to table \"{}\"", referring.name),
                );
                notices.push(notice);
                check_truncate(state, referring)?;
                tables.push(Arc::clone(referring));
                continue;
            }
            let detail = format!("Table \"{}\" references \"{}\".", referring.name, table.name);
            return Err(Error::unsupported("cannot truncate a table referenced in a foreign key constraint")
                .detail(detail)
                .hint(format!(
                    "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                    referring.name
                )));
        }
    }
    Ok(tables)
}

fn check_truncate(state: &SessionState, table: &TableDef) -> Result<()> {
    state.require(table.oid, Privileges::TRUNCATE)?;
    state.refuse_foreign_temporary(table.schema, "truncate")?;
    state.check_not_in_use(table.oid, "TRUNCATE", &table.name)
}

/// Has the sequences of a table's columns begin anew, if the transaction commits.
fn restart_sequences(ddl: &Ddl<'_>, table: &TableDef) -> Result<()> {
    for sequence in sequences_of(ddl, table) {
        ddl.lock(sequence, LockMode::AccessExclusive)?;
        // Another transaction may have changed or dropped it before the lock was granted.
        if let Some(now) = ddl.catalog().sequence(sequence).filter(|now| is_sequence_of(now, table)) {
            super::sequence::restart(ddl, (**now).clone(), now.start)?;
        }
    }
    Ok(())
}

/// The sequences of a table's columns.
fn sequences_of(ddl: &Ddl<'_>, table: &TableDef) -> Vec<Oid> {
    let catalog = ddl.catalog();
    catalog.sequences().filter(|sequence| is_sequence_of(sequence, table)).map(|sequence| sequence.oid).collect()
}

fn is_sequence_of(sequence: &SequenceDef, table: &TableDef) -> bool {
    sequence.owned_by.is_some_and(|(owner, _)| owner == table.oid)
}

/// LOCK TABLE. Of a view also what its query reads is locked, with the rights of the view's owner.
pub fn lock(state: &SessionState, lock: &LockTable, client: &mut dyn Client) -> Result<UtilityOutput> {
    let modes = [
        LockMode::AccessShare,
        LockMode::RowShare,
        LockMode::RowExclusive,
        LockMode::ShareUpdateExclusive,
        LockMode::Share,
        LockMode::ShareRowExclusive,
        LockMode::Exclusive,
        LockMode::AccessExclusive,
    ];
    let place = usize::try_from(lock.mode - 1).ok();
    let mode = place
        .and_then(|place| modes.get(place))
        .copied()
        .ok_or_else(|| Error::internal(format!("lock mode {} does not exist", lock.mode)))?;
    for name in &lock.tables {
        let (role, mut locked) = (state.acting_role().oid, None);
        // Until the name means the locked table, and the role still has the right to lock it.
        loop {
            refuse_lock(state, name)?;
            let table = super::find_table(state, name)?;
            if locked == Some(table.oid) {
                require_lock(state, &table, mode, role)?;
                break;
            }
            let text = Arc::from("");
            lock_one(&Ddl::new(state, &text, client), &table, (mode, lock.nowait), role)?;
            locked = Some(table.oid);
        }
    }
    Ok(UtilityOutput::tag("LOCK TABLE"))
}

/// 42501 if `role` may not lock the table in this mode.
fn require_lock(state: &SessionState, table: &TableDef, mode: LockMode, role: Oid) -> Result<()> {
    let changing = Privileges::UPDATE | Privileges::DELETE | Privileges::TRUNCATE;
    let needed = match mode {
        LockMode::AccessShare => Privileges::SELECT,
        LockMode::RowExclusive => changing | Privileges::INSERT,
        _ => changing,
    };
    state.acting_as(role, || state.require(table.oid, needed))
}

/// Locks a relation with the rights of `role`, and what it reads if it is a view.
fn lock_one(ddl: &Ddl<'_>, table: &Arc<TableDef>, how: (LockMode, bool), role: Oid) -> Result<()> {
    sync::yield_point()?;
    let (mode, is_nowait) = how;
    let state = ddl.state;
    require_lock(state, table, mode, role)?;
    let wait = if is_nowait { WaitPolicy::NoWait } else { WaitPolicy::Block };
    state.engine().lock_relation(table.oid, mode, wait).map_err(|error| {
        if is_nowait && error.sqlstate() == sqlstate::LOCK_NOT_AVAILABLE {
            let message = format!("could not obtain lock on relation \"{}\"", table.name);
            Error::new(sqlstate::LOCK_NOT_AVAILABLE, message)
        } else {
            error
        }
    })?;
    if table.kind != RelationKind::View {
        return Ok(());
    }
    // The view may be another one by now.
    let catalog = ddl.catalog();
    let Some(view) = catalog.table(table.oid) else { return Ok(()) };
    let Some(stored) = StoredQuery::of_view(ddl, view)? else { return Ok(()) };
    let role = planner::binder::rights_below(view).unwrap_or_else(|| state.acting_role().oid);
    for oid in stored.named().relations {
        let Some(read) = catalog.table(oid).filter(|read| read.kind != RelationKind::MaterializedView) else {
            continue;
        };
        lock_one(ddl, read, how, role)?;
    }
    Ok(())
}
