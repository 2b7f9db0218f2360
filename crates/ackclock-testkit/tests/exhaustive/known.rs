//! Single runs that once broke a rule, each given by its line.

use ackclock_policy::LossRecovery;
use ackclock_units::{Duration, Instant};

use crate::replay;
use crate::stacks::names;

/// When the receiver has everything in the run of this line, which breaks no rule.
fn done(line: &str) -> Instant {
    let (outcome, timeline) = replay(line);
    let broken: Vec<_> = outcome.broken.iter().collect();
    assert!(broken.is_empty() && outcome.complete, "{line} breaks {broken:?}\n{timeline}");
    outcome.done.expect("a run that breaks no rule delivers everything")
}

/// Two runs: the first finishes no later than a round trip after the second.
fn no_later(line: &str, other: &str) {
    let (first, second) = (done(line), done(other));
    assert!(first <= second + Duration::from_millis(100), "{line}: {first:?}; {other}: {second:?}");
}

#[test]
fn slow_start_goes_on_after_a_timeout_with_nothing_unsent() {
    for recovery in names::<dyn LossRecovery>() {
        for window in ["reno", "cubic"] {
            done(&format!("{recovery} {window} every none exponential no-ts | 1+10 iw10 | lose:2+10"));
        }
    }
}

#[test]
fn rack_declares_nothing_lost_when_f_rto_undoes_a_timeout() {
    for transfer in ["6 iw3", "10+more iw10", "14 iw10"] {
        done(&format!("rack reno every f-rto exponential no-ts | {transfer} | spike:1@1500"));
        done(&format!("rack reno delayed f-rto exponential no-ts | {transfer} | spike:2@1500"));
    }
}

#[test]
fn rack_is_no_slower_with_timestamps_after_a_probe() {
    for (transfer, pattern) in
        [("5 iw3", "lose:4 lose:5"), ("10 iw3", "lose:9 lose:10"), ("10 iw3", "lose:7 lose:8 lose:10")]
    {
        let line =
            |timestamps| format!("rack reno delayed none exponential {timestamps} | {transfer} | {pattern}");
        no_later(&line("ts"), &line("no-ts"));
    }
}

#[test]
fn a_fin_takes_no_room_from_a_retransmission() {
    for (recovery, ack, pattern) in [
        ("sack", "every", "lose:4 lose:7 lose:10"),
        ("sack", "delayed", "lose:5 lose:7 lose:10"),
        ("rack", "every", "lose:4 lose:5"),
    ] {
        let line = |fin| format!("{recovery} reno {ack} none exponential no-ts | 10 iw3{fin} | {pattern}");
        no_later(&line(""), &line(" fin-apart"));
    }
}

#[test]
fn copies_after_a_timeout_begin_no_recovery_after_an_undo() {
    for recovery in ["newreno", "tahoe"] {
        done(&format!("{recovery} reno every eifel none ts | 6 iw3 | spike:1@4000"));
        done(&format!("{recovery} reno every eifel exponential ts | 10 iw3 | spike:1@8000"));
    }
}

#[test]
fn the_ack_that_ends_a_repair_after_a_timeout_grows_the_window_by_one_segment() {
    // CUBIC counts bytes: the ack of everything covers more than one segment.
    for recovery in names::<dyn LossRecovery>() {
        done(&format!("{recovery} cubic delayed none exponential no-ts | 10 iw3 | ack:1 ack:2"));
        done(&format!("{recovery} cubic every none exponential no-ts | 6 iw3 | lose:1 lose:4"));
    }
}

#[test]
fn the_runs_that_the_pages_show_break_no_rule() {
    let page = include_str!("../../../../docs/departures.md");
    let lines: Vec<_> = page
        .split('`')
        .filter(|words| words.contains(r" \| "))
        .map(|words| words.replace(r"\|", "|"))
        .collect();
    assert!(lines.len() > 10, "{lines:?}");
    for line in lines {
        done(&line);
    }
}

#[test]
fn a_fin_is_no_third_segment() {
    for recovery in ["sack", "fack"] {
        done(&format!("{recovery} reno every none exponential no-ts | 3 iw10 | hold:1+1@60"));
    }
}
