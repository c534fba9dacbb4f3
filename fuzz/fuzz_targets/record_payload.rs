//! The payload of a log record of any resource manager, as `waldump` and redo take it apart.
#![no_main]

use base::{Lsn, Xid};
use libfuzzer_sys::fuzz_target;
use wal::{Epoch, Record, RecordHead, RmgrId};

fuzz_target!(|bytes: &[u8]| {
    let [rmgr, info, payload @ ..] = bytes else { return };
    let head = RecordHead { rmgr: RmgrId(rmgr % 8), info: *info, xid: Xid(5) };
    let end = Lsn(4096 + (24 + payload.len() as u64).next_multiple_of(8));
    let record = Record { start: Lsn(4096), end, epoch: Epoch(1), head, payload };
    assert!(!engine::redo::describe(&record).is_empty());
});
