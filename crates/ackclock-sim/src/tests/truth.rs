use proptest::prelude::*;

use crate::truth::{Arrived, Dropped};

proptest! {
    #[test]
    fn arrived_bytes_are_the_union_of_the_ranges(
        before in prop_oneof![Just(0), (1..1000_u64).prop_map(|n| (n << 32) - n % 240)],
        ranges in prop::collection::vec((0..200_u64, 1..40_u64), 1..60),
    ) {
        let (mut arrived, mut model) = (Arrived::default(), [false; 240]);
        // Positions around which 32-bit numbers wrap.
        arrived.add(0, before);
        for (start, len) in ranges {
            arrived.add(before + start, before + start + len);
            model[start as usize..(start + len) as usize].fill(true);
            let prefix = model.iter().position(|there| !there).unwrap_or(model.len());
            prop_assert_eq!(arrived.prefix, before + prefix as u64);
        }
    }

    #[test]
    fn arrived_bytes_far_apart_are_the_union_of_the_ranges(
        before in 0..1_u64 << 47,
        mut ranges in prop::collection::vec((1..1_u64 << 29, 1..1_u64 << 28), 1..30),
        hole in any::<prop::sample::Index>(),
    ) {
        let mut arrived = Arrived::default();
        arrived.add(0, before);
        for (start, len) in &ranges {
            arrived.add(before + start, before + start + len);
            prop_assert_eq!(arrived.prefix, before, "the first byte is missing");
        }
        // Now everything below some point arrives.
        let upto = ranges[hole.index(ranges.len())].0;
        arrived.add(before, before + upto);
        ranges.sort_unstable();
        let want = ranges.iter().fold(upto, |end, (start, len)| if *start <= end { end.max(start + len) } else { end });
        prop_assert_eq!(arrived.prefix, before + want);
    }

    #[test]
    fn a_copy_is_not_spurious_when_a_part_of_it_was_dropped(ops in prop::collection::vec((any::<bool>(), 0..100_u64, 1..30_u64, 0..5_u8), 1..80)) {
        let (mut dropped, mut model) = (Dropped::default(), [None; 130]);
        for (drop, start, len, passed) in ops {
            let range = start as usize..(start + len) as usize;
            if drop {
                dropped.add(start, start + len, passed);
                // Where the ranges of two dropped copies overlap, they count once.
                let most = model[range.clone()].iter().copied().max().flatten().max(Some(passed));
                model[range].fill(most);
            } else {
                let want = model[range.clone()].iter().copied().max().flatten();
                prop_assert_eq!(dropped.take(start, start + len), want);
                model[range].fill(None);
            }
        }
    }
}

#[test]
fn acknowledged_ranges_are_forgotten() {
    let mut dropped = Dropped::default();
    dropped.add(0, 10, 1);
    dropped.add(20, 30, 2);
    dropped.forget_below(15);
    assert_eq!((dropped.take(0, 15), dropped.take(25, 26)), (None, Some(2)));
    assert_eq!((dropped.take(26, 40), dropped.take(20, 25), dropped.take(0, 100)), (Some(2), Some(2), None));
}
