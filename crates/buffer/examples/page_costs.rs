//! The cost of the paths that every statement takes, in nanoseconds:
//! `cargo run --release -p cohort-buffer --example page_costs`.
//!
//! Each figure is the best of nine rounds of a million operations on pages that are all in the cache.

use std::hint::black_box;
use std::time::Instant;

use base::{FileNumber, Lsn};
use cohort_buffer::{BufferPool, BufferPoolOptions, DoubleWrite, DoubleWriteOptions, LateLog, PageId};
use sync::Arc;
use vfs::RealVfs;

const ROUNDS: usize = 9;
const OPERATIONS: u32 = 1_000_000;
const PAGES: u32 = 1000;
const FILE: FileNumber = FileNumber(16384);

fn measure(what: &str, mut operation: impl FnMut(u32)) {
    let best = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            (0..OPERATIONS).for_each(&mut operation);
            start.elapsed()
        })
        .min()
        .expect("there are rounds");
    println!("{what:<44} {:6.1} ns", best.as_nanos() as f64 / f64::from(OPERATIONS));
}

fn main() -> base::Result<()> {
    let directory = std::env::temp_dir().join(format!("cohort-page-costs-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("the temporary directory can be made");
    let vfs = Arc::new(RealVfs::new());
    let doublewrite = DoubleWrite::open(vfs.clone(), &directory, DoubleWriteOptions::default())?;
    let options = BufferPoolOptions { frames: 2048, ..BufferPoolOptions::default() };
    let pool = BufferPool::new(vfs, &directory.join("base"), Arc::new(LateLog::new()), doublewrite, options)?;
    pool.create_file(FILE)?;
    for _ in 0..PAGES {
        drop(pool.pin_new(FILE)?);
    }
    let pin = |block: u32| pool.pin(PageId::new(FILE, block)).expect("the page is in the cache");
    measure("pin, one page", |_| drop(black_box(pin(7))));
    measure("pin and read latch, one page", |_| drop(black_box(pin(7).into_read())));
    measure("pin and write latch, one page", |_| drop(black_box(pin(7).into_write())));
    let mut lsn = 0;
    measure("pin, write latch and set_lsn, one page", |_| {
        lsn += 8;
        pin(7).write().set_lsn(Lsn(lsn));
    });
    measure("pin and read latch, thousand pages in turn", |step| drop(black_box(pin(step % PAGES).into_read())));
    measure("block_count", |_| drop(black_box(pool.block_count(FILE))));
    drop(pool);
    std::fs::remove_dir_all(&directory).expect("the temporary directory can be removed");
    Ok(())
}
