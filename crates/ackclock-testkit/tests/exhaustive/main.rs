//! An exhaustive search over small transfers: every stack of registered policies, with every pattern of a few
//! lost, late and duplicated packets.
//!
//! Each run is checked against rules that hold for every stack ([`rules`]), and compared with the runs of
//! similar stacks ([`compare`]). A run that breaks a rule is identified by a line, which runs it again with
//! its timeline:
//!
//! ```text
//! ACKCLOCK_REPLAY='sack reno every none exponential no-ts | 10 iw3 | lose:3 lose:6' cargo test -p ackclock-testkit --test exhaustive a_line
//! ```
//!
//! `make test` searches 3 million runs in a quarter of a minute; `make exhaustive` all 200 million, in less than an hour.

mod checks;
mod compare;
mod known;
mod patterns;
mod pipe;
mod rules;
mod stacks;
mod sweeps;
mod timeline;
mod transfer;

use std::cell::Cell;
use std::io::Write as _;
use std::sync::OnceLock;
use std::time::Instant as WallClock;

use self::compare::Findings;
use self::patterns::Pattern;
use self::pipe::{Outcome, Room, play};
use self::stacks::Stack;
use self::sweeps::Sweep;
use self::transfer::Transfer;

/// The findings of the small search, which two tests read.
fn quick() -> &'static Findings {
    static FOUND: OnceLock<Findings> = OnceLock::new();
    FOUND.get_or_init(|| search(&sweeps::quick()))
}

/// Searches on all processors, and reports progress directly to stderr, which the test harness does not
/// capture.
fn search(sweeps: &[Sweep]) -> Findings {
    let (began, all) = (WallClock::now(), sweeps.iter().map(Sweep::runs).sum::<u64>());
    let done = Cell::new(0);
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    sweeps::search(sweeps, threads, &|name, runs| {
        done.set(done.get() + runs);
        let (so_far, seconds) = (done.get(), began.elapsed().as_secs_f64());
        _ = writeln!(
            std::io::stderr().lock(),
            "exhaustive: {name}: {runs} runs; {so_far} of {all} after {seconds:.1} s"
        );
    })
}

/// Runs the case of a line, with its timeline.
fn replay(line: &str) -> (Outcome, String) {
    let parts: Vec<_> = line.split('|').collect();
    let [stack, transfer, pattern] = parts[..] else {
        panic!("`{line}` is not `stack | transfer | pattern`")
    };
    let transfer = Transfer::read(transfer).unwrap_or_else(|| {
        panic!("`{transfer}` is not a transfer, such as `1+10+more iw3 fin-apart spaced`")
    });
    let stack = Stack::read(stack, u32::from(transfer.initial_segs)).unwrap_or_else(|| {
        panic!("`{stack}` is not a stack: recovery, window, ack, undo, backoff, `ts` or `no-ts`")
    });
    let pattern = Pattern::read(pattern)
        .unwrap_or_else(|| panic!("`{pattern}` is not a pattern, such as `lose:3 spike:5@1500`"));
    let mut room = Room::recording();
    let outcome = play(&mut room, &stack, &transfer, &pattern);
    (outcome, room.log.unwrap_or_default().join("\n"))
}

#[test]
fn a_line_names_a_run() {
    let Ok(line) = std::env::var("ACKCLOCK_REPLAY") else { return };
    let (outcome, timeline) = replay(&line);
    _ = writeln!(
        std::io::stdout().lock(),
        "{timeline}\ndone {:?}, all faults happened: {}",
        outcome.done,
        outcome.complete
    );
    let broken: Vec<_> = outcome.broken.iter().collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn every_rule_holds_in_every_run() {
    let found = quick();
    assert!(
        found.broken.is_empty(),
        "of {} runs, some break rules; ACKCLOCK_REPLAY runs a line again\n{}",
        found.runs,
        found.report()
    );
}

#[test]
fn who_finishes_later_than_whom_is_known() {
    insta::assert_snapshot!(quick().lateness());
}

#[test]
fn every_rule_holds_in_all_runs() {
    if std::env::var("ACKCLOCK_EXHAUSTIVE").as_deref() != Ok("all") {
        return;
    }
    let found = search(&sweeps::full());
    _ = writeln!(std::io::stdout().lock(), "{}", found.lateness());
    assert!(
        found.broken.is_empty(),
        "of {} runs, some break rules; ACKCLOCK_REPLAY runs a line again\n{}",
        found.runs,
        found.report()
    );
}
