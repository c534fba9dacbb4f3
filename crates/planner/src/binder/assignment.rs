//! Assignments to parts of columns: `SET a[1] = x`, `SET d['k'] = x`, `SET c.f = x`; and reading JSON by subscripts.
//!
//! The column gets a new value, computed from the old one by a function of `types::functions::assign`.

use base::{Error, Result, sqlstate};
use plan::{Call, EarlierField, Expr, ExprKind, FunctionTarget};
use syntax::tree::{Indirection, InsertColumn, Location};
use types::{CallTypes, CastContext, FunctionDef, SqlType, Value, assign, oids};

use super::Binder;

/// The value of an assignment, and where it stands; none for DEFAULT.
pub(super) struct Source {
    pub(super) value: Option<Expr>,
    pub(super) location: Location,
}

/// A call of a function that SQL has no name for.
pub(crate) fn call_unnamed(function: &'static FunctionDef, arguments: Vec<Expr>, result: SqlType) -> Expr {
    let types = CallTypes::new(arguments.iter().map(|argument| argument.sql_type), result);
    let call = Call {
        function: FunctionTarget::Builtin(function),
        arguments,
        types,
        operator: None,
        in_words: false,
        location: -1,
    };
    Expr::new(ExprKind::Call(Box::new(call)), result)
}

/// A value to which another part is assigned by the same statement: a domain checks it when all its parts have been assigned.
fn before_check(current: Expr) -> Expr {
    let is_assigned = |expr: &Expr| {
        matches!(&expr.kind, ExprKind::Call(call) if matches!(call.function, FunctionTarget::Builtin(function)
            if std::ptr::eq(function, &assign::FIELD) || std::ptr::eq(function, &assign::ARRAY)))
    };
    match current.kind {
        ExprKind::Cast(cast) if cast.cast.checks_domain() && is_assigned(&cast.input) => cast.input,
        _ => current,
    }
}

impl Binder<'_, '_> {
    /// The whole column's new value: `current` with `source` at the column's indirection.
    pub(super) fn assign_to_part(
        &mut self,
        current: Expr,
        column: &InsertColumn,
        sql_type: SqlType,
        source: Source,
    ) -> Result<Expr> {
        if source.value.is_none() {
            let what = match column.indirection.last() {
                Some(Indirection::Field(_) | Indirection::Star) => "a subfield",
                _ => "an array element",
            };
            return Err(self.unsupported(format!("cannot set {what} to DEFAULT"), column.location));
        }
        let base = types::base_type(self.context.lookup, sql_type);
        let current = before_check(current);
        let assigned = self.assign_step(current, column, base, &column.indirection, source)?;
        self.coerce_for_column(assigned, sql_type, &column.name, column.location)
    }

    /// A field or an element of which a part is assigned. A domain checks it as a whole.
    fn changed_part(
        &mut self,
        current: Expr,
        column: &InsertColumn,
        sql_type: SqlType,
        steps: &[Indirection],
        source: Source,
    ) -> Result<Expr> {
        let changed = self.assign_step(current, column, sql_type, steps, source)?;
        self.coerce_for_column(changed, SqlType::new(sql_type.oid), &column.name, column.location)
    }

    fn assign_step(
        &mut self,
        current: Expr,
        column: &InsertColumn,
        sql_type: SqlType,
        steps: &[Indirection],
        source: Source,
    ) -> Result<Expr> {
        let base = types::base_type(self.context.lookup, sql_type);
        match steps.first() {
            None => Err(Error::internal("an assignment to no part")),
            Some(Indirection::Star) => {
                Err(self.error(sqlstate::SYNTAX_ERROR, "improper use of \"*\"", column.location))
            }
            Some(Indirection::Field(name)) => {
                let (found, target) =
                    (self.type_name(sql_type.oid), format!("field \"{name}\" of column \"{}\"", column.name));
                let Some(shape) = self.composite_shape(base.oid) else {
                    let message = format!("cannot assign to {target} because its type {found} is not a composite type");
                    return Err(self.error(sqlstate::DATATYPE_MISMATCH, message, column.location));
                };
                let place = match self.field_of_earlier(column.location, base.oid, name, &shape) {
                    Some(EarlierField::At(place)) => Some(place),
                    _ => shape.fields.iter().position(|(field, _)| field == name.as_str()),
                };
                let Some(place) = place else {
                    let message =
                        format!("cannot assign to {target} because there is no such column in data type {found}");
                    return Err(self.error(sqlstate::UNDEFINED_COLUMN, message, column.location));
                };
                self.note_field(column.location, base.oid, name, place, &shape);
                let field_type = shape.fields[place].1;
                let value = if steps.len() > 1 {
                    let inner = self.field(current.clone(), name, column.location)?;
                    self.changed_part(inner, column, field_type, &steps[1..], source)?
                } else {
                    self.part_value(source, field_type, |wanted, given| {
                        format!("subfield \"{name}\" is of type {wanted} but expression is of type {given}")
                    })?
                };
                let place = Expr::constant(Value::Int4(place as i32), SqlType::INT4);
                Ok(call_unnamed(&assign::FIELD, vec![current, value, place], base))
            }
            Some(Indirection::Index(_) | Indirection::Slice(..)) => {
                let count = steps
                    .iter()
                    .position(|step| !matches!(step, Indirection::Index(_) | Indirection::Slice(..)))
                    .unwrap_or(steps.len());
                let (subscripts, rest) = steps.split_at(count);
                if base.oid == oids::JSONB {
                    let (path, starts_with_number) = self.json_path(subscripts, column.location)?;
                    let value = self.subscripted_value(source, SqlType::new(oids::JSONB), column)?;
                    let first = Expr::constant(Value::Bool(starts_with_number), SqlType::BOOL);
                    return Ok(call_unnamed(&assign::JSON_DOCUMENT, vec![current, value, path, first], base));
                }
                let Some(element) = types::element_type(self.context.lookup, base.oid) else {
                    let found = self.type_name(sql_type.oid);
                    let message = format!("cannot subscript type {found} because it does not support subscripting");
                    return Err(self.error(sqlstate::DATATYPE_MISMATCH, message, column.location));
                };
                self.assign_to_elements(current, column, base, element, subscripts, rest, source)
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one step of a recursion, with what it knows of the column")]
    fn assign_to_elements(
        &mut self,
        current: Expr,
        column: &InsertColumn,
        base: SqlType,
        element: base::Oid,
        subscripts: &[Indirection],
        rest: &[Indirection],
        source: Source,
    ) -> Result<Expr> {
        if subscripts.len() > types::MAX_DIMENSIONS {
            return Err(types::too_many_dimensions(subscripts.len()));
        }
        let slice = subscripts.iter().any(|step| matches!(step, Indirection::Slice(..)));
        let part = if slice { base } else { SqlType::with_typmod(element, base.typmod) };
        let value = if rest.is_empty() {
            self.subscripted_value(source, part, column)?
        } else {
            let inner = self.subscript(current.clone(), subscripts, column.location)?;
            self.changed_part(inner, column, part, rest, source)?
        };
        let mut kinds = String::new();
        let mut bounds = Vec::with_capacity(subscripts.len() * 2);
        for step in subscripts {
            let (kind, low, high) = match step {
                Indirection::Index(index) => ('i', None, Some(index)),
                Indirection::Slice(Some(low), Some(high)) => ('s', Some(low), Some(high)),
                Indirection::Slice(Some(low), None) => ('l', Some(low), None),
                Indirection::Slice(None, Some(high)) => ('u', None, Some(high)),
                Indirection::Slice(None, None) => ('n', None, None),
                Indirection::Field(_) | Indirection::Star => unreachable!("the caller stops at these"),
            };
            kinds.push(kind);
            for bound in [low, high] {
                bounds.push(match bound {
                    Some(bound) => self.array_index(bound)?,
                    None => Expr::null(SqlType::INT4),
                });
            }
        }
        let mut arguments = vec![current, value, Expr::constant(Value::from(kinds), SqlType::new(oids::TEXT))];
        arguments.append(&mut bounds);
        Ok(call_unnamed(&assign::ARRAY, arguments, base))
    }

    /// The new value of the part that subscripts select.
    fn subscripted_value(&mut self, source: Source, wanted: SqlType, column: &InsertColumn) -> Result<Expr> {
        let name = column.name.clone();
        self.part_value(source, wanted, |wanted, given| {
            format!("subscripted assignment to \"{name}\" requires type {wanted} but expression is of type {given}")
        })
    }

    fn part_value(
        &mut self,
        source: Source,
        wanted: SqlType,
        complaint: impl FnOnce(String, String) -> String,
    ) -> Result<Expr> {
        let Source { value, location } = source;
        let bound = value.ok_or_else(|| Error::internal("a part of a column is given no value"))?;
        self.coerce_or(bound, wanted, CastContext::Assignment, location, |binder, expr| {
            let message = complaint(binder.type_name(wanted.oid), binder.type_name(expr.sql_type.oid));
            binder
                .error(sqlstate::DATATYPE_MISMATCH, message, location)
                .hint("You will need to rewrite or cast the expression.")
        })
    }

    /// `document['key'][0]`
    pub(super) fn json_subscript(&mut self, json: Expr, steps: &[Indirection], location: Location) -> Result<Expr> {
        let (path, _) = self.json_path(steps, location)?;
        let [function] = types::functions_named("jsonb_extract_path") else {
            return Err(Error::internal("jsonb_extract_path is not one function"));
        };
        Ok(call_unnamed(function, vec![json, path], SqlType::new(oids::JSONB)))
    }

    /// Subscripts as a path of texts, and whether the first is a number.
    fn json_path(&mut self, steps: &[Indirection], location: Location) -> Result<(Expr, bool)> {
        let text = SqlType::new(oids::TEXT);
        let mut elements = Vec::with_capacity(steps.len());
        let mut starts_with_number = false;
        for (number, step) in steps.iter().enumerate() {
            let Indirection::Index(index) = step else {
                let message = "jsonb subscript does not support slices";
                let at = match step {
                    Indirection::Slice(Some(bound), _) | Indirection::Slice(None, Some(bound)) => bound.start(),
                    _ => location,
                };
                return Err(self.error(sqlstate::DATATYPE_MISMATCH, message, at));
            };
            let bound = self.expr(index)?;
            let at = index.start();
            match bound.sql_type.oid {
                oids::INT2 | oids::INT4 => {
                    starts_with_number |= number == 0;
                    let bound = self.cast_explicitly(bound, SqlType::INT4, at)?;
                    elements.push(self.cast_explicitly(bound, text, at)?);
                }
                oids::UNKNOWN | oids::TEXT | oids::VARCHAR | oids::BPCHAR | oids::NAME => {
                    elements.push(self.cast_explicitly(bound, text, at)?);
                }
                other => {
                    let message = format!("subscript type {} is not supported", self.type_name(other));
                    return Err(self
                        .error(sqlstate::DATATYPE_MISMATCH, message, at)
                        .hint("jsonb subscript must be coercible to either integer or text."));
                }
            }
        }
        let kind = ExprKind::Array { elements, nested: false };
        Ok((Expr::new(kind, SqlType::new(oids::TEXT_ARRAY)), starts_with_number))
    }
}
