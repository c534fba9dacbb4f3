//! The lives of the server: it starts, sessions work, it ends in one of several ways, and all is checked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rustix::process::Signal;

use crate::options::Kind;
use crate::server::{Server, Usage};
use crate::torture::{Phase, Torture};
use crate::verify::{Before, verify};
use crate::wire::Wire;
use crate::{listener, session, steps, watch};

/// Connections that only listen.
pub const LISTENERS: usize = 2;

/// How often the process is looked at.
const TICK: Duration = Duration::from_millis(50);

/// Words that the server must never print.
const BAD_WORDS: [&str; 4] = ["panicked", "PANIC", "overflowed its stack", "internal error"];

/// Settings that only a start changes, with values that choose another path.
const START_SETTINGS: &[(&str, &[&str])] = &[
    ("shared_buffers", &["1MB", "4MB", "32MB"]),
    ("transaction_buffers", &["64kB", "2MB"]),
    ("wal_buffers", &["64kB", "256kB", "16MB"]),
    ("wal_direct_io", &["on", "off"]),
    ("wal_sync_method", &["fdatasync", "open_datasync", "fsync"]),
    ("worker_threads", &["1", "2", "4"]),
    ("max_prepared_transactions", &["100"]),
];

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Kill,
    KillRecovery,
    Stop,
    Pause,
}

impl Ending {
    fn name(self) -> &'static str {
        match self {
            Ending::Kill => "kill",
            Ending::KillRecovery => "kill and kill during the start",
            Ending::Stop => "stop",
            Ending::Pause => "pause",
        }
    }
}

/// The results of a run: endings of lives by name, and the most that the server used.
pub type Met = (BTreeMap<&'static str, u64>, Usage);

/// One run to its end, or to its first failure.
///
/// # Errors
/// The first failure. All that may explain it has been written down.
pub async fn conduct(torture: &Arc<Torture>) -> Result<Met, String> {
    let mut conductor = Conductor {
        torture: Arc::clone(torture),
        random: StdRng::seed_from_u64(torture.seed),
        server: None,
        messages_read: 0,
        met: (BTreeMap::new(), Usage::default()),
    };
    let result = conductor.run().await;
    if let Err(reason) = &result {
        torture.fail(reason.clone());
        watch::save(torture, conductor.server.as_ref().map(Server::id), reason).await;
    }
    torture.phase.send_replace(Phase::Over);
    result.map(|()| conductor.met)
}

struct Conductor {
    torture: Arc<Torture>,
    random: StdRng,
    server: Option<Server>,
    messages_read: usize,
    met: Met,
}

impl Conductor {
    async fn run(&mut self) -> Result<(), String> {
        self.start().await?;
        self.prepare().await?;
        let mut sessions: Vec<_> = (0..self.torture.options.sessions)
            .map(|number| tokio::spawn(session::run(Arc::clone(&self.torture), number)))
            .collect();
        if self.torture.options.allows(Kind::Notify) {
            sessions
                .extend((0..LISTENERS).map(|number| tokio::spawn(listener::run(Arc::clone(&self.torture), number))));
        } else {
            self.torture.traces.iter().for_each(|trace| trace.set_parked(true));
        }
        let end = self.torture.born + Duration::from_secs(self.torture.options.seconds);
        let mut life = 0;
        while Instant::now() < end {
            life += 1;
            let ending = self.choose_ending();
            let limit = self.torture.options.life * 1000;
            let length = Duration::from_millis(self.random.random_range(limit / 20..=limit));
            println!(
                "{:>8.1} s life {life}: {:.1} s, then {}",
                self.torture.born.elapsed().as_secs_f64(),
                length.as_secs_f64(),
                ending.name()
            );
            self.live(life, length, ending).await?;
            *self.met.0.entry(ending.name()).or_default() += 1;
        }
        self.torture.phase.send_replace(Phase::Over);
        for session in sessions {
            session.await.map_err(|error| format!("a session of the torture: {error}"))?;
        }
        self.torture.failure().map_or(Ok(()), Err)
    }

    fn choose_ending(&mut self) -> Ending {
        let ending = match self.random.random_range(0..10) {
            0..5 => (Ending::Kill, Kind::Kill),
            5..7 => (Ending::KillRecovery, Kind::KillRecovery),
            7 => (Ending::Stop, Kind::Stop),
            _ => return Ending::Pause,
        };
        if self.torture.options.allows(ending.1) { ending.0 } else { Ending::Pause }
    }

    /// Starts a process with settings of its own.
    fn spawn(&mut self) -> Result<Server, String> {
        let mut launch = self.torture.launch.clone();
        for (name, values) in START_SETTINGS {
            let options = &self.torture.options;
            let is_kept = options.keep_setting.iter().any(|kept| kept == name);
            if options.allows(Kind::Settings) && !is_kept && self.random.random_bool(0.5) {
                let value = values.choose(&mut self.random).expect("there are some");
                launch.settings.insert(0, format!("{name}={value}"));
            }
        }
        launch.spawn()
    }

    async fn start(&mut self) -> Result<(), String> {
        self.server = Some(self.spawn()?);
        self.server.as_mut().expect("it was set").wait_until_up().await
    }

    /// Makes the tables that all sessions use.
    async fn prepare(&self) -> Result<(), String> {
        let wire =
            Wire::open(&self.torture.launch.address(), false, "").await.map_err(|trouble| trouble.to_string())?;
        for text in steps::SCHEMA {
            wire.ask(text).await.map_err(|trouble| format!("{text}: {trouble}"))?;
        }
        Ok(())
    }

    /// One life, from the sessions' beginning to the check after its end.
    async fn live(&mut self, life: u64, length: Duration, ending: Ending) -> Result<(), String> {
        self.torture.model.begin_life();
        self.torture.phase.send_replace(Phase::Working(life));
        let watching = tokio::spawn(watch::watch(Arc::clone(&self.torture)));
        let result = self.work_until(Instant::now() + length).await;
        let result = match result {
            Ok(()) => self.end(ending).await,
            Err(reason) => Err(reason),
        };
        watching.abort();
        let before = result?;
        self.read_messages()?;
        let patience = Duration::from_secs(self.torture.options.patience * 6);
        let checking = verify(&self.torture, before);
        tokio::time::timeout(patience, checking).await.map_err(|_| "the checks got no answer".to_owned())??;
        self.torture.failure().map_or(Ok(()), Err)
    }

    async fn work_until(&mut self, end: Instant) -> Result<(), String> {
        let torture = Arc::clone(&self.torture);
        while Instant::now() < end {
            tokio::select! {
                () = torture.failed() => return Err(torture.failure().unwrap_or_default()),
                () = tokio::time::sleep(TICK) => {}
            }
            self.look()?;
            if torture.options.allows(Kind::Settings) && self.random.random_ratio(1, 40) {
                self.server.as_ref().expect("it runs while sessions work").signal(Signal::HUP);
            }
        }
        Ok(())
    }

    /// Looks at the process and at what it has said.
    fn look(&mut self) -> Result<(), String> {
        let server = self.server.as_mut().expect("it runs while sessions work");
        if let Some(status) = server.ended() {
            let (words, _) = self.torture.launch.messages_since(self.messages_read);
            return Err(format!("the server ended by itself: {status}\n{words}"));
        }
        let usage = server.usage();
        self.met.1 = self.met.1.max(usage);
        if let Some(reason) = watch::excess(usage, &self.torture) {
            return Err(reason);
        }
        Ok(())
    }

    fn read_messages(&mut self) -> Result<(), String> {
        let (words, end) = self.torture.launch.messages_since(self.messages_read);
        self.messages_read = end;
        match words.lines().find(|line| BAD_WORDS.iter().any(|bad| line.contains(bad))) {
            Some(_) => Err(format!("the server said:\n{words}")),
            None => Ok(()),
        }
    }

    /// Ends a life in some way; afterwards a server runs, and no session works.
    async fn end(&mut self, ending: Ending) -> Result<Before, String> {
        match ending {
            Ending::Pause => {
                self.torture.phase.send_replace(Phase::Quiet);
                self.park().await?;
                Ok(Before::Pause)
            }
            Ending::Stop => {
                let limit = Duration::from_secs(self.torture.options.patience * 2);
                self.server.as_mut().expect("it runs while sessions work").stop(limit).await?;
                self.server = None;
                self.torture.phase.send_replace(Phase::Quiet);
                self.park().await?;
                self.start().await?;
                Ok(Before::Stop)
            }
            Ending::Kill | Ending::KillRecovery => {
                self.kill()?;
                self.torture.phase.send_replace(Phase::Quiet);
                self.park().await?;
                if ending == Ending::KillRecovery {
                    for _ in 0..self.random.random_range(1..=3) {
                        self.server = Some(self.spawn()?);
                        let delay = Duration::from_millis(self.random.random_range(0..150));
                        tokio::time::sleep(delay).await;
                        self.kill()?;
                    }
                }
                self.start().await?;
                Ok(Before::Crash)
            }
        }
    }

    fn kill(&mut self) -> Result<(), String> {
        let server = self.server.take().expect("one runs");
        server.kill().map_err(|reason| {
            let (words, _) = self.torture.launch.messages_since(self.messages_read);
            format!("{reason}\n{words}")
        })
    }

    /// Waits until each session has noticed that it is not to work.
    async fn park(&mut self) -> Result<(), String> {
        let torture = Arc::clone(&self.torture);
        let everyone = async {
            while torture.traces.iter().any(|trace| !trace.is_parked()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // While the server runs, the watch knows better what takes long.
        let limit = Duration::from_secs(self.torture.options.patience * 6);
        tokio::select! {
            () = everyone => Ok(()),
            () = torture.failed() => Err(torture.failure().unwrap_or_default()),
            () = tokio::time::sleep(limit) => Err("sessions did not come to an end".to_owned()),
        }
    }
}
