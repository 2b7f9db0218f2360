use ackclock_units::{Duration, Rng};

use super::limits::{Limits, R2_RETRIES, R2_TIME};
use crate::{Backoff, Entry, Policy};

/// Keeps the timeout as it is.
#[derive(Debug)]
struct None {
    limits: Limits,
}

impl Policy for None {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for None {
    fn timeout(&self, rto: Duration, _level: u32, _rng: &mut Rng) -> Duration {
        rto
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.limits.give_up(expiries, waited)
    }
}

/// No backoff, TCP*(inf).
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "none",
    about: "Never backs off: the timeout is the same at every expiry.",
    source: "TCP*(inf) of Mondal & Kuzmanovic 2008 (B-A2)",
    params: &[R2_RETRIES, R2_TIME],
    build: |p| Box::new(None { limits: Limits::giving_up(p) }),
};
