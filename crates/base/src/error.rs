//! The error every crate returns: what a client is told.

use std::fmt;
use std::panic::Location;

use crate::sqlstate::{self, SqlState};

/// The numbers of "too many open files": in the process, and in the system. The same wherever this runs; the standard library has
/// no kind for them.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error as PostgreSQL words one: SQLSTATE, message, and what goes with them.
///
/// One pointer wide, so that `Result<T, Error>` stays small on the paths where nothing fails.
#[derive(Clone)]
pub struct Error(Box<ErrorFields>);

/// The contents of an [`Error`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorFields {
    /// The five-character code.
    pub sqlstate: SqlState,
    /// The primary message: one line, lower case, no full stop.
    pub message: String,
    /// The exact fault, in whole sentences.
    pub detail: Option<String>,
    /// Advice on removing the fault, in whole sentences.
    pub hint: Option<String>,
    /// Where in the statement, in characters from 1.
    pub position: Option<u32>,
    /// Position within [`ErrorFields::internal_query`].
    pub internal_position: Option<u32>,
    /// The statement run by a function in which the error lies.
    pub internal_query: Option<String>,
    /// The call stack, innermost first, one line each.
    pub context: Option<String>,
    /// Schema of the object concerned.
    pub schema: Option<String>,
    /// Table concerned.
    pub table: Option<String>,
    /// Column concerned.
    pub column: Option<String>,
    /// Data type concerned.
    pub data_type: Option<String>,
    /// Constraint concerned.
    pub constraint: Option<String>,
    /// PostgreSQL's name for the routine that raises it, where clients tell errors apart by that.
    pub routine: Option<&'static str>,
    /// Ends the session: severity FATAL instead of ERROR.
    pub fatal: bool,
    /// A DETAIL for the server's log, which the client is not told.
    pub detail_for_log: Option<String>,
    /// Where it was made.
    pub origin: Origin,
}

/// The place in the source where an error was made. Equality of errors ignores it.
#[derive(Clone, Copy, Debug)]
pub struct Origin(&'static Location<'static>);

impl Origin {
    /// The source file, from the root of the project.
    pub fn file(self) -> &'static str {
        self.0.file()
    }

    /// The line in it, from 1.
    pub fn line(self) -> u32 {
        self.0.line()
    }
}

impl Default for Origin {
    #[track_caller]
    fn default() -> Origin {
        Origin(Location::caller())
    }
}

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Eq for Origin {}

impl Error {
    /// An error with this code and message.
    #[cold]
    #[track_caller]
    pub fn new(sqlstate: SqlState, message: impl Into<String>) -> Error {
        let origin = Origin(Location::caller());
        Error(Box::new(ErrorFields { sqlstate, message: message.into(), origin, ..ErrorFields::default() }))
    }

    /// An internal error (XX000): a state that should not be.
    #[cold]
    #[track_caller]
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(sqlstate::INTERNAL_ERROR, message)
    }

    /// Damaged data (XX001).
    #[cold]
    #[track_caller]
    pub fn corrupted(message: impl Into<String>) -> Error {
        Error::new(sqlstate::DATA_CORRUPTED, message)
    }

    /// 54000 for a text or a message of `bytes` that would become too long by `more_bytes` more.
    #[cold]
    #[track_caller]
    pub fn buffer_too_long(bytes: usize, more_bytes: usize) -> Self {
        let detail = format!("Cannot enlarge string buffer containing {bytes} bytes by {more_bytes} more bytes.");
        Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "out of memory").detail(detail)
    }

    /// A feature that is left out aloud (0A000).
    #[cold]
    #[track_caller]
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
    }

    /// An input or output error on `what`, with the SQLSTATE PostgreSQL uses for its kind.
    #[cold]
    #[track_caller]
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Error {
        use std::io::ErrorKind;
        let sqlstate = match error.kind() {
            ErrorKind::NotFound => sqlstate::UNDEFINED_FILE,
            ErrorKind::AlreadyExists => sqlstate::DUPLICATE_FILE,
            ErrorKind::PermissionDenied => sqlstate::INSUFFICIENT_PRIVILEGE,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => sqlstate::DISK_FULL,
            _ if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => sqlstate::INSUFFICIENT_RESOURCES,
            _ => sqlstate::IO_ERROR,
        };
        Error::new(sqlstate, format!("{what}: {error}"))
    }

    /// With a DETAIL.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Error {
        self.0.detail = Some(detail.into());
        self
    }

    /// With a DETAIL that only the server's log shows.
    #[must_use]
    pub fn detail_for_log(mut self, detail: impl Into<String>) -> Error {
        self.0.detail_for_log = Some(detail.into());
        self
    }

    /// With a HINT.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// With a position in the statement, in characters from 1; an earlier one is kept.
    #[must_use]
    pub fn at(mut self, position: u32) -> Error {
        self.0.position.get_or_insert(position);
        self
    }

    /// For a text that follows so many other characters: its position moves by as many.
    #[must_use]
    pub fn moved(mut self, characters: u32) -> Error {
        self.0.position = self.0.position.map(|position| position.saturating_add(characters));
        self
    }

    /// With a line added at the end of the call stack.
    #[must_use]
    pub fn context(mut self, line: impl AsRef<str>) -> Error {
        match &mut self.0.context {
            Some(context) => {
                context.push('\n');
                context.push_str(line.as_ref());
            }
            empty => *empty = Some(line.as_ref().to_owned()),
        }
        self
    }

    /// With the constraint that was violated and the table it belongs to.
    #[must_use]
    pub fn constraint(mut self, schema: &str, table: &str, constraint: &str) -> Error {
        self.0.schema = Some(schema.to_owned());
        self.0.table = Some(table.to_owned());
        self.0.constraint = Some(constraint.to_owned());
        self
    }

    /// With the routine by which clients know it among others of its SQLSTATE.
    #[must_use]
    pub fn routine(mut self, name: &'static str) -> Error {
        self.0.routine = Some(name);
        self
    }

    /// With severity FATAL: the session ends after it.
    #[must_use]
    pub fn fatal(mut self) -> Error {
        self.0.fatal = true;
        self
    }

    /// The five-character code.
    pub fn sqlstate(&self) -> SqlState {
        self.0.sqlstate
    }

    /// The primary message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// All that it says.
    pub fn fields(&self) -> &ErrorFields {
        &self.0
    }

    /// All that it says, to be changed.
    pub fn fields_mut(&mut self) -> &mut ErrorFields {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.0.message, self.0.sqlstate)?;
        for (label, text) in [("DETAIL", &self.0.detail), ("HINT", &self.0.hint), ("CONTEXT", &self.0.context)] {
            if let Some(text) = text {
                write!(f, "\n{label}:  {text}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
