//! Row types that change while a function has variables of them.
//!
//! A function is compiled with the columns that its row types have. It may change a type itself, and after COMMIT others may have. So the types
//! are looked up again where the catalog's version is no longer the one that they were looked up in.

use std::sync::Arc;

use base::{Error, Result, sqlstate};

use super::frame::{Frame, fit_record};
use super::tree::{Variable, VariableKind};
use crate::executor::Run;
use crate::types::{self, RecordShape, RecordValue, Value, oids};

/// The row types that have changed since the function was compiled: those of a call's variables, and that of its result.
pub struct ChangedTypes {
    /// The catalog that they were looked up in; none if neither a variable nor the result is of a row type.
    version: Option<u64>,
    /// By variable, what its type became, the last change last.
    variables: Vec<(usize, Arc<RecordShape>)>,
    result: Option<Arc<RecordShape>>,
}

impl ChangedTypes {
    /// No type has changed yet since this version of the catalog, with which the function was compiled.
    pub fn none_since(version: Option<u64>) -> ChangedTypes {
        ChangedTypes { version, variables: Vec::new(), result: None }
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

impl Frame<'_> {
    /// The columns of the result, if it is composite.
    pub fn result_shape(&self) -> Option<&Arc<RecordShape>> {
        self.changed_types.result.as_ref().or(self.function.shape.as_ref())
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
    }

    /// A variable's value that was made before its type changed, and the columns of the type now.
    fn outdated(&self, place: usize) -> Option<(&Arc<RecordValue>, &Arc<RecordShape>)> {
        let now = self.changed_types.of_variable(place)?;
        match &self.values[place] {
            Value::Record(record)
                if record.shape.type_oid == now.type_oid
                    && !Arc::ptr_eq(&record.shape, now)
                    && record.shape != *now =>
            {
                Some((record, now))
            }
            _ => None,
        }
    }

    /// The variables with values that were made before their types changed.
    pub fn outdated_variables(&self) -> impl Iterator<Item = usize> {
        let changed = &self.changed_types.variables;
        let is_last = move |number: usize, place: usize| changed[number + 1..].iter().all(|(other, _)| *other != place);
        let places = changed.iter().enumerate().filter(move |(number, (place, _))| is_last(*number, *place));
        places.map(|(_, (place, _))| *place).filter(|place| self.outdated(*place).is_some())
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
                self.values[*place] = fit_record(&record, shape, run)?;
                let whole = self.whole(*place)?;
                self.checked(*place, whole, run).map(drop)
            }
            _ => self.assign_columns(target, columns, Some(row), run),
        }
    }

    /// The value of a variable as its type is now.
    ///
    /// # Errors
    /// 55000 if the value was made before a change after which the names do not tell which field is which.
    pub fn whole(&self, place: usize) -> Result<Value> {
        let Some((record, now)) = self.outdated(place) else { return Ok(self.values[place].clone()) };
        match fields_as_type_is_now(record, now) {
            Some(fields) => Ok(Value::Record(Arc::new(RecordValue { shape: Arc::clone(now), fields }))),
            None => {
                let name = &self.function.variables[place].name;
                let message =
                    format!("cannot use variable \"{name}\" because its type was changed after its value was made");
                let error = Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
                Err(error.hint("Assign the value again after the change."))
            }
        }
    }

    /// The fields that the row in a variable has as a whole, if it was made before a change and can be converted.
    pub fn fields_after_change(&self, place: usize) -> Option<&Arc<RecordShape>> {
        let (record, now) = self.outdated(place)?;
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
