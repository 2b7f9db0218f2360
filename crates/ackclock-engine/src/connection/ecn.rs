//! Explicit congestion notification: which mode is negotiated, what a receiver says of marks, and what a
//! sender makes of it (RFC 3168, RFC 8257 §3.2, RFC 9768).

mod accurate;
mod handshake;

use ackclock_policy::{Ecn, Phase};
use ackclock_units::{Bytes, Instant, SeqNumber};
use ackclock_wire::{AccEcn, Flags, MAX_OPTIONS_LEN, Options, SackBlocks, Segment, Timestamps};

use self::accurate::{Counters, Covered, Marks, ace_flags, ace_of};
use super::Connection;

/// What the two ends have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// No ECN.
    Off,
    /// An echo from a mark until CWR (RFC 3168 §6.1).
    Rfc3168,
    /// The same, and our acks say how the last packet arrived (RFC 8257 §3.2).
    Dctcp,
    /// Counters (RFC 9768).
    Accurate,
}

/// ECN in use.
#[derive(Debug)]
pub(super) struct EcnState {
    mode: Mode,
    /// ECE goes with every ack: until the peer says CWR (RFC 3168 §6.1.3), or DCTCP.CE (RFC 8257 §3.2).
    echo: bool,
    /// Set CWR on the next new data.
    cwr: bool,
    /// What marks say is of a window that was reduced already: nothing sent since is acknowledged.
    reduced: bool,
    /// Where the data begins that was sent since. Only with `reduced`: a stale number would compare wrongly
    /// after two gigabytes.
    reduced_at: SeqNumber,
    more: Option<Box<More>>,
}

/// What the modes beyond RFC 3168 need.
#[derive(Debug)]
struct More {
    /// An ack that leaves before everything else.
    ack_first: Option<Segment>,
    counters: Counters,
    /// The handshake code of the latest SYN or SYN-ACK that arrived (RFC 9768 §3.1.5).
    arrived: u8,
    /// The next pure ack says that code, as it answers a SYN-ACK (RFC 9768 §3.2.2.1).
    answers_syn_ack: bool,
    /// A marked SYN-ACK was counted; there is one at most (RFC 9768 §3.2.2.2).
    syn_ack_counted: bool,
    /// Our SYN or SYN-ACK arrived marked.
    opening_marked: bool,
    /// The ack that is due answers acks: it has no SACK blocks (RFC 9768 §3.2.2.5.1).
    answers_acks: bool,
    /// The flags of the segment at hand are no counter.
    no_counter: bool,
    /// A counter of the peer's has been seen (RFC 9768 §3.2.2.4).
    counter_seen: bool,
    /// The first ack and the first text try whether the option passes (RFC 9768 §3.2.3.2.1).
    test_ack: bool,
    test_text: bool,
    /// That text.
    tested: Option<SeqNumber>,
    /// Clock of the latest ack that was read.
    tsval: Option<u32>,
    /// What the ack at hand has newly reported.
    marks: Marks,
}

impl EcnState {
    pub(super) const INITIAL: Self = Self {
        mode: Mode::Off,
        echo: false,
        cwr: false,
        reduced: false,
        reduced_at: SeqNumber(0),
        more: None,
    };

    pub(super) fn is_on(&self) -> bool {
        self.mode != Mode::Off
    }

    pub(super) fn is_accurate(&self) -> bool {
        self.mode == Mode::Accurate
    }

    /// The codepoint of new data.
    pub(super) fn codepoint(&self) -> Ecn {
        let capable = match self.mode {
            Mode::Off => false,
            Mode::Rfc3168 | Mode::Dctcp => true,
            Mode::Accurate => self.more.as_ref().is_some_and(|m| m.counters.capable),
        };
        if capable { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// True when segments say something of marks.
    pub(super) fn speaks(&self) -> bool {
        self.echo || self.mode == Mode::Accurate
    }

    /// The receiver echoes until it hears CWR, and what it says until that is acknowledged is old (RFC 3168
    /// §6.1.2, §6.1.3).
    pub(super) fn is_answered(&self) -> bool {
        self.cwr || self.reduced
    }

    /// True when an ack of `ack` shows that what was sent after the last reduction arrives.
    pub(super) fn outlives_reduction(&self, ack: SeqNumber) -> bool {
        self.reduced && self.reduced_at < ack
    }

    pub(super) fn forget_reduction(&mut self) {
        self.reduced = false;
    }

    /// True when the new data at `seq`, which leaves now, says CWR.
    pub(super) fn says_cwr(&mut self, seq: SeqNumber) -> bool {
        let says = std::mem::take(&mut self.cwr);
        if says {
            (self.reduced, self.reduced_at) = (true, seq);
        }
        says
    }

    pub(super) fn has_ack_first(&self) -> bool {
        self.more.as_ref().is_some_and(|m| m.ack_first.is_some())
    }

    /// Our SYN or SYN-ACK arrived marked: as after a lost one, the first window is one segment (RFC 3168
    /// §6.1.2 has a mark stand for a loss; RFC 9768 §3.2.2.2 asks for the response).
    pub(super) fn opening_marked(&self) -> bool {
        self.more.as_ref().is_some_and(|m| m.opening_marked)
    }

    /// The counters in their mode.
    fn accurate(&mut self) -> Option<&mut More> {
        if self.mode == Mode::Accurate { self.more.as_deref_mut() } else { None }
    }
}

impl More {
    const NEW: Self = Self {
        ack_first: None,
        counters: Counters::NEW,
        arrived: 0,
        answers_syn_ack: false,
        syn_ack_counted: false,
        opening_marked: false,
        answers_acks: false,
        no_counter: false,
        counter_seen: false,
        test_ack: false,
        test_text: false,
        tested: None,
        tsval: None,
        marks: Marks { packets: 0, bytes: 0 },
    };
}

/// The receiving side.
impl Connection {
    /// Text arrived marked, or not any more.
    #[inline(never)]
    pub(super) fn note_change(&mut self, now: Instant, marked: bool) {
        match self.rare.ecn.mode {
            // RFC 3168 §6.1.3: echo Congestion Experienced until the sender says that it reduced its window.
            Mode::Rfc3168 if marked => {
                self.rare.make().ecn.echo = true;
                self.pending.ack = true;
            }
            Mode::Dctcp if marked != self.rare.ecn.echo => {
                // RFC 8257 §3.2: an immediate ack; and one with the state before for what came before, so
                // that the sender counts the marked bytes rightly.
                if (self.unacked.segments > 0 || self.pending.ack) && !self.rare.ecn.has_ack_first() {
                    let before = self.transmit_ack(now).segment;
                    if let Some(more) = &mut self.rare.make().ecn.more {
                        more.ack_first = Some(before);
                    }
                }
                self.rare.make().ecn.echo = marked;
                self.pending.ack = true;
            }
            _ => {}
        }
    }

    /// True when text with or without a mark may be a change.
    #[inline(always)]
    pub(super) fn may_change(&self, ecn: Ecn) -> bool {
        self.rare.says(|r| r.ecn.echo | (ecn == Ecn::Ce))
    }

    /// Counts a packet that was accepted (RFC 9768 §3.2); text of it is in place.
    #[inline(never)]
    pub(super) fn count_packet(&mut self, segment: &Segment, ecn: Ecn) {
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
            return;
        }
        let text_waits = self.unacked.bytes > 0;
        let was_due = self.pending.ack;
        if let Some(more) = self.rare.part(|r| r.ecn.accurate()) {
            let changed = more.counters.count(ecn, segment.len);
            more.answers_acks &= segment.len == 0;
            if changed || more.counters.is_due(text_waits) {
                more.answers_acks |= segment.seq_len() == 0 && !text_waits && !was_due;
                self.pending.ack = true;
            }
        }
    }

    /// The option of a segment with `len` bytes of text, or of at least so many, beside the other options;
    /// and how many SACK blocks there is room for with it. Two come first, then the option, then the others
    /// (RFC 9768 §3.2.3.3).
    pub(super) fn feedback_option(
        &self,
        timestamps: Option<Timestamps>,
        sack: &SackBlocks,
        len: u32,
        text: bool,
    ) -> (Option<AccEcn>, usize) {
        let none = (None, sack.len());
        let Some(more) = self.rare.ecn.more.as_ref().filter(|_| self.rare.ecn.is_accurate()) else {
            return none;
        };
        let most = MAX_OPTIONS_LEN as u32 - if timestamps.is_some() { 10 } else { 0 };
        let blocks = |n: usize| if n > 0 { 2 + 8 * n as u32 } else { 0 };
        let mut room = most - blocks(sack.len().min(2));
        if len > 0 {
            // Text of a length that was chosen before leaves no more than this.
            let header = self.smss.saturating_sub(len) + if timestamps.is_some() { 2 } else { 0 };
            room = room.min((header & !3).saturating_sub(blocks(sack.len())));
        }
        if more.answers_acks && len == 0 && !text {
            return (more.counters.option(most, more.test_ack), 0);
        }
        let test = if text { more.test_text } else { more.test_ack };
        let Some(option) = more.counters.option(room, test) else { return none };
        let left = (most - option.wire_len()).saturating_sub(2) / 8;
        (Some(option), sack.len().min(left as usize))
    }

    /// The ECN flags of a segment that leaves now.
    #[inline(never)]
    pub(super) fn feed_back(&mut self, seq: SeqNumber, len: u32, fin: bool, options: &Options) -> Flags {
        let Some(more) = self.rare.part(|r| r.ecn.accurate()) else { return Flags::ECE };
        let ace = more.counters.leave(options.accecn.as_ref());
        let answers = std::mem::take(&mut more.answers_syn_ack);
        more.answers_acks = false;
        if len == 0 {
            more.test_ack = false;
        } else if std::mem::take(&mut more.test_text) && options.accecn.is_some() {
            more.tested = Some(seq);
        }
        let pure = len == 0 && !fin && options.sack.is_empty();
        ace_flags(if answers && pure { more.arrived } else { ace })
    }

    /// The counter as flags, for a reset, which says it too (RFC 9768 §3.2.2.2).
    pub(super) fn counter_flags(&self) -> Flags {
        match &self.rare.ecn.more {
            Some(more) if self.counts_marks() && self.state.is_synchronized() => {
                ace_flags(more.counters.ace())
            }
            _ => Flags::default(),
        }
    }

    /// True when every segment carries a counter of marks in its flags, CWR included.
    pub fn counts_marks(&self) -> bool {
        self.rare.says(|r| r.ecn.is_accurate())
    }

    /// An ack that leaves before everything else.
    pub(super) fn take_ack_first(&mut self) -> Option<Segment> {
        let ack = self.rare.make().ecn.more.as_mut()?.ack_first.take();
        ack.filter(|_| self.state.is_synchronized())
    }
}

/// The sending side.
impl Connection {
    /// The window was reduced: CWR says so (RFC 3168 §6.1.2), but not where the flag is part of a counter
    /// (RFC 9768 §3.1.5).
    pub(super) fn note_reduction(&mut self) {
        let at = self.snd_nxt;
        if self.rare.says(|r| r.ecn.is_on()) {
            let state = &mut self.rare.make().ecn;
            if state.mode == Mode::Accurate {
                (state.reduced, state.reduced_at) = (true, at);
            } else {
                state.cwr = true;
            }
        }
    }

    /// What the flags of a plausible segment say beside acknowledging, where ECN is in use.
    #[inline(never)]
    pub(super) fn read_ecn_flags(&mut self, flags: Flags) {
        let state = &mut self.rare.make().ecn;
        if state.mode == Mode::Rfc3168 && flags.has(Flags::CWR) {
            // The sender has reduced its window: stop echoing, unless this packet is marked again (RFC 3168
            // §6.1.3).
            state.echo = false;
        }
        if let Some(more) = state.accurate()
            && !std::mem::take(&mut more.no_counter)
            && !std::mem::replace(&mut more.counter_seen, true)
        {
            more.counters.check_first_ace(ace_of(flags));
        }
    }

    /// Reads the feedback of an ack that newly delivers so many bytes of the `flight` that was outstanding,
    /// unless another has superseded it (RFC 9768 §3.2.2.2, §A.1).
    #[inline(never)]
    pub(super) fn read_feedback(&mut self, segment: &Segment, news: bool, delivered: u32, flight: u32) {
        let certain = self.sack_on || (self.phase == Phase::Open && self.sender.dups.count == 0);
        let smss = self.smss;
        let Some(more) = self.rare.part(|r| r.ecn.accurate()) else { return };
        let tsval = segment.options.timestamps.map(|ts| ts.tsval);
        let later = match (more.tsval, tsval) {
            (Some(before), Some(now)) => now.wrapping_sub(before) as i32 > 0,
            (before, now) => before.is_none() && now.is_some(),
        };
        more.marks = Marks::default();
        if !news && !later {
            return;
        }
        if later {
            more.tsval = tsval;
        }
        let covered = Covered { packets: delivered.div_ceil(smss), certain, smss };
        let marks = more.counters.read(ace_of(segment.flags), segment.options.accecn, covered);
        more.marks = Marks { bytes: marks.bytes.min(flight), ..marks };
    }

    /// True when an ack may report congestion.
    #[inline(always)]
    pub(super) fn may_echo(&self, segment: &Segment) -> bool {
        self.rare.says(|r| match r.ecn.mode {
            Mode::Off => false,
            Mode::Accurate => r.ecn.more.as_ref().is_some_and(|m| m.marks != Marks::default()),
            Mode::Rfc3168 | Mode::Dctcp => segment.flags.has(Flags::ECE),
        })
    }

    /// The marked bytes that an ack reports which newly delivers so many; `None` when it reports no mark.
    #[inline(always)]
    pub(super) fn marked_bytes(&mut self, segment: &Segment, delivered: Bytes) -> Option<Bytes> {
        if self.may_echo(segment) { self.count_marked(delivered) } else { None }
    }

    #[cold]
    fn count_marked(&mut self, delivered: Bytes) -> Option<Bytes> {
        // Without counters an echo stands for all that is delivered (RFC 8257 §3.3).
        Some(
            self.rare
                .part(|r| r.ecn.accurate())
                .map_or(delivered, |m| std::mem::take(&mut m.marks).bytes.into()),
        )
    }

    /// `seq` is sent again: if it had tried whether the option passes, the option is left out from here on
    /// (RFC 9768 §3.2.3.2.2).
    #[inline]
    pub(super) fn note_lost_test(&mut self, seq: SeqNumber) {
        if self.rare.says(|r| r.ecn.is_accurate())
            && let Some(more) = self.rare.part(|r| r.ecn.accurate())
            && more.tested == Some(seq)
        {
            more.counters.sends_option = false;
        }
    }
}
