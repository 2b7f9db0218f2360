use ackclock_units::{Duration, Rng};

use super::limits::{Limits, MAX_TIMEOUT, R2_RETRIES, R2_TIME};
use crate::{Backoff, Entry, Policy};

/// Doubles at every expiry.
#[derive(Debug)]
struct Exponential {
    limits: Limits,
}

impl Policy for Exponential {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for Exponential {
    fn timeout(&mut self, rto: Duration, expiries: u32, _rng: &mut Rng) -> Duration {
        self.limits.doubled(rto, expiries)
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.limits.give_up(expiries, waited)
    }
}

/// The standard backoff.
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "exponential",
    about: "Doubles the timeout at every consecutive expiry, up to 64 times.",
    source: "J-A7, E-A2, B-A2; RFC 6298 5.5",
    params: &[MAX_TIMEOUT, R2_RETRIES, R2_TIME],
    build: |p| Box::new(Exponential { limits: Limits::new(p) }),
};
