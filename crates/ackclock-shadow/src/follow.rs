//! A connection of the engine that follows a captured sender.

mod gains;
mod judge;

use std::collections::VecDeque;
use std::sync::Arc;

use ackclock_engine::{Allowed, Connection, Stack};
use ackclock_policy::Ecn;
use ackclock_units::{Duration, Instant, Rng, SeqNumber, SeqRange};
use ackclock_wire::{Flags, Options, Segment, Timestamps};

use self::gains::Gains;
use crate::score::{Differences, Round};
use crate::timer::Expiry;
use crate::why::Reason;
use crate::{Conversation, Event, Kind};

/// What a stack would have done along a conversation.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// A score for each round trip; the same round trips for every stack.
    pub rounds: Vec<Round>,
    /// The expiries of the retransmission timer that the capture shows.
    pub expiries: Vec<Expiry>,
    /// When its probes were sent that came when they were due.
    pub probes: Vec<Instant>,
    /// Why it would have sent the retransmissions that it explains, in the order of the capture.
    pub reasons: Vec<Reason>,
    /// Retransmissions that it would not have sent then.
    pub unexplained: usize,
}

impl Followed {
    /// The logarithm of the likelihood, without the constant that all stacks share.
    pub fn log_likelihood(&self) -> f64 {
        self.rounds.iter().map(|r| r.log_likelihood).sum()
    }
}

/// The first packet's time on the shadow's clock, so that times before it exist.
const ORIGIN: Instant = Instant::from_nanos(10_000_000_000);
/// Timestamps of the sender that are remembered.
const MOST_TIMESTAMPS: usize = 1 << 14;
/// How far from the shadow's deadline a timer may fire: two ticks of 4 ms.
const NEAR: Duration = Duration::from_millis(8);
/// A response within this time follows at once: what a host takes for a batch of acks.
const AT_ONCE: Duration = Duration::from_micros(300);
/// A retransmission that nothing else explains shows a timeout where it comes this much after a smoothed
/// round-trip time.
const LEAST_WAIT: Duration = Duration::from_millis(10);
/// The part of a round trip that a phase of probing takes, if the round trip shows its gain.
const MOST_PHASES: f64 = 0.7;
/// Those who pace send this many segments at once, or fewer.
const PACED_SEGS: u64 = 8;

/// What a capture may lose at once, and altogether, bytes.
const MOST_AHEAD: u32 = 1 << 22;
const MOST_MISSING: u32 = 1 << 28;
/// What may be outstanding, bytes.
const MOST_OUTSTANDING: u32 = 1 << 27;
/// Timeouts that are kept.
const MOST_EXPIRIES: usize = 1000;
/// Retransmissions that are explained.
const MOST_REASONS: usize = 1 << 18;

/// Follows `conversation` with a sender of `stack`.
pub fn follow(stack: &Stack, conversation: &Conversation) -> Followed {
    let mut shadow = Shadow::new(stack, conversation);
    for event in &conversation.events {
        if !shadow.event(event) {
            break;
        }
    }
    shadow.end_round();
    Followed {
        rounds: shadow.rounds,
        expiries: shadow.expiries,
        probes: shadow.probes,
        reasons: shadow.reasons,
        unexplained: shadow.unexplained,
    }
}

struct Shadow<'a> {
    conversation: &'a Conversation,
    connection: Connection,
    smss: u32,
    /// Timestamps of the captured sender, and the shadow's at the same times.
    timestamps: VecDeque<(u32, u32)>,
    capture: Progress,
    clocks: Clocks,
    round: Differences,
    gains: Gains,
    rounds: Vec<Round>,
    expiries: Vec<Expiry>,
    probes: Vec<Instant>,
    reasons: Vec<Reason>,
    unexplained: usize,
}

/// What the capture shows of the sender's progress.
struct Progress {
    una: SeqNumber,
    nxt: SeqNumber,
    /// Number of the application's period.
    period: usize,
    /// Where the round trip under way ends, and its first packet.
    round: Option<(SeqNumber, u64)>,
    /// Nothing is missing in it, and neither the receiver's window nor the application was the limit: then it
    /// says something of the sender.
    counts: bool,
    /// Bytes that it has lost.
    missing: u32,
}

/// Since when a segment may leave.
struct Clocks {
    /// The last ack.
    acked_at: Instant,
    /// When the window had room.
    room_since: Instant,
    had_room: bool,
    /// When the pending tail loss probe was due.
    probe_at: Instant,
    /// When something was last sent or received.
    event_at: Instant,
    /// When the round trip under way began.
    round_at: Instant,
    /// When segments last left, and how many bytes at once.
    left: (Instant, u64),
}

impl<'a> Shadow<'a> {
    fn new(stack: &Stack, conversation: &'a Conversation) -> Self {
        let opening = &conversation.opening;
        let (own, peer) = (&opening.own, &opening.peer);
        let mut config = stack.config();
        config.mss = own.options.mss.map_or(1460, u32::from).max(64);
        config.window_scaling = own.options.window_scale.is_some();
        config.timestamps = own.options.timestamps.is_some();
        config.sack = own.options.sack_permitted;
        config.ecn = false;
        (config.snd_buf, config.snd_autotune) = (u64::MAX / 2, false);
        // What waits for room for a larger packet is seen in the capture.
        config.tso = false;
        config.user_timeout = Duration::ZERO;
        config.untimed_segments = true;
        config.skip_test = 0;
        let rng = Rng::stream(1, "shadow", 0);
        let connection = Connection::counted(Arc::new(config), stack.build(), own.seq, rng);
        let first = own.seq + 1;
        let mut shadow = Self {
            conversation,
            connection,
            smss: 1,
            timestamps: VecDeque::new(),
            capture: Progress { una: first, nxt: first, period: 0, round: None, counts: true, missing: 0 },
            clocks: Clocks {
                acked_at: ORIGIN,
                room_since: ORIGIN,
                had_room: false,
                probe_at: ORIGIN,
                event_at: ORIGIN,
                round_at: ORIGIN,
                left: (ORIGIN, 0),
            },
            round: Differences::default(),
            gains: Gains::default(),
            rounds: Vec::new(),
            expiries: Vec::new(),
            probes: Vec::new(),
            reasons: Vec::new(),
            unexplained: 0,
        };
        shadow.open(own, peer);
        shadow
    }

    /// The handshake.
    fn open(&mut self, own: &Segment, peer: &Segment) {
        let opening = &self.conversation.opening;
        let (own_at, peer_at) = (ORIGIN + opening.own_at, ORIGIN + opening.peer_at);
        if opening.active() {
            self.connection.connect(own_at);
            self.sent_syn(own_at, own);
            let ts = peer.options.timestamps.map(|ts| self.echoing(ts));
            let reply = Segment {
                ack: own.seq + 1,
                len: 0,
                flags: Flags::SYN | Flags::ACK,
                options: Options { timestamps: ts, accecn: None, ..peer.options },
                ..*peer
            };
            self.connection.handle_segment(peer_at, &reply, &[], Ecn::NotEct);
        } else {
            self.connection.listen();
            let syn = Segment { len: 0, flags: Flags::SYN, ..*peer };
            self.connection.handle_segment(peer_at, &syn, &[], Ecn::NotEct);
            self.sent_syn(own_at, own);
        }
        self.smss = self.conversation.segment_size();
    }

    fn sent_syn(&mut self, now: Instant, own: &Segment) {
        let sent = self.connection.poll_transmit(now);
        let shadows = sent.and_then(|t| t.segment.options.timestamps).map(|ts| ts.tsval);
        self.remember(own.options.timestamps.map(|ts| ts.tsval), shadows);
    }

    /// The two clocks do not tick at the same moments: of the shadow's timestamps within one of the captured
    /// sender's the last counts, so that no echo of a retransmission seems to be one of what was sent before.
    fn remember(&mut self, captured: Option<u32>, shadows: Option<u32>) {
        let (Some(captured), Some(shadows)) = (captured, shadows) else { return };
        if let Some(last) = self.timestamps.back_mut() {
            match captured.wrapping_sub(last.0) as i32 {
                ..0 => return,
                0 => {
                    last.1 = shadows;
                    return;
                }
                1.. => {}
            }
        }
        if self.timestamps.len() == MOST_TIMESTAMPS {
            self.timestamps.pop_front();
        }
        self.timestamps.push_back((captured, shadows));
    }

    /// The peer's timestamps, with an echo of the shadow's clock.
    fn echoing(&self, ts: Timestamps) -> Timestamps {
        let after = self.timestamps.partition_point(|(c, _)| c.wrapping_sub(ts.tsecr) as i32 <= 0);
        let tsecr = after.checked_sub(1).map_or(0, |i| self.timestamps[i].1);
        Timestamps { tsecr, ..ts }
    }

    /// Takes an event; false when the connection is over.
    fn event(&mut self, event: &Event) -> bool {
        if self.is_lost(event) {
            return false;
        }
        let now = ORIGIN + event.at;
        self.run_timers(now);
        match event.kind {
            Kind::Sent { range, tsval } => self.sent(now, event.packet, range, tsval),
            Kind::Ack { ack, window, sack, timestamps } => {
                let options =
                    Options { sack, timestamps: timestamps.map(|t| self.echoing(t)), ..Options::default() };
                let seq = self.connection.rcv_nxt();
                let segment = Segment { seq, ack, window, flags: Flags::ACK, options, ..Segment::default() };
                self.acked(now, event.packet, &segment);
            }
        }
        self.clocks.event_at = now;
        self.connection.state() != ackclock_engine::State::Closed
    }

    /// Fires the timer of the loss recovery until `now`.
    fn run_timers(&mut self, now: Instant) {
        for _ in 0..4 {
            let Some(at) = self.connection.allowed(now).recovery_at.filter(|at| *at <= now) else { break };
            self.connection.follow_timers(at);
            self.clocks.probe_at = at;
        }
    }

    /// Segments outstanding, by the capture.
    fn flight(&self) -> f64 {
        f64::from(self.capture.nxt.bytes_since(self.capture.una)) / f64::from(self.smss)
    }

    fn segs(&self, bytes: u64) -> f64 {
        bytes as f64 / f64::from(self.smss)
    }

    fn has_data(&self) -> bool {
        !self.conversation.periods.ends_at(self.capture.nxt)
    }

    fn sent(&mut self, now: Instant, packet: u64, range: SeqRange, tsval: Option<u32>) {
        self.skip_to(now, range.start);
        if self.capture.round.is_none() {
            self.capture.round = Some((range.end.max(self.capture.nxt), packet));
            self.clocks.round_at = now;
        }
        if range.end > self.capture.nxt {
            self.offer(now, range);
            let mut allowed = self.connection.allowed(now);
            // What the window had room for would have left long before.
            let paced = allowed
                .pacing
                .map_or(Duration::ZERO, |rate| rate.time_to_send(u64::from(self.smss) * PACED_SEGS));
            let silent = now.since(self.clocks.event_at) >= LEAST_WAIT + paced;
            let unprompted = silent || allowed.room < u64::from(self.smss);
            if let Some(due) = self.sooner_probe(now, &allowed).filter(|_| unprompted) {
                self.probed_sooner(now, packet, due);
                allowed = self.connection.allowed(now);
            }
            self.judge_new(now, packet, range, &allowed);
            self.capture.nxt = range.end;
        } else {
            match self.judge_again(now, packet, range) {
                Some(why) if self.reasons.len() < MOST_REASONS => self.reasons.push(Reason { packet, why }),
                Some(_) => {}
                None => self.unexplained += 1,
            }
        }
        let (at, bytes) = self.clocks.left;
        let len = u64::from(range.len());
        self.clocks.left = if now.since(at) <= AT_ONCE { (at, bytes + len) } else { (now, len) };
        let sent = self.connection.follow_sent(now, range);
        if sent.is_some() {
            self.remember(tsval, sent.and_then(|t| t.segment.options.timestamps).map(|ts| ts.tsval));
        }
        let allowed = self.connection.allowed(now);
        self.note_room(now, &allowed);
    }

    /// The capture has lost what lies between the last byte seen and `seq`, if that is ahead.
    fn skip_to(&mut self, now: Instant, seq: SeqNumber) {
        let missing = SeqRange::new(self.capture.nxt, seq);
        if seq > self.capture.nxt {
            self.connection.follow_sent(now, missing);
            (self.capture.nxt, self.capture.counts) = (seq, false);
            self.capture.missing += missing.len();
        }
    }

    /// True where an event is too far from what was sent so far: a capture of that kind cannot be followed.
    fn is_lost(&self, event: &Event) -> bool {
        let end = match event.kind {
            Kind::Sent { range, .. } => range.end,
            Kind::Ack { ack, .. } => ack,
        };
        let ahead = end.bytes_since(self.capture.nxt);
        ahead > MOST_AHEAD
            || self.capture.missing.saturating_add(ahead) > MOST_MISSING
            || self.capture.nxt.bytes_since(self.capture.una) > MOST_OUTSTANDING
    }

    /// The application writes what it had in this period, with its first segment.
    fn offer(&mut self, now: Instant, range: SeqRange) {
        while let Some(end) = self.conversation.periods.get(self.capture.period) {
            if range.start < end && self.connection.unacked() > 0 {
                return;
            }
            let from = self.capture.nxt;
            if range.start < end {
                self.connection.write_counted(now, u64::from(end.bytes_since(from)));
                return;
            }
            self.capture.period += 1;
        }
    }

    fn acked(&mut self, now: Instant, packet: u64, segment: &Segment) {
        self.skip_to(now, segment.ack);
        let allowed = self.connection.allowed(now);
        if allowed.probe.is_some() && !self.has_just_fired(now) {
            self.round.no_probe(packet);
            self.connection.follow_sent(now, SeqRange::new(self.capture.nxt, self.capture.nxt));
        }
        if allowed.receivers < u64::from(self.smss) || !self.has_data() {
            self.capture.counts = false;
        }
        let waited = now.since(self.clocks.room_since.max(self.clocks.acked_at)) > AT_ONCE;
        if allowed.pacing.is_none() && waited && self.has_data() && self.capture.nxt > self.capture.una {
            let unused = (allowed.room.min(allowed.receivers) / u64::from(self.smss)) as f64;
            self.round.volume(packet, -unused, self.flight());
        }
        self.connection.handle_segment(now, segment, &[], Ecn::NotEct);
        while self.connection.poll_event().is_some() {}
        self.clocks.acked_at = now;
        self.capture.una = self.capture.una.max(segment.ack);
        let allowed = self.connection.allowed(now);
        self.note_room(now, &allowed);
        if self.capture.round.is_some_and(|(end, _)| self.capture.una >= end) {
            let shown = self.gains.take_another();
            // Phases take the smallest round-trip time. A round trip behind a queue has several.
            let rtt = self.connection.estimator().rtt();
            let one =
                rtt.is_some_and(|rtt| now.since(self.clocks.round_at).mul_f64(MOST_PHASES) <= rtt.min_rtt);
            if let Some(gain) = shown.filter(|gain| one || *gain != 1.0) {
                self.connection.follow_gain(now, gain);
            }
            self.end_round();
        }
    }

    fn note_room(&mut self, now: Instant, allowed: &Allowed) {
        let has = allowed.room.min(allowed.receivers) >= u64::from(self.smss);
        if has && !self.clocks.had_room {
            self.clocks.room_since = now;
        }
        self.clocks.had_room = has;
    }

    fn end_round(&mut self) {
        if let Some((_, packet)) = self.capture.round.take() {
            self.rounds.push(self.round.end(packet, self.capture.counts));
            self.capture.counts = true;
        }
    }
}
