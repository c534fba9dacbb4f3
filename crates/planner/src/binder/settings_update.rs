//! UPDATE of `pg_settings`: PostgreSQL has a rule that makes it a query that calls `set_config`.
//!
//! Rows that the statement would give another name set nothing. The statement gives the query's rows, and counts none of them.

use base::{Error, Result, missing, sqlstate};
use plan::bound::Query;
use schema::catalog::PG_CATALOG_SCHEMA;
use syntax::parser::parse_expression;
use syntax::tree::{self, Distinct, Expr, ExprKind, FromItem, Literal, Name, OperatorName, QueryBody, Select, Target};

use super::Binder;
use super::table::FoundRelation;

impl Binder<'_, '_> {
    /// The query that an UPDATE of `pg_settings` is; nothing for one of another table.
    ///
    /// # Errors
    /// 0A000 for RETURNING, and what binding the query raises.
    pub(super) fn settings_update(&mut self, update: &tree::Update) -> Result<Option<Query>> {
        if update.table.name.name != "pg_settings" {
            return Ok(None);
        }
        let FoundRelation::Virtual(settings) = self.required_relation(&update.table.name)? else { return Ok(None) };
        if settings.schema != PG_CATALOG_SCHEMA {
            return Ok(None);
        }
        if !update.returning.is_empty() {
            let message = "cannot perform UPDATE RETURNING on relation \"pg_settings\"";
            let hint = "You need an unconditional ON UPDATE DO INSTEAD rule with a RETURNING clause.";
            return Err(Error::unsupported(message).hint(hint));
        }
        let alias = update.table.alias.as_ref().map_or_else(|| Name::new("pg_settings"), |alias| alias.name.clone());
        let (mut setting, mut filter) = (None, update.filter.clone());
        for (number, assignment) in update.assignments.iter().enumerate() {
            let column = &assignment.column;
            if !settings.columns.iter().any(|found| found.name == column.name) {
                return Err(self.at(missing::column_of_relation(&column.name, "pg_settings"), column.location));
            }
            if update.assignments[..number].iter().any(|other| other.column.name == column.name) {
                let message = format!("multiple assignments to same column \"{}\"", column.name);
                return Err(self.error(sqlstate::SYNTAX_ERROR, message, column.location));
            }
            let value = match &assignment.value.kind {
                ExprKind::Default => Expr::new(ExprKind::Literal(Literal::Null), assignment.value.location),
                _ => assignment.value.clone(),
            };
            match column.name.as_str() {
                "setting" => setting = Some(value),
                "name" => {
                    let keeps_name = Expr::new(
                        ExprKind::Operator {
                            operator: OperatorName { schema: None, name: Name::new("=") },
                            left: Some(Box::new(as_text(value)?)),
                            right: Box::new(column_of(&alias, "name")),
                        },
                        -1,
                    );
                    let conditions = filter.into_iter().chain([keeps_name]).collect();
                    filter = Some(Expr::new(ExprKind::And(conditions), -1));
                }
                _ => {}
            }
        }
        let mut call = parse_expression("pg_catalog.set_config(name, setting, false)")?;
        if let ExprKind::Function(call) = &mut call.kind {
            call.arguments[0] = column_of(&alias, "name");
            call.arguments[1] = match setting {
                Some(setting) => as_text(setting)?,
                None => column_of(&alias, "setting"),
            };
        }
        let mut from = vec![FromItem::Table(update.table.clone())];
        from.extend(update.from.iter().cloned());
        let select = Select {
            distinct: Distinct::No,
            into: None,
            targets: vec![Target { name: None, expr: call }],
            from,
            filter,
            group: Vec::new(),
            group_distinct: false,
            having: None,
            windows: Vec::new(),
        };
        let query = tree::Query {
            with: update.with.clone(),
            body: QueryBody::Select(Box::new(select)),
            order: Vec::new(),
            offset: None,
            limit: None,
            with_ties: false,
            locking: Vec::new(),
        };
        let mut bound = self.query(&query, true)?;
        bound.is_settings_update = true;
        Ok(Some(bound))
    }
}

fn column_of(table: &Name, column: &str) -> Expr {
    Expr::new(ExprKind::Column(vec![table.clone(), Name::new(column)]), -1)
}

fn as_text(value: Expr) -> Result<Expr> {
    let mut cast = parse_expression("NULL::pg_catalog.text")?;
    if let ExprKind::Cast { input, .. } = &mut cast.kind {
        **input = value;
    }
    Ok(cast)
}
