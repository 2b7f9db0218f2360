//! One connection: its two directions and its state.

mod finish;
mod glance;

use std::net::SocketAddr;

use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::{Flags, Options, Segment};

use crate::Cause;
use crate::half::{Estimators, Half, PeerTimes, segment_size};
use crate::listing::{Counts, Listing};
use crate::numbers::Numbers;
use crate::observed::{Place, Tls};
use crate::peer_clock::PeerClock;
use crate::report::{Retransmission, Standing};
use crate::segment::CapturedSegment;
use crate::wanted::Wanted;

/// A connection while packets of it are read.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The sender of the first packet, then its receiver.
    pub ends: [SocketAddr; 2],
    pub halves: [Half; 2],
    /// Their clocks, by timestamps.
    clocks: [PeerClock; 2],
    arrivals: [Arrivals; 2],
    /// Which of them is the client.
    client: usize,
    /// Its first and its last packet.
    start: Instant,
    end: Instant,
    tls: Tls,
    handshake: Handshake,
    /// Packets whose options the capture cut.
    cut: u64,
    resets: Resets,
    /// Its packets, if they are listed.
    pub listing: Option<Listing>,
    /// There is room for another one.
    pub may_list_packets: bool,
    pub reuse: Reuse,
}

/// What the capture shows of the handshake.
#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    /// When the first SYN was seen, and the latest.
    syn_at: Option<Instant>,
    last_syn_at: Option<Instant>,
    /// When the latest SYN-ACK was seen, and how long the first one since the latest SYN took.
    syn_ack_at: Option<Instant>,
    answered_in: Option<Duration>,
    /// The capture cut the options of one of the SYNs.
    options_cut: bool,
    /// From the first SYN to the ack of the SYN-ACK.
    took: Option<Duration>,
    /// The same from the last SYN on: a round-trip time.
    round_trip: Option<Duration>,
}

impl Handshake {
    /// A SYN without an acknowledgment was seen.
    fn opening_seen(&self) -> bool {
        self.syn_at.is_some()
    }

    fn syn_ack_seen(&self) -> bool {
        self.syn_ack_at.is_some()
    }
}

/// Resets, and what distinguishes those of an earlier connection.
#[derive(Clone, Copy, Debug, Default)]
struct Resets {
    /// The connection was reset.
    seen: bool,
    /// Which sides have sent a segment with an acknowledgment, resets aside.
    speaks: [bool; 2],
    /// What a segment of an earlier connection on these ports acknowledged. A reset in reply to it does not
    /// belong to this connection.
    stray_ack: Option<SeqNumber>,
}

/// How the packets of one end reach the capture.
#[derive(Clone, Debug, Default)]
struct Arrivals {
    /// A direction is analysed as captured on one interface.
    interface: Option<u32>,
    /// The time to live of the first packet: it differs between copies from both sides of a router.
    hops: u8,
    numbers: Numbers,
    /// Packets that came twice at once, and how many of them are SYNs.
    copies: u64,
    syn_copies: usize,
    /// SYN-ACKs that may be replies to copies of a SYN.
    repeated_syn_acks: Vec<Retransmission>,
}

/// Other connections with the same addresses and ports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reuse {
    /// The number of the one that had them before.
    pub before: Option<u32>,
    /// Another one has them now.
    pub followed: bool,
}

impl Flow {
    pub(crate) fn new(seen: &CapturedSegment, estimators: &Estimators, wanted: &Wanted) -> Self {
        let flags = seen.segment.flags;
        // If the first packet is a SYN-ACK, its receiver opened the connection. Without a handshake, the
        // server is taken to have the lower port.
        let client = usize::from(if flags.has(Flags::SYN) {
            flags.has(Flags::ACK)
        } else {
            seen.src.port() < seen.dst.port()
        });
        Self {
            ends: [seen.src, seen.dst],
            halves: [0, 1].map(|_| Half::new(seen.at, estimators, wanted)),
            clocks: [PeerClock::default(); 2],
            arrivals: Default::default(),
            client,
            start: seen.at,
            end: seen.at,
            tls: Tls::default(),
            handshake: Handshake::default(),
            cut: 0,
            resets: Resets::default(),
            listing: None,
            may_list_packets: true,
            reuse: Reuse::default(),
        }
    }

    /// True when `seen`, which has a SYN, cannot belong to this connection.
    pub(crate) fn is_over_for(&self, seen: &CapturedSegment, side: usize) -> bool {
        let syn_ack = seen.segment.flags.has(Flags::ACK);
        let half = &self.halves[side];
        match half.space.syn {
            Some(at) => at as u32 != seen.segment.seq.0 && (!syn_ack || self.resets.seen || self.closed()),
            // A SYN in the middle of what was open.
            None => {
                half.space.base.is_some()
                    && !syn_ack
                    && half.space.coordinate(seen.segment.seq) != half.space.max.wrapping_sub(1)
            }
        }
    }

    pub(crate) fn on_segment(&mut self, seen: &CapturedSegment, side: usize) {
        let s = &seen.segment;
        self.end = self.end.max(seen.at);
        self.halves.iter_mut().for_each(|h| h.frame = seen.frame);
        let interface = *self.arrivals[side].interface.get_or_insert(seen.interface);
        if interface != seen.interface {
            self.halves[side].out.capture_duplicates += 1;
            return;
        }
        if self.arrivals[side].hops == 0 {
            self.arrivals[side].hops = seen.hops;
        }
        let unnumbered;
        let seen = match self.arrivals[side].numbers.observe(seen) {
            true => seen,
            false => {
                unnumbered = CapturedSegment { id: 0, ..*seen };
                &unnumbered
            }
        };
        if self.halves[side].sent.copies.is_copy(seen) {
            if self.arrivals[side].hops == seen.hops {
                self.arrivals[side].copies += 1;
            } else {
                self.halves[side].out.capture_duplicates += 1;
            }
            self.on_copy(seen, side);
            return;
        }
        self.cut += u64::from(seen.options_cut);
        let before = self.listing.is_some().then(|| Counts::of(&self.halves[side]));
        if self.is_stray(s, side) {
            self.resets.stray_ack = Some(s.ack);
            self.halves[side].out.packets += 1;
            self.list(seen, side, before);
            if let Some(listing) = self.listing.as_mut().filter(|_| self.may_list_packets) {
                listing.stray();
            }
            return;
        }
        let opening = s.flags.has(Flags::SYN) || self.handshake.opening_seen();
        self.halves
            .iter_mut()
            .for_each(|h| h.limits.begin(Place { at: self.start, ..seen.place() }, opening));
        if !self.halves[side].space.lies_below(s) {
            self.halves[1 - side].on_ack(s, seen.at, &mut self.clocks[side]);
        }
        let other = &self.halves[1 - side];
        // Computed only where a silence may have ended.
        let tsval = s.options.timestamps.map(|t| t.tsval);
        let (clock, half) = (&self.clocks[side], &self.halves[side]);
        let quiet = half.gaps.may_end(seen.at, tsval, clock.tick()) || half.awaits_repair();
        let smoothed = if quiet { other.path.rtt().map_or(Duration::ZERO, |r| r.0) } else { Duration::ZERO };
        let due = tsval.and_then(|t| clock.sent_by(t));
        let peer = PeerTimes {
            due,
            tick: clock.tick(),
            receiver_tick: self.clocks[1 - side].tick(),
            handshake: self.handshake.round_trip,
            smoothed,
            echoed: s.options.timestamps.filter(|_| quiet).and_then(|t| other.heard.echo_of(t.tsecr)),
            acks_all: other.space.flight() == 0,
            quiet,
        };
        let echoed = self.halves[1 - side].heard.echoed_ack.filter(|_| s.len > 0 && !s.flags.has(Flags::SYN));
        if let Some((ack, window)) = echoed {
            self.halves[side].knows(ack, window);
        }
        self.halves[side].upon_ack = false;
        self.halves[side].on_segment(seen, &peer);
        self.observe(seen, side);
        if s.len > 0 {
            self.halves[1 - side].gaps.on_request(seen.at);
        }
        if s.flags.has(Flags::FIN) {
            self.halves[1 - side].gaps.on_close(seen.at);
        }
        if s.flags.has(Flags::SYN) {
            self.on_syn(seen, side);
        } else if side == self.client
            && self.handshake.syn_ack_seen()
            && self.handshake.took.is_none()
            && s.flags.has(Flags::ACK)
        {
            self.handshake.took = self.handshake.syn_at.map(|at| seen.at.since(at));
            // By the client's clock, if it has one, this ack may have been delayed.
            let due = s.options.timestamps.and_then(|t| self.clocks[side].sent_by(t.tsval));
            let came = due.map_or(seen.at, |due| due.min(seen.at));
            // If identifications were skipped in between, this is not the reply itself: that was lost.
            let answered = self
                .handshake
                .syn_ack_at
                .zip(self.handshake.answered_in)
                .filter(|_| !self.halves[side].gaps.left_out());
            self.handshake.round_trip = answered.map(|(at, answered)| came.since(at) + answered);
        }
        let reset = s.flags.has(Flags::RST);
        self.resets.seen |= reset && (s.flags.has(Flags::ACK) || self.resets.stray_ack != Some(s.seq));
        self.resets.speaks[side] |= s.flags.has(Flags::ACK) && !reset;
        self.list(seen, side, before);
        // Its ack may have lowered the least round-trip time.
        self.halves[side].path.near = self.halves[1 - side].path.far.unwrap_or(Duration::ZERO);
    }

    /// What a segment shows besides what was sent and acknowledged.
    fn observe(&mut self, seen: &CapturedSegment, side: usize) {
        let (s, clock) = (&seen.segment, &self.clocks[side]);
        if let Some(due) = s.options.timestamps.and_then(|t| clock.due_by_first(t.tsval)) {
            self.halves[side].out.observed.late.add(seen.at, due, clock.tick());
        }
        if s.len == 0 {
            return;
        }
        self.tls.payload(side, &seen.beginning, seen.place());
        self.halves[1 - side].asked(seen.place());
        let heard = &self.halves[1 - side].heard;
        let echo = heard.echo.zip(heard.echoed_ack).filter(|_| self.halves[side].upon_ack);
        if let Some((round_trip, (ack, _))) = echo {
            let half = &mut self.halves[side];
            let flight = half.space.max.saturating_sub(half.space.coordinate(ack));
            let observed = &mut half.out.observed;
            observed.echoes.add(round_trip);
            observed.echoed_flight = observed.echoed_flight.max(flight);
        }
    }

    fn list(&mut self, seen: &CapturedSegment, side: usize, before: Option<Counts>) {
        if let Some((listing, before)) = self.listing.as_mut().zip(before) {
            match self.may_list_packets {
                true => listing.add(seen, side, &self.halves, before),
                false => listing.left_out += 1,
            }
        }
    }

    /// True for a segment of an earlier connection on these ports, such as the challenge ack with which a
    /// host replies to a SYN while that connection is still open (RFC 5961 §4.2). It acknowledges what a
    /// sender that has only sent its SYN has not sent (RFC 9293 §3.10.7.3), and its numbers are not this
    /// connection's.
    fn is_stray(&self, s: &Segment, side: usize) -> bool {
        let (own, other) = (&self.halves[side], &self.halves[1 - side]);
        let answers = s.flags.has(Flags::ACK) && !s.flags.any(Flags::SYN | Flags::RST);
        answers
            && own.space.syn.is_none()
            && other.space.syn.is_some()
            && !self.resets.speaks[1 - side]
            && !other.space.may_be_acked(s.ack)
    }

    /// If the network duplicates a SYN, the server sends a second SYN-ACK, which looks like a copy too.
    fn on_copy(&mut self, seen: &CapturedSegment, side: usize) {
        let s = &seen.segment;
        if !s.flags.has(Flags::SYN) || self.arrivals[side].hops != seen.hops {
            return;
        }
        if !s.flags.has(Flags::ACK) {
            self.arrivals[side].syn_copies += 1;
        } else if self.arrivals[side].repeated_syn_acks.len()
            < self.arrivals[1 - side].syn_copies.min(MOST_SYN_ACKS)
        {
            self.arrivals[side].repeated_syn_acks.push(Retransmission {
                at: seen.at,
                frame: seen.frame,
                seq: s.seq,
                packets: 1,
                cause: Cause::Syn,
                original_seen: true,
                evidence: "the SYN-ACK again, in reply to a SYN that arrived twice".to_owned(),
                ..Retransmission::default()
            });
            match &mut self.listing {
                Some(listing) if self.may_list_packets => {
                    listing.add(seen, side, &self.halves, Counts::of(&self.halves[side]));
                    listing.repeated_syn_ack();
                }
                Some(listing) => listing.left_out += 1,
                None => {}
            }
        }
    }

    fn on_syn(&mut self, seen: &CapturedSegment, side: usize) {
        if seen.segment.flags.has(Flags::ACK) {
            self.handshake.syn_ack_at = Some(seen.at);
            self.handshake.answered_in =
                self.handshake.answered_in.or(self.handshake.last_syn_at.map(|at| seen.at.since(at)));
            self.client = 1 - side;
            self.halves[side].sent.syn_ack_sent(seen.at);
        } else {
            self.client = side;
            self.handshake.syn_at.get_or_insert(seen.at);
            self.handshake.last_syn_at = Some(seen.at);
            self.handshake.answered_in = None;
            self.halves[1 - side].sent.syn_came(seen.at);
        }
        // Without its options, a SYN shows nothing: that it had none is not known.
        self.handshake.options_cut |= seen.options_cut;
        if self.handshake.options_cut {
            return;
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
            half.agreed.scale_known = true;
            half.agreed.sack = sack;
        }
    }

    fn closed(&self) -> bool {
        self.halves.iter().all(|h| h.space.fin.is_some_and(|f| h.space.una > f))
    }

    fn standing(&self) -> Standing {
        let answered = self.halves.iter().all(|h| h.out.packets > 0);
        let opened = self.handshake.opening_seen() && !self.handshake.syn_ack_seen();
        match () {
            () if self.resets.seen && opened => Standing::Refused,
            () if self.closed() => Standing::Closed,
            () if self.resets.seen => Standing::Reset,
            () if opened && !answered => Standing::Opening,
            () if self.halves.iter().any(|h| h.space.fin.is_some()) => Standing::HalfClosed,
            () => Standing::Open,
        }
    }
}

/// SYN-ACKs kept that may be replies to copies of a SYN.
const MOST_SYN_ACKS: usize = 16;
