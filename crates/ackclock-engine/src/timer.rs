//! All timers of a connection in one table, which knows the one that fires next.

use ackclock_units::{Instant, mostly, seldom};

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// Retransmission (RFC 6298), SYNs included.
    Retransmission,
    /// Delayed acknowledgment (RFC 9293 §3.8.6.3).
    Ack,
    /// Next segment of a paced window.
    Pacing,
    /// Zero-window probe (RFC 9293 §3.8.6.1), and the override timeout of silly-window avoidance
    /// (§3.8.6.2.1).
    Persist,
    /// Reordering or tail loss probe timer of the loss recovery.
    Recovery,
    /// Duplicate acks that are expected for copies of a segment (I-A7).
    Copies,
    /// Keepalive (RFC 9293 §3.8.4).
    Keepalive,
    /// User timeout (RFC 5482).
    User,
    /// End of TIME-WAIT.
    TimeWait,
}

/// The first timers are used by many connections for every packet. The others are boxed, and allocated when one
/// of them is first armed.
const COMMON: usize = 3;
const RARE: usize = 6;

/// Deadlines of all timers; a timer that is not armed has one in the far future.
#[derive(Debug)]
pub(crate) struct Timers {
    common: [Instant; COMMON],
    rare: Option<Box<[Instant; RARE]>>,
}

impl Timers {
    pub fn new() -> Self {
        Self { common: [Instant::FAR_FUTURE; COMMON], rare: None }
    }

    #[inline]
    fn at(&self, timer: Timer) -> Instant {
        let i = timer as usize;
        if i < COMMON {
            return self.common[i];
        }
        if mostly(self.rare.is_none()) {
            return Instant::FAR_FUTURE;
        }
        self.rare.as_ref().map_or(Instant::FAR_FUTURE, |rare| rare[i - COMMON])
    }

    #[inline]
    pub fn arm(&mut self, timer: Timer, at: Instant) {
        match timer as usize {
            i if i < COMMON => self.common[i] = at,
            i => self.rare.get_or_insert_with(|| Box::new([Instant::FAR_FUTURE; RARE]))[i - COMMON] = at,
        }
    }

    #[inline]
    pub fn disarm(&mut self, timer: Timer) {
        let i = timer as usize;
        if i < COMMON {
            self.common[i] = Instant::FAR_FUTURE;
        } else if seldom(self.rare.is_some()) {
            self.rare.iter_mut().for_each(|rare| rare[i - COMMON] = Instant::FAR_FUTURE);
        }
    }

    pub fn disarm_all(&mut self) {
        *self = Self::new();
    }

    /// When `timer` fires; `None` if it is not armed.
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
        let mut at = self.common.iter().copied().fold(Instant::FAR_FUTURE, Instant::min);
        if seldom(self.rare.is_some()) {
            at = self.rare.iter().flat_map(|rare| rare.iter().copied()).fold(at, Instant::min);
        }
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    /// Disarms `timer` and returns true if it has expired.
    #[inline]
    pub fn expire(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.at(timer) <= now;
        if due {
            self.disarm(timer);
        }
        due
    }
}
