//! Ports: sources and sinks of IP packets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair, sockopt,
};

use super::capture::{Capture, Tap};
use super::{Offload, Tun};
use crate::DriveError;

/// A source and sink of IP packets: a TUN device, or one of a pair of sockets inside the process. Reads and
/// writes never block.
#[derive(Debug)]
pub struct Port {
    kind: PortKind,
    tap: Option<Tap>,
    gate: Option<Arc<dyn Gate>>,
}

/// Decides about packets on their way into a port.
pub(crate) trait Gate: Send + Sync + std::fmt::Debug {
    /// True when it keeps this packet for now: the port does not send it.
    fn keeps(&self, packet: &[u8]) -> bool;
}

#[derive(Debug)]
enum PortKind {
    /// A TUN device of a kernel.
    Tun(Tun),
    /// One end of [`Port::pair`].
    Socket(OwnedFd),
}

/// Requested buffer between two ports of a pair, bytes. The kernel grants less without CAP_NET_ADMIN.
const BUFFER: usize = 16 << 20;

impl Port {
    /// Two connected ports: each receives the packets that the other sends.
    pub fn pair() -> Result<(Self, Self), DriveError> {
        let make = || -> rustix::io::Result<_> {
            let (a, b) = socketpair(
                AddressFamily::UNIX,
                SocketType::SEQPACKET,
                SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
                None,
            )?;
            for socket in [&a, &b] {
                if sockopt::set_socket_send_buffer_size_force(socket, BUFFER).is_err() {
                    sockopt::set_socket_send_buffer_size(socket, BUFFER)?;
                }
            }
            let end = |socket| Self { kind: PortKind::Socket(socket), tap: None, gate: None };
            Ok((end(a), end(b)))
        };
        make().map_err(|e| DriveError::System("create a pair of sockets", e.into()))
    }

    /// Records its packets from now on, as an interface named `name`.
    ///
    /// # Errors
    /// Those of the file.
    pub fn record(&mut self, capture: &Capture, name: &str) -> Result<(), DriveError> {
        self.tap = Some(capture.tap(name)?);
        Ok(())
    }

    /// Lets a gate decide about the packets that are sent from now on.
    pub(crate) fn guard(&mut self, gate: Arc<dyn Gate>) {
        self.gate = Some(gate);
    }

    /// True for a device with [`super::TunOptions::offload`].
    pub(crate) fn offload(&self) -> bool {
        matches!(&self.kind, PortKind::Tun(tun) if tun.offload())
    }

    /// The packet without the header of a device with offload.
    fn bare<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        if self.offload() { bytes.get(Offload::LEN..).unwrap_or_default() } else { bytes }
    }

    /// Receives the next packet; `WouldBlock` when there is none.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = match &self.kind {
            PortKind::Tun(tun) => tun.recv(buffer)?,
            PortKind::Socket(fd) => recv(fd, &mut *buffer, RecvFlags::empty())?.0,
        };
        // An empty read means that the far end is closed.
        if let Some(tap) = self.tap.as_ref().filter(|_| n > 0) {
            tap.record(self.bare(&buffer[..n.min(buffer.len())]));
        }
        Ok(n)
    }

    /// Sends a packet. An error means that it was dropped: the far end's queue is full, or the device is
    /// down.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        if let Some(tap) = &self.tap {
            tap.record(self.bare(packet));
        }
        if self.gate.as_ref().is_some_and(|gate| gate.keeps(packet)) {
            return Ok(());
        }
        match &self.kind {
            PortKind::Tun(tun) => tun.send(packet).map(drop),
            PortKind::Socket(fd) => Ok(send(fd, packet, SendFlags::NOSIGNAL).map(drop)?),
        }
    }
}

impl From<Tun> for Port {
    fn from(tun: Tun) -> Self {
        Self { kind: PortKind::Tun(tun), tap: None, gate: None }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.kind {
            PortKind::Tun(tun) => tun.as_fd(),
            PortKind::Socket(fd) => fd.as_fd(),
        }
    }
}
