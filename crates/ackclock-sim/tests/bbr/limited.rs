//! Applications that send less than the path takes.

use crate::*;

/// Writes half of 10 Mbit/s all the time.
const STEADY: &str = "kind = \"on-off\"\non = \"86400s\"\noff = \"1us\"\nperiods = \"exponential\"\nrate = \
                      \"5Mbit/s\"\nbytes = \"500B\"";

#[test]
fn startup_goes_on_while_the_application_limits_it() {
    // A.7: no loss, no full round trip.
    let w = Window::of(&one(4, STEADY, "10Mbit/s", DEEP, ""));
    assert_eq!(w.states(), [STARTUP]);
    assert_eq!(w.at("full_bw_reached", 4.0), 0.0);
}

#[test]
fn losses_end_startup_though_the_application_limits_it() {
    // A.2: a tenth is lost, in more than six places a round trip.
    let lossy = format!("{DEEP}\nfaults = [{{ kind = \"loss\", p = 0.2, of = \"data\" }}]");
    let w = Window::of(&one(4, STEADY, "10Mbit/s", &lossy, ""));
    assert_eq!(w.states()[..2], [STARTUP, DRAIN]);
    let (_, ended) = w.stays(STARTUP)[0];
    assert_eq!(w.at("full_bw_reached", ended), 1.0);
    assert!(w.at("inflight_longterm", ended) > 0.0);
}

#[test]
fn a_probe_goes_on_while_the_application_limits_it_and_ends_with_losses() {
    // A.7, A.6: a link of 4 Mbit/s is full, so that Startup ends; from 4 s on it has room for all. The fifth of
    // what is sent that is lost from 30 s on ends the probe.
    let change = rates(&[(4.0, "10Mbit/s")]);
    let lossy = "faults = [{ kind = \"outage\", from = \"30s\", until = \"31s\", p = 0.2, of = \"data\" }]";
    let w = Window::of(&one(32, STEADY, "4Mbit/s", &format!("{DEEP}\n{change}\n{lossy}"), ""));
    // ProbeRTT alone interrupts probes, every five seconds.
    let limited: Vec<_> = w.stays(UP).into_iter().filter(|s| s.0 > 15.0 && s.1 < 30.0).collect();
    assert!(!limited.is_empty());
    for (began, ended) in limited {
        assert!(ended - began > 1.0 && w.at("state", ended) == PROBE_RTT, "{began} to {ended}");
    }
    let (_, ended) = w.stays(UP).into_iter().find(|s| s.1 > 30.0).expect("a probe");
    assert!((30.0..30.5).contains(&ended), "{ended} s");
    assert!([DOWN, CRUISE].contains(&w.at("state", ended)));
    // HandleInflightTooHigh() leaves the bound of a sample that the application limited (§5.5.10.2).
    assert_eq!(w.at("inflight_longterm", ended), 0.0);
}

#[test]
fn probe_rtt_in_startup_leads_back_to_it() {
    // A.20: the application limits Startup for longer than ProbeRTT's interval.
    let w = Window::of(&one(12, STEADY, "10Mbit/s", DEEP, ""));
    let stays = w.stays(PROBE_RTT);
    assert!(!stays.is_empty(), "{:?}", w.states());
    assert!(stays.iter().all(|(_, ended)| w.at("state", *ended) == STARTUP));
}

#[test]
fn an_idle_application_needs_no_probe_rtt() {
    // A.11: a transfer, and another after a silence of longer than the interval.
    let dialogue = "kind = \"on-off\"\non = \"3s\"\noff = \"30s\"\nperiods = \"exponential\"\nrate = \
                    \"20Mbit/s\"\nbytes = \"1000B\"";
    let w = Window::of(&one(200, dialogue, "10Mbit/s", DEEP, ""));
    let times: Vec<f64> = w.changes("round_count").iter().map(|c| c.0).collect();
    let silences: Vec<_> = times.windows(2).filter(|t| t[1] - t[0] > 5.1).collect();
    assert!(silences.len() >= 2, "{} silences", silences.len());
    for t in silences {
        // The first round trip after it is in the state from before it, or goes on from there.
        assert_ne!(w.at("state", t[1] + 0.04), PROBE_RTT, "at {} s", t[1]);
    }
}

#[test]
fn slow_samples_of_the_application_do_not_lower_the_bandwidth() {
    // A.22, §5.5.4: a bulk transfer's estimate is kept by what an application writes slowly later.
    let dialogue = "kind = \"on-off\"\non = \"4s\"\noff = \"1s\"\nperiods = \"exponential\"\nrate = \
                    \"20Mbit/s\"\nbytes = \"1000B\"";
    let w = Window::of(&one(30, dialogue, "10Mbit/s", DEEP, ""));
    let reached = w.changes("full_bw_reached").iter().find(|c| c.1 == 1.0).expect("the pipe was full").0;
    let least = w.between("max_bw", reached + 0.1, 30.0).into_iter().fold(f64::MAX, f64::min);
    assert!(least > 0.9 * 10e6 * PAYLOAD, "{least} bit/s");
}

#[test]
fn a_refill_that_the_application_limits_leads_to_a_probe() {
    // A.22: pauses, some of which fall into Refill, so that less than half of the path is full at its end.
    let dialogue = "kind = \"on-off\"\non = \"1s\"\noff = \"300ms\"\nperiods = \"exponential\"\nrate = \
                    \"12Mbit/s\"\nbytes = \"1000B\"";
    let w = Window::of(&one(200, dialogue, "10Mbit/s", DEEP, ""));
    let unused = |(_, ended): &(f64, f64)| w.at("flight", ended - 1e-6) < 0.5 * w.bdp(*ended);
    let limited: Vec<_> = w.stays(REFILL).into_iter().filter(unused).collect();
    assert!(!limited.is_empty(), "the application limited none of {} Refills", w.stays(REFILL).len());
    for (began, ended) in limited {
        assert!([UP, PROBE_RTT].contains(&w.at("state", ended)), "{} at {ended} s", w.at("state", ended));
        assert!(w.at("max_bw", ended) >= w.at("max_bw", began), "at {ended} s");
    }
}
