use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ackclock_units::Instant;
use proptest::prelude::*;

use crate::queue::{EventQueue, PendingEvent};

/// Steps in time of very different lengths, zero among them.
fn step() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..100_u64, 0..100_000_u64, 0..1_000_000_000_u64, 0..u64::MAX / 4096]
}

proptest! {
    #[test]
    fn events_come_out_as_from_a_sorted_list(ops in prop::collection::vec(prop::option::weighted(0.6, step()), 1..2000)) {
        let (mut queue, mut model) = (EventQueue::new(), BinaryHeap::new());
        let (mut now, mut order) = (0, 0);
        for op in ops {
            match op {
                Some(step) => {
                    order += 1;
                    queue.push(PendingEvent { at: Instant::from_nanos(now + step), order, what: order as u32 });
                    model.push(Reverse((now + step, order)));
                }
                None => {
                    prop_assert_eq!(queue.peek().map(|e| e.order), model.peek().map(|Reverse((_, order))| *order));
                    let (got, want) = (queue.pop_until(Instant::FAR_FUTURE), model.pop());
                    prop_assert_eq!(got.map(|e| (e.at.as_nanos(), e.order)), want.map(|Reverse(key)| key));
                    prop_assert_eq!(got.map(|e| e.what), got.map(|e| e.order as u32));
                    now = got.map_or(now, |e| e.at.as_nanos());
                }
            }
            prop_assert_eq!(queue.pending().count(), model.len());
        }
    }
}

#[test]
fn many_events_of_one_time_keep_their_order() {
    let mut queue = EventQueue::new();
    let at = Instant::from_nanos(12_345);
    queue.push(PendingEvent { at, order: 0, what: 0 });
    assert_eq!(queue.peek().map(|e| e.order), Some(0));
    // The window is at the front now: these are inserted into it.
    for order in (1..2000).rev() {
        queue.push(PendingEvent { at, order, what: 0 });
    }
    queue.push(PendingEvent { at: Instant::from_nanos(12_346), order: 5000, what: 0 });
    let orders: Vec<u64> =
        std::iter::from_fn(|| queue.pop_until(Instant::FAR_FUTURE)).map(|e| e.order).collect();
    assert_eq!(orders, (0..2000).chain([5000]).collect::<Vec<_>>());
}

#[test]
fn an_event_before_a_window_that_was_only_peeked_at_comes_first() {
    let mut queue = EventQueue::new();
    let entry = |at, order| PendingEvent { at: Instant::from_nanos(at), order, what: 0 };
    queue.push(entry(1_000_000_000, 1));
    assert_eq!(queue.peek(), Some(entry(1_000_000_000, 1)));
    queue.push(entry(5, 2));
    queue.push(entry(u64::MAX, 3));
    let orders = [(); 4].map(|()| queue.pop_until(Instant::FAR_FUTURE).map(|e| e.order));
    assert_eq!(orders, [Some(2), Some(1), Some(3), None]);
}
