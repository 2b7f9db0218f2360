//! Are the replies rate-limited? Routers throttle their ICMP errors, and hosts may answer so many per second
//! and no more (M-U3): then the numbers tell of that limit and not of the path.
//!
//! Two signs are looked for. Evenly spaced probes of low rate whose replies are evenly spaced too, most of
//! them missing: a token bucket with fewer tokens than probes. And, for limits above that: losses under test
//! although no queue was building up, which vanish at half of the rate. Random loss does not care for the
//! rate, and a full queue shows in the round-trip times before the losses.

use ackclock_units::{Duration, Instant};

/// A limit on replies that was recognised.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReplyLimit {
    /// About how many replies came per second: the limit, or somewhat less.
    pub per_second: f64,
    /// How it showed.
    pub sign: LimitSign,
}

/// How a limit on replies showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitSign {
    /// Replies to evenly spaced probes were evenly spaced, and most were missing.
    EvenReplies,
    /// Losses without a queue, none of them at half the rate.
    NoneAtHalfRate {
        /// Probes sent at half the rate, all answered.
        probes: u32,
    },
}

/// What became of a probe under test.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeFate {
    pub at: Instant,
    pub rtt: Option<Duration>,
}

/// Losses that a limit could have made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Suspicion {
    /// Replies per second.
    pub per_second: f64,
    /// Share of probes lost.
    pub loss: f64,
}

impl Suspicion {
    /// Probes at half the rate that tell random loss from a limit: with random loss all of them come back
    /// once in a hundred times.
    pub fn probes_to_tell(&self) -> u32 {
        (100.0_f64.ln() / self.loss).ceil() as u32
    }
}

/// Losses from which on anything can be said.
const FEWEST_LOSSES: usize = 10;
/// Gaps between replies from which on anything can be said.
const FEWEST_GAPS: usize = 4;

/// Evenly spaced probes, in the order of sending and `interval` apart: replies per second, where these look
/// limited.
pub(super) fn even_replies(answered: &[bool], interval: Duration) -> Option<ReplyLimit> {
    // A full bucket answers the first ones all; what counts is what follows.
    let first = answered.iter().position(|a| !a)?;
    let places: Vec<f64> =
        answered.iter().enumerate().skip(first).filter(|(_, a)| **a).map(|(i, _)| i as f64).collect();
    let gaps: Vec<f64> = places.windows(2).map(|w| w[1] - w[0]).collect();
    if gaps.len() < FEWEST_GAPS {
        return None;
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let spread = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    // Random losses of a share q leave gaps whose spread is sqrt(q) of their mean: above 0.7 where the mean
    // is above 2.
    let even = mean >= 2.0 && spread < 0.3 * mean;
    even.then(|| ReplyLimit {
        per_second: 1.0 / (mean * interval.as_secs_f64()),
        sign: LimitSign::EvenReplies,
    })
}

/// Probes under test, in the order of sending, each of which has come back or will not: losses without a
/// queue before them.
pub(super) fn losses_without_queue(fates: &[ProbeFate]) -> Option<Suspicion> {
    let answered = fates.iter().filter(|f| f.rtt.is_some()).count();
    let lost = fates.len() - answered;
    let span = fates.last()?.at.since(fates.first()?.at).as_secs_f64();
    if lost < FEWEST_LOSSES || answered == 0 || span <= 0.0 {
        return None;
    }
    let per_second = answered as f64 / span;
    let least = fates.iter().filter_map(|f| f.rtt).min()?;
    let mut before: Vec<Duration> = Vec::new();
    let mut last = None;
    for fate in fates {
        match (fate.rtt, last) {
            (Some(rtt), _) => last = Some(rtt),
            (None, Some(rtt)) => before.push(rtt),
            (None, None) => {}
        }
    }
    before.sort_unstable();
    let queue = before.get(before.len() / 2)?.saturating_sub(least).as_secs_f64();
    // A queue that overflows held several packets just before: each takes as long as the replies are apart.
    (queue < 2.0 / per_second).then(|| Suspicion { per_second, loss: lost as f64 / fates.len() as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Rng;

    const EVERY: Duration = Duration::from_millis(50);

    #[test]
    fn a_token_bucket_shows_in_even_replies() {
        // Linux's answers to expired packets: six at once, then one each second.
        let bucket: Vec<bool> = (0..200).map(|i| i < 6 || i % 20 == 0).collect();
        let found = even_replies(&bucket, EVERY).expect("a limit");
        assert!((found.per_second - 1.0).abs() < 0.01, "{found:?}");
        assert_eq!(found.sign, LimitSign::EvenReplies);
    }

    #[test]
    fn random_losses_are_no_limit() {
        let mut rng = Rng::stream(1, "test", 0);
        for loss in [0.0, 0.01, 0.3, 0.5, 0.8, 0.95, 1.0] {
            for _ in 0..200 {
                let answered: Vec<bool> = (0..200).map(|_| !rng.chance(loss)).collect();
                // With one in twenty left there are ten or so replies: even ones come about by chance now and
                // then.
                assert!(loss > 0.9 || even_replies(&answered, EVERY).is_none(), "{loss}");
            }
        }
    }

    fn fates(n: u64, rtt: impl Fn(u64) -> Option<u64>) -> Vec<ProbeFate> {
        (0..n)
            .map(|i| ProbeFate {
                at: Instant::from_nanos(i * 1_000_000),
                rtt: rtt(i).map(Duration::from_micros),
            })
            .collect()
    }

    #[test]
    fn a_full_queue_is_no_limit() {
        // The queue fills within a hundred packets, to 20 ms, and overflows.
        let full = fates(2000, |i| (i % 100 != 99).then_some(5000 + 200 * (i % 100)));
        assert_eq!(losses_without_queue(&full), None);
        let flat = fates(2000, |i| (i % 100 != 99).then_some(5000 + i % 7));
        let found = losses_without_queue(&flat).expect("suspicious");
        assert!((found.loss - 0.01).abs() < 1e-9 && (found.per_second - 990.0).abs() < 1.0, "{found:?}");
        assert_eq!(found.probes_to_tell(), 461);
    }

    #[test]
    fn few_losses_say_nothing() {
        assert_eq!(losses_without_queue(&[]), None);
        assert_eq!(losses_without_queue(&fates(1000, |i| (i % 200 != 199).then_some(5000))), None);
        assert_eq!(losses_without_queue(&fates(1000, |_| None)), None);
    }
}
