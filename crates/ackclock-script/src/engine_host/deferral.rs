//! Linux keeps back what would be a small packet for its device, while an ack is soon expected that lets it
//! be larger (`tcp_tso_should_defer`). RFC 9293 §3.8.6.2.1 lets a sender wait.

use ackclock_engine::Connection;
use ackclock_engine::offload::{Sender, Waiting};
use ackclock_units::Instant;

use super::bursts;
use super::sending::Sending;

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
        let next = Waiting { ends: next.ends || next.last && finishes, ..next };
        let sender = Sender {
            view: &v,
            cwnd: bursts::window(connection, now),
            payload: connection.full_payload(now),
            most: self.most,
            left_at: sending.left_at,
        };
        if let Some(kept) = sender.keeps(&next) {
            self.limited = kept.by_window;
            return true;
        }
        self.from = position;
        self.until = position + next.bytes.min(sender.quota().max(1) * u64::from(sender.payload.max(1)));
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
}
