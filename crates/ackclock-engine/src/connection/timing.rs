//! Round-trip time samples, the timeout that follows from them, and the countdown of the retransmission
//! timer.

use ackclock_policy::{RttSample, SenderView, TimerAction, TimerEvent, TimerView, Window};
use ackclock_trace::{EventKind, Mask};
use ackclock_units::{Bytes, Duration, Instant, seldom};
use ackclock_wire::Segment;

use super::Connection;
use super::sender::Sending;
use crate::RttSampling;
use crate::scoreboard::Acked;
use crate::timer::Timer;

impl Connection {
    /// Karn's rule: the sample this ack gives, unless it may be due to either of two transmissions;
    /// timestamps tell those apart (RFC 7323 §4).
    pub(super) fn sample_of(&mut self, now: Instant, segment: &Segment, acked: &Acked) -> Option<Duration> {
        if self.rare.says(|r| r.timed.is_some())
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
        if seldom(acked.retransmitted) {
            return self.rtt_by_timestamps(now, segment);
        }
        acked.oldest_sent_once.map(|at| now.since(at))
    }

    /// What is being timed is sent again: its ack will be ambiguous.
    pub(super) fn stop_timing(&mut self) {
        if self.config.karn_samples {
            self.rare.reset(|r| r.timed = None);
        }
    }

    #[inline(never)]
    pub(super) fn rtt_by_timestamps(&self, now: Instant, segment: &Segment) -> Option<Duration> {
        let ts = segment.options.timestamps.filter(|ts| self.rare.timestamps.on && ts.tsecr != 0)?;
        let ms = self.timestamp_clock(now).wrapping_sub(ts.tsecr);
        // An echo from the future is nonsense (RFC 7323 §4.3: the peer may send anything).
        (ms < 1 << 30).then(|| Duration::from_millis(u64::from(ms)))
    }

    pub(super) fn sampled(&mut self, now: Instant, rtt: Duration, flight: u32) {
        if seldom(!self.sack_on) {
            self.sender.make().dups.sampled(rtt);
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
        };
        self.feed(s);
    }

    /// A sample from outside the data flow (the handshake).
    pub(super) fn take_sample(&mut self, now: Instant, rtt: Duration) {
        let window = Window { cwnd: u64::from(self.config.mss), ssthresh: Bytes::MAX };
        self.feed(RttSample { now, rtt, flight_size: 0, window, smss: self.smss, sampling_rate: 1.0 });
    }

    #[inline(always)]
    fn feed(&mut self, s: RttSample) {
        self.estimator.on_sample(s);
        if self.rare.says(|r| r.rebase.is_some())
            && let Some((srtt, rttvar)) = self.rebased(s.rtt)
        {
            self.estimator.set_estimates(srtt, rttvar);
        }
        let stats = &mut self.stats;
        stats.rtt_samples += 1;
        stats.rtt_sum += s.rtt;
        stats.rtt_min.take_in(s.rtt);
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

    /// The timeout in force follows the estimator and the backoff.
    pub(super) fn update_timeout(&mut self) {
        let estimator = &self.estimator;
        let rto = if self.rare.says(|r| r.thin) {
            estimator.rto_above(self.config.thin_min_rto)
        } else {
            estimator.rto()
        };
        self.timeout = match self.backoff_level {
            // As every backoff has it.
            0 => rto,
            level => self.sender.policies().backoff.timeout(rto, level, &mut self.rng),
        };
    }

    /// Asks the countdown about `e`, as things stand in `v`, and carries out what it returns.
    pub(super) fn run_retransmission_timer(&mut self, now: Instant, e: TimerEvent, v: &SenderView) {
        if seldom(!self.config.thin_min_rto.is_zero()) {
            self.choose_floor();
        }
        let timeout = self.timeout;
        let Sending { policies, state } = self.sender.both();
        let v = TimerView {
            now,
            deadline: v.rto_deadline,
            oldest_sent_at: v.oldest_sent_at,
            restarted_at: state.timer_restarted_at,
            phase: v.phase,
        };
        let action = policies.timer.on(e, timeout, &v);
        if seldom(matches!(e, TimerEvent::Expired | TimerEvent::Probed)) {
            state.timer_restarted_at = now;
        }
        match action {
            TimerAction::Keep => {}
            TimerAction::Arm(at) => self.timers.arm(Timer::Retransmission, at.max(now)),
            TimerAction::Disarm => self.timers.disarm(Timer::Retransmission),
        }
    }

    /// Differentiated minRTO (I-A5): the floor of the timeout depends on how much of the window is used,
    /// which is to say outstanding (the paper does not define it). The paper supposes a window of four
    /// segments at least, of which one packet is the quarter that is allowed; here the window counts for no
    /// less than the initial one, so that a packet sent alone after a timeout is no exception.
    #[cold]
    fn choose_floor(&mut self) {
        let thin = self.is_thin();
        if thin != self.rare.thin {
            self.rare.make().thin = thin;
            self.update_timeout();
        }
    }

    fn is_thin(&self) -> bool {
        f64::from(self.flight_size())
            <= self.config.thin_window
                * self.sender.window.cwnd.max(u64::from(self.sender.initial_window)) as f64
    }

    /// What has just been sent may use more of the window than the floor was chosen for: then the countdown
    /// that runs takes the longer one, from when it began.
    #[cold]
    pub(super) fn leave_thin_floor(&mut self) {
        if let Some(deadline) = self.timers.deadline(Timer::Retransmission)
            && !self.is_thin()
        {
            let before = self.timeout;
            self.choose_floor();
            self.timers.arm(Timer::Retransmission, deadline + self.timeout.saturating_sub(before));
        }
    }

    /// Our clock for timestamps: milliseconds from a random start (RFC 7323 §5.4, §7.1).
    pub(super) fn timestamp_clock(&self, now: Instant) -> u32 {
        // Zero would mean "no echo" in a SYN (RFC 7323 §3.2).
        let clock = ((now.as_nanos() / 1_000_000) as u32).wrapping_add(self.rare.timestamps.offset);
        clock.max(1)
    }
}
