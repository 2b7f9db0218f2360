//! Round-trip times of a scenario's flows.

use ackclock_policy::{Param, Value};
use ackclock_units::{Duration, Rng};

use super::error::{Result, ScenarioError};
use super::reader::Reader;
use super::tree::{Item, Node};

const RTT: Param = Param::duration(
    "rtt",
    Duration::from_millis(100),
    Duration::ZERO..=Duration::from_secs(86_400),
    "round trip of a flow, queues left out",
);

/// Round-trip times of flows, without queueing and transmission times.
#[derive(Clone, PartialEq, Debug)]
pub enum RttPlan {
    /// The sum of the link delays.
    Links,
    /// The same for all.
    Constant(Duration),
    /// Uniform between two times, drawn for each flow.
    Uniform(Duration, Duration),
    /// Used cyclically, one for each flow.
    List(Vec<Duration>),
}

impl RttPlan {
    /// Their mean; `None` for [`RttPlan::Links`].
    pub fn mean(&self) -> Option<Duration> {
        match self {
            Self::Links => None,
            Self::Constant(d) => Some(*d),
            Self::Uniform(a, b) => Some((*a + *b) / 2),
            Self::List(all) => {
                Some(all.iter().fold(Duration::ZERO, |sum, d| sum + *d) / all.len().max(1) as u64)
            }
        }
    }

    /// The shortest; `None` for [`RttPlan::Links`].
    pub fn least(&self) -> Option<Duration> {
        match self {
            Self::Links => None,
            Self::Constant(d) | Self::Uniform(d, _) => Some(*d),
            Self::List(all) => all.iter().min().copied(),
        }
    }

    /// The round-trip time of flow number `n`; `None` for [`RttPlan::Links`].
    pub fn draw(&self, n: u64, rng: &mut Rng) -> Option<Duration> {
        match self {
            Self::Links => None,
            Self::Constant(d) => Some(*d),
            Self::Uniform(a, b) => Some(*a + b.saturating_sub(*a).mul_f64(rng.unit())),
            Self::List(all) => all.get((n % all.len().max(1) as u64) as usize).copied(),
        }
    }

    /// Reads the key `rtt`, if it is given.
    pub(super) fn read(reader: &Reader<'_>) -> Result<Option<Self>> {
        let Some(item) = reader.get("rtt") else { return Ok(None) };
        let time = |item: &Item| match reader.parse(&RTT, item)? {
            Value::Duration(d) => Ok(d),
            _ => unreachable!("declared as a time"),
        };
        let all = |items: &[Item]| items.iter().map(time).collect::<Result<Vec<_>>>();
        let empty = || {
            ScenarioError::at(
                &item.place,
                format!("`{}` is an empty list: give at least one time such as `100ms`", reader.key("rtt")),
            )
        };
        Ok(Some(match &item.node {
            Node::Text(text) if text == "links" => Self::Links,
            Node::List(items) if items.is_empty() => return Err(empty()),
            Node::List(items) => Self::List(all(items)?),
            Node::Table(_) => {
                let inner = Reader::new(item, &reader.key("rtt"))?;
                let plan = match (inner.get("uniform"), inner.get("list")) {
                    (Some(Item { node: Node::List(items), place }), None) => match all(items)?.as_slice() {
                        [a, b] if a <= b => Self::Uniform(*a, *b),
                        _ => {
                            let message =
                                "is not a list of a lower and an upper time such as `[\"10ms\", \"200ms\"]`";
                            return Err(ScenarioError::at(
                                place,
                                format!("`{}` {message}", inner.key("uniform")),
                            ));
                        }
                    },
                    (None, Some(Item { node: Node::List(items), .. })) if !items.is_empty() => {
                        Self::List(all(items)?)
                    }
                    _ => {
                        inner.finish()?;
                        let such =
                            "`{ uniform = [\"10ms\", \"200ms\"] }` or `{ list = [\"10ms\", \"50ms\"] }`";
                        return Err(ScenarioError::at(
                            &item.place,
                            format!("`{}` is a table, but not one such as {such}", reader.key("rtt")),
                        ));
                    }
                };
                inner.finish()?;
                plan
            }
            _ => Self::Constant(time(item)?),
        }))
    }
}
