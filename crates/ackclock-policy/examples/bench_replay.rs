//! What each timer takes per sample of a long series:
//! `cargo run --release -p ackclock-policy --example bench_replay [SAMPLES]`. A line of JSON for each.

#[path = "../../ackclock-sim/examples/measure/mod.rs"]
mod measure;

use std::error::Error;

use ackclock_policy::replay::{Chunk, Replay};
use ackclock_policy::{Registry, RttEstimator};
use ackclock_units::{Duration, Instant, Rng};
use measure::{cpu_ns, memory_kb};

const CHUNK: usize = 1 << 16;

fn main() -> Result<(), Box<dyn Error>> {
    let samples: usize = std::env::args().nth(1).map_or(Ok(10_000_000), |n| n.parse())?;
    let mut rng = Rng::stream(1, "bench", 0);
    let (mut time, mut rtt, mut flight) = (vec![], vec![], vec![]);
    for i in 0..CHUNK as u64 {
        time.push(Instant::from_nanos(i * 1_000_000));
        rtt.push(Duration::from_nanos(20_000_000 + rng.below(10_000_000)));
        flight.push(1460 * (10 + rng.below(20)));
    }
    let registry = Registry::builtin();
    for d in registry.declarations().iter().filter(|d| d.kind == "estimator") {
        let mut replay = Replay::new(registry.choose::<dyn RttEstimator>(d.name)?.build(), 4096);
        let began = cpu_ns();
        let mut left = samples;
        while left > 0 {
            let n = left.min(CHUNK);
            replay.feed(&Chunk {
                time: &time[..n],
                rtt: &rtt[..n],
                flight_size: &flight[..n],
                smss: 1460,
                ..Chunk::default()
            })?;
            left -= n;
        }
        let ns = (cpu_ns() - began) as f64 / samples as f64;
        let (name, per_s, spurious, peak_kb) = (d.name, 1e9 / ns, replay.spurious, memory_kb("VmHWM"));
        println!(
            r#"{{"name": "replay of {name}, per sample", "ns": {ns:.2}, "per_s": {per_s:.0}, "peak_kb": {peak_kb}, "spurious": {spurious}}}"#
        );
    }
    Ok(())
}
