//! System calls on real sockets. These never block: a call that would is tried again.

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use ackclock_script::{Call, OptionValue, Ports, Returned, SERVER_PORT, constant};
use ackclock_units::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendFlags, Shutdown, SocketAddrAny, SocketFlags, SocketType, acceptfrom_with, bind, connect,
    getsockname, listen, recv, send, shutdown, socket_with,
};

use super::socket::Socket;
use super::{KernelHost, addresses, errno};
use crate::linux::sys::{self, Queued};

/// What became of a call; `None` where it blocks.
pub(super) type CallResult = Result<Option<Returned>, Errno>;

/// Most bytes that one call moves: more than a buffer of the kernel takes.
pub(super) const MOST_AT_ONCE: u64 = 16 << 20;

pub(super) const ZERO: CallResult = Ok(Some(Returned::Value(0)));

pub(super) fn value(n: impl TryInto<i64>) -> CallResult {
    Ok(Some(Returned::Value(n.try_into().unwrap_or(i64::MAX))))
}

/// An argument of a system call that is an `int` there.
fn int(n: i64) -> i32 {
    n as i32
}

pub(super) fn number(word: &str) -> i64 {
    constant(word).unwrap_or(0)
}

pub(super) fn system(e: &std::io::Error) -> Errno {
    Errno::from_io_error(e).unwrap_or(Errno::IO)
}

impl KernelHost {
    /// Runs a system call. `None` while it blocks.
    pub(super) fn try_call(&mut self, call: &mut Call) -> CallResult {
        match call {
            Call::Socket { nonblocking } => {
                let family = addresses::family(self.link);
                let made = self.namespace.run(|| {
                    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                    socket_with(family, SocketType::STREAM, flags, None)
                });
                let fd = made.map_err(|_| Errno::NFILE)??;
                self.flows_before_socket = self.flows.len();
                value(self.open(Socket::new(fd, *nonblocking)))
            }
            Call::Bind { fd, port } => {
                let [local, _] = addresses::of_sockets(self.link, [port.unwrap_or(SERVER_PORT), 0]);
                bind(&self.socket(*fd)?.fd, &local)?;
                ZERO
            }
            Call::Listen { fd, backlog } => {
                listen(&self.socket(*fd)?.fd, int(*backlog))?;
                ZERO
            }
            Call::Accept { fd, nonblocking } => self.accept(*fd, *nonblocking),
            Call::Connect { fd, port } => self.connect(*fd, *port),
            Call::Write { fd, len, flags, done } => self.write(*fd, *len, *flags, done),
            Call::FastOpen(call) => self.send_fast_open(call),
            Call::Read { fd, len, flags } => self.read(*fd, *len, *flags),
            Call::Shutdown { fd, how } => {
                let how = match *how {
                    0 => Shutdown::Read,
                    1 => Shutdown::Write,
                    2 => Shutdown::Both,
                    _ => return Err(Errno::INVAL),
                };
                shutdown(&self.socket(*fd)?.fd, how)?;
                ZERO
            }
            Call::Close { fd, .. } => self.close(*fd),
            Call::SetOption { fd, level, name, value } => {
                let bytes = match value {
                    OptionValue::Int(n) => int(*n).to_ne_bytes().to_vec(),
                    // `struct linger`.
                    OptionValue::Linger(on, seconds) => {
                        [int(*on), int(*seconds)].into_iter().flat_map(i32::to_ne_bytes).collect()
                    }
                    OptionValue::Text(text) => text.clone().into_bytes(),
                };
                let socket = self.socket(*fd)?.fd.as_fd();
                sys::set_option(socket, int(*level), int(*name), &bytes).map_err(|e| system(&e))?;
                ZERO
            }
            Call::GetOption { fd, level, name } => self.option(*fd, *level, *name),
            Call::GetFlags { fd } => {
                let nonblocking = self.socket(*fd)?.nonblocking;
                value(number("O_RDWR") | if nonblocking { number("O_NONBLOCK") } else { 0 })
            }
            Call::SetFlags { fd, flags } => {
                self.socket(*fd)?.nonblocking = *flags & number("O_NONBLOCK") != 0;
                ZERO
            }
            Call::Ioctl { fd, request } => {
                let which = match *request {
                    r if r == number("SIOCINQ") => Queued::Received,
                    r if r == number("SIOCOUTQ") => Queued::Unacked,
                    r if r == number("SIOCOUTQNSD") => Queued::Unsent,
                    r if r == number("SIOCATMARK") => Queued::AtMark,
                    _ => return Err(Errno::INVAL),
                };
                let bytes = sys::queued(self.socket(*fd)?.fd.as_fd(), which).map_err(|e| system(&e))?;
                Ok(Some(Returned::Number(i64::from(bytes))))
            }
            Call::Poll { fds, until, forever } => self.poll(fds, *until, *forever),
            Call::Message { fd, len, flags } => self.receive_message(*fd, *len, *flags),
            Call::Open { .. } => self.open_file(),
            Call::Pipe => self.pipe(),
            Call::Sendfile { to, from, len, done } => self.send_file(*to, *from, *len, done),
            Call::Splice { from, to, len, flags } => self.splice(*from, *to, *len, *flags),
            Call::EpollCreate => self.epoll_create(),
            Call::EpollControl { epoll, operation, fd, events, data } => {
                self.epoll_control(*epoll, *operation, *fd, *events, *data)
            }
            Call::EpollWait { epoll, most, until, forever } => {
                self.epoll_wait(*epoll, *most, *until, *forever)
            }
        }
    }

    /// A socket of the script. Other descriptors of this process are none of its business.
    pub(super) fn socket(&mut self, fd: i32) -> Result<&mut Socket, Errno> {
        self.sockets.get_mut(&fd).ok_or(Errno::BADF)
    }

    pub(super) fn open(&mut self, socket: Socket) -> i32 {
        let fd = socket.fd.as_raw_fd();
        self.sockets.insert(fd, socket);
        fd
    }

    fn accept(&mut self, fd: i32, nonblocking: bool) -> CallResult {
        let socket = self.socket(fd)?;
        match acceptfrom_with(&socket.fd, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok((accepted, peer)) => {
                let ports = ports(&accepted, peer);
                value(self.open(Socket { ports, ..Socket::new(accepted, nonblocking) }))
            }
            Err(Errno::AGAIN) if !socket.nonblocking => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// One that blocks is called until it has a result: the kernel returns that of the attempt which goes on.
    fn connect(&mut self, fd: i32, port: Option<u16>) -> CallResult {
        let port = port.unwrap_or(SERVER_PORT);
        let [_, remote] = addresses::of_sockets(self.link, [0, port]);
        let socket = self.socket(fd)?;
        let result = connect(&socket.fd, &remote);
        let blocks = !socket.nonblocking;
        self.note_client(fd, port, matches!(result, Ok(()) | Err(Errno::INPROGRESS)));
        match result {
            Ok(()) => ZERO,
            Err(Errno::INPROGRESS | Errno::ALREADY) if blocks => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(super) fn write(&mut self, fd: i32, len: u64, flags: i64, done: &mut u64) -> CallResult {
        let blocks = !self.socket(fd)?.nonblocking && flags & number("MSG_DONTWAIT") == 0;
        if blocks && (self.writing.contains_key(&fd) || self.is_opening(fd)) {
            return self.write_in_thread(fd, len, flags, None);
        }
        let socket = self.socket(fd)?;
        // One that has waited goes on when a third of the buffer is free (`sk_stream_write_space`).
        if socket.waits_for_room && events(socket.fd.as_fd(), PollFlags::OUT)?.is_empty() {
            return Ok(None);
        }
        socket.waits_for_room = false;
        let bytes = vec![0; usize::try_from((len - *done).min(MOST_AT_ONCE)).unwrap_or(0)];
        let all = SendFlags::from_bits_retain(flags as u32) | SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = match send(&socket.fd, &bytes, all) {
            Err(Errno::NOTSOCK) => rustix::io::write(&socket.fd, &bytes),
            sent => sent,
        };
        match sent {
            Ok(n) => *done += n as u64,
            Err(Errno::AGAIN) if *done > 0 && !blocks => return value(*done),
            Err(Errno::AGAIN) if blocks => {}
            Err(_) if *done > 0 => return value(*done),
            Err(e) => return Err(e),
        }
        if *done == len || !blocks {
            return value(*done);
        }
        socket.waits_for_room = true;
        Ok(None)
    }

    fn read(&mut self, fd: i32, len: u64, flags: i64) -> CallResult {
        let socket = self.socket(fd)?;
        // Nobody waits for urgent data (recv(2)).
        let never = number("MSG_DONTWAIT") | number("MSG_OOB");
        let blocks = !socket.nonblocking && flags & never == 0;
        if blocks && flags & number("MSG_WAITALL") != 0 {
            let held = sys::queued(socket.fd.as_fd(), Queued::Received).unwrap_or(0);
            let over = events(socket.fd.as_fd(), PollFlags::RDHUP)?;
            if u64::try_from(held).unwrap_or(0) < len && over.is_empty() {
                return Ok(None);
            }
        }
        let mut bytes = vec![0; usize::try_from(len.min(MOST_AT_ONCE)).unwrap_or(0)];
        let all = RecvFlags::from_bits_retain(flags as u32) | RecvFlags::DONTWAIT;
        let received = match recv(&socket.fd, &mut bytes[..], all) {
            Err(Errno::NOTSOCK) => rustix::io::read(&socket.fd, &mut bytes[..]),
            received => received.map(|(_, n)| n),
        };
        match received {
            Ok(n) => value(n),
            Err(Errno::AGAIN) if blocks => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Closes a socket. The kernel waits where it is to linger, whether the socket blocks or not.
    fn close(&mut self, fd: i32) -> CallResult {
        if let Some(thread) = self.closing.get(&fd) {
            if !thread.is_finished() {
                return Ok(None);
            }
            self.closing.remove(&fd);
            return ZERO;
        }
        let socket = self.sockets.remove(&fd).ok_or(Errno::BADF)?;
        if let Ok(OptionValue::Linger(on, seconds)) = linger(socket.fd.as_fd())
            && on != 0
            && seconds > 0
        {
            let thread = std::thread::Builder::new().name("close".into()).spawn(|| drop(socket));
            self.closing.insert(fd, thread.map_err(|e| system(&e))?);
            return Ok(None);
        }
        ZERO
    }

    fn option(&mut self, fd: i32, level: i64, name: i64) -> CallResult {
        /// Larger than names of congestion controls (`TCP_CA_NAME_MAX`).
        const MOST_TEXT: usize = 64;
        let socket = self.socket(fd)?.fd.as_fd();
        let is = |of: &str, wanted: &str| level == number(of) && name == number(wanted);
        if is("SOL_SOCKET", "SO_LINGER") {
            return Ok(Some(Returned::Option(linger(socket)?)));
        }
        let mut bytes = [0; MOST_TEXT];
        let text = is("SOL_TCP", "TCP_CONGESTION");
        let room = if text { MOST_TEXT } else { size_of::<i32>() };
        let n = sys::option(socket, int(level), int(name), &mut bytes[..room]).map_err(|e| system(&e))?;
        if text {
            let end = bytes[..n].iter().position(|b| *b == 0).unwrap_or(n);
            let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
            return Ok(Some(Returned::Option(OptionValue::Text(text))));
        }
        let n = i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok(Some(Returned::Option(if n > 0 && is("SOL_SOCKET", "SO_ERROR") {
            OptionValue::Text(errno::named(Errno::from_raw_os_error(n)).0.to_owned())
        } else {
            OptionValue::Int(i64::from(n))
        })))
    }

    fn poll(&self, fds: &[(i32, i64)], until: Option<Instant>, forever: bool) -> CallResult {
        let of = |(fd, wanted): &(i32, i64)| match self.sockets.get(fd) {
            Some(socket) => {
                let wanted = PollFlags::from_bits_retain(*wanted as u16);
                events(socket.fd.as_fd(), wanted).map(|e| i64::from(e.bits()))
            }
            None => Ok(i64::from(PollFlags::NVAL.bits())),
        };
        let found = fds.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        let over = until.is_some_and(|at| self.now >= at) || (until.is_none() && !forever);
        let any = found.iter().any(|e| *e != 0);
        if any || over { Ok(Some(Returned::Events(found))) } else { Ok(None) }
    }
}

/// The events of a socket at present.
fn events(socket: BorrowedFd<'_>, wanted: PollFlags) -> Result<PollFlags, Errno> {
    let mut polled = [PollFd::from_borrowed_fd(socket, wanted)];
    let none = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&none))?;
    Ok(polled[0].revents())
}

fn linger(socket: BorrowedFd<'_>) -> Result<OptionValue, Errno> {
    let mut bytes = [0; 8];
    sys::option(socket, libc::SOL_SOCKET, libc::SO_LINGER, &mut bytes).map_err(|e| system(&e))?;
    let [a, b, c, d, e, f, g, h] = bytes;
    let number = |bytes| i64::from(i32::from_ne_bytes(bytes));
    Ok(OptionValue::Linger(number([a, b, c, d]), number([e, f, g, h])))
}

/// The ports of an accepted connection, which may be over already.
fn ports(socket: &OwnedFd, peer: Option<SocketAddrAny>) -> Option<Ports> {
    let here = SocketAddr::try_from(getsockname(socket).ok()?).ok()?;
    let there = SocketAddr::try_from(peer?).ok()?;
    Some(Ports { local: here.port(), remote: there.port() })
}
