//! A scenario's applications on real connections over the emulator.
#![cfg(target_os = "linux")]

mod common;

use std::ops::ControlFlow;

use ackclock_drive::{DriveError, EndKind, FlowReport, FlowsReport};
use ackclock_trace::Outcome;
use ackclock_units::Duration;
use common::allowed;
use common::flows::{Run, expect_whole, of};

/// Plain and padded typing over a path of 20 ms that loses every tenth data packet. Plain packets are so far
/// apart that most losses cause a timeout.
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

/// All other applications of the registry, without losses.
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

fn run(
    text: &str,
    parameters: &[(&str, &str)],
    options: &[(&str, i32)],
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<FlowsReport, DriveError> {
    Run { parameters, options, quick_acks: true, ..Run::of(text, EndKind::Kernel, EndKind::Kernel) }
        .run(go_on)
}

#[test]
fn each_packet_is_timed_from_its_write_to_the_kernels_timestamp_of_its_ack() {
    if !allowed() {
        return;
    }
    let parameters = [
        ("net.ipv4.tcp_early_retrans", "0"),
        ("net.ipv4.tcp_recovery", "0"),
        ("net.ipv4.tcp_no_metrics_save", "1"),
    ];
    let found = run(TYPING, &parameters, &[("TCP_NODELAY", 1)], &mut || ControlFlow::Continue(())).unwrap();
    assert_eq!(found.flows.len(), 50);
    let rtt = Duration::from_millis(20);
    for f in &found.flows {
        assert!(f.established.unwrap() >= rtt, "{f:?}");
        assert!(f.client.acked <= f.client.written && f.server.read <= f.client.written, "{f:?}");
        assert!(
            f.client.acked <= f.server.read,
            "acknowledged data was delivered, and the sink reads at once: {f:?}"
        );
        assert!(
            f.client.responses.iter().all(|r| r.time >= rtt && r.since + r.time <= found.lasted),
            "{f:?}"
        );
        assert!(f.client.counts.unwrap().rto >= Duration::from_millis(200), "{f:?}");
        assert_eq!(f.client.outcome, Outcome::Unfinished);
    }
    let (plain, padded) = (of(&found, "telnet"), of(&found, "padded"));
    let packets = |flows: &[&FlowReport]| flows.iter().map(|f| f.client.responses.len()).sum::<usize>();
    // 300 and 150 on average.
    assert!(packets(&plain) > 200 && packets(&padded) > 80, "{}, {}", packets(&plain), packets(&padded));
    // A packet of 500 bytes, and with padding three dummies of 20 bytes more, each normally in its own
    // segment.
    let segments = |flows: &[&FlowReport]| {
        flows.iter().map(|f| f.client.counts.unwrap().data_segments_sent).sum::<u64>()
    };
    // A packet typed before the previous one has all its dummies replaces those.
    let written = padded.iter().map(|f| f.client.written).sum::<u64>();
    assert!(written >= 540 * packets(&padded) as u64, "{written} bytes for {} packets", packets(&padded));
    assert!(
        segments(&padded) as usize >= 3 * packets(&padded),
        "{} for {}",
        segments(&padded),
        packets(&padded)
    );
    // Losses are repaired, by timeouts where no packet follows.
    let counter = |name: &str| found.counters.iter().find(|c| c.0 == name).unwrap().1.unwrap();
    assert!(
        found.path.forward.fault_drops > 40 && counter("RetransSegs") > 30 && counter("TCPTimeouts") > 5,
        "{:?}",
        found.counters
    );
    assert_eq!(counter("TCPLossProbes"), 0, "switched off");
    let timeouts = plain.iter().filter_map(|f| f.client.counts.unwrap().timeouts).sum::<u64>();
    let late = plain
        .iter()
        .flat_map(|f| &f.client.responses)
        .filter(|r| r.time >= Duration::from_millis(200))
        .count();
    assert!(
        late > 5 && (timeouts > 5 || timeouts == 0),
        "{late} packets took a timeout or more, {timeouts} timeouts (0: a kernel that does not report them)"
    );
    // The timestamps agree with the count of unacknowledged bytes.
    let s = found.stamping;
    assert!(s.stamps > 200 && s.agreeing == s.stamps, "{s:?}");
    assert_eq!(found.client_options[0].same, 50);
    assert_eq!(found.path.undelivered, 0);
}

/// Checks the results of the other applications, over a kernel or the engine.
fn expect_others(found: &FlowsReport) {
    let one = |group: &str| of(found, group)[0];
    for (group, written) in [("fixed", 300_000), ("dialogue", 5 * 512 + 20_000), ("request", 300)] {
        let f = one(group);
        expect_whole(f);
        assert_eq!((f.client.written, f.client.responses.len()), (written, 1), "{f:?}");
    }
    // The response time includes the handshake.
    assert!(one("request").client.responses[0].time >= Duration::from_millis(40), "{:?}", one("request"));
    let backlogged = one("backlogged");
    assert!(backlogged.client.responses.len() > 5 && backlogged.client.written > 100_000, "{backlogged:?}");
    assert_eq!((backlogged.client.wrong, backlogged.server.wrong), (None, None));
}

#[test]
fn any_application_of_the_registry_runs_on_kernels() {
    if !allowed() {
        return;
    }
    expect_others(
        &run(OTHERS, &[("net.ipv4.tcp_no_metrics_save", "1")], &[("TCP_NODELAY", 1)], &mut || {
            ControlFlow::Continue(())
        })
        .unwrap(),
    );
}

#[test]
fn any_application_of_the_registry_runs_on_the_engine() {
    // Needs no rights without a kernel.
    expect_others(&Run::of(OTHERS, EndKind::Engine, EndKind::Engine).whole());
    if !allowed() {
        return;
    }
    expect_others(&Run::of(OTHERS, EndKind::Engine, EndKind::Kernel).whole());
    expect_others(&Run::of(OTHERS, EndKind::Kernel, EndKind::Engine).whole());
}

#[test]
fn kernel_parameters_are_refused_without_a_kernel() {
    let run = Run { options: &[("TCP_NODELAY", 1)], ..Run::of(OTHERS, EndKind::Engine, EndKind::Engine) };
    match run.run(&mut || ControlFlow::Continue(())) {
        Err(DriveError::Input(sentence)) => {
            assert!(sentence.contains("both ends are the engine"), "{sentence}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_can_be_stopped() {
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
fn an_unknown_kernel_parameter_is_an_error_of_one_sentence() {
    if !allowed() {
        return;
    }
    match run(TYPING, &[("net.ipv4.tcp_congestion_control", "no-such-rule")], &[], &mut || {
        ControlFlow::Continue(())
    }) {
        Err(DriveError::Missing(sentence)) => assert!(sentence.contains("no-such-rule"), "{sentence}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_connection_without_responses_is_reported() {
    let text = "seed = 1\nduration = \"60s\"\n[path]\nkind = \"single\"\nlink = \
                { rate = \"1Gbit/s\", faults = [{ kind = \"loss\", p = 1.0 }] }\nrtt = \"10ms\"\n\
                [[workload]]\nkind = \"telnet\"\nflows = 3\nspread = \"50ms\"\n[stacks]\ntcp = \
                \"sack+init-rto(50ms)+syn-retries(1)\"\n";
    let found = Run::of(text, EndKind::Engine, EndKind::Engine).whole();
    for f in &found.flows {
        assert_eq!(
            (f.client.outcome, f.client.reason, f.established),
            (Outcome::Failed, Some("syn-timeout"), None),
            "{f:?}"
        );
        assert!(f.opened.is_some() && f.client.stats.as_ref().unwrap().syn_retransmissions == 1, "{f:?}");
        assert_eq!((f.client.written, f.server.outcome), (0, Outcome::Unfinished));
    }
}
