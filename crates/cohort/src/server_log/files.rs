//! Log files: their names, and when a new one is begun.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base::report::Destinations;
use base::settings::{Id, ServerSettings};
use base::{Error, Result};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::writer::{Lines, write_to_stderr};

/// The forms, their suffixes, and whether each is wanted.
const FORMS: [(&str, &str); 3] = [("stderr", ".log"), ("csvlog", ".csv"), ("jsonlog", ".json")];

/// The settings of log files.
#[derive(Clone)]
pub(super) struct FileSettings {
    /// The data folder.
    directory: PathBuf,
    /// Where log files are.
    pub folder: PathBuf,
    /// `log_directory` as it was given.
    folder_name: String,
    name_pattern: String,
    mode: u32,
    age_minutes: i64,
    size_bytes: u64,
    truncates: bool,
    destinations: Destinations,
    time_zone: TimeZone,
}

impl FileSettings {
    /// The settings as they are now.
    pub(super) fn new(settings: &ServerSettings, directory: &Path) -> FileSettings {
        let text = |id: Id| settings.get(id).as_text().to_string();
        let integer = |id: Id| settings.get(id).as_integer().unwrap_or_default();
        let folder_name = text(Id::LogDirectory);
        FileSettings {
            directory: directory.to_owned(),
            folder: directory.join(&folder_name),
            folder_name,
            name_pattern: text(Id::LogFilename),
            mode: integer(Id::LogFileMode) as u32,
            age_minutes: integer(Id::LogRotationAge),
            size_bytes: integer(Id::LogRotationSize) as u64 * 1024,
            truncates: settings.get(Id::LogTruncateOnRotation).as_bool(),
            destinations: Destinations::parse(&text(Id::LogDestination)).unwrap_or_default(),
            time_zone: TimeZone::get(&text(Id::LogTimezone)).unwrap_or(TimeZone::UTC),
        }
    }

    /// The name of a file that is begun at this moment, with the suffix of its form.
    fn name(&self, at: Timestamp, suffix: &str) -> String {
        let name = at.to_zoned(self.time_zone.clone()).strftime(&self.name_pattern).to_string();
        if suffix == ".log" {
            return name;
        }
        format!("{}{suffix}", name.strip_suffix(".log").unwrap_or(&name))
    }

    /// Which forms are written. The plain one always is: what can't be written elsewhere goes there.
    fn wants(&self) -> [bool; 3] {
        [true, self.destinations.csv, self.destinations.json]
    }
}

/// A file that is written.
struct Open {
    file: File,
    name: String,
    size_bytes: u64,
}

/// The files that are written.
pub(super) struct Files {
    settings: FileSettings,
    open: [Option<Open>; 3],
    /// When the next ones are begun, if they are begun by their age: seconds since 1970.
    next_at: Option<i64>,
}

impl Files {
    /// Begins files.
    ///
    /// # Errors
    /// When they can't be made.
    pub(super) fn open(settings: FileSettings) -> Result<Files> {
        let mut files = Files { settings, open: [None, None, None], next_at: None };
        files.begin(Timestamp::now(), false)?;
        Ok(files)
    }

    /// The files by their form, as `pg_current_logfile` tells of them.
    pub(super) fn current(&self) -> Vec<(&'static str, String)> {
        let named = FORMS.iter().zip(&self.open);
        named.filter_map(|((form, _), open)| Some((*form, self.shown_path(&open.as_ref()?.name)))).collect()
    }

    fn shown_path(&self, name: &str) -> String {
        Path::new(&self.settings.folder_name).join(name).display().to_string()
    }

    /// Writes by other settings from now on.
    pub(super) fn take_up(&mut self, settings: FileSettings) {
        let is_elsewhere = settings.folder != self.settings.folder
            || settings.name_pattern != self.settings.name_pattern
            || settings.wants() != self.settings.wants();
        self.settings = settings;
        if is_elsewhere {
            self.rotate();
        } else {
            self.plan_next(Timestamp::now());
        }
    }

    /// Begins new files.
    pub(super) fn rotate(&mut self) {
        self.begin_or_tell(false);
    }

    /// Begins new files if these are old enough.
    pub(super) fn rotate_if_old(&mut self) {
        if self.next_at.is_some_and(|at| Timestamp::now().as_second() >= at) {
            self.begin_or_tell(true);
        }
    }

    /// Writes a message to each file that is to have it.
    pub(super) fn write(&mut self, lines: &Lines) {
        let limit = self.settings.size_bytes;
        if limit > 0 && self.open.iter().flatten().any(|open| open.size_bytes >= limit) {
            self.begin_or_tell(false);
        }
        for (open, bytes) in self.open.iter_mut().zip([&lines.text, &lines.csv, &lines.json]) {
            if let (Some(open), Some(bytes)) = (open, bytes) {
                match open.file.write_all(bytes) {
                    Ok(()) => open.size_bytes += bytes.len() as u64,
                    // The disk may be full; whoever looks at stderr sees it at least there.
                    Err(error) => {
                        write_to_stderr(Some(format!("LOG:  could not write to log file: {error}\n").as_bytes()));
                        write_to_stderr(Some(bytes));
                    }
                }
            }
        }
    }

    fn begin_or_tell(&mut self, by_age: bool) {
        if let Err(error) = self.begin(Timestamp::now(), by_age) {
            // The old files go on.
            let text = format!("LOG:  {}\n", error.message());
            write_to_stderr(Some(text.as_bytes()));
            self.plan_next(Timestamp::now());
        }
    }

    fn begin(&mut self, now: Timestamp, by_age: bool) -> Result<()> {
        let settings = &self.settings;
        let folder = &settings.folder;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| Error::io(format!("could not create log directory \"{}\"", folder.display()), &error))?;
        let mut begun = [None, None, None];
        for (place, (_, suffix)) in FORMS.iter().enumerate() {
            if !settings.wants()[place] {
                continue;
            }
            let name = settings.name(now, suffix);
            let path = folder.join(&name);
            let is_other = self.open[place].as_ref().is_none_or(|open| open.name != name);
            let truncates = settings.truncates && by_age && is_other;
            let file = OpenOptions::new()
                .create(true)
                .append(!truncates)
                .write(true)
                .truncate(truncates)
                .mode(settings.mode)
                .open(&path);
            let file =
                file.map_err(|error| Error::io(format!("could not open log file \"{}\"", path.display()), &error))?;
            // A file of that name may have been left by an earlier start.
            let size_bytes = file.metadata().map_or(0, |metadata| metadata.len());
            begun[place] = Some(Open { file, name, size_bytes });
        }
        self.open = begun;
        self.plan_next(now);
        self.write_list();
        Ok(())
    }

    /// New files by age are begun at whole multiples of it, in local time.
    fn plan_next(&mut self, now: Timestamp) {
        let age = self.settings.age_minutes * 60;
        self.next_at = (age > 0).then(|| {
            let offset = i64::from(now.to_zoned(self.settings.time_zone.clone()).offset().seconds());
            let local = now.as_second() + offset;
            local - local.rem_euclid(age) + age - offset
        });
    }

    /// `current_logfiles`, which tools read.
    fn write_list(&self) {
        let list: String = self.current().iter().map(|(form, path)| format!("{form} {path}\n")).collect();
        let path = self.settings.directory.join("current_logfiles");
        let new = path.with_extension("tmp");
        if let Err(error) = std::fs::write(&new, list).and_then(|()| std::fs::rename(&new, &path)) {
            let text = format!("LOG:  could not write file \"{}\": {error}\n", path.display());
            write_to_stderr(Some(text.as_bytes()));
        }
    }
}
