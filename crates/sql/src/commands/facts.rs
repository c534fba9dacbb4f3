//! The table of statements: what sessions and the log ask of a statement before it runs. Each kind of statement has a row, none by default.
//!
//! The roles that may run a statement are checked in [`ownership`](super::ownership), which has no default either.

use std::borrow::Cow;

use syntax::tree::{Discard, ObjectKind, SetAction, Statement};

use super::rename::kind_words;
use crate::state::log::StatementClass;

/// A row of the table.
pub struct StatementFacts {
    /// Its tag without numbers: its name in messages, and in the log while it runs.
    pub tag: Cow<'static, str>,
    /// Its class for `log_statement`. That of a statement within it counts where there is one: see [`class_of`](super::class_of).
    pub class: StatementClass,
    /// Its name in the refusal to run in a transaction block, if it refuses.
    pub refused_in_block: Option<&'static str>,
    /// It is refused in a read-only transaction, as it changes definitions or truncates.
    pub is_refused_read_only: bool,
    /// Its text, or a part of it, is kept in the catalog and read again by others.
    pub is_stored: bool,
    /// The times at which the transaction's snapshot is taken, above READ COMMITTED.
    pub snapshot: Snapshot,
}

/// When the transaction's snapshot is taken for a statement, if that has not been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshot {
    /// When it is bound: it reads the catalog as a query does.
    ToBind,
    /// When it runs.
    ToRun,
    /// Never.
    Never,
}

impl StatementFacts {
    /// A statement with a plan.
    fn planned(tag: &'static str, class: StatementClass) -> StatementFacts {
        StatementFacts { is_stored: false, snapshot: Snapshot::ToBind, class, ..StatementFacts::utility(tag) }
    }

    /// A utility statement that changes no definition.
    fn utility(tag: &'static str) -> StatementFacts {
        StatementFacts {
            tag: tag.into(),
            class: StatementClass::Other,
            refused_in_block: None,
            is_refused_read_only: false,
            is_stored: true,
            snapshot: Snapshot::ToRun,
        }
    }

    /// A statement that changes definitions.
    fn definition(tag: impl Into<Cow<'static, str>>) -> StatementFacts {
        StatementFacts {
            tag: tag.into(),
            class: StatementClass::Definition,
            is_refused_read_only: true,
            ..StatementFacts::utility("")
        }
    }

    /// A statement about the server or a database as a whole. It counts as a definition for the log.
    fn of_server(tag: &'static str) -> StatementFacts {
        StatementFacts { class: StatementClass::Definition, ..StatementFacts::utility(tag) }
    }

    fn without_snapshot(self) -> StatementFacts {
        StatementFacts { snapshot: Snapshot::Never, ..self }
    }

    fn not_stored(self) -> StatementFacts {
        StatementFacts { is_stored: false, ..self }
    }

    fn refused_in_block(self, name: Option<&'static str>) -> StatementFacts {
        StatementFacts { refused_in_block: name, ..self }
    }
}

/// The row of a statement.
pub fn facts(statement: &Statement) -> StatementFacts {
    let (planned, utility) = (StatementFacts::planned, StatementFacts::utility);
    let definition = |tag: &'static str| StatementFacts::definition(tag);
    let changes = |verb: &str, kind: ObjectKind| StatementFacts::definition(format!("{verb} {}", kind_words(kind)));
    match statement {
        Statement::Select(_) => planned("SELECT", StatementClass::Other),
        Statement::Insert(_) => planned("INSERT", StatementClass::Change),
        Statement::Update(_) => planned("UPDATE", StatementClass::Change),
        Statement::Delete(_) => planned("DELETE", StatementClass::Change),
        Statement::Merge(_) => planned("MERGE", StatementClass::Change),
        Statement::Transaction(transaction) => utility(transaction.name()),
        Statement::Prepare(_) => utility("PREPARE").not_stored(),
        Statement::Execute(_) => utility("EXECUTE").not_stored(),
        Statement::Deallocate(None) => utility("DEALLOCATE ALL"),
        Statement::Deallocate(Some(_)) => utility("DEALLOCATE"),
        Statement::DeclareCursor(_) => planned("DECLARE CURSOR", StatementClass::Other),
        Statement::Fetch(fetch) => utility(if fetch.is_move { "MOVE" } else { "FETCH" }).without_snapshot(),
        Statement::ClosePortal(None) => utility("CLOSE CURSOR ALL"),
        Statement::ClosePortal(Some(_)) => utility("CLOSE CURSOR"),
        Statement::Explain(_) => planned("EXPLAIN", StatementClass::Other),
        Statement::Copy(copy) => {
            let class = if copy.is_from { StatementClass::Change } else { StatementClass::Other };
            StatementFacts { class, ..utility("COPY").not_stored() }
        }
        Statement::Vacuum(vacuum) if vacuum.is_vacuum => utility("VACUUM").refused_in_block(Some("VACUUM")),
        Statement::Vacuum(_) => utility("ANALYZE"),
        Statement::Checkpoint => utility("CHECKPOINT").without_snapshot(),
        Statement::Set(set) if matches!(set.action, SetAction::Reset | SetAction::ResetAll) => {
            utility("RESET").without_snapshot()
        }
        Statement::Set(_) => utility("SET").without_snapshot(),
        Statement::Show(_) => utility("SHOW").without_snapshot(),
        Statement::Discard(Discard::All) => utility("DISCARD ALL").refused_in_block(Some("DISCARD ALL")),
        Statement::Discard(Discard::Plans) => utility("DISCARD PLANS"),
        Statement::Discard(Discard::Sequences) => utility("DISCARD SEQUENCES"),
        Statement::Discard(Discard::Temporary) => utility("DISCARD TEMP"),
        Statement::Listen(_) => utility("LISTEN").without_snapshot(),
        Statement::Unlisten(_) => utility("UNLISTEN").without_snapshot(),
        Statement::Notify { .. } => utility("NOTIFY").without_snapshot(),
        Statement::Lock(_) => utility("LOCK TABLE").without_snapshot(),
        Statement::Do { .. } => utility("DO"),
        Statement::Call(_) => planned("CALL", StatementClass::Other),
        Statement::SetConstraints { .. } => utility("SET CONSTRAINTS").without_snapshot(),
        Statement::Load(_) => utility("LOAD"),
        Statement::CreateTable(_) => definition("CREATE TABLE"),
        Statement::CreateTableAs(create) => {
            let tag = match (create.is_select_into, create.materialized_view) {
                (true, _) => "SELECT INTO",
                (false, true) => "CREATE MATERIALIZED VIEW",
                (false, false) => "CREATE TABLE AS",
            };
            StatementFacts { snapshot: Snapshot::ToBind, ..definition(tag) }
        }
        Statement::CreateIndex(index) => {
            definition("CREATE INDEX").refused_in_block(index.concurrently.then_some("CREATE INDEX CONCURRENTLY"))
        }
        Statement::CreateTrigger(_) => definition("CREATE TRIGGER"),
        Statement::CreateView(_) => definition("CREATE VIEW"),
        Statement::CreateSequence(_) => definition("CREATE SEQUENCE"),
        Statement::AlterSequence(_) => definition("ALTER SEQUENCE"),
        Statement::CreateSchema(_) => definition("CREATE SCHEMA"),
        Statement::CreateFunction(create) if create.is_procedure => definition("CREATE PROCEDURE"),
        Statement::CreateFunction(_) => definition("CREATE FUNCTION"),
        Statement::AlterFunction(_) => definition("ALTER FUNCTION"),
        Statement::CreateDomain(_) => definition("CREATE DOMAIN"),
        Statement::AlterDomain(_) => definition("ALTER DOMAIN"),
        Statement::CreateEnum { .. } | Statement::CreateComposite { .. } => definition("CREATE TYPE"),
        Statement::AlterEnum(_) => definition("ALTER TYPE"),
        Statement::CreateRole(_) => definition("CREATE ROLE"),
        Statement::AlterRole(_) | Statement::AlterRoleSet { .. } => definition("ALTER ROLE"),
        Statement::DropRole { .. } => definition("DROP ROLE"),
        Statement::Grant(grant) => definition(if grant.is_grant { "GRANT" } else { "REVOKE" }),
        Statement::GrantRole(_) => definition("GRANT ROLE"),
        Statement::AlterDefaultPrivileges(_) => definition("ALTER DEFAULT PRIVILEGES"),
        Statement::ReassignOwned { .. } => definition("REASSIGN OWNED"),
        Statement::DropOwned { .. } => definition("DROP OWNED"),
        Statement::Drop(drop) => {
            changes("DROP", drop.kind).refused_in_block(drop.concurrently.then_some("DROP INDEX CONCURRENTLY"))
        }
        Statement::Truncate(_) => StatementFacts { class: StatementClass::Change, ..definition("TRUNCATE TABLE") },
        Statement::AlterTable(alter) => changes("ALTER", alter.kind),
        Statement::Rename(rename) => match rename.object.kind {
            ObjectKind::Column => changes("ALTER", rename.relation_kind),
            kind => changes("ALTER", kind),
        },
        Statement::AlterOwner { object, .. } | Statement::AlterObjectSchema { object, .. } => {
            changes("ALTER", object.kind)
        }
        Statement::Comment { .. } => definition("COMMENT"),
        Statement::Reindex(reindex) => {
            utility(reindex.name()).refused_in_block(reindex.needs_no_block().then(|| reindex.name()))
        }
        Statement::Cluster { .. } => StatementFacts::of_server("CLUSTER"),
        Statement::RefreshMaterializedView { .. } => definition("REFRESH MATERIALIZED VIEW"),
        Statement::CreateExtension { .. } => StatementFacts::of_server("CREATE EXTENSION"),
        Statement::CreateDatabase { .. } => definition("CREATE DATABASE").refused_in_block(Some("CREATE DATABASE")),
        Statement::DropDatabase { .. } => definition("DROP DATABASE").refused_in_block(Some("DROP DATABASE")),
        Statement::AlterDatabase { .. } | Statement::AlterDatabaseSet { .. } => definition("ALTER DATABASE"),
        Statement::AlterSystem(_) => StatementFacts::of_server("ALTER SYSTEM").refused_in_block(Some("ALTER SYSTEM")),
        Statement::Unsupported(what) => utility(what),
    }
}
