//! Strategies of applications and stacks against timeouts (interactive 2007), from the engine to the Linux
//! kernel over lossy paths. To get the same results on a busy machine, applications wait for acks rather than
//! for a clock, and timers do not fire within the test.
#![cfg(target_os = "linux")]

mod common;

use ackclock_drive::{EndKind, FlowReport, FlowsReport};
use ackclock_engine::Stats;
use common::allowed;
use common::flows::{Run, expect_whole, of};

/// A path of 10 ms with a fault, and workloads with their stacks. They finish long before the end of the run.
fn scenario(fault: &str, workloads: &[(String, String)]) -> String {
    let mut text = format!(
        "seed = 1\nduration = \"240s\"\n[path]\nkind = \"single\"\nlink = {{ rate = \"1Gbit/s\", faults = \
         [{fault}] }}\nrtt = \"10ms\"\n"
    );
    for (n, (keys, _)) in workloads.iter().enumerate() {
        text += &format!("[[workload]]\nname = \"{n}\"\nstack = \"s{n}\"\n{keys}\n");
    }
    text += "[stacks]\n";
    for (n, (_, stack)) in workloads.iter().enumerate() {
        text += &format!("s{n} = \"{stack}\"\n");
    }
    text
}

fn stats(f: &FlowReport) -> &Stats {
    f.client.stats.as_deref().unwrap()
}

/// The engine sends to the kernel, which acknowledges every packet at once.
fn to_the_kernel(text: &str) -> FlowsReport {
    let found = Run { quick_acks: true, ..Run::of(text, EndKind::Engine, EndKind::Kernel) }.whole();
    found.flows.iter().for_each(expect_whole);
    assert_eq!(found.path.undelivered, 0);
    found
}

/// A counter of the servers' kernel.
fn kernel(found: &FlowsReport, name: &str) -> u64 {
    found.counters.iter().find(|c| c.0 == name).unwrap().2.unwrap()
}

/// Messages of 500 bytes, each sent when the one before is acknowledged, so that each is alone. The last one
/// is the transfer.
fn messages(n: u32, pause: &str, stack: &str) -> [(String, String); 1] {
    let keys = format!(
        "kind = \"dialogue\"\nexchanges = {}\nbytes = \"500B\"\npause = \"{pause}\"\nsize = \"500B\"",
        n - 1
    );
    [(keys, stack.to_owned())]
}

/// Bytes of copies sent: bytes sent beyond those written and retransmitted.
fn copies(f: &FlowReport) -> u64 {
    let s = stats(f);
    assert_eq!((s.bytes_sent - s.retransmitted_bytes - f.client.written) % 500, 0);
    (s.bytes_sent - s.retransmitted_bytes - f.client.written) / 500
}

/// Each application with the stacks for it, with and without RACK.
const STRATEGIES: &[(&str, &str, &str)] = &[
    ("telnet", "", "sack"),
    ("telnet", "", "newreno"),
    ("telnet", "", "sack+rack"),
    ("telnet", "", "sack+early-retransmit+no-nagle"),
    ("telnet", "", "sack+dup-thresh(2)+no-nagle"),
    ("telnet", "", "sack+diversity(2)+no-nagle"),
    ("telnet", "", "newreno+diversity(3)+no-nagle"),
    ("telnet", "", "sack+rack+diversity(2)+no-nagle"),
    ("telnet", "", "sack+thin-min-rto(40ms)+no-nagle"),
    ("telnet", "", "sack+rack+thin-min-rto(40ms)+no-nagle"),
    ("telnet", "", "sack+smart-framing"),
    ("telnet", "", "sack+rack+smart-framing"),
    ("telnet", "until = \"arrived\"", "sack+no-nagle"),
    ("padded", "", "sack+no-nagle"),
    ("padded", "min_window = 3", "sack+early-retransmit+no-nagle"),
    ("padded", "", "sack+rack+no-nagle"),
    ("padded", "until = \"arrived\"", "sack+diversity(2)+no-nagle"),
    ("backlogged", "dummy_bytes = \"300B\"", "sack+mss(500B)+no-nagle"),
    ("backlogged", "dummy_bytes = \"300B\"", "sack+rack+mss(500B)+no-nagle"),
    ("backlogged", "dummy_bytes = \"300B\"\nsince = \"typed\"", "newreno+mss(500B)+no-nagle"),
];
/// Packets typed by each flow.
const PACKETS: usize = 15;

#[test]
fn every_byte_arrives_whatever_the_strategy() {
    if !allowed() {
        return;
    }
    let workload = |(app, keys, stack): &(&str, &str, &str)| {
        let keys = format!(
            "kind = \"{app}\"\nflows = 4\nspread = \"50ms\"\nthink = \"20ms\"\npackets = {PACKETS}\n{keys}"
        );
        (keys, format!("{stack}+min-rto(200ms)"))
    };
    let workloads: Vec<_> = STRATEGIES.iter().map(workload).collect();
    let found = to_the_kernel(&scenario("{ kind = \"loss\", p = 0.1, of = \"data\" }", &workloads));
    assert!(found.path.forward.fault_drops > 100, "{:?}", found.path);
    for (n, (app, _, stack)) in STRATEGIES.iter().enumerate() {
        let flows = of(&found, &n.to_string());
        assert_eq!(flows.len(), 4);
        for f in flows {
            // Each packet has one response time, and nothing else has any.
            assert_eq!(f.client.responses.len(), PACKETS, "{app} over {stack}: {f:?}");
            let dummies = f.client.written - 500 * PACKETS as u64;
            let right = match *app {
                "telnet" => dummies == 0,
                "padded" => dummies.is_multiple_of(20) && dummies <= 60 * PACKETS as u64,
                _ => dummies.is_multiple_of(300) && dummies > 0,
            };
            assert!(right, "{app} over {stack}: {dummies} bytes of dummies");
        }
    }
}

#[test]
fn a_lost_copy_does_not_count_as_a_loss() {
    if !allowed() {
        return;
    }
    let (n, every) = (60, 25);
    // Loses data packets 2, 27, 52...: the copy or the original of a pair. The window has room for all that
    // are missing until a timeout.
    let fault = format!("{{ kind = \"periodic-loss\", every = {every}, first = 2, of = \"data\" }}");
    let found =
        to_the_kernel(&scenario(&fault, &messages(n, "0s", "sack+diversity(2)+min-rto(120s)+max-rto(1h)")));
    let (f, lost) = (&found.flows[0], u64::from((2 * n - 2) / every + 1));
    assert_eq!(found.path.forward.fault_drops, lost);
    // Each message was sent twice. If duplicate acks of copies were misinterpreted, copies would fill the
    // window.
    assert_eq!((copies(f), stats(f).data_segments_sent), (u64::from(n), u64::from(2 * n)));
    assert_eq!(
        (stats(f).retransmitted_segments, stats(f).timeouts, stats(f).fast_recoveries),
        (0, 0, 0),
        "{:?}",
        stats(f)
    );
    // A DSACK for each pair of which both arrived.
    assert_eq!(kernel(&found, "TCPDSACKOldSent"), u64::from(n) - lost);
    assert_eq!(stats(f).window_cuts, 0, "the timeout after which a copy counts as missing is far away");
}

#[test]
fn a_missed_copy_reduces_the_window() {
    if !allowed() {
        return;
    }
    // As above, with a short timer that fires between a message and the one after the pause.
    let text = messages(8, "1s", "sack+diversity(2)+min-rto(50ms)");
    let found =
        to_the_kernel(&scenario("{ kind = \"periodic-loss\", every = 5, first = 2, of = \"data\" }", &text));
    assert!(
        copies(&found.flows[0]) >= 8 && stats(&found.flows[0]).window_cuts >= 1,
        "{:?}",
        stats(&found.flows[0])
    );
}

#[test]
fn losing_both_copies_causes_a_timeout_and_a_single_retransmission() {
    if !allowed() {
        return;
    }
    // Loses the first data packet, and the first of the rest: each fault sees the packets that the one before
    // lets pass.
    let fault = "{ kind = \"nth-loss\", number = [1, 1], of = \"data\" }";
    let text = messages(3, "0s", "sack+diversity(2)+min-rto(200ms)+max-rto(1h)");
    let found = to_the_kernel(&scenario(fault, &text));
    let s = stats(&found.flows[0]);
    assert!(s.timeouts >= 1 && s.retransmitted_segments >= 1, "{s:?}");
}

#[test]
fn a_thin_flow_uses_the_smaller_minimum_rto() {
    if !allowed() {
        return;
    }
    let fault = "{ kind = \"periodic-loss\", every = 4, of = \"data\" }";
    // With the normal minimum, a single timeout would take longer than the run.
    let found = to_the_kernel(&scenario(
        fault,
        &messages(12, "0s", "sack+min-rto(1h)+max-rto(1h)+thin-min-rto(30ms)"),
    ));
    let s = stats(&found.flows[0]);
    assert!(s.timeouts >= 3 && s.retransmitted_segments >= 3, "{s:?}");
}

#[test]
fn a_packet_in_four_pieces_is_repaired_by_duplicate_acks() {
    if !allowed() {
        return;
    }
    // Loses the first piece of every fifth message: data packets 1, 22 (with one retransmission)...
    let fault = "{ kind = \"periodic-loss\", every = 21, first = 1, of = \"data\" }";
    let n = 20;
    let found =
        to_the_kernel(&scenario(fault, &messages(n, "0s", "sack+smart-framing+min-rto(120s)+max-rto(1h)")));
    let (s, lost) = (stats(&found.flows[0]), found.path.forward.fault_drops);
    assert_eq!(s.data_segments_sent - s.retransmitted_segments, u64::from(4 * n));
    assert_eq!(
        (s.retransmitted_segments, u64::from(s.fast_recoveries), s.timeouts),
        (lost, lost, 0),
        "{s:?}"
    );
    assert!(lost >= 4);
}

#[test]
fn two_packets_are_enough_for_early_retransmit() {
    if !allowed() {
        return;
    }
    let transfer = (
        "kind = \"fixed\"\nsize = \"1000B\"".to_owned(),
        "sack+early-retransmit+mss(500B)+min-rto(120s)+max-rto(1h)".to_owned(),
    );
    let found = to_the_kernel(&scenario("{ kind = \"nth-loss\", number = 1, of = \"data\" }", &[transfer]));
    let s = stats(&found.flows[0]);
    assert_eq!((s.retransmitted_segments, s.fast_recoveries, s.timeouts), (1, 1, 0), "{s:?}");
}

#[test]
fn a_probe_repairs_a_packet_that_was_lost_alone() {
    if !allowed() {
        return;
    }
    let fault = "{ kind = \"periodic-loss\", every = 4, of = \"data\" }";
    let found = to_the_kernel(&scenario(fault, &messages(12, "0s", "sack+rack+min-rto(120s)+max-rto(1h)")));
    let s = stats(&found.flows[0]);
    assert!(s.timeouts == 0 && s.tail_loss_probes >= 3, "{s:?}");
}
