//! Statements about transactions, sessions and the server.

use base::settings::words::{IsolationLevel, Words};
use base::{Error, Result, sqlstate};
use pg_query::NodeEnum;
use pg_query::protobuf::{self as pb, Node};

use super::{Converter, kind_of, names, node, nodes, range_var, required, string_of, unexpected};
use crate::tree::{
    Copy, CopyEndpoint, CopySource, DeclareCursor, DefinitionElement, DefinitionValue, Explain, Expr, ExprKind, Fetch,
    FetchDirection, Literal, Name, QualifiedName, RoleName, SetAction, SettingValue, Statement, Transaction,
    TransactionModes, TypeName, Vacuum, VariableSet,
};

/// PostgreSQL's CURSOR_OPT bits.
mod cursor_option {
    pub(super) const BINARY: i32 = 0x0001;
    pub(super) const SCROLL: i32 = 0x0002;
    pub(super) const NO_SCROLL: i32 = 0x0004;
    pub(super) const INSENSITIVE: i32 = 0x0008;
    pub(super) const HOLD: i32 = 0x0020;
}

impl Converter<'_> {
    pub(super) fn transaction(&mut self, transaction: &pb::TransactionStmt) -> Result<Transaction> {
        use pb::TransactionStmtKind as Kind;
        let savepoint = || Name::new(&transaction.savepoint_name);
        Ok(match transaction.kind() {
            kind @ (Kind::TransStmtBegin | Kind::TransStmtStart) => {
                Transaction::Begin { modes: self.modes(&transaction.options)?, is_start: kind == Kind::TransStmtStart }
            }
            Kind::TransStmtCommit => Transaction::Commit { chain: transaction.chain },
            Kind::TransStmtRollback => Transaction::Rollback { chain: transaction.chain },
            Kind::TransStmtSavepoint => Transaction::Savepoint(savepoint()),
            Kind::TransStmtRelease => Transaction::Release(savepoint()),
            Kind::TransStmtRollbackTo => Transaction::RollbackTo(savepoint()),
            Kind::TransStmtPrepare => Transaction::Prepare(transaction.gid.clone()),
            Kind::TransStmtCommitPrepared => Transaction::CommitPrepared(transaction.gid.clone()),
            Kind::TransStmtRollbackPrepared => Transaction::RollbackPrepared(transaction.gid.clone()),
            Kind::Undefined => return Err(unexpected("TransactionStmt")),
        })
    }

    fn modes(&mut self, options: &[Node]) -> Result<TransactionModes> {
        let mut modes = TransactionModes::default();
        for option in self.definitions(options)? {
            match option.name.as_str() {
                "transaction_isolation" => {
                    modes.isolation = option.text().and_then(|level| IsolationLevel::named(&level));
                }
                "transaction_read_only" => modes.read_only = option.boolean(),
                "transaction_deferrable" => modes.deferrable = option.boolean(),
                _ => {}
            }
        }
        Ok(modes)
    }

    pub(super) fn declare_cursor(&mut self, declare: &pb::DeclareCursorStmt) -> Result<DeclareCursor> {
        let option = |bit| declare.options & bit != 0;
        let NodeEnum::SelectStmt(select) = required(&declare.query)? else { return Err(unexpected("cursor query")) };
        Ok(DeclareCursor {
            name: Name::new(&declare.portalname),
            binary: option(cursor_option::BINARY),
            scroll: match (option(cursor_option::SCROLL), option(cursor_option::NO_SCROLL)) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            hold: option(cursor_option::HOLD),
            insensitive: option(cursor_option::INSENSITIVE),
            query: self.query(select)?,
        })
    }

    pub(super) fn explain(&mut self, explain: &pb::ExplainStmt) -> Result<Explain> {
        Ok(Explain {
            statement: self.statement(required(&explain.query)?)?,
            options: self.definitions(&explain.options)?,
        })
    }

    pub(super) fn copy(&mut self, copy: &pb::CopyStmt) -> Result<Copy> {
        let source = match (&copy.relation, node(&copy.query)) {
            (Some(relation), _) => CopySource::Table(range_var(relation)),
            (None, Some(query)) => CopySource::Query(self.statement(query)?),
            (None, None) => return Err(unexpected("COPY of nothing")),
        };
        Ok(Copy {
            source,
            columns: names(&copy.attlist),
            is_from: copy.is_from,
            endpoint: match (copy.filename.is_empty(), copy.is_program) {
                (true, _) => CopyEndpoint::Client,
                (false, false) => CopyEndpoint::File(copy.filename.clone()),
                (false, true) => CopyEndpoint::Program(copy.filename.clone()),
            },
            options: self.definitions(&copy.options)?,
            filter: self.optional_expr(&copy.where_clause)?,
        })
    }

    pub(super) fn vacuum(&mut self, vacuum: &pb::VacuumStmt) -> Result<Vacuum> {
        let mut tables = Vec::with_capacity(vacuum.rels.len());
        for relation in nodes(&vacuum.rels) {
            let NodeEnum::VacuumRelation(relation) = relation else { return Err(unexpected(&kind_of(relation))) };
            if let Some(only) = relation.relation.as_ref().filter(|relation| !relation.inh) {
                return Err(self.later_syntax("only", only.location));
            }
            let name = relation.relation.as_ref().map(range_var).ok_or_else(|| unexpected("no relation"))?;
            tables.push((name, names(&relation.va_cols)));
        }
        Ok(Vacuum { is_vacuum: vacuum.is_vacuumcmd, options: self.definitions(&vacuum.options)?, tables })
    }

    pub(super) fn required_set(&mut self, set: &Option<pb::VariableSetStmt>) -> Result<VariableSet> {
        self.variable_set(set.as_ref().ok_or_else(|| unexpected("no setting"))?)
    }

    pub(super) fn variable_set(&mut self, set: &pb::VariableSetStmt) -> Result<VariableSet> {
        use pb::VariableSetKind as Kind;
        let action = match set.kind() {
            Kind::VarSetMulti if set.name == "TRANSACTION SNAPSHOT" => {
                let id = nodes(&set.args).next().and_then(|node| match node {
                    NodeEnum::AConst(constant) => match super::expr::literal(constant) {
                        Literal::String(text) => Some(text),
                        _ => None,
                    },
                    _ => None,
                });
                SetAction::Snapshot(id.ok_or_else(|| unexpected("no snapshot"))?)
            }
            Kind::VarSetMulti => SetAction::Modes(self.modes(&set.args)?),
            Kind::VarSetDefault => SetAction::Default,
            Kind::VarSetCurrent => SetAction::Current,
            Kind::VarReset => SetAction::Reset,
            Kind::VarResetAll => SetAction::ResetAll,
            _ => SetAction::Value(nodes(&set.args).map(|value| self.setting_value(value)).collect::<Result<_>>()?),
        };
        Ok(VariableSet { name: Name::new(&set.name), action, is_local: set.is_local })
    }

    fn setting_value(&mut self, value: &NodeEnum) -> Result<SettingValue> {
        let expr = self.expr(value)?;
        Ok(match expr.kind {
            ExprKind::Literal(Literal::Integer(value)) => SettingValue::Integer(value),
            ExprKind::Literal(Literal::Number(text)) => SettingValue::Number(text),
            ExprKind::Literal(Literal::String(text)) => SettingValue::String(text),
            ExprKind::Literal(Literal::Boolean(value)) => SettingValue::String(value.to_string()),
            ExprKind::Cast { input, type_name } => {
                let ExprKind::Literal(Literal::String(text)) = input.kind else { return Err(unexpected("setting")) };
                let modifier = match type_name.modifiers.first() {
                    Some(Expr { kind: ExprKind::Literal(Literal::Integer(mask)), .. }) => *mask,
                    _ => -1,
                };
                SettingValue::Interval(text, modifier)
            }
            ExprKind::Parameter(number) => {
                return Err(Error::new(sqlstate::SYNTAX_ERROR, format!("syntax error at or near \"${number}\"")));
            }
            _ => return Err(unexpected("setting")),
        })
    }

    pub(super) fn do_block(&mut self, block: &pb::DoStmt) -> Result<Statement> {
        let (mut language, mut body) = (None, String::new());
        for option in self.definitions(&block.args)? {
            match option.name.as_str() {
                "language" => language = option.text().map(Name::from),
                "as" => body = option.text().unwrap_or_default(),
                _ => {}
            }
        }
        Ok(Statement::Do { language, body })
    }

    /// A list of relations, of LOCK, TRUNCATE and SET CONSTRAINTS.
    pub(super) fn relations(&mut self, list: &[Node]) -> Result<Vec<QualifiedName>> {
        nodes(list)
            .map(|relation| match relation {
                NodeEnum::RangeVar(relation) => Ok(range_var(relation)),
                other => Err(unexpected(&kind_of(other))),
            })
            .collect()
    }

    pub(super) fn type_names(&mut self, list: &[Node]) -> Result<Vec<TypeName>> {
        nodes(list)
            .map(|name| match name {
                NodeEnum::TypeName(name) => self.type_name(name),
                other => Err(unexpected(&kind_of(other))),
            })
            .collect()
    }

    /// A list of options.
    pub(super) fn definitions(&mut self, list: &[Node]) -> Result<Vec<DefinitionElement>> {
        nodes(list)
            .map(|element| match element {
                NodeEnum::DefElem(element) => Ok(DefinitionElement {
                    namespace: super::optional(&element.defnamespace),
                    name: Name::new(&element.defname),
                    value: match node(&element.arg) {
                        Some(value) => Some(self.definition_value(value)?),
                        None => None,
                    },
                    location: element.location,
                }),
                other => Err(unexpected(&kind_of(other))),
            })
            .collect()
    }

    fn definition_value(&mut self, value: &NodeEnum) -> Result<DefinitionValue> {
        Ok(match value {
            NodeEnum::String(value) => DefinitionValue::String(value.sval.clone()),
            NodeEnum::Integer(value) => DefinitionValue::Integer(i64::from(value.ival)),
            NodeEnum::Float(value) => DefinitionValue::Number(value.fval.clone()),
            NodeEnum::Boolean(value) => DefinitionValue::Boolean(value.boolval),
            NodeEnum::TypeName(name) => DefinitionValue::Type(self.type_name(name)?),
            NodeEnum::AStar(_) => DefinitionValue::Star,
            NodeEnum::AConst(constant) => match super::expr::literal(constant) {
                Literal::Integer(value) => DefinitionValue::Integer(i64::from(value)),
                Literal::Number(text) => DefinitionValue::Number(text),
                Literal::String(text) | Literal::BitString(text) => DefinitionValue::String(text),
                Literal::Boolean(value) => DefinitionValue::Boolean(value),
                Literal::Null => DefinitionValue::String(String::new()),
            },
            NodeEnum::VariableSetStmt(set) => DefinitionValue::Set(Box::new(self.variable_set(set)?)),
            NodeEnum::List(list) if nodes(&list.items).all(|item| string_of(item).is_some()) => {
                DefinitionValue::Names(names(&list.items))
            }
            NodeEnum::List(list) if nodes(&list.items).any(|item| matches!(item, NodeEnum::RoleSpec(_))) => {
                DefinitionValue::Roles(roles(&list.items))
            }
            NodeEnum::RoleSpec(name) => DefinitionValue::Roles(vec![role(name)]),
            other => DefinitionValue::Expr(self.expr(other)?),
        })
    }
}

pub(super) fn fetch(fetch: &pb::FetchStmt) -> Fetch {
    Fetch {
        cursor: Name::new(&fetch.portalname),
        is_move: fetch.ismove,
        direction: match fetch.direction() {
            pb::FetchDirection::FetchBackward => FetchDirection::Backward,
            pb::FetchDirection::FetchAbsolute => FetchDirection::Absolute,
            pb::FetchDirection::FetchRelative => FetchDirection::Relative,
            _ => FetchDirection::Forward,
        },
        count: fetch.how_many,
    }
}

pub(super) fn role(role: &pb::RoleSpec) -> RoleName {
    match role.roletype() {
        pb::RoleSpecType::RolespecCurrentRole | pb::RoleSpecType::RolespecCurrentUser => RoleName::CurrentUser,
        pb::RoleSpecType::RolespecSessionUser => RoleName::SessionUser,
        pb::RoleSpecType::RolespecPublic => RoleName::Public,
        _ => RoleName::Name(Name::new(&role.rolename), role.location),
    }
}

pub(super) fn roles(list: &[Node]) -> Vec<RoleName> {
    nodes(list)
        .filter_map(|name| match name {
            NodeEnum::RoleSpec(name) => Some(role(name)),
            _ => None,
        })
        .collect()
}

pub(super) fn required_role(name: &Option<pb::RoleSpec>) -> Result<RoleName> {
    name.as_ref().map(role).ok_or_else(|| unexpected("no role"))
}
