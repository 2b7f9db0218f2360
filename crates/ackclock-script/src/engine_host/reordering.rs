//! How far the network reorders segments, as Linux measures it (`tcp_check_sack_reordering`).

use ackclock_policy::{Phase, SenderView};
use ackclock_units::{SeqNumber, SeqRange, SeqRanges};
use ackclock_wire::Segment;

/// Segments that arrive in another order than they left are taken for lost after so many others
/// (`tcp_reordering`).
const LEAST: u32 = 3;

/// The largest degree (`tcp_max_reordering`).
const MOST: u32 = 300;

/// What acks have shown.
#[derive(Debug)]
pub(crate) struct Reordering {
    /// How far segments were seen to be reordered, segments.
    pub(super) degree: u32,
    /// How often that was seen.
    pub(super) seen: u32,
    /// Segments that DSACKs reported as duplicates.
    pub(super) duplicates: u32,
    /// What was SACKed, and what was retransmitted, above what is acknowledged.
    sacked: SeqRanges,
    retransmitted: SeqRanges,
    /// The timestamp of the first of these retransmissions.
    first_again: Option<u32>,
}

impl Default for Reordering {
    fn default() -> Self {
        let (sacked, retransmitted) = (SeqRanges::new(), SeqRanges::new());
        Self { degree: LEAST, seen: 0, duplicates: 0, sacked, retransmitted, first_again: None }
    }
}

impl Reordering {
    /// A segment was retransmitted.
    pub(super) fn retransmitted(&mut self, segment: &Segment) {
        if holding(&self.sacked, segment.seq).is_some() {
            // The receiver has discarded what it had reported, and all of that is forgotten (`tcp_timeout_mark_lost`).
            self.sacked = SeqRanges::new();
        }
        self.retransmitted.insert(SeqRange::new(segment.seq, segment.end()));
        self.first_again = self.first_again.or(segment.options.timestamps.map(|t| t.tsval));
    }

    /// An ack arrives; `v` is from before it.
    pub(super) fn arrived(&mut self, segment: &Segment, v: &SenderView) {
        if !v.sack || segment.ack < v.snd_una || segment.ack > v.snd_nxt {
            return;
        }
        let highest_before = self.sacked.last().map_or(v.snd_una, |r| r.end);
        let above = SeqRange::new(segment.ack, v.snd_nxt);
        let mut lowest = None;
        let dsack = dsack(segment);
        // One of more than a segment stands for several (`tcp_dsack_seen`).
        self.duplicates += dsack.map_or(0, |range| range.len().div_ceil(v.smss.max(1)));
        // Linux looks at blocks in the order of their numbers, a DSACK among them.
        let mut blocks = segment.options.sack.as_slice().to_vec();
        blocks.sort_by_key(|b| b.start.bytes_since(v.snd_una));
        for block in blocks {
            if !block.is_inside(above) {
                continue;
            }
            let highest = self.sacked.last().map_or(v.snd_una, |r| r.end);
            // What fills a hole without having been sent again has come late, and so has what was SACKed before
            // its retransmission arrived.
            let late = if dsack == Some(block) {
                Some(block.start).filter(|seq| {
                    holding(&self.sacked, *seq).is_some() && holding(&self.retransmitted, *seq).is_some()
                })
            } else {
                self.first_unknown(block)
            };
            lowest = lower(lowest, late.filter(|seq| *seq < highest));
            self.sacked.insert(block);
        }
        if let Some(seq) = lowest {
            self.check(seq, self.sacked.last().map_or(v.snd_una, |r| r.end), v.smss);
        }
        if segment.ack > v.snd_una {
            let filled = self.first_unknown(SeqRange::new(v.snd_una, segment.ack));
            // A part of a repair that the original fills, as its timestamp shows (`tcp_try_undo_partial`).
            let echoed = segment.options.timestamps.map(|t| t.tsecr);
            let original = echoed.zip(self.first_again).is_some_and(|(echo, first)| is_before(echo, first));
            if v.phase == Phase::Recovery && segment.ack < v.recovery_point && original {
                self.check(v.snd_una, self.sacked.last().map_or(segment.ack, |r| r.end), v.smss);
            }
            self.sacked.forget_below(segment.ack);
            self.retransmitted.forget_below(segment.ack);
            if self.retransmitted.is_empty() {
                self.first_again = None;
            }
            if let Some(seq) = filled.filter(|seq| *seq < highest_before) {
                self.check(seq, self.sacked.last().map_or(segment.ack, |r| r.end), v.smss);
            }
        }
    }

    /// The first byte of a range that was neither SACKed nor retransmitted.
    fn first_unknown(&self, range: SeqRange) -> Option<SeqNumber> {
        let mut seq = range.start;
        while seq < range.end {
            match holding(&self.sacked, seq).or(holding(&self.retransmitted, seq)) {
                Some(known) => seq = known.end,
                None => return Some(seq),
            }
        }
        None
    }

    /// A segment at `seq` has come late, after one that ends at `highest`.
    fn check(&mut self, seq: SeqNumber, highest: SeqNumber, smss: u32) {
        if seq >= highest {
            return;
        }
        let distance = highest.bytes_since(seq);
        if smss > 0 && distance > self.degree.saturating_mul(smss) {
            self.degree = distance.div_ceil(smss).min(MOST);
        }
        self.seen += 1;
    }
}

/// The block with which a segment reports duplicates: the first one, if it is acknowledged or inside the second
/// (RFC 2883 4).
fn dsack(segment: &Segment) -> Option<SeqRange> {
    let blocks = segment.options.sack.as_slice();
    let inside = |first: &SeqRange| blocks.get(1).is_some_and(|second| first.is_inside(*second));
    blocks.first().copied().filter(|first| first.end <= segment.ack || inside(first))
}

/// The range that holds `seq`.
fn holding(ranges: &SeqRanges, seq: SeqNumber) -> Option<SeqRange> {
    ranges.get(ranges.partition_point(|r| r.end <= seq)).copied().filter(|r| r.contains(seq))
}

/// True if a timestamp is older than another (RFC 7323 §5.2).
fn is_before(a: u32, b: u32) -> bool {
    b.wrapping_sub(a).cast_signed() > 0
}

fn lower(a: Option<SeqNumber>, b: Option<SeqNumber>) -> Option<SeqNumber> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
