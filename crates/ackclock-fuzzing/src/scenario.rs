//! Any bytes as a scenario, and scenarios of keys that exist.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use ackclock_engine::PRESETS;
use ackclock_policy::{MODIFIERS, Registry};
use ackclock_sim::scenario::{Files, Limits, Resolved, Scenario, run_within};

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// Packets of a run that is worth the time.
const MOST_PACKETS: f64 = 2_000.0;

/// Any bytes as the text of a scenario. The resolved scenario must resolve to itself, and a short one must run.
pub fn scenario(data: &[u8]) {
    play(&String::from_utf8_lossy(data));
}

/// A scenario made of parts that the bytes choose, with values of which some are refused.
pub fn scenario_keys(data: &[u8]) {
    play(&written(&mut Choices(data)));
}

/// Choices made by the bytes, one each; the first when they are used up.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn number(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        (*first).into()
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.number() % list.len()]
    }

    /// Some of `keys`, each with one of its values: `key = value`, separated by `separator`.
    fn some(&mut self, keys: Keys, separator: &str) -> String {
        let mut lines = Vec::new();
        for (key, values) in keys {
            if self.number() % 3 == 1 {
                lines.push(format!("{key} = {}", self.of(values)));
            }
        }
        lines.join(separator)
    }
}

/// The text of a scenario.
fn written(c: &mut Choices<'_>) -> String {
    let mut text = c.some(RUN, "\n");
    let kind = c.of(&["single", "dumbbell", "chain", "graph"]);
    let _ = write!(text, "\n[path]\nkind = \"{kind}\"\n{}\n", c.some(PATH, "\n"));
    let link = if kind == "dumbbell" { "bottleneck" } else { "link" };
    for name in [link, "back"] {
        if c.number() % 4 == 3 {
            continue;
        }
        let faults: Vec<_> = (0..c.number() % 3)
            .map(|_| format!("{{ kind = \"{}\", {} }}", c.of(FAULTS), c.some(FAULT, ", ")))
            .map(|fault| fault.replace(",  }", " }"))
            .collect();
        let _ = write!(
            text,
            "[path.{name}]\n{}\nqueue = {{ kind = \"{}\", limit = {} }}\nfaults = [{}]\n",
            c.some(LINK, "\n"),
            c.of(QUEUES),
            c.of(&["\"10packets\"", "\"1bdp\"", "\"15kB\"", "\"1B\"", "0"]),
            faults.join(", ")
        );
    }
    for _ in 0..=c.number() % 3 {
        let kind = c.of(WORKLOADS);
        let _ = write!(text, "[[workload]]\nkind = \"{kind}\"\n{}\n", c.some(WORKLOAD, "\n"));
    }
    text.push_str("[stacks]\n");
    for i in 0..=c.number() % 2 {
        let mut stack = PRESETS[c.number() % PRESETS.len()].name.to_owned();
        for _ in 0..c.number() % 5 {
            let modifier = &MODIFIERS[c.number() % MODIFIERS.len()];
            let _ = write!(stack, "+{}", modifier.name);
            let value = c.of(&["", "", "(1)", "(3)", "(200ms)", "(1s)", "(10kB)", "(0.5)", "(0)", "(x)"]);
            stack.push_str(value);
        }
        let _ = writeln!(text, "s{i} = \"{stack}\"");
    }
    text
}

fn play(text: &str) {
    play_with(text, &Files::none());
}

/// Resolves a scenario which may name these files; what it resolves to names none.
pub(super) fn play_with(text: &str, files: &Files) {
    let Ok(resolved) = Scenario::parse(text).and_then(|s| s.resolve_with(&REGISTRY, files)) else { return };
    let toml = resolved.to_toml();
    let again = Scenario::parse(&toml).and_then(|s| s.resolve_with(&REGISTRY, &Files::none()));
    let again = again.unwrap_or_else(|e| panic!("the resolved scenario is refused: {e}\n{toml}"));
    assert_eq!(again.to_toml(), toml, "the resolved scenario resolves to another one");
    short(&resolved);
}

/// Runs what takes about a millisecond: the run must keep what it asserts.
fn short(resolved: &Resolved) {
    let limits = Limits { memory: 16 << 20, traced_events: 20_000 };
    if resolved.expected_packets() > MOST_PACKETS || resolved.check_size(&limits).is_err() {
        return;
    }
    match run_within(resolved, |_| ControlFlow::Continue(()), 1, &limits, None) {
        Ok(_) => {}
        Err(e) => assert!(e.is_size(), "{e}\n{}", resolved.to_toml()),
    }
}

/// Keys, and values for each.
type Keys = &'static [(&'static str, &'static [&'static str])];

const RUN: Keys = &[
    ("duration", &["\"1s\"", "\"100ms\"", "\"3s\"", "\"0s\"", "\"1us\"", "\"30s\""]),
    ("drain", &["\"1s\"", "\"0s\"", "\"20s\""]),
    ("warmup", &["\"10ms\"", "\"1s\"", "\"2s\""]),
    ("seed", &["1", "7", "-1", "9223372036854775807"]),
    ("repeat", &["1", "2", "0"]),
    ("trace", &["\"all\"", "\"state\"", "[\"packets\", \"samples\"]", "\"episodes\"", "\"x\""]),
    ("measure_after", &["0", "1", "3"]),
    ("syn_retries", &["0", "1", "30"]),
    ("mix", &["{ s0 = 1.0 }", "{ s0 = 0.5, s1 = 0.5 }", "{}"]),
];

const PATH: Keys = &[
    ("rtt", &["\"10ms\"", "\"1ms\"", "\"500ms\"", "\"0s\"", "{ uniform = [\"10ms\", \"50ms\"] }", "\"1h\""]),
    ("hops", &["1", "2", "5", "0"]),
    ("edges", &["[{ from = \"a\", to = \"b\" }]", "[]", "[{ from = \"a\", to = \"a\" }]"]),
];

const LINK: Keys = &[
    ("rate", &["\"1Mbit/s\"", "\"64kbit/s\"", "\"10Mbit/s\"", "\"0bit/s\"", "\"1bit/s\"", "\"1Gbit/s\""]),
    ("delay", &["\"10ms\"", "\"0s\"", "\"2s\""]),
    ("mtu", &["\"1500B\"", "\"100B\"", "\"9000B\"", "1"]),
    (
        "policer",
        &[
            "{ rate = \"1Mbit/s\" }",
            "{ rate = \"1bit/s\", burst = \"40B\", action = \"mark\" }",
            "{ rate = 0 }",
        ],
    ),
    (
        "shaper",
        &[
            "{ rate = \"1Mbit/s\" }",
            "{ rate = \"1bit/s\", burst = \"99B\", overhead = \"9B\" }",
            "{ burst = 1 }",
        ],
    ),
    (
        "schedule",
        &[
            "{ points = [{ at = \"0s\", rate = \"1Mbit/s\" }, { at = \"1ms\", rate = \"0bit/s\" }] }",
            "{ repeat = \"1ns\", points = [{ at = \"0s\", delay = \"1s\", loss = 0.5 }] }",
            "{ shape = \"linear\", repeat = \"1s\", points = [{ at = \"1s\", rate = \"1Gbit/s\" }] }",
            "{ reorder = true, points = [{ at = \"1ms\", delay = \"0s\" }, { at = \"1ms\", rate = \
             \"1bit/s\" }] }",
            "{ points = [{ at = \"1s\" }, { at = \"0s\" }] }",
        ],
    ),
    (
        "mahimahi",
        &[
            "{ times = [0, 1] }",
            "{ times = \"1 1 1 4294967295\", repeat = false }",
            "{ times = [1], size = \"1B\", overhead = \"0B\" }",
            "{ times = [0] }",
        ],
    ),
    (
        "jitter",
        &[
            "{ mean = \"1ms\" }",
            "{ distribution = \"pareto\", shape = 1.01, reorder = true }",
            "{ distribution = \"uniform\", deviation = \"600s\" }",
            "{ points = [[0, 0.5], [1e300, 1]] }",
        ],
    ),
];

const QUEUES: &[&str] =
    &["drop-tail", "fifo", "red", "fq", "codel", "x", "fq-codel", "pie", "dualpi2", "drr", "sfq", "priority"];
const FAULTS: &[&str] = &[
    "loss",
    "gilbert-elliott",
    "markov-loss",
    "batch",
    "periodic-loss",
    "nth-loss",
    "segment-loss",
    "outage",
    "stall",
    "detour",
    "reorder",
    "duplicate",
    "corrupt",
    "x",
];

const FAULT: Keys = &[
    ("p", &["0.01", "0.5", "1.0", "\"1%\"", "-1.0"]),
    ("of", &["\"all\"", "\"data\"", "\"acks\"", "\"syns\""]),
    ("every", &["1", "2", "100"]),
    ("number", &["1", "2", "10"]),
    ("offset", &["\"0B\"", "\"1000B\""]),
    ("from", &["\"0s\"", "\"100ms\""]),
    ("until", &["\"200ms\"", "\"0s\"", "\"10s\""]),
    ("delay", &["\"1ms\"", "\"1s\""]),
    ("extra", &["\"10ms\"", "\"3s\""]),
];

const WORKLOADS: &[&str] = &[
    "bulk",
    "fixed",
    "web",
    "telnet",
    "request",
    "on-off",
    "udp",
    "udp-on-off",
    "udp-rate",
    "backlogged",
    "x",
];

const WORKLOAD: Keys = &[
    ("flows", &["1", "2", "5", "0"]),
    ("size", &["\"1kB\"", "\"100kB\"", "\"1B\"", "\"0B\""]),
    ("start", &["\"0s\"", "\"10ms\"", "\"900ms\"", "\"5s\""]),
    ("stagger", &["\"10ms\"", "\"1s\""]),
    ("spread", &["\"10ms\"", "\"1s\""]),
    ("think", &["\"10ms\"", "\"1s\"", "\"0s\""]),
    ("bytes", &["\"100B\"", "\"1B\"", "\"65535B\""]),
    ("rate", &["\"100kbit/s\"", "\"1bit/s\"", "\"1Gbit/s\""]),
    ("arrival_rate", &["1.0", "5.0", "0.0"]),
    ("load", &["0.5", "2.0"]),
    ("stack", &["\"s0\"", "\"sack\"", "\"x\""]),
];
