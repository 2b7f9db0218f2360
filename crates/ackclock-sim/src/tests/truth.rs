use proptest::prelude::*;

use crate::truth::{Arrived, Dropped};

proptest! {
    #[test]
    fn what_has_arrived_is_the_union(ranges in prop::collection::vec((0..200_u64, 1..40_u64), 1..60)) {
        let (mut arrived, mut model) = (Arrived::default(), [false; 240]);
        for (start, len) in ranges {
            arrived.add(start, start + len);
            model[start as usize..(start + len) as usize].fill(true);
            let prefix = model.iter().position(|there| !there).unwrap_or(model.len());
            prop_assert_eq!(arrived.prefix, prefix as u64);
        }
    }

    #[test]
    fn a_copy_is_needed_when_a_part_of_it_was_dropped(ops in prop::collection::vec((any::<bool>(), 0..100_u64, 1..30_u64, 0..5_u8), 1..80)) {
        let (mut dropped, mut model) = (Dropped::default(), [None; 130]);
        for (drop, start, len, passed) in ops {
            let range = start as usize..(start + len) as usize;
            if drop {
                dropped.add(start, start + len, passed);
                // The ranges of two dropped copies that overlap count as one in the overlap.
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
fn what_is_acknowledged_is_forgotten() {
    let mut dropped = Dropped::default();
    dropped.add(0, 10, 1);
    dropped.add(20, 30, 2);
    dropped.forget_below(15);
    assert_eq!((dropped.take(0, 15), dropped.take(25, 26)), (None, Some(2)));
    assert_eq!((dropped.take(26, 40), dropped.take(20, 25), dropped.take(0, 100)), (Some(2), Some(2), None));
}
