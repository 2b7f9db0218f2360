//! A listening port and its queues.

use std::sync::{Arc, Condvar};

use ackclock_engine::AcceptQueue;
use ackclock_units::Instant;

use super::apps::AppFactory;

/// A listening port.
pub(super) struct Listening {
    pub(super) queue: AcceptQueue<u32>,
    /// Until when acknowledgments are checked for a SYN cookie.
    pub(super) cookies_until: Instant,
    pub(super) changed: Arc<Condvar>,
    /// Runs an application on each of its connections, which are then not accepted by a program.
    pub(super) service: Option<AppFactory>,
}

impl Listening {
    pub(super) fn new(backlog: usize, service: Option<AppFactory>) -> Self {
        Self {
            queue: AcceptQueue::new(backlog.max(1)),
            cookies_until: Instant::ZERO,
            changed: Arc::default(),
            service,
        }
    }
}
