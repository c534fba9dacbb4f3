//! The two bits.

/// What two bits of the commit log say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum ClogBits {
    /// Running, or lost in a crash.
    #[default]
    InProgress = 0,
    /// Committed.
    Committed = 1,
    /// Aborted.
    Aborted = 2,
    /// A subtransaction whose top-level transaction is about to be marked committed on another page.
    SubCommitted = 3,
}

impl ClogBits {
    /// From the two low bits of `bits`.
    pub fn from_bits(bits: u8) -> ClogBits {
        match bits & 3 {
            0 => ClogBits::InProgress,
            1 => ClogBits::Committed,
            2 => ClogBits::Aborted,
            _ => ClogBits::SubCommitted,
        }
    }
}
