use ackclock_units::Duration;

use super::Heartbeat;
use super::heartbeat::HEARTBEAT;
use crate::{Entry, Param, Phase, Policy, RetransmissionTimer, TimerAction, TimerEvent, TimerView};

/// Restarts with the full timeout at every ack of new data, whatever the age of the oldest outstanding
/// segment.
#[derive(Debug)]
struct RestartOnAck {
    clock: Heartbeat,
    /// Fast retransmissions restart it as well.
    fast_retransmit: bool,
    /// So does each retransmission of the oldest segment.
    oldest_again: bool,
}

impl Policy for RestartOnAck {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl RetransmissionTimer for RestartOnAck {
    fn on(&self, e: TimerEvent, timeout: Duration, v: &TimerView) -> TimerAction {
        match e {
            // 4.4BSD-Lite stopped the timer before a fast retransmit, whose transmission started it again.
            TimerEvent::Sent { retransmission: true }
                if self.fast_retransmit && v.phase == Phase::Recovery =>
            {
                TimerAction::Arm(self.clock.after(v.now, timeout))
            }
            // RFC 6675 §6 allows it for each retransmission of a recovery.
            TimerEvent::Sent { retransmission: true }
                if self.oldest_again && v.oldest_sent_at == Some(v.now) =>
            {
                TimerAction::Arm(self.clock.after(v.now, timeout))
            }
            // RFC 6298 §5.1: only a timer that is not running is started.
            TimerEvent::Sent { .. } if v.deadline.is_some() => TimerAction::Keep,
            // §5.3 at an ack of new data, §5.6 after an expiry; the timeout is backed off already (§5.5). RFC
            // 8985 §7.3 with a probe.
            TimerEvent::Sent { .. } | TimerEvent::Acked | TimerEvent::Expired | TimerEvent::Probed => {
                TimerAction::Arm(self.clock.after(v.now, timeout))
            }
            // §5.2
            TimerEvent::AllAcked => TimerAction::Disarm,
        }
    }
}

/// The standard timer.
pub(crate) const ENTRY: Entry<dyn RetransmissionTimer> = Entry {
    name: "restart-on-ack",
    about: "Restarts with the full timeout at every ack of new data (the standard); with a heartbeat, in \
            ticks of a coarse clock.",
    source: "RFC 6298 5; Ludwig & Sklower 2000 (E-A1, E-A5)",
    params: &[
        HEARTBEAT,
        Param::flag(
            "fast_retransmit",
            false,
            "restart at a fast retransmit too, as in 4.4BSD-Lite; the standard does not",
        ),
        Param::flag(
            "oldest_again",
            false,
            "restart at each retransmission of the oldest segment, as in Linux; RFC 6675 6 allows it for \
             each retransmission",
        ),
    ],
    build: |p| {
        Box::new(RestartOnAck {
            clock: Heartbeat(p.duration("heartbeat")),
            fast_retransmit: p.flag("fast_retransmit"),
            oldest_again: p.flag("oldest_again"),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Instant;

    use crate::harness::timer_view;

    fn view(now: Instant, phase: Phase) -> TimerView {
        TimerView { phase, ..timer_view(now) }
    }

    #[test]
    fn it_follows_rfc_6298() {
        let t = (ENTRY.build)(&crate::Params::defaults(ENTRY.params));
        let (now, rto) = (Instant::from_nanos(5_000), Duration::from_secs(1));
        let idle = view(now, Phase::Open);
        let running = TimerView { deadline: Some(now + Duration::from_millis(1)), ..idle };
        let sent = TimerEvent::Sent { retransmission: false };
        assert_eq!(t.on(sent, rto, &idle), TimerAction::Arm(now + rto));
        assert_eq!(t.on(sent, rto, &running), TimerAction::Keep);
        assert_eq!(t.on(TimerEvent::Acked, rto, &running), TimerAction::Arm(now + rto));
        assert_eq!(t.on(TimerEvent::Expired, rto * 2, &running), TimerAction::Arm(now + rto * 2));
        assert_eq!(t.on(TimerEvent::Probed, rto, &running), TimerAction::Arm(now + rto), "RFC 8985 7.3");
        assert_eq!(t.on(TimerEvent::AllAcked, rto, &running), TimerAction::Disarm);
    }

    #[test]
    fn the_oldest_segment_sent_again_restarts_it_if_configured() {
        let (now, rto) = (Instant::from_nanos(5_000), Duration::from_secs(1));
        let running = |oldest| TimerView {
            deadline: Some(now + Duration::from_millis(1)),
            oldest_sent_at: Some(oldest),
            ..view(now, Phase::Recovery)
        };
        let mut p = crate::Params::defaults(ENTRY.params);
        assert!(p.set("oldest_again", crate::Value::Flag(true)));
        let t = (ENTRY.build)(&p);
        let again = TimerEvent::Sent { retransmission: true };
        assert_eq!(t.on(again, rto, &running(now)), TimerAction::Arm(now + rto));
        assert_eq!(t.on(again, rto, &running(Instant::ZERO)), TimerAction::Keep, "another segment");
    }

    #[test]
    fn a_fast_retransmit_restarts_it_if_configured() {
        let (now, rto) = (Instant::from_nanos(5_000), Duration::from_secs(1));
        let again = TimerEvent::Sent { retransmission: true };
        for (flag, phase, action) in [
            (false, Phase::Recovery, TimerAction::Keep),
            (true, Phase::Recovery, TimerAction::Arm(now + rto)),
            // After a timeout, retransmissions do not restart the timer that the expiry started.
            (true, Phase::Loss, TimerAction::Keep),
        ] {
            let mut p = crate::Params::defaults(ENTRY.params);
            assert!(p.set("fast_retransmit", crate::Value::Flag(flag)));
            let v = TimerView { deadline: Some(now + Duration::from_millis(1)), ..view(now, phase) };
            assert_eq!((ENTRY.build)(&p).on(again, rto, &v), action, "{flag} {phase:?}");
        }
    }
}
