//! Packets of many segments, as exchanged with a TUN device with `IFF_VNET_HDR`. The other side does
//! segmentation and checksums.

use std::net::SocketAddr;

use ackclock_engine::{Connection, Transmit};
use ackclock_wire::{Flags, Segment, TcpView, WireError, emit_tcp_header, emit_tcp_with};

use crate::Offload;

/// One or more segments of a connection that are sent as one packet.
pub(super) struct Batch {
    first: Transmit,
    /// Payload of all segments, bytes.
    len: u32,
    /// Flags of all segments; FIN and PSH apply to the last one.
    flags: Flags,
}

/// Largest payload of one packet: the largest IP packet less the largest headers.
const MOST: u32 = 65_535 - 40 - 60;
/// Flags in which segments of one packet may differ.
const LAST: Flags = Flags(Flags::PSH.0 | Flags::FIN.0);

impl Batch {
    pub(super) fn new(first: Transmit) -> Self {
        Self { len: first.segment.len, flags: first.segment.flags, first }
    }

    /// Adds the next segment if it may be part of the same packet.
    pub(super) fn add(&mut self, next: &Transmit) -> bool {
        let (a, b) = (&self.first.segment, &next.segment);
        let same =
            a.ack == b.ack && a.window == b.window && a.options == b.options && self.first.ecn == next.ecn;
        let plain = a.flags.0 & !LAST.0 == b.flags.0 & !LAST.0
            && !a.flags.any(Flags::SYN | Flags::RST | Flags::URG | Flags::CWR);
        // Only the last segment may be smaller than the first.
        let full = a.len > 0 && self.len.is_multiple_of(a.len) && (1..=a.len).contains(&b.len);
        let follows = b.seq == a.seq + self.len && next.offset == self.first.offset + u64::from(self.len);
        let fits =
            same && plain && full && follows && !self.flags.has(Flags::FIN) && self.len + b.len <= MOST;
        if fits {
            self.len += b.len;
            self.flags |= b.flags;
        }
        fits
    }

    /// Writes the packet to the empty `out`. With `offload`, its [`Offload`] header comes first, and the
    /// other side completes the checksum.
    pub(super) fn emit(
        &self,
        from: SocketAddr,
        to: SocketAddr,
        connection: &Connection,
        offload: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let segment = Segment { len: self.len, flags: self.flags, ..self.first.segment };
        let copy = |bytes: &mut [u8]| connection.copy_payload(self.first.offset, bytes);
        if !offload {
            return emit_tcp_with(from, to, &segment, self.first.ecn, out, copy);
        }
        out.resize(Offload::LEN, 0);
        emit_tcp_header(from, to, &segment, self.first.ecn, out)?;
        let headers = out.len() - Offload::LEN;
        let tcp = headers - segment.header_len() as usize;
        out.resize(Offload::LEN + headers + self.len as usize, 0);
        copy(&mut out[Offload::LEN + headers..]);
        let checksum = pseudo_header(from, to, segment.header_len() + self.len);
        out[Offload::LEN + tcp + TCP_CHECKSUM..][..2].copy_from_slice(&checksum.to_be_bytes());
        let size = self.first.segment.len;
        let segments = (self.len > size).then_some((from.is_ipv6(), size as u16, headers as u16));
        out[..Offload::LEN]
            .copy_from_slice(&Offload::to_send(segments, tcp as u16, TCP_CHECKSUM as u16).to_bytes());
        Ok(())
    }
}

/// Offset of the checksum in the TCP header.
const TCP_CHECKSUM: usize = 16;

/// The sum over the pseudo header (RFC 9293 §3.1, RFC 8200 §8.1), not complemented. The other side adds
/// header and payload.
fn pseudo_header(from: SocketAddr, to: SocketAddr, len: u32) -> u16 {
    let words = |ip: std::net::IpAddr| -> u32 {
        let sum =
            |bytes: &[u8]| bytes.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        match ip {
            std::net::IpAddr::V4(a) => sum(&a.octets()),
            std::net::IpAddr::V6(a) => sum(&a.octets()),
        }
    };
    const TCP: u32 = 6;
    let mut sum = words(from.ip()) + words(to.ip()) + TCP + (len & 0xffff) + (len >> 16);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Splits a packet into its segments with their payload, in order. CWR applies to the first segment (RFC 3168
/// §6.1.2), unless it is part of a counter, `counts_marks` (RFC 9768 §3.3.4).
pub(super) fn split<'a>(
    tcp: &TcpView<'a>,
    size: u16,
    counts_marks: bool,
) -> impl Iterator<Item = (Segment, &'a [u8])> {
    let (whole, payload, size) = (tcp.segment, tcp.payload, usize::from(size));
    let last = payload.len().saturating_sub(1) / size;
    payload.chunks(size).enumerate().map(move |(i, chunk)| {
        let mut flags = whole.flags;
        if i < last {
            flags.0 &= !LAST.0;
        }
        if i > 0 && !counts_marks {
            flags.0 &= !Flags::CWR.0;
        }
        (Segment { seq: whole.seq + (i * size) as u32, len: chunk.len() as u32, flags, ..whole }, chunk)
    })
}

#[cfg(test)]
mod tests {
    use ackclock_units::{Ecn, SeqNumber};
    use ackclock_wire::{Strictness, Transport, parse_ip_as};

    use super::*;

    fn transmit(at: u32, len: u32, flags: Flags) -> Transmit {
        let segment = Segment {
            seq: SeqNumber(u32::MAX - 999) + at,
            len,
            flags: Flags::ACK | flags,
            ..Segment::default()
        };
        Transmit {
            segment,
            offset: at.into(),
            retransmission: false,
            kind: ackclock_trace::SendKind::New,
            ecn: Ecn::NotEct,
        }
    }

    #[test]
    fn segments_join_while_they_follow_each_other_and_are_full() {
        let none = Flags::default();
        let mut batch = Batch::new(transmit(0, 1000, none));
        assert!(batch.add(&transmit(1000, 1000, none)));
        assert!(!batch.add(&transmit(3000, 1000, none)), "a gap");
        assert!(!batch.add(&transmit(2000, 1001, none)), "larger than the first");
        assert!(batch.add(&transmit(2000, 10, Flags::PSH)));
        assert!(!batch.add(&transmit(2010, 10, none)), "after one that was not full");
        assert_eq!((batch.len, batch.flags), (2010, Flags::ACK | Flags::PSH));
        let mut batch = Batch::new(transmit(0, 1000, none));
        assert!(batch.add(&transmit(1000, 1000, Flags::FIN)) && !batch.add(&transmit(2000, 1000, none)));
        let mut ack = Batch::new(transmit(0, 0, none));
        assert!(!ack.add(&transmit(0, 0, none)), "acknowledgments are not joined");
        let mut full = Batch::new(transmit(0, 60_000, none));
        assert!(!full.add(&transmit(60_000, 60_000, none)), "more than a packet holds");
    }

    #[test]
    fn a_packet_is_split_into_the_segments_that_were_joined() {
        let payload: Vec<u8> = (0..2010_u32).map(|i| i as u8).collect();
        let segment = Segment {
            seq: SeqNumber(u32::MAX - 999),
            len: 2010,
            flags: Flags::ACK | Flags::FIN | Flags::CWR,
            ..Segment::default()
        };
        let tcp = TcpView { src_port: 1, dst_port: 2, segment, options_cut: false, payload: &payload };
        let counted = split(&tcp, 1000, true).all(|(s, _)| s.flags.has(Flags::CWR));
        assert!(counted, "the counter goes with each");
        let parts: Vec<_> = split(&tcp, 1000, false).map(|(s, p)| (s.seq.0, s.flags, s.len, p[0])).collect();
        let (first, middle, last) = (Flags::ACK | Flags::CWR, Flags::ACK, Flags::ACK | Flags::FIN);
        assert_eq!(
            parts,
            [
                (u32::MAX - 999, first, 1000, 0),
                (0, middle, 1000, 1000_u32 as u8),
                (1000, last, 10, 2000_u32 as u8)
            ]
        );
    }

    #[test]
    fn the_other_side_completes_the_checksum() {
        for (from, to) in [("10.0.0.1:80", "10.0.0.2:1000"), ("[fd00::1]:80", "[fd00::2]:1000")] {
            let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
            let segment = Segment { seq: SeqNumber(5), flags: Flags::ACK, window: 7, ..Segment::default() };
            let mut out = Vec::new();
            emit_tcp_header(from, to, &segment, Ecn::NotEct, &mut out).unwrap();
            let tcp = out.len() - 20;
            let right = [out[tcp + TCP_CHECKSUM], out[tcp + TCP_CHECKSUM + 1]];
            out[tcp + TCP_CHECKSUM..][..2].copy_from_slice(&pseudo_header(from, to, 20).to_be_bytes());
            // As a device does: sum from the start of the TCP header on, complement, store.
            let mut sum: u32 =
                out[tcp..].chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            assert_eq!((!(sum as u16)).to_be_bytes(), right);
            assert!(matches!(parse_ip_as(&out, Strictness::OFFLOAD).unwrap().transport, Transport::Tcp(_)));
        }
    }
}
