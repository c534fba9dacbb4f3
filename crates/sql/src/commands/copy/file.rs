//! COPY from and to files of the server: for superusers.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use base::{Error, Lsn, Result, sqlstate};
use engine::StatementFile;

use crate::client::{Client, OutgoingRow, Severity};
use crate::session::SessionState;

/// A file in the client's place, as far as COPY's data go; everything else goes to the client.
pub(super) struct FileClient<'c> {
    client: &'c mut dyn Client,
    file: File,
    /// What writing has met; told when COPY next asks.
    failure: Option<std::io::Error>,
    _place: StatementFile,
}

impl<'c> FileClient<'c> {
    /// Opens the file.
    ///
    /// # Errors
    /// 42501 for who is no superuser, 42602 for a relative path to write to, 53000 if statements have too many files open, and
    /// what the system says.
    pub fn open(state: &SessionState, name: &str, is_from: bool, client: &'c mut dyn Client) -> Result<FileClient<'c>> {
        let (word, role) = if is_from { ("from", "pg_read_server_files") } else { ("to", "pg_write_server_files") };
        if !state.is_superuser() {
            let message = format!("must be superuser or have privileges of the {role} role to COPY {word} a file");
            return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message)
                .hint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone."));
        }
        if !is_from && !Path::new(name).is_absolute() {
            return Err(Error::new(sqlstate::INVALID_NAME, "relative path not allowed for COPY to file"));
        }
        let place = state.instance.database().statement_file()?;
        let opened = if is_from { File::open(name) } else { File::create(name) };
        let file = opened.map_err(|error| {
            let (purpose, verb, what) = if is_from { ("reading", "FROM", "read") } else { ("writing", "TO", "write") };
            let code = match error.kind() {
                ErrorKind::NotFound => sqlstate::UNDEFINED_FILE,
                ErrorKind::PermissionDenied => sqlstate::INSUFFICIENT_PRIVILEGE,
                ErrorKind::IsADirectory => sqlstate::WRONG_OBJECT_TYPE,
                _ => sqlstate::IO_ERROR,
            };
            let message = format!("could not open file \"{name}\" for {purpose}: {}", plain_words(&error));
            let hint = format!(
                "COPY {verb} instructs the PostgreSQL server process to {what} a file. You may want a client-side \
                 facility such as psql's \\copy."
            );
            Error::new(code, message).hint(hint)
        })?;
        Ok(FileClient { client, file, failure: None, _place: place })
    }
}

/// What the system says, without the number behind it.
fn plain_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

impl Client for FileClient<'_> {
    fn require(&mut self, lsn: Lsn) {
        self.client.require(lsn);
    }

    fn committed(&mut self, gate: Lsn, delay: engine::DelayPolicy) {
        self.client.committed(gate, delay);
    }

    fn row(&mut self, row: &OutgoingRow<'_>) -> Result<()> {
        self.client.row(row)
    }

    fn notice(&mut self, severity: Severity, notice: &Error) {
        self.client.notice(severity, notice);
    }

    fn error(&mut self, error: &Error) {
        self.client.error(error);
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.client.parameter_status(name, value);
    }

    fn notification(&mut self, pid: i32, channel: &str, payload: &str) {
        self.client.notification(pid, channel, payload);
    }

    fn copy_data(&mut self, data: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.file.write_all(data).err();
        }
    }

    fn read_copy_data(&mut self) -> Result<Option<Vec<u8>>> {
        let mut data = vec![0; 65536];
        let length = self.file.read(&mut data).map_err(|error| {
            Error::new(sqlstate::IO_ERROR, format!("could not read from COPY file: {}", plain_words(&error)))
        })?;
        data.truncate(length);
        Ok((length > 0).then_some(data))
    }

    fn wants_relief(&self) -> bool {
        self.failure.is_some() || self.client.wants_relief()
    }

    fn relieve(&mut self) -> Result<()> {
        match self.failure.take() {
            None => self.client.relieve(),
            Some(error) => {
                let message = format!("could not write to COPY file: {}", plain_words(&error));
                Err(Error::new(sqlstate::IO_ERROR, message))
            }
        }
    }
}
