use ackclock_units::{Duration, Rng};

use super::limits::{Limits, MAX_TIMEOUT, R2_RETRIES, R2_TIME};
use crate::{Backoff, Entry, Policy};

/// Grows by the same time at every expiry.
#[derive(Debug)]
struct Linear {
    limits: Limits,
}

impl Policy for Linear {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for Linear {
    fn timeout(&self, rto: Duration, level: u32, _rng: &mut Rng) -> Duration {
        self.limits.bounded(rto, rto * (u64::from(level) + 1))
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.limits.give_up(expiries, waited)
    }
}

/// Linear backoff, which Jacobson and Karels hold to be unstable, like any that is slower than exponential.
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "linear",
    about: "Adds the unbacked-off timeout at every consecutive expiry: 1, 2, 3, ... times the timeout.",
    source: "the control of an experiment on Jacobson & Karels 1988 (J-X9)",
    params: &[MAX_TIMEOUT, R2_RETRIES, R2_TIME],
    build: |p| Box::new(Linear { limits: Limits::new(p) }),
};
