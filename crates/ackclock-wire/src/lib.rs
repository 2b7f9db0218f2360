//! Parses and writes IP and TCP headers, options and checksums, and defines the [`Segment`] that the engine
//! uses.
//!
//! [`parse_ip`] parses a packet without copying, [`emit_tcp`] writes one, [`parse_icmp_error`] parses an ICMP
//! error about one. Parsing never panics: it returns a view or a [`WireError`].

mod checksum;
mod emit;
mod error;
mod fast_open;
mod icmp;
mod options;
mod parse;
mod segment;

pub use checksum::internet as internet_checksum;
pub use emit::{
    emit_tcp, emit_tcp_header, emit_tcp_raw, emit_tcp_with, emit_udp, emit_udp_header, tcp_packet_len,
};
pub use error::WireError;
pub use fast_open::FastOpen;
pub use icmp::{IcmpError, IcmpKind, parse_icmp_error};
pub use options::{MAX_OPTIONS_LEN, emit_options, parse_options};
pub use parse::{
    IpHeader, IpPacket, Strictness, TcpHeader, TcpView, Transport, UdpView, parse_captured,
    parse_captured_ip, parse_ip, parse_ip_as,
};
pub use segment::{AccEcn, Flags, Options, SackBlocks, Segment, Timestamps};
