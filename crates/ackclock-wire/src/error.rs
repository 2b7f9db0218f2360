use std::fmt;

/// Why bytes are not a packet that we take, or a packet cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes end before the header or the packet does.
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that there are.
        got: usize,
    },
    /// The first half-byte is neither 4 nor 6.
    Version(u8),
    /// A header gives itself a length that it cannot have (IHL below 5, data offset below 5).
    HeaderLength {
        /// Which header.
        what: &'static str,
        /// The length it gives, bytes.
        len: usize,
    },
    /// A length field contradicts the headers that it covers.
    LengthField {
        /// Which header.
        what: &'static str,
        /// The length it gives, bytes.
        len: usize,
        /// The least it could be.
        least: usize,
    },
    /// A fragment of a larger packet; nothing here reassembles.
    Fragment,
    /// A checksum does not match.
    Checksum {
        /// Which.
        what: &'static str,
    },
    /// A TCP option of an impossible length (RFC 9293 §3.1, MUST-7).
    TcpOption {
        /// Its kind.
        kind: u8,
        /// The length it gives; 0 where even that is missing.
        len: u8,
    },
    /// More IPv6 extension headers than any honest packet has.
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
    /// The payload given is not as long as the segment says.
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
            Self::Fragment => write!(f, "the packet is a fragment, only whole packets are taken"),
            Self::Checksum { what } => write!(f, "{what} checksum does not match"),
            Self::TcpOption { kind, len } => write!(f, "TCP option {kind} has the impossible length {len}"),
            Self::ExtensionHeaders => write!(f, "more than {MAX_EXTENSION_HEADERS} IPv6 extension headers"),
            Self::NotIcmp(protocol) => write!(f, "protocol {protocol} is not ICMP"),
            Self::NotIcmpError(kind) => write!(f, "ICMP type {kind} reports no error"),
            Self::NotTcp(protocol) => {
                write!(f, "the quoted packet is of protocol {protocol}, only TCP (6) is taken")
            }
            Self::OptionsTooLong(n) => write!(f, "TCP options take {n} bytes, a header has room for 40"),
            Self::PacketTooLong(n) => write!(f, "the packet would be {n} bytes long, IP allows 65535"),
            Self::MixedFamilies => write!(f, "source and destination must both be IPv4 or both IPv6"),
            Self::PayloadLength { segment, payload } => {
                write!(f, "the segment says {segment} bytes of payload, {payload} are given")
            }
        }
    }
}

impl std::error::Error for WireError {}

/// IPv6 extension headers that are stepped over at most.
pub(crate) const MAX_EXTENSION_HEADERS: usize = 8;
