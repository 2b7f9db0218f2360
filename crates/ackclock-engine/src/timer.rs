//! Every timer of a connection, in one place to ask what fires next.

use ackclock_units::{Instant, mostly, seldom};

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// Retransmission (RFC 6298), SYNs included.
    Retransmission,
    /// Delayed acknowledgment (RFC 9293 §3.8.6.3).
    Ack,
    /// Zero-window probe (RFC 9293 §3.8.6.1), and the override of silly-window avoidance (§3.8.6.2.1).
    Persist,
    /// Reordering or probe timer of the loss recovery.
    Recovery,
    /// Next segment of a paced window.
    Pacing,
    /// Duplicate acks for copies of a segment that are late (I-A7).
    Copies,
    /// Keepalive (RFC 9293 §3.8.4).
    Keepalive,
    /// User timeout (RFC 5482).
    User,
    /// End of TIME-WAIT.
    TimeWait,
}

/// The first so many are used by every connection; the others have memory from when one of them is first
/// armed.
const USUAL: usize = 2;
const UNUSUAL: usize = 7;

#[derive(Debug)]
pub(crate) struct Timers {
    usual: [Instant; USUAL],
    unusual: Option<Box<[Instant; UNUSUAL]>>,
}

impl Timers {
    pub fn new() -> Self {
        Self { usual: [Instant::FAR_FUTURE; USUAL], unusual: None }
    }

    #[inline]
    fn at(&self, timer: Timer) -> Instant {
        let i = timer as usize;
        if i < USUAL {
            return self.usual[i];
        }
        if mostly(self.unusual.is_none()) {
            return Instant::FAR_FUTURE;
        }
        self.unusual.as_ref().map_or(Instant::FAR_FUTURE, |unusual| unusual[i - USUAL])
    }

    #[inline]
    pub fn arm(&mut self, timer: Timer, at: Instant) {
        match timer as usize {
            i if i < USUAL => self.usual[i] = at,
            i => self.unusual.get_or_insert_with(|| Box::new([Instant::FAR_FUTURE; UNUSUAL]))[i - USUAL] = at,
        }
    }

    #[inline]
    pub fn disarm(&mut self, timer: Timer) {
        let i = timer as usize;
        if i < USUAL {
            self.usual[i] = Instant::FAR_FUTURE;
        } else if seldom(self.unusual.is_some()) {
            self.unusual.iter_mut().for_each(|unusual| unusual[i - USUAL] = Instant::FAR_FUTURE);
        }
    }

    pub fn disarm_all(&mut self) {
        *self = Self::new();
    }

    #[inline]
    pub fn deadline(&self, timer: Timer) -> Option<Instant> {
        let at = self.at(timer);
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    #[inline]
    pub fn is_armed(&self, timer: Timer) -> bool {
        self.at(timer) != Instant::FAR_FUTURE
    }

    /// The earliest deadline.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        let mut at = self.usual.iter().copied().fold(Instant::FAR_FUTURE, Instant::min);
        if seldom(self.unusual.is_some()) {
            at = self.unusual.iter().flat_map(|unusual| unusual.iter().copied()).fold(at, Instant::min);
        }
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    /// Disarms `timer` and returns true when its deadline has come.
    #[inline]
    pub fn expire(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.at(timer) <= now;
        if due {
            self.disarm(timer);
        }
        due
    }
}
