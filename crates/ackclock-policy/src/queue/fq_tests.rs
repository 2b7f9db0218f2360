use super::*;
use crate::Chosen;

fn queue(settings: &[(&str, &str)]) -> Fq {
    let mut chosen = Chosen::new(&ENTRY);
    for (name, text) in settings {
        chosen.set(name, text).unwrap();
    }
    Fq::new(chosen.params())
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn offer(q: &mut Fq, id: u32, flow: u32, bytes: u32, at: u64) -> Admit {
    let p = Queued { id: PacketId(id), flow, bytes, ecn: Ecn::Ect0, at: us(at) };
    q.enqueue(p, us(at), &mut Rng::stream(1, "queue", 0))
}

fn next(q: &mut Fq, at: u64) -> Option<u32> {
    q.dequeue(us(at), &mut Vec::new()).map(|d| d.packet.id.0)
}

#[test]
fn the_first_turn_is_ten_packets_and_the_others_are_two() {
    let q = &mut queue(&[]);
    for n in 0..30 {
        offer(q, 100 + n, 1, 1514, 0);
        offer(q, 200 + n, 2, 1514, 0);
    }
    let order: Vec<_> = (0..28).map(|_| next(q, 0).unwrap()).collect();
    let mut expected: Vec<u32> = (100..110).chain(200..210).collect();
    expected.extend([110, 111, 210, 211, 112, 113, 212, 213]);
    assert_eq!(order, expected);
}

#[test]
fn arrivals_are_dropped_when_their_flow_or_the_queue_is_full() {
    let q = &mut queue(&[("limit", "150packets")]);
    for n in 0..100 {
        assert_eq!(offer(q, n, 1, 100, 0), Admit::Take);
    }
    assert_eq!(offer(q, 100, 1, 100, 0), Admit::Drop { early: true });
    for n in 0..50 {
        assert_eq!(offer(q, 200 + n, 2, 100, 0), Admit::Take);
    }
    assert_eq!(offer(q, 250, 2, 100, 0), Admit::Drop { early: false });
}

#[test]
fn a_greatest_rate_spaces_the_turns_of_each_flow() {
    // As in Linux, packets leave together until the turn is used up; the gap after them is that of a turn of
    // 2000 bytes at 8 Mbit/s, 2 ms, even where they had more, as the first turn here.
    let q = &mut queue(&[("max_rate", "8Mbit/s"), ("quantum", "2000B"), ("initial_quantum", "5000B")]);
    (0..10).for_each(|n| _ = offer(q, n, 1, 1500, 0));
    let burst = |q: &mut Fq, at| std::iter::from_fn(|| next(q, at)).count();
    // Credit 5000, 3500, 2000, 500, then -1000.
    assert_eq!((burst(q, 0), q.next_release()), (4, Some(us(2000))));
    // 1000, then -500.
    assert_eq!((burst(q, 1999), burst(q, 2000), q.next_release()), (0, 1, Some(us(4000))));
    // 1500, 0: one; then 2000 and 500: two.
    assert_eq!((burst(q, 4000), q.next_release()), (1, Some(us(6000))));
    assert_eq!((burst(q, 6000), q.next_release()), (2, Some(us(8000))));
}

#[test]
fn a_low_rate_spaces_the_packets_of_each_flow() {
    // 1000 bytes at 8 Mbit/s are 1 ms.
    let q = &mut queue(&[("max_rate", "8Mbit/s"), ("low_rate_threshold", "8Mbit/s")]);
    for n in 0..4 {
        offer(q, 10 + n, 1, 1000, 0);
        offer(q, 20 + n, 2, 1000, 0);
    }
    assert_eq!([next(q, 0), next(q, 0), next(q, 0)], [Some(10), Some(20), None]);
    assert_eq!((q.next_release(), next(q, 999)), (Some(us(1000)), None));
    assert_eq!([next(q, 1000), next(q, 1000), next(q, 1000)], [Some(11), Some(21), None]);
    // Late by 400 us: the next gap is as much shorter; late by 800 us: by half.
    assert_eq!((next(q, 2400), q.next_release()), (Some(12), None));
    assert_eq!(next(q, 2800), Some(22));
    assert_eq!(
        [next(q, 2999), next(q, 3000), next(q, 3299), next(q, 3300)],
        [None, Some(13), None, Some(23)]
    );
    assert_eq!((next(q, 9999), q.next_release(), q.backlog().packets), (None, None, 0));
}

#[test]
fn a_flow_that_comes_back_has_a_new_quantum_or_the_initial_one() {
    let credit = |pause: u64| {
        let q = &mut queue(&[]);
        for n in 0..18 {
            offer(q, n, 1, 1000, 0);
        }
        while next(q, 0).is_some() {}
        offer(q, 18, 1, 1514, pause);
        let bucket = Flows::<()>::new(1024).bucket(1, &mut Rng::stream(1, "queue", 0));
        q.flows.get_mut(bucket).credit
    };
    // 15,140 less sixteen packets of 1000 are -860; with 3028 more and two packets less, 168 are left.
    assert_eq!([credit(40_000), credit(40_001), credit(3_000_001)], [168, 3028, 15_140]);
}

#[test]
fn late_packets_are_marked_above_the_threshold() {
    let q =
        &mut queue(&[("ce_threshold", "1ms"), ("max_rate", "8Mbit/s"), ("low_rate_threshold", "8Mbit/s")]);
    (0..3).for_each(|n| _ = offer(q, n, 1, 1000, 0));
    let mut marked = |at| q.dequeue(us(at), &mut Vec::new()).map(|d| d.marked);
    assert_eq!(marked(0), Some(false));
    // It could have left at 1 ms.
    assert_eq!(marked(2000), Some(false));
    assert_eq!(marked(4000), Some(true));
}
