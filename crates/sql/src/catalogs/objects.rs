//! Schemas, the database, roles, functions, languages, comments.

use std::sync::Arc;

use base::{Oid, Result};
use plan::privileges::{self, Acl, Subject};
use plan::user_types;
use schema::catalog::{
    ArgumentMode, BOOTSTRAP_ROLE, Catalog, DATABASE_OWNER_ROLE, DatabaseDef, FunctionDef, INFORMATION_SCHEMA, Object,
    PG_CATALOG_SCHEMA, PUBLIC_SCHEMA, Parallel, RoleDef, Volatility, class,
};
use types::{Implementation, Value, aggregates, functions, oids, type_functions};

use super::Equal;
use super::rows::{NULL, TABLESPACE_OID, Wanted, letter, oid_vector, row, text_array, wanted_name, wanted_oid, xid};
use crate::state::session_of;
use executor::Run;

/// Schemas by number, those among them that have no descriptor.
pub fn schemas(catalog: &Catalog) -> Vec<(Oid, String, Oid)> {
    let mut all: Vec<(Oid, String, Oid)> =
        catalog.schemas().map(|schema| (schema.oid, schema.name.clone(), schema.owner)).collect();
    for (oid, name) in [(PG_CATALOG_SCHEMA, "pg_catalog"), (INFORMATION_SCHEMA, "information_schema")] {
        if !all.iter().any(|(known, ..)| *known == oid) {
            all.push((oid, name.to_owned(), BOOTSTRAP_ROLE));
        }
    }
    all.sort();
    all
}

/// `pg_namespace`
pub fn pg_namespace(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let (wanted, name) = (wanted_oid(equal, 0), wanted_name(equal, 1));
    let rows = schemas(run.catalog.catalog())
        .into_iter()
        .filter(|schema| wanted.matches(&schema.0) && name.matches(&schema.1.as_str()))
        .map(|(oid, name, owner)| row![oid, name, owner, schema_acl(run.catalog.catalog(), oid)]);
    Ok(rows.collect())
}

/// The privileges on a schema. `public` shows its default privileges if none are stored for it.
fn schema_acl(catalog: &Catalog, oid: Oid) -> Value {
    match acl(catalog, oid) {
        Value::Null if oid == PUBLIC_SCHEMA => {
            Subject::find(catalog, oid).map_or(NULL, |public| acl_items(catalog, &public.default_acl()))
        }
        acl => acl,
    }
}

/// `pg_init_privs`: what a new database grants on its own objects, as far as it differs from what holds for their kind.
pub fn pg_init_privs(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = run.catalog.catalog();
    let public = Subject::find(catalog, PUBLIC_SCHEMA).filter(|_| catalog.role(DATABASE_OWNER_ROLE).is_some());
    let initial = public.map(|public| Subject { owner: DATABASE_OWNER_ROLE, ..public }.default_acl());
    let row = |acl| row![PUBLIC_SCHEMA, class::SCHEMA, 0i32, letter('i'), acl_items(catalog, &acl)];
    Ok(initial.map(row).into_iter().collect())
}

/// `pg_database`
pub fn pg_database(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let oldest = session_of(run).instance.database().status().oldest_xid();
    let catalog = run.catalog.catalog();
    let row = |def: &Arc<DatabaseDef>| {
        row![
            def.oid,
            def.name.as_str(),
            def.owner,
            6i32,
            letter('c'),
            def.is_template,
            def.allows_connections,
            def.connection_limit,
            xid(oldest.0),
            xid(1),
            TABLESPACE_OID,
            "C.UTF-8",
            "C.UTF-8",
            NULL,
            NULL,
            acl(catalog, def.oid),
        ]
    };
    let mut databases: Vec<&Arc<DatabaseDef>> = catalog.databases().collect();
    databases.sort_by_key(|def| def.oid);
    Ok(databases.into_iter().map(row).collect())
}

/// The privileges stored for the object with this number; NULL where none are stored.
pub(super) fn acl(catalog: &Catalog, oid: Oid) -> Value {
    privileges::stored(catalog, oid).map_or(NULL, |acl| acl_items(catalog, &acl))
}

/// A list as catalogs show it.
pub(super) fn acl_items(catalog: &Catalog, acl: &Acl) -> Value {
    Value::array(oids::ACLITEM, privileges::shown(catalog, acl).iter().map(Value::text).collect())
}

/// All roles by number.
pub(super) fn roles(catalog: &Catalog) -> Vec<Arc<RoleDef>> {
    let mut all: Vec<Arc<RoleDef>> = catalog.roles().cloned().collect();
    all.sort_by_key(|role| role.oid);
    all
}

/// A `timestamptz`, if there is one.
pub(super) fn timestamp(micros: Option<i64>) -> Value {
    micros.map_or(NULL, Value::TimestampTz)
}

/// `pg_authid`
pub fn pg_authid(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    // Verifiers of passwords are for superusers only.
    let row = |role: &Arc<RoleDef>| {
        row![
            role.oid,
            role.name.as_str(),
            role.superuser,
            role.inherit,
            role.create_role,
            role.create_database,
            role.login,
            role.replication,
            bypasses_row_security(role),
            role.connection_limit,
            role.password.as_deref(),
            timestamp(role.valid_until),
        ]
    };
    Ok(roles(run.catalog.catalog()).iter().map(row).collect())
}

/// Whether a role has BYPASSRLS; the first has, also where older code has written its description.
pub(super) fn bypasses_row_security(role: &RoleDef) -> bool {
    role.bypass_row_security || role.oid == BOOTSTRAP_ROLE
}

/// Settings that are kept for later.
pub(super) fn settings_array(settings: &[(String, String)]) -> Value {
    text_array(settings.iter().map(|(name, value)| format!("{name}={value}")))
}

/// `pg_roles`
pub fn pg_roles(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let row = |role: &Arc<RoleDef>| {
        row![
            role.name.as_str(),
            role.superuser,
            role.inherit,
            role.create_role,
            role.create_database,
            role.login,
            role.replication,
            role.connection_limit,
            "********",
            timestamp(role.valid_until),
            bypasses_row_security(role),
            settings_array(&role.settings),
            role.oid,
        ]
    };
    Ok(roles(run.catalog.catalog()).iter().map(row).collect())
}

/// `pg_user`
pub fn pg_user(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    Ok(super::access::users(run.catalog.catalog(), |_| Value::text("********")))
}

/// `pg_auth_members`
pub fn pg_auth_members(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let roles = roles(run.catalog.catalog());
    let rows = roles.iter().flat_map(|role| {
        let row = |group: &Oid| row![*group, role.oid, BOOTSTRAP_ROLE, role.admin_of.contains(group)];
        role.member_of.iter().map(row)
    });
    Ok(rows.collect())
}

/// The languages of functions: number, name, procedural.
const LANGUAGES: &[(u32, &str, bool)] =
    &[(12, "internal", false), (13, "c", false), (14, "sql", false), (13563, "plpgsql", true)];

/// The number of a language.
pub fn language_oid(name: &str) -> Oid {
    LANGUAGES.iter().find(|language| language.1 == name).map_or(Oid::INVALID, |language| Oid(language.0))
}

/// `pg_language`
pub fn pg_language(_: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let row = |(oid, name, procedural): &(u32, &str, bool)| {
        let none = Oid::INVALID;
        // A procedural language needs the number of a call handler: without one, psql takes it for an internal language.
        let handler = if *procedural { Oid(13560) } else { none };
        row![
            Oid(*oid),
            *name,
            BOOTSTRAP_ROLE,
            *procedural,
            matches!(*name, "sql" | "plpgsql"),
            handler,
            none,
            none,
            NULL
        ]
    };
    Ok(LANGUAGES.iter().map(row).collect())
}

/// The columns whose values differ between rows of `pg_proc`.
struct FunctionRow<'r> {
    oid: Oid,
    name: &'r str,
    schema: Oid,
    owner: Oid,
    language: Oid,
    cost: f32,
    rows: f32,
    leakproof: bool,
    parallel: char,
    variadic: Oid,
    kind: char,
    security_definer: bool,
    strict: bool,
    returns_set: bool,
    volatility: char,
    defaults: usize,
    result: Oid,
    inputs: Vec<Oid>,
    /// Type, mode and name of every argument, if some are for output.
    all: Option<Vec<(Oid, char, String)>>,
    names: Option<Vec<String>>,
    source: &'r str,
    settings: Value,
    acl: Value,
}

impl<'r> FunctionRow<'r> {
    fn new(oid: Oid, name: &'r str, result: Oid, inputs: Vec<Oid>) -> FunctionRow<'r> {
        FunctionRow {
            oid,
            name,
            schema: PG_CATALOG_SCHEMA,
            owner: BOOTSTRAP_ROLE,
            language: Oid(12),
            cost: 1.0,
            rows: 0.0,
            leakproof: types::is_leakproof(oid),
            parallel: 's',
            variadic: Oid::INVALID,
            kind: 'f',
            security_definer: false,
            strict: true,
            returns_set: false,
            volatility: 'i',
            defaults: 0,
            result,
            inputs,
            all: None,
            names: None,
            source: name,
            settings: NULL,
            acl: NULL,
        }
    }

    fn values(self) -> Vec<Value> {
        let (all_types, modes, all_names) = match self.all {
            Some(all) => (
                Value::array(oids::OID, all.iter().map(|(oid, ..)| Value::oid(*oid)).collect()),
                Value::array(oids::CHAR, all.iter().map(|(_, mode, _)| letter(*mode)).collect()),
                Some(all.into_iter().map(|(.., name)| name).collect::<Vec<_>>()),
            ),
            None => (NULL, NULL, self.names),
        };
        let names = all_names.filter(|names| names.iter().any(|name| !name.is_empty()));
        row![
            self.oid,
            self.name,
            self.schema,
            self.owner,
            self.language,
            Value::Float4(self.cost),
            Value::Float4(self.rows),
            self.variadic,
            Oid::INVALID,
            letter(self.kind),
            self.security_definer,
            self.leakproof,
            self.strict,
            self.returns_set,
            letter(self.volatility),
            letter(self.parallel),
            self.inputs.len() as i16,
            self.defaults as i16,
            self.result,
            oid_vector(self.inputs),
            all_types,
            modes,
            names.map_or(NULL, text_array),
            NULL,
            NULL,
            self.source,
            NULL,
            NULL,
            self.settings,
            self.acl,
        ]
    }
}

fn variadic_element(run: &Run<'_, '_>, array: Option<&Oid>) -> Oid {
    match array {
        Some(&oids::ANY) => oids::ANY,
        Some(&oids::ANYARRAY) => oids::ANYELEMENT,
        Some(&oids::ANYCOMPATIBLEARRAY) => oids::ANYCOMPATIBLE,
        Some(array) => types::element_type(&run.catalog, *array).unwrap_or(Oid::INVALID),
        None => Oid::INVALID,
    }
}

fn builtin_function<'r>(run: &Run<'_, '_>, def: &'static types::FunctionDef) -> FunctionRow<'r> {
    let own_names: Vec<String> = def.argument_names.iter().map(|name| (*name).to_owned()).collect();
    let all = (def.columns.len() > 1).then(|| {
        let name = |place: usize| own_names.get(place).cloned().unwrap_or_default();
        let inputs = def.arguments.iter().enumerate().map(|(place, oid)| (*oid, 'i', name(place)));
        let outputs = def.columns.iter().map(|(name, oid)| (*oid, 'o', (*name).to_owned()));
        inputs.chain(outputs).collect()
    });
    FunctionRow {
        rows: if def.returns_set { 1000.0 } else { 0.0 },
        variadic: if def.variadic { variadic_element(run, def.arguments.last()) } else { Oid::INVALID },
        kind: if matches!(def.implementation, Implementation::Window(_)) { 'w' } else { 'f' },
        strict: def.strict,
        returns_set: def.returns_set,
        volatility: match def.volatility {
            types::Volatility::Immutable => 'i',
            types::Volatility::Stable => 's',
            types::Volatility::Volatile => 'v',
        },
        defaults: def.defaults.len(),
        all,
        names: (!own_names.is_empty()).then_some(own_names),
        ..FunctionRow::new(def.oid, def.name, def.result, def.arguments.to_vec())
    }
}

fn user_function<'r>(run: &Run<'_, '_>, def: &'r FunctionDef) -> FunctionRow<'r> {
    let mode = |mode: ArgumentMode| match mode {
        ArgumentMode::In => 'i',
        ArgumentMode::Out => 'o',
        ArgumentMode::InOut => 'b',
        ArgumentMode::Variadic => 'v',
        ArgumentMode::Table => 't',
    };
    let inputs: Vec<Oid> =
        def.arguments.iter().filter(|argument| argument.mode.is_input()).map(|argument| argument.type_oid).collect();
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    let has_outputs = def.arguments.iter().any(|argument| argument.mode != ArgumentMode::In);
    let all = has_outputs.then(|| {
        def.arguments.iter().map(|argument| (argument.type_oid, mode(argument.mode), name(&argument.name))).collect()
    });
    FunctionRow {
        schema: def.schema,
        owner: def.owner,
        language: language_oid(&def.language),
        cost: def.cost.unwrap_or(100.0),
        rows: def.rows.unwrap_or(if def.returns_set { 1000.0 } else { 0.0 }),
        leakproof: def.leakproof,
        parallel: match def.parallel {
            Parallel::Unsafe => 'u',
            Parallel::Restricted => 'r',
            Parallel::Safe => 's',
        },
        variadic: if def.is_variadic() { variadic_element(run, inputs.last()) } else { Oid::INVALID },
        kind: if def.is_procedure() { 'p' } else { 'f' },
        security_definer: def.security_definer,
        strict: def.strict,
        returns_set: def.returns_set,
        volatility: match def.volatility {
            Volatility::Immutable => 'i',
            Volatility::Stable => 's',
            Volatility::Volatile => 'v',
        },
        defaults: def.arguments.iter().filter(|argument| argument.default.is_some()).count(),
        all,
        names: Some(def.arguments.iter().map(|argument| name(&argument.name)).collect()),
        source: &def.body,
        settings: text_array(def.settings.iter().map(|(name, value)| format!("{name}={value}"))),
        acl: acl(run.catalog.catalog(), def.oid),
        ..FunctionRow::new(def.oid, &def.name, def.returns, inputs)
    }
}

/// `pg_proc`
pub fn pg_proc(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let (wanted, name) = (wanted_oid(equal, 0), wanted_name(equal, 1));
    if matches!(wanted, Wanted::Nothing(_)) {
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    for def in functions().filter(|def| wanted.matches(&def.oid) && name.matches(&def.name)) {
        rows.push(builtin_function(run, def).values());
    }
    for def in aggregates().filter(|def| wanted.matches(&def.oid) && name.matches(&def.name)) {
        let row = FunctionRow {
            kind: 'a',
            strict: false,
            variadic: if def.variadic { variadic_element(run, def.arguments.last()) } else { Oid::INVALID },
            source: "aggregate_dummy",
            ..FunctionRow::new(def.oid, def.name, def.result, def.arguments.to_vec())
        };
        rows.push(row.values());
    }
    for (function, oid) in type_functions::all().filter(|(own, oid)| wanted.matches(oid) && name.matches(own)) {
        let volatility = if type_functions::is_stable(function) { 's' } else { 'i' };
        rows.push(FunctionRow { volatility, ..FunctionRow::new(oid, function, Oid::INVALID, Vec::new()) }.values());
    }
    let catalog = Arc::clone(run.catalog.catalog());
    let mut own: Vec<&Arc<FunctionDef>> =
        catalog.functions().filter(|def| wanted.matches(&def.oid) && name.matches(&def.name.as_str())).collect();
    own.sort_by_key(|def| def.oid);
    rows.extend(own.into_iter().map(|def| user_function(run, def).values()));
    Ok(rows)
}

/// Every comment: object, class, column number, text.
pub fn comments(catalog: &Catalog) -> Vec<(Oid, Oid, i32, String)> {
    let mut all = vec![
        (language_oid("plpgsql"), Oid(2612), 0, "PL/pgSQL procedural language".to_owned()),
        (super::builtin::PLPGSQL_EXTENSION, Oid(3079), 0, "PL/pgSQL procedural language".to_owned()),
    ];
    let mut add = |oid: Oid, class: Oid, column: usize, comment: Option<&str>| {
        all.extend(comment.map(|comment| (oid, class, column as i32, comment.to_owned())));
    };
    for object in catalog.objects() {
        match object {
            Object::Schema(def) => add(def.oid, class::SCHEMA, 0, def.comment.as_deref()),
            Object::Database(def) => add(def.oid, class::DATABASE, 0, def.comment.as_deref()),
            Object::Table(def) => {
                add(def.oid, class::RELATION, 0, def.comment.as_deref());
                for (place, column) in def.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
                    add(def.oid, class::RELATION, place + 1, column.comment.as_deref());
                }
                for trigger in &def.triggers {
                    add(trigger.oid, class::TRIGGER, 0, trigger.comment.as_deref());
                    let as_constraint = def.as_constraint(trigger.oid);
                    let comment = as_constraint.and_then(|constraint| constraint.comment.as_deref());
                    add(trigger.oid, class::CONSTRAINT, 0, comment);
                }
                for constraint in &def.constraints {
                    add(constraint.oid, class::CONSTRAINT, 0, constraint.comment.as_deref());
                }
            }
            Object::Index(def) => add(def.oid, class::RELATION, 0, def.comment.as_deref()),
            Object::Sequence(def) => add(def.oid, class::RELATION, 0, def.comment.as_deref()),
            Object::Function(def) => add(def.oid, class::FUNCTION, 0, def.comment.as_deref()),
            Object::Role(def) => add(def.oid, class::ROLE, 0, def.comment.as_deref()),
            Object::Custom(def) => {
                if def.class == class::TYPE
                    && let Ok(body) = user_types::TypeBody::decode(&def.body)
                {
                    add(def.oid, class::TYPE, 0, body.comment());
                    if let user_types::TypeBody::Composite { field_comments, .. } = &body {
                        for (place, comment) in field_comments.iter().enumerate() {
                            add(def.oid, class::RELATION, place + 1, comment.as_deref());
                        }
                    }
                }
            }
        }
    }
    all.sort();
    all
}

/// `pg_description`
pub fn pg_description(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_oid(equal, 0);
    let rows = comments(run.catalog.catalog())
        .into_iter()
        .filter(|(oid, class, ..)| wanted.matches(oid) && !class::is_shared(*class))
        .map(|(oid, class, column, comment)| row![oid, class, column, comment]);
    Ok(rows.collect())
}

/// `pg_shdescription`
pub fn pg_shdescription(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_oid(equal, 0);
    let rows = comments(run.catalog.catalog())
        .into_iter()
        .filter(|(oid, class, ..)| wanted.matches(oid) && class::is_shared(*class))
        .map(|(oid, class, _, comment)| row![oid, class, comment]);
    Ok(rows.collect())
}
