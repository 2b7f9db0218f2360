//! Shared by the tests of whole runs: a stack built from names, flows, a dumbbell.
#![allow(dead_code)]

use std::sync::Arc;

use ackclock_engine::{Config, Lazy, Policies, SenderPolicies};
use ackclock_policy::{Application, Chosen, QueueDiscipline, Registry, Role};
use ackclock_sim::{
    Access, Fault, FlowList, FlowSpec, LinkSpec, Network, NetworkBuilder, NodeId, RunOptions, RunOutcome,
    Simulation, Sources, StackFactory,
};
use ackclock_trace::Mask;
use ackclock_units::{Bytes, Duration, Instant, Rate};

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

pub fn mbit(n: u64) -> Rate {
    Rate::from_bits_per_sec(n * 1_000_000)
}

/// A policy by name, with parameters `key=value`.
pub fn choose<T: Role + ?Sized>(text: &str) -> Chosen<T> {
    let mut words = text.split_whitespace();
    let mut chosen = Registry::builtin().choose(words.next().expect("a name")).expect("a built-in policy");
    for word in words {
        let (key, value) = word.split_once('=').expect("key=value");
        chosen.set(key, value).expect("a parameter");
    }
    chosen
}

pub fn drop_tail(limit: &str) -> Box<dyn QueueDiscipline> {
    choose(&format!("drop-tail limit={limit}")).build()
}

#[derive(Debug)]
pub struct Tcp {
    pub config: Arc<Config>,
    pub recovery: &'static str,
    pub window: &'static str,
    pub ack: &'static str,
    pub min_rto: &'static str,
}

impl Default for Tcp {
    fn default() -> Self {
        let config = Config { mss: 1000, time_wait: Duration::from_secs(1), ..Config::default() };
        Self { config: Arc::new(config), recovery: "sack", window: "reno", ack: "delayed", min_rto: "1s" }
    }
}

impl StackFactory for Tcp {
    fn label(&self) -> Arc<str> {
        self.recovery.into()
    }

    fn config(&self) -> Arc<Config> {
        self.config.clone()
    }

    fn policies(&self) -> Policies {
        Policies {
            estimator: choose(&format!("rfc6298 min_rto={}", self.min_rto)).build(),
            ack: Lazy::Built(choose(self.ack).build()),
            sender: Lazy::Built(Box::new(SenderPolicies {
                backoff: choose("exponential").build(),
                timer: choose("restart-on-ack").build(),
                recovery: choose(self.recovery).build(),
                undo: choose("none").build(),
                window: choose(self.window).build(),
                special: None,
            })),
        }
    }
}

/// A bottleneck from the first node to the second, and a way back of the same rate.
pub struct Path {
    pub rate: Rate,
    pub delay: Duration,
    pub queue: Option<Box<dyn QueueDiscipline>>,
    pub faults: Vec<Box<dyn Fault>>,
    pub back_faults: Vec<Box<dyn Fault>>,
}

impl Default for Path {
    fn default() -> Self {
        Self { rate: mbit(10), delay: ms(25), queue: None, faults: vec![], back_faults: vec![] }
    }
}

impl Path {
    pub fn build(self) -> (Network, NodeId, NodeId) {
        let mut net = NetworkBuilder::new();
        let (left, right) = (net.node("left").unwrap(), net.node("right").unwrap());
        let there = LinkSpec {
            rate: Some(self.rate),
            delay: self.delay,
            queue: self.queue,
            faults: self.faults,
            ..LinkSpec::default()
        };
        let back = LinkSpec {
            rate: Some(self.rate),
            delay: self.delay,
            queue: None,
            faults: self.back_faults,
            ..LinkSpec::default()
        };
        net.duplex("bottleneck", left, right, there, back).unwrap();
        (net.build(), left, right)
    }
}

/// A flow whose client runs `client` and whose server runs `server`.
pub fn flow(tcp: &Arc<Tcp>, ends: (NodeId, NodeId), client: &str, server: &str, start: Instant) -> FlowSpec {
    FlowSpec {
        client: ends.0,
        server: ends.1,
        client_stack: tcp.clone(),
        server_stack: tcp.clone(),
        client_app: choose::<dyn Application>(client).build(),
        server_app: choose::<dyn Application>(server).build(),
        access: Access::default(),
        start,
        group: "test".into(),
        size: None,
        trace: Mask::NONE,
    }
}

/// One flow that sends `size` bytes and closes.
pub fn transfer(tcp: Tcp, path: Path, size: Bytes, seed: u64, seconds: u64) -> RunOutcome {
    let (net, left, right) = path.build();
    let spec = flow(&Arc::new(tcp), (left, right), &format!("fixed size={size}B"), "sink", Instant::ZERO);
    run(net, vec![spec], seed, seconds)
}

pub fn run(net: Network, flows: Vec<FlowSpec>, seed: u64, seconds: u64) -> RunOutcome {
    let sources = Sources { flows: vec![Box::new(FlowList::new(flows))], datagrams: vec![] };
    let mut sim =
        Simulation::new(net, sources, seed, RunOptions::default()).expect("a run that can be set up");
    sim.run_until(at(seconds * 1000)).expect("a run without errors");
    sim.finish().expect("conservation")
}
