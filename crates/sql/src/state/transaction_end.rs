//! How transactions begin and end, for sessions and for procedures alike.

use std::sync::atomic::Ordering;

use base::limits::PAGE_SIZE_BYTES;
use base::settings::Id;
use base::{Error, Lsn, Result, sqlstate};
use engine::TransactionOptions;
use rustc_hash::FxHashMap;

use super::notify::{self, CHANNELS_MAX, ChannelChange};
use super::session_state::SessionState;
use super::settings;
use executor::client::Client;
use executor::{Deferral, Due, run_pending_checks};

impl SessionState {
    /// Begins a transaction, for whose functions it is `now`.
    pub(crate) fn begin(&self, options: TransactionOptions, now: i64) -> Result<()> {
        self.engine_mut().begin(options)?;
        self.transaction_timestamp.set(now);
        self.info.transaction_start.store(now, Ordering::Relaxed);
        self.settings.borrow_mut().push_level();
        Ok(())
    }

    /// Does the work that a commit requires while the transaction may still fail.
    pub(crate) fn before_commit(&self, client: &mut dyn Client) -> Result<()> {
        // A check may open cursors, and the queries of cursors may queue checks.
        loop {
            run_pending_checks(self, Due::All, client)?;
            if !self.hold_next_cursor(client)? {
                break;
            }
        }
        // Nothing reads temporary tables any more, which may go now.
        self.end_cursors();
        self.check_room_for_notifications()?;
        super::temporary::before_commit(self)
    }

    /// 54000 if a session that listens has been told too little of what it was notified of before.
    fn check_room_for_notifications(&self) -> Result<()> {
        let notifications = self.notifications.borrow();
        if notifications.is_empty() {
            return Ok(());
        }
        let limit_bytes = self.notify_limit_bytes();
        // There may be hundreds of thousands of channels. Only this session, which runs here, uses what it notifies.
        let mut bytes_by_channel: FxHashMap<&str, usize> = FxHashMap::default();
        for (channel, payload) in notifications.iter() {
            sync::yield_point()?;
            *bytes_by_channel.entry(channel).or_default() += notify::memory_bytes(channel, payload);
        }
        for (channel, bytes) in bytes_by_channel {
            sync::yield_point()?;
            if !self.channels.has_room(channel, bytes, limit_bytes) {
                return Err(too_many_notifications());
            }
        }
        Ok(())
    }

    /// How much memory notifications may take that wait for one listener, or for one transaction's end.
    fn notify_limit_bytes(&self) -> usize {
        self.setting(Id::MaxNotifyQueuePages).as_integer().unwrap_or(0) as usize * PAGE_SIZE_BYTES
    }

    /// Notes a notification, which is told when the transaction has committed.
    ///
    /// # Errors
    /// 54000 if there are too many already.
    pub(crate) fn notify(&self, channel: &str, payload: &str) -> Result<()> {
        let limit_bytes = self.notify_limit_bytes();
        let has_room = self.notifications.borrow_mut().push(channel, payload, limit_bytes);
        if has_room { Ok(()) } else { Err(too_many_notifications()) }
    }

    /// LISTEN, which counts when the transaction has committed.
    ///
    /// # Errors
    /// 54000 if there are too many channels already.
    pub(crate) fn listen(&self, channel: &str) -> Result<()> {
        let mut changes = self.channel_changes.borrow_mut();
        let (listening, is_known) = self.channels.listens(self.info.pid, channel);
        let is_unlisten = |change: &ChannelChange| matches!(change, ChannelChange::Unlisten(_));
        if is_known && !changes.iter().any(is_unlisten) {
            return Ok(());
        }
        let forgets_all = |change: &ChannelChange| matches!(change, ChannelChange::Unlisten(None));
        let kept = if changes.iter().any(forgets_all) { 0 } else { listening };
        if kept + changes.len() >= CHANNELS_MAX {
            return Err(too_many_channels());
        }
        changes.push(ChannelChange::Listen(channel.to_owned()));
        Ok(())
    }

    /// UNLISTEN of one channel or of all, which counts when the transaction has committed.
    ///
    /// # Errors
    /// 54000 if the transaction has too many of these already.
    pub(crate) fn unlisten(&self, channel: Option<&str>) -> Result<()> {
        let mut changes = self.channel_changes.borrow_mut();
        // A session that has never listened has nothing to take back.
        if !self.has_listened.get() && changes.is_empty() {
            return Ok(());
        }
        if changes.len() >= 2 * CHANNELS_MAX {
            return Err(too_many_channels());
        }
        changes.push(ChannelChange::Unlisten(channel.map(str::to_owned)));
        Ok(())
    }

    /// Commits the transaction in progress. All later answers to the client wait for this commit.
    pub(crate) fn commit(&self, client: &mut dyn Client) -> Result<()> {
        self.end_cursors();
        let has_written = self.engine().xid_if_assigned().is_some();
        let delay = self.execution_settings().commit_delay;
        let notifies = !self.notifications.borrow().is_empty();
        let notifying = notifies.then(|| self.channels.begin_commit(self.instance.database().horizon()));
        let result = self.engine_mut().commit();
        // Listeners wait for the commit's own place in the log, also where this session waits for nothing.
        let place = if notifies { self.engine().observed() } else { Lsn::ZERO };
        self.finish_transaction(result.is_ok());
        let gate = result.inspect_err(|_| self.forget_messages())?;
        if has_written {
            client.committed(gate, delay);
        } else {
            client.require(gate);
        }
        self.change_channels();
        if let Some(notifying) = notifying {
            let notifications = std::mem::take(&mut *self.notifications.borrow_mut());
            notifying.committed(self.info.pid, place, notifications.into_all());
        }
        Ok(())
    }

    /// Rolls the transaction in progress back.
    pub(crate) fn roll_back(&self) -> Result<()> {
        self.undo_cursors();
        let result = self.engine_mut().rollback();
        self.finish_transaction(false);
        self.forget_messages();
        result
    }

    /// The transaction in progress has come to nothing: nobody is notified, and LISTEN and UNLISTEN have no effect.
    fn forget_messages(&self) {
        self.notifications.borrow_mut().clear();
        self.channel_changes.borrow_mut().clear();
    }

    /// A block of a function is undone: so are the settings it has made.
    pub(crate) fn roll_back_settings(&self) {
        self.settings.borrow_mut().roll_back_level();
        settings::note_application_name(self);
    }

    /// COMMIT and ROLLBACK in a procedure: another transaction begins at once.
    ///
    /// # Errors
    /// Those of the commit; another transaction has begun then, too.
    pub(crate) fn end_within_procedure(&self, commit: bool, chain: bool, client: &mut dyn Client) -> Result<()> {
        let options =
            if chain { self.engine().transaction_options() } else { super::characteristics::options_to_begin(self) };
        let result = if commit {
            match self.before_commit(client) {
                Ok(()) => self.commit(client),
                Err(error) => self.roll_back().and(Err(error)),
            }
        } else {
            self.roll_back()
        };
        self.begin(options, types::datetime::clock_micros())?;
        result
    }

    /// Forgets what was the transaction's own.
    pub(crate) fn finish_transaction(&self, committed: bool) {
        self.used_temporary.set(false);
        self.closed_databases.borrow_mut().clear();
        if !committed {
            self.undo_cursors();
        }
        // A cursor made of a portal may count as opened before the first.
        self.first_cursor.set(self.next_cursor.get());
        self.next_cursor.set(self.next_cursor.get() + 1);
        self.forget_checks_from(0);
        *self.deferred.borrow_mut() = Deferral::default();
        self.made_checks.borrow_mut().clear();
        self.new_labels.borrow_mut().clear();
        self.has_run_functions.set(false);
        if self.changed_catalog.replace(false) {
            self.plans.borrow_mut().clear();
        }
        self.info.transaction_start.store(0, Ordering::Relaxed);
        let generation = self.settings.borrow().generation();
        self.settings.borrow_mut().end_transaction(committed);
        if self.settings.borrow().generation() != generation {
            settings::note_application_name(self);
        }
    }

    /// Applies the transaction's LISTEN and UNLISTEN statements.
    fn change_channels(&self) {
        let (pid, channels) = (self.info.pid, &self.channels);
        let changes = std::mem::take(&mut *self.channel_changes.borrow_mut());
        for change in changes {
            sync::let_others_run();
            match change {
                ChannelChange::Listen(channel) => {
                    channels.listen(pid, &channel);
                    self.has_listened.set(true);
                }
                ChannelChange::Unlisten(channel) => channels.unlisten(pid, channel.as_deref()),
            }
        }
    }
}

fn too_many_channels() -> Error {
    let message = "too many channels that the session listens on or stops listening on";
    let detail =
        format!("A session may listen on {CHANNELS_MAX} channels, those of the transaction in progress included.");
    Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message).detail(detail)
}

fn too_many_notifications() -> Error {
    Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "too many notifications in the NOTIFY queue")
}
