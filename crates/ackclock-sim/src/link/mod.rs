//! A one-way link: a queue, a wire of some rate, a propagation delay, and faults on the wire.
//!
//! A link has no clock and schedules nothing. Whoever drives it offers packets in order of time. Behind a
//! first-in first-out queue it says at once when a packet will arrive, so that no event is needed for its
//! departure; behind any other queue it says when the packet in service will have left, and wants to be
//! polled then. A [`Carrier`] does both for whoever keeps the packets.

mod carrier;
mod counters;
mod fifo;
mod scheduled;

use ackclock_policy::{PacketId, QueueDiscipline, Queued};
use ackclock_units::{Duration, Instant, Rate, Rng};

pub use self::carrier::Carrier;
pub use self::counters::LinkCounters;
use self::fifo::Ahead;
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
        /// True when the queue marked it as it arrived.
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
    /// The queue set Congestion Experienced: as the packet arrived where it is [sent at once](Offer::Sent), as
    /// it left the queue otherwise.
    pub marked: bool,
}

/// A link at work.
pub struct Link {
    rate: Option<Rate>,
    delay: Duration,
    /// `None` for one without bounds, first in, first out.
    queue: Option<Box<dyn QueueDiscipline>>,
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
    /// The queue marked the packet in service as it left.
    marked: bool,
    /// Any other queue: packets that it pushed out or shed, to be fetched.
    dropped: Vec<PacketId>,
    changed_at: Instant,
    /// Transmission times of the sizes seen last: a division per packet is saved.
    known: [(u32, Duration); 2],
    counters: LinkCounters,
}

impl Link {
    /// Link number `index` of the run with seed `seed`: both choose its random streams.
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
        let mut out =
            Delivery { id: packet.id, departs, at, copy_at: None, lost: false, corrupt: false, marked };
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
