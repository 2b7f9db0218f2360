use ackclock_policy::Registry;
use ackclock_sim::scenario::{Files, Scenario};
use ackclock_units::Rng;

use super::round_trip::VARIETY;
use super::{TEN_LINES, examples};

pub(crate) fn message(text: &str, sets: &[(&str, &str)]) -> String {
    let scenario = Scenario::parse_with(text, sets);
    let resolved = scenario.and_then(|s| s.resolve_with(&Registry::builtin(), &Files::in_folder(examples())));
    resolved.err().map_or("no error".to_owned(), |e| e.to_string())
}

const PATH: &str = "[path]\nkind = \"dumbbell\"\nbottleneck = \
                    { rate = \"10Mbit/s\", queue = { kind = \"red\", limit = \"2bdp\" } }";
const WORKLOAD: &str = "kind = \"web\"\ntrace = \"I\"\nload = 1.2";

/// Replacements in [`TEN_LINES`], and the error for each.
const TABLE: &[(&str, &str, &str)] = &[
    (
        "seed = 1",
        "seed = ",
        "line 2: this is not TOML: string values must be quoted, expected literal string",
    ),
    ("seed = 1", "seed = -1", "line 2: `seed` is `-1`, which is not a whole number"),
    (
        "seed = 1",
        "sede = 1",
        "line 2: `sede` is not a known key (did you mean `seed`?); expected one of duration, warmup, measure_from, \
         measure_after, drain, series, title, seed, repeat, seeds, trace, path, stacks, syn_retries, workload, mix",
    ),
    ("seed = 1", "seed = 2024-01-01", "line 2: `2024-01-01` is a date, which no key accepts"),
    (
        "seed = 1",
        "seed = 99999999999999999999",
        "line 2: `99999999999999999999` is a number that is too large",
    ),
    ("seed = 1", "seeds = []", "`seeds` is a list of 0; 1 to 100000 are allowed"),
    ("seed = 1", "seeds = [1, 1]", "line 2: `seeds` has 1 twice, which would give the same run twice"),
    (
        "seed = 1",
        "repeat = 1000000000",
        "line 2: `repeat` is `1000000000`, which is not between 1 and 100000",
    ),
    ("seed = 1", "title = 3", "line 2: `title` is `3`, which is not text in quotes"),
    ("seed = 1", r#"warmup = "5s""#, "`warmup` is `5s`, which is not less than `duration`, `5s`"),
    ("seed = 1", r#"measure_from = "9s""#, "`measure_from` is `9s`, which is not less than `duration`, `5s`"),
    (
        "seed = 1",
        "measure_from = \"1s\"\nmeasure_after = 1",
        "`measure_from` and `measure_after` are both given: give one of them",
    ),
    (
        "seed = 1",
        "warmup = \"1s\"\nmeasure_after = 1",
        "`warmup` and `measure_after` are both given: give one of them",
    ),
    (
        "seed = 1",
        r#"trace = ["packet"]"#,
        "line 2: `trace` is `packet`, which is not a known group of events (did you mean `packets`?); expected \
         one of packets, samples, episodes, state, all, none",
    ),
    (
        r#""5s""#,
        "5",
        "line 3: `duration` is `5`, which is not a time: give a number with a unit, such as `10ms`, `1.5s`, \
         `200us` or `2min`",
    ),
    (r#""5s""#, r#""0s""#, "line 3: `duration` is `0s`, which is not between 1ns and 10000000s"),
    (
        r#""5s""#,
        r#""5 fortnights""#,
        "line 3: `duration` is `5 fortnights`, which is not a time: give a number with a unit, such as \
         `10ms`, `1.5s`, `200us` or `2min`",
    ),
    (r#""5s""#, r#"["5s"]"#, "line 3: `duration` is a list, but it must be a single value such as `100s`"),
    (
        r#""10Mbit/s""#,
        "10",
        "line 6: `path.bottleneck.rate` is `10`, which is not a rate: give a number with a unit, such as \
         `10Mbit/s`, `9.6kbit/s` or `1Gbit/s`",
    ),
    (
        r#""10Mbit/s""#,
        r#""-10Mbit/s""#,
        "line 6: `path.bottleneck.rate` is `-10Mbit/s`, which is not a rate: give a number with a unit, such \
         as `10Mbit/s`, `9.6kbit/s` or `1Gbit/s`",
    ),
    (
        r#""10Mbit/s""#,
        r#""0bit/s""#,
        "line 6: `path.bottleneck.rate` is `0bit/s`, which is not between 1bit/s and 1000000Gbit/s",
    ),
    (
        r#"rate = "10Mbit/s", "#,
        "",
        "line 6: `path.bottleneck.rate` is missing: give a rate such as `10Mbit/s`",
    ),
    (
        r#"kind = "dumbbell""#,
        r#"kind = "dumbell""#,
        "line 5: `path.kind` is `dumbell`, which is not a known kind of path (did you mean `dumbbell`?); \
         expected one of single, dumbbell, chain, graph",
    ),
    (
        "bottleneck =",
        "botleneck =",
        "line 6: `path.botleneck` is not a known key (did you mean `bottleneck`?)",
    ),
    (
        r#""red""#,
        r#""rde""#,
        "line 6: `path.bottleneck.queue`: `rde` is not a known queue (did you mean `red`?); expected one of \
         drop-tail, red, ...",
    ),
    (
        r#""2bdp""#,
        r#""1000B""#,
        "the queue of link `bottleneck` has a `limit` of `1000B`, less than a packet of stack `tcp`: give at \
         least `1500B` or a number of packets",
    ),
    (
        r#""2bdp""#,
        r#""0packets""#,
        "line 6: `path.bottleneck.queue.limit` is `0packets`, which is not between 1packets and \
         1099511627776packets",
    ),
    (
        r#""2bdp""#,
        "50",
        "line 6: `path.bottleneck.queue.limit` is `50`, which is not a length of a queue: give packets or \
         bytes, such as `50packets` or `64KiB`, or in a scenario `2bdp` or `100ms`",
    ),
    (
        r#""2bdp""#,
        r#""xbdp""#,
        "line 6: `path.bottleneck.queue.limit` is `xbdp`, which is not a length such as `2bdp`",
    ),
    (
        "limit =",
        "min_thresh = 3, limit =",
        "line 6: `path.bottleneck.queue.min_thresh` is not a known key (did you mean `min_th`?); expected one of \
         kind, limit, min_th, max_th, max_p, w_q, gentle, wait, ecn, byte_mode, mean_packet, link_rate, \
         adaptive, target_delay",
    ),
    (
        r#"rtt = { uniform = ["10ms", "200ms"] }"#,
        "",
        r#"line 4: `path.rtt` is missing: give a time such as `100ms`, `{ uniform = ["10ms", "200ms"] }` or a list of times"#,
    ),
    (
        r#"rtt = { uniform = ["10ms", "200ms"] }"#,
        "rtt = 100",
        "line 7: `path.rtt` is `100`, which is not a time: give a number with a unit, such as `10ms`, \
         `1.5s`, `200us` or `2min`",
    ),
    (
        r#"rtt = { uniform = ["10ms", "200ms"] }"#,
        "rtt = []",
        "line 7: `path.rtt` is an empty list: give at least one time such as `100ms`",
    ),
    (
        r#"["10ms", "200ms"]"#,
        r#"["200ms", "10ms"]"#,
        r#"line 7: `path.rtt.uniform` is not a list of a lower and an upper time such as `["10ms", "200ms"]`"#,
    ),
    (
        "uniform =",
        "unifrom =",
        "line 7: `path.rtt.unifrom` is not a known key (did you mean `uniform`?); expected one of uniform, list",
    ),
    (
        r#"rate = "10Mbit/s""#,
        r#"rate = "10Mbit/s", delay = "20ms""#,
        "workload `web` has a round-trip time of `10ms`, but its links alone take `40ms`: give at least that",
    ),
    (
        r#"rate = "10Mbit/s""#,
        r#"rate = "10Mbit/s", faults = ["losss"]"#,
        "line 6: `path.bottleneck.faults`: `losss` is not a known fault (did you mean `loss`?); expected one of \
         loss, gilbert-elliott, markov-loss, periodic-loss, nth-loss, segment-loss, outage, stall, detour, \
         batch, reorder, duplicate, corrupt",
    ),
    (
        r#"rate = "10Mbit/s""#,
        r#"rate = "10Mbit/s", faults = [{ kind = "loss", p = 2 }]"#,
        "line 6: `path.bottleneck.faults.p` is `2`, which is not between 0 and 1",
    ),
    (
        r#"rate = "10Mbit/s""#,
        r#"rate = "10Mbit/s", faults = [{ p = 0.1 }]"#,
        "line 6: `path.bottleneck.faults` has no `kind`: give one of loss, gilbert-elliott, \
         markov-loss, periodic-loss, nth-loss, segment-loss, outage, stall, detour, batch, reorder, \
         duplicate, corrupt",
    ),
    (
        "[workload]\nkind = \"web\"",
        "[workload]",
        "line 8: `workload.kind` is missing: give one of web, log, udp, udp-on-off, udp-rate, bulk, fixed, ...",
    ),
    (
        r#"kind = "web""#,
        r#"kind = "webb""#,
        "line 9: `workload.kind` is `webb`, which is not a known workload (did you mean `web`?); expected one of \
         web, log, udp, udp-on-off, udp-rate, bulk, fixed, ...",
    ),
    (
        "load = 1.2",
        "",
        "line 8: `workload.load` is missing: give a load such as `0.8` or `120%`, or an `arrival_rate` in \
         flows per second",
    ),
    (
        "load = 1.2",
        "load = -1",
        "line 11: `workload.load` is `-1`, which is not between 0.000000001 and 1000",
    ),
    (
        "load = 1.2",
        "load = 1.2\narrival_rate = 5",
        "line 8: `workload.load` and `workload.arrival_rate` are both given: give one of them",
    ),
    (
        "load = 1.2",
        "arrival_rate = 0",
        "line 8: `workload.arrival_rate` is `0`, which is not a number of flows per second above 0",
    ),
    (
        "load = 1.2",
        "load = 1.2\nstop = \"0s\"",
        "line 8: `workload.stop` is `0s`, which is not after `start`, `0s`",
    ),
    (
        "load = 1.2",
        "load = 1.2\nclient = \"rihgt\"",
        "line 12: `workload.client` is `rihgt`, which is not a node of the path (did you mean `right`?); \
         nodes are left, right",
    ),
    (
        "load = 1.2",
        "load = 1.2\nper_hop = true",
        "line 8: `workload.per_hop` is for paths of kind `chain`, and this one is `dumbbell`",
    ),
    (
        "load = 1.2",
        "load = 1.2\nsizes = \"pareto\"",
        "line 12: `workload.sizes`: `pareto` is not a known kind of sizes; expected one of bounded-pareto, \
         lognormal-pareto, exponential, fixed, cdf",
    ),
    (
        "load = 1.2",
        "load = 1.2\nsizes = { mean = \"3GB\" }",
        "line 12: `workload.sizes` is not a distribution: the bounds must differ, with the mean well between \
         them",
    ),
    (
        "load = 1.2",
        "load = 1.2\nsizes = { kind = \"cdf\" }",
        "line 12: `workload.sizes.points` is missing: give a list of `[bytes, probability]`, or a `file` of \
         such lines",
    ),
    (
        "load = 1.2",
        "load = 1.2\nsizes = { kind = \"cdf\", file = \"nowhere.txt\" }",
        "line 12: `workload.sizes.file` is `nowhere.txt`, which does not exist; expected the path of a file",
    ),
    (
        "load = 1.2",
        "load = 1.2\nsizes = { kind = \"cdf\", points = [[1, 0.5], [2, 0.4]] }",
        "line 12: `workload.sizes.points`: point 2 is (2, 0.4), but values and probabilities must not fall \
         (the one before is (1, 0.5)) nor exceed 1",
    ),
    (
        "load = 1.2",
        "load = 1.2\narrivals = \"posson\"",
        "line 12: `workload.arrivals`: `posson` is not a known kind of arrivals (did you mean `poisson`?); \
         expected one of poisson, regular, on-off",
    ),
    (
        r#"trace = "I""#,
        r#"trace = "IV""#,
        "line 10: `workload.trace` is `IV`, which is not one of I, II, III",
    ),
    (
        r#""sack""#,
        r#""sakc""#,
        "line 13: `stacks.tcp` is `sakc`: `sakc` is not a known stack (did you mean `sack`?); expected one of \
         rfc793, tahoe, ...",
    ),
    (
        r#""sack+no-backoff""#,
        r#""sack+no-backof""#,
        r#"line 14: `stacks."no backoff"` is `sack+no-backof`: `+no-backof` is not a known modifier (did you mean `no-backoff`?); expected one of +star, +no-backoff, ..."#,
    ),
    (
        r#""sack+no-backoff""#,
        r#"{ preset = "sack", mss = 1000 }"#,
        r#"line 14: `stacks."no backoff".mss` is `1000`, which is not a size: give a number with a unit, such as `1460B`, `64KiB`, `10kB` or `20MB`"#,
    ),
    (
        r#""sack+no-backoff""#,
        r#"{ preset = "sack", msss = "1000B" }"#,
        r#"line 14: `stacks."no backoff".msss` is not a known key (did you mean `mss`?); expected one of preset, kernel, estimator, ..."#,
    ),
    (
        r#""sack+no-backoff""#,
        r#"{ preset = "sack", estimator = { min_rt = "1s" } }"#,
        r#"line 14: `stacks."no backoff".estimator.min_rt`: `min_rt` is not a parameter of `rfc6298` (did you mean `min_rto`?); expected one of clock_granularity, slop, min_rto, max_rto, initial_rto"#,
    ),
    (
        r#""sack+no-backoff""#,
        r#"{ preset = "sack", estimator = { min_rto = "-1s" } }"#,
        r#"line 14: `stacks."no backoff".estimator.min_rto` is `-1s`, which is not a time: give a number with a unit, such as `10ms`, `1.5s`, `200us` or `2min`"#,
    ),
    (
        r#""sack+no-backoff""#,
        "7",
        r#"line 14: `stacks."no backoff"` is `7`, which is neither a preset such as `"sack+star(3)"` nor a table with a `preset` and overrides"#,
    ),
    ("[stacks]", "[stack]", "line 12: `stack` is not a known key (did you mean `stacks`?)"),
    (
        "tcp = \"sack\"\n\"no backoff\" = \"sack+no-backoff\"",
        "",
        r#"line 12: `stacks` has 0 entries; 1 to 1000 are allowed, each a name for a preset such as `tcp = "sack"`"#,
    ),
    (
        "seed = 1",
        r#"mix = { tcp = 0.5, "no backoff" = 0.4 }"#,
        "line 2: the shares in `mix` add up to 0.9, but they must add up to 1",
    ),
    ("seed = 1", "mix = { tcp = 1.5 }", "line 2: `mix.tcp` is `1.5`, which is not a share between 0 and 1"),
    (
        "seed = 1",
        "mix = { tpc = 1.0 }",
        "line 2: `mix.tpc` is not one of `[stacks]` (did you mean `tcp`?); expected one of tcp, no backoff",
    ),
    ("seed = 1", "syn_retries = 1000", "line 2: `syn_retries` is `1000`, which is not between 0 and 255"),
    (
        "load = 1.2",
        "arrival_rate = 1e9",
        "the workloads would start about 5000000000 flows; at most 1000000000 are allowed",
    ),
    (
        WORKLOAD,
        "kind = \"bulk\"\nper_server = 2",
        "workload `bulk` needs 2 flows `per_server` from different clients, and for `right` there are 1: \
         give more of `client`",
    ),
    (
        WORKLOAD,
        "kind = \"bulk\"\nflows = 2000000000",
        "line 10: `workload.flows` is `2000000000`, which is not between 1 and 1000000",
    ),
    (
        WORKLOAD,
        "kind = \"bulk\"\npeer = \"snk\"",
        "line 10: `workload.peer`: `snk` is not a known application (did you mean `sink`?); expected one of bulk, \
         fixed, ...",
    ),
    (
        WORKLOAD,
        "kind = \"udp-rate\"\ncontrol = \"additve\"",
        "line 10: `workload.control`: `additve` is not a known rate (did you mean `additive`?); expected one of \
         additive, constant-decrement",
    ),
    (
        WORKLOAD,
        "kind = \"udp-rate\"\ncontrol = { alpha = 10 }",
        "line 10: `workload.control.alpha` is `10`, which is not a time: give a number with a unit, such as \
         `10ms`, `1.5s`, `200us` or `2min`",
    ),
    (
        WORKLOAD,
        "kind = \"udp-rate\"\ncontrol = { step = \"1ms\" }",
        "line 10: `workload.control.step` is not a known key; expected one of kind, alpha, interval, decrease, \
         min_interval, max_interval",
    ),
    (
        WORKLOAD,
        "kind = \"udp\"\nrate = 5",
        "line 10: `workload.rate` is `5`, which is not a rate: give a number with a unit, such as \
         `10Mbit/s`, `9.6kbit/s` or `1Gbit/s`",
    ),
    (
        PATH,
        "[path]\nkind = \"graph\"\nedges = [{ from = \"a\", to = \"b\", rate = \"1Mbit/s\", back = false }]",
        "workload `web` cannot run: no path leads from `b` to `a`",
    ),
    (
        PATH,
        "[path]\nkind = \"chain\"\nhops = 255\nlink = { rate = \"10Mbit/s\" }",
        "workload `web` cannot run: there are too many links on a path; at most 254 are allowed",
    ),
    (
        "[path]\nkind = \"dumbbell\"\nbottleneck = \
         { rate = \"10Mbit/s\", queue = { kind = \"red\", limit = \"2bdp\" } }\nrtt = \
         { uniform = [\"10ms\", \"200ms\"] }",
        "[path]\nkind = \"graph\"\nedges = \
         [{ from = \"a\", to = \"b\", rate = \"1Mbit/s\", queue = { limit = \"2bdp\" } }]",
        "line 6: `path.edges.queue.limit` is `2bdp`, but flows have no common round-trip time here for \
         `bdp`: give packets, bytes or a time such as `100ms`",
    ),
    (
        PATH,
        "[path]\nkind = \"graph\"\nedges = [{ from = \"a\", to = \"b\", queue = \"red\" }]",
        "line 6: `path.edges.queue` is given, but a link without a `rate` does not queue: give it a rate \
         such as `10Mbit/s`",
    ),
    (
        PATH,
        "[path]\nkind = \"graph\"\nedges = [{ from = \"a\", to = \"b\"}, {from = \"c\", to = \"d\"}]",
        "workload `web` cannot run: no path leads from `d` to `a`",
    ),
    (
        PATH,
        "[path]\nkind = \"graph\"\nedges_file = \"nowhere.edges\"",
        "line 6: `path.edges_file` is `nowhere.edges`, which does not exist; expected the path of a file",
    ),
    (
        PATH,
        "[path]\nkind = \"graph\"\nedges_file = \"congested-dumbbell.toml\"",
        "congested-dumbbell.toml:8: this is not an edge: give two nodes and optionally a rate and a delay, \
         such as `a b 10Mbit/s 5ms`",
    ),
    (
        PATH,
        "[path]\nkind = \"graph\"\nedges_file = \"../Cargo.toml\"",
        "line 6: `path.edges_file` is `../Cargo.toml`, which lies outside the scenario's folder; put it \
         there, or allow it with `--allow-files`",
    ),
    (
        PATH,
        "[path]\nkind = \"graph\"\nedges_file = \"/etc/no-such-file\"",
        "line 6: `path.edges_file` is `/etc/no-such-file`, which lies outside the scenario's folder; put it \
         there, or allow it with `--allow-files`",
    ),
    (
        PATH,
        "[path]\nkind = \"graph\"\nedges_file = \"sweeps\"",
        "line 6: `path.edges_file` is `sweeps`, which is a folder; expected a file",
    ),
    (
        "load = 1.2",
        "load = 1.2\nserver = \"right\"",
        "workload `web` has node `right` as both client and server: give another `server`",
    ),
    (
        "[path]\nkind = \"dumbbell\"\nbottleneck = \
         { rate = \"10Mbit/s\", queue = { kind = \"red\", limit = \"2bdp\" } }\nrtt = \
         { uniform = [\"10ms\", \"200ms\"] }",
        "[path]\nkind = \"graph\"\nedges = [{ from = \"a\", to = \"b\" }]",
        "workload `web` has a path without any `rate`, `delay` or `rtt`: give it at least one of them",
    ),
    (
        WORKLOAD,
        "kind = \"bulk\"\nstack = \"tpc\"",
        "line 10: `workload.stack` is `tpc`, which is not one of `[stacks]` (did you mean `tcp`?); expected one of \
         tcp, no backoff",
    ),
    (
        WORKLOAD,
        "kind = \"bulk\"\nstack = \"tcp\"",
        "`stacks.\"no backoff\"` is used by no workload: each names its own `stack`",
    ),
    (
        WORKLOAD,
        "kind = \"udp\"\nstack = \"tcp\"",
        "line 10: `workload.stack` is not a known key (did you mean `start`?); expected one of per_hop, kind, \
         flows, rate, bytes, start, stop, client, server, name, rtt",
    ),
    (
        WORKLOAD,
        "kind = \"bulk\"\nname = \"a\"\n[[workload]]\nkind = \"bulk\"",
        "line 11: this is not TOML: duplicate key",
    ),
    (
        "kind = \"red\", limit = \"2bdp\" } }\nrtt = { uniform = [\"10ms\", \"200ms\"] }\n[workload]\nkind = \
         \"web\"\ntrace = \"I\"\nload = 1.2",
        "limit = \"2kB\" } }\nrtt = \"1ms\"\n[workload]\nkind = \"udp\"\nbytes = \"3000B\"",
        "the queue of link `bottleneck` has a `limit` of `2000B`, less than a datagram of workload `udp`: \
         give at least `3000B` or a number of packets",
    ),
    (
        "[workload]\n",
        "[[workload]]\nkind = \"bulk\"\n[[workload]]\nkind = \"bulk\"\n[[workload]]\n",
        "line 10: two workloads are named `bulk`: give each its own `name`",
    ),
];

/// Overrides, and the error for each.
const OVERRIDES: &[((&str, &str), &str)] = &[
    (
        ("path.rtt", "50"),
        "--set path.rtt=50: `path.rtt` is `50`, which is not a time: give a number with a unit, such as \
         `10ms`, `1.5s`, `200us` or `2min`",
    ),
    (
        ("path.rttt", "50ms"),
        "--set path.rttt=50ms: `path.rttt` is not a known key (did you mean `rtt`?); expected one of kind, rtt, \
         bottleneck, back, access",
    ),
    (("path..rtt", "5ms"), "--set path..rtt=5ms: `path..rtt` is not a key such as `path.rtt`"),
    (("seed.x", "5"), "--set seed.x=5: `seed` is `1`, which has no `x`"),
    (
        ("workload.0.load", "1"),
        "--set workload.0.load=1: `workload.0` is not a known key; expected one of per_hop, kind, trace, load, \
         load_counts, arrival_rate, request, closes, start, stop, sizes, arrivals, client, server, name, rtt, stack",
    ),
    (
        ("duration", "forever"),
        "--set duration=forever: `duration` is `forever`, which is not a time: give a number with a unit, \
         such as `10ms`, `1.5s`, `200us` or `2min`",
    ),
    (
        ("path.bottleneck.queue.kind", "hfsc"),
        "--set path.bottleneck.queue.kind=hfsc: `path.bottleneck.queue`: `hfsc` is not a known queue; expected \
         one of drop-tail, red, ...",
    ),
    (("path.bottleneck.queue.limit", "1MB"), "no error"),
    (
        ("stacks.tcp.window", "hybla"),
        "--set stacks.tcp.window=hybla: `stacks.tcp.window`: `hybla` is not a known window; expected one of \
         receiver-only, reno, ...",
    ),
];

/// An expected message that ends with `...` lists registered names, so that a new policy does not change it.
fn check(met: &str, expected: &str) {
    match expected.strip_suffix("...") {
        Some(beginning) => assert!(met.starts_with(beginning), "{met}\nshould begin with\n{beginning}"),
        None => assert_eq!(met, expected),
    }
}

#[test]
fn errors_name_the_place_the_value_and_the_allowed_values() {
    for (from, to, expected) in TABLE {
        assert!(TEN_LINES.contains(from), "{from}");
        check(&message(&TEN_LINES.replacen(from, to, 1), &[]), expected);
    }
    for (set, expected) in OVERRIDES {
        check(&message(TEN_LINES, &[*set]), expected);
    }
}

#[test]
fn errors_name_the_file_when_it_is_known() {
    let refused = |text: &str| {
        Scenario::parse(text).and_then(|s| s.resolve()).unwrap_err().in_file("web.toml").to_string()
    };
    assert!(refused("seed = ").starts_with("web.toml:1: this is not TOML: "));
    assert_eq!(
        refused("seed = 1"),
        "web.toml: `path` is missing: give a table `[path]` with a `kind`: single, dumbbell, chain or graph"
    );
    assert_eq!(
        refused("sedd = 1\n[path]\n[stacks]"),
        "web.toml:2: `path.bottleneck` is missing: give a table such as `{ rate = \"10Mbit/s\" }`"
    );
}

/// A damaged scenario is resolved or refused, and never causes a panic.
#[test]
fn damaged_scenarios_are_refused_without_a_panic() {
    let mut rng = Rng::stream(1, "damage", 0);
    for text in VARIETY {
        for _ in 0..400 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..=rng.below(3) {
                let (at, n) = (rng.below(bytes.len() as u64) as usize, rng.below(12) as usize);
                let to = (at + n).min(bytes.len());
                match rng.below(4) {
                    0 => drop(bytes.drain(at..to)),
                    1 => bytes[at] = b" \"{}[]=.,-0123456789eEx#\n"[rng.below(25) as usize],
                    2 => {
                        let piece = bytes[at..to].to_vec();
                        bytes.splice(at..at, piece);
                    }
                    // A number grows or changes its sign.
                    _ => drop(bytes.splice(at..at, *b"-9")),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            let said = message(&String::from_utf8_lossy(&bytes), &[]);
            assert!(!said.is_empty() && !said.contains('\n'), "one line: {said:?}");
        }
    }
}

/// A short text must not expand to something large before a limit is checked.
#[test]
fn expansions_of_a_short_text_are_limited_while_they_are_read() {
    let values = "0.1, ".repeat(100);
    let fault = format!("{{ kind = \"reorder\", p = [{values}], delay = [{}] }}", "\"1ms\", ".repeat(100));
    let many = "all links together have more than 100000 `faults`, which is the limit";
    let chain = |faults: &str| {
        format!("[path]\nkind = \"chain\"\nhops = 200\nlink = {{ rate = \"1Mbit/s\", faults = [{faults}] }}")
    };
    let name = "x".repeat(201);
    let repeated = "seed = 1\nrepeat = 100000";
    for (from, to, expected) in [
        (PATH, chain(&fault), many.to_owned()),
        (PATH, chain(&format!("{fault}, ").repeat(11)), many.to_owned()),
        (
            WORKLOAD,
            format!("kind = \"bulk\"\nname = \"{name}\""),
            "`workload.name` has a name of 201 bytes that begins with `xxxxxxxxxxxxxxxxxxxx`; at most 200 \
             bytes are allowed"
                .to_owned(),
        ),
        (
            "tcp =",
            format!("{name} ="),
            "`stacks` has a name of 201 bytes that begins with `xxxxxxxxxxxxxxxxxxxx`; at most 200 bytes are \
             allowed"
                .to_owned(),
        ),
        (
            PATH,
            format!(
                "[path]\nkind = \"graph\"\nedges = [{{ from = \"a\", to = \"{name}\", rate = \"1Mbit/s\" }}]"
            ),
            "`path` has a name of 201 bytes that begins with `xxxxxxxxxxxxxxxxxxxx`; at most 200 bytes are \
             allowed"
                .to_owned(),
        ),
    ] {
        assert!(TEN_LINES.contains(from), "{from}");
        let met = message(&TEN_LINES.replacen(from, &to, 1), &[]);
        assert!(met.ends_with(&expected) && met != "no error", "{met}\nshould end with\n{expected}");
    }
    let three = TEN_LINES.replacen("tcp =", "c = \"sack\"\ntcp =", 1).replacen("seed = 1", repeated, 1);
    assert_eq!(
        message(&three, &[]),
        "100000 seeds for 3 stacks make 300000 runs; at most 200000 are allowed"
    );
}
