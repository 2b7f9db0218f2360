//! Policers.

use crate::*;

#[test]
fn what_a_policer_drops_bounds_the_short_term_model() {
    // A.17: tokens of 10 Mbit/s with a bucket of half a bandwidth-delay product or of five, on a link that never
    // queues. A full bucket lets a probe measure the link's rate; it takes losses to learn that of the tokens.
    for (burst, most_lost) in [("25kB", 0.02), ("250kB", 0.08)] {
        let policer = format!("{DEEP}\npolicer = {{ rate = \"10Mbit/s\", burst = \"{burst}\" }}");
        let r = with(RACK, 40, BULK, "100Mbit/s", &policer, "");
        let (flow, w) = (&r.flows[0], Window::of(&r));
        // The losses of each probe set both bounds, or lower them.
        for name in ["bw_shortterm", "inflight_shortterm"] {
            let set = w.changes(name).iter().filter(|c| c.0 > 3.0 && c.1 > 0.0).count();
            assert!(set >= w.stays(UP).len(), "{burst}: {name} set {set} times");
        }
        // As it cruises it comes to the rate of the tokens.
        let cruises = w.stays(CRUISE).into_iter().filter(|s| s.0 > 3.0);
        let mut bw: Vec<_> = cruises.map(|s| w.at("bw", s.1 - 1e-6) / 10e6 / PAYLOAD).collect();
        bw.sort_by(f64::total_cmp);
        let median = bw[bw.len() / 2];
        assert!((0.97..1.1).contains(&median), "{burst}: {median} of the tokens");
        let lost = flow.retransmitted_segments as f64 / flow.data_segments_sent as f64;
        assert!(lost < most_lost, "{burst}: {lost} lost");
        let goodput = goodputs(&r, "bbr", 40.0)[0];
        assert!(goodput > 0.9 * 10.0 * PAYLOAD, "{burst}: {goodput} Mbit/s");
        assert_eq!(flow.timeouts, 0);
    }
}
