//! Fragments of IPv4 packets (RFC 791 §3.2), put together in bounded memory: of each packet the bytes of its
//! first fragment, which hold the TCP header, and which of its bytes have come.

use std::collections::VecDeque;

use super::{LinkType, Packet, encapsulated};
use crate::ranges::Ranges;
use crate::segment::{CapturedSegment, NotASegment};

/// Packets of which fragments are waited for. The oldest makes room for a new one.
const MOST: usize = 512;
/// Bytes kept of a first fragment: headers of IP and TCP, perhaps within a tunnel.
const KEPT: usize = 256;

/// Fragments of packets that are not whole.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    waiting: VecDeque<Waiting>,
    /// Fragments of packets that were given up.
    given_up: u64,
    /// Packets that were put together.
    pub joined: u64,
}

/// By what fragments of one packet are recognised (RFC 791 §3.2): the addresses, the protocol, and the
/// identification.
type Of = ([u8; 8], u8, u16);

#[derive(Debug)]
struct Waiting {
    of: Of,
    /// The header and the first bytes, once the first fragment has come.
    first: Vec<u8>,
    /// Which of the payload has come, and how long it is, once the last fragment has come.
    come: Ranges,
    len: Option<u64>,
    fragments: u64,
}

impl Fragments {
    /// The segment in a packet, perhaps the last missing fragment of one.
    ///
    /// # Errors
    /// The reason if it holds none.
    #[inline]
    pub(crate) fn segment(&mut self, p: &Packet<'_>) -> Result<CapturedSegment, NotASegment> {
        // Replaced in place: a segment is large.
        let mut seen = CapturedSegment::in_packet(p);
        if matches!(seen, Err(NotASegment::Fragment)) {
            seen = self.fragment(p);
        }
        seen
    }

    /// How many fragments belong to no whole packet.
    pub(crate) fn left_out(&self) -> u64 {
        self.given_up + self.waiting.iter().map(|w| w.fragments).sum::<u64>()
    }

    fn fragment(&mut self, p: &Packet<'_>) -> Result<CapturedSegment, NotASegment> {
        let bytes = encapsulated::fragment(p).ok_or(NotASegment::Fragment)?;
        let Some(header) = Header::of(bytes) else { return Err(NotASegment::Fragment) };
        let place = match self.waiting.iter().position(|w| w.of == header.of) {
            Some(place) => place,
            None => {
                if self.waiting.len() >= MOST
                    && let Some(oldest) = self.waiting.pop_front()
                {
                    self.given_up += oldest.fragments;
                }
                self.waiting.push_back(Waiting::new(header.of));
                self.waiting.len() - 1
            }
        };
        let Some(whole) = self.waiting[place].take(&header, bytes) else { return Err(NotASegment::Piece) };
        self.waiting.remove(place);
        self.joined += 1;
        let packet =
            Packet { link: LinkType::Raw, original_len: u32::from(whole.total), data: &whole.bytes, ..*p };
        CapturedSegment::in_packet(&packet)
    }
}

impl Waiting {
    fn new(of: Of) -> Self {
        Self { of, first: Vec::new(), come: Ranges::default(), len: None, fragments: 0 }
    }

    /// Takes a fragment, and returns the packet once it is whole.
    fn take(&mut self, h: &Header, bytes: &[u8]) -> Option<Whole> {
        self.fragments += 1;
        let end = h.offset + h.payload;
        if h.offset == 0 && self.first.is_empty() {
            self.first.extend_from_slice(&bytes[..bytes.len().min(KEPT).min(h.header + h.payload as usize)]);
        }
        if !h.more {
            self.len = Some(end);
        }
        self.come.add(h.offset, end, |_, _| {});
        let len = self.len?;
        if self.first.is_empty() || self.come.bytes_above(0) < len {
            return None;
        }
        let header = usize::from(self.first[0] & 0xf) * 4;
        // RFC 791 §3.1: no packet is longer.
        let total = u16::try_from(header as u64 + len).ok()?;
        let mut bytes = std::mem::take(&mut self.first);
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        // No more fragments, and none before.
        bytes[6..8].fill(0);
        Some(Whole { bytes, total })
    }
}

/// A packet that was put together, as a capture that cut it has it.
struct Whole {
    bytes: Vec<u8>,
    total: u16,
}

/// What the header of a fragment says.
struct Header {
    of: Of,
    header: usize,
    /// Where its payload begins in that of the whole packet, and how long it is.
    offset: u64,
    payload: u64,
    more: bool,
}

impl Header {
    /// RFC 791 §3.1. `None` if it is not IPv4 or its lengths contradict each other.
    fn of(bytes: &[u8]) -> Option<Self> {
        let half = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let header = usize::from(bytes.first()? & 0xf) * 4;
        if bytes[0] >> 4 != 4 || header < 20 || bytes.len() < header {
            return None;
        }
        let (total, id, place) = (usize::from(half(2)?), half(4)?, half(6)?);
        let payload = total.checked_sub(header).filter(|n| *n > 0)? as u64;
        let mut addresses = [0; 8];
        addresses.copy_from_slice(bytes.get(12..20)?);
        Some(Self {
            of: (addresses, *bytes.get(9)?, id),
            header,
            offset: u64::from(place & 0x1fff) * 8,
            payload,
            more: place & 0x2000 != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Instant;

    use super::*;

    /// A TCP segment of 1000 bytes after 32 bytes of header, in an IPv4 packet.
    fn whole(id: u16) -> Vec<u8> {
        let mut p = vec![0; 20 + 32 + 1000];
        (p[0], p[8], p[9]) = (0x45, 64, 6);
        let total = p.len() as u16;
        p[2..4].copy_from_slice(&total.to_be_bytes());
        p[4..6].copy_from_slice(&id.to_be_bytes());
        p[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        p[20..24].copy_from_slice(&[0x9c, 0x40, 0, 80]);
        p[24..28].copy_from_slice(&7_u32.to_be_bytes());
        (p[32], p[33]) = (0x80, 0x10);
        p[40..52].copy_from_slice(&[1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
        p
    }

    /// Its fragments, cut before these bytes of the payload.
    fn cut(packet: &[u8], at: &[usize]) -> Vec<Vec<u8>> {
        let payload = packet.len() - 20;
        let mut edges = vec![0];
        edges.extend(at);
        edges.push(payload);
        edges
            .windows(2)
            .map(|e| {
                let mut f = packet[..20].to_vec();
                f.extend_from_slice(&packet[20 + e[0]..20 + e[1]]);
                let total = f.len() as u16;
                f[2..4].copy_from_slice(&total.to_be_bytes());
                let place = (e[0] / 8) as u16 | if e[1] < payload { 0x2000 } else { 0 };
                f[6..8].copy_from_slice(&place.to_be_bytes());
                f
            })
            .collect()
    }

    fn packet(data: &[u8], frame: u64) -> Packet<'_> {
        let at = Instant::from_nanos(frame);
        Packet { at, link: LinkType::Raw, interface: 0, original_len: data.len() as u32, frame, data }
    }

    #[test]
    fn fragments_in_any_order_are_one_segment_again() {
        let pieces = cut(&whole(9), &[256, 512, 768]);
        let expected = CapturedSegment::in_packet(&packet(&whole(9), 4)).expect("a segment");
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let mut fragments = Fragments::default();
            let mut last = Err(NotASegment::Piece);
            for (n, i) in order.into_iter().enumerate() {
                assert_eq!(last, Err(NotASegment::Piece));
                // Cut to 100 bytes by the capture, and once more in between: a copy changes nothing.
                let kept = &pieces[i][..100];
                last = fragments
                    .segment(&Packet { original_len: pieces[i].len() as u32, ..packet(kept, n as u64 + 1) });
                if n < 3 {
                    assert_eq!(fragments.segment(&packet(&pieces[i], 0)), Err(NotASegment::Piece));
                }
            }
            assert_eq!(last.expect("the whole"), expected);
            assert_eq!((fragments.joined, fragments.left_out()), (1, 0));
        }
    }

    #[test]
    fn fragments_in_tunnels_are_put_together() {
        let gre: &[u8] = &[0, 0, 0x08, 0];
        // RFC 7348 §5: UDP to port 4789, the flags, the network; then Ethernet.
        let mut vxlan = vec![0xc0, 0, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 7, 0];
        vxlan.extend([0; 12]);
        vxlan.extend([8, 0]);
        for (protocol, header) in [(4, &[][..]), (47, gre), (17, &vxlan)] {
            let mut fragments = Fragments::default();
            let mut last = Err(NotASegment::Piece);
            for (n, piece) in cut(&whole(9), &[256, 512]).iter().enumerate() {
                let mut outer = vec![0; 20];
                (outer[0], outer[8], outer[9]) = (0x45, 64, protocol);
                outer[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
                outer.extend(header);
                outer.extend(piece);
                let total = outer.len() as u16;
                outer[2..4].copy_from_slice(&total.to_be_bytes());
                if protocol == 17 {
                    outer[24..26].copy_from_slice(&(total - 20).to_be_bytes());
                }
                assert_eq!(last, Err(NotASegment::Piece), "{protocol}");
                last = fragments.segment(&packet(&outer, n as u64 + 1));
            }
            let expected = CapturedSegment::in_packet(&packet(&whole(9), 3)).expect("a segment");
            assert_eq!(last, Ok(expected), "{protocol}");
            assert_eq!((fragments.joined, fragments.left_out()), (1, 0));
        }
    }

    #[test]
    fn those_of_different_packets_are_kept_apart_and_missing_ones_are_counted() {
        let mut fragments = Fragments::default();
        let (a, b) = (cut(&whole(1), &[512]), cut(&whole(2), &[512]));
        assert_eq!(fragments.segment(&packet(&a[0], 1)), Err(NotASegment::Piece));
        assert_eq!(fragments.segment(&packet(&b[1], 2)), Err(NotASegment::Piece));
        assert_eq!(fragments.left_out(), 2);
        assert_eq!(fragments.segment(&packet(&b[0], 3)).map(|s| s.id), Ok(2));
        assert_eq!((fragments.joined, fragments.left_out()), (1, 1));
    }

    #[test]
    fn memory_is_bounded_and_nonsense_is_left_out() {
        let mut fragments = Fragments::default();
        for id in 0..4 * MOST {
            let piece = &cut(&whole(id as u16), &[512])[0];
            assert_eq!(fragments.segment(&packet(piece, 1)), Err(NotASegment::Piece));
        }
        assert_eq!((fragments.waiting.len(), fragments.left_out()), (MOST, 4 * MOST as u64));
        // Beyond the longest packet; no payload; a header longer than what was captured.
        let mut far = cut(&whole(1), &[512])[1].clone();
        far[6..8].copy_from_slice(&0x1fff_u16.to_be_bytes());
        let mut empty = cut(&whole(1), &[512])[0].clone();
        empty[2..4].copy_from_slice(&20_u16.to_be_bytes());
        for nonsense in [&far[..], &empty, &far[..19], &[0x4f; 30]] {
            assert!(fragments.segment(&packet(nonsense, 1)).is_err());
        }
        // Any bytes at all.
        for n in 0..60_000_u32 {
            let mut bytes = cut(&whole(1), &[512])[(n % 2) as usize][..60].to_vec();
            for k in 0..4 {
                let r = n.wrapping_mul(2_654_435_761).rotate_left(k * 7);
                bytes[r as usize % 24] = (r >> 8) as u8;
            }
            let _ = fragments.segment(&packet(&bytes, 1));
        }
        assert!(fragments.waiting.len() <= MOST);
    }
}
