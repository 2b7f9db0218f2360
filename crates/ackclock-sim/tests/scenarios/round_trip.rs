use super::{NAMED_STACKS, TEN_LINES, resolved, results};

/// Scenarios that use every kind of path, queue, fault, workload and size.
pub(crate) const VARIETY: &[&str] = &[
    TEN_LINES,
    NAMED_STACKS,
    r#"
title = "a \"title\" \\ with marks"
seeds = [3, 9]
duration = "1500ms"
warmup = "250ms"
drain = "1s"
trace = ["samples", "episodes"]
syn_retries = 3
mix = { tcp = 0.9, "star 3" = 0.1 }
[path]
kind = "dumbbell"
rtt = ["30ms", "40ms", "1250us"]
[path.bottleneck]
rate = "960kbit/s"
delay = "100us"
queue = { kind = "drop-tail", limit = "100ms" }
faults = [
    { kind = "loss", p = "1%" },
    { kind = "nth-loss", number = [3, 7, 11], of = "data" },
    { kind = "outage", from = "500ms", until = "600ms" },
    { kind = "reorder", p = 0.1, distance = 2 },
    "duplicate",
]
[path.back]
rate = "1Mbit/s"
queue = { kind = "red", min_th = "1bdp", max_th = "3bdp", limit = "10bdp", ecn = true }
[path.access]
rate = "100Mbit/s"
delay = "50us"
[[workload]]
kind = "web"
name = "a"
arrival_rate = 2.5
sizes = { kind = "cdf", points = [[100, 0.5], [1e3, 1.0]] }
arrivals = { kind = "on-off", on = "50ms", off = "2s", periods = "pareto" }
[[workload]]
kind = "web"
load = 0.1
load_counts = "wire"
closes = "client"
sizes = "lognormal-pareto"
trace = "III"
arrivals = "regular"
[[workload]]
kind = "bulk"
flows = 3
stagger = "10ms"
spread = "5ms"
[[workload]]
kind = "udp-on-off"
rate = "64kbit/s"
[[workload]]
kind = "udp-rate"
flows = 2
bytes = "200B"
control = { kind = "constant-decrement", step = "1ms", interval = "250ms", min_interval = "10ms" }
[stacks]
tcp = "newreno+min-rto(200ms)"
["stacks"."star 3"]
preset = "sack+star(3)"
mss = "300B"
estimator = { min_rto = "300ms" }
window = "cubic"
ack = { kind = "every" }
"#,
    r#"
duration = "1s"
[path]
kind = "chain"
hops = 3
link = { rate = "2Mbit/s", delay = "5ms", queue = { limit = "1bdp" } }
[[workload]]
kind = "fixed"
size = "20kB"
[[workload]]
kind = "telnet"
per_hop = true
think = "100ms"
[stacks]
tcp = "tahoe"
"#,
    r#"
duration = "1s"
[path]
kind = "graph"
edges = [
    { from = "a", to = "b", rate = "10Mbit/s", delay = "1ms" },
    { from = "b", to = "c", rate = "5Mbit/s", delay = "2ms", queue = "red", name = "thin", back = { rate = "1Mbit/s" } },
    { from = "c", to = "a", delay = "3ms", back = false },
]
[workload]
kind = "request"
request = "2kB"
size = "30kB"
client = ["a", "c"]
server = "b"
flows = 4
[stacks]
tcp = "rfc793"
"#,
    r#"
duration = "500ms"
[path]
kind = "single"
link = { rate = "1Mbit/s", delay = "10ms" }
[workload]
kind = "on-off"
[stacks]
tcp = {}
"#,
];

#[test]
fn resolving_twice_changes_nothing() {
    for text in VARIETY {
        let once = resolved(text, &[]);
        let written = once.to_toml();
        let twice = resolved(&written, &[]);
        assert_eq!(twice, once, "{written}");
        assert_eq!(twice.to_toml(), written);
    }
}

#[test]
fn a_resolved_file_names_every_group_of_traced_events() {
    for group in ["packets", "samples", "episodes", "state", "all", "none"] {
        let once = resolved(TEN_LINES, &[("trace", group)]);
        assert_eq!(resolved(&once.to_toml(), &[]).trace, once.trace, "{group}");
    }
}

#[test]
fn a_resolved_file_gives_the_same_run() {
    for text in VARIETY {
        let once = resolved(text, &[]);
        let (a, b) = (results(&once, 1), results(&resolved(&once.to_toml(), &[]), 1));
        assert!(!a.flows.is_empty());
        assert_eq!((&a.flows, &a.links, &a.runs, &a.events), (&b.flows, &b.links, &b.runs, &b.events));
    }
}

#[test]
fn relative_queues_become_bytes() {
    // 105 ms of 10 Mbit/s, twice (B-A8).
    assert!(resolved(TEN_LINES, &[]).to_toml().contains("limit = \"262500B\""));
    // Forward, 100 ms of 960 kbit/s; back, ten times the mean round-trip time of 23.75 ms at 1 Mbit/s,
    // rounded down.
    let text = resolved(VARIETY[2], &[]).to_toml();
    assert!(
        text.contains("limit = \"12000B\"")
            && text.contains("limit = \"29680B\"")
            && text.contains("min_th = \"2968B\""),
        "{text}"
    );
}

#[test]
fn every_default_is_explicit() {
    let text = resolved(TEN_LINES, &[]).to_toml();
    for part in [
        "seeds = [1]",
        "warmup = \"0s\"",
        "min_th = \"5packets\", max_th = \"15packets\", max_p = 0.1, w_q = 0.002, gentle = true, wait = true",
        "link_rate = \"10Mbit/s\"",
        "sizes = { kind = \"bounded-pareto\", shape = 1.2, mean = \"7000B\", min = \"0B\", max = \
         \"2000000000B\" }",
        "arrivals = { kind = \"poisson\" }",
        "request = \"300B\"",
        "client = [\"right\"]",
        "[path.back]",
        "[stacks.\"no backoff\"]",
        "backoff = { kind = \"none\"",
        "mss = \"1460B\"",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn queues_and_faults_get_the_rate_of_their_link() {
    let text = resolved(
        TEN_LINES,
        &[
            ("path.bottleneck.rate", "3Mbit/s"),
            ("path.back.rate", "1Mbit/s"),
            ("path.bottleneck.faults", "reorder"),
        ],
    )
    .to_toml();
    assert_eq!(text.matches("link_rate = \"3Mbit/s\"").count(), 2, "{text}");
    assert_eq!(text.matches("link_rate = \"1Mbit/s\"").count(), 1, "{text}");
}

#[test]
fn overrides_reach_everything() {
    let sets = [
        ("path.rtt", "50ms"),
        ("path.bottleneck.queue.limit", "7packets"),
        ("workload.load", "0.5"),
        ("stacks.tcp", "reno+star(inf)"),
        ("stacks.\"no backoff\".window", "cubic"),
        ("seed", "17"),
        ("trace", "[\"packets\"]"),
        ("path.back.faults", "[{ kind = \"loss\", p = 0.5 }]"),
    ];
    let text = resolved(TEN_LINES, &sets).to_toml();
    for part in [
        "rtt = \"50ms\"",
        "limit = \"7packets\"",
        "load = 0.5",
        "recovery = { kind = \"reno\"",
        "n = \"inf\"",
        "window = { kind = \"cubic\"",
        "seeds = [17]",
        "trace = [\"packets\"]",
        "kind = \"loss\", p = 0.5",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}
