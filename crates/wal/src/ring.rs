//! The log's buffers: a ring of bytes in which a position of the log has the place `position % capacity`.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;

/// Bytes that many threads write at once, each where it alone may.
///
/// The callers settle which thread may touch which bytes. An inserter owns the bytes between the `start` and the `end` it
/// reserved, from the moment `written + capacity` has passed them until it publishes their completion. From then on they are
/// only read, until `written` passes them.
pub(crate) struct Ring {
    bytes: Box<[UnsafeCell<u8>]>,
}

// SAFETY: the bytes are reached only through the unsafe methods, whose callers keep writers apart from everybody else.
unsafe impl Sync for Ring {}

impl Ring {
    /// A ring of `capacity_bytes`, a power of two.
    pub fn new(capacity_bytes: usize) -> Ring {
        assert!(capacity_bytes.is_power_of_two(), "places are found by masking");
        let bytes = Box::into_raw(vec![0_u8; capacity_bytes].into_boxed_slice());
        // SAFETY: `UnsafeCell<u8>` has the layout of `u8`, and the box was just given up.
        let bytes = unsafe { Box::from_raw(bytes as *mut [UnsafeCell<u8>]) };
        Ring { bytes }
    }

    #[inline]
    pub fn capacity(&self) -> u64 {
        self.bytes.len() as u64
    }

    #[inline]
    fn place(&self, position: u64) -> usize {
        position as usize & (self.bytes.len() - 1)
    }

    /// Copies `source` to `position` and behind.
    ///
    /// # Safety
    /// The caller owns these bytes as the type's comment says. `source` is not longer than the capacity.
    #[inline]
    pub unsafe fn copy_in(&self, position: u64, source: &[u8]) {
        let place = self.place(position);
        let until_wrap = self.bytes.len() - place;
        debug_assert!(source.len() <= self.bytes.len());
        let base = self.bytes.as_ptr().cast::<u8>().cast_mut();
        if source.len() <= until_wrap {
            // SAFETY: `place + source.len()` is within the ring; nobody else touches these bytes now.
            unsafe { base.add(place).copy_from_nonoverlapping(source.as_ptr(), source.len()) };
        } else {
            let (before, after) = source.split_at(until_wrap);
            // SAFETY: both pieces are within the ring and apart from each other, the source being no longer than it.
            unsafe {
                base.add(place).copy_from_nonoverlapping(before.as_ptr(), before.len());
                base.copy_from_nonoverlapping(after.as_ptr(), after.len());
            }
        }
    }

    /// Copies `pieces`, one behind the other, to `start` and behind, and zeros up to `end`. Both are multiples of eight, and
    /// less than eight zeros are needed.
    ///
    /// # Safety
    /// The caller owns these bytes as the type's comment says. They are no more than the capacity.
    #[inline]
    pub unsafe fn copy_padded<'a>(
        &self,
        start: u64,
        end: u64,
        first: &[u8; 24],
        pieces: impl Iterator<Item = &'a [u8]>,
    ) {
        let place = self.place(start);
        debug_assert!(start.is_multiple_of(8) && end.is_multiple_of(8) && end - start <= self.capacity());
        if place + (end - start) as usize <= self.bytes.len() {
            // SAFETY: all that is touched lies between `place` and `place + end - start`, within the ring and the caller's:
            // the caller promises that the pieces fit. The last word is aligned, as the ring's capacity and `end` are.
            unsafe {
                let mut to = self.bytes.as_ptr().cast::<u8>().cast_mut().add(place);
                to.add((end - start) as usize - 8).cast::<u64>().write_unaligned(0);
                to.copy_from_nonoverlapping(first.as_ptr(), first.len());
                to = to.add(first.len());
                for piece in pieces {
                    to.copy_from_nonoverlapping(piece.as_ptr(), piece.len());
                    to = to.add(piece.len());
                }
            }
        } else {
            // SAFETY: as the caller's; each piece goes where the one before it ended.
            unsafe {
                self.copy_in(end - 8, &[0; 8]);
                self.copy_in(start, first);
                let mut position = start + first.len() as u64;
                for piece in pieces {
                    self.copy_in(position, piece);
                    position += piece.len() as u64;
                }
            }
        }
    }

    /// The bytes between `from` and `to`, in two pieces where the ring wraps.
    ///
    /// # Safety
    /// All of them are completed, and none of them is given to another inserter while the slices live.
    pub unsafe fn pieces(&self, from: u64, to: u64) -> [&[u8]; 2] {
        assert!(from <= to && to - from <= self.capacity(), "the ring holds no more than its capacity");
        let (place, length) = (self.place(from), (to - from) as usize);
        let before = length.min(self.bytes.len() - place);
        let base = self.bytes.as_ptr().cast::<u8>();
        // SAFETY: both ranges are within the ring; their bytes are initialised, and only read while completed.
        unsafe {
            [std::slice::from_raw_parts(base.add(place), before), std::slice::from_raw_parts(base, length - before)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_in_across_the_wrap_comes_out_in_two_pieces() {
        let ring = Ring::new(16);
        // SAFETY: one thread.
        unsafe {
            ring.copy_in(12, b"abcdefgh");
            assert_eq!(ring.pieces(12, 20), [&b"abcd"[..], &b"efgh"[..]]);
            assert_eq!(ring.pieces(16, 20), [&b"efgh"[..], &b""[..]]);
            ring.copy_in(32, &[b'x'; 16]);
            assert_eq!(ring.pieces(36, 52), [&[b'x'; 12][..], &[b'x'; 4][..]]);
        }
    }
}
