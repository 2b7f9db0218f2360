use std::ops::ControlFlow;

use ackclock_sim::scenario::{Results, run};
use ackclock_trace::FlowRow;

use super::{NAMED_STACKS, TEN_LINES, resolved, results};

fn of_run<'a>(r: &'a Results, run: &str) -> Vec<&'a FlowRow> {
    r.flows.iter().filter(|f| &*f.run == run).collect()
}

#[test]
fn any_number_of_workers_gives_the_same() {
    let scenario = resolved(TEN_LINES, &[("repeat", "2"), ("duration", "2s"), ("trace", "[\"episodes\"]")]);
    let one = results(&scenario, 1);
    assert_eq!(
        one.runs.iter().map(|r| r.label.as_str()).collect::<Vec<_>>(),
        ["tcp #1", "tcp #2", "no backoff #1", "no backoff #2"]
    );
    for workers in [0, 2, 3, 16] {
        let many = results(&scenario, workers);
        assert_eq!(
            (&one.flows, &one.links, &one.runs, &one.events),
            (&many.flows, &many.links, &many.runs, &many.events)
        );
    }
}

#[test]
fn every_stack_meets_the_same_arrivals_sizes_and_round_trips() {
    let scenario = resolved(TEN_LINES, &[]);
    let r = results(&scenario, 2);
    let drawn = |run| {
        of_run(&r, run).iter().map(|f| (f.start, f.size, f.path_rtt, f.client.clone())).collect::<Vec<_>>()
    };
    assert!(drawn("tcp").len() > 1500);
    assert_eq!(drawn("tcp"), drawn("no backoff"));
}

#[test]
fn another_workload_changes_no_draw() {
    // Two workloads, each over its own bottleneck: neither affects the other.
    let both = r#"
duration = "20s"
[path]
kind = "graph"
edges = [
    { from = "a", to = "b", rate = "1Mbit/s", delay = "10ms", faults = [{ kind = "loss", p = 0.05 }] },
    { from = "c", to = "d", rate = "1Mbit/s", delay = "10ms" },
]
[[workload]]
kind = "web"
load = 0.5
client = "d"
server = "c"
[[workload]]
kind = "telnet"
flows = 5
think = "200ms"
client = "a"
server = "b"
[stacks]
tcp = "sack"
"#;
    let alone =
        both.replacen("[[workload]]\nkind = \"web\"\nload = 0.5\nclient = \"d\"\nserver = \"c\"\n", "", 1);
    let telnet = |text: &str| {
        let r = results(&resolved(text, &[]), 1);
        let rows = r.flows.into_iter().filter(|f| &*f.group == "telnet");
        rows.map(|f| FlowRow { flow: 0, ..f }).collect::<Vec<_>>()
    };
    assert_ne!(alone, both);
    assert_eq!(telnet(both), telnet(&alone));
    assert_eq!(telnet(both).len(), 5);
}

#[test]
fn a_client_that_closes_first_transfers_the_same() {
    let run = |closes: &str| {
        let text =
            TEN_LINES.replacen("kind = \"web\"\n", &format!("kind = \"web\"\ncloses = \"{closes}\"\n"), 1);
        results(&resolved(&text, &[("duration", "2s")]), 1).flows
    };
    let (server, client) = (run("server"), run("client"));
    assert_eq!(server, results(&resolved(TEN_LINES, &[("duration", "2s")]), 1).flows);
    let sizes = |flows: &[FlowRow]| flows.iter().map(|f| (f.start, f.size)).collect::<Vec<_>>();
    assert_eq!(sizes(&server), sizes(&client));
    // Without the wait for a FIN behind the last byte nothing is later.
    let done = client.iter().filter(|f| f.response_time.is_some()).count();
    assert!(done > 0 && done >= server.iter().filter(|f| f.response_time.is_some()).count());
}

#[test]
fn a_request_that_says_how_much_it_wants_is_served() {
    let text = r#"
duration = "5s"
path = { kind = "single", link = { rate = "1Mbit/s", delay = "20ms" } }
workload = { kind = "request", response = "20kB", flows = 3 }
[stacks]
tcp = "linux"
"#;
    let flows = results(&resolved(text, &[]), 1).flows;
    let took: Vec<_> = flows.iter().filter_map(|f| f.response_time).collect();
    assert_eq!(took.len(), 3);
    // 60,000 bytes take half a second at this rate.
    assert!(took.iter().all(|t| (0.2..0.8).contains(&t.as_secs_f64())), "{took:?}");
}

#[test]
fn seeds_differ_and_repeat() {
    let run = |seed| results(&resolved(TEN_LINES, &[("seed", seed), ("duration", "1s")]), 1).flows;
    assert_eq!(run("5"), run("5"));
    assert_ne!(run("5"), run("6"));
}

#[test]
fn a_workload_keeps_the_stack_that_it_names() {
    let stacks = |r: &Results| {
        r.flows
            .iter()
            .map(|f| (f.run.to_string(), f.group.to_string(), f.stack.to_string()))
            .collect::<Vec<_>>()
    };
    let row = |run: &str, group: &str, stack: &str| (run.to_owned(), group.to_owned(), stack.to_owned());
    let scenario = resolved(NAMED_STACKS, &[]);
    let all = results(&scenario, 1);
    assert_eq!(stacks(&all), [row("all", "old", "old"), row("all", "new", "new"), row("all", "new", "new")]);
    let summaries: Vec<_> =
        all.summaries(&scenario).into_iter().map(|s| (s.stack, s.flows_started)).collect();
    assert_eq!(summaries, [("new".to_owned(), 2), ("old".to_owned(), 1)]);
    // The stack that no workload names is under comparison, and the named one is in each run.
    let compared = NAMED_STACKS.replacen("stack = \"new\"\nflows = 2\n", "", 1).replacen(
        "new = \"reno\"",
        "new = \"reno\"\nsack = \"sack\"",
        1,
    );
    let each = results(&resolved(&compared, &[]), 1);
    assert_eq!(
        stacks(&each),
        [
            row("new", "old", "old"),
            row("new", "new", "new"),
            row("sack", "old", "old"),
            row("sack", "new", "sack")
        ]
    );
    let mixed = results(&resolved(&compared, &[("mix", "{ new = 0.0, sack = 1.0 }")]), 1);
    assert_eq!(stacks(&mixed), [row("mix", "old", "old"), row("mix", "new", "sack")]);
}

#[test]
fn a_mix_shares_one_run_and_a_larger_share_keeps_its_flows() {
    let stack_of = |shares: &str| {
        let scenario = resolved(TEN_LINES, &[("mix", shares)]);
        let r = results(&scenario, 1);
        assert_eq!(r.runs.len(), 1);
        let summaries = r.summaries(&scenario);
        assert_eq!(summaries.len(), 2);
        assert_eq!(summaries.iter().map(|s| s.flows_started).sum::<u64>(), r.flows.len() as u64);
        r.flows.iter().map(|f| f.stack.to_string()).collect::<Vec<_>>()
    };
    let (few, many) =
        (stack_of("{ tcp = 0.1, \"no backoff\" = 0.9 }"), stack_of("{ tcp = 0.6, \"no backoff\" = 0.4 }"));
    let share =
        |stacks: &[String]| stacks.iter().filter(|s| *s == "tcp").count() as f64 / stacks.len() as f64;
    assert!((share(&few) - 0.1).abs() < 0.03 && (share(&many) - 0.6).abs() < 0.04);
    assert!(
        few.iter().zip(&many).all(|(a, b)| a != "tcp" || b == "tcp"),
        "a flow that uses tcp with a share of 10 % does so with 60 %"
    );
}

#[test]
fn realised_mean_and_load_are_near_the_configured_ones() {
    let scenario = resolved(TEN_LINES, &[("duration", "60s"), ("workload.load", "0.5")]);
    let r = results(&scenario, 2);
    for s in r.summaries(&scenario) {
        let (mean, load) = (s.mean_size.unwrap(), s.load.unwrap());
        assert!((mean / 3351.19 - 1.0).abs() < 0.03, "mean {mean}");
        assert!((load / 0.5 - 1.0).abs() < 0.05, "load {load}");
        assert_eq!(s.flows_started, s.flows_finished + s.flows_failed + s.flows_unfinished);
    }
}

#[test]
fn a_load_that_counts_headers_is_the_utilisation() {
    // Half of 10 Mbit/s, headers of 40 bytes included: apart from handshakes and FINs, the bottleneck is busy
    // for half of the time.
    let text = TEN_LINES
        .replace("trace = \"I\"", "sizes = { kind = \"fixed\", bytes = \"14600B\" }\nload_counts = \"wire\"")
        .replace("1.2", "0.5");
    let scenario = resolved(&text, &[("duration", "60s")]);
    for s in results(&scenario, 2).summaries(&scenario) {
        let busy = s.utilisation.unwrap();
        assert!((busy - 0.5).abs() < 0.03, "busy {busy}");
    }
}

#[test]
fn a_drained_run_leaves_nothing_unfinished() {
    let scenario = resolved(TEN_LINES, &[("workload.load", "0.3"), ("drain", "300s")]);
    let r = results(&scenario, 2);
    assert!(
        r.runs.iter().all(|run| run.simulated < scenario.duration() + scenario.drain()),
        "it ends when the last flow has"
    );
    for s in r.summaries(&scenario) {
        assert_eq!((s.flows_unfinished, s.flows_started), (0, s.flows_finished + s.flows_failed));
    }
    assert!(r.flows.iter().all(|f| f.start.since(ackclock_units::Instant::ZERO) < scenario.duration()));
}

#[test]
fn a_lossy_link_loses_its_share() {
    let sets = [
        ("path.bottleneck.faults", "[{ kind = \"loss\", p = 0.02 }]"),
        ("path.bottleneck.queue", "drop-tail"),
        ("workload.load", "0.2"),
        ("duration", "60s"),
    ];
    let scenario = resolved(TEN_LINES, &sets);
    for s in results(&scenario, 2).summaries(&scenario) {
        let loss = s.loss.unwrap();
        assert!((loss - 0.02).abs() < 0.003, "loss {loss}");
    }
}

#[test]
fn backoff_rounds_are_counted() {
    let scenario = resolved(TEN_LINES, &[("duration", "20s"), ("drain", "30s")]);
    let r = results(&scenario, 2);
    for s in r.summaries(&scenario) {
        assert!(s.timeouts > 100 && s.timeouts_by_round[1] > 0, "{s:?}");
        // The last one collects all further rounds.
        assert!(s.timeouts_by_round[..7].windows(2).all(|w| w[0] >= w[1]), "{s:?}");
        assert_eq!(s.timeouts, s.timeouts_by_round.iter().sum::<u64>());
    }
}

#[test]
fn a_run_can_be_stopped() {
    let scenario = resolved(TEN_LINES, &[("duration", "2000s")]);
    let stopped = run(
        &scenario,
        |p| if p.flows_started > 100 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) },
        2,
    );
    assert!(stopped.unwrap().is_none());
}

#[test]
fn sizes_can_come_from_a_file() {
    let sets = [
        ("workload.sizes", "{ kind = \"cdf\", file = \"web-sizes.cdf\" }"),
        ("workload.trace", "II"),
        ("workload.load", "0.3"),
        ("duration", "60s"),
    ];
    let scenario = resolved(TEN_LINES, &sets);
    assert!(scenario.to_toml().contains("points = [[200, 0.1], "), "the resolved scenario needs no file");
    let r = results(&scenario, 2);
    let sizes: Vec<_> = r.flows.iter().filter_map(|f| f.size).collect();
    let small = sizes.iter().filter(|s| **s <= 1000).count() as f64 / sizes.len() as f64;
    assert!(sizes.len() > 1000 && (small - 0.3).abs() < 0.03, "{small} of {}", sizes.len());
    assert!(sizes.iter().all(|s| (200..=1_000_000).contains(s)));
}

#[test]
fn peers_fetch_from_one_another() {
    // B-A11: endless files from random peers.
    let text = r#"
duration = "2s"
[path]
kind = "graph"
edges = [{ from = "a", to = "hub", rate = "1Mbit/s", delay = "5ms" }, { from = "b", to = "hub", rate = "1Mbit/s", delay = "5ms" }, { from = "c", to = "hub", rate = "1Mbit/s", delay = "5ms" }]
[workload]
kind = "bulk"
flows = 15
client = ["a", "b", "c"]
server = ["a", "b", "c"]
[stacks]
tcp = "sack"
"#;
    let r = results(&resolved(text, &[]), 1);
    assert_eq!(r.flows.len(), 15);
    assert!(r.flows.iter().all(|f| f.client != f.server && f.bytes_delivered > 0));
    // `per_server` flows to each, from different clients.
    let r = results(&resolved(text, &[("workload.per_server", "2")]), 1);
    let mut pairs: Vec<_> = r.flows.iter().map(|f| (f.server.to_string(), f.client.to_string())).collect();
    pairs.sort();
    let all = [("a", "b"), ("a", "c"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "b")];
    assert_eq!(pairs, all.map(|(s, c)| (s.to_owned(), c.to_owned())));
}

const BULK: &str = r#"
duration = "60s"
warmup = "20s"
[path]
kind = "dumbbell"
rtt = "50ms"
bottleneck = { rate = "10Mbit/s", queue = { kind = "red", limit = "200packets", target_delay = "20ms" } }
[workload]
kind = "bulk"
flows = 20
spread = "1s"
[stacks]
tcp = "sack"
"#;

#[test]
fn self_tuning_red_holds_its_target_delay() {
    let delay = |sets: &[(&str, &str)]| {
        let scenario = resolved(BULK, sets);
        let r = results(&scenario, 1);
        let s = &r.summaries(&scenario)[0];
        assert!(s.utilisation.unwrap() > 0.97, "{s:?}");
        r.links[0].queue_mean_delay.unwrap().as_secs_f64() * 1e3
    };
    let (tuned, tight) = (delay(&[]), delay(&[("path.bottleneck.queue.target_delay", "40ms")]));
    assert!((15.0..26.0).contains(&tuned), "{tuned} ms");
    assert!((30.0..52.0).contains(&tight), "{tight} ms");
}

#[test]
fn red_marks_capable_stacks_in_place_of_dropping() {
    let scenario = resolved(BULK, &[("path.bottleneck.queue.ecn", "true"), ("stacks.marked", "sack+ecn")]);
    let r = results(&scenario, 2);
    let s = r.summaries(&scenario);
    let marked: Vec<_> = r.links.iter().filter(|l| &*l.name == "bottleneck").map(|l| l.marked).collect();
    assert!(marked[0] == 0 && marked[1] > 100, "{marked:?}");
    let early: Vec<_> = r
        .links
        .iter()
        .filter(|l| &*l.name == "bottleneck")
        .map(|l| (l.dropped_early, l.dropped_queue))
        .collect();
    assert!(
        early.iter().all(|(early, all)| early.is_some_and(|e| e <= *all)) && early[0].0 > Some(0),
        "{early:?}"
    );
    assert!(s[1].loss.unwrap() < s[0].loss.unwrap() / 4.0, "{s:?}");
    assert!(s[1].retransmitted_segments < s[0].retransmitted_segments / 4, "{s:?}");
}

#[test]
fn datagrams_push_tcp_aside() {
    let more = BULK
        .replace("[workload]", "[[workload]]")
        .replace("[stacks]", "[[workload]]\nkind = \"udp\"\nrate = \"6Mbit/s\"\nbytes = \"1000B\"\n[stacks]");
    let scenario =
        resolved(&more, &[("path.bottleneck.queue", "{ kind = \"drop-tail\", limit = \"1bdp\" }")]);
    let r = results(&scenario, 1);
    let udp: Vec<_> = r.flows.iter().filter(|f| f.protocol == "udp").collect();
    assert_eq!(udp.len(), 1);
    // Counted from the end of the warm-up on.
    let rate = udp[0].bytes_sent as f64 * 8.0 / 40.0 / 1e6;
    assert!((rate - 6.0).abs() < 0.01, "{rate} Mbit/s sent");
    let tcp: u64 = r.flows.iter().filter(|f| f.protocol == "tcp").map(|f| f.bytes_delivered).sum();
    let share = tcp as f64 * 8.0 / 40.0 / 1e6;
    assert!((2.8..4.9).contains(&share), "{share} Mbit/s of TCP");
}
