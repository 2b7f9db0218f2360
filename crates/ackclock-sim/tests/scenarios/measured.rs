//! Counting from a moment on (M-U1), and the time-average of a queue (M-U2).

use ackclock_sim::scenario::Results;
use ackclock_units::{Duration, Instant};

use crate::{resolved, results};

const BULK: &str = r#"
duration = "60s"
trace = "episodes"
[path]
kind = "dumbbell"
rtt = "50ms"
bottleneck = { rate = "10Mbit/s", queue = { kind = "drop-tail", limit = "20packets" } }
[workload]
kind = "bulk"
flows = 2
stagger = "30s"
[stacks]
tcp = "sack"
"#;

fn run(sets: &[(&str, &str)]) -> Results {
    results(&resolved(BULK, sets), 1)
}

#[test]
fn what_came_before_is_left_out_and_nothing_else_changes() {
    let (whole, half, late) = (run(&[]), run(&[("duration", "20s")]), run(&[("measure_from", "20s")]));
    let (all, first, rest) = (&whole.flows[0], &half.flows[0], &late.flows[0]);
    assert_eq!(rest.measured_from, Some(Instant::ZERO + Duration::from_secs(20)));
    assert_eq!(rest.segments_acked, all.segments_acked - first.segments_acked);
    assert_eq!(rest.bytes_delivered, all.bytes_delivered - first.bytes_delivered);
    assert_eq!(rest.ca_events + rest.non_ca_events, all.ca_events + all.non_ca_events - first.ca_events - first.non_ca_events);
    assert_eq!(rest.rtt_samples, all.rtt_samples - first.rtt_samples);
    let bits = rest.bytes_delivered as f64 * 8.0;
    assert!((rest.goodput.unwrap().bits_per_sec() as f64 - bits / 40.0).abs() <= 1.0);
    // The smallest round trip is that of the empty queue, which only the beginning sees.
    assert!(rest.rtt_min > all.rtt_min && rest.rtt_max <= all.rtt_max);
    // One that begins later is counted whole.
    let (all, rest) = (&whole.flows[1], &late.flows[1]);
    assert_eq!((rest.measured_from, rest.segments_acked, rest.p), (Some(rest.start), all.segments_acked, all.p));

    let (all, first, rest) = (&whole.links[0], &half.links[0], &late.links[0]);
    assert_eq!(rest.observed, Duration::from_secs(40));
    assert_eq!((rest.packets, rest.dropped_queue), (all.packets - first.packets, all.dropped_queue - first.dropped_queue));
    let area = |l: &ackclock_trace::LinkRow| l.queue_mean_bytes * l.observed.as_secs_f64();
    assert!((area(rest) - (area(all) - area(first))).abs() < 1.0);
    let delay = rest.queue_mean_bytes * 8.0 / 1e7;
    assert!((rest.queue_mean_delay.unwrap().as_secs_f64() - delay).abs() < 1e-8);
    assert_eq!(rest.queue_max_packets, Some(20));
}

#[test]
fn a_flow_counts_after_its_first_loss_episode() {
    let (whole, after) = (run(&[]), run(&[("measure_after", "1")]));
    for (all, rest) in whole.flows.iter().zip(&after.flows) {
        assert!(rest.measured_from > Some(all.start), "{rest:?}");
        assert_eq!(rest.ca_events + rest.non_ca_events + 1, all.ca_events + all.non_ca_events);
        assert!(rest.segments_acked < all.segments_acked && rest.rtt_min >= all.rtt_min);
    }
    assert_eq!(whole.links, after.links, "links are counted from the beginning");
}

#[test]
fn a_moment_that_does_not_come_leaves_nothing() {
    let never = run(&[("measure_after", "1000000")]);
    for f in &never.flows {
        assert_eq!((f.measured_from, f.segments_acked, f.p, f.goodput, f.rtt_samples), (None, 0, None, None, 0));
    }
}

#[test]
fn the_mean_queue_is_an_average_over_time() {
    // A datagram of 1000 bytes every 5 ms for a second, each of which takes 10 ms to send: the k-th, from 0, waits 5 k ms.
    let text = r#"
duration = "10s"
[path]
kind = "single"
rtt = "links"
link = { rate = "800kbit/s", delay = "5ms", queue = { kind = "drop-tail", limit = "200packets" } }
[workload]
kind = "udp"
rate = "1600kbit/s"
bytes = "1000B"
stop = "1s"
[stacks]
tcp = "sack"
"#;
    let r = results(&resolved(text, &[]), 1);
    let link = &r.links[0];
    let n = link.packets as f64;
    assert!((199.0..=201.0).contains(&n) && link.dropped_queue == 0, "{link:?}");
    let mean = 0.005 * n * (n - 1.0) / 2.0 / 10.0;
    assert!((link.queue_mean_packets - mean).abs() < 1e-6, "{mean}, {link:?}");
    assert!((link.queue_mean_bytes - 1000.0 * mean).abs() < 1e-3);
    assert!((link.queue_mean_delay.unwrap().as_secs_f64() - 0.01 * mean).abs() < 1e-8);
}
