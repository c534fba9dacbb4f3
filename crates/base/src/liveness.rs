//! The state of the row behind an index entry, as a unique check learns it.

use crate::identifiers::{Lsn, Xid};

/// Whether a row is there, seen not by a snapshot but as things stand.
///
/// `heap` answers it, `btree` asks it, and neither knows the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Liveness {
    /// No version is left that anybody could bring back.
    Dead,
    /// The row is there; its newest version was committed at this LSN (zero when it is one's own, or
    /// older than every snapshot).
    Live(Lsn),
    /// Another running transaction inserted it.
    InProgressInsert(Xid),
    /// Another running transaction deleted or updated it.
    InProgressDelete(Xid),
}
