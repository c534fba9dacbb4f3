//! When a worker is to look at its connections without being told by a socket: one alarm for each.
//!
//! A connection's alarm moves with nearly each statement, mostly to a later time. So it has one *entry* in the queue, which stays
//! where it is when the alarm moves away from it. An entry that comes too early is queued again.

use std::collections::BTreeSet;
use std::time::Instant;

/// The alarms of a worker's connections.
#[derive(Default)]
pub struct Alarms {
    /// At most one for each connection, with its token.
    entries: BTreeSet<(Instant, u64)>,
}

/// One connection's.
#[derive(Default)]
pub struct Alarm {
    due: Option<Instant>,
    /// Its entry.
    entry: Option<Instant>,
}

impl Alarms {
    /// Sets the alarm of the connection `token`; `None` turns it off.
    pub fn set(&mut self, alarm: &mut Alarm, token: u64, due: Option<Instant>) {
        alarm.due = due;
        let Some(due) = due else { return };
        if alarm.entry.is_none_or(|entry| due < entry) {
            self.take_out(alarm, token);
            self.entries.insert((due, token));
            alarm.entry = Some(due);
        }
    }

    /// The connection is gone, or its alarm is.
    pub fn take_out(&mut self, alarm: &mut Alarm, token: u64) {
        if let Some(entry) = alarm.entry.take() {
            self.entries.remove(&(entry, token));
        }
    }

    /// When to look at [`Alarms::next`] again.
    pub fn soonest(&self) -> Option<Instant> {
        self.entries.first().map(|(at, _)| *at)
    }

    /// A connection with an entry at `now` or before.
    pub fn next(&self, now: Instant) -> Option<u64> {
        self.entries.first().filter(|(at, _)| *at <= now).map(|(_, token)| *token)
    }

    /// Takes the entry out that [`Alarms::next`] has found: true if the alarm is due, which is off from then on.
    pub fn is_due(&mut self, alarm: &mut Alarm, token: u64, now: Instant) -> bool {
        self.take_out(alarm, token);
        match alarm.due {
            Some(due) if due <= now => {
                alarm.due = None;
                true
            }
            due => {
                self.set(alarm, token, due);
                false
            }
        }
    }

    /// How many entries there are: no more than connections.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    // invariants: row 39
    #[test]
    fn each_alarm_has_one_entry_and_is_due_once() {
        let (mut alarms, mut alarm, mut other) = (Alarms::default(), Alarm::default(), Alarm::default());
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        for round in 0..1000 {
            alarms.set(&mut alarm, 1, Some(at([90_000, 50, 80_000][round % 3])));
            alarms.set(&mut alarm, 1, None);
            alarms.set(&mut other, 2, Some(at(60 + round as u64)));
        }
        assert_eq!(alarms.len(), 2);
        alarms.set(&mut alarm, 1, Some(at(70)));
        assert_eq!((alarms.next(at(49)), alarms.next(at(50))), (None, Some(1)));
        assert!(!alarms.is_due(&mut alarm, 1, at(50)));
        assert_eq!(alarms.soonest(), Some(at(60)));
        assert!(!alarms.is_due(&mut other, 2, at(60)));
        assert_eq!(alarms.next(at(70)), Some(1));
        assert!(alarms.is_due(&mut alarm, 1, at(70)));
        assert_eq!(alarms.next(at(70)), None);
        alarms.take_out(&mut other, 2);
        assert_eq!(alarms.len(), 0);
    }
}
