//! The log's end in whole blocks, for files that take no others.

use std::io;

use vfs::{DIRECT_BLOCK_BYTES, File};

/// Written at once, at most.
const CHUNK_BYTES: usize = 256 << 10;

/// Turns a stream of bytes into writes of whole blocks.
///
/// The block that holds the log's end is written anew with what comes next: the bytes that were in it are the same as
/// before, so a write torn between sectors leaves them whole. Behind the end it holds zeros, which no record starts with.
pub(crate) struct Blocks {
    /// One block more than is used, for the sake of `start`.
    memory: Vec<u8>,
    /// The first place in `memory` that is a multiple of the block's size.
    start: usize,
    /// The log's position that the block at `start` begins with, and how many of the log's bytes it holds.
    begin: u64,
    held_bytes: usize,
    /// Whether `begin` and `held_bytes` are true.
    is_known: bool,
}

impl Blocks {
    /// Nothing is known of the log's end yet.
    pub fn new() -> Blocks {
        let memory = vec![0; CHUNK_BYTES + DIRECT_BLOCK_BYTES];
        let start = memory.as_ptr().align_offset(DIRECT_BLOCK_BYTES);
        Blocks { memory, start, begin: 0, held_bytes: 0, is_known: false }
    }

    /// Somebody else has written, or will.
    pub fn forget(&mut self) {
        self.is_known = false;
    }

    /// Writes `bytes`, the log's from `position` on, at `offset` of `file`. All of them belong to this file.
    pub fn write(&mut self, file: &dyn File, position: u64, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if !self.is_known || self.begin + self.held_bytes as u64 != position {
            self.read_back(file, position, offset)?;
        }
        // The position of the file's first byte.
        let file_begin = position - offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(CHUNK_BYTES - self.held_bytes));
            let memory = &mut self.memory[self.start..self.start + CHUNK_BYTES];
            let filled = self.held_bytes + now.len();
            let whole = filled.next_multiple_of(DIRECT_BLOCK_BYTES);
            memory[self.held_bytes..filled].copy_from_slice(now);
            memory[filled..whole].fill(0);
            // Should it fail, what the file holds is unknown.
            self.is_known = false;
            file.write_all_at(&memory[..whole], self.begin - file_begin)?;
            self.is_known = true;
            let left = filled % DIRECT_BLOCK_BYTES;
            memory.copy_within(filled - left..filled, 0);
            self.begin += (filled - left) as u64;
            self.held_bytes = left;
            rest = later;
        }
        Ok(())
    }

    /// Finds out what the block at the log's end holds.
    fn read_back(&mut self, file: &dyn File, position: u64, offset: u64) -> io::Result<()> {
        let held_bytes = (offset % DIRECT_BLOCK_BYTES as u64) as usize;
        if held_bytes > 0 {
            // A direct file reads whole blocks too.
            let block = &mut self.memory[self.start..self.start + DIRECT_BLOCK_BYTES];
            file.read_exact_at(block, offset - held_bytes as u64)?;
        }
        self.begin = position - held_bytes as u64;
        self.held_bytes = held_bytes;
        self.is_known = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use vfs::{OpenMode, SimulatedVfs, Vfs};

    use super::*;

    #[test]
    fn pieces_of_any_length_come_out_as_one_stream() {
        let disk = SimulatedVfs::new(1);
        let path = Path::new("/segment");
        let plain = disk.open(path, OpenMode::CreateNew).unwrap();
        plain.allocate_zeroed(4 << 20).unwrap();
        let file: Arc<dyn File> = disk.open_direct(path, OpenMode::ReadWrite, false).unwrap();
        let mut blocks = Blocks::new();
        let mut expected: Vec<u8> = Vec::new();
        let lengths = [1, 8, 4087, 1, 4096, 8191, 1, CHUNK_BYTES - 1, CHUNK_BYTES, 2 * CHUNK_BYTES + 17, 5000, 3, 4096];
        for (round, length) in lengths.into_iter().enumerate() {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + round) as u8).collect();
            if round % 3 == 2 {
                blocks.forget();
            }
            blocks.write(&*file, expected.len() as u64 + (8 << 20), expected.len() as u64, &bytes).unwrap();
            expected.extend(bytes);
            let mut found = vec![1; expected.len().next_multiple_of(DIRECT_BLOCK_BYTES)];
            plain.read_exact_at(&mut found, 0).unwrap();
            assert!(found[..expected.len()] == expected, "after {round}");
            assert!(found[expected.len()..].iter().all(|byte| *byte == 0), "zeros behind the end, after {round}");
        }
    }
}
