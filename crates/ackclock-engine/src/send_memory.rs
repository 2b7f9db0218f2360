//! The memory of what waits for its acknowledgment, as Linux counts it: packets of many segments, of which each takes
//! more than its payload, in a buffer that grows with the congestion window.

use ackclock_units::Bytes;

/// What a packet takes beside its payload (`SKB_TRUESIZE` of a small head): room for headers (256), what the head ends
/// with (`skb_shared_info`, 320), and what describes it (`sk_buff`, 256). Linux 6.18 on a 64-bit machine, seen by
/// `SO_MEMINFO`.
pub const PACKET_OVERHEAD: Bytes = 832;

/// What is taken for a segment beside its payload before it is rounded up to a power of two, and what describes it
/// (`MAX_TCP_HEADER` of a build without radio links, where it is 64 bytes more, `skb_shared_info`, `sk_buff`).
const HEADERS: Bytes = 576;
const DESCRIPTION: Bytes = 256;

/// The window of which there is always memory (`TCP_INIT_CWND`).
const INITIAL_SEGS: u64 = 10;

/// The largest packet for the device, less the longest headers (`sk_gso_max_size`, `MAX_TCP_HEADER`).
const MOST: Bytes = 65_536 - 320 - 1;

/// Half a window of fewer segments does not bound packets.
const FEW_SEGMENTS: u64 = 3;

/// The memory that a buffer grows to (`tcp_sndbuf_expand`): that of `windows` congestion windows of `cwnd` bytes, in
/// segments of `smss`. `degree`: how far segments are reordered.
pub fn memory_of_windows(windows: u64, cwnd: Bytes, smss: u32, degree: u32) -> Bytes {
    let smss = u64::from(smss.max(1));
    let of_a_segment = (smss + HEADERS).next_power_of_two() + DESCRIPTION;
    let segments = (cwnd / smss).max(INITIAL_SEGS).max(u64::from(degree) + 1);
    windows.saturating_mul(segments).saturating_mul(of_a_segment)
}

/// True when an application that waits for `memory`, of which some is `used`, may go on: when a third is free
/// (`sk_stream_is_writeable`).
pub fn is_writable(used: Bytes, memory: Bytes) -> bool {
    used < memory && memory - used >= used / 2
}

/// Half of the largest window of the receiver, which bounds packets (`tcp_bound_to_half_wnd`). Into windows of a few
/// segments Linux's packets are seen to be larger.
pub fn half_window(max_window: Bytes, smss: u32) -> Bytes {
    let half = max_window / 2;
    if half < FEW_SEGMENTS * u64::from(smss.max(1)) { MOST } else { half }
}

/// The size to which packets are filled: whole segments, and half of the receiver's window at most
/// (`tcp_xmit_size_goal`).
pub fn packet_goal(max_window: Bytes, smss: u32) -> Bytes {
    let most = half_window(max_window, smss).min(MOST);
    let smss = u64::from(smss.max(1));
    (most - most % smss).max(smss)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_windows_and_of_ten_segments_at_least() {
        // What `SO_SNDBUF` reads on Linux 6.18 after the handshake, with CUBIC and with BBR.
        assert_eq!(memory_of_windows(2, 10 * 1448, 1448, 3), 46_080);
        assert_eq!(memory_of_windows(3, 10 * 1448, 1448, 3), 69_120);
        assert_eq!(memory_of_windows(2, 0, 1448, 3), 46_080);
        assert_eq!(memory_of_windows(2, 10 * 1448, 1448, 19), 92_160);
    }

    #[test]
    fn an_application_goes_on_when_a_third_is_free() {
        assert!(is_writable(66, 99) && !is_writable(67, 99));
        assert!(!is_writable(100, 99) && is_writable(0, 1));
    }

    #[test]
    fn packets_are_of_whole_segments_and_half_a_window_at_most() {
        assert_eq!(packet_goal(1 << 20, 1448), 45 * 1448);
        assert_eq!(packet_goal(20_000, 1000), 10_000);
        assert_eq!(packet_goal(4000, 1000), 65_000, "no half of a few segments");
    }
}
