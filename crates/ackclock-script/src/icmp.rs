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

/// The kind of error that a script writes.
///
/// # Errors
///
/// Names a type or code that is not known.
pub fn icmp_kind(icmp: &Icmp) -> Result<IcmpKind, String> {
    Ok(match (icmp.kind.as_str(), icmp.code.as_deref()) {
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
    })
}
