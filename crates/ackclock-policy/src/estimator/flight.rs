use ackclock_units::Instant;

use crate::{Param, Params, RttSample};

/// FLIGHT of the Eifel timer: how many segments its gains are scaled by.
#[derive(Debug)]
pub(super) struct Flight {
    rule: Rule,
    /// Allocated at the first sample of a rule that remembers earlier ones.
    loads: Option<Box<Loads>>,
}

/// Earlier loads, segments.
#[derive(Debug)]
struct Loads {
    smoothed: f64,
    /// The smallest of this round trip and of the one before, and when this one began.
    least: f64,
    least_before: f64,
    since: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    LowerBound,
    Load,
    LeastLoad,
    SmoothedLoad,
    HalfWindow,
    Threshold,
}

impl Flight {
    /// Reads [`FLIGHT`].
    pub fn new(p: &Params) -> Self {
        let rule = match p.choice("flight") {
            "load" => Rule::Load,
            "least-load" => Rule::LeastLoad,
            "smoothed-load" => Rule::SmoothedLoad,
            "half-window" => Rule::HalfWindow,
            "ssthresh" => Rule::Threshold,
            _ => Rule::LowerBound,
        };
        Self { rule, loads: None }
    }

    /// FLIGHT at a sample, segments, at least 1.
    pub fn at(&mut self, s: RttSample) -> f64 {
        let load = (s.flight_size as f64 / f64::from(s.smss)).max(1.0);
        let found = match self.rule {
            Rule::LowerBound => lower_bound(s),
            Rule::Load => load,
            Rule::LeastLoad => self.loads(load, s).least_of(load, s),
            Rule::SmoothedLoad => self.loads(load, s).smooth(load),
            Rule::HalfWindow => window(s) / 2.0,
            Rule::Threshold if s.window.ssthresh == u64::MAX => window(s) / 2.0,
            Rule::Threshold => s.window.ssthresh as f64 / f64::from(s.smss),
        };
        found.clamp(1.0, LARGEST)
    }

    fn loads(&mut self, load: f64, s: RttSample) -> &mut Loads {
        let first = || Loads { smoothed: load, least: load, least_before: load, since: s.now };
        self.loads.get_or_insert_with(|| Box::new(first()))
    }
}

impl Loads {
    /// The smallest load of the last round trip: of this one and the one before.
    fn least_of(&mut self, load: f64, s: RttSample) -> f64 {
        if s.now.since(self.since) > s.rtt {
            (self.least_before, self.least, self.since) = (self.least, load, s.now);
        }
        self.least = self.least.min(load);
        self.least.min(self.least_before)
    }

    fn smooth(&mut self, load: f64) -> f64 {
        self.smoothed += (load - self.smoothed) / 8.0;
        self.smoothed
    }
}

/// The window in use, segments: of one limited by the receiver or the application only what is in flight
/// counts.
fn window(s: RttSample) -> f64 {
    let cwnd = if s.flight_size > 0 { s.window.cwnd.min(s.flight_size) } else { s.window.cwnd };
    cwnd as f64 / f64::from(s.smss)
}

/// E-E6: `max(SSTHRESH, CWND/2) + 1` segments, a lower bound of the load. Two cases that the paper leaves
/// open: before the first congestion there is no SSTHRESH, and of a window limited by the receiver or the
/// application only what is in flight counts.
fn lower_bound(s: RttSample) -> f64 {
    let cwnd = if s.flight_size > 0 { s.window.cwnd.min(s.flight_size) } else { s.window.cwnd };
    let lower = if s.window.ssthresh == u64::MAX { cwnd / 2 } else { s.window.ssthresh.max(cwnd / 2) };
    lower as f64 / f64::from(s.smss) + 1.0
}

/// No window scaled by RFC 7323 holds more full segments; the bound keeps gains above zero.
const LARGEST: f64 = (1_u64 << 30) as f64;

/// Which definition of FLIGHT.
pub(super) const FLIGHT: Param = Param::choice(
    "flight",
    "lower-bound",
    &["lower-bound", "load", "least-load", "smoothed-load", "half-window", "ssthresh"],
    // E-E6, E-X9, E-X15
    "FLIGHT, which gains are scaled by: the `lower-bound` max(SSTHRESH, CWND/2) + 1, the `load` that \
     is outstanding, the least load of the last round trip, a load smoothed by 1/8, half of the window, or \
     the slow-start threshold",
);

#[cfg(test)]
mod tests {
    use ackclock_units::Duration;

    use super::*;
    use crate::harness::sample;
    use crate::{Value, Window};

    fn flight(rule: &'static str) -> Flight {
        let mut p = Params::defaults(&[FLIGHT]);
        assert!(p.set("flight", Value::Choice(rule)));
        Flight::new(&p)
    }

    fn at(ms: u64, cwnd: u64, ssthresh: u64, flight_size: u64) -> RttSample {
        let window = Window { cwnd, ssthresh };
        RttSample { window, flight_size, ..sample(Duration::from_millis(ms), Duration::from_millis(100)) }
    }

    #[test]
    fn the_lower_bound_is_that_of_the_paper() {
        let of = |cwnd, ssthresh, size| flight("lower-bound").at(at(0, cwnd, ssthresh, size));
        // E-E6.
        assert_eq!((of(6000, 5000, 6000), of(26_000, 13_000, 26_000)), (6.0, 14.0));
        assert_eq!(of(10_000, u64::MAX, 10_000), 6.0, "no congestion yet");
        assert_eq!(of(1 << 40, u64::MAX, 10_000), 6.0, "a window that is none");
    }

    #[test]
    fn each_other_definition_is_what_its_name_says() {
        let of = |rule| flight(rule).at(at(0, 12_000, 5000, 9000));
        assert_eq!((of("load"), of("half-window"), of("ssthresh")), (9.0, 4.5, 5.0));
        let mut smoothed = flight("smoothed-load");
        assert_eq!(smoothed.at(at(0, 20_000, 5000, 8000)), 8.0);
        assert_eq!(smoothed.at(at(10, 20_000, 5000, 16_000)), 9.0);
    }

    #[test]
    fn the_least_load_is_forgotten_after_two_round_trips() {
        let mut least = flight("least-load");
        let mut of = |ms, size| least.at(at(ms, 20_000, 5000, size));
        assert_eq!((of(0, 9000), of(10, 5000), of(90, 8000)), (9.0, 5.0, 5.0));
        assert_eq!((of(110, 8000), of(230, 7000), of(340, 8000)), (5.0, 7.0, 7.0));
    }
}
