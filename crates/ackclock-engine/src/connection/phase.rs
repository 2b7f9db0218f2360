//! Phases of loss repair, the window reductions they bring, and loss episodes as M-U1 counts them.

use ackclock_policy::{
    Adjustment, Congestion, Control, EpisodeEnd, Feedback, Phase, SenderView, Transition, Window,
};
use ackclock_trace::{EventKind, LossClass, Mask};
use ackclock_units::{Bytes, Instant, SeqRange};

use super::Connection;
use super::sender::Episode;

impl Connection {
    /// Marks what the loss recovery found lost. Returns the bytes of which that is news.
    #[inline]
    pub(super) fn mark_lost(&mut self, now: Instant) -> Bytes {
        if self.sender.lost.is_empty() { 0 } else { self.mark_each_lost(now) }
    }

    #[inline(never)]
    fn mark_each_lost(&mut self, now: Instant) -> Bytes {
        let mut newly_lost = 0;
        let mut lost = std::mem::take(&mut self.sender.make().lost);
        for range in lost.drain(..) {
            let range = SeqRange::new(range.start.max(self.snd_una), range.end.min(self.snd_nxt));
            newly_lost += u64::from(self.sender.make().sent.mark_lost(range));
            self.trace(Mask::EPISODES, now, || EventKind::Lost { range });
        }
        self.sender.make().lost = lost;
        newly_lost
    }

    /// Carries out a change of phase that the loss recovery asked for.
    #[inline]
    pub(super) fn enter(&mut self, now: Instant, phase: Phase) {
        if phase != self.phase {
            self.change_phase(now, phase);
        }
    }

    #[inline(never)]
    fn change_phase(&mut self, now: Instant, phase: Phase) {
        let covered = self.snd_una >= self.sender.recovery_point;
        let Some(t) = Transition::of(self.phase, phase, covered) else { return };
        self.phase = t.phase;
        if t.begins_episode {
            self.end_repaired(now);
            self.sender.make().recovery_point = self.snd_nxt;
            self.begin_episode(now, LossClass::Ca);
            self.stats.fast_recoveries += 1;
            if let Some(c) = t.reduces {
                self.reduce(c, now);
            }
            self.note_reduction();
            self.begin_reduction(now);
        }
        if t.ends_episode {
            self.settle(EpisodeEnd::Completed, now);
        }
    }

    /// A reduction that is spread over the recovery begins.
    fn begin_reduction(&mut self, now: Instant) {
        if self.phase == Phase::Recovery && self.sender.policies().special.is_some() {
            let v = self.view(now);
            if let Some(reduction) = self.sender.policies().reduction() {
                reduction.begin(&v);
            }
        }
    }

    /// What the loss recovery does to the window beyond that.
    pub(super) fn adjust(&mut self, now: Instant, v: &mut SenderView) {
        match self.sender.policies().recovery.adjust(v) {
            Adjustment::Keep => return,
            Adjustment::Reduce => {
                // A further cut: the episode has not kept the clock (M-U1).
                self.begin_episode(now, LossClass::NonCa);
                let before = self.sender.window.cwnd;
                self.reduce(Congestion::Loss, now);
                if self.sender.window.cwnd > before {
                    self.set_window(Window { cwnd: before, ..self.sender.window }, now);
                }
            }
            Adjustment::SetWindow(window) => self.set_window(window, now),
            Adjustment::RepairedByProbe { flight_size } => self.answer_repaired(now, flight_size),
        }
        v.window = self.sender.window;
    }

    /// RFC 8985 §7.4.2: a loss that a probe repaired is a congestion signal as any other, unless an ECN echo
    /// has told of this window.
    #[cold]
    fn answer_repaired(&mut self, now: Instant, flight_size: Bytes) {
        if self.phase == Phase::Cwr {
            return;
        }
        self.begin_episode(now, LossClass::Ca);
        self.reduce_from(flight_size, Congestion::Loss, now);
        self.end_episode(now, false);
        self.note_reduction();
    }

    /// A reduction that is over at once: nothing is outstanding any more of the `flight_size` that it is for.
    #[cold]
    fn reduce_from(&mut self, flight_size: Bytes, c: Congestion, now: Instant) {
        self.stats.window_cuts += 1;
        let v = SenderView { flight_size, ..self.view(now) };
        let control = self.sender.policies().window.on(Feedback::Congestion(c), &v);
        self.apply(control, now);
        self.settle(EpisodeEnd::Completed, now);
    }

    /// ECN echo on an ack of so many bytes: one reduction per window of data (RFC 3168 §6.1.2).
    #[cold]
    pub(super) fn echo(&mut self, now: Instant, acked: Bytes) {
        if self.rare.ecn.is_answered() {
            return;
        }
        let all_acked = self.flight_size() == 0;
        if !matches!(self.phase, Phase::Open | Phase::Disorder) || (all_acked && acked == 0) {
            return;
        }
        self.stats.ecn_reductions += 1;
        self.note_reduction();
        if self.sender.episode.is_some() {
            // An episode that its recovery left unrepaired is cut a second time.
            self.begin_episode(now, LossClass::NonCa);
        }
        if all_acked {
            // The window that was marked is what the ack has taken off.
            self.reduce_from(acked, Congestion::Ecn, now);
        } else {
            self.phase = Phase::Cwr;
            self.sender.make().recovery_point = self.snd_nxt;
            self.reduce(Congestion::Ecn, now);
        }
    }

    /// A loss was inferred or the timer expired. It opens an episode, or cuts the window once more in the one
    /// that is open: that was not clock-preserving then, whatever it began as, and counts once (M-U1).
    #[inline(never)]
    pub(super) fn begin_episode(&mut self, now: Instant, class: LossClass) {
        let (until, recovery_point) = (self.snd_nxt, self.snd_nxt);
        let class = match &mut self.sender.make().episode {
            None => {
                self.sender.make().episode = Some(Episode { class, retransmissions: 0, until });
                match class {
                    LossClass::Ca => self.stats.ca_events += 1,
                    LossClass::NonCa => self.stats.non_ca_events += 1,
                }
                class
            }
            Some(e) => {
                if class == LossClass::NonCa {
                    // After a timeout all that is outstanding is in repair.
                    e.until = until;
                }
                if e.class == LossClass::NonCa {
                    return;
                }
                e.class = LossClass::NonCa;
                self.stats.ca_events -= 1;
                self.stats.non_ca_events += 1;
                LossClass::NonCa
            }
        };
        self.trace(Mask::EPISODES, now, || EventKind::EpisodeBegan { class, recovery_point });
    }

    /// Ends the episode whose losses are all repaired, if there is one. It outlives a recovery that the first
    /// new ack ends (Reno): what is found missing below its end later belongs to the same window of data.
    pub(super) fn end_repaired(&mut self, now: Instant) {
        if self.sender.episode.is_some_and(|e| self.snd_una >= e.until) {
            self.end_episode(now, false);
        }
    }

    /// Puts back the episode that a timeout, now taken back, found open; without one, that of the timeout
    /// itself ends as spurious.
    pub(super) fn restore_episode(&mut self, now: Instant, before: Option<Episode>) {
        let (Some(before), Some(e)) = (before, &mut self.sender.make().episode) else {
            return self.end_episode(now, true);
        };
        e.until = before.until;
        if before.class == LossClass::Ca && e.class == LossClass::NonCa {
            e.class = LossClass::Ca;
            self.stats.ca_events += 1;
            self.stats.non_ca_events -= 1;
            let recovery_point = before.until;
            self.trace(Mask::EPISODES, now, || EventKind::EpisodeBegan {
                class: LossClass::Ca,
                recovery_point,
            });
        }
    }

    pub(super) fn end_episode(&mut self, now: Instant, spurious: bool) {
        if let Some(e) = self.sender.make().episode.take() {
            self.trace(Mask::EPISODES, now, || EventKind::EpisodeEnded { class: e.class, spurious });
        }
    }

    pub(super) fn set_window(&mut self, window: Window, now: Instant) {
        // No window below one segment, whatever a policy answers; the receiver-only window is bounded by the
        // receiver's alone.
        self.sender.make().window = Window { cwnd: window.cwnd.max(u64::from(self.smss)), ..window };
        if self.tracer.is_some() {
            self.trace_window(now, window);
        }
    }

    /// Carries out what the congestion window's rule returned.
    pub(super) fn apply(&mut self, c: Control, now: Instant) {
        self.set_window(c.window, now);
        self.set_pacing(c.pacing, now);
    }

    #[cold]
    fn trace_window(&mut self, now: Instant, window: Window) {
        let pipe = u64::from(self.pipe());
        self.trace(Mask::SAMPLES, now, || EventKind::Window {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            pipe,
        });
    }

    #[inline(never)]
    pub(super) fn reduce(&mut self, c: Congestion, now: Instant) {
        self.stats.window_cuts += u32::from(c != Congestion::Rto { repeated: true });
        let v = self.view(now);
        let control = self.sender.policies().window.on(Feedback::Congestion(c), &v);
        self.apply(control, now);
    }

    #[inline(never)]
    pub(super) fn settle(&mut self, s: EpisodeEnd, now: Instant) {
        let v = self.view(now);
        let control = self.sender.policies().window.on(Feedback::EpisodeEnded(s), &v);
        self.apply(control, now);
    }
}
