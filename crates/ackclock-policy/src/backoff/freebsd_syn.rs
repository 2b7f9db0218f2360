use ackclock_units::{Duration, Rng};

use super::limits::{Limits, MAX_DOUBLINGS, MAX_TIMEOUT, R2_RETRIES, R2_TIME};
use crate::{Backoff, Entry, Policy};

/// Doubles at every expiry of data; a SYN is first tried five times at the same interval.
#[derive(Debug)]
struct FreebsdSyn {
    limits: Limits,
}

impl Policy for FreebsdSyn {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for FreebsdSyn {
    fn timeout(&self, rto: Duration, level: u32, _rng: &mut Rng) -> Duration {
        self.limits.doubled(rto, level.min(MAX_DOUBLINGS))
    }

    fn syn_timeout(&self, rto: Duration, expiries: u32, _rng: &mut Rng) -> Duration {
        // 1, 1, 1, 1, 1, 2, 4, ... up to 64 times.
        self.limits.doubled(rto, expiries.saturating_sub(UNDOUBLED - 1).min(MAX_DOUBLINGS))
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.limits.give_up(expiries, waited)
    }
}

/// SYNs sent before the interval doubles (B-A3).
const UNDOUBLED: u32 = 5;

/// FreeBSD's backoff.
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "freebsd-syn",
    about: "As `exponential` for data; SYN timeouts double only after five drops in a row, as in FreeBSD \
            since 4.0.",
    source: "Mondal & Kuzmanovic 2008 (B-A3)",
    params: &[MAX_TIMEOUT, R2_RETRIES, R2_TIME],
    build: |p| Box::new(FreebsdSyn { limits: Limits::new(p) }),
};
