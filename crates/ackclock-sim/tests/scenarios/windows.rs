//! What each window promises, in whole runs: one flow over 10 Mbit/s and 40 ms, and a flow of it beside one of
//! Reno's.

use crate::{resolved, results};

/// Beyond slow start, a minute of it.
const MEASURED: &str = "duration = \"100s\"\nmeasure_from = \"40s\"\nseed = 1\n";

/// A queue of that many packets; the path holds 33 of 1500 bytes.
fn drop_tail(packets: u32) -> String {
    format!("{{ kind = \"drop-tail\", limit = \"{packets}packets\" }}")
}

/// A queue that marks every packet which finds so many waiting, and has room for 200.
fn marks_at(packets: u32) -> String {
    let most = packets + 1;
    format!(
        "{{ kind = \"red\", ecn = true, limit = \"200packets\", min_th = \"{packets}packets\", max_th = \
         \"{most}packets\", max_p = 0.999, w_q = 1.0, wait = false }}"
    )
}

fn scenario(queue: &str, stacks: &[&str]) -> String {
    let mut text = format!(
        "{MEASURED}[path]\nkind = \"dumbbell\"\nrtt = \"40ms\"\nbottleneck = {{ rate = \"10Mbit/s\", queue = \
         {queue} }}\n"
    );
    let names = ["first", "second"];
    for name in &names[..stacks.len()] {
        text += &format!("[[workload]]\nkind = \"bulk\"\nname = \"{name}\"\nstack = \"{name}\"\n");
    }
    text += "[stacks]\n";
    for (name, stack) in names.iter().zip(stacks) {
        text += &format!("{name} = {stack}\n");
    }
    text
}

/// The goodput of each flow, Mbit/s, and the mean queue in packets.
fn measured(queue: &str, stacks: &[&str]) -> (Vec<f64>, f64) {
    let r = results(&resolved(&scenario(queue, stacks), &[]), 1);
    let rates = r.flows.iter().map(|f| f.goodput.expect("measured").bits_per_sec() as f64 / 1e6).collect();
    let queue = r.links[0].queue_mean_bytes / 1500.0;
    println!("{stacks:?} {queue:.1} packets {rates:.2?}");
    (rates, queue)
}

/// A stack with that window.
fn stack(preset: &str, window: &str) -> String {
    format!("{{ preset = \"{preset}\", window = \"{window}\" }}")
}

#[test]
fn vegas_keeps_two_to_four_segments_in_the_queue() {
    let vegas = stack("sack", "vegas");
    for packets in [200, 8] {
        let (rates, queue) = measured(&drop_tail(packets), &[&vegas]);
        assert!(rates[0] > 9.6 && (1.5..4.5).contains(&queue), "{rates:?} {queue}");
    }
}

#[test]
fn dctcp_and_prague_keep_the_queue_at_the_threshold_and_share_it() {
    for (window, preset) in
        [("dctcp", "sack+dctcp-feedback"), ("dctcp", "sack+accecn"), ("prague", "sack+accecn")]
    {
        let s = stack(preset, window);
        for k in [10, 20] {
            // Alizadeh et al. 2010, eq. 8 to 10: the queue is between K + 1 and less than that by
            // sqrt(2 (33 + K)) / 2, which is 4.6 and 5.1.
            let (rates, queue) = measured(&marks_at(k), &[&s]);
            let k = f64::from(k);
            assert!(rates[0] > 9.6 && (k - 4.0..k + 1.0).contains(&queue), "{window} {k}: {rates:?} {queue}");
            let (rates, _) = measured(&marks_at(k as u32), &[&s, &s]);
            assert!((rates[0] / rates[1] - 1.0).abs() < 0.25, "{window} {k}: {rates:?}");
        }
    }
}

#[test]
fn ledbat_keeps_its_target_and_yields_to_reno() {
    // 60 ms are 50 packets, less what slowdowns take.
    let ledbat = stack("sack", "ledbat-pp");
    let (rates, queue) = measured(&drop_tail(200), &[&ledbat]);
    assert!(rates[0] > 9.0 && (38.0..51.0).contains(&queue), "{rates:?} {queue}");
    let (rates, _) = measured(&drop_tail(200), &[&ledbat, "\"sack\""]);
    assert!(rates[0] < 0.05 * rates[1] && rates[1] > 9.0, "{rates:?}");
}

#[test]
fn copa_keeps_a_short_queue_in_its_default_mode_and_competes_with_reno() {
    // 1 / delta is two packets. Delayed acks would look like a packet more.
    let alone = "{ preset = \"sack+ack-every\", window = { kind = \"copa\", switches = false } }";
    let (rates, queue) = measured(&drop_tail(200), &[alone]);
    assert!(rates[0] > 9.0 && (1.0..6.0).contains(&queue), "{rates:?} {queue}");
    let copa = stack("sack+ack-every", "copa");
    let (rates, _) = measured(&drop_tail(200), &[&copa, "\"sack+ack-every\""]);
    assert!(rates[0] > 0.2 * rates[1], "{rates:?}");
}

#[test]
fn slow_starts_that_look_at_delays_or_are_limited_lose_less() {
    let lost = |slow_start: &str| {
        let sets = [("duration", "10s"), ("measure_from", "0s")];
        let text = scenario(&drop_tail(200), &[&format!("\"sack{slow_start}\"")]);
        results(&resolved(&text, &sets), 1).flows[0].retransmitted_segments
    };
    let (classic, hystart) = (lost(""), lost("+hystart-pp"));
    assert!(classic > 100 && hystart < classic / 3, "{classic} and {hystart}");
    let limited = lost("+limited-slow-start");
    assert!(limited < classic, "{classic} and {limited}");
}
