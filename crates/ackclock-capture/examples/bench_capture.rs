//! The speed of the analysis of captures: `bench_capture FILE [TIMERS]` prints one line of JSON; `TIMERS` as
//! in `--what-if`.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, CaptureError, Options};
use ackclock_policy::{Registry, Timing};

/// CPU time of this process with all its threads so far, s, and a line of `/proc/self/status` in kB; 0 if the
/// system does not provide it.
fn used() -> (f64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: u64 = stat
        .rsplit(')')
        .next()
        .map_or(0, |s| s.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|l| l.starts_with("VmHWM"))
        .and_then(|l| l.split_whitespace().nth(1)?.parse().ok());
    // USER_HZ is 100 wherever Linux runs.
    (ticks as f64 / 100.0, line.unwrap_or(0))
}

fn main() -> Result<(), CaptureError> {
    let mut given = std::env::args().skip(1);
    let file = given.next().expect("bench_capture FILE [TIMERS]");
    let timers = given.next().map(|names| Timing::list(&Registry::builtin(), &names).expect("timers"));
    let began = Instant::now();
    let mut packets = Packets::new(open(Path::new(&file))?)?;
    let mut analysis =
        Analysis::new(Options { what_if: timers.unwrap_or_default().into(), ..Options::default() });
    analysis.read(&mut packets, |_| ControlFlow::Continue(()))?;
    let report = analysis.finish();
    let tables = report.tables(&file, |_| true);
    let (cpu, peak_kb) = used();
    let again: u64 = tables.directions.len() as u64
        + report.connections.iter().flat_map(|c| &c.directions).map(|d| d.retransmitted_packets).sum::<u64>();
    println!(
        "{{\"packets\": {}, \"connections\": {}, \"retransmitted\": {again}, \"wall_s\": {:.3}, \"cpu_s\": \
         {cpu:.3}, \"peak_kb\": {peak_kb}}}",
        report.packets,
        report.connections.len(),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}
