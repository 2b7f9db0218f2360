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
    // I-A2: its loss recovery and the growth of its window are those of a bulk flow, to the last segment.
    // Timestamps take 12 bytes of each.
    let timestamps = "newreno+timestamps+mss(512B)";
    let stacks = ["reno", "newreno", "sack", "fack-rh", "cubic", "sack+no-limited-transmit"]
        .map(|s| format!("{s}+mss(500B)"));
    for stack in stacks.iter().map(String::as_str).chain([timestamps]) {
        for loss in [0.0, 0.02] {
            let (bulk, backlogged) = (alone("bulk", stack, loss, 60), alone("backlogged", stack, loss, 60));
            assert_eq!(counts(&bulk), counts(&backlogged), "{stack}, loss {loss}");
            assert!(backlogged.flows[0].responses > 40 && bulk.flows[0].responses == 0);
        }
    }
    // F-RTO asks for new data that waits (RFC 5682 §2.1 step 2), of which a flow has none whose dummies never
    // wait: it resends instead.
    let (bulk, backlogged) =
        ["bulk", "backlogged"].map(|kind| counts(&alone(kind, "sack+f-rto+mss(500B)", 0.02, 60))).into();
    assert!(bulk.0.abs_diff(backlogged.0) < bulk.0 / 20, "{bulk:?} and {backlogged:?}");
}

#[test]
fn a_padded_packet_is_found_missing_by_duplicate_acks() {
    // I-X1: a packet alone is missed by the timer; I-A6: with three dummies behind it mostly by their acks.
    let stack = "sack+mss(500B)+no-nagle+ack-every+no-limited-transmit";
    let (telnet, padded) = (alone("telnet", stack, 0.05, 2000), alone("padded", stack, 0.05, 2000));
    let (_, again, timeouts, fast) = counts(&telnet);
    // A timeout resends more than one where another was typed meanwhile, and three typed meanwhile make three
    // duplicate acks.
    assert!(
        fast <= 1 && again >= u64::from(timeouts) && again < u64::from(timeouts) + 10 && timeouts > 50,
        "{:?}",
        counts(&telnet)
    );
    let (sent, _, timeouts, fast) = counts(&padded);
    assert!(sent > 3 * counts(&telnet).0 && fast > timeouts && timeouts > 0, "{:?}", counts(&padded));
    assert!(padded.flows[0].response_time < telnet.flows[0].response_time);
    assert!(padded.flows[0].responses.abs_diff(telnet.flows[0].responses) < 200, "dummies are no responses");
}

#[test]
fn copies_are_no_retransmissions() {
    // I-A7: of packets lost at random a twentieth, one in four hundred loses both copies and times out.
    let stack = "sack+mss(500B)+ack-every+diversity(2)+iw(4)";
    let (telnet, diverse) =
        (alone("telnet", "sack+mss(500B)+ack-every+iw(4)", 0.05, 4000), alone("telnet", stack, 0.05, 4000));
    let (sent, again, timeouts, fast) = counts(&diverse);
    let packets = u64::from(diverse.flows[0].responses) + 1;
    // What is typed within a round trip of the packet before waits for its ack (Nagle), and may share a
    // segment.
    assert!(
        sent > 2 * packets - packets / 10 && sent <= 2 * packets + again,
        "{sent} segments for {packets} packets"
    );
    assert!(fast < 3 && again <= u64::from(timeouts) + 3 && timeouts > 3, "{:?}", counts(&diverse));
    assert!(timeouts * 5 < counts(&telnet).2, "{:?} and {:?}", counts(&diverse), counts(&telnet));
    let f = &diverse.flows[0];
    // The world's own judgment: whoever resent something had lost all of it, and no timeout was spurious.
    // Acks are not lost here.
    assert_eq!((f.unneeded_retransmissions, f.spurious_timeouts), (0, 0));
    assert!(f.window_cuts > timeouts && f.bytes_delivered <= f.bytes_acked + 500, "{f:?}");
    assert!(f.response_time < telnet.flows[0].response_time);
    // Every byte that arrived is counted once as it passed the link, by whichever of its copies.
    let link = &diverse.links[0];
    assert!(
        link.unique_bytes.expect("counted") >= f.bytes_delivered,
        "{:?} of {}",
        link.unique_bytes,
        f.bytes_delivered
    );
    assert!(link.unique_bytes.expect("counted") <= f.bytes_delivered + 500 + f.retransmitted_bytes);
}

#[test]
fn small_segments_make_losses_repairable_without_a_timeout() {
    // I-A8, I-E15: each of the four is lost as easily as a whole packet here, so that more time out than
    // before, but some do not.
    let stack = "sack+mss(500B)+ack-every+iw(4)+no-limited-transmit";
    let (telnet, smart) =
        (alone("telnet", stack, 0.05, 2000), alone("telnet", &format!("{stack}+smart-framing"), 0.05, 2000));
    let ((_, _, plain, few), (sent, _, timeouts, fast)) = (counts(&telnet), counts(&smart));
    assert!(few <= 1 && fast > 20 && timeouts > plain, "{:?} and {:?}", counts(&telnet), counts(&smart));
    assert!(sent > 3 * counts(&telnet).0);
}

#[test]
fn all_strategies_repeat_and_conserve() {
    // Conservation is asserted by each run: what was sent was delivered, dropped or is under way, and every
    // byte arrives once and in order.
    for kind in ["telnet", "padded", "backlogged"] {
        for stack in [
            "sack+diversity(2)",
            "newreno+diversity(3)+ack-every",
            "sack+smart-framing+no-nagle",
            "cubic+no-sack+thin-min-rto(300ms)",
        ] {
            let runs = [0, 1].map(|_| alone(kind, &format!("{stack}+mss(500B)"), 0.1, 100));
            assert_eq!(runs[0].flows, runs[1].flows, "{kind}, {stack}");
            assert!(runs[0].flows[0].responses > 20, "{kind}, {stack}: {:?}", counts(&runs[0]));
        }
    }
}
