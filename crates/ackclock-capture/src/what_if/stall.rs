//! What followers, attempts and the evaluation share: a stall, the state of a timer in it, and what an ack
//! did.

use ackclock_policy::{Backoff, Expiry, Phase, TimerView, Window, timer_wheel};
use ackclock_units::{Duration, Instant, Rng};

use crate::outstanding::Piece;
use crate::thresholds::THRESHOLDS;

/// The state of a timer when a stall ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub deadline: Instant,
    pub rto: Duration,
    pub backed_off: u32,
    /// See [`Follower`](super::follower::Follower).
    pub unrepaired: bool,
    pub resends: Instant,
}

/// A wait of the sender for what was lost, or seemed to be: from the first copy of the oldest segment
/// outstanding until its ack.
#[derive(Debug)]
pub(super) struct Stall {
    /// The oldest segment: when its first copy was sent, and its latest retransmission by its place in the
    /// list.
    pub first: Instant,
    pub retransmission: Option<u32>,
    /// It holds the SYN.
    pub syn: bool,
    /// When its sender received the ack; `None` if it never did.
    pub heard: Option<Instant>,
    /// When the newest segment was sent, if the ack covers no more than the oldest: the newest was lost too.
    pub newest_lost: Option<Instant>,
    /// The range of the sender's own expiries in it, by their places in the list.
    pub expiries: (u32, u32),
    /// Least round-trip time to the receiver so far.
    pub far: Duration,
    pub flight: Flight,
    pub marks: Box<[Mark]>,
}

/// What is outstanding when a timer fires, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub size: u64,
    pub mss: u32,
}

impl Flight {
    /// The level of a backoff after an expiry that follows `expiries` in a row. For a SYN it is the number of
    /// expiries.
    pub(super) fn level(self, backoff: &dyn Backoff, syn: bool, expiries: u32, level: u32) -> u32 {
        if syn {
            level.saturating_add(1)
        } else {
            backoff.level(&Expiry { expiries, level, flight_size: self.size, smss: self.mss.max(1) })
        }
    }
}

/// What a cumulative ack did.
pub(crate) struct Advance {
    /// When the sender received it.
    pub heard: Instant,
    /// The oldest segment before it, and when the newest was sent if no more than the oldest is acknowledged.
    pub head: Piece,
    pub newest_lost: Option<Instant>,
    /// Round-trip time that the sender measured: by Karn's rule, or by timestamps.
    pub sample: Option<Duration>,
    /// Timestamps are in use: they show which copy an ack is for.
    pub timestamps: bool,
    /// The flight before it, and the window inferred from that.
    pub flight: Flight,
    pub window: Window,
    /// Segments that it acknowledges.
    pub segments: u32,
    pub repairing: bool,
    pub una: u64,
    pub max: u64,
    /// When what is now the oldest was last sent; `None` if all is acknowledged.
    pub oldest: Option<Instant>,
    /// It acknowledges the SYN.
    pub syn: bool,
    pub far: Duration,
    /// Expiries recorded so far, and whether the last of them was spurious.
    pub expiries: u32,
    pub last_spurious: bool,
    /// When the last of them fired.
    pub expired_at: Option<Instant>,
}

/// No two expiries lie closer together.
pub(super) const TICK: Duration = Duration::from_micros(100);

/// When a timer fires that is set at `now` for `at`: on a wheel, if it is `linux`'s. How far the kernel's
/// clock is into a tick is not known; by that of the capture, it is late by as much on average.
pub(super) fn on_wheel(linux: bool, now: Instant, at: Instant) -> Instant {
    if linux { timer_wheel::fires(THRESHOLDS.backoff.tick, now, at) } else { at }
}

/// The random stream of backoffs with a random part. Each timeout draws from its beginning, so that the waits
/// of a stall and their bounds are computed from the same timeouts.
pub(super) fn rng() -> Rng {
    Rng::stream(0, "what-if", 0)
}

/// What a timer sees of a sender.
pub(super) fn view(now: Instant, oldest_sent_at: Option<Instant>) -> TimerView {
    TimerView {
        now,
        deadline: None,
        oldest_sent_at,
        restarted_at: Instant::ZERO,
        last_sent_at: oldest_sent_at.unwrap_or(now),
        outstanding_segs: u32::from(oldest_sent_at.is_some()),
        // A capture does not show what waits at the sender.
        unsent: 0,
        smss: 1,
        phase: Phase::Open,
    }
}
