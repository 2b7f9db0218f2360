//! Spurious timeouts (the original segment's ack was under way): the state saved before a timeout, and the
//! undo.

use ackclock_policy::{AckInfo, EpisodeEnd, Phase, SenderView, SuspectTimeout, TimeoutVerdict, Window};
use ackclock_units::{Bytes, Duration, Instant, SeqNumber};
use ackclock_wire::Segment;

use super::Connection;
use super::sender::{BuiltSender, Episode};

/// State from before a timeout that may turn out to have been spurious. The scoreboard keeps its own marks.
#[derive(Debug)]
pub(super) struct UndecidedTimeout {
    timeout: SuspectTimeout,
    phase: Phase,
    recovery_point: SeqNumber,
    /// New data is sent to find out, and nothing is retransmitted meanwhile.
    testing: bool,
    /// Bytes of new data that may still be sent for that.
    quota: Bytes,
    /// Segments that were to be sent for that.
    tests: u32,
    /// Already counted as spurious, and the estimator notified.
    counted: bool,
    /// The loss episode that was open.
    episode: Option<Episode>,
    /// SRTT and RTTVAR, once there are any.
    rtt: Option<(Duration, Duration)>,
}

/// Estimates to combine with the first sample of data sent beyond `after` (RFC 4015 §3.6).
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebase {
    after: SeqNumber,
    srtt: Duration,
    rttvar: Duration,
}

impl Connection {
    /// The retransmission timer expired: saves the state that an undo restores. `v` is the view from before
    /// the timeout changed anything.
    pub(super) fn record_timeout(&mut self, v: &SenderView) {
        if !self.sender.policies().undo.on_rto(v) {
            self.rare.reset(|r| r.undecided_timeout = None);
            return;
        }
        // At a further expiry, the state to restore is still that from before the first one.
        if let Some(w) = self.rare.undecided_timeout_mut().filter(|_| v.expiries > 0) {
            w.testing = false;
            return;
        }
        // Where the first was not examined, it is that from before the episode, with nothing lost.
        let before = self.rare.suspect_episode.as_ref().filter(|_| v.expiries > 0).map(|e| e.window());
        self.sender.make_mut().sent.save_marks(before.is_none());
        let timeout = SuspectTimeout {
            window: before.unwrap_or(v.window),
            flight_size: v.flight_size,
            recover: v.snd_nxt,
            retransmitted_to: v.snd_una,
            acks_original: None,
            sent_once_arrived: false,
            dsack_seen: self.sender.duplicates_reported > 0,
        };
        // RFC 4015 §3.2, step 0: two granules of the clock more than the smoothed round-trip time.
        let rtt = v.rtt.map(|r| (r.srtt + self.estimator.granularity() * 2, r.rttvar));
        let episode = self.sender.episode.filter(|_| before.is_none());
        let watched = UndecidedTimeout {
            timeout,
            phase: if before.is_some() { Phase::Open } else { v.phase },
            recovery_point: v.recovery_point,
            testing: false,
            quota: 0,
            tests: 0,
            counted: false,
            episode,
            rtt,
        };
        self.rare.make_mut().undecided_timeout = Some(Box::new(watched));
    }

    /// Everything below `end` was retransmitted.
    pub(super) fn note_retransmission(&mut self, end: SeqNumber) {
        if let Some(w) = self.rare.undecided_timeout_mut() {
            w.timeout.retransmitted_to = w.timeout.retransmitted_to.max(end);
        }
    }

    /// The first ack of new data after a timeout: its timestamp shows whether the original had arrived (RFC
    /// 3522 §3.2). Spurious timeouts are counted even if no policy detects them.
    #[cold]
    pub(super) fn read_timestamp_echo(&mut self, segment: &Segment) {
        let (Some(since), Some(ts)) =
            (self.rare.take(|r| &mut r.timestamps.timeout_tsval), segment.options.timestamps)
        else {
            return;
        };
        let original = (ts.tsecr.wrapping_sub(since) as i32) < 0;
        if original {
            self.count_spurious_timeout();
        }
        if let Some(w) = self.rare.undecided_timeout_mut() {
            w.timeout.acks_original = Some(original);
            w.counted = original;
        }
    }

    pub(super) fn count_spurious_timeout(&mut self) {
        self.stats.spurious_timeouts += 1;
        self.estimator.on_spurious_timeout();
    }

    /// How many segments were sent once, before an undecided timeout, and are not reported by any ack yet.
    #[cold]
    pub(super) fn missing_originals(&self) -> usize {
        let Some(w) = self.rare.undecided_timeout.as_ref() else { return 0 };
        self.sender.sent.sent_once_until(w.timeout.recover)
    }

    /// Passes the ack to the policy that detects spurious timeouts. `missing`: what
    /// [`Connection::missing_originals`] was before the ack. Returns true when the timeout was undone.
    #[inline(never)]
    pub(super) fn check_undecided_timeout(&mut self, now: Instant, a: &AckInfo, missing: usize) -> bool {
        let Some(mut w) = self.rare.take(|r| &mut r.undecided_timeout) else { return false };
        w.timeout.sent_once_arrived = self.sender.sent.sent_once_until(w.timeout.recover) < missing;
        let v = self.view(now);
        let BuiltSender { policies, state } = self.sender.split_mut();
        let verdict = policies.undo.on_ack(a, &w.timeout, &state.sent, &v);
        // What the timestamp echo and the reports say belongs to this ack alone.
        (w.timeout.acks_original, w.timeout.sent_once_arrived) = (None, false);
        match verdict {
            TimeoutVerdict::Unknown => self.rare.make_mut().undecided_timeout = Some(w),
            TimeoutVerdict::Repair => {
                w.testing = false;
                self.rare.make_mut().undecided_timeout = Some(w);
            }
            TimeoutVerdict::SendNew { segments } => {
                (w.testing, w.tests) = (true, segments);
                w.quota = u64::from(segments) * u64::from(self.smss);
                self.rare.make_mut().undecided_timeout = Some(w);
            }
            TimeoutVerdict::Genuine if w.testing => {
                // RFC 5682 §2.1 step 3a: at most three segments, one more than were sent for the test, as slow start
                // has two round trips after a timeout. Linux sends what the window allows, and leaves it as it is.
                let most = (u64::from(w.tests) + 1) * u64::from(self.smss);
                let cwnd = self.sender.window.cwnd.min(most);
                self.set_window(Window { cwnd, ..self.sender.window }, now);
            }
            TimeoutVerdict::Genuine => {}
            TimeoutVerdict::Spurious => self.undo_timeout(now, a, &w),
        }
        verdict == TimeoutVerdict::Spurious
    }

    /// Undoes a spurious timeout: sending continues with new data as if the timer had not expired (RFC 4015
    /// §3.3 and §3.4, steps 8 and 9).
    fn undo_timeout(&mut self, now: Instant, a: &AckInfo, w: &UndecidedTimeout) {
        if !w.counted {
            self.count_spurious_timeout();
        }
        self.rare.reset(|r| r.suspect_episode = None);
        let keeps = self.config.repair_by_count;
        self.sender.make_mut().sent.restore_marks(keeps);
        self.sender.make_mut().dup_acks.reset();
        self.expiries = 0;
        // Without SACK Linux holds the repair until more than it is acknowledged (`tcp_try_undo_loss`).
        if !self.holds_repair() {
            (self.phase, self.sender.make_mut().recovery_point) =
                (if w.phase == Phase::Disorder { Phase::Open } else { w.phase }, w.recovery_point);
            self.restore_episode(now, w.episode);
        }
        if let Some((srtt, rttvar)) = w.rtt.filter(|_| self.sender.policies().undo.adapts_timer()) {
            self.rare.make_mut().rebase = Some(Box::new(Rebase { after: self.snd_nxt, srtt, rttvar }));
        }
        let v = self.view(now);
        self.sender.policies().recovery.on_undo(&v);
        let window = self.sender.policies().undo.resume(a, &w.timeout, &v);
        self.set_window(window, now);
        self.withdraw_reduction();
        self.notify_episode_end(EpisodeEnd::Spurious, now);
    }

    /// The timeout's reduction is undone by other means, but not its repair: it is examined further, and nothing is
    /// sent for that.
    #[cold]
    pub(super) fn keep_undone_timeout(&mut self) {
        if let Some(w) = self.rare.undecided_timeout_mut() {
            (w.testing, w.counted) = (false, true);
        }
    }

    /// SRTT and RTTVAR after a spurious timeout, if this is the first sample of data sent since (RFC 4015
    /// §3.6, step 11).
    pub(super) fn rebased(&mut self, rtt: Duration) -> Option<(Duration, Duration)> {
        let r = *self.rare.make_mut().rebase.take_if(|r| self.snd_una > r.after)?;
        Some((r.srtt.max(rtt), r.rttvar.max(rtt / 2)))
    }

    /// Bytes of new data that may be sent to find out whether a timeout was spurious; `None` when that is not
    /// being tested.
    pub(super) fn spurious_test_quota(&self) -> Option<Bytes> {
        let quota = self.rare.undecided_timeout.as_ref().filter(|w| w.testing)?.quota;
        // With no limit to their number the window decides.
        let room = || self.sender.window.cwnd.saturating_sub(u64::from(self.pipe()));
        Some(if quota > u64::from(u32::MAX) { quota.min(room()) } else { quota })
    }

    /// `len` bytes of that quota were sent.
    pub(super) fn spend_spurious_test_quota(&mut self, len: u32) {
        if let Some(w) = self.rare.undecided_timeout_mut() {
            w.quota = w.quota.saturating_sub(u64::from(len));
        }
    }
}
