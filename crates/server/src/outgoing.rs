//! Bytes on their way to a client, each behind the commit it depends on (rule R3).
//!
//! Messages are appended in order. [`Outgoing::require`] raises the log position that everything appended
//! from then on depends on; [`Outgoing::sendable`] is the prefix that may leave at a given durable position.
//!
//! As in PostgreSQL, what a statement has said so far stays here until the client is to hear of it: at the cycle's end, with
//! an error or a notice, when asked to flush, or when much has gathered. A client that finds a first result of several
//! statements reads on for the rest, and would sleep where another of its sessions is to be told to commit.

use std::collections::VecDeque;

use base::limits::MESSAGE_MAX_BYTES;
use base::{Error, ErrorFields, Lsn};

/// A buffer of messages, cut by gates.
#[derive(Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    /// How many of `bytes` have been sent.
    sent: usize,
    /// Ascending in both fields: bytes from `offset` on need the log durable up to `lsn`.
    gates: VecDeque<Gate>,
    /// The highest position ever required.
    required: Lsn,
    /// Where the replies since the last ReadyForQuery begin.
    cycle_start: usize,
    /// How many of `bytes` the client is to hear of without waiting for more.
    flushed: usize,
    /// Bytes up to here were present at the last [`Outgoing::require`]. The commit that later bytes depend on is not
    /// known yet.
    vouched: usize,
    /// An error that ends the session is among what was appended.
    says_farewell: bool,
    /// Memory for the next separate message. It is freed at ReadyForQuery.
    spare_buffer: Option<Vec<u8>>,
}

struct Gate {
    offset: usize,
    lsn: Lsn,
}

/// Room for the texts of an error in its message. The rest is for codes and numbers.
const ERROR_TEXTS_MAX_BYTES: usize = MESSAGE_MAX_BYTES - 4096;

/// More than this is not gathered before it is sent.
const GATHERED_LIMIT_BYTES: usize = 8 * 1024;

/// The memory of a separate message up to this size is kept for the next one.
const KEPT_MESSAGE_BYTES: usize = 256 << 10;

/// Nothing is moved to the front before so many bytes have been sent.
const MOVED_BYTES_MIN: usize = 256 << 10;

/// More bytes than this are seldom moved to the front: others wait meanwhile.
const MOVED_BYTES_MAX: usize = 4 << 20;
/// They are moved when the bytes that have been sent are this many times as many. So the length of the buffer, for a client that reads
/// steadily, is at most `LARGE_MOVE_FACTOR + 1` times what may be unsent.
const LARGE_MOVE_FACTOR: usize = 4;

/// A buffer larger than this is dropped by another thread.
const DROPPED_HERE_MAX_BYTES: usize = 8 << 20;

/// A message that is written outside of the buffer, so that the port is not borrowed while others run.
pub struct SeparateMessage {
    bytes: Vec<u8>,
    /// So many of `bytes` come before the message: room for what is unsent.
    room_bytes: usize,
    /// The message becomes the buffer, and nobody waits while it is copied.
    becomes_buffer: bool,
}

impl SeparateMessage {
    /// Where its body is to be appended.
    pub fn body(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

/// Once all is sent, a buffer larger than this is given back.
const KEPT_CAPACITY_BYTES: usize = 1024;

impl Outgoing {
    /// Bytes that are appended from now on may leave only when the log is durable up to `lsn`. Unsent bytes that were appended since
    /// the last ReadyForQuery wait with them, so that one cycle of replies leaves in one write.
    pub fn require(&mut self, lsn: Lsn) {
        self.vouched = self.bytes.len();
        if lsn <= self.required {
            return;
        }
        self.required = lsn;
        let offset = self.cycle_start.max(self.sent);
        while self.gates.back().is_some_and(|gate| gate.offset > offset) {
            self.gates.pop_back();
        }
        match self.gates.back_mut() {
            Some(last) if last.offset == offset => last.lsn = lsn,
            _ => self.gates.push_back(Gate { offset, lsn }),
        }
    }

    /// The bytes that may leave when the log is durable up to `durable`.
    pub fn sendable(&mut self, durable: Lsn) -> &[u8] {
        self.open_gates(durable);
        // A statement that is suspended between two rows has not told yet what these depend on.
        if self.vouched > self.flushed.max(self.sent) + GATHERED_LIMIT_BYTES {
            self.flushed = self.vouched;
        }
        let end = self.gates.front().map_or(self.flushed, |gate| gate.offset.min(self.flushed));
        &self.bytes[self.sent..end.max(self.sent)]
    }

    fn open_gates(&mut self, durable: Lsn) {
        while self.gates.front().is_some_and(|gate| gate.lsn <= durable) {
            self.gates.pop_front();
        }
    }

    /// The client is to hear of all that has been appended.
    pub fn flush(&mut self) {
        self.flushed = self.bytes.len();
    }

    /// `count` bytes of [`Outgoing::sendable`] have left.
    pub fn consume(&mut self, count: usize) {
        self.sent += count;
        assert!(self.sent <= self.gates.front().map_or(self.bytes.len(), |gate| gate.offset), "sent past a gate");
        if self.sent == self.bytes.len() {
            self.reset();
        }
    }

    /// Moves what is unsent to the front if enough has been sent. To be called when something is to be appended: an answer that is
    /// complete leaves from where it is.
    #[inline]
    fn make_room(&mut self) {
        if self.sent >= MOVED_BYTES_MIN {
            self.move_to_front();
        }
    }

    #[cold]
    fn move_to_front(&mut self) {
        // As many bytes have left since the last move as are moved now, or several times as many. So each byte is moved once on
        // average at most, however many the client has still to read.
        if self.sent >= self.sent_before_move() {
            self.bytes.drain(..self.sent);
            for gate in &mut self.gates {
                gate.offset -= self.sent;
            }
            self.cycle_start = self.cycle_start.saturating_sub(self.sent);
            self.flushed -= self.sent;
            self.vouched = self.vouched.saturating_sub(self.sent);
            self.sent = 0;
        }
    }

    /// So many bytes leave before the rest is moved to the front: as many as the rest, or more where it takes long to move it.
    fn sent_before_move(&self) -> usize {
        let unsent = self.unsent_bytes();
        if unsent <= MOVED_BYTES_MAX { unsent } else { unsent.saturating_mul(LARGE_MOVE_FACTOR) }
    }

    /// The position beyond `durable` that the first byte held back waits for. None if nothing waits for the log any more: what
    /// is still unsent then waits for the client.
    pub fn next_gate(&mut self, durable: Lsn) -> Option<Lsn> {
        self.open_gates(durable);
        self.gates.front().filter(|gate| gate.offset < self.bytes.len()).map(|gate| gate.lsn)
    }

    /// How much has not been sent.
    pub fn unsent_bytes(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Forgets what the client was not to hear of yet, as its connection ends without another word.
    pub fn forget_unflushed(&mut self) {
        let end = self.flushed.max(self.sent);
        self.bytes.truncate(end);
        self.vouched = self.vouched.min(end);
        self.cycle_start = self.cycle_start.min(end);
        self.gates.retain(|gate| gate.offset <= end);
        if self.sent == end {
            self.reset();
        }
    }

    /// Forgets everything: the client is gone.
    pub fn clear(&mut self) {
        self.gates.clear();
        self.reset();
    }

    fn reset(&mut self) {
        self.sent = 0;
        self.cycle_start = 0;
        self.flushed = 0;
        self.vouched = 0;
        // A gate at the end of an empty buffer still holds for what comes next.
        for gate in &mut self.gates {
            gate.offset = 0;
        }
        if self.bytes.capacity() > KEPT_CAPACITY_BYTES {
            drop_buffer(std::mem::take(&mut self.bytes));
        } else {
            self.bytes.clear();
        }
    }

    /// Appends one message whose body `write` appends.
    pub fn message(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.begin(kind);
        write(&mut self.bytes);
        self.finish(start);
    }

    /// Begins a message of about `expected_bytes`. Its body follows in [`SeparateMessage::body`], and nothing is appended here until
    /// then. Either what is unsent is copied when it is done, or the message, whichever is less.
    pub fn begin_separate(&mut self, kind: u8, expected_bytes: usize) -> SeparateMessage {
        let becomes_buffer = expected_bytes >= KEPT_MESSAGE_BYTES && self.unsent_bytes() <= expected_bytes;
        let room_bytes = if becomes_buffer { self.unsent_bytes() } else { 0 };
        let mut bytes = if becomes_buffer { vec![0; room_bytes] } else { self.spare_buffer.take().unwrap_or_default() };
        bytes.extend_from_slice(&[kind, 0, 0, 0, 0]);
        SeparateMessage { bytes, room_bytes, becomes_buffer }
    }

    /// Appends a message that was begun by [`Outgoing::begin_separate`].
    pub fn append_separate(&mut self, message: SeparateMessage) {
        let SeparateMessage { mut bytes, room_bytes, becomes_buffer } = message;
        let length = length_field(bytes.len() - room_bytes - 1);
        bytes[room_bytes + 1..room_bytes + 5].copy_from_slice(&length);
        if becomes_buffer && self.unsent_bytes() <= room_bytes {
            return self.replace_buffer(bytes, room_bytes);
        }
        self.make_room();
        self.bytes.extend_from_slice(&bytes[room_bytes..]);
        if bytes.capacity() <= KEPT_MESSAGE_BYTES {
            bytes.clear();
            self.spare_buffer = Some(bytes);
        } else {
            drop_buffer(bytes);
        }
    }

    /// Makes `bytes` the buffer. Unsent bytes go into the room before the message in it.
    fn replace_buffer(&mut self, mut bytes: Vec<u8>, room_bytes: usize) {
        let start = room_bytes - self.unsent_bytes();
        bytes[start..room_bytes].copy_from_slice(&self.bytes[self.sent..]);
        let (sent, before) = (self.sent, std::mem::replace(&mut self.bytes, bytes));
        let moved = |place: usize| place.saturating_sub(sent) + start;
        self.gates.iter_mut().for_each(|gate| gate.offset = moved(gate.offset));
        for place in [&mut self.cycle_start, &mut self.flushed, &mut self.vouched, &mut self.sent] {
            *place = moved(*place);
        }
        drop_buffer(before);
    }

    /// Appends one message unless `write` fails; then nothing is appended.
    ///
    /// # Errors
    /// Errors of `write`.
    pub fn try_message(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>) -> base::Result<()>) -> base::Result<()> {
        let start = self.begin(kind);
        match write(&mut self.bytes) {
            Ok(()) => {
                self.finish(start);
                Ok(())
            }
            Err(error) => {
                self.bytes.truncate(start - 1);
                Err(error)
            }
        }
    }

    /// Appends bytes that are messages already, and flushes.
    pub fn raw(&mut self, messages: &[u8]) {
        self.make_room();
        self.bytes.extend_from_slice(messages);
        self.flush();
    }

    fn begin(&mut self, kind: u8) -> usize {
        self.make_room();
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.len() - 4
    }

    fn finish(&mut self, length_at: usize) {
        let length = length_field(self.bytes.len() - length_at);
        self.bytes[length_at..length_at + 4].copy_from_slice(&length);
    }

    /// Whether the client was told that, and why, its session ends.
    pub fn says_farewell(&self) -> bool {
        self.says_farewell
    }

    /// Appends an ErrorResponse (`kind` E) or a NoticeResponse (`kind` N), and flushes.
    pub fn error_or_notice(&mut self, kind: u8, severity: &str, error: &Error) {
        self.says_farewell |= severity == "FATAL";
        self.message(kind, |body| write_fields(body, severity, error.fields()));
        self.flush();
    }

    /// Appends ReadyForQuery with the transaction's status (I, T or E), and flushes.
    pub fn ready_for_query(&mut self, status: u8) {
        self.message(b'Z', |body| body.push(status));
        self.cycle_start = self.bytes.len();
        self.spare_buffer = None;
        self.flush();
    }
}

/// The length of a message as it stands in it. A wrong one would have the client take values for messages.
fn length_field(length_bytes: usize) -> [u8; 4] {
    assert!(length_bytes <= MESSAGE_MAX_BYTES, "a message of {length_bytes} bytes was written");
    (length_bytes as u32).to_be_bytes()
}

fn drop_buffer(bytes: Vec<u8>) {
    if bytes.capacity() > DROPPED_HERE_MAX_BYTES {
        sync::drop_on_other_thread(bytes);
    }
}

/// Writes the fields of an error or a notice. Texts that would make the message too long are cut.
fn write_fields(body: &mut Vec<u8>, severity: &str, fields: &ErrorFields) {
    let mut left_bytes = ERROR_TEXTS_MAX_BYTES;
    let mut field = |code: u8, text: &str| {
        let shown = &text[..text.floor_char_boundary(left_bytes)];
        left_bytes -= shown.len();
        body.push(code);
        push_cstr(body, shown);
    };
    field(b'S', severity);
    field(b'V', severity);
    field(b'C', fields.sqlstate.as_str());
    field(b'M', &fields.message);
    let position = fields.position.map(|position| position.to_string());
    let internal_position = fields.internal_position.map(|position| position.to_string());
    for (code, text) in [
        (b'D', &fields.detail),
        (b'H', &fields.hint),
        (b'P', &position),
        (b'p', &internal_position),
        (b'q', &fields.internal_query),
        (b'W', &fields.context),
        (b's', &fields.schema),
        (b't', &fields.table),
        (b'c', &fields.column),
        (b'd', &fields.data_type),
        (b'n', &fields.constraint),
    ] {
        if let Some(text) = text {
            field(code, text);
        }
    }
    field(b'F', fields.origin.file());
    field(b'L', &fields.origin.line().to_string());
    match fields.routine {
        Some(routine) => field(b'R', routine),
        None => field(b'R', &module(fields.origin.file())),
    }
    body.push(0);
}

/// The module that a source file is: `crates/sql/src/session/portal.rs` is `sql::session::portal`.
fn module(file: &str) -> String {
    let path = file.strip_prefix("crates/").unwrap_or(file).trim_end_matches(".rs").trim_end_matches("/mod");
    path.replace("/src", "").replace('/', "::")
}

/// Appends `text` and a zero byte; zero bytes inside are left out, since the protocol can't carry them.
pub fn push_cstr(body: &mut Vec<u8>, text: &str) {
    // A message may hold a text of a hundred megabytes: whole pieces are copied, not byte by byte.
    body.reserve(text.len() + 1);
    text.split('\0').for_each(|piece| body.extend_from_slice(piece.as_bytes()));
    body.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(out: &mut Outgoing, text: &str) {
        out.message(b'C', |body| push_cstr(body, text));
    }

    // invariants: row 11
    #[test]
    fn bytes_leave_in_order_when_their_commit_is_durable() {
        let mut out = Outgoing::default();
        out.ready_for_query(b'I');
        tag(&mut out, "A");
        out.require(Lsn(100));
        out.ready_for_query(b'I');
        out.require(Lsn(90));
        tag(&mut out, "B");
        out.require(Lsn(200));
        out.flush();
        assert_eq!(out.sendable(Lsn(99)), b"Z\0\0\0\x05I");
        out.consume(6);
        assert_eq!(out.next_gate(Lsn(99)), Some(Lsn(100)));
        assert_eq!(out.sendable(Lsn(99)), b"");
        assert_eq!(out.sendable(Lsn(100)), b"C\0\0\0\x06A\0Z\0\0\0\x05I");
        assert_eq!(out.sendable(Lsn(250)).len(), 20);
        out.consume(20);
        assert_eq!(out.next_gate(Lsn(250)), None);
    }

    // invariants: row 40
    #[test]
    fn the_buffer_of_a_client_that_reads_steadily_stays_within_some_times_what_may_be_unsent() {
        for limit in [1 << 20, MOVED_BYTES_MAX, 3 * MOVED_BYTES_MAX] {
            let mut out = Outgoing::default();
            let (message, mut largest, mut made) = ("x".repeat(64 << 10), 0, 0);
            while made < 20 * limit {
                while out.unsent_bytes() < limit {
                    tag(&mut out, &message);
                    made += message.len();
                }
                out.flush();
                largest = largest.max(out.bytes.len());
                let sent = out.sendable(Lsn(1)).len().min(100 << 10);
                out.consume(sent);
            }
            assert!(largest <= (LARGE_MOVE_FACTOR + 1) * limit + (256 << 10), "{largest} of {limit}");
        }
    }

    /// Appends a separate message of so many equal bytes, and returns it as it is sent.
    fn append_separate(out: &mut Outgoing, expected_bytes: usize, fill: u8, length_bytes: usize) -> Vec<u8> {
        let mut message = out.begin_separate(b'D', expected_bytes);
        message.body().extend(vec![fill; length_bytes]);
        out.append_separate(message);
        [&b"D"[..], &(length_bytes as u32 + 4).to_be_bytes(), &vec![fill; length_bytes]].concat()
    }

    #[test]
    fn a_separate_message_takes_its_place_among_the_others() {
        for (sent, expected_bytes) in [0, 3, 6].into_iter().flat_map(|sent| [(sent, 500), (sent, KEPT_MESSAGE_BYTES)]) {
            let mut out = Outgoing::default();
            out.ready_for_query(b'I');
            assert_eq!(out.sendable(Lsn(10)).len(), 6);
            out.consume(sent);
            out.require(Lsn(100));
            let mut rest = b"Z\0\0\0\x05I"[sent..].to_vec();
            tag(&mut out, "A");
            rest.extend_from_slice(b"C\0\0\0\x06A\0");
            rest.extend(append_separate(&mut out, expected_bytes, 7, 500));
            tag(&mut out, "B");
            rest.extend_from_slice(b"C\0\0\0\x06B\0");
            rest.extend(append_separate(&mut out, expected_bytes, 8, 400));
            rest.extend(append_separate(&mut out, 300, 9, 300));
            out.require(Lsn(200));
            out.flush();
            assert_eq!(out.sendable(Lsn(99)), &b"Z\0\0\0\x05I"[sent..]);
            assert_eq!(out.next_gate(Lsn(99)), Some(Lsn(200)));
            assert_eq!(out.sendable(Lsn(200)), rest);
            out.consume(rest.len());
            assert_eq!(out.unsent_bytes(), 0);
        }
    }

    #[test]
    fn bytes_that_leave_while_a_large_message_is_written_are_not_sent_again() {
        let mut out = Outgoing::default();
        tag(&mut out, "A");
        out.ready_for_query(b'I');
        let mut message = out.begin_separate(b'D', KEPT_MESSAGE_BYTES);
        out.consume(8);
        message.body().extend_from_slice(b"large");
        out.append_separate(message);
        out.flush();
        assert_eq!(out.sendable(Lsn::ZERO), b"\0\0\0\x05ID\0\0\0\x09large");
    }

    #[test]
    fn the_memory_of_a_separate_message_is_used_again_within_a_cycle() {
        let mut out = Outgoing::default();
        append_separate(&mut out, 100, 7, 100_000);
        let message = out.begin_separate(b'D', 100);
        assert!(message.bytes.capacity() >= 100_000);
        out.append_separate(message);
        append_separate(&mut out, 100, 7, 2 * KEPT_MESSAGE_BYTES);
        assert!(out.spare_buffer.is_none());
        append_separate(&mut out, 100, 7, 100);
        out.ready_for_query(b'I');
        assert!(out.spare_buffer.is_none());
    }

    #[test]
    fn of_a_large_message_and_what_is_unsent_the_smaller_is_copied() {
        for (unsent_bytes, length_bytes) in
            [(0, 300 << 10), (100 << 10, 300 << 10), (1 << 20, 300 << 10), (1 << 20, 2 << 20)]
        {
            let mut out = Outgoing::default();
            out.message(b'D', |body| body.extend(vec![6; unsent_bytes]));
            let before = out.unsent_bytes();
            let mut message = out.begin_separate(b'D', length_bytes);
            message.body().extend(vec![8; length_bytes]);
            let memory = message.bytes.as_ptr();
            out.append_separate(message);
            assert_eq!(out.bytes.as_ptr() == memory, before <= length_bytes);
            out.flush();
            assert_eq!(out.sendable(Lsn::ZERO).len(), 5 + unsent_bytes + 5 + length_bytes);
            assert!(out.sendable(Lsn::ZERO).ends_with(&vec![8; length_bytes]));
            // Nothing is moved before as much has left.
            out.consume(100_000);
            assert_eq!(out.sent, 100_000);
        }
    }

    #[test]
    fn what_only_the_client_holds_up_waits_for_no_commit() {
        let mut out = Outgoing::default();
        out.ready_for_query(b'I');
        out.require(Lsn(100));
        out.ready_for_query(b'I');
        assert_eq!(out.next_gate(Lsn(99)), Some(Lsn(100)));
        assert_eq!(out.next_gate(Lsn(100)), None);
        assert_eq!(out.sendable(Lsn(100)).len(), 12);
    }

    #[test]
    fn what_has_left_is_not_called_back() {
        let mut out = Outgoing::default();
        tag(&mut out, "A");
        out.flush();
        let sendable = out.sendable(Lsn::ZERO).len();
        out.consume(sendable - 1);
        out.require(Lsn(10));
        tag(&mut out, "B");
        out.flush();
        assert_eq!(out.sendable(Lsn(9)), b"");
        assert_eq!(out.sendable(Lsn(10)).len(), 8);
    }

    #[test]
    fn a_gate_at_the_end_holds_for_what_comes_next() {
        let mut out = Outgoing::default();
        out.ready_for_query(b'I');
        out.require(Lsn(10));
        let sendable = out.sendable(Lsn(5)).len();
        assert_eq!(sendable, 6);
        out.consume(sendable);
        tag(&mut out, "B");
        out.flush();
        assert_eq!(out.sendable(Lsn(9)), b"");
        assert_eq!(out.sendable(Lsn(10)).len(), 7);
    }

    #[test]
    fn zero_bytes_inside_a_text_are_left_out() {
        let mut body = Vec::new();
        push_cstr(&mut body, "\0a\0\0b");
        push_cstr(&mut body, "");
        assert_eq!(body, b"ab\0\0");
    }

    #[test]
    fn a_message_that_fails_leaves_nothing_behind() {
        let mut out = Outgoing::default();
        tag(&mut out, "A");
        let failed = out.try_message(b'D', |body| {
            body.extend_from_slice(b"half");
            Err(Error::internal("no"))
        });
        assert!(failed.is_err());
        tag(&mut out, "B");
        out.flush();
        assert_eq!(out.sendable(Lsn::ZERO), b"C\0\0\0\x06A\0C\0\0\0\x06B\0");
    }

    #[test]
    fn what_a_statement_says_waits_for_the_rest_unless_it_is_a_notice_or_much() {
        let mut out = Outgoing::default();
        tag(&mut out, "A");
        assert_eq!(out.sendable(Lsn::ZERO), b"");
        out.error_or_notice(b'N', "NOTICE", &Error::internal("still at it"));
        let with_notice = out.sendable(Lsn::ZERO).len();
        assert!(with_notice > 20);
        out.consume(with_notice);
        tag(&mut out, "B");
        assert_eq!(out.sendable(Lsn::ZERO), b"");
        out.ready_for_query(b'I');
        let all = out.sendable(Lsn::ZERO).len();
        assert_eq!(all, 7 + 6);
        out.consume(all);
        out.message(b'D', |body| body.extend([0; GATHERED_LIMIT_BYTES]));
        out.require(Lsn::ZERO);
        assert!(out.sendable(Lsn::ZERO).len() > GATHERED_LIMIT_BYTES);
    }

    // invariants: row 11
    #[test]
    fn much_that_nobody_has_vouched_for_does_not_leave() {
        let mut out = Outgoing::default();
        out.message(b'D', |body| body.extend([0; 2 * GATHERED_LIMIT_BYTES]));
        assert_eq!(out.sendable(Lsn(50)), b"");
        // The row is of a commit that is not durable.
        out.require(Lsn(100));
        assert_eq!(out.sendable(Lsn(50)), b"");
        assert!(out.sendable(Lsn(100)).len() > 2 * GATHERED_LIMIT_BYTES);
    }

    #[test]
    fn an_end_without_another_word_takes_what_was_not_flushed_with_it() {
        let mut out = Outgoing::default();
        out.ready_for_query(b'I');
        tag(&mut out, "A");
        out.forget_unflushed();
        assert_eq!(out.sendable(Lsn::ZERO), b"Z\0\0\0\x05I");
        out.consume(6);
        tag(&mut out, "B");
        out.forget_unflushed();
        assert_eq!(out.unsent_bytes(), 0);
    }

    #[test]
    fn a_large_answer_that_leaves_in_pieces_is_moved_about_once() {
        const PIECE_BYTES: usize = 300 * 1024;
        let mut out = Outgoing::default();
        out.message(b'D', |body| body.extend(vec![0; 100 * PIECE_BYTES]));
        out.flush();
        let (total, mut moved) = (out.unsent_bytes(), 0);
        while out.unsent_bytes() > PIECE_BYTES {
            let count = out.sendable(Lsn::ZERO).len().min(PIECE_BYTES);
            out.consume(count);
            tag(&mut out, "more");
            moved += if out.sent == 0 { out.bytes.len() } else { 0 };
        }
        assert!((1..=total).contains(&moved), "{moved} bytes were moved for {total}");
    }

    #[test]
    fn an_answer_that_is_complete_leaves_from_where_it_is() {
        let mut out = Outgoing::default();
        out.message(b'D', |body| body.extend(vec![0; 10 * MOVED_BYTES_MAX]));
        out.flush();
        let total = out.sendable(Lsn::ZERO).len();
        out.consume(total - 100);
        assert_eq!((out.sent, out.bytes.len()), (total - 100, total));
        tag(&mut out, "A");
        assert_eq!((out.sent, out.unsent_bytes()), (0, 107));
    }

    #[test]
    fn an_end_without_another_word_forgets_much_that_was_vouched_for() {
        let mut out = Outgoing::default();
        out.ready_for_query(b'I');
        out.message(b'D', |body| body.extend([0; 2 * GATHERED_LIMIT_BYTES]));
        out.require(Lsn(1));
        out.forget_unflushed();
        out.flush();
        assert_eq!(out.sendable(Lsn(1)), b"Z\0\0\0\x05I");
    }

    #[test]
    fn an_error_tells_where_it_was_made() {
        let mut body = Vec::new();
        write_fields(&mut body, "ERROR", Error::internal("no").fields());
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(text.contains("\0Fcrates/server/src/outgoing.rs\0L"), "{text:?}");
        assert!(text.ends_with("\0Rserver::outgoing\0\0"), "{text:?}");
    }
}
