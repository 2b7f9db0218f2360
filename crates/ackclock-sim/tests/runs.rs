//! Whole runs: determinism, fairness, the window over time, datagrams, several links.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use ackclock_sim::{
    Access, Datagram, DatagramSource, DatagramSpec, FaultVerdict, FlowList, FlowSource, FlowSpec, LinkSpec,
    NetworkBuilder, NodeId, PacketInfo, PacketKind, RunOptions, RunOutcome, SimError, Simulation, Sources,
};
use ackclock_trace::{EventKind, Mask};
use ackclock_units::{Duration, Instant, Rng};
use support::{Path, Tcp, at, choose, drop_tail, flow, mbit, ms, run};

fn busy(seed: u64) -> RunOutcome {
    let tcp = Arc::new(Tcp::default());
    let path = Path {
        queue: Some(choose("red limit=50packets").build()),
        faults: vec![Box::new(
            |_: &_, _: Instant, rng: &mut Rng| {
                if rng.chance(0.01) { FaultVerdict::Drop } else { FaultVerdict::Pass }
            },
        )],
        ..Path::default()
    };
    let (net, left, right) = path.build();
    let mut flows: Vec<_> =
        (0..50).map(|i| flow(&tcp, (left, right), "fixed size=100000B", "sink", at(37 * i))).collect();
    for (i, f) in flows.iter_mut().enumerate() {
        f.access = Access::at_server(ms(10 + 3 * i as u64));
        f.trace = Mask::ALL;
    }
    run(net, flows, seed, 30)
}

#[test]
fn the_same_seed_gives_the_same_rows_and_events() {
    let (a, b, c) = (busy(1), busy(1), busy(2));
    assert_eq!(format!("{:?}", (&a.flows, &a.links)), format!("{:?}", (&b.flows, &b.links)));
    assert_eq!(a.events, b.events);
    assert_eq!(a.processed, b.processed);
    assert_ne!(format!("{:?}", a.flows), format!("{:?}", c.flows));
    assert!(a.events.iter().any(|e| e.connection == 99), "the last flow's server is traced");
    assert!(a.events.iter().filter(|e| e.connection == 0).is_sorted_by_key(|e| e.at));
}

#[test]
fn slices_do_not_change_a_run() {
    let whole = busy(1);
    let tcp = Arc::new(Tcp::default());
    let (net, left, right) = Path::default().build();
    let specs = |n: u64| {
        (0..n).map(|i| flow(&tcp, (left, right), "fixed size=50000B", "sink", at(i))).collect::<Vec<_>>()
    };
    let reference = run(net, specs(20), 1, 30);
    let (net, ..) = Path::default().build();
    let sources = Sources { flows: vec![Box::new(FlowList::new(specs(20)))], datagrams: vec![] };
    let mut sim = Simulation::new(net, sources, 1, RunOptions::default()).unwrap();
    let mut slices = 0;
    let done = sim.run(at(30_000), ms(7), |p| {
        slices += 1;
        assert!(p.flows_ended <= p.flows_started && p.now <= at(30_000));
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!((done, slices), (Ok(true), 4286));
    assert!(sim.is_done());
    assert_eq!(format!("{:?}", sim.finish().unwrap().flows), format!("{:?}", reference.flows));
    assert!(whole.processed > 0);
}

#[test]
fn a_run_can_be_interrupted_and_still_finishes() {
    let tcp = Arc::new(Tcp::default());
    let (net, left, right) = Path::default().build();
    let sources = Sources {
        flows: vec![Box::new(FlowList::new(vec![flow(&tcp, (left, right), "bulk", "sink", at(0))]))],
        datagrams: vec![],
    };
    let mut sim = Simulation::new(net, sources, 1, RunOptions::default()).unwrap();
    let stopped = sim.run(at(10_000), ms(100), |p| {
        if p.now >= at(500) { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    });
    assert_eq!(stopped, Ok(false));
    let outcome = sim.finish().unwrap();
    assert_eq!(outcome.links[0].observed, ms(500));
    assert!(outcome.flows[0].bytes_delivered > 100_000);
}

#[test]
fn two_flows_of_one_kind_share_fairly() {
    let tcp = Arc::new(Tcp::default());
    // Random drops, to avoid phase effects (M-F7).
    let (net, left, right) =
        Path { queue: Some(choose("red limit=60packets").build()), ..Path::default() }.build();
    let flows = vec![
        flow(&tcp, (left, right), "bulk", "sink", at(0)),
        flow(&tcp, (left, right), "bulk", "sink", at(300)),
    ];
    let outcome = run(net, flows, 5, 300);
    let bytes: Vec<f64> = outcome.flows.iter().map(|f| f.bytes_delivered as f64).collect();
    let jain = (bytes[0] + bytes[1]).powi(2) / (2.0 * (bytes[0].powi(2) + bytes[1].powi(2)));
    assert!(jain > 0.98, "Jain's index {jain}: {bytes:?}");
    let utilisation = outcome.links[0].utilisation.unwrap();
    assert!(utilisation > 0.85, "{utilisation}");
}

#[test]
fn the_window_draws_its_saw_teeth() {
    let tcp = Arc::new(Tcp::default());
    let (net, left, right) = Path { queue: Some(drop_tail("20packets")), ..Path::default() }.build();
    let mut spec = flow(&tcp, (left, right), "bulk", "sink", at(0));
    spec.trace = Mask::SAMPLES;
    let outcome = run(net, vec![spec], 1, 40);
    // The window in segments at the end of every half second, and as a bar.
    let mut drawing = String::new();
    for half in 1..=80 {
        let until = at(500 * half);
        let cwnd = outcome.events.iter().filter(|e| e.at <= until && e.connection == 0).fold(0, |last, e| {
            match e.kind {
                EventKind::Window { cwnd, .. } => (cwnd + 500) / 1000,
                _ => last,
            }
        });
        writeln!(drawing, "{:>5.1} s {cwnd:>3} {}", half as f64 / 2.0, "#".repeat(cwnd as usize)).unwrap();
    }
    insta::assert_snapshot!(drawing);
}

/// A number of datagrams of one size at equal intervals.
struct Steady(u64, Duration);

impl DatagramSource for Steady {
    fn next(&mut self, _: &mut Rng) -> Option<Datagram> {
        self.0 = self.0.checked_sub(1)?;
        let at = Instant::ZERO + self.1 * (999 - self.0);
        Some(Datagram { at, bytes: 500 })
    }
}

#[test]
fn datagrams_share_the_links() {
    let tcp = Arc::new(Tcp::default());
    let (net, left, right) = Path { queue: Some(drop_tail("20packets")), ..Path::default() }.build();
    let datagrams = DatagramSpec {
        from: left,
        to: right,
        up: ms(1),
        down: ms(2),
        reports: None,
        back: Duration::ZERO,
        source: Box::new(Steady(1000, ms(1))),
        group: "noise".into(),
    };
    let flows: Vec<Box<dyn FlowSource>> =
        vec![Box::new(FlowList::new(vec![flow(&tcp, (left, right), "bulk", "sink", at(0))]))];
    let mut sim =
        Simulation::new(net, Sources { flows, datagrams: vec![datagrams] }, 1, RunOptions::default())
            .unwrap();
    sim.run_until(at(5000)).unwrap();
    let outcome = sim.finish().unwrap();
    let [tcp, udp] = &outcome.flows[..] else { panic!("two rows") };
    assert_eq!((udp.protocol, udp.segments_sent, udp.bytes_sent), ("udp", 1000, 500_000));
    assert!(
        udp.bytes_delivered < 500_000 && udp.bytes_delivered > 300_000,
        "some are dropped: {}",
        udp.bytes_delivered
    );
    assert!(tcp.bytes_delivered > 1_000_000);
    assert_eq!(
        outcome.links[0].data_packets,
        outcome.links[0].packets - handshake(&outcome),
        "datagrams are data"
    );
}

/// A datagram every millisecond until the first report, every two milliseconds from then on.
struct Reported(Arc<std::sync::Mutex<Vec<u64>>>, Instant);

impl DatagramSource for Reported {
    fn next(&mut self, _: &mut Rng) -> Option<Datagram> {
        let reports = self.0.lock().unwrap().len() as u64;
        self.1 += ms(1 + reports.min(1));
        (self.1 < at(1000)).then_some(Datagram { at: self.1, bytes: 500 })
    }

    fn on_report(&mut self, number: u64) {
        self.0.lock().unwrap().push(number);
    }
}

#[test]
fn a_gap_in_the_numbers_of_datagrams_is_reported_to_their_source() {
    // Datagrams 101 and 102 are lost, and 201: two gaps, each reported by its last number.
    let lose = |p: &PacketInfo, _: Instant, _: &mut Rng| match (p.kind, p.offset) {
        (PacketKind::Datagram, 101 | 102 | 201) if p.bytes == 500 => FaultVerdict::Drop,
        _ => FaultVerdict::Pass,
    };
    let (net, left, right) = Path { faults: vec![Box::new(lose)], ..Path::default() }.build();
    let reports = Arc::new(std::sync::Mutex::new(Vec::new()));
    let source = Box::new(Reported(Arc::clone(&reports), at(0)));
    let (down, back, group) = (ms(2), ms(3), "datagrams".into());
    let spec =
        DatagramSpec { from: left, to: right, up: ms(1), down, reports: Some(40), back, source, group };
    let options = RunOptions { trace: Mask::PACKETS, ..RunOptions::default() };
    let mut sim =
        Simulation::new(net, Sources { flows: Vec::new(), datagrams: vec![spec] }, 1, options).unwrap();
    sim.run_until(at(2000)).unwrap();
    let outcome = sim.finish().unwrap();
    assert_eq!(*reports.lock().unwrap(), [102, 201]);
    let sent = outcome.flows[0].segments_sent;
    assert_eq!(
        (outcome.flows[0].bytes_sent, outcome.flows[0].bytes_delivered),
        (500 * sent, 500 * (sent - 3))
    );
    // The trace has the sent datagrams and the received reports as connection 0.
    let received = |e: &&ackclock_trace::Event| matches!(e.kind, EventKind::Received { .. });
    assert_eq!((outcome.events.iter().filter(received).count(), outcome.events.len() as u64), (2, sent + 2));
    assert!(outcome.events.iter().all(|e| e.connection == 0));
    let at_of = |e: &ackclock_trace::Event| e.at.as_secs_f64();
    let report = outcome.events.iter().find(received).map(at_of).expect("a report");
    let third = outcome
        .events
        .iter()
        .filter(|e| matches!(e.kind, EventKind::Sent { .. }))
        .nth(102)
        .map(at_of)
        .expect("sent");
    assert!(report > third + 0.006, "a report takes a round trip: {third} {report}");
}

/// Packets of the first link that are neither segments with payload nor datagrams.
fn handshake(outcome: &RunOutcome) -> u64 {
    outcome.flows[0].segments_sent - outcome.flows[0].data_segments_sent
}

#[test]
fn a_chain_delays_as_the_sum_of_its_links() {
    let mut net = NetworkBuilder::new();
    let nodes: Vec<NodeId> = (0..4).map(|i| net.node(&format!("n{i}")).unwrap()).collect();
    for (i, w) in nodes.windows(2).enumerate() {
        let link = || LinkSpec::new(mbit(8), ms(5), drop_tail("100packets"));
        net.duplex(&format!("l{i}"), w[0], w[1], link(), link()).unwrap();
    }
    let tcp = Arc::new(Tcp { ack: "every", ..Tcp::default() });
    let mut spec = flow(&tcp, (nodes[0], nodes[3]), "fixed size=1000B", "sink", at(0));
    spec.access = Access { client_up: ms(1), client_down: ms(2), server_up: ms(3), server_down: ms(4) };
    let outcome = run(net.build(), vec![spec], 1, 10);
    let row = &outcome.flows[0];
    assert_eq!(row.path_rtt, Some(ms(40)));
    // 52, 52, 1040 and 40 bytes, each sent three times, in 1 us a byte; two round trips.
    assert_eq!(row.response_time, Some(ms(80) + Duration::from_micros(3 * (52 + 52 + 1040 + 40))));
    assert_eq!(outcome.links.len(), 6);
    assert!(outcome.links.iter().all(|l| l.packets == l.delivered && l.packets == l.packets_offered));
}

#[test]
fn both_ends_at_one_node_need_no_link() {
    let mut net = NetworkBuilder::new();
    let a = net.node("a").unwrap();
    let tcp = Arc::new(Tcp { ack: "every", ..Tcp::default() });
    let mut spec = flow(&tcp, (a, a), "fixed size=1000B", "sink", at(0));
    spec.access = Access::at_server(ms(10));
    let outcome = run(net.build(), vec![spec], 1, 10);
    assert_eq!(outcome.flows[0].response_time, Some(ms(20)));
}

#[test]
fn a_run_that_cannot_go_on_returns_an_error() {
    let tcp = Arc::new(Tcp::default());
    let mut net = NetworkBuilder::new();
    let (a, b) = (net.node("a").unwrap(), net.node("b").unwrap());
    net.link("there", a, b, LinkSpec::delay(ms(1))).unwrap();
    let sources = Sources {
        flows: vec![Box::new(FlowList::new(vec![flow(&tcp, (a, b), "bulk", "sink", at(5))]))],
        datagrams: vec![],
    };
    let mut sim = Simulation::new(net.build(), sources, 1, RunOptions::default()).unwrap();
    assert_eq!(sim.run_until(at(4)), Ok(()));
    let error = sim.run_until(at(10)).unwrap_err();
    assert_eq!(error.to_string(), "no path leads from `b` to `a`");
    assert_eq!(sim.run_until(at(20)), Err(error));
    assert!(sim.finish().is_err());

    struct Backwards(Vec<FlowSpec>);
    impl FlowSource for Backwards {
        fn next(&mut self, _: Instant, _: &mut Rng) -> Option<FlowSpec> {
            self.0.pop()
        }
    }
    let (net, left, right) = Path::default().build();
    let specs = [10, 20].map(|ms| flow(&tcp, (left, right), "bulk", "sink", at(ms))).into();
    let mut sim = Simulation::new(
        net,
        Sources { flows: vec![Box::new(Backwards(specs))], datagrams: vec![] },
        1,
        RunOptions::default(),
    )
    .unwrap();
    assert!(matches!(sim.run_until(at(100)), Err(SimError::OutOfOrder { .. })));
}

#[test]
fn an_idle_source_is_called_again_when_a_flow_ends() {
    struct OneByOne(u32, bool, (NodeId, NodeId), Arc<Tcp>);
    impl FlowSource for OneByOne {
        fn next(&mut self, now: Instant, _: &mut Rng) -> Option<FlowSpec> {
            if self.0 == 0 || self.1 {
                return None;
            }
            (self.0, self.1) = (self.0 - 1, true);
            Some(flow(&self.3, self.2, "fixed size=1000B", "sink", now))
        }

        fn on_end(&mut self, _: Instant, group: &str, orderly: bool) {
            assert!(orderly && group == "test");
            self.1 = false;
        }
    }
    let (net, left, right) = Path::default().build();
    let source = OneByOne(5, false, (left, right), Arc::new(Tcp::default()));
    let mut sim = Simulation::new(
        net,
        Sources { flows: vec![Box::new(source)], datagrams: vec![] },
        1,
        RunOptions::default(),
    )
    .unwrap();
    sim.run_until(at(10_000)).unwrap();
    let rows = sim.finish().unwrap().flows;
    assert_eq!(rows.len(), 5);
    assert!(rows.windows(2).all(|w| w[0].end.unwrap() <= w[1].start));
}

#[test]
fn a_flow_is_not_affected_by_the_delays_of_earlier_flows_in_its_slot() {
    let tcp = Arc::new(Tcp::default());
    let (net, left, right) = Path::default().build();
    let accesses = [
        Access::default(),
        Access::at_client(ms(30)),
        Access::at_server(ms(50)),
        Access::in_last_hops(ms(70)),
    ];
    let flows = (0..24_u64).map(|i| {
        // Consecutive flows with every pair of delays.
        let access = accesses[(i + i / 4 * i / 8) as usize % 4];
        FlowSpec { access, ..flow(&tcp, (left, right), "fixed size=20kB", "sink", at(20_000 * i)) }
    });
    let outcome = run(net, flows.collect(), 1, 600);
    let taken: BTreeSet<_> = outcome.flows.iter().map(|row| (row.path_rtt, row.response_time)).collect();
    assert_eq!(
        taken.iter().map(|t| t.0).collect::<Vec<_>>(),
        [50, 80, 100, 120].map(|n| Some(ms(n))),
        "each round trip takes one time: {taken:?}"
    );
    let times: Vec<_> = taken.iter().map(|t| t.1).collect();
    assert!(times[0].is_some() && times.is_sorted_by(|a, b| a < b), "{times:?}");
}
