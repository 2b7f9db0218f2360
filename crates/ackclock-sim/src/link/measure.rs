//! The backlog and the counters of a link at a given time.

use ackclock_policy::{Backlog, PacketId, Queued};
use ackclock_units::{Duration, Instant};

use super::counters::LinkCounters;
use super::losses::WireLosses;
use super::sojourn::{DelayHistogram, RecentSojourns};
use super::state::Link;

impl Link {
    /// The backlog at `now`, without the packet in service.
    pub fn backlog(&mut self, now: Instant) -> Backlog {
        self.advance(now);
        match &self.queue {
            Some(queue) => queue.backlog(),
            None => Backlog { packets: self.ahead.packets.len() as u32, bytes: self.ahead.bytes },
        }
    }

    /// The backlog at `now`, with the packet in service.
    pub fn queued(&mut self, now: Instant) -> Backlog {
        let waiting = self.backlog(now);
        let served = match self.in_service {
            Some((p, _)) => Some(p.bytes),
            None => (self.fifo && self.free_at > now).then_some(self.ahead.serving.bytes()),
        };
        Backlog {
            packets: waiting.packets + u32::from(served.is_some()),
            bytes: waiting.bytes + u64::from(served.unwrap_or(0)),
        }
    }

    /// The counters at `now`.
    pub fn counters(&mut self, now: Instant) -> LinkCounters {
        self.advance(now);
        if !self.fifo {
            self.integrate(now);
        }
        let (mut c, ahead) = (self.counters, &self.ahead);
        // Packets in the queue and in service were counted as served when they were offered.
        let serving = (self.fifo && self.free_at > now).then_some(&ahead.serving);
        for p in ahead.packets.iter().chain(serving) {
            c.served -= 1;
            c.served_bytes -= u64::from(p.bytes());
            c.served_data -= u64::from(p.is_data());
            c.fault_drops -= u64::from(p.is_lost());
            c.doomed += u64::from(p.is_lost());
        }
        let mut start = ahead.next_start;
        let mut finished = ahead.finished.iter();
        for p in &ahead.packets {
            let to_come = u128::from(start.since(now).as_nanos());
            c.packet_ns -= to_come;
            c.byte_ns -= to_come * u128::from(p.bytes());
            start = match finished.next() {
                Some(finished) => *finished,
                None => start + self.rate.map_or(Duration::ZERO, |r| r.time_to_send(u64::from(p.bytes()))),
            };
        }
        let awaits = self.elements.as_ref().and_then(|state| state.awaits);
        let busy_until =
            self.in_service.map_or(self.free_at, |(_, departs)| departs).max(awaits.unwrap_or_default());
        c.busy = c.busy - busy_until.since(now);
        c
    }

    /// The losses on the wire at `now`, by cause.
    pub(super) fn wire_losses(&mut self, now: Instant) -> WireLosses {
        self.advance(now);
        let serving = (self.fifo && self.free_at > now).then_some(&self.ahead.serving);
        let to_come = self.ahead.packets.iter().chain(serving).filter(|p| p.is_lost()).count();
        self.losses.without_latest(to_come)
    }

    /// Resets the largest backlog to the present one.
    pub fn forget_longest_queue(&mut self, now: Instant) {
        let waiting = self.backlog(now);
        (self.counters.max_backlog, self.counters.max_backlog_packets) = (waiting.bytes, waiting.packets);
    }

    /// The sojourn times of the packets that went into service since counting began
    /// ([`Link::restart_sojourns`]); `None` unless they are measured ([`Link::measure_sojourns`]).
    pub fn sojourns(&mut self, now: Instant) -> Option<&DelayHistogram> {
        self.sojourns.as_mut().map(|s| s.all(now))
    }

    /// Those of the packets that went into service since the last call; `None` unless they are measured.
    pub fn take_recent_sojourns(&mut self, now: Instant) -> Option<RecentSojourns> {
        self.sojourns.as_mut().map(|s| s.take_recent(now))
    }

    /// The sojourn time of the packet that went into service last, or of the one booked last; `None` unless
    /// they are measured.
    #[inline]
    pub(crate) fn latest_sojourn(&self) -> Option<Duration> {
        self.sojourns.as_ref().map(|s| s.latest)
    }

    /// Counts sojourn times from now on.
    pub fn restart_sojourns(&mut self, now: Instant) {
        if let Some(sojourns) = &mut self.sojourns {
            sojourns.restart(now);
        }
    }

    /// Packets offered to it so far.
    pub fn offered(&self) -> u64 {
        self.counters.offered
    }

    /// Memory held by its queue, bytes, without the packets themselves.
    pub fn held_bytes(&self) -> u64 {
        let own = self.queue.as_ref().map_or(0, |queue| queue.held_bytes());
        let waiting = match &self.queue {
            Some(queue) if !self.fifo => {
                own.max(2 * u64::from(queue.backlog().packets) * size_of::<Queued>() as u64)
            }
            _ => own + self.ahead.held_bytes(),
        };
        let sojourns = self.sojourns.as_ref().map_or(0, |s| s.held_bytes());
        waiting
            + sojourns
            + self.losses.held_bytes()
            + (self.dropped.capacity() * size_of::<PacketId>()) as u64
    }

    /// Segments with payload and datagrams served, counting those still in a first-in first-out queue.
    pub fn served_data(&self) -> u64 {
        self.counters.served_data
    }

    /// Integrates the backlog of a queue that is not first-in first-out up to `now`.
    pub(super) fn integrate(&mut self, now: Instant) {
        let (span, backlog) = (u128::from(now.since(self.changed_at).as_nanos()), self.waiting);
        self.counters.packet_ns += span * u128::from(backlog.packets);
        self.counters.byte_ns += span * u128::from(backlog.bytes);
        self.changed_at = self.changed_at.max(now);
    }
}
