//! The test whether a peer acknowledges data that it has not received (Sherwood, Bhattacharjee & Braud 2005).

use ackclock_engine::AbortReason;
use ackclock_testkit::pipe::{Path, Pipe, Plan};
use ackclock_testkit::timeline::{Timeline, seg};
use ackclock_testkit::{Setup, choose};
use ackclock_trace::{EventKind, Mask};
use ackclock_units::{Duration, Instant, Rate};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Segments of 1000 bytes, every `every`-th of which is skipped on average.
fn tester(recovery: &str, sack: bool, every: u64) -> Setup {
    let setup = Setup::default().with_policies(|s| (s.recovery, s.ack) = (choose(recovery), choose("every")));
    setup.with(|c| (c.mss, c.sack, c.skip_test, c.rcv_buf) = (1000, sack, every, 60_000))
}

const STACKS: [(&str, bool); 7] = [
    ("tahoe", false),
    ("reno", false),
    ("newreno", false),
    ("newreno", true),
    ("sack", true),
    ("fack", true),
    ("rack", true),
];

#[test]
fn a_segment_sent_a_round_trip_late_is_no_loss() {
    for (recovery, sack) in STACKS {
        let path = Path { rate: Some(Rate::from_bits_per_sec(20_000_000)), ..Path::clean(ms(20)) };
        for seed in 0..5 {
            let s = tester(recovery, sack, 50);
            let mut pipe = Pipe::new([&s, &s], [Plan::send(5_000_000), Plan::receive()], [path, path], seed);
            pipe.sides[0].endpoint.connection.set_trace(Mask::ALL);
            pipe.transfer(Instant::ZERO + Duration::from_secs(600));
            let c = pipe.connection(0).stats();
            assert_eq!(
                (c.retransmitted_segments, c.timeouts, c.ca_events),
                (0, 0, 0),
                "{recovery}, SACK {sack}, seed {seed}"
            );
            let mut events = Vec::new();
            pipe.sides[0].endpoint.connection.drain_trace(&mut events);
            let sent: Vec<_> = events
                .iter()
                .filter_map(
                    |e| if let EventKind::Sent { seq, len: 1.., .. } = e.kind { Some(seq) } else { None },
                )
                .collect();
            let late = sent.windows(2).filter(|pair| pair[1] < pair[0]).count();
            assert!(
                (8..150).contains(&late),
                "{recovery}, SACK {sack}, seed {seed}: {late} of {}",
                sent.len()
            );
        }
    }
}

#[test]
fn no_honest_receiver_is_accused() {
    let way = Path { rate: Some(Rate::from_bits_per_sec(8_000_000)), ..Path::clean(ms(20)) };
    let bad = Path { loss: 0.05, duplicate: 0.05, jitter: ms(30), ..way };
    for (recovery, sack) in STACKS {
        for (forth, back) in [(Path { loss: 0.03, ..way }, way), (bad, bad)] {
            for seed in 0..20 {
                let s =
                    tester(recovery, sack, 8).with(|c| (c.timestamps, c.syn_retries) = (seed % 2 == 0, 20));
                let mut pipe =
                    Pipe::new([&s, &s], [Plan::send(150_000), Plan::send(30_000)], [forth, back], seed);
                // `transfer` checks that both sides finished with every byte.
                pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
                assert_eq!(
                    [0, 1].map(|i| pipe.sides[i].aborted()),
                    [None, None],
                    "{recovery}, SACK {sack}, seed {seed}"
                );
            }
        }
    }
}

#[test]
fn a_receiver_that_acknowledges_early_is_detected() {
    for (recovery, sack) in STACKS {
        let mut cheat = tester("sack", sack, 0);
        cheat.ack = choose("misbehaving");
        cheat.ack.set("ahead", "8000B").expect("declared");
        let path = Path { rate: Some(Rate::from_bits_per_sec(20_000_000)), ..Path::clean(ms(20)) };
        for seed in 0..5 {
            let s = tester(recovery, sack, 20);
            let mut pipe =
                Pipe::new([&s, &cheat], [Plan::send(1_000_000), Plan::receive()], [path, path], seed);
            pipe.open(Instant::ZERO + Duration::from_secs(60));
            assert_eq!(
                pipe.sides[0].aborted(),
                Some(AbortReason::FalseAck),
                "{recovery}, SACK {sack}, seed {seed}"
            );
        }
    }
}

#[test]
fn a_report_of_the_skipped_segment_ends_the_connection() {
    for sacked in [false, true] {
        let setup = tester("sack", true, 1);
        let mut t =
            Timeline::connected(&setup, seg("S.").ack(1).mss(1000).window(60_000).sack_permitted(true));
        t.write(10_000);
        // With a mean of one the first segment is always skipped.
        assert_eq!(t.take_sent().len(), 9);
        let claim = if sacked { seg(".").ack(1).sack(1, 1001) } else { seg(".").ack(1001) };
        t.inject(20, claim.window(60_000));
        assert!(t.take_sent().iter().any(|(_, s)| s.flags.has(ackclock_wire::Flags::RST)), "SACK {sacked}");
    }
}
