//! The size of the packets that Linux hands to the device, which cuts them into segments (TCP segmentation offload).

use ackclock_units::{Bytes, Duration};

use crate::SenderView;

/// Percent of the window that is sent per round-trip time in slow start, and after (Linux's
/// `net.ipv4.tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`).
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;

/// A packet is what leaves in the 1024th part of a second (`sk_pacing_shift`), with what a near peer has in addition:
/// 64 KiB, halved for every 512 microseconds of the smallest round-trip time (`net.ipv4.tcp_tso_rtt_log`).
const RATE_SHIFT: u32 = 10;
const RTT_SHIFT: u32 = 9;
/// Most bytes of a packet (`sk_gso_max_size`).
const MOST: Bytes = 1 << 16;

/// The rate of the window `cwnd`, bytes per second, once the round-trip time is known (`tcp_update_pacing_rate`).
pub fn window_rate(cwnd: Bytes, v: &SenderView) -> Option<u64> {
    let srtt = (v.rtt?.srtt.as_nanos() / 1000).max(1);
    // Near the end of slow start it slows down.
    let percent = if cwnd < v.window.ssthresh / 2 { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
    Some(cwnd.max(v.flight_size).saturating_mul(percent * 10_000) / srtt)
}

/// Segments of `payload` bytes that leave in one packet at this rate in bytes per second, `least` or more
/// (`tcp_tso_autosize`).
pub fn packet_segs(rate: u64, min_rtt: Duration, payload: u32, least: u64) -> u64 {
    let near = (min_rtt.as_nanos() / 1000) >> RTT_SHIFT;
    let near = if near < 32 { MOST >> near } else { 0 };
    let bytes = (rate >> RATE_SHIFT).saturating_add(near).min(MOST);
    (bytes / u64::from(payload.max(1))).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::view;
    use crate::{Rtt, Window};

    fn at(cwnd: u64, ssthresh: u64) -> SenderView {
        let rtt = Duration::from_millis(100);
        let rtt = Some(Rtt { latest: rtt, srtt: rtt, rttvar: rtt / 4, min_rtt: rtt });
        SenderView { window: Window { cwnd, ssthresh }, rtt, ..view() }
    }

    #[test]
    fn the_rate_is_twice_the_window_in_slow_start_and_six_fifths_after() {
        let rate = |cwnd, ssthresh| window_rate(cwnd, &at(cwnd, ssthresh));
        // 100,000 bytes in 100 ms are a megabyte a second.
        assert_eq!(rate(100_000, u64::MAX), Some(2_000_000));
        assert_eq!(rate(100_000, 200_002), Some(2_000_000));
        assert_eq!(rate(100_000, 200_000), Some(1_200_000));
        let outstanding = SenderView { flight_size: 200_000, ..at(100_000, 0) };
        assert_eq!(window_rate(100_000, &outstanding), Some(2_400_000), "more is outstanding");
        assert_eq!(window_rate(100_000, &SenderView { rtt: None, ..outstanding }), None);
    }

    #[test]
    fn a_packet_is_a_millisecond_two_segments_at_least_and_64_kib_at_most() {
        let segs = |rate, ms| packet_segs(rate, Duration::from_millis(ms), 1000, 2);
        assert_eq!(segs(1_200_000, 100), 2);
        // 11,718 bytes in the 1024th part of a second.
        assert_eq!(segs(12_000_000, 100), 11);
        assert_eq!(segs(1 << 40, 100), 65);
        // 1 ms away: 64 KiB halved once, and little of the rate.
        assert_eq!(segs(100_000, 1), 32);
    }
}
