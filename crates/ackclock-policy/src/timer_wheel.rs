//! When a timer of Linux's timer wheel fires (kernel/time/timer.c): in ticks, and the coarser the longer it
//! runs.

use ackclock_units::{Duration, Instant};

/// Buckets of a level (`LVL_SIZE`); the last one is not used, since expiries are rounded up by one
/// (`LVL_START`).
const LEVEL: u64 = 63;
/// Each level is coarser than the one below by 2 to this power (`LVL_CLK_SHIFT`).
const SHIFT: u32 = 3;
/// The coarsest level (`LVL_DEPTH`).
const COARSEST: u32 = 8;

/// When a timer fires that is armed at `now` for `at`. The wheel's clock ticks every `tick`, from the
/// beginning of the world on; the time left counts in whole ticks from the last one, rounded up. A timer of
/// up to 62 ticks fires a tick later than that, at most; one of up to 503 ticks, at the next multiple of
/// eight ticks; and so on.
pub fn fires(tick: Duration, now: Instant, at: Instant) -> Instant {
    let tick = tick.as_nanos().max(1);
    // What is due is done at once, and waits for no timer.
    if at <= now {
        return now;
    }
    if at == Instant::FAR_FUTURE {
        return at;
    }
    let left = at.since(now).as_nanos().div_ceil(tick);
    let mut level = 0;
    while level < COARSEST && left >> (SHIFT * level) >= LEVEL {
        level += 1;
    }
    let expires = (now.as_nanos() / tick).saturating_add(left);
    // `calc_index`: never early, whatever is cut off.
    let bucket = (expires >> (SHIFT * level)).saturating_add(1) << (SHIFT * level);
    Instant::from_nanos(bucket.saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(tick_ms: u64, now_ms: u64, left_ms: u64) -> u64 {
        let now = Instant::ZERO + MS * now_ms;
        fires(MS * tick_ms, now, now + MS * left_ms).since(Instant::ZERO).as_nanos() / MS.as_nanos()
    }

    #[test]
    fn levels_are_those_of_the_kernels_table() {
        // HZ 250: up to 252 ms in ticks of 4 ms, up to 2 s of 32 ms, up to 16 s of 256 ms.
        assert_eq!(at(4, 0, 200), 204);
        assert_eq!(at(4, 3, 200), 204, "the tick under way counts");
        assert_eq!(at(4, 4, 201), 4 + 204 + 4);
        assert_eq!(at(4, 0, 248), 252, "62 ticks");
        assert_eq!(at(4, 0, 252), 256, "63 ticks: eight at a time");
        assert_eq!(at(4, 8, 272), 288);
        assert_eq!(at(4, 0, 1000), 1024);
        assert_eq!(at(4, 24, 1000), 1056);
        assert_eq!(at(4, 0, 2012), 2016, "503 ticks");
        assert_eq!(at(4, 0, 2016), 2048, "504 ticks: 64 at a time");
        assert_eq!(at(4, 0, 3000), 3072);
        // HZ 1000.
        assert_eq!(at(1, 0, 40), 41);
        assert_eq!(at(1, 0, 200), 208);
        assert_eq!(at(1, 0, 600), 640);
    }

    #[test]
    fn no_timer_is_early_or_later_than_its_level_allows() {
        let mut left = 1;
        while left < 200_000_000_000_000 {
            for now in [0, 1, 3_999_999, 4_000_000, 123_456_789] {
                let now = Instant::from_nanos(now);
                let at = now + Duration::from_nanos(left);
                let fires = fires(MS * 4, now, at);
                assert!(fires > now && fires + MS * 4 > at, "{left} {now:?}");
                // A level's timers last at least 63/8 of its ticks, but for the finest.
                let late = fires.since(at).as_nanos();
                assert!(late <= (left / 7).max(2 * 4_000_000) + 4_000_000, "{left}: {late}");
            }
            left = left * 5 / 4 + 1;
        }
        assert_eq!(fires(MS, Instant::ZERO, Instant::FAR_FUTURE), Instant::FAR_FUTURE);
        assert_eq!(fires(MS, Instant::from_nanos(5), Instant::from_nanos(5)), Instant::from_nanos(5));
    }
}
