//! RACK-TLP (RFC 8985) and Early Retransmit (RFC 5827) in whole connections.

use std::sync::Arc;

use crate::support::{DELAY, Pipe, pattern};
use ackclock_engine::{Connection, Stack, State, Stats};
use ackclock_policy::Registry;
use ackclock_trace::{EventKind, Mask, SendKind};
use ackclock_units::{Duration, Instant, Rng, SeqNumber};
use ackclock_wire::Segment;

const LONG: Instant = Instant::from_nanos(7_200_000_000_000);
const RTT: Duration = Duration::from_millis(20);

fn connection(name: &str, iss: u32) -> Connection {
    with_window(name, "1MiB", iss)
}

/// A connection with receive buffer `rcv_buf`.
fn with_window(name: &str, rcv_buf: &str, iss: u32) -> Connection {
    let mut stack = Stack::named(&Registry::builtin(), name).expect(name);
    stack.set("mss", "1000B").expect("an option");
    stack.set("time_wait", "1s").expect("an option");
    stack.set("rcv_buf", rcv_buf).expect("an option");
    let mut connection = Connection::new(
        Arc::new(stack.config()),
        stack.build(),
        SeqNumber(iss),
        Rng::stream(1, "connection", u64::from(iss)),
    );
    connection.set_trace(Mask::PACKETS);
    connection
}

/// The number of a data segment, counted from 0.
fn number(s: &Segment) -> u32 {
    s.seq.0.wrapping_sub(2) / 1000
}

/// A pipe between two such stacks; `fate` returns for the n-th transmission (from 0) of each data segment of
/// the first end how much longer than usual it takes, or `None` if it is lost. Later segments take slightly
/// longer than earlier ones, so that a window does not arrive at one instant. The order is kept.
fn pipe(name: &str, mut fate: impl FnMut(u32, u32) -> Option<Duration> + 'static) -> Pipe {
    let (mut times, mut highest) = (vec![], 0);
    let fate = move |_: u64, from: usize, s: &Segment| {
        if from == 1 || s.len == 0 {
            return vec![DELAY];
        }
        let n = number(s);
        times.resize(times.len().max(n as usize + 1), 0);
        times[n as usize] += 1;
        highest = n.max(highest);
        let usual = DELAY + Duration::from_micros(100 * u64::from(highest));
        fate(n, times[n as usize] - 1).map(|longer| usual + longer).into_iter().collect()
    };
    let name = format!("{name}+ack-every");
    // A small window needs no scaling; with it the first ack looks like a window update, not like a duplicate
    // (RFC 5681 §2).
    let rcv_buf = if name.contains("iw(16)") || name.contains("iw(40)") { "1MiB" } else { "60000B" };
    let mut p = Pipe::with(with_window(&name, rcv_buf, 1), with_window(&name, rcv_buf, 77), fate);
    p.open();
    p
}

/// Sends `bytes` in segments of 1000 under a window of about 16. `losses` are numbers of segments and how
/// many of their first transmissions are lost. Returns the sender's counters and the duration.
fn lose(name: &str, bytes: usize, losses: &'static [(u32, u32)]) -> (Stats, Duration) {
    let lost =
        move |n: u32, again: u32| losses.iter().any(|(segment, times)| *segment == n && again < *times);
    let mut p =
        pipe(&format!("{name}+{}", if bytes > 10_000 { "iw(16)" } else { "iw(10)" }), move |n, again| {
            (!lost(n, again)).then_some(Duration::ZERO)
        });
    let data = pattern(bytes);
    assert!(p.transfer(0, &data, LONG) == data, "{name}");
    let stats = p.ends[0].stats().clone();
    let took = stats.closed_at.get().expect("closed") - stats.established_at.get().expect("opened");
    (stats, took)
}

/// The data segments sent so far: when, of which kind, and their numbers.
fn sent(p: &mut Pipe) -> Vec<(Instant, SendKind, u32)> {
    let mut events = vec![];
    p.ends[0].drain_trace(&mut events);
    let data = |e: &ackclock_trace::Event| match e.kind {
        EventKind::Sent { kind, seq, len, .. } if len > 0 => Some((e.at, kind, seq.0.wrapping_sub(2) / 1000)),
        _ => None,
    };
    events.iter().filter_map(data).collect()
}

#[test]
fn a_lost_tail_is_probed_before_the_timer_expires() {
    // The last two of 60: the probe repeats the last one, whose SACK shows the loss of the other (RFC 8985
    // §7.4.1).
    let ((rack, took), (sack, longer)) =
        (lose("rack", 60_000, &[(58, 1), (59, 1)]), lose("sack", 60_000, &[(58, 1), (59, 1)]));
    assert_eq!(
        (rack.timeouts, rack.tail_loss_probes, rack.retransmitted_segments, rack.ca_events),
        (0, 1, 2, 1),
        "{rack:?}"
    );
    assert_eq!((sack.timeouts, sack.tail_loss_probes), (1, 0), "{sack:?}");
    assert!(longer > took + Duration::from_millis(800), "the timer waits a second: {took} {longer}");
    // The whole flight.
    let (rack, _) = lose(
        "rack",
        10_000,
        &[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1)],
    );
    assert_eq!((rack.timeouts, rack.tail_loss_probes, rack.retransmitted_segments), (0, 1, 10), "{rack:?}");
    // Without probes, the timer again.
    let mut p = pipe("sack+iw(16)", |n, again| (n < 58 || again > 0).then_some(Duration::ZERO));
    let data = pattern(60_000);
    assert!(p.transfer(0, &data, LONG) == data);
    assert_eq!(p.ends[0].stats().timeouts, 1);
}

#[test]
fn a_tail_loss_probe_restarts_the_retransmission_timer() {
    // The last segment and its probe are lost: two smoothed round trips, then a whole timeout (RFC 8985
    // §7.3). One probe for a tail.
    let mut p = pipe("rack+iw(4)", |n, again| (n < 3 || again > 1).then_some(Duration::ZERO));
    let data = pattern(4000);
    assert!(p.transfer(0, &data, LONG) == data);
    let stats = p.ends[0].stats().clone();
    assert_eq!(
        (stats.timeouts, stats.tail_loss_probes, stats.retransmitted_segments),
        (1, 1, 2),
        "{stats:?}"
    );
    let last: Vec<_> = sent(&mut p).into_iter().filter(|(_, _, n)| *n == 3).collect();
    assert_eq!(
        last.iter().map(|(_, kind, _)| *kind).collect::<Vec<_>>(),
        [SendKind::New, SendKind::TailLossProbe { again: true }, SendKind::TimeoutRetransmit]
    );
    // From the ack of the third segment: 2 * SRTT, and the longest delay of the ack of a single segment
    // (§7.2).
    let waited = last[1].0 - last[0].0;
    let least = RTT * 3 + Duration::from_millis(200);
    assert!(waited >= least && waited < least + Duration::from_millis(1), "{waited}");
    assert_eq!(last[2].0 - last[1].0, Duration::from_secs(1));
}

#[test]
fn a_probe_carries_new_data_if_there_is_some() {
    // Nagle's algorithm holds back the half segment while the two before it are unacknowledged, and those are
    // lost.
    let mut p = pipe("rack+iw(4)", |n, again| (n == 2 || again > 0).then_some(Duration::ZERO));
    p.ends[0].write(p.now, &pattern(2500));
    p.drain();
    p.run(p.now + Duration::from_secs(10));
    let all = sent(&mut p);
    assert_eq!(
        all[..3].iter().map(|(_, kind, n)| (*kind, *n)).collect::<Vec<_>>(),
        [(SendKind::New, 0), (SendKind::New, 1), (SendKind::TailLossProbe { again: false }, 2)]
    );
    let stats = p.ends[0].stats();
    assert_eq!(
        (stats.timeouts, stats.tail_loss_probes, stats.retransmitted_segments, stats.bytes_acked),
        (0, 1, 2, 2500),
        "{stats:?}"
    );
}

#[test]
fn a_loss_that_the_probe_repaired_reduces_the_window() {
    // RFC 8985 §7.4.2: detected when something beyond it is acknowledged.
    let after = |lost: u32| {
        let mut p = pipe("rack+iw(8)", move |n, again| (n != lost || again > 0).then_some(Duration::ZERO));
        for part in 0..2 {
            p.ends[0].write(p.now, &pattern(8000));
            p.drain();
            p.run(p.now + Duration::from_secs(5));
            assert_eq!(
                p.ends[0].stats().window_cuts,
                u32::from(part == 1 && lost == 7),
                "segment {lost}, part {part}"
            );
        }
        p.ends[0].stats().clone()
    };
    let (lost, none) = (after(7), after(99));
    assert_eq!(
        (lost.tail_loss_probes, lost.timeouts, lost.ca_events, lost.non_ca_events, lost.fast_recoveries),
        (1, 0, 1, 0, 0),
        "{lost:?}"
    );
    assert_eq!((none.tail_loss_probes, none.ca_events), (0, 0));
}

#[test]
fn a_spurious_probe_does_not_reduce_the_window() {
    // The ack of the last segment is late: the receiver reports the probe as a duplicate (case 1 of RFC 8985
    // §7.4.2).
    let mut late = Some(Duration::from_millis(300));
    let fate = move |_: u64, from: usize, s: &Segment| {
        let last = from == 1 && s.ack.0 == 2 + 8000;
        vec![if last { late.take().unwrap_or(DELAY) } else { DELAY }]
    };
    let mut p = Pipe::with(connection("rack+iw(8)+ack-every", 1), connection("rack+ack-every", 77), fate);
    p.open();
    for _ in 0..2 {
        p.ends[0].write(p.now, &pattern(8000));
        p.drain();
        p.run(p.now + Duration::from_secs(5));
    }
    let stats = p.ends[0].stats();
    assert_eq!(
        (stats.tail_loss_probes, stats.retransmitted_segments, stats.window_cuts, stats.timeouts),
        (1, 1, 0, 0),
        "{stats:?}"
    );
    assert_eq!(p.ends[1].stats().duplicate_segments, 1);
}

#[test]
fn reordering_within_the_reordering_window_causes_no_retransmission() {
    // Two segments overtake one. From then on reordering is expected, and ten segments may overtake one
    // within a quarter of the round trip. Duplicate acks treat that as a loss.
    let run = |name: &str, second: Duration| {
        let mut p = pipe(&format!("{name}+iw(40)"), move |n, _| {
            Some(match n {
                5 => Duration::from_micros(250),
                30 => second,
                _ => Duration::ZERO,
            })
        });
        let data = pattern(200_000);
        assert!(p.transfer(0, &data, LONG) == data);
        let s = p.ends[0].stats().clone();
        (s.retransmitted_segments, s.window_cuts, s.timeouts)
    };
    assert_eq!(run("rack", Duration::from_micros(1050)), (0, 0, 0));
    assert_eq!(run("sack", Duration::from_micros(1050)), (1, 1, 0));
    // For RACK, a longer delay is a loss as well.
    assert_eq!(run("rack", Duration::from_millis(12)), (1, 1, 0));
}

#[test]
fn lost_retransmissions_are_found_without_the_timer() {
    let ((rack, _), (sack, _)) = (lose("rack", 200_000, &[(40, 3)]), lose("sack", 200_000, &[(40, 3)]));
    assert_eq!((rack.timeouts, rack.retransmitted_segments, rack.fast_recoveries), (0, 3, 1), "{rack:?}");
    assert!(sack.timeouts > 0, "{sack:?}");
}

#[test]
fn one_loss_and_several_are_repaired_as_with_sack() {
    for losses in [&[(40, 1)][..], &[(40, 1), (43, 1), (46, 1)]] {
        let ((rack, took), (sack, as_sack)) = (lose("rack", 200_000, losses), lose("sack", 200_000, losses));
        assert_eq!(
            (rack.timeouts, rack.retransmitted_segments, rack.ca_events),
            (0, losses.len() as u64, 1),
            "{rack:?}"
        );
        assert_eq!(
            (sack.timeouts, sack.retransmitted_segments, sack.ca_events),
            (0, losses.len() as u64, 1),
            "{sack:?}"
        );
        assert!(took < as_sack + RTT, "{took} {as_sack}");
    }
}

#[test]
fn without_sack_it_is_newreno() {
    let (rack, newreno) =
        (lose("newreno+rack", 200_000, &[(40, 1), (43, 1)]), lose("newreno", 200_000, &[(40, 1), (43, 1)]));
    assert_eq!(rack, newreno);
    assert_eq!(lose("rack+no-sack", 60_000, &[(59, 1)]).0.tail_loss_probes, 0, "TLP needs SACK too");
}

#[test]
fn small_flights_recover_early() {
    // RFC 5827: two or three segments, the first lost, and nothing to follow.
    for (bytes, name) in [
        (2000, "newreno"),
        (3000, "newreno"),
        (2000, "reno"),
        (2500, "sack"),
        (2000, "sack"),
        (2500, "fack"),
        (2500, "tahoe"),
    ] {
        let (late, early) =
            (lose(name, bytes, &[(0, 1)]).0, lose(&format!("{name}+early-retransmit"), bytes, &[(0, 1)]).0);
        assert_eq!((late.timeouts, late.fast_recoveries), (1, 0), "{name} {bytes}");
        assert_eq!(
            (early.timeouts, early.fast_recoveries, early.retransmitted_segments),
            (0, 1, 1),
            "{name} {bytes}"
        );
    }
    // Data that Nagle's algorithm holds back does not count as new data to send.
    let held = |name: &str| {
        let mut p = pipe(&format!("{name}+iw(4)"), |n, again| (n > 0 || again > 0).then_some(Duration::ZERO));
        p.ends[0].write(p.now, &pattern(2500));
        p.drain();
        p.run(p.now + Duration::from_secs(10));
        (p.ends[0].stats().timeouts, p.ends[0].stats().bytes_acked)
    };
    assert_eq!((held("sack"), held("sack+early-retransmit")), ((1, 2500), (0, 2500)));
    // The loss of a single segment is not shown by any ack; RACK probes it.
    assert_eq!(lose("sack+early-retransmit", 1000, &[(0, 1)]).0.timeouts, 1);
    let (rack, _) = lose("rack", 1000, &[(0, 1)]);
    assert_eq!((rack.timeouts, rack.tail_loss_probes), (0, 1));
    // §3: with new data to send, Limited Transmit causes the missing duplicate acks, and the threshold stays
    // three.
    let run = |name: &str| {
        let mut p = pipe(&format!("{name}+iw(3)"), |n, again| (n > 0 || again > 0).then_some(Duration::ZERO));
        let data = pattern(50_000);
        assert!(p.transfer(0, &data, LONG) == data);
        let dup_acks_first = sent(&mut p).iter().take_while(|(_, kind, _)| *kind == SendKind::New).count();
        (p.ends[0].stats().timeouts, dup_acks_first)
    };
    assert_eq!(
        run("sack+early-retransmit"),
        (0, 5),
        "two segments by Limited Transmit before the retransmission"
    );
    assert_eq!(run("sack+early-retransmit"), run("sack"));
    // Neither applies: with new data, even if it may not be sent, there is no Early Retransmit.
    assert_eq!(run("sack+early-retransmit+no-limited-transmit").0, 1);
}

#[test]
fn the_threshold_can_be_two_duplicate_acks() {
    let (stats, _) = lose("newreno+dup-thresh(2)", 3000, &[(0, 1)]);
    assert_eq!((stats.timeouts, stats.fast_recoveries), (0, 1));
}

#[test]
fn every_byte_arrives_in_any_combination() {
    for name in [
        "rack+f-rto",
        "rack+eifel",
        "cubic+rack+ecn+timestamps",
        "newreno+rack",
        "rack+lite(500ms)",
        "rack+precise+no-nagle",
        "rack+min-rto(30ms)+f-rto",
    ] {
        for (i, loss) in [0.01, 0.05, 0.2].into_iter().enumerate() {
            let mut rng = Rng::stream(11, name, i as u64);
            let fate = move |_: u64, _: usize, _: &Segment| {
                let jitter =
                    if rng.chance(0.1) { Duration::from_millis(rng.below(30)) } else { Duration::ZERO };
                let copies = if rng.chance(loss) { 0 } else { 1 + usize::from(rng.chance(0.02)) };
                vec![DELAY + jitter; copies]
            };
            let mut p = Pipe::with(connection(name, u32::MAX - 30_000), connection(name, 5), fate);
            p.open();
            let data = pattern(100_000);
            let got = p.transfer(0, &data, LONG);
            assert!(got == data, "{name} at {loss}: {} of {} bytes\n{:#?}", got.len(), data.len(), p.ends);
            assert_eq!(p.ends[0].state(), State::Closed, "{name} at {loss}");
        }
    }
}

/// Counters and duration of a transfer of ten segments under a window of three, with the first transmissions
/// of the segments `lost` lost.
fn lose_of_ten(name: &str, lost: &'static [u32]) -> (Stats, Duration) {
    let mut p = pipe(&format!("{name}+iw(3)"), move |n, again| {
        (again > 0 || !lost.contains(&n)).then_some(Duration::ZERO)
    });
    let data = pattern(10_000);
    assert!(p.transfer(0, &data, LONG) == data, "{name}");
    let stats = p.ends[0].stats().clone();
    let took = stats.closed_at.get().expect("closed") - stats.established_at.get().expect("opened");
    (stats, took)
}

#[test]
fn the_sack_of_a_probe_counts_with_any_timestamp_echo() {
    // An ack that SACKs the probe above a hole echoes the timestamp from before the hole (RFC 7323 §4.3).
    // That does not mean that an original had arrived.
    let (without, took) = lose_of_ten("rack", &[7, 8, 9]);
    let (with, took_with) = lose_of_ten("rack+timestamps", &[7, 8, 9]);
    assert_eq!((without.timeouts, with.timeouts), (0, 0), "{with:?}");
    assert!(took_with < took + Duration::from_millis(20), "{took_with} and {took}");
}

#[test]
fn a_fin_takes_no_room_in_the_window() {
    // RFC 5681 §2 counts data. Under a window of three, the retransmission of the third loss needs room for a
    // segment, not for a segment and a byte.
    for name in ["sack", "fack", "newreno"] {
        let (stats, took) = lose_of_ten(name, &[3, 6, 9]);
        assert!(stats.timeouts <= 1 && took < Duration::from_millis(1_100), "{name}: {took}, {stats:?}");
    }
    assert_eq!(lose_of_ten("sack", &[3, 6, 9]).0.timeouts, 0);
}
