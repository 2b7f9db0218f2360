//! One flow with the link to itself.

use crate::*;

/// Bytes that leave back to back at 10 Mbit/s: two segments (§5.6.3).
const QUANTUM: f64 = 2.0 * 1460.0;

#[test]
fn startup_ends_on_a_plateau_of_the_bandwidth() {
    // A.1: the estimate is within 2 % of the link, after three round trips that grew by less than a quarter.
    let w = Window::of(&one(10, BULK, "10Mbit/s", DEEP, ""));
    let (began, ended) = w.stays(STARTUP)[0];
    assert!(began < 0.2 && ended < 1.0, "{began} to {ended}");
    assert_eq!(w.states()[..2], [STARTUP, DRAIN]);
    let max_bw = w.at("max_bw", ended) / 10e6 / PAYLOAD;
    assert!((0.98..=1.02).contains(&max_bw), "{max_bw} of the link's rate");
    assert_eq!((w.at("full_bw_count", ended), w.at("full_bw_reached", ended)), (3.0, 1.0));
    assert_eq!(w.at("full_bw_reached", ended - 1e-6), 0.0);
}

#[test]
fn drain_lasts_until_the_queue_is_gone() {
    // A.3: half of the bandwidth, until what is in flight fits into the path; about a round trip.
    let w = Window::of(&one(10, BULK, "10Mbit/s", DEEP, ""));
    let (began, ended) = w.stays(DRAIN)[0];
    assert_eq!(w.at("pacing_gain", began), 0.5);
    let rate = w.at("pacing_rate", began) / w.at("bw", began);
    assert!((rate - 0.5 * 0.99).abs() < 0.01, "{rate}");
    assert!(ended - began < 4.0 * 0.08, "{} s", ended - began);
    // What is in flight then fits, and did not before: BBRInflight() rounds up by three quanta (§5.6.4.2).
    let most = w.bdp(ended) + 3.0 * QUANTUM;
    assert!(w.at("flight", ended) <= most, "{} of {most} bytes", w.at("flight", ended));
    let before = w.between("flight", began, ended - 1e-6).into_iter().fold(f64::MAX, f64::min);
    assert!(before > w.bdp(ended), "{before} bytes were in flight");
    // Where the queue is gone already, Down is over in the same ack.
    assert!([DOWN, CRUISE].contains(&w.states()[2]));
}

#[test]
fn the_cycle_is_down_cruise_refill_up() {
    // §5.3.3, A.5, A.8.
    let w = Window::of(&one(60, BULK, "10Mbit/s", DEEP, ""));
    let cycle: Vec<_> = w.states().into_iter().skip(2).filter(|s| *s != PROBE_RTT).collect();
    for pair in cycle.windows(2) {
        let next = match pair[0] {
            DOWN => [CRUISE, REFILL],
            CRUISE => [REFILL, CRUISE],
            REFILL => [UP, CRUISE],
            UP => [DOWN, CRUISE],
            other => panic!("state {other} after Drain"),
        };
        // ProbeRTT may interrupt any of them, and ends in Cruise.
        assert!(next.contains(&pair[1]), "{pair:?}");
    }
    for (state, gain, cwnd_gain) in
        [(DOWN, 0.9, 2.0), (CRUISE, 1.0, 2.0), (REFILL, 1.0, 2.0), (UP, 1.25, 2.25)]
    {
        let stays = w.stays(state);
        assert!(stays.len() > 5, "state {state}: {} times in a minute", stays.len());
        for (began, _) in stays {
            assert_eq!((w.at("pacing_gain", began), w.at("cwnd_gain", began)), (gain, cwnd_gain));
        }
    }
    // A.5: without losses the probe ends on a plateau, three round trips after it began at least.
    for (began, ended) in w.stays(UP).into_iter().filter(|s| w.at("state", s.1) != PROBE_RTT) {
        assert!(w.at("full_bw_count", ended) == 3.0 && ended - began > 3.0 * 0.04, "{began} to {ended}");
    }
    // A.8: Down ends as what is in flight fits into the path, BBRInflight(1.0) with its three quanta.
    let drained = w.stays(DOWN).into_iter().filter(|s| w.at("state", s.1) == CRUISE);
    let fits = drained.map(|(_, ended)| w.at("flight", ended) / (w.bdp(ended) + 3.0 * QUANTUM));
    let most = fits.fold(0.0, f64::max);
    assert!((0.5..=1.0).contains(&most), "{most} of what fits was in flight");
    // §5.3.3.8: 2 to 3 s between probes, or 62 to 63 round trips, which is as long here.
    let probes: Vec<_> = w.stays(UP).iter().map(|s| s.0).collect();
    for pair in probes.windows(2) {
        assert!((1.0..6.0).contains(&(pair[1] - pair[0])), "{} s between probes", pair[1] - pair[0]);
    }
}

#[test]
fn probe_rtt_comes_every_five_seconds() {
    // A.10: half of the bandwidth-delay product for 200 ms and a round trip, then back to Cruise.
    let w = Window::of(&one(60, BULK, "10Mbit/s", DEEP, ""));
    let stays = w.stays(PROBE_RTT);
    assert!((8..=12).contains(&stays.len()), "{} times in a minute", stays.len());
    for (began, ended) in &stays {
        assert_eq!(w.at("cwnd_gain", *began), 0.5);
        assert!((0.2..0.5).contains(&(ended - began)), "{began} to {ended}");
        assert_eq!(w.at("state", *ended), CRUISE);
    }
    for pair in stays.windows(2) {
        assert!((5.0..6.5).contains(&(pair[1].0 - pair[0].1 + 0.2)), "{pair:?}");
    }
    // What it measures is the path without a queue: 40 ms, and the time of a segment on the link.
    let min_rtt = w.at("min_rtt", 59.0);
    assert!((0.040..0.044).contains(&min_rtt), "{min_rtt}");
}

#[test]
fn the_link_is_full_and_the_queue_short_whatever_the_buffer() {
    for (limit, most_lost) in [("0.5bdp", 0.02), ("1bdp", 0.01), ("5bdp", 0.0)] {
        let queue = format!("queue = {{ kind = \"drop-tail\", limit = \"{limit}\" }}");
        let r = one(30, BULK, "10Mbit/s", &queue, "");
        let goodput = goodputs(&r, "bbr", 30.0)[0];
        let flow = &r.flows[0];
        let lost = flow.retransmitted_segments as f64 / flow.data_segments_sent as f64;
        // §5.3.4.2: 98 % of the bandwidth but for ProbeRTT, and 1 % that it paces below the estimate.
        assert!(goodput > 0.93 * 10.0 * PAYLOAD, "{limit}: {goodput} Mbit/s");
        assert!(lost <= most_lost, "{limit}: {lost} lost");
    }
}

#[test]
fn random_loss_below_the_threshold_costs_little() {
    // §3.4: losses of less than 2 % in a round trip do not count against the long-term model.
    let lossy = format!("{DEEP}\nfaults = [{{ kind = \"loss\", p = 0.01 }}]");
    let r = one(30, BULK, "10Mbit/s", &lossy, "");
    let goodput = goodputs(&r, "bbr", 30.0)[0];
    assert!(goodput > 7.0, "{goodput} Mbit/s");
}

#[test]
fn a_link_of_less_than_a_segment_has_four_in_flight() {
    // A.14: 64 kbit/s and 40 ms hold 320 bytes.
    let r = one(60, BULK, "64kbit/s", "queue = { kind = \"drop-tail\", limit = \"20packets\" }", "");
    let goodput = goodputs(&r, "bbr", 60.0)[0];
    assert!(goodput > 0.9 * 0.064 * PAYLOAD, "{goodput} Mbit/s");
    let w = Window::of(&r);
    let max_bw = w.at("max_bw", 59.0) / 64e3 / PAYLOAD;
    assert!((0.95..1.05).contains(&max_bw), "{max_bw}");
    // BBR.MinPipeCwnd is the floor: once the window of ten segments was reduced, it is four of them.
    let least = w.between("cwnd", 0.0, 60.0).into_iter().filter(|cwnd| *cwnd > 0.0).fold(f64::MAX, f64::min);
    assert_eq!(least, 4.0 * 1460.0);
    // It paces at the bandwidth where it cruises.
    let cruises = w.stays(CRUISE);
    assert!(!cruises.is_empty(), "{:?}", w.states());
    for (_, ended) in cruises {
        let pace = w.at("pacing_rate", ended - 1e-6) / w.at("bw", ended - 1e-6);
        assert!((pace - 0.99).abs() < 0.005, "{pace}");
    }
}

#[test]
fn aggregated_acks_are_provided_for() {
    // A.12, A.13: acks are held for 20 ms of every 40 ms, after Startup or from the beginning.
    for from in [0, 10_000] {
        let stalls: Vec<_> = (0..250)
            .map(|k| {
                let at = from + 40 * k;
                format!("{{ kind = \"stall\", from = \"{at}ms\", until = \"{}ms\" }}", at + 20)
            })
            .collect();
        let rest = format!("[path.back]\nfaults = [{}]", stalls.join(", "));
        let text = format!(
            "duration = \"20s\"\nseed = 1\ntrace = [\"state\", \"samples\"]\nworkload.kind = \"bulk\"\n[path]\nkind = \
             \"single\"\nrtt = \"40ms\"\n[path.link]\nrate = \"10Mbit/s\"\n{DEEP}\n{rest}\n[stacks]\nbbr = {{ \
             preset = \"sack\", window = \"bbr\" }}"
        );
        let r = simulate(&text);
        let w = Window::of(&r);
        let (from, until) = (f64::from(from) / 1e3 + 2.0, f64::from(from) / 1e3 + 9.0);
        let extra = w.between("extra_acked", from, until).into_iter().fold(0.0, f64::max);
        // Up to 20 ms of the link arrive at once: 24,333 bytes of payload.
        assert!((8_000.0..50_000.0).contains(&extra), "{extra} bytes");
        // C.cwnd > 2 * BDP, by what acks hold back.
        let most = w.between("cwnd", from, until).into_iter().fold(0.0, f64::max);
        assert!(most > 2.0 * w.bdp(until) + 0.5 * extra, "{most} bytes");
        let max_bw = w.at("max_bw", until) / 10e6 / PAYLOAD;
        assert!((0.97..1.2).contains(&max_bw), "{max_bw}");
        let goodput = goodputs(&r, "bbr", 20.0)[0];
        assert!(goodput > 0.9 * 10.0 * PAYLOAD, "{goodput} Mbit/s");
    }
}
