//! Two endpoints with simple policies over a pipe in virtual time, to test the connection independently of
//! the built-in policies.
#![allow(dead_code)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use ackclock_engine::{Config, Connection, ConnectionEvent, Lazy, Policies, SenderPolicies, Stack, Transmit};
use ackclock_policy::*;
use ackclock_units::{Bytes, Duration, Instant, Rng, SeqNumber, SeqRange};
use ackclock_wire::Segment;

/// The simplest policy of every kind.
#[derive(Debug, Default)]
pub struct Plain {
    rtt: Option<Rtt>,
}

impl Policy for Plain {
    fn name(&self) -> &str {
        "plain"
    }
}

impl RttEstimator for Plain {
    fn on_sample(&mut self, s: RttSample) {
        self.rtt = Some(Rtt { latest: s.rtt, srtt: s.rtt, rttvar: s.rtt / 2, min_rtt: s.rtt });
    }
    fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }
    fn rto(&self) -> Duration {
        self.rtt.map_or(Duration::from_secs(1), |r| (r.srtt + r.rttvar * 4).max(Duration::from_millis(200)))
    }
    fn initial_rto(&self) -> Duration {
        Duration::from_secs(1)
    }
}

impl Backoff for Plain {
    fn timeout(&self, rto: Duration, expiries: u32, _: &mut Rng) -> Duration {
        rto * (1 << expiries.min(6))
    }
    fn give_up(&self, expiries: u32, _: Duration) -> bool {
        expiries > 15
    }
}

impl RetransmissionTimer for Plain {
    fn on(&self, e: TimerEvent, timeout: Duration, v: &TimerView) -> TimerAction {
        match e {
            TimerEvent::Sent { .. } if v.deadline.is_some() => TimerAction::Keep,
            TimerEvent::AllAcked => TimerAction::Disarm,
            _ => TimerAction::Arm(v.now + timeout),
        }
    }
}

impl CongestionControl for Plain {
    fn start(&mut self, v: &SenderView) -> Control {
        Window { cwnd: 10 * u64::from(v.smss), ..v.window }.into()
    }
    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        let smss = u64::from(v.smss);
        let window = match f {
            Feedback::Ack(a, _) => {
                let slow = v.window.cwnd < v.window.ssthresh;
                let grow = if slow { a.newly_acked } else { smss * smss / v.window.cwnd };
                Window { cwnd: v.window.cwnd + grow, ..v.window }
            }
            Feedback::Congestion(c) => {
                let half = (v.flight_size / 2).max(2 * smss);
                let cwnd = if matches!(c, Congestion::Rto { .. }) { smss } else { half };
                Window { cwnd, ssthresh: half }
            }
            f => v.default_window(&f),
        };
        window.into()
    }
}

/// At the third duplicate ack the first hole is lost. Each partial ack shows the next one.
impl LossRecovery for Plain {
    fn on_ack(
        &mut self,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase {
        match v.phase {
            Phase::Recovery | Phase::Loss if v.snd_una >= v.recovery_point => Phase::Open,
            Phase::Recovery => {
                if a.newly_acked > 0 {
                    lost.extend(b.next_unsacked(v.snd_una));
                }
                Phase::Recovery
            }
            Phase::Loss => Phase::Loss,
            _ if v.dup_acks >= 3 && v.snd_una >= v.recovery_point => {
                lost.extend(b.next_unsacked(v.snd_una));
                Phase::Recovery
            }
            _ if v.dup_acks > 0 => Phase::Disorder,
            _ => Phase::Open,
        }
    }
    fn quota(&mut self, v: &SenderView) -> Bytes {
        // The first retransmission of a repair does not depend on the window.
        if matches!(v.phase, Phase::Recovery) { v.room().max(u64::from(v.smss)) } else { v.room() }
    }
    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        Some(b.next_lost(v.snd_una).unwrap_or(SeqRange::new(v.snd_nxt, v.snd_nxt)))
    }
}

impl SpuriousTimeout for Plain {
    fn on_rto(&mut self, _: &SenderView) -> bool {
        false
    }
    fn on_ack(
        &mut self,
        _: &AckInfo,
        _: &SuspectTimeout,
        _: &dyn ScoreboardView,
        _: &SenderView,
    ) -> TimeoutVerdict {
        TimeoutVerdict::Genuine
    }
    fn resume(&mut self, _: &AckInfo, _: &SuspectTimeout, v: &SenderView) -> Window {
        v.window
    }
}

impl AckPolicy for Plain {
    fn on_arrival(&mut self, s: &ArrivedSegment, p: &AckPending) -> AckAction {
        if p.full_segments >= 2 { AckAction::Now } else { AckAction::By(s.now + Duration::from_millis(200)) }
    }
}

pub fn policies() -> Policies {
    Policies {
        estimator: Box::new(Plain::default()),
        ack: Lazy::Built(Box::new(Plain::default())),
        sender: Lazy::Built(Box::new(SenderPolicies {
            backoff: Box::new(Plain::default()),
            timer: Box::new(Plain::default()),
            recovery: Box::new(Plain::default()),
            undo: Box::new(Plain::default()),
            window: Box::new(Plain::default()),
            special: None,
        })),
    }
}

pub fn connection(config: Config, iss: u32) -> Connection {
    Connection::new(
        Arc::new(config),
        policies(),
        SeqNumber(iss),
        Rng::stream(1, "connection", u64::from(iss)),
    )
}

/// An endpoint with the built-in policies of a stack.
pub fn endpoint(stack: &str, iss: u32) -> Connection {
    let stack = Stack::named(&Registry::builtin(), stack).unwrap_or_else(|e| panic!("{e}"));
    Connection::new(
        Arc::new(stack.config()),
        stack.build(),
        SeqNumber(iss),
        Rng::stream(1, "connection", u64::from(iss)),
    )
}

/// A pipe between two such endpoints, connected and run for one second, that loses the data segments with
/// these numbers (from 0, copies included).
pub fn losing(stack: &str, lost: &'static [u32]) -> Pipe {
    let mut n = 0;
    let mut pipe = Pipe::with(endpoint(stack, 1), endpoint(stack, 2), move |_, from, s| {
        if from == 1 || s.len == 0 {
            return vec![DELAY];
        }
        n += 1;
        if lost.contains(&(n - 1)) { vec![] } else { vec![DELAY] }
    });
    pipe.open();
    pipe.run(ms(1000));
    pipe
}

pub fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

type Fate = Box<dyn FnMut(u64, usize, &Segment) -> Vec<Duration>>;

/// A segment in flight: its destination, payload and ECN field.
type Flying = (usize, Segment, Vec<u8>, Ecn);

/// A pipe with 10 ms delay. For the n-th segment from end `from`, `fate` returns the delays of its copies
/// (none: it is lost).
pub struct Pipe {
    pub now: Instant,
    pub ends: [Connection; 2],
    pub events: [Vec<ConnectionEvent>; 2],
    pub log: Vec<(Instant, usize, Segment)>,
    /// Sequence numbers of segments that arrive with Congestion Experienced set.
    pub marks: Vec<u32>,
    /// The present time, for `fate`.
    pub clock: Rc<Cell<Instant>>,
    flying: BTreeMap<(Instant, u64), Flying>,
    sent: u64,
    fate: Fate,
}

pub const DELAY: Duration = Duration::from_millis(10);

impl Pipe {
    pub fn new(client: Connection, server: Connection) -> Self {
        Self::with(client, server, |_, _, _| vec![DELAY])
    }

    pub fn with(
        client: Connection,
        server: Connection,
        fate: impl FnMut(u64, usize, &Segment) -> Vec<Duration> + 'static,
    ) -> Self {
        let ends = [client, server];
        Self {
            now: Instant::ZERO,
            ends,
            events: [vec![], vec![]],
            log: vec![],
            marks: vec![],
            clock: Rc::default(),
            flying: BTreeMap::new(),
            sent: 0,
            fate: Box::new(fate),
        }
    }

    pub fn open(&mut self) {
        self.ends[1].listen();
        self.ends[0].connect(self.now);
        self.drain();
    }

    fn launch(&mut self, from: usize, t: Transmit) {
        let mut payload = vec![0; t.segment.len as usize];
        self.ends[from].copy_payload(t.offset, &mut payload);
        self.log.push((self.now, from, t.segment));
        for delay in (self.fate)(self.sent, from, &t.segment) {
            self.sent += 1;
            self.flying.insert((self.now + delay, self.sent), (1 - from, t.segment, payload.clone(), t.ecn));
        }
        self.sent += 1;
    }

    pub fn drain(&mut self) {
        for from in 0..2 {
            while let Some(t) = self.ends[from].poll_transmit(self.now) {
                self.launch(from, t);
            }
            while let Some(e) = self.ends[from].poll_event() {
                self.events[from].push(e);
            }
        }
    }

    /// Handles the next arrival or timer. Returns false when there is none until `until`.
    pub fn step(&mut self, until: Instant) -> bool {
        let arrival = self.flying.keys().next().map(|k| k.0);
        let deadline = self.ends.iter().filter_map(Connection::poll_timeout).min();
        let Some(next) = arrival.into_iter().chain(deadline).min().filter(|n| *n <= until) else {
            self.now = until.max(self.now);
            return false;
        };
        assert!(next >= self.now, "time runs backwards");
        self.now = next;
        self.clock.set(next);
        if arrival == Some(next) {
            let (_, (to, segment, payload, sent_as)) = self.flying.pop_first().expect("an arrival is due");
            let ecn = if segment.len > 0 && self.marks.contains(&segment.seq.0) { Ecn::Ce } else { sent_as };
            self.ends[to].handle_segment(next, &segment, &payload, ecn);
        } else {
            for c in &mut self.ends {
                if c.poll_timeout().is_some_and(|at| at <= next) {
                    c.handle_timeout(next);
                }
            }
        }
        self.drain();
        true
    }

    pub fn run(&mut self, until: Instant) {
        while self.step(until) {}
    }

    /// Sends `data` from end `from` and returns what the other end read, both closing when done.
    pub fn transfer(&mut self, from: usize, data: &[u8], until: Instant) -> Vec<u8> {
        let (mut written, mut got) = (0, vec![]);
        let mut chunk = vec![0; 100_000];
        loop {
            written += self.ends[from].write(self.now, &data[written..]);
            if written == data.len() {
                self.ends[from].close(self.now);
            }
            self.drain();
            if !self.step(until) {
                return got;
            }
            let n = self.ends[1 - from].read(self.now, &mut chunk);
            got.extend_from_slice(&chunk[..n]);
            if self.ends[1 - from].at_end() {
                self.ends[1 - from].close(self.now);
            }
            self.drain();
        }
    }
}

pub fn pattern(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i as u64).wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect()
}
