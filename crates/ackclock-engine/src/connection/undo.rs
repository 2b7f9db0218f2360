//! Timeouts that may have been spurious: what is kept from before them, and how they are taken back.

use ackclock_policy::{AckInfo, EpisodeEnd, Phase, SenderView, SuspectTimeout, TimeoutVerdict, Window};
use ackclock_units::{Bytes, Duration, Instant, SeqNumber};
use ackclock_wire::Segment;

use super::Connection;
use super::sender::{Episode, Sending};

/// What is kept of the time before a timeout; the scoreboard keeps its marks.
#[derive(Debug)]
pub(super) struct Watched {
    timeout: SuspectTimeout,
    phase: Phase,
    recovery_point: SeqNumber,
    /// New data was sent to find out, and nothing is resent meanwhile.
    probing: bool,
    /// What may still be sent for that, bytes.
    quota: Bytes,
    /// Already counted and told to the estimator.
    counted: bool,
    /// The loss episode that was open.
    episode: Option<Episode>,
    /// SRTT and RTTVAR, once there are any.
    rtt: Option<(Duration, Duration)>,
}

/// Estimates that wait for the first sample of data sent beyond `after` (RFC 4015 §3.6).
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebase {
    after: SeqNumber,
    srtt: Duration,
    rttvar: Duration,
}

impl Connection {
    /// The timer expired; `v` is from before anything changed.
    pub(super) fn watch_timeout(&mut self, v: &SenderView) {
        if !self.sender.policies().undo.on_rto(v) {
            self.rare.reset(|r| r.watched = None);
            return;
        }
        // What a further expiry finds is the work of the first.
        if let Some(w) = self.rare.watched_mut().filter(|_| v.expiries > 0) {
            w.probing = false;
            return;
        }
        self.sender.make().sent.save_marks();
        let timeout = SuspectTimeout {
            window: v.window,
            flight_size: v.flight_size,
            recover: v.snd_nxt,
            retransmitted_to: v.snd_una,
            acks_original: None,
            dsack_seen: self.sender.dsack_seen,
        };
        // RFC 4015 §3.2, step 0: two granules of the clock more than the smoothed round-trip time.
        let rtt = v.rtt.map(|r| (r.srtt + self.estimator.granularity() * 2, r.rttvar));
        let episode = self.sender.episode;
        let watched = Watched {
            timeout,
            phase: v.phase,
            recovery_point: v.recovery_point,
            probing: false,
            quota: 0,
            counted: false,
            episode,
            rtt,
        };
        self.rare.make().watched = Some(Box::new(watched));
    }

    /// Everything below `end` was resent.
    pub(super) fn watch_retransmission(&mut self, end: SeqNumber) {
        if let Some(w) = self.rare.watched_mut() {
            w.timeout.retransmitted_to = w.timeout.retransmitted_to.max(end);
        }
    }

    /// The first ack of new data after a timeout: its timestamp tells whether the original had arrived (RFC
    /// 3522 §3.2), whoever wants to know.
    #[cold]
    pub(super) fn read_echo(&mut self, segment: &Segment) {
        let (Some(since), Some(ts)) =
            (self.rare.take(|r| &mut r.timestamps.timeout_tsval), segment.options.timestamps)
        else {
            return;
        };
        let original = (ts.tsecr.wrapping_sub(since) as i32) < 0;
        if original {
            self.count_spurious();
        }
        if let Some(w) = self.rare.watched_mut() {
            w.timeout.acks_original = Some(original);
            w.counted = original;
        }
    }

    fn count_spurious(&mut self) {
        self.stats.spurious_timeouts += 1;
        self.estimator.on_spurious_timeout();
    }

    /// Asks what the ack tells about the last timeout. True when that is taken back.
    #[inline(never)]
    pub(super) fn judge_timeout(&mut self, now: Instant, a: &AckInfo) -> bool {
        let Some(mut w) = self.rare.take(|r| &mut r.watched) else { return false };
        let v = self.view(now);
        let Sending { policies, state } = self.sender.both();
        let verdict = policies.undo.on_ack(a, &w.timeout, &state.sent, &v);
        // It concerned this ack alone.
        w.timeout.acks_original = None;
        match verdict {
            TimeoutVerdict::Unknown => self.rare.make().watched = Some(w),
            TimeoutVerdict::SendNew { segments } => {
                (w.probing, w.quota) = (true, u64::from(segments) * u64::from(self.smss));
                self.rare.make().watched = Some(w);
            }
            TimeoutVerdict::Genuine if w.probing => {
                // RFC 5682 §2.1 step 3a: the new segments count.
                let cwnd = self.sender.window.cwnd.min(3 * u64::from(self.smss));
                self.set_window(Window { cwnd, ..self.sender.window }, now);
            }
            TimeoutVerdict::Genuine => {}
            TimeoutVerdict::Spurious => self.take_back(now, a, &w),
        }
        verdict == TimeoutVerdict::Spurious
    }

    /// RFC 4015 §3.3 and §3.4, steps 8 and 9: go on with new data as if the timer had not expired.
    fn take_back(&mut self, now: Instant, a: &AckInfo, w: &Watched) {
        if !w.counted {
            self.count_spurious();
        }
        self.sender.make().sent.restore_marks();
        self.sender.make().dups.forget();
        self.expiries = 0;
        (self.phase, self.sender.make().recovery_point) =
            (if w.phase == Phase::Disorder { Phase::Open } else { w.phase }, w.recovery_point);
        self.restore_episode(now, w.episode);
        if let Some((srtt, rttvar)) = w.rtt.filter(|_| self.sender.policies().undo.adapts_timer()) {
            self.rare.make().rebase = Some(Box::new(Rebase { after: self.snd_nxt, srtt, rttvar }));
        }
        let v = self.view(now);
        self.sender.policies().recovery.on_undo(&v);
        let window = self.sender.policies().undo.resume(a, &w.timeout, &v);
        self.set_window(window, now);
        self.settle(EpisodeEnd::Spurious, now);
    }

    /// The estimates that a sample sets: what was kept from before a spurious timeout, if this is the first
    /// sample of data sent since (RFC 4015 §3.6, step 11).
    pub(super) fn rebased(&mut self, rtt: Duration) -> Option<(Duration, Duration)> {
        let r = *self.rare.make().rebase.take_if(|r| self.snd_una > r.after)?;
        Some((r.srtt.max(rtt), r.rttvar.max(rtt / 2)))
    }

    /// Bytes of new data that may be sent to find out about a timeout; `None` when that is not being done.
    pub(super) fn probing_quota(&self) -> Option<Bytes> {
        self.rare.watched.as_ref().filter(|w| w.probing).map(|w| w.quota)
    }

    /// So much of it was sent.
    pub(super) fn spend_probing_quota(&mut self, len: u32) {
        if let Some(w) = self.rare.watched_mut() {
            w.quota = w.quota.saturating_sub(u64::from(len));
        }
    }
}
