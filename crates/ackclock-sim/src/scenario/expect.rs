//! Estimates of flows and packets of a workload before it runs.

use ackclock_units::{Bytes, Duration, Rate};

use super::pair_paths::{HEADERS, PairPath};
use super::resolved::{Expected, Resolved};
use super::workload::{Body, WorkloadPlan};

/// Estimated lifetime, in seconds, of a flow that gets no capacity: by default an unacknowledged SYN is given
/// up after two minutes.
const STARVED_LIFETIME: f64 = 120.0;
/// Estimated duration of a short transfer, in round trips.
const ROUND_TRIPS: f64 = 8.0;

impl Expected {
    /// The estimate for one workload, of whose paths `path` is one.
    pub(super) fn of(w: &WorkloadPlan, r: &Resolved, path: Option<PairPath>, mss: Bytes) -> Self {
        let flows = w.expected_flows(r.duration());
        let seconds = (r.duration() + r.drain()).as_secs_f64();
        let rate =
            |rate: Option<Rate>| rate.map(|rate| rate.bits_per_sec() as f64 / 8.0 / (mss + HEADERS) as f64);
        let round_trip =
            w.rtt.mean().into_iter().chain(path.map(|path| path.round_trip)).max().unwrap_or_default();
        match &w.body {
            Body::Web(web) => {
                let per_second = web.params.ratio("arrival_rate");
                let arrive = flows / per_second.max(f64::MIN_POSITIVE);
                let segments = web.sizes.mean_segments(mss);
                let carried = rate(path.and_then(|path| path.down)).unwrap_or(f64::INFINITY) / segments;
                // Flows that arrive in excess of the link's capacity accumulate.
                let waiting = (per_second - carried).max(0.0) * arrive.min(STARVED_LIFETIME);
                let served = per_second.min(carried) * (ROUND_TRIPS * round_trip.as_secs_f64()).min(arrive);
                Self {
                    flows,
                    at_once: waiting + served,
                    packets: (per_second.min(carried) * arrive * segments).min(carried * segments * seconds),
                }
            }
            Body::Flows { .. } => {
                let widest = r.stacks.iter().map(|s| s.snd_buf()).max().unwrap_or_default();
                let windows =
                    flows * (widest / mss) as f64 / round_trip.max(Duration::from_micros(1)).as_secs_f64();
                let up = path.and_then(|path| [path.up, path.down].into_iter().flatten().max());
                Self { flows, at_once: flows, packets: rate(up).unwrap_or(windows).min(windows) * seconds }
            }
            Body::Log(log) => {
                let segments: f64 = log.rows.iter().map(|row| row.bytes.div_ceil(mss) as f64).sum();
                let carried = rate(path.and_then(|path| path.down)).unwrap_or(f64::INFINITY) * seconds;
                Self { flows, at_once: flows, packets: segments.min(carried) }
            }
            Body::Udp { params, control, .. } => {
                let until = params
                    .duration("stop")
                    .min(r.duration())
                    .saturating_sub(params.duration("start"))
                    .as_secs_f64();
                let each = if control.is_some() {
                    0.0
                } else {
                    params.rate("rate").bits_per_sec() as f64 / 8.0 / params.bytes("bytes") as f64
                };
                Self { flows, at_once: flows, packets: flows * each * until }
            }
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.flows += other.flows;
        self.at_once += other.at_once;
        self.packets += other.packets;
    }
}
