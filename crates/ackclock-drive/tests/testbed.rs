//! Scenarios on the kernel's TCP: what is refused, and what comes out beside the simulation of the same.
#![cfg(target_os = "linux")]

mod common;

use std::ops::ControlFlow;

use ackclock_drive::{DriveError, TestbedOptions, TestbedRun, check_testbed, run_testbed};
use ackclock_policy::Registry;
use ackclock_sim::scenario::{Files, Resolved, Scenario, run};
use ackclock_trace::Outcome;
use common::{allowed, in_real_time};

fn resolved(text: &str) -> Resolved {
    let scenario = Scenario::parse(text).and_then(|s| s.resolve_with(&Registry::builtin(), &Files::none()));
    scenario.unwrap_or_else(|e| panic!("{e}"))
}

fn on_kernel(scenario: &Resolved) -> Result<TestbedRun, DriveError> {
    let job = scenario.jobs()[0];
    run_testbed(scenario, job, &TestbedOptions::default(), &mut |_| ControlFlow::Continue(()))
}

/// A scenario with these keys at its top, this link, workload and stack.
fn scenario(top: &str, link: &str, workload: &str, stack: &str) -> String {
    format!("{top}\n[path]\nkind = \"single\"\nlink = {{ {link} }}\n{workload}\n[stacks]\nx = {stack}\n")
}

const LINK: &str =
    "rate = \"20Mbit/s\", delay = \"10ms\", queue = { kind = \"drop-tail\", limit = \"1bdp\" }";
const BULK: &str = "[workload]\nkind = \"bulk\"";
const LINUX: &str = "\"linux\"";

#[test]
fn what_a_kernel_cannot_honour_is_refused_with_its_key() {
    let cases = [
        (scenario("duration = \"1s\"", LINK, BULK, "\"sack\""), "`stacks.x`"),
        (scenario("duration = \"1s\"", LINK, BULK, "{ preset = \"linux\", mss = \"500B\" }"), "`stacks.x`"),
        (scenario("duration = \"1s\"\ntrace = \"all\"", LINK, BULK, LINUX), "`trace`"),
        (scenario("duration = \"1s\"\nmeasure_after = 1", LINK, BULK, LINUX), "`measure_after`"),
        (scenario("duration = \"20h\"\ndrain = \"5h\"", LINK, BULK, LINUX), "`duration`"),
        (
            scenario("duration = \"1s\"", LINK, BULK, "{ kernel = { options = { TCP_BOGUS = 1 } } }"),
            "`TCP_BOGUS`",
        ),
        (
            scenario("duration = \"1s\"", LINK, "[workload]\nkind = \"udp-rate\"", LINUX),
            "paced by the receiver's reports",
        ),
    ];
    for (text, key) in cases {
        let sentence = check_testbed(&resolved(&text)).unwrap_err().to_string();
        assert!(sentence.contains(key) && !sentence.contains('\n'), "{sentence}");
    }
    for stack in [LINUX, "\"linux-reno\"", "\"linux-bbr\"", "{ kernel = { cc = \"cubic\" } }"] {
        check_testbed(&resolved(&scenario("duration = \"1s\"", LINK, BULK, stack))).unwrap();
    }
}

#[test]
fn a_congestion_control_that_the_kernel_lacks_is_named() {
    if !allowed() {
        return;
    }
    let stack = "{ preset = \"linux\", kernel = { cc = \"nosuch\" } }";
    let error = on_kernel(&resolved(&scenario("duration = \"1s\"", LINK, BULK, stack))).unwrap_err();
    assert!(matches!(&error, DriveError::Missing(_)), "{error}");
    let sentence = error.to_string();
    assert!(sentence.contains("`stacks.x.kernel.cc` is `nosuch`") && sentence.contains("reno"), "{sentence}");
}

#[test]
fn a_bulk_transfer_has_the_simulations_goodput_and_the_links_conserve_packets() {
    if !allowed() {
        return;
    }
    let text = scenario("duration = \"3s\"\nmeasure_from = \"1s\"\nseries = \"100ms\"", LINK, BULK, LINUX);
    let scenario = resolved(&text);
    let simulated = run(&scenario, |_| ControlFlow::Continue(()), 1).unwrap().unwrap();
    let expected = simulated.flows[0].goodput.unwrap().bits_per_sec() as f64;
    in_real_time(|| {
        let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
        let flow = &found.outcome.flows[0];
        let goodput = flow.goodput.unwrap().bits_per_sec() as f64;
        if (goodput / expected - 1.0).abs() > 0.03 {
            return Err(format!("goodput {goodput}, simulated {expected}"));
        }
        assert_eq!((flow.outcome, flow.size, flow.reason), (Outcome::Unfinished, None, None));
        assert_eq!((&*flow.client, &*flow.server, &*flow.stack), ("sender", "receiver", "x"));
        assert_eq!(flow.measured_from.unwrap().as_secs_f64(), 1.0);
        // Two seconds of a window that counts, not three.
        assert!((flow.bytes_delivered as f64 * 8.0 / goodput - 2.0).abs() < 0.02, "{flow:?}");
        assert!(
            flow.bytes_sent >= flow.bytes_delivered - 300_000 && flow.data_segments_sent > 2000,
            "{flow:?}"
        );
        let whole = [&found.info.links_end[0], &found.info.links_end[1]];
        for link in whole {
            assert_eq!(
                link.packets_offered,
                link.packets + link.dropped_queue + u64::from(link.queued_at_end)
            );
            assert_eq!(link.packets, link.delivered + link.dropped_wire + u64::from(link.in_flight_at_end));
        }
        let link = &found.outcome.links[0];
        assert!((link.observed.as_secs_f64() - 2.0).abs() < 1e-6, "{:?}", link.observed);
        assert!(link.sojourn_mean.is_some() && link.utilisation.unwrap() > 0.9, "{link:?}");
        // 30 moments, of which the last falls on the end.
        let rows = found.outcome.flow_series.len();
        assert!((28..=30).contains(&rows), "{rows}");
        assert!(found.outcome.flow_series.iter().any(|row| row.cwnd.unwrap() > 14_600));
        assert_eq!(found.outcome.link_series.len(), 60);
        let counters = &found.kernel.counters;
        assert_eq!(counters.len(), 2);
        let opened = |host: usize, name: &str| {
            counters[host].counters.iter().find(|(n, _)| n == name).map_or(0, |(_, value)| *value)
        };
        assert_eq!((opened(0, "ActiveOpens"), opened(1, "PassiveOpens")), (1, 1));
        Ok(())
    });
}

#[test]
fn transfers_finish_and_drain_and_each_has_its_round_trip_time() {
    if !allowed() {
        return;
    }
    let workload =
        "[workload]\nkind = \"web\"\narrival_rate = 20\nsizes = { kind = \"fixed\", bytes = \"20kB\" }";
    let text = scenario("duration = \"2s\"\ndrain = \"3s\"", LINK, workload, LINUX)
        .replace("kind = \"single\"", "kind = \"single\"\nrtt = [\"30ms\", \"90ms\"]");
    let scenario = resolved(&text);
    let simulated = run(&scenario, |_| ControlFlow::Continue(()), 1).unwrap().unwrap();
    in_real_time(|| {
        let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
        assert_eq!(found.outcome.flows.len(), simulated.flows.len());
        let mut ratios: Vec<f64> = Vec::new();
        for (real, twin) in found.outcome.flows.iter().zip(&simulated.flows) {
            assert_eq!((real.outcome, real.size), (Outcome::Finished, twin.size));
            assert_eq!((real.path_rtt, real.bytes_delivered), (twin.path_rtt, twin.bytes_delivered));
            let late = real.start.since(twin.start).as_secs_f64();
            assert!(late < 0.1, "started {late} s late");
            let time = |row: &ackclock_trace::FlowRow| row.response_time.unwrap().as_secs_f64();
            ratios.push(time(real) / time(twin));
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        if (median - 1.0).abs() > 0.05 {
            return Err(format!("response times are {median} of the simulated ones"));
        }
        // As many acks, FINs and SYNs as well: a kernel acknowledges before its application replies, and closes
        // after its data has left.
        for (real, twin) in found.outcome.links.iter().zip(&simulated.links) {
            let ratio = real.packets_offered as f64 / twin.packets_offered as f64;
            if (ratio - 1.0).abs() > 0.02 {
                return Err(format!("{} packets, simulated {}", real.packets_offered, twin.packets_offered));
            }
        }
        // It ends with the last flow, before the drain is over.
        let lasted = found.info.simulated.as_secs_f64();
        assert!(lasted > 2.0 && lasted < 4.0, "{lasted}");
        Ok(())
    });
}

#[test]
fn clients_of_a_fan_in_wait_for_each_other() {
    if !allowed() {
        return;
    }
    let workload = "[workload]\nkind = \"fan-in\"\nflows = 4";
    // A round takes 0.42 s at the link's rate, and half as long again where a timeout ends it.
    let scenario = resolved(&scenario("duration = \"4s\"", LINK, workload, LINUX));
    in_real_time(|| {
        let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
        let rounds = &found.outcome.rounds;
        assert!(rounds.iter().all(|r| r.responses == 4), "{rounds:?}");
        if rounds.len() < 3 {
            return Err(format!("{} rounds in 4 s", rounds.len()));
        }
        // No round begins before the one before it is complete.
        for pair in rounds.windows(2) {
            assert!(pair[1].start >= pair[0].start + pair[0].completion_time, "{pair:?}");
        }
        Ok(())
    });
}

#[test]
fn datagrams_keep_their_rate() {
    if !allowed() {
        return;
    }
    let workload = "[workload]\nkind = \"udp\"\nrate = \"2Mbit/s\"\nbytes = \"1000B\"";
    let scenario = resolved(&scenario("duration = \"2s\"", LINK, workload, LINUX));
    in_real_time(|| {
        let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
        let row = &found.outcome.flows[0];
        assert_eq!((row.protocol, row.data_segments_sent), ("udp", 500));
        let delivered = row.bytes_delivered as f64;
        if delivered < 0.98 * 500_000.0 {
            return Err(format!("{delivered} bytes delivered"));
        }
        Ok(())
    });
}
