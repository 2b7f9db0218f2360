//! Datagrams between the command and one address of the outside world.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use ackclock_units::{Duration, Instant};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, recv, send, socket_with,
    sockopt,
};

use super::door::Ends;
use crate::{DriveError, Namespace};

/// A pair of sockets is closed when nothing has passed for this long: what RFC 4787 §4.3 (REQ-5) recommends for
/// translators between networks, which this is like.
pub(super) const IDLE: Duration = Duration::from_secs(300);
/// Datagrams that a pair moves each way before others have their turn.
const TURN: usize = 256;

/// Both sockets.
pub(super) struct Datagrams {
    pub(super) ends: Ends,
    far: OwnedFd,
    outer: OwnedFd,
    /// The packet that began it. The kernel of the far end quotes it when the outside world refuses it.
    pub(super) first: Vec<u8>,
    pub(super) last: Instant,
}

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Passed {
    /// It waits for its sockets.
    Waits,
    /// There may be more at once.
    HasMore,
    /// The outside world has refused a datagram.
    Refused,
}

impl Datagrams {
    /// Opens both sockets.
    pub(super) fn open(
        far: &Namespace,
        ends: Ends,
        target: SocketAddr,
        first: Vec<u8>,
        now: Instant,
    ) -> Result<Self, DriveError> {
        let outer = opened(None, target).map_err(|e| DriveError::System("open a socket", e))?;
        let inner = far
            .run(|| opened(Some(ends.server.into()), ends.client.into()))?
            .map_err(|e| DriveError::System("open a socket at the far end", e))?;
        Ok(Self { ends, far: inner, outer, first, last: now })
    }

    /// Its sockets: at the far end, and to the outside world.
    pub(super) fn sockets(&self) -> [&OwnedFd; 2] {
        [&self.far, &self.outer]
    }

    /// Passes what has come. `buffer` holds any datagram.
    pub(super) fn pump(&mut self, now: Instant, buffer: &mut [u8]) -> Passed {
        let up = pass(&self.far, &self.outer, buffer);
        let down = pass(&self.outer, &self.far, buffer);
        if up.moved + down.moved > 0 {
            self.last = now;
        }
        match (up.refused_there || down.refused_here, up.moved == TURN || down.moved == TURN) {
            (true, _) => Passed::Refused,
            (_, true) => Passed::HasMore,
            _ => Passed::Waits,
        }
    }
}

#[derive(Default)]
struct Moved {
    moved: usize,
    /// An ICMP error came for what one of them sent.
    refused_here: bool,
    refused_there: bool,
}

fn pass(from: &OwnedFd, to: &OwnedFd, buffer: &mut [u8]) -> Moved {
    let mut done = Moved::default();
    while done.moved < TURN {
        match recv(from, &mut *buffer, RecvFlags::empty()) {
            Ok((n, _)) => {
                done.moved += 1;
                // Another error is a datagram that the network does not take: it is lost.
                let sent = send(to, &buffer[..n.min(buffer.len())], SendFlags::NOSIGNAL);
                done.refused_there |= matches!(sent, Err(Errno::CONNREFUSED));
            }
            Err(Errno::INTR) => {}
            Err(e) => {
                done.refused_here = e == Errno::CONNREFUSED;
                break;
            }
        }
    }
    done
}

/// A connected socket for datagrams.
fn opened(from: Option<SocketAddr>, to: SocketAddr) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    if let Some(from) = from {
        // Several of the command's sockets may talk to one address.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &from)?;
    }
    connect(&socket, &to)?;
    Ok(socket)
}
