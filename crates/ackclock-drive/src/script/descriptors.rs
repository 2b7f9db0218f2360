//! Calls on descriptors beside sockets: files, pipes, `epoll`.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration as Time;

use ackclock_script::Returned;
use ackclock_units::Instant;
use rustix::event::{Timespec, epoll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, ftruncate, memfd_create, sendfile};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};

use super::KernelHost;
use super::calls::{CallResult, ZERO, number, value};
use super::socket::Socket;
use crate::linux::sys::{self, Queued};

/// The length of a file, bytes: more than one call moves.
const FILE: u64 = 64 << 20;

/// Most results of one call of `epoll_wait`.
const MOST_EVENTS: usize = 64;

impl KernelHost {
    /// A file of zeros: what scripts make by commands is not there, since these are not run.
    pub(super) fn open_file(&mut self) -> CallResult {
        let fd = memfd_create("script", MemfdFlags::CLOEXEC)?;
        ftruncate(&fd, FILE)?;
        value(self.open(Socket::new(fd, false)))
    }

    pub(super) fn pipe(&mut self) -> CallResult {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let mut open = |fd: OwnedFd| i64::from(self.open(Socket::new(fd, false)));
        Ok(Some(Returned::Pair(open(read), open(write))))
    }

    pub(super) fn send_file(&mut self, to: i32, from: i32, len: u64, done: &mut u64) -> CallResult {
        let file = self.socket(from)?.fd.try_clone().map_err(|_| Errno::MFILE)?;
        let socket = self.socket(to)?;
        let mut offset = *done;
        let rest = usize::try_from(len - *done).unwrap_or(usize::MAX);
        match sendfile(&socket.fd, &file, Some(&mut offset), rest) {
            Ok(n) => *done += n as u64,
            Err(Errno::AGAIN) if !socket.nonblocking => {}
            Err(_) if *done > 0 => return value(*done),
            Err(e) => return Err(e),
        }
        if *done == len || socket.nonblocking { value(*done) } else { Ok(None) }
    }

    pub(super) fn splice(&mut self, from: i32, to: i32, len: u64, flags: i64) -> CallResult {
        let input = self.socket(from)?.fd.try_clone().map_err(|_| Errno::MFILE)?;
        let blocks = !self.socket(from)?.nonblocking && flags & number("SPLICE_F_NONBLOCK") == 0;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let all = SpliceFlags::from_bits_retain(flags as u32) | SpliceFlags::NONBLOCK;
        let output = &self.socket(to)?.fd;
        match splice(&input, None, output, None, len, all) {
            Ok(n) => value(n),
            // At urgent data it returns 0, unless it is not to block.
            Err(Errno::AGAIN)
                if blocks && sys::queued(input.as_fd(), Queued::AtMark).is_ok_and(|at| at > 0) =>
            {
                value(briefly(&input, |flags| splice(&input, None, output, None, len, all & flags))?)
            }
            Err(Errno::AGAIN) if blocks => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(super) fn epoll_create(&mut self) -> CallResult {
        let fd = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        value(self.open(Socket::new(fd, false)))
    }

    pub(super) fn epoll_control(
        &mut self,
        set: i32,
        operation: i64,
        fd: i32,
        events: i64,
        data: u64,
    ) -> CallResult {
        let source = self.sockets.get(&fd).ok_or(Errno::BADF)?.fd.as_fd();
        let set = self.sockets.get(&set).ok_or(Errno::BADF)?.fd.as_fd();
        let data = epoll::EventData::new_u64(data);
        let events = epoll::EventFlags::from_bits_retain(events as u32);
        match operation {
            o if o == number("EPOLL_CTL_ADD") => epoll::add(set, source, data, events)?,
            o if o == number("EPOLL_CTL_MOD") => epoll::modify(set, source, data, events)?,
            o if o == number("EPOLL_CTL_DEL") => epoll::delete(set, source)?,
            _ => return Err(Errno::INVAL),
        }
        ZERO
    }

    pub(super) fn epoll_wait(
        &mut self,
        set: i32,
        most: usize,
        until: Option<Instant>,
        forever: bool,
    ) -> CallResult {
        if most == 0 {
            return Err(Errno::INVAL);
        }
        let set = &self.socket(set)?.fd;
        let mut room = Vec::with_capacity(most.min(MOST_EVENTS));
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(set, rustix::buffer::spare_capacity(&mut room), Some(&none))?;
        let found: Vec<(i64, u64)> =
            room.iter().map(|e| (i64::from({ e.flags }.bits()), { e.data }.u64())).collect();
        let over = until.is_some_and(|at| self.now >= at) || (until.is_none() && !forever);
        if !found.is_empty() || over { Ok(Some(Returned::Ready(found))) } else { Ok(None) }
    }
}

/// Runs a call that may block on a socket, for a millisecond at most, with the flags that it may have.
fn briefly(socket: &OwnedFd, call: impl FnOnce(SpliceFlags) -> Result<usize, Errno>) -> Result<usize, Errno> {
    set_socket_timeout(socket, Timeout::Recv, Some(MILLISECOND))?;
    let flags = fcntl_getfl(socket)?;
    fcntl_setfl(socket, flags - OFlags::NONBLOCK)?;
    let result = call(!SpliceFlags::NONBLOCK);
    fcntl_setfl(socket, flags)?;
    set_socket_timeout(socket, Timeout::Recv, None)?;
    result
}

const MILLISECOND: Time = Time::from_millis(1);
