//! One end of all connections of a run, on kernels' sockets and one thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use ackclock_sim::Barrier;
use ackclock_units::{Duration, Instant};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, getpeername, getsockname};

use super::conn::{App, FlowConn};
use super::sacks::{SackWatch, Sacked};
use super::side::{PATIENCE, SideReport, SideRole};
use super::snapshot::{Due, Moments, Sample, Snapshot, Watching};
use crate::ledger::Ledger;
use crate::linux::wait::be_punctual;
use crate::sockets::{EDGES, Ready, ReadyEvent, RunControl, SocketOptions, listener, opening};
use crate::{DriveError, Namespace};

/// Where the sockets of some connections are: a namespace, or the one of the thread, and their options.
pub(crate) struct Place<'a> {
    pub(crate) namespace: Option<&'a Namespace>,
    pub(crate) options: SocketOptions,
}

/// Where the clients of the flows of a source wait for each other, and the source of each connection.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    pub(crate) of_source: Vec<Barrier<()>>,
    pub(crate) sources: Vec<usize>,
}

/// What one end does beside running its applications.
#[derive(Default)]
pub(crate) struct SideOptions {
    /// Acknowledge at once, which is set after every read.
    pub(crate) quick_acks: bool,
    /// When connections are looked at.
    pub(crate) moments: Moments,
    pub(crate) barriers: Barriers,
    /// What acks report out of order, where an emulator tells it.
    pub(crate) sacks: Option<Arc<SackWatch>>,
}

pub(crate) struct KernelSide<'a> {
    control: &'a RunControl,
    role: SideRole,
    places: Vec<Place<'a>>,
    listeners: Vec<(OwnedFd, usize)>,
    ready: Ready,
    apps: Vec<Option<(App, Ledger)>>,
    conns: Vec<Option<FlowConn>>,
    open: usize,
    /// Deadlines of applications; stale ones are skipped.
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    quick_acks: bool,
    watching: Watching,
    barriers: Barriers,
    sacks: Option<Arc<SackWatch>>,
    seen: SideReport,
}

impl<'a> KernelSide<'a> {
    /// The end that runs `apps`, one for each connection. An end that accepts in the namespace of its thread must
    /// be created there.
    pub(crate) fn new(
        control: &'a RunControl,
        role: SideRole,
        apps: Vec<(App, Ledger)>,
        places: Vec<Place<'a>>,
        options: SideOptions,
    ) -> Result<Self, DriveError> {
        let ready = Ready::new()?;
        let mut listeners = Vec::new();
        if let SideRole::Accepts { at, .. } = &role {
            for (n, (at, place)) in at.iter().enumerate() {
                let Place { namespace, options } = &places[*place];
                let socket = match namespace {
                    Some(namespace) => namespace.run(|| listener(*at, options))??,
                    None => listener(*at, options)?,
                };
                ready.add(&socket, usize::MAX - n, epoll::EventFlags::IN)?;
                listeners.push((socket, *place));
            }
        }
        let n = apps.len();
        Ok(Self {
            control,
            role,
            places,
            listeners,
            ready,
            apps: apps.into_iter().map(Some).collect(),
            conns: (0..n).map(|_| None).collect(),
            open: 0,
            due: BinaryHeap::new(),
            quick_acks: options.quick_acks,
            watching: Watching::of(options.moments),
            barriers: options.barriers,
            sacks: options.sacks,
            seen: SideReport::unopened(n),
        })
    }

    /// Runs until `end`, until all connections are over, or until the run is stopped. An end that accepts
    /// then waits a short time for closing connections.
    pub(crate) fn run(mut self, zero: Instant, end: Option<Instant>) -> Result<SideReport, DriveError> {
        be_punctual();
        self.control.clock.wait_for_start();
        let (mut next, mut leave_at) = (0, end);
        loop {
            let now = self.control.clock.now();
            self.look(now, zero);
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
            self.take_sacks(zero);
            let coming = self.role.start(next, zero);
            if matches!(self.role, SideRole::Opens { .. }) && coming.is_none() && self.open == 0 {
                break;
            }
            let due = self.due.peek().map(|Reverse((at, _))| *at);
            let look = self.watching.next().map(|at| zero + at);
            let until = [coming, due, leave_at, look].into_iter().flatten().min();
            let waker = self.role.waker(self.control);
            for event in self.ready.wait_for_events(&self.control.clock, waker, until) {
                match usize::MAX - event.number {
                    listener if listener < self.listeners.len() => self.accept(listener)?,
                    _ => self.step(event, zero)?,
                }
            }
        }
        for n in 0..self.conns.len() {
            self.finish(n, zero, false);
        }
        let options = self.places.into_iter().map(|place| place.options.0).collect();
        let rounds = self.barriers.of_source.iter().map(Barrier::rounds).collect();
        Ok(SideReport { options, taken: self.watching.taken, rounds, ..self.seen })
    }

    fn connect(&mut self, n: usize, at: Duration) -> Result<(), DriveError> {
        let SideRole::Opens { openings, .. } = &self.role else { return Ok(()) };
        let way = openings[n];
        let Place { namespace, options } = &self.places[way.place];
        if let Some(namespace) = namespace {
            namespace.enter()?;
        }
        let socket = opening(way.from, way.to, options)?;
        self.seen.opened[n].0 = Some(at);
        self.watch(n, way.place, socket)
    }

    fn accept(&mut self, listener: usize) -> Result<(), DriveError> {
        let SideRole::Accepts { numbers, .. } = &self.role else { return Ok(()) };
        let (mut arrived, place) = (Vec::new(), self.listeners[listener].1);
        loop {
            let socket = &self.listeners[listener].0;
            let socket = match acceptfrom_with(socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok((socket, _)) => socket,
                Err(Errno::AGAIN) => break,
                // The client has aborted meanwhile.
                Err(Errno::CONNABORTED | Errno::INTR) => continue,
                Err(e) => return Err(DriveError::System("accept a connection in a namespace", e.into())),
            };
            let own = getsockname(&socket).ok().and_then(|a| SocketAddr::try_from(a).ok());
            let peer = getpeername(&socket).ok().flatten().and_then(|a| SocketAddr::try_from(a).ok());
            if let Some(n) = own.zip(peer).and_then(|(a, b)| numbers.get(&(a.ip(), b.ip()))) {
                arrived.push((*n, socket));
            }
        }
        arrived.into_iter().try_for_each(|(n, socket)| self.watch(n, place, socket))
    }

    fn watch(&mut self, n: usize, place: usize, socket: OwnedFd) -> Result<(), DriveError> {
        let Some((app, ledger)) = self.apps[n].take() else { return Ok(()) };
        self.places[place].options.check(socket.as_fd());
        self.ready.add(&socket, n, EDGES)?;
        self.conns[n] = Some(FlowConn::new(socket, app, ledger, self.quick_acks, self.control.clock.now()));
        self.open += 1;
        Ok(())
    }

    /// Handles an event of a connection.
    fn step(&mut self, event: ReadyEvent, zero: Instant) -> Result<(), DriveError> {
        let n = event.number;
        let Some(conn) = &mut self.conns[n] else { return Ok(()) };
        let before = conn.due();
        if conn.step(&self.control.clock, event.writable, &mut self.seen.stamping)? {
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

    /// Passes on what acks have reported out of order.
    fn take_sacks(&mut self, zero: Instant) {
        let side = self.role.number();
        let all = self.sacks.as_ref().map(|sacks| sacks.take(side)).unwrap_or_default();
        for Sacked { number, blocks, at } in all {
            let Some(conn) = self.conns.get_mut(number).and_then(Option::as_mut) else { continue };
            let before = conn.due();
            conn.sacked(&blocks, self.control.clock.now(), at);
            self.reschedule(number, before, zero);
        }
    }

    /// Schedules the deadline of connection `n` if it differs from `before`; finishes the connection when it
    /// is over.
    fn reschedule(&mut self, n: usize, before: Option<Instant>, zero: Instant) {
        let Some(conn) = &mut self.conns[n] else { return };
        if conn.is_over() {
            return self.finish(n, zero, true);
        }
        if let Some(at) = conn.due().filter(|at| Some(*at) != before) {
            self.due.push(Reverse((at, n)));
        }
        if let Some(sacks) = self.sacks.as_ref().filter(|_| conn.waits_for_acks()) {
            sacks.want(self.role.number(), n);
        }
        if conn.arrives_at_barrier()
            && let Some(barrier) = self.barrier(n)
        {
            barrier.arrive(n as u32, ());
            self.open_barrier(n);
        }
    }

    /// The barrier at which connection `n` waits.
    fn barrier(&mut self, n: usize) -> Option<&mut Barrier<()>> {
        let source = *self.barriers.sources.get(n)?;
        self.barriers.of_source.get_mut(source)
    }

    /// Calls the clients that wait at the barrier of connection `n`, if all do.
    fn open_barrier(&mut self, n: usize) {
        let now = self.control.clock.now();
        for (n, ()) in self.barrier(n).and_then(Barrier::open).unwrap_or_default() {
            if let Some(conn) = &mut self.conns[n as usize] {
                conn.release(now);
                self.due.extend(conn.due().map(|at| Reverse((at, n as usize))));
            }
        }
    }

    /// Connection `n` is over, or the run is.
    fn finish(&mut self, n: usize, zero: Instant, over: bool) {
        let Some(conn) = self.conns[n].take() else { return };
        let mut end = conn.finish(zero, self.control.clock.now());
        if !over {
            end.ended = None;
        }
        self.seen.ends[n] = end;
        self.open -= 1;
        if over && let Some(barrier) = self.barrier(n) {
            barrier.leave(n as u32);
            self.open_barrier(n);
        }
    }

    /// Looks at the connections where that is due.
    fn look(&mut self, now: Instant, zero: Instant) {
        while let Some(due) = self.watching.due(now.since(zero)) {
            let taken = &mut self.watching.taken;
            match due {
                Due::Snapshot => {
                    let all = self.conns.iter().enumerate();
                    let all = all
                        .map(|(n, conn)| conn.as_ref().inspect(|_| take_turns(n)).map(|c| c.snapshot(now)));
                    taken.snapshots.push(all.collect::<Vec<Option<Snapshot>>>());
                    taken.taken_at.push(now.since(zero));
                }
                Due::Sample(moment) => {
                    let open =
                        self.conns.iter().enumerate().filter_map(|(n, conn)| Some((n, conn.as_ref()?)));
                    let samples = open.enumerate().filter_map(|(looked_at, (number, conn))| {
                        take_turns(looked_at);
                        let (counts, state) = conn.tcp()?;
                        Some(Sample { moment, number, counts, state, read: conn.read() })
                    });
                    taken.samples.extend(samples);
                }
            }
        }
    }
}

/// Lets the emulator have the processor now and then while so many connections are looked at: both ends look at the
/// same moment, for milliseconds where there are thousands, and no other processor may be left.
fn take_turns(looked_at: usize) {
    /// These take less than a tenth of a millisecond.
    const TURN: usize = 64;
    if looked_at % TURN == TURN - 1 {
        std::thread::yield_now();
    }
}
