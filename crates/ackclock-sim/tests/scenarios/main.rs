//! Scenarios from text to results.

mod conversations;
mod elements;
mod examples;
mod limits;
mod measured;
mod misbehaving;
mod queues;
mod results;
mod round_trip;
mod series;
mod strategies;
mod transfers;
mod windows;
mod workloads;
mod wrong_input;

use std::ops::ControlFlow;
use std::path::Path;

use ackclock_policy::Registry;
use ackclock_sim::scenario::{Files, Resolved, Results, Scenario, run};

/// The ten lines of the documentation, with a short run.
pub(crate) const TEN_LINES: &str = r#"
seed = 1
duration = "5s"
[path]
kind = "dumbbell"
bottleneck = { rate = "10Mbit/s", queue = { kind = "red", limit = "2bdp" } }
rtt = { uniform = ["10ms", "200ms"] }
[workload]
kind = "web"
trace = "I"
load = 1.2
[stacks]
tcp = "sack"
"no backoff" = "sack+no-backoff"
"#;

/// Workloads that name their stacks.
pub(crate) const NAMED_STACKS: &str = r#"
duration = "3s"
path = { kind = "single", link = { rate = "1Mbit/s" }, rtt = "50ms" }
[[workload]]
kind = "bulk"
name = "old"
stack = "old"
[[workload]]
kind = "bulk"
name = "new"
stack = "new"
flows = 2
[stacks]
new = "reno"
old = "rfc793"
"#;

/// The folder of the worked examples.
pub(crate) fn examples() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"))
}

pub(crate) fn resolved(text: &str, sets: &[(&str, &str)]) -> Resolved {
    let scenario = Scenario::parse_with(text, sets).unwrap_or_else(|e| panic!("{e}"));
    scenario
        .resolve_with(&Registry::builtin(), &Files::in_folder(examples()))
        .unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn results(scenario: &Resolved, workers: usize) -> Results {
    run(scenario, |_| ControlFlow::Continue(()), workers)
        .unwrap_or_else(|e| panic!("{e}"))
        .expect("not stopped")
}
