//! Every preset over the pipe, and each recovery with the same losses.

use std::sync::Arc;

use crate::support::{DELAY, Pipe, pattern};
use ackclock_engine::{Connection, PRESETS, Stack, State, Stats};
use ackclock_policy::Registry;
use ackclock_units::{Duration, Instant, Rng, SeqNumber};
use ackclock_wire::Segment;

const LONG: Instant = Instant::from_nanos(7_200_000_000_000);

fn connection(stack: &Stack, iss: u32) -> Connection {
    Connection::new(
        Arc::new(stack.config()),
        stack.build(),
        SeqNumber(iss),
        Rng::stream(1, "connection", u64::from(iss)),
    )
}

fn stack(name: &str) -> Stack {
    let mut stack = Stack::named(&Registry::builtin(), name).expect(name);
    stack.set("mss", "1000B").expect("an option");
    stack.set("time_wait", "1s").expect("an option");
    stack
}

/// Sends `bytes` under a window of about 16 segments, losing the first transmission of each segment in
/// `losses` (numbered from 0). Returns the sender's counters and how long it took.
fn lose(name: &str, bytes: usize, losses: &'static [u32]) -> (Stats, Duration) {
    let stack = stack(&format!(
        "{name}{}",
        if name.starts_with("rfc793") { "+ack-every" } else { "+iw(16)+ack-every" }
    ));
    let (mut lost, mut highest) = (vec![], 0);
    let fate = move |_: u64, from: usize, s: &Segment| {
        let n = s.seq.0.wrapping_sub(2) / 1000;
        if from == 1 || s.len == 0 {
            return vec![DELAY];
        }
        if losses.contains(&n) && !lost.contains(&n) {
            lost.push(n);
            return vec![];
        }
        // Later segments take slightly longer, so that a window does not arrive at one instant. The order is
        // kept.
        highest = n.max(highest);
        vec![DELAY + Duration::from_micros(100 * u64::from(highest))]
    };
    let mut p = Pipe::with(connection(&stack, 1), connection(&stack, 77), fate);
    p.open();
    let data = pattern(bytes);
    assert!(p.transfer(0, &data, LONG) == data, "{name}");
    let stats = p.ends[0].stats().clone();
    let took = stats.closed_at.get().expect("closed") - stats.established_at.get().expect("opened");
    (stats, took)
}

#[test]
fn every_stack_delivers_every_byte() {
    for preset in PRESETS {
        for (i, loss) in [0.0, 0.01, 0.05, 0.2].into_iter().enumerate() {
            for suffix in [
                "",
                "+star(3)+precise+bsd43-acks",
                "+no-backoff+timestamps+ecn+ack-every",
                "+heartbeat(500ms)+one-timing",
            ] {
                let name = format!("{}{suffix}", preset.name);
                let stack = stack(&name);
                let mut rng = Rng::stream(7, &name, i as u64);
                let fate = move |_: u64, _: usize, _: &Segment| {
                    let jitter =
                        if rng.chance(0.1) { Duration::from_millis(rng.below(30)) } else { Duration::ZERO };
                    let copies = if rng.chance(loss) { 0 } else { 1 + usize::from(rng.chance(0.02)) };
                    vec![DELAY + jitter; copies]
                };
                let mut p = Pipe::with(connection(&stack, u32::MAX - 30_000), connection(&stack, 5), fate);
                p.open();
                let data = pattern(100_000);
                let got = p.transfer(0, &data, LONG);
                assert!(
                    got == data,
                    "{name} at {loss}: {} of {} bytes\n{:#?}",
                    got.len(),
                    data.len(),
                    p.ends
                );
                assert_eq!(p.ends[0].state(), State::Closed, "{name} at {loss}");
            }
        }
    }
}

#[test]
fn one_loss_is_repaired_by_fast_retransmit() {
    // Tahoe too: the duplicate acks that follow release nothing, and the acknowledgment of the one
    // retransmission covers all others.
    for name in ["tahoe", "reno", "newreno", "sack", "cubic"] {
        let (stats, _) = lose(name, 200_000, &[40]);
        assert_eq!(
            (stats.timeouts, stats.fast_recoveries, stats.retransmitted_segments),
            (0, 1, 1),
            "{name}"
        );
    }
    let (stats, _) = lose("rfc793+init-rto(1s)", 200_000, &[40]);
    assert!(stats.timeouts == 1 && stats.retransmitted_segments >= 16, "go-back-N: {stats:?}");
}

#[test]
fn several_losses_in_a_window_distinguish_the_recoveries() {
    let losses: &[u32] = &[40, 43, 46];
    let ((sack, sack_took), (newreno, newreno_took), (reno, reno_took)) =
        (lose("sack", 200_000, losses), lose("newreno", 200_000, losses), lose("reno", 200_000, losses));
    // SACK retransmits the three holes in one round trip, NewReno needs one round trip each, Reno waits for
    // the timer (M-A4, M-A5, M-A6).
    assert_eq!((sack.timeouts, sack.retransmitted_segments, sack.ca_events), (0, 3, 1));
    assert_eq!((newreno.timeouts, newreno.retransmitted_segments, newreno.ca_events), (0, 3, 1));
    assert!(reno.timeouts > 0 || reno.fast_recoveries > 1, "{reno:?}");
    assert!(sack_took < newreno_took && newreno_took < reno_took, "{sack_took} {newreno_took} {reno_took}");
}

#[test]
fn a_lost_tail_is_rescued_or_times_out() {
    // The last two of 60 segments and one before: the rescue retransmission repeats the last (RFC 6675 §4
    // rule 4), whose SACK shows the other loss.
    let (stats, _) = lose("sack", 60_000, &[50, 58, 59]);
    assert_eq!((stats.timeouts, stats.retransmitted_segments), (0, 3), "{stats:?}");
    // The whole tail and nothing after it: only the timer detects that.
    let (stats, _) = lose("sack", 60_000, &[58, 59]);
    assert_eq!(stats.timeouts, 1, "{stats:?}");
}

#[test]
fn limited_transmit_lets_a_small_window_recover() {
    // RFC 3042: with a window of three segments, a loss leaves two duplicate acks; the new segments that
    // these release cause the third.
    let small = |suffix: &str| {
        let stack = stack(&format!("newreno+iw(3)+ack-every{suffix}"));
        let mut lost = false;
        let fate = move |_: u64, from: usize, s: &Segment| {
            let drop = from == 0 && s.len > 0 && s.seq.0 == 2 && !lost;
            lost |= drop;
            if drop { vec![] } else { vec![DELAY] }
        };
        let mut p = Pipe::with(connection(&stack, 1), connection(&stack, 77), fate);
        p.open();
        let data = pattern(50_000);
        assert!(p.transfer(0, &data, LONG) == data);
        p.ends[0].stats().timeouts
    };
    assert_eq!((small(""), small("+no-limited-transmit")), (0, 1));
}
