//! How many segments of a burst Linux hands to the device in one packet.

use ackclock_engine::{Connection, offload};
use ackclock_units::{Bytes, Instant};

/// The congestion window as Linux has it: while a reduction is spread over a round trip, what is in the network and
/// what may be added (`tcp_cwnd_reduction`), bytes.
pub(super) fn window(connection: &Connection, now: Instant) -> Bytes {
    connection.repair_window().unwrap_or_else(|| connection.view(now).window.cwnd)
}

/// The segments of a packet, `least` in any case, at most half a window (`tcp_cwnd_test`).
pub(super) fn segments(connection: &Connection, least: u64, now: Instant) -> u64 {
    let view = connection.view(now);
    let cwnd = window(connection, now);
    let half = (cwnd / u64::from(view.smss.max(1)) / 2).max(1);
    offload::segs_of_window(&view, cwnd, connection.full_payload(now), least).min(half)
}
