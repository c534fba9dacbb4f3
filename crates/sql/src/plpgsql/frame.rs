//! One call's variables.

use std::cell::Cell;
use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::VirtualTable;
use types::{RecordShape, RecordValue, SqlType, Value, oids};

use super::row_types::ChangedTypes;
use super::tree::{Function, RowType, Variable, VariableKind};
use executor::{RowStore, Run, cast_for_assignment};

/// See the module.
pub struct Frame<'f> {
    /// The function.
    pub function: &'f Function,
    /// The values of its variables; NULL for those that only stand for others.
    pub values: Vec<Value>,
    /// The shape and the variables of NEW and OLD, in a trigger of a table's rows.
    pub trigger_rows: Option<(Arc<RecordShape>, [usize; 2])>,
    /// The tables that a trigger's function can read besides those of the catalog, and the trigger.
    pub transition_tables: Option<(Oid, Arc<[Arc<VirtualTable>]>)>,
    /// The types of variables that have those of their values.
    pub taken_types: Vec<(usize, SqlType)>,
    /// The row types that have changed since the function was compiled.
    pub changed_types: ChangedTypes,
    /// The columns that the caller lists for the record or records that are returned.
    pub expected_columns: Option<Arc<[(String, SqlType)]>>,
    /// Rows gathered by RETURN NEXT and RETURN QUERY, each a row of one value.
    pub rows: RowStore,
    /// Rows the last statement touched.
    pub row_count: Cell<u64>,
    /// The error being handled.
    pub handled: Option<Error>,
    /// Whether COMMIT and ROLLBACK may be among its statements.
    pub may_end_transaction: bool,
    /// Where the call is, for error contexts.
    pub line: u32,
    /// The activity at that line, for error contexts.
    pub activity: &'static str,
}

impl<'f> Frame<'f> {
    /// A call of `function`; all variables are NULL.
    pub fn new(function: &'f Function, run: &Run<'_, '_>) -> Frame<'f> {
        let mut values = vec![Value::Null; function.variables.len()];
        values[function.found] = Value::Bool(false);
        let activity = "during statement block entry";
        Frame {
            function,
            values,
            trigger_rows: None,
            transition_tables: None,
            taken_types: Vec::new(),
            changed_types: ChangedTypes::none(function, run),
            expected_columns: None,
            rows: RowStore::default(),
            row_count: Cell::new(0),
            handled: None,
            may_end_transaction: false,
            line: 0,
            activity,
        }
    }

    /// The type of a variable as a parameter.
    pub fn type_of(&self, place: usize) -> SqlType {
        if let Some((_, sql_type)) = self.taken_types.iter().find(|(own, _)| *own == place) {
            return *sql_type;
        }
        match &self.function.variables[place].kind {
            VariableKind::Scalar(sql_type) => *sql_type,
            VariableKind::Record(Some(RowType { domain: Some(domain), .. })) => *domain,
            VariableKind::Record(_) => SqlType::new(match (self.shape_of(place), &self.values[place]) {
                (Some(shape), _) => shape.type_oid,
                // A record is of the type of the row that it holds.
                (None, Value::Record(record)) => record.shape.type_oid,
                _ => oids::RECORD,
            }),
            _ => SqlType::new(oids::RECORD),
        }
    }

    /// The present value of a variable or a record's field, and its type.
    ///
    /// # Errors
    /// Those of [`Frame::field`].
    pub fn current(&self, place: usize, run: &Run<'_, '_>) -> Result<(Value, SqlType)> {
        match &self.function.variables[place].kind {
            VariableKind::Field { record, field } => {
                let value = self.field(*record, field)?;
                Ok((value, self.type_within(*record, field, run)))
            }
            _ => Ok((self.whole(place)?, self.type_of(place))),
        }
    }

    /// The type of a field of a record, which may itself be a field.
    fn type_within(&self, record: usize, field: &str, run: &Run<'_, '_>) -> SqlType {
        let VariableKind::Field { record: outer, field: inner } = &self.function.variables[record].kind else {
            return self.field_type(record, field).unwrap_or(SqlType::UNKNOWN);
        };
        let row_type = types::base_type(&run.catalog, self.type_within(*outer, inner, run));
        let shape = types::composite_shape(&run.catalog, row_type.oid);
        let found = shape.and_then(|shape| shape.fields.iter().find(|(own, _)| own == field).map(|(_, own)| *own));
        found.unwrap_or(SqlType::UNKNOWN)
    }

    /// The type of a record's field, if the record has it now.
    pub fn field_type(&self, record: usize, field: &str) -> Option<SqlType> {
        let within =
            |fields: &[(String, SqlType)]| fields.iter().find(|(name, _)| name == field).map(|(_, sql_type)| *sql_type);
        match &self.values[record] {
            // A row that was made before its type changed has the fields from then, too.
            Value::Record(value) => within(&value.shape.fields).or_else(|| within(self.fields_of(record)?)),
            _ => within(self.fields_of(record)?),
        }
    }

    /// The fields that a record has now; none if it has had no row yet.
    pub fn fields_of(&self, record: usize) -> Option<&[(String, SqlType)]> {
        Some(match &self.values[record] {
            Value::Record(value) => &self.fields_after_change(record).unwrap_or(&value.shape).fields,
            _ => &self.shape_of(record)?.fields,
        })
    }

    /// The declared columns of a record, which do not depend on its value.
    pub(super) fn shape_of(&self, record: usize) -> Option<&Arc<RecordShape>> {
        if let VariableKind::Record(Some(row)) = &self.function.variables[record].kind {
            return Some(self.changed_types.of_variable(record).unwrap_or(&row.shape));
        }
        let (shape, places) = self.trigger_rows.as_ref()?;
        places.contains(&record).then_some(shape)
    }

    /// A record's field.
    ///
    /// # Errors
    /// 55000 for a record that has no row yet, 42703 for an unknown field.
    pub fn field(&self, record: usize, field: &str) -> Result<Value> {
        let name = &self.function.variables[record].name;
        if let VariableKind::Field { record: outer, field: inner } = &self.function.variables[record].kind {
            // A field of a row that is itself a field.
            return match self.field(*outer, inner)? {
                Value::Record(value) => {
                    let named = self.named_shape(&value);
                    let place = named.fields.iter().position(|(own, _)| own == field);
                    place.and_then(|place| value.fields.get(place).cloned()).ok_or_else(|| no_field(name, field))
                }
                _ => Ok(Value::Null),
            };
        }
        if let (Value::Null, Some(shape)) = (&self.values[record], self.shape_of(record)) {
            let is_there = shape.fields.iter().any(|(own, _)| own == field);
            return if is_there { Ok(Value::Null) } else { Err(no_field(name, field)) };
        }
        let Value::Record(value) = &self.values[record] else {
            return Err(Error::new(
                sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("record \"{name}\" is not assigned yet"),
            )
            .detail("The tuple structure of a not-yet-assigned record is indeterminate."));
        };
        if let Some(found) = field_within(value, field) {
            return self.part_as_types_are_now(record, found);
        }
        let changed = self.fields_after_change(record).and_then(|_| self.whole(record).ok());
        match changed {
            Some(Value::Record(changed)) => field_within(&changed, field).cloned().ok_or_else(|| no_field(name, field)),
            _ => Err(no_field(name, field)),
        }
    }

    /// Assigns a value of `sql_type` to a variable, cast as an assignment is.
    ///
    /// # Errors
    /// 42804 where there is no cast, 22004 for NULL in a NOT NULL variable, and what the cast raises.
    pub fn assign(&mut self, place: usize, mut value: Value, sql_type: SqlType, run: &mut Run<'_, '_>) -> Result<()> {
        if self.may_have_changed_types(run) {
            self.number_changed_rows(std::slice::from_mut(&mut value), run);
        }
        let variable = &self.function.variables[place];
        if variable.takes_type {
            self.taken_types.retain(|(own, _)| *own != place);
            self.taken_types.push((place, if sql_type == SqlType::UNKNOWN { SqlType::TEXT } else { sql_type }));
            self.values[place] = value;
            return Ok(());
        }
        match &variable.kind {
            VariableKind::Scalar(target) => {
                let value = cast_for_assignment(value, sql_type, *target, run)?;
                check_null(variable, &value)?;
                self.values[place] = value;
                Ok(())
            }
            VariableKind::Record(declared) => {
                self.follow_row_types(run);
                let shape = declared.as_ref().and_then(|_| self.shape_of(place));
                let value = match (value, shape) {
                    (Value::Null, Some(_)) => Value::Null,
                    (Value::Record(record), Some(shape)) => fit_record(&record, shape, run)?,
                    (value @ (Value::Record(_) | Value::Null), None) => value,
                    // The text of a row.
                    (value, Some(shape)) => {
                        match cast_for_assignment(value, sql_type, SqlType::new(shape.type_oid), run)? {
                            Value::Record(record) => fit_record(&record, shape, run)?,
                            value => value,
                        }
                    }
                    (value, None) => cast_for_assignment(value, sql_type, SqlType::new(oids::RECORD), run)?,
                };
                let value = self.checked(place, value, run)?;
                check_null(variable, &value)?;
                self.values[place] = value;
                Ok(())
            }
            VariableKind::Row(places) => {
                let fields: Vec<(Value, SqlType)> = match &value {
                    Value::Record(record) => record
                        .fields
                        .iter()
                        .cloned()
                        .zip(record.shape.fields.iter().map(|(_, sql_type)| *sql_type))
                        .collect(),
                    _ => vec![(value, sql_type)],
                };
                self.assign_row(&places.clone(), &fields, run)
            }
            VariableKind::Field { record, field } => self.assign_field(*record, &field.clone(), value, sql_type, run),
        }
    }

    fn assign_row(&mut self, places: &[usize], fields: &[(Value, SqlType)], run: &mut Run<'_, '_>) -> Result<()> {
        for (number, place) in places.iter().enumerate() {
            let (value, sql_type) = fields.get(number).cloned().unwrap_or((Value::Null, SqlType::UNKNOWN));
            self.assign(*place, value, sql_type, run)?;
        }
        Ok(())
    }

    pub(super) fn assign_field(
        &mut self,
        record: usize,
        field: &str,
        value: Value,
        sql_type: SqlType,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        if let VariableKind::Field { record: outer, field: inner } = &self.function.variables[record].kind {
            return self.assign_inner_field((*outer, inner), record, field, (value, sql_type), run);
        }
        self.follow_row_types(run);
        self.field(record, field)?;
        if let (Value::Null, Some(shape)) = (&self.values[record], self.shape_of(record)) {
            self.values[record] = null_row(shape);
        }
        let Value::Record(mut current) = self.values[record].clone() else {
            return Err(Error::internal("a record lost its row"));
        };
        // A field that the type got after the row was made.
        if field_within(&current, field).is_none()
            && let Value::Record(whole) = self.whole(record)?
        {
            current = whole;
        }
        let place = current.shape.fields.iter().position(|(own, _)| own == field);
        let place = place.ok_or_else(|| Error::internal("a record lost a field"))?;
        let mut changed = (*current).clone();
        changed.fields[place] = cast_for_assignment(value, sql_type, current.shape.fields[place].1, run)?;
        self.values[record] = self.checked(record, Value::Record(Arc::new(changed)), run)?;
        Ok(())
    }

    /// A row that a variable is going to have, if it passes the checks of the domain that the variable was declared with.
    ///
    /// # Errors
    /// 23514, 23502.
    pub(super) fn checked(&self, place: usize, value: Value, run: &mut Run<'_, '_>) -> Result<Value> {
        if let VariableKind::Record(Some(RowType { domain: Some(domain), .. })) = &self.function.variables[place].kind
            && let Some(shape) = self.shape_of(place)
        {
            let whole = self.part_as_types_are_now(place, &value)?;
            cast_for_assignment(whole, SqlType::new(shape.type_oid), *domain, run)?;
        }
        Ok(value)
    }

    /// `x.a.b := value`: the variable `record` is the field `within` of another.
    fn assign_inner_field(
        &mut self,
        within: (usize, &str),
        record: usize,
        field: &str,
        (value, sql_type): (Value, SqlType),
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        let row_type = self.type_within(within.0, within.1, run);
        let base = types::base_type(&run.catalog, row_type);
        let declared = types::composite_shape(&run.catalog, base.oid);
        let mut changed = match (self.field(within.0, within.1)?, declared) {
            // A row that was stored does not know the names of its fields.
            (Value::Record(current), Some(shape)) if current.fields.len() == shape.fields.len() => {
                RecordValue { fields: current.fields.clone(), shape }
            }
            (Value::Record(current), _) => (*current).clone(),
            (_, Some(shape)) => RecordValue { fields: vec![Value::Null; shape.fields.len()], shape },
            (_, None) => {
                let shown = types::format_type_name(&run.catalog, row_type.oid);
                let message = format!(
                    "cannot assign to field \"{field}\" of column \"{}\" because its type {shown} is not a composite type",
                    within.1
                );
                return Err(Error::new(sqlstate::DATATYPE_MISMATCH, message));
            }
        };
        let found = changed.shape.fields.iter().position(|(own, _)| own == field);
        let place = found.ok_or_else(|| no_field(&self.function.variables[record].name, field))?;
        changed.fields[place] = cast_for_assignment(value, sql_type, changed.shape.fields[place].1, run)?;
        let row_type = SqlType::new(changed.shape.type_oid);
        self.assign(record, Value::Record(Arc::new(changed)), row_type, run)
    }

    /// The record that a target means: the parser may have taken it for a list of one scalar variable.
    pub(super) fn record_of(&self, target: usize) -> usize {
        match &self.function.variables[target].kind {
            VariableKind::Row(places)
                if let [place] = places[..]
                    && matches!(self.function.variables[place].kind, VariableKind::Record(_)) =>
            {
                place
            }
            _ => target,
        }
    }

    /// Assigns a row of a query to what INTO or a loop names; NULLs for no row.
    ///
    /// # Errors
    /// As [`Frame::assign`].
    pub fn assign_columns(
        &mut self,
        target: usize,
        columns: &[(String, SqlType)],
        row: Option<&[Value]>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        let mut numbered = None;
        if let Some(row) = row.filter(|_| self.may_have_changed_types(run)) {
            let mut row = row.to_vec();
            self.number_changed_rows(&mut row, run);
            numbered = Some(row);
        }
        let row = numbered.as_deref().or(row);
        let value_at = |number: usize| row.and_then(|row| row.get(number)).cloned().unwrap_or_default();
        let target = self.record_of(target);
        match &self.function.variables[target].kind {
            VariableKind::Row(places) => {
                let fields: Vec<(Value, SqlType)> =
                    columns.iter().enumerate().map(|(number, (_, sql_type))| (value_at(number), *sql_type)).collect();
                self.assign_row(&places.clone(), &fields, run)
            }
            VariableKind::Record(None) => {
                let shape = Arc::new(RecordShape::without_type(columns.to_vec()));
                let fields = (0..columns.len()).map(value_at).collect();
                self.values[target] = Value::Record(Arc::new(RecordValue { shape, fields }));
                Ok(())
            }
            VariableKind::Record(Some(_)) => {
                let shape = Arc::new(RecordShape::without_type(columns.to_vec()));
                let fields = (0..columns.len()).map(value_at).collect();
                let value = Value::Record(Arc::new(RecordValue { shape, fields }));
                self.assign(target, value, SqlType::new(oids::RECORD), run)
            }
            _ => {
                let sql_type = columns.first().map_or(SqlType::UNKNOWN, |(_, sql_type)| *sql_type);
                self.assign(target, value_at(0), sql_type, run)
            }
        }
    }
}

/// The value of a row's field, if the row has one of this name.
fn field_within<'r>(row: &'r RecordValue, field: &str) -> Option<&'r Value> {
    let place = row.shape.fields.iter().position(|(own, _)| own == field)?;
    row.fields.get(place)
}

/// 22004 for NULL in a variable that was declared NOT NULL.
fn check_null(variable: &Variable, value: &Value) -> Result<()> {
    if variable.not_null && value.is_null() {
        let message = format!("null value cannot be assigned to variable \"{}\" declared NOT NULL", variable.name);
        return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
    }
    Ok(())
}

/// 42804 for a value that is no row where a record wants one.
pub(super) fn no_row() -> Error {
    Error::new(sqlstate::DATATYPE_MISMATCH, "cannot assign non-composite value to a record variable")
}

fn no_field(record: &str, field: &str) -> Error {
    Error::new(sqlstate::UNDEFINED_COLUMN, format!("record \"{record}\" has no field \"{field}\""))
}

pub(super) fn null_row(shape: &Arc<RecordShape>) -> Value {
    let fields = vec![Value::Null; shape.fields.len()];
    Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields }))
}

/// A record with the fields of `shape`: by their attribute numbers if it is of the same type, otherwise by position.
pub fn fit_record(record: &RecordValue, shape: &Arc<RecordShape>, run: &mut Run<'_, '_>) -> Result<Value> {
    if Arc::ptr_eq(&record.shape, shape) {
        return Ok(Value::Record(Arc::new(record.clone())));
    }
    let is_same_type = record.shape.type_oid == shape.type_oid;
    let mut fields = Vec::with_capacity(shape.fields.len());
    for (number, (_, target)) in shape.fields.iter().enumerate() {
        let attribute = if is_same_type { shape.attribute_at(number) } else { 0 };
        let Some(place) = record.shape.place_of(number, attribute) else {
            fields.push(Value::Null);
            continue;
        };
        let value = record.fields.get(place).cloned().unwrap_or_default();
        let source = record.shape.fields.get(place).map_or(SqlType::UNKNOWN, |(_, sql_type)| *sql_type);
        fields.push(cast_for_assignment(value, source, *target, run)?);
    }
    Ok(Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields })))
}
