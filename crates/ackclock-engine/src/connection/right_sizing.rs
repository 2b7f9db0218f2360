//! A receive buffer that grows with what the application reads in a round trip: dynamic right-sizing (Fisk
//! and Feng, "Dynamic Right-Sizing in TCP", 2001) as Linux 6.18 has it (`tcp_rcv_space_adjust`,
//! `tcp_rcvbuf_grow`).

use ackclock_units::{Bytes, Duration, Instant, SeqNumber, seldom};

use super::Connection;
use crate::Config;

/// What the growth of a receive buffer follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct RightSizing {
    /// The buffer, bytes.
    buf: Bytes,
    /// How far the window is open: what is offered of the buffer, bytes (`rcv_ssthresh`).
    open: Bytes,
    /// The segment that is being processed has opened it further.
    opened: bool,
    /// The most that was read in a round trip, bytes.
    most_read: Bytes,
    /// Read since `since`, bytes.
    read: Bytes,
    since: Instant,
    /// The round-trip time that a receiver sees; zero before the first sample.
    rtt: Duration,
    /// The timestamp that was echoed last.
    last_echo: Option<u32>,
    /// A whole window has arrived with this number, since `round_start`: no less than a round trip.
    round_end: SeqNumber,
    round_start: Option<Instant>,
}

/// A segment in order with fewer bytes does not open the window (`tcp_event_data_recv`).
const LEAST_OPENING: u32 = 128;
/// The largest window of a SYN.
const MOST_AT_FIRST: Bytes = 65_535;
/// Segments that the first round trip is taken to bring (`TCP_INIT_CWND`).
const FIRST_SEGS: u64 = 10;

impl RightSizing {
    pub(super) fn new(config: &Config) -> Self {
        let (buf, mss) = (config.first_rcv_buf(), Bytes::from(config.mss.max(1)));
        // Whole segments, and what a window without a scale can say (`tcp_select_initial_window`).
        let open = buf.min(MOST_AT_FIRST);
        let open = if open > mss { open - open % mss } else { open };
        Self {
            buf,
            open,
            opened: false,
            most_read: buf.min(FIRST_SEGS * u64::from(config.mss)).max(1),
            read: 0,
            since: Instant::ZERO,
            rtt: Duration::ZERO,
            last_echo: None,
            round_end: SeqNumber(0),
            round_start: None,
        }
    }

    /// A sample of the round-trip time. While data waits to be read, only a shorter one counts: the rest is
    /// the application's time (`tcp_rcv_rtt_update`).
    fn take_sample(&mut self, sample: Duration, waits: bool) {
        if self.rtt.is_zero() || sample < self.rtt {
            self.rtt = sample;
        } else if !waits {
            self.rtt = (self.rtt - self.rtt / 8).saturating_add(sample / 8);
        }
    }

    /// A segment, which is `full` or not, echoes the timestamp `tsecr` after `ms` milliseconds. An echo is a sample once,
    /// if the segment that brings it first is full (`tcp_rcv_rtt_measure_ts`).
    fn on_echo(&mut self, tsecr: u32, ms: u32, full: bool, waits: bool) {
        let first = self.last_echo.replace(tsecr) != Some(tsecr);
        if first && full && (1..1 << 30).contains(&ms) {
            self.take_sample(Duration::from_millis(ms.into()), waits);
        }
    }

    /// A segment with `len` bytes arrived, and `free` bytes of the buffer are free: the window opens by twice that,
    /// and two segments at least, as far as there is room (`tcp_grow_window`).
    fn open_window(&mut self, len: u32, mss: u32, free: Bytes) {
        let room = free.saturating_sub(self.open);
        self.opened = room > 0;
        self.open += room.min(2 * u64::from(len.max(mss)));
    }

    /// The application has read `n` bytes and left `unread`; `above_gap` bytes wait above a gap. Lets the
    /// buffer grow at the end of a round trip, up to `most`.
    fn on_read(&mut self, now: Instant, n: Bytes, unread: Bytes, above_gap: Bytes, most: Bytes) {
        self.read += n;
        if self.rtt.is_zero() || now.since(self.since) < self.rtt {
            return;
        }
        let copied = self.read.saturating_sub(unread);
        if copied > self.most_read {
            // The next round trip may bring twice as much; in slow start what it brings has doubled by the
            // time that the window arrives there, and doubles once more.
            let twice = 2 * copied;
            let growth = u128::from(twice) * u128::from(copied - self.most_read) / u128::from(self.most_read);
            let growth = u64::try_from(growth).unwrap_or(u64::MAX).saturating_mul(2);
            self.grow(twice.saturating_add(growth), above_gap, most);
            self.most_read = copied;
        }
        (self.read, self.since) = (0, now);
    }

    /// A segment has arrived above a gap: what waits there needs room beside what a round trip brings
    /// (`tcp_data_queue_ofo`).
    fn on_gap(&mut self, above_gap: Bytes, most: Bytes) {
        self.grow(2 * self.most_read, above_gap, most);
    }

    /// `tcp_rcvbuf_grow`
    fn grow(&mut self, window: Bytes, above_gap: Bytes, most: Bytes) {
        self.buf = self.buf.max(window.saturating_add(above_gap).min(most));
    }
}

impl Connection {
    /// The receive buffer, bytes.
    #[inline(always)]
    pub(super) fn rcv_buf(&self) -> Bytes {
        if seldom(self.rare.is_some_and(|r| r.right_sizing.is_some())) {
            self.rare.right_sizing.as_ref().map_or(0, |sizing| sizing.buf)
        } else {
            self.config.rcv_buf
        }
    }

    /// What of `free` bytes of the receive buffer is offered to the peer.
    #[inline(always)]
    pub(super) fn offered(&self, free: u32) -> u32 {
        if seldom(self.rare.is_some_and(|r| r.right_sizing.is_some())) {
            let open = self.rare.right_sizing.as_ref().map_or(Bytes::MAX, |sizing| sizing.open);
            u64::from(free).min(open) as u32
        } else {
            free
        }
    }

    /// A segment with `len` bytes of text arrived, in order or above a gap.
    #[inline(never)]
    pub(super) fn grow_window(&mut self, len: u32, in_order: bool) {
        let (mss, free, most) = (self.config.mss, self.free_space(), self.config.rcv_buf);
        let above_gap = self.receive.reach(self.rcv_nxt);
        if let Some(sizing) = self.rare.part_mut(|r| r.right_sizing.as_deref_mut()) {
            sizing.opened = false;
            if len >= LEAST_OPENING || !in_order {
                sizing.open_window(len, mss, free.into());
            }
            if !in_order {
                sizing.on_gap(above_gap.into(), most);
            }
        }
    }

    /// True when the segment that is being processed has opened the window further.
    pub(super) fn window_opens(&self) -> bool {
        self.rare.right_sizing.as_ref().is_some_and(|sizing| sizing.opened)
    }

    /// A segment, which is `full` or not, echoes `tsecr` of our timestamp clock, which counts milliseconds.
    #[cold]
    pub(super) fn time_by_echo(&mut self, now: Instant, tsecr: u32, full: bool) {
        let ms = self.timestamp_clock(now).wrapping_sub(tsecr);
        let waits = self.receive.readable() > 0;
        if let Some(sizing) = self.rare.part_mut(|r| r.right_sizing.as_deref_mut()) {
            sizing.on_echo(tsecr, ms, full, waits);
        }
    }

    /// The application has read `n` bytes.
    #[inline]
    pub(super) fn resize_buffer(&mut self, now: Instant, n: Bytes) {
        if self.rare.right_sizing.is_none() {
            return;
        }
        let (rcv_nxt, rcv_adv) = (self.rcv_nxt, self.rcv_adv);
        let (unread, most) = (self.receive.readable(), self.config.rcv_buf);
        let above_gap = self.receive.reach(rcv_nxt);
        let Some(sizing) = self.rare.part_mut(|r| r.right_sizing.as_deref_mut()) else { return };
        match sizing.round_start {
            Some(_) if rcv_nxt < sizing.round_end => {}
            start => {
                if let Some(start) = start {
                    // Without echoes: at least a round trip, so only a shorter one counts.
                    sizing.take_sample(now.since(start), true);
                }
                (sizing.round_start, sizing.round_end) = (Some(now), rcv_adv);
            }
        }
        sizing.on_read(now, n, unread, above_gap.into(), most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: u64 = 100;

    fn sizing(initial: Bytes) -> RightSizing {
        let config = Config { rcv_autotune: true, rcv_buf_initial: initial, mss: 1000, ..Config::default() };
        let mut sizing = RightSizing::new(&config);
        sizing.take_sample(Duration::from_millis(RTT), false);
        sizing
    }

    /// The buffer, kilobytes, after each round trip, of which each brings and reads the next of `kb`.
    fn buffers(kb: &[u64], most: Bytes) -> Vec<Bytes> {
        let mut sizing = sizing(64_000);
        let mut now = Instant::ZERO;
        kb.iter()
            .map(|kb| {
                now += Duration::from_millis(RTT);
                sizing.on_read(now, kb * 1000, 0, 0, most);
                sizing.buf / 1000
            })
            .collect()
    }

    #[test]
    fn a_doubling_flow_finds_six_times_what_it_brings() {
        // 2 * new + 2 * (2 * new) * (new - old) / old with new = 2 * old is 6 * new. The first round trip is
        // taken to bring 10 segments.
        assert_eq!(buffers(&[10, 20, 40, 80], 1 << 30), [64, 120, 240, 480]);
    }

    #[test]
    fn a_steady_flow_needs_no_more() {
        assert_eq!(buffers(&[20, 20, 20], 1 << 30), [120, 120, 120]);
        assert_eq!(buffers(&[10, 11, 12, 12], 1 << 30), [64, 64, 64, 64], "twice as much fits");
    }

    #[test]
    fn the_window_opens_by_two_segments_for_each_that_arrives() {
        // `tcp_grow_window` with `advmss` 1000, and a segment that is longer than announced.
        let mut s = sizing(64_000);
        let opened = [(500, 64_000), (500, 70_000), (1000, 70_000), (1500, 70_000), (1000, 70_000)].map(
            |(len, free)| {
                s.open_window(len, 1000, free);
                (s.open, s.opened)
            },
        );
        assert_eq!(
            opened,
            [(64_000, false), (66_000, true), (68_000, true), (70_000, true), (70_000, false)]
        );
    }

    #[test]
    fn the_limit_is_kept() {
        assert_eq!(buffers(&[10, 1000, 2000], 500_000), [64, 500, 500]);
    }

    #[test]
    fn what_waits_above_a_gap_needs_room_too() {
        let mut sizing = sizing(10_000);
        sizing.on_read(Instant::ZERO + Duration::from_millis(RTT), 20_000, 0, 5000, 1 << 20);
        assert_eq!(sizing.buf, 125_000);
    }

    #[test]
    fn a_gap_lets_the_buffer_grow_before_anything_is_read() {
        // Twice the ten segments that the first round trip is taken to bring.
        let mut sizing = sizing(64_000);
        sizing.on_gap(44_000, 1 << 20);
        assert_eq!(sizing.buf, 64_000);
        sizing.on_gap(100_000, 1 << 20);
        assert_eq!(sizing.buf, 120_000);
        sizing.on_gap(10_000, 1 << 20);
        assert_eq!(sizing.buf, 120_000, "it does not shrink");
        sizing.on_gap(1 << 19, 200_000);
        assert_eq!(sizing.buf, 200_000);
    }

    #[test]
    fn the_first_window_is_what_a_syn_can_say_in_whole_segments() {
        let open = |buf, mss| {
            let config = Config { rcv_autotune: true, rcv_buf_initial: buf, mss, ..Config::default() };
            RightSizing::new(&config).open
        };
        // What Linux 6.18 says in a SYN-ACK with timestamps.
        assert_eq!(open(80_896, 1448), 65_160);
        assert_eq!((open(10_000, 1000), open(500, 1448)), (10_000, 500));
    }

    #[test]
    fn a_slow_application_needs_no_larger_buffer() {
        let mut sizing = sizing(64_000);
        sizing.on_read(Instant::ZERO + Duration::from_millis(RTT), 30_000, 34_000, 0, 1 << 20);
        assert_eq!(sizing.buf, 64_000);
    }

    #[test]
    fn an_echo_is_a_sample_once_and_of_a_full_segment() {
        let mut sizing = sizing(64_000);
        let rtts =
            [(7, 180, true), (7, 260, true), (8, 180, false), (8, 180, true), (9, 0, true), (10, 50, true)]
                .map(|(tsecr, ms, full)| {
                    sizing.on_echo(tsecr, ms, full, false);
                    sizing.rtt.as_nanos() / 1_000_000
                });
        assert_eq!(rtts, [110, 110, 110, 110, 110, 50]);
    }

    #[test]
    fn round_trips_that_include_the_applications_time_do_not_count() {
        let mut sizing = sizing(64_000);
        sizing.take_sample(Duration::from_millis(900), true);
        assert_eq!(sizing.rtt, Duration::from_millis(100));
        sizing.take_sample(Duration::from_millis(180), false);
        assert_eq!(sizing.rtt, Duration::from_millis(110));
        sizing.take_sample(Duration::from_millis(50), true);
        assert_eq!(sizing.rtt, Duration::from_millis(50));
    }
}
