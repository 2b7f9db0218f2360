use ackclock_units::{Bytes, Duration, SeqNumber};

use crate::{AckInfo, Entry, Growth, Param, Params, Policy, PrivateState, SenderView, SlowStart};

/// HyStart++: growing round-trip times turn slow start into conservative slow start (CSS), which ends some
/// round trips later, or goes back should the delay have been passing.
#[derive(Debug)]
struct HyStartPlusPlus {
    /// windowEnd: the round is over when all below it is acknowledged.
    window_end: SeqNumber,
    /// lastRoundMinRTT, currentRoundMinRTT and cssBaselineMinRtt, µs; `INFINITE` without a sample.
    last_round_min: u32,
    round_min: u32,
    css_baseline: u32,
    /// rttSampleCount.
    samples: u8,
    began: bool,
    /// Rounds of CSS that are over; `None` in slow start.
    css_rounds: Option<u8>,
    /// L, segments that an ack may add; `u32::MAX` for any.
    limit_segs: u32,
    css_growth_divisor: u8,
    most_css_rounds: u8,
}

const INFINITE: u32 = u32::MAX;

/// MIN_RTT_THRESH and MAX_RTT_THRESH (RFC 9406 §4.3), µs.
const MIN_RTT_THRESH: u32 = 4000;
const MAX_RTT_THRESH: u32 = 16_000;
/// MIN_RTT_DIVISOR (RFC 9406 §4.3).
const MIN_RTT_DIVISOR: u32 = 8;
/// N_RTT_SAMPLE (RFC 9406 §4.3).
const N_RTT_SAMPLE: u8 = 8;

/// How much the smallest round-trip time has to grow from one round to the next (RFC 9406 §4.2), µs.
fn rtt_thresh(last_round_min: u32) -> u32 {
    (last_round_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

impl HyStartPlusPlus {
    fn new(p: &Params) -> Self {
        Self {
            window_end: SeqNumber(0),
            last_round_min: INFINITE,
            round_min: INFINITE,
            css_baseline: INFINITE,
            samples: 0,
            began: false,
            css_rounds: None,
            limit_segs: u32::try_from(p.count("limit_segs")).unwrap_or(u32::MAX),
            css_growth_divisor: p.count("css_growth_divisor") as u8,
            most_css_rounds: p.count("css_rounds") as u8,
        }
    }

    /// Counts a sample, and enters or leaves CSS by it.
    fn sample(&mut self, rtt: u32) {
        self.round_min = self.round_min.min(rtt);
        self.samples = self.samples.saturating_add(1);
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        if self.css_rounds.is_some() {
            // The delay has passed: the exit was spurious.
            if self.round_min < self.css_baseline {
                (self.css_baseline, self.css_rounds) = (INFINITE, None);
            }
        } else if self.last_round_min != INFINITE
            && self.round_min >= self.last_round_min.saturating_add(rtt_thresh(self.last_round_min))
        {
            (self.css_baseline, self.css_rounds) = (self.round_min, Some(0));
        }
    }

    /// Ends the round if this ack does. Returns true when CSS is over with it; a round in whose middle CSS
    /// began counts.
    fn end_round(&mut self, v: &SenderView) -> bool {
        if !std::mem::replace(&mut self.began, true) {
            self.window_end = v.snd_nxt;
        }
        if v.snd_una < self.window_end {
            return false;
        }
        self.window_end = v.snd_nxt;
        (self.last_round_min, self.round_min, self.samples) = (self.round_min, INFINITE, 0);
        self.css_rounds = self.css_rounds.map(|n| n.saturating_add(1));
        self.css_rounds.is_some_and(|n| n >= self.most_css_rounds)
    }
}

impl Policy for HyStartPlusPlus {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("last_round_min_us", f64::from(self.last_round_min));
        state.number("round_min_us", f64::from(self.round_min));
        state.number("css_rounds", self.css_rounds.map_or(-1.0, f64::from));
    }
}

impl SlowStart for HyStartPlusPlus {
    fn on_ack(&mut self, a: &AckInfo, most: Bytes, v: &SenderView) -> Growth {
        // RFC 9406 §4.3: for the initial slow start only; later ones have a threshold that was found.
        if v.window.ssthresh != Bytes::MAX {
            return Growth { bytes: most, exit: false };
        }
        let divisor = if self.css_rounds.is_some() { u64::from(self.css_growth_divisor) } else { 1 };
        let bytes = a.newly_acked.min(u64::from(self.limit_segs) * u64::from(v.smss)) / divisor;
        if let Some(rtt) = a.rtt {
            self.sample(micros(rtt));
        }
        Growth { bytes, exit: self.end_round(v) }
    }
}

fn micros(rtt: Duration) -> u32 {
    u32::try_from(rtt.as_nanos() / 1000).unwrap_or(INFINITE - 1)
}

/// RFC 9406.
pub(crate) const ENTRY: Entry<dyn SlowStart> = Entry {
    name: "hystart-pp",
    about: "HyStart++: once the round-trip times of a round have grown by an eighth, the window grows by a \
            quarter of what is acknowledged, and after five such rounds slow start is over.",
    source: "RFC 9406",
    params: &[
        Param::count(
            "limit_segs",
            8,
            1..=u64::MAX,
            "L, segments by which an ack may grow the window; `inf` for a window that paces (4.3)",
        ),
        Param::count(
            "css_growth_divisor",
            4,
            2..=100,
            "CSS_GROWTH_DIVISOR, by which conservative slow start is slower (4.3)",
        ),
        Param::count("css_rounds", 5, 1..=100, "CSS_ROUNDS, rounds of conservative slow start (4.3)"),
    ],
    build: |p| Box::new(HyStartPlusPlus::new(p)),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;
    use crate::harness::{ack, view};

    /// Rounds of ten acks of a segment each, with as much sent at the end of each round.
    struct Run {
        slow_start: HyStartPlusPlus,
        v: SenderView,
    }

    impl Run {
        fn new() -> Self {
            let mut v = SenderView { window: Window { cwnd: 20_000, ssthresh: u64::MAX }, ..view() };
            v.snd_nxt = v.snd_una + 10_000;
            Self { slow_start: HyStartPlusPlus::new(&Params::defaults(ENTRY.params)), v }
        }

        /// The growth on each ack of a round whose first acks have these round-trip times, the others none.
        fn round(&mut self, rtts: &[u64]) -> Vec<Growth> {
            let ack_of = |run: &mut Self, i: usize| {
                run.v.snd_una += 1000;
                if i == 9 {
                    run.v.snd_nxt = run.v.snd_una + 10_000;
                }
                let rtt = rtts.get(i).copied().map(Duration::from_millis);
                run.slow_start.on_ack(&AckInfo { rtt, ..ack(1, 1000) }, 1000, &run.v)
            };
            (0..10).map(|i| ack_of(self, i)).collect()
        }

        fn in_css(&self) -> bool {
            self.slow_start.css_rounds.is_some()
        }
    }

    #[test]
    fn the_threshold_is_an_eighth_between_4_and_16_ms() {
        // RFC 9406 §4.2: max(4 ms, min(lastRoundMinRTT / 8, 16 ms)).
        for (last_ms, thresh_us) in
            [(8, 4000), (32, 4000), (40, 5000), (80, 10_000), (128, 16_000), (500, 16_000)]
        {
            assert_eq!(rtt_thresh(last_ms * 1000), thresh_us, "{last_ms} ms");
        }
    }

    #[test]
    fn eight_samples_of_a_grown_delay_enter_css() {
        for (grown, samples, css) in [(50, 8, true), (50, 7, false), (44, 10, false), (45, 8, true)] {
            let mut run = Run::new();
            run.round(&[40; 10]);
            run.round(&[40; 10]);
            assert!(!run.in_css());
            run.round(&vec![grown; samples]);
            assert_eq!(run.in_css(), css, "{samples} samples of {grown} ms after 40 ms");
        }
    }

    #[test]
    fn the_smallest_of_a_round_counts() {
        let mut run = Run::new();
        run.round(&[40; 10]);
        run.round(&[60, 60, 41, 60, 60, 60, 60, 60, 60, 60]);
        assert!(!run.in_css());
    }

    #[test]
    fn css_grows_by_a_quarter_and_ends_after_five_rounds() {
        let mut run = Run::new();
        run.round(&[40; 10]);
        // The eighth ack enters CSS; this part of a round is the first of the five.
        let first = run.round(&[50; 10]);
        assert_eq!(
            first.iter().map(|g| g.bytes).collect::<Vec<_>>(),
            [[1000; 8].as_slice(), &[250; 2]].concat()
        );
        for n in 2..=5 {
            let growths = run.round(&[50; 10]);
            assert!(growths.iter().all(|g| g.bytes == 250), "{growths:?}");
            let exits: Vec<_> = growths.iter().map(|g| g.exit).collect();
            let expected = if n == 5 { [[false; 9].as_slice(), &[true]].concat() } else { vec![false; 10] };
            assert_eq!(exits, expected, "round {n}");
        }
    }

    #[test]
    fn a_delay_that_passes_resumes_slow_start() {
        let mut run = Run::new();
        run.round(&[40; 10]);
        run.round(&[50; 10]);
        assert!(run.in_css());
        // Below the 50 ms with which it began, after eight samples.
        let growths = run.round(&[49; 10]);
        assert!(!run.in_css());
        assert_eq!(
            growths.iter().map(|g| g.bytes).collect::<Vec<_>>(),
            [[250; 8].as_slice(), &[1000; 2]].concat()
        );
        // Slow start looks again: 49 ms and 6.125 ms.
        run.round(&[55; 8]);
        assert!(!run.in_css());
        run.round(&[62; 8]);
        assert!(run.in_css());
    }

    #[test]
    fn an_ack_adds_no_more_than_l_segments() {
        for (limit, bytes) in [("8", 8000), ("inf", 20_000), ("1", 1000)] {
            let mut p = Params::defaults(ENTRY.params);
            p.set("limit_segs", ENTRY.params[0].parse(limit).expect("in range"));
            let growth = HyStartPlusPlus::new(&p).on_ack(&ack(1, 20_000), 1000, &Run::new().v);
            assert_eq!(growth.bytes, bytes, "{limit}");
        }
    }

    #[test]
    fn a_later_slow_start_is_the_usual_one() {
        // RFC 9406 §4.3: only while the threshold is the initial one.
        let mut run = Run::new();
        run.v.window.ssthresh = 100_000;
        run.round(&[40; 10]);
        assert!(run.round(&[90; 10]).iter().all(|g| *g == Growth { bytes: 1000, exit: false }));
    }
}
