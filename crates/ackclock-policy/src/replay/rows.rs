use ackclock_units::Duration;

use super::{Chunk, ReplayError};
use crate::{PrivateState, RttEstimator};

/// The estimates of a timer after each row of a series. Times in seconds; not-a-number before the first
/// sample.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Smoothed round-trip time after the row.
    pub srtt: Vec<f64>,
    /// Mean deviation after the row.
    pub rttvar: Vec<f64>,
    /// Timeout after the row: RTO(i).
    pub rto: Vec<f64>,
    /// RTO(i-1) < RTT(i): the timer would have expired before this ack.
    pub spurious: Vec<bool>,
    /// The timer's private state ([`crate::Policy::private_state`]) after the row, such as gain and flight.
    pub private: Vec<(&'static str, Vec<f64>)>,
}

/// Runs `estimator` over `chunk` and keeps every row. Rows without a valid sample repeat the values before
/// them. The estimator is notified of a spurious timeout before the sample that shows it (E-A7).
pub fn rows(estimator: &mut dyn RttEstimator, chunk: &Chunk<'_>) -> Result<Rows, ReplayError> {
    chunk.check()?;
    let mut rows = Rows::default();
    let mut state = PrivateState::default();
    let mut last: Option<Duration> = None;
    for i in 0..chunk.time.len() {
        let s = chunk.sample(i);
        let valid = !chunk.is_lost(i) && !s.rtt.is_zero();
        let spurious = valid && last.is_some_and(|rto| rto < s.rtt);
        if spurious {
            estimator.on_spurious_timeout();
        }
        if valid {
            estimator.on_sample(s);
            last = Some(estimator.rto());
        }
        let rtt = estimator.rtt();
        rows.srtt.push(rtt.map_or(f64::NAN, |r| r.srtt.as_secs_f64()));
        rows.rttvar.push(rtt.map_or(f64::NAN, |r| r.rttvar.as_secs_f64()));
        rows.rto.push(last.map_or(f64::NAN, Duration::as_secs_f64));
        rows.spurious.push(spurious);
        state.0.clear();
        estimator.private_state(&mut state);
        rows.keep(&state, i);
    }
    Ok(rows)
}

impl Rows {
    /// Appends the private state at row `i`; a number that is absent in some row is NaN there.
    fn keep(&mut self, state: &PrivateState, i: usize) {
        for &(name, value) in &state.0 {
            let column = match self.private.iter().position(|(n, _)| *n == name) {
                Some(c) => c,
                None => {
                    self.private.push((name, Vec::new()));
                    self.private.len() - 1
                }
            };
            let values = &mut self.private[column].1;
            values.resize(i, f64::NAN);
            values.push(value);
        }
        self.private.iter_mut().for_each(|(_, values)| values.resize(i + 1, f64::NAN));
    }
}

/// The estimates after one sample each, from given estimates before it. Seconds.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// Smoothed round-trip times.
    pub srtt: Vec<f64>,
    /// Mean deviations.
    pub rttvar: Vec<f64>,
    /// Timeouts.
    pub rto: Vec<f64>,
}

/// Runs a new timer of `make` on each row of `chunk`, from the estimates `srtt` and `rttvar` before it. A row
/// without a valid sample keeps them.
pub fn steps(
    make: impl Fn() -> Box<dyn RttEstimator>,
    srtt: &[Duration],
    rttvar: &[Duration],
    chunk: &Chunk<'_>,
) -> Result<Steps, ReplayError> {
    chunk.check()?;
    for (column, given) in [("srtt", srtt), ("rttvar", rttvar)] {
        if given.len() != chunk.time.len() {
            return Err(ReplayError::Length { column, len: given.len(), rows: chunk.time.len() });
        }
    }
    let mut steps = Steps::default();
    for i in 0..chunk.time.len() {
        let mut estimator = make();
        estimator.set_estimates(srtt[i], rttvar[i]);
        let s = chunk.sample(i);
        if !s.rtt.is_zero() {
            estimator.on_sample(s);
        }
        let rtt = estimator.rtt();
        steps.srtt.push(rtt.map_or(f64::NAN, |r| r.srtt.as_secs_f64()));
        steps.rttvar.push(rtt.map_or(f64::NAN, |r| r.rttvar.as_secs_f64()));
        steps.rto.push(estimator.rto().as_secs_f64());
    }
    Ok(steps)
}
