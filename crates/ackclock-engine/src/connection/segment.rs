//! Processing of an arriving segment: RFC 9293 §3.10.7, with RFC 5961 and RFC 7323.

use ackclock_policy::{Ecn, ReceiverEvent};
use ackclock_trace::{EventKind, Mask};
use ackclock_units::{Duration, Instant, SeqNumber, SeqRange, mostly, seldom};
use ackclock_wire::{Flags, Segment};

use super::{Connection, PendingEvents, State};
use crate::AbortReason;

/// RFC 7323 §5.5: a `ts_recent` older than this is invalid.
const TS_RECENT_VALID: Duration = Duration::from_secs(24 * 86_400);

impl Connection {
    /// Processes one segment. `payload` is its bytes (empty for counted connections), `ecn` the field of the
    /// IP header.
    ///
    /// A real payload whose length is not [`Segment::len`] is a bug of the caller; the shorter of the two
    /// counts.
    #[inline(always)]
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment, payload: &[u8], ecn: Ecn) {
        // Copied only if something has to be changed, which is rare.
        let mut changed;
        let mut segment = segment;
        if seldom(!self.counted && payload.len() < segment.len as usize) {
            changed = Segment { len: payload.len() as u32, ..*segment };
            segment = &changed;
        }
        let mut scale = None;
        if seldom(self.state == State::SynReceived) && self.repeats_syn(segment) {
            // The peer's SYN again, or its SYN-ACK in a simultaneous open, which the acceptability test would
            // reject.
            if !segment.flags.has(Flags::ACK) {
                self.repeat_syn_ack(now, segment, ecn);
                return;
            }
            // The window of a SYN-ACK is not scaled (RFC 7323 §2.2).
            scale = Some(std::mem::take(&mut self.snd_wnd_shift));
            changed =
                Segment { seq: segment.seq + 1, flags: Flags(segment.flags.0 & !Flags::SYN.0), ..*segment };
            segment = &changed;
        }
        let proceed = match self.state {
            State::Closed => false,
            State::Listen => self.segment_in_listen(now, segment, ecn),
            State::SynSent => self.segment_in_syn_sent(now, segment, ecn),
            _ => self.segment_in_synchronized(now, segment, ecn, scale.is_some()),
        };
        if seldom(scale.is_some()) {
            self.snd_wnd_shift = scale.unwrap_or_default();
        }
        if !proceed {
            return;
        }
        self.stats.segments_received += 1;
        self.trace(Mask::PACKETS, now, || EventKind::Received {
            seq: segment.seq,
            len: segment.len,
            ack: segment.ack,
        });
        // Both SYNs and later segments may carry text and FIN.
        let syn = u32::from(segment.flags.has(Flags::SYN));
        if segment.len > 0 {
            if seldom(self.state != State::Established) && self.refuses_text(now, segment) {
                return;
            }
            self.handle_text(
                now,
                segment.seq + syn,
                segment.len,
                payload,
                segment.flags.has(Flags::PSH),
                ecn,
            );
        }
        if seldom(segment.flags.any(Flags::FIN | Flags::URG)) {
            if segment.flags.has(Flags::URG) {
                self.note_urgent(segment, segment.seq + syn);
            }
            if segment.flags.has(Flags::FIN) {
                // A FIN behind a gap tells of text that is still to come.
                if segment.len == 0 && self.state != State::Established && self.refuses_text(now, segment) {
                    return;
                }
                self.handle_fin(now, segment.seq + syn + segment.len);
            }
        }
        if self.rare.is_some_and(|r| r.ecn.is_accurate()) {
            self.count_packet(segment, ecn);
        }
    }

    /// Processes everything up to the ACK field in SYN-RECEIVED and the synchronized states. `was_syn`: the
    /// segment is a SYN-ACK whose SYN has been removed. Returns true when text and FIN are to be processed.
    #[inline(always)]
    fn segment_in_synchronized(&mut self, now: Instant, segment: &Segment, ecn: Ecn, was_syn: bool) -> bool {
        let flags = segment.flags;
        if seldom(flags.has(Flags::SYN)) && !flags.has(Flags::RST) {
            self.note_repeated_syn_ack(segment, ecn);
            self.handle_syn_in_synchronized(now, segment);
            return false;
        }
        if self.rare.is_some_and(|r| r.timestamps.on)
            && segment.options.timestamps.is_none()
            && !flags.has(Flags::RST)
            && !self.config.untimed_segments
        {
            // RFC 7323 §3.2: once negotiated, a segment without the option is dropped silently, unless it is
            // a reset.
            return false;
        }
        // What a listener has not accepted yet looks at sequence numbers first (`tcp_check_req`).
        let requested = self.state == State::SynReceived && self.passive;
        if seldom(!flags.any(Flags::ACK | Flags::RST)) && self.config.needs_ack && !requested {
            return false;
        }
        if seldom(self.state == State::SynReceived)
            && self.config.check_echo
            && self.echoes_no_syn_ack(segment)
        {
            if !flags.has(Flags::RST) {
                self.ack_unacceptable(now, segment);
            }
            return false;
        }
        if !self.passes_paws(now, segment) {
            self.ack_unacceptable(now, segment);
            return false;
        }
        if !self.is_acceptable(segment) {
            if flags.has(Flags::RST) {
                return false;
            }
            self.note_duplicate(segment);
            self.ack_unacceptable(now, segment);
            if self.state == State::TimeWait && flags.has(Flags::FIN) {
                // A retransmitted FIN restarts the wait (RFC 9293 §3.10.7.4).
                self.restart_time_wait(now);
            }
            // RFC 9293 §3.10.7.4: with a closed window, valid ACKs still count.
            if self.rcv_window() == 0 && segment.seq == self.rcv_nxt && flags.has(Flags::ACK) {
                self.take_ack_of_refused(now, segment, was_syn);
            } else if self.config.old_text_acks && self.is_just_old(segment) {
                return self.take_ack_of_old_text(now, segment);
            }
            return false;
        }
        self.last_received_at = now;
        if self.rare.is_some_and(|r| r.keepalives > 0) || self.timers.is_armed(crate::timer::Timer::Keepalive)
        {
            self.restart_keepalive(now);
        }
        if flags.has(Flags::RST) {
            self.handle_reset(now, segment);
            return false;
        }
        if !flags.has(Flags::ACK) {
            return false;
        }
        if seldom(self.state == State::SynReceived) && !self.handle_ack_of_syn(now, segment, was_syn) {
            return false;
        }
        if self.rare.is_allocated()
            && self.config.predict_headers
            && (segment.len == 0 || self.has_memory_set_aside())
            && self.predicts(segment)
        {
            self.remember_timestamp(now, segment);
        }
        if !self.ack_is_plausible(segment) && !self.acknowledges_withdrawn_probe(now, segment) {
            self.challenge(now);
            return self.takes_text_alone(now, segment);
        }
        // Not earlier: a segment that is discarded must not update the timestamp that later segments are
        // checked against (RFC 5961 §5.2).
        if self.rare.is_allocated() {
            if segment.ack >= self.snd_una || !self.config.predict_headers {
                self.remember_timestamp(now, segment);
            }
            if self.rare.ecn.is_on() {
                self.read_ecn_flags(flags);
            }
        }
        if seldom(self.config.predict_headers) && self.brings_text_alone(segment) {
            self.snd_wl1 = segment.seq;
            return true;
        }
        self.handle_ack(now, segment);
        if seldom(was_syn) {
            // SEG.SEQ of a SYN-ACK (RFC 9293 §3.10.7.4), of which what follows its SYN has got here.
            self.snd_wl1 = self.irs;
        }
        self.after_ack_of_fin(now);
        !matches!(self.state, State::Closed)
    }

    /// True where text comes with the acknowledgment number of an earlier segment and is what header prediction
    /// expects: nobody looks at its acknowledgment (`tcp_rcv_established`).
    #[cold]
    pub fn brings_text_alone(&self, segment: &Segment) -> bool {
        self.config.predict_headers
            && segment.len > 0
            && segment.ack == self.snd_una
            && self.has_memory_set_aside()
            && self.predicts(segment)
    }

    /// True where the text of a segment counts although its acknowledgment is too old: where headers are
    /// predicted nothing but the text is looked at (`tcp_rcv_established`). The first text is none of those where
    /// nothing was sent, since no memory is set aside for it. RFC 5961 §5.2 drops all that.
    #[cold]
    fn takes_text_alone(&mut self, now: Instant, segment: &Segment) -> bool {
        let expected = self.config.predict_headers && segment.len > 0 && self.predicts(segment);
        let takes = expected && self.has_memory_set_aside();
        if takes {
            self.remember_timestamp(now, segment);
        }
        takes
    }

    /// True once text has arrived or was written: Linux then has memory for the next one, without which it predicts no
    /// headers of text.
    fn has_memory_set_aside(&self) -> bool {
        self.rcv_nxt != self.irs + 1 || self.send.end() > 0
    }

    /// The ACK field of a segment whose text does not fit into a closed window.
    #[cold]
    fn take_ack_of_refused(&mut self, now: Instant, segment: &Segment, was_syn: bool) {
        if self.state == State::SynReceived && !self.handle_ack_of_syn(now, segment, was_syn) {
            return;
        }
        if self.ack_is_plausible(segment) || self.acknowledges_withdrawn_probe(now, segment) {
            self.handle_ack(now, segment);
            self.after_ack_of_fin(now);
        }
    }

    /// The ACK field in SYN-RECEIVED (RFC 9293 §3.10.7.4). Returns true when it acknowledges our SYN.
    #[inline(never)]
    fn handle_ack_of_syn(&mut self, now: Instant, segment: &Segment, was_syn: bool) -> bool {
        if segment.ack <= self.iss || segment.ack > self.snd_nxt {
            self.rare.make_mut().reset = Self::reset_for(segment).map(Box::new);
            return false;
        }
        self.snd_wnd = u32::from(segment.window) << self.snd_wnd_shift;
        self.max_snd_wnd = self.max_snd_wnd.max(self.snd_wnd);
        (self.snd_wl1, self.snd_wl2) = (segment.seq, segment.ack);
        self.take_handshake_feedback(segment, was_syn);
        self.establish(now, &Segment { ack: self.iss + 1, ..*segment });
        if let Some(end) = self.end_of_syn_text() {
            self.acknowledge_syn_text(now, segment.ack.min(end), end);
        }
        if was_syn {
            // The peer's SYN-ACK in a simultaneous open repeats its SYN. It may not have received ours, of
            // which an ack tells it as well.
            self.pending.ack = true;
            self.dsack = self.sack_on.then(|| SeqRange::new(self.irs, self.irs + 1));
        }
        true
    }

    /// Sends an ACK in response to an unacceptable segment (RFC 9293 §3.10.7.4). The rate is limited for a
    /// segment without sequence space, since two confused endpoints could otherwise acknowledge each other
    /// forever, and for one that lies so far outside the window that no correct peer sends it (see
    /// docs/departures.md).
    #[cold]
    fn ack_unacceptable(&mut self, now: Instant, segment: &Segment) {
        let beyond = segment.seq > self.rcv_nxt + self.rcv_window();
        let ancient = i64::from(self.rcv_nxt.diff(segment.end())) > self.config.rcv_buf.max(65_535) as i64;
        if segment.seq_len() > 0 && !beyond && !ancient {
            self.pending.ack = true;
            if segment.seq < self.rcv_nxt {
                self.ack_event(now, ReceiverEvent::Repeated);
            }
        } else {
            self.challenge(now);
        }
    }

    /// RFC 9293 §3.4, table 6, with the window as it was advertised. A segment without sequence space may
    /// also lie at the right edge of the window: a sender that has filled the window sends its acks from
    /// there (see docs/departures.md). A reset there is outside the window (RFC 5961 §3.2).
    pub(super) fn is_acceptable(&self, segment: &Segment) -> bool {
        let (seq, window) = (segment.seq, self.rcv_window());
        if mostly((seq == self.rcv_nxt) & (window > 0)) {
            return true;
        }
        let window = if self.config.bsd_window { self.acceptable_window() } else { window };
        let len = segment.seq_len();
        let edge = self.rcv_nxt + window;
        if window == 0 {
            // A reset is processed even with a closed window (RFC 9293 §3.10.7.4), with text or without.
            return (len == 0 || segment.flags.has(Flags::RST)) && seq == self.rcv_nxt;
        }
        let inside = |s: SeqNumber| self.rcv_nxt <= s && s < edge;
        // A segment that starts below the window may still contain data above `rcv_nxt`.
        inside(seq)
            || (len == 0 && seq == edge && !segment.flags.has(Flags::RST))
            || (len > 0 && seq < self.rcv_nxt && segment.end() > self.rcv_nxt)
    }

    /// True for a segment of old text that ends at the next byte expected, or above the last acknowledgment
    /// sent.
    #[cold]
    pub(super) fn is_just_old(&self, segment: &Segment) -> bool {
        let acknowledged = self.rcv_nxt - self.unacked.bytes;
        segment.seq < self.rcv_nxt
            && segment.flags.has(Flags::ACK)
            && !segment.flags.has(Flags::SYN)
            && (acknowledged..=self.rcv_nxt).contains(&segment.end())
            && self.state.is_synchronized()
            && self.state != State::TimeWait
            && self.ack_is_plausible(segment)
    }

    /// The ACK field of such a segment counts. Returns true if its text is to be processed, which is old.
    #[cold]
    fn take_ack_of_old_text(&mut self, now: Instant, segment: &Segment) -> bool {
        self.last_received_at = now;
        self.remember_timestamp(now, segment);
        self.handle_ack(now, segment);
        self.after_ack_of_fin(now);
        false
    }

    /// RFC 5961 §5.2: the ACK field must be in `snd_una - max_snd_wnd ..= snd_nxt`.
    pub(super) fn ack_is_plausible(&self, segment: &Segment) -> bool {
        segment.ack <= self.snd_nxt && (mostly(segment.ack >= self.snd_una) || self.was_sent(segment.ack))
    }

    /// True for an old acknowledgment number that the peer can have sent: it lies within the largest window,
    /// and not before what was sent. The SYN counts where this end has opened the connection, as in Linux.
    #[cold]
    fn was_sent(&self, ack: SeqNumber) -> bool {
        let below = u64::try_from(self.snd_una.diff(ack)).unwrap_or(0);
        let sent = self.stats.bytes_acked + u64::from(!self.passive);
        below <= u64::from(self.max_snd_wnd).min(sent)
    }

    /// Protection against wrapped sequence numbers: the check R1 of RFC 7323 §5.3.
    fn passes_paws(&self, now: Instant, segment: &Segment) -> bool {
        if !self.rare.is_some_and(|r| r.timestamps.on) || segment.flags.has(Flags::RST) {
            return true;
        }
        let Some(ts) = segment.options.timestamps else { return true };
        let older = (ts.tsval.wrapping_sub(self.rare.timestamps.ts_recent) as i32) < 0;
        !older || now.since(self.rare.timestamps.ts_recent_at) > TS_RECENT_VALID
    }

    /// Updates `ts_recent` from segments that begin at or before the last acknowledgment sent (RFC 7323
    /// §4.3).
    pub(super) fn remember_timestamp(&mut self, now: Instant, segment: &Segment) {
        if self.rare.is_some_and(|r| r.timestamps.on)
            && let Some(ts) = segment.options.timestamps
        {
            if segment.seq <= self.rare.timestamps.last_ack_sent
                && ts.tsval.wrapping_sub(self.rare.timestamps.ts_recent) as i32 >= 0
            {
                self.rare.make_mut().timestamps.ts_recent = ts.tsval;
                self.rare.make_mut().timestamps.ts_recent_at = now;
            }
            if self.rare.right_sizing.is_some() && ts.tsecr != 0 {
                self.time_by_echo(now, ts.tsecr, segment.len >= self.rmss && segment.len > 0);
            }
        }
    }

    /// A SYN in a synchronized state gets a challenge ACK, with any sequence number and any options (RFC 5961
    /// §4.2).
    #[cold]
    fn handle_syn_in_synchronized(&mut self, now: Instant, segment: &Segment) {
        if self.state == State::SynReceived && self.passive && self.is_acceptable(segment) {
            // RFC 9293 §3.10.7.4: back to LISTEN, as with a reset.
            self.abandon(AbortReason::Reset, now);
        } else if self.config.syn_in_window && self.state != State::SynReceived && self.is_acceptable(segment)
        {
            self.rare.make_mut().reset = Some(self.reset(now));
            self.abandon(AbortReason::Reset, now);
        } else {
            self.challenge(now);
        }
    }

    /// RFC 5961 §3.2: a RST is accepted only at exactly `rcv_nxt`. Elsewhere in the window it gets a
    /// challenge ACK.
    #[cold]
    fn handle_reset(&mut self, now: Instant, segment: &Segment) {
        if segment.seq != self.rcv_nxt && !self.config.rst_in_window {
            self.challenge(now);
            return;
        }
        match self.state {
            State::SynReceived if self.passive => {
                // RFC 9293 §3.10.7.4: back to LISTEN; the world may drop it.
                self.abandon(AbortReason::Reset, now);
            }
            State::SynReceived => self.abandon(AbortReason::Refused, now),
            State::TimeWait if self.config.rfc1337 => {}
            // The application has been notified already that both sides have closed.
            State::TimeWait => self.end(true, now),
            State::Closing | State::LastAck => {
                self.events.add(PendingEvents::FINISHED);
                self.end(true, now);
            }
            _ => self.abandon(AbortReason::Reset, now),
        }
    }

    /// Sends a challenge ACK, within the limit per second (RFC 5961 §7).
    #[cold]
    fn challenge(&mut self, now: Instant) {
        if now.since(self.rare.challenge_since) >= Duration::from_secs(1) {
            let rare = self.rare.make_mut();
            (rare.challenge_since, rare.challenges) = (now, 0);
        }
        if self.rare.challenges < self.config.challenge_ack_limit {
            self.rare.make_mut().challenges += 1;
            self.stats.challenge_acks += 1;
            self.pending.ack = true;
        }
    }

    /// The reset for a segment that belongs to no connection; `None` for a reset (RFC 9293 §3.10.7.1).
    pub fn reset_for(segment: &Segment) -> Option<Segment> {
        if segment.flags.has(Flags::RST) {
            return None;
        }
        Some(if segment.flags.has(Flags::ACK) {
            Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() }
        } else {
            Segment {
                seq: SeqNumber(0),
                ack: segment.end(),
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            }
        })
    }
}
