//! Where IP packets come from and go to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair, sockopt};

use super::Tun;
use crate::DriveError;

/// Where IP packets come from and go to: a TUN device, or a pair of sockets inside the process. Reading and writing never wait.
#[derive(Debug)]
pub enum Port {
    /// A TUN device, behind which is a kernel.
    Tun(Tun),
    /// One end of [`Port::pair`].
    Socket(OwnedFd),
}

/// Room for packets between two ports of a pair, bytes asked for. The kernel gives less to those without CAP_NET_ADMIN.
const ROOM: usize = 16 << 20;

impl Port {
    /// Two ports: what one sends the other receives, packet by packet.
    pub fn pair() -> Result<(Self, Self), DriveError> {
        let make = || -> rustix::io::Result<_> {
            let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
            for socket in [&a, &b] {
                if sockopt::set_socket_send_buffer_size_force(socket, ROOM).is_err() {
                    sockopt::set_socket_send_buffer_size(socket, ROOM)?;
                }
            }
            Ok((Self::Socket(a), Self::Socket(b)))
        };
        make().map_err(|e| DriveError::System("make a pair of sockets", e.into()))
    }

    /// Takes the next packet; `WouldBlock` when there is none.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tun(tun) => tun.recv(buffer),
            Self::Socket(fd) => Ok(recv(fd, buffer, RecvFlags::empty())?.0),
        }
    }

    /// Sends a packet. An error means that it was not taken: the far end's queue is full, or the device down.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        match self {
            Self::Tun(tun) => tun.send(packet).map(drop),
            Self::Socket(fd) => Ok(send(fd, packet, SendFlags::NOSIGNAL).map(drop)?),
        }
    }
}

impl From<Tun> for Port {
    fn from(tun: Tun) -> Self {
        Self::Tun(tun)
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.as_fd(),
            Self::Socket(fd) => fd.as_fd(),
        }
    }
}
