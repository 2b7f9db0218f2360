//! Linux keeps back what would be a small packet for its device, while an ack is soon expected that lets it
//! be larger (`tcp_tso_should_defer`). RFC 9293 §3.8.6.2.1 lets a sender wait.

use ackclock_engine::Connection;
use ackclock_policy::Phase;
use ackclock_units::{Bytes, Duration, Instant};

use super::bursts;
use super::sending::Sending;
use super::write_queue::Waiting;

/// Nothing is kept back when the last packet left longer ago than this.
const RECENT: Duration = Duration::from_millis(1);

/// The ack of the oldest segment is expected within this time, or half a round trip; otherwise nothing is kept
/// back.
const SOON: Duration = Duration::from_millis(1);

/// What this part of the smaller window can carry is worth a packet (`tcp_tso_win_divisor`).
const PART: Bytes = 3;

/// Which new data may leave while a connection sends.
#[derive(Debug)]
pub(super) struct Deferral {
    /// Positions of the packet that is leaving, and past it.
    from: u64,
    until: u64,
    /// The next segment is not the first one of that packet.
    inside: bool,
    /// What was kept back last has too little room in the congestion window.
    limited: bool,
    most: u64,
}

impl Deferral {
    /// `most`: segments of a packet.
    pub(super) fn new(most: u64) -> Self {
        Self { from: 0, until: 0, inside: false, limited: false, most }
    }

    /// True when the next new data is kept back. To be asked before each segment; `finishes`: a FIN follows
    /// what was written.
    pub(super) fn keeps(
        &mut self,
        connection: &Connection,
        sending: &Sending,
        finishes: bool,
        now: Instant,
    ) -> bool {
        let v = connection.view(now);
        let position = sending.queue.end().saturating_sub(v.unsent);
        self.limited = false;
        self.inside = v.unsent > 0 && position < self.until && position > self.from;
        if v.unsent == 0 || position < self.until {
            return false;
        }
        let Some(next) = sending.queue.waiting(position) else { return false };
        let smss = u64::from(v.smss.max(1));
        let (cwnd, in_flight) = (bursts::window(connection, now) / smss, v.pipe.div_ceil(smss));
        let room = cwnd.saturating_sub(in_flight);
        let quota = (cwnd / 2).max(1).min(room).min(self.most.max(1));
        let payload = u64::from(connection.full_payload(now).max(1));
        if next.bytes > payload && self.defers(&next, room * payload, sending, finishes, connection, now) {
            return true;
        }
        self.from = position;
        self.until = position + next.bytes.min(quota.max(1) * payload);
        false
    }

    /// True when the next segment may be cut short by the receiver's window, as one that ends a packet
    /// (`tcp_mss_split_point`).
    pub(super) fn fills(&self) -> bool {
        self.inside
    }

    /// True when new data is kept back that has too little room in the congestion window, which counts as
    /// full then (`tcp_cwnd_validate`).
    pub(super) fn fills_window(&self) -> bool {
        self.limited
    }

    fn defers(
        &mut self,
        next: &Waiting,
        by_cwnd: Bytes,
        sending: &Sending,
        finishes: bool,
        connection: &Connection,
        now: Instant,
    ) -> bool {
        let v = connection.view(now);
        let smss = u64::from(v.smss.max(1));
        let payload = u64::from(connection.full_payload(now).max(1));
        let recent = sending.left_at.is_some_and(|at| now.since(at) < RECENT);
        let by_receiver = v.rwnd.saturating_sub(v.flight_size);
        let limit = by_cwnd.min(by_receiver);
        let Some(oldest) = v.oldest_sent_at else { return false };
        // Without a sample an ack is expected at once.
        let srtt = v.rtt.map_or(Duration::ZERO, |rtt| rtt.srtt);
        let at_once = matches!(v.phase, Phase::Recovery | Phase::Loss)
            || !recent
            || limit >= self.most * payload
            || (!next.last && limit >= next.bytes)
            || limit >= v.rwnd.min(bursts::window(connection, now) / smss * payload) / PART
            || oldest + srtt > now + SOON.min(srtt / 2);
        let bounded = limit <= next.bytes;
        self.limited = !at_once && bounded && by_cwnd < by_receiver;
        !at_once && (bounded || !(next.record || (next.last && finishes)))
    }
}
