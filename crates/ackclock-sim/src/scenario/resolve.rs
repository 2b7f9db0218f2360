use std::cell::Cell;

use ackclock_policy::{Param, Registry, Value};
use ackclock_trace::Mask;
use ackclock_units::Duration;

use super::check;
use super::elements::ElementBudget;
use super::error::{Result, ScenarioError};
use super::files::Files;
use super::link::{LinkContext, MOST_FAULTS};
use super::path::PathPlan;
use super::reader::{Reader, hint};
use super::resolved::{Expected, Resolved, RunPlan, TRACES};
use super::stack::{self, StackPlan};
use super::text;
use super::tree::{self, Item, Node};
use super::workload::{Body, WorkloadContext, WorkloadPlan};

/// Largest number of seeds of a scenario.
const MOST_SEEDS: u64 = 100_000;
/// Largest number of runs of a scenario, counted once for each stack, since each has a line in the summary.
const MOST_RUNS: usize = 200_000;
const LONGEST: Duration = Duration::from_secs(10_000_000);

/// Keys of the run itself.
const RUN: &[Param] = &[
    Param::duration(
        "duration",
        Duration::from_secs(100),
        Duration::from_nanos(1)..=LONGEST,
        "time over which flows start and are observed",
    ),
    Param::duration(
        "warmup",
        Duration::ZERO,
        Duration::ZERO..=LONGEST,
        "what happens before this is left out of all numbers of the tables and summaries",
    ),
    Param::duration(
        "measure_from",
        Duration::ZERO,
        Duration::ZERO..=LONGEST,
        // M-U1
        "the same as `warmup`; the later of the two applies",
    ),
    Param::count(
        "measure_after",
        0,
        0..=1_000_000,
        // M-U1
        "number of loss episodes of a flow after which its counters start: 1 leaves out its first slow \
         start; the numbers of links are then missing from summaries",
    ),
    Param::duration(
        "drain",
        Duration::ZERO,
        Duration::ZERO..=LONGEST,
        "time after `duration` in which no flow starts and active flows may finish",
    ),
    Param::duration(
        "series",
        Duration::ZERO,
        Duration::ZERO..=LONGEST,
        "interval of the tables over time, `flow_series` and `link_series`; 0s for none",
    ),
];
const SEED: Param = Param::count("seed", 1, 0..=i64::MAX as u64, "seed of all random streams");
const REPEAT: Param = Param::count("repeat", 1, 1..=MOST_SEEDS, "runs with seed, seed + 1 and so on");

/// A scenario as written, with overrides applied.
#[derive(Clone, Debug)]
pub struct Scenario {
    root: Item,
}

impl Scenario {
    /// Reads the text of a scenario file.
    ///
    /// # Errors
    /// When it is not TOML.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, &[])
    }

    /// Reads a scenario and applies overrides such as `("path.rtt", "50ms")` in order.
    ///
    /// # Errors
    /// When the text is not TOML, or a key leads nowhere.
    pub fn parse_with(text: &str, overrides: &[(&str, &str)]) -> Result<Self> {
        let mut root = tree::parse(text)?;
        for (key, value) in overrides {
            tree::set(&mut root, key, value)?;
        }
        Ok(Self { root })
    }

    /// Makes every default explicit, with the built-in policies and no files.
    ///
    /// # Errors
    /// When something is unknown, missing or impossible: one sentence with the place, the value found and the
    /// values allowed.
    pub fn resolve(&self) -> Result<Resolved> {
        self.resolve_with(&Registry::builtin(), &Files::none())
    }

    /// As [`Scenario::resolve`], with the policies of `registry` and the files that `files` permits.
    ///
    /// # Errors
    /// As [`Scenario::resolve`].
    pub fn resolve_with(&self, registry: &Registry, files: &Files) -> Result<Resolved> {
        let reader = Reader::new(&self.root, "")?;
        let params = reader.params(RUN)?;
        let title = reader.text("title")?.map_or(String::new(), |(title, _)| title.to_owned());
        let seeds = seeds(&reader)?;
        let trace = trace(&reader)?;
        if params.duration("warmup") >= params.duration("duration") {
            let message = format!(
                "`warmup` is `{}`, which is not less than `duration`, `{}`",
                params.duration("warmup"),
                params.duration("duration")
            );
            return Err(ScenarioError::at(reader.place(), message));
        }
        for moment in ["warmup", "measure_from"] {
            if !params.duration(moment).is_zero() && params.count("measure_after") > 0 {
                return Err(ScenarioError::at(
                    reader.place(),
                    format!("`{moment}` and `measure_after` are both given: give one of them"),
                ));
            }
        }
        if params.duration("measure_from") >= params.duration("duration") {
            let (from, duration) = (params.duration("measure_from"), params.duration("duration"));
            let message =
                format!("`measure_from` is `{from}`, which is not less than `duration`, `{duration}`");
            return Err(ScenarioError::at(reader.place(), message));
        }
        check::intervals(&params).map_err(|message| ScenarioError::at(reader.place(), message))?;
        let item =
            reader.require("path", "a table `[path]` with a `kind`: single, dumbbell, chain or graph")?;
        let path = PathPlan::read(
            item,
            &LinkContext {
                registry,
                rtt: None,
                faults_left: &Cell::new(MOST_FAULTS),
                files,
                budget: &ElementBudget::default(),
            },
        )?;
        let item = reader
            .require("stacks", "a table `[stacks]` with a name for each stack, such as `tcp = \"sack\"`")?;
        let syn_retries = reader.get("syn_retries");
        let stacks = stack::read_all(item, syn_retries, registry)?;
        let items =
            match reader.require("workload", "a table `[workload]` with a `kind` such as web or bulk")? {
                Item { node: Node::List(items), .. } => items.as_slice(),
                item => std::slice::from_ref(item),
            };
        let workloads = WorkloadContext { registry, path: &path, stacks: &stacks, files }.read_all(items)?;
        let runs = runs(&reader, &stacks, &workloads)?;
        reader.finish()?;
        let stacks_of_all =
            runs.iter().map(|run| run.shares.len() + run.named.len()).sum::<usize>().max(runs.len());
        if stacks_of_all.saturating_mul(seeds.len()) > MOST_RUNS {
            let message = format!(
                "{} seeds for {stacks_of_all} stacks make {} runs",
                seeds.len(),
                stacks_of_all.saturating_mul(seeds.len())
            );
            return Err(ScenarioError::new(format!("{message}; at most {MOST_RUNS} are allowed")));
        }
        let mut resolved = Resolved {
            title,
            params,
            seeds,
            trace,
            path,
            workloads,
            stacks,
            runs,
            expected: Expected::default(),
        };
        check::complete(&mut resolved)?;
        Ok(resolved)
    }
}

fn seeds(reader: &Reader<'_>) -> Result<Vec<u64>> {
    let (seed, repeat) = (reader.param(&SEED)?, reader.param(&REPEAT)?);
    let count = |v| match v {
        Value::Count(n) => n,
        _ => unreachable!("declared as a count"),
    };
    let Some(items) = reader.list("seeds") else {
        let first = seed.map_or(1, count);
        return Ok((0..repeat.map_or(1, count)).map(|n| first.wrapping_add(n) & i64::MAX as u64).collect());
    };
    if seed.is_some() || repeat.is_some() {
        return Err(ScenarioError::at(
            reader.place(),
            "`seeds` is given together with `seed` or `repeat`: give either `seeds` or the other two",
        ));
    }
    if items.is_empty() || items.len() as u64 > MOST_SEEDS {
        return Err(ScenarioError::at(
            reader.place(),
            format!("`seeds` is a list of {}; 1 to {MOST_SEEDS} are allowed", items.len()),
        ));
    }
    let mut seeds = Vec::with_capacity(items.len());
    for item in items {
        let seed = count(reader.parse(&SEED, item)?);
        if seeds.contains(&seed) {
            return Err(ScenarioError::at(
                &item.place,
                format!("`seeds` has {seed} twice, which would give the same run twice"),
            ));
        }
        seeds.push(seed);
    }
    Ok(seeds)
}

fn trace(reader: &Reader<'_>) -> Result<Mask> {
    let mut mask = Mask::NONE;
    for item in reader.list("trace").unwrap_or_default() {
        let word = item.scalar().unwrap_or_default();
        let known: Vec<&str> = TRACES.iter().map(|(name, _)| *name).collect();
        let group = TRACES.iter().find(|(name, _)| *name == word);
        let (_, group) = group.ok_or_else(|| {
            ScenarioError::at(
                &item.place,
                format!(
                    "`trace` is {}, which is not a known group of events{}",
                    item.describe(),
                    hint(&word, &known)
                ),
            )
        })?;
        mask.0 |= group.0;
    }
    Ok(mask)
}

/// One run for each stack that no workload names; a single run with `mix`, or when every workload names its
/// stack.
fn runs(reader: &Reader<'_>, stacks: &[StackPlan], workloads: &[WorkloadPlan]) -> Result<Vec<RunPlan>> {
    let named = |i: usize| workloads.iter().any(|w| w.stack == Some(i));
    let (named, compared): (Vec<usize>, Vec<usize>) = (0..stacks.len()).partition(|i| named(*i));
    let Some(item) = reader.get("mix") else {
        let without = workloads.iter().find(|w| w.stack.is_none() && !matches!(w.body, Body::Udp { .. }));
        return match (without, compared.first()) {
            (Some(w), None) => {
                let message = format!(
                    "no stack is left for workload `{}`: give it a `stack`, or add one to `[stacks]` that no \
                     workload names",
                    w.name
                );
                Err(ScenarioError::at(reader.place(), message))
            }
            (None, Some(i)) if !named.is_empty() => {
                let message = format!(
                    "`stacks.{}` is used by no workload: each names its own `stack`",
                    text::key(&stacks[*i].label)
                );
                Err(ScenarioError::at(reader.place(), message))
            }
            (None, None) => Ok(vec![RunPlan { label: "all".to_owned(), shares: Vec::new(), named }]),
            _ => {
                let run = |i: usize| RunPlan {
                    label: stacks[i].label.clone(),
                    shares: vec![(i, 1.0)],
                    named: named.clone(),
                };
                Ok(compared.into_iter().map(run).collect())
            }
        };
    };
    let mix = Reader::new(item, "mix")?;
    const SHARE: Param = Param::ratio("share", 1.0, 0.0..=1.0, "share of the flows");
    let known: Vec<&str> = stacks.iter().map(|s| s.label.as_str()).collect();
    let mut shares = Vec::new();
    for (name, item) in mix.entries() {
        let i = stacks.iter().position(|s| s.label == *name);
        let i = i.ok_or_else(|| {
            ScenarioError::at(
                &item.place,
                format!("`mix.{name}` is not one of `[stacks]`{}", hint(name, &known)),
            )
        })?;
        let text = item.scalar();
        let value = text.as_deref().map(|t| SHARE.parse(t));
        match value {
            Some(Ok(Value::Ratio(share))) => shares.push((i, share)),
            _ => {
                let message =
                    format!("`mix.{name}` is {}, which is not a share between 0 and 1", item.describe());
                return Err(ScenarioError::at(&item.place, message));
            }
        }
    }
    let sum: f64 = shares.iter().map(|(_, share)| share).sum();
    if (sum - 1.0).abs() > 1e-9 {
        return Err(ScenarioError::at(
            &item.place,
            format!("the shares in `mix` add up to {}, but they must add up to 1", (sum * 1e9).round() / 1e9),
        ));
    }
    let named = named.into_iter().filter(|i| shares.iter().all(|(j, _)| i != j)).collect();
    Ok(vec![RunPlan { label: "mix".to_owned(), shares, named }])
}
