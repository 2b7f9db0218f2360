//! Waiting for descriptors and moments together.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ackclock_units::Instant;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::{Clock, DriveError};

/// Wakes a thread that waits in [`wait`].
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

impl Waker {
    pub(crate) fn new() -> Result<Self, DriveError> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map(Self)
            .map_err(|e| DriveError::System("make an event descriptor", e.into()))
    }

    /// Wakes it. Never waits.
    pub(crate) fn wake(&self) {
        // Only an overflow of the counter could fail, and then it is awake anyway.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Takes the wake-ups back.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until one of `fds` can be read or `until` has come; says which can be read. With `until` past, it
/// looks without waiting.
pub(crate) fn wait<const N: usize>(
    clock: &Clock,
    fds: [BorrowedFd<'_>; N],
    until: Option<Instant>,
) -> [bool; N] {
    let timeout = until.map(|at| {
        let ns = clock.until(at).as_nanos();
        Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
    });
    let mut polled = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => polled.map(|p| !p.revents().is_empty()),
        // Interrupted: look again.
        Err(_) => [false; N],
    }
}

/// Prepares this thread for waking on time: no slack on its timers, and soon after it wakes.
pub(crate) fn be_punctual() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    super::sys::run_soon();
}
