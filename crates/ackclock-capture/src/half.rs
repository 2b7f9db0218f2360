//! One direction: what its sender had in flight, what it heard, and what it sent again.

mod acks;
mod again;

use std::collections::VecDeque;

use ackclock_policy::RttEstimator;
use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::{Flags, Options, Segment};

use crate::ranges::Ranges;
use crate::report::{Direction, Episode, Retransmission, TimedOut};
use crate::segment::Seen;
use crate::sent::{Outstanding, Piece};

/// A retransmission with what is needed to judge it later.
#[derive(Debug)]
pub(crate) struct Again {
    pub row: Retransmission,
    start: u64,
    end: u64,
    tsval: Option<u32>,
    /// The one before of the same piece.
    before: Option<u32>,
    pub episode: Option<u32>,
    expiry: Option<u32>,
    /// An ack covered it, without telling that it was in vain.
    covered: bool,
}

/// An expiry of the retransmission timer, or a probe that looks like one.
#[derive(Debug)]
pub(crate) struct Expiry {
    pub at: Instant,
    pub seq: SeqNumber,
    pub of: TimedOut,
    /// Time since the timer was set, at the latest and without fast retransmissions.
    pub waited: Duration,
    pub waited_longer: Duration,
    /// Expiries without progress between them have the same number.
    pub chain: u32,
    /// It may have been a tail loss probe.
    pub maybe_probe: bool,
    pub again: u32,
    pub episode: Option<u32>,
    pub eifel_spurious: Option<bool>,
    pub outage: bool,
    /// A sender that probes would have probed first.
    pub unprobed: bool,
    /// What Linux's probe would have waited, and its timeout.
    pub probe_after: Option<Duration>,
    pub timeout_after: Option<Duration>,
}

/// A stretch that was skipped.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: u64,
    end: u64,
    at: Instant,
    id: u16,
    tsval: Option<u32>,
}

/// Holes remembered: more are a capture full of gaps.
const MOST_HOLES: usize = 1024;
/// Acknowledged pieces remembered.
const ACKED_KEPT: usize = 64;
/// Timestamps remembered for round-trip times.
const MOST_TSVALS: usize = 4096;

/// One direction of a connection.
#[derive(Debug)]
pub(crate) struct Half {
    pub out: Direction,
    pub agains: Vec<Again>,
    pub expiries: Vec<Expiry>,
    pub episodes: Vec<Episode>,
    estimator: Box<dyn RttEstimator>,
    /// Coordinates: sequence numbers carried on above 32 bits. The first one, and `snd_una`, `snd_max` of RFC 9293.
    pub base: Option<u64>,
    pub una: u64,
    pub max: u64,
    /// Where its SYN and FIN stand.
    pub syn: Option<u64>,
    pub fin: Option<u64>,
    /// Its largest segment by the handshake; 0 while unknown.
    pub mss: u32,
    outstanding: Outstanding,
    /// The latest pieces that were acknowledged: copies of them may still come.
    acked: VecDeque<Piece>,
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
    chain: u32,
    episode: Option<(u32, u64)>,
    episode_tsval: Option<u32>,
    tsvals: VecDeque<(u32, Instant, bool)>,
    last_tsval: Option<u32>,
    recent: [u64; 8],
    twin_at: Option<Instant>,
    doubled: bool,
    round_end: u64,
    round_flight: u64,
    last_round_flight: u64,
    /// Both ends offered SACK.
    pub sack_agreed: bool,
    /// Limits that were met, and limits of the whole capture.
    pub overrun: bool,
    pub may_list: bool,
    pub samples: bool,
    /// Some segment had an identification.
    pub identified: bool,
}

impl Half {
    pub(crate) fn new(estimator: Box<dyn RttEstimator>, samples: bool) -> Self {
        Self {
            out: Direction::default(),
            agains: Vec::new(),
            expiries: Vec::new(),
            episodes: Vec::new(),
            estimator,
            base: None,
            una: 0,
            max: 0,
            syn: None,
            fin: None,
            mss: 0,
            outstanding: Outstanding::default(),
            acked: VecDeque::new(),
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
            delivered_sent: None,
            overtaken_at: None,
            sent_at: None,
            expired_at: None,
            probed_at: None,
            probed_to: None,
            chain: 0,
            episode: None,
            episode_tsval: None,
            tsvals: VecDeque::new(),
            last_tsval: None,
            recent: [0; 8],
            twin_at: None,
            doubled: false,
            round_end: 0,
            round_flight: 0,
            last_round_flight: 0,
            sack_agreed: false,
            overrun: false,
            may_list: true,
            samples,
            identified: false,
        }
    }

    /// The coordinate of a sequence number: the nearest to what was sent last.
    pub(crate) fn coordinate(&self, seq: SeqNumber) -> u64 {
        // Low 32 bits of a coordinate are the number itself.
        self.max.wrapping_add_signed(i64::from(seq.diff(SeqNumber(self.max as u32))))
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
    fn offset(&self, at: u64) -> u64 {
        let first = self.base.unwrap_or(at) + u64::from(self.syn.is_some());
        at.saturating_sub(first)
    }

    /// Packets on the wire of so many bytes.
    fn packets(&self, len: u32) -> u32 {
        // Without a handshake: no packet of a link of 1500 bytes carries more.
        const USUAL: u32 = 1460;
        let mss = if self.mss > 0 { self.mss } else { USUAL };
        len.div_ceil(mss.max(1)).max(1)
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
            true => u64::from(self.dup_acks) * u64::from(if self.mss > 0 { self.mss } else { 1460 }),
            false => self.sacked.bytes_above(self.una),
        };
        self.flight().saturating_sub(arrived)
    }

    /// True when it repeats one of the segments just before, identification included.
    pub(crate) fn is_copy(&mut self, seen: &Seen) -> bool {
        let s = &seen.segment;
        let times = s.options.timestamps.map_or(0, |t| (u64::from(t.tsval) << 32) | u64::from(t.tsecr));
        let numbers = (u64::from(s.seq.0) << 32) | u64::from(s.ack.0);
        let rest = (u64::from(seen.id) << 48) | (u64::from(s.window) << 32) | (u64::from(s.flags.0) << 24) | u64::from(s.len & 0xff_ffff);
        // Odd multipliers spread what differs: 2^64 over the golden ratio, and two primes of xxHash.
        let print = numbers.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ times.rotate_left(31).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
            ^ rest.rotate_left(17).wrapping_mul(0x1656_67b1_9e37_79f9);
        if seen.id == 0 {
            // Without identification, acks in a burst look the same. A SYN does not come twice at once: this capture doubles packets.
            let twin = self.recent[0] == print && self.twin_at.is_some_and(|t| seen.at.since(t) < AT_ONCE);
            (self.recent[0], self.twin_at) = (print, Some(seen.at));
            self.doubled |= twin && s.flags.has(Flags::SYN);
            return twin && self.doubled;
        }
        if self.recent.contains(&print) {
            return true;
        }
        self.recent.rotate_right(1);
        self.recent[0] = print;
        false
    }

    /// Takes a segment of this direction: the sequence space that it occupies.
    pub(crate) fn on_segment(&mut self, seen: &Seen) {
        let (s, at) = (&seen.segment, seen.at);
        self.begin(s.seq);
        let start = self.coordinate(s.seq);
        if start.abs_diff(self.max) > FARTHEST {
            return;
        }
        let syn = s.flags.has(Flags::SYN);
        self.identified |= seen.id != 0;
        if s.flags.has(Flags::RST) {
            return;
        }
        if syn {
            self.syn.get_or_insert(start);
            self.out.options.get_or_insert(s.options);
        }
        let packets = self.packets(s.len);
        self.out.packets += u64::from(packets);
        if s.len > 0 {
            self.out.data_packets += u64::from(packets);
            self.out.bytes += u64::from(s.len);
            self.out.super_segments += u64::from(packets > 1);
            self.out.mss = self.out.mss.max(s.len / packets);
        }
        let end = start + u64::from(s.seq_len());
        if s.flags.has(Flags::FIN) {
            self.fin.get_or_insert(end - 1);
        }
        let tsval = s.options.timestamps.map(|t| t.tsval);
        if end == start {
            if start + 1 == self.una && (self.una == self.max || self.closed_window()) {
                self.probe_without_data(seen, start);
            }
            self.note_tsval(tsval, at, false);
            return;
        }
        if start >= self.max {
            self.on_new(seen, start, end, tsval);
        } else {
            self.on_old(seen, start, end.min(self.max), tsval);
            if end > self.max {
                self.on_new(seen, self.max, end, tsval);
            }
        }
        self.note_tsval(tsval, at, true);
        self.sent_at = Some(at);
        self.out.max_flight = self.out.max_flight.max(self.flight());
        self.round_flight = self.round_flight.max(self.pipe());
    }

    fn note_tsval(&mut self, tsval: Option<u32>, at: Instant, data: bool) {
        let Some(v) = tsval else { return };
        // The first segment of each tick of its clock: which of them an echo answers is not known.
        if self.last_tsval.is_some_and(|last| (v.wrapping_sub(last) as i32) <= 0) {
            return;
        }
        self.last_tsval = Some(v);
        if self.tsvals.len() == MOST_TSVALS {
            self.tsvals.pop_front();
        }
        self.tsvals.push_back((v, at, data));
    }

    /// Data that was not sent before, as far as the capture shows.
    fn on_new(&mut self, seen: &Seen, start: u64, end: u64, tsval: Option<u32>) {
        let at = seen.at;
        if start > self.max && self.holes.len() < MOST_HOLES {
            self.holes.push(Hole { start: self.max, end: start, at, id: seen.id, tsval });
        }
        if self.flight() > 0 && self.quiet_for(at) >= self.probe_wait().unwrap_or(Duration::MAX) {
            // New data after a silence while other data is outstanding: it may be a probe, which sets the timer anew (RFC 8985 §7.3).
            self.probed_at = Some(at);
            self.probed_to = Some(end);
        }
        self.max = end;
        self.out.unique_bytes += payload(&seen.segment, start, end);
        let piece = Piece { start, end, first: at, last: at, copies: 1, tsval, id: seen.id, again: None, seen: true, sacked: false };
        self.overrun |= !self.outstanding.insert(piece);
    }

    /// True while the receiver offers no room.
    fn closed_window(&self) -> bool {
        self.peer_window == Some(0)
    }

    /// Time in which nothing was sent and nothing heard, as its sender knows it.
    fn quiet_for(&self, at: Instant) -> Duration {
        let heard = self.news_at.map_or(Duration::MAX, |n| at.since(n).saturating_sub(self.near));
        let sent = self.sent_at.map_or(Duration::MAX, |s| at.since(s));
        heard.min(sent)
    }

    /// Smoothed round-trip time of the whole path, and deviation.
    pub(crate) fn rtt(&self) -> Option<(Duration, Duration)> {
        self.estimator.rtt().map(|r| (r.srtt + self.near, r.rttvar)).or_else(|| self.far.map(|far| (far + self.near, (far + self.near) / 2)))
    }

    /// After what silence a tail loss probe is due (RFC 8985 §7.2), at the least.
    fn probe_wait(&self) -> Option<Duration> {
        self.rtt().map(|(srtt, _)| srtt.mul_f64(1.8).max(Duration::from_millis(4)))
    }

    /// When Linux sends a probe for a single segment, and when its timer expires.
    fn expected(&self) -> Option<(Duration, Duration)> {
        let (srtt, rttvar) = self.rtt()?;
        // Its least timeout, which is also the wait for a delayed ack in RFC 8985 §7.2, is added to the round-trip time.
        let floor = Duration::from_millis(200);
        let timeout = srtt + (rttvar * 4).max(floor);
        Some(((srtt * 2 + floor).min(timeout), timeout))
    }
}

/// In which a capture that doubles packets shows the second one.
const AT_ONCE: Duration = Duration::from_micros(200);
/// Farther from what was sent last no window reaches (RFC 7323 §2.3: below 2^30).
const FARTHEST: u64 = 1 << 30;

/// Payload of a segment in `start..end`: its SYN and FIN are not.
fn payload(s: &Segment, start: u64, end: u64) -> u64 {
    let syn = u64::from(s.flags.has(Flags::SYN) && s.seq.0 == start as u32);
    let fin = u64::from(s.flags.has(Flags::FIN) && s.end().0 == end as u32);
    (end - start).saturating_sub(syn + fin)
}

/// Segment size of a direction from the two SYNs: the smaller limit, less timestamps (RFC 6691).
pub(crate) fn segment_size(own: &Options, peer: &Options) -> u32 {
    // RFC 9293 §3.7.1: 536 where none is given.
    let limit = |o: &Options| u32::from(o.mss.unwrap_or(536));
    let timestamps = if own.timestamps.is_some() && peer.timestamps.is_some() { 12 } else { 0 };
    limit(own).min(limit(peer)).saturating_sub(timestamps).max(1)
}
