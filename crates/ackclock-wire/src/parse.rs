mod transport;

use std::net::{IpAddr, SocketAddr};

use ackclock_units::Ecn;
use etherparse::err::{LenError, ipv4, ipv6};
use etherparse::{
    IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice, Ipv6RawExtHeaderSlice, ip_number,
};

pub use self::transport::TcpHeader;
use crate::error::MAX_EXTENSION_HEADERS;
use crate::{Segment, WireError, checksum};

/// A parsed IP packet. Nothing is copied: payloads point into the bytes given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpPacket<'a> {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// ECN field.
    pub ecn: Ecn,
    /// TTL or hop limit.
    pub hops: u8,
    /// Identification field; 0 over IPv6.
    pub id: u16,
    /// Length on the wire according to its length field, IP header included; bytes after it (link padding)
    /// are ignored.
    pub total_len: usize,
    /// The payload.
    pub transport: Transport<'a>,
}

/// An IP packet whose payload is not parsed yet.
#[derive(Clone, Copy, Debug)]
pub struct IpHeader<'a> {
    /// See [`IpPacket`].
    pub src: IpAddr,
    /// See [`IpPacket`].
    pub dst: IpAddr,
    /// See [`IpPacket`].
    pub ecn: Ecn,
    /// See [`IpPacket`].
    pub hops: u8,
    /// See [`IpPacket`].
    pub id: u16,
    /// See [`IpPacket`].
    pub total_len: usize,
    /// Protocol number (IPv4) or that of the last next-header field (IPv6).
    pub protocol: u8,
    /// The payload, as far as there is one, and its length on the wire.
    body: &'a [u8],
    len: usize,
}

/// Payload of an IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport<'a> {
    /// A TCP segment.
    Tcp(TcpView<'a>),
    /// A UDP datagram.
    Udp(UdpView<'a>),
    /// Another protocol.
    Other {
        /// Protocol number (IPv4) or that of the last next-header field (IPv6).
        protocol: u8,
        /// The whole payload.
        payload: &'a [u8],
    },
}

/// A TCP segment with its ports and payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpView<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// The segment; `segment.len` is the payload's length on the wire.
    pub segment: Segment,
    /// A capture cut the options: those behind the cut are missing.
    pub options_cut: bool,
    /// Its payload; shorter than `segment.len` when a capture cut it.
    pub payload: &'a [u8],
}

/// A UDP datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpView<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Payload length on the wire.
    pub len: u32,
    /// Its payload; shorter than `len` when a capture cut it.
    pub payload: &'a [u8],
}

impl IpPacket<'_> {
    /// Source and destination with ports; port 0 for what is neither TCP nor UDP.
    pub fn endpoints(&self) -> (SocketAddr, SocketAddr) {
        let (src_port, dst_port) = match self.transport {
            Transport::Tcp(t) => (t.src_port, t.dst_port),
            Transport::Udp(u) => (u.src_port, u.dst_port),
            Transport::Other { .. } => (0, 0),
        };
        (SocketAddr::new(self.src, src_port), SocketAddr::new(self.dst, dst_port))
    }
}

/// How strictly packets are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strictness {
    /// Checksums must match. Off for packets whose checksums are left to hardware (offload).
    pub checksums: bool,
    /// The packet must be complete. Off for captures that keep only the first bytes; checksums of cut packets
    /// are not checked.
    pub whole: bool,
}

impl Strictness {
    /// Everything is checked: packets from a network.
    pub const FULL: Self = Self { checksums: true, whole: true };
    /// Packets from a device that leaves checksums to hardware.
    pub const OFFLOAD: Self = Self { checksums: false, whole: true };
    /// Packets from a capture.
    pub const CAPTURE: Self = Self { checksums: false, whole: false };
}

/// Parses an IP packet with [`Strictness::FULL`].
///
/// # Errors
/// The bytes are invalid; see [`WireError`].
pub fn parse_ip(bytes: &[u8]) -> Result<IpPacket<'_>, WireError> {
    parse_ip_as(bytes, Strictness::FULL)
}

/// Parses an IP packet.
///
/// # Errors
/// The bytes are invalid; see [`WireError`].
pub fn parse_ip_as(bytes: &[u8], strict: Strictness) -> Result<IpPacket<'_>, WireError> {
    parse(bytes, strict, None)
}

/// Parses the captured bytes of an IP packet of `on_wire` bytes, possibly with link padding, with
/// [`Strictness::CAPTURE`]. A length field of zero, as with segmentation offload and jumbograms, means
/// `on_wire`.
///
/// # Errors
/// The bytes are invalid; see [`WireError`].
pub fn parse_captured(bytes: &[u8], on_wire: usize) -> Result<IpPacket<'_>, WireError> {
    parse(bytes, Strictness::CAPTURE, Some(on_wire))
}

/// The same without its transport header, for those who want TCP alone, by [`IpHeader::tcp`].
///
/// # Errors
/// The bytes are invalid; see [`WireError`].
#[inline]
pub fn parse_captured_ip(bytes: &[u8], on_wire: usize) -> Result<IpHeader<'_>, WireError> {
    header(bytes, Strictness::CAPTURE, Some(on_wire))
}

fn parse(bytes: &[u8], strict: Strictness, on_wire: Option<usize>) -> Result<IpPacket<'_>, WireError> {
    let ip = header(bytes, strict, on_wire)?;
    let transport = transport::parse(&ip, strict)?;
    let IpHeader { src, dst, ecn, hops, id, total_len, .. } = ip;
    Ok(IpPacket { src, dst, ecn, hops, id, total_len, transport })
}

#[inline]
fn header(bytes: &[u8], strict: Strictness, on_wire: Option<usize>) -> Result<IpHeader<'_>, WireError> {
    match bytes.first().map(|b| b >> 4) {
        Some(4) => header_v4(bytes, strict, on_wire),
        Some(6) => header_v6(bytes, strict, on_wire),
        Some(version) => Err(WireError::Version(version)),
        None => Err(WireError::Truncated { what: "IP header", needed: 1, got: 0 }),
    }
}

#[inline]
fn header_v4(bytes: &[u8], strict: Strictness, on_wire: Option<usize>) -> Result<IpHeader<'_>, WireError> {
    let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|e| match e {
        ipv4::HeaderSliceError::Len(e) => truncated("IPv4 header", &e),
        ipv4::HeaderSliceError::Content(ipv4::HeaderError::UnexpectedVersion { version_number }) => {
            WireError::Version(version_number)
        }
        ipv4::HeaderSliceError::Content(ipv4::HeaderError::HeaderLengthSmallerThanHeader { ihl }) => {
            WireError::HeaderLength { what: "IPv4", len: usize::from(ihl) * 4 }
        }
    })?;
    let header_len = header.slice().len();
    if strict.checksums && checksum::internet(header.slice()) != [0, 0] {
        return Err(WireError::Checksum { what: "IPv4 header" });
    }
    if header.is_fragmenting_payload() {
        return Err(WireError::Fragment);
    }
    let total_len = match (usize::from(header.total_len()), on_wire) {
        (0, Some(n)) => n,
        (n, _) => n,
    };
    let mut body = body(bytes, "IPv4", header_len, total_len, strict)?;
    let mut body_len = total_len - header_len;
    let mut protocol = header.protocol();
    if protocol == ip_number::AUTH && !strict.whole {
        (protocol, body, body_len) = behind_auth(body, body_len)?;
    }
    let (src, dst) = (header.source_addr().into(), header.destination_addr().into());
    Ok(IpHeader {
        src,
        dst,
        ecn: Ecn::from_bits(header.ecn().value()),
        hops: header.ttl(),
        id: header.identification(),
        total_len,
        protocol: protocol.0,
        body,
        len: body_len,
    })
}

fn header_v6(bytes: &[u8], strict: Strictness, on_wire: Option<usize>) -> Result<IpHeader<'_>, WireError> {
    let header = Ipv6HeaderSlice::from_slice(bytes).map_err(|e| match e {
        ipv6::HeaderSliceError::Len(e) => truncated("IPv6 header", &e),
        ipv6::HeaderSliceError::Content(ipv6::HeaderError::UnexpectedVersion { version_number }) => {
            WireError::Version(version_number)
        }
    })?;
    let header_len = header.slice().len();
    let total_len = match (usize::from(header.payload_length()), on_wire) {
        (0, Some(n)) => n.max(header_len),
        (n, _) => header_len + n,
    };
    let mut body = body(bytes, "IPv6", header_len, total_len, strict)?;
    let mut body_len = total_len - header_len;
    let mut next = header.next_header();
    for seen in 0.. {
        let skip = match next {
            ip_number::IPV6_HEADER_HOP_BY_HOP
            | ip_number::IPV6_ROUTE_HEADER
            | ip_number::IPV6_DESTINATION_OPTIONS => {
                let extension = Ipv6RawExtHeaderSlice::from_slice(body)
                    .map_err(|e| truncated("IPv6 extension header", &e))?;
                next = extension.next_header();
                extension.slice().len()
            }
            ip_number::IPV6_FRAGMENTATION_HEADER => {
                let fragment = Ipv6FragmentHeaderSlice::from_slice(body)
                    .map_err(|e| truncated("IPv6 fragment header", &e))?;
                // An atomic fragment is a whole packet (RFC 6946).
                if fragment.is_fragmenting_payload() {
                    return Err(WireError::Fragment);
                }
                next = fragment.next_header();
                fragment.slice().len()
            }
            ip_number::AUTH if !strict.whole => {
                let (behind, _, rest) = behind_auth(body, body_len)?;
                next = behind;
                body_len - rest
            }
            _ => break,
        };
        if seen == MAX_EXTENSION_HEADERS {
            return Err(WireError::ExtensionHeaders);
        }
        body = &body[skip..];
        body_len -= skip;
    }
    let (src, dst) = (header.source_addr().into(), header.destination_addr().into());
    Ok(IpHeader {
        src,
        dst,
        ecn: Ecn::from_bits(header.ecn().value()),
        hops: header.hop_limit(),
        id: 0,
        total_len,
        protocol: next.0,
        body,
        len: body_len,
    })
}

/// What follows an authentication header (RFC 4302 §2). Nobody checks it here: only captures are read behind
/// it.
fn behind_auth(body: &[u8], len: usize) -> Result<(IpNumber, &[u8], usize), WireError> {
    let [next, words, ..] = *body else {
        return Err(WireError::Truncated { what: "authentication header", needed: 12, got: body.len() });
    };
    let header_len = (usize::from(words) + 2) * 4;
    match body.get(header_len..) {
        Some(rest) if header_len <= len => Ok((IpNumber(next), rest, len - header_len)),
        _ => Err(WireError::Truncated { what: "authentication header", needed: header_len, got: body.len() }),
    }
}

/// The bytes between an IP header and the end according to its length field.
fn body<'a>(
    bytes: &'a [u8],
    what: &'static str,
    header_len: usize,
    total_len: usize,
    strict: Strictness,
) -> Result<&'a [u8], WireError> {
    if total_len < header_len {
        return Err(WireError::LengthField { what, len: total_len, least: header_len });
    }
    if strict.whole && bytes.len() < total_len {
        return Err(WireError::Truncated { what: "IP packet", needed: total_len, got: bytes.len() });
    }
    Ok(&bytes[header_len..total_len.min(bytes.len())])
}

pub(crate) fn truncated(what: &'static str, e: &LenError) -> WireError {
    WireError::Truncated { what, needed: e.required_len, got: e.len }
}
