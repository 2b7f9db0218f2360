//! System calls that open a connection together with its first data: `MSG_FASTOPEN` and
//! `TCP_FASTOPEN_CONNECT`, as Linux has them (`tcp_sendmsg_fastopen`, `__inet_stream_connect`).

use super::calls::{CallResult, value};
use super::options::Level;
use super::socket::SocketKind;
use super::{EngineHost, Socket};
use crate::constants as c;
use crate::constants::Errno;
use crate::host::{FastOpenCall, OptionValue, Ports, SERVER_PORT};

impl EngineHost {
    /// A call that writes with `MSG_FASTOPEN`.
    pub(super) fn send_fast_open(&mut self, call: &mut FastOpenCall) -> CallResult {
        let socket = self.socket(call.fd)?;
        let blocks = !socket.nonblocking && call.flags & c::MSG_DONTWAIT == 0;
        if !call.begun {
            if !self.fast_open.serves_clients() || call.to_nobody {
                return Err(Errno::EOPNOTSUPP);
            }
            return self.begin_fast_open(call, blocks);
        }
        let SocketKind::Stream(i) = socket.kind else { return Err(Errno::ENOTCONN) };
        let flow = &mut self.flows[i];
        if flow.is_opening() {
            return Ok(None);
        }
        if let Some(error) = flow.error.take() {
            return Err(error);
        }
        flow.connect_returned = true;
        self.write(call.fd, call.len, call.flags, &mut call.done)
    }

    fn begin_fast_open(&mut self, call: &mut FastOpenCall, blocks: bool) -> CallResult {
        let i = match self.socket(call.fd)?.kind {
            SocketKind::Listener(_) => return Err(Errno::EISCONN),
            SocketKind::Epoll(_) | SocketKind::Pipe { .. } | SocketKind::File => {
                return Err(Errno::ENOTSOCK);
            }
            SocketKind::Fresh => self.new_client(call.fd, call.port)?,
            SocketKind::Stream(i) => {
                let flow = &mut self.flows[i];
                if flow.deferred {
                    call.begun = true;
                    return self.write_deferred(i, blocks, call.len, &mut call.done);
                }
                if flow.is_opening() {
                    call.begun = blocks;
                    return if blocks { Ok(None) } else { Err(Errno::EALREADY) };
                }
                if let Some(error) = flow.error.take() {
                    return Err(error);
                }
                if std::mem::replace(&mut flow.connect_returned, true) {
                    return Err(Errno::EISCONN);
                }
                return self.write(call.fd, call.len, call.flags, &mut call.done);
            }
        };
        call.begun = true;
        self.write_deferred(i, blocks, call.len, &mut call.done)
    }

    /// The first write of a connection whose SYN waits for it.
    pub(super) fn write_deferred(&mut self, i: usize, blocks: bool, len: u64, done: &mut u64) -> CallResult {
        *done = self.leave_with_text(i, len);
        if blocks && *done < len {
            // The ack of the SYN-ACK waits for what the caller writes then (`sk_write_pending`).
            let now = self.now;
            self.flows[i].connection.set_quick_acks(now, false);
        }
        match *done {
            _ if blocks => Ok(None),
            0 => Err(Errno::EINPROGRESS),
            done => value(done),
        }
    }

    /// Sends the SYN of a client, with as much of `len` bytes as may go with it. Returns that.
    fn leave_with_text(&mut self, i: usize, len: u64) -> u64 {
        let now = self.now;
        let flow = &mut self.flows[i];
        flow.deferred = false;
        let begun = self.fast_open.begin(&flow.options, flow.connection.announced_mss(), now);
        let mut done = 0;
        match begun {
            Some((option, room)) => {
                flow.connection.connect_fast_open(now, option, room);
                done = flow.connection.write_counted(now, len.min(flow.connection.syn_room()));
                flow.written += done;
                if let Some(sending) = &mut flow.sending
                    && done > 0
                {
                    sending.queue.append(done, done, true);
                    sending.queue.push();
                }
            }
            None => flow.connection.connect(now),
        }
        if done > 0 {
            flow.counts.last_data_sent = Some(now);
        }
        self.run(i);
        done
    }

    /// `connect` of a fresh socket. True where its SYN waits for data.
    pub(super) fn begin_connect(&mut self, fd: i32, port: Option<u16>) -> Result<(usize, bool), Errno> {
        let now = self.now;
        let i = self.new_client(fd, port)?;
        let flow = &mut self.flows[i];
        if let Some(limit) =
            flow.options.int(c::SOL_TCP, c::TCP_MAXSEG).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0)
        {
            // Of what a client's peer does not announce it is the default (`tcp_connect_init`).
            flow.connection.reconfigure(now, |config| {
                if config.uncapped_default {
                    config.default_mss = limit;
                }
            });
        }
        if flow.options.int(c::SOL_TCP, c::TCP_FASTOPEN_CONNECT) != Some(1) {
            flow.connection.connect(now);
            self.run(i);
            return Ok((i, false));
        }
        flow.deferred = self.fast_open.may_send_text(&flow.options, now);
        let deferred = flow.deferred;
        if !deferred {
            self.leave_with_text(i, 0);
        }
        Ok((i, deferred))
    }

    /// A connection for a fresh socket, still closed.
    fn new_client(&mut self, fd: i32, port: Option<u16>) -> Result<usize, Errno> {
        let local = self.free_port();
        let socket = self.socket(fd)?;
        let options = socket.options.clone();
        let local = *socket.port.get_or_insert(local);
        let ports = Ports { local, remote: port.unwrap_or(SERVER_PORT) };
        let i = self.flows.len();
        if i >= super::MAX_OPEN {
            return Err(Errno::EMFILE);
        }
        let quick = options.acks_quickly();
        let mut flow = self.make_flow(ports, options, false);
        if !quick {
            flow.connection.set_quick_acks(self.now, false);
        }
        self.flows.push(flow);
        self.socket(fd)?.kind = SocketKind::Stream(i);
        Ok(i)
    }

    /// Whether an option of Fast Open may be set now; for others, yes.
    pub(super) fn check_fast_open_option(
        &self,
        socket: &Socket,
        level: Level,
        name: i64,
        to: &OptionValue,
    ) -> Result<(), Errno> {
        let stream = matches!(socket.kind, SocketKind::Stream(_));
        let listens = matches!(socket.kind, SocketKind::Listener(_));
        match (level.0, name, to) {
            (c::SOL_TCP, c::TCP_FASTOPEN_CONNECT, OptionValue::Int(0 | 1))
                if !self.fast_open.serves_clients() =>
            {
                Err(Errno::EOPNOTSUPP)
            }
            (c::SOL_TCP, c::TCP_FASTOPEN_CONNECT, _) if stream || listens => Err(Errno::EINVAL),
            (c::SOL_TCP, c::TCP_FASTOPEN | c::TCP_FASTOPEN_NO_COOKIE, _) if stream => Err(Errno::EINVAL),
            _ => Ok(()),
        }
    }
}
