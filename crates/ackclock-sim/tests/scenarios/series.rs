//! Tables over time: they add up to the tables of the run, and change none of its numbers.

use ackclock_sim::scenario::Results;
use ackclock_trace::{FlowRow, LinkRow};
use ackclock_units::Duration;

use super::wrong_input::message as refusal;
use super::{TEN_LINES, resolved, results};

/// Flows that begin and end, without an end, and datagrams, over RED with marks, with a fault.
const VARIED: &str = r#"
duration = "10s"
drain = "5s"
[path]
kind = "dumbbell"
rtt = "40ms"
[path.bottleneck]
rate = "4Mbit/s"
queue = { kind = "red", limit = "30packets", ecn = true }
faults = [{ kind = "loss", p = "0.5%" }]
[[workload]]
kind = "bulk"
flows = 2
[[workload]]
kind = "fixed"
size = "40kB"
flows = 8
stagger = "900ms"
[[workload]]
kind = "udp"
rate = "100kbit/s"
[stacks]
a = "sack+ecn"
b = "cubic"
"#;

/// The rows without what only series add.
fn without(results: &Results) -> (Vec<FlowRow>, Vec<LinkRow>) {
    let links = results.links.iter().map(|row| LinkRow {
        sojourn_mean: None,
        sojourn_median: None,
        sojourn_p95: None,
        sojourn_p99: None,
        sojourn_max: None,
        ..row.clone()
    });
    let flows = results.flows.iter().map(|row| FlowRow {
        queue_delay_mean: None,
        queue_delay_max: None,
        ..row.clone()
    });
    (flows.collect(), links.collect())
}

#[test]
fn series_change_nothing_else() {
    for text in [VARIED, TEN_LINES] {
        let plain = results(&resolved(text, &[]), 1);
        for interval in ["100ms", "7s", "3333us"] {
            let with = results(&resolved(text, &[("series", interval)]), 2);
            assert_eq!(without(&plain), without(&with), "{interval}");
            assert!(!with.flow_series.is_empty() && !with.link_series.is_empty());
        }
        assert!(plain.flow_series.is_empty() && plain.link_series.is_empty());
    }
}

#[test]
fn rows_of_flows_add_up_to_the_table_of_flows() {
    let found = results(&resolved(VARIED, &[("series", "300ms")]), 1);
    assert!(found.flows.iter().any(|f| f.protocol == "udp") && found.flows.iter().any(|f| f.end.is_some()));
    for flow in &found.flows {
        let mine: Vec<_> =
            found.flow_series.iter().filter(|r| (&r.run, r.flow) == (&flow.run, flow.flow)).collect();
        let sum = |f: fn(&ackclock_trace::FlowSeriesRow) -> u64| mine.iter().map(|r| f(r)).sum::<u64>();
        assert_eq!(sum(|r| r.bytes_delivered), flow.bytes_delivered, "flow {}", flow.flow);
        assert_eq!(sum(|r| r.bytes_sent), flow.bytes_sent, "flow {}", flow.flow);
        assert_eq!(sum(|r| r.retransmitted_bytes), flow.retransmitted_bytes, "flow {}", flow.flow);
        assert!(sum(|r| r.bytes_arrived) >= flow.bytes_delivered, "flow {}", flow.flow);
        assert!(mine.iter().all(|r| (&r.group, r.protocol) == (&flow.group, flow.protocol)));
        // One row for each interval in which it was active.
        let first = flow.start.as_nanos().div_ceil(300_000_000).max(1) * 300_000_000;
        assert_eq!(mine[0].time.as_nanos(), first, "flow {}", flow.flow);
        assert!(mine.windows(2).all(|w| w[1].time == w[0].time + w[1].interval), "flow {}", flow.flow);
        if let Some(end) = flow.end {
            // The server may end later than the client.
            assert!(mine.last().is_some_and(|r| r.time >= end), "flow {}", flow.flow);
        }
        assert_eq!(mine.iter().any(|r| r.cwnd.is_some()), flow.protocol == "tcp");
    }
}

#[test]
fn rows_of_links_add_up_to_the_table_of_links() {
    let found = results(&resolved(VARIED, &[("series", "300ms")]), 1);
    let mut marked = 0;
    for link in &found.links {
        let mine: Vec<_> =
            found.link_series.iter().filter(|r| (&r.run, r.link) == (&link.run, link.link)).collect();
        let sum = |f: fn(&ackclock_trace::LinkSeriesRow) -> u64| mine.iter().map(|r| f(r)).sum::<u64>();
        assert_eq!(sum(|r| r.packets_offered), link.packets_offered);
        assert_eq!(sum(|r| r.packets), link.packets);
        assert_eq!(sum(|r| r.bytes), link.bytes);
        assert_eq!(Some(sum(|r| r.dropped_full)), link.dropped_full);
        assert_eq!(Some(sum(|r| r.dropped_early)), link.dropped_early);
        assert_eq!(sum(|r| r.dropped_wire), link.dropped_wire);
        assert_eq!(sum(|r| r.marked), link.marked);
        assert_eq!(
            link.dropped_full.zip(link.dropped_early).map(|(full, early)| full + early),
            Some(link.dropped_queue),
            "RED neither pushes out nor sheds"
        );
        assert_eq!(mine.iter().filter_map(|r| r.sojourn_max).max(), link.sojourn_max);
        assert!(mine.windows(2).all(|w| w[1].time == w[0].time + w[1].interval), "without gaps");
        marked += link.marked;
    }
    assert!(marked > 0);
}

/// A flow of each queue of DualPI2, and datagrams that fill what they leave.
const COUPLED: &str = r#"
duration = "20s"
warmup = "5s"
series = "1s"
[path]
kind = "dumbbell"
rtt = "20ms"
bottleneck = { rate = "20Mbit/s", queue = "dualpi2" }
[[workload]]
name = "l4s"
kind = "bulk"
stack = "prague"
[[workload]]
name = "classic"
kind = "bulk"
stack = "cubic"
[[workload]]
kind = "udp"
rate = "2Mbit/s"
[stacks]
prague = { preset = "sack+accecn", window = "prague" }
cubic = "cubic"
"#;

#[test]
fn each_flow_has_the_delay_and_the_drops_of_its_own_packets() {
    let found = results(&resolved(COUPLED, &[]), 1);
    let link = found.links.iter().find(|l| &*l.name == "bottleneck").expect("the bottleneck");
    let ms = |d: Option<Duration>| d.expect("measured").as_secs_f64() * 1e3;
    let [prague, cubic, udp] = found.flows.as_slice() else { panic!("three flows") };
    // The low-latency queue holds about a millisecond, the other one 15 ms (RFC 9332 4.1, 2.5.2).
    assert!(ms(prague.queue_delay_mean) < 2.0, "{:?}", prague.queue_delay_mean);
    assert!((8.0..25.0).contains(&ms(cubic.queue_delay_mean)), "{:?}", cubic.queue_delay_mean);
    assert!(cubic.dropped_packets > Some(0) && prague.dropped_packets < cubic.dropped_packets);
    // Together they have the delay and the drops of the link.
    let dropped: u64 = found.flows.iter().filter_map(|f| f.dropped_packets).sum();
    assert_eq!(dropped, link.dropped_queue);
    let sent = [prague, cubic, udp].map(|f| f.segments_sent as f64);
    let waited: f64 = found.flows.iter().zip(sent).map(|(f, n)| ms(f.queue_delay_mean) * n).sum();
    let mean = waited / sent.iter().sum::<f64>();
    assert!((mean / ms(link.sojourn_mean) - 1.0).abs() < 0.02, "{mean} {:?}", link.sojourn_mean);
    assert_eq!(found.flows.iter().filter_map(|f| f.queue_delay_max).max(), link.sojourn_max);
}

#[test]
fn the_delays_of_two_queues_on_a_path_add_up() {
    let text = "duration = \"10s\"\nseries = \"1s\"\n[path]\nkind = \"chain\"\nhops = 2\nrtt = \"20ms\"\nlink \
                = { rate = \"5Mbit/s\", queue = \"fq-codel\" }\n[[workload]]\nkind = \
                \"bulk\"\n[stacks]\ncubic = \"cubic\"\n";
    let found = results(&resolved(text, &[]), 1);
    let flow = &found.flows[0];
    let links = found.links.iter().filter(|l| l.data_packets > 0);
    let expected: f64 = links.map(|l| l.sojourn_mean.expect("measured").as_secs_f64()).sum();
    let mean = flow.queue_delay_mean.expect("measured").as_secs_f64();
    assert!((mean / expected - 1.0).abs() < 0.02, "{mean} {expected}");
}

#[test]
fn the_mean_sojourn_is_that_of_the_mean_queue() {
    // Little's law: mean queue in packets = packets per second times mean sojourn.
    let found = results(&resolved(VARIED, &[("series", "1s"), ("drain", "0s")]), 1);
    for link in found.links.iter().filter(|l| l.packets > 1000) {
        let rate = link.packets as f64 / link.observed.as_secs_f64();
        let mean = link.sojourn_mean.expect("measured").as_secs_f64();
        let queue = link.queue_mean_packets;
        assert!((rate * mean - queue).abs() < 0.01 * queue + 0.01, "{}: {rate} {mean} {queue}", link.name);
        let order = [link.sojourn_median, link.sojourn_p95, link.sojourn_p99, link.sojourn_max];
        assert!(order.is_sorted() && order[0].is_some(), "{order:?}");
    }
}

#[test]
fn sojourns_count_from_the_warm_up_on() {
    // A slow start fills the queue; after it a window of four segments cannot.
    let text = r#"
duration = "20s"
series = "1s"
path = { kind = "dumbbell", rtt = "100ms", bottleneck = { rate = "1Mbit/s", queue = { kind = "drop-tail", limit = "1000packets" } } }
workload = { kind = "fixed", size = "200kB", flows = 1 }
stacks = { tcp = "sack" }
"#;
    let whole = results(&resolved(text, &[]), 1);
    let late = results(&resolved(text, &[("warmup", "15s")]), 1);
    assert!(whole.links[0].sojourn_max > Some(Duration::from_millis(200)));
    assert_eq!(
        (late.links[0].sojourn_max, late.links[0].sojourn_mean),
        (None, None),
        "nothing was sent then"
    );
    assert_eq!(whole.link_series, late.link_series, "series cover the whole run");
}

#[test]
fn a_remainder_has_a_row_of_its_own() {
    let found = results(&resolved(TEN_LINES, &[("series", "2s")]), 1);
    let times: Vec<_> =
        found.link_series.iter().map(|r| (r.time.as_nanos(), r.interval.as_nanos())).collect();
    assert!(times.contains(&(4_000_000_000, 2_000_000_000)));
    assert!(times.contains(&(5_000_000_000, 1_000_000_000)));
}

#[test]
fn too_many_intervals_are_refused() {
    assert_eq!(
        refusal(TEN_LINES, &[("series", "1ns")]),
        "`series` is `1ns`, of which `duration` and `drain` have 5000000000; at most 1000000 are allowed: give a \
         longer one"
    );
    assert!(refusal(TEN_LINES, &[("series", "-1s")]).contains("series"));
    assert!(refusal(TEN_LINES, &[("series", "fast")]).contains("series"));
}
