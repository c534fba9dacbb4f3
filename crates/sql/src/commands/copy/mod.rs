//! COPY.

mod file;
mod format;
mod insertion;
mod options;

use std::sync::Arc;

use base::limits::MESSAGE_BODY_MAX_BYTES;
use base::lock_mode::{LockMode, WaitPolicy};
use base::{Error, Result, missing, sqlstate};
use format::{BINARY_SIGNATURE, LineReader, read_fields, write_row};
use insertion::{RowFilter, copy_from};
use options::{CopyFormat, CopyOptions, Header};
use plan::VirtualTable;
use plan::privileges::Privileges;
use plan::user_types::is_composite_type;
use schema::catalog::{Persistence, Relation, RelationKind, TableDef};
use syntax::tree::{Copy, CopyEndpoint, CopySource, Name, QualifiedName, Statement};
use types::reg_types::quote_identifier;
use types::{SqlType, Value};

use super::ddl::system_refusal;
use crate::state::{Running, SessionState, UtilityOutput, nested, refuse_changes};
use crate::system_tables::is_view;
use executor::Run;
use executor::client::{Client, Format, ResultColumn};
pub use format::fuzz_copy;

/// How much of a line or a value an error's context shows.
const SHOWN_BYTES: usize = 100;

/// Runs COPY.
///
/// # Errors
/// 22P04 and kin for malformed data, with the line in the context; 0A000 for programs; what files are refused with.
pub fn run(state: &SessionState, copy: &Copy, text: &Arc<str>, client: &mut dyn Client) -> Result<UtilityOutput> {
    let options = || CopyOptions::read(&copy.options, copy.is_from);
    match &copy.endpoint {
        CopyEndpoint::Client => copy_between(state, copy, &options()?, text, client),
        CopyEndpoint::File(name) => {
            let mut file = file::FileClient::new(state, name, copy.is_from, client)?;
            copy_between(state, copy, &options()?, text, &mut file)
        }
        CopyEndpoint::Program(_) => Err(Error::unsupported("COPY to or from a program is not supported")),
    }
}

/// A relation whose rows COPY TO gives.
enum CopiedFrom {
    Table(Arc<TableDef>),
    Catalog(Arc<VirtualTable>),
}

/// The relation that COPY TO names: 42809 if it has no rows of its own.
fn copied_from(state: &SessionState, name: &QualifiedName, columns: &[Name]) -> Result<CopiedFrom> {
    let view = state.catalog();
    let refused =
        |what: &str, name: &str| Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("cannot copy from {what} \"{name}\""));
    let hint = "Try the COPY (SELECT ...) TO variant.";
    if let Some(schema) = &name.schema {
        view.usable_schema(schema)?;
    }
    if let Some(table) = view.system_table(name.schema.as_deref(), &name.name) {
        if is_view(&table) {
            return Err(refused("view", &table.name).hint(hint));
        }
        return Ok(CopiedFrom::Catalog(table));
    }
    if let Some(Ok(Relation::Sequence(sequence))) = view.relation_or_type(name.schema.as_deref(), &name.name) {
        state.require(sequence.oid, Privileges::SELECT)?;
        return Err(refused("sequence", &sequence.name));
    }
    let table = copied_table(state, name)?;
    if table.kind != RelationKind::Table {
        state.require_columns(table.oid, Privileges::SELECT, &columns_of(&table, columns)?)?;
    }
    match table.kind {
        RelationKind::Table => Ok(CopiedFrom::Table(table)),
        RelationKind::View => Err(refused("view", &table.name).hint(hint)),
        RelationKind::MaterializedView => Err(refused("materialized view", &table.name).hint(hint)),
    }
}

/// The query whose rows COPY TO gives for a relation.
fn query_of(state: &SessionState, copied: &CopiedFrom, columns: &[Name]) -> Result<String> {
    let (schema, relation, names) = match copied {
        CopiedFrom::Table(table) => {
            let columns = columns_of(table, columns)?;
            let names: Vec<&str> = columns.iter().map(|column| table.columns[*column].name.as_str()).collect();
            (table.schema, table.name.as_str(), names)
        }
        CopiedFrom::Catalog(table) => (table.schema, table.name.as_str(), columns_of_catalog(table, columns)?),
    };
    let names: Vec<String> = names.into_iter().map(quote_identifier).collect();
    let schema = quote_identifier(&state.catalog().schema_name(schema));
    Ok(format!("SELECT {} FROM {schema}.{}", names.join(", "), quote_identifier(relation)))
}

/// The named columns of a catalog; all, if none is named.
fn columns_of_catalog<'c>(table: &'c VirtualTable, names: &'c [Name]) -> Result<Vec<&'c str>> {
    if names.is_empty() {
        return Ok(table.columns.iter().map(|column| column.name.as_str()).collect());
    }
    for (number, name) in names.iter().enumerate() {
        if table.columns.iter().all(|column| column.name != *name) {
            return Err(missing::column_of_relation(name, &table.name));
        }
        if names[..number].contains(name) {
            return Err(named_twice(name));
        }
    }
    Ok(names.iter().map(Name::as_str).collect())
}

fn copied_table(state: &SessionState, name: &QualifiedName) -> Result<Arc<TableDef>> {
    match state.catalog().relation_or_type(name.schema.as_deref(), &name.name) {
        Some(Err(composite)) => Err(is_composite_type(&composite.name)),
        _ => super::find_table(state, name).map_err(|error| {
            match state.catalog().system_table(name.schema.as_deref(), &name.name) {
                Some(system) if error.sqlstate() == sqlstate::UNDEFINED_TABLE => system_refusal(&system.name),
                _ => error,
            }
        }),
    }
}

/// COPY, its data coming from or going to `client`.
fn copy_between(
    state: &SessionState,
    copy: &Copy,
    options: &CopyOptions,
    text: &Arc<str>,
    client: &mut dyn Client,
) -> Result<UtilityOutput> {
    let count = if copy.is_from {
        let CopySource::Table(name) = &copy.source else {
            return Err(Error::new(sqlstate::SYNTAX_ERROR, "COPY query cannot be used with COPY FROM"));
        };
        let table = locked_table(state, name)?;
        let what = match table.kind {
            RelationKind::Table => None,
            RelationKind::View => Some("view"),
            RelationKind::MaterializedView => Some("materialized view"),
        };
        let refusal = what.map(|what| {
            let error = Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("cannot copy to {what} \"{}\"", table.name));
            let hint = "To enable copying to a view, provide an INSTEAD OF INSERT trigger.";
            if what == "view" { error.hint(hint) } else { error }
        });
        let is_read_only = state.engine().transaction_options().read_only;
        if is_read_only && table.persistence != Persistence::Temporary {
            return Err(executor::read_only_transaction("COPY FROM"));
        }
        if options.freeze && refusal.is_none() && !state.engine().has_new_storage(&table) {
            return Err(Error::new(
                sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction",
            ));
        }
        let columns = columns_of(&table, &copy.columns)?;
        check_option_columns(&table, &columns, "FORCE_NOT_NULL", &options.force_not_null)?;
        check_option_columns(&table, &columns, "FORCE_NULL", &options.force_null)?;
        let filter = match &copy.filter {
            Some(filter) => Some(RowFilter::bind(state, &table, &columns, filter, text)?),
            None => None,
        };
        if let Some(refusal) = refusal {
            // As in PostgreSQL the client is asked for rows before the error. Otherwise the rows that it has sent already would be read as
            // statements.
            client.copy_in_response(wire_format(options), columns.len())?;
            return Err(refusal);
        }
        // The condition may call functions.
        state.in_use.borrow_mut().push(Arc::from([(table.oid, LockMode::RowExclusive)]));
        let copied = copy_from(state, &table, &columns, filter.as_ref(), options, client);
        state.in_use.borrow_mut().pop();
        copied?
    } else {
        let planned = nested::locked(state, || match &copy.source {
            CopySource::Table(name) => {
                let copied = copied_from(state, name, &copy.columns)?;
                let query = query_of(state, &copied, &copy.columns)?;
                if let (CopiedFrom::Table(table), Some(names)) = (&copied, &options.force_quote) {
                    check_option_columns(table, &columns_of(table, &copy.columns)?, "FORCE_QUOTE", names)?;
                }
                nested::plan_text(state, &Arc::from(query), &Arc::from([]))
            }
            CopySource::Query(Statement::CreateTableAs(_)) => {
                Err(Error::unsupported("COPY (SELECT INTO) is not supported"))
            }
            CopySource::Query(Statement::Merge(_)) => Err(Error::unsupported("MERGE not supported in COPY")),
            CopySource::Query(statement) => {
                let planned = super::plan_inner(state, text, statement, &[])?;
                if gives_no_rows(statement) {
                    return Err(Error::unsupported("COPY query must have a RETURNING clause"));
                }
                Ok(planned)
            }
        })?;
        copy_to(state, &planned, options, client)?
    };
    Ok(UtilityOutput::tag(format!("COPY {count}")))
}

/// Whether a query changes rows and doesn't tell of them.
fn gives_no_rows(query: &Statement) -> bool {
    match query {
        Statement::Insert(insert) => insert.returning.is_empty(),
        Statement::Update(update) => update.returning.is_empty(),
        Statement::Delete(delete) => delete.returning.is_empty(),
        _ => false,
    }
}

/// The table that COPY fills: as it is once nobody else can change it.
fn locked_table(state: &SessionState, name: &QualifiedName) -> Result<Arc<TableDef>> {
    let mut table = copied_table(state, name)?;
    loop {
        state.engine().lock_relation(table.oid, LockMode::RowExclusive, WaitPolicy::Block)?;
        let again = copied_table(state, name)?;
        if again.oid == table.oid {
            return Ok(again);
        }
        table = again;
    }
}

/// The places of the named columns; of all that are not generated, if none is named.
fn columns_of(table: &TableDef, names: &[Name]) -> Result<Vec<usize>> {
    if names.is_empty() {
        let all = table.columns.iter().enumerate();
        return Ok(all
            .filter(|(_, column)| !column.dropped && column.generated.is_none())
            .map(|(place, _)| place)
            .collect());
    }
    let mut places = Vec::with_capacity(names.len());
    for name in names {
        let place = table.column_by_name(name).ok_or_else(|| missing::column_of_relation(name, &table.name))?;
        if table.columns[place].generated.is_some() {
            let message = format!("column \"{name}\" is a generated column");
            return Err(Error::new(sqlstate::INVALID_COLUMN_REFERENCE, message)
                .detail("Generated columns cannot be used in COPY."));
        }
        if places.contains(&place) {
            return Err(named_twice(name));
        }
        places.push(place);
    }
    Ok(places)
}

/// 42701
fn named_twice(name: &str) -> Error {
    Error::new(sqlstate::DUPLICATE_COLUMN, format!("column \"{name}\" specified more than once"))
}

/// Checks the columns that an option names: each is copied, and named once. 42703, 42P10, 42701.
fn check_option_columns(table: &TableDef, columns: &[usize], option: &str, names: &[String]) -> Result<()> {
    for (index, name) in names.iter().enumerate() {
        let place = table.column_by_name(name).ok_or_else(|| missing::column_of_relation(name, &table.name))?;
        if names[..index].contains(name) {
            return Err(named_twice(name));
        }
        if !columns.contains(&place) {
            let message = format!("{option} column \"{name}\" not referenced by COPY");
            return Err(Error::new(sqlstate::INVALID_COLUMN_REFERENCE, message));
        }
    }
    Ok(())
}

/// The columns of FORCE_QUOTE must be among those of the query.
fn check_quoted_columns(columns: &[ResultColumn], names: &[String]) -> Result<()> {
    for (index, name) in names.iter().enumerate() {
        if columns.iter().all(|column| column.name != name.as_str()) {
            return Err(missing::column(name));
        }
        if names[..index].contains(name) {
            return Err(named_twice(name));
        }
    }
    Ok(())
}

fn wire_format(options: &CopyOptions) -> Format {
    if options.format == CopyFormat::Binary { Format::Binary } else { Format::Text }
}

fn copy_to(
    state: &SessionState,
    planned: &Arc<crate::state::Planned>,
    options: &CopyOptions,
    client: &mut dyn Client,
) -> Result<u64> {
    let columns = &planned.description.columns;
    state.tell_warnings(client);
    refuse_changes(state, &planned.statement)?;
    check_quoted_columns(columns, options.force_quote.as_deref().unwrap_or_default())?;
    let mut running = Running::start(planned)?;
    client.copy_out_response(wire_format(options), columns.len())?;
    state.engine().begin_statement()?;
    let quoted: Vec<bool> = columns
        .iter()
        .map(|column| {
            options.force_quote_all || options.force_quote.as_ref().is_some_and(|names| names.contains(&column.name))
        })
        .collect();
    let mut out = Vec::new();
    if options.format == CopyFormat::Binary {
        out.extend_from_slice(BINARY_SIGNATURE);
        out.extend_from_slice(&[0; 8]);
    } else if options.header != Header::None {
        let names: Vec<Option<&str>> = columns.iter().map(|column| Some(column.name.as_str())).collect();
        write_row(&names, &[], options, &mut out);
        client.copy_data(&out);
        out.clear();
    }
    let result = running.with_dependent_mut(|planned, execution| -> Result<u64> {
        let mut run = Run::new(state, client, &[], &mut execution.locals);
        let mut count = 0u64;
        let mut texts: Vec<String> = Vec::new();
        while execution.root.next(&mut run)? {
            count += 1;
            write_values(execution.root.row(), planned, &quoted, options, &run, &mut texts, &mut out)?;
            run.client.require(state.gate());
            run.client.copy_data(&out);
            out.clear();
            if run.client.wants_relief() {
                run.client.relieve()?;
            }
        }
        Ok(count)
    });
    state.engine().end_statement();
    let count = result?;
    if options.format == CopyFormat::Binary {
        out.extend_from_slice(&(-1i16).to_be_bytes());
    }
    client.require(state.gate());
    if !out.is_empty() {
        client.copy_data(&out);
    }
    client.copy_done()?;
    Ok(count)
}

#[allow(clippy::too_many_arguments)]
fn write_values(
    row: &[Value],
    planned: &crate::state::Planned,
    quoted: &[bool],
    options: &CopyOptions,
    run: &Run<'_, '_>,
    texts: &mut Vec<String>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let columns = &planned.description.columns;
    if options.format == CopyFormat::Binary {
        out.extend_from_slice(&(row.len() as i16).to_be_bytes());
        for (value, column) in row.iter().zip(columns) {
            let length_at = out.len();
            out.extend_from_slice(&(-1i32).to_be_bytes());
            if !value.is_null() {
                types::binary_output(value, column.sql_type.oid, &run.catalog, out)?;
                let length = (out.len() - length_at - 4) as u32;
                out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
                check_length(length_at + 4, length as usize)?;
            }
        }
        return Ok(());
    }
    texts.clear();
    let mut length = 0;
    for (value, column) in row.iter().zip(columns) {
        texts.push(if value.is_null() {
            String::new()
        } else {
            types::output_string(value, column.sql_type.oid, &run.format, &run.catalog)?
        });
        let added = texts.last().map_or(0, String::len);
        check_length(length, added)?;
        length += added;
    }
    let fields: Vec<Option<&str>> =
        row.iter().zip(&*texts).map(|(value, text)| (!value.is_null()).then_some(text.as_str())).collect();
    write_row(&fields, quoted, options, out);
    // Quotes and backslashes have made it longer.
    check_length(length, out.len() - length)
}

/// Refuses a row that is too long for a message. 54000.
fn check_length(bytes: usize, more_bytes: usize) -> Result<()> {
    if bytes + more_bytes > MESSAGE_BODY_MAX_BYTES {
        return Err(Error::buffer_too_long(bytes, more_bytes));
    }
    Ok(())
}

/// Data as an error's context shows it: the first bytes of a long text.
fn shown(data: &[u8]) -> String {
    let mut end = data.len().min(SHOWN_BYTES);
    while end < data.len() && end > 0 && data[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    let text = String::from_utf8_lossy(&data[..end]);
    if end < data.len() { format!("{text}...") } else { text.into_owned() }
}

/// A function that inserts a row of these values. It returns whether the row was inserted: COPY counts only such rows.
type InsertRow<'f> = dyn FnMut(&[Value], &mut dyn Client) -> Result<bool> + 'f;

struct Source<'s> {
    table: &'s TableDef,
    columns: &'s [usize],
    types: &'s [SqlType],
    options: &'s CopyOptions,
    reader: LineReader,
    fields: Vec<format::Field>,
}

impl Source<'_> {
    fn bad(&self, message: impl Into<String>) -> Error {
        Error::new(sqlstate::BAD_COPY_FILE_FORMAT, message)
    }

    fn column_name(&self, number: usize) -> &str {
        &self.table.columns[self.columns[number]].name
    }

    fn read_lines(
        &mut self,
        state: &crate::state::SessionState,
        client: &mut dyn Client,
        insert: &mut InsertRow<'_>,
    ) -> Result<u64> {
        let (mut count, mut is_last_data) = (0u64, false);
        let mut values = Vec::with_capacity(self.columns.len());
        loop {
            let is_first = self.reader.line_number == 0;
            let line = match self.reader.next_line(is_last_data, self.options) {
                Ok(line) => line.map(<[u8]>::to_vec),
                Err(error) => {
                    let number = self.reader.line_number + 1;
                    return Err(error.context(format!("COPY {}, line {number}", self.table.name)));
                }
            };
            match line {
                Some(line) => {
                    let number = self.reader.line_number;
                    if is_first && self.options.header != Header::None {
                        self.check_header(&line).map_err(|error| {
                            error.context(format!("COPY {}, line 1: \"{}\"", self.table.name, shown(&line)))
                        })?;
                        continue;
                    }
                    let context = |error: Error, column: Option<(&str, &str)>| match column {
                        Some((name, text)) => {
                            let (table, text) = (&self.table.name, shown(text.as_bytes()));
                            error.context(format!("COPY {table}, line {number}, column {name}: \"{text}\""))
                        }
                        None => error.context(format!("COPY {}, line {number}: \"{}\"", self.table.name, shown(&line))),
                    };
                    let mut fields = std::mem::take(&mut self.fields);
                    let result = read_fields(&line, self.options, &mut fields);
                    result.map_err(|error| context(error, None))?;
                    // An empty line is the row of a table without columns.
                    if self.columns.is_empty() && line.is_empty() {
                        fields.clear();
                    }
                    if fields.len() > self.columns.len() {
                        return Err(context(self.bad("extra data after last expected column"), None));
                    }
                    values.clear();
                    for (position, field) in fields.iter().enumerate() {
                        let name = self.column_name(position);
                        let is_forced = |columns: &[String]| columns.iter().any(|forced| forced == name);
                        let is_null = match field.is_null {
                            true => !is_forced(&self.options.force_not_null),
                            false => field.text == self.options.null && is_forced(&self.options.force_null),
                        };
                        values.push(if is_null {
                            read_null(state, self.types[position]).map_err(|error| {
                                let place = format!("COPY {}, line {number}, column {name}", self.table.name);
                                error.context(format!("{place}: null input"))
                            })?
                        } else {
                            read_text(state, &field.text, self.types[position])
                                .map_err(|error| context(error, Some((name, &field.text))))?
                        });
                    }
                    // Present fields are read before a missing one is an error.
                    if fields.len() < self.columns.len() {
                        let name = self.column_name(fields.len());
                        return Err(context(self.bad(format!("missing data for column \"{name}\"")), None));
                    }
                    self.fields = fields;
                    let is_wanted = insert(&values, client).map_err(|error| {
                        error.context(format!("COPY {}, line {number}: \"{}\"", self.table.name, shown(&line)))
                    })?;
                    count += u64::from(is_wanted);
                    sync::yield_point()?;
                }
                None if is_last_data => return Ok(count),
                None => match client.read_copy_data()? {
                    Some(data) => self.reader.extend(&data),
                    None => is_last_data = true,
                },
            }
        }
    }

    fn check_header(&mut self, line: &[u8]) -> Result<()> {
        if self.options.header != Header::Match {
            return Ok(());
        }
        read_fields(line, self.options, &mut self.fields)?;
        if self.fields.len() != self.columns.len() {
            return Err(self.bad(format!(
                "wrong number of fields in header line: got {}, expected {}",
                self.fields.len(),
                self.columns.len()
            )));
        }
        for (position, field) in self.fields.iter().enumerate() {
            let expected = self.column_name(position);
            if field.text != expected {
                return Err(self.bad(format!(
                    "column name mismatch in header line field {}: got \"{}\", expected \"{expected}\"",
                    position + 1,
                    field.text
                )));
            }
        }
        Ok(())
    }

    fn read_binary(
        &mut self,
        state: &crate::state::SessionState,
        client: &mut dyn Client,
        insert: &mut InsertRow<'_>,
    ) -> Result<u64> {
        let mut data = BinaryReader::default();
        let signature = data.take(BINARY_SIGNATURE.len(), client)?;
        if signature.as_deref() != Some(BINARY_SIGNATURE) {
            return Err(self.bad("COPY file signature not recognized"));
        }
        let missing = || Error::new(sqlstate::BAD_COPY_FILE_FORMAT, "invalid COPY file header (missing flags)");
        data.take(4, client)?.ok_or_else(missing)?;
        let length = data.number(4, client)?.ok_or_else(missing)?;
        data.take(length.max(0) as usize, client)?.ok_or_else(missing)?;
        let mut values = Vec::with_capacity(self.columns.len());
        let mut count = 0u64;
        loop {
            let Some(fields) = data.number(2, client)? else { return Ok(count) };
            if fields as i16 == -1 {
                // Read to the client's own end of data.
                while client.read_copy_data()?.is_some() {}
                return Ok(count);
            }
            if fields as usize != self.columns.len() {
                let expected = self.columns.len();
                return Err(self.bad(format!("row field count is {}, expected {expected}", fields as i16)));
            }
            values.clear();
            for position in 0..self.columns.len() {
                let unexpected = || Error::new(sqlstate::BAD_COPY_FILE_FORMAT, "unexpected EOF in COPY data");
                let length = data.number(4, client)?.ok_or_else(unexpected)? as i32;
                values.push(match length {
                    -1 => read_null(state, self.types[position])?,
                    length if length < 0 => return Err(self.bad("invalid field size")),
                    length => {
                        let bytes = data.take(length as usize, client)?.ok_or_else(unexpected)?;
                        let environment = crate::state::planning::Environment::new(state, &state.catalog());
                        types::binary_input(&mut environment.eval_context(), &bytes, self.types[position])?
                    }
                });
            }
            count += u64::from(insert(&values, client)?);
            sync::yield_point()?;
        }
    }
}

/// Reads a NULL, which a domain may refuse.
fn read_null(state: &crate::state::SessionState, sql_type: SqlType) -> Result<Value> {
    if sql_type.oid < base::Oid::FIRST_NORMAL {
        return Ok(Value::Null);
    }
    let environment = crate::state::planning::Environment::new(state, &state.catalog());
    types::null_input(&mut environment.eval_context(), sql_type)
}

/// Reads one value, without a context where the type needs none.
fn read_text(state: &crate::state::SessionState, text: &str, sql_type: SqlType) -> Result<Value> {
    if let Some(value) = crate::state::input_plain(text, sql_type) {
        return Ok(value);
    }
    let environment = crate::state::planning::Environment::new(state, &state.catalog());
    types::input(&mut environment.eval_context(), text, sql_type)
}

#[derive(Default)]
struct BinaryReader {
    bytes: Vec<u8>,
    consumed: usize,
}

impl BinaryReader {
    /// The next `count` bytes; `None` at the end of the data.
    fn take(&mut self, count: usize, client: &mut dyn Client) -> Result<Option<Vec<u8>>> {
        while self.bytes.len() - self.consumed < count {
            match client.read_copy_data()? {
                Some(data) => {
                    self.bytes.drain(..self.consumed);
                    self.consumed = 0;
                    self.bytes.extend_from_slice(&data);
                }
                None => return Ok(None),
            }
        }
        let taken = self.bytes[self.consumed..self.consumed + count].to_vec();
        self.consumed += count;
        Ok(Some(taken))
    }

    /// A big-endian number of `width_bytes` bytes.
    fn number(&mut self, width_bytes: usize, client: &mut dyn Client) -> Result<Option<i64>> {
        let bytes = self.take(width_bytes, client)?;
        Ok(bytes.map(|bytes| bytes.iter().fold(0i64, |number, byte| (number << 8) | i64::from(*byte))))
    }
}
