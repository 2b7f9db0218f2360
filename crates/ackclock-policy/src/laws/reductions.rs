use super::for_all;
use crate::harness::{ack, view};
use crate::{AckInfo, Phase, Reduction, Registry, SenderView, Window};

/// During a recovery, no more is sent than was delivered (and one more segment, the fast retransmit), or than
/// the reduced window has room for; on an ack that delivers nothing, than the window holds that was left before (RFC 9937
/// §6.2).
pub fn no_more_is_sent_than_was_delivered_or_the_window_allows(registry: &Registry) {
    for_all::<dyn Reduction>(registry, |c, rng| {
        let mut reduction = c.build();
        for _ in 0..20 {
            let flight_size = 1000 * (4 + rng.below(100));
            let half = flight_size / 2;
            let window = Window { cwnd: half, ssthresh: half };
            let mut v =
                SenderView { window, flight_size, pipe: flight_size, phase: Phase::Recovery, ..view() };
            reduction.begin(Window { cwnd: flight_size, ssthresh: u64::MAX }, &v);
            let (mut delivered, mut sent, mut left) = (0, 0, flight_size);
            for _ in 0..rng.below(200) {
                let news = (1000 * rng.below(4)).min(v.pipe);
                let newly_lost = (1000 * rng.below(3) * rng.below(2)).min(v.pipe - news);
                v.pipe -= news + newly_lost;
                delivered += news;
                let newly_acked = if rng.chance(0.3) { news } else { 0 };
                let a = AckInfo { newly_acked, delivered: news, newly_lost, ..ack(1, 0) };
                let quota = reduction.on_ack(&a, &v);
                let earned = sent + quota <= delivered + u64::from(v.smss);
                let unchanged = news == 0 && v.pipe + quota <= left;
                assert!(
                    quota <= v.room() || earned || unchanged,
                    "{quota} with {sent} sent of {delivered}, {left} left and room for {}: {c:?}",
                    v.room()
                );
                if news > 0 {
                    left = v.pipe + quota;
                }
                for _ in 0..(quota / 1000).min(1 + rng.below(4)) {
                    reduction.on_sent(1000, v.smss);
                    (sent, v.pipe) = (sent + 1000, v.pipe + 1000);
                }
            }
        }
    });
}
