//! Where the log is kept: [`LogDevice`], of which [`crate::segments::Segments`] is the one for local files.

use std::io;

use crate::Epoch;

/// A stretch of log handed to the device: what one flush writes.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The start of the database that writes it.
    pub epoch: Epoch,
    /// Position of its first byte: the end of the batch before.
    pub start: u64,
    /// Its bytes: two pieces, because the buffers are a ring. The second may be empty.
    pub bytes: [&'a [u8]; 2],
}

impl Batch<'_> {
    /// Position of its end, exclusive.
    pub fn end(&self) -> u64 {
        self.start + (self.bytes[0].len() + self.bytes[1].len()) as u64
    }
}

/// The storage of the log. Positions are bytes since the log began.
///
/// Batches are appended one at a time and without gaps. A failed append or sync leaves its outcome unknown; the log
/// answers it by ending the process, and never tries again. A device that acknowledges batches out of order reports in
/// [`LogDevice::make_durable`] the end of those acknowledged without a gap.
pub trait LogDevice: Send + Sync {
    /// Takes over a batch. It need not be durable afterwards.
    fn append(&self, batch: &Batch<'_>) -> io::Result<()>;

    /// Waits until everything appended before the call, up to `upto`, is durable. Returns up to where the log is durable
    /// now: `upto` or more. One caller at a time; appends may go on meanwhile.
    fn make_durable(&self, upto: u64) -> io::Result<u64>;

    /// Reads what was appended, from `from` on, up to the end of `buffer` or of what the device has; 0 where it has nothing.
    fn read(&self, buffer: &mut [u8], from: u64) -> io::Result<usize>;

    /// Does work in advance of later appends, if there is any left to do: true if it did some.
    fn prepare(&self) -> io::Result<bool>;

    /// Nothing before `before` will be read again.
    fn release_before(&self, before: u64) -> io::Result<()>;

    /// Fills its counters into the log's statistics.
    fn count(&self, statistics: &mut crate::WalStatistics);
}
