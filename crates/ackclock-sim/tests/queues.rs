//! Queues with schedulers: one that marks packets by their sojourn time on departure, and a fair queue.

mod support;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ackclock_engine::Config;
use ackclock_policy::{Admit, Backlog, Dequeued, PacketId, PacketScheduler, Policy, QueueDiscipline, Queued};
use ackclock_sim::{
    Carrier, Datagram, DatagramSource, DatagramSpec, FaultVerdict, FlowList, Link, LinkSpec, PacketInfo,
    RunOptions, Simulation, Sources,
};
use ackclock_units::{Duration, Ecn, Instant, Rng};
use support::{Path, Tcp, at, flow, mbit, ms, run};

/// First in, first out; marks ECN-capable packets whose sojourn time exceeds `threshold`.
#[derive(Debug)]
struct StepMarking {
    packets: VecDeque<Queued>,
    threshold: Duration,
    marks: Arc<AtomicU64>,
}

impl StepMarking {
    fn new(threshold: Duration) -> (Self, Arc<AtomicU64>) {
        let marks = Arc::<AtomicU64>::default();
        (Self { packets: VecDeque::new(), threshold, marks: Arc::clone(&marks) }, marks)
    }
}

impl Policy for StepMarking {
    fn name(&self) -> &str {
        "step-marking"
    }
}

impl QueueDiscipline for StepMarking {
    fn enqueue(&mut self, p: Queued, _: Instant, _: &mut Rng) -> Admit {
        if self.packets.len() == 200 {
            return Admit::Drop { early: false };
        }
        self.packets.push_back(p);
        Admit::Take
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.packets.iter().map(|p| u64::from(p.bytes)).sum();
        Backlog { packets: self.packets.len() as u32, bytes }
    }

    fn scheduler(&mut self) -> Option<&mut dyn PacketScheduler> {
        Some(self)
    }
}

impl PacketScheduler for StepMarking {
    fn dequeue(&mut self, now: Instant, _: &mut Vec<PacketId>) -> Option<Dequeued> {
        let packet = self.packets.pop_front()?;
        let marked = packet.ecn != Ecn::NotEct && now.since(packet.at) > self.threshold;
        self.marks.fetch_add(u64::from(marked), Ordering::Relaxed);
        Some(Dequeued { packet, marked })
    }
}

/// One queue per flow, served round-robin; drops from the longest queue when there are too many packets.
#[derive(Debug, Default)]
struct RoundRobin {
    flows: BTreeMap<u32, VecDeque<Queued>>,
    turns: VecDeque<u32>,
    seen: Arc<std::sync::Mutex<BTreeSet<u32>>>,
}

impl Policy for RoundRobin {
    fn name(&self) -> &str {
        "round-robin"
    }
}

impl QueueDiscipline for RoundRobin {
    fn enqueue(&mut self, p: Queued, _: Instant, _: &mut Rng) -> Admit {
        self.seen.lock().unwrap().insert(p.flow);
        if self.flows.get(&p.flow).is_none_or(VecDeque::is_empty) {
            self.turns.push_back(p.flow);
        }
        self.flows.entry(p.flow).or_default().push_back(p);
        if self.backlog().packets <= 50 {
            return Admit::Take;
        }
        let longest = self.flows.values_mut().max_by_key(|q| q.len()).expect("it holds some");
        let last = longest.pop_back().expect("the longest is not empty");
        if last.id == p.id { Admit::Drop { early: false } } else { Admit::PushOut(last.id) }
    }

    fn backlog(&self) -> Backlog {
        let all = self.flows.values().flatten();
        all.fold(Backlog::default(), |b, p| Backlog {
            packets: b.packets + 1,
            bytes: b.bytes + u64::from(p.bytes),
        })
    }

    fn scheduler(&mut self) -> Option<&mut dyn PacketScheduler> {
        Some(self)
    }
}

impl PacketScheduler for RoundRobin {
    fn dequeue(&mut self, _: Instant, _: &mut Vec<PacketId>) -> Option<Dequeued> {
        let flow = self.turns.pop_front()?;
        let queue = self.flows.get_mut(&flow)?;
        let packet = queue.pop_front()?;
        if !queue.is_empty() {
            self.turns.push_back(flow);
        }
        Some(packet.into())
    }
}

/// A carrier that records what happens; packets by number, with whether they are marked and damaged.
struct Cargo {
    link: Link,
    packets: BTreeMap<u32, (bool, bool)>,
    arrived: Vec<(u32, Instant)>,
    lost: Vec<u32>,
    marks: u64,
}

impl Carrier for Cargo {
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn packet_info(&self, _: PacketId) -> PacketInfo {
        PacketInfo::opaque(1000)
    }

    fn mark(&mut self, id: PacketId) {
        self.packets.get_mut(&id.0).expect("it is there").0 = true;
        self.marks += 1;
    }

    fn on_wire(&mut self, id: PacketId, corrupt: bool) {
        self.packets.get_mut(&id.0).expect("it is there").1 = corrupt;
    }

    fn copy(&mut self, id: PacketId) -> PacketId {
        let copy = PacketId(id.0 + 1000);
        self.packets.insert(copy.0, self.packets[&id.0]);
        copy
    }

    fn arrives(&mut self, id: PacketId, at: Instant) {
        self.arrived.push((id.0, at));
    }

    fn lost(&mut self, id: PacketId) {
        self.lost.push(id.0);
    }
}

#[test]
fn a_carrier_handles_marks_copies_and_losses() {
    // 1000 bytes take 1 ms: the n-th of packets that arrive together waits n ms.
    let (queue, marks) = StepMarking::new(ms(3));
    let fate = |p: &PacketInfo, _: Instant, _: &mut Rng| match p.number {
        1 => FaultVerdict::Drop,
        5 => FaultVerdict::Duplicate,
        6 => FaultVerdict::Corrupt,
        _ => FaultVerdict::Pass,
    };
    let spec = LinkSpec::new(mbit(8), ms(10), Box::new(queue)).with_fault(fate);
    let link = Link::new(spec, 1, 0);
    let mut cargo = Cargo { link, packets: BTreeMap::new(), arrived: Vec::new(), lost: Vec::new(), marks: 0 };
    for id in 0..8 {
        cargo.packets.insert(id, (false, false));
        let ecn = if id == 7 { Ecn::NotEct } else { Ecn::Ect0 };
        cargo.carry(Queued { id: PacketId(id), flow: 0, bytes: 1000, ecn, at: at(0) });
    }
    assert_eq!((cargo.arrived.len(), cargo.link.next_departure()), (0, Some(at(1))));
    for ms in 1..=8 {
        cargo.serve(at(ms));
    }
    let order = [(0, 11), (2, 13), (3, 14), (4, 15), (5, 16), (1005, 16), (6, 17), (7, 18)];
    assert_eq!(cargo.arrived, order.map(|(id, ms)| (id, at(ms))));
    assert_eq!(cargo.lost, [1]);
    // The fifth has waited 4 ms, and the last one is not ECN-capable. A copy has the mark of its original.
    let marked: Vec<u32> = cargo.packets.iter().filter(|(_, p)| p.0).map(|(id, _)| *id).collect();
    assert_eq!(marked, [4, 5, 6, 1005]);
    assert_eq!(cargo.packets.values().filter(|p| p.1).count(), 1);
    let c = cargo.link.counters(at(8));
    assert_eq!((c.marked, cargo.marks, marks.load(Ordering::Relaxed)), (3, 3, 3));
    assert_eq!((c.offered + c.duplicated, c.fault_drops, c.corrupted, c.served), (9, 1, 1, 8));
}

#[test]
fn a_mark_is_not_counted_before_the_packet_has_left() {
    let (queue, _) = StepMarking::new(Duration::ZERO);
    let link = Link::new(LinkSpec::new(mbit(8), ms(10), Box::new(queue)), 1, 0);
    let mut cargo = Cargo { link, packets: BTreeMap::new(), arrived: Vec::new(), lost: Vec::new(), marks: 0 };
    for id in 0..3 {
        cargo.packets.insert(id, (false, false));
        cargo.carry(Queued { id: PacketId(id), flow: 0, bytes: 1000, ecn: Ecn::Ect0, at: at(0) });
    }
    // At 1 ms the first has left and the second is in service.
    let marked = |cargo: &mut Cargo, ms| {
        cargo.serve(at(ms));
        cargo.link.counters(at(ms)).marked
    };
    assert_eq!([1, 2, 3].map(|ms| marked(&mut cargo, ms)), [0, 1, 2]);
}

#[test]
fn a_queue_that_marks_as_packets_leave_holds_its_delay_without_losses() {
    let capable = || {
        let config = Config { ecn: true, ..Config::clone(&Tcp::default().config) };
        Arc::new(Tcp { config: Arc::new(config), ..Tcp::default() })
    };
    let (queue, marks) = StepMarking::new(ms(10));
    let (net, left, right) = Path { queue: Some(Box::new(queue)), ..Path::default() }.build();
    let ends = (left, right);
    let specs = (0..4).map(|n| flow(&capable(), ends, "fixed size=5MB", "sink", at(100 * n))).collect();
    let outcome = run(net, specs, 1, 60);
    let link = &outcome.links[0];
    assert_eq!((link.marked, link.queued_at_end), (marks.load(Ordering::Relaxed), 0));
    assert!(link.marked > 20, "{}", link.marked);
    assert!(outcome.flows.iter().all(|f| f.bytes_delivered == 5_000_000 && f.ecn_reductions > 3));
    assert_eq!((link.dropped_queue, link.dropped_early, link.dropped_wire), (0, Some(0), 0));
    let delay = link.queue_mean_delay.unwrap();
    assert!(delay < ms(20), "{delay}");
}

/// Datagrams of 1000 bytes, one each millisecond: 8 Mbit/s.
struct Flood(u64);

impl DatagramSource for Flood {
    fn next(&mut self, _: &mut Rng) -> Option<Datagram> {
        self.0 += 1;
        Some(Datagram { at: at(self.0), bytes: 1000 })
    }
}

#[test]
fn a_fair_queue_distinguishes_flows() {
    let share = |queue: Box<dyn QueueDiscipline>| {
        let tcp = Arc::new(Tcp::default());
        let (net, left, right) = Path { rate: mbit(6), queue: Some(queue), ..Path::default() }.build();
        let bulk = vec![flow(&tcp, (left, right), "bulk", "sink", at(0))];
        let flood = DatagramSpec {
            from: left,
            to: right,
            up: Duration::ZERO,
            down: Duration::ZERO,
            reports: None,
            back: Duration::ZERO,
            source: Box::new(Flood(0)),
            group: "flood".into(),
        };
        let sources = Sources { flows: vec![Box::new(FlowList::new(bulk))], datagrams: vec![flood] };
        let mut sim = Simulation::new(net, sources, 1, RunOptions::default()).unwrap();
        sim.run_until(at(30_000)).unwrap();
        let outcome = sim.finish().expect("conservation");
        outcome.flows[0].goodput.unwrap().bits_per_sec()
    };
    let queue = RoundRobin::default();
    let seen = Arc::clone(&queue.seen);
    let fair = share(Box::new(queue));
    assert!((2_600_000..3_000_000).contains(&fair), "half of the link: {fair}");
    let drowned = share(support::drop_tail("50packets"));
    assert!(drowned < 300_000, "{drowned}");
    // One number for this direction of the connection, and one for the datagrams.
    assert_eq!(seen.lock().unwrap().len(), 2);
}
