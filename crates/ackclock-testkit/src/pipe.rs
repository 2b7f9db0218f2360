//! Two endpoints over a path that loses, holds back, copies and damages real packets, in virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use ackclock_engine::{Connection, ConnectionEvent, State};
use ackclock_units::{Duration, Ecn, Instant, Rng, SeqNumber};
use ackclock_wire::Segment;

use crate::Setup;
use crate::endpoint::{Endpoint, icmp_of, line, packet, segment_of};
use crate::icmp::icmp_packet;
pub use crate::plan::{Closing, Fates, Path, Plan, Reading, Script};
use crate::plan::{damage, mark};
pub use crate::side::Side;

/// A capture at one side.
#[derive(Debug, Default)]
pub struct Tap {
    /// Which.
    pub side: usize,
    /// The packets, with the time of each.
    pub seen: Vec<(Instant, Vec<u8>)>,
}

/// Client (0) and server (1), and the path between them.
#[derive(Debug)]
pub struct Pipe {
    /// The present moment.
    pub now: Instant,
    /// Client and server.
    pub sides: [Side; 2],
    /// The path from the client, and the path from the server.
    pub paths: [Path; 2],
    /// Counts of what happened to packets so far.
    pub fates: Fates,
    /// Every packet sent, by time and side, once recording is on.
    pub record: Option<Vec<(Instant, usize, Vec<u8>)>>,
    /// A capture at one side, if there is one.
    pub tap: Option<Tap>,
    /// What happens at a given time or to given data, besides what the paths do.
    pub script: Vec<Script>,
    /// Copies of each of the client's data segments that met a script so far, by sequence number.
    copies: BTreeMap<u32, u32>,
    /// The last segments sent or received, printed by a failing test.
    recent: VecDeque<(Instant, usize, bool, Segment)>,
    rng: [Rng; 2],
    free_at: [Instant; 2],
    in_flight: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    number: u64,
    seed: u64,
}

/// More packets than this mean that the endpoints send in a loop.
const STORM: u64 = 2_000_000;

impl Pipe {
    /// A client that will connect and a server that listens.
    pub fn new(setups: [&Setup; 2], plans: [Plan; 2], paths: [Path; 2], seed: u64) -> Self {
        let addrs = [SocketAddr::from(([10, 0, 0, 1], 40_000)), SocketAddr::from(([10, 0, 0, 2], 5001))];
        let side = |i: usize| Side {
            endpoint: Endpoint {
                connection: setups[i].connection(iss(seed, i), Rng::stream(seed, "connection", i as u64)),
                local: addrs[i],
                remote: addrs[1 - i],
            },
            plan: plans[i],
            written: 0,
            read: 0,
            events: Vec::new(),
            read_at: Instant::ZERO,
        };
        Self {
            now: Instant::ZERO,
            sides: [side(0), side(1)],
            paths,
            fates: Fates::default(),
            record: None,
            tap: None,
            script: Vec::new(),
            copies: BTreeMap::new(),
            recent: VecDeque::new(),
            rng: [Rng::stream(seed, "path", 0), Rng::stream(seed, "path", 1)],
            free_at: [Instant::ZERO; 2],
            in_flight: BTreeMap::new(),
            number: 0,
            seed,
        }
    }

    /// The connection of one side.
    pub fn connection(&self, side: usize) -> &Connection {
        &self.sides[side].endpoint.connection
    }

    /// Opens, runs until both sides are closed or `until`, and checks that every byte arrived or that a side
    /// reported that it was aborted.
    pub fn transfer(&mut self, until: Instant) {
        self.open(until);
        self.check(until);
    }

    /// Opens, and runs until no event is left or `until`.
    pub fn open(&mut self, until: Instant) {
        self.sides[1].endpoint.connection.listen();
        self.sides[0].endpoint.connection.connect(self.now);
        self.run(until);
    }

    /// Runs until no event is left or `until`.
    pub fn run(&mut self, until: Instant) {
        for side in 0..2 {
            self.serve(side);
        }
        let mut steps = 0;
        while let Some(next) = self.next().filter(|at| *at <= until) {
            // A deadline may be set to a time in the past: it fires at once.
            steps = if next > self.now { 0 } else { steps + 1 };
            assert!(steps < 100_000, "too many steps at one time: {}", self.report());
            self.now = self.now.max(next);
            self.step();
            assert!(self.fates.sent < STORM, "too many packets: {:?}", self.fates);
        }
        self.now = self.now.max(until.min(self.next().unwrap_or(self.now)));
    }

    fn next(&self) -> Option<Instant> {
        let arrival = self.in_flight.first_key_value().map(|((at, _), _)| *at);
        let of_sides =
            self.sides.iter().flat_map(|s| [s.endpoint.connection.poll_timeout(), s.wakes_at()]).flatten();
        of_sides.chain(arrival).min()
    }

    /// The next arrival, or the expired deadlines of both sides.
    fn step(&mut self) {
        if let Some(entry) = self.in_flight.first_entry().filter(|e| e.key().0 <= self.now) {
            let (to, bytes) = entry.remove();
            self.deliver(to, &bytes);
            self.serve(to);
            return;
        }
        for side in 0..2 {
            let connection = &mut self.sides[side].endpoint.connection;
            if connection.poll_timeout().is_some_and(|at| at <= self.now) {
                connection.handle_timeout(self.now);
            }
            self.serve(side);
        }
    }

    fn note(&mut self, side: usize, sent: bool, segment: Segment) {
        if self.recent.len() == 40 {
            self.recent.pop_front();
        }
        self.recent.push_back((self.now, side, sent, segment));
    }

    fn show(&mut self, side: usize, bytes: &[u8]) {
        if let Some(tap) = self.tap.as_mut().filter(|tap| tap.side == side) {
            tap.seen.push((self.now, bytes.to_vec()));
        }
    }

    fn deliver(&mut self, to: usize, bytes: &[u8]) {
        self.show(to, bytes);
        let segment = segment_of(bytes);
        if let Some(segment) = segment {
            self.note(to, false, segment);
        }
        let side = &mut self.sides[to];
        let gone = side.endpoint.connection.state() == State::Closed && side.has_ended();
        match segment {
            Some(segment) if gone => {
                if let Some(reset) = Connection::reset_for(&segment) {
                    let answer = packet(side.endpoint.local, side.endpoint.remote, &reset, &[], Ecn::NotEct);
                    self.launch(to, answer);
                }
            }
            _ => {
                self.fates.refused += u64::from(
                    !side.endpoint.receive(self.now, bytes) && !side.endpoint.receive_icmp(self.now, bytes),
                )
            }
        }
    }

    /// Lets the application act, and sends every packet that is due.
    fn serve(&mut self, side: usize) {
        self.sides[side].act(side, self.now);
        while let Some((_, bytes)) = self.sides[side].endpoint.next_packet(self.now) {
            self.launch(side, bytes);
            self.sides[side].act(side, self.now);
        }
    }

    /// Puts a packet of `from` on the path.
    fn launch(&mut self, from: usize, bytes: Vec<u8>) {
        if let Some(segment) = segment_of(&bytes) {
            self.note(from, true, segment);
        }
        self.show(from, &bytes);
        let (path, rng) = (self.paths[from], &mut self.rng[from]);
        assert!(bytes.len() <= path.mtu, "a packet of {} bytes exceeds the MTU {}", bytes.len(), path.mtu);
        if let Some(record) = &mut self.record {
            record.push((self.now, from, bytes.clone()));
        }
        self.fates.sent += 1;
        let departs = match path.rate {
            Some(rate) => {
                self.free_at[from] = self.free_at[from].max(self.now) + rate.time_to_send(bytes.len() as u64);
                self.free_at[from]
            }
            None => self.now,
        };
        let scripted =
            scripted(&self.script, &mut self.copies, self.now, from, iss(self.seed, 0), segment_of(&bytes));
        let Some(held) = scripted else {
            self.fates.lost += 1;
            return;
        };
        if let Some(mtu) = narrow(&self.script, self.now).filter(|mtu| bytes.len() > *mtu) {
            self.fates.lost += 1;
            if !rng.chance(path.loss) {
                let ends = &self.sides[from].endpoint;
                let error = icmp_packet(ends.remote.ip(), ends.local.ip(), [3, 4], mtu as u32, &bytes[..28]);
                self.number += 1;
                self.in_flight.insert((departs + path.delay, self.number), (from, error));
            }
            return;
        }
        let copies = if rng.chance(path.duplicate) { 2 } else { 1 };
        self.fates.duplicated += copies - 1;
        for _ in 0..copies {
            if rng.chance(path.loss) {
                self.fates.lost += 1;
                continue;
            }
            let mut bytes = bytes.clone();
            if rng.chance(path.mark) && mark(&mut bytes) {
                self.fates.marked += 1;
            }
            if rng.chance(path.corrupt) {
                self.fates.corrupted += 1;
                damage(&mut bytes, rng);
            }
            let mut at = held.unwrap_or(departs).max(departs)
                + path.delay
                + Duration::from_nanos(rng.below(path.jitter.as_nanos() + 1));
            if rng.chance(path.reorder) {
                self.fates.held += 1;
                at += path.held;
            }
            self.number += 1;
            self.in_flight.insert((at, self.number), (1 - from, bytes));
        }
    }

    /// The law: every byte was delivered exactly once and in order in both directions and both sides
    /// finished, or a side that did not finish was aborted.
    fn check(&self, until: Instant) {
        let [client, server] = &self.sides;
        let told = client.aborted().is_some() || server.aborted().is_some();
        for (side, peer) in [(client, server), (server, client)] {
            assert!(side.read <= peer.written, "read more than was written");
            assert!(
                !(side.finished() && side.aborted().is_some()),
                "finished and aborted: {:?}",
                side.events
            );
            if side.finished() {
                assert_eq!(side.read, peer.written, "finished without everything");
            } else {
                assert!(
                    side.aborted().is_some() || told,
                    "neither finished nor aborted by {until:?}: {}",
                    self.report()
                );
            }
            if !told {
                assert_eq!(
                    (side.written, side.read),
                    (side.plan.bytes, peer.plan.bytes),
                    "{}",
                    self.report()
                );
            }
        }
        assert!(
            told || self.fates.refused == self.fates.corrupted - self.undelivered_damage(),
            "damage got through: {:?}",
            self.fates
        );
    }

    /// Damaged packets that were still in flight at the end.
    fn undelivered_damage(&self) -> u64 {
        self.in_flight
            .values()
            .filter(|(_, bytes)| segment_of(bytes).is_none() && icmp_of(bytes).is_none())
            .count() as u64
    }

    /// The state of both sides, printed by a failing test.
    pub fn report(&self) -> String {
        let side = |s: &Side| {
            let c = &s.endpoint.connection;
            let (v, stats) = (c.view(self.now), c.stats());
            format!(
                "{:?} wrote {} of {}, read {}, timeouts {}, next {:?}, una {} nxt {} wnd {} cwnd {} pipe {} \
                 phase {:?} unsent {}, events {:?}",
                c.state(),
                s.written,
                s.plan.bytes,
                s.read,
                stats.timeouts,
                c.poll_timeout(),
                v.snd_una,
                v.snd_nxt,
                v.rwnd,
                v.window.cwnd,
                v.pipe,
                v.phase,
                v.unsent,
                s.events
                    .iter()
                    .filter(|(_, e)| !matches!(e, ConnectionEvent::Readable | ConnectionEvent::Writable))
                    .collect::<Vec<_>>()
            )
        };
        let iss = [0, 1].map(|i| iss(self.seed, i));
        let mut text = String::new();
        for (at, side, sent, s) in &self.recent {
            let (who, does) = (["client", "server"][*side], if *sent { "sends" } else { "takes" });
            let from = if *sent { *side } else { 1 - *side };
            text += &format!("{at:?} {who} {does} {}\n", line(s, iss[from].0, iss[1 - from].0));
        }
        let [client, server] = [side(&self.sides[0]), side(&self.sides[1])];
        format!("at {:?}, {:?}\n client: {client}\n server: {server}\n{text}", self.now, self.fates)
    }
}

/// The smallest MTU of the script at this time.
fn narrow(script: &[Script], now: Instant) -> Option<usize> {
    script
        .iter()
        .filter_map(|line| {
            if let Script::Narrow { start, mtu } = *line { (start <= now).then_some(mtu) } else { None }
        })
        .min()
}

/// What the script does to a packet sent now: `None` when it is lost, otherwise the time until which it is
/// held.
fn scripted(
    script: &[Script],
    copies: &mut BTreeMap<u32, u32>,
    now: Instant,
    from: usize,
    iss: SeqNumber,
    segment: Option<Segment>,
) -> Option<Option<Instant>> {
    let mut until = None;
    let data = segment.filter(|s| from == 0 && s.len > 0);
    if let Some(s) = data.filter(|_| !script.is_empty()) {
        *copies.entry(s.seq.0).or_default() += 1;
    }
    for line in script {
        match *line {
            Script::Outage { start, end } if start <= now && now < end => return None,
            Script::Held { start, end } if start <= now && now < end => until = until.max(Some(end)),
            Script::Lost { offset, len, times } => {
                let hit = data.filter(|s| (offset..offset + len).contains(&s.seq.bytes_since(iss + 1)));
                if hit.is_some_and(|s| copies.get(&s.seq.0).is_some_and(|n| *n <= times)) {
                    return None;
                }
            }
            _ => {}
        }
    }
    Some(until)
}

/// Initial sequence numbers near the wrap, so that every transfer of some size crosses it.
fn iss(seed: u64, side: usize) -> SeqNumber {
    SeqNumber(0) - Rng::stream(seed, "iss", side as u64).below(100_000) as u32
}
