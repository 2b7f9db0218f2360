//! Short flows with a heavy tail over a congested drop-tail dumbbell: `bench/README.md` has the layout.
//! Prints one line of JSON.

mod dumbbell;
mod measure;

use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::sync::Arc;

use ackclock_policy::{Application, Chosen, Value};
use ackclock_sim::{FlowSource, FlowSpec, NodeId, RunOptions, Simulation, Sources};
use ackclock_trace::Mask;
use ackclock_units::{Duration, Instant, Rng};
use dumbbell::{Arguments, Tcp, application, measured};
use measure::{cpu_ns, memory_kb};

/// The flows listed in a file: seconds, bytes, class of the round-trip time.
struct Arrivals {
    lines: Lines<BufReader<File>>,
    left: NodeId,
    right: NodeId,
    stack: Arc<Tcp>,
    sender: Chosen<dyn Application>,
    receiver: Chosen<dyn Application>,
    group: Arc<str>,
    arguments: Arguments,
}

impl FlowSource for Arrivals {
    fn next(&mut self, _: Instant, _: &mut Rng) -> Option<FlowSpec> {
        let line = self.lines.next()?.ok()?;
        let mut words = line.split_whitespace();
        let start: f64 = words.next()?.parse().ok()?;
        let size: u64 = words.next()?.parse().ok()?;
        let class: u64 = words.next()?.parse().ok()?;
        self.sender.set_value("size", Value::Bytes(size)).ok()?;
        Some(FlowSpec {
            client: self.left,
            server: self.right,
            client_stack: self.stack.clone(),
            server_stack: self.stack.clone(),
            client_app: self.sender.build(),
            server_app: self.receiver.build(),
            access: self.arguments.access(class, 20),
            start: Instant::ZERO + Duration::from_secs_f64(start),
            group: self.group.clone(),
            size: Some(size),
            trace: Mask::NONE,
        })
    }
}

fn main() {
    let (began, before_kb) = (cpu_ns(), memory_kb("VmRSS"));
    let arguments = Arguments::read("bench_web", "ARRIVALS_FILE");
    let (network, left, right) = dumbbell::dumbbell(&arguments);
    let file = match File::open(&arguments.first) {
        Ok(file) => file,
        Err(error) => {
            eprintln!("{}: {error}", arguments.first);
            std::process::exit(2);
        }
    };
    let arrivals = Arrivals {
        lines: BufReader::new(file).lines(),
        left,
        right,
        stack: Tcp::new(arguments.window, &arguments.control),
        sender: application("fixed"),
        receiver: application("sink"),
        group: "web".into(),
        arguments: Arguments::read("bench_web", "ARRIVALS_FILE"),
    };
    let sources = Sources { flows: vec![Box::new(arrivals)], datagrams: vec![] };
    let sim = Simulation::new(network, sources, 1, RunOptions::default()).expect("a network with paths");
    measured(sim, &arguments, began, before_kb);
}
