//! The one list of statement kinds.

use base::Result;
use pg_query::NodeEnum;
use pg_query::protobuf as pb;

use super::{Converter, kind_of, names, optional, required_range_var, unexpected};
use crate::tree::{Discard, Execute, LockTable, Name, Prepare, Statement, Truncate};

impl Converter<'_> {
    /// Converts a statement of any kind.
    pub(super) fn statement(&mut self, node: &NodeEnum) -> Result<Statement> {
        self.nested(|converter| converter.statement_inner(node))
    }

    fn statement_inner(&mut self, node: &NodeEnum) -> Result<Statement> {
        Ok(match node {
            NodeEnum::SelectStmt(select) => match &select.into_clause {
                Some(into) => self.select_into(select, into)?,
                None => Statement::Select(Box::new(self.query(select)?)),
            },
            NodeEnum::InsertStmt(insert) => Statement::Insert(Box::new(self.insert(insert)?)),
            NodeEnum::UpdateStmt(update) => Statement::Update(Box::new(self.update(update)?)),
            NodeEnum::DeleteStmt(delete) => Statement::Delete(Box::new(self.delete(delete)?)),
            NodeEnum::MergeStmt(merge) => Statement::Merge(Box::new(self.merge(merge)?)),

            NodeEnum::TransactionStmt(transaction) => Statement::Transaction(self.transaction(transaction)?),
            NodeEnum::PrepareStmt(prepare) => Statement::Prepare(Box::new(Prepare {
                name: Name::new(&prepare.name),
                types: self.type_names(&prepare.argtypes)?,
                statement: self.statement(super::required(&prepare.query)?)?,
            })),
            NodeEnum::ExecuteStmt(execute) => {
                Statement::Execute(Execute { name: Name::new(&execute.name), parameters: self.exprs(&execute.params)? })
            }
            NodeEnum::DeallocateStmt(deallocate) => Statement::Deallocate(optional(&deallocate.name)),
            NodeEnum::DeclareCursorStmt(declare) => Statement::DeclareCursor(Box::new(self.declare_cursor(declare)?)),
            NodeEnum::FetchStmt(fetch) => Statement::Fetch(super::utility::fetch(fetch)),
            NodeEnum::ClosePortalStmt(close) => Statement::ClosePortal(optional(&close.portalname)),
            NodeEnum::ExplainStmt(explain) => Statement::Explain(Box::new(self.explain(explain)?)),
            NodeEnum::CopyStmt(copy) => Statement::Copy(Box::new(self.copy(copy)?)),
            NodeEnum::VacuumStmt(vacuum) => Statement::Vacuum(self.vacuum(vacuum)?),
            NodeEnum::CheckPointStmt(_) => Statement::Checkpoint,
            NodeEnum::VariableSetStmt(set) => Statement::Set(self.variable_set(set)?),
            NodeEnum::VariableShowStmt(show) => Statement::Show(Name::new(&show.name)),
            NodeEnum::DiscardStmt(discard) => Statement::Discard(match discard.target() {
                pb::DiscardMode::DiscardPlans => Discard::Plans,
                pb::DiscardMode::DiscardSequences => Discard::Sequences,
                pb::DiscardMode::DiscardTemp => Discard::Temporary,
                _ => Discard::All,
            }),
            NodeEnum::ListenStmt(listen) => Statement::Listen(Name::new(&listen.conditionname)),
            NodeEnum::UnlistenStmt(unlisten) => Statement::Unlisten(optional(&unlisten.conditionname)),
            NodeEnum::NotifyStmt(notify) => {
                Statement::Notify { channel: Name::new(&notify.conditionname), payload: notify.payload.clone() }
            }
            NodeEnum::LockStmt(lock) => Statement::Lock(LockTable {
                tables: self.relations(&lock.relations)?,
                mode: lock.mode,
                nowait: lock.nowait,
            }),
            NodeEnum::DoStmt(block) => self.do_block(block)?,
            NodeEnum::CallStmt(call) => {
                let call = call.funccall.as_ref().ok_or_else(|| unexpected("CALL of nothing"))?;
                Statement::Call(Box::new(self.function_call(call)?))
            }
            NodeEnum::ConstraintsSetStmt(set) => {
                Statement::SetConstraints { constraints: self.relations(&set.constraints)?, deferred: set.deferred }
            }
            NodeEnum::LoadStmt(load) => Statement::Load(load.filename.clone()),

            NodeEnum::CreateStmt(create) => Statement::CreateTable(Box::new(self.create_table(create)?)),
            NodeEnum::CreateTableAsStmt(create) => Statement::CreateTableAs(Box::new(self.create_table_as(create)?)),
            NodeEnum::IndexStmt(create) => Statement::CreateIndex(Box::new(self.create_index(create)?)),
            NodeEnum::CreateTrigStmt(create) => Statement::CreateTrigger(Box::new(self.create_trigger(create)?)),
            NodeEnum::ViewStmt(create) => Statement::CreateView(Box::new(self.create_view(create)?)),
            NodeEnum::CreateSeqStmt(create) => Statement::CreateSequence(self.create_sequence(create)?),
            NodeEnum::AlterSeqStmt(alter) => Statement::AlterSequence(self.alter_sequence(alter)?),
            NodeEnum::CreateSchemaStmt(create) => Statement::CreateSchema(self.create_schema(create)?),
            NodeEnum::CreateFunctionStmt(create) => Statement::CreateFunction(Box::new(self.create_function(create)?)),
            NodeEnum::AlterFunctionStmt(alter) => Statement::AlterFunction(self.alter_function(alter)?),
            NodeEnum::CreateDomainStmt(create) => Statement::CreateDomain(Box::new(self.create_domain(create)?)),
            NodeEnum::AlterDomainStmt(alter) => Statement::AlterDomain(Box::new(self.alter_domain(alter)?)),
            NodeEnum::CreateEnumStmt(create) => Statement::CreateEnum {
                name: super::qualified_list(&create.type_name)?,
                labels: names(&create.vals).iter().map(ToString::to_string).collect(),
            },
            NodeEnum::AlterEnumStmt(alter) => Statement::AlterEnum(super::ddl::alter_enum(alter)?),
            NodeEnum::CompositeTypeStmt(create) => Statement::CreateComposite {
                name: required_range_var(&create.typevar)?,
                columns: self.column_definitions(&create.coldeflist)?,
            },
            NodeEnum::CreateRoleStmt(create) => Statement::CreateRole(self.create_role(create)?),
            NodeEnum::AlterRoleStmt(alter) => Statement::AlterRole(self.alter_role(alter)?),
            NodeEnum::AlterRoleSetStmt(alter) => Statement::AlterRoleSet {
                role: alter.role.as_ref().map(super::utility::role),
                database: optional(&alter.database),
                set: self.required_set(&alter.setstmt)?,
            },
            NodeEnum::DropRoleStmt(drop) => {
                Statement::DropRole { roles: super::utility::roles(&drop.roles), if_exists: drop.missing_ok }
            }
            NodeEnum::GrantStmt(grant) => Statement::Grant(Box::new(self.grant(grant)?)),
            NodeEnum::GrantRoleStmt(grant) => {
                self.refuse_later_grant(grant)?;
                Statement::GrantRole(super::ddl::grant_role(grant))
            }
            NodeEnum::AlterDefaultPrivilegesStmt(alter) => {
                let grant = alter.action.as_ref().ok_or_else(|| unexpected("no action"))?;
                let grant = self.grant(grant)?;
                Statement::AlterDefaultPrivileges(Box::new(super::ddl::default_privileges(&alter.options, grant)))
            }
            NodeEnum::ReassignOwnedStmt(reassign) => Statement::ReassignOwned {
                roles: super::utility::roles(&reassign.roles),
                new_role: super::utility::required_role(&reassign.newrole)?,
            },
            NodeEnum::DropOwnedStmt(drop) => Statement::DropOwned {
                roles: super::utility::roles(&drop.roles),
                cascade: drop.behavior() == pb::DropBehavior::DropCascade,
            },
            NodeEnum::DropStmt(drop) => Statement::Drop(self.drop(drop)?),
            NodeEnum::TruncateStmt(truncate) => Statement::Truncate(Truncate {
                tables: self.relations(&truncate.relations)?,
                restart_identity: truncate.restart_seqs,
                cascade: truncate.behavior() == pb::DropBehavior::DropCascade,
            }),
            NodeEnum::AlterTableStmt(alter) => Statement::AlterTable(Box::new(self.alter_table(alter)?)),
            NodeEnum::RenameStmt(rename) => Statement::Rename(Box::new(self.rename(rename)?)),
            NodeEnum::AlterOwnerStmt(alter) => Statement::AlterOwner {
                object: self.object(alter.object_type(), &alter.relation, &alter.object)?,
                new_owner: super::utility::required_role(&alter.newowner)?,
            },
            NodeEnum::AlterObjectSchemaStmt(alter) => Statement::AlterObjectSchema {
                object: self.object(alter.object_type(), &alter.relation, &alter.object)?,
                new_schema: Name::new(&alter.newschema),
                if_exists: alter.missing_ok,
            },
            NodeEnum::CommentStmt(comment) => Statement::Comment {
                object: self.object(comment.objtype(), &None, &comment.object)?,
                comment: if comment.comment.is_empty() { None } else { Some(comment.comment.clone()) },
            },
            NodeEnum::ReindexStmt(reindex) => Statement::Reindex(self.reindex(reindex)?),
            NodeEnum::ClusterStmt(cluster) => Statement::Cluster {
                table: cluster.relation.as_ref().map(super::range_var),
                index: optional(&cluster.indexname),
            },
            NodeEnum::RefreshMatViewStmt(refresh) => Statement::RefreshMaterializedView {
                view: required_range_var(&refresh.relation)?,
                concurrently: refresh.concurrent,
                no_data: refresh.skip_data,
            },
            NodeEnum::CreateExtensionStmt(create) => {
                Statement::CreateExtension { name: Name::new(&create.extname), if_not_exists: create.if_not_exists }
            }
            NodeEnum::CreatedbStmt(create) => Statement::CreateDatabase {
                name: Name::new(&create.dbname),
                options: self.definitions(&create.options)?,
            },
            NodeEnum::DropdbStmt(drop) => Statement::DropDatabase {
                name: Name::new(&drop.dbname),
                if_exists: drop.missing_ok,
                // The grammar has no other option.
                force: !drop.options.is_empty(),
            },
            NodeEnum::AlterDatabaseStmt(alter) => {
                Statement::AlterDatabase { name: Name::new(&alter.dbname), options: self.definitions(&alter.options)? }
            }
            NodeEnum::AlterDatabaseSetStmt(alter) => {
                Statement::AlterDatabaseSet { name: Name::new(&alter.dbname), set: self.required_set(&alter.setstmt)? }
            }
            NodeEnum::AlterSystemStmt(alter) => Statement::AlterSystem(self.required_set(&alter.setstmt)?),
            other => Statement::Unsupported(unsupported(other).ok_or_else(|| unexpected(&kind_of(other)))?),
        })
    }
}

/// The command tag of a statement that Cohort leaves out; `None` for other statements.
fn unsupported(node: &NodeEnum) -> Option<&'static str> {
    Some(match node {
        NodeEnum::AlterDatabaseRefreshCollStmt(_) => "ALTER DATABASE",
        NodeEnum::AlterCollationStmt(_) => "ALTER COLLATION",
        NodeEnum::CreateTableSpaceStmt(_) => "CREATE TABLESPACE",
        NodeEnum::DropTableSpaceStmt(_) => "DROP TABLESPACE",
        NodeEnum::AlterTableSpaceOptionsStmt(_) => "ALTER TABLESPACE",
        NodeEnum::AlterTableMoveAllStmt(_) => "ALTER TABLE ALL IN TABLESPACE",
        NodeEnum::AlterExtensionStmt(_) | NodeEnum::AlterExtensionContentsStmt(_) => "ALTER EXTENSION",
        NodeEnum::CreateFdwStmt(_) => "CREATE FOREIGN DATA WRAPPER",
        NodeEnum::AlterFdwStmt(_) => "ALTER FOREIGN DATA WRAPPER",
        NodeEnum::CreateForeignServerStmt(_) => "CREATE SERVER",
        NodeEnum::AlterForeignServerStmt(_) => "ALTER SERVER",
        NodeEnum::CreateForeignTableStmt(_) => "CREATE FOREIGN TABLE",
        NodeEnum::CreateUserMappingStmt(_) => "CREATE USER MAPPING",
        NodeEnum::AlterUserMappingStmt(_) => "ALTER USER MAPPING",
        NodeEnum::DropUserMappingStmt(_) => "DROP USER MAPPING",
        NodeEnum::ImportForeignSchemaStmt(_) => "IMPORT FOREIGN SCHEMA",
        NodeEnum::CreatePolicyStmt(_) => "CREATE POLICY",
        NodeEnum::AlterPolicyStmt(_) => "ALTER POLICY",
        NodeEnum::CreateAmStmt(_) => "CREATE ACCESS METHOD",
        NodeEnum::CreateEventTrigStmt(_) => "CREATE EVENT TRIGGER",
        NodeEnum::AlterEventTrigStmt(_) => "ALTER EVENT TRIGGER",
        NodeEnum::CreatePlangStmt(_) => "CREATE LANGUAGE",
        NodeEnum::DefineStmt(define) => match define.kind() {
            pb::ObjectType::ObjectAggregate => "CREATE AGGREGATE",
            pb::ObjectType::ObjectOperator => "CREATE OPERATOR",
            pb::ObjectType::ObjectCollation => "CREATE COLLATION",
            pb::ObjectType::ObjectType => "CREATE TYPE",
            _ => "CREATE TEXT SEARCH",
        },
        NodeEnum::CreateOpClassStmt(_) => "CREATE OPERATOR CLASS",
        NodeEnum::CreateOpFamilyStmt(_) => "CREATE OPERATOR FAMILY",
        NodeEnum::AlterOpFamilyStmt(_) => "ALTER OPERATOR FAMILY",
        NodeEnum::AlterOperatorStmt(_) => "ALTER OPERATOR",
        NodeEnum::AlterTypeStmt(_) => "ALTER TYPE",
        NodeEnum::SecLabelStmt(_) => "SECURITY LABEL",
        NodeEnum::CreateStatsStmt(_) => "CREATE STATISTICS",
        NodeEnum::AlterStatsStmt(_) => "ALTER STATISTICS",
        NodeEnum::AlterObjectDependsStmt(_) => "ALTER ... DEPENDS ON EXTENSION",
        NodeEnum::RuleStmt(_) => "CREATE RULE",
        NodeEnum::CreateRangeStmt(_) => "CREATE TYPE AS RANGE",
        NodeEnum::CreateConversionStmt(_) => "CREATE CONVERSION",
        NodeEnum::CreateCastStmt(_) => "CREATE CAST",
        NodeEnum::CreateTransformStmt(_) => "CREATE TRANSFORM",
        NodeEnum::AlterTsdictionaryStmt(_) => "ALTER TEXT SEARCH DICTIONARY",
        NodeEnum::AlterTsconfigurationStmt(_) => "ALTER TEXT SEARCH CONFIGURATION",
        NodeEnum::CreatePublicationStmt(_) => "CREATE PUBLICATION",
        NodeEnum::AlterPublicationStmt(_) => "ALTER PUBLICATION",
        NodeEnum::CreateSubscriptionStmt(_) => "CREATE SUBSCRIPTION",
        NodeEnum::AlterSubscriptionStmt(_) => "ALTER SUBSCRIPTION",
        NodeEnum::DropSubscriptionStmt(_) => "DROP SUBSCRIPTION",
        _ => return None,
    })
}
