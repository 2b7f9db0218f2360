//! What each queue promises, in whole runs over a bottleneck with round-trip times of 40 ms.

use ackclock_sim::scenario::Results;
use ackclock_trace::LinkSeriesRow;
use ackclock_units::{Duration, Instant};

use crate::{resolved, results};

/// A run of a minute, measured after 20 s, with series of 5 ms. `workloads`: group, kind with its keys, stack
/// if it has one.
fn measured(rate: &str, queue: &str, workloads: &[(&str, &str, &str)]) -> Results {
    let mut text = format!(
        "duration = \"60s\"\nmeasure_from = \"20s\"\nseries = \"5ms\"\nseed = 1\n[path]\nkind = \"dumbbell\"\nrtt = \
         \"40ms\"\nbottleneck = {{ rate = \"{rate}\", queue = {queue} }}\n"
    );
    for (name, kind, stack) in workloads {
        let key = if stack.is_empty() { String::new() } else { format!("stack = \"{name}\"\n") };
        text += &format!("[[workload]]\nname = \"{name}\"\n{key}{kind}\n");
    }
    text += "[stacks]\n";
    for (name, _, stack) in workloads.iter().filter(|(_, _, stack)| !stack.is_empty()) {
        text += &format!("{name} = {stack}\n");
    }
    results(&resolved(&text, &[]), 1)
}

/// The mean delay in the bottleneck's queue, ms.
fn delay_ms(r: &Results) -> f64 {
    r.links[0].queue_mean_delay.expect("a link with a rate").as_secs_f64() * 1e3
}

/// The median of the least queue of each interval, as a delay at 10 Mbit/s, ms: the standing queue, what
/// stays in the queue all the time (RFC 8289 section 3.1).
fn standing_ms(r: &Results, interval: u64) -> f64 {
    let rows: Vec<_> = r
        .link_series
        .iter()
        .filter(|row| row.link == 0 && row.time >= Instant::ZERO + Duration::from_secs(20))
        .collect();
    let least = |rows: &[&LinkSeriesRow]| rows.iter().map(|row| row.queue_bytes).min().unwrap_or(0);
    let mut least: Vec<u64> = rows.chunks(interval as usize / 5).map(least).collect();
    least.sort_unstable();
    least[least.len() / 2] as f64 * 8.0 / 10_000.0
}

/// Mbit/s of all flows of a group.
fn goodput(r: &Results, group: &str) -> f64 {
    let flows = r.flows.iter().filter(|f| f.group.as_ref() == group);
    flows.map(|f| f.goodput.expect("measured").bits_per_sec() as f64 / 1e6).sum()
}

/// The mean of the round-trip times that a group's flows measured, ms.
fn rtt_ms(r: &Results, group: &str) -> f64 {
    let flows: Vec<_> = r.flows.iter().filter(|f| f.group.as_ref() == group).collect();
    flows.iter().map(|f| f.rtt_mean.expect("measured").as_secs_f64() * 1e3).sum::<f64>() / flows.len() as f64
}

const SACK: &str = "\"sack\"";
/// Without delayed acks, which would be part of a thin flow's round trips.
const PROMPT: &str = "\"sack+ack-every\"";
const CUBIC: &str = "{ preset = \"sack\", window = \"cubic\" }";
const CUBIC_ECN: &str = "{ preset = \"sack+ecn\", window = \"cubic\" }";
const PRAGUE: &str = "{ preset = \"sack+accecn\", window = \"prague\" }";

#[test]
fn codel_holds_the_standing_queue_at_its_target() {
    let four = [("bulk", "kind = \"bulk\"\nflows = 4", CUBIC)];
    let tail = measured("10Mbit/s", "{ kind = \"drop-tail\", limit = \"200packets\" }", &four);
    assert!(delay_ms(&tail) > 100.0, "without it: {} ms", delay_ms(&tail));
    for (queue, target) in [("\"codel\"", 5.0), ("{ kind = \"codel\", target = \"20ms\" }", 20.0)] {
        let r = measured("10Mbit/s", queue, &four);
        let (delay, rate) = (delay_ms(&r), goodput(&r, "bulk"));
        println!("{queue}: {delay:.2} ms, {rate:.2} Mbit/s, {:.2} ms stand", standing_ms(&r, 100));
        // The target is for the queue that stands for an interval of 100 ms (RFC 8289 section 3.2), here to a
        // packet of 1.2 ms; packets should wait less than 10 ms, twice the target (section 4.3).
        let standing = standing_ms(&r, 100);
        assert!((0.1..target + 1.2).contains(&standing), "{queue}: {standing} ms stand");
        assert!(delay < 2.0 * target, "{queue}: {delay} ms");
        assert!(rate > 9.0, "{queue}: {rate} Mbit/s");
        assert!(r.links[0].dropped_shed > Some(50) && r.links[0].dropped_queue > 50);
    }
    // ECN-capable flows lose nothing.
    let marking = [("bulk", "kind = \"bulk\"\nflows = 4", CUBIC_ECN)];
    let r = measured("10Mbit/s", "{ kind = \"codel\", ecn = true }", &marking);
    assert!(standing_ms(&r, 100) < 6.2 && delay_ms(&r) < 10.0, "{} ms", delay_ms(&r));
    assert!(r.links[0].marked > 50 && goodput(&r, "bulk") > 9.0);
    assert_eq!(r.links[0].dropped_queue, 0);
}

#[test]
fn pie_holds_the_delay_at_its_target() {
    for (rate, flows) in [("10Mbit/s", 10), ("50Mbit/s", 20)] {
        let kind = format!("kind = \"bulk\"\nflows = {flows}");
        let r = measured(rate, "\"pie\"", &[("bulk", &kind, SACK)]);
        println!("{rate}: {:.2} ms, {:.2} Mbit/s", delay_ms(&r), goodput(&r, "bulk"));
        // RFC 8033 section 4.2: the target is 15 ms.
        assert!((12.0..18.0).contains(&delay_ms(&r)), "{rate}: {} ms", delay_ms(&r));
        assert!(r.links[0].utilisation > Some(0.95));
    }
}

#[test]
fn fq_codel_isolates_a_thin_flow() {
    let loads = [("bulk", "kind = \"bulk\"\nflows = 8", CUBIC), ("thin", "kind = \"telnet\"", PROMPT)];
    let thin = |queue| rtt_ms(&measured("10Mbit/s", queue, &loads), "thin");
    let tail = thin("{ kind = \"drop-tail\", limit = \"200packets\" }");
    let codel = thin("\"codel\"");
    let fair = thin("\"fq-codel\"");
    println!(
        "round trips of a thin flow: {tail:.2} ms, {codel:.2} ms with CoDel, {fair:.2} ms with FQ-CoDel"
    );
    // A packet of 1500 bytes, 1.2 ms, may be on the wire, and the way back has a packet's time too.
    assert!(fair < 43.0 && codel > fair + 2.0 && tail > 150.0, "{tail}, {codel}, {fair}");
    // A flow of many does not get more than others.
    let uneven =
        [("many", "kind = \"bulk\"\nflows = 1", CUBIC), ("one", "kind = \"udp\"\nrate = \"20Mbit/s\"", "")];
    let r = measured("10Mbit/s", "\"fq-codel\"", &uneven);
    assert!((4.2..5.2).contains(&goodput(&r, "many")), "beside a flood: {} Mbit/s", goodput(&r, "many"));
}

#[test]
fn prague_beside_cubic_has_a_millisecond_of_queue_and_a_fair_share() {
    let loads = [("prague", "kind = \"bulk\"", PRAGUE), ("cubic", "kind = \"bulk\"", CUBIC)];
    let r = measured("40Mbit/s", "\"dualpi2\"", &loads);
    let (prague, cubic) = (goodput(&r, "prague"), goodput(&r, "cubic"));
    let (own, other) = (rtt_ms(&r, "prague"), rtt_ms(&r, "cubic"));
    println!("Prague {prague:.2} Mbit/s, {own:.2} ms; CUBIC {cubic:.2} Mbit/s, {other:.2} ms");
    assert!((40.0..42.5).contains(&own), "Prague's round trips: {own} ms");
    assert!((45.0..65.0).contains(&other), "CUBIC's round trips: {other} ms");
    // Windows are equal for equal round-trip times (RFC 9332 section 2.1 with k = 2); Prague's is shorter.
    assert!((0.5..2.0).contains(&(prague / cubic)) && prague + cubic > 36.0, "{prague}, {cubic}");
    assert!(
        r.links[0].marked > 1000
            && r.links[0].dropped_early.zip(r.links[0].dropped_shed).map(|(a, b)| a + b) > Some(5)
    );
    // DCTCP's feedback has ECT(0): it is classic traffic here. Prague alone fills the link.
    let r = measured("40Mbit/s", "\"dualpi2\"", &loads[..1]);
    assert!(goodput(&r, "prague") > 36.0 && delay_ms(&r) < 1.5, "{} ms", delay_ms(&r));
    assert_eq!(r.links[0].dropped_queue, 0);
}

#[test]
fn fair_queues_share_bytes_whatever_the_packets() {
    let loads = [
        ("large", "kind = \"bulk\"", "{ preset = \"sack\", mss = \"1460B\" }"),
        ("small", "kind = \"bulk\"", "{ preset = \"sack\", mss = \"500B\" }"),
    ];
    for queue in ["{ kind = \"drr\", limit = \"100000B\" }", "\"sfq\"", "\"fq-codel\"", "\"fq\""] {
        let r = measured("10Mbit/s", queue, &loads);
        let (large, small) = (goodput(&r, "large"), goodput(&r, "small"));
        println!("{queue}: {large:.2} and {small:.2} Mbit/s");
        // Shares are of bytes with headers: payloads are 1460 of 1500 and 500 of 540.
        let wire = (large * 1500.0 / 1460.0) / (small * 540.0 / 500.0);
        assert!((0.93..1.07).contains(&wire), "{queue}: {wire}");
    }
}

#[test]
fn fq_paces_flows_to_a_greatest_rate() {
    let two = [("bulk", "kind = \"bulk\"\nflows = 2", CUBIC)];
    let r = measured("10Mbit/s", "{ kind = \"fq\", max_rate = \"2Mbit/s\" }", &two);
    let used = r.links[0].utilisation.expect("a rate");
    println!("two flows of 2 Mbit/s use {used} of 10 Mbit/s");
    assert!((0.395..=0.401).contains(&used), "{used}");
}

#[test]
fn small_packets_go_first() {
    let loads = [("bulk", "kind = \"bulk\"\nflows = 8", CUBIC), ("thin", "kind = \"telnet\"", PROMPT)];
    let r = measured("10Mbit/s", "{ kind = \"priority\", small = \"600B\", limit = \"200packets\" }", &loads);
    assert!(rtt_ms(&r, "thin") < 43.0, "{} ms", rtt_ms(&r, "thin"));
    assert!(goodput(&r, "bulk") > 9.0);
}

#[test]
fn drops_from_the_head_keep_the_link_busy_too() {
    let two = [("bulk", "kind = \"bulk\"\nflows = 2", SACK)];
    let queue = "{ kind = \"drop-tail\", limit = \"100packets\", drop = \"head\" }";
    let head = measured("10Mbit/s", queue, &two);
    assert!(head.links[0].dropped_queue > 0 && head.links[0].dropped_early == Some(0));
    assert!(head.links[0].queue_max_packets == Some(100) && goodput(&head, "bulk") > 9.3);
}
