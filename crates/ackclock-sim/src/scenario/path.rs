//! Paths of a scenario: single link, dumbbell, chain, graph.

use ackclock_policy::{Param, Value, nearest};
use ackclock_units::{Duration, Rate};

use super::edges::{self, Edge};
use super::error::{Place, Result, ScenarioError};
use super::link::{DELAY, LinkContext, LinkPlan, MOST_LINKS};
use super::reader::{Reader, check_name, hint};
use super::rtt::RttPlan;
use super::tree::{Item, Node};

/// Largest number of nodes of a scenario.
const MOST_NODES: usize = 100_000;
const KINDS: &[&str] = &["single", "dumbbell", "chain", "graph"];
const HOPS: Param = Param::count("hops", 3, 1..=1000, "number of links in a row, each behind a gateway");
/// A path with all defaults filled in.
#[derive(Clone, PartialEq, Debug)]
pub struct PathPlan {
    /// `single`, `dumbbell`, `chain` or `graph`.
    pub kind: &'static str,
    /// Its links, in the order in which they are numbered.
    pub edges: Vec<Edge>,
    /// Nodes in the order in which they are numbered.
    pub nodes: Vec<String>,
    /// Round-trip times of flows whose workload has none.
    pub rtt: RttPlan,
    /// Default node of data senders.
    pub sender: String,
    /// Default node of data receivers.
    pub receiver: String,
}

impl PathPlan {
    /// Reads `[path]`.
    pub(super) fn read(item: &Item, ctx: &LinkContext<'_>) -> Result<Self> {
        let reader = Reader::new(item, "path")?;
        let word = reader.text("kind")?;
        let (kind, place) = word.map_or(("dumbbell", reader.place()), |(kind, item)| (kind, &item.place));
        let rtt = RttPlan::read(&reader)?;
        let plan = match kind {
            "single" => Self::pair(&reader, ctx, rtt, "single", "link"),
            "dumbbell" => Self::pair(&reader, ctx, rtt, "dumbbell", "bottleneck"),
            "chain" => Self::chain(&reader, ctx, rtt),
            "graph" => Self::graph(&reader, ctx, rtt),
            _ => Err(ScenarioError::at(
                place,
                format!("`path.kind` is `{kind}`, which is not a known kind of path{}", hint(kind, KINDS)),
            )),
        }?;
        reader.finish()?;
        let names = plan.nodes.iter().chain(plan.edges.iter().map(|e| &e.name));
        names.clone().try_for_each(|name| check_name("path", name, reader.place()))?;
        Ok(plan)
    }

    /// A link and its way back, optionally with pools of hosts behind access links.
    fn pair(
        reader: &Reader<'_>,
        ctx: &LinkContext<'_>,
        rtt: Option<RttPlan>,
        kind: &'static str,
        word: &'static str,
    ) -> Result<Self> {
        let item = reader.require(word, "a table such as `{ rate = \"10Mbit/s\" }`")?;
        let (left, right) = if kind == "single" { ("sender", "receiver") } else { ("left", "right") };
        // The delays are read first, since a queue may be given in bandwidth-delay products.
        let delay = peek_delay(item, &reader.key(word))?;
        let back_delay =
            reader.get("back").map(|i| peek_delay(i, "path.back")).transpose()?.flatten().or(delay);
        let links = delay.unwrap_or_default() + back_delay.unwrap_or_default();
        let access = (kind == "dumbbell").then(|| reader.get("access")).flatten();
        let access_delay =
            access.map(|i| peek_delay(i, "path.access")).transpose()?.flatten().unwrap_or_default() * 4;
        let rtt = match rtt {
            Some(rtt) => rtt,
            None if (links + access_delay).is_zero() => {
                reader.require(
                    "rtt",
                    "a time such as `100ms`, `{ uniform = [\"10ms\", \"200ms\"] }` or a list of times",
                )?;
                RttPlan::Links
            }
            None => RttPlan::Links,
        };
        let ctx = LinkContext { rtt: Some(rtt.mean().unwrap_or(links + access_delay)), ..*ctx };
        let there = ctx.link(item, &reader.key(word), None, true)?;
        let back = match reader.get("back") {
            Some(item) => ctx.link(item, "path.back", Some(&there), true)?,
            None => there.way_back(),
        };
        let edge = |name: &str, from: &str, to: &str, link: &LinkPlan, back: &LinkPlan| Edge {
            name: name.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            link: link.clone(),
            back: Some(back.clone()),
        };
        let name = if kind == "single" { "link" } else { "bottleneck" };
        let mut edges = vec![edge(name, left, right, &there, &back)];
        let (mut sender, mut receiver) = (left, right);
        if let Some(item) = access {
            let link = ctx.link(item, "path.access", None, false)?;
            (sender, receiver) = ("senders", "receivers");
            edges.push(edge("access-left", sender, left, &link, &link));
            edges.push(edge("access-right", right, receiver, &link, &link));
        }
        Ok(Self::of(kind, edges, rtt, sender, receiver))
    }

    /// A row of gateways.
    fn chain(reader: &Reader<'_>, ctx: &LinkContext<'_>, rtt: Option<RttPlan>) -> Result<Self> {
        let items = match reader.get("links") {
            Some(Item { node: Node::List(items), .. }) if !items.is_empty() && items.len() <= 1000 => {
                items.iter().collect::<Vec<_>>()
            }
            Some(item) => {
                return Err(ScenarioError::at(
                    &item.place,
                    "`path.links` is not a list of 1 to 1000 tables such as `{ rate = \"10Mbit/s\" }`",
                ));
            }
            None => {
                let item = reader.require(
                    "link",
                    "a table such as `{ rate = \"10Mbit/s\", delay = \"5ms\" }`, or `links`, a list of them",
                )?;
                let Some(Value::Count(hops)) = reader.param(&HOPS)?.or(Some(HOPS.default)) else {
                    unreachable!("declared as a count")
                };
                vec![item; hops as usize]
            }
        };
        let mut links = Duration::ZERO;
        for item in &items {
            links += peek_delay(item, "path.link")?.unwrap_or_default() * 2;
        }
        let rtt = rtt.unwrap_or(RttPlan::Links);
        let ctx = LinkContext { rtt: Some(rtt.mean().unwrap_or(links)), ..*ctx };
        let mut edges = Vec::new();
        for (n, item) in (1..).zip(items) {
            let inner = Reader::new(item, "path.link")?;
            let link = ctx.fields(&inner, None, true)?;
            let back = match inner.get("back") {
                Some(item) => ctx.link(item, "path.link.back", Some(&link), true)?,
                None => link.way_back(),
            };
            inner.finish()?;
            edges.push(Edge {
                name: format!("hop{n}"),
                from: format!("g{}", n - 1),
                to: format!("g{n}"),
                link,
                back: Some(back),
            });
        }
        let last = format!("g{}", edges.len());
        Ok(Self::of("chain", edges, rtt, "g0", &last))
    }

    /// Arbitrary nodes and edges.
    fn graph(reader: &Reader<'_>, ctx: &LinkContext<'_>, rtt: Option<RttPlan>) -> Result<Self> {
        let ctx = LinkContext { rtt: rtt.as_ref().and_then(RttPlan::mean), ..*ctx };
        let mut edges = match (reader.get("edges"), reader.text("edges_file")?) {
            (Some(Item { node: Node::List(items), .. }), None) => edges::from_list(items, &ctx)?,
            (None, Some((name, item))) => {
                let like = match reader.get("link") {
                    Some(item) => ctx.link(item, "path.link", None, false)?,
                    None => LinkPlan::pure_delay(Duration::ZERO),
                };
                let text = ctx.files.read(name).map_err(|e| {
                    ScenarioError::at(&item.place, format!("`path.edges_file` is `{name}`, which {e}"))
                })?;
                edges::from_text(&text, name, &like, &ctx)?
            }
            (Some(item), Some(_)) => {
                return Err(ScenarioError::at(
                    &item.place,
                    "`path.edges` and `path.edges_file` are both given: give one of them",
                ));
            }
            (Some(item), None) => {
                return Err(ScenarioError::at(
                    &item.place,
                    format!("`path.edges` is {}, which is not a list of tables", item.describe()),
                ));
            }
            (None, None) => {
                reader.require(
                    "edges",
                    "a list of tables such as `{ from = \"a\", to = \"b\", rate = \"10Mbit/s\", delay = \
                     \"5ms\" }`, or `edges_file`",
                )?;
                Vec::new()
            }
        };
        if edges.is_empty() || edges.len() > MOST_LINKS {
            return Err(ScenarioError::at(
                reader.place(),
                format!("`path` has {} edges; 1 to {MOST_LINKS} are allowed", edges.len()),
            ));
        }
        for (n, edge) in (1..).zip(&mut edges) {
            if edge.name.is_empty() {
                edge.name = format!("edge{n}");
            }
        }
        let mut plan = Self::of("graph", edges, rtt.unwrap_or(RttPlan::Links), "", "");
        if let Some(items) = reader.list("nodes") {
            let names = items
                .iter()
                .map(|i| {
                    i.scalar()
                        .ok_or_else(|| ScenarioError::at(&i.place, "`path.nodes` is not a list of names"))
                })
                .collect::<Result<Vec<_>>>()?;
            let unlinked =
                plan.edges.iter().zip(1..).find_map(|(e, n)| {
                    Some((n, [&e.from, &e.to].into_iter().find(|end| !names.contains(end))?))
                });
            if let Some((n, name)) = unlinked {
                // Errors must not quote the file: an untrusted scenario may have named it.
                let message = if reader.get("edges").is_none() {
                    format!("edge {n} of `path.edges_file` names a node that is not one of `path.nodes`")
                } else {
                    format!(
                        "`path.edges` names the node `{name}`, which is not one of `path.nodes`{}",
                        hint(name, &names)
                    )
                };
                return Err(ScenarioError::at(reader.place(), message));
            }
            plan.nodes = names;
        }
        if plan.nodes.len() > MOST_NODES {
            return Err(ScenarioError::at(
                reader.place(),
                format!("`path` has {} nodes; at most {MOST_NODES} are allowed", plan.nodes.len()),
            ));
        }
        (plan.sender, plan.receiver) = (plan.nodes[0].clone(), plan.nodes[plan.nodes.len() - 1].clone());
        Ok(plan)
    }

    fn of(kind: &'static str, edges: Vec<Edge>, rtt: RttPlan, sender: &str, receiver: &str) -> Self {
        let mut nodes: Vec<String> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for name in edges.iter().flat_map(|e| [&e.from, &e.to]) {
            if seen.insert(name.clone()) {
                nodes.push(name.clone());
            }
        }
        Self { kind, edges, nodes, rtt, sender: sender.to_owned(), receiver: receiver.to_owned() }
    }

    /// Fails for a node that the path does not have.
    pub(super) fn check_node(&self, name: &str, key: &str, place: &Place) -> Result<()> {
        if self.nodes.iter().any(|n| n == name) {
            return Ok(());
        }
        let shown: Vec<&str> = self.nodes.iter().map(String::as_str).take(20).collect();
        let near = nearest(name, self.nodes.iter().map(String::as_str))
            .map_or(String::new(), |n| format!(" (did you mean `{n}`?)"));
        Err(ScenarioError::at(
            place,
            format!(
                "`{key}` is `{name}`, which is not a node of the path{near}; nodes are {}",
                shown.join(", ")
            ),
        ))
    }

    /// Every one-way link with its name and its ends, in the order of the network's numbering.
    pub fn links(&self) -> impl Iterator<Item = (String, &str, &str, &LinkPlan)> {
        self.edges.iter().flat_map(|e| {
            let there = Some((e.name.clone(), e.from.as_str(), e.to.as_str(), &e.link));
            let back =
                e.back.as_ref().map(|b| (format!("{}.back", e.name), e.to.as_str(), e.from.as_str(), b));
            there.into_iter().chain(back)
        })
    }

    /// The rate of the slowest link: the reference of an offered load when the workload's own path has no
    /// rate.
    pub fn slowest(&self) -> Option<Rate> {
        self.links().filter_map(|(_, _, _, l)| l.capacity()).min()
    }
}

/// Reads only the delay of a link's table.
fn peek_delay(item: &Item, key: &str) -> Result<Option<Duration>> {
    let reader = Reader::new(item, key)?;
    Ok(match reader.param(&DELAY)? {
        Some(Value::Duration(d)) => Some(d),
        _ => None,
    })
}
