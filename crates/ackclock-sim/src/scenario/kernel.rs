//! The kernel's TCP that a stack stands for: the testbed runs it, while the simulator runs the stack's policies,
//! its twin.

use std::fmt::Write as _;

use ackclock_engine::Stack;
use ackclock_policy::{Param, Registry, Value};
use ackclock_units::Duration;

use super::error::{Place, Result, ScenarioError};
use super::reader::Reader;
use super::text;
use super::tree::{Item, Node};

/// A kernel's TCP with its settings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KernelPlan {
    /// The congestion control, by the kernel's name.
    pub cc: String,
    /// Kernel parameters, as `net.ipv4.tcp_recovery`, with their values.
    pub sysctl: Vec<(String, String)>,
    /// Integer options of its sockets, as `TCP_NODELAY`, with their values.
    pub options: Vec<(String, i32)>,
    /// The smallest retransmission timeout of its routes.
    pub rto_min: Option<Duration>,
}

/// Congestion controls of Linux and the presets that are the rest of its TCP with each.
const TWINS: &[(&str, &str)] = &[("cubic", "linux"), ("reno", "linux-reno"), ("bbr", "linux-bbr")];
/// Options of a twin that the kernel in its place takes over ([`super::StackPlan::kernel`]).
const CARRIED: &[&str] = &["nagle", "syn_retries"];
/// The option of a socket that sends small segments at once.
pub(super) const NODELAY: &str = "TCP_NODELAY";
/// The longest name of a congestion control (`TCP_CA_NAME_MAX` of Linux, less the end of the string).
const LONGEST_CC: usize = 15;
/// Most parameters, and most options.
const MOST: usize = 64;
/// The longest value of a kernel parameter, bytes.
const LONGEST_VALUE: usize = 200;
const RTO_MIN: Param = Param::duration(
    "rto_min",
    Duration::from_millis(200),
    Duration::from_millis(1)..=Duration::from_secs(120),
    "the smallest retransmission timeout of its routes",
);

impl KernelPlan {
    /// Reads `stacks.NAME.kernel`. `key` is its key.
    pub(super) fn read(item: &Item, key: &str) -> Result<Self> {
        let reader = Reader::new(item, key)?;
        let cc = match reader.text("cc")? {
            None => "cubic",
            Some((cc, item)) if !is_name(cc) => {
                return Err(ScenarioError::at(
                    &item.place,
                    format!(
                        "`{key}.cc` is `{cc}`, which is no name of a congestion control: expected at most \
                         {LONGEST_CC} letters, digits, `-` and `_`, as in `cubic`"
                    ),
                ));
            }
            Some((cc, _)) => cc,
        };
        let mut plan = Self { cc: cc.to_owned(), ..Self::default() };
        if let Some(item) = reader.get("sysctl") {
            parameters(item, &format!("{key}.sysctl"), "", &mut plan.sysctl)?;
        }
        if let Some(item) = reader.get("options") {
            plan.options = options(item, &format!("{key}.options"))?;
        }
        if let Some(item) = reader.get("route") {
            let route = Reader::new(item, &format!("{key}.route"))?;
            if let Some(Value::Duration(least)) = route.param(&RTO_MIN)? {
                plan.rto_min = Some(least);
            }
            route.finish()?;
        }
        reader.finish()?;
        Ok(plan)
    }

    /// The twin of this kernel where the scenario names none; `None` where nothing here is like it.
    pub(super) fn twin(&self, registry: &Registry) -> Option<Stack> {
        if let Some((_, preset)) = TWINS.iter().find(|(cc, _)| *cc == self.cc) {
            return Stack::named(registry, preset).ok();
        }
        // The same host with another window.
        let mut stack = Stack::named(registry, "linux-reno").ok()?;
        stack.set("window", &self.cc).ok()?;
        Some(stack)
    }

    /// The kernel that a stack without settings of one stands for: a preset that is Linux's as shipped, but for
    /// the options that every program or host may change.
    pub(super) fn implied(stack: &Stack, registry: &Registry) -> Option<Self> {
        let entries = stack.entries();
        let is = |preset: &&(&str, &str)| {
            Stack::named(registry, preset.1).is_ok_and(|mut twin| {
                let mut carried = entries.iter().filter(|(key, _)| CARRIED.contains(&key.as_str()));
                carried.all(|(key, value)| twin.set(key, value).is_ok()) && twin == *stack
            })
        };
        TWINS.iter().find(is).map(|(cc, _)| Self { cc: (*cc).to_owned(), ..Self::default() })
    }

    /// Writes the line of a stack's table.
    pub(super) fn write(&self, out: &mut String) {
        let mut parts = vec![format!("cc = {}", text::quoted(&self.cc))];
        if !self.sysctl.is_empty() {
            let all = self.sysctl.iter().map(|(k, v)| format!("{} = {}", text::quoted(k), text::quoted(v)));
            parts.push(format!("sysctl = {{ {} }}", all.collect::<Vec<_>>().join(", ")));
        }
        if !self.options.is_empty() {
            let all = self.options.iter().map(|(k, v)| format!("{} = {v}", text::key(k)));
            parts.push(format!("options = {{ {} }}", all.collect::<Vec<_>>().join(", ")));
        }
        if let Some(least) = self.rto_min {
            parts.push(format!("route = {{ rto_min = {} }}", text::quoted(&least.to_string())));
        }
        let _ = writeln!(out, "kernel = {{ {} }}", parts.join(", "));
    }
}

fn is_name(cc: &str) -> bool {
    (1..=LONGEST_CC).contains(&cc.len())
        && cc.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Kernel parameters: `"net.ipv4.tcp_sack" = 0`, or the same as nested tables.
fn parameters(item: &Item, key: &str, before: &str, out: &mut Vec<(String, String)>) -> Result<()> {
    let reader = Reader::new(item, key)?;
    for (name, item) in reader.entries() {
        let full = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
        if matches!(item.node, Node::Table(_)) {
            parameters(item, key, &full, out)?;
            continue;
        }
        let fine = full.starts_with("net.")
            && !full.contains("..")
            && full.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if !fine {
            return Err(ScenarioError::at(
                &item.place,
                format!(
                    "`{key}` has `{full}`, which is no network parameter of a kernel: expected one such as \
                     `net.ipv4.tcp_sack`"
                ),
            ));
        }
        let value = item.scalar().filter(|v| v.len() <= LONGEST_VALUE && !v.contains(['\n', '\0']));
        let Some(value) = value else {
            return Err(ScenarioError::at(
                &item.place,
                format!(
                    "`{key}` has {} for `{full}`: expected a number or text of at most {LONGEST_VALUE} bytes",
                    item.describe()
                ),
            ));
        };
        full_list(out.len(), key, &item.place)?;
        out.push((full, value));
    }
    Ok(())
}

fn options(item: &Item, key: &str) -> Result<Vec<(String, i32)>> {
    let reader = Reader::new(item, key)?;
    let mut out = Vec::new();
    for (name, item) in reader.entries() {
        let value = match item.node {
            Node::Integer(n) => i32::try_from(n).ok(),
            Node::Flag(flag) => Some(flag.into()),
            _ => None,
        };
        let Some(value) = value else {
            return Err(ScenarioError::at(
                &item.place,
                format!("`{key}.{name}` is {}: expected a whole number of 32 bits", item.describe()),
            ));
        };
        full_list(out.len(), key, &item.place)?;
        out.push((name.clone(), value));
    }
    Ok(out)
}

fn full_list(n: usize, key: &str, place: &Place) -> Result<()> {
    if n < MOST {
        return Ok(());
    }
    Err(ScenarioError::at(place, format!("`{key}` has more than {MOST} entries, which is the most allowed")))
}
