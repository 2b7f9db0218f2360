//! Scenarios on the kernel's TCP: what is refused, and what comes out beside the simulation of the same.
#![cfg(target_os = "linux")]

mod common;

use std::ops::ControlFlow;

use ackclock_drive::{DriveError, TestbedOptions, TestbedRun, check_testbed, run_testbed};
use ackclock_policy::Registry;
use ackclock_sim::scenario::{Files, Resolved, Results, Scenario, run};
use ackclock_trace::{FlowRow, LinkRow, Outcome};
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
        (scenario("duration = \"10h\"\ntrace = \"all\"", LINK, BULK, LINUX), "`trace` would record about"),
        (scenario("duration = \"1s\"\nmeasure_after = 1", LINK, BULK, LINUX), "`measure_after`"),
        (scenario("duration = \"20h\"\ndrain = \"5h\"", LINK, BULK, LINUX), "`duration`"),
        (
            scenario("duration = \"1s\"", LINK, BULK, "{ kernel = { options = { TCP_BOGUS = 1 } } }"),
            "`TCP_BOGUS`",
        ),
        (
            scenario("duration = \"1s\"", LINK, "[workload]\nkind = \"udp-rate\"\nbytes = \"35B\"", LINUX),
            "`bytes` of workload `udp-rate` is 35B",
        ),
        (
            scenario(
                "duration = \"1s\"",
                LINK,
                "[workload]\nkind = \"udp-rate\"\nreport_bytes = \"28B\"",
                LINUX,
            ),
            "`report_bytes` of workload `udp-rate` is 28B",
        ),
        (
            scenario("duration = \"1s\"", LINK, "[workload]\nkind = \"udp\"\nbytes = \"1501B\"", LINUX),
            "expected at most 1500B, the `mss` of stack `x`",
        ),
        (
            scenario("duration = \"1s\"\nsyn_retries = 0", LINK, BULK, LINUX),
            "`syn_retries` of stack `x` is 0",
        ),
    ];
    for (text, key) in cases {
        let sentence = check_testbed(&resolved(&text)).unwrap_err().to_string();
        assert!(sentence.contains(key) && !sentence.contains('\n'), "{sentence}");
    }
    let top = "duration = \"1s\"\nsyn_retries = 3";
    let kernels =
        ["\"linux-reno\"", "\"linux-bbr\"", "\"linux+no-nagle\"", "{ kernel = { cc = \"cubic\" } }"];
    for stack in [LINUX].into_iter().chain(kernels) {
        check_testbed(&resolved(&scenario(top, LINK, BULK, stack))).unwrap();
    }
    for workload in ["kind = \"udp\"\nbytes = \"1500B\"", "kind = \"udp-rate\"\nbytes = \"36B\""] {
        check_testbed(&resolved(&scenario(top, LINK, &format!("[workload]\n{workload}"), LINUX))).unwrap();
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
        // The other direction drops nothing.
        let link = &found.outcome.links[0];
        assert_eq!(
            (flow.dropped_packets, found.outcome.links[1].dropped_queue),
            (Some(link.dropped_queue), 0)
        );
        let (own, all) = (flow.queue_delay_mean.unwrap(), link.sojourn_mean.unwrap());
        assert!((own.as_secs_f64() / all.as_secs_f64() - 1.0).abs() < 0.02, "{own} {all}");
        assert!(flow.queue_delay_max.unwrap() >= own);
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

/// The rows of a group, and how much they have delivered, how many responses they had and the sum of their times.
fn totals(rows: &[FlowRow], group: &str) -> (usize, f64, f64, f64) {
    let rows: Vec<_> = rows.iter().filter(|row| &*row.group == group).collect();
    let times = rows.iter().filter_map(|row| Some(row.response_time?.as_secs_f64() * responses(row)));
    (
        rows.len(),
        rows.iter().map(|row| row.bytes_delivered as f64).sum(),
        rows.iter().map(|row| responses(row)).sum(),
        times.sum(),
    )
}

/// A flow without responses of its own is one.
fn responses(row: &FlowRow) -> f64 {
    f64::from(row.responses.max(u32::from(row.response_time.is_some())))
}

/// Compares each group of a run with the same of its simulation: equal numbers of flows, and what they delivered, the
/// number of their responses and the mean of their times within a share.
fn close(found: &[FlowRow], simulated: &[FlowRow], groups: &[&str], share: f64) -> Result<(), String> {
    for group in groups {
        let (real, twin) = (totals(found, group), totals(simulated, group));
        println!("{group}: {real:?}, simulated {twin:?}");
        assert!(twin.0 > 0 && real.0 == twin.0, "{group}: {} flows, simulated {}", real.0, twin.0);
        let pairs = [(real.1, twin.1), (real.2, twin.2), (real.3 / real.2, twin.3 / twin.2)];
        if pairs.iter().any(|(real, twin)| twin.is_finite() && (real - twin).abs() > share * twin.abs()) {
            return Err(format!("{group}: {real:?}, simulated {twin:?}"));
        }
    }
    Ok(())
}

fn simulated(scenario: &Resolved) -> Results {
    run(scenario, |_| ControlFlow::Continue(()), 1).unwrap().unwrap()
}

/// Workloads of all kinds that do not fill a link.
const LIGHT: &str = r#"
duration = "3s"
drain = "1s"
measure_from = "300ms"
[path]
kind = "single"
link = { rate = "100Mbit/s", delay = "10ms", queue = { kind = "drop-tail", limit = "1bdp" } }
[stacks]
x = "linux+no-nagle"
[[workload]]
kind = "fixed"
size = "100kB"
flows = 2
stagger = "500ms"
[[workload]]
kind = "dialogue"
exchanges = 4
pause = "200ms"
size = "50kB"
[[workload]]
kind = "request"
size = "20kB"
flows = 3
start = "400ms"
stagger = "100ms"
[[workload]]
kind = "web"
arrival_rate = 10
sizes = { kind = "exponential", mean = "10kB" }
[[workload]]
kind = "log"
transfers = [["0.1s", 4000], ["0.2s", 30000], ["1.5s", 100]]
[[workload]]
kind = "http"
requests = "inf"
think = "50ms"
flows = 2
[[workload]]
kind = "fan-in"
response = "20kB"
pause = "100ms"
flows = 4
[[workload]]
kind = "video"
chunk = "200ms"
length = "3s"
bitrate = "500kbit/s"
bitrate_max = "2Mbit/s"
buffer = "1s"
reservoir = "300ms"
cushion = "300ms"
startup = "200ms"
resume = "200ms"
[[workload]]
kind = "telnet"
think = "50ms"
flows = 2
[[workload]]
kind = "padded"
think = "100ms"
flows = 2
[[workload]]
kind = "on-off"
on = "200ms"
off = "100ms"
[[workload]]
kind = "udp"
[[workload]]
kind = "udp-on-off"
on = "200ms"
off = "100ms"
"#;

#[test]
fn workloads_of_every_kind_run_as_they_are_simulated() {
    if !allowed() {
        return;
    }
    let scenario = resolved(LIGHT);
    let simulated = simulated(&scenario);
    in_real_time(|| {
        let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
        let groups = [
            "fixed",
            "dialogue",
            "request",
            "web",
            "log",
            "http",
            "fan-in",
            "video",
            "telnet",
            "padded",
            "on-off",
            "udp",
            "udp-on-off",
        ];
        close(&found.outcome.flows, &simulated.flows, &groups, 0.05)?;
        let (rounds, twins) = (found.outcome.rounds.len() as f64, simulated.rounds.len() as f64);
        let (videos, shown) = (&found.outcome.playbacks, &simulated.playbacks);
        println!("{rounds} rounds, simulated {twins}; {videos:?}, simulated {shown:?}");
        assert_eq!((videos.len(), videos[0].chunks), (1, shown[0].chunks));
        // `no-nagle` is TCP_NODELAY, which all sockets have.
        let option = found.kernel.options.iter().find(|seen| seen.option.name() == "TCP_NODELAY").unwrap();
        assert!((option.value, option.other) == (1, 0) && option.same > 0, "{option:?}");
        if (rounds / twins - 1.0).abs() > 0.1 { Err(format!("{rounds} rounds")) } else { Ok(()) }
    });
}

#[test]
fn an_interactive_flow_that_is_padded_to_a_bulk_transfer_runs_as_it_is_simulated() {
    if !allowed() {
        return;
    }
    let link = "rate = \"10Mbit/s\", delay = \"20ms\", queue = { kind = \"drop-tail\", limit = \"1bdp\" }";
    let workload = "[workload]\nkind = \"backlogged\"\nthink = \"20ms\"\nbytes = \"1448B\"\n\
                    dummy_bytes = \"1448B\"";
    let top = "duration = \"5s\"\nmeasure_from = \"1s\"";
    let scenario = resolved(&scenario(top, link, workload, "\"linux+no-nagle\""));
    let simulated = simulated(&scenario);
    in_real_time(|| {
        let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
        close(&found.outcome.flows, &simulated.flows, &["backlogged"], 0.1)
    });
}

#[test]
fn datagrams_paced_by_reports_take_what_they_take_in_the_simulation() {
    if !allowed() {
        return;
    }
    let link =
        "rate = \"1Mbit/s\", delay = \"10ms\", queue = { kind = \"drop-tail\", limit = \"10packets\" }";
    let workload = "[workload]\nkind = \"udp-rate\"\nflows = 2\n\
                    control = { kind = \"additive\", alpha = \"1s\", interval = \"20ms\" }";
    let top = "duration = \"5s\"\nmeasure_from = \"1s\"\nseries = \"100ms\"";
    let scenario = resolved(&scenario(top, link, workload, LINUX));
    let simulated = simulated(&scenario);
    in_real_time(|| {
        let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
        close(&found.outcome.flows, &simulated.flows, &["udp-rate"], 0.05)?;
        let sent = |rows: &[FlowRow]| rows.iter().map(|row| row.data_segments_sent as f64).sum::<f64>();
        let (real, twin) = (sent(&found.outcome.flows), sent(&simulated.flows));
        let lost = |rows: &[LinkRow]| rows[0].dropped_queue;
        let (gone, twin_gone) = (lost(&found.outcome.links), lost(&simulated.links));
        println!("{real} sent and {gone} lost, simulated {twin} and {twin_gone}");
        // Without reports the rate would grow by e every second, to twenty times the link's.
        if (real / twin - 1.0).abs() > 0.05 || gone == 0 || gone > 2 * twin_gone {
            return Err(format!("{real} sent and {gone} lost, simulated {twin} and {twin_gone}"));
        }
        // They have rows over time as well, and no stack in either world.
        let rows = &found.outcome.flow_series;
        assert!((98..=100).contains(&rows.len()), "{}", rows.len());
        assert!(rows.iter().all(|row| row.protocol == "udp" && row.cwnd.is_none() && row.stack.is_empty()));
        assert!(found.outcome.flows.iter().all(|row| row.stack.is_empty()));
        let received: u64 =
            rows.iter().filter(|row| row.time.as_secs_f64() > 1.01).map(|row| row.bytes_delivered).sum();
        let counted: u64 = found.outcome.flows.iter().map(|row| row.bytes_delivered).sum();
        assert!((received as f64 / counted as f64 - 1.0).abs() < 0.05, "{received} {counted}");
        Ok(())
    });
}

#[test]
fn a_fault_names_a_segment_and_a_sack_ends_the_response_times_of_those_behind_it() {
    if !allowed() {
        return;
    }
    // About 4 packets per round trip, of which the eleventh is lost, and the twenty-first of the other flow.
    let faults = "faults = [{ kind = \"segment-loss\", flow = 0, offset = \"5000B\" }, \
                  { kind = \"segment-loss\", flow = 1, offset = \"10000B\" }]";
    let link = format!("rate = \"20Mbit/s\", delay = \"20ms\", {faults}");
    let mut means = Vec::new();
    for until in ["acked", "arrived"] {
        let workload = format!(
            "[workload]\nkind = \"telnet\"\nflows = 2\nthink = \"10ms\"\npackets = 60\nuntil = \"{until}\""
        );
        let scenario = resolved(&scenario("duration = \"3s\"", &link, &workload, "\"linux+no-nagle\""));
        let simulated = simulated(&scenario);
        in_real_time(|| {
            let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
            assert_eq!(found.outcome.links[0].dropped_wire, 2);
            assert_eq!(simulated.links[0].dropped_wire, 2);
            let sent =
                |rows: &[FlowRow]| rows.iter().map(|row| row.retransmitted_segments).collect::<Vec<_>>();
            println!("{until}: {:?} {:?}", sent(&found.outcome.flows), sent(&simulated.flows));
            close(&found.outcome.flows, &simulated.flows, &["telnet"], 0.05)?;
            means.push(totals(&found.outcome.flows, "telnet").3 / 120.0);
            Ok(())
        });
    }
    // Those behind a lost packet wait for it, or only for their own acks.
    assert!(means[1] + 0.001 < means[0], "{means:?}");
}

#[test]
fn a_fault_counts_the_packets_of_one_flow() {
    if !allowed() {
        return;
    }
    let link = "rate = \"20Mbit/s\", delay = \"10ms\", \
                faults = { kind = \"nth-loss\", number = 3, flow = 1, of = \"data\" }";
    let workload = "[workload]\nkind = \"fixed\"\nsize = \"20kB\"\nflows = 3\nstagger = \"100ms\"";
    let scenario = resolved(&scenario("duration = \"1s\"\ndrain = \"1s\"", link, workload, LINUX));
    in_real_time(|| {
        let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
        let again: Vec<_> = found.outcome.flows.iter().map(|row| row.retransmitted_segments).collect();
        assert_eq!(again, [0, 1, 0]);
        Ok(())
    });
}

#[test]
fn a_connection_is_given_up_after_as_many_syns_as_the_scenario_says() {
    if !allowed() {
        return;
    }
    let link = "rate = \"20Mbit/s\", delay = \"10ms\", faults = { kind = \"outage\", until = \"60s\" }";
    let scenario = resolved(&scenario("duration = \"5s\"\nsyn_retries = 1", link, BULK, LINUX));
    let twin = &simulated(&scenario).flows[0];
    let (again, gave_up) = (twin.syn_retransmissions, twin.end.unwrap().as_secs_f64());
    assert_eq!((twin.outcome, twin.reason, again), (Outcome::Failed, Some("syn-timeout"), 2));
    in_real_time(|| {
        let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
        let flow = &found.outcome.flows[0];
        assert_eq!((flow.outcome, flow.reason), (Outcome::Failed, Some("syn-timeout")));
        assert_eq!(
            (flow.syn_retransmissions, flow.retransmitted_segments, flow.bytes_delivered),
            (again, 0, 0)
        );
        let took = flow.end.unwrap().as_secs_f64();
        if (took / gave_up - 1.0).abs() > 0.05 {
            return Err(format!("given up after {took} s, simulated {gave_up}"));
        }
        Ok(())
    });
}

/// Three links in a row, with flows over all of them and over each alone.
const CHAIN: &str = r#"
duration = "3s"
drain = "1s"
[path]
kind = "chain"
hops = 3
link = { rate = "20Mbit/s", delay = "5ms", queue = { kind = "drop-tail", limit = "50ms" } }
[stacks]
x = "linux"
y = "linux-reno"
[[workload]]
kind = "bulk"
stack = "x"
[[workload]]
kind = "web"
name = "cross"
arrival_rate = 20
sizes = { kind = "fixed", bytes = "10kB" }
per_hop = true
stack = "y"
"#;

/// A square with a diagonal; the short way from a to c is over it.
const GRAPH: &str = r#"
duration = "2s"
drain = "2s"
[path]
kind = "graph"
edges = [
  { from = "a", to = "b", rate = "50Mbit/s", delay = "5ms" },
  { from = "b", to = "c", rate = "50Mbit/s", delay = "5ms" },
  { from = "c", to = "d", rate = "50Mbit/s", delay = "5ms" },
  { from = "d", to = "a", rate = "50Mbit/s", delay = "5ms" },
  { from = "a", to = "c", rate = "50Mbit/s", delay = "2ms", back = { delay = "4ms" } },
]
[stacks]
x = "linux"
[[workload]]
kind = "request"
client = ["a", "d"]
server = ["b", "c"]
flows = 12
stagger = "100ms"
size = "30kB"
[[workload]]
kind = "udp"
client = "b"
server = "d"
"#;

#[test]
fn flows_over_several_links_and_hosts_take_their_ways() {
    if !allowed() {
        return;
    }
    for (text, groups) in
        [(CHAIN, &["bulk", "cross-hop1", "cross-hop2", "cross-hop3"][..]), (GRAPH, &["request", "udp"])]
    {
        let scenario = resolved(text);
        let simulated = simulated(&scenario);
        in_real_time(|| {
            let found = on_kernel(&scenario).map_err(|e| e.to_string())?;
            let ends =
                |row: &FlowRow| (row.client.clone(), row.server.clone(), row.stack.clone(), row.path_rtt);
            let both = [&found.outcome.flows, &simulated.flows]
                .map(|rows| rows.iter().map(ends).collect::<Vec<_>>());
            assert_eq!(both[0], both[1]);
            close(&found.outcome.flows, &simulated.flows, groups, 0.1)?;
            // Drops are those of the links, each of one end of a flow or source.
            let drops =
                |rows: &[LinkRow]| rows.iter().map(|row| row.dropped_queue + row.dropped_wire).sum::<u64>();
            let own: u64 = found.outcome.flows.iter().map(|row| row.dropped_packets.unwrap()).sum();
            assert!(own <= drops(&found.outcome.links), "{own}");
            for (real, twin) in found.outcome.links.iter().zip(&simulated.links) {
                println!(
                    "{}: {} packets, simulated {}",
                    real.name, real.packets_offered, twin.packets_offered
                );
                let difference = real.packets_offered.abs_diff(twin.packets_offered);
                if difference > 5 + twin.packets_offered / 10 {
                    return Err(format!(
                        "{}: {}, not {}",
                        real.name, real.packets_offered, twin.packets_offered
                    ));
                }
            }
            Ok(())
        });
    }
}
