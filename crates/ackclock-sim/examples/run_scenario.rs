//! Runs a scenario file and prints its summaries:
//! `cargo run --release --example run_scenario -- FILE [key=value]...`
use std::ops::ControlFlow;
use std::path::Path;

use ackclock_policy::Registry;
use ackclock_sim::scenario::{Files, Scenario, run};

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| fail("give a scenario file"));
    let sets: Vec<String> = args.collect();
    let sets: Vec<_> = sets.iter().filter_map(|s| s.split_once('=')).collect();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| fail(&format!("{file}: {e}")));
    let folder = Files::in_folder(Path::new(&file).parent().unwrap_or(Path::new(".")));
    let resolved =
        Scenario::parse_with(&text, &sets).and_then(|s| s.resolve_with(&Registry::builtin(), &folder));
    let resolved = resolved.unwrap_or_else(|e| fail(&e.in_file(&file).to_string()));
    print!("{}", resolved.to_toml());
    let began = std::time::Instant::now();
    let results = run(&resolved, |_| ControlFlow::Continue(()), 2)
        .unwrap_or_else(|e| fail(&e.to_string()))
        .expect("never stopped");
    eprintln!(
        "{:?}, {} flows, {} events",
        began.elapsed(),
        results.flows.len(),
        results.runs.iter().map(|r| r.events).sum::<u64>()
    );
    for s in results.summaries(&resolved) {
        let ms = |d: Option<ackclock_units::Duration>| d.map_or(0.0, |d| d.as_secs_f64() * 1e3);
        println!(
            "# {} / {}: {} started, {} finished, {} failed, {} unfinished",
            s.run, s.stack, s.flows_started, s.flows_finished, s.flows_failed, s.flows_unfinished
        );
        let times =
            [s.response_mean, s.response_median, s.response_p90, s.response_p99, s.response_max].map(ms);
        println!(
            "#   response ms: mean {:.0} median {:.0} p90 {:.0} p99 {:.0} max {:.0}",
            times[0], times[1], times[2], times[3], times[4]
        );
        println!(
            "#   {}: loss {:?} goodput {:?} utilisation {:?} mean size {:?} load {:?}",
            s.bottleneck, s.loss, s.goodput, s.utilisation, s.mean_size, s.load
        );
        println!(
            "#   timeouts {} {:?} spurious {}, retransmitted {} spurious {} of {}",
            s.timeouts,
            s.timeouts_by_round,
            s.spurious_timeouts,
            s.retransmitted_segments,
            s.unneeded_retransmissions,
            s.data_segments_sent
        );
    }
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}
