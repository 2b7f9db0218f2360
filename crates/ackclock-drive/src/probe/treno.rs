//! TReno's TCP: an ordinary sender and an ordinary receiver of the engine, both at the near end.

use std::sync::Arc;

use ackclock_engine::{AbortReason, Config, Connection, ConnectionEvent, Pacer, Policies, Stats};
use ackclock_policy::{Pacing, Phase};
use ackclock_units::{Bytes, Duration, Ecn, Instant, Rate, Rng, SeqNumber};
use ackclock_wire::Segment;

/// Sender and receiver. Segments with sequence space between them pass the path; acknowledgments do not.
///
/// [`Treno::poll_segment`] returns the sender's segments. The caller sends a probe of that size over the
/// path, and calls [`Treno::arrive`] when its reply arrives. The receiver's acknowledgments, delayed by its
/// ack policy, reach the sender at once. So a lost probe is a lost segment, the round trip of a probe is that
/// of a segment, and recovery, window, timers and acknowledgments are the engine's (M-U3).
#[derive(Debug)]
pub(super) struct Treno {
    sender: Connection,
    receiver: Connection,
    max_rate: MaxRate,
    ended: Option<AbortReason>,
}

impl Treno {
    /// Both ends, closed. `headers` is the size of a probe's headers, which count towards `max_rate`.
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

    /// Opens the connection. The SYN is sent in a probe too, so that the first sample is a round trip of the
    /// path.
    pub fn start(&mut self, now: Instant) {
        self.sender.connect(now);
        self.exchange(now);
    }

    /// The next segment to send over the path; `None` while the window or the largest rate does not allow
    /// one.
    pub fn poll_segment(&mut self, now: Instant) -> Option<Segment> {
        if !self.max_rate.allows(now) {
            return None;
        }
        while let Some(t) = self.sender.poll_transmit(now) {
            if t.segment.seq_len() > 0 {
                self.max_rate.sent(now, t.segment.len);
                return Some(t.segment);
            }
            // Pure acknowledgments stay at this end.
            self.receiver.handle_segment(now, &t.segment, &[], Ecn::NotEct);
            self.exchange(now);
        }
        self.max_rate.had_nothing();
        None
    }

    /// Handles a segment whose reply has arrived.
    pub fn arrive(&mut self, now: Instant, segment: &Segment) {
        self.receiver.handle_segment(now, segment, &[], Ecn::NotEct);
        self.exchange(now);
    }

    /// When [`Treno::handle_timeout`] must be called next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let ends = [self.sender.poll_timeout(), self.receiver.poll_timeout(), self.max_rate.held_until()];
        ends.into_iter().flatten().min()
    }

    /// Handles expired deadlines.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.max_rate.fired(now);
        for end in [&mut self.sender, &mut self.receiver] {
            if end.poll_timeout().is_some_and(|at| at <= now) {
                end.handle_timeout(now);
            }
        }
        self.exchange(now);
    }

    /// Changes the largest rate.
    pub fn set_max_rate(&mut self, rate: Rate) {
        self.max_rate.set(rate);
    }

    /// The sender's counters.
    pub fn stats(&self) -> &Stats {
        self.sender.stats()
    }

    /// The congestion window, bytes.
    pub fn cwnd(&self, now: Instant) -> Bytes {
        self.sender.view(now).window.cwnd
    }

    /// True once the first congestion signal has ended the initial slow start, and its losses are repaired.
    pub fn is_past_slow_start(&self, now: Instant) -> bool {
        let v = self.sender.view(now);
        v.window.ssthresh < Bytes::MAX && matches!(v.phase, Phase::Open | Phase::Disorder)
    }

    /// True when all of the segment is acknowledged.
    pub fn has_acked(&self, now: Instant, segment: &Segment) -> bool {
        segment.end() <= self.sender.view(now).snd_una
    }

    /// The retransmission timeout before backoff.
    pub fn rto(&self) -> Duration {
        self.sender.estimator().rto()
    }

    /// Why the connection was aborted, if it was: no replies for too long.
    pub fn ended(&self) -> Option<AbortReason> {
        self.ended
    }

    /// Time for which the largest rate delayed segments.
    pub fn held(&self) -> Duration {
        self.max_rate.held
    }

    /// Exchanges acknowledgments between the two connections until there are none.
    fn exchange(&mut self, now: Instant) {
        loop {
            // An endless transfer: the send buffer is always full, and the receiver reads everything.
            self.receiver.read_counted(now, Bytes::MAX);
            self.sender.write_counted(now, self.sender.writable());
            while let Some(event) = self.sender.poll_event() {
                if let ConnectionEvent::Aborted(reason) = event {
                    self.ended.get_or_insert(reason);
                }
            }
            while self.receiver.poll_event().is_some() {}
            let Some(ack) = self.receiver.poll_transmit(now) else { break };
            self.sender.handle_segment(now, &ack.segment, &[], Ecn::NotEct);
        }
    }
}

/// Limits the rate with the engine's pacer, and measures how long it delayed segments.
#[derive(Debug)]
struct MaxRate {
    pacer: Pacer,
    /// Size of a probe's headers, bytes.
    headers: u32,
    held_since: Option<Instant>,
    held: Duration,
}

/// A burst may be this much ahead of the largest rate.
const AHEAD: Duration = Duration::from_millis(10);

impl MaxRate {
    fn new(rate: Rate, headers: u32) -> Self {
        let pacer = Pacer::new(Pacing { rate, quantum: headers }, headers).running_ahead(AHEAD);
        Self { pacer, headers, held_since: None, held: Duration::ZERO }
    }

    fn set(&mut self, rate: Rate) {
        self.pacer.set(Pacing { rate, quantum: self.headers }, self.headers);
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

    /// Notes that there was no segment to delay.
    fn had_nothing(&mut self) {
        self.held_since = None;
    }

    /// When the delayed segment may be sent.
    fn held_until(&self) -> Option<Instant> {
        self.held_since.and_then(|since| self.pacer.held_until(since))
    }

    /// Handles that deadline.
    fn fired(&mut self, now: Instant) {
        if self.held_since.is_some() && self.pacer.held_until(now).is_none() {
            self.pacer.fired(now);
        }
    }
}
