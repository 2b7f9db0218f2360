//! Linux's constants, and its arithmetic number by number.

use super::*;
use crate::harness::view;
use crate::{ClassicSlowStart, harness::ack};
use crate::{RateSample, Rtt};

const RTT: Duration = Duration::from_millis(100);

struct Driven {
    bbr: Bbr1,
    v: SenderView,
    delivered: Bytes,
    pacing: Option<Pacing>,
}

impl Driven {
    fn new() -> Self {
        let mut bbr = Bbr1::new(Arc::new(Rules::new(&Params::defaults(ENTRY.params))));
        let rtt = Some(Rtt { latest: RTT, srtt: RTT, rttvar: RTT / 4, min_rtt: RTT });
        let mut v = SenderView { rtt, sack: true, ..view() };
        v.window = bbr.start(&v).window;
        Self { bbr, v, delivered: 0, pacing: None }
    }

    fn on(&mut self, f: Feedback<'_>) {
        let control = self.bbr.on(f, &self.v);
        (self.v.window, self.pacing) = (control.window, control.pacing);
    }

    /// A round trip that delivers so many segments, of which the ack finds so many lost.
    fn round(&mut self, segments: u64, losses: u64) {
        self.v.now += RTT;
        let bytes = 1000 * segments;
        let rate = RateSample {
            delivered: bytes,
            interval: RTT,
            prior_delivered: self.delivered,
            total_delivered: self.delivered + bytes,
            app_limited: false,
            lost: 1000 * losses,
            prior_in_flight: self.v.pipe,
            sent_at: self.v.now.saturating_sub(RTT),
            rtt: Some(RTT),
        };
        self.delivered += bytes;
        self.bbr.lost += losses;
        let a = AckInfo { rate: Some(rate), newly_lost: 1000 * losses, ..ack(1, bytes) };
        self.on(Feedback::Ack(&a, &mut ClassicSlowStart));
    }

    fn cwnd(&self) -> u64 {
        self.v.window.cwnd / 1000
    }

    /// Through Startup and Drain on a path of 100 segments a round trip.
    fn in_probe_bw() -> Self {
        let mut d = Self::new();
        d.v.pipe = 200_000;
        for segments in [10, 20, 40, 80, 100, 100, 100] {
            d.round(segments, 0);
        }
        assert_eq!(d.bbr.mode, Mode::Startup);
        d.round(100, 0);
        assert_eq!(d.bbr.mode, Mode::Drain);
        d.v.pipe = 90_000;
        d.round(100, 0);
        assert_eq!(d.bbr.mode, Mode::ProbeBw);
        d
    }
}

#[test]
fn gains_are_whole_256ths() {
    assert_eq!((phases::HIGH_GAIN, UNIT * 1000 / 2885), (739, 88));
}

#[test]
fn startup_paces_at_its_gain_less_a_hundredth() {
    // Ten segments in 100 ms, times 739/256, less 1 %: in bytes per second, with Linux's rounding.
    let mut d = Driven::new();
    assert_eq!(d.bbr.pacing_rate, 285_662);
    assert!(d.bbr.control().pacing.is_none(), "the first segments are not paced");
    for n in 1..=10 {
        d.v.pipe += 1000;
        d.on(Feedback::Sent { bytes: 1000, retransmission: false, app_limited: false });
        assert_eq!(d.pacing.is_some(), n >= 9);
    }
    let mut windows = vec![];
    for segments in [10, 20, 40] {
        d.round(segments, 0);
        windows.push(d.cwnd());
    }
    assert_eq!(windows, [20, 40, 80]);
}

#[test]
fn the_window_is_twice_the_path_and_the_quanta() {
    // 2 * 100 segments, the 99 of 100 ms for acks that come all at once, three quanta of two segments, even:
    // 306, and two more in the phase that probes.
    let mut d = Driven::in_probe_bw();
    for _ in 0..20 {
        d.round(100, 0);
        let probing = d.bbr.is_probing_up();
        assert_eq!(d.bbr.pacing_gain == UNIT * 5 / 4, probing);
        assert_eq!(d.cwnd(), if probing { 308 } else { 306 });
    }
}

#[test]
fn a_recovery_conserves_packets_for_a_round_trip() {
    let mut d = Driven::in_probe_bw();
    let before = d.cwnd();
    d.v.pipe = 90_000;
    d.on(Feedback::Congestion(Congestion::Loss));
    assert_eq!(d.cwnd(), before);
    // A segment is acknowledged within the round trip: what is in flight, and it.
    let total = d.delivered + 1000;
    let rate = RateSample {
        delivered: 100_000,
        interval: RTT,
        prior_delivered: d.delivered - 50_000,
        total_delivered: total,
        app_limited: false,
        lost: 1000,
        prior_in_flight: 90_000,
        sent_at: d.v.now,
        rtt: Some(RTT),
    };
    d.bbr.rounds.end = total;
    d.delivered = total;
    let a = AckInfo { rate: Some(rate), newly_lost: 1000, ..ack(1, 1000) };
    d.on(Feedback::Ack(&a, &mut ClassicSlowStart));
    assert_eq!(d.cwnd(), 91);
    // Afterwards it grows by what is acknowledged, and the old window is back at the end.
    d.round(50, 0);
    assert_eq!(d.cwnd(), 141);
    d.on(Feedback::EpisodeEnded(EpisodeEnd::Completed));
    d.round(1, 0);
    assert!(d.cwnd() >= before - 2, "{} of {before}", d.cwnd());
}

#[test]
fn a_timeout_leaves_one_segment_and_then_four() {
    let mut d = Driven::in_probe_bw();
    d.on(Feedback::Congestion(Congestion::Rto { repeated: false }));
    assert_eq!(d.cwnd(), 1);
    d.v.pipe = 0;
    d.round(1, 0);
    assert_eq!(d.cwnd(), 4);
}

#[test]
fn probe_rtt_has_four_segments_for_200_ms_every_ten_seconds() {
    // `bbr_update_min_rtt` compares with `<`: the first sample was at the first ack, and no later one of the
    // same length puts off the drain, which comes at the first ack more than ten seconds after it.
    let mut d = Driven::in_probe_bw();
    while d.bbr.mode != Mode::ProbeRtt {
        assert_eq!(d.bbr.probe_rtt.min_rtt, Some(RTT));
        d.round(100, 0);
        assert!(d.v.now <= Instant::ZERO + Duration::from_secs(10) + RTT * 3);
    }
    assert!(d.v.now > Instant::ZERO + Duration::from_secs(10));
    assert_eq!(d.cwnd(), 4);
    d.v.pipe = 4000;
    let began = d.v.now;
    while d.bbr.mode == Mode::ProbeRtt {
        d.round(4, 0);
    }
    let lasted = d.v.now.since(began);
    assert!((Duration::from_millis(200)..Duration::from_millis(500)).contains(&lasted), "{lasted:?}");
    assert!(d.cwnd() > 100);
}

#[test]
fn two_lossy_intervals_of_the_same_rate_are_a_policer() {
    // Half of what is sent is lost, four round trips and more at a time.
    let mut d = Driven::in_probe_bw();
    for _ in 0..20 {
        d.round(50, 25);
    }
    assert!(d.bbr.policer.is_policed());
    assert_eq!(d.bbr.pacing_gain, UNIT);
    // 50 segments per 100 ms.
    let bw = d.bbr.rate(d.bbr.bw(), UNIT);
    assert!((480_000..=500_000).contains(&bw), "{bw}");
    // After 48 round trips it looks for more again.
    for _ in 0..50 {
        d.round(50, 0);
    }
    assert!(!d.bbr.policer.is_policed());
    // Without the losses there is none.
    let mut d = Driven::in_probe_bw();
    for _ in 0..20 {
        d.round(50, 5);
    }
    assert!(!d.bbr.policer.is_policed());
}

#[test]
fn a_follower_goes_on_after_the_gain_that_it_is_shown() {
    let mut d = Driven::in_probe_bw();
    let gain = |d: &Driven| d.bbr.drawn_gain();
    for (shown, next, after) in [(1.25, 0.75, 1.0), (0.75, 1.0, 1.0), (1.0, 1.0, 1.0)] {
        d.bbr.follow_gain(shown, d.v.now);
        assert_eq!(gain(&d), Some(next), "after {shown}");
        d.round(100, 0);
        d.round(100, 0);
        assert_eq!(gain(&d), Some(after), "two round trips after {shown}");
    }
    // The six phases that cruise take up to two round trips each.
    let probes = (0..12).position(|_| {
        d.round(100, 0);
        gain(&d) == Some(1.25)
    });
    assert!(probes.is_some_and(|rounds| rounds > 4), "{probes:?}");
    d.bbr.follow_gain(0.9, d.v.now);
    assert_eq!(gain(&d), Some(1.25), "no phase has that gain");
    let mut starting = Driven::new();
    starting.bbr.follow_gain(1.25, starting.v.now);
    assert_eq!(gain(&starting), None, "Startup draws nothing");
}
