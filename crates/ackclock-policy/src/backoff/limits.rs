use ackclock_units::Duration;

use crate::{Param, Params};

/// The limits of every backoff: the longest timeout, and when to give up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    max_timeout: Duration,
    r2_retries: u64,
    r2_time: Duration,
}

impl Limits {
    /// Reads [`MAX_TIMEOUT`], [`R2_RETRIES`] and [`R2_TIME`].
    pub fn new(p: &Params) -> Self {
        Self { max_timeout: p.duration("max_timeout"), ..Self::giving_up(p) }
    }

    /// Reads [`R2_RETRIES`] and [`R2_TIME`] alone.
    pub fn giving_up(p: &Params) -> Self {
        Self { max_timeout: Duration::MAX, r2_retries: p.count("r2_retries"), r2_time: p.duration("r2_time") }
    }

    /// `rto` doubled `doublings` times, at most the longest timeout, but never below `rto` itself.
    pub fn doubled(self, rto: Duration, doublings: u32) -> Duration {
        self.bounded(rto, rto * (1 << doublings.min(63)))
    }

    /// `timeout`, at most the longest timeout, but never below `rto`.
    pub fn bounded(self, rto: Duration, timeout: Duration) -> Duration {
        timeout.min(self.max_timeout).max(rto)
    }

    /// R2 (RFC 9293 §3.8.3): too many retransmissions *and* too long a time. RFC 1122 §4.2.3.5 requires at
    /// least 100 s, and a count alone would end a connection without backoff after seconds.
    pub fn give_up(self, expiries: u32, waited: Duration) -> bool {
        u64::from(expiries) > self.r2_retries && waited >= self.r2_time
    }
}

/// B-A2: after seven consecutive timeouts, at 64 times the timeout, doubling stops.
pub(super) const MAX_DOUBLINGS: u32 = 6;

/// E-A2: twice the maximum segment lifetime.
pub(super) const MAX_TIMEOUT: Param = Param::duration(
    "max_timeout",
    Duration::from_secs(240),
    Duration::from_millis(1)..=Duration::from_secs(86_400),
    "longest timeout after backoff",
);
/// R2 as a count.
pub(super) const R2_RETRIES: Param = Param::count(
    "r2_retries",
    15,
    0..=u64::MAX,
    "retransmissions of a segment before giving up, if `r2_time` has passed as well; inf for never",
);
/// R2 as a time.
pub(super) const R2_TIME: Param = Param::duration(
    "r2_time",
    Duration::from_secs(100),
    Duration::ZERO..=Duration::from_secs(604_800),
    "least time for which a segment is retransmitted before giving up (RFC 1122)",
);
