//! Deficit round robin (Shreedhar & Varghese 1995).

use ackclock_units::{Instant, Rng};

use super::flows::{Flows, Turns};
use super::packets::{Packets, exceeds, fits};
use crate::{
    Admit, Backlog, Dequeued, Entry, PacketId, PacketScheduler, Param, Params, Policy, QueueDiscipline,
    QueueSize, Queued,
};

#[derive(Debug)]
struct Drr {
    limit: QueueSize,
    quantum: i64,
    packets: Packets,
    /// The buckets with packets are in the old list; there are no new ones.
    flows: Flows<()>,
    /// The bucket whose turn it is has its quantum.
    in_turn: bool,
    pushed_out: Vec<PacketId>,
}

impl Drr {
    fn new(p: &Params) -> Self {
        Self {
            limit: p.queue("limit"),
            quantum: p.bytes("quantum") as i64,
            packets: Packets::default(),
            flows: Flows::new(p.count("flows")),
            in_turn: false,
            pushed_out: Vec::new(),
        }
    }
}

impl Policy for Drr {
    fn name(&self) -> &str {
        "drr"
    }
}

impl QueueDiscipline for Drr {
    fn enqueue(&mut self, p: Queued, _: Instant, rng: &mut Rng) -> Admit {
        if !fits(Backlog::default(), p.bytes, self.limit) {
            return Admit::Drop { early: false };
        }
        let own = self.flows.bucket(p.flow, rng);
        self.flows.push(&mut self.packets, (own, p), (Turns::Old, 0));
        if exceeds(self.packets.backlog(), self.limit) {
            let room = (&mut self.packets, self.limit);
            return self.flows.make_room(room, (own, 1), &mut self.pushed_out, |(), _| {});
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
        self.packets.held_bytes() + self.flows.held_bytes()
    }
}

impl PacketScheduler for Drr {
    fn dequeue(&mut self, _: Instant, _: &mut Vec<PacketId>) -> Option<Dequeued> {
        loop {
            let (turns, next) = self.flows.next()?;
            let bucket = self.flows.get_mut(next);
            let Some(size) = self.packets.first(&bucket.list).map(|p| i64::from(p.bytes)) else {
                // Its packets were pushed out.
                self.flows.remove_first(turns);
                self.in_turn = false;
                continue;
            };
            if !self.in_turn {
                bucket.credit += self.quantum;
                self.in_turn = true;
            }
            if size > bucket.credit {
                self.flows.rotate(turns, next);
                self.in_turn = false;
                continue;
            }
            bucket.credit -= size;
            let packet = self.packets.pop(&mut bucket.list)?;
            if bucket.list.is_empty() {
                // A bucket without packets keeps no credit.
                self.flows.remove_first(turns);
                self.in_turn = false;
            }
            return Some(packet.into());
        }
    }

    fn pushed_out(&mut self, shed: &mut Vec<PacketId>) {
        shed.append(&mut self.pushed_out);
    }
}

/// Deficit round robin.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "drr",
    about: "A queue for each flow, served in turn by bytes (deficit round robin); when it is full, packets \
            at the head of the longest one are dropped.",
    source: "Shreedhar & Varghese 1995; dropping from the longest queue as in stochastic fairness queueing \
             (McKenney 1990). Neither paper's text was at hand for the last review, only descriptions",
    params: &[
        Param::queue(
            "limit",
            QueueSize::Packets(1000),
            40,
            "capacity of all queues together, not counting the packet being transmitted",
        ),
        Param::count("flows", 1024, 1..=65_536, "queues; flows with the same hash share one"),
        Param::bytes(
            "quantum",
            1500,
            256..=1_000_000,
            "bytes of a queue's turn; at least the largest packet makes the work per packet constant",
        ),
    ],
    build: |p| Box::new(Drr::new(p)),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chosen, Ecn};

    fn fill(q: &mut dyn QueueDiscipline, flows: &[(u32, u32, usize)]) {
        let mut rng = Rng::stream(1, "queue", 0);
        for (flow, bytes, count) in flows {
            for n in 0..*count {
                let id = PacketId(flow * 1000 + n as u32);
                let p = Queued { id, flow: *flow, bytes: *bytes, ecn: Ecn::NotEct, at: Instant::ZERO };
                assert_eq!(q.enqueue(p, Instant::ZERO, &mut rng), Admit::Take);
            }
        }
    }

    fn next(q: &mut dyn QueueDiscipline) -> Option<(u32, u32)> {
        let out = q.scheduler()?.dequeue(Instant::ZERO, &mut Vec::new());
        out.map(|d| (d.packet.flow, d.packet.bytes))
    }

    /// A quantum of 500 and a first queue of packets of 200, 750, 20, as in the paper's figures: the first
    /// round sends 200 and carries 300 over, the second has 800 and sends 750.
    #[test]
    fn deficits_carry_over_as_in_the_paper() {
        let mut chosen = Chosen::new(&ENTRY);
        chosen.set("quantum", "500B").unwrap();
        let mut q = chosen.build();
        fill(&mut *q, &[(1, 200, 1), (1, 750, 1), (1, 20, 1), (2, 500, 1), (2, 400, 1)]);
        let order: Vec<_> = std::iter::from_fn(|| next(&mut *q)).collect();
        assert_eq!(order, [(1, 200), (2, 500), (1, 750), (1, 20), (2, 400)]);
    }

    #[test]
    fn bytes_are_shared_equally_whatever_the_sizes() {
        let mut q = Chosen::new(&ENTRY).build();
        fill(&mut *q, &[(1, 1500, 100), (2, 100, 800), (3, 700, 100)]);
        let mut sent = [0_i64; 4];
        for _ in 0..500 {
            let (flow, bytes) = next(&mut *q).unwrap();
            sent[flow as usize] += i64::from(bytes);
            // A deficit is less than the largest packet: after any round each flow has had its quanta but for
            // that; within a round one quantum more.
            let most = *sent[1..].iter().max().unwrap();
            assert!(sent[1..].iter().all(|s| most - s <= 1500 + 1500 + 1500), "{sent:?}");
        }
        assert!(sent[1..].iter().all(|s| *s > 35_000), "{sent:?}");
    }
}
