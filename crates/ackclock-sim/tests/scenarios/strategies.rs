//! The strategies of interactive flows (I-A1 to I-A8), in whole runs.

use ackclock_sim::scenario::Results;

use crate::{resolved, results};

/// One flow of the given kind over a bottleneck that loses packets at random, or by its buffer alone.
fn alone(kind: &str, stack: &str, loss: f64, seconds: u64) -> Results {
    let text = format!(
        r#"
seed = 3
duration = "{seconds}s"
[path]
kind = "single"
link = {{ rate = "2Mbit/s", queue = {{ kind = "drop-tail", limit = "20packets" }}, faults = [{{ kind = "loss", p = {loss} }}] }}
rtt = "40ms"
[workload]
kind = "{kind}"
[stacks]
tcp = "{stack}"
"#
    );
    results(&resolved(&text, &[]), 1)
}

/// Data segments sent, those retransmitted, timeouts and fast recoveries.
fn counts(r: &Results) -> (u64, u64, u32, u32) {
    let f = &r.flows[0];
    (f.data_segments_sent, f.retransmitted_segments, f.timeouts, f.fast_recoveries)
}

#[test]
fn a_backlogged_flow_is_a_bulk_flow() {
    // I-A2: its loss recovery and the growth of its window are those of a bulk flow, to the last segment. Timestamps take 12 bytes of each.
    let timestamps = "newreno+timestamps+mss(512B)";
    let stacks = ["reno", "newreno", "sack", "fack-rh", "cubic", "sack+no-limited-transmit", "sack+f-rto"].map(|s| format!("{s}+mss(500B)"));
    for stack in stacks.iter().map(String::as_str).chain([timestamps]) {
        for loss in [0.0, 0.02] {
            let (bulk, backlogged) = (alone("bulk", stack, loss, 60), alone("backlogged", stack, loss, 60));
            assert_eq!(counts(&bulk), counts(&backlogged), "{stack}, loss {loss}");
            assert!(backlogged.flows[0].responses > 40 && bulk.flows[0].responses == 0);
        }
    }
}

#[test]
fn a_padded_packet_is_found_missing_by_duplicate_acks() {
    // I-X1: a packet alone is missed by the timer; I-A6: with three dummies behind it mostly by their acks.
    let stack = "sack+mss(500B)+no-nagle+ack-every+no-limited-transmit";
    let (telnet, padded) = (alone("telnet", stack, 0.05, 2000), alone("padded", stack, 0.05, 2000));
    let (_, again, timeouts, fast) = counts(&telnet);
    assert!(fast == 0 && again == u64::from(timeouts) && timeouts > 50, "{:?}", counts(&telnet));
    let (sent, _, timeouts, fast) = counts(&padded);
    assert!(sent > 3 * counts(&telnet).0 && fast > timeouts && timeouts > 0, "{:?}", counts(&padded));
    assert!(padded.flows[0].response_time < telnet.flows[0].response_time);
    assert!(padded.flows[0].responses.abs_diff(telnet.flows[0].responses) < 10, "dummies are no responses");
}
