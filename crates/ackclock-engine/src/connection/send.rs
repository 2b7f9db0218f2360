//! What is sent, and in which order: resets, SYNs, retransmissions, new data, probes, acknowledgments.

use ackclock_policy::{Ecn, Phase, TimerEvent};
use ackclock_trace::{EventKind, LossClass, Mask, SendKind};
use ackclock_units::{Instant, SeqNumber, mostly, seldom};
use ackclock_wire::Flags;

use super::sender::BuiltSender;
use super::{Connection, State, Transmit};

impl Connection {
    /// The next segment to send, if any. Call until `None` after every other call.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        // By reference: a segment is large enough that moving it costs measurable time.
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
        if self.rare.is_some_and(|r| {
            r.reset.is_some() || r.loss_probe.is_some() || r.forged.is_some() || r.ack_first.is_some()
        }) && let Some(transmit) = self.transmit_priority(now)
        {
            return Some(transmit);
        }
        if mostly(self.state.is_synchronized()) {
            let mut transmit = self.transmit_data(now);
            if self.rare.is_some_and(|r| r.skip_test.is_some()) {
                transmit = self.apply_skip_test(now, transmit);
            }
            if transmit.is_some() {
                return transmit;
            }
        } else if matches!(self.state, State::Closed | State::Listen) {
            return None;
        } else if std::mem::take(&mut self.pending.syn) {
            return Some(self.transmit_syn(now));
        } else if self.state == State::SynReceived
            && self.opens_early()
            && let Some(transmit) = self.transmit_early_data(now)
        {
            return Some(transmit);
        }
        if seldom(self.pending.window_probe | self.pending.keepalive)
            && let Some(transmit) = self.transmit_probe_or_keepalive(now)
        {
            return Some(transmit);
        }
        (self.pending.ack && self.state != State::SynSent).then(|| self.transmit_ack(now))
    }

    /// Data before the handshake ends, as Fast Open allows (RFC 7413 §4.2.2).
    #[cold]
    #[inline(never)]
    fn transmit_early_data(&mut self, now: Instant) -> Option<Transmit> {
        self.transmit_data(now)
    }

    /// What is sent before everything else: a reset, an ack that must not wait, forged acks of a misbehaving
    /// receiver, or a tail loss probe.
    #[cold]
    fn transmit_priority(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(segment) = self.rare.take(|r| &mut r.reset).map(|s| *s) {
            return Some(Transmit {
                segment,
                offset: 0,
                kind: SendKind::Reset,
                retransmission: false,
                ecn: Ecn::NotEct,
            });
        }
        let ack_first = self.rare.take(|r| &mut r.ack_first);
        if let Some(segment) = ack_first.filter(|_| self.state.is_synchronized()) {
            let (offset, retransmission) = (0, false);
            return Some(Transmit { segment, offset, kind: SendKind::Ack, retransmission, ecn: Ecn::NotEct });
        }
        if let Some(ack) = self.transmit_forged(now) {
            return Some(ack);
        }
        let range = self.rare.loss_probe?;
        let again = range.start < self.snd_nxt;
        // The probe is cleared only after this call, which sends even a small segment while a probe is
        // pending.
        let transmit = if again {
            self.retransmit_segment(now, range.start)
        } else {
            self.transmit_new(now, u64::from(self.smss))
        };
        self.rare.reset(|r| r.loss_probe = None);
        self.stats.tail_loss_probes += u32::from(transmit.is_some());
        Some(Transmit { kind: SendKind::TailLossProbe { again }, ..transmit? })
    }

    /// True while a tail loss probe is on its way out.
    pub(super) fn sends_loss_probe(&self) -> bool {
        self.rare.is_some_and(|r| r.loss_probe.is_some())
    }

    /// A copy, a retransmission or new data, if the windows and pacing allow one.
    #[inline(always)]
    pub(super) fn transmit_data(&mut self, now: Instant) -> Option<Transmit> {
        if !self.sender.is_built() {
            // Nothing was sent so far.
            if mostly(self.send.len() == 0 && !self.fin_is_due()) {
                return None;
            }
            self.ensure_sender(now);
        }
        if seldom(self.sender.pacer.is_some()) && self.is_held_by_pacing(now) {
            return None;
        }
        if self.rare.is_allocated() {
            if seldom(self.rare.reneged) {
                let quota = if self.phase == Phase::Open { self.view(now).room() } else { self.sender.quota };
                return if self.rare.held { None } else { self.transmit_new(now, quota) };
            }
            if seldom(self.rare.held | self.rare.repairs_only) && !self.sender.sent.has_lost() {
                return None;
            }
            if self.rare.copies.is_some()
                && let Some(copy) = self.transmit_copy(now)
            {
                return Some(copy);
            }
        }
        // With nothing outstanding there is nothing to repair, in any phase: only the windows count, and a
        // closed window has to be probed.
        let sender = &*self.sender;
        if mostly(self.phase == Phase::Open && !sender.sent.has_lost()) || sender.sent.is_empty() {
            // Checked before the windows: an end that only receives has nothing to send.
            let (unsent, fin_due) = (self.unsent(), self.fin_is_due());
            if unsent == 0 && !fin_due {
                return None;
            }
            let room = if seldom(self.phase != Phase::Open) && self.is_held_while_idle() {
                sender.quota.max(u64::from(self.smss))
            } else {
                sender.window.cwnd.saturating_sub(u64::from(self.pipe()))
            };
            return self.transmit_waiting(now, room, unsent, fin_due);
        }
        if let Some(quota) = self.spurious_test_quota() {
            return self.transmit_new(now, quota);
        }
        let v = self.view(now);
        let quota = if self.phase == Phase::Open { v.room() } else { self.sender.quota };
        let BuiltSender { policies, state } = self.sender.split_mut();
        let Some(range) = policies.recovery.next_seg(&state.sent, &v) else {
            // Nothing to repair and no data: a FIN may still be due. Or the receiver's window cuts a segment short
            // that its packet may hold.
            let fills = self.rare.is_some_and(|r| r.fills);
            return if self.unsent() == 0 || fills { self.transmit_new(now, quota) } else { None };
        };
        let enough = seldom(self.config.repair_by_count) && !self.sender.sent.lacks_retransmissions();
        if range.start >= self.snd_nxt || enough {
            if seldom(self.rare.is_some_and(|r| r.repairs_only)) {
                return None;
            }
            return self.transmit_new(now, quota);
        }
        let fin = u32::from(self.fin_sent && range.end == self.snd_nxt);
        if self.phase != Phase::Open && self.sender.quota < self.cost((range.len() - fin).min(self.smss)) {
            return None;
        }
        self.retransmit_segment(now, range.start)
    }

    /// Retransmits the segment at `seq`.
    fn retransmit_segment(&mut self, now: Instant, seq: SeqNumber) -> Option<Transmit> {
        let most = self.max_payload(now);
        self.retransmit_up_to(now, seq, most)
    }

    /// Retransmits the segment at `seq`, at most `most` bytes of it.
    #[inline(never)]
    pub(super) fn retransmit_up_to(
        &mut self,
        now: Instant,
        seq: SeqNumber,
        mut most: u32,
    ) -> Option<Transmit> {
        if seldom(self.config.repair_in_window) {
            let end = self.snd_una + self.snd_wnd;
            if seq < end {
                most = most.min(end.bytes_since(seq));
            } else if seq != self.snd_una {
                return None;
            }
        }
        let (range, fin) = self.sender.make_mut().sent.retransmit(seq, most, now)?;
        let uncounted = seldom(!self.config.probe_in_flight) && self.sends_loss_probe();
        if uncounted {
            self.sender.make_mut().sent.uncount_retransmission(range.start);
        }
        self.cancel_timing();
        self.note_lost_test(range.start);
        self.note_retransmission(range.end);
        if self.rare.is_some_and(|r| r.copies.is_some()) {
            self.forget_copies_of(range);
        }
        if self.rare.is_some_and(|r| r.skip_test.is_some()) {
            self.note_skipped_retransmission(range);
        }
        let len = range.len() - u32::from(fin);
        // What does not count as in the network takes no room in the window, either.
        if mostly(!uncounted) {
            self.sender.make_mut().quota = self.sender.quota.saturating_sub(self.cost(len));
        }
        let v = self.view(now);
        self.sender.policies().recovery.on_retransmit(range, &v);
        if self.sender.policies().undo.examines_episodes() {
            self.note_suspect_retransmission(now, range, &v);
        }
        if len > 0 {
            self.stats.retransmitted_segments += 1;
            self.stats.retransmitted_bytes += u64::from(len);
        }
        let by_timeout =
            self.phase == Phase::Loss && self.sender.episode.is_some_and(|e| e.class == LossClass::NonCa);
        if !self.sends_loss_probe()
            && let Some(e) = &mut self.sender.make_mut().episode
        {
            e.retransmissions += 1;
            // The first retransmission belongs to the signal itself; the rest are "other losses" (M-U1).
            self.stats.other_losses += u32::from(e.retransmissions > 1);
        }
        self.last_sent_at = now;
        let v = self.view(now);
        self.run_retransmission_timer(now, TimerEvent::Sent { retransmission: true }, &v);
        self.sender.make_mut().pace(now, len);
        self.notify_sent(now, len, true);
        let offset = self.position(range.start);
        let flags = if fin { Flags::ACK | Flags::FIN } else { Flags::ACK };
        // The text of a SYN ended what could be written then.
        let last = offset + u64::from(len) == self.send.end() || self.end_of_syn_text() == Some(range.end);
        let push = if len > 0 && last { Flags::PSH } else { Flags::default() };
        let segment = self.segment(now, range.start, len, flags | push);
        let kind = if by_timeout { SendKind::TimeoutRetransmit } else { SendKind::FastRetransmit };
        Some(Transmit { segment, offset, kind, retransmission: true, ecn: Ecn::NotEct })
    }

    /// A pure acknowledgment.
    pub(super) fn transmit_ack(&mut self, now: Instant) -> Transmit {
        let segment = self.segment(now, self.seq_of_acks(), 0, Flags::ACK);
        Transmit { segment, offset: 0, kind: SendKind::Ack, retransmission: false, ecn: Ecn::NotEct }
    }

    /// The sequence number of what carries no text: SND.NXT (RFC 9293 §3.10.7.4), or no more than the end of a
    /// shrunk window, unless that is the rounding of its scale (`tcp_acceptable_seq`).
    #[inline]
    pub(super) fn seq_of_acks(&self) -> SeqNumber {
        if mostly(!self.config.acks_in_window) {
            return self.snd_nxt;
        }
        let end = self.snd_una + self.snd_wnd;
        let beyond = self.snd_nxt.bytes_since(end);
        if beyond < 1 << self.rcv_wnd_shift { self.snd_nxt } else { end }
    }
}
