//! Windows of the receiver: zero-window probes, silly windows, Nagle's algorithm, scaling, bounded
//! reassembly.

use ackclock_engine::{AbortReason, ConnectionEvent, State};
use ackclock_testkit::timeline::{Seg, Timeline, seg};
use ackclock_testkit::{Setup, choose};

fn plain() -> Setup {
    Setup::default().with(|c| (c.sack, c.window_scaling) = (false, false))
}

fn syn_ack() -> Seg {
    seg("S.").ack(1).mss(1000)
}

/// An established connection whose peer's window is full and closed after `n` segments.
fn closed_after(n: u32) -> Timeline {
    let mut t = Timeline::connected(&plain(), syn_ack().window((n * 1000) as u16));
    t.write(20_000);
    for i in 0..n {
        t.expect(0, seg(".").seq(1 + i * 1000).len(1000));
    }
    t.expect_silence(0);
    t.inject(10, seg(".").ack(1 + n * 1000).window(0));
    t
}

#[test]
fn a_closed_window_is_probed_with_growing_intervals() {
    // RFC 9293 §3.8.6.1: the first probe after a timeout (here a second), then exponentially; one byte of new
    // data.
    let mut t = closed_after(2);
    for at in [1010, 3010, 7010, 15_010, 31_010] {
        t.expect(at, seg(".").seq(2001).len(1));
        // The peer does not accept it.
        t.inject(at, seg(".").ack(2001).window(0));
    }
    // No longer than a minute.
    t.expect_within(63_010, 95_010, seg(".").seq(2001).len(1));
    t.inject(95_100, seg(".").ack(2001).window(0));
    t.expect_within(123_000, 160_000, seg(".").seq(2001).len(1));
    assert_eq!(t.state(), State::Established);
}

#[test]
fn acknowledged_probes_never_abort_the_connection() {
    // RFC 9293 §3.8.6.1: as long as the peer acknowledges, the connection stays open.
    let mut t = closed_after(1);
    for _ in 0..200 {
        let probe = t.expect_within(0, u64::MAX / 2_000_000, seg(".").len(1));
        assert_eq!(probe.seq.0, 1000 + 1001);
        let now = t.now().as_nanos() / 1_000_000 + 1;
        t.inject(now, seg(".").ack(1001).window(0));
    }
    assert_eq!(t.state(), State::Established);
}

#[test]
fn unacknowledged_probes_do() {
    let mut t = closed_after(1);
    t.run_to(3_600_000 * 2);
    t.skip_to_event(ConnectionEvent::Aborted(AbortReason::Timeout));
}

#[test]
fn a_window_update_sends_at_once_in_full_segments() {
    let mut t = closed_after(2);
    t.expect(1010, seg(".").seq(2001).len(1));
    t.inject(1020, seg(".").ack(2001).window(0));
    // The probe was not accepted: its byte is sent again as part of a full segment.
    t.inject(1500, seg(".").ack(2001).window(3000));
    for seq in [2001, 3001, 4001] {
        t.expect(1500, seg(".").seq(seq).len(1000));
    }
    t.expect_silence(1600);
    t.inject(1600, seg(".").ack(5001).window(0));
    // The interval starts from the beginning.
    t.expect(2600, seg(".").seq(5001).len(1));
}

#[test]
fn after_an_accepted_probe_new_data_is_sent_behind_it() {
    let mut t = closed_after(2);
    t.expect(1010, seg(".").seq(2001).len(1));
    t.inject(1020, seg(".").ack(2002).window(2000));
    t.expect(1020, seg(".").seq(2002).len(1000));
    t.expect(1020, seg(".").seq(3002).len(1000));
}

#[test]
fn a_probe_that_arrives_after_the_window_opened_is_acknowledged() {
    // The window opens a little before the probe arrives, not enough for a segment, and takes its byte.
    let mut t = closed_after(2);
    t.expect(1010, seg(".").seq(2001).len(1));
    t.inject(1015, seg(".").ack(2001).window(10));
    t.expect_silence(1015);
    t.inject(1020, seg(".").ack(2002).window(9));
    t.expect_silence(1020);
    // New data begins behind the byte.
    t.inject(1030, seg(".").ack(2002).window(2000));
    t.expect(1030, seg(".").seq(2002).len(1000));
    t.expect(1030, seg(".").seq(3002).len(1000));
    assert_eq!(t.endpoint.connection.stats().challenge_acks, 0, "{t}");
}

#[test]
fn a_window_that_is_closed_while_data_is_on_its_way_does_not_count_as_lost_data() {
    // The peer closes its window with everything acknowledged, and acknowledges an hour of probes.
    let mut t = closed_after(3);
    let mut end = 0;
    while end < 3_600_000 {
        t.expect_within(0, 4_000_000, seg(".").len(1));
        end = t.now().as_nanos() / 1_000_000;
        t.inject(end, seg(".").ack(3001).window(0));
    }
    t.inject(end + 1, seg(".").ack(3001).window(10_000));
    t.expect(end + 1, seg(".").seq(3001).len(1000));
}

#[test]
fn a_window_that_stays_small_does_not_end_the_connection() {
    // Each piece waits for the override timer (RFC 9293 §3.8.6.2.1), and each is acknowledged: none of these
    // expiries counts towards giving up.
    let mut t = Timeline::connected(&plain(), syn_ack().window(4000));
    t.inject(1, seg(".").ack(1).window(400));
    t.write(40_000);
    for i in 0..40 {
        t.expect_within(0, 4_000_000, seg(".").seq(1 + i * 400).len(400));
        let at = t.now().as_nanos() / 1_000_000 + 10;
        t.inject(at, seg(".").ack(1 + (i + 1) * 400).window(400));
    }
    assert!(t.endpoint.connection.stats().bytes_acked == 16_000, "{t}");
}

#[test]
fn a_probe_without_data_asks_below_the_window() {
    let mut t = Timeline::connected(&plain().with(|c| c.probe_data = false), syn_ack().window(2000));
    t.write(5000);
    t.expect(0, seg(".").seq(1).len(1000));
    t.expect(0, seg(".").seq(1001).len(1000));
    t.inject(10, seg(".").ack(2001).window(0));
    for at in [1010, 3010, 7010] {
        t.expect(at, seg(".").seq(2000).len(0));
        t.inject(at + 5, seg(".").ack(2001).window(0));
    }
    t.inject(7100, seg(".").ack(2001).window(3000));
    t.expect(7100, seg(".").seq(2001).len(1000));
}

#[test]
fn a_shrunken_window_is_survived() {
    // RFC 9293 §3.8.6: the sender must cope with a right edge that moves left.
    let mut t = Timeline::connected(&plain(), syn_ack().window(5000));
    t.write(5000);
    for i in 0..5 {
        t.expect(0, seg(".").seq(1 + i * 1000).len(1000));
    }
    t.inject(10, seg(".").ack(1001).window(1000));
    t.run_to(30_000);
    let sent = t.take_sent();
    assert!(sent.iter().all(|(_, s)| s.len > 0), "{t}");
    t.inject(30_000, seg(".").ack(5001).window(5000));
    assert_eq!(t.endpoint.connection.unacked(), 0);
}

#[test]
fn a_sender_does_not_send_silly_segments() {
    // RFC 9293 §3.8.6.2.1: not less than a full segment, unless it is everything, or half of the largest
    // window seen.
    let mut t = Timeline::connected(&plain(), syn_ack().window(4000));
    t.write(20_000);
    for i in 0..4 {
        t.expect(0, seg(".").seq(1 + i * 1000).len(1000));
    }
    // 300 bytes of window open up: too little.
    t.inject(10, seg(".").ack(4001).window(300));
    t.expect_silence(500);
    // The override timer sends what fits after a while, so that it does not wait for ever for a receiver that
    // never opens more.
    t.expect_within(1000, 2000, seg(".").seq(4001).len(300));
    t.inject(2000, seg(".").ack(4301).window(4000));
    t.expect(2000, seg(".").seq(4301).len(1000));
}

#[test]
fn a_receiver_does_not_advertise_silly_windows() {
    // RFC 9293 §3.8.6.2.2: the edge moves only by a full segment or half the buffer.
    let mut t = Timeline::connected(&plain().with(|c| c.rcv_buf = 4000), syn_ack());
    for i in 0..4 {
        t.inject(0, seg("P.").seq(1 + i * 1000).len(1000));
    }
    t.run_to(300);
    assert_eq!(t.take_sent().last().map(|(_, s)| (s.ack.0, s.window)), Some((54_001, 0)));
    t.read(999);
    t.expect_silence(400);
    // The window is still closed for a probe.
    t.inject(400, seg("P.").seq(4001).len(1));
    t.expect(400, seg(".").ack(4001).window(0));
    t.read(1);
    t.expect(400, seg(".").ack(4001).window(1000));
    t.read(500);
    t.expect_silence(500);
}

#[test]
fn the_right_edge_never_moves_left() {
    let mut t = Timeline::connected(
        &plain().with(|c| c.rcv_buf = 10_000).with_policies(|s| s.ack = choose("every")),
        syn_ack(),
    );
    let mut edge = 10_001;
    for i in 0..50 {
        t.inject(i, seg("P.").seq(1 + 100 * i as u32).len(100));
        let ack = t.expect(i, seg("."));
        let now = ack.ack.0 - 50_000 + u32::from(ack.window);
        assert!(now >= edge, "from {edge} to {now}\n{t}");
        edge = now;
        if i % 3 == 0 {
            t.read(90);
            t.take_sent();
        }
    }
}

#[test]
fn data_beyond_the_window_is_discarded() {
    let mut t = Timeline::connected(&plain().with(|c| c.rcv_buf = 1000), syn_ack());
    t.inject(0, seg("P.").seq(1).len(1400));
    t.expect_within(0, 200, seg(".").ack(1001).window(0));
    t.read(1000);
    t.expect_within(0, 200, seg(".").window(1000));
    t.inject(210, seg("P.").seq(1001).len(400));
    t.run_to(500);
    t.read(400);
}

#[test]
fn out_of_order_data_is_bounded_by_the_window_and_holes_by_a_limit() {
    let mut t = Timeline::connected(&Setup::default(), syn_ack().sack_permitted(true).scale(0));
    // A hostile peer sends every second byte of a large window, then far beyond it.
    for i in 0..20_000_u32 {
        t.inject(0, seg(".").seq(3 + 2 * i).len(1));
        t.take_sent();
    }
    for i in 0..100_u32 {
        t.inject(0, seg(".").seq(2_000_000 + 1000 * i).len(1000));
        t.take_sent();
    }
    assert_eq!(t.endpoint.connection.readable(), 0);
    // The connection still works.
    for i in 0..50 {
        t.inject(10, seg(".").seq(1 + 1000 * i).len(1000));
        t.take_sent();
    }
    t.read(50_000);
}

#[test]
fn nagle_holds_small_segments_while_data_is_outstanding() {
    // RFC 9293 §3.7.4.
    let mut t = Timeline::connected(&plain(), syn_ack());
    t.write(100);
    t.expect(0, seg("P.").seq(1).len(100));
    t.write(100);
    t.write(100);
    t.expect_silence(50);
    t.write(900);
    t.expect(50, seg(".").seq(101).len(1000));
    t.expect_silence(60);
    t.inject(60, seg(".").ack(1101));
    t.expect(60, seg("P.").seq(1101).len(100));
    t.inject(70, seg(".").ack(1201));
    t.write(10);
    t.expect(70, seg("P.").seq(1201).len(10));
}

#[test]
fn with_minshalls_change_only_small_segments_hold_the_next_one() {
    let mut t = Timeline::connected(&plain().with(|c| c.minshall = true), syn_ack());
    t.write(1500);
    t.expect(0, seg(".").seq(1).len(1000));
    t.expect(0, seg("P.").seq(1001).len(500));
    t.write(100);
    t.expect_silence(50);
    t.inject(50, seg(".").ack(1001));
    t.expect_silence(60);
    t.inject(60, seg(".").ack(1501));
    t.expect(60, seg("P.").seq(1501).len(100));
}

#[test]
fn without_nagle_small_segments_leave_at_once() {
    let mut t = Timeline::connected(&plain().with(|c| c.nagle = false), syn_ack());
    for i in 0..5 {
        t.write(10);
        t.expect(0, seg("P.").seq(1 + 10 * i).len(10));
    }
}

#[test]
fn a_cork_holds_back_all_but_full_segments() {
    let mut t = Timeline::connected(&plain().with(|c| c.nagle = false), syn_ack());
    t.cork(true);
    t.write(1500);
    t.expect(0, seg(".").seq(1).len(1000));
    t.inject(10, seg(".").ack(1001));
    t.expect_silence(20);
    t.cork(false);
    t.expect_within(20, 20, seg("P.").seq(1001).len(500));
    t.cork(true);
    t.write(10);
    t.expect_silence(30);
    t.close();
    t.expect(30, seg("FP.").seq(1501).len(10));
}

#[test]
fn a_cork_holds_a_small_segment_for_200_ms_at_most() {
    let mut t = Timeline::connected(&plain(), syn_ack());
    t.cork(true);
    t.write(10);
    t.expect_silence(199);
    t.expect(200, seg("P.").seq(1).len(10));
    // The next piece waits for the ack, and 200 ms from then on.
    t.write(20);
    t.inject(250, seg(".").ack(11));
    t.expect_silence(449);
    t.expect(450, seg("P.").seq(11).len(20));
}

#[test]
fn the_window_is_scaled_both_ways() {
    let setup = Setup::default().with(|c| c.rcv_buf = 1 << 20);
    let mut t =
        Timeline::connected(&setup, seg("S.").ack(1).mss(1000).scale(4).sack_permitted(true).window(1000));
    // The window of the SYN-ACK is not scaled: 1000 bytes.
    t.write(100_000);
    t.expect(0, seg(".").seq(1).len(1000));
    t.expect_silence(0);
    // From now on 16 times: 250 means 4000.
    t.inject(10, seg(".").ack(1001).window(250));
    for seq in [1001, 2001, 3001, 4001] {
        t.expect(10, seg(".").seq(seq).len(1000));
    }
    t.expect_silence(20);
    // Ours: 2^20 bytes shifted by 5.
    t.inject(20, seg("P.").seq(1).ack(5001).len(10).window(0));
    let ack = t.expect_within(20, 300, seg(".").ack(11));
    assert!((32_000..=32_768).contains(&u32::from(ack.window)), "{}", ack.window);
}

#[test]
fn a_scale_above_14_counts_as_14() {
    // RFC 7323 §2.3.
    let mut t = Timeline::connected(&Setup::default(), seg("S.").ack(1).mss(1000).scale(40).window(2000));
    t.write(5000);
    t.expect(0, seg(".").len(1000));
    t.expect(0, seg(".").len(1000));
    t.expect_silence(0);
    t.inject(10, seg(".").ack(2001).window(1));
    for _ in 0..3 {
        t.expect(10, seg(".").len(1000));
    }
}

#[test]
fn sequence_numbers_wrap() {
    use ackclock_testkit::pipe::{Path, Pipe, Plan};
    use ackclock_units::{Duration, Instant};
    // The pipe's initial numbers lie less than 100,000 below the wrap.
    let path = Path { loss: 0.02, ..Path::clean(Duration::from_millis(5)) };
    let mut pipe = Pipe::new(
        [&Setup::default(), &Setup::default()],
        [Plan::send(1_000_000), Plan::send(1_000_000)],
        [path; 2],
        3,
    );
    let first = pipe.connection(0).view(Instant::ZERO).snd_nxt.0;
    pipe.transfer(Instant::ZERO + Duration::from_secs(3600));
    assert!(pipe.connection(0).view(pipe.now).snd_nxt.0 < first, "it wrapped");
    assert!(pipe.sides.iter().all(|s| s.finished()));
}
