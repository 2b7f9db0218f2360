//! Pacing of data, and notification of the policies that need to know when data is sent.

use ackclock_policy::{Feedback, Pacing, Phase};
use ackclock_units::{Instant, seldom};

use super::Connection;
use crate::Pacer;
use crate::timer::Timer;

impl Connection {
    /// The congestion window starts, changes or ends pacing.
    #[inline(always)]
    pub(super) fn set_pacing(&mut self, pacing: Option<Pacing>) {
        if seldom(pacing.is_some() | self.sender.pacer.is_some()) {
            self.change_pacing(pacing);
        }
    }

    #[inline(never)]
    fn change_pacing(&mut self, pacing: Option<Pacing>) {
        let smss = self.smss;
        match (&mut self.sender.make_mut().pacer, pacing) {
            // The next segment may leave no earlier than before, so that a running timer is right.
            (Some(pacer), Some(pacing)) => pacer.set(pacing, smss),
            (pacer, pacing) => {
                let credit = self.config.pacing_credit;
                *pacer = pacing.map(|pacing| {
                    let pacer = Pacer::new(pacing, smss);
                    Box::new(if credit { pacer.with_credit() } else { pacer })
                });
                self.timers.disarm(Timer::Pacing);
            }
        }
    }

    /// True when data has to wait for the pacer. If the window has room for some, a timer is armed for when it
    /// may be sent; otherwise an ack has to make room first, at which this is called again.
    #[inline(never)]
    pub(super) fn is_held_by_pacing(&mut self, now: Instant) -> bool {
        let Some(at) = self.sender.pacer.as_ref().and_then(|pacer| pacer.held_until(now)) else {
            return false;
        };
        let open = self.phase == Phase::Open && !self.sender.sent.has_lost();
        let room = self.sender.window.cwnd.saturating_sub(u64::from(self.pipe()));
        let may_send = match self.unsent() {
            0 => self.fin_is_due(),
            unsent => room >= unsent.min(u64::from(self.smss)),
        };
        if may_send || !open {
            self.timers.arm(Timer::Pacing, at);
        }
        true
    }

    /// Marks the delivery rate as application-limited if the application has written less than the window
    /// allows (CheckIfApplicationLimited() of draft-ietf-ccwg-bbr §4.1). Called after each ack and when data
    /// is sent.
    pub(super) fn check_app_limited(&mut self) {
        let in_flight = self.pipe();
        let smss = u64::from(self.smss);
        let fits = u64::from(in_flight) + smss <= self.sender.window.cwnd;
        if self.unsent() < smss && fits && self.sender.sent.awaiting_retransmission() == 0 {
            self.sender.make_mut().sent.mark_app_limited(in_flight);
        }
    }

    /// Data was sent: notifies the policies that asked for it in `needs`.
    #[cold]
    pub(super) fn notify_sent(&mut self, now: Instant, bytes: u32, retransmission: bool) {
        let needs = self.rare.needs;
        let mut app_limited = false;
        if needs.rate_samples {
            app_limited = self.sender.make_mut().sent.sent_app_limited();
            self.check_app_limited();
        }
        if !needs.sends || bytes == 0 {
            return;
        }
        let smss = self.smss;
        // A probe that does not count as in the network does not count here, either (`tcp_send_loss_probe`).
        let uncounted = retransmission && !self.config.probe_in_flight && self.sends_loss_probe();
        if matches!(self.phase, Phase::Recovery | Phase::Cwr)
            && !uncounted
            && let Some(reduction) = self.sender.policies().reduction()
        {
            reduction.on_sent(bytes, smss);
        }
        if self.sender.policies().window.needs().sends {
            let sent = Feedback::Sent { bytes, retransmission, app_limited };
            let mut v = self.view(now);
            if self.repair_window().is_some() && self.sender.quota < u64::from(smss) {
                // The window of a reduction that is spread over a round trip is full (`tcp_cwnd_validate`).
                v.pipe = v.window.cwnd;
            }
            let control = self.sender.policies().window.on(sent, &v);
            if control.window != self.sender.window {
                self.set_window(control.window, now);
            }
            self.set_pacing(control.pacing);
        }
    }
}
