//! Waits for descriptors and deadlines.

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

    /// Another one of the same thread.
    pub(crate) fn try_clone(&self) -> Result<Self, DriveError> {
        self.0.try_clone().map(Self).map_err(DriveError::system("duplicate a descriptor"))
    }

    /// Wakes the thread. Never blocks.
    pub(crate) fn wake(&self) {
        // Fails only when the counter would overflow, in which case the thread is woken anyway.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Clears pending wake-ups.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until one of `fds` is readable or until `until`; returns which are readable. With `until` in the
/// past it does not wait.
pub(crate) fn wait<const N: usize>(
    clock: &Clock,
    fds: [BorrowedFd<'_>; N],
    until: Option<Instant>,
) -> [bool; N] {
    let mut polled = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut polled, timeout(clock, until).as_ref()) {
        Ok(_) => polled.map(|p| !p.revents().is_empty()),
        // Interrupted: the caller will call again.
        Err(_) => [false; N],
    }
}

/// Waits as [`wait`] does for any number of descriptors; `ready` holds the places of those that are readable
/// then.
pub(crate) fn wait_for_any<'a>(
    clock: &Clock,
    fds: impl Iterator<Item = BorrowedFd<'a>>,
    until: Option<Instant>,
    ready: &mut Vec<usize>,
) {
    ready.clear();
    let mut polled: Vec<_> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    if poll(&mut polled, timeout(clock, until).as_ref()).is_ok() {
        ready.extend((0..).zip(&polled).filter(|(_, fd)| !fd.revents().is_empty()).map(|(place, _)| place));
    }
}

fn timeout(clock: &Clock, until: Option<Instant>) -> Option<Timespec> {
    until.map(|at| {
        let ns = clock.until(at).as_nanos();
        Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
    })
}

/// Prepares this thread for waking on time: no timer slack, and scheduled soon after it wakes.
pub(crate) fn be_punctual() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    super::sys::run_soon();
}
