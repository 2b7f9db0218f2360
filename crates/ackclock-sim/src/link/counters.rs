//! Counters of a link.

use ackclock_units::{Bytes, Duration};

/// Counters of a link since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounters {
    /// Packets offered.
    pub offered: u64,
    /// Their bytes.
    pub offered_bytes: Bytes,
    /// Packets dropped by the queue: refused, pushed out, or dropped after admission.
    pub queue_drops: u64,
    /// Those of them that the queue refused although there was room.
    pub early_drops: u64,
    /// Those of them that were in the queue and made room for another packet.
    pub pushed_out: u64,
    /// Those of them that were in the queue and that its scheduler dropped as it chose the next packet.
    pub shed: u64,
    /// Those of them that a policer refused.
    pub policed: u64,
    /// Those of them that were larger than the link carries.
    pub oversized: u64,
    /// The bytes of all of them.
    pub queue_drop_bytes: Bytes,
    /// Packets lost on the wire.
    pub fault_drops: u64,
    /// Packets damaged on the wire.
    pub corrupted: u64,
    /// Packets duplicated on the wire.
    pub duplicated: u64,
    /// Packets held back on the wire.
    pub delayed: u64,
    /// Packets that the queue marked.
    pub marked: u64,
    /// Those of them that it marked as they left.
    pub marked_leaving: u64,
    /// Packets put on the wire, lost there or not.
    pub served: u64,
    /// Their bytes.
    pub served_bytes: Bytes,
    /// Segments with payload and datagrams among them.
    pub served_data: u64,
    /// Time for which the wire was busy with them.
    pub busy: Duration,
    /// Largest backlog seen by an arriving packet, itself included, bytes; the packet in service is not part
    /// of it.
    pub max_backlog: Bytes,
    /// The same in packets.
    pub max_backlog_packets: u32,
    /// Packets in the queue that the wire will lose: the faults of a first-in first-out link decide as a
    /// packet is offered.
    pub doomed: u64,
    /// The backlog in bytes, summed over time in nanoseconds.
    pub byte_ns: u128,
    /// The backlog in packets, summed over time in nanoseconds.
    pub packet_ns: u128,
}

impl LinkCounters {
    /// Packets that found the queue full: those that it dropped for no other reason.
    pub fn full_drops(&self) -> u64 {
        let others = self.early_drops + self.pushed_out + self.shed + self.policed + self.oversized;
        self.queue_drops.saturating_sub(others)
    }
}
