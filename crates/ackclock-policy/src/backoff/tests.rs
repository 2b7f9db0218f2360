use ackclock_units::{Duration, Rng};

use crate::{Backoff, Chosen, Expiry, Registry};

fn chosen(name: &str) -> Chosen<dyn Backoff> {
    Registry::builtin().choose(name).expect("built in")
}

fn star(n: &str) -> Box<dyn Backoff> {
    let mut choice = chosen("sub-exponential");
    choice.set("n", n).expect("a count");
    choice.build()
}

/// Multipliers of a timeout of one second for the first seven timeouts.
fn multipliers(b: &dyn Backoff, syn: bool) -> Vec<u64> {
    let (mut rng, one) = (Rng::stream(1, "backoff", 0), Duration::from_secs(1));
    (0..7)
        .map(|j| {
            if syn { b.syn_timeout(one, j, &mut rng) } else { b.timeout(one, j, &mut rng) }.as_millis() / 1000
        })
        .collect()
}

#[test]
fn multipliers_of_tcp_star() {
    // B-A2, with the sum of each row: the time of seven timeouts.
    let rows: [(&str, [u64; 7], u64); 8] = [
        ("0", [1, 2, 4, 8, 16, 32, 64], 127),
        ("1", [1, 1, 2, 4, 8, 16, 32], 64),
        ("2", [1, 1, 1, 2, 4, 8, 16], 33),
        ("3", [1, 1, 1, 1, 2, 4, 8], 18),
        ("4", [1, 1, 1, 1, 1, 2, 4], 11),
        ("5", [1, 1, 1, 1, 1, 1, 2], 8),
        ("6", [1, 1, 1, 1, 1, 1, 1], 7),
        ("inf", [1, 1, 1, 1, 1, 1, 1], 7),
    ];
    for (n, want, sum) in rows {
        for syn in [false, true] {
            let got = multipliers(&*star(n), syn);
            assert_eq!(got, want, "TCP*({n})");
            assert_eq!(got.iter().sum::<u64>(), sum, "TCP*({n})");
        }
    }
    assert_eq!(multipliers(&*chosen("exponential").build(), false), rows[0].1);
    assert_eq!(multipliers(&*chosen("none").build(), false), rows[7].1);
}

#[test]
fn after_seven_timeouts_the_value_stays() {
    let (mut rng, one) = (Rng::stream(1, "backoff", 0), Duration::from_secs(1));
    for n in ["0", "3", "inf"] {
        let b = star(n);
        let seventh = b.timeout(one, 6, &mut rng);
        assert!((7..100).all(|j| b.timeout(one, j, &mut rng) == seventh), "TCP*({n})");
        assert_eq!(b.timeout(one, u32::MAX, &mut rng), seventh);
    }
}

#[test]
fn freebsd_does_not_back_off_the_first_five_syns() {
    // B-A3
    let b = chosen("freebsd-syn").build();
    assert_eq!(multipliers(&*b, true), [1, 1, 1, 1, 1, 2, 4]);
    assert_eq!(multipliers(&*b, false), [1, 2, 4, 8, 16, 32, 64]);
}

#[test]
fn the_ceiling_is_240_seconds_and_never_below_the_timeout() {
    let mut rng = Rng::stream(1, "backoff", 0);
    let b = chosen("exponential").build();
    // E-A2
    assert_eq!(b.timeout(Duration::from_secs(60), 3, &mut rng), Duration::from_secs(240));
    assert_eq!(b.timeout(Duration::from_secs(300), 0, &mut rng), Duration::from_secs(300));
    assert_eq!(b.timeout(Duration::MAX, 6, &mut rng), Duration::MAX);
}

#[test]
fn doubling_stops_at_64_times_or_at_240_seconds() {
    let schedule = |max_doublings: &str, rto| {
        let (mut choice, mut rng) = (chosen("exponential"), Rng::stream(1, "backoff", 0));
        choice.set("max_doublings", max_doublings).expect("a count");
        let b = choice.build();
        (0..10).map(|j| b.timeout(Duration::from_millis(rto), j, &mut rng).as_millis()).collect::<Vec<_>>()
    };
    // B-A2's reading: the seventh timeout and all after it.
    assert_eq!(schedule("6", 1000), [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 64_000, 64_000, 64_000]);
    // E-A2's: twice the maximum segment lifetime.
    assert_eq!(
        schedule("32", 1000),
        [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 240_000, 240_000]
    );
    assert_eq!(schedule("32", 200)[9], 102_400);
}

#[test]
fn giving_up_takes_count_and_time() {
    let give_up = |expiries, secs| chosen("none").build().give_up(expiries, Duration::from_secs(secs));
    assert!(!give_up(16, 99) && !give_up(15, 1000) && give_up(16, 100));
    let mut never = chosen("none");
    never.set("r2_retries", "inf").expect("a count");
    assert!(!never.build().give_up(u32::MAX, Duration::MAX));
}

#[test]
fn linear_backoff_adds_the_timeout_until_the_longest() {
    let b = chosen("linear").build();
    assert_eq!(multipliers(&*b, false), [1, 2, 3, 4, 5, 6, 7]);
    let (mut rng, one) = (Rng::stream(1, "backoff", 0), Duration::from_secs(1));
    assert_eq!(b.timeout(one, 1000, &mut rng), Duration::from_secs(240));
    assert_eq!(b.timeout(one, u32::MAX, &mut rng), Duration::from_secs(240));
    assert_eq!(
        b.timeout(Duration::from_secs(300), 5, &mut rng),
        Duration::from_secs(300),
        "never below the timeout itself"
    );
}

/// Multipliers of a timeout of one second at the first eight expiries in a row, with `flights` bytes in
/// flight.
fn linux_multipliers(flights: [u64; 8]) -> Vec<u64> {
    let (b, mut rng, one, mut level) =
        (chosen("thin-linear").build(), Rng::stream(1, "backoff", 0), Duration::from_secs(1), 0);
    let expire = |(expiries, flight_size): (u32, u64)| {
        level = b.level(&Expiry { expiries, level, flight_size, smss: 1448 });
        b.timeout(one, level, &mut rng).as_millis() / 1000
    };
    (0..).zip(flights).map(expire).collect()
}

#[test]
fn linux_does_not_back_off_thin_streams_six_times() {
    // Documentation/networking/tcp-thin.rst: less than four packets in flight, six linear timeouts, then
    // exponential ones.
    assert_eq!(linux_multipliers([3 * 1448; 8]), [1, 1, 1, 1, 1, 1, 2, 4]);
    assert_eq!(linux_multipliers([4 * 1448; 8]), [2, 4, 8, 16, 32, 64, 128, 240]);
    // A stream that has become thin is not backed off any more.
    assert_eq!(linux_multipliers([9000, 9000, 500, 500, 9000, 9000, 500, 500])[..6], [2, 4, 1, 1, 2, 4]);
    // ip-sysctl.rst, tcp_syn_linear_timeouts: four, then exponential ones.
    assert_eq!(multipliers(&*chosen("thin-linear").build(), true), [1, 1, 1, 1, 1, 2, 4]);
}

#[test]
fn each_row_of_expiries_of_a_thick_stream_starts_at_one() {
    // Whatever level Karn's rule has kept from the row before.
    let b = chosen("thin-linear").build();
    let thick = |expiries, level| b.level(&Expiry { expiries, level, flight_size: 10_000, smss: 1448 });
    assert_eq!((thick(0, 0), thick(1, 1), thick(2, 2)), (1, 2, 3));
    assert_eq!(thick(0, 3), 1);
}

/// Timeouts of `name` without its random part, from `rto` ms, in milliseconds.
fn undithered(name: &str, rto: u64) -> Vec<u64> {
    let (mut choice, mut rng) = (chosen(name), Rng::stream(1, "backoff", 0));
    choice.set("ack_random_factor", "1").expect("a ratio");
    let b = choice.build();
    (0..6).map(|j| b.timeout(Duration::from_millis(rto), j, &mut rng).as_millis()).collect()
}

#[test]
fn coap_doubles_from_two_seconds_and_gives_up_after_four_retransmissions() {
    // RFC 7252 §4.8.2: MAX_TRANSMIT_WAIT is (2+4+8+16+32)*1.5 = 93 s.
    let schedule = undithered("coap", 2000);
    assert_eq!(schedule[..5], [2000, 4000, 8000, 16_000, 32_000]);
    assert_eq!(schedule[..5].iter().sum::<u64>() * 3 / 2, 93_000);
    let b = chosen("coap").build();
    assert!(!b.give_up(4, Duration::MAX) && b.give_up(5, Duration::ZERO), "MAX_RETRANSMIT");
}

#[test]
fn coaps_random_factor_lies_between_one_and_one_and_a_half() {
    let (b, mut rng, rto) = (chosen("coap").build(), Rng::stream(7, "backoff", 0), Duration::from_secs(2));
    let drawn: Vec<f64> = (0..1000).map(|_| b.timeout(rto, 1, &mut rng).as_secs_f64()).collect();
    assert!(drawn.iter().all(|t| (4.0..=6.0).contains(t)));
    let mean = drawn.iter().sum::<f64>() / 1000.0;
    assert!((mean - 5.0).abs() < 0.1, "{mean}");
    assert_eq!(b.timeout(rto, 0, &mut rng), rto);
}

#[test]
fn cocoas_factor_depends_on_the_timeout() {
    // Appendix B, example B: 0.3 s, 0.9 s at the first retry, 2.7 s at the second; then 2 and 1.5 times.
    assert_eq!(undithered("cocoa", 300), [300, 900, 2700, 5400, 8100, 12_150]);
    // §4.2.1: by 2 from 1 to 3 s, by 1.5 above, up to 32 s.
    assert_eq!(undithered("cocoa", 2000), [2000, 4000, 6000, 9000, 13_500, 20_250]);
    assert_eq!(undithered("cocoa", 10_000), [10_000, 15_000, 22_500, 32_000, 32_000, 32_000]);
}

#[test]
fn linux_retransmits_four_syns_at_the_same_interval() {
    // tcp_retransmit_timer doubles from the fifth expiry on: the first timeout and four linear ones.
    let b = chosen("linux").build();
    assert_eq!(multipliers(&*b, true), [1, 1, 1, 1, 1, 2, 4]);
    assert_eq!(multipliers(&*b, false), [1, 2, 4, 8, 16, 32, 64]);
    let (mut rng, one) = (Rng::stream(1, "backoff", 0), Duration::from_secs(1));
    assert_eq!(b.syn_ack_timeout(one, 2, &mut rng), Duration::from_secs(4), "only SYNs");
    assert_eq!(b.timeout(one, 30, &mut rng), Duration::from_secs(120), "TCP_RTO_MAX");
}

#[test]
fn linux_gives_a_syn_up_after_the_time_that_doubled_timeouts_take() {
    // As Linux 6.18 does with TCP_SYNCNT of 1, 2 and 3: two, five and seven retransmissions, before 3, 7 and
    // 15 s have passed; with the default of 6 ten, before 127 s.
    let (b, one) = (chosen("linux").build(), Duration::from_secs(1));
    for (most, retransmissions) in [(1, 2), (2, 5), (3, 7), (6, 10)] {
        let (mut rng, mut waited, mut sent) = (Rng::stream(1, "backoff", 0), one, 0);
        while !b.give_up_syn(sent, most, one, waited) {
            sent += 1;
            waited += b.syn_timeout(one, sent, &mut rng);
        }
        assert_eq!(sent, retransmissions, "{most}");
    }
    let counted = chosen("exponential").build();
    assert!(counted.give_up_syn(6, 6, one, Duration::ZERO) && !counted.give_up_syn(5, 6, one, Duration::MAX));
}
