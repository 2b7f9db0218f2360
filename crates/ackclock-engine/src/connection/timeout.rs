//! What happens when a deadline comes.

use ackclock_policy::{Expiry, TimerEvent, Transition};
use ackclock_trace::{EventKind, LossClass, Mask};
use ackclock_units::{Duration, Instant};

use super::sender::Sending;
use super::{Connection, State};
use crate::AbortReason;
use crate::timer::Timer;

/// How long a cork holds a small segment: Linux's ceiling (tcp(7), TCP_CORK).
const MAX_CORK: Duration = Duration::from_millis(200);

/// RFC 9293 §3.8.6.1 leaves the longest interval between window probes open; a minute is usual.
const MAX_PROBE_INTERVAL: Duration = Duration::from_secs(60);

impl Connection {
    /// Acts on every deadline that has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.timers.expire(Timer::TimeWait, now) {
            self.end(true, now);
            return;
        }
        if self.timers.expire(Timer::User, now) {
            let reason =
                if self.state == State::SynSent { AbortReason::SynTimeout } else { AbortReason::Timeout };
            self.give_up(reason, now);
            return;
        }
        if self.timers.expire(Timer::Ack, now) {
            self.pending.ack = true;
        }
        // Before the retransmission timer, in whose stead a probe may go out.
        if self.timers.expire(Timer::Recovery, now) {
            self.recovery_deadline(now);
        }
        if self.timers.expire(Timer::Retransmission, now) {
            match self.state {
                State::SynSent | State::SynReceived => self.syn_expired(now),
                _ => self.retransmission_expired(now),
            }
        }
        if self.timers.expire(Timer::Persist, now) {
            self.rare.make().unanswered_probes += 1;
            if self
                .sender
                .policies()
                .backoff
                .give_up(self.rare.unanswered_probes, now.since(self.waiting_since))
            {
                self.give_up(AbortReason::Timeout, now);
                return;
            }
            self.rare.make().probes += 1;
            self.pending.window_probe = true;
        }
        if self.timers.expire(Timer::Copies, now) {
            self.copies_expired(now);
        }
        if self.timers.expire(Timer::Keepalive, now) {
            self.keepalive_expired(now);
        }
        if self.timers.expire(Timer::Pacing, now)
            && let Some(pacer) = self.rare.part(|r| r.pacer.as_deref_mut())
        {
            // The poll that follows sends.
            pacer.fired(now);
        }
    }

    fn count_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        let last = self.stats.timeouts_by_round.len() - 1;
        self.stats.timeouts_by_round[(self.expiries as usize).min(last)] += 1;
        self.expiries += 1;
        let (seq, round, rto) = (self.snd_una, self.expiries, self.timeout);
        self.trace(Mask::EPISODES, now, || EventKind::Timeout { seq, round, rto });
    }

    /// The SYN or SYN-ACK was not answered (RFC 6298 §5.7, B-A6).
    fn syn_expired(&mut self, now: Instant) {
        if self.stats.syn_retransmissions >= self.config.syn_retries {
            self.give_up(AbortReason::SynTimeout, now);
            return;
        }
        self.count_timeout(now);
        self.backoff_level += 1;
        // The estimator minds a lost SYN (RFC 6298 §5.7).
        self.estimator.on_expiry(self.expiries);
        self.stats.syn_retransmissions += 1;
        self.pending.syn = true;
    }

    /// RFC 6298 §5.4-5.6, RFC 5681 §3.1.
    fn retransmission_expired(&mut self, now: Instant) {
        if self.sender.sent.is_empty() {
            return;
        }
        if self.sender.policies().backoff.give_up(self.expiries + 1, now.since(self.waiting_since)) {
            self.give_up(AbortReason::Timeout, now);
            return;
        }
        if self.rare.says(|r| r.claimed_size.is_some()) {
            self.believe_claimed_size();
        }
        self.end_skip_test();
        let before = self.view(now);
        let repeated = self.expiries > 0;
        self.count_timeout(now);
        self.estimator.on_expiry(self.expiries);
        let expiry = Expiry {
            expiries: before.expiries,
            level: self.backoff_level,
            flight_size: before.flight_size,
            smss: before.smss,
        };
        self.backoff_level = self.sender.policies().backoff.level(&expiry);
        self.update_timeout();
        self.stop_timing();
        self.forget_copies();
        if !repeated && self.rare.timestamps.on {
            self.rare.make().timestamps.timeout_tsval = Some(self.timestamp_clock(now));
        }
        if self.sender.sent.reneged() {
            self.sender.make().sent.forget_sacks();
        }
        self.watch_timeout(&before);
        let v = self.view(now);
        let Sending { policies, state } = self.sender.both();
        policies.recovery.on_rto(&state.sent, &v, &mut state.lost);
        self.begin_episode(now, LossClass::NonCa);
        // The window is asked before the marks change what `flight_size` and `pipe` say.
        let t = Transition::expiry(repeated);
        if let Some(c) = t.reduces {
            self.reduce(c, now);
        }
        self.mark_lost(now);
        self.sender.make().dups.forget();
        self.phase = t.phase;
        self.sender.make().recovery_point = self.snd_nxt;
        self.note_reduction();
        self.follow_recovery_deadline();
        let v = self.view(now);
        self.run_retransmission_timer(now, TimerEvent::Expired, &v);
        let v = self.view(now);
        self.sender.make().quota = self.sender.policies().recovery.quota(&v);
        self.trace_state(now);
    }

    /// The loss recovery's own deadline.
    #[cold]
    fn recovery_deadline(&mut self, now: Instant) {
        if self.sender.sent.is_empty() {
            return;
        }
        let v = self.view(now);
        let Sending { policies, state } = self.sender.both();
        let action = policies.recovery.on_deadline(&state.sent, &v, &mut state.lost);
        self.mark_lost(now);
        self.enter(now, action.phase);
        if action.probe.is_some() {
            self.rare.make().loss_probe = action.probe;
            let v = self.view(now);
            self.run_retransmission_timer(now, TimerEvent::Probed, &v);
        }
        self.follow_recovery_deadline();
        let v = self.view(now);
        self.sender.make().quota = self.sender.policies().recovery.quota(&v);
        self.trace_state(now);
    }

    /// New data was sent or acknowledged: the recovery may set a timer beside that of retransmissions.
    #[cold]
    pub(super) fn plan_recovery(&mut self, now: Instant) {
        let v = self.view(now);
        let Sending { policies, state } = self.sender.both();
        policies.recovery.update_deadline(&state.sent, &v);
        self.follow_recovery_deadline();
    }

    /// The recovery's timer runs as it says.
    #[inline]
    pub(super) fn follow_recovery_deadline(&mut self) {
        match self.sender.policies().recovery.deadline() {
            Some(at) => self.timers.arm(Timer::Recovery, at),
            None => self.timers.disarm(Timer::Recovery),
        }
    }

    /// Starts the persist timer: something waits, nothing is outstanding that a retransmission timer would
    /// watch, and the window does not let it go.
    #[cold]
    pub(super) fn arm_persist(&mut self, now: Instant) {
        if self.timers.is_armed(Timer::Persist) {
            return;
        }
        // RFC 9293 §3.8.6.1: the first probe after a timeout, then at growing intervals.
        let interval = self
            .timeout
            .saturating_mul(1 << self.rare.probes.min(16))
            .min(MAX_PROBE_INTERVAL.max(self.timeout));
        self.timers.arm(Timer::Persist, now + interval);
    }

    /// A cork holds what makes no full segment for so long at most; no ack will come that lets it go.
    #[cold]
    pub(super) fn arm_cork(&mut self, now: Instant) {
        if !self.timers.is_armed(Timer::Persist) {
            self.timers.arm(Timer::Persist, now + MAX_CORK);
        }
    }

    /// RFC 9293 §3.8.4: any segment from the peer restarts the wait.
    #[inline(never)]
    pub(super) fn restart_keepalive(&mut self, now: Instant) {
        self.rare.reset(|r| r.keepalives = 0);
        if self.config.keepalive.is_zero() {
            self.timers.disarm(Timer::Keepalive);
        } else {
            self.timers.arm(Timer::Keepalive, now + self.config.keepalive);
        }
    }

    fn keepalive_expired(&mut self, now: Instant) {
        if self.rare.keepalives >= self.config.keepalive_probes {
            self.give_up(AbortReason::KeepaliveTimeout, now);
            return;
        }
        if self.flight_size() > 0 {
            // The retransmission timer watches already.
            self.timers.arm(Timer::Keepalive, now + self.config.keepalive);
            return;
        }
        self.rare.make().keepalives += 1;
        self.pending.keepalive = true;
        self.timers.arm(Timer::Keepalive, now + self.config.keepalive_interval);
    }
}
