//! Elements of a link: a largest packet, a policer, a shaper, a schedule, a packet-delivery trace.

use std::cell::Cell;
use std::sync::Arc;

use ackclock_policy::{Param, Params, Value};
use ackclock_units::{Bytes, Duration, Rate};

use super::error::{Place, Result, ScenarioError};
use super::files::Files;
use super::reader::Reader;
use super::schedule;
use super::trace::{self, MOST_OPPORTUNITIES, Trace};
use super::tree::{Item, Node};
use super::web;
use crate::link::{
    ConstantRate, Elements, HALF_DUPLEX, JITTER, Jitter, MAHIMAHI, POLICER, Policer, SCHEDULE, SHAPER,
    Schedule, Shaper, TokenBucket,
};
use crate::workload::Cdf;

/// Largest number of points of all schedules of a scenario together.
const MOST_POINTS: usize = 500_000;

pub(super) const MTU: Param =
    Param::bytes("mtu", 65_535, 68..=65_535, "the largest packet that the link carries, headers included");

/// How much may still be read for all links together.
pub(super) struct ElementBudget {
    points: Cell<usize>,
    opportunities: Cell<usize>,
}

impl Default for ElementBudget {
    fn default() -> Self {
        Self { points: Cell::new(MOST_POINTS), opportunities: Cell::new(MOST_OPPORTUNITIES) }
    }
}

impl ElementBudget {
    /// Subtracts the values that the elements hold.
    pub(super) fn count(&self, elements: &ElementPlans, place: &Place) -> Result<()> {
        let scheduled = elements.schedule.as_ref().map_or(0, |s| s.points.len());
        let delays = elements.jitter.as_ref().and_then(|j| j.points.as_ref()).map_or(0, |p| p.points().len());
        let points = scheduled + delays;
        let opportunities = elements.mahimahi.as_ref().map_or(0, |m| m.times.len());
        for (left, wanted, most, what) in [
            (&self.points, points, MOST_POINTS, "points in their schedules and jitter"),
            (&self.opportunities, opportunities, MOST_OPPORTUNITIES, "opportunities in their traces"),
        ] {
            let Some(rest) = left.get().checked_sub(wanted) else {
                return Err(ScenarioError::at(
                    place,
                    format!("all links together have more than {most} {what}, which is the limit"),
                ));
            };
            left.set(rest);
        }
        Ok(())
    }
}

/// The elements of a link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ElementPlans {
    /// The largest packet that it carries.
    pub mtu: Option<Bytes>,
    /// The declared keys of its policer.
    pub policer: Option<Params>,
    /// The declared keys of its shaper.
    pub shaper: Option<Params>,
    /// Its rate, delay and loss over time.
    pub schedule: Option<Schedule>,
    /// Its packet-delivery trace.
    pub mahimahi: Option<Trace>,
    /// The declared keys of the medium that it shares with the link back.
    pub half_duplex: Option<Params>,
    /// Its random extra delay.
    pub jitter: Option<JitterPlan>,
}

/// Random extra delays.
#[derive(Clone, PartialEq, Debug)]
pub struct JitterPlan {
    /// Its declared keys.
    pub params: Params,
    /// The distribution in milliseconds, if it is given by points.
    pub points: Option<Arc<Cdf>>,
}

impl ElementPlans {
    /// Builds them for a link with this rate and delay.
    pub(super) fn build(&self, rate: Option<Rate>, delay: Duration) -> Elements {
        let policer = |p: &Params| Policer::new(TokenBucket::from_params(p), p.choice("action") == "mark");
        let mut elements = Elements {
            mtu: self.mtu.map(|n| n as u32),
            policer: self.policer.as_ref().map(policer),
            ..Elements::default()
        };
        elements.jitter = self.jitter.as_ref().map(|j| Jitter::new(&j.params, j.points.clone()));
        if let Some(schedule) = &self.schedule {
            schedule.add_to(&mut elements, rate, delay);
        }
        // The trace was checked when it was read.
        if let Some(trace) = self.mahimahi.as_ref().and_then(|m| m.opportunities().ok()) {
            elements.transmitter = Some(Box::new(trace));
        }
        if let (Some(p), Some(rate)) = (&self.shaper, rate) {
            let link = elements.transmitter.take().unwrap_or_else(|| Box::new(ConstantRate(rate)));
            elements.transmitter = Some(Box::new(Shaper::new(TokenBucket::from_params(p), link)));
        }
        elements
    }

    /// The mean rate of a trace or a schedule.
    pub(super) fn mean_rate(&self) -> Option<Rate> {
        let scheduled = || self.schedule.as_ref().and_then(Schedule::mean_rate);
        self.mahimahi.as_ref().map(Trace::mean_rate).or_else(scheduled)
    }

    /// Those of the way back where it is not given.
    pub(super) fn of_way_back(&self) -> Self {
        Self { policer: None, half_duplex: None, ..self.clone() }
    }

    /// Reads the elements of a link.
    pub(super) fn read(reader: &Reader<'_>, files: &Files) -> Result<Self> {
        let mtu = match reader.param(&MTU)? {
            Some(Value::Bytes(n)) => Some(n),
            _ => None,
        };
        let plans = Self {
            mtu,
            policer: bucket(reader, &POLICER)?,
            shaper: bucket(reader, &SHAPER)?,
            schedule: schedule::read(reader, files)?,
            mahimahi: trace::read(reader, files)?,
            jitter: jitter(reader, files)?,
            half_duplex: half_duplex(reader)?,
        };
        if plans.mahimahi.is_some() && plans.schedule.as_ref().is_some_and(Schedule::has_rates) {
            return Err(ScenarioError::at(
                reader.place(),
                format!(
                    "`{}` and `{}` with rates are both given: leave the rates out of the schedule",
                    reader.key(MAHIMAHI.name),
                    reader.key(SCHEDULE.name)
                ),
            ));
        }
        Ok(plans)
    }
}

/// Reads a shaper or a policer.
fn bucket(reader: &Reader<'_>, declared: &ackclock_policy::Declaration) -> Result<Option<Params>> {
    let Some(item) = reader.get(declared.name) else { return Ok(None) };
    let inner = Reader::new(item, &reader.key(declared.name))?;
    inner.require("rate", "a rate such as `10Mbit/s`")?;
    let params = inner.params(declared.params)?;
    inner.finish()?;
    if params.bytes("burst") <= params.bytes("overhead") {
        return Err(ScenarioError::at(
            &item.place,
            format!(
                "`{}` is `{}B`, which is not more than its `overhead`, `{}B`: no packet would pass",
                inner.key("burst"),
                params.bytes("burst"),
                params.bytes("overhead")
            ),
        ));
    }
    Ok(Some(params))
}

/// Reads a shared medium: `true`, or a table.
fn half_duplex(reader: &Reader<'_>) -> Result<Option<Params>> {
    match reader.get(HALF_DUPLEX.name) {
        None | Some(Item { node: Node::Flag(false), .. }) => Ok(None),
        Some(Item { node: Node::Flag(true), .. }) => Ok(Some(Params::defaults(HALF_DUPLEX.params))),
        Some(item) => {
            let inner = Reader::new(item, &reader.key(HALF_DUPLEX.name))?;
            let params = inner.params(HALF_DUPLEX.params)?;
            inner.finish()?;
            Ok(Some(params))
        }
    }
}

/// Reads jitter.
fn jitter(reader: &Reader<'_>, files: &Files) -> Result<Option<JitterPlan>> {
    let Some(item) = reader.get(JITTER.name) else { return Ok(None) };
    let inner = Reader::new(item, &reader.key(JITTER.name))?;
    let params = inner.params(JITTER.params)?;
    let given = |name: &str| inner.get(name).is_some();
    let points = if given("file") || given("points") {
        if let Some(word) =
            ["distribution", "mean", "deviation", "shape"].into_iter().find(|name| given(name))
        {
            return Err(ScenarioError::at(
                &item.place,
                format!("`{}` is given with a distribution of its own: leave it out", inner.key(word)),
            ));
        }
        Some(Arc::new(web::cdf(&inner, files, "milliseconds")?))
    } else {
        None
    };
    inner.finish()?;
    Ok(Some(JitterPlan { params, points }))
}
