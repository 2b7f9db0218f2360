use ackclock_units::Duration;

use super::*;
use crate::{Chosen, Ecn};

fn queue(settings: &[(&str, &str)]) -> FqCodel {
    let mut chosen = Chosen::new(&ENTRY);
    for (name, text) in settings {
        chosen.set(name, text).unwrap();
    }
    FqCodel::new(chosen.params())
}

fn offer(q: &mut FqCodel, id: u32, flow: u32, bytes: u32, at: u64) -> Admit {
    let at = Instant::ZERO + Duration::from_millis(at);
    let p = Queued { id: PacketId(id), flow, bytes, ecn: Ecn::NotEct, at };
    q.enqueue(p, at, &mut Rng::stream(1, "queue", 0))
}

fn next(q: &mut FqCodel, at: u64) -> Option<u32> {
    let mut shed = Vec::new();
    let out = q.dequeue(Instant::ZERO + Duration::from_millis(at), &mut shed);
    assert!(shed.is_empty());
    out.map(|d| d.packet.id.0)
}

#[test]
fn queues_take_turns_of_a_quantum() {
    // Turns of 1514 bytes. A queue of 500-byte packets has four in its first turn (1514, 1014, 514, 14 are
    // left before each), and then 1514 more with 486 owed: 1028 and 528 and 28, three.
    let q = &mut queue(&[]);
    for n in 0..10 {
        offer(q, 100 + n, 1, 500, 0);
        offer(q, 200 + n, 2, 1514, 0);
    }
    let order: Vec<_> = (0..13).map(|_| next(q, 0).unwrap()).collect();
    assert_eq!(order, [100, 101, 102, 103, 200, 104, 105, 106, 201, 107, 108, 109, 202]);
}

#[test]
fn new_flows_go_first_for_one_quantum() {
    let q = &mut queue(&[]);
    for n in 0..20 {
        offer(q, 100 + n, 1, 1000, 0);
        offer(q, 200 + n, 2, 1000, 0);
    }
    (0..6).for_each(|_| _ = next(q, 0));
    // Both are old now. A thin flow's packet goes before what waits.
    offer(q, 300, 3, 100, 1);
    assert_eq!(next(q, 1), Some(300));
    // The flow was found empty at the head of the new ones, and is put behind the old ones: its next packet
    // waits for one turn of each of them, as RFC 8290 section 4.2 has it.
    let before = next(q, 1).unwrap();
    offer(q, 301, 3, 100, 1);
    let after: Vec<_> = std::iter::from_fn(|| next(q, 1)).collect();
    let turn = after.iter().position(|id| *id == 301).unwrap();
    assert!((1..=4).contains(&turn), "after {before}: {after:?}");
    // When it has passed through them, it is new again.
    let q = &mut queue(&[]);
    (0..10).for_each(|n| _ = offer(q, 100 + n, 1, 1514, 0));
    offer(q, 300, 3, 100, 0);
    let order: Vec<_> = (0..4).map(|_| next(q, 0).unwrap()).collect();
    assert_eq!(order, [100, 300, 101, 102]);
    offer(q, 301, 3, 100, 0);
    assert_eq!(next(q, 0), Some(301));
}

#[test]
fn a_full_queue_drops_from_the_head_of_the_longest_in_batches() {
    let q = &mut queue(&[("limit", "100packets"), ("drop_batch", "8")]);
    for n in 0..90 {
        assert_eq!(offer(q, n, 1, 1000, 0), Admit::Take);
    }
    for n in 0..10 {
        assert_eq!(offer(q, 200 + n, 2, 1000, 0), Admit::Take);
    }
    // Half of 90,000 bytes would be 45 packets; a batch is 8.
    assert_eq!(offer(q, 210, 2, 1000, 0), Admit::PushOut(PacketId(0)));
    let mut also = Vec::new();
    q.pushed_out(&mut also);
    assert_eq!(also, (1..8).map(PacketId).collect::<Vec<_>>());
    assert_eq!(q.backlog(), Backlog { packets: 93, bytes: 93_000 });
    q.pushed_out(&mut also);
    assert_eq!(also.len(), 7, "each is returned once");
    // CoDel counts them.
    assert_eq!(next(q, 0), Some(8));
}

#[test]
fn a_packet_that_is_alone_in_the_longest_queue_is_dropped_itself() {
    let q = &mut queue(&[("limit", "2000B")]);
    assert_eq!(offer(q, 0, 1, 600, 0), Admit::Take);
    assert_eq!(offer(q, 1, 2, 600, 0), Admit::Take);
    assert_eq!(offer(q, 2, 3, 2001, 0), Admit::Drop { early: false });
    assert_eq!(offer(q, 3, 3, 1500, 0), Admit::Drop { early: false });
    assert_eq!(q.backlog(), Backlog { packets: 2, bytes: 1200 });
    let order: Vec<_> = std::iter::from_fn(|| next(q, 0)).collect();
    assert_eq!(order, [0, 1]);
}

#[test]
fn a_queue_is_short_when_all_of_them_together_are() {
    // RFC 8289 section 4.4: what waits in all queues of the link counts. A packet of flow 1 leaves each 10 ms
    // and one of 1000 bytes waits behind it, less than the mtu of 1500; flow 2 has twenty packets or none.
    for (others, dropped) in [(0, false), (20, true)] {
        let q = &mut queue(&[]);
        let (mut shed, mut id) = (Vec::new(), 1000);
        offer(q, 0, 1, 1000, 0);
        for t in 1..30 {
            offer(q, t as u32, 1, 1000, 10 * t);
            while q.flows.get_mut(q_bucket(1)).list.backlog().packets > 1 {
                while q.packets.backlog().packets < others + 2 {
                    offer(q, id, 2, 1000, 10 * t);
                    id += 1;
                }
                q.dequeue(Instant::ZERO + Duration::from_millis(10 * t), &mut shed);
            }
        }
        assert_eq!(shed.iter().any(|id| id.0 < 1000), dropped, "{others} others: {shed:?}");
    }
}

#[test]
fn each_queue_has_its_own_codel() {
    let q = &mut queue(&[]);
    let ms = |t: u64| Instant::ZERO + Duration::from_millis(t);
    // Flow 1 has a standing queue, flow 2 a packet now and then.
    let (mut shed, mut id, mut thin) = (Vec::new(), 1000, 0);
    offer(q, 999, 1, 1000, 0);
    for t in 0..1000 {
        while q.flows.get_mut(q_bucket(1)).list.backlog().packets < 100 {
            offer(q, id, 1, 1000, t);
            id += 1;
        }
        if t % 20 == 0 {
            offer(q, thin, 2, 100, t);
            thin += 1;
        }
        q.dequeue(ms(t), &mut shed);
    }
    assert!(shed.len() > 15 && shed.iter().all(|id| id.0 >= 999), "{shed:?}");
}

/// The bucket of a flow with the seed of these tests.
fn q_bucket(flow: u32) -> u32 {
    Flows::<()>::new(1024).bucket(flow, &mut Rng::stream(1, "queue", 0))
}
