use ackclock_units::Duration;

use super::smooth::{bounded, initial_rto, max_rto, min_rto, smooth, ticks_during, with_estimates};
use crate::{Entry, Param, Policy, Rtt, RttEstimator, RttSample};

/// Smoothed mean times a constant, without regard to the variation of samples.
#[derive(Debug)]
struct Rfc793 {
    gain: f64,
    beta: f64,
    tick: Duration,
    min_rto: Duration,
    max_rto: Duration,
    initial_rto: Duration,
    rtt: Option<Rtt>,
}

impl Policy for Rfc793 {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl RttEstimator for Rfc793 {
    fn on_sample(&mut self, s: RttSample) {
        // 4.3BSD's counter was one when a segment was sent, and every tick added one.
        let rtt =
            if self.tick.is_zero() { s.rtt } else { self.tick * (1 + ticks_during(s.rtt, s.now, self.tick)) };
        let (srtt, min_rtt) =
            self.rtt.map_or((rtt, rtt), |old| (smooth(old.srtt, rtt, self.gain), old.min_rtt.min(rtt)));
        self.rtt = Some(Rtt { latest: rtt, srtt, rttvar: Duration::ZERO, min_rtt });
    }

    fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }

    fn rto(&self) -> Duration {
        self.rto_above(self.min_rto)
    }

    fn rto_above(&self, floor: Duration) -> Duration {
        let Some(rtt) = self.rtt else { return self.initial_rto };
        let timeout = rtt.srtt.mul_f64(self.beta);
        // In whole ticks, rounded down.
        let whole = if self.tick.is_zero() {
            timeout
        } else {
            self.tick * (timeout.as_nanos() / self.tick.as_nanos())
        };
        bounded(whole, floor, self.max_rto)
    }

    fn initial_rto(&self) -> Duration {
        self.initial_rto
    }

    fn set_estimates(&mut self, srtt: Duration, _rttvar: Duration) {
        self.rtt = Some(with_estimates(self.rtt, srtt, Duration::ZERO));
    }

    fn granularity(&self) -> Duration {
        self.tick
    }
}

/// RFC 793's timer.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "rfc793",
    about: "The smoothed round-trip time times two (RFC 793); the first sample initializes it.",
    source: "Jacobson & Karels 1988 (J-A3); RFC 793 p. 41",
    params: &[
        Param::ratio("alpha", 0.9, 0.0..=1.0, "weight of the old estimate"),
        Param::ratio("beta", 2.0, 1.0..=16.0, "factor from the smoothed round-trip time to the timeout"),
        Param::duration(
            "tick",
            Duration::ZERO,
            Duration::ZERO..=Duration::from_secs(10),
            "tick of the free-running clock that times segments, counted from one as in 4.3BSD; 0s for exact \
             samples",
        ),
        min_rto(Duration::from_secs(1)),
        max_rto(Duration::from_secs(60)),
        initial_rto(Duration::from_secs(3)),
    ],
    build: |p| {
        Box::new(Rfc793 {
            gain: 1.0 - p.ratio("alpha"),
            beta: p.ratio("beta"),
            tick: p.duration("tick"),
            min_rto: p.duration("min_rto"),
            max_rto: p.duration("max_rto"),
            initial_rto: p.duration("initial_rto"),
            rtt: None,
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::harness::sample;

    #[test]
    fn the_filter_of_rfc_793() {
        // J-E3: from R = 1, M = 2: R = 1.1, rto = 2.2.
        let mut e = (ENTRY.build)(&Params::defaults(ENTRY.params));
        assert_eq!(e.rto(), Duration::from_secs(3));
        e.on_sample(sample(Duration::from_secs(1), Duration::from_secs(1)));
        e.on_sample(sample(Duration::from_secs(3), Duration::from_secs(2)));
        assert_eq!(e.rtt().expect("sampled").srtt, Duration::from_millis(1100));
        assert_eq!(e.rto(), Duration::from_millis(2200));
    }

    #[test]
    fn ticks_are_counted_from_one_and_timeouts_in_whole_ones() {
        let ms = Duration::from_millis;
        let mut p = Params::defaults(ENTRY.params);
        assert!(
            p.set("tick", crate::Value::Duration(ms(500)))
                && p.set("min_rto", crate::Value::Duration(Duration::ZERO))
        );
        let mut e = (ENTRY.build)(&p);
        // Sent and acknowledged between ticks: one.
        e.on_sample(sample(ms(400), ms(200)));
        assert_eq!((e.rtt().expect("sampled").srtt, e.rto()), (ms(500), ms(1000)));
        // From 0.9 s to 2.1 s three ticks pass: four. 0.9 * 1 + 0.1 * 4 = 1.3 ticks; twice that is 2.6, of
        // which 2 count.
        e.on_sample(sample(ms(2100), ms(1200)));
        assert_eq!((e.rtt().expect("sampled").srtt, e.rto()), (ms(650), ms(1000)));
    }

    #[test]
    fn it_falls_behind_a_loaded_path() {
        // J-X12: it ignores variation, so that a sample that jumps from 1 to 2.5 exceeds the timeout at once.
        let mut e = (ENTRY.build)(&Params::defaults(ENTRY.params));
        (1..20).for_each(|i| e.on_sample(sample(Duration::from_secs(i), Duration::from_secs(1))));
        assert!(e.rto() < Duration::from_millis(2500));
    }
}
