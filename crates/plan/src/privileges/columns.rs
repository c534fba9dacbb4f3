//! Privileges on single columns, and the columns that a statement uses.
//!
//! A privilege on a table holds for each of its columns. A column may have an access list of its own besides. The lists of a table's
//! columns are one custom object of the class [`class::COLUMN`], named by the table's number.
//!
//! Columns go by their numbers as in `pg_attribute`: from 1, with system columns below 0.

use std::collections::BTreeMap;

use base::{Error, Oid, Result, sqlstate};
use schema::catalog::{Catalog, CustomDef, class};
use schema::row::ColumnSet;
use serde::{Deserialize, Serialize};

use super::{Access, Acl, AclItem, Privileges, Subject, inherited_roles};

/// The lowest number of a system column is above this one's negative.
const LOWEST: i32 = 7;

/// The privileges that can be granted on a column.
pub const COLUMN_PRIVILEGES: Privileges =
    Privileges(Privileges::INSERT.0 | Privileges::SELECT.0 | Privileges::UPDATE.0 | Privileges::REFERENCES.0);

/// The lists of a table's columns, by the columns' numbers. A column that nothing was granted on has none.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ColumnAcls(pub BTreeMap<i32, Acl>);

impl ColumnAcls {
    /// The lists stored for a table.
    pub fn stored(catalog: &Catalog, table: Oid) -> ColumnAcls {
        let def = catalog.custom_by_name(class::COLUMN, Oid::INVALID, &table.to_string());
        // Lists that can't be read give nobody a privilege.
        def.and_then(|def| serde_json::from_slice(&def.body).ok()).unwrap_or_default()
    }

    /// The custom object that holds the lists of a table.
    pub fn stored_object(catalog: &Catalog, table: Oid) -> Option<Oid> {
        catalog.custom_by_name(class::COLUMN, Oid::INVALID, &table.to_string()).map(|def| def.oid)
    }

    /// The descriptor to store the lists by.
    ///
    /// # Errors
    /// XX000 if the lists can't be encoded.
    pub fn to_store(&self, oid: Oid, table: Oid) -> Result<CustomDef> {
        super::list(oid, class::COLUMN, table.to_string(), self)
    }

    /// The privileges that a column's own list gives to these roles and to everybody.
    fn given(&self, number: i32, roles: &[Oid]) -> Privileges {
        let Some(acl) = self.0.get(&number) else { return Privileges::NONE };
        let has = |item: &&AclItem| item.grantee == Oid::INVALID || roles.contains(&item.grantee);
        acl.0.iter().filter(has).fold(Privileges::NONE, |all, item| all | item.privileges)
    }

    /// Tables of which `role` has been granted a column, or has granted one; with the columns' numbers.
    pub fn of_role(catalog: &Catalog, role: Oid) -> Vec<(Oid, Vec<i32>)> {
        let mentions = |acl: &Acl| acl.0.iter().any(|item| item.grantee == role || item.grantor == role);
        let tables = catalog.customs(class::COLUMN).filter_map(|def| {
            let lists: ColumnAcls = serde_json::from_slice(&def.body).ok()?;
            let numbers: Vec<i32> =
                lists.0.iter().filter(|(_, acl)| mentions(acl)).map(|(number, _)| *number).collect();
            (!numbers.is_empty()).then(|| Some((def.name.parse().ok().map(Oid)?, numbers))).flatten()
        });
        tables.collect()
    }
}

/// The columns that a statement uses of a table.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ColumnsUsed {
    /// Those it reads.
    selected: ColumnSet,
    /// Those it gives values in new rows.
    inserted: ColumnSet,
    /// Those it gives other values.
    updated: ColumnSet,
}

impl ColumnsUsed {
    fn of(&self, privilege: Privileges) -> Option<&ColumnSet> {
        match privilege {
            Privileges::SELECT => Some(&self.selected),
            Privileges::INSERT => Some(&self.inserted),
            Privileges::UPDATE => Some(&self.updated),
            _ => None,
        }
    }

    /// Notes that a column is used: by its place from 0, or a system column's number.
    pub fn add(&mut self, privilege: Privileges, attribute: i32) {
        let number = if attribute < 0 { attribute } else { attribute + 1 };
        let set = match privilege {
            Privileges::SELECT => &mut self.selected,
            Privileges::INSERT => &mut self.inserted,
            Privileges::UPDATE => &mut self.updated,
            _ => return,
        };
        set.insert((number + LOWEST) as usize);
    }

    /// The places from 0 of the columns used so; system columns left out.
    pub fn places(&self, privilege: Privileges) -> impl Iterator<Item = usize> + '_ {
        let set = self.of(privilege).into_iter().flat_map(ColumnSet::iter);
        set.filter_map(|member| member.checked_sub(LOWEST as usize + 1))
    }

    /// Adds what is used elsewhere.
    pub fn add_all(&mut self, other: &ColumnsUsed) {
        self.selected.insert_all(&other.selected);
        self.inserted.insert_all(&other.inserted);
        self.updated.insert_all(&other.updated);
    }
}

impl Subject {
    /// The privileges of `role` on the column with this number: those on the table, and those that the column's list gives.
    pub fn column_privileges_of(&self, catalog: &Catalog, role: Oid, number: i32) -> Privileges {
        let of_table = self.privileges_of(catalog, role) & COLUMN_PRIVILEGES;
        of_table | ColumnAcls::stored(catalog, self.oid).given(number, &inherited_roles(catalog, role))
    }

    /// The privileges on the column with this number that `role` may grant to others.
    pub fn column_grantable_by(&self, catalog: &Catalog, role: Oid, number: i32) -> Privileges {
        let of_table = self.grantable_by(catalog, role) & COLUMN_PRIVILEGES;
        let lists = ColumnAcls::stored(catalog, self.oid);
        let roles = inherited_roles(catalog, role);
        let items = lists.0.get(&number).into_iter().flat_map(|acl| &acl.0);
        items.filter(|item| roles.contains(&item.grantee)).fold(of_table, |all, item| all | item.grantable)
    }

    /// Whether `role` has one of these privileges on the table or on a column of it.
    pub fn has_any_column(&self, catalog: &Catalog, role: Oid, any_of: Privileges) -> bool {
        if !(self.privileges_of(catalog, role) & any_of).is_empty() {
            return true;
        }
        let roles = inherited_roles(catalog, role);
        let lists = ColumnAcls::stored(catalog, self.oid);
        lists.0.keys().any(|number| *number > 0 && !(lists.given(*number, &roles) & any_of).is_empty())
    }

    /// Whether `role` has `privilege` on the table, or on each of these columns, by their places.
    pub fn has_columns(&self, catalog: &Catalog, role: Oid, privilege: Privileges, places: &[usize]) -> bool {
        if self.privileges_of(catalog, role).contains(privilege) {
            return true;
        }
        let roles = inherited_roles(catalog, role);
        let lists = ColumnAcls::stored(catalog, self.oid);
        !places.is_empty() && places.iter().all(|place| lists.given(*place as i32 + 1, &roles).contains(privilege))
    }

    /// 42501 for a column.
    pub fn column_denied(&self, column: &str) -> Error {
        let message = format!("permission denied for column \"{column}\" of relation \"{}\"", self.name());
        Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message)
    }
}

/// Whether `role` has what it lacks on the table itself on all the columns that the statement uses; on any column, for
/// what the statement does without using one.
pub(super) fn allowed_by_columns(catalog: &Catalog, role: Oid, access: &Access, missing: Privileges) -> bool {
    if !COLUMN_PRIVILEGES.contains(missing) {
        return false;
    }
    let lists = ColumnAcls::stored(catalog, access.object);
    if lists.0.is_empty() {
        return false;
    }
    let roles = inherited_roles(catalog, role);
    let given = |number: i32, privilege| lists.given(number, &roles).contains(privilege);
    [Privileges::SELECT, Privileges::INSERT, Privileges::UPDATE].into_iter().all(|privilege| {
        if !missing.contains(privilege) {
            return true;
        }
        match access.columns.of(privilege) {
            Some(used) if !used.is_empty() => used.iter().all(|member| given(member as i32 - LOWEST, privilege)),
            _ => lists.0.keys().any(|number| *number > 0 && given(*number, privilege)),
        }
    }) && !missing.contains(Privileges::REFERENCES)
}

/// The columns of a table that `role` may read, by their places; none if it may read the table.
pub fn readable_columns(catalog: &Catalog, role: Oid, table: Oid) -> Option<Vec<usize>> {
    let subject = Subject::find(catalog, table)?;
    if subject.privileges_of(catalog, role).contains(Privileges::SELECT) {
        return None;
    }
    let roles = inherited_roles(catalog, role);
    let lists = ColumnAcls::stored(catalog, table);
    let may_read = |number: &&i32| **number > 0 && lists.given(**number, &roles).contains(Privileges::SELECT);
    Some(lists.0.keys().filter(may_read).map(|number| *number as usize - 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_used_keep_system_columns_apart() {
        let mut used = ColumnsUsed::default();
        used.add(Privileges::SELECT, -1);
        used.add(Privileges::SELECT, 0);
        used.add(Privileges::UPDATE, 70);
        assert_eq!(used.places(Privileges::SELECT).collect::<Vec<_>>(), [0]);
        assert_eq!(used.places(Privileges::UPDATE).collect::<Vec<_>>(), [70]);
        assert!(used.of(Privileges::SELECT).is_some_and(|set| set.iter().count() == 2));
        assert!(used.of(Privileges::DELETE).is_none());
    }

    #[test]
    fn a_column_gives_what_its_list_says_to_members_and_everybody() {
        let item = |grantee, privileges| AclItem {
            grantee: Oid(grantee),
            grantor: Oid(10),
            privileges,
            grantable: Privileges::NONE,
        };
        let acl = Acl(vec![item(0, Privileges::SELECT), item(77, Privileges::UPDATE)]);
        let lists = ColumnAcls(BTreeMap::from([(2, acl)]));
        assert_eq!(lists.given(2, &[Oid(5)]), Privileges::SELECT);
        assert_eq!(lists.given(2, &[Oid(5), Oid(77)]), Privileges::SELECT | Privileges::UPDATE);
        assert_eq!(lists.given(1, &[Oid(77)]), Privileges::NONE);
    }
}
