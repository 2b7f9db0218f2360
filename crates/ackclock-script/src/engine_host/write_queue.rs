//! Linux's queue of what was written: packets of many segments, of which each says whether it pushes, whether
//! a record ends with it, and how much memory it takes.

use std::collections::VecDeque;

use ackclock_engine::Transmit;
use ackclock_engine::offload::Waiting;
use ackclock_engine::send_memory::{PACKET_OVERHEAD, half_window, packet_goal};
use ackclock_trace::SendKind;
use ackclock_units::Bytes;
use ackclock_wire::Flags;

/// What was written and is not acknowledged, in packets, by position in the stream.
#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    packets: VecDeque<Packet>,
    /// Position of the first byte that is not acknowledged.
    start: u64,
    /// Position past the last byte that was sent; a packet ends here.
    sent: u64,
    /// Position past the last byte that was pushed.
    pushed: u64,
    /// The largest window that the receiver has advertised.
    max_window: Bytes,
}

/// A packet, which begins where the one before ends.
#[derive(Clone, Copy, Debug)]
struct Packet {
    end: u64,
    /// Its last segment pushes.
    push: bool,
    /// Nothing is appended to it.
    record: bool,
}

impl WriteQueue {
    /// What waits from this position on.
    pub(super) fn waiting(&self, position: u64) -> Option<Waiting> {
        let at = self.packets.partition_point(|p| p.end <= position);
        let packet = self.packets.get(at)?;
        let last = at + 1 == self.packets.len();
        Some(Waiting { bytes: packet.end - position, last, ends: packet.record })
    }

    /// Position past the last byte written.
    pub(super) fn end(&self) -> u64 {
        self.packets.back().map_or(self.start, |p| p.end)
    }

    /// The memory that it takes, bytes.
    pub(super) fn memory(&self) -> Bytes {
        self.end() - self.start + PACKET_OVERHEAD * self.packets.len() as u64
    }

    /// The size to which packets are filled: whole segments, and half of the receiver's window at most
    /// (`tcp_xmit_size_goal`).
    pub(super) fn goal(&self, smss: u32) -> Bytes {
        packet_goal(self.max_window, smss)
    }

    /// Payload of the last packet, where none of it was sent.
    fn tail(&self) -> Option<(Packet, Bytes)> {
        let last = *self.packets.back()?;
        let before = self.packets.len().checked_sub(2).map_or(self.start, |i| self.packets[i].end);
        (last.end > self.sent).then(|| (last, last.end - before.max(self.start)))
    }

    /// Bytes that the last packet takes, or a new one where there is memory for it; 0 where there is none.
    pub(super) fn room(&self, goal: Bytes, memory: Bytes) -> Bytes {
        match self.tail() {
            Some((last, len)) if !last.record && len < goal => goal - len,
            _ if self.memory() < memory => goal,
            _ => 0,
        }
    }

    /// Appends bytes that have [room](Self::room). `first`: of a call, which takes back that what was written
    /// before is pushed.
    pub(super) fn append(&mut self, bytes: Bytes, goal: Bytes, first: bool) {
        let end = self.end() + bytes;
        match self.tail() {
            Some((last, len)) if !last.record && len < goal => {
                let push = last.push && !first;
                if let Some(last) = self.packets.back_mut() {
                    *last = Packet { end, push, record: false };
                }
            }
            _ => self.packets.push_back(Packet { end, push: false, record: false }),
        }
    }

    /// True when the last packet is full.
    pub(super) fn tail_is_full(&self, goal: Bytes) -> bool {
        self.tail().is_some_and(|(_, len)| len >= goal)
    }

    /// True when none of the last packet was sent.
    pub(super) fn has_tail(&self) -> bool {
        self.tail().is_some()
    }

    /// True when more than half of the receiver's window was written since the last push (`forced_push`).
    pub(super) fn must_push(&self, smss: u32) -> bool {
        self.end() > self.pushed + half_window(self.max_window, smss)
    }

    /// The receiver advertises a window. That of a SYN does not count (`tcp_create_openreq_child`).
    pub(super) fn note_window(&mut self, window: Bytes) {
        self.max_window = self.max_window.max(window);
    }

    /// True when the last packet is the only one that was not sent.
    pub(super) fn tail_is_next(&self) -> bool {
        self.tail().is_some_and(|(last, len)| last.end - len <= self.sent)
    }

    /// The last packet pushes.
    pub(super) fn push(&mut self) {
        self.pushed = self.end();
        if self.tail().is_some()
            && let Some(last) = self.packets.back_mut()
        {
            last.push = true;
        }
    }

    /// A record ends with the last packet.
    pub(super) fn end_record(&mut self) {
        if let Some(last) = self.packets.back_mut() {
            last.record = true;
        }
    }

    /// Everything below this position is acknowledged.
    pub(super) fn acknowledged(&mut self, position: u64) {
        if position <= self.start {
            return;
        }
        let whole = self.packets.partition_point(|p| p.end <= position);
        self.packets.drain(..whole);
        self.start = position;
        self.sent = self.sent.max(position);
    }

    /// A packet that holds this position inside becomes two, of which each takes its overhead; the push stays with the
    /// rest (`tcp_fragment`).
    fn split(&mut self, position: u64) {
        let at = self.packets.partition_point(|p| p.end <= position);
        let before = at.checked_sub(1).map_or(self.start, |i| self.packets[i].end);
        if at < self.packets.len() && position > before.max(self.start) {
            self.packets.insert(at, Packet { end: position, push: false, record: false });
        }
    }

    /// The next edge of a full segment of its packet from this position on, or the last one before it.
    fn edge(&self, position: u64, next: bool, smss: u32) -> u64 {
        let at = self.packets.partition_point(|p| p.end <= position);
        let Some(packet) = self.packets.get(at) else { return position };
        let start = at.checked_sub(1).map_or(self.start, |i| self.packets[i].end).max(self.start);
        let (inside, smss) = (position.saturating_sub(start), u64::from(smss.max(1)));
        let segments = if next { inside.div_ceil(smss) } else { inside / smss };
        (start + segments * smss).min(packet.end)
    }

    /// What was sent from one position to another is SACKed: packets are split at its ends, and become one in it
    /// where they hold full segments (`tcp_match_skb_to_sack`, `tcp_shift_skb_data`).
    pub(super) fn sacked(&mut self, from: u64, to: u64, smss: u32) {
        let (from, to) = (self.edge(from, true, smss), self.edge(to, false, smss));
        if from >= to {
            return;
        }
        self.split(from);
        self.split(to);
        let mut i = self.packets.partition_point(|p| p.end <= from);
        let mut start = from;
        while let Some(next) = self.packets.get(i + 1).filter(|next| next.end <= to) {
            let whole = |len: u64| len >= u64::from(smss);
            let end = self.packets[i].end;
            if whole(end - start) && whole(next.end - end) {
                self.packets.remove(i);
            } else {
                (i, start) = (i + 1, end);
            }
        }
    }

    /// Segments leave at once, in packets of at most `most`. A packet of more than one pushes
    /// (`__tcp_transmit_skb`); one that ends within a queued packet splits it, and the push stays with the
    /// rest (`tcp_fragment`).
    pub(super) fn depart(&mut self, burst: &mut [Transmit], smss: u32, most: u64) {
        let mut i = 0;
        while i < burst.len() {
            let count = self.depart_one(&mut burst[i..], smss, most);
            i += count;
        }
    }

    /// The first packet of a burst leaves. Returns its segments.
    fn depart_one(&mut self, burst: &mut [Transmit], smss: u32, most: u64) -> usize {
        let first = burst[0];
        self.split(first.offset);
        let at = self.packets.partition_point(|p| p.end <= first.offset);
        let Some(queued) = self.packets.get(at).copied().filter(|_| first.segment.len > 0) else { return 1 };
        let end = |t: &Transmit| t.offset + u64::from(t.segment.len);
        // SACK blocks make all of a packet's segments shorter, by 40 bytes at most.
        let is_full = |t: &Transmit| t.segment.len == first.segment.len && t.segment.len + 40 >= smss;
        let mut count = 1;
        while let Some(next) = burst.get(count)
            && (count as u64) < most
            && is_full(&burst[count - 1])
            && next.segment.len > 0
            && next.offset == end(&burst[count - 1])
            && next.offset < queued.end
            && next.retransmission == first.retransmission
        {
            count += 1;
        }
        let last = &mut burst[..count];
        // What a FIN lets go pushes as the engine has it (RFC 1122 §4.2.2.2).
        let ends = last[count - 1].segment.flags.has(Flags::FIN | Flags::PSH);
        for t in last.iter_mut() {
            t.segment.flags = Flags(t.segment.flags.0 & !Flags::PSH.0);
        }
        let last = &mut last[count - 1];
        let end = end(last);
        // A probe pushes whatever it carries (`tcp_write_wakeup`).
        let probes = last.kind == SendKind::WindowProbe;
        let pushes = count > 1 || probes || ends || (end >= queued.end && queued.push);
        // Text on a SYN does not push (`tcp_send_syn_data`).
        if pushes && !last.segment.flags.has(Flags::SYN) {
            last.segment.flags |= Flags::PSH;
        }
        self.split(end);
        self.sent = self.sent.max(end);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(queue: &mut WriteQueue, bytes: Bytes) {
        queue.append(bytes, 4000, true);
        queue.push();
    }

    #[test]
    fn a_write_is_appended_to_what_was_not_sent() {
        let mut queue = WriteQueue::default();
        written(&mut queue, 400);
        assert_eq!(queue.room(4000, 10_000), 3600);
        written(&mut queue, 600);
        assert_eq!(queue.memory(), 1000 + PACKET_OVERHEAD);
        assert!(queue.tail_is_next() && !queue.tail_is_full(4000));
    }

    #[test]
    fn nothing_is_appended_to_a_record() {
        let mut queue = WriteQueue::default();
        written(&mut queue, 400);
        queue.end_record();
        assert_eq!(queue.room(4000, 10_000), 4000, "a new packet");
        assert_eq!(queue.room(4000, 400 + PACKET_OVERHEAD), 0, "no memory for another");
        written(&mut queue, 400);
        assert_eq!(queue.memory(), 800 + 2 * PACKET_OVERHEAD);
    }

    #[test]
    fn what_is_sacked_is_split_off_and_becomes_one_packet() {
        let mut queue = WriteQueue::default();
        written(&mut queue, 4000);
        written(&mut queue, 4000);
        queue.sacked(1000, 2000, 1000);
        assert_eq!(queue.memory(), 8000 + 4 * PACKET_OVERHEAD);
        queue.sacked(1000, 6000, 1000);
        assert_eq!(queue.memory(), 8000 + 3 * PACKET_OVERHEAD);
        queue.sacked(1000, 6000, 1000);
        assert_eq!(queue.memory(), 8000 + 3 * PACKET_OVERHEAD);
        // Parts of segments count for nothing.
        queue.sacked(1000, 6500, 1000);
        queue.sacked(7999, 8000, 1000);
        assert_eq!(queue.memory(), 8000 + 3 * PACKET_OVERHEAD);
    }

    #[test]
    fn a_short_segment_stays_apart() {
        let mut queue = WriteQueue::default();
        written(&mut queue, 1500);
        queue.sacked(0, 1000, 1000);
        queue.sacked(0, 1500, 1000);
        assert_eq!(queue.memory(), 1500 + 2 * PACKET_OVERHEAD);
    }

    #[test]
    fn acknowledged_packets_free_their_memory() {
        let mut queue = WriteQueue::default();
        written(&mut queue, 4000);
        written(&mut queue, 4000);
        queue.acknowledged(4001);
        assert_eq!(queue.memory(), 3999 + PACKET_OVERHEAD);
        queue.acknowledged(4000);
        assert_eq!(queue.memory(), 3999 + PACKET_OVERHEAD, "positions do not go back");
    }
}
