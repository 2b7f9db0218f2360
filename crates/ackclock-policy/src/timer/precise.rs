use ackclock_units::{Duration, Instant};

use super::Heartbeat;
use super::heartbeat::HEARTBEAT;
use crate::{Entry, Param, Policy, RetransmissionTimer, SenderView, TimerAction, TimerEvent};

/// Subtracts from the timeout the time for which the oldest outstanding segment has been under way. `TICKS`:
/// which it counts in ticks of the clock too.
#[derive(Debug)]
struct Precise<const TICKS: bool> {
    clock: Heartbeat,
    /// The last expiry or probe: what was sent before it is taken for lost or asked after, so its age says
    /// nothing any more.
    expired_at: Instant,
}

impl<const TICKS: bool> Precise<TICKS> {
    fn arm(&self, timeout: Duration, v: &SenderView) -> TimerAction {
        let counted_from = v.oldest_sent_at.unwrap_or(v.now).max(self.expired_at);
        // A timeout that has passed already fires at once (E-E13, derived); on a heartbeat, at the next tick.
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
    fn on(&mut self, e: TimerEvent, timeout: Duration, v: &SenderView) -> TimerAction {
        match e {
            TimerEvent::Sent { retransmission: false } if v.rto_deadline.is_some() => TimerAction::Keep,
            // A retransmission of the oldest segment makes it young again.
            TimerEvent::Sent { .. } | TimerEvent::Acked => self.arm(timeout, v),
            TimerEvent::Expired | TimerEvent::Probed => {
                self.expired_at = v.now;
                TimerAction::Arm(self.clock.after(v.now, timeout))
            }
            TimerEvent::AllAcked => TimerAction::Disarm,
        }
    }
}

/// Eifel's countdown.
pub(crate) const ENTRY: Entry<dyn RetransmissionTimer> = Entry {
    name: "precise",
    about: "Counts the timeout from when the oldest outstanding segment was sent, so that an ack does not \
            prolong it.",
    source: "E-E13, E-A4 (3), E-A5",
    params: &[
        HEARTBEAT,
        Param::flag(
            "whole_ticks",
            false,
            "the age, too, is counted in ticks of the heartbeat, as a host knows it that notes ticks alone",
        ),
    ],
    build: |p| {
        let (clock, expired_at) = (Heartbeat(p.duration("heartbeat")), Instant::ZERO);
        if p.flag("whole_ticks") {
            Box::new(Precise::<true> { clock, expired_at })
        } else {
            Box::new(Precise::<false> { clock, expired_at })
        }
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::view;

    #[test]
    fn the_age_of_the_oldest_segment_counts() {
        let mut t = (ENTRY.build)(&crate::Params::defaults(ENTRY.params));
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let v = |now, oldest| SenderView {
            now: at(now),
            oldest_sent_at: Some(at(oldest)),
            rto_deadline: Some(at(1)),
            ..view()
        };
        let rto = Duration::from_millis(1000);
        assert_eq!(t.on(TimerEvent::Acked, rto, &v(5000, 4600)), TimerAction::Arm(at(5600)));
        assert_eq!(t.on(TimerEvent::Acked, rto, &v(5000, 3000)), TimerAction::Arm(at(5000)), "at once");
        assert_eq!(t.on(TimerEvent::Sent { retransmission: false }, rto, &v(5000, 4600)), TimerAction::Keep);
        assert_eq!(
            t.on(TimerEvent::Sent { retransmission: true }, rto, &v(5000, 5000)),
            TimerAction::Arm(at(6000))
        );
        // After an expiry, what was sent before it does not make the timer fire again and again.
        assert_eq!(t.on(TimerEvent::Expired, rto * 2, &v(7000, 5000)), TimerAction::Arm(at(9000)));
        assert_eq!(t.on(TimerEvent::Acked, rto, &v(7500, 5001)), TimerAction::Arm(at(8000)));
        // RFC 8985 §7.3: with a probe it begins anew.
        assert_eq!(t.on(TimerEvent::Probed, rto, &v(7800, 5001)), TimerAction::Arm(at(8800)));
        assert_eq!(t.on(TimerEvent::AllAcked, rto, &v(7800, 5001)), TimerAction::Disarm);
    }
}
