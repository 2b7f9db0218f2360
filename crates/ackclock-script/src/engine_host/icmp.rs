//! ICMP errors as scripts write them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ackclock_units::{Instant, SeqNumber};
use ackclock_wire::IcmpError;

use super::Flow;
use crate::ast::Icmp;
use crate::host::Ports;
use crate::icmp::icmp_kind;

/// The ICMP error that a script writes, about a segment of a connection.
pub(super) fn error(icmp: &Icmp, ports: Ports, flow: Option<&Flow>, v6: bool) -> Result<IcmpError, String> {
    let kind = icmp_kind(icmp, v6)?;
    // Without a quotation it is about the oldest segment that is outstanding.
    let oldest = flow.map_or(0, |f| f.connection.view(Instant::ZERO).snd_una.0);
    let (seq, len) = icmp.quoted.unwrap_or((oldest, 0));
    let any: IpAddr = if v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let address = |port| SocketAddr::new(any, port);
    Ok(IcmpError {
        kind,
        from: address(ports.local),
        to: address(ports.remote),
        seq: SeqNumber(seq),
        packet_len: len.saturating_add(if v6 { 60 } else { 40 }),
    })
}
