//! Stacks of a scenario: a preset by name, with overrides, expanded to its options and policies.

use std::fmt::Write as _;
use std::sync::Arc;

use ackclock_engine::{Config, Policies, Stack, StackError};
use ackclock_policy::{Registry, RegistryError};
use ackclock_units::Bytes;

use super::error::{Result, ScenarioError};
use super::kernel::{KernelPlan, NODELAY};
use super::reader::{Reader, check_name, refused};
use super::text;
use super::tree::{Item, Node};
use crate::flow::StackFactory;

/// Largest number of stacks of a scenario.
const MOST_STACKS: usize = 1000;
/// Preset of a table without `preset`.
const DEFAULT: &str = "sack";

/// A stack with all defaults filled in.
#[derive(Clone, PartialEq, Debug)]
pub struct StackPlan {
    /// Its label in results.
    pub label: String,
    /// Its policies and options.
    pub stack: Stack,
    /// The kernel's TCP that the testbed runs in its place, where the scenario names one.
    pub kernel: Option<KernelPlan>,
}

/// Reads `[stacks]`. Each entry is the name of a preset, or a table with a `preset` and overrides.
/// `syn_retries` applies to all of them.
pub(super) fn read_all(
    item: &Item,
    syn_retries: Option<&Item>,
    registry: &Registry,
) -> Result<Vec<StackPlan>> {
    let reader = Reader::new(item, "stacks")?;
    let n = reader.entries().len();
    if n == 0 || n > MOST_STACKS {
        let message = format!(
            "`stacks` has {n} entries; 1 to {MOST_STACKS} are allowed, each a name for a preset such as \
             `tcp = \"sack\"`"
        );
        return Err(ScenarioError::at(reader.place(), message));
    }
    reader.entries().iter().map(|(label, item)| read(label, item, syn_retries, registry)).collect()
}

fn read(label: &str, item: &Item, syn_retries: Option<&Item>, registry: &Registry) -> Result<StackPlan> {
    if label.is_empty() {
        return Err(ScenarioError::at(&item.place, "`stacks` has an entry without a name"));
    }
    check_name("stacks", label, &item.place)?;
    let key = format!("stacks.{}", text::key(label));
    let named = |name: &str, key: &str, item: &Item| {
        Stack::named(registry, name)
            .map_err(|e| ScenarioError::at(&item.place, format!("`{key}` is `{name}`: {e}")))
    };
    let kernel = match &item.node {
        Node::Table(entries) => entries.iter().find(|(k, _)| k == "kernel"),
        _ => None,
    };
    let kernel = kernel.map(|(_, item)| KernelPlan::read(item, &format!("{key}.kernel"))).transpose()?;
    let mut stack = match &item.node {
        Node::Text(name) => named(name, &key, item)?,
        Node::Table(entries) => match (entries.iter().find(|(k, _)| k == "preset"), &kernel) {
            (Some((_, preset)), _) => {
                named(&preset.scalar().unwrap_or_default(), &format!("{key}.preset"), preset)?
            }
            (None, None) => named(DEFAULT, &key, item)?,
            (None, Some(kernel)) => match kernel.twin(registry) {
                Some(twin) => twin,
                // It says what its twin is, policy by policy.
                None if entries.len() > 1 => named(DEFAULT, &key, item)?,
                None => {
                    let message = format!(
                        "`{key}.kernel.cc` is `{}`, which nothing here is like: expected cubic, reno, bbr or the \
                         name of a window, or a `preset` beside it that is simulated in its place",
                        kernel.cc
                    );
                    return Err(ScenarioError::at(&item.place, message));
                }
            },
        },
        _ => {
            let message = format!(
                "`{key}` is {}, which is neither a preset such as `\"sack+star(3)\"` nor a table with a \
                 `preset` and overrides",
                item.describe()
            );
            return Err(ScenarioError::at(&item.place, message));
        }
    };
    if let Some(item) = syn_retries {
        set(&mut stack, "syn_retries", "", item)?;
    }
    let label = label.to_owned();
    let Node::Table(entries) = &item.node else { return Ok(StackPlan { label, stack, kernel }) };
    for (name, item) in entries.iter().filter(|(k, _)| k != "preset" && k != "kernel") {
        match &item.node {
            Node::Table(inner) if is_kind(name) => policy(&mut stack, name, &key, inner)?,
            _ => set(&mut stack, name, &key, item)?,
        }
    }
    Ok(StackPlan { label, stack, kernel })
}

/// Sets a policy from a table. Without `kind`, the policy of the preset is kept.
fn policy(stack: &mut Stack, name: &str, key: &str, entries: &[(String, Item)]) -> Result<()> {
    if let Some((_, item)) = entries.iter().find(|(k, _)| k == "kind") {
        set(stack, name, key, item)?;
    }
    entries
        .iter()
        .filter(|(k, _)| k != "kind")
        .try_for_each(|(param, item)| set(stack, &format!("{name}.{param}"), key, item))
}

fn set(stack: &mut Stack, name: &str, key: &str, item: &Item) -> Result<()> {
    let full = if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    let Some(text) = item.scalar() else {
        return Err(ScenarioError::at(
            &item.place,
            format!("`{full}` is {}, but it must be a single value", item.describe()),
        ));
    };
    stack.set(name, &text).map_err(|e| match e {
        StackError::Registry(RegistryError::Param(e)) => refused(&full, &item.place, &e),
        StackError::UnknownKey { nearest, .. } => {
            let hint = nearest.map_or(String::new(), |n| format!(" (did you mean `{n}`?)"));
            ScenarioError::at(
                &item.place,
                format!(
                    "`{full}` is not a known key{hint}; expected one of preset, kernel, {}, or an option of the connection",
                    Stack::kinds().collect::<Vec<_>>().join(", ")
                ),
            )
        }
        e => ScenarioError::at(&item.place, format!("`{full}`: {e}")),
    })
}

impl StackPlan {
    /// The send buffer, bytes.
    pub(super) fn snd_buf(&self) -> Bytes {
        self.factory().config().snd_buf
    }

    /// Largest segment, bytes of payload.
    pub fn mss(&self) -> Bytes {
        self.stack.config().mss.into()
    }

    /// The kernel's TCP that the testbed runs in its place: the one that the scenario names, or Linux's with
    /// a preset that is like it; `None` for any other stack. A stack without Nagle's rule has the option for
    /// that, unless the scenario sets it.
    pub fn kernel(&self) -> Option<KernelPlan> {
        let mut kernel =
            self.kernel.clone().or_else(|| KernelPlan::implied(&self.stack, &Registry::builtin()))?;
        if !self.stack.config().nagle && !kernel.options.iter().any(|(name, _)| name == NODELAY) {
            kernel.options.push((NODELAY.to_owned(), 1));
        }
        Some(kernel)
    }

    /// Retransmissions of a SYN or SYN-ACK before a connection is given up; `None` for the usual ones.
    pub fn syn_retries(&self) -> Option<u32> {
        let retries = self.stack.config().syn_retries;
        (retries != Config::default().syn_retries).then_some(retries)
    }

    /// True where its hosts negotiate ECN (RFC 3168).
    pub fn ecn(&self) -> bool {
        self.stack.config().ecn
    }

    /// The factory of its endpoints.
    pub fn factory(&self) -> Arc<dyn StackFactory> {
        Arc::new(Factory {
            label: self.label.as_str().into(),
            config: Arc::new(self.stack.config()),
            stack: self.stack.clone(),
        })
    }

    /// Writes one table of `[stacks]`, every policy with all of its parameters.
    pub(super) fn write(&self, out: &mut String) {
        let _ = writeln!(out, "\n[stacks.{}]", text::key(&self.label));
        let entries = self.stack.entries();
        for kind in Stack::kinds() {
            let own = entries.iter().filter_map(|(key, text)| match key.strip_prefix(kind)? {
                "" => Some(("kind", text)),
                param => Some((param.strip_prefix('.')?, text)),
            });
            let fields: Vec<_> = own.map(|(key, text)| format!("{key} = {}", text::literal(text))).collect();
            let _ = writeln!(out, "{kind} = {{ {} }}", fields.join(", "));
        }
        let options = entries.iter().filter(|(key, _)| !key.contains('.') && !is_kind(key));
        for (key, text) in options {
            let _ = writeln!(out, "{key} = {}", text::literal(text));
        }
        if let Some(kernel) = &self.kernel {
            kernel.write(out);
        }
    }
}

/// True for the name of a kind of policy in a stack.
fn is_kind(name: &str) -> bool {
    Stack::kinds().any(|kind| kind == name)
}

#[derive(Debug)]
struct Factory {
    label: Arc<str>,
    config: Arc<Config>,
    stack: Stack,
}

impl StackFactory for Factory {
    fn label(&self) -> Arc<str> {
        Arc::clone(&self.label)
    }

    fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config)
    }

    fn policies(&self) -> Policies {
        self.stack.build()
    }
}
