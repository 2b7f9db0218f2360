//! The clients: one host for each transfer.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use ackclock_trace::Outcome;
use ackclock_units::{Bytes, Duration, Instant};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};

use super::plan::{Closes, KernelWeb, WebFlow};
use crate::linux::wait::be_punctual;
use crate::pattern::PayloadPattern;
use crate::sockets::{EDGES, Ready, RunControl, SocketOptions, opening, reason};
use crate::{DriveError, Kernels, OptionSeen, TcpCounts};

/// A connection, opening or open.
struct ClientConn {
    socket: OwnedFd,
    /// Bytes of the request written to the kernel.
    written: Bytes,
}

/// Result of handling an event of a connection.
enum Step {
    Waits,
    Over(Outcome, Option<&'static str>),
    WrongByte(u64),
}

/// Results of the clients.
pub(super) struct ClientReport {
    pub(super) flows: Vec<WebFlow>,
    pub(super) loaded: Bytes,
    pub(super) options: Vec<OptionSeen>,
}

/// Size of a read.
const BLOCK: usize = 1 << 14;

pub(super) struct Client<'a> {
    web: &'a KernelWeb,
    control: &'a RunControl,
    pattern: &'a PayloadPattern,
    server: SocketAddr,
    /// The start of the run.
    zero: Instant,
    ready: Ready,
    conns: Vec<Option<ClientConn>>,
    flows: Vec<WebFlow>,
    /// Bytes of responses read by the end of `duration`.
    loaded: Bytes,
    options: SocketOptions,
}

impl<'a> Client<'a> {
    /// Clients of `server`, with starts relative to `zero`.
    pub(super) fn new(
        web: &'a KernelWeb,
        control: &'a RunControl,
        pattern: &'a PayloadPattern,
        server: SocketAddr,
        zero: Instant,
    ) -> Result<Self, DriveError> {
        let flows = web.transfers.iter().map(|t| WebFlow::of(*t)).collect();
        let conns = web.transfers.iter().map(|_| None).collect();
        Ok(Self {
            web,
            control,
            pattern,
            server,
            zero,
            ready: Ready::new()?,
            conns,
            flows,
            loaded: 0,
            options: SocketOptions::new(&web.options),
        })
    }

    /// Runs the transfers until all are done or the time is over. Must be called in the clients' namespace.
    pub(super) fn run(mut self) -> Result<ClientReport, DriveError> {
        be_punctual();
        let end = self.zero + self.web.duration + self.web.drain;
        let (mut next, mut open) = (0, 0_usize);
        loop {
            let now = self.control.clock.now();
            if now >= end || self.control.is_stopped() {
                break;
            }
            while let Some(due) = self.due(next).filter(|due| *due <= now) {
                self.open(next, due)?;
                (next, open) = (next + 1, open + 1);
            }
            let coming = self.due(next);
            if coming.is_none() && open == 0 {
                break;
            }
            for n in self.ready.wait(
                &self.control.clock,
                &self.control.client_waker,
                Some(coming.map_or(end, |at| at.min(end))),
            ) {
                open -= usize::from(self.step(n)?);
            }
        }
        for n in 0..next {
            if self.conns[n].is_some() {
                self.finish(n, Outcome::Unfinished, None);
            }
        }
        Ok(ClientReport { flows: self.flows, loaded: self.loaded, options: self.options.0 })
    }

    /// When transfer `n` starts, if there is one.
    fn due(&self, n: usize) -> Option<Instant> {
        self.web.transfers.get(n).map(|t| self.zero + t.start.since(Instant::ZERO))
    }

    fn open(&mut self, n: usize, due: Instant) -> Result<(), DriveError> {
        let now = self.control.clock.now();
        let from = SocketAddr::new(Kernels::host(n as u16), 0);
        let socket = opening(from, self.server, &self.options)?;
        self.options.check(socket.as_fd());
        self.ready.add(&socket, n, EDGES)?;
        (self.flows[n].opened, self.flows[n].late) = (Some(now.since(self.zero)), now.since(due));
        self.conns[n] = Some(ClientConn { socket, written: 0 });
        Ok(())
    }

    /// Handles an event of connection `n`; true when it is over.
    fn step(&mut self, n: usize) -> Result<bool, DriveError> {
        let Some(conn) = &mut self.conns[n] else { return Ok(false) };
        let now = self.control.clock.now();
        let flow = &mut self.flows[n];
        let since = now.since(self.zero + flow.opened.unwrap_or_default());
        let before = flow.received;
        let step = conn.step(flow, since, (self.pattern, n), self.web.closes);
        if now <= self.zero + self.web.duration {
            self.loaded += flow.received - before;
        }
        match step {
            Step::Waits => Ok(false),
            Step::WrongByte(at) => {
                Err(DriveError::Failed(format!("byte {at} of response {n} differs from the byte sent")))
            }
            Step::Over(outcome, reason) => {
                if outcome == Outcome::Finished {
                    flow.response_time = Some(since);
                }
                self.finish(n, outcome, reason);
                Ok(true)
            }
        }
    }

    /// Reads the kernel's counters of a connection, and closes it.
    fn finish(&mut self, n: usize, outcome: Outcome, reason: Option<&'static str>) {
        let Some(conn) = self.conns[n].take() else { return };
        let flow = &mut self.flows[n];
        (flow.outcome, flow.reason, flow.client) = (outcome, reason, TcpCounts::of(conn.socket.as_fd()));
    }
}

impl ClientConn {
    /// Writes and reads as much as possible. `since` is the time since the connection was opened.
    fn step(
        &mut self,
        flow: &mut WebFlow,
        since: Duration,
        (pattern, n): (&PayloadPattern, usize),
        closes: Closes,
    ) -> Step {
        if flow.established.is_none() {
            match sockopt::socket_error(&self.socket) {
                Ok(Ok(())) => {}
                Ok(Err(e)) | Err(e) => {
                    return Step::Over(
                        Outcome::Failed,
                        Some(if e == Errno::TIMEDOUT { "syn-timeout" } else { reason(e) }),
                    );
                }
            }
        }
        while self.written < flow.transfer.request {
            let block = [0; BLOCK];
            let len = (flow.transfer.request - self.written).min(BLOCK as Bytes) as usize;
            match send(&self.socket, &block[..len], SendFlags::NOSIGNAL) {
                Ok(taken) => {
                    flow.established.get_or_insert(since);
                    self.written += taken as Bytes;
                }
                Err(Errno::AGAIN) => return Step::Waits,
                Err(Errno::INTR) => {}
                Err(e) => return Step::Over(Outcome::Failed, Some(reason(e))),
            }
        }
        let mut block = [0; BLOCK];
        loop {
            match recv(&self.socket, &mut block, RecvFlags::empty()) {
                Ok((0, _)) if flow.received == flow.transfer.size => {
                    return Step::Over(Outcome::Finished, None);
                }
                // The server closed early.
                Ok((0, _)) => return Step::Over(Outcome::Failed, Some("reset")),
                Ok((read, _)) => {
                    if flow.received + read as Bytes > flow.transfer.size {
                        return Step::WrongByte(flow.transfer.size);
                    }
                    if let Some(at) = pattern.wrong(n, flow.received, &block[..read]) {
                        return Step::WrongByte(at);
                    }
                    flow.received += read as Bytes;
                    if closes == Closes::Client && flow.received == flow.transfer.size {
                        return Step::Over(Outcome::Finished, None);
                    }
                }
                Err(Errno::AGAIN) => return Step::Waits,
                Err(Errno::INTR) => {}
                Err(e) => return Step::Over(Outcome::Failed, Some(reason(e))),
            }
        }
    }
}
