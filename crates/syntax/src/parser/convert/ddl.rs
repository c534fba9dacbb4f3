//! Statements that make, change and drop objects.

use base::{Error, Result};
use pg_query::NodeEnum;
use pg_query::protobuf::{self as pb, Node};
use schema::catalog::{TriggerEnabled, TriggerTiming};

use super::expr::optional_qualified;
use super::query::{on_commit, persistence};
use super::utility::{required_role, role, roles};
use super::{
    Converter, kind_of, names, node, nodes, optional, qualified, qualified_list, range_var, required,
    required_range_var, string_of, unexpected,
};
use crate::tree::{
    AlterDomain, AlterDomainAction, AlterEnum, AlterFunction, AlterRole, AlterSequence, AlterTable, AlterTableAction,
    ColumnDefinition, Constraint, ConstraintAttribute, ConstraintKind, CreateDomain, CreateFunction, CreateIndex,
    CreateRole, CreateSchema, CreateSequence, CreateTable, CreateTableAs, CreateTrigger, CreateView, DefaultPrivileges,
    Drop, ForeignKey, FunctionParameter, FunctionSignature, Grant, GrantRole, KeyConstraint, Name, ObjectKind,
    ObjectName, ParameterMode, QualifiedName, Reindex, ReindexTarget, Rename, ReplicaIdentityOf, Statement,
    TableElement, TransitionTable, TypeName, WhichTriggers,
};

impl Converter<'_> {
    pub(super) fn create_table(&mut self, create: &pb::CreateStmt) -> Result<CreateTable> {
        let elements = nodes(&create.table_elts)
            .map(|element| match element {
                NodeEnum::ColumnDef(column) => self.column_definition(column).map(TableElement::Column),
                NodeEnum::Constraint(constraint) => self.own_constraint(constraint).map(TableElement::Constraint),
                NodeEnum::TableLikeClause(like) => {
                    Ok(TableElement::Like { table: required_range_var(&like.relation)?, options: like.options })
                }
                other => Err(unexpected(&kind_of(other))),
            })
            .collect::<Result<_>>()?;
        Ok(CreateTable {
            name: required_range_var(&create.relation)?,
            persistence: create.relation.as_ref().map(persistence).unwrap_or_default(),
            elements,
            inherits: self.relations(&create.inh_relations)?,
            partitioned: create.partspec.is_some() || create.partbound.is_some(),
            of_type: create.of_typename.as_ref().map(|name| self.type_name(name)).transpose()?,
            options: self.definitions(&create.options)?,
            on_commit: on_commit(create.oncommit()),
            tablespace: optional(&create.tablespacename),
            access_method: optional(&create.access_method),
            if_not_exists: create.if_not_exists,
        })
    }

    pub(super) fn column_definitions(&mut self, list: &[Node]) -> Result<Vec<ColumnDefinition>> {
        nodes(list)
            .map(|column| match column {
                NodeEnum::ColumnDef(column) => self.column_definition(column),
                other => Err(unexpected(&kind_of(other))),
            })
            .collect()
    }

    fn column_definition(&mut self, column: &pb::ColumnDef) -> Result<ColumnDefinition> {
        let collation = collation_of(&column.coll_clause)?;
        if !column.storage_name.is_empty() {
            return Err(self.later_syntax("storage", column.location));
        }
        Ok(ColumnDefinition {
            name: Name::new(&column.colname),
            type_name: column.type_name.as_ref().map(|name| self.type_name(name)).transpose()?,
            constraints: self.constraints(&column.constraints)?,
            collation,
            compression: optional(&column.compression),
            using: self.optional_expr(&column.raw_default)?,
            location: column.location,
        })
    }

    fn constraints(&mut self, list: &[Node]) -> Result<Vec<Constraint>> {
        nodes(list)
            .map(|constraint| match constraint {
                NodeEnum::Constraint(constraint) => self.constraint(constraint),
                other => Err(unexpected(&kind_of(other))),
            })
            .collect()
    }

    /// A constraint that does not stand behind a column: it can't be NOT NULL.
    fn own_constraint(&mut self, constraint: &pb::Constraint) -> Result<Constraint> {
        match constraint.contype() {
            pb::ConstrType::ConstrNotnull => Err(self.later_syntax("not", constraint.location)),
            _ => self.constraint(constraint),
        }
    }

    fn constraint(&mut self, constraint: &pb::Constraint) -> Result<Constraint> {
        use pb::ConstrType as Type;
        self.refuse_later_constraint(constraint)?;
        let kind = match constraint.contype() {
            Type::ConstrNull => ConstraintKind::Null,
            Type::ConstrNotnull => ConstraintKind::NotNull,
            Type::ConstrDefault => ConstraintKind::Default(self.required_expr(&constraint.raw_expr)?),
            Type::ConstrIdentity => ConstraintKind::Identity {
                always: constraint.generated_when == "a",
                options: self.definitions(&constraint.options)?,
            },
            Type::ConstrGenerated => ConstraintKind::Generated(self.required_expr(&constraint.raw_expr)?),
            Type::ConstrCheck => ConstraintKind::Check(self.required_expr(&constraint.raw_expr)?),
            Type::ConstrPrimary => ConstraintKind::PrimaryKey(self.key_constraint(constraint)?),
            Type::ConstrUnique => ConstraintKind::Unique(self.key_constraint(constraint)?),
            Type::ConstrForeign => {
                let letter = |text: &str, default| text.chars().next().unwrap_or(default);
                ConstraintKind::ForeignKey(Box::new(ForeignKey {
                    columns: names(&constraint.fk_attrs),
                    table: required_range_var(&constraint.pktable)?,
                    referenced: names(&constraint.pk_attrs),
                    match_type: letter(&constraint.fk_matchtype, 's'),
                    on_update: letter(&constraint.fk_upd_action, 'a'),
                    on_delete: letter(&constraint.fk_del_action, 'a'),
                    on_delete_columns: names(&constraint.fk_del_set_cols),
                }))
            }
            Type::ConstrExclusion => ConstraintKind::Exclusion,
            Type::ConstrAttrDeferrable => ConstraintKind::Attribute(ConstraintAttribute::Deferrable),
            Type::ConstrAttrNotDeferrable => ConstraintKind::Attribute(ConstraintAttribute::NotDeferrable),
            Type::ConstrAttrDeferred => ConstraintKind::Attribute(ConstraintAttribute::Deferred),
            Type::ConstrAttrImmediate => ConstraintKind::Attribute(ConstraintAttribute::Immediate),
            Type::ConstrAttrEnforced | Type::ConstrAttrNotEnforced | Type::Undefined => {
                return Err(unexpected("Constraint"));
            }
        };
        Ok(Constraint {
            name: optional(&constraint.conname),
            kind,
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initdeferred,
            not_valid: constraint.skip_validation,
            no_inherit: constraint.is_no_inherit,
            location: constraint.location,
        })
    }

    fn key_constraint(&mut self, constraint: &pb::Constraint) -> Result<KeyConstraint> {
        Ok(KeyConstraint {
            columns: names(&constraint.keys),
            including: names(&constraint.including),
            nulls_not_distinct: constraint.nulls_not_distinct,
            index: optional(&constraint.indexname),
            tablespace: optional(&constraint.indexspace),
            options: self.definitions(&constraint.options)?,
        })
    }

    pub(super) fn select_into(&mut self, select: &pb::SelectStmt, into: &pb::IntoClause) -> Result<Statement> {
        let mut query = self.query(select)?;
        if let crate::tree::QueryBody::Select(select) = &mut query.body {
            // It has become the statement's own.
            select.into = None;
        }
        Ok(Statement::CreateTableAs(Box::new(CreateTableAs {
            into: self.into(into)?,
            source: Statement::Select(Box::new(query)),
            materialized_view: false,
            is_select_into: true,
            if_not_exists: false,
        })))
    }

    pub(super) fn create_table_as(&mut self, create: &pb::CreateTableAsStmt) -> Result<CreateTableAs> {
        let into = create.into.as_ref().ok_or_else(|| unexpected("no target"))?;
        Ok(CreateTableAs {
            into: self.into(into)?,
            source: self.statement(required(&create.query)?)?,
            materialized_view: create.objtype() == pb::ObjectType::ObjectMatview,
            is_select_into: create.is_select_into,
            if_not_exists: create.if_not_exists,
        })
    }

    pub(super) fn create_trigger(&mut self, create: &pb::CreateTrigStmt) -> Result<CreateTrigger> {
        // The grammar's numbers: BEFORE 2, INSERT 4, DELETE 8, UPDATE 16, TRUNCATE 32, INSTEAD OF 64.
        let has = |event: i32| create.events & event != 0;
        Ok(CreateTrigger {
            replace: create.replace,
            is_constraint: create.isconstraint,
            name: Name::new(&create.trigname),
            table: required_range_var(&create.relation)?,
            function: qualified_list(&create.funcname)?,
            arguments: nodes(&create.args).filter_map(string_of).map(str::to_owned).collect(),
            timing: match create.timing {
                2 => TriggerTiming::Before,
                64 => TriggerTiming::InsteadOf,
                _ => TriggerTiming::After,
            },
            for_each_row: create.row,
            on_insert: has(4),
            on_update: has(16),
            on_delete: has(8),
            on_truncate: has(32),
            update_columns: names(&create.columns),
            condition: self.optional_expr(&create.when_clause)?,
            transition_tables: create
                .transition_rels
                .iter()
                .filter_map(|node| match &node.node {
                    Some(NodeEnum::TriggerTransition(transition)) => Some(TransitionTable {
                        name: Name::new(&transition.name),
                        is_new: transition.is_new,
                        is_table: transition.is_table,
                    }),
                    _ => None,
                })
                .collect(),
            deferrable: create.deferrable,
            initially_deferred: create.initdeferred,
            from_table: create.constrrel.as_ref().map(range_var),
        })
    }

    pub(super) fn create_index(&mut self, create: &pb::IndexStmt) -> Result<CreateIndex> {
        Ok(CreateIndex {
            name: optional(&create.idxname),
            table: required_range_var(&create.relation)?,
            access_method: optional(&create.access_method).unwrap_or_else(|| Name::new("btree")),
            elements: self.index_elements(&create.index_params)?,
            including: self.index_elements(&create.index_including_params)?,
            options: self.definitions(&create.options)?,
            filter: self.optional_expr(&create.where_clause)?,
            unique: create.unique,
            nulls_not_distinct: create.nulls_not_distinct,
            concurrently: create.concurrent,
            tablespace: optional(&create.table_space),
            if_not_exists: create.if_not_exists,
        })
    }

    pub(super) fn create_view(&mut self, create: &pb::ViewStmt) -> Result<CreateView> {
        let NodeEnum::SelectStmt(select) = required(&create.query)? else { return Err(unexpected("view query")) };
        Ok(CreateView {
            name: required_range_var(&create.view)?,
            persistence: create.view.as_ref().map(persistence).unwrap_or_default(),
            columns: names(&create.aliases),
            query: self.query(select)?,
            replace: create.replace,
            options: self.definitions(&create.options)?,
            check_option: match create.with_check_option() {
                pb::ViewCheckOption::LocalCheckOption => Some(false),
                pb::ViewCheckOption::CascadedCheckOption => Some(true),
                _ => None,
            },
        })
    }

    pub(super) fn create_sequence(&mut self, create: &pb::CreateSeqStmt) -> Result<CreateSequence> {
        Ok(CreateSequence {
            name: required_range_var(&create.sequence)?,
            persistence: create.sequence.as_ref().map(persistence).unwrap_or_default(),
            options: self.definitions(&create.options)?,
            if_not_exists: create.if_not_exists,
        })
    }

    pub(super) fn alter_sequence(&mut self, alter: &pb::AlterSeqStmt) -> Result<AlterSequence> {
        Ok(AlterSequence {
            name: required_range_var(&alter.sequence)?,
            options: self.definitions(&alter.options)?,
            if_exists: alter.missing_ok,
        })
    }

    pub(super) fn create_schema(&mut self, create: &pb::CreateSchemaStmt) -> Result<CreateSchema> {
        Ok(CreateSchema {
            name: optional(&create.schemaname),
            owner: create.authrole.as_ref().map(role),
            elements: nodes(&create.schema_elts).map(|element| self.statement(element)).collect::<Result<_>>()?,
            if_not_exists: create.if_not_exists,
        })
    }

    pub(super) fn create_function(&mut self, create: &pb::CreateFunctionStmt) -> Result<CreateFunction> {
        let parameters = nodes(&create.parameters)
            .map(|parameter| {
                let NodeEnum::FunctionParameter(parameter) = parameter else {
                    return Err(unexpected(&kind_of(parameter)));
                };
                let type_name = parameter.arg_type.as_ref().ok_or_else(|| unexpected("parameter without type"))?;
                Ok(FunctionParameter {
                    name: optional(&parameter.name),
                    type_name: self.type_name(type_name)?,
                    mode: match parameter.mode() {
                        pb::FunctionParameterMode::FuncParamOut => ParameterMode::Out,
                        pb::FunctionParameterMode::FuncParamInout => ParameterMode::InOut,
                        pb::FunctionParameterMode::FuncParamVariadic => ParameterMode::Variadic,
                        pb::FunctionParameterMode::FuncParamTable => ParameterMode::Table,
                        _ => ParameterMode::In,
                    },
                    default: self.optional_expr(&parameter.defexpr)?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(CreateFunction {
            name: qualified_list(&create.funcname)?,
            replace: create.replace,
            is_procedure: create.is_procedure,
            parameters,
            returns: create.return_type.as_ref().map(|name| self.type_name(name)).transpose()?,
            options: self.definitions(&create.options)?,
            has_sql_body: create.sql_body.is_some(),
        })
    }

    pub(super) fn alter_function(&mut self, alter: &pb::AlterFunctionStmt) -> Result<AlterFunction> {
        let function = alter.func.as_ref().ok_or_else(|| unexpected("no function"))?;
        Ok(AlterFunction {
            function: self.signature(function)?,
            is_procedure: alter.objtype() == pb::ObjectType::ObjectProcedure,
            options: self.definitions(&alter.actions)?,
        })
    }

    fn signature(&mut self, function: &pb::ObjectWithArgs) -> Result<FunctionSignature> {
        let arguments = if function.args_unspecified { None } else { Some(self.type_names(&function.objargs)?) };
        Ok(FunctionSignature { name: qualified_list(&function.objname)?, arguments })
    }

    pub(super) fn create_domain(&mut self, create: &pb::CreateDomainStmt) -> Result<CreateDomain> {
        let collation = collation_of(&create.coll_clause)?;
        Ok(CreateDomain {
            name: qualified_list(&create.domainname)?,
            type_name: self.type_name(create.type_name.as_ref().ok_or_else(|| unexpected("domain without type"))?)?,
            collation,
            constraints: self.constraints(&create.constraints)?,
        })
    }

    pub(super) fn alter_domain(&mut self, alter: &pb::AlterDomainStmt) -> Result<AlterDomain> {
        let action = match alter.subtype.as_str() {
            "T" => AlterDomainAction::SetDefault(self.optional_expr(&alter.def)?),
            "O" => AlterDomainAction::SetNotNull,
            "N" => AlterDomainAction::DropNotNull,
            "C" => match required(&alter.def)? {
                NodeEnum::Constraint(constraint) => AlterDomainAction::AddConstraint(self.own_constraint(constraint)?),
                other => return Err(unexpected(&kind_of(other))),
            },
            "X" => AlterDomainAction::DropConstraint {
                name: Name::new(&alter.name),
                cascade: alter.behavior() == pb::DropBehavior::DropCascade,
                if_exists: alter.missing_ok,
            },
            _ => AlterDomainAction::ValidateConstraint(Name::new(&alter.name)),
        };
        Ok(AlterDomain { name: qualified_list(&alter.type_name)?, action })
    }

    pub(super) fn create_role(&mut self, create: &pb::CreateRoleStmt) -> Result<CreateRole> {
        Ok(CreateRole {
            name: Name::new(&create.role),
            is_user: create.stmt_type() == pb::RoleStmtType::RolestmtUser,
            options: self.definitions(&create.options)?,
        })
    }

    pub(super) fn alter_role(&mut self, alter: &pb::AlterRoleStmt) -> Result<AlterRole> {
        Ok(AlterRole {
            role: required_role(&alter.role)?,
            options: self.definitions(&alter.options)?,
            action: alter.action,
        })
    }

    pub(super) fn grant(&mut self, grant: &pb::GrantStmt) -> Result<Grant> {
        let objects =
            nodes(&grant.objects).map(|object| self.object_of(grant.objtype(), object)).collect::<Result<_>>()?;
        let privileges = nodes(&grant.privileges)
            .filter_map(|privilege| match privilege {
                NodeEnum::AccessPriv(privilege) => Some((optional(&privilege.priv_name), names(&privilege.cols))),
                _ => None,
            })
            .collect();
        Ok(Grant {
            is_grant: grant.is_grant,
            all_in_schema: grant.targtype() == pb::GrantTargetType::AclTargetAllInSchema,
            kind: object_kind(grant.objtype()),
            objects,
            privileges,
            grantees: roles(&grant.grantees),
            grant_option: grant.grant_option,
            granted_by: grant.grantor.as_ref().map(role),
            cascade: grant.behavior() == pb::DropBehavior::DropCascade,
        })
    }

    pub(super) fn drop(&mut self, drop: &pb::DropStmt) -> Result<Drop> {
        Ok(Drop {
            kind: object_kind(drop.remove_type()),
            objects: nodes(&drop.objects)
                .map(|object| self.object_of(drop.remove_type(), object))
                .collect::<Result<_>>()?,
            cascade: drop.behavior() == pb::DropBehavior::DropCascade,
            if_exists: drop.missing_ok,
            concurrently: drop.concurrent,
        })
    }

    pub(super) fn rename(&mut self, rename: &pb::RenameStmt) -> Result<Rename> {
        let object = if rename.relation.is_none() && node(&rename.object).is_none() {
            // Schemas, roles and databases are named by a word alone.
            let name = QualifiedName::bare(rename.subname.as_str());
            ObjectName { kind: object_kind(rename.rename_type()), name, part: None, arguments: None }
        } else {
            let mut object = self.object(rename.rename_type(), &rename.relation, &rename.object)?;
            object.part = optional(&rename.subname).or(object.part);
            object
        };
        Ok(Rename {
            object,
            relation_kind: object_kind(rename.relation_type()),
            new_name: Name::new(&rename.newname),
            if_exists: rename.missing_ok,
        })
    }

    /// An object that a statement names by a relation or in some other way.
    pub(super) fn object(
        &mut self,
        kind: pb::ObjectType,
        relation: &Option<pb::RangeVar>,
        object: &Option<Box<Node>>,
    ) -> Result<ObjectName> {
        match (relation, node(object)) {
            (Some(relation), _) => {
                Ok(ObjectName { kind: object_kind(kind), name: range_var(relation), part: None, arguments: None })
            }
            (None, Some(object)) => self.object_of(kind, object),
            (None, None) => Err(unexpected("no object")),
        }
    }

    fn object_of(&mut self, object_type: pb::ObjectType, object: &NodeEnum) -> Result<ObjectName> {
        let kind = object_kind(object_type);
        let mut found = ObjectName { kind, name: QualifiedName::bare(""), part: None, arguments: None };
        match object {
            NodeEnum::RangeVar(relation) => found.name = range_var(relation),
            NodeEnum::String(name) => found.name = QualifiedName::bare(name.sval.as_str()),
            NodeEnum::TypeName(name) => {
                let TypeName { schema, name, location, .. } = self.type_name(name)?;
                found.name = QualifiedName { catalog: None, schema, name, location };
            }
            NodeEnum::ObjectWithArgs(function) => {
                let signature = self.signature(function)?;
                found.name = signature.name;
                found.arguments = signature.arguments;
            }
            NodeEnum::List(list)
                if kind == ObjectKind::DomainConstraint
                    && matches!(nodes(&list.items).next(), Some(NodeEnum::TypeName(_))) =>
            {
                let mut items = nodes(&list.items);
                if let Some(NodeEnum::TypeName(domain)) = items.next() {
                    let TypeName { schema, name, location, .. } = self.type_name(domain)?;
                    found.name = QualifiedName { catalog: None, schema, name, location };
                }
                found.part = items.next().and_then(string_of).map(Name::new);
            }
            NodeEnum::List(list) if kind == ObjectKind::DomainConstraint => {
                found.name = qualified_list(&list.items)?;
            }
            NodeEnum::List(list) => {
                let mut parts = names(&list.items);
                let has_part = matches!(
                    kind,
                    ObjectKind::Column
                        | ObjectKind::TableConstraint
                        | ObjectKind::Rule
                        | ObjectKind::Trigger
                        | ObjectKind::Policy
                );
                if has_part && parts.len() > 1 {
                    found.part = parts.pop();
                }
                if !parts.is_empty() {
                    found.name = qualified(parts, -1)?;
                }
            }
            NodeEnum::Integer(number) => found.name = QualifiedName::bare(number.ival.to_string()),
            NodeEnum::Float(number) => found.name = QualifiedName::bare(number.fval.as_str()),
            NodeEnum::RoleSpec(name) => found.name = QualifiedName::bare(name.rolename.as_str()),
            other => return Err(unexpected(&kind_of(other))),
        }
        Ok(found)
    }

    pub(super) fn alter_table(&mut self, alter: &pb::AlterTableStmt) -> Result<AlterTable> {
        let actions = nodes(&alter.cmds)
            .map(|command| match command {
                NodeEnum::AlterTableCmd(command) => self.alter_table_action(command),
                other => Err(unexpected(&kind_of(other))),
            })
            .collect::<Result<_>>()?;
        Ok(AlterTable {
            name: required_range_var(&alter.relation)?,
            kind: object_kind(alter.objtype()),
            if_exists: alter.missing_ok,
            actions,
        })
    }

    fn column_of(&mut self, command: &pb::AlterTableCmd) -> Result<ColumnDefinition> {
        match required(&command.def)? {
            NodeEnum::ColumnDef(column) => self.column_definition(column),
            other => Err(unexpected(&kind_of(other))),
        }
    }

    fn options_of(&mut self, command: &pb::AlterTableCmd) -> Result<Vec<crate::tree::DefinitionElement>> {
        match node(&command.def) {
            Some(NodeEnum::List(list)) => self.definitions(&list.items),
            _ => Ok(Vec::new()),
        }
    }

    fn alter_table_action(&mut self, command: &pb::AlterTableCmd) -> Result<AlterTableAction> {
        use pb::AlterTableType as Type;
        let name = || Name::new(&command.name);
        let cascade = command.behavior() == pb::DropBehavior::DropCascade;
        let if_exists = command.missing_ok;
        Ok(match command.subtype() {
            Type::AtAddColumn | Type::AtAddColumnToView => {
                AlterTableAction::AddColumn { column: self.column_of(command)?, if_not_exists: command.missing_ok }
            }
            Type::AtDropColumn => AlterTableAction::DropColumn { name: name(), cascade, if_exists },
            Type::AtColumnDefault => {
                AlterTableAction::SetDefault { column: name(), default: self.optional_expr(&command.def)? }
            }
            Type::AtSetNotNull => AlterTableAction::SetNotNull(name()),
            Type::AtDropNotNull => AlterTableAction::DropNotNull(name()),
            Type::AtDropExpression => AlterTableAction::DropExpression { column: name(), if_exists },
            Type::AtAlterColumnType => {
                let column = self.column_of(command)?;
                AlterTableAction::SetType {
                    column: name(),
                    type_name: column.type_name.ok_or_else(|| unexpected("column without type"))?,
                    using: column.using,
                    collation: column.collation,
                }
            }
            Type::AtSetStatistics => AlterTableAction::SetStatistics {
                column: name(),
                number: command.num,
                target: match node(&command.def) {
                    Some(NodeEnum::Integer(target)) => target.ival,
                    _ => return Err(self.later_syntax("default", -1)),
                },
            },
            Type::AtSetStorage => AlterTableAction::SetStorage { column: name(), method: word_of(command) },
            Type::AtSetCompression => AlterTableAction::SetCompression { column: name(), method: word_of(command) },
            Type::AtSetOptions | Type::AtResetOptions => AlterTableAction::SetColumnOptions(name()),
            Type::AtAddIdentity => match required(&command.def)? {
                NodeEnum::Constraint(constraint) => AlterTableAction::AddIdentity {
                    column: name(),
                    always: constraint.generated_when == "a",
                    options: self.definitions(&constraint.options)?,
                },
                other => return Err(unexpected(&kind_of(other))),
            },
            Type::AtSetIdentity => AlterTableAction::SetIdentity { column: name(), options: self.options_of(command)? },
            Type::AtDropIdentity => AlterTableAction::DropIdentity { column: name(), if_exists },
            Type::AtAddConstraint => match required(&command.def)? {
                NodeEnum::Constraint(constraint) => AlterTableAction::AddConstraint(self.own_constraint(constraint)?),
                other => return Err(unexpected(&kind_of(other))),
            },
            Type::AtAlterConstraint => self.alter_constraint(command)?,
            Type::AtValidateConstraint => AlterTableAction::ValidateConstraint(name()),
            Type::AtDropConstraint => AlterTableAction::DropConstraint { name: name(), cascade, if_exists },
            Type::AtChangeOwner => AlterTableAction::ChangeOwner(required_role(&command.newowner)?),
            Type::AtSetRelOptions => AlterTableAction::SetOptions(self.options_of(command)?),
            Type::AtResetRelOptions => AlterTableAction::ResetOptions(self.options_of(command)?),
            Type::AtSetLogged => AlterTableAction::SetLogged(true),
            Type::AtSetUnLogged => AlterTableAction::SetLogged(false),
            Type::AtClusterOn => AlterTableAction::ClusterOn(Some(name())),
            Type::AtDropCluster => AlterTableAction::ClusterOn(None),
            Type::AtSetTableSpace => AlterTableAction::SetTablespace(name()),
            Type::AtEnableTrig
            | Type::AtEnableAlwaysTrig
            | Type::AtEnableReplicaTrig
            | Type::AtDisableTrig
            | Type::AtEnableTrigAll
            | Type::AtEnableTrigUser
            | Type::AtDisableTrigAll
            | Type::AtDisableTrigUser => enable_triggers(command),
            Type::AtReplicaIdentity => replica_identity(command)?,
            Type::AtEnableRowSecurity
            | Type::AtDisableRowSecurity
            | Type::AtForceRowSecurity
            | Type::AtNoForceRowSecurity => AlterTableAction::RowSecurity,
            Type::AtAddInherit | Type::AtDropInherit => {
                AlterTableAction::Unsupported("table inheritance is not supported")
            }
            Type::AtAttachPartition | Type::AtDetachPartition | Type::AtDetachPartitionFinalize => {
                AlterTableAction::Unsupported("partitioned tables are not supported")
            }
            Type::AtSetExpression => return Err(self.later_syntax("expression", -1)),
            _ => AlterTableAction::Unsupported("this form of ALTER TABLE is not supported"),
        })
    }

    fn alter_constraint(&mut self, command: &pb::AlterTableCmd) -> Result<AlterTableAction> {
        Ok(match required(&command.def)? {
            NodeEnum::AtalterConstraint(constraint)
                if constraint.alter_enforceability || constraint.alter_inheritability =>
            {
                return Err(if constraint.noinherit {
                    Error::unsupported("FOREIGN KEY constraints cannot be marked NO INHERIT")
                } else {
                    self.later_syntax("inherit", -1)
                });
            }
            NodeEnum::AtalterConstraint(constraint) => AlterTableAction::AlterConstraint {
                name: Name::new(&constraint.conname),
                deferrable: constraint.deferrable,
                initially_deferred: constraint.initdeferred,
            },
            NodeEnum::Constraint(constraint) => AlterTableAction::AlterConstraint {
                name: Name::new(&constraint.conname),
                deferrable: constraint.deferrable,
                initially_deferred: constraint.initdeferred,
            },
            other => return Err(unexpected(&kind_of(other))),
        })
    }

    pub(super) fn reindex(&mut self, reindex: &pb::ReindexStmt) -> Result<Reindex> {
        use pb::ReindexObjectType as Type;
        let target = match reindex.kind() {
            Type::ReindexObjectIndex => ReindexTarget::Index(required_range_var(&reindex.relation)?),
            Type::ReindexObjectTable => ReindexTarget::Table(required_range_var(&reindex.relation)?),
            Type::ReindexObjectSchema => ReindexTarget::Schema(Name::new(&reindex.name)),
            // The name of the database may be left out in later versions.
            _ if reindex.name.is_empty() => return Err(self.later_syntax(";", -1)),
            Type::ReindexObjectSystem => ReindexTarget::System(Name::new(&reindex.name)),
            _ => ReindexTarget::Database(Name::new(&reindex.name)),
        };
        Ok(Reindex { target, options: self.definitions(&reindex.params)? })
    }
}

fn enable_triggers(command: &pb::AlterTableCmd) -> AlterTableAction {
    use pb::AlterTableType as Type;
    let which = match command.subtype() {
        Type::AtEnableTrigAll | Type::AtDisableTrigAll => WhichTriggers::All,
        Type::AtEnableTrigUser | Type::AtDisableTrigUser => WhichTriggers::User,
        _ => WhichTriggers::Named(Name::new(&command.name)),
    };
    let enabled = match command.subtype() {
        Type::AtEnableAlwaysTrig => TriggerEnabled::Always,
        Type::AtEnableReplicaTrig => TriggerEnabled::Replica,
        Type::AtDisableTrig | Type::AtDisableTrigAll | Type::AtDisableTrigUser => TriggerEnabled::Disabled,
        _ => TriggerEnabled::Origin,
    };
    AlterTableAction::EnableTriggers { which, enabled }
}

fn replica_identity(command: &pb::AlterTableCmd) -> Result<AlterTableAction> {
    match required(&command.def)? {
        NodeEnum::ReplicaIdentityStmt(identity) => {
            Ok(AlterTableAction::ReplicaIdentity(match identity.identity_type.as_str() {
                "f" => ReplicaIdentityOf::Full,
                "n" => ReplicaIdentityOf::Nothing,
                "i" => ReplicaIdentityOf::Index(Name::new(&identity.name)),
                _ => ReplicaIdentityOf::Default,
            }))
        }
        other => Err(unexpected(&kind_of(other))),
    }
}

/// COLLATE, if it is written; it stands where the clause begins.
fn collation_of(clause: &Option<Box<pb::CollateClause>>) -> Result<Option<crate::tree::QualifiedName>> {
    let Some(clause) = clause else { return Ok(None) };
    let name = optional_qualified(&clause.collname)?;
    Ok(name.map(|name| crate::tree::QualifiedName { location: clause.location, ..name }))
}

/// The word that an action sets something to.
fn word_of(command: &pb::AlterTableCmd) -> String {
    node(&command.def).and_then(string_of).unwrap_or_default().to_owned()
}

pub(super) fn alter_enum(alter: &pb::AlterEnumStmt) -> Result<AlterEnum> {
    let optional = |text: &String| if text.is_empty() { None } else { Some(text.clone()) };
    Ok(AlterEnum {
        name: qualified_list(&alter.type_name)?,
        old_label: optional(&alter.old_val),
        new_label: alter.new_val.clone(),
        neighbor: optional(&alter.new_val_neighbor),
        after: alter.new_val_is_after,
        if_not_exists: alter.skip_if_new_val_exists,
    })
}

/// FOR ROLE and IN SCHEMA of ALTER DEFAULT PRIVILEGES.
pub(super) fn default_privileges(options: &[pb::Node], grant: Grant) -> DefaultPrivileges {
    let mut made = DefaultPrivileges { roles: Vec::new(), schemas: Vec::new(), grant };
    for option in nodes(options) {
        if let NodeEnum::DefElem(option) = option
            && let Some(NodeEnum::List(list)) = node(&option.arg)
        {
            match option.defname.as_str() {
                "roles" => made.roles = roles(&list.items),
                _ => made.schemas = names(&list.items),
            }
        }
    }
    made
}

pub(super) fn grant_role(grant: &pb::GrantRoleStmt) -> GrantRole {
    let roles_granted = nodes(&grant.granted_roles).filter_map(|role| match role {
        NodeEnum::AccessPriv(role) => optional(&role.priv_name),
        _ => None,
    });
    let admin_option =
        nodes(&grant.opt).any(|option| matches!(option, NodeEnum::DefElem(option) if option.defname == "admin"));
    GrantRole {
        is_grant: grant.is_grant,
        roles: roles_granted.collect(),
        grantees: roles(&grant.grantee_roles),
        admin_option,
        granted_by: grant.grantor.as_ref().map(role),
        cascade: grant.behavior() == pb::DropBehavior::DropCascade,
    }
}

fn object_kind(kind: pb::ObjectType) -> ObjectKind {
    use pb::ObjectType as Type;
    match kind {
        Type::ObjectAggregate => ObjectKind::Aggregate,
        Type::ObjectAttribute => ObjectKind::Attribute,
        Type::ObjectCast => ObjectKind::Cast,
        Type::ObjectColumn => ObjectKind::Column,
        Type::ObjectCollation => ObjectKind::Collation,
        Type::ObjectConversion => ObjectKind::Conversion,
        Type::ObjectDatabase => ObjectKind::Database,
        Type::ObjectDomain => ObjectKind::Domain,
        Type::ObjectDomconstraint => ObjectKind::DomainConstraint,
        Type::ObjectExtension => ObjectKind::Extension,
        Type::ObjectForeignTable => ObjectKind::ForeignTable,
        Type::ObjectFunction => ObjectKind::Function,
        Type::ObjectIndex => ObjectKind::Index,
        Type::ObjectLanguage => ObjectKind::Language,
        Type::ObjectLargeobject => ObjectKind::LargeObject,
        Type::ObjectMatview => ObjectKind::MaterializedView,
        Type::ObjectOperator => ObjectKind::Operator,
        Type::ObjectPolicy => ObjectKind::Policy,
        Type::ObjectProcedure => ObjectKind::Procedure,
        Type::ObjectRole => ObjectKind::Role,
        Type::ObjectRoutine => ObjectKind::Routine,
        Type::ObjectRule => ObjectKind::Rule,
        Type::ObjectSchema => ObjectKind::Schema,
        Type::ObjectSequence => ObjectKind::Sequence,
        Type::ObjectTabconstraint => ObjectKind::TableConstraint,
        Type::ObjectTable => ObjectKind::Table,
        Type::ObjectTablespace => ObjectKind::Tablespace,
        Type::ObjectTrigger => ObjectKind::Trigger,
        Type::ObjectType => ObjectKind::Type,
        Type::ObjectView => ObjectKind::View,
        _ => ObjectKind::Other,
    }
}
