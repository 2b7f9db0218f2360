//! One end of all connections of a run, on a kernel's sockets and one thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use ackclock_units::{Duration, Instant};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, getsockname};

use super::conn::{App, FlowConn};
use super::side::{PATIENCE, SideReport, SideRole};
use crate::ledger::Ledger;
use crate::linux::wait::be_punctual;
use crate::sockets::{EDGES, Ready, RunControl, SocketOptions, listener, opening};
use crate::{DriveError, Kernels};

/// Number of the listener among those of connections.
const LISTENER: usize = usize::MAX;
pub(super) struct KernelSide<'a> {
    control: &'a RunControl,
    role: SideRole,
    listener: Option<OwnedFd>,
    ready: Ready,
    apps: Vec<Option<(App, Ledger)>>,
    conns: Vec<Option<FlowConn>>,
    open: usize,
    /// Deadlines of applications; stale ones are skipped.
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    options: SocketOptions,
    quick_acks: bool,
    seen: SideReport,
}

impl<'a> KernelSide<'a> {
    /// The end that runs `apps`, one for each connection. An end that accepts must be created in its
    /// namespace.
    pub(super) fn new(
        control: &'a RunControl,
        role: SideRole,
        apps: Vec<Option<(App, Ledger)>>,
        options: SocketOptions,
        quick_acks: bool,
    ) -> Result<Self, DriveError> {
        let ready = Ready::new()?;
        let listener = match role {
            SideRole::Accepts { at } => Some(listener(at, &options)?),
            SideRole::Opens { .. } => None,
        };
        if let Some(listener) = &listener {
            ready.add(listener, LISTENER, epoll::EventFlags::IN)?;
        }
        let n = apps.len();
        let seen = SideReport::unopened(n);
        let conns = (0..n).map(|_| None).collect();
        Ok(Self {
            control,
            role,
            listener,
            ready,
            apps,
            conns,
            open: 0,
            due: BinaryHeap::new(),
            options,
            quick_acks,
            seen,
        })
    }

    /// Runs until `end`, until all connections are over, or until the run is stopped. An end that accepts
    /// then waits a short time for closing connections.
    pub(super) fn run(mut self, zero: Instant, end: Option<Instant>) -> Result<SideReport, DriveError> {
        be_punctual();
        let (mut next, mut leave_at) = (0, end);
        loop {
            let now = self.control.clock.now();
            if self.control.is_stopped() {
                match self.role {
                    SideRole::Opens { .. } => break,
                    SideRole::Accepts { .. } => leave_at = leave_at.or(Some(now + PATIENCE)),
                }
            }
            let over = self.control.is_stopped() && self.open == 0;
            if over || leave_at.is_some_and(|at| now >= at) {
                break;
            }
            while let Some(start) = self.role.start(next, zero).filter(|start| *start <= now) {
                self.connect(next, start.since(zero))?;
                next += 1;
            }
            self.call_due(now, zero);
            let coming = self.role.start(next, zero);
            if matches!(self.role, SideRole::Opens { .. }) && coming.is_none() && self.open == 0 {
                break;
            }
            let due = self.due.peek().map(|Reverse((at, _))| *at);
            let until = [coming, due, leave_at].into_iter().flatten().min();
            for n in self.ready.wait(&self.control.clock, self.role.waker(self.control), until) {
                if n == LISTENER { self.accept()? } else { self.step(n, zero)? }
            }
        }
        for n in 0..self.conns.len() {
            self.finish(n, zero);
        }
        Ok(SideReport { options: self.options.0, ..self.seen })
    }

    fn connect(&mut self, n: usize, at: Duration) -> Result<(), DriveError> {
        let SideRole::Opens { from, port, .. } = self.role else { return Ok(()) };
        let socket = opening(from, SocketAddr::new(Kernels::host(n as u16), port), &self.options)?;
        self.seen.opened[n].0 = Some(at);
        self.watch(n, socket)
    }

    fn accept(&mut self) -> Result<(), DriveError> {
        while let Some(listener) = &self.listener {
            let socket = match acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok((socket, _)) => socket,
                Err(Errno::AGAIN) => break,
                // The client has aborted meanwhile.
                Err(Errno::CONNABORTED | Errno::INTR) => continue,
                Err(e) => return Err(DriveError::System("accept a connection in a namespace", e.into())),
            };
            let host = getsockname(&socket).ok().and_then(|a| SocketAddr::try_from(a).ok());
            let number = host.and_then(|a| Kernels::host_number(a.ip())).filter(|n| *n < self.apps.len());
            if let Some(n) = number {
                self.watch(n, socket)?;
            }
        }
        Ok(())
    }

    fn watch(&mut self, n: usize, socket: OwnedFd) -> Result<(), DriveError> {
        let Some((app, ledger)) = self.apps[n].take() else { return Ok(()) };
        self.options.check(socket.as_fd());
        self.ready.add(&socket, n, EDGES)?;
        self.conns[n] = Some(FlowConn::new(socket, app, ledger, self.quick_acks, self.control.clock.now()));
        self.open += 1;
        Ok(())
    }

    /// Handles an event of connection `n`.
    fn step(&mut self, n: usize, zero: Instant) -> Result<(), DriveError> {
        let Some(conn) = &mut self.conns[n] else { return Ok(()) };
        let before = conn.due();
        if conn.step(&self.control.clock, &mut self.seen.stamping)? {
            let opened = self.seen.opened[n].0;
            self.seen.opened[n].1 = opened.map(|at| self.control.clock.now().since(zero + at));
        }
        self.reschedule(n, before, zero);
        Ok(())
    }

    fn call_due(&mut self, now: Instant, zero: Instant) {
        while let Some(&Reverse((at, n))) = self.due.peek() {
            if at > now {
                break;
            }
            self.due.pop();
            // Otherwise its deadline has changed since.
            if let Some(conn) = self.conns[n].as_mut().filter(|c| c.due() == Some(at)) {
                conn.call(now, now);
                self.reschedule(n, None, zero);
            }
        }
    }

    /// Schedules the deadline of connection `n` if it differs from `before`; finishes the connection when it
    /// is over.
    fn reschedule(&mut self, n: usize, before: Option<Instant>, zero: Instant) {
        let Some(conn) = &self.conns[n] else { return };
        if conn.is_over() {
            return self.finish(n, zero);
        }
        if let Some(at) = conn.due().filter(|at| Some(*at) != before) {
            self.due.push(Reverse((at, n)));
        }
    }

    fn finish(&mut self, n: usize, zero: Instant) {
        if let Some(conn) = self.conns[n].take() {
            self.seen.ends[n] = conn.finish(zero);
            self.open -= 1;
        }
    }
}
