//! Diversity (I-A7, I-X5): a single packet is sent twice, and its copy is expected to cause a duplicate ack.

use crate::support::{DELAY, Pipe, endpoint, ms};
use ackclock_policy::Phase;
use ackclock_units::Rng;

/// A connection that loses these data segments.
fn open(stack: &str, lost: &'static [u32]) -> Pipe {
    crate::support::losing(&format!("{stack}+mss(500B)+ack-every"), lost)
}

fn write(pipe: &mut Pipe, bytes: usize) {
    assert_eq!(pipe.ends[0].write(pipe.now, &vec![7; bytes]), bytes);
    pipe.drain();
}

/// When data segments were sent, in ms after 1 s, and their sequence numbers relative to the first byte.
fn sent(pipe: &Pipe) -> Vec<(u64, u32)> {
    let data = pipe.log.iter().filter(|(_, from, s)| *from == 0 && s.len > 0);
    data.map(|(at, _, s)| ((at.as_nanos() - 1_000_000_000) / 1_000_000, s.seq.0 - 2)).collect()
}

const STACKS: [&str; 8] =
    ["tahoe", "reno", "newreno", "sack", "fack", "fack-rh", "cubic+no-sack", "sack+timestamps"];

#[test]
fn both_copies_arrive_and_nothing_happens() {
    for stack in STACKS {
        let mut pipe = open(&format!("{stack}+diversity(2)+iw(4)"), &[]);
        let window = pipe.ends[0].view(pipe.now).window;
        for second in 1..20 {
            write(&mut pipe, 400);
            pipe.run(ms(1000 + second * 1300));
        }
        let (stats, v) = (pipe.ends[0].stats(), pipe.ends[0].view(pipe.now));
        assert_eq!(
            (stats.data_segments_sent, stats.bytes_sent, stats.bytes_acked),
            (38, 38 * 400, 19 * 400),
            "{stack}"
        );
        assert_eq!(
            (stats.retransmitted_segments, stats.timeouts, stats.fast_recoveries, stats.window_cuts),
            (0, 0, 0, 0),
            "{stack}"
        );
        // The receiver has discarded the duplicates.
        assert_eq!(
            (pipe.ends[1].stats().duplicate_segments, pipe.ends[1].stats().bytes_received),
            (19, 19 * 400),
            "{stack}"
        );
        assert!(
            v.phase == Phase::Open && v.dup_acks == 0 && v.window.cwnd >= window.cwnd.min(2000),
            "{stack}: {v:?}"
        );
        assert_eq!(pipe.ends[0].poll_timeout(), None, "{stack}: no timer is armed");
    }
}

#[test]
fn one_lost_copy_reduces_the_window_without_a_timeout() {
    // I-X5.
    for stack in STACKS {
        for lost in [&[0][..], &[1]] {
            let mut pipe = open(&format!("{stack}+diversity(2)+iw(10)"), lost);
            write(&mut pipe, 400);
            let before = pipe.ends[0].view(pipe.now).window.cwnd;
            assert_eq!(before, if stack.contains("timestamps") { 4880 } else { 5000 }, "{stack}");
            pipe.run(ms(1900));
            assert_eq!(
                (pipe.ends[0].unacked(), pipe.ends[0].stats().window_cuts),
                (0, 0),
                "{stack}: the other copy arrived, and no timeout has passed"
            );
            pipe.run(ms(10_000));
            let (stats, v) = (pipe.ends[0].stats(), pipe.ends[0].view(pipe.now));
            assert_eq!(
                (stats.window_cuts, stats.timeouts, stats.retransmitted_segments, stats.data_segments_sent),
                (1, 0, 0, 2),
                "{stack}"
            );
            assert!(v.window.cwnd < before && v.phase == Phase::Open, "{stack}: {v:?}");
            assert_eq!((stats.ca_events, stats.non_ca_events), (1, 0), "{stack}");
        }
    }
}

#[test]
fn with_all_copies_lost_a_timeout_retransmits_once() {
    // I-X5: sent twice at 0, then once after 1 s, which is lost too, and once after 3 s.
    for stack in STACKS {
        let mut pipe = open(&format!("{stack}+diversity(2)+min-rto(1s)+iw(4)"), &[0, 1, 2]);
        write(&mut pipe, 400);
        pipe.run(ms(3990));
        assert_eq!(sent(&pipe), [(0, 0), (0, 0), (1000, 0)], "{stack}");
        assert_eq!(pipe.ends[0].view(pipe.now).window.cwnd, u64::from(pipe.ends[0].smss()), "{stack}");
        pipe.run(ms(5000));
        assert_eq!(sent(&pipe)[3..], [(3000, 0)], "{stack}");
        let stats = pipe.ends[0].stats();
        assert_eq!(
            (stats.timeouts, stats.retransmitted_segments, stats.retransmitted_bytes, stats.window_cuts),
            (2, 2, 800, 1),
            "{stack}"
        );
        // A window of one segment has no room for a copy. It grows, since it was fully used.
        write(&mut pipe, 400);
        pipe.run(ms(6500));
        write(&mut pipe, 400);
        pipe.run(ms(8000));
        let window = pipe.ends[0].view(pipe.now).window.cwnd;
        assert!(window >= 800, "{stack}: {window}");
        write(&mut pipe, 400);
        pipe.run(ms(9500));
        let copies = sent(&pipe).iter().filter(|(_, seq)| *seq == 1200).count();
        assert_eq!(copies, 2, "{stack}: {:?}", sent(&pipe));
    }
}

#[test]
fn three_copies_cause_two_duplicate_acks_of_which_any_may_be_missing() {
    for (lost, cuts) in [(&[][..], 0), (&[2], 1), (&[0, 1], 1)] {
        for stack in ["newreno", "sack"] {
            let mut pipe = open(&format!("{stack}+diversity(3)"), lost);
            write(&mut pipe, 400);
            pipe.run(ms(5000));
            let stats = pipe.ends[0].stats();
            assert_eq!(
                (stats.data_segments_sent, stats.timeouts, stats.window_cuts),
                (3, 0, cuts),
                "{stack}, {lost:?} lost"
            );
        }
    }
}

#[test]
fn copies_of_several_segments_count_as_no_loss() {
    // Written 1 ms apart, with everything before still outstanding: with SACK each is copied, and none of the
    // dozen duplicate acks is taken for a loss.
    for (stack, segments) in
        [("sack+no-nagle+diversity(2)+iw(40)", 24), ("newreno+no-nagle+diversity(2)+iw(40)", 13)]
    {
        let mut pipe = open(stack, &[]);
        for i in 0..12 {
            write(&mut pipe, 100);
            pipe.run(ms(1003 + i));
        }
        pipe.run(ms(5000));
        let stats = pipe.ends[0].stats();
        assert_eq!(
            (stats.data_segments_sent, stats.retransmitted_segments, stats.window_cuts),
            (segments, 0, 0),
            "{stack}"
        );
        assert_eq!(pipe.ends[0].unacked(), 0);
    }
}

#[test]
fn a_lost_packet_among_copied_ones_is_found_by_duplicate_acks() {
    // The second of six packets is lost, with its copy: the result is as without copies, and the window is
    // reduced once.
    let counts = |stack: &str, lost: &'static [u32]| {
        let mut pipe = open(stack, lost);
        for i in 0..6 {
            write(&mut pipe, 100);
            pipe.run(ms(1001 + i));
        }
        pipe.run(ms(5000));
        assert_eq!(pipe.ends[0].unacked(), 0);
        let stats = pipe.ends[0].stats();
        (
            stats.timeouts,
            stats.fast_recoveries,
            stats.retransmitted_segments,
            stats.window_cuts,
            pipe.ends[0].view(pipe.now).window,
        )
    };
    let copied = counts("sack+no-nagle+diversity(2)+iw(40)", &[2, 3]);
    assert_eq!(copied, counts("sack+no-nagle+iw(40)", &[1]));
    assert_eq!((copied.0, copied.1, copied.3), (0, 1, 1));
}

#[test]
fn the_last_segment_of_a_bulk_flow_is_copied_if_the_window_holds_both() {
    for (segments, sent) in [(20, 20), (21, 22)] {
        let mut pipe = open("sack+diversity(2)", &[]);
        write(&mut pipe, segments * 500);
        pipe.run(ms(5000));
        let stats = pipe.ends[0].stats();
        assert_eq!(
            (stats.data_segments_sent, stats.bytes_acked, stats.window_cuts),
            (sent, segments as u64 * 500, 0)
        );
    }
}

#[test]
fn every_byte_arrives_under_losses_and_delays() {
    // With losses and delays everything arrives, and the counters of bytes add up.
    for stack in STACKS {
        for seed in 0..20 {
            for modifier in ["diversity(2)", "diversity(3)+no-nagle", "smart-framing"] {
                let name = format!("{stack}+{modifier}+min-rto(200ms)+mss(500B)");
                let mut rng = Rng::stream(seed, "weather", 0);
                let mut pipe = Pipe::with(endpoint(&name, 1), endpoint(&name, 2), move |_, _, _| {
                    if rng.chance(0.15) { vec![] } else { vec![DELAY * (1 + rng.below(3))] }
                });
                pipe.open();
                let data = crate::support::pattern(6_000);
                for (i, piece) in data.chunks(300).enumerate() {
                    let mut written = 0;
                    while written < piece.len() {
                        written += pipe.ends[0].write(pipe.now, &piece[written..]);
                        pipe.drain();
                        let until = pipe.now + DELAY * 30;
                        pipe.run(until);
                        assert!(pipe.now < ms(3_000_000), "{name}, seed {seed}: piece {i}");
                    }
                }
                let until = pipe.now + ackclock_units::Duration::from_secs(2000);
                pipe.run(until);
                let mut got = vec![0; 10_000];
                let n = pipe.ends[1].read(pipe.now, &mut got);
                assert!(got[..n] == data[..], "{name}, seed {seed}: {n} bytes, {:?}", pipe.ends[0].stats());
                let stats = pipe.ends[0].stats();
                assert!(
                    stats.bytes_sent >= stats.bytes_acked + stats.retransmitted_bytes,
                    "{name}, seed {seed}: {stats:?}"
                );
            }
        }
    }
}
