//! The server's log: the reports of sessions and of the library crates, written as PostgreSQL's settings say.
//!
//! [`ServerLog`] makes lines of messages where they arise, and puts them into a bounded queue. A thread of its own writes them
//! ([`writer`]), so no session waits for a slow terminal or disk: a message that finds the queue full is counted and dropped, and the log
//! says how many were. [`text`] makes the plain form, [`structured`] CSV and JSON, [`files`] names and turns over log files.

mod files;
mod prefix;
mod structured;
mod text;
mod writer;

use base::settings::words::Verbosity;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, Weak};
use std::time::Duration;

use base::report::{Destinations, Facts, Level, LogForm, Report, Reporter};
use base::settings::{Id, ServerSettings};
use base::{Error, ErrorFields, Result, sqlstate};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use log::kv::Key;
use sql::Instance;
use sync::{Arc, Mutex};

use files::FileSettings;
use writer::Writer;

/// How long the end of the process waits for messages to be written.
const LAST_WRITE_TIME: Duration = Duration::from_secs(2);

/// The settings of the log in the form in which messages are made.
struct Format {
    generation: u64,
    prefix: String,
    time_zone: TimeZone,
    verbosity: Verbosity,
    destinations: Destinations,
    least: Level,
}

/// A message, the moment at which it arose, and the server's process.
struct Entry<'a> {
    report: &'a Report<'a>,
    now: Timestamp,
    process: &'a Process,
}

/// The identity of the server's own threads in the log.
struct Process {
    pid: u32,
    started_at: Timestamp,
    /// How many lines the log has of them, in each of [`LogForm::ALL`].
    lines: [AtomicU64; 3],
}

/// See the module.
pub struct ServerLog {
    settings: Arc<ServerSettings>,
    /// A leaf; held for a copy.
    format: Mutex<Arc<Format>>,
    process: Process,
    writer: Writer,
    /// Knows the sessions that libraries report about.
    instance: OnceLock<Weak<Instance>>,
}

impl ServerLog {
    /// Begins to write the log of a server to stderr, the messages of library crates included, which come through the `log` crate.
    ///
    /// # Errors
    /// When there is a logger already.
    pub fn start(settings: &Arc<ServerSettings>) -> Result<Arc<ServerLog>> {
        let log = Arc::new(ServerLog {
            settings: Arc::clone(settings),
            format: Mutex::new(Arc::new(Format::new(settings))),
            process: Process { pid: std::process::id(), started_at: Timestamp::now(), lines: Default::default() },
            writer: Writer::start()?,
            instance: OnceLock::new(),
        });
        log::set_logger(Box::leak(Box::new(LibraryLog(Arc::clone(&log)))))
            .map_err(|error| Error::internal(format!("the log can't be written: {error}")))?;
        log::set_max_level(log.format().most_detailed());
        Ok(log)
    }

    /// Writes to files from now on if `logging_collector` is on. To be called when the data folder is there: they lie in it.
    ///
    /// # Errors
    /// When a log file can't be opened.
    pub fn collect(&self, directory: &Path) -> Result<()> {
        if !self.settings.get(Id::LoggingCollector).as_bool() {
            return Ok(());
        }
        let files = FileSettings::new(&self.settings, directory)?;
        log::info!("redirecting log output to files in \"{}\"", files.folder.display());
        self.flush();
        self.writer.collect(files)
    }

    fn collects(&self) -> bool {
        self.writer.folder().is_some()
    }

    /// Messages about sessions of this instance say which they are about. It reports to this log from now on.
    pub fn serve(self: &Arc<Self>, instance: &Arc<Instance>) {
        instance.set_reporter(Arc::clone(self) as Arc<dyn Reporter>);
        let _ = self.instance.set(Arc::downgrade(instance));
    }

    /// Writes a message of a library crate, which may name a session by its number.
    fn write_library_message(&self, report: Report<'_>, pid: Option<i64>, format: &Format) {
        let instance = self.instance.get().and_then(Weak::upgrade);
        let info = pid.and_then(|pid| instance?.session(i32::try_from(pid).ok()?));
        let Some(info) = info else { return self.write(&report, format) };
        let (application_name, query) = (info.application_name(), info.query());
        let session = Facts {
            identity: &info.identity,
            user: Some(&info.user),
            database: Some(&info.database),
            application_name: &application_name,
            activity: "waiting",
            virtual_transaction: "",
            transaction: 0,
        };
        self.write(&Report { session: Some(session), statement: Some(&query), ..report }, format);
    }

    /// Takes up the settings as they are now.
    pub fn reload(&self, directory: &Path) {
        if self.collects() {
            match FileSettings::new(&self.settings, directory) {
                Ok(files) => self.writer.reload(files),
                Err(error) => log::error!("the log goes on in the same files: {error}"),
            }
        }
    }

    /// Waits for all reported messages to be written, but not for long.
    pub fn flush(&self) {
        self.writer.flush(LAST_WRITE_TIME);
    }

    fn format(&self) -> Arc<Format> {
        let mut format = self.format.lock();
        if format.generation != self.settings.generation() {
            *format = Arc::new(Format::new(&self.settings));
            log::set_max_level(format.most_detailed());
        }
        Arc::clone(&format)
    }

    fn write(&self, report: &Report<'_>, format: &Format) {
        let entry = Entry { report, now: Timestamp::now(), process: &self.process };
        let (has_files, destinations) = (self.collects(), format.destinations);
        let lines = LogForm::ALL.map(|form| match form {
            // As in PostgreSQL, CSV and JSON are written to files only; without these there is the plain text.
            LogForm::Text => {
                let is_wanted = destinations.has(form) || !has_files && destinations != Destinations::default();
                is_wanted.then(|| text::lines(&entry, format))
            }
            LogForm::Csv => (has_files && destinations.has(form)).then(|| structured::csv(&entry, format)),
            LogForm::Json => (has_files && destinations.has(form)).then(|| structured::json(&entry, format)),
        });
        self.writer.push(writer::Lines(lines), |lost| {
            let message = format!("{lost} messages were lost, because the log could not be written fast enough");
            let fields = Error::new(sqlstate::SUCCESSFUL_COMPLETION, message).fields().clone();
            let report = Report { level: Level::Log, fields: &fields, statement: None, session: None };
            text::lines(&Entry { report: &report, now: Timestamp::now(), process: &self.process }, format)
        });
    }
}

impl Format {
    /// The most detailed messages that libraries are to make.
    fn most_detailed(&self) -> log::LevelFilter {
        match self.least {
            Level::Debug5 | Level::Debug4 | Level::Debug3 | Level::Debug2 => log::LevelFilter::Trace,
            Level::Debug1 => log::LevelFilter::Debug,
            _ => log::LevelFilter::Info,
        }
    }

    fn new(settings: &ServerSettings) -> Format {
        let text = |id: Id| settings.get(id).as_text().to_string();
        Format {
            generation: settings.generation(),
            prefix: text(Id::LogLinePrefix),
            time_zone: TimeZone::get(&text(Id::LogTimezone)).unwrap_or(TimeZone::UTC),
            verbosity: settings.get(Id::LogErrorVerbosity).word(),
            destinations: Destinations::parse(&text(Id::LogDestination)).unwrap_or_default(),
            least: settings.get(Id::LogMinMessages).word(),
        }
    }
}

impl Reporter for ServerLog {
    fn report(&self, report: &Report<'_>) {
        self.write(report, &self.format());
    }

    fn rotate(&self) -> bool {
        if self.collects() {
            self.writer.rotate();
        }
        self.collects()
    }

    fn current_file(&self, form: Option<LogForm>) -> Option<String> {
        self.writer.current_file(form)
    }
}

/// The receiver of messages that come through the `log` crate.
struct LibraryLog(Arc<ServerLog>);

impl log::Log for LibraryLog {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        level_of(metadata.level(), None) >= self.0.format().least
    }

    fn log(&self, record: &log::Record<'_>) {
        let pairs = record.key_values();
        let severity = pairs.get(Key::from("severity"));
        let severity = severity.as_ref().and_then(log::kv::Value::to_borrowed_str);
        let (level, format) = (level_of(record.level(), severity), self.0.format());
        if level < format.least {
            return;
        }
        let fields = ErrorFields {
            sqlstate: match level {
                Level::Warning => sqlstate::WARNING,
                Level::Error | Level::Panic => sqlstate::INTERNAL_ERROR,
                _ => sqlstate::SUCCESSFUL_COMPLETION,
            },
            message: record.args().to_string(),
            detail: pairs.get(Key::from("detail")).map(|detail| detail.to_string()).filter(|detail| !detail.is_empty()),
            ..ErrorFields::default()
        };
        let pid = pairs.get(Key::from("pid")).and_then(|pid| pid.to_i64());
        let report = Report { level, fields: &fields, statement: None, session: None };
        self.0.write_library_message(report, pid, &format);
    }

    fn flush(&self) {
        self.0.flush();
    }
}

/// The level of a message of the `log` crate, which may say so itself.
fn level_of(level: log::Level, severity: Option<&str>) -> Level {
    match (severity, level) {
        (Some("PANIC"), _) => Level::Panic,
        (_, log::Level::Error) => Level::Error,
        (_, log::Level::Warn) => Level::Warning,
        (_, log::Level::Info) => Level::Log,
        (_, log::Level::Debug) => Level::Debug1,
        (_, log::Level::Trace) => Level::Debug5,
    }
}

/// The moment so many microseconds after 2000-01-01.
fn moment(micros: i64) -> Timestamp {
    const EPOCH_MICROS: i64 = 946_684_800_000_000;
    Timestamp::from_microsecond(micros.saturating_add(EPOCH_MICROS)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Counts a line of one form, and gives its number.
fn next_line(entry: &Entry<'_>, form: LogForm) -> u64 {
    let lines = match &entry.report.session {
        Some(session) => &session.identity.lines,
        None => &entry.process.lines,
    };
    lines[form as usize].fetch_add(1, Ordering::Relaxed) + 1
}
