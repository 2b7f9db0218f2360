//! The end of a host for any reason: all calls return an error at once. Needs no rights.
#![cfg(target_os = "linux")]

mod common;

use std::io::{ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Time, Instant as Now};

use ackclock_drive::{Clock, EndKind, FlowTestbed, Flows, KernelsOptions};
use ackclock_engine::{Config, Lazy, Policies, State};
use ackclock_policy::{AckAction, AckPending, AckPolicy, ArrivedSegment, Policy};
use ackclock_sim::StackFactory;
use ackclock_sim::scenario::{LinkPlan, Scenario};
use ackclock_wire::Flags;
use common::policies;
use common::wire::{PEER, at, enemy, expect_segment, inject, open, packet, started, syn};

#[test]
fn a_panic_in_the_host_fails_all_calls_at_once() {
    static ARMED: AtomicBool = AtomicBool::new(false);
    let usual = policies("sack", "cubic");
    // For the connection opened from outside only.
    let (host, wire) = started(|o| {
        o.policies = Arc::new(move || {
            assert!(!ARMED.load(Ordering::Relaxed), "a policy that panics");
            usual()
        });
    });
    let listener = host.listen(80, 16).unwrap();
    let idle = host.listen(81, 16).unwrap();
    open(&wire, at(PEER));
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
        expect_segment(&wire, |to, _| to == at("10.0.0.9:9"));
        assert!(host.check().is_ok());
        std::thread::sleep(Time::from_millis(50));
        ARMED.store(true, Ordering::Relaxed);
        inject(&wire, &packet(enemy(1), &syn(), &[]));
        for waiter in [reading, accepting, idling, opening] {
            says(waiter.join().unwrap());
        }
    });
    assert!(start.elapsed() < Time::from_secs(5), "{:?}", start.elapsed());
    // The peer of the other connection gets a reset.
    assert!(expect_segment(&wire, |to, s| to == at(PEER) && s.flags.has(Flags::RST)).flags.has(Flags::RST));
    let e = host.check().unwrap_err().to_string();
    assert!(e.contains("panic"), "{e}");
    // Later calls fail too.
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

/// An ack policy that panics on a segment with 13 bytes of payload, the last of a text.
#[derive(Debug)]
struct Superstitious(Box<dyn AckPolicy>);

/// The default policies with that ack policy.
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
    fn on_arrival(&mut self, arrival: &ArrivedSegment, pending: &AckPending) -> AckAction {
        assert!(arrival.bytes != 13, "thirteen bytes");
        self.0.on_arrival(arrival, pending)
    }
}

#[test]
fn a_panic_of_a_policy_is_reported_and_ends_all_connections() {
    let (host, wire) = started(|o| o.policies = Arc::new(superstitious));
    let listener = host.listen(80, 16).unwrap();
    let [bad, good] = [at(PEER), enemy(1)].map(|from| (open(&wire, from), listener.accept().unwrap()));
    std::thread::scope(|scope| {
        let waiters = [&bad.1, &good.1]
            .map(|mut s| scope.spawn(move || s.read(&mut [0; 100]).unwrap_err().to_string()));
        inject(&wire, &packet(at(PEER), &bad.0, &[0; 13]));
        for waiter in waiters {
            let e = waiter.join().unwrap();
            assert!(e.contains("10.0.0.2:1000") && e.contains("thirteen bytes"), "{e}");
        }
    });
    assert!(host.check().unwrap_err().to_string().contains("thirteen bytes"));
    assert!(expect_segment(&wire, |to, _| to == enemy(1)).flags.has(Flags::RST));
    // A panic on a program's own thread has the same effect.
    drop((bad, good, host));
}

#[test]
fn a_failed_port_fails_all_calls() {
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
        // The server has that policy, since it receives.
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
    let ends = FlowTestbed::new((EndKind::Engine, EndKind::Engine), flows.hosts().unwrap(), path).unwrap();
    let start = Now::now();
    let e = flows.run(ends, &mut || ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(e.contains("the host has ended") && e.contains("thirteen bytes"), "{e}");
    assert!(start.elapsed() < Time::from_secs(20));
}
