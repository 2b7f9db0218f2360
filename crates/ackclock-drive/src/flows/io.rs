//! What an application sees of a kernel's socket.

use std::os::fd::{AsFd, OwnedFd};

use ackclock_engine::Books as _;
use ackclock_policy::AppIo;
use ackclock_units::{Bytes, Instant};
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};

use crate::ledger::Ledger;
use crate::linux::sys;
use crate::sockets::TcpRoom;

/// What an application has done with its socket.
pub(super) struct IoState {
    pub(super) ledger: Ledger,
    /// Bytes acknowledged by the last stamp that the application was told of.
    pub(super) acked: Bytes,
    /// The peer has closed, and everything was read.
    pub(super) ended: bool,
    pub(super) failed: Option<Errno>,
}

/// An application's access to its socket, for one call.
pub(super) struct Io<'a> {
    /// When what it is called for happened.
    pub(super) at: Instant,
    /// When the connection was opened, while that is when a transaction that starts now began: at the first
    /// call.
    pub(super) opened: Option<Instant>,
    pub(super) socket: &'a OwnedFd,
    pub(super) state: &'a mut IoState,
    pub(super) quick_acks: bool,
    /// The application has read or written something.
    pub(super) moved: bool,
}

/// Makes the kernel send an acknowledgment that it holds back.
const TCP_QUICKACK: libc::c_int = 12;

/// True when the call is to be made again; otherwise it takes note in `failed` of why there is no more.
fn again(failed: &mut Option<Errno>, e: Errno) -> bool {
    if !matches!(e, Errno::AGAIN | Errno::INTR) {
        failed.get_or_insert(e);
    }
    e == Errno::INTR
}

impl AppIo for Io<'_> {
    fn readable(&self) -> Bytes {
        ioctl_fionread(self.socket).unwrap_or(0)
    }

    fn read(&mut self, n: Bytes) -> Bytes {
        let IoState { ledger, ended, failed, .. } = &mut *self.state;
        let got = ledger.read_by(n, |block| {
            while !*ended {
                match recv(self.socket, &mut *block, RecvFlags::empty()) {
                    Ok((0, _)) => *ended = true,
                    Ok((read, _)) => return read,
                    Err(e) if again(failed, e) => {}
                    Err(_) => break,
                }
            }
            0
        });
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
        let IoState { ledger, failed, .. } = &mut *self.state;
        let taken = ledger.write_by(n, |block| {
            loop {
                match send(self.socket, block, SendFlags::NOSIGNAL) {
                    Ok(sent) => return sent,
                    Err(e) if again(failed, e) => {}
                    Err(_) => return 0,
                }
            }
        });
        self.moved |= taken > 0;
        taken
    }

    fn unacked(&self) -> Bytes {
        self.state.ledger.written - self.state.acked.min(self.state.ledger.written)
    }

    fn has_arrived(&self, _: Bytes, to: Bytes) -> bool {
        // Of what arrived out of order a kernel does not tell.
        to <= self.state.acked
    }

    fn room(&mut self) -> Bytes {
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
        self.state.ledger.begin(self.opened.unwrap_or(self.at));
    }

    fn mark_end(&mut self) {
        if let Some(began) = self.state.ledger.begun() {
            self.record_response(began);
        }
    }

    fn record_response(&mut self, since: Instant) {
        self.state.ledger.record(since, self.at);
    }
}
