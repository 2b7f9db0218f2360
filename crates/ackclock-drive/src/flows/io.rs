//! A kernel's socket as the transport of an application.

use std::os::fd::{AsFd, OwnedFd};

use ackclock_engine::{UserIo, UserTransport};
use ackclock_units::{Bytes, Instant, SeqNumber, SeqRange, SeqRanges};
use ackclock_wire::SackBlocks;
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};

use crate::ledger::Ledger;
use crate::linux::sys;
use crate::sockets::TcpRoom;

/// A kernel's socket and the state of its connection.
pub(super) struct Socket {
    pub(super) fd: OwnedFd,
    /// Set TCP_QUICKACK after each read.
    quick_acks: bool,
    /// Bytes written to the kernel.
    pub(super) written: Bytes,
    /// Bytes acknowledged, as of the last timestamp that the application was notified of.
    pub(super) acked: Bytes,
    /// What acks have reported beyond them, as positions in the stream, their lower 32 bits.
    sacked: SeqRanges,
    /// The peer has closed and everything was read.
    pub(super) ended: bool,
    pub(super) failed: Option<Errno>,
}

/// A position in a stream as its lower 32 bits.
fn position(bytes: Bytes) -> SeqNumber {
    SeqNumber(bytes as u32)
}

/// Makes the kernel send a delayed acknowledgment.
const TCP_QUICKACK: libc::c_int = 12;

impl Socket {
    pub(super) fn new(fd: OwnedFd, quick_acks: bool) -> Self {
        Self { fd, quick_acks, written: 0, acked: 0, sacked: SeqRanges::new(), ended: false, failed: None }
    }

    /// An ack acknowledges the stream up to this position.
    pub(super) fn acknowledge(&mut self, bytes: Bytes) {
        self.acked = bytes;
        self.sacked.forget_below(position(bytes));
    }

    /// An ack reports data that has arrived out of order.
    pub(super) fn note_sacked(&mut self, blocks: &SackBlocks) {
        let outstanding = SeqRange::new(position(self.acked), position(self.written));
        for block in blocks.as_slice().iter().filter(|block| block.is_inside(outstanding)) {
            self.sacked.insert(*block);
        }
    }

    /// Reads into `block`; returns the number of bytes read.
    fn receive(&mut self, block: &mut [u8]) -> usize {
        while !self.ended {
            match recv(&self.fd, &mut *block, RecvFlags::empty()) {
                Ok((0, _)) => self.ended = true,
                Ok((read, _)) => return read,
                Err(e) if self.again(e) => {}
                Err(_) => break,
            }
        }
        0
    }

    /// Writes `block`; returns the number of bytes written.
    fn send(&mut self, block: &[u8]) -> usize {
        loop {
            match send(&self.fd, block, SendFlags::NOSIGNAL) {
                Ok(sent) => return sent,
                Err(e) if self.again(e) => {}
                Err(_) => return 0,
            }
        }
    }

    /// Returns true when the call must be repeated. Stores an error other than `EAGAIN` and `EINTR` in
    /// `failed`.
    fn again(&mut self, e: Errno) -> bool {
        if !matches!(e, Errno::AGAIN | Errno::INTR) {
            self.failed.get_or_insert(e);
        }
        e == Errno::INTR
    }
}

impl UserIo<Socket> for Ledger {
    fn read(&mut self, socket: &mut Socket, _: Instant, n: Bytes) -> Bytes {
        let got = self.read_by(n, |block| socket.receive(block));
        if got > 0 && socket.quick_acks {
            // Has no effect when no acknowledgment is pending.
            let _ = sys::set_tcp_option(socket.fd.as_fd(), TCP_QUICKACK, 1);
        }
        got
    }

    fn write(&mut self, socket: &mut Socket, _: Instant, n: Bytes) -> Bytes {
        let taken = self.write_by(n, |block| socket.send(block));
        socket.written += taken;
        taken
    }
}

impl UserTransport for Socket {
    fn readable(&self) -> Bytes {
        ioctl_fionread(&self.fd).unwrap_or(0)
    }

    fn writable(&self) -> Bytes {
        // The kernel counts overhead too, and may take less.
        let room = sockopt::socket_send_buffer_size(&self.fd).unwrap_or(0) as Bytes;
        room.saturating_sub(sys::unacked(self.fd.as_fd()).unwrap_or(0).into())
    }

    fn takes_more(&self) -> bool {
        // An epoll event signals when it does.
        false
    }

    fn unacked(&self) -> Bytes {
        self.written - self.acked.min(self.written)
    }

    fn has_arrived(&self, from: Bytes, to: Bytes) -> bool {
        to <= self.acked || self.sacked.cover(SeqRange::new(position(from.max(self.acked)), position(to)))
    }

    fn room(&mut self, _: Instant) -> Bytes {
        TcpRoom::of(self.fd.as_fd()).map_or(0, TcpRoom::bytes)
    }

    fn at_end(&self) -> bool {
        self.ended
    }

    fn close(&mut self, _: Instant) {
        // A connection that is broken is closed already.
        let _ = shutdown(&self.fd, Shutdown::Write);
    }

    fn leave(&mut self, _: Instant) {
        let _ = shutdown(&self.fd, Shutdown::Both);
    }
}
