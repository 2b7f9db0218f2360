//! Controlled delay (RFC 8289): one first-in first-out queue.

mod control;
#[cfg(test)]
mod tests;

use ackclock_units::{Instant, Rng};

pub(super) use self::control::{Codel, CodelParams};
use super::packets::{PacketList, Packets, fits};
use crate::{
    Admit, Backlog, Dequeued, Entry, PacketId, PacketScheduler, Param, Params, Policy, PrivateState,
    QueueDiscipline, QueueSize, Queued,
};

#[derive(Debug)]
struct CodelQueue {
    limit: QueueSize,
    params: CodelParams,
    packets: Packets,
    list: PacketList,
    codel: Codel,
}

impl CodelQueue {
    fn new(p: &Params) -> Self {
        Self {
            limit: p.queue("limit"),
            params: CodelParams::new(p),
            packets: Packets::default(),
            list: PacketList::default(),
            codel: Codel::default(),
        }
    }
}

impl Policy for CodelQueue {
    fn name(&self) -> &str {
        "codel"
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("count", f64::from(self.codel.count()));
        state.number("dropping", f64::from(u8::from(self.codel.is_dropping())));
    }
}

impl QueueDiscipline for CodelQueue {
    fn enqueue(&mut self, p: Queued, _: Instant, _: &mut Rng) -> Admit {
        if !fits(self.packets.backlog(), p.bytes, self.limit) {
            return Admit::Drop { early: false };
        }
        self.packets.push(&mut self.list, p);
        Admit::Take
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }

    fn scheduler(&mut self) -> Option<&mut dyn PacketScheduler> {
        Some(self)
    }

    fn held_bytes(&self) -> u64 {
        self.packets.held_bytes()
    }
}

impl PacketScheduler for CodelQueue {
    fn dequeue(&mut self, now: Instant, shed: &mut Vec<PacketId>) -> Option<Dequeued> {
        self.codel.dequeue(&self.params, (&mut self.packets, &mut self.list), now, shed)
    }
}

/// Controlled delay.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "codel",
    about: "Drops or marks packets as they leave while the sojourn time has stayed above a target for an \
            interval, at a rate that grows with the square root of the number of drops (controlled delay).",
    source: "RFC 8289; limit, ecn and ce_threshold as in an undated sch_codel.c of Linux",
    params: &[
        Param::queue(
            "limit",
            QueueSize::Packets(1000),
            40,
            "capacity, not counting the packet being transmitted",
        ),
        CodelParams::TARGET,
        CodelParams::INTERVAL,
        CodelParams::MTU,
        Param::flag("ecn", false, "mark ECN-capable packets instead of dropping them"),
        CodelParams::CE_THRESHOLD,
    ],
    build: |p| Box::new(CodelQueue::new(p)),
};
