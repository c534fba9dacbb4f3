//! Log files: their names, and when a new one is begun.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use base::report::{Destinations, LogForm};
use base::settings::{Id, ServerSettings};
use base::{Error, Result, sqlstate};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::writer::{Lines, write_to_stderr};

/// The end of the names of files of a form.
fn suffix(form: LogForm) -> &'static str {
    match form {
        LogForm::Text => ".log",
        LogForm::Csv => ".csv",
        LogForm::Json => ".json",
    }
}

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
    ///
    /// # Errors
    /// 42501 for files outside of the data folder while the server runs as root, unless `allow_server_files_as_root` is on. Superusers of
    /// the database choose the folder, the name and much of the text: with them they would write any file of the system.
    pub(super) fn new(settings: &ServerSettings, directory: &Path) -> Result<FileSettings> {
        let text = |id: Id| settings.get(id).as_text().to_string();
        let integer = |id: Id| settings.get(id).as_integer().unwrap_or_default();
        let (folder_name, name_pattern) = (text(Id::LogDirectory), text(Id::LogFilename));
        let may_be_anywhere =
            !rustix::process::geteuid().is_root() || settings.get(Id::AllowServerFilesAsRoot).as_bool();
        if !may_be_anywhere && !is_inside(&folder_name, &name_pattern) {
            let message = "log files outside of the data folder cannot be written while the server runs as root";
            return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message)
                .hint("Start the server as another user, or with allow_server_files_as_root = on."));
        }
        Ok(FileSettings {
            directory: directory.to_owned(),
            folder: directory.join(&folder_name),
            folder_name,
            name_pattern,
            mode: integer(Id::LogFileMode) as u32,
            age_minutes: integer(Id::LogRotationAge),
            size_bytes: integer(Id::LogRotationSize) as u64 * 1024,
            truncates: settings.get(Id::LogTruncateOnRotation).as_bool(),
            destinations: Destinations::parse(&text(Id::LogDestination)).unwrap_or_default(),
            time_zone: TimeZone::get(&text(Id::LogTimezone)).unwrap_or(TimeZone::UTC),
        })
    }

    /// The name of a file of this form that is begun at this moment.
    fn name(&self, at: Timestamp, form: LogForm) -> String {
        let name = at.to_zoned(self.time_zone.clone()).strftime(&self.name_pattern).to_string();
        if form == LogForm::Text {
            return name;
        }
        format!("{}{}", name.strip_suffix(".log").unwrap_or(&name), suffix(form))
    }

    /// Whether files of this form are written. The plain ones always are: the number of lost messages goes there in any case.
    fn wants(&self, form: LogForm) -> bool {
        form == LogForm::Text || self.destinations.has(form)
    }
}

/// Whether files of this folder and name lie in the data folder.
fn is_inside(folder_name: &str, name_pattern: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    Path::new(folder_name).components().all(is_plain) && !name_pattern.contains('/')
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

    /// The files of the forms in `log_destination`, as `pg_current_logfile` tells of them.
    pub(super) fn current(&self) -> Vec<(LogForm, String)> {
        let wanted = LogForm::ALL.into_iter().zip(&self.open).filter(|(form, _)| self.settings.destinations.has(*form));
        wanted.filter_map(|(form, open)| Some((form, self.shown_path(&open.as_ref()?.name)))).collect()
    }

    fn shown_path(&self, name: &str) -> String {
        Path::new(&self.settings.folder_name).join(name).display().to_string()
    }

    /// Writes by other settings from now on.
    pub(super) fn take_up(&mut self, settings: FileSettings) {
        let is_elsewhere = settings.folder != self.settings.folder
            || settings.name_pattern != self.settings.name_pattern
            || settings.destinations != self.settings.destinations;
        self.settings = settings;
        if is_elsewhere {
            self.rotate();
        } else {
            self.plan_next(Timestamp::now());
        }
    }

    /// Begins new files.
    pub(super) fn rotate(&mut self) {
        self.begin_or_tell(Timestamp::now(), false);
    }

    /// Begins new files if these are old enough.
    pub(super) fn rotate_if_old(&mut self) {
        let now = Timestamp::now();
        if self.next_at.is_some_and(|at| now.as_second() >= at) {
            self.begin_or_tell(now, true);
        }
    }

    /// Writes a message to each file that is to have it.
    pub(super) fn write(&mut self, lines: &Lines) {
        let limit = self.settings.size_bytes;
        if limit > 0 && self.open.iter().flatten().any(|open| open.size_bytes >= limit) {
            self.begin_or_tell(Timestamp::now(), false);
        }
        for (open, bytes) in self.open.iter_mut().zip(&lines.0) {
            if let (Some(open), Some(bytes)) = (open, bytes) {
                match open.file.write_all(bytes) {
                    Ok(()) => open.size_bytes += bytes.len() as u64,
                    // The disk may be full, and stderr may go elsewhere.
                    Err(error) => {
                        write_to_stderr(Some(format!("LOG:  could not write to log file: {error}\n").as_bytes()));
                        write_to_stderr(Some(bytes));
                    }
                }
            }
        }
    }

    fn begin_or_tell(&mut self, now: Timestamp, by_age: bool) {
        if let Err(error) = self.begin(now, by_age) {
            // The old files go on.
            let text = format!("LOG:  {}\n", error.message());
            write_to_stderr(Some(text.as_bytes()));
            self.plan_next(now);
        }
    }

    fn begin(&mut self, now: Timestamp, by_age: bool) -> Result<()> {
        let settings = &self.settings;
        let folder = &settings.folder;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| Error::io(format!("could not create log directory \"{}\"", folder.display()), &error))?;
        let mut begun = [None, None, None];
        for form in LogForm::ALL.into_iter().filter(|form| settings.wants(*form)) {
            let name = settings.name(now, form);
            let path = folder.join(&name);
            let is_other = self.open[form as usize].as_ref().is_none_or(|open| open.name != name);
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
            begun[form as usize] = Some(Open { file, name, size_bytes });
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

    /// Writes `current_logfiles`, which tools read. Without a destination there is no such file.
    fn write_list(&self) {
        let list: String = self.current().iter().map(|(form, path)| format!("{} {path}\n", form.name())).collect();
        let path = self.settings.directory.join("current_logfiles");
        let new = path.with_extension("tmp");
        let done = match list.is_empty() {
            true => std::fs::remove_file(&path).or_else(|error| match error.kind() {
                ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            }),
            false => std::fs::write(&new, list).and_then(|()| std::fs::rename(&new, &path)),
        };
        if let Err(error) = done {
            let text = format!("LOG:  could not write file \"{}\": {error}\n", path.display());
            write_to_stderr(Some(text.as_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use base::settings::Source;

    use super::*;

    fn settings(folder: &Path, changes: &[(&str, &str)]) -> FileSettings {
        let settings = ServerSettings::new();
        for (name, value) in changes {
            settings.set_at_start(name, value, Source::CommandLine).unwrap();
        }
        FileSettings::new(&settings, folder).unwrap()
    }

    /// The log files with their texts.
    fn found(folder: &Path) -> BTreeMap<String, String> {
        let entries = std::fs::read_dir(folder.join("log")).unwrap().map(|entry| entry.unwrap());
        let text = |path| std::fs::read_to_string(path).unwrap();
        entries.map(|entry| (entry.file_name().into_string().unwrap(), text(entry.path()))).collect()
    }

    fn write(files: &mut Files, text: &str) {
        files.write(&Lines([Some(text.into()), Some(text.to_uppercase().into()), None]));
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn names_with_folders_above_lead_out_of_the_data_folder() {
        for (folder, name, expected) in [
            ("log", "a.log", true),
            ("./my logs/a", "%Y.log", true),
            ("/var/log", "a.log", false),
            ("log/../..", "a.log", false),
            ("log", "../a.log", false),
            ("log", "/etc/a.log", false),
        ] {
            assert_eq!(is_inside(folder, name), expected, "{folder} {name}");
        }
    }

    #[test]
    fn a_file_that_has_reached_its_size_is_followed_by_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path(), &[("log_rotation_size", "1kB"), ("log_filename", "%s.log")]);
        let mut files = Files::open(settings).unwrap();
        // As if it had been begun a while ago.
        files.begin(second(1), false).unwrap();
        let long = "x".repeat(1024);
        for text in ["first", &long, "second"] {
            write(&mut files, text);
        }
        let mut found = found(folder.path());
        found.retain(|_, text| !text.is_empty());
        assert_eq!(found.remove("1.log"), Some(format!("first{long}")));
        assert_eq!(found.into_values().collect::<Vec<_>>(), ["second"]);
    }

    #[test]
    fn files_by_age_begin_at_multiples_of_it_and_truncate_the_ones_of_their_name() {
        let folder = tempfile::tempdir().unwrap();
        for (truncates, expected) in [("off", "old new"), ("on", "new")] {
            let changes = [
                ("log_rotation_age", "2h"),
                ("log_filename", "%H.log"),
                ("log_truncate_on_rotation", truncates),
                ("log_timezone", "Asia/Kolkata"),
            ];
            let mut files = Files::open(settings(folder.path(), &changes)).unwrap();
            // In Kolkata it is 05:31.
            files.begin(second(60), false).unwrap();
            assert_eq!(files.next_at, Some(1800), "at 06:00 there");
            std::fs::write(folder.path().join("log/06.log"), "old ").unwrap();
            files.begin_or_tell(second(1800), true);
            write(&mut files, "new");
            assert_eq!(found(folder.path())["06.log"], expected);
            // The same file goes on.
            files.begin_or_tell(second(1801), true);
            assert_eq!(found(folder.path())["06.log"], expected);
            // Only age truncates.
            files.begin_or_tell(second(60), false);
            files.begin_or_tell(second(1800), false);
            assert_eq!(found(folder.path())["06.log"], expected);
        }
    }

    #[test]
    fn the_list_has_the_files_of_log_destination_only() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("current_logfiles");
        let with =
            |destination| settings(folder.path(), &[("log_destination", destination), ("log_filename", "a.log")]);
        let mut files = Files::open(with("jsonlog,csvlog")).unwrap();
        assert_eq!(std::fs::read_to_string(&list).unwrap(), "csvlog log/a.csv\njsonlog log/a.json\n");
        files.take_up(with("stderr"));
        assert_eq!(std::fs::read_to_string(&list).unwrap(), "stderr log/a.log\n");
        files.take_up(with(""));
        assert!(!list.exists());
    }
}
