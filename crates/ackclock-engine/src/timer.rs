//! Every timer of a connection, in one place to ask what fires next.

use ackclock_units::Instant;

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// Retransmission (RFC 6298), SYNs included.
    Retransmission,
    /// Zero-window probe (RFC 9293 §3.8.6.1), and the override of silly-window avoidance (§3.8.6.2.1).
    Persist,
    /// Delayed acknowledgment (RFC 9293 §3.8.6.3).
    Ack,
    /// Reordering or probe timer of the loss recovery.
    Recovery,
    /// Next segment of a paced window.
    Pacing,
    /// Keepalive (RFC 9293 §3.8.4).
    Keepalive,
    /// User timeout (RFC 5482).
    User,
    /// End of TIME-WAIT.
    TimeWait,
}

const COUNT: usize = 8;

#[derive(Debug)]
pub(crate) struct Timers([Instant; COUNT]);

impl Timers {
    pub fn new() -> Self {
        Self([Instant::FAR_FUTURE; COUNT])
    }

    pub fn arm(&mut self, timer: Timer, at: Instant) {
        self.0[timer as usize] = at;
    }

    pub fn disarm(&mut self, timer: Timer) {
        self.0[timer as usize] = Instant::FAR_FUTURE;
    }

    pub fn disarm_all(&mut self) {
        *self = Self::new();
    }

    pub fn deadline(&self, timer: Timer) -> Option<Instant> {
        let at = self.0[timer as usize];
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    pub fn is_armed(&self, timer: Timer) -> bool {
        self.0[timer as usize] != Instant::FAR_FUTURE
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        let at = self.0.iter().copied().fold(Instant::FAR_FUTURE, Instant::min);
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    /// Disarms `timer` and returns true when its deadline has come.
    pub fn expire(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.0[timer as usize] <= now;
        if due {
            self.disarm(timer);
        }
        due
    }
}
