//! TReno's TCP: an ordinary sender and an ordinary receiver of the engine, both at the near end.

use std::sync::Arc;

use ackclock_engine::{AbortReason, Config, Connection, ConnectionEvent, Pacer, Policies, Stats};
use ackclock_policy::{Pacing, Phase};
use ackclock_units::{Bytes, Duration, Ecn, Instant, Rate, Rng, SeqNumber};
use ackclock_wire::Segment;

/// Two connections between which segments with sequence space leave the machine, and acknowledgments do not.
///
/// What the sender sends comes out of [`Treno::poll_segment`]; whoever drives it lets a probe of that size
/// pass the path, and says with [`Treno::arrive`] that it came back. The receiver's acknowledgments, delayed
/// as its policy says, reach the sender at once. So a lost probe is a lost segment, a probe's round trip is a
/// segment's, and every rule of recovery, window, timer and acknowledgment is the engine's own (M-U3).
#[derive(Debug)]
pub(super) struct Treno {
    sender: Connection,
    receiver: Connection,
    max_rate: MaxRate,
    ended: Option<AbortReason>,
}

impl Treno {
    /// Both ends, closed. `headers` are those of a probe on the wire, which count towards `max_rate`.
    pub fn new(config: &Config, policies: [Policies; 2], max_rate: Rate, headers: u32, seed: u64) -> Self {
        let config = Arc::new(config.clone());
        let [ours, theirs] = policies;
        let mut rng = Rng::stream(seed, "treno", 0);
        let [iss, irs] = [0, 1].map(|_| SeqNumber(rng.next_u64() as u32));
        let mut receiver = Connection::counted(config.clone(), theirs, irs, Rng::stream(seed, "treno", 2));
        receiver.listen();
        let sender = Connection::counted(config, ours, iss, Rng::stream(seed, "treno", 1));
        Self { sender, receiver, max_rate: MaxRate::new(max_rate, headers), ended: None }
    }

    /// Begins: the SYN comes out first, and rides on a probe like everything else, so that the first sample
    /// is a round trip of the path.
    pub fn start(&mut self, now: Instant) {
        self.sender.connect(now);
        self.exchange(now);
    }

    /// The next segment to be carried over the path; `None` while the window or the largest rate forbids one.
    pub fn poll_segment(&mut self, now: Instant) -> Option<Segment> {
        if !self.max_rate.allows(now) {
            return None;
        }
        while let Some(t) = self.sender.poll_transmit(now) {
            if t.segment.seq_len() > 0 {
                self.max_rate.sent(now, t.segment.len);
                return Some(t.segment);
            }
            // What only acknowledges stays at this end.
            self.receiver.handle_segment(now, &t.segment, &[], Ecn::NotEct);
            self.exchange(now);
        }
        self.max_rate.had_nothing();
        None
    }

    /// A segment has been over the path and back.
    pub fn arrive(&mut self, now: Instant, segment: &Segment) {
        self.receiver.handle_segment(now, segment, &[], Ecn::NotEct);
        self.exchange(now);
    }

    /// When something will have to be done next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let ends = [self.sender.poll_timeout(), self.receiver.poll_timeout(), self.max_rate.held_until()];
        ends.into_iter().flatten().min()
    }

    /// Acts on the deadlines that have come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.max_rate.fired(now);
        for end in [&mut self.sender, &mut self.receiver] {
            if end.poll_timeout().is_some_and(|at| at <= now) {
                end.handle_timeout(now);
            }
        }
        self.exchange(now);
    }

    /// The largest rate from now on.
    pub fn set_max_rate(&mut self, now: Instant, rate: Rate) {
        self.max_rate.set(now, rate);
    }

    /// The sender's counters.
    pub fn stats(&self) -> &Stats {
        self.sender.stats()
    }

    /// The congestion window, bytes.
    pub fn cwnd(&self, now: Instant) -> Bytes {
        self.sender.view(now).window.cwnd
    }

    /// True once the first congestion signal has ended the initial slow start, and what was lost in that is
    /// repaired.
    pub fn is_past_slow_start(&self, now: Instant) -> bool {
        let v = self.sender.view(now);
        v.window.ssthresh < Bytes::MAX && matches!(v.phase, Phase::Open | Phase::Disorder)
    }

    /// True when the sender needs no copy of the segment any more: all of it is acknowledged.
    pub fn has_acked(&self, now: Instant, segment: &Segment) -> bool {
        segment.end() <= self.sender.view(now).snd_una
    }

    /// The retransmission timeout before backoff.
    pub fn rto(&self) -> Duration {
        self.sender.estimator().rto()
    }

    /// Why the connection has ended, if it has: nothing came back for too long.
    pub fn ended(&self) -> Option<AbortReason> {
        self.ended
    }

    /// For how long the largest rate held segments back.
    pub fn held(&self) -> Duration {
        self.max_rate.held
    }

    /// Hands over what stays at this end, until there is nothing.
    fn exchange(&mut self, now: Instant) {
        loop {
            // An endless transfer: there is always something to send, and somebody who reads it.
            self.receiver.read_counted(now, Bytes::MAX);
            self.sender.write_counted(now, self.sender.writable());
            while let Some(event) = self.sender.poll_event() {
                if let ConnectionEvent::Aborted(reason) = event {
                    self.ended.get_or_insert(reason);
                }
            }
            while self.receiver.poll_event().is_some() {}
            let Some(answer) = self.receiver.poll_transmit(now) else { break };
            self.sender.handle_segment(now, &answer.segment, &[], Ecn::NotEct);
        }
    }
}

/// The largest rate, kept by the engine's pacer, and for how long it held segments back.
#[derive(Debug)]
struct MaxRate {
    pacer: Pacer,
    /// Of a probe on the wire, bytes.
    headers: u32,
    held_since: Option<Instant>,
    held: Duration,
}

/// A burst may run ahead of the largest rate by so much and no more.
const AHEAD: Duration = Duration::from_millis(10);

impl MaxRate {
    fn new(rate: Rate, headers: u32) -> Self {
        let pacer = Pacer::new(Pacing { rate, quantum: headers }, headers).running_ahead(AHEAD);
        Self { pacer, headers, held_since: None, held: Duration::ZERO }
    }

    fn set(&mut self, now: Instant, rate: Rate) {
        self.pacer.set(now, Pacing { rate, quantum: self.headers }, self.headers);
    }

    fn allows(&mut self, now: Instant) -> bool {
        if self.pacer.held_until(now).is_none() {
            return true;
        }
        self.held_since.get_or_insert(now);
        false
    }

    fn sent(&mut self, now: Instant, payload: u32) {
        if let Some(since) = self.held_since.take() {
            self.held += now.since(since);
        }
        self.pacer.sent(now, payload + self.headers);
    }

    /// There was nothing to hold back after all.
    fn had_nothing(&mut self) {
        self.held_since = None;
    }

    /// When what is held back may leave.
    fn held_until(&self) -> Option<Instant> {
        self.held_since.and_then(|since| self.pacer.held_until(since))
    }

    /// That moment has come.
    fn fired(&mut self, now: Instant) {
        if self.held_since.is_some() && self.pacer.held_until(now).is_none() {
            self.pacer.fired(now);
        }
    }
}
