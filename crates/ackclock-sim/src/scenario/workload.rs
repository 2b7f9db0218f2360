//! Workloads of a scenario.

use ackclock_policy::{Application, Chosen, Params, RateControl, Registry, Value, introduce};
use ackclock_units::Duration;

use super::error::{Place, Result, ScenarioError};
use super::files::Files;
use super::log::{self, LogClass, LogPlan};
use super::path::PathPlan;
use super::reader::{Reader, check_name, hint};
use super::rtt::RttPlan;
use super::stack::StackPlan;
use super::tree::{Item, Node};
use super::web::WebPlan;
use crate::workload::OnOff;
use crate::workload::declare;

/// The content of a workload.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// Random arrivals of transfers.
    Web(WebPlan),
    /// Transfers from a log.
    Log(LogPlan),
    /// Flows that run an application each.
    Flows {
        /// `flows`, `start`, `stagger` and `spread`.
        params: Params,
        /// The client's application.
        app: Chosen<dyn Application>,
        /// The server's application.
        peer: Chosen<dyn Application>,
    },
    /// Datagrams.
    Udp {
        /// Its declared keys.
        params: Params,
        /// The bursts, for datagrams in bursts.
        on_off: Option<OnOff>,
        /// The rate control, for datagrams paced by one.
        control: Option<Chosen<dyn RateControl>>,
    },
}

/// A workload with all defaults filled in.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkloadPlan {
    /// Its name: the group of its flows in results, and the name of its random streams.
    pub name: String,
    /// Its kind, as scenarios name it.
    pub kind: String,
    /// Nodes that open connections or send datagrams; one is chosen for each flow.
    pub clients: Vec<String>,
    /// Nodes at the other end.
    pub servers: Vec<String>,
    /// Round-trip times.
    pub rtt: RttPlan,
    /// Position in `Resolved::stacks` of the stack that its flows use in every run; `None` for the stacks
    /// under comparison.
    pub stack: Option<usize>,
    /// What its flows do.
    pub body: Body,
}

pub(super) struct WorkloadContext<'a> {
    pub(super) registry: &'a Registry,
    pub(super) path: &'a PathPlan,
    pub(super) stacks: &'a [StackPlan],
    pub(super) files: &'a Files,
}

impl WorkloadContext<'_> {
    /// Reads `[workload]` or each `[[workload]]`.
    pub(super) fn read_all(&self, items: &[Item]) -> Result<Vec<WorkloadPlan>> {
        let mut plans: Vec<WorkloadPlan> = Vec::new();
        for item in items {
            let reader = Reader::new(item, "workload")?;
            let per_hop = matches!(reader.get("per_hop"), Some(Item { node: Node::Flag(true), .. }));
            if per_hop && self.path.kind != "chain" {
                let message = format!(
                    "`workload.per_hop` is for paths of kind `chain`, and this one is `{}`",
                    self.path.kind
                );
                return Err(ScenarioError::at(reader.place(), message));
            }
            let read = self.read(&reader)?;
            let expanded =
                if per_hop { read.iter().flat_map(|plan| self.one_per_hop(plan)).collect() } else { read };
            for plan in expanded {
                if plans.iter().any(|p| p.name == plan.name) {
                    let message =
                        format!("two workloads are named `{}`: give each its own `name`", plan.name);
                    return Err(ScenarioError::at(reader.place(), message));
                }
                plans.push(plan);
            }
        }
        Ok(plans)
    }

    /// Copies of the workload, one over each link of a chain, in the same direction.
    fn one_per_hop(&self, plan: &WorkloadPlan) -> Vec<WorkloadPlan> {
        let forward = plan.clients != [self.path.receiver.clone()];
        let hop = |edge: &super::edges::Edge| {
            let (client, server) = if forward { (&edge.from, &edge.to) } else { (&edge.to, &edge.from) };
            let name = format!("{}-{}", plan.name, edge.name);
            WorkloadPlan {
                name,
                clients: vec![client.clone()],
                servers: vec![server.clone()],
                ..plan.clone()
            }
        };
        self.path.edges.iter().map(hop).collect()
    }

    fn read(&self, reader: &Reader<'_>) -> Result<Vec<WorkloadPlan>> {
        let mut known = vec!["web", "log", "udp", "udp-on-off", "udp-rate"];
        known.extend(self.registry.declarations().iter().filter(|d| d.kind == "application").map(|d| d.name));
        let (kind, item) = reader.text("kind")?.ok_or_else(|| {
            ScenarioError::at(
                reader.place(),
                format!("`workload.kind` is missing: give one of {}", known.join(", ")),
            )
        })?;
        let mut classes = Vec::new();
        let body = match kind {
            "web" => Body::Web(WebPlan::read(reader, self.files)?),
            "log" => {
                classes = log::read(reader, self.files)?;
                Body::Log(classes.first().map(|c| c.plan.clone()).unwrap_or_default())
            }
            "udp" => Body::Udp { params: reader.params(declare::UDP.params)?, on_off: None, control: None },
            "udp-rate" => Body::Udp {
                params: reader.params(declare::UDP_RATE.params)?,
                on_off: None,
                control: Some(self.control(reader)?),
            },
            "udp-on-off" => {
                let params = reader.params(declare::UDP_ON_OFF.params)?;
                Body::Udp { on_off: Some(OnOff::from_params(&params)), params, control: None }
            }
            _ => {
                let unknown = |_| {
                    ScenarioError::at(
                        &item.place,
                        format!(
                            "`workload.kind` is `{kind}`, which is not a known workload{}",
                            hint(kind, &known)
                        ),
                    )
                };
                self.flows(reader, self.registry.choose(kind).map_err(unknown)?)?
            }
        };
        // The data sender is by default at the sender's side of the path.
        let (client, server) = match body {
            Body::Web(_) | Body::Log(_) => (&self.path.receiver, &self.path.sender),
            Body::Flows { ref app, .. } if makes_requests(app) => (&self.path.receiver, &self.path.sender),
            _ => (&self.path.sender, &self.path.receiver),
        };
        let clients = self.nodes(reader, "client", client)?;
        let servers = self.nodes(reader, "server", server)?;
        let name = reader.text("name")?.map_or(kind, |(name, _)| name).to_owned();
        check_name(&reader.key("name"), &name, reader.place())?;
        let rtt = RttPlan::read(reader)?.unwrap_or_else(|| self.path.rtt.clone());
        // Datagrams have no stack.
        let stack = if matches!(body, Body::Udp { .. }) { None } else { self.stack(reader)? };
        reader.finish()?;
        let plan = WorkloadPlan { name, kind: kind.to_owned(), clients, servers, rtt, stack, body };
        if classes.is_empty() { Ok(vec![plan]) } else { self.one_per_class(&plan, classes) }
    }

    /// Copies of a workload of kind `log`, one for each class and stack of its transfers. A class without a
    /// name has that of the workload; where it has several stacks, the name of the stack is added.
    fn one_per_class(&self, plan: &WorkloadPlan, classes: Vec<LogClass>) -> Result<Vec<WorkloadPlan>> {
        let base = |class: &LogClass| class.class.clone().unwrap_or_else(|| plan.name.clone());
        let names: Vec<String> = classes.iter().map(base).collect();
        let several = |name: &String| names.iter().filter(|n| *n == name).count() > 1;
        let one = |(class, name): (LogClass, &String)| {
            let stack = match &class.stack {
                None => plan.stack,
                Some(stack) => {
                    let (line, column) = class.place;
                    let found = self.stacks.iter().position(|s| s.label == *stack);
                    // The error does not quote the file, which an untrusted scenario may have named.
                    Some(found.ok_or_else(|| {
                        let known: Vec<_> = self.stacks.iter().map(|s| s.label.as_str()).collect();
                        let message = format!(
                            "column {column}: `stack` is not one of `[stacks]`: {}",
                            known.join(", ")
                        );
                        ScenarioError::at(&Place::Line(line as usize), message)
                            .in_file(class.file.as_deref().unwrap_or_default())
                    })?)
                }
            };
            let name = match &class.stack {
                Some(stack) if several(name) => format!("{name}-{stack}"),
                _ => name.clone(),
            };
            Ok(WorkloadPlan { name, stack, body: Body::Log(class.plan), ..plan.clone() })
        };
        classes.into_iter().zip(&names).map(one).collect()
    }

    fn stack(&self, reader: &Reader<'_>) -> Result<Option<usize>> {
        let Some((name, item)) = reader.text("stack")? else { return Ok(None) };
        let known: Vec<&str> = self.stacks.iter().map(|s| s.label.as_str()).collect();
        let found = known.iter().position(|label| *label == name);
        let missing = || {
            ScenarioError::at(
                &item.place,
                format!("`workload.stack` is `{name}`, which is not one of `[stacks]`{}", hint(name, &known)),
            )
        };
        found.map(Some).ok_or_else(missing)
    }

    fn nodes(&self, reader: &Reader<'_>, key: &str, default: &str) -> Result<Vec<String>> {
        let Some(items) = reader.list(key) else { return Ok(vec![default.to_owned()]) };
        if items.is_empty() {
            return Err(ScenarioError::at(
                reader.place(),
                format!("`{}` is an empty list: give at least one node", reader.key(key)),
            ));
        }
        let name = |item: &Item| {
            let name = item.scalar().ok_or_else(|| {
                ScenarioError::at(
                    &item.place,
                    format!("`{}` is {}, which is not a node", reader.key(key), item.describe()),
                )
            })?;
            self.path.check_node(&name, &reader.key(key), &item.place)?;
            Ok(name)
        };
        items.iter().map(name).collect()
    }

    fn flows(&self, reader: &Reader<'_>, mut app: Chosen<dyn Application>) -> Result<Body> {
        let params = reader.params(declare::FLOWS)?;
        set_params(reader, &mut app)?;
        let default = match &app {
            app if makes_requests(app) => "serve",
            app if app.name() == "request" => "respond",
            _ => "sink",
        };
        let word = reader.text("peer")?;
        let peer_name = word.map_or(default, |(name, _)| name);
        let place = word.map_or(reader.place(), |(_, item)| &item.place);
        let mut peer = self
            .registry
            .choose::<dyn Application>(peer_name)
            .map_err(|e| ScenarioError::at(place, format!("`workload.peer`: {e}")))?;
        set_params(reader, &mut peer)?;
        if !introduce(&*app.build(), &mut *peer.build()) {
            let message = format!(
                "`workload.peer` is `{peer_name}`, which does not respond to the requests of `{}`: give one \
                 that does, such as `serve`",
                app.name()
            );
            return Err(ScenarioError::at(place, message));
        }
        check_stop(reader, &params, &app)?;
        Ok(Body::Flows { params, app, peer })
    }

    /// Reads the rate control of datagrams: a word, or a table with its parameters.
    fn control(&self, reader: &Reader<'_>) -> Result<Chosen<dyn RateControl>> {
        let choose = |kind: &str, place: &_| {
            let unknown = |e| ScenarioError::at(place, format!("`{}`: {e}", reader.key("control")));
            self.registry.choose::<dyn RateControl>(kind).map_err(unknown)
        };
        let Some(item) = reader.get("control") else { return choose("additive", reader.place()) };
        let (inner, word) = Reader::or_kind(item, &reader.key("control"))?;
        let (kind, place) = match word {
            Some(word) => (word, &item.place),
            None => {
                inner.text("kind")?.map_or(("additive", inner.place()), |(kind, item)| (kind, &item.place))
            }
        };
        let mut control = choose(kind, place)?;
        for param in control.entry().params {
            if let Some(value) = inner.param(param)? {
                control
                    .set_value(param.name, value)
                    .map_err(|e| ScenarioError::at(inner.place(), e.to_string()))?;
            }
        }
        inner.finish()?;
        Ok(control)
    }
}

/// Refuses flows that would begin after the application's `stop`.
fn check_stop(reader: &Reader<'_>, params: &Params, app: &Chosen<dyn Application>) -> Result<()> {
    let stop = app.params().iter().find_map(|(name, value)| match value {
        Value::Duration(stop) if name == "stop" => Some(stop),
        _ => None,
    });
    let (Some(stop), Some((_, item))) = (stop, reader.entries().iter().find(|(key, _)| key == "stop")) else {
        return Ok(());
    };
    let others = params.count("flows").saturating_sub(1);
    let last = params.duration("start") + params.duration("stagger") * others + params.duration("spread");
    if stop > last {
        return Ok(());
    }
    let message = format!(
        "`workload.stop` is `{stop}`, which is not after the start of the last flow, which may be at `{last}`"
    );
    Err(ScenarioError::at(&item.place, message))
}

/// True for an application whose requests say what the server is to send: then the server sends the data.
pub(super) fn makes_requests(app: &Chosen<dyn Application>) -> bool {
    app.build().requests().is_some()
}

fn set_params(reader: &Reader<'_>, app: &mut Chosen<dyn Application>) -> Result<()> {
    for param in app.entry().params {
        if let Some(value) = reader.param(param)? {
            app.set_value(param.name, value).map_err(|e| ScenarioError::at(reader.place(), e.to_string()))?;
        }
    }
    Ok(())
}

impl WorkloadPlan {
    /// Estimated number of flows started within `duration`.
    pub(super) fn expected_flows(&self, duration: Duration) -> f64 {
        match &self.body {
            Body::Web(web) => {
                let until = web.params.duration("stop").min(duration);
                web.params.ratio("arrival_rate")
                    * until.saturating_sub(web.params.duration("start")).as_secs_f64()
            }
            Body::Log(log) => log.rows.partition_point(|row| row.at < duration) as f64,
            Body::Flows { params, .. } if params.count("per_server") > 0 => {
                params.count("per_server") as f64 * self.servers.len() as f64
            }
            Body::Flows { params, .. } | Body::Udp { params, .. } => params.count("flows") as f64,
        }
    }
}
