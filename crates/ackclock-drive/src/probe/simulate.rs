//! A probe run in virtual time over two of the simulator's links.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use ackclock_policy::{PacketId, Queued};
use ackclock_sim::{Carrier, Link, LinkCounters, LinkSpec, PacketInfo};
use ackclock_units::{Ecn, Instant};

use super::options::ProbeOptions;
use super::report::ProbeReport;
use super::session::Session;

/// Headers of an ICMP echo over IPv4.
const HEADERS: u32 = 28;

/// A path of two links with a host at its end, which replies to every probe for which `replies` returns true.
pub struct SimulatedPath<'a> {
    /// The link to the host.
    pub forward: LinkSpec,
    /// The link back.
    pub backward: LinkSpec,
    /// Seed of the links' random streams.
    pub seed: u64,
    /// Returns whether the host replies to a probe that arrives at this time.
    pub replies: &'a mut dyn FnMut(Instant) -> bool,
}

/// Results of a simulated probe run.
#[derive(Clone, Debug)]
pub struct SimulatedProbe {
    /// Results of the probe.
    pub report: ProbeReport,
    /// Counters of the link to the host.
    pub forward: LinkCounters,
    /// Counters of the link back.
    pub backward: LinkCounters,
}

/// Runs a probe over a simulated path, with the same state machine as over a real path. The results are
/// deterministic.
pub fn simulate_probe(options: ProbeOptions, path: SimulatedPath<'_>) -> SimulatedProbe {
    let mut session = Session::new(options, HEADERS, path.seed);
    let links = [
        ProbeLink::new(Link::new(path.forward, path.seed, 0)),
        ProbeLink::new(Link::new(path.backward, path.seed, 1)),
    ];
    let mut path_run = VirtualPath { now: Instant::ZERO, links };
    session.start(path_run.now);
    while !session.is_done() {
        path_run.send(&mut session);
        let [there, back] = &path_run.links;
        let Some(next) = [session.poll_timeout(), there.next(), back.next()].into_iter().flatten().min()
        else {
            break;
        };
        path_run.now = path_run.now.max(next);
        for (number, bytes) in path_run.links[0].arrived(path_run.now) {
            if (path.replies)(path_run.now) {
                path_run.links[1].offer(path_run.now, number, bytes);
            }
        }
        for (number, _) in path_run.links[1].arrived(path_run.now) {
            session.reply(path_run.now, number);
            // Send the probes that this reply allows before handling the next one.
            path_run.send(&mut session);
        }
        if session.poll_timeout().is_some_and(|at| at <= path_run.now) {
            session.handle_timeout(path_run.now);
        }
    }
    let now = path_run.now;
    let [forward, backward] = &mut path_run.links;
    SimulatedProbe {
        report: session.report(now),
        forward: forward.link.counters(now),
        backward: backward.link.counters(now),
    }
}

struct VirtualPath {
    now: Instant,
    links: [ProbeLink; 2],
}

impl VirtualPath {
    fn send(&mut self, session: &mut Session) {
        while let Some(out) = session.poll_send(self.now) {
            self.links[0].offer(self.now, out.number, out.payload + HEADERS);
        }
    }
}

/// One direction: a link and the probes on it.
struct ProbeLink {
    link: Link,
    /// Number and size of the probes whose arrival time is not known yet.
    waiting: HashMap<u32, (u64, u32)>,
    next_id: u32,
    /// Arrival time, order of sending, number and size of probes.
    due: BinaryHeap<Reverse<(Instant, u64, u64, u32)>>,
    order: u64,
}

impl ProbeLink {
    fn new(link: Link) -> Self {
        Self { link, waiting: HashMap::new(), next_id: 0, due: BinaryHeap::new(), order: 0 }
    }

    fn offer(&mut self, now: Instant, number: u64, bytes: u32) {
        let id = self.keep((number, bytes));
        self.carry(Queued { id, flow: 0, bytes, ecn: Ecn::NotEct, at: now });
    }

    /// The probes that have arrived by `now`.
    fn arrived(&mut self, now: Instant) -> Vec<(u64, u32)> {
        self.serve(now);
        let mut all = Vec::new();
        while let Some(&Reverse((at, _, number, bytes))) = self.due.peek()
            && at <= now
        {
            self.due.pop();
            all.push((number, bytes));
        }
        all
    }

    fn next(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((at, ..))| *at).into_iter().chain(self.link.next_departure()).min()
    }

    /// Stores a probe; returns its packet id.
    fn keep(&mut self, probe: (u64, u32)) -> PacketId {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        self.waiting.insert(id, probe);
        PacketId(id)
    }
}

impl Carrier for ProbeLink {
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn packet_info(&self, id: PacketId) -> PacketInfo {
        PacketInfo::opaque(self.waiting.get(&id.0).map_or(0, |(_, bytes)| *bytes))
    }

    fn mark(&mut self, _: PacketId) {
        // Probes are not ECN-capable.
    }

    fn on_wire(&mut self, id: PacketId, corrupt: bool) {
        // A damaged packet fails its checksum at the far end.
        if corrupt {
            self.waiting.remove(&id.0);
        }
    }

    fn copy(&mut self, id: PacketId) -> PacketId {
        self.waiting.get(&id.0).copied().map_or(id, |probe| self.keep(probe))
    }

    fn arrives(&mut self, id: PacketId, at: Instant) {
        if let Some((number, bytes)) = self.waiting.remove(&id.0) {
            self.due.push(Reverse((at, self.order, number, bytes)));
            self.order += 1;
        }
    }

    fn lost(&mut self, id: PacketId) {
        self.waiting.remove(&id.0);
    }
}
