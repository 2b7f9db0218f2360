//! Receivers that misbehave to make their sender faster (Savage et al. 1999), and how senders respond.

use ackclock_testkit::pipe::{Path, Pipe, Plan};
use ackclock_testkit::timeline::{Timeline, seg};
use ackclock_testkit::{Setup, choose};
use ackclock_units::{Duration, Instant, Rate};

/// Segments of 1000 bytes; the window begins with ten.
fn sender(recovery: &str, window: &str, sack: bool) -> Setup {
    let setup =
        Setup::default().with_policies(|s| (s.recovery, s.window) = (choose(recovery), choose(window)));
    setup.with(|c| (c.mss, c.sack) = (1000, sack))
}

fn receiver(divide: u32, repeat: u32, ahead: u32) -> Setup {
    let mut setup = sender("sack", "reno", false);
    setup.ack = choose("misbehaving");
    for (param, value) in
        [("divide", divide.to_string()), ("repeat", repeat.to_string()), ("ahead", format!("{ahead}B"))]
    {
        setup.ack.set(param, &value).expect("declared");
    }
    setup
}

/// Data segments that the client sends in `time` ms over a path of 20 ms, and its window at the end
/// (segments).
fn sends(client: &Setup, server: &Setup, time: u64) -> (u64, u64) {
    let path =
        Path { rate: Some(Rate::from_bits_per_sec(20_000_000)), ..Path::clean(Duration::from_millis(10)) };
    let mut pipe = Pipe::new([client, server], [Plan::send(50_000_000), Plan::receive()], [path, path], 1);
    pipe.open(Instant::ZERO + Duration::from_millis(time));
    let at = pipe.now;
    let c = pipe.connection(0);
    (c.stats().data_segments_sent, c.view(at).window.cwnd / 1000)
}

#[test]
fn dividing_acks_opens_no_window_that_counts_bytes() {
    let ends = |window: &[(&str, &str)], parts| {
        let mut client = sender("sack", window[0].1, true);
        window[1..].iter().for_each(|(param, value)| client.window.set(param, value).expect("declared"));
        sends(&client, &receiver(parts, 0, 0), 400).1
    };
    // In slow start (CUBIC) and in congestion avoidance (Reno).
    let avoidance = [("window", "reno"), ("initial_ssthresh", "10000B")];
    for window in [&[("window", "cubic")][..], &avoidance] {
        let (honest, divided) = (ends(window, 1), ends(window, 10));
        assert!(divided <= honest + 1, "{window:?}: {divided} segments, honestly {honest}");
    }
    // Counting acks, congestion avoidance grows with their number.
    let by_acks = [&avoidance[..], &[("byte_counting", "false")]].concat();
    let (honest, divided) = (ends(&by_acks, 1), ends(&by_acks, 10));
    assert!(divided > 4 * honest, "{divided} segments, honestly {honest}");
}

#[test]
fn forged_duplicate_acks_release_no_more_than_true_ones() {
    // Twenty are outstanding, the first is lost: nineteen duplicate acks, of which the later ones release a
    // segment each (RFC 5681 §3.2 step 4 and its note).
    let released = |forged: u64| {
        let mut t = Timeline::new(&sender("newreno", "reno", false).with(|c| c.window_scaling = false));
        t.connect();
        t.inject(20, seg("S.").ack(1).mss(1000).window(60_000));
        t.take_sent();
        t.write(10_000);
        (1..=10).for_each(|i| t.inject(39 + i, seg(".").ack(1 + 1000 * i as u32).window(60_000)));
        t.write(1_000_000);
        t.take_sent();
        (0..19 + forged).for_each(|i| t.inject(100 + i / 100, seg(".").ack(10_001).window(60_000)));
        t.take_sent().len()
    };
    let honest = released(0);
    assert!((8..=12).contains(&honest), "{honest}");
    // Acks within a round trip of the first one cannot acknowledge data that has arrived.
    assert_eq!([10, 100, 1900].map(released), [honest; 3]);
}

#[test]
fn repeated_acks_gain_nothing_from_a_stack_with_sack() {
    for recovery in ["sack", "fack", "rack"] {
        let mut server = receiver(1, 0, 0);
        server.config.sack = true;
        let mut cheat = receiver(1, 20, 0);
        cheat.config.sack = true;
        let client = sender(recovery, "reno", true);
        assert_eq!(sends(&client, &cheat, 300).1, sends(&client, &server, 300).1, "{recovery}");
    }
}

#[test]
fn acks_of_data_never_sent_are_rejected() {
    // RFC 9293 §3.10.7.4: "If the ACK acks something not yet sent, then send an ACK, drop the segment".
    let (honest, early) = (
        sends(&sender("sack", "reno", true), &receiver(1, 0, 0), 100),
        sends(&sender("sack", "reno", true), &receiver(1, 0, 1 << 24), 100),
    );
    assert!(early.1 <= honest.1, "{early:?} and honestly {honest:?}");
}

#[test]
fn optimistic_acks_open_the_window_sooner() {
    // Today's protocol cannot distinguish them from correct ones (docs/departures.md).
    let client = sender("sack", "reno", true);
    let (honest, early) =
        (sends(&client, &receiver(1, 0, 0), 100), sends(&client, &receiver(1, 0, 5000), 100));
    assert!(early.0 > honest.0, "{early:?} and honestly {honest:?}");
}
