//! A one-way link: a queue, a wire of some rate, a propagation delay, and faults on the wire.
//!
//! A link has no clock and schedules nothing. Its caller offers packets in order of time. With a first-in
//! first-out queue, the offer returns when the packet will arrive, so that no event is needed for its
//! departure. With any other queue, the link returns when the packet in service will have left, and must be
//! polled then. [`Carrier`] handles both cases for the owner of the packets.

mod carrier;
mod counters;
mod fifo;
mod scheduled;

use ackclock_policy::{PacketId, QueueDiscipline, Queued};
use ackclock_units::{Duration, Instant, Rate, Rng};

pub use self::carrier::Carrier;
pub use self::counters::LinkCounters;
use self::fifo::Ahead;
use crate::fault::{Fault, FaultVerdict, PacketInfo};

/// The parts of a link.
#[derive(Default)]
pub struct LinkSpec {
    /// Its rate; `None` for a pure delay, which never queues.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Its queue; `None` for an unbounded first-in first-out queue.
    pub queue: Option<Box<dyn QueueDiscipline>>,
    /// Faults on the wire, called in this order.
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

    /// Adds a fault.
    pub fn with_fault(mut self, fault: impl Fault + 'static) -> Self {
        self.faults.push(Box::new(fault));
        self
    }
}

/// Result of offering a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// The packet will arrive, or be lost on the wire.
    Sent(Delivery),
    /// The packet waits; [`Link::next_departure`] returns when to poll.
    Waits {
        /// True when the queue set Congestion Experienced as the packet arrived.
        marked: bool,
    },
    /// The queue refused the packet.
    Refused,
}

/// What happens to a packet that leaves the queue.
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
    /// The queue set Congestion Experienced: as the packet arrived when the offer returned [`Offer::Sent`],
    /// otherwise as it left the queue.
    pub marked: bool,
}

/// A link with its state.
pub struct Link {
    rate: Option<Rate>,
    delay: Duration,
    /// `None` for an unbounded first-in first-out queue.
    queue: Option<Box<dyn QueueDiscipline>>,
    fifo: bool,
    plain: bool,
    faults: Vec<(Box<dyn Fault>, Rng)>,
    rng: Rng,
    /// When the wire becomes free.
    free_at: Instant,
    /// First-in first-out queue: packets booked ahead of time.
    ahead: Ahead,
    /// Any other queue: the packet in service.
    in_service: Option<(Queued, Instant)>,
    /// The queue marked the packet in service as it left.
    marked: bool,
    /// Any other queue: admitted packets that it has dropped, for [`Link::next_dropped`].
    dropped: Vec<PacketId>,
    changed_at: Instant,
    /// Transmission times of the two sizes seen last, which saves a division per packet.
    known: [(u32, Duration); 2],
    counters: LinkCounters,
}

impl Link {
    /// Link number `index` of the run with seed `seed`; both select its random streams.
    pub fn new(spec: LinkSpec, seed: u64, index: u64) -> Self {
        let fault_rng = |i: usize| Rng::stream(seed, "fault", (index << 16) | i as u64);
        let mut queue = spec.queue;
        let fifo = queue.as_mut().is_none_or(|queue| queue.scheduler().is_none());
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
            marked: false,
            dropped: Vec::new(),
            changed_at: Instant::ZERO,
            known: [(0, Duration::ZERO); 2],
            counters: LinkCounters::default(),
        }
    }

    /// Offers a packet at `packet.at`, which must not be earlier than in any previous call.
    #[inline]
    pub fn offer(&mut self, packet: Queued, about: &PacketInfo) -> Offer {
        self.counters.offered += 1;
        self.counters.offered_bytes += u64::from(packet.bytes);
        if self.rate.is_none() {
            return Offer::Sent(self.leave(packet, about, packet.at, false));
        }
        if self.fifo { self.offer_fifo(packet, about) } else { self.offer_scheduled(packet) }
    }

    /// Its rate; `None` for a pure delay.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Its propagation delay.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// True for a pure delay or a first-in first-out queue: every departure is known when the packet is
    /// offered, so that the link never needs to be polled.
    pub fn is_fifo(&self) -> bool {
        self.fifo
    }

    fn refuse(&mut self, bytes: u32) -> Offer {
        self.counters.queue_drops += 1;
        self.counters.queue_drop_bytes += u64::from(bytes);
        Offer::Refused
    }

    /// Puts a served packet on the wire.
    #[inline]
    fn leave(&mut self, packet: Queued, about: &PacketInfo, departs: Instant, marked: bool) -> Delivery {
        let number = self.counters.served;
        self.count_served(packet.bytes, about.kind.is_data(), marked);
        let at = departs + self.delay;
        let mut out =
            Delivery { id: packet.id, departs, at, copy_at: None, lost: false, corrupt: false, marked };
        if !self.faults.is_empty() {
            self.apply_faults(&PacketInfo { number, ..*about }, &mut out);
        }
        out
    }

    fn apply_faults(&mut self, about: &PacketInfo, out: &mut Delivery) {
        for (fault, rng) in &mut self.faults {
            match fault.verdict(about, out.departs, rng) {
                FaultVerdict::Pass => {}
                FaultVerdict::Drop => {
                    out.lost = true;
                    break;
                }
                FaultVerdict::Duplicate => out.copy_at = Some(out.departs + self.delay),
                FaultVerdict::Delay(extra) => {
                    out.at += extra;
                    self.counters.delayed += 1;
                }
                FaultVerdict::Corrupt => out.corrupt = true,
            }
        }
        if out.lost {
            (out.copy_at, out.corrupt) = (None, false);
        }
        self.counters.fault_drops += u64::from(out.lost);
        self.counters.corrupted += u64::from(out.corrupt);
        self.counters.duplicated += u64::from(out.copy_at.is_some());
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
