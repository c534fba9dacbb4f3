//! The thread that writes the log, and the queue in front of it.

use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use base::report::LogForm;
use base::{Error, Result};
use sync::{Arc, Condvar, Mutex};

use super::files::{FileSettings, Files};

/// So much may wait to be written.
const QUEUE_BYTES_MAX: usize = 16 << 20;
/// How often files are looked at for their age.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A message in the forms in which it is wanted.
pub(super) struct Lines(pub [Option<Vec<u8>>; LogForm::ALL.len()]);

impl Lines {
    fn of_text(text: Vec<u8>) -> Lines {
        Lines([Some(text), None, None])
    }

    fn text(&self) -> Option<&[u8]> {
        self.0[LogForm::Text as usize].as_deref()
    }

    fn len(&self) -> usize {
        self.0.iter().flatten().map(Vec::len).sum()
    }
}

/// The work that waits for the thread.
#[derive(Default)]
struct Queue {
    lines: VecDeque<Lines>,
    bytes: usize,
    /// Messages that found no room since the last one that did.
    lost: u64,
    /// The thread has taken lines that it has not written yet.
    is_writing: bool,
    wants_rotation: bool,
    settings: Option<FileSettings>,
    /// The files to write to from now on.
    opened: Option<Files>,
    /// The files that are written now, by their form.
    current: Vec<(LogForm, String)>,
}

impl Queue {
    fn has_nothing_to_do(&self) -> bool {
        self.lines.is_empty() && !self.wants_rotation && self.settings.is_none() && self.opened.is_none()
    }
}

struct Shared {
    /// A leaf; held for a push, or to take all.
    queue: Mutex<Queue>,
    /// Wakes the thread.
    filled: Condvar,
    /// Wakes those who wait for everything to be written.
    emptied: Condvar,
}

/// See the module.
pub(super) struct Writer {
    shared: Arc<Shared>,
    folder: OnceLock<PathBuf>,
}

impl Writer {
    /// Starts the thread, which writes to stderr until [`Writer::collect`].
    pub(super) fn start() -> Result<Writer> {
        let shared =
            Arc::new(Shared { queue: Mutex::new(Queue::default()), filled: Condvar::new(), emptied: Condvar::new() });
        let thread = std::thread::Builder::new().name("cohort log".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || run(&shared)
        });
        thread.map_err(|error| Error::io("could not start the thread that writes the log", &error))?;
        Ok(Writer { shared, folder: OnceLock::new() })
    }

    /// Writes to files from now on.
    ///
    /// # Errors
    /// When a file can't be opened.
    pub(super) fn collect(&self, settings: FileSettings) -> Result<()> {
        let folder = settings.folder.clone();
        let files = Files::open(settings)?;
        let mut queue = self.shared.queue.lock();
        queue.current = files.current();
        queue.opened = Some(files);
        drop(queue);
        self.shared.filled.notify_one();
        let _ = self.folder.set(folder);
        Ok(())
    }

    /// Where files are written, if they are.
    pub(super) fn folder(&self) -> Option<&PathBuf> {
        self.folder.get()
    }

    /// Has a message written, unless too much waits already. `lost_lines` says how many were lost before it.
    pub(super) fn push(&self, lines: Lines, lost_lines: impl FnOnce(u64) -> Vec<u8>) {
        let mut queue = self.shared.queue.lock();
        let length = lines.len();
        if queue.bytes + length > QUEUE_BYTES_MAX && !queue.lines.is_empty() {
            queue.lost += 1;
            return;
        }
        let lost = std::mem::take(&mut queue.lost);
        if lost > 0 {
            let text = lost_lines(lost);
            queue.bytes += text.len();
            queue.lines.push_back(Lines::of_text(text));
        }
        queue.bytes += length;
        queue.lines.push_back(lines);
        drop(queue);
        self.shared.filled.notify_one();
    }

    /// Begins a new file.
    pub(super) fn rotate(&self) {
        self.shared.queue.lock().wants_rotation = true;
        self.shared.filled.notify_one();
    }

    /// Writes as these settings say from now on.
    pub(super) fn reload(&self, settings: FileSettings) {
        self.shared.queue.lock().settings = Some(settings);
        self.shared.filled.notify_one();
    }

    /// The file that is written in a form, or the first there is.
    pub(super) fn current_file(&self, form: Option<LogForm>) -> Option<String> {
        let queue = self.shared.queue.lock();
        let found = queue.current.iter().find(|(written, _)| form.is_none_or(|form| form == *written));
        found.map(|(_, file)| file.clone())
    }

    /// Waits until all is written, or for so long.
    pub(super) fn flush(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut queue = self.shared.queue.lock();
        while !queue.lines.is_empty() || queue.is_writing {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.shared.emptied.wait_for(&mut queue, left);
        }
    }
}

/// Writes for as long as the process lives.
fn run(shared: &Shared) {
    let mut files: Option<Files> = None;
    loop {
        let (batch, rotates, settings) = {
            let mut queue = shared.queue.lock();
            while queue.has_nothing_to_do() {
                let waits_for_age = files.is_some();
                match waits_for_age {
                    true => _ = shared.filled.wait_for(&mut queue, LOOK_INTERVAL),
                    false => shared.filled.wait(&mut queue),
                }
                if waits_for_age {
                    break;
                }
            }
            if let Some(opened) = queue.opened.take() {
                files = Some(opened);
            }
            queue.is_writing = true;
            // Lines that are taken count as waiting until they are written: a writer that is stuck must not take more and more.
            (std::mem::take(&mut queue.lines), std::mem::take(&mut queue.wants_rotation), queue.settings.take())
        };
        if let Some(files) = &mut files {
            if let Some(settings) = settings {
                files.take_up(settings);
            }
            if rotates {
                files.rotate();
            }
            files.rotate_if_old();
        }
        for lines in batch {
            let length = lines.len();
            match &mut files {
                Some(files) => files.write(&lines),
                None => write_to_stderr(lines.text()),
            }
            shared.queue.lock().bytes -= length;
        }
        let mut queue = shared.queue.lock();
        queue.is_writing = false;
        if let Some(files) = &files {
            queue.current = files.current();
        }
        drop(queue);
        shared.emptied.notify_all();
    }
}

/// Writes to stderr. A failure can't be reported anywhere.
pub(super) fn write_to_stderr(text: Option<&[u8]>) {
    if let Some(text) = text {
        let _ = std::io::stderr().lock().write_all(text);
    }
}
