//! Control of the two ends of a run, each on its own thread.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::linux::wait::Waker;
use crate::{Clock, DriveError};

/// State shared by the two ends and their caller.
pub(crate) struct RunControl {
    pub(crate) clock: Clock,
    stopped: AtomicBool,
    pub(crate) client_waker: Waker,
    pub(crate) server_waker: Waker,
}

impl RunControl {
    pub(crate) fn new(clock: Clock) -> Result<Self, DriveError> {
        Ok(Self {
            clock,
            stopped: AtomicBool::new(false),
            client_waker: Waker::new()?,
            server_waker: Waker::new()?,
        })
    }

    /// True when both ends must stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Stops both ends.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.client_waker.wake();
        self.server_waker.wake();
    }
}

/// Stops both ends after one has finished or failed; returns its result.
pub(crate) fn then_stop<T>(control: &RunControl, result: T) -> T {
    control.stop();
    result
}

pub(crate) fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
