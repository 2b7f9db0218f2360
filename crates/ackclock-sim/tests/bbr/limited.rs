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
