//! What the windows have in common that differ from Reno's in their reductions, or while nothing is lost.

use ackclock_units::Bytes;

use super::growth::counted;
use crate::{AckInfo, Congestion, SenderView, SlowStart, Window};

/// Slow start, and congestion avoidance that counts acknowledged bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Standard {
    /// Bytes acknowledged towards the next increase (RFC 3465 §2.1).
    bytes_acked: Bytes,
}

impl Standard {
    /// The window after an ack, on any ack: grown where it may.
    pub fn grown(&mut self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        if !may_grow(a) {
            return v.window;
        }
        if v.window.cwnd < v.window.ssthresh {
            return below_threshold(a, slow_start, v);
        }
        self.bytes_acked = self.bytes_acked.saturating_add(a.newly_acked);
        if self.bytes_acked < v.window.cwnd {
            return v.window;
        }
        self.bytes_acked -= v.window.cwnd;
        Window { cwnd: v.window.cwnd.saturating_add(u64::from(v.smss)), ..v.window }
    }

    /// The window was reduced: counting starts again.
    pub fn restart(&mut self) {
        self.bytes_acked = 0;
    }
}

/// True when a window may grow on this ack, and is in use (RFC 7661 §4.4).
pub(super) fn may_grow(a: &AckInfo) -> bool {
    a.may_grow && a.validated
}

/// The window after an ack in slow start, which adds a segment at most (RFC 5681 §3.1 eq. 2).
pub(super) fn below_threshold(a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
    slow_start.on_ack(a, counted(a.newly_acked, v.smss, 1), v).applied_to(v)
}

/// Half of what is in flight, and two segments at least (RFC 5681 §3.1 eq. 4).
pub(super) fn half_flight(v: &SenderView) -> Bytes {
    at_least_two(v.flight_size.min(v.window.cwnd) / 2, v)
}

/// Two segments, or `bytes` if that is more.
pub(super) fn at_least_two(bytes: Bytes, v: &SenderView) -> Bytes {
    bytes.max(2 * u64::from(v.smss))
}

/// The window after a congestion signal that sets the threshold to `ssthresh` (RFC 5681 §3.1): after a
/// timeout one segment, and a repeated timeout leaves the threshold as it is.
pub(super) fn reduced_to(ssthresh: Bytes, c: Congestion, v: &SenderView) -> Window {
    match c {
        Congestion::Rto { repeated: true } => Window { cwnd: u64::from(v.smss), ..v.window },
        Congestion::Rto { repeated: false } => Window { cwnd: u64::from(v.smss), ssthresh },
        Congestion::Loss | Congestion::Ecn => Window { cwnd: ssthresh, ssthresh },
    }
}
