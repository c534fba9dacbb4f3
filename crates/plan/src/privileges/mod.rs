//! Privileges: what a role may do with an object.
//!
//! An object that nobody has granted anything on has no list of its own: its owner may do everything, and everybody what
//! PostgreSQL lets everybody do with its kind (run functions, use types, connect, look into `public`). The first GRANT or
//! REVOKE writes that down, changed, as a custom object named by the object's number; dropping the object drops it too.
//!
//! Superusers are asked nothing. A role has what it was granted itself, what everybody was granted, and what the roles were
//! granted that it is a member of, as long as those on the way inherit.

mod acting_role;
mod columns;
mod system;

use std::ops::{BitAnd, BitOr, Not};

use base::{Error, Oid, Result, sqlstate};
use schema::catalog::{
    BOOTSTRAP_ROLE, Catalog, CustomDef, DATABASE_OWNER_ROLE, INFORMATION_SCHEMA, Object, PG_CATALOG_SCHEMA,
    PUBLIC_SCHEMA, READ_ALL_DATA_ROLE, RelationKind, RoleDef, WRITE_ALL_DATA_ROLE, class,
};
use serde::{Deserialize, Serialize};

pub use acting_role::ActingRole;
pub use columns::{COLUMN_PRIVILEGES, ColumnAcls, ColumnsUsed, readable_columns};
pub use system::{CLOSED_TABLES, is_closed};

/// Lists that objects will have when they are made.
const DEFAULT_ACL_CLASS: Oid = Oid(826);

/// A set of privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Privileges(u16);

/// Each privilege: its word, its letter, itself. In the order that lists show them in.
pub const ALL: [(&str, char, Privileges); 12] = [
    ("INSERT", 'a', Privileges::INSERT),
    ("SELECT", 'r', Privileges::SELECT),
    ("UPDATE", 'w', Privileges::UPDATE),
    ("DELETE", 'd', Privileges::DELETE),
    ("TRUNCATE", 'D', Privileges::TRUNCATE),
    ("REFERENCES", 'x', Privileges::REFERENCES),
    ("TRIGGER", 't', Privileges::TRIGGER),
    ("EXECUTE", 'X', Privileges::EXECUTE),
    ("USAGE", 'U', Privileges::USAGE),
    ("CREATE", 'C', Privileges::CREATE),
    ("TEMPORARY", 'T', Privileges::TEMPORARY),
    ("CONNECT", 'c', Privileges::CONNECT),
];

#[expect(missing_docs, reason = "they are named as in SQL")]
impl Privileges {
    pub const NONE: Privileges = Privileges(0);
    pub const INSERT: Privileges = Privileges(1);
    pub const SELECT: Privileges = Privileges(1 << 1);
    pub const UPDATE: Privileges = Privileges(1 << 2);
    pub const DELETE: Privileges = Privileges(1 << 3);
    pub const TRUNCATE: Privileges = Privileges(1 << 4);
    pub const REFERENCES: Privileges = Privileges(1 << 5);
    pub const TRIGGER: Privileges = Privileges(1 << 6);
    pub const EXECUTE: Privileges = Privileges(1 << 7);
    pub const USAGE: Privileges = Privileges(1 << 8);
    pub const CREATE: Privileges = Privileges(1 << 9);
    pub const TEMPORARY: Privileges = Privileges(1 << 10);
    pub const CONNECT: Privileges = Privileges(1 << 11);

    /// The privilege that this word, in any case, is for.
    pub fn named(word: &str) -> Option<Privileges> {
        let word = if word.eq_ignore_ascii_case("temp") { "temporary" } else { word };
        ALL.iter().find(|(name, ..)| name.eq_ignore_ascii_case(word)).map(|(.., privilege)| *privilege)
    }

    /// Whether there is none in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many there are in it.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether all of `others` are in it.
    pub fn contains(self, others: Privileges) -> bool {
        self & others == others
    }
}

impl BitOr for Privileges {
    type Output = Privileges;
    fn bitor(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }
}

impl BitAnd for Privileges {
    type Output = Privileges;
    fn bitand(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }
}

impl Not for Privileges {
    type Output = Privileges;
    fn not(self) -> Privileges {
        Privileges(!self.0)
    }
}

/// Kinds of objects that privileges are granted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Tables and views.
    Relation,
    /// Sequences.
    Sequence,
    /// Schemas.
    Schema,
    /// Functions and procedures.
    Function,
    /// Types and domains.
    Type,
    /// The database.
    Database,
    /// Languages.
    Language,
}

impl Kind {
    /// All that can be granted.
    pub fn all(self) -> Privileges {
        match self {
            Kind::Relation => {
                Privileges::INSERT
                    | Privileges::SELECT
                    | Privileges::UPDATE
                    | Privileges::DELETE
                    | Privileges::TRUNCATE
                    | Privileges::REFERENCES
                    | Privileges::TRIGGER
            }
            Kind::Sequence => Privileges::SELECT | Privileges::UPDATE | Privileges::USAGE,
            Kind::Schema => Privileges::USAGE | Privileges::CREATE,
            Kind::Function => Privileges::EXECUTE,
            Kind::Type | Kind::Language => Privileges::USAGE,
            Kind::Database => Privileges::CREATE | Privileges::TEMPORARY | Privileges::CONNECT,
        }
    }

    /// The privileges that everybody has as long as nothing was granted or revoked.
    fn everybodys(self) -> Privileges {
        match self {
            Kind::Relation | Kind::Sequence | Kind::Schema => Privileges::NONE,
            Kind::Function => Privileges::EXECUTE,
            Kind::Type | Kind::Language => Privileges::USAGE,
            Kind::Database => Privileges::TEMPORARY | Privileges::CONNECT,
        }
    }
}

/// The privileges that one role has from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AclItem {
    /// The role that has the privileges; [`Oid::INVALID`] for everybody.
    pub grantee: Oid,
    /// The role that granted the privileges.
    pub grantor: Oid,
    /// The privileges.
    pub privileges: Privileges,
    /// Those of the privileges that the grantee may grant to others.
    pub grantable: Privileges,
}

/// All that was granted on an object.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Acl(pub Vec<AclItem>);

/// An object, with its name in messages.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its number.
    pub oid: Oid,
    /// Its kind.
    pub kind: Kind,
    /// Its owner.
    pub owner: Oid,
    /// `table t`
    pub described: String,
}

impl Subject {
    /// The object with this number; none for what has no privileges of its own, such as what the server computes.
    pub fn find(catalog: &Catalog, oid: Oid) -> Option<Subject> {
        if oid == PG_CATALOG_SCHEMA || oid == INFORMATION_SCHEMA {
            return None;
        }
        if let Some(closed) = system::closed(oid) {
            return Some(Subject { oid, kind: closed.kind, owner: BOOTSTRAP_ROLE, described: closed.described });
        }
        let object = catalog.object(oid)?;
        let (kind, word) = match object {
            Object::Table(table) if table.kind == RelationKind::Table => (Kind::Relation, "table"),
            Object::Table(table) if table.kind == RelationKind::View => (Kind::Relation, "view"),
            Object::Table(_) => (Kind::Relation, "materialized view"),
            Object::Sequence(_) => (Kind::Sequence, "sequence"),
            Object::Schema(_) => (Kind::Schema, "schema"),
            Object::Function(function) if function.is_procedure() => (Kind::Function, "procedure"),
            Object::Function(_) => (Kind::Function, "function"),
            Object::Custom(custom) if custom.class == class::TYPE => (Kind::Type, "type"),
            Object::Database(_) => (Kind::Database, "database"),
            _ => return None,
        };
        let described = format!("{word} {}", object.name());
        Some(Subject { oid, kind, owner: object.owner().unwrap_or(BOOTSTRAP_ROLE), described })
    }

    /// The access list of the object: the stored one, or the default if nothing was granted or revoked.
    pub fn acl(&self, catalog: &Catalog) -> Acl {
        stored(catalog, self.oid).unwrap_or_else(|| self.default_acl())
    }

    /// The access list of the object as long as nothing was granted or revoked.
    pub fn default_acl(&self) -> Acl {
        if let Some(closed) = system::closed(self.oid) {
            let item =
                |grantee, privileges| AclItem { grantee, grantor: self.owner, privileges, grantable: Privileges::NONE };
            let roles = closed.roles.iter().map(|role| item(*role, closed.privileges()));
            return Acl(std::iter::once(item(self.owner, self.kind.all())).chain(roles).collect());
        }
        let everybodys = if self.oid == PUBLIC_SCHEMA { Privileges::USAGE } else { self.kind.everybodys() };
        let item =
            |grantee, privileges| AclItem { grantee, grantor: self.owner, privileges, grantable: Privileges::NONE };
        let mut items = Vec::new();
        if !everybodys.is_empty() {
            items.push(item(Oid::INVALID, everybodys));
        }
        items.push(item(self.owner, self.kind.all()));
        if self.oid == PUBLIC_SCHEMA {
            // It is granted when a database is made, instead of being taken for granted.
            items.reverse();
        }
        Acl(items)
    }

    /// The privileges of `role` on the object.
    pub fn privileges_of(&self, catalog: &Catalog, role: Oid) -> Privileges {
        if is_superuser(catalog, role) {
            return self.kind.all();
        }
        let acl = self.acl(catalog);
        let roles = inherited_roles(catalog, role);
        let has = |item: &&AclItem| item.grantee == Oid::INVALID || roles.contains(&item.grantee);
        let granted = acl.0.iter().filter(has).fold(Privileges::NONE, |all, item| all | item.privileges);
        granted | self.predefined(&roles)
    }

    /// The privileges on all objects that the predefined roles among `roles` have.
    fn predefined(&self, roles: &[Oid]) -> Privileges {
        let (reads, writes) = (roles.contains(&READ_ALL_DATA_ROLE), roles.contains(&WRITE_ALL_DATA_ROLE));
        let of = |holds: bool, privileges: Privileges| if holds { privileges } else { Privileges::NONE };
        match self.kind {
            Kind::Relation | Kind::Sequence => {
                let changes = Privileges::INSERT | Privileges::UPDATE | Privileges::DELETE;
                of(reads, Privileges::SELECT) | of(writes, changes)
            }
            Kind::Schema => of(reads || writes, Privileges::USAGE),
            _ => Privileges::NONE,
        }
    }

    /// The privileges on the object that `role` may grant to others: all of them, if `role` has the owner's rights.
    pub fn grantable_by(&self, catalog: &Catalog, role: Oid) -> Privileges {
        if self.is_owned_by(catalog, role) {
            return self.kind.all();
        }
        let roles = inherited_roles(catalog, role);
        let acl = self.acl(catalog);
        let has = |item: &&AclItem| roles.contains(&item.grantee);
        acl.0.iter().filter(has).fold(Privileges::NONE, |all, item| all | item.grantable)
    }

    /// Whether `role` is its owner, a member of its owner, or a superuser.
    pub fn is_owned_by(&self, catalog: &Catalog, role: Oid) -> bool {
        is_superuser(catalog, role) || inherited_roles(catalog, role).contains(&self.owner)
    }

    /// 42501 unless `role` has all of `wanted`.
    ///
    /// # Errors
    /// 42501
    pub fn require(&self, catalog: &Catalog, role: Oid, wanted: Privileges) -> Result<()> {
        if self.privileges_of(catalog, role).contains(wanted) { Ok(()) } else { Err(self.denied()) }
    }

    /// Its name, without the word for its kind.
    pub fn name(&self) -> &str {
        let described = self.described.strip_prefix("materialized ").unwrap_or(&self.described);
        described.split_once(' ').map_or("", |(_, name)| name)
    }

    /// 42501
    pub fn denied(&self) -> Error {
        Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied for {}", self.described))
    }

    /// 42501 for a database that the role may not connect to.
    pub fn connection_denied(&self) -> Error {
        let message = format!("permission denied for database \"{}\"", self.name());
        Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message).detail("User does not have CONNECT privilege.")
    }

    /// 42501 unless `role` owns it.
    ///
    /// # Errors
    /// 42501
    pub fn require_owner(&self, catalog: &Catalog, role: Oid) -> Result<()> {
        if self.is_owned_by(catalog, role) {
            return Ok(());
        }
        let message = format!("must be owner of {}", self.described);
        Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }
}

/// The class of the custom object that holds the list of the object with this number.
fn acl_class(catalog: &Catalog, oid: Oid) -> Oid {
    if catalog.database_def(oid).is_some() { class::SHARED_ACL } else { class::ACL }
}

/// The stored access list of the object with this number.
pub fn stored(catalog: &Catalog, oid: Oid) -> Option<Acl> {
    let def = catalog.custom_by_name(acl_class(catalog, oid), Oid::INVALID, &oid.to_string())?;
    // A list that can't be read gives nobody a privilege.
    Some(serde_json::from_slice(&def.body).unwrap_or_default())
}

/// The custom object that holds the list of the object with this number.
pub fn stored_object(catalog: &Catalog, oid: Oid) -> Option<Oid> {
    catalog.custom_by_name(acl_class(catalog, oid), Oid::INVALID, &oid.to_string()).map(|def| def.oid)
}

/// The descriptor to store the list `acl` of the object `subject` by.
///
/// # Errors
/// XX000 if it can't be encoded.
pub fn to_store(catalog: &Catalog, oid: Oid, subject: Oid, acl: &Acl) -> Result<CustomDef> {
    list(oid, acl_class(catalog, subject), subject.to_string(), acl)
}

/// A custom object that holds a list.
fn list(oid: Oid, class: Oid, name: String, list: &impl Serialize) -> Result<CustomDef> {
    let body = serde_json::to_vec(list)
        .map_err(|error| Error::internal(format!("a list of privileges can't be stored: {error}")))?;
    Ok(CustomDef { oid, class, schema: Oid::INVALID, name, owner: BOOTSTRAP_ROLE, body })
}

/// The key of a list of default privileges. New objects of this kind get the list if this role makes them in this schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultAcl {
    /// The role that makes the objects.
    pub role: Oid,
    /// The schema of the objects; [`Oid::INVALID`] for all schemas.
    pub schema: Oid,
    /// The kind of the objects.
    pub kind: Kind,
}

impl DefaultAcl {
    /// The name of the object that holds the list. A change of the list locks this name.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.role.0, self.schema.0, self.letter())
    }

    /// The kind, as in `pg_default_acl`.
    pub fn letter(&self) -> char {
        match self.kind {
            Kind::Relation => 'r',
            Kind::Sequence => 'S',
            Kind::Type => 'T',
            Kind::Schema => 'n',
            Kind::Function | Kind::Database | Kind::Language => 'f',
        }
    }

    /// As messages name it.
    pub fn described(&self, catalog: &Catalog) -> String {
        let of = match self.kind {
            Kind::Relation => "relations",
            Kind::Sequence => "sequences",
            Kind::Type => "types",
            Kind::Schema => "schemas",
            Kind::Function | Kind::Database | Kind::Language => "functions",
        };
        let quoted = types::reg_types::quote_identifier;
        let role = catalog.role(self.role).map_or_else(|| self.role.to_string(), |role| role.name.clone());
        let mut text = format!("default privileges on new {of} belonging to role {}", quoted(&role));
        if let Some(schema) = catalog.schema(self.schema) {
            text.push_str(&format!(" in schema {}", quoted(&schema.name)));
        }
        text
    }

    /// The descriptor to store `acl` by.
    ///
    /// # Errors
    /// XX000 if it can't be encoded.
    pub fn to_store(&self, oid: Oid, acl: &Acl) -> Result<CustomDef> {
        list(oid, DEFAULT_ACL_CLASS, self.name(), acl)
    }

    fn of_name(name: &str) -> Option<DefaultAcl> {
        let mut parts = name.split('/');
        let (role, schema) = (parts.next()?.parse().ok().map(Oid)?, parts.next()?.parse().ok().map(Oid)?);
        let kind = match parts.next()? {
            "r" => Kind::Relation,
            "S" => Kind::Sequence,
            "T" => Kind::Type,
            "n" => Kind::Schema,
            _ => Kind::Function,
        };
        Some(DefaultAcl { role, schema, kind })
    }
}

/// Whether any objects have other privileges from the beginning than usual.
pub fn has_default_acls(catalog: &Catalog) -> bool {
    catalog.customs(DEFAULT_ACL_CLASS).next().is_some()
}

/// The list that such objects will have, and where it is stored.
pub fn default_acl(catalog: &Catalog, of: &DefaultAcl) -> Option<(Oid, Acl)> {
    let def = catalog.custom_by_name(DEFAULT_ACL_CLASS, Oid::INVALID, &of.name())?;
    Some((def.oid, serde_json::from_slice(&def.body).unwrap_or_default()))
}

/// All of them, with where they are stored; those of roles and schemas that are gone left out.
pub fn default_acls(catalog: &Catalog) -> Vec<(Oid, DefaultAcl, Acl)> {
    let is_there = |of: &DefaultAcl| {
        catalog.role(of.role).is_some() && (of.schema == Oid::INVALID || catalog.schema(of.schema).is_some())
    };
    catalog
        .customs(DEFAULT_ACL_CLASS)
        .filter_map(|def| Some((def.oid, DefaultAcl::of_name(&def.name)?, serde_json::from_slice(&def.body).ok()?)))
        .filter(|(_, of, _)| is_there(of))
        .collect()
}

/// Objects on which `role` has been granted something or has granted something.
pub fn subjects_of_role(catalog: &Catalog, role: Oid) -> Vec<Oid> {
    let mentions = |acl: &Acl| acl.0.iter().any(|item| item.grantee == role || item.grantor == role);
    let lists = catalog.customs(class::ACL).chain(catalog.customs(class::SHARED_ACL));
    let subjects = lists.filter_map(|def| {
        let acl: Acl = serde_json::from_slice(&def.body).ok()?;
        mentions(&acl).then(|| def.name.parse().ok().map(Oid)).flatten()
    });
    subjects.collect()
}

/// As lists are shown: `{postgres=arwdDxt/postgres,=r/postgres}`.
pub fn shown(catalog: &Catalog, acl: &Acl) -> Vec<String> {
    let name = |oid: Oid| match catalog.role(oid) {
        Some(role) => types::reg_types::quote_identifier(&role.name),
        None if oid == Oid::INVALID => String::new(),
        None => oid.to_string(),
    };
    let letters = |item: &AclItem| {
        let mut letters = String::new();
        for (_, letter, privilege) in ALL {
            if item.privileges.contains(privilege) {
                letters.push(letter);
                if item.grantable.contains(privilege) {
                    letters.push('*');
                }
            }
        }
        letters
    };
    acl.0.iter().map(|item| format!("{}={}/{}", name(item.grantee), letters(item), name(item.grantor))).collect()
}

/// Whether `role` may do anything.
pub fn is_superuser(catalog: &Catalog, role: Oid) -> bool {
    catalog.role(role).is_some_and(|role| role.superuser)
}

/// The role that the database belongs to.
pub fn database_owner(catalog: &Catalog) -> Oid {
    catalog.database_def(catalog.database()).map_or(BOOTSTRAP_ROLE, |def| def.owner)
}

/// The roles whose privileges `role` has: itself, and those it inherits from.
pub fn inherited_roles(catalog: &Catalog, role: Oid) -> Vec<Oid> {
    roles_above(catalog, role, |role| role.inherit)
}

/// The roles that `role` is a member of, directly or not, and itself.
fn member_roles(catalog: &Catalog, role: Oid) -> Vec<Oid> {
    roles_above(catalog, role, |_| true)
}

fn roles_above(catalog: &Catalog, role: Oid, passes: impl Fn(&RoleDef) -> bool) -> Vec<Oid> {
    let owner = database_owner(catalog);
    let mut all = vec![role];
    let mut next = 0;
    while let Some(oid) = all.get(next).copied() {
        next += 1;
        let groups = catalog.role(oid).filter(|role| passes(role)).map(|role| role.member_of.as_slice());
        let implied = (oid == owner).then_some(DATABASE_OWNER_ROLE);
        for group in groups.unwrap_or_default().iter().copied().chain(implied) {
            if !all.contains(&group) {
                all.push(group);
            }
        }
    }
    all
}

/// Whether `role` is `group` or, directly or not, a member of it.
pub fn is_member(catalog: &Catalog, role: Oid, group: Oid) -> bool {
    member_roles(catalog, role).contains(&group)
}

/// Whether `role` has by itself what `group` has: as a superuser, as `group`, or as one who inherits from it.
pub fn has_rights_of(catalog: &Catalog, role: Oid, group: Oid) -> bool {
    is_superuser(catalog, role) || inherited_roles(catalog, role).contains(&group)
}

/// Whether `role` may make others members of `group`: as a superuser, or by ADMIN OPTION of its own or of a role it is a member of.
/// No role has it for itself.
pub fn is_admin_of(catalog: &Catalog, role: Oid, group: Oid) -> bool {
    let has_option = |role: Oid| catalog.role(role).is_some_and(|role| role.admin_of.contains(&group));
    is_superuser(catalog, role) || role != group && member_roles(catalog, role).into_iter().any(has_option)
}

/// Stands for the acting role, where a stored text and not the statement names the object: USAGE of its schema is not asked for.
pub const BY_VIEW: Oid = Oid::INVALID;

/// Privileges that a statement needs on one object. They are checked each time the statement runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The table, view, sequence, function.
    pub object: Oid,
    /// The privileges that are needed.
    pub privileges: Privileges,
    /// The role whose privileges count, if it is not the acting role: the owner of the view it is read through. A function
    /// that a view calls is [`BY_VIEW`].
    pub checked_as: Option<Oid>,
    /// The columns of a table for which they are needed.
    pub columns: ColumnsUsed,
    /// The place of the view whose query names it, as a path from view to view; empty if the statement itself names it. Relations are locked in
    /// the order of these paths: PostgreSQL opens views in this order. Each number begins with the part of the query that the view stands in
    /// (FROM, then WITH, then expressions). 0 is the view whose rows are changed, `u32::MAX` a function that is inlined.
    pub within: Vec<u32>,
}

impl Access {
    /// Adds this to the list of a statement's needs. Returns its place there.
    pub fn add_to(self, all: &mut Vec<Access>) -> usize {
        let is_same = |other: &Access| other.object == self.object && other.checked_as == self.checked_as;
        if let Some(place) = all.iter().position(is_same) {
            all[place].privileges = all[place].privileges | self.privileges;
            all[place].columns.add_all(&self.columns);
            if self.within < all[place].within {
                all[place].within = self.within;
            }
            return place;
        }
        all.push(self);
        all.len() - 1
    }
}

/// 42501 unless `role` may do everything in `list`. A session may look into its own temporary schema.
///
/// # Errors
/// 42501
pub fn check(catalog: &Catalog, role: Oid, own_temporary: Option<Oid>, list: &[Access]) -> Result<()> {
    for access in list {
        let role = access.checked_as.filter(|role| *role != BY_VIEW).unwrap_or(role);
        let Some(subject) = Subject::find(catalog, access.object) else { continue };
        if is_superuser(catalog, role) {
            continue;
        }
        require_schema_of(catalog, role, own_temporary, access)?;
        let missing = access.privileges & !subject.privileges_of(catalog, role);
        if !missing.is_empty() && !columns::allowed_by_columns(catalog, role, access, missing) {
            return Err(subject.denied());
        }
    }
    Ok(())
}

/// 42501 without USAGE of the schema that something is in, if the statement itself names it: what a view reads was found when the view
/// was made.
fn require_schema_of(catalog: &Catalog, role: Oid, own_temporary: Option<Oid>, access: &Access) -> Result<()> {
    let named = access.checked_as.is_none().then(|| catalog.object(access.object).and_then(schema_of)).flatten();
    let foreign = named.filter(|schema| Some(*schema) != own_temporary);
    match foreign.and_then(|schema| Subject::find(catalog, schema)) {
        Some(schema) => schema.require(catalog, role, Privileges::USAGE),
        None => Ok(()),
    }
}

/// 42501 unless `role` may look into the schemas in which a definition names objects. Other privileges are checked when the definition
/// is run.
///
/// # Errors
/// 42501
pub fn check_schemas(catalog: &Catalog, role: Oid, own_temporary: Option<Oid>, list: &[Access]) -> Result<()> {
    for access in list {
        let schema = Subject::find(catalog, access.object).filter(|subject| subject.kind == Kind::Schema);
        let is_own = own_temporary == Some(access.object);
        if let Some(schema) = schema.filter(|_| access.checked_as.is_none() && !is_own) {
            schema.require(catalog, role, Privileges::USAGE)?;
        }
        require_schema_of(catalog, role, own_temporary, access)?;
    }
    Ok(())
}

/// The schema that an object is in.
pub fn schema_of(object: &Object) -> Option<Oid> {
    let schema = match object {
        Object::Table(table) => table.schema,
        Object::Sequence(sequence) => sequence.schema,
        Object::Function(function) => function.schema,
        Object::Custom(custom) => custom.schema,
        _ => return None,
    };
    (schema != Oid::INVALID).then_some(schema)
}
