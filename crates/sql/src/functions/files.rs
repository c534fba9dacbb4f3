//! Sizes and files, and bringing relations into the cache.

use std::sync::Arc;

use base::{Error, FileNumber, Oid, Result, limits, missing, sqlstate};
use plan::privileges::{Kind, Privileges, Subject, has_rights_of};
use schema::catalog::READ_ALL_STATS_ROLE;
use types::{RecordShape, RecordValue, SqlType, Value, function};

use super::{Bodies, Found, oid, relation, relation_name, text};
use crate::state::session_of;
use executor::Run;

pub(super) const FUNCTIONS: Bodies = &[
    (2325, |run, args| relation_size(run, args)),
    (2332, |run, args| relation_size(run, args)),
    (2286, |run, args| {
        let all = of_relation(run, args, |run, found| {
            let own = main_files(found).into_iter().chain(large_value_files(found)).collect::<Vec<_>>();
            Ok(size(run, &own)? + size(run, &index_files(run, found))?)
        })?;
        Ok(all.into())
    }),
    (2997, |run, args| {
        let own = of_relation(run, args, |run, found| {
            size(run, &main_files(found).into_iter().chain(large_value_files(found)).collect::<Vec<_>>())
        })?;
        Ok(own.into())
    }),
    (2998, |run, args| Ok(of_relation(run, args, |run, found| size(run, &index_files(run, found)))?.into())),
    (2168, |run, args| {
        let name = text(args, 0)?;
        let catalog = run.catalog.catalog();
        let database = catalog.database_by_name(name).ok_or_else(|| missing::database(name))?.oid;
        database_size(run, database)
    }),
    (2324, |run, args| database_size(run, oid(args, 0)?)),
    (2322, |run, _| all_size(run)),
    (2323, |run, _| all_size(run)),
    (2999, |run, args| Ok(first_file(run, oid(args, 0)?).map(|file| Oid(file.0 as u32)).into())),
    (3034, |run, args| Ok(first_file(run, oid(args, 0)?).map(|file| format!("base/{file}")).into())),
    (3454, |run, args| {
        let wanted = oid(args, 1)?;
        let catalog = run.catalog.catalog();
        let found = catalog.objects().find(|object| object.files().iter().any(|file| file.0 as u32 == wanted.0));
        Ok(found.map(schema::catalog::Object::oid).into())
    }),
    (9101, |run, args| Ok(Value::Int8(prewarm(run, oid(args, 0)?)? as i64))),
    (9102, |run, args| match text(args, 1)? {
        "buffer" | "read" | "prefetch" => Ok(Value::Int8(prewarm(run, oid(args, 0)?)? as i64)),
        _ => Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "invalid prewarm type")
            .hint("Valid prewarm types are \"prefetch\", \"read\", and \"buffer\".")),
    }),
];

/// The file of a relation's own rows or entries.
fn main_files(found: &Found) -> Vec<FileNumber> {
    let file = match found {
        Found::Table(table) => table.file,
        Found::Index(index) => index.file,
        Found::Sequence(sequence) => sequence.file,
        Found::Composite(_) | Found::System => FileNumber(0),
    };
    (file.0 != 0).then_some(file).into_iter().collect()
}

/// The files of values too large for a row.
fn large_value_files(found: &Found) -> Vec<FileNumber> {
    match found {
        Found::Table(table) => table.files().filter(|file| *file != table.file).collect(),
        _ => Vec::new(),
    }
}

fn index_files(run: &Run<'_, '_>, found: &Found) -> Vec<FileNumber> {
    match found {
        Found::Table(table) => run.catalog.catalog().indexes_of(table.oid).iter().map(|index| index.file).collect(),
        _ => Vec::new(),
    }
}

/// Bytes of files.
fn size(run: &Run<'_, '_>, files: &[FileNumber]) -> Result<i64> {
    let pool = session_of(run).instance.database().pool();
    let mut bytes = 0;
    for file in files {
        bytes += i64::from(pool.block_count(*file)?) * limits::PAGE_SIZE_BYTES as i64;
    }
    Ok(bytes)
}

/// Asks `what` of a relation; NULL if there is none.
fn of_relation<T>(
    run: &Run<'_, '_>,
    args: &[Value],
    what: impl FnOnce(&Run<'_, '_>, &Found) -> Result<T>,
) -> Result<Option<T>> {
    relation(run, oid(args, 0)?).map(|found| what(run, &found)).transpose()
}

fn relation_size(run: &Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let fork = if args.len() > 1 { text(args, 1)? } else { "main" };
    let bytes = match fork {
        "main" => of_relation(run, args, |run, found| size(run, &main_files(found)))?,
        // There is one file for everything.
        "fsm" | "vm" | "init" => of_relation(run, args, |_, _| Ok(0))?,
        _ => {
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "invalid fork name")
                .hint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\"."));
        }
    };
    Ok(bytes.into())
}

/// The size of a database; NULL if there is none of this number.
fn database_size(run: &Run<'_, '_>, database: Oid) -> Result<Value> {
    let catalog = run.catalog.catalog();
    let Some(subject) = Subject::find(catalog, database).filter(|subject| subject.kind == Kind::Database) else {
        return Ok(Value::Null);
    };
    let role = run.state.acting_role().oid;
    if !subject.privileges_of(catalog, role).contains(Privileges::CONNECT)
        && !has_rights_of(catalog, role, READ_ALL_STATS_ROLE)
    {
        return Err(subject.denied());
    }
    let catalogs = session_of(run).instance.database().catalogs();
    let files: Vec<_> = catalogs.of(database).own_entries().flat_map(|entry| entry.object.files()).collect();
    Ok(Value::Int8(size(run, &files)?))
}

/// The size of all databases.
fn all_size(run: &Run<'_, '_>) -> Result<Value> {
    let files = session_of(run).instance.database().pool().list_files()?;
    Ok(Value::Int8(size(run, &files)?))
}

fn first_file(run: &Run<'_, '_>, wanted: Oid) -> Option<FileNumber> {
    main_files(&relation(run, wanted)?).into_iter().next()
}

/// Reads a relation's pages into the cache; how many there are.
fn prewarm(run: &mut Run<'_, '_>, wanted: Oid) -> Result<u64> {
    let Some(found) = relation(run, wanted) else {
        let message = format!("relation with OID {wanted} does not exist");
        return Err(Error::new(sqlstate::UNDEFINED_TABLE, message));
    };
    if main_files(&found).is_empty() {
        let message = format!("relation \"{}\" does not have storage", relation_name(run, wanted));
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
    }
    let of = match &found {
        Found::Index(index) => index.table,
        _ => wanted,
    };
    run.state.require(of, Privileges::SELECT)?;
    // While the lock is held, nobody takes the file away.
    run.engine().lock_relation(wanted, base::lock_mode::LockMode::AccessShare, base::lock_mode::WaitPolicy::Block)?;
    let files: Vec<FileNumber> = match relation(run, wanted) {
        Some(found) => main_files(&found),
        None => Vec::new(),
    };
    let instance = Arc::clone(&session_of(run).instance);
    let mut pages = 0u64;
    for file in files {
        for block in 0..instance.database().pool().block_count(file)? {
            sync::yield_point()?;
            instance.database().pool().pin(engine::PageId { file, block })?;
            pages += 1;
        }
    }
    Ok(pages)
}

/// One row per file: where it is, the system's page size, its pages, and the memory that is free for them.
pub(super) fn advise_willneed(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Vec<Value>> {
    let wanted = oid(args, 0)?;
    prewarm(run, wanted)?;
    let page_bytes = OS_PAGE_BYTES;
    let free_pages = free_memory_bytes().map(|bytes| bytes / page_bytes);
    let columns = function(Oid(9103)).map_or(&[][..], |def| def.columns);
    let fields = columns.iter().map(|(name, oid)| ((*name).to_owned(), SqlType::new(*oid))).collect();
    let shape = Arc::new(RecordShape::without_type(fields));
    let mut rows = Vec::new();
    for file in relation(run, wanted).iter().flat_map(main_files) {
        let bytes = size(run, &[file])?;
        let fields = vec![
            Value::from(format!("base/{file}")),
            Value::Int8(page_bytes),
            Value::Int8(bytes / page_bytes),
            free_pages.into(),
        ];
        rows.push(Value::Record(Arc::new(RecordValue { shape: Arc::clone(&shape), fields })));
    }
    Ok(rows)
}

/// The system's pages, on the machines this runs on.
const OS_PAGE_BYTES: i64 = 4096;

/// The memory that the system says is available.
fn free_memory_bytes() -> Option<i64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
