//! ICMP errors about segments that the kernel sent.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ackclock_script::ast::Icmp;
use ackclock_script::{Link, Ports, icmp_kind};
use ackclock_units::{Ecn, SeqNumber};
use ackclock_wire::{Flags, IcmpKind, Segment, emit_tcp_header, internet_checksum};

use super::addresses;
use super::packets::Flow;

// Types and codes of ICMP (RFC 792).
const UNREACHABLE: u8 = 3;
const SOURCE_QUENCH: u8 = 4;
const TIME_EXCEEDED: u8 = 11;
const PARAMETER_PROBLEM: u8 = 12;
const FRAGMENTATION_NEEDED: u8 = 4;

// Types of ICMPv6 (RFC 4443 §2.1).
const UNREACHABLE_V6: u8 = 1;
const TOO_BIG_V6: u8 = 2;
const TIME_EXCEEDED_V6: u8 = 3;
const PARAMETER_PROBLEM_V6: u8 = 4;

/// IPv4 header without options, bytes.
const IP_HEADER: usize = 20;
/// Hops that are left.
const TTL: u8 = 64;
/// IP's numbers of ICMP and ICMPv6.
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

/// The packet of an ICMP error about a segment of a connection. Without a quotation it is about the oldest
/// segment that is outstanding.
///
/// # Errors
///
/// Names a type or code that is not known, or a size that no packet has.
pub(super) fn packet(icmp: &Icmp, ports: Ports, flow: Option<&Flow>, link: Link) -> Result<Vec<u8>, String> {
    let kind = icmp_kind(icmp, link.is_v6())?;
    let (iss, acked) = flow.map_or((0, 0), |f| (f.iss, f.acked));
    let (seq, len) = icmp.quoted.unwrap_or((acked, 0));
    let seq = SeqNumber(seq.wrapping_add(iss));
    let segment = Segment { seq, len, flags: Flags::ACK, ..Segment::default() };
    let [local, remote] = addresses::of_packets(link, [ports.local, ports.remote]);
    let mut quoted = Vec::new();
    emit_tcp_header(local, remote, &segment, Ecn::NotEct, &mut quoted).map_err(|e| e.to_string())?;
    match (local.ip(), remote.ip()) {
        (IpAddr::V4(local), IpAddr::V4(remote)) => over_v4(kind, &quoted, local, remote),
        (IpAddr::V6(local), IpAddr::V6(remote)) => Ok(over_v6(kind, &quoted, local, remote)),
        _ => Err("the two addresses are of two families".to_owned()),
    }
}

fn over_v4(kind: IcmpKind, quoted: &[u8], local: Ipv4Addr, remote: Ipv4Addr) -> Result<Vec<u8>, String> {
    let (kind, code, mtu) = match kind {
        IcmpKind::TooBig { mtu } => (UNREACHABLE, FRAGMENTATION_NEEDED, mtu),
        IcmpKind::Unreachable(code) => (UNREACHABLE, code, 0),
        IcmpKind::SourceQuench => (SOURCE_QUENCH, 0, 0),
        IcmpKind::TimeExceeded => (TIME_EXCEEDED, 0, 0),
        IcmpKind::ParameterProblem => (PARAMETER_PROBLEM, 0, 0),
    };
    let mtu = u16::try_from(mtu).map_err(|_| format!("{mtu} is no MTU up to 65535"))?;
    // The checksum of ICMP is behind type and code, the MTU in the last two bytes of the header (RFC 1191
    // §4).
    let mut body = vec![kind, code, 0, 0, 0, 0];
    body.extend(mtu.to_be_bytes());
    body.extend(quoted);
    let sum = internet_checksum(&body);
    body[2..4].copy_from_slice(&sum);
    let total = u16::try_from(IP_HEADER + body.len()).unwrap_or(u16::MAX);
    // Version 4 and five words; service, length, identification, fragment, TTL, protocol, checksum (RFC 791
    // §3.1).
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0, 0, TTL, ICMP, 0, 0]);
    packet.extend(remote.octets());
    packet.extend(local.octets());
    let sum = internet_checksum(&packet);
    packet[10..12].copy_from_slice(&sum);
    packet.extend(body);
    Ok(packet)
}

fn over_v6(kind: IcmpKind, quoted: &[u8], local: Ipv6Addr, remote: Ipv6Addr) -> Vec<u8> {
    let (kind, code, word) = match kind {
        IcmpKind::TooBig { mtu } => (TOO_BIG_V6, 0, mtu),
        IcmpKind::Unreachable(code) => (UNREACHABLE_V6, code, 0),
        IcmpKind::TimeExceeded => (TIME_EXCEEDED_V6, 0, 0),
        IcmpKind::ParameterProblem | IcmpKind::SourceQuench => (PARAMETER_PROBLEM_V6, 0, 0),
    };
    // A word for the MTU is behind the checksum (RFC 4443 §3.2).
    let mut body = vec![kind, code, 0, 0];
    body.extend(word.to_be_bytes());
    body.extend(quoted);
    let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
    // The checksum covers addresses, length and protocol too (RFC 4443 §2.3, RFC 8200 §8.1).
    let mut summed = [remote.octets(), local.octets()].concat();
    summed.extend(len.to_be_bytes());
    summed.extend([0, 0, 0, ICMP_V6]);
    summed.extend(&body);
    let sum = internet_checksum(&summed);
    body[2..4].copy_from_slice(&sum);
    // Version 6, class and label; length, next header, hops (RFC 8200 §3).
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes());
    packet.extend([ICMP_V6, TTL]);
    packet.extend(remote.octets());
    packet.extend(local.octets());
    packet.extend(body);
    packet
}

#[cfg(test)]
mod tests {
    use ackclock_script::IpVersion;
    use ackclock_wire::{Strictness, parse_icmp_error, parse_ip};

    use super::*;

    #[test]
    fn an_error_is_parsed_as_it_was_written() {
        let too_big = |kind: &str, code: Option<&str>| Icmp {
            kind: kind.into(),
            code: code.map(str::to_owned),
            mtu: Some(1300),
            quoted: Some((7, 1000)),
        };
        let ports = Ports { local: 8080, remote: 40_000 };
        for (ip, icmp, len) in [
            (IpVersion::V4, too_big("unreachable", Some("frag_needed")), 1040),
            (IpVersion::V6, too_big("packet_too_big", None), 1060),
        ] {
            let link = Link { ip, ..Link::default() };
            let bytes = packet(&icmp, ports, None, link).unwrap();
            let error = parse_icmp_error(&parse_ip(&bytes).unwrap(), Strictness::FULL).unwrap();
            assert_eq!(error.kind, IcmpKind::TooBig { mtu: 1300 });
            assert_eq!([error.from, error.to], addresses::of_packets(link, [8080, 40_000]));
            assert_eq!((error.seq, error.packet_len), (SeqNumber(7), len));
            let unknown = Icmp { code: Some("no_such".into()), kind: "unreachable".into(), ..icmp };
            assert!(packet(&unknown, ports, None, link).is_err());
        }
    }
}
