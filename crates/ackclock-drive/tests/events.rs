//! Events inside the kernel's TCP, against the kernel's own counters of the same runs.
#![cfg(target_os = "linux")]

mod common;

use std::ops::ControlFlow;

use ackclock_drive::{EndReport, TestbedOptions, TestbedRun, check_testbed, run_testbed};
use ackclock_policy::Registry;
use ackclock_sim::scenario::{Files, Resolved, Scenario};
use ackclock_trace::{LossClass, TracedRows};
use common::{allowed, in_real_time};

/// A scenario with these keys of its link and back link, workload and stack.
fn scenario(top: &str, link: &str, back: &str, workload: &str, stack: &str) -> Resolved {
    let text = format!(
        "{top}\n[path]\nkind = \"single\"\nlink = {{ rate = \"20Mbit/s\", delay = \"10ms\", queue = {{ kind = \
         \"drop-tail\", limit = \"1bdp\" }}, {link} }}\nback = {{ {back} }}\n[workload]\n{workload}\n[stacks]\nx = \
         \"{stack}\"\n"
    );
    let scenario = Scenario::parse(&text).and_then(|s| s.resolve_with(&Registry::builtin(), &Files::none()));
    scenario.unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn on_kernel(scenario: &Resolved) -> Result<TestbedRun, String> {
    let job = scenario.jobs()[0];
    run_testbed(scenario, job, &TestbedOptions::default(), &mut |_| ControlFlow::Continue(()))
        .map_err(|e| e.to_string())
}

/// True where the kernel's events can be recorded; otherwise prints the reason.
fn recorded() -> bool {
    if !allowed() {
        return false;
    }
    let traced = scenario("duration = \"1s\"\ntrace = \"episodes\"", "", "", "kind = \"bulk\"", "linux");
    match check_testbed(&traced) {
        Ok(()) => true,
        Err(e) => {
            eprintln!("skipped: {e}");
            false
        }
    }
}

const LOSSY: &str = "faults = [{ kind = \"loss\", p = \"2%\" }]";

/// Scenarios that lose, delay and reorder packets: a name, and the keys.
fn cases() -> Vec<(&'static str, Resolved)> {
    let bulk = "kind = \"bulk\"";
    let web = "kind = \"web\"\narrival_rate = 15\nsizes = { kind = \"fixed\", bytes = \"60kB\" }";
    let outage = "faults = [{ kind = \"outage\", from = \"1s\", until = \"2.5s\" }]";
    let reorder = "faults = [{ kind = \"reorder\", p = \"2%\", distance = 8 }]";
    let stall = "faults = [{ kind = \"stall\", from = \"1s\", until = \"1.8s\" }]";
    let telnet = "kind = \"telnet\"\nflows = 12";
    let often = "faults = [{ kind = \"loss\", p = \"8%\" }]";
    let fan_in = "kind = \"fan-in\"\nflows = 12\nresponse = \"64KiB\"";
    let of = |top: &str, link, back, workload, stack| scenario(top, link, back, workload, stack);
    vec![
        ("bulk with loss", of("duration = \"4s\"", LOSSY, "", bulk, "linux")),
        ("bulk of Reno", of("duration = \"4s\"", LOSSY, LOSSY, bulk, "linux-reno")),
        ("outage", of("duration = \"5s\"", outage, "", bulk, "linux")),
        ("stall", of("duration = \"4s\"", stall, "", bulk, "linux")),
        ("telnet with loss", of("duration = \"6s\"", often, often, telnet, "linux")),
        ("incast", of("duration = \"4s\"", "", "", fan_in, "linux")),
        ("reordering", of("duration = \"4s\"", reorder, "", bulk, "linux")),
        ("web", of("duration = \"4s\"\ndrain = \"4s\"", LOSSY, LOSSY, web, "linux")),
        ("bulk of BBR", of("duration = \"3s\"", LOSSY, "", bulk, "linux-bbr")),
    ]
}

/// Compares what events and the emulator say of each host with what its kernel has counted.
fn compare(found: &TestbedRun) -> Result<Vec<[u64; 4]>, String> {
    let events = &found.kernel.events;
    assert_eq!(events.lost, 0);
    let mut all = Vec::new();
    for (number, host) in found.kernel.counters.iter().enumerate() {
        let counted =
            |name: &str| host.counters.iter().find(|(n, _)| n == name).map_or(0, |(_, value)| *value);
        let ends: Vec<_> = events.ends.iter().filter(|end| end.host == number).collect();
        let sum = |value: fn(&EndReport) -> u64| ends.iter().map(|end| value(end)).sum::<u64>();
        let seen = [sum(|e| e.timeouts), sum(|e| e.recoveries), sum(|e| e.retransmissions)];
        let recoveries = counted("TCPSackRecovery") + counted("TCPRenoRecovery");
        let expected = [counted("TCPTimeouts"), recoveries, counted("RetransSegs")];
        if seen != expected {
            return Err(format!(
                "{}: timeouts, recoveries, retransmissions {seen:?}, counted {expected:?}",
                host.host
            ));
        }
        // Those with new data have no event; there the column says what the kernel counted, or nothing.
        let (repeated, probes) = (sum(|e| e.repeated_probes), counted("TCPLossProbes"));
        if repeated > probes {
            return Err(format!("{}: {repeated} probes, counted {probes}", host.host));
        }
        if ends.len() == 1
            && let Some(row) = found.outcome.flows.iter().find(|row| **row.sender_node() == *host.host)
            && u64::from(row.tail_loss_probes) != probes
        {
            return Err(format!(
                "{}: {} probes in the table, counted {probes}",
                host.host, row.tail_loss_probes
            ));
        }
        all.push([expected[0], expected[1], expected[2], probes]);
    }
    Ok(all)
}

/// The node that sends the data of a flow.
trait SenderNode {
    fn sender_node(&self) -> &ackclock_trace::Label;
}

impl SenderNode for ackclock_trace::FlowRow {
    fn sender_node(&self) -> &ackclock_trace::Label {
        if self.sender == ackclock_trace::Side::Client { &self.client } else { &self.server }
    }
}

#[test]
fn events_of_all_flows_of_a_host_are_what_its_kernel_counts() {
    if !recorded() {
        return;
    }
    let mut something = [0; 4];
    for (name, scenario) in cases() {
        in_real_time(|| {
            let found = on_kernel(&scenario)?;
            let hosts = compare(&found).map_err(|e| format!("{name}: {e}"))?;
            println!("{name}: timeouts, recoveries, retransmissions, probes by host {hosts:?}");
            println!("  {:?}", found.kernel.events.missing);
            for counted in hosts {
                something.iter_mut().zip(counted).for_each(|(sum, n)| *sum += n);
            }
            for (number, row) in found.outcome.flows.iter().enumerate() {
                let known = |column: &str| !found.unknown.contains(&(number, match_column(column)));
                let by_round: u32 = row.timeouts_by_round.iter().sum();
                if known("timeouts_by_round") && by_round != row.timeouts {
                    return Err(format!("{name}: {by_round} timeouts by round, {} in all", row.timeouts));
                }
                assert!(row.spurious_timeouts <= row.timeouts, "{row:?}");
            }
            Ok(())
        });
    }
    assert!(something.iter().all(|sum| *sum > 10), "{something:?}");
}

fn match_column(name: &str) -> &'static str {
    ackclock_drive::EVENT_COLUMNS.into_iter().find(|column| *column == name).expect("a column")
}

#[test]
fn a_trace_has_the_senders_window_and_its_episodes() {
    if !recorded() {
        return;
    }
    let outage = "faults = [{ kind = \"outage\", from = \"1s\", until = \"2s\" }]";
    let scenario = scenario("duration = \"3s\"\ntrace = \"all\"", outage, "", "kind = \"bulk\"", "linux");
    in_real_time(|| {
        let found = on_kernel(&scenario)?;
        let flow = &found.outcome.flows[0];
        let Some(TracedRows { samples, episodes, segments, state }) = &found.trace else {
            return Err(format!("no trace: {:?}", found.kernel.events));
        };
        // A sample for each ack that the sender got; the receiver's packets bring none.
        assert!(samples.iter().all(|row| row.connection == 0), "the client sends");
        let acks = segments.iter().filter(|s| s.connection == 0 && !s.sent && s.kind.is_none()).count();
        assert!(samples.len() > 500 && samples.len() <= acks, "{} samples, {acks} acks", samples.len());
        assert!(samples.iter().all(|row| row.cwnd.is_some_and(|cwnd| cwnd >= 1448)));
        let late = episodes.iter().find(|row| row.class == LossClass::NonCa);
        let Some(late) = late.filter(|row| row.timeouts >= 2 && row.rounds >= 2) else {
            return Err(format!("no timeouts in an outage: {episodes:?}"));
        };
        assert!((1.0..2.0).contains(&late.begin.as_secs_f64()), "{late:?}");
        let of = |kind: &str| segments.iter().filter(|s| s.kind == Some(kind)).count() as u64;
        // Segments of the sender, SYN and acks included, and its data.
        let data = of("new") + of("fast-retransmit") + of("timeout-retransmit") + of("tail-loss-probe");
        let sent = flow.data_segments_sent;
        assert!(data.abs_diff(sent) <= 4, "{data} segments with data, {sent} sent");
        assert!(of("syn") == 2 && of("timeout-retransmit") > 0, "{}", of("syn"));
        assert!(state.iter().any(|row| row.value == 4.0 && row.connection == 0));
        assert!(flow.timeouts_by_round[1] > 0, "{flow:?}");
        Ok(())
    });
}
