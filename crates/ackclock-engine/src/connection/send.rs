//! What goes out: resets, SYNs, retransmissions, new data, probes, acknowledgments.

use ackclock_policy::{Ecn, Feedback, Frame, Phase, TimerEvent};
use ackclock_trace::{EventKind, LossClass, Mask, SendKind};
use ackclock_units::{Bytes, Duration, Instant, SeqNumber, SeqRange, mostly, seldom};
use ackclock_wire::Flags;

use super::sender::Sending;
use super::{Connection, State, Transmit};
use crate::timer::Timer;
use crate::{IdleAfter, IdleSince, RttSampling};

impl Connection {
    /// The next segment to send, if any. Call until `None` after every other call.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        // Looked at where it lies: a segment is large enough for its being moved to show.
        let transmit = self.next_transmit(now);
        if let Some(Transmit { segment, kind, .. }) = &transmit {
            self.stats.segments_sent += 1;
            if segment.len > 0 {
                self.stats.data_segments_sent += 1;
                self.stats.bytes_sent += u64::from(segment.len);
            }
            self.trace(Mask::PACKETS, now, || EventKind::Sent {
                kind: *kind,
                seq: segment.seq,
                len: segment.len,
                ack: segment.ack,
            });
        }
        transmit
    }

    #[inline(always)]
    fn next_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if self.rare.says(|r| {
            r.reset.is_some() || r.loss_probe.is_some() || r.forged.is_some() || r.ecn.has_ack_first()
        }) && let Some(transmit) = self.transmit_first(now)
        {
            return Some(transmit);
        }
        if mostly(self.state.is_synchronized()) {
            let mut transmit = self.transmit_data(now);
            if self.rare.says(|r| r.skip_test.is_some()) {
                transmit = self.test_by_skipping(now, transmit);
            }
            if transmit.is_some() {
                return transmit;
            }
        } else if matches!(self.state, State::Closed | State::Listen) {
            return None;
        } else if std::mem::take(&mut self.pending.syn) {
            return Some(self.transmit_syn(now));
        }
        if seldom(self.pending.window_probe | self.pending.keepalive)
            && let Some(transmit) = self.transmit_question(now)
        {
            return Some(transmit);
        }
        (self.pending.ack && self.state != State::SynSent).then(|| self.transmit_ack(now))
    }

    /// What asks the peer for an answer: a window probe, or a keepalive.
    #[cold]
    fn transmit_question(&mut self, now: Instant) -> Option<Transmit> {
        if std::mem::take(&mut self.pending.window_probe)
            && let Some(t) = self.transmit_probe(now)
        {
            return Some(t);
        }
        std::mem::take(&mut self.pending.keepalive).then(|| {
            // A sequence number already acknowledged provokes an answer (RFC 9293 §3.8.4).
            let mut t = self.transmit_ack(now);
            t.segment.seq = self.snd_nxt - 1;
            t.kind = SendKind::Keepalive;
            t
        })
    }

    /// What goes before everything else: a reset, acks of a receiver that cheats, or a probe.
    #[cold]
    fn transmit_first(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(segment) = self.rare.take(|r| &mut r.reset).map(|s| *s) {
            return Some(Transmit {
                segment,
                offset: 0,
                kind: SendKind::Reset,
                retransmission: false,
                ecn: Ecn::NotEct,
            });
        }
        if let Some(segment) = self.take_ack_first() {
            let (offset, retransmission) = (0, false);
            return Some(Transmit { segment, offset, kind: SendKind::Ack, retransmission, ecn: Ecn::NotEct });
        }
        if let Some(ack) = self.transmit_forged(now) {
            return Some(ack);
        }
        let range = self.rare.loss_probe?;
        let again = range.start < self.snd_nxt;
        // New data is sent however little it is, so the probe is forgotten only then.
        let transmit = if again {
            self.transmit_again(now, range.start)
        } else {
            self.transmit_new(now, u64::from(self.smss))
        };
        self.rare.reset(|r| r.loss_probe = None);
        self.stats.tail_loss_probes += u32::from(transmit.is_some());
        Some(Transmit { kind: SendKind::TailLossProbe { again }, ..transmit? })
    }

    #[inline(always)]
    pub(super) fn transmit_data(&mut self, now: Instant) -> Option<Transmit> {
        if !self.sender.is_made() {
            if mostly(self.unsent() == 0 && !self.fin_is_due()) {
                return None;
            }
            self.be_ready(now);
        }
        if self.rare.is_changed() {
            if self.rare.pacer.is_some() && self.is_held_by_pacing(now) {
                return None;
            }
            if self.rare.copies.is_some()
                && let Some(copy) = self.transmit_copy(now)
            {
                return Some(copy);
            }
        }
        // With nothing outstanding there is nothing to repair, whatever the phase: only the windows count,
        // and a closed one needs its probe.
        let sender = &*self.sender;
        if mostly(self.phase == Phase::Open && !sender.sent.has_lost()) || sender.sent.is_empty() {
            // Asked before the windows: an end that only receives has nothing.
            if self.unsent() == 0 && !self.fin_is_due() {
                return None;
            }
            let room = sender.window.cwnd.saturating_sub(u64::from(self.pipe()));
            return self.transmit_new(now, room);
        }
        if let Some(quota) = self.probing_quota() {
            return self.transmit_new(now, quota);
        }
        let v = self.view(now);
        let quota = if self.phase == Phase::Open { v.room() } else { self.sender.quota };
        let Sending { policies, state } = self.sender.both();
        let Some(range) = policies.recovery.next_seg(&state.sent, &v) else {
            // Nothing to repair and no data: a FIN may still be due.
            return if self.unsent() == 0 { self.transmit_new(now, quota) } else { None };
        };
        if range.start >= self.snd_nxt {
            return self.transmit_new(now, quota);
        }
        let fin = u32::from(self.fin_sent && range.end == self.snd_nxt);
        if self.phase != Phase::Open && self.sender.quota < u64::from((range.len() - fin).min(self.smss)) {
            return None;
        }
        self.transmit_again(now, range.start)
    }

    /// New data, when the congestion window leaves `room`, the receiver's window allows it and it is worth a
    /// segment (RFC 9293 §3.8.6.2.1, §3.7.4).
    #[inline(always)]
    fn transmit_new(&mut self, now: Instant, room: Bytes) -> Option<Transmit> {
        let (unsent, fin_due) = (self.unsent(), self.fin_is_due());
        if unsent == 0 && !fin_due {
            return None;
        }
        let idle = self.snd_nxt == self.snd_una;
        if !idle
            && room < u64::from(self.smss)
            && unsent >= u64::from(self.smss)
            && mostly(self.sender.policies().frames_plainly())
        {
            // The usual end of a burst, found out cheaply: no room for the full segment that waits. (SACK
            // blocks may make it a little shorter.)
            return None;
        }
        self.transmit_unsent(now, room, unsent, fin_due)
    }

    /// True when a FIN is to follow the last byte and was not sent.
    #[inline]
    pub(super) fn fin_is_due(&self) -> bool {
        seldom(self.closing) && !self.fin_sent && self.state != State::SynReceived
    }

    /// The same, when so much is `unsent`, or a FIN due.
    #[inline(never)]
    fn transmit_unsent(
        &mut self,
        now: Instant,
        room: Bytes,
        unsent: Bytes,
        fin_due: bool,
    ) -> Option<Transmit> {
        let idle = self.snd_nxt == self.snd_una;
        if seldom(idle) && self.config.idle_restart && self.stats.data_segments_sent > 0 {
            self.restart_after_idle(now);
        }
        let whole = self.most(now);
        let Sending { policies, state } = self.sender.both();
        let room = if idle { room.max(state.window.cwnd) } else { room };
        let Frame { most, copies } = if seldom(!policies.frames_plainly()) && unsent > 0 {
            self.frame(now, whole)
        } else {
            Frame { most: whole, copies: 1 }
        };
        let usable = (self.snd_una + self.snd_wnd).bytes_since(self.snd_nxt);
        let len = unsent.min(u64::from(most)).min(u64::from(usable)) as u32;
        let last = u64::from(len) == unsent;
        // Nagle's algorithm leaves data alone that was made small on purpose.
        let at_once = idle || !self.config.nagle || most < whole;
        if unsent > 0 && !self.worth_sending(len, most, last, at_once, fin_due) {
            if self.sender.sent.is_empty() && usable < most && unsent > u64::from(usable) {
                self.arm_persist(now);
            } else if self.sender.sent.is_empty() && self.corked {
                self.arm_cork(now);
            }
            return None;
        }
        if seldom(room < u64::from(len)) {
            return None;
        }
        let fin = fin_due && last;
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
        let ecn = if self.rare.is_changed() { self.note_new(now, len, &mut flags) } else { Ecn::NotEct };
        let sender = self.sender.make();
        sender.sent.push(seq, len + u32::from(fin), fin, now);
        sender.quota = sender.quota.saturating_sub(u64::from(len));
        self.snd_nxt = seq + len + u32::from(fin);
        self.last_sent_at = now;
        if seldom(self.config.rtt_sampling == RttSampling::OncePerRtt) && self.rare.timed.is_none() {
            self.rare.make().timed = Some((self.snd_nxt, now));
        }
        if self.rare.is_changed() {
            self.new_data_left(now, len);
        }
        if seldom(!self.timers.is_armed(Timer::Retransmission)) {
            if idle {
                self.waiting_since = now;
            }
            let v = self.view(now);
            self.run_retransmission_timer(now, TimerEvent::Sent { retransmission: false }, &v);
            if self.stats.data_segments_sent == 0 && self.sender.policies().recovery.is_time_based() {
                self.sender.make().sent.keep_deliveries();
            }
        }
        if self.sender.sent.keeps_deliveries() {
            self.plan_recovery(now);
        }
        if copies > 1 && len > 0 && !fin {
            self.plan_copies(now, SeqRange::new(seq, self.snd_nxt), copies, room);
        }
        let segment = self.segment(now, seq, len, flags);
        Some(Transmit { segment, offset, kind: SendKind::New, retransmission: false, ecn })
    }

    /// What few connections have to do with `len` bytes of new data that leave at `snd_nxt`: answers their
    /// ECN field.
    #[inline(never)]
    fn note_new(&mut self, now: Instant, len: u32, flags: &mut Flags) -> Ecn {
        if self.rare.make().ecn.says_cwr(self.snd_nxt) {
            *flags |= Flags::CWR;
        }
        self.spend_probing_quota(len);
        self.pace(now, len);
        if len > 0 { self.rare.ecn.codepoint() } else { Ecn::NotEct }
    }

    /// What few connections do when new data has left.
    #[inline(never)]
    fn new_data_left(&mut self, now: Instant, len: u32) {
        if self.rare.thin {
            self.leave_thin_floor();
        }
        self.report_sending(now, len, false);
    }

    /// How the next new data leaves, of which `whole` bytes fit into a segment.
    #[cold]
    fn frame(&mut self, now: Instant, whole: u32) -> Frame {
        let v = self.view(now);
        let plain = Frame { most: whole, copies: 1 };
        let frame = self.sender.policies().framing().map_or(plain, |framing| framing.frame(&v));
        Frame { most: frame.most.clamp(1, whole), copies: frame.copies.max(1) }
    }

    /// Silly-window avoidance and Nagle's algorithm (RFC 9293 §3.8.6.2.1): `len` bytes of at most `most`
    /// could go now; `last` when nothing more is queued, `at_once` when nothing is outstanding or Nagle's
    /// algorithm does not apply.
    fn worth_sending(&self, len: u32, most: u32, last: bool, at_once: bool, fin_due: bool) -> bool {
        if len == 0 {
            return false;
        }
        if mostly(len >= most) {
            return true;
        }
        if last {
            // (2): everything queued; with Nagle only while nothing is outstanding. What a FIN follows need
            // not wait for more, nor does a probe.
            return fin_due || (at_once && !self.corked) || self.rare.says(|r| r.loss_probe.is_some());
        }
        // (3): half of the largest window ever offered.
        at_once && len >= self.max_snd_wnd / 2
    }

    /// How long nothing was sent, when that makes the window start anew.
    #[cold]
    pub(super) fn idled(&self, now: Instant) -> Option<Duration> {
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
    fn restart_after_idle(&mut self, now: Instant) {
        if let Some(idle) = self.idled(now) {
            let v = self.view(now);
            let control = self.sender.policies().window.on(Feedback::Idle(idle), &v);
            if control.window != self.sender.window {
                self.set_window(control.window, now);
            }
            self.set_pacing(control.pacing, now);
            // One restart per idle period.
            self.last_sent_at = now;
        }
    }

    /// Sends the segment at `seq` again.
    #[inline(never)]
    fn transmit_again(&mut self, now: Instant, seq: SeqNumber) -> Option<Transmit> {
        let most = self.most(now);
        let (range, fin) = self.sender.make().sent.retransmit(seq, most, now)?;
        self.stop_timing();
        self.note_lost_test(range.start);
        self.watch_retransmission(range.end);
        if self.rare.says(|r| r.copies.is_some()) {
            self.forget_copies_of(range);
        }
        if self.rare.says(|r| r.skip_test.is_some()) {
            self.sent_anyway(range);
        }
        let len = range.len() - u32::from(fin);
        self.sender.make().quota = self.sender.quota.saturating_sub(u64::from(len));
        let v = self.view(now);
        self.sender.policies().recovery.on_retransmit(range, &v);
        if len > 0 {
            self.stats.retransmitted_segments += 1;
            self.stats.retransmitted_bytes += u64::from(len);
        }
        let by_timeout =
            self.phase == Phase::Loss && self.sender.episode.is_some_and(|e| e.class == LossClass::NonCa);
        if let Some(e) =
            self.sender.make().episode.as_mut().filter(|_| !self.rare.says(|r| r.loss_probe.is_some()))
        {
            e.retransmissions += 1;
            // The first retransmission belongs to the signal itself; the rest are "other losses" (M-U1).
            self.stats.other_losses += u32::from(e.retransmissions > 1);
        }
        self.last_sent_at = now;
        let v = self.view(now);
        self.run_retransmission_timer(now, TimerEvent::Sent { retransmission: true }, &v);
        self.pace(now, len);
        self.report_sending(now, len, true);
        let offset = self.position(range.start);
        let flags = if fin { Flags::ACK | Flags::FIN } else { Flags::ACK };
        let push =
            if len > 0 && offset + u64::from(len) == self.send.end() { Flags::PSH } else { Flags::default() };
        let segment = self.segment(now, range.start, len, flags | push);
        let kind = if by_timeout { SendKind::TimeoutRetransmit } else { SendKind::FastRetransmit };
        Some(Transmit { segment, offset, kind, retransmission: true, ecn: Ecn::NotEct })
    }

    /// One byte beyond a closed window, or what a narrow one takes (RFC 9293 §3.8.6.1, and the override of
    /// §3.8.6.2.1).
    #[cold]
    fn transmit_probe(&mut self, now: Instant) -> Option<Transmit> {
        let again = self.probe_outstanding;
        if !again && (!self.sender.sent.is_empty() || self.unsent() == 0) {
            return None;
        }
        let usable = (self.snd_una + self.snd_wnd).bytes_since(self.snd_nxt);
        let (seq, len) = if again {
            (self.snd_una, self.flight_size())
        } else {
            let len = u64::from(usable.max(1)).min(self.unsent()).min(u64::from(self.most(now))) as u32;
            (self.snd_nxt, len)
        };
        let offset = self.position(seq);
        if again {
            self.sender.make().sent.retransmit(seq, len, now)?;
        } else {
            self.sender.make().sent.push(seq, len, false, now);
            self.snd_nxt = seq + len;
            self.last_sent_at = now;
        }
        if !again && usable > 0 {
            // Inside the window after all: ordinary data from here on.
            let v = self.view(now);
            self.run_retransmission_timer(now, TimerEvent::Sent { retransmission: false }, &v);
        } else {
            self.probe_outstanding = true;
            self.arm_persist(now);
        }
        let segment = self.segment(now, seq, len, Flags::ACK | Flags::PSH);
        Some(Transmit {
            segment,
            offset,
            kind: SendKind::WindowProbe,
            retransmission: again,
            ecn: Ecn::NotEct,
        })
    }

    pub(super) fn transmit_ack(&mut self, now: Instant) -> Transmit {
        let segment = self.segment(now, self.snd_nxt, 0, Flags::ACK);
        Transmit { segment, offset: 0, kind: SendKind::Ack, retransmission: false, ecn: Ecn::NotEct }
    }
}
