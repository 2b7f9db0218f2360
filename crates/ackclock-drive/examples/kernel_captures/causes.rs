//! Scores the causes of retransmissions that the acks alone suggest, and those by the sender's stack, against the
//! kernels' events.

use std::collections::BTreeMap;
use std::path::Path;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, Options, Report};
use ackclock_policy::Registry;
use ackclock_shadow::{Conversation, Explained, Why, default_stacks, explain, name_sender};
use serde_json::Value;

use crate::cases::{self, Case};

/// Deliveries that the emulator may have made late without voiding a case.
const MOST_LATE: u64 = 20;
/// Largest difference between the kernel's and the capture's time of the same retransmission, ns.
const SAME: u64 = 10_000_000;

/// Retransmissions of directions that a stack fits.
#[derive(Default)]
struct Sums {
    directions: u32,
    fitting: u32,
    unpaired: u32,
    late: u32,
    all: u32,
    explained: u32,
    rules_right: u32,
    together_right: u32,
    /// Causes that change, those of them where the stack is right, and where the rules were.
    changed: [u32; 3],
    /// By what the kernel did, and what is said: by the rules, and with the stack's.
    confusion: [BTreeMap<(String, String), u32>; 2],
}

fn word(why: Option<Why>) -> &'static str {
    match why {
        Some(Why::Timeout) => "timeout",
        Some(Why::AfterTimeout) => "after-timeout",
        Some(Why::Probe) => "probe",
        Some(Why::Recovery) => "recovery",
        None => "unknown",
    }
}

/// What the kernel did: its function, and the state of its congestion control.
fn truth(event: &Value) -> Option<Why> {
    match (event[1].as_str()?, event[4].as_u64().unwrap_or(0)) {
        ("rto", _) => Some(Why::Timeout),
        ("tlp", _) => Some(Why::Probe),
        ("acks", 4) => Some(Why::AfterTimeout),
        ("acks", _) => Some(Why::Recovery),
        _ => None,
    }
}

pub fn score(folder: &Path, only: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    let stacks = default_stacks(&Registry::builtin())?;
    let mut sums = Sums::default();
    for case in cases::in_folder(folder, only)? {
        if case.truth["offload"] == true {
            continue;
        }
        if case.late() > MOST_LATE {
            sums.late += 1;
            println!("{}: void, {} deliveries were late", case.name, case.late());
            continue;
        }
        for (side, end) in ["near", "far"].into_iter().enumerate() {
            let file = case.folder.join(format!("{end}.pcapng"));
            let mut packets = Packets::new(open(&file)?)?;
            let mut analysis = Analysis::new(Options::default());
            analysis.read_on(1, &mut packets, |_| std::ops::ControlFlow::Continue(()))?;
            one(&case, &file, side, &analysis.finish(), &stacks, &mut sums)?;
        }
    }
    println!(
        "directions {} ({} cases void), with a stack that fits {}, not paired {}",
        sums.directions, sums.late, sums.fitting, sums.unpaired
    );
    let part = |n: u32| f64::from(n) / f64::from(sums.all.max(1));
    println!(
        "retransmissions with truth {}, explained {}; right by the rules {} ({:.4}), with the stacks' {} ({:.4})",
        sums.all,
        sums.explained,
        sums.rules_right,
        part(sums.rules_right),
        sums.together_right,
        part(sums.together_right)
    );
    let [changed, stack, rules] = sums.changed;
    println!("changed {changed}: the stack was right in {stack}, the rules in {rules}");
    for (by, confusion) in ["rules", "with stacks"].into_iter().zip(&sums.confusion) {
        for why in ["timeout", "after-timeout", "probe", "recovery"] {
            let count = |test: &dyn Fn(&(String, String)) -> bool| -> u32 {
                confusion.iter().filter(|(k, _)| test(k)).map(|(_, n)| n).sum()
            };
            let (real, found) = (count(&|k| k.0 == why), count(&|k| k.1 == why));
            let both = count(&|k| k.0 == why && k.1 == why);
            println!(
                "{by}: {why}: real {real}, precision {:.4}, recall {:.4}",
                f64::from(both) / f64::from(found.max(1)),
                f64::from(both) / f64::from(real.max(1))
            );
        }
    }
    Ok(())
}

/// What the kernel did for each retransmission that was captured at `times`: the event that is nearest in time. One
/// of a segment that a device cuts stands for several packets.
fn paired(times: &[u64], events: &[(u64, Option<Why>)]) -> Vec<Option<Why>> {
    let one = |at: &u64| {
        let nearest = events.iter().min_by_key(|e| e.0.abs_diff(*at))?;
        if nearest.0.abs_diff(*at) <= SAME { nearest.1 } else { None }
    };
    times.iter().map(one).collect()
}

fn one(
    case: &Case,
    file: &Path,
    side: usize,
    report: &Report,
    stacks: &[ackclock_engine::Stack],
    sums: &mut Sums,
) -> Result<(), Box<dyn std::error::Error>> {
    let name = &case.name;
    let mut events = case.events();
    for of in events.values_mut() {
        of.retain(|(_, e)| !e[1].as_str().unwrap_or_default().contains("synack"));
    }
    for c in &report.connections {
        let ends = [(c.client, c.server), (c.server, c.client)][side];
        let direction = &c.directions[side];
        let rows: Vec<_> = direction
            .retransmissions
            .iter()
            .filter(|r| r.cause.counts() && r.cause != ackclock_capture::Cause::Syn)
            .collect();
        let Some(real) = events.get(&ends).filter(|_| !rows.is_empty()) else { continue };
        sums.directions += 1;
        let times: Vec<u64> = rows.iter().map(|r| r.at.as_nanos()).collect();
        let real: Vec<(u64, Option<Why>)> = real.iter().map(|(at, e)| (*at, truth(e))).collect();
        let real = paired(&times, &real);
        sums.unpaired += real.iter().filter(|why| why.is_none()).count() as u32;
        let conversation = match Conversation::read(file, Some(ends)) {
            Ok(conversation) => conversation,
            Err(e) => {
                println!("{name} {side}: {e}");
                continue;
            }
        };
        let explained = match explain(&conversation, stacks) {
            Ok(explained) => explained,
            Err(e) => {
                println!("{name} {side}: {e}");
                Explained { stack: "none".into(), fit: f64::NEG_INFINITY, reasons: Vec::new() }
            }
        };
        sums.fitting += u32::from(explained.fit.is_finite());
        let verdict = name_sender(&conversation, stacks).ok();
        println!(
            "{name} {side}: {} {:.2} ({}), minimum {:?} of {}, {} timeouts",
            explained.stack,
            explained.fit,
            case.congestion_control(),
            verdict.as_ref().and_then(|v| v.min_rto).map(|m| (
                m.low.as_millis(),
                m.value.map(|v| v.as_millis()),
                m.high.as_millis(),
                m.timeouts
            )),
            case.min_rto(),
            verdict.as_ref().map_or(0, |v| v.timeouts),
        );
        for (row, real) in rows.iter().zip(&real).filter(|(_, real)| real.is_some()) {
            let found = explained.reasons.iter().find(|r| r.packet == row.frame).map(|r| r.why);
            let rules = Why::of(row.cause);
            let together = found.or(rules);
            sums.all += 1;
            sums.explained += u32::from(found.is_some());
            sums.rules_right += u32::from(rules == *real);
            sums.together_right += u32::from(together == *real);
            for (confusion, said) in sums.confusion.iter_mut().zip([rules, together]) {
                *confusion.entry((word(*real).into(), word(said).into())).or_default() += 1;
            }
            if together != rules {
                sums.changed[0] += 1;
                sums.changed[1] += u32::from(together == *real);
                sums.changed[2] += u32::from(rules == *real);
                println!(
                    "    packet {}: kernel {}, rules {}, stack {}: {}",
                    row.frame,
                    word(*real),
                    word(rules),
                    word(together),
                    row.evidence
                );
            } else if together != *real {
                println!(
                    "    packet {}: kernel {}, both {}: {}",
                    row.frame,
                    word(*real),
                    word(together),
                    row.evidence
                );
            }
        }
    }
    Ok(())
}
