//! FROM, back to text: tables, subqueries, functions and joins.

use plan::bound;
use syntax::tree::{
    Alias, ColumnDefinitionItem, ExprKind, FromItem, Join, JoinType, Name, Query, QueryBody, TableReference,
};
use types::reg_types::quote_identifier;

use super::query::{Writer, alias_text};

impl<'a> Writer<'a> {
    pub(super) fn from_item(&mut self, item: &FromItem) {
        match item {
            FromItem::Table(reference) => self.table(reference),
            FromItem::Subquery { query, lateral, alias } => self.from_subquery(query, *lateral, alias.as_ref()),
            FromItem::Function { .. } => self.from_functions(item),
            FromItem::Join(join) => self.join(join),
            FromItem::Unsupported(what, _) => self.push(&format!("/* {what} */")),
        }
    }

    /// ` alias(column, ...)` of an entry of the range table, unless it is known as `own` without.
    fn entry_alias(&mut self, number: usize, own: Option<&str>, written: Option<&Alias>) {
        let known = self.bound.and_then(|bound| bound.names(|names| Some(names.entry(number)?.alias_text(own))));
        let text = known.unwrap_or_else(|| written.map_or_else(String::new, alias_text));
        self.push(&text);
    }

    fn table(&mut self, reference: &TableReference) {
        let (number, _) = self.next_relation();
        let is_cte = reference.name.schema.is_none() && self.ctes.borrow().contains(&reference.name.name);
        let own = if is_cte {
            self.qualified(&reference.name);
            reference.name.name.to_string()
        } else {
            let is_hidden = |name: &str| self.bound.is_some_and(|bound| bound.is_cte(name));
            let table = self.names.table(reference, &is_hidden);
            if reference.only {
                self.push("ONLY ");
            }
            self.push(&table.text);
            table.own
        };
        let own = if reference.alias.is_none() { Some(own.as_str()) } else { None };
        self.entry_alias(number, own, reference.alias.as_ref());
    }

    fn from_subquery(&mut self, query: &Query, lateral: bool, alias: Option<&Alias>) {
        self.push(if lateral { "LATERAL (" } else { "(" });
        let (number, relation) = self.next_relation();
        let kind = relation.map(|relation| &relation.kind);
        let values = match (&query.body, kind) {
            (QueryBody::Values(written), Some(bound::RelationKind::Values(rows))) => self.rows_text(written, rows),
            _ => None,
        };
        if let Some(bound::RelationKind::Subquery(query)) = kind {
            self.next = Some(query);
        }
        match values {
            Some(rows) => self.push(&format!(" VALUES {rows}")),
            None => self.inner_query(query),
        }
        self.push(")");
        self.entry_alias(number, None, alias);
    }

    fn from_functions(&mut self, item: &FromItem) {
        let FromItem::Function { calls, lateral, ordinality, rows_from, alias, columns, .. } = item else { return };
        let (number, relation) = self.next_relation();
        let bound: &[plan::SetCall] = match relation.map(|relation| &relation.kind) {
            Some(bound::RelationKind::Function { calls: bound, .. }) => bound,
            _ => &[],
        };
        if *lateral || bound.iter().flat_map(|call| &call.arguments).any(reads_this_from) {
            self.push("LATERAL ");
        }
        // One call with its own list of columns is shown without the words.
        let (rows_from, columns) = match (calls.as_slice(), ordinality) {
            ([(_, own)], false) if !own.is_empty() && self.bound.is_some() => (&false, own),
            _ => (rows_from, columns),
        };
        if *rows_from {
            self.push("ROWS FROM(");
        }
        for (number, (call, own_columns)) in calls.iter().enumerate() {
            if number > 0 {
                self.push(", ");
            }
            // Of `unnest(a, b)` binding makes two calls.
            let own = bound.get(number).filter(|_| bound.len() == calls.len());
            match own.and_then(|own| self.bound_call(call, own)) {
                Some(text) => self.push(&text),
                None => {
                    let places = self.places_of(bound.iter().flat_map(|bound| &bound.arguments));
                    let before = std::mem::replace(&mut self.places, places);
                    match &call.kind {
                        // PostgreSQL shows the calls as the standard's UNNEST.
                        ExprKind::Function(unnest) if calls.len() == 1 && bound.len() > 1 => {
                            self.push("UNNEST(");
                            self.exprs(&unnest.arguments);
                            self.push(")");
                        }
                        _ => self.expr(call),
                    }
                    self.places = before;
                }
            }
            if *rows_from && !own_columns.is_empty() {
                self.push(" AS ");
                self.column_definitions(own_columns);
            }
        }
        if *rows_from {
            self.push(")");
        }
        if *ordinality {
            self.push(" WITH ORDINALITY");
        }
        if columns.is_empty() {
            return self.entry_alias(number, None, alias.as_ref());
        }
        // The function may be renamed, so its columns are always those of an alias.
        let known = self.bound.and_then(|bound| bound.names(|names| Some(names.entry(number)?.alias.clone())));
        match known.or_else(|| alias.as_ref().map(|alias| alias.name.to_string())) {
            Some(name) => self.push(&format!(" {}", quote_identifier(&name))),
            None => self.push(" AS "),
        }
        self.column_definitions(columns);
    }

    fn column_definitions(&mut self, columns: &[ColumnDefinitionItem]) {
        let columns: Vec<String> = columns
            .iter()
            .map(|column| format!("{} {}", quote_identifier(&column.name), self.names.type_name(&column.type_name)))
            .collect();
        self.push(&format!("({})", columns.join(", ")));
    }

    fn join(&mut self, join: &Join) {
        let in_parentheses = !self.pretty || join.alias.is_some();
        if in_parentheses {
            self.push("(");
        }
        if let Some(bound) = self.bound {
            bound.open(join);
        }
        self.joined(join);
        if let Some(bound) = self.bound {
            bound.close(join);
        }
        if in_parentheses {
            self.push(")");
        }
        if let Some(alias) = &join.alias {
            let known = self.bound.and_then(|bound| bound.names(|names| names.join(join)));
            self.push(&known.unwrap_or_else(|| alias_text(alias)));
        }
    }

    /// Both sides of a join and its condition.
    fn joined(&mut self, join: &Join) {
        let bound = match self.next_join.take() {
            Some(bound::FromItem::Join(bound)) => Some(&**bound),
            _ => None,
        };
        self.next_join = bound.map(|bound| &bound.left);
        self.from_item(&join.left);
        self.next_join = bound.map(|bound| &bound.right);
        self.line("\n     ");
        let compared = self.bound.and_then(|bound| bound.names(|names| names.natural(join).map(<[Name]>::to_vec)));
        let natural = join.natural && compared.is_none();
        let using = compared.unwrap_or_else(|| join.using.clone());
        if natural {
            self.push("NATURAL ");
        }
        let compares_nothing = !natural && using.is_empty() && join.condition.is_none();
        let is_cross = join.kind == JoinType::Inner && compares_nothing;
        self.push(match join.kind {
            JoinType::Inner if is_cross => "CROSS JOIN ",
            JoinType::Inner => "JOIN ",
            JoinType::Left => "LEFT JOIN ",
            JoinType::Right => "RIGHT JOIN ",
            JoinType::Full => "FULL JOIN ",
        });
        let right_is_join = matches!(&join.right, FromItem::Join(right) if right.alias.is_none());
        if self.pretty && right_is_join {
            self.push("(");
            self.from_item(&join.right);
            self.push(")");
        } else {
            self.from_item(&join.right);
        }
        if compares_nothing && !is_cross {
            self.push(" ON true");
        }
        if !using.is_empty() {
            let using: Vec<String> = using.iter().map(|name| quote_identifier(name)).collect();
            self.push(&format!(" USING ({})", using.join(", ")));
            if let Some(alias) = &join.using_alias {
                self.push(" AS ");
                self.name(alias);
            }
        }
        if let Some(condition) = &join.condition {
            self.push(if self.pretty { " ON " } else { " ON (" });
            let bound = bound.and_then(|bound| bound.condition.as_ref());
            self.shown(condition, bound, super::bound::Shown::Plain);
            if !self.pretty {
                self.push(")");
            }
        }
    }
}

/// Whether an argument reads what stands before its function in FROM.
fn reads_this_from(argument: &plan::Expr) -> bool {
    let mut found = false;
    bound::for_each_inner(argument, 0, &mut |inner, depth| {
        found |= matches!(&inner.kind, plan::ExprKind::Variable(variable) if variable.level == depth);
    });
    found
}
