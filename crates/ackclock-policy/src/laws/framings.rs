use super::for_all;
use crate::harness::view;
use crate::{Frame, Framing, Registry, SenderView, Window};

/// Segments have between one byte and `smss`, and at least one copy.
pub fn segments_are_of_a_size_that_can_be_sent(registry: &Registry) {
    for_all::<dyn Framing>(registry, |c, rng| {
        let mut f = c.build();
        for _ in 0..500 {
            let smss = 1 + rng.below(65_495) as u32;
            let (cwnd, most) = (1 << rng.below(40), 1 << rng.below(40));
            let flight_size = rng.below(cwnd + 1);
            let (unsent, rwnd) = (1 + rng.below(most), rng.below(1 << 30));
            let v = SenderView {
                smss,
                flight_size,
                unsent,
                rwnd,
                window: Window { cwnd, ssthresh: u64::MAX },
                ..view()
            };
            let frame = f.frame(&v);
            assert!((1..=smss).contains(&frame.most) && frame.copies >= 1, "{frame:?} of {v:?}: {c:?}");
            assert!(!f.is_default() || frame == Frame { most: smss, copies: 1 }, "{frame:?}: {c:?}");
        }
    });
}
