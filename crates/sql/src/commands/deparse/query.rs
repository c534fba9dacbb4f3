//! Queries as written, back to text, laid out as PostgreSQL lays out a view's definition.

use std::cell::RefCell;

use crate::binder::column_name;
use crate::session::quote_identifier;
use crate::tree::{
    Alias, CommonTableExpression, CteStatement, Distinct, Expr, ExprKind, FromItem, GroupItem, Join, JoinType, Literal,
    Location, LockStrength, LockWait, Name, QualifiedName, Query, QueryBody, Select, SetOperator, SortBy,
    SortDirection, TableReference, Target, TypeName,
};

/// What the objects that a query names are called in its text.
pub trait QueryNames {
    /// A table, with its alias. Common table expressions are not asked for.
    fn table(&self, reference: &TableReference) -> String {
        let mut text = if reference.only { "ONLY ".to_owned() } else { String::new() };
        text.push_str(&dotted(&reference.name));
        if let Some(alias) = &reference.alias {
            text.push_str(&alias_text(alias));
        }
        text
    }

    /// A function.
    fn function(&self, name: &QualifiedName) -> String {
        dotted(name)
    }

    /// A type, with modifiers.
    fn type_name(&self, name: &TypeName) -> String;

    /// What the column named at this place of the text is a column of, and its name, if that is known.
    fn column(&self, _location: Location) -> Option<&[Name; 2]> {
        None
    }

    /// The quoted literal at this place of the text as a value of its type, and the type, if they are known.
    fn literal(&self, _location: Location) -> Option<KnownLiteral> {
        None
    }

    /// What the field of a row at this place is called now, if that is known.
    fn field(&self, _location: Location, _name: &Name) -> Option<Name> {
        None
    }

    /// Whether the `=` at this place of the text tests for NULL.
    fn is_null_test(&self, _location: Location) -> bool {
        false
    }

    /// The columns that a NATURAL join compares, if that is known.
    fn natural(&self, _location: Location) -> Option<&[Name]> {
        None
    }
}

/// A literal of a known type.
pub struct KnownLiteral {
    /// As SQL, without its type.
    pub text: String,
    /// Its type.
    pub type_name: String,
    /// It would not be read as that type without the type's name.
    pub needs_type: bool,
}

/// Names as they were written; types without their modifiers.
pub struct WrittenNames;

impl QueryNames for WrittenNames {
    fn type_name(&self, name: &TypeName) -> String {
        let mut text = match &name.schema {
            Some(schema) => format!("{}.{}", quote_identifier(schema), quote_identifier(&name.name)),
            None => quote_identifier(&name.name),
        };
        (0..name.array_dimensions).for_each(|_| text.push_str("[]"));
        text
    }
}

/// A dotted name, each part quoted if need be.
pub(in crate::commands) fn dotted(name: &QualifiedName) -> String {
    match &name.schema {
        Some(schema) => format!("{}.{}", quote_identifier(schema), quote_identifier(&name.name)),
        None => quote_identifier(&name.name),
    }
}

/// ` alias(column, ...)`
pub(in crate::commands) fn alias_text(alias: &Alias) -> String {
    let mut text = format!(" {}", quote_identifier(&alias.name));
    if !alias.columns.is_empty() {
        let columns: Vec<String> = alias.columns.iter().map(|column| quote_identifier(column)).collect();
        text.push_str(&format!("({})", columns.join(", ")));
    }
    text
}

/// The text of a query, to be stored: with all parentheses.
pub fn query_text(query: &Query, names: &dyn QueryNames) -> String {
    written(query, names, false)
}

/// The text of a query; with no more parentheses than a reader needs, if `pretty`.
pub(super) fn written(query: &Query, names: &dyn QueryNames, pretty: bool) -> String {
    let mut writer = Writer { names, pretty, text: String::new(), indent: 0, ctes: RefCell::default() };
    writer.query(query);
    writer.text
}

/// How much further an inner query is indented.
const INDENT: usize = 8;

pub(super) struct Writer<'a> {
    pub(super) names: &'a dyn QueryNames,
    /// Parentheses only where a reader needs them.
    pub(super) pretty: bool,
    text: String,
    /// How far the query is indented.
    indent: usize,
    /// Common table expressions in scope: their names hide tables.
    ctes: RefCell<Vec<Name>>,
}

impl Writer<'_> {
    pub(super) fn push(&mut self, text: &str) {
        match text.strip_prefix('\n') {
            Some(rest) => {
                self.end_line();
                self.text.push_str(rest);
            }
            None => self.text.push_str(text),
        }
    }

    /// Begins a new line, unless nothing is on this one.
    fn end_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Text with line ends, after which the query's indentation comes.
    pub(super) fn line(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.end_line();
                self.text.extend(std::iter::repeat_n(' ', self.indent));
            }
            self.text.push_str(line);
        }
    }

    /// A query within another one.
    pub(super) fn inner_query(&mut self, query: &Query) {
        self.indent += INDENT;
        self.query(query);
        self.indent -= INDENT;
    }

    pub(super) fn name(&mut self, name: &str) {
        self.text.push_str(&quote_identifier(name));
    }

    pub(super) fn qualified(&mut self, name: &QualifiedName) {
        self.text.push_str(&dotted(name));
    }

    /// What `write` writes, apart from the rest.
    pub(super) fn piece(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.text);
        write(self);
        std::mem::replace(&mut self.text, before)
    }

    pub(super) fn query(&mut self, query: &Query) {
        let outer = self.ctes.borrow().len();
        if let Some(with) = &query.with {
            self.push(if with.recursive { " WITH RECURSIVE " } else { " WITH " });
            if with.recursive {
                self.ctes.borrow_mut().extend(with.ctes.iter().map(|cte| cte.name.clone()));
            }
            for (number, cte) in with.ctes.iter().enumerate() {
                if number > 0 {
                    self.push(", ");
                }
                self.common_table_expression(cte);
                if !with.recursive {
                    self.ctes.borrow_mut().push(cte.name.clone());
                }
            }
            self.line("\n");
        }
        match &query.body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => {
                self.push(" VALUES ");
                for (number, row) in rows.iter().enumerate() {
                    if number > 0 {
                        self.push(", ");
                    }
                    self.push("(");
                    self.exprs(row);
                    self.push(")");
                }
            }
            QueryBody::SetOperation { operator, all, left, right } => {
                self.set_operand(left);
                self.line(match operator {
                    SetOperator::Union => "\nUNION",
                    SetOperator::Intersect => "\nINTERSECT",
                    SetOperator::Except => "\nEXCEPT",
                });
                self.line(if *all { " ALL\n" } else { "\n" });
                self.set_operand(right);
            }
        }
        if !query.order.is_empty() {
            self.line("\n  ORDER BY ");
            self.sort_list(&query.order);
        }
        if let Some(offset) = &query.offset {
            self.line("\n OFFSET ");
            self.expr(offset);
        }
        if let Some(limit) = &query.limit {
            if query.with_ties {
                self.line("\n FETCH FIRST (");
                self.expr(limit);
                self.push(") ROWS WITH TIES");
            } else {
                self.line("\n LIMIT ");
                self.expr(limit);
            }
        }
        for lock in &query.locking {
            self.line(match lock.strength {
                LockStrength::KeyShare => "\n FOR KEY SHARE",
                LockStrength::Share => "\n FOR SHARE",
                LockStrength::NoKeyUpdate => "\n FOR NO KEY UPDATE",
                LockStrength::Update => "\n FOR UPDATE",
            });
            if !lock.tables.is_empty() {
                let tables: Vec<String> = lock.tables.iter().map(dotted).collect();
                self.push(&format!(" OF {}", tables.join(", ")));
            }
            self.push(match lock.wait {
                LockWait::Block => "",
                LockWait::Skip => " SKIP LOCKED",
                LockWait::Error => " NOWAIT",
            });
        }
        self.ctes.borrow_mut().truncate(outer);
    }

    /// An operand of a set operation: in parentheses where it is more than a select.
    fn set_operand(&mut self, query: &Query) {
        let is_plain = query.with.is_none()
            && query.order.is_empty()
            && query.limit.is_none()
            && query.offset.is_none()
            && query.locking.is_empty()
            && !matches!(query.body, QueryBody::SetOperation { .. });
        if is_plain {
            return self.query(query);
        }
        self.push("(");
        self.query(query);
        self.push(")");
    }

    fn common_table_expression(&mut self, cte: &CommonTableExpression) {
        self.name(&cte.name);
        if !cte.columns.is_empty() {
            let columns: Vec<String> = cte.columns.iter().map(|column| quote_identifier(column)).collect();
            self.push(&format!("({})", columns.join(", ")));
        }
        self.push(match cte.materialized {
            None => " AS (",
            Some(true) => " AS MATERIALIZED (",
            Some(false) => " AS NOT MATERIALIZED (",
        });
        if let CteStatement::Query(query) = &*cte.statement {
            self.indent += INDENT;
            self.line("\n");
            self.query(query);
            self.line("\n");
            self.indent -= INDENT;
        }
        self.push(")");
        let list = |names: &[Name]| names.iter().map(|name| quote_identifier(name)).collect::<Vec<_>>().join(", ");
        if let Some(search) = &cte.search {
            let order = if search.breadth_first { "BREADTH" } else { "DEPTH" };
            let (columns, sequence) = (list(&search.columns), quote_identifier(&search.sequence));
            self.push(&format!(" SEARCH {order} FIRST BY {columns} SET {sequence}"));
        }
        if let Some(cycle) = &cte.cycle {
            self.push(&format!(" CYCLE {} SET {}", list(&cycle.columns), quote_identifier(&cycle.mark)));
            let is =
                |expr: &Expr, truth: bool| matches!(expr.kind, ExprKind::Literal(Literal::Boolean(is)) if is == truth);
            if !(is(&cycle.value, true) && is(&cycle.default, false)) {
                self.push(" TO ");
                self.expr(&cycle.value);
                self.push(" DEFAULT ");
                self.expr(&cycle.default);
            }
            self.push(&format!(" USING {}", quote_identifier(&cycle.path)));
        }
    }

    fn select(&mut self, select: &Select) {
        self.push(" SELECT ");
        match &select.distinct {
            Distinct::No => {}
            Distinct::All => self.push("DISTINCT "),
            Distinct::On(exprs) => {
                self.push("DISTINCT ON (");
                self.exprs(exprs);
                self.push(") ");
            }
        }
        for (number, target) in select.targets.iter().enumerate() {
            if number > 0 {
                self.line(",\n    ");
            }
            self.target(target);
        }
        for (number, item) in select.from.iter().enumerate() {
            self.line(if number > 0 { ",\n    " } else { "\n   FROM " });
            self.from_item(item);
        }
        if let Some(filter) = &select.filter {
            self.line("\n  WHERE ");
            self.bare(filter);
        }
        if !select.group.is_empty() {
            self.line(if select.group_distinct { "\n  GROUP BY DISTINCT " } else { "\n  GROUP BY " });
            self.group_items(&select.group);
        }
        if let Some(having) = &select.having {
            self.line("\n HAVING ");
            self.bare(having);
        }
        for (number, window) in select.windows.iter().enumerate() {
            self.line(if number > 0 { ", " } else { "\n  WINDOW " });
            self.name(window.name.as_deref().unwrap_or_default());
            self.push(" AS ");
            self.window(window);
        }
    }

    fn target(&mut self, target: &Target) {
        self.bare(&target.expr);
        let name = target.name.clone().unwrap_or_else(|| column_name(&target.expr));
        let says_so_itself = match &target.expr.kind {
            ExprKind::Column(parts) => parts.last() == Some(&name),
            ExprKind::Star(_) => true,
            _ => name == "?column?" && target.name.is_none(),
        };
        if !says_so_itself {
            self.push(" AS ");
            self.name(&name);
        }
    }

    fn group_items(&mut self, items: &[GroupItem]) {
        for (number, item) in items.iter().enumerate() {
            if number > 0 {
                self.push(", ");
            }
            let (name, inner) = match item {
                GroupItem::Expr(expr) => {
                    self.bare(expr);
                    continue;
                }
                GroupItem::Empty(_) => {
                    self.push("()");
                    continue;
                }
                GroupItem::Rollup(inner, _) => ("ROLLUP(", inner),
                GroupItem::Cube(inner, _) => ("CUBE(", inner),
                GroupItem::Sets(inner, _) => ("GROUPING SETS (", inner),
            };
            self.push(name);
            self.group_items(inner);
            self.push(")");
        }
    }

    fn from_item(&mut self, item: &FromItem) {
        match item {
            FromItem::Table(reference) => {
                let is_cte = reference.name.schema.is_none() && self.ctes.borrow().contains(&reference.name.name);
                if is_cte {
                    self.qualified(&reference.name);
                    if let Some(alias) = &reference.alias {
                        self.push(&alias_text(alias));
                    }
                } else {
                    let text = self.names.table(reference);
                    self.push(&text);
                }
            }
            FromItem::Subquery { query, lateral, alias } => {
                self.push(if *lateral { "LATERAL (" } else { "(" });
                self.inner_query(query);
                self.push(")");
                if let Some(alias) = alias {
                    self.push(&alias_text(alias));
                }
            }
            FromItem::Function { calls, lateral, ordinality, rows_from, alias, columns, .. } => {
                if *lateral {
                    self.push("LATERAL ");
                }
                if *rows_from {
                    self.push("ROWS FROM(");
                }
                for (number, (call, own_columns)) in calls.iter().enumerate() {
                    if number > 0 {
                        self.push(", ");
                    }
                    self.expr(call);
                    if !own_columns.is_empty() {
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
                match alias {
                    Some(alias) if columns.is_empty() => self.push(&alias_text(alias)),
                    Some(alias) => {
                        self.push(" AS ");
                        self.name(&alias.name);
                        self.column_definitions(columns);
                    }
                    None if !columns.is_empty() => {
                        self.push(" AS ");
                        self.column_definitions(columns);
                    }
                    None => {}
                }
            }
            FromItem::Join(join) => self.join(join),
            FromItem::Unsupported(what, _) => self.push(&format!("/* {what} */")),
        }
    }

    fn column_definitions(&mut self, columns: &[crate::tree::ColumnDefinitionItem]) {
        let columns: Vec<String> = columns
            .iter()
            .map(|column| format!("{} {}", quote_identifier(&column.name), self.names.type_name(&column.type_name)))
            .collect();
        self.push(&format!("({})", columns.join(", ")));
    }

    fn join(&mut self, join: &Join) {
        let in_parentheses = !self.pretty || join.alias.is_some();
        if in_parentheses {
            self.push(if join.alias.is_some() && !self.pretty { "((" } else { "(" });
        }
        self.from_item(&join.left);
        self.line("\n     ");
        let names = self.names;
        let compared = if join.natural { names.natural(join.right.start()) } else { None };
        let (natural, using) = (join.natural && compared.is_none(), compared.unwrap_or(&join.using));
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
            self.bare(condition);
            if !self.pretty {
                self.push(")");
            }
        }
        if in_parentheses {
            self.push(")");
        }
        if let Some(alias) = &join.alias {
            if !self.pretty {
                self.push(")");
            }
            self.push(&alias_text(alias));
        }
    }

    pub(super) fn sort_list(&mut self, list: &[SortBy]) {
        for (number, item) in list.iter().enumerate() {
            if number > 0 {
                self.push(", ");
            }
            self.bare(&item.expr);
            match &item.direction {
                SortDirection::Ascending => {}
                SortDirection::Descending => self.push(" DESC"),
                SortDirection::Using(operator) => {
                    self.push(" USING ");
                    self.operator(operator);
                }
            }
            match item.nulls_first {
                None => {}
                Some(true) => self.push(" NULLS FIRST"),
                Some(false) => self.push(" NULLS LAST"),
            }
        }
    }
}
