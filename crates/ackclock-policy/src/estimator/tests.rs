//! The row model of the Eifel paper (E-A10): a bulk transfer whose load climbs from half of its largest
//! window to all of it, one row per ack.

use ackclock_units::{Duration, Instant};

use crate::{Chosen, PrivateState, Registry, RttEstimator, RttSample, Window};

/// One service time.
const UNIT: Duration = Duration::from_secs(1);

/// Which acks carry a sample (E-A3).
#[derive(Clone, Copy)]
enum Sampled {
    Every,
    Second,
    OncePerFlight,
}

/// One sample's row.
#[derive(Clone, Copy, Debug)]
struct Row {
    load: u64,
    rtt: f64,
    rto: f64,
    /// RTO(i-1).
    before: f64,
}

impl Row {
    fn margin(self) -> f64 {
        self.before - self.rtt
    }

    fn ratio(self) -> f64 {
        self.before / self.rtt
    }
}

fn timer(name: &str, sets: &[(&str, &str)]) -> Box<dyn RttEstimator> {
    let mut chosen: Chosen<dyn RttEstimator> = Registry::builtin().choose(name).expect(name);
    for (param, text) in [("tick", "0s"), ("max_rto", "3600s")].iter().chain(sets) {
        chosen.set(param, text).expect(param);
    }
    chosen.build()
}

/// Runs `cycles` cycles and gives the rows of the last one to `look`, and each spurious timeout's row number
/// to `spurious`.
fn sawtooth(
    e: &mut dyn RttEstimator,
    wmax: u64,
    sampled: Sampled,
    cycles: u64,
    mut spurious: impl FnMut(u64, &dyn RttEstimator, Row),
) -> Vec<Row> {
    let (mut now, mut row, mut rows, mut before) = (Instant::ZERO, 0, vec![], None);
    for _ in 0..cycles {
        rows.clear();
        for load in wmax / 2 + 1..=wmax {
            for i in 0..load {
                now += UNIT;
                let sampling_rate = match sampled {
                    Sampled::Every => 1.0,
                    Sampled::Second if row % 2 == 1 => 0.5,
                    Sampled::OncePerFlight if i == 0 => 1.0 / load as f64,
                    _ => {
                        row += 1;
                        continue;
                    }
                };
                let window = Window { cwnd: load * 1000, ssthresh: wmax / 2 * 1000 };
                let s = RttSample {
                    now,
                    rtt: UNIT * load,
                    flight_size: load * 1000,
                    window,
                    smss: 1000,
                    sampling_rate,
                    outstanding: None,
                };
                let rtt = s.rtt.as_secs_f64();
                // E-A7, E-A10: RTO(i-1) < RTT(i) is a spurious timeout, reported before the sample.
                let mut this = Row { load, rtt, rto: 0.0, before: before.unwrap_or(f64::MAX) };
                if this.margin() < 0.0 {
                    e.on_spurious_timeout();
                    spurious(row, e, this);
                }
                e.on_sample(s);
                this.rto = e.rto().as_secs_f64();
                before = Some(this.rto);
                rows.push(this);
                row += 1;
            }
        }
    }
    rows
}

fn steady(name: &str, wmax: u64, sampled: Sampled) -> Vec<Row> {
    sawtooth(&mut *timer(name, &[]), wmax, sampled, 30, |_, _, _| {})
}

fn after_first_flight(rows: &[Row]) -> impl Iterator<Item = Row> + '_ {
    rows.iter().copied().filter(|r| r.load > rows[0].load)
}

fn close(got: f64, want: f64) -> bool {
    (got / want - 1.0).abs() < 5e-6
}

#[track_caller]
fn assert_close(got: f64, want: f64) {
    assert!(close(got, want), "{got} is not {want}");
}

fn least(of: impl Iterator<Item = f64>) -> f64 {
    of.fold(f64::MAX, f64::min)
}

fn greatest(of: impl Iterator<Item = f64>) -> f64 {
    of.fold(f64::MIN, f64::max)
}

#[test]
fn the_first_rows_of_a_cycle() {
    // E-E18.
    let golden: [(&str, u64, &[f64]); 6] = [
        ("lite", 10, &[14.6313, 16.0541, 16.6735, 16.7465, 16.4586, 15.9428, 14.4186, 13.1865]),
        ("lite", 26, &[36.6295, 42.7529, 45.8729, 46.9243, 46.5855]),
        ("lite", 40, &[56.6448, 66.4320, 71.4351, 73.1423, 72.6332]),
        ("eifel", 10, &[14.0787, 13.5509, 13.1110, 12.7445, 12.4390, 12.1845, 12.1390, 12.1011]),
        ("eifel", 26, &[37.7667, 36.9822, 36.2538, 35.5775, 34.9494]),
        ("eifel", 40, &[58.6368, 57.7827, 56.9693, 56.1946, 55.4568]),
    ];
    for (name, wmax, want) in golden {
        let rows = steady(name, wmax, Sampled::Every);
        for (row, want) in rows.iter().zip(want) {
            assert_close(row.rto, *want);
        }
    }
}

#[test]
fn maxima_ends_and_margins_of_a_cycle() {
    // E-E18: load, row and value of the maximum, value at the end, least margin, rows without margin.
    let golden: [(&str, u64, usize, [f64; 3], usize); 6] = [
        ("lite", 10, 4, [16.7465, 12.0523, 0.448255], 0),
        ("lite", 26, 4, [46.9243, 26.2210, -0.746967], 10),
        ("lite", 40, 4, [73.1423, 40.0336, -0.961547], 18),
        ("eifel", 10, 36, [14.8553, 14.7122, 3.40489], 0),
        ("eifel", 26, 247, [38.9204, 38.6114, 11.1731], 0),
        ("eifel", 40, 589, [59.8920, 59.5336, 17.9017], 0),
    ];
    for (name, wmax, at, [most, end, margin], without) in golden {
        let rows = steady(name, wmax, Sampled::Every);
        let top = greatest(rows.iter().map(|r| r.rto));
        assert_close(top, most);
        assert_eq!(rows.iter().position(|r| r.rto == top).map(|i| i + 1), Some(at), "{name} {wmax}");
        assert_close(rows.last().expect("rows").rto, end);
        assert_close(least(rows.iter().map(|r| r.margin())), margin);
        assert_eq!(rows.iter().filter(|r| r.margin() <= 0.0).count(), without, "{name} {wmax}");
    }
}

#[test]
fn timeouts_in_round_trip_times() {
    // E-E18: the ratio after the first flight.
    let golden = [
        ("lite", [(10, 1.04981, 2.27754), (26, 0.97127, 1.92724), (40, 0.960231, 1.4087)]),
        ("eifel", [(10, 1.36096, 1.74064), (26, 1.4581, 2.06502), (40, 1.4715, 2.15731)]),
    ];
    for (name, loads) in golden {
        for (wmax, low, high) in loads {
            let rows = steady(name, wmax, Sampled::Every);
            assert_close(least(after_first_flight(&rows).map(Row::ratio)), low);
            assert_close(greatest(after_first_flight(&rows).map(Row::ratio)), high);
        }
    }
    for (name, low, high) in [("lite", 1.21454, 2.835), ("eifel", 1.14608, 2.23269)] {
        let rows = steady(name, 40, Sampled::OncePerFlight);
        assert_close(least(rows.iter().map(|r| r.ratio())), low);
        assert_close(greatest(rows.iter().map(|r| r.ratio())), high);
    }
}

#[test]
fn the_sampling_rate_decides_over_lite_and_not_over_eifel() {
    // E-X2: rows without margin per cycle.
    let without =
        |name, wmax, sampled| steady(name, wmax, sampled).iter().filter(|r| r.margin() <= 0.0).count();
    let rate_one = [
        (4, 0),
        (10, 0),
        (16, 0),
        (18, 3),
        (20, 5),
        (22, 8),
        (24, 9),
        (26, 10),
        (30, 13),
        (34, 15),
        (40, 18),
    ];
    for (wmax, count) in rate_one {
        assert_eq!(without("lite", wmax, Sampled::Every), count, "{wmax}");
    }
    for wmax in (4..=40).step_by(2) {
        // A cycle with an odd number of rows is sampled at odd and even rows in turn: two cycles together.
        let two =
            [30, 31].map(|n| sawtooth(&mut *timer("lite", &[]), wmax, Sampled::Second, n, |_, _, _| {}));
        assert_eq!(two.iter().flatten().any(|r| r.margin() <= 0.0), wmax >= 30, "{wmax}");
        assert_eq!(without("lite", wmax, Sampled::OncePerFlight), 0, "{wmax}");
        for sampled in [Sampled::Every, Sampled::Second, Sampled::OncePerFlight] {
            assert_eq!(without("eifel", wmax, sampled), 0, "{wmax}");
        }
    }
    for (name, low) in [("lite", 0.972029), ("eifel", 1.19469)] {
        assert_close(least(steady(name, 40, Sampled::Second).iter().map(|r| r.ratio())), low);
    }
    for (wmax, margin) in [(10, 2.05234), (20, 0.501173), (30, 0.128738), (40, 0.0336332)] {
        let rows = steady("lite", wmax, Sampled::Every);
        let end = rows.last().expect("rows");
        assert!(((end.rto - end.rtt) - margin).abs() < 1e-5, "{} is not {margin}", end.rto - end.rtt);
    }
}

#[test]
fn a_third_is_a_safe_gain_for_one_sample_per_round_trip() {
    // E-X5.
    for (wmax, ratio) in
        [(6, 1.23923), (8, 1.30524), (10, 1.24344), (20, 1.22352), (26, 1.19137), (40, 1.14608)]
    {
        let rows = steady("eifel", wmax, Sampled::OncePerFlight);
        assert_close(least(rows.iter().map(|r| r.ratio())), ratio);
    }
    // Load 4 converges slowly: the register's 1.3006 is reached after 60 cycles.
    let rows = sawtooth(&mut *timer("eifel", &[]), 4, Sampled::OncePerFlight, 60, |_, _, _| {});
    assert!((least(rows.iter().map(|r| r.ratio())) - 1.3006).abs() < 2e-4);
}

#[test]
fn the_floor_never_acts_on_a_good_prediction() {
    // E-X6: a tick much shorter than the service time.
    for wmax in [10, 26, 40] {
        let mut e = timer("eifel", &[("tick", "1ms")]);
        let rows = sawtooth(&mut *e, wmax, Sampled::Every, 30, |_, _, _| {});
        let floor = 0.002;
        assert!(rows.iter().all(|r| r.rto > r.rtt + floor), "{wmax}");
        assert!(close(rows[0].rto, steady("eifel", wmax, Sampled::Every)[0].rto));
    }
}

#[test]
fn the_factor_rises_with_spurious_timeouts() {
    // E-F10: load 26, no ticks. The first spurious timeout, their number in 400 cycles and the range of the
    // factor from then on.
    for (k, first, count) in [("0.05", 7.80385, 94), ("0.1", 3.9, 183)] {
        let mut e = timer("eifel-agg", &[("k", k), ("max_cwnd", "26")]);
        let mut reported: Vec<(f64, f64, u64)> = vec![];
        sawtooth(&mut *e, 26, Sampled::Every, 400, |row, e, this| {
            let mut state = PrivateState::default();
            e.private_state(&mut state);
            let agg = state.0.iter().find(|(name, _)| *name == "agg").expect("shown").1;
            reported.push((row as f64 / 260.0, agg, this.load));
        });
        assert!((reported[0].0 - first).abs() < if k == "0.05" { 1e-5 } else { 0.05 }, "{:?}", reported[0]);
        assert_eq!(reported.len(), count, "{k}");
        if k == "0.05" {
            assert_close(reported[0].1, 0.835081);
            assert_eq!(reported[0].2, 25);
            assert!(reported.iter().all(|(_, agg, _)| (0.829 - 1e-9..=0.843).contains(agg)), "{reported:?}");
        }
    }
}

#[test]
fn lite_is_jacobsons_timer_on_a_clock() {
    let mut lite = timer("lite", &[("tick", "500ms"), ("min_rto", "0s")]);
    let mut jacobson = timer("jacobson88", &[("tick", "500ms"), ("min_rto", "0s")]);
    for (ms, rtt) in [(600, 200), (1900, 1300), (2000, 1), (9000, 4200)] {
        let s = crate::harness::sample(Duration::from_millis(ms), Duration::from_millis(rtt));
        lite.on_sample(s);
        jacobson.on_sample(s);
        assert_eq!((lite.rto(), lite.rtt()), (jacobson.rto(), jacobson.rtt()));
    }
    assert!(lite.rto() >= Duration::from_secs(1));
    // Without rounding, the tick is a floor and no more (E-E4).
    let mut exact = timer("lite", &[("tick", "500ms"), ("rounded", "false")]);
    exact.on_sample(crate::harness::sample(Duration::from_millis(600), Duration::from_millis(200)));
    assert_eq!(
        (exact.rtt().expect("sampled").srtt, exact.rto()),
        (Duration::from_millis(200), Duration::from_secs(1))
    );
}

#[test]
fn freebsd_keeps_the_timeout_above_the_latest_sample() {
    // E-A9, with the two ticks of E-E12: a collapsed timeout does not fall below the sample.
    let after_many = |floor: &str| {
        let mut e = timer("lite", &[("tick", "10ms"), ("rounded", "false"), ("sample_floor", floor)]);
        (1..200).for_each(|i| {
            e.on_sample(crate::harness::sample(Duration::from_secs(i), Duration::from_millis(400)))
        });
        e.rto()
    };
    assert_eq!(after_many("true"), Duration::from_millis(420));
    assert!(after_many("false") < Duration::from_millis(401));
}
