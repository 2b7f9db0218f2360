use ackclock_units::{Duration, Rng};

use super::limits::{Limits, MAX_TIMEOUT};
use crate::{Backoff, Entry, Param, Policy};

/// Doubles at every expiry, with a random part.
#[derive(Debug)]
struct Coap {
    random_factor: f64,
    limits: Limits,
}

impl Policy for Coap {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for Coap {
    fn timeout(&self, rto: Duration, level: u32, rng: &mut Rng) -> Duration {
        if level == 0 {
            return rto;
        }
        let doubled = rto * (1 << level.min(MOST_DOUBLINGS));
        self.limits.bounded(rto, dithered(doubled, self.random_factor, rng))
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.limits.give_up(expiries, waited)
    }
}

/// Beyond every ceiling of timeouts.
const MOST_DOUBLINGS: u32 = 48;

/// `timeout` times a random factor between 1 and `most`.
pub(super) fn dithered(timeout: Duration, most: f64, rng: &mut Rng) -> Duration {
    timeout.mul_f64(1.0 + (most - 1.0) * rng.unit())
}

/// RFC 7252 §4.8: after four retransmissions a message is given up.
pub(super) const MAX_RETRANSMIT: Param = Param::count(
    "r2_retries",
    4,
    0..=u64::MAX,
    "MAX_RETRANSMIT, retransmissions of a segment before giving up (RFC 7252 4.8), if `r2_time` has passed \
     as well; inf for never",
);
/// RFC 7252 §4.2 gives up by the count alone.
pub(super) const GIVE_UP_TIME: Param = Param::duration(
    "r2_time",
    Duration::ZERO,
    Duration::ZERO..=Duration::from_secs(604_800),
    "least time for which a segment is retransmitted before giving up",
);

/// CoAP's backoff.
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "coap",
    about: "CoAP's backoff: doubles at every expiry and multiplies by a random factor, drawn for each \
            retransmission; gives up after four. The first timeout, which no backoff changes, has no random \
            part.",
    source: "RFC 7252 4.2 and 4.8, which draw the random part once for a message, with its first timeout",
    params: &[
        Param::ratio(
            "ack_random_factor",
            1.5,
            // 4.8.1: never below 1. Above 2 a timeout could be shorter than the one before.
            1.0..=2.0,
            "ACK_RANDOM_FACTOR, largest factor (4.8)",
        ),
        MAX_TIMEOUT,
        MAX_RETRANSMIT,
        GIVE_UP_TIME,
    ],
    build: |p| Box::new(Coap { random_factor: p.ratio("ack_random_factor"), limits: Limits::new(p) }),
};
