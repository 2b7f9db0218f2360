//! Segments that make the peer reply: window probes and keepalives, and their timers.

use ackclock_policy::{Ecn, TimerEvent};
use ackclock_trace::SendKind;
use ackclock_units::{Duration, Instant};
use ackclock_wire::{Flags, Segment};

use super::{Connection, Transmit};
use crate::AbortReason;
use crate::timer::Timer;

/// How long a cork holds a small segment: Linux's ceiling (tcp(7), TCP_CORK).
const MAX_CORK: Duration = Duration::from_millis(200);

/// RFC 9293 §3.8.6.1 leaves the longest interval between window probes open; a minute is usual.
const MAX_PROBE_INTERVAL: Duration = Duration::from_secs(60);

impl Connection {
    /// A pending window probe or keepalive.
    #[cold]
    pub(super) fn transmit_probe_or_keepalive(&mut self, now: Instant) -> Option<Transmit> {
        if std::mem::take(&mut self.pending.window_probe)
            && let Some(t) = self.transmit_window_probe(now)
        {
            return Some(t);
        }
        std::mem::take(&mut self.pending.keepalive).then(|| {
            // A sequence number that is already acknowledged makes the peer reply with an ack (RFC 9293
            // §3.8.4).
            let mut t = self.transmit_ack(now);
            t.segment.seq = self.snd_nxt - 1;
            t.kind = SendKind::Keepalive;
            t
        })
    }

    /// A window probe: one byte beyond a closed window, or what a small window takes (RFC 9293 §3.8.6.1, and
    /// the override timeout of §3.8.6.2.1).
    #[cold]
    fn transmit_window_probe(&mut self, now: Instant) -> Option<Transmit> {
        let again = self.probe_outstanding;
        let waits = self.unsent() > 0 || self.fin_is_due();
        if !again && (!self.sender.sent.is_empty() || !waits) {
            return None;
        }
        let usable = (self.snd_una + self.snd_wnd).bytes_since(self.snd_nxt);
        // A FIN that waits for the window is probed for without text.
        if (!self.config.probe_data || self.unsent() == 0) && !again && usable == 0 {
            self.arm_persist(now);
            let mut t = self.transmit_ack(now);
            t.segment.seq = self.snd_una - 1;
            t.kind = SendKind::WindowProbe;
            return Some(t);
        }
        let (seq, len) = if again {
            (self.snd_una, self.flight_size())
        } else {
            let len =
                u64::from(usable.max(1)).min(self.unsent()).min(u64::from(self.max_payload(now))) as u32;
            (self.snd_nxt, len)
        };
        let offset = self.position(seq);
        let mut flags = Flags::ACK | Flags::PSH;
        // Data inside the window confirms a reduction, as any new data (RFC 3168 §6.1.2).
        if !again && usable > 0 && self.rare.is_allocated() && self.rare.make_mut().ecn.take_cwr(seq) {
            flags |= Flags::CWR;
        }
        if again {
            self.sender.make_mut().sent.retransmit(seq, len, now)?;
        } else {
            self.sender.make_mut().sent.push(seq, len, false, now);
            self.snd_nxt = seq + len;
            self.last_sent_at = now;
        }
        if !again && usable > 0 {
            // The data lies inside the window, so from here on it is ordinary data.
            let v = self.view(now);
            self.run_retransmission_timer(now, TimerEvent::Sent { retransmission: false }, &v);
        } else {
            self.probe_outstanding = true;
            self.arm_persist(now);
        }
        let segment = self.segment(now, seq, len, flags);
        // A probe of a closed window is not ECN-capable, new data inside the window is (RFC 3168 §6.1.6).
        let ecn = if !again && usable > 0 && self.rare.is_allocated() {
            self.rare.ecn.codepoint()
        } else {
            Ecn::NotEct
        };
        Some(Transmit { segment, offset, kind: SendKind::WindowProbe, retransmission: again, ecn })
    }

    /// The window has opened after probes. Unless it was acknowledged, the probe's byte was discarded by the
    /// receiver: it is removed from the scoreboard, to be sent again in a full segment.
    #[cold]
    pub(super) fn window_opened(&mut self, segment: &Segment) {
        self.rare.reset(|r| r.probes = 0);
        self.timers.disarm(Timer::Persist);
        if std::mem::take(&mut self.probe_outstanding)
            && segment.ack < self.snd_nxt
            && self.flight_size() == 1
        {
            self.sender.make_mut().sent.pop_back();
            self.snd_nxt = self.snd_nxt - 1;
            self.rare.make_mut().withdrawn_probe = Some(self.snd_nxt);
            self.timers.disarm(Timer::Retransmission);
        }
    }

    /// True when a segment acknowledges the byte of a probe that was withdrawn: the window had opened before
    /// the probe arrived, and then took it. The byte counts as sent again, and as retransmitted, since an ack
    /// of it measures no round trip (RFC 6298 §3).
    #[cold]
    pub(super) fn acknowledges_withdrawn_probe(&mut self, now: Instant, segment: &Segment) -> bool {
        let seq = self.snd_nxt;
        if self.rare.withdrawn_probe != Some(seq) || segment.ack != seq + 1 || !self.sender.sent.is_empty() {
            return false;
        }
        self.rare.make_mut().withdrawn_probe = None;
        let sent = &mut self.sender.make_mut().sent;
        sent.push(seq, 1, false, now);
        sent.retransmit(seq, 1, now);
        self.snd_nxt = seq + 1;
        true
    }

    /// Starts the persist timer. Data is waiting that the receiver's window does not admit, and nothing is
    /// outstanding for which the retransmission timer would run.
    #[cold]
    pub(super) fn arm_persist(&mut self, now: Instant) {
        if self.timers.is_armed(Timer::Persist) {
            return;
        }
        // RFC 9293 §3.8.6.1: the first probe after one timeout, then at growing intervals.
        let interval = self
            .timeout
            .saturating_mul(1 << self.rare.probes.min(16))
            .min(MAX_PROBE_INTERVAL.max(self.timeout));
        self.arm(Timer::Persist, now, now + interval);
    }

    /// A cork holds what makes no full segment for so long at most; no ack will come that lets it go.
    #[cold]
    pub(super) fn arm_cork(&mut self, now: Instant) {
        if !self.timers.is_armed(Timer::Persist) {
            let most = if self.config.cork_by_timeout { self.timeout.max(MAX_CORK) } else { MAX_CORK };
            self.arm(Timer::Persist, now, now + most);
        }
    }

    /// Starts anew the time for which a cork holds, where it does, or the retransmission timeout where
    /// that is longer: a world whose host does so with each ack.
    pub fn restart_cork(&mut self, now: Instant) {
        let corks = self.corked && self.sender.sent.is_empty() && self.timers.is_armed(Timer::Persist);
        if corks && self.unsent() <= u64::from(self.snd_wnd) {
            self.arm(Timer::Persist, now, now + self.timeout.max(MAX_CORK));
        }
    }

    /// Restarts the keepalive timer, as any segment from the peer does (RFC 9293 §3.8.4).
    #[inline(never)]
    pub(super) fn restart_keepalive(&mut self, now: Instant) {
        self.rare.reset(|r| r.keepalives = 0);
        if self.config.keepalive.is_zero() {
            self.timers.disarm(Timer::Keepalive);
        } else {
            self.arm(Timer::Keepalive, now, now + self.config.keepalive);
        }
    }

    /// The keepalive timer expired: sends a probe, or gives up after too many.
    pub(super) fn keepalive_expired(&mut self, now: Instant) {
        if self.rare.keepalives >= self.config.keepalive_probes {
            self.give_up(AbortReason::KeepaliveTimeout, now);
            return;
        }
        if self.flight_size() > 0 {
            // The retransmission timer is running and detects a dead peer.
            self.arm(Timer::Keepalive, now, now + self.config.keepalive);
            return;
        }
        self.rare.make_mut().keepalives += 1;
        self.pending.keepalive = true;
        self.arm(Timer::Keepalive, now, now + self.config.keepalive_interval);
    }
}
