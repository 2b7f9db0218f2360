use ackclock_units::{Duration, Rng};

use super::coap::{GIVE_UP_TIME, MAX_RETRANSMIT, dithered};
use super::limits::Limits;
use crate::{Backoff, Entry, Param, Policy};

/// Grows by a factor that depends on the timeout, with a random part.
#[derive(Debug)]
struct Cocoa {
    random_factor: f64,
    limits: Limits,
}

impl Policy for Cocoa {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for Cocoa {
    fn timeout(&self, rto: Duration, level: u32, rng: &mut Rng) -> Duration {
        if level == 0 {
            return rto;
        }
        let mut timeout = rto;
        // Forty steps lead from a nanosecond beyond the ceiling.
        for _ in 0..level.min(80) {
            // draft-ietf-core-cocoa-03, appendix A.3.
            timeout = timeout.mul_f64(if timeout < Duration::from_secs(1) {
                3.0
            } else if timeout > Duration::from_secs(3) {
                1.5
            } else {
                2.0
            });
        }
        self.limits.bounded(rto, dithered(timeout, self.random_factor, rng))
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.limits.give_up(expiries, waited)
    }
}

/// CoCoA's backoff.
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "cocoa",
    about: "CoCoA's variable backoff factor: a timeout below 1 s is multiplied by 3, one above 3 s by 1.5, \
            others by 2, up to 32 s, and by a random factor; gives up after four retransmissions.",
    source: "draft-ietf-core-cocoa-03 4.2.1 and A.3",
    params: &[
        Param::ratio(
            "ack_random_factor",
            1.5,
            1.0..=1.5,
            "ACK_RANDOM_FACTOR, largest random factor (RFC 7252 4.8)",
        ),
        Param::duration(
            "max_timeout",
            Duration::from_secs(32),
            Duration::from_millis(1)..=Duration::from_secs(86_400),
            "longest timeout after backoff (4.2.1), the random part included",
        ),
        MAX_RETRANSMIT,
        GIVE_UP_TIME,
    ],
    build: |p| Box::new(Cocoa { random_factor: p.ratio("ack_random_factor"), limits: Limits::new(p) }),
};
