//! One direction: what its sender had in flight, what it heard, and what it sent again.

mod acks;
mod copies;
mod covered;
mod expiry;
mod follow;
mod linux;
mod old;
mod on_purpose;
mod retransmission;
mod segments;
mod sent_again;
mod situation;

use std::collections::VecDeque;
use std::sync::Arc;

use ackclock_policy::{Rtt, RttEstimator};
use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::{Options, Segment};

use self::copies::Copies;
use self::covered::{Covered, Doubt};
use self::linux::LinuxTimer;
use self::on_purpose::Copied;
pub(crate) use self::sent_again::{Again, Expiry};
use crate::gaps::Gaps;
use crate::limits::{Limits, Standing};
use crate::peer_clock::PeerClock;
use crate::ranges::Ranges;
use crate::report::{Direction, Episode};
use crate::sent::Outstanding;
use crate::thresholds::THRESHOLDS;
use crate::wanted::Wanted;
use crate::what_if::{Asked, WhatIf};

/// A stretch that was skipped.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: u64,
    end: u64,
    at: Instant,
    id: u16,
    tsval: Option<u32>,
}

/// What else tells of a direction's sender: its clock, the round-trip time of the handshake, and the smoothed
/// one on its side of the capture.
pub(crate) struct SenderClock {
    /// When the present packet would have been seen without more delay than the least, and the tick of the
    /// clock.
    pub due: Option<Instant>,
    pub tick: Duration,
    pub handshake: Option<Duration>,
    pub smoothed: Duration,
    /// A silence may have ended.
    pub quiet: bool,
}

/// One direction of a connection.
#[derive(Debug)]
pub(crate) struct Half {
    pub out: Direction,
    pub agains: Vec<Again>,
    pub expiries: Vec<Expiry>,
    pub episodes: Vec<Episode>,
    linux: LinuxTimer,
    estimator: Box<dyn RttEstimator>,
    /// What it says.
    smoothed: Option<Rtt>,
    /// When the connection's first packet was seen: what was sent before, no moment is known of.
    start: Instant,
    /// Coordinates: sequence numbers carried on above 32 bits. The first one, and `snd_una`, `snd_max` of RFC
    /// 9293.
    pub base: Option<u64>,
    pub una: u64,
    pub max: u64,
    /// Where its SYN and FIN stand.
    pub syn: Option<u64>,
    pub fin: Option<u64>,
    /// When the other end's latest SYN was seen that it has not answered yet, and how long its first answer
    /// took.
    pub asked_at: Option<Instant>,
    answers_in: Option<Duration>,
    /// Its largest segment by the handshake; 0 while unknown.
    pub mss: u32,
    outstanding: Outstanding,
    sacked: Ranges,
    holes: Vec<Hole>,
    /// From the capture to the receiver and back, the least.
    pub far: Option<Duration>,
    /// From the capture to the sender and back, the least; filled in by the connection.
    pub near: Duration,
    /// Window that the receiver offers, and its scale once known.
    pub peer_scale: u8,
    peer_window: Option<u64>,
    // What it heard.
    advanced_at: Option<Instant>,
    news_at: Option<Instant>,
    news_was_advance: bool,
    dup_acks: u32,
    third_at: Option<Instant>,
    /// The receiver's acks tell of a loss; its timestamps when that last began, and when it ended since then.
    telling: bool,
    told_loss: Option<u32>,
    told_whole: Option<u32>,
    /// The same when an ack last moved forward or was the third duplicate.
    called_for: Option<u32>,
    /// Send time of the latest copy that is known to be delivered.
    delivered_sent: Option<Instant>,
    /// Since when the oldest piece is known to have been overtaken.
    overtaken_at: Option<Instant>,
    // What it did.
    sent_at: Option<Instant>,
    expired_at: Option<Instant>,
    probed_at: Option<Instant>,
    /// A probe is out for everything below.
    probed_to: Option<u64>,
    /// What it repeated had been sent before.
    probe_again: bool,
    chain: u32,
    episode: Option<(u32, u64)>,
    episode_tsval: Option<u32>,
    tsvals: VecDeque<(u32, Instant, bool)>,
    last_tsval: Option<u32>,
    doubts: Vec<Doubt>,
    /// Expiries that were judged by the latest ack.
    covered_now: Covered,
    /// The clock of the other end.
    pub peer_clock: PeerClock,
    /// The highest sequence number that any packet told of.
    told: u64,
    /// Silences, as the receiver sees them.
    pub gaps: Gaps,
    pub copies: Copies,
    copied: Copied,
    round_end: u64,
    round_flight: u64,
    last_round_flight: u64,
    /// Both ends offered SACK.
    pub sack_agreed: bool,
    /// Limits that were met, and limits of the whole capture.
    pub overrun: bool,
    pub may_list: bool,
    pub samples: bool,
    /// Timers in the place of its own, from its first segment on.
    pub asked: Option<Arc<Asked>>,
    pub what_if: Option<Box<WhatIf>>,
    /// What the echo of a timestamp in the present ack told.
    echo: Option<Duration>,
    pub limits: Limits,
    /// Some segment had an identification.
    pub identified: bool,
}

impl Half {
    pub(crate) fn new(start: Instant, estimator: Box<dyn RttEstimator>, wanted: &Wanted) -> Self {
        Self {
            out: Direction::default(),
            agains: Vec::new(),
            expiries: Vec::new(),
            episodes: Vec::new(),
            smoothed: estimator.rtt(),
            start,
            linux: LinuxTimer::default(),
            estimator,
            base: None,
            una: 0,
            max: 0,
            syn: None,
            fin: None,
            asked_at: None,
            answers_in: None,
            mss: 0,
            outstanding: Outstanding::default(),
            sacked: Ranges::default(),
            holes: Vec::new(),
            far: None,
            near: Duration::ZERO,
            peer_scale: 0,
            peer_window: None,
            advanced_at: None,
            news_at: None,
            news_was_advance: false,
            dup_acks: 0,
            third_at: None,
            telling: false,
            told_loss: None,
            told_whole: None,
            called_for: None,
            delivered_sent: None,
            overtaken_at: None,
            sent_at: None,
            expired_at: None,
            probed_at: None,
            probed_to: None,
            probe_again: false,
            chain: 0,
            episode: None,
            episode_tsval: None,
            tsvals: VecDeque::new(),
            last_tsval: None,
            doubts: Vec::new(),
            covered_now: Covered::default(),
            peer_clock: PeerClock::default(),
            told: 0,
            gaps: Gaps::default(),
            copies: Copies::default(),
            copied: Copied::default(),
            round_end: 0,
            round_flight: 0,
            last_round_flight: 0,
            sack_agreed: false,
            overrun: false,
            may_list: true,
            samples: wanted.samples,
            asked: wanted.asked.clone(),
            what_if: None,
            echo: None,
            limits: Limits::default(),
            identified: false,
        }
    }

    /// The coordinate of a sequence number: the nearest to what was sent last.
    pub(crate) fn coordinate(&self, seq: SeqNumber) -> u64 {
        // Low 32 bits of a coordinate are the number itself.
        self.max.wrapping_add_signed(i64::from(seq.diff(SeqNumber(self.max as u32))))
    }

    /// True when all of a segment was acknowledged before. Its receiver drops it, and does not look at what
    /// it acknowledges (RFC 9293 §3.10.7.4).
    #[inline]
    pub(crate) fn lies_below(&self, s: &Segment) -> bool {
        self.base.is_some() && SeqNumber(self.una as u32).diff(s.end()) > 0
    }

    /// True when an acknowledgment of so much is one of what was sent and not acknowledged (RFC 9293
    /// §3.10.7.3).
    pub(crate) fn may_be_acked(&self, ack: SeqNumber) -> bool {
        let ack = self.coordinate(ack);
        self.una < ack && ack <= self.max
    }

    fn begin(&mut self, seq: SeqNumber) {
        if self.base.is_none() {
            // One turn of sequence space above zero, so that what lies before is a number too.
            let at = (1 << 32) + u64::from(seq.0);
            (self.base, self.una, self.max) = (Some(at), at, at);
            self.round_end = at;
        }
    }

    /// Position in the stream, for reading.
    pub(crate) fn offset(&self, at: u64) -> u64 {
        let first = self.base.unwrap_or(at) + u64::from(self.syn.is_some());
        at.saturating_sub(first)
    }

    /// The segment size by the handshake, or the usual one where the capture has none.
    fn mss_or_usual(&self) -> u32 {
        if self.mss > 0 { self.mss } else { THRESHOLDS.segments.usual_mss }
    }

    /// Packets on the wire of so many bytes.
    fn packets(&self, len: u32) -> u32 {
        let mss = self.mss_or_usual();
        // Most are one: a division takes longer than all that is done with it.
        if len <= mss { 1 } else { len.div_ceil(mss) }
    }

    /// Packets that so many bytes of this segment are: SACK blocks, which are in each of them, take room (RFC
    /// 2018 §3).
    fn packets_with(&self, s: &Segment, len: u32) -> u32 {
        // Four blocks at the most.
        if len + 36 <= self.mss || self.mss == 0 {
            return self.packets(len);
        }
        match s.options.sack.as_slice().len() as u32 {
            0 => self.packets(len),
            blocks => len.div_ceil(self.mss.saturating_sub(4 + 8 * blocks).max(1)),
        }
    }

    /// Pieces in our books.
    pub(crate) fn pieces(&self) -> usize {
        self.outstanding.len()
    }

    /// Forgets the oldest piece: the capture has more outstanding than is kept.
    pub(crate) fn forget(&mut self) {
        self.overrun |= self.outstanding.forget();
    }

    pub(crate) fn flight(&self) -> u64 {
        self.max.saturating_sub(self.una)
    }

    /// What is in the network: outstanding, and not known to have arrived.
    pub(crate) fn pipe(&self) -> u64 {
        let arrived = match self.sacked.is_empty() {
            true => u64::from(self.dup_acks) * u64::from(self.mss_or_usual()),
            false => self.sacked.bytes_above(self.una),
        };
        self.flight().saturating_sub(arrived)
    }

    /// It has sent a SYN-ACK.
    pub(crate) fn has_answered(&mut self, at: Instant) {
        if let Some(asked) = self.asked_at.take() {
            self.answers_in.get_or_insert(at.since(asked));
        }
    }

    /// True when a SYN-ACK at this moment answers a SYN that was sent again.
    fn answers_a_syn(&self, at: Instant) -> bool {
        let by = THRESHOLDS.reaction;
        self.asked_at.zip(self.answers_in).is_some_and(|(asked, usual)| {
            at.since(asked) <= usual.mul_f64(by.syn_ack_factor) + by.syn_ack_margin
        })
    }

    /// How its sender stands, as far as what it may send goes.
    fn standing(&self, at: Instant) -> Standing {
        let room = self.peer_window.map_or(u64::MAX, |w| (self.una + w).saturating_sub(self.max));
        Standing {
            at,
            full: room < u64::from(if self.mss > 0 { self.mss } else { self.out.mss.max(1) }),
            repairing: self.episode.is_some(),
            flight: self.flight(),
            una: self.una,
            max: self.max,
        }
    }

    /// How soon its sender answers an ack, as seen here: a busy machine, or the next place of a paced one.
    fn prompt(&self) -> Duration {
        let by = THRESHOLDS.reaction;
        let paced = |srtt: Duration| by.busy.max(srtt / by.paced_part).min(srtt / by.latest_part);
        self.near + self.rtt().map_or(by.busy, |(srtt, _)| paced(srtt))
    }

    /// True while the receiver offers no room.
    fn closed_window(&self) -> bool {
        self.peer_window == Some(0)
    }

    /// Time in which nothing was sent and nothing heard, as its sender knows it; `None` where the capture
    /// shows nothing of either.
    fn quiet_for(&self, at: Instant) -> Option<Duration> {
        let heard = self.news_at.map(|n| at.since(n).saturating_sub(self.near));
        let sent = self.sent_at.map(|s| at.since(s));
        heard.into_iter().chain(sent).min()
    }

    /// Smoothed round-trip time of the whole path, and deviation.
    pub(crate) fn rtt(&self) -> Option<(Duration, Duration)> {
        self.smoothed
            .map(|r| (r.srtt + self.near, r.rttvar))
            // RFC 6298 §2.2: half of the first sample.
            .or_else(|| self.far.map(|far| (far + self.near, (far + self.near) / 2)))
    }

    /// After what silence a tail loss probe is due (RFC 8985 §7.2), at the least.
    fn probe_wait(&self) -> Option<Duration> {
        self.rtt().map(|(srtt, _)| srtt.mul_f64(THRESHOLDS.probe.rtts).max(THRESHOLDS.probe.soonest))
    }
}

/// Segment size of a direction from the two SYNs: the smaller limit, less timestamps (RFC 6691).
pub(crate) fn segment_size(own: &Options, peer: &Options) -> u32 {
    let limit = |o: &Options| o.mss.map_or(THRESHOLDS.segments.mss_without_option, u32::from);
    let timestamps = if own.timestamps.is_some() && peer.timestamps.is_some() { 12 } else { 0 };
    limit(own).min(limit(peer)).saturating_sub(timestamps).max(1)
}
