//! Large values: compressed in place, or moved out of their row.
//!
//! A row longer than [`ROW_TARGET_BYTES`] has its longest values compressed (lz4) one after the other, and if that is not
//! enough moved to the table's overflow heap, the longest first. There a value is cut into chunks, each a row
//!
//! ```text
//! u64 and u32 name the value, u32 chunk number (all big endian), bytes
//! ```
//!
//! whose first 16 bytes are also its key in the overflow index. A value is named by the xid that wrote it and a number of
//! the session's, so that no counter needs to be logged. Chunks are inserted and deleted by the transactions that insert
//! and delete the row they belong to, so that vacuum sees both die at once; they are read whatever the snapshot says, as
//! who can see the row can see its values. An update hands values on to the new version that it doesn't assign.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, Result, Tid};
use btree::BTree;
use clog::TxnCtx;
use heap::Heap;
use lockmgr::WaitPolicy;
use smallvec::SmallVec;
use sync::Work;
use sync::atomic::{AtomicBool, Ordering};

use schema::row::{
    ColumnSet, Datum, LEAD_COMPRESSED, LEAD_LONG, LEAD_OUT_OF_LINE, OUT_OF_LINE_BYTES, PhysicalType, RowView,
    StoredValue, encode_row, encode_stored,
};

/// Rows up to this length are left as they are.
pub(crate) const ROW_TARGET_BYTES: usize = 2000;
/// Bytes of a value in a chunk: two chunks fill a page.
const CHUNK_BYTES: usize = 3960;
const CHUNK_HEAD_BYTES: usize = 16;
/// Values up to this length are not worth compressing or moving.
const SMALL_BYTES: usize = 64;

const _: () = assert!(CHUNK_HEAD_BYTES + CHUNK_BYTES <= heap::PAYLOAD_MAX_BYTES);

/// The heap of a table's values that are too large for a row, and its index.
pub(crate) struct Overflow {
    pub(crate) heap: Arc<Heap>,
    pub(crate) index: Arc<BTree>,
    used: AtomicBool,
}

/// The name of a value that was moved out of its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ValueId(u64, u32);

/// Where a value that was moved out lies.
#[derive(Clone, Copy)]
struct Place {
    id: ValueId,
    plain_bytes: usize,
    stored_bytes: usize,
}

impl Overflow {
    pub(crate) fn new(heap: Arc<Heap>, index: Arc<BTree>) -> Result<Overflow> {
        Ok(Overflow { heap, index, used: AtomicBool::new(false) })
    }

    /// Whether any value was ever moved here: if not, no row needs to be looked at for such.
    #[inline]
    pub(crate) fn is_used(&self) -> Result<bool> {
        if self.used.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let used = self.heap.block_count()? > 0;
        if used {
            self.used.store(true, Ordering::Relaxed);
        }
        Ok(used)
    }

    fn write(&self, ctx: &TxnCtx<'_>, id: ValueId, bytes: &[u8]) -> Result<()> {
        self.used.store(true, Ordering::Relaxed);
        let rows: Vec<Vec<u8>> = bytes
            .chunks(CHUNK_BYTES)
            .enumerate()
            .map(|(number, chunk)| [&chunk_key(id, number as u32)[..], chunk].concat())
            .collect();
        let payloads: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let mut placed = Vec::with_capacity(rows.len());
        self.heap.insert_many(ctx, &payloads, &mut |number, tid| placed.push((number, tid)))?;
        for (number, tid) in placed {
            sync::let_others_run();
            self.index.insert(ctx, &chunk_key(id, number as u32), tid, None)?;
        }
        Ok(())
    }

    /// Calls `f` with the place of each chunk of a value, in order.
    fn each_chunk(&self, place: Place, f: &mut dyn FnMut(Tid, &[u8; CHUNK_HEAD_BYTES]) -> Result<bool>) -> Result<()> {
        for number in 0..place.stored_bytes.div_ceil(CHUNK_BYTES) as u32 {
            sync::let_others_run();
            let key = chunk_key(place.id, number);
            let mut found = Ok(false);
            self.index.lookup(&key, &mut |tid| {
                found = f(tid, &key);
                if matches!(found, Ok(false)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            if !found? {
                return Err(Error::corrupted(format!(
                    "missing chunk number {number} for value {}/{} in relation file {}",
                    place.id.0, place.id.1, self.heap.file
                )));
            }
        }
        Ok(())
    }

    fn read(&self, place: Place, out: &mut Vec<u8>) -> Result<()> {
        self.each_chunk(place, &mut |tid, key| {
            // The entry may be one of a chunk that was vacuumed, its place used again.
            let copied = self.heap.read_any(tid, |bytes| match bytes.strip_prefix(key) {
                Some(chunk) => {
                    out.extend_from_slice(chunk);
                    true
                }
                None => false,
            })?;
            Ok(copied == Some(true))
        })
    }

    fn erase(&self, ctx: &TxnCtx<'_>, place: Place) -> Result<()> {
        self.remove(place, &|tid| {
            // The row the value belongs to is locked: nobody else deletes it.
            self.heap.delete(ctx, tid, WaitPolicy::Block, None)?;
            Ok(())
        })
    }

    fn remove(&self, place: Place, remove: &dyn Fn(Tid) -> Result<()>) -> Result<()> {
        self.each_chunk(place, &mut |tid, key| {
            if self.heap.read_any(tid, |bytes| bytes.starts_with(key))? != Some(true) {
                return Ok(false);
            }
            remove(tid)?;
            Ok(true)
        })
    }
}

fn chunk_key(id: ValueId, number: u32) -> [u8; CHUNK_HEAD_BYTES] {
    let mut key = [0; CHUNK_HEAD_BYTES];
    key[..8].copy_from_slice(&id.0.to_be_bytes());
    key[8..12].copy_from_slice(&id.1.to_be_bytes());
    key[12..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The values that writing one row moved out, to be taken back if the row is not written after all.
pub(crate) type Moved = SmallVec<[Vec<u8>; 2]>;

/// Encodes a row that is longer than [`ROW_TARGET_BYTES`] as it is. `kept`: detached values of the version before, by
/// column, that go on. `number` gives the numbers of new values.
pub(crate) fn shrink(
    overflow: &Overflow,
    ctx: &TxnCtx<'_>,
    types: &[PhysicalType],
    row: &[Datum],
    kept: &[(usize, Vec<u8>)],
    number: &mut dyn FnMut() -> u32,
    out: &mut Vec<u8>,
) -> Result<Moved> {
    let mut detached: Vec<Option<Vec<u8>>> = vec![None; row.len()];
    for (column, bytes) in kept {
        detached[*column] = Some(bytes.clone());
    }
    let mut moved = Moved::new();
    let mut tried = ColumnSet::new();
    loop {
        encode(types, row, &detached, out)?;
        if out.len() <= ROW_TARGET_BYTES {
            return Ok(moved);
        }
        let plain_length = |column: usize| match row[column] {
            Datum::Bytes(bytes) if detached[column].is_none() && bytes.len() > SMALL_BYTES => Some(bytes.len()),
            _ => None,
        };
        let longest = (0..row.len()).filter(|c| !tried.contains(*c)).filter_map(|c| Some((plain_length(c)?, c))).max();
        if let Some((length, column)) = longest {
            tried.insert(column);
            let Datum::Bytes(bytes) = row[column] else { continue };
            let compressed = compress(bytes)?;
            // Less than an eighth saved is not worth the time at every read.
            if compressed.len() + length / 8 < length {
                detached[column] = Some(compressed_value(length, &compressed));
            }
            continue;
        }
        let stored_length = |column: usize| match &detached[column] {
            Some(bytes) if bytes[0] == LEAD_COMPRESSED && bytes.len() > SMALL_BYTES => Some(bytes.len()),
            Some(_) => None,
            None => plain_length(column),
        };
        let Some((_, column)) = (0..row.len()).filter_map(|c| Some((stored_length(c)?, c))).max() else {
            return Ok(moved);
        };
        let Datum::Bytes(plain) = row[column] else { return Ok(moved) };
        let id = ValueId(ctx.xid.0, number());
        let stored = detached[column].as_ref().map_or(plain, |bytes| &bytes[9..]);
        overflow.write(ctx, id, stored)?;
        let value = out_of_line_value(Place { id, plain_bytes: plain.len(), stored_bytes: stored.len() });
        moved.push(value.clone());
        detached[column] = Some(value);
    }
}

fn encode(types: &[PhysicalType], row: &[Datum], detached: &[Option<Vec<u8>>], out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    let values: SmallVec<[StoredValue; 16]> = row
        .iter()
        .zip(detached)
        .map(|(datum, detached)| match detached {
            Some(bytes) => StoredValue::Detached(bytes),
            None => StoredValue::Plain(*datum),
        })
        .collect();
    encode_stored(types, &values, out)
}

fn compressed_value(plain_bytes: usize, compressed: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(9 + compressed.len());
    value.push(LEAD_COMPRESSED);
    value.extend_from_slice(&(plain_bytes as u32).to_le_bytes());
    value.extend_from_slice(&(compressed.len() as u32).to_le_bytes());
    value.extend_from_slice(compressed);
    value
}

fn out_of_line_value(place: Place) -> Vec<u8> {
    let mut value = Vec::with_capacity(1 + OUT_OF_LINE_BYTES);
    value.push(LEAD_OUT_OF_LINE);
    value.extend_from_slice(&place.id.0.to_le_bytes());
    value.extend_from_slice(&place.id.1.to_le_bytes());
    value.extend_from_slice(&(place.plain_bytes as u32).to_le_bytes());
    value.extend_from_slice(&(place.stored_bytes as u32).to_le_bytes());
    value
}

fn place_of(value: &[u8]) -> Option<Place> {
    let bytes: &[u8; OUT_OF_LINE_BYTES] = value.strip_prefix(&[LEAD_OUT_OF_LINE])?.try_into().ok()?;
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let first = u64::from(word(4)) << 32 | u64::from(word(0));
    Some(Place { id: ValueId(first, word(8)), plain_bytes: word(12) as usize, stored_bytes: word(16) as usize })
}

/// The detached values of a stored row, by column.
pub(crate) fn detached_values(types: &[PhysicalType], bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    RowView::new(types, bytes)
        .stored_values()
        .enumerate()
        .filter_map(|(column, value)| match value {
            StoredValue::Detached(bytes) => Some((column, bytes.to_vec())),
            StoredValue::Plain(_) => None,
        })
        .collect()
}

/// Deletes the chunks of values that were moved out; others are passed over. How many there were.
pub(crate) fn erase<'a>(
    overflow: &Overflow,
    ctx: &TxnCtx<'_>,
    values: impl IntoIterator<Item = &'a Vec<u8>>,
) -> Result<u64> {
    let mut erased = 0;
    for value in values {
        if let Some(place) = place_of(value) {
            overflow.erase(ctx, place)?;
            erased += 1;
        }
    }
    Ok(erased)
}

/// Removes values that the own command has moved out, for a row that is not written after all.
pub(crate) fn take_back(overflow: &Overflow, ctx: &TxnCtx<'_>, moved: &Moved) -> Result<()> {
    moved
        .iter()
        .filter_map(|value| place_of(value))
        .try_for_each(|place| overflow.remove(place, &|tid| overflow.heap.take_back(ctx, tid)))
}

/// Puts the detached values of the row in `bytes` back in their places.
#[cold]
pub(crate) fn resolve(overflow: Option<&Overflow>, types: &[PhysicalType], bytes: &mut Vec<u8>) -> Result<()> {
    let row = std::mem::take(bytes);
    let mut restored: Vec<Vec<u8>> = Vec::new();
    for value in RowView::new(types, &row).stored_values() {
        if let StoredValue::Detached(value) = value {
            restored.push(restore(overflow, value)?);
        }
    }
    let restored_bytes: usize = restored.iter().map(Vec::len).sum();
    if restored_bytes > LONG_BYTES && sync::in_coroutine() {
        let types = types.to_vec();
        *bytes = sync::on_other_thread(Work::Short, move || put_back(&types, &row, &restored))??;
        return Ok(());
    }
    *bytes = put_back(types, &row, &restored)?;
    Ok(())
}

/// The row with these values in the places of the detached ones.
fn put_back(types: &[PhysicalType], row: &[u8], restored: &[Vec<u8>]) -> Result<Vec<u8>> {
    let mut next = restored.iter();
    let values: SmallVec<[Datum; 16]> = RowView::new(types, row)
        .stored_values()
        .map(|value| match value {
            StoredValue::Plain(datum) => datum,
            StoredValue::Detached(_) => Datum::Bytes(next.next().map_or(&[], Vec::as_slice)),
        })
        .collect();
    let mut bytes = Vec::new();
    encode_row(&types[..values.len()], &values, &mut bytes)?;
    Ok(bytes)
}

fn restore(overflow: Option<&Overflow>, value: &[u8]) -> Result<Vec<u8>> {
    let damaged = || Error::corrupted("a large value is damaged");
    if value.first() == Some(&LEAD_COMPRESSED) {
        let length = value.get(1..5).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes).ok_or_else(damaged)?;
        return decompress(value.get(9..).ok_or_else(damaged)?, length as usize);
    }
    let place = place_of(value).ok_or_else(damaged)?;
    let overflow = overflow.ok_or_else(damaged)?;
    let mut stored = Vec::with_capacity(place.stored_bytes.min(base::limits::VALUE_MAX_BYTES));
    overflow.read(place, &mut stored)?;
    if stored.len() != place.stored_bytes {
        return Err(damaged());
    }
    if place.stored_bytes == place.plain_bytes { Ok(stored) } else { decompress(&stored, place.plain_bytes) }
}

/// Values longer than this are compressed and decompressed by another thread: it takes a millisecond or more.
const LONG_BYTES: usize = 512 << 10;

fn compress(plain: &[u8]) -> Result<Vec<u8>> {
    if plain.len() <= LONG_BYTES || !sync::in_coroutine() {
        return Ok(lz4_flex::block::compress(plain));
    }
    let plain = plain.to_vec();
    sync::on_other_thread(Work::Short, move || lz4_flex::block::compress(&plain))
}

fn decompress(bytes: &[u8], plain_bytes: usize) -> Result<Vec<u8>> {
    if plain_bytes > base::limits::VALUE_MAX_BYTES {
        return Err(Error::corrupted("a compressed value is damaged"));
    }
    let plain = if plain_bytes <= LONG_BYTES || !sync::in_coroutine() {
        lz4_flex::block::decompress(bytes, plain_bytes)
    } else {
        let bytes = bytes.to_vec();
        sync::on_other_thread(Work::Short, move || lz4_flex::block::decompress(&bytes, plain_bytes))?
    };
    let plain = plain.map_err(|error| Error::corrupted(format!("a compressed value is damaged: {error}")))?;
    if plain.len() == plain_bytes { Ok(plain) } else { Err(Error::corrupted("a compressed value is damaged")) }
}

const _: () = assert!(LEAD_LONG < LEAD_COMPRESSED && LEAD_COMPRESSED < LEAD_OUT_OF_LINE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_round_trip() {
        let place = Place { id: ValueId(0x0123_4567_89AB_CDEF, 42), plain_bytes: 1 << 20, stored_bytes: 77 };
        let found = place_of(&out_of_line_value(place)).unwrap();
        assert_eq!((found.id, found.plain_bytes, found.stored_bytes), (place.id, 1 << 20, 77));
        assert!(place_of(b"").is_none() && place_of(&[LEAD_OUT_OF_LINE; 5]).is_none());
    }

    #[test]
    fn compressed_values_are_put_back() {
        let plain = b"abc".repeat(1000);
        let value = compressed_value(plain.len(), &lz4_flex::block::compress(&plain));
        let types = [PhysicalType::I32, PhysicalType::Bytes];
        let mut bytes = Vec::new();
        encode_stored(&types, &[StoredValue::Plain(Datum::I32(5)), StoredValue::Detached(&value)], &mut bytes).unwrap();
        assert!(schema::row::has_detached(&bytes) && bytes.len() < 100);
        resolve(None, &types, &mut bytes).unwrap();
        assert_eq!(RowView::new(&types, &bytes).iter().collect::<Vec<_>>(), [Datum::I32(5), Datum::Bytes(&plain)]);
        assert!(!schema::row::has_detached(&bytes));
    }

    // invariants: row 26
    #[test]
    fn damaged_values_are_errors() {
        for bytes in [&[LEAD_COMPRESSED][..], &[LEAD_COMPRESSED; 9], &[LEAD_COMPRESSED; 40], &[LEAD_OUT_OF_LINE; 21]] {
            assert!(restore(None, bytes).is_err());
        }
    }
}
