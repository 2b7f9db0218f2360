//! Elements of links in scenarios: policers, shapers, schedules, packet-delivery traces.

use std::fs;
use std::path::PathBuf;

use ackclock_policy::Registry;
use ackclock_sim::scenario::{Files, Resolved, Scenario};
use ackclock_units::Rate;

use super::{examples, resolved, results};

/// A scenario whose link has these keys besides a delay.
fn with(link: &str) -> String {
    format!(
        "duration = \"10s\"\n[path]\nkind = \"single\"\n[path.link]\ndelay = \
         \"10ms\"\n{link}\n[workload]\nkind = \"bulk\"\n[stacks]\ntcp = \"cubic\"\n"
    )
}

fn resolve(text: &str, files: &Files) -> Result<Resolved, String> {
    Scenario::parse(text).and_then(|s| s.resolve_with(&Registry::builtin(), files)).map_err(|e| e.to_string())
}

/// A folder with one file, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, file: &str, text: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ackclock-elements-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(file), text).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Keys of a link that are refused.
const WRONG: &[&str] = &[
    "mtu = \"67B\"",
    "rate = \"1Mbit/s\"\nmtu = 1500",
    "shaper = { rate = \"1Mbit/s\" }",
    "rate = \"1Gbit/s\"\nshaper = { burst = \"9kB\" }",
    "rate = \"1Gbit/s\"\nshaper = { rate = \"1Mbit/s\", limit = \"9kB\" }",
    "rate = \"1Gbit/s\"\npolicer = { rate = \"0bit/s\" }",
    "rate = \"1Gbit/s\"\npolicer = { rate = \"1Mbit/s\", burst = \"-1B\" }",
    "rate = \"1Gbit/s\"\npolicer = { rate = \"1Mbit/s\", action = \"shape\" }",
    "rate = \"1Gbit/s\"\npolicer = { rate = \"1Mbit/s\", burst = \"40B\", overhead = \"40B\" }",
    "schedule = {}",
    "schedule = { points = [] }",
    "schedule = { points = 3 }",
    "schedule = { points = [{ rate = \"1Mbit/s\" }] }",
    "schedule = { points = [{ at = \"1s\" }] }",
    "schedule = { points = [{ at = \"2s\", loss = 0 }, { at = \"1s\", loss = 0 }] }",
    "schedule = { repeat = \"1s\", points = [{ at = \"2s\", loss = 0 }] }",
    "schedule = { points = [{ at = \"1s\", loss = nan }] }",
    "schedule = { points = [{ at = \"1s\", rate = \"-1bit/s\" }] }",
    "schedule = { points = [{ at = \"1s\", rate = \"1Mbit/s\" }], file = \"x.csv\" }",
    "schedule = { file = \"nowhere.csv\" }",
    "schedule = { file = \"leo.toml\" }",
    "mahimahi = {}",
    "mahimahi = { times = [] }",
    "mahimahi = { times = [0, 0] }",
    "mahimahi = { times = [5, 4] }",
    "mahimahi = { times = [1, -2] }",
    "mahimahi = { times = \"1 2 x\" }",
    "mahimahi = { times = [1], size = \"40B\", overhead = \"40B\" }",
    "mahimahi = { file = \"leo.toml\" }",
    "mahimahi = { times = [1] }\nschedule = { points = [{ at = \"1s\", rate = \"1Mbit/s\" }] }",
    "jitter = { distribution = \"gamma\" }",
    "jitter = { shape = 1 }",
    "jitter = { points = [[1, 0.5], [0, 1]] }",
    "jitter = { points = [3] }",
    "jitter = { mean = \"1ms\", points = [[1, 1]] }",
    "jitter = { file = \"leo.toml\" }",
    "rate = \"1Gbit/s\"\nfaults = [\"gilbert\"]",
    "rate = \"1Gbit/s\"\nfaults = [{ kind = \"gilbert-elliott\", p = 1.5 }]",
    "rate = \"1Gbit/s\"\nfaults = [{ kind = \"batch\", every = \"0s\" }]",
];

#[test]
fn wrong_elements_are_refused_with_place_and_values() {
    let files = Files::in_folder(examples());
    let errors = WRONG.iter().map(|link| {
        let met = resolve(&with(link), &files).expect_err(link);
        format!("{}\n    {met}\n", link.replace('\n', "; "))
    });
    insta::assert_snapshot!(errors.collect::<String>());
}

#[test]
fn wrong_lines_of_a_schedule_are_refused_without_being_quoted() {
    let texts = [
        "",
        "at, rate\n",
        "rate\n1Mbit/s\n",
        "at,at\n",
        "at,rate [Mbit/s\n",
        "at,rate\n1s\n",
        "at,rate\n\n# none\n1s,secret\n",
        "at,rate [Mbit/s]\n1s,NaN\n",
        "at [s],delay [ms]\n1,1\n-1,1\n",
        "at [s],loss\n1,1.5\n",
        "at [s],loss\n2,0.5\n1,0.5\n",
        "at [s],rate [Mbit/s]\n1e300,1\n",
        "at [s],rate\n1,12\n",
        "at [s],rate [parsecs]\n1,12\n",
    ];
    let errors = texts.iter().enumerate().map(|(n, text)| {
        let folder = Folder::with(&format!("wrong{n}"), "x.csv", text);
        let met = resolve(&with("schedule = { file = \"x.csv\" }"), &Files::in_folder(&folder.0));
        format!("{text:?}\n    {}\n", met.expect_err(text))
    });
    insta::assert_snapshot!(errors.collect::<String>());
}

#[test]
fn a_wrong_line_of_a_trace_has_its_number_and_the_value() {
    let texts = ["5\n\n-3\n", "5\n1.5\n", "1\nsecret\n", "7\n\n9\n8\n", "4294967296\n", "0\n", "\n"];
    let errors = texts.iter().enumerate().map(|(n, text)| {
        let folder = Folder::with(&format!("trace{n}"), "x.trace", text);
        let met = resolve(&with("mahimahi = { file = \"x.trace\" }"), &Files::in_folder(&folder.0));
        format!("{text:?}\n    {}\n", met.expect_err(text))
    });
    insta::assert_snapshot!(errors.collect::<String>());
}

#[test]
fn too_much_is_refused_while_it_is_read() {
    let many = format!("at [s],loss\n{}", "1,0\n".repeat(100_001));
    let folder = Folder::with("many", "x.csv", &many);
    let met = resolve(&with("schedule = { file = \"x.csv\" }"), &Files::in_folder(&folder.0));
    assert_eq!(met.unwrap_err(), "x.csv:100002: there are more than 100000 lines, which is the limit");
    // A chain reads its link for each hop.
    let folder = Folder::with("hops", "x.trace", &"7\n".repeat(1_000_000));
    let chain = "[path]\nkind = \"chain\"\nhops = 9\nlink = { mahimahi = { file = \"x.trace\" } \
                 }\n[workload]\nkind = \"bulk\"\n[stacks]\ntcp = \"reno\"\n";
    assert_eq!(
        resolve(chain, &Files::in_folder(&folder.0)).unwrap_err(),
        "line 4: all links together have more than 4000000 opportunities in their traces, which is the limit"
    );
}

#[test]
fn a_resolved_scenario_holds_what_its_files_said() {
    for name in ["cellular.toml", "leo.toml", "policer.toml"] {
        let text = fs::read_to_string(examples().join(name)).unwrap();
        let whole = resolved(&text, &[("duration", "12s"), ("warmup", "0s")]);
        let again = resolve(&whole.to_toml(), &Files::none()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(again, whole, "{name}");
        let (a, b) = (results(&whole, 1), results(&again, 2));
        assert_eq!((a.flows, a.links), (b.flows, b.links), "{name}");
    }
}

#[test]
fn a_file_and_a_list_of_the_same_points_are_the_same_schedule() {
    let folder = Folder::with(
        "same",
        "x.csv",
        "# A comment.\nat [s], rate [Mbit/s], delay, loss\n0, 5, 10ms,\n2.5, , 20ms, 1%\n4, 0, ,\n",
    );
    let csv = "schedule = { file = \"x.csv\", shape = \"linear\", repeat = \"8s\", reorder = true }";
    let list = "schedule = { shape = \"linear\", repeat = \"8s\", reorder = true, points = [{ at = \"0s\", \
                rate = \"5Mbit/s\", delay = \"10ms\" }, { at = \"2500ms\", delay = \"20ms\", loss = 0.01 }, \
                { at = \"4s\", rate = \"0bit/s\" }] }";
    let (a, b) = (resolve(&with(csv), &Files::in_folder(&folder.0)), resolve(&with(list), &Files::none()));
    assert_eq!(a.unwrap(), b.unwrap());
}

/// Rate and capacity of the link and of the link back.
fn rates(link: &str) -> [Option<u64>; 2] {
    let r = resolved(&with(link), &[]);
    let plans: Vec<_> = r.path.links().map(|(_, _, _, l)| l.capacity().map(Rate::bits_per_sec)).collect();
    [plans[0], plans[1]]
}

#[test]
fn a_rate_that_is_not_given_follows_from_trace_or_schedule() {
    // Three opportunities of 1500 bytes in 10 ms.
    assert_eq!(rates("mahimahi = { times = [1, 1, 10] }"), [Some(3_600_000); 2]);
    let points = "points = [{ at = \"0s\", rate = \"1Mbit/s\" }, { at = \"1s\", rate = \"3Mbit/s\" }, { at \
                  = \"3s\", rate = \"0bit/s\" }]";
    assert_eq!(rates(&format!("schedule = {{ repeat = \"4s\", {points} }}")), [Some(1_750_000); 2]);
    assert_eq!(rates(&format!("schedule = {{ shape = \"linear\", {points} }}")), [Some(1_666_666); 2]);
    assert_eq!(rates(&format!("rate = \"9Mbit/s\"\nschedule = {{ {points} }}")), [Some(9_000_000); 2]);
    let shaped = "rate = \"1Gbit/s\"\nshaper = { rate = \"5Mbit/s\" }\nqueue = { kind = \"drop-tail\", \
                  limit = \"100ms\" }";
    assert_eq!(rates(shaped), [Some(5_000_000); 2]);
    assert!(resolved(&with(shaped), &[]).to_toml().contains("limit = \"62500B\""), "100 ms at 5 Mbit/s");
}

/// The rate at which the link carries datagrams of 1500 bytes that come at 50 Mbit/s, in Mbit/s.
fn carried(link: &str) -> f64 {
    let text =
        with(link).replace("kind = \"bulk\"", "kind = \"udp\"\nrate = \"50Mbit/s\"\nbytes = \"1500B\"");
    let scenario = resolved(&text, &[]);
    let found = results(&scenario, 1);
    found.links[0].bytes as f64 * 8.0 / 10.0 / 1e6
}

#[test]
fn a_link_carries_what_its_element_lets_through() {
    let queue = "queue = { kind = \"drop-tail\", limit = \"50packets\" }";
    for (link, expected) in [
        (format!("rate = \"1Gbit/s\"\nshaper = {{ rate = \"5Mbit/s\" }}\n{queue}"), 5.0),
        ("rate = \"1Gbit/s\"\npolicer = { rate = \"5Mbit/s\", burst = \"30kB\" }".to_owned(), 5.0),
        (format!("mahimahi = {{ times = [1, 2, 3, 4, 50] }}\n{queue}"), 1.2),
        (
            format!(
                "schedule = {{ repeat = \"100ms\", points = [{{ at = \"0s\", rate = \"8Mbit/s\" }}, {{ at = \
                 \"50ms\", rate = \"0bit/s\" }}] }}\n{queue}"
            ),
            4.0,
        ),
    ] {
        let met = carried(&link);
        assert!((met / expected - 1.0).abs() < 0.01, "{link}: {met}");
    }
}

#[test]
fn a_policer_costs_a_sender_more_than_a_shaper_of_its_rate() {
    let goodput = |element: &str| {
        let text =
            with(&format!("rate = \"100Mbit/s\"\n{element} = {{ rate = \"5Mbit/s\", burst = \"30kB\" }}"));
        let scenario = resolved(&text, &[("warmup", "5s"), ("duration", "30s"), ("path.link.delay", "50ms")]);
        let found = results(&scenario, 1).summaries(&scenario);
        found[0].goodput.map_or(0.0, |g| g.bits_per_sec() as f64 / 1e6)
    };
    let (policed, shaped) = (goodput("policer"), goodput("shaper"));
    assert!(policed < 0.7 * shaped && shaped > 4.7 && policed > 1.0, "{policed} and {shaped}");
}

#[test]
fn an_override_adds_a_fault_or_changes_the_one_that_is_there() {
    let faults = |link: &str, sets: &[(&str, &str)]| {
        let scenario = Scenario::parse_with(&with(&format!("rate = \"1Gbit/s\"\n{link}")), sets);
        let resolved = scenario.and_then(|s| s.resolve_with(&Registry::builtin(), &Files::none()));
        resolved.map_err(|e| e.to_string()).map(|r| {
            let (_, _, _, link) = r.path.links().next().expect("a link");
            let named = link.faults.iter().map(|f| format!("{} {}", f.name(), f.params().ratio("p")));
            named.collect::<Vec<_>>().join(", ")
        })
    };
    let by_kind = [("path.link.faults.loss.p", "0.02")];
    assert_eq!(faults("", &by_kind).unwrap(), "loss 0.02");
    assert_eq!(faults("faults = \"duplicate\"", &by_kind).unwrap(), "duplicate 0.01, loss 0.02");
    assert_eq!(faults("faults = { kind = \"loss\", p = 0.5 }", &by_kind).unwrap(), "loss 0.02");
    assert_eq!(faults("faults = [\"corrupt\", \"loss\"]", &by_kind).unwrap(), "corrupt 0.01, loss 0.02");
    let by_index = [("path.link.faults.0.kind", "corrupt"), ("path.link.faults.0.p", "0.25")];
    assert_eq!(faults("", &by_index).unwrap(), "corrupt 0.25");
    assert_eq!(faults("faults = [\"loss\"]", &by_index[1..]).unwrap(), "loss 0.25");
    let errors = [
        ("path.link.faults.0.p", "0.25"),
        ("path.link.faults.1.p", "0.25"),
        ("path.link.faults.los.p", "0.25"),
        ("path.link.faults.loss", "0.25"),
    ]
    .map(|set| format!("{}={}\n    {}\n", set.0, set.1, faults("", &[set]).unwrap_err()));
    insta::assert_snapshot!(errors.concat());
}

/// Goodput of a download, and of an upload beside it, Mbit/s.
fn goodputs(link: &str, uploads: usize) -> Vec<f64> {
    let mut text = format!(
        "duration = \"20s\"\nwarmup = \"5s\"\n[path]\nkind = \"dumbbell\"\nrtt = \
         \"20ms\"\n[path.bottleneck]\nrate = \"20Mbit/s\"\nqueue = {{ kind = \"drop-tail\", limit = \
         \"60packets\" }}\n{link}\n[stacks]\ndown = \"cubic\"\nup = \"cubic\"\n[[workload]]\nkind = \
           \"bulk\"\nname = \"down\"\nstack = \"down\"\n"
    );
    for _ in 0..uploads {
        text += "[[workload]]\nkind = \"bulk\"\nname = \"up\"\nstack = \"up\"\nclient = \"right\"\nserver \
                 = \"left\"\n";
    }
    if uploads == 0 {
        text = text.replace("up = \"cubic\"\n", "");
    }
    let scenario = resolved(&text, &[]);
    let again = resolve(&scenario.to_toml(), &Files::none()).unwrap();
    assert_eq!(again, scenario);
    let found = results(&scenario, 1);
    found.flows.iter().map(|f| f.bytes_acked as f64 * 8.0 / 15.0 / 1e6).collect()
}

#[test]
fn a_half_duplex_link_shares_its_rate_among_both_directions() {
    // Full duplex: each direction has nearly the whole rate.
    let full = goodputs("", 1);
    assert!(full.iter().all(|g| *g > 15.0), "{full:?}");
    let half = goodputs("half_duplex = true", 1);
    let sum: f64 = half.iter().sum();
    // Acks take turns with data, so together they get less than the rate, and each about the same.
    assert!((12.0..19.5).contains(&sum) && half.iter().all(|g| *g > 0.3 * sum), "{half:?}");
    // Alone, the acks of a download take their part: one of 40 bytes for two of 1500.
    let alone = goodputs("half_duplex = true", 0);
    assert!(alone[0] > 18.0, "{alone:?}");
    // Contention of 0.5 ms for each packet: 0.6 + 0.5 ms for data, half of 0.516 ms for acks.
    let contended = goodputs("half_duplex = { gap = \"500us\" }", 0);
    assert!((7.0..11.0).contains(&contended[0]), "{contended:?}");
}

#[test]
fn a_medium_is_given_for_the_link_that_has_a_way_back() {
    let text = "[workload]\nkind = \"bulk\"\n[stacks]\ntcp = \"reno\"\n[path]\nkind = \"single\"\nlink = { \
                rate = \"1Mbit/s\", delay = \"1ms\" }\nback = { half_duplex = true }\n";
    assert_eq!(
        resolve(text, &Files::none()).unwrap_err(),
        "the way back of link `link` is `half_duplex`: give that for the link itself, which shares its \
         medium with the way back"
    );
}

#[test]
fn losses_are_told_apart_by_cause_from_the_moment_that_counts() {
    let link = "rate = \"10Mbit/s\"\nqueue = { kind = \"drop-tail\", limit = \"50packets\" }\nfaults = [{ kind = \"loss\", p = \
                0.01 }, { kind = \"loss\", p = 0.0 }, { kind = \"outage\", from = \"3s\", until = \"3.2s\" }]\nschedule = { points = \
                [{ at = \"5s\", loss = 0.05 }] }";
    for text in [with(link), format!("measure_from = \"4s\"\n{}", with(link))] {
        let found = results(&resolved(&text, &[]), 1);
        let row = &found.links[0];
        let [random, never, outage] = row.dropped_by_fault[..] else { panic!("{:?}", row.dropped_by_fault) };
        let schedule = row.dropped_schedule.unwrap();
        assert_eq!(random + never + outage + schedule, row.dropped_wire);
        assert!(random > 5 && never == 0 && schedule > 20, "{row:?}");
        assert_eq!(outage > 0, !text.starts_with("measure_from"), "{row:?}");
        assert_eq!(found.links[1].dropped_by_fault, []);
    }
}
