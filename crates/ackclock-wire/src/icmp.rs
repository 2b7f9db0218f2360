//! ICMP error messages about TCP segments (RFC 792, RFC 4443).

use std::net::{IpAddr, SocketAddr};

use ackclock_units::SeqNumber;
use etherparse::err::{ipv4, ipv6};
use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice, ip_number};

use crate::parse::truncated;
use crate::{IpPacket, Strictness, Transport, WireError, checksum};

/// An ICMP error about a segment that was not delivered. It is not authenticated: anybody can send one (RFC
/// 5927).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IcmpError {
    /// The kind of error.
    pub kind: IcmpKind,
    /// Source of the quoted segment.
    pub from: SocketAddr,
    /// Destination of the quoted segment.
    pub to: SocketAddr,
    /// The quoted sequence number.
    pub seq: SeqNumber,
    /// Length of the quoted packet by its own length field, IP header included.
    pub packet_len: u32,
}

/// The kind of an ICMP error. Codes are those of the message, which differ between IPv4 and IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpKind {
    /// Destination unreachable, for a reason that is not the packet's size (RFC 792, RFC 1122 §3.2.2.1, RFC
    /// 4443 §3.1).
    Unreachable(u8),
    /// Larger than the MTU of a link: fragmentation needed (RFC 1191 §4), packet too big (RFC 4443 §3.2).
    TooBig {
        /// MTU of the link, bytes; 0 from routers that do not report it (RFC 1191 §5).
        mtu: u32,
    },
    /// Hop limit exceeded, or not reassembled in time (RFC 792, RFC 4443 §3.3).
    TimeExceeded,
    /// Something is wrong with the header (RFC 792, RFC 4443 §3.4).
    ParameterProblem,
    /// A request to send less, deprecated (RFC 6633).
    SourceQuench,
}

/// ICMP header, before the quoted packet.
const HEADER: usize = 8;
/// The part of the segment in every quotation: ports and sequence number (RFC 792).
const QUOTED: usize = 8;
/// Fragmentation needed and DF set (RFC 792).
const FRAGMENTATION_NEEDED: u8 = 4;

/// Parses an ICMP error about a TCP segment. The checksum of the quoted header is not checked: routers on the
/// path may have changed the header.
///
/// # Errors
/// The packet is no such message, or its bytes are invalid; see [`WireError`].
pub fn parse_icmp_error(packet: &IpPacket<'_>, strict: Strictness) -> Result<IcmpError, WireError> {
    let (protocol, payload) = match packet.transport {
        Transport::Other { protocol, payload } => (protocol, payload),
        Transport::Tcp(_) => return Err(WireError::NotIcmp(ip_number::TCP.0)),
        Transport::Udp(_) => return Err(WireError::NotIcmp(ip_number::UDP.0)),
    };
    let v6 = packet.src.is_ipv6();
    if IpNumber(protocol) != if v6 { ip_number::IPV6_ICMP } else { ip_number::ICMP } {
        return Err(WireError::NotIcmp(protocol));
    }
    let Some((header, quoted)) = payload.split_first_chunk::<HEADER>() else {
        return Err(WireError::Truncated { what: "ICMP header", needed: HEADER, got: payload.len() });
    };
    // Over IPv6 with a pseudo header (RFC 4443 §2.3), over IPv4 without.
    let sum = if v6 {
        checksum::transport(packet.src, packet.dst, protocol, payload.len(), payload)
    } else {
        checksum::internet(payload)
    };
    if strict.checksums && sum != [0, 0] {
        return Err(WireError::Checksum { what: "ICMP" });
    }
    let kind = kind_of(v6, *header)?;
    let (from, to, packet_len, segment) = if v6 { quoted_v6(quoted)? } else { quoted_v4(quoted)? };
    let Some(&[s0, s1, d0, d1, q0, q1, q2, q3]) = segment.first_chunk::<QUOTED>() else {
        return Err(WireError::Truncated { what: "quoted TCP header", needed: QUOTED, got: segment.len() });
    };
    Ok(IcmpError {
        kind,
        from: SocketAddr::new(from, u16::from_be_bytes([s0, s1])),
        to: SocketAddr::new(to, u16::from_be_bytes([d0, d1])),
        seq: SeqNumber(u32::from_be_bytes([q0, q1, q2, q3])),
        packet_len,
    })
}

fn kind_of(v6: bool, [kind, code, _, _, m0, m1, m2, m3]: [u8; HEADER]) -> Result<IcmpKind, WireError> {
    Ok(match (v6, kind) {
        // RFC 1191 §4: the lower half of the word that was unused before.
        (false, 3) if code == FRAGMENTATION_NEEDED => {
            IcmpKind::TooBig { mtu: u16::from_be_bytes([m2, m3]).into() }
        }
        (false, 3) | (true, 1) => IcmpKind::Unreachable(code),
        (true, 2) => IcmpKind::TooBig { mtu: u32::from_be_bytes([m0, m1, m2, m3]) },
        (false, 4) => IcmpKind::SourceQuench,
        (false, 11) | (true, 3) => IcmpKind::TimeExceeded,
        (false, 12) | (true, 4) => IcmpKind::ParameterProblem,
        _ => return Err(WireError::NotIcmpError(kind)),
    })
}

/// Source, destination, length, and the quoted part of the segment.
type Quoted<'a> = (IpAddr, IpAddr, u32, &'a [u8]);

fn quoted_v4(bytes: &[u8]) -> Result<Quoted<'_>, WireError> {
    let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|e| match e {
        ipv4::HeaderSliceError::Len(e) => truncated("quoted IPv4 header", &e),
        ipv4::HeaderSliceError::Content(ipv4::HeaderError::UnexpectedVersion { version_number }) => {
            WireError::Version(version_number)
        }
        ipv4::HeaderSliceError::Content(ipv4::HeaderError::HeaderLengthSmallerThanHeader { ihl }) => {
            WireError::HeaderLength { what: "quoted IPv4", len: usize::from(ihl) * 4 }
        }
    })?;
    // Our packets are never fragmented.
    if header.is_fragmenting_payload() {
        return Err(WireError::Fragment);
    }
    if header.protocol() != ip_number::TCP {
        return Err(WireError::NotTcp(header.protocol().0));
    }
    Ok((
        header.source_addr().into(),
        header.destination_addr().into(),
        header.total_len().into(),
        &bytes[header.slice().len()..],
    ))
}

fn quoted_v6(bytes: &[u8]) -> Result<Quoted<'_>, WireError> {
    let header = Ipv6HeaderSlice::from_slice(bytes).map_err(|e| match e {
        ipv6::HeaderSliceError::Len(e) => truncated("quoted IPv6 header", &e),
        ipv6::HeaderSliceError::Content(ipv6::HeaderError::UnexpectedVersion { version_number }) => {
            WireError::Version(version_number)
        }
    })?;
    // Our packets have no extension headers.
    if header.next_header() != ip_number::TCP {
        return Err(WireError::NotTcp(header.next_header().0));
    }
    let header_len = header.slice().len();
    let total_len = header_len as u32 + u32::from(header.payload_length());
    Ok((header.source_addr().into(), header.destination_addr().into(), total_len, &bytes[header_len..]))
}
