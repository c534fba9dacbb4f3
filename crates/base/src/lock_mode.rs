//! The eight lock modes and the four strengths of a row lock, and which exclude which.

use std::fmt;

/// A mode of a relation, object or advisory lock, weakest first, as PostgreSQL numbers them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LockMode {
    /// `SELECT`.
    AccessShare = 1,
    /// `SELECT FOR UPDATE` and its kin.
    RowShare = 2,
    /// `INSERT`, `UPDATE`, `DELETE`.
    RowExclusive = 3,
    /// `VACUUM`, `ANALYZE`, `CREATE INDEX CONCURRENTLY`.
    ShareUpdateExclusive = 4,
    /// `CREATE INDEX`.
    Share = 5,
    /// `CREATE TRIGGER`.
    ShareRowExclusive = 6,
    /// `REFRESH MATERIALIZED VIEW CONCURRENTLY`.
    Exclusive = 7,
    /// `DROP TABLE`, `TRUNCATE`, most of `ALTER TABLE`.
    AccessExclusive = 8,
}

impl LockMode {
    /// Every mode, weakest first.
    pub const ALL: [LockMode; 8] = [
        LockMode::AccessShare,
        LockMode::RowShare,
        LockMode::RowExclusive,
        LockMode::ShareUpdateExclusive,
        LockMode::Share,
        LockMode::ShareRowExclusive,
        LockMode::Exclusive,
        LockMode::AccessExclusive,
    ];

    /// Whether two owners can't hold `self` and `other` on the same target at once.
    pub fn conflicts_with(self, other: LockMode) -> bool {
        self.conflicts().contains(other)
    }

    /// The modes that `self` excludes.
    pub const fn conflicts(self) -> ModeSet {
        // Bit n stands for the mode numbered n; PostgreSQL's documentation has the same table under
        // "Conflicting Lock Modes".
        const AS: u16 = 1 << 1;
        const RS: u16 = 1 << 2;
        const RX: u16 = 1 << 3;
        const SUX: u16 = 1 << 4;
        const S: u16 = 1 << 5;
        const SRX: u16 = 1 << 6;
        const X: u16 = 1 << 7;
        const AX: u16 = 1 << 8;
        ModeSet(match self {
            LockMode::AccessShare => AX,
            LockMode::RowShare => X | AX,
            LockMode::RowExclusive => S | SRX | X | AX,
            LockMode::ShareUpdateExclusive => SUX | S | SRX | X | AX,
            LockMode::Share => RX | SUX | SRX | X | AX,
            LockMode::ShareRowExclusive => RX | SUX | S | SRX | X | AX,
            LockMode::Exclusive => RS | RX | SUX | S | SRX | X | AX,
            LockMode::AccessExclusive => AS | RS | RX | SUX | S | SRX | X | AX,
        })
    }

    /// Whether the mode conflicts with none of the weak ones, itself among them: such a lock on a
    /// relation may be taken without the shared lock table.
    pub const fn is_weak(self) -> bool {
        (self as u8) <= LockMode::RowExclusive as u8
    }

    /// Whether the mode excludes some weak mode, so that its locker must look for fast-path holders.
    pub const fn is_strong(self) -> bool {
        (self as u8) >= LockMode::Share as u8
    }

    /// The name shown in `pg_locks` and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            LockMode::AccessShare => "AccessShareLock",
            LockMode::RowShare => "RowShareLock",
            LockMode::RowExclusive => "RowExclusiveLock",
            LockMode::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            LockMode::Share => "ShareLock",
            LockMode::ShareRowExclusive => "ShareRowExclusiveLock",
            LockMode::Exclusive => "ExclusiveLock",
            LockMode::AccessExclusive => "AccessExclusiveLock",
        }
    }

    /// The mode with this number.
    pub fn from_number(number: u8) -> LockMode {
        Self::ALL[usize::from(number) - 1]
    }
}

impl fmt::Display for LockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of lock modes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct ModeSet(u16);

impl ModeSet {
    /// No mode.
    pub const EMPTY: ModeSet = ModeSet(0);

    /// Just this mode.
    pub const fn of(mode: LockMode) -> ModeSet {
        ModeSet(1 << mode as u8)
    }

    /// Whether `mode` is in the set.
    pub const fn contains(self, mode: LockMode) -> bool {
        self.0 & (1 << mode as u8) != 0
    }

    /// Whether the sets share a mode.
    pub const fn intersects(self, other: ModeSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no mode is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds a mode.
    pub fn insert(&mut self, mode: LockMode) {
        self.0 |= 1 << mode as u8;
    }

    /// Takes a mode away.
    pub fn remove(&mut self, mode: LockMode) {
        self.0 &= !(1 << mode as u8);
    }

    /// Adds all of another set.
    pub fn insert_all(&mut self, other: ModeSet) {
        self.0 |= other.0;
    }

    /// The modes in the set, weakest first.
    pub fn iter(self) -> impl Iterator<Item = LockMode> {
        LockMode::ALL.into_iter().filter(move |mode| self.contains(*mode))
    }
}

impl fmt::Debug for ModeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The strength of a row lock, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum RowLockMode {
    /// `FOR KEY SHARE`: the row stays, and its key columns with it.
    KeyShare = 0,
    /// `FOR SHARE`: nobody changes the row.
    Share = 1,
    /// `FOR NO KEY UPDATE`, and an `UPDATE` that leaves key columns alone.
    NoKeyUpdate = 2,
    /// `FOR UPDATE`, `DELETE`, and an `UPDATE` of key columns.
    Update = 3,
}

impl RowLockMode {
    /// Every strength, weakest first.
    pub const ALL: [RowLockMode; 4] =
        [RowLockMode::KeyShare, RowLockMode::Share, RowLockMode::NoKeyUpdate, RowLockMode::Update];

    /// The clause of a query that asks for it.
    pub const fn clause(self) -> &'static str {
        match self {
            RowLockMode::KeyShare => "FOR KEY SHARE",
            RowLockMode::Share => "FOR SHARE",
            RowLockMode::NoKeyUpdate => "FOR NO KEY UPDATE",
            RowLockMode::Update => "FOR UPDATE",
        }
    }

    /// Whether two transactions can't hold `self` and `other` on the same row at once.
    pub const fn conflicts_with(self, other: RowLockMode) -> bool {
        // KeyShare excludes Update only, Share all that writes, NoKeyUpdate all but KeyShare.
        const CONFLICTS: [u8; 4] = [0b1000, 0b1100, 0b1110, 0b1111];
        CONFLICTS[self as usize] & (1 << other as u8) != 0
    }

    /// The mode of the tuple lock that a waiter for this strength is shown with.
    pub const fn tuple_lock_mode(self) -> LockMode {
        match self {
            RowLockMode::KeyShare => LockMode::AccessShare,
            RowLockMode::Share => LockMode::RowShare,
            RowLockMode::NoKeyUpdate => LockMode::Exclusive,
            RowLockMode::Update => LockMode::AccessExclusive,
        }
    }
}

/// The behaviour of a request when somebody else holds the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WaitPolicy {
    /// Wait for it.
    #[default]
    Block,
    /// Fail at once with 55P03.
    NoWait,
    /// Leave it, and say so.
    Skip,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_symmetric() {
        for a in LockMode::ALL {
            for b in LockMode::ALL {
                assert_eq!(a.conflicts_with(b), b.conflicts_with(a), "{a} {b}");
            }
        }
        let rows = [RowLockMode::KeyShare, RowLockMode::Share, RowLockMode::NoKeyUpdate, RowLockMode::Update];
        for a in rows {
            for b in rows {
                assert_eq!(a.conflicts_with(b), b.conflicts_with(a), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn weak_modes_never_exclude_each_other_and_only_strong_ones_exclude_them() {
        for weak in LockMode::ALL.into_iter().filter(|mode| mode.is_weak()) {
            for other in LockMode::ALL {
                if weak.conflicts_with(other) {
                    assert!(other.is_strong(), "{weak} {other}");
                }
            }
        }
    }

    #[test]
    fn conflict_counts_are_those_of_the_documented_table() {
        let counts: Vec<usize> = LockMode::ALL.iter().map(|mode| mode.conflicts().iter().count()).collect();
        assert_eq!(counts, [1, 2, 4, 5, 5, 6, 7, 8]);
    }
}
