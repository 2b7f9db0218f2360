//! A listening port and the connections that wait at it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar};

use ackclock_units::Instant;

use super::apps::AppFactory;

/// A listening port.
pub(super) struct Listening {
    pub(super) backlog: usize,
    pub(super) half_open: usize,
    /// Established and not accepted, in the order in which they became so.
    pub(super) ready: VecDeque<u32>,
    /// Until when an acknowledgment may be that of a cookie.
    pub(super) cookies_until: Instant,
    pub(super) changed: Arc<Condvar>,
    /// Puts applications above its connections, which nobody else accepts then.
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
