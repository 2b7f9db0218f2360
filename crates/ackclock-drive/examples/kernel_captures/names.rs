//! Scores which stack is taken for the sender, and the minimum of its timeout, against how the kernel was set.

use std::collections::BTreeMap;
use std::path::Path;

use ackclock_policy::Registry;
use ackclock_shadow::{Conversation, Verdict, default_stacks, name_sender};

use crate::cases::{self, Case};

/// A stack is named if it fits as well as this, and none with another window is as near as this, as `ackclock
/// sender` has it.
const FITS: f64 = -1.5;
const NEAREST: f64 = 3.0;
/// A tick of the kernel's timers, ms.
const TICK: f64 = 4.0;

#[derive(Default)]
struct Sums {
    cases: u32,
    /// Those whose first stack is the sender's; that are named; that are named rightly.
    first: u32,
    named: u32,
    right: u32,
    /// Minima to a tick that are given, and those that are right.
    values: [u32; 2],
    /// Those of which a range is given, and those that lie in it.
    ranges: [u32; 2],
    /// Cases in which the kernel's timer expired, and those of them for which a minimum or a range is given.
    expired: [u32; 2],
    /// Of those without, by why: all, those with an upper bound, and those that are below it.
    unknown: BTreeMap<&'static str, [u32; 3]>,
    /// Cases of which a delivery was late.
    busy: u32,
}

pub fn score(folder: &Path, only: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    let stacks = default_stacks(&Registry::builtin())?;
    let mut sums = Sums::default();
    for case in cases::in_folder(folder, only)? {
        let verdict = Conversation::read(&case.folder.join("near.pcapng"), None)
            .and_then(|conversation| name_sender(&conversation, &stacks));
        sums.cases += 1;
        sums.busy += u32::from(case.late() > 0);
        match verdict {
            Ok(verdict) => one(&case, &verdict, only.is_some(), &mut sums),
            Err(why) => println!("{}: {why}", case.name),
        }
    }
    println!(
        "cases {} ({} with late deliveries): first of all stacks {}, named {}, rightly {}",
        sums.cases, sums.busy, sums.first, sums.named, sums.right
    );
    let ([values, exact], [ranges, within], [expired, given]) = (sums.values, sums.ranges, sums.expired);
    println!(
        "the timer expired in {expired}, for {given} of which a minimum is given: to a tick {values}, {exact} of \
         them rightly; as a range {ranges}, {within} of them rightly"
    );
    for (why, [all, bounded, within]) in &sums.unknown {
        println!("no minimum, {why}: {all}, of {bounded} an upper bound, {within} of them rightly");
    }
    Ok(())
}

fn one(case: &Case, verdict: &Verdict, verbose: bool, sums: &mut Sums) {
    let real = case.congestion_control();
    // What version 3 of BBR would send is BBR too.
    let is = |window: &str| window == real || real == "bbr" && window == "bbr1";
    let first = &verdict.candidates[0];
    let other = verdict.candidates.iter().find(|c| c.window != first.window);
    let named = first.fit >= FITS && other.is_none_or(|other| other.behind > NEAREST);
    sums.first += u32::from(is(&first.window));
    sums.named += u32::from(named);
    sums.right += u32::from(named && is(&first.window));
    let least = case.min_rto();
    let ms = |d: ackclock_units::Duration| d.as_secs_f64() * 1e3;
    let minimum = verdict.min_rto.map(|found| match found.value {
        Some(value) => {
            let exact = (ms(value) - least).abs() <= TICK;
            sums.values = [sums.values[0] + 1, sums.values[1] + u32::from(exact)];
            (format!("{} ms", ms(value)), exact)
        }
        None => {
            let within = (ms(found.low)..=ms(found.high)).contains(&least);
            sums.ranges = [sums.ranges[0] + 1, sums.ranges[1] + u32::from(within)];
            (format!("{} to {} ms", ms(found.low), ms(found.high)), within)
        }
    });
    let expired = case.events().values().flatten().any(|(_, e)| e[1] == "rto");
    sums.expired =
        [sums.expired[0] + u32::from(expired), sums.expired[1] + u32::from(expired && minimum.is_some())];
    if let Some(why) = verdict.no_minimum.filter(|_| expired) {
        let sums = sums.unknown.entry(why.word()).or_default();
        let most = verdict.at_most.map(ms);
        let within = most.is_some_and(|most| least <= most);
        *sums = [sums[0] + 1, sums[1] + u32::from(most.is_some()), sums[2] + u32::from(within)];
        let most = most.map_or(String::new(), |most| format!(", at most {most:.0} ms"));
        println!(
            "{}: {real}, no minimum of {least} ms: {}{most}, fit {:.2}",
            case.name,
            why.word(),
            first.fit
        );
    }
    if verbose || !named || !is(&first.window) || minimum.as_ref().is_some_and(|(_, right)| !right) {
        println!(
            "{}: {real}, minimum {least} ms; {}{}: fit {:.2} over {} rounds, {} timeouts, minimum {}, late {}",
            case.name,
            if named { "named " } else { "not named, nearest " },
            first.stack,
            first.fit,
            verdict.rounds,
            verdict.timeouts,
            minimum.map_or("unknown".to_owned(), |(words, _)| words),
            case.late(),
        );
        println!(
            "    {}",
            case.truth["plan"].as_str().unwrap_or_default().split(", talk").next().unwrap_or_default()
        );
        for c in verdict.candidates.iter().take(if verbose { usize::MAX } else { 4 }) {
            println!("    {:24} fit {:7.3} behind {:8.1} {:?}", c.stack, c.fit, c.behind, c.deviates);
        }
    }
}
