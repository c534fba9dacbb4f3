//! How much memory there is for pages.

const MEGABYTE: u64 = 1 << 20;

/// The value of `shared_buffers` for a server that was told none: a quarter of the memory that it may use, from 128 MB to
/// 2 GB.
pub fn suggested_shared_buffers() -> String {
    let quarter = available_bytes().map_or(0, |bytes| bytes / 4);
    format!("{}MB", quarter.clamp(128 * MEGABYTE, 2048 * MEGABYTE) / MEGABYTE)
}

/// The machine's memory, or what the control group leaves of it.
#[cfg(target_os = "linux")]
fn available_bytes() -> Option<u64> {
    let info = rustix::system::sysinfo();
    let machine_bytes = info.totalram as u64 * u64::from(info.mem_unit);
    // No such file, or the word "max": no limit.
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    Some(limit.map_or(machine_bytes, |limit: u64| limit.min(machine_bytes)))
}

#[cfg(not(target_os = "linux"))]
fn available_bytes() -> Option<u64> {
    None
}
