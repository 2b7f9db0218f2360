//! Sequence numbers of scripts. Those of SYNs are written as they are, all others count from the SYN of their
//! side. A host counts all of them so.

use std::collections::BTreeMap;

use crate::ast::Tcp;
use crate::host::Ports;

const SYN: u16 = 0x02;

/// The numbers of a connection's SYNs, once each was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Initial {
    local: Option<u32>,
    remote: Option<u32>,
}

/// The initial sequence numbers that a script writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    known: BTreeMap<(u16, u16), Initial>,
}

impl Numbers {
    fn of(&mut self, ports: Ports) -> &mut Initial {
        self.known.entry((ports.local, ports.remote)).or_default()
    }

    /// A segment that arrives, counted as the host counts.
    pub(super) fn in_host_terms(&mut self, mut tcp: Tcp, ports: Ports) -> Tcp {
        if tcp.flags.bits & SYN != 0 {
            let initial = self.of(ports);
            tcp.seq = tcp.seq.wrapping_sub(*initial.remote.get_or_insert(tcp.seq));
            tcp.ack = tcp.ack.map(|ack| ack.wrapping_sub(initial.local.unwrap_or(0)));
        }
        tcp
    }

    /// A segment that was sent, counted as the script does, which expects `expected`.
    pub(super) fn in_script_terms(&mut self, mut tcp: Tcp, expected: &Tcp, ports: Ports) -> Tcp {
        if tcp.flags.bits & SYN != 0 {
            let initial = self.of(ports);
            tcp.seq = tcp.seq.wrapping_add(*initial.local.get_or_insert(expected.seq));
            tcp.ack = tcp.ack.map(|ack| ack.wrapping_add(initial.remote.unwrap_or(0)));
        }
        tcp
    }
}
