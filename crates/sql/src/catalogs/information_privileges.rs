//! Privileges granted on tables and columns, as `information_schema` shows them.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::{Oid, Result};
use plan::privileges::{
    ALL, AclItem, COLUMN_PRIVILEGES, ColumnAcls, Kind, Privileges, Subject, inherited_roles, stored,
};
use schema::catalog::{Catalog, RelationKind, TableDef, class};
use types::Value;
use types::context::UserTypeKind;

use super::Equal;
use super::relations::{role_name, tables};
use super::rows::{row, yes_or_no};
use executor::Run;

/// Views over these, as queries.
pub const VIEWS: &[(u32, &str, &str, &str)] = &[
    (
        13107,
        "role_column_grants",
        "grantor name, grantee name, table_catalog name, table_schema name, table_name name, column_name name, privilege_type varchar, is_grantable yes_or_no",
        "SELECT * FROM information_schema.column_privileges p
         WHERE p.grantor IN (SELECT r.rolname FROM pg_catalog.pg_roles r WHERE pg_has_role(r.oid, 'USAGE'))
            OR p.grantee IN (SELECT r.rolname FROM pg_catalog.pg_roles r WHERE pg_has_role(r.oid, 'USAGE'))",
    ),
    (
        13109,
        "role_table_grants",
        "grantor name, grantee name, table_catalog name, table_schema name, table_name name, privilege_type varchar, is_grantable yes_or_no, with_hierarchy yes_or_no",
        "SELECT * FROM information_schema.table_privileges p
         WHERE p.grantor IN (SELECT r.rolname FROM pg_catalog.pg_roles r WHERE pg_has_role(r.oid, 'USAGE'))
            OR p.grantee IN (SELECT r.rolname FROM pg_catalog.pg_roles r WHERE pg_has_role(r.oid, 'USAGE'))",
    ),
];

/// Whether the acting role owns a table, or may do something with it or with one of its columns.
pub(super) fn is_accessible(run: &Run<'_, '_>, table: &TableDef) -> bool {
    is_owned_or_granted(run, table, Kind::Relation.all())
}

/// Whether the acting role owns a table, or may do more than read it or one of its columns.
pub(super) fn is_changeable(run: &Run<'_, '_>, table: &TableDef) -> bool {
    is_owned_or_granted(run, table, Kind::Relation.all() & !Privileges::SELECT)
}

/// Whether the acting role owns a table, or has one of these privileges on it or on one of its columns.
fn is_owned_or_granted(run: &Run<'_, '_>, table: &TableDef, any_of: Privileges) -> bool {
    let (catalog, role) = (run.catalog.catalog(), run.state.acting_role().oid);
    Subject::find(catalog, table.oid)
        .is_some_and(|subject| subject.is_owned_by(catalog, role) || subject.has_any_column(catalog, role, any_of))
}

/// Whether the acting role owns a schema, or may look into it or create in it. All roles may look into those of the system.
pub(super) fn is_schema_usable(run: &Run<'_, '_>, oid: Oid) -> bool {
    let (catalog, role) = (run.catalog.catalog(), run.state.acting_role().oid);
    Subject::find(catalog, oid).is_none_or(|subject| {
        let wanted = Privileges::USAGE | Privileges::CREATE;
        subject.is_owned_by(catalog, role) || !(subject.privileges_of(catalog, role) & wanted).is_empty()
    })
}

/// Whether the acting role owns a table, or may do something with its column at `place`.
pub(super) fn column_is_accessible(run: &Run<'_, '_>, table: &TableDef, place: usize) -> bool {
    let role = run.state.acting_role();
    let catalog = run.catalog.catalog();
    role.is_superuser
        || Subject::find(catalog, table.oid).is_some_and(|subject| {
            subject.is_owned_by(catalog, role.oid)
                || !subject.column_privileges_of(catalog, role.oid, place as i32 + 1).is_empty()
        })
}

/// Whether the acting role owns an object, or has this privilege on it.
pub(super) fn is_usable(run: &Run<'_, '_>, oid: Oid, privilege: Privileges) -> bool {
    let (catalog, role) = (run.catalog.catalog(), run.state.acting_role().oid);
    Subject::find(catalog, oid).is_some_and(|subject| {
        subject.is_owned_by(catalog, role) || subject.privileges_of(catalog, role).contains(privilege)
    })
}

/// Whether the acting role owns an object.
pub(super) fn is_owned(run: &Run<'_, '_>, oid: Oid) -> bool {
    let (catalog, role) = (run.catalog.catalog(), run.state.acting_role().oid);
    Subject::find(catalog, oid).is_some_and(|subject| subject.is_owned_by(catalog, role))
}

/// One privilege: grantor, grantee, the privilege's place among all, and whether it may be granted on.
type Granted = (Oid, Oid, usize, bool);

/// The privileges of some items that concern the acting role.
fn granted(run: &Run<'_, '_>, owner: Oid, items: &[AclItem], among: Privileges) -> Vec<Granted> {
    let catalog = run.catalog.catalog();
    let role = run.state.acting_role();
    let roles = inherited_roles(catalog, role.oid);
    let concerns = |other: Oid| role.is_superuser || roles.contains(&other);
    let mut all = Vec::new();
    for item in items {
        if !concerns(item.grantor) && !concerns(item.grantee) && item.grantee != Oid::INVALID {
            continue;
        }
        for (place, (_, _, privilege)) in ALL.iter().enumerate() {
            if (item.privileges & among).contains(*privilege) {
                let is_owners = item.grantee != Oid::INVALID && acts_as(catalog, item.grantee, owner);
                all.push((item.grantor, item.grantee, place, is_owners || item.grantable.contains(*privilege)));
            }
        }
    }
    all
}

/// Whether a role has what the owner has.
fn acts_as(catalog: &Catalog, role: Oid, owner: Oid) -> bool {
    catalog.role(role).is_some_and(|role| role.superuser) || inherited_roles(catalog, role).contains(&owner)
}

fn grantee_name(catalog: &Catalog, grantee: Oid) -> String {
    if grantee == Oid::INVALID { "PUBLIC".to_owned() } else { role_name(catalog, grantee) }
}

/// The tables and views there are, as grantees know them, and their schemas' names.
fn subjects(run: &Run<'_, '_>) -> Vec<(Arc<TableDef>, Subject, String)> {
    let catalog = run.catalog.catalog();
    let shown = tables(catalog).into_iter().filter(|table| table.kind != RelationKind::MaterializedView);
    let subjects = shown.filter_map(|table| {
        let subject = Subject::find(catalog, table.oid)?;
        let schema = run.catalog.schema_name(table.schema);
        Some((table, subject, schema))
    });
    subjects.collect()
}

/// `column_privileges`: what is granted on a table counts for each of its columns.
pub fn column_privileges(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = run.catalog.catalog();
    let database = run.state.database_name();
    let mut rows = Vec::new();
    for (table, subject, schema) in subjects(run) {
        let of_table = granted(run, table.owner, &subject.acl(catalog).0, COLUMN_PRIVILEGES);
        let lists = ColumnAcls::stored(catalog, table.oid);
        for (column, number) in table.columns.iter().zip(1..).filter(|(column, _)| !column.dropped) {
            let mut all: BTreeSet<Granted> = of_table.iter().copied().collect();
            if let Some(acl) = lists.0.get(&number) {
                all.extend(granted(run, table.owner, &acl.0, COLUMN_PRIVILEGES));
            }
            for (grantor, grantee, place, is_grantable) in all {
                rows.push(row![
                    role_name(catalog, grantor),
                    grantee_name(catalog, grantee),
                    database,
                    schema.as_str(),
                    table.name.as_str(),
                    column.name.as_str(),
                    ALL[place].0,
                    yes_or_no(is_grantable),
                ]);
            }
        }
    }
    Ok(rows)
}

/// `table_privileges`
pub fn table_privileges(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = run.catalog.catalog();
    let database = run.state.database_name();
    let mut rows = Vec::new();
    for (table, subject, schema) in subjects(run) {
        for (grantor, grantee, place, is_grantable) in
            granted(run, table.owner, &subject.acl(catalog).0, Kind::Relation.all())
        {
            rows.push(row![
                role_name(catalog, grantor),
                grantee_name(catalog, grantee),
                database,
                schema.as_str(),
                table.name.as_str(),
                ALL[place].0,
                yes_or_no(is_grantable),
                yes_or_no(ALL[place].2 == Privileges::SELECT),
            ]);
        }
    }
    Ok(rows)
}

/// `routine_privileges`, of functions that users made.
pub fn routine_privileges(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = run.catalog.catalog();
    let database = run.state.database_name();
    let mut rows = Vec::new();
    for function in catalog.functions() {
        let Some(subject) = Subject::find(catalog, function.oid) else { continue };
        let schema = run.catalog.schema_name(function.schema);
        for (grantor, grantee, place, is_grantable) in
            granted(run, function.owner, &subject.acl(catalog).0, Privileges::EXECUTE)
        {
            rows.push(row![
                role_name(catalog, grantor),
                grantee_name(catalog, grantee),
                database,
                schema.as_str(),
                format!("{}_{}", function.name, function.oid),
                database,
                schema.as_str(),
                function.name.as_str(),
                ALL[place].0,
                yes_or_no(is_grantable),
            ]);
        }
    }
    Ok(rows)
}

/// `usage_privileges`, on domains and sequences.
pub fn usage_privileges(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = run.catalog.catalog();
    let database = run.state.database_name();
    let mut rows = Vec::new();
    let mut add = |oid: Oid, schema: Oid, name: &str, owner: Oid, kind: &str| {
        let Some(subject) = Subject::find(catalog, oid) else { return };
        for (grantor, grantee, place, is_grantable) in granted(run, owner, &subject.acl(catalog).0, Privileges::USAGE) {
            rows.push(row![
                role_name(catalog, grantor),
                grantee_name(catalog, grantee),
                database,
                run.catalog.schema_name(schema),
                name,
                kind,
                ALL[place].0,
                yes_or_no(is_grantable),
            ]);
        }
    };
    for def in catalog.customs(class::TYPE) {
        let described = plan::user_types::described(&run.catalog, def.oid);
        if described.is_some_and(|found| matches!(found.user_type.kind, UserTypeKind::Domain(_))) {
            add(def.oid, def.schema, &def.name, def.owner, "DOMAIN");
        }
    }
    // Nobody but the owner has anything of a sequence until something is granted.
    for sequence in catalog.sequences().filter(|sequence| stored(catalog, sequence.oid).is_some()) {
        add(sequence.oid, sequence.schema, &sequence.name, sequence.owner, "SEQUENCE");
    }
    Ok(rows)
}
