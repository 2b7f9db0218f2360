use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration as Time;

use ackclock_units::Instant;

use super::core::Core;
use super::ending::HostEnd;
use super::options::HostOptions;
use crate::linux::wait::{Waker, be_punctual, wait};
use crate::{Clock, DriveError, Offload, Port};

/// State shared by the host's thread, its streams and its listeners.
pub(super) struct HostShared {
    pub(super) port: Port,
    pub(super) clock: Clock,
    waker: Waker,
    core: Mutex<Core>,
}

/// Largest IP packet with its [`Offload`] header.
const MAX_PACKET: usize = 65_536 + Offload::LEN;
/// Packets handled before timers are checked and the lock is released.
const BATCH: usize = 32;

impl HostShared {
    pub(super) fn new(port: Port, options: HostOptions) -> Result<Self, DriveError> {
        Ok(Self { port, clock: options.clock, waker: Waker::new()?, core: Mutex::new(Core::new(options)) })
    }

    /// Locks the core. If this thread panics while it holds the lock, the host ends.
    pub(super) fn lock(&self) -> Locked<'_> {
        let unwinding = std::thread::panicking();
        Locked { shared: self, core: Some(self.core.lock().unwrap_or_else(|e| e.into_inner())), unwinding }
    }

    /// Completes an operation of a program's thread on connection `id`, and wakes the host's thread if it
    /// would sleep too long.
    pub(super) fn finish(&self, core: &mut Core, now: Instant, id: u32) {
        core.finish(now, &self.port, id);
        self.wake_if_needed(core);
    }

    pub(super) fn wake_if_needed(&self, core: &mut Core) {
        if core.ended.is_some() || core.next_deadline().is_some_and(|at| at < core.sleeps_until) {
            core.sleeps_until = Instant::ZERO;
            self.waker.wake();
        }
    }

    pub(super) fn halt(&self) {
        self.lock().abort_all(self.clock.now(), &self.port, HostEnd::in_order());
        self.waker.wake();
    }

    fn thread_lost(&self, core: &mut Core) {
        core.fail(self.clock.now(), &self.port, HostEnd::thread_lost());
        self.waker.wake();
    }

    pub(super) fn run(&self, punctual: bool) {
        if punctual {
            be_punctual();
        } else {
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        let _guard = EndWithThread(self);
        let mut buffer = vec![0; MAX_PACKET];
        loop {
            let mut core = self.lock();
            if core.ended.is_some() {
                return;
            }
            let more = match self.take_in(&mut core, &mut buffer) {
                Ok(more) => more,
                // The port has failed, so every connection ends.
                Err(e) => return core.abort_all(self.clock.now(), &self.port, HostEnd::port_failed(&e)),
            };
            core.expire(self.clock.now(), &self.port);
            let next = core.next_deadline();
            core.sleeps_until = if more { Instant::ZERO } else { next.unwrap_or(Instant::FAR_FUTURE) };
            drop(core);
            if !more {
                let [woken, _] = wait(&self.clock, [self.waker.as_fd(), self.port.as_fd()], next);
                if woken {
                    self.waker.clear();
                }
            }
        }
    }

    /// Handles a batch of packets; true when there may be more.
    fn take_in(&self, core: &mut Core, buffer: &mut [u8]) -> io::Result<bool> {
        for _ in 0..BATCH {
            match self.port.recv(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => core.packet(self.clock.now(), &self.port, &buffer[..n]),
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    return Ok(false);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }
}

/// Ends the host when its thread ends for any reason.
struct EndWithThread<'a>(&'a HostShared);

impl Drop for EndWithThread<'_> {
    fn drop(&mut self) {
        let mut core = self.0.lock();
        if core.ended.is_none() {
            self.0.thread_lost(&mut core);
        }
    }
}

/// The locked core.
pub(super) struct Locked<'a> {
    shared: &'a HostShared,
    /// `None` only while [`Locked::wait`] waits.
    core: Option<MutexGuard<'a, Core>>,
    /// The thread was already panicking when it took the lock.
    unwinding: bool,
}

impl Locked<'_> {
    /// Releases the lock until `changed` is notified or `timeout` has passed; the result says whether it has.
    pub(super) fn wait(mut self, changed: &Condvar, timeout: Option<Time>) -> (Self, bool) {
        let mut timed_out = false;
        self.core = self.core.take().map(|core| match timeout {
            None => changed.wait(core).unwrap_or_else(|e| e.into_inner()),
            Some(left) => {
                let (core, result) = changed.wait_timeout(core, left).unwrap_or_else(|e| e.into_inner());
                timed_out = result.timed_out();
                core
            }
        });
        (self, timed_out)
    }
}

impl Deref for Locked<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        self.core.as_ref().expect("the guard is absent only while waiting")
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        self.core.as_mut().expect("the guard is absent only while waiting")
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if !self.unwinding
            && std::thread::panicking()
            && let Some(core) = &mut self.core
        {
            self.shared.thread_lost(core);
        }
    }
}
