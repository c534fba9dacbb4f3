//! Giving expressions the types that are wanted of them.

use base::{Error, Oid, Result, sqlstate};
use plan::{CastExpr, Expr, ExprKind};
use syntax::tree::Location;
use types::{Cast, CastContext, SqlType, TypeKind, Value, oids};

use super::Binder;
use super::whole_row::row_of_nullable_side;

impl Binder<'_, '_> {
    /// `expr` as `target`, if there is a way in this context.
    pub(super) fn try_coerce(
        &mut self,
        expr: Expr,
        target: SqlType,
        context: CastContext,
        location: Location,
    ) -> Result<Option<Expr>> {
        if expr.sql_type == target {
            return Ok(Some(expr));
        }
        match &expr.kind {
            ExprKind::Parameter(index) if expr.sql_type.oid == oids::UNKNOWN => {
                let index = *index;
                let location = if expr.sql_type.typmod >= 0 { expr.sql_type.typmod } else { location };
                self.coerce_parameter(index, target, context, location).map(Some)
            }
            ExprKind::Constant(value) if expr.sql_type.oid == oids::UNKNOWN => {
                if target.oid == oids::UNKNOWN {
                    return Ok(Some(expr));
                }
                let place = expr.sql_type.typmod;
                let literal = match value {
                    Value::Text(text) => {
                        let text = text.clone();
                        let location = if place >= 0 { place } else { location };
                        self.literal_input(&text, target, context, location)?
                    }
                    _ => self.null_of(target, context, location)?,
                };
                Ok(Some(self.with_typmod(literal, target, context, location)))
            }
            ExprKind::Row { .. } if expr.sql_type.oid == oids::RECORD && self.composite_shape(target.oid).is_some() => {
                let base = types::base_type(self.context.lookup, target);
                let row = self.coerce_row(expr, target, base, context, location)?;
                let is_written = context == CastContext::Explicit && self.keeps_words();
                if base.oid == target.oid && !is_written {
                    return Ok(Some(row));
                }
                let cast = Cast::find(self.context.lookup, base, target, context);
                Ok(cast.map(|cast| match is_written {
                    true => Expr::new(ExprKind::Cast(Box::new(CastExpr { input: row, cast, location })), target),
                    false => self.cast_expr(row, cast, target, location),
                }))
            }
            ExprKind::Case { .. } if self.is_row_of_nullable_side(&expr, target) => {
                let row = row_of_nullable_side(&expr).cloned();
                self.try_coerce(row.unwrap_or(expr), target, context, location)
            }
            _ => {
                if expr.sql_type.oid == target.oid && target.typmod < 0 {
                    // Losing a modifier needs no work; the expression keeps its own.
                    return Ok(Some(expr));
                }
                self.refuse_record(&expr, target, location)?;
                let Some(cast) = Cast::find(self.context.lookup, expr.sql_type, target, context) else {
                    return Ok(None);
                };
                Ok(Some(self.cast_expr(expr, cast, target, location)))
            }
        }
    }

    /// As [`Binder::try_coerce`], with `complaint` if there is no way.
    pub(super) fn coerce_or(
        &mut self,
        expr: Expr,
        target: SqlType,
        context: CastContext,
        location: Location,
        complaint: impl FnOnce(&Self, &Expr) -> Error,
    ) -> Result<Expr> {
        // The complaint needs the expression's type, which the attempt consumes.
        let description = Expr::null(expr.sql_type);
        match self.try_coerce(expr, target, context, location)? {
            Some(expr) => Ok(expr),
            None => Err(complaint(self, &description)),
        }
    }

    /// Through a cast that resolution has found already.
    pub(super) fn apply_cast(&mut self, expr: Expr, cast: &Cast, location: Location) -> Result<Expr> {
        let unknown = expr.sql_type.oid == oids::UNKNOWN;
        let row = matches!(expr.kind, ExprKind::Row { .. }) || self.is_row_of_nullable_side(&expr, cast.target);
        if unknown || row {
            let target = cast.target;
            let from = expr.sql_type.oid;
            return match self.try_coerce(expr, target, cast.context, location)? {
                Some(expr) => Ok(expr),
                None => Err(self.cannot_cast(from, target.oid, location)),
            };
        }
        self.refuse_record(&expr, cast.target, location)?;
        // A value of a domain is one of the base type from here on, and is shown as such.
        let is_domain = || types::base_type(self.context.lookup, expr.sql_type).oid != expr.sql_type.oid;
        if cast.is_noop() && !(cast.source.oid != cast.target.oid && is_domain()) {
            return Ok(expr);
        }
        Ok(self.cast_expr(expr, cast.clone(), cast.target, location))
    }

    /// CAST and `::`.
    pub(super) fn cast_explicitly(&mut self, expr: Expr, target: SqlType, location: Location) -> Result<Expr> {
        let from = expr.sql_type.oid;
        let is_read = matches!(target.oid, oids::ANYARRAY | oids::ANYCOMPATIBLEARRAY);
        if types::is_pseudo_target(target.oid) && !(is_read && from == oids::UNKNOWN) {
            // It keeps the type it has, or has none yet.
            let fits = types::fits_pseudo_target(self.context.lookup, from, target.oid);
            return if fits { Ok(expr) } else { Err(self.cannot_cast(from, target.oid, location)) };
        }
        match self.try_coerce(expr, target, CastContext::Explicit, location)? {
            Some(expr) if expr.sql_type.oid == target.oid => Ok(self.without_modifier(expr, target, location)),
            Some(expr) => Ok(expr),
            None => Err(self.cannot_cast(from, target.oid, location)),
        }
    }

    /// `expr` as `target`; both have the same type, perhaps with different modifiers. In a text that is stored, a written cast that removes a
    /// modifier is kept.
    fn without_modifier(&self, expr: Expr, target: SqlType, location: Location) -> Expr {
        let loses_one = target.typmod < 0 && expr.sql_type.typmod >= 0 && target.oid != oids::UNKNOWN;
        // A constant is shown without its modifier: its value already fits. NULLs are shown with it, those of intervals excepted.
        let is_bare = expr.as_constant().is_some_and(|value| !value.is_null() || target.oid == oids::INTERVAL);
        if !loses_one || is_bare || !self.keeps_casts() {
            return Expr { sql_type: target, ..expr };
        }
        let cast = Cast::relabeling(expr.sql_type, target);
        Expr::new(ExprKind::Cast(Box::new(CastExpr { input: expr, cast, location })), target)
    }

    /// Whether `expr` is the whole row of an outer join's nullable side, to be cast to a row type field by field.
    fn is_row_of_nullable_side(&self, expr: &Expr, target: SqlType) -> bool {
        expr.sql_type.oid == oids::RECORD
            && row_of_nullable_side(expr).is_some()
            && self.composite_shape(target.oid).is_some()
    }

    /// Refuses an anonymous row whose field types are unknown when the statement is planned: nothing could cast and check them.
    fn refuse_record(&self, expr: &Expr, target: SqlType, location: Location) -> Result<()> {
        if expr.sql_type.oid == oids::RECORD && self.composite_shape(target.oid).is_some() {
            return Err(self.cannot_cast(oids::RECORD, target.oid, location));
        }
        Ok(())
    }

    pub(super) fn cannot_cast(&self, from: Oid, to: Oid, location: Location) -> Error {
        let message = format!("cannot cast type {} to {}", self.type_name(from), self.type_name(to));
        self.error(sqlstate::CANNOT_COERCE, message, location)
    }

    /// A parameter whose type nobody has said: it takes the one that is wanted.
    fn coerce_parameter(
        &mut self,
        index: u32,
        target: SqlType,
        context: CastContext,
        location: Location,
    ) -> Result<Expr> {
        if target.oid == oids::UNKNOWN {
            return Ok(Expr::new(ExprKind::Parameter(index), SqlType::UNKNOWN));
        }
        let wanted = types::base_type(self.context.lookup, SqlType::new(target.oid));
        let decided = self.parameters.decide(index, SqlType::new(wanted.oid));
        let parameter = Expr::new(ExprKind::Parameter(index), decided);
        if decided.oid != wanted.oid {
            let detail = format!("{} versus {}", self.type_name(decided.oid), self.type_name(target.oid));
            let message = format!("inconsistent types deduced for parameter ${}", index + 1);
            return Err(self.error(sqlstate::AMBIGUOUS_PARAMETER, message, location).detail(detail));
        }
        if wanted.oid != target.oid {
            let cast = Cast::find(self.context.lookup, decided, target, context);
            return match cast {
                Some(cast) => Ok(self.cast_expr(parameter, cast, target, location)),
                None => Err(self.cannot_cast(decided.oid, target.oid, location)),
            };
        }
        Ok(self.with_typmod(parameter, target, context, location))
    }

    /// `input` through `cast`. Where values pass unchanged only the type changes.
    fn cast_expr(&self, input: Expr, cast: Cast, target: SqlType, location: Location) -> Expr {
        // Constants and casts are shown with their type, so they keep the cast. Stored texts keep every cast that was written.
        let is_kept = matches!(input.kind, ExprKind::Constant(_) | ExprKind::Cast(_))
            || cast.context == CastContext::Explicit && self.keeps_casts();
        if cast.is_noop() && !(is_kept && input.sql_type.oid != target.oid) {
            return Expr { sql_type: target, ..input };
        }
        Expr::new(ExprKind::Cast(Box::new(CastExpr { input, cast, location })), target)
    }

    /// `expr`, which has the target's type, with its modifier enforced.
    fn with_typmod(&mut self, expr: Expr, target: SqlType, context: CastContext, location: Location) -> Expr {
        if target.typmod < 0 || expr.sql_type.typmod == target.typmod {
            return expr;
        }
        // A column's default is stored with the cast to its length.
        let is_cut = context == CastContext::Assignment && target.oid != oids::INTERVAL;
        if matches!(expr.kind, ExprKind::Constant(Value::Null)) && !is_cut {
            return Expr::null(target);
        }
        match Cast::find(self.context.lookup, expr.sql_type, target, context) {
            Some(cast) => self.cast_expr(expr, cast, target, location),
            None => expr,
        }
    }

    /// A literal as a value of a type, read by its input function. The type's modifier is left to be enforced, as the
    /// context wants it, except where input itself needs it.
    fn literal_input(&mut self, text: &str, target: SqlType, context: CastContext, location: Location) -> Result<Expr> {
        let base = types::base_type(self.context.lookup, target);
        let read_as = if base.oid == oids::INTERVAL { base } else { SqlType::new(base.oid) };
        if literal_depends_on_settings(self.context.lookup, base.oid, text) {
            self.depends_on_settings = true;
        }
        let value = match self.earlier().and_then(|earlier| earlier.literal(location, read_as)) {
            Some(value) => value.clone(),
            None => {
                let value = match self.is_of_stored_text() && types::text_io::is_reg_type(read_as.oid) {
                    // The rights of the role count when a text is stored, not when it is read.
                    true => types::reg_types::parse_reg(self.context.lookup, text, read_as.oid).map(Value::Oid),
                    false => types::input(self.context.eval, text, read_as),
                };
                value.map_err(|error| self.at(error, location))?
            }
        };
        if !self.text_is_foreign {
            self.context.meaning.note_literal(location, read_as, &value);
        }
        self.note_resolved(|resolved| {
            resolved.literals.insert(location, (read_as, value.clone()));
        });
        let literal = Expr::constant(value, read_as);
        if base.oid == target.oid {
            return Ok(literal);
        }
        match Cast::find(self.context.lookup, read_as, target, context) {
            Some(cast) => Ok(self.cast_expr(literal, cast, target, location)),
            None => Err(self.cannot_cast(base.oid, target.oid, location)),
        }
    }

    /// NULL as a value of a type; a domain may refuse it.
    fn null_of(&mut self, target: SqlType, context: CastContext, location: Location) -> Result<Expr> {
        let base = types::base_type(self.context.lookup, target);
        if base.oid == target.oid {
            return Ok(Expr::null(SqlType::new(target.oid)));
        }
        let base = SqlType::new(base.oid);
        match Cast::find(self.context.lookup, base, target, context) {
            Some(cast) => Ok(self.cast_expr(Expr::null(base), cast, target, location)),
            None => Err(self.cannot_cast(base.oid, target.oid, location)),
        }
    }

    /// ROW(...) as a named composite type, field by field: `base`, which `target` is or is a domain over.
    fn coerce_row(
        &mut self,
        expr: Expr,
        target: SqlType,
        base: SqlType,
        context: CastContext,
        location: Location,
    ) -> Result<Expr> {
        let (ExprKind::Row { fields, .. }, Some(shape)) = (expr.kind, self.composite_shape(base.oid)) else {
            return Err(self.cannot_cast(expr.sql_type.oid, target.oid, location));
        };
        let mut given = fields.len();
        let mut coerced = Vec::with_capacity(given);
        for (number, (field, (_, wanted))) in fields.into_iter().zip(&shape.fields).enumerate() {
            let from = field.sql_type.oid;
            match self.try_coerce(field, *wanted, context, location)? {
                Some(field) => coerced.push(field),
                None => {
                    let detail = format!(
                        "Cannot cast type {} to {} in column {}.",
                        self.type_name(from),
                        self.type_name(wanted.oid),
                        number + 1
                    );
                    return Err(self.cannot_cast(oids::RECORD, target.oid, location).detail(detail));
                }
            }
        }
        // The type may have got fields since the row was stored.
        if self.text_is_foreign || self.context.text_is_stored {
            coerced.extend(shape.fields.iter().skip(given).map(|(_, wanted)| Expr::null(*wanted)));
            given = given.max(shape.fields.len());
        }
        // Errors of its fields come first.
        if shape.fields.len() != given {
            let few_or_many = if shape.fields.len() > given { "few" } else { "many" };
            let detail = format!("Input has too {few_or_many} columns.");
            return Err(self.cannot_cast(oids::RECORD, target.oid, location).detail(detail));
        }
        Ok(Expr::new(ExprKind::Row { fields: coerced, shape, is_whole: false }, base))
    }

    /// The fields of a composite type or table's row type.
    pub(super) fn composite_shape(&self, oid: Oid) -> Option<std::sync::Arc<types::RecordShape>> {
        if let Some(table) = self.context.catalog.table(oid) {
            return Some(types::RecordShape::of_table(table));
        }
        match &self.context.lookup.user_type(oid)?.kind {
            types::context::UserTypeKind::Composite(shape) => Some(shape.clone()),
            types::context::UserTypeKind::Domain(base) => self.composite_shape(base.oid),
            _ => None,
        }
    }

    /// A condition: 42804 `argument of WHERE must be type boolean, not type integer`.
    pub(super) fn coerce_boolean(&mut self, expr: Expr, construct: &str, location: Location) -> Result<Expr> {
        if expr.sql_type.oid == oids::BOOL {
            return Ok(expr);
        }
        self.coerce_or(expr, SqlType::BOOL, CastContext::Assignment, location, |binder, expr| {
            let found = binder.type_name(expr.sql_type.oid);
            let message = format!("argument of {construct} must be type boolean, not type {found}");
            binder.error(sqlstate::DATATYPE_MISMATCH, message, location)
        })
    }

    /// An expression of a given type: 42804 `argument of LIMIT must be type bigint, not type text`.
    pub(super) fn coerce_to(
        &mut self,
        expr: Expr,
        target: SqlType,
        construct: &str,
        location: Location,
    ) -> Result<Expr> {
        self.coerce_or(expr, target, CastContext::Assignment, location, |binder, expr| {
            let (wanted, found) = (binder.type_name(target.oid), binder.type_name(expr.sql_type.oid));
            let message = format!("argument of {construct} must be type {wanted}, not type {found}");
            binder.error(sqlstate::DATATYPE_MISMATCH, message, location)
        })
    }

    /// The type that a construct gives to all of these, each coerced to it.
    pub(super) fn coerce_to_common(
        &mut self,
        exprs: Vec<Expr>,
        construct: &str,
        locations: &[Location],
    ) -> Result<(Vec<Expr>, SqlType)> {
        let types = exprs.iter().map(|expr| expr.sql_type).collect::<Vec<_>>();
        let common = self.common_type(construct, &types, locations)?;
        let coerced = exprs
            .into_iter()
            .zip(locations)
            .map(|(expr, location)| self.coerce_to_common_type(expr, common, construct, *location))
            .collect::<Result<_>>()?;
        Ok((coerced, common))
    }

    /// One of several expressions as the type found for all of them.
    pub(super) fn coerce_to_common_type(
        &mut self,
        expr: Expr,
        common: SqlType,
        construct: &str,
        location: Location,
    ) -> Result<Expr> {
        self.coerce_or(expr, common, CastContext::Implicit, location, |binder, expr| {
            let (from, to) = (binder.type_name(expr.sql_type.oid), binder.type_name(common.oid));
            let message = format!("{construct} could not convert type {from} to {to}");
            binder.error(sqlstate::CANNOT_COERCE, message, location)
        })
    }

    /// The type that a construct gives to expressions of these types; an error points at the first that doesn't fit.
    pub(super) fn common_type(
        &mut self,
        construct: &str,
        types: &[SqlType],
        locations: &[Location],
    ) -> Result<SqlType> {
        types::common_type(self.context.lookup, construct, types).map_err(|error| {
            let fits = |count: usize| types::common_type(self.context.lookup, construct, &types[..count]).is_ok();
            let culprit = (1..=types.len()).find(|count| !fits(*count)).unwrap_or(types.len());
            self.at(error, locations.get(culprit - 1).copied().unwrap_or(-1))
        })
    }

    /// A literal or parameter that nothing has given a type becomes text, as a column of a result does.
    pub(super) fn settle(&mut self, expr: Expr, location: Location) -> Result<Expr> {
        if expr.sql_type.oid != oids::UNKNOWN {
            return Ok(expr);
        }
        self.coerce_or(expr, SqlType::TEXT, CastContext::Implicit, location, |binder, _| {
            binder.error(sqlstate::INDETERMINATE_DATATYPE, "could not determine the type of an expression", location)
        })
    }

    /// Does [`Binder::settle`] to an expression in place.
    pub(super) fn settle_in_place(&mut self, expr: &mut Expr, location: Location) -> Result<()> {
        if expr.sql_type.oid == oids::UNKNOWN {
            let unsettled = std::mem::replace(expr, Expr::null(SqlType::UNKNOWN));
            *expr = self.settle(unsettled, location)?;
        }
        Ok(())
    }

    /// A value stored in a column: 42804 with the hint about a cast.
    pub(super) fn coerce_for_column(
        &mut self,
        expr: Expr,
        target: SqlType,
        column: &str,
        location: Location,
    ) -> Result<Expr> {
        self.coerce_or(expr, target, CastContext::Assignment, location, |binder, expr| {
            let (wanted, found) = (binder.type_name(target.oid), binder.type_name(expr.sql_type.oid));
            let message = format!("column \"{column}\" is of type {wanted} but expression is of type {found}");
            binder
                .error(sqlstate::DATATYPE_MISMATCH, message, location)
                .hint("You will need to rewrite or cast the expression.")
        })
    }
}

/// Whether reading `text` as a type gives another value when a setting changes, or another time.
fn literal_depends_on_settings(lookup: &dyn types::CatalogLookup, oid: Oid, text: &str) -> bool {
    match oid {
        // Digits in ISO order mean the same under every DateStyle.
        oids::DATE | oids::TIMESTAMP => !is_iso_date(text),
        oids::TIME => !text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.')),
        oids::TIMESTAMPTZ | oids::TIMETZ | oids::INTERVAL => true,
        oids::REGCLASS
        | oids::REGTYPE
        | oids::REGPROC
        | oids::REGPROCEDURE
        | oids::REGOPER
        | oids::REGOPERATOR
        | oids::REGNAMESPACE
        | oids::REGROLE
        | oids::REGCOLLATION => false,
        _ => match types::type_shape(lookup, oid).map(|shape| shape.kind) {
            Some(TypeKind::Array(element)) => {
                // `array_nulls` says whether NULL is a text.
                mentions_null(text)
                    || matches!(
                        element,
                        oids::DATE | oids::TIMESTAMP | oids::TIME | oids::TIMESTAMPTZ | oids::TIMETZ | oids::INTERVAL
                    )
            }
            Some(TypeKind::Composite) => true,
            _ => false,
        },
    }
}

fn mentions_null(text: &str) -> bool {
    text.as_bytes().windows(4).any(|letters| letters.eq_ignore_ascii_case(b"null"))
}

/// `2024-05-17`, perhaps with a time after it.
fn is_iso_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'.' | b' ' | b'T'))
}

#[cfg(test)]
mod tests {
    use super::is_iso_date;

    #[test]
    fn only_iso_dates_are_independent_of_settings() {
        assert!(is_iso_date("2024-05-17"));
        assert!(is_iso_date("2024-05-17 10:11:12.5"));
        assert!(!is_iso_date("17.05.2024"));
        assert!(!is_iso_date("today"));
        assert!(!is_iso_date("2024-05-17 BC"));
    }
}
