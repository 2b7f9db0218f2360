use ackclock_units::Duration;

use super::*;
use crate::{Chosen, Ecn};

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

fn queue(settings: &[(&str, &str)]) -> CodelQueue {
    let mut chosen = Chosen::new(&ENTRY);
    for (name, text) in settings {
        chosen.set(name, text).unwrap();
    }
    CodelQueue::new(chosen.params())
}

fn offer(q: &mut CodelQueue, id: u32, at: Instant, ecn: Ecn) {
    let p = Queued { id: PacketId(id), flow: 0, bytes: 1000, ecn, at };
    assert_eq!(q.enqueue(p, at, &mut Rng::stream(1, "queue", 0)), Admit::Take);
}

/// A queue that holds 200 packets, one of which arrives and one of which leaves each millisecond: every
/// sojourn time is above the target. Returns the times of drops and marks, ms.
fn standing(q: &mut CodelQueue, ecn: Ecn, until: u64) -> Vec<u64> {
    let (mut id, mut shed, mut signals) = (0, Vec::new(), Vec::new());
    for now in 0..until {
        while q.backlog().packets < 200 {
            offer(q, id, ms(now), ecn);
            id += 1;
        }
        let marked = q.dequeue(ms(now), &mut shed).unwrap().marked;
        signals.extend(std::iter::repeat_n(now, shed.len() + usize::from(marked)));
        shed.clear();
    }
    signals
}

#[test]
fn drops_follow_the_control_law() {
    let q = &mut queue(&[]);
    // All 200 packets arrive at 0. At 5 ms the sojourn time is not below the target of 5 ms any more; an
    // interval of 100 ms later the first is dropped. Then drop_next is t + 100/sqrt(count) from the one
    // before it: 205, 275.7, 333.4, 383.4, 428.2, 469.0, 506.8, 542.1, 575.5, and a drop happens at the first
    // departure not before it.
    let mut times = vec![105.0_f64];
    for count in 1..10 {
        times.push(times.last().unwrap() + 100.0 / f64::from(count).sqrt());
    }
    let expected: Vec<u64> = times.iter().map(|t| t.ceil() as u64).collect();
    assert_eq!(expected, [105, 205, 276, 334, 384, 429, 469, 507, 543, 576]);
    assert_eq!(standing(q, Ecn::NotEct, 577), expected);
    assert!(q.codel.is_dropping());
}

#[test]
fn marks_follow_the_same_law_and_lose_nothing() {
    let (mut with, mut without) = (queue(&[("ecn", "true")]), queue(&[("ecn", "false")]));
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        let q = &mut queue(&[("ecn", "true")]);
        assert_eq!(standing(q, ecn, 600), [105, 205, 276, 334, 384, 429, 469, 507, 543, 576]);
        assert!(q.codel.count() == 10);
    }
    assert_eq!(standing(&mut without, Ecn::Ect0, 600), standing(&mut with, Ecn::NotEct, 600));
}

#[test]
fn a_short_queue_and_a_short_stay_lose_nothing() {
    // One packet waits behind each that leaves: 1000 bytes, no more than the mtu, however long they stay.
    let q = &mut queue(&[]);
    let mut shed = Vec::new();
    offer(q, 0, ms(0), Ecn::NotEct);
    for n in 1..100 {
        offer(q, n, ms(50 * u64::from(n)), Ecn::NotEct);
        assert_eq!(q.dequeue(ms(50 * u64::from(n)), &mut shed).map(|d| d.packet.id.0), Some(n - 1));
    }
    // A long queue that drains below the target within an interval.
    let q = &mut queue(&[]);
    (0..100).for_each(|n| offer(q, n, ms(0), Ecn::NotEct));
    for now in 5..105 {
        assert!(q.dequeue(ms(now), &mut shed).is_some());
    }
    assert!(shed.is_empty() && q.dequeue(ms(200), &mut shed).is_none());
}

#[test]
fn the_next_dropping_state_begins_with_the_rate_that_was_enough() {
    let q = &mut queue(&[]);
    standing(q, Ecn::NotEct, 577);
    assert_eq!((q.codel.count(), q.codel.is_dropping()), (10, true));
    // The queue empties, and stands again from 700 ms on: 10 - 1 drops are the count to begin with.
    let mut shed = Vec::new();
    while q.dequeue(ms(577), &mut shed).is_some() {}
    for id in 0..200 {
        offer(q, id, ms(700), Ecn::NotEct);
    }
    shed.clear();
    for now in 705..=805 {
        q.dequeue(ms(now), &mut shed).unwrap();
    }
    assert_eq!((shed.len(), q.codel.count()), (1, 9));
    // More than 16 intervals after the last drop was due, it begins with one.
    while q.dequeue(ms(806), &mut shed).is_some() {}
    for id in 0..200 {
        offer(q, id, ms(3000), Ecn::NotEct);
    }
    for now in 3005..=3105 {
        q.dequeue(ms(now), &mut shed).unwrap();
    }
    assert_eq!(q.codel.count(), 1);
}

#[test]
fn several_drops_at_once_when_departures_are_rare() {
    // A departure each 500 ms: several drops are due at each, and one is left to leave.
    let q = &mut queue(&[("limit", "1000packets")]);
    (0..1000).for_each(|n| offer(q, n, ms(0), Ecn::NotEct));
    let mut shed = Vec::new();
    q.dequeue(ms(10), &mut shed).unwrap();
    q.dequeue(ms(500), &mut shed).unwrap();
    assert_eq!((shed.len(), q.codel.count()), (1, 1));
    // Due at 600, 670.7, 728.4, 778.4, 823.1, 864.0, 901.8, 937.1, 970.5; the tenth at 1002.1.
    q.dequeue(ms(1000), &mut shed).unwrap();
    assert_eq!((shed.len(), q.codel.count()), (10, 10));
}

#[test]
fn the_ce_threshold_marks_every_capable_packet_above_it() {
    let q = &mut queue(&[("ce_threshold", "1ms")]);
    for (id, ecn) in [(0, Ecn::Ect1), (1, Ecn::Ect0), (2, Ecn::NotEct), (3, Ecn::Ce), (4, Ecn::Ect1)] {
        offer(q, id, ms(u64::from(id)), ecn);
    }
    let mut shed = Vec::new();
    let marked: Vec<_> = [1, 3, 4, 5, 6].map(|t| q.dequeue(ms(t), &mut shed).unwrap().marked).into();
    assert_eq!(marked, [false, true, false, false, true], "one of exactly 1 ms is not above it");
}
