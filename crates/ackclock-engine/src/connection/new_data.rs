//! Sending new data: how much may be sent, in segments of what size, and restarts after idle periods.

use ackclock_policy::{Ecn, Feedback, Frame, TimerEvent};
use ackclock_trace::SendKind;
use ackclock_units::{Bytes, Duration, Instant, SeqNumber, SeqRange, mostly, seldom};
use ackclock_wire::Flags;

use super::sender::BuiltSender;
use super::{Connection, State, Transmit};
use crate::timer::Timer;
use crate::{IdleAfter, IdleSince, RttSampling};

/// What the departure of new data depends on, beside its length.
#[derive(Clone, Copy)]
pub(super) struct Leaving {
    /// Bytes that waited, with those that leave.
    pub(super) unsent: Bytes,
    /// The payload of a full segment.
    pub(super) whole: u32,
    /// How often it is sent.
    pub(super) copies: u32,
    /// Room in the congestion window, for the copies.
    pub(super) room: Bytes,
}

/// What holds a small segment.
#[derive(Clone, Copy)]
struct Held {
    /// Something is outstanding, and Nagle's algorithm applies.
    by_nagle: bool,
    by_cork: bool,
}

impl Connection {
    /// A segment of new data (or a FIN), if `room` in the congestion window, the receiver's window and the
    /// rules against small segments allow one (RFC 9293 §3.8.6.2.1, §3.7.4).
    pub(super) fn transmit_new(&mut self, now: Instant, room: Bytes) -> Option<Transmit> {
        let (unsent, fin_due) = (self.unsent(), self.fin_is_due());
        if unsent == 0 && !fin_due {
            return None;
        }
        self.transmit_waiting(now, room, unsent, fin_due)
    }

    /// The same where `unsent` bytes wait, or a FIN is due.
    #[inline(always)]
    pub(super) fn transmit_waiting(
        &mut self,
        now: Instant,
        room: Bytes,
        unsent: Bytes,
        fin_due: bool,
    ) -> Option<Transmit> {
        let idle = self.snd_nxt == self.snd_una;
        if !idle
            && room < u64::from(self.smss)
            && unsent >= u64::from(self.smss)
            && mostly(self.sender.policies().sends_full_segments())
        {
            // The usual end of a burst, detected early: no room for the full segment that is waiting. (SACK
            // blocks may make it a little shorter.)
            return None;
        }
        if seldom(self.config.tso) && self.awaits_larger_packet(now, unsent, fin_due) {
            return None;
        }
        self.transmit_unsent(now, room, unsent, fin_due)
    }

    /// True when a FIN is to follow the last byte and was not sent.
    #[inline]
    pub(super) fn fin_is_due(&self) -> bool {
        seldom(self.closing) && !self.fin_sent && (self.state != State::SynReceived || self.opens_early())
    }

    /// The general case of `transmit_new`: `unsent` bytes are waiting, or a FIN is due.
    #[inline(never)]
    fn transmit_unsent(
        &mut self,
        now: Instant,
        room: Bytes,
        unsent: Bytes,
        fin_due: bool,
    ) -> Option<Transmit> {
        let idle = self.snd_nxt == self.snd_una;
        if seldom(idle)
            && self.config.idle_restart
            && self.stats.data_segments_sent > 0
            // A closed window lets nothing go that could restart.
            && self.snd_wnd > 0
        {
            self.restart_after_idle(now);
        }
        let whole = self.max_payload(now);
        let held = seldom(idle) && self.is_held_while_idle();
        let BuiltSender { policies, state } = self.sender.split_mut();
        let room = if idle && !held { room.max(state.window.cwnd) } else { room };
        let Frame { most, copies } = if seldom(!policies.sends_full_segments()) && unsent > 0 {
            self.frame(now, whole)
        } else {
            Frame { most: whole, copies: 1 }
        };
        let most = if self.rare.is_some_and(|r| r.records.is_some()) {
            self.within_record(self.send.end() - unsent, most)
        } else {
            most
        };
        let usable = (self.snd_una + self.snd_wnd).bytes_since(self.snd_nxt);
        let len = unsent.min(u64::from(most)).min(u64::from(usable)) as u32;
        let last = u64::from(len) == unsent;
        // Nagle's algorithm does not apply to segments that framing made small on purpose.
        // Nor, like a cork, to what an ack lets go to test a timeout, as Linux has it (`tcp_xmit_recovery`).
        let tests = seldom(self.config.minshall)
            && self.last_received_at == now
            && self.spurious_test_quota().is_some();
        let at_once = idle
            || !self.config.nagle
            || most < whole
            || tests
            || seldom(self.config.minshall) && self.has_no_small_outstanding();
        let held = Held { by_nagle: !at_once, by_cork: self.corked && !tests };
        if unsent > 0 && !self.worth_sending(len, most, last, held, fin_due) {
            if self.sender.sent.is_empty() && usable < most && unsent > u64::from(usable) {
                self.arm_persist(now);
            } else if self.sender.sent.is_empty() && self.corked {
                self.arm_cork(now);
            }
            return None;
        }
        let fin = fin_due && last;
        if seldom(fin) && self.waits_for_window(len, usable) {
            if self.sender.sent.is_empty() {
                self.arm_persist(now);
            }
            return None;
        }
        let cost = self.cost(len);
        if seldom(room < cost) {
            return None;
        }
        Some(self.depart(now, len, fin, Leaving { unsent, whole, copies, room }))
    }

    /// Sends the next `len` bytes of new data, and a FIN behind them: all bookkeeping of a departure.
    #[inline(always)]
    pub(super) fn depart(&mut self, now: Instant, len: u32, fin: bool, leaving: Leaving) -> Transmit {
        let Leaving { unsent, whole, copies, room } = leaving;
        let (idle, cost) = (self.snd_nxt == self.snd_una, self.cost(len));
        let last = u64::from(len) == unsent;
        self.timers.disarm(Timer::Persist);
        let mut flags = Flags::ACK;
        if last && len > 0 {
            flags |= Flags::PSH;
        }
        if seldom(fin) {
            flags |= Flags::FIN;
            self.fin_sent = true;
        }
        let seq = self.snd_nxt;
        let offset = self.send.end() - unsent;
        let ecn = if self.rare.is_allocated() { self.before_new_data(len, &mut flags) } else { Ecn::NotEct };
        let sender = self.sender.make_mut();
        sender.pace(now, len);
        sender.sent.push(seq, len + u32::from(fin), fin, now);
        sender.quota = sender.quota.saturating_sub(cost);
        self.snd_nxt = seq + len + u32::from(fin);
        self.last_sent_at = now;
        if seldom(self.config.rtt_sampling == RttSampling::OncePerRtt) && self.rare.timed.is_none() {
            self.rare.make_mut().timed = Some((self.snd_nxt, now));
        }
        if seldom(self.config.minshall) && len < whole {
            self.rare.make_mut().small_until = Some(self.snd_nxt);
        }
        if self.rare.is_allocated() {
            self.after_new_data(now, len);
        }
        if seldom(!self.timers.is_armed(Timer::Retransmission)) {
            if idle {
                self.waiting_since = now;
            }
            let v = self.view(now);
            self.run_retransmission_timer(now, TimerEvent::Sent { retransmission: false }, &v);
        }
        if self.sender.sent.keeps_deliveries() {
            self.plan_recovery(now, true);
        }
        if copies > 1 && len > 0 && !fin {
            self.plan_copies(now, SeqRange::new(seq, self.snd_nxt), copies, room);
        }
        let segment = self.segment(now, seq, len, flags);
        Transmit { segment, offset, kind: SendKind::New, retransmission: false, ecn }
    }

    /// True when the FIN that a segment of `len` bytes carries has to wait for more than the `usable` window: not
    /// where it ends a packet of which the first segment fits (`tcp_snd_wnd_test`).
    #[cold]
    fn waits_for_window(&self, len: u32, usable: u32) -> bool {
        self.config.fin_in_window && len >= usable && !self.rare.is_some_and(|r| r.fills)
    }

    /// What connections with rarely used features do before `len` bytes of new data are sent at `snd_nxt`.
    /// Returns the ECN field.
    #[inline(never)]
    fn before_new_data(&mut self, len: u32, flags: &mut Flags) -> Ecn {
        // Data confirms the reduction, a FIN alone does not (RFC 3168 §6.1.2).
        if len > 0 && self.rare.make_mut().ecn.take_cwr(self.snd_nxt) {
            *flags |= Flags::CWR;
        }
        self.spend_spurious_test_quota(len);
        if len > 0 { self.rare.ecn.codepoint() } else { Ecn::NotEct }
    }

    /// What connections with rarely used features do after new data was sent.
    #[inline(never)]
    fn after_new_data(&mut self, now: Instant, len: u32) {
        if self.rare.thin {
            self.extend_thin_timeout();
        }
        if self.config.tso {
            self.end_packet();
        }
        self.notify_sent(now, len, false);
    }

    /// How the framing policy wants the next new data to be sent, when `whole` bytes fit into a segment.
    #[cold]
    fn frame(&mut self, now: Instant, whole: u32) -> Frame {
        let v = self.view(now);
        let plain = Frame { most: whole, copies: 1 };
        let frame = self.sender.policies().framing().map_or(plain, |framing| framing.frame(&v));
        Frame { most: frame.most.clamp(1, whole), copies: frame.copies.max(1) }
    }

    /// Silly-window avoidance and Nagle's algorithm (RFC 9293 §3.8.6.2.1): `len` bytes of at most `most`
    /// could be sent now. `last`: nothing more is queued.
    fn worth_sending(&self, len: u32, most: u32, last: bool, small: Held, fin_due: bool) -> bool {
        if len == 0 {
            return false;
        }
        if mostly(len >= most) {
            return true;
        }
        if last {
            // (2): everything queued; with Nagle only while nothing is outstanding. A segment that carries
            // the FIN, and a tail loss probe, do not wait for more data.
            return fin_due
                || (!small.by_nagle || self.sends_urgent()) && !small.by_cork
                || self.sends_loss_probe();
        }
        // (3): at least half of the largest window ever advertised by the peer.
        !small.by_nagle
            && (len >= self.max_snd_wnd / 2 || self.rare.is_some_and(|r| r.fills) && !small.by_cork)
    }

    /// True when no segment is outstanding that was small when it was sent. Text of a SYN does not count: it
    /// was cut by the SYN's size, not by what was written.
    #[cold]
    fn has_no_small_outstanding(&self) -> bool {
        let outstanding = |end: SeqNumber| self.snd_una < end && end <= self.snd_nxt;
        !self.rare.is_some_and(|r| r.small_until.is_some_and(outstanding))
    }

    /// How long the connection has been idle, if that is long enough to restart the congestion window.
    #[cold]
    pub(super) fn idle_period(&self, now: Instant) -> Option<Duration> {
        let idle = now.since(match self.config.idle_since {
            IdleSince::Send => self.last_sent_at,
            IdleSince::Receive => self.last_received_at,
        });
        let after = match (self.config.idle_after, self.estimator.rtt()) {
            (IdleAfter::Rtt, Some(rtt)) => rtt.srtt,
            _ => self.timeout,
        };
        (self.config.idle_restart && self.stats.data_segments_sent > 0 && idle > after).then_some(idle)
    }

    #[cold]
    pub(super) fn restart_after_idle(&mut self, now: Instant) {
        if let Some(idle) = self.idle_period(now) {
            self.estimator.on_idle(now);
            self.update_timeout();
            let v = self.view(now);
            let control = self.sender.policies().window.on(Feedback::Idle(idle), &v);
            if control.window != self.sender.window {
                self.set_window(control.window, now);
            }
            self.set_pacing(control.pacing);
            // One restart per idle period.
            self.last_sent_at = now;
        }
    }
}
