//! Scores which stack is taken for the sender, and the minimum of its timeout, against how the kernel was set.

use std::path::Path;

use ackclock_policy::Registry;
use ackclock_shadow::{Conversation, Verdict, default_stacks, name_sender};
use serde_json::Value;

/// A stack is named if it fits as well as this, and none with another window is as near as this, as `ackclock
/// sender` has it.
const FITS: f64 = -1.5;
const NEAREST: f64 = 3.0;
/// A tick of the kernel's timers, ms.
const TICK: f64 = 4.0;
/// Linux's default.
const DEFAULT_MIN_RTO: f64 = 200.0;

#[derive(Default)]
struct Sums {
    cases: u32,
    /// Those whose first stack is the sender's; that are named; that are named rightly.
    first: u32,
    named: u32,
    right: u32,
    /// Minima that are given, and those that are right.
    minima: [u32; 2],
    /// Cases of which a delivery was late.
    busy: u32,
}

pub fn score(folder: &Path, only: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    let stacks = default_stacks(&Registry::builtin())?;
    let mut cases: Vec<_> = std::fs::read_dir(folder)?.filter_map(|e| Some(e.ok()?.path())).collect();
    cases.retain(|p| p.join("truth.json").exists());
    cases.sort();
    let mut sums = Sums::default();
    for case in cases {
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if only.is_some_and(|o| !name.contains(o)) {
            continue;
        }
        let known: Value = serde_json::from_str(&std::fs::read_to_string(case.join("truth.json"))?)?;
        let verdict = Conversation::read(&case.join("near.pcapng"), None)
            .and_then(|conversation| name_sender(&conversation, &stacks));
        sums.cases += 1;
        sums.busy += u32::from(known["late"].as_u64() > Some(0));
        match verdict {
            Ok(verdict) => one(&name, &known, &verdict, only.is_some(), &mut sums),
            Err(why) => println!("{name}: {why}"),
        }
    }
    let [given, exact] = sums.minima;
    println!(
        "cases {} ({} with late deliveries): first of all stacks {}, named {}, rightly {}; minima given {given}, \
         within a tick {exact}",
        sums.cases, sums.busy, sums.first, sums.named, sums.right
    );
    Ok(())
}

fn one(name: &str, known: &Value, verdict: &Verdict, verbose: bool, sums: &mut Sums) {
    let set = |key: &str| known["sysctls"][key].as_str();
    let real = set("net.ipv4.tcp_congestion_control").unwrap_or_default();
    // What version 3 of BBR would send is BBR too.
    let is = |window: &str| window == real || real == "bbr" && window == "bbr1";
    let first = &verdict.candidates[0];
    let other = verdict.candidates.iter().find(|c| c.window != first.window);
    let named = first.fit >= FITS && other.is_none_or(|other| other.behind > NEAREST);
    sums.first += u32::from(is(&first.window));
    sums.named += u32::from(named);
    sums.right += u32::from(named && is(&first.window));
    let least = set("net.ipv4.tcp_rto_min_us").and_then(|us| us.parse::<f64>().ok());
    let least = least.map_or(DEFAULT_MIN_RTO, |us| us / 1e3);
    let minimum = verdict.min_rto.map(|found| {
        let value = found.value.as_secs_f64() * 1e3;
        let exact = (value - least).abs() <= TICK;
        sums.minima = [sums.minima[0] + 1, sums.minima[1] + u32::from(exact)];
        (value, exact)
    });
    if verbose || !named || !is(&first.window) || minimum.is_some_and(|(_, exact)| !exact) {
        println!(
            "{name}: {real}, minimum {least} ms; {}{}: fit {:.2} over {} rounds, {} timeouts, minimum {}, late {}",
            if named { "named " } else { "not named, nearest " },
            first.stack,
            first.fit,
            verdict.rounds,
            verdict.timeouts,
            minimum.map_or("unknown".to_owned(), |(value, _)| format!("{value} ms")),
            known["late"],
        );
        println!(
            "    {}",
            known["plan"].as_str().unwrap_or_default().split(", talk").next().unwrap_or_default()
        );
        for c in verdict.candidates.iter().take(if verbose { usize::MAX } else { 4 }) {
            println!("    {:24} fit {:7.3} behind {:8.1} {:?}", c.stack, c.fit, c.behind, c.deviates);
        }
    }
}
