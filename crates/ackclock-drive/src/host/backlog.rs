//! A listening port and its queues.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar};

use ackclock_units::Instant;

use super::apps::AppFactory;

/// A listening port.
pub(super) struct Listening {
    pub(super) backlog: usize,
    pub(super) half_open: usize,
    /// Established connections that are not accepted yet, in order.
    pub(super) ready: VecDeque<u32>,
    /// Until when acknowledgments are checked for a SYN cookie.
    pub(super) cookies_until: Instant,
    pub(super) changed: Arc<Condvar>,
    /// Runs an application on each of its connections, which are then not accepted by a program.
    pub(super) service: Option<AppFactory>,
}

impl Listening {
    pub(super) fn new(backlog: usize, service: Option<AppFactory>) -> Self {
        Self {
            backlog: backlog.max(1),
            half_open: 0,
            ready: VecDeque::new(),
            cookies_until: Instant::ZERO,
            changed: Arc::default(),
            service,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.ready.len() >= self.backlog
    }
}
