//! A scenario's web transfers between two kernels over the emulator.
#![cfg(target_os = "linux")]

mod common;

use std::net::IpAddr;
use std::ops::ControlFlow;

use ackclock_drive::{
    Clock, Closes, DriveError, KernelWeb, KernelWebReport, Kernels, KernelsOptions, TcpOption,
};
use ackclock_sim::scenario::{LinkPlan, Resolved, Scenario};
use ackclock_trace::Outcome;
use ackclock_units::Duration;
use common::allowed;

/// Twenty transfers per second for two seconds, over 10 Mbit/s with loss of every twentieth packet of the
/// server.
const SCENARIO: &str = r#"
seed = 1
duration = "2s"
drain = "20s"
[path]
kind = "dumbbell"
bottleneck = { rate = "10Mbit/s", queue = "red", faults = [{ kind = "periodic-loss", every = 20 }] }
rtt = { uniform = ["10ms", "200ms"] }
[workload]
kind = "web"
trace = "I"
arrival_rate = 20.0
[stacks]
tcp = "sack"
"#;

fn scenario() -> Resolved {
    Scenario::parse(SCENARIO).unwrap().resolve().unwrap()
}

fn web(parameters: &[(&str, &str)], options: &[(&str, i32)]) -> KernelWeb {
    let scenario = scenario();
    KernelWeb {
        transfers: scenario.transfers(scenario.jobs()[0]).unwrap(),
        duration: scenario.duration(),
        drain: scenario.drain(),
        closes: Closes::Client,
        parameters: parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        options: options.iter().map(|(name, value)| (TcpOption::named(name).unwrap(), *value)).collect(),
    }
}

fn run(web: &KernelWeb, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<KernelWebReport, DriveError> {
    let path = scenario().path;
    let (there, back) = (path.edges[0].link.spec(), path.edges[0].back.as_ref().map(LinkPlan::spec).unwrap());
    let options = KernelsOptions {
        mtu: 1500,
        there,
        back,
        access: web.access(),
        seed: 1,
        clock: Clock::start(),
        capture: None,
    };
    web.run(Kernels::new(options)?, go_on)
}

#[test]
fn every_transfer_has_its_start_its_size_and_its_round_trip_time() {
    if !allowed() {
        return;
    }
    for closes in [Closes::Client, Closes::Server] {
        let web = KernelWeb { closes, ..web(&[], &[("TCP_THIN_LINEAR_TIMEOUTS", 1)]) };
        let found = run(&web, &mut || ControlFlow::Continue(())).unwrap();
        all_is_there(&web, &found);
    }
}

fn all_is_there(web: &KernelWeb, found: &KernelWebReport) {
    let n = web.transfers.len();
    assert!(n > 20 && found.flows.len() == n, "{n}");
    for f in &found.flows {
        assert!(f.outcome == Outcome::Finished && f.received == f.transfer.size, "{f:?}");
        let (opened, response) = (f.opened.unwrap(), f.response_time.unwrap());
        assert_eq!(opened, f.transfer.start.since(ackclock_units::Instant::ZERO) + f.late);
        // SYN and SYN-ACK, request and response.
        let rtt = f.transfer.access.round_trip();
        assert!(response >= rtt * 2, "{f:?}");
        let server = f.server.unwrap();
        assert!(server.min_rtt.unwrap() + Duration::from_millis(1) >= rtt, "{f:?}");
        assert!(server.bytes_acked >= f.transfer.size && server.bytes_sent >= f.transfer.size, "{f:?}");
        assert!(server.data_segments_sent >= f.transfer.size.div_ceil(1448), "{f:?}");
    }
    // All sockets at both ends have the option.
    for options in [&found.client_options, &found.server_options] {
        assert_eq!(options.len(), 1);
        assert_eq!(
            (options[0].option.name(), options[0].value, options[0].same, options[0].other),
            ("TCP_THIN_LINEAR_TIMEOUTS", 1, n as u64, 0)
        );
    }
    // Losses were retransmitted, and the kernels counted them.
    let lost = found.path.forward.fault_drops;
    let counter = |name: &str| found.counters.iter().find(|c| c.0 == name).unwrap();
    assert!(lost > 5 && counter("RetransSegs").1 > 0, "{lost}, {:?}", found.counters);
    let retransmitted: u64 = found.flows.iter().map(|f| f.server.unwrap().retransmitted_segments).sum();
    assert!(
        retransmitted > 0 && retransmitted <= counter("RetransSegs").1,
        "{retransmitted}, {:?}",
        found.counters
    );
    let size: u64 = web.transfers.iter().map(|t| t.size).sum();
    assert!(
        found.received_loaded > size / 2 && found.received_loaded <= size,
        "{} of {size}",
        found.received_loaded
    );
    assert_eq!(found.path.undelivered, 0);
}

#[test]
fn a_stopped_run_reports_unfinished_transfers() {
    if !allowed() {
        return;
    }
    let (began, mut asked) = (std::time::Instant::now(), 0);
    let stop = &mut || {
        asked += 1;
        if asked > 8 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let web = web(&[], &[]);
    let found = run(&web, stop).unwrap();
    assert!(began.elapsed().as_secs() < 20);
    assert!(found.flows.iter().any(|f| f.opened.is_none()) && found.flows.iter().any(|f| f.opened.is_some()));
    assert!(
        found
            .flows
            .iter()
            .filter(|f| f.opened.is_none())
            .all(|f| f.outcome == Outcome::Unfinished && f.client.is_none())
    );
}

#[test]
fn an_unknown_kernel_parameter_is_an_error_of_one_sentence() {
    if !allowed() {
        return;
    }
    let missing = |web: &KernelWeb| match run(web, &mut || ControlFlow::Continue(())) {
        Err(DriveError::Missing(sentence)) => sentence,
        other => panic!("{other:?}"),
    };
    assert!(
        missing(&web(&[("net.ipv4.tcp_congestion_control", "no-such-rule")], &[])).contains("no-such-rule")
    );
    // Out of range in every kernel that has it, and unknown in others.
    assert!(missing(&web(&[], &[("TCP_RTO_MAX_MS", 1)])).contains("TCP_RTO_MAX_MS = 1"));
}

#[test]
fn hosts_are_identified_by_their_addresses() {
    for n in [0, 1, 255, 256, 64_999] {
        assert_eq!(Kernels::host_number(Kernels::host(n)), Some(n as usize));
    }
    assert_eq!(Kernels::host_number(Kernels::FAR), None);
    assert_eq!(Kernels::host_number(IpAddr::from([10, 79, 255, 255])), None);
    assert_eq!(Kernels::host_number(Kernels::FAR6), None);
}
