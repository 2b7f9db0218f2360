use ackclock_units::{Duration, Instant};

use super::Heartbeat;
use super::heartbeat::HEARTBEAT;
use crate::{Entry, Param, Policy, RetransmissionTimer, TimerAction, TimerEvent, TimerView};

/// Counts the timeout from the last transmission, as QUIC's probe timeout.
#[derive(Debug)]
struct QuicPto {
    clock: Heartbeat,
    threshold: u64,
}

impl QuicPto {
    /// RFC 9002 Appendix A.8: the timer runs from the last packet that elicits an ack. §7.6.1: persistent
    /// congestion takes a multiple of that.
    fn left(&self, timeout: Duration, v: &TimerView) -> Duration {
        (v.last_sent_at + timeout * self.threshold).since(v.now)
    }
}

impl Policy for QuicPto {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl RetransmissionTimer for QuicPto {
    fn on(&self, e: TimerEvent, timeout: Duration, v: &TimerView) -> TimerAction {
        match e {
            // RFC 9002 §6.2.1: it restarts with every packet sent or acknowledged. Where it runs already,
            // `postponed` counts those sent since.
            TimerEvent::Sent { .. } if v.deadline.is_some() => TimerAction::Keep,
            TimerEvent::Acked => TimerAction::Arm(self.clock.after(v.now, self.left(timeout, v))),
            TimerEvent::Sent { .. } | TimerEvent::Expired | TimerEvent::Probed => {
                TimerAction::Arm(self.clock.after(v.now, timeout * self.threshold))
            }
            TimerEvent::AllAcked => TimerAction::Disarm,
        }
    }

    fn postponed(&self, timeout: Duration, v: &TimerView) -> Option<Instant> {
        Some(self.left(timeout, v)).filter(|left| !left.is_zero()).map(|left| self.clock.after(v.now, left))
    }
}

/// QUIC's timer.
pub(crate) const ENTRY: Entry<dyn RetransmissionTimer> = Entry {
    name: "quic-pto",
    about: "QUIC's probe timeout: the timer runs from the last transmission. What expires is a \
            retransmission timeout, so that a multiple of it can stand for persistent congestion, with the \
            probes left to a loss recovery that sends some.",
    source: "RFC 9002 6.2, 7.6 and A.8",
    params: &[
        HEARTBEAT,
        Param::count(
            "persistent_congestion_threshold",
            1,
            1..=100,
            "probe timeouts after which the timer expires: 1 for every one; 3 for the duration of persistent \
             congestion (kPersistentCongestionThreshold, 7.6.1)",
        ),
    ],
    build: |p| {
        Box::new(QuicPto {
            clock: Heartbeat(p.duration("heartbeat")),
            threshold: p.count("persistent_congestion_threshold"),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::timer_view;
    use crate::{Params, Value};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn built(threshold: u64) -> Box<dyn RetransmissionTimer> {
        let mut p = Params::defaults(ENTRY.params);
        assert!(p.set("persistent_congestion_threshold", Value::Count(threshold)));
        (ENTRY.build)(&p)
    }

    /// RFC 9002 §7.6.3: a probe timeout of 2 s, with data sent at 0, 1, 2, 3, 4, 5 and 6 s, and an ack at
    /// 1.2 s.
    const PTO: Duration = Duration::from_secs(2);

    #[test]
    fn the_probe_timeout_runs_from_the_last_transmission() {
        let t = built(1);
        let sent = |now, last_sent_at| TimerView { last_sent_at: at(last_sent_at), ..timer_view(at(now)) };
        let running = |now, last| TimerView { deadline: Some(at(2000)), ..sent(now, last) };
        let new = TimerEvent::Sent { retransmission: false };
        assert_eq!(t.on(new, PTO, &sent(0, 0)), TimerAction::Arm(at(2000)));
        assert_eq!(t.on(TimerEvent::Acked, PTO, &running(1200, 1000)), TimerAction::Arm(at(3000)));
        // Each packet sent restarts it: at 3, 5 and 7 s it is not due yet. It is at 8 s, the first probe
        // timeout of §7.6.3's example.
        assert_eq!(t.on(new, PTO, &running(2000, 2000)), TimerAction::Keep);
        for (now, last, due) in [(3000, 3000, 5000), (5000, 5000, 7000), (7000, 6000, 8000)] {
            assert_eq!(t.postponed(PTO, &running(now, last)), Some(at(due)));
        }
        assert_eq!(t.postponed(PTO, &running(8000, 6000)), None);
        // The second is twice as long after the probe, at 12 s.
        assert_eq!(t.on(TimerEvent::Expired, PTO * 2, &running(8000, 6000)), TimerAction::Arm(at(12_000)));
        assert_eq!(t.on(TimerEvent::AllAcked, PTO, &running(12_200, 12_000)), TimerAction::Disarm);
    }

    #[test]
    fn persistent_congestion_takes_three_probe_timeouts() {
        // §7.6.3: "2 * 3 = 6" s after the last data, at 12 s, when the example's second probe is sent.
        let t = built(3);
        let v = TimerView { last_sent_at: at(6000), deadline: Some(at(9000)), ..timer_view(at(9000)) };
        assert_eq!(t.postponed(PTO, &v), Some(at(12_000)));
        assert_eq!(t.postponed(PTO, &TimerView { now: at(12_000), ..v }), None);
    }

    #[test]
    fn an_ack_does_not_set_it_into_the_past() {
        let v = TimerView { last_sent_at: at(0), ..timer_view(at(5000)) };
        assert_eq!(built(1).on(TimerEvent::Acked, PTO, &v), TimerAction::Arm(at(5000)));
    }
}
