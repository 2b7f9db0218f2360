//! Policies of an outside crate: they use only the public traits, keep the laws, and run in scenarios once
//! they are registered.

mod delay_exit;
mod delivered;
mod marks;
mod paced;
mod proportional;

use std::ops::ControlFlow;

use ackclock_policy::Registry;
use ackclock_sim::scenario::{Files, Results, Scenario, run};
use ackclock_testkit::laws;
use ackclock_trace::EventKind;
use ackclock_units::{Duration, Instant};

fn registry() -> Registry {
    let mut registry = Registry::builtin();
    for window in [&paced::ENTRY, &delivered::ENTRY, &marks::ENTRY] {
        registry.register(window).expect("a new name");
    }
    registry.register(&delay_exit::ENTRY).expect("a new name");
    registry.register(&proportional::ENTRY).expect("a new name");
    registry
}

/// A transfer of 30 s over 10 Mbit/s and 100 ms with each stack alone.
fn transfer(link: &str, stacks: &str) -> Results {
    let text = format!(
        "duration = \"30s\"\nseed = 1\ntrace = \"packets\"\nworkload.kind = \"bulk\"\npath.kind = \
         \"single\"\npath.rtt = \"100ms\"\n[path.link]\nrate = \"10Mbit/s\"\n{link}\n[stacks]\n{stacks}"
    );
    let scenario = Scenario::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let resolved = scenario
        .resolve_with(&registry(), &Files::in_folder(std::path::Path::new(".")))
        .unwrap_or_else(|e| panic!("{e}"));
    run(&resolved, |_| ControlFlow::Continue(()), 1).unwrap_or_else(|e| panic!("{e}")).expect("it ends")
}

/// Goodput of a stack, Mbit/s.
fn goodput(r: &Results, stack: &str) -> f64 {
    let flow = r.flows.iter().find(|f| *f.stack == *stack).expect("there is a flow");
    flow.bytes_delivered as f64 * 8.0 / 30e6
}

fn retransmitted(r: &Results, stack: &str) -> u64 {
    r.flows.iter().find(|f| *f.stack == *stack).expect("there is a flow").retransmitted_segments
}

/// For each run, the share of segments sent within 50 microseconds of the one before, after the first second.
fn back_to_back(r: &Results) -> Vec<f64> {
    let shares = r.events.iter().map(|events| {
        let sent: Vec<Instant> = events
            .iter()
            .filter(|e| matches!(e.kind, EventKind::Sent { len, .. } if len > 0))
            .map(|e| e.at)
            .filter(|at| *at > Instant::ZERO + Duration::from_secs(1))
            .collect();
        let close = sent.windows(2).filter(|w| w[1].since(w[0]) < Duration::from_micros(50)).count();
        close as f64 / sent.len() as f64
    });
    shares.collect()
}

#[test]
fn outside_policies_keep_the_laws() {
    laws::all(&registry());
}

#[test]
fn a_paced_window_sends_nothing_back_to_back() {
    let queue = "queue = { kind = \"drop-tail\", limit = \"2bdp\" }";
    let stacks = "plain = \"sack\"\npaced = { preset = \"sack\", window = \"paced\" }";
    let r = transfer(queue, stacks);
    let shares = back_to_back(&r);
    assert!(shares[0] > 0.2 && shares[1] < 0.01, "{shares:?}");
    assert!(goodput(&r, "paced") > 8.5, "{}", goodput(&r, "paced"));
}

#[test]
fn a_window_by_delivery_rate_tolerates_random_loss() {
    let lossy =
        "faults = [{ kind = \"loss\", p = 0.01 }]\nqueue = { kind = \"drop-tail\", limit = \"2bdp\" }";
    let r = transfer(lossy, "plain = \"sack\"\ndelivered = { preset = \"rack\", window = \"delivered\" }");
    let (plain, delivered) = (goodput(&r, "plain"), goodput(&r, "delivered"));
    assert!(plain < 3.0 && delivered > 8.0, "{plain} and {delivered} Mbit/s");
}

#[test]
fn slow_start_that_ends_by_delay_overshoots_less() {
    let deep = "queue = { kind = \"drop-tail\", limit = \"3bdp\" }";
    let r =
        transfer(deep, "classic = \"cubic\"\nearly = { preset = \"cubic\", slow_start = \"delay-exit\" }");
    let (classic, early) = (retransmitted(&r, "classic"), retransmitted(&r, "early"));
    assert!(classic > 100 && early < classic / 3, "{classic} and {early}");
}

#[test]
fn a_reduction_spreads_transmissions_over_every_recovery() {
    let queue = "queue = { kind = \"drop-tail\", limit = \"1bdp\" }";
    for recovery in ["newreno", "sack", "fack", "rack", "cubic+rack"] {
        let stacks = format!(
            "at-once = \"{recovery}\"\nspread = {{ preset = \"{recovery}\", reduction = \"proportional\" }}"
        );
        let r = transfer(queue, &stacks);
        let (at_once, spread) = (goodput(&r, "at-once"), goodput(&r, "spread"));
        assert!(spread > 0.95 * at_once && spread > 5.0, "{recovery}: {at_once} and {spread} Mbit/s");
        let timeouts = r.flows.iter().map(|f| f.timeouts).collect::<Vec<_>>();
        assert!(timeouts[1] <= timeouts[0], "{recovery}: {timeouts:?}");
    }
}

#[test]
fn a_window_by_marks_is_reduced_little_when_few_are_marked() {
    let red = "queue = { kind = \"red\", limit = \"2bdp\", ecn = true, min_th = \"10packets\", max_th = \
               \"40packets\" }";
    let stacks = "half = { preset = \"sack\", ecn = true }\ndctcp = { preset = \"sack+dctcp-feedback\", window = \
                  \"marks\" }\naccurate = { preset = \"sack+accecn\", window = \"marks\" }";
    let r = transfer(red, stacks);
    let marked = |stack: &str| r.flows.iter().find(|f| *f.stack == *stack).expect("there").ecn_reductions;
    for stack in ["dctcp", "accurate"] {
        assert!(goodput(&r, stack) > goodput(&r, "half"), "{} {}", goodput(&r, stack), goodput(&r, "half"));
        assert!(marked(stack) > 0);
    }
    assert!(marked("half") > 0);
}
