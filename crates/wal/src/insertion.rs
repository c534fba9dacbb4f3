//! Insertion: place a record under a short latch, copy it outside, publish that it is complete.
//!
//! ```text
//!        written              inserted                      reserved
//!  ---------+--------------------+-----+~~~~~~+------+~~~~~~~~~+------> position
//!   in files|      complete      |  being copied | done | copied |
//! ```
//!
//! A reservation takes a *ticket*, numbered in log order. When its bytes are complete, the inserter stores its end in the
//! slot of its ticket, and is done: no latch, no read-modify-write. A thread that needs to know how far the log is complete
//! walks the slots from the last known ticket on ([`Insertion::advance`]). In practice this is the leader of a flush, once
//! for all its members. The slots are used in rounds. A value stored in the current round is ahead of the prefix; a value
//! that is left from the round before is not.
//!
//! A reservation never waits for room in the ring; the copy does, outside the latch, and in pieces if need be. So what
//! runs under the latch is short, and a record may be larger than the ring: its completed pieces are published (and
//! written out to make room) while the rest is still to come. The earliest incomplete inserter never waits for anyone
//! but the writer, and the writer waits for nobody: that is why a tiny ring can't deadlock.

use base::Lsn;
use sync::atomic::{AtomicU64, Ordering};
use sync::{CachePadded, ExclusiveLatch, LatchClass, Mutex};

use crate::record::{self, HEADER_BYTES};
use crate::ring::Ring;
use crate::{Epoch, Inserted, RecordHead};

/// Guards [`Place`]: where the next record goes. Last in every order of latches but for what `under_latch` closures take.
static WAL_INSERT: LatchClass = LatchClass::new("WALInsert", 200);

/// Records that may be placed beyond the known complete prefix.
#[cfg(not(shuttle))]
const SLOTS: u64 = 8192;
#[cfg(shuttle)]
const SLOTS: u64 = 4;

/// In a slot: the record is complete, not only the piece before the position.
const WHOLE: u64 = 1;

/// Where the next record goes.
struct Place {
    reserved: u64,
    ticket: u64,
}

/// How far the log is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// The end of the contiguous completed bytes.
    pub inserted: u64,
    /// The end of the last whole record in them.
    pub whole: u64,
}

/// The part of the log that makes room in the ring for an inserter.
pub(crate) trait MakeRoom {
    /// Up to here the log is in the files, so its place in the ring is free.
    fn written(&self) -> u64;
    /// Returns once `written` is at least `position`; writes out itself.
    fn write_at_least(&self, position: u64);
}

/// The state that an inserter touches while it places its record: one line of the processor's cache.
struct Front {
    place: ExclusiveLatch<Place>,
    /// A copy of [`Place::reserved`] for those who don't hold the latch.
    reserved: AtomicU64,
    /// A copy of [`Insertion::walk`]'s ticket, for those who don't walk.
    walked: AtomicU64,
}

pub(crate) struct Insertion {
    front: CachePadded<Front>,
    /// See the module's comment.
    slots: Box<[AtomicU64]>,
    /// The next ticket to be seen complete, and the prefix so far. Guards the walk. Short; nothing is taken under it.
    walk: Mutex<(u64, Prefix)>,
    first_position: u64,
    epoch: Epoch,
    ring: Ring,
}

impl Insertion {
    /// A log that goes on at `position`, a multiple of eight.
    pub fn new(position: u64, epoch: Epoch, buffers_bytes: usize) -> Insertion {
        Insertion {
            front: CachePadded::new(Front {
                place: ExclusiveLatch::new(&WAL_INSERT, Place { reserved: position, ticket: 0 }),
                reserved: AtomicU64::new(position),
                walked: AtomicU64::new(0),
            }),
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            walk: Mutex::new((0, Prefix { inserted: position, whole: position })),
            first_position: position,
            epoch,
            ring: Ring::new(buffers_bytes),
        }
    }

    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    pub fn reserved(&self) -> u64 {
        self.front.reserved.load(Ordering::Acquire)
    }

    /// Records and bytes placed so far.
    pub fn counts(&self) -> (u64, u64) {
        let place = self.front.place.lock();
        (place.ticket, place.reserved - self.first_position)
    }

    /// Whether the latch is free at this moment.
    pub fn nobody_is_placing(&self) -> bool {
        self.front.place.try_lock().is_some()
    }

    /// Runs `f` with the end of the last record placed, while no other can be placed.
    pub fn at_insertion_point<R>(&self, f: impl FnOnce(Lsn) -> R) -> R {
        let place = self.front.place.lock();
        f(Lsn(place.reserved))
    }

    /// See [`crate::Wal::insert_then`].
    #[inline]
    pub fn insert<R>(
        &self,
        head: RecordHead,
        parts: &[&[u8]],
        room: &impl MakeRoom,
        under_latch: impl FnOnce(Lsn) -> R,
    ) -> (Inserted, R) {
        let payload_bytes = parts.iter().map(|part| part.len()).sum::<usize>();
        assert!(payload_bytes <= record::PAYLOAD_MAX_BYTES, "a record is at most 1 GiB long");
        let size_bytes = record::size_in_log(payload_bytes) as u64;
        let payload_checksum = record::checksum_of_parts(parts);

        let (start, ticket, result) = {
            let mut place = self.front.place.lock();
            while place.ticket - self.front.walked.load(Ordering::Acquire) >= SLOTS {
                drop(place);
                self.wait_for_slot();
                place = self.front.place.lock();
            }
            let (start, ticket) = (place.reserved, place.ticket);
            place.reserved = start + size_bytes;
            place.ticket = ticket + 1;
            self.front.reserved.store(start + size_bytes, Ordering::Release);
            (start, ticket, under_latch(Lsn(start + size_bytes)))
        };

        let header = record::encode_header(head, self.epoch, start, payload_bytes, payload_checksum);
        let end = start + size_bytes;
        if end <= room.written() + self.ring.capacity() {
            self.copy_at_once(start, end, &header, parts);
        } else {
            self.copy_in_pieces(start, end, ticket, &header, parts, room);
        }
        self.slots[(ticket % SLOTS) as usize].store(end | WHOLE, Ordering::Release);
        (Inserted { start: Lsn(start), end: Lsn(end) }, result)
    }

    #[inline]
    #[allow(unsafe_code)]
    fn copy_at_once(&self, start: u64, end: u64, header: &[u8; HEADER_BYTES], parts: &[&[u8]]) {
        // SAFETY: the caller has reserved `start` to `end`, which is what header and parts take up with their padding, has
        // not yet published them, and has found `end` within `written + capacity`, read with acquire: the former content
        // has been written out.
        unsafe { self.ring.copy_padded(start, end, header, parts.iter().copied()) };
    }

    #[cold]
    #[inline(never)]
    #[allow(unsafe_code)]
    fn copy_in_pieces(
        &self,
        start: u64,
        end: u64,
        ticket: u64,
        header: &[u8; HEADER_BYTES],
        parts: &[&[u8]],
        room: &impl MakeRoom,
    ) {
        let padding = [0; record::ALIGNMENT];
        let mut position = start;
        let mut copy = |mut piece: &[u8]| {
            while !piece.is_empty() {
                let free = (room.written() + self.ring.capacity()).saturating_sub(position);
                if free == 0 {
                    // The bytes copied so far may be written out once everything before them is complete too.
                    debug_assert!(
                        position.is_multiple_of(record::ALIGNMENT as u64),
                        "positions in files are whole words"
                    );
                    self.slots[(ticket % SLOTS) as usize].store(position, Ordering::Release);
                    room.write_at_least(position + record::ALIGNMENT as u64 - self.ring.capacity());
                    continue;
                }
                let (now, later) = piece.split_at(piece.len().min(free as usize));
                // SAFETY: between the `start` and the `end` reserved and not yet published, and not beyond
                // `written + capacity`, read with acquire: the former content has been written out.
                unsafe { self.ring.copy_in(position, now) };
                position += now.len() as u64;
                piece = later;
            }
        };
        copy(header);
        parts.iter().copied().for_each(&mut copy);
        copy(&padding[..size_of_padding(header)]);
        debug_assert_eq!(position, end);
    }

    /// How far the log is complete now.
    pub fn advance(&self) -> Prefix {
        let mut walk = self.walk.lock();
        let (mut ticket, mut prefix) = *walk;
        loop {
            let published = self.slots[(ticket % SLOTS) as usize].load(Ordering::Acquire);
            let position = published & !WHOLE;
            if published & WHOLE == 0 {
                // Never used, or a piece of a record whose rest is still to come.
                prefix.inserted = prefix.inserted.max(position);
                break;
            }
            if position <= prefix.whole {
                // The slot still holds the end that its user of the round before stored.
                break;
            }
            prefix = Prefix { inserted: position, whole: position };
            ticket += 1;
        }
        *walk = (ticket, prefix);
        self.front.walked.store(ticket, Ordering::Release);
        prefix
    }

    #[cold]
    #[inline(never)]
    fn wait_for_slot(&self) {
        let before = self.front.walked.load(Ordering::Acquire);
        self.advance();
        if self.front.walked.load(Ordering::Acquire) == before {
            sync::thread::yield_now();
        }
    }
}

fn size_of_padding(header: &[u8; HEADER_BYTES]) -> usize {
    let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
    record::size_in_log(length - HEADER_BYTES) - length
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use std::sync::atomic::AtomicBool;

    use base::Xid;

    use super::*;
    use crate::RmgrId;

    const BEGIN: u64 = 4096;

    /// Writes to memory.
    struct Log<'a> {
        insertion: &'a Insertion,
        written: AtomicU64,
        bytes: Mutex<Vec<u8>>,
    }

    impl<'a> Log<'a> {
        fn new(insertion: &'a Insertion) -> Log<'a> {
            Log { insertion, written: AtomicU64::new(BEGIN), bytes: Mutex::new(Vec::new()) }
        }

        #[allow(unsafe_code)]
        fn write_out(&self) {
            let mut bytes = self.bytes.lock();
            let from = self.written();
            let to = self.insertion.advance().inserted;
            // SAFETY: completed, and not used again before `written` passes it.
            let [first, second] = unsafe { self.insertion.ring().pieces(from, to) };
            bytes.extend(first);
            bytes.extend(second);
            self.written.store(to, Ordering::Release);
        }
    }

    impl MakeRoom for Log<'_> {
        fn written(&self) -> u64 {
            self.written.load(Ordering::Acquire)
        }

        fn write_at_least(&self, position: u64) {
            while self.written() < position {
                self.write_out();
                sync::thread::yield_now();
            }
        }
    }

    // invariants: row 10
    #[test]
    fn records_of_many_threads_lie_whole_and_in_order_though_the_ring_is_smaller_than_some() {
        let insertion = Insertion::new(BEGIN, Epoch(7), 256);
        let log = Log::new(&insertion);
        let done = AtomicBool::new(false);
        let ends: Vec<Vec<(u64, u64, Vec<u8>)>> = std::thread::scope(|scope| {
            let inserters: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let (insertion, log) = (&insertion, &log);
                    scope.spawn(move || {
                        let insert = |round: u64| {
                            let payload = vec![(thread * 50 + round) as u8; (round * 37 % 900) as usize];
                            let head = RecordHead { rmgr: RmgrId::HEAP, info: 0, xid: Xid(thread) };
                            let (first, second) = payload.split_at(payload.len() / 3);
                            let (inserted, end) = insertion.insert(head, &[first, second], log, |end| end);
                            assert_eq!(inserted.end, end);
                            (inserted.start.0, inserted.end.0, payload)
                        };
                        (0..200).map(insert).collect()
                    })
                })
                .collect();
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    log.write_out();
                }
            });
            let ends = inserters.into_iter().map(|inserter| inserter.join().unwrap()).collect();
            done.store(true, Ordering::Relaxed);
            ends
        });
        log.write_out();
        assert_eq!(insertion.advance(), Prefix { inserted: insertion.reserved(), whole: insertion.reserved() });
        let bytes = log.bytes.lock();
        let mut all: Vec<_> = ends.into_iter().flatten().collect();
        all.sort();
        let mut position = BEGIN;
        for (start, end, payload) in all {
            assert_eq!(start, position);
            let record = record::decode(&bytes[(start - BEGIN) as usize..], Lsn(start)).expect("a whole record");
            assert_eq!((record.end.0, record.payload, record.epoch), (end, &payload[..], Epoch(7)));
            position = end;
        }
        assert_eq!(position, insertion.reserved());
    }

    #[test]
    fn nothing_beyond_an_incomplete_record_counts_as_inserted() {
        let insertion = Insertion::new(BEGIN, Epoch(1), 4096);
        let log = Log::new(&insertion);
        let head = RecordHead { rmgr: RmgrId::HEAP, info: 0, xid: Xid(3) };
        let mut inner_end = 0;
        // The closure of the first record runs when its place is taken and its bytes are not there.
        insertion.insert(head, &[b"outer"], &log, |_| {
            assert_eq!(insertion.advance().inserted, BEGIN);
            inner_end = insertion.reserved();
        });
        assert_eq!(insertion.advance(), Prefix { inserted: inner_end, whole: inner_end });
        for _ in 0..3 * SLOTS {
            log.write_at_least(insertion.reserved().saturating_sub(2048));
            insertion.insert(head, &[], &log, |_| ());
        }
        assert_eq!(insertion.advance().whole, BEGIN + 32 + 3 * SLOTS * 24);
    }
}
