use std::net::{IpAddr, SocketAddr};

use ackclock_units::Ecn;
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6Header, TcpHeader, UdpHeader, ip_number};

use crate::options::{MAX_OPTIONS_LEN, emit_options};
use crate::{Flags, Segment, WireError, checksum};

/// TTL and hop limit of packets.
const HOPS: u8 = 64;

/// Appends a TCP packet with checksums to `out`. Allocates nothing when `out` has room.
///
/// # Errors
/// Addresses of two families, options that do not fit, more than 65,535 bytes, or a payload that is not
/// `segment.len` bytes long; `out` is then unchanged.
pub fn emit_tcp(
    src: SocketAddr,
    dst: SocketAddr,
    segment: &Segment,
    payload: &[u8],
    ecn: Ecn,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    if payload.len() != segment.len as usize {
        return Err(WireError::PayloadLength { segment: segment.len, payload: payload.len() });
    }
    emit_tcp_with(src, dst, segment, ecn, out, |bytes| bytes.copy_from_slice(payload))
}

/// The same, with `fill` writing the payload in place (it gets `segment.len` zero bytes).
///
/// # Errors
/// As [`emit_tcp`].
pub fn emit_tcp_with(
    src: SocketAddr,
    dst: SocketAddr,
    segment: &Segment,
    ecn: Ecn,
    out: &mut Vec<u8>,
    fill: impl FnOnce(&mut [u8]),
) -> Result<(), WireError> {
    let mut options = [0; MAX_OPTIONS_LEN];
    let options_len = emit_options(&segment.options, &mut options)?;
    emit_tcp_raw(src, dst, segment, &options[..options_len], ecn, out, fill)
}

/// The same with the bytes of the options as they are given, instead of those of `segment.options`. A number
/// that is no multiple of four is padded with zeros.
///
/// # Errors
/// As [`emit_tcp`]; options take at most [`MAX_OPTIONS_LEN`] bytes.
pub fn emit_tcp_raw(
    src: SocketAddr,
    dst: SocketAddr,
    segment: &Segment,
    options: &[u8],
    ecn: Ecn,
    out: &mut Vec<u8>,
    fill: impl FnOnce(&mut [u8]),
) -> Result<(), WireError> {
    let start = emit_headers(src, dst, segment, options, ecn, out)?;
    let payload = out.len();
    out.resize(payload + segment.len as usize, 0);
    fill(&mut out[payload..]);
    let len = out.len() - start;
    seal(src, dst, ip_number::TCP, len, &mut out[start..], TCP_CHECKSUM);
    Ok(())
}

/// Appends only the headers of a packet with `segment.len` bytes of payload: length fields count the payload,
/// the checksum assumes zeros. For simulated packets without payload bytes, as in a capture cut after the
/// headers.
///
/// # Errors
/// As [`emit_tcp`].
pub fn emit_tcp_header(
    src: SocketAddr,
    dst: SocketAddr,
    segment: &Segment,
    ecn: Ecn,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let mut options = [0; MAX_OPTIONS_LEN];
    let options_len = emit_options(&segment.options, &mut options)?;
    let start = emit_headers(src, dst, segment, &options[..options_len], ecn, out)?;
    let len = out.len() - start + segment.len as usize;
    seal(src, dst, ip_number::TCP, len, &mut out[start..], TCP_CHECKSUM);
    Ok(())
}

/// Appends a UDP packet with checksums to `out`.
///
/// # Errors
/// Addresses of two families, or more than 65,535 bytes; `out` is then unchanged.
pub fn emit_udp(
    src: SocketAddr,
    dst: SocketAddr,
    payload: &[u8],
    ecn: Ecn,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let start = emit_udp_headers(src, dst, payload.len(), ecn, out)?;
    out.extend_from_slice(payload);
    let len = out.len() - start;
    seal(src, dst, ip_number::UDP, len, &mut out[start..], UDP_CHECKSUM);
    Ok(())
}

/// Appends only the headers of a UDP packet with `len` bytes of payload, assumed to be zeros.
///
/// # Errors
/// As [`emit_udp`].
pub fn emit_udp_header(
    src: SocketAddr,
    dst: SocketAddr,
    len: usize,
    ecn: Ecn,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let start = emit_udp_headers(src, dst, len, ecn, out)?;
    let len = out.len() - start + len;
    seal(src, dst, ip_number::UDP, len, &mut out[start..], UDP_CHECKSUM);
    Ok(())
}

/// Length of the packet that [`emit_tcp`] writes for `segment`, IP header included.
pub fn tcp_packet_len(segment: &Segment, ipv6: bool) -> u32 {
    let ip = if ipv6 { Ipv6Header::LEN } else { Ipv4Header::MIN_LEN };
    ip as u32 + segment.header_len() + segment.len
}

/// Appends IP and TCP headers, the TCP checksum zero; returns where the TCP header starts.
fn emit_headers(
    src: SocketAddr,
    dst: SocketAddr,
    segment: &Segment,
    options: &[u8],
    ecn: Ecn,
    out: &mut Vec<u8>,
) -> Result<usize, WireError> {
    let mut header = TcpHeader::new(src.port(), dst.port(), segment.seq.0, segment.window);
    header.acknowledgment_number = segment.ack.0;
    header.urgent_pointer = segment.urgent;
    // Up to 40 bytes fit.
    header.set_options_raw(options).map_err(|_| WireError::OptionsTooLong(options.len() as u32))?;
    let mut header = header.to_bytes();
    // Offset 12 has the data offset, three reserved bits, and AE (RFC 9768 §3.1.1).
    let [ae, flags] = (segment.flags.0 & Flags::ALL.0).to_be_bytes();
    header[12] |= ae;
    header[13] = flags;
    emit_ip(src.ip(), dst.ip(), ip_number::TCP, header.len() + segment.len as usize, ecn, out)?;
    let start = out.len();
    out.extend_from_slice(&header);
    Ok(start)
}

fn emit_udp_headers(
    src: SocketAddr,
    dst: SocketAddr,
    len: usize,
    ecn: Ecn,
    out: &mut Vec<u8>,
) -> Result<usize, WireError> {
    let total = UdpHeader::LEN.saturating_add(len);
    emit_ip(src.ip(), dst.ip(), ip_number::UDP, total, ecn, out)?;
    let start = out.len();
    // emit_ip has refused more than 65,535 bytes.
    let header = UdpHeader {
        source_port: src.port(),
        destination_port: dst.port(),
        length: total as u16,
        checksum: 0,
    };
    out.extend_from_slice(&header.to_bytes());
    Ok(start)
}

/// Appends an IP header for `len` bytes of transport.
fn emit_ip(
    src: IpAddr,
    dst: IpAddr,
    protocol: IpNumber,
    len: usize,
    ecn: Ecn,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let total = len.saturating_add(Ipv4Header::MIN_LEN);
            let mut header = Ipv4Header {
                dscp: IpDscp::ZERO,
                ecn: IpEcn::try_new(ecn.bits()).unwrap_or_default(),
                total_len: u16::try_from(total).map_err(|_| WireError::PacketTooLong(total))?,
                // Never fragmented, so the identification may have any value (RFC 6864 §4.1).
                dont_fragment: true,
                time_to_live: HOPS,
                protocol,
                source: src.octets(),
                destination: dst.octets(),
                ..Ipv4Header::default()
            };
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&header.to_bytes());
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let header = Ipv6Header {
                traffic_class: ecn.bits(),
                payload_length: u16::try_from(len)
                    .map_err(|_| WireError::PacketTooLong(len.saturating_add(Ipv6Header::LEN)))?,
                next_header: protocol,
                hop_limit: HOPS,
                source: src.octets(),
                destination: dst.octets(),
                ..Ipv6Header::default()
            };
            out.extend_from_slice(&header.to_bytes());
        }
        _ => return Err(WireError::MixedFamilies),
    }
    Ok(())
}

/// Where the checksum lies in the header.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;

/// Writes the checksum of the transport header at the start of `bytes`, `len` bytes long on the wire.
fn seal(src: SocketAddr, dst: SocketAddr, protocol: IpNumber, len: usize, bytes: &mut [u8], at: usize) {
    let mut sum = checksum::transport(src.ip(), dst.ip(), protocol.0, len, bytes);
    if sum == [0, 0] && protocol == ip_number::UDP {
        // A zero would mean "none" (RFC 768).
        sum = [0xff, 0xff];
    }
    bytes[at..at + 2].copy_from_slice(&sum);
}
