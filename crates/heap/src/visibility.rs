//! Which versions a snapshot sees.
//!
//! A version is seen if the snapshot sees the commit of its `xmin` and not that of its `xmax`; of the own
//! transaction's changes, those by earlier commands count. Each commit that a check meets raises the session's
//! `observed` (rule R3).

use base::{Lsn, Xid};
use clog::{ReadWatch, TransactionStatus, TxnCtx};

use crate::tuple::{Tuple, flag};

/// The visibility of a version to a snapshot.
pub(crate) struct Sight {
    pub(crate) visible: bool,
    /// The csn of `xmin`, when it is seen as committed and not yet marked frozen: perhaps it can be now.
    pub(crate) settled: Option<Lsn>,
}

const HIDDEN: Sight = Sight { visible: false, settled: None };

#[inline]
pub(crate) fn look(ctx: &TxnCtx<'_>, tuple: Tuple<'_>) -> Sight {
    let mut settled = None;
    if !tuple.has(flag::XMIN_FROZEN) {
        let xmin = tuple.xmin();
        if xmin == ctx.xid || xmin == ctx.top_xid {
            if tuple.cmin() >= ctx.snapshot.command {
                return HIDDEN;
            }
        } else if xmin.is_normal() {
            match ctx.status.status(xmin) {
                TransactionStatus::Committed(csn) if ctx.snapshot.sees(csn) => {
                    ctx.observe(csn);
                    settled = Some(csn);
                }
                TransactionStatus::InProgress if ctx.is_own(xmin) && tuple.cmin() < ctx.snapshot.command => {}
                _ => return HIDDEN,
            }
        }
    }
    let xmax = tuple.xmax();
    let gone = xmax.is_valid()
        && if xmax == ctx.xid || xmax == ctx.top_xid {
            tuple.cmax() < ctx.snapshot.command
        } else {
            match ctx.status.status(xmax) {
                TransactionStatus::Committed(csn) if ctx.snapshot.sees(csn) => {
                    ctx.observe(csn);
                    true
                }
                TransactionStatus::InProgress => ctx.is_own(xmax) && tuple.cmax() < ctx.snapshot.command,
                _ => false,
            }
        };
    Sight { visible: !gone, settled }
}

/// Tells a serializable transaction's watch which concurrent transactions have made or removed the version, which `visible` says
/// the snapshot shows or not.
#[cold]
pub(crate) fn tell_writers(watch: &dyn ReadWatch, ctx: &TxnCtx<'_>, tuple: Tuple<'_>, visible: bool) {
    let concurrent = |xid: Xid| {
        if xid == ctx.xid || xid == ctx.top_xid || !xid.is_normal() {
            return None;
        }
        match ctx.status.status(xid) {
            TransactionStatus::Committed(csn) if !ctx.snapshot.sees(csn) => Some((xid, Some(csn))),
            TransactionStatus::InProgress if !ctx.is_own(xid) => Some((xid, None)),
            _ => None,
        }
    };
    // The maker of a version that is shown is shown as well; who removed one that isn't has removed nothing of what is.
    let met = if visible {
        if tuple.xmax().is_valid() { concurrent(tuple.xmax()) } else { None }
    } else if tuple.has(flag::XMIN_FROZEN) {
        None
    } else {
        concurrent(tuple.xmin())
    };
    if let Some((xid, committed)) = met {
        watch.met(xid, committed);
    }
    if ctx.snapshot.csn > watch.snapshot() {
        tell_predecessors(watch, ctx, tuple);
    }
}

/// The check of a constraint sees more than the transaction's own snapshot: tells the watch which transactions have made or removed the
/// version in between.
fn tell_predecessors(watch: &dyn ReadWatch, ctx: &TxnCtx<'_>, tuple: Tuple<'_>) {
    let made_by = (!tuple.has(flag::XMIN_FROZEN)).then_some(tuple.xmin());
    for xid in made_by.into_iter().chain([tuple.xmax()]).filter(|xid| xid.is_normal()) {
        if let TransactionStatus::Committed(csn) = ctx.status.status(xid)
            && ctx.snapshot.sees(csn)
            && csn > watch.snapshot()
        {
            watch.succeeds(xid, csn);
        }
    }
}
