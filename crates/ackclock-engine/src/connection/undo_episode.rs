//! Spurious retransmissions (the receiver had the data, or got it from the original): the state saved before
//! an episode, and the undo of its reduction.

use ackclock_policy::{
    AckInfo, EpisodeEnd, EpisodeVerdict, Phase, ScoreboardView as _, SenderView, SuspectEpisode, Window,
};
use ackclock_units::{Bytes, Instant, SeqRange};
use ackclock_wire::Segment;

use super::Connection;
use super::sender::BuiltSender;

/// State from before an episode whose retransmissions may turn out to have been spurious.
#[derive(Debug)]
pub(super) struct UndecidedEpisode {
    episode: SuspectEpisode,
}

impl UndecidedEpisode {
    /// The window before it.
    pub(super) fn window(&self) -> Window {
        self.episode.window
    }
}

impl Connection {
    /// The loss recovery begins an episode. `reduces`: the window is reduced for it, and not only for an ECN
    /// echo before.
    #[cold]
    pub(super) fn begin_suspect_episode(&mut self, now: Instant, reduces: bool) {
        self.rare.reset(|r| r.suspect_episode = None);
        if reduces && self.sender.policies().undo.examines_episodes() {
            let v = self.view(now);
            self.save_episode(&v);
        }
    }

    /// The retransmission timer expired. `v` is the view from before that: during a repair the state to
    /// restore is still that from before the repair.
    #[cold]
    pub(super) fn begin_suspect_timeout(&mut self, v: &SenderView) {
        if !self.sender.policies().undo.examines_episodes() {
            return;
        }
        match v.phase {
            Phase::Cwr => self.rare.reset(|r| r.suspect_episode = None),
            Phase::Recovery if v.snd_una < v.recovery_point => {}
            Phase::Loss if v.expiries > 0 => {}
            Phase::Open | Phase::Disorder | Phase::Loss | Phase::Recovery => self.save_episode(v),
        }
    }

    fn save_episode(&mut self, v: &SenderView) {
        let BuiltSender { policies, state } = self.sender.split_mut();
        policies.undo.on_episode(&state.sent, v);
        let episode =
            SuspectEpisode { window: v.window, start: v.snd_una, recover: v.snd_nxt, acks_original: None };
        if !state.sent.has_retransmissions() {
            self.rare.reset(|r| r.timestamps.repeated_tsval = None);
        }
        self.rare.make_mut().suspect_episode = Some(Box::new(UndecidedEpisode { episode }));
    }

    /// `range` was retransmitted, on a connection whose episodes are examined.
    #[cold]
    pub(super) fn note_suspect_retransmission(&mut self, now: Instant, range: SeqRange, v: &SenderView) {
        self.sender.policies().undo.on_retransmit(range, v);
        let clock = self.timestamp_clock(now);
        if matches!(v.phase, Phase::Recovery | Phase::Loss) && self.rare.suspect_episode.is_some() {
            self.rare.make_mut().timestamps.repeated_tsval.get_or_insert(clock);
        }
    }

    /// Passes the ack to the policy that examines the episode. `reduced`: [`Connection::repair_window`] before it.
    #[cold]
    pub(super) fn check_suspect_episode(
        &mut self,
        now: Instant,
        segment: &Segment,
        a: &mut AckInfo,
        reduced: Option<Bytes>,
    ) {
        // An undo of a timeout has settled it, or an echo forbids it: the reduction is required.
        let Some(mut saved) = self.rare.take(|r| &mut r.suspect_episode).filter(|_| !a.ece) else { return };
        let echo = segment.options.timestamps.filter(|ts| self.rare.timestamps.on && ts.tsecr != 0);
        saved.episode.acks_original = echo
            .zip(self.rare.timestamps.repeated_tsval)
            .map(|(ts, first)| (ts.tsecr.wrapping_sub(first) as i32) < 0);
        let v = self.view(now);
        a.acks_original = saved.episode.acks_original == Some(true)
            && v.phase == Phase::Recovery
            && a.newly_acked > 0
            && a.ack < saved.episode.recover;
        let BuiltSender { policies, state } = self.sender.split_mut();
        match policies.undo.on_episode_ack(a, &saved.episode, &state.sent, &v) {
            EpisodeVerdict::Unknown => self.rare.make_mut().suspect_episode = Some(saved),
            EpisodeVerdict::Genuine => {}
            // A recovery that counts what has arrived above a hole would find the same lost again.
            EpisodeVerdict::AllLate if self.sender.policies().recovery.is_time_based() => {
                self.sender.make_mut().sent.forget_lost();
                self.undo_episode(now, &saved.episode, reduced);
            }
            EpisodeVerdict::Reported if self.sender.policies().recovery.is_time_based() => {
                self.undo_episode(now, &saved.episode, reduced);
            }
            // Another segment is known to be lost and waits to be sent again: the reduction was due.
            _ if self.repairs_another() => self.rare.make_mut().suspect_episode = Some(saved),
            EpisodeVerdict::Spurious | EpisodeVerdict::AllLate | EpisodeVerdict::Reported => {
                self.undo_episode(now, &saved.episode, reduced);
            }
        }
    }

    fn repairs_another(&self) -> bool {
        self.phase == Phase::Recovery && self.sender.sent.has_lost()
    }

    /// Undoes the reduction of an episode. After a timeout, what it marked lost is so no more.
    fn undo_episode(&mut self, now: Instant, e: &SuspectEpisode, reduced: Option<Bytes>) {
        let before = self.phase;
        // Without SACK Linux restores the window, but goes on with the repair (`tcp_try_undo_loss`), or holds it
        // (`tcp_try_undo_recovery`).
        let goes_on = before == Phase::Loss && !self.sack_on && self.config.hold_repair;
        let held = goes_on || self.holds_repair();
        if before == Phase::Loss {
            if goes_on {
                // Another ack of originals ends the repair as well (`tcp_process_loss`: FLAG_ORIG_SACK_ACKED).
                self.keep_undone_timeout();
            } else {
                self.rare.reset(|r| r.undecided_timeout = None);
            }
            // By its timestamp the ack has been counted already.
            if e.acks_original != Some(true) {
                self.count_spurious_timeout();
            }
            self.sender.make_mut().sent.forget_lost();
            self.sender.make_mut().dup_acks.reset();
            self.expiries = 0;
        }
        if matches!(before, Phase::Loss | Phase::Recovery) && !held {
            let disorder = !self.sender.sent.sacked().is_empty();
            self.phase = if disorder { Phase::Disorder } else { Phase::Open };
            self.restore_episode(now, None);
        }
        if before == Phase::Loss {
            let v = self.view(now);
            self.sender.policies().recovery.on_undo(&v);
        }
        let window = self.sender.window;
        // A reduction that is spread over a round trip has a window of its own (RFC 9937 §6.2), which may have grown.
        let cwnd = reduced.unwrap_or(window.cwnd).max(e.window.cwnd);
        let ssthresh = window.ssthresh.max(e.window.ssthresh);
        self.set_window(Window { cwnd, ssthresh }, now);
        self.withdraw_reduction();
        self.notify_episode_end(EpisodeEnd::Spurious, now);
    }
}
