//! `cohort control`: the control file in words.

use std::path::Path;

use base::Result;
use vfs::RealVfs;

/// Prints the control file of the data folder `directory`.
///
/// # Errors
/// When it can't be read, or is damaged.
pub fn run(directory: &Path) -> Result<()> {
    let control = engine::read_control(&RealVfs::new(), directory)?;
    let state = if control.closed { "shut down" } else { "in use, or not shut down" };
    println!("Format version:            {}", engine::FORMAT_VERSION);
    println!("System identifier:         {}", control.system_identifier);
    println!("State:                     {state}");
    println!("Redo point:                {}", control.redo);
    println!("Log durable at least to:   {}", control.durable_floor);
    println!("Log epoch:                 {}", control.epoch);
    println!("Log segment size:          {} bytes", control.segment_size_bytes);
    println!("Next transaction:          {}", control.next_xid);
    println!("Oldest transaction:        {}", control.oldest_xid);
    println!("Next object identifier:    {}", control.next_oid);
    println!("Next file number:          {}", control.next_file);
    println!("Catalog version:           {}", control.catalog_version);
    println!("Written:                   {} us after 1970-01-01 UTC", control.written_at_us);
    Ok(())
}
