//! Tracing: the events that a connection records when tracing is on.

use ackclock_policy::{CongestionControl, LossRecovery, Policy, PrivateState, Role, RttEstimator};
use ackclock_trace::{Event, EventKind, Mask};
use ackclock_units::{Instant, seldom};

use super::Connection;

/// Events recorded and not drained yet.
#[derive(Debug)]
pub(super) struct Tracer {
    mask: Mask,
    events: Vec<Event>,
    /// Policy, name and value of the private state of policies, as last recorded.
    state: Vec<(&'static str, &'static str, f64)>,
}

impl Tracer {
    /// Records the parts of a policy's private state that have changed.
    fn record_state(&mut self, now: Instant, policy: &'static str, probe: PrivateState) {
        for (name, value) in probe.0 {
            let recorded = self.state.iter_mut().find(|(p, n, _)| (*p, *n) == (policy, name));
            match recorded {
                Some((_, _, last)) if last.total_cmp(&value).is_eq() => continue,
                Some((_, _, last)) => *last = value,
                None => self.state.push((policy, name, value)),
            }
            let kind = EventKind::State { policy, name, value };
            self.events.push(Event { at: now, connection: 0, kind });
        }
    }

    #[cold]
    fn record(&mut self, group: Mask, now: Instant, kind: impl FnOnce() -> EventKind) {
        if self.mask.any(group) {
            self.events.push(Event { at: now, connection: 0, kind: kind() });
        }
    }
}

impl Connection {
    /// Chooses which groups of events are traced.
    pub fn set_trace(&mut self, mask: Mask) {
        self.tracer =
            (mask != Mask::NONE).then(|| Box::new(Tracer { mask, events: Vec::new(), state: Vec::new() }));
    }

    /// Moves the recorded events to `out`; the world fills in the connection number.
    pub fn drain_trace(&mut self, out: &mut Vec<Event>) {
        if let Some(t) = &mut self.tracer {
            out.append(&mut t.events);
        }
    }

    /// Records an event, if its group is traced.
    #[inline]
    pub(super) fn trace(&mut self, group: Mask, now: Instant, kind: impl FnOnce() -> EventKind) {
        if seldom(self.tracer.is_some())
            && let Some(t) = &mut self.tracer
        {
            t.record(group, now, kind);
        }
    }

    /// Records the private state of policies, if that is traced. Called after an ack, a timeout and a timer
    /// of the loss recovery.
    #[inline]
    pub(super) fn trace_state(&mut self, now: Instant) {
        if seldom(self.tracer.is_some()) {
            self.probe_policies(now);
        }
    }

    #[cold]
    fn probe_policies(&mut self, now: Instant) {
        let Some(tracer) = self.tracer.as_deref_mut().filter(|t| t.mask.any(Mask::STATE)) else { return };
        let policies = self.sender.policies();
        let probed: [(&'static str, &dyn Policy); 3] = [
            (<dyn RttEstimator>::KIND, &*self.estimator),
            (<dyn LossRecovery>::KIND, &*policies.recovery),
            (<dyn CongestionControl>::KIND, &*policies.window),
        ];
        for (kind, policy) in probed {
            let mut state = PrivateState::default();
            policy.private_state(&mut state);
            tracer.record_state(now, kind, state);
        }
    }
}
