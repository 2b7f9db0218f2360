//! The peer of a conversation: it turns segments in its terms into numbers, by what the host has sent.

use ackclock_units::Instant;
use ackclock_wire::Flags;

use super::conversation::{Ack, Block, Fate, Offer, Segment, Stamp};
use super::receiver::Receiver;
use crate::ast::{Tcp, TcpFlags, TcpOption, TcpOptions};

/// The peer's clock at the beginning of a conversation, ticks of a millisecond.
const FIRST_TICK: u32 = 10_000;

/// RFC 9293 §3.7.1, and what a packet of Ethernet holds.
const DEFAULT_MSS: u16 = 536;
const ETHERNET_MSS: u32 = 1460;

/// Bytes that timestamps take in each segment (RFC 7323 §3.2).
const TIMESTAMPS: u32 = 12;

/// The peer's side of a connection.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    offer: Offer,
    /// The next byte that it has to send.
    next: u32,
    /// Ranges that it has sent beyond.
    ahead: Vec<(u32, u32)>,
    /// What it has acknowledged.
    acked: u32,
    /// The end of what the host has sent.
    host_next: u32,
    /// Segments of the host above what is acknowledged, in order of their numbers.
    outstanding: Vec<(u32, u32)>,
    /// The options of the host's SYN.
    host_offer: Option<Vec<TcpOption>>,
    /// The host's latest timestamp.
    heard: u32,
    /// The end of what it has to send, by its first FIN.
    end: Option<u32>,
    /// It has sent a FIN or data that contradict its first FIN.
    contradicts: bool,
    /// The end of what the host has of it in order.
    received: u32,
    /// It has SACKed the byte that its ack asks for, or what it has acknowledged beyond a DSACK.
    denies: bool,
    /// What it has SACKed.
    sacked: Vec<(u32, u32)>,
    /// Its acks ask for a byte that it has SACKed before (RFC 2018 §8).
    reneges: bool,
    /// It has acknowledged or SACKed a part of a segment.
    splits: bool,
    /// What has arrived, where it is sound.
    receiver: Receiver,
    /// Its acks report what has arrived.
    sound: bool,
}

impl Peer {
    pub(super) fn new(offer: Offer) -> Self {
        Self {
            offer,
            next: 0,
            ahead: Vec::new(),
            acked: 0,
            host_next: 0,
            outstanding: Vec::new(),
            host_offer: None,
            heard: 0,
            end: None,
            contradicts: false,
            received: 0,
            denies: false,
            sacked: Vec::new(),
            reneges: false,
            splits: false,
            receiver: Receiver::new(),
            sound: false,
        }
    }

    /// A peer that reports what has arrived.
    pub(super) fn sound(offer: Offer) -> Self {
        Self { sound: true, ..Self::new(offer) }
    }

    /// The host has sent a segment.
    pub(super) fn hears(&mut self, tcp: &Tcp) {
        let has = |flag: Flags| tcp.flags.bits & flag.0 != 0;
        if has(Flags::RST) {
            return;
        }
        let TcpOptions::List(list) = &tcp.options else { return };
        if has(Flags::SYN) {
            self.host_offer = Some(list.clone());
        }
        for option in list {
            if let TcpOption::Timestamps { val, .. } = option {
                self.heard = *val;
            }
        }
        if self.sound {
            self.receiver.hears(tcp, list, self.most());
        }
        let end = tcp.seq.wrapping_add(tcp.len + u32::from(has(Flags::SYN)) + u32::from(has(Flags::FIN)));
        if end.wrapping_sub(self.host_next) as i32 > 0 {
            self.host_next = end;
        }
        if tcp.len > 0 && !self.outstanding.iter().any(|(from, to)| *from <= tcp.seq && end <= *to) {
            // A packet of the host's device may be several segments.
            let step = if self.sound { self.most() as usize } else { usize::MAX };
            let cuts =
                (tcp.seq..end).step_by(step).map(|from| (from, end.min(from.saturating_add(step as u32))));
            self.outstanding.extend(cuts);
            self.outstanding.sort_unstable();
        }
    }

    /// Most bytes that the host's segments carry.
    fn most(&self) -> u32 {
        u32::from(self.offer.mss.unwrap_or(DEFAULT_MSS)).min(ETHERNET_MSS)
            - if self.stamps() { TIMESTAMPS } else { 0 }
    }

    /// The segment in numbers, with what a cause calls it. `None`: nothing arrives that it would report.
    pub(super) fn responds(&mut self, segment: &Segment, now: Instant) -> Option<(Tcp, String)> {
        let Ack::Arrived(fate) = segment.ack else { return Some(self.says(segment, now)) };
        if !self.sound {
            return None;
        }
        let sends = segment.len > 0 || segment.flags & Flags::FIN.0 != 0;
        if (!self.receiver.arrives(fate) || fate == Fate::Nothing) && !sends {
            return None;
        }
        let report = self.receiver.report();
        self.heard = report.echo;
        let offset = |seq: u32, from: u32| i64::from(seq) - i64::from(from);
        let sack = report
            .blocks
            .iter()
            .map(|(from, to)| Block::Bytes(offset(*from, report.ack), offset(*to, report.ack)));
        let sack = if self.sacks() { sack.collect() } else { Vec::new() };
        let ack = Ack::Offset(offset(report.ack, self.acked));
        Some(self.says(&Segment { ack, sack, ..segment.clone() }, now))
    }

    /// The segment in numbers, with what a cause calls it.
    fn says(&mut self, segment: &Segment, now: Instant) -> (Tcp, String) {
        let has = |flag: Flags| segment.flags & flag.0 != 0;
        let ack = has(Flags::ACK).then(|| self.ack(segment.ack));
        let seq = if has(Flags::SYN) && self.next <= 1 {
            (segment.offset as u32).wrapping_add(0)
        } else {
            self.next.wrapping_add(segment.offset as u32)
        };
        self.note_end(segment, seq);
        if let Some(ack) = ack.filter(|_| self.sacks()) {
            let known = ack.max(self.acked);
            self.reneges |= self.sacked.iter().any(|(from, to)| *from <= known && known < *to);
            let blocks: Vec<_> = segment.sack.iter().filter_map(|b| self.block(*b, Some(ack))).collect();
            self.denies |= blocks.iter().any(|(from, to)| *from <= known && known < *to);
            self.sacked.extend(blocks.iter().filter(|(_, to)| *to <= self.host_next));
        }
        let blocks = segment.sack.iter().filter_map(|b| self.block(*b, ack)).filter(|_| self.sacks());
        let edges: Vec<u32> = ack.into_iter().chain(blocks.flat_map(|(from, to)| [from, to])).collect();
        self.splits |= edges.iter().any(|seq| self.is_inside(*seq));
        let kind = self.kind(segment, ack);
        let end = seq.wrapping_add(segment.len + u32::from(has(Flags::SYN)));
        if seq.wrapping_sub(self.received) as i32 <= 0 && end.wrapping_sub(self.received) as i32 > 0 {
            self.received = end;
        }
        let tcp = Tcp {
            flags: TcpFlags { bits: segment.flags, ace: None },
            seq,
            any_seq: false,
            len: segment.len,
            ack,
            window: Some(self.window(segment)),
            urgent: segment.urgent,
            options: TcpOptions::List(self.options(segment, ack, now)),
        };
        if !has(Flags::RST) && segment.stamp != Stamp::Missing {
            let occupied = segment.len + u32::from(has(Flags::SYN)) + u32::from(has(Flags::FIN));
            self.sent(seq, seq.wrapping_add(occupied));
            if let Some(ack) = ack.filter(|a| *a > self.acked && *a <= self.host_next) {
                self.acked = ack;
                self.outstanding.retain(|(_, to)| *to > ack);
            }
        }
        (tcp, kind)
    }

    /// Notes where a FIN ends what the peer sends, and whether data or another FIN says otherwise.
    fn note_end(&mut self, segment: &Segment, seq: u32) {
        let fin = segment.flags & Flags::FIN.0 != 0;
        let dropped = segment.flags & (Flags::RST | Flags::SYN | Flags::ACK).0 != Flags::ACK.0;
        if dropped || self.next == 0 || segment.len == 0 && !fin {
            return;
        }
        let to = seq.wrapping_add(segment.len);
        self.contradicts |= self.end.is_some_and(|end| to.wrapping_sub(end) as i32 > 0 || (fin && to != end))
            || fin && self.ahead.iter().any(|(_, known)| known.wrapping_sub(to) as i32 > 0)
            || fin && self.next.wrapping_sub(to) as i32 > 0;
        if fin {
            self.end.get_or_insert(to);
        }
    }

    /// Numbers that the peer has sent: the next one comes after all that follow each other.
    fn sent(&mut self, from: u32, to: u32) {
        if to > from && to < 1 << 30 {
            self.ahead.push((from, to));
            self.ahead.sort_unstable();
        }
        for (from, to) in &self.ahead {
            if *from <= self.next {
                self.next = self.next.max(*to);
            }
        }
        let next = self.next;
        self.ahead.retain(|(_, to)| *to > next);
    }

    fn ack(&self, ack: Ack) -> u32 {
        match ack {
            Ack::All => self.host_next,
            // What arrives is reported by `responds`.
            Ack::Same | Ack::Arrived(_) => self.acked,
            Ack::Segments(n) => {
                let segment = usize::from(n).checked_sub(1).and_then(|i| self.outstanding.get(i));
                segment.map_or(if n == 0 { self.acked } else { self.host_next }, |(_, to)| *to)
            }
            Ack::Offset(bytes) => self.acked.wrapping_add(bytes as u32),
            Ack::Beyond(bytes) => self.host_next.wrapping_add(bytes),
        }
    }

    /// The window field: scaled where both ends have said that they scale (RFC 7323 §2.2), and never in a
    /// SYN.
    fn window(&self, segment: &Segment) -> u16 {
        let host = self.host_offer.iter().flatten().any(|o| matches!(o, TcpOption::WindowScale(_)));
        let scaled = host && segment.flags & Flags::SYN.0 == 0;
        // The largest shift that counts (RFC 7323 §2.3).
        let shift = self.offer.window_scale.filter(|_| scaled).map_or(0, |shift| shift.min(14));
        u16::try_from(segment.window.div_ceil(1 << shift)).unwrap_or(u16::MAX)
    }

    fn options(&self, segment: &Segment, ack: Option<u32>, now: Instant) -> Vec<TcpOption> {
        let tick = FIRST_TICK + u32::try_from(now.as_nanos() / 1_000_000).unwrap_or(0);
        let stamp = match segment.stamp {
            Stamp::Fresh => Some((tick, self.heard)),
            Stamp::Old(ticks) => Some((tick.wrapping_sub(ticks), self.heard)),
            Stamp::NoEcho => Some((tick, 0)),
            Stamp::Missing => None,
        };
        let stamp =
            stamp.map(|(val, ecr)| TcpOption::Timestamps { val, ecr: if ack.is_some() { ecr } else { 0 } });
        if segment.flags & Flags::SYN.0 != 0 {
            return self.of_syn(segment, stamp);
        }
        let mut list = Vec::new();
        if let Some(stamp) = stamp.filter(|_| self.stamps()) {
            list.extend([TcpOption::Nop, TcpOption::Nop, stamp]);
        }
        let blocks: Vec<(u32, u32)> = segment.sack.iter().filter_map(|b| self.block(*b, ack)).collect();
        if !blocks.is_empty() && ack.is_some() {
            list.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::Sack(blocks)]);
        }
        list
    }

    /// The options of a SYN; those of a SYN-ACK are limited to what the host has offered.
    fn of_syn(&self, segment: &Segment, stamp: Option<TcpOption>) -> Vec<TcpOption> {
        let answers = segment.flags & Flags::ACK.0 != 0;
        let may = |offers: fn(&TcpOption) -> bool| {
            !answers || self.host_offer.as_ref().is_some_and(|list| list.iter().any(offers))
        };
        let sack = self.offer.sack && may(|o| matches!(o, TcpOption::SackPermitted));
        let stamp =
            stamp.filter(|_| self.offer.timestamps && may(|o| matches!(o, TcpOption::Timestamps { .. })));
        let scale = self.offer.window_scale.filter(|_| may(|o| matches!(o, TcpOption::WindowScale(_))));
        let mut list: Vec<TcpOption> = self.offer.mss.map(TcpOption::Mss).into_iter().collect();
        match (sack, stamp) {
            (true, Some(stamp)) => list.extend([TcpOption::SackPermitted, stamp]),
            (true, None) => list.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::SackPermitted]),
            (false, Some(stamp)) => list.extend([TcpOption::Nop, TcpOption::Nop, stamp]),
            (false, None) => {}
        }
        if let Some(scale) = scale {
            list.extend([TcpOption::Nop, TcpOption::WindowScale(scale)]);
        }
        list
    }

    /// True where timestamps were negotiated.
    fn stamps(&self) -> bool {
        let offered = |o: &TcpOption| matches!(o, TcpOption::Timestamps { .. });
        self.offer.timestamps && self.host_offer.as_ref().is_some_and(|list| list.iter().any(offered))
    }

    /// True where SACK was negotiated.
    fn sacks(&self) -> bool {
        let offered = |o: &TcpOption| matches!(o, TcpOption::SackPermitted);
        self.offer.sack && self.host_offer.as_ref().is_some_and(|list| list.iter().any(offered))
    }

    fn block(&self, block: Block, ack: Option<u32>) -> Option<(u32, u32)> {
        match block {
            Block::Segments(from, to) => {
                let first = self.outstanding.get(usize::from(from))?;
                let last = self.outstanding.get(usize::from(to.max(from))).or(self.outstanding.last())?;
                Some((first.0, last.1))
            }
            Block::Bytes(from, to) => {
                let base = ack.unwrap_or(self.acked);
                Some((base.wrapping_add(from as u32), base.wrapping_add(to as u32)))
            }
        }
    }

    /// True for a number inside a segment that the host has sent, and not at its beginning or end.
    fn is_inside(&self, seq: u32) -> bool {
        self.outstanding.iter().any(|(from, to)| *from < seq && seq < *to)
    }

    /// What a cause calls a segment.
    fn kind(&self, segment: &Segment, ack: Option<u32>) -> String {
        let has = |flag: Flags| segment.flags & flag.0 != 0;
        let end = segment.offset + i64::from(segment.len) + i64::from(has(Flags::FIN));
        let place = match segment.offset {
            0 => "",
            1.. => " ahead",
            _ if end > 0 => " overlapping",
            _ => " old",
        };
        let name = match () {
            () if has(Flags::RST) => "RST",
            () if has(Flags::SYN) && has(Flags::ACK) => "SYN-ACK",
            () if has(Flags::SYN) => "SYN",
            () if has(Flags::FIN) && segment.len > 0 => "data with FIN",
            () if has(Flags::FIN) => "FIN",
            () if segment.len > 0 => "data",
            () => "ack",
        };
        let mut kind = format!("{name}{place}");
        let ahead = |ack: u32| ack.wrapping_sub(self.acked) as i32;
        match ack {
            None if !has(Flags::SYN) && !has(Flags::RST) => kind.push_str(" without ACK"),
            Some(ack) if ack.wrapping_sub(self.host_next) as i32 > 0 => kind.push_str(" of the unsent"),
            Some(ack) if ahead(ack) > 0 => kind.push_str(" of new data"),
            Some(ack) if ahead(ack) < 0 => kind.push_str(" of the past"),
            _ => {}
        }
        let inside = |seq: u32| self.is_inside(seq);
        let mut parts = segment.sack.iter().filter_map(|b| self.block(*b, ack));
        let in_parts = parts.any(|(from, to)| inside(from) || inside(to));
        let (from, to) = (segment.offset, segment.offset + i64::from(segment.len));
        let next = i64::from(self.next);
        let again = self.ahead.iter().any(|(a, b)| next + from < i64::from(*b) && i64::from(*a) < next + to);
        let begun = segment.offset >= 0
            && self.next.wrapping_add(from as u32).wrapping_sub(self.received) as i32 <= -1
            && !has(Flags::SYN);
        let notes = [
            (ack.is_some_and(inside) || inside(self.acked), " inside a segment"),
            (segment.len > 0 && again, " over data ahead"),
            (segment.len > 0 && begun, " over data received"),
            (!segment.sack.is_empty(), if self.sacks() { " with SACK" } else { " with SACK unasked" }),
            (self.sacks() && in_parts, " of parts"),
            (segment.window == 0 && !has(Flags::RST), " with closed window"),
            (has(Flags::FIN) && has(Flags::SYN), " with FIN"),
            (has(Flags::RST) && has(Flags::SYN), " with SYN"),
            (has(Flags::SYN) && segment.len > 0, " with data"),
            (has(Flags::URG), " with URG"),
            (matches!(segment.stamp, Stamp::Old(_)) && self.stamps(), " with old timestamp"),
            (segment.stamp == Stamp::NoEcho && self.stamps(), " with empty echo"),
            (segment.stamp == Stamp::Missing && self.stamps(), " without timestamp"),
            (has(Flags::ECE) && !has(Flags::SYN), " with ECE"),
            (has(Flags::CWR) && !has(Flags::SYN), " with CWR"),
            (segment.ecn == ackclock_units::Ecn::Ce, " with CE"),
        ];
        notes.iter().filter(|(there, _)| *there).for_each(|(_, note)| kind.push_str(note));
        kind.push_str(self.contradictions());
        kind
    }

    /// What a cause says of all that follows once the peer has contradicted itself, or has reported a part of a
    /// segment.
    pub(super) fn contradictions(&self) -> &'static str {
        match () {
            () if self.contradicts => " against a FIN",
            () if self.denies => " against an ack",
            () if self.reneges => " against a SACK",
            () if self.splits => " after a part",
            () => "",
        }
    }
}
