//! What kind of latch a latch is: its name, its rank, and how often latches of the kind were taken.

/// A kind of latch. One `static` per kind; every [`crate::Latch`] belongs to one.
pub struct LatchClass {
    /// The name that views and counters show.
    pub name: &'static str,
    /// Latches are taken in the order of their ranks, lowest first (checked in debug builds).
    pub rank: u16,
}

/// How often latches of one class were taken, and at what cost: the columns of PostgreSQL's LWLOCK_STATS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatchCounters {
    /// Acquisitions in shared mode.
    pub shared: u64,
    /// Acquisitions in exclusive mode.
    pub exclusive: u64,
    /// Times a thread was put to sleep.
    pub blocked: u64,
    /// Rounds spun before the latch was had or the thread was put to sleep.
    pub spins: u64,
    /// Times a thread joined the queue of sleepers and left it at once, because the latch had become free.
    pub dequeued: u64,
}

impl LatchClass {
    /// A class of which a thread holds at most one latch at a time.
    pub const fn new(name: &'static str, rank: u16) -> LatchClass {
        LatchClass { name, rank }
    }

    /// A class of which a thread may hold several latches at a time, in an order that their owner documents.
    pub const fn several_at_once(self) -> LatchClass {
        self
    }

    /// The counts since the start or the last [`LatchClass::reset`].
    pub fn counters(&self) -> LatchCounters {
        todo!()
    }

    /// Starts counting from zero.
    pub fn reset(&self) {
        todo!()
    }
}

/// Every class of which a latch was made so far.
pub fn latch_classes() -> Vec<&'static LatchClass> {
    todo!()
}
