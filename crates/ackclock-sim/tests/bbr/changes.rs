//! Paths that change: their rate, their delay, and what they lose.

use crate::*;

const SHALLOW: &str = "queue = { kind = \"drop-tail\", limit = \"330packets\" }";

#[test]
fn ten_times_the_bandwidth_is_found() {
    // A.15.
    let change = rates(&[(10.0, "100Mbit/s")]);
    let w = Window::of(&with(RACK, 30, BULK, "10Mbit/s", &format!("{SHALLOW}\n{change}"), ""));
    let share = |time| w.at("max_bw", time) / 100e6 / PAYLOAD;
    assert!((0.095..0.11).contains(&share(9.9)), "{}", share(9.9));
    // The first probe after it takes ten times the bandwidth within log2(10) round trips, and what it takes to
    // see that it grows no further.
    let up = w.stays(UP).into_iter().find(|s| s.1 > 10.0).expect("it probes");
    assert!(up.0 < 14.0, "it began at {} s", up.0);
    let found = w.changes("max_bw").iter().find(|c| c.0 > 10.0 && c.1 > 0.9 * 100e6 * PAYLOAD);
    let found = found.expect("all of it is found").0;
    let rounds = w.at("round_count", found) - w.at("round_count", up.0.max(10.0));
    assert!(rounds <= MOST_ROUNDS, "{rounds} round trips");
    assert!(share(29.0) > 0.97, "{}", share(29.0));
}

/// Round trips in which a probe finds ten times the bandwidth: log(10) / log(1.25) = 10.3 with a pace a quarter
/// above what was delivered in the one before, and as many again for the delay of samples by a round trip.
const MOST_ROUNDS: f64 = 20.6;

#[test]
fn a_tenth_of_the_bandwidth_is_adapted_to() {
    // A.16: the short-term model responds to the losses, the long-term one after two cycles.
    let change = rates(&[(10.0, "10Mbit/s")]);
    let w = Window::of(&with(RACK, 40, BULK, "100Mbit/s", &format!("{SHALLOW}\n{change}"), ""));
    let share = |time| w.at("max_bw", time) / 10e6 / PAYLOAD;
    assert!(share(9.9) > 9.7, "{}", share(9.9));
    let shortterm = w.between("bw_shortterm", 10.0, 15.0);
    let least = shortterm.iter().copied().filter(|bw| *bw > 0.0).fold(f64::MAX, f64::min);
    assert!(least < 0.5 * 100e6, "{least} bit/s");
    // BBR.MaxBwFilterLen: the second probe after it ends the memory of the old bandwidth.
    let third = w.stays(UP).into_iter().filter(|s| s.0 > 10.0).nth(2).expect("three probes").0;
    assert!((0.95..1.1).contains(&share(third)), "{} at {third} s", share(third));
    assert!((0.95..1.1).contains(&share(39.0)), "{}", share(39.0));
}

#[test]
fn drain_and_down_end_by_time_where_the_queue_stays() {
    // A.4: a tenth of the bandwidth goes when Drain begins, so that the pipe stays too full. It lasts no more
    // than four round trips all the same.
    let before = Window::of(&one(10, BULK, "10Mbit/s", DEEP, ""));
    let begins = before.stays(DRAIN)[0].0;
    let w = Window::of(&one(10, BULK, "10Mbit/s", &format!("{DEEP}\n{}", rates(&[(begins, "9Mbit/s")])), ""));
    let (began, ended) = w.stays(DRAIN)[0];
    assert!((began - begins).abs() < 1e-3);
    let rounds = w.at("round_count", ended) - w.at("round_count", began);
    assert!(rounds <= 4.0, "{rounds} round trips");
    assert!([DOWN, CRUISE].contains(&w.at("state", ended)));
}

#[test]
fn drain_and_down_end_by_time_alone_where_the_queue_cannot_drain() {
    // A.4, A.9: with so much of the bandwidth gone that half of the estimate is more than what is left, Drain
    // lasts for its three round trips and Down until it is time to probe; nothing is lost meanwhile.
    let deep = "queue = { kind = \"drop-tail\", limit = \"100bdp\" }";
    let begins = Window::of(&one(10, BULK, "10Mbit/s", deep, "")).stays(DRAIN)[0].0;
    let r = one(10, BULK, "10Mbit/s", &format!("{deep}\n{}", rates(&[(begins, "4Mbit/s")])), "");
    assert_eq!(r.flows[0].retransmitted_segments, 0);
    let w = Window::of(&r);
    let (began, ended) = w.stays(DRAIN)[0];
    // BBR.round_count > BBR.drain_start_round + 3.
    assert_eq!(w.at("round_count", ended) - w.at("round_count", began), 4.0);
    assert_eq!(w.at("state", ended), DOWN);
    let (began, ended) = w.stays(DOWN)[0];
    assert_eq!(w.at("pacing_gain", began), 0.9);
    assert_eq!(w.at("state", ended), REFILL, "it does not cruise");
    // BBR.bw_probe_wait, or as many round trips as Reno would take, is over.
    assert!((1.0..3.1).contains(&(ended - began)), "{} s", ended - began);
}

#[test]
fn loss_in_a_probe_ends_it_and_lowers_the_long_term_model() {
    // A.21: a buffer that a probe overflows.
    let r = one(60, BULK, "10Mbit/s", "queue = { kind = \"drop-tail\", limit = \"0.2bdp\" }", "");
    let w = Window::of(&r);
    assert!(w.at("inflight_longterm", 59.0) > 0.0, "losses have set it");
    let lowered = w.stays(UP).into_iter().filter(|(_, ended)| {
        w.at("inflight_longterm", *ended) < w.at("inflight_longterm", ended - 1e-6)
            || w.at("inflight_longterm", ended - 1e-6) == 0.0
    });
    assert!(lowered.count() >= 1, "no probe was ended by losses");
    for (_, ended) in w.stays(UP) {
        assert!([DOWN, PROBE_RTT].contains(&w.at("state", ended)));
    }
    // It holds the path's bandwidth-delay product at least: 50,000 bytes of segments with headers.
    let least = w.between("inflight_longterm", 10.0, 59.0).into_iter().fold(f64::MAX, f64::min);
    assert!(least > 0.7 * 48_000.0, "{least}");
}

#[test]
fn a_spurious_timeout_restores_the_model() {
    // A.19: the path holds everything for a second; the timestamps of the acks then show that nothing was
    // lost.
    let stall = format!("{DEEP}\nfaults = [{{ kind = \"stall\", from = \"7s\", until = \"9s\" }}]");
    let text = format!(
        "duration = \"20s\"\nseed = 1\ntrace = \"state\"\nworkload.kind = \"bulk\"\n[path]\nkind = \"single\"\nrtt = \
         \"40ms\"\n[path.link]\nrate = \"10Mbit/s\"\n{stall}\n[stacks]\nbbr = {{ preset = \"sack+timestamps\", undo \
         = \"eifel\", window = \"bbr\" }}"
    );
    let r = simulate(&text);
    assert!(r.flows[0].spurious_timeouts >= 1, "{} timeouts", r.flows[0].timeouts);
    let w = Window::of(&r);
    // No long-term bound was set, or none was kept.
    assert_eq!(w.at("inflight_longterm", 9.5), w.at("inflight_longterm", 6.9));
    let bw = w.at("bw", 10.5) / 10e6 / PAYLOAD;
    assert!(bw > 0.9, "{bw}");
}

#[test]
fn a_spurious_fast_recovery_restores_the_model() {
    // A.18: in a probe the route is longer for 10 ms, so that segments are overtaken and sent again; DSACKs
    // then show that none was lost.
    let text = |stall: &str, undo: &str| {
        format!(
            "duration = \"9s\"\nseed = 1\ntrace = \"state\"\nworkload.kind = \"bulk\"\n[path]\nkind = \
             \"single\"\nrtt = \"40ms\"\n[path.link]\nrate = \"10Mbit/s\"\n{DEEP}\n{stall}\n[stacks]\nbbr = {{ \
             preset = \"sack\", undo = \"{undo}\", window = \"bbr\" }}"
        )
    };
    let undisturbed = Window::of(&simulate(&text("", "dsack")));
    let up = undisturbed.stays(UP)[0];
    let at = ((up.0 + 0.05) * 1e3).round();
    let detour = format!(
        "faults = [{{ kind = \"detour\", from = \"{at}ms\", until = \"{}ms\", extra = \"30ms\", of = \"data\" }}]",
        at + 10.0
    );
    let at = at / 1e3;
    let shown = |undo: &str| {
        let r = simulate(&text(&detour, undo));
        assert_eq!((r.flows[0].fast_recoveries, r.flows[0].timeouts), (1, 0), "{undo}");
        assert!(r.flows[0].unneeded_retransmissions >= 3, "{}", r.flows[0].unneeded_retransmissions);
        Window::of(&r)
    };
    // Without the undo the probe has found its limit, which is 0 for none in a trace.
    let kept = shown("none");
    assert!(kept.at("inflight_longterm", at + 0.5) > 0.0, "the losses count");
    let w = shown("dsack");
    let lowered = w.changes("inflight_longterm").iter().any(|c| c.0 > at && c.1 > 0.0);
    assert!(lowered, "the losses counted at first");
    for name in ["inflight_longterm", "inflight_shortterm", "bw_shortterm"] {
        assert_eq!(w.at(name, at + 0.5), w.at(name, at), "{name}");
    }
    // It is back in the probe that the losses had ended.
    let states: Vec<_> =
        w.changes("state").iter().filter(|c| c.0 > at && c.0 < at + 0.3).map(|c| c.1).collect();
    assert!(states.contains(&DOWN) && states.contains(&UP), "{states:?}");
}
