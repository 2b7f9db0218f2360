//! What the emulator reads and changes of a packet.

use ackclock_sim::{PacketInfo, PacketKind};
use ackclock_units::{Ecn, SeqNumber};
use ackclock_wire::{Flags, SackBlocks, Segment, Strictness, Transport, parse_ip_as};

use super::flow_numbers::AddressPair;

/// The parsed parts of a packet.
pub(super) struct About {
    pub(super) info: PacketInfo,
    pub(super) ecn: Ecn,
    /// Source and destination addresses.
    pub(super) ends: Option<AddressPair>,
    /// A segment of TCP.
    pub(super) segment: Option<Segment>,
    /// What it reports as arrived out of order ([`super::streams::Streams::sacked`]).
    pub(super) sacked: SackBlocks,
    /// Links that an earlier copy of its payload has passed ([`super::streams::Placed::seen`]).
    pub(super) seen: u8,
}

impl About {
    /// What it acknowledges.
    pub(super) fn ack(&self) -> Option<SeqNumber> {
        self.segment.filter(|s| s.flags.any(Flags::ACK)).map(|s| s.ack)
    }
}

/// Parses what faults, queues and access delays need of a packet. A packet that is not TCP or UDP over IP has
/// only a size.
pub(super) fn describe(packet: &[u8]) -> About {
    let opaque = PacketInfo::opaque(packet.len() as u32);
    let Ok(ip) = parse_ip_as(packet, Strictness::CAPTURE) else {
        let (ecn, sacked) = (Ecn::NotEct, SackBlocks::NONE);
        return About { info: opaque, ecn, ends: None, segment: None, sacked, seen: 0 };
    };
    let mut segment = None;
    let info = match &ip.transport {
        Transport::Tcp(tcp) => {
            let flags = tcp.segment.flags;
            let kind = if flags.any(Flags::RST) {
                PacketKind::Reset
            } else if flags.any(Flags::SYN) {
                PacketKind::Syn
            } else if tcp.segment.len > 0 {
                PacketKind::Data
            } else if flags.any(Flags::FIN) {
                PacketKind::Fin
            } else {
                PacketKind::Ack
            };
            segment = Some(tcp.segment);
            PacketInfo { kind, payload: tcp.segment.len, ..opaque }
        }
        Transport::Udp(_) => PacketInfo { kind: PacketKind::Datagram, ..opaque },
        Transport::Other { .. } => opaque,
    };
    About { info, ecn: ip.ecn, ends: Some(ip.endpoints()), segment, sacked: SackBlocks::NONE, seen: 0 }
}

/// Sets both bits of the ECN field, and updates the IPv4 header checksum (RFC 1624).
pub(super) fn set_ce(packet: &mut [u8]) {
    match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 20 => {
            let old = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= 3;
            let new = u16::from_be_bytes([packet[0], packet[1]]);
            let checksum = !u16::from_be_bytes([packet[10], packet[11]]);
            // HC' = ~(~HC + ~m + m') in ones' complement arithmetic.
            let mut sum = u32::from(checksum) + u32::from(!old) + u32::from(new);
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        }
        // Version, traffic class and flow label share the first four bytes; the ECN field is the lower half
        // of the traffic class.
        Some(6) if packet.len() >= 40 => packet[1] |= 0x30,
        _ => {}
    }
}
