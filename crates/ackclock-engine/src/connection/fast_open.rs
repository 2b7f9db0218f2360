//! Fast Open within a connection (RFC 7413): text on a SYN, what its acknowledgment confirms, and data that a
//! server sends before the handshake is complete. Options come from the world and go to it, since only SYNs
//! have them.

use ackclock_policy::TimerEvent;
use ackclock_units::{Instant, SeqNumber, SeqRange};
use ackclock_wire::{FastOpen, Segment};

use super::{Connection, State};
use crate::FastOpenReport;
use crate::scoreboard::MAX_LEN;

/// What a connection with Fast Open keeps.
#[derive(Debug)]
pub(super) struct FastOpenState {
    report: FastOpenReport,
    /// The option of the SYN or SYN-ACK that has not been sent yet.
    next: Option<FastOpen>,
    /// The option of the latest SYN or SYN-ACK.
    departed: Option<FastOpen>,
    /// Bytes of text that the first SYN may carry.
    room: u32,
    /// When the first SYN or SYN-ACK was sent.
    first_sent_at: Option<Instant>,
}

impl Connection {
    /// Active open with Fast Open (RFC 7413 §4.2): as [`Connection::connect`], with `option` on the first SYN
    /// and up to `room` bytes of what is written before it is sent ([`Connection::syn_room`]). A cookie
    /// allows text, a request does not; a world that knows that the server needs no cookie passes none.
    pub fn connect_fast_open(&mut self, now: Instant, option: Option<FastOpen>, room: u32) {
        self.connect(now);
        if self.state == State::SynSent && self.pending.syn {
            let most = self.config.mss.min(MAX_LEN - 1);
            let room = if option.is_some_and(|o| o.is_request()) { 0 } else { room.min(most) };
            self.keep_fast_open(option, room, false);
            if let Some(o) = self.fast_open_mut() {
                o.report.option = option;
            }
        }
    }

    /// Before the SYN is passed to a listening connection: the SYN has a valid cookie, or needs none, so its
    /// text is delivered and data may be sent at once (RFC 7413 §4.2.2). `answer` is the option of the
    /// SYN-ACK.
    pub fn accept_fast_open(&mut self, answer: Option<FastOpen>) {
        if self.state == State::Listen {
            self.keep_fast_open(answer, 0, true);
        }
    }

    /// Before the SYN is passed to a listening connection that does not accept its text: the option of the
    /// SYN-ACK, a cookie for next time (RFC 7413 §4.1.2).
    pub fn offer_cookie(&mut self, answer: FastOpen) {
        if self.state == State::Listen {
            self.keep_fast_open(Some(answer), 0, false);
        }
    }

    fn keep_fast_open(&mut self, next: Option<FastOpen>, room: u32, accepted: bool) {
        let report = FastOpenReport { option: None, sent: 0, repeated: false, text_taken: false, accepted };
        let kept = FastOpenState { report, next, departed: None, room, first_sent_at: None };
        self.rare.make_mut().fast_open = Some(Box::new(kept));
    }

    fn fast_open_mut(&mut self) -> Option<&mut FastOpenState> {
        self.rare.part_mut(|r| r.fast_open.as_deref_mut())
    }

    /// Bytes that may still be written to leave with the first SYN; 0 after it and without Fast Open.
    pub fn syn_room(&self) -> u64 {
        let Some(o) = self.rare.fast_open.as_deref().filter(|o| o.first_sent_at.is_none()) else { return 0 };
        u64::from(o.room).saturating_sub(self.send.len()).min(self.writable())
    }

    /// The Fast Open option of the SYN or SYN-ACK that [`Connection::poll_transmit`] has just returned.
    pub fn take_syn_option(&mut self) -> Option<FastOpen> {
        self.fast_open_mut()?.departed.take()
    }

    /// What this connection has done with Fast Open; `None` for one that was opened without.
    pub fn fast_open(&self) -> Option<FastOpenReport> {
        self.rare.fast_open.as_ref().map(|o| o.report)
    }

    /// True for a server's connection that delivers and sends data before its SYN-ACK is acknowledged.
    #[inline(never)]
    pub(super) fn opens_early(&self) -> bool {
        self.rare.is_some_and(|r| r.fast_open.as_ref().is_some_and(|o| o.report.accepted))
    }

    /// A SYN or SYN-ACK is about to be sent. Returns the bytes of text on it. One that is sent again carries
    /// neither text nor option, since the network may drop SYNs with either (RFC 7413 §4.2.1, §4.2.2).
    #[cold]
    pub(super) fn begin_fast_open(&mut self, now: Instant, syn_ack: bool) -> u32 {
        let (queued, early) = (self.send.len(), syn_ack && self.opens_early());
        let Some(o) = self.fast_open_mut() else { return 0 };
        o.departed = o.next.take();
        if o.first_sent_at.is_some() {
            o.report.repeated = true;
            return 0;
        }
        o.first_sent_at = Some(now);
        if early {
            // What follows the SYN-ACK is data, which starts now.
            self.snd_una = self.iss + 1;
            self.report_accepted_text();
            self.start_sender(now);
            return 0;
        }
        o.report.sent = if syn_ack { 0 } else { u64::from(o.room).min(queued) as u32 };
        let sent = o.report.sent;
        self.snd_nxt = self.snd_nxt.max(self.iss + 1 + sent);
        sent
    }

    fn report_accepted_text(&mut self) {
        let text = self.rcv_nxt != self.irs + 1;
        if let Some(o) = self.fast_open_mut() {
            o.report.text_taken = text;
        }
    }

    /// When the SYN-ACK of a connection was sent that has sent data since.
    pub(super) fn early_syn_ack_at(&self) -> Option<Instant> {
        if self.opens_early() { self.rare.fast_open.as_ref()?.first_sent_at } else { None }
    }

    /// Sequence number past the text on our SYN; `None` where there is none.
    #[inline]
    pub(super) fn end_of_syn_text(&self) -> Option<SeqNumber> {
        let sent = self.rare.fast_open.as_ref()?.report.sent;
        (sent > 0).then(|| self.iss + 1 + sent)
    }

    /// In SYN-SENT with text on our SYN: true when the timestamp that a segment echoes was in none of our
    /// SYNs. It then belongs to an earlier connection, and must not acknowledge the text (see
    /// docs/departures.md).
    pub(super) fn echoes_another_syn(&self, now: Instant, segment: &Segment) -> bool {
        let echo = segment.options.timestamps.map_or(0, |ts| ts.tsecr);
        if echo == 0 || !self.config.timestamps || self.end_of_syn_text().is_none() {
            return false;
        }
        // Nothing has arrived since the first SYN.
        let (first, last) = (self.timestamp_clock(self.last_received_at), self.timestamp_clock(now));
        echo.wrapping_sub(first) > last.wrapping_sub(first)
    }

    /// The connection is established, and the peer has acknowledged the text on our SYN up to `ack`. What it
    /// did not take is sent again at once (RFC 7413 §4.2.2), which is no sign of congestion.
    #[cold]
    pub(super) fn acknowledge_syn_text(&mut self, now: Instant, ack: SeqNumber, end: SeqNumber) {
        let taken = u64::from(ack.bytes_since(self.iss + 1));
        self.send.advance(taken);
        self.stats.bytes_acked += taken;
        self.snd_una = ack;
        self.queue_progress_events();
        let Some(o) = self.fast_open_mut() else { return };
        o.report.text_taken = ack == end;
        let sent_at = o.first_sent_at.unwrap_or(now);
        self.ensure_sender(now);
        if ack == end {
            return;
        }
        self.sender.make_mut().sent.push(ack, end.bytes_since(ack), false, sent_at);
        let rest = SeqRange::new(ack, end);
        self.retransmit_unreduced(now, |range| rest.covers(range));
        let v = self.view(now);
        self.run_retransmission_timer(now, TimerEvent::Sent { retransmission: false }, &v);
    }

    /// The SYN-ACK of a connection is acknowledged that has sent data before: its timers run from now on.
    #[cold]
    pub(super) fn time_early_data(&mut self, now: Instant) {
        if !self.sender.sent.is_empty() {
            let v = self.view(now);
            self.run_retransmission_timer(now, TimerEvent::Sent { retransmission: false }, &v);
            self.plan_recovery(now, true);
        }
    }

    /// A SYN with text was too long for a link that takes segments of `most` bytes: it is sent again without,
    /// and announces that size.
    #[cold]
    pub(super) fn shrink_syn(&mut self, now: Instant, most: u32) {
        let Some(o) = self.fast_open_mut().filter(|o| o.report.sent > 0 && !o.report.repeated) else {
            return;
        };
        o.report.repeated = true;
        if most < self.config.mss {
            self.reconfigure(now, |config| config.mss = most);
        }
        self.rare.make_mut().syn_repeated = true;
        self.pending.syn = true;
    }
}
