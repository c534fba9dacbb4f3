//! Golden tests: statements and the plans, columns, parameter types and errors they give.
//!
//! Plans are shown as EXPLAIN (VERBOSE, COSTS OFF) shows them. `details` has what EXPLAIN leaves out.
//! `UPDATE_EXPECT=1 cargo test -p cohort-planner` writes the goldens anew.

mod changes;
mod details;
mod errors;
mod normalized;
mod plans;
mod queries;
mod recorded;

use std::sync::Arc;

use base::settings::{ServerSettings, Source};
use base::{Error, Oid, Result};
use engine::{Database, OpenOptions, TransactionOptions};
use expect_test::Expect;
use plan::privileges::ActingRole;
use plan::{CatalogCallbacks, CatalogView, Meaning, NoSystemCatalog, Plan, Statement, StatementKind};
use schema::catalog::{
    BOOTSTRAP_ROLE, Catalog, ColumnDef, ConstraintDef, ConstraintKind, IndexDef, IndexKey, PG_CATALOG_SCHEMA,
    PUBLIC_SCHEMA, RelationKind, TableDef,
};
use schema::row::PhysicalType;
use syntax::parser::{ParseOptions, parse};
use types::context::RegKind;
use types::random::RandomState;
use types::{CatalogLookup, EvalContext, FormatSettings, PlainContext, SqlType, oids};
use vfs::{SimulatedVfs, Vfs};

use crate::binder::{BindContext, Parameters, PlannerSettings};
use crate::explain::{ExplainContext, ExplainOptions, Summary, explain, text};

/// A catalog with pgbench's tables at scale 10 and some others.
pub(super) struct World {
    pub(super) catalog: Arc<Catalog>,
    _database: Database,
}

/// The catalog look-ups of types: only names of tables are found.
struct Lookup<'a>(&'a Catalog);

impl CatalogLookup for Lookup<'_> {
    fn object_named(&self, kind: RegKind, name: &[String]) -> Result<Option<Oid>> {
        let table = name.last().and_then(|name| self.0.table_by_name(PUBLIC_SCHEMA, name));
        Ok(table.filter(|_| kind == RegKind::Class).map(|table| table.oid))
    }
}

/// The context in which literals are read.
struct Eval<'a> {
    plain: PlainContext,
    lookup: Lookup<'a>,
}

impl EvalContext for Eval<'_> {
    fn format(&self) -> &FormatSettings {
        self.plain.format()
    }

    fn catalog(&self) -> &dyn CatalogLookup {
        &self.lookup
    }

    fn transaction_timestamp(&self) -> i64 {
        self.plain.transaction_timestamp()
    }

    fn statement_timestamp(&self) -> i64 {
        self.plain.statement_timestamp()
    }

    fn random(&mut self) -> &mut RandomState {
        self.plain.random()
    }
}

fn physical(oid: Oid) -> PhysicalType {
    match oid {
        oids::BOOL => PhysicalType::Bool,
        oids::INT2 => PhysicalType::I16,
        oids::INT4 | oids::DATE => PhysicalType::I32,
        oids::INT8 | oids::TIMESTAMP | oids::TIMESTAMPTZ => PhysicalType::I64,
        oids::FLOAT8 => PhysicalType::F64,
        _ => PhysicalType::Bytes,
    }
}

struct Maker<'s> {
    session: &'s engine::Session,
}

impl Maker<'_> {
    fn table(&self, name: &str, columns: &[(&str, Oid, i32)], rows: f64, pages: u32) -> TableDef {
        let mut table = TableDef::new(self.session.allocate_oid(), PUBLIC_SCHEMA, name, BOOTSTRAP_ROLE);
        for (name, oid, typmod) in columns {
            table.columns.push(ColumnDef { typmod: *typmod, ..ColumnDef::new(*name, *oid, physical(*oid)) });
        }
        table.estimated_rows = rows;
        table.estimated_pages = pages;
        table
    }

    fn put(&self, mut table: TableDef, primary: &[usize], others: &[(&str, &[usize], bool)]) -> Oid {
        let mut indexes = Vec::new();
        if !primary.is_empty() {
            let name = format!("{}_pkey", table.name);
            let mut index = IndexDef::new(self.session.allocate_oid(), &table, &name, primary, true);
            index.primary = true;
            index.constraint_name = Some(name.clone());
            table.constraints.push(ConstraintDef {
                oid: self.session.allocate_oid(),
                name,
                kind: ConstraintKind::PrimaryKey { index: index.oid },
                validated: true,
                deferrable: false,
                initially_deferred: false,
                comment: None,
            });
            for place in primary {
                table.columns[*place].not_null = true;
            }
            indexes.push(index);
        }
        for (name, columns, unique) in others {
            indexes.push(IndexDef::new(self.session.allocate_oid(), &table, *name, columns, *unique));
        }
        let oid = table.oid;
        self.session.create_object(table).expect("the name is free");
        for index in indexes {
            self.session.create_object(index).expect("the name is free");
        }
        oid
    }
}

impl World {
    pub(super) fn new() -> World {
        let settings = ServerSettings::new();
        for (name, value) in [("max_connections", "5"), ("shared_buffers", "64"), ("wal_buffers", "64kB")] {
            settings.set_at_start(name, value, Source::CommandLine).expect("these settings exist");
        }
        let options = OpenOptions {
            vfs: Arc::new(SimulatedVfs::new(1)) as Arc<dyn Vfs>,
            settings: Arc::new(settings),
            background: false,
            segment_size_bytes: 64 << 10,
            csn_window: 4096,
            ..OpenOptions::new("/data")
        };
        let database = Database::open(options).expect("an empty disk becomes a database");
        let mut session = database.session().expect("there is room for one session");
        session.begin(TransactionOptions::default()).expect("no transaction is open");
        let maker = Maker { session: &session };
        let (int, text, bpchar) = (oids::INT4, oids::TEXT, oids::BPCHAR);
        maker.put(
            maker.table(
                "pgbench_branches",
                &[("bid", int, -1), ("bbalance", int, -1), ("filler", bpchar, 92)],
                10.0,
                1,
            ),
            &[0],
            &[],
        );
        maker.put(
            maker.table(
                "pgbench_tellers",
                &[("tid", int, -1), ("bid", int, -1), ("tbalance", int, -1), ("filler", bpchar, 88)],
                100.0,
                1,
            ),
            &[0],
            &[],
        );
        maker.put(
            maker.table(
                "pgbench_accounts",
                &[("aid", int, -1), ("bid", int, -1), ("abalance", int, -1), ("filler", bpchar, 88)],
                1e6,
                16_394,
            ),
            &[0],
            &[],
        );
        let history = [
            ("tid", int, -1),
            ("bid", int, -1),
            ("aid", int, -1),
            ("delta", int, -1),
            ("mtime", oids::TIMESTAMP, -1),
            ("filler", bpchar, 26),
        ];
        maker.put(maker.table("pgbench_history", &history, -1.0, 0), &[], &[]);
        maker.put(maker.table("test", &[("id", int, -1), ("info", text, -1)], -1.0, 0), &[], &[]);
        maker.put(maker.table("sli_test", &[("id", int, -1), ("info", text, -1)], 1e7, 63_000), &[0], &[]);
        let mut events = maker.table(
            "events",
            &[
                ("id", oids::INT8, -1),
                ("kind", oids::VARCHAR, 14),
                ("at", oids::TIMESTAMPTZ, -1),
                ("account", int, -1),
                ("amount", oids::NUMERIC, (10 << 16 | 2) + 4),
                ("done", oids::BOOL, -1),
            ],
            1e5,
            1_200,
        );
        events.columns[1].default = Some("'plain'".to_owned());
        events.columns[2].default = Some("now()".to_owned());
        let events = maker.put(events, &[0], &[("events_kind_at", &[1, 2], false), ("events_account", &[3], false)]);
        let mut partial = session
            .catalog()
            .table(events)
            .map(|table| IndexDef::new(session.allocate_oid(), table, "events_open", &[4], false));
        if let Some(index) = &mut partial {
            index.predicate = Some("not done".to_owned());
            index.expression_columns = vec![5];
            session.create_object(index.clone()).expect("the name is free");
        }
        let mut people = maker.table("people", &[("id", int, -1), ("name", text, -1), ("boss", int, -1)], 1e4, 80);
        people.constraints.push(ConstraintDef {
            oid: session.allocate_oid(),
            name: "people_name_check".to_owned(),
            kind: ConstraintKind::Check { expression: "name <> ''".to_owned(), no_inherit: false },
            validated: true,
            deferrable: false,
            initially_deferred: false,
            comment: None,
        });
        let people = maker.put(people, &[0], &[]);
        let lower = session.catalog().table(people).map(|table| {
            let mut index = IndexDef::new(session.allocate_oid(), table, "people_lower_name", &[], true);
            index.keys.push(IndexKey {
                column: None,
                expression: Some("lower(name)".to_owned()),
                descending: false,
                nulls_first: false,
            });
            index.expression_columns = vec![1];
            index
        });
        session.create_object(lower.expect("people was made above")).expect("the name is free");
        let mut view = maker.table("rich", &[("aid", int, -1), ("abalance", int, -1)], 0.0, 0);
        view.kind = RelationKind::View;
        view.view_query = Some("SELECT aid, abalance FROM public.pgbench_accounts WHERE abalance > 1000000".to_owned());
        session.create_object(view).expect("the name is free");
        let catalog = session.catalog();
        session.rollback().expect("a transaction is open");
        drop(session);
        World { catalog, _database: database }
    }

    pub(super) fn with_context<R>(&self, text: &str, work: impl FnOnce(&mut BindContext<'_>) -> R) -> R {
        let lookup = Lookup(&self.catalog);
        let mut eval = Eval { plain: PlainContext::default(), lookup: Lookup(&self.catalog) };
        let mut context = BindContext {
            needed: Vec::new(),
            named_relations: Vec::new(),
            catalog: &self.catalog,
            system: &NoSystemCatalog,
            lookup: &lookup,
            stored_lookup: &lookup,
            body_lookup: &lookup,
            body_path: &[PG_CATALOG_SCHEMA, PUBLIC_SCHEMA],
            eval: &mut eval,
            search_path: &[PG_CATALOG_SCHEMA, PUBLIC_SCHEMA],
            temporary_schema: None,
            variables: None,
            transition_tables: &[],
            database: "postgres",
            text,
            text_is_stored: false,
            stored_query_of: None,
            meaning: Meaning::default(),
            earlier: None,
            resolved: None,
            leaves_views_closed: false,
            parameter_values: None,
            settings: PlannerSettings::default(),
        };
        work(&mut context)
    }

    /// Parses, binds and plans one statement.
    pub(super) fn try_plan(&self, text: &str, types: &[SqlType]) -> Result<Statement> {
        let mut statements = parse(text, ParseOptions::default())?;
        let parsed = statements.pop().ok_or_else(|| Error::internal("no statement"))?;
        self.with_context(text, |context| {
            let types = types.iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>();
            super::plan_statement(&parsed.statement, context, &mut Parameters::declared(&types))
        })
    }

    pub(super) fn plan(&self, text: &str) -> Statement {
        self.try_plan(text, &[]).unwrap_or_else(|error| panic!("{text}\n{error}"))
    }

    /// The names of objects, as a session sees them.
    pub(super) fn view(&self) -> CatalogView {
        let callbacks = CatalogCallbacks { system: || &NoSystemCatalog, check_domain: |_, _, _| Ok(()) };
        let role = ActingRole { oid: BOOTSTRAP_ROLE, name: "postgres".to_owned(), is_superuser: true, exists: true };
        CatalogView::new(callbacks, Arc::clone(&self.catalog), "public".into(), "public".into(), &role, None)
    }

    /// The plan of a statement, as EXPLAIN shows it.
    pub(super) fn shown(&self, statement: &Statement) -> String {
        let options = ExplainOptions { verbose: true, costs: false, ..ExplainOptions::UNASKED };
        let context = ExplainContext {
            view: &self.view(),
            statement,
            format: &FormatSettings::default(),
            options,
            values: &[],
            measured: None,
        };
        let lines =
            text(&explain(query_plan(statement), context), options, &Summary { planning: None, execution: None });
        lines.join("\n") + "\n"
    }

    /// Asserts the plan of a statement.
    pub(super) fn expect(&self, text: &str, plan: Expect) {
        plan.assert_eq(&self.shown(&self.plan(text)));
    }

    /// Asserts the plan of a statement, and what EXPLAIN leaves out of it.
    pub(super) fn expect_details(&self, text: &str, plan: Expect, details: Expect) {
        self.expect(text, plan);
        let lines = details::details(&self.view(), query_plan(&self.plan(text)));
        details.assert_eq(&(lines.join("\n") + "\n"));
    }

    /// Asserts the types of a statement's parameters.
    pub(super) fn expect_parameters(&self, text: &str, types: &[Oid]) {
        let found = self.plan(text).parameters.iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>();
        assert_eq!(found, types, "{text}");
    }

    /// Asserts an error: code, position if it has one, message, detail and hint.
    pub(super) fn expect_error(&self, text: &str, error: Expect) {
        let found = match self.try_plan(text, &[]) {
            Ok(statement) => panic!("{text}\nplanned:\n{}", self.shown(&statement)),
            Err(error) => error,
        };
        let fields = found.fields();
        let position = fields.position.map_or_else(String::new, |position| format!(" at {position}"));
        let mut shown = format!("{}{position}: {}", fields.sqlstate, fields.message);
        for (name, line) in [("DETAIL", &fields.detail), ("HINT", &fields.hint)] {
            if let Some(line) = line {
                shown = format!("{shown}\n{name}: {line}");
            }
        }
        error.assert_eq(&shown);
    }
}

/// The plan of a statement that is no utility statement.
fn query_plan(statement: &Statement) -> &Plan {
    match &statement.kind {
        StatementKind::Query(plan) => plan,
        StatementKind::Utility(_) => panic!("it has no plan"),
    }
}
