//! Bulk flows over a drop-tail dumbbell: `bench/README.md` has the layout. Prints one line of JSON.

mod dumbbell;
mod measure;

use std::sync::Arc;

use ackclock_sim::{FlowSource, FlowSpec, NodeId, RunOptions, Simulation, Sources};
use ackclock_trace::Mask;
use ackclock_units::{Duration, Instant, Rng};
use dumbbell::{Arguments, Tcp, application, measured};
use measure::{cpu_ns, memory_kb};

/// A number of flows, their starts spread evenly over the first second.
struct Bulk {
    flows: u64,
    next: u64,
    left: NodeId,
    right: NodeId,
    stack: Arc<Tcp>,
    group: Arc<str>,
    arguments: Arguments,
}

impl FlowSource for Bulk {
    fn next(&mut self, _: Instant, _: &mut Rng) -> Option<FlowSpec> {
        if self.next == self.flows {
            return None;
        }
        let i = self.next;
        self.next += 1;
        Some(FlowSpec {
            client: self.left,
            server: self.right,
            client_stack: self.stack.clone(),
            server_stack: self.stack.clone(),
            client_app: application("bulk").build(),
            server_app: application("sink").build(),
            access: self.arguments.access(i % self.arguments.classes, self.flows.min(self.arguments.classes)),
            start: Instant::ZERO + Duration::from_secs(1) * i / self.flows,
            group: self.group.clone(),
            size: None,
            trace: Mask::NONE,
        })
    }
}

fn main() {
    let (began, before_kb) = (cpu_ns(), memory_kb("VmRSS"));
    let arguments = Arguments::read("bench_dumbbell", "FLOWS");
    let (network, left, right) = dumbbell::dumbbell(&arguments);
    let flows = arguments.first.parse().unwrap_or(1);
    let stack = Tcp::new(arguments.window, &arguments.control);
    let bulk = Bulk {
        flows,
        next: 0,
        left,
        right,
        stack,
        group: "bulk".into(),
        arguments: Arguments::read("bench_dumbbell", "FLOWS"),
    };
    let sources = Sources { flows: vec![Box::new(bulk)], datagrams: vec![] };
    let sim = Simulation::new(network, sources, 1, RunOptions::default()).expect("a network with paths");
    measured(sim, &arguments, began, before_kb);
}
