//! Compares lanes with a sorted list, with gaps of days and of many insertion numbers.

use proptest::prelude::*;

use super::*;
use crate::event::{INBOUND, INDEX, PACKET};

/// Takes the next arrival as the run loop does: time, insertion number, packet.
fn next(lane: &mut Lane, pool: &Pool, queue: &mut EventQueue, latest: u64) -> Option<(Instant, u64, u32)> {
    let PendingEvent { at, order, what } = queue.pop_until(Instant::FAR_FUTURE)?;
    if what & !INDEX == PACKET {
        return Some((at, order, what & INDEX));
    }
    let id = lane.pop(pool);
    if let Some((at, order)) = lane.next(pool, at, latest) {
        queue.push(PendingEvent { at, order, what });
    }
    Some((at, order, id))
}

fn gap() -> impl Strategy<Value = u64> {
    let span = Packet::SPAN;
    prop_oneof![0..3_u64, 0..1_000_000_u64, span - 2..span + 2, 0..5 * span]
}

proptest! {
    #[test]
    fn packets_arrive_in_order_of_time_however_far_apart(
        start in prop_oneof![Just(0), 0..3 * Packet::SPAN],
        first in prop_oneof![Just(1), 0..5_u64 << 32],
        steps in prop::collection::vec((gap(), 0..1_u64 << 25, 0..3_usize), 1..60),
    ) {
        let (mut lane, mut pool, mut queue) = (Lane::EMPTY, Pool::new(), EventQueue::new());
        let (mut now, mut order, mut model) = (Instant::from_nanos(start), first, Vec::new());
        for (ahead, skipped, taken) in steps {
            order += 1 + skipped;
            let (id, at) = (pool.datagram(0, 100, 0), now + ackclock_units::Duration::from_nanos(ahead));
            lane.push(PacketArrival { id, at, order }, &mut pool, &mut queue, INBOUND);
            model.push((at, order, id));
            model.sort_unstable();
            for _ in 0..taken.min(model.len()) {
                let want = model.remove(0);
                prop_assert_eq!(next(&mut lane, &pool, &mut queue, order), Some(want));
                now = want.0;
            }
        }
        for want in model {
            prop_assert_eq!(next(&mut lane, &pool, &mut queue, order), Some(want));
        }
        prop_assert_eq!(next(&mut lane, &pool, &mut queue, order), None);
    }
}
