//! Row types that change while a function has variables of them.
//!
//! A function is compiled with the columns that its row types have. It may change a type itself, and after COMMIT others may have. So the types
//! are looked up again where the catalog's version is no longer the one that they were looked up in.
//!
//! Rows within values follow their types, too. A row keeps the columns that it was made with, and their attribute numbers tell which of the
//! type's columns they are now. Reading a row converts it. Values are not converted in place, because the change may be rolled back.
//!
//! A row that was read from a table does not know the attribute numbers. When the catalog has changed, each such row that was read before gets
//! the columns that its type had until then.

use std::cell::RefCell;
use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::CatalogView;
use types::{ArrayValue, RecordShape, RecordValue, Value, oids};

use super::frame::{Frame, fit_record};
use super::tree::{Function, Variable, VariableKind};
use executor::Run;

/// The row types that have changed since the function was compiled: those of a call's variables, of the rows in their values, and of its
/// result.
pub struct ChangedTypes {
    /// The version of the catalog that they were looked up in; none if neither a variable nor the result can have rows.
    version: Option<u64>,
    /// By variable, what its type became, the last change last.
    variables: Vec<(usize, Arc<RecordShape>)>,
    result: Option<Arc<RecordShape>>,
    /// The catalog in which the types of rows in values were looked up last; none if no variable can have rows.
    seen: Option<CatalogView>,
    /// The present columns of types of which older rows may be held.
    present: Vec<Arc<RecordShape>>,
    /// The catalogs under which cursors were opened, by the cursors' names.
    cursors: Vec<(String, CatalogView)>,
    /// Large arrays, and what they are as types are now if that is something else.
    renewed: RefCell<Vec<(Arc<ArrayValue>, Option<Value>)>>,
}

/// Arrays of more elements are converted once, not whenever they are read.
const LARGE_ELEMENTS: usize = 32;

/// Of so many cursors the moments are kept; of others a row is taken as it is.
const CURSORS_MAX: usize = 16;

/// So many large arrays are kept.
const RENEWED_MAX: usize = 8;

impl ChangedTypes {
    /// No type has changed yet since the function was compiled.
    pub fn none(function: &Function, run: &Run<'_, '_>) -> ChangedTypes {
        let seen = function.holds_rows.then(|| run.catalog.clone());
        let version = function.row_types_version.or_else(|| seen.as_ref().map(|seen| seen.catalog().version()));
        let (variables, present, cursors, renewed) = Default::default();
        ChangedTypes { version, variables, result: None, seen, present, cursors, renewed }
    }

    /// The columns that the type of `record` has now, if the record was made when it had others.
    fn columns_now(&self, record: &RecordValue) -> Option<&Arc<RecordShape>> {
        let now = self.present.iter().find(|now| now.type_oid == record.shape.type_oid)?;
        (!record.shape.attributes.is_empty() && *now != record.shape).then_some(now)
    }

    /// Whether a row in `value` was made when its type had other columns.
    fn is_outdated(&self, value: &Value) -> bool {
        match value {
            Value::Record(record) => {
                self.columns_now(record).is_some() || record.fields.iter().any(|field| self.is_outdated(field))
            }
            Value::Array(array) if may_have_rows(array) && array.values.len() > LARGE_ELEMENTS => {
                self.renewed_array(array).is_none_or(|renewed| renewed.is_some())
            }
            Value::Array(array) if may_have_rows(array) => array.values.iter().any(|element| self.is_outdated(element)),
            _ => false,
        }
    }

    /// A large array as types are now; nothing within if it is that already. None if a field has got another type.
    fn renewed_array(&self, array: &Arc<ArrayValue>) -> Option<Option<Value>> {
        if let Some((_, renewed)) = self.renewed.borrow().iter().find(|(known, _)| Arc::ptr_eq(known, array)) {
            return Some(renewed.clone());
        }
        let is_outdated = array.values.iter().any(|element| self.is_outdated(element));
        let renewed = if is_outdated { Some(self.array_as_types_are_now(array)?) } else { None };
        let mut all = self.renewed.borrow_mut();
        if all.len() == RENEWED_MAX {
            all.remove(0);
        }
        all.push((Arc::clone(array), renewed.clone()));
        Some(renewed)
    }

    fn array_as_types_are_now(&self, array: &ArrayValue) -> Option<Value> {
        let values = array.values.iter().map(|element| self.as_types_are_now(element)).collect::<Option<_>>()?;
        let dimensions = array.dimensions.clone();
        Some(Value::Array(Arc::new(ArrayValue { element: array.element, dimensions, values })))
    }

    /// `value` with all its rows as their types are now. None if a field has got another type.
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
            Value::Array(array) if may_have_rows(array) && array.values.len() > LARGE_ELEMENTS => {
                self.renewed_array(array)?.unwrap_or_else(|| value.clone())
            }
            Value::Array(array) if may_have_rows(array) => self.array_as_types_are_now(array)?,
            other => other.clone(),
        })
    }

    /// Older rows of a type may be held, which has these columns now.
    fn note_present(&mut self, present: Arc<RecordShape>) {
        self.present.retain(|known| known.type_oid != present.type_oid);
        self.present.push(present);
    }

    /// The columns of a variable, if they have changed.
    #[inline]
    pub fn of_variable(&self, place: usize) -> Option<&Arc<RecordShape>> {
        self.variables.iter().rev().find(|(own, _)| *own == place).map(|(_, shape)| shape)
    }
}

/// The target of a loop's rows.
pub struct LoopTarget {
    target: usize,
    /// The variable with declared columns, and those that it had when the loop began.
    columns: Option<(usize, Arc<RecordShape>)>,
    begun: Option<CatalogView>,
}

/// The columns that a type had at one moment, and those that it had at a later one, if they differ.
fn changed_columns(type_oid: Oid, before: &CatalogView, now: &CatalogView) -> Option<[Arc<RecordShape>; 2]> {
    let [then, is] = [before, now].map(|catalog| types::composite_shape(catalog, type_oid));
    let pair = [then?, is?];
    (pair[0] != pair[1]).then_some(pair)
}

/// Rows that were read from a table do not know their attribute numbers. Gives those in `value` the columns `then`, which their type had when
/// they were read. If `may_be_newer`, a row whose fields have the types of `now` counts as read after the change, and is left alone.
fn number_fields(value: &mut Value, then: &Arc<RecordShape>, now: &Arc<RecordShape>, may_be_newer: bool) {
    if !has_rows_of(value, then.type_oid) {
        return;
    }
    match value {
        Value::Record(record) => {
            let record = Arc::make_mut(record);
            if record.shape.type_oid == then.type_oid && record.shape.attributes.is_empty() {
                let is_newer = may_be_newer && has_types_of(&record.shape.fields, &now.fields);
                if !is_newer && record.fields.len() == then.fields.len() {
                    record.shape = Arc::clone(then);
                }
            }
            record.fields.iter_mut().for_each(|field| number_fields(field, then, now, may_be_newer));
        }
        Value::Array(array) => {
            let values = Arc::make_mut(array).values.iter_mut();
            values.for_each(|element| number_fields(element, then, now, may_be_newer));
        }
        _ => {}
    }
}

/// Whether the elements may be rows, or have rows in them.
fn may_have_rows(array: &ArrayValue) -> bool {
    array.element >= Oid::FIRST_NORMAL || matches!(array.element, oids::RECORD | oids::RECORD_ARRAY)
}

/// Whether one of the variables is of a row type.
pub fn has_any(variables: &[Variable]) -> bool {
    variables.iter().any(|variable| matches!(variable.kind, VariableKind::Record(Some(_))))
}

/// Whether a value of one of the variables can have rows.
pub fn may_hold_rows(variables: &[Variable], catalog: &CatalogView) -> bool {
    variables.iter().any(|variable| match &variable.kind {
        VariableKind::Record(_) => true,
        VariableKind::Scalar(sql_type) => {
            let mut types = Vec::new();
            add_types_within(sql_type.oid, catalog, &mut types);
            variable.takes_type || !types.is_empty()
        }
        _ => false,
    })
}

/// Adds the types of the rows in `value` that have names. Arrays of such types are not looked into: their types tell.
fn add_row_types(value: &Value, catalog: &CatalogView, types: &mut Vec<Oid>) {
    match value {
        Value::Record(record) if record.shape.type_oid == oids::RECORD => {
            record.fields.iter().for_each(|field| add_row_types(field, catalog, types));
        }
        Value::Record(record) => add_types_within(record.shape.type_oid, catalog, types),
        Value::Array(array) if matches!(array.element, oids::RECORD | oids::RECORD_ARRAY) => {
            array.values.iter().for_each(|element| add_row_types(element, catalog, types));
        }
        Value::Array(array) if may_have_rows(array) => add_types_within(array.element, catalog, types),
        _ => {}
    }
}

/// Adds a row type and those within it, or those within an array or a domain.
fn add_types_within(type_oid: Oid, catalog: &CatalogView, types: &mut Vec<Oid>) {
    if type_oid < Oid::FIRST_NORMAL {
        return;
    }
    let base = types::base_type(catalog, types::SqlType::new(type_oid)).oid;
    if let Some(element) = types::element_type(catalog, base) {
        return add_types_within(element, catalog, types);
    }
    if !types.contains(&base)
        && let Some(shape) = types::composite_shape(catalog, base)
    {
        types.push(base);
        shape.fields.iter().for_each(|(_, field)| add_types_within(field.oid, catalog, types));
    }
}

fn has_rows_of(value: &Value, type_oid: Oid) -> bool {
    match value {
        Value::Record(record) => {
            record.shape.type_oid == type_oid || record.fields.iter().any(|field| has_rows_of(field, type_oid))
        }
        Value::Array(array) if may_have_rows(array) => {
            array.values.iter().any(|element| has_rows_of(element, type_oid))
        }
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
        if self.function.result.oid < Oid::FIRST_NORMAL {
            return self.result_shape().cloned();
        }
        let of_domain = || types::composite_shape(catalog, types::base_type(catalog, self.function.result).oid);
        self.result_shape().cloned().or_else(of_domain)
    }

    /// The shape of a row with the names of its fields: a row that was read from a table does not know them.
    pub fn named_shape(&self, row: &RecordValue) -> Arc<RecordShape> {
        let catalog = self.changed_types.seen.as_ref().filter(|_| row.shape.attributes.is_empty());
        let declared = catalog.and_then(|catalog| types::composite_shape(catalog, row.shape.type_oid));
        declared.filter(|shape| shape.fields.len() == row.fields.len()).unwrap_or_else(|| Arc::clone(&row.shape))
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
        self.changed_types.renewed.get_mut().clear();
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
        if let Some(before) = self.changed_types.seen.take() {
            self.look_up_rows_in_values(&before, &run.catalog);
            self.changed_types.seen = Some(run.catalog.clone());
        }
    }

    /// Looks for arguments with rows that the calling statement made before it changed their types.
    #[cold]
    pub fn expect_older_rows(&mut self, run: &Run<'_, '_>) {
        let mut held = Vec::new();
        self.values.iter().for_each(|value| add_row_types(value, &run.catalog, &mut held));
        let shapes = held.into_iter().filter_map(|type_oid| types::composite_shape(&run.catalog, type_oid));
        shapes.for_each(|shape| self.changed_types.note_present(shape));
        // Every value that is read later is looked through as long as there is such a type.
        if !self.values.iter().any(|value| self.changed_types.is_outdated(value)) {
            self.changed_types.present.clear();
        }
    }

    /// Notes which types of rows in values have changed from one moment to the next.
    fn look_up_rows_in_values(&mut self, before: &CatalogView, now: &CatalogView) {
        let mut held = Vec::new();
        self.values.iter().for_each(|value| add_row_types(value, before, &mut held));
        for type_oid in held {
            if let Some([then, is]) = changed_columns(type_oid, before, now) {
                self.values.iter_mut().for_each(|value| number_fields(value, &then, &is, false));
                self.changed_types.note_present(is);
            }
        }
    }

    /// When the statement at hand began, for rows that it gives later; none if no variable can have rows.
    pub fn moment(&self) -> Option<CatalogView> {
        self.changed_types.seen.clone()
    }

    /// Whether the statement at hand may have changed types of rows that it has given.
    #[inline]
    pub fn may_have_changed_types(&self, run: &Run<'_, '_>) -> bool {
        let seen = self.changed_types.seen.as_ref();
        seen.is_some_and(|seen| seen.catalog().version() != run.state.engine().catalog_version())
    }

    /// Gives attribute numbers to the rows that the current statement has returned after it changed types itself.
    #[cold]
    pub fn number_changed_rows(&mut self, values: &mut [Value], run: &mut Run<'_, '_>) {
        let Some(begun) = self.moment() else { return };
        run.refresh_catalog();
        self.follow_row_types(run);
        // It may have read them after the change.
        values.iter_mut().for_each(|value| self.follow_changes_since(value, &begun, true, run));
    }

    /// Gives attribute numbers to the rows in a value of a statement that began with the catalog `begun`.
    pub fn number_given_rows(&mut self, value: &mut Value, begun: Option<&CatalogView>, run: &mut Run<'_, '_>) {
        run.refresh_catalog();
        self.follow_row_types(run);
        if let Some(begun) = begun
            && begun.catalog().version() != run.catalog.catalog().version()
        {
            self.follow_changes_since(value, begun, false, run);
        }
    }

    /// A cursor of this name has been opened.
    pub fn note_cursor(&mut self, name: &str) {
        if let Some(begun) = self.moment() {
            let cursors = &mut self.changed_types.cursors;
            cursors.retain(|(known, _)| known != name);
            if cursors.len() == CURSORS_MAX {
                cursors.remove(0);
            }
            cursors.push((name.to_owned(), begun));
        }
    }

    /// Gives attribute numbers to the rows that a cursor has returned.
    pub fn number_fetched_rows(&mut self, name: &str, row: &mut [Value], run: &mut Run<'_, '_>) {
        let opened = self.changed_types.cursors.iter().find(|(known, _)| known == name).map(|(_, begun)| begun.clone());
        row.iter_mut().for_each(|value| self.number_given_rows(value, opened.as_ref(), run));
    }

    #[cold]
    fn follow_changes_since(&mut self, value: &mut Value, begun: &CatalogView, may_be_newer: bool, run: &Run<'_, '_>) {
        let mut held = Vec::new();
        add_row_types(value, begun, &mut held);
        for type_oid in held {
            if let Some([then, is]) = changed_columns(type_oid, begun, &run.catalog) {
                number_fields(value, &then, &is, may_be_newer);
                self.changed_types.note_present(is);
            }
        }
    }

    /// The variables with values in which there are rows that were made before their types changed.
    pub fn outdated_variables(&self) -> impl Iterator<Item = usize> {
        let places = if self.changed_types.present.is_empty() { 0 } else { self.values.len() };
        (0..places).filter(|place| self.changed_types.is_outdated(&self.values[*place]))
    }

    /// The target of a loop's rows, as its type is when the loop begins.
    pub fn loop_target(&mut self, target: usize, run: &mut Run<'_, '_>) -> LoopTarget {
        self.follow_row_types(run);
        let place = self.record_of(target);
        LoopTarget { target, columns: self.shape_of(place).cloned().map(|shape| (place, shape)), begun: self.moment() }
    }

    /// Assigns a row of a loop's query. After a change of the type the query still gives rows with the old columns, so the variable keeps them,
    /// too.
    ///
    /// # Errors
    /// As [`Frame::assign`].
    pub fn assign_in_loop(
        &mut self,
        LoopTarget { target, columns: begun_with, begun }: &LoopTarget,
        columns: &[(String, types::SqlType)],
        row: &[Value],
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        run.refresh_catalog();
        self.follow_row_types(run);
        let version = run.catalog.catalog().version();
        if begun.as_ref().is_none_or(|begun| begun.catalog().version() == version) {
            return self.assign_columns(*target, columns, Some(row), run);
        }
        let mut row = row.to_vec();
        row.iter_mut().for_each(|value| self.number_given_rows(value, begun.as_ref(), run));
        match begun_with {
            Some((place, shape)) if self.shape_of(*place).is_some_and(|now| now != shape) => {
                let given = Arc::new(RecordShape::without_type(columns.to_vec()));
                let mut value = fit_record(&RecordValue { shape: given, fields: row }, shape, run)?;
                self.number_given_rows(&mut value, begun.as_ref(), run);
                let whole = self.part_as_types_are_now(*place, &value)?;
                self.checked(*place, whole, run)?;
                self.values[*place] = value;
                Ok(())
            }
            _ => self.assign_columns(*target, columns, Some(&row), run),
        }
    }

    /// The value of a variable as the types of its rows are now.
    ///
    /// # Errors
    /// 55000 if a field of a row in the value has got another type since the row was made.
    pub fn whole(&self, place: usize) -> Result<Value> {
        self.part_as_types_are_now(place, &self.values[place])
    }

    /// A part of the value of a variable as the types of its rows are now.
    ///
    /// # Errors
    /// As [`Frame::whole`].
    pub fn part_as_types_are_now(&self, place: usize, part: &Value) -> Result<Value> {
        if self.changed_types.present.is_empty() {
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
/// NULL. None if a column has got another type.
fn fields_as_type_is_now(record: &RecordValue, now: &RecordShape) -> Option<Vec<Value>> {
    let mut fields = Vec::with_capacity(now.fields.len());
    for (number, (_, sql_type)) in now.fields.iter().enumerate() {
        let place = record.shape.place_of(number, now.attribute_at(number));
        let own = place.and_then(|place| Some((record.shape.fields.get(place)?, record.fields.get(place)?)));
        fields.push(match own {
            Some(((_, own_type), value)) if own_type == sql_type => value.clone(),
            // Only the length has changed.
            Some(((_, own_type), value)) if own_type.oid == sql_type.oid => {
                types::coerce_length(value.clone(), *sql_type, false).ok()?
            }
            Some(_) => return None,
            None => Value::Null,
        });
    }
    Some(fields)
}

/// Whether these fields have, in order, the types of those.
fn has_types_of(these: &[(String, types::SqlType)], those: &[(String, types::SqlType)]) -> bool {
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
        super::results::check_columns(message, &record.shape.fields, &shape.fields, &run.catalog)?;
    }
    fit_record(record, shape, run)
}
