//! The messages that a session sends to its client, and its requests to the client.
//!
//! The session decides *what* is said and which commit it depends on; the implementation of [`Client`]
//! decides how it is framed, and holds it back until the log is durable up to the point last given to
//! [`Client::require`].

use std::sync::OnceLock;

use base::{Error, Lsn, Oid, Result};
use engine::DelayPolicy;
use types::{CatalogLookup, FormatSettings, SqlType, Value};

/// How a value is written on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// As text.
    #[default]
    Text,
    /// In the type's binary form.
    Binary,
}

/// One column of a result, as a row description tells of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// The table it comes straight from, or `Oid::INVALID`.
    pub table: Oid,
    /// Its number in that table, from 1, or 0.
    pub attribute_number: i16,
}

impl ResultColumn {
    /// The width of its type's values in bytes; -1 if it varies.
    pub fn size_bytes(&self) -> i16 {
        types::builtin_type(self.sql_type.oid).map_or(-1, |definition| definition.length)
    }
}

/// The columns of a result, with room for the bytes that describe them to a client.
#[derive(Debug, Default)]
pub struct RowDescription {
    /// The columns, left to right.
    pub columns: Vec<ResultColumn>,
    encoded: [OnceLock<Box<[u8]>>; 2],
}

impl RowDescription {
    /// Describes `columns`.
    pub fn new(columns: Vec<ResultColumn>) -> RowDescription {
        RowDescription { columns, encoded: Default::default() }
    }

    /// Returns the result of `encode` for the columns if all of them are in `format`. It is computed once.
    pub fn encoded(&self, format: Format, encode: impl FnOnce(&[ResultColumn]) -> Vec<u8>) -> &[u8] {
        self.encoded[format as usize].get_or_init(|| encode(&self.columns).into_boxed_slice())
    }
}

/// The formats a client asked for: none (all text), one for all columns, or one for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Formats(pub smallvec::SmallVec<[Format; 8]>);

impl Formats {
    /// One for all columns.
    pub fn of_all(format: Format) -> Formats {
        Formats(smallvec::smallvec![format])
    }

    /// The format of column `index`.
    pub fn of(&self, index: usize) -> Format {
        match self.0.as_slice() {
            [] => Format::Text,
            [one] => *one,
            each => each[index],
        }
    }

    /// The one format of every column, if there is one.
    pub fn uniform(&self) -> Option<Format> {
        let first = self.of(0);
        self.0.iter().all(|format| *format == first).then_some(first)
    }
}

/// One row on its way out.
pub struct OutgoingRow<'a> {
    /// The values, left to right.
    pub values: &'a [Value],
    /// Their columns.
    pub columns: &'a [ResultColumn],
    /// How each is to be written.
    pub formats: &'a Formats,
    /// DateStyle and the like.
    pub format: &'a FormatSettings,
    /// For the names of what values name.
    pub catalog: &'a dyn CatalogLookup,
}

impl OutgoingRow<'_> {
    /// Whether writing a value goes through its parts, and lets others run between them.
    pub fn output_lets_others_run(&self) -> bool {
        self.values.iter().any(types::output_lets_others_run)
    }

    /// The memory it takes, or `limit_bytes` if that is less. It is not looked at beyond that.
    pub fn bytes_up_to(&self, limit_bytes: usize) -> usize {
        self.values.iter().fold(0, |sum, value| sum + value.bytes_up_to(limit_bytes - sum))
    }

    /// Appends the value of column `index` to `out`; false, and nothing appended, if it is NULL.
    ///
    /// # Errors
    /// 22P05 and the like, when the value has no such form.
    pub fn write_value(&self, index: usize, out: &mut Vec<u8>) -> Result<bool> {
        let value = &self.values[index];
        if matches!(value, Value::Null) {
            return Ok(false);
        }
        let oid = self.columns[index].sql_type.oid;
        match self.formats.of(index) {
            Format::Text => types::output(value, oid, self.format, self.catalog, out)?,
            Format::Binary => types::binary_output(value, oid, self.catalog, out)?,
        }
        Ok(true)
    }
}

/// How grave a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For developers.
    Debug,
    /// For the log.
    Log,
    /// Asked for.
    Info,
    /// Worth knowing.
    Notice,
    /// Likely a mistake.
    Warning,
}

impl Severity {
    /// As it stands in front of a message.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Debug => "DEBUG",
            Severity::Log => "LOG",
            Severity::Info => "INFO",
            Severity::Notice => "NOTICE",
            Severity::Warning => "WARNING",
        }
    }
}

/// The client's side of a session. By default, the methods that report the progress of a statement do nothing: only a client at the other
/// end of a connection uses all of them.
pub trait Client {
    /// Sets the position that later messages wait for: they may be sent only when the log is durable up to `lsn`. This position never goes
    /// back.
    fn require(&mut self, lsn: Lsn);

    /// A transaction that wrote has committed: [`Client::require`] `gate`. Where every committer makes its own commit
    /// durable (`group_commit = off`, `commit_delay_scope = each`), waits for that.
    fn committed(&mut self, gate: Lsn, delay: DelayPolicy) {
        let _ = delay;
        self.require(gate);
    }

    /// The columns of the rows that follow.
    fn row_description(&mut self, _description: &RowDescription, _formats: &Formats) {}
    /// There will be no rows.
    fn no_data(&mut self) {}
    /// The types of a statement's parameters.
    fn parameter_description(&mut self, _types: &[Oid]) {}
    /// A row.
    ///
    /// # Errors
    /// When a value has no form in the format asked for; nothing of the row is sent then.
    fn row(&mut self, row: &OutgoingRow<'_>) -> Result<()>;
    /// The end of a statement that succeeded.
    fn command_complete(&mut self, _tag: &str) {}
    /// The end of an empty query.
    fn empty_query(&mut self) {}
    /// A portal has more rows than were asked for.
    fn portal_suspended(&mut self) {}
    /// Answers to Parse, Bind and Close.
    fn parse_complete(&mut self) {}
    /// See [`Client::parse_complete`].
    fn bind_complete(&mut self) {}
    /// See [`Client::parse_complete`].
    fn close_complete(&mut self) {}
    /// Something worth knowing that is no error.
    fn notice(&mut self, severity: Severity, notice: &Error);
    /// A statement failed.
    fn error(&mut self, error: &Error);
    /// A reported setting has a new value.
    fn parameter_status(&mut self, name: &str, value: &str);
    /// A notification from session `pid`.
    fn notification(&mut self, pid: i32, channel: &str, payload: &str);
    /// The client is to send COPY data of `column_count` columns.
    fn copy_in_response(&mut self, _format: Format, _column_count: usize) -> Result<()> {
        Ok(())
    }
    /// COPY data of `column_count` columns follows.
    fn copy_out_response(&mut self, _format: Format, _column_count: usize) -> Result<()> {
        Ok(())
    }
    /// A piece of COPY data.
    fn copy_data(&mut self, _data: &[u8]) {}
    /// No more COPY data.
    fn copy_done(&mut self) -> Result<()> {
        Ok(())
    }
    /// Waits for COPY data from the client; `None` at its end. The piece is valid until the next call.
    ///
    /// # Errors
    /// 57014 when the client gives up, 08006 when it is gone, 57P01 on shut-down.
    fn read_copy_data(&mut self) -> Result<Option<Vec<u8>>>;
    /// Whether so much is unsent that [`Client::relieve`] should be called, after [`Client::require`] for what was said.
    fn wants_relief(&self) -> bool {
        false
    }
    /// Sends what may leave; waits while too much is unsent.
    ///
    /// # Errors
    /// 08006 when the client is gone, and pending interrupts.
    fn relieve(&mut self) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_format_holds_for_all_columns() {
        let formats = |list: &[Format]| Formats(list.iter().copied().collect());
        assert_eq!(formats(&[]).of(3), Format::Text);
        assert_eq!(formats(&[Format::Binary]).of(3), Format::Binary);
        assert_eq!(formats(&[Format::Text, Format::Binary]).of(1), Format::Binary);
        assert_eq!(formats(&[Format::Text, Format::Binary]).uniform(), None);
        assert_eq!(formats(&[Format::Binary, Format::Binary]).uniform(), Some(Format::Binary));
    }
}
