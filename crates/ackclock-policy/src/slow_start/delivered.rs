use ackclock_units::Bytes;

use crate::{AckInfo, Entry, Growth, Policy, SenderView, SlowStart};

/// Slow start by delivered bytes, as in Linux (`tcp_slow_start`).
#[derive(Clone, Copy, Debug)]
struct DeliveredSlowStart;

impl Policy for DeliveredSlowStart {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl SlowStart for DeliveredSlowStart {
    fn on_ack(&mut self, a: &AckInfo, _most: Bytes, v: &SenderView) -> Growth {
        // What lies above the threshold is congestion avoidance's.
        let left = v.window.ssthresh.saturating_sub(v.window.cwnd);
        Growth { bytes: a.delivered.min(left), exit: false }
    }
}

/// Linux's counting.
pub(crate) const ENTRY: Entry<dyn SlowStart> = Entry {
    name: "delivered",
    about: "Grows by what an ack newly delivers, cumulatively or by SACK, without a limit per ack, until the \
            threshold or a loss, as in Linux.",
    source: "RFC 5681 3.1 (eq. 2), without the limits of RFC 3465 2.2 and 2.3",
    params: &[],
    build: |_| Box::new(DeliveredSlowStart),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;
    use crate::harness::{ack, view};

    /// Growth on an ack that acknowledges `acked` and delivers `delivered` bytes.
    fn grown(acked: Bytes, delivered: Bytes, cwnd: Bytes, ssthresh: Bytes) -> Growth {
        let v = SenderView { window: Window { cwnd, ssthresh }, ..view() };
        DeliveredSlowStart.on_ack(&AckInfo { delivered, ..ack(50_000, acked) }, 1000, &v)
    }

    #[test]
    fn growth_is_what_was_delivered() {
        for (acked, delivered, ssthresh, bytes) in [
            (1000, 1000, u64::MAX, 1000),
            // An ack of ten segments adds ten.
            (10_000, 10_000, u64::MAX, 10_000),
            // Nine of them were SACKed before.
            (10_000, 1000, u64::MAX, 1000),
            // Up to the threshold.
            (10_000, 10_000, 14_000, 4000),
            (1000, 1000, 10_000, 0),
        ] {
            let growth = Growth { bytes, exit: false };
            assert_eq!(grown(acked, delivered, 10_000, ssthresh), growth, "{acked} {delivered} {ssthresh}");
        }
    }
}
