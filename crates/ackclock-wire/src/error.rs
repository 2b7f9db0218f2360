use std::fmt;

/// Why bytes could not be parsed as a packet, or a packet could not be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes end before the end of the header or of the packet.
    Truncated {
        /// The header or packet being parsed.
        what: &'static str,
        /// Its length, bytes.
        needed: usize,
        /// Bytes given.
        got: usize,
    },
    /// The first half-byte is neither 4 nor 6.
    Version(u8),
    /// A header with an impossible length (IHL below 5, data offset below 5).
    HeaderLength {
        /// The header.
        what: &'static str,
        /// The length in the field, bytes.
        len: usize,
    },
    /// A length field contradicts the headers that it covers.
    LengthField {
        /// The header.
        what: &'static str,
        /// The length in the field, bytes.
        len: usize,
        /// The least valid length, bytes.
        least: usize,
    },
    /// A fragment of a larger packet; fragments are not reassembled.
    Fragment,
    /// A checksum does not match.
    Checksum {
        /// Which.
        what: &'static str,
    },
    /// A TCP option of an impossible length (RFC 9293 §3.1, MUST-7).
    TcpOption {
        /// Kind of the option.
        kind: u8,
        /// Its length field; 0 if that is missing.
        len: u8,
    },
    /// More IPv6 extension headers than are parsed.
    ExtensionHeaders,
    /// A packet of this protocol is no ICMP message.
    NotIcmp(u8),
    /// An ICMP message of this type reports no error.
    NotIcmpError(u8),
    /// An ICMP message quotes a packet of this protocol, which is not TCP.
    NotTcp(u8),
    /// The TCP options do not fit into the 40 bytes that a header has for them.
    OptionsTooLong(u32),
    /// The packet would exceed 65,535 bytes.
    PacketTooLong(usize),
    /// Source and destination are not of one address family.
    MixedFamilies,
    /// The payload given does not have the length of the segment.
    PayloadLength {
        /// `Segment::len`.
        segment: u32,
        /// Bytes given.
        payload: usize,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { what, needed, got } => {
                write!(f, "{what} needs {needed} bytes, there are {got}")
            }
            Self::Version(v) => write!(f, "IP version {v} is neither 4 nor 6"),
            Self::HeaderLength { what, len } => {
                write!(f, "{what} header length {len} is below the least, 20")
            }
            Self::LengthField { what, len, least } => {
                write!(f, "{what} length field {len} is below the least possible here, {least}")
            }
            Self::Fragment => write!(f, "the packet is a fragment, and fragments are not reassembled"),
            Self::Checksum { what } => write!(f, "{what} checksum does not match"),
            Self::TcpOption { kind, len } => write!(f, "TCP option {kind} has the impossible length {len}"),
            Self::ExtensionHeaders => write!(f, "more than {MAX_EXTENSION_HEADERS} IPv6 extension headers"),
            Self::NotIcmp(protocol) => write!(f, "protocol {protocol} is not ICMP"),
            Self::NotIcmpError(kind) => write!(f, "ICMP type {kind} reports no error"),
            Self::NotTcp(protocol) => {
                write!(f, "the quoted packet is of protocol {protocol}, not TCP (6)")
            }
            Self::OptionsTooLong(n) => write!(f, "TCP options take {n} bytes, a header has room for 40"),
            Self::PacketTooLong(n) => write!(f, "the packet would be {n} bytes long, IP allows 65535"),
            Self::MixedFamilies => write!(f, "source and destination must both be IPv4 or both IPv6"),
            Self::PayloadLength { segment, payload } => {
                write!(f, "the segment has {segment} bytes of payload, {payload} are given")
            }
        }
    }
}

impl std::error::Error for WireError {}

/// The most IPv6 extension headers that are skipped.
pub(crate) const MAX_EXTENSION_HEADERS: usize = 8;
