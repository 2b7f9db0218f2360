//! The conservation checks at the end of a run fail when they should.

use std::sync::Arc;

use ackclock_engine::{Config, Lazy, Policies, SenderPolicies};
use ackclock_policy::{Application, Registry};
use ackclock_trace::Mask;
use ackclock_units::{Duration, Instant, Rate};

use crate::{
    Access, FlowList, FlowSpec, LinkSpec, NetworkBuilder, RunOptions, SimError, Simulation, Sources,
    StackFactory,
};

#[derive(Debug)]
struct Plain(Registry);

impl StackFactory for Plain {
    fn label(&self) -> Arc<str> {
        "plain".into()
    }

    fn config(&self) -> Arc<Config> {
        Arc::default()
    }

    fn policies(&self) -> Policies {
        let known = "a built-in policy";
        Policies {
            estimator: self.0.choose("rfc6298").expect(known).build(),
            ack: Lazy::Built(self.0.choose("delayed").expect(known).build()),
            sender: Lazy::Built(Box::new(SenderPolicies {
                backoff: self.0.choose("exponential").expect(known).build(),
                timer: self.0.choose("restart-on-ack").expect(known).build(),
                recovery: self.0.choose("sack").expect(known).build(),
                undo: self.0.choose("none").expect(known).build(),
                window: self.0.choose("reno").expect(known).build(),
                special: None,
            })),
        }
    }
}

/// A run with a bulk flow in progress.
fn running() -> Simulation {
    let registry = Registry::builtin();
    let app = |name: &str| registry.choose::<dyn Application>(name).expect("a built-in application").build();
    let mut net = NetworkBuilder::new();
    let (a, b) = (net.node("a").unwrap(), net.node("b").unwrap());
    let link = || LinkSpec {
        rate: Some(Rate::from_bits_per_sec(10_000_000)),
        delay: Duration::from_millis(10),
        ..LinkSpec::default()
    };
    net.duplex("link", a, b, link(), link()).unwrap();
    let stack: Arc<dyn StackFactory> = Arc::new(Plain(Registry::builtin()));
    let spec = FlowSpec {
        client: a,
        server: b,
        client_stack: stack.clone(),
        server_stack: stack,
        client_app: app("bulk"),
        server_app: app("sink"),
        access: Access::default(),
        start: Instant::ZERO,
        group: "".into(),
        size: None,
        trace: Mask::NONE,
    };
    let sources = Sources { flows: vec![Box::new(FlowList::new(vec![spec]))], datagrams: vec![] };
    let mut sim = Simulation::new(net.build(), sources, 1, RunOptions::default()).unwrap();
    sim.run_until(Instant::ZERO + Duration::from_secs(1)).unwrap();
    sim
}

fn violation(sim: Simulation) -> String {
    match sim.finish() {
        Err(SimError::Conservation(what)) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_intact_run_passes() {
    assert!(running().finish().is_ok());
}

#[test]
fn a_packet_that_vanishes_is_detected() {
    let mut sim = running();
    sim.make_a_packet_vanish();
    let what = violation(sim);
    assert!(what.starts_with("flow 0 has ") && what.contains("packets in flight"), "{what}");
}

#[test]
fn a_miscounting_link_is_detected() {
    let mut sim = running();
    sim.miscount_a_link();
    let what = violation(sim);
    assert!(what.starts_with("link `link` holds "), "{what}");
}

#[test]
fn bytes_that_never_arrived_are_detected() {
    let mut sim = running();
    sim.forget_arrivals();
    assert!(violation(sim).contains("is not in order"));
}
