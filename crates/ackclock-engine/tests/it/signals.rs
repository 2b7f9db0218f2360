//! Congestion signals as M-U1 counts them: every loss episode is either a CA event or a non-CA event. Each
//! case is run with every recovery.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::support::{DELAY, Pipe, ms};
use ackclock_engine::{Connection, Stack, Stats};
use ackclock_policy::Registry;
use ackclock_trace::{EpisodeRow, EventTables, LossClass, Mask, Sink};
use ackclock_units::{Duration, Instant, Rng, SeqNumber};
use ackclock_wire::{Flags, Segment};

/// A transfer of [`SEGMENTS`] segments with an initial slow start threshold of `window` segments, a round
/// trip of 20 ms, and an ack for each segment.
#[derive(Clone, Debug)]
struct Script {
    window: u32,
    /// Transmissions that are lost: the number of the segment, from 0, and of its transmission, from 1.
    lost: Vec<(u32, u32)>,
    /// Number of SYNs that are lost.
    syns: u32,
    /// Segments that arrive marked.
    marked: Vec<u32>,
    /// Segments sent in this interval arrive at its end.
    held: (Instant, Instant),
}

const SEGMENTS: u32 = 80;
const LAST: u32 = SEGMENTS - 1;
const RECOVERIES: [&str; 4] = ["tahoe", "reno", "newreno", "sack"];

fn script(window: u32, lost: &[(u32, u32)]) -> Script {
    Script { window, lost: lost.to_vec(), syns: 0, marked: vec![], held: (ms(0), ms(0)) }
}

/// Counters of the sender: CA events, non-CA events, other losses, reductions of the window, timeouts.
type Counts = (u32, u32, u32, u32, u32);

fn run(name: &str, script: &Script) -> (Counts, Stats, Vec<EpisodeRow>) {
    // Timestamps take twelve bytes of each segment.
    let payload = if name.contains("eifel") { 988 } else { 1000 };
    let mut stack = Stack::named(&Registry::builtin(), name).expect(name);
    let window = format!("{}B", script.window * payload);
    for (key, value) in [
        ("mss", "1000B"),
        ("window.initial_ssthresh", &window),
        ("ack", "every"),
        ("recovery.limited_transmit", "false"),
    ] {
        stack.set(key, value).expect(key);
    }
    let connection = |iss: u32| {
        Connection::new(
            Arc::new(stack.config()),
            stack.build(),
            SeqNumber(iss),
            Rng::stream(1, "connection", u64::from(iss)),
        )
    };
    let (mut times, mut syns, plan) = (BTreeMap::<u32, u32>::new(), 0, script.clone());
    let clock = Rc::new(Cell::new(Instant::ZERO));
    let now = clock.clone();
    let fate = move |_: u64, from: usize, s: &Segment| {
        let n = s.seq.0.wrapping_sub(2) / payload;
        let at = now.get();
        let hold = if at >= plan.held.0 && at < plan.held.1 { plan.held.1.since(at) } else { Duration::ZERO };
        if from == 0 && s.flags.any(Flags::SYN) {
            syns += 1;
            return if syns > plan.syns { vec![DELAY] } else { vec![] };
        }
        if from == 0 && s.len > 0 {
            let times = times.entry(n).or_default();
            *times += 1;
            if plan.lost.contains(&(n, *times)) {
                return vec![];
            }
        }
        vec![DELAY + hold]
    };
    let mut pipe = Pipe::with(connection(1), connection(77), fate);
    pipe.clock = clock;
    pipe.marks = script.marked.iter().map(|n| 2 + n * payload).collect();
    pipe.ends[0].set_trace(Mask::ALL);
    pipe.open();
    let data = crate::support::pattern((SEGMENTS * payload) as usize);
    let (mut written, mut got) = (0, 0);
    let mut chunk = vec![0; 100_000];
    loop {
        written += pipe.ends[0].write(pipe.now, &data[written..]);
        pipe.drain();
        if !pipe.step(ms(600_000)) {
            break;
        }
        got += pipe.ends[1].read(pipe.now, &mut chunk);
        pipe.drain();
    }
    assert_eq!(got, data.len(), "{name}: everything arrives");
    let mut events = vec![];
    pipe.ends[0].drain_trace(&mut events);
    let mut tables = EventTables::default();
    events.iter().for_each(|e| tables.record(e));
    let episodes = tables.finish().episodes;
    let s = pipe.ends[0].stats().clone();
    let of = |class| episodes.iter().filter(|e| e.class == class).count() as u32;
    assert_eq!(
        (of(LossClass::Ca), of(LossClass::NonCa)),
        (s.ca_events, s.non_ca_events),
        "{name}: table and counters agree: {episodes:?}"
    );
    assert!(episodes.iter().all(|e| e.end.is_some()), "{name}: every episode ends: {episodes:?}");
    assert_eq!(
        episodes.iter().map(|e| u64::from(e.retransmissions)).sum::<u64>(),
        s.retransmitted_segments,
        "{name}: {episodes:?}"
    );
    assert_eq!(
        episodes.iter().map(|e| e.retransmissions.saturating_sub(1)).sum::<u32>(),
        s.other_losses,
        "{name}: {episodes:?}"
    );
    assert_eq!(pipe.ends[0].ended_episodes(), s.ca_events + s.non_ca_events, "{name}");
    ((s.ca_events, s.non_ca_events, s.other_losses, s.window_cuts, s.timeouts), s, episodes)
}

/// Runs `script` with each recovery and checks its counts, in the order of [`RECOVERIES`].
fn each(modifier: &str, script: &Script, counts: [Counts; 4]) -> Vec<(Stats, Vec<EpisodeRow>)> {
    let mut all = vec![];
    for (recovery, counts) in RECOVERIES.iter().zip(counts) {
        let name = format!("{recovery}{modifier}");
        let (got, stats, episodes) = run(&name, script);
        assert_eq!(got, counts, "{name}: {episodes:?}");
        all.push((stats, episodes));
    }
    all
}

#[test]
fn one_loss_is_one_clock_preserving_halving() {
    each("", &script(8, &[(40, 1)]), [(1, 0, 0, 1, 0); 4]);
    each("", &script(8, &[(40, 1), (60, 1)]), [(2, 0, 0, 2, 0); 4]);
}

#[test]
fn a_timeout_is_one_non_ca_event_even_if_it_repeats() {
    // Nothing follows the last segment, so no duplicate ack shows its loss.
    each("", &script(8, &[(LAST, 1)]), [(0, 1, 0, 1, 1); 4]);
    each("", &script(8, &[(LAST, 1), (LAST, 2), (LAST, 3)]), [(0, 1, 2, 1, 3); 4]);
}

#[test]
fn a_recovery_that_ends_in_a_timeout_counts_only_as_a_timeout() {
    // The retransmission is lost. SACK, with nothing new to send, does not retransmit the tail before it is
    // acknowledged (RFC 6675 §5 step 4.3, RescueRxt).
    each("", &script(8, &[(40, 1), (40, 2)]), [(0, 1, 1, 2, 1); 4]);
}

#[test]
fn a_window_of_losses_with_a_lost_retransmission_is_one_episode() {
    let lost: Vec<_> = (40..48).map(|n| (n, 1)).chain([(44, 2)]).collect();
    let timed_out = (0, 1, 9, 2, 2);
    // SACK has detected the losses before its timer expires.
    each("", &script(8, &lost), [timed_out, timed_out, timed_out, (0, 1, 9, 2, 1)]);
}

#[test]
fn several_losses_in_a_window_are_one_signal_unless_it_is_reduced_again() {
    // Reno halves once for each loss, and times out in the end. Tahoe retransmits segments that had arrived.
    each(
        "",
        &script(20, &[(50, 1), (52, 1)]),
        [(1, 0, 2, 1, 0), (0, 1, 1, 2, 0), (1, 0, 1, 1, 0), (1, 0, 1, 1, 0)],
    );
    let four = script(20, &[(50, 1), (52, 1), (54, 1), (56, 1)]);
    each("", &four, [(1, 0, 8, 1, 0), (0, 1, 4, 3, 1), (1, 0, 3, 1, 0), (1, 0, 3, 1, 0)]);
}

#[test]
fn lost_syns_are_no_signals() {
    for (stats, episodes) in each("", &Script { syns: 2, ..script(8, &[]) }, [(0, 0, 0, 0, 2); 4]) {
        assert_eq!(stats.syn_retransmissions, 2);
        assert!(episodes.is_empty());
    }
}

#[test]
fn an_ecn_echo_reduces_the_window_once_and_is_no_loss() {
    for (stats, _) in each("+ecn", &Script { marked: vec![40], ..script(8, &[]) }, [(0, 0, 0, 1, 0); 4]) {
        assert_eq!(stats.ecn_reductions, 1, "the receiver echoes until it gets CWR, and that is one signal");
    }
    // RFC 3168 §6.1.2: a loss in the window that the echo has halved does not halve it again. Tahoe
    // collapses.
    let halved = (1, 0, 0, 1, 0);
    for (stats, _) in each(
        "+ecn",
        &Script { marked: vec![40], ..script(8, &[(42, 1)]) },
        [(1, 0, 0, 2, 0), halved, halved, halved],
    ) {
        assert_eq!(stats.ecn_reductions, 1);
    }
}

#[test]
fn an_undone_timeout_is_marked_as_spurious() {
    for (stats, episodes) in
        each("+eifel", &Script { held: (ms(100), ms(1700)), ..script(8, &[]) }, [(0, 1, 0, 1, 1); 4])
    {
        assert_eq!(stats.spurious_timeouts, 1);
        assert!(episodes[0].spurious, "{episodes:?}");
    }
}

#[test]
fn a_recovery_continues_when_a_timeout_in_it_is_undone() {
    // From the fast retransmission on everything is delayed for longer than a timeout. Tahoe has not received
    // its third duplicate ack by then.
    let script = Script { held: (ms(140), ms(1700)), ..script(8, &[(40, 1)]) };
    let recovered = (1, 0, 1, 2, 1);
    for (stats, episodes) in each("+eifel", &script, [(1, 1, 0, 2, 1), recovered, recovered, recovered]) {
        assert_eq!(stats.spurious_timeouts, 1);
        let last = episodes.last().expect("an episode");
        assert!(last.class == LossClass::Ca && !last.spurious, "{episodes:?}");
    }
}

#[test]
fn timestamps_give_round_trip_samples_during_a_recovery() {
    // RTTM (M-U1): the ack of a retransmission gives a sample only if its timestamp identifies the
    // transmission.
    let script = script(8, &[(40, 1)]);
    let ((_, plain, _), (_, timed, _)) = (run("sack", &script), run("sack+eifel", &script));
    assert_eq!(timed.rtt_samples, plain.rtt_samples + 1);
    for stats in [plain, timed] {
        assert_eq!((stats.rtt_min.get(), stats.rtt_max), (Some(DELAY * 2), DELAY * 2));
        assert_eq!(stats.rtt_sum, DELAY * 2 * stats.rtt_samples);
    }
}

#[test]
fn counting_can_begin_at_any_moment() {
    let script = script(8, &[(40, 1), (60, 1)]);
    let (_, all, _) = run("sack", &script);
    let nothing = all.since(&all);
    assert_eq!(
        (nothing.segments_acked, nothing.ca_events, nothing.rtt_samples, nothing.window_cuts),
        (0, 0, 0, 0)
    );
    assert_eq!(all.since(&Stats::default()), all);
}
