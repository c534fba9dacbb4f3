//! COPY from and to files of the server: for superusers and for those who have the rights of `pg_read_server_files` or
//! `pg_write_server_files`.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base::settings::Id;
use base::{Error, Lsn, Oid, Result, sqlstate};
use engine::StatementFile;
use schema::catalog::{READ_SERVER_FILES_ROLE, WRITE_SERVER_FILES_ROLE};

use crate::state::SessionState;
use executor::client::{Client, Format, OutgoingRow, Severity};

/// A file in the client's place, as far as COPY's data go; everything else goes to the client.
pub(super) struct FileClient<'c> {
    client: &'c mut dyn Client,
    name: &'c str,
    is_from: bool,
    /// Opened when the data begin: a COPY that fails before leaves the file as it was.
    file: Option<OpenFile>,
    /// The first error of writing; reported at COPY's next call that returns a result.
    failure: Option<std::io::Error>,
    _place: StatementFile,
}

enum OpenFile {
    Read(File),
    Written(BufWriter<File>),
}

/// Whether this process does everything to files, whoever owns them.
fn runs_as_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The error for files that a server started as root does not touch: 42501.
fn refused_as_root() -> Error {
    let message = "files of the server cannot be read or written while it runs as root";
    Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message)
        .hint("Start the server as another user, or with allow_server_files_as_root = on.")
}

impl<'c> FileClient<'c> {
    /// Looks whether the acting role may read or write such a file. It is opened when the data begin.
    ///
    /// # Errors
    /// 42501 for roles without the right, and for everybody while the server runs as root unless a setting allows it; 42602 for a
    /// relative path to write to; 53000 if statements have too many files open.
    pub fn new(
        state: &SessionState,
        name: &'c str,
        is_from: bool,
        client: &'c mut dyn Client,
    ) -> Result<FileClient<'c>> {
        let (word, role, right): (_, _, Oid) = if is_from {
            ("from", "pg_read_server_files", READ_SERVER_FILES_ROLE)
        } else {
            ("to", "pg_write_server_files", WRITE_SERVER_FILES_ROLE)
        };
        if !state.has_rights_of(right) {
            let message = format!("must be superuser or have privileges of the {role} role to COPY {word} a file");
            return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message)
                .hint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone."));
        }
        let settings = state.instance.database().settings();
        if runs_as_root() && !settings.get(Id::AllowServerFilesAsRoot).as_bool() {
            return Err(refused_as_root());
        }
        let place = state.instance.database().statement_file()?;
        Ok(FileClient { client, name, is_from, file: None, failure: None, _place: place })
    }

    /// Opens the file.
    ///
    /// # Errors
    /// 42602 for a relative path to write to, and what the system says.
    fn open(&mut self) -> Result<()> {
        let FileClient { name, is_from, .. } = *self;
        if !is_from && !Path::new(name).is_absolute() {
            return Err(Error::new(sqlstate::INVALID_NAME, "relative path not allowed for COPY to file"));
        }
        let opened = if is_from {
            File::open(name)
        } else {
            // Only the server's own user changes what it has written.
            File::options().write(true).create(true).truncate(true).mode(0o644).open(name)
        };
        let file = opened.map_err(|error| {
            let (purpose, verb, what) = if is_from { ("reading", "FROM", "read") } else { ("writing", "TO", "write") };
            let message = format!("could not open file \"{name}\" for {purpose}: {}", plain_words(&error));
            let hint = format!(
                "COPY {verb} instructs the PostgreSQL server process to {what} a file. You may want a client-side \
                 facility such as psql's \\copy."
            );
            let told = Error::new(code_of(&error), message);
            let may_be_the_clients = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
            if may_be_the_clients { told.hint(hint) } else { told }
        })?;
        if is_from && file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is a directory")));
        }
        self.file = Some(if is_from { OpenFile::Read(file) } else { OpenFile::Written(BufWriter::new(file)) });
        Ok(())
    }

    fn told(&mut self) -> Result<()> {
        match self.failure.take() {
            None => Ok(()),
            Some(error) => {
                let message = format!("could not write to COPY file: {}", plain_words(&error));
                Err(Error::new(code_of(&error), message))
            }
        }
    }
}

/// The SQLSTATE of what the system says about a file.
fn code_of(error: &std::io::Error) -> base::SqlState {
    match error.kind() {
        ErrorKind::NotFound => sqlstate::UNDEFINED_FILE,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => sqlstate::INSUFFICIENT_PRIVILEGE,
        ErrorKind::IsADirectory | ErrorKind::NotADirectory => sqlstate::WRONG_OBJECT_TYPE,
        ErrorKind::StorageFull => sqlstate::DISK_FULL,
        _ => sqlstate::IO_ERROR,
    }
}

/// Returns the operating system's message of an error, without the error number at its end.
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

    fn copy_in_response(&mut self, _format: Format, _column_count: usize) -> Result<()> {
        self.open()
    }

    fn copy_out_response(&mut self, _format: Format, _column_count: usize) -> Result<()> {
        self.open()
    }

    fn copy_data(&mut self, data: &[u8]) {
        if self.failure.is_none()
            && let Some(OpenFile::Written(file)) = &mut self.file
        {
            self.failure = file.write_all(data).err();
        }
    }

    fn copy_done(&mut self) -> Result<()> {
        self.told()?;
        match &mut self.file {
            Some(OpenFile::Written(file)) => file.flush().map_err(|error| {
                let message = format!("could not close file \"{}\": {}", self.name, plain_words(&error));
                Error::new(code_of(&error), message)
            }),
            _ => Ok(()),
        }
    }

    fn read_copy_data(&mut self) -> Result<Option<Vec<u8>>> {
        let mut data = vec![0; 65536];
        let Some(OpenFile::Read(file)) = &mut self.file else {
            return Err(Error::internal("COPY has begun without its file"));
        };
        let length = file.read(&mut data).map_err(|error| {
            Error::new(code_of(&error), format!("could not read from COPY file: {}", plain_words(&error)))
        })?;
        data.truncate(length);
        Ok((length > 0).then_some(data))
    }

    fn wants_relief(&self) -> bool {
        self.failure.is_some() || self.client.wants_relief()
    }

    fn relieve(&mut self) -> Result<()> {
        self.told()?;
        self.client.relieve()
    }
}
