//! MERGE.

use base::{Error, Result, sqlstate};
use plan::bound::{Change, FromItem, Join, Query, for_each_inner};
use plan::privileges::Privileges;
use plan::{Expr, ExprKind, JoinKind, MergeAction, MergeWhen, Target};
use schema::catalog::RelationKind as TableKind;
use syntax::tree::{self, QualifiedName, QueryBody};

use super::Binder;
use super::scope::{Place, Scope};
use super::table::FoundRelation;
use super::updatable_view::{ChangeTarget, ChangeVerb};

impl Binder<'_, '_> {
    pub(super) fn merge(&mut self, merge: &tree::Merge) -> Result<Query> {
        if merge.with.as_ref().is_some_and(|with| with.recursive) {
            let message = "WITH RECURSIVE is not supported for MERGE statement";
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
        }
        self.scopes.push(Scope::new(Place::JoinOn));
        let result = self.merge_in_scope(merge);
        self.scopes.pop();
        result
    }

    fn merge_in_scope(&mut self, merge: &tree::Merge) -> Result<Query> {
        let ctes = self.ctes(merge.with.as_ref())?;
        let privileges = privileges_of(&merge.clauses)?;
        let mut changed = self.merge_target(&merge.table.name)?;
        self.needs_target(&mut changed, privileges);
        let table = changed.table.clone();
        let (expressions, triggers) = (self.expressions_of(&table)?, self.triggers_of(&table)?);
        let alias = merge.table.alias.as_ref();
        // The source sees nothing of the table.
        let relation = self.add_aliased_table(table.clone(), alias, merge.table.name.location)?;
        self.from(std::slice::from_ref(&merge.source))?;
        self.refuse_name_of_target(relation, &merge.source)?;
        self.show_target(&mut changed, relation, alias.map(|alias| alias.name.clone()))?;
        self.scope().place = Place::JoinOn;
        let condition = self.condition(&merge.condition, "JOIN/ON")?;
        let mut clauses = Vec::with_capacity(merge.clauses.len());
        for clause in &merge.clauses {
            clauses.push(self.merge_when(&changed, relation, clause)?);
        }
        let given = self.given_columns(&changed);
        let target = Target { table, expressions, triggers, view_checks: Vec::new(), given, returns_version: false };
        let mut query = self.changing_query(None);
        let table = FromItem::Relation(relation);
        if clauses.iter().any(|clause| matches!(clause.action, MergeAction::Insert(_))) {
            // Rows of the source that match none are wanted, too.
            let left = query.from.pop().ok_or_else(|| Error::internal("MERGE has no source"))?;
            let join = Join { kind: JoinKind::Left, left, right: table, condition: Some(condition.clone()) };
            query.from.push(FromItem::Join(Box::new(join)));
        } else {
            query.from.push(table);
            query.filter = Some(condition.clone());
        }
        query.ctes = self.finish_ctes(ctes);
        query.change = Some(Box::new(Change::Merge { target, relation, condition, clauses }));
        Ok(query)
    }

    /// The table that MERGE names.
    ///
    /// # Errors
    /// 0A000 for a view, a materialized view or a sequence.
    fn merge_target(&mut self, name: &QualifiedName) -> Result<ChangeTarget> {
        let refused = match self.relation_named(name.schema.as_ref(), &name.name, name.location)? {
            Some(FoundRelation::Table(table)) => match table.kind {
                TableKind::Table => None,
                TableKind::View => Some("views"),
                TableKind::MaterializedView => Some("materialized views"),
            },
            Some(FoundRelation::Sequence(_)) => Some("sequences"),
            _ => None,
        };
        let Some(kind) = refused else { return self.change_target_named(name, ChangeVerb::Update) };
        let message = format!("cannot execute MERGE on relation \"{}\"", name.name);
        Err(Error::unsupported(message).detail(format!("This operation is not supported for {kind}.")))
    }

    /// 42712 if the source goes by the name of the table.
    fn refuse_name_of_target(&mut self, relation: u32, source: &tree::FromItem) -> Result<()> {
        let scope = self.scope();
        let of_source = match source {
            tree::FromItem::Join(join) => join.alias.as_ref().map(|alias| &alias.name),
            _ => scope.relations.last().map(|relation| &relation.alias),
        };
        let of_target = &scope.relations[relation as usize].alias;
        if of_source != Some(of_target) {
            return Ok(());
        }
        let message = format!("name \"{of_target}\" specified more than once");
        Err(Error::new(sqlstate::DUPLICATE_ALIAS, message)
            .detail("The name is used both as MERGE target table and data source."))
    }

    fn merge_when(&mut self, changed: &ChangeTarget, relation: u32, clause: &tree::MergeWhen) -> Result<MergeWhen> {
        if clause.matched {
            return self.merge_when_seen(changed, relation, clause);
        }
        // There is no row of the table, whose name was shown last.
        let hidden = self.scope().names.pop();
        let bound = self.merge_when_seen(changed, relation, clause);
        self.scope().names.extend(hidden);
        bound
    }

    /// Binds a clause, where the names of its rows can be seen.
    fn merge_when_seen(
        &mut self,
        changed: &ChangeTarget,
        relation: u32,
        clause: &tree::MergeWhen,
    ) -> Result<MergeWhen> {
        self.scope().place = Place::MergeWhen;
        let condition = clause.condition.as_ref().map(|condition| self.condition(condition, "WHEN")).transpose()?;
        let action = match &clause.action {
            tree::MergeAction::Update(written) => MergeAction::Update(self.assignments(changed, relation, written)?),
            tree::MergeAction::Delete => MergeAction::Delete,
            tree::MergeAction::Insert(insert) => MergeAction::Insert(self.merge_insert(changed, insert)?),
            tree::MergeAction::Nothing => MergeAction::Nothing,
        };
        Ok(MergeWhen { matched: clause.matched, condition, action })
    }

    /// The full row that is inserted.
    fn merge_insert(&mut self, changed: &ChangeTarget, insert: &tree::Insert) -> Result<Vec<Expr>> {
        self.scope().place = Place::InsertedRow;
        let table = &changed.table;
        let row = match insert.source.as_deref().map(|source| &source.body) {
            Some(QueryBody::Values(rows)) => rows.first().map(|row| self.written_out(row)).transpose()?,
            _ => None,
        };
        let places = self.insert_columns(insert, changed)?;
        let given = match &row {
            Some(row) => {
                let given = self.given_values(insert, table, &places, row)?;
                self.refuse_sets(given.iter().map(|(_, value)| value))?;
                given
            }
            None => Vec::new(),
        };
        self.full_row(table, given, insert.overriding)
    }

    /// 0A000 for a call that returns a set.
    fn refuse_sets<'e>(&self, values: impl Iterator<Item = &'e Expr>) -> Result<()> {
        let mut location = None;
        for value in values {
            for_each_inner(value, 0, &mut |inner, depth| match &inner.kind {
                ExprKind::Set(call) if depth == 0 => location = location.or(Some(call.location)),
                _ => {}
            });
        }
        let message = "set-valued function called in context that cannot accept a set";
        location.map_or(Ok(()), |location| Err(self.unsupported(message, location)))
    }
}

/// The privileges on the table that the actions need.
///
/// # Errors
/// 42601 for a clause that no row gets to.
fn privileges_of(clauses: &[tree::MergeWhen]) -> Result<Privileges> {
    let mut privileges = Privileges::NONE;
    let mut has_last = [false; 2];
    for clause in clauses {
        privileges = privileges
            | match &clause.action {
                tree::MergeAction::Update(_) => Privileges::UPDATE,
                tree::MergeAction::Delete => Privileges::DELETE,
                tree::MergeAction::Insert(_) => Privileges::INSERT,
                tree::MergeAction::Nothing => Privileges::SELECT,
            };
        let has_last = &mut has_last[usize::from(clause.matched)];
        if *has_last {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
        }
        *has_last = clause.condition.is_none();
    }
    Ok(privileges)
}
