//! Time and memory of this process, for the benchmarks.

use std::fs;
use std::sync::OnceLock;
use std::time::Instant;

/// CPU time of this process so far, ns; where that is not available, the time since the first call.
pub fn cpu_ns() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    let begin = BEGIN.get_or_init(Instant::now);
    let cpu = fs::read_to_string("/proc/self/schedstat")
        .ok()
        .and_then(|s| s.split_whitespace().next()?.parse().ok());
    cpu.unwrap_or_else(|| begin.elapsed().as_nanos() as u64)
}

/// A line of `/proc/self/status` in kB (`VmHWM`: peak memory; `VmRSS`: present memory); 0 where that is
/// not available.
#[allow(dead_code)]
pub fn memory_kb(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(key));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
