//! What the SACK blocks of an ack report, and which acks are duplicates.

use ackclock_units::SeqRange;
use ackclock_wire::Segment;

use super::Connection;

/// The largest possible window (RFC 7323 §2.3). A range further below the acknowledgment number cannot belong
/// to this connection.
const MAX_WINDOW: u32 = 1 << 30;

impl Connection {
    /// The first SACK block if it is a DSACK: it lies below the acknowledgment number or inside the second
    /// block (RFC 2883 §4).
    pub(super) fn dsack_of(&self, segment: &Segment) -> Option<SeqRange> {
        let blocks = segment.options.sack.as_slice();
        let first = *blocks.first()?;
        let below = first.is_inside(SeqRange::new(segment.ack - MAX_WINDOW, segment.ack));
        let outstanding = SeqRange::new(segment.ack, self.snd_nxt);
        let inside =
            || blocks.get(1).is_some_and(|second| second.is_inside(outstanding) && first.is_inside(*second));
        (self.sack_on && (below || inside())).then_some(first)
    }

    /// Marks what the SACK blocks report. Returns the bytes newly SACKed. There is a gap before each block
    /// (RFC 2018 §3): one that begins at the acknowledgment number contradicts it.
    #[inline(never)]
    pub(super) fn process_sack_blocks(&mut self, segment: &Segment, dsack: Option<SeqRange>) -> u32 {
        let blocks = segment.options.sack.as_slice();
        let blocks = if dsack.is_some() { &blocks[1..] } else { blocks };
        // A block that covers data never sent is ignored as a whole: the peer may send any numbers.
        let outstanding = SeqRange::new(segment.ack, self.snd_nxt);
        let (una, sent) = (self.snd_una, &mut self.sender.make_mut().sent);
        let valid = |b: &&SeqRange| b.is_inside(outstanding) && b.start > una;
        blocks.iter().filter(valid).map(|b| sent.sack(*b)).sum()
    }

    /// True for a duplicate ack as RFC 5681 §2 defines it; with SACK, an ack that SACKs something new (RFC
    /// 6675 §2).
    pub(super) fn is_duplicate(&self, segment: &Segment, newly_sacked: u32, window_changed: bool) -> bool {
        if self.sack_on {
            return newly_sacked > 0;
        }
        segment.ack == self.snd_una && segment.seq_len() == 0 && !window_changed
    }
}
