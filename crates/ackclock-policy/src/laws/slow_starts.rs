use super::{for_all, span};
use crate::harness::{ack, view};
use crate::{AckInfo, Registry, Rtt, SenderView, SlowStart, Window};

/// A window grows by at most what is acknowledged (J-A2, RFC 3465 §2.2, RFC 9406 §4.2).
pub fn slow_start_adds_no_more_than_what_is_acknowledged(registry: &Registry) {
    for_all::<dyn SlowStart>(registry, |c, rng| {
        let mut slow_start = c.build();
        let mut v = SenderView { window: Window { cwnd: 10_000, ssthresh: u64::MAX }, ..view() };
        for _ in 0..400 {
            let segments = 1 + rng.below(10);
            v.snd_una += 1000 * segments as u32;
            v.snd_nxt = v.snd_una + rng.below(v.window.cwnd + 1) as u32;
            let rtt = span(rng) / 1000;
            v.now += rtt / 10;
            v.rtt = Some(Rtt { latest: rtt, srtt: rtt, rttvar: rtt / 4, min_rtt: rtt / 2 });
            let a = AckInfo { rtt: rng.chance(0.8).then_some(rtt), ..ack(v.snd_una.0, 1000 * segments) };
            let most = 1000 * (1 + rng.below(segments));
            let growth = slow_start.on_ack(&a, most, &v);
            assert!(growth.bytes <= a.newly_acked, "{growth:?} of {} bytes: {c:?}", a.newly_acked);
            let grown = growth.applied_to(&v);
            assert!(grown.cwnd >= v.window.cwnd, "{growth:?} of {:?}: {c:?}", v.window);
            v.window.cwnd = if growth.exit { 10_000 } else { grown.cwnd.min(1 << 30) };
        }
    });
}
