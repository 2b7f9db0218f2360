//! What an ack does to the repair of losses: the phases, the window, and what may be sent on its account.

use ackclock_policy::{AckInfo, Phase, SenderView};
use ackclock_units::{Bytes, Instant, mostly, seldom};

use super::Connection;
use super::sender::BuiltSender;

impl Connection {
    /// Passes the ack to the loss recovery, enters the phase that it returns, and updates the window. Returns
    /// the view after that. `undone`: the ack has just undone a timeout, and does not grow the restored
    /// window.
    pub(super) fn recover<const PLAIN: bool>(
        &mut self,
        now: Instant,
        info: &mut AckInfo,
        undone: bool,
    ) -> SenderView {
        if !PLAIN && seldom(self.phase == Phase::Cwr) && self.ends_reduction() {
            self.enter(now, Phase::Open);
        }
        let mut v = self.view(now);
        let before = if PLAIN { Phase::Open } else { self.phase };
        let BuiltSender { policies, state } = self.sender.split_mut();
        let phase = policies.recovery.on_ack(info, &state.sent, &v, &mut state.lost);
        // The same view is used until something other than the window changes: one more for each ack takes
        // 3.7 % more instructions with one flow (callgrind, `bench_dumbbell`).
        let stale = !state.lost.is_empty()
            | (phase != Phase::Open)
            | (before != Phase::Open)
            | info.ece
            | (state.dup_acks.delivered > 0);
        let held = seldom(matches!(before, Phase::Recovery | Phase::Loss)) && self.holds_repair()
            // A reduction that is held has not ended above.
            || seldom(before == Phase::Cwr) && self.config.hold_cwr && phase == Phase::Open;
        let phase = if held { before } else { phase };
        let in_network = if seldom(stale) { self.pipe() } else { 0 };
        info.newly_lost = self.mark_lost(now);
        // In what the window counts, which may be segments.
        let left = if seldom(info.newly_lost > 0) { in_network.saturating_sub(self.pipe()) } else { 0 };
        self.enter(now, phase);
        if seldom(self.sender.episode.is_some()) && !matches!(self.phase, Phase::Recovery | Phase::Loss) {
            self.end_repaired(now);
        }
        let another = seldom(before == Phase::Recovery) && self.begins_another(now, info);
        if seldom(stale) && self.phase == Phase::Open {
            self.sender.make_mut().dup_acks.delivered = 0;
        }
        if seldom(info.ece && info.deliveries.is_some() && self.config.hold_cwr) {
            // Linux reduces for a loss that a probe has repaired, and for the echo again (`tcp_process_tlp_ack`).
            self.adjust(now, &mut v);
        }
        let echo_last = seldom(info.ece) && self.rare.is_some_and(|r| r.needs.echo_after_ack);
        if seldom(info.ece) && !echo_last {
            self.handle_ecn_echo(now, info.newly_acked);
        }
        let time_based = info.deliveries.is_some();
        if seldom(time_based) {
            // A loss that a probe has repaired reduces the window before the ack grows it.
            let mut reduced = self.view(now);
            self.adjust(now, &mut reduced);
            v.window = reduced.window;
        }
        let out_of_order = !PLAIN
            && seldom(info.newly_acked == 0 && info.newly_sacked > 0)
            && self.sender.policies().recovery.grows_out_of_order();
        info.may_grow = (info.newly_acked > 0 || out_of_order)
            && matches!(self.phase, Phase::Open | Phase::Disorder | Phase::Loss)
            && (before != Phase::Recovery
                || seldom(self.config.grow_after_repair && (self.sack_on || self.config.hold_repair))
                    && self.phase != before)
            && (!undone || self.config.grow_after_undo)
            && (!info.ece || self.phase == Phase::Loss && self.config.echo_after_repair);
        if mostly(info.may_grow) || self.needs::<PLAIN>(|r| r.needs.every_ack) {
            if seldom(before == Phase::Recovery || out_of_order) && info.may_grow {
                // Of what ends a repair or comes out of order, only what it delivers counts.
                info.newly_acked = info.delivered;
                v = self.view(now);
            } else if seldom(before != self.phase)
                || (info.newly_lost > 0 && self.needs::<PLAIN>(|r| r.needs.losses))
            {
                // The ack counts for the phase that it may have ended (RFC 3465 §2.3: after a timeout the
                // window grows by one segment per ack at most).
                v = SenderView { phase: before, ..self.view(now) };
            }
            let BuiltSender { policies, state } = self.sender.split_mut();
            let control = policies.window_on_ack(info, &v);
            if control.window != state.window {
                self.set_window(control.window, now);
            }
            self.set_pacing(control.pacing);
            v.window = self.sender.window;
        }
        if seldom(info.deliveries.is_some()) {
            self.follow_recovery_deadline(now);
        }
        if seldom(echo_last) {
            self.handle_ecn_echo(now, info.newly_acked);
        }
        if seldom(stale) {
            v = self.view(now);
        }
        if seldom((self.phase != Phase::Open) | (before != Phase::Open)) && !time_based {
            self.adjust(now, &mut v);
        }
        if seldom(self.phase != Phase::Open) {
            let reducing = self.phase == before && !another && self.repair_window().is_some();
            self.sender.make_mut().quota = if reducing && info.delivered == 0 {
                // An ack that delivers nothing changes nothing (RFC 9937 §6.2), but for what it shows to be
                // lost.
                self.sender.quota + u64::from(left)
            } else {
                self.quota_after(info, &v)
            };
        }
        self.trace_state(now);
        v
    }

    /// Begins another recovery if the ack has just ended one and the loss recovery has found that due.
    #[cold]
    fn begins_another(&mut self, now: Instant, info: &AckInfo) -> bool {
        let another = self.phase != Phase::Recovery
            && info.deliveries.is_some()
            && self.sender.policies().recovery.begins_another();
        if another {
            self.enter(now, Phase::Recovery);
        }
        another
    }

    /// True when what has been acknowledged ends a reduction for an ECN echo. RFC 3168 §6.1.2 reduces once for a
    /// window of data, which ends there; Linux holds the reduction until something above it is acknowledged.
    #[cold]
    pub(super) fn ends_reduction(&self) -> bool {
        self.snd_una >= self.sender.recovery_point + u32::from(self.config.hold_cwr)
    }

    /// True in a repair without SACK of which everything is acknowledged, and nothing that was sent after its
    /// beginning: RFC 6582 §3.2 step 3 and RFC 5681 §3.1 end it, Linux goes on (`tcp_is_non_sack_preventing_reopen`).
    #[cold]
    pub(super) fn holds_repair(&self) -> bool {
        self.config.hold_repair
            && !self.sack_on
            && matches!(self.phase, Phase::Recovery | Phase::Loss)
            && self.snd_una == self.sender.recovery_point
    }

    /// True where nothing is outstanding and a repair or a reduction is held: what the last ack let go counts,
    /// rather than the window.
    #[cold]
    pub(super) fn is_held_while_idle(&self) -> bool {
        self.phase == Phase::Recovery && self.holds_repair()
            || self.config.hold_cwr && self.phase == Phase::Cwr
    }

    /// True when an ack, which has `advanced` or not, shows that the peer has discarded what it had SACKed.
    #[cold]
    pub(super) fn has_reneged(&mut self, advanced: bool) -> bool {
        let reneged = advanced && self.sender.sent.reneged();
        if reneged {
            self.rare.make_mut().reneged = true;
        } else {
            self.rare.reset(|r| r.reneged = false);
        }
        reneged
    }

    /// Bytes that may be sent on account of this ack, outside the Open phase.
    #[inline]
    fn quota_after(&mut self, info: &AckInfo, v: &SenderView) -> Bytes {
        let policies = self.sender.policies();
        let quota = policies.recovery.quota(v);
        match policies.reduction() {
            Some(reduction) if matches!(v.phase, Phase::Recovery | Phase::Cwr) => reduction.on_ack(info, v),
            _ => quota,
        }
    }
}
