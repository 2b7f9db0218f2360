//! System calls. One that would block is tried again after each event.

use ackclock_engine::State;
use ackclock_units::Instant;

use super::options::{Level, MAX_BUFFER, SocketOptions};
use super::socket::{self, Listener, SocketKind};
use super::{EngineHost, Flow, Socket, reports};
use crate::constants as c;
use crate::constants::Errno;
use crate::host::{Call, OptionValue, Returned, SERVER_PORT};

/// What became of a call; `None` where it blocks.
pub(super) type CallResult = Result<Option<Returned>, Errno>;

pub(super) const ZERO: CallResult = Ok(Some(Returned::Value(0)));

pub(super) fn value(n: impl TryInto<i64>) -> CallResult {
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
            Call::FastOpen(call) => self.send_fast_open(call),
            Call::Read { fd, len, flags } => self.read(*fd, *len, *flags),
            Call::Shutdown { fd, how } => self.shutdown(*fd, *how),
            Call::Close { fd, lingers } => self.close(*fd, lingers),
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
            Call::Message { fd, len, flags } => self.receive_message(*fd, *len, *flags),
            // Commands of scripts are not run, so that no file is there which they make.
            Call::Open { .. } => value(self.open(Socket::of(SocketKind::File))?),
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

    pub(super) fn socket(&mut self, fd: i32) -> Result<&mut Socket, Errno> {
        self.sockets.get_mut(&fd).ok_or(Errno::EBADF)
    }

    /// The connection of a descriptor, and whether calls on it may block.
    pub(super) fn stream(&mut self, fd: i32) -> Result<(usize, bool), Errno> {
        let socket = self.socket(fd)?;
        match socket.kind {
            SocketKind::Stream(i) => Ok((i, !socket.nonblocking)),
            _ => Err(Errno::ENOTCONN),
        }
    }

    fn listen(&mut self, fd: i32, backlog: i64) -> CallResult {
        let unasked = self.fast_open.backlog_of_listeners(backlog);
        let socket = self.socket(fd)?;
        let asked = socket.options.int(c::SOL_TCP, c::TCP_FASTOPEN).filter(|most| *most > 0);
        match &mut socket.kind {
            SocketKind::Fresh => {
                socket.port.get_or_insert(SERVER_PORT);
                socket.kind = SocketKind::Listener(Listener::new(backlog, asked.unwrap_or(unasked)));
            }
            SocketKind::Listener(listener) => {
                listener.queue.set_most(socket::backlog(backlog));
                listener.fast_opens.most = asked.unwrap_or(unasked);
            }
            _ => return Err(Errno::EINVAL),
        }
        ZERO
    }

    fn accept(&mut self, fd: i32, nonblocking: bool) -> CallResult {
        let socket = self.socket(fd)?;
        let blocks = !socket.nonblocking;
        let options = socket.options.clone();
        let SocketKind::Listener(listener) = &mut socket.kind else { return Err(Errno::EINVAL) };
        let Some(i) = listener.queue.accept() else {
            return if blocks { Ok(None) } else { Err(Errno::EAGAIN) };
        };
        self.flows[i].listener = None;
        let port = Some(self.flows[i].ports.local);
        value(self.open(Socket { kind: SocketKind::Stream(i), options, nonblocking, port })?)
    }

    fn connect(&mut self, fd: i32, port: Option<u16>) -> CallResult {
        let socket = self.socket(fd)?;
        let blocks = !socket.nonblocking;
        match socket.kind {
            SocketKind::Epoll(_) | SocketKind::Pipe { .. } | SocketKind::File => Err(Errno::ENOTSOCK),
            SocketKind::Listener(_) => Err(Errno::EISCONN),
            SocketKind::Fresh => match self.begin_connect(fd, port)? {
                // Its SYN waits for data.
                (_, true) => ZERO,
                _ if blocks => Ok(None),
                _ => Err(Errno::EINPROGRESS),
            },
            SocketKind::Stream(i) => {
                let flow = &mut self.flows[i];
                if let Some(error) = flow.error.take() {
                    return Err(error);
                }
                if flow.deferred {
                    return Err(Errno::EISCONN);
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
            flow.connection.stop_reading();
        }
        if how != c::SHUT_RD {
            flow.shut_write = true;
            flow.connection.close(now);
        } else if let Some(sending) = &mut flow.sending {
            // It sends nothing (`tcp_shutdown`).
            sending.idle = true;
        }
        self.run(i);
        ZERO
    }

    /// Closes a descriptor. Where the socket is to linger the call blocks until the FIN is acknowledged, or
    /// for as long as it says (RFC 1122 §4.2.2.13), whether others block or not.
    fn close(&mut self, fd: i32, lingers: &mut Option<(usize, Instant)>) -> CallResult {
        let now = self.now;
        if lingers.is_none() {
            self.stop_listening(fd);
            self.forget(fd);
            let socket = self.sockets.remove(&fd).ok_or(Errno::EBADF)?;
            let SocketKind::Stream(i) = socket.kind else { return ZERO };
            self.flows[i].close(now);
            self.run(i);
            *lingers = self.flows[i].options.lingers().map(|time| (i, now + time));
        }
        let waits = lingers.is_some_and(|(i, until)| {
            let state = self.flows[i].connection.state();
            now < until && matches!(state, State::FinWait1 | State::Closing | State::LastAck)
        });
        if waits { Ok(None) } else { ZERO }
    }

    /// Connections that nobody will accept are reset.
    fn stop_listening(&mut self, fd: i32) {
        let now = self.now;
        let Some(socket) = self.sockets.get_mut(&fd) else { return };
        let SocketKind::Listener(_) = socket.kind else { return };
        socket.kind = SocketKind::Fresh;
        for i in 0..self.flows.len() {
            if self.flows[i].listener.take_if(|listener| *listener == fd).is_some() {
                self.flows[i].connection.abort(now);
                self.run(i);
            }
        }
    }

    fn set_option(&mut self, fd: i32, level: Level, name: i64, to: OptionValue) -> CallResult {
        let now = self.now;
        let socket = self.sockets.get(&fd).ok_or(Errno::EBADF)?;
        self.check_fast_open_option(socket, level, name, &to)?;
        let socket = self.sockets.get_mut(&fd).ok_or(Errno::EBADF)?;
        socket.options.set(level, name, to.clone())?;
        if let (SocketKind::Listener(listener), c::SOL_TCP, c::TCP_FASTOPEN, OptionValue::Int(most)) =
            (&mut socket.kind, level.0, name, &to)
        {
            listener.fast_opens.most = *most;
        }
        if reports::is_stamping(level, name)
            && let SocketKind::Stream(i) = socket.kind
        {
            let flow = &mut self.flows[i];
            flow.reports.begin_keys(flow.written.saturating_sub(flow.connection.unacked()));
        }
        if let SocketKind::Stream(i) = socket.kind {
            let flow = &mut self.flows[i];
            flow.options.set(level, name, to)?;
            let options = flow.options.clone();
            let memory = options.send_memory();
            let as_linux = flow.sending.is_some();
            if let (Some(sending), Some(memory)) = (&mut flow.sending, memory) {
                sending.set_memory(memory);
            }
            flow.connection.reconfigure(now, |config| {
                options.apply(config);
                if as_linux {
                    config.snd_buf = MAX_BUFFER;
                }
            });
            if name == c::TCP_NODELAY && options.sends_at_once() {
                // It lets go what a cork has held until now (`tcp_setsockopt`).
                flow.connection.set_cork(now, false);
                self.run(i);
            }
            let of_tcp = level.0 == c::SOL_TCP;
            let uncorks = of_tcp && name == c::TCP_CORK && !options.corks();
            let at_once = of_tcp && name == c::TCP_NODELAY && options.sends_at_once();
            self.flows[i].uncork(now, uncorks || at_once);
            if let Some(sending) = self.flows[i].sending.as_mut().filter(|_| !uncorks && !at_once) {
                sending.idle = true;
            }
            if (level.0, name) == (c::SOL_TCP, c::TCP_QUICKACK) {
                self.flows[i].connection.set_quick_acks(now, options.acks_quickly());
            }
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
        if let (c::SOL_SOCKET, Some(host)) = (level.0, self.freebsd)
            && let Some(unconnected) = host.buffer_of(&socket.options, name)
        {
            let buffers = flow.and_then(|f| f.buffers);
            let bytes =
                buffers.map_or(unconnected, |b| if name == c::SO_RCVBUF { b.receive } else { b.send });
            return int(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
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
            (c::SOL_SOCKET, c::SO_SNDBUF, Some(Flow { sending: Some(sending), .. })) => {
                int(i64::try_from(sending.memory()).unwrap_or(i64::MAX))
            }
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
            c::SIOCINQ => Ok(Some(Returned::Number(flow.queued() as i64))),
            c::SIOCATMARK => Ok(Some(Returned::Number(flow.is_at_mark().into()))),
            c::SIOCOUTQ => Ok(Some(Returned::Number(flow.connection.unacked() as i64))),
            c::SIOCOUTQNSD => {
                let sent = flow.connection.view(self.now).unsent;
                Ok(Some(Returned::Number(sent as i64)))
            }
            _ => Err(Errno::EINVAL),
        }
    }
}
