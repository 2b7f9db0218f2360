//! Flow queueing with CoDel (RFC 8290).

use ackclock_units::{Instant, Rng};

use super::codel::{Codel, CodelParams};
use super::flows::{Flows, Turns};
use super::packets::{Packets, exceeds, fits};
use crate::{
    Admit, Backlog, Dequeued, Entry, PacketId, PacketScheduler, Param, Params, Policy, QueueDiscipline,
    QueueSize, Queued,
};

#[derive(Debug)]
struct FqCodel {
    limit: QueueSize,
    quantum: i64,
    drop_batch: u64,
    params: CodelParams,
    packets: Packets,
    flows: Flows<Codel>,
    /// Packets pushed out together with the one that was returned.
    pushed_out: Vec<PacketId>,
}

impl FqCodel {
    fn new(p: &Params) -> Self {
        Self {
            limit: p.queue("limit"),
            quantum: p.bytes("quantum") as i64,
            drop_batch: p.count("drop_batch"),
            params: CodelParams::new(p),
            packets: Packets::default(),
            flows: Flows::new(p.count("flows")),
            pushed_out: Vec::new(),
        }
    }
}

impl Policy for FqCodel {
    fn name(&self) -> &str {
        "fq-codel"
    }
}

impl QueueDiscipline for FqCodel {
    fn enqueue(&mut self, p: Queued, _: Instant, rng: &mut Rng) -> Admit {
        if !fits(Backlog::default(), p.bytes, self.limit) {
            return Admit::Drop { early: false };
        }
        let own = self.flows.bucket(p.flow, rng);
        self.flows.push(&mut self.packets, (own, p), (Turns::New, self.quantum));
        if exceeds(self.packets.backlog(), self.limit) {
            // RFC 8290 section 4.1; CoDel counts these drops, as in Linux (RFC 8289 section 5.4 does not).
            let room = (&mut self.packets, self.limit);
            return self.flows.make_room(
                room,
                (own, self.drop_batch),
                &mut self.pushed_out,
                Codel::count_drops,
            );
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

impl PacketScheduler for FqCodel {
    fn dequeue(&mut self, now: Instant, shed: &mut Vec<PacketId>) -> Option<Dequeued> {
        loop {
            // Linux gives the turn away at a credit of zero too; RFC 8290 section 4.2 has negative ones.
            let (turns, next) = self.flows.turn(self.quantum)?;
            let bucket = self.flows.get_mut(next);
            let list = (&mut self.packets, &mut bucket.list);
            let Some(out) = bucket.state.dequeue(&self.params, list, now, shed) else {
                self.flows.retire(turns, next);
                continue;
            };
            bucket.credit -= i64::from(out.packet.bytes);
            return Some(out);
        }
    }

    fn pushed_out(&mut self, shed: &mut Vec<PacketId>) {
        shed.append(&mut self.pushed_out);
    }
}

/// Flow queueing with CoDel.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "fq-codel",
    about: "A queue for each flow, served in turn by bytes with new flows first, and CoDel in each; when it \
            is full, packets at the head of the longest one are dropped.",
    source: "RFC 8290; from an undated sch_fq_codel.c of Linux: drop_batch, the turn at a credit of zero \
             (section 4.2 of the RFC has \
             negative ones), and that half of the bytes of the longest queue are dropped (section 4.1: half \
             of its packets)",
    params: &[
        Param::queue(
            "limit",
            QueueSize::Packets(10_240),
            40,
            "capacity of all queues together, not counting the packet being transmitted (RFC 8290 section \
             5.2.3)",
        ),
        Param::count(
            "flows",
            1024,
            1..=65_536,
            "queues; flows with the same hash share one (RFC 8290 section 5.2.5)",
        ),
        Param::bytes("quantum", 1514, 256..=1_000_000, "bytes of a queue's turn (RFC 8290 section 5.2.4)"),
        CodelParams::TARGET,
        CodelParams::INTERVAL,
        CodelParams::MTU,
        Param::flag(
            "ecn",
            true,
            "mark ECN-capable packets instead of dropping them (RFC 8290 section 5.2.6)",
        ),
        CodelParams::CE_THRESHOLD,
        Param::count(
            "drop_batch",
            64,
            1..=65_536,
            "most packets dropped at once when it is full (RFC 8290 section 4.1)",
        ),
    ],
    build: |p| Box::new(FqCodel::new(p)),
};

#[cfg(test)]
#[path = "fq_codel_tests.rs"]
mod tests;
