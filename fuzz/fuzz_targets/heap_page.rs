//! A page of a heap.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut page = [0; base::limits::PAGE_SIZE_BYTES];
    let length = bytes.len().min(page.len());
    page[..length].copy_from_slice(&bytes[..length]);
    // The other end as well: the rest of the input lies where tuples do.
    let tail = &bytes[..length.min(256)];
    let at = page.len() - tail.len();
    page[at..].copy_from_slice(tail);
    let _ = heap::fuzz_page(&page);
    let _ = heap::fuzz_page(bytes);
});
