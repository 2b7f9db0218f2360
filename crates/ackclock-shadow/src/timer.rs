//! The minimum of the retransmission timeout, from the timeouts that a capture shows.

use ackclock_units::Duration;

/// An expiry of the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expiry {
    /// The packet that it sent.
    pub packet: u64,
    /// From the start of the timer, by the stack that followed.
    pub waited: Duration,
    /// The timeout of that stack.
    pub timeout: Duration,
    /// The smoothed round-trip time.
    pub srtt: Duration,
    /// Level of the backoff: 0 for the first timeout in a row.
    pub level: u32,
}

/// What timeouts show of the minimum, where it is a term added to the smoothed round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MinRto {
    /// At least this.
    pub low: Duration,
    /// At most this.
    pub high: Duration,
    /// The likeliest value: the roundest of them.
    pub value: Duration,
    /// Timeouts that agree.
    pub timeouts: usize,
}

/// The latest that Linux's timer wheel fires with CONFIG_HZ 250: the timeout is rounded up to ticks of 4 ms, the time
/// left too, and a tick is added; beyond 62 ticks its buckets have eight of them.
const FINE_LATE: Duration = Duration::from_millis(12);
const COARSE_LATE: Duration = Duration::from_millis(40);
const TICK: Duration = Duration::from_millis(4);
const FINE: Duration = Duration::from_millis(248);
/// The smoothed round-trip time is known to about this.
const KNOWN: Duration = Duration::from_millis(2);
/// What a host takes to send.
const HOST: Duration = Duration::from_millis(1);

/// By how much, in seconds, a timer that was set to `timeout` fired after, or, if negative, before what ticks and
/// the host make of it, if it did after `waited`. The two clocks may differ by a tick.
pub(crate) fn error(waited: Duration, timeout: Duration) -> f64 {
    let latest = timeout + if timeout <= FINE { FINE_LATE } else { COARSE_LATE } + HOST;
    let earliest = timeout.saturating_sub(TICK);
    waited.saturating_sub(latest).as_secs_f64() - earliest.saturating_sub(waited).as_secs_f64()
}

/// The minimum that most of `expiries` agree with, which must be those of a stack with exact timers and the minimum
/// `supposed`. `variations` are those of the same stack without a minimum: its timeout is what a larger minimum
/// replaces.
///
/// A minimum that is so much larger lengthens the timeout by as much.
pub fn min_rto(expiries: &[Expiry], variations: &[Expiry], supposed: Duration) -> Option<MinRto> {
    let ranges: Vec<(Duration, Duration)> = expiries
        .iter()
        .filter(|e| e.level == 0)
        .filter_map(|e| {
            let late = if e.waited <= FINE { FINE_LATE } else { COARSE_LATE };
            let high = (supposed + e.waited).saturating_sub(e.timeout);
            let i = variations.binary_search_by_key(&e.packet, |v| v.packet).ok();
            // The variation was larger than the minimum.
            if i.is_some_and(|i| e.waited <= variations[i].timeout + late) {
                return None;
            }
            Some((high.saturating_sub(late + HOST), high))
        })
        .collect();
    // The point in most ranges is the beginning of one.
    let agree = |at: Duration| ranges.iter().filter(|(low, high)| *low <= at && at <= *high).count();
    let best = ranges.iter().map(|(low, _)| *low).max_by_key(|low| (agree(*low), std::cmp::Reverse(*low)))?;
    let those = || ranges.iter().filter(|(low, high)| *low <= best && best <= *high);
    let (low, high) = (those().map(|r| r.0).max()?, those().map(|r| r.1).min()?);
    let (low, high) = (low.saturating_sub(KNOWN), high + KNOWN);
    Some(MinRto { low, high, value: roundest(low, high), timeouts: those().count() })
}

/// The roundest time from `low` to `high`: Linux's default of 200 ms, or else a multiple of the largest of some
/// steps.
fn roundest(low: Duration, high: Duration) -> Duration {
    let default = Duration::from_millis(200);
    if low <= default && default <= high {
        return default;
    }
    for step in [100, 50, 20, 10, 5, 4, 1] {
        let step = Duration::from_millis(step);
        let next = step * low.as_nanos().div_ceil(step.as_nanos());
        if next <= high {
            return next;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn expiry(waited: u64, timeout: u64, srtt: u64, level: u32) -> Expiry {
        Expiry { packet: 1, waited: ms(waited), timeout: ms(timeout), srtt: ms(srtt), level }
    }

    #[test]
    fn timeouts_that_agree_bound_the_minimum() {
        let found =
            min_rto(&[expiry(127, 70, 20, 0), expiry(145, 91, 41, 0), expiry(300, 70, 20, 1)], &[], ms(50));
        let found = found.expect("two timeouts were not backed off");
        assert_eq!((found.timeouts, found.high, found.value), (2, ms(106), ms(100)));
        assert_eq!(found.low, ms(92));
    }

    #[test]
    fn a_variation_above_the_minimum_says_nothing() {
        assert_eq!(min_rto(&[expiry(286, 240, 40, 0)], &[expiry(250, 248, 40, 0)], ms(200)), None);
    }

    #[test]
    fn the_default_comes_first_and_then_the_roundest() {
        assert_eq!(roundest(ms(190), ms(205)), ms(200));
        assert_eq!(roundest(ms(265), ms(305)), ms(300));
        assert_eq!(roundest(ms(51), ms(53)), ms(52));
    }
}
