//! Between which bounds the waits of the same transfer would lie if it were made again. Its losses would be
//! others: how often the timer has to wait is a matter of chance, even with the same sender on the same
//! path.

use ackclock_units::Duration;

use crate::report::{Stalled, WhatIf};

/// Two counts of a Poisson process, one known, over the same time: twice the difference of their roots is
/// normal with variance 2, nearly. Nineteen of twenty lie within 1.96 of its deviations.
const SPREAD: f64 = 1.96 * std::f64::consts::FRAC_1_SQRT_2;
/// Makes that hold for few (Anscombe, "The transformation of Poisson, binomial and negative-binomial data",
/// 1948).
const FEW: f64 = 0.375;

/// Sets the bounds. `sender` is the row of the sender as it ran, `lasted` the time of its connection,
/// `timeout` what this timer waits before any backoff, if it ever waits.
pub(super) fn bounds(row: &mut WhatIf, sender: Duration, lasted: Duration, timeout: Duration) {
    let (waits, squares) = row.stalls.iter().fold((0.0, 0.0), |(sum, squares), s: &Stalled| {
        let w = s.waited.as_secs_f64();
        (sum + w, squares + w * w)
    });
    // Waits differ; as many of one length vary as much together.
    let n = if squares > 0.0 { waits * waits / squares } else { 0.0 };
    let root = (n + FEW).sqrt();
    let fewer = ((root - SPREAD).max(0.0).powi(2) - FEW).max(0.0);
    let more = (root + SPREAD).powi(2) - FEW;
    let (least, most) = (row.waited_least.as_secs_f64(), row.waited_most.as_secs_f64());
    let (mut low, mut high) = match n > 0.0 {
        true => (least * fewer / n, most * more / n),
        false => (0.0, more * timeout.as_secs_f64()),
    };
    // A sender that waits longer sends less in the same time and so loses less; one that waits less, more.
    let (ran, lasted) = (sender.as_secs_f64(), lasted.as_secs_f64());
    let waited = row.waited.as_secs_f64();
    if lasted > 0.0 {
        low *= lasted / (lasted + (waited - ran).max(0.0));
        high *= lasted / (lasted - (ran - waited).max(0.0)).max(lasted / 4.0);
    }
    row.rerun_least = Duration::from_secs_f64(low.min(least));
    row.rerun_most = Duration::from_secs_f64(high.max(most));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: usize, wait: f64) -> WhatIf {
        let waited = Duration::from_secs_f64(wait);
        let stall = Stalled { waited, waited_least: waited, waited_most: waited, ..Stalled::default() };
        let sum = Duration::from_secs_f64(wait * n as f64);
        WhatIf {
            stalls: vec![stall; n],
            waited: sum,
            waited_least: sum,
            waited_most: sum,
            ..WhatIf::default()
        }
    }

    #[test]
    fn the_bounds_hold_nineteen_of_twenty_counts() {
        // Poisson counts by their probabilities: how often the second lies within the bounds of the first.
        for mean in [3.0_f64, 10.0, 40.0] {
            let p = |k: u32| (1..=k).fold((-mean).exp(), |p, i| p * mean / f64::from(i));
            let mut covered = 0.0;
            for known in 0..120 {
                let mut r = row(known as usize, 1.0);
                let waited = r.waited;
                bounds(&mut r, waited, Duration::from_secs(1000), Duration::from_secs(1));
                let within = |k: u32| {
                    f64::from(k) >= r.rerun_least.as_secs_f64() && f64::from(k) <= r.rerun_most.as_secs_f64()
                };
                covered += p(known) * (0..120).filter(|k| within(*k)).map(p).sum::<f64>();
            }
            assert!((0.93..0.985).contains(&covered), "{covered} at {mean}");
        }
    }

    #[test]
    fn a_timer_that_never_waited_may_wait_another_time() {
        let mut r = row(0, 0.0);
        bounds(&mut r, Duration::ZERO, Duration::from_secs(10), Duration::from_millis(300));
        assert_eq!(r.rerun_least, Duration::ZERO);
        assert!((0.9..1.3).contains(&r.rerun_most.as_secs_f64()), "{:?}", r.rerun_most);
    }
}
