//! The tested host, its time, and calls that block.
//!
//! Packetdrill has two threads: one carries the script out, the other makes the calls that block. Time passes while
//! the first one waits. A call of the second that blocks is tried again whenever something happens to the host, and
//! its thread sleeps until it returns.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_int;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use ackclock_script::{Call, EngineHost, FastOpenCall, Host, IpVersion, Link, Ports, Returned};
use ackclock_units::{Duration, Instant};

use crate::addresses::{self, Addresses};
use crate::errors;
use crate::settings::Settings;

/// Packetdrill sleeps until so long before an event, and spins from there on. Here it sleeps on for that long.
const SPIN: Duration = Duration::from_micros(20);

/// So many readings of the clock in a row say the same. One more lets time pass, since packetdrill waits for some
/// moments by reading the clock over and over.
const READINGS: u32 = 16;

/// By how much such a reading lets it pass.
const CREEP: Duration = Duration::from_micros(1);

/// More events than any script needs while nothing happens in it.
const MAX_STEPS: u32 = 1_000_000;

/// The one lab of this process: packetdrill runs one script, and calls `getsockopt` without naming a host.
static LAB: Mutex<Option<Lab>> = Mutex::new(None);

/// Signals that a call has returned, and that its thread has read the clock since.
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// When the latest call of this thread returned that had blocked: what its next reading of the clock says.
    static RETURNED_AT: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The tested host with what surrounds it.
pub(crate) struct Lab {
    pub host: EngineHost,
    pub addresses: Addresses,
    /// What its packets go over, as far as sockets and packets have shown.
    link: Link,
    /// The host's descriptors by those that packetdrill has, which are real: it closes what is left open.
    pub descriptors: BTreeMap<c_int, Descriptor>,
    settings: Settings,
    /// Readings of the clock in a row.
    readings: u32,
    blocked: Vec<Blocked>,
    next_ticket: u64,
    /// Calls that returned and whose threads have not read the clock since.
    unread: u32,
    /// The thread that carries the script out.
    main: ThreadId,
}

/// A socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptor {
    /// Its number in the host.
    pub host: i32,
    /// `AF_INET` or `AF_INET6`.
    pub family: c_int,
    /// What it is bound to.
    pub bound: Option<SocketAddr>,
    /// What it connects to.
    pub peer: Option<SocketAddr>,
}

/// A call that blocks, or has blocked and returned.
struct Blocked {
    ticket: u64,
    call: Call,
    returned: Option<(Instant, Returned)>,
}

/// The lab; `None` where packetdrill has not made one, or has ended.
pub(crate) fn lock() -> MutexGuard<'static, Option<Lab>> {
    LAB.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the lab. The calling thread is the one that carries the script out.
pub(crate) fn begin(host: EngineHost, mtu: u16) {
    *lock() = Some(Lab {
        host,
        addresses: Addresses::default(),
        link: Link { mtu, ..Link::default() },
        descriptors: BTreeMap::new(),
        settings: Settings::watch(),
        readings: 0,
        blocked: Vec::new(),
        next_ticket: 0,
        unread: 0,
        main: thread::current().id(),
    });
}

/// Takes the lab down.
pub(crate) fn end() {
    *lock() = None;
}

/// Opens a descriptor of the host.
pub(crate) fn open(call: &mut Call) -> Result<i32, c_int> {
    let mut guard = lock();
    let lab = guard.as_mut().ok_or(libc::ENODEV)?;
    lab.readings = 0;
    lab.settings.pass_on(&mut lab.host);
    match lab.host.call(call) {
        Some(Returned::Value(fd)) => i32::try_from(fd).map_err(|_| libc::EMFILE),
        Some(Returned::Error(errno)) => Err(errors::number(errno.0)),
        _ => Err(libc::EIO),
    }
}

/// Remembers which of the host's descriptors a real one stands for.
pub(crate) fn keep(fd: c_int, descriptor: Descriptor) -> Result<(), c_int> {
    lock().as_mut().ok_or(libc::ENODEV)?.descriptors.insert(fd, descriptor);
    Ok(())
}

/// Opens a pipe: where it is read, and where it is written.
pub(crate) fn pipe() -> Result<[i32; 2], c_int> {
    let mut guard = lock();
    let lab = guard.as_mut().ok_or(libc::ENODEV)?;
    match lab.host.call(&mut Call::Pipe) {
        Some(Returned::Pair(read, write)) => Ok([read as i32, write as i32]),
        Some(Returned::Error(errno)) => Err(errors::number(errno.0)),
        _ => Err(libc::EIO),
    }
}

/// The host's descriptor for a real one.
pub(crate) fn host_descriptor(fd: c_int) -> Option<i32> {
    lock().as_ref()?.descriptors.get(&fd).map(|d| d.host)
}

/// Until when a call waits whose timeout is in milliseconds; `None` where it returns at once, or waits
/// forever.
pub(crate) fn until(timeout: c_int) -> Option<Instant> {
    lock().as_ref()?.until(timeout)
}

/// Notes where a descriptor is about to connect to.
pub(crate) fn connects(fd: c_int, remote: SocketAddr) {
    let mut guard = lock();
    let Some(lab) = guard.as_mut() else { return };
    if let Some(descriptor) = lab.descriptors.get_mut(&fd) {
        descriptor.peer.get_or_insert(remote);
        let mapped = descriptor.family == libc::AF_INET6;
        lab.goes_over(remote.ip(), mapped);
    }
}

/// Runs `poll`: the events of each descriptor.
///
/// # Errors
///
/// Its error, by its number.
pub(crate) fn poll(asked: &[(c_int, i64)], timeout: c_int) -> Result<Vec<i64>, c_int> {
    let guard = lock();
    let lab = guard.as_ref().ok_or(libc::ENODEV)?;
    // One that is not the lab's is none of the host's either.
    let fds = asked.iter().map(|(fd, events)| (lab.descriptors.get(fd).map_or(-1, |d| d.host), *events));
    let until = lab.until(timeout);
    let call = Call::Poll { fds: fds.collect(), until, forever: timeout < 0 };
    finish(guard, call, |_, returned| match returned {
        Returned::Events(events) => Ok(events),
        _ => Err(libc::EIO),
    })
}

/// Runs a system call, which may block. `then` sees what it returned.
///
/// # Errors
///
/// Its error, by its number.
pub(crate) fn call<T>(
    descriptor: c_int,
    make: impl FnOnce(i32) -> Call,
    then: impl FnOnce(&mut Lab, Returned) -> Result<T, c_int>,
) -> Result<T, c_int> {
    let guard = lock();
    let lab = guard.as_ref().ok_or(libc::ENODEV)?;
    let fd = lab.descriptors.get(&descriptor).ok_or(libc::EBADF)?.host;
    finish(guard, make(fd), then)
}

fn finish<T>(
    mut guard: MutexGuard<'static, Option<Lab>>,
    call: Call,
    then: impl FnOnce(&mut Lab, Returned) -> Result<T, c_int>,
) -> Result<T, c_int> {
    let lab = guard.as_mut().ok_or(libc::ENODEV)?;
    let returned = match lab.attempt(call) {
        Ok(returned) => returned,
        Err(call) if thread::current().id() == lab.main => lab.wait_here(call)?,
        Err(call) => {
            let (again, returned) = wait_for(guard, call)?;
            guard = again;
            returned
        }
    };
    let lab = guard.as_mut().ok_or(libc::ENODEV)?;
    match returned {
        Returned::Error(errno) => Err(errors::number(errno.0)),
        returned => then(lab, returned),
    }
}

/// Sleeps until a call returns: time is not this thread's.
fn wait_for(
    mut guard: MutexGuard<'static, Option<Lab>>,
    call: Call,
) -> Result<(MutexGuard<'static, Option<Lab>>, Returned), c_int> {
    let lab = guard.as_mut().ok_or(libc::ENODEV)?;
    let ticket = lab.next_ticket;
    lab.next_ticket += 1;
    lab.blocked.push(Blocked { ticket, call, returned: None });
    loop {
        guard = CHANGED.wait(guard).unwrap_or_else(PoisonError::into_inner);
        let lab = guard.as_mut().ok_or(libc::EINTR)?;
        let found = lab.blocked.iter().position(|b| b.ticket == ticket && b.returned.is_some());
        if let Some((at, returned)) = found.and_then(|i| lab.blocked.remove(i).returned) {
            RETURNED_AT.set(Some(at));
            return Ok((guard, returned));
        }
    }
}

/// The present moment. The first reading after a call that blocked is the moment at which it returned.
pub(crate) fn read_clock() -> Option<Instant> {
    let mut guard = lock();
    let lab = guard.as_mut()?;
    if let Some(at) = RETURNED_AT.take() {
        lab.unread = lab.unread.saturating_sub(1);
        CHANGED.notify_all();
        return Some(at);
    }
    lab.readings += 1;
    if lab.readings > READINGS {
        lab.advance(lab.host.now() + CREEP);
    }
    Some(lab.host.now())
}

/// Lets time pass for packetdrill, which will read the clock until `SPIN` is over too.
pub(crate) fn sleep(span: Duration) {
    let mut guard = lock();
    let Some(lab) = guard.as_mut() else { return };
    lab.readings = 0;
    lab.advance(lab.host.now() + span + SPIN);
    if lab.unread == 0 {
        return;
    }
    // Packetdrill holds no lock of its own here: threads whose calls have returned may go on. They read the clock,
    // and do so before they take that lock.
    let most = std::time::Duration::from_secs(1);
    let unread = |lab: &mut Option<Lab>| lab.as_ref().is_some_and(|lab| lab.unread > 0);
    let waited = CHANGED.wait_timeout_while(guard, most, unread);
    drop(waited);
    thread::sleep(std::time::Duration::from_millis(1));
}

impl Lab {
    /// Runs a call, or gives it back where it blocks.
    fn attempt(&mut self, mut call: Call) -> Result<Returned, Call> {
        self.readings = 0;
        self.settings.pass_on(&mut self.host);
        let returned = self.host.call(&mut call);
        if let Call::Connect { fd, .. } | Call::FastOpen(FastOpenCall { fd, .. }) = &call {
            self.learn(*fd);
        }
        self.retry();
        returned.ok_or(call)
    }

    /// Waits on the thread that carries the script out for a call that the script does not expect to block.
    fn wait_here(&mut self, mut call: Call) -> Result<Returned, c_int> {
        for _ in 0..MAX_STEPS {
            let own = call.deadline();
            // Nothing else will happen as long as this thread waits.
            let Some(next) = self.deadline().into_iter().chain(own).min() else { break };
            self.host.advance(next);
            if let Some(returned) = self.host.call(&mut call) {
                self.retry();
                return Ok(returned);
            }
            self.retry();
        }
        Err(libc::EDEADLK)
    }

    /// Packets of the host have addresses of this kind: `mapped` where its sockets are of IPv6.
    fn goes_over(&mut self, remote: IpAddr, mapped: bool) {
        self.link.ip = match remote {
            IpAddr::V6(_) => IpVersion::V6,
            IpAddr::V4(_) if mapped => IpVersion::V4Mapped,
            IpAddr::V4(_) => IpVersion::V4,
        };
        self.host.set_link(self.link);
    }

    /// A packet arrives.
    pub(crate) fn receive(&mut self, packet: &[u8]) -> Result<(), c_int> {
        self.readings = 0;
        self.settings.pass_on(&mut self.host);
        if let Some((from, to)) = addresses::of_packet(packet) {
            let mapped = self.descriptors.values().any(|d| d.family == libc::AF_INET6);
            self.goes_over(from.ip(), mapped);
            self.addresses.learn(Ports { local: to.port(), remote: from.port() }, to.ip(), from.ip());
        }
        let received = self.host.receive_packet(packet);
        self.retry();
        received.map_err(|_| libc::EINVAL)
    }

    /// The next packet that leaves with the moment at which it does; `None` where none ever will.
    pub(crate) fn send(&mut self) -> Option<(Vec<u8>, Instant)> {
        self.readings = 0;
        for _ in 0..MAX_STEPS {
            if let Some(departure) = self.host.sent().pop_front() {
                let (local, remote) = self.addresses.of(departure.ports)?;
                let mut packet = Vec::new();
                departure.emit(local, remote, &mut packet).ok()?;
                return Some((packet, departure.at));
            }
            self.host.advance(self.deadline()?);
            self.retry();
        }
        None
    }

    fn until(&self, timeout: c_int) -> Option<Instant> {
        let span = u64::try_from(timeout).ok().filter(|ms| *ms > 0);
        span.map(|ms| self.host.now() + Duration::from_millis(ms))
    }

    /// Remembers the addresses of a connection that a call has opened.
    fn learn(&mut self, fd: i32) {
        let Some(ports) = self.host.ports_of(fd) else { return };
        let Some(descriptor) = self.descriptors.values().find(|d| d.host == fd) else { return };
        let Some(remote) = descriptor.peer.map(|peer| peer.ip()) else { return };
        let bound = descriptor.bound.map(|b| b.ip()).filter(|ip| !ip.is_unspecified());
        self.addresses.learn(ports, bound.unwrap_or_else(|| addresses::beside(remote)), remote);
    }

    /// Lets time pass until `then`.
    fn advance(&mut self, then: Instant) {
        for _ in 0..MAX_STEPS {
            let Some(next) = self.deadline().filter(|at| *at <= then) else { break };
            self.host.advance(next);
            self.retry();
        }
        self.host.advance(then);
    }

    /// When something happens by itself next.
    fn deadline(&self) -> Option<Instant> {
        let polls = self.blocked.iter().filter(|b| b.returned.is_none()).filter_map(|b| b.call.deadline());
        polls.chain(self.host.deadline()).min()
    }

    /// Tries calls that block again, in the order in which they were made.
    fn retry(&mut self) {
        let mut any = false;
        let mut waiting: VecDeque<Blocked> = std::mem::take(&mut self.blocked).into();
        while let Some(mut blocked) = waiting.pop_front() {
            if blocked.returned.is_none()
                && let Some(returned) = self.host.call(&mut blocked.call)
            {
                blocked.returned = Some((self.host.now(), returned));
                self.unread += 1;
                any = true;
            }
            self.blocked.push(blocked);
        }
        if any {
            CHANGED.notify_all();
        }
    }
}
