//! ICMP errors as scripts write them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ackclock_units::{Instant, SeqNumber};
use ackclock_wire::{IcmpError, IcmpKind};

use super::Flow;
use crate::ast::Icmp;
use crate::host::Ports;

/// Codes of "destination unreachable" by their names (RFC 792, RFC 1122 §3.2.2.1).
const UNREACHABLE: &[(&str, u8)] = &[
    ("net_unreachable", 0),
    ("host_unreachable", 1),
    ("protocol_unreachable", 2),
    ("port_unreachable", 3),
    ("source_route_failed", 5),
    ("net_unreachable_for_tos", 11),
    ("host_unreachable_for_tos", 12),
    ("pkt_filtered", 13),
];

/// The ICMP error that a script writes, about a segment of a connection.
pub(super) fn error(icmp: &Icmp, ports: Ports, flow: Option<&Flow>) -> Result<IcmpError, String> {
    let kind = match (icmp.kind.as_str(), icmp.code.as_deref()) {
        ("unreachable", Some("frag_needed")) => IcmpKind::TooBig { mtu: icmp.mtu.unwrap_or(0) },
        ("unreachable", code) => {
            let code = code.unwrap_or("net_unreachable");
            let known = UNREACHABLE.iter().find(|(name, _)| *name == code);
            IcmpKind::Unreachable(known.ok_or_else(|| format!("the ICMP code {code} is not known here"))?.1)
        }
        ("source_quench", None) => IcmpKind::SourceQuench,
        ("time_exceeded", _) => IcmpKind::TimeExceeded,
        ("parameter_problem", _) => IcmpKind::ParameterProblem,
        (kind, _) => return Err(format!("the ICMP type {kind} is not known here")),
    };
    // Without a quotation it is about the oldest segment that is outstanding.
    let oldest = flow.map_or(0, |f| f.connection.view(Instant::ZERO).snd_una.0);
    let (seq, len) = icmp.quoted.unwrap_or((oldest, 0));
    let address = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    Ok(IcmpError {
        kind,
        from: address(ports.local),
        to: address(ports.remote),
        seq: SeqNumber(seq),
        packet_len: len + 40,
    })
}
