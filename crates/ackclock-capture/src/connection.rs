//! One connection: its two directions and its standing.

use std::net::SocketAddr;

use ackclock_policy::{Chosen, RttEstimator};
use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::{Flags, Options, Segment};

use crate::Cause;
use crate::habits::Habits;
use crate::half::{Half, PeerTimes, segment_size};
use crate::listing::{Counts, Listing};
use crate::numbers::Numbers;
use crate::peer_clock::PeerClock;
use crate::report::{Connection, Retransmission, Standing, View};
use crate::resolve::resolve;
use crate::segment::Seen;
use crate::thresholds::THRESHOLDS;
use crate::wanted::Wanted;

/// A connection in the making.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Who sent the first packet, and the other one.
    pub ends: [SocketAddr; 2],
    pub halves: [Half; 2],
    /// Their clocks, by timestamps.
    clocks: [PeerClock; 2],
    /// Which of them is the client.
    client: usize,
    opening_seen: bool,
    start: Instant,
    end: Instant,
    syn_at: Option<Instant>,
    last_syn_at: Option<Instant>,
    /// When the latest SYN-ACK was seen, and how long the first one since the latest SYN took.
    syn_ack_at: Option<Instant>,
    answered_in: Option<Duration>,
    syn_ack: bool,
    handshake: Option<Duration>,
    /// The same from the last SYN on: a round-trip time.
    round_trip: Option<Duration>,
    reset: bool,
    /// Which sides have sent a segment with an acknowledgment, resets aside.
    speaks: [bool; 2],
    /// What a segment of an earlier connection on these ports acknowledged: a reset that answers it is none
    /// of this connection.
    stray_ack: Option<SeqNumber>,
    /// A direction is analysed as one interface saw it.
    interfaces: [Option<u32>; 2],
    /// Hops left in the first packets, to tell copies from both sides of a router.
    hops: [u8; 2],
    numbers: [Numbers; 2],
    copies: [u64; 2],
    /// How many of them are SYNs, and the SYN-ACKs that may answer them.
    syn_copies: [usize; 2],
    repeated_syn_acks: [Vec<Retransmission>; 2],
    /// Its packets, where they are wanted.
    pub listing: Option<Listing>,
    /// There is room for another one.
    pub may_list_packets: bool,
    /// The number of the connection that used its addresses and ports before.
    pub before: Option<u32>,
    /// Another one has its addresses and ports now.
    pub followed: bool,
}

impl Flow {
    pub(crate) fn new(seen: &Seen, estimator: &Chosen<dyn RttEstimator>, wanted: &Wanted) -> Self {
        let flags = seen.segment.flags;
        // A SYN-ACK that comes first tells that the other one opened it; without a handshake servers have the
        // lower port.
        let client = usize::from(if flags.has(Flags::SYN) {
            flags.has(Flags::ACK)
        } else {
            seen.src.port() < seen.dst.port()
        });
        Self {
            ends: [seen.src, seen.dst],
            halves: [0, 1].map(|_| Half::new(seen.at, estimator.build(), wanted)),
            clocks: [PeerClock::default(); 2],
            client,
            opening_seen: false,
            start: seen.at,
            end: seen.at,
            syn_at: None,
            last_syn_at: None,
            syn_ack_at: None,
            answered_in: None,
            syn_ack: false,
            handshake: None,
            round_trip: None,
            reset: false,
            speaks: [false; 2],
            stray_ack: None,
            interfaces: [None; 2],
            hops: [0; 2],
            numbers: [Numbers::default(); 2],
            copies: [0; 2],
            syn_copies: [0; 2],
            repeated_syn_acks: [Vec::new(), Vec::new()],
            listing: None,
            may_list_packets: true,
            before: None,
            followed: false,
        }
    }

    /// True when `seen`, which has a SYN, cannot belong to this connection.
    pub(crate) fn is_over_for(&self, seen: &Seen, side: usize) -> bool {
        let syn_ack = seen.segment.flags.has(Flags::ACK);
        let half = &self.halves[side];
        match half.space.syn {
            Some(at) => at as u32 != seen.segment.seq.0 && (!syn_ack || self.reset || self.closed()),
            // A SYN in the middle of what was open.
            None => {
                half.space.base.is_some()
                    && !syn_ack
                    && half.space.coordinate(seen.segment.seq) != half.space.max.wrapping_sub(1)
            }
        }
    }

    pub(crate) fn on_segment(&mut self, seen: &Seen, side: usize) {
        let s = &seen.segment;
        self.end = self.end.max(seen.at);
        let interface = *self.interfaces[side].get_or_insert(seen.interface);
        if interface != seen.interface {
            self.halves[side].out.capture_duplicates += 1;
            return;
        }
        if self.hops[side] == 0 {
            self.hops[side] = seen.hops;
        }
        let unnumbered;
        let seen = match self.numbers[side].tell(seen) {
            true => seen,
            false => {
                unnumbered = Seen { id: 0, ..*seen };
                &unnumbered
            }
        };
        if self.halves[side].sent.copies.is_copy(seen) {
            if self.hops[side] == seen.hops {
                self.copies[side] += 1;
            } else {
                self.halves[side].out.capture_duplicates += 1;
            }
            self.on_copy(seen, side);
            return;
        }
        let before = self.listing.is_some().then(|| Counts::of(&self.halves[side]));
        if self.is_stray(s, side) {
            self.stray_ack = Some(s.ack);
            self.halves[side].out.packets += 1;
            self.list(seen, side, before);
            if let Some(listing) = self.listing.as_mut().filter(|_| self.may_list_packets) {
                listing.stray();
            }
            return;
        }
        let opening = s.flags.has(Flags::SYN) || self.opening_seen;
        self.halves.iter_mut().for_each(|h| h.limits.begin(self.start, opening));
        if !self.halves[side].space.lies_below(s) {
            self.halves[1 - side].on_ack(s, seen.at, &mut self.clocks[side]);
        }
        let other = &self.halves[1 - side];
        // Asked for where a silence may have ended.
        let tsval = s.options.timestamps.map(|t| t.tsval);
        let (clock, half) = (&self.clocks[side], &self.halves[side]);
        let quiet = half.gaps.may_end(seen.at, tsval, clock.tick()) || half.awaits_repair();
        let smoothed = if quiet { other.path.rtt().map_or(Duration::ZERO, |r| r.0) } else { Duration::ZERO };
        let due = tsval.and_then(|t| clock.sent_by(t));
        let peer = PeerTimes {
            due,
            tick: clock.tick(),
            receiver_tick: self.clocks[1 - side].tick(),
            handshake: self.round_trip,
            smoothed,
            quiet,
        };
        self.halves[side].on_segment(seen, &peer);
        if s.len > 0 {
            self.halves[1 - side].gaps.asked(seen.at);
        }
        if s.flags.has(Flags::SYN) {
            self.on_syn(seen, side);
        } else if side == self.client && self.syn_ack && self.handshake.is_none() && s.flags.has(Flags::ACK) {
            self.handshake = self.syn_at.map(|at| seen.at.since(at));
            // By the client's clock, where it tells that this ack was held up.
            let due = s.options.timestamps.and_then(|t| self.clocks[side].sent_by(t.tsval));
            let came = due.map_or(seen.at, |due| due.min(seen.at));
            // Where the numbers of packets were left out in between, it is not the answer itself: that was
            // lost.
            let answered =
                self.syn_ack_at.zip(self.answered_in).filter(|_| !self.halves[side].gaps.left_out());
            self.round_trip = answered.map(|(at, answered)| came.since(at) + answered);
        }
        let reset = s.flags.has(Flags::RST);
        self.reset |= reset && (s.flags.has(Flags::ACK) || self.stray_ack != Some(s.seq));
        self.speaks[side] |= s.flags.has(Flags::ACK) && !reset;
        self.list(seen, side, before);
        // Its ack may have shown a shorter way.
        self.halves[side].path.near = self.halves[1 - side].path.far.unwrap_or(Duration::ZERO);
    }

    fn list(&mut self, seen: &Seen, side: usize, before: Option<Counts>) {
        if let Some((listing, before)) = self.listing.as_mut().zip(before) {
            match self.may_list_packets {
                true => listing.add(seen, side, &self.halves, before),
                false => listing.left_out += 1,
            }
        }
    }

    /// True for a segment of an earlier connection on these ports, such as the challenge that a host answers
    /// a SYN with for which that one is still open (RFC 5961 §4.2): it acknowledges what a sender that has
    /// sent its SYN alone did not send (RFC 9293 §3.10.7.3). Its numbers are not this connection's.
    fn is_stray(&self, s: &Segment, side: usize) -> bool {
        let (own, other) = (&self.halves[side], &self.halves[1 - side]);
        let answers = s.flags.has(Flags::ACK) && !s.flags.any(Flags::SYN | Flags::RST);
        answers
            && own.space.syn.is_none()
            && other.space.syn.is_some()
            && !self.speaks[1 - side]
            && !other.space.may_be_acked(s.ack)
    }

    /// A network that makes a copy of a SYN brings about a second SYN-ACK, which looks like a copy too.
    fn on_copy(&mut self, seen: &Seen, side: usize) {
        let s = &seen.segment;
        if !s.flags.has(Flags::SYN) || self.hops[side] != seen.hops {
            return;
        }
        if !s.flags.has(Flags::ACK) {
            self.syn_copies[side] += 1;
        } else if self.repeated_syn_acks[side].len() < self.syn_copies[1 - side].min(MOST_ANSWERS) {
            self.repeated_syn_acks[side].push(Retransmission {
                at: seen.at,
                seq: s.seq,
                packets: 1,
                cause: Cause::Syn,
                original_seen: true,
                evidence: "the SYN-ACK again, in answer to a SYN that came twice".to_owned(),
                ..Retransmission::default()
            });
            match &mut self.listing {
                Some(listing) if self.may_list_packets => {
                    listing.add(seen, side, &self.halves, Counts::of(&self.halves[side]));
                    listing.answered_again();
                }
                Some(listing) => listing.left_out += 1,
                None => {}
            }
        }
    }

    fn on_syn(&mut self, seen: &Seen, side: usize) {
        if seen.segment.flags.has(Flags::ACK) {
            self.syn_ack = true;
            self.syn_ack_at = Some(seen.at);
            self.answered_in = self.answered_in.or(self.last_syn_at.map(|at| seen.at.since(at)));
            self.client = 1 - side;
            self.halves[side].sent.syn_ack_sent(seen.at);
        } else {
            self.client = side;
            self.opening_seen = true;
            self.syn_at.get_or_insert(seen.at);
            self.last_syn_at = Some(seen.at);
            self.answered_in = None;
            self.halves[1 - side].sent.syn_came(seen.at);
        }
        let [Some(a), Some(b)] = [0, 1].map(|i| self.halves[i].out.options) else { return };
        let (scale, sack) =
            (|o: &Options| o.window_scale.unwrap_or(0).min(14), a.sack_permitted && b.sack_permitted);
        let scaled = a.window_scale.is_some() && b.window_scale.is_some();
        for (i, (own, peer)) in [(a, b), (b, a)].into_iter().enumerate() {
            let half = &mut self.halves[i];
            half.agreed.mss = segment_size(&own, &peer);
            // RFC 7323 §2.3: at most 14.
            half.agreed.window_scale = if scaled { scale(&peer) } else { 0 };
            half.agreed.sack = sack;
        }
    }

    fn closed(&self) -> bool {
        self.halves.iter().all(|h| h.space.fin.is_some_and(|f| h.space.una > f))
    }

    fn standing(&self) -> Standing {
        let answered = self.halves.iter().all(|h| h.out.packets > 0);
        let opened = self.opening_seen && !self.syn_ack;
        match () {
            () if self.reset && opened => Standing::Refused,
            () if self.closed() => Standing::Closed,
            () if self.reset => Standing::Reset,
            () if opened && !answered => Standing::Opening,
            () if self.halves.iter().any(|h| h.space.fin.is_some()) => Standing::HalfClosed,
            () => Standing::Open,
        }
    }

    /// Most packets of one end came twice.
    fn doubles_packets(&self) -> bool {
        (0..2).any(|i| self.copies[i] * 2 > self.halves[i].out.packets)
    }

    /// Puts the sum under it.
    pub(crate) fn finish(mut self, habits: impl Fn(&SocketAddr) -> Habits, all: Habits) -> Connection {
        let standing = self.standing();
        let fars = [0, 1].map(|i| self.halves[i].path.far);
        let mut notes = Vec::new();
        if !self.opening_seen && !self.syn_ack {
            notes.push(
                "the capture begins in the middle of it: window scales and segment sizes are not known"
                    .to_owned(),
            );
        }
        if let Some(n) = self.before {
            notes.push(format!("its addresses and ports were used before, by connection {n}"));
        }
        // Where the capture doubles packets, it doubled the SYN and the answer alike.
        let doubled = self.doubles_packets();
        let answers = if doubled { Default::default() } else { std::mem::take(&mut self.repeated_syn_acks) };
        for (copies, answers) in self.copies.iter_mut().zip(&answers) {
            *copies -= answers.len() as u64;
        }
        for (i, half) in self.halves.iter_mut().enumerate() {
            half.out.limits = std::mem::take(&mut half.limits).finish(self.end);
            // A capture that doubles packets doubles most of them, a network a few.
            let copies = self.copies[i];
            if copies * THRESHOLDS.copies.capture_part > half.out.packets {
                half.out.capture_duplicates += copies;
            } else {
                half.out.network_duplicates += copies;
            }
            half.out.share = match (fars[i], fars[1 - i]) {
                (Some(far), Some(near)) if far + near > Duration::ZERO => {
                    Some(far.as_secs_f64() / (far + near).as_secs_f64())
                }
                _ => None,
            };
        }
        let asked = self.halves[0].following.asked.is_some();
        let [a, b] = self.halves;
        let sides = [self.client, 1 - self.client];
        let mut halves =
            [Some(resolve(a, habits(&self.ends[0]), all)), Some(resolve(b, habits(&self.ends[1]), all))];
        let mut directions = sides.map(|i| halves[i].take().expect("two different sides"));
        let left_out = self.listing.as_ref().map_or(0, |l| l.left_out);
        let sent = [&directions[self.client].0, &directions[1 - self.client].0];
        let packets = self.listing.map(|l| l.finish(sent, self.client, !doubled)).unwrap_or_default();
        for (i, again) in answers.into_iter().enumerate().filter(|(_, again)| !again.is_empty()) {
            let d = &mut directions[usize::from(i != self.client)].0;
            d.packets += again.len() as u64;
            d.retransmitted_packets += again.len() as u64;
            d.retransmissions.extend(again);
            d.retransmissions.sort_by_key(|r| r.at);
        }
        for (d, way) in directions.iter().zip(["client", "server"]) {
            if d.1 {
                notes.push(format!(
                    "the {way} had more outstanding than is kept: the oldest of it was forgotten"
                ));
            }
            let d = &d.0;
            if asked && d.view == View::Receiver && d.data_packets > 0 {
                notes.push(format!(
                    "what-if says nothing of the {way}: what it sent and was lost before the capture is not \
                     seen here"
                ));
            }
            if d.missing_bytes > 0 {
                notes.push(format!(
                    "{} bytes of the {way} were acknowledged and are not in the capture",
                    d.missing_bytes
                ));
            }
            if d.capture_duplicates > 0 {
                notes.push(format!(
                    "the capture holds {} packets of the {way} more than once; copies are left out",
                    d.capture_duplicates
                ));
            }
            if d.super_segments > 0 {
                notes.push(format!(
                    "{} frames of the {way} hold several packets each (segmentation offload)",
                    d.super_segments
                ));
            }
            if d.massive_reordering() {
                notes.push(format!(
                    "most retransmissions that acks called forth from the {way} were not needed: packets \
                     overtake each other"
                ));
            }
            let outages = d.episodes.iter().filter(|e| e.outage).count();
            if outages > 0 {
                notes.push(format!("whole windows of the {way} were lost without a trace: {outages}"));
            }
        }
        Connection {
            client: self.ends[self.client],
            server: self.ends[1 - self.client],
            start: self.start,
            end: self.end,
            opening_seen: self.opening_seen,
            handshake: self.handshake,
            standing,
            directions: directions.map(|d| d.0),
            packets,
            packets_left_out: left_out,
            notes,
        }
    }
}

/// SYN-ACKs kept that may answer copies of a SYN.
const MOST_ANSWERS: usize = 16;
