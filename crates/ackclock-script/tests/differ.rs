//! Random conversations: what is generated, what is found, and how small it gets.

use std::ops::ControlFlow;

use ackclock_policy::Registry;
use ackclock_script::differ::{
    Campaign, Hosts, Known, Measure, Place, compare, follow, generate, lead, run, script,
};
use ackclock_script::{Dialect, EngineHost, Host, parse};
use ackclock_units::Duration;

const EXACT: Measure = Measure { tolerance: Duration::ZERO, tolerance_part: u64::MAX, windows: true };

fn host(stack: Option<&str>) -> Box<dyn Host> {
    Box::new(EngineHost::new(&Registry::builtin(), Dialect::Linux, stack, 1).unwrap())
}

fn campaign(known: Vec<Known>) -> Campaign {
    Campaign {
        sound: false,
        seed: 3,
        count: 400,
        time: None,
        jobs: 2,
        confirm: 1,
        budget: 2000,
        lateness: Duration::ZERO,
        measure: EXACT,
        known,
    }
}

#[test]
fn the_same_seed_and_number_give_the_same_conversation() {
    for index in 0..200 {
        assert_eq!(generate(1, index), generate(1, index));
    }
    let different = (0..200).filter(|i| generate(1, *i) != generate(2, *i)).count();
    assert_eq!(different, 200);
}

#[test]
fn a_host_does_the_same_twice() {
    for index in 0..500 {
        let first = lead(&generate(4, index), &mut *host(None));
        let second = follow(&first, &mut *host(None));
        assert_eq!(compare(&first, &second, EXACT, &|_| false), None, "number {index}");
        assert_eq!(script(&first, &second, None), script(&second, &first, None));
    }
}

#[test]
fn a_timeline_is_a_script_that_passes() {
    for index in 0..500 {
        let first = lead(&generate(5, index), &mut *host(None));
        let text = script(&first, &first, None);
        let parsed = parse("generated", &text, &[]).unwrap_or_else(|e| panic!("number {index}: {e}\n{text}"));
        let outcome = ackclock_script::run(&parsed, &mut *host(None), None, &|_| None).unwrap();
        assert!(outcome.passed(), "number {index}: {:?}\n{}\n{text}", outcome.failure, outcome.timeline(4));
    }
}

/// The stacks differ in one policy.
const WITH: &str = "cubic+rack+timestamps+ack-every";
const WITHOUT: &str = "cubic+rack+timestamps";

fn search(known: Vec<Known>) -> ackclock_script::differ::Progress {
    let (first, second) = (|| Ok::<_, ()>(host(Some(WITH))), || Ok(host(Some(WITHOUT))));
    let hosts = Hosts { first: &first, second: &second };
    run(&campaign(known), &hosts, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn a_planted_difference_is_found_and_made_small() {
    let found = search(Vec::new());
    assert_eq!(found.run, 400);
    assert!(found.same > 0 && !found.found.is_empty());
    let delayed = found.found.iter().find(|(cause, _)| cause.what == "time of ack");
    let (cause, delayed) = delayed.unwrap_or_else(|| panic!("{:?}", found.found.keys()));
    let text = delayed.script.as_deref().unwrap();
    // A handshake, a call that takes the connection, one segment and its ack.
    let events = text.lines().filter(|l| l.contains(" < ")).count();
    assert!(events <= 3, "{cause}\n{text}");
    // It passes on the stack that it says it passes on.
    let parsed = parse("found", text, &[]).unwrap();
    let outcome = |stack| ackclock_script::run(&parsed, &mut *host(Some(stack)), None, &|_| None).unwrap();
    assert!(!outcome(WITH).passed() && outcome(WITHOUT).passed(), "{text}");
}

#[test]
fn what_has_an_explanation_is_not_reported() {
    let known = Known { cause: "*".into(), why: "one delays its acks".into() };
    let found = search(vec![known]);
    assert!(found.found.is_empty());
    assert_eq!(found.explained.keys().collect::<Vec<_>>(), ["*"]);
    assert_eq!(found.same + found.explained["*"], 400);
}

#[test]
fn a_missing_segment_is_told_from_a_late_one() {
    let first = lead(&generate(1, 1), &mut *host(None));
    let mut second = first.clone();
    let gone = second.sent.len() - 1;
    second.sent.remove(gone);
    let difference = compare(&first, &second, EXACT, &|_| false).unwrap();
    assert_eq!(difference.place, Place::Sent(Some(gone), None));
    assert!(difference.cause.what.ends_with(" missing"), "{}", difference.cause);
    let mut second = first.clone();
    second.sent[gone].at += Duration::from_millis(1);
    let difference = compare(&first, &second, EXACT, &|_| false).unwrap();
    assert_eq!(difference.place, Place::Sent(Some(gone), Some(gone)));
    assert!(difference.cause.what.starts_with("time of "), "{}", difference.cause);
}
