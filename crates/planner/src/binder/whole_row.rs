//! Items of FROM read as one value, and the mark that tells rows that an outer join has made up.

use base::Oid;
use plan::bound::{self, FromItem};
use plan::{CaseWhen, Expr, ExprKind, ROW_MARK, Variable};
use syntax::tree::Location;
use types::{SqlType, Value, oids};

use super::Binder;
use super::scope::{NamedItem, Scope, TABLE_OID, raised};

impl Scope {
    /// Whether an outer join may make up rows of NULLs for an entry.
    fn makes_up(&self, relation: u32) -> bool {
        self.made_up.contains(&relation) || self.from.iter().any(|item| made_up(item, relation, false))
    }

    /// Notes the entries of an item for which a join around it makes up rows.
    pub(super) fn note_made_up(&mut self, item: &FromItem) {
        match item {
            FromItem::Relation(relation) => self.made_up.push(*relation),
            FromItem::Join(join) => {
                self.note_made_up(&join.left);
                self.note_made_up(&join.right);
            }
        }
    }
}

impl Binder<'_, '_> {
    /// An item's columns as one value. A function that gives one unnamed scalar is that scalar.
    pub(super) fn row_of(&mut self, item: &NamedItem, level: u32, location: Location) -> Expr {
        let all = || item.columns.iter().chain(&item.later_columns);
        all().for_each(|column| self.reads(column));
        let index = self.scopes.len() - 1 - level as usize;
        if let Some(relation) = item.relation
            && let bound::RelationKind::Function { calls, ordinality: false } =
                &self.scopes[index].relations[relation as usize].kind
            && let [call] = calls.as_slice()
            && !call.composite
            && let [column] = item.columns.as_slice()
        {
            return raised(column.expr.clone(), level, location);
        }
        let fields = all().map(|column| raised(column.expr.clone(), level, location)).collect::<Vec<_>>();
        let type_oid = if item.table == Oid::INVALID { self.row_type(item, index) } else { item.table };
        let declared = self.composite_shape(type_oid).filter(|shape| shape.fields.len() == fields.len());
        let shape = types::RecordShape {
            type_oid,
            fields: all().map(|column| (column.name.to_string(), column.expr.sql_type)).collect(),
            attributes: declared.map_or_else(Vec::new, |shape| shape.attributes.clone()),
        };
        let row = Expr::new(
            ExprKind::Row { fields, shape: std::sync::Arc::new(shape), is_whole: true },
            SqlType::new(type_oid),
        );
        match item.relation {
            Some(relation) if self.scopes[index].makes_up(relation) => {
                self.row_unless_made_up(row, relation, level, location)
            }
            _ => row,
        }
    }

    /// The type of the rows of an item that is no table: a function's own, if it has one.
    fn row_type(&self, item: &NamedItem, scope: usize) -> Oid {
        let kind = item.relation.map(|relation| &self.scopes[scope].relations[relation as usize].kind);
        let Some(bound::RelationKind::Function { calls, ordinality: false }) = kind else {
            return oids::RECORD;
        };
        match calls.as_slice() {
            [call]
                if call.composite && types::composite_shape(self.context.lookup, call.types.result.oid).is_some() =>
            {
                call.types.result.oid
            }
            _ => oids::RECORD,
        }
    }

    /// A row that is NULL as a whole where an outer join made it up. A table's rows know which table they are of; rows of anything else get
    /// a mark.
    fn row_unless_made_up(&self, row: Expr, relation: u32, level: u32, location: Location) -> Expr {
        let scope = &self.scopes[self.scopes.len() - 1 - level as usize];
        let (attribute, mark_type) = match &scope.relations[relation as usize].kind {
            bound::RelationKind::Table(_) => (TABLE_OID, SqlType::new(oids::OID)),
            _ => (ROW_MARK, SqlType::BOOL),
        };
        let variable = Variable { level, relation, attribute, location };
        let mark = Expr::new(ExprKind::Variable(variable), mark_type);
        let sql_type = row.sql_type;
        let condition = Expr::new(ExprKind::IsNull(Box::new(mark)), SqlType::BOOL);
        let made_up = CaseWhen { condition, result: Expr::null(sql_type) };
        let otherwise = Some(Box::new(row));
        Expr::new(ExprKind::Case { operand: None, whens: vec![made_up], otherwise }, sql_type)
    }
}

/// Whether an outer join may make up rows of NULLs for the entry.
pub(super) fn made_up(item: &FromItem, relation: u32, nullable: bool) -> bool {
    use plan::JoinKind;
    match item {
        FromItem::Relation(found) => *found == relation && nullable,
        FromItem::Join(join) => {
            let left = nullable || matches!(join.kind, JoinKind::Right | JoinKind::Full);
            let right = nullable || matches!(join.kind, JoinKind::Left | JoinKind::Full);
            made_up(&join.left, relation, left) || made_up(&join.right, relation, right)
        }
    }
}

/// The ROW of the columns of an outer join's nullable side, without the CASE that makes it NULL: cast to a row type, it has NULLs in all fields,
/// as in PostgreSQL.
pub(crate) fn row_of_nullable_side(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Case { operand: None, whens, otherwise: Some(row) } = &expr.kind else { return None };
    let ([when], ExprKind::Row { fields, is_whole: true, .. }) = (whens.as_slice(), &row.kind) else { return None };
    let ExprKind::IsNull(mark) = &when.condition.kind else { return None };
    let ExprKind::Variable(mark) = mark.kind else { return None };
    let is_of_row = |field: &Expr| match field.kind {
        ExprKind::Variable(field) => (field.level, field.relation) == (mark.level, mark.relation),
        _ => false,
    };
    let is_mark = matches!(mark.attribute, TABLE_OID | ROW_MARK) && fields.iter().all(is_of_row);
    (is_mark && matches!(when.result.kind, ExprKind::Constant(Value::Null))).then_some(&**row)
}
