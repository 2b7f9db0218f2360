use ackclock_units::Bytes;

use crate::{AckInfo, Entry, Growth, Param, Policy, SenderView, SlowStart};

/// Limited slow start: a large window no longer doubles in a round trip.
#[derive(Clone, Copy, Debug)]
struct LimitedSlowStart {
    /// max_ssthresh, segments.
    max_ssthresh: u32,
}

impl Policy for LimitedSlowStart {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl SlowStart for LimitedSlowStart {
    fn on_ack(&mut self, _a: &AckInfo, most: Bytes, v: &SenderView) -> Growth {
        let max_ssthresh = u64::from(self.max_ssthresh) * u64::from(v.smss);
        let bytes = if v.window.cwnd <= max_ssthresh {
            most
        } else {
            // RFC 3742 §2: K = int(cwnd / (0.5 max_ssthresh)), cwnd += int(MSS / K).
            most / (2 * v.window.cwnd / max_ssthresh).max(1)
        };
        Growth { bytes, exit: false }
    }
}

/// RFC 3742.
pub(crate) const ENTRY: Entry<dyn SlowStart> = Entry {
    name: "limited",
    about: "Slow start in which a window above a limit grows by at most half of that limit in a round trip.",
    source: "RFC 3742 2",
    params: &[Param::count(
        "max_ssthresh_segs",
        100,
        2..=1_000_000,
        "max_ssthresh, segments of the window up to which slow start is the usual one",
    )],
    build: |p| Box::new(LimitedSlowStart { max_ssthresh: p.count("max_ssthresh_segs") as u32 }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{ack, view};
    use crate::{Params, Window};

    fn window(cwnd: Bytes) -> SenderView {
        SenderView { window: Window { cwnd, ssthresh: u64::MAX }, ..view() }
    }

    #[test]
    fn growth_per_ack_is_the_kth_part_of_a_segment() {
        let mut slow_start = (ENTRY.build)(&Params::defaults(ENTRY.params));
        // RFC 3742 §2 with segments of 1000 bytes: K is 2 above 100 segments, 3 from 150 on, 4 from 200 on.
        for (segs, bytes) in [
            (10, 1000),
            (100, 1000),
            (101, 500),
            (149, 500),
            (150, 333),
            (199, 333),
            (200, 250),
            (250, 200),
            (1000, 50),
        ] {
            let growth = slow_start.on_ack(&ack(1, 1000), 1000, &window(segs * 1000));
            assert_eq!(growth, Growth { bytes, exit: false }, "{segs} segments");
        }
    }

    #[test]
    fn a_large_window_takes_the_round_trips_that_the_rfc_computes() {
        // §2: log2(max_ssthresh) + (cwnd - max_ssthresh) / (max_ssthresh / 2) round trips. From one segment
        // to 2000: 6.6 + 38. The steps of K make it up to an eighth longer.
        let mut slow_start = (ENTRY.build)(&Params::defaults(ENTRY.params));
        let mut v = window(1000);
        let mut rounds = 0_u32;
        while v.window.cwnd < 2_000_000 {
            let before = v.window.cwnd;
            for _ in 0..before / 1000 {
                v.window = slow_start.on_ack(&ack(1, 1000), 1000, &v).applied_to(&v);
            }
            rounds += 1;
            assert!(v.window.cwnd - before <= before.min(75_000), "no more than half of the limit, and K");
        }
        assert!((44..=50).contains(&rounds), "{rounds}");
    }
}
