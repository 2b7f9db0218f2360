//! A scenario's applications above the sockets of two kernels, over the emulator.
#![cfg(target_os = "linux")]

mod common;

use std::ops::ControlFlow;

use ackclock_drive::{Clock, DriveError, KernelFlows, KernelFlowsReport, Kernels, KernelsOptions, TcpOption};
use ackclock_sim::scenario::{LinkPlan, Resolved, Scenario};
use ackclock_trace::Outcome;
use ackclock_units::Duration;
use common::allowed;

/// Plain and padded typing over 20 ms that lose each tenth data packet; plain packets so far apart that most losses wait for a timeout.
const TYPING: &str = r#"
seed = 1
duration = "3s"
[path]
kind = "single"
link = { rate = "1Gbit/s", faults = [{ kind = "periodic-loss", every = 10, of = "data" }] }
rtt = "20ms"
[[workload]]
kind = "telnet"
flows = 40
spread = "100ms"
think = "400ms"
[[workload]]
kind = "padded"
flows = 10
spread = "100ms"
think = "200ms"
[stacks]
tcp = "sack"
"#;

/// Everything else that the registry has, without losses.
const OTHERS: &str = r#"
seed = 2
duration = "3s"
[path]
kind = "single"
link = { rate = "100Mbit/s" }
rtt = "20ms"
[[workload]]
kind = "fixed"
size = "300kB"
[[workload]]
kind = "dialogue"
exchanges = 5
pause = "100ms"
size = "20kB"
[[workload]]
kind = "request"
[[workload]]
kind = "backlogged"
think = "100ms"
[stacks]
tcp = "sack"
"#;

fn scenario(text: &str) -> Resolved {
    Scenario::parse(text).unwrap().resolve().unwrap()
}

fn run(
    text: &str,
    parameters: &[(&str, &str)],
    options: &[(&str, i32)],
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<KernelFlowsReport, DriveError> {
    let scenario = scenario(text);
    let flows = KernelFlows {
        conversations: scenario.conversations(scenario.jobs()[0]).unwrap(),
        duration: scenario.duration(),
        parameters: parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        options: options.iter().map(|(name, value)| (TcpOption::named(name).unwrap(), *value)).collect(),
        quick_acks: true,
    };
    let edge = &scenario.path.edges[0];
    let (there, back) = (edge.link.spec(), edge.back.as_ref().map(LinkPlan::spec).unwrap());
    let options = KernelsOptions { mtu: 1500, there, back, access: flows.access(), seed: 1, clock: Clock::start(), capture: None };
    flows.run(Kernels::new(options)?, go_on)
}

#[test]
fn each_packet_is_timed_from_its_writing_to_the_kernels_stamp_of_its_ack() {
    if !allowed() {
        return;
    }
    let parameters = [("net.ipv4.tcp_early_retrans", "0"), ("net.ipv4.tcp_recovery", "0"), ("net.ipv4.tcp_no_metrics_save", "1")];
    let found = run(TYPING, &parameters, &[("TCP_NODELAY", 1)], &mut || ControlFlow::Continue(())).unwrap();
    assert_eq!(found.flows.len(), 50);
    let rtt = Duration::from_millis(20);
    for f in &found.flows {
        assert!(f.established.unwrap() >= rtt, "{f:?}");
        assert!(f.client.acked <= f.client.written && f.server.read <= f.client.written, "{f:?}");
        assert!(f.client.acked <= f.server.read, "what is acknowledged was delivered, and the sink reads it at once: {f:?}");
        assert!(f.client.responses.iter().all(|r| r.time >= rtt && r.since + r.time <= found.lasted), "{f:?}");
        assert!(f.client.counts.unwrap().rto >= Duration::from_millis(200), "{f:?}");
        assert_eq!(f.client.outcome, Outcome::Unfinished);
    }
    let of = |group: &str| found.flows.iter().filter(|f| &*f.group == group).collect::<Vec<_>>();
    let (plain, padded) = (of("telnet"), of("padded"));
    let packets = |flows: &[&ackclock_drive::KernelFlow]| flows.iter().map(|f| f.client.responses.len()).sum::<usize>();
    // 300 and 150 on average.
    assert!(packets(&plain) > 200 && packets(&padded) > 80, "{}, {}", packets(&plain), packets(&padded));
    // A packet of 500 bytes, and with padding three dummies of 20 more, each a segment of its own where nothing was in its way.
    let segments = |flows: &[&ackclock_drive::KernelFlow]| flows.iter().map(|f| f.client.counts.unwrap().data_segments_sent).sum::<u64>();
    // One that is typed before the one before it has all its dummies stands in for those.
    let written = padded.iter().map(|f| f.client.written).sum::<u64>();
    assert!(written >= 540 * packets(&padded) as u64, "{written} bytes for {} packets", packets(&padded));
    assert!(segments(&padded) as usize >= 3 * packets(&padded), "{} for {}", segments(&padded), packets(&padded));
    // What the link lost was sent again: by timeouts where nothing follows a packet.
    let counter = |name: &str| found.counters.iter().find(|c| c.0 == name).unwrap().1;
    assert!(found.path.forward.fault_drops > 40 && counter("RetransSegs") > 30 && counter("TCPTimeouts") > 5, "{:?}", found.counters);
    assert_eq!(counter("TCPLossProbes"), 0, "switched off");
    let timeouts = plain.iter().filter_map(|f| f.client.counts.unwrap().timeouts).sum::<u64>();
    let late = plain.iter().flat_map(|f| &f.client.responses).filter(|r| r.time >= Duration::from_millis(200)).count();
    assert!(
        late > 5 && (timeouts > 5 || timeouts == 0),
        "{late} packets took a timeout or more, {timeouts} timeouts (0: a kernel that does not tell)"
    );
    // Each stamp says what the count of unacknowledged bytes says.
    let s = found.stamping;
    assert!(s.stamps > 200 && s.agreeing == s.stamps, "{s:?}");
    assert_eq!(found.client_options[0].same, 50);
    assert_eq!(found.path.undelivered, 0);
}

#[test]
fn any_application_of_the_registry_runs_above_them() {
    if !allowed() {
        return;
    }
    let found = run(OTHERS, &[("net.ipv4.tcp_no_metrics_save", "1")], &[("TCP_NODELAY", 1)], &mut || ControlFlow::Continue(())).unwrap();
    let of = |group: &str| found.flows.iter().find(|f| &*f.group == group).unwrap();
    for (group, written, read) in [("fixed", 300_000, 300_000), ("dialogue", 5 * 512 + 20_000, 5 * 512 + 20_000), ("request", 300, 300)] {
        let f = of(group);
        assert_eq!((f.client.outcome, f.server.outcome), (Outcome::Finished, Outcome::Finished), "{f:?}");
        assert_eq!((f.client.written, f.server.read, f.client.responses.len()), (written, read, 1), "{f:?}");
    }
    assert_eq!(of("request").client.read, of("request").server.written);
    // The request and its answer wait for the handshake too.
    assert!(of("request").client.responses[0].time >= Duration::from_millis(40), "{:?}", of("request"));
    let backlogged = of("backlogged");
    assert!(backlogged.client.responses.len() > 5 && backlogged.client.written > 100_000, "{backlogged:?}");
}

#[test]
fn they_stop_when_told() {
    if !allowed() {
        return;
    }
    let (began, mut asked) = (std::time::Instant::now(), 0);
    let stop = &mut || {
        asked += 1;
        if asked > 8 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let long = TYPING.replace("duration = \"3s\"", "duration = \"300s\"");
    let found = run(&long, &[], &[], stop).unwrap();
    assert!(began.elapsed().as_secs() < 60 && found.flows.len() == 50);
}

#[test]
fn what_the_kernel_does_not_know_is_refused_in_a_sentence() {
    if !allowed() {
        return;
    }
    match run(TYPING, &[("net.ipv4.tcp_congestion_control", "no-such-rule")], &[], &mut || ControlFlow::Continue(())) {
        Err(DriveError::Missing(sentence)) => assert!(sentence.contains("no-such-rule"), "{sentence}"),
        other => panic!("{other:?}"),
    }
}
