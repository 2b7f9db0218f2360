//! Strict priority between two bands.

use ackclock_units::{Bytes, Ecn, Instant, Rng};

use super::packets::{PacketList, Packets, exceeds, fits};
use crate::{
    Admit, Backlog, Dequeued, Entry, PacketId, PacketScheduler, Param, Params, Policy, QueueDiscipline,
    QueueSize, Queued,
};

/// What makes a packet go first.
#[derive(Clone, Copy, Debug)]
enum First {
    /// At most this size on the wire.
    Small(Bytes),
    /// ECT(1) or CE, which identify L4S (RFC 9331).
    L4s,
}

impl First {
    fn band(self, p: &Queued) -> usize {
        let first = match self {
            Self::Small(most) => Bytes::from(p.bytes) <= most,
            Self::L4s => matches!(p.ecn, Ecn::Ect1 | Ecn::Ce),
        };
        usize::from(!first)
    }
}

#[derive(Debug)]
struct Priority {
    limit: QueueSize,
    first: First,
    packets: Packets,
    bands: [PacketList; 2],
    pushed_out: Vec<PacketId>,
}

impl Priority {
    fn new(p: &Params) -> Self {
        Self {
            limit: p.queue("limit"),
            first: if p.choice("by") == "ecn" { First::L4s } else { First::Small(p.bytes("small")) },
            packets: Packets::default(),
            bands: Default::default(),
            pushed_out: Vec::new(),
        }
    }

    /// Drops the oldest packets of the second band for one of the first. The limit can be kept by that.
    #[inline(never)]
    fn make_room(&mut self, bytes: u32) -> Option<PacketId> {
        let mut first = None;
        while !fits(self.packets.backlog(), bytes, self.limit) {
            let packet = self.packets.pop(&mut self.bands[1])?;
            match first {
                None => first = Some(packet.id),
                Some(_) => self.pushed_out.push(packet.id),
            }
        }
        first
    }
}

impl Policy for Priority {
    fn name(&self) -> &str {
        "priority"
    }
}

impl QueueDiscipline for Priority {
    fn enqueue(&mut self, p: Queued, _: Instant, _: &mut Rng) -> Admit {
        let band = self.first.band(&p);
        let mut admit = Admit::Take;
        if !fits(self.packets.backlog(), p.bytes, self.limit) {
            let ahead = self.bands[0].backlog();
            let alone = Backlog { packets: ahead.packets + 1, bytes: ahead.bytes + u64::from(p.bytes) };
            if band == 1 || exceeds(alone, self.limit) {
                return Admit::Drop { early: false };
            }
            admit = self.make_room(p.bytes).map_or(Admit::Take, Admit::PushOut);
        }
        self.packets.push(&mut self.bands[band], p);
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

impl PacketScheduler for Priority {
    fn dequeue(&mut self, _: Instant, _: &mut Vec<PacketId>) -> Option<Dequeued> {
        self.bands.iter_mut().find_map(|band| self.packets.pop(band)).map(Dequeued::from)
    }

    fn pushed_out(&mut self, shed: &mut Vec<PacketId>) {
        shed.append(&mut self.pushed_out);
    }
}

/// Strict priority.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "priority",
    about: "Two bands, of which the second is served only while the first is empty; a packet of the first \
            pushes out the oldest of the second when it is full.",
    source: "strict priority between two first-in first-out queues; simulated packets carry no DSCP, so \
             that their size or their ECN field (RFC 9331) tells the bands apart",
    params: &[
        Param::queue(
            "limit",
            QueueSize::Packets(1000),
            40,
            "capacity of both bands together, not counting the packet being transmitted",
        ),
        Param::choice(
            "by",
            "size",
            &["size", "ecn"],
            "what goes first: packets of at most `small` bytes, such as acks and keystrokes, or those with \
             ECT(1) or CE",
        ),
        Param::bytes("small", 256, 1..=65_535, "largest packet of the first band, with headers"),
    ],
    build: |p| Box::new(Priority::new(p)),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chosen;

    fn offer(q: &mut dyn QueueDiscipline, id: u32, bytes: u32, ecn: Ecn) -> Admit {
        let p = Queued { id: PacketId(id), flow: 0, bytes, ecn, at: Instant::ZERO };
        q.enqueue(p, Instant::ZERO, &mut Rng::stream(1, "queue", 0))
    }

    fn order(q: &mut dyn QueueDiscipline) -> Vec<u32> {
        std::iter::from_fn(|| q.scheduler()?.dequeue(Instant::ZERO, &mut Vec::new()))
            .map(|d| d.packet.id.0)
            .collect()
    }

    #[test]
    fn the_first_band_goes_first() {
        for (by, expected) in [("size", [2, 4, 1, 3]), ("ecn", [3, 4, 1, 2])] {
            let mut chosen = Chosen::new(&ENTRY);
            chosen.set("by", by).unwrap();
            let mut q = chosen.build();
            for (id, bytes, ecn) in
                [(1, 1500, Ecn::Ect0), (2, 40, Ecn::NotEct), (3, 1500, Ecn::Ect1), (4, 256, Ecn::Ce)]
            {
                assert_eq!(offer(&mut *q, id, bytes, ecn), Admit::Take);
            }
            assert_eq!(order(&mut *q), expected, "{by}");
        }
    }

    #[test]
    fn a_full_queue_drops_the_second_band_first() {
        let mut chosen = Chosen::new(&ENTRY);
        chosen.set("limit", "3000B").unwrap();
        let mut q = chosen.build();
        assert_eq!(offer(&mut *q, 1, 1500, Ecn::NotEct), Admit::Take);
        assert_eq!(offer(&mut *q, 2, 1500, Ecn::NotEct), Admit::Take);
        assert_eq!(offer(&mut *q, 3, 300, Ecn::NotEct), Admit::Drop { early: false });
        assert_eq!(offer(&mut *q, 4, 200, Ecn::NotEct), Admit::PushOut(PacketId(1)));
        for id in 5..18 {
            assert_eq!(offer(&mut *q, id, 100, Ecn::NotEct), Admit::Take);
        }
        assert_eq!(q.backlog(), Backlog { packets: 15, bytes: 3000 });
        assert_eq!(offer(&mut *q, 18, 100, Ecn::NotEct), Admit::PushOut(PacketId(2)));
        assert_eq!(order(&mut *q), (4..19).filter(|id| *id != 2).collect::<Vec<_>>());
    }
}
