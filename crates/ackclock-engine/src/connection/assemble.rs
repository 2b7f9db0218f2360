//! Assembling segments: the acknowledgment, the window and the options that every segment carries.

use ackclock_policy::ReceiverEvent;
use ackclock_units::{Instant, SeqNumber, SeqRange, mostly, seldom};
use ackclock_wire::{Flags, Options, SackBlocks, Segment, Timestamps};

use super::Connection;

impl Connection {
    /// A segment with the current acknowledgment, window and options.
    #[inline(always)]
    pub(super) fn segment(&mut self, now: Instant, seq: SeqNumber, len: u32, flags: Flags) -> Segment {
        let mut options = Options::default();
        let (mut marks, mut urgent) = (Flags::default(), 0);
        if self.rare.is_allocated() || self.reports_ranges() {
            options = self.options(now, len, len > 0);
            (marks, urgent) = self.marks(now, seq, len, flags, &options);
        }
        let window = if mostly(self.ack_is_current & !self.pending.ack) {
            self.window_field()
        } else {
            self.acknowledge(now)
        };
        Segment { seq, ack: self.rcv_nxt, len, window, flags: flags | marks, urgent, options }
    }

    /// Flags that few segments carry beside `flags`, and the urgent pointer.
    #[inline(never)]
    fn marks(
        &mut self,
        now: Instant,
        seq: SeqNumber,
        len: u32,
        flags: Flags,
        options: &Options,
    ) -> (Flags, u16) {
        if len > 0 {
            self.ack_event(now, ReceiverEvent::Sent);
        }
        let echo = if self.rare.is_some_and(|r| r.ecn.sends_feedback()) {
            self.feedback_flags(seq, len, flags.has(Flags::FIN), options)
        } else {
            Flags::default()
        };
        match self.rare.is_some_and(|r| r.urgent.is_some()).then(|| self.urgent_pointer(seq)).flatten() {
            Some(urgent) => (echo | Flags::URG, urgent),
            None => (echo, 0),
        }
    }

    /// An acknowledgment is sent now. Returns its window field.
    #[inline(never)]
    fn acknowledge(&mut self, now: Instant) -> u16 {
        let window = self.advertise();
        self.ack_sent(now);
        window
    }

    /// Options of a segment that is not a SYN, with `len` bytes of text. With `len` 0 and `text`, the text is
    /// still to be sized to fit.
    #[inline(never)]
    fn options(&self, now: Instant, len: u32, text: bool) -> Options {
        let timestamps = self.timestamps(now);
        let mut sack = SackBlocks::NONE;
        if self.reports_ranges() {
            // With timestamps there is room for three blocks (RFC 2018 §3).
            let room = if timestamps.is_some() { 3 } else { 4 };
            // A FIN behind a gap is reported with the range before it, or with what contradicts it.
            let fin = self.rare.fin_at;
            let held = self.receive.sack_blocks().map(|b| match fin {
                Some(at) if at == b.end => SeqRange::new(b.start, b.end + 1),
                Some(at) if at + 1 == b.start && self.config.sack_fin => SeqRange::new(at, b.end),
                _ => b,
            });
            let alone = fin.and_then(|_| self.lone_fin());
            let first = alone.filter(|_| self.rare.fin_is_latest);
            let last = alone.filter(|_| !self.rare.fin_is_latest);
            let held = first.into_iter().chain(held).chain(last);
            self.dsack.into_iter().chain(held).take(room).for_each(|b| sack.push(b));
        }
        let mut accecn = None;
        if self.rare.is_some_and(|r| r.ecn.is_accurate()) {
            let blocks;
            (accecn, blocks) = self.feedback_option(timestamps, &sack, len, text);
            sack.truncate(blocks);
        }
        Options { timestamps, sack, accecn, ..Options::default() }
    }

    /// A FIN ahead of missing data, where no data was received right before it and it is to be reported.
    #[cold]
    fn lone_fin(&self) -> Option<SeqRange> {
        let at =
            self.rare.fin_at.filter(|at| self.config.sack_fin && *at > self.rcv_nxt && !self.fin_received)?;
        let follows = self.receive.sack_blocks().any(|b| b.end == at || b.start == at + 1);
        (!follows).then(|| SeqRange::new(at, at + 1))
    }

    /// Timestamps, if they are in use.
    pub(super) fn timestamps(&self, now: Instant) -> Option<Timestamps> {
        self.rare
            .is_some_and(|r| r.timestamps.on)
            .then(|| Timestamps { tsval: self.timestamp_clock(now), tsecr: self.rare.timestamps.ts_recent })
    }

    /// The largest payload that fits beside the options of a segment sent now. `smss` excludes timestamps
    /// already.
    #[inline]
    pub(super) fn max_payload(&self, now: Instant) -> u32 {
        if self.reports_ranges() || self.rare.is_some_and(|r| r.ecn.is_accurate()) {
            let options = self.options(now, 0, true);
            let in_smss = if options.timestamps.is_some() { 12 } else { 0 };
            self.smss.saturating_sub(options.wire_len() - in_smss).max(1)
        } else {
            self.smss
        }
    }

    /// True when the next segment carries SACK blocks.
    #[inline]
    fn reports_ranges(&self) -> bool {
        seldom(
            self.dsack.is_some() || self.receive.has_gap() || self.rare.is_some_and(|r| r.fin_at.is_some()),
        ) && self.sack_on
            && (self.dsack.is_some() || self.receive.has_gap() || self.lone_fin().is_some())
    }
}
