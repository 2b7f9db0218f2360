//! What happens when a timer expires.

use ackclock_policy::{Expiry, Phase, ReceiverEvent, TimerEvent, Transition, Window};
use ackclock_trace::{EventKind, LossClass, Mask};
use ackclock_units::{Duration, Instant, SeqRange, seldom};

use super::sender::BuiltSender;
use super::{Connection, State};
use crate::AbortReason;
use crate::timer::Timer;

impl Connection {
    /// Handles every timer that has expired.
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
            self.ack_event(now, ReceiverEvent::Deadline);
        }
        // Before the retransmission timer, which a tail loss probe restarts.
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
            self.rare.make_mut().unanswered_probes += 1;
            if self
                .sender
                .policies()
                .backoff
                .give_up(self.rare.unanswered_probes, now.since(self.waiting_since))
            {
                self.give_up(AbortReason::Timeout, now);
                return;
            }
            self.rare.make_mut().probes += 1;
            self.pending.window_probe = true;
        }
        if self.timers.expire(Timer::Copies, now) {
            self.copies_expired(now);
        }
        if self.timers.expire(Timer::Keepalive, now) {
            self.keepalive_expired(now);
        }
        if self.timers.expire(Timer::Pacing, now)
            && let Some(pacer) = &mut self.sender.make_mut().pacer
        {
            // The next call of `poll_transmit` sends.
            pacer.fired(now);
        }
    }

    /// Counts an expiry of the retransmission timer.
    fn count_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        let last = self.stats.timeouts_by_round.len() - 1;
        self.stats.timeouts_by_round[(self.expiries as usize).min(last)] += 1;
        self.expiries += 1;
        let (seq, round, rto) = (self.snd_una, self.expiries, self.timeout);
        self.trace(Mask::EPISODES, now, || EventKind::Timeout { seq, round, rto });
    }

    /// The peer has not responded to our SYN or SYN-ACK (RFC 6298 §5.7, B-A6).
    fn syn_expired(&mut self, now: Instant) {
        let (sent_again, most) = (self.stats.syn_retransmissions, self.config.syn_retries);
        let give_up = if self.state == State::SynSent {
            let (rto, waited) = (self.estimator.initial_rto(), now.since(self.waiting_since));
            self.sender.policies().backoff.give_up_syn(sent_again, most, rto, waited)
        } else {
            sent_again >= most
        };
        if give_up {
            self.give_up(AbortReason::SynTimeout, now);
            return;
        }
        self.count_timeout(now);
        self.backoff_level += 1;
        // After a lost SYN the estimator begins with a longer timeout for data (RFC 6298 §5.7).
        self.estimator.on_expiry(self.expiries);
        self.stats.syn_retransmissions += 1;
        self.pending.syn = true;
        if self.opens_early() {
            // RFC 5681 §3.1: after a lost SYN the window is one segment, also where data was sent before.
            let cwnd = u64::from(self.smss);
            self.set_window(Window { cwnd, ..self.sender.window }, now);
        }
    }

    /// The retransmission timer expired (RFC 6298 §5.4-5.6, RFC 5681 §3.1).
    fn retransmission_expired(&mut self, now: Instant) {
        if self.sender.sent.is_empty() || self.postpone_retransmission(now) {
            return;
        }
        if self.sender.policies().backoff.give_up(self.expiries + 1, now.since(self.waiting_since)) {
            self.give_up(AbortReason::Timeout, now);
            return;
        }
        if self.rare.is_some_and(|r| r.claimed_size.is_some()) {
            self.apply_claimed_size();
        }
        self.end_skip_test();
        let reducing = matches!(self.phase, Phase::Recovery | Phase::Cwr);
        let cut = reducing && self.snd_una < self.sender.recovery_point;
        if seldom(reducing && !cut)
            && let Some(cwnd) = self.repair_window()
        {
            // A reduction that is held although all of its window is acknowledged has made this the window.
            self.set_window(Window { cwnd, ..self.sender.window }, now);
        }
        let before = self.view(now);
        let repeated = self.expiries > 0;
        self.count_timeout(now);
        self.estimator.on_expiry(self.expiries);
        if !repeated && self.estimator.takes_weak_samples() {
            self.time_first_transmission(before.oldest_sent_at);
        }
        let expiry = Expiry {
            expiries: before.expiries,
            level: self.backoff_level,
            flight_size: before.flight_size,
            smss: before.smss,
        };
        self.backoff_level = self.sender.policies().backoff.level(&expiry);
        self.update_timeout();
        self.cancel_timing();
        self.forget_copies();
        if !repeated && self.rare.timestamps.on {
            self.rare.make_mut().timestamps.timeout_tsval = Some(self.timestamp_clock(now));
        }
        self.rare.reset(|r| (r.reneged, r.repairs_only) = (false, false));
        let reneged = self.sender.sent.reneged();
        if reneged {
            self.sender.make_mut().sent.forget_sacks();
        }
        self.record_timeout(&before);
        let v = self.view(now);
        let BuiltSender { policies, state } = self.sender.split_mut();
        policies.recovery.on_rto(&state.sent, &v, &mut state.lost);
        if seldom(reneged) && !self.config.renege_wait.is_zero() {
            // Of a receiver that forgets, nothing counts as still on its way (`tcp_timeout_mark_lost`).
            state.lost.push(SeqRange::new(self.snd_una, self.snd_nxt));
        }
        self.begin_episode(now, LossClass::NonCa);
        // The window is reduced before the new marks change `pipe`, which it may read.
        let t = Transition::expiry(repeated);
        if let Some(c) = t.reduces {
            self.reduce(c, now);
        }
        if seldom(cut && self.config.cut_once) {
            self.set_window(Window { ssthresh: before.window.ssthresh, ..self.sender.window }, now);
        }
        self.mark_lost(now);
        self.begin_suspect_timeout(&before);
        if seldom(self.config.keep_flight) && self.sender.window.cwnd <= u64::from(self.smss) {
            let cwnd = u64::from(self.pipe()) + u64::from(self.smss);
            self.set_window(Window { cwnd, ..self.sender.window }, now);
        }
        self.sender.make_mut().dup_acks.reset();
        self.phase = t.phase;
        self.sender.make_mut().recovery_point = self.snd_nxt;
        self.note_reduction();
        self.follow_recovery_deadline(now);
        if let Some(pacer) = &mut self.sender.make_mut().pacer {
            // The retransmission leaves when the timer expires (RFC 6298 §5.4, `tcp_retransmit_timer`).
            pacer.exempt_next();
        }
        let v = self.view(now);
        self.run_retransmission_timer(now, TimerEvent::Expired, &v);
        let v = self.view(now);
        self.sender.make_mut().quota = self.sender.policies().recovery.quota(&v);
        self.trace_state(now);
    }

    /// The receiver seems to have forgotten what it had SACKed: it has some time to report it again before
    /// that is sent as after a timeout (RFC 2018 §8).
    #[cold]
    pub(super) fn wait_for_reneger(&mut self, now: Instant) {
        let half = self.estimator.rtt().map_or(Duration::ZERO, |rtt| rtt.srtt / 2);
        self.arm(Timer::Retransmission, now, now + half.max(self.config.renege_wait));
    }

    /// The timer of the loss recovery expired: reordering or tail loss probe.
    #[cold]
    pub(super) fn recovery_deadline(&mut self, now: Instant) {
        // No probe before the handshake is complete: its own timer runs until then.
        if self.sender.sent.is_empty() || self.state == State::SynReceived {
            return;
        }
        let v = self.view(now);
        let BuiltSender { policies, state } = self.sender.split_mut();
        let action = policies.recovery.on_deadline(&state.sent, &v, &mut state.lost);
        let in_network = self.pipe();
        let newly_lost = self.mark_lost(now);
        let left = u64::from(in_network.saturating_sub(self.pipe()));
        let before = self.phase;
        self.enter(now, action.phase);
        if action.probe.is_some() {
            self.rare.make_mut().loss_probe = action.probe;
            let v = self.view(now);
            self.run_retransmission_timer(now, TimerEvent::Probed, &v);
        }
        if seldom(action.repairs_only) {
            self.rare.make_mut().repairs_only = true;
        }
        let v = self.view(now);
        let quota = self.sender.policies().recovery.quota(&v);
        let kept = self.sender.quota;
        self.sender.make_mut().quota = match self.sender.policies().reduction() {
            // What has left the network since the last ack leaves as much room; a probe alone is one segment (RFC
            // 8985 §7.3).
            Some(_) if v.phase == before && matches!(before, Phase::Recovery | Phase::Cwr) => kept + left,
            Some(reduction) if v.phase == Phase::Recovery => reduction.on_timer(newly_lost, &v),
            _ => quota,
        };
        if seldom(action.rearms) {
            self.rearm_from_oldest(now);
        }
        self.follow_recovery_deadline(now);
        self.trace_state(now);
    }

    /// Starts the retransmission timer from when the oldest segment was sent: now, where it is lost and may be sent
    /// again.
    fn rearm_from_oldest(&mut self, now: Instant) {
        let Some(oldest) = self.sender.sent.segments_from(self.snd_una).next() else { return };
        let from = if oldest.lost && self.sender.quota > 0 { now } else { oldest.xmit_ts };
        self.arm(Timer::Retransmission, now, (from + self.timeout).max(now));
    }

    /// New data was sent, or else acknowledged: the loss recovery may set its own timer.
    #[cold]
    pub(super) fn plan_recovery(&mut self, now: Instant, sent: bool) {
        let v = self.view(now);
        let timeout = self.timeout;
        let BuiltSender { policies, state } = self.sender.split_mut();
        let waited = self.timers.is_armed(Timer::Recovery);
        policies.recovery.update_deadline(&state.sent, &v, sent.then_some(timeout));
        self.follow_recovery_deadline(now);
        if seldom(sent && waited && !self.timers.is_armed(Timer::Recovery))
            && self.sender.policies().recovery.shares_timer()
        {
            // Its place is the retransmission timer's again (`tcp_event_new_data_sent`).
            self.rearm_from_oldest(now);
        }
    }

    /// Arms or disarms the loss recovery's timer, as its policy requests.
    #[inline]
    pub(super) fn follow_recovery_deadline(&mut self, now: Instant) {
        match self.sender.policies().recovery.deadline() {
            Some(at) => {
                self.arm(Timer::Recovery, now, at);
                let Some(rto) = self.timers.deadline(Timer::Retransmission) else { return };
                if seldom(self.timers.deadline(Timer::Recovery) > Some(rto)) {
                    self.share_timer(at, rto);
                }
            }
            None => self.timers.disarm(Timer::Recovery),
        }
    }

    /// The loss recovery's timer, for `at`, runs until after the retransmission timer's deadline. A coarse clock does
    /// not put it there if it comes first; otherwise it takes that timer's place where the two share one.
    #[cold]
    fn share_timer(&mut self, at: Instant, rto: Instant) {
        if at <= rto {
            self.timers.arm(Timer::Recovery, rto);
        } else if self.sender.policies().recovery.shares_timer()
            && let Some(later) = self.timers.deadline(Timer::Recovery)
        {
            self.timers.arm(Timer::Retransmission, later);
        }
    }
}
