//! Functions in FROM, set-returning functions in the select list, and tables computed by the server.

use base::{Error, Result, sqlstate};
use plan::{Expr, ExprKind, FunctionTarget, SetCall, SetItem};
use types::{CallTypes, ReadyRows, RecordValue, Value, ValueStream, format_type_name, oids};

use crate::evaluate::{Arguments, call_for_value, evaluate, evaluate_arguments, is_true};
use crate::spill::{RowStore, StoreReader, StoreScan, hash_memory_bytes};
use crate::{BoxOperator, Operator, Run};

/// The rows of one call of a function; `None` for a call that gives none.
fn open_call<'p>(call: &'p SetCall, row: &[Value], run: &mut Run<'_, 'p>) -> Result<Box<dyn ValueStream>> {
    let arguments = evaluate_arguments(&call.arguments, row, run)?;
    if !lists_columns(call) {
        return call_set(&call.function, call.returns_set, &call.types, arguments, run);
    }
    let columns = call.columns.iter().map(|sql_type| (String::new(), *sql_type)).collect();
    run.state.expected_columns.replace(Some(columns));
    let rows = call_set(&call.function, call.returns_set, &call.types, arguments, run);
    // One that is not run for its NULL arguments has not taken them.
    run.state.expected_columns.take();
    rows
}

/// Whether the query lists the columns of a user's function that returns a record.
fn lists_columns(call: &SetCall) -> bool {
    matches!(&call.function, FunctionTarget::Stored(function)
        if call.composite
            && function.returns == oids::RECORD
            && !function.arguments.iter().any(|argument| argument.mode.is_output()))
}

fn call_set(
    function: &FunctionTarget,
    returns_set: bool,
    types: &CallTypes,
    arguments: Arguments,
    run: &mut Run<'_, '_>,
) -> Result<Box<dyn ValueStream>> {
    run.check_depth()?;
    if !returns_set {
        return Ok(ReadyRows::boxed(vec![call_for_value(function, types, &arguments, run)?]));
    }
    match function {
        FunctionTarget::Builtin(function) => function.call_set(run, types, &arguments),
        FunctionTarget::Stored(function) => {
            let host = run.host;
            host.call_set(run, function, types, &arguments)
        }
    }
}

/// Whether an expression has something of a query around it.
fn reads_outside(expr: &Expr) -> bool {
    expr.any(&|expr| matches!(expr.kind, ExprKind::Outer(_)))
}

/// The result of a call, for a call that is made once while those beside it are made again and again.
#[derive(Default)]
struct Kept {
    values: RowStore,
    reader: StoreReader,
    next: usize,
}

/// Functions in FROM, side by side.
pub struct FunctionRows<'p> {
    node: &'p plan::FunctionScan,
    streams: Option<Vec<Option<Box<dyn ValueStream>>>>,
    /// Of calls that don't depend on what is outside, beside others that do: what they have given.
    kept: Vec<Option<Kept>>,
    /// The streams of these calls, as far as they were read.
    kept_streams: Vec<Option<Box<dyn ValueStream>>>,
    number: i64,
    row: Vec<Value>,
}

impl<'p> FunctionRows<'p> {
    pub fn new(node: &'p plan::FunctionScan) -> Self {
        let depends = |call: &SetCall| call.arguments.iter().any(reads_outside);
        let some_depend = node.calls.iter().any(depends);
        let kept = node.calls.iter().map(|call| (some_depend && !depends(call)).then(Kept::default)).collect();
        FunctionRows { node, streams: None, kept, kept_streams: Vec::new(), number: 0, row: Vec::new() }
    }
}

impl<'p> Operator<'p> for FunctionRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.streams.is_none() {
            let is_first = self.kept_streams.is_empty();
            let mut streams = Vec::with_capacity(self.node.calls.len());
            for (place, call) in self.node.calls.iter().enumerate() {
                let is_kept = self.kept[place].is_some();
                if is_first {
                    let stream = if is_kept { Some(open_call(call, &[], run)?) } else { None };
                    self.kept_streams.push(stream);
                }
                streams.push(if is_kept { None } else { Some(open_call(call, &[], run)?) });
            }
            self.streams = Some(streams);
        }
        let streams = self.streams.as_mut().expect("opened above");
        loop {
            sync::yield_point()?;
            self.row.clear();
            let mut is_row = false;
            for (place, (stream, call)) in streams.iter_mut().zip(&self.node.calls).enumerate() {
                let value = match (stream.as_mut(), &mut self.kept[place]) {
                    (_, Some(kept)) => kept.next(&mut self.kept_streams[place], run)?,
                    (Some(open), None) => open.next(run)?,
                    (None, None) => None,
                };
                match value {
                    Some(value) => {
                        is_row = true;
                        push_columns(value, call, &mut self.row, run)?;
                    }
                    None => {
                        *stream = None;
                        self.row.resize(self.row.len() + call.columns.len(), Value::Null);
                    }
                }
            }
            if !is_row {
                return Ok(false);
            }
            self.number += 1;
            if self.node.ordinality {
                self.row.push(Value::Int8(self.number));
            }
            match &self.node.filter {
                Some(filter) if !is_true(filter, &self.row, run)? => run.locals.removed_rows += 1,
                _ => return Ok(true),
            }
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.streams = None;
        self.kept.iter_mut().flatten().for_each(|kept| kept.next = 0);
        self.number = 0;
    }
}

impl Kept {
    /// The next value: one that is kept, or the stream's next one, which is kept then.
    fn next(&mut self, stream: &mut Option<Box<dyn ValueStream>>, run: &mut Run<'_, '_>) -> Result<Option<Value>> {
        if self.next == self.values.len() {
            let Some(value) = stream.as_mut().map_or(Ok(None), |stream| stream.next(run))? else {
                *stream = None;
                return Ok(None);
            };
            self.values.push(std::slice::from_ref(&value), hash_memory_bytes(run), run)?;
            self.next += 1;
            return Ok(Some(value));
        }
        self.values.flush()?;
        let value = self.reader.read(&self.values, self.next)?.first().cloned();
        self.next += 1;
        Ok(value)
    }
}

/// Spreads a composite value over its columns.
///
/// # Errors
/// 42804 for a record that hasn't got the columns which the query lists.
fn push_columns(value: Value, call: &SetCall, row: &mut Vec<Value>, run: &Run<'_, '_>) -> Result<()> {
    if !call.composite {
        row.push(value);
        return Ok(());
    }
    if let Value::Record(record) = &value
        && lists_columns(call)
    {
        check_listed(record, call, run)?;
    }
    let end = row.len() + call.columns.len();
    if let Value::Record(record) = value {
        row.extend(record.fields.iter().take(call.columns.len()).cloned());
    }
    row.resize(end, Value::Null);
    Ok(())
}

fn check_listed(record: &RecordValue, call: &SetCall, run: &Run<'_, '_>) -> Result<()> {
    let mismatch = |detail: String| {
        let message = "function return row and query-specified return row do not match";
        Err(Error::new(sqlstate::DATATYPE_MISMATCH, message).detail(detail))
    };
    let (given, wanted) = (record.shape.fields.len(), call.columns.len());
    if given != wanted {
        let attributes = if given == 1 { "attribute" } else { "attributes" };
        return mismatch(format!("Returned row contains {given} {attributes}, but query expects {wanted}."));
    }
    for (number, ((_, given), wanted)) in record.shape.fields.iter().zip(call.columns.iter()).enumerate() {
        if given.oid != wanted.oid && given.oid != oids::UNKNOWN {
            let name = |oid| format_type_name(&run.catalog, oid);
            let (place, given, wanted) = (number + 1, name(given.oid), name(wanted.oid));
            return mismatch(format!("Returned type {given} at ordinal position {place}, but query expects {wanted}."));
        }
    }
    Ok(())
}

/// Set-returning functions in the select list.
pub struct ProjectSet<'p> {
    input: BoxOperator<'p>,
    items: &'p [SetItem],
    /// Whether `row` begins with a row of the input whose sets are not at their end.
    is_open: bool,
    /// One for each item, once the first values of the row are computed.
    streams: Vec<Option<Box<dyn ValueStream>>>,
    input_width: usize,
    row: Vec<Value>,
}

impl<'p> ProjectSet<'p> {
    pub fn new(input: BoxOperator<'p>, items: &'p [SetItem]) -> Self {
        ProjectSet { input, items, is_open: false, streams: Vec::new(), input_width: 0, row: Vec::new() }
    }

    /// Puts the items' next values behind the row of the input; whether one of the sets had another one.
    fn next_values(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        self.row.truncate(self.input_width);
        let is_first = self.streams.is_empty();
        let mut is_row = false;
        for (place, item) in self.items.iter().enumerate() {
            let input = &self.row[..self.input_width];
            let value = match item {
                SetItem::Value(expr) => {
                    if is_first {
                        self.streams.push(None);
                    }
                    evaluate(expr, input, run)?
                }
                SetItem::Call(call) => {
                    if is_first {
                        let stream = open_call(call, input, run)?;
                        self.streams.push(Some(stream));
                    }
                    let value = match &mut self.streams[place] {
                        Some(open) => open.next(run)?,
                        None => None,
                    };
                    is_row |= value.is_some();
                    if value.is_none() {
                        self.streams[place] = None;
                    }
                    value.unwrap_or_default()
                }
            };
            self.row.push(value);
        }
        Ok(is_row)
    }
}

impl<'p> Operator<'p> for ProjectSet<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        loop {
            sync::yield_point()?;
            if self.is_open {
                if self.next_values(run)? {
                    return Ok(true);
                }
                self.is_open = false;
                self.streams.clear();
            }
            if !self.input.next(run)? {
                return Ok(false);
            }
            self.row.clear();
            self.row.extend_from_slice(self.input.row());
            self.input_width = self.row.len();
            self.is_open = true;
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.is_open = false;
        self.streams.clear();
        self.input.rescan();
    }
}

/// The rows of a statement, read by the function of one of its triggers.
pub struct TransitionRows<'p> {
    node: &'p plan::VirtualScan,
    scan: StoreScan,
    row: Vec<Value>,
}

impl<'p> TransitionRows<'p> {
    pub fn new(node: &'p plan::VirtualScan) -> Self {
        TransitionRows { node, scan: StoreScan::default(), row: Vec::new() }
    }
}

impl<'p> Operator<'p> for TransitionRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if !self.scan.is_open() {
            let captured = run.state.captured.borrow().clone();
            let captured = captured.ok_or_else(|| Error::internal("no trigger is being called"))?;
            self.scan = StoreScan::new(captured.rows(self.node.table.oid == plan::NEW_ROWS));
        }
        while self.scan.next()? {
            sync::yield_point()?;
            let full = self.scan.row();
            self.row.clear();
            self.row.extend(self.node.columns.iter().map(|column| full[*column as usize].clone()));
            match &self.node.filter {
                Some(filter) if !is_true(filter, &self.row, run)? => run.locals.removed_rows += 1,
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.scan.rewind();
    }
}

/// A table computed by the server.
pub struct VirtualRows<'p> {
    node: &'p plan::VirtualScan,
    rows: Option<std::vec::IntoIter<Vec<Value>>>,
    row: Vec<Value>,
}

impl<'p> VirtualRows<'p> {
    pub fn new(node: &'p plan::VirtualScan) -> Self {
        VirtualRows { node, rows: None, row: Vec::new() }
    }
}

impl<'p> Operator<'p> for VirtualRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.rows.is_none() {
            let mut equal = Vec::new();
            for (column, expr) in &self.node.equal {
                equal.push((*column as usize, evaluate(expr, &[], run)?));
            }
            let host = run.host;
            let rows = host.catalog_rows(run, &self.node.table, &equal);
            // The contents of these tables do not come from a visibility check on rows. They count as seen now (rule R3), and not sooner,
            // since they may show a commit that happened while they were computed.
            run.engine().observe_horizon();
            self.rows = Some(rows?.into_iter());
        }
        while let Some(full) = self.rows.as_mut().and_then(Iterator::next) {
            sync::yield_point()?;
            self.row.clear();
            for column in &self.node.columns {
                let value = full.get(*column as usize).cloned();
                self.row.push(value.ok_or_else(|| {
                    Error::internal(format!("table {} gave a row without column {column}", self.node.table.name))
                })?);
            }
            match &self.node.filter {
                Some(filter) if !is_true(filter, &self.row, run)? => run.locals.removed_rows += 1,
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.rows = None;
    }
}
