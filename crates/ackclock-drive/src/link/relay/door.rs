//! The door of the far end: it keeps the packets that begin something until the outside world has answered.

use std::collections::{HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ackclock_wire::{Flags, Strictness, Transport, parse_ip_as};

use crate::DriveError;
use crate::linux::Gate;
use crate::linux::wait::Waker;

/// Both ends of a conversation: the command's, and the one that it wants to reach.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Ends {
    pub(super) client: SocketAddrV4,
    pub(super) server: SocketAddrV4,
}

/// What a packet at the door begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Begins {
    Connection(Ends),
    Datagrams(Ends),
}

/// Keeps SYNs, and datagrams between ends that are not known yet.
#[derive(Debug)]
pub(super) struct Door {
    state: Mutex<DoorState>,
    /// Woken when a packet waits.
    pub(super) waker: Waker,
    /// The far end's device, for what was kept.
    device: OwnedFd,
}

#[derive(Debug, Default)]
struct DoorState {
    waiting: VecDeque<(Begins, Vec<u8>)>,
    /// Datagrams between these pass.
    known: HashSet<Ends>,
}

/// Packets that wait at the same time; further ones are dropped, as by a full queue.
const MOST_WAITING: usize = 1024;

impl Door {
    /// In front of this device.
    pub(super) fn new(device: OwnedFd) -> Result<Self, DriveError> {
        Ok(Self { state: Mutex::default(), waker: Waker::new()?, device })
    }

    /// The packet that has waited longest.
    pub(super) fn next(&self) -> Option<(Begins, Vec<u8>)> {
        self.state().waiting.pop_front()
    }

    /// Lets a packet in.
    pub(super) fn let_in(&self, packet: &[u8]) {
        // A packet that the device refuses is lost, as on a wire.
        let _ = rustix::io::write(&self.device, packet);
    }

    /// Lets in this datagram and all later ones between the same ends, in order.
    pub(super) fn open(&self, ends: Ends, first: &[u8]) {
        let mut state = self.state();
        self.let_in(first);
        state.waiting.retain(|(begins, packet)| {
            let same = *begins == Begins::Datagrams(ends);
            if same {
                self.let_in(packet);
            }
            !same
        });
        state.known.insert(ends);
    }

    /// Keeps datagrams between these ends again.
    pub(super) fn close(&self, ends: Ends) {
        self.state().known.remove(&ends);
    }

    fn state(&self) -> MutexGuard<'_, DoorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate for Door {
    fn keeps(&self, packet: &[u8]) -> bool {
        let Some(begins) = begins(packet) else { return false };
        let mut state = self.state();
        if matches!(begins, Begins::Datagrams(ends) if state.known.contains(&ends)) {
            return false;
        }
        if state.waiting.len() < MOST_WAITING {
            state.waiting.push_back((begins, packet.to_vec()));
        }
        drop(state);
        self.waker.wake();
        true
    }
}

/// What a packet begins; `None` for one that passes in any case.
fn begins(packet: &[u8]) -> Option<Begins> {
    let ip = parse_ip_as(packet, Strictness::CAPTURE).ok()?;
    let (client, server) = ip.endpoints();
    let (SocketAddr::V4(client), SocketAddr::V4(server)) = (client, server) else { return None };
    if matches!(ip.dst, IpAddr::V4(to) if to.is_multicast() || to.is_broadcast()) {
        return None;
    }
    let ends = Ends { client, server };
    match ip.transport {
        Transport::Tcp(tcp) => {
            let flags = tcp.segment.flags;
            let begins = flags.any(Flags::SYN) && !flags.any(Flags::ACK) && !flags.any(Flags::RST);
            begins.then_some(Begins::Connection(ends))
        }
        Transport::Udp(_) => Some(Begins::Datagrams(ends)),
        Transport::Other { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Ecn;
    use ackclock_wire::{Segment, emit_tcp, emit_udp};

    use super::*;

    fn ends() -> (SocketAddr, SocketAddr) {
        ("100.64.0.1:5000".parse().unwrap(), "192.0.2.7:80".parse().unwrap())
    }

    fn tcp(flags: Flags) -> Vec<u8> {
        let ((from, to), mut packet) = (ends(), Vec::new());
        let segment = Segment { flags, ..Segment::default() };
        emit_tcp(from, to, &segment, &[], Ecn::NotEct, &mut packet).unwrap();
        packet
    }

    #[test]
    fn what_begins_a_conversation_is_kept() {
        let (SocketAddr::V4(client), SocketAddr::V4(server)) = ends() else { unreachable!() };
        let both = Ends { client, server };
        assert_eq!(begins(&tcp(Flags::SYN)), Some(Begins::Connection(both)));
        assert_eq!(begins(&tcp(Flags::SYN | Flags::ACK)), None);
        assert_eq!(begins(&tcp(Flags::ACK)), None);
        let mut datagram = Vec::new();
        emit_udp(client.into(), server.into(), b"x", Ecn::NotEct, &mut datagram).unwrap();
        assert_eq!(begins(&datagram), Some(Begins::Datagrams(both)));
        for wrong in [&[][..], &[0x45; 3], &datagram[..20]] {
            assert_eq!(begins(wrong), None);
        }
    }
}
