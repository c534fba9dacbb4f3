//! Row types that change while a function has variables of them.
//!
//! A function is compiled with the columns that its row types have. It may change a type itself, and after COMMIT others may have. So the types
//! are looked up again where the catalog's version is no longer the one that they were looked up in.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};

use super::frame::{Frame, fit_record};
use super::tree::{Function, Variable, VariableKind};
use crate::executor::Run;
use crate::session::CatalogView;
use crate::types::{self, ArrayValue, CatalogLookup, RecordShape, RecordValue, StorageKind, Value, oids};

/// The row types that have changed since the function was compiled: those of a call's variables, of the rows in their values, and of its
/// result.
pub struct ChangedTypes {
    /// The version of the catalog that they were looked up in; none if neither a variable nor the result can have rows.
    version: Option<u64>,
    /// By variable, what its type became, the last change last.
    variables: Vec<(usize, Arc<RecordShape>)>,
    result: Option<Arc<RecordShape>>,
    /// The catalog in which the types of rows in values were looked up; none if no variable can have rows.
    seen: Option<CatalogView>,
    /// The columns that types of rows in values had earlier. A row that was made then has one of these, and not a copy.
    earlier: Vec<Arc<RecordShape>>,
    /// The columns that the same types have now.
    now: Vec<Arc<RecordShape>>,
}

impl ChangedTypes {
    /// No type has changed yet since the function was compiled.
    pub fn none(function: &Function, catalog: &CatalogView) -> ChangedTypes {
        let seen = function.holds_rows.then(|| catalog.clone());
        let version = function.row_types_version.or_else(|| seen.as_ref().map(|seen| seen.catalog().version()));
        ChangedTypes { version, variables: Vec::new(), result: None, seen, earlier: Vec::new(), now: Vec::new() }
    }

    /// The columns that the type of `record` has now, if the record was made when it had others.
    fn columns_now(&self, record: &RecordValue) -> Option<&Arc<RecordShape>> {
        self.earlier.iter().find(|earlier| Arc::ptr_eq(earlier, &record.shape))?;
        let now = self.now.iter().find(|now| now.type_oid == record.shape.type_oid)?;
        (**now != *record.shape).then_some(now)
    }

    /// Whether a row in `value` was made when its type had other columns.
    fn is_outdated(&self, value: &Value) -> bool {
        match value {
            Value::Record(record) => {
                self.columns_now(record).is_some() || record.fields.iter().any(|field| self.is_outdated(field))
            }
            Value::Array(array) => array.values.iter().any(|element| self.is_outdated(element)),
            _ => false,
        }
    }

    /// `value` with all its rows as their types are now. None if the names do not tell which field of a row is which.
    fn as_types_are_now(&self, value: &Value) -> Option<Value> {
        Some(match value {
            Value::Record(record) => {
                let (shape, fields) = match self.columns_now(record) {
                    Some(now) => (now, fields_as_type_is_now(record, now)?),
                    None => (&record.shape, record.fields.clone()),
                };
                let fields = fields.iter().map(|field| self.as_types_are_now(field)).collect::<Option<_>>()?;
                Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields }))
            }
            Value::Array(array) => {
                let values =
                    array.values.iter().map(|element| self.as_types_are_now(element)).collect::<Option<_>>()?;
                let dimensions = array.dimensions.clone();
                Value::Array(Arc::new(ArrayValue { element: array.element, dimensions, values }))
            }
            other => other.clone(),
        })
    }

    /// Gives the rows of a type in `value` that were made until now the columns that the type has had until now.
    fn mark(&self, value: &mut Value, until_now: &Arc<RecordShape>) {
        if !has_rows_of(value, until_now.type_oid) {
            return;
        }
        match value {
            Value::Record(record) => {
                let record = Arc::make_mut(record);
                let is_older = self.earlier.iter().any(|earlier| Arc::ptr_eq(earlier, &record.shape));
                // A stored row, and one that has got an alias, has other names.
                let is_of_type = record.shape.type_oid == until_now.type_oid;
                if is_of_type && !is_older && record.fields.len() == until_now.fields.len() {
                    record.shape = Arc::clone(until_now);
                }
                record.fields.iter_mut().for_each(|field| self.mark(field, until_now));
            }
            Value::Array(array) => {
                Arc::make_mut(array).values.iter_mut().for_each(|element| self.mark(element, until_now));
            }
            _ => {}
        }
    }

    /// A type has had these columns until now, and has those now.
    fn add_change(&mut self, until_now: Arc<RecordShape>, now: Arc<RecordShape>) {
        if !self.earlier.iter().any(|earlier| Arc::ptr_eq(earlier, &until_now)) {
            self.earlier.push(until_now);
        }
        self.now.retain(|known| known.type_oid != now.type_oid);
        self.now.push(now);
    }

    /// The columns of a variable, if they have changed.
    #[inline]
    pub fn of_variable(&self, place: usize) -> Option<&Arc<RecordShape>> {
        self.variables.iter().rev().find(|(own, _)| *own == place).map(|(_, shape)| shape)
    }
}

/// Whether one of the variables is of a row type.
pub fn has_any(variables: &[Variable]) -> bool {
    variables.iter().any(|variable| matches!(variable.kind, VariableKind::Record(Some(_))))
}

/// Whether a value of one of the variables can have rows.
pub fn may_hold_rows(variables: &[Variable], catalog: &dyn CatalogLookup) -> bool {
    variables.iter().any(|variable| match &variable.kind {
        VariableKind::Record(_) => true,
        VariableKind::Scalar(sql_type) => match StorageKind::of(catalog, sql_type.oid) {
            StorageKind::Array(element) => matches!(StorageKind::of(catalog, element), StorageKind::Record(_)),
            kind => variable.takes_type || matches!(kind, StorageKind::Record(_)),
        },
        _ => false,
    })
}

/// Adds the types of the rows in `value` that have names.
fn add_row_types(value: &Value, types: &mut Vec<Oid>) {
    match value {
        Value::Record(record) => {
            let type_oid = record.shape.type_oid;
            if type_oid != oids::RECORD && !types.contains(&type_oid) {
                types.push(type_oid);
            }
            record.fields.iter().for_each(|field| add_row_types(field, types));
        }
        Value::Array(array) => array.values.iter().for_each(|element| add_row_types(element, types)),
        _ => {}
    }
}

fn has_rows_of(value: &Value, type_oid: Oid) -> bool {
    match value {
        Value::Record(record) => {
            record.shape.type_oid == type_oid || record.fields.iter().any(|field| has_rows_of(field, type_oid))
        }
        Value::Array(array) => array.values.iter().any(|element| has_rows_of(element, type_oid)),
        _ => false,
    }
}

impl Frame<'_> {
    /// The columns of the result, if it is composite. The rows of a set all have those that the type had when the call began.
    pub fn result_shape(&self) -> Option<&Arc<RecordShape>> {
        let changed = self.changed_types.result.as_ref().filter(|_| !self.function.returns_set);
        changed.or(self.function.shape.as_ref())
    }

    /// The columns of the rows that RETURN QUERY gives, if the result is composite or a domain over a composite type.
    pub fn queried_shape(&self, catalog: &CatalogView) -> Option<Arc<RecordShape>> {
        let of_domain = || types::composite_shape(catalog, types::base_type(catalog, self.function.result).oid);
        self.result_shape().cloned().or_else(of_domain)
    }

    /// Looks up the columns of the variables' types again if the catalog has changed. Values are not converted: the change may be rolled back.
    #[inline]
    pub fn follow_row_types(&mut self, run: &Run<'_, '_>) {
        if let Some(version) = self.changed_types.version
            && version != run.catalog.catalog().version()
        {
            self.look_up_row_types(run);
        }
    }

    #[cold]
    fn look_up_row_types(&mut self, run: &Run<'_, '_>) {
        self.changed_types.version = Some(run.catalog.catalog().version());
        let changed = |known: &Arc<RecordShape>| {
            let now = types::composite_shape(&run.catalog, known.type_oid)?;
            (now != *known).then_some(now)
        };
        let function = self.function;
        let rows = function.variables.iter().enumerate();
        for (place, _) in rows.filter(|(_, variable)| matches!(variable.kind, VariableKind::Record(Some(_)))) {
            let Some(now) = self.shape_of(place).and_then(changed) else { continue };
            self.changed_types.variables.push((place, now));
        }
        if let Some(now) = self.result_shape().and_then(changed) {
            self.changed_types.result = Some(now);
        }
        if let Some(before) = self.changed_types.seen.replace(run.catalog.clone()) {
            self.look_up_rows_in_values(&before, &run.catalog);
        }
    }

    /// Marks the rows in values whose types have changed from one catalog to the next.
    fn look_up_rows_in_values(&mut self, before: &CatalogView, now: &CatalogView) {
        let mut held = Vec::new();
        self.values.iter().for_each(|value| add_row_types(value, &mut held));
        for type_oid in held {
            let shapes = [before, now].map(|catalog| types::composite_shape(catalog, type_oid));
            let [Some(until_now), Some(now)] = shapes else { continue };
            if until_now != now {
                self.values.iter_mut().for_each(|value| self.changed_types.mark(value, &until_now));
                self.changed_types.add_change(until_now, now);
            }
        }
    }

    /// The variables with values in which there are rows that were made before their types changed.
    pub fn outdated_variables(&self) -> impl Iterator<Item = usize> {
        let places = if self.changed_types.earlier.is_empty() { 0 } else { self.values.len() };
        (0..places).filter(|place| self.changed_types.is_outdated(&self.values[*place]))
    }

    /// The columns of the variable that a loop assigns its rows to, as its type is when the loop begins.
    pub fn columns_of_loop(&mut self, target: usize, run: &Run<'_, '_>) -> Option<(usize, Arc<RecordShape>)> {
        self.follow_row_types(run);
        let place = self.record_of(target);
        Some((place, Arc::clone(self.shape_of(place)?)))
    }

    /// Assigns a row of a loop's query whose variable had the columns `begun` when the loop began. The query goes on with the rows of then after
    /// a change of the type, so the variable has the columns of then.
    ///
    /// # Errors
    /// As [`Frame::assign`].
    pub fn assign_in_loop(
        &mut self,
        (target, begun): (usize, Option<&(usize, Arc<RecordShape>)>),
        columns: &[(String, types::SqlType)],
        row: &[Value],
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        self.follow_row_types(run);
        match begun {
            Some((place, shape)) if self.shape_of(*place).is_some_and(|now| !Arc::ptr_eq(now, shape)) => {
                let given = Arc::new(RecordShape { type_oid: oids::RECORD, fields: columns.to_vec() });
                let record = RecordValue { shape: given, fields: row.to_vec() };
                let value = fit_record(&record, shape, run)?;
                if let Some(now) = self.shape_of(*place).cloned() {
                    self.changed_types.add_change(Arc::clone(shape), now);
                }
                let whole = self.part_as_types_are_now(*place, &value)?;
                self.checked(*place, whole, run)?;
                self.values[*place] = value;
                Ok(())
            }
            _ => self.assign_columns(target, columns, Some(row), run),
        }
    }

    /// The value of a variable as the types of its rows are now.
    ///
    /// # Errors
    /// 55000 if the value was made before a change after which the names do not tell which field is which.
    pub fn whole(&self, place: usize) -> Result<Value> {
        self.part_as_types_are_now(place, &self.values[place])
    }

    /// A part of the value of a variable as the types of its rows are now.
    ///
    /// # Errors
    /// As [`Frame::whole`].
    pub fn part_as_types_are_now(&self, place: usize, part: &Value) -> Result<Value> {
        if self.changed_types.earlier.is_empty() {
            return Ok(part.clone());
        }
        self.changed_types.as_types_are_now(part).ok_or_else(|| {
            let name = &self.function.variables[place].name;
            let message =
                format!("cannot use variable \"{name}\" because its type was changed after its value was made");
            let error = Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
            error.hint("Assign the value again after the change.")
        })
    }

    /// The fields that the row in a variable has as a whole, if it was made before a change and can be converted.
    pub fn fields_after_change(&self, place: usize) -> Option<&Arc<RecordShape>> {
        let Value::Record(record) = &self.values[place] else { return None };
        let now = self.changed_types.columns_now(record)?;
        fields_as_type_is_now(record, now).map(|_| now)
    }
}

/// The fields of `record`, which was made when its type had other columns, for the columns of `now`: dropped ones are left out, new ones are
/// NULL. None if a column may have been renamed or retyped, because then the names do not tell which field is which.
pub fn fields_as_type_is_now(record: &RecordValue, now: &RecordShape) -> Option<Vec<Value>> {
    let old = &record.shape.fields;
    if *old == now.fields {
        return Some(record.fields.clone());
    }
    if old.len() != record.fields.len() {
        return None;
    }
    // New columns come last. If the last one is an old one and there are as many as before, some have been renamed.
    if old.last() == now.fields.last() && has_types_of(old, &now.fields) {
        return Some(record.fields.clone());
    }
    let mut fields = Vec::with_capacity(now.fields.len());
    // Fields that stay keep their order.
    let mut next = 0;
    while let Some(found) = now.fields.get(fields.len())
        && let Some(place) = (next..old.len()).find(|place| old[*place] == *found)
    {
        fields.push(record.fields[place].clone());
        next = place + 1;
    }
    // One that is gone and one that is new may be the same under another name, or with another type. Those before a field that stays are not.
    let may_be =
        |gone: &(String, types::SqlType), new: &(String, types::SqlType)| gone.0 == new.0 || gone.1.oid == new.1.oid;
    let is_unclear = |gone: &(String, types::SqlType)| now.fields[fields.len()..].iter().any(|new| may_be(gone, new));
    if old[next..].iter().any(is_unclear) {
        return None;
    }
    fields.resize(now.fields.len(), Value::Null);
    Some(fields)
}

/// Whether these fields have, in order, the types of those.
pub fn has_types_of(these: &[(String, types::SqlType)], those: &[(String, types::SqlType)]) -> bool {
    these.len() == those.len() && these.iter().zip(those).all(|(one, other)| one.1 == other.1)
}

/// A record as a row of the function's result: of that type, or of as many fields of the same types.
///
/// # Errors
/// 42804
pub fn as_result(record: &RecordValue, shape: &Arc<RecordShape>, run: &mut Run<'_, '_>) -> Result<Value> {
    if record.shape.type_oid != shape.type_oid || shape.type_oid == oids::RECORD {
        let message = "returned record type does not match expected record type";
        if let Some((number, _)) = record
            .shape
            .fields
            .iter()
            .zip(&shape.fields)
            .enumerate()
            .find(|(_, ((_, given), (_, wanted)))| given.oid == oids::UNKNOWN && wanted.oid != oids::UNKNOWN)
        {
            let wanted = types::format_type_name(&run.catalog, shape.fields[number].1.oid);
            let place = number + 1;
            let detail = format!("Returned type unknown does not match expected type {wanted} in column {place}.");
            return Err(Error::new(sqlstate::DATATYPE_MISMATCH, message).detail(detail));
        }
        super::interpret::check_columns(message, &record.shape.fields, &shape.fields, &run.catalog)?;
    }
    fit_record(record, shape, run)
}
