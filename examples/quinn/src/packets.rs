//! The packets that a controller was told of and that are still in the network.

use std::collections::VecDeque;

use ackclock_units::Instant;

/// One packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Its number; each transmission has its own, as in QUIC.
    pub number: u64,
    /// When it was sent.
    pub sent_at: Instant,
    /// Its payload.
    pub bytes: u64,
}

/// The packets in the network, in the order in which they were sent.
///
/// An ack in ackclock reports bytes, not which packets they were. They are taken in order: what was lost is
/// what the engine no longer counts in its `pipe`, and lies below what was delivered.
#[derive(Debug, Default)]
pub struct Packets {
    queue: VecDeque<Packet>,
    bytes: u64,
    sent: u64,
}

impl Packets {
    /// A packet was sent; returns it.
    pub fn send(&mut self, sent_at: Instant, bytes: u64) -> Packet {
        let packet = Packet { number: self.sent, sent_at, bytes };
        self.sent += 1;
        self.bytes += bytes;
        self.queue.push_back(packet);
        packet
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes out the oldest packets, so many bytes of them; the last one may be cut.
    pub fn take(&mut self, mut bytes: u64, mut of: impl FnMut(Packet)) {
        while bytes > 0
            && let Some(first) = self.queue.front_mut()
        {
            let part = first.bytes.min(bytes);
            of(Packet { bytes: part, ..*first });
            first.bytes -= part;
            if first.bytes == 0 {
                self.queue.pop_front();
            }
            self.bytes -= part;
            bytes -= part;
        }
    }

    /// Forgets all of them, as after a timeout, when all count as lost. Returns the newest.
    pub fn clear(&mut self) -> Option<Packet> {
        self.bytes = 0;
        let newest = self.queue.back().copied();
        self.queue.clear();
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn packets_leave_in_order_and_bytes_are_conserved() {
        let mut packets = Packets::default();
        for ms in 0..3 {
            assert_eq!(packets.send(at(ms), 1000).number, ms);
        }
        let mut left = Vec::new();
        packets.take(1500, |p| left.push((p.number, p.bytes)));
        assert_eq!(left, [(0, 1000), (1, 500)]);
        assert_eq!(packets.bytes(), 1500);
        packets.take(5000, |p| left.push((p.number, p.bytes)));
        assert_eq!(left[2..], [(1, 500), (2, 1000)]);
        assert_eq!(packets.bytes(), 0);
    }

    #[test]
    fn numbers_continue_after_a_timeout() {
        let mut packets = Packets::default();
        packets.send(at(0), 1000);
        packets.send(at(1), 1000);
        assert_eq!(packets.clear().map(|p| p.number), Some(1));
        assert_eq!(packets.bytes(), 0);
        assert_eq!(packets.clear(), None);
        assert_eq!(packets.send(at(2), 1000).number, 2);
    }
}
