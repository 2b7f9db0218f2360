//! The rule of B-U1: silences by time alone.

use ackclock_units::{Duration, Instant};

use super::Gap;

/// A gap must be longer than any minimum timeout in use (B-U1).
pub const LEAST: Duration = Duration::from_millis(200);
/// A gap must be longer than this many round trips (B-U1).
pub const ROUND_TRIPS: f64 = 1.2;
/// A further gap this much longer than the previous one shows backoff: it would double (the ratio is our
/// choice, B-U1).
pub const RATIO: f64 = 1.5;

/// The rule of B-U1 with its three parameters. It takes packets in order of time.
#[derive(Clone, Copy, Debug)]
pub struct ByTime {
    /// See [`LEAST`], [`ROUND_TRIPS`], [`RATIO`].
    pub least: Duration,
    /// See above.
    pub round_trips: f64,
    /// See above.
    pub ratio: f64,
    last: Option<Instant>,
    /// The gap right before the last packet, if it was a timeout.
    before: Option<Gap>,
}

impl Default for ByTime {
    fn default() -> Self {
        Self { least: LEAST, round_trips: ROUND_TRIPS, ratio: RATIO, last: None, before: None }
    }
}

impl ByTime {
    /// The rule with other parameters than those of B-U1.
    pub fn new(least: Duration, round_trips: f64, ratio: f64) -> Self {
        Self { least, round_trips, ratio, ..Self::default() }
    }

    /// Takes a packet from the sender and returns the gap before it, if that indicates a timeout. `rtt` is
    /// the round-trip time, preferably that of the handshake.
    pub fn arrival(&mut self, at: Instant, rtt: Duration) -> Option<Gap> {
        let from = self.last.replace(at)?;
        let length = at.since(from);
        let gap = (length > self.least && length > rtt.mul_f64(self.round_trips)).then(|| {
            let further = self.before.filter(|b| length.as_secs_f64() >= self.ratio * b.length.as_secs_f64());
            Gap { from, length, round: further.map_or(1, |b| b.round + 1), seen: at, frame: 0, seq: None }
        });
        self.before = gap;
        gap
    }

    /// Called when the receiver sends a request: the next gap is counted from it.
    pub fn on_request(&mut self, at: Instant) {
        self.last = self.last.map(|_| at);
    }
}
