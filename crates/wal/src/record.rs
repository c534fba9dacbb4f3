//! How a record lies in the log.
//!
//! ```text
//!  0      4      8             16   17   18     20      24
//!  +------+------+-------------+----+----+------+-------+-----------------+---------+
//!  |length|crc32c| xid         |rmgr|info| zero | epoch | payload         | padding |
//!  +------+------+-------------+----+----+------+-------+-----------------+---------+
//! ```
//!
//! All numbers are little-endian. `length` counts header and payload; zero bytes pad the record to a multiple of
//! eight. The checksum covers the payload, then the position of the record in the log (8 bytes), then the header
//! without the checksum itself. The position keeps the bytes of a recycled segment from ever being taken for
//! records; the epoch keeps those of an earlier start, behind a torn tail, from coming back to life.

use base::{Lsn, Xid};

use crate::checksum;

/// Whose record it is: which redo handler reads its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RmgrId(pub u8);

impl RmgrId {
    /// The log itself: batch marks and ends of recovery. Redo never sees these.
    pub const WAL: RmgrId = RmgrId(0);
    /// Commits, aborts, prepares.
    pub const XACT: RmgrId = RmgrId(1);
    /// Tuples.
    pub const HEAP: RmgrId = RmgrId(2);
    /// Index entries.
    pub const BTREE: RmgrId = RmgrId(3);
    /// Files, catalog version, checkpoints.
    pub const ENGINE: RmgrId = RmgrId(4);
    /// Pages as such.
    pub const BUFFER: RmgrId = RmgrId(5);
    /// Sequences.
    pub const SEQUENCE: RmgrId = RmgrId(6);
}

/// The number of a start of the database: every record carries the one it was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

impl Epoch {
    /// The epoch of a new log.
    pub const FIRST: Epoch = Epoch(1);
}

/// The properties of a record that its inserter gives besides the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// The resource manager that the record belongs to.
    pub rmgr: RmgrId,
    /// The record's kind, in its resource manager's own numbers.
    pub info: u8,
    /// The transaction it belongs to, or [`Xid::INVALID`].
    pub xid: Xid,
}

/// Where a record was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Its first byte.
    pub start: Lsn,
    /// Its end, exclusive: its name everywhere else (CSN, page LSN, gates).
    pub end: Lsn,
}

/// A record as read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its first byte.
    pub start: Lsn,
    /// Its end, exclusive.
    pub end: Lsn,
    /// The start of the database it was written in.
    pub epoch: Epoch,
    /// Owner, kind and transaction.
    pub head: RecordHead,
    /// The bytes its inserter gave, its parts joined.
    pub payload: &'a [u8],
}

/// Bytes before a record's payload.
pub(crate) const HEADER_BYTES: usize = 24;
/// Records begin at multiples of this.
pub(crate) const ALIGNMENT: usize = 8;
/// The longest payload of one record.
pub const PAYLOAD_MAX_BYTES: usize = (1 << 30) - HEADER_BYTES;

/// [`RmgrId::WAL`]: says up to where the log was durable when the batch it belongs to was written (8 bytes).
pub(crate) const INFO_BATCH_MARK: u8 = 1;
/// [`RmgrId::WAL`]: the first record of an epoch, where the log of the epoch before (4 bytes) was found to end.
pub(crate) const INFO_END_OF_RECOVERY: u8 = 2;

/// Bytes of log taken by a record whose payload has `payload_bytes`.
pub(crate) const fn size_in_log(payload_bytes: usize) -> usize {
    (HEADER_BYTES + payload_bytes + ALIGNMENT - 1) & !(ALIGNMENT - 1)
}

/// The checksum of a payload's parts: the beginning of the record's checksum, which needs no position yet.
#[inline]
pub(crate) fn checksum_of_parts(parts: &[&[u8]]) -> u32 {
    parts.iter().fold(0, |checksum, part| checksum::extend(checksum, part))
}

/// The header of a record at `start` whose payload has this length and checksum.
#[inline]
pub(crate) fn encode_header(
    head: RecordHead,
    epoch: Epoch,
    start: u64,
    payload_bytes: usize,
    payload_checksum: u32,
) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[0..4].copy_from_slice(&((HEADER_BYTES + payload_bytes) as u32).to_le_bytes());
    header[8..16].copy_from_slice(&head.xid.0.to_le_bytes());
    header[16] = head.rmgr.0;
    header[17] = head.info;
    header[20..24].copy_from_slice(&epoch.0.to_le_bytes());
    let checksum = checksum_with_header(payload_checksum, &header, start);
    header[4..8].copy_from_slice(&checksum.to_le_bytes());
    header
}

#[inline]
fn checksum_with_header(payload_checksum: u32, header: &[u8; HEADER_BYTES], start: u64) -> u32 {
    let mut covered = [0; 32];
    covered[0..8].copy_from_slice(&start.to_le_bytes());
    covered[8..24].copy_from_slice(&header[8..24]);
    covered[24..28].copy_from_slice(&header[0..4]);
    checksum::extend(payload_checksum, &covered)
}

/// The result of an examination of some bytes of the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Examined<'a> {
    /// A record; its bytes in the log are `end - start`.
    Valid(Record<'a>),
    /// Perhaps the beginning of a record that takes so many bytes of log.
    NeedsBytes(usize),
    /// No record.
    Invalid,
}

/// Looks at `bytes`, which lie at `at` in the log, as the beginning of a record.
pub(crate) fn examine(bytes: &[u8], at: u64) -> Examined<'_> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Examined::NeedsBytes(HEADER_BYTES);
    };
    let length = u32_at(header, 0) as usize;
    if !(HEADER_BYTES..=HEADER_BYTES + PAYLOAD_MAX_BYTES).contains(&length)
        || header[18..20] != [0, 0]
        || !at.is_multiple_of(ALIGNMENT as u64)
        || at.checked_add(size_in_log(length - HEADER_BYTES) as u64).is_none()
    {
        return Examined::Invalid;
    }
    let size_bytes = size_in_log(length - HEADER_BYTES);
    if bytes.len() < size_bytes {
        return Examined::NeedsBytes(size_bytes);
    }
    let payload = &bytes[HEADER_BYTES..length];
    if checksum_with_header(checksum::extend(0, payload), header, at) != u32_at(header, 4) {
        return Examined::Invalid;
    }
    match decode_verified(bytes, at) {
        Some(record) => Examined::Valid(record),
        None => Examined::Invalid,
    }
}

/// The record at the beginning of `bytes`, of which [`examine`] has said that it is valid.
pub(crate) fn decode_verified(bytes: &[u8], at: u64) -> Option<Record<'_>> {
    let header = bytes.first_chunk::<HEADER_BYTES>()?;
    let length = u32_at(header, 0) as usize;
    Some(Record {
        start: Lsn(at),
        end: Lsn(at + size_in_log(length.checked_sub(HEADER_BYTES)?) as u64),
        epoch: Epoch(u32_at(header, 20)),
        head: RecordHead { rmgr: RmgrId(header[16]), info: header[17], xid: Xid(u64_at(header, 8)) },
        payload: bytes.get(HEADER_BYTES..length)?,
    })
}

/// Decodes the record at the beginning of `bytes`, which lie at `at` in the log; `None` if there is no valid one.
/// Takes any bytes: never panics.
pub fn decode(bytes: &[u8], at: Lsn) -> Option<Record<'_>> {
    match examine(bytes, at.0) {
        Examined::Valid(record) => Some(record),
        Examined::NeedsBytes(_) | Examined::Invalid => None,
    }
}

impl Record<'_> {
    /// The position up to which the log was durable when this record's batch was written, if it is a batch mark.
    pub fn durable_when_written(&self) -> Option<Lsn> {
        let is_mark = self.head.rmgr == RmgrId::WAL && self.head.info == INFO_BATCH_MARK;
        is_mark.then(|| self.payload.first_chunk().map(|bytes| Lsn(u64::from_le_bytes(*bytes)))).flatten()
    }

    /// Whether this is the first record of an epoch.
    pub fn begins_epoch(&self) -> bool {
        self.head.rmgr == RmgrId::WAL && self.head.info == INFO_END_OF_RECOVERY
    }
}

fn u32_at(bytes: &[u8; HEADER_BYTES], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("a range of four bytes"))
}

fn u64_at(bytes: &[u8; HEADER_BYTES], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("a range of eight bytes"))
}

const _: () = assert!(HEADER_BYTES.is_multiple_of(ALIGNMENT) && ALIGNMENT.is_power_of_two());

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(head: RecordHead, epoch: Epoch, at: u64, parts: &[&[u8]]) -> Vec<u8> {
        let payload: Vec<u8> = parts.concat();
        let mut bytes = encode_header(head, epoch, at, payload.len(), checksum_of_parts(parts)).to_vec();
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        bytes
    }

    prop_compose! {
        fn records()(
            rmgr in any::<u8>(), info in any::<u8>(), xid in any::<u64>(), epoch in any::<u32>(), at in 0..u64::MAX >> 8,
            payload in prop::collection::vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>(),
        ) -> (RecordHead, Epoch, u64, Vec<u8>, usize) {
            let cut = cut.index(payload.len() + 1);
            (RecordHead { rmgr: RmgrId(rmgr), info, xid: Xid(xid) }, Epoch(epoch), at * 8, payload, cut)
        }
    }

    proptest! {
        #[test]
        fn a_record_reads_back_as_inserted_however_its_payload_was_cut((head, epoch, at, payload, cut) in records()) {
            let (first, second) = payload.split_at(cut);
            let bytes = encode(head, epoch, at, &[first, second]);
            prop_assert_eq!(bytes.len(), size_in_log(payload.len()));
            let end = Lsn(at + bytes.len() as u64);
            let expected = Record { start: Lsn(at), end, epoch, head, payload: &payload };
            prop_assert_eq!(decode(&bytes, Lsn(at)), Some(expected));
        }

        #[test]
        fn a_record_with_any_bit_flipped_or_elsewhere_is_none(
            (head, epoch, at, payload, _) in records(), bit in any::<prop::sample::Index>(), other in any::<u64>(),
        ) {
            let mut bytes = encode(head, epoch, at, &[&payload]);
            prop_assume!(other & !7 != at);
            prop_assert_eq!(decode(&bytes, Lsn(other & !7)), None);
            let bit = bit.index((HEADER_BYTES + payload.len()) * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode(&bytes, Lsn(at)), None);
        }

        #[test]
        fn a_part_of_a_record_asks_for_the_rest((head, epoch, at, payload, _) in records(), keep in any::<prop::sample::Index>()) {
            let bytes = encode(head, epoch, at, &[&payload]);
            let part = &bytes[..keep.index(bytes.len())];
            let expected = if part.len() < HEADER_BYTES { HEADER_BYTES } else { bytes.len() };
            prop_assert_eq!(examine(part, at), Examined::NeedsBytes(expected));
        }

        // invariants: row 26
        #[test]
        fn any_bytes_anywhere_are_decoded_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in any::<u64>()) {
            let _ = decode(&bytes, Lsn(at));
            let _ = decode_verified(&bytes, at);
        }
    }

    #[test]
    fn the_header_is_as_the_readme_documents_it() {
        let head = RecordHead { rmgr: RmgrId(0x11), info: 0x22, xid: Xid(0x0807_0605_0403_0201) };
        let bytes = encode(head, Epoch(0x0D0C_0B0A), 0x100, &[b"abc"]);
        assert_eq!(bytes[0..4], [27, 0, 0, 0]);
        assert_eq!(bytes[8..24], [1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x22, 0, 0, 0x0A, 0x0B, 0x0C, 0x0D]);
        assert_eq!(bytes[24..], [b'a', b'b', b'c', 0, 0, 0, 0, 0]);
        let mut covered = b"abc".to_vec();
        covered.extend(0x100_u64.to_le_bytes());
        covered.extend(&bytes[8..24]);
        covered.extend(&bytes[0..4]);
        covered.extend([0; 4]);
        assert_eq!(bytes[4..8], crc32c::crc32c(&covered).to_le_bytes());
    }

    #[test]
    fn zeros_are_no_record() {
        assert_eq!(examine(&[0; 64], 4096), Examined::Invalid);
    }
}
