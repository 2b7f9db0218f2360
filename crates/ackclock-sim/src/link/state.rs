//! The state of a link, and what all links do with a packet that leaves the queue.

use ackclock_policy::{Backlog, PacketId, QueueDiscipline, Queued};
use ackclock_units::{Duration, Instant, Rate, Rng};

use super::ahead::Ahead;
use super::counters::LinkCounters;
use super::delivery::{Delivery, Offer};
use super::elements::ElementStates;
use super::losses::{LossCause, WireLosses};
use super::medium::Stored;
use super::sojourn::Sojourns;
use super::spec::LinkSpec;
use crate::fault::{Fault, FaultVerdict, PacketInfo};

/// A link with its state.
pub struct Link {
    pub(super) rate: Option<Rate>,
    pub(super) delay: Duration,
    /// `None` for an unbounded first-in first-out queue.
    pub(super) queue: Option<Box<dyn QueueDiscipline>>,
    pub(super) fifo: bool,
    pub(super) plain: bool,
    pub(super) faults: Vec<(Box<dyn Fault>, Rng)>,
    /// What faults and schedule have lost.
    pub(super) losses: WireLosses,
    pub(super) rng: Rng,
    /// When the wire becomes free.
    pub(super) free_at: Instant,
    /// First-in first-out queue: packets booked ahead of time.
    pub(super) ahead: Ahead,
    /// Any other queue: the packet in service.
    pub(super) in_service: Option<(Queued, Instant)>,
    /// Nothing is in service, and packets wait for a scheduler that paces, or for a shared medium: when to try
    /// again.
    pub(super) release_at: Option<Instant>,
    /// The queue marked the packet in service as it left.
    pub(super) marked: bool,
    /// Any other queue: admitted packets that it has dropped, for [`Link::next_dropped`].
    pub(super) dropped: Vec<PacketId>,
    pub(super) changed_at: Instant,
    /// Any other queue: its backlog since then.
    pub(super) waiting: Backlog,
    /// Transmission times of the two sizes seen last, which saves a division per packet.
    pub(super) known: [(u32, Duration); 2],
    pub(super) counters: LinkCounters,
    /// `None` unless they are measured, which a link of pure delay cannot.
    pub(super) sojourns: Option<Box<Sojourns>>,
    pub(super) elements: Option<Box<ElementStates>>,
    /// Faults, or elements that act on the wire.
    pub(super) disturbed: bool,
    /// When the latest of the packets that keep their order arrives.
    pub(super) last_in_order: Instant,
}

impl Link {
    /// Link number `index` of the run with seed `seed`; both select its random streams.
    pub fn new(spec: LinkSpec, seed: u64, index: u64) -> Self {
        let fault_rng = |i: usize| Rng::stream(seed, "fault", (index << 16) | i as u64);
        let mut queue = spec.queue;
        let has_moments =
            spec.rate.is_some() && spec.elements.transmitter.as_ref().is_some_and(|t| t.has_moments());
        let stores = spec.elements.medium.is_some() || has_moments;
        if stores && queue.as_mut().is_none_or(|q| q.scheduler().is_none()) {
            queue = Some(Box::new(Stored::new(queue)));
        }
        let elements = ElementStates::new(spec.elements, Rng::stream(seed, "link", index));
        let fifo = queue.as_mut().is_none_or(|queue| queue.scheduler().is_none());
        Self {
            rate: spec.rate,
            delay: spec.delay,
            fifo: spec.rate.is_none() || fifo,
            plain: spec.rate.is_some() && fifo && spec.faults.is_empty() && elements.is_none(),
            disturbed: !spec.faults.is_empty() || elements.is_some(),
            elements,
            last_in_order: Instant::ZERO,
            queue,
            losses: WireLosses::of(spec.faults.len()),
            faults: spec.faults.into_iter().enumerate().map(|(i, f)| (f, fault_rng(i))).collect(),
            rng: Rng::stream(seed, "queue", index),
            free_at: Instant::ZERO,
            ahead: Ahead::default(),
            in_service: None,
            release_at: None,
            marked: false,
            dropped: Vec::new(),
            changed_at: Instant::ZERO,
            waiting: Backlog::default(),
            known: [(0, Duration::ZERO); 2],
            counters: LinkCounters::default(),
            sojourns: None,
        }
    }

    /// Measures sojourn times from now on.
    pub fn measure_sojourns(&mut self) {
        if self.rate.is_some() {
            self.plain = false;
            self.sojourns.get_or_insert_default();
        }
    }

    pub(super) fn refuse(&mut self, bytes: u32) -> Offer {
        self.counters.queue_drops += 1;
        self.counters.queue_drop_bytes += u64::from(bytes);
        Offer::Refused
    }

    /// Puts a served packet on the wire.
    #[inline]
    pub(super) fn leave(
        &mut self,
        packet: Queued,
        about: &PacketInfo,
        departs: Instant,
        marked: bool,
    ) -> Delivery {
        let number = self.counters.served;
        self.count_served(packet.bytes, about.kind.is_data(), marked);
        let at = departs + self.delay;
        let mut out =
            Delivery { id: packet.id, departs, at, copy_at: None, lost: false, corrupt: false, marked };
        if self.disturbed {
            self.apply_elements(&mut out);
            self.apply_faults(&PacketInfo { number, ..*about }, &mut out);
        }
        out
    }

    fn apply_faults(&mut self, about: &PacketInfo, out: &mut Delivery) {
        let base = out.at;
        for (i, (fault, rng)) in self.faults.iter_mut().enumerate() {
            if out.lost {
                break;
            }
            match fault.verdict(about, out.departs, rng) {
                FaultVerdict::Pass => {}
                FaultVerdict::Drop => {
                    out.lost = true;
                    self.losses.count(LossCause::Fault(i), self.ahead.packets.len());
                }
                FaultVerdict::Duplicate => out.copy_at = Some(base),
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
    pub(super) fn time_to_send(&mut self, bytes: u32) -> Duration {
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

    #[inline]
    pub(super) fn count_served(&mut self, bytes: u32, data: bool, marked: bool) {
        self.counters.served += 1;
        self.counters.served_bytes += u64::from(bytes);
        self.counters.served_data += u64::from(data);
        self.counters.marked += u64::from(marked);
    }
}
