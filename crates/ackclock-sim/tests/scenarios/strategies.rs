//! The strategies of interactive flows (I-A1 to I-A8), in whole runs.

use ackclock_sim::scenario::Results;

use crate::{resolved, results};

/// One flow of the given kind over a bottleneck with random loss, or with overflow of its buffer only.
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
    // F-RTO needs unsent data (RFC 5682 §2.1 step 2). A flow whose dummies never wait has none and
    // retransmits instead.
    let (bulk, backlogged) =
        ["bulk", "backlogged"].map(|kind| counts(&alone(kind, "sack+f-rto+mss(500B)", 0.02, 60))).into();
    assert!(bulk.0.abs_diff(backlogged.0) < bulk.0 / 20, "{bulk:?} and {backlogged:?}");
}

#[test]
fn loss_of_a_padded_packet_is_detected_by_duplicate_acks() {
    // I-X1: the loss of a single packet is detected by the timer; I-A6: with three dummies behind it, mostly
    // by their acks.
    let stack = "sack+mss(500B)+no-nagle+ack-every+no-limited-transmit";
    let (telnet, padded) = (alone("telnet", stack, 0.05, 2000), alone("padded", stack, 0.05, 2000));
    let (_, retransmitted, timeouts, fast) = counts(&telnet);
    // A timeout retransmits more than one packet if more were typed meanwhile, and three typed meanwhile
    // cause three duplicate acks.
    assert!(
        fast <= 1
            && retransmitted >= u64::from(timeouts)
            && retransmitted < u64::from(timeouts) + 10
            && timeouts > 50,
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
    // I-A7: with 5 % random loss, one packet in four hundred loses both copies and times out.
    let stack = "sack+mss(500B)+ack-every+diversity(2)+iw(4)";
    let (telnet, diverse) =
        (alone("telnet", "sack+mss(500B)+ack-every+iw(4)", 0.05, 4000), alone("telnet", stack, 0.05, 4000));
    let (sent, retransmitted, timeouts, fast) = counts(&diverse);
    let packets = u64::from(diverse.flows[0].responses) + 1;
    // A packet typed within a round trip of the one before waits for its ack (Nagle), and may share a
    // segment.
    assert!(
        sent > 2 * packets - packets / 10 && sent <= 2 * packets + retransmitted,
        "{sent} segments for {packets} packets"
    );
    assert!(fast < 3 && retransmitted <= u64::from(timeouts) + 3 && timeouts > 3, "{:?}", counts(&diverse));
    assert!(timeouts * 5 < counts(&telnet).2, "{:?} and {:?}", counts(&diverse), counts(&telnet));
    let f = &diverse.flows[0];
    // Acks are not lost here, so by the ground truth no retransmission and no timeout is spurious.
    assert_eq!((f.unneeded_retransmissions, f.spurious_timeouts), (0, 0));
    assert!(f.window_cuts > timeouts && f.bytes_delivered <= f.bytes_acked + 500, "{f:?}");
    assert!(f.response_time < telnet.flows[0].response_time);
    // Every byte that arrived is counted once on the link, whichever copy carried it.
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
    // I-A8, I-E15: each of the four segments is as likely to be lost as a whole packet here, so there are
    // more timeouts, but some losses are repaired without one.
    let stack = "sack+mss(500B)+ack-every+iw(4)+no-limited-transmit";
    let (telnet, smart) =
        (alone("telnet", stack, 0.05, 2000), alone("telnet", &format!("{stack}+smart-framing"), 0.05, 2000));
    let ((_, _, plain, few), (sent, _, timeouts, fast)) = (counts(&telnet), counts(&smart));
    assert!(few <= 1 && fast > 20 && timeouts > plain, "{:?} and {:?}", counts(&telnet), counts(&smart));
    assert!(sent > 3 * counts(&telnet).0);
}

#[test]
fn all_strategies_repeat_and_conserve() {
    // Each run checks conservation: packets sent were delivered, dropped or are in flight, and every byte
    // arrives once and in order.
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
