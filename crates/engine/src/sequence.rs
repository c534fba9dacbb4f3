//! Sequences: where each stands, kept in a page of its own and logged ahead.
//!
//! A sequence gives out values without asking transactions. Its page says from where it goes on after a crash: a position
//! [`LOGGED_AHEAD`] values further than the one given out when the page was written, so that one record serves that many
//! calls. The true position is kept in memory, and written back when the database is closed.
//!
//! A value may be told only when the record that covers it is durable (rule R3), whichever session's call wrote that record.
//! So the end of the newest record is kept beside the position, and every call returns it.

use base::{Error, FileNumber, Lsn, Result, SqlState, Xid, sqlstate};
use buffer::{BufferPool, HEADER_BYTES, PageId, page_kind, page_lsn, set_page_kind};
use rustc_hash::FxHashMap;
use sync::atomic::{AtomicBool, Ordering};
use sync::{Arc, Mutex, RwLock};
use wal::{RecordHead, RmgrId, Wal};

use schema::catalog::SequenceDef;

/// Values covered by one log record.
const LOGGED_AHEAD: u32 = 32;
const PAGE_KIND_SEQUENCE: u16 = 0x5351;
const RECORD_BYTES: usize = 17;
const SEQUENCE_GENERATOR_LIMIT_EXCEEDED: SqlState = SqlState::new("2200H");

/// Where a sequence stands: its last value, and whether that was given out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    pub(crate) last: i64,
    pub(crate) is_called: bool,
}

struct State {
    position: Position,
    /// Values that may be given out before the next record.
    covered: u32,
    /// The increment that `covered` counts in.
    increment: i64,
    /// The end of the newest record, which covers everything given out so far.
    logged: Lsn,
}

/// The sequences used since the database was opened.
#[derive(Default)]
pub(crate) struct Sequences {
    /// Guards the map; a leaf.
    open: RwLock<FxHashMap<FileNumber, Arc<Mutex<State>>>>,
    /// The positions are being written back for the last time.
    closed: AtomicBool,
}

/// Values taken from a sequence at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// The end of the record that covers them.
    pub(crate) logged: Lsn,
}

impl Sequences {
    /// Writes the first page of a new sequence. `xid` is the transaction that makes it.
    pub(crate) fn create(&self, pool: &BufferPool, wal: &Wal, file: FileNumber, start: i64, xid: Xid) -> Result<()> {
        self.create_at(pool, wal, file, Position { last: start, is_called: false }, xid)
    }

    /// The same for one that stands elsewhere.
    pub(crate) fn create_at(
        &self,
        pool: &BufferPool,
        wal: &Wal,
        file: FileNumber,
        position: Position,
        xid: Xid,
    ) -> Result<()> {
        wal.ensure_room(RECORD_BYTES);
        let mut page = pool.pin_new(file)?;
        let end = log(wal, file, position, xid);
        write(&mut page, position);
        page.set_lsn(end);
        Ok(())
    }

    /// Takes up to `count` values, as many as lie within the bounds, at least one.
    pub(crate) fn take(&self, pool: &BufferPool, wal: &Wal, def: &SequenceDef, count: i64) -> Result<Taken> {
        let state = self.state(pool, def.file)?;
        wal.ensure_room(RECORD_BYTES);
        let pinned = pool.pin(page_of(def.file))?;
        let mut state = state.lock();
        self.check_open()?;
        let first = following(def, state.position)?;
        let position = Position { last: steps(def, first, count - 1), is_called: true };
        let taken = values_between(first, position.last, def.increment);
        if state.covered < taken || state.increment != def.increment {
            let ahead = Position { last: steps(def, position.last, i64::from(LOGGED_AHEAD)), is_called: true };
            let mut page = pinned.write();
            let end = log(wal, def.file, ahead, Xid::INVALID);
            write(&mut page, ahead);
            page.set_lsn(end);
            state.covered = values_between(position.last, ahead.last, def.increment) - 1;
            state.increment = def.increment;
            state.logged = end;
        } else {
            state.covered -= taken;
        }
        state.position = position;
        Ok(Taken { first, last: position.last, logged: state.logged })
    }

    /// Puts the sequence elsewhere; returns the end of the record that says so.
    pub(crate) fn set(&self, pool: &BufferPool, wal: &Wal, file: FileNumber, position: Position) -> Result<Lsn> {
        let state = self.state(pool, file)?;
        wal.ensure_room(RECORD_BYTES);
        let pinned = pool.pin(page_of(file))?;
        let mut state = state.lock();
        self.check_open()?;
        state.position = position;
        state.covered = 0;
        state.logged = put(&pinned, wal, file, position);
        Ok(state.logged)
    }

    /// Where the sequence stands, and the end of the record that covers that.
    pub(crate) fn position(&self, pool: &BufferPool, file: FileNumber) -> Result<(Position, Lsn)> {
        let state = self.state(pool, file)?;
        let state = state.lock();
        Ok((state.position, state.logged))
    }

    /// Refuses every later change, and writes the true positions back, so that a clean stop leaves no gaps.
    pub(crate) fn close(&self, pool: &BufferPool, wal: &Wal) -> Result<()> {
        self.closed.store(true, Ordering::SeqCst);
        // Operations check `closed` under the lock of a sequence's state. If one found it unset, its state was in the
        // map before.
        let open: Vec<_> = self.open.read().iter().map(|(file, state)| (*file, state.clone())).collect();
        for (file, state) in open {
            if pool.file_exists(file) {
                wal.ensure_room(RECORD_BYTES);
                let pinned = pool.pin(page_of(file))?;
                let state = state.lock();
                put(&pinned, wal, file, state.position);
            }
        }
        Ok(())
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) { Err(xact::closed()) } else { Ok(()) }
    }

    /// Lets go of a sequence whose file is removed: nobody can read its page any more, and so nobody enters it again.
    pub(crate) fn forget(&self, file: FileNumber) {
        self.open.write().remove(&file);
    }

    fn state(&self, pool: &BufferPool, file: FileNumber) -> Result<Arc<Mutex<State>>> {
        if let Some(state) = self.open.read().get(&file) {
            return Ok(state.clone());
        }
        let pinned = pool.pin(page_of(file))?;
        let page = pinned.read();
        let state = State { position: read(&page, file)?, covered: 0, increment: 0, logged: page_lsn(&page) };
        drop(page);
        Ok(self.open.write().entry(file).or_insert_with(|| Arc::new(Mutex::new(state))).clone())
    }
}

fn page_of(file: FileNumber) -> PageId {
    PageId { file, block: 0 }
}

/// The value after `position`, round the end if the sequence cycles.
fn following(def: &SequenceDef, position: Position) -> Result<i64> {
    if !position.is_called {
        return Ok(position.last);
    }
    if let Some(next) = step(def, position.last) {
        return Ok(next);
    }
    let (ascending, bound) = (def.increment > 0, if def.increment > 0 { def.maximum } else { def.minimum });
    if def.cycle {
        return Ok(if ascending { def.minimum } else { def.maximum });
    }
    let which = if ascending { "maximum" } else { "minimum" };
    let message = format!("nextval: reached {which} value of sequence \"{}\" ({bound})", def.name);
    Err(Error::new(SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message))
}

/// The next value if it lies within the bounds.
fn step(def: &SequenceDef, last: i64) -> Option<i64> {
    last.checked_add(def.increment).filter(|next| (def.minimum..=def.maximum).contains(next))
}

/// The value up to `count` steps further: the last one that lies within the bounds.
fn steps(def: &SequenceDef, from: i64, count: i64) -> i64 {
    let bound = if def.increment > 0 { def.maximum } else { def.minimum };
    let room = (i128::from(bound) - i128::from(from)) / i128::from(def.increment);
    let last = i128::from(from) + i128::from(def.increment) * room.clamp(0, i128::from(count));
    i64::try_from(last).expect("it lies between two values of the sequence")
}

fn values_between(first: i64, last: i64, increment: i64) -> u32 {
    let distance = (i128::from(last) - i128::from(first)) / i128::from(increment);
    u32::try_from(distance).unwrap_or(u32::MAX - 1) + 1
}

/// Checks a position given by `setval`.
pub(crate) fn check_bounds(def: &SequenceDef, value: i64) -> Result<()> {
    if (def.minimum..=def.maximum).contains(&value) {
        return Ok(());
    }
    Err(Error::new(
        sqlstate::NUMERIC_VALUE_OUT_OF_RANGE,
        format!(
            "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
            def.name, def.minimum, def.maximum
        ),
    ))
}

fn put(pinned: &buffer::Pinned<'_>, wal: &Wal, file: FileNumber, position: Position) -> Lsn {
    let mut page = pinned.write();
    let end = log(wal, file, position, Xid::INVALID);
    write(&mut page, position);
    page.set_lsn(end);
    end
}

fn log(wal: &Wal, file: FileNumber, position: Position, xid: Xid) -> Lsn {
    let head = RecordHead { rmgr: RmgrId::SEQUENCE, info: 1, xid };
    let parts = [&file.0.to_le_bytes()[..], &position.last.to_le_bytes(), &[u8::from(position.is_called)]];
    wal.insert(head, &parts).end
}

fn write(page: &mut [u8], position: Position) {
    set_page_kind(page, PAGE_KIND_SEQUENCE);
    page[HEADER_BYTES..HEADER_BYTES + 8].copy_from_slice(&position.last.to_le_bytes());
    page[HEADER_BYTES + 8] = u8::from(position.is_called);
}

fn read(page: &[u8], file: FileNumber) -> Result<Position> {
    if page_kind(page) != PAGE_KIND_SEQUENCE {
        return Err(Error::corrupted(format!("file {file} is no sequence")));
    }
    let last = page[HEADER_BYTES..HEADER_BYTES + 8].try_into().map(i64::from_le_bytes).expect("eight bytes");
    Ok(Position { last, is_called: page[HEADER_BYTES + 8] != 0 })
}

fn decode(payload: &[u8]) -> Result<(FileNumber, Position)> {
    let bytes: &[u8; RECORD_BYTES] = payload.try_into().map_err(|_| Error::corrupted("sequence record is damaged"))?;
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    Ok((FileNumber(word(0)), Position { last: word(8) as i64, is_called: bytes[16] != 0 }))
}

/// Redo of a sequence's record. Returns the LSN found on the page.
pub(crate) fn redo(pool: &BufferPool, end: Lsn, payload: &[u8]) -> Result<Lsn> {
    let (file, position) = decode(payload)?;
    let pinned = pool.pin_for_redo(page_of(file))?;
    let mut page = pinned.write();
    let met = page_lsn(&page);
    if met < end {
        write(&mut page, position);
        page.set_lsn(end);
    }
    Ok(met)
}

/// A sequence's record in words.
pub(crate) fn describe(payload: &[u8]) -> String {
    decode(payload).map_or_else(
        |error| error.to_string(),
        |(file, position)| format!("file {file} at {} called {}", position.last, position.is_called),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Oid;

    fn def(increment: i64, minimum: i64, maximum: i64, cycle: bool) -> SequenceDef {
        let mut def = SequenceDef::new(Oid(1), Oid(2), "s", Oid(3));
        (def.increment, def.minimum, def.maximum, def.cycle) = (increment, minimum, maximum, cycle);
        def
    }

    #[test]
    fn values_stay_within_bounds_and_cycle_when_told_to() {
        let called = |last| Position { last, is_called: true };
        assert_eq!(following(&def(1, 1, 3, false), Position { last: 1, is_called: false }).unwrap(), 1);
        assert_eq!(following(&def(1, 1, 3, false), called(2)).unwrap(), 3);
        let error = following(&def(1, 1, 3, false), called(3)).unwrap_err();
        assert_eq!(error.message(), "nextval: reached maximum value of sequence \"s\" (3)");
        assert_eq!(following(&def(1, 1, 3, true), called(3)).unwrap(), 1);
        assert_eq!(following(&def(-2, -5, -1, true), called(-5)).unwrap(), -1);
        assert!(following(&def(i64::MAX, 1, i64::MAX, false), called(5)).is_err());
    }

    #[test]
    fn as_many_steps_are_made_as_lie_within_the_bounds() {
        for (increment, minimum, maximum) in [(1, 1, 9), (2, 0, 9), (-3, -7, 8), (20, 1, 9), (-20, 1, 9), (-1, 1, 9)] {
            let def = def(increment, minimum, maximum, true);
            for (from, count) in (minimum..=maximum).flat_map(|from| (0..12).map(move |count| (from, count))) {
                let expected = (0..count).try_fold(from, |last, _| step(&def, last).ok_or(last));
                assert_eq!(
                    steps(&def, from, count),
                    expected.unwrap_or_else(|last| last),
                    "{increment}: {from}, {count}"
                );
            }
        }
        // A loop would not end.
        assert_eq!(steps(&def(1, 1, i64::MAX, false), 1, i64::MAX - 1), i64::MAX);
        assert_eq!(steps(&def(-2, i64::MIN, -1, false), -2, i64::MAX - 1), i64::MIN);
    }

    #[test]
    fn setval_is_held_to_the_bounds() {
        assert!(check_bounds(&def(1, 1, 3, false), 3).is_ok());
        assert_eq!(check_bounds(&def(1, 1, 3, false), 4).unwrap_err().sqlstate(), sqlstate::NUMERIC_VALUE_OUT_OF_RANGE);
    }

    // invariants: row 26
    #[test]
    fn any_bytes_decode_to_a_position_or_an_error() {
        for length in 0..40 {
            let _ = decode(&vec![0xC3; length]);
        }
    }
}
