use ackclock_units::Duration;

use super::jacobson88::Jacobson88;
use super::smooth::{Ticks, initial_rto, max_rto, min_rto, rounded, tick};
use crate::{Entry, Param, RttEstimator};

/// The 4.4BSD-Lite timer: [`Jacobson88`] on a coarse clock. Its heartbeat and its restart at every ack are in
/// the timer `restart-on-ack`.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "lite",
    about: "The 4.4BSD-Lite timer: smoothed mean plus four mean deviations, samples in ticks of 500 ms, at \
            least two ticks.",
    source: "Ludwig & Sklower 2000 (E-A1, E-A9, E-E1..E4)",
    params: &[
        tick(Duration::from_millis(500)),
        rounded(true),
        Param::flag(
            "sample_floor",
            false,
            // E-A9, E-E12
            "keep the timeout at least two ticks above the latest sample, as in FreeBSD",
        ),
        min_rto(Duration::ZERO),
        max_rto(Duration::from_secs(64)),
        initial_rto(Duration::from_secs(3)),
    ],
    build: |p| Box::new(Jacobson88::with_ticks(ENTRY.name, Ticks::new(p), p).floored(p.flag("sample_floor"))),
};
