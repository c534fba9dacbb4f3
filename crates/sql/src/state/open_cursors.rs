//! The session's open cursors, whoever opened them: statements, functions and the queries of other cursors reach them by
//! name.
//!
//! Each has a number, in the order they were opened. Where something may be undone later (a savepoint, a block with
//! EXCEPTION), the next number is noted; what has that number or a higher one ends when it is undone. A cursor is taken
//! out while it runs, so that nobody else moves or closes it meanwhile.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, missing, sqlstate};

use super::cursor::Cursor;
use super::plan_cache::Planned;
use super::running::cannot_run;
use super::session_state::SessionState;
use executor::CursorPlace;
use executor::client::{Client, Format, Formats};

/// An open cursor, and what is known of it.
pub struct OpenCursor {
    /// Where it stands; nothing while it runs.
    cursor: Option<Box<Cursor>>,
    /// Its place in the order of all that were opened.
    number: u64,
    /// Its plan.
    pub planned: Arc<Planned>,
    /// The text of the statement that opened it, or of its query if a function opened it.
    pub statement: Arc<str>,
    /// WITH HOLD
    pub is_holdable: bool,
    /// The formats of its rows for a client that runs it as a portal.
    pub formats: Formats,
    /// BINARY
    pub is_binary: bool,
    /// It goes backwards.
    pub is_scrollable: bool,
    /// When the statement that opened it began, in microseconds since 2000.
    pub opened_at: i64,
    /// The row it stands on, as far as CURRENT OF needs it.
    pub(crate) place: CursorPlace,
}

/// How a cursor is opened.
pub struct Opening {
    /// The text of the statement that opens it, or of its query if a function opens it.
    pub statement: Arc<str>,
    /// The formats of its rows for a client that runs it as a portal.
    pub formats: Formats,
    /// BINARY
    pub is_binary: bool,
    /// It goes backwards.
    pub is_scrollable: bool,
}

impl OpenCursor {
    /// Its query is not over: it runs now, or will be asked for more rows.
    fn is_reading(&self) -> bool {
        self.cursor.as_ref().is_none_or(|cursor| !(cursor.has_failed || cursor.hold && cursor.is_held()))
    }
}

fn cannot_drop(name: &str, what: &str) -> Error {
    Error::new(sqlstate::INVALID_CURSOR_STATE, format!("cannot drop {what} portal \"{name}\""))
}

impl SessionState {
    /// Whether there is a cursor of this name.
    pub(crate) fn has_cursor(&self, name: &str) -> bool {
        self.cursors.borrow().contains_key(name)
    }

    /// Whether a cursor or a portal of the protocol has this name, also one that runs.
    pub(crate) fn is_name_taken(&self, name: &str) -> bool {
        self.has_cursor(name) || self.portals.is_running(name).is_some()
    }

    /// Opens a cursor, whose name must be free.
    pub(crate) fn open_cursor(&self, name: &str, cursor: Cursor, opening: Opening) {
        self.open_cursor_below(name, cursor, opening, None);
    }

    /// Opens a cursor that counts as opened before the one numbered `above`, if that is given.
    pub(crate) fn open_cursor_below(&self, name: &str, cursor: Cursor, opening: Opening, above: Option<u64>) {
        let next = self.next_cursor.get();
        self.next_cursor.set(next + 1);
        let number = above.map_or(next, |above| above - 1);
        let open = OpenCursor {
            number,
            planned: Arc::clone(cursor.planned()),
            statement: opening.statement,
            formats: opening.formats,
            is_holdable: cursor.hold,
            is_binary: opening.is_binary,
            is_scrollable: opening.is_scrollable,
            opened_at: self.statement_timestamp.get(),
            cursor: Some(Box::new(cursor)),
            place: CursorPlace::Outside,
        };
        self.cursors.borrow_mut().insert(name.to_owned(), open);
    }

    /// A cursor stands somewhere else now.
    pub(crate) fn place_cursor(&self, name: &str, place: CursorPlace) {
        if let Some(open) = self.cursors.borrow_mut().get_mut(name) {
            open.place = place;
        }
    }

    /// Refuses to change the table `oid`, which open cursors of this transaction, suspended portals or statements whose functions are
    /// running read, or of whose rows deferred checks wait. `what` does it.
    ///
    /// # Errors
    /// 55006 if they do.
    pub(crate) fn check_not_in_use(&self, oid: Oid, what: &str, table: &str) -> Result<()> {
        let uses = |relations: &[(Oid, LockMode)]| relations.iter().any(|(locked, _)| *locked == oid);
        let reads = |planned: &Planned| uses(&planned.statement.locks);
        let cursors = self.cursors.borrow();
        let is_in_use = cursors.values().any(|open| open.is_reading() && reads(&open.planned))
            || self.suspended.borrow().iter().any(|planned| reads(planned))
            || self.in_use.borrow().iter().any(|relations| uses(relations));
        let why = if is_in_use {
            "it is being used by active queries in this session"
        } else if !matches!(what, "DROP TRIGGER" | "REINDEX INDEX" | "REINDEX TABLE")
            && self.pending_checks.borrow().iter().any(|check| check.is_deferred_on(oid))
        {
            "it has pending trigger events"
        } else {
            return Ok(());
        };
        let message = format!("cannot {what} \"{table}\" because {why}");
        Err(Error::new(sqlstate::OBJECT_IN_USE, message))
    }

    /// Refuses to drop an index of a table that a statement whose functions are running changes.
    ///
    /// # Errors
    /// 55006 if one does.
    pub(crate) fn check_not_being_changed(&self, table: Oid, index: &str) -> Result<()> {
        let is_it = |(locked, mode): &(Oid, LockMode)| *locked == table && *mode == LockMode::RowExclusive;
        if !self.in_use.borrow().iter().any(|relations| relations.iter().any(is_it)) {
            return Ok(());
        }
        let message =
            format!("cannot DROP INDEX \"{index}\" because it is being used by active queries in this session");
        Err(Error::new(sqlstate::OBJECT_IN_USE, message))
    }

    /// The formats that a cursor gives its rows in to whoever asks for no others.
    pub(crate) fn formats_of_cursor(&self, name: &str) -> Formats {
        match self.cursors.borrow().get(name) {
            Some(open) if open.is_binary => Formats::of_all(Format::Binary),
            _ => Formats::default(),
        }
    }

    /// Lets `work` have a cursor.
    ///
    /// # Errors
    /// 34000 if there is none, 55000 for one that is running, XX000 for a portal without rows, and those of `work`.
    pub(crate) fn with_cursor<T>(&self, name: &str, work: impl FnOnce(&mut Cursor) -> Result<T>) -> Result<T> {
        let (number, mut cursor) = match self.cursors.borrow_mut().get_mut(name) {
            Some(open) => (open.number, open.cursor.take().ok_or_else(|| cannot_run(name))?),
            None => return Err(self.error_of_fetch(name)),
        };
        let result = work(&mut cursor);
        let mut cursors = self.cursors.borrow_mut();
        match cursors.get_mut(name).filter(|open| open.number == number) {
            Some(open) => open.cursor = Some(cursor),
            None => {
                drop(cursors);
                self.end(*cursor);
            }
        }
        result
    }

    /// The error of a FETCH from what is no cursor: a portal of the protocol that runs, or one that gives no rows, or nothing.
    fn error_of_fetch(&self, name: &str) -> Error {
        match self.portals.is_running(name) {
            None => missing::cursor(name),
            Some(true) => cannot_run(name),
            Some(false) => Error::internal("unsupported portal strategy"),
        }
    }

    /// CLOSE.
    ///
    /// # Errors
    /// 34000 if there is none, 24000 for one that is running or that a loop is about.
    pub(crate) fn close_cursor(&self, name: &str) -> Result<()> {
        match self.cursors.borrow().get(name) {
            None if self.portals.is_running(name) == Some(true) => return Err(cannot_drop(name, "active")),
            None => return Err(missing::cursor(name)),
            Some(_) if self.looped_cursors.borrow().iter().any(|looped| looped == name) => {
                return Err(cannot_drop(name, "pinned"));
            }
            Some(open) if open.cursor.is_none() => return Err(cannot_drop(name, "active")),
            Some(_) => {}
        }
        self.forget_cursor(name);
        Ok(())
    }

    /// CLOSE ALL: those that are running stay.
    ///
    /// # Errors
    /// 24000 for one that a loop is about.
    pub(crate) fn close_all_cursors(&self) -> Result<()> {
        let is_idle = |(name, open): (&String, &OpenCursor)| open.cursor.is_some().then(|| name.clone());
        let names: Vec<String> = self.cursors.borrow().iter().filter_map(is_idle).collect();
        names.iter().try_for_each(|name| self.close_cursor(name))
    }

    /// Ends a cursor, if there is one of this name.
    pub(crate) fn forget_cursor(&self, name: &str) {
        let open = self.cursors.borrow_mut().remove(name);
        if let Some(cursor) = open.and_then(|open| open.cursor) {
            self.end(*cursor);
        }
    }

    /// Ends every cursor, running or not.
    pub(crate) fn drop_cursors(&self) {
        self.end_cursors_unless(|_, _| false);
    }

    /// The transaction ends: cursors end with it, but for those whose rows were gathered, and those that loops are about.
    pub(crate) fn end_cursors(&self) {
        if self.cursors.borrow().is_empty() {
            return;
        }
        let (first, looped) = (self.first_cursor.get(), self.looped_cursors.borrow());
        let is_held = |open: &OpenCursor| open.cursor.as_ref().is_some_and(|cursor| cursor.hold && cursor.is_held());
        self.end_cursors_unless(|name, open| looped.contains(name) || open.number < first || is_held(open));
    }

    /// The transaction is undone: cursors that it opened end, even if their rows have been gathered for after its commit.
    pub(crate) fn undo_cursors(&self) {
        if !self.cursors.borrow().is_empty() {
            let (first, looped) = (self.first_cursor.get(), self.looped_cursors.borrow());
            self.end_cursors_unless(|name, open| looped.contains(name) || open.number < first);
        }
    }

    /// Something is undone: so is the opening of cursors from this number on.
    pub(crate) fn end_cursors_from(&self, number: u64) {
        if !self.cursors.borrow().is_empty() {
            self.end_cursors_unless(|_, open| open.number < number);
        }
    }

    fn end_cursors_unless(&self, stays: impl Fn(&String, &OpenCursor) -> bool) {
        let mut ended = Vec::new();
        self.cursors.borrow_mut().retain(|name, open| {
            let stays = stays(name, open);
            if !stays {
                ended.extend(open.cursor.take());
            }
            stays
        });
        ended.into_iter().for_each(|cursor| self.end(*cursor));
    }

    fn end(&self, mut cursor: Cursor) {
        if let Some(snapshot) = cursor.end() {
            self.engine().release_snapshot(snapshot);
        }
    }

    /// Gathers the rows of a cursor that is to outlive the transaction, which is about to commit. Returns false if no such cursor is
    /// left. Functions that the cursor's query calls may open and close other cursors.
    pub(crate) fn hold_next_cursor(&self, client: &mut dyn Client) -> Result<bool> {
        let Some(name) = self.cursor_to_hold() else { return Ok(false) };
        self.with_cursor(&name, |cursor| cursor.hold_rows(self, client))?;
        self.place_cursor(&name, CursorPlace::Held);
        Ok(true)
    }

    /// Gathers the rows of the cursors that loops are about: the transaction ends within the loops.
    ///
    /// # Errors
    /// Those of their queries.
    pub(crate) fn hold_looped_cursors(&self, client: &mut dyn Client) -> Result<()> {
        let names = self.looped_cursors.borrow().clone();
        for name in &names {
            self.with_cursor(name, |cursor| {
                cursor.hold_rows(self, client)?;
                cursor.hold = true;
                Ok(())
            })?;
            self.place_cursor(name, CursorPlace::Held);
        }
        Ok(())
    }

    /// Whether a cursor WITH HOLD was made in this transaction.
    pub(crate) fn has_cursor_to_hold(&self) -> bool {
        self.cursor_to_hold().is_some()
    }

    /// The oldest of them.
    fn cursor_to_hold(&self) -> Option<String> {
        let cursors = self.cursors.borrow();
        let is_to_hold =
            |open: &OpenCursor| open.cursor.as_ref().is_some_and(|own| own.hold && !own.is_held() && !own.has_failed);
        let to_hold = cursors.iter().filter(|(_, open)| is_to_hold(open));
        to_hold.min_by_key(|(_, open)| open.number).map(|(name, _)| name.clone())
    }
}
