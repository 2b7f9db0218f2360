//! Readiness of many sockets.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use ackclock_units::Instant;
use rustix::event::{Timespec, epoll};

use crate::linux::wait::{Waker, wait};
use crate::{Clock, DriveError};

/// A set of sockets, each with a number.
pub(crate) struct Ready {
    epoll: OwnedFd,
}

/// A socket that is ready for something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadyEvent {
    pub(crate) number: usize,
    /// A write that waits may go on: a third of its memory is free (`sk_stream_is_writeable`).
    pub(crate) writable: bool,
}

/// Largest number of events per call.
const BATCH: usize = 64;
/// Edge-triggered events: a socket becomes readable, writable or broken.
pub(crate) const EDGES: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

impl Ready {
    pub(crate) fn new() -> Result<Self, DriveError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|e| DriveError::System("create an event queue", e.into()))?;
        Ok(Self { epoll })
    }

    /// Watches a socket until it is closed.
    pub(crate) fn add(
        &self,
        socket: impl AsFd,
        number: usize,
        flags: epoll::EventFlags,
    ) -> Result<(), DriveError> {
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(number as u64), flags)
            .map_err(|e| DriveError::System("watch a socket", e.into()))
    }

    /// Watches a socket no longer.
    pub(crate) fn forget(&self, socket: &OwnedFd) -> Result<(), DriveError> {
        epoll::delete(&self.epoll, socket).map_err(|e| DriveError::System("stop watching a socket", e.into()))
    }

    /// Waits until a socket is ready, the waker is woken, or until `until`. Returns the numbers of the
    /// sockets that are ready.
    pub(crate) fn wait(&self, clock: &Clock, waker: &Waker, until: Option<Instant>) -> Vec<usize> {
        self.wait_for_events(clock, waker, until).into_iter().map(|event| event.number).collect()
    }

    /// The same, with what each is ready for.
    pub(crate) fn wait_for_events(
        &self,
        clock: &Clock,
        waker: &Waker,
        until: Option<Instant>,
    ) -> Vec<ReadyEvent> {
        let [woken, ready] = wait(clock, [waker.as_fd(), self.epoll.as_fd()], until);
        if woken {
            waker.clear();
        }
        if !ready {
            return Vec::new();
        }
        let (mut events, now) =
            ([const { MaybeUninit::uninit() }; BATCH], Timespec { tv_sec: 0, tv_nsec: 0 });
        match epoll::wait(&self.epoll, &mut events, Some(&now)) {
            Ok((events, _)) => {
                let ready = |e: &epoll::Event| {
                    let flags = e.flags;
                    ReadyEvent {
                        number: e.data.u64() as usize,
                        writable: flags.contains(epoll::EventFlags::OUT),
                    }
                };
                events.iter().map(ready).collect()
            }
            // Interrupted: the next call returns the events.
            Err(_) => Vec::new(),
        }
    }
}
