//! How well a kernel's stamps of acknowledgments did.

use ackclock_units::Duration;

/// How a side learned of acknowledgments: the kernel's stamps, and what else it says of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamping {
    /// Stamps that told something new.
    pub stamps: u64,
    /// Of these, at how many the count of unacknowledged bytes (SIOCOUTQ) said the same.
    pub agreeing: u64,
    /// Time from the stamps until they were read, all together: what response times without stamps would be
    /// too long by.
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
