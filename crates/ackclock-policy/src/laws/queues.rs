use std::collections::{BTreeMap, VecDeque};

use ackclock_units::{Duration, Ecn, Instant, Rng};

use super::for_all;
use crate::{Admit, Backlog, Chosen, PacketId, QueueDiscipline, Queued, Registry, Value};

/// A queue, and a list of what must be in it.
struct Watched<'a> {
    chosen: &'a Chosen<dyn QueueDiscipline>,
    queue: Box<dyn QueueDiscipline>,
    rng: Rng,
    now: Instant,
    flows: BTreeMap<u32, VecDeque<Queued>>,
    next: u32,
    shed: Vec<PacketId>,
    /// Packets that left and that were dropped.
    left: u64,
    dropped: u64,
}

impl<'a> Watched<'a> {
    fn new(chosen: &'a Chosen<dyn QueueDiscipline>, seed: u64) -> Self {
        Self {
            chosen,
            queue: chosen.build(),
            rng: Rng::stream(seed, "queue", 0),
            now: Instant::ZERO,
            flows: BTreeMap::new(),
            next: 0,
            shed: Vec::new(),
            left: 0,
            dropped: 0,
        }
    }

    fn offer(&mut self, flow: u32, bytes: u32, ecn: Ecn) {
        let p = Queued { id: PacketId(self.next), flow, bytes, ecn, at: self.now };
        self.next += 1;
        let admit = self.queue.enqueue(p, self.now, &mut self.rng);
        match admit {
            Admit::Drop { .. } => {
                self.dropped += 1;
                return;
            }
            Admit::Mark => assert_ne!(ecn, Ecn::NotEct, "a mark: {:?}", self.chosen),
            Admit::PushOut(id) => {
                let scheduler = self.queue.scheduler().expect("pushes out without a scheduler");
                self.shed.push(id);
                scheduler.pushed_out(&mut self.shed);
                self.drop_shed();
            }
            Admit::Take => {}
        }
        self.flows.entry(flow).or_default().push_back(p);
    }

    fn drop_shed(&mut self) {
        for id in self.shed.drain(..) {
            let found = self.flows.values_mut().find_map(|f| {
                let at = f.iter().position(|p| p.id == id)?;
                f.remove(at)
            });
            assert!(found.is_some(), "{id:?} is dropped and not queued: {:?}", self.chosen);
            self.dropped += 1;
        }
    }

    /// Takes a packet; returns it and whether something was dropped.
    fn take(&mut self) -> (Option<Queued>, bool) {
        let before = self.dropped;
        let Some(scheduler) = self.queue.scheduler() else {
            let first = self.flows.values().filter_map(|f| f.front()).min_by_key(|p| p.id).copied();
            if let Some(p) = first {
                self.queue.dequeued(p.bytes, self.now);
                self.flows.get_mut(&p.flow).expect("it has one").pop_front();
                self.left += 1;
            }
            return (first, false);
        };
        let out = scheduler.dequeue(self.now, &mut self.shed);
        self.drop_shed();
        if let Some(d) = out {
            assert!(
                !d.marked || matches!(d.packet.ecn, Ecn::Ect0 | Ecn::Ect1),
                "{d:?} cannot be marked: {:?}",
                self.chosen
            );
            let flow = self.flows.get_mut(&d.packet.flow).expect("a flow with packets");
            assert_eq!(flow.pop_front(), Some(d.packet), "not the oldest of its flow: {:?}", self.chosen);
            self.left += 1;
        }
        (out.map(|d| d.packet), self.dropped > before)
    }

    fn backlog(&self) -> Backlog {
        let all = self.flows.values().flatten();
        let (mut packets, mut bytes) = (0, 0);
        all.for_each(|p| (packets, bytes) = (packets + 1, bytes + u64::from(p.bytes)));
        Backlog { packets, bytes }
    }
}

/// A choice with a limit that is soon reached.
fn small(c: &Chosen<dyn QueueDiscipline>, rng: &mut Rng) -> Chosen<dyn QueueDiscipline> {
    let mut chosen = c.clone();
    let limit = ["20packets", "20000B", "1packets", "1500B"][rng.below(4) as usize];
    // A queue of one's own may have no limit.
    let _ = chosen.set("limit", limit);
    chosen
}

/// Offers a packet of one of `flows` flows. Those of a flow are of one size and have one ECN field, by which
/// a queue may tell packets apart.
fn offer_any(q: &mut Watched<'_>, flows: u64, rng: &mut Rng) {
    let flow = rng.below(flows) as u32;
    let bytes = [60, 1500, 40, 700, 1000, 256, 257, 1400][flow as usize % 8];
    q.offer(flow, bytes, Ecn::from_bits(flow as u8));
}

/// Each packet that is queued leaves or is dropped, once; those of a flow, if they are alike, leave in order
/// of arrival; the backlog is what is queued; only ECN-capable packets are marked.
pub fn every_packet_leaves_once_in_the_order_of_its_flow(registry: &Registry) {
    for_all::<dyn QueueDiscipline>(registry, |c, rng| {
        let chosen = small(c, rng);
        let mut q = Watched::new(&chosen, rng.next_u64());
        for n in 0..400 {
            q.now += Duration::from_nanos(1 << rng.below(28));
            if rng.chance(if n % 100 < 60 { 0.7 } else { 0.3 }) {
                offer_any(&mut q, 8, rng);
            } else {
                q.take();
            }
            assert_eq!(q.queue.backlog(), q.backlog(), "{chosen:?}");
        }
        // A scheduler that paces needs time.
        for _ in 0..1000 {
            q.now += Duration::from_secs(1);
            q.take();
        }
        assert_eq!((q.backlog(), q.queue.backlog()), (Backlog::default(), Backlog::default()), "{chosen:?}");
        assert_eq!(q.left + q.dropped, u64::from(q.next), "{chosen:?}");
    });
}

/// While packets wait, one leaves when asked for, unless the scheduler names a later time; then one leaves at
/// that time, or is dropped.
pub fn work_is_conserved(registry: &Registry) {
    for_all::<dyn QueueDiscipline>(registry, |c, rng| {
        let chosen = small(c, rng);
        let mut q = Watched::new(&chosen, rng.next_u64());
        for _ in 0..300 {
            q.now += Duration::from_nanos(1 << rng.below(26));
            if rng.chance(0.55) {
                offer_any(&mut q, 3, rng);
                continue;
            }
            let (out, _) = q.take();
            if out.is_some() || q.backlog().packets == 0 {
                continue;
            }
            let release = q.queue.scheduler().and_then(|s| s.next_release());
            let at = release.unwrap_or_else(|| panic!("nothing leaves although packets wait: {chosen:?}"));
            assert!(at > q.now, "a release at {at:?}, which is not after {:?}: {chosen:?}", q.now);
            q.now = at;
            let (out, dropped) = q.take();
            assert!(out.is_some() || dropped, "nothing leaves at the release: {chosen:?}");
        }
    });
}

/// Flows with packets waiting all the time get the same bytes from a queue that has a `quantum`, but for two
/// turns and a packet (the bound of deficit round robin: no deficit is as large as a packet).
pub fn turns_share_bytes_equally(registry: &Registry) {
    for_all::<dyn QueueDiscipline>(registry, |c, rng| {
        let Some(Value::Bytes(quantum)) = value(c, "quantum") else { return };
        let Some(registered) =
            <dyn QueueDiscipline as crate::Role>::entries(registry).iter().find(|e| e.name == c.name())
        else {
            return;
        };
        let mut chosen = Chosen::new(registered);
        chosen.set_value("quantum", Value::Bytes(quantum)).expect("it was drawn from its range");
        let turn = match value(&chosen, "initial_quantum") {
            Some(Value::Bytes(first)) => quantum.max(first),
            _ => quantum,
        };
        let mut q = Watched::new(&chosen, rng.next_u64());
        let sizes = [40 + rng.below(1461) as u32, 40 + rng.below(1461) as u32, 1500];
        let mut sent = [0_u64; 3];
        for _ in 0..1500 {
            for flow in 0..3 {
                while q.flows.get(&flow).is_none_or(|f| f.len() < 3) {
                    q.offer(flow, sizes[flow as usize], Ecn::NotEct);
                }
            }
            let p = q.take().0.expect("packets wait");
            sent[p.flow as usize] += u64::from(p.bytes);
            let (least, most) = (sent.iter().min(), sent.iter().max());
            let apart = most.unwrap_or(&0) - least.unwrap_or(&0);
            assert!(apart <= 2 * turn + 3000, "{sent:?} of packets of {sizes:?}: {chosen:?}");
        }
        assert_eq!(q.dropped, 0, "{chosen:?}");
    });
}

/// The value of a parameter, if there is one of that name.
fn value(c: &Chosen<dyn QueueDiscipline>, name: &str) -> Option<Value> {
    c.params().iter().find_map(|(n, value)| (n == name).then_some(value))
}
