//! System calls on real sockets that open a connection together with its first data.

use std::net::SocketAddr;
use std::os::fd::AsFd as _;

use ackclock_script::{FastOpenCall, Ports, SERVER_PORT};
use rustix::io::Errno;
use rustix::net::{SendFlags, connect, getsockname, sendto};

use super::calls::{CallResult, MOST_AT_ONCE, number, system, value};
use super::{KernelHost, info, remote};
use crate::linux::sys;

impl KernelHost {
    /// A call with `MSG_FASTOPEN`. One that blocks goes on as `connect` does, and then as `write`.
    pub(super) fn send_fast_open(&mut self, call: &mut FastOpenCall) -> CallResult {
        let socket = self.socket(call.fd)?;
        let blocks = !socket.nonblocking && call.flags & number("MSG_DONTWAIT") == 0;
        let port = call.port.unwrap_or(SERVER_PORT);
        if call.begun {
            match connect(&socket.fd, &remote(port)) {
                Err(Errno::INPROGRESS | Errno::ALREADY) => return Ok(None),
                Ok(()) | Err(Errno::ISCONN) => {}
                Err(e) => return Err(e),
            }
            if call.done == call.len {
                return value(call.done);
            }
            let flags = call.flags & !number("MSG_FASTOPEN");
            return self.write(call.fd, call.len, flags, &mut call.done);
        }
        let bytes = vec![0; usize::try_from(call.len.min(MOST_AT_ONCE)).unwrap_or(0)];
        let flags =
            SendFlags::from_bits_retain(call.flags as u32) | SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = if call.to_nobody {
            let sent = sys::send_to_nobody(socket.fd.as_fd(), &bytes, flags.bits());
            sent.map_err(|e| system(&e))
        } else {
            sendto(&socket.fd, &bytes, flags, &remote(port))
        };
        self.note_client(call.fd, port, matches!(sent, Ok(_) | Err(Errno::INPROGRESS)));
        match sent {
            Ok(n) => call.done = n as u64,
            Err(Errno::INPROGRESS | Errno::ALREADY) if blocks => {}
            Err(e) => return Err(e),
        }
        call.begun = true;
        if blocks { Ok(None) } else { value(call.done) }
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
