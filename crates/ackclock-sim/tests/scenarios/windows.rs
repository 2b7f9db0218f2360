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

/// With and without delayed acks.
const COPA_BESIDE: [&str; 2] = ["sack+ack-every", "sack"];

#[test]
fn copa_alone_stays_in_its_default_mode_in_buffers_of_any_depth() {
    for preset in COPA_BESIDE {
        let copa = stack(preset, "copa");
        for packets in [20, 50, 200, 1000] {
            // Arun and Balakrishnan 2018: 1.25 / delta = 2.5 packets.
            let (rates, queue) = measured(&drop_tail(packets), &[&copa]);
            assert!(rates[0] > 9.6 && (2.0..3.5).contains(&queue), "{preset} {packets}: {rates:?} {queue}");
        }
    }
}

#[test]
fn copa_alone_stays_in_its_default_mode_on_other_paths() {
    for preset in COPA_BESIDE {
        let copa = stack(preset, "copa");
        // From 5 packets on the path to 167.
        for (mbit, rtt) in [(3, 20), (3, 100), (5, 60), (8, 20), (12, 100), (15, 20), (20, 100), (50, 30)] {
            let text = scenario(&drop_tail(1000), &[&copa])
                .replace("10Mbit/s", &format!("{mbit}Mbit/s"))
                .replace("40ms", &format!("{rtt}ms"));
            let r = results(&resolved(&text, &[]), 1);
            let rate = r.flows[0].goodput.expect("measured").bits_per_sec() as f64 / 1e6;
            let queue = r.links[0].queue_mean_bytes / 1500.0;
            assert!(
                rate > 0.96 * f64::from(mbit) && (1.8..3.6).contains(&queue),
                "{preset} {mbit} Mbit/s {rtt} ms: {rate} {queue}"
            );
        }
    }
}

#[test]
fn copa_fills_a_link_after_a_repair_by_proportional_rate_reduction() {
    // Slow start overflows a buffer of half a bandwidth-delay product; the window then falls to a fraction of
    // the path and comes back, and further repairs are not to be held to what it was in between.
    for preset in ["rack+prr", "sack+prr", "sack"] {
        let copa =
            format!("{{ preset = \"{preset}\", window = \"copa\", snd_buf = \"8MiB\", rcv_buf = \"8MiB\" }}");
        let text = scenario(&drop_tail(208), &[&copa]);
        let path = [("path.bottleneck.rate", "50Mbit/s"), ("path.rtt", "100ms")];
        let set = [path[0], path[1], ("measure_from", "5s"), ("duration", "40s")];
        let r = results(&resolved(&text, &set), 1);
        let rate = r.flows[0].goodput.expect("measured").bits_per_sec() as f64 / 1e6;
        println!("{preset}: {rate:.2} Mbit/s, {} dropped", r.links[0].dropped_queue);
        assert!(rate > 40.0, "{preset}: {rate} Mbit/s");
    }
}

#[test]
fn two_flows_of_copa_share_and_stay_in_their_default_mode() {
    for preset in COPA_BESIDE {
        let copa = stack(preset, "copa");
        for packets in [20, 50, 200, 1000] {
            // Twice what one flow keeps.
            let (rates, queue) = measured(&drop_tail(packets), &[&copa, &copa]);
            assert!((rates[0] / rates[1] - 1.0).abs() < 0.1, "{preset} {packets}: {rates:?}");
            assert!(rates[0] + rates[1] > 9.6 && (4.0..6.0).contains(&queue), "{preset} {packets}: {queue}");
        }
    }
}

#[test]
fn copa_competes_with_reno_and_shares() {
    for preset in COPA_BESIDE {
        let (copa, reno) = (stack(preset, "copa"), format!("\"{preset}\""));
        for packets in [20, 50, 200] {
            // Many losses of Reno's, which are half a minute from one another in the deepest buffer.
            let text = scenario(&drop_tail(packets), &[&copa, &reno]);
            let r = results(&resolved(&text, &[("duration", "640s")]), 1);
            let rate = |i: usize| r.flows[i].goodput.expect("measured").bits_per_sec() as f64 / 1e6;
            println!("{preset} {packets}: copa {:.2} reno {:.2}", rate(0), rate(1));
            assert!((0.6..1.6).contains(&(rate(0) / rate(1))), "{preset} {packets}: {} {}", rate(0), rate(1));
        }
        // Without its competitive mode it yields.
        let yields = format!("{{ preset = \"{preset}\", window = {{ kind = \"copa\", switches = false }} }}");
        let (rates, _) = measured(&drop_tail(200), &[&yields, &reno]);
        assert!(rates[0] < 0.1 * rates[1], "{preset}: {rates:?}");
    }
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
