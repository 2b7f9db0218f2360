//! CoDel's state machine, for one list of packets.

use ackclock_units::{Duration, Instant};

use super::super::packets::{PacketList, Packets};
use crate::{Dequeued, Ecn, PacketId, Param, Params, Queued};

/// Parameters of CoDel.
#[derive(Debug)]
pub(in super::super) struct CodelParams {
    target: Duration,
    interval: Duration,
    mtu: u64,
    ecn: bool,
    /// Sojourn time above which every ECN-capable packet is marked; zero for none.
    ce_threshold: Duration,
}

/// Longest time of a parameter: an hour.
const LONGEST: Duration = Duration::from_secs(3600);

impl CodelParams {
    pub(in super::super) const TARGET: Param = Param::duration(
        "target",
        Duration::from_millis(5),
        Duration::ZERO..=LONGEST,
        "sojourn time that a standing queue may have (RFC 8289 section 4.3)",
    );
    pub(in super::super) const INTERVAL: Param = Param::duration(
        "interval",
        Duration::from_millis(100),
        Duration::from_micros(1)..=LONGEST,
        "time for which sojourn times must stay above the target before a packet is dropped: about the \
         longest round-trip time (RFC 8289 section 4.2)",
    );
    pub(in super::super) const MTU: Param = Param::bytes(
        "mtu",
        1500,
        1..=65_535,
        "largest packet: with no more bytes than this waiting, in all queues together, nothing is dropped \
         (RFC 8289 sections 4.4 and 5.3)",
    );
    pub(in super::super) const CE_THRESHOLD: Param = Param::duration(
        "ce_threshold",
        Duration::ZERO,
        Duration::ZERO..=LONGEST,
        "mark every ECN-capable packet whose sojourn time is longer (RFC 8290 section 5.2.7); 0s for none",
    );

    pub(in super::super) fn new(p: &Params) -> Self {
        Self {
            target: p.duration("target"),
            interval: p.duration("interval"),
            mtu: p.bytes("mtu"),
            ecn: p.flag("ecn"),
            ce_threshold: p.duration("ce_threshold"),
        }
    }

    /// When the next packet is to be dropped after one at `t`: `interval / sqrt(count)` later (RFC 8289
    /// section 5.6).
    fn control_law(&self, t: Instant, count: u32) -> Instant {
        t + self.interval.mul_f64(1.0 / libm::sqrt(f64::from(count.max(1))))
    }

    fn marks(&self, packet: &Queued) -> bool {
        self.ecn && packet.ecn != Ecn::NotEct
    }
}

/// The state of one list of packets (RFC 8289 section 5.2).
#[derive(Debug, Default)]
pub(in super::super) struct Codel {
    /// When sojourn times will have been above the target for an interval; `None` while they are below it.
    first_above: Option<Instant>,
    /// When the next packet is dropped, in the dropping state.
    drop_next: Instant,
    /// Packets dropped since the dropping state began.
    count: u32,
    /// The count with which the last dropping state began.
    last_count: u32,
    dropping: bool,
}

impl Codel {
    /// Takes the next packet of `list` that is not dropped (RFC 8289 section 5.5). The ids of those dropped
    /// before it go to `shed`.
    #[inline(always)]
    pub(in super::super) fn dequeue(
        &mut self,
        p: &CodelParams,
        (packets, list): (&mut Packets, &mut PacketList),
        now: Instant,
        shed: &mut Vec<PacketId>,
    ) -> Option<Dequeued> {
        let (mut head, ok_to_drop) = self.next(p, (packets, list), now);
        let mut marked = false;
        if self.dropping && !ok_to_drop {
            self.dropping = false;
        } else if ok_to_drop && (!self.dropping || now >= self.drop_next) {
            (head, marked) = self.drop_due(p, (packets, list), now, (head, shed));
        }
        let packet = head?;
        marked |=
            !p.ce_threshold.is_zero() && packet.ecn != Ecn::NotEct && now.since(packet.at) > p.ce_threshold;
        Some(Dequeued { packet, marked: marked && packet.ecn != Ecn::Ce })
    }

    /// The oldest packet, and whether it may be dropped (RFC 8289 section 5.6). Whether the queue is short is
    /// asked of all lists of the link together (section 4.4).
    #[inline]
    fn next(
        &mut self,
        p: &CodelParams,
        (packets, list): (&mut Packets, &mut PacketList),
        now: Instant,
    ) -> (Option<Queued>, bool) {
        let Some(packet) = packets.pop(list) else {
            self.first_above = None;
            return (None, false);
        };
        if now.since(packet.at) < p.target || packets.backlog().bytes <= p.mtu {
            self.first_above = None;
            return (Some(packet), false);
        }
        let first_above = *self.first_above.get_or_insert(now + p.interval);
        (Some(packet), now >= first_above)
    }

    /// Drops what is due, beginning with `head`, which may be dropped. Returns the packet that leaves, and
    /// whether it is marked in place of a drop.
    #[inline(never)]
    fn drop_due(
        &mut self,
        p: &CodelParams,
        (packets, list): (&mut Packets, &mut PacketList),
        now: Instant,
        (mut head, shed): (Option<Queued>, &mut Vec<PacketId>),
    ) -> (Option<Queued>, bool) {
        if !self.dropping {
            let marked = head.is_some_and(|packet| p.marks(&packet));
            if !marked {
                shed.extend(head.map(|packet| packet.id));
                head = self.next(p, (packets, list), now).0;
            }
            self.dropping = true;
            // Soon after the last dropping state, continue with about the rate of drops that was enough then
            // (Linux's rule, which RFC 8289 section 5.5 has too).
            let delta = self.count.saturating_sub(self.last_count);
            let soon = now.since(self.drop_next) < p.interval.saturating_mul(16);
            self.count = if delta > 1 && soon { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next = p.control_law(now, self.count);
            return (head, marked);
        }
        while let Some(packet) = head {
            if !self.dropping || now < self.drop_next {
                break;
            }
            self.count = self.count.saturating_add(1);
            if p.marks(&packet) {
                self.drop_next = p.control_law(self.drop_next, self.count);
                return (head, true);
            }
            shed.push(packet.id);
            let ok_to_drop;
            (head, ok_to_drop) = self.next(p, (packets, list), now);
            self.dropping = ok_to_drop;
            if ok_to_drop {
                self.drop_next = p.control_law(self.drop_next, self.count);
            }
        }
        (head, false)
    }

    /// Counts packets that the discipline dropped because it was full, as Linux's fq_codel does.
    pub(in super::super) fn count_drops(&mut self, n: u32) {
        self.count = self.count.saturating_add(n);
    }

    pub(in super::super) fn count(&self) -> u32 {
        self.count
    }

    pub(in super::super) fn is_dropping(&self) -> bool {
        self.dropping
    }
}
