//! One direction of a connection in a capture: what was sent, and the acks that came back.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use ackclock_capture::CapturedSegment;
use ackclock_capture::read::{Packets, open};
use ackclock_units::{Duration, Instant, SeqNumber, SeqRange};
use ackclock_wire::{Flags, SackBlocks, Segment, Timestamps};

use crate::ShadowError;
use crate::period::Periods;

/// Events of a connection that are followed; what comes later is left out.
pub const MOST_EVENTS: usize = 2 << 20;
/// Directions among which the one with the most data is sought.
const MOST_DIRECTIONS: usize = 1 << 16;
/// A response within this share of the round-trip time was made where it was captured.
const NEAR: u64 = 4;
/// And within this time anyway.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Something that the sender sent or received.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When it was captured, since the first packet of the connection.
    pub at: Duration,
    /// Its number in the file, from 1 on.
    pub packet: u64,
    /// What it is.
    pub kind: Kind,
}

/// What an event is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Data was sent, with this timestamp.
    Sent {
        /// What it carried.
        range: SeqRange,
        /// Its timestamp.
        tsval: Option<u32>,
    },
    /// An ack arrived.
    Ack {
        /// Its number.
        ack: SeqNumber,
        /// Its window, not scaled.
        window: u16,
        /// Its SACK blocks.
        sack: SackBlocks,
        /// Its timestamps.
        timestamps: Option<Timestamps>,
    },
}

/// The handshake.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// The sender's SYN or SYN-ACK.
    pub own: Segment,
    /// When it was sent.
    pub own_at: Duration,
    /// The peer's.
    pub peer: Segment,
    /// When it arrived.
    pub peer_at: Duration,
}

impl Opening {
    /// True when the sender began.
    pub fn active(&self) -> bool {
        !self.own.flags.has(Flags::ACK)
    }
}

/// One direction of one connection.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// The handshake.
    pub opening: Opening,
    /// What was sent and acknowledged, in the order of the capture.
    pub events: Vec<Event>,
    /// Where what the application had written ended, as far as the capture shows it.
    pub(crate) periods: Periods,
    /// Events were left out: there are more than are kept.
    pub cut: bool,
    /// Where and how the file is damaged, in a sentence: it was read up to there.
    pub damage: Option<String>,
}

type Ends = (SocketAddr, SocketAddr);

impl Conversation {
    /// Reads the direction `ends` (from, to) of the capture at `path`; the one with the most data if none is
    /// named.
    ///
    /// # Errors
    /// Those of the file; no such data; a capture that lacks the handshake, or was not made at the sender.
    pub fn read(path: &Path, ends: Option<Ends>) -> Result<Self, ShadowError> {
        if path == Path::new("-") {
            return Err(ShadowError::Unsupported("standard input cannot be read twice; expected a file"));
        }
        let chosen = match ends {
            Some(ends) => ends,
            None => largest(path)?,
        };
        let mut reading = Reading::new(chosen);
        let damage = each_segment(path, |packet, s| reading.take(packet, s))?;
        Ok(Self { damage, ..reading.finish(ends)? })
    }

    /// The direction `ends` (from, to) of segments that were captured, each with the number of its packet.
    ///
    /// # Errors
    /// No such data; segments that lack the handshake, or were not captured at the sender.
    pub fn of<'a>(
        ends: Ends,
        segments: impl IntoIterator<Item = (u64, &'a CapturedSegment)>,
    ) -> Result<Self, ShadowError> {
        let mut reading = Reading::new(ends);
        for (packet, segment) in segments {
            if !reading.take(packet, segment) {
                break;
            }
        }
        reading.finish(Some(ends))
    }

    /// Reads the directions `ends` (from, to) of the capture at `path` at once. Of all of them together
    /// [`MOST_EVENTS`] are kept.
    ///
    /// # Errors
    /// Those of the file; what one direction lacks is in its own result.
    pub fn read_each(path: &Path, ends: &[Ends]) -> Result<Vec<Result<Self, ShadowError>>, ShadowError> {
        let mut readings: Vec<Reading> = ends.iter().map(|ends| Reading::new(*ends)).collect();
        let mut by_ends: BTreeMap<Ends, Vec<usize>> = BTreeMap::new();
        for (i, (from, to)) in ends.iter().enumerate() {
            by_ends.entry((*from, *to)).or_default().push(i);
            by_ends.entry((*to, *from)).or_default().push(i);
        }
        let mut left = MOST_EVENTS;
        let mut over = vec![false; readings.len()];
        let damage = each_segment(path, |packet, s| {
            for &i in by_ends.get(&(s.src, s.dst)).into_iter().flatten() {
                if over[i] {
                    continue;
                }
                let before = readings[i].events.len();
                if left == 0 {
                    readings[i].cut = true;
                }
                if left == 0 || !readings[i].take(packet, s) {
                    over[i] = true;
                } else {
                    left -= readings[i].events.len() - before;
                }
            }
            true
        })?;
        Ok(readings
            .into_iter()
            .map(|r| {
                let ends = r.ends;
                Ok(Self { damage: damage.clone(), ..r.finish(Some(ends))? })
            })
            .collect())
    }

    /// Payload of a full segment: the longest that was sent, within what was announced.
    pub fn segment_size(&self) -> u32 {
        let announced = self.opening.peer.options.mss.map_or(536, u32::from);
        let both =
            self.opening.own.options.timestamps.is_some() && self.opening.peer.options.timestamps.is_some();
        announced.saturating_sub(if both { 12 } else { 0 }).max(1)
    }

    /// Bytes that were sent before the first ack of data, if more was waiting then.
    pub fn initial_burst(&self) -> Option<u32> {
        let first = self.opening.own.seq + 1;
        let mut end = first;
        for event in &self.events {
            match event.kind {
                Kind::Sent { range, .. } => end = end.max(range.end),
                Kind::Ack { ack, .. } if ack > first => {
                    return (!self.periods.ends_at(end)).then(|| end.bytes_since(first));
                }
                Kind::Ack { .. } => {}
            }
        }
        None
    }
}

/// Passes every TCP segment to `take` with the number of its packet, until that is false or the file ends. A damaged file
/// ends there, and what the damage is is returned.
fn each_segment(
    path: &Path,
    mut take: impl FnMut(u64, &CapturedSegment) -> bool,
) -> Result<Option<String>, ShadowError> {
    let mut packets = Packets::new(open(path)?)?;
    let mut number = 0;
    loop {
        let packet = match packets.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => return Ok(None),
            Err(damage) => return Ok(Some(damage.to_string())),
        };
        number += 1;
        if let Ok(segment) = CapturedSegment::in_packet(&packet)
            && !take(number, &segment)
        {
            return Ok(None);
        }
    }
}

/// The direction with the most data.
fn largest(path: &Path) -> Result<Ends, ShadowError> {
    let mut bytes: BTreeMap<Ends, u64> = BTreeMap::new();
    each_segment(path, |_, s| {
        let ends = (s.src, s.dst);
        if s.segment.len > 0 && (bytes.len() < MOST_DIRECTIONS || bytes.contains_key(&ends)) {
            *bytes.entry(ends).or_default() += u64::from(s.segment.len);
        }
        true
    })?;
    let most = bytes.into_iter().max_by_key(|(ends, bytes)| (*bytes, std::cmp::Reverse(*ends)));
    most.map(|(ends, _)| ends).ok_or(ShadowError::NoData(None))
}

/// What has been read of a conversation.
struct Reading {
    ends: Ends,
    began: Option<Instant>,
    latest: Duration,
    own: Option<(Segment, Duration)>,
    peer: Option<(Segment, Duration)>,
    /// When the sender's first segment after both SYNs was captured.
    answered_at: Option<Duration>,
    events: Vec<Event>,
    missed_beginning: bool,
    cut: bool,
}

impl Reading {
    fn new(ends: Ends) -> Self {
        Self {
            ends,
            began: None,
            latest: Duration::ZERO,
            own: None,
            peer: None,
            answered_at: None,
            events: Vec::new(),
            missed_beginning: false,
            cut: false,
        }
    }

    /// Takes a segment. False where nothing of this connection follows.
    fn take(&mut self, packet: u64, s: &CapturedSegment) -> bool {
        let own = (s.src, s.dst) == self.ends;
        if !own && (s.dst, s.src) != self.ends {
            return true;
        }
        // Clocks of captures may step back.
        let at = s.at.since(*self.began.get_or_insert(s.at)).max(self.latest);
        self.latest = at;
        let segment = &s.segment;
        if segment.flags.has(Flags::RST) {
            return self.events.is_empty();
        }
        if segment.flags.has(Flags::SYN) {
            return self.take_syn(own, segment, at);
        }
        if self.own.is_none() || self.peer.is_none() {
            self.missed_beginning |= own && segment.len > 0;
            return true;
        }
        if self.events.len() == MOST_EVENTS {
            self.cut = true;
            return false;
        }
        if own {
            self.answered_at.get_or_insert(at);
        }
        let kind = if own {
            if segment.len == 0 {
                return true;
            }
            let range = SeqRange::new(segment.seq, segment.seq + segment.len);
            Kind::Sent { range, tsval: segment.options.timestamps.map(|ts| ts.tsval) }
        } else if segment.flags.has(Flags::ACK) {
            let o = &segment.options;
            Kind::Ack { ack: segment.ack, window: segment.window, sack: o.sack, timestamps: o.timestamps }
        } else {
            return true;
        };
        self.events.push(Event { at, packet, kind });
        true
    }

    /// A SYN. Another connection of the same ends begins with one of another number, which ends this one.
    fn take_syn(&mut self, own: bool, segment: &Segment, at: Duration) -> bool {
        let known = if own { &mut self.own } else { &mut self.peer };
        match known {
            Some((first, _)) if first.seq != segment.seq && self.events.is_empty() => {
                (self.own, self.peer) = (None, None);
                *(if own { &mut self.own } else { &mut self.peer }) = Some((*segment, at));
                true
            }
            Some((first, _)) => first.seq == segment.seq,
            None => {
                *known = Some((*segment, at));
                true
            }
        }
    }

    fn finish(self, asked: Option<Ends>) -> Result<Conversation, ShadowError> {
        let (from, to) = self.ends;
        let (Some((own, own_at)), Some((peer, peer_at))) = (self.own, self.peer) else {
            return Err(match self.missed_beginning || !self.events.is_empty() {
                true => ShadowError::NoBeginning(from, to),
                false => ShadowError::NoData(asked.or(Some(self.ends))),
            });
        };
        if !self.events.iter().any(|e| matches!(e.kind, Kind::Sent { .. })) {
            return Err(ShadowError::NoData(asked.or(Some(self.ends))));
        }
        let opening = Opening { own, own_at, peer, peer_at };
        check_near(&opening, self.answered_at, &self.events)?;
        let periods = Periods::of(own.seq + 1, &self.events);
        Ok(Conversation { from, to, opening, events: self.events, periods, cut: self.cut, damage: None })
    }
}

/// The capture must have been made at the sender: in the handshake it responds at once. `answered_at`: when its
/// first segment after a SYN-ACK was captured.
fn check_near(opening: &Opening, answered_at: Option<Duration>, events: &[Event]) -> Result<(), ShadowError> {
    let (from, to, back) = if opening.active() {
        (opening.own_at, opening.peer_at, answered_at.unwrap_or(opening.peer_at))
    } else {
        let acked_at = events.iter().find(|e| matches!(e.kind, Kind::Ack { .. })).map(|e| e.at);
        (opening.peer_at, opening.own_at, acked_at.unwrap_or(opening.own_at))
    };
    let (first, second) = (to.saturating_sub(from), back.saturating_sub(to));
    let response = if opening.active() { second } else { first };
    let rtt = first + second;
    if response > rtt / NEAR && response > AT_ONCE {
        let (response_ms, rtt_ms) = (response.as_millis(), rtt.as_millis());
        return Err(ShadowError::NotAtSender { response_ms, rtt_ms });
    }
    Ok(())
}
