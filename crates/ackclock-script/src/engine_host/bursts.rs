//! Which segments of a burst push. Linux hands bursts to the device in packets of several segments, and each such
//! packet pushes, as far as it has more than one (`__tcp_transmit_skb`).

use ackclock_engine::{Connection, Transmit};
use ackclock_units::Instant;
use ackclock_wire::Flags;

/// Most bytes of a packet (`sk_gso_max_size`).
const MOST: u64 = 65_536;

/// A packet has at least so many segments, where there are as many (`tcp_min_tso_segs`).
const LEAST_SEGMENTS: u64 = 2;

/// Sets the flag in the last segment of each packet that Linux would make of these segments, which leave at once.
pub(super) fn push(burst: &mut [Transmit], connection: &Connection, now: Instant) {
    if burst.len() < 2 {
        return;
    }
    let (smss, most) = (connection.smss(), segments(connection, now));
    let mut count = 1;
    for i in 1..burst.len() {
        let (before, this) = (&burst[i - 1], &burst[i]);
        let joins = before.segment.len == smss
            && this.segment.len > 0
            && this.segment.seq == before.segment.end()
            && this.retransmission == before.retransmission
            && !before.segment.flags.any(Flags::PSH | Flags::FIN | Flags::SYN)
            && count < most;
        if joins {
            count += 1;
        } else {
            close(&mut burst[i - 1], count);
            count = 1;
        }
    }
    if let Some(last) = burst.last_mut() {
        close(last, count);
    }
}

fn close(last: &mut Transmit, count: u64) {
    if count > 1 {
        last.segment.flags |= Flags::PSH;
    }
}

/// The segments of a packet: a millisecond's worth at the rate of the window, more on short paths, at most half a
/// window (`tcp_tso_autosize`, `tcp_update_pacing_rate`, `tcp_cwnd_test`).
fn segments(connection: &Connection, now: Instant) -> u64 {
    let view = connection.view(now);
    let smss = u64::from(view.smss.max(1));
    let half = (view.window.cwnd / smss / 2).max(1);
    let Some(rtt) = view.rtt else { return half };
    // In slow start twice the window per round trip, later 1.2 times.
    let percent = if view.window.cwnd < view.window.ssthresh / 2 { 200 } else { 120 };
    let srtt = (rtt.srtt.as_nanos() / 1000).max(1);
    let rate = u128::from(view.window.cwnd) * percent * 10_000 / u128::from(srtt);
    // The shifts are `sk_pacing_shift` and `tcp_tso_rtt_log`.
    let of_a_millisecond = u64::try_from(rate >> 10).unwrap_or(u64::MAX);
    let min_rtt = (rtt.min_rtt.as_nanos() / 1000) >> 9;
    let short = if min_rtt < 32 { MOST >> min_rtt } else { 0 };
    let bytes = of_a_millisecond.saturating_add(short).min(MOST);
    (bytes / smss).max(LEAST_SEGMENTS).min(half)
}
