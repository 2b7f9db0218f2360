//! Retransmission timers over series of round-trip times, which the Eifel paper left as future work.
//!
//! A [`Replay`] takes a series in chunks and keeps sums, histograms and an outline for one timer in bounded
//! memory. [`rows`] returns every row of a series that fits in memory, with the timer's private state.

mod distribution;
mod outline;
mod rows;

use std::fmt;

use ackclock_units::{Bytes, Duration, Instant};

pub use distribution::Distribution;
pub use outline::{Outline, Stretch};
pub use rows::{Rows, Steps, rows, steps};

use crate::{RttEstimator, RttSample, Window};

/// A piece of a series, a row per acknowledgment. Columns other than `time` and `rtt` may be empty: then
/// every row has their default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chunk<'a> {
    /// When the ack arrived.
    pub time: &'a [Instant],
    /// The round-trip time; zero where the row has no valid sample (Karn's rule). In a row marked lost, the
    /// time since the segment was first sent.
    pub rtt: &'a [Duration],
    /// In flight when the ack arrived, bytes; by default one segment.
    pub flight_size: &'a [Bytes],
    /// Congestion window; by default what is in flight.
    pub cwnd: &'a [Bytes],
    /// Slow-start threshold; by default none ([`Bytes::MAX`]).
    pub ssthresh: &'a [Bytes],
    /// Samples per outstanding segment ([`RttSample::sampling_rate`]); by default 1.
    pub sampling_rate: &'a [f64],
    /// True where the row's segment was lost: the row is no sample, and the cost of the loss is summed apart.
    /// By default false everywhere.
    pub lost: &'a [bool],
    /// Largest segment, bytes.
    pub smss: u32,
}

impl Chunk<'_> {
    /// Returns an error for columns of different lengths.
    fn check(&self) -> Result<(), ReplayError> {
        let rows = self.time.len();
        let columns = [
            ("rtt", self.rtt.len(), false),
            ("flight_size", self.flight_size.len(), true),
            ("cwnd", self.cwnd.len(), true),
            ("ssthresh", self.ssthresh.len(), true),
            ("sampling_rate", self.sampling_rate.len(), true),
            ("lost", self.lost.len(), true),
        ];
        match columns.into_iter().find(|(_, len, optional)| *len != rows && !(*optional && *len == 0)) {
            Some((column, len, _)) => Err(ReplayError::Length { column, len, rows }),
            None => Ok(()),
        }
    }

    #[inline]
    fn sample(&self, i: usize) -> RttSample {
        let smss = self.smss.max(1);
        let flight_size = self.flight_size.get(i).copied().unwrap_or(u64::from(smss));
        let cwnd = self.cwnd.get(i).copied().unwrap_or(flight_size);
        let window = Window { cwnd, ssthresh: self.ssthresh.get(i).copied().unwrap_or(Bytes::MAX) };
        let sampling_rate = self.sampling_rate.get(i).copied().unwrap_or(1.0);
        RttSample {
            now: self.time[i],
            rtt: self.rtt[i],
            flight_size,
            window,
            smss,
            sampling_rate,
            outstanding: None,
        }
    }

    #[inline]
    fn is_lost(&self, i: usize) -> bool {
        self.lost.get(i).copied().unwrap_or(false)
    }
}

/// Why a series was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReplayError {
    /// A column is not as long as `time`.
    Length {
        /// The column.
        column: &'static str,
        /// Its length.
        len: usize,
        /// The length of `time`.
        rows: usize,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { column, len, rows } => {
                write!(f, "`{column}` has {len} rows, and `time` has {rows}: give one for each")
            }
        }
    }
}

impl std::error::Error for ReplayError {}

/// The cost of a loss of each segment: the time from its transmission to its retransmission.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// With a timer that subtracts the age of the oldest outstanding segment (E-E13): the timeout, or the age
    /// if that is longer. Seconds.
    pub precise: Distribution,
    /// With a timer that restarts in full at every ack: timeout plus age (E-A4, fault 3). Seconds.
    pub restart: Distribution,
}

impl Cost {
    #[inline]
    fn add(&mut self, rto: f64, age: f64) {
        self.precise.add(rto.max(age));
        self.restart.add(rto + age);
    }
}

/// One timer run over a series.
#[derive(Debug)]
pub struct Replay<E: RttEstimator + ?Sized = dyn RttEstimator> {
    /// Valid samples so far.
    pub samples: u64,
    /// Rows without a valid sample, lost ones included.
    pub skipped: u64,
    /// Timeouts that would have been spurious: RTO(i-1) < RTT(i). The estimator was notified of each before
    /// the sample (E-A7).
    pub spurious: u64,
    /// RTO(i-1) / RTT(i).
    pub ratio: Distribution,
    /// RTO(i), seconds.
    pub rto: Distribution,
    /// Smallest RTO(i-1) - RTT(i), ns; [`i64::MAX`] before the second sample.
    pub least_margin: i64,
    /// Cost of a loss at any row.
    pub cost: Cost,
    /// Cost of the losses that the series marks.
    pub marked: Cost,
    /// Timeout and round-trip time over the series, for a plot.
    pub outline: Outline,
    /// When the last sample came, and the timeout it gave.
    last: Option<(Instant, Duration)>,
    estimator: Box<E>,
}

impl<E: RttEstimator + ?Sized> Replay<E> {
    /// A replay of `estimator`, whose outline takes at most `max_stretches` stretches (0 for none).
    pub fn new(estimator: Box<E>, max_stretches: usize) -> Self {
        Self {
            samples: 0,
            skipped: 0,
            spurious: 0,
            ratio: Distribution::default(),
            rto: Distribution::default(),
            least_margin: i64::MAX,
            cost: Cost::default(),
            marked: Cost::default(),
            outline: Outline::new(max_stretches),
            last: None,
            estimator,
        }
    }

    /// The estimator as it is now.
    pub fn estimator(&self) -> &E {
        &self.estimator
    }

    /// Processes the next rows of the series.
    pub fn feed(&mut self, chunk: &Chunk<'_>) -> Result<(), ReplayError> {
        chunk.check()?;
        for i in 0..chunk.time.len() {
            self.row(chunk.sample(i), chunk.is_lost(i));
        }
        Ok(())
    }

    #[inline]
    fn row(&mut self, s: RttSample, lost: bool) {
        if let Some((at, rto)) = self.last {
            // The segment of this row was the oldest outstanding one at the ack before it, if it had been
            // sent by then.
            let age = if s.rtt.is_zero() { Duration::ZERO } else { at.since(s.now.saturating_sub(s.rtt)) };
            let cost = if lost { &mut self.marked } else { &mut self.cost };
            cost.add(rto.as_secs_f64(), age.as_secs_f64());
        }
        if lost || s.rtt.is_zero() {
            self.skipped += 1;
            return;
        }
        if let Some((_, rto)) = self.last {
            let (rto_ns, rtt_ns) = (rto.as_nanos() as i64, s.rtt.as_nanos() as i64);
            self.ratio.add(rto_ns as f64 / rtt_ns as f64);
            self.least_margin = self.least_margin.min(rto_ns.saturating_sub(rtt_ns));
            if rto < s.rtt {
                self.spurious += 1;
                self.estimator.on_spurious_timeout();
            }
        }
        self.estimator.on_sample(s);
        let rto = self.estimator.rto();
        self.samples += 1;
        self.rto.add(rto.as_secs_f64());
        self.outline.add(s.now, s.rtt, rto);
        self.last = Some((s.now, rto));
    }
}

#[cfg(test)]
mod tests;
