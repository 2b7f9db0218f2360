//! The streams of TCP connections as the emulator sees them: the positions that faults name, and what acks say to
//! have arrived out of order, which no kernel tells its programs.

use std::sync::Arc;

use ackclock_sim::{Met, PacketInfo};
use ackclock_units::{Instant, SeqNumber, SeqRange};
use ackclock_wire::{Flags, SackBlocks, Segment};

use super::routes::Way;

/// All streams of a network, by number.
#[derive(Default)]
pub(super) struct Streams {
    all: Vec<Stream>,
    /// What the packets of each have met.
    pub(super) met: Vec<Met>,
    listener: Option<Arc<dyn SackListener>>,
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
#[derive(Clone, Copy, Default)]
struct Stream {
    /// Sequence number of its first byte; `None` before a SYN.
    first: Option<SeqNumber>,
    /// Bytes of it that were sent.
    high: u64,
}

impl Streams {
    /// For packets on these ways.
    pub(super) fn of<'a>(
        ways: impl Iterator<Item = &'a Way>,
        listener: Option<Arc<dyn SackListener>>,
    ) -> Self {
        let most = ways.filter_map(|way| way.stream).max();
        let n = most.map_or(0, |n| (n as usize | 1) + 1);
        Self { all: vec![Stream::default(); n], met: vec![Met::default(); n], listener }
    }

    /// What the packets of a stream meet.
    pub(super) fn met_by(&mut self, stream: Option<u32>) -> Option<&mut Met> {
        self.met.get_mut(stream? as usize)
    }

    /// Completes what faults see of a packet of a stream that comes in.
    pub(super) fn place(&mut self, stream: u32, segment: Option<&Segment>, info: PacketInfo) -> PacketInfo {
        let info = PacketInfo { flow: stream / 2, ..info };
        let (Some(segment), Some(stream)) = (segment, self.all.get_mut(stream as usize)) else { return info };
        if segment.flags.any(Flags::SYN) {
            stream.first.get_or_insert(segment.seq + 1);
        }
        let Some(first) = stream.first.filter(|_| segment.len > 0) else { return info };
        let ahead = segment.seq.diff(first + stream.high as u32);
        let Some(offset) = stream.high.checked_add_signed(ahead.into()) else { return info };
        let retransmission = offset < stream.high;
        stream.high = stream.high.max(offset + u64::from(segment.len));
        PacketInfo { offset, retransmission, ..info }
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

#[cfg(test)]
mod tests {
    use ackclock_sim::PacketKind;
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
        let info = streams.place(3, Some(segment), info);
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
        assert_eq!(streams.place(2, None, PacketInfo::opaque(40)).flow, 1);
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
