use super::*;
use crate::{Chosen, Ecn};

fn queue(settings: &[(&str, &str)]) -> Sfq {
    let mut chosen = Chosen::new(&ENTRY);
    for (name, text) in settings {
        chosen.set(name, text).unwrap();
    }
    Sfq::new(chosen.params())
}

fn s(n: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(n)
}

fn offer(q: &mut Sfq, id: u32, flow: u32, bytes: u32, at: Instant) -> Admit {
    let p = Queued { id: PacketId(id), flow, bytes, ecn: Ecn::NotEct, at };
    q.enqueue(p, at, &mut Rng::stream(1, "queue", 0))
}

fn order(q: &mut Sfq, at: Instant) -> Vec<u32> {
    std::iter::from_fn(|| q.dequeue(at, &mut Vec::new()).map(|d| d.packet.id.0)).collect()
}

#[test]
fn queues_take_turns_that_end_with_the_packet_that_uses_them_up() {
    // Turns of 1500 bytes. Packets of 1000: 1500 and 500 are left before the first two, then -500, so that
    // the next turn has 1000, one packet, and then a whole turn begins again. Packets of 1500: one in each.
    let q = &mut queue(&[("quantum", "1500B")]);
    for n in 0..6 {
        offer(q, 10 + n, 1, 1000, s(0));
        offer(q, 20 + n, 2, 1500, s(0));
    }
    assert_eq!(order(q, s(0)), [10, 11, 20, 12, 21, 13, 14, 22, 15, 23, 24, 25]);
    // A flow that comes back waits behind the others, with a whole turn.
    (0..3).for_each(|n| _ = offer(q, 30 + n, 1, 1500, s(0)));
    offer(q, 40, 2, 1500, s(0));
    assert_eq!(order(q, s(0)), [30, 40, 31, 32]);
}

#[test]
fn a_full_queue_drops_from_the_longest() {
    for (end, dropped, left) in
        [("tail", 3, vec![0, 10, 1, 11, 2, 12]), ("head", 0, vec![1, 10, 2, 11, 3, 12])]
    {
        let q = &mut queue(&[("limit", "6packets"), ("drop", end), ("quantum", "256B")]);
        (0..4).for_each(|id| assert_eq!(offer(q, id, 1, 256, s(0)), Admit::Take));
        (10..12).for_each(|id| assert_eq!(offer(q, id, 2, 256, s(0)), Admit::Take));
        assert_eq!(offer(q, 12, 2, 256, s(0)), Admit::PushOut(PacketId(dropped)), "{end}");
        assert_eq!(order(q, s(0)), left, "{end}");
    }
    // A packet of the longest queue is dropped itself, or the oldest of its queue is.
    for (end, admit) in [("tail", Admit::Drop { early: false }), ("head", Admit::PushOut(PacketId(0)))] {
        let q = &mut queue(&[("limit", "3packets"), ("drop", end)]);
        (0..3).for_each(|id| _ = offer(q, id, 1, 1000, s(0)));
        assert_eq!(offer(q, 3, 1, 1000, s(0)), admit, "{end}");
    }
    // Where all queues have one packet, that of the next turn goes.
    let q = &mut queue(&[("limit", "3packets")]);
    (0..3).for_each(|flow| _ = offer(q, flow, 1 + flow, 1000, s(0)));
    assert_eq!(offer(q, 3, 4, 1000, s(0)), Admit::PushOut(PacketId(0)));
    assert_eq!(order(q, s(0)), [1, 2, 3]);
}

#[test]
fn a_queue_has_a_depth_of_its_own() {
    let q = &mut queue(&[("depth", "2")]);
    (0..2).for_each(|id| assert_eq!(offer(q, id, 1, 1000, s(0)), Admit::Take));
    assert_eq!(offer(q, 2, 1, 1000, s(0)), Admit::Drop { early: true });
    assert_eq!(offer(q, 3, 2, 1000, s(0)), Admit::Take);
    let q = &mut queue(&[("depth", "2"), ("drop", "head")]);
    (0..2).for_each(|id| assert_eq!(offer(q, id, 1, 1000, s(0)), Admit::Take));
    assert_eq!(offer(q, 2, 1, 1000, s(0)), Admit::PushOut(PacketId(0)));
    assert_eq!(order(q, s(0)), [1, 2]);
}

#[test]
fn flows_that_collide_are_apart_after_the_hash_has_changed() {
    let settings = [("divisor", "2"), ("perturb", "10s"), ("quantum", "1000B")];
    let together = |q: &mut Sfq, at| {
        q.advance(at);
        q.flows.hash(1) == q.flows.hash(2)
    };
    let q = &mut queue(&settings);
    offer(q, 0, 1, 1000, s(0));
    order(q, s(0));
    let periods: Vec<bool> = (0..40).map(|n| together(q, s(10 * n + 5))).collect();
    // Half of the time on average; six standard deviations of 40 tosses are 19.
    assert!((2..39).contains(&periods.iter().filter(|p| **p).count()), "{periods:?}");
    // A time at which they are together, and the next one at which they are not.
    let first = periods.windows(2).position(|w| w == [true, false]).unwrap() as u64;
    let (before, after) = (s(10 * first + 9), s(10 * first + 10));
    let q = &mut queue(&settings);
    for n in 0..3 {
        offer(q, 10 + n, 1, 1000, before);
        offer(q, 20 + n, 2, 1000, before);
    }
    let next = |q: &mut Sfq, at| q.dequeue(at, &mut Vec::new()).unwrap().packet.id.0;
    // One queue: in order of arrival. Then two that take turns, each in its order.
    assert_eq!([next(q, before), next(q, before)], [10, 20]);
    assert_eq!(order(q, after), [11, 21, 12, 22]);
    assert_eq!(q.backlog(), Backlog::default());
}
