//! The whole probe in virtual time: what is injected is found again.

use std::sync::Arc;

use ackclock_engine::Stack;
use ackclock_policy::{QueueDiscipline, Registry};
use ackclock_sim::{LinkSpec, Passing, Verdict};
use ackclock_units::{Duration, Instant, Rate, Rng};

use super::session::Session;
use super::*;

fn options(stack: &str) -> ProbeOptions {
    let stack = Stack::named(&Registry::builtin(), stack).unwrap();
    let config = stack.config();
    ProbeOptions { max_rate: Rate::from_bits_per_sec(1_000_000_000), ..ProbeOptions::new(config, Arc::new(move || stack.build())) }
}

fn run(options: ProbeOptions, forward: LinkSpec, backward: LinkSpec) -> SimulatedProbe {
    simulate_probe(options, SimulatedPath { forward, backward, seed: 1, answers: &mut |_| true })
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn lossy(p: f64) -> LinkSpec {
    LinkSpec::delay(ms(25)).with_fault(move |_: &Passing, _: Instant, rng: &mut Rng| if rng.chance(p) { Verdict::Drop } else { Verdict::Pass })
}

/// Loses each `n`-th of the packets that carry segments.
fn every_nth(n: u64) -> LinkSpec {
    let mut seen = 0;
    LinkSpec::delay(ms(25)).with_fault(move |p: &Passing, _: Instant, _: &mut Rng| {
        seen += u64::from(p.bytes > 1000);
        if p.bytes > 1000 && seen % n == 0 { Verdict::Drop } else { Verdict::Pass }
    })
}

fn bottleneck(rate: u64, packets: u64) -> LinkSpec {
    let mut queue = Registry::builtin().choose::<dyn QueueDiscipline>("drop-tail").unwrap();
    queue.set("limit", &format!("{packets}packets")).unwrap();
    LinkSpec::new(Rate::from_bits_per_sec(rate), ms(20), queue.build())
}

#[test]
fn loss_and_delay_are_found_again() {
    for (stack, c) in [("sack", 0.93), ("sack+ack-every", 1.31)] {
        let found = run(ProbeOptions { duration: Duration::from_secs(600), ..options(stack) }, lossy(0.003), LinkSpec::delay(ms(25)));
        let m = found.report.measured.unwrap();
        let (p, rtt) = (m.p().unwrap(), m.rtt.mean().unwrap());
        assert!((p / 0.003 - 1.0).abs() < 0.1, "{stack}: p = {p}");
        assert!((rtt / 0.05 - 1.0).abs() < 1e-6 && (m.rtt.min().unwrap() - 0.05).abs() < 1e-9, "{stack}: {rtt}");
        let window = m.capacity().unwrap() * m.rtt_mean().unwrap() / (8.0 * 1460.0);
        let of_model = window * p.sqrt();
        assert!((of_model / c - 1.0).abs() < 0.1, "{stack}: C = {of_model}");
        assert!(m.slow_start_excluded);
        println!("{stack}: {p} {rtt} {window} {of_model} {} {} {}", m.ca_events, m.non_ca_events, m.other_losses);
    }
}

#[test]
fn periodic_losses_are_counted_exactly() {
    let found = run(ProbeOptions { background: 0, duration: Duration::from_secs(120), ..options("sack") }, every_nth(500), LinkSpec::delay(ms(25)));
    let m = found.report.measured.unwrap();
    println!("{m:?}", m = (m.sent, m.answered, m.ca_events, m.non_ca_events, m.other_losses, m.segments_acked));
}

#[test]
fn dbg_bottleneck() {
    let o = ProbeOptions { duration: Duration::from_secs(60), ..options("sack") };
    let found = run(o, bottleneck(10_000_000, 30), LinkSpec::delay(ms(20)));
    let m = found.report.measured.as_ref().unwrap();
    println!("{:?} {:?} {:?} {:?}", m.capacity(), m.p(), m.rtt.mean(), found.report.limit);
    println!("{:?} {:?} {:?}", found.report.before.rtt.mean(), found.report.during.rtt.mean(), found.report.after.rtt.mean());
    let _ = Session::new;
}

#[test]
fn dbg_simulator() {
    for stack in ["sack", "sack+ack-every"] {
        let text = format!(
            "seed = 1\nduration = \"600s\"\n[path]\nkind = \"single\"\nlink = {{ rate = \"10Gbit/s\", delay = \"25ms\", faults = [{{kind=\"loss\", p=0.003, of=\"data\"}}] }}\n[workload]\nkind = \"bulk\"\n[stacks]\nx = \"{stack}\"\n"
        );
        let r = ackclock_sim::scenario::Scenario::parse(&text).unwrap().resolve().unwrap();
        let results = ackclock_sim::scenario::run(&r, |_| std::ops::ControlFlow::Continue(()), 1).unwrap().unwrap();
        let f = &results.flows[0];
        println!("{stack} {f:?}");
    }
    for stack in ["sack", "sack+ack-every"] {
        let found = run(ProbeOptions { duration: Duration::from_secs(600), ..options(stack) }, lossy(0.003), LinkSpec::delay(ms(25)));
        let m = found.report.measured.unwrap();
        let window = m.capacity().unwrap() * m.rtt_mean().unwrap() / (8.0 * 1460.0);
        println!(
            "{stack}: {:?} w={window} c={} ca {} non {} other {} acked {} rtt {:?}",
            m.p(),
            window * m.p().unwrap().sqrt(),
            m.ca_events,
            m.non_ca_events,
            m.other_losses,
            m.segments_acked,
            m.rtt_mean()
        );
    }
}
