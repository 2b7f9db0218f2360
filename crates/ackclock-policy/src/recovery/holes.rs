use ackclock_units::{SeqNumber, SeqRange};

use crate::SenderView;

/// The greatest sequence number below which IsLost() holds for everything un-SACKed (RFC 6675 §4):
/// `dup_thresh` discontiguous ranges or more bytes of data than `dup_thresh - 1` segments have are SACKed
/// above. `None` when nothing is lost.
pub(super) fn lost_below(sacked: &[SeqRange], dup_thresh: u32, v: &SenderView) -> Option<SeqNumber> {
    let enough_bytes = u64::from(dup_thresh - 1) * u64::from(v.smss);
    let (mut ranges, mut bytes) = (0, 0);
    let above = sacked.iter().rev().find(|range| {
        ranges += 1;
        bytes += u64::from(data(range, v));
        ranges >= dup_thresh || bytes > enough_bytes
    })?;
    Some(above.start)
}

/// The greatest sequence number above which `dup_thresh` segments are SACKed, by the same measure; it may lie
/// inside a range.
pub(super) fn sacked_above(sacked: &[SeqRange], dup_thresh: u32, v: &SenderView) -> Option<SeqNumber> {
    let mut wanted = u64::from(dup_thresh - 1) * u64::from(v.smss) + 1;
    let mut ranges = 0;
    for range in sacked.iter().rev() {
        ranges += 1;
        let len = u64::from(data(range, v));
        if wanted <= len {
            return Some(range.start + (len - wanted) as u32);
        }
        if ranges >= dup_thresh {
            return Some(range.start);
        }
        wanted -= len;
    }
    None
}

/// The bytes of data in a SACKed range, without a FIN.
fn data(range: &SeqRange, v: &SenderView) -> u32 {
    range.end.min(v.data_end).bytes_since(range.start)
}

/// Bytes between `from` and the forward-most SACKed byte that are not SACKed.
pub(super) fn unreported(sacked: &[SeqRange], from: SeqNumber) -> u32 {
    let Some(fack) = sacked.last().map(|range| range.end).filter(|fack| *fack > from) else { return 0 };
    let above = sacked.iter().rev().take_while(|range| range.end > from);
    let reported: u32 = above.map(|range| range.end.bytes_since(range.start.max(from))).sum();
    fack.bytes_since(from) - reported
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 1000 bytes from a number close to the wrap.
    fn ranges(segs: &[(u32, u32)]) -> Vec<SeqRange> {
        segs.iter().map(|(from, to)| SeqRange::new(seq(*from), seq(*to))).collect()
    }

    fn seq(i: u32) -> SeqNumber {
        SeqNumber(0xffff_f000) + 1000 * i
    }

    /// So many segments were sent.
    fn sent(segs: u32, smss: u32) -> SenderView {
        SenderView { smss, snd_nxt: seq(segs) + 1, data_end: seq(segs), ..crate::harness::view() }
    }

    #[test]
    fn a_hole_with_three_segments_sacked_above_is_lost() {
        for (sacked, lost, above) in [
            (&[][..], None, None),
            (&[(1, 3)], None, None),
            (&[(1, 4)], Some(1), Some(1)),
            (&[(1, 9)], Some(1), Some(6)),
            (&[(1, 2), (3, 5)], Some(1), Some(1)),
            (&[(1, 5), (6, 8)], Some(1), Some(4)),
            (&[(1, 2), (3, 4), (5, 6)], Some(1), Some(1)),
        ] {
            let sacked = ranges(sacked);
            assert_eq!(lost_below(&sacked, 3, &sent(20, 1000)), lost.map(seq), "{sacked:?}");
            // The number itself may lie up to a byte short of another whole segment.
            let got = sacked_above(&sacked, 3, &sent(20, 1000));
            assert_eq!(got.map(|at| at.bytes_since(seq(0)) / 1000), above, "{sacked:?}");
        }
        // Small segments count by ranges.
        assert_eq!(sacked_above(&ranges(&[(1, 2), (3, 4), (5, 6)]), 3, &sent(20, 10_000)), Some(seq(1)));
    }

    #[test]
    fn a_fin_does_not_count_as_data() {
        // Two segments and a FIN count as two segments (RFC 6675 §4, IsLost()).
        let two_and_a_fin = [SeqRange::new(seq(1), seq(3) + 1)];
        assert_eq!(lost_below(&two_and_a_fin, 3, &sent(3, 1000)), None);
        assert_eq!(sacked_above(&two_and_a_fin, 3, &sent(3, 1000)), None);
        let three_and_a_fin = [SeqRange::new(seq(1), seq(4) + 1)];
        assert_eq!(lost_below(&three_and_a_fin, 3, &sent(4, 1000)), Some(seq(1)));
    }

    #[test]
    fn bytes_not_sacked_below_the_forward_most_sack() {
        let sacked = ranges(&[(1, 3), (5, 6)]);
        for (from, bytes) in [(0, 3000), (1, 2000), (2, 2000), (3, 2000), (4, 1000), (5, 0), (6, 0), (7, 0)] {
            assert_eq!(unreported(&sacked, seq(from)), bytes, "from {from}");
        }
        assert_eq!(unreported(&[], seq(0)), 0);
    }
}
