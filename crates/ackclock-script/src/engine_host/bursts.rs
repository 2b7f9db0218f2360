//! How many segments of a burst Linux hands to the device in one packet.

use ackclock_engine::Connection;
use ackclock_units::{Bytes, Instant};

/// Most bytes of a packet (`sk_gso_max_size`).
const MOST: u64 = 65_536;

/// A packet has at least so many segments, where there are as many, unless a setting says otherwise
/// (`tcp_min_tso_segs`).
pub(super) const LEAST_SEGMENTS: u64 = 2;

/// The congestion window as Linux has it: while a reduction is spread over a round trip, what is in the network and
/// what may be added (`tcp_cwnd_reduction`), bytes.
pub(super) fn window(connection: &Connection, now: Instant) -> Bytes {
    connection.repair_window().unwrap_or_else(|| connection.view(now).window.cwnd)
}

/// The segments of a packet: a millisecond's worth at the rate of the window, more on short paths, `least` in
/// any case, at most half a window (`tcp_tso_autosize`, `tcp_update_pacing_rate`, `tcp_cwnd_test`).
pub(super) fn segments(connection: &Connection, least: u64, now: Instant) -> u64 {
    let view = connection.view(now);
    let smss = u64::from(view.smss.max(1));
    let cwnd = window(connection, now);
    let half = (cwnd / smss / 2).max(1);
    let Some(rtt) = view.rtt else { return half };
    // In slow start twice the window per round trip, later 1.2 times.
    let percent = if cwnd < view.window.ssthresh / 2 { 200 } else { 120 };
    let srtt = (rtt.srtt.as_nanos() / 1000).max(1);
    let rate = u128::from(cwnd) * percent * 10_000 / u128::from(srtt);
    // The shifts are `sk_pacing_shift` and `tcp_tso_rtt_log`.
    let of_a_millisecond = u64::try_from(rate >> 10).unwrap_or(u64::MAX);
    let min_rtt = (rtt.min_rtt.as_nanos() / 1000) >> 9;
    let short = if min_rtt < 32 { MOST >> min_rtt } else { 0 };
    let bytes = of_a_millisecond.saturating_add(short).min(MOST);
    (bytes / u64::from(connection.full_payload(now).max(1))).max(least).min(half)
}
