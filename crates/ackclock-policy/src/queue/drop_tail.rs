use ackclock_units::{Instant, Rng};

use super::fifo::Fifo;
use crate::{Admit, Backlog, Entry, Param, Policy, QueueDiscipline, QueueSize, Queued};

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
        if !self.queue.fits(p.bytes, self.limit) {
            return Admit::Drop { early: false };
        }
        self.queue.push(p.bytes);
        Admit::Take
    }

    fn dequeued(&mut self, bytes: u32, _: Instant) {
        self.queue.pop(bytes);
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

/// First in, first out; packets that do not fit are dropped on arrival.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "drop-tail",
    about: "Queues packets in order and drops those that arrive when it is full, in packets or in bytes as \
            the limit is given.",
    source: "M-A12, I-A10; default of 50 packets as in ns-2",
    params: &[Param::queue(
        "limit",
        QueueSize::Packets(50),
        40,
        "capacity, not counting the packet being transmitted",
    )],
    build: |p| Box::new(DropTail { limit: p.queue("limit"), queue: Fifo::default() }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chosen, Ecn, PacketId};

    fn queue(limit: &str) -> Box<dyn QueueDiscipline> {
        let mut chosen = Chosen::new(&ENTRY);
        chosen.set("limit", limit).unwrap();
        chosen.build()
    }

    fn packet(id: u32, bytes: u32) -> Queued {
        Queued { id: PacketId(id), flow: 0, bytes, ecn: Ecn::NotEct, at: Instant::ZERO }
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
    fn packets_that_leave_make_room() {
        let mut q = queue("2packets");
        assert!(admits(&mut *q, 1, 100) && admits(&mut *q, 2, 200) && !admits(&mut *q, 3, 300));
        q.dequeued(100, Instant::ZERO);
        assert!(admits(&mut *q, 4, 400) && !admits(&mut *q, 5, 500));
        q.dequeued(200, Instant::ZERO);
        q.dequeued(400, Instant::ZERO);
        assert_eq!(q.backlog(), Backlog::default());
    }
}
