//! Stochastic fairness queueing (McKenney 1990), as Linux has it.

use ackclock_units::{Duration, Instant, Rng};

use super::flows::{Flows, Turns};
use super::packets::{Packets, exceeds, fits};
use crate::{
    Admit, Backlog, Dequeued, Entry, PacketId, PacketScheduler, Param, Params, Policy, QueueDiscipline,
    QueueSize, Queued,
};

#[derive(Debug)]
struct Sfq {
    limit: QueueSize,
    depth: u64,
    quantum: i64,
    /// Time between changes of the hash; zero for none.
    perturb: Duration,
    /// Packets are dropped from the head of a queue, not from its tail.
    from_head: bool,
    packets: Packets,
    /// The buckets with packets are in the old list; there are no new ones.
    flows: Flows<()>,
    pushed_out: Vec<PacketId>,
    /// Where packets are while the hash changes.
    moved: Vec<Queued>,
}

impl Sfq {
    fn new(p: &Params) -> Self {
        Self {
            limit: p.queue("limit"),
            depth: p.count("depth"),
            quantum: p.bytes("quantum") as i64,
            perturb: p.duration("perturb"),
            from_head: p.choice("drop") == "head",
            packets: Packets::default(),
            flows: Flows::new(p.count("divisor")),
            pushed_out: Vec::new(),
            moved: Vec::new(),
        }
    }

    /// Changes the hash if that was due by `now`. All packets move to their new queues, in order.
    #[inline]
    fn advance(&mut self, now: Instant) {
        if !self.perturb.is_zero() {
            let due = now.since(Instant::ZERO).as_nanos() / self.perturb.as_nanos();
            if due != self.flows.changes() {
                self.rehash(due);
            }
        }
    }

    /// Changes that no packet met are skipped: only the last one before a call decides where packets are.
    #[cold]
    fn rehash(&mut self, changes: u64) {
        let mut moved = std::mem::take(&mut self.moved);
        while let Some((turns, bucket)) = self.flows.next() {
            let list = &mut self.flows.get_mut(bucket).list;
            while let Some(packet) = self.packets.pop(list) {
                moved.push(packet);
            }
            self.flows.remove_first(turns);
        }
        self.flows.perturb(changes);
        for packet in moved.drain(..) {
            let own = self.flows.hash(packet.flow);
            self.flows.push(&mut self.packets, (own, packet), (Turns::Old, self.quantum));
        }
        self.moved = moved;
    }

    /// Drops packets of the queue that has most of them until all keep the limit; where each has one packet,
    /// that is the queue whose turn it is. `first`: what was pushed out for the arriving packet already.
    #[inline(never)]
    fn make_room(&mut self, own: u32, mut first: Option<PacketId>) -> Admit {
        while exceeds(self.packets.backlog(), self.limit) {
            let alone = self.flows.get_mut(own).list.backlog().packets == 1;
            let others = alone.then_some(own);
            let Some(victim) = self.flows.largest(others, |b| u64::from(b.packets)) else { break };
            let list = &mut self.flows.get_mut(victim).list;
            if victim == own && !self.from_head && first.is_none() {
                // The newest packet of its own queue is the one that arrives.
                self.packets.pop_last(list);
                return Admit::Drop { early: false };
            }
            let head = self.from_head || victim == own;
            let packet = if head { self.packets.pop(list) } else { self.packets.pop_last(list) };
            if list.is_empty() && self.flows.next() == Some((Turns::Old, victim)) {
                self.flows.remove_first(Turns::Old);
            }
            let Some(packet) = packet else { break };
            match first {
                None => first = Some(packet.id),
                Some(_) => self.pushed_out.push(packet.id),
            }
        }
        first.map_or(Admit::Take, Admit::PushOut)
    }
}

impl Policy for Sfq {
    fn name(&self) -> &str {
        "sfq"
    }
}

impl QueueDiscipline for Sfq {
    fn enqueue(&mut self, p: Queued, now: Instant, rng: &mut Rng) -> Admit {
        if !fits(Backlog::default(), p.bytes, self.limit) {
            return Admit::Drop { early: false };
        }
        self.advance(now);
        let own = self.flows.bucket(p.flow, rng);
        let list = &mut self.flows.get_mut(own).list;
        let mut replaced = None;
        if u64::from(list.backlog().packets) >= self.depth {
            if !self.from_head {
                return Admit::Drop { early: fits(self.packets.backlog(), p.bytes, self.limit) };
            }
            replaced = self.packets.pop(list).map(|packet| packet.id);
        }
        self.flows.push(&mut self.packets, (own, p), (Turns::Old, self.quantum));
        if replaced.is_some() || exceeds(self.packets.backlog(), self.limit) {
            return self.make_room(own, replaced);
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
        let moved = self.moved.capacity() * size_of::<Queued>();
        self.packets.held_bytes() + self.flows.held_bytes() + moved as u64
    }
}

impl PacketScheduler for Sfq {
    fn dequeue(&mut self, now: Instant, _: &mut Vec<PacketId>) -> Option<Dequeued> {
        self.advance(now);
        loop {
            let (turns, next) = self.flows.turn(self.quantum)?;
            let bucket = self.flows.get_mut(next);
            let Some(packet) = self.packets.pop(&mut bucket.list) else {
                // Its only packet was pushed out.
                self.flows.remove_first(turns);
                continue;
            };
            bucket.credit -= i64::from(packet.bytes);
            if bucket.list.is_empty() {
                self.flows.remove_first(turns);
            }
            return Some(packet.into());
        }
    }

    fn pushed_out(&mut self, shed: &mut Vec<PacketId>) {
        shed.append(&mut self.pushed_out);
    }
}

/// Stochastic fairness queueing.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "sfq",
    about: "Flows are hashed to queues, which are served in turn; the hash can change at intervals; when it \
            is full, a packet of the longest queue is dropped (stochastic fairness queueing).",
    source: "McKenney 1990 by way of an older sch_sfq.c of Linux. Left out: RED in the queues, filters, and \
             the \
             limit of 128 queues with packets. A change of the hash loses no packet: a queue may be longer \
             than `depth` after it",
    params: &[
        Param::queue(
            "limit",
            QueueSize::Packets(127),
            40,
            "capacity of all queues together, not counting the packet being transmitted",
        ),
        Param::count("depth", 127, 1..=127, "most packets of a queue"),
        Param::count("divisor", 1024, 1..=65_536, "queues; flows with the same hash share one"),
        Param::bytes(
            "quantum",
            1514,
            256..=1_000_000,
            "bytes of a queue's turn, which ends with the packet that uses them up",
        ),
        Param::duration(
            "perturb",
            Duration::ZERO,
            Duration::ZERO..=Duration::from_secs(3600),
            "time between changes of the hash; 0s for none",
        ),
        Param::choice(
            "drop",
            "tail",
            &["tail", "head"],
            "from which end of the longest queue a packet is dropped when it is full",
        ),
    ],
    build: |p| Box::new(Sfq::new(p)),
};

#[cfg(test)]
#[path = "sfq_tests.rs"]
mod tests;
