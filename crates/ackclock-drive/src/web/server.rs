//! The server.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use ackclock_units::{Bytes, Duration};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendFlags, Shutdown, SocketFlags, acceptfrom_with, recv, send, shutdown, sockopt,
};

use super::plan::{Closes, KernelWeb};
use crate::linux::wait::be_punctual;
use crate::pattern::PayloadPattern;
use crate::sockets::{EDGES, Ready, RunControl, SocketOptions, listener};
use crate::{DriveError, Kernels, OptionSeen, TcpCounts};

/// An accepted connection.
struct ServerConn {
    socket: OwnedFd,
    /// Bytes of the request not read yet.
    unread: Bytes,
    /// Bytes of the response written to the kernel.
    written: Bytes,
    /// The response is completely written.
    answered: bool,
}

/// Results of the server.
pub(super) struct ServerReport {
    /// The kernel's counters for each transfer.
    pub(super) counts: Vec<Option<TcpCounts>>,
    pub(super) options: Vec<OptionSeen>,
}

/// Size of a read.
const BLOCK: usize = 1 << 14;
/// Number of the listener among those of connections.
const LISTENER: usize = usize::MAX;
/// Time limit for connections to close after the clients are done.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) struct Server<'a> {
    web: &'a KernelWeb,
    control: &'a RunControl,
    pattern: &'a PayloadPattern,
    listener: OwnedFd,
    ready: Ready,
    conns: Vec<Option<ServerConn>>,
    open: usize,
    served: ServerReport,
    options: SocketOptions,
}

impl<'a> Server<'a> {
    /// A listening server. Must be called in its namespace.
    pub(super) fn new(
        web: &'a KernelWeb,
        control: &'a RunControl,
        pattern: &'a PayloadPattern,
        at: SocketAddr,
    ) -> Result<Self, DriveError> {
        let options = SocketOptions::new(&web.options);
        let (listener, ready) = (listener(at, &options)?, Ready::new()?);
        ready.add(&listener, LISTENER, epoll::EventFlags::IN)?;
        let n = web.transfers.len();
        let served = ServerReport { counts: vec![None; n], options: Vec::new() };
        Ok(Self {
            web,
            control,
            pattern,
            listener,
            ready,
            conns: (0..n).map(|_| None).collect(),
            open: 0,
            served,
            options,
        })
    }

    /// Serves until the clients are done.
    pub(super) fn run(mut self) -> Result<ServerReport, DriveError> {
        be_punctual();
        let mut leave_at = None;
        loop {
            let now = self.control.clock.now();
            if self.control.is_stopped() {
                let leave_at = *leave_at.get_or_insert(now + PATIENCE);
                if self.open == 0 || now >= leave_at {
                    break;
                }
            }
            for which in self.ready.wait(&self.control.clock, &self.control.server_waker, leave_at) {
                match which {
                    LISTENER => self.accept()?,
                    n => self.serve(n),
                }
            }
        }
        for n in 0..self.conns.len() {
            self.finish(n);
        }
        Ok(ServerReport { options: self.options.0, ..self.served })
    }

    fn accept(&mut self) -> Result<(), DriveError> {
        loop {
            let (socket, peer) =
                match acceptfrom_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                    Ok(accepted) => accepted,
                    Err(Errno::AGAIN) => return Ok(()),
                    // The client has aborted meanwhile.
                    Err(Errno::CONNABORTED | Errno::INTR) => continue,
                    Err(e) => return Err(DriveError::System("accept a connection in a namespace", e.into())),
                };
            self.options.check(socket.as_fd());
            // The last segment of a response must not wait for an ack of the data before it (Nagle). With the
            // FIN it does not wait either.
            sockopt::set_tcp_nodelay(&socket, true)
                .map_err(|e| DriveError::System("set an option of a socket", e.into()))?;
            let peer = peer.and_then(|p| SocketAddr::try_from(p).ok());
            let number = peer.and_then(|p| Kernels::host_number(p.ip())).filter(|n| *n < self.conns.len());
            let Some(n) = number else { continue };
            self.ready.add(&socket, n, EDGES)?;
            self.conns[n] = Some(ServerConn {
                socket,
                unread: self.web.transfers[n].request,
                written: 0,
                answered: false,
            });
            self.open += 1;
        }
    }

    /// Handles an event of connection `n`.
    fn serve(&mut self, n: usize) {
        let Some(conn) = &mut self.conns[n] else { return };
        if conn.step(self.pattern, n, self.web.transfers[n].size, self.web.closes) {
            self.finish(n);
        }
    }

    /// Reads the kernel's counters of a connection, and closes it.
    fn finish(&mut self, n: usize) {
        let Some(conn) = self.conns[n].take() else { return };
        self.served.counts[n] = TcpCounts::of(conn.socket.as_fd());
        self.open -= 1;
    }
}

impl ServerConn {
    /// Reads and writes as much as possible; true when the connection is over in any way.
    fn step(&mut self, pattern: &PayloadPattern, n: usize, size: Bytes, closes: Closes) -> bool {
        let mut block = [0; BLOCK];
        loop {
            match recv(&self.socket, &mut block, RecvFlags::empty()) {
                // The client closes when it has read the response.
                Ok((0, _)) => return true,
                Ok((read, _)) => self.unread = self.unread.saturating_sub(read as Bytes),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => return true,
            }
        }
        if self.unread > 0 || self.answered {
            return false;
        }
        // A server that closes first sets MSG_MORE, so that the FIN is sent with the last segment, as in the
        // simulator.
        let flags = if closes == Closes::Server {
            SendFlags::NOSIGNAL | SendFlags::MORE
        } else {
            SendFlags::NOSIGNAL
        };
        while self.written < size {
            let bytes = pattern.from(n, self.written);
            let bytes = &bytes[..bytes.len().min((size - self.written).min(usize::MAX as Bytes) as usize)];
            match send(&self.socket, bytes, flags) {
                Ok(taken) => self.written += taken as Bytes,
                Err(Errno::AGAIN) => return false,
                Err(Errno::INTR) => {}
                Err(_) => return true,
            }
        }
        self.answered = true;
        closes == Closes::Server && shutdown(&self.socket, Shutdown::Write).is_err()
    }
}
