use std::io;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard};

use ackclock_units::Instant;

use super::HostOptions;
use super::core::Core;
use crate::linux::wait::{Waker, be_punctual, wait};
use crate::{Clock, DriveError, Offload, Port};

/// What the host's thread, its streams and its listeners share.
pub(super) struct Shared {
    pub(super) port: Port,
    pub(super) clock: Clock,
    waker: Waker,
    core: Mutex<Core>,
}

/// Largest IP packet, and what a device may say of it.
const MAX_PACKET: usize = 65_536 + Offload::LEN;
/// Packets taken in before timers are looked at and programs get a chance at the lock.
const BATCH: usize = 32;

impl Shared {
    pub(super) fn new(port: Port, options: HostOptions) -> Result<Self, DriveError> {
        Ok(Self { port, clock: options.clock, waker: Waker::new()?, core: Mutex::new(Core::new(options)) })
    }

    /// The core. A thread that panicked while it held the lock is a bug; the others go on with what it left.
    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Brings to an end what a program's thread did with connection `id`, and wakes the host's thread if it would sleep too long.
    pub(super) fn settle(&self, core: &mut Core, now: Instant, id: u32) {
        core.settle(now, &self.port, id);
        self.rouse(core);
    }

    pub(super) fn rouse(&self, core: &mut Core) {
        if core.next_deadline().is_some_and(|at| at < core.sleeps_until) {
            core.sleeps_until = Instant::ZERO;
            self.waker.wake();
        }
    }

    pub(super) fn halt(&self) {
        self.lock().abort_all(self.clock.now(), &self.port);
        self.waker.wake();
    }

    pub(super) fn run(&self, punctual: bool) {
        if punctual {
            be_punctual();
        } else {
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        let mut buffer = vec![0; MAX_PACKET];
        loop {
            let mut core = self.lock();
            if core.stopped {
                return;
            }
            let more = match self.take_in(&mut core, &mut buffer) {
                Ok(more) => more,
                // The port is gone, and with it every connection.
                Err(_) => return core.abort_all(self.clock.now(), &self.port),
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

    /// Takes in a batch; true when there may be more.
    fn take_in(&self, core: &mut Core, buffer: &mut [u8]) -> io::Result<bool> {
        for _ in 0..BATCH {
            match self.port.recv(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => core.packet(self.clock.now(), &self.port, &buffer[..n]),
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }
}
