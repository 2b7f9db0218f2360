//! Alternative backoff with ECN (RFC 8511), of the windows that have it.

use super::tests::{After, window, with};
use crate::{Congestion, Window};

const ECN: Congestion = Congestion::Ecn;
const TIMEOUT: Congestion = Congestion::Rto { repeated: false };

#[test]
fn an_echo_leaves_more_than_a_loss() {
    // RFC 8511 §3: 0.8 of the flight, or two segments; §3.1: 0.85 for CUBIC. A loss leaves 0.5 and 0.7.
    for (name, abe, segs, c, left) in [
        ("reno", "true", 100, ECN, 80_000),
        ("reno", "false", 100, ECN, 50_000),
        ("reno", "true", 100, Congestion::Loss, 50_000),
        ("reno", "true", 2, ECN, 2000),
        ("cubic", "true", 100, ECN, 85_000),
        ("cubic", "false", 100, ECN, 70_000),
        ("cubic", "true", 100, Congestion::Loss, 70_000),
        ("cubic", "true", 2, ECN, 2000),
    ] {
        let after = with(name, &[("abe", abe)]).after_congestion(c, &window(segs * 1000, segs * 1000 - 1));
        assert_eq!(after, Window { cwnd: left, ssthresh: left }, "{name} {abe} {segs} {c:?}");
    }
}

#[test]
fn up_to_the_threshold_an_echo_leaves_what_a_loss_leaves() {
    // RFC 8511 §4: "when cwnd is smaller than or equal to ssthresh" it is not recommended.
    for (name, left) in [("reno", 50_000), ("cubic", 70_000)] {
        for ssthresh in [u64::MAX, 100_000] {
            let after = with(name, &[("abe", "true")]).after_congestion(ECN, &window(100_000, ssthresh));
            assert_eq!(after, Window { cwnd: left, ssthresh: left }, "{name} {ssthresh}");
        }
    }
}

#[test]
fn a_timeout_is_none_of_it() {
    for (name, ssthresh) in [("reno", 50_000), ("cubic", 70_000)] {
        let after = with(name, &[("abe", "true")]).after_congestion(TIMEOUT, &window(100_000, u64::MAX));
        assert_eq!(after, Window { cwnd: 1000, ssthresh }, "{name}");
    }
}
