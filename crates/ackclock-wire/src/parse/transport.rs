//! TCP and UDP in IP packets.

use std::net::IpAddr;

use ackclock_units::SeqNumber;
use etherparse::err::tcp;
use etherparse::{IpNumber, TcpHeaderSlice, UdpHeaderSlice, ip_number};

use super::{IpHeader, Strictness, TcpView, Transport, UdpView, truncated};
use crate::options::read_options;
use crate::{Flags, Options, Segment, WireError, checksum};

/// A TCP header whose options are not parsed yet, and the payload.
#[derive(Clone, Copy, Debug)]
pub struct TcpHeader<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// A capture cut the options: those behind the cut are missing.
    pub options_cut: bool,
    /// Its payload; shorter than that of the segment when a capture cut it.
    pub payload: &'a [u8],
    seq: u32,
    ack: u32,
    len: u32,
    window: u16,
    flags: Flags,
    urgent: u16,
    options: &'a [u8],
}

impl IpHeader<'_> {
    /// The TCP header in a packet from a capture; `None` if it holds no TCP.
    ///
    /// # Errors
    /// The bytes are invalid; see [`WireError`].
    #[inline]
    pub fn tcp(&self) -> Option<Result<TcpHeader<'_>, WireError>> {
        (self.protocol == ip_number::TCP.0).then(|| tcp_header(self, Strictness::CAPTURE))
    }
}

impl TcpHeader<'_> {
    /// The segment, whose length is the payload's on the wire. In a capture the options before an invalid one
    /// are still useful.
    #[inline]
    pub fn segment(&self) -> Segment {
        let mut options = Options::default();
        let _ = read_options(self.options, &mut options);
        self.with(options)
    }

    #[inline]
    fn with(&self, options: Options) -> Segment {
        Segment {
            seq: SeqNumber(self.seq),
            ack: SeqNumber(self.ack),
            len: self.len,
            window: self.window,
            flags: self.flags,
            urgent: self.urgent,
            options,
        }
    }
}

pub(super) fn parse<'a>(ip: &IpHeader<'a>, strict: Strictness) -> Result<Transport<'a>, WireError> {
    match IpNumber(ip.protocol) {
        ip_number::TCP => {
            let tcp = tcp_header(ip, strict)?;
            let mut options = Options::default();
            read_options(tcp.options, &mut options)
                .or_else(|e| if strict.whole { Err(e) } else { Ok(()) })?;
            let TcpHeader { src_port, dst_port, options_cut, payload, .. } = tcp;
            Ok(Transport::Tcp(TcpView {
                src_port,
                dst_port,
                segment: tcp.with(options),
                options_cut,
                payload,
            }))
        }
        ip_number::UDP => udp(ip.src, ip.dst, ip.body, ip.len, checks(ip, strict)).map(Transport::Udp),
        _ => Ok(Transport::Other { protocol: ip.protocol, payload: ip.body }),
    }
}

fn checks(ip: &IpHeader<'_>, strict: Strictness) -> bool {
    strict.checksums && ip.body.len() == ip.len
}

#[inline]
fn tcp_header<'a>(ip: &IpHeader<'a>, strict: Strictness) -> Result<TcpHeader<'a>, WireError> {
    let body = ip.body;
    let header = TcpHeaderSlice::from_slice(body).map_err(|e| match e {
        tcp::HeaderSliceError::Len(e) => truncated("TCP header", &e),
        tcp::HeaderSliceError::Content(tcp::HeaderError::DataOffsetTooSmall { data_offset }) => {
            WireError::HeaderLength { what: "TCP", len: usize::from(data_offset) * 4 }
        }
    });
    let header = match header {
        Err(WireError::Truncated { .. }) if !strict.whole && body.len() >= etherparse::TcpHeader::MIN_LEN => {
            return cut_tcp_header(body, ip.len);
        }
        other => other?,
    };
    if checks(ip, strict) && checksum::transport(ip.src, ip.dst, ip_number::TCP.0, ip.len, body) != [0, 0] {
        return Err(WireError::Checksum { what: "TCP" });
    }
    let header_len = header.slice().len();
    Ok(TcpHeader {
        src_port: header.source_port(),
        dst_port: header.destination_port(),
        options_cut: false,
        payload: &body[header_len..],
        seq: header.sequence_number(),
        ack: header.acknowledgment_number(),
        len: (ip.len - header_len) as u32,
        window: header.window_size(),
        flags: flags(header.slice()[12], header.slice()[13]),
        urgent: header.urgent_pointer(),
        options: &body[etherparse::TcpHeader::MIN_LEN..header_len],
    })
}

/// The flags of a header's bytes 12 and 13. The three reserved bits are ignored (RFC 9293 §3.1).
fn flags(reserved: u8, rest: u8) -> Flags {
    Flags(u16::from_be_bytes([reserved, rest]) & Flags::ALL.0)
}

/// A header whose options were cut by the capture: the fixed part, and the options that are complete.
#[cold]
fn cut_tcp_header(body: &[u8], len: usize) -> Result<TcpHeader<'_>, WireError> {
    let word = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    let long = |at: usize| (u32::from(word(at)) << 16) | u32::from(word(at + 2));
    let header_len = usize::from(body[12] >> 4) * 4;
    if len < header_len {
        return Err(WireError::Truncated { what: "TCP header", needed: header_len, got: len });
    }
    Ok(TcpHeader {
        src_port: word(0),
        dst_port: word(2),
        options_cut: body.len() < header_len,
        payload: &[],
        seq: long(4),
        ack: long(8),
        len: (len - header_len) as u32,
        window: word(14),
        flags: flags(body[12], body[13]),
        urgent: word(18),
        options: &body[etherparse::TcpHeader::MIN_LEN..header_len.min(body.len())],
    })
}

fn udp(src: IpAddr, dst: IpAddr, body: &[u8], len: usize, check: bool) -> Result<UdpView<'_>, WireError> {
    let header = UdpHeaderSlice::from_slice(body).map_err(|e| truncated("UDP header", &e))?;
    let (header_len, datagram) = (header.slice().len(), usize::from(header.length()));
    if datagram < header_len {
        return Err(WireError::LengthField { what: "UDP", len: datagram, least: header_len });
    }
    if datagram > len {
        return Err(WireError::Truncated { what: "UDP datagram", needed: datagram, got: len });
    }
    let body = &body[..datagram.min(body.len())];
    // Zero means "none" over IPv4 (RFC 768) and is refused over IPv6 (RFC 8200 §8.1).
    let unsummed = header.checksum() == 0 && src.is_ipv4();
    if check
        && !unsummed
        && (header.checksum() == 0
            || checksum::transport(src, dst, ip_number::UDP.0, datagram, body) != [0, 0])
    {
        return Err(WireError::Checksum { what: "UDP" });
    }
    Ok(UdpView {
        src_port: header.source_port(),
        dst_port: header.destination_port(),
        len: (datagram - header_len) as u32,
        payload: &body[header_len..],
    })
}
