//! Phases of loss repair, the window reductions that come with them, and loss episodes as M-U1 counts them.

use ackclock_policy::{
    Adjustment, Congestion, Control, EpisodeEnd, Feedback, Phase, SenderView, Transition, Window,
};
use ackclock_trace::{EventKind, LossClass, Mask};
use ackclock_units::{Bytes, Instant, SeqRange, seldom};

use super::Connection;
use super::sender::Episode;

impl Connection {
    /// Marks the ranges that the loss recovery declared lost. Returns the bytes newly marked.
    #[inline]
    pub(super) fn mark_lost(&mut self, now: Instant) -> Bytes {
        if self.sender.lost.is_empty() { 0 } else { self.mark_each_lost(now) }
    }

    /// The same for segments whose loss is no sign of congestion, which the window does not hear of.
    #[cold]
    pub(super) fn mark_lost_without_congestion(&mut self, now: Instant) {
        self.mark_ranges_lost(now);
        let unheard = self.sender.make_mut().sent.take_losses();
        self.sender.make_mut().sent.return_losses(unheard);
    }

    #[inline(never)]
    fn mark_each_lost(&mut self, now: Instant) -> Bytes {
        let newly_lost = self.mark_ranges_lost(now);
        if self.rare.is_some_and(|r| r.needs.losses) {
            self.notify_lost(now);
        }
        newly_lost
    }

    fn mark_ranges_lost(&mut self, now: Instant) -> Bytes {
        let mut newly_lost = 0;
        let mut lost = std::mem::take(&mut self.sender.make_mut().lost);
        for range in lost.drain(..) {
            let range = SeqRange::new(range.start.max(self.snd_una), range.end.min(self.snd_nxt));
            // Linux takes no retransmission for lost that an undo has left, until the timer fires
            // (`tcp_mark_skb_lost`): it is the original that is.
            let originals = seldom(self.config.repair_by_count) && self.expiries == 0;
            let sent = &mut self.sender.make_mut().sent;
            let bytes = if originals { sent.mark_originals_lost(range) } else { sent.mark_lost(range) };
            newly_lost += u64::from(bytes);
            self.trace(Mask::EPISODES, now, || EventKind::Lost { range });
        }
        self.sender.make_mut().lost = lost;
        newly_lost
    }

    /// Notifies the window of each segment that was marked lost.
    #[cold]
    fn notify_lost(&mut self, now: Instant) {
        let lost = self.sender.make_mut().sent.take_losses();
        for segment in &lost {
            let v = self.view(now);
            let control = self.sender.policies().window.on(Feedback::Lost(*segment), &v);
            self.apply(control, now);
        }
        self.sender.make_mut().sent.return_losses(lost);
    }

    /// Enters the phase that the loss recovery returned.
    #[inline]
    pub(super) fn enter(&mut self, now: Instant, phase: Phase) {
        if phase != self.phase {
            self.change_phase(now, phase);
        }
    }

    #[inline(never)]
    fn change_phase(&mut self, now: Instant, phase: Phase) {
        let covered = match self.phase {
            Phase::Cwr => self.ends_reduction(),
            _ => self.snd_una >= self.sender.recovery_point,
        };
        let Some(t) = Transition::of(self.phase, phase, covered) else { return };
        // `tcp_enter_recovery` leaves `high_seq` to the reduction that it finds.
        let keeps_point = self.phase == Phase::Cwr && self.config.hold_cwr;
        self.phase = t.phase;
        if t.begins_episode {
            self.begin_suspect_episode(now, t.reduces.is_some());
            self.end_repaired(now);
            if !keeps_point {
                self.sender.make_mut().recovery_point = self.snd_nxt;
            }
            self.begin_episode(now, LossClass::Ca);
            self.stats.fast_recoveries += 1;
            let before = self.sender.window;
            if let Some(c) = t.reduces {
                self.reduce(c, now);
                self.note_reduction();
                self.begin_reduction(before, now);
            }
        }
        if t.ends_episode {
            self.notify_episode_end(EpisodeEnd::Completed, now);
        }
    }

    /// Begins a reduction that is spread over a round trip, if the stack has one: after a loss, or after an
    /// ECN echo, where a loss of the same window continues it.
    fn begin_reduction(&mut self, before: Window, now: Instant) {
        if matches!(self.phase, Phase::Recovery | Phase::Cwr) && self.sender.policies().special.is_some() {
            let v = self.view(now);
            if let Some(reduction) = self.sender.policies().reduction() {
                reduction.begin(before, &v);
            }
        }
    }

    /// Applies any further change of the window that the loss recovery requests.
    pub(super) fn adjust(&mut self, now: Instant, v: &mut SenderView) {
        match self.sender.policies().recovery.adjust(v) {
            Adjustment::Keep => return,
            Adjustment::Reduce => {
                // A further reduction: the episode was not clock-preserving (M-U1).
                self.begin_episode(now, LossClass::NonCa);
                let before = self.sender.window.cwnd;
                self.reduce(Congestion::Loss, now);
                if self.sender.window.cwnd > before {
                    self.set_window(Window { cwnd: before, ..self.sender.window }, now);
                }
            }
            Adjustment::SetWindow(window) => self.set_window(window, now),
            Adjustment::RepairedByProbe { flight_size } => self.reduce_for_repaired_loss(now, flight_size),
        }
        v.window = self.sender.window;
    }

    /// Reduces the window for a loss that a tail loss probe repaired (RFC 8985 §7.4.2), unless an ECN echo
    /// has already reduced it in this window of data.
    #[cold]
    fn reduce_for_repaired_loss(&mut self, now: Instant, flight_size: Bytes) {
        if self.phase == Phase::Cwr {
            return;
        }
        self.begin_episode(now, LossClass::Ca);
        self.reduce_from(flight_size, Congestion::Loss, now);
        self.notify_episode_end(EpisodeEnd::Completed, now);
        self.end_episode(now, false);
        self.note_reduction();
    }

    /// Reduces the window from `flight_size`, which is acknowledged by now.
    #[cold]
    fn reduce_from(&mut self, flight_size: Bytes, c: Congestion, now: Instant) {
        self.stats.window_cuts += 1;
        let v = SenderView { flight_size, ..self.view(now) };
        let control = self.sender.policies().window.on(Feedback::Congestion(c), &v);
        self.apply(control, now);
    }

    /// An ack of `acked` bytes carries an ECN echo: one reduction per window of data (RFC 3168 §6.1.2).
    #[cold]
    pub(super) fn handle_ecn_echo(&mut self, now: Instant, acked: Bytes) {
        if self.rare.ecn.has_reduced() && !self.config.echo_after_repair {
            return;
        }
        let all_acked = self.flight_size() == 0;
        if !matches!(self.phase, Phase::Open | Phase::Disorder) || (all_acked && acked == 0) {
            return;
        }
        self.stats.ecn_reductions += 1;
        self.note_reduction();
        if self.sender.episode.is_some() {
            // The window is reduced a second time in an episode that is not repaired yet.
            self.begin_episode(now, LossClass::NonCa);
        }
        if all_acked && !self.config.hold_cwr {
            // The marked window of data is what this ack has acknowledged.
            self.reduce_from(acked, Congestion::Ecn, now);
            self.notify_episode_end(EpisodeEnd::Completed, now);
        } else {
            self.phase = Phase::Cwr;
            self.sender.make_mut().recovery_point = self.snd_nxt;
            let before = self.sender.window;
            if all_acked {
                self.reduce_from(acked, Congestion::Ecn, now);
            } else {
                self.reduce(Congestion::Ecn, now);
            }
            self.begin_reduction(before, now);
        }
    }

    /// A loss was inferred or the timer expired. It begins an episode, or reduces the window again in the
    /// open one. Such an episode was not clock-preserving: it counts once, as non-CA (M-U1).
    #[inline(never)]
    pub(super) fn begin_episode(&mut self, now: Instant, class: LossClass) {
        let (until, recovery_point) = (self.snd_nxt, self.snd_nxt);
        let class = match &mut self.sender.make_mut().episode {
            None => {
                self.sender.make_mut().episode = Some(Episode { class, retransmissions: 0, until });
                match class {
                    LossClass::Ca => self.stats.ca_events += 1,
                    LossClass::NonCa => self.stats.non_ca_events += 1,
                }
                class
            }
            Some(e) => {
                if class == LossClass::NonCa {
                    // After a timeout everything outstanding is being repaired.
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

    /// Ends the open episode if all its losses are repaired. It lasts longer than a recovery that the first
    /// new ack ends (Reno), since further losses below its end belong to the same window of data.
    pub(super) fn end_repaired(&mut self, now: Instant) {
        if self.sender.episode.is_some_and(|e| self.snd_una >= e.until) {
            self.end_episode(now, false);
        }
    }

    /// A timeout was undone: restores the episode that was open before it, or, without one, ends the
    /// timeout's own episode as spurious.
    pub(super) fn restore_episode(&mut self, now: Instant, before: Option<Episode>) {
        let (Some(before), Some(e)) = (before, &mut self.sender.make_mut().episode) else {
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

    /// Ends the open episode, if there is one.
    pub(super) fn end_episode(&mut self, now: Instant, spurious: bool) {
        if let Some(e) = self.sender.make_mut().episode.take() {
            self.trace(Mask::EPISODES, now, || EventKind::EpisodeEnded { class: e.class, spurious });
        }
    }

    /// Sets and traces the congestion window.
    pub(super) fn set_window(&mut self, window: Window, now: Instant) {
        // The window is at least one segment, even if a policy returns less. There is no upper limit: the
        // policy `receiver-only` is bounded by the receiver's window alone.
        self.sender.make_mut().window = Window { cwnd: window.cwnd.max(u64::from(self.smss)), ..window };
        if self.tracer.is_some() {
            self.trace_window(now, window);
        }
    }

    /// Applies what the congestion window returned.
    pub(super) fn apply(&mut self, c: Control, now: Instant) {
        self.set_window(c.window, now);
        self.set_pacing(c.pacing);
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

    /// Notifies the window of a congestion signal and applies its reduction.
    #[inline(never)]
    pub(super) fn reduce(&mut self, c: Congestion, now: Instant) {
        self.stats.window_cuts += u32::from(c != Congestion::Rto { repeated: true });
        let v = self.view(now);
        let control = self.sender.policies().window.on(Feedback::Congestion(c), &v);
        self.apply(control, now);
    }

    /// Notifies the window that the episode of its last reduction is over, and applies what it returns.
    #[inline(never)]
    pub(super) fn notify_episode_end(&mut self, s: EpisodeEnd, now: Instant) {
        let v = self.view(now);
        let control = self.sender.policies().window.on(Feedback::EpisodeEnded(s), &v);
        self.apply(control, now);
    }
}
