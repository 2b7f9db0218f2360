//! How a host ends, whatever ends it: everybody is told at once. Needs no rights.
#![cfg(target_os = "linux")]

mod common;

use std::io::{ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Time, Instant as Now};

use ackclock_drive::{Carrier, Clock, Ends, Flows, KernelsOptions};
use ackclock_engine::{Config, Lazy, Policies, State};
use ackclock_policy::{AckAction, AckPending, AckPolicy, Arrival, Policy};
use ackclock_sim::StackFactory;
use ackclock_sim::scenario::{LinkPlan, Scenario};
use ackclock_wire::Flags;
use common::policies;
use common::wire::{STRANGER, answer, at, enemy, give, open, packet, started, syn};

#[test]
fn a_panic_in_the_host_is_told_to_everyone_at_once() {
    static ARMED: AtomicBool = AtomicBool::new(false);
    let usual = policies("sack", "cubic");
    // Of the connection that a stranger opens, and of nobody else.
    let (host, wire) = started(|o| {
        o.policies = Arc::new(move || {
            assert!(!ARMED.load(Ordering::Relaxed), "a policy that panics");
            usual()
        });
    });
    let listener = host.listen(80, 16).unwrap();
    let idle = host.listen(81, 16).unwrap();
    open(&wire, at(STRANGER));
    let stream = listener.accept().unwrap();
    let start = Now::now();
    let says = |e: std::io::Error| {
        assert_eq!(e.kind(), ErrorKind::ConnectionAborted, "{e}");
        assert!(e.to_string().contains("the host has ended"), "{e}");
    };
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| (&stream).read(&mut [0; 10]).unwrap_err());
        let accepting = scope.spawn(|| listener.accept().err().unwrap());
        let idling = scope.spawn(|| idle.accept().err().unwrap());
        let opening = scope.spawn(|| host.connect(at("10.0.0.9:9")).err().unwrap());
        answer(&wire, |to, _| to == at("10.0.0.9:9"));
        assert!(host.check().is_ok());
        std::thread::sleep(Time::from_millis(50));
        ARMED.store(true, Ordering::Relaxed);
        give(&wire, &packet(enemy(1), &syn(), &[]));
        for waiter in [reading, accepting, idling, opening] {
            says(waiter.join().unwrap());
        }
    });
    assert!(start.elapsed() < Time::from_secs(5), "{:?}", start.elapsed());
    // The peer of the innocent connection is told as well.
    assert!(answer(&wire, |to, s| to == at(STRANGER) && s.flags.has(Flags::RST)).flags.has(Flags::RST));
    let e = host.check().unwrap_err().to_string();
    assert!(e.contains("panic"), "{e}");
    // And so are later calls.
    says((&stream).write(b"x").unwrap_err());
    says((&stream).read(&mut [0]).unwrap_err());
    says(listener.accept().err().unwrap());
    says(host.connect(at("10.0.0.9:9")).err().unwrap());
    says(host.listen(82, 1).err().unwrap());
    assert_eq!(stream.state(), State::Closed);
    stream.shutdown_write();
    stream.set_cork(true);
    says(stream.close(None).unwrap_err());
}

/// An acknowledgment policy that panics at the first segment with a payload of 13 bytes, which is the last of
/// some text.
#[derive(Debug)]
struct Superstitious(Box<dyn AckPolicy>);

/// The usual policies with that one among them.
fn superstitious() -> Policies {
    let Policies { ack: Lazy::Built(ack), estimator, sender } = policies("sack", "cubic")() else {
        panic!("made at once")
    };
    Policies { ack: Lazy::Built(Box::new(Superstitious(ack))), estimator, sender }
}

impl Policy for Superstitious {
    fn name(&self) -> &str {
        "superstitious"
    }
}

impl AckPolicy for Superstitious {
    fn on_arrival(&mut self, arrival: &Arrival, pending: &AckPending) -> AckAction {
        assert!(arrival.bytes != 13, "thirteen bytes");
        self.0.on_arrival(arrival, pending)
    }
}

#[test]
fn a_policy_that_panics_on_a_connection_is_named_and_the_others_are_told() {
    let (host, wire) = started(|o| o.policies = Arc::new(superstitious));
    let listener = host.listen(80, 16).unwrap();
    let [bad, good] = [at(STRANGER), enemy(1)].map(|from| (open(&wire, from), listener.accept().unwrap()));
    std::thread::scope(|scope| {
        let waiters = [&bad.1, &good.1]
            .map(|mut s| scope.spawn(move || s.read(&mut [0; 100]).unwrap_err().to_string()));
        give(&wire, &packet(at(STRANGER), &bad.0, &[0; 13]));
        for waiter in waiters {
            let e = waiter.join().unwrap();
            assert!(e.contains("10.0.0.2:1000") && e.contains("thirteen bytes"), "{e}");
        }
    });
    assert!(host.check().unwrap_err().to_string().contains("thirteen bytes"));
    assert!(answer(&wire, |to, _| to == enemy(1)).flags.has(Flags::RST));
    // What a policy does on a program's own thread is no other matter.
    drop((bad, good, host));
}

#[test]
fn a_port_that_is_gone_is_told_too() {
    let (host, wire) = started(|_| ());
    let listener = host.listen(80, 16).unwrap();
    std::thread::scope(|scope| {
        let accepting = scope.spawn(|| listener.accept().err().unwrap().to_string());
        std::thread::sleep(Time::from_millis(50));
        drop(wire);
        let e = accepting.join().unwrap();
        assert!(e.contains("its port failed"), "{e}");
    });
    assert!(host.check().is_err());
}

/// A scenario's stack with that policy.
#[derive(Debug)]
struct Bad(Arc<dyn StackFactory>);

impl StackFactory for Bad {
    fn label(&self) -> Arc<str> {
        self.0.label()
    }

    fn config(&self) -> Arc<Config> {
        self.0.config()
    }

    fn policies(&self) -> Policies {
        superstitious()
    }
}

#[test]
fn a_run_whose_host_has_ended_fails_at_once() {
    let text = r#"
        seed = 1
        duration = "1000s"
        [path]
        kind = "single"
        link = { rate = "100Mbit/s" }
        rtt = "2ms"
        [[workload]]
        kind = "fixed"
        size = "14613B"
        [stacks]
        tcp = "sack"
    "#;
    let scenario = Scenario::parse(text).unwrap().resolve().unwrap();
    let mut conversations = scenario.conversations(scenario.jobs()[0]).unwrap();
    for c in &mut conversations {
        // The server's, to which the client sends.
        c.stacks[1] = Arc::new(Bad(Arc::clone(&c.stacks[1])));
    }
    let (parameters, options) = (Vec::new(), Vec::new());
    let flows =
        Flows { conversations, duration: scenario.duration(), parameters, options, quick_acks: false };
    let edge = &scenario.path.edges[0];
    let (there, back) = (edge.link.spec(), edge.back.as_ref().map(LinkPlan::spec).unwrap());
    let path = KernelsOptions {
        mtu: 1500,
        there,
        back,
        access: flows.access(),
        seed: 1,
        clock: Clock::start(),
        capture: None,
    };
    let ends = Ends::new((Carrier::Engine, Carrier::Engine), flows.hosts().unwrap(), path).unwrap();
    let start = Now::now();
    let e = flows.run(ends, &mut || ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(e.contains("the host has ended") && e.contains("thirteen bytes"), "{e}");
    assert!(start.elapsed() < Time::from_secs(20));
}
