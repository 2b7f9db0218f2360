//! Pipes, and what `splice` moves between them and connections.

use super::calls::{CallResult, ZERO, value};
use super::socket::{Socket, SocketKind};
use super::{EngineHost, Errno};
use crate::constants as c;
use crate::host::Returned;

/// What a pipe holds at most, bytes (pipe(7)).
const CAPACITY: u64 = 65_536;

impl EngineHost {
    pub(super) fn pipe(&mut self) -> CallResult {
        let number = self.pipes.len();
        if number >= super::MAX_OPEN {
            return Err(Errno::EMFILE);
        }
        self.pipes.push(0);
        let read = self.open(Socket::of(SocketKind::Pipe { number, writes: false }))?;
        let write = self.open(Socket::of(SocketKind::Pipe { number, writes: true }))?;
        Ok(Some(Returned::Pair(read.into(), write.into())))
    }

    pub(super) fn read_pipe(&mut self, number: usize, writes: bool, len: u64) -> CallResult {
        let held = &mut self.pipes[number];
        match (*held, writes) {
            (_, true) => Err(Errno::EBADF),
            (0, _) => Ok(None),
            (n, _) => {
                *held -= n.min(len);
                value(n.min(len))
            }
        }
    }

    pub(super) fn write_pipe(&mut self, number: usize, writes: bool, len: u64) -> CallResult {
        let held = &mut self.pipes[number];
        let n = len.min(CAPACITY - *held);
        if !writes {
            return Err(Errno::EBADF);
        }
        *held += n;
        if n == 0 && len > 0 { Ok(None) } else { value(n) }
    }

    /// Moves bytes from a connection into a pipe, or the other way.
    pub(super) fn splice(&mut self, from: i32, to: i32, len: u64, flags: i64) -> CallResult {
        match self.socket(from)?.kind {
            SocketKind::Pipe { number, writes: false } => {
                let n = len.min(self.pipes[number]);
                if n == 0 {
                    return if flags & c::SPLICE_F_NONBLOCK != 0 { Err(Errno::EAGAIN) } else { Ok(None) };
                }
                // What does not fit at once stays in the pipe.
                let taken = self.write(to, n, c::MSG_DONTWAIT, &mut 0)?;
                if let Some(Returned::Value(taken)) = taken {
                    self.pipes[number] -= u64::try_from(taken).unwrap_or(0).min(n);
                }
                Ok(taken)
            }
            SocketKind::Stream(_) => self.splice_in(from, to, len, flags),
            _ => Err(Errno::EINVAL),
        }
    }

    fn splice_in(&mut self, from: i32, to: i32, len: u64, flags: i64) -> CallResult {
        let SocketKind::Pipe { number, writes: true } = self.socket(to)?.kind else {
            return Err(Errno::EINVAL);
        };
        let room = CAPACITY - self.pipes[number];
        let (i, _) = self.stream(from)?;
        // It ends before urgent data, and finds nothing there (`tcp_read_sock`).
        if self.flows[i].is_at_mark() && self.flows[i].connection.readable() > 0 {
            return ZERO;
        }
        let flags = if flags & c::SPLICE_F_NONBLOCK != 0 { c::MSG_DONTWAIT } else { 0 };
        let moved = self.read(from, len.min(room), flags)?;
        if let Some(Returned::Value(n)) = moved {
            self.pipes[number] += u64::try_from(n).unwrap_or(0);
        }
        Ok(moved)
    }
}
