use ackclock_units::{Instant, Rng};

use super::fifo::Fifo;
use super::packets::{PacketList, Packets, fits};
use crate::{
    Admit, Backlog, Dequeued, Entry, PacketId, PacketScheduler, Param, Policy, QueueDiscipline, QueueSize,
    Queued,
};

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

/// The same order, but the oldest packets are dropped for one that does not fit.
#[derive(Debug)]
struct DropHead {
    limit: QueueSize,
    packets: Packets,
    list: PacketList,
    pushed_out: Vec<PacketId>,
}

impl Policy for DropHead {
    fn name(&self) -> &str {
        "drop-tail"
    }
}

impl QueueDiscipline for DropHead {
    fn enqueue(&mut self, p: Queued, _: Instant, _: &mut Rng) -> Admit {
        if !fits(Backlog::default(), p.bytes, self.limit) {
            return Admit::Drop { early: false };
        }
        let mut admit = Admit::Take;
        while !fits(self.packets.backlog(), p.bytes, self.limit) {
            let Some(oldest) = self.packets.pop(&mut self.list) else { break };
            match admit {
                Admit::PushOut(_) => self.pushed_out.push(oldest.id),
                _ => admit = Admit::PushOut(oldest.id),
            }
        }
        self.packets.push(&mut self.list, p);
        admit
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

impl PacketScheduler for DropHead {
    fn dequeue(&mut self, _: Instant, _: &mut Vec<PacketId>) -> Option<Dequeued> {
        self.packets.pop(&mut self.list).map(Dequeued::from)
    }

    fn pushed_out(&mut self, shed: &mut Vec<PacketId>) {
        shed.append(&mut self.pushed_out);
    }
}

/// First in, first out; packets that do not fit are dropped on arrival, or the oldest are dropped for them.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "drop-tail",
    about: "Queues packets in order and drops those that arrive when it is full, in packets or in bytes as \
            the limit is given.",
    source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A12); Mondal & Kuzmanovic 2007 (I-A10); default of 50 \
             packets as in ns-2; drop from the head: Lakshman, Neidhardt & Ott \
             1996",
    params: &[
        Param::queue(
            "limit",
            QueueSize::Packets(50),
            40,
            "capacity, not counting the packet being transmitted",
        ),
        Param::choice(
            "drop",
            "tail",
            &["tail", "head"],
            "what is dropped when it is full: the packet that arrives, or the oldest ones",
        ),
    ],
    build: |p| {
        let limit = p.queue("limit");
        if p.choice("drop") == "head" {
            let (packets, list) = Default::default();
            return Box::new(DropHead { limit, packets, list, pushed_out: Vec::new() });
        }
        Box::new(DropTail { limit, queue: Fifo::default() })
    },
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

    #[test]
    fn dropping_from_the_head_makes_room_for_what_arrives() {
        let mut chosen = Chosen::new(&ENTRY);
        chosen.set("limit", "3000B").unwrap();
        chosen.set("drop", "head").unwrap();
        let mut q = chosen.build();
        let mut offer =
            |id, bytes| q.enqueue(packet(id, bytes), Instant::ZERO, &mut Rng::stream(1, "queue", 0));
        assert_eq!([1, 2, 3].map(|id| offer(id, 1000)), [Admit::Take; 3]);
        assert_eq!(offer(4, 3001), Admit::Drop { early: false }, "it never fits");
        assert_eq!(offer(5, 1500), Admit::PushOut(PacketId(1)));
        let (mut also, scheduler) = (Vec::new(), q.scheduler().unwrap());
        scheduler.pushed_out(&mut also);
        assert_eq!(also, [PacketId(2)]);
        let order = [(); 3].map(|()| scheduler.dequeue(Instant::ZERO, &mut also).map(|d| d.packet.id.0));
        assert_eq!(order, [Some(3), Some(5), None]);
    }
}
