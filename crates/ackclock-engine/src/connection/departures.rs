//! What follows when data leaves: pacing, and those that asked to be told.

use ackclock_policy::{Feedback, Pacing, Phase};
use ackclock_units::{Instant, seldom};

use super::Connection;
use crate::Pacer;
use crate::timer::Timer;

impl Connection {
    /// The congestion window's rule paces from now on, at another rate, or no more.
    #[inline(always)]
    pub(super) fn set_pacing(&mut self, pacing: Option<Pacing>, now: Instant) {
        if seldom(pacing.is_some()) || self.rare.says(|r| r.pacer.is_some()) {
            self.change_pacing(pacing, now);
        }
    }

    #[cold]
    fn change_pacing(&mut self, pacing: Option<Pacing>, now: Instant) {
        let smss = self.smss;
        match (&mut self.rare.make().pacer, pacing) {
            (Some(pacer), Some(pacing)) => pacer.set(now, pacing, smss),
            (pacer, pacing) => *pacer = pacing.map(|pacing| Box::new(Pacer::new(pacing, smss))),
        }
        // Whether a timer is needed is found out when the next segment would leave.
        self.timers.disarm(Timer::Pacing);
    }

    /// So much data leaves.
    pub(super) fn pace(&mut self, now: Instant, len: u32) {
        if self.rare.says(|r| r.pacer.is_some())
            && len > 0
            && let Some(pacer) = self.rare.part(|r| r.pacer.as_deref_mut())
        {
            pacer.sent(now, len);
        }
    }

    /// True when data has to wait for the pacing rate; a timer then tells when it may leave.
    #[cold]
    pub(super) fn is_held_by_pacing(&mut self, now: Instant) -> bool {
        let Some(at) = self.rare.pacer.as_ref().and_then(|pacer| pacer.held_until(now)) else { return false };
        if self.unsent() > 0 || self.fin_is_due() || self.sender.sent.has_lost() {
            self.timers.arm(Timer::Pacing, at);
        }
        true
    }

    /// Where the application has given less than the window takes, the delivery rate is not the path's
    /// (CheckIfApplicationLimited() of draft-ietf-ccwg-bbr §4.1). Asked after each ack, and when data leaves.
    pub(super) fn check_application_limited(&mut self) {
        let in_flight = self.pipe();
        let smss = u64::from(self.smss);
        let fits = u64::from(in_flight) + smss <= self.sender.window.cwnd;
        if self.unsent() < smss && fits && self.sender.sent.to_resend() == 0 {
            self.sender.make().sent.limited_by_application(in_flight);
        }
    }

    /// Data has left: tells those that asked for it.
    #[cold]
    pub(super) fn report_sending(&mut self, now: Instant, bytes: u32, retransmission: bool) {
        let needs = self.rare.needs;
        if needs.rate_samples {
            self.check_application_limited();
        }
        if !needs.sends || bytes == 0 {
            return;
        }
        if self.phase == Phase::Recovery
            && let Some(reduction) = self.sender.policies().reduction()
        {
            reduction.on_sent(bytes);
        }
        if self.sender.policies().window.needs().sends {
            let v = self.view(now);
            let control = self.sender.policies().window.on(Feedback::Sent { bytes, retransmission }, &v);
            self.apply(control, now);
        }
    }
}
