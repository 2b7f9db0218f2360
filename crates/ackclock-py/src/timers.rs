//! Retransmission timers replayed over series of round-trip times.
//!
//! Columns come as the bytes of contiguous arrays of the machine's 64-bit numbers (`numpy.ndarray.tobytes`);
//! optional ones have the defaults of [`Chunk`].

use std::sync::{Arc, Mutex, PoisonError};

use ackclock_policy::replay::{self, Chunk, Distribution, ReplayError};
use ackclock_policy::{Chosen, RttEstimator};
use ackclock_units::{Duration, Instant};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, UInt64Array};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Value, json};

use crate::error::{self, InputError};
use crate::registry::registry;
use crate::table::Table;

/// The percentiles in a summary.
const PERCENTILES: [u32; 6] = [1, 5, 25, 50, 95, 99];

/// The rows that the timer `name` yields for a series that fits in memory: `srtt`, `rttvar`, `rto` (s, null
/// before the first sample), `spurious`, and the timer's private state. `columns` are `time`, `rtt` (ns),
/// and, where known, `flight_size`, `cwnd`, `ssthresh` (bytes), `sampling_rate`, `lost` (one byte each).
/// `start`: smoothed round-trip time and deviation before the first row (ns). Raises `PolicyError`,
/// `InputError`.
#[pyfunction]
#[pyo3(signature = (name, params, smss, columns, start = None))]
pub fn timer_rows(
    name: &str,
    params: Vec<(String, String)>,
    smss: u32,
    columns: &Bound<'_, PyDict>,
    start: Option<(u64, u64)>,
) -> PyResult<Table> {
    let columns = Columns::read(columns)?;
    let mut estimator = choose(name, &params)?.build();
    if let Some((srtt, rttvar)) = start {
        estimator.set_estimates(Duration::from_nanos(srtt), Duration::from_nanos(rttvar));
    }
    let rows = replay::rows(&mut *estimator, &columns.chunk(smss)).map_err(refused)?;
    let numbers = |values: Vec<f64>| -> ArrayRef {
        Arc::new(values.into_iter().map(|x| (!x.is_nan()).then_some(x)).collect::<Float64Array>())
    };
    let mut batch: Vec<(&str, ArrayRef)> =
        vec![("srtt", numbers(rows.srtt)), ("rttvar", numbers(rows.rttvar)), ("rto", numbers(rows.rto))];
    batch.push(("spurious", Arc::new(BooleanArray::from(rows.spurious))));
    batch.extend(rows.private.into_iter().map(|(name, values)| (name, numbers(values))));
    table(batch)
}

/// The result of the timer `name` for one sample in each row, each from given estimates: `srtt`, `rttvar`,
/// `rto` (s) after it. `columns` as in `timer_rows`, and `srtt`, `rttvar` (ns) before it. Raises
/// `PolicyError`,
/// `InputError`.
#[pyfunction]
pub fn timer_steps(
    name: &str,
    params: Vec<(String, String)>,
    smss: u32,
    columns: &Bound<'_, PyDict>,
) -> PyResult<Table> {
    let columns = Columns::read(columns)?;
    let chosen = choose(name, &params)?;
    let steps = replay::steps(|| chosen.build(), &columns.srtt, &columns.rttvar, &columns.chunk(smss))
        .map_err(refused)?;
    let numbers = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
    table(vec![("srtt", numbers(steps.srtt)), ("rttvar", numbers(steps.rttvar)), ("rto", numbers(steps.rto))])
}

/// The replay of one timer over a series of any length, in chunks and bounded memory.
#[pyclass(module = "ackclock._core")]
pub struct TimerReplay {
    smss: u32,
    inner: Mutex<replay::Replay>,
}

#[pymethods]
impl TimerReplay {
    /// A replay of the timer `name` whose outline has at most `stretches` stretches. Raises `PolicyError`.
    #[new]
    fn new(name: &str, params: Vec<(String, String)>, smss: u32, stretches: usize) -> PyResult<Self> {
        let inner = Mutex::new(replay::Replay::new(choose(name, &params)?.build(), stretches.min(1 << 20)));
        Ok(Self { smss, inner })
    }

    /// Takes the next rows; `columns` as in `timer_rows`. Raises `InputError`.
    fn feed(&mut self, columns: &Bound<'_, PyDict>) -> PyResult<()> {
        let (columns, smss) = (Columns::read(columns)?, self.smss);
        self.replay().feed(&columns.chunk(smss)).map_err(refused)
    }

    /// The results so far, as JSON: `samples`, `skipped`, `spurious`, `least_margin` (s, null before the
    /// second sample), and distributions of `ratio` (RTO(i-1)/RTT(i)), `rto` (s), and the time (s) from a
    /// transmission to the retransmission that a loss would cost at any row (`cost_precise`, `cost_restart`)
    /// or costs at those marked (`marked_precise`, `marked_restart`).
    fn summary(&mut self) -> String {
        let r = self.replay();
        json!({
            "samples": r.samples,
            "skipped": r.skipped,
            "spurious": r.spurious,
            "least_margin": (r.least_margin != i64::MAX).then(|| r.least_margin as f64 / 1e9),
            "ratio": distribution(&r.ratio),
            "rto": distribution(&r.rto),
            "cost_precise": distribution(&r.cost.precise),
            "cost_restart": distribution(&r.cost.restart),
            "marked_precise": distribution(&r.marked.precise),
            "marked_restart": distribution(&r.marked.restart),
        })
        .to_string()
    }

    /// Timeout and round-trip time over the series, in a bounded number of intervals: `time`, `rtt_min`,
    /// `rtt_max`, `rto_min`, `rto_max` (s), `samples`.
    fn outline(&mut self) -> PyResult<Table> {
        let stretches = self.replay().outline.stretches();
        let seconds = |of: fn(&replay::Stretch) -> f64| -> ArrayRef {
            Arc::new(stretches.iter().map(|s| Some(of(s))).collect::<Float64Array>())
        };
        table(vec![
            ("time", seconds(|s| s.time.as_nanos() as f64 / 1e9)),
            ("rtt_min", seconds(|s| s.rtt_min.as_secs_f64())),
            ("rtt_max", seconds(|s| s.rtt_max.as_secs_f64())),
            ("rto_min", seconds(|s| s.rto_min.as_secs_f64())),
            ("rto_max", seconds(|s| s.rto_max.as_secs_f64())),
            ("samples", Arc::new(stretches.iter().map(|s| Some(s.samples)).collect::<UInt64Array>())),
        ])
    }
}

impl TimerReplay {
    fn replay(&mut self) -> &mut replay::Replay {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

fn choose(name: &str, params: &[(String, String)]) -> PyResult<Chosen<dyn RttEstimator>> {
    let mut chosen = registry().choose::<dyn RttEstimator>(name).map_err(error::policy)?;
    for (param, text) in params {
        chosen.set(param, text).map_err(error::policy)?;
    }
    Ok(chosen)
}

fn refused(e: ReplayError) -> PyErr {
    InputError::new_err(e.to_string())
}

fn distribution(d: &Distribution) -> Value {
    let mut all = json!({ "count": d.count(), "mean": d.mean(), "min": d.min(), "max": d.max() });
    for p in PERCENTILES {
        all[format!("p{p}")] = json!(d.quantile(f64::from(p) / 100.0));
    }
    all
}

fn table(columns: Vec<(&str, ArrayRef)>) -> PyResult<Table> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, values)| (name, values, true)),
    );
    Ok(Table::new(batch.map_err(|e| InputError::new_err(e.to_string()))?))
}

/// The owned columns of a [`Chunk`].
#[derive(Default)]
struct Columns {
    time: Vec<Instant>,
    rtt: Vec<Duration>,
    srtt: Vec<Duration>,
    rttvar: Vec<Duration>,
    flight_size: Vec<u64>,
    cwnd: Vec<u64>,
    ssthresh: Vec<u64>,
    sampling_rate: Vec<f64>,
    lost: Vec<bool>,
}

impl Columns {
    fn read(given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut columns = Self::default();
        for (name, values) in given {
            let (name, values) = (name.extract::<String>()?, values.cast_into::<PyBytes>()?);
            let values = values.as_bytes();
            let whole = || words(&name, values).map(|w| w.map(u64::from_ne_bytes));
            match name.as_str() {
                "time" => columns.time = whole()?.map(Instant::from_nanos).collect(),
                "rtt" => columns.rtt = whole()?.map(Duration::from_nanos).collect(),
                "srtt" => columns.srtt = whole()?.map(Duration::from_nanos).collect(),
                "rttvar" => columns.rttvar = whole()?.map(Duration::from_nanos).collect(),
                "flight_size" => columns.flight_size = whole()?.collect(),
                "cwnd" => columns.cwnd = whole()?.collect(),
                "ssthresh" => columns.ssthresh = whole()?.collect(),
                "sampling_rate" => {
                    columns.sampling_rate = words(&name, values)?.map(f64::from_ne_bytes).collect()
                }
                "lost" => columns.lost = values.iter().map(|b| *b != 0).collect(),
                _ => {
                    let known = "time, rtt, srtt, rttvar, flight_size, cwnd, ssthresh, sampling_rate, lost";
                    return Err(InputError::new_err(format!(
                        "`{name}` is not a column of a series; expected one of {known}"
                    )));
                }
            }
        }
        Ok(columns)
    }

    fn chunk(&self, smss: u32) -> Chunk<'_> {
        Chunk {
            time: &self.time,
            rtt: &self.rtt,
            flight_size: &self.flight_size,
            cwnd: &self.cwnd,
            ssthresh: &self.ssthresh,
            sampling_rate: &self.sampling_rate,
            lost: &self.lost,
            smss,
        }
    }
}

fn words<'a>(name: &str, bytes: &'a [u8]) -> PyResult<impl Iterator<Item = [u8; 8]> + use<'a>> {
    let (words, rest) = bytes.as_chunks::<8>();
    if rest.is_empty() {
        Ok(words.iter().copied())
    } else {
        Err(InputError::new_err(format!("`{name}` is not made of 64-bit numbers")))
    }
}
