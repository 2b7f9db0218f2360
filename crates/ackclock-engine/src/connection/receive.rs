//! The receiving side: text, reassembly, the advertised window, and when to acknowledge it.

use ackclock_policy::{AckAction, AckPending, ArrivedSegment, Ecn, ReceiverEvent};
use ackclock_units::{Bytes, Instant, SeqNumber, SeqRange, mostly, seldom};
use ackclock_wire::Segment;

use super::{Connection, PendingEvents, State, Unacked};
use crate::timer::Timer;

impl Connection {
    /// What is left of the window last advertised to the peer.
    pub(super) fn rcv_window(&self) -> u32 {
        self.rcv_adv.bytes_since(self.rcv_nxt)
    }

    /// Processes the text of an acceptable segment, which begins at `seq`.
    #[inline(always)]
    pub(super) fn handle_text(
        &mut self,
        now: Instant,
        seq: SeqNumber,
        len: u32,
        payload: &[u8],
        push: bool,
        ecn: Ecn,
    ) {
        if seldom(self.state != State::Established)
            && (!matches!(self.state, State::SynReceived | State::FinWait1 | State::FinWait2)
                || self.fin_received)
        {
            return;
        }
        if self.may_change_mark(ecn) {
            self.on_mark_change(now, ecn == Ecn::Ce);
        }
        self.ack_is_current = false;
        let had_gap = self.receive.has_gap();
        let next = if mostly((seq == self.rcv_nxt) & (seq + len <= self.rcv_adv) & !had_gap) {
            // The usual case: the next text in order, and nothing waits behind a gap.
            self.receive.append(len, if self.counted { payload } else { &payload[..len as usize] });
            seq + len
        } else {
            let Some(next) = self.place_text(now, seq, len, payload) else {
                self.pending.ack = true;
                self.ack_event(now, ReceiverEvent::Repeated);
                return;
            };
            next
        };
        let delivered = next.bytes_since(self.rcv_nxt);
        self.rcv_nxt = next;
        self.stats.bytes_received += u64::from(delivered);
        if delivered > 0 && mostly(self.state != State::SynReceived) {
            self.events.add(PendingEvents::READABLE);
        }
        // A FIN that came ahead of this text: behind a gap, too.
        let fin_waits = self.rare.is_some_and(|r| r.fin_at.is_some());
        if fin_waits && self.rare.fin_at == Some(self.rcv_nxt) {
            self.handle_fin(now, self.rcv_nxt);
        }
        let full_sized = len >= self.rmss && len > 0;
        self.rmss = self.rmss.max(len);
        self.unacked.bytes += delivered;
        self.unacked.segments += 1;
        self.unacked.full_segments += u32::from(full_sized);
        if seldom(self.rare.is_some_and(|r| r.right_sizing.is_some())) {
            self.grow_window(len, delivered > 0);
        }
        if seldom(had_gap | fin_waits | (delivered == 0) | self.dsack.is_some()) {
            // Out of order, or filling all or part of a gap: acknowledged at once (RFC 5681 §4.2).
            if self.rare.is_some_and(|r| r.ack_events) {
                self.follow_out_of_order(ArrivedSegment { now, bytes: len, full_sized, push }, delivered);
                return;
            }
            if !self.ack.get_mut().holds_out_of_order() {
                self.pending.ack = true;
                return;
            }
        }
        self.call_ack_policy(now, ArrivedSegment { now, bytes: len, full_sized, push });
    }

    /// Stores text that is out of order, partly received before, or partly beyond the window. Returns the new
    /// `rcv_nxt`, or `None` if nothing of it was stored.
    #[inline(never)]
    fn place_text(&mut self, now: Instant, seq: SeqNumber, len: u32, payload: &[u8]) -> Option<SeqNumber> {
        // Trim to the window.
        let start = seq.max(self.rcv_nxt);
        let end = (seq + len).min(self.rcv_adv);
        if start >= end {
            // Only old data, or data beyond the window: acknowledged at once (RFC 9293 §3.10.7.4), with a
            // DSACK for repeated data.
            self.note_repeated(SeqRange::new(seq, seq + len));
            return None;
        }
        let range = SeqRange::new(start, end);
        if seldom(self.rare.is_some_and(|r| r.ack_events)) && start > self.rcv_nxt && self.sack_on {
            self.follow_displaced(now, range);
        }
        if seq < start {
            self.dsack = self.sack_on.then(|| SeqRange::new(seq, start));
        } else if let Some(held) = self.receive.overlap(range) {
            // RFC 2883 §4.2: the part received before, or the first such part.
            self.stats.duplicate_segments += u64::from(held == range);
            self.dsack = self.sack_on.then_some(held);
        }
        self.rare.reset(|r| r.fin_is_latest = false);
        let skip = start.bytes_since(seq) as usize;
        let payload = if self.counted { payload } else { &payload[skip..skip + range.len() as usize] };
        self.receive.insert(self.rcv_nxt, range, payload)
    }

    /// Lets the ack policy decide when the new data is acknowledged.
    fn call_ack_policy(&mut self, now: Instant, arrival: ArrivedSegment) {
        if self.rare.is_some_and(|r| r.ack_events) {
            self.follow_arrival(now, arrival);
            return;
        }
        let p = self.ack_pending();
        let action = self.ack.get_mut().on_arrival(&arrival, &p);
        self.apply_ack_action(now, action);
    }

    /// What is not acknowledged yet.
    #[inline(always)]
    pub(super) fn ack_pending(&self) -> AckPending {
        AckPending {
            bytes: u64::from(self.unacked.bytes),
            full_segments: self.unacked.full_segments,
            segments: self.unacked.segments,
            rcv_wnd: self.rcv_buf(),
            rmss: self.rmss,
            deadline: self.timers.deadline(Timer::Ack),
        }
    }

    /// Does what the ack policy has decided.
    #[inline(always)]
    pub(super) fn apply_ack_action(&mut self, now: Instant, action: AckAction) {
        match action {
            AckAction::Now => self.pending.ack = true,
            AckAction::By(at) if at <= now => self.pending.ack = true,
            AckAction::By(at) => self.timers.arm(Timer::Ack, at),
            AckAction::Hold => {}
            AckAction::Forge(how) => self.forge_acks(how, self.unacked.bytes),
        }
    }

    /// Acknowledges what has arrived so far, before the segment that is being processed changes it. An ack
    /// that already waits like this stands for both.
    pub(super) fn acknowledge_first(&mut self, now: Instant) {
        if self.rare.ack_first.is_none() {
            let ack = self.transmit_ack(now).segment;
            self.rare.make_mut().ack_first = Some(ack);
        }
    }

    /// A segment outside the window: reports its data as repeated if all of it was received before.
    pub(super) fn note_duplicate(&mut self, segment: &Segment) {
        if segment.len > 0 && segment.seq + segment.len <= self.rcv_nxt {
            self.note_repeated(SeqRange::new(segment.seq, segment.seq + segment.len));
        }
    }

    /// Data in `range` arrived that had been received before: counts it and reports it by DSACK.
    #[cold]
    fn note_repeated(&mut self, range: SeqRange) {
        if range.end <= self.rcv_nxt {
            self.stats.duplicate_segments += 1;
            self.dsack = self.sack_on.then_some(range);
        }
    }

    /// Processes a FIN with sequence number `seq`. It takes effect once everything before it has arrived.
    #[inline(never)]
    pub(super) fn handle_fin(&mut self, now: Instant, seq: SeqNumber) {
        // A FIN on a SYN takes effect only once our SYN is acknowledged (RFC 9293 §3.10.7.2 and §3.10.7.3).
        // It is dropped here, and the peer retransmits it.
        if matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived) {
            return;
        }
        if self.fin_received {
            // Retransmitted inside the window: acknowledge again.
            self.pending.ack = true;
            return;
        }
        if seq > self.rcv_nxt {
            // Out of order: it is kept until the missing data arrives. A SACK block reports it together with
            // the data before it.
            if seq <= self.rcv_adv {
                let rare = self.rare.make_mut();
                rare.fin_at.get_or_insert(seq);
                rare.fin_is_latest = true;
            }
            self.pending.ack = true;
            return;
        }
        if seq < self.rcv_nxt {
            return;
        }
        self.rcv_nxt += 1;
        self.rcv_adv = self.rcv_adv.max(self.rcv_nxt);
        self.fin_received = true;
        self.receive.end();
        self.events.add(PendingEvents::READABLE);
        if self.rare.is_some_and(|r| r.ack_events) && self.state == State::Established {
            self.follow_fin(now);
        } else {
            self.pending.ack = true;
        }
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.start_time_wait(now),
            _ => {}
        }
    }

    /// The window to advertise in a segment that is sent now. The right edge advances only by a minimum step
    /// (silly-window avoidance, RFC 9293 §3.8.6.2.2) and never moves back (§3.8.6).
    pub(super) fn advertise(&mut self) -> u16 {
        if let Some(edge) = self.next_window_edge() {
            self.rcv_adv = edge;
        }
        self.window_field()
    }

    /// The window last advertised, as a value for the window field.
    #[inline]
    pub(super) fn window_field(&self) -> u16 {
        (self.rcv_window() >> self.rcv_wnd_shift).min(65_535) as u16
    }

    /// Free space in the receive buffer, as far as the window field can express it.
    pub(super) fn free_space(&self) -> u32 {
        self.free_of(self.rcv_buf())
    }

    fn free_of(&self, buf: Bytes) -> u32 {
        buf.saturating_sub(self.receive.readable()).min(65_535 << self.rcv_wnd_shift) as u32
    }

    /// The window's edge after the free space, if it advances by the smallest step or more:
    /// min(Fr * RCV.BUFF, Eff.snd.MSS) with Fr = 1/2 (RFC 9293 §3.8.6.2.2).
    fn next_window_edge(&self) -> Option<SeqNumber> {
        let buf = self.rcv_buf();
        let edge = self.rcv_nxt + self.offered(self.free_of(buf));
        let gain = edge.diff(self.rcv_adv);
        let half = (buf / 2).max(1) as u32;
        let step = half.min(if self.rmss > 0 { self.rmss } else { self.config.mss });
        (gain > 0 && (gain as u32 >= step || seldom(self.config.bsd_window) && !self.is_silly(buf)))
            .then_some(edge)
    }

    /// The window that BSD accepts (`rcv_wnd` in `tcp_input`): the free space, also where the field of the header
    /// could not hold it, and no less than was announced. RFC 9293 §3.10.7.4 has RCV.WND for both.
    #[cold]
    pub(super) fn acceptable_window(&self) -> u32 {
        let announced = self.rcv_window();
        // In a passive open there is no buffer yet (`syncache_add`).
        if self.state == State::SynReceived && self.passive {
            return announced;
        }
        announced.max(self.rcv_buf().saturating_sub(self.receive.readable()).min(1 << 30) as u32)
    }

    /// True where BSD would close the window rather than announce the free space: that is less than a segment
    /// and than a quarter of the buffer.
    #[cold]
    fn is_silly(&self, buf: Bytes) -> bool {
        let free = self.free_of(buf);
        free < self.smss && u64::from(free) < buf / 4
    }

    /// The application has read bytes: sends a window update if the window had become small and now opens
    /// again. A window that is still large is updated by the next acknowledgment.
    pub(super) fn after_read(&mut self, now: Instant, n: u64) {
        if self.rare.is_allocated() && n > 0 {
            self.follow_read(now, n);
        }
        if n == 0
            || !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
            || self.fin_received
        {
            return;
        }
        self.ack_is_current = false;
        let small = u64::from(self.rcv_window()) * 2 < self.rcv_buf().min(65_535 << self.rcv_wnd_shift);
        if seldom(small) && self.next_window_edge().is_some() {
            self.pending.ack = true;
        }
    }

    /// An acknowledgment was sent, alone or with data.
    pub(super) fn ack_sent(&mut self, now: Instant) {
        self.pending.ack = false;
        self.ack_is_current = true;
        self.unacked = Unacked::default();
        self.dsack = None;
        self.timers.disarm(Timer::Ack);
        if self.rare.is_allocated() {
            if self.rare.timestamps.on {
                self.rare.make_mut().timestamps.last_ack_sent = self.rcv_nxt;
            }
            self.rare.reset(|r| r.ack_by_policy = false);
            self.ack_event(now, ReceiverEvent::Acked);
        }
    }
}
