//! A schedule of rate, delay and loss over time.

use std::sync::Arc;

use ackclock_policy::{Declaration, Param, Params};
use ackclock_units::{Duration, Rate};

use super::elements::{Elements, LOSS_UNIT};
use super::track::Track;
use super::varying_rate::VaryingRate;

/// What changes at one moment. What is `None` goes on as before.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SchedulePoint {
    /// When, since the beginning of the run or of the period.
    pub at: Duration,
    /// The rate from then on; 0 for an outage.
    pub rate: Option<Rate>,
    /// The propagation delay from then on.
    pub delay: Option<Duration>,
    /// The probability of loss from then on.
    pub loss: Option<f64>,
}

/// Rate, delay and loss of a link over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// In order of time.
    pub points: Arc<[SchedulePoint]>,
    /// Its declared keys.
    pub params: Params,
}

impl Schedule {
    fn track(&self, before: u64, value: impl Fn(&SchedulePoint) -> Option<u64>) -> Option<Track> {
        let points = self.points.iter().filter_map(|p| value(p).map(|v| (p.at.as_nanos(), v)));
        let period = self.params.duration("repeat").as_nanos();
        let linear = self.params.choice("shape") == "linear";
        Track::new(points, before, linear, (period > 0).then_some(period))
    }

    /// True when it has rates.
    pub fn has_rates(&self) -> bool {
        self.points.iter().any(|p| p.rate.is_some())
    }

    fn rates(&self, before: Option<Rate>) -> Option<VaryingRate> {
        let before = before.map_or(0, Rate::bits_per_sec);
        self.track(before, |p| p.rate.map(Rate::bits_per_sec)).map(VaryingRate::new)
    }

    /// The mean of its rates over a period, or up to the last point if it does not repeat.
    pub fn mean_rate(&self) -> Option<Rate> {
        let span = match self.params.duration("repeat") {
            Duration::ZERO => self.points.last()?.at,
            period => period,
        };
        let first = self.points.iter().find_map(|p| p.rate);
        let rates = self.rates(first)?;
        Some(rates.mean(span))
    }

    /// Adds it to the elements of a link with this rate and delay.
    pub fn add_to(&self, elements: &mut Elements, rate: Option<Rate>, delay: Duration) {
        if let Some(rates) = self.rates(rate) {
            elements.transmitter = Some(Box::new(rates));
        }
        elements.delay = self.track(delay.as_nanos(), |p| p.delay.map(Duration::as_nanos));
        elements.loss = self.track(0, |p| p.loss.map(|loss| (loss * LOSS_UNIT as f64).round() as u64));
        elements.reorders = self.params.flag("reorder");
    }
}

/// The longest time of a schedule.
pub(crate) const LONGEST: Duration = Duration::from_secs(100_000_000);

/// Keys of a schedule.
pub(crate) const SCHEDULE: Declaration = Declaration {
    kind: "element",
    name: "schedule",
    about: "Changes rate, delay and loss over time, as `points` say, a list of tables with `at` and any of \
            `rate`, `delay` and `loss`, or the lines of a CSV `file` with these columns. Until the first \
            point the link's own rate and delay apply; the last values stay.",
    source: "",
    params: &[
        Param::choice(
            "shape",
            "steps",
            &["steps", "linear"],
            "whether values change at once, or linearly from point to point",
        ),
        Param::duration(
            "repeat",
            Duration::ZERO,
            Duration::ZERO..=LONGEST,
            "time after which it begins again; 0 for never",
        ),
        Param::flag(
            "reorder",
            false,
            "whether packets overtake others when the delay falls; otherwise each arrives no earlier than \
             those before it, as on a serial link",
        ),
    ],
};
