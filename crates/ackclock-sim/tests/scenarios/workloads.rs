//! Workloads whose connections carry more than one transfer.

use std::fs;

use ackclock_policy::Registry;
use ackclock_sim::scenario::{Files, Results, Scenario};
use ackclock_trace::Outcome;
use ackclock_units::{Duration, Instant};

use super::{examples, resolved, results};

/// A path of 1 Gbit/s and 200 us with `workload` over it, from a server at the sender's side.
fn scenario(workload: &str) -> String {
    format!(
        "duration = \"5s\"\n[path]\nkind = \"single\"\nrtt = \"200us\"\nlink = {{ rate = \"1Gbit/s\", queue = {{ \
         kind = \"drop-tail\", limit = \"64KiB\" }} }}\n{workload}\n[stacks]\ntcp = \"sack+no-nagle\"\n"
    )
}

fn run(text: &str, sets: &[(&str, &str)]) -> Results {
    let whole = resolved(text, sets);
    assert_eq!(resolved(&whole.to_toml(), &[]), whole, "it reads back the same");
    let one = results(&whole, 1);
    let three = results(&whole, 3);
    assert_eq!(format!("{:?}", one.exchanges), format!("{:?}", three.exchanges));
    assert_eq!(format!("{:?}", one.rounds), format!("{:?}", three.rounds));
    assert_eq!(format!("{:?}", one.playbacks), format!("{:?}", three.playbacks));
    assert_eq!(one.flows, three.flows);
    one
}

#[test]
fn bulk_flows_begin_and_stop_at_their_times() {
    let text = scenario(
        "[[workload]]\nkind = \"bulk\"\nname = \"early\"\nflows = 2\nstop = \"1s\"\n\
         [[workload]]\nkind = \"bulk\"\nname = \"late\"\nstart = \"2s\"\nstop = \"3s\"\n",
    );
    let r = run(&text, &[]);
    assert_eq!(r.flows.len(), 3);
    for f in &r.flows {
        assert_eq!((f.outcome, f.size), (Outcome::Finished, None));
        let stop = Instant::ZERO + Duration::from_secs(if &*f.group == "early" { 1 } else { 3 });
        // What the send buffer held at `stop` is still sent.
        let over = f.end.unwrap().since(stop);
        assert!(f.end.unwrap() > stop && over < Duration::from_millis(500), "{over:?}");
        assert!(f.bytes_delivered > 10_000_000 && f.bytes_delivered == f.bytes_acked);
    }
}

#[test]
fn a_persistent_connection_carries_its_requests_one_after_the_other() {
    let text = scenario(
        "[workload]\nkind = \"http\"\nflows = 20\nrequests = 8\nresponse = \"20kB\"\nthink = \"20ms\"\n\
         response_distribution = \"pareto\"\nspread = \"1s\"\n",
    );
    let r = run(&text, &[]);
    assert_eq!((r.flows.len(), r.exchanges.len()), (20, 160));
    for f in &r.flows {
        assert_eq!((f.outcome, f.responses, f.sender.word()), (Outcome::Finished, 8, "server"));
        let own: Vec<_> = r.exchanges.iter().filter(|e| e.flow == f.flow).collect();
        assert!(own.iter().zip(0..).all(|(e, n)| e.number == n && &*e.group == "http"));
        // Every byte asked for arrives, and nothing else.
        assert_eq!(own.iter().map(|e| e.bytes).sum::<u64>(), f.bytes_delivered);
        assert!(own.windows(2).all(|w| w[0].start + w[0].response_time <= w[1].start), "one after the other");
        assert!(own.iter().all(|e| e.response_time >= Duration::from_micros(200)), "at least a round trip");
        let mean = own.iter().map(|e| e.response_time.as_nanos()).sum::<u64>() / 8;
        assert_eq!(f.response_time.unwrap().as_nanos(), mean);
    }
    // Other workloads do not change the draws.
    let beside = format!("{}\n", text.replace("[workload]", "[[workload]]"))
        .replace("[stacks]", "[[workload]]\nkind = \"http\"\nname = \"other\"\nflows = 3\n[stacks]");
    let both = run(&beside, &[]);
    let sizes =
        |r: &Results| r.exchanges.iter().filter(|e| &*e.group == "http").map(|e| e.bytes).sum::<u64>();
    assert_eq!(sizes(&both), sizes(&r));
}

#[test]
fn a_round_of_a_fan_in_begins_when_the_one_before_is_complete() {
    let text = scenario(
        "[workload]\nkind = \"fan-in\"\nflows = 4\nrounds = 6\nresponse = \"8kB\"\npause = \"3ms\"\n",
    );
    let r = run(&text, &[]);
    assert_eq!((r.flows.len(), r.exchanges.len(), r.rounds.len()), (4, 24, 6));
    assert!(r.flows.iter().all(|f| f.outcome == Outcome::Finished && f.bytes_delivered == 48_000));
    for (n, round) in (0..).zip(&r.rounds) {
        assert_eq!((round.round, round.responses, round.bytes), (n, 4, 32_000));
        // 32 kB and headers at 1 Gbit/s, and a round trip at least.
        assert!(round.completion_time > Duration::from_micros(456), "{round:?}");
        assert!(round.completion_time < Duration::from_millis(2), "{round:?}");
    }
    let pauses = r.rounds.windows(2).map(|w| w[1].start.since(w[0].start + w[0].completion_time));
    assert!(pauses.into_iter().all(|pause| pause == Duration::from_millis(3)));
}

#[test]
fn a_flow_that_fails_is_not_waited_for() {
    // The second flow begins during an outage and gives up; until then the first waits for it.
    let text = scenario(
        "[workload]\nkind = \"fan-in\"\nflows = 2\nstart = \"0s\"\nstagger = \"1s\"\nresponse = \"8kB\"\n",
    )
    .replace(
        "link = { rate",
        "link = { faults = [{ kind = \"outage\", from = \"900ms\", until = \"6s\" }], rate",
    );
    let r = run(&text, &[("syn_retries", "1"), ("duration", "20s")]);
    let failed: Vec<_> = r.flows.iter().filter(|f| f.outcome == Outcome::Failed).collect();
    assert_eq!((r.flows.len(), failed.len()), (2, 1), "{:?}", r.flows);
    assert!(
        r.rounds.len() > 100 && r.rounds.iter().all(|round| round.responses == 1),
        "{:?}",
        r.rounds.len()
    );
}

#[test]
fn a_video_plays_without_a_stall_where_the_rate_suffices() {
    let text =
        scenario("[workload]\nkind = \"video\"\nlevels = 1\nbitrate = \"1Mbit/s\"\nlength = \"60s\"\n");
    let r = run(&text, &[("path.link.rate", "2Mbit/s"), ("duration", "60s")]);
    let [p] = r.playbacks.as_slice() else { panic!("{:?}", r.playbacks) };
    assert_eq!((p.chunks, p.bytes, p.stalls, p.switches), (15, 15 * 500_000, 0, 0));
    assert_eq!((p.bitrate.unwrap().bits_per_sec(), p.rebuffering), (1_000_000, Some(0.0)));
    assert_eq!((p.played, p.buffer), (Duration::from_secs(60), Duration::ZERO));
    // A chunk of 500 kB at 2 Mbit/s, with headers.
    let startup = p.startup_delay.unwrap().as_secs_f64();
    assert!((2.0..2.3).contains(&startup), "{startup}");
    assert_eq!(r.exchanges.len(), 15);
    assert!(r.exchanges.iter().all(|e| e.bytes == 500_000));
}

#[test]
fn a_video_above_the_rate_of_its_path_stalls_for_the_missing_share() {
    // A bitrate of 2 Mbit/s over a link of 1 Mbit/s: with 40 bytes of headers in 1500, each chunk of 4 s
    // takes 4 s * 2 * 1500/1460 = 8.22 s, so that 4.22 s of each such time are a stall.
    let text = scenario("[workload]\nkind = \"video\"\nlevels = 1\nbitrate = \"2Mbit/s\"\n");
    let r = run(&text, &[("path.link.rate", "1Mbit/s"), ("duration", "400s")]);
    let [p] = r.playbacks.as_slice() else { panic!("{:?}", r.playbacks) };
    assert_eq!((p.chunks, p.stalls), (48, 47), "{p:?}");
    let rebuffering = p.rebuffering.unwrap();
    assert!((rebuffering - 4.22 / 8.22).abs() < 0.01, "{rebuffering}");
    // Start-up, playing and stalls make up the run.
    let all = p.startup_delay.unwrap() + p.played + p.stalled;
    assert!((all.as_secs_f64() - 400.0).abs() < 0.1, "{all:?}");
}

#[test]
fn a_video_takes_the_bitrate_that_its_path_has() {
    let text = scenario("[workload]\nkind = \"video\"\nlength = \"1h\"\n");
    let sets = |rate| [("path.link.rate", rate), ("duration", "1500s"), ("warmup", "700s")];
    let r = run(&text, &sets("3Mbit/s"));
    let [p] = r.playbacks.as_slice() else { panic!("{:?}", r.playbacks) };
    assert_eq!(p.stalls, 0);
    let bitrate = p.bitrate.unwrap().bits_per_sec() as f64;
    // The payload's share of 3 Mbit/s is 2.9; the buffer settles where the two bitrates around it alternate.
    assert!((2.6e6..2.95e6).contains(&bitrate), "{bitrate}");
    // One window: from the warm-up on.
    assert!((p.played.as_secs_f64() - 800.0).abs() < 1.0, "{p:?}");
    assert!(
        r.exchanges.iter().all(|e| e.start + e.response_time >= Instant::ZERO + Duration::from_secs(700))
    );
}

#[test]
fn a_log_gives_times_sizes_classes_and_stacks() {
    let listed = scenario(
        "[workload]\nkind = \"log\"\ntransfers = [[\"0s\", 5000], [\"1.25s\", 700], [\"1.25s\", 90000]]\nstart = \"1s\"\n",
    );
    let r = run(&listed, &[]);
    let seen: Vec<_> = r
        .flows
        .iter()
        .map(|f| (f.start.since(Instant::ZERO).as_nanos(), f.size, f.bytes_delivered))
        .collect();
    let ms = 1_000_000;
    let expected = [(1000 * ms, 5000), (2250 * ms, 700), (2250 * ms, 90_000)];
    assert_eq!(seen, expected.map(|(at, n)| (at, Some(n), n)));
    assert!(r.flows.iter().all(|f| f.outcome == Outcome::Finished && f.response_time.is_some()));
    // A file with classes and stacks: a workload for each pair.
    let text = scenario("[workload]\nkind = \"log\"\nfile = \"requests.csv\"\n")
        .replace("tcp = \"sack+no-nagle\"", "web = \"cubic\"\nbackup = \"reno\"");
    let r = run(&text, &[("duration", "100s")]);
    let classes: std::collections::BTreeSet<_> =
        r.flows.iter().map(|f| (f.group.to_string(), f.stack.to_string())).collect();
    let expected = [("backup", "backup"), ("page", "web"), ("video", "web")];
    assert_eq!(classes.into_iter().collect::<Vec<_>>(), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

/// Goodput (Mbit/s) of a fan-in from `servers` servers with this smallest timeout, and its timeouts.
fn incast(servers: u32, min_rto: &str) -> (f64, u32) {
    let text = fs::read_to_string(examples().join("incast.toml")).unwrap();
    let names: Vec<_> = (1..=servers).map(|n| format!("\"s{n}\"")).collect();
    let list = format!("[{}]", names.join(", "));
    let sets = [("workload.server", list.as_str()), ("duration", "3s"), ("warmup", "0s")];
    let whole = resolved(&text, &sets);
    let r = results(&whole, 2);
    let of =
        |stack: &str| -> Vec<_> { r.rounds.iter().filter(|round| &*round.stack == stack).cloned().collect() };
    let rounds = of(min_rto);
    let (bytes, time): (u64, f64) =
        rounds.iter().fold((0, 0.0), |(b, t), r| (b + r.bytes, t + r.completion_time.as_secs_f64()));
    assert!(rounds.iter().all(|round| round.responses == servers));
    let timeouts = r.flows.iter().filter(|f| &*f.stack == min_rto).map(|f| f.timeouts).sum();
    (bytes as f64 * 8.0 / time / 1e6, timeouts)
}

#[test]
fn incast_collapses_with_a_minimum_of_200_ms_and_recovers_with_1_ms() {
    // Phanishayee et al. (FAST 2008) and Vasudevan et al. (SIGCOMM 2009): with a minimum timeout of 200 ms
    // the goodput of synchronised reads falls by up to 90 % as servers are added, since one timeout idles the
    // link; with a minimum of 1 ms or less it does not.
    let (alone, _) = incast(1, "min RTO 200 ms");
    assert!(alone > 850.0, "{alone}");
    for servers in [8, 32] {
        let (collapsed, timeouts) = incast(servers, "min RTO 200 ms");
        assert!(timeouts > 0 && collapsed < alone / 5.0, "{servers} servers: {collapsed} of {alone}");
        let (recovered, also) = incast(servers, "min RTO 1 ms");
        assert!(also > 0, "the timeouts are still there, but short");
        assert!(recovered > 4.0 * collapsed && recovered > alone / 2.0, "{servers} servers: {recovered}");
    }
}

#[test]
fn wrong_keys_of_workloads_are_refused_with_what_would_do() {
    let cases = [
        ("bulk", "stop = \"0s\"", "`workload.stop` is `0s`, which is not between 1ns and 100000000s"),
        (
            "bulk",
            "start = \"1s\"\nstagger = \"1s\"\nflows = 5\nstop = \"4s\"",
            "`workload.stop` is `4s`, which is not after the start of the last flow, which may be at `5s`",
        ),
        ("http", "requests = 0", "`workload.requests` is `0`, which is not between 1 and inf"),
        (
            "http",
            "peer = \"sink\"",
            "`workload.peer` is `sink`, which does not respond to the requests of `http`: give one that does, \
             such as `serve`",
        ),
        (
            "http",
            "think_distribution = \"uniform\"",
            "`workload.think_distribution` is `uniform`, which is not one of fixed, exponential, lognormal, pareto",
        ),
        ("http", "response_shape = 1", "`workload.response_shape` is `1`, which is not between 1.01 and 100"),
        ("fan-in", "round = 3", "`workload.round` is not a known key (did you mean `rounds`?)"),
        (
            "fan-in",
            "response = \"0B\"",
            "`workload.response` is `0B`, which is not between 1B and 1099511627776B",
        ),
        ("video", "chunk = \"1ns\"", "`workload.chunk` is `1ns`, which is not between 1ms and 86400s"),
        ("video", "levels = 65", "`workload.levels` is `65`, which is not between 1 and 64"),
        (
            "log",
            "",
            "`workload.transfers` is missing: give a list of `[time, bytes]`, or a `file` with these columns",
        ),
        ("log", "transfers = []", "`workload.transfers` is a list of 0; 1 to 100000 are allowed"),
        (
            "log",
            "transfers = [[\"2s\", 5], [\"1s\", 5]]",
            "`workload.transfers` has a time before the one above it",
        ),
        (
            "log",
            "transfers = [[\"1s\", 5.5]]",
            "`workload.transfers` is not a list of `[time, bytes]` such as `[\"1.5s\", 4000]`",
        ),
        (
            "log",
            "file = \"../x.csv\"",
            "`workload.file` is `../x.csv`, which lies outside the scenario's folder",
        ),
        ("log", "file = \"requests.csv\"", "requests.csv:2: column 4: `stack` is not one of `[stacks]`: tcp"),
    ];
    for (kind, keys, expected) in cases {
        let text = scenario(&format!("[workload]\nkind = \"{kind}\"\n{keys}\n"));
        let parsed = Scenario::parse_with(&text, &[]).unwrap();
        let e =
            parsed.resolve_with(&Registry::builtin(), &Files::in_folder(examples())).unwrap_err().to_string();
        assert!(e.contains(expected), "{keys}: {e}");
    }
}

#[test]
fn what_may_leave_does_not_wait_for_the_application() {
    let text = "duration = \"5s\"\npath = { kind = \"single\", link = { rate = \"10Mbit/s\", delay = \"10ms\" \
                } }\nworkload = { kind = \"log\", transfers = [[\"1s\", 1000]], request = \"300B\" }\nstacks.tcp = { preset = \
                \"reno\", nagle = false }";
    let counts = |eager: &str| {
        let found = results(&resolved(text, &[("stacks.tcp.eager_send", eager)]), 1);
        let flow = &found.flows[0];
        assert_eq!(flow.outcome, Outcome::Finished);
        (found.links.iter().map(|l| l.packets_offered).collect::<Vec<_>>(), flow.response_time.unwrap())
    };
    let (patient, patient_time) = counts("false");
    let (eager, eager_time) = counts("true");
    // From the server: SYN-ACK, response with FIN, ack of the FIN; from the client: SYN, request, FIN.
    assert_eq!(patient, [3, 3]);
    // The server's FIN is a segment of its own; the client completes the handshake before its request, and
    // acknowledges the server's FIN before its own.
    assert_eq!(eager, [4, 5]);
    assert!(eager_time < patient_time + Duration::from_millis(1), "{eager_time:?} {patient_time:?}");
}
