//! Types and codes of ICMP as scripts name them.

use ackclock_wire::IcmpKind;

use crate::ast::Icmp;

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

/// Those of ICMPv6 (RFC 4443 §3.1).
const UNREACHABLE_V6: &[(&str, u8)] = &[
    ("net_unreachable", 0),
    ("admin_prohibited", 1),
    ("not_neighbour", 2),
    ("address_unreachable", 3),
    ("port_unreachable", 4),
];

/// The kind of error that a script writes, of ICMP or of ICMPv6.
///
/// # Errors
///
/// Names a type or code that is not known.
pub fn icmp_kind(icmp: &Icmp, v6: bool) -> Result<IcmpKind, String> {
    Ok(match (icmp.kind.as_str(), icmp.code.as_deref()) {
        ("packet_too_big", None) if v6 => IcmpKind::TooBig { mtu: icmp.mtu.unwrap_or(0) },
        ("unreachable", code) if v6 => {
            let code = code.unwrap_or("net_unreachable");
            let known = UNREACHABLE_V6.iter().find(|(name, _)| *name == code);
            IcmpKind::Unreachable(known.ok_or_else(|| format!("the ICMPv6 code {code} is not known here"))?.1)
        }
        ("unreachable", Some("frag_needed")) => IcmpKind::TooBig { mtu: icmp.mtu.unwrap_or(0) },
        ("unreachable", code) => {
            let code = code.unwrap_or("net_unreachable");
            let known = UNREACHABLE.iter().find(|(name, _)| *name == code);
            IcmpKind::Unreachable(known.ok_or_else(|| format!("the ICMP code {code} is not known here"))?.1)
        }
        ("source_quench", None) if !v6 => IcmpKind::SourceQuench,
        ("time_exceeded", _) => IcmpKind::TimeExceeded,
        ("parameter_problem", _) => IcmpKind::ParameterProblem,
        (kind, _) => {
            let name = if v6 { "ICMPv6" } else { "ICMP" };
            return Err(format!("the {name} type {kind} is not known here"));
        }
    })
}
