//! The minimum of the retransmission timeout, from the timeouts that a capture shows.
//!
//! Linux adds its minimum to the smoothed round-trip time (`__tcp_set_rto`), counts in ticks of its clock, and fires
//! late, by the level of its timer wheel. How late depends on where between two ticks a timer was started, which a
//! capture does not show; but all timers of a host fire at ticks, so that several of them show where these are. Each
//! minimum, tick and place of the ticks has a likelihood by that. What is left of the minimum is a range, and a value
//! only where nothing in the range is further from it than a tick.

use ackclock_policy::timer_wheel;
use ackclock_units::{Duration, Instant};

use crate::timer::{Expiry, HOST, TICK, latest};

#[cfg(test)]
mod tests;

/// What timeouts show of the minimum, where it is a term added to the smoothed round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MinRto {
    /// At least this.
    pub low: Duration,
    /// At most this.
    pub high: Duration,
    /// The roundest value from which nothing in the range is further than a tick of 4 ms, if there is one.
    pub value: Option<Duration>,
    /// Timeouts that agree.
    pub timeouts: usize,
    /// The likeliest of the range.
    pub(crate) likeliest: Duration,
}

/// Ticks of Linux's clock (CONFIG_HZ of 250 and 1000), each as likely.
const TICKS: [Duration; 2] = [TICK, Duration::from_millis(1)];
/// So many places of the ticks are tried, over as many ticks as a bucket of the wheel's second level has.
const PLACES: u64 = 64;
const BUCKET: u64 = 8;
/// From so many ticks on, a timer is on the third level, whose buckets are so many ticks wide. Where these begin is
/// not tried.
const THIRD_LEVEL: u64 = 504;
const WIDE_BUCKET: u64 = 64;
/// Largest minimum that is tried.
const MOST: Duration = Duration::from_secs(4);
/// Timeouts, and other times at which timers fired, that are looked at.
const MOST_SEEN: usize = 32;
/// Largest level of the backoff that is looked at.
const MOST_LEVEL: u32 = 4;
/// A variation that falls to the minimum comes closer by a quarter with each round trip. From here on it is the
/// minimum.
const STILL_FALLING: Duration = Duration::from_micros(500);
/// The shadow's variation may be so many times as large: a sample that only the sender had moves it by a quarter of
/// four deviations.
const VARIATION_KNOWN: f64 = 1.5;
/// By how much the shadow's smoothed round-trip time may be off, microseconds, each as likely.
const OFF: [i64; 5] = [-1000, -500, 0, 500, 1000];
const MOST_OFF: Duration = Duration::from_millis(1);
/// How often the time that is left of the timeout is rounded up to a tick as well (`tcp_rearm_rto`: a timer of the
/// loss recovery was pending).
const ROUNDED_TWICE: f64 = 0.2;
/// How often a host is later than that, or a packet is not what the shadow takes it for; and how likely each
/// millisecond is then.
const STRAY: f64 = 0.1;
const STRAY_DENSITY: f64 = STRAY / 100.0;
/// The range has so much of the likelihood.
const WITHIN: f64 = 0.95;

/// The minima that `expiries` leave, which must be those of a stack with exact timers and the minimum `supposed`.
/// `others` are those of the same stack with other minima, in their order, 0 among them: what a timeout would have been
/// with these. `fired` are further times at which timers of the same host have fired. `None` where no timeout says
/// anything.
pub fn min_rto(
    expiries: &[Expiry],
    others: &[(Duration, &[Expiry])],
    fired: &[Instant],
    supposed: Duration,
) -> Option<MinRto> {
    let seen: Vec<Seen> =
        expiries.iter().filter_map(|e| Seen::of(e, others, fired, supposed)).take(MOST_SEEN).collect();
    let mut minima: Vec<(Duration, f64)> =
        TICKS.iter().flat_map(|tick| likelihoods(&seen, fired, *tick)).collect();
    let all = sum_of_logs(minima.iter().map(|m| m.1));
    minima.sort_by(|a, b| b.1.total_cmp(&a.1));
    let likeliest = minima.first()?.0;
    let (mut low, mut high, mut sum) = (likeliest, likeliest, 0.0);
    for (minimum, log) in minima {
        if sum >= WITHIN {
            break;
        }
        sum += (log - all).exp();
        (low, high) = (low.min(minimum), high.max(minimum));
    }
    let agrees = |s: &&Seen| s.minima().0 <= high && low <= s.minima().1;
    let timeouts = seen.iter().filter(agrees).count();
    Some(MinRto { low, high, value: value(low, high), timeouts, likeliest })
}

/// The logarithms of how likely minima are with such ticks. Each millisecond is as likely to begin with, of which a
/// tick has several.
fn likelihoods(seen: &[Seen], fired: &[Instant], tick: Duration) -> Vec<(Duration, f64)> {
    let places = (0..PLACES).map(|i| tick * BUCKET * i / PLACES);
    let places: Vec<(Duration, f64)> = places
        .map(|place| (place, fired.iter().take(MOST_SEEN).map(|at| at_tick(*at + place, tick)).sum()))
        .collect();
    let number = |d: Duration| d.min(MOST).as_nanos() / tick.as_nanos();
    let mut numbers: Vec<u64> = Vec::new();
    for (low, high) in seen.iter().map(Seen::minima) {
        numbers.extend((number(low)..=number(high)).filter(|n| *n > 0));
    }
    numbers.sort_unstable();
    numbers.dedup();
    let one = |n: u64| {
        let at = |(place, log): &(Duration, f64)| {
            log + seen.iter().map(|s| s.density(tick, *place, tick * n).ln()).sum::<f64>()
        };
        (tick * n, sum_of_logs(places.iter().map(at)) + tick.as_secs_f64().ln())
    };
    numbers.into_iter().map(one).collect()
}

/// The logarithm of how much likelier a time at which a timer fired is than any, by how close it is to a tick.
fn at_tick(at: Instant, tick: Duration) -> f64 {
    let after = Duration::from_nanos(at.as_nanos() % tick.as_nanos());
    let parts = tick.as_secs_f64() / HOST.as_secs_f64();
    (STRAY + if after <= HOST { (1.0 - STRAY) * parts } else { 0.0 }).ln()
}

fn sum_of_logs(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY { most } else { most + logs.map(|log| (log - most).exp()).sum::<f64>().ln() }
}

/// A timeout, and what the shadow's timer would have been with any minimum.
struct Seen {
    started: Instant,
    at: Instant,
    level: u32,
    /// A timer that has fired has started it.
    by_timer: bool,
    srtt: Duration,
    /// What the variation of round trips adds to that, where it is more than the minimum.
    variation: Duration,
    /// By the minimum, in its order: how much more is added to that, while the variation is still falling to it.
    falling: Vec<(Duration, Duration)>,
}

impl Seen {
    /// `None` where the variation explains the timeout, which then says nothing of the minimum.
    fn of(
        e: &Expiry,
        others: &[(Duration, &[Expiry])],
        fired: &[Instant],
        supposed: Duration,
    ) -> Option<Self> {
        if e.level > MOST_LEVEL {
            return None;
        }
        let of = |expiries: &[Expiry]| {
            let i = expiries.binary_search_by_key(&e.packet, |other| other.packet).ok()?;
            Some(expiries[i])
        };
        let least = others.iter().find(|(minimum, _)| *minimum == Duration::ZERO);
        let variation = least.and_then(|(_, expiries)| of(expiries)).map_or(Duration::ZERO, |e| e.added());
        let same = |other: &Expiry| other.level == e.level && other.waited.abs_diff(e.waited) <= HOST;
        let more = |(minimum, expiries): &(Duration, &[Expiry])| {
            let more = of(expiries).filter(same)?.added().saturating_sub(variation.max(*minimum));
            Some((*minimum, if more > STILL_FALLING { more } else { Duration::ZERO }))
        };
        let falling: Vec<(Duration, Duration)> = others.iter().filter_map(more).collect();
        let known = |minimum: Duration| falling.iter().any(|(m, _)| *m == minimum);
        if e.added() > supposed + STILL_FALLING && !(known(supposed) && falling.len() > 2) {
            return None;
        }
        let started = e.at.saturating_sub(e.waited);
        let by_timer = e.level > 0 || fired.iter().any(|at| started.since(*at) <= HOST && *at <= started);
        let seen = Self { started, at: e.at, level: e.level, by_timer, srtt: e.srtt, variation, falling };
        (seen.range().0 > variation.mul_f64(VARIATION_KNOWN)).then_some(seen)
    }

    /// What a minimum adds to the smoothed round-trip time. While the variation falls to it, that is known by what it
    /// would be with other minima: between these, in proportion.
    fn adds(&self, minimum: Duration) -> Duration {
        let after = self.falling.partition_point(|(m, _)| *m < minimum);
        let before = after.checked_sub(1).map(|i| self.falling[i]);
        let more = match (before, self.falling.get(after)) {
            (_, Some((m, more))) if *m == minimum => *more,
            (Some((below, low)), Some((above, high))) => {
                let part = (minimum - below).as_secs_f64() / (*above - below).as_secs_f64();
                low.mul_f64(1.0 - part) + high.mul_f64(part)
            }
            _ => Duration::ZERO,
        };
        self.variation.max(minimum) + more
    }

    /// The minima that may explain it, wherever the ticks are.
    fn minima(&self) -> (Duration, Duration) {
        let (low, high) = self.range();
        let more = self.falling.iter().map(|(_, more)| *more).max().unwrap_or(Duration::ZERO);
        (low.saturating_sub(more), high)
    }

    /// What may be added to the smoothed round-trip time, wherever the ticks are.
    fn range(&self) -> (Duration, Duration) {
        let waited = self.at.since(self.started);
        let single = |d: Duration| (d / (1 << self.level)).saturating_sub(self.srtt);
        let latest = latest(waited) + HOST;
        (single(waited.saturating_sub(latest)).saturating_sub(MOST_OFF), single(waited) + MOST_OFF)
    }

    /// How likely its time is, for each millisecond, if a tick begins `place` before the clock's beginning.
    fn density(&self, tick: Duration, place: Duration, minimum: Duration) -> f64 {
        let (started, at) = (self.started + place, self.at + place);
        let timeout = self.srtt + self.adds(minimum);
        let each = OFF.iter().map(|off| {
            let ticks =
                timeout.as_nanos().saturating_add_signed(off * 1000).div_ceil(tick.as_nanos()) << self.level;
            let within = |ticks: u64| {
                let expires = started + tick * ticks;
                let (fires, wide) = if ticks < THIRD_LEVEL {
                    (timer_wheel::fires(tick, started, expires), 1.0)
                } else {
                    (expires, (tick * WIDE_BUCKET).as_secs_f64() / HOST.as_secs_f64())
                };
                if fires <= at && at <= fires + HOST.mul_f64(wide) { 1.0 / wide } else { 0.0 }
            };
            if self.by_timer {
                return within(ticks);
            }
            (1.0 - ROUNDED_TWICE) * within(ticks) + ROUNDED_TWICE * within(ticks + 1)
        });
        (1.0 - STRAY) * each.sum::<f64>() / OFF.len() as f64 + STRAY_DENSITY
    }
}

/// The roundest time from which nothing from `low` to `high` is further than a tick: a multiple of the largest of some
/// steps.
fn value(low: Duration, high: Duration) -> Option<Duration> {
    let (from, to) = (high.saturating_sub(TICK).max(low), (low + TICK).min(high));
    [100, 50, 20, 10, 5, 4, 1].into_iter().map(Duration::from_millis).find_map(|step| {
        let next = step * from.as_nanos().div_ceil(step.as_nanos());
        (next <= to).then_some(next)
    })
}
