//! Explicit congestion notification: the negotiated mode, the receiver's feedback of marks, and what the
//! sender derives from it (RFC 3168, RFC 8257 §3.2, RFC 9768).

mod accurate;
mod continuous;
mod handshake;

use ackclock_policy::{Ecn, Phase, ReceiverEvent};
use ackclock_units::{Bytes, Instant, SeqNumber};
use ackclock_wire::{AccEcn, Flags, MAX_OPTIONS_LEN, Options, SackBlocks, Segment, Timestamps};

use self::accurate::{Counters, Covered, Marks, ace_flags, ace_of};
use self::continuous::Continuous;
use super::Connection;

/// The mode that the two ends have negotiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// No ECN.
    Off,
    /// ECE on every ack from a mark until CWR (RFC 3168 §6.1).
    Rfc3168,
    /// Negotiated in the same way, but ECE on our acks reports whether the last packet was marked (RFC 8257
    /// §3.2).
    Dctcp,
    /// Counters of marks, AccECN (RFC 9768).
    Accurate,
}

/// State of ECN.
#[derive(Debug)]
pub(super) struct EcnState {
    mode: Mode,
    /// ECE is set on every ack: until the peer sends CWR (RFC 3168 §6.1.3), or while DCTCP.CE is set (RFC
    /// 8257 §3.2).
    echo: bool,
    /// Set CWR on the next new data.
    cwr: bool,
    /// The window was reduced, and no data sent after that is acknowledged yet: echoes refer to data before
    /// the reduction.
    reduced: bool,
    /// Where the data sent after the reduction begins. Valid only with `reduced`: a stale number would
    /// compare wrongly after two gigabytes.
    reduced_at: SeqNumber,
    /// The congestion window needs ECT(1) on new data.
    pub(super) ect1: bool,
    feedback: Option<Box<FeedbackState>>,
}

/// State of the feedback in the modes beyond RFC 3168.
#[derive(Debug)]
struct FeedbackState {
    counters: Counters,
    /// The handshake code for the latest SYN or SYN-ACK that arrived (RFC 9768 §3.1.5).
    arrived: u8,
    /// The next pure ack carries that code, since it acknowledges a SYN-ACK (RFC 9768 §3.2.2.1).
    acks_syn_ack: bool,
    /// A marked SYN-ACK was counted. At most one is (RFC 9768 §3.2.2.2).
    syn_ack_counted: bool,
    /// Our SYN or SYN-ACK arrived marked at the peer.
    handshake_marked: bool,
    /// The pending ack acknowledges nothing but acks, so it has no SACK blocks (RFC 9768 §3.2.2.5.1).
    acks_only_acks: bool,
    /// Whether all packets so far were reported as marked (RFC 9768 §3.2.2.3).
    continuous: Continuous,
    /// The next ack, and the next text, carry the option to test whether the path passes it (RFC 9768
    /// §3.2.3.2.1).
    test_ack: bool,
    test_text: bool,
    /// Sequence number of the text that carried that test.
    tested: Option<SeqNumber>,
    /// Timestamp of the latest ack whose feedback was read.
    tsval: Option<u32>,
    /// Marks newly reported by the current ack.
    marks: Marks,
}

impl EcnState {
    pub(super) const INITIAL: Self = Self {
        mode: Mode::Off,
        echo: false,
        cwr: false,
        reduced: false,
        reduced_at: SeqNumber(0),
        ect1: false,
        feedback: None,
    };

    pub(super) fn is_on(&self) -> bool {
        self.mode != Mode::Off
    }

    pub(super) fn is_accurate(&self) -> bool {
        self.mode == Mode::Accurate
    }

    /// The codepoint for segments with new data. ECT(1) takes counters of marks (RFC 9331 §4.2).
    pub(super) fn codepoint(&self) -> Ecn {
        match self.mode {
            Mode::Off => Ecn::NotEct,
            Mode::Rfc3168 | Mode::Dctcp => Ecn::Ect0,
            Mode::Accurate if !self.feedback.as_ref().is_some_and(|m| m.counters.capable) => Ecn::NotEct,
            Mode::Accurate => {
                if self.ect1 {
                    Ecn::Ect1
                } else {
                    Ecn::Ect0
                }
            }
        }
    }

    /// True when segments carry feedback of marks in their flags.
    pub(super) fn sends_feedback(&self) -> bool {
        self.echo || self.mode == Mode::Accurate
    }

    /// True when the window was already reduced for the current echoes: the receiver repeats ECE until it
    /// gets CWR (RFC 3168 §6.1.2, §6.1.3).
    pub(super) fn has_reduced(&self) -> bool {
        self.cwr || self.reduced
    }

    /// True when `ack` acknowledges data sent after the last reduction.
    pub(super) fn ends_reduction(&self, ack: SeqNumber) -> bool {
        self.reduced && self.reduced_at < ack
    }

    pub(super) fn clear_reduction(&mut self) {
        self.reduced = false;
    }

    /// True when CWR must be set on the new data at `seq`, which is sent now.
    pub(super) fn take_cwr(&mut self, seq: SeqNumber) -> bool {
        let due = std::mem::take(&mut self.cwr);
        if due {
            (self.reduced, self.reduced_at) = (true, seq);
        }
        due
    }

    /// Our SYN or SYN-ACK arrived marked. As after a lost one, the initial window is one segment: a mark
    /// counts as a loss (RFC 3168 §6.1.2), and RFC 9768 §3.2.2.2 requires the response.
    pub(super) fn handshake_marked(&self) -> bool {
        self.feedback.as_ref().is_some_and(|m| m.handshake_marked)
    }

    /// The feedback state, in the mode with counters.
    fn accurate(&mut self) -> Option<&mut FeedbackState> {
        if self.mode == Mode::Accurate { self.feedback.as_deref_mut() } else { None }
    }
}

impl FeedbackState {
    const NEW: Self = Self {
        counters: Counters::NEW,
        arrived: 0,
        acks_syn_ack: false,
        syn_ack_counted: false,
        handshake_marked: false,
        acks_only_acks: false,
        continuous: Continuous::Begins,
        test_ack: false,
        test_text: false,
        tested: None,
        tsval: None,
        marks: Marks { packets: 0, bytes: 0 },
    };
}

/// The receiving side.
impl Connection {
    /// The mark on arriving text may have changed.
    #[inline(never)]
    pub(super) fn on_mark_change(&mut self, now: Instant, marked: bool) {
        match self.rare.ecn.mode {
            // RFC 3168 §6.1.3: echo Congestion Experienced until the sender confirms with CWR that it reduced
            // its window.
            Mode::Rfc3168 if marked => {
                if !self.rare.ecn.echo {
                    self.ack_event(now, ReceiverEvent::Marked);
                }
                self.rare.make_mut().ecn.echo = true;
                self.pending.ack = true;
            }
            Mode::Dctcp if marked != self.rare.ecn.echo => {
                // RFC 8257 §3.2: an immediate ack. What arrived before gets an ack of its own with the old
                // state, so that the sender counts the marked bytes correctly.
                if self.unacked.segments > 0 || self.pending.ack {
                    self.acknowledge_first(now);
                }
                self.rare.make_mut().ecn.echo = marked;
                self.pending.ack = true;
            }
            _ => {}
        }
    }

    /// True when `ecn` on arriving text may differ from what is being echoed.
    #[inline(always)]
    pub(super) fn may_change_mark(&self, ecn: Ecn) -> bool {
        self.rare.is_some_and(|r| r.ecn.echo | (ecn == Ecn::Ce))
    }

    /// Counts an accepted packet (RFC 9768 §3.2). Its text has been processed.
    #[inline(never)]
    pub(super) fn count_packet(&mut self, segment: &Segment, ecn: Ecn) {
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
            return;
        }
        let text_unacked = self.unacked.bytes > 0;
        let was_due = self.pending.ack;
        if let Some(feedback) = self.rare.part_mut(|r| r.ecn.accurate()) {
            let changed = feedback.counters.count(ecn, segment.len);
            feedback.acks_only_acks &= segment.len == 0;
            if changed || feedback.counters.is_due(text_unacked) {
                feedback.acks_only_acks |= segment.seq_len() == 0 && !text_unacked && !was_due;
                self.pending.ack = true;
            }
        }
    }

    /// The AccECN option of a segment with `len` bytes of text (or, with `len` 0 and `text`, of text still to
    /// be sized), and how many SACK blocks fit beside it. Two SACK blocks have priority over the option,
    /// which has priority over the others (RFC 9768 §3.2.3.3).
    pub(super) fn feedback_option(
        &self,
        timestamps: Option<Timestamps>,
        sack: &SackBlocks,
        len: u32,
        text: bool,
    ) -> (Option<AccEcn>, usize) {
        let none = (None, sack.len());
        let Some(feedback) = self.rare.ecn.feedback.as_ref().filter(|_| self.rare.ecn.is_accurate()) else {
            return none;
        };
        let most = MAX_OPTIONS_LEN as u32 - if timestamps.is_some() { 10 } else { 0 };
        let blocks = |n: usize| if n > 0 { 2 + 8 * n as u32 } else { 0 };
        let mut room = most - blocks(sack.len().min(2));
        if len > 0 {
            // Text whose length is already fixed leaves no more room than this.
            let header = self.smss.saturating_sub(len) + if timestamps.is_some() { 2 } else { 0 };
            room = room.min((header & !3).saturating_sub(blocks(sack.len())));
        }
        if feedback.acks_only_acks && len == 0 && !text {
            return (feedback.counters.option(most, feedback.test_ack), 0);
        }
        let test = if text { feedback.test_text } else { feedback.test_ack };
        let Some(option) = feedback.counters.option(room, test) else { return none };
        let left = (most - option.wire_len()).saturating_sub(2) / 8;
        (Some(option), sack.len().min(left as usize))
    }

    /// The ECN flags of a segment that is sent now.
    #[inline(never)]
    pub(super) fn feedback_flags(&mut self, seq: SeqNumber, len: u32, fin: bool, options: &Options) -> Flags {
        let Some(feedback) = self.rare.part_mut(|r| r.ecn.accurate()) else { return Flags::ECE };
        let ace = feedback.counters.on_send(options.accecn.as_ref());
        let acks_syn_ack = std::mem::take(&mut feedback.acks_syn_ack);
        feedback.acks_only_acks = false;
        if len == 0 {
            feedback.test_ack = false;
        } else if std::mem::take(&mut feedback.test_text) && options.accecn.is_some() {
            feedback.tested = Some(seq);
        }
        let pure = len == 0 && !fin && options.sack.is_empty();
        ace_flags(if acks_syn_ack && pure { feedback.arrived } else { ace })
    }

    /// The counter as flags for a reset, which carries it too (RFC 9768 §3.2.2.2).
    pub(super) fn counter_flags(&self) -> Flags {
        match &self.rare.ecn.feedback {
            Some(feedback) if self.uses_accurate_ecn() && self.state.is_synchronized() => {
                ace_flags(feedback.counters.ace())
            }
            _ => Flags::default(),
        }
    }

    /// True when every segment carries a counter of marks in its flags, CWR included.
    pub fn uses_accurate_ecn(&self) -> bool {
        self.rare.is_some_and(|r| r.ecn.is_accurate())
    }
}

/// The sending side.
impl Connection {
    /// The window was reduced: CWR is due (RFC 3168 §6.1.2), unless that flag is part of a counter (RFC 9768
    /// §3.1.5).
    pub(super) fn note_reduction(&mut self) {
        let at = self.snd_nxt;
        if self.rare.is_some_and(|r| r.ecn.is_on()) {
            let state = &mut self.rare.make_mut().ecn;
            if state.mode == Mode::Accurate {
                (state.reduced, state.reduced_at) = (true, at);
            } else {
                state.cwr = true;
            }
        }
    }

    /// The last reduction was undone: a CWR that is due for it (RFC 3168 §6.1.2) would report what is so no
    /// more, and end the echo of a mark (§6.1.3) that nobody has answered.
    pub(super) fn withdraw_reduction(&mut self) {
        if self.rare.is_some_and(|r| r.ecn.cwr) {
            self.rare.make_mut().ecn.cwr = false;
        }
    }

    /// Reads the ECN flags of an acceptable segment, with ECN in use.
    #[inline(never)]
    pub(super) fn read_ecn_flags(&mut self, flags: Flags) {
        let state = &mut self.rare.make_mut().ecn;
        if state.mode == Mode::Rfc3168 && flags.has(Flags::CWR) {
            // The sender has reduced its window: stop echoing, unless this packet is marked again (RFC 3168
            // §6.1.3).
            state.echo = false;
        }
    }

    /// Reads the counters of an ack that newly delivers `delivered` of `flight` outstanding bytes, unless a
    /// later ack was read before (RFC 9768 §3.2.2.2, §A.1). `new`: it acknowledges or SACKs something new.
    #[inline(never)]
    pub(super) fn read_feedback(&mut self, segment: &Segment, new: bool, delivered: u32, flight: u32) {
        let certain = self.sack_on || (self.phase == Phase::Open && self.sender.dup_acks.count == 0);
        let smss = self.smss;
        // What is retransmitted is not ECN-capable, and not marked.
        let rounds = self.config.ecn_check_rounds;
        let checks =
            rounds > 0 && delivered > 0 && matches!(self.phase, Phase::Open | Phase::Disorder | Phase::Cwr);
        let snd_nxt = self.snd_nxt;
        let Some(feedback) = self.rare.part_mut(|r| r.ecn.accurate()) else { return };
        let tsval = segment.options.timestamps.map(|ts| ts.tsval);
        let later = match (feedback.tsval, tsval) {
            (Some(before), Some(now)) => now.wrapping_sub(before) as i32 > 0,
            (before, now) => before.is_none() && now.is_some(),
        };
        feedback.marks = Marks::default();
        if !new && !later {
            return;
        }
        if later {
            feedback.tsval = tsval;
        }
        let covered = Covered { packets: delivered.div_ceil(smss), certain, smss };
        let mut marks = feedback.counters.read(ace_of(segment.flags), segment.options.accecn, covered);
        if checks
            && feedback.continuous != Continuous::No
            && feedback.continuous.on_ack(
                marks,
                (covered.packets, delivered.into()),
                segment.ack,
                snd_nxt,
                rounds,
            )
        {
            // RFC 9768 §3.2.2.3: send what is not ECN-capable from now on, and respond to no mark.
            feedback.counters.distrust_marks();
            marks = Marks::default();
        }
        feedback.marks = Marks { bytes: marks.bytes.min(flight), ..marks };
    }

    /// True when an ack reports marks.
    #[inline(always)]
    pub(super) fn may_report_marks(&self, segment: &Segment) -> bool {
        self.rare.is_some_and(|r| match r.ecn.mode {
            Mode::Off => false,
            Mode::Accurate => r.ecn.feedback.as_ref().is_some_and(|m| m.marks != Marks::default()),
            Mode::Rfc3168 | Mode::Dctcp => segment.flags.has(Flags::ECE),
        })
    }

    /// The marked bytes that an ack reports, of `delivered` newly delivered ones; `None` when it reports no
    /// mark.
    #[inline(always)]
    pub(super) fn marked_bytes(&mut self, segment: &Segment, delivered: Bytes) -> Option<Bytes> {
        if self.may_report_marks(segment) { self.count_marked(delivered) } else { None }
    }

    #[cold]
    fn count_marked(&mut self, delivered: Bytes) -> Option<Bytes> {
        // Without counters, an echo marks all the bytes that the ack delivers (RFC 8257 §3.3).
        Some(
            self.rare
                .part_mut(|r| r.ecn.accurate())
                .map_or(delivered, |m| std::mem::take(&mut m.marks).bytes.into()),
        )
    }

    /// The segment at `seq` is retransmitted. If it tested whether the path passes the option, the option is
    /// not sent any more (RFC 9768 §3.2.3.2.2).
    #[inline]
    pub(super) fn note_lost_test(&mut self, seq: SeqNumber) {
        if self.rare.is_some_and(|r| r.ecn.is_accurate())
            && let Some(feedback) = self.rare.part_mut(|r| r.ecn.accurate())
            && feedback.tested == Some(seq)
        {
            feedback.counters.option_enabled = false;
        }
    }
}
