//! Rows that don't fit into `work_mem`: written to temporary files, read back in order or by number.

use std::sync::Arc;

use base::settings::Id;
use base::{Error, Result};
use engine::{Database, TemporaryFile};
use rustc_hash::FxHashMap;
use types::packed::{Packed, read_any, write_any};
use types::{RecordShape, RecordValue, Value};

use crate::row_set::{RowEquality, Rows};
use crate::state::ExecutionState;
use crate::{BoxOperator, Run};

/// Bytes written or read at once.
const BLOCK_BYTES: usize = 32 << 10;
/// The same where rows are read here and there.
const RANDOM_BLOCK_BYTES: usize = 512;
/// A large row is written and read in pieces of this size. Others may run between two pieces.
const PIECE_BYTES: usize = 1 << 20;
/// A buffer larger than this is freed after its row.
const KEPT_BUFFER_BYTES: usize = 8 * BLOCK_BYTES;
/// How many parts rows are divided into by their hashes.
pub(super) const PARTITIONS: usize = 16;
const PARTITION_BITS: u32 = 4;
/// Rows of one hash can't be divided: after so many tries they stay together.
pub(super) const DEPTH_MAX: u32 = 6;

/// `work_mem` in bytes: what a sort or a materialised set of rows may take.
pub fn sort_memory_bytes(run: &Run<'_, '_>) -> usize {
    work_memory_bytes(run.state)
}

/// The same of a session.
pub fn work_memory_bytes(state: &ExecutionState) -> usize {
    state.settings.borrow().get(Id::WorkMem).as_integer().unwrap_or(4096).max(64) as usize * 1024
}

/// The memory that a hash table may take: twice `work_mem`, as with PostgreSQL's default.
pub(super) fn hash_memory_bytes(run: &Run<'_, '_>) -> usize {
    sort_memory_bytes(run).saturating_mul(2)
}

/// Rows on their way to a file.
pub(super) struct SpillWriter {
    file: TemporaryFile,
    buffer: Vec<u8>,
    /// The shapes of row values, which the file refers to by number: it holds no names.
    shapes: Vec<Arc<RecordShape>>,
}

/// Before a row value's shape and fields; values of [`write_any`] begin with none of these marks.
const RECORD_MARK: u8 = 255;
/// Before values that rows are mostly made of.
const NULL_MARK: u8 = 254;
const INT4_MARK: u8 = 253;
const INT8_MARK: u8 = 252;
const FLOAT8_MARK: u8 = 251;
const DATE_MARK: u8 = 250;
/// Before a string's length in one byte.
const SHORT_TEXT_MARK: u8 = 249;

impl SpillWriter {
    pub fn new(run: &Run<'_, '_>) -> Result<SpillWriter> {
        SpillWriter::of(&run.state.database)
    }

    fn of(database: &Database) -> Result<SpillWriter> {
        let file = database.temporary_file()?;
        Ok(SpillWriter { file, buffer: Vec::new(), shapes: Vec::new() })
    }

    /// Adds a row; where it lies.
    pub fn push(&mut self, row: &[Value]) -> Result<u64> {
        let at = self.file.length_bytes() + self.buffer.len() as u64;
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        for value in row {
            match value {
                Value::Null => self.buffer.push(NULL_MARK),
                Value::Int4(value) => self.mark(INT4_MARK, &value.to_le_bytes()),
                Value::Int8(value) => self.mark(INT8_MARK, &value.to_le_bytes()),
                Value::Float8(value) => self.mark(FLOAT8_MARK, &value.to_le_bytes()),
                Value::Date(value) => self.mark(DATE_MARK, &value.to_le_bytes()),
                Value::Text(text) if text.len() < 256 => {
                    self.buffer.push(SHORT_TEXT_MARK);
                    self.mark(text.len() as u8, text.as_bytes());
                }
                Value::Record(record) => {
                    let known = self.shapes.iter().position(|shape| Arc::ptr_eq(shape, &record.shape));
                    let shape = known.unwrap_or_else(|| {
                        self.shapes.push(Arc::clone(&record.shape));
                        self.shapes.len() - 1
                    });
                    self.mark(RECORD_MARK, &(shape as u32).to_le_bytes());
                    self.buffer.extend_from_slice(&(record.fields.len() as u32).to_le_bytes());
                    record.fields.iter().for_each(|field| self.any(field));
                }
                value => self.any(value),
            }
        }
        let length = (self.buffer.len() - start - 4) as u32;
        self.buffer[start..start + 4].copy_from_slice(&length.to_le_bytes());
        if self.buffer.len() >= BLOCK_BYTES {
            self.flush()?;
        }
        Ok(at)
    }

    #[inline]
    fn mark(&mut self, mark: u8, bytes: &[u8]) {
        self.buffer.push(mark);
        self.buffer.extend_from_slice(bytes);
    }

    fn any(&mut self, value: &Value) {
        let mut bytes = Packed::new();
        write_any(value, &mut bytes);
        self.buffer.extend_from_slice(&bytes);
    }

    fn flush(&mut self) -> Result<()> {
        for (number, piece) in self.buffer.chunks(PIECE_BYTES).enumerate() {
            if number > 0 {
                sync::let_others_run();
            }
            self.file.append(piece)?;
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER_BYTES);
        Ok(())
    }

    /// Ends writing; the written rows, to be read.
    pub fn finish(mut self) -> Result<SpilledRows> {
        self.flush()?;
        self.buffer = Vec::new();
        Ok(SpilledRows(self))
    }
}

/// Rows in a file.
pub(super) struct SpilledRows(SpillWriter);

#[cold]
fn damaged() -> Error {
    Error::internal("a temporary file is damaged")
}

#[inline]
fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
    *bytes = rest;
    Ok(*first)
}

/// A place in a file, with what was read ahead.
#[derive(Default)]
pub(super) struct SpillPlace {
    /// Where `buffer` begins in the file.
    start: u64,
    buffer: Vec<u8>,
    /// The next row's place in `buffer`.
    at: usize,
    /// Rows are read here and there: not much is read ahead.
    is_random: bool,
}

/// Reading of what was flushed.
impl SpillWriter {
    /// Reads the row at `place` and moves on; false at the end.
    fn read(&self, place: &mut SpillPlace, row: &mut Vec<Value>) -> Result<bool> {
        let Some(header) = self.have(place, 4)? else { return Ok(false) };
        let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes were asked for")) as usize;
        let bytes = self.have(place, 4 + length)?.ok_or_else(|| Error::internal("a temporary file is cut short"))?;
        let mut bytes = &bytes[4..4 + length];
        row.clear();
        while let Some((mark, rest)) = bytes.split_first() {
            let mut common = rest;
            row.push(match *mark {
                NULL_MARK => Value::Null,
                INT4_MARK => Value::Int4(i32::from_le_bytes(fixed(&mut common)?)),
                INT8_MARK => Value::Int8(i64::from_le_bytes(fixed(&mut common)?)),
                FLOAT8_MARK => Value::Float8(f64::from_le_bytes(fixed(&mut common)?)),
                DATE_MARK => Value::Date(i32::from_le_bytes(fixed(&mut common)?)),
                SHORT_TEXT_MARK => {
                    let [length] = fixed(&mut common)?;
                    let (text, rest) = common.split_at_checked(usize::from(length)).ok_or_else(damaged)?;
                    common = rest;
                    Value::text(std::str::from_utf8(text).map_err(|_| damaged())?)
                }
                RECORD_MARK => self.record(&mut common)?,
                _ => {
                    common = bytes;
                    read_any(&mut common)?
                }
            });
            bytes = common;
        }
        place.at += 4 + length;
        // A merge has a place for each run: the buffer of a large row would stay behind it.
        if place.at == place.buffer.len() && place.at > KEPT_BUFFER_BYTES {
            place.start += place.at as u64;
            (place.at, place.buffer) = (0, Vec::new());
        }
        Ok(true)
    }

    fn record(&self, bytes: &mut &[u8]) -> Result<Value> {
        let (header, rest) = bytes.split_at_checked(8).ok_or_else(damaged)?;
        let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes")) as usize;
        let shape = self.shapes.get(number(0)).ok_or_else(damaged)?;
        *bytes = rest;
        let fields = (0..number(4)).map(|_| read_any(bytes)).collect::<Result<_>>()?;
        Ok(Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields })))
    }

    /// At least so many bytes from `place` on; `None` at the end.
    fn have<'b>(&self, place: &'b mut SpillPlace, count: usize) -> Result<Option<&'b [u8]>> {
        if place.buffer.len() < place.at + count {
            let start = place.start + place.at as u64;
            let ahead_bytes = if place.is_random { RANDOM_BLOCK_BYTES } else { BLOCK_BYTES };
            place.buffer.clear();
            (place.start, place.at) = (start, 0);
            self.fill(place, ahead_bytes.max(count))?;
            if place.buffer.len() < count {
                return Ok(None);
            }
        }
        Ok(Some(&place.buffer[place.at..]))
    }

    /// Fills the empty buffer of `place` with `count` bytes from its start on, or with fewer at the file's end.
    fn fill(&self, place: &mut SpillPlace, count: usize) -> Result<()> {
        place.buffer.reserve_exact(count);
        while place.buffer.len() < count {
            let before = place.buffer.len();
            if before > 0 {
                sync::let_others_run();
            }
            let piece_bytes = (count - before).min(PIECE_BYTES);
            place.buffer.resize(before + piece_bytes, 0);
            let read = self.file.read(&mut place.buffer[before..], place.start + before as u64)?;
            place.buffer.truncate(before + read);
            if read < piece_bytes {
                break;
            }
        }
        Ok(())
    }

    /// Moves to the row at `offset`.
    fn seek(&self, place: &mut SpillPlace, offset: u64) {
        match offset.checked_sub(place.start) {
            Some(at) if at < place.buffer.len() as u64 => place.at = at as usize,
            _ => {
                place.buffer.clear();
                (place.start, place.at) = (offset, 0);
            }
        }
    }
}

/// A file that is read from its beginning to its end.
pub(super) struct SpillReader {
    rows: SpilledRows,
    place: SpillPlace,
}

impl SpillReader {
    pub fn new(rows: SpilledRows) -> SpillReader {
        SpillReader { rows, place: SpillPlace::default() }
    }

    /// The file's size.
    pub fn bytes(&self) -> usize {
        self.rows.0.file.length_bytes() as usize
    }

    pub fn next(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        self.rows.0.read(&mut self.place, row)
    }
}

/// The next row of a part, or of `input` where there is no part.
#[inline]
pub(super) fn next_row<'r, 'p>(
    input: &'r mut BoxOperator<'p>,
    part: &mut Option<SpillReader>,
    buffer: &'r mut Vec<Value>,
    run: &mut Run<'_, 'p>,
) -> Result<Option<&'r [Value]>> {
    match part {
        None => Ok(if input.next(run)? { Some(input.row()) } else { None }),
        Some(part) => Ok(if part.next(buffer)? { Some(buffer) } else { None }),
    }
}

/// Rows divided by their hashes, each part in a file of its own.
pub(super) struct Partitions {
    parts: Vec<Option<SpillWriter>>,
    depth: u32,
}

impl Partitions {
    /// `depth` says which bits of the hashes divide: those that divided what is divided again must not.
    pub fn new(depth: u32) -> Partitions {
        Partitions { parts: (0..PARTITIONS).map(|_| None).collect(), depth }
    }

    /// The part of a hash.
    pub fn part_of(&self, hash: u64) -> usize {
        // The hash tables use the other end of the hash and its top.
        (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (60 - PARTITION_BITS * self.depth)) as usize % PARTITIONS
    }

    pub fn push(&mut self, part: usize, row: &[Value], run: &Run<'_, '_>) -> Result<()> {
        if self.parts[part].is_none() {
            self.parts[part] = Some(SpillWriter::new(run)?);
        }
        self.parts[part].as_mut().expect("made above").push(row)?;
        Ok(())
    }

    /// The parts; none where there are no rows.
    pub fn finish(self) -> Result<Vec<Option<SpillReader>>> {
        let finish = |part: Option<SpillWriter>| part.map(|part| part.finish().map(SpillReader::new)).transpose();
        self.parts.into_iter().map(finish).collect()
    }
}

/// Rows that are read by number, as often as wanted: in memory as long as they fit.
#[derive(Default)]
pub struct RowStore {
    memory: Rows,
    spilled: Option<SpillWriter>,
    /// Where each spilled row lies.
    offsets: Vec<u64>,
}

impl RowStore {
    /// Rows that are few.
    pub fn of_few(rows: Vec<Vec<Value>>) -> RowStore {
        let mut store = RowStore::default();
        rows.iter().for_each(|row| store.memory.push(row));
        store
    }

    /// Forgets its rows.
    pub fn clear(&mut self) {
        self.memory.clear();
        self.spilled = None;
        self.offsets.clear();
    }

    /// Adds a row, which may use up to `limit_bytes` with the others.
    pub fn push(&mut self, row: &[Value], limit_bytes: usize, run: &Run<'_, '_>) -> Result<()> {
        self.push_for(&run.state.database, row, limit_bytes)
    }

    /// The same without a statement at hand.
    pub fn push_for(&mut self, database: &Database, row: &[Value], limit_bytes: usize) -> Result<()> {
        if let Some(writer) = &mut self.spilled {
            self.offsets.push(writer.push(row)?);
            return Ok(());
        }
        self.memory.push(row);
        if self.memory.bytes() > limit_bytes {
            let mut writer = SpillWriter::of(database)?;
            for index in 0..self.memory.len() {
                self.offsets.push(writer.push(self.memory.get(index))?);
            }
            self.memory = Rows::default();
            self.spilled = Some(writer);
        }
        Ok(())
    }

    /// All rows added so far can be read from now on.
    pub fn flush(&mut self) -> Result<()> {
        self.spilled.as_mut().map_or(Ok(()), SpillWriter::flush)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.memory.len() + self.offsets.len()
    }
}

/// Somebody who reads a [`RowStore`].
#[derive(Default)]
pub struct StoreReader {
    place: SpillPlace,
    row: Vec<Value>,
    /// The number of `row`, from 1; 0 for none.
    number: usize,
}

impl StoreReader {
    /// One that reads rows here and there.
    pub fn random() -> StoreReader {
        StoreReader { place: SpillPlace { is_random: true, ..SpillPlace::default() }, ..StoreReader::default() }
    }

    /// The row with this number.
    pub fn read<'r>(&'r mut self, store: &'r RowStore, index: usize) -> Result<&'r [Value]> {
        let Some(spilled) = &store.spilled else { return Ok(store.memory.get(index)) };
        if self.number != index + 1 {
            self.number = 0;
            spilled.seek(&mut self.place, store.offsets[index]);
            if !spilled.read(&mut self.place, &mut self.row)? {
                return Err(Error::internal("a temporary file has fewer rows than were written"));
            }
            self.number = index + 1;
        }
        Ok(&self.row)
    }

    /// The row read last, which had this number.
    pub fn last<'r>(&'r self, store: &'r RowStore, index: usize) -> &'r [Value] {
        if store.spilled.is_some() { &self.row } else { store.memory.get(index) }
    }
}

/// Distinct rows: their hashes and places in memory, the rows themselves as far as they fit.
#[derive(Default)]
pub(super) struct SeenRows {
    rows: RowStore,
    reader: StoreReader,
    /// The last row with a hash.
    heads: FxHashMap<u64, u32>,
    /// For each row the one before it with the same hash, or [`NO_ROW`].
    before: Vec<u32>,
}

const NO_ROW: u32 = u32::MAX;

impl SeenRows {
    /// Adds a row that is not there yet; false for one that is.
    pub fn insert(
        &mut self,
        row: &[Value],
        equality: &RowEquality,
        limit_bytes: usize,
        run: &Run<'_, '_>,
    ) -> Result<bool> {
        let hash = equality.hash(row);
        let mut at = self.heads.get(&hash).copied().unwrap_or(NO_ROW);
        if at != NO_ROW {
            self.rows.flush()?;
        }
        while at != NO_ROW {
            if equality.equal(self.reader.read(&self.rows, at as usize)?, row) {
                return Ok(false);
            }
            at = self.before[at as usize];
        }
        let number = u32::try_from(self.before.len()).ok().filter(|number| *number != NO_ROW);
        let number = number.ok_or_else(|| {
            Error::new(base::sqlstate::PROGRAM_LIMIT_EXCEEDED, "too many distinct rows in a recursive query")
        })?;
        self.before.push(self.heads.insert(hash, number).unwrap_or(NO_ROW));
        let memory = self.before.len() * (size_of::<u64>() + 2 * size_of::<u32>());
        self.rows.push(row, limit_bytes.saturating_sub(memory), run)?;
        Ok(true)
    }
}

/// A scan of shared rows.
#[derive(Default)]
pub(super) struct StoreScan {
    store: Option<Arc<RowStore>>,
    reader: StoreReader,
    at: usize,
}

impl StoreScan {
    pub fn new(store: Arc<RowStore>) -> StoreScan {
        StoreScan { store: Some(store), reader: StoreReader::default(), at: 0 }
    }

    pub fn is_open(&self) -> bool {
        self.store.is_some()
    }

    /// Starts again with the same rows.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    pub fn next(&mut self) -> Result<bool> {
        let Some(store) = &self.store else { return Ok(false) };
        if self.at >= store.len() {
            return Ok(false);
        }
        self.reader.read(store, self.at)?;
        self.at += 1;
        Ok(true)
    }

    pub fn row(&self) -> &[Value] {
        let store = self.store.as_ref().expect("read after a row was found");
        self.reader.last(store, self.at - 1)
    }
}

/// The places of keys in rows that have them as columns or behind their columns.
pub(super) struct KeySlots {
    /// Where each key lies.
    pub slots: Vec<usize>,
    /// Those that are computed and put behind the row, by number.
    pub computed: Vec<usize>,
}

impl KeySlots {
    /// `columns` has the slot of each key that is a column.
    pub fn new(columns: impl Iterator<Item = Option<usize>>, width: usize) -> KeySlots {
        let mut computed = Vec::new();
        let slots = columns
            .enumerate()
            .map(|(number, column)| {
                column.unwrap_or_else(|| {
                    computed.push(number);
                    width + computed.len() - 1
                })
            })
            .collect();
        KeySlots { slots, computed }
    }
}
