//! Quality of a kernel's timestamps of acknowledgments.

use ackclock_units::Duration;

/// Counters of a kernel's timestamps of acknowledgments at one end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamping {
    /// Timestamps that acknowledged new data.
    pub stamps: u64,
    /// Those of them that agree with the count of unacknowledged bytes (SIOCOUTQ).
    pub agreeing: u64,
    /// Sum of the times from a timestamp until it was read: the error of response times without timestamps.
    pub lag: Duration,
    /// The longest such time.
    pub max_lag: Duration,
}

impl Stamping {
    pub(super) fn take(&mut self, lag: Duration, agrees: bool) {
        self.stamps += 1;
        self.agreeing += u64::from(agrees);
        self.lag += lag;
        self.max_lag = self.max_lag.max(lag);
    }
}
