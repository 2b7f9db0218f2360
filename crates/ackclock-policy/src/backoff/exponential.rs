use std::sync::Arc;

use ackclock_units::{Duration, Rng};

use super::limits::{Limits, MAX_DOUBLINGS, MAX_TIMEOUT, R2_RETRIES, R2_TIME};
use crate::{Backoff, Entry, Param, Policy};

/// Doubles at every expiry.
#[derive(Debug)]
struct Exponential(Arc<Rules>);

/// The parameters.
#[derive(Debug)]
struct Rules {
    max_doublings: u32,
    limits: Limits,
}

impl Policy for Exponential {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for Exponential {
    fn timeout(&self, rto: Duration, level: u32, _rng: &mut Rng) -> Duration {
        self.0.limits.doubled(rto, level.min(self.0.max_doublings))
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.0.limits.give_up(expiries, waited)
    }
}

/// The standard backoff.
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "exponential",
    about: "Doubles the timeout at every consecutive expiry, up to 64 times and up to 240 s, whichever comes \
            first.",
    source: "Jacobson & Karels 1988 (J-A7); Ludwig & Sklower 2000 (E-A2); Mondal & Kuzmanovic 2008 (B-A2); \
             RFC 6298 5.5",
    params: &[
        Param::count(
            "max_doublings",
            MAX_DOUBLINGS as u64,
            0..=32,
            // B-A2, E-A2
            "doublings after which the timeout grows no more: 6 for at most 64 times (as TCPs do); 32 \
             to leave the ceiling to `max_timeout` (RFC 6298)",
        ),
        MAX_TIMEOUT,
        R2_RETRIES,
        R2_TIME,
    ],
    build: |p| {
        Box::new(Exponential(
            p.shared(|p| Rules { max_doublings: p.count("max_doublings") as u32, limits: Limits::new(p) }),
        ))
    },
};
