//! Fair queueing with paced departures, as Linux's fq.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ackclock_units::{Duration, Ecn, Instant, Rate, Rng};

use super::flows::{Flows, Turns};
use super::packets::{Packets, fits};
use crate::{
    Admit, Backlog, Dequeued, Entry, PacketId, PacketScheduler, Param, Params, Policy, QueueDiscipline,
    QueueSize, Queued,
};

/// A flow that was idle for longer begins with the initial quantum again: Linux forgets it (`FQ_GC_AGE`).
const FORGOTTEN: Duration = Duration::from_secs(3);
/// The time after a packet or a turn at the greatest rate of its flow is this at most.
const LONGEST_GAP: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Pace {
    /// When its next packet may leave.
    next_packet: Option<Instant>,
    /// When it became idle; `None` before its first packet and while it is not idle.
    idle_since: Option<Instant>,
    /// It waits for `next_packet`, in no list.
    throttled: bool,
    used: bool,
}

#[derive(Debug)]
struct Fq {
    limit: QueueSize,
    flow_limit: u64,
    quantum: i64,
    initial_quantum: i64,
    refill_delay: Duration,
    max_rate: Option<Rate>,
    low_rate: Rate,
    ce_threshold: Duration,
    packets: Packets,
    flows: Flows<Pace>,
    /// Throttled buckets by the time at which they may send, and the order in which they were throttled.
    throttled: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    order: u64,
}

impl Fq {
    fn new(p: &Params) -> Self {
        Self {
            limit: p.queue("limit"),
            flow_limit: p.count("flow_limit"),
            quantum: p.bytes("quantum") as i64,
            initial_quantum: p.bytes("initial_quantum") as i64,
            refill_delay: p.duration("refill_delay"),
            max_rate: Some(p.rate("max_rate")).filter(|rate| rate.bits_per_sec() > 0),
            low_rate: p.rate("low_rate_threshold"),
            ce_threshold: p.duration("ce_threshold"),
            packets: Packets::default(),
            flows: Flows::new(p.count("flows")),
            throttled: BinaryHeap::new(),
            order: 0,
        }
    }

    /// Appends the throttled buckets that may send at `now` to the old ones.
    fn release(&mut self, now: Instant) {
        while let Some(&Reverse((at, _, bucket))) = self.throttled.peek() {
            if at > now {
                break;
            }
            self.throttled.pop();
            self.flows.get_mut(bucket).state.throttled = false;
            self.flows.append(Turns::Old, bucket);
        }
    }
}

impl Policy for Fq {
    fn name(&self) -> &str {
        "fq"
    }
}

impl QueueDiscipline for Fq {
    fn enqueue(&mut self, p: Queued, now: Instant, rng: &mut Rng) -> Admit {
        if !fits(self.packets.backlog(), p.bytes, self.limit) {
            return Admit::Drop { early: false };
        }
        let own = self.flows.bucket(p.flow, rng);
        let listed = self.flows.is_listed(own);
        let bucket = self.flows.get_mut(own);
        if u64::from(bucket.list.backlog().packets) >= self.flow_limit {
            return Admit::Drop { early: true };
        }
        self.packets.push(&mut bucket.list, p);
        if !listed && !bucket.state.throttled {
            let idle = bucket.state.idle_since.take().map(|since| now.since(since));
            if !bucket.state.used || idle.is_some_and(|idle| idle > FORGOTTEN) {
                (bucket.credit, bucket.state.next_packet) = (self.initial_quantum, None);
            } else if idle.is_some_and(|idle| idle > self.refill_delay) {
                bucket.credit = bucket.credit.max(self.quantum);
            }
            bucket.state.used = true;
            self.flows.append(Turns::New, own);
        }
        Admit::Take
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }

    fn scheduler(&mut self) -> Option<&mut dyn PacketScheduler> {
        Some(self)
    }

    fn held_bytes(&self) -> u64 {
        let throttled = self.throttled.capacity() * size_of::<Reverse<(Instant, u64, u32)>>();
        self.packets.held_bytes() + self.flows.held_bytes() + throttled as u64
    }
}

impl PacketScheduler for Fq {
    fn dequeue(&mut self, now: Instant, _: &mut Vec<PacketId>) -> Option<Dequeued> {
        self.release(now);
        loop {
            let (turns, next) = self.flows.turn(self.quantum)?;
            let bucket = self.flows.get_mut(next);
            let Some(arrived) = self.packets.first(&bucket.list).map(|p| p.at) else {
                if self.flows.retire(turns, next) {
                    self.flows.get_mut(next).state.idle_since = Some(now);
                }
                continue;
            };
            let due = bucket.state.next_packet.map_or(arrived, |at| at.max(arrived));
            if due > now {
                bucket.state.throttled = true;
                self.flows.remove_first(turns);
                self.order += 1;
                self.throttled.push(Reverse((due, self.order, next)));
                continue;
            }
            let packet = self.packets.pop(&mut bucket.list)?;
            bucket.credit -= i64::from(packet.bytes);
            // Above the low rate a turn's packets leave together, and the gap after them is the turn's.
            let alone = self.max_rate.is_some_and(|rate| rate <= self.low_rate);
            if alone {
                bucket.credit = 0;
            }
            if let Some(rate) = self.max_rate.filter(|_| bucket.credit <= 0) {
                let least = if alone { 0 } else { self.quantum as u64 };
                let mut gap = rate.time_to_send(u64::from(packet.bytes).max(least)).min(LONGEST_GAP);
                // A packet that leaves late shortens the gap after it, by half at most.
                if let Some(at) = bucket.state.next_packet {
                    gap = gap - now.since(at).min(gap / 2);
                }
                bucket.state.next_packet = Some(now + gap);
            }
            let late = !self.ce_threshold.is_zero() && now.since(due) > self.ce_threshold;
            return Some(Dequeued { packet, marked: late && matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1) });
        }
    }

    fn next_release(&self) -> Option<Instant> {
        self.throttled.peek().map(|Reverse((at, ..))| *at)
    }
}

/// Fair queueing with paced departures.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "fq",
    about: "A queue for each flow, served in turn by bytes with new flows first; a flow can be paced to a \
            greatest rate, and arrivals are dropped when it or its flow is full.",
    source: "An undated sch_fq.c of Linux, for packets that are forwarded: flows are told apart by a hash. A \
             sender's own pacing rate is part of its stack, and its packets reach a link paced already; \
             max_rate is the qdisc's `maxrate`. Left out: priority bands, departure times set by the sender, \
             the path around an idle qdisc",
    params: &[
        Param::queue(
            "limit",
            QueueSize::Packets(10_000),
            40,
            "capacity of all queues together, not counting the packet being transmitted",
        ),
        Param::count("flow_limit", 100, 1..=u64::MAX, "most packets of a queue; `inf` for no limit"),
        Param::count("flows", 1024, 1..=65_536, "queues; flows with the same hash share one"),
        Param::bytes("quantum", 3028, 256..=1_000_000, "bytes of a queue's turn: two packets of 1514 bytes"),
        Param::bytes(
            "initial_quantum",
            15_140,
            256..=10_000_000,
            "bytes of a new flow's first turn: ten packets of 1514 bytes",
        ),
        Param::duration(
            "refill_delay",
            Duration::from_millis(40),
            Duration::ZERO..=Duration::from_secs(3600),
            "a queue that was empty for longer has a whole quantum again",
        ),
        Param::rate(
            "max_rate",
            Rate::from_bits_per_sec(0),
            Rate::from_bits_per_sec(0)..=Rate::from_bits_per_sec(1_000_000_000_000_000),
            "greatest rate of each flow, kept by spacing its turns; 0bit/s for none",
        ),
        Param::rate(
            "low_rate_threshold",
            Rate::from_bits_per_sec(550_000),
            Rate::from_bits_per_sec(0)..=Rate::from_bits_per_sec(1_000_000_000_000_000),
            "with a max_rate up to this, single packets are spaced",
        ),
        Param::duration(
            "ce_threshold",
            Duration::ZERO,
            Duration::ZERO..=Duration::from_secs(3600),
            "mark ECN-capable packets that leave later than this after they could have; 0s for none",
        ),
    ],
    build: |p| Box::new(Fq::new(p)),
};

#[cfg(test)]
#[path = "fq_tests.rs"]
mod tests;
