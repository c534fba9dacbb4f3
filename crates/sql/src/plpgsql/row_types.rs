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

/// The row types of a call's variables, and of the function's result, that are not as the function was compiled with.
pub struct ChangedTypes {
    /// The catalog that they were looked up in; none if neither a variable nor the result is of a row type.
    version: Option<u64>,
    variables: Vec<(usize, Arc<RecordShape>)>,
    result: Option<Arc<RecordShape>>,
}

impl ChangedTypes {
    /// None yet, for a function that was compiled with the types of this version of the catalog.
    pub fn since(version: Option<u64>) -> ChangedTypes {
        ChangedTypes { version, variables: Vec::new(), result: None }
    }

    /// The columns of a variable, if they have changed.
    #[inline]
    pub fn of_variable(&self, place: usize) -> Option<&Arc<RecordShape>> {
        self.variables.iter().find(|(own, _)| *own == place).map(|(_, shape)| shape)
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

    /// Has the variables follow changes of their row types. Most functions have no such variables, and most statements change no type.
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
            if let Value::Record(record) = &self.values[place]
                && let Some(fields) = as_type_is_now(record, &now)
            {
                self.values[place] = Value::Record(Arc::new(RecordValue { shape: Arc::clone(&now), fields }));
            }
            self.changed_types.variables.retain(|(own, _)| *own != place);
            self.changed_types.variables.push((place, now));
        }
        if let Some(now) = self.result_shape().and_then(changed) {
            self.changed_types.result = Some(now);
        }
    }
}

/// The fields of a row that was made before its type got the columns of `now`: without those that were dropped, and with NULL for those that
/// were added. None if the names don't tell which field is which, as after a field was renamed.
pub fn as_type_is_now(record: &RecordValue, now: &RecordShape) -> Option<Vec<Value>> {
    let old = &record.shape.fields;
    if *old == now.fields {
        return Some(record.fields.clone());
    }
    if old.len() != record.fields.len() {
        return None;
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
    let kept = fields.len();
    // One that is gone and one that is new may be the same under another name, or with another type.
    let is_gone = |field: &&(String, types::SqlType)| !now.fields[..kept].contains(field);
    let may_be = |gone: &(String, types::SqlType), new: &(String, types::SqlType)| gone.0 == new.0 || gone.1 == new.1;
    let is_unclear = |gone: &(String, types::SqlType)| now.fields[kept..].iter().any(|new| may_be(gone, new));
    if old.iter().filter(is_gone).any(is_unclear) {
        return None;
    }
    fields.resize(now.fields.len(), Value::Null);
    Some(fields)
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
