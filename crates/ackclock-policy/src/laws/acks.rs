use ackclock_units::{Duration, Instant};

use super::{for_all, for_all_defaults, span};
use crate::{
    AckAction, AckPending, AckPolicy, ArrivedSegment, Chosen, ReceiverEvent, ReceiverView, Registry,
};

/// Random arrivals at a receiver that keeps the policy's deadlines; `check` is called with each action.
fn receive(
    c: &Chosen<dyn AckPolicy>,
    rng: &mut ackclock_units::Rng,
    check: impl Fn(Instant, &AckPending, AckAction),
) {
    let mut policy = c.build();
    let rmss = 1000;
    let mut p = AckPending {
        bytes: 0,
        full_segments: 0,
        segments: 0,
        rcv_wnd: rng.below(1 << 20),
        rmss,
        deadline: None,
    };
    let mut now = Instant::ZERO;
    for _ in 0..500 {
        now += span(rng) / 1000;
        if p.deadline.is_some_and(|at| at <= now) {
            p = AckPending { bytes: 0, full_segments: 0, segments: 0, deadline: None, ..p };
        }
        let full_sized = rng.chance(0.8);
        let bytes = if full_sized { rmss } else { 1 + rng.below(u64::from(rmss) - 1) as u32 };
        p = AckPending {
            bytes: p.bytes + u64::from(bytes),
            full_segments: p.full_segments + u32::from(full_sized),
            segments: p.segments + 1,
            ..p
        };
        let action = policy.on_arrival(&ArrivedSegment { now, bytes, full_sized, push: rng.chance(0.1) }, &p);
        check(now, &p, action);
        match action {
            AckAction::Now | AckAction::Forge(_) => {
                p = AckPending { bytes: 0, full_segments: 0, segments: 0, deadline: None, ..p }
            }
            AckAction::By(at) => p.deadline = Some(at),
            AckAction::Hold => {}
        }
    }
}

/// Every arrival is acknowledged in the end, and no running deadline is extended.
pub fn every_arrival_is_acknowledged_in_the_end(registry: &Registry) {
    for_all::<dyn AckPolicy>(registry, |c, rng| {
        receive(c, rng, |now, p, action| match action {
            AckAction::Now | AckAction::Forge(_) => {}
            AckAction::By(at) => {
                assert!(at >= now, "{at:?} is past at {now:?}: {c:?}");
                assert!(p.deadline.is_none_or(|running| at <= running), "a deadline was extended: {c:?}");
            }
            AckAction::Hold => assert!(p.deadline.is_some(), "this would never be acknowledged: {c:?}"),
        });
    });
}

/// Whatever else happens at the receiver, what arrived (but for what displaces blocks that were reported at once) and is not acknowledged at once has a deadline, within
/// half a second (RFC 5681 §4.2) and never extended, and nothing else than an arrival sets one.
pub fn those_that_follow_events_acknowledge_everything_within_half_a_second(registry: &Registry) {
    for_all_defaults::<dyn AckPolicy>(registry, |c, rng| {
        let mut policy = c.build();
        if !policy.follows_events() {
            return;
        }
        let none = AckPending {
            bytes: 0,
            full_segments: 0,
            segments: 0,
            rcv_wnd: rng.below(1 << 20),
            rmss: 1000,
            deadline: None,
        };
        let (mut p, mut now, mut waits) = (none, Instant::ZERO, false);
        // What was there before the text that arrives next was acknowledged.
        let mut acked_first = false;
        for _ in 0..2000 {
            now += span(rng) / 1000;
            let v = ReceiverView {
                now,
                srtt: rng.chance(0.8).then(|| span(rng) / 1000),
                rto: Some(Duration::from_millis(200 + rng.below(60_000))),
                mss: 1000,
                window_shrinks: rng.chance(0.2),
                window_opens: rng.chance(0.1),
                gap: rng.chance(0.3),
                unread: rng.below(2),
            };
            if p.deadline.is_some_and(|at| at <= now) {
                policy.on_event(ReceiverEvent::Deadline, &p, &v);
                (p, waits) = (none, false);
                policy.on_event(ReceiverEvent::Acked, &p, &v);
            }
            let bytes = 1 + rng.below(1000) as u32;
            let segment = ArrivedSegment { now, bytes, full_sized: bytes == 1000, push: rng.chance(0.3) };
            let event = match rng.below(13) {
                0 => ReceiverEvent::OutOfOrder(segment),
                12 => ReceiverEvent::Displaced(rng.below(5) as u8),
                1 => ReceiverEvent::Repeated,
                2 => ReceiverEvent::Marked,
                3 => ReceiverEvent::Fin,
                4 => ReceiverEvent::Read,
                5 => ReceiverEvent::Sent,
                6 => ReceiverEvent::Acked,
                7 => ReceiverEvent::Quick(rng.chance(0.5)),
                _ => ReceiverEvent::Arrived(segment),
            };
            let arrives = matches!(
                event,
                ReceiverEvent::Arrived(_) | ReceiverEvent::OutOfOrder(_) | ReceiverEvent::Fin
            );
            if let ReceiverEvent::Arrived(s) = event {
                p = AckPending {
                    bytes: p.bytes + u64::from(s.bytes),
                    full_segments: p.full_segments + u32::from(s.full_sized),
                    segments: p.segments + 1,
                    ..p
                };
            }
            if event == ReceiverEvent::Acked {
                (p, waits) = (none, false);
            }
            waits |= arrives;
            let above_gap = matches!(event, ReceiverEvent::OutOfOrder(_));
            let may_hold = std::mem::take(&mut acked_first) && above_gap;
            let at_once = matches!(event, ReceiverEvent::Repeated | ReceiverEvent::Marked);
            match policy.on_event(event, &p, &v) {
                AckAction::By(at) => {
                    assert!(waits, "{event:?} set a deadline with nothing to acknowledge: {c:?}");
                    assert!(at >= now && at.since(now) <= Duration::from_millis(500), "{event:?}: {c:?}");
                    assert!(p.deadline.is_none_or(|running| at <= running), "{event:?} extended it: {c:?}");
                    p.deadline = Some(at);
                }
                AckAction::Hold if !at_once => {
                    let acknowledged = !arrives || may_hold || p.deadline.is_some();
                    assert!(acknowledged, "{event:?} is never acknowledged: {c:?}");
                }
                AckAction::Now | AckAction::Forge(_) | AckAction::Hold => {
                    (p, waits) = (none, false);
                    policy.on_event(ReceiverEvent::Acked, &p, &v);
                    acked_first = matches!(event, ReceiverEvent::Displaced(_));
                }
            }
        }
    });
}

/// Policies whose source is RFC 5681 acknowledge every second full segment, and any within half a second
/// (§4.2).
pub fn those_that_claim_rfc_5681_acknowledge_every_second_segment_within_half_a_second(registry: &Registry) {
    for_all_defaults::<dyn AckPolicy>(registry, |c, rng| {
        if !c.entry().source.contains("RFC 5681") {
            return;
        }
        for _ in 0..50 {
            receive(c, rng, |now, p, action| {
                assert!(action == AckAction::Now || p.full_segments < 2, "{p:?}: {c:?}");
                if let AckAction::By(at) = action {
                    assert!(at.since(now) <= Duration::from_millis(500), "{c:?}");
                }
            });
        }
    });
}
