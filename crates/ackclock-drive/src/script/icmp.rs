//! ICMP errors about segments that the kernel sent.

use ackclock_script::ast::Icmp;
use ackclock_script::{Ports, icmp_kind};
use ackclock_units::{Ecn, SeqNumber};
use ackclock_wire::{Flags, IcmpKind, Segment, emit_tcp_header, internet_checksum};

use super::packets::Flow;
use super::{LOCAL, REMOTE, local, remote};

// Types and codes of ICMP (RFC 792).
const UNREACHABLE: u8 = 3;
const SOURCE_QUENCH: u8 = 4;
const TIME_EXCEEDED: u8 = 11;
const PARAMETER_PROBLEM: u8 = 12;
const FRAGMENTATION_NEEDED: u8 = 4;

/// IPv4 header without options, bytes.
const IP_HEADER: usize = 20;
/// Hops that are left.
const TTL: u8 = 64;
/// IP's number of ICMP.
const ICMP: u8 = 1;

/// The packet of an ICMP error about a segment of a connection. Without a quotation it is about the oldest
/// segment that is outstanding.
///
/// # Errors
///
/// Names a type or code that is not known, or a size that no packet has.
pub(super) fn packet(icmp: &Icmp, ports: Ports, flow: Option<&Flow>) -> Result<Vec<u8>, String> {
    let (kind, code, mtu) = match icmp_kind(icmp)? {
        IcmpKind::TooBig { mtu } => (UNREACHABLE, FRAGMENTATION_NEEDED, mtu),
        IcmpKind::Unreachable(code) => (UNREACHABLE, code, 0),
        IcmpKind::SourceQuench => (SOURCE_QUENCH, 0, 0),
        IcmpKind::TimeExceeded => (TIME_EXCEEDED, 0, 0),
        IcmpKind::ParameterProblem => (PARAMETER_PROBLEM, 0, 0),
    };
    let mtu = u16::try_from(mtu).map_err(|_| format!("{mtu} is no MTU up to 65535"))?;
    let (iss, acked) = flow.map_or((0, 0), |f| (f.iss, f.acked));
    let (seq, len) = icmp.quoted.unwrap_or((acked, 0));
    let seq = SeqNumber(seq.wrapping_add(iss));
    let quoted = Segment { seq, len, flags: Flags::ACK, ..Segment::default() };
    // The checksum of ICMP is behind type and code, the MTU in the last two bytes of the header (RFC 1191
    // §4).
    let mut body = vec![kind, code, 0, 0, 0, 0];
    body.extend(mtu.to_be_bytes());
    emit_tcp_header(local(ports.local), remote(ports.remote), &quoted, Ecn::NotEct, &mut body)
        .map_err(|e| e.to_string())?;
    let sum = internet_checksum(&body);
    body[2..4].copy_from_slice(&sum);
    let total = u16::try_from(IP_HEADER + body.len()).unwrap_or(u16::MAX);
    // Version 4 and five words; service, length, identification, fragment, TTL, protocol, checksum (RFC 791
    // §3.1).
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0, 0, TTL, ICMP, 0, 0]);
    packet.extend(REMOTE.octets());
    packet.extend(LOCAL.octets());
    let sum = internet_checksum(&packet);
    packet[10..12].copy_from_slice(&sum);
    packet.extend(body);
    Ok(packet)
}

#[cfg(test)]
mod tests {
    use ackclock_wire::{Strictness, parse_icmp_error, parse_ip};

    use super::*;

    #[test]
    fn an_error_is_parsed_as_it_was_written() {
        let icmp = Icmp {
            kind: "unreachable".into(),
            code: Some("frag_needed".into()),
            mtu: Some(1200),
            quoted: Some((7, 1000)),
        };
        let ports = Ports { local: 8080, remote: 40_000 };
        let bytes = packet(&icmp, ports, None).unwrap();
        let error = parse_icmp_error(&parse_ip(&bytes).unwrap(), Strictness::FULL).unwrap();
        assert_eq!(error.kind, IcmpKind::TooBig { mtu: 1200 });
        assert_eq!((error.from, error.to), (local(8080), remote(40_000)));
        assert_eq!((error.seq, error.packet_len), (SeqNumber(7), 1040));
        let unknown = Icmp { code: Some("no_such".into()), ..icmp };
        assert!(packet(&unknown, ports, None).is_err());
    }
}
