//! Whole transfers: every byte arrives exactly once and in order, or the connection fails.
//! `Simulation::finish` checks this in every run.

mod support;

use std::sync::Arc;

use ackclock_engine::Config;
use ackclock_policy::Registry;
use ackclock_sim::{Fault, FaultVerdict, PacketInfo, PacketKind};
use ackclock_trace::Outcome;
use ackclock_units::{Duration, Instant, Rng};
use support::{Path, Tcp, at, drop_tail, flow, mbit, ms, run, transfer};

/// Loses, duplicates, delays and damages packets, 2 % each.
fn storm() -> Box<dyn Fault> {
    Box::new(|_: &PacketInfo, _: Instant, rng: &mut Rng| match rng.below(50) {
        0 => FaultVerdict::Drop,
        1 => FaultVerdict::Duplicate,
        2 => FaultVerdict::Delay(Duration::from_micros(rng.below(30_000))),
        3 => FaultVerdict::Corrupt,
        _ => FaultVerdict::Pass,
    })
}

#[test]
fn a_clean_transfer_takes_the_computed_time() {
    let outcome = transfer(Tcp { ack: "every", ..Tcp::default() }, Path::default(), 1000, 1, 10);
    let row = &outcome.flows[0];
    assert_eq!(row.outcome, Outcome::Finished);
    assert_eq!((row.bytes_sent, row.bytes_delivered, row.bytes_acked), (1000, 1000, 1000));
    assert_eq!((row.retransmitted_segments, row.unneeded_retransmissions, row.timeouts), (0, 0, 0));
    // SYN and SYN-ACK carry MSS, SACK-permitted and window scale: 12 bytes of options.
    let wire = |bytes: u64| mbit(10).time_to_send(bytes);
    let established = wire(52) + ms(25) + wire(52) + ms(25);
    assert_eq!(row.established, Some(Instant::ZERO + established));
    // The handshake's ack is on the data segment; then comes the data's ack.
    let response = established + wire(1040) + ms(25) + wire(40) + ms(25);
    assert_eq!(row.response_time, Some(response));
    assert_eq!(row.path_rtt, Some(ms(50)));
}

#[test]
fn every_recovery_window_and_ack_policy_survives_a_storm() {
    let registry = Registry::builtin();
    let names = |kind: &str| {
        registry.declarations().into_iter().filter(|d| d.kind == kind).map(|d| d.name).collect::<Vec<_>>()
    };
    let (recoveries, windows, acks) = (names("recovery"), names("window"), names("ack"));
    assert!(recoveries.len() >= 5 && windows.len() >= 3 && acks.len() >= 3);
    for recovery in &recoveries {
        for window in &windows {
            for ack in &acks {
                for (sack, timestamps) in [(true, false), (false, true)] {
                    let config = Arc::new(Config {
                        mss: 1000,
                        sack,
                        timestamps,
                        time_wait: Duration::from_secs(1),
                        ..Config::default()
                    });
                    let tcp = Tcp { config, recovery, window, ack, min_rto: "200ms" };
                    let path = Path {
                        rate: mbit(20),
                        queue: Some(drop_tail("30packets")),
                        faults: vec![storm()],
                        back_faults: vec![storm()],
                        ..Path::default()
                    };
                    let outcome = transfer(tcp, path, 300_000, 7, 2000);
                    let row = &outcome.flows[0];
                    let what = format!("{recovery}, {window}, {ack}, sack {sack}: {row:?}");
                    assert_ne!(row.outcome, Outcome::Unfinished, "{what}");
                    if row.outcome == Outcome::Finished {
                        assert_eq!(row.bytes_delivered, 300_000, "{what}");
                    }
                    assert!(row.retransmitted_segments > 0, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_retransmission_of_a_dropped_segment_is_not_spurious() {
    // The 20th data packet is lost once.
    let fault = Box::new(|p: &PacketInfo, _: Instant, _: &mut Rng| {
        if p.offset == 20_000 && !p.retransmission { FaultVerdict::Drop } else { FaultVerdict::Pass }
    });
    let outcome = transfer(Tcp::default(), Path { faults: vec![fault], ..Path::default() }, 200_000, 1, 60);
    let row = &outcome.flows[0];
    assert_eq!(
        (row.retransmitted_segments, row.unneeded_retransmissions, row.timeouts, row.spurious_timeouts),
        (1, 0, 0, 0)
    );
    assert_eq!(outcome.links[0].dropped_wire, 1);
    // The lost copy never passed the link, so nothing was repeated there.
    assert_eq!(
        (outcome.links[0].retransmitted_packets, outcome.links[0].unique_bytes),
        (Some(0), Some(200_000))
    );
}

#[test]
fn a_delay_longer_than_the_timeout_makes_it_spurious() {
    // Everything from the 30th segment on is delayed by two seconds, once.
    let fault = Box::new(|p: &PacketInfo, now: Instant, _: &mut Rng| {
        let held = p.offset >= 30_000 && !p.retransmission && now < at(2000);
        if held { FaultVerdict::Delay(ms(2000)) } else { FaultVerdict::Pass }
    });
    let tcp = Tcp { min_rto: "200ms", ..Tcp::default() };
    let outcome = transfer(tcp, Path { faults: vec![fault], ..Path::default() }, 40_000, 1, 60);
    let row = &outcome.flows[0];
    assert!(row.timeouts > 0 && row.spurious_timeouts == row.timeouts, "{row:?}");
    assert!(
        row.unneeded_retransmissions > 0 && row.unneeded_retransmissions == row.retransmitted_segments,
        "{row:?}"
    );
    assert_eq!(row.outcome, Outcome::Finished);
}

#[test]
fn lost_syns_end_the_attempt_after_their_limit() {
    let fault = Box::new(
        |p: &PacketInfo, _: Instant, _: &mut Rng| {
            if p.kind == PacketKind::Syn { FaultVerdict::Drop } else { FaultVerdict::Pass }
        },
    );
    let config = Arc::new(Config { syn_retries: 3, ..Config::default() });
    let outcome = transfer(
        Tcp { config, ..Tcp::default() },
        Path { faults: vec![fault], ..Path::default() },
        1000,
        1,
        600,
    );
    let row = &outcome.flows[0];
    assert_eq!((row.outcome, row.reason), (Outcome::Failed, Some("syn-timeout")));
    assert_eq!((row.syn_retransmissions, row.bytes_sent), (3, 0));
    assert_eq!(outcome.links[0].dropped_wire, 4);
    assert_eq!(row.spurious_timeouts, 0);
    // 1 + 2 + 4 + 8 s with an initial timeout of 1 s.
    assert_eq!(row.end.map(|end| end.as_nanos() / 1_000_000_000), Some(15));
}

#[test]
fn a_web_exchange_counts_from_opening_to_the_last_byte() {
    let tcp = Arc::new(Tcp::default());
    let (net, left, right) = Path::default().build();
    let spec = flow(&tcp, (left, right), "request request=300B", "respond request=300B size=5000B", at(10));
    let outcome = run(net, vec![spec], 1, 60);
    let row = &outcome.flows[0];
    assert_eq!((row.outcome, row.responses, row.bytes_delivered), (Outcome::Finished, 1, 5000));
    let response = row.response_time.unwrap();
    assert!(ms(100) < response && response < ms(110), "two round trips and some sending: {response}");
    assert_eq!(row.start, at(10));
}

#[test]
fn many_flows_all_end_and_leave_no_packets() {
    let tcp = Arc::new(Tcp::default());
    let (net, left, right) = Path { queue: Some(drop_tail("20packets")), ..Path::default() }.build();
    let flows = (0..300)
        .map(|i| {
            flow(&tcp, (right, left), "request request=300B", "respond request=300B size=8000B", at(5 * i))
        })
        .collect();
    let outcome = run(net, flows, 1, 1000);
    assert_eq!(outcome.flows.len(), 300);
    assert!(outcome.flows.iter().all(|row| row.end.is_some()));
    assert!(outcome.links[0].dropped_queue > 0);
    for link in &outcome.links {
        assert_eq!((link.queued_at_end, link.in_flight_at_end), (0, 0));
        assert_eq!(link.packets_offered, link.packets + link.dropped_queue);
        assert_eq!(link.packets, link.delivered);
    }
}
