//! The parts that all statements that change the catalog share.

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use base::lock_mode::{LockMode, WaitPolicy};
use base::{Error, Oid, Result, SqlState, missing, sqlstate};
use engine::Table;
use plan::privileges::{self, Access, ColumnAcls};
use plan::user_types::{self, composite_named, relation_name_is_taken};
use plan::{CatalogView, Expr};
use schema::catalog::{
    BOOTSTRAP_ROLE, Catalog, ColumnDef, CustomDef, DatabaseDef, INFORMATION_SCHEMA, Object, PG_CATALOG_SCHEMA,
    Persistence, Relation, TableDef, class,
};
use syntax::parser::character_position;
use syntax::tree::{self, Location, Name, QualifiedName, RoleName, Statement, TablePersistence, TypeName};
use types::{CatalogLookup, SqlType, Volatility};

use super::dependencies::hold_named_in;
use crate::state::planning::Environment;
use crate::state::{CHANGE_LOCK, DROP_LOCK, SessionState, hold};
use executor::client::{Client, Severity};
use executor::{Locals, Run};
use planner::binder::{BindContext, DefinitionUse, VariableNames, definition_expression, definition_type, named_type};
use planner::deparse::{Deparser, Names, Qualify};
use planner::{Inlining, volatility};

/// A statement that changes the catalog, under way.
pub(super) struct Ddl<'a> {
    /// The session.
    pub state: &'a SessionState,
    /// The text that locations point into.
    pub text: &'a Arc<str>,
    /// Where notices go.
    pub client: &'a mut dyn Client,
    /// Names of the arguments of the function that runs the statement.
    pub variables: Option<&'a dyn VariableNames>,
    /// Whether what is called may end the transaction.
    pub may_end_transaction: bool,
    /// The table that the statement creates, fills or changes. Functions that it calls may not change this table.
    pub target: Option<Oid>,
    /// The privileges that evaluating needs of the expressions bound so far.
    needed: RefCell<Vec<Access>>,
    /// The running statement, unless a superuser runs it, and the catalog's version when its rights were checked.
    checked: Option<(Rc<Statement>, Cell<u64>)>,
}

impl<'a> Ddl<'a> {
    pub fn new(state: &'a SessionState, text: &'a Arc<str>, client: &'a mut dyn Client) -> Ddl<'a> {
        Ddl {
            state,
            text,
            client,
            variables: None,
            may_end_transaction: false,
            target: None,
            needed: RefCell::default(),
            checked: None,
        }
    }

    /// The engine's session.
    pub fn engine(&self) -> Ref<'a, engine::Session> {
        self.state.engine()
    }

    /// The catalog, own changes included.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.state.engine_catalog()
    }

    /// The catalog with the search path.
    pub fn view(&self) -> CatalogView {
        self.state.catalog()
    }

    /// Makes an object.
    pub fn create<T: Into<Object>>(&self, object: T) -> Result<()> {
        let object = object.into();
        // ALTER TABLE makes these without having asked.
        if matches!(object, Object::Index(_) | Object::Sequence(_)) {
            self.require_create(object.schema())?;
        }
        self.create_again(object)
    }

    /// As [`Ddl::create`], for an object that is only made anew: no right is needed.
    pub fn create_again<T: Into<Object>>(&self, object: T) -> Result<()> {
        self.state.changed_catalog.set(true);
        let object = object.into();
        let oid = object.oid();
        self.check_relation_name(&object)?;
        if let Some(owner) = object.owner() {
            self.keep_role(owner)?;
        }
        let is_relation = match &object {
            Object::Table(_) | Object::Sequence(_) | Object::Index(_) => true,
            Object::Custom(def) => user_types::composite_fields(def).is_some(),
            _ => false,
        };
        self.engine().create_object(object)?;
        if is_relation {
            // No other session can see it yet. `pg_locks` shows the lock, as in PostgreSQL.
            self.lock(oid, LockMode::AccessExclusive)?;
        }
        super::default_privileges::apply(self, oid)
    }

    /// A relation's name may not be a composite type's (42P07), and one with rows may not be called as any type is (42710).
    fn check_relation_name(&self, object: &Object) -> Result<()> {
        if !matches!(object, Object::Table(_) | Object::Sequence(_) | Object::Index(_)) {
            return Ok(());
        }
        let (catalog, schema, name) = (self.catalog(), object.schema(), object.name());
        let Some(found) = catalog.custom_by_name(class::TYPE, schema, name) else { return Ok(()) };
        self.engine().lock_name(schema, name, false)?;
        if user_types::composite_fields(found).is_some() {
            return Err(name_is_taken(name));
        }
        match object {
            Object::Index(_) => Ok(()),
            _ => {
                let message = format!("type \"{name}\" already exists");
                Err(Error::new(sqlstate::DUPLICATE_OBJECT, message).hint(
                    "A relation has an associated type of the same name, so you must use a name that doesn't conflict \
                     with any existing type.",
                ))
            }
        }
    }

    /// Whether a relation of the schema, composite types among them, is called so.
    pub fn relation_exists(&self, schema: Oid, name: &str) -> bool {
        relation_name_is_taken(&self.catalog(), schema, name)
    }

    /// Gives an object another description.
    ///
    /// # Errors
    /// 42P16 for a table or view with a column that has its own rows in it.
    pub fn replace(&self, object: impl Into<Object>) -> Result<()> {
        let object = object.into();
        if let Object::Table(table) = &object {
            let old = self.catalog().table(table.oid).cloned();
            let was_there = |place: usize, column: &ColumnDef| {
                let old = old.as_ref().and_then(|old| old.columns.get(place));
                old.is_some_and(|old| !old.dropped && old.type_oid == column.type_oid)
            };
            let columns = table.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
            for (_, column) in columns.filter(|(place, column)| !was_there(*place, column)) {
                super::composite::refuse_member_of_itself(self, table.oid, &table.name, column.type_oid)?;
            }
        }
        self.state.changed_catalog.set(true);
        self.engine().replace_object(object)
    }

    /// Drops an object, and nothing that depends on it.
    pub fn drop(&self, oid: Oid) -> Result<()> {
        self.state.changed_catalog.set(true);
        self.hold(oid, DROP_LOCK)?;
        if let Some(granted) = privileges::stored_object(&self.catalog(), oid) {
            self.engine().drop_object(granted)?;
        }
        if let Some(granted) = ColumnAcls::stored_object(&self.catalog(), oid) {
            self.engine().drop_object(granted)?;
        }
        self.engine().drop_object(oid)
    }

    /// An identifier for a new object.
    pub fn allocate_oid(&self) -> Oid {
        self.engine().allocate_oid()
    }

    /// Locks a relation until the transaction ends.
    pub fn lock(&self, oid: Oid, mode: LockMode) -> Result<()> {
        self.engine().lock_relation(oid, mode, WaitPolicy::Block)?;
        Ok(())
    }

    /// 42501 if the role may not run the statement. `find_held` and `find_locked` check it again if another transaction has changed the
    /// catalog meanwhile: a name may mean another object then, and the role may have lost its rights.
    pub fn check_rights(&mut self, statement: &Statement) -> Result<()> {
        let version = Cell::new(self.engine().catalog_version());
        super::ownership::check(self, statement)?;
        self.checked = (!self.state.is_superuser()).then(|| (Rc::new(statement.clone()), version));
        Ok(())
    }

    /// Runs `work`, which checks the rights of a statement within this one.
    pub fn within<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let checked = self.checked.take();
        let result = work(self);
        self.checked = checked;
        result
    }

    fn check_rights_again(&self) -> Result<()> {
        let Some((statement, version)) = &self.checked else { return Ok(()) };
        let now = self.engine().catalog_version();
        if version.replace(now) == now { Ok(()) } else { super::ownership::check(self, statement) }
    }

    /// Looks an object up and locks its description until the transaction ends. After the lock is granted it looks again, because
    /// another transaction may have changed or dropped the object meanwhile.
    ///
    /// # Errors
    /// Those of `find`, which is asked at least once before the lock and once after it; 55P03, 40P01, 57014.
    pub fn find_held<T>(
        &self,
        mode: LockMode,
        find: impl Fn() -> Result<T>,
        oid_of: impl Fn(&T) -> Option<Oid>,
    ) -> Result<T> {
        let mut found = find()?;
        while let Some(oid) = oid_of(&found) {
            self.hold(oid, mode)?;
            let again = find()?;
            if oid_of(&again) == Some(oid) {
                self.check_rights_again()?;
                return Ok(again);
            }
            found = again;
        }
        Ok(found)
    }

    /// As [`hold`].
    pub fn hold(&self, oid: Oid, mode: LockMode) -> Result<()> {
        hold(&self.engine(), oid, mode)
    }

    /// The table `oid` as it is now.
    pub fn table(&self, oid: Oid) -> Result<Arc<TableDef>> {
        self.catalog().table(oid).cloned().ok_or_else(|| gone(oid))
    }

    /// The table `oid`, open.
    pub fn open(&self, oid: Oid) -> Result<Arc<Table>> {
        self.engine().open_table(oid)
    }

    /// Tells the client something at level NOTICE.
    pub fn notice(&mut self, code: SqlState, message: impl Into<String>) {
        self.tell(Severity::Notice, &Error::new(code, message));
    }

    /// Sends the error's message as a notice with `, skipping`, as IF EXISTS asks.
    pub fn notice_skipped(&mut self, missing: &Error) {
        self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{}, skipping", missing.message()));
    }

    /// Returns the error, or with IF EXISTS only tells the client.
    pub fn skip(&mut self, missing: Error, if_exists: bool) -> Result<()> {
        if !if_exists {
            // Others may have committed a moment ago that it is not there.
            self.engine().observe_horizon();
            return Err(missing);
        }
        self.notice_skipped(&missing);
        Ok(())
    }

    /// The database called `name`.
    ///
    /// # Errors
    /// 3D000
    pub fn database(&self, name: &str) -> Result<Arc<DatabaseDef>> {
        match self.catalog().database_by_name(name) {
            Some(def) => Ok(Arc::clone(def)),
            None => {
                self.engine().observe_horizon();
                Err(missing::database(name))
            }
        }
    }

    /// With `client_min_messages` at DEBUG, tells the client which further objects a statement creates.
    pub fn tell_implicit(&mut self, message: impl FnOnce() -> String) {
        if self.state.is_heard(Severity::Debug) {
            self.tell(Severity::Debug, &Error::new(sqlstate::SUCCESSFUL_COMPLETION, message()));
        }
    }

    /// Tells the client something.
    pub fn tell(&mut self, severity: Severity, notice: &Error) {
        // That something is or is not there is what others may have committed a moment ago.
        self.engine().observe_horizon();
        self.state.notice(severity, notice, self.client);
    }

    /// An error that points at `location`.
    pub fn at(&self, error: Error, location: Location) -> Error {
        match character_position(self.text, location) {
            Some(position) => error.at(position),
            None => error,
        }
    }

    /// Runs `work` with a context for the binder; errors point into the statement's text.
    pub fn bind<T>(&self, work: impl FnOnce(&mut BindContext<'_>) -> Result<T>) -> Result<T> {
        let (result, needed) = Environment::new(self.state, &self.view()).bind(self.text, work)?;
        self.note_needed(needed);
        Ok(result)
    }

    /// Binds an expression of a definition.
    pub fn expression(
        &self,
        table: Option<&Arc<TableDef>>,
        expr: &tree::Expr,
        used_for: DefinitionUse<'_>,
    ) -> Result<Expr> {
        self.bind_named(|context| definition_expression(context, table, expr, used_for))
    }

    /// [`Ddl::bind`] of something that the statement has written: 42501 without USAGE of the schemas in it.
    pub fn bind_named<T>(&self, work: impl FnOnce(&mut BindContext<'_>) -> Result<T>) -> Result<T> {
        let (result, needed) = Environment::new(self.state, &self.view()).bind(self.text, work)?;
        self.state.require_schemas(&needed)?;
        self.note_needed(needed);
        Ok(result)
    }

    /// How much an expression's value may change, after constants in it have been computed and functions in SQL have become part of it.
    ///
    /// # Errors
    /// Those of constants that can't be computed.
    pub fn planned_volatility(&self, expr: &Expr) -> Result<Volatility> {
        let mut planned = expr.clone();
        Environment::new(self.state, &self.view())
            .bind(self.text, |context| planner::fold(&mut planned, context, &mut Inlining::default()))?;
        Ok(volatility(&planned))
    }

    /// Binds an expression of a definition that is stored as `text`.
    pub fn stored_expression(&self, table: &Arc<TableDef>, text: &str, used_for: DefinitionUse<'_>) -> Result<Expr> {
        let over = (!matches!(used_for, DefinitionUse::Default { .. })).then_some(table);
        self.bind_text(over, text, used_for)
    }

    /// Binds an expression that is stored as `text`. An error has no position: it would be one in the stored text.
    fn bind_text(&self, table: Option<&Arc<TableDef>>, text: &str, used_for: DefinitionUse<'_>) -> Result<Expr> {
        let (bound, needed) = bind_text(self.state, table, text, used_for).map_err(without_position)?;
        self.note_needed(needed);
        Ok(bound)
    }

    /// Notes the privileges that evaluating needs, for [`Ddl::with_run`].
    fn note_needed(&self, needed: Vec<Access>) {
        let mut all = self.needed.borrow_mut();
        for access in needed {
            access.add_to(&mut all);
        }
    }

    /// Runs `work`, which binds stored texts only to look at them: evaluating nothing, they need no privileges.
    pub fn without_needs<T>(&self, work: impl FnOnce() -> T) -> T {
        let noted = self.needed.take();
        let result = work();
        self.needed.replace(noted);
        result
    }

    /// Binds a default that is stored as `text` and belongs to no table.
    pub fn stored_default(&self, text: &str, used_for: DefinitionUse<'_>) -> Result<Expr> {
        self.bind_text(None, text, used_for)
    }

    /// The text under which a new expression is stored. The objects that it names are held until the transaction ends.
    ///
    /// # Errors
    /// As [`hold_named_in`].
    pub fn to_store(&self, expr: &Expr, names: &dyn Names) -> Result<String> {
        hold_named_in(self, expr)?;
        Ok(self.stored_text(expr, names))
    }

    /// The text under which an expression is stored, with the names that things have now.
    pub fn stored_text(&self, expr: &Expr, names: &dyn Names) -> String {
        Deparser::new(&self.view(), names, Qualify::Always).indented().text(expr)
    }

    /// The type that a name in a stored text stands for.
    pub fn stored_type(&self, name: &TypeName) -> Result<SqlType> {
        let view = self.view();
        Environment::new(self.state, view.for_stored_text()).with_context("", |context| definition_type(context, name))
    }

    /// The type that a name stands for.
    pub fn type_of(&self, name: &TypeName) -> Result<SqlType> {
        self.bind(|context| definition_type(context, name))
    }

    /// The type that a name stands for, for something that is made of it.
    ///
    /// # Errors
    /// 42501 without USAGE of it
    pub fn usable_type(&self, name: &TypeName) -> Result<SqlType> {
        let mut held = None;
        loop {
            let sql_type = self.bind_named(|context| named_type(context, name))?;
            self.require_type(sql_type.oid)?;
            let oid = user_types::element_of_array(sql_type.oid).unwrap_or(sql_type.oid);
            if oid < Oid::FIRST_NORMAL {
                return Ok(sql_type);
            }
            if held == Some(oid) {
                super::composite::hold_row_types(self, oid, &mut vec![oid], |_| Ok(()))?;
                return Ok(sql_type);
            }
            // Nobody drops it until the transaction ends. Another transaction may have done so while this one waited.
            match self.catalog().table(oid) {
                Some(_) => self.lock(oid, LockMode::AccessShare)?,
                None => self.hold(oid, LockMode::AccessShare)?,
            }
            held = Some(oid);
        }
    }

    /// Runs `work` with an execution of its own, for expressions outside a plan. The acting role must have the privileges that the
    /// statement's expressions need: no plan asks for them.
    ///
    /// # Errors
    /// Those of `work`; 42501.
    pub fn with_run<'p, T>(&mut self, work: impl FnOnce(&mut Run<'_, 'p>) -> Result<T>) -> Result<T> {
        self.state.require_all(&self.needed.borrow())?;
        let mut locals = Locals::for_expression();
        let mut run = Run::new(self.state, self.client, &[], &mut locals);
        match self.target {
            Some(target) => {
                self.state.while_in_use(Arc::from([(target, LockMode::AccessExclusive)]), || work(&mut run))
            }
            None => work(&mut run),
        }
    }

    /// Runs `work` as a statement that sees all that is committed by now, whatever the isolation level: with the table
    /// locked against changes, that is all there is.
    pub fn with_latest<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.engine().push_latest_snapshot()?;
        let result = work(self);
        self.engine().pop_snapshot();
        result
    }

    /// The role that owns what is made now.
    pub fn owner(&self) -> Oid {
        self.state.acting_role().oid
    }

    /// The role that a statement names, locked against being dropped until the transaction ends.
    pub fn role(&self, name: &RoleName) -> Result<Oid> {
        let named = |name: &str| {
            let found = self.catalog().role_by_name(name).map(|role| role.oid);
            found.ok_or_else(|| missing::role(name))
        };
        let oid = match name {
            RoleName::Name(name, _) => named(name)?,
            RoleName::CurrentUser => self.state.acting_role().oid,
            RoleName::SessionUser => self.state.session_role().oid,
            RoleName::Public => named("public")?,
        };
        self.keep_role(oid)?;
        Ok(oid)
    }

    /// The role that a statement changes, its description locked until the transaction ends.
    pub fn role_to_change(&self, name: &RoleName) -> Result<Oid> {
        self.find_held(CHANGE_LOCK, || self.role(name), |oid| Some(*oid))
    }

    /// Locks a role so that nobody drops it until the transaction ends; the first is never dropped.
    pub fn keep_role(&self, role: Oid) -> Result<()> {
        if role == BOOTSTRAP_ROLE {
            return Ok(());
        }
        self.engine().lock_object(class::ROLE, role, LockMode::AccessShare, WaitPolicy::Block)?;
        if self.catalog().role(role).is_some() {
            return Ok(());
        }
        self.engine().observe_horizon();
        let message = format!("role {role} was concurrently dropped");
        Err(Error::new(sqlstate::UNDEFINED_OBJECT, message))
    }

    /// The schema that a new relation called `name` goes to, and how lasting that makes it.
    ///
    /// The schema is locked against being dropped until the transaction ends, unless it is the session's own.
    pub fn creation_schema(
        &mut self,
        name: &QualifiedName,
        persistence: TablePersistence,
    ) -> Result<(Oid, Persistence)> {
        let mut found = self.find_creation_schema(name, persistence)?;
        while found.1 != Persistence::Temporary {
            self.keep_schema(found.0)?;
            // A transaction that held the schema's lock before may have dropped the schema.
            let again = self.find_creation_schema(name, persistence)?;
            if again == found {
                break;
            }
            found = again;
        }
        Ok(found)
    }

    /// Locks a schema so that nobody drops it until the transaction ends.
    pub fn keep_schema(&self, schema: Oid) -> Result<()> {
        self.engine().lock_object(class::SCHEMA, schema, LockMode::AccessShare, WaitPolicy::Block)?;
        Ok(())
    }

    /// Whether a schema is another session's temporary one.
    fn is_foreign_temporary(&self, name: &str) -> bool {
        let catalog = self.catalog();
        let schema = catalog.schema_by_name(name).map(|schema| schema.oid);
        schema.is_some_and(|schema| catalog.is_temporary(schema) && Some(schema) != self.state.temporary_schema.get())
    }

    fn find_creation_schema(
        &mut self,
        name: &QualifiedName,
        persistence: TablePersistence,
    ) -> Result<(Oid, Persistence)> {
        self.check_database(name)?;
        let is_temporary = persistence == TablePersistence::Temporary;
        let lasting = match persistence {
            TablePersistence::Permanent => Persistence::Permanent,
            TablePersistence::Unlogged => Persistence::Unlogged,
            TablePersistence::Temporary => Persistence::Temporary,
        };
        match name.schema.as_deref() {
            Some("pg_temp") => {
                let schema = super::temporary::schema(self)?;
                self.lasting_in(schema, lasting)
            }
            Some(schema) if self.is_foreign_temporary(schema) => {
                let message = "cannot create relations in temporary schemas of other sessions";
                Err(self.at(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message), name.location))
            }
            Some(schema) if is_temporary => {
                let oid = self.view().schema_named(schema)?;
                if self.is_own_temporary(oid) {
                    return self.lasting_in(oid, lasting);
                }
                Err(Error::new(
                    sqlstate::INVALID_TABLE_DEFINITION,
                    "cannot create temporary relation in non-temporary schema",
                ))
            }
            None if is_temporary => Ok((super::temporary::schema(self)?, Persistence::Temporary)),
            Some(schema) => {
                let oid = self.view().schema_named(schema)?;
                self.require_create(oid)?;
                if oid == PG_CATALOG_SCHEMA || oid == INFORMATION_SCHEMA {
                    let message = format!("permission denied to create \"{schema}.{}\"", name.name);
                    return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message)
                        .detail("System catalog modifications are currently disallowed."));
                }
                self.lasting_in(oid, lasting)
            }
            None => {
                let schema = self.current_schema()?;
                self.lasting_in(schema, lasting)
            }
        }
    }

    /// Whether a schema is the session's own temporary one.
    pub fn is_own_temporary(&self, schema: Oid) -> bool {
        self.state.temporary_schema.get() == Some(schema)
    }

    /// A schema, and how lasting a relation there is: all that is in the session's own temporary schema is temporary.
    fn lasting_in(&self, schema: Oid, lasting: Persistence) -> Result<(Oid, Persistence)> {
        if !self.is_own_temporary(schema) {
            return Ok((schema, lasting));
        }
        if lasting == Persistence::Unlogged {
            let message = "only temporary relations may be created in temporary schemas";
            return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        Ok((schema, Persistence::Temporary))
    }

    /// The schema that a new object that is no relation goes to, locked against being dropped until the transaction ends.
    pub fn object_schema(&mut self, name: &QualifiedName) -> Result<Oid> {
        if name.schema.as_deref() == Some("pg_temp") || name.schema.is_none() && self.view().creates_in_temporary() {
            self.check_database(name)?;
            return super::temporary::schema(self);
        }
        let find = || self.find_object_schema(name);
        self.find_held(LockMode::AccessShare, find, |schema| Some(*schema))
    }

    fn find_object_schema(&self, name: &QualifiedName) -> Result<Oid> {
        self.check_database(name)?;
        match name.schema.as_deref() {
            Some(schema) => {
                let oid = self.view().schema_named(schema)?;
                self.require_create(oid)?;
                if oid == PG_CATALOG_SCHEMA || oid == INFORMATION_SCHEMA {
                    let message = format!("permission denied for schema {schema}");
                    return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
                }
                Ok(oid)
            }
            None => self.current_schema_there_is(),
        }
    }

    fn current_schema(&mut self) -> Result<Oid> {
        if self.view().creates_in_temporary() {
            return super::temporary::schema(self);
        }
        self.current_schema_there_is()
    }

    /// The schema that new objects go to, if it needn't be made.
    fn current_schema_there_is(&self) -> Result<Oid> {
        match self.view().current_schema() {
            Some(PG_CATALOG_SCHEMA | INFORMATION_SCHEMA) => {
                Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, "permission denied for schema pg_catalog"))
            }
            Some(schema) => {
                self.require_create(schema)?;
                Ok(schema)
            }
            None => Err(Error::new(sqlstate::INVALID_SCHEMA_NAME, "no schema has been selected to create in")),
        }
    }

    /// A database written before a schema must be this one.
    pub fn check_database(&self, name: &QualifiedName) -> Result<()> {
        match (&name.catalog, &name.schema) {
            (Some(catalog), Some(schema)) if catalog.as_str() != self.state.database_name() => {
                let message =
                    format!("cross-database references are not implemented: \"{catalog}.{schema}.{}\"", name.name);
                Err(self.at(Error::unsupported(message), name.location))
            }
            _ => Ok(()),
        }
    }

    /// Returns the relation that a name stands for now; none if the relation or its schema does not exist.
    ///
    /// # Errors
    /// 42501 without USAGE of the schema
    pub fn find(&self, name: &QualifiedName) -> Result<Option<Found>> {
        self.check_database(name)?;
        if let Some(schema) = &name.schema {
            self.view().require_usage(schema)?;
        }
        self.find_in_all(name)
    }

    /// As [`Ddl::find`], whether or not the role may look into the schema: for names that a stored text has.
    pub fn find_in_all(&self, name: &QualifiedName) -> Result<Option<Found>> {
        self.check_database(name)?;
        let view = self.view();
        let schema = match name.schema.as_deref() {
            Some("pg_temp") => match self.state.temporary_schema.get() {
                Some(schema) => {
                    let catalog = view.catalog();
                    let composite = || composite_named(catalog, schema, &name.name).cloned().map(Found::Composite);
                    return Ok(catalog.relation_by_name(schema, &name.name).map(Found::of).or_else(composite));
                }
                None => return Ok(None),
            },
            schema => schema,
        };
        Ok(match view.relation_or_type(schema, &name.name) {
            Some(Ok(found)) => Some(Found::of(found)),
            Some(Err(composite)) => Some(Found::Composite(Arc::clone(composite))),
            None => view.system_table(schema, &name.name).map(|system| Found::System(system.name.clone())),
        })
    }

    /// Returns the relation that a name stands for, and locks it. After each lock the name is looked up again, until it stands for the
    /// relation that has just been locked.
    pub fn find_locked(&self, name: &QualifiedName, mode: LockMode) -> Result<Option<Found>> {
        let mut found = self.find(name)?;
        loop {
            let Some(oid) = found.as_ref().and_then(Found::oid) else { return Ok(found) };
            self.lock(oid, mode)?;
            let again = self.find(name)?;
            if again.as_ref().and_then(Found::oid) == Some(oid) {
                self.check_rights_again()?;
                return Ok(again);
            }
            found = again;
        }
    }

    /// As [`Ddl::find_locked`]: 42P01 if there is none.
    pub fn required_locked(&self, name: &QualifiedName, mode: LockMode) -> Result<Found> {
        match self.find_locked(name, mode)? {
            Some(found) => Ok(found),
            None => Err(self.no_relation(name)),
        }
    }

    /// 42P01 (or 3F000 if it is the schema that is missing).
    pub fn no_relation(&self, name: &QualifiedName) -> Error {
        self.engine().observe_horizon();
        if let Some(schema) = &name.schema
            && let Err(missing) = self.view().schema_named(schema)
        {
            return missing;
        }
        missing::relation(name)
    }
}

/// The relation that a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Table(Arc<TableDef>),
    Index(Arc<schema::catalog::IndexDef>),
    Sequence(Arc<schema::catalog::SequenceDef>),
    /// A composite type, which has columns and no rows.
    Composite(Arc<CustomDef>),
    /// A table or view that the server computes.
    System(Name),
}

impl Found {
    fn of(relation: Relation<'_>) -> Found {
        match relation {
            Relation::Table(table) => Found::Table(Arc::clone(table)),
            Relation::Index(index) => Found::Index(Arc::clone(index)),
            Relation::Sequence(sequence) => Found::Sequence(Arc::clone(sequence)),
        }
    }

    pub fn oid(&self) -> Option<Oid> {
        match self {
            Found::Table(table) => Some(table.oid),
            Found::Index(index) => Some(index.oid),
            Found::Sequence(sequence) => Some(sequence.oid),
            Found::Composite(def) => Some(def.oid),
            Found::System(_) => None,
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Found::Table(table) => &table.name,
            Found::Index(index) => &index.name,
            Found::Sequence(sequence) => &sequence.name,
            Found::Composite(def) => &def.name,
            Found::System(name) => name,
        }
    }
}

/// 42P07
pub(super) fn name_is_taken(name: &str) -> Error {
    Error::new(sqlstate::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

/// 42P06
pub(super) fn schema_is_taken(name: &str) -> Error {
    Error::new(sqlstate::DUPLICATE_SCHEMA, format!("schema \"{name}\" already exists"))
}

/// 42710
pub(super) fn role_is_taken(name: &str) -> Error {
    Error::new(sqlstate::DUPLICATE_OBJECT, format!("role \"{name}\" already exists"))
}

/// Binds an expression that is stored as `text`.
pub(super) fn bind_stored(
    state: &SessionState,
    table: &Arc<TableDef>,
    text: &str,
    used_for: DefinitionUse<'_>,
) -> Result<Expr> {
    let table = (!matches!(used_for, DefinitionUse::Default { .. })).then_some(table);
    // A position would be one in the stored text, which nobody sees.
    bind_text(state, table, text, used_for).map(|(bound, _)| bound).map_err(without_position)
}

/// Binds an expression that is stored as `text` and reads no row. It keeps the type that it has by itself.
pub(super) fn bind_stored_value(state: &SessionState, text: &str) -> Result<Expr> {
    bind_text(state, None, text, DefinitionUse::IndexKey).map(|(bound, _)| bound)
}

/// The same error, pointing nowhere.
pub(super) fn without_position(mut error: Error) -> Error {
    error.fields_mut().position = None;
    error
}

fn bind_text(
    state: &SessionState,
    table: Option<&Arc<TableDef>>,
    text: &str,
    used_for: DefinitionUse<'_>,
) -> Result<(Expr, Vec<Access>)> {
    let expr = syntax::parser::parse_expression(text)?;
    Environment::new(state, state.catalog().for_stored_text())
        .bind(text, |context| definition_expression(context, table, &expr, used_for))
}

/// The error for an object that somebody else has dropped meanwhile.
pub(super) fn gone(oid: Oid) -> Error {
    Error::new(sqlstate::UNDEFINED_TABLE, format!("could not open relation with OID {oid}"))
}

/// A permission that system tables never give.
pub(super) fn system_refusal(name: &str) -> Error {
    Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied: \"{name}\" is a system catalog"))
}
