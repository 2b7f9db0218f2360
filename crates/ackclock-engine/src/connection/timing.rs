//! Round-trip time samples, the timeout derived from them, and the retransmission timer.

use ackclock_policy::{RttSample, SenderView, TimerAction, TimerEvent, TimerView, Window, timer_wheel};
use ackclock_trace::{EventKind, Mask};
use ackclock_units::{Bytes, Duration, Instant, mostly, seldom};
use ackclock_wire::Segment;

use super::Connection;
use super::sender::BuiltSender;
use crate::RttSampling;
use crate::scoreboard::Acked;
use crate::timer::Timer;

impl Connection {
    /// The sample that this ack gives. By Karn's rule there is none if it may acknowledge either of two
    /// transmissions, unless timestamps distinguish them (RFC 7323 §4).
    pub(super) fn sample_of(&mut self, now: Instant, segment: &Segment, acked: &Acked) -> Option<Duration> {
        if self.rare.is_some_and(|r| r.timed.is_some())
            && let Some((seq, since)) = self.rare.timed
            && segment.ack >= seq
        {
            self.rare.reset(|r| r.timed = None);
            if seldom(self.config.rtt_sampling == RttSampling::OncePerRtt) && !self.rare.timestamps.on {
                return Some(now.since(since));
            }
        }
        if seldom(self.config.rtt_sampling == RttSampling::OncePerRtt) && !self.rare.timestamps.on {
            return None;
        }
        if seldom(acked.partly) && acked.segments == 1 && self.config.sack_samples {
            return self.sample_of_sack(now);
        }
        if seldom(acked.retransmitted) {
            return self.sample_of_sack(now).or_else(|| self.rtt_by_timestamps(now, segment));
        }
        match acked.oldest_sent_once {
            Some(at) => Some(now.since(at)),
            None => self.sample_of_sack(now),
        }
    }

    /// The sample of the lowest segment that this ack is the first to SACK, and that was sent once.
    #[inline(never)]
    pub(super) fn sample_of_sack(&self, now: Instant) -> Option<Duration> {
        let at = self.config.sack_samples.then(|| self.sender.sent.first_sacked())??;
        Some(now.since(at))
    }

    /// A SACK has given a sample, and its ack acknowledges nothing: a backoff ends, and the retransmission
    /// timer restarts unless what is timed was sent after the oldest segment (`tcp_clean_rtx_queue` of
    /// Linux).
    #[cold]
    pub(super) fn on_sack_sample(&mut self, now: Instant, sample: Option<Duration>) {
        if self.backoff_level > 0 {
            self.backoff_level = 0;
            self.update_timeout();
        }
        let age = self.sender.sent.oldest_sent_at().map(|at| now.since(at));
        if sample > age && age.is_some() {
            let v = self.view(now);
            self.run_retransmission_timer(now, TimerEvent::Acked, &v);
        }
    }

    /// The segment being timed may be retransmitted, so that its ack will be ambiguous: cancels the timing.
    pub(super) fn cancel_timing(&mut self) {
        if self.config.karn_samples {
            self.rare.reset(|r| r.timed = None);
        }
    }

    /// The sample that the echoed timestamp gives, with timestamps in use.
    #[inline(never)]
    pub(super) fn rtt_by_timestamps(&self, now: Instant, segment: &Segment) -> Option<Duration> {
        let ts = segment.options.timestamps.filter(|ts| self.rare.timestamps.on && ts.tsecr != 0)?;
        let ms = self.timestamp_clock(now).wrapping_sub(ts.tsecr);
        // An echo from the future is invalid: the peer may send any value (RFC 7323 §4.3).
        (ms < 1 << 30).then(|| Duration::from_millis(u64::from(ms)))
    }

    /// Takes a sample from an ack, when `flight` bytes were outstanding before it.
    pub(super) fn on_rtt_sample(&mut self, now: Instant, rtt: Duration, flight: u32) {
        if seldom(!self.sack_on) {
            self.sender.make_mut().dup_acks.on_rtt_sample(rtt);
        }
        let sampling_rate = match self.config.rtt_sampling {
            RttSampling::OncePerRtt if !self.rare.timestamps.on => {
                1.0 / f64::from((flight / self.smss).max(1))
            }
            _ => self.sender.sampling.rate(),
        };
        let s = RttSample {
            now,
            rtt,
            flight_size: u64::from(flight),
            window: self.sender.window,
            smss: self.smss,
            sampling_rate,
            outstanding: Some(self.flight()),
        };
        self.feed_estimator(s);
    }

    /// The oldest segment, sent at `sent_at`, timed out: its ack will be a weak sample.
    #[cold]
    pub(super) fn time_first_transmission(&mut self, sent_at: Option<Instant>) {
        let end = self.sender.sent.segments_from(self.snd_una).next().map(|s| s.range.end);
        self.rare.make_mut().timed_out = end.zip(sent_at).map(Box::new);
    }

    /// Takes the weak sample that an ack of a segment that timed out gives, when `flight` bytes were
    /// outstanding. Returns true when it did. With a valid sample there is none.
    #[cold]
    pub(super) fn take_weak_sample(&mut self, now: Instant, valid: bool, flight: u32) -> bool {
        let timed = self.rare.timed_out.as_deref().copied();
        let Some((_, sent_at)) = timed.filter(|(end, _)| self.snd_una >= *end) else { return false };
        self.rare.reset(|r| r.timed_out = None);
        if valid {
            return false;
        }
        let s = RttSample {
            now,
            rtt: now.since(sent_at),
            flight_size: u64::from(flight),
            window: self.sender.window,
            smss: self.smss,
            sampling_rate: self.sender.sampling.rate(),
            outstanding: Some(self.flight()),
        };
        self.estimator.on_weak_sample(s, self.expiries);
        true
    }

    /// Takes the sample from the handshake.
    pub(super) fn take_handshake_sample(&mut self, now: Instant, rtt: Duration) {
        let window = Window { cwnd: u64::from(self.config.mss), ssthresh: Bytes::MAX };
        self.feed_estimator(RttSample {
            now,
            rtt,
            flight_size: 0,
            window,
            smss: self.smss,
            sampling_rate: 1.0,
            outstanding: Some(self.flight()),
        });
    }

    /// Passes a sample to the estimator, and updates counters and the timeout.
    #[inline(always)]
    fn feed_estimator(&mut self, s: RttSample) {
        self.estimator.on_sample(s);
        if self.rare.is_some_and(|r| r.rebase.is_some())
            && let Some((srtt, rttvar)) = self.rebased(s.rtt)
        {
            self.estimator.set_estimates(srtt, rttvar);
        }
        let stats = &mut self.stats;
        stats.rtt_samples += 1;
        stats.rtt_sum += s.rtt;
        stats.rtt_min.update(s.rtt);
        stats.rtt_max = stats.rtt_max.max(s.rtt);
        self.update_timeout();
        if seldom(self.tracer.is_some()) {
            self.trace_sample(s);
        }
    }

    #[cold]
    fn trace_sample(&mut self, s: RttSample) {
        if let Some(r) = self.estimator.rtt() {
            let rto = self.estimator.rto();
            self.trace(Mask::SAMPLES, s.now, || EventKind::RttSample {
                rtt: s.rtt,
                srtt: r.srtt,
                rttvar: r.rttvar,
                rto,
            });
        }
    }

    /// Recomputes the timeout in force from the estimator and the backoff.
    pub(super) fn update_timeout(&mut self) {
        let estimator = &self.estimator;
        let rto = if self.rare.is_some_and(|r| r.thin) {
            estimator.rto_above(self.config.thin_min_rto)
        } else {
            estimator.rto()
        };
        self.timeout = match self.backoff_level {
            // Level 0 is the unmodified timeout for every backoff.
            0 => rto,
            level => self.sender.policies().backoff.timeout(rto, level, &mut self.rng),
        };
    }

    /// Arms a timer that the host's clock of timers, if it has one, makes coarse.
    #[inline(always)]
    pub(super) fn arm(&mut self, timer: Timer, now: Instant, at: Instant) {
        let tick = self.config.timer_tick;
        self.timers.arm(timer, if mostly(tick.is_zero()) { at } else { timer_wheel::fires(tick, now, at) });
    }

    /// Passes the event `e` to the timer policy, with the view `v`, and applies the action that it returns.
    #[inline(always)]
    pub(super) fn run_retransmission_timer(&mut self, now: Instant, e: TimerEvent, v: &SenderView) {
        if seldom(!self.config.thin_min_rto.is_zero()) {
            self.choose_min_rto();
        }
        let (timeout, v) = (self.timeout, self.timer_view(now, v));
        let BuiltSender { policies, state } = self.sender.split_mut();
        let action = policies.timer.on(e, timeout, &v);
        if seldom(matches!(e, TimerEvent::Expired | TimerEvent::Probed)) {
            state.timer_restarted_at = now;
        }
        match action {
            TimerAction::Keep => {}
            TimerAction::Arm(at) => self.arm(Timer::Retransmission, now, at.max(now)),
            TimerAction::Disarm => self.timers.disarm(Timer::Retransmission),
        }
    }

    /// The state that the timer policy may read.
    #[inline(always)]
    fn timer_view(&self, now: Instant, v: &SenderView) -> TimerView {
        TimerView {
            now,
            deadline: v.rto_deadline,
            oldest_sent_at: v.oldest_sent_at,
            restarted_at: self.sender.timer_restarted_at,
            last_sent_at: self.last_sent_at,
            outstanding_segs: self.sender.sent.segments(),
            unsent: v.unsent,
            smss: v.smss,
            phase: v.phase,
        }
    }

    /// The retransmission timer has reached its deadline. Returns true when the timer policy waits for a
    /// later one.
    #[cold]
    pub(super) fn postpone_retransmission(&mut self, now: Instant) -> bool {
        let v = self.view(now);
        let v = self.timer_view(now, &v);
        let later = self.sender.policies().timer.postponed(self.timeout, &v).filter(|at| *at > now);
        if let Some(at) = later {
            self.arm(Timer::Retransmission, now, at);
        }
        later.is_some()
    }

    /// Differentiated minRTO (I-A5): the minimum of the timeout depends on how much of the window is used.
    /// That is taken as outstanding data, since the paper does not define it. The paper supposes a window of
    /// at least four segments, of which a single packet is the permitted quarter. Here at least the initial
    /// window is counted, so that a packet sent alone after a timeout counts as thin too.
    #[cold]
    fn choose_min_rto(&mut self) {
        let thin = self.is_thin();
        if thin != self.rare.thin {
            self.rare.make_mut().thin = thin;
            self.update_timeout();
        }
    }

    /// True while at most `thin_window` of the window is outstanding.
    fn is_thin(&self) -> bool {
        f64::from(self.flight_size())
            <= self.config.thin_window
                * self.sender.window.cwnd.max(u64::from(self.sender.initial_window)) as f64
    }

    /// With what has just been sent, the flow may not be thin any more. Then the running timer is extended to
    /// the longer timeout, counted from when it was started.
    #[cold]
    pub(super) fn extend_thin_timeout(&mut self) {
        if let Some(deadline) = self.timers.deadline(Timer::Retransmission)
            && !self.is_thin()
        {
            let before = self.timeout;
            self.choose_min_rto();
            self.timers.arm(Timer::Retransmission, deadline + self.timeout.saturating_sub(before));
        }
    }

    /// Our timestamp clock: milliseconds from a random start (RFC 7323 §5.4, §7.1).
    pub(super) fn timestamp_clock(&self, now: Instant) -> u32 {
        // Zero would mean "no echo" in a SYN (RFC 7323 §3.2).
        let clock = ((now.as_nanos() / 1_000_000) as u32).wrapping_add(self.rare.timestamps.offset);
        clock.max(1)
    }
}
