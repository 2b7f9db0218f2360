//! One TCP segment as a capture shows it.

use std::net::SocketAddr;

use ackclock_units::Instant;
use ackclock_wire::{IpHeader, Segment, TcpHeader, WireError, parse_captured_ip};

use crate::observed::{Beginning, Place};
use crate::read::{Packet, Unread, encapsulated};

/// A TCP segment as a capture shows it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CapturedSegment {
    /// When it was captured.
    pub at: Instant,
    /// Sender.
    pub src: SocketAddr,
    /// Receiver.
    pub dst: SocketAddr,
    /// IPv4 identification; 0 where there is none.
    pub id: u16,
    /// Time to live, or hop limit.
    pub hops: u8,
    /// The interface that captured it.
    pub interface: u32,
    /// The capture cut its TCP options: those behind the cut are missing.
    pub options_cut: bool,
    /// The number of its packet in the file, from 1.
    pub frame: u64,
    /// The first bytes of its payload.
    pub beginning: Beginning,
    /// The segment. Its length is that on the wire.
    pub segment: Segment,
}

/// Why a packet holds no TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotASegment {
    /// Not TCP over IP, or an unsupported link type.
    Other,
    /// A fragment of an IP packet.
    Fragment,
    /// A fragment of a packet whose others have not come yet.
    Piece,
    /// Cut before the end of the TCP header, or malformed.
    Unreadable,
    /// In something whose contents are not read.
    Unread(Unread),
}

impl CapturedSegment {
    /// Its place in the capture.
    pub fn place(&self) -> Place {
        Place { at: self.at, frame: self.frame }
    }

    /// The TCP segment in a packet, also in one that is in a tunnel.
    ///
    /// # Errors
    /// The reason if it holds none.
    pub fn in_packet(p: &Packet<'_>) -> Result<Self, NotASegment> {
        // Nearly always the link header leads to it.
        let Some(offset) = p.link.ip_offset(p.data) else { return encapsulated::find(p) };
        let on_wire = (p.original_len as usize).saturating_sub(offset);
        let bytes = p.data.get(offset..).unwrap_or_default();
        let not = |e| if e == WireError::Fragment { NotASegment::Fragment } else { NotASegment::Unreadable };
        let ip = parse_captured_ip(bytes, on_wire).map_err(not)?;
        let Some(tcp) = ip.tcp() else { return encapsulated::find_in(p, offset, on_wire) };
        Ok(Self::of(p, &ip, &tcp.map_err(not)?))
    }

    /// The segment `tcp` of an IP packet in a captured one.
    // Inlined: built where it is returned, since moving it costs measurable time.
    #[inline(always)]
    pub(crate) fn of(p: &Packet<'_>, ip: &IpHeader<'_>, tcp: &TcpHeader<'_>) -> Self {
        Self {
            at: p.at,
            src: SocketAddr::new(ip.src, tcp.src_port),
            dst: SocketAddr::new(ip.dst, tcp.dst_port),
            id: ip.id,
            hops: ip.hops,
            interface: p.interface,
            options_cut: tcp.options_cut,
            frame: p.frame,
            beginning: Beginning::of(tcp.payload),
            segment: tcp.segment(),
        }
    }
}
