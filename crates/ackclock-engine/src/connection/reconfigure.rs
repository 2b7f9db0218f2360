//! Options that an application changes while the connection lives.

use std::sync::Arc;

use ackclock_units::Instant;

use super::Connection;
use crate::Config;
use crate::timer::Timer;

impl Connection {
    /// Changes options. What is agreed upon in the handshake (segment size, window scale, timestamps, SACK,
    /// ECN) counts before it alone; buffers, Nagle's algorithm, the user timeout and keepalives count from now
    /// on.
    pub fn reconfigure(&mut self, now: Instant, change: impl FnOnce(&mut Config)) {
        let before = Arc::clone(&self.config);
        change(Arc::make_mut(&mut self.config));
        if !self.config.rcv_autotune {
            self.rare.reset(|r| r.right_sizing = None);
        }
        if !self.config.snd_autotune {
            self.rare.reset(|r| r.send_memory = None);
        }
        if self.config.user_timeout != before.user_timeout {
            if self.config.user_timeout.is_zero() || self.send.len() == 0 {
                self.timers.disarm(Timer::User);
            } else {
                self.timers.arm(Timer::User, self.waiting_since + self.config.user_timeout);
            }
        }
        if self.config.keepalive != before.keepalive
            || self.config.keepalive_interval != before.keepalive_interval
        {
            self.timers.disarm(Timer::Keepalive);
            if self.state.is_synchronized() && !self.config.keepalive.is_zero() {
                self.restart_keepalive(now);
            }
        }
    }
}
