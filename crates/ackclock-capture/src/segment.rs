//! One TCP segment as a capture shows it.

use std::net::SocketAddr;

use ackclock_units::Instant;
use ackclock_wire::{Segment, Transport, WireError, parse_captured};

use crate::read::Packet;

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
    /// Cut before the end of the TCP header, or malformed.
    Unreadable,
}

impl CapturedSegment {
    /// The TCP segment in a packet.
    ///
    /// # Errors
    /// The reason if it holds none.
    pub fn in_packet(p: &Packet<'_>) -> Result<Self, NotASegment> {
        let offset = p.link.ip_offset(p.data).ok_or(NotASegment::Other)?;
        let on_wire = (p.original_len as usize).saturating_sub(offset);
        let bytes = p.data.get(offset..).unwrap_or_default();
        let packet = parse_captured(bytes, on_wire).map_err(|e| {
            if e == WireError::Fragment { NotASegment::Fragment } else { NotASegment::Unreadable }
        })?;
        let (src, dst) = packet.endpoints();
        let Transport::Tcp(tcp) = packet.transport else { return Err(NotASegment::Other) };
        Ok(Self {
            at: p.at,
            src,
            dst,
            id: packet.id,
            hops: packet.hops,
            interface: p.interface,
            options_cut: tcp.options_cut,
            segment: tcp.segment,
        })
    }
}
