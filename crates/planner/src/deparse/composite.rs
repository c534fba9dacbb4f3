//! Rows and arrays, and parts of them, back to text.

use plan::{Expr, ExprKind, FieldAccess};
use types::reg_types::quote_identifier;
use types::{RecordShape, SqlType};

use super::expr::{Qualify, Writer};

impl Writer<'_, '_> {
    pub(super) fn array(&mut self, elements: &[Expr], sql_type: SqlType) {
        self.push("ARRAY[");
        self.list(elements);
        self.push("]");
        if elements.is_empty() {
            let name = self.deparser.type_name(SqlType::new(sql_type.oid));
            self.push(&format!("::{name}"));
        }
    }

    pub(super) fn subscripted(&mut self, input: &Expr, subscripts: &[(Option<Expr>, Option<Expr>)], slice: bool) {
        let is_column = matches!(input.kind, ExprKind::Column(_) | ExprKind::Variable(_));
        self.in_parentheses(input, !is_column);
        for (low, high) in subscripts {
            self.push("[");
            if let Some(low) = low {
                self.expr(low, false);
            }
            if slice {
                self.push(":");
            }
            if let Some(high) = high {
                self.expr(high, false);
            }
            self.push("]");
        }
    }

    /// A row without its type.
    pub(super) fn bare_row(&mut self, fields: &[Expr]) {
        self.push("ROW(");
        for (number, field) in fields.iter().enumerate() {
            if number > 0 {
                self.push(", ");
            }
            self.expr(field, true);
            self.push(&self.deparser.type_of_row(field));
        }
        self.push(")");
    }

    pub(super) fn row(&mut self, fields: &[Expr], shape: &RecordShape, show_implicit: bool) {
        self.bare_row(fields);
        // A text that is stored names the type, so that it is found when the type changes. A table that is being made has none yet.
        let is_shown = self.deparser.shows_row_types && (show_implicit || self.deparser.qualify == Qualify::Always);
        if is_shown && types::composite_shape(self.deparser.view, shape.type_oid).is_some() {
            let name = self.deparser.type_name(SqlType::new(shape.type_oid));
            self.push(&format!("::{name}"));
        }
    }

    pub(super) fn field(&mut self, access: &FieldAccess) {
        let is_bare = matches!(access.input.kind, ExprKind::Field(_));
        self.in_parentheses(&access.input, !is_bare);
        // As the type calls the field now.
        let view = self.deparser.view;
        let base = types::base_type(view, access.input.sql_type);
        let shape = types::composite_shape(view, base.oid);
        let field = shape.as_ref().and_then(|shape| shape.fields.get(access.field as usize));
        let name = quote_identifier(field.map_or(access.name.as_str(), |(name, _)| name));
        self.push(&format!(".{name}"));
    }
}
