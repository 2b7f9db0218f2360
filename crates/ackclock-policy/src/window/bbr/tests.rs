//! The draft's formulas and responses, number by number. Whole connections are simulated in
//! `ackclock-sim/tests/bbr`.

use ackclock_units::{SeqNumber, SeqRange};

use super::*;
use crate::harness::{ack, view};
use crate::{ClassicSlowStart, LostSegment, Params, Rtt};

const RTT: Duration = Duration::from_millis(100);

/// A connection driven by hand: segments of 1000 bytes, 100 ms, and so many segments a round trip.
struct Driven {
    bbr: Bbr,
    v: SenderView,
    delivered: Bytes,
    control: Control,
}

impl Driven {
    fn new() -> Self {
        let mut bbr = Bbr::new(Arc::new(Rules::new(&Params::defaults(PARAMS))));
        let rtt = Some(Rtt { latest: RTT, srtt: RTT, rttvar: RTT / 4, min_rtt: RTT });
        let v = SenderView { rtt, sack: true, ..view() };
        let control = bbr.start(&v);
        Self { bbr, v, delivered: 0, control }
    }

    fn on(&mut self, f: Feedback<'_>) {
        self.control = self.bbr.on(f, &self.v);
        self.v.window = self.control.window;
    }

    /// A round trip in which `segments` are delivered, in one ack; `lost` of them were lost before.
    fn round(&mut self, segments: u64, lost: u64, app_limited: bool) {
        self.v.now += RTT;
        let bytes = 1000 * segments;
        let rate = RateSample {
            delivered: bytes,
            interval: RTT,
            prior_delivered: self.delivered,
            total_delivered: self.delivered + bytes,
            app_limited,
            lost: 1000 * lost,
            prior_in_flight: self.v.pipe,
            sent_at: self.v.now.saturating_sub(RTT),
            rtt: Some(RTT),
        };
        self.delivered += bytes;
        let a = AckInfo { rate: Some(rate), ..ack(1, bytes) };
        self.on(Feedback::Ack(&a, &mut ClassicSlowStart));
    }

    /// A segment is lost, of so many bytes in flight, the last of so many lost.
    fn lose(&mut self, in_flight: Bytes, lost: Bytes) {
        let range = SeqRange::new(SeqNumber(1), SeqNumber(1001));
        let total_delivered = self.delivered;
        self.on(Feedback::Lost(LostSegment { range, in_flight, lost, total_delivered, app_limited: false }));
    }

    /// Through Startup on a path of 100 segments a round trip, to a state of ProbeBW.
    fn until(state: State) -> Self {
        let mut d = Self::new();
        d.v.pipe = 200_000;
        for segments in [10, 20, 40, 80, 100, 100, 100, 100] {
            d.round(segments, 0, false);
        }
        assert_eq!((d.bbr.state, d.bbr.full_pipe.reached), (State::Drain, true));
        d.v.pipe = 100_000;
        for _ in 0..100 {
            if d.bbr.state == state {
                return d;
            }
            d.round(100, 0, false);
        }
        panic!("{state:?} is not reached: {:?}", d.bbr)
    }
}

#[test]
fn the_initial_rate_is_the_initial_window_per_round_trip_with_the_gain() {
    // §5.6.2: 2.77 times 10,000 bytes in 100 ms.
    let d = Driven::new();
    assert_eq!(d.control.pacing.map(|p| p.rate.bits_per_sec()), Some(2_216_000));
    // Without a round-trip time 1 ms is taken, until there is one.
    let mut bbr = Bbr::new(Arc::new(Rules::new(&Params::defaults(PARAMS))));
    let control = bbr.start(&view());
    assert_eq!(control.pacing.map(|p| p.rate.bits_per_sec()), Some(221_600_000));
    bbr.on(Feedback::Ack(&ack(1, 1000), &mut ClassicSlowStart), &d.v);
    assert_eq!(bbr.pacing_rate.bits_per_sec(), 2_216_000);
}

#[test]
fn a_quantum_is_a_millisecond_two_segments_at_least_and_64_kib_at_most() {
    let mut d = Driven::new();
    for (mbit, quantum) in [(1, 2000), (16, 2000), (24, 3000), (160, 20_000), (10_000, 65_536)] {
        d.bbr.pacing_rate = Rate::from_bits_per_sec(mbit * 1_000_000);
        d.bbr.set_send_quantum();
        assert_eq!(d.bbr.send_quantum, quantum, "{mbit} Mbit/s");
    }
}

#[test]
fn startup_doubles_and_ends_after_three_rounds_without_a_quarter_more() {
    let mut d = Driven::new();
    d.v.pipe = 200_000;
    let mut windows = vec![];
    for segments in [10, 20, 40, 80] {
        d.round(segments, 0, false);
        windows.push(d.v.window.cwnd / 1000);
        // The pace is 2.77 times the bandwidth, less 1 %, and never slower than at first.
        let initial = Rate::from_bits_per_sec(2_216_000);
        assert_eq!(d.bbr.pacing_rate, scaled(d.bbr.bw, 2.77 * 0.99).max(initial));
    }
    assert_eq!(windows, [20, 40, 80, 160]);
    // 24 % more is no growth; 100 is a quarter more than 80.
    for (segments, count) in [(99, 1), (99, 2)] {
        d.round(segments, 0, false);
        assert_eq!((d.bbr.full_pipe.count, d.bbr.state), (count, State::Startup));
    }
    // A round that the application limited does not count (A.7).
    d.round(50, 0, true);
    assert_eq!((d.bbr.full_pipe.count, d.bbr.state), (2, State::Startup));
    d.round(99, 0, false);
    assert_eq!((d.bbr.full_pipe.count, d.bbr.state), (3, State::Drain));
}

#[test]
fn drain_ends_after_three_round_trips_at_the_latest() {
    // A.4.
    let mut d = Driven::new();
    d.v.pipe = 300_000;
    for segments in [10, 20, 40, 80, 100, 100, 100, 100] {
        d.round(segments, 0, false);
    }
    let mut rounds = 0;
    while d.bbr.state == State::Drain {
        d.round(100, 0, false);
        rounds += 1;
    }
    assert_eq!((rounds, d.bbr.state), (4, State::Down));
}

#[test]
fn six_ranges_lost_in_a_round_trip_end_startup() {
    // §5.3.1.3: more than 2 % too, and a fast recovery of a round trip.
    for (ranges, ends) in [(5, false), (6, true)] {
        let mut d = Driven::new();
        d.v.pipe = 40_000;
        d.round(10, 0, true);
        for i in 0..ranges {
            let range = SeqRange::new(SeqNumber(1 + 2000 * i), SeqNumber(1001 + 2000 * i));
            let segment = LostSegment {
                range,
                in_flight: 40_000,
                lost: 1000,
                total_delivered: 10_000,
                app_limited: true,
            };
            d.on(Feedback::Lost(segment));
        }
        d.on(Feedback::Congestion(Congestion::Loss));
        d.round(20, 6, true);
        assert_eq!(d.bbr.state != State::Startup, ends, "{ranges}");
        if ends {
            assert_eq!((d.bbr.undo.state, d.bbr.inflight_longterm), (Some(State::Startup), 20_000));
        }
    }
}

#[test]
fn the_loss_that_crosses_the_threshold_says_how_much_fits() {
    // §5.5.10.2: (0.02 * 99,000 - 2,000) / 0.98 beyond the 99,000 bytes before the segment.
    let mut d = Driven::until(State::Up);
    d.bbr.c.cwnd = 0;
    let range = SeqRange::new(SeqNumber(1), SeqNumber(1001));
    let p = LostSegment { range, in_flight: 100_000, lost: 3000, total_delivered: 0, app_limited: false };
    assert_eq!(d.bbr.inflight_at_loss(&p), 98_979);
}

#[test]
fn too_many_losses_end_a_probe_and_set_the_bound() {
    // A.6, A.21: 2 % of 120,000 bytes are 2400, so that the third segment is too much.
    let mut d = Driven::until(State::Up);
    for lost in [1000, 2000] {
        d.lose(120_000, lost);
        assert_eq!((d.bbr.state, d.bbr.inflight_longterm), (State::Up, Bytes::MAX));
    }
    d.lose(120_000, 3000);
    // (0.02 * 119,000 - 2,000) / 0.98 is 387.8.
    assert_eq!((d.bbr.state, d.bbr.inflight_longterm), (State::Down, 119_387));
    assert!(d.bbr.probe.prev_too_high && !d.bbr.probe.is_sample);
    // One response per probe.
    d.lose(50_000, 9000);
    assert_eq!(d.bbr.inflight_longterm, 119_387);
    // No less than 0.7 of the target: the estimated 100,000 bytes.
    let mut d = Driven::until(State::Up);
    d.lose(10_000, 1000);
    assert_eq!(d.bbr.inflight_longterm, 70_000);
    // Headroom is 15 % (§2.8).
    assert_eq!(d.bbr.inflight_with_headroom(), 59_500);
}

#[test]
fn losses_elsewhere_lower_the_short_term_model_by_three_tenths_at_most() {
    // §5.5.10.3.
    let mut d = Driven::until(State::Cruise);
    let (bw, cwnd) = (d.bbr.max_bw.get(), d.v.window.cwnd);
    // The best of the last round trips was all of the bandwidth, so that nothing is lowered yet.
    d.lose(100_000, 1000);
    d.round(50, 1, false);
    assert_eq!((d.bbr.bw_shortterm, d.bbr.bw), (bw, bw));
    // Half was delivered: no less than seven tenths are kept.
    d.lose(100_000, 1000);
    d.round(50, 1, false);
    assert_eq!((d.bbr.bw_shortterm, d.bbr.bw), (scaled(bw, 0.7), scaled(bw, 0.7)));
    assert!((cwnd * 49 / 100..cwnd).contains(&d.bbr.inflight_shortterm), "{}", d.bbr.inflight_shortterm);
    // Without losses it stays.
    d.round(100, 0, false);
    assert_eq!(d.bbr.bw_shortterm, scaled(bw, 0.7));
    // The next refill forgets it.
    for _ in 0..100 {
        if d.bbr.state == State::Refill {
            break;
        }
        d.round(100, 0, false);
    }
    assert_eq!((d.bbr.state, d.bbr.bw_shortterm), (State::Refill, UNLIMITED));
}

#[test]
fn a_probe_that_reaches_the_bound_grows_it_faster_each_round_trip() {
    // §5.3.3.5, A.15: 1, 2, 4, 8 segments in successive round trips, spread over each.
    let mut d = Driven::new();
    d.bbr.inflight_longterm = 100_000;
    d.bbr.rounds.is_cwnd_limited = true;
    d.bbr.c.cwnd = 100_000;
    d.bbr.raise_inflight_longterm_slope();
    let mut grown = vec![];
    for _ in 0..5 {
        let before = d.bbr.inflight_longterm;
        for n in 1..=100 {
            (d.bbr.c.cwnd, d.bbr.rounds.start) = (d.bbr.inflight_longterm, n == 100);
            d.bbr.probe_inflight_longterm_upward(before / 100);
        }
        grown.push((d.bbr.inflight_longterm - before) / 1000);
    }
    assert_eq!(grown, [1, 2, 4, 8, 16]);
}

#[test]
fn a_probe_after_one_that_went_too_high_stops_at_the_bound_and_is_repeated() {
    // §5.3.3.6.
    let mut d = Driven::until(State::Up);
    d.bbr.inflight_longterm = 110_000;
    d.bbr.probe.prev_too_high = true;
    d.v.pipe = 110_000;
    d.round(100, 0, false);
    assert_eq!((d.bbr.state, d.bbr.probe.prev_too_high), (State::Down, false));
    // A round trip of its acks later, without losses, it is at once followed by another.
    d.round(100, 0, false);
    assert_eq!(d.bbr.state, State::Refill);
}

#[test]
fn slow_samples_count_only_where_the_application_does_not_limit() {
    // §5.5.5, A.22.
    let mut d = Driven::until(State::Refill);
    let bw = d.bbr.max_bw.get();
    d.round(10, 0, true);
    assert_eq!((d.bbr.max_bw.get(), d.bbr.state), (bw, State::Up));
    d.round(150, 0, true);
    assert_eq!(d.bbr.max_bw.get().bits_per_sec(), 12_000_000);
}

#[test]
fn a_spurious_recovery_restores_the_model_and_the_probe() {
    // §5.5.11, A.18, A.19.
    for spurious in [true, false] {
        let mut d = Driven::until(State::Up);
        let cwnd = d.v.window.cwnd;
        d.on(Feedback::Congestion(Congestion::Rto { repeated: false }));
        assert_eq!(d.v.window.cwnd, 1000);
        for lost in 1..=10 {
            d.lose(100_000, 1000 * lost);
        }
        assert_eq!(d.bbr.state, State::Down);
        assert!(d.bbr.inflight_longterm < Bytes::MAX);
        let end = if spurious { EpisodeEnd::Spurious } else { EpisodeEnd::Completed };
        d.on(Feedback::EpisodeEnded(end));
        assert_eq!(d.v.window.cwnd, cwnd);
        let restored = (d.bbr.state, d.bbr.inflight_longterm == Bytes::MAX);
        assert_eq!(restored, if spurious { (State::Refill, true) } else { (State::Down, false) });
    }
}

#[test]
fn the_wait_between_probes_is_random_and_two_to_three_seconds() {
    let mut d = Driven::new();
    let waits: Vec<_> = (0..200)
        .map(|_| {
            d.bbr.start_probe_bw_down();
            (d.bbr.probe.wait_ms(), d.bbr.probe.rounds_since_up)
        })
        .collect();
    assert!(waits.iter().all(|(ms, rounds)| (2000..3000).contains(ms) && *rounds < 2));
    let mean = waits.iter().map(|w| w.0).sum::<u64>() / 200;
    assert!((2400..2600).contains(&mean), "{mean}");
    assert!(waits.iter().any(|w| w.1 == 0) && waits.iter().any(|w| w.1 == 1));
}

#[test]
fn probe_rtt_halves_the_window_for_a_fifth_of_a_second() {
    // §5.3.4, A.10: five seconds without a smaller round-trip time.
    let mut d = Driven::until(State::Cruise);
    while d.bbr.state != State::ProbeRtt {
        d.round(100, 0, false);
        assert!(d.v.now < Instant::ZERO + Duration::from_secs(7));
    }
    assert_eq!((d.bbr.cwnd_gain(), d.bbr.pacing_gain(), d.v.window.cwnd), (0.5, 1.0, 50_000));
    d.v.pipe = 50_000;
    let mut rounds = 0;
    while d.bbr.state == State::ProbeRtt {
        d.round(50, 0, false);
        rounds += 1;
    }
    // The first ack begins it, two round trips are 200 ms, and it must be over.
    assert_eq!((rounds, d.bbr.state), (4, State::Cruise));
    assert_eq!(d.bbr.max_bw.get().bits_per_sec(), 8_000_000, "its slow samples do not count");
}

#[test]
fn idling_is_as_good_as_probe_rtt() {
    // §5.4.1, A.11.
    for idle in [true, false] {
        let mut d = Driven::until(State::Cruise);
        d.v.now += Duration::from_secs(6);
        d.v.pipe = 1000;
        d.on(Feedback::Sent { bytes: 1000, retransmission: false, app_limited: idle });
        assert_eq!(d.bbr.pacing_rate, scaled(d.bbr.bw, 0.99));
        d.v.pipe = 100_000;
        d.round(100, 0, false);
        assert_eq!(d.bbr.state == State::ProbeRtt, !idle);
    }
}

#[test]
fn excess_acks_widen_the_window() {
    // §5.5.9: 50 segments more than the bandwidth explains.
    let mut d = Driven::until(State::Cruise);
    let before = d.v.window.cwnd;
    d.round(150, 0, true);
    assert!(d.bbr.aggregation.extra_acked > 0, "{:?}", d.bbr.aggregation);
    assert!(d.v.window.cwnd > before);
}
