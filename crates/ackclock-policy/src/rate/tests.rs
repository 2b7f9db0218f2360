use ackclock_units::Duration;

use crate::{RateControl, Registry};

fn built(name: &str, sets: &[(&str, &str)]) -> Box<dyn RateControl> {
    let mut choice = Registry::builtin().choose::<dyn RateControl>(name).expect(name);
    sets.iter().for_each(|(param, text)| choice.set(param, text).expect(param));
    choice.build()
}

fn intervals(rule: &mut dyn RateControl, n: usize) -> Vec<f64> {
    (0..n).map(|_| rule.on_sent().as_secs_f64()).collect()
}

#[track_caller]
fn assert_close(got: &[f64], want: &[f64]) {
    assert!(
        got.len() == want.len() && got.iter().zip(want).all(|(g, w)| (g / w - 1.0).abs() < 5e-6),
        "{got:?} is not {want:?}"
    );
}

#[test]
fn the_rate_grows_by_a_constant() {
    // J-E15: alpha = 10 s, I = 1 s.
    let mut rule = built("additive", &[("alpha", "10s"), ("interval", "1s")]);
    let got = intervals(&mut *rule, 5);
    assert_close(&got, &[0.909091, 0.833333, 0.769231, 0.714286, 0.666667]);
    assert_close(&got.iter().map(|i| 1.0 / i).collect::<Vec<_>>(), &[1.1, 1.2, 1.3, 1.4, 1.5]);
    // Congestion: I <- 2 I, and the growth goes on from there: 0.75 + 0.1 per second.
    rule.on_congestion();
    assert_close(&intervals(&mut *rule, 1), &[1.0 / 0.85]);
}

#[test]
fn rounding_does_not_add_up() {
    let mut rule = built("additive", &[("alpha", "10s"), ("interval", "1s")]);
    let last = intervals(&mut *rule, 100_000).pop().expect("many");
    // 1/I = 1 + n/10.
    assert!((last * 10_001.0 - 1.0).abs() < 1e-5, "{last}");
}

#[test]
fn a_constant_decrement_runs_away() {
    // J-E15: I = 1 s, c = 0.1 s: the rate after k steps, and without bound at k = 10.
    let mut rule = built("constant-decrement", &[("step", "100ms"), ("interval", "1s")]);
    let got: Vec<_> = intervals(&mut *rule, 9).iter().map(|i| 1.0 / i).collect();
    assert_close(&got, &[1.11111, 1.25, 1.42857, 1.66667, 2.0, 2.5, 3.33333, 5.0, 10.0]);
    assert_eq!(rule.on_sent(), Duration::from_micros(1), "the bound is `min_interval`");
    rule.on_congestion();
    assert_eq!(rule.on_sent(), Duration::from_micros(1));
}

#[test]
fn bounds_hold() {
    let mut rule =
        built("additive", &[("interval", "1s"), ("min_interval", "500ms"), ("max_interval", "3s")]);
    (0..100).for_each(|_| _ = rule.on_sent());
    assert_eq!(rule.on_sent(), Duration::from_millis(500));
    (0..100).for_each(|_| rule.on_congestion());
    assert!(rule.on_sent() <= Duration::from_secs(3));
}
