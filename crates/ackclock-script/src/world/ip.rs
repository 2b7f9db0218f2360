//! The IP header of packets that are expected.

use std::collections::BTreeMap;

use ackclock_units::Ecn;

use crate::ast::{IpInfo, Tos};
use crate::host::Departure;
use crate::render;

/// Which flow labels on the wire stand for those that the script writes: a host draws them.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowLabels(BTreeMap<u32, u32>);

impl FlowLabels {
    /// The same label must always stand for the same, and another for another (RFC 6437 §2).
    fn check(&mut self, wanted: u32, met: Option<u32>) -> Result<(), String> {
        let met = match met {
            None => return Err("there is no flow label over IPv4".to_owned()),
            Some(0) => return Err("the packet has no flow label".to_owned()),
            Some(met) => met,
        };
        match self.0.get(&wanted) {
            Some(known) if *known == met => Ok(()),
            Some(known) => {
                Err(format!("flow label {met:#x} instead of {known:#x}, that of {wanted:#x} before"))
            }
            None if self.0.values().any(|known| *known == met) => {
                Err(format!("flow label {met:#x} again, where {wanted:#x} is another than before"))
            }
            None => {
                self.0.insert(wanted, met);
                Ok(())
            }
        }
    }
}

/// Compares the IP header of a packet with what is expected of it.
pub(super) fn compare(expected: &IpInfo, sent: &Departure, labels: &mut FlowLabels) -> Result<(), String> {
    let (ecn, ip) = (sent.ecn, &sent.ip);
    let same = match expected.tos {
        None => true,
        Some(Tos::Ect) => matches!(ecn, Ecn::Ect0 | Ecn::Ect1),
        Some(Tos::Byte(byte)) => byte == ip.dscp << 2 | ecn.bits(),
        Some(tos) => tos == tos_of(ecn),
    };
    if !same {
        return Err(match expected.tos {
            Some(Tos::Byte(byte)) => {
                format!("type of service {:#x} instead of {byte:#x}", ip.dscp << 2 | ecn.bits())
            }
            _ => format!("ECN field {}", render::tos(tos_of(ecn))),
        });
    }
    if let Some(ttl) = expected.ttl.filter(|ttl| *ttl != ip.hops) {
        return Err(format!("{} hops left instead of {ttl}", ip.hops));
    }
    expected.flow_label.map_or(Ok(()), |wanted| labels.check(wanted, ip.flow_label))
}

/// An ECN field as scripts write it.
pub(super) fn tos_of(ecn: Ecn) -> Tos {
    match ecn {
        Ecn::NotEct => Tos::NotEct,
        Ecn::Ect0 => Tos::Ect0,
        Ecn::Ect1 => Tos::Ect1,
        Ecn::Ce => Tos::Ce,
    }
}
