//! Random arrivals of transfers: sizes and arrivals of a `web` workload.

use ackclock_policy::{Declaration, Params, Value};

use super::error::{Result, ScenarioError};
use super::files::Files;
use super::reader::{Reader, hint};
use super::tree::{Item, Node};
use crate::workload::declare;
use crate::workload::{Base, Cdf, OnOff, Pattern, Periods, Sizes, Trace};

/// Random arrivals of transfers.
#[derive(Clone, PartialEq, Debug)]
pub struct WebPlan {
    /// Its declared keys. The simulator uses `arrival_rate`, which is derived from `load` if that was given.
    pub params: Params,
    /// The load, if that was given.
    pub load: Option<f64>,
    /// Name of the base distribution of sizes.
    pub sizes_kind: &'static str,
    /// Its parameters.
    pub sizes_params: Params,
    /// The distribution.
    pub sizes: Sizes,
    /// Name of the pattern of arrivals.
    pub arrivals_kind: &'static str,
    /// Its parameters.
    pub arrivals_params: Params,
    /// The pattern.
    pub arrivals: Pattern,
}

impl WebPlan {
    /// Reads a `web` workload.
    pub(super) fn read(reader: &Reader<'_>, files: &Files) -> Result<Self> {
        let mut params = reader.params(declare::WEB.params)?;
        let trace = match params.choice("trace") {
            "I" => Trace::I,
            "II" => Trace::II,
            _ => Trace::III,
        };
        let (sizes_kind, sizes_params, base) = sizes(reader, files)?;
        let (arrivals_kind, arrivals_params, arrivals) = arrivals(reader)?;
        let given = |name: &str| reader.get(name).is_some();
        if given("load") && given("arrival_rate") {
            return Err(ScenarioError::at(
                reader.place(),
                "`workload.load` and `workload.arrival_rate` are both given: give one of them",
            ));
        }
        let mut load = None;
        if given("load") {
            load = Some(params.ratio("load"));
        } else if !given("arrival_rate") {
            reader.require(
                "load",
                "a load such as `0.8` or `120%`, or an `arrival_rate` in flows per second",
            )?;
        } else if params.ratio("arrival_rate") <= 0.0 {
            return Err(ScenarioError::at(
                reader.place(),
                "`workload.arrival_rate` is `0`, which is not a number of flows per second above 0",
            ));
        }
        if params.duration("stop") <= params.duration("start") {
            let message = format!(
                "`workload.stop` is `{}`, which is not after `start`, `{}`",
                params.duration("stop"),
                params.duration("start")
            );
            return Err(ScenarioError::at(reader.place(), message));
        }
        params.set("load", Value::Ratio(load.unwrap_or(0.0)));
        Ok(Self {
            params,
            load,
            sizes_kind,
            sizes_params,
            sizes: Sizes { base, trace },
            arrivals_kind,
            arrivals_params,
            arrivals,
        })
    }
}

fn sizes(reader: &Reader<'_>, files: &Files) -> Result<(&'static str, Params, Base)> {
    let Some(item) = reader.get("sizes") else {
        let default = &declare::SIZES[0];
        let params = Params::defaults(default.params);
        let base = Base::from_params(default.name, &params, None).expect("the defaults are a distribution");
        return Ok((default.name, params, base));
    };
    let key = reader.key("sizes");
    let (inner, decl) = chosen(item, &key, declare::SIZES)?;
    let params = inner.params(decl.params)?;
    let cdf = if decl.name == "cdf" { Some(cdf(&inner, files, "bytes")?) } else { None };
    inner.finish()?;
    let base = Base::from_params(decl.name, &params, cdf).ok_or_else(|| {
        let why = "is not a distribution: the bounds must differ, with the mean well between them";
        ScenarioError::at(&item.place, format!("`{key}` {why}"))
    })?;
    Ok((decl.name, params, base))
}

/// Reads a distribution function of `unit` from `file` or `points`.
pub(super) fn cdf(reader: &Reader<'_>, files: &Files, unit: &str) -> Result<Cdf> {
    if let Some((name, item)) = reader.text("file")? {
        let key = reader.key("file");
        let text = files
            .read(name)
            .map_err(|e| ScenarioError::at(&item.place, format!("`{key}` is `{name}`, which {e}")))?;
        return Cdf::parse(&text).map_err(|e| ScenarioError::new(e.to_string()).in_file(name));
    }
    let such = format!("a list of `[{unit}, probability]`, or a `file` of such lines");
    let item = reader.require("points", &such)?;
    let wrong = |place: &_| {
        ScenarioError::at(
            place,
            format!("`{}` is not a list of `[{unit}, probability]`", reader.key("points")),
        )
    };
    let number = |item: &Item| match item.node {
        Node::Integer(n) => Some(n as f64),
        Node::Float(x) => Some(x),
        _ => None,
    };
    let Node::List(items) = &item.node else { return Err(wrong(&item.place)) };
    let point = |item: &Item| match &item.node {
        Node::List(pair) if pair.len() == 2 => {
            number(&pair[0]).zip(number(&pair[1])).ok_or_else(|| wrong(&item.place))
        }
        _ => Err(wrong(&item.place)),
    };
    let points = items.iter().map(point).collect::<Result<Vec<_>>>()?;
    Cdf::new(points).map_err(|e| ScenarioError::at(&item.place, format!("`{}`: {e}", reader.key("points"))))
}

fn arrivals(reader: &Reader<'_>) -> Result<(&'static str, Params, Pattern)> {
    let Some(item) = reader.get("arrivals") else {
        return Ok(("poisson", Params::default(), Pattern::Poisson));
    };
    let (inner, decl) = chosen(item, &reader.key("arrivals"), declare::ARRIVALS)?;
    let params = inner.params(decl.params)?;
    inner.finish()?;
    let pattern = match decl.name {
        "poisson" => Pattern::Poisson,
        "regular" => Pattern::Regular,
        _ => Pattern::OnOff(OnOff {
            on: params.duration("on"),
            off: params.duration("off"),
            periods: Periods::from_params(&params),
        }),
    };
    Ok((decl.name, params, pattern))
}

/// The declaration named by a word or by the `kind` of a table, by default the first one.
fn chosen<'a>(
    item: &'a Item,
    key: &str,
    declared: &'static [Declaration],
) -> Result<(Reader<'a>, &'static Declaration)> {
    let (inner, word) = Reader::or_kind(item, key)?;
    let name = match word {
        Some(word) => word,
        None => inner.text("kind")?.map_or(declared[0].name, |(kind, _)| kind),
    };
    let known: Vec<&str> = declared.iter().map(|d| d.name).collect();
    let decl = declared.iter().find(|d| d.name == name);
    let decl = decl.ok_or_else(|| {
        ScenarioError::at(
            &item.place,
            format!("`{key}`: `{name}` is not a known kind of {}{}", declared[0].kind, hint(name, &known)),
        )
    })?;
    Ok((inner, decl))
}
