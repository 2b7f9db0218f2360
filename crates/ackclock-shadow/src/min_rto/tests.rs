use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A timeout of a stack with the minimum of 200 ms, whose timer was started at `started` ms, of a host with these
/// ticks and this minimum.
fn expiry(packet: u64, tick: u64, minimum: u64, started: f64, srtt: u64, level: u32) -> Expiry {
    let started = Instant::ZERO + Duration::from_secs_f64(started / 1e3);
    let ticks = (ms(srtt) + ms(minimum)).as_nanos().div_ceil(ms(tick).as_nanos()) << level;
    let at = timer_wheel::fires(ms(tick), started, started + ms(tick) * ticks) + Duration::from_micros(100);
    let timeout = (ms(srtt) + ms(200)) * (1 << level);
    Expiry { packet, at, waited: at.since(started), timeout, srtt: ms(srtt), level }
}

#[test]
fn one_timeout_leaves_a_range() {
    for minimum in [40, 100, 160, 400] {
        let found =
            min_rto(&[expiry(1, 4, minimum, 1001.3, 21, 0)], &[], &[], ms(200)).expect("it says something");
        assert!(found.low <= ms(minimum) && ms(minimum) <= found.high, "{minimum}: {found:?}");
        let wide = latest(ms(minimum + 21)) + HOST + MOST_OFF * 2;
        assert!(found.value.is_none() && found.high - found.low <= wide, "{minimum}: {found:?}");
    }
}

#[test]
fn several_show_where_ticks_are() {
    for minimum in [100, 120, 160] {
        let expiries: Vec<Expiry> =
            (0..6).map(|i| expiry(i, 4, minimum, 1001.0 + 703.7 * i as f64, 21 + i, 0)).collect();
        let found = min_rto(&expiries, &[], &[], ms(200)).expect("they say something");
        let value = found.value.unwrap_or_else(|| panic!("{minimum}: {found:?}"));
        assert!(value.abs_diff(ms(minimum)) <= TICK, "{minimum}: {found:?}");
        assert_eq!(found.timeouts, 6, "{found:?}");
    }
}

#[test]
fn a_timer_that_a_timer_has_started_shows_where_the_tick_is() {
    let probe = Instant::ZERO + ms(1200) + Duration::from_micros(100);
    let after = Expiry { waited: Duration::ZERO, ..expiry(1, 4, 100, 1200.1, 30, 0) };
    let expiry = Expiry { waited: after.at.since(probe), ..after };
    let alone = min_rto(&[expiry], &[], &[], ms(200)).expect("it says something");
    let found = min_rto(&[expiry], &[], &[probe; 4], ms(200)).expect("it says something");
    assert!(found.high - found.low < alone.high - alone.low, "{found:?} {alone:?}");
    assert!(found.low <= ms(100) && ms(100) <= found.high, "{found:?}");
}

#[test]
fn a_backoff_narrows_what_the_wide_buckets_leave() {
    let first = expiry(1, 4, 400, 1001.3, 33, 0);
    let second = expiry(2, 4, 400, first.at.as_nanos() as f64 / 1e6, 33, 1);
    let [one, both] =
        [&[first][..], &[first, second]].map(|e| min_rto(e, &[], &[], ms(200)).expect("it says something"));
    assert!(both.high - both.low < one.high - one.low, "{both:?} {one:?}");
    assert!(both.low <= ms(400) && ms(400) <= both.high && both.timeouts == 2, "{both:?}");
}

#[test]
fn a_variation_above_the_minimum_says_nothing() {
    let late = expiry(1, 4, 240, 1001.3, 40, 0);
    let variation = Expiry { timeout: ms(40 + 230), ..late };
    assert_eq!(min_rto(&[late], &[(Duration::ZERO, &[variation])], &[], ms(200)), None);
    let still_falling = Expiry { timeout: ms(40 + 210), ..late };
    assert_eq!(min_rto(&[still_falling], &[], &[], ms(200)), None);
    assert_eq!(min_rto(&[], &[], &[], ms(200)), None);
}

/// After a delay the variation falls to the minimum by a quarter in each round trip.
#[test]
fn a_variation_that_falls_is_known_by_other_minima() {
    let of = |minimum: u64| {
        let fell = ms(340).saturating_sub(ms(minimum)).mul_f64(0.25);
        let late = expiry(1, 4, 300 + 10, 1001.3, 170, 0);
        Expiry { timeout: ms(170) + ms(minimum) + fell, ..late }
    };
    let runs: Vec<(Duration, [Expiry; 1])> =
        [100, 200, 300, 400].into_iter().map(|minimum| (ms(minimum), [of(minimum)])).collect();
    let without = [Expiry { timeout: ms(170 + 44), ..of(300) }];
    let mut others: Vec<(Duration, &[Expiry])> = vec![(Duration::ZERO, &without)];
    others.extend(runs.iter().map(|(minimum, expiries)| (*minimum, &expiries[..])));
    let found = min_rto(&[of(300)], &others, &[], ms(300)).expect("it says something");
    assert!(found.low <= ms(300) && ms(300) <= found.high && found.value.is_none(), "{found:?}");
    // Without what falls it would be up to the 310 ms that were added, and what the wheel adds to these.
    assert!(found.high < ms(335), "{found:?}");
    assert_eq!(min_rto(&[of(300)], &others[..1], &[], ms(300)), None, "others have to be known");
}

#[test]
fn no_timer_fires_before_the_smoothed_round_trip_time_and_the_minimum() {
    for (minimum, level) in [(120, 0), (400, 1)] {
        let most = expiry(1, 4, minimum, 1001.3, 60, level).most();
        assert!(ms(minimum) <= most && most <= ms(minimum + 50), "{most:?}");
    }
}

#[test]
fn a_value_is_near_all_that_is_left() {
    assert_eq!(value(ms(197), ms(203)), Some(ms(200)), "the roundest");
    assert_eq!(value(ms(190), ms(205)), None);
    assert_eq!(value(ms(51), ms(53)), Some(ms(52)));
    assert_eq!(value(ms(96), ms(104)), Some(ms(100)));
    assert_eq!(value(ms(96), ms(105)), None);
    assert_eq!(value(ms(120), ms(120)), Some(ms(120)));
}
