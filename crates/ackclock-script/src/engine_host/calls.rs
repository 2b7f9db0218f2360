//! System calls. One that would block is tried again after each event.

use std::collections::VecDeque;

use ackclock_units::Instant;

use super::options::{Level, SocketOptions};
use super::socket::{Listener, SocketKind};
use super::{EngineHost, Flow, Socket};
use crate::constants as c;
use crate::constants::Errno;
use crate::host::{Call, OptionValue, Ports, Returned, SERVER_PORT};

/// What became of a call; `None` where it blocks.
type CallResult = Result<Option<Returned>, Errno>;

const ZERO: CallResult = Ok(Some(Returned::Value(0)));

fn value(n: impl TryInto<i64>) -> CallResult {
    Ok(Some(Returned::Value(n.try_into().unwrap_or(i64::MAX))))
}

impl EngineHost {
    /// Runs a system call. `None` while it blocks.
    pub(super) fn try_call(&mut self, call: &mut Call) -> CallResult {
        match call {
            Call::Socket { nonblocking } => {
                let mut socket = Socket::new(SocketOptions::new(self.keepalive_time));
                socket.nonblocking = *nonblocking;
                self.flows_before_socket = self.flows.len();
                value(self.open(socket)?)
            }
            Call::Bind { fd, port } => {
                let port = port.unwrap_or(SERVER_PORT);
                let socket = self.socket(*fd)?;
                if !matches!(socket.kind, SocketKind::Fresh) || socket.port.is_some() {
                    return Err(Errno::EINVAL);
                }
                socket.port = Some(port);
                ZERO
            }
            Call::Listen { fd, backlog } => self.listen(*fd, *backlog),
            Call::Accept { fd, nonblocking } => self.accept(*fd, *nonblocking),
            Call::Connect { fd, port } => self.connect(*fd, *port),
            Call::Write { fd, len, flags, done } => self.write(*fd, *len, *flags, done),
            Call::Read { fd, len, flags } => self.read(*fd, *len, *flags),
            Call::Shutdown { fd, how } => self.shutdown(*fd, *how),
            Call::Close { fd } => self.close(*fd),
            Call::SetOption { fd, level, name, value } => {
                self.set_option(*fd, Level(*level), *name, value.clone())
            }
            Call::GetOption { fd, level, name } => self.get_option(*fd, Level(*level), *name),
            Call::GetFlags { fd } => {
                let nonblocking = self.socket(*fd)?.nonblocking;
                value(c::O_RDWR | if nonblocking { c::O_NONBLOCK } else { 0 })
            }
            Call::SetFlags { fd, flags } => {
                self.socket(*fd)?.nonblocking = *flags & c::O_NONBLOCK != 0;
                ZERO
            }
            Call::Ioctl { fd, request } => self.ioctl(*fd, *request),
            Call::Poll { fds, until, forever } => self.poll(fds, *until, *forever),
        }
    }

    fn socket(&mut self, fd: i32) -> Result<&mut Socket, Errno> {
        self.sockets.get_mut(&fd).ok_or(Errno::EBADF)
    }

    /// The connection of a descriptor, and whether calls on it may block.
    fn stream(&mut self, fd: i32) -> Result<(usize, bool), Errno> {
        let socket = self.socket(fd)?;
        match socket.kind {
            SocketKind::Stream(i) => Ok((i, !socket.nonblocking)),
            _ => Err(Errno::ENOTCONN),
        }
    }

    fn listen(&mut self, fd: i32, backlog: i64) -> CallResult {
        let socket = self.socket(fd)?;
        match &mut socket.kind {
            SocketKind::Fresh => {
                socket.port.get_or_insert(SERVER_PORT);
                socket.kind = SocketKind::Listener(Listener::new(backlog));
            }
            SocketKind::Listener(listener) => listener.set_backlog(backlog),
            SocketKind::Stream(_) => return Err(Errno::EINVAL),
        }
        ZERO
    }

    fn accept(&mut self, fd: i32, nonblocking: bool) -> CallResult {
        let socket = self.socket(fd)?;
        let blocks = !socket.nonblocking;
        let options = socket.options.clone();
        let SocketKind::Listener(listener) = &mut socket.kind else { return Err(Errno::EINVAL) };
        let Some(i) = listener.ready.pop_front() else {
            return if blocks { Ok(None) } else { Err(Errno::EAGAIN) };
        };
        let port = Some(self.flows[i].ports.local);
        value(self.open(Socket { kind: SocketKind::Stream(i), options, nonblocking, port })?)
    }

    fn connect(&mut self, fd: i32, port: Option<u16>) -> CallResult {
        let now = self.now;
        let local = self.free_port();
        let socket = self.socket(fd)?;
        let blocks = !socket.nonblocking;
        match socket.kind {
            SocketKind::Listener(_) => Err(Errno::EISCONN),
            SocketKind::Fresh => {
                let options = socket.options.clone();
                let local = *socket.port.get_or_insert(local);
                let ports = Ports { local, remote: port.unwrap_or(SERVER_PORT) };
                let i = self.flows.len();
                if i >= super::MAX_OPEN {
                    return Err(Errno::EMFILE);
                }
                let mut flow = self.make_flow(ports, options, false);
                flow.connection.connect(now);
                self.flows.push(flow);
                self.socket(fd)?.kind = SocketKind::Stream(i);
                self.run(i);
                if blocks { Ok(None) } else { Err(Errno::EINPROGRESS) }
            }
            SocketKind::Stream(i) => {
                let flow = &mut self.flows[i];
                if let Some(error) = flow.error.take() {
                    return Err(error);
                }
                match (flow.established, flow.is_opening()) {
                    (_, true) if blocks => Ok(None),
                    (_, true) => Err(Errno::EALREADY),
                    // The first call that looks after the handshake has this for its result.
                    (true, _) if !std::mem::replace(&mut flow.connect_returned, true) => ZERO,
                    (true, _) => Err(Errno::EISCONN),
                    _ => Err(Errno::ECONNABORTED),
                }
            }
        }
    }

    fn write(&mut self, fd: i32, len: u64, flags: i64, done: &mut u64) -> CallResult {
        let now = self.now;
        let (i, blocks) = match self.stream(fd) {
            // Not connected at all.
            Err(Errno::ENOTCONN) => return Err(Errno::EPIPE),
            other => other?,
        };
        let blocks = blocks && flags & c::MSG_DONTWAIT == 0;
        let flow = &mut self.flows[i];
        if let Some(error) = flow.error.take() {
            return if *done > 0 { value(*done) } else { Err(error) };
        }
        if flow.shut_write || flow.aborted {
            return Err(Errno::EPIPE);
        }
        if flow.is_opening() {
            return if blocks { Ok(None) } else { Err(Errno::EAGAIN) };
        }
        if flags & c::MSG_OOB != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        let more = flags & c::MSG_MORE != 0;
        flow.connection.set_cork(now, more || flow.options.corks());
        *done += flow.connection.write_counted(now, len - *done);
        if *done == len {
            flow.counts.last_data_sent = Some(now);
        }
        self.run(i);
        match (*done, blocks) {
            (done, _) if done == len => value(done),
            (_, true) => Ok(None),
            (0, false) => Err(Errno::EAGAIN),
            (done, false) => value(done),
        }
    }

    fn read(&mut self, fd: i32, len: u64, flags: i64) -> CallResult {
        let now = self.now;
        let (i, blocks) = self.stream(fd)?;
        let blocks = blocks && flags & c::MSG_DONTWAIT == 0;
        let flow = &mut self.flows[i];
        let readable = flow.connection.readable();
        let enough = if flags & c::MSG_WAITALL != 0 { len } else { 1 };
        if readable > 0 && (readable >= enough.min(len) || flow.is_complete()) {
            let n = readable.min(len);
            if flags & c::MSG_PEEK == 0 {
                flow.connection.read_counted(now, n);
                self.run(i);
            }
            return value(n);
        }
        if let Some(error) = flow.error.take() {
            return Err(error);
        }
        if flow.is_read_out() {
            return ZERO;
        }
        if blocks { Ok(None) } else { Err(Errno::EAGAIN) }
    }

    fn shutdown(&mut self, fd: i32, how: i64) -> CallResult {
        let now = self.now;
        if !(c::SHUT_RD..=c::SHUT_RDWR).contains(&how) {
            return Err(Errno::EINVAL);
        }
        if let SocketKind::Listener(_) = self.socket(fd)?.kind {
            self.stop_listening(fd);
            return ZERO;
        }
        let (i, _) = self.stream(fd)?;
        let flow = &mut self.flows[i];
        if flow.aborted || (!flow.established && !flow.is_opening()) {
            return Err(Errno::ENOTCONN);
        }
        if how != c::SHUT_WR {
            flow.shut_read = true;
        }
        if how != c::SHUT_RD {
            flow.shut_write = true;
            flow.connection.close(now);
        }
        self.run(i);
        ZERO
    }

    fn close(&mut self, fd: i32) -> CallResult {
        let now = self.now;
        self.stop_listening(fd);
        let socket = self.sockets.remove(&fd).ok_or(Errno::EBADF)?;
        if let SocketKind::Stream(i) = socket.kind {
            self.flows[i].close(now);
            self.run(i);
        }
        ZERO
    }

    /// Connections that nobody will accept are reset.
    fn stop_listening(&mut self, fd: i32) {
        let now = self.now;
        let Some(socket) = self.sockets.get_mut(&fd) else { return };
        let SocketKind::Listener(listener) = &mut socket.kind else { return };
        let mut over: VecDeque<usize> = std::mem::take(&mut listener.ready);
        let opening = std::mem::take(&mut listener.opening);
        socket.kind = SocketKind::Fresh;
        over.extend(opening);
        for i in over {
            self.flows[i].connection.abort(now);
            self.run(i);
        }
    }

    fn set_option(&mut self, fd: i32, level: Level, name: i64, to: OptionValue) -> CallResult {
        let now = self.now;
        let socket = self.sockets.get_mut(&fd).ok_or(Errno::EBADF)?;
        socket.options.set(level, name, to.clone())?;
        if let SocketKind::Stream(i) = socket.kind {
            let flow = &mut self.flows[i];
            flow.options.set(level, name, to)?;
            let options = flow.options.clone();
            flow.connection.reconfigure(now, |config| options.apply(config));
            if name == c::TCP_NODELAY && options.sends_at_once() {
                // It lets go what a cork has held until now (`tcp_setsockopt`).
                flow.connection.set_cork(now, false);
                self.run(i);
            }
            self.flows[i].connection.set_cork(now, options.corks());
            self.run(i);
        }
        ZERO
    }

    fn get_option(&mut self, fd: i32, level: Level, name: i64) -> CallResult {
        let socket = self.sockets.get(&fd).ok_or(Errno::EBADF)?;
        let flow = match socket.kind {
            SocketKind::Stream(i) => self.flows.get_mut(i),
            _ => None,
        };
        let int = |n: i64| Ok(Some(Returned::Option(OptionValue::Int(n))));
        match (level.0, name, flow) {
            (c::SOL_SOCKET, c::SO_ERROR, flow) => {
                let error = flow.and_then(|f| f.error.take());
                Ok(Some(error.map_or(Returned::Option(OptionValue::Int(0)), |e| {
                    Returned::Option(OptionValue::Text(e.0.to_owned()))
                })))
            }
            (c::SOL_TCP, c::TCP_MAXSEG, Some(flow)) => int(i64::from(flow.connection.smss())),
            (c::SOL_TCP, c::TCP_MAXSEG, None) => match socket.options.get(level, name) {
                Some(OptionValue::Int(n)) => int(*n),
                _ => int(536),
            },
            (_, _, Some(flow)) => Self::set_value(&flow.options, level, name),
            (_, _, None) => Self::set_value(&socket.options, level, name),
        }
    }

    fn set_value(options: &SocketOptions, level: Level, name: i64) -> CallResult {
        if !SocketOptions::is_known(level, name) {
            return Err(Errno::ENOPROTOOPT);
        }
        let doubled = level.0 == c::SOL_SOCKET && matches!(name, c::SO_SNDBUF | c::SO_RCVBUF);
        Ok(Some(Returned::Option(match options.get(level, name).cloned() {
            // Linux takes half of a buffer for its own bookkeeping, and doubles what it is asked for.
            Some(OptionValue::Int(n)) if doubled => OptionValue::Int(2 * n),
            Some(value) => value,
            None => OptionValue::Int(0),
        })))
    }

    fn ioctl(&mut self, fd: i32, request: i64) -> CallResult {
        let (i, _) = self.stream(fd)?;
        let flow = &self.flows[i];
        match request {
            c::SIOCINQ => Ok(Some(Returned::Number(flow.connection.readable() as i64))),
            c::SIOCOUTQ => Ok(Some(Returned::Number(flow.connection.unacked() as i64))),
            c::SIOCOUTQNSD => {
                let sent = flow.connection.view(self.now).unsent;
                Ok(Some(Returned::Number(sent as i64)))
            }
            _ => Err(Errno::EINVAL),
        }
    }

    fn poll(&mut self, fds: &[(i32, i64)], until: Option<Instant>, forever: bool) -> CallResult {
        let found: Vec<i64> = fds.iter().map(|(fd, wanted)| self.events_of(*fd, *wanted)).collect();
        let over = until.is_some_and(|at| self.now >= at) || (until.is_none() && !forever);
        let any = found.iter().any(|e| *e != 0);
        if any || over { Ok(Some(Returned::Events(found))) } else { Ok(None) }
    }

    fn events_of(&self, fd: i32, wanted: i64) -> i64 {
        let Some(socket) = self.sockets.get(&fd) else { return 0x20 };
        let always = c::POLLERR | c::POLLHUP;
        let events = match &socket.kind {
            SocketKind::Fresh => c::POLLOUT | c::POLLHUP,
            SocketKind::Listener(listener) => {
                if listener.ready.is_empty() {
                    0
                } else {
                    c::POLLIN
                }
            }
            SocketKind::Stream(i) => stream_events(&self.flows[*i]),
        };
        events & (wanted | always)
    }
}

fn stream_events(flow: &Flow) -> i64 {
    let mut events = 0;
    if flow.is_opening() {
        return 0;
    }
    let read_shut = flow.connection.at_end() || flow.shut_read || flow.aborted;
    if flow.is_readable() || read_shut {
        events |= c::POLLIN;
    }
    if read_shut {
        events |= c::POLLRDHUP;
    }
    // Linux asks for a third of the buffer to be free (`sk_stream_is_writeable`).
    if flow.shut_write || flow.aborted || flow.connection.writable() > 0 {
        events |= c::POLLOUT;
    }
    if flow.error.is_some() {
        events |= c::POLLERR;
    }
    if flow.aborted || (read_shut && flow.shut_write) {
        events |= c::POLLHUP;
    }
    events
}
