//! `cohort.conf`: settings in the syntax of `postgresql.conf`.
//!
//! A line is `name = value`; the equals sign may be left out. Values are words or stand in single quotes. Inside the
//! quotes, a single quote is doubled or follows a backslash. `#` begins a comment. The last of several lines for one
//! setting counts. Settings of ALTER SYSTEM are kept beside this file in `cohort.auto.conf`, and override it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base::settings::{Id, ServerSettings, Source};
use base::{Error, Result, sqlstate};
use sql::KeptSetting;

/// The content of the file in a new data folder.
pub const TEMPLATE: &str = "\
# Settings of this Cohort database, in the syntax of postgresql.conf.
# What is commented out shows the default. Reload with SIGHUP or SELECT pg_reload_conf().

#port = 5432
#max_connections = 10000
#shared_buffers = 2GB           # a quarter of memory, from 128MB to 2GB, when not set
#synchronous_commit = on
#commit_delay = auto            # microseconds; auto: at most half a sync, nothing where syncs are short
#commit_siblings = 5
#group_commit = on
#checkpoint_timeout = 5min
#max_wal_size = 1GB
#metrics_listen = ''             # host:port for Prometheus to read from; none when empty
#dashboard_listen = ''           # host:port of a page that shows the server at work; has no password: keep to 127.0.0.1
#hba_rules = 'local all all trust; host all all 127.0.0.1/32 trust; host all all ::1/128 trust; host all all all scram-sha-256'
#ssl = off                       # needs ssl_cert_file and ssl_key_file: server.crt and server.key in this folder
#default_transaction_isolation = 'read committed'
";

/// The file's place in a data folder.
pub fn path(directory: &Path) -> PathBuf {
    directory.join("cohort.conf")
}

/// Writes the file of a new data folder, if there is none.
///
/// # Errors
/// When it can't be written.
pub fn create(directory: &Path) -> Result<()> {
    let path = path(directory);
    if path.exists() {
        return Ok(());
    }
    std::fs::write(&path, TEMPLATE)
        .map_err(|error| Error::io(format!("could not write \"{}\"", path.display()), &error))
}

/// Reads the entries of the file and of what ALTER SYSTEM has kept; none if there are no files.
///
/// # Errors
/// F0000 for a line that can't be read, with its number.
pub fn read(directory: &Path) -> Result<Vec<(String, String)>> {
    let mut entries = read_file(&path(directory))?;
    let kept = read_file(&kept_path(directory))?;
    entries.retain(|(name, _)| !kept.iter().any(|(over, _)| over.eq_ignore_ascii_case(name)));
    entries.extend(kept);
    Ok(entries)
}

/// Where ALTER SYSTEM keeps settings.
fn kept_path(directory: &Path) -> PathBuf {
    directory.join("cohort.auto.conf")
}

/// Carries out ALTER SYSTEM: writes a new file, which replaces the old one when it is durable. Only one call may run at a time.
///
/// # Errors
/// F0000 if the old file can't be read; 58030, 53100 when the new file can't be written.
pub fn keep(directory: &Path, setting: KeptSetting<'_>) -> Result<()> {
    let path = kept_path(directory);
    let mut entries = match setting {
        KeptSetting::ResetAll => Vec::new(),
        KeptSetting::Set(..) | KeptSetting::Reset(_) => read_file(&path)?,
    };
    if let KeptSetting::Set(changed, _) | KeptSetting::Reset(changed) = setting {
        entries.retain(|(name, _)| name != changed);
    }
    if let KeptSetting::Set(name, value) = setting {
        entries.push((name.to_owned(), value.to_owned()));
    }
    let mut text = "# Written by ALTER SYSTEM, which also undoes what it says here: ALTER SYSTEM RESET.\n".to_owned();
    for (name, value) in entries {
        let quoted = value.replace('\\', "\\\\").replace('\'', "''");
        writeln!(text, "{name} = '{quoted}'").expect("a String takes any text");
    }
    let new = path.with_extension("conf.new");
    let replace = || {
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, &path)?;
        File::open(directory)?.sync_all()
    };
    replace().map_err(|error| Error::io(format!("could not write \"{}\"", path.display()), &error))
}

/// The entries of one file.
fn read_file(path: &Path) -> Result<Vec<(String, String)>> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            parse(&text).map_err(|(line, error)| error.detail(format!("In file \"{}\", line {line}.", path.display())))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::io(format!("could not read \"{}\"", path.display()), &error)),
    }
}

/// Takes up the file at start.
///
/// # Errors
/// As [`read`], and errors of the settings.
pub fn apply(settings: &ServerSettings, directory: &Path) -> Result<()> {
    let file = path(directory);
    settings.set_preset(Id::ConfigFile, &std::path::absolute(&file).unwrap_or(file).to_string_lossy());
    for (name, value) in read(directory)? {
        settings.set_at_start(&name, &value, Source::ConfigurationFile)?;
    }
    Ok(())
}

fn parse(text: &str) -> std::result::Result<Vec<(String, String)>, (usize, Error)> {
    let mut entries: Vec<(String, String)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let parsed =
            parse_line(line).map_err(|message| (number + 1, Error::new(sqlstate::CONFIG_FILE_ERROR, message)))?;
        if let Some((name, value)) = parsed {
            entries.retain(|(earlier, _)| !earlier.eq_ignore_ascii_case(&name));
            entries.push((name, value));
        }
    }
    Ok(entries)
}

fn parse_line(line: &str) -> std::result::Result<Option<(String, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let name_end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(line.len());
    let (name, rest) = line.split_at(name_end);
    if name.is_empty() {
        return Err(format!("syntax error near \"{line}\""));
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let (value, after) = match rest.strip_prefix('\'') {
        Some(quoted) => read_quoted(quoted).ok_or_else(|| format!("unterminated quoted value of \"{name}\""))?,
        None => {
            let end = rest.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(rest.len());
            (rest[..end].to_owned(), &rest[end..])
        }
    };
    let after = after.trim_start();
    if value.is_empty() && !rest.starts_with('\'') {
        return Err(format!("setting \"{name}\" has no value"));
    }
    if !after.is_empty() && !after.starts_with('#') {
        return Err(format!("syntax error near \"{after}\""));
    }
    Ok(Some((name.to_owned(), value)))
}

/// Reads up to the closing quote: the value, and what comes after it.
fn read_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' => {
                if characters.next_if(|(_, next)| *next == '\'').is_none() {
                    return Some((value, &text[at + 1..]));
                }
                value.push('\'');
            }
            '\\' => value.extend(characters.next().map(|(_, escaped)| match escaped {
                'n' => '\n',
                't' => '\t',
                other => other,
            })),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap()
    }

    fn entry(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn lines_are_read_as_postgresql_reads_them() {
        let text = "# c\n\nport=5 # five\nwork_mem '8MB'\nmy.x = 'it''s \\'q\\''\nport = 6\n";
        assert_eq!(entries(text), [entry("work_mem", "8MB"), entry("my.x", "it's 'q'"), entry("port", "6")]);
        assert_eq!(entries("search_path = ''"), [entry("search_path", "")]);
        assert!(entries(TEMPLATE).is_empty());
    }

    #[test]
    fn what_is_kept_goes_before_the_file_until_it_is_reset() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path();
        std::fs::write(path(directory), "WORK_MEM = 8MB\nport = 6\n").unwrap();
        let odd = "it's \\ 'odd' # \t";
        keep(directory, KeptSetting::Set("work_mem", "9MB")).unwrap();
        keep(directory, KeptSetting::Set("search_path", odd)).unwrap();
        keep(directory, KeptSetting::Set("work_mem", "10MB")).unwrap();
        assert_eq!(
            read(directory).unwrap(),
            [entry("port", "6"), entry("search_path", odd), entry("work_mem", "10MB")]
        );
        keep(directory, KeptSetting::Reset("search_path")).unwrap();
        assert_eq!(read(directory).unwrap(), [entry("port", "6"), entry("work_mem", "10MB")]);
        keep(directory, KeptSetting::ResetAll).unwrap();
        assert_eq!(read(directory).unwrap(), [entry("WORK_MEM", "8MB"), entry("port", "6")]);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        for (text, line) in [("port = 1\nwork_mem", 2), ("x = 'open", 1), ("= 3", 1), ("port = 5 6", 1)] {
            assert_eq!(parse(text).unwrap_err().0, line, "{text}");
        }
    }
}
