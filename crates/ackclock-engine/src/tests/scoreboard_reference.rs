//! The scoreboard against the reference that the laws of recoveries use: after any calls, both show a policy the
//! same segments, marks and ranges.

use ackclock_policy::ReferenceScoreboard;
use ackclock_units::Rng;

use super::*;

const MSS: u32 = 1000;

/// Both scoreboards, and the sequence numbers outstanding on them.
struct Pair {
    board: OutstandingSegments,
    reference: ReferenceScoreboard,
    una: SeqNumber,
    nxt: SeqNumber,
}

impl Pair {
    fn segments(&self) -> u32 {
        self.nxt.bytes_since(self.una) / MSS
    }

    /// A range of whole outstanding segments.
    fn range(&self, rng: &mut Rng) -> SeqRange {
        let n = u64::from(self.segments());
        let first = rng.next_u64() % n;
        let len = 1 + rng.next_u64() % (n - first).min(4);
        let start = self.una + first as u32 * MSS;
        SeqRange::new(start, start + len as u32 * MSS)
    }

    fn step(&mut self, rng: &mut Rng, now: Instant) {
        let outstanding = self.segments();
        match rng.next_u64() % 8 {
            0..3 if outstanding < 40 => {
                let range = SeqRange::new(self.nxt, self.nxt + MSS);
                self.board.push(range.start, MSS, false, now);
                self.reference.push(range, now);
                self.nxt = range.end;
            }
            3 if outstanding > 0 => {
                self.una = self.range(rng).end;
                let removed = self.board.acknowledge(self.una).segments;
                assert_eq!(removed, self.reference.acknowledge(self.una));
            }
            4 | 5 if outstanding > 0 => {
                let block = self.range(rng);
                assert_eq!(u64::from(self.board.sack(block)), self.reference.sack(block));
            }
            6 if outstanding > 0 => {
                let lost = self.range(rng);
                self.board.mark_lost(lost);
                self.reference.mark_lost(lost);
            }
            7 if outstanding > 0 => {
                let seq = self.range(rng).start;
                if self.board.retransmit(seq, MSS, now).is_some() {
                    self.reference.retransmit(seq, now);
                }
            }
            _ => {}
        }
    }

    fn check(&self) {
        let shown: Vec<_> = self.board.segments_from(self.una).collect();
        let expected = self.reference.outstanding().iter();
        // The scoreboard counts four transmissions at most.
        let expected: Vec<_> =
            expected.map(|s| SentSegment { transmissions: s.transmissions.min(4), ..*s }).collect();
        assert_eq!(shown, expected);
        assert_eq!(self.board.sacked(), self.reference.sacked());
        for i in 0..=self.segments() {
            let from = self.una + i * MSS;
            assert_eq!(self.board.next_unsacked(from), self.reference.next_unsacked(from));
            assert_eq!(self.board.next_lost(from), self.reference.next_lost(from));
            let segment = self.reference.segment(from);
            assert_eq!(self.board.segment(from).map(|s| s.range), segment.map(|s| s.range));
        }
    }
}

#[test]
fn the_scoreboard_shows_what_the_reference_shows() {
    for seed in 0..200 {
        let mut rng = Rng::stream(seed, "scoreboard", 0);
        // Across the wrap of the sequence space.
        let start = SeqNumber(0u32.wrapping_sub(30 * MSS));
        let mut pair = Pair {
            board: OutstandingSegments::new(),
            reference: ReferenceScoreboard::default(),
            una: start,
            nxt: start,
        };
        for step in 0..400 {
            pair.step(&mut rng, Instant::from_nanos(step * 1000));
            pair.check();
        }
    }
}
