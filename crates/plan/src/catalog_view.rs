//! The catalog with a session's search path: what names mean to it.

use std::sync::{Arc, OnceLock};

use base::{Error, Oid, Result, missing, sqlstate};
use schema::catalog::{
    Catalog, CustomDef, FunctionDef, INFORMATION_SCHEMA, Object, PG_CATALOG_SCHEMA, PUBLIC_SCHEMA, Relation,
};
use types::context::{CatalogLookup, RegKind, UserFunction, UserFunctions, UserType};
use types::reg_types::quote_identifier;
use types::{Value, builtin_type, type_functions, type_named};

use super::user_types::{self, composite_fields, composite_named};
use super::{SystemCatalog, VirtualTable};
use crate::privileges::{ActingRole, Privileges, Subject};

/// Callbacks of a view into the floors above it.
#[derive(Clone, Copy)]
pub struct CatalogCallbacks {
    /// The tables that the server computes.
    pub system: fn() -> &'static dyn SystemCatalog,
    /// Passes the checks of a domain on a value where no statement runs: 23502 and 23514.
    pub check_domain: fn(&CatalogView, Oid, &Value) -> Result<()>,
}

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct CatalogView(Arc<View>);

struct View {
    callbacks: CatalogCallbacks,
    catalog: Arc<Catalog>,
    path_text: Arc<str>,
    /// Part of the key under which plans are kept whose names were looked up in this view: see [`CatalogView::plan_path`].
    plan_path: Arc<str>,
    /// Schemas in the order in which names are looked up, `pg_catalog` among them.
    path: Vec<Oid>,
    /// Schemas that the setting names and that exist, without those that are implied.
    explicit_path: Vec<Oid>,
    /// Whose view it is; `None` for a superuser.
    role: Option<Oid>,
    temporary: Option<Oid>,
    is_for_stored_text: bool,
    /// See [`CatalogView::for_stored_text`].
    for_stored_text: OnceLock<CatalogView>,
    /// The session's path, in a view for stored texts.
    session_path: Vec<Oid>,
    /// See [`CatalogView::for_bodies`].
    for_bodies: OnceLock<CatalogView>,
}

impl View {
    fn may_look_into(&self, schema: Oid) -> bool {
        let Some(role) = self.role.filter(|_| self.temporary != Some(schema)) else { return true };
        Subject::find(&self.catalog, schema)
            .is_none_or(|subject| subject.privileges_of(&self.catalog, role).contains(Privileges::USAGE))
    }
}

impl CatalogView {
    /// The catalog as `search_path` shows it to `role`: schemas that it may not look into are passed over.
    pub fn new(
        callbacks: CatalogCallbacks,
        catalog: Arc<Catalog>,
        search_path: Arc<str>,
        plan_path: Arc<str>,
        role: &ActingRole,
        temporary: Option<Oid>,
    ) -> CatalogView {
        let mut view = View {
            callbacks,
            catalog,
            path_text: search_path,
            plan_path,
            path: Vec::new(),
            explicit_path: Vec::new(),
            role: (!role.is_superuser).then_some(role.oid),
            temporary,
            is_for_stored_text: false,
            for_stored_text: OnceLock::new(),
            session_path: Vec::new(),
            for_bodies: OnceLock::new(),
        };
        for name in split_names(&view.path_text) {
            let name = if name == "$user" { &*role.name } else { &name };
            let schema = match name {
                "pg_temp" => temporary,
                name => view.catalog.schema_by_name(name).map(|schema| schema.oid),
            };
            let is_new = |schema: &Oid| !view.explicit_path.contains(schema);
            let schema = schema.filter(is_new).filter(|schema| view.may_look_into(*schema));
            view.explicit_path.extend(schema);
        }
        view.path.clone_from(&view.explicit_path);
        if !view.path.contains(&PG_CATALOG_SCHEMA) {
            view.path.insert(0, PG_CATALOG_SCHEMA);
        }
        if let Some(temporary) = temporary.filter(|temporary| !view.path.contains(temporary)) {
            view.path.insert(0, temporary);
        }
        CatalogView(Arc::new(view))
    }

    /// The same catalog with an empty search path, for texts that must name the schema of everything.
    #[must_use]
    pub fn without_path(&self) -> CatalogView {
        self.with_path(Vec::new(), None)
    }

    /// The same catalog for stored texts. In these, a name without a schema is always a built-in object's.
    pub fn for_stored_text(&self) -> &CatalogView {
        let session_path = || self.for_bodies().path().to_vec();
        self.0.for_stored_text.get_or_init(|| self.with_path(vec![PG_CATALOG_SCHEMA], Some(session_path())))
    }

    /// The same catalog for the bodies of functions. Their names are looked up in the session's path, also where a stored text calls them.
    pub fn for_bodies(&self) -> &CatalogView {
        match self.0.is_for_stored_text {
            true => self.0.for_bodies.get_or_init(|| self.with_path(self.0.session_path.clone(), None)),
            false => self,
        }
    }

    /// Whether this view is for stored texts.
    pub fn is_for_stored_text(&self) -> bool {
        self.0.is_for_stored_text
    }

    /// A view for stored texts is given the session's path, too.
    fn with_path(&self, path: Vec<Oid>, session_path: Option<Vec<Oid>>) -> CatalogView {
        let View { callbacks, catalog, path_text, plan_path, role, temporary, .. } = &*self.0;
        CatalogView(Arc::new(View {
            callbacks: *callbacks,
            catalog: Arc::clone(catalog),
            path_text: Arc::clone(path_text),
            plan_path: Arc::clone(plan_path),
            path,
            explicit_path: Vec::new(),
            role: *role,
            temporary: *temporary,
            is_for_stored_text: session_path.is_some(),
            for_stored_text: OnceLock::new(),
            session_path: session_path.unwrap_or_default(),
            for_bodies: OnceLock::new(),
        }))
    }

    /// Whether this view was made of these.
    pub fn is_of(&self, catalog_version: u64, search_path: &Arc<str>) -> bool {
        self.0.catalog.version() == catalog_version && self.0.path_text == *search_path
    }

    /// The schema that a statement names, which must be one to look into.
    ///
    /// # Errors
    /// 3F000 if there is none, 42501 if the role may not.
    pub fn usable_schema(&self, name: &str) -> Result<Oid> {
        let schema = self.schema_named(name)?;
        // Names in a stored text were checked when it was stored.
        if self.0.is_for_stored_text || self.0.may_look_into(schema) {
            return Ok(schema);
        }
        Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied for schema {name}")))
    }

    /// The tables that the server computes.
    pub fn system(&self) -> &'static dyn SystemCatalog {
        (self.0.callbacks.system)()
    }

    /// The catalog.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.0.catalog
    }

    /// The text of `search_path`, with the role where it depends on that which schemas are looked into: with the catalog's
    /// version, it says what names mean.
    pub fn plan_path(&self) -> &Arc<str> {
        &self.0.plan_path
    }

    /// Schemas in the order in which names are looked up.
    pub fn path(&self) -> &[Oid] {
        &self.0.path
    }

    /// Schemas in the order in which names of functions are looked up: those of temporary ones count only with their schema.
    pub fn function_path(&self) -> Vec<Oid> {
        self.0.path.iter().copied().filter(|schema| Some(*schema) != self.0.temporary).collect()
    }

    /// The schemas of `current_schemas(false)`.
    pub fn explicit_path(&self) -> &[Oid] {
        &self.0.explicit_path
    }

    /// Whether new objects go to the session's temporary schema, which may have to be made yet: it is the first in `search_path`.
    pub fn creates_in_temporary(&self) -> bool {
        let first = || split_names(&self.0.path_text).into_iter().next();
        self.0.path_text.contains("pg_temp") && first().is_some_and(|name| name == "pg_temp")
    }

    /// Where new objects go.
    pub fn current_schema(&self) -> Option<Oid> {
        self.0.explicit_path.first().copied()
    }

    /// Its name.
    pub fn current_schema_name(&self) -> Option<String> {
        self.current_schema().map(|schema| self.schema_name(schema))
    }

    /// The name of a schema; empty for one that is gone.
    pub fn schema_name(&self, schema: Oid) -> String {
        match self.0.catalog.schema(schema) {
            Some(schema) => schema.name.clone(),
            None if schema == PG_CATALOG_SCHEMA => "pg_catalog".to_owned(),
            None if schema == INFORMATION_SCHEMA => "information_schema".to_owned(),
            None if schema == PUBLIC_SCHEMA => "public".to_owned(),
            None => String::new(),
        }
    }

    /// The schema called `name`.
    ///
    /// # Errors
    /// 3F000.
    pub fn schema_named(&self, name: &str) -> Result<Oid> {
        let built_in = match name {
            "pg_catalog" => Some(PG_CATALOG_SCHEMA),
            "information_schema" => Some(INFORMATION_SCHEMA),
            "pg_temp" => self.0.temporary,
            _ => None,
        };
        built_in
            .or_else(|| self.0.catalog.schema_by_name(name).map(|schema| schema.oid))
            .ok_or_else(|| missing::schema(name))
    }

    /// The relation called `name` in `schema`, or on the search path.
    pub fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation<'_>> {
        self.relation_or_type(schema, name)?.ok()
    }

    /// As [`CatalogView::relation`], or the composite type of this name, which is a relation without rows.
    pub fn relation_or_type(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Option<std::result::Result<Relation<'_>, &Arc<CustomDef>>> {
        let catalog = &self.0.catalog;
        let find = |schema: Oid| match catalog.relation_by_name(schema, name) {
            Some(relation) => Some(Ok(relation)),
            None => composite_named(catalog, schema, name).map(Err),
        };
        match schema {
            Some(schema) => find(self.schema_named(schema).ok()?),
            None => find(self.schema_that_has(name)?),
        }
    }

    /// The computed table called `name` in `schema`, or on the search path unless another relation hides it.
    pub fn system_table(&self, schema: Option<&str>, name: &str) -> Option<Arc<VirtualTable>> {
        let schema = match schema {
            Some(schema) => self.schema_named(schema).ok()?,
            None => self.schema_that_has(name)?,
        };
        self.system().table_named(schema, name)
    }

    /// The first schema of the search path that has a relation or a composite type of this name.
    fn schema_that_has(&self, name: &str) -> Option<Oid> {
        let catalog = &self.0.catalog;
        let has = |schema: Oid| {
            catalog.relation_by_name(schema, name).is_some()
                || composite_named(catalog, schema, name).is_some()
                || self.system().table_named(schema, name).is_some()
        };
        self.0.path.iter().copied().find(|schema| has(*schema))
    }

    /// Whether the relation `oid`, which may be a computed one, is what its bare name finds.
    pub fn relation_is_visible(&self, oid: Oid, name: &str) -> bool {
        let Some(schema) = self.schema_that_has(name) else { return false };
        match self.system().table_named(schema, name) {
            Some(table) => table.oid == oid,
            None => self.relation_or_type(None, name).is_some_and(|found| relation_oid(&found) == oid),
        }
    }

    /// The schemas before `pg_catalog` in the search path. Their objects hide built-in ones.
    fn path_before_builtins(&self) -> &[Oid] {
        let builtins = self.0.path.iter().position(|schema| *schema == PG_CATALOG_SCHEMA);
        &self.0.path[..builtins.unwrap_or_default()]
    }

    fn schemas_of(&self, schema: Option<&str>) -> Vec<Oid> {
        match schema {
            Some(schema) => self.schema_named(schema).into_iter().collect(),
            None => self.0.path.clone(),
        }
    }

    /// The schemas in which a function of this name is looked for.
    fn schemas_of_functions(&self, schema: Option<&str>) -> Vec<Oid> {
        match schema {
            Some(schema) => self.schema_named(schema).into_iter().collect(),
            None => self.function_path(),
        }
    }

    /// A name, qualified unless the bare name finds the same.
    fn qualified(&self, schema: Oid, name: &str, is_visible: bool) -> String {
        let name = quote_identifier(name);
        if is_visible { name } else { format!("{}.{name}", quote_identifier(&self.schema_name(schema))) }
    }
}

fn relation_oid(found: &std::result::Result<Relation<'_>, &Arc<CustomDef>>) -> Oid {
    match found {
        Ok(relation) => relation.oid(),
        Err(composite) => composite.oid,
    }
}

/// Takes `search_path` apart: names separated by commas, in double quotes if need be.
pub fn split_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut characters = text.chars().peekable();
    loop {
        while characters.next_if(|c| c.is_whitespace() || *c == ',').is_some() {}
        let Some(first) = characters.next() else { return names };
        let mut name = String::new();
        if first == '"' {
            while let Some(character) = characters.next() {
                if character == '"' && characters.next_if_eq(&'"').is_none() {
                    break;
                }
                name.push(character);
            }
        } else {
            name.extend(first.to_lowercase());
            while let Some(character) = characters.next_if(|c| *c != ',') {
                name.extend(character.to_lowercase());
            }
            name.truncate(name.trim_end().len());
        }
        names.push(name);
    }
}

impl CatalogLookup for CatalogView {
    fn may_look_into(&self, schema: Oid) -> bool {
        self.0.may_look_into(schema)
    }

    fn require_usage(&self, schema: &str) -> Result<()> {
        match self.usable_schema(schema) {
            Err(error) if error.sqlstate() == sqlstate::INSUFFICIENT_PRIVILEGE => Err(error),
            _ => Ok(()),
        }
    }

    fn user_type(&self, oid: Oid) -> Option<Arc<UserType>> {
        user_types::by_oid(self, oid)
    }

    fn user_type_named(&self, schema: Option<&str>, name: &str) -> Option<Oid> {
        self.schemas_of(schema).into_iter().find_map(|schema| user_types::named(self, schema, name))
    }

    fn type_before_builtins(&self, name: &str) -> Option<Oid> {
        let mut schemas = self.path_before_builtins().iter();
        schemas.find_map(|schema| user_types::named(self, *schema, name))
    }

    fn type_is_visible(&self, oid: Oid) -> bool {
        let named = |name: &str| type_named(self, None, name) == Some(oid);
        match builtin_type(oid) {
            Some(def) => self.finds_builtins() && named(def.name),
            None => self.user_type(oid).is_none_or(|user_type| named(&user_type.name)),
        }
    }

    fn user_functions(&self, schema: Option<&str>, name: &str) -> UserFunctions {
        let before: &[Oid] = if schema.is_none() { self.path_before_builtins() } else { &[] };
        let mut found = UserFunctions::default();
        for schema in self.schemas_of_functions(schema) {
            let hides_builtins = before.contains(&schema);
            let functions = if hides_builtins { &mut found.before_builtins } else { &mut found.after_builtins };
            let called = self.0.catalog.functions_named(schema, name);
            functions.extend(called.map(|function| describe_function(self, function)));
        }
        found
    }

    fn finds_builtins(&self) -> bool {
        self.0.path.contains(&PG_CATALOG_SCHEMA)
    }

    fn user_function(&self, oid: Oid) -> Option<UserFunction> {
        self.0.catalog.function(oid).map(|function| describe_function(self, function))
    }

    fn object_name(&self, kind: RegKind, oid: Oid) -> Option<String> {
        let catalog = &self.0.catalog;
        match kind {
            RegKind::Class => {
                if let Some(table) = self.system().table(oid) {
                    return Some(self.qualified(table.schema, &table.name, self.relation_is_visible(oid, &table.name)));
                }
                let (schema, name) = if let Some(table) = catalog.table(oid) {
                    (table.schema, &table.name)
                } else if let Some(index) = catalog.index(oid) {
                    (index.schema, &index.name)
                } else if let Some(sequence) = catalog.sequence(oid) {
                    (sequence.schema, &sequence.name)
                } else {
                    match catalog.object(oid)? {
                        Object::Custom(def) if composite_fields(def).is_some() => (def.schema, &def.name),
                        _ => return None,
                    }
                };
                Some(self.qualified(schema, name, self.relation_is_visible(oid, name)))
            }
            RegKind::Namespace => {
                let name = self.schema_name(oid);
                (!name.is_empty()).then(|| quote_identifier(&name))
            }
            RegKind::Role => catalog.role(oid).map(|role| quote_identifier(&role.name)),
            RegKind::Proc => type_functions::name_of(oid).map(str::to_owned),
            RegKind::Collation | RegKind::TextSearch => None,
        }
    }

    fn object_named(&self, kind: RegKind, name: &[String]) -> Result<Option<Oid>> {
        let (schema, bare) = match name {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            [_, schema, name] => (Some(schema.as_str()), name),
            _ => return Ok(None),
        };
        Ok(match kind {
            RegKind::Class => {
                let found = self.relation_or_type(schema, bare).map(|found| relation_oid(&found));
                found.or_else(|| self.system_table(schema, bare).map(|table| table.oid))
            }
            RegKind::Namespace => Some(self.schema_named(bare)?),
            RegKind::Role => self.0.catalog.role_by_name(bare).map(|role| role.oid),
            RegKind::Proc => {
                let mut found = self
                    .schemas_of_functions(schema)
                    .into_iter()
                    .flat_map(|schema| self.0.catalog.functions_named(schema, bare))
                    .map(|function| function.oid);
                let is_builtin = schema.is_none_or(|schema| schema == "pg_catalog");
                found.next().or_else(|| is_builtin.then(|| type_functions::oid_of(bare)).flatten())
            }
            RegKind::Collation | RegKind::TextSearch => None,
        })
    }

    fn check_domain(&self, domain: Oid, value: &Value) -> Result<()> {
        (self.0.callbacks.check_domain)(self, domain, value)
    }

    fn domain_default(&self, domain: Oid) -> Option<String> {
        user_types::domain_default(self, domain)
    }
}

/// The properties of a function that its callers need.
pub fn describe_function(view: &CatalogView, function: &FunctionDef) -> UserFunction {
    let inputs: Vec<_> = function.arguments.iter().filter(|argument| argument.mode.is_input()).collect();
    UserFunction {
        oid: function.oid,
        schema: view.schema_name(function.schema),
        name: function.name.clone(),
        arguments: inputs.iter().map(|argument| argument.type_oid).collect(),
        argument_names: inputs.iter().map(|argument| argument.name.clone().unwrap_or_default()).collect(),
        defaults: inputs.iter().filter(|argument| argument.default.is_some()).count(),
        variadic: function.is_variadic(),
        result: function.returns,
        returns_set: function.returns_set,
        procedure: function.is_procedure(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_path_names_may_be_quoted() {
        assert_eq!(split_names("\"$user\", public"), ["$user", "public"]);
        assert_eq!(split_names(" Foo , \"Bar \"\"x\",baz "), ["foo", "Bar \"x", "baz"]);
        assert!(split_names("").is_empty());
    }
}
