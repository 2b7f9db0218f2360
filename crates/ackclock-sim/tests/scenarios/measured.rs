//! Counting from a given time on (M-U1), and the time average of a queue (M-U2).

use ackclock_sim::scenario::{Results, Summary};
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
fn counters_leave_out_what_came_before_and_nothing_else() {
    let (whole, half, late) = (run(&[]), run(&[("duration", "20s")]), run(&[("measure_from", "20s")]));
    let (all, first, rest) = (&whole.flows[0], &half.flows[0], &late.flows[0]);
    assert_eq!(rest.measured_from, Some(Instant::ZERO + Duration::from_secs(20)));
    assert_eq!(rest.segments_acked, all.segments_acked - first.segments_acked);
    assert_eq!(rest.bytes_delivered, all.bytes_delivered - first.bytes_delivered);
    assert_eq!(
        rest.ca_events + rest.non_ca_events,
        all.ca_events + all.non_ca_events - first.ca_events - first.non_ca_events
    );
    assert_eq!(rest.rtt_samples, all.rtt_samples - first.rtt_samples);
    let bits = rest.bytes_delivered as f64 * 8.0;
    assert!((rest.goodput.unwrap().bits_per_sec() as f64 - bits / 40.0).abs() <= 1.0);
    // The queue is empty only at the beginning, so the smallest round-trip time is left out.
    assert!(rest.rtt_min > all.rtt_min && rest.rtt_max <= all.rtt_max);
    // A flow that starts later is counted from its start.
    let (all, rest) = (&whole.flows[1], &late.flows[1]);
    assert_eq!(
        (rest.measured_from, rest.segments_acked, rest.p),
        (Some(rest.start), all.segments_acked, all.p)
    );

    let (all, first, rest) = (&whole.links[0], &half.links[0], &late.links[0]);
    assert_eq!(rest.observed, Duration::from_secs(40));
    assert_eq!(
        (rest.packets, rest.dropped_queue),
        (all.packets - first.packets, all.dropped_queue - first.dropped_queue)
    );
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
fn a_flow_without_enough_episodes_counts_nothing() {
    let never = run(&[("measure_after", "1000000")]);
    for f in &never.flows {
        assert_eq!(
            (f.measured_from, f.segments_acked, f.p, f.goodput, f.rtt_samples),
            (None, 0, None, None, 0)
        );
    }
}

#[test]
fn the_mean_queue_is_an_average_over_time() {
    // A datagram of 1000 bytes every 5 ms for a second, each of which takes 10 ms to send: the k-th, from 0,
    // waits 5 k ms.
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

/// Endless and short transfers, single packets and datagrams, so that no number of a summary is zero. The
/// network is so full that timers expire. The short transfers have no request, since while only the request
/// has been sent, the client would count as the sender.
const MIXED: &str = r#"
duration = "60s"
[path]
kind = "dumbbell"
rtt = "50ms"
bottleneck = { rate = "1Mbit/s", queue = { kind = "drop-tail", limit = "10packets" } }
[[workload]]
kind = "bulk"
flows = 5
[[workload]]
kind = "telnet"
flows = 2
think = "200ms"
[[workload]]
kind = "fixed"
flows = 290
size = "5kB"
stagger = "200ms"
[[workload]]
kind = "udp"
rate = "50kbit/s"
[stacks]
tcp = "sack"
"#;

fn summaries(text: &str, sets: &[(&str, &str)]) -> (Vec<Summary>, Results) {
    let scenario = resolved(text, sets);
    let found = results(&scenario, 1);
    (found.summaries(&scenario), found)
}

#[test]
fn every_number_of_a_summary_covers_the_same_window() {
    let (whole, w) = summaries(MIXED, &[]);
    let (first, _) = summaries(MIXED, &[("duration", "20s")]);
    for key in ["warmup", "measure_from"] {
        let (late, r) = summaries(MIXED, &[(key, "20s")]);
        let (all, first, rest) = (&whole[0], &first[0], &late[0]);
        // The counters before and after the start of the window add up to those of the whole run.
        let counters = |s: &Summary| {
            let by_round = s.timeouts_by_round.iter().sum::<u64>();
            [
                s.timeouts,
                by_round,
                s.spurious_timeouts,
                s.retransmitted_segments,
                s.unneeded_retransmissions,
                s.data_segments_sent,
            ]
        };
        let sum: Vec<u64> = counters(first).iter().zip(counters(rest)).map(|(a, b)| a + b).collect();
        assert_eq!(sum, counters(all), "{key}: {first:?}\n{rest:?}");
        assert!(rest.timeouts > 0 && first.timeouts > 0, "{key}: {rest:?}");
        // The link's numbers are those of its row.
        let link = &r.links[0];
        assert_eq!(link.observed, Duration::from_secs(40), "{key}");
        assert_eq!(rest.loss, Some(link.dropped_queue as f64 / link.packets_offered as f64), "{key}");
        let goodput = rest.goodput.unwrap().bits_per_sec() as f64;
        assert!(
            (goodput - link.unique_bytes.unwrap() as f64 * 8.0 / 40.0).abs() <= 1.0,
            "{key}: {goodput}, {link:?}"
        );
        assert!((rest.utilisation.unwrap() - link.utilisation.unwrap()).abs() < 1e-9, "{key}");
        let offered = |r: &Results| r.links[0].packets_offered;
        assert!(offered(&r) < offered(&w), "{key}");
        // Flows, times and sizes are those of flows that started in the window, and of endless flows.
        let began = |f: &&ackclock_trace::FlowRow| {
            f.protocol == "tcp" && (f.size.is_none() || f.start >= Instant::ZERO + Duration::from_secs(20))
        };
        assert_eq!(rest.flows_started, r.flows.iter().filter(began).count() as u64, "{key}");
        assert!(rest.flows_started < all.flows_started, "{key}");
        let telnet = |r: &Results| -> u32 {
            r.flows.iter().filter(|f| &*f.group == "telnet").map(|f| f.responses).sum()
        };
        assert!(
            (telnet(&r) as f64) < 0.8 * telnet(&w) as f64,
            "{key}: responses before the window do not count"
        );
        // Datagrams count from the start of the window too.
        let udp = |r: &Results| r.flows.iter().find(|f| f.protocol == "udp").unwrap().bytes_sent as f64 * 8.0;
        assert!((udp(&r) / 40.0 - udp(&w) / 60.0).abs() < 2000.0, "{key}: {}", udp(&r) / 40.0);
    }
}

#[test]
fn warmup_and_measure_from_are_the_same() {
    let (a, b, both) = (
        summaries(MIXED, &[("warmup", "20s")]),
        summaries(MIXED, &[("measure_from", "20s")]),
        summaries(MIXED, &[("warmup", "5s"), ("measure_from", "20s")]),
    );
    assert!(a.0 == b.0 && a.1.flows == b.1.flows && a.1.links == b.1.links);
    assert!(
        a.0 == both.0 && a.1.flows == both.1.flows && a.1.links == both.1.links,
        "the later of the two counts"
    );
}

#[test]
fn windows_of_single_flows_leave_the_numbers_of_links_missing() {
    let (after, _) = summaries(BULK, &[("measure_after", "1")]);
    assert_eq!(
        (after[0].loss, after[0].goodput, after[0].utilisation, after[0].load),
        (None, None, None, None)
    );
}

#[test]
fn in_a_mix_goodput_is_that_of_the_window() {
    let two = BULK
        .replace("[stacks]", "[stacks]\nother = \"newreno\"")
        .replace("trace =", "mix = { tcp = 0.5, other = 0.5 }\ntrace =");
    let (late, r) = summaries(&two, &[("warmup", "20s")]);
    for s in &late {
        let bytes: u64 = r.flows.iter().filter(|f| *f.stack == *s.stack).map(|f| f.bytes_delivered).sum();
        assert!((s.goodput.unwrap().bits_per_sec() as f64 - bytes as f64 * 8.0 / 40.0).abs() <= 1.0, "{s:?}");
    }
}
