//! A link by itself: exact times and counts.

mod support;

use ackclock_policy::{Admit, Backlog, Dequeued, PacketId, PacketScheduler, Policy, QueueDiscipline, Queued};
use ackclock_sim::{Fault, FaultVerdict, Link, LinkLabels, LinkSpec, Offer, PacketInfo, Passed};
use ackclock_units::{Duration, Ecn, Instant, Rng};
use support::{choose, drop_tail, mbit, ms};

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn packet(id: u32, bytes: u32, at: Instant) -> Queued {
    Queued { id: PacketId(id), flow: 0, bytes, ecn: Ecn::Ect0, at }
}

fn offer(link: &mut Link, id: u32, bytes: u32, at: Instant) -> Offer {
    link.offer(packet(id, bytes, at), &PacketInfo::opaque(bytes))
}

/// When an offered packet arrives; `None` when it was refused.
fn arrival(o: Offer) -> Option<Instant> {
    match o {
        Offer::Sent(d) => Some(d.at),
        Offer::Refused => None,
        Offer::Waits { .. } => panic!("a first-in first-out queue never returns `Waits`"),
    }
}

#[test]
fn packets_leave_one_behind_the_other_and_travel_the_delay() {
    let mut link = Link::new(LinkSpec::new(mbit(8), ms(10), drop_tail("2packets")), 1, 0);
    // 1000 bytes take 1 ms. The first goes into service at once; two wait; the fourth finds the queue full.
    assert_eq!(arrival(offer(&mut link, 0, 1000, us(0))), Some(us(11_000)));
    assert_eq!(arrival(offer(&mut link, 1, 500, us(100))), Some(us(11_500)));
    assert_eq!(arrival(offer(&mut link, 2, 1000, us(100))), Some(us(12_500)));
    assert_eq!(link.backlog(us(999)), Backlog { packets: 2, bytes: 1500 });
    assert_eq!(arrival(offer(&mut link, 3, 1000, us(999))), None);
    // At 1 ms the second goes into service, which makes room.
    assert_eq!(arrival(offer(&mut link, 4, 1000, us(1000))), Some(us(13_500)));
    assert_eq!(link.queued(us(1000)), Backlog { packets: 3, bytes: 2500 });
    // Idle from 3.5 ms on.
    assert_eq!(arrival(offer(&mut link, 5, 1000, us(5000))), Some(us(16_000)));
    let c = link.counters(us(5500));
    assert_eq!((c.offered, c.queue_drops, c.served), (6, 1, 4));
    assert_eq!((c.served_bytes, c.max_backlog, c.max_backlog_packets), (3500, 2000, 2));
    assert_eq!(c.busy, Duration::from_micros(3500 + 500));
    // Waits: 0.9 ms for 500 bytes, 1.4 ms for 1000, 1.5 ms for 1000.
    assert_eq!((c.packet_ns, c.byte_ns), (3_800_000, 900_000 * 500 + 2_900_000 * 1000));
}

#[test]
fn counters_in_the_middle_count_only_what_has_happened() {
    let mut link = Link::new(LinkSpec::new(mbit(8), ms(1), drop_tail("10packets")), 1, 0);
    for id in 0..3 {
        offer(&mut link, id, 1000, us(0));
    }
    let c = link.counters(us(1500));
    assert_eq!((c.served, c.busy), (1, Duration::from_micros(1500)));
    // The second has waited 1 ms, the third 1.5 ms so far.
    assert_eq!(c.packet_ns, 2_500_000);
    assert_eq!(link.queued(us(1500)).packets, 2);
}

#[test]
fn a_pure_delay_never_queues() {
    let mut link = Link::new(LinkSpec::delay(ms(7)), 1, 0);
    for id in 0..100 {
        assert_eq!(arrival(offer(&mut link, id, 1500, us(3))), Some(us(7003)));
    }
    assert_eq!(link.counters(us(3)).served, 100);
}

/// Last in, first out; pushes out the oldest when full: the opposite of a first-in first-out queue.
#[derive(Debug, Default)]
struct Stack(Vec<Queued>);

impl Policy for Stack {
    fn name(&self) -> &str {
        "stack"
    }
}

impl QueueDiscipline for Stack {
    fn enqueue(&mut self, p: Queued, _: Instant, _: &mut Rng) -> Admit {
        self.0.push(p);
        if self.0.len() > 2 { Admit::PushOut(self.0.remove(0).id) } else { Admit::Take }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.0.len() as u32, bytes: self.0.iter().map(|p| u64::from(p.bytes)).sum() }
    }

    fn scheduler(&mut self) -> Option<&mut dyn PacketScheduler> {
        Some(self)
    }
}

impl PacketScheduler for Stack {
    fn dequeue(&mut self, _: Instant, shed: &mut Vec<PacketId>) -> Option<Dequeued> {
        // Packets numbered 90 and above are dropped here.
        while self.0.last().is_some_and(|p| p.id.0 >= 90) {
            shed.push(self.0.pop().expect("seen").id);
        }
        self.0.pop().map(Dequeued::from)
    }
}

#[test]
fn sojourn_times_last_from_arrival_to_service() {
    // A packet takes 1 ms on the wire. First in, first out: the times are known as packets arrive, and count
    // once they have passed.
    let mut link = Link::new(LinkSpec::new(mbit(8), ms(10), drop_tail("10packets")), 1, 0);
    assert!(link.sojourns(us(0)).is_none() && link.take_recent_sojourns(us(0)).is_none());
    link.measure_sojourns();
    for (id, at) in [(0, 0), (1, 100), (2, 200)] {
        assert!(arrival(offer(&mut link, id, 1000, us(at))).is_some());
    }
    assert_eq!(link.take_recent_sojourns(us(1000)).map(|s| (s.count, s.sum)), Some((2, us(900) - us(0))));
    let found = link.sojourns(us(5000)).expect("measured");
    assert_eq!(
        (found.count(), found.mean(), found.max()),
        (3, Some(us(900) - us(0)), Some(us(1800) - us(0)))
    );
    assert_eq!(link.take_recent_sojourns(us(5000)).map(|s| (s.count, s.max)), Some((1, us(1800) - us(0))));

    // Last in, first out: packet 1 is pushed out, 3 waits from 300 to 1000 us, 2 from 200 to 2000 us.
    let mut link = Link::new(LinkSpec::new(mbit(8), ms(10), Box::new(Stack::default())), 1, 0);
    link.measure_sojourns();
    for (id, at) in [(0, 0), (1, 100), (2, 200), (3, 300)] {
        offer(&mut link, id, 1000, us(at));
    }
    while link.poll(us(9000), |_| PacketInfo::opaque(1000)).is_some() {}
    let found = link.sojourns(us(9000)).expect("measured");
    assert_eq!((found.count(), found.max()), (3, Some(us(1800) - us(0))));
    assert_eq!(found.mean(), Some(Duration::from_nanos(2_500_000 / 3)));
    let c = link.counters(us(9000));
    assert_eq!((c.queue_drops, c.pushed_out, c.shed, c.full_drops()), (1, 1, 0, 0));
    offer(&mut link, 10, 1000, us(10_000));
    offer(&mut link, 91, 700, us(10_100));
    assert!(link.poll(us(11_000), |_| PacketInfo::opaque(1000)).is_some());
    let c = link.counters(us(11_000));
    assert_eq!((c.queue_drops, c.pushed_out, c.shed, c.full_drops()), (2, 1, 1, 0));

    let mut delay = Link::new(LinkSpec::delay(ms(1)), 1, 0);
    delay.measure_sojourns();
    assert!(delay.sojourns(us(0)).is_none(), "a pure delay has no queue");
}

#[test]
fn a_queue_with_a_scheduler_is_polled_and_returns_dropped_packets() {
    let mut link = Link::new(LinkSpec::new(mbit(8), ms(10), Box::new(Stack::default())), 1, 0);
    let about = |_: PacketId| PacketInfo::opaque(1000);
    for (id, at) in [(0, 0), (1, 100), (2, 200), (3, 300)] {
        assert_eq!(offer(&mut link, id, 1000, us(at)), Offer::Waits { marked: false });
    }
    assert_eq!((link.next_dropped(), link.next_dropped()), (Some(PacketId(1)), None));
    assert_eq!(link.next_departure(), Some(us(1000)));
    assert!(link.poll(us(999), about).is_none());
    let first = link.poll(us(1000), about).unwrap();
    assert_eq!((first.id, first.departs, first.at), (PacketId(0), us(1000), us(11_000)));
    assert!(link.poll(us(1000), about).is_none());
    // A late poll does not delay departures.
    let (second, third) = (link.poll(us(9000), about).unwrap(), link.poll(us(9000), about).unwrap());
    assert_eq!((second.id, second.departs), (PacketId(3), us(2000)));
    assert_eq!((third.id, third.departs), (PacketId(2), us(3000)));
    assert!(link.next_departure().is_none());
    let c = link.counters(us(9000));
    assert_eq!((c.offered, c.queue_drops, c.queue_drop_bytes, c.served, c.busy), (4, 1, 1000, 3, ms(3)));

    offer(&mut link, 10, 1000, us(10_000));
    offer(&mut link, 91, 700, us(10_100));
    assert_eq!(link.poll(us(11_000), about).map(|d| d.id), Some(PacketId(10)));
    assert_eq!(link.next_dropped(), Some(PacketId(91)));
    assert_eq!(link.counters(us(11_000)).queue_drop_bytes, 1700);
}

#[test]
fn faults_act_on_the_wire_one_after_the_other() {
    let spec = LinkSpec::new(mbit(8), ms(10), drop_tail("100packets"))
        .with_fault(
            |p: &PacketInfo, _: Instant, _: &mut Rng| {
                if p.number == 1 { FaultVerdict::Drop } else { FaultVerdict::Pass }
            },
        )
        .with_fault(|p: &PacketInfo, now: Instant, _: &mut Rng| {
            assert_eq!(now, us(1000 * (p.number + 1)), "called when the packet has left");
            match p.number {
                1 => panic!("a fault is called for a packet that is lost already"),
                2 => FaultVerdict::Delay(ms(5)),
                3 => FaultVerdict::Duplicate,
                4 => FaultVerdict::Corrupt,
                _ => FaultVerdict::Pass,
            }
        });
    let mut link = Link::new(spec, 1, 0);
    let sent: Vec<_> = (0..5)
        .map(|id| match offer(&mut link, id, 1000, us(0)) {
            Offer::Sent(d) => d,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        sent.iter().map(|d| d.at).collect::<Vec<_>>(),
        [11_000, 12_000, 18_000, 14_000, 15_000].map(us)
    );
    assert_eq!(sent.iter().map(|d| d.lost).collect::<Vec<_>>(), [false, true, false, false, false]);
    assert_eq!((sent[3].copy_at, sent[4].corrupt), (Some(us(14_000)), true));
    // A packet that will be lost counts as lost only once it has left.
    let (early, late) = (link.counters(us(1500)), link.counters(us(2000)));
    assert_eq!((early.fault_drops, early.doomed, early.served), (0, 1, 1));
    assert_eq!((late.fault_drops, late.doomed, late.served), (1, 0, 2));
    assert_eq!((late.duplicated, late.corrupted, late.delayed), (1, 1, 1));
}

#[test]
fn red_marks_and_drops_through_the_link() {
    let queue = choose::<dyn QueueDiscipline>("red").build();
    let mut link = Link::new(LinkSpec::new(mbit(8), ms(10), queue), 3, 0);
    let mut refused = 0;
    // Twice the capacity of the link: the average rises and RED drops before the queue is full.
    for id in 0..4000 {
        refused += u64::from(offer(&mut link, id, 1000, us(500 * u64::from(id))) == Offer::Refused);
    }
    let c = link.counters(us(2_000_000));
    assert_eq!(c.queue_drops, refused);
    assert!(c.early_drops > 500 && c.early_drops < refused, "some find the queue full after all: {c:?}");
    assert!((1500..2100).contains(&refused), "about half of 4000: {refused}");
    assert_eq!(c.served + u64::from(link.queued(us(2_000_000)).packets) + refused, 4000);
}

#[test]
fn each_fault_has_its_own_random_stream() {
    fn coin() -> Box<dyn Fault> {
        Box::new(
            |_: &PacketInfo, _: Instant, rng: &mut Rng| {
                if rng.chance(0.5) { FaultVerdict::Drop } else { FaultVerdict::Pass }
            },
        )
    }
    let lost = |faults: Vec<Box<dyn Fault>>, seed| -> Vec<bool> {
        let mut link = Link::new(LinkSpec { delay: ms(1), faults, ..LinkSpec::default() }, seed, 0);
        (0..64).map(|id| matches!(offer(&mut link, id, 100, us(0)), Offer::Sent(d) if d.lost)).collect()
    };
    let pass =
        || -> Box<dyn Fault> { Box::new(|_: &PacketInfo, _: Instant, _: &mut Rng| FaultVerdict::Pass) };
    assert_eq!(lost(vec![coin()], 1), lost(vec![coin()], 1));
    assert_ne!(lost(vec![coin()], 1), lost(vec![coin()], 2));
    assert_eq!(lost(vec![coin()], 1), lost(vec![coin(), pass()], 1));
}

#[test]
fn losses_on_the_wire_are_counted_by_the_fault_that_caused_them() {
    let every = |n: u64| {
        move |p: &PacketInfo, _: Instant, _: &mut Rng| {
            if p.number.is_multiple_of(n) { FaultVerdict::Drop } else { FaultVerdict::Pass }
        }
    };
    // The first loses packets 0, 3, 6 and 9, the second 5: it is not asked of 0.
    let spec =
        LinkSpec::new(mbit(8), ms(1), drop_tail("100packets")).with_fault(every(3)).with_fault(every(5));
    let mut link = Link::new(spec, 1, 0);
    for id in 0..10 {
        offer(&mut link, id, 1000, us(0));
    }
    let labels = || LinkLabels {
        run: "".into(),
        stack: "".into(),
        link: 0,
        name: "".into(),
        from: "".into(),
        to: "".into(),
    };
    let mut at = |ms: u64| {
        let row = link.row(us(1000 * ms), labels(), Passed::default());
        (row.dropped_wire, row.dropped_by_fault, row.dropped_schedule)
    };
    // A packet takes 1 ms: what is in the queue has not been lost yet.
    assert_eq!(at(0), (0, vec![0, 0], Some(0)));
    assert_eq!(at(1), (1, vec![1, 0], Some(0)));
    assert_eq!(at(6), (3, vec![2, 1], Some(0)));
    assert_eq!(at(10), (5, vec![4, 1], Some(0)));
}
