//! Scenarios beyond the memory limit are refused before they run, or end with an error.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

use ackclock_sim::FIRST_DATAGRAM;
use ackclock_sim::scenario::{Expected, Limits, Resolved, Results, TracePart, TraceSink, run_within};
use ackclock_trace::{EpisodeRow, EventTables, SampleRow, SegmentRow, Sink};

use super::{TEN_LINES, resolved, results};

const MIB: u64 = 1 << 20;

fn within(
    scenario: &Resolved,
    workers: usize,
    limits: &Limits,
    sink: Option<&dyn TraceSink>,
) -> Result<Results, String> {
    let run = run_within(scenario, |_| ControlFlow::Continue(()), workers, limits, sink);
    run.map(|results| results.expect("not stopped")).map_err(|e| e.to_string())
}

fn memory(mib: u64) -> Limits {
    Limits { memory: mib * MIB, ..Limits::default() }
}

/// The scenario without estimates.
fn unexpected(scenario: Resolved) -> Resolved {
    Resolved { expected: Expected::default(), ..scenario }
}

/// More flows than the link can carry, which never give up.
const OVERLOAD: &str = r#"
duration = "100s"
syn_retries = 255
path = { kind = "single", link = { rate = "1Mbit/s" }, rtt = "50ms" }
workload = { kind = "web", arrival_rate = 500 }
stacks = { tcp = { preset = "sack", backoff = { kind = "exponential", r2_retries = "inf" } } }
"#;

/// Datagrams on a path with an extreme delay.
const LONG_WAY: &str = r#"
duration = "100s"
path = { kind = "single", link = { rate = "1Gbit/s", delay = "80000s" } }
workload = { kind = "udp", rate = "1Gbit/s", bytes = "28B" }
stacks = { tcp = "sack" }
"#;

/// Windows of a million small segments.
const WIDE: &str = r#"
duration = "10s"
path = { kind = "single", link = { rate = "100Gbit/s", delay = "100ms", queue = { limit = "100000000packets" } } }
workload = { kind = "bulk", flows = 20 }
[stacks.tcp]
preset = "sack"
mss = "64B"
snd_buf = "1GiB"
rcv_buf = "1GiB"
"#;

#[test]
fn a_scenario_too_large_by_estimate_is_refused_before_it_runs() {
    for (text, sets, expected) in [
        (
            TEN_LINES,
            &[("workload.load", "1000")][..],
            "the tables of 2 runs with about 1865010 flows and 2 links each would take about 2.1 GiB; the \
             limit is 512 MiB: lower the load, `flows`, `duration` or the number of runs, or allow more \
             memory (`--memory`)",
        ),
        (
            OVERLOAD,
            &[("workload.arrival_rate", "5000"), ("path.link.rate", "1Mbit/s"), ("duration", "100s")],
            "about 498432 flows would be active at once and take about 1.2 GiB; the limit is 1 GiB: lower \
             the load",
        ),
        (
            OVERLOAD,
            &[("workload", "{ kind = \"bulk\", flows = 600000 }")],
            "about 600000 flows would be active at once and take about 1.4 GiB; the limit is 1 GiB: lower \
             the load, `flows` or `duration`, or allow more memory (`--memory`)",
        ),
        (
            OVERLOAD,
            &[("repeat", "100000")],
            "the tables of 100000 runs with about 50000 flows and 2 links each would take about",
        ),
    ] {
        let met = within(&resolved(text, sets), 2, &memory(1024), None).expect_err("too large");
        assert!(met.starts_with(expected), "{met}\nshould begin with\n{expected}");
    }
}

#[test]
fn a_run_that_grows_beyond_the_limit_ends_with_an_error() {
    for (text, mib, what) in [(OVERLOAD, 60, "flows"), (LONG_WAY, 64, "packets"), (WIDE, 300, "packets")] {
        for workers in [1, 2] {
            let met =
                within(&unexpected(resolved(text, &[])), workers, &memory(mib), None).expect_err("too large");
            let (begin, end) = (
                "run `tcp` with seed 1: at ",
                "lower the load, make `duration` or windows shorter, or allow more memory (`--memory`)",
            );
            assert!(met.starts_with(begin) && met.ends_with(end) && met.contains(what), "{met}");
            assert!(met.contains(&format!("it would hold more than {mib} MiB of memory")), "{met}");
        }
    }
}

#[test]
fn a_run_exceeds_memory_at_the_same_time_with_any_number_of_workers() {
    let scenario = unexpected(resolved(OVERLOAD, &[]));
    let met = |workers| within(&scenario, workers, &memory(60), None).expect_err("too large");
    assert_eq!(met(1), met(8));
}

#[test]
fn tables_of_all_runs_count_together() {
    // The estimate is too low, since it does not account for bursts.
    let bursts = [("repeat", "40"), ("duration", "2s"), ("workload.load", "1.2"), ("drain", "0s")];
    let scenario = resolved(TEN_LINES, &bursts);
    let all = results(&scenario, 2);
    let bytes = (all.flows.len() * size_of::<ackclock_trace::FlowRow>()) as u64;
    let met = within(&unexpected(scenario), 2, &Limits { memory: bytes, ..Limits::default() }, None);
    assert!(met.expect_err("too many rows").starts_with("the tables of all runs would take more than "));
}

#[test]
fn runs_that_are_started_again_for_want_of_memory_give_the_same_results() {
    let scenario = resolved(TEN_LINES, &[("repeat", "3"), ("duration", "3s"), ("workload.load", "3")]);
    let free = results(&scenario, 1);
    // Memory for one run and the tables, but not for two runs.
    let (tight, scenario) = (memory(26), unexpected(scenario));
    for workers in [1, 6] {
        let all = within(&scenario, workers, &tight, None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((&all.flows, &all.links, &all.runs), (&free.flows, &free.links, &free.runs));
    }
}

type Rows = (Vec<SampleRow>, Vec<SegmentRow>);

/// Stores the parts by run and attempt.
#[derive(Default)]
struct Kept(Mutex<BTreeMap<(usize, u32), Rows>>);

impl TraceSink for Kept {
    fn take(&self, part: &TracePart<'_>) -> Result<(), String> {
        let mut kept = self.0.lock().unwrap();
        let (samples, segments) = kept.entry((part.job, part.attempt)).or_default();
        samples.extend_from_slice(&part.rows.samples);
        segments.extend_from_slice(&part.rows.segments);
        Ok(())
    }
}

fn tables(results: &Results, run: usize) -> (Vec<SampleRow>, Vec<EpisodeRow>, Vec<SegmentRow>) {
    let mut tables = EventTables::default();
    results.events[run].iter().for_each(|e| tables.record(e));
    let rows = tables.finish();
    (rows.samples, rows.episodes, rows.segments)
}

#[test]
fn a_streamed_trace_has_the_same_rows() {
    let datagrams = "[{ kind = \"web\", load = 0.9 }, { kind = \"udp\", flows = 3, rate = \"1Mbit/s\" }, \
                     { kind = \"bulk\", flows = 2 }]";
    let sets = [("trace", "all"), ("duration", "4s"), ("workload", datagrams), ("repeat", "2")];
    let scenario = resolved(TEN_LINES, &sets);
    let whole = results(&scenario, 2);
    assert!(whole.streamed.iter().all(Option::is_none));
    for workers in [1, 4] {
        let kept = Kept::default();
        let all =
            within(&scenario, workers, &Limits { traced_events: 40_000, ..Limits::default() }, Some(&kept))
                .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((&all.flows, &all.links), (&whole.flows, &whole.links));
        for (n, streamed) in all.streamed.iter().enumerate() {
            let streamed = streamed.as_ref().expect("more than its share");
            let (samples, episodes, segments) = tables(&whole, n);
            let mut kept = kept.0.lock().unwrap();
            let (mine, mut segments_of_mine) = kept.remove(&(n, streamed.attempt)).expect("its parts");
            let sources = segments_of_mine.iter_mut().filter(|row| row.connection >= FIRST_DATAGRAM);
            sources.for_each(|row| {
                row.connection = row.connection - FIRST_DATAGRAM + streamed.first_datagram;
                row.flow = row.connection / 2;
            });
            assert!(segments.len() > 10_000 && all.events[n].is_empty());
            assert_eq!((&mine, &streamed.episodes, &segments_of_mine), (&samples, &episodes, &segments));
        }
    }
}

#[test]
fn without_a_sink_a_trace_counts_as_memory() {
    let scenario = resolved(TEN_LINES, &[("trace", "all"), ("duration", "5s")]);
    let met = within(&unexpected(scenario), 1, &memory(8), None).expect_err("too much");
    assert!(met.contains("it would hold more than 8 MiB of memory"), "{met}");
}

#[test]
fn a_failing_sink_ends_the_run_with_its_error() {
    struct Full;
    impl TraceSink for Full {
        fn take(&self, _: &TracePart<'_>) -> Result<(), String> {
            Err("the disk is full".to_owned())
        }
    }
    let scenario = resolved(TEN_LINES, &[("trace", "packets")]);
    let met = within(&scenario, 1, &Limits { traced_events: 1000, ..Limits::default() }, Some(&Full))
        .expect_err("no room");
    assert_eq!(met, "run `tcp` with seed 1: the disk is full");
}

#[test]
fn the_estimate_of_traced_events_is_of_the_right_size() {
    for (workload, rate) in
        [("{ kind = \"bulk\", flows = 4 }", "10Mbit/s"), ("{ kind = \"web\", load = 0.8 }", "20Mbit/s")]
    {
        let scenario = resolved(
            TEN_LINES,
            &[("trace", "all"), ("workload", workload), ("path.bottleneck.rate", rate), ("duration", "10s")],
        );
        let (expected, traced) = (
            scenario.expected_events(),
            results(&scenario, 2).events.iter().map(Vec::len).sum::<usize>() as f64,
        );
        assert!(
            (0.5..3.0).contains(&(expected / traced)),
            "{workload}: {expected} expected, {traced} traced"
        );
    }
}
