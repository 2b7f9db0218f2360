//! A one-way link: a queue, a wire of some rate, a propagation delay, and faults on the wire.
//!
//! A link has no clock and schedules nothing. Whoever drives it offers packets in order of time. Behind a first-in first-out queue it says at
//! once when a packet will arrive, so that no event is needed for its departure; behind any other queue it says when the packet in service
//! will have left, and wants to be polled then.

use std::collections::VecDeque;

use ackclock_policy::{Admit, Backlog, PacketId, Policy, QueueDiscipline, Queued};
use ackclock_units::{Bytes, Duration, Instant, Rate, Rng};

use crate::fault::{Fault, Passing, Verdict};

/// What a link is made of.
#[derive(Default)]
pub struct LinkSpec {
    /// Its rate; `None` for a pure delay, which never queues.
    pub rate: Option<Rate>,
    /// Time that a packet travels once it is on the wire.
    pub delay: Duration,
    /// Its queue; `None` for one without bounds, first in first out.
    pub queue: Option<Box<dyn QueueDiscipline>>,
    /// What can happen to packets on the wire, asked one after the other.
    pub faults: Vec<Box<dyn Fault>>,
}

impl LinkSpec {
    /// A pure delay.
    pub fn delay(delay: Duration) -> Self {
        Self { delay, ..Self::default() }
    }

    /// A link of some rate and delay behind a queue.
    pub fn new(rate: Rate, delay: Duration, queue: Box<dyn QueueDiscipline>) -> Self {
        Self { rate: Some(rate), delay, queue: Some(queue), ..Self::default() }
    }

    /// The same with one fault more.
    pub fn with_fault(mut self, fault: impl Fault + 'static) -> Self {
        self.faults.push(Box::new(fault));
        self
    }
}

/// What became of an offered packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// It will arrive, or be lost on the wire, as told.
    Sent(Delivery),
    /// It waits; [`Link::next_departure`] says when to poll. `marked`: Congestion Experienced was set.
    Waits {
        /// True when the queue marked it.
        marked: bool,
    },
    /// The queue refused it.
    Refused,
}

/// What becomes of a packet that leaves the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Which packet.
    pub id: PacketId,
    /// When its last bit is on the wire.
    pub departs: Instant,
    /// When its last bit arrives at the far end; meaningless when it is lost.
    pub at: Instant,
    /// When a second copy of it arrives.
    pub copy_at: Option<Instant>,
    /// Lost on the wire.
    pub lost: bool,
    /// Damaged on the wire.
    pub corrupt: bool,
    /// The queue set Congestion Experienced.
    pub marked: bool,
}

/// What a link has seen so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounters {
    /// Packets offered.
    pub offered: u64,
    /// Their bytes.
    pub offered_bytes: Bytes,
    /// Packets that the queue refused, pushed out or shed.
    pub queue_drops: u64,
    /// Their bytes.
    pub queue_drop_bytes: Bytes,
    /// Packets lost on the wire.
    pub fault_drops: u64,
    /// Packets damaged on the wire.
    pub corrupted: u64,
    /// Packets duplicated on the wire.
    pub duplicated: u64,
    /// Packets held back on the wire.
    pub delayed: u64,
    /// Packets that the queue marked.
    pub marked: u64,
    /// Packets put on the wire, lost there or not.
    pub served: u64,
    /// Their bytes.
    pub served_bytes: Bytes,
    /// Segments with payload and datagrams among them.
    pub served_data: u64,
    /// Time that the wire was busy with them.
    pub busy: Duration,
    /// Largest backlog seen by an arriving packet, itself included, bytes; the packet in service is not part of it.
    pub max_backlog: Bytes,
    /// The same in packets.
    pub max_backlog_packets: u32,
    /// Packets in the queue of which it is settled that the wire will lose them.
    pub doomed: u64,
    /// The backlog in bytes, summed over time in nanoseconds.
    pub byte_ns: u128,
    /// The backlog in packets, summed over time in nanoseconds.
    pub packet_ns: u128,
}

/// A link at work.
pub struct Link {
    rate: Option<Rate>,
    delay: Duration,
    queue: Box<dyn QueueDiscipline>,
    fifo: bool,
    plain: bool,
    faults: Vec<(Box<dyn Fault>, Rng)>,
    rng: Rng,
    /// The wire is free from then on.
    free_at: Instant,
    /// First in, first out: the queue as seen ahead of time.
    ahead: Ahead,
    /// Any other queue: the packet in service.
    in_service: Option<(Queued, Instant)>,
    /// Any other queue: packets that it pushed out or shed, to be fetched.
    dropped: Vec<PacketId>,
    changed_at: Instant,
    /// Transmission times of the sizes seen last: a division per packet is saved.
    known: [(u32, Duration); 2],
    counters: LinkCounters,
}

/// What a link with a first-in first-out queue keeps of packets of which it has told already when they will arrive.
#[derive(Default)]
struct Ahead {
    /// Those in the queue, in order.
    packets: VecDeque<Mark>,
    bytes: Bytes,
    /// When the first of them goes into service: when the one before it has left.
    next_start: Instant,
    /// The packet that went into service last.
    serving: Mark,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    bytes: u32,
    /// It carries payload.
    data: bool,
    /// It will be lost on the wire.
    lost: bool,
}

impl Link {
    /// Link number `index` of the run with seed `seed`: both choose its random streams.
    pub fn new(spec: LinkSpec, seed: u64, index: u64) -> Self {
        let fault_rng = |i: usize| Rng::stream(seed, "fault", (index << 16) | i as u64);
        let mut queue = spec.queue.unwrap_or_else(|| Box::new(Unbounded::default()));
        let fifo = queue.scheduler().is_none();
        Self {
            rate: spec.rate,
            delay: spec.delay,
            fifo: spec.rate.is_none() || fifo,
            plain: spec.rate.is_some() && fifo && spec.faults.is_empty(),
            queue,
            faults: spec.faults.into_iter().enumerate().map(|(i, f)| (f, fault_rng(i))).collect(),
            rng: Rng::stream(seed, "queue", index),
            free_at: Instant::ZERO,
            ahead: Ahead::default(),
            in_service: None,
            dropped: Vec::new(),
            changed_at: Instant::ZERO,
            known: [(0, Duration::ZERO); 2],
            counters: LinkCounters::default(),
        }
    }

    /// Offers a packet at the moment `packet.at`, which must not lie before that of any call before.
    #[inline]
    pub fn offer(&mut self, packet: Queued, about: &Passing) -> Offer {
        self.counters.offered += 1;
        self.counters.offered_bytes += u64::from(packet.bytes);
        if self.rate.is_none() {
            return Offer::Sent(self.leave(packet, about, packet.at, false));
        }
        if self.fifo { self.offer_fifo(packet, about) } else { self.offer_other(packet) }
    }

    fn offer_fifo(&mut self, packet: Queued, about: &Passing) -> Offer {
        let Some(marked) = self.admit(packet) else { return self.refuse(packet.bytes) };
        let departs = self.book(packet, about.kind.is_data());
        let delivery = self.leave(packet, about, departs, marked);
        if delivery.lost {
            // Booked last: it waits at the end of the queue, or it is in service already.
            self.ahead.packets.back_mut().unwrap_or(&mut self.ahead.serving).lost = true;
        }
        Offer::Sent(delivery)
    }

    /// True for a link of some rate behind a first-in first-out queue and without faults: then [`Link::offer_plain`] does what `offer` does.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Offers a packet to a plain link: when it arrives, and whether it was marked; `None` when it was refused.
    #[inline]
    pub(crate) fn offer_plain(&mut self, packet: Queued, data: bool) -> Option<(Instant, bool)> {
        self.counters.offered += 1;
        self.counters.offered_bytes += u64::from(packet.bytes);
        let Some(marked) = self.admit(packet) else {
            self.refuse(packet.bytes);
            return None;
        };
        let departs = self.book(packet, data);
        self.count_served(packet.bytes, data, marked);
        Some((departs + self.delay, marked))
    }

    /// Asks the queue for admission. Answers whether the packet was marked; `None` when it was refused.
    #[inline]
    fn admit(&mut self, packet: Queued) -> Option<bool> {
        self.settle(packet.at);
        match self.queue.enqueue(packet, packet.at, &mut self.rng) {
            Admit::Take => Some(false),
            Admit::Mark => Some(true),
            // A queue without a scheduler pushes nothing out (`QueueDiscipline::enqueue`).
            Admit::Drop | Admit::PushOut(_) => None,
        }
    }

    /// Books the service of an admitted packet; answers when it will have left.
    #[inline]
    fn book(&mut self, packet: Queued, data: bool) -> Instant {
        let now = packet.at;
        let time = self.time_to_send(packet.bytes);
        self.counters.busy += time;
        let start = self.free_at.max(now);
        let idle = self.free_at <= now;
        self.free_at = start + time;
        let ahead = &mut self.ahead;
        ahead.packets.push_back(Mark { bytes: packet.bytes, data, lost: false });
        ahead.bytes += u64::from(packet.bytes);
        if idle {
            ahead.next_start = now;
            self.settle(now);
        } else {
            let wait = u128::from(start.since(now).as_nanos());
            self.counters.packet_ns += wait;
            self.counters.byte_ns += wait * u128::from(packet.bytes);
            self.counters.max_backlog = self.counters.max_backlog.max(ahead.bytes);
            self.counters.max_backlog_packets = self.counters.max_backlog_packets.max(ahead.packets.len() as u32);
        }
        self.free_at
    }

    #[inline]
    fn count_served(&mut self, bytes: u32, data: bool, marked: bool) {
        self.counters.served += 1;
        self.counters.served_bytes += u64::from(bytes);
        self.counters.served_data += u64::from(data);
        self.counters.marked += u64::from(marked);
    }

    /// Takes out of the queue what has gone into service by `now`.
    #[inline]
    fn settle(&mut self, now: Instant) {
        while self.ahead.next_start <= now {
            let Some(first) = self.ahead.packets.pop_front() else { break };
            let start = self.ahead.next_start;
            self.ahead.next_start = start + self.time_to_send(first.bytes);
            self.ahead.bytes -= u64::from(first.bytes);
            self.ahead.serving = first;
            self.queue.dequeued(first.bytes, start);
        }
    }

    fn offer_other(&mut self, packet: Queued) -> Offer {
        let now = packet.at;
        self.integrate(now);
        let queue = &mut self.queue;
        let before = queue.backlog().bytes;
        let marked = match queue.enqueue(packet, now, &mut self.rng) {
            Admit::Take => false,
            Admit::Mark => true,
            Admit::Drop => return self.refuse(packet.bytes),
            Admit::PushOut(id) => {
                let pushed = (before + u64::from(packet.bytes)).saturating_sub(queue.backlog().bytes);
                self.counters.queue_drops += 1;
                self.counters.queue_drop_bytes += pushed;
                self.dropped.push(id);
                false
            }
        };
        self.counters.marked += u64::from(marked);
        if self.in_service.is_none() {
            self.serve(now);
        } else {
            let backlog = queue.backlog();
            self.counters.max_backlog = self.counters.max_backlog.max(backlog.bytes);
            self.counters.max_backlog_packets = self.counters.max_backlog_packets.max(backlog.packets);
        }
        Offer::Waits { marked }
    }

    /// Puts the next packet of a queue that is not first-in first-out into service.
    fn serve(&mut self, now: Instant) {
        self.integrate(now);
        let queue = &mut self.queue;
        let (before, sheds) = (queue.backlog(), self.dropped.len());
        let next = queue.scheduler().and_then(|s| s.dequeue(now, &mut self.dropped));
        let shed = (self.dropped.len() - sheds) as u64;
        if shed > 0 {
            let served = next.map_or(0, |p| u64::from(p.bytes));
            self.counters.queue_drops += shed;
            self.counters.queue_drop_bytes += before.bytes.saturating_sub(queue.backlog().bytes + served);
        }
        self.in_service = next.map(|p| (p, now + self.time_to_send(p.bytes)));
        if let Some((_, departs)) = self.in_service {
            self.counters.busy += departs.since(now);
        }
    }

    /// When the packet in service will have left; `None` when there is none, or when departures are told at once.
    pub fn next_departure(&self) -> Option<Instant> {
        self.in_service.map(|(_, departs)| departs)
    }

    /// The next packet that has left by `now`, if any; the one after it goes into service at that moment. `about` looks a packet up.
    /// Call until `None`. Packets that a queue dropped meanwhile are told by [`Link::next_dropped`].
    pub fn poll(&mut self, now: Instant, about: impl FnOnce(PacketId) -> Passing) -> Option<Delivery> {
        let (packet, departs) = self.in_service.filter(|(_, departs)| *departs <= now)?;
        self.free_at = departs;
        self.serve(departs);
        Some(self.leave(packet, &about(packet.id), departs, false))
    }

    /// A packet that was admitted before and has been pushed out or shed since. Call until `None` after [`Link::offer`] and [`Link::poll`].
    pub fn next_dropped(&mut self) -> Option<PacketId> {
        self.dropped.pop()
    }

    /// What waits at `now`, the packet in service not included.
    pub fn backlog(&mut self, now: Instant) -> Backlog {
        self.settle(now);
        self.queue.backlog()
    }

    /// What is in the queue or in service at `now`.
    pub fn queued(&mut self, now: Instant) -> Backlog {
        let waiting = self.backlog(now);
        let served = match self.in_service {
            Some((p, _)) => Some(p.bytes),
            None => (self.fifo && self.free_at > now).then_some(self.ahead.serving.bytes),
        };
        Backlog { packets: waiting.packets + u32::from(served.is_some()), bytes: waiting.bytes + u64::from(served.unwrap_or(0)) }
    }

    /// What it has seen by `now`.
    pub fn counters(&mut self, now: Instant) -> LinkCounters {
        self.settle(now);
        self.integrate(now);
        let (mut c, ahead) = (self.counters, &self.ahead);
        // Those in the queue were counted as if they had left, and so was the one in service.
        let serving = (self.fifo && self.free_at > now).then_some(&ahead.serving);
        for p in ahead.packets.iter().chain(serving) {
            c.served -= 1;
            c.served_bytes -= u64::from(p.bytes);
            c.served_data -= u64::from(p.data);
            c.fault_drops -= u64::from(p.lost);
            c.doomed += u64::from(p.lost);
        }
        let mut start = ahead.next_start;
        for p in &ahead.packets {
            let to_come = u128::from(start.since(now).as_nanos());
            c.packet_ns -= to_come;
            c.byte_ns -= to_come * u128::from(p.bytes);
            start += self.rate.map_or(Duration::ZERO, |r| r.time_to_send(u64::from(p.bytes)));
        }
        let busy_until = self.in_service.map_or(self.free_at, |(_, departs)| departs);
        c.busy = c.busy - busy_until.since(now);
        c
    }

    /// Segments with payload and datagrams that it has admitted, without those its queue dropped.
    pub fn served_data(&self) -> u64 {
        self.counters.served_data
    }

    /// Its rate; `None` for a pure delay.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Its propagation delay.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// True when every departure is told at once, so that it never needs to be polled.
    pub fn tells_at_once(&self) -> bool {
        self.fifo
    }

    fn refuse(&mut self, bytes: u32) -> Offer {
        self.counters.queue_drops += 1;
        self.counters.queue_drop_bytes += u64::from(bytes);
        Offer::Refused
    }

    /// Puts a served packet on the wire.
    #[inline]
    fn leave(&mut self, packet: Queued, about: &Passing, departs: Instant, marked: bool) -> Delivery {
        let number = self.counters.served;
        self.count_served(packet.bytes, about.kind.is_data(), marked);
        let at = departs + self.delay;
        let mut out = Delivery { id: packet.id, departs, at, copy_at: None, lost: false, corrupt: false, marked };
        if !self.faults.is_empty() {
            self.strike(&Passing { number, ..*about }, &mut out);
        }
        out
    }

    fn strike(&mut self, about: &Passing, out: &mut Delivery) {
        for (fault, rng) in &mut self.faults {
            match fault.verdict(about, out.departs, rng) {
                Verdict::Pass => {}
                Verdict::Drop => {
                    out.lost = true;
                    break;
                }
                Verdict::Duplicate => out.copy_at = Some(out.departs + self.delay),
                Verdict::Delay(extra) => {
                    out.at += extra;
                    self.counters.delayed += 1;
                }
                Verdict::Corrupt => out.corrupt = true,
            }
        }
        if out.lost {
            (out.copy_at, out.corrupt) = (None, false);
        }
        self.counters.fault_drops += u64::from(out.lost);
        self.counters.corrupted += u64::from(out.corrupt);
        self.counters.duplicated += u64::from(out.copy_at.is_some());
    }

    /// Adds the backlog of a queue that is not first-in first-out up to `now`.
    fn integrate(&mut self, now: Instant) {
        if self.fifo {
            return;
        }
        let (span, backlog) = (u128::from(now.since(self.changed_at).as_nanos()), self.queue.backlog());
        self.counters.packet_ns += span * u128::from(backlog.packets);
        self.counters.byte_ns += span * u128::from(backlog.bytes);
        self.changed_at = self.changed_at.max(now);
    }

    #[inline]
    fn time_to_send(&mut self, bytes: u32) -> Duration {
        match self.known {
            [(n, t), _] if n == bytes => t,
            [first, (n, t)] if n == bytes => {
                self.known = [(n, t), first];
                t
            }
            [first, _] => {
                let t = self.rate.map_or(Duration::ZERO, |r| r.time_to_send(u64::from(bytes)));
                self.known = [(bytes, t), first];
                t
            }
        }
    }
}

/// A queue without bounds, first in, first out.
#[derive(Debug, Default)]
struct Unbounded(Backlog);

impl Policy for Unbounded {
    fn name(&self) -> &str {
        "unbounded"
    }
}

impl QueueDiscipline for Unbounded {
    fn enqueue(&mut self, p: Queued, _: Instant, _: &mut Rng) -> Admit {
        self.0.packets += 1;
        self.0.bytes += u64::from(p.bytes);
        Admit::Take
    }

    fn dequeued(&mut self, bytes: u32, _: Instant) {
        self.0.packets -= 1;
        self.0.bytes -= u64::from(bytes);
    }

    fn backlog(&self) -> Backlog {
        self.0
    }
}
