//! Ground truth about what an endpoint has sent.

use ackclock_engine::Transmit;
use ackclock_trace::SendKind;
use ackclock_units::{SeqNumber, mostly};
use ackclock_wire::Flags;

use crate::endpoint::Rare;
use crate::packet::Packet;
use crate::truth::Dropped;

/// Ground truth about what an endpoint has sent, in one cache line.
#[derive(Debug, Default)]
pub(crate) struct SentTruth {
    /// Packets that it has sent.
    pub(crate) packets: u64,
    /// Packets in the network, copies that the network made included.
    pub(crate) in_flight: u32,
    /// Sequence number of stream position 0.
    pub(crate) first_seq: SeqNumber,
    /// First stream position that was never sent.
    pub(crate) high: u64,
    pub(crate) dropped: Dropped,
    /// Retransmissions of bytes that were not dropped: the original had arrived or was on its way.
    pub(crate) spurious_retransmissions: u64,
    /// Timeouts after which the first segment sent was such a spurious retransmission.
    pub(crate) spurious_timeouts: u32,
    /// The latest SYN and the latest FIN without payload.
    syn: ControlTruth,
    fin: ControlTruth,
    /// The retransmission timer has fired and nothing was retransmitted since.
    pub(crate) timed_out: bool,
}

/// State of the latest SYN or FIN, which have no stream position.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum ControlTruth {
    #[default]
    Unsent,
    Sent,
    Dropped,
}

impl SentTruth {
    /// Counts a packet that enters the network.
    #[inline]
    pub(crate) fn send(&mut self) {
        self.packets += 1;
        self.in_flight += 1;
    }

    /// Counts a copy made by the network.
    pub(crate) fn copy(&mut self) {
        self.in_flight += 1;
    }

    /// Counts a packet that has left the network: delivered, dropped or damaged.
    #[inline]
    pub(crate) fn leave(&mut self) {
        // An underflow wraps to a huge count, which the check at the end of the run finds.
        self.in_flight = self.in_flight.wrapping_sub(1);
    }

    /// Memory held by its lists, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.dropped.held_bytes()
    }

    /// Notes a sent segment. Returns whether it is a retransmission, and how many links an earlier copy has
    /// passed; `None` when its sequence number does not match its stream position.
    #[inline(always)]
    pub(crate) fn note(&mut self, t: &Transmit, rare: &mut Option<Box<Rare>>) -> Option<(bool, u8)> {
        let s = &t.segment;
        if s.len > 0 {
            let matches = s.seq.0.wrapping_sub(self.first_seq.0) == t.offset as u32;
            let end = t.offset + u64::from(s.len);
            if !matches {
                return None;
            }
            return Some(if t.kind == SendKind::Copy {
                self.note_copy(t.offset, end, rare)
            } else {
                self.note_data(t.offset, end, rare)
            });
        }
        if s.flags.any(Flags::SYN | Flags::FIN) {
            return Some((self.note_control(s.flags.any(Flags::SYN)), 0));
        }
        Some((false, 0))
    }

    /// Notes a segment with payload `start..end`. Returns whether it repeats bytes, and how many links an
    /// earlier copy of them has passed.
    #[inline(always)]
    fn note_data(&mut self, start: u64, end: u64, rare: &mut Option<Box<Rare>>) -> (bool, u8) {
        if mostly(start >= self.high) {
            self.high = end;
            return (false, 0);
        }
        if let Some(rare) = rare {
            rare.copied.forget(start, end);
        }
        let passed = self.dropped.take(start, end.min(self.high));
        self.high = self.high.max(end);
        self.spurious_retransmissions += u64::from(passed.is_none());
        self.judge_timeout(passed.is_some());
        (true, passed.unwrap_or(u8::MAX))
    }

    /// Notes a copy that is sent immediately after the segment `start..end`. It does not count as a
    /// retransmission, whether the segment is dropped or not. Returns the same as [`SentTruth::note_data`].
    #[cold]
    fn note_copy(&mut self, start: u64, end: u64, rare: &mut Option<Box<Rare>>) -> (bool, u8) {
        let passed = self.dropped.take(start, end);
        if passed.is_none() {
            rare.get_or_insert_default().copied.add(start, end);
        }
        (true, passed.unwrap_or(u8::MAX))
    }

    /// Notes a SYN, or a FIN without payload. Returns whether it is a retransmission.
    fn note_control(&mut self, syn: bool) -> bool {
        let truth = if syn { &mut self.syn } else { &mut self.fin };
        let before = std::mem::replace(truth, ControlTruth::Sent);
        if before != ControlTruth::Unsent {
            self.judge_timeout(before == ControlTruth::Dropped);
        }
        before != ControlTruth::Unsent
    }

    /// Called for each retransmission. The first one after a timeout repeats the segment that timed out: if
    /// the latest copy of that segment was not dropped, the timeout was spurious.
    fn judge_timeout(&mut self, dropped: bool) {
        if std::mem::take(&mut self.timed_out) && !dropped {
            self.spurious_timeouts += 1;
        }
    }

    /// Notes that a packet was dropped after `passed` links. Returns true when a copy of it is in flight or
    /// has arrived.
    pub(crate) fn note_drop(&mut self, p: &Packet, passed: u8, rare: &mut Option<Box<Rare>>) -> bool {
        if p.len > 0 && rare.as_mut().is_some_and(|rare| rare.copied.drop_one(p.offset(), p.end())) {
            return true;
        }
        if p.len > 0 {
            self.dropped.add(p.offset(), p.end(), passed);
        } else if p.flags.any(Flags::SYN) {
            self.syn = ControlTruth::Dropped;
        } else if p.flags.any(Flags::FIN) {
            self.fin = ControlTruth::Dropped;
        }
        false
    }
}
