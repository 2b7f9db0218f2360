use ackclock_units::{Duration, Instant};

use super::{count, duration, for_all, span};
use crate::harness::{sample, timer_view};
use crate::{
    Backoff, Expiry, Params, RateControl, Registry, RetransmissionTimer, RttEstimator, TimerAction,
    TimerEvent, TimerView, Value,
};

/// The timeout lies within the estimator's own floor and ceiling, and the estimates within the samples.
pub fn timeouts_keep_their_bounds(registry: &Registry) {
    for_all::<dyn RttEstimator>(registry, |c, rng| {
        let (mut e, mut twin) = (c.build(), c.build());
        let initial = e.initial_rto();
        assert_eq!((e.rtt(), e.rto()), (None, initial), "{c:?}");
        let min = duration(c.params(), "min_rto").unwrap_or(Duration::ZERO);
        let ticks = duration(c.params(), "tick").unwrap_or(Duration::ZERO);
        let max = duration(c.params(), "max_rto").unwrap_or(Duration::MAX);
        // A given initial mean counts as a sample.
        let (mut least, mut most) =
            given(c.params(), ticks).map_or((Duration::MAX, Duration::ZERO), |mean| (mean, mean));
        let mut at = Duration::ZERO;
        for _ in 0..200 {
            let rtt = span(rng);
            at += rtt + span(rng) / 10;
            let s = sample(at, rtt);
            e.on_sample(s);
            twin.on_sample(s);
            let rtt_before = e.rtt();
            if rng.chance(0.1) {
                e.on_expiry(1);
                twin.on_expiry(1);
                e.on_spurious_timeout();
                twin.on_spurious_timeout();
            }
            if rng.chance(0.1) {
                let (weak, retransmissions) = (sample(at, span(rng)), 1 + rng.below(4) as u32);
                let idle = Instant::ZERO + at + span(rng);
                let takes = e.takes_weak_samples();
                for of in [&mut e, &mut twin] {
                    of.on_weak_sample(weak, retransmissions);
                    of.on_idle(idle);
                }
                assert!(takes || e.rtt() == rtt_before, "a weak sample counts: {c:?}");
            }
            (least, most) = (least.min(rtt), most.max(rtt));
            let (now, rto) = (e.rtt().unwrap_or_else(|| panic!("sampled: {c:?}")), e.rto());
            assert_eq!(
                (twin.rtt(), twin.rto()),
                (Some(now), rto),
                "the same samples give the same estimates: {c:?}"
            );
            assert!(rto >= min, "{rto} is below {min}: {c:?}");
            // Some floors are a number of ticks, which may lie above the ceiling.
            assert!(rto <= max.max(min).max(ticks * 1000), "{rto} is above {max}: {c:?}");
            // A count of ticks that begins with one is up to two too many (4.3BSD's, J-A16).
            assert!(
                now.srtt + ticks + Duration::from_nanos(1) >= least && now.srtt <= most + ticks * 2,
                "{now:?} of {least}..{most}: {c:?}"
            );
            assert!(now.min_rtt <= now.latest, "{now:?}: {c:?}");
            assert_eq!(e.initial_rto(), initial, "{c:?}");
        }
    });
}

/// `rto_above` is never below the given floor, and a floor below the computed timeout does not change it.
pub fn another_floor_is_a_floor(registry: &Registry) {
    for_all::<dyn RttEstimator>(registry, |c, rng| {
        let mut e = c.build();
        assert_eq!(e.rto_above(span(rng)), e.rto(), "there is no floor before the first sample: {c:?}");
        let mut at = Duration::ZERO;
        for _ in 0..20 {
            let rtt = span(rng);
            at += rtt;
            e.on_sample(sample(at, rtt));
            let (low, high) = (span(rng), span(rng));
            let (low, high) = (low.min(high), low.max(high));
            assert!(
                e.rto_above(low) >= low && e.rto_above(high) >= e.rto_above(low),
                "{low} and {high}: {c:?}"
            );
            assert!(
                e.rto_above(high) <= e.rto_above(Duration::ZERO).max(high),
                "a floor of {high} changes a longer timeout: {c:?}"
            );
            if let Some(own) = duration(c.params(), "min_rto") {
                assert_eq!(e.rto_above(own), e.rto(), "{c:?}");
            }
        }
    });
}

/// The timeout of a higher level is no shorter, and that of level 0 is the timeout itself.
pub fn backing_off_never_shortens(registry: &Registry) {
    for_all::<dyn Backoff>(registry, |c, rng| {
        let b = c.build();
        for _ in 0..20 {
            let rto = span(rng);
            for of in [Backoff::timeout, Backoff::syn_timeout, Backoff::syn_ack_timeout] {
                let mut timeout = |level| of(&*b, rto, level, rng);
                assert_eq!(timeout(0), rto, "not backed off yet: {c:?}");
                let mut last = rto;
                for expiries in (1..80).chain([u32::MAX]) {
                    let next = timeout(expiries);
                    assert!(next >= last, "{next} after {last} at {expiries}: {c:?}");
                    last = next;
                }
            }
            // Expiries in a row with any flight size: the level never rises by more than one.
            let mut level = 0;
            for expiries in 0..80 {
                let next =
                    b.level(&Expiry { expiries, level, flight_size: 1 + rng.below(100_000), smss: 1000 });
                assert!(next <= level + 1, "{next} after {level} at {expiries}: {c:?}");
                level = next;
            }
            let waits = [0, 10, 100, 1000, 100_000].map(Duration::from_secs);
            for expiries in 0..40 {
                for pair in waits.windows(2) {
                    let (sooner, later) = (b.give_up(expiries, pair[0]), b.give_up(expiries, pair[1]));
                    assert!(
                        later >= sooner && b.give_up(expiries + 1, pair[0]) >= sooner,
                        "giving up is final: {c:?}"
                    );
                }
            }
        }
    });
}

/// The timer is armed while data is outstanding, never in the past, and disarmed otherwise.
pub fn the_timer_runs_while_something_is_outstanding(registry: &Registry) {
    for_all::<dyn RetransmissionTimer>(registry, |c, rng| {
        let t = c.build();
        let beat = duration(c.params(), "heartbeat").unwrap_or(Duration::ZERO);
        // How many timeouts it lets pass.
        let times = count(c.params(), "persistent_congestion_threshold").unwrap_or(1);
        let (mut now, mut deadline, mut restarted_at) = (Instant::ZERO, None, Instant::ZERO);
        for _ in 0..300 {
            now += span(rng) / 100;
            let (age, timeout) = (span(rng), span(rng));
            let oldest_sent_at = rng.chance(0.9).then(|| now.saturating_sub(age));
            let e = match rng.below(7) {
                0 | 1 => TimerEvent::Sent { retransmission: false },
                2 => TimerEvent::Sent { retransmission: true },
                3 => TimerEvent::Acked,
                4 => TimerEvent::AllAcked,
                5 => TimerEvent::Probed,
                _ => TimerEvent::Expired,
            };
            let v = TimerView {
                deadline,
                oldest_sent_at,
                restarted_at,
                last_sent_at: now.saturating_sub(span(rng)),
                outstanding_segs: rng.below(12) as u32,
                unsent: rng.below(12_000),
                ..timer_view(now)
            };
            if let Some(later) = t.postponed(timeout, &v) {
                assert!(later > now && later <= now + timeout * times + beat, "{later:?} at {now:?}: {c:?}");
            }
            let action = t.on(e, timeout, &v);
            if matches!(e, TimerEvent::Expired | TimerEvent::Probed) {
                restarted_at = now;
            }
            match action {
                TimerAction::Arm(at) => {
                    assert!(at >= now, "{at:?} is past at {now:?}: {c:?}");
                    // The age of a segment may shorten the timeout, and only a tick lengthens it.
                    assert!(
                        at <= now + timeout * times + beat,
                        "{at:?} is more than {timeout} after {now:?}: {c:?}"
                    );
                    assert!(
                        beat.is_zero() || at.as_nanos() % beat.as_nanos() == 0,
                        "{at:?} is not on a tick of {beat}: {c:?}"
                    );
                    if matches!(e, TimerEvent::Expired | TimerEvent::Probed) {
                        assert!(at + beat >= now + timeout, "less than the whole timeout after {e:?}: {c:?}");
                    }
                    deadline = Some(at);
                }
                TimerAction::Disarm => deadline = None,
                TimerAction::Keep => {}
            }
            assert_eq!(deadline.is_none(), e == TimerEvent::AllAcked, "{e:?} gave {action:?}: {c:?}");
        }
    });
}

/// The initial mean that an estimator is given.
fn given(params: &Params, tick: Duration) -> Option<Duration> {
    let of = |name| params.iter().find(|(n, _)| *n == name).map(|(_, v)| v);
    match (of("start"), of("start_sa")) {
        (Some(Value::Choice("given")), Some(Value::Count(sa))) => Some(tick * sa / 8),
        _ => None,
    }
}

/// After `set_estimates`, the estimates are those given.
pub fn given_estimates_are_used(registry: &Registry) {
    for_all::<dyn RttEstimator>(registry, |c, rng| {
        let mut e = c.build();
        if rng.chance(0.5) {
            e.on_sample(sample(Duration::from_secs(10), span(rng).min(Duration::from_secs(10))));
        }
        let (srtt, rttvar) = (span(rng), span(rng));
        e.set_estimates(srtt, rttvar);
        let rtt = e.rtt().unwrap_or_else(|| panic!("no estimates: {c:?}"));
        // Estimates in ticks are right to the nearest eighth or quarter of a tick.
        let near = |a: Duration, b: Duration| a.abs_diff(b) <= e.granularity() / 8 + Duration::from_nanos(1);
        assert!(near(rtt.srtt, srtt), "{} is not {srtt}: {c:?}", rtt.srtt);
        assert!(near(rtt.rttvar, rttvar) || rtt.rttvar.is_zero(), "{} is not {rttvar}: {c:?}", rtt.rttvar);
    });
}

/// The interval between packets lies within its bounds, and congestion never shortens it.
pub fn intervals_keep_their_bounds_and_congestion_never_shortens_them(registry: &Registry) {
    for_all::<dyn RateControl>(registry, |c, rng| {
        let (mut rule, mut last) = (c.build(), Duration::ZERO);
        let min = duration(c.params(), "min_interval").unwrap_or(Duration::from_nanos(1));
        for _ in 0..200 {
            if rng.chance(0.1) {
                let mut twin = c.build();
                let undisturbed = twin.on_sent();
                let mut twin = c.build();
                twin.on_congestion();
                assert!(twin.on_sent() >= undisturbed, "{c:?}");
                rule.on_congestion();
                last = rule.on_sent();
            }
            let next = rule.on_sent();
            assert!(next >= min && !next.is_zero(), "{next}: {c:?}");
            assert!(last.is_zero() || next <= last.max(min), "{last} to {next} without congestion: {c:?}");
            last = next;
        }
    });
}
