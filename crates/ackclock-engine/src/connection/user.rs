//! The calls of an application on its connection (RFC 9293 §3.9.1). Opening and closing have files of their
//! own.

use ackclock_policy::{Feedback, Phase, ScoreboardView as _, SenderView};
use ackclock_units::{Instant, SeqRange, seldom};

use ackclock_wire::{Flags, Segment};

use super::{Connection, State};
use crate::timer::Timer;

impl Connection {
    /// Copies payload from the send buffer: `out.len()` bytes from stream position `offset`, such as that of
    /// a [`Transmit`](crate::Transmit).
    pub fn copy_payload(&self, offset: u64, out: &mut [u8]) {
        self.send.copy(offset, out);
    }

    /// Queues bytes and returns how many fitted. None are accepted before the connection is opened or after
    /// [`Connection::close`].
    pub fn write(&mut self, now: Instant, data: &[u8]) -> usize {
        if !self.may_write() {
            return 0;
        }
        let idle = self.before_write();
        let n =
            self.write_into(data.len() as u64, now, |send, limit| send.write(data, limit) as u64) as usize;
        self.write_blocked = n < data.len();
        self.data_queued(idle, now);
        n
    }

    /// Queues `n` counted bytes and returns how many fitted.
    pub fn write_counted(&mut self, now: Instant, n: u64) -> u64 {
        if !self.may_write() {
            return 0;
        }
        let idle = self.before_write();
        let taken = self.write_into(n, now, |send, limit| send.write_counted(n, limit));
        self.write_blocked = taken < n;
        self.data_queued(idle, now);
        taken
    }

    pub(super) fn may_write(&self) -> bool {
        !self.closing
            && matches!(
                self.state,
                State::SynSent | State::SynReceived | State::Established | State::CloseWait
            )
    }

    /// Data is about to be queued. Returns true when all before it was acknowledged.
    #[inline]
    fn before_write(&mut self) -> bool {
        if self.rare.is_some_and(|r| r.needs.rate_samples) {
            self.check_app_limited();
        }
        self.rare.reset(|r| r.repairs_only = false);
        self.send.len() == 0
    }

    /// Data was queued. The user timeout runs while any data is unacknowledged (RFC 9293 §3.8.3).
    fn data_queued(&mut self, was_empty: bool, now: Instant) {
        if was_empty && self.send.len() > 0 {
            self.waiting_since = now;
            if !self.config.user_timeout.is_zero() {
                self.timers.arm(Timer::User, now + self.config.user_timeout);
            }
        }
        if seldom(self.rare.is_some_and(|r| r.needs.sends)) {
            self.note_waiting_data(now);
        }
    }

    /// True when the peer has acknowledged the bytes from `from` up to `to` of all that was written,
    /// cumulatively or by SACK.
    pub fn has_arrived(&self, from: u64, to: u64) -> bool {
        let first = self.send.start();
        if to <= first {
            return true;
        }
        let base = self.first_unacked();
        let (Some(start), Ok(len)) =
            (from.max(first).checked_sub(first), u32::try_from(to - from.max(first)))
        else {
            return false;
        };
        let Ok(start) = u32::try_from(start) else { return false };
        let range = SeqRange::new(base + start, base + start + len);
        self.sender.sent.sacked().iter().any(|sacked| sacked.covers(range))
    }

    /// While held, new data is not sent, except as a tail loss probe: a world may wait for more of it, for
    /// 200 ms at most (RFC 9293 §3.8.6.2.1). Retransmissions and acks leave all the same.
    pub fn hold_new_data(&mut self, held: bool) {
        if held {
            self.rare.make_mut().held = true;
        } else {
            self.rare.reset(|r| r.held = false);
        }
    }

    /// The world holds new data back for which the congestion window has too little room: the window counts as
    /// full, although there is some (RFC 7661 §4.4 lets a window grow for which data waits).
    pub fn note_full_window(&mut self, now: Instant) {
        if self.sender.is_built() {
            let v = self.view(now);
            self.notify_use(&SenderView { pipe: v.window.cwnd, ..v }, now);
        }
    }

    /// Data that waits for room in the congestion window shows that it is in use, although nothing is sent (RFC
    /// 7661 §4.4 lets a window grow then). Called where data was written or an ack has let nothing go, for windows
    /// that are notified of what is sent.
    #[cold]
    pub(super) fn note_waiting_data(&mut self, now: Instant) {
        if !self.sender.is_built() || self.unsent() == 0 {
            return;
        }
        let v = self.view(now);
        let room = if self.repair_window().is_some() { self.sender.quota } else { v.room() };
        // What is lost goes first.
        let lost = u64::from(self.sender.sent.awaiting_retransmission());
        if room < lost + u64::from(self.smss) {
            // Less than a segment waits for it as well (`tcp_write_xmit`).
            self.notify_use(&SenderView { unsent: v.unsent.max(u64::from(self.smss)), ..v }, now);
        }
    }

    /// Notifies the window of how much of it is in use, where it counts that.
    fn notify_use(&mut self, v: &SenderView, now: Instant) {
        let needs = self.sender.policies().window.needs();
        // Windows by the delivery rate ask for more than whether they are in use.
        if needs.sends && !needs.rate_samples {
            let sent = Feedback::Sent { bytes: 0, retransmission: false, app_limited: false };
            let control = self.sender.policies().window.on(sent, v);
            if control.window != self.sender.window {
                self.set_window(control.window, now);
            }
        }
    }

    /// True for a segment with nothing but the next text or an ack, in the window that was advertised last,
    /// with no text missing and no urgent data unread: what Van Jacobson's header prediction expects.
    pub fn predicts(&self, segment: &Segment) -> bool {
        let push = Flags::PSH.0;
        self.state == State::Established
            && segment.flags.0 & !push == Flags::ACK.0
            && segment.seq == self.rcv_nxt
            && segment.ack <= self.snd_nxt
            && u32::from(segment.window) << self.snd_wnd_shift == self.snd_wnd
            && segment.options.sack.is_empty()
            && !self.receive.has_gap()
            && !self.rare.is_some_and(|r| r.fin_at.is_some())
            && self.rcv_window() > 0
            // Until urgent data is read, none is (`tcp_check_urg`).
            && self.urgent_left().is_none()
    }

    /// True for a segment whose acknowledgment is looked at: it lies inside the window, or is the last text
    /// received, and acknowledges nothing that was not sent.
    pub fn reads_ack_of(&self, segment: &Segment) -> bool {
        segment.flags.has(Flags::ACK)
            && !segment.flags.any(Flags::SYN | Flags::RST)
            && (self.is_acceptable(segment) || self.config.old_text_acks && self.is_just_old(segment))
            && self.ack_is_plausible(segment)
    }

    /// The payload of a full-sized segment that is sent now: the SMSS less the options of the moment, bytes.
    pub fn full_payload(&self, now: Instant) -> u32 {
        self.max_payload(now)
    }

    /// While it fills, a segment that the receiver's window cuts short is sent all the same, unless Nagle's
    /// algorithm or a cork holds it: a world may send it in one packet with others (RFC 9293 §3.8.6.2.1 waits
    /// for a full-sized one).
    pub fn fill_window(&mut self, fills: bool) {
        if fills {
            self.rare.make_mut().fills = true;
        } else {
            self.rare.reset(|r| r.fills = false);
        }
    }

    /// True while data above a gap is SACKed.
    pub fn has_sacked_data(&self) -> bool {
        !self.sender.sent.sacked().is_empty()
    }

    /// Bytes that the windows would let leave at once if they were written now, after what is queued or waits
    /// for retransmission. Nagle's algorithm may still hold back what does not fill a segment. A buffer that grows may
    /// take less, since it grows after a write for which it had no room.
    pub fn room(&mut self, now: Instant) -> u64 {
        if !self.may_write() || matches!(self.state, State::SynSent | State::SynReceived) {
            return 0;
        }
        self.ensure_sender(now);
        let receivers = u64::from((self.snd_una + self.snd_wnd).bytes_since(self.snd_nxt));
        let room = self.congestion_room(now).min(receivers).saturating_sub(self.unsent());
        if self.rare.is_some_and(|r| r.send_memory.is_some()) { room } else { room.min(self.writable()) }
    }

    /// New bytes that congestion control allows to be sent now.
    fn congestion_room(&self, now: Instant) -> u64 {
        if self.sender.pacer.as_ref().is_some_and(|pacer| pacer.held_until(now).is_some()) {
            return 0;
        }
        self.window_room(now)
    }

    /// The same without pacing.
    pub(super) fn window_room(&self, now: Instant) -> u64 {
        if self.sender.sent.is_empty() {
            // After an idle period the window is the restart window, which nearly always equals this (RFC
            // 5681 §4.1).
            return if self.idle_period(now).is_some() {
                self.sender.window.cwnd.min(u64::from(self.sender.initial_window))
            } else {
                self.sender.window.cwnd
            };
        }
        match self.spurious_test_quota() {
            Some(quota) => quota,
            None if self.phase == Phase::Open => self
                .sender
                .window
                .cwnd
                .saturating_sub(u64::from(self.pipe() + self.sender.sent.awaiting_retransmission())),
            None => self.sender.quota.saturating_sub(u64::from(self.sender.sent.awaiting_retransmission())),
        }
    }

    /// Reads bytes received in order.
    pub fn read(&mut self, now: Instant, out: &mut [u8]) -> usize {
        let may_take = usize::try_from(self.readable()).unwrap_or(usize::MAX).min(out.len());
        let n = self.receive.read(&mut out[..may_take]);
        self.after_read(now, n as u64);
        n
    }

    /// Reads up to `n` counted bytes.
    #[inline(always)]
    pub fn read_counted(&mut self, now: Instant, n: u64) -> u64 {
        let n = self.receive.discard(n.min(self.readable()));
        self.after_read(now, n);
        n
    }

    /// Bytes that can be read. Text on a SYN cannot be read before the connection is established, since the
    /// SYN may be an old duplicate (RFC 9293 §3.5), unless Fast Open accepted it (RFC 7413 §4.2.2).
    #[inline]
    pub fn readable(&self) -> u64 {
        if seldom(self.state == State::SynReceived) && !self.opens_early() {
            0
        } else {
            self.receive.readable()
        }
    }

    /// Bytes written and not acknowledged.
    pub fn unacked(&self) -> u64 {
        self.send.len()
    }

    /// Memory of the send and receive buffers, bytes; 0 with counted bytes.
    pub fn held_bytes(&self) -> u64 {
        self.send.held() + self.receive.held()
    }

    /// Approximate memory of the lists that grow with what is outstanding or waits behind a gap, bytes. The
    /// lists of policies are assumed to be as long as the list of segments.
    pub fn list_bytes(&self) -> u64 {
        let lost = (self.sender.lost.capacity() * size_of::<SeqRange>()) as u64;
        2 * self.sender.sent.held_bytes() + lost + self.receive.list_bytes()
    }

    /// True when the peer has sent all that it has to send, read or not.
    pub fn peer_has_closed(&self) -> bool {
        self.fin_received
    }

    /// True when the peer's FIN was received and everything before it has been read.
    pub fn at_end(&self) -> bool {
        self.fin_received && self.receive.readable() == 0
    }

    /// While corked, only full segments are sent.
    pub fn set_cork(&mut self, _now: Instant, corked: bool) {
        self.corked = corked;
    }
}
