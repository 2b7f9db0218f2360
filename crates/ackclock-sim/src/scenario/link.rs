//! Links of a scenario: rate, delay, queue and faults.

use std::cell::Cell;

use ackclock_policy::{Chosen, Param, ParamError, ParamKind, QueueDiscipline, QueueSize, Registry, Value};
use ackclock_units::{Bytes, Duration, Rate, parse_duration, parse_ratio};

use super::elements::{ElementBudget, ElementPlans, MTU};
use super::error::{Place, Result, ScenarioError};
use super::files::Files;
use super::reader::{Reader, hint};
use super::tree::{Item, Node};
use crate::fault::{self, Fault};
use crate::link::{LinkSpec, MediumEnd};

/// Largest number of faults of all links of a scenario together.
pub(super) const MOST_FAULTS: usize = 100_000;
pub(super) const MOST_LINKS: usize = 200_000;
const LOWEST: Rate = Rate::from_bits_per_sec(1);
const HIGHEST: Rate = Rate::from_bits_per_sec(1_000_000_000_000_000);
const LONGEST: Duration = Duration::from_secs(86_400);

pub(super) const RATE: Param =
    Param::rate("rate", Rate::from_bits_per_sec(10_000_000), LOWEST..=HIGHEST, "rate of the link");
pub(super) const DELAY: Param =
    Param::duration("delay", Duration::ZERO, Duration::ZERO..=LONGEST, "propagation delay, one way");

/// Keys of a link that hold one value.
pub const LINK: &[Param] = &[RATE, DELAY, MTU];

/// A one-way link with every choice made.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkPlan {
    /// Its rate; `None` for a pure delay.
    pub rate: Option<Rate>,
    /// Its propagation delay.
    pub delay: Duration,
    /// Its queue; `None` for a pure delay.
    pub queue: Option<Chosen<dyn QueueDiscipline>>,
    /// Its faults.
    pub faults: Vec<Chosen<dyn Fault>>,
    /// What few links have.
    pub elements: ElementPlans,
}

impl LinkPlan {
    /// Builds the queue and the faults.
    pub fn spec(&self) -> LinkSpec {
        LinkSpec {
            rate: self.rate,
            delay: self.delay,
            queue: self.queue.as_ref().map(Chosen::<dyn QueueDiscipline>::build),
            faults: self.faults.iter().map(Chosen::build).collect(),
            elements: self.elements.build(self.rate, self.delay),
        }
    }

    /// The parts of this link and of the link back. They share a medium if this one says so.
    pub fn specs(&self, back: &Self) -> (LinkSpec, LinkSpec) {
        let (mut there, mut again) = (self.spec(), back.spec());
        if let Some(params) = &self.elements.half_duplex {
            let [a, b] = MediumEnd::pair(params.duration("gap"));
            (there.elements.medium, again.elements.medium) = (Some(a), Some(b));
        }
        (there, again)
    }

    /// The link back where it is not given: the same without faults and without a policer.
    pub(super) fn way_back(&self) -> Self {
        Self { faults: Vec::new(), elements: self.elements.of_way_back(), ..self.clone() }
    }

    /// The rate that it carries in the long run: its own, or that of its shaper if that is lower.
    pub fn capacity(&self) -> Option<Rate> {
        let shaped = self.elements.shaper.as_ref().map(|p| p.rate("rate"));
        self.rate.map(|rate| shaped.map_or(rate, |shaped| rate.min(shaped)))
    }

    /// A pure delay.
    pub(super) fn pure_delay(delay: Duration) -> Self {
        Self { rate: None, delay, queue: None, faults: Vec::new(), elements: ElementPlans::default() }
    }

    /// The limit of its queue in bytes; `None` when the limit is in packets or there is no queue.
    pub(super) fn limit_bytes(&self) -> Option<Bytes> {
        let queue = self.queue.as_ref()?;
        queue.params().iter().find_map(|(name, value)| match value {
            Value::Queue(QueueSize::Bytes(n)) if name == "limit" => Some(n),
            _ => None,
        })
    }
}

/// Context for reading links.
pub(super) struct LinkContext<'a> {
    /// Number of faults that may still be read, for all links together.
    pub(super) faults_left: &'a Cell<usize>,
    pub(super) registry: &'a Registry,
    /// The files that the scenario may name.
    pub(super) files: &'a Files,
    /// What elements may still hold, for all links together.
    pub(super) budget: &'a ElementBudget,
    /// The round-trip time used for `bdp`; `None` where flows have different paths.
    pub(super) rtt: Option<Duration>,
}

impl LinkContext<'_> {
    /// Reads the table at `key`. Missing values except faults come from `like`; a rate missing there too is
    /// an error if `needs_rate`.
    pub(super) fn link(
        &self,
        item: &Item,
        key: &str,
        like: Option<&LinkPlan>,
        needs_rate: bool,
    ) -> Result<LinkPlan> {
        let reader = Reader::new(item, key)?;
        let link = self.fields(&reader, like, needs_rate)?;
        reader.finish()?;
        Ok(link)
    }

    /// Reads the keys of a link from a table that may have others.
    pub(super) fn fields(
        &self,
        reader: &Reader<'_>,
        like: Option<&LinkPlan>,
        needs_rate: bool,
    ) -> Result<LinkPlan> {
        let elements = ElementPlans::read(reader, self.files)?;
        self.budget.count(&elements, reader.place())?;
        let rate = match reader.param(&RATE)? {
            Some(Value::Rate(rate)) => Some(rate),
            _ => elements.mean_rate().or(like.and_then(|l| l.rate)),
        };
        if rate.is_none() && needs_rate {
            reader.require("rate", "a rate such as `10Mbit/s`")?;
        }
        let delay = match reader.param(&DELAY)? {
            Some(Value::Duration(delay)) => delay,
            _ => like.map_or(Duration::ZERO, |l| l.delay),
        };
        if rate.is_none() && (elements.shaper.is_some() || elements.half_duplex.is_some()) {
            reader.require("rate", "the rate of the link behind its elements, such as `1Gbit/s`")?;
        }
        let shaped = elements.shaper.as_ref().map(|p| p.rate("rate"));
        let capacity = rate.map(|rate| shaped.map_or(rate, |shaped| rate.min(shaped)));
        let queue = match (reader.get("queue"), capacity) {
            (Some(item), None) => {
                let message = format!(
                    "`{}` is given, but a link without a `rate` does not queue: give it a rate such as \
                     `10Mbit/s`",
                    reader.key("queue")
                );
                return Err(ScenarioError::at(&item.place, message));
            }
            (_, None) => None,
            (Some(item), Some(capacity)) => Some(self.queue(item, &reader.key("queue"), capacity)?),
            (None, Some(capacity)) => Some(match like.and_then(|l| l.queue.clone()) {
                Some(mut queue) => {
                    fill_rate(&mut queue, capacity);
                    queue
                }
                None => self.default_queue(),
            }),
        };
        let mut faults = Vec::new();
        for item in reader.list("faults").unwrap_or_default() {
            faults.extend(one_fault(item, &reader.key("faults"), rate)?);
            self.check_faults(faults.len(), &item.place)?;
        }
        self.count_faults(faults.len(), reader.place())?;
        Ok(LinkPlan { rate, delay, queue, faults, elements })
    }

    /// Counts `n` more faults.
    pub(super) fn count_faults(&self, n: usize, place: &Place) -> Result<()> {
        self.check_faults(n, place)?;
        self.faults_left.set(self.faults_left.get() - n);
        Ok(())
    }

    fn check_faults(&self, n: usize, place: &Place) -> Result<()> {
        if n <= self.faults_left.get() {
            return Ok(());
        }
        Err(ScenarioError::at(
            place,
            format!("all links together have more than {MOST_FAULTS} `faults`, which is the limit"),
        ))
    }

    fn default_queue(&self) -> Chosen<dyn QueueDiscipline> {
        self.registry.choose("drop-tail").expect("drop-tail is built in")
    }

    fn queue(&self, item: &Item, key: &str, rate: Rate) -> Result<Chosen<dyn QueueDiscipline>> {
        let (reader, word) = Reader::or_kind(item, key)?;
        let (kind, place) = match word {
            Some(word) => (word, reader.place()),
            None => {
                reader.text("kind")?.map_or(("drop-tail", reader.place()), |(kind, item)| (kind, &item.place))
            }
        };
        let mut queue = self
            .registry
            .choose::<dyn QueueDiscipline>(kind)
            .map_err(|e| ScenarioError::at(place, format!("`{key}`: {e}")))?;
        fill_rate(&mut queue, rate);
        for param in queue.entry().params {
            let Some(item) = reader.get(param.name) else { continue };
            let size = if param.kind == ParamKind::Queue {
                self.relative(item, &reader.key(param.name), rate)?
            } else {
                None
            };
            let value = reader.parse_text(param, item, size.or_else(|| item.scalar()).as_deref())?;
            queue.set_value(param.name, value).map_err(|e| ScenarioError::at(&item.place, e.to_string()))?;
        }
        reader.finish()?;
        Ok(queue)
    }

    /// Converts a queue length given in bandwidth-delay products (`2bdp`) or as a time (`50ms`) to bytes.
    fn relative(&self, item: &Item, key: &str, rate: Rate) -> Result<Option<String>> {
        let Node::Text(text) = &item.node else { return Ok(None) };
        let bytes = match Relative::read(text) {
            None => return Ok(None),
            Some(Err(wanted)) => {
                return Err(ScenarioError::at(
                    &item.place,
                    format!("`{key}` is `{text}`, which is not {wanted}"),
                ));
            }
            Some(Ok(Relative::Time(time))) => rate.bytes_in(time) as f64,
            Some(Ok(Relative::Products(n))) => {
                let rtt = self.rtt.filter(|rtt| !rtt.is_zero()).ok_or_else(|| {
                    let why = "flows have no common round-trip time here for `bdp`";
                    ScenarioError::at(
                        &item.place,
                        format!(
                            "`{key}` is `{text}`, but {why}: give packets, bytes or a time such as `100ms`"
                        ),
                    )
                })?;
                rate.bytes_in(rtt) as f64 * n
            }
        };
        Ok(Some(format!("{}B", bytes as Bytes)))
    }
}

/// A queue length relative to its link.
enum Relative {
    /// Bandwidth-delay products.
    Products(f64),
    /// The bytes that the link sends in this time.
    Time(Duration),
}

impl Relative {
    /// Reads `2bdp` or `50ms`; `None` for text of neither form. The error is what is wanted instead.
    fn read(text: &str) -> Option<std::result::Result<Self, &'static str>> {
        if let Some(n) = text.trim().strip_suffix("bdp") {
            let n = parse_ratio(n).ok().filter(|n| *n > 0.0 && *n <= 1e6);
            return Some(n.map(Self::Products).ok_or("a length such as `2bdp`"));
        }
        parse_duration(text).ok().map(|time| Ok(Self::Time(time)))
    }
}

/// Checks a value as far as possible without the rest of the scenario: `param` accepts it, or it is a queue
/// length relative to the link.
///
/// # Errors
/// For a value that no scenario accepts.
pub fn check_value(param: &Param, text: &str) -> std::result::Result<(), ParamError> {
    match Relative::read(text).filter(|_| param.kind == ParamKind::Queue) {
        Some(Ok(_)) => Ok(()),
        Some(Err(wanted)) => {
            Err(ParamError { param: param.name.to_owned(), met: text.to_owned(), wanted: wanted.to_owned() })
        }
        // The error quotes the value as given, which may have another unit than the bounds.
        None => param.parse(text).map(|_| ()).map_err(|e| ParamError { met: text.to_owned(), ..e }),
    }
}

/// Sets the `link_rate` of a queue that has this parameter.
fn fill_rate(queue: &mut Chosen<dyn QueueDiscipline>, rate: Rate) {
    if queue.entry().params.iter().any(|p| p.name == "link_rate" && p.kind == ParamKind::Rate) {
        // The range of links lies within that of the parameter.
        let _ = queue.set_value("link_rate", Value::Rate(rate));
    }
}

/// Reads one fault. A list given for a parameter makes one fault for each of its values.
fn one_fault(item: &Item, key: &str, rate: Option<Rate>) -> Result<Vec<Chosen<dyn Fault>>> {
    let (reader, word) = Reader::or_kind(item, key)?;
    let known: Vec<&str> = fault::ENTRIES.iter().map(|e| e.name).collect();
    let (kind, place) = match word {
        Some(word) => (word, reader.place()),
        None => match reader.text("kind")? {
            Some((kind, item)) => (kind, &item.place),
            None => {
                return Err(ScenarioError::at(
                    reader.place(),
                    format!("`{key}` has no `kind`: give one of {}", known.join(", ")),
                ));
            }
        },
    };
    let entry = fault::ENTRIES.iter().find(|e| e.name == kind);
    let entry = entry.ok_or_else(|| {
        ScenarioError::at(place, format!("`{key}`: `{kind}` is not a known fault{}", hint(kind, &known)))
    })?;
    let mut faults = vec![Chosen::new(entry)];
    if let (Some(rate), true) = (rate, entry.params.iter().any(|p| p.name == "link_rate")) {
        let _ = faults[0].set_value("link_rate", Value::Rate(rate));
    }
    for param in entry.params {
        let Some(values) = reader.list(param.name) else { continue };
        if values.is_empty() || faults.len() * values.len() > 10_000 {
            let message = format!(
                "`{}` is a list of {}, which makes too few or too many faults (1 to 10000)",
                reader.key(param.name),
                values.len()
            );
            return Err(ScenarioError::at(reader.place(), message));
        }
        let before = std::mem::take(&mut faults);
        for item in values {
            let value = reader.parse(param, item)?;
            for mut fault in before.iter().cloned() {
                fault
                    .set_value(param.name, value)
                    .map_err(|e| ScenarioError::at(&item.place, e.to_string()))?;
                faults.push(fault);
            }
        }
    }
    reader.finish()?;
    Ok(faults)
}
