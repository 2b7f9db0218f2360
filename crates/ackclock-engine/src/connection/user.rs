//! What an application asks of its connection (RFC 9293 §3.9.1); opening and closing have files of their own.

use ackclock_policy::{Phase, ScoreboardView as _};
use ackclock_units::{Instant, SeqRange, seldom};

use super::{Connection, State};
use crate::timer::Timer;

impl Connection {
    /// Copies payload from the send buffer: `out.len()` bytes from stream position `offset` (those of a
    /// [`Transmit`] are there).
    pub fn copy_payload(&self, offset: u64, out: &mut [u8]) {
        self.send.copy(offset, out);
    }

    /// Queues bytes; returns how many fitted. Nothing is taken before the connection is opened or after
    /// [`Connection::close`].
    pub fn write(&mut self, now: Instant, data: &[u8]) -> usize {
        if !self.may_write() {
            return 0;
        }
        let idle = self.send.len() == 0;
        let n = self.send.write(data, self.config.snd_buf);
        self.write_blocked = n < data.len();
        self.data_queued(idle, now);
        n
    }

    /// Queues `n` bytes that are counted only; returns how many fitted.
    pub fn write_counted(&mut self, now: Instant, n: u64) -> u64 {
        if !self.may_write() {
            return 0;
        }
        let idle = self.send.len() == 0;
        let taken = self.send.write_counted(n, self.config.snd_buf);
        self.write_blocked = taken < n;
        self.data_queued(idle, now);
        taken
    }

    fn may_write(&self) -> bool {
        !self.closing
            && matches!(
                self.state,
                State::SynSent | State::SynReceived | State::Established | State::CloseWait
            )
    }

    /// The user timeout runs while anything waits (RFC 9293 §3.8.3).
    fn data_queued(&mut self, was_empty: bool, now: Instant) {
        if was_empty && self.send.len() > 0 {
            self.waiting_since = now;
            if !self.config.user_timeout.is_zero() {
                self.timers.arm(Timer::User, now + self.config.user_timeout);
            }
        }
    }

    /// Room in the send buffer.
    pub fn writable(&self) -> u64 {
        if self.may_write() { self.config.snd_buf.saturating_sub(self.send.len()) } else { 0 }
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

    /// True while the peer tells of arrivals above something that is missing.
    pub fn holds_sacks(&self) -> bool {
        !self.sender.sent.sacked().is_empty()
    }

    /// Bytes that would leave at once if they were written now, as far as the windows go: what was written
    /// and waits, or is to be sent again, comes first. Nagle's algorithm may still hold back what makes no
    /// full segment.
    pub fn room(&mut self, now: Instant) -> u64 {
        if !self.may_write() || matches!(self.state, State::SynSent | State::SynReceived) {
            return 0;
        }
        self.be_ready(now);
        let receivers = u64::from((self.snd_una + self.snd_wnd).bytes_since(self.snd_nxt));
        self.congestion_room(now).min(receivers).saturating_sub(self.unsent()).min(self.writable())
    }

    /// New bytes that congestion control lets go now.
    fn congestion_room(&self, now: Instant) -> u64 {
        if self.rare.says(|r| r.pacer.as_ref().is_some_and(|p| p.held_until(now).is_some())) {
            return 0;
        }
        if self.sender.sent.is_empty() {
            // After an idle period the window is the restart window, which is rarely another than this (RFC
            // 5681 §4.1).
            return if self.idled(now).is_some() {
                self.sender.window.cwnd.min(u64::from(self.sender.initial_window))
            } else {
                self.sender.window.cwnd
            };
        }
        match self.probing_quota() {
            Some(quota) => quota,
            None if self.phase == Phase::Open => {
                self.sender.window.cwnd.saturating_sub(u64::from(self.pipe() + self.sender.sent.to_resend()))
            }
            None => self.sender.quota.saturating_sub(u64::from(self.sender.sent.to_resend())),
        }
    }

    /// Takes bytes received in order.
    pub fn read(&mut self, _now: Instant, out: &mut [u8]) -> usize {
        let may_take = usize::try_from(self.readable()).unwrap_or(usize::MAX).min(out.len());
        let n = self.receive.read(&mut out[..may_take]);
        self.after_read(n as u64);
        n
    }

    /// Takes up to `n` counted bytes.
    #[inline(always)]
    pub fn read_counted(&mut self, _now: Instant, n: u64) -> u64 {
        let n = self.receive.discard(n.min(self.readable()));
        self.after_read(n);
        n
    }

    /// Bytes that can be read. What came with a SYN is not before the connection is established (RFC 9293
    /// §3.5): the SYN may be an old one.
    #[inline]
    pub fn readable(&self) -> u64 {
        if seldom(self.state == State::SynReceived) { 0 } else { self.receive.readable() }
    }

    /// Bytes written and not acknowledged.
    pub fn unacked(&self) -> u64 {
        self.send.len()
    }

    /// Memory that what was written and what has arrived take; nothing for counted bytes.
    pub fn held_bytes(&self) -> u64 {
        self.send.held() + self.receive.held()
    }

    /// Memory that its lists take, which grow with what is outstanding or waits behind a gap: about, since
    /// those of its policies are taken to be as long as the list of segments.
    pub fn list_bytes(&self) -> u64 {
        let lost = (self.sender.lost.capacity() * size_of::<SeqRange>()) as u64;
        2 * self.sender.sent.held_bytes() + lost + self.receive.list_bytes()
    }

    /// True when the peer's FIN was received and everything before it was read.
    pub fn at_end(&self) -> bool {
        self.fin_received && self.receive.readable() == 0
    }

    /// While corked, only full segments are sent.
    pub fn set_cork(&mut self, _now: Instant, corked: bool) {
        self.corked = corked;
    }
}
