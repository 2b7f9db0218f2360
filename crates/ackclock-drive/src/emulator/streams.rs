//! The streams of TCP connections as the emulator sees them: the positions that faults name, what acks say to have
//! arrived out of order, which no kernel tells its programs, and which retransmissions were spurious.

use std::sync::Arc;

use ackclock_sim::{Dropped, Met, PacketInfo, PacketKind};
use ackclock_units::{Instant, SeqNumber, SeqRange};
use ackclock_wire::{Flags, SackBlocks, Segment};

use super::packet::describe;
use super::routes::Way;

/// All streams of a network, by number.
#[derive(Default)]
pub(super) struct Streams {
    all: Vec<Stream>,
    /// What the packets of each have met.
    pub(super) met: Vec<Met>,
    listener: Option<Arc<dyn SackListener>>,
    pub(super) log: StreamLog,
}

/// What was sent again, and all segments if wanted.
#[derive(Debug, Default)]
pub(crate) struct StreamLog {
    /// In the order in which they came in.
    pub(crate) retransmissions: Vec<Retransmission>,
    /// `None` unless they are recorded.
    pub(crate) segments: Option<Vec<LoggedSegment>>,
}

/// A segment that repeats what its stream has sent before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Retransmission {
    /// When it came in.
    pub(crate) at: Instant,
    pub(crate) stream: u32,
    /// Where it begins: 0 is the SYN, 1 the first byte.
    pub(crate) from: u64,
    /// Its payload, bytes; 0 for a SYN or FIN.
    pub(crate) len: u32,
    /// Nothing of it was dropped: an earlier copy had arrived or was on its way.
    pub(crate) spurious: bool,
}

/// A segment that an end of a connection sent or received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoggedSegment {
    pub(crate) at: Instant,
    /// The stream that the end sends.
    pub(crate) stream: u32,
    pub(crate) sent: bool,
    pub(crate) kind: PacketKind,
    pub(crate) retransmission: bool,
    pub(crate) seq: SeqNumber,
    pub(crate) len: u32,
    pub(crate) ack: SeqNumber,
}

/// Learns what acks report as arrived out of order.
pub(crate) trait SackListener: Send + Sync {
    /// True when somebody waits for this stream's.
    fn wants(&self, stream: u32) -> bool;
    /// An ack with these blocks has arrived at the end that sends this stream. They are positions in it, their lower
    /// 32 bits.
    fn report(&self, stream: u32, blocks: SackBlocks, at: Instant);
}

/// What one end of a connection sends.
#[derive(Clone, Default)]
struct Stream {
    /// Sequence number of its first byte; `None` before a SYN.
    first: Option<SeqNumber>,
    /// Bytes of it that were sent.
    high: u64,
    dropped: Dropped,
    /// Whether the latest SYN, and the latest FIN without payload, were dropped; `None` before the first.
    syn_dropped: Option<bool>,
    fin_dropped: Option<bool>,
}

/// What is known of a packet that comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    /// What faults see of it.
    pub(super) info: PacketInfo,
    /// How many links an earlier copy of it has passed; 0 for new data.
    pub(super) seen: u8,
}

impl Streams {
    /// For packets on these ways.
    pub(super) fn of<'a>(
        ways: impl Iterator<Item = &'a Way>,
        listener: Option<Arc<dyn SackListener>>,
    ) -> Self {
        let most = ways.filter_map(|way| way.stream).max();
        let n = most.map_or(0, |n| (n as usize | 1) + 1);
        let log = StreamLog::default();
        Self { all: vec![Stream::default(); n], met: vec![Met::default(); n], listener, log }
    }

    /// What the packets of a stream meet.
    pub(super) fn met_by(&mut self, stream: Option<u32>) -> Option<&mut Met> {
        self.met.get_mut(stream? as usize)
    }

    /// Completes what is known of a packet of a stream that comes in at `at`.
    pub(super) fn place(
        &mut self,
        stream: u32,
        segment: Option<&Segment>,
        info: PacketInfo,
        at: Instant,
    ) -> Placed {
        let info = PacketInfo { flow: stream / 2, ..info };
        let mut placed = Placed { info, seen: 0 };
        let (Some(segment), Some(known)) = (segment, self.all.get_mut(stream as usize)) else {
            return placed;
        };
        if let Some(again) = known.note(segment, &mut placed) {
            self.log.retransmissions.push(Retransmission { at, stream, ..again });
        }
        if let Some(all) = &mut self.log.segments {
            let PacketInfo { kind, retransmission, .. } = placed.info;
            all.push(logged(segment, kind, (at, stream), true, retransmission));
        }
        placed
    }

    /// A packet of a stream was dropped after `passed` links.
    pub(super) fn drop(&mut self, stream: Option<u32>, info: &PacketInfo, passed: u8) {
        let Some(known) = stream.and_then(|stream| self.all.get_mut(stream as usize)) else { return };
        match info.kind {
            PacketKind::Data => known.dropped.add(info.offset, info.offset + u64::from(info.payload), passed),
            PacketKind::Syn => known.syn_dropped = Some(true),
            PacketKind::Fin => known.fin_dropped = Some(true),
            _ => {}
        }
    }

    /// A packet of a stream arrives whole at the other end, which sends the other stream.
    pub(super) fn arrive(&mut self, stream: Option<u32>, packet: &[u8], ack: Option<SeqNumber>, at: Instant) {
        let Some(other) = stream.map(|stream| stream ^ 1) else { return };
        if let Some((known, ack)) = self.all.get_mut(other as usize).zip(ack) {
            known.acknowledge(ack);
        }
        if let Some(all) = &mut self.log.segments {
            let about = describe(packet);
            all.extend(
                about.segment.map(|segment| logged(&segment, about.info.kind, (at, other), false, false)),
            );
        }
    }

    /// The SACK blocks of a packet of a stream, as positions of the other end's stream (its lower 32 bits), where
    /// somebody waits for them.
    pub(super) fn sacked(&self, stream: u32, segment: &Segment) -> SackBlocks {
        let (mut blocks, other) = (SackBlocks::NONE, stream ^ 1);
        let first = self.all.get(other as usize).and_then(|other| other.first);
        let wanted = || self.listener.as_ref().is_some_and(|listener| listener.wants(other));
        if let Some(first) = first.filter(|_| !segment.options.sack.is_empty() && wanted()) {
            let position = |seq: SeqNumber| SeqNumber(seq.0.wrapping_sub(first.0));
            for block in segment.options.sack.as_slice() {
                blocks.push(SeqRange::new(position(block.start), position(block.end)));
            }
        }
        blocks
    }

    /// A packet of a stream with these blocks was delivered at `at`.
    pub(super) fn deliver(&self, stream: Option<u32>, blocks: SackBlocks, at: Instant) {
        if let (Some(stream), Some(listener)) = (stream.filter(|_| !blocks.is_empty()), &self.listener) {
            listener.report(stream ^ 1, blocks, at);
        }
    }
}

impl Stream {
    /// Notes a segment. Returns where it is if it repeats what was sent before.
    fn note(&mut self, segment: &Segment, placed: &mut Placed) -> Option<Retransmission> {
        let again = |from, len, dropped: bool| Retransmission {
            at: Instant::ZERO,
            stream: 0,
            from,
            len,
            spurious: !dropped,
        };
        if segment.flags.any(Flags::SYN) {
            self.first.get_or_insert(segment.seq + 1);
            return self.syn_dropped.replace(false).map(|dropped| again(0, 0, dropped));
        }
        let first = self.first?;
        if segment.len == 0 {
            let fin = segment.flags.any(Flags::FIN).then(|| self.fin_dropped.replace(false)).flatten();
            return fin.map(|dropped| again(1 + self.high, 0, dropped));
        }
        let ahead = segment.seq.diff(first + self.high as u32);
        let offset = self.high.checked_add_signed(ahead.into())?;
        let (high, end) = (self.high, offset + u64::from(segment.len));
        self.high = high.max(end);
        placed.info = PacketInfo { offset, retransmission: offset < high, ..placed.info };
        (offset < high).then(|| {
            let passed = self.dropped.take(offset, end.min(high));
            placed.seen = passed.unwrap_or(u8::MAX);
            again(1 + offset, segment.len, passed.is_some())
        })
    }

    /// The other end has acknowledged everything before this number.
    fn acknowledge(&mut self, ack: SeqNumber) {
        let Some(first) = self.first else { return };
        let behind = ack.diff(first + self.high as u32);
        if let Some(acked) = self.high.checked_add_signed(behind.into()) {
            self.dropped.forget_below(acked);
        }
    }
}

fn logged(
    s: &Segment,
    kind: PacketKind,
    (at, stream): (Instant, u32),
    sent: bool,
    retransmission: bool,
) -> LoggedSegment {
    let ack = if s.flags.any(Flags::ACK) { s.ack } else { SeqNumber(0) };
    LoggedSegment { at, stream, sent, kind, retransmission, seq: s.seq, len: s.len, ack }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Duration;
    use ackclock_wire::Options;

    use super::*;

    /// Wants the blocks of stream 3 alone.
    struct OfStream3;

    impl SackListener for OfStream3 {
        fn wants(&self, stream: u32) -> bool {
            stream == 3
        }

        fn report(&self, _: u32, _: SackBlocks, _: Instant) {}
    }

    /// The streams of flows 0 and 1.
    fn streams() -> Streams {
        let way = |stream| Way { route: 0, before: Duration::ZERO, after: Duration::ZERO, stream };
        Streams::of([way(None), way(Some(2))].iter(), Some(Arc::new(OfStream3)))
    }

    fn segment(seq: u32, len: u32, flags: Flags) -> Segment {
        Segment { seq: SeqNumber(seq), len, flags, ..Segment::default() }
    }

    /// Where a segment of stream 3 is, and whether some of it was sent before.
    fn place(streams: &mut Streams, segment: &Segment) -> (u32, u64, bool) {
        let info = PacketInfo { kind: PacketKind::Data, payload: segment.len, ..PacketInfo::opaque(40) };
        let Placed { info, .. } = streams.place(3, Some(segment), info, Instant::ZERO);
        (info.flow, info.offset, info.retransmission)
    }

    #[test]
    fn a_segment_has_its_position_in_the_stream_also_where_sequence_numbers_wrap() {
        let mut streams = streams();
        assert_eq!(place(&mut streams, &segment(7, 100, Flags::ACK)), (1, 0, false), "no SYN was seen");
        let first = u32::MAX - 99;
        let data = |from: u32| segment(first.wrapping_add(from), 100, Flags::ACK);
        for _ in 0..2 {
            assert_eq!(place(&mut streams, &segment(first - 1, 0, Flags::SYN)), (1, 0, false));
        }
        for (from, expected) in [(0, false), (100, false), (300, false), (200, true), (400, false), (0, true)]
        {
            assert_eq!(place(&mut streams, &data(from)), (1, from.into(), expected));
        }
        // A pure ack carries nothing, and a datagram has no stream.
        assert_eq!(place(&mut streams, &segment(first, 0, Flags::ACK)), (1, 0, false));
        assert_eq!(streams.place(2, None, PacketInfo::opaque(40), Instant::ZERO).info.flow, 1);
    }

    #[test]
    fn a_retransmission_is_spurious_where_nothing_of_it_was_dropped() {
        let mut streams = streams();
        let data = |from: u32| segment(1000 + from, 100, Flags::ACK);
        let info =
            |offset| PacketInfo { kind: PacketKind::Data, payload: 100, offset, ..PacketInfo::opaque(140) };
        let syn = segment(999, 0, Flags::SYN);
        place(&mut streams, &syn);
        streams.drop(Some(3), &PacketInfo { kind: PacketKind::Syn, ..PacketInfo::opaque(40) }, 0);
        for again in [syn, syn, data(0), data(100), data(200)] {
            place(&mut streams, &again);
        }
        streams.drop(Some(3), &info(0), 1);
        // Of the first hundred bytes the second copy was dropped too, after they had arrived.
        let seen: Vec<u8> = [data(0), data(100), data(0)]
            .map(|s| {
                streams.place(
                    3,
                    Some(&s),
                    PacketInfo { kind: PacketKind::Data, payload: 100, ..info(0) },
                    Instant::ZERO,
                )
            })
            .map(|placed| placed.seen)
            .to_vec();
        assert_eq!(seen, [1, u8::MAX, u8::MAX]);
        streams.drop(Some(3), &info(0), 0);
        streams.arrive(Some(2), &[], Some(SeqNumber(1100)), Instant::ZERO);
        place(&mut streams, &data(0));
        let fin = segment(1300, 0, Flags::FIN | Flags::ACK);
        place(&mut streams, &fin);
        place(&mut streams, &fin);
        let found: Vec<_> = streams.log.retransmissions.iter().map(|r| (r.from, r.len, r.spurious)).collect();
        let data = |from, spurious| (from, 100, spurious);
        let expected = [
            (0, 0, false),
            (0, 0, true),
            data(1, false),
            data(101, true),
            data(1, true),
            data(1, true),
            (301, 0, true),
        ];
        assert_eq!(found, expected);
        // Packets without a stream change nothing.
        streams.drop(None, &info(0), 0);
        streams.arrive(None, &[], None, Instant::ZERO);
    }

    #[test]
    fn blocks_are_positions_in_the_stream_that_they_acknowledge() {
        let mut streams = streams();
        let mut ack = segment(1, 0, Flags::ACK);
        let block = |from: u32| SeqRange::new(SeqNumber(from), SeqNumber(from.wrapping_add(10)));
        ack.options = Options { sack: SackBlocks::NONE, ..Options::default() };
        ack.options.sack.push(block(1020));
        assert!(streams.sacked(2, &ack).is_empty(), "no SYN was seen");
        place(&mut streams, &segment(999, 0, Flags::SYN));
        assert_eq!(streams.sacked(2, &ack).as_slice(), [block(20)]);
        // Nobody waits for those of stream 2, and 8 is no stream.
        assert!(streams.sacked(3, &ack).is_empty() && streams.sacked(9, &ack).is_empty());
    }
}
