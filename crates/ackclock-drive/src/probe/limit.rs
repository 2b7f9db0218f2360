//! Detects rate limits on replies. Routers limit the rate of their ICMP errors, and hosts that of their
//! replies (M-U3). The results then describe that limit and not the path.
//!
//! There are two signs. First, most replies to evenly spaced probes at a low rate are missing, and the others
//! are evenly spaced: a token bucket with fewer tokens than probes. Second, for higher limits, losses during
//! the test without a queue, which vanish at half of the rate. Random loss does not depend on the rate, and a
//! full queue shows in the round-trip times before the losses.

use ackclock_units::{Duration, Instant};

/// A detected limit on replies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReplyLimit {
    /// Approximate replies per second: the limit, or somewhat less.
    pub per_second: f64,
    /// The sign that revealed it.
    pub sign: LimitSign,
}

/// The sign of a limit on replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitSign {
    /// Replies to evenly spaced probes were evenly spaced, and most were missing.
    EvenReplies,
    /// Losses without a queue, none of them at half the rate.
    NoneAtHalfRate {
        /// Probes sent at half the rate, all with a reply.
        probes: u32,
    },
}

/// A probe of the test with its round-trip time, if it had a reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeFate {
    pub at: Instant,
    pub rtt: Option<Duration>,
}

/// Losses that a limit may have caused.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Suspicion {
    /// Replies per second.
    pub per_second: f64,
    /// Share of probes lost.
    pub loss: f64,
}

impl Suspicion {
    /// Number of probes at half the rate that distinguishes random loss from a limit: with random loss, the
    /// probability that all have a reply is 1 %.
    pub fn probes_needed(&self) -> u32 {
        (100.0_f64.ln() / self.loss).ceil() as u32
    }
}

/// Smallest number of losses to decide on.
const FEWEST_LOSSES: usize = 10;
/// Smallest number of gaps between replies to decide on.
const FEWEST_GAPS: usize = 4;

/// Looks for evenly spaced replies. `answered` says for each probe, in the order of sending and `interval`
/// apart, whether it had a reply.
pub(super) fn even_replies(answered: &[bool], interval: Duration) -> Option<ReplyLimit> {
    // A full bucket lets the first replies through, so start at the first missing one.
    let first = answered.iter().position(|a| !a)?;
    let places: Vec<f64> =
        answered.iter().enumerate().skip(first).filter(|(_, a)| **a).map(|(i, _)| i as f64).collect();
    let gaps: Vec<f64> = places.windows(2).map(|w| w[1] - w[0]).collect();
    if gaps.len() < FEWEST_GAPS {
        return None;
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let spread = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    // With random loss of probability q, the standard deviation of the gaps is sqrt(q) times their mean:
    // above 0.7 if the mean is above 2.
    let even = mean >= 2.0 && spread < 0.3 * mean;
    even.then(|| ReplyLimit {
        per_second: 1.0 / (mean * interval.as_secs_f64()),
        sign: LimitSign::EvenReplies,
    })
}

/// Looks for losses without a queue before them. `fates` has the probes of the test in the order of sending,
/// all of which have their reply or are lost.
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
    // A queue that overflows held several packets just before, each with the transmission time of one reply
    // interval.
    (queue < 2.0 / per_second).then(|| Suspicion { per_second, loss: lost as f64 / fates.len() as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Rng;

    const EVERY: Duration = Duration::from_millis(50);

    #[test]
    fn a_token_bucket_is_detected_by_even_replies() {
        // Linux's ICMP errors for expired packets: six at once, then one each second.
        let bucket: Vec<bool> = (0..200).map(|i| i < 6 || i % 20 == 0).collect();
        let found = even_replies(&bucket, EVERY).expect("a limit");
        assert!((found.per_second - 1.0).abs() < 0.01, "{found:?}");
        assert_eq!(found.sign, LimitSign::EvenReplies);
    }

    #[test]
    fn random_losses_are_not_a_limit() {
        let mut rng = Rng::stream(1, "test", 0);
        for loss in [0.0, 0.01, 0.3, 0.5, 0.8, 0.95, 1.0] {
            for _ in 0..200 {
                let answered: Vec<bool> = (0..200).map(|_| !rng.chance(loss)).collect();
                // With 5 % left there are about ten replies, which are sometimes even by chance.
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
    fn a_full_queue_is_not_a_limit() {
        // The queue fills within a hundred packets, to 20 ms, and overflows.
        let full = fates(2000, |i| (i % 100 != 99).then_some(5000 + 200 * (i % 100)));
        assert_eq!(losses_without_queue(&full), None);
        let flat = fates(2000, |i| (i % 100 != 99).then_some(5000 + i % 7));
        let found = losses_without_queue(&flat).expect("suspicious");
        assert!((found.loss - 0.01).abs() < 1e-9 && (found.per_second - 990.0).abs() < 1.0, "{found:?}");
        assert_eq!(found.probes_needed(), 461);
    }

    #[test]
    fn few_losses_are_not_decided_on() {
        assert_eq!(losses_without_queue(&[]), None);
        assert_eq!(losses_without_queue(&fates(1000, |i| (i % 200 != 199).then_some(5000))), None);
        assert_eq!(losses_without_queue(&fates(1000, |_| None)), None);
    }
}
