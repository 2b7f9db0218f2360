//! One connection against a scripted peer: segments are injected and expected at given times, as in the
//! diagrams of the RFCs.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

use ackclock_engine::{Connection, ConnectionEvent, State, Transmit};
use ackclock_units::{Duration, Ecn, Instant, Rng, SeqNumber};
use ackclock_wire::{Flags, IcmpKind, Segment};

use crate::Setup;
use crate::endpoint::{Endpoint, line, packet, pattern};
use crate::icmp::{icmp_header, icmp_packet};
pub use crate::seg::{OURS, Seg, THEIRS, seg};

/// One connection under test, and the segments and events that the script has not checked yet.
pub struct Timeline {
    /// The connection.
    pub endpoint: Endpoint,
    now: Instant,
    sent: VecDeque<(Instant, Transmit)>,
    events: VecDeque<(Instant, ConnectionEvent)>,
    written: u64,
    read: u64,
    seen: Vec<String>,
}

/// `n` milliseconds after the start.
pub fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

impl Timeline {
    /// A closed connection.
    pub fn new(setup: &Setup) -> Self {
        let connection = setup.connection(SeqNumber(OURS), Rng::stream(1, "timeline", 0));
        let endpoint = Endpoint {
            connection,
            local: SocketAddr::from(([10, 0, 0, 1], 1)),
            remote: SocketAddr::from(([10, 0, 0, 2], 2)),
        };
        let (sent, events, seen) = (VecDeque::new(), VecDeque::new(), Vec::new());
        Self { endpoint, now: Instant::ZERO, sent, events, written: 0, read: 0, seen }
    }

    /// A connection that opened actively and is established at the moment 0, after our SYN and ACK were
    /// checked. `syn_ack` is the peer's reply.
    pub fn connected(setup: &Setup, syn_ack: Seg) -> Self {
        let mut t = Self::new(setup);
        t.connect();
        t.expect(0, seg(if setup.config.ecn { "SEW" } else { "S" }).seq(0));
        t.inject(0, syn_ack);
        t.expect(0, seg(".").seq(1).ack(1).len(0));
        t.expect_event(ConnectionEvent::Established);
        t
    }

    /// A connection that opened passively and is established at the moment 0.
    pub fn accepted(setup: &Setup, syn: Seg) -> Self {
        let mut t = Self::new(setup);
        t.endpoint.connection.listen();
        t.inject(0, syn);
        let (_, syn_ack) = t.sent.pop_front().unwrap_or_else(|| panic!("no SYN-ACK"));
        assert!(syn_ack.segment.flags.has(Flags::SYN | Flags::ACK), "{:?}", syn_ack.segment);
        let mut ack = seg(".").seq(1).ack(1);
        if let Some(ts) = syn_ack.segment.options.timestamps {
            ack = ack.timestamps(syn.injected().options.timestamps.map_or(0, |ts| ts.tsval), ts.tsval);
        }
        t.inject(0, ack);
        t.expect_event(ConnectionEvent::Established);
        t
    }

    /// The present moment.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// State of the connection.
    pub fn state(&self) -> State {
        self.endpoint.connection.state()
    }

    /// Active open.
    pub fn connect(&mut self) {
        self.endpoint.connection.connect(self.now);
        self.collect();
    }

    /// Writes `n` bytes; all must fit.
    pub fn write(&mut self, n: u64) {
        let data: Vec<u8> = (0..n).map(|i| pattern(0, self.written + i)).collect();
        assert_eq!(self.endpoint.connection.write(self.now, &data) as u64, n, "room to write");
        self.written += n;
        self.collect();
    }

    /// Reads `n` bytes, which must be the next ones of the pattern.
    pub fn read(&mut self, n: usize) {
        let mut out = vec![0; n];
        assert_eq!(self.endpoint.connection.read(self.now, &mut out), n, "bytes to read\n{self}");
        for byte in out {
            assert_eq!(byte, pattern(1, self.read), "wrong byte at {}\n{self}", self.read);
            self.read += 1;
        }
        self.collect();
    }

    /// Closes the writing side.
    pub fn close(&mut self) {
        self.endpoint.connection.close(self.now);
        self.collect();
    }

    /// Aborts.
    pub fn abort(&mut self) {
        self.endpoint.connection.abort(self.now);
        self.collect();
    }

    /// Closes both directions: the application leaves.
    pub fn leave(&mut self) {
        self.endpoint.connection.leave(self.now);
        self.collect();
    }

    /// Corks or uncorks.
    pub fn cork(&mut self, corked: bool) {
        self.endpoint.connection.set_cork(self.now, corked);
        self.collect();
    }

    /// Lets time pass until `at` milliseconds; deadlines before it fire.
    pub fn run_to(&mut self, at: u64) {
        let at = ms(at);
        assert!(at >= self.now, "{at:?} lies before {:?}", self.now);
        self.run_until(at, false);
        self.now = at;
    }

    fn run_until(&mut self, at: Instant, stop_when_sent: bool) {
        let mut steps = 0;
        while let Some(next) = self.endpoint.connection.poll_timeout().filter(|next| *next <= at) {
            if stop_when_sent && !self.sent.is_empty() {
                return;
            }
            steps = if next > self.now { 0 } else { steps + 1 };
            assert!(steps < 1000, "too many deadlines at {:?}\n{self}", self.now);
            self.now = self.now.max(next);
            self.endpoint.connection.handle_timeout(self.now);
            self.collect();
        }
    }

    /// Delivers a segment of the peer at `at` milliseconds. Its payload is the pattern at its position in the
    /// stream.
    pub fn inject(&mut self, at: u64, s: Seg) {
        self.inject_with(at, s, None);
    }

    /// The same with the given payload.
    pub fn inject_bytes(&mut self, at: u64, s: Seg, payload: &[u8]) {
        self.inject_with(at, s.len(payload.len() as u32), Some(payload));
    }

    fn inject_with(&mut self, at: u64, s: Seg, payload: Option<&[u8]>) {
        self.run_to(at);
        let segment = s.injected();
        let first = u64::from((segment.seq + u32::from(segment.flags.has(Flags::SYN)) - 1 - THEIRS).0);
        let payload = payload.map_or_else(
            || (0..u64::from(segment.len)).map(|i| pattern(1, first + i)).collect(),
            <[u8]>::to_vec,
        );
        self.seen.push(format!("{:>12} < {}", format!("{:?}", self.now), line(&segment, THEIRS, OURS)));
        let bytes = packet(self.endpoint.remote, self.endpoint.local, &segment, &payload, s.ecn_field());
        assert!(self.endpoint.receive(self.now, &bytes), "a valid packet is received");
        self.collect();
    }

    /// Delivers an ICMP error at `at` milliseconds, about the segment of ours that began with sequence number
    /// `seq`.
    pub fn inject_icmp(&mut self, at: u64, kind: IcmpKind, seq: u32) {
        self.run_to(at);
        let (from, to) = (self.endpoint.local, self.endpoint.remote);
        let segment = Segment { seq: SeqNumber(OURS.wrapping_add(seq)), len: 1460, ..Segment::default() };
        let quoted = packet(from, to, &segment, &[0; 1460], Ecn::NotEct);
        let (header, word) = icmp_header(kind, from.is_ipv6());
        self.seen.push(format!("{:>12} < {kind:?} about {seq}", format!("{:?}", self.now)));
        let bytes = icmp_packet(to.ip(), from.ip(), header, word, &quoted);
        assert!(self.endpoint.receive_icmp(self.now, &bytes), "a valid message is received");
        self.collect();
    }

    /// The next segment sent must be this one, sent at `at` milliseconds; time passes until then if
    /// necessary. Returns the segment.
    pub fn expect(&mut self, at: u64, s: Seg) -> Segment {
        self.expect_within(at, at, s)
    }

    /// The same, at any moment from `from` to `to` milliseconds.
    pub fn expect_within(&mut self, from: u64, to: u64, s: Seg) -> Segment {
        if self.sent.is_empty() {
            self.run_until(ms(to).max(self.now), true);
        }
        let Some((when, sent)) = self.sent.pop_front() else {
            panic!("nothing was sent by {to} ms, expected {s:?}\n{self}")
        };
        let mut wrong = s.difference(&sent);
        if when < ms(from) || when > ms(to) {
            wrong.push(format!("sent at {when:?}, not between {from} ms and {to} ms"));
        }
        assert!(wrong.is_empty(), "{}\n{self}", wrong.join("; "));
        sent.segment
    }

    /// Every segment sent so far has been checked, and none is sent until `at` milliseconds.
    pub fn expect_silence(&mut self, at: u64) {
        if ms(at) > self.now {
            self.run_to(at);
        }
        assert!(self.sent.is_empty(), "something was sent\n{self}");
    }

    /// The next event for the application must be this one.
    pub fn expect_event(&mut self, event: ConnectionEvent) {
        let got = self.events.pop_front();
        assert_eq!(got.map(|(_, e)| e), Some(event), "\n{self}");
    }

    /// Every event so far has been checked.
    pub fn expect_no_event(&mut self) {
        assert!(self.events.is_empty(), "{self}");
    }

    /// This event is among the unchecked ones; those up to it are discarded.
    pub fn skip_to_event(&mut self, event: ConnectionEvent) {
        while let Some((_, got)) = self.events.pop_front() {
            if got == event {
                return;
            }
        }
        panic!("no event {event:?}\n{self}");
    }

    /// Takes the segments that were sent and not checked.
    pub fn take_sent(&mut self) -> Vec<(Instant, Segment)> {
        self.sent.drain(..).map(|(at, t)| (at, t.segment)).collect()
    }

    fn collect(&mut self) {
        while let Some((t, _)) = self.endpoint.next_packet(self.now) {
            self.seen.push(format!("{:>12} > {}", format!("{:?}", self.now), line(&t.segment, OURS, THEIRS)));
            self.sent.push_back((self.now, t));
            assert!(self.seen.len() < 100_000, "too many segments\n{}", self.seen[..40].join("\n"));
        }
        while let Some(event) = self.endpoint.connection.poll_event() {
            self.events.push_back((self.now, event));
        }
    }
}

/// The connection under test, for what has no method here.
impl AsMut<Connection> for Timeline {
    fn as_mut(&mut self) -> &mut Connection {
        &mut self.endpoint.connection
    }
}

/// All segments, as tcpdump prints them.
impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.seen.len().saturating_sub(40);
        write!(
            f,
            "{}\nin {:?} at {:?}, unchecked events: {:?}",
            self.seen[from..].join("\n"),
            self.state(),
            self.now,
            self.events
        )
    }
}
