use ackclock_units::Duration;

use super::Heartbeat;
use super::heartbeat::HEARTBEAT;
use crate::{Entry, Param, Policy, RetransmissionTimer, TimerAction, TimerEvent, TimerView};

/// Subtracts the age of the oldest outstanding segment when so few segments are outstanding or waiting that
/// fast retransmit cannot repair a loss of the last ones.
#[derive(Debug)]
struct RtoRestart {
    clock: Heartbeat,
    rrthresh: u64,
}

impl RtoRestart {
    /// RFC 7765 §4: the time left after an ack of new data.
    fn restarted(&self, timeout: Duration, v: &TimerView) -> Duration {
        // Step 2. `prevunsnt` of §2, in segments.
        let waiting = v.unsent.div_ceil(u64::from(v.smss.max(1)));
        let few = u64::from(v.outstanding_segs).saturating_add(waiting) < self.rrthresh;
        // Step 1.
        let earliest =
            v.oldest_sent_at.filter(|_| few).map_or(Duration::ZERO, |sent_at| v.now.since(sent_at));
        // Step 3: a time that is over says nothing, as when a retransmission is acknowledged.
        if earliest < timeout { timeout - earliest } else { timeout }
    }
}

impl Policy for RtoRestart {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl RetransmissionTimer for RtoRestart {
    fn on(&self, e: TimerEvent, timeout: Duration, v: &TimerView) -> TimerAction {
        match e {
            // All but step 5.3 of RFC 6298 §5 stays.
            TimerEvent::Sent { .. } if v.deadline.is_some() => TimerAction::Keep,
            TimerEvent::Sent { .. } | TimerEvent::Expired | TimerEvent::Probed => {
                TimerAction::Arm(self.clock.after(v.now, timeout))
            }
            TimerEvent::Acked => TimerAction::Arm(self.clock.after(v.now, self.restarted(timeout, v))),
            TimerEvent::AllAcked => TimerAction::Disarm,
        }
    }
}

/// RFC 7765's timer.
pub(crate) const ENTRY: Entry<dyn RetransmissionTimer> = Entry {
    name: "rto-restart",
    about: "RTO restart: as the standard timer, but with few segments outstanding or waiting an ack restarts \
            it with the timeout less the age of the oldest outstanding segment.",
    source: "RFC 7765 4",
    params: &[
        HEARTBEAT,
        Param::count(
            "rrthresh",
            // §4: below this, fast retransmit cannot be triggered.
            4,
            0..=u64::MAX,
            "outstanding and unsent segments below which the age counts; inf for always",
        ),
    ],
    build: |p| {
        Box::new(RtoRestart { clock: Heartbeat(p.duration("heartbeat")), rrthresh: p.count("rrthresh") })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Instant;

    use crate::harness::timer_view;
    use crate::{Params, Value};

    const RTO: Duration = Duration::from_secs(1);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// When the timer expires after an ack at `now` ms that leaves `segs` segments outstanding, the oldest of
    /// which was sent at `oldest` ms, with `unsent` bytes waiting.
    fn expiry(now: u64, oldest: u64, segs: u32, unsent: u64) -> Instant {
        let t = (ENTRY.build)(&Params::defaults(ENTRY.params));
        let v = TimerView {
            deadline: Some(at(1000)),
            oldest_sent_at: Some(at(oldest)),
            outstanding_segs: segs,
            unsent,
            ..timer_view(at(now))
        };
        match t.on(TimerEvent::Acked, RTO, &v) {
            TimerAction::Arm(at) => at,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_lost_third_segment_is_detected_after_the_timeout() {
        // RFC 7765 §3, figure 1: three segments, of which the first two are acknowledged after a round trip
        // (here 100 ms); the third is lost. The standard timer takes RTO + RTT, this one RTO.
        assert_eq!(expiry(100, 0, 1, 0), at(1000));
        // §3: with two segments outstanding the time of the delayed ack counts as well (here 200 ms more).
        assert_eq!(expiry(300, 0, 1, 0), at(1000));
    }

    #[test]
    fn outstanding_and_unsent_segments_count() {
        // §4, step 2: less than four.
        assert_eq!(expiry(100, 0, 3, 0), at(1000));
        assert_eq!(expiry(100, 0, 4, 0), at(1100));
        assert_eq!(expiry(100, 0, 2, 1000), at(1000));
        assert_eq!(expiry(100, 0, 2, 1001), at(1100), "the second unsent segment is a short one");
        assert_eq!(expiry(100, 0, 1, u64::MAX), at(1100));
    }

    #[test]
    fn a_time_that_is_over_does_not_count() {
        // §4, step 3 (b): an old retransmission was acknowledged.
        assert_eq!(expiry(1000, 0, 1, 0), at(2000));
        assert_eq!(expiry(5000, 0, 1, 0), at(6000));
        assert_eq!(expiry(999, 0, 1, 0), at(1000), "step 3 (a)");
    }

    #[test]
    fn other_events_are_those_of_the_standard_timer() {
        let mut p = Params::defaults(ENTRY.params);
        assert!(p.set("rrthresh", Value::Count(u64::MAX)));
        let t = (ENTRY.build)(&p);
        let idle = TimerView { oldest_sent_at: Some(at(0)), ..timer_view(at(500)) };
        let running = TimerView { deadline: Some(at(1000)), ..idle };
        let sent = TimerEvent::Sent { retransmission: true };
        assert_eq!(t.on(sent, RTO, &idle), TimerAction::Arm(at(1500)));
        assert_eq!(t.on(sent, RTO, &running), TimerAction::Keep);
        assert_eq!(t.on(TimerEvent::Expired, RTO * 2, &running), TimerAction::Arm(at(2500)));
        assert_eq!(t.on(TimerEvent::Probed, RTO, &running), TimerAction::Arm(at(1500)));
        assert_eq!(t.on(TimerEvent::AllAcked, RTO, &running), TimerAction::Disarm);
        assert_eq!(t.on(TimerEvent::Acked, RTO, &running), TimerAction::Arm(at(1000)), "always");
    }
}
