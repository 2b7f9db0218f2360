//! System calls on real sockets that open a connection together with its first data.

use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ackclock_script::{FastOpenCall, Ports, SERVER_PORT};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{SendFlags, Shutdown, getsockname, send, sendto, shutdown};

use super::calls::{CallResult, MOST_AT_ONCE, number, system, value};
use super::{KernelHost, addresses, info};
use crate::linux::{sys, wait};

/// A call that blocks has sent its SYN by then.
const SYN_LEAVES: Duration = Duration::from_millis(20);

/// A call that something ends has returned so long after it.
const RETURNS: Duration = Duration::from_millis(1);

/// How often that is looked at.
const STEP: Duration = Duration::from_micros(50);

/// Flags of calls that do not block.
const DONT_WAIT: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// What is written: zeros.
fn zeros(len: u64) -> Vec<u8> {
    vec![0; usize::try_from(len.min(MOST_AT_ONCE)).unwrap_or(0)]
}

impl KernelHost {
    /// A call with `MSG_FASTOPEN`.
    pub(super) fn send_fast_open(&mut self, call: &mut FastOpenCall) -> CallResult {
        if self.writing.contains_key(&call.fd) {
            return self.write_in_thread(call.fd, call.len, call.flags, call.port);
        }
        let link = self.link;
        let socket = self.socket(call.fd)?;
        let blocks = !socket.nonblocking && call.flags & number("MSG_DONTWAIT") == 0;
        let port = call.port.unwrap_or(SERVER_PORT);
        let [_, remote] = addresses::of_sockets(link, [0, port]);
        let sent = if call.to_nobody {
            let flags = (SendFlags::from_bits_retain(call.flags as u32) | DONT_WAIT).bits();
            sys::send_to_nobody(socket.fd.as_fd(), &[], flags).map_err(|e| system(&e))
        } else if blocks {
            return self.write_in_thread(call.fd, call.len, call.flags, Some(port));
        } else {
            sendto(
                &socket.fd,
                &zeros(call.len),
                SendFlags::from_bits_retain(call.flags as u32) | DONT_WAIT,
                &remote,
            )
        };
        self.note_client(call.fd, port, matches!(sent, Ok(_) | Err(Errno::INPROGRESS)));
        value(sent?)
    }

    /// Writes to a socket in a thread of its own, where the call blocks as it would in a program: what the kernel
    /// sends depends on whether somebody waits. `port`: where it connects to.
    pub(super) fn write_in_thread(&mut self, fd: i32, len: u64, flags: i64, port: Option<u16>) -> CallResult {
        if let Some(thread) = self.writing.get(&fd) {
            if !thread.is_finished() {
                return Ok(None);
            }
            let written = self.writing.remove(&fd).and_then(|thread| thread.join().ok());
            if let Ok(socket) = self.socket(fd) {
                ioctl_fionbio(&socket.fd, true)?;
            }
            return value(written.unwrap_or(Err(Errno::IO))?);
        }
        let socket = self.socket(fd)?.fd.try_clone().map_err(|e| system(&e))?;
        ioctl_fionbio(&socket, false)?;
        let flags = SendFlags::from_bits_retain(flags as u32) | SendFlags::NOSIGNAL;
        let to = port.map(|port| addresses::of_sockets(self.link, [0, port])[1]);
        let write = move || {
            wait::be_punctual();
            match to {
                Some(to) => sendto(&socket, &zeros(len), flags, &to),
                None => send(&socket, &zeros(len), flags),
            }
        };
        let thread = std::thread::Builder::new().name("write".into()).spawn(write);
        self.writing.insert(fd, thread.map_err(|e| system(&e))?);
        // Until its SYN has left, so that what the script does next comes after it.
        let begun = Instant::now();
        while begun.elapsed() < SYN_LEAVES && !self.is_opening(fd) && !self.has_written() {
            std::thread::sleep(STEP);
        }
        if let Some(port) = port {
            self.note_client(fd, port, true);
        }
        Ok(None)
    }

    fn has_written(&self) -> bool {
        self.writing.values().any(JoinHandle::is_finished)
    }

    /// After something has arrived: a call that blocks may return because of it.
    pub(super) fn let_writing_return(&self) {
        let begun = Instant::now();
        while !self.writing.is_empty() && begun.elapsed() < RETURNS && !self.has_written() {
            std::thread::sleep(STEP);
        }
    }

    /// Ends calls that still block, with their connections.
    pub(super) fn end_writing(&mut self) {
        for fd in std::mem::take(&mut self.writing).into_keys() {
            if let Ok(socket) = self.socket(fd) {
                // Fails where the connection is over.
                let _ = shutdown(&socket.fd, Shutdown::Both);
            }
        }
    }

    /// Remembers the ports of a socket that has begun to connect, and makes the connection where one was
    /// `begun`.
    pub(super) fn note_client(&mut self, fd: i32, port: u16, begun: bool) {
        let Ok(socket) = self.socket(fd) else { return };
        if socket.ports.is_some() {
            return;
        }
        let from = getsockname(&socket.fd).ok().and_then(|a| SocketAddr::try_from(a).ok());
        socket.ports = from.map(|from| Ports { local: from.port(), remote: port });
        if let Some(ports) = socket.ports.filter(|_| begun) {
            self.flow_mut(ports);
        }
    }

    /// True while the SYN of a socket waits for data (`TCP_FASTOPEN_CONNECT`), or is not acknowledged.
    pub(super) fn is_opening(&mut self, fd: i32) -> bool {
        /// `TCP_SYN_SENT` (`include/net/tcp_states.h`).
        const SYN_SENT: u8 = 2;
        self.socket(fd).is_ok_and(|s| info::of(s.fd.as_fd()).is_some_and(|info| info.state == SYN_SENT))
    }
}
