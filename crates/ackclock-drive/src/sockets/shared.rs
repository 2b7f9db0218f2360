//! Two ends of a run, each on a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::linux::wait::Waker;
use crate::{Clock, DriveError};

/// What the two ends and their caller share.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    over: AtomicBool,
    pub(crate) client_waker: Waker,
    pub(crate) server_waker: Waker,
}

impl Shared {
    pub(crate) fn new(clock: Clock) -> Result<Self, DriveError> {
        Ok(Self {
            clock,
            over: AtomicBool::new(false),
            client_waker: Waker::new()?,
            server_waker: Waker::new()?,
        })
    }

    /// True when both are to end.
    pub(crate) fn over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Ends both.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.client_waker.wake();
        self.server_waker.wake();
    }
}

/// One end is done, or failed: so is the other.
pub(crate) fn ended<T>(shared: &Shared, result: T) -> T {
    shared.end();
    result
}

pub(crate) fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
