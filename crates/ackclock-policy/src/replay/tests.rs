use ackclock_units::{Bytes, Duration, Instant};

use super::{Chunk, Replay, rows, steps};
use crate::{Chosen, Registry, RttEstimator};

fn timer(name: &str, sets: &[(&str, &str)]) -> Box<dyn RttEstimator> {
    let mut chosen: Chosen<dyn RttEstimator> = Registry::builtin().choose(name).expect(name);
    sets.iter().for_each(|(param, text)| chosen.set(param, text).expect(param));
    chosen.build()
}

/// Columns of the row model of E-A10, a service time of 1 s.
#[derive(Default)]
struct Sawtooth {
    time: Vec<Instant>,
    rtt: Vec<Duration>,
    flight: Vec<Bytes>,
    ssthresh: Vec<Bytes>,
}

impl Sawtooth {
    fn new(wmax: u64, cycles: u64) -> Self {
        let mut s = Self::default();
        for _ in 0..cycles {
            for load in wmax / 2 + 1..=wmax {
                for _ in 0..load {
                    s.time.push(Instant::ZERO + Duration::from_secs(s.time.len() as u64 + 1));
                    s.rtt.push(Duration::from_secs(load));
                    s.flight.push(load * 1000);
                    s.ssthresh.push(wmax / 2 * 1000);
                }
            }
        }
        s
    }

    fn part(&self, from: usize, to: usize) -> Chunk<'_> {
        let to = to.min(self.time.len());
        Chunk {
            time: &self.time[from..to],
            rtt: &self.rtt[from..to],
            flight_size: &self.flight[from..to],
            ssthresh: &self.ssthresh[from..to],
            smss: 1000,
            ..Chunk::default()
        }
    }
}

const EXACT: &[(&str, &str)] = &[("tick", "0s"), ("max_rto", "3600s")];

#[test]
fn a_replay_counts_what_the_row_model_counts() {
    // E-E18: 18 rows of a cycle of 610 lack margin with Lite at load 40, the least margin being -0.961547;
    // none with Eifel.
    let series = Sawtooth::new(40, 40);
    for (name, per_cycle, margin) in [("lite", 18, -0.961547), ("eifel", 0, 17.9017)] {
        let mut replay = Replay::new(timer(name, EXACT), 100);
        replay.feed(&series.part(0, 30 * 610)).expect("equal columns");
        let before = replay.spurious;
        replay.feed(&series.part(30 * 610, 40 * 610)).expect("equal columns");
        assert_eq!(replay.spurious - before, 10 * per_cycle, "{name}");
        // In the first cycle too, where Eifel's deviation is still that of the first sample.
        assert!(
            (replay.least_margin as f64 / 1e9 / margin - 1.0).abs() < 0.01,
            "{name}: {}",
            replay.least_margin
        );
        assert_eq!((replay.samples, replay.skipped, replay.ratio.count()), (24_400, 0, 24_399));
    }
}

#[test]
fn the_size_of_chunks_makes_no_difference() {
    let series = Sawtooth::new(26, 8);
    let of = |size: usize| {
        let mut replay = Replay::new(timer("eifel-agg", EXACT), 64);
        for from in (0..series.time.len()).step_by(size) {
            replay.feed(&series.part(from, from + size)).expect("equal columns");
        }
        format!("{replay:?}")
    };
    assert!(of(1) == of(usize::MAX >> 1) && of(7) == of(1));
}

#[test]
fn rows_and_replay_agree() {
    let series = Sawtooth::new(26, 10);
    for name in ["rfc793", "lite", "eifel", "eifel-agg", "rfc6298"] {
        let sets: &[_] = if name.starts_with("rfc") { &[("max_rto", "3600s")] } else { EXACT };
        let all = series.part(0, usize::MAX);
        let table = rows(&mut *timer(name, sets), &all).expect("equal columns");
        let mut replay = Replay::new(timer(name, sets), 0);
        replay.feed(&all).expect("equal columns");
        assert_eq!(table.spurious.iter().filter(|s| **s).count() as u64, replay.spurious, "{name}");
        assert_eq!(table.rto.iter().copied().fold(0.0, f64::max), replay.rto.max().expect("rows"), "{name}");
        assert!(table.private.iter().all(|(_, values)| values.len() == table.rto.len()));
    }
    let table = rows(&mut *timer("eifel", EXACT), &series.part(0, 3)).expect("equal columns");
    assert_eq!(table.private[0], ("flight", vec![14.0; 3]));
}

#[test]
fn a_loss_costs_the_age_as_well_where_every_ack_restarts() {
    // Constant RTT of 2 s, an ack per second: at each ack the oldest outstanding segment is one second old.
    let time: Vec<Instant> = (10..20).map(|s| Instant::ZERO + Duration::from_secs(s)).collect();
    let mut lost = vec![false; 10];
    lost[5] = true;
    let chunk = Chunk {
        time: &time,
        rtt: &[Duration::from_secs(2); 10],
        lost: &lost,
        smss: 1000,
        ..Chunk::default()
    };
    let mut replay = Replay::new(timer("rfc793", &[]), 0);
    replay.feed(&chunk).expect("equal columns");
    assert_eq!((replay.samples, replay.skipped), (9, 1));
    // After a loss the last sample is two seconds old: the next segment had not been sent then.
    assert_eq!((replay.cost.restart.max(), replay.cost.precise.mean()), (Some(5.0), Some(4.0)));
    assert_eq!(
        (replay.marked.restart.mean(), replay.marked.precise.mean(), replay.marked.restart.count()),
        (Some(5.0), Some(4.0), 1)
    );
}

#[test]
fn an_outline_keeps_every_peak() {
    let series = Sawtooth::new(26, 50);
    let mut replay = Replay::new(timer("lite", EXACT), 101);
    replay.feed(&series.part(0, usize::MAX)).expect("equal columns");
    let stretches = replay.outline.stretches();
    assert!((50..=100).contains(&stretches.len()), "{}", stretches.len());
    assert_eq!(stretches.iter().map(|s| s.samples).sum::<u64>(), 50 * 260);
    assert!(stretches.windows(2).all(|w| w[0].samples >= w[1].samples && w[0].time < w[1].time));
    let top = stretches.iter().map(|s| s.rto_max).max().expect("stretches");
    assert_eq!(top.as_secs_f64(), replay.rto.max().expect("rows"));
    assert_eq!(
        (stretches[0].rtt_min, stretches[0].rtt_max),
        (Duration::from_secs(14), Duration::from_secs(26))
    );
}

#[test]
fn columns_must_be_equally_long() {
    let time = [Instant::ZERO; 3];
    let chunk = Chunk {
        time: &time,
        rtt: &[Duration::from_secs(1); 3],
        cwnd: &[1000; 2],
        smss: 1000,
        ..Chunk::default()
    };
    let mut replay = Replay::new(timer("rfc6298", &[]), 0);
    assert_eq!(
        replay.feed(&chunk).expect_err("two of three").to_string(),
        "`cwnd` has 2 rows, and `time` has 3: give one for each"
    );
    assert_eq!(replay.samples, 0);
}

#[test]
fn arbitrary_series_give_finite_timeouts() {
    let mut rng = ackclock_units::Rng::stream(3, "series", 0);
    let (time, rtt): (Vec<_>, Vec<_>) = (0..5000)
        .map(|_| {
            (
                Instant::from_nanos(rng.next_u64() >> rng.below(64)),
                Duration::from_nanos(rng.next_u64() >> rng.below(64)),
            )
        })
        .unzip();
    let flight: Vec<Bytes> = (0..5000).map(|_| rng.next_u64() >> rng.below(64)).collect();
    let rate: Vec<f64> =
        (0..5000).map(|i| [0.0, -1.0, f64::NAN, f64::INFINITY, 1.0, 1e-300][i % 6]).collect();
    for entry in Registry::builtin().declarations().iter().filter(|d| d.kind == "estimator") {
        let chunk = Chunk {
            time: &time,
            rtt: &rtt,
            flight_size: &flight,
            cwnd: &flight,
            sampling_rate: &rate,
            smss: 0,
            ..Chunk::default()
        };
        let mut replay = Replay::new(timer(entry.name, &[]), 10);
        replay.feed(&chunk).expect("equal columns");
        assert!(replay.rto.mean().expect("rows").is_finite(), "{}", entry.name);
    }
}

#[test]
fn a_step_begins_with_the_estimates_given() {
    // J-E7's first and fifth rows, each from the one before it, and a row without a sample.
    let make = || {
        let mut choice =
            crate::Registry::builtin().choose::<dyn crate::RttEstimator>("jacobson88").expect("built in");
        [("min_rto", "0s"), ("max_rto", "1h")].iter().for_each(|(p, v)| choice.set(p, v).expect("declared"));
        choice.build()
    };
    let s = |x: f64| Duration::from_secs_f64(x);
    let (srtt, rttvar, rtt) =
        ([s(2.0), s(5.31055), s(3.0)], [s(0.0), s(4.31641), s(1.0)], [s(10.0), s(10.0), Duration::ZERO]);
    let time = [Instant::ZERO; 3];
    let chunk = Chunk { time: &time, rtt: &rtt, smss: 1, ..Chunk::default() };
    let got = steps(make, &srtt, &rttvar, &chunk).expect("equally long");
    for (i, want) in [(3.0, 2.0, 11.0), (5.89673, 4.40967, 23.5354), (3.0, 1.0, 7.0)].into_iter().enumerate()
    {
        for (g, w) in [(got.srtt[i], want.0), (got.rttvar[i], want.1), (got.rto[i], want.2)] {
            assert!((g / w - 1.0).abs() < 5e-6, "row {i}: {g} is not {w}");
        }
    }
    assert!(steps(make, &srtt[..2], &rttvar, &chunk).is_err());
}
