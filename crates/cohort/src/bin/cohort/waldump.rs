//! `cohort waldump`: the records of a log, one line each.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use base::{Error, Lsn, Result, sqlstate};
use clap::Args;
use vfs::RealVfs;
use wal::{LogEnd, WalReader};

/// Arguments of `cohort waldump`.
#[derive(Args)]
pub struct WaldumpArguments {
    /// The data folder.
    directory: PathBuf,
    /// Where to begin, as 0/1000000; the last checkpoint's redo point if not given. A record must begin there.
    #[arg(long, value_name = "LSN", value_parser = parse_lsn)]
    start: Option<Lsn>,
    /// Where to end.
    #[arg(long, value_name = "LSN", value_parser = parse_lsn)]
    end: Option<Lsn>,
    /// The most records to print.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,
    /// Only records of this transaction.
    #[arg(short = 'x', long, value_name = "XID")]
    xid: Option<u64>,
    /// Counts and sizes by kind in place of records.
    #[arg(long)]
    stats: bool,
}

fn parse_lsn(text: &str) -> std::result::Result<Lsn, String> {
    let wrong = || format!("\"{text}\" is no log position; one looks like 0/1000000");
    let (high, low) = text.split_once('/').ok_or_else(wrong)?;
    let part = |digits: &str| u32::from_str_radix(digits, 16).map_err(|_| wrong());
    Ok(Lsn(u64::from(part(high)?) << 32 | u64::from(part(low)?)))
}

/// Prints the records.
///
/// # Errors
/// When the folder or the log can't be read.
pub fn run(arguments: &WaldumpArguments) -> Result<()> {
    let control = engine::read_control(&RealVfs::new(), &arguments.directory)?;
    let start = arguments.start.unwrap_or(control.redo);
    let mut reader = WalReader::open(
        Arc::new(RealVfs::new()),
        &arguments.directory.join("wal"),
        control.segment_size_bytes,
        start,
        None,
        arguments.end.unwrap_or(Lsn::MAX),
    )?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut kinds = std::collections::BTreeMap::<&'static str, (u64, u64)>::new();
    let (mut count, mut first) = (0u64, true);
    while let Some(record) = reader.next()? {
        first = false;
        if arguments.xid.is_some_and(|xid| record.head.xid.0 != xid) {
            continue;
        }
        if arguments.limit.is_some_and(|limit| count >= limit) {
            break;
        }
        count += 1;
        let kind = engine::redo::rmgr_name(record.head.rmgr);
        let size_bytes = record.end.0 - record.start.0;
        if arguments.stats {
            let entry = kinds.entry(kind).or_default();
            entry.0 += 1;
            entry.1 += size_bytes;
            continue;
        }
        let line = format!(
            "{:>12}  {:>6} bytes  xid {:>10}  {kind:<12} {}",
            record.start.to_string(),
            size_bytes,
            record.head.xid.0,
            engine::redo::describe(&record)
        );
        if writeln!(out, "{line}").is_err() {
            // The reader of our output has seen enough.
            return Ok(());
        }
    }
    if arguments.stats {
        for (kind, (records, bytes)) in kinds {
            let _ = writeln!(out, "{kind:<12} {records:>10} records {bytes:>14} bytes");
        }
    }
    let _ = out.flush();
    if first && arguments.start.is_some() {
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("no record of the log begins at {start}")));
    }
    if reader.end() == Some(LogEnd::NoRecord) {
        eprintln!("cohort: the log ends at {}", reader.position());
    }
    Ok(())
}
