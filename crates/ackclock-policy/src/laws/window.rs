use ackclock_units::{Duration, Instant, Rng};

use super::{for_all, for_all_defaults, span};
use crate::harness::{ack, view};
use crate::{
    AckInfo, Chosen, ClassicSlowStart, Congestion, CongestionControl, EpisodeEnd, Family, Feedback, Needs,
    Phase, RateSample, Registry, Rtt, SenderView, Value,
};

/// Random events of a connection; `check` is called with each event and the view before and after it.
fn random_events(
    c: &Chosen<dyn CongestionControl>,
    rng: &mut Rng,
    check: impl Fn(&SenderView, Event, &SenderView),
) {
    let mut w = c.build();
    let needs = w.needs();
    let smss = [1, 100, 536, 1000, 1460, 9000, 65_000][rng.below(7) as usize];
    let mut v = SenderView { smss, now: Instant::ZERO, counts_marks: rng.chance(0.5), ..view() };
    v.window = w.start(&v).window;
    v.initial_window = v.window.cwnd;
    assert!(
        v.window.cwnd >= u64::from(smss),
        "a new connection has {:?}, less than a segment of {smss}: {c:?}",
        v.window
    );
    for _ in 0..400 {
        v.now += span(rng) / 1000;
        v.flight_size = rng.below(v.window.cwnd.min(1 << 32) + 3 * u64::from(smss));
        v.pipe = rng.below(v.flight_size + 1);
        let rtt = span(rng);
        v.rtt = rng.chance(0.9).then_some(Rtt { latest: rtt, srtt: rtt, rttvar: rtt / 4, min_rtt: rtt / 2 });
        v.phase = [Phase::Open, Phase::Disorder, Phase::Loss][rng.below(3) as usize];
        let before = v;
        let event = match rng.below(20) {
            0 => Event::Congestion([Congestion::Loss, Congestion::Ecn][rng.below(2) as usize]),
            1 => Event::Congestion(Congestion::Rto { repeated: rng.chance(0.5) }),
            2 => {
                let completed = rng.chance(0.5);
                Event::EpisodeEnded(if completed { EpisodeEnd::Completed } else { EpisodeEnd::Spurious })
            }
            3 => Event::Idle,
            _ => Event::Ack { newly_acked: 1 + rng.below(4 * u64::from(smss)), validated: rng.chance(0.8) },
        };
        let info;
        let feedback = match event {
            Event::Congestion(cause) => Feedback::Congestion(cause),
            Event::EpisodeEnded(how) => Feedback::EpisodeEnded(how),
            Event::Idle => Feedback::Idle(Duration::from_secs(1)),
            Event::Ack { newly_acked, validated } => {
                info = measured(AckInfo { validated, ..ack(1, newly_acked) }, needs, &v, rng);
                if !info.may_grow {
                    v.phase = Phase::Recovery;
                }
                Feedback::Ack(&info, &mut ClassicSlowStart)
            }
        };
        let control = w.on(feedback, &v);
        v.window = control.window;
        assert!(
            v.window.cwnd >= u64::from(smss),
            "{event:?} left {:?}, less than a segment of {smss}: {c:?}",
            v.window
        );
        if needs.sends && rng.chance(0.5) {
            v.window = w
                .on(
                    Feedback::Sent {
                        bytes: smss,
                        retransmission: rng.chance(0.1),
                        app_limited: rng.chance(0.2),
                    },
                    &v,
                )
                .window;
        }
        check(&before, event, &v);
    }
}

/// The ack with what the window needs.
fn measured(a: AckInfo, needs: Needs, v: &SenderView, rng: &mut Rng) -> AckInfo {
    let total_delivered = v.now.since(Instant::ZERO).as_nanos() / 1000;
    let delivered = rng.below(total_delivered + 1);
    let rate = needs.rate_samples.then(|| RateSample {
        delivered,
        interval: span(rng),
        prior_delivered: total_delivered - delivered,
        total_delivered,
        app_limited: rng.chance(0.2),
        lost: rng.below(delivered + 1),
        prior_in_flight: v.flight_size,
        sent_at: v.now.saturating_sub(span(rng)),
        rtt: rng.chance(0.9).then(|| span(rng)),
    });
    let ce_bytes = if needs.every_ack && rng.chance(0.2) { rng.below(a.newly_acked + 1) } else { 0 };
    // A mark forbids growth when it is an echo by RFC 3168; with accurate feedback the window decides.
    let may_grow = !needs.every_ack || rng.chance(0.8);
    AckInfo { rate: rate.filter(|_| rng.chance(0.9)), ce_bytes, may_grow, ..a }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    Congestion(Congestion),
    EpisodeEnded(EpisodeEnd),
    Idle,
    Ack { newly_acked: u64, validated: bool },
}

/// The window is at least one segment, the threshold at least two after a reduction (RFC 5681 §3.1 eq. 4),
/// and a repeated timeout does not change it.
pub fn windows_keep_their_floors(registry: &Registry) {
    for_all::<dyn CongestionControl>(registry, |c, rng| {
        let keeps_ssthresh = c.params().iter().any(|p| p == ("keep_ssthresh", Value::Flag(true)));
        let small_start = c.params().iter().any(|(name, _)| name == "initial_ssthresh");
        let no_threshold =
            c.params().iter().any(|(name, value)| name == "phases" && value != Value::Choice("both"));
        let model_based = c.build().family() == Family::ModelBased;
        random_events(c, rng, |before, event, after| {
            if model_based {
                return;
            }
            let two = 2 * u64::from(after.smss);
            match event {
                Event::Congestion(Congestion::Rto { repeated })
                    if repeated || keeps_ssthresh || no_threshold =>
                {
                    assert_eq!(
                        after.window.ssthresh, before.window.ssthresh,
                        "a repeated timeout leaves the threshold as it is (RFC 5681 §3.1): {c:?}"
                    );
                }
                Event::Congestion(_) if no_threshold => {
                    assert_eq!(after.window.ssthresh, before.window.ssthresh, "it keeps its threshold: {c:?}")
                }
                Event::Congestion(_) => assert!(
                    after.window.ssthresh >= two,
                    "{event:?} left {:?}, a threshold below two segments ({two}): {c:?}",
                    after.window
                ),
                _ => assert!(
                    after.window.ssthresh >= two || small_start,
                    "{event:?} left {:?}, a threshold below two segments ({two}): {c:?}",
                    after.window
                ),
            }
        });
    });
}

/// Where a reduction decides how much is sent during a repair, a loss leaves a threshold that is no smaller
/// than the window: the flight falls to it (RFC 9937 §6.1), however large the window is by then.
pub fn a_repair_is_held_to_no_less_than_the_window(registry: &Registry) {
    for_all_defaults::<dyn CongestionControl>(registry, |c, rng| {
        if c.build().needs().owns_repair {
            return;
        }
        for _ in 0..50 {
            random_events(c, rng, |_, event, after| {
                if event == Event::Congestion(Congestion::Loss) {
                    assert!(after.window.ssthresh >= after.window.cwnd, "{:?}: {c:?}", after.window);
                }
            });
        }
    });
}

/// Loss-based windows: acks never shrink them, congestion signals and idling never grow them. Delay-based
/// windows keep the second half.
pub fn acks_never_shrink_a_window_and_congestion_never_grows_it(registry: &Registry) {
    for_all_defaults::<dyn CongestionControl>(registry, |c, rng| {
        let family = c.build().family();
        if family == Family::ModelBased {
            return;
        }
        for _ in 0..50 {
            random_events(c, rng, |before, event, after| {
                let (old, new) = (before.window.cwnd, after.window.cwnd);
                match event {
                    Event::Ack { validated: false, .. } if family == Family::LossBased => {
                        assert_eq!(new, old, "an unused window grew: {c:?}")
                    }
                    Event::Ack { validated: false, .. } => {
                        assert!(new <= old, "an unused window grew: {c:?}")
                    }
                    Event::Ack { .. } if family == Family::DelayBased => {}
                    Event::Ack { .. } => assert!(new >= old, "{old} to {new}: {c:?}"),
                    Event::Congestion(_) => assert!(
                        new <= old.max(2 * u64::from(after.smss)),
                        "{old} to {new} at {event:?}: {c:?}"
                    ),
                    Event::Idle => assert!(new <= old, "{old} to {new}: {c:?}"),
                    Event::EpisodeEnded(_) => {}
                }
            });
        }
    });
}

/// Loss-based and delay-based windows: below the threshold they grow by at most what is acknowledged (J-A2,
/// RFC 3465 §2.2).
pub fn slow_start_grows_no_faster_than_what_is_acknowledged(registry: &Registry) {
    for_all_defaults::<dyn CongestionControl>(registry, |c, rng| {
        if c.build().family() == Family::ModelBased {
            return;
        }
        for _ in 0..50 {
            random_events(c, rng, |before, event, after| {
                if let Event::Ack { newly_acked, .. } = event
                    && before.window.cwnd < before.window.ssthresh
                {
                    assert!(
                        after.window.cwnd.saturating_sub(before.window.cwnd) <= newly_acked,
                        "J-A2, RFC 3465 §2.2: {c:?}"
                    );
                }
            });
        }
    });
}
