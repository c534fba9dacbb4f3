//! The log's threads: the flusher, the walwriter, and the one that prepares segments.

use std::io;
use std::time::{Duration, Instant};

use sync::thread::JoinHandle;
use sync::{Arc, Condvar, Mutex};

use crate::shared::Shared;

#[derive(Default)]
struct Call {
    called: bool,
    stop: bool,
}

/// A thread's bell.
struct Bell {
    call: Mutex<Call>,
    rung: Condvar,
}

impl Bell {
    fn new() -> Bell {
        Bell { call: Mutex::new(Call::default()), rung: Condvar::new() }
    }

    fn ring(&self) {
        self.call.lock().called = true;
        self.rung.notify_one();
    }

    fn ring_to_stop(&self) {
        self.call.lock().stop = true;
        self.rung.notify_one();
    }

    /// Waits for a ring, at most until `deadline`; true if the thread shall stop.
    fn wait(&self, deadline: Option<Instant>) -> bool {
        let mut call = self.call.lock();
        while !call.called && !call.stop {
            match deadline {
                None => self.rung.wait(&mut call),
                Some(deadline) => {
                    if self.rung.wait_until(&mut call, deadline).timed_out() {
                        break;
                    }
                }
            }
        }
        call.called = false;
        std::mem::take(&mut call.stop)
    }
}

/// The bells of the log's threads, and their handles.
pub(crate) struct Calls {
    flusher: Bell,
    walwriter: Bell,
    preparer: Bell,
    handles: Mutex<Handles>,
}

#[derive(Default)]
struct Handles {
    flusher: Option<JoinHandle<()>>,
    walwriter: Option<JoinHandle<()>>,
    preparer: Option<JoinHandle<()>>,
}

impl Calls {
    pub fn new() -> Calls {
        Calls {
            flusher: Bell::new(),
            walwriter: Bell::new(),
            preparer: Bell::new(),
            handles: Mutex::new(Handles::default()),
        }
    }
}

impl Shared {
    pub fn call_flusher(&self) {
        self.calls.flusher.ring();
    }

    pub fn call_preparer(&self) {
        self.calls.preparer.ring();
    }

    pub fn start_flusher_thread(self: &Arc<Shared>) {
        let mut handles = self.calls.handles.lock();
        if handles.flusher.is_none() {
            self.set_has_flusher(true);
            handles.flusher = Some(spawn("cohort-flusher", self, flusher));
        }
        if handles.preparer.is_none() && self.tuning.segments_ahead() > 0 {
            handles.preparer = Some(spawn("cohort-segments", self, preparer));
        }
    }

    pub fn start_walwriter(self: &Arc<Shared>, delay: Duration) {
        self.tuning.set_walwriter_delay_us(delay.as_micros() as u64);
        let mut handles = self.calls.handles.lock();
        if handles.walwriter.is_none() {
            handles.walwriter = Some(spawn("cohort-walwriter", self, walwriter));
        }
    }

    /// Ends the threads; the walwriter flushes once more.
    pub fn stop_threads(&self) {
        let handles = std::mem::take(&mut *self.calls.handles.lock());
        if let Some(walwriter) = handles.walwriter {
            self.calls.walwriter.ring_to_stop();
            join(walwriter);
        }
        if let Some(flusher) = handles.flusher {
            self.set_has_flusher(false);
            self.calls.flusher.ring_to_stop();
            join(flusher);
        }
        if let Some(preparer) = handles.preparer {
            self.calls.preparer.ring_to_stop();
            join(preparer);
        }
    }
}

fn spawn(name: &str, shared: &Arc<Shared>, main: fn(&Shared)) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    let thread = sync::thread::Builder::new().name(name.to_owned());
    thread.spawn(move || main(&shared)).expect("a process that starts a database may start threads")
}

/// A thread that panicked did so by the simulated end of the process.
fn join(handle: JoinHandle<()>) {
    let _ = handle.join();
}

fn flusher(shared: &Shared) {
    loop {
        let stop = shared.calls.flusher.wait(None);
        if shared.flusher_leads() {
            shared.lead_as_flusher();
        }
        if stop || shared.has_failed() {
            return;
        }
    }
}

/// Asynchronous commits ask for nothing. This thread makes durable what was inserted a delay ago; so nothing stays behind
/// for three delays, and nobody has to tell it that there is something.
fn walwriter(shared: &Shared) {
    loop {
        let delay = Duration::from_micros(shared.tuning.walwriter_delay_us());
        let stop = shared.calls.walwriter.wait(Some(Instant::now() + delay));
        let upto = shared.insertion.reserved();
        if upto > shared.positions.durable() {
            shared.wait_durable(upto, shared.tuning.default_delay());
        }
        if stop || shared.has_failed() {
            return;
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Called when a segment was begun, and when old ones were released.
fn preparer(shared: &Shared) {
    loop {
        loop {
            match shared.device.prepare() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if is_full(&error) => {
                    // The segment is not needed yet. The thread that needs it makes it, or ends the process.
                    log::warn!("could not prepare a segment of the write-ahead log: {error}");
                    break;
                }
                Err(error) => shared.fail("could not prepare a segment of the write-ahead log", &error),
            }
        }
        if shared.calls.preparer.wait(None) || shared.has_failed() {
            return;
        }
    }
}
