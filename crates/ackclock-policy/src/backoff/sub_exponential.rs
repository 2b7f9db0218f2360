use ackclock_units::{Duration, Rng};

use super::limits::{Limits, MAX_DOUBLINGS, MAX_TIMEOUT, R2_RETRIES, R2_TIME};
use crate::{Backoff, Entry, Param, Policy};

/// TCP*(n): the first `n` consecutive expiries are not backed off.
#[derive(Debug)]
struct SubExponential {
    n: u32,
    limits: Limits,
}

impl Policy for SubExponential {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for SubExponential {
    fn timeout(&self, rto: Duration, level: u32, _rng: &mut Rng) -> Duration {
        // After the seventh timeout the value stays (B-A2): the limit is on the count, not on the doublings.
        self.limits.doubled(rto, level.min(MAX_DOUBLINGS).saturating_sub(self.n))
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.limits.give_up(expiries, waited)
    }
}

/// TCP*(n).
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "sub-exponential",
    about: "TCP*(n): does not back off at the first n consecutive expiries, and doubles from then on up to \
            the seventh timeout.",
    source: "Mondal & Kuzmanovic 2008 (B-A2)",
    params: &[
        Param::count("n", 3, 0..=u64::MAX, "consecutive expiries without backoff; inf for none at all"),
        MAX_TIMEOUT,
        R2_RETRIES,
        R2_TIME,
    ],
    build: |p| {
        Box::new(SubExponential {
            n: p.count("n").min(u64::from(MAX_DOUBLINGS)) as u32,
            limits: Limits::new(p),
        })
    },
};
