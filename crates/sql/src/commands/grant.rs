//! GRANT and REVOKE of privileges.

use std::collections::BTreeMap;

use base::{Error, Oid, Result, missing, sqlstate};
use plan::privileges::{self, Acl, AclItem, COLUMN_PRIVILEGES, ColumnAcls, Kind, Privileges, Subject};
use plan::user_types::is_composite_type;
use rustc_hash::FxHashSet;
use schema::catalog::{Catalog, INFORMATION_SCHEMA, Object, PG_CATALOG_SCHEMA, RelationKind};
use syntax::tree::{Grant, Name, ObjectKind, ObjectName, RoleName};
use types::context::UserTypeKind;
use types::{CatalogLookup, resolve_type_name};

use super::ddl::{Ddl, Found, system_refusal};
use super::drop::find_function;
use crate::state::{CHANGE_LOCK, UtilityOutput};
use crate::system_tables::{SEQUENCE_COLUMNS, SYSTEM_COLUMNS};
use executor::client::Severity;

/// GRANT and REVOKE.
pub(super) fn grant(ddl: &mut Ddl<'_>, grant: &Grant) -> Result<UtilityOutput> {
    if let Some(grantor) = &grant.granted_by
        && ddl.role(grantor)? != ddl.owner()
    {
        return Err(Error::unsupported("grantor must be current user"));
    }
    let grantees = grant
        .grantees
        .iter()
        .map(|name| if *name == RoleName::Public { Ok(Oid::INVALID) } else { ddl.role(name) })
        .collect::<Result<Vec<_>>>()?;
    for subject in subjects(ddl, grant)? {
        sync::yield_point()?;
        let wanted = wanted(grant, &subject)?;
        change(ddl, grant, &subject, wanted, &grantees)?;
    }
    Ok(UtilityOutput::tag(if grant.is_grant { "GRANT" } else { "REVOKE" }))
}

/// Returns the objects that the statement is about.
fn subjects(ddl: &Ddl<'_>, grant: &Grant) -> Result<Vec<Subject>> {
    let oids = if grant.all_in_schema {
        let catalog = ddl.catalog();
        let mut oids = Vec::new();
        for object in &grant.objects {
            let schema = ddl.view().usable_schema(&object.name.name)?;
            if matches!(schema, PG_CATALOG_SCHEMA | INFORMATION_SCHEMA) {
                return Err(Error::unsupported("privileges on the objects of this schema are not supported"));
            }
            let mut found: Vec<Oid> = catalog
                .objects()
                .filter(|object| privileges::schema_of(object) == Some(schema) && is_of_kind(object, grant.kind))
                .map(Object::oid)
                .collect();
            found.sort();
            oids.extend(found);
        }
        oids.iter().try_for_each(|oid| ddl.hold(*oid, CHANGE_LOCK))?;
        let catalog = ddl.catalog();
        oids.retain(|oid| catalog.object(*oid).is_some());
        oids
    } else {
        let held = |object| {
            sync::yield_point()?;
            ddl.find_held(CHANGE_LOCK, || find(ddl, grant.kind, object), |oid| Some(*oid))
        };
        grant.objects.iter().map(held).collect::<Result<_>>()?
    };
    let catalog = ddl.catalog();
    // An object may be named several times.
    let mut seen = FxHashSet::default();
    oids.into_iter()
        .filter(|oid| seen.insert(*oid))
        .map(|oid| {
            Subject::find(&catalog, oid)
                .ok_or_else(|| Error::unsupported("privileges on this object are not supported"))
        })
        .collect()
}

fn is_of_kind(object: &Object, kind: ObjectKind) -> bool {
    match kind {
        ObjectKind::Table => matches!(object, Object::Table(_)),
        ObjectKind::Sequence => matches!(object, Object::Sequence(_)),
        ObjectKind::Function => matches!(object, Object::Function(function) if !function.is_procedure()),
        ObjectKind::Procedure => matches!(object, Object::Function(function) if function.is_procedure()),
        ObjectKind::Routine => matches!(object, Object::Function(_)),
        _ => false,
    }
}

fn find(ddl: &Ddl<'_>, kind: ObjectKind, object: &ObjectName) -> Result<Oid> {
    match kind {
        ObjectKind::Table | ObjectKind::Sequence => match ddl.find(&object.name)? {
            None => {
                if let Some(schema) = &object.name.schema {
                    ddl.view().schema_named(schema)?;
                }
                Err(ddl.no_relation(&object.name))
            }
            Some(Found::System(name)) => Err(system_refusal(&name)),
            Some(Found::Composite(def)) => Err(is_composite_type(&def.name)),
            Some(Found::Index(index)) => {
                Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is an index", index.name)))
            }
            Some(Found::Table(table)) if kind == ObjectKind::Sequence => {
                Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not a sequence", table.name)))
            }
            Some(Found::Table(table)) => Ok(table.oid),
            Some(Found::Sequence(sequence)) => Ok(sequence.oid),
        },
        ObjectKind::Schema => ddl.view().schema_named(&object.name.name),
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => Ok(find_function(ddl, object)?.oid),
        ObjectKind::Database => ddl.database(&object.name.name).map(|def| def.oid),
        ObjectKind::Type | ObjectKind::Domain => {
            let (view, name) = (ddl.view(), &object.name);
            let oid = resolve_type_name(&view, name.schema.as_deref(), &name.name)?;
            let made = view.user_type(oid);
            let is_domain = made.is_some_and(|made| matches!(made.kind, UserTypeKind::Domain(_)));
            if kind == ObjectKind::Domain && !is_domain {
                return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not a domain", name.name)));
            }
            Ok(oid)
        }
        _ => Err(Error::unsupported("privileges on this kind of object are not supported")),
    }
}

/// The privileges that the statement names without columns, as far as objects of this kind have them.
pub(super) fn wanted(grant: &Grant, subject: &Subject) -> Result<Privileges> {
    if grant.privileges.is_empty() {
        return Ok(subject.kind.all());
    }
    let mut wanted = Privileges::NONE;
    for (word, columns) in &grant.privileges {
        if !columns.is_empty() {
            if grant.kind != ObjectKind::Table {
                let message = "column privileges are only valid for relations";
                return Err(Error::new(sqlstate::INVALID_GRANT_OPERATION, message));
            }
            continue;
        }
        let Some(word) = word else { return Ok(subject.kind.all()) };
        let privilege = named(word)?;
        // As PostgreSQL: sequences may be named as tables are, with the privileges of either.
        let of_either = Kind::Relation.all() | Kind::Sequence.all();
        let as_table = grant.kind == ObjectKind::Table && of_either.contains(privilege);
        let is_known = subject.kind.all().contains(privilege) || subject.kind == Kind::Sequence && as_table;
        if !is_known {
            let kind = match subject.kind {
                // A subject without a description stands for objects made later, which have no name yet.
                Kind::Relation if as_table && !subject.described.is_empty() => "table",
                Kind::Relation => "relation",
                Kind::Sequence if grant.kind == ObjectKind::Table => "relation",
                Kind::Sequence => "sequence",
                Kind::Schema => "schema",
                Kind::Function if subject.described.starts_with("procedure") => "procedure",
                Kind::Function => "function",
                Kind::Type => "type",
                Kind::Database => "database",
                Kind::Language => "language",
            };
            return Err(invalid_for(word, kind));
        }
        wanted = wanted | privilege;
    }
    Ok(wanted)
}

fn named(word: &Name) -> Result<Privileges> {
    Privileges::named(word)
        .ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, format!("unrecognized privilege type \"{word}\"")))
}

fn invalid_for(word: &str, kind: &str) -> Error {
    let message = format!("invalid privilege type {} for {kind}", word.to_ascii_uppercase());
    Error::new(sqlstate::INVALID_GRANT_OPERATION, message)
}

/// The part of `wanted` that a sequence has, where it is named as a table is.
fn for_sequence(ddl: &mut Ddl<'_>, subject: &Subject, wanted: Privileges, has: Privileges, which: &str) -> Privileges {
    if subject.kind != Kind::Sequence || has.contains(wanted) {
        return wanted;
    }
    let message = format!("sequence \"{}\" only supports {which} privileges", subject.name());
    ddl.tell(Severity::Warning, &Error::new(sqlstate::INVALID_GRANT_OPERATION, message));
    wanted & has
}

/// Returns the privileges that the statement names for single columns, by the numbers of the columns. A privilege revoked from a table is
/// revoked from each of its columns too.
fn wanted_of_columns(
    ddl: &mut Ddl<'_>,
    grant: &Grant,
    subject: &Subject,
    of_table: Privileges,
) -> Result<BTreeMap<i32, (String, Privileges)>> {
    let mut all: BTreeMap<i32, (String, Privileges)> = BTreeMap::new();
    if !matches!(subject.kind, Kind::Relation | Kind::Sequence) {
        return Ok(all);
    }
    let columns = columns_of(ddl, subject.oid);
    let implied = of_table & COLUMN_PRIVILEGES;
    if !grant.is_grant && !implied.is_empty() {
        all.extend(columns.iter().map(|(number, name)| (*number, (name.clone(), implied))));
    }
    for (word, names) in grant.privileges.iter().filter(|(_, names)| !names.is_empty()) {
        let privileges = match word {
            None => COLUMN_PRIVILEGES,
            Some(word) => {
                let privilege = named(word)?;
                if !COLUMN_PRIVILEGES.contains(privilege) {
                    return Err(invalid_for(word, "column"));
                }
                privilege
            }
        };
        let privileges = for_sequence(ddl, subject, privileges, Privileges::SELECT, "SELECT column");
        for name in names {
            let Some((number, found)) = columns.iter().find(|(_, found)| found == name.as_str()) else {
                return Err(missing::column_of_relation(name, subject.name()));
            };
            let entry = all.entry(*number).or_insert_with(|| (found.clone(), Privileges::NONE));
            entry.1 = entry.1 | privileges;
        }
    }
    Ok(all)
}

/// The numbers and names of the columns of a table, view or sequence; a view has no system columns.
fn columns_of(ddl: &Ddl<'_>, relation: Oid) -> Vec<(i32, String)> {
    let catalog = ddl.catalog();
    let mut columns: Vec<(i32, String)> = Vec::new();
    let is_view = matches!(catalog.object(relation), Some(Object::Table(table)) if table.kind == RelationKind::View);
    if !is_view {
        columns.extend(SYSTEM_COLUMNS.iter().map(|(name, _, number)| (i32::from(*number), (*name).to_owned())));
    }
    match catalog.object(relation) {
        Some(Object::Table(table)) => {
            let live = table.columns.iter().zip(1..).filter(|(column, _)| !column.dropped);
            columns.extend(live.map(|(column, number)| (number, column.name.clone())));
        }
        _ => columns.extend(SEQUENCE_COLUMNS.iter().zip(1..).map(|((name, _), number)| (number, (*name).to_owned()))),
    }
    columns
}

/// In whose name a role grants these privileges, and which of them it can: the owner's if it can act as the owner, or
/// that of the role among those it inherits from which may grant most of them.
fn best_grantor(
    catalog: &Catalog,
    role: Oid,
    subject: &Subject,
    wanted: Privileges,
    lists: &[&Acl],
) -> (Oid, Privileges) {
    if catalog.role(role).is_some_and(|role| role.superuser) {
        return (subject.owner, wanted);
    }
    let mut best = (role, Privileges::NONE);
    for candidate in privileges::inherited_roles(catalog, role) {
        let items = lists.iter().flat_map(|acl| &acl.0).filter(|item| item.grantee == candidate);
        let grantable = match candidate == subject.owner {
            true => wanted,
            false => items.fold(Privileges::NONE, |all, item| all | item.grantable) & wanted,
        };
        if grantable == wanted {
            return (candidate, wanted);
        }
        if grantable.count() > best.1.count() {
            best = (candidate, grantable);
        }
    }
    best
}

/// Warns the client of a GRANT or REVOKE that does less than the statement names.
fn warn_of_less(ddl: &mut Ddl<'_>, grant: &Grant, what: &str, wanted: Privileges, allowed: Privileges, is_all: bool) {
    let some = if allowed.is_empty() {
        "no"
    } else if !is_all && allowed != wanted {
        "not all"
    } else {
        return;
    };
    let (code, were) = if grant.is_grant {
        (sqlstate::WARNING_PRIVILEGE_NOT_GRANTED, "were granted")
    } else {
        (sqlstate::WARNING_PRIVILEGE_NOT_REVOKED, "could be revoked")
    };
    ddl.tell(Severity::Warning, &Error::new(code, format!("{some} privileges {were} for {what}")));
}

fn change(ddl: &mut Ddl<'_>, grant: &Grant, subject: &Subject, wanted: Privileges, grantees: &[Oid]) -> Result<()> {
    let catalog = ddl.catalog();
    let role = ddl.owner();
    let has = subject.kind.all();
    let wanted = for_sequence(ddl, subject, wanted, has, "USAGE, SELECT, and UPDATE");
    let of_columns = wanted_of_columns(ddl, grant, subject, wanted)?;
    let of_object = subject.acl(&catalog);
    if !wanted.is_empty() {
        let (grantor, allowed) = best_grantor(&catalog, role, subject, wanted, &[&of_object]);
        if allowed.is_empty() && subject.privileges_of(&catalog, grantor).is_empty() {
            return Err(subject.denied());
        }
        let shown = format!("\"{}\"", subject.name());
        warn_of_less(ddl, grant, &shown, wanted, allowed, grant.privileges.is_empty());
        if !allowed.is_empty() {
            let mut acl = of_object.clone();
            for grantee in grantees {
                change_list(&mut acl, grant, subject, *grantee, grantor, allowed)?;
            }
            store(ddl, subject.oid, &acl)?;
        }
    }
    if of_columns.is_empty() {
        return Ok(());
    }
    let before = ColumnAcls::stored(&catalog, subject.oid);
    let mut lists = before.clone();
    for (number, (name, wanted)) in of_columns.iter().filter(|(_, (_, wanted))| !wanted.is_empty()) {
        let mut acl = lists.0.remove(number).unwrap_or_default();
        let (grantor, allowed) = best_grantor(&catalog, role, subject, *wanted, &[&of_object, &acl]);
        if allowed.is_empty() && subject.column_privileges_of(&catalog, grantor, *number).is_empty() {
            return Err(subject.column_denied(name));
        }
        let shown = format!("column \"{name}\" of relation \"{}\"", subject.name());
        warn_of_less(ddl, grant, &shown, *wanted, allowed, *wanted == COLUMN_PRIVILEGES);
        if !allowed.is_empty() {
            for grantee in grantees {
                change_list(&mut acl, grant, subject, *grantee, grantor, allowed)?;
            }
        }
        if !acl.0.is_empty() {
            lists.0.insert(*number, acl);
        }
    }
    if lists == before { Ok(()) } else { store_columns(ddl, subject.oid, &lists) }
}

/// Writes down what has been granted on a table's columns.
fn store_columns(ddl: &Ddl<'_>, table: Oid, lists: &ColumnAcls) -> Result<()> {
    match ColumnAcls::stored_object(&ddl.catalog(), table) {
        Some(oid) if lists.0.is_empty() => ddl.drop(oid),
        Some(oid) => ddl.replace(lists.to_store(oid, table)?),
        None if lists.0.is_empty() => Ok(()),
        None => {
            let oid = ddl.allocate_oid();
            ddl.create(lists.to_store(oid, table)?)
        }
    }
}

/// Forgets what was granted on a column that is dropped.
pub(super) fn forget_column(ddl: &Ddl<'_>, table: Oid, place: usize) -> Result<()> {
    let mut lists = ColumnAcls::stored(&ddl.catalog(), table);
    match lists.0.remove(&(place as i32 + 1)) {
        Some(_) => store_columns(ddl, table, &lists),
        None => Ok(()),
    }
}

/// Grants or revokes in a list.
pub(super) fn change_list(
    acl: &mut Acl,
    grant: &Grant,
    subject: &Subject,
    grantee: Oid,
    grantor: Oid,
    allowed: Privileges,
) -> Result<()> {
    if !grant.is_grant {
        return revoke(acl, subject, grantee, grantor, allowed, grant);
    }
    if grant.grant_option && grantee == Oid::INVALID {
        return Err(Error::new(sqlstate::INVALID_GRANT_OPERATION, "grant options can only be granted to roles"));
    }
    add(acl, grantee, grantor, allowed, grant.grant_option);
    Ok(())
}

pub(super) fn add(acl: &mut Acl, grantee: Oid, grantor: Oid, privileges: Privileges, with_option: bool) {
    let grantable = if with_option { privileges } else { Privileges::NONE };
    match acl.0.iter_mut().find(|item| item.grantee == grantee && item.grantor == grantor) {
        Some(item) => {
            item.privileges = item.privileges | privileges;
            item.grantable = item.grantable | grantable;
        }
        None => acl.0.push(AclItem { grantee, grantor, privileges, grantable }),
    }
}

/// Takes back what `grantor` gave to `grantee`, and with CASCADE what was granted on from there.
fn revoke(
    acl: &mut Acl,
    subject: &Subject,
    grantee: Oid,
    grantor: Oid,
    privileges: Privileges,
    grant: &Grant,
) -> Result<()> {
    let only_option = grant.grant_option;
    let Some(item) = acl.0.iter_mut().find(|item| item.grantee == grantee && item.grantor == grantor) else {
        return Ok(());
    };
    let lost_option = item.grantable & privileges;
    item.grantable = item.grantable & !privileges;
    if !only_option {
        item.privileges = item.privileges & !privileges;
    }
    acl.0.retain(|item| !item.privileges.is_empty());
    // The owner's own right to grant is no item's.
    if lost_option.is_empty() || grantee == subject.owner {
        return Ok(());
    }
    let still =
        acl.0.iter().filter(|item| item.grantee == grantee).fold(Privileges::NONE, |all, item| all | item.grantable);
    let lost = lost_option & !still;
    let dependent: Vec<(Oid, Privileges)> = acl
        .0
        .iter()
        .filter(|item| item.grantor == grantee && !(item.privileges & lost).is_empty())
        .map(|item| (item.grantee, item.privileges & lost))
        .collect();
    if !dependent.is_empty() && !grant.cascade {
        return Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, "dependent privileges exist")
            .hint("Use CASCADE to revoke them too."));
    }
    let whole = Grant { grant_option: false, ..grant.clone() };
    for (next, privileges) in dependent {
        revoke(acl, subject, next, grantee, privileges, &whole)?;
    }
    Ok(())
}

/// Writes down what has been granted on an object.
pub(super) fn store(ddl: &Ddl<'_>, subject: Oid, acl: &Acl) -> Result<()> {
    let catalog = ddl.catalog();
    match privileges::stored_object(&catalog, subject) {
        Some(oid) => ddl.replace(privileges::to_store(&catalog, oid, subject, acl)?),
        None => {
            let oid = ddl.allocate_oid();
            ddl.create(privileges::to_store(&catalog, oid, subject, acl)?)
        }
    }
}

/// Takes back all that a role has of an object and its columns, and what it has given. A role that neither owns the object nor has a grant
/// option takes nothing back, and is warned.
pub(super) fn forget_role(ddl: &mut Ddl<'_>, subject: Oid, role: Oid) -> Result<()> {
    ddl.hold(subject, CHANGE_LOCK)?;
    let catalog = ddl.catalog();
    let found = Subject::find(&catalog, subject).filter(|_| !ddl.state.is_superuser());
    if let Some(found) = found.filter(|found| found.grantable_by(&catalog, ddl.owner()).is_empty()) {
        let message = format!("no privileges could be revoked for \"{}\"", found.name());
        ddl.tell(Severity::Warning, &Error::new(sqlstate::WARNING_PRIVILEGE_NOT_REVOKED, message));
        return Ok(());
    }
    let before = ColumnAcls::stored(&ddl.catalog(), subject);
    let mut lists = before.clone();
    for acl in lists.0.values_mut() {
        acl.0.retain(|item| item.grantee != role && item.grantor != role);
    }
    lists.0.retain(|_, acl| !acl.0.is_empty());
    if lists != before {
        store_columns(ddl, subject, &lists)?;
    }
    let Some(mut acl) = privileges::stored(&ddl.catalog(), subject) else { return Ok(()) };
    acl.0.retain(|item| item.grantee != role && item.grantor != role);
    store(ddl, subject, &acl)
}

/// Gives what an old owner has of an object and its columns to the new one.
pub(super) fn owner_changed(ddl: &Ddl<'_>, subject: Oid, old: Oid, new: Oid) -> Result<()> {
    let mut lists = ColumnAcls::stored(&ddl.catalog(), subject);
    if !lists.0.is_empty() {
        lists.0.values_mut().for_each(|acl| *acl = with_owner(acl, old, new));
        store_columns(ddl, subject, &lists)?;
    }
    match privileges::stored(&ddl.catalog(), subject) {
        Some(acl) => store(ddl, subject, &with_owner(&acl, old, new)),
        None => Ok(()),
    }
}

/// A list with one role in another's place.
fn with_owner(acl: &Acl, old: Oid, new: Oid) -> Acl {
    let renamed = |role: Oid| if role == old { new } else { role };
    let mut merged = Acl::default();
    for item in &acl.0 {
        let (grantee, grantor) = (renamed(item.grantee), renamed(item.grantor));
        add(&mut merged, grantee, grantor, item.privileges, false);
        if let Some(last) = merged.0.iter_mut().find(|it| it.grantee == grantee && it.grantor == grantor) {
            last.grantable = last.grantable | item.grantable;
        }
    }
    merged
}
