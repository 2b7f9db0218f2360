use ackclock_units::Duration;

use super::Heartbeat;
use super::heartbeat::HEARTBEAT;
use crate::{Entry, Param, Policy, RetransmissionTimer, TimerAction, TimerEvent, TimerView};

/// Subtracts from the timeout the age of the oldest outstanding segment. `TICKS`: the age, too, is counted in
/// ticks of the clock.
#[derive(Debug)]
struct Precise<const TICKS: bool> {
    clock: Heartbeat,
}

impl<const TICKS: bool> Precise<TICKS> {
    fn arm(&self, timeout: Duration, v: &TimerView) -> TimerAction {
        // The age of a segment sent before an expiry or a probe does not count: it is marked lost or has been
        // probed for.
        let counted_from = v.oldest_sent_at.unwrap_or(v.now).max(v.restarted_at);
        // A timeout in the past expires at once (E-E13, derived); on a heartbeat, at the next tick.
        let age = if TICKS { self.clock.ticked(counted_from, v.now) } else { v.now.since(counted_from) };
        TimerAction::Arm(self.clock.after(v.now, timeout - age))
    }
}

impl<const TICKS: bool> Policy for Precise<TICKS> {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl<const TICKS: bool> RetransmissionTimer for Precise<TICKS> {
    fn on(&self, e: TimerEvent, timeout: Duration, v: &TimerView) -> TimerAction {
        match e {
            TimerEvent::Sent { retransmission: false } if v.deadline.is_some() => TimerAction::Keep,
            // A retransmission of the oldest segment resets its age.
            TimerEvent::Sent { .. } | TimerEvent::Acked => self.arm(timeout, v),
            TimerEvent::Expired | TimerEvent::Probed => TimerAction::Arm(self.clock.after(v.now, timeout)),
            TimerEvent::AllAcked => TimerAction::Disarm,
        }
    }
}

/// Eifel's timer.
pub(crate) const ENTRY: Entry<dyn RetransmissionTimer> = Entry {
    name: "precise",
    about: "Runs the timeout from the transmission of the oldest outstanding segment, so that an ack does \
            not extend it.",
    source: "Ludwig & Sklower 2000 (E-E13, E-A4, E-A5)",
    params: &[
        HEARTBEAT,
        Param::flag(
            "whole_ticks",
            false,
            "count the age of the segment, too, in ticks of the heartbeat, as a host does that records times \
             in ticks",
        ),
    ],
    build: |p| {
        let clock = Heartbeat(p.duration("heartbeat"));
        if p.flag("whole_ticks") {
            Box::new(Precise::<true> { clock })
        } else {
            Box::new(Precise::<false> { clock })
        }
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Instant;

    use crate::harness::timer_view;

    #[test]
    fn the_age_of_the_oldest_segment_counts() {
        let t = (ENTRY.build)(&crate::Params::defaults(ENTRY.params));
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let v = |now, oldest, restarted| TimerView {
            now: at(now),
            deadline: Some(at(1)),
            oldest_sent_at: Some(at(oldest)),
            restarted_at: at(restarted),
            ..timer_view(at(now))
        };
        let rto = Duration::from_millis(1000);
        assert_eq!(t.on(TimerEvent::Acked, rto, &v(5000, 4600, 0)), TimerAction::Arm(at(5600)));
        assert_eq!(t.on(TimerEvent::Acked, rto, &v(5000, 3000, 0)), TimerAction::Arm(at(5000)), "at once");
        assert_eq!(
            t.on(TimerEvent::Sent { retransmission: false }, rto, &v(5000, 4600, 0)),
            TimerAction::Keep
        );
        assert_eq!(
            t.on(TimerEvent::Sent { retransmission: true }, rto, &v(5000, 5000, 0)),
            TimerAction::Arm(at(6000))
        );
        // After an expiry, what was sent before it does not make the timer fire again and again.
        assert_eq!(t.on(TimerEvent::Expired, rto * 2, &v(7000, 5000, 0)), TimerAction::Arm(at(9000)));
        assert_eq!(t.on(TimerEvent::Acked, rto, &v(7500, 5001, 7000)), TimerAction::Arm(at(8000)));
        // RFC 8985 §7.3: the timer restarts with a probe.
        assert_eq!(t.on(TimerEvent::Probed, rto, &v(7800, 5001, 7000)), TimerAction::Arm(at(8800)));
        assert_eq!(t.on(TimerEvent::AllAcked, rto, &v(7800, 5001, 7000)), TimerAction::Disarm);
    }
}
