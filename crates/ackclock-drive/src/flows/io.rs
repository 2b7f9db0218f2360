//! What an application sees of a kernel's socket.

use std::os::fd::{AsFd, OwnedFd};

use ackclock_policy::AppIo;
use ackclock_units::{Bytes, Duration, Instant};
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};

use crate::linux::sys;
use crate::sockets::TcpRoom;

/// A transaction of an application: for `telnet`, a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response {
    /// When it began, from the run's beginning.
    pub since: Duration,
    /// From then until the kernel's stamp of the acknowledgment that ended it, or until the application's call where it was none.
    pub time: Duration,
}

/// What an application has done with its socket.
#[derive(Default)]
pub(super) struct IoState {
    pub(super) written: Bytes,
    /// Bytes acknowledged by the last stamp that the application was told of.
    pub(super) acked: Bytes,
    pub(super) read: Bytes,
    /// The peer has closed, and everything was read.
    pub(super) ended: bool,
    pub(super) failed: Option<Errno>,
    started: Option<Instant>,
    pub(super) responses: Vec<(Instant, Duration)>,
}

/// An application's access to its socket, for one call.
pub(super) struct Io<'a> {
    /// When what it is called for happened.
    pub(super) at: Instant,
    /// When the connection was opened, while that is when a transaction that starts now began: at the first call.
    pub(super) opened: Option<Instant>,
    pub(super) socket: &'a OwnedFd,
    pub(super) state: &'a mut IoState,
    pub(super) quick_acks: bool,
    /// The application has read or written something.
    pub(super) moved: bool,
}

/// Data moved at once.
const BLOCK: usize = 1 << 14;
/// Makes the kernel send an acknowledgment that it holds back.
const TCP_QUICKACK: libc::c_int = 12;

impl Io<'_> {
    /// True when the call is to be made again; otherwise it has taken note of why there is no more.
    fn again(&mut self, e: Errno) -> bool {
        if !matches!(e, Errno::AGAIN | Errno::INTR) {
            self.state.failed.get_or_insert(e);
        }
        e == Errno::INTR
    }
}

impl AppIo for Io<'_> {
    fn readable(&self) -> Bytes {
        ioctl_fionread(self.socket).unwrap_or(0)
    }

    fn read(&mut self, n: Bytes) -> Bytes {
        let (mut block, mut got) = ([0; BLOCK], 0);
        while got < n && !self.state.ended {
            let most = (n - got).min(BLOCK as Bytes) as usize;
            match recv(self.socket, &mut block[..most], RecvFlags::empty()) {
                Ok((0, _)) => self.state.ended = true,
                Ok((read, _)) => got += read as Bytes,
                Err(e) if self.again(e) => {}
                Err(_) => break,
            }
        }
        self.state.read += got;
        self.moved |= got > 0;
        if got > 0 && self.quick_acks {
            // Where there is none to send, nothing comes of it.
            let _ = sys::set_tcp_option(self.socket.as_fd(), TCP_QUICKACK, 1);
        }
        got
    }

    fn writable(&self) -> Bytes {
        // The kernel counts more than payload, and may take less.
        let room = sockopt::socket_send_buffer_size(self.socket).unwrap_or(0) as Bytes;
        room.saturating_sub(sys::unacked(self.socket.as_fd()).unwrap_or(0).into())
    }

    fn write(&mut self, n: Bytes) -> Bytes {
        let (block, mut taken) = ([0; BLOCK], 0);
        while taken < n {
            let most = (n - taken).min(BLOCK as Bytes) as usize;
            match send(self.socket, &block[..most], SendFlags::NOSIGNAL) {
                Ok(sent) => taken += sent as Bytes,
                Err(e) if self.again(e) => {}
                Err(_) => break,
            }
        }
        self.state.written += taken;
        self.moved |= taken > 0;
        taken
    }

    fn unacked(&self) -> Bytes {
        self.state.written - self.state.acked.min(self.state.written)
    }

    fn has_arrived(&self, _: Bytes, to: Bytes) -> bool {
        // Of what arrived out of order a kernel does not tell.
        to <= self.state.acked
    }

    fn room(&self) -> Bytes {
        TcpRoom::of(self.socket.as_fd()).map_or(0, TcpRoom::bytes)
    }

    fn at_end(&self) -> bool {
        self.state.ended
    }

    fn close(&mut self) {
        // A connection that is broken is closed already.
        let _ = shutdown(self.socket, Shutdown::Write);
    }

    fn mark_start(&mut self) {
        self.state.started = Some(self.opened.unwrap_or(self.at));
    }

    fn mark_end(&mut self) {
        if let Some(started) = self.state.started.take() {
            self.record_response(started);
        }
    }

    fn record_response(&mut self, since: Instant) {
        self.state.responses.push((since, self.at.since(since)));
    }
}
