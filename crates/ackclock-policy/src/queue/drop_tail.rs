use ackclock_units::{Instant, Rng};

use super::fifo::Fifo;
use crate::{Admit, Backlog, Entry, PacketId, Param, Policy, QueueDiscipline, QueueSize, Queued};

#[derive(Debug)]
struct DropTail {
    limit: QueueSize,
    queue: Fifo,
}

impl Policy for DropTail {
    fn name(&self) -> &str {
        "drop-tail"
    }
}

impl QueueDiscipline for DropTail {
    fn enqueue(&mut self, p: Queued, _: Instant, _: &mut Rng) -> Admit {
        if !self.queue.fits(&p, self.limit) {
            return Admit::Drop;
        }
        self.queue.push(p);
        Admit::Take
    }

    fn dequeue(&mut self, _: Instant, _: &mut Vec<PacketId>) -> Option<Queued> {
        self.queue.pop()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

/// First in, first out; what does not fit is dropped at the tail.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "drop-tail",
    about: "Queues packets in order and drops those that arrive when it is full; full in packets or in bytes, whichever the limit counts.",
    source: "M-A12, I-A10; the default of 50 packets is that of ns-2",
    params: &[Param::queue("limit", QueueSize::Packets(50), 40, "most that is queued, the packet in service not counted")],
    build: |p| Box::new(DropTail { limit: p.queue("limit"), queue: Fifo::default() }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chosen, Ecn};

    fn queue(limit: &str) -> Box<dyn QueueDiscipline> {
        let mut chosen = Chosen::new(&ENTRY);
        chosen.set("limit", limit).unwrap();
        chosen.build()
    }

    fn packet(id: u32, bytes: u32) -> Queued {
        Queued { id: PacketId(id), bytes, ecn: Ecn::NotEct, at: Instant::ZERO }
    }

    fn admits(q: &mut dyn QueueDiscipline, id: u32, bytes: u32) -> bool {
        q.enqueue(packet(id, bytes), Instant::ZERO, &mut Rng::stream(1, "queue", 0)) == Admit::Take
    }

    #[test]
    fn a_limit_in_packets_ignores_their_size() {
        let mut q = queue("2packets");
        assert!(admits(&mut *q, 1, 9000) && admits(&mut *q, 2, 40));
        assert!(!admits(&mut *q, 3, 1));
        assert_eq!(q.backlog(), Backlog { packets: 2, bytes: 9040 });
    }

    #[test]
    fn a_limit_in_bytes_lets_small_packets_in_where_large_ones_are_dropped() {
        let mut q = queue("3000B");
        assert!(admits(&mut *q, 1, 1500) && admits(&mut *q, 2, 1000));
        assert!(!admits(&mut *q, 3, 501), "3001 bytes do not fit");
        assert!(admits(&mut *q, 4, 500), "3000 bytes fit exactly");
        assert!(!admits(&mut *q, 5, 40));
    }

    #[test]
    fn packets_leave_in_order_and_make_room() {
        let mut q = queue("2packets");
        let mut shed = Vec::new();
        assert!(admits(&mut *q, 1, 100) && admits(&mut *q, 2, 200) && !admits(&mut *q, 3, 300));
        assert_eq!(q.dequeue(Instant::ZERO, &mut shed).map(|p| p.id), Some(PacketId(1)));
        assert!(admits(&mut *q, 4, 400));
        assert_eq!(q.dequeue(Instant::ZERO, &mut shed).map(|p| p.id), Some(PacketId(2)));
        assert_eq!(q.dequeue(Instant::ZERO, &mut shed).map(|p| p.id), Some(PacketId(4)));
        assert_eq!(q.dequeue(Instant::ZERO, &mut shed), None);
        assert_eq!((q.backlog(), shed.len()), (Backlog::default(), 0));
    }
}
