//! Queries and changes of rows.

use base::Result;
use pg_query::NodeEnum;
use pg_query::protobuf::{self as pb, Node};

use super::expr::{alias_name, operator_name, optional_qualified};
use super::{Converter, kind_of, names, node, nodes, optional, range_var, required, required_range_var, unexpected};
use crate::tree::{
    Alias, Assignment, ColumnDefinitionItem, CommonTableExpression, ConflictTarget, ConflictUpdate, CteStatement,
    CycleClause, Delete, Distinct, FromItem, GroupItem, IndexElement, Insert, InsertColumn, Join, JoinType,
    LockStrength, LockWait, Locking, Merge, MergeAction, MergeWhen, Name, OnCommit, OnConflict, Query, QueryBody,
    SearchClause, Select, SelectInto, SetOperator, SortBy, SortDirection, TablePersistence, TableReference, Target,
    Update, WindowDefinition, With,
};

impl Converter<'_> {
    pub(super) fn query(&mut self, select: &pb::SelectStmt) -> Result<Query> {
        self.nested(|converter| converter.query_inner(select))
    }

    fn query_inner(&mut self, select: &pb::SelectStmt) -> Result<Query> {
        let with = self.with(&select.with_clause)?;
        let body = if let (Some(left), Some(right)) = (&select.larg, &select.rarg) {
            QueryBody::SetOperation {
                operator: match select.op() {
                    pb::SetOperation::SetopIntersect => SetOperator::Intersect,
                    pb::SetOperation::SetopExcept => SetOperator::Except,
                    _ => SetOperator::Union,
                },
                all: select.all,
                left: Box::new(self.query(left)?),
                right: Box::new(self.query(right)?),
            }
        } else if !select.values_lists.is_empty() {
            let rows = nodes(&select.values_lists).map(|row| match row {
                NodeEnum::List(list) => self.exprs(&list.items),
                other => Err(unexpected(&kind_of(other))),
            });
            QueryBody::Values(rows.collect::<Result<_>>()?)
        } else {
            QueryBody::Select(Box::new(self.select(select)?))
        };
        Ok(Query {
            with,
            body,
            order: self.sort_by(&select.sort_clause)?,
            offset: self.optional_expr(&select.limit_offset)?,
            limit: self.optional_expr(&select.limit_count)?,
            with_ties: select.limit_option() == pb::LimitOption::WithTies,
            locking: nodes(&select.locking_clause).map(locking).collect::<Result<_>>()?,
        })
    }

    fn select(&mut self, select: &pb::SelectStmt) -> Result<Select> {
        // Plain DISTINCT comes as a list with one empty node.
        let distinct = if select.distinct_clause.is_empty() {
            Distinct::No
        } else if nodes(&select.distinct_clause).next().is_none() {
            Distinct::All
        } else {
            Distinct::On(self.exprs(&select.distinct_clause)?)
        };
        Ok(Select {
            distinct,
            into: match &select.into_clause {
                Some(into) => Some(Box::new(self.into(into)?)),
                None => None,
            },
            targets: self.targets(&select.target_list)?,
            from: self.from(&select.from_clause)?,
            filter: self.optional_expr(&select.where_clause)?,
            group: self.group_items(&select.group_clause)?,
            group_distinct: select.group_distinct,
            having: self.optional_expr(&select.having_clause)?,
            windows: nodes(&select.window_clause)
                .map(|window| match window {
                    NodeEnum::WindowDef(window) => self.window(window),
                    other => Err(unexpected(&kind_of(other))),
                })
                .collect::<Result<_>>()?,
        })
    }

    pub(super) fn into(&mut self, into: &pb::IntoClause) -> Result<SelectInto> {
        Ok(SelectInto {
            table: required_range_var(&into.rel)?,
            persistence: into.rel.as_ref().map(persistence).unwrap_or_default(),
            columns: names(&into.col_names),
            options: self.definitions(&into.options)?,
            on_commit: on_commit(into.on_commit()),
            no_data: into.skip_data,
        })
    }

    pub(super) fn targets(&mut self, list: &[Node]) -> Result<Vec<Target>> {
        nodes(list)
            .map(|target| match target {
                NodeEnum::ResTarget(target) => {
                    Ok(Target { name: optional(&target.name), expr: self.required_expr(&target.val)? })
                }
                other => Err(unexpected(&kind_of(other))),
            })
            .collect()
    }

    fn group_items(&mut self, list: &[Node]) -> Result<Vec<GroupItem>> {
        nodes(list).map(|item| self.nested(|converter| converter.group_item(item))).collect()
    }

    fn group_item(&mut self, item: &NodeEnum) -> Result<GroupItem> {
        let NodeEnum::GroupingSet(set) = item else { return self.expr(item).map(GroupItem::Expr) };
        let location = set.location;
        Ok(match set.kind() {
            pb::GroupingSetKind::GroupingSetRollup => GroupItem::Rollup(self.group_items(&set.content)?, location),
            pb::GroupingSetKind::GroupingSetCube => GroupItem::Cube(self.group_items(&set.content)?, location),
            pb::GroupingSetKind::GroupingSetSets => GroupItem::Sets(self.group_items(&set.content)?, location),
            _ => GroupItem::Empty(location),
        })
    }

    pub(super) fn sort_by(&mut self, list: &[Node]) -> Result<Vec<SortBy>> {
        nodes(list)
            .map(|item| {
                let NodeEnum::SortBy(sort) = item else { return Err(unexpected(&kind_of(item))) };
                let direction = match sort.sortby_dir() {
                    pb::SortByDir::SortbyDesc => SortDirection::Descending,
                    pb::SortByDir::SortbyUsing => SortDirection::Using(operator_name(&sort.use_op)?),
                    _ => SortDirection::Ascending,
                };
                let nulls_first = nulls_first(sort.sortby_nulls());
                Ok(SortBy { expr: self.required_expr(&sort.node)?, direction, nulls_first, location: sort.location })
            })
            .collect()
    }

    pub(super) fn window(&mut self, window: &pb::WindowDef) -> Result<WindowDefinition> {
        Ok(WindowDefinition {
            name: optional(&window.name),
            base: optional(&window.refname),
            partition: self.exprs(&window.partition_clause)?,
            order: self.sort_by(&window.order_clause)?,
            frame_options: window.frame_options,
            start_offset: self.optional_expr(&window.start_offset)?.map(Box::new),
            end_offset: self.optional_expr(&window.end_offset)?.map(Box::new),
            location: window.location,
        })
    }

    pub(super) fn from(&mut self, list: &[Node]) -> Result<Vec<FromItem>> {
        nodes(list).map(|item| self.from_item(item)).collect()
    }

    pub(super) fn from_item(&mut self, item: &NodeEnum) -> Result<FromItem> {
        self.nested(|converter| converter.from_item_inner(item))
    }

    fn from_item_inner(&mut self, item: &NodeEnum) -> Result<FromItem> {
        Ok(match item {
            NodeEnum::RangeVar(relation) => FromItem::Table(table_reference(relation)),
            NodeEnum::RangeSubselect(subselect) => {
                let NodeEnum::SelectStmt(select) = required(&subselect.subquery)? else {
                    return Err(unexpected("subquery"));
                };
                FromItem::Subquery {
                    query: Box::new(self.query(select)?),
                    lateral: subselect.lateral,
                    alias: subselect.alias.as_ref().map(alias),
                }
            }
            NodeEnum::RangeFunction(function) => {
                let mut calls = Vec::with_capacity(function.functions.len());
                let mut location = -1;
                for call in nodes(&function.functions) {
                    // Each is a list of the call and its column definitions.
                    let NodeEnum::List(pair) = call else { return Err(unexpected(&kind_of(call))) };
                    let expr = self.expr(nodes(&pair.items).next().ok_or_else(|| unexpected("no function"))?)?;
                    let columns = match pair.items.get(1).and_then(|node| node.node.as_ref()) {
                        Some(NodeEnum::List(columns)) => self.column_items(&columns.items)?,
                        _ => Vec::new(),
                    };
                    if location < 0 {
                        location = expr.location;
                    }
                    calls.push((expr, columns));
                }
                FromItem::Function {
                    calls,
                    lateral: function.lateral,
                    ordinality: function.ordinality,
                    rows_from: function.is_rowsfrom,
                    alias: function.alias.as_ref().map(alias),
                    columns: self.column_items(&function.coldeflist)?,
                    location,
                }
            }
            NodeEnum::JoinExpr(join) => FromItem::Join(Box::new(Join {
                kind: match join.jointype() {
                    pb::JoinType::JoinLeft => JoinType::Left,
                    pb::JoinType::JoinRight => JoinType::Right,
                    pb::JoinType::JoinFull => JoinType::Full,
                    _ => JoinType::Inner,
                },
                natural: join.is_natural,
                using: names(&join.using_clause),
                using_alias: alias_name(&join.join_using_alias),
                condition: self.optional_expr(&join.quals)?,
                left: self.from_item(required(&join.larg)?)?,
                right: self.from_item(required(&join.rarg)?)?,
                alias: join.alias.as_ref().map(alias),
            })),
            NodeEnum::RangeTableSample(sample) => {
                FromItem::Unsupported("TABLESAMPLE is not supported", sample.location)
            }
            NodeEnum::RangeTableFunc(function) => FromItem::Unsupported("XMLTABLE is not supported", function.location),
            NodeEnum::JsonTable(table) => return Err(self.later_syntax("json_table", table.location)),
            other => return Err(unexpected(&kind_of(other))),
        })
    }

    fn column_items(&mut self, list: &[Node]) -> Result<Vec<ColumnDefinitionItem>> {
        nodes(list)
            .map(|column| match column {
                NodeEnum::ColumnDef(column) => Ok(ColumnDefinitionItem {
                    name: Name::new(&column.colname),
                    type_name: self
                        .type_name(column.type_name.as_ref().ok_or_else(|| unexpected("column without type"))?)?,
                    location: column.location,
                }),
                other => Err(unexpected(&kind_of(other))),
            })
            .collect()
    }

    pub(super) fn with(&mut self, with: &Option<pb::WithClause>) -> Result<Option<With>> {
        let Some(with) = with else { return Ok(None) };
        let ctes = nodes(&with.ctes)
            .map(|cte| match cte {
                NodeEnum::CommonTableExpr(cte) => self.cte(cte),
                other => Err(unexpected(&kind_of(other))),
            })
            .collect::<Result<_>>()?;
        Ok(Some(With { recursive: with.recursive, ctes }))
    }

    fn cte(&mut self, cte: &pb::CommonTableExpr) -> Result<CommonTableExpression> {
        let statement = match required(&cte.ctequery)? {
            NodeEnum::SelectStmt(select) => CteStatement::Query(self.query(select)?),
            NodeEnum::InsertStmt(insert) => CteStatement::Insert(self.insert(insert)?),
            NodeEnum::UpdateStmt(update) => CteStatement::Update(self.update(update)?),
            NodeEnum::DeleteStmt(delete) => CteStatement::Delete(self.delete(delete)?),
            NodeEnum::MergeStmt(_) => CteStatement::Unsupported("MERGE not supported in WITH query"),
            other => return Err(unexpected(&kind_of(other))),
        };
        Ok(CommonTableExpression {
            name: Name::new(&cte.ctename),
            columns: names(&cte.aliascolnames),
            materialized: match cte.ctematerialized() {
                pb::CteMaterialize::Always => Some(true),
                pb::CteMaterialize::Never => Some(false),
                _ => None,
            },
            statement: Box::new(statement),
            search: cte.search_clause.as_ref().map(|search| SearchClause {
                breadth_first: search.search_breadth_first,
                columns: names(&search.search_col_list),
                sequence: Name::new(&search.search_seq_column),
                location: search.location,
            }),
            cycle: cte.cycle_clause.as_ref().map(|cycle| self.cycle(cycle)).transpose()?.map(Box::new),
            location: cte.location,
        })
    }

    fn cycle(&mut self, cycle: &pb::CteCycleClause) -> Result<CycleClause> {
        Ok(CycleClause {
            columns: names(&cycle.cycle_col_list),
            mark: Name::new(&cycle.cycle_mark_column),
            value: self.required_expr(&cycle.cycle_mark_value)?,
            default: self.required_expr(&cycle.cycle_mark_default)?,
            path: Name::new(&cycle.cycle_path_column),
            location: cycle.location,
        })
    }

    pub(super) fn insert(&mut self, insert: &pb::InsertStmt) -> Result<Insert> {
        Ok(Insert {
            with: self.with(&insert.with_clause)?,
            table: changed_table(&insert.relation)?,
            columns: self.inserted_columns(&insert.cols)?,
            overriding: overriding(insert.r#override()),
            source: match node(&insert.select_stmt) {
                Some(NodeEnum::SelectStmt(select)) => Some(Box::new(self.query(select)?)),
                Some(other) => return Err(unexpected(&kind_of(other))),
                None => None,
            },
            on_conflict: match &insert.on_conflict_clause {
                Some(clause) => Some(self.on_conflict(clause)?),
                None => None,
            },
            returning: self.returning(&insert.returning_clause)?,
        })
    }

    fn returning(&mut self, clause: &Option<pb::ReturningClause>) -> Result<Vec<Target>> {
        let Some(clause) = clause else { return Ok(Vec::new()) };
        if let Some(NodeEnum::ReturningOption(option)) = nodes(&clause.options).next() {
            return Err(self.later_syntax("with", option.location));
        }
        self.targets(&clause.exprs)
    }

    fn inserted_columns(&mut self, list: &[Node]) -> Result<Vec<InsertColumn>> {
        nodes(list)
            .map(|column| match column {
                NodeEnum::ResTarget(target) => self.assigned_column(target),
                other => Err(unexpected(&kind_of(other))),
            })
            .collect()
    }

    fn assigned_column(&mut self, target: &pb::ResTarget) -> Result<InsertColumn> {
        Ok(InsertColumn {
            name: Name::new(&target.name),
            indirection: self.indirection(&target.indirection)?,
            location: target.location,
        })
    }

    fn assignments(&mut self, list: &[Node]) -> Result<Vec<Assignment>> {
        nodes(list)
            .map(|target| match target {
                NodeEnum::ResTarget(target) => {
                    Ok(Assignment { column: self.assigned_column(target)?, value: self.required_expr(&target.val)? })
                }
                other => Err(unexpected(&kind_of(other))),
            })
            .collect()
    }

    fn on_conflict(&mut self, clause: &pb::OnConflictClause) -> Result<OnConflict> {
        let target = match &clause.infer {
            None => None,
            Some(infer) if !infer.conname.is_empty() => {
                Some(ConflictTarget::Constraint(Name::new(&infer.conname), infer.location))
            }
            Some(infer) => Some(ConflictTarget::Index {
                elements: self.index_elements(&infer.index_elems)?,
                filter: self.optional_expr(&infer.where_clause)?,
                location: infer.location,
            }),
        };
        let update = if clause.action() == pb::OnConflictAction::OnconflictUpdate {
            Some(ConflictUpdate {
                assignments: self.assignments(&clause.target_list)?,
                filter: self.optional_expr(&clause.where_clause)?,
            })
        } else {
            None
        };
        Ok(OnConflict { target, update, location: clause.location })
    }

    pub(super) fn index_elements(&mut self, list: &[Node]) -> Result<Vec<IndexElement>> {
        nodes(list)
            .map(|element| {
                let NodeEnum::IndexElem(element) = element else { return Err(unexpected(&kind_of(element))) };
                Ok(IndexElement {
                    column: optional(&element.name),
                    expr: self.optional_expr(&element.expr)?,
                    collation: optional_qualified(&element.collation)?,
                    operator_class: optional_qualified(&element.opclass)?,
                    descending: element.ordering() == pb::SortByDir::SortbyDesc,
                    nulls_first: nulls_first(element.nulls_ordering()),
                })
            })
            .collect()
    }

    pub(super) fn update(&mut self, update: &pb::UpdateStmt) -> Result<Update> {
        Ok(Update {
            with: self.with(&update.with_clause)?,
            table: changed_table(&update.relation)?,
            assignments: self.assignments(&update.target_list)?,
            from: self.from(&update.from_clause)?,
            filter: self.optional_expr(&update.where_clause)?,
            returning: self.returning(&update.returning_clause)?,
        })
    }

    pub(super) fn delete(&mut self, delete: &pb::DeleteStmt) -> Result<Delete> {
        Ok(Delete {
            with: self.with(&delete.with_clause)?,
            table: changed_table(&delete.relation)?,
            using: self.from(&delete.using_clause)?,
            filter: self.optional_expr(&delete.where_clause)?,
            returning: self.returning(&delete.returning_clause)?,
        })
    }

    pub(super) fn merge(&mut self, merge: &pb::MergeStmt) -> Result<Merge> {
        self.refuse_later_merge(merge)?;
        let table = changed_table(&merge.relation)?;
        let clauses = nodes(&merge.merge_when_clauses).map(|clause| match clause {
            NodeEnum::MergeWhenClause(clause) => self.merge_when(clause, &table),
            other => Err(unexpected(&kind_of(other))),
        });
        let clauses = clauses.collect::<Result<_>>()?;
        Ok(Merge {
            with: self.with(&merge.with_clause)?,
            source: self.from_item(required(&merge.source_relation)?)?,
            condition: self.required_expr(&merge.join_condition)?,
            clauses,
            table,
        })
    }

    fn merge_when(&mut self, clause: &pb::MergeWhenClause, table: &TableReference) -> Result<MergeWhen> {
        let action = match clause.command_type() {
            pb::CmdType::CmdUpdate => MergeAction::Update(self.assignments(&clause.target_list)?),
            pb::CmdType::CmdDelete => MergeAction::Delete,
            pb::CmdType::CmdInsert => MergeAction::Insert(Box::new(Insert {
                with: None,
                table: table.clone(),
                columns: self.inserted_columns(&clause.target_list)?,
                overriding: overriding(clause.r#override()),
                source: match clause.values.as_slice() {
                    [] => None,
                    values => Some(Box::new(Query::of_values(vec![self.exprs(values)?]))),
                },
                on_conflict: None,
                returning: Vec::new(),
            })),
            _ => MergeAction::Nothing,
        };
        Ok(MergeWhen {
            matched: clause.match_kind() == pb::MergeMatchKind::MergeWhenMatched,
            condition: self.optional_expr(&clause.condition)?,
            action,
        })
    }
}

/// The table that a statement changes.
fn changed_table(relation: &Option<pb::RangeVar>) -> Result<TableReference> {
    relation.as_ref().map(table_reference).ok_or_else(|| unexpected("no relation"))
}

fn overriding(kind: pb::OverridingKind) -> Option<bool> {
    match kind {
        pb::OverridingKind::OverridingSystemValue => Some(true),
        pb::OverridingKind::OverridingUserValue => Some(false),
        _ => None,
    }
}

fn locking(clause: &NodeEnum) -> Result<Locking> {
    let NodeEnum::LockingClause(clause) = clause else { return Err(unexpected(&kind_of(clause))) };
    Ok(Locking {
        strength: match clause.strength() {
            pb::LockClauseStrength::LcsForkeyshare => LockStrength::KeyShare,
            pb::LockClauseStrength::LcsForshare => LockStrength::Share,
            pb::LockClauseStrength::LcsFornokeyupdate => LockStrength::NoKeyUpdate,
            _ => LockStrength::Update,
        },
        tables: nodes(&clause.locked_rels)
            .filter_map(|relation| match relation {
                NodeEnum::RangeVar(relation) => Some(range_var(relation)),
                _ => None,
            })
            .collect(),
        wait: match clause.wait_policy() {
            pb::LockWaitPolicy::LockWaitSkip => LockWait::Skip,
            pb::LockWaitPolicy::LockWaitError => LockWait::Error,
            _ => LockWait::Block,
        },
    })
}

pub(super) fn table_reference(relation: &pb::RangeVar) -> TableReference {
    TableReference { name: range_var(relation), alias: relation.alias.as_ref().map(alias), only: !relation.inh }
}

fn alias(alias: &pb::Alias) -> Alias {
    Alias { name: Name::new(&alias.aliasname), columns: names(&alias.colnames) }
}

fn nulls_first(nulls: pb::SortByNulls) -> Option<bool> {
    match nulls {
        pb::SortByNulls::SortbyNullsFirst => Some(true),
        pb::SortByNulls::SortbyNullsLast => Some(false),
        _ => None,
    }
}

pub(super) fn persistence(relation: &pb::RangeVar) -> TablePersistence {
    match relation.relpersistence.as_str() {
        "t" => TablePersistence::Temporary,
        "u" => TablePersistence::Unlogged,
        _ => TablePersistence::Permanent,
    }
}

pub(super) fn on_commit(action: pb::OnCommitAction) -> OnCommit {
    match action {
        pb::OnCommitAction::OncommitDeleteRows => OnCommit::DeleteRows,
        pb::OnCommitAction::OncommitDrop => OnCommit::Drop,
        _ => OnCommit::PreserveRows,
    }
}
